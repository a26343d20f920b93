"""One p-value per feature: Cauchy combination, sums and quadratic forms of dependent scores."""

from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import integrate, stats

import isingmlc as im

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

REFERENCE = Path(__file__).parents[1] / "reference"
COMBINE = ("acat", "sum", "omnibus")
# What a feature's variation in all rows counts against that in one labelset, in rows.
POOLED = 10.0
OURS = "ignore::isingmlc.exceptions.IsingWarning"


# Cauchy combination


def test_cauchy_combinations_are_those_of_r():
    """Ours agree with 500 digits where they are made, and those digits with R."""
    for _, lines in pd.read_csv(REFERENCE / "cauchy.csv").groupby("set"):
        found = exact(np.log10(lines["p"]))
        np.testing.assert_allclose(found, lines["log10p"].iloc[0], rtol=1e-9)


def exact(log10_pvalues):
    """Return the logarithm of a combination in 500 digits."""
    with mpmath.workdps(500):
        largest = mpmath.mpf("0.999")
        chances = [
            min(mpmath.mpf(10) ** mpmath.mpf(float(each)), largest) for each in log10_pvalues
        ]
        mean = sum(mpmath.cot(mpmath.pi * each) for each in chances) / len(chances)
        combined = mpmath.acot(mean) / mpmath.pi
        return float(mpmath.log10(combined if combined > 0 else combined + 1))


# Scores that vary together


def by_rows(labels, column, covariates=None):
    """Scores of one feature and their correlations, by statsmodels fits of rows."""
    n_rows, n_labels = labels.shape
    same = pd.Series(list(map(tuple, labels))).value_counts()
    size = np.array([same[tuple(row)] for row in labels], dtype=float)
    share = size / (size + POOLED)
    scores, parts, residuals = [], [], []
    for k in range(n_labels):
        design = np.column_stack([np.ones(n_rows), np.delete(labels, k, axis=1)])
        if covariates is not None:
            design = np.column_stack([design, covariates])
        fit = sm.GLM(labels[:, k], design, family=sm.families.Binomial()).fit(tol=1e-13)
        probability = fit.fittedvalues
        weight = probability * (1 - probability)
        rest = sm.WLS(column, design, weights=weight).fit().resid
        residual = labels[:, k] - probability
        scores.append(residual @ rest / np.sqrt(weight @ rest**2))
        parts.append(residual * rest)
        residuals.append(residual)
    parts, residuals = np.array(parts), np.array(residuals)
    typical = np.sqrt((parts**2).sum(axis=1) / (residuals**2).sum(axis=1))
    covariance = (parts * share) @ parts.T
    covariance += np.outer(typical, typical) * ((residuals * (1 - share)) @ residuals.T)
    deviation = np.sqrt(np.diag(covariance))
    return np.array(scores), covariance / np.outer(deviation, deviation)


def weighted_chi2_sf(value, weights):
    """P(Σ λ χ²₁ > value) by Gil-Pelaez' inversion of the characteristic function."""

    def integrand(at):
        angle = 0.5 * np.sum(np.arctan(2 * weights * at)) - at * value
        return np.sin(angle) / at * np.exp(-0.25 * np.sum(np.log1p((2 * weights * at) ** 2)))

    return 0.5 + integrate.quad(integrand, 0, 200, limit=2000, epsabs=1e-10)[0] / np.pi


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.filterwarnings(OURS)
def test_sum_and_omnibus_are_those_of_rows(adjusted):
    rng = np.random.default_rng(11)
    shared = rng.normal(size=(300, 1))
    labels = (shared + rng.normal(size=(300, 4)) > 0.4).astype(int)
    features = np.column_stack([rng.normal(size=300), rng.lognormal(size=300), shared[:, 0] > 0.7])
    age = rng.normal(size=(300, 1)) if adjusted else None
    res = im.IsingModel(labels, features.astype(float), covariates=age).fit()
    edges = res.score_test(pvalue="chi2")
    found = {combine: edges.feature_tests(combine) for combine in COMBINE}
    for j in range(3):
        scores, correlation = by_rows(labels, features[:, j].astype(float), age)
        np.testing.assert_allclose(edges.statistics.iloc[j], scores**2, rtol=1e-6)
        form = scores @ np.linalg.solve(correlation, scores)
        row = found["omnibus"].iloc[j]
        np.testing.assert_allclose(row["statistic"], form, rtol=1e-5)
        assert row["df"] == 4
        np.testing.assert_allclose(row["pvalue"], stats.chi2.sf(form, 4), rtol=1e-4)
        row = found["sum"].iloc[j]
        np.testing.assert_allclose(row["statistic"], (scores**2).sum(), rtol=1e-6)
        tail = weighted_chi2_sf((scores**2).sum(), np.linalg.eigvalsh(correlation))
        np.testing.assert_allclose(row["pvalue"], tail, atol=1e-6)
        edge = np.log10(edges.pvalues.iloc[j])
        np.testing.assert_allclose(found["acat"]["log10p"].iloc[j], exact(edge), rtol=1e-6)


