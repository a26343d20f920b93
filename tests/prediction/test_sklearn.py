import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from packaging.version import Version
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, IsingWarning, ModelError
from isingmlc.sklearn import IsingClassifier, IsingSelector

# Before 1.7 these gave labels another meaning when rows came in another order.
UNSOUND_CHECKS = (
    {
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    }
    if Version(sklearn.__version__) < Version("1.7")
    else set()
)


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{name}-{check.func.__name__}")
        for name, ours in {
            "forward": IsingSelector(),
            "score": IsingSelector("score"),
            "subset": IsingClassifier(),
            "hamming": IsingClassifier(decode="hamming", labelsets="all"),
        }.items()
        for estimator, check in estimator_checks_generator(ours, mark="skip", legacy=True)
        if check.func.__name__ not in UNSOUND_CHECKS
    ],
)
def test_scikit_learns_own_checks_pass(estimator, check):
    with warnings.catch_warnings():
        # Random labels of these checks may be rare or separated.
        warnings.simplefilter("ignore", IsingWarning)
        check(estimator)


def test_it_keeps_the_first_features_of_the_ranking(data):
    sizes = ((3, 3), (np.int64(4), 4), (0.2, 6), (1.0, 30), ("auto", 10), (None, 30))
    for method in ("score", "forward"):
        ranking = im.rank_features(data.labels, data.features, method)
        for wanted, size in sizes:
            selector = IsingSelector(method, n_features_to_select=wanted)
            selector.fit(data.features, data.labels)
            assert set(selector.get_feature_names_out()) == set(ranking.order[:size])
            assert selector.transform(data.features).shape == (1500, size)
        np.testing.assert_array_equal(selector.scores_, ranking.importance)
        np.testing.assert_array_equal(
            selector.ranking_, ranking.to_frame()["rank"][list(data.features.columns)]
        )
        assert selector.feature_ranking_.label_names == tuple(data.labels.columns)
        if method == "score":
            np.testing.assert_array_equal(selector.pvalues_, ranking.pvalues)


def test_features_that_complement_each_other_are_the_default_unless_tests_are_wanted(data):
    for settings, method in (
        ({}, "forward"),
        ({"n_features_to_select": 3, "covariates": ["age"]}, "forward"),
        ({"alpha": 0.05}, "score"),
        ({"penalty": None}, "score"),
        ({"penalty": 2.0}, "score"),
        ({"neighbors": 2}, "score"),
        ({"cov_type": "HC0"}, "score"),
        ({"combine": "sum"}, "score"),
    ):
        selector = IsingSelector(**settings).fit(data.features, data.labels)
        assert selector.feature_ranking_.method == method


def test_it_keeps_features_by_false_discovery_rate(data):
    ranking = im.rank_features(data.labels, data.features, penalty=None)
    selector = IsingSelector(alpha=0.05).fit(data.features, data.labels)
    assert set(selector.get_feature_names_out()) == set(ranking.select(0.05))
    strict = IsingSelector(alpha=0.01, adjust="bonferroni").fit(data.features, data.labels)
    assert set(strict.get_feature_names_out()) == set(ranking.select(0.01, "bonferroni"))


def test_pandas_comes_out_when_asked_for(data):
    selector = IsingSelector(n_features_to_select=5).set_output(transform="pandas")
    chosen = selector.fit_transform(data.features, data.labels)
    assert isinstance(chosen, pd.DataFrame)
    pd.testing.assert_frame_equal(chosen, data.features[list(chosen.columns)])


def test_sparse_features_and_labels_give_the_same(data):
    dense = IsingSelector().fit(data.features.to_numpy(), data.labels.to_numpy())
    thin = IsingSelector().fit(sparse.csr_array(data.features), sparse.csr_array(data.labels))
    np.testing.assert_allclose(thin.scores_, dense.scores_)
    assert sparse.issparse(thin.transform(sparse.csr_array(data.features)))


