r"""Whether a feature changes how two labels are associated.

The interaction of labels a and b may depend on a feature x through one parameter, the coefficient
of x·y_a·y_b. It stands in the models of both labels. Its pseudo-likelihood score is the sum of both
scores, :math:`U = U_a + U_b`, with the variance
:math:`V_a + V_b + 2 \rho \sqrt{V_a V_b}`: V are the variances of the two and ρ is the correlation
of what rows add to them. Estimates of the parameter are averaged with the same weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import BoolArray, FloatArray, chunks
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.combine import normal_scores
from isingmlc.inference.edges import EdgeArrays, GivenPvalues, Pvalues
from isingmlc.inference.pvalues import chi2_log10_sf
from isingmlc.inference.refit import leave_products, refit_products
from isingmlc.statistics.labelsets import cells_of

REFIT = ("auto", True, False)
# A feature whose own statistic exceeds this has too strong an effect for one Newton step.
LARGE = 4.0
# Rows times edges up to which all models are fitted: a second or two.
CHEAP = 2e7
# Numbers by row and product beyond which correlations are not computed, but taken as one.
_MOST = 2e8
_STRONG = (
    "{n_strong} edges have a strong effect of the feature itself, for which products are best "
    "tested in refitted models. {why}: the tests are one Newton step, and may be off there."
)
_NO_ROWS = "That needs rows, and the model has none"
_NOT_FITTED = "That needs method='nodewise', with a ridge penalty or none"


def check_refit(fit: NetworkFit, products: str | None, refit: bool | str) -> None:
    """Check that models that have a feature can be fitted, if that is asked for."""
    check_option("refit", refit, REFIT)
    if refit is True and not fit.can_refit:
        raise exc.ModelError(
            "refit=True is for method='nodewise' with a ridge penalty or none, but this model was "
            f"fitted by {fit.settings.described}. Leave refit out, or fit again."
        )
    if refit is True and fit.is_robust:
        raise exc.ModelError(
            f"refit=True has variances that trust the models, but the fit has cov_type="
            f"{fit.settings.cov_type!r}. Leave refit out, or use wald_test(products={products!r}), "
            "which fits them and follows cov_type."
        )


def find_large(fit: NetworkFit, single: EdgeArrays, refit: bool | str) -> BoolArray:
    """Find the edges whose models are fitted, or warn of those for which that is unavailable."""
    tested = single.reason == Reason.OK
    with np.errstate(invalid="ignore"):
        strong = single.statistic > LARGE
    if refit is True or (refit == "auto" and can_refit(fit)):
        # A feature that is explained by others changes nothing, and nor does a refit.
        all_of_them = refit is True or tested.sum() * fit.stats.n_rows <= CHEAP
        return np.asarray(tested if all_of_them else tested & strong)
    if refit == "auto" and not fit.is_robust and strong.any():
        why = _NO_ROWS if fit.can_refit else _NOT_FITTED
        exc.warn(_STRONG.format(n_strong=int(strong.sum()), why=why), exc.DataWarning)
    return np.zeros(tested.shape, dtype=np.bool_)


def can_refit(fit: NetworkFit) -> bool:
    """Return whether models that have a feature can be fitted."""
    return fit.rows is not None and fit.can_refit and not fit.is_robust


def pool_sides(
    coef: FloatArray, bse: FloatArray, others: FloatArray, errors: FloatArray, rho: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Average two correlated estimates of one parameter, weighted by their precision."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (np.where(each > 0, 1 / each, 0.0) for each in (bse, errors))
        total = first**2 + second**2
        mean = np.where(first > 0, first**2 * coef, 0.0)
        mean = (mean + np.where(second > 0, second**2 * others, 0.0)) / total
        error = np.sqrt(total + 2 * rho * first * second) / total
    alone = np.where(np.isnan(coef), others, coef)
    return np.where(total > 0, mean, alone), np.where(total > 0, error, np.nan)


def pool_pair(coef: FloatArray, bse: FloatArray, rho: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pool estimates of both sides, features × labels × labels; NaN but for the first label."""
    pooled = pool_sides(coef, bse, coef.swapaxes(1, 2), bse.swapaxes(1, 2), rho)
    lower = np.tril(np.ones(coef.shape[1:], dtype=np.bool_))
    for values in pooled:
        values[:, lower] = np.nan
    return pooled


