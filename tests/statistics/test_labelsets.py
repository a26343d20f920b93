"""Labelset statistics against naive computations, and the algebra they promise."""

import hypothesis.extra.numpy as hnp
import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import isingmlc as im

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

STATISTICS = ("patterns", "counts", "sums", "squares")


def naive(labels, features, weights=None):
    """Group rows by label vector with pandas and add up in float64."""
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    x = np.asarray(features, dtype=np.float64)
    frame = pd.DataFrame(np.asarray(labels).astype(int))
    groups = frame.groupby(list(frame.columns)).indices
    patterns = np.array(sorted(groups), dtype=bool).reshape(len(groups), -1)
    rows = [groups[key if len(key) > 1 else key[0]] for key in sorted(groups)]
    return (
        patterns,
        np.array([weights[at].sum() for at in rows]),
        np.array([weights[at] @ x[at] for at in rows]),
        np.array([weights[at] @ x[at] ** 2 for at in rows]),
    )


def simulated(n=400, n_labels=5, n_features=7, seed=1):
    rng = np.random.default_rng(seed)
    labels = rng.random((n, n_labels)) < rng.uniform(0.1, 0.7, n_labels)
    return labels, rng.normal(size=(n, n_features)) * 3 + 1, rng.integers(1, 5, n)


def assert_same(stats, other, rtol=1e-12):
    one, two = stats.recenter(0.0), other.recenter(0.0)
    np.testing.assert_array_equal(one.patterns, two.patterns)
    for name in STATISTICS[1:]:
        mine, theirs = getattr(one, name), getattr(two, name)
        mine = mine.toarray() if sparse.issparse(mine) else mine
        theirs = theirs.toarray() if sparse.issparse(theirs) else theirs
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol * np.abs(theirs).max())
    assert one.n_rows == two.n_rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_statistics_equal_a_naive_groupby(dtype, weighted):
    labels, features, weights = simulated()
    features = features.astype(dtype)
    weights = weights if weighted else None
    stats = im.LabelsetStatistics.from_arrays(labels, features, freq_weights=weights)
    assert stats.sums.dtype == stats.squares.dtype == np.float64
    for origin, found in ((stats.shift, stats), (0.0, stats.recenter(0.0))):
        patterns, counts, sums, squares = naive(labels, features - origin, weights)
        np.testing.assert_array_equal(found.patterns, patterns)
        np.testing.assert_array_equal(found.counts, counts)
        # Each entry against the size of what was added up for it.
        size = naive(labels, np.abs(features - origin), weights)[2]
        assert (np.abs(found.sums - sums) <= 1e-12 * size).all()
        moved = naive(labels, np.abs(features - stats.shift) + np.abs(stats.shift), weights)[3]
        assert (np.abs(found.squares - squares) <= 1e-12 * moved).all()


@pytest.mark.parametrize("format_", ["csr", "csc", "coo", "lil"])
def test_sparse_features_give_the_statistics_of_dense_ones(format_):
    labels, features, weights = simulated()
    features[np.abs(features) < 3] = 0
    features[:, 2] = 5 + 1e-3 * features[:, 2]  # a column without zeros is shifted
    stats = im.LabelsetStatistics.from_arrays(
        labels, sparse.coo_array(features).asformat(format_), freq_weights=weights
    )
    assert sparse.issparse(stats.sums)
    assert stats.shift[2] == pytest.approx(5, abs=0.1)
    assert not np.delete(stats.shift, 2).any()
    dense = im.LabelsetStatistics.from_arrays(labels, features, freq_weights=weights)
    assert_same(stats, dense)


tables = st.integers(1, 4).flatmap(
    lambda n_labels: st.integers(2, 25).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.bool_, (n, n_labels)),
            hnp.arrays(
                np.float64, (n, 2), elements=st.integers(-200, 200).map(lambda value: value / 4)
            ),
            hnp.arrays(np.int64, n, elements=st.integers(1, 4)),
        )
    )
)


@given(tables, st.integers(1, 24))
@settings(max_examples=60, deadline=None)
def test_adding_statistics_is_pooling_rows(table, cut):
    labels, features, weights = table
    cut = min(cut, len(labels) - 1)
    whole = im.LabelsetStatistics.from_arrays(labels, features, freq_weights=weights)
    parts = [
        im.LabelsetStatistics.from_arrays(labels[s], features[s], freq_weights=weights[s])
        for s in (slice(cut), slice(cut, None))
    ]
    assert_same(parts[0] + parts[1], whole)
    assert_same(sum(parts[::-1]), whole)


def test_statistics_of_other_columns_do_not_add_up():
    labels, features, _ = simulated()
    one = im.LabelsetStatistics.from_arrays(labels, features)
    two = im.LabelsetStatistics.from_arrays(labels, features[:, :3])
    with pytest.raises(im.exceptions.DataError, match="feature_names"):
        one + two
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_saved_statistics_come_back_as_they_were(tmp_path, kind):
    labels, features, weights = simulated()
    stats = im.LabelsetStatistics.from_arrays(labels, kind(features), freq_weights=weights)
    stats.save(tmp_path / "stats.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["stats.npz"]
    again = im.LabelsetStatistics.load(tmp_path / "stats.npz")
    assert again.label_names == stats.label_names
    assert again.feature_names == stats.feature_names
    np.testing.assert_array_equal(again.shift, stats.shift)
    assert_same(again, stats, rtol=0)


def test_statistics_cannot_be_changed():
    stats = im.LabelsetStatistics.from_arrays(*simulated()[:2])
    for name in (*STATISTICS, "shift"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(stats, name)[:] = 0
    with pytest.raises(AttributeError):
        stats.counts = None


@pytest.mark.filterwarnings(FEW_ROWS)
def test_a_large_mean_costs_no_digits():
    """Mean 1e6 and standard deviation 1e-2, against arithmetic with 50 digits."""
    rng = np.random.default_rng(8)
    n = 200
    labels = rng.random((n, 2)) < 0.5
    feature = 1e6 + 1e-2 * rng.normal(size=n) + 3e-3 * labels[:, 0]
    model = im.IsingModel(labels, feature[:, None])
    # Split in two and merged, the digits must survive as well.
    merged = im.LabelsetStatistics.from_batches(
        [(labels[:70], feature[:70, None]), (labels[70:], feature[70:, None])]
    )
    with mpmath.workdps(50):
        expected = [_score_statistic(labels, feature, k) for k in range(2)]
    for fitted in (model.fit(), im.IsingModel.from_statistics(merged).fit()):
        found = fitted.score_test().statistics.to_numpy()[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def _score_statistic(labels, feature, k):
    """Score statistic of one feature for one of two labels, row by row in mpmath.

    With one other label the fitted probabilities are the shares of y_k among the rows with the
    same value of it, and partialling out (1, y_l) is centring within these two groups.
    """
    outcome, other = labels[:, k], labels[:, 1 - k]
    score, variance = mpmath.mpf(0), mpmath.mpf(0)
    for value in (False, True):
        rows = np.flatnonzero(other == value)
        share = mpmath.mpf(int(outcome[rows].sum())) / len(rows)
        x = [mpmath.mpf(float(feature[i])) for i in rows]
        mean = mpmath.fsum(x) / len(rows)
        score += mpmath.fsum(xi * (int(outcome[i]) - share) for i, xi in zip(rows, x, strict=True))
        variance += share * (1 - share) * mpmath.fsum((xi - mean) ** 2 for xi in x)
    return float(score**2 / variance)
