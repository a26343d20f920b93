"""Conventional filters against scipy, scikit-learn and plain implementations."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score
from test_discretize import plain_cut_points

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, ModelError


def hand_in(labels, features=None, **arguments):
    """Return the arguments of `rank_features` that are data."""
    return {"labels": labels, "features": features, **arguments}


def score(data, method, **options):
    with warnings.catch_warnings():
        # Constant columns, and features in which nothing is found, are part of these tests.
        warnings.simplefilter("ignore", DataWarning)
        return im.rank_features(method=method, **data, **options).scores


def br_filter(data, criterion="chi2", **options):
    return score(data, f"br-{criterion}", **options)


def lp_filter(data, criterion="chi2", **options):
    return score(data, f"lp-{criterion}", **options)


def one_rule(data, **options):
    return score(data, "oner", **options)


FILTERS = {
    "br-chi2": br_filter,
    "br-ig": lambda data, **options: br_filter(data, "ig", **options),
    "br-chi2, quantile": lambda data: br_filter(data, discretize="quantile", n_bins=4),
    "lp-chi2": lp_filter,
    "lp-ig": lambda data, **options: lp_filter(data, "ig", **options),
    "lp-ig, quantile": lambda data: lp_filter(data, "ig", discretize="quantile", n_bins=4),
    "oner": one_rule,
}
KINDS = ["binary", "codes", "negative", "halves", "wide", "mixed"]


def make_labels(generator, n, n_labels=4):
    hidden = generator.normal(size=(n, 1))
    return (hidden + generator.normal(size=(n, n_labels)) > [0.0, 0.5, 1.0, -0.5][:n_labels]) * 1


def make_discrete(generator, labels, kind):
    """Features of at most ten values that lean on the labels."""
    lean = labels @ generator.normal(size=(labels.shape[1], 5))
    noisy = lean + generator.normal(size=lean.shape)
    if kind == "binary":
        return (noisy > 0.5).astype(int)
    codes = np.clip(np.round(1.5 * noisy), -3, 4)
    if kind == "codes":
        return codes + 3
    if kind == "negative":
        return codes.astype(np.int8)
    if kind == "halves":
        return codes / 2
    if kind == "wide":
        return np.sign(codes) * 1e12 + 7
    return np.column_stack([noisy[:, 0] > 0.5, codes[:, 1], codes[:, 2] / 2, codes[:, 3:]])


def make_continuous(generator, labels, n_features=6):
    lean = labels @ generator.normal(size=(labels.shape[1], n_features))
    noisy = lean + generator.normal(scale=1.5, size=lean.shape)
    # Some columns have ties.
    noisy[:, ::2] = np.round(8 * noisy[:, ::2])
    return noisy


def table_of(feature, target):
    rows, columns = (np.unique(part, return_inverse=True)[1] for part in (feature, target))
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    return table


def chi_square(feature, target):
    table = table_of(feature, target)
    return chi2_contingency(table, correction=False).statistic if min(table.shape) > 1 else 0.0


def information_gain(feature, target):
    return mutual_info_score(None, None, contingency=table_of(feature, target))


REFERENCE = {"chi2": chi_square, "ig": information_gain}


def powerset(labels):
    return labels @ (1 << np.arange(labels.shape[1]))


# Contingency tables


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("criterion", ["chi2", "ig"])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_discrete_features_are_those_of_scipy_and_scikit_learn(
    kind, criterion, is_sparse
):
    generator = np.random.default_rng(1)
    labels = make_labels(generator, 200)
    features = make_discrete(generator, labels, kind)
    data = hand_in(labels, sparse.csr_array(features) if is_sparse else features)
    measure = REFERENCE[criterion]
    expected = [[measure(x, y) for y in labels.T] for x in features.T]
    for option in ("mdl", "quantile", "none"):
        scores = br_filter(data, criterion, discretize=option)
        np.testing.assert_allclose(scores.contributions, expected, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(scores.importance, np.sum(expected, axis=1), rtol=1e-10)
        scores = lp_filter(data, criterion, discretize=option)
        classes = [[measure(x, powerset(labels))] for x in features.T]
        np.testing.assert_allclose(scores.contributions, classes, rtol=1e-10)
        np.testing.assert_allclose(scores.importance, np.ravel(classes), rtol=1e-10)
        assert scores.notes == ()


@pytest.mark.parametrize("combine", ["sum", "max", "mean"])
def test_scores_are_combined_over_the_labels_that_vary(combine):
    generator = np.random.default_rng(4)
    labels = np.column_stack([make_labels(generator, 80, 3), np.ones(80, dtype=int)])
    data = hand_in(labels, make_discrete(generator, labels, "binary"))
    for scores in (br_filter(data, combine=combine), one_rule(data, combine=combine)):
        assert list(scores.label_reason) == ["ok", "ok", "ok", "constant-label"]
        assert np.isnan(scores.contributions[:, 3]).all()
        expected = getattr(np, f"nan{combine}")(scores.contributions, axis=1)
        np.testing.assert_array_equal(scores.importance, expected)


# Features with many values


@pytest.mark.parametrize("criterion", ["chi2", "ig"])
def test_intervals_are_those_of_a_plain_recursion(criterion):
    generator = np.random.default_rng(5)
    labels = make_labels(generator, 150)
    features = make_continuous(generator, labels, 8)
    data = hand_in(labels, features)
    measure = REFERENCE[criterion]

    def expected(feature, target):
        return measure(np.searchsorted(plain_cut_points(feature, target), feature), target)

    found = br_filter(data, criterion).contributions
    plain = [[expected(x, y) for y in labels.T] for x in features.T]
    np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-13)
    assert 0 < np.count_nonzero(found) < found.size
    found = lp_filter(data, criterion, min_count=5).importance
    classes = powerset(labels)
    counts = np.bincount(classes)
    kept = counts[classes] >= 5
    plain = [expected(x, classes[kept]) for x in features[kept].T]
    np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-13)
    assert found.any()


def test_features_without_cuts_score_nothing_and_notes_say_so():
    generator = np.random.default_rng(6)
    labels = make_labels(generator, 100, 2)
    features = np.column_stack([labels[:, 0] + generator.normal(scale=0.3, size=100), range(100)])
    scores = br_filter(hand_in(labels, generator.permutation(features[:, 1:])))
    np.testing.assert_array_equal(scores.importance, 0.0)
    assert list(scores.feature_reason) == ["ok"]
    assert scores.notes == (
        "1 of 1 features have more than 10 values and are cut by minimum description length for "
        "each label; no cut is worth its description in 1 of them, which have importance 0.",
        "No feature has a cut, so the ranking is the order of the columns: use "
        "discretize='quantile'.",
    )
    scores = br_filter(hand_in(labels, features))
    assert scores.importance[0] > 50
    assert len(scores.notes) == 1
    notes = br_filter(hand_in(labels, features), discretize="quantile").notes
    assert notes == (
        "2 of 2 features have more than 10 values and are cut into 5 intervals of equally many "
        "rows.",
    )


# What changes nothing


@pytest.fixture(scope="module")
def mixed():
    """Labels and features of all kinds."""
    generator = np.random.default_rng(8)
    labels = make_labels(generator, 250)
    parts = [make_discrete(generator, labels, "binary"), make_discrete(generator, labels, "halves")]
    thin = make_continuous(generator, labels, 4) * (generator.random((250, 4)) < 0.4)
    features = np.column_stack([*parts, make_continuous(generator, labels), thin, np.full(250, 2)])
    return labels, features.astype(float)


@pytest.mark.parametrize("name", FILTERS)
def test_order_of_rows_and_columns_does_not_matter(name, mixed):
    labels, features = mixed
    generator = np.random.default_rng(9)
    rows, j, k = (generator.permutation(size) for size in (250, features.shape[1], 4))
    expected = FILTERS[name](hand_in(labels, features))
    found = FILTERS[name](hand_in(labels[rows], features[rows]))
    np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-11)
    found = FILTERS[name](hand_in(labels, features[:, j]))
    np.testing.assert_allclose(found.contributions, expected.contributions[j], atol=1e-11)
    found = FILTERS[name](hand_in(labels[:, k], features))
    np.testing.assert_allclose(found.importance, expected.importance, atol=1e-11)


@pytest.mark.parametrize("name", FILTERS)
def test_weights_count_rows_as_often_as_they_say(name, mixed):
    labels, features = mixed
    weights = np.random.default_rng(10).integers(0, 4, 250)
    expected = FILTERS[name](
        hand_in(np.repeat(labels, weights, axis=0), np.repeat(features, weights, axis=0))
    )
    for matrix in (features, sparse.csr_array(features)):
        found = FILTERS[name](hand_in(labels, matrix, freq_weights=weights))
        np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-10)
        assert list(found.feature_reason) == list(expected.feature_reason)


@pytest.mark.parametrize("name", FILTERS)
def test_sparse_features_have_the_same_scores(name, mixed):
    labels, features = mixed
    matrix = sparse.csr_array(features)
    # A stored zero is a zero.
    matrix.data[::50] = 0.0
    before = matrix.copy()
    expected = FILTERS[name](hand_in(labels, matrix.toarray()))
    found = FILTERS[name](hand_in(labels, matrix))
    np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-11)
    assert list(found.feature_reason) == list(expected.feature_reason)
    assert (matrix != before).nnz == 0
    assert matrix.nnz == before.nnz


# Labelsets


# One rule


def plain_one_rule(feature, label, min_bucket):
    """Accuracy of Holte's rule beyond guessing, a value at a time."""
    values = np.unique(feature)
    right, at = 0, 0
    while at < len(values):
        bucket = label[feature == values[at]].tolist()
        at += 1
        if len(values) > 10:
            while max(sum(bucket), len(bucket) - sum(bucket)) < min_bucket and at < len(values):
                bucket += label[feature == values[at]].tolist()
                at += 1
            common = int(sum(bucket) > len(bucket) - sum(bucket))
            while at < len(values) and (label[feature == values[at]] == common).all():
                bucket += label[feature == values[at]].tolist()
                at += 1
        right += max(sum(bucket), len(bucket) - sum(bucket))
    return (right - max(label.sum(), len(label) - label.sum())) / len(label)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.integers(1, 8), st.integers(3, 120))
