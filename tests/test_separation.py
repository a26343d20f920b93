"""Separation and rank: cases whose answer is derived by hand, and agreement of independent ways."""

import itertools
from types import SimpleNamespace

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from exact import settled_exactly
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.linalg import null_space

import isingmlc as im
from isingmlc.exceptions import ModelError
from isingmlc.fitting.nodewise import FitSettings, fit_nodes
from isingmlc.fitting.separation import (
    find_separation,
    independent_columns,
    peel,
    shortest_direction,
)
from isingmlc.fitting.settling import settle_by_steps


def labelsets(*rows):
    return np.array([[int(c) for c in row] for row in rows], dtype=bool)


def signed(design, outcome):
    return np.where(outcome, 1.0, -1.0)[:, None] * design


def peel_labels(patterns, intercept):
    """Peel the models of labels given all other labels."""
    others = ~np.eye(patterns.shape[1], dtype=bool)
    return peel(patterns, patterns.astype(float), others, intercept)


def test_peeling_goes_on_after_rows_are_gone():
    # In the model of y, with others a and b:
    #   y a b
    #   0 0 0 / 1 0 0   overlap, never settled
    #   1 1 0           with 0 1 1, a occurs with both outcomes ...
    #   0 1 1           ... but b occurs with 0 only: settles 011. Then a occurs with 1 only.
    in_play, directions = peel_labels(labelsets("000", "100", "110", "011"), intercept=True)
    np.testing.assert_array_equal(in_play[0], [True, True, False, False])
    np.testing.assert_array_equal(directions[0], [[0, 0, 0, -1], [0, 0, 1, 0]])


def test_an_absent_label_can_settle_too():
    # Whoever lacks a has y = 1; among those with a both occur. Direction: constant up, a down.
    rows = labelsets("10", "01", "11")
    in_play, directions = peel_labels(rows, intercept=True)
    np.testing.assert_array_equal(in_play[0], [False, True, True])
    np.testing.assert_array_equal(directions[0], [[1, 0, -1]])
    # Without a constant no direction moves the row in which all labels are zero.
    in_play, directions = peel_labels(rows, intercept=False)
    assert in_play[0].all()
    assert directions[0] == []


def test_a_constant_label_is_settled_by_the_constant():
    in_play, directions = peel_labels(labelsets("01", "00"), intercept=True)
    assert not in_play[0].any()
    np.testing.assert_array_equal(directions[0], [[-1, 0, 0]])
    assert in_play[1].all()


def test_the_programme_finds_what_counting_cannot():
    # y = 1 if a + b = 2, y = 0 if a + b = 0, both at a + b = 1. Neither a nor b is one-sided,
    # but a + b - 1 separates: rows 00 and 11 are settled, rows 01 and 10 are not.
    rows = [(0, 0, 0), (1, 1, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]
    others = np.array([row[:2] for row in rows], dtype=float)
    outcome = np.array([row[2] for row in rows], dtype=bool)
    design = np.column_stack([np.ones(6), others])
    settled = find_separation(signed(design, outcome)).settled
    np.testing.assert_array_equal(settled, [True, True, False, False, False, False])
    # The direction must vanish at (1,0,1) and (1,1,0): it is a multiple of (-1, 1, 1).
    free = independent_columns(design[2:].T @ design[2:]).null_space
    direction = shortest_direction(signed(design[:2], outcome[:2]), free)
    np.testing.assert_allclose(direction, [-1, 1, 1], atol=1e-12)


def test_no_direction_settles_rows_that_overlap():
    overlapping = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert shortest_direction(overlapping, np.eye(2)) is None


@pytest.mark.parametrize("size", [1e-3, 1e-5, 1e-7, 1e-8])
def test_columns_tell_apart_what_cross_products_do_not(size):
    rng = np.random.default_rng(0)
    first, other = rng.uniform(-1, 1, (2, 30))
    rows = np.column_stack([np.ones(30), first, first + size * other, 2.0 - first])
    wide = {"binary": np.array([True, False, False, False]), "rows": lambda: rows}
    columns = independent_columns(rows.T @ rows, **wide)
    np.testing.assert_array_equal(columns.dropped, [3])
    np.testing.assert_allclose(columns.dependence.ravel(), [2.0, -1.0, 0.0], atol=1e-7)
    # What may be rounding of one of them tells nothing apart.
    lost = np.array([0.0, size, 0.0, 0.0])
    columns = independent_columns(rows.T @ rows, **wide, lost=lost)
    np.testing.assert_array_equal(columns.dropped, [2, 3])


def test_dependent_columns_are_named_in_order():
    rng = np.random.default_rng(0)
    z = (rng.random((30, 4)) < 0.5).astype(float)
    empty = np.zeros((30, 1))
    design = np.hstack([np.ones((30, 1)), z[:, :2], empty, 1 - z[:, [1]], z[:, 2:]])
    columns = independent_columns(design.T @ design)
    np.testing.assert_array_equal(columns.dropped, [3, 4])
    np.testing.assert_array_equal(columns.kept, [0, 1, 2, 5, 6])
    rebuilt = design[:, columns.kept] @ columns.dependence
    np.testing.assert_allclose(rebuilt, design[:, columns.dropped], atol=1e-12)
    # Column 4 is 1 minus column 2: these two and the constant are not estimable apart.
    tied = columns.null_space.any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~tied), [1, 5, 6])
    np.testing.assert_allclose(design @ columns.null_space, 0, atol=1e-12)


