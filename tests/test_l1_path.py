"""Paths of l1-penalised regressions: against glmnet, and against what makes a solution one."""

import numpy as np
import pytest
from golden import load, load_data
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import Lasso

from isingmlc.fitting.l1_design import Design
from isingmlc.fitting.l1_free import FreeColumns
from isingmlc.fitting.l1_path import l1_paths, path_has_ended
from isingmlc.fitting.l1_solver import solve_quadratics


def l1_path(design, outcome, usable, lam=None, **options):
    """Fit the path of one outcome."""
    given = None if lam is None else np.array([lam])
    (path,) = l1_paths(design, outcome[None], usable[None], given, **options)
    return path


def violation(columns, outcome, weights, lam, intercept, coef):
    """Compute from rows, one column at a time, how far coefficients are from optimal."""
    total = weights.sum()
    probability = 1 / (1 + np.exp(-(intercept + columns @ coef)))
    residual = weights * (outcome - probability) / total
    worst = abs(residual.sum())
    for column, value in zip(columns.T, coef, strict=True):
        mean = np.average(column, weights=weights)
        deviation = np.sqrt(np.average((column - mean) ** 2, weights=weights))
        if deviation < 1e-12:
            assert value == 0
            continue
        gradient = residual @ ((column - mean) / deviation)
        worst = max(worst, abs(gradient - lam * np.sign(value)) if value else abs(gradient) - lam)
    return worst


def random_problem(seed, rows=40, columns=6):
    rng = np.random.default_rng(seed)
    binary = rng.random((rows, columns)) < rng.uniform(0.1, 0.6, columns)
    numbers = rng.normal(3.0, 2.0, size=(rows, columns))
    table = np.where(rng.random(columns) < 0.5, binary, numbers)
    outcome = rng.random(rows) < 1 / (1 + np.exp(1 - table[:, 0]))
    outcome[:2] = True, False
    return table, outcome, rng.integers(1, 5, rows).astype(float)


@pytest.mark.parametrize("ratio", [1e-4, 1e-1])
@pytest.mark.parametrize("label", ["y1", "y2", "y3", "y4"])
def test_coefficients_are_those_of_glmnet(label, ratio):
    labels, features = load_data("plain")
    expected = load("plain", "l1").query("label == @label and ratio == @ratio").set_index("term")
    lam_max = expected["lambda_max"].iloc[0]
    columns = labels.drop(columns=label).join(features)
    design = Design.of(columns.to_numpy(), np.ones(len(columns)))
    path = l1_path(design, labels[label].to_numpy() == 1, design.varies, ratio * lam_max)
    assert path.lam_max == pytest.approx(lam_max, rel=1e-12)
    coef = path.coef.toarray()[0]
    theirs = expected["coef"].drop("(Intercept)")[list(columns)]
    # glmnet was run to a relative change of the deviance of 1e-14, which leaves about 1e-8.
    np.testing.assert_allclose(coef, theirs, atol=1e-7)
    np.testing.assert_array_equal(coef != 0, theirs != 0)
    assert path.intercept[0] == pytest.approx(expected.loc["(Intercept)", "coef"], abs=1e-6)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_every_fit_on_a_path_is_optimal(seed):
    columns, outcome, weights = random_problem(seed)
    design = Design.of(columns, weights)
    path = l1_path(design, outcome, design.varies)
    assert path.converged
    for lam, intercept, coef in zip(path.lam, path.intercept, path.coef.toarray(), strict=True):
        assert violation(columns, outcome, weights, lam, intercept, coef) < 1e-9
    np.testing.assert_array_equal(path.n_nonzero, (path.coef.toarray() != 0).sum(axis=1))


def test_what_is_reported_of_a_fit_follows_from_its_coefficients():
    columns, outcome, weights = random_problem(1)
    design = Design.of(columns, weights)
    path = l1_path(design, outcome, design.varies)
    eta = path.intercept + columns @ path.coef.toarray().T
    probability = 1 / (1 + np.exp(-eta))
    llf = weights @ np.log(np.where(outcome[:, None], probability, 1 - probability))
    np.testing.assert_allclose(path.llf, llf, rtol=1e-12)
    np.testing.assert_allclose(path.explained, 1 - llf / llf[0], atol=1e-12)
    assert (np.diff(path.explained) > 0).all()


