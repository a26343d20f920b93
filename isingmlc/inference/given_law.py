r"""p-values of products given their feature, where few rows decide them.

The score of a product in a model that has the feature is :math:`\sum_i (y_i - p_i) r_i`, with p the
probabilities of that model and r what it leaves of the product. That is a sum of independent
outcomes, to which applies what does to a feature: a saddlepoint approximation for one product, the
enumeration of few outcomes for all products of a feature. Where the model was fitted to the rows it
is fitted again, for the few edges whose p-values are looked at; where one Newton step was taken
towards it, outcomes have the probabilities that the step began at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.base.tolerances import COLLINEAR
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.blocks import given_scores, statistics_of_products
from isingmlc.inference.covariance import MODEL_BASED
from isingmlc.inference.joint_law import (
    LOG_SUSPECT,
    Block,
    blocks_of_rows,
    deflate,
    joint_tails,
    known_or,
    trusted_joint_scores,
)
from isingmlc.inference.refit import leave_products, refit_products
from isingmlc.inference.score import NullModel, feature_variances
from isingmlc.inference.score_law import (
    CHI2,
    SADDLEPOINT,
    FoundPvalues,
    LawPvalues,
    Rest,
    RowValues,
    ScoreLaw,
    column_tails,
    first_alike,
)
from isingmlc.inference.tails import chi2_log_sf
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of


def given_pvalues(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    statistic: FloatArray,
    df: FloatArray | None,
    refitted: BoolArray,
) -> LawPvalues:
    """Return p-values of products given their feature, corrected where chi-square does not hold."""
    find = partial(_find, fit, stats, statistic=statistic, df=df, refitted=refitted)
    return LawPvalues(fit, nulls, statistic, find, together=True)


def _find(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    laws: list[ScoreLaw],
    statistic: FloatArray,
    df: FloatArray | None,
    refitted: BoolArray,
) -> FoundPvalues:
    """Compute the p-values of all tests."""
    spread = feature_variances(stats, fit.settings.intercept)
    if fit.is_penalised:
        square, df = _trust(stats, laws, spread, statistic, df, refitted)
    else:
        square = deflate(statistic, laws)
    log_pvalue = np.asarray(chi2_log_sf(square, 1.0 if df is None else df))
    method = np.full(statistic.shape, CHI2, dtype=object)
    small = log_pvalue < LOG_SUSPECT
    suspects = small if df is not None else np.asarray(small.any(axis=2))
    source = RowValues(fit, stats)
    of_label = {law.null.label: law for law in laws}
    for label, others, block in _blocks(fit, stats, source, of_label, suspects, refitted, spread):
        if df is not None:
            at = block.features, label
            given, chosen, name = joint_tails(block, square[at], df[at], log_pvalue[at])
            log_pvalue[at] = np.where(chosen, given, log_pvalue[at])
            method[at] = np.where(chosen, name, CHI2)
            continue
        for order, other in enumerate(others.tolist()):
            own = np.flatnonzero(log_pvalue[block.features, label, other] < LOG_SUSPECT)
            if not len(own):
                continue
            single = block.features[own], label, other
            piece = Rest(
                block.rest[own, :, order].T,
                block.probability[own].T,
                block.complement[own].T,
                block.counts[own].T,
                block.inflation,
                of_label[label].fixes(other, stats.patterns[block.cells, other]),
            )
            size = np.sqrt(square[single])
            given, chosen = column_tails(piece, size, log_pvalue[single], False)
            log_pvalue[single] = np.where(chosen, given, log_pvalue[single])
            method[single] = np.where(chosen, SADDLEPOINT, CHI2)
    alike = first_alike(statistic.reshape(len(statistic), -1))
    return FoundPvalues(log_pvalue[alike], method[alike])


def _trust(
    stats: LabelsetStatistics,
    laws: list[ScoreLaw],
    spread: FloatArray,
    statistic: FloatArray,
    df: FloatArray | None,
    refitted: BoolArray,
) -> tuple[FloatArray, FloatArray | None]:
    """Return tests with variances that the models say; those of refitted models have them."""
    if refitted.all():
        return statistic, df
    if df is not None:
        found, rank = trusted_joint_scores(stats, laws, spread, statistic, df, given=True)
        return np.where(refitted, statistic, found), np.where(refitted, df, rank)
    scores = given_scores(stats, [law.null.with_covariance(MODEL_BASED) for law in laws], spread)
    found = known_or(statistics_of_products(scores, statistic.shape), statistic)
    return np.where(refitted[:, :, None], statistic, found), None


def _blocks(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    source: RowValues,
    laws: dict[int, ScoreLaw],
    suspects: BoolArray,
    refitted: BoolArray,
    spread: FloatArray,
) -> Iterator[tuple[int, IntArray, Block]]:
    """Return labels, the labels that features are multiplied with, and what is left of products."""
    for label, law in laws.items():
        others = np.flatnonzero(stats.patterns[law.null.rows].any(axis=0))
        others = others[others != label]
        chosen = (suspects & ~refitted)[:, label]
        for block in blocks_of_rows(stats, source, law, chosen, spread):
            yield label, others, _without_feature(law, block)
    if not (suspects & refitted).any():
        return
    rows = fit.rows_for("p-values of products")
    cells = cells_of(fit.stats, rows)
    order = np.argsort(cells, kind="stable")
    for features, node, others, found in refit_products(
        fit, suspects & refitted, 1, leave_products
    ):
        own = order[node.in_play[cells[order]]]
        counts = np.ones(len(own)) if rows.weights is None else rows.weights[own]
        block = Block(
            features,
            found.rest,
            found.scale,
            found.probability,
            found.complement,
            np.broadcast_to(counts, found.probability.shape),
            cells[own],
            laws[node.label].inflation,
        )
        yield node.label, others, block


def _without_feature(law: ScoreLaw, block: Block) -> Block:
    """Take the first column out of the others, by the information of the model."""
    first, rest = block.rest[:, :, 0], block.rest[:, :, 1:]
    weighted = first * law.null.weight[block.cells] * block.counts
    own = np.einsum("ji,ji->j", weighted, first)
    crossed = np.einsum("ji,jid->jd", weighted, rest)
    slope = np.zeros_like(crossed)
    is_left = (own > COLLINEAR * block.scale[:, 0])[:, None]
    np.divide(crossed, own[:, None], out=slope, where=is_left)
    return replace(
        block, rest=rest - first[:, :, None] * slope[:, None, :], scale=block.scale[:, 1:]
    )
