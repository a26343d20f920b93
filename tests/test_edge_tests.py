"""Score statistics against R and statsmodels, and the ranking they give."""

import mpmath
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_data
from scipy import sparse

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


@pytest.mark.parametrize(
    ("intercept", "feature", "label"), [(True, "x4", "y2"), (False, "x6", "y4")]
)
def test_where_r_is_off_forty_digits_agree_with_us(intercept, feature, label):
    labels, features = load_data("plain")
    edges = im.IsingModel(labels, features, intercept=intercept).fit().score_test()
    others = labels.drop(columns=label)
    if intercept:
        others.insert(0, "const", 1)
    with mpmath.workdps(40):
        z = [[int(v) for v in row] for row in others.to_numpy()]
        y = [int(v) for v in labels[label]]
        x = [mpmath.mpf(repr(float(v))) for v in features[feature]]
        expected = _score_statistic(z, y, x)
    assert edges.statistics.loc[feature, label] == pytest.approx(float(expected), rel=1e-12)


def _score_statistic(z, y, x):
    """Fit y on z by Newton's method and test x, row by row in mpmath."""
    columns = range(len(z[0]))
    coef = mpmath.matrix(len(columns), 1)
    for _ in range(10):
        p = [1 / (1 + mpmath.exp(-mpmath.fdot(row, coef))) for row in z]
        w = [pi * (1 - pi) for pi in p]
        gradient = mpmath.matrix(
            [
                mpmath.fsum(r[a] * (yi - pi) for r, yi, pi in zip(z, y, p, strict=True))
                for a in columns
            ]
        )
        information = mpmath.matrix(len(columns))
        for a in columns:
            for b in columns:
                information[a, b] = mpmath.fsum(
                    r[a] * r[b] * wi for r, wi in zip(z, w, strict=True)
                )
        coef += mpmath.lu_solve(information, gradient)
    score = mpmath.fsum(xi * (yi - pi) for xi, yi, pi in zip(x, y, p, strict=True))
    total = mpmath.fsum(xi**2 * wi for xi, wi in zip(x, w, strict=True))
    cross = mpmath.matrix(
        [mpmath.fsum(r[a] * xi * wi for r, xi, wi in zip(z, x, w, strict=True)) for a in columns]
    )
    return score**2 / (total - (cross.T * mpmath.lu_solve(information, cross))[0])


@pytest.mark.filterwarnings(SEPARATION)
def test_score_statistics_agree_with_r_under_separation():
    labels, features = load_data("separated")
    edges = im.IsingModel(labels, features).fit().score_test()
    reference = load("separated", "edges")
    found = reference.apply(lambda row: edges.statistics.loc[row.feature, row.label], axis=1)
    np.testing.assert_allclose(found, reference["score"], rtol=1e-7)


def test_score_statistics_agree_with_statsmodels():
    data = im.datasets.load_example()
    edges = im.IsingModel(data.labels, data.features).fit().score_test()
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


def test_sparse_features_give_the_tests_of_dense_ones():
    labels, features = load_data("plain")
    dense = im.IsingModel(labels, features).fit().score_test()
    thin = im.IsingModel(labels, sparse.csc_array(features)).fit().score_test()
    np.testing.assert_allclose(thin.statistics, dense.statistics, rtol=1e-8)


def test_statistics_do_not_depend_on_scale_or_origin_of_a_feature():
    labels, features = load_data("plain")
    plain = im.IsingModel(labels, features).fit().score_test()
    moved = im.IsingModel(labels, -3.7 * features + 11).fit().score_test()
    np.testing.assert_allclose(moved.statistics, plain.statistics, rtol=1e-8)


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
    edges = im.IsingModel(pd.concat([labels] * 10), huge).fit().score_test()
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


def test_ties_keep_the_order_of_the_features():
    labels, features = load_data("plain")
    twice = pd.concat([features, features.add_prefix("again_")], axis=1)
    order = im.IsingModel(labels, twice).fit().rank_features().order
    for name in features:
        assert order.index(f"again_{name}") == order.index(name) + 1


def test_type_one_error_is_near_its_level():
    """Features that have nothing to do with the labels, 4 × 2000 edges."""
    labels, _ = load_data("plain")
    noise = np.random.default_rng(5).normal(size=(len(labels), 2000))
    pvalues = im.IsingModel(labels, noise).fit().score_test().pvalues
    for level in (0.05, 0.01):
        share = (pvalues < level).to_numpy().mean()
        # Edges of one feature are dependent: four labels count as one in the worst case.
        assert abs(share - level) < 3 * np.sqrt(level * (1 - level) / 2000)