def test_a_weight_counts_as_so_many_rows():
    columns, outcome, weights = random_problem(2)
    repeats = weights.astype(int)
    once = Design.of(columns, weights)
    often = Design.of(np.repeat(columns, repeats, axis=0), np.ones(repeats.sum()))
    first = l1_path(once, outcome, once.varies)
    second = l1_path(often, np.repeat(outcome, repeats), often.varies)
    np.testing.assert_allclose(first.lam, second.lam, rtol=1e-12)
    np.testing.assert_allclose(first.coef.toarray(), second.coef.toarray(), atol=1e-8)
    np.testing.assert_allclose(first.llf, second.llf, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_columns_give_what_dense_ones_do(seed):
    columns, outcome, weights = random_problem(seed)
    columns[:, -1] = 7.0
    thin = Design.of(sparse.csr_array(columns), weights)
    full = Design.of(columns, weights)
    np.testing.assert_array_equal(thin.varies, full.varies)
    assert not full.varies[-1]
    np.testing.assert_allclose(thin.scale, full.scale, rtol=1e-12)
    first = l1_path(thin, outcome, thin.varies)
    second = l1_path(full, outcome, full.varies)
    np.testing.assert_allclose(first.intercept, second.intercept, atol=1e-8)
    np.testing.assert_allclose(first.coef.toarray(), second.coef.toarray(), atol=1e-8)


def test_columns_that_are_not_usable_have_no_coefficient():
    columns, outcome, weights = random_problem(3)
    columns[:, 2] = outcome
    design = Design.of(columns, weights)
    path = l1_path(design, outcome, np.arange(6) != 2)
    without = Design.of(np.delete(columns, 2, axis=1), weights)
    expected = l1_path(without, outcome, without.varies)
    assert path.n_columns == 5
    assert not path.coef[:, [2]].nnz
    np.testing.assert_allclose(
        np.delete(path.coef.toarray(), 2, axis=1), expected.coef.toarray(), atol=1e-12
    )


def test_a_path_is_log_spaced_from_the_first_penalty_without_coefficients():
    columns, outcome, weights = random_problem(4)
    design = Design.of(columns, weights)
    path = l1_path(design, outcome, design.varies)
    mean = np.average(outcome, weights=weights)
    gradient = design.columns.T @ (weights * (outcome - mean)) / weights.sum()
    assert path.lam[0] == pytest.approx(np.abs(gradient).max(), rel=1e-12)
    np.testing.assert_allclose(path.lam[1:] / path.lam[:-1], 1e-4 ** (1 / 99), rtol=1e-12)
    assert path.n_nonzero[0] == 0
    assert path.n_nonzero[1] > 0
    short = l1_path(design, outcome, design.varies, n_lambda=4)
    np.testing.assert_allclose(
        short.lam / short.lam_max, [1, 1e-4 ** (1 / 3), 1e-4 ** (2 / 3), 1e-4]
    )


@pytest.mark.parametrize(("n_columns", "lowest"), [(29, 1e-4), (30, 1e-2), (40, 1e-2)])
def test_a_path_ends_earlier_where_there_are_not_more_rows_than_columns(n_columns, lowest):
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(30, n_columns))
    outcome = rng.random(30) < 0.5
    design = Design.of(columns, np.ones(30))
    path = l1_path(design, outcome, design.varies)
    assert path.lam[1] / path.lam[0] == pytest.approx(lowest ** (1 / 99), rel=1e-12)
    assert path.converged


@pytest.mark.parametrize(
    ("explained", "ends"),
    [
        ([0.0, 0.1, 0.2, 0.3, 0.4], False),
        ([0.0, 0.1, 0.2, 0.3, 0.3], True),
        ([0.0, 0.1, 0.2, 0.3, 0.3000099], True),
        ([0.0, 0.1, 0.2, 0.3, 0.3000101], False),
        ([0.0, 0.1, 0.2, 0.2], False),
        ([0.0, 0.5, 0.9, 0.9995], False),
        ([0.0, 0.5, 0.9, 0.95, 0.9991], True),
        ([0.0, 0.5, 0.9, 0.95, 0.999], False),
        ([0.0, 0.1, 0.1, 0.1, 0.1, 0.2, 0.3], False),
    ],
)
def test_the_rule_that_ends_a_path(explained, ends):
    assert path_has_ended(explained) == ends


def test_a_path_stops_with_the_first_penalty_at_which_the_rule_holds():
    labels, _ = load_data("plain")
    design = Design.of(labels.to_numpy(float), np.ones(len(labels)))
    for label in range(4):
        path = l1_path(design, labels.iloc[:, label].to_numpy() == 1, np.arange(4) != label)
        ends = [path_has_ended(path.explained[:stop]) for stop in range(1, len(path.lam) + 1)]
        assert ends.index(True) == len(path.lam) - 1 < 99


