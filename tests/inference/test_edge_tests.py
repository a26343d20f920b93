"""Score statistics against R and statsmodels, and the ranking they give."""

import mpmath
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_data

import isingmlc as im

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

SEPARATION = "ignore::isingmlc.exceptions.SeparationWarning"


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["plain", "rare"])
@pytest.mark.filterwarnings(FEW_ROWS)
def test_score_statistics_agree_with_r(name, intercept):
    labels, features = load_data(name)
    edges = im.IsingModel(labels, features, intercept=intercept).fit().score_test(pvalue="chi2")
    reference = load(name, "edges").query("intercept == @intercept")
    found = reference.apply(lambda row: edges.statistics.loc[row.feature, row.label], axis=1)
    # At two small statistics R is itself off, by 3e-8 and 1e-9: see the next test.
    np.testing.assert_allclose(found, reference["score"], rtol=1e-7, atol=3e-8)
    found = reference.apply(lambda row: edges.pvalues.loc[row.feature, row.label], axis=1)
    np.testing.assert_allclose(found, reference["score_p"], rtol=1e-6)


@pytest.mark.filterwarnings(SEPARATION)
def test_score_statistics_agree_with_r_under_separation():
    labels, features = load_data("separated")
    edges = im.IsingModel(labels, features).fit().score_test()
    reference = load("separated", "edges")
    found = reference.apply(lambda row: edges.statistics.loc[row.feature, row.label], axis=1)
    np.testing.assert_allclose(found, reference["score"], rtol=1e-7)


def test_score_statistics_agree_with_statsmodels():
    data = im.datasets.load_example()
    edges = im.IsingModel(data.labels, data.features).fit().score_test(pvalue="chi2")
    for label in ("diabetes", "asthma"):
        others = sm.add_constant(data.labels.drop(columns=label).astype(float))
        glm = sm.GLM(data.labels[label], others, family=sm.families.Binomial())
        null = glm.fit(tol=0, maxiter=15)
        for feature in ("age", "bmi", "smoker"):
            statistic, pvalue, df = glm.score_test(
                null.params.to_numpy(),
                exog_extra=data.features[[feature]].to_numpy(),
                observed=False,
            )
            assert df == 1
            assert edges.statistics.loc[feature, label] == pytest.approx(statistic.item(), rel=1e-8)
            assert edges.pvalues.loc[feature, label] == pytest.approx(pvalue.item(), rel=1e-7)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_edges_that_can_not_be_tested_say_why():
    labels, features = load_data("plain")
    labels = labels.assign(never=0, none=(labels.sum(axis=1) == 0).astype(int))
    features = features.assign(one=1.0, sum=labels[["y1", "y2"]].sum(axis=1))
    edges = im.IsingModel(labels, features).fit().score_test()
    assert (edges.reasons["never"] == "constant-label").all()
    assert (edges.reasons["none"] == "determined-label").all()
    assert (edges.reasons.loc["one", ["y1", "y4"]] == "constant-feature").all()
    assert edges.reasons.loc["sum", "y4"] == "collinear-feature"
    assert edges.reasons.loc["x1", "y1"] == "ok"
    untested = edges.reasons != "ok"
    assert (edges.statistics.isna() == untested).all(axis=None)
    assert (edges.pvalues.isna() == untested).all(axis=None)
    assert edges.importance["one"] == 0


def test_a_constant_feature_is_the_missing_intercept():
    labels, features = load_data("plain")
    model = im.IsingModel(labels, features.assign(one=1.0), intercept=False)
    assert (model.fit().score_test().reasons.loc["one"] == "ok").all()
    with pytest.warns(im.exceptions.DataWarning, match="'zero' are the same in every row"):
        model = im.IsingModel(labels, features.assign(zero=0.0), intercept=False)
    assert (model.fit().score_test().reasons.loc["zero"] == "constant-feature").all()


def test_the_long_table_has_a_row_an_edge_and_finite_logarithms():
    labels, features = load_data("plain")
    rng = np.random.default_rng(0)
    twin = labels["y1"] + 1e-3 * rng.normal(size=len(labels))
    huge = pd.concat([features.assign(twin=twin)] * 10)
    edges = im.IsingModel(pd.concat([labels] * 10), huge).fit().score_test(pvalue="chi2")
    frame = edges.to_frame()
    assert len(frame) == 7 * 4
    row = frame.query("feature == 'twin' and label == 'y1'").iloc[0]
    assert row["pvalue"] == 0
    with mpmath.workdps(30):
        tail = mpmath.erfc(mpmath.sqrt(mpmath.mpf(float(row["statistic"])) / 2))
        assert row["log10p"] == pytest.approx(float(mpmath.log10(tail)), rel=1e-12)
    assert np.isfinite(frame["log10p"]).all()


def test_the_ranking_adds_up_the_statistics():
    data = im.datasets.load_example()
    res = im.IsingModel(data.labels, data.features).fit()
    ranking = res.rank_features()
    edges = res.score_test()
    np.testing.assert_allclose(ranking.importance, edges.statistics.sum(axis=1))
    table = ranking.to_frame()
    assert list(table.index) == list(ranking.order)
    assert table["importance"].is_monotonic_decreasing
    assert table.loc["age", "strongest"] == edges.statistics.loc["age"].idxmax()
    assert ranking.top(3) == ranking.order[:3]
    with pytest.raises(im.exceptions.DataError, match="'score'"):
        res.rank_features(method="chi2")
    with pytest.raises(im.exceptions.DataError, match="m must be"):
        ranking.top(0)
