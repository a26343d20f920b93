"""Score tests of products given their feature: whether it changes how labels go together.

The products of a feature with other labels are tested in a model that has the feature. That model
need not be fitted for every feature: one Newton step from the model without it comes near where its
effect is weak, and can be taken from the statistics of cells. Where the score of the feature itself
is large the step falls short, and the model is fitted to the rows; so it is where that is cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_jobs, check_names, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray
from isingmlc.base.threads import one_thread
from isingmlc.base.tolerances import COLLINEAR
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.testable import (
    Reason,
    find_constant,
    judge_edges,
    judge_fits,
    judge_products,
    judge_tests,
)
from isingmlc.inference.blocks import (
    given_scores,
    joint_scores,
    scaled_forms,
    statistics_of_products,
)
from isingmlc.inference.edges import EdgeArrays
from isingmlc.inference.given_law import given_pvalues
from isingmlc.inference.larger_models import score_products
from isingmlc.inference.pairs import pool_tests, score_correlations
from isingmlc.inference.refits import refit_products
from isingmlc.inference.score import NullModel, feature_variances, null_models
from isingmlc.inference.score_law import edge_pvalues
from isingmlc.inference.score_tests import for_products, single_tests, with_law
from isingmlc.statistics.labelsets import feature_blocks

REFIT = ("auto", True, False)
# A feature whose own statistic exceeds this has too strong an effect for one Newton step.
LARGE = 4.0
# Rows times edges up to which all models are fitted: a second or two.
CHEAP = 2e7
_NOTE = "products are tested given their feature: {n_refits} of {n_edges} edges refitted, {rest}"
_STRONG = (
    "{n_strong} edges have a strong effect of the feature itself, for which products are best "
    "tested in refitted models. {why}: the tests are one Newton step, and may be off there."
)
_NO_ROWS = "That needs rows, and the model has none"
_NOT_FITTED = "That needs method='nodewise', with a ridge penalty or none"


def moderation_test(
    fit: NetworkFit,
    features: Sequence[str] | str | None,
    products: str,
    *,
    min_count: int = 2,
    n_jobs: int = 1,
    pvalue: str = "auto",
    refit: bool | str = "auto",
) -> EdgeArrays:
    """Test products given their feature; `IsingResults.score_test` explains the arguments."""
    check_option("refit", refit, REFIT)
    n_jobs = check_jobs(n_jobs)
    if not fit.stats.feature_names:
        raise exc.ModelError(exc.NO_FEATURES)
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
    if features is not None:
        fit = fit.take_features(check_names("features", features, fit.stats.feature_names))
    labels = judge_fits(fit, min_count)
    nulls = null_models(fit, np.flatnonzero(labels == Reason.OK).tolist())
    reason = judge_edges(labels, find_constant(fit.stats, fit.settings.intercept))
    single = single_tests(fit, nulls, reason)
    large = np.zeros(reason.shape, dtype=np.bool_)
    if refit is True or (refit == "auto" and can_refit(fit)):
        # A feature that is explained by others changes nothing, and nor does a refit.
        tested = single.reason == Reason.OK
        all_of_them = refit is True or tested.sum() * fit.stats.n_rows <= CHEAP
        large = tested & ((single.statistic > LARGE) | all_of_them)
    elif refit == "auto" and not fit.is_robust and (single.statistic > LARGE).any():
        why = _NO_ROWS if fit.can_refit else _NOT_FITTED
        n_strong = int((single.statistic > LARGE).sum())
        exc.warn(_STRONG.format(n_strong=n_strong, why=why), exc.DataWarning)
    if products == "given":
        # A pair is tested in two models: both are fitted, or neither.
        large = (single.reason == Reason.OK) & large.any(axis=1, keepdims=True)
    n_tested = int((single.reason == Reason.OK).sum())
    note = _NOTE.format(
        n_refits=int(large.sum()),
        n_edges=n_tested,
        rest="one Newton step for the others" if large.sum() < n_tested else "none approximated",
    )
    single = replace(single, products=products, note="; ".join(filter(None, [single.note, note])))
    corrects = pvalue != "chi2" and not fit.is_robust
    stats = for_products(fit)
    if products == "given":
        tests = _each(fit, nulls, single, large, n_jobs)
        assert tests.product_statistic is not None
        rho = score_correlations(fit, large, n_jobs)
        if not corrects:
            return pool_tests(tests, rho)
        sides = given_pvalues(fit, stats, nulls, tests.product_statistic, None, large)
        alone = edge_pvalues(fit, nulls, tests.statistic, always=False)
        return with_law(pool_tests(tests, rho, sides), alone, "auto")
    tests = _together(fit, nulls, reason, single, large, n_jobs)
    if not corrects:
        return tests
    given = given_pvalues(fit, stats, nulls, tests.statistic, tests.df, large)
    return with_law(tests, given, "auto")


def can_refit(fit: NetworkFit) -> bool:
    """Return whether models that have a feature can be fitted."""
    return fit.rows is not None and fit.can_refit and not fit.is_robust


def _each(
    fit: NetworkFit, nulls: list[NullModel], single: EdgeArrays, large: BoolArray, n_jobs: int
) -> EdgeArrays:
    """Test each product by itself, in the model of one label."""
    stats = for_products(fit)
    spread = feature_variances(stats, fit.settings.intercept)
    shape = (*single.statistic.shape, len(stats.label_names))
    sign = np.zeros(shape[::-1], dtype=np.int8).T
    error = np.full(shape[::-1], np.nan).T
    statistic = statistics_of_products(given_scores(stats, nulls, spread), shape, sign, error)
    separated = np.zeros(statistic.shape, dtype=np.bool_)
    for lines, node, others, found in refit_products(fit, large, n_jobs, score_products):
        variance = np.diagonal(found.variance, axis1=1, axis2=2)
        tested = (variance > COLLINEAR * found.scale) & ~found.separated[:, None]
        values = np.full(variance.shape, np.nan)
        np.divide(found.score**2, variance, out=values, where=tested)
        statistic[lines, node.label] = np.nan
        statistic[lines[:, None], node.label, others] = values
        sign[lines[:, None], node.label, others] = np.sign(found.score)
        error[lines[:, None], node.label, others] = found.error
        separated[lines, node.label] = found.separated[:, None]
    constant = (single.reason == Reason.CONSTANT_FEATURE).any(axis=1)
    statistic[constant] = np.nan
    sign[np.isnan(statistic)] = 0
    error[np.isnan(statistic)] = np.nan
    of_features = np.broadcast_to(single.reason[:, :, None], statistic.shape)
    reasons = judge_tests(
        judge_products(of_features, ~np.isnan(statistic)), np.zeros_like(separated), separated
    )
    return replace(
        single,
        product_statistic=statistic,
        product_sign=sign,
        product_reason=reasons,
        product_bse=error,
        covariance=None,
    )


def _together(
    fit: NetworkFit,
    nulls: list[NullModel],
    reason: StrArray,
    single: EdgeArrays,
    large: BoolArray,
    n_jobs: int,
) -> EdgeArrays:
    """Test all products of a feature together."""
    stats = for_products(fit)
    spread = feature_variances(stats, fit.settings.intercept)
    statistic, rank = np.full(reason.shape, np.nan), np.full(reason.shape, np.nan)
    # Many small matrices: more threads only get in each other's way.
    with one_thread():
        for part, block in feature_blocks(stats):
            for null in nulls:
                at = part, null.label
                statistic[at], rank[at] = joint_scores(block, null, spread[part], given=True)
    separated = np.zeros(reason.shape, dtype=np.bool_)
    for lines, node, _, found in refit_products(fit, large, n_jobs, score_products):
        values, ranks = _forms(found.score, found.scale, found.variance, found.separated)
        statistic[lines, node.label], rank[lines, node.label] = values, ranks
        separated[lines, node.label] = found.separated
    tested = (reason == Reason.OK) & (rank > 0) & ~separated
    collinear = (reason == Reason.OK) & ~(rank > 0) & ~separated
    return replace(
        single,
        statistic=np.where(tested, statistic, np.nan),
        df=np.where(tested, rank, np.nan),
        reason=judge_tests(reason, collinear, separated),
        sign=np.zeros(reason.shape),
        covariance=None,
    )


def _forms(
    score: FloatArray, scale: FloatArray, variance: FloatArray, failed: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Evaluate quadratic forms of the models that did not fail."""
    statistic, rank = np.full((2, len(score)), np.nan)
    if score.shape[1] and not failed.all():
        kept = ~failed
        statistic[kept], rank[kept] = scaled_forms(score[kept], scale[kept], variance[kept])
    return statistic, rank
