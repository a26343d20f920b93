import numpy as np
import pandas as pd
import pytest
from golden import load, load_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score
from statsmodels.stats.multitest import multipletests

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError
from isingmlc.ranking import FeatureRanking, FeatureScores

SCORE_METHODS = ("score", "interaction", "interaction-joint")


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
    expected = sorted(ranking.features, key=lambda name: -ranking.importance[name])
    assert list(ranking.order) == expected
    assert list(ranking.importance.index) == list(ranking.features)


@given(st.data(), importances)
@settings(deadline=None)
def test_the_roc_curve_is_that_of_the_definition(draw, values):
    ranking = ranking_of(values)
    count = draw.draw(st.integers(1, len(values) - 1))
    relevant = set(draw.draw(st.permutations(ranking.features))[:count])
    roc = ranking.roc(relevant)
    for k in range(1, len(values) + 1):
        first = set(ranking.order[:k])
        assert roc.tpr[k - 1] == pytest.approx(len(first & relevant) / count)
        assert roc.fpr[k - 1] == pytest.approx(len(first - relevant) / (len(values) - count))
    place = {name: -at for at, name in enumerate(ranking.order)}
    truth = [name in relevant for name in place]
    assert roc.auc == pytest.approx(roc_auc_score(truth, list(place.values())))
    assert roc.to_frame().loc[len(values)].tolist() == [1.0, 1.0]


def test_a_perfect_order_has_an_area_of_one_and_its_reverse_of_zero():
    assert ranking_of([4, 3, 2, 1]).roc(["a", "b"]).auc == 1
    assert ranking_of([4, 3, 2, 1]).roc(["c", "d"]).auc == 0
    assert ranking_of([4, 3, 2, 1]).roc("a").auc == 1


@given(st.data(), importances)
@settings(deadline=None)
def test_agreement_is_kendalls_tau_and_the_share_of_common_features(draw, values):
    one = ranking_of(values)
    other = ranking_of(draw.draw(st.permutations(values)))
    agreement = one.agreement(other)
    expected = kendalltau(one.importance, other.importance).statistic
    assert agreement.tau == pytest.approx(expected, nan_ok=True)
    for k in range(1, len(values) + 1):
        common = set(one.order[:k]) & set(other.order[:k])
        assert agreement.overlap[k] == pytest.approx(len(common) / k)


def test_agreement_goes_by_name_not_by_place(data, ranking):
    turned = im.rank_features(data.labels, data.features.iloc[:, ::-1])
    assert ranking.agreement(turned).tau == pytest.approx(1)
    assert (ranking.agreement(turned).overlap == 1).all()


def test_features_are_chosen_by_adjusted_p_values(ranking):
    for adjust in ("fdr_bh", "bonferroni", "holm", "fdr_tsbh"):
        rejected = multipletests(ranking.pvalue, 0.01, adjust)[0]
        expected = {name for name, is_in in zip(ranking.features, rejected, strict=True) if is_in}
        chosen = ranking.select(alpha=0.01, adjust=adjust)
        assert set(chosen) == expected
        assert list(chosen) == [name for name in ranking.order if name in expected]


def test_the_false_discovery_rate_of_a_selection_is_kept():
    """Labels that depend on each other, 10 features that act, 40 that do not; 60 draws."""
    shares = []
    for seed in range(60):
        sample = im.datasets.make_artdata(1, n=400, random_state=seed)
        chosen = im.rank_features(sample.labels, sample.features).select(alpha=0.1)
        shares.append(len(set(chosen) - set(sample.relevant)) / max(1, len(chosen)))
    assert np.mean(shares) < 0.1 + 3 * np.std(shares) / np.sqrt(len(shares))


def test_untestable_features_have_no_p_value_and_are_not_counted(data):
    features = data.features.assign(same=1.0)
    with pytest.warns(im.exceptions.DataWarning, match="same"):
        ranking = im.rank_features(data.labels, features)
    assert ranking.reason["same"] == "constant-feature"
    assert ranking.importance["same"] == 0
    assert np.isnan(ranking.pvalue["same"])
    assert ranking.order[-1] == "same"
    without = im.rank_features(data.labels, data.features)
    assert ranking.select() == without.select()
    assert ranking.table().loc["same", "strongest"] == ""
    assert "constant-feature" in str(ranking.summary())