def test_a_path_stops_where_nearly_everything_is_explained():
    columns, _, weights = random_problem(6)
    columns[:, 0] = np.arange(40) % 2
    design = Design.of(columns, weights)
    path = l1_path(design, columns[:, 0] == 1, design.varies)
    assert path.explained[-1] > 0.999 > path.explained[-2]
    assert path.converged
    assert np.isfinite(path.coef.toarray()).all()


@pytest.mark.parametrize("ratio", [0.5, 1e-2, 1e-4])
def test_a_single_penalty_has_the_fit_of_a_path(ratio):
    columns, outcome, weights = random_problem(7)
    design = Design.of(columns, weights)
    path = l1_path(design, outcome, design.varies)
    nearest = int(np.abs(np.log(path.lam / path.lam_max / ratio)).argmin())
    single = l1_path(design, outcome, design.varies, lam=path.lam[nearest])
    assert single.lam == path.lam[[nearest]]
    np.testing.assert_allclose(single.coef.toarray()[0], path.coef.toarray()[nearest], atol=1e-8)
    np.testing.assert_allclose(single.llf, path.llf[nearest])


def test_penalties_at_and_beyond_the_largest_leave_the_intercept_alone():
    columns, outcome, weights = random_problem(8)
    design = Design.of(columns, weights)
    lam_max = l1_path(design, outcome, design.varies).lam_max
    mean = np.average(outcome, weights=weights)
    for lam in (lam_max, 2 * lam_max, 1e6):
        path = l1_path(design, outcome, design.varies, lam)
        assert path.n_nonzero == [0]
        assert path.intercept == pytest.approx(np.log(mean / (1 - mean)))
    below = l1_path(design, outcome, design.varies, np.nextafter(lam_max, 0))
    assert below.lam < lam_max
    assert l1_path(design, outcome, design.varies, 0.99 * lam_max).n_nonzero == [1]


def test_penalties_far_below_a_path_are_solved_too():
    labels, features = load_data("separated")
    columns = labels.join(features).to_numpy()
    design = Design.of(columns, np.ones(len(columns)))
    for label in range(4):
        path = l1_path(design, columns[:, label] == 1, np.arange(8) != label, lam=1e-8)
        assert path.converged
        assert path.kkt < 1e-11


def test_dependent_columns_share_one_solution():
    columns, outcome, weights = random_problem(9)
    plain = Design.of(columns, weights)
    doubled = Design.of(np.column_stack([columns, columns, -columns[:, :1]]), weights)
    first = l1_path(plain, outcome, plain.varies)
    second = l1_path(doubled, outcome, doubled.varies)
    assert second.converged
    np.testing.assert_allclose(first.llf, second.llf, rtol=1e-9)
    # The coefficients of copies count as one.
    np.testing.assert_array_equal(first.n_nonzero, second.n_nonzero)


def test_copies_have_equal_shares_of_a_coefficient():
    columns, outcome, weights = random_problem(9)
    mirrored = 1 - 2 * (columns[:, :1] > columns[0, 0])
    table = np.column_stack([columns[:, :1] > columns[0, 0], columns[:, 1:], mirrored])
    # The first column is there three times, once upside down; the second one twice.
    table = np.column_stack([table, table[:, 0], table[:, 1]]).astype(float)
    design = Design.of(table, weights)
    plain = Design.of(table[:, :6], weights)
    path, expected = (l1_path(each, outcome, each.varies) for each in (design, plain))
    coef, alone = path.coef.toarray(), expected.coef.toarray()
    np.testing.assert_allclose(coef[:, 0], coef[:, 7], rtol=1e-12)
    np.testing.assert_allclose(coef[:, 0], -2 * coef[:, 6], rtol=1e-12)
    np.testing.assert_allclose(3 * coef[:, 0], alone[:, 0], atol=1e-9)
    np.testing.assert_allclose(coef[:, 1], coef[:, 8], rtol=1e-12)
    np.testing.assert_allclose(2 * coef[:, 1], alone[:, 1], atol=1e-9)
    np.testing.assert_array_equal(path.n_nonzero, expected.n_nonzero)
    assert (path.n_columns, expected.n_columns) == (9, 6)
    eta = path.intercept + table @ coef.T
    np.testing.assert_allclose(eta, expected.intercept + table[:, :6] @ alone.T, atol=1e-8)


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_copies_do_not_depend_on_the_order_of_columns(make):
    columns, outcome, weights = random_problem(10)
    columns = np.column_stack([columns, columns[:, [0, 3]], -columns[:, [3]]])
    order = np.random.default_rng(0).permutation(9)
    first, second = (Design.of(make(each), weights) for each in (columns, columns[:, order]))
    usable = np.arange(9) != 0
    one = l1_path(first, outcome, usable)
    other = l1_path(second, outcome, usable[order])
    np.testing.assert_allclose(other.coef.toarray(), one.coef.toarray()[:, order], atol=1e-8)
    # The column that is not usable has no share.
    assert one.coef[:, [6]].nnz
    assert not one.coef[:, [0]].nnz


