r"""Score tests of products given their feature: whether it changes how labels go together.

The products of a feature with other labels are tested in a model that has the feature. That model
need not be fitted for every feature: one Newton step from the model without it comes near where its
effect is weak, and can be taken from the statistics of cells. Where the score of the feature itself
is large the step falls short, and the model is fitted to the rows; so it is where that is cheap.

The interaction of labels a and b may depend on a feature x through one parameter, the coefficient
of x·y_a·y_b. It stands in the models of both labels. Its pseudo-likelihood score is the sum of both
scores, :math:`U = U_a + U_b`, with the variance
:math:`V_a + V_b + 2 \rho \sqrt{V_a V_b}`: V are the variances of the two and ρ is the correlation
of what rows add to them. Estimates of the parameter are averaged with the same weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_jobs, check_names, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, chunks
from isingmlc.base.tolerances import COLLINEAR
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.testable import Reason, judge_products, judge_tests
from isingmlc.inference.blocks import (
    given_scores,
    joint_statistics,
    scaled_forms,
    statistics_of_products,
)
from isingmlc.inference.combine import normal_scores
from isingmlc.inference.edges import EdgeArrays, Pvalues
from isingmlc.inference.joint import Block, GivenBlock, given_pvalues
from isingmlc.inference.larger_models import leave_products, score_products
from isingmlc.inference.null_distribution import edge_pvalues
from isingmlc.inference.pvalues import chi2_log10_sf
from isingmlc.inference.refits import refit_products
from isingmlc.inference.score import NullModel, feature_variances
from isingmlc.inference.score_tests import (
    for_products,
    judge_joint,
    null_models_to_test,
    single_tests,
    with_pvalues,
)
from isingmlc.statistics.labelsets import cells_of

REFIT = ("auto", True, False)
# A feature whose own statistic exceeds this has too strong an effect for one Newton step.
LARGE = 4.0
# Rows times edges up to which all models are fitted: a second or two.
CHEAP = 2e7
# Numbers by row and product beyond which correlations are not computed, but taken as one.
_MOST = 2e8
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
    nulls, reason = null_models_to_test(fit, min_count)
    single = single_tests(fit, nulls, reason)
    large = _find_large(fit, single, refit)
    if products == "given":
        # A pair is tested in two models: both are fitted, or neither.
        large = (single.reason == Reason.OK) & large.any(axis=1, keepdims=True)
    n_tested = int((single.reason == Reason.OK).sum())
    note = _NOTE.format(
        n_refits=int(large.sum()),
        n_edges=n_tested,
        rest="one Newton step for the others" if large.sum() < n_tested else "none approximated",
    )
    single = replace(
        single,
        products=products,
        note="; ".join(filter(None, [single.note, note])),
        covariance=None,
    )
    corrects = pvalue != "chi2" and not fit.is_robust
    stats = for_products(fit)
    if products == "given":
        tests = _test_each(fit, nulls, single, large, n_jobs)
        assert tests.product_statistic is not None
        rho = score_correlations(fit, large, n_jobs)
        if not corrects:
            return pool_tests(tests, rho)
        found = tests.product_statistic
        sides = given_pvalues(fit, stats, nulls, found, None, large, partial(_leave_products, fit))
        alone = edge_pvalues(fit, nulls, tests.statistic)
        return with_pvalues(pool_tests(tests, rho, sides), alone)
    tests = _test_together(fit, nulls, reason, single, large, n_jobs)
    if not corrects:
        return tests
    options = tests.statistic, tests.df, large, partial(_leave_products, fit)
    return with_pvalues(tests, given_pvalues(fit, stats, nulls, *options))


def _leave_products(fit: NetworkFit, edges: BoolArray) -> Iterator[GivenBlock]:
    """Refit models that have a feature, and yield what they leave of its products."""
    if not edges.any():
        return
    data = fit.rows_for("p-values of products")
    codes = cells_of(fit.stats, data)
    order = np.argsort(codes, kind="stable")
    weights = np.ones(len(codes)) if data.weights is None else data.weights
    for features, node, others, found in refit_products(fit, edges, 1, leave_products):
        rows = order[node.in_play[codes[order]]]
        for at, rest, scale, chance, other in zip(features.tolist(), *found, strict=True):
            block = Block(rest, scale, chance, other, weights[rows], codes[rows])
            yield node.label, at, others, block


def _find_large(fit: NetworkFit, single: EdgeArrays, refit: bool | str) -> BoolArray:
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


def _test_each(
    fit: NetworkFit, nulls: list[NullModel], single: EdgeArrays, large: BoolArray, n_jobs: int
) -> EdgeArrays:
    """Test each product by itself, in the model of one label."""
    stats = for_products(fit)
    variances = feature_variances(stats, fit.settings.intercept)
    shape = (*single.statistic.shape, len(stats.label_names))
    sign = np.zeros(shape[::-1], dtype=np.int8).T
    error = np.full(shape[::-1], np.nan).T
    statistic = statistics_of_products(given_scores(stats, nulls, variances), shape, sign, error)
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
    )


def _test_together(
    fit: NetworkFit,
    nulls: list[NullModel],
    reason: StrArray,
    single: EdgeArrays,
    large: BoolArray,
    n_jobs: int,
) -> EdgeArrays:
    """Test all products of a feature together."""
    stats = for_products(fit)
    variances = feature_variances(stats, fit.settings.intercept)
    statistic, rank = joint_statistics(stats, nulls, variances, given=True)
    separated = np.zeros(reason.shape, dtype=np.bool_)
    for lines, node, _, found in refit_products(fit, large, n_jobs, score_products):
        values, ranks = np.full((2, len(lines)), np.nan)
        kept = ~found.separated
        if found.score.shape[1] and kept.any():
            values[kept], ranks[kept] = scaled_forms(
                found.score[kept], found.scale[kept], found.variance[kept]
            )
        statistic[lines, node.label], rank[lines, node.label] = values, ranks
        separated[lines, node.label] = found.separated
    statistic, rank, reason = judge_joint(statistic, rank, reason, separated)
    return replace(single, statistic=statistic, df=rank, reason=reason, sign=np.zeros(reason.shape))


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


@dataclass(frozen=True, eq=False)
class PairPvalues:
    """p-values of pairs from corrected p-values of both sides, computed when first asked for.

    Shapes: sign, bse, rho (features, labels, labels).
    """

    sides: Pvalues
    sign: FloatArray
    bse: FloatArray
    rho: FloatArray

    def take(self, positions: IntArray) -> PairPvalues:
        """Return those of some features."""
        arrays = (each[positions] for each in (self.sign, self.bse, self.rho))
        return PairPvalues(self.sides.take(positions), *arrays)

    @cached_property
    def log10(self) -> FloatArray:
        """Logarithms to base ten of the p-values."""
        coef = normal_scores(self.sign, self.sides.log10) * self.bse
        pooled, error = pool_pair(coef, self.bse, self.rho)
        return np.asarray(chi2_log10_sf((pooled / error) ** 2, 1.0))

    @property
    def edge(self) -> FloatArray:
        """The p-values."""
        return np.asarray(10.0**self.log10)

    @property
    def method(self) -> StrArray:
        """Where p-values come from: chi-square if those of both sides do."""
        first = self.sides.method
        second = first.swapaxes(1, 2)
        plain = (first == "chi2") | (first == "")
        said = np.where(plain & (second != ""), second, first)
        return np.where(np.isnan(self.log10), "", said).astype(object)


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
    statistic, sign, bse = tests.product_statistic, tests.product_sign, tests.product_bse
    assert statistic is not None
    assert sign is not None
    assert bse is not None
    coef = tests.product_coef
    is_fitted = coef is not None
    if coef is None:
        coef = sign * np.sqrt(statistic) * bse
    pooled, error = pool_pair(coef, bse, rho)
    found = (pooled / error) ** 2
    reason = tests.product_reason
    assert reason is not None
    reason = np.where(reason == Reason.OK, reason, reason.swapaxes(1, 2))
    given = None if sides is None else PairPvalues(sides, sign.astype(float), bse, rho)
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
