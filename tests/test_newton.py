"""Newton's method, one model and many, against statsmodels and against each other."""

import numpy as np
import pytest
import statsmodels.api as sm

import isingmlc as im
from isingmlc.fitting import pair_sums
from isingmlc.fitting.newton import (
    firth_newton,
    inverse,
    newton,
    newton_together,
    proves_overlap,
)
from isingmlc.fitting.nodewise import FitSettings, fit_nodes
from isingmlc.fitting.pair_sums import PairSums


def table(seed=0, n_rows=60, n_columns=5, chance=0.4):
    """Make a 0/1 design with a constant, outcomes and counts, all outcomes possible."""
    rng = np.random.default_rng(seed)
    design = (rng.random((n_rows, n_columns)) < chance).astype(float)
    design[:, 0] = 1.0
    outcome = rng.random(n_rows) < 0.5
    return design, outcome, rng.integers(1, 9, n_rows).astype(float)


def signed(design, outcome):
    return np.where(outcome, 1.0, -1.0)[:, None] * design


def test_one_model_agrees_with_statsmodels():
    design, outcome, counts = table()
    glm = sm.GLM(outcome, design, family=sm.families.Binomial(), freq_weights=counts)
    expected = glm.fit(tol=0, maxiter=15)
    solution = newton(signed(design, outcome), counts, max_steps=30)
    assert solution.converged
    np.testing.assert_allclose(solution.coef, expected.params, rtol=1e-10)
    np.testing.assert_allclose(solution.covariance, expected.cov_params(), rtol=1e-10)
    assert solution.proves_overlap(float((design**2).sum(axis=1).max()), len(design))


def test_a_maximum_is_where_the_penalised_gradient_vanishes():
    design, outcome, counts = table()
    penalty = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    solution = newton(signed(design, outcome), counts, max_steps=30, penalty=penalty)
    residual = counts * (outcome - 1 / (1 + np.exp(-design @ solution.coef)))
    np.testing.assert_allclose(design.T @ residual, penalty * solution.coef, atol=1e-10)


@pytest.mark.parametrize("penalty", [None, np.array([0.0, 1.0, 2.0, 3.0, 4.0])])
def test_models_fitted_together_are_those_fitted_alone(penalty):
    rng = np.random.default_rng(1)
    design, _, counts = table()
    outcomes = rng.random((6, len(design))) < 0.4
    rows = rng.random(outcomes.shape) < 0.8
    columns = [np.array(at) for at in ([0, 1, 2, 3, 4], [0], [1, 3], [0, 2, 4], [], [4])]
    together = newton_together(
        PairSums(design),
        np.where(outcomes, 1.0, -1.0),
        counts * rows,
        [at.astype(np.intp) for at in columns],
        max_steps=[50] * 6,
        penalty=penalty,
    )
    for outcome, at, row, solution in zip(outcomes, columns, rows, together, strict=True):
        assert solution.converged
        if not len(at):
            assert solution.coef.shape == (0,)
            continue
        alone = newton(
            signed(design, outcome)[row][:, at],
            counts[row],
            max_steps=50,
            penalty=None if penalty is None else penalty[at],
        )
        assert solution.steps == alone.steps
        np.testing.assert_allclose(solution.coef, alone.coef, atol=1e-10)
        np.testing.assert_allclose(solution.covariance, alone.covariance, rtol=1e-9)


def test_steps_that_lead_down_are_halved():
    # From far out, where weights nearly vanish, the full Newton step overshoots by far.
    design, outcome, counts = table()
    start = np.array([6.0, -5.0, 5.0, -5.0, 5.0])
    expected = newton(signed(design, outcome), counts, max_steps=30).coef
    alone = newton(signed(design, outcome), counts, start=start, max_steps=100)
    (together,) = newton_together(
        PairSums(design),
        np.where(outcome, 1.0, -1.0)[None],
        counts[None],
        [np.arange(5)],
        start=start[None],
        max_steps=[100],
    )
    for solution in (alone, together):
        assert solution.converged
        np.testing.assert_allclose(solution.coef, expected, rtol=1e-9)