def test_the_table_and_the_summary_tell_the_same(ranking):
    table = ranking.table()
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


def test_what_is_done_to_a_table_stays_outside(ranking):
    importance = ranking.importance
    importance.iloc[:] = 0
    assert ranking.importance.max() > 0
    with pytest.raises(AttributeError):
        ranking.method = "other"


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
        ("interaction", score + individual),
        ("interaction-joint", joint),
    ):
        ranking = im.rank_features(labels, features, method=method)
        found = ranking.importance
        np.testing.assert_allclose(found, expected[found.index], rtol=1e-6)


def test_contributions_and_pairs_add_up_to_importances(data):
    ranking = im.rank_features(data.labels, data.features, method="interaction")
    np.testing.assert_allclose(ranking.contributions.sum(axis=1), ranking.importance)
    plain = im.rank_features(data.labels, data.features)
    together = plain.importance + ranking.pairs.sum(axis=1)
    np.testing.assert_allclose(together, ranking.importance)
    assert plain.pairs is None
    assert ranking.pvalue is None


def test_the_interaction_that_moves_is_named(data):
    table = im.rank_features(data.labels, data.features, method="interaction").table()
    assert table.loc["deprivation_decile", "strongest_pair"] == "depression × asthma"


@pytest.mark.parametrize("method", SCORE_METHODS)
def test_a_fit_ranks_as_the_function_does(data, method):
    for null, alpha in (("mle", None), ("ridge", 2.0), ("firth", None)):
        fitted = im.IsingModel(data.labels, data.features).fit(method=null, alpha=alpha)
        by_fit = fitted.rank_features(method=method)
        by_data = im.rank_features(
            data.labels, data.features, method=method, null=null, alpha=alpha
        )
        pd.testing.assert_series_equal(by_fit.importance, by_data.importance)
        assert by_data.settings["null"] == null
        assert ("alpha" in by_data.settings) == (null == "ridge")


def test_a_dataset_is_ranked_as_it_is(data, ranking):
    assert im.rank_features(data).order == ranking.order


def test_a_penalised_null_uses_labels_that_the_others_determine():
    rng = np.random.default_rng(0)
    which = rng.integers(3, size=400)
    labels = pd.DataFrame(np.eye(3, dtype=int)[which], columns=["a", "b", "c"])
    features = pd.DataFrame(rng.normal(size=(400, 5)), columns=[f"x{j}" for j in range(5)])
    features["x2"] += which
    with (
        pytest.warns(im.exceptions.SeparationWarning),
        pytest.warns(im.exceptions.AliasingWarning),
    ):
        limit = im.rank_features(labels, features)
    assert set(limit.label_reason) == {"determined-label"}
    assert set(limit.reason) == {"no-testable-label"}
    assert (limit.importance == 0).all()
    assert limit.pvalue.isna().all()
    assert limit.select() == ()
    penalised = im.rank_features(labels, features, null="ridge")
    assert set(penalised.label_reason) == {"ok"}
    assert penalised.order[0] == "x2"
    assert "approximate" in str(penalised.summary())


# Bad input


def test_bad_arguments_are_named(data, ranking):
    labels, features = data.labels, data.features
    with pytest.raises(DataError, match=r"method must be one of 'score', 'interaction'.*'chi2'"):
        im.rank_features(labels, features, method="chi2")
    with pytest.raises(DataError, match=r"has no option 'lam'.*'min_count'"):
        im.rank_features(labels, features, lam=3)
    with pytest.raises(DataError, match="null must be one of"):
        im.rank_features(labels, features, null="lasso")
    with pytest.raises(DataError, match="alpha is the penalty"):
        im.rank_features(labels, features, alpha=2.0)
    with pytest.raises(DataError, match="null and alpha are for methods with label models"):
        im.rank_features(labels, features, method="l1", null="ridge")
    with pytest.raises(ModelError, match="no features"):
        im.rank_features(labels)
    with pytest.raises(DataError, match=r"relevant must name features.*'height'"):
        ranking.roc(["age", "height"])
    with pytest.raises(DataError, match="nothing to tell apart"):
        ranking.roc([])
    with pytest.raises(DataError, match="nothing to tell apart"):
        ranking.roc(ranking.features)
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
        im.rank_features(labels, features, method="interaction").select()
