import numpy as np
import pandas as pd
import pytest
from golden import load, load_context, load_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import roc_auc_score
from statsmodels.stats.multitest import multipletests

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError
from isingmlc.ranking.methods import RANKING_METHODS, Ranker
from isingmlc.results.ranking import FeatureRanking, FeatureScores

SCORE_METHODS = ("score", "products", "products-joint")


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def ranking(data):
    return im.rank_features(data.labels, data.features)


def ranking_of(importance, pvalue=None):
    """Make a ranking of features a, b, c… by one label."""
    importance = np.asarray(importance, dtype=float)
    names = tuple("abcdefghijklmnopqrstuvwxyz"[: len(importance)])
    ok = np.full(len(importance), "ok", dtype=object)
    scores = FeatureScores(importance, importance[:, None], ok, ok[:1], pvalue)
    return FeatureRanking("score", names, ("y",), scores)


importances = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5]), min_size=2, max_size=20)


# The object


@given(importances)
@settings(deadline=None)
def test_the_order_sorts_importances_and_ties_keep_the_order_of_features(values):
    ranking = ranking_of(values)
    expected = sorted(ranking.feature_names, key=lambda name: -ranking.importance[name])
    assert list(ranking.order) == expected
    assert list(ranking.importance.index) == list(ranking.feature_names)
    # What differs by rounding alone is a tie.
    rounded = np.array(values) * (1 + 1e-12 * np.arange(len(values)))
    assert ranking_of(rounded).order == ranking.order


@given(st.data(), importances)
@settings(deadline=None)
def test_the_roc_curve_is_that_of_the_definition(draw, values):
    ranking = ranking_of(values)
    count = draw.draw(st.integers(1, len(values) - 1))
    relevant = set(draw.draw(st.permutations(ranking.feature_names))[:count])
    roc = ranking.roc(relevant)
    for k in range(1, len(values) + 1):
        first = set(ranking.order[:k])
        is_tied = (
            k < len(values)
            and len(set(ranking.importance[list(ranking.order[k - 1 : k + 1])])) == 1
        )
        if not is_tied:
            assert roc.tpr[k - 1] == pytest.approx(len(first & relevant) / count)
            assert roc.fpr[k - 1] == pytest.approx(len(first - relevant) / (len(values) - count))
    truth = [name in relevant for name in ranking.feature_names]
    assert roc.auc == pytest.approx(roc_auc_score(truth, ranking.importance))
    assert roc.to_frame().loc[len(values)].tolist() == [1.0, 1.0]


def test_features_are_chosen_by_adjusted_p_values(ranking):
    for adjust in ("fdr_bh", "bonferroni", "holm", "fdr_tsbh"):
        rejected = multipletests(ranking.pvalues, 0.01, adjust)[0]
        expected = {
            name for name, is_in in zip(ranking.feature_names, rejected, strict=True) if is_in
        }
        chosen = ranking.select(alpha=0.01, adjust=adjust)
        assert set(chosen) == expected
        assert list(chosen) == [name for name in ranking.order if name in expected]


def test_untestable_features_have_no_p_value_and_are_not_counted(data):
    features = data.features.assign(same=1.0)
    with pytest.warns(im.exceptions.DataWarning, match="same"):
        ranking = im.rank_features(data.labels, features)
    assert ranking.reasons["same"] == "constant-feature"
    assert ranking.importance["same"] == 0
    assert np.isnan(ranking.pvalues["same"])
    assert ranking.order[-1] == "same"
    without = im.rank_features(data.labels, data.features)
    assert ranking.select() == without.select()
    assert ranking.to_frame().loc["same", "strongest"] == ""
    assert "constant-feature" in str(ranking.summary())


def test_the_table_and_the_summary_tell_the_same(ranking):
    table = ranking.to_frame()
    assert list(table.columns) == ["rank", "importance", "pvalue", "strongest", "reason"]
    assert table["rank"].tolist() == list(range(1, 31))
    assert table.index.name == "feature"
    best = ranking.contributions.idxmax(axis=1)
    assert (table["strongest"] == best[table.index]).all()
    text = str(ranking.summary(top=3))
    for name in ranking.top(3):
        assert name in text
    assert ranking.order[3] not in text
    assert "<table" in ranking._repr_html_()


# The score methods


