"""Fits with one interaction per pair: exact likelihood, pseudo-likelihood, and tests on them."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import optimize
from scipy.special import logsumexp

import isingmlc as im
from isingmlc.exceptions import ModelError, SeparationWarning

REFERENCE = Path(__file__).parents[1] / "reference"
OURS = "ignore::isingmlc.exceptions.IsingWarning"
LABELS = ["y1", "y2", "y3", "y4"]
BOTH = pytest.mark.parametrize("method", ["joint", "pseudo"])


@pytest.fixture(scope="module")
def context():
    return pd.read_csv(REFERENCE / "context_data.csv")


@pytest.fixture(scope="module")
def example():
    return im.datasets.load_example()


def by_term(table):
    """Write a table of label models as a series with R's names of terms."""
    found = {name: table.loc["const", name] for name in table.columns}
    for at, first in enumerate(table.columns):
        for second in table.columns[at + 1 :]:
            found[f"{first}:{second}"] = table.loc[second, first]
    return pd.Series(found)


def test_exact_likelihood_is_that_of_rs_loglinear_model(context):
    reference = pd.read_csv(REFERENCE / "context_exact.csv").set_index("term")
    res = im.IsingModel(context[LABELS]).fit(method="joint")
    found = pd.DataFrame({"estimate": by_term(res.params), "se": by_term(res.bse)})
    pd.testing.assert_frame_equal(
        found.loc[reference.index],
        reference[["estimate", "se"]],
        rtol=0,
        atol=1e-8,
        check_names=False,
    )
    assert res.llf == pytest.approx(reference["loglik"].iloc[0], abs=1e-8)
    assert res.df_model == 10
    assert res.aic == pytest.approx(20 - 2 * res.llf)
    slopes = res.params.loc[LABELS].to_numpy()
    np.testing.assert_array_equal(slopes, slopes.T)


def test_goodness_of_fit_is_that_of_a_poisson_regression(context):
    table = (
        context.groupby(LABELS)
        .size()
        .reindex(pd.MultiIndex.from_product([[0, 1]] * 4, names=LABELS), fill_value=0)
        .rename("count")
        .reset_index()
    )
    formula = "count ~ (y1 + y2 + y3 + y4)**2"
    poisson = sm.GLM.from_formula(formula, table, family=sm.families.Poisson()).fit(tol=1e-13)
    res = im.IsingModel(context[LABELS]).fit(method="joint")
    found = res.goodness_of_fit()
    assert found.deviance == pytest.approx(poisson.deviance, abs=1e-8)
    assert found.pearson == pytest.approx(poisson.pearson_chi2, abs=1e-8)
    assert found.df == poisson.df_resid == 5
    np.testing.assert_allclose(600 * res.joint_distribution(), poisson.mu, atol=1e-7)


def stacked(labels, groups=None, extra=None):
    """Fit one interaction per pair as one regression on K rows per row, clustered by rows."""
    labels = np.asarray(labels, dtype=float)
    n, n_labels = labels.shape
    extra = np.zeros((n, 0)) if extra is None else np.asarray(extra, dtype=float)
    pairs = list(zip(*np.triu_indices(n_labels, 1), strict=True))
    width = n_labels + len(pairs)
    design = np.zeros((n_labels, n, width + n_labels * extra.shape[1]))
    for k in range(n_labels):
        design[k, :, k] = 1.0
        for at, (first, second) in enumerate(pairs):
            if k in (first, second):
                design[k, :, n_labels + at] = labels[:, second if k == first else first]
        own = width + k * extra.shape[1]
        design[k, :, own : own + extra.shape[1]] = extra
    groups = np.arange(n) if groups is None else groups
    return sm.GLM(
        labels.T.ravel(), design.reshape(n_labels * n, -1), family=sm.families.Binomial()
    ).fit(
        tol=1e-13,
        cov_type="cluster",
        cov_kwds={"groups": np.tile(groups, n_labels), "use_correction": False},
    )