ALL_SETS = np.array(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), dtype=bool).reshape(3, -1).T


@pytest.mark.parametrize(
    "exponents",
    [
        # Full steps went where the inverse of the information overflows.
        [-11, -12, -3, -4, 0, -6, -6, -6],
        [-6, -1, -10, -12, -4, 0, 0, -12],
        # And where there is no weight at all, or so far that no half of the way back led up.
        [0, 0, 0, -13, -9, -13, -8, -7],
        [0, -5, -6, -8, -13, -3, -7, -9],
        [-13, -12, -13, -11, 0, -2, -5, -13],
        [-14, -8, -14, -1, -10, -5, -13, -14],
    ],
)
def test_weights_far_apart_have_a_maximum_that_is_found(exponents):
    counts = 100 * 10.0 ** np.array(exponents)
    for fit in fit_nodes(ALL_SETS, counts, FitSettings()):
        assert fit.converged
        residual = counts * np.where(ALL_SETS[:, fit.label], fit.complement, -fit.probability)
        design = np.column_stack([np.ones(8), ALL_SETS])[:, fit.basis]
        errors = np.sqrt((counts * fit.weight) @ design)
        np.testing.assert_array_less(np.abs(residual @ design), 1e-5 * errors)


def test_a_point_that_promises_more_than_there_is_to_gain_is_too_far_out():
    # A step of several hundred led up, to where next to no row has a weight.
    rows = [
        "0111100",
        "1111001",
        "0100110",
        "0100011",
        "0010011",
        "1010011",
        "1110010",
        "1110011",
        "0001011",
        "0011011",
        "0111011",
        "1001010",
        "1001111",
        "1011110",
    ]
    heavy = [0, 1, 4, 6, 9, 10, 13]
    patterns = np.array([[digit == "1" for digit in row] for row in rows])
    counts = np.ones(len(rows))
    counts[heavy] = 1e4
    fits = fit_nodes(patterns, counts, FitSettings(intercept=False))
    assert all(fit.converged for fit in fits)


@pytest.mark.parametrize(
    ("patterns", "counts"),
    [
        (ALL_SETS, 100 * 10.0 ** np.array([-14, -14, -14, 0, -14, -7, -14, -14])),
        (ALL_SETS, 100 * 10.0 ** np.array([-14, -5, -1, -14, -14, 0, -10, -14])),
        (np.array([[1, 1], [1, 0], [0, 1]], dtype=bool), np.array([3e13, 1e13, 1e13])),
    ],
)
def test_jeffreys_prior_stays_finite_where_weights_are_far_apart(patterns, counts):
    for fit in fit_nodes(patterns, counts, FitSettings(method="firth")):
        assert np.isfinite(fit.basis_coef).all()
        assert np.abs(fit.basis_coef).max() < 100


@pytest.mark.parametrize("size", [1e9, 1e12, 1e14, 1e16])
def test_an_iteration_goes_on_until_no_margin_moves(size):
    """Next to a row that is far out the decrement is small long before the maximum."""
    rng = np.random.default_rng(1)
    x, outcome = rng.normal(size=40), rng.random(40) < 0.4
    x[0], outcome[0] = size, True
    signed = np.where(outcome, 1.0, -1.0)[:, None] * np.column_stack([np.ones(40), x])
    solution = newton(signed, np.ones(40), max_steps=200)
    rest = sm.Logit(outcome[1:], np.column_stack([np.ones(39), x[1:]])).fit(disp=0, tol=1e-13)
    assert (solution.coef @ signed[0] > 80) == (rest.params[1] > 0)
    if rest.params[1] > 0:
        assert solution.converged
        np.testing.assert_allclose(solution.coef, rest.params, rtol=1e-8)


def test_very_many_observations_prove_nothing():
    assert proves_overlap(1e-20, 1.0, 1.0, nobs=1e3)
    assert not proves_overlap(1e-20, 1.0, 1.0, nobs=1e300)