@pytest.mark.filterwarnings(OURS)
def test_scores_of_clusters_are_combined_as_hotelling_does():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(40), 8)
    pull = rng.normal(size=(40, 3))[groups]
    labels = (pull + rng.normal(size=(320, 3)) > 0.3).astype(int)
    features = rng.normal(size=(40, 2))[groups] + 0.3 * rng.normal(size=(320, 2))
    res = im.IsingModel(labels, features, groups=groups).fit(cov_type="cluster")
    edges = res.score_test()
    found = {combine: edges.feature_tests(combine) for combine in COMBINE}
    for j in range(2):
        scores, parts = [], []
        for k in range(3):
            design = np.column_stack([np.ones(320), np.delete(labels, k, axis=1)])
            fit = sm.GLM(labels[:, k], design, family=sm.families.Binomial()).fit(tol=1e-13)
            weight = fit.fittedvalues * (1 - fit.fittedvalues)
            rest = sm.WLS(features[:, j], design, weights=weight).fit().resid
            terms = (labels[:, k] - fit.fittedvalues) * rest
            scores.append(terms.sum())
            parts.append(np.bincount(groups, terms))
        scores, parts = np.array(scores), np.array(parts)
        covariance = 40 * np.cov(parts)
        hotelling = scores @ np.linalg.solve(covariance, scores)
        row = found["omnibus"].iloc[j]
        np.testing.assert_allclose(row["statistic"], hotelling, rtol=1e-5)
        tail = stats.f.sf(hotelling * (40 - 3) / (3 * 39), 3, 37)
        np.testing.assert_allclose(row["pvalue"], tail, rtol=1e-5)
        edge = 2 * stats.t.sf(np.abs(scores) / np.sqrt(np.diag(covariance)), 39)
        np.testing.assert_allclose(edges.pvalues.iloc[j], edge, rtol=1e-5)
        np.testing.assert_allclose(
            found["acat"]["log10p"].iloc[j], exact(np.log10(edge)), rtol=1e-5
        )
        correlation = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
        normal = stats.norm.isf(edge / 2)
        drawn = np.random.default_rng(0).multivariate_normal(np.zeros(3), correlation, 40_000)
        tail = ((drawn**2).sum(axis=1) > (normal**2).sum()).mean()
        # Four standard errors of a share of 40,000 draws.
        np.testing.assert_allclose(found["sum"]["pvalue"].iloc[j], tail, atol=0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_features_of_clusters_are_found_no_more_often_than_they_should():
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(60), 10)
    exceed = {combine: [] for combine in COMBINE}
    for _ in range(4):
        pull = rng.normal(size=(60, 3))[groups]
        labels = (pull + rng.normal(size=(600, 3)) > 0.3).astype(int)
        features = rng.normal(size=(60, 250))[groups]
        res = im.IsingModel(labels, features, groups=groups).fit(cov_type="cluster")
        for combine, found in exceed.items():
            found.append(res.score_test().feature_pvalues(combine))
    for combine, found in exceed.items():
        pvalues = np.concatenate(found)
        # 1,000 features; the share that takes rows for independent is about 0.4.
        assert 0.02 < (pvalues <= 0.05).mean() < 0.085, combine
        assert (pvalues <= 0.01).mean() < 0.025, combine