@pytest.mark.parametrize("kind", ["plain", "rare"])
def test_score_methods_sum_the_statistics_of_r(kind):
    labels, features = load_data(kind)
    edges = load(kind, "edges").query("intercept")
    score = edges.groupby("feature")["score"].sum()
    individual = load(kind, "individual").query("intercept").groupby("feature")["u"].sum()
    joint = load(kind, "joint").query("intercept").groupby("feature")["U"].sum()
    for method, expected in (
        ("score", score),
        ("products", score + individual),
        ("products-joint", joint),
    ):
        ranking = im.rank_features(labels, features, method=method, penalty=None)
        found = ranking.importance
        np.testing.assert_allclose(found, expected[found.index], rtol=1e-6)


def test_pairs_are_moved_given_the_feature(data):
    fit = im.IsingModel(data.labels, data.features).fit()
    pairs = fit.rank_features("products").pairs
    given = fit.wald_test(products="given").to_frame().set_index(["feature", "label", "with"])
    for feature, (first, second) in (
        ("age", ("asthma", "heart_disease")),
        ("bmi", pairs.columns[0]),
    ):
        expected = given.loc[(feature, first, second), "statistic"]
        # Score and Wald statistics are nearly the same with 1,500 rows.
        assert pairs.loc[feature, (first, second)] == pytest.approx(expected, rel=0.05, abs=0.05)
    # Age acts strongly on conditions, but moves no pair of them.
    assert fit.score_test().statistics.loc["age"].max() > 50
    assert pairs.loc["age"].max() < 20


@pytest.mark.parametrize("method", SCORE_METHODS)
def test_a_fit_ranks_as_the_function_does(data, method):
    for penalty in (None, 2.0, "firth"):
        fitted = im.IsingModel(data.labels, data.features).fit(penalty=penalty)
        by_fit = fitted.rank_features(method=method)
        by_data = im.rank_features(data.labels, data.features, method=method, penalty=penalty)
        pd.testing.assert_series_equal(by_fit.importance, by_data.importance)
        assert by_data.settings["penalty"] == penalty


def test_a_penalised_null_uses_labels_that_the_others_determine():
    rng = np.random.default_rng(0)
    which = rng.integers(3, size=400)
    labels = pd.DataFrame(np.eye(3, dtype=int)[which], columns=["a", "b", "c"])
    features = pd.DataFrame(rng.normal(size=(400, 5)), columns=[f"x{j}" for j in range(5)])
    features["x2"] += which
    with (
        pytest.warns(im.exceptions.SeparationWarning),
        pytest.warns(im.exceptions.AliasingWarning),
        pytest.warns(im.exceptions.DataWarning, match="order is that of the columns"),
    ):
        limit = im.rank_features(labels, features, penalty=None)
    assert set(limit.label_reasons) == {"determined-label"}
    assert set(limit.reasons) == {"no-testable-label"}
    assert (limit.importance == 0).all()
    assert limit.pvalues.isna().all()
    assert limit.select() == ()
    penalised = im.rank_features(labels, features, penalty=1.0)
    assert set(penalised.label_reasons) == {"ok"}
    assert penalised.order[0] == "x2"
    assert "approximate" in str(penalised.summary())


# Bad input