def test_pseudo_likelihood_is_a_stacked_regression(context):
    model = im.IsingModel(context[LABELS])
    res, peer = model.fit(method="pseudo"), stacked(context[LABELS])
    np.testing.assert_allclose(by_term(res.params), peer.params, atol=1e-9)
    np.testing.assert_allclose(by_term(res.bse), peer.bse, rtol=1e-8)
    assert res.llf == pytest.approx(peer.llf)
    # Clusters of rows.
    peer = stacked(context[LABELS], context["centre"])
    res = model.fit(method="pseudo", groups=context["centre"], use_correction=False)
    np.testing.assert_allclose(by_term(res.bse), peer.bse, rtol=1e-8)


def test_pseudo_likelihood_has_covariates(context):
    covariates = context[["age", "sex"]]
    res = im.IsingModel(context[LABELS], covariates=covariates).fit(method="pseudo")
    peer = stacked(context[LABELS], extra=covariates)
    np.testing.assert_allclose(by_term(res.params), peer.params[:10], atol=1e-7)
    np.testing.assert_allclose(by_term(res.bse), peer.bse[:10], rtol=1e-6)
    ours = res.params.loc[["age", "sex"]].to_numpy().T.ravel()
    np.testing.assert_allclose(ours, peer.params[10:], atol=1e-8)
    ours = res.bse.loc[["age", "sex"]].to_numpy().T.ravel()
    np.testing.assert_allclose(ours, peer.bse[10:], rtol=1e-6)


@BOTH
def test_combinations_have_the_covariance_of_one_regression(context, method):
    res = im.IsingModel(context[LABELS]).fit(method=method)
    test = res.contrast({("y1", "y2"): 1, ("y3", "y4"): -2, "y1": 0.5})
    line = np.zeros(10)
    line[[4, 9, 0]] = 1, -2, 0.5
    if method == "pseudo":
        variance = line @ stacked(context[LABELS]).cov_params() @ line
    else:
        # Covariances of means of products, from the fitted distribution itself.
        law = res.joint_distribution()
        vectors = np.array(law.index.tolist(), dtype=float)
        first, second = np.triu_indices(4, 1)
        terms = np.hstack([vectors, vectors[:, first] * vectors[:, second]])
        centred = terms - law.to_numpy() @ terms
        variance = line @ np.linalg.solve(
            600 * centred.T @ (law.to_numpy()[:, None] * centred), line
        )
    assert test.errors[0] ** 2 == pytest.approx(variance, rel=1e-7)
    table = res.network_table()
    np.testing.assert_allclose(table["se"], by_term(res.bse)[4:], rtol=1e-12)
    np.testing.assert_allclose(table["weight"], by_term(res.params)[4:], rtol=1e-12)


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("seed", range(25))
def test_limits_have_the_moments_of_the_data(seed):
    """The limit of the likelihood is the one distribution whose means of all terms are observed."""
    rng = np.random.default_rng(seed)
    drawn = rng.random((rng.integers(3, 8), 3)) < rng.uniform(0.2, 0.8, 3)
    patterns = np.unique(drawn, axis=0).astype(int)
    counts = rng.integers(1, 20, len(patterns)).astype(float)
    if np.ptp(patterns, axis=0).min() == 0:
        patterns, counts = np.vstack([patterns, 1 - patterns[:1]]), np.append(counts, 1.0)
    model = im.IsingModel(patterns, freq_weights=counts)
    res = model.fit(method="joint")
    law = res.joint_distribution()
    vectors = np.array(law.index.tolist(), dtype=float)
    expected = patterns.T @ (counts[:, None] * patterns) / counts.sum()
    found = vectors.T @ (law.to_numpy()[:, None] * vectors)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    chances = law.loc[list(map(tuple, patterns))].to_numpy()
    assert res.converged
    assert res.llf == pytest.approx(counts @ np.log(chances), abs=1e-6)
    # The sum of all labels' likelihoods has the same moments at its maximum, each once.
    residual = patterns - model.fit(method="pseudo").predict().to_numpy()
    cross = patterns.T @ (counts[:, None] * residual)
    np.testing.assert_allclose(cross + cross.T - 2 * np.diag(np.diag(cross)), 0.0, atol=1e-6)
    np.testing.assert_allclose(counts @ residual, 0.0, atol=1e-6)


