import inspect
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from packaging.version import Version
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, IsingWarning, ModelError
from isingmlc.ranking.methods import RANKING_METHODS
from isingmlc.sklearn import IsingSelector

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
        pytest.param(estimator, check, id=f"{estimator.method}-{check.func.__name__}")
        for selector in (IsingSelector(), IsingSelector("products"))
        for estimator, check in estimator_checks_generator(selector, mark="skip", legacy=True)
        if check.func.__name__ not in UNSOUND_CHECKS
    ],
)
def test_scikit_learns_own_checks_pass(estimator, check):
    with warnings.catch_warnings():
        # Random labels of these checks may be rare or separated.
        warnings.simplefilter("ignore", IsingWarning)
        check(estimator)


def test_it_keeps_the_first_features_of_the_ranking(data):
    ranking = im.rank_features(data.labels, data.features)
    for wanted, size in ((3, 3), (np.int64(4), 4), (0.2, 6), (1.0, 30), ("auto", 10), (None, 30)):
        selector = IsingSelector(n_features_to_select=wanted).fit(data.features, data.labels)
        assert set(selector.get_feature_names_out()) == set(ranking.order[:size])
        assert selector.transform(data.features).shape == (1500, size)
    np.testing.assert_array_equal(selector.scores_, ranking.importance)
    np.testing.assert_array_equal(selector.pvalues_, ranking.pvalues)
    np.testing.assert_array_equal(
        selector.ranking_, ranking.to_frame()["rank"][list(data.features.columns)]
    )
    assert selector.feature_ranking_.label_names == tuple(data.labels.columns)


def test_it_keeps_features_by_false_discovery_rate(data):
    ranking = im.rank_features(data.labels, data.features)
    selector = IsingSelector(alpha=0.05).fit(data.features, data.labels)
    assert set(selector.get_feature_names_out()) == set(ranking.select(0.05))
    strict = IsingSelector(alpha=0.01, adjust="bonferroni").fit(data.features, data.labels)
    assert set(strict.get_feature_names_out()) == set(ranking.select(0.01, "bonferroni"))
    both = IsingSelector(alpha=0.05, n_features_to_select=2).fit(data.features, data.labels)
    assert set(both.get_feature_names_out()) == {"age", "bmi"}


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


def test_any_two_values_make_a_label(data):
    expected = IsingSelector().fit(data.features, data.labels).scores_
    words = np.where(data.labels == 1, "yes", "no").astype(object)
    for labels in (data.labels * 2 - 1, data.labels.astype(bool), words):
        np.testing.assert_allclose(IsingSelector().fit(data.features, labels).scores_, expected)


def test_one_label_may_be_a_vector(data):
    column = data.labels[["diabetes"]]
    expected = IsingSelector().fit(data.features, column).scores_
    np.testing.assert_allclose(
        IsingSelector().fit(data.features, column["diabetes"]).scores_, expected
    )


def test_every_option_of_every_method_is_a_parameter():
    names = set(IsingSelector().get_params())
    for method, ranking in RANKING_METHODS.items():
        assert set(ranking.defaults) <= names, method
    arguments = inspect.signature(im.rank_features).parameters
    given_by_fit = {"labels", "features", "freq_weights", "missing", "label_names", "feature_names"}
    assert set(arguments) - given_by_fit - {"options"} <= names


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("score", {"null": "ridge", "penalty": 5.0, "min_count": 3}),
        ("products", {"intercept": False}),
        ("l1", {"lam_ratio": 0.1, "n_jobs": 2}),
        ("score+l1", {"keep": 5, "null": "firth"}),
        ("score+l1", {"keep_pvalue": 0.05}),
        ("br-chi2", {"combine": "max", "discretize": "quantile", "n_bins": 3}),
        ("lp-ig", {"estimator": "knn", "n_neighbors": 5, "random_state": 3}),
        ("oner", {"min_bucket": 20}),
    ],
)
def test_options_reach_the_method(data, method, options):
    selector = IsingSelector(method, **options).fit(data.features, data.labels)
    expected = im.rank_features(data.labels, data.features, method=method, **options)
    np.testing.assert_array_equal(selector.scores_, expected.importance)
    plain = im.rank_features(data.labels, data.features, method=method)
    assert (plain.importance != expected.importance).any()