# Which tests have which


def example(**options):
    data = im.datasets.load_example()
    return im.IsingModel(data.labels, data.features, **options).fit()


def test_every_test_has_an_acat_p_value_and_says_when_it_has_no_other():
    res = example()
    for edges in (
        res.score_test(products="individual"),
        res.score_test(products="joint"),
        res.lr_test(["age", "bmi"]),
        res.wald_test(["age", "bmi"]),
    ):
        found = edges.feature_pvalues()
        assert found.between(0, 1).all()
        assert found["age"] < 1e-8
        for combine in ("sum", "omnibus"):
            with pytest.raises(im.exceptions.ModelError, match=f"combine='{combine}' needs to"):
                edges.feature_pvalues(combine)
    with pytest.raises(im.exceptions.DataError, match="combine must be one of"):
        res.score_test().feature_pvalues("fisher")


def test_products_take_part_in_the_combination():
    edges = example().score_test(["bmi"], products="individual")
    listed = edges.to_frame(None)
    np.testing.assert_allclose(edges.feature_tests()["log10p"], exact(listed["log10p"]), rtol=1e-9)
    assert edges.feature_tests()["tests"].tolist() == [len(listed)]


def test_equal_and_mirrored_features_have_equal_p_values():
    data = im.datasets.load_example()
    some = data.features[["bmi", "age"]].assign(
        copy=data.features["bmi"], less=-data.features["bmi"]
    )
    edges = im.IsingModel(data.labels, some).fit().score_test()
    for combine in COMBINE:
        found = edges.feature_pvalues(combine)
        assert found["copy"] == pytest.approx(found["bmi"], rel=1e-9)
        assert found["less"] == pytest.approx(found["bmi"], rel=1e-6)


@pytest.mark.filterwarnings(FEW_ROWS)
def test_p_values_of_edges_make_those_of_features():
    """Where edges have other p-values than chi-square, so have features."""
    rng = np.random.default_rng(0)
    labels = rng.random((400, 3)) < [0.03, 0.4, 0.4]
    res = im.IsingModel(labels.astype(int), rng.lognormal(sigma=1.5, size=(400, 60))).fit()
    plain, careful = (res.score_test(pvalue=kind) for kind in ("chi2", "saddlepoint"))
    log10p = careful.log10_pvalues.to_numpy()
    for j, found in enumerate(careful.feature_tests()["log10p"]):
        assert found == pytest.approx(exact(log10p[j]), rel=1e-9)
    for combine in ("sum", "omnibus"):
        assert (plain.feature_pvalues(combine) != careful.feature_pvalues(combine)).any()


# The null that is stated


def aliased(rng, n=1000, p=250):
    """Two copies of a label that settles how features vary, and three labels that depend on it."""
    settled = rng.random(n) < 0.5
    labels = rng.random((n, 3)) < 0.5
    for _ in range(15):
        for k in range(3):
            others = labels.sum(axis=1) - labels[:, k]
            labels[:, k] = rng.random(n) < 1 / (1 + np.exp(1.2 - 1.2 * others + 2.0 * settled))
    spread = np.where(settled, 3.0, 0.3)[:, None]
    return np.column_stack([labels, settled, settled]).astype(int), rng.normal(size=(n, p)) * spread


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_features_whose_variance_depends_on_copied_labels_are_no_findings():
    rng = np.random.default_rng(8)
    exceed = {combine: [] for combine in COMBINE}
    for _ in range(6):
        labels, features = aliased(rng)
        edges = im.IsingModel(labels, features).fit().score_test()
        assert edges.reasons.iloc[0].tolist()[3:] == ["determined-label"] * 2
        for combine, found in exceed.items():
            found.append(edges.feature_pvalues(combine))
    for combine, found in exceed.items():
        shares = [(np.concatenate(found) <= level).mean() for level in (0.05, 0.01)]
        # 1,500 features; Cauchy combination is a little generous at 5%.
        assert 0.028 < shares[0] < 0.082, combine
        assert shares[1] < 0.022, combine