@pytest.mark.filterwarnings(OURS)
@BOTH
def test_infinite_interactions_are_limits(method):
    rng = np.random.default_rng(3)
    labels = pd.DataFrame(rng.random((400, 4)) < 0.4, columns=list("abcd")).astype(int)
    labels.loc[labels["a"] == 1, "b"] = 0  # never meet
    labels.loc[labels["c"] == 1, "d"] = 1  # c only with d
    with pytest.warns(SeparationWarning, match="4 of 4 labels"):
        res = im.IsingModel(labels).fit(method=method)
    assert res.interactions.loc["a", "b"] == -np.inf
    assert res.interactions.loc["c", "d"] == np.inf
    assert res.thresholds["c"] == -np.inf
    table = res.network_table().set_index(["first", "second"])
    assert table.loc[("a", "b"), "reason"] == "infinite-pair"
    assert np.isnan(table.loc[("a", "b"), "se"])
    assert np.isfinite(table.loc[("a", "c"), "se"])
    probability = res.predict([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    assert probability.loc[0, "b"] == probability.loc[1, "a"] == 0
    assert probability.loc[0, "c"] == 0
    assert probability.loc[2, "d"] == 1
    if method == "joint":
        law = res.joint_distribution()
        assert law[1, 1].sum() == 0
        assert law.sum() == pytest.approx(1)
        means = law.to_numpy() @ np.array(law.index.tolist())
        np.testing.assert_allclose(means, labels.mean(), atol=1e-9)
        assert res.goodness_of_fit().n_cells == 9


def conditional_score(labels, x, label, thresholds, interactions):
    """C(alpha) statistic by numeric derivatives of the label's own log-likelihood."""
    others = np.delete(labels, label, axis=1)
    outcome = labels[:, label]
    design = np.column_stack([np.ones(len(x)), others, x])
    at = np.concatenate([[thresholds[label]], np.delete(interactions[label], label), [0.0]])

    def llf(coef):
        eta = design @ coef
        return float(outcome @ eta - np.logaddexp(0, eta).sum())

    step = 1e-4
    size = len(at)
    unit = step * np.eye(size)
    gradient = np.array([(llf(at + e) - llf(at - e)) / (2 * step) for e in unit])
    information = np.array(
        [
            [
                -(llf(at + e + f) - llf(at + e - f) - llf(at - e + f) + llf(at - e - f))
                / (4 * step**2)
                for f in unit
            ]
            for e in unit
        ]
    )
    shares = np.linalg.solve(information[:-1, :-1], information[:-1, -1])
    score = gradient[-1] - shares @ gradient[:-1]
    return score**2 / (information[-1, -1] - shares @ information[:-1, -1])


@BOTH
def test_score_tests_are_those_of_the_conditional_likelihood(context, method):
    model = im.IsingModel(context[LABELS], context[["x1", "x5"]])
    res = model.fit(method=method)
    edges = res.score_test(pvalue="chi2")
    labels = context[LABELS].to_numpy(float)
    # The numbers come from a maximum that an optimiser of its own finds.
    first, second = np.triu_indices(4, 1)

    def minus(coef):
        weights = np.zeros((4, 4))
        weights[first, second] = weights[second, first] = coef[4:]
        if method == "pseudo":
            eta = coef[:4] + labels @ weights
            return -float((labels * eta - np.logaddexp(0, eta)).sum())
        vectors = (np.arange(16)[:, None] >> np.arange(4)) & 1
        total = vectors @ coef[:4] + np.einsum("ik,kl,il->i", vectors, weights, vectors) / 2
        own = labels @ coef[:4] + np.einsum("ik,kl,il->i", labels, weights, labels) / 2
        return -float(own.sum() - len(labels) * logsumexp(total))

    coef = optimize.minimize(minus, np.zeros(10), method="BFGS", options={"gtol": 1e-5}).x
    weights = np.zeros((4, 4))
    weights[first, second] = weights[second, first] = coef[4:]
    for name in ("x1", "x5"):
        for k, label in enumerate(LABELS):
            peer = conditional_score(labels, context[name].to_numpy(), k, coef[:4], weights)
            assert edges.loc[name, label].statistic == pytest.approx(peer, rel=2e-3, abs=1e-3)
    # Another origin of a feature is the same test.
    moved = im.IsingModel(context[LABELS], context[["x1", "x5"]] + 7).fit(method=method)
    np.testing.assert_allclose(
        moved.score_test(pvalue="chi2").statistics, edges.statistics, rtol=1e-7
    )
    assert "one interaction per pair" in edges.note


@pytest.mark.slow
@BOTH
def test_levels_of_score_tests(method):
    """Features that act on other labels, and some that do nothing, by simulation."""
    rng = np.random.default_rng(11)
    # With three labels the fits would be those of separate regressions.
    interactions = np.triu(rng.normal(0, 0.9, (5, 5)), 1)
    effects = np.zeros((20, 5))
    effects[0, :2], effects[1, 2] = (1.0, -1.0), 1.0
    law = im.simulate.IsingDistribution(
        [-0.5, -0.3, -0.6, 0.2, -0.4], interactions + interactions.T, effects=effects
    )
    rejected = tested = 0
    for _ in range(60):
        x = rng.normal(size=(400, 20))
        labels = law.sample(features=x, random_state=rng)
        edges = im.IsingModel(labels, x).fit(method=method).score_test(pvalue="chi2")
        null = edges.pvalues.to_numpy()[effects == 0]
        rejected, tested = rejected + (null < 0.05).sum(), tested + null.size
    assert abs(rejected / tested - 0.05) < 3 * np.sqrt(0.05 * 0.95 / tested)


def test_joint_fits_say_what_they_cannot_do(example):
    labels = example.labels
    with pytest.raises(ModelError, match="method='pseudo'"):
        im.IsingModel(labels, covariates=example.features[["age"]]).fit(method="joint")
    many = np.random.default_rng(0).random((60, 21)) < 0.5
    with pytest.raises(ModelError, match=r"there are 21\. Use method='pseudo'"):
        im.IsingModel(many).fit(method="joint")
    clusters = im.IsingModel(labels).fit(method="joint", groups=np.arange(1500) % 30)
    with pytest.raises(ModelError, match="cov_type='cluster'"):
        clusters.goodness_of_fit()


@BOTH
def test_weights_count_rows(context, method):
    labels = context[LABELS].iloc[:200]
    weights = np.random.default_rng(2).integers(1, 4, 200)
    counted = im.IsingModel(labels, freq_weights=weights).fit(method=method)
    repeated = im.IsingModel(labels.loc[labels.index.repeat(weights)]).fit(method=method)
    np.testing.assert_allclose(counted.params, repeated.params, atol=1e-9)
    np.testing.assert_allclose(counted.bse, repeated.bse, rtol=1e-8)


def test_robust_errors_of_joint_fits(context):
    """The sandwich of the exact likelihood, written out by rows."""
    res = im.IsingModel(context[LABELS]).fit(method="joint", cov_type="HC0")
    labels = context[LABELS].to_numpy(float)
    first, second = np.triu_indices(4, 1)
    terms = np.hstack([labels, labels[:, first] * labels[:, second]])
    law = res.joint_distribution()
    vectors = np.array(law.index.tolist(), dtype=float)
    states = np.hstack([vectors, vectors[:, first] * vectors[:, second]])
    centred = states - law.to_numpy() @ states
    bread = np.linalg.inv(600 * centred.T @ (law.to_numpy()[:, None] * centred))
    scores = terms - law.to_numpy() @ states
    sandwich = bread @ scores.T @ scores @ bread
    np.testing.assert_allclose(by_term(res.bse), np.sqrt(sandwich.diagonal()), rtol=1e-7)


def test_summaries_of_joint_fits(example):
    text = im.IsingModel(example.labels).fit(method="joint").summary().as_text()
    assert "Log-likelihood:" in text
    assert "one interaction" in text
    assert "deviance 57.93" in text.replace("\n    ", " ")
    text = im.IsingModel(example.labels).fit(method="pseudo").summary().as_text()
    assert "Log pseudo-likelihood:" in text


def test_pairs_that_are_left_out(example):
    graph = np.ones((6, 6)) - np.eye(6)
    graph[0, 1] = graph[1, 0] = 0
    model = im.IsingModel(example.labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        full, fewer = model.fit(method="joint"), model.fit(method="joint", neighbors=graph)
    assert fewer.interactions.iloc[0, 1] == 0
    assert full.df_model - fewer.df_model == 1
    # The likelihood ratio of one interaction comes near its Wald test.
    ratio = 2 * (full.llf - fewer.llf)
    wald = full.network_table().iloc[0]["z"] ** 2
    assert ratio == pytest.approx(wald, rel=0.05)