def test_a_number_in_the_place_of_the_method_is_told_what_to_write(data):
    for number in (50, 0.2, np.int64(3)):
        message = rf"IsingSelector\(n_features_to_select={re.escape(repr(number))}\)"
        with pytest.raises(DataError, match=message):
            IsingSelector(number).fit(data.features, data.labels)


def test_a_copy_has_the_same_parameters():
    selector = IsingSelector("lp-ig", n_features_to_select=0.5, estimator="knn", random_state=4)
    assert clone(selector).get_params() == selector.get_params()
    changed = clone(selector).set_params(method="score", estimator=None, penalty=2.0)
    assert changed.get_params()["penalty"] == 2.0
    assert selector.penalty is None


def test_a_pipeline_lets_a_grid_search_choose_the_parameters(data):
    chain = ClassifierChain(LogisticRegression(max_iter=1000), order=list(range(6)))
    pipeline = make_pipeline(IsingSelector(), StandardScaler(), chain)
    grid = GridSearchCV(
        pipeline,
        [
            {
                "isingselector__n_features_to_select": [1, 8],
                "isingselector__method": ["score", "products"],
            },
            {"isingselector__null": ["ridge"], "isingselector__penalty": [0.1, 1e4]},
        ],
        scoring="accuracy",
        cv=3,
    )
    grid.fit(data.features.to_numpy(), data.labels.to_numpy())
    assert len(grid.cv_results_["params"]) == 4 + 2
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert grid.best_params_.get("isingselector__n_features_to_select", 10) > 1
    assert grid.predict(data.features.to_numpy()).shape == data.labels.shape
    pipeline.set_params(isingselector__null="ridge", isingselector__penalty=1e4)
    pipeline.fit(data.features, data.labels)
    expected = im.rank_features(data.labels, data.features, null="ridge", penalty=1e4)
    np.testing.assert_array_equal(pipeline["isingselector"].scores_, expected.importance)


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
            "method 'score' has no option 'keep': its options are 'min_count'",
        ),
        ({"method": "l1", "n_bins": 3}, DataError, "method 'l1' has no option 'n_bins'"),
        ({"method": "oner", "n_neighbors": 3}, DataError, "has no option 'n_neighbors'"),
        ({"n_jobs": 2}, DataError, "method 'score' has no option 'n_jobs'"),
        ({"method": "l1", "penalty": 2.0}, DataError, "null and penalty are for methods with"),
        ({"method": "br-ig", "null": "ridge"}, DataError, "null and penalty are for methods with"),
        ({"penalty": 2.0}, DataError, "penalty is that of method='ridge'"),
        ({"null": "best"}, DataError, "null must be one of"),
        ({"alpha": 0.05, "method": "products"}, ModelError, "has no p-values"),
    ],
)
def test_bad_settings_are_named(data, settings, error, message):
    with pytest.raises(error, match=message):
        IsingSelector(**settings).fit(data.features, data.labels)


def test_labels_with_three_values_are_refused(data):
    with pytest.raises(DataError, match=r"two values in each column.*'0'"):
        IsingSelector().fit(data.features, data.features[["age"]])


def test_the_ranking_has_the_names_of_the_columns(data):
    selector = IsingSelector(n_features_to_select=2).fit(
        data.features.to_numpy(), data.labels.to_numpy()
    )
    assert set(selector.feature_ranking_.top(2)) == set(selector.get_feature_names_out())
    one = IsingSelector().fit(data.features, data.labels["asthma"])
    assert one.feature_ranking_.label_names == ("asthma",)


def test_a_selector_that_keeps_nothing_warns():
    rng = np.random.default_rng(3)
    features, labels = rng.normal(size=(300, 4)), rng.random((300, 2)) < 0.4
    with pytest.warns(im.exceptions.DataWarning, match=r"alpha=0\.0001 .* none is kept"):
        selector = IsingSelector(alpha=1e-4).fit(features, labels)
    assert not selector.get_support().any()
