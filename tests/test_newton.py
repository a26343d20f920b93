"""Newton's method, one model and many, against statsmodels and against each other."""

import numpy as np
import pytest
import statsmodels.api as sm

import isingmlc as im
from isingmlc.fitting import pair_sums
from isingmlc.fitting.newton import firth_newton, inverse, newton, newton_together, proves_overlap
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
    assert proves_overlap(solution, float((design**2).sum(axis=1).max()))


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
        assert not proves_overlap(solution, 2.0)
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
    regressors = signed(design, np.array([False, True]))
    (solution,) = firth_newton([regressors], np.array([5.0, 3.0]), 50)
    assert solution.converged
    expected = [np.log(0.5 / 5.5), np.log(3.5 / 0.5) - np.log(0.5 / 5.5)]
    np.testing.assert_allclose(solution.coef, expected, rtol=1e-8)
