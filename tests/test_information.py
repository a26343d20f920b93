"""Factors of the inverse information: as exact as rational arithmetic, however near singular."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import isingmlc as im
from isingmlc.fitting.information import _from_information, _from_regressors
from isingmlc.inference.score import OWN_SPREAD

OURS = "ignore::isingmlc.exceptions.IsingWarning"
ALL = np.array(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), dtype=bool).reshape(3, -1).T


def solve(matrix, right):
    """Solve a regular system in rational numbers."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for column in range(len(rows)):
        pivot = next(at for at in range(column, len(rows)) if rows[at][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for at in range(len(rows)):
            if at != column:
                factor = rows[at][column]
                rows[at] = [a - factor * b for a, b in zip(rows[at], rows[column], strict=True)]
    return [line[-1] for line in rows]


def exact_scores(fit, patterns, weights, columns):
    """Give score, variance and D of each column in rational numbers, at the fitted chances."""
    rows = np.flatnonzero(fit.in_play)
    design = np.column_stack([np.ones(len(patterns)), patterns])[rows][:, fit.basis].astype(int)
    design = [[int(value) for value in line] for line in design]
    chance = [Fraction(value) for value in fit.probability[rows].tolist()]
    count = [Fraction(value) for value in weights[rows].tolist()]
    outcome = [int(value) for value in patterns[rows, fit.label]]
    other = [Fraction(value) for value in fit.complement[rows].tolist()]
    weight = [n * p * q for n, p, q in zip(count, chance, other, strict=True)]
    residual = [
        n * (q if y else -p) for n, y, p, q in zip(count, outcome, chance, other, strict=True)
    ]
    size = range(len(fit.basis))
    a = [
        [sum(w * z[i] * z[j] for w, z in zip(weight, design, strict=True)) for j in size]
        for i in size
    ]
    g = [sum(e * z[i] for e, z in zip(residual, design, strict=True)) for i in size]
    for column in columns[rows].T:
        x = [Fraction(value) for value in column.tolist()]
        b = [sum(w * z[i] * v for w, z, v in zip(weight, design, x, strict=True)) for i in size]
        d = sum(w * v * v for w, v in zip(weight, x, strict=True))
        slope = solve(a, b)
        score = sum(e * v for e, v in zip(residual, x, strict=True))
        score -= sum(c * e for c, e in zip(slope, g, strict=True))
        yield score, d - sum(c * e for c, e in zip(slope, b, strict=True)), d


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("intercept", [True, False])
@settings(deadline=None, max_examples=40)
@example(
    exponents=[-11, 4, -12, 4, -12, 0, -12, -1],
    digits=[1, 1, 1, 1, 1, 1, 1, 2],
    values=[0, 0, 0, 0, 0, 0, 1, 1, *[0] * 8],
)
@given(
    exponents=st.lists(st.integers(-17, 4), min_size=8, max_size=8),
    digits=st.lists(st.integers(1, 9), min_size=8, max_size=8),
    values=st.lists(st.integers(-3, 3), min_size=16, max_size=16),
)
def test_score_statistics_are_those_of_rational_arithmetic(intercept, exponents, digits, values):
    weights = np.array(digits) * 10.0 ** np.array(exponents)
    features = np.array(values, dtype=float).reshape(8, 2)
    centre = np.average(features, axis=0, weights=weights) if intercept else np.zeros(2)
    # Features that vary in rows of no weight alone have no digits around any origin.
    spread = np.average((features - centre) ** 2, axis=0, weights=weights)
    assume((spread > 1e-2).all())
    res = im.IsingModel(ALL, features, freq_weights=weights, intercept=intercept).fit()
    edges = res.score_test(min_count=0)
    for fit in res.fits:
        if not fit.converged:
            continue
        # What a feature keeps is measured by D, but by no less than a part of its own spread.
        own = OWN_SPREAD * (weights @ fit.weight)
        exact = exact_scores(fit, ALL, weights, features - centre)
        for feature, (score, variance, size) in enumerate(exact):
            found = edges.statistics.iloc[feature, fit.label]
            reason = edges.reasons.iloc[feature, fit.label]
            share = variance / max(size, Fraction(own * spread[feature]))
            if np.isnan(found):
                assert reason in ("collinear-feature", "determined-label")
                assert share < 1e-5
            elif share > 1e-5:
                # Newton's decrement is below 1e-6: that far may standardised scores be off.
                exact_root = float(score) / float(variance) ** 0.5
                assert found**0.5 == pytest.approx(abs(exact_root), rel=1e-6, abs=1e-5)


@pytest.mark.filterwarnings(OURS)
@settings(deadline=None, max_examples=40)
@given(
    exponents=st.lists(st.integers(-14, 0), min_size=8, max_size=8),
    values=st.lists(st.integers(-3, 3), min_size=8, max_size=8),
    shares=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
)
def test_what_other_labels_explain_of_a_feature_does_not_matter(exponents, values, shares):
    weights = 100 * 10.0 ** np.array(exponents)
    feature = np.array(values, dtype=float)
    assume(np.average((feature - np.average(feature, weights=weights)) ** 2, weights=weights) > 0.1)
    moved = feature + ALL[:, 1:] @ np.array(shares)
    features = np.column_stack([feature, moved])
    edges = im.IsingModel(ALL, features, freq_weights=weights).fit().score_test(min_count=0)
    one, other = edges.statistics["y1"]
    if edges.reasons["y1"].tolist() == ["ok", "ok"]:
        # Where all but little of a feature is explained, rounding of the rest is seen.
        assert other == pytest.approx(one, rel=1e-4, abs=1e-6)


def test_a_column_without_a_pivot_is_aliased_and_the_rest_is_inverted():
    regressors = np.array([[1.0, 1.0, 2.0], [1.0, 0.0, 1.0], [1.0, 2.0, 3.0], [1.0, 5.0, 6.0]])
    matrix, aliased, orthogonal = _from_regressors(regressors, None)
    assert aliased.sum() == 1
    kept = regressors[:, ~aliased]
    np.testing.assert_allclose(
        matrix[~aliased] @ matrix[~aliased].T, np.linalg.inv(kept.T @ kept), rtol=1e-12
    )
    assert not matrix[aliased].any()
    np.testing.assert_allclose(orthogonal.T @ orthogonal, np.eye(2), atol=1e-14)


def test_an_inflated_variance_is_not_taken_from_cross_products():
    nearly = np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])
    assert _from_information(nearly) is None
    assert _from_information(np.array([[1.0, 1.0], [1.0, 1.0]])) is None
    factor, inflation = _from_information(np.array([[4.0, 1.0], [1.0, 9.0]]))
    np.testing.assert_allclose(
        factor @ factor.T, np.linalg.inv([[4.0, 1.0], [1.0, 9.0]]), rtol=1e-14
    )
    # Both variances are inflated by 1 / (1 - r²), r² = 1 / 36.
    np.testing.assert_allclose(inflation, 36 / 35, rtol=1e-14)