def test_weights_count_rows(data):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, len(data.labels))
    weighted = IsingSelector().fit(data.features, data.labels, sample_weight=weights)
    rows = rng.permutation(np.repeat(np.arange(len(weights)), weights))
    repeated = IsingSelector().fit(data.features.iloc[rows], data.labels.iloc[rows])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_)
    np.testing.assert_array_equal(weighted.get_support(), repeated.get_support())


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("score", {"penalty": 5.0, "min_count": 3}),
        ("forward", {"stop": "ebic", "gamma": 5.0}),
        ("score", {"neighbors": 2}),
        ("products", {"neighbors": "ebic"}),
        ("score", {"neighbors": np.eye(6)[::-1]}),
        ("products", {"intercept": False}),
        ("l1", {"lam_ratio": 0.1, "n_jobs": 2}),
        ("score+l1", {"keep": 5, "penalty": "firth"}),
        ("score+l1", {"keep_pvalue": 0.05}),
        ("br-chi2", {"combine": "max", "discretize": "quantile", "n_bins": 3}),
        ("oner", {"min_bucket": 20}),
    ],
)
def test_options_reach_the_method(data, method, options):
    features, labels = data.features.iloc[:600, :8], data.labels[:600]
    selector = IsingSelector(method, **options).fit(features, labels)
    expected = im.rank_features(labels, features, method=method, **options)
    np.testing.assert_array_equal(selector.scores_, expected.importance)
    plain = im.rank_features(labels, features, method=method)
    assert (plain.importance != expected.importance).any()


def test_a_number_in_the_place_of_the_method_is_told_what_to_write(data):
    for number in (50, 0.2, np.int64(3)):
        message = rf"IsingSelector\(n_features_to_select={re.escape(repr(number))}\)"
        with pytest.raises(DataError, match=message):
            IsingSelector(number).fit(data.features, data.labels)


def test_constant_labels_are_named(data):
    labels = data.labels.assign(never=0, always=1)
    with pytest.warns(DataWarning, match=r"'never', 'always'"):
        selector = IsingSelector().fit(data.features, labels)
    np.testing.assert_allclose(
        selector.scores_, IsingSelector().fit(data.features, data.labels).scores_
    )


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"n_features_to_select": 31},
            DataError,
            r"n_features_to_select must be at most .* 30, but is 31",
        ),
        ({"n_features_to_select": 0}, DataError, "n_features_to_select must be"),
        ({"n_features_to_select": 1.5}, DataError, "n_features_to_select must be"),
        ({"n_features_to_select": 0.0}, DataError, "n_features_to_select must be"),
        ({"n_features_to_select": "all"}, DataError, "n_features_to_select must be one of 'auto'"),
        ({"alpha": 1.5}, DataError, "alpha must be"),
        ({"alpha": 0.05, "adjust": "best"}, DataError, "adjust must be one of"),
        ({"method": "chi2"}, DataError, "method must be one of"),
        (
            {"keep": 3},
            DataError,
            "method 'forward' has no option 'keep': its options are 'n_features'",
        ),
        ({"method": "l1", "n_bins": 3}, DataError, "method 'l1' has no option 'n_bins'"),
        ({"n_jobs": 2}, DataError, "method 'forward' has no option 'n_jobs'"),
        ({"method": "l1", "penalty": 2.0}, DataError, "penalty and neighbors are for"),
        ({"method": "br-ig", "penalty": 1.0}, DataError, "penalty and neighbors are for"),
        (
            {"penalty": -2.0, "method": "score"},
            DataError,
            "penalty must be a finite number above 0",
        ),
        ({"method": "br-ig", "neighbors": 2}, DataError, "penalty and neighbors are for"),
        ({"neighbors": 0.5}, DataError, "neighbors must be 'ebic', .* but is 0.5"),
        ({"neighbors": np.eye(3)}, DataError, r"one line and column per label \(6\)"),
        ({"penalty": "best"}, DataError, "penalty must be one of"),
        ({"alpha": 0.05, "method": "br-chi2"}, ModelError, "has no p-values"),
    ],
)
def test_bad_settings_are_named(data, settings, error, message):
    with pytest.raises(error, match=message):
        IsingSelector(**settings).fit(data.features, data.labels)


def test_labels_with_three_values_are_refused(data):
    with pytest.raises(DataError, match=r"two values in each column.*'0'"):
        IsingSelector().fit(data.features, data.features[["age"]].to_numpy())


def test_a_selector_that_keeps_nothing_warns():
    rng = np.random.default_rng(3)
    features, labels = rng.normal(size=(300, 4)), rng.random((300, 2)) < 0.4
    with pytest.warns(im.exceptions.DataWarning, match=r"alpha=0\.0001 .* none is kept"):
        selector = IsingSelector(alpha=1e-4).fit(features, labels)
    assert not selector.get_support().any()


