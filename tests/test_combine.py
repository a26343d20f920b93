"""One p-value per feature: Cauchy combination, sums and quadratic forms of dependent scores."""

from pathlib import Path

import mpmath
import numpy as np
import oracle
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import isingmlc as im
from isingmlc.inference.combine import COMBINE, combine_cauchy, combine_scores, normal_scores
from isingmlc.inference.score_covariance import POOLED
from isingmlc.report.data import ReportOptions, gather

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

REFERENCE = Path(__file__).parent / "reference"
OURS = "ignore::isingmlc.exceptions.IsingWarning"


# Cauchy combination


def test_cauchy_combinations_are_those_of_r():
    for _, lines in pd.read_csv(REFERENCE / "cauchy.csv").groupby("set"):
        statistic, log10p = combine_cauchy(np.log10(lines[["p"]].to_numpy().T))
        np.testing.assert_allclose(statistic[0], lines["statistic"].iloc[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(log10p[0], lines["log10p"].iloc[0], rtol=1e-9)


def exact(log10_pvalues):
    """Give the logarithm of a combination in 500 digits."""
    with mpmath.workdps(500):
        largest = mpmath.mpf("0.999")
        chances = [
            min(mpmath.mpf(10) ** mpmath.mpf(float(each)), largest) for each in log10_pvalues
        ]
        mean = sum(mpmath.cot(mpmath.pi * each) for each in chances) / len(chances)
        combined = mpmath.acot(mean) / mpmath.pi
        return float(mpmath.log10(combined if combined > 0 else combined + 1))


@pytest.mark.parametrize(
    "log10p",
    [
        [-400.0, -0.2],
        [-350.0, -349.5, 0.0],
        [-308.0, -5.0],
        [0.0, -3.0],
        [0.0, 0.0],
        [-1e-17, -2.0, -0.3],
        [-0.30103, -0.30103],
        [-8.0, -8.1, -7.9],
        [-0.31, -0.29, -4.0, -0.0001],
    ],
)
def test_cauchy_combinations_are_exact_where_floating_point_numbers_end(log10p):
    found = combine_cauchy(np.array([log10p]))[1][0]
    assert found == pytest.approx(exact(log10p), rel=1e-11, abs=1e-14)


def test_one_p_value_combined_is_itself_and_missing_ones_do_not_count():
    log10p = np.array([[-3.0, np.nan], [np.nan, -0.1], [np.nan, np.nan], [-np.inf, -1.0]])
    statistic, found = combine_cauchy(log10p)
    np.testing.assert_allclose(found, [-3.0, -0.1, np.nan, -np.inf], rtol=1e-13)
    assert np.isnan(statistic[2])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-320, 0), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_combinations_do_not_depend_on_order_and_fall_with_every_p_value(log10p, chance):
    whole = combine_cauchy(np.array([log10p]))[1][0]
    mixed = list(log10p)
    chance.shuffle(mixed)
    assert combine_cauchy(np.array([mixed]))[1][0] == pytest.approx(whole, rel=1e-9, abs=1e-12)
    smaller = [log10p[0] - 1.0, *log10p[1:]]
    assert combine_cauchy(np.array([smaller]))[1][0] <= whole + 1e-9


def test_combinations_of_independent_p_values_are_uniform():
    rng = np.random.default_rng(3)
    pvalue = 10 ** combine_cauchy(np.log10(rng.random((20_000, 5))))[1]
    for level in (0.05, 0.01, 0.001):
        error = np.sqrt(level / 20_000)
        assert abs((pvalue <= level).mean() - level) < 3.5 * error
    assert stats.kstest(pvalue, "uniform").statistic < 0.02


# Scores that vary together


def test_normal_scores_are_those_of_their_p_values():
    sign = np.array([[1.0, -1.0, 1.0, 0.0]])
    log10p = np.array([[-1.0, -300.0, np.nan, 0.0]])
    found = normal_scores(sign, log10p)
    expected = [stats.norm.isf(0.05), -stats.norm.isf(5e-301)]
    np.testing.assert_allclose(found[0, :2], expected, rtol=1e-9)
    assert found[0, 2:].tolist() == [0.0, 0.0]


def test_known_correlations_give_known_tests():
    """Two scores with correlation 1: the sum is twice a chi-square, the form has rank one."""
    values, vectors = np.linalg.eigh(np.ones((1, 2, 2)))
    by_sum, omnibus = combine_scores(np.array([[2.0, 2.0]]), values, vectors, np.array([2.0]))
    np.testing.assert_allclose(by_sum.pvalue, stats.chi2.sf(4.0, 1))
    assert omnibus.df[0] == 1
    np.testing.assert_allclose(omnibus.statistic, 4.0)
    np.testing.assert_allclose(omnibus.pvalue, stats.chi2.sf(4.0, 1))
    values, vectors = np.linalg.eigh(np.eye(3)[None])
    by_sum, omnibus = combine_scores(np.array([[1.0, -2, 0.5]]), values, vectors, np.array([3.0]))
    for found in (by_sum, omnibus):
        np.testing.assert_allclose(found.pvalue, stats.chi2.sf(5.25, 3))


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
        tail = oracle.weighted_chi2_sf((scores**2).sum(), np.linalg.eigvalsh(correlation))
        np.testing.assert_allclose(row["pvalue"], tail, atol=1e-6)
        three = [found[name]["log10p"].iloc[j] for name in ("acat", "sum", "omnibus")]
        np.testing.assert_allclose(found["cauchy"]["log10p"].iloc[j], exact(three), rtol=1e-6)
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
        res.score_test(by="term"),
        res.lr_test(["age", "bmi"]),
        res.wald_test(["age", "bmi"]),
    ):
        found = edges.feature_pvalues()
        assert found.between(0, 1).all()
        assert found["age"] < 1e-8
        for combine in ("sum", "omnibus", "cauchy"):
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
        assert found["copy"] == found["bmi"]
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
    for combine in ("sum", "omnibus", "cauchy"):
        assert (plain.feature_pvalues(combine) != careful.feature_pvalues(combine)).any()


def test_a_ranking_says_how_its_p_values_are_made():
    res = example()
    for combine in COMBINE:
        ranking = res.rank_features(combine=combine)
        expected = res.score_test().feature_pvalues(combine)
        pd.testing.assert_series_equal(ranking.pvalues, expected)
        assert ranking.settings["combine"] == combine
        assert combine in str(ranking.summary())
        part = gather(res, ReportOptions(), None, ranking)
        assert part.settings["Tests"]["p-values of features"] == combine
        # Importance, and so the order, is the sum, whatever the p-values are.
        assert ranking.order == res.rank_features().order


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