def test_an_inverse_that_overflows_is_none():
    tiny = np.full((2, 2), 1e-309) + np.diag([1e-309, 2e-309])
    assert inverse(tiny) is None
    np.testing.assert_allclose(inverse(1e300 * np.eye(2)), 1e-300 * np.eye(2))


def test_a_model_is_given_up_only_where_it_stalls():
    # The outcome is the second column: separated, so the decrement falls by e a step.
    design = np.array([[1.0, 0.0], [1.0, 1.0]])
    asked = []

    def gives_up(order, step, steps):
        asked.append((order, steps))
        return steps >= 7

    (solution,) = newton_together(
        PairSums(design),
        np.array([[-1.0, 1.0]]),
        np.array([[3.0, 4.0]]),
        [np.arange(2)],
        max_steps=[50],
        patience=5,
        gives_up=gives_up,
    )
    assert asked == [(0, 5), (0, 6), (0, 7)]
    assert not solution.converged
    assert solution.steps == 7
    # Each step moves the margins of both rows by about one.
    moves = np.array([-1.0, 1.0]) * (design @ solution.step)
    np.testing.assert_allclose(moves, 1.0, atol=0.01)


def test_a_singular_model_stops_without_a_covariance():
    design = np.array([[1.0, 1.0], [1.0, 1.0]])
    alone = newton(np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([3.0, 4.0]), max_steps=20)
    (together,) = newton_together(
        PairSums(design),
        np.array([[1.0, -1.0]]),
        np.array([[3.0, 4.0]]),
        [np.arange(2)],
        max_steps=[20],
    )
    for solution in (alone, together):
        assert not solution.converged
        assert np.isnan(solution.covariance).all()
        assert not solution.proves_overlap(2.0, 10.0)
    assert inverse(design) is None


@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("chance", [0.02, 0.2, 0.9])
def test_sums_of_pairs_are_products_of_matrices(monkeypatch, chance, limit):
    if limit is not None:
        monkeypatch.setattr(pair_sums, "_MOST_PAIRS", limit)
    design, _, _ = table(2, n_rows=40, n_columns=12, chance=chance)
    weights = np.random.default_rng(3).random((7, 40))
    pairs = PairSums(design)
    for line, sums in zip(weights, pairs.under(weights), strict=True):
        np.testing.assert_allclose(sums[pairs.place], design.T @ (line[:, None] * design))
    matrices = np.random.default_rng(4).random((3, 12, 12))
    matrices += matrices.transpose(0, 2, 1)
    entries = np.zeros((3, pairs.n_sums))
    entries[:, pairs.place] = matrices
    for matrix, forms in zip(matrices, pairs.quadratic_forms(entries), strict=True):
        np.testing.assert_allclose(forms, [row @ matrix @ row for row in design])


@pytest.mark.parametrize("chance", [0.05, 0.5])
def test_runs_of_rows_that_carry_the_same_columns_are_added_up(chance):
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.random((7, 6)) < chance, [1, 5, 9, 2, 1, 30, 4], axis=0)
    design = np.column_stack([np.ones(len(labels)), labels, rng.normal(size=(len(labels), 2))])
    pairs = PairSums(design, np.arange(9) < 7)
    weights, half = rng.random((3, len(design))), rng.normal(size=(3, 9, 9))
    forms = half + half.transpose(0, 2, 1)
    entries = np.zeros((3, pairs.n_sums))
    for line, form in zip(entries, forms, strict=True):
        line[pairs.place] = form
    for sums, weight in zip(pairs.under(weights), weights, strict=True):
        np.testing.assert_allclose(sums[pairs.place], (design.T * weight) @ design, atol=1e-12)
    expected = np.einsum("ri,kij,rj->kr", design, forms, design)
    np.testing.assert_allclose(pairs.quadratic_forms(entries), expected, atol=1e-12)