@pytest.mark.parametrize(
    ("column", "original", "sign"),
    [
        ([1, 0, 0, 1], 0, 1),
        ([0, 1, 1, 0], 0, -1),
        ([7, 5, 5, 7], 0, 1),
        ([1, 2, 3, 0], 1, 1),
        ([-1, -2, -3, 0], 1, -1),
        ([2, 4, 6, 0], 2, 1),
        ([1, 0, 0, 0], 2, 1),
    ],
)
def test_what_a_copy_is(column, original, sign):
    columns = np.array([[1.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, -0.0], column]).T
    for each in (columns, sparse.csc_array(columns)):
        design = Design.of(each, np.ones(4))
        assert design.original.tolist() == [0, 1, original]
        assert design.mirrored[2] == sign


def test_outcomes_fitted_together_are_those_fitted_alone():
    columns, _, weights = random_problem(13, columns=8)
    rng = np.random.default_rng(13)
    outcomes = rng.random((5, 40)) < np.array([0.2, 0.4, 0.5, 0.6, 0.7])[:, None]
    usable = rng.random((5, 8)) < 0.8
    design = Design.of(columns, weights)
    for lam in (None, np.array([0.3, 1e-3, 0.02, 0.1, 1e-5])):
        together = l1_paths(design, outcomes, usable, lam)
        for at, path in enumerate(together):
            alone = l1_path(design, outcomes[at], usable[at], None if lam is None else lam[at])
            np.testing.assert_allclose(path.lam, alone.lam, rtol=1e-12)
            np.testing.assert_allclose(path.coef.toarray(), alone.coef.toarray(), atol=1e-8)
            np.testing.assert_array_equal(path.n_nonzero, alone.n_nonzero)
            assert path.converged


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.floats(0.5, 12))
def test_a_path_ended_for_a_criterion_has_the_choice_of_the_whole_path(seed, price):
    columns, outcome, weights = random_problem(seed, rows=60, columns=15)
    design = Design.of(columns, weights)
    whole = l1_path(design, outcome, design.varies)
    largest = np.array([whole.llf.max()])
    ended = l1_path(design, outcome, design.varies, price=price, largest_llf=largest)
    assert ended.least_price in (0, price)
    assert (len(ended.lam) < len(whole.lam)) == (ended.least_price > 0)
    np.testing.assert_array_equal(ended.lam, whole.lam[: len(ended.lam)])
    # So do criteria that charge more.
    for charged in (price, 1.5 * price, 10 * price):
        criteria = [charged * path.n_nonzero - 2 * path.llf for path in (ended, whole)]
        assert criteria[0].argmin() == criteria[1].argmin()


def test_columns_of_which_one_is_always_on_are_solved():
    rng = np.random.default_rng(10)
    columns = np.eye(5)[rng.integers(5, size=80)]
    outcome = rng.random(80) < columns @ [0.1, 0.3, 0.5, 0.7, 0.9]
    design = Design.of(columns, np.ones(80))
    path = l1_path(design, outcome, design.varies)
    assert path.converged
    assert path.n_nonzero.max() < 5
    for lam, intercept, coef in zip(path.lam, path.intercept, path.coef.toarray(), strict=True):
        assert violation(columns, outcome, np.ones(80), lam, intercept, coef) < 1e-9


def test_columns_that_say_nothing_have_a_path_of_one():
    columns = np.array([[0.0, 3.0], [0.0, 3.0], [1.0, 3.0], [1.0, 3.0]])
    design = Design.of(columns, np.ones(4))
    path = l1_path(design, np.array([True, False, True, False]), design.varies)
    assert len(path.lam) == 1
    assert path.lam_max == pytest.approx(0, abs=1e-15)
    assert path.n_columns == 1
    assert path.n_nonzero == [0]
    assert path.converged


def test_too_few_steps_are_told():
    columns, outcome, weights = random_problem(11)
    design = Design.of(columns, weights)
    assert not l1_path(design, outcome, design.varies, max_iter=1).converged