tables = st.integers(2, 5).flatmap(
    lambda n_labels: hnp.arrays(
        np.bool_, st.tuples(st.integers(2, 14), st.just(n_labels)), unique=False
    )
)


@given(tables, st.booleans())
@settings(max_examples=150, deadline=None)
def test_fits_settle_exactly_what_the_programme_settles(labels, intercept):
    """Counting, guessing and checking against one programme on the whole table."""
    patterns = np.unique(labels, axis=0)
    counts = np.arange(1.0, len(patterns) + 1)
    for fit in fit_nodes(patterns, counts, FitSettings(intercept=intercept)):
        design = np.delete(patterns, fit.label, axis=1).astype(float)
        if intercept:
            design = np.column_stack([np.ones(len(patterns)), design])
        settled = find_separation(signed(design, patterns[:, fit.label])).settled
        np.testing.assert_array_equal(fit.in_play, ~settled)
        assert fit.converged


@given(tables, st.booleans())
@settings(max_examples=100, deadline=None)
def test_directions_settle_their_rows_and_no_other(labels, intercept):
    patterns = np.unique(labels, axis=0)
    counts = np.ones(len(patterns))
    design = np.column_stack([np.ones(len(patterns)), patterns])
    for fit in fit_nodes(patterns, counts, FitSettings(intercept=intercept)):
        sign = np.where(patterns[:, fit.label], 1.0, -1.0)
        left = np.ones(len(patterns), dtype=bool)
        for direction in fit.directions:
            margin = sign * (design @ direction)
            assert (margin[left] > -1e-9).all()
            left &= margin < 1e-9
        np.testing.assert_array_equal(left, fit.in_play)
        # A likelihood that can still grow along a direction has an infinite coefficient there.
        assert np.isinf(fit.coef).any() == (len(fit.directions) > 0)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_every_table_of_few_labelsets_is_settled_exactly(n_labels):
    """All non-empty sets of labelsets of two and three labels, judged without rounding."""
    universe = np.array(list(itertools.product([0, 1], repeat=n_labels)), dtype=bool)
    for size in range(1, len(universe) + 1):
        for chosen in itertools.combinations(range(len(universe)), size):
            patterns = universe[list(chosen)]
            for fit in fit_nodes(patterns, np.ones(size), FitSettings()):
                others = np.delete(patterns, fit.label, axis=1).astype(int)
                design = np.column_stack([np.ones(size, dtype=int), others])
                sign = np.where(patterns[:, fit.label], 1, -1)[:, None]
                settled, _ = settled_exactly(sign * design)
                np.testing.assert_array_equal(find_separation(1.0 * sign * design).settled, settled)
                np.testing.assert_array_equal(fit.in_play, ~settled)


@settings(deadline=None, max_examples=300)
@given(
    hnp.arrays(
        np.int64, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=st.integers(-2, 2)
    )
)
def test_directions_of_whole_numbers_are_exact(rows):
    settled, _ = settled_exactly(rows)
    direction = find_separation(rows.astype(float)).direction
    margins = rows @ direction
    assert (margins[settled] > 0.5).all()
    np.testing.assert_allclose(margins[~settled], 0, atol=1e-9)
    # Of all directions that settle these rows and no other the shortest is no longer.
    free = null_space(rows[~settled]) if not settled.all() else np.eye(rows.shape[1])
    if settled.any():
        shortest = shortest_direction(rows[settled].astype(float), free)
        assert (rows[settled] @ shortest > 1 - 1e-9).all()
        np.testing.assert_allclose(rows[~settled] @ shortest, 0, atol=1e-9)
        scaled = direction / margins[settled].min()
        assert np.linalg.norm(shortest) <= np.linalg.norm(scaled) * (1 + 1e-9)
    if not settled.all():
        assert shortest_direction(rows.astype(float), np.eye(rows.shape[1])) is None


# Columns that depend on each other, as those of a feature that copies a label do.
DEPENDENT = np.array(
    [[-1, 0, 0.75**0.5], [-1, -1, 0.75**0.5], [0.75**0.5, 0, 1], [0.75**0.5, 0.75**0.5, 1]]
)