def test_one_rule_is_a_plain_one(seed, min_bucket, n_values):
    generator = np.random.default_rng(seed)
    labels = make_labels(generator, 100, 3)
    labels[0], labels[1] = 0, 1
    features = generator.integers(0, n_values, (100, 2)) + n_values / 4 * labels[:, :2]
    found = one_rule(hand_in(labels, features), min_bucket=min_bucket).contributions
    expected = [[plain_one_rule(x, y, min_bucket) for y in labels.T] for x in features.T]
    np.testing.assert_allclose(found, expected, atol=1e-15)


# Nearest neighbours


# Bad input


@pytest.fixture(scope="module")
def small():
    generator = np.random.default_rng(16)
    labels = make_labels(generator, 400, 2)
    return hand_in(labels, generator.normal(size=(400, 2)), feature_names=["length", "width"])


@pytest.mark.parametrize("filter_", [br_filter, lp_filter])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"discretize": "mdlp"}, "discretize must be one of 'mdl', 'quantile', 'none'"),
        ({"discretize": None}, "discretize must be one of"),
        ({"n_bins": 1}, "n_bins must be a whole number of at least 2"),
        ({"n_bins": 2.5}, "n_bins must be"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
        ({"n_jobs": "all"}, "n_jobs must be"),
        ({"discretize": "none"}, "'length', 'width' have more than 256"),
    ],
)
def test_bad_options_are_named(small, filter_, options, message):
    with pytest.raises(DataError, match=message):
        filter_(small, **options)


@pytest.mark.parametrize("name", FILTERS)
def test_labels_that_do_not_vary_and_lacking_features_are_refused(name):
    with pytest.raises(DataError, match="no label varies"):
        FILTERS[name](hand_in([[0, 1], [0, 1]], [[1.0], [2.0]]))
    with pytest.raises(ModelError, match="no features"):
        FILTERS[name](hand_in([[0, 1], [1, 1]]))
