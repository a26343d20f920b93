"""Robust variances: residuals, clusters and sampling weights, against R, statsmodels and rows."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load
from scipy.special import expit
from scipy.stats import chi2, f, norm, t

import isingmlc as im
from isingmlc.inference.covariance import hotelling_log10_sf, hotelling_sf

LABELS, COVARIATES = ["y1", "y2", "y3", "y4"], ["age", "sex", "region"]
FEATURES = ["x1", "x2", "x3", "x4", "x5"]


@pytest.fixture(scope="module")
def frame():
    # Old versions of patsy do not know pandas' type for text.
    return load("context", "data").astype({"region": object})


@pytest.fixture(scope="module")
def model(frame):
    return im.IsingModel(frame[LABELS], frame[FEATURES], covariates=frame[COVARIATES])


# Noise of scores


# Reference values


NAMES = {
    "(Intercept)": "const",
    "regionnorth": "region[T.north]",
    "regionsouth": "region[T.south]",
}


@pytest.mark.parametrize(("kind", "column"), [("HC0", "se_hc0"), ("cluster", "se_cluster")])
def test_errors_and_scores_are_those_of_r(model, frame, kind, column):
    groups = frame["centre"] if kind == "cluster" else None
    res = model.fit(cov_type=kind, groups=groups, use_correction=False)
    for row in load("context", "nodes").itertuples():
        term, expected = NAMES.get(row.term, row.term), getattr(row, column)
        assert res.bse.loc[term, row.label] == pytest.approx(expected, rel=1e-6)
        assert res.nodes[row.label].bse[term] == pytest.approx(expected, rel=1e-6)
    edges = res.score_test(pvalue="chi2")
    for row in load("context", "robust").itertuples():
        expected = getattr(row, kind.lower())
        assert edges.statistics.loc[row.feature, row.label] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(edges.pvalues, chi2.sf(edges.statistics, 1))
    np.testing.assert_allclose(res.pvalues, 2 * norm.sf(res.zvalues.abs()))


def test_sampling_weights_and_clusters_are_those_of_svyglm(frame):
    model = im.IsingModel.from_formula(
        "y1 + y2 + y3 + y4 ~ x1",
        frame,
        covariates="age + sex + region",
        groups="centre",
        sampling_weights="weight",
    )
    res = model.fit()
    assert (res.cov_type, res.nobs) == ("cluster", pytest.approx(600))
    for row in load("context", "survey").itertuples():
        term = NAMES.get(row.term, row.term)
        assert res.params.loc[term, row.label] == pytest.approx(row.estimate, rel=1e-6)
        assert res.bse.loc[term, row.label] == pytest.approx(row.se, rel=1e-6)


# statsmodels is another oracle: of other data sets, without covariates, of several columns


def draw(seed=0, n=300, n_labels=3, n_features=3, n_clusters=30):
    """Labels and features that are alike within clusters; clusters; whole and other weights."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_clusters, n)
    pull = rng.normal(0, 0.7, (n_clusters, 1))[groups]
    labels = (rng.random((n, n_labels)) < expit(pull - 0.3)).astype(int)
    features = rng.normal(size=(n, n_features)) + rng.normal(size=(n_clusters, n_features))[groups]
    weights = rng.integers(1, 4, n)
    return (
        pd.DataFrame(labels, columns=[f"y{k + 1}" for k in range(n_labels)]),
        pd.DataFrame(features, columns=[f"x{j + 1}" for j in range(n_features)]),
        groups,
        weights,
    )


def in_statsmodels(kind, labels, extra, groups, *, correct=False):
    """Fit the first label to the others and more columns."""
    exog = sm.add_constant(labels.drop(columns="y1").join(extra).astype(float))
    keywords = {"cov_type": "HC0"}
    if kind == "cluster":
        settings = {"groups": groups, "use_correction": correct}
        keywords = {"cov_type": "cluster", "cov_kwds": settings}
    model = sm.GLM(labels["y1"], exog, family=sm.families.Binomial())
    return model.fit(tol=1e-14, **keywords)