def test_fits_are_the_same_whether_pairs_are_summed_or_matrices_multiplied(monkeypatch):
    data = im.datasets.load_example()
    patterns, counts = np.unique(data.labels.to_numpy(bool), axis=0, return_counts=True)
    summed = fit_nodes(patterns, counts.astype(float), FitSettings())
    monkeypatch.setattr(pair_sums, "_MOST_PAIRS", 0)
    multiplied = fit_nodes(patterns, counts.astype(float), FitSettings())
    for one, other in zip(summed, multiplied, strict=True):
        np.testing.assert_allclose(one.coef, other.coef, rtol=1e-9)


def test_fits_do_not_depend_on_how_many_labels_are_fitted_at_once(monkeypatch):
    rng = np.random.default_rng(4)
    labels = rng.random((200, 40)) < 0.08
    patterns, counts = np.unique(labels, axis=0, return_counts=True)
    counts = counts.astype(float)
    whole = fit_nodes(patterns, counts, FitSettings())
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 1)
    parts = fit_nodes(patterns, counts, FitSettings())
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one.in_play, other.in_play)
        np.testing.assert_allclose(one.probability, other.probability, atol=1e-9)


def test_jeffreys_prior_keeps_a_separated_fit_finite():
    # Five rows with outcome 0, three others with outcome 1: the prior adds half a row of each
    # outcome to both.
    design = np.array([[1.0, 0.0], [1.0, 1.0]])
    (solution,) = firth_newton(
        PairSums(design),
        np.array([[-1.0, 1.0]]),
        np.array([5.0, 3.0]),
        [np.arange(2)],
        max_steps=50,
    )
    assert solution.converged
    expected = [np.log(0.5 / 5.5), np.log(3.5 / 0.5) - np.log(0.5 / 5.5)]
    np.testing.assert_allclose(solution.coef, expected, rtol=1e-8)


@pytest.mark.parametrize("limit", [None, 0])
def test_jeffreys_prior_is_at_its_maximum_for_every_model(monkeypatch, limit):
    # The score with hat values, from a QR decomposition of each model's weighted rows.
    if limit is not None:
        monkeypatch.setattr(pair_sums, "_MOST_PAIRS", limit)
    rng = np.random.default_rng(6)
    design, _, counts = table(6, n_rows=300, n_columns=12, chance=0.15)
    outcomes = rng.random((8, 300)) < 0.1
    outcomes[0] = design[:, 3] == 1
    columns = [np.sort(rng.permutation(12)[: 12 - at]) for at in range(8)]
    solutions = firth_newton(
        PairSums(design), np.where(outcomes, 1.0, -1.0), counts, columns, max_steps=100
    )
    for outcome, at, solution in zip(outcomes, columns, solutions, strict=True):
        assert solution.converged
        chance = 1 / (1 + np.exp(-design[:, at] @ solution.coef))
        rooted = np.sqrt(counts * chance * (1 - chance))[:, None] * design[:, at]
        hat = (np.linalg.qr(rooted)[0] ** 2).sum(axis=1)
        score = design[:, at].T @ (counts * (outcome - chance) + hat * (0.5 - chance))
        np.testing.assert_allclose(score, 0, atol=1e-7)
        np.testing.assert_allclose(solution.covariance, np.linalg.inv(rooted.T @ rooted))


def test_jeffreys_prior_takes_few_steps_with_very_many_labelsets():
    rng = np.random.default_rng(7)
    labels = rng.random((12_000, 30)) < 0.2
    patterns, counts = np.unique(labels, axis=0, return_counts=True)
    assert len(patterns) > 11_000
    fits = fit_nodes(patterns, counts.astype(float), FitSettings("firth"))
    assert all(fit.converged and fit.iterations <= 12 for fit in fits)


def test_jeffreys_prior_of_a_model_without_columns():
    patterns, counts = np.array([[False], [True]]), np.array([3.0, 5.0])
    (fit,) = fit_nodes(patterns, counts, FitSettings("firth", intercept=False))
    assert fit.converged
    np.testing.assert_array_equal(fit.probability, 0.5)