def pool_tests(tests: EdgeArrays, rho: FloatArray, sides: Pvalues | None = None) -> EdgeArrays:
    """Make one test per pair from the tests of its products in the models of both labels.

    Shapes: rho (features, labels, labels).
    """
    statistic: Any = tests.product_statistic
    sign: Any = tests.product_sign
    bse: Any = tests.product_bse
    is_fitted = tests.product_coef is not None
    coef: Any = tests.product_coef if is_fitted else sign * np.sqrt(statistic) * bse
    pooled, error = pool_pair(coef, bse, rho)
    found = (pooled / error) ** 2
    reason: Any = tests.product_reason
    reason = np.where(reason == Reason.OK, reason, reason.swapaxes(1, 2))
    given = None
    if sides is not None:
        own, spread = pool_pair(normal_scores(sign, sides.log10) * bse, bse, rho)
        log10 = np.asarray(chi2_log10_sf((own / spread) ** 2, 1.0))
        # p-values come from chi-square if those of both sides do.
        first, second = sides.method, sides.method.swapaxes(1, 2)
        method = np.where(np.isin(first, ("chi2", "")) & (second != ""), second, first)
        method[np.isnan(log10)] = ""
        given = GivenPvalues(10.0**log10, log10, method)
    return replace(
        tests,
        product_statistic=found,
        product_sign=np.nan_to_num(np.sign(pooled)).astype(np.int8),
        product_reason=reason,
        product_coef=pooled if is_fitted else None,
        product_bse=error,
        product_rho=rho,
        given_products=given,
    )


def pool_wald(fit: NetworkFit, tests: EdgeArrays, n_jobs: int) -> EdgeArrays:
    """Make one Wald test per pair; see `pool_tests`."""
    place = {name: at for at, name in enumerate(fit.stats.feature_names)}
    lines = [place[name] for name in tests.feature_names]
    models = np.zeros((len(place), len(tests.label_names)), dtype=np.bool_)
    models[lines] = tests.reason == Reason.OK
    return pool_tests(tests, score_correlations(fit, models, n_jobs)[lines])


def score_correlations(fit: NetworkFit, models: BoolArray, n_jobs: int = 1) -> FloatArray:
    """Correlate what rows add to the two scores of each pair, in models that have the feature.

    Shapes: models (features, labels), returned (features, labels, labels).
    """
    n_features, n_labels = models.shape
    found = np.ones((n_features, n_labels, n_labels))
    if fit.is_robust or not models.any():
        return found
    data, patterns = fit.rows_for("tests of pairs"), fit.stats.patterns
    codes = cells_of(fit.stats, data)
    order = np.argsort(codes, kind="stable")
    if len(codes) * n_labels**2 > _MOST:
        return found
    for part in chunks(n_features, 8 * len(codes) * n_labels**2):
        some = np.zeros_like(models)
        some[part] = models[part]
        added = np.zeros((part.stop - part.start, n_labels, n_labels, len(codes)))
        for lines, node, others, rests in refit_products(fit, some, n_jobs, leave_products):
            rows = order[node.in_play[codes[order]]]
            is_one = patterns[codes[rows], node.label]
            residual = np.where(is_one, rests.complement, -rests.probability)
            values = (residual[:, :, None] * rests.rest).transpose(0, 2, 1)
            at = (lines - part.start)[:, None, None], node.label, others[:, None], rows
            added[at] = values
        if data.weights is not None:
            added *= np.sqrt(data.weights)
        own = np.einsum("jkln,jkln->jkl", added, added)
        crossed = np.einsum("jkln,jlkn->jkl", added, added)
        size = np.sqrt(own * own.swapaxes(1, 2))
        np.divide(crossed, size, out=found[part], where=size > 0)
    return found
