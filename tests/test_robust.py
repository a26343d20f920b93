"""Robust variances: residuals, clusters and sampling weights, against R, statsmodels and rows."""

import numpy as np
import pytest
import statsmodels.api as sm
from golden import load

import isingmlc as im
from isingmlc.inference.product_scores import product_scores
from isingmlc.inference.score import (
    feature_scores,
    joint_scores,
    null_models,
    own_spread,
)

LABELS, COVARIATES = ["y1", "y2", "y3", "y4"], ["age", "sex", "region"]
FEATURES = ["x1", "x2", "x3", "x4", "x5"]


@pytest.fixture(scope="module")
def frame():
    # Old versions of patsy do not know pandas' type for text.
    return load("context", "data").astype({"region": object})


@pytest.fixture(scope="module")
def model(frame):
    return im.IsingModel(frame[LABELS], frame[FEATURES], covariates=frame[COVARIATES])


@pytest.fixture(scope="module")
def discrete(frame):
    """A model with few cells, of many rows each."""
    return im.IsingModel(frame[LABELS], frame[FEATURES], covariates=frame[["sex"]])


def null_fit(frame, label, covariates=("sex",)):
    """Fit the null model of a label to rows, by statsmodels."""
    others = [name for name in LABELS if name != label]
    exog = sm.add_constant(frame[[*others, *covariates]].astype(float))
    return exog.to_numpy(), sm.GLM(frame[label], exog, family=sm.families.Binomial()).fit(tol=1e-14)


def row_scores(frame, label, columns, kind):
    """Give efficient scores of columns in each row (n × d), their squares of the given kind."""
    exog, fit = null_fit(frame, label)
    weight = fit.fittedvalues * (1 - fit.fittedvalues)
    weight = weight.to_numpy()
    rest = (
        columns
        - exog
        @ np.linalg.lstsq(
            exog * np.sqrt(weight)[:, None], columns * np.sqrt(weight)[:, None], rcond=None
        )[0]
    )
    scores = fit.resid_response.to_numpy()[:, None] * rest
    leverage = fit.get_hat_matrix_diag() if kind == "HC2" else 0.0
    return scores, scores / np.sqrt(1 - leverage)[:, None] if kind == "HC2" else scores


# Noise of scores


@pytest.mark.parametrize("kind", ["HC0", "HC2"])
def test_scores_have_variances_of_rows(discrete, frame, kind):
    fit = discrete.fit()._fit
    stats = fit.stats
    spread = own_spread(stats, True)
    nulls = null_models(fit, range(4), kind)
    found = feature_scores(stats, nulls, spread)
    products = {
        (other, label): scores.variance[at]
        for _, other, labels, scores in product_scores(stats, nulls, spread)
        for at, label in enumerate(labels.tolist())
    }
    x = frame[FEATURES].to_numpy()
    for at, label in enumerate(LABELS):
        scores, noisy = row_scores(frame, label, x, kind)
        np.testing.assert_allclose(found.score[at], scores.sum(axis=0), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found.variance[at], (noisy**2).sum(axis=0), rtol=1e-8)
        assert (nulls[at].leverage < 1).all()
        for other, name in enumerate(LABELS):
            if other != at:
                _, noisy = row_scores(frame, label, x * frame[[name]].to_numpy(), kind)
                np.testing.assert_allclose(products[other, at], (noisy**2).sum(axis=0), rtol=1e-8)
        others = np.delete(frame[LABELS].to_numpy(), at, axis=1)
        block = np.column_stack([x[:, 3], x[:, [3]] * others])
        scores, noisy = row_scores(frame, label, block, kind)
        total = scores.sum(axis=0)
        form = total @ np.linalg.solve(noisy.T @ noisy, total)
        statistic, df = joint_scores(stats, nulls[at], spread)
        assert (statistic[3], df[3]) == (pytest.approx(form, rel=1e-6), 4)


def test_kinds_of_noise_may_be_mixed(discrete):
    fit = discrete.fit()._fit
    spread = own_spread(fit.stats, True)
    plain = null_models(fit, range(4))
    kinds = ["weights", "HC2", "weights", "HC0"]
    mixed = feature_scores(
        fit.stats, [null.with_noise(kind) for null, kind in zip(plain, kinds, strict=True)], spread
    )
    for at, kind in enumerate(kinds):
        alone = feature_scores(fit.stats, [plain[at].with_noise(kind)], spread)
        np.testing.assert_allclose(mixed.variance[at], alone.variance[0], rtol=1e-9)


def test_noise_of_residuals_is_that_of_r(model):
    reference = load("context", "robust").pivot(index="feature", columns="label", values="hc0")
    fit = model.fit()._fit
    nulls = null_models(fit, range(4), "HC0")
    found = feature_scores(fit.stats, nulls, own_spread(fit.stats, True)).statistic()
    np.testing.assert_allclose(found.T, reference.loc[FEATURES, LABELS], rtol=1e-6)