def test_dependent_rows_have_a_shortest_direction():
    """SciPy's nnls (1.15 to 1.17 at least) returns another point here."""
    direction = shortest_direction(DEPENDENT, np.eye(3))
    # All margins are one, and the direction is the only combination of rows with that.
    np.testing.assert_allclose(DEPENDENT @ direction, 1, rtol=1e-9)
    expected = np.linalg.pinv(DEPENDENT) @ np.ones(4)
    np.testing.assert_allclose(direction, expected, atol=1e-12)


def test_a_direction_that_is_known_to_exist_may_be_long():
    # The outcome changes between two values that are 1e-5 apart.
    rows = np.array([[-1.0, -1.0], [-1.0, -1.0008], [1.0, 0.99998]])
    assert shortest_direction(rows, np.eye(2)) is None
    proved, settled = find_separation(rows)
    assert settled.all()
    direction = shortest_direction(rows, np.eye(2), np.linalg.norm(proved))
    assert (rows @ direction).min() == pytest.approx(1.0, abs=1e-4)
    assert np.linalg.norm(direction) <= np.linalg.norm(proved) * (1 + 1e-6)


@pytest.mark.parametrize("failure", ["wrong", "error"])
def test_least_squares_that_fail_have_another_route(failure, monkeypatch):
    def nnls(system, target, maxiter):
        if failure == "error":
            raise RuntimeError("Maximum number of iterations reached.")
        return np.full(system.shape[1], 0.3), 0.1

    monkeypatch.setattr("scipy.optimize.nnls", nnls)
    direction = shortest_direction(np.array([[-1.0, 0.0], [1.0, 2.0]]), np.eye(2))
    np.testing.assert_allclose(direction, [-1, 1], atol=1e-12)
    assert shortest_direction(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.eye(2)) is None
    monkeypatch.setattr("scipy.optimize.lsq_linear", lambda *_, **__: SimpleNamespace(x=np.ones(2)))
    with pytest.raises(ModelError, match="no solver gave an answer that holds"):
        shortest_direction(np.array([[-1.0, 0.0], [1.0, 2.0]]), np.eye(2))


def test_programmes_that_fail_have_another_route(monkeypatch):
    rows = np.array([[-1.0, 0.0], [1.0, 1.0], [-1.0, -1.0]])
    solve = optimize.linprog
    asked = []

    def linprog(*arguments, **options):
        asked.append(options)
        solution = solve(*arguments, **options)
        if len(asked) == 1:
            return optimize.OptimizeResult(status=4, x=None, ineqlin=None)
        if len(asked) == 2:
            # A point that settles less than there is.
            solution.x = np.zeros_like(solution.x)
        return solution

    monkeypatch.setattr("scipy.optimize.linprog", linprog)
    np.testing.assert_array_equal(find_separation(rows).settled, [True, False, False])
    assert len(asked) == 3
    failed = optimize.OptimizeResult(status=4, x=None, ineqlin=None)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: failed)
    with pytest.raises(ModelError, match="no solver gave an answer that holds"):
        find_separation(rows)


@settings(deadline=None, max_examples=200)
@given(
    hnp.arrays(
        np.int64, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=st.integers(-2, 2)
    )
)
def test_steps_settle_what_is_settled(rows):
    settled, _ = settled_exactly(rows)
    direction, found = settle_by_steps(rows.astype(float), [{}])
    np.testing.assert_array_equal(found, settled)
    margins = rows @ direction
    assert (margins[settled] > 1 - 1e-9).all()
    np.testing.assert_allclose(margins[~settled], 0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_splines_whose_columns_nearly_vanish_are_decided():
    # Near its knots a spline has entries so small that a direction that settles their rows by a
    # margin of one is too long for a solver to tell what it does to others.
    rng = np.random.default_rng(5)
    age = rng.normal(60, 12, 2000).clip(18, 95)
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 2000)})
    for label, base in (("common", -0.2), ("rare", -4.8), ("rarer", -5.3)):
        chance = 1 / (1 + np.exp(-(base + 0.04 * (age - 60))))
        frame[label] = (rng.random(2000) < chance).astype(int)
    formula = "common + rare + rarer ~ 1"
    res = im.IsingModel.from_formula(formula, frame, covariates="bs(age, df=4) + C(sex)").fit()
    assert res.at({"age": 70}).label_names == ("common", "rare", "rarer")


@pytest.mark.parametrize("seed", [4173, *range(20)])
def test_steps_that_outliers_hide_from_each_other_are_not_taken_on_trust(seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(60), rng.random((60, 14)) < 0.3, rng.standard_t(0.25, 60)])
    rows *= np.where(rng.random(60) < 0.5, 1.0, -1.0)[:, None]
    rows /= np.abs(rows).max(axis=1, keepdims=True)
    answer = settle_by_steps(rows, [{}])
    if answer is not None:
        direction, found = answer
        assert (rows[found] @ direction > 0.5).all()