def test_bad_arguments_are_named(data, ranking):
    labels, features = data.labels, data.features
    with pytest.raises(DataError, match=r"method must be one of 'score', 'products'.*'chi2'"):
        im.rank_features(labels, features, method="chi2")
    with pytest.raises(DataError, match=r"has no option 'lam'.*'min_count'"):
        im.rank_features(labels, features, lam=3)
    with pytest.raises(DataError, match="penalty must be one of"):
        im.rank_features(labels, features, penalty="lasso")
    with pytest.raises(DataError, match="penalty must be a finite number"):
        im.rank_features(labels, features, penalty=0)
    with pytest.raises(DataError, match="penalty and neighbors are for methods with label"):
        im.rank_features(labels, features, method="l1", penalty=1.0)
    with pytest.raises(DataError, match=r"penalty and neighbors .* method is 'br-ig'"):
        im.rank_features(labels, features, method="br-ig", neighbors=0)
    # What is no neighbourhood is said before the data are looked at.
    with pytest.raises(DataError, match=r"neighbors must be 'ebic', .* but is 'bic'"):
        im.rank_features(None, None, neighbors="bic")
    with pytest.raises(DataError, match="neighbors must be a whole number of at least 0, but"):
        im.rank_features(None, None, neighbors=-1)
    with pytest.raises(DataError, match=r"no option 'neighbors'.*model\.fit\(.*neighbors=…"):
        im.IsingModel(labels, features).fit().rank_features(neighbors=2)
    with pytest.raises(ModelError, match="no features"):
        im.rank_features(labels)
    with pytest.raises(DataError, match=r"relevant must name features.*'height'"):
        ranking.roc(["age", "height"])
    with pytest.raises(DataError, match="nothing to tell apart"):
        ranking.roc([])
    with pytest.raises(DataError, match="nothing to tell apart"):
        ranking.roc(ranking.feature_names)
    for alpha in (0, 1, -0.1, "0.05", None):
        with pytest.raises(DataError, match="alpha must be"):
            ranking.select(alpha=alpha)
    with pytest.raises(DataError, match="adjust must be one of"):
        ranking.select(adjust="benjamini")
    with pytest.raises(DataError, match="same features"):
        ranking.agreement(ranking_of([1, 2]))
    with pytest.raises(DataError, match="FeatureRanking"):
        ranking.agreement(ranking.order)
    with pytest.raises(DataError, match="no label varies"):
        im.rank_features(labels * 0, features)
    with pytest.raises(ModelError, match=r"no p-values.*method='score'"):
        im.rank_features(labels, features, method="br-chi2").select()
    with pytest.raises(DataError, match="combine must be one of"):
        im.rank_features(labels, features, combine="fisher")
    with pytest.raises(DataError, match="no option 'combine'"):
        im.rank_features(labels, features, method="products", combine="sum")


# What cannot be ranked


