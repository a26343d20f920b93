"""Cuts of features against Weka, a worked example, and a plain recursion."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

from isingmlc.ranking.contingency import Tables
from isingmlc.ranking.discretize import mdl_bins, quantile_bins


def entropy(classes):
    shares = np.unique(classes, return_counts=True)[1] / len(classes)
    return -float(np.sum(shares * np.log2(shares)))


def plain_cut_points(values, classes):
    """Fayyad and Irani's recursion, an interval and a cut at a time."""
    values, classes = np.asarray(values), np.asarray(classes)
    order = np.argsort(values, kind="stable")
    values, classes = values[order], classes[order]
    n, k, whole = len(values), len(np.unique(classes)), entropy(classes)
    best = None
    for at in range(1, n):
        if values[at] != values[at - 1]:
            left, right = entropy(classes[:at]), entropy(classes[at:])
            cost = (at * left + (n - at) * right) / n
            if best is None or cost < best[0] - 1e-9:
                best = cost, at, left, right
    if best is None:
        return []
    cost, at, left, right = best
    k_left, k_right = len(np.unique(classes[:at])), len(np.unique(classes[at:]))
    delta = math.log2(3**k - 2) - (k * whole - k_left * left - k_right * right)
    if whole - cost <= 1e-9 or whole - cost <= (math.log2(n - 1) + delta) / n:
        return []
    return [
        *plain_cut_points(values[:at], classes[:at]),
        float(values[at - 1] + values[at]) / 2,
        *plain_cut_points(values[at:], classes[at:]),
    ]


def mdl_cut_points(values, classes):
    """Cuts of a feature by minimum description length, halfway between neighbouring values."""
    distinct, categories = np.unique(values, return_inverse=True)
    codes = np.unique(classes, return_inverse=True)[1]
    counts = sparse.csr_array((np.ones(len(codes)), (categories, codes)))
    tables = Tables(counts, counts.sum(axis=1), np.array([0, len(distinct)]))
    inner = mdl_bins(tables)[1:]
    return (distinct[inner - 1] + distinct[inner]) / 2


def test_cuts_of_iris_are_those_of_weka():
    iris = load_iris()
    # As weka.filters.supervised.attribute.Discretize prints them.
    expected = [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    for feature, cuts in zip(iris.data.T, expected, strict=True):
        np.testing.assert_allclose(mdl_cut_points(feature, iris.target), cuts)


@pytest.mark.parametrize(
    ("classes", "cuts"),
    [
        # Gain 8 · 1 bits; description log2(7) + log2(7) − 2 = 3.61 bits.
        ("aaaabbbb", [4.5]),
        # At 3.5: gain 4 · 0.811 = 3.25; description log2(3) + log2(7) − 2 · 0.811 = 2.77.
        ("aaab", [3.5]),
        # At 2.5: gain 6 − 4 · 0.811 = 2.75; description log2(5) + log2(7) − 2 + 2 · 0.811 = 4.75.
        ("aababb", []),
        # Three classes, at 4.5: gain 12 · (1.585 − 2/3) = 11.02; description
        # log2(11) + log2(25) − 3 · 1.585 + 2 · 1 = 5.35. Then at 8.5, 8 against 3.61.
        ("aaaabbbbcccc", [4.5, 8.5]),
        ("aaaaaaaa", []),
        ("a", []),
    ],
)
def test_examples_worked_by_hand(classes, cuts):
    values = np.arange(1, len(classes) + 1)
    assert mdl_cut_points(values, list(classes)).tolist() == cuts
    assert plain_cut_points(values, list(classes)) == cuts


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**31), st.integers(2, 90), st.integers(2, 6), st.integers(2, 60))
def test_cuts_are_those_of_a_plain_recursion(seed, n, n_classes, n_values):
    generator = np.random.default_rng(seed)
    values = generator.integers(0, n_values, n) / 4
    shifted = values + generator.normal(scale=n_values / 12, size=n)
    classes = np.floor(shifted * n_classes * 4 / n_values)
    found = mdl_cut_points(values, classes)
    np.testing.assert_allclose(found, plain_cut_points(values, classes))


def tables_of(*row_counts):
    rows = np.concatenate(row_counts).astype(float)
    starts = np.cumsum([0, *map(len, row_counts)])
    return Tables(np.zeros((len(rows), 1)), rows, starts)


def test_quantile_bins_hold_equally_many_rows():
    first = quantile_bins(tables_of(np.ones(20), np.ones(7)), 5)
    np.testing.assert_array_equal(first[:5], [0, 4, 8, 12, 16])
    sizes = np.diff(np.append(first[5:], 27))
    assert sizes.sum() == 7
    assert set(sizes) <= {1, 2}