@pytest.mark.parametrize("kind", ["HC0", "cluster"])
def test_wald_tests_are_those_of_statsmodels(kind):
    labels, features, groups, _ = draw()
    model = im.IsingModel(labels, features, groups=groups)
    res = model.fit(cov_type=kind, use_correction=False)
    wald = res.wald_test()
    joint, given = (res.wald_test(products=each) for each in ("joint", "given-joint"))
    for name in features:
        fit = in_statsmodels(kind, labels, features[[name]], groups)
        assert wald.params.loc[name, "y1"] == pytest.approx(fit.params[name], rel=1e-6)
        assert wald.bse.loc[name, "y1"] == pytest.approx(fit.bse[name], rel=1e-6)
        limits = wald.conf_int().loc[(name, "y1")]
        np.testing.assert_allclose(limits, fit.conf_int().loc[name], rtol=1e-5)
        products = labels.drop(columns="y1").mul(features[name], axis=0).add_prefix("p")
        fit = in_statsmodels(kind, labels, features[[name]].join(products), groups)
        last = np.eye(len(fit.params))[-3:]
        for tests, lines in ((joint, last), (given, last[1:])):
            expected = fit.wald_test(lines, scalar=True, use_f=False)
            found = tests.loc[name, "y1"]
            assert found.statistic == pytest.approx(expected.statistic, rel=1e-6)
            assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-6)


def test_hc2_errors_are_those_of_rows():
    labels, features, *_ = draw()
    res = im.IsingModel(labels, features).fit(cov_type="HC2")
    for extra, found in ((None, res.bse["y1"].drop("y1")), (["x1"], None)):
        columns = [] if extra is None else features[extra]
        exog = labels.drop(columns="y1")
        exog = sm.add_constant((exog.join(columns) if extra else exog).astype(float)).to_numpy()
        fit = sm.GLM(labels["y1"], exog, family=sm.families.Binomial()).fit(tol=1e-14)
        scores = fit.resid_response.to_numpy()[:, None] * exog
        noisy = scores / np.sqrt(1 - fit.get_hat_matrix_diag())[:, None]
        bread = np.asarray(fit.normalized_cov_params)
        errors = np.sqrt(np.diag(bread @ noisy.T @ noisy @ bread))
        if found is not None:
            np.testing.assert_allclose(found, errors, rtol=1e-6)
        else:
            assert res.wald_test().bse.loc["x1", "y1"] == pytest.approx(errors[-1], rel=1e-6)


def test_few_clusters_refer_to_student_and_hotelling():
    labels, features, groups, _ = draw(n_clusters=12)
    raw = im.IsingModel(labels, features, groups=groups).fit(use_correction=False)
    res = im.IsingModel(labels, features, groups=groups).fit()
    np.testing.assert_allclose(res.bse, raw.bse * np.sqrt(12 / 11), rtol=1e-9)
    np.testing.assert_allclose(res.pvalues, 2 * t.sf(res.zvalues.abs(), 11), rtol=1e-9)
    lower = res.params - t.isf(0.025, 11) * res.bse
    assert res.conf_int().loc[("y1", "y2"), "lower"] == pytest.approx(lower.loc["y2", "y1"])
    first, edges = raw.score_test().statistics, res.score_test()
    # Around the mean of the clusters: T² = (G − 1) T₀ / (G − T₀).
    np.testing.assert_allclose(edges.statistics, 11 * first / (12 - first), rtol=1e-9)
    np.testing.assert_allclose(edges.pvalues, 2 * t.sf(np.sqrt(edges.statistics), 11), rtol=1e-9)
    np.testing.assert_allclose(edges.log10_pvalues, np.log10(edges.pvalues), rtol=1e-9)
    joint = res.score_test(products="joint")
    scaled = joint.statistics * 9 / (3 * 11)
    np.testing.assert_allclose(joint.pvalues, f.sf(scaled, 3, 9), rtol=1e-9)
    assert "12 clusters" in edges.note
    assert "11 degrees of freedom" in edges.note
    node = res.nodes["y1"]
    np.testing.assert_allclose(node.pvalues["y2"], res.pvalues.loc["y2", "y1"], rtol=1e-9)


def test_tails_of_hotelling_are_those_of_r():
    # log10 of pf(…, lower.tail = FALSE, log.p = TRUE), R 4.2.2
    expected = [-754.372127598363, -266.496026891499, -67.7210899787438]
    found = hotelling_log10_sf([5000.0, 1400.0, 10000.0], [1, 3, 1], [5000, 5000, 60])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isnan(hotelling_sf(4.0, 3, 2))


def test_very_few_clusters_are_warned_of():
    data = im.datasets.load_example()
    model = im.IsingModel(data.labels.iloc[:, :2], groups=np.arange(1500) % 3)
    with pytest.warns(im.exceptions.DataWarning, match="there are 3 clusters: how clusters vary"):
        model.fit()