@pytest.fixture
def determined():
    """Draw two labels of which each is 1 when the other is not, and six features."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, size=200)
    features = pd.DataFrame(rng.normal(size=(200, 6)), columns=list("uvwxyz"))
    features["x"] += first
    return pd.DataFrame({"a": first, "b": 1 - first}), features


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.SeparationWarning")
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.AliasingWarning")
def test_a_ranking_of_nothing_is_said_to_be_one(determined):
    for method in ("score", "products", "score+l1"):
        with pytest.warns(
            im.exceptions.DataWarning, match=r"order is that of the columns.*penalty"
        ):
            ranking = im.rank_features(*determined, method=method, penalty=None)
        assert (ranking.importance == 0).all()
        assert set(ranking.reasons) == {"no-testable-label"}
    with pytest.warns(im.exceptions.DataWarning, match="order is that of the columns"):
        ranking = im.rank_features(*determined, method="l1", lam_ratio=1e-4)
    assert (ranking.importance == 0).all()
    with pytest.warns(im.exceptions.DataWarning):
        ranking = im.rank_features(*determined, method="l1", min_count=10_000)
    assert set(ranking.reasons) == {"no-testable-label"}
    with (
        pytest.warns(im.exceptions.DataWarning),
        pytest.raises(ModelError, match=r"no feature could be tested.*determined-label.*penalty"),
    ):
        im.select_features(*determined, alpha=0.05)
    assert im.rank_features(*determined).order[0] == "x"


def test_the_usual_null_suits_the_method(data):
    model = im.IsingModel(data.labels, data.features)
    ridge = model.fit(penalty=1.0).rank_features()
    usual = im.rank_features(data.labels, data.features)
    pd.testing.assert_series_equal(usual.importance, ridge.importance)
    assert usual.settings["penalty"] == 1.0
    penalised = im.rank_features(data.labels, data.features, penalty=3.0)
    assert penalised.settings["penalty"] == 3.0
    # Tests are by maximum likelihood.
    by_alpha = im.select_features(data.labels, data.features, alpha=0.05).ranking
    assert by_alpha.settings["penalty"] is None
    pd.testing.assert_series_equal(by_alpha.importance, model.fit().rank_features().importance)


def test_score_and_l1_rank_the_kept_by_l1_and_the_others_by_score(data, ranking):
    n_significant = len(ranking.select(0.01))
    for options, size in (
        ({"keep": 0.2}, 6),
        ({"keep": 4}, 4),
        ({"keep_pvalue": 0.01}, n_significant),
    ):
        both = im.rank_features(data.labels, data.features, method="score+l1", **options)
        assert set(both.top(size)) == set(ranking.top(size))
        assert both.order[size:] == ranking.order[size:]
        kept = data.features[[name for name in data.features if name in ranking.top(size)]]
        alone = im.rank_features(data.labels, kept, method="l1").importance
        weighed = alone[alone > 0]
        np.testing.assert_allclose(both.importance[weighed.index] - 1, weighed)
        # Those without a coefficient come next, in the order of the score.
        others = [name for name in ranking.top(size) if alone[name] == 0]
        assert list(both.order[len(weighed) : size]) == others
        assert (both.reasons == "screened-out").sum() == 30 - size
    none = im.rank_features(data.labels, data.features, method="score+l1", keep_pvalue=1e-200)
    assert none.order == ranking.order
    assert none.fits is None


def test_a_fit_says_where_its_null_model_comes_from(data):
    res = im.IsingModel(data.labels, data.features).fit()
    with pytest.raises(DataError, match=r"no option 'penalty'.*model\.fit\(penalty="):
        res.rank_features(penalty=1.0)


def test_every_method_ranks_sparse_features_as_dense_ones():
    rng = np.random.default_rng(4)
    features = rng.poisson(0.6, size=(300, 12)) * rng.integers(1, 4, size=(300, 12))
    labels = (rng.random((300, 4)) < 0.2 + 0.1 * np.minimum(features[:, :4], 5)).astype(int)
    for method in RANKING_METHODS:
        dense = im.rank_features(labels, features.astype(float), method=method)
        thin = im.rank_features(labels, sparse.csr_array(features.astype(float)), method=method)
        np.testing.assert_allclose(thin.importance, dense.importance, rtol=1e-5)
        assert thin.order == dense.order


# Covariates

ADJUSTABLE = tuple(name for name, method in RANKING_METHODS.items() if method.takes_covariates)


def confounded(n=1500, seed=3):
    """Draw labels and a feature that depend on age and not on each other, and one that acts."""
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 12, n)
    old = (age - 60) / 12
    features = pd.DataFrame(
        {
            "widowed": (rng.random(n) < 1 / (1 + np.exp(-1.5 * old))).astype(float),
            "smoker": rng.integers(0, 2, n).astype(float),
            "noise": rng.normal(size=n),
        }
    )
    chance = 1 / (1 + np.exp(-(1.2 * old + 0.7 * features["smoker"] - 0.5)))
    labels = pd.DataFrame({f"y{k}": (rng.random(n) < chance).astype(int) for k in range(3)})
    return labels, features, pd.DataFrame({"age": age})


@pytest.mark.parametrize("method", ADJUSTABLE)
def test_confounding_vanishes_from_adjusted_rankings(method):
    labels, features, covariates = confounded()
    options = {"lam_ratio": 0.1} if "l1" in method else {}
    options |= {"keep": 3} if method == "score+l1" else {}
    plain = im.rank_features(labels, features, method, **options)
    adjusted = im.rank_features(labels, features, method, covariates=covariates, **options)
    assert plain.order[0] == "widowed"
    assert adjusted.order[0] == "smoker"
    floor = 1.0 if method == "score+l1" else 0.0
    shrunk = (adjusted.importance["widowed"] - floor) / (plain.importance["widowed"] - floor)
    assert shrunk < 0.2
    assert adjusted.adjusted_for == ("age",)
    assert plain.adjusted_for == ()
    assert "3 features given age:" in repr(adjusted)
    assert (adjusted.to_frame()["adjusted_for"] == "age").all()
    assert "adjusted_for" not in plain.to_frame()


def test_importance_given_covariates_is_the_sum_of_rs_score_tests():
    labels, covariates, features = load_context()
    ranking = im.rank_features(labels, features, covariates=covariates, penalty=None)
    expected = load("context", "edges").groupby("feature")["score"].sum()
    np.testing.assert_allclose(ranking.importance, expected, rtol=1e-6)
    assert ranking.adjusted_for == ("age", "sex", "region")
    by_fit = im.IsingModel(labels, features, covariates=covariates).fit().rank_features()
    pd.testing.assert_series_equal(by_fit.importance, ranking.importance)
    assert by_fit.adjusted_for == ranking.adjusted_for


@pytest.mark.parametrize("method", sorted(set(RANKING_METHODS) - set(ADJUSTABLE)))
def test_filters_say_that_they_condition_on_nothing(method):
    labels, features, covariates = confounded(200)
    message = f"{method!r} looks at features and labels alone .* one of 'score', 'products', "
    with pytest.raises(DataError, match=message):
        im.rank_features(labels, features, method, covariates=covariates)
    model = im.IsingModel(labels, features, covariates=covariates)
    for rank in (model.fit().rank_features, Ranker(model).rank):
        with pytest.raises(DataError, match=message):
            rank(method)