def test_large_means_and_scales_do_not_matter():
    columns, outcome, weights = random_problem(12)
    scale = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6, 1.0])
    plain = Design.of(columns, weights)
    moved = Design.of(1e4 * scale + scale * columns, weights)
    first = l1_path(plain, outcome, plain.varies)
    second = l1_path(moved, outcome, moved.varies)
    np.testing.assert_allclose(second.llf, first.llf, rtol=1e-9)
    np.testing.assert_allclose(second.coef.toarray() * scale, first.coef.toarray(), atol=1e-6)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_quadratic_problems_are_solved_exactly(seed, size):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, size))
    gram, slope = rows.T @ rows / 20, rows.T @ rng.normal(size=20) / 20
    start = rng.normal(size=size) * (rng.random(size) < 0.5)
    lam = 0.5 * np.abs(slope).max()
    (coef,) = solve_quadratics(gram[None], slope[None], np.full((1, len(slope)), lam), start[None])
    pull = slope - gram @ coef
    np.testing.assert_allclose(pull[coef != 0], lam * np.sign(coef[coef != 0]), atol=1e-12)
    assert (np.abs(pull) <= lam + 1e-12).all()


def test_quadratic_problems_have_the_solution_of_scikit_learn():
    rng = np.random.default_rng(13)
    rows, target = rng.normal(size=(60, 8)), rng.normal(size=60)
    theirs = Lasso(alpha=0.1, fit_intercept=False, tol=1e-12).fit(rows, target).coef_
    gram, slope = rows.T @ rows / 60, rows.T @ target / 60
    (ours,) = solve_quadratics(gram[None], slope[None], np.full((1, 8), 0.1), np.zeros((1, 8)))
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    np.testing.assert_array_equal(ours != 0, theirs != 0)


@given(seed=st.integers(0, 10_000), n_free=st.integers(0, 5))
@settings(deadline=None)
def test_quadratics_with_free_coefficients_are_minimised_exactly(seed, n_free):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(12, 5))
    gram, slope = root.T @ root / 12, rng.normal(size=5)
    penalty = np.full(5, 0.3)
    penalty[:n_free] = 0.0
    start = rng.normal(size=5) * (rng.random(5) < 0.5)
    (coef,) = solve_quadratics(gram[None], slope[None], penalty[None], start[None])
    pull = slope - gram @ coef
    np.testing.assert_allclose(pull[coef != 0], (penalty * np.sign(coef))[coef != 0], atol=1e-10)
    assert (np.abs(pull) <= penalty + 1e-10).all()
    np.testing.assert_allclose(pull[:n_free], 0, atol=1e-10)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6))
def test_every_fit_with_free_columns_is_optimal(seed):
    columns, outcome, weights = random_problem(seed)
    design = Design.of(np.column_stack([outcome, columns]), weights)
    free = FreeColumns.of(outcome[:, None], weights, columns[:, :3], n_columns=7)
    usable = design.varies & (np.arange(7) > 3)
    # Labels that free columns determine in all rows are left out before.
    assume(not free.determined.any())
    path = l1_path(design, outcome, usable, free=free)
    assert path.converged
    rows = np.ones(40, dtype=bool) if free.in_play is None else free.in_play[0]
    mean, deviation = design.center[4:], design.scale[4:]
    coefs = path.coef.toarray()[:, 1:]
    is_free = free.columns[0, 1:4]
    np.testing.assert_array_equal((coefs[:, 3:] != 0).sum(axis=1), path.n_nonzero)
    assert path.n_nonzero[0] == 0
    # Of what runs off only the sign is told.
    assume(np.isfinite(path.intercept).all() and np.isfinite(coefs[:, :3][:, is_free]).all())
    for lam, intercept, coef in zip(path.lam, path.intercept, coefs, strict=True):
        # What is not identified, or runs off, is not among the free columns.
        finite = np.where(np.isfinite(coef), coef, 0.0)
        odds = intercept + columns @ finite
        residual = np.where(rows, weights * (outcome - expit(odds)), 0.0) / weights.sum()
        assert abs(residual.sum()) < 1e-9
        np.testing.assert_allclose(residual @ columns[:, :3][:, is_free], 0, atol=1e-8)
        gradient = residual @ ((columns[:, 3:] - mean) / deviation)
        moving = coef[3:] != 0
        np.testing.assert_allclose(gradient[moving], lam * np.sign(coef[3:][moving]), atol=1e-9)
        assert (np.abs(gradient) <= lam + 1e-9).all()