# Covariates


def test_covariates_are_kept_and_the_others_ranked_given_them(data):
    known = ["female", "age"]
    others = data.features.drop(columns=known)
    expected = im.rank_features(data.labels, others, covariates=data.features[known])
    by_name = IsingSelector("score", n_features_to_select=4, covariates=known)
    by_name.fit(data.features, data.labels)
    kept = [name for name in data.features if name in {*known, *expected.order[:4]}]
    assert list(by_name.get_feature_names_out()) == kept
    assert list(by_name.transform(data.features[:2])[0]) == list(data.features[kept].iloc[0])
    is_covariate = data.features.columns.isin(known)
    np.testing.assert_allclose(by_name.scores_[~is_covariate], expected.importance)
    np.testing.assert_allclose(by_name.pvalues_[~is_covariate], expected.pvalues)
    assert np.isnan(by_name.scores_[is_covariate]).all()
    assert np.isnan(by_name.pvalues_[is_covariate]).all()
    assert (by_name.ranking_[is_covariate] == 0).all()
    assert sorted(by_name.ranking_[~is_covariate]) == list(range(1, 29))
    assert set(by_name.feature_ranking_.adjusted_for) == set(known)
    # Positions, and sparse columns, are the same.
    positions = np.flatnonzero(is_covariate)
    for table in (data.features.to_numpy(float), sparse.csr_array(data.features.to_numpy(float))):
        by_place = IsingSelector("score", n_features_to_select=4, covariates=positions)
        by_place.fit(table, data.labels.to_numpy())
        np.testing.assert_array_equal(by_place.support_, by_name.support_)
        np.testing.assert_allclose(by_place.scores_, by_name.scores_)
        assert by_place.transform(table).shape == (1500, 6)


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (["agee"], r"'agee' is not: X has positions from 0 to 29 and the names 'age'"),
        ([30, -1], r"30, -1 are not: X has positions from 0 to 29"),
        ([True], r"True is not"),
        (["age", 0], r"must name each column once, but 0 comes again"),
        (2.5, r"must be a list of names or positions of columns of X, but is 2.5"),
        (list(range(30)), r"all 30 columns of X: none is left"),
    ],
)
def test_covariates_that_do_not_exist_are_named(data, covariates, message):
    with pytest.raises(DataError, match=message):
        IsingSelector(covariates=covariates).fit(data.features, data.labels)


def test_filters_cannot_be_given_covariates(data):
    with pytest.raises(DataError, match="'br-chi2' looks at features and labels alone"):
        IsingSelector("br-chi2", covariates=["age"]).fit(data.features, data.labels)


@pytest.mark.parametrize("estimator", [IsingSelector(), IsingClassifier()])
def test_frames_that_cannot_be_meant_are_named(data, estimator):
    features, labels = data.features, data.labels
    with pytest.raises(DataError, match="'asthma' is named as label and as feature"):
        estimator.fit(features.join(labels["asthma"]), labels)
    with pytest.raises(DataError, match="'asthma' is named as label and as feature"):
        estimator.fit(features.join(labels["asthma"]), labels["asthma"])
    with pytest.raises(DataError, match="indexes differ"):
        estimator.fit(features, labels.set_axis(labels.index[::-1]))
    for column in (
        features["age"].map(str),
        features["age"].astype("category"),
        pd.to_datetime(features["age"], unit="D"),
    ):
        with pytest.raises(DataError, match=r"X must be numeric.*'age'.*OneHotEncoder"):
            estimator.fit(features.assign(age=column), labels)
    numbers = features.assign(age=features["age"].astype(object))
    plain = clone(estimator).fit(features, labels)
    again = clone(estimator).fit(numbers, labels)
    for name in ("scores_", "coef_"):
        np.testing.assert_array_equal(getattr(again, name, 0), getattr(plain, name, 0))


def test_labels_of_other_values_are_coded_or_refused_with_what_to_do(data):
    signs = data.labels.replace(0, -1)
    plain = IsingSelector().fit(data.features, data.labels)
    np.testing.assert_allclose(IsingSelector().fit(data.features, signs).scores_, plain.scores_)
    with pytest.raises(DataError, match="Code the value that means yes as 1 and the other as 0"):
        IsingClassifier().fit(data.features, signs)
