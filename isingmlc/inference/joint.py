r"""p-values of several columns at once, and of products given their feature.

The statistic of several columns is :math:`|\sum_i (y_i - p_i) t_i|^2`, with t what the null model
leaves of them, scaled so that the variance is the unit matrix. Where outcomes are rare or a feature
is skewed, a single outcome can move the sum by several standard deviations, and the square is
nowhere near chi-square.

So the eight observations that move it most are taken one by one: given their outcomes, all of which
are enumerated with their probabilities, the sum of the others is taken to be normal, and the
statistic to be noncentral chi-square, scaled by the variance that is left. The p-value is the mean
of its tails.

For strong edges (below 1e-6) many observations decide. Their p-value comes from the directions in
which the scores have locally the heaviest tails: the saddlepoint tail in such a direction as a
normal deviate, referred to a weighted sum of chi-squares whose other weights say how fast tails
get lighter away from the direction. That is exact for normal scores, and within 5% of log p of
enumerated categories.

Given its feature, a product is tested in the model that has the feature. Where that model was
refitted outcomes have its probabilities; where one Newton step was taken towards it, those that the
step began at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise, product
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit, ndtri_exp
from scipy.stats import ncx2

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, chunks, dense
from isingmlc.base.tolerances import COLLINEAR
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.blocks import (
    given_scores,
    joint_columns,
    joint_scale,
    joint_statistics,
    statistics_of_products,
    term_scale,
    term_scores,
)
from isingmlc.inference.covariance import MODEL_BASED
from isingmlc.inference.null_distribution import (
    CHI2,
    LOG_SUSPECT,
    SADDLEPOINT,
    EdgePvalues,
    NullDistribution,
    deflate,
    find_pvalues,
    null_distributions,
    tails_of_columns,
)
from isingmlc.inference.points import PointsOfFeatures
from isingmlc.inference.pvalues import chi2_log_sf, chi2_sum_log_sf
from isingmlc.inference.saddlepoint import CHI2_HOLDS, Scores, upper_tails
from isingmlc.inference.score import NullModel, feature_variances
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of, feature_blocks

# What p-values from enumerated outcomes are called.
MIXTURE = "mixture"
# How many observations are taken one by one, and the share of the variance that they leave.
_HEAVY = 8
_LEAST_REMAINS = 0.05
# Noncentral chi-square distributions are computed for smaller limits, and means so much nearer.
_LARGEST_LIMIT = 1e4
_FAR_BEYOND = 40.0
# Below this a few observations no longer decide: the direction with the heaviest tail does.
_LOG_STRONG = float(np.log(1e-6))
_DIRECTION_STEPS = 100
_NO_GRADIENT = 1e-9
# Cosine of directions that are taken to be the same.
_SAME_DIRECTION = 0.99
# Numbers of one block of rows that are held at a time.
_ROWS_AT_ONCE = 2**20


@dataclass(frozen=True)
class Block:
    """What the null model of a label leaves of several columns, in n rows or cells.

    Shapes: rest (n, d), scale (d,), others (n,).
    """

    rest: FloatArray
    scale: FloatArray
    probability: FloatArray
    complement: FloatArray
    weight: FloatArray
    cell: IntArray

    @classmethod
    def of(
        cls,
        distribution: NullDistribution,
        rest: FloatArray,
        scale: FloatArray,
        weight: FloatArray,
        cell: IntArray,
    ) -> Block:
        """Take the probabilities of the cells from a null distribution."""
        probability, complement = distribution.probability[cell], distribution.complement[cell]
        return cls(rest, scale, probability, complement, weight, cell)

    def without_first(self, null: NullModel) -> Block:
        """Take the first column out of the others, by the information of the model."""
        first, rest = self.rest[:, 0], self.rest[:, 1:]
        weighted = first * null.weight[self.cell] * self.weight
        own = weighted @ first
        slope = weighted @ rest / own if own > COLLINEAR * self.scale[0] else 0.0 * rest[0]
        return replace(self, rest=rest - first[:, None] * slope, scale=self.scale[1:])

    def tail(
        self, square: float, df: float, log_pvalue: float, inflation: float
    ) -> tuple[float, str]:
        """Return the log p-value of a statistic, and what it is called."""
        scaled = self._whiten() / np.sqrt(inflation)
        found, method = self._log_mixture(scaled, square, df), MIXTURE
        if found < _LOG_STRONG:
            found, method = self._log_strong_tail(scaled, square, df, inflation), SADDLEPOINT
        if not abs(found - log_pvalue) > CHI2_HOLDS:
            return log_pvalue, CHI2
        return found, method

    def scores(self, columns: IntArray, fixed: FloatArray) -> Scores:
        """Return the scores of some columns by themselves; fixed (columns, n)."""
        rest = self.rest[:, columns].T
        return Scores.of_rows(rest, self.probability, self.complement, self.weight, fixed)

    def _whiten(self) -> FloatArray:
        """Scale columns so that their scores have unit variances."""
        weight = self.weight * self.probability * self.complement
        size = np.sqrt(np.where(self.scale > 0, self.scale, np.inf))
        rest = self.rest / size
        values, vectors = np.linalg.eigh((rest * weight[:, None]).T @ rest)
        return np.asarray(rest @ (vectors / np.sqrt(np.where(values > COLLINEAR, values, np.inf))))

    def _log_mixture(self, scaled: FloatArray, square: float, df: float) -> float:
        """Average noncentral chi-square tails over the outcomes of the heaviest observations."""
        distance = self.probability * self.complement * np.einsum("id,id->i", scaled, scaled)
        # Which of several that are equal but for rounding comes first must not depend on it.
        distance = np.round(distance / max(distance.max(), np.finfo(float).tiny), 9)
        order = np.lexsort((self.cell, -distance))
        # A row of several observations counts as often; sums of counts may be off by rounding.
        reached = np.round(np.cumsum(self.weight[order]), 6)
        places = np.searchsorted(reached, np.arange(_HEAVY), side="right")
        heavy = order[places[places < len(order)]]
        moves, chance = scaled[heavy], self.probability[heavy]
        taken = (chance * self.complement[heavy]) @ np.einsum("hd,hd->h", moves, moves)
        remains = max(1 - taken / df, _LEAST_REMAINS)
        outcomes = (np.arange(2 ** len(heavy))[:, None] >> np.arange(len(heavy))) & 1
        share = np.where(outcomes == 1, chance, self.complement[heavy]).prod(axis=1)
        shift = (outcomes - chance) @ moves
        off_centre = np.einsum("od,od->o", shift, shift) / remains
        # A normal vector is no farther out than the limit less how far its mean is.
        beyond = np.sqrt(square / remains) - np.sqrt(off_centre)
        tail = np.exp(chi2_log_sf(np.maximum(beyond, 0.0) ** 2, df))
        near = (beyond > -_FAR_BEYOND) & (square / remains < _LARGEST_LIMIT)
        tail[near] = np.minimum(ncx2.sf(square / remains, df, off_centre[near]), tail[near])
        return float(np.log(np.clip(share @ tail, np.finfo(float).tiny, 1.0)))

    def _log_strong_tail(
        self, scaled: FloatArray, square: float, df: float, inflation: float
    ) -> float:
        """Compute the log tail of a strong edge from the directions with the heaviest tails."""
        radius = np.sqrt(square)
        inside = (self.probability > 0) & (self.complement > 0) & (self.weight > 0)
        scaled, p, q = scaled[inside], self.probability[inside], self.complement[inside]
        weight, logit = self.weight[inside] * inflation, np.log(p) - np.log(q)
        direction, size = _heaviest_directions(scaled, logit, p, weight, radius)
        along = scaled @ direction.T
        scores, variance = Scores.of_rows(along.T, p, q, weight, 0.0 * along.T).standardized()
        deviates = radius / np.sqrt(variance)
        deviates = -ndtri_exp(upper_tails(scores, deviates))
        tails = np.full(len(direction), -np.inf)
        for at in np.flatnonzero(np.isfinite(deviates)):
            # On the sphere of scores of this length the exponent rises away from the direction by
            # the inverse of the tilted variance, less what the sphere bends back.
            chance = expit(logit + size[at] * along[:, at])
            across = np.linalg.svd(direction[at][None])[2][1:]
            tilted = (scaled * (weight * chance * (1 - chance))[:, None]).T @ scaled
            inverse = np.linalg.inv(tilted + _NO_GRADIENT * np.eye(len(tilted)))
            rise = np.linalg.eigvalsh(across @ inverse @ across.T) - size[at] / radius
            nearness = (deviates[at] / radius) ** 2
            weights = np.append(nearness / (nearness + np.maximum(rise, 0.0)), 1.0)
            limit = np.array([deviates[at] ** 2])
            tails[at] = chi2_sum_log_sf(limit, weights[:, None], np.ones(1))[0] - np.log(2)
        # All directions together are no heavier than if each were like the heaviest.
        most = chi2_log_sf(np.min(deviates) ** 2, df)
        return float(min(most, np.logaddexp.reduce(tails)))


# A label, a feature, the labels it is multiplied with, and what models with the feature leave.
GivenBlock: TypeAlias = tuple[int, int, IntArray, Block]


def _heaviest_directions(
    scaled: FloatArray, logit: FloatArray, p: FloatArray, weight: FloatArray, radius: float
) -> tuple[FloatArray, FloatArray]:
    """Find the directions in which tails are locally heaviest, and how far outcomes are tilted."""
    spread = weight * p * (1 - p) * np.einsum("id,id->i", scaled, scaled)
    heavy = np.argsort(-spread, kind="stable")[:_HEAVY]
    starts = np.concatenate([scaled[heavy], np.eye(scaled.shape[1])])
    starts = np.concatenate([starts, -starts])
    length = np.linalg.norm(starts, axis=1, keepdims=True)
    direction = np.unique((starts / np.where(length > 0, length, 1.0)).round(9), axis=0)
    size = np.zeros(len(direction))
    for _ in range(_DIRECTION_STEPS):
        along = scaled @ direction.T
        chance = expit(logit[:, None] + size * along)
        gradient = (weight[:, None] * (chance - p[:, None])).T @ scaled
        curvature = weight @ (chance * (1 - chance) * along**2)
        missing = radius - np.einsum("sd,sd->s", gradient, direction)
        step = missing / np.maximum(curvature, _NO_GRADIENT)
        size += np.clip(step, -size / 2, size + 1.0)
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        # The first gradient, without any tilt, is zero.
        rising = length > _NO_GRADIENT
        direction = np.where(rising, gradient / np.where(rising, length, 1.0), direction)
    alike = np.triu(direction @ direction.T > _SAME_DIRECTION, 1).any(axis=0)
    return direction[~alike], size[~alike]


def joint_pvalues(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    statistic: FloatArray,
    df: FloatArray,
) -> EdgePvalues:
    """Return p-values of joint tests, corrected where chi-square does not hold."""
    no_refits = np.zeros(statistic.shape, dtype=np.bool_)
    find = partial(_find, fit, stats, statistic, df, no_refits, None)
    return EdgePvalues(fit, nulls, statistic, find, several=True)


def given_pvalues(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    statistic: FloatArray,
    df: FloatArray | None,
    refitted: BoolArray,
    refit: Callable[[BoolArray], Iterator[GivenBlock]],
) -> EdgePvalues:
    """Return p-values of products given their feature, one by one (df None) or together.

    Of `refitted` edges what models that have the feature leave comes from `refit`.
    """
    find = partial(_find, fit, stats, statistic, df, refitted, refit)
    return EdgePvalues(fit, nulls, statistic, find, several=True)


def term_pvalues(
    fit: NetworkFit,
    nulls: list[NullModel],
    single: FloatArray,
    first: IntArray,
    statistic: FloatArray,
    df: FloatArray,
) -> EdgePvalues:
    """Return p-values of terms, corrected where chi-square does not hold."""
    find = partial(_find_terms, fit, single, first, statistic, df)
    return EdgePvalues(fit, nulls, statistic, find, several=True)


def _find(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    statistic: FloatArray,
    df: FloatArray | None,
    refitted: BoolArray,
    refit: Callable[[BoolArray], Iterator[GivenBlock]] | None,
    distributions: list[NullDistribution],
) -> tuple[FloatArray, StrArray]:
    """Compute log p-values of joint tests or, with `refit`, of products given their feature."""
    square, degrees = _model_based(
        fit,
        stats,
        distributions,
        statistic,
        np.ones(statistic.shape) if df is None else df,
        refitted,
        given=refit is not None,
    )
    table, of_label = _Table.of(square, degrees), {each.null.label: each for each in distributions}
    edges = np.asarray(table.suspect if df is not None else table.suspect.any(axis=2))

    def stepped() -> Iterator[GivenBlock]:
        for label, each in of_label.items():
            others = np.flatnonzero(stats.patterns[each.null.rows].any(axis=0))
            others = others[others != label]
            for at, block in _joint_blocks(fit, stats, each, edges[:, label] & ~refitted[:, label]):
                yield label, at, others, block if refit is None else block.without_first(each.null)

    refits = iter(()) if refit is None else refit(edges & refitted)
    for label, at, others, block in chain(stepped(), refits):
        if df is not None:
            table.correct((at, label), block, of_label[label])
            continue
        own = np.flatnonzero(table.suspect[at, label, others])
        if len(own):
            carried = stats.patterns[block.cell][:, others[own]].T
            scores = block.scores(own, of_label[label].held(others[own], carried))
            scores = scores.scaled(1.0, np.full(len(own), of_label[label].inflation))
            place = at, label, others[own]
            table.log_pvalue[place], table.method[place] = tails_of_columns(
                scores, np.sqrt(square[place]), table.log_pvalue[place]
            )
    return table.log_pvalue, table.method


def _find_terms(
    fit: NetworkFit,
    single: FloatArray,
    first: IntArray,
    statistic: FloatArray,
    df: FloatArray,
    distributions: list[NullDistribution],
) -> tuple[FloatArray, StrArray]:
    """Compute log p-values of terms, those of one column as of features, and their methods."""
    stats = fit.stats
    nulls = [each.null for each in distributions]
    alone = find_pvalues(fit, stats, single, False, null_distributions(fit, nulls))
    square, degrees = deflate(statistic, distributions), df.copy()
    lines = [int(np.flatnonzero(first == at[0])[0]) for at in stats.term_columns.values()]
    spread = feature_variances(stats, fit.settings.intercept)
    if fit.is_penalised:
        for (line, term), null in product(zip(lines, stats.term_columns, strict=True), nulls):
            edge = line, null.label
            if not np.isnan(square[edge]):
                found = term_scores(stats, null.with_covariance(MODEL_BASED), term, spread)
                square[edge], degrees[edge] = found
    table = _Table.of(square, degrees)
    others = np.setdiff1d(np.arange(len(first)), lines)
    table.log_pvalue[others], table.method[others] = (each[first[others]] for each in alone)
    rows = fit.rows_for("p-values of terms")
    codes = cells_of(stats, rows)
    weight = np.ones(len(codes)) if rows.weights is None else rows.weights
    features: Any = rows.features
    for line, (term, columns) in zip(lines, stats.term_columns.items(), strict=True):
        values = dense(features[:, columns]) - stats.shift[columns]
        for each in distributions:
            null, edge = each.null.with_covariance(MODEL_BASED), (line, each.null.label)
            if table.suspect[edge]:
                inside, place = _places(null, codes)
                explained = null.fit_to(null.lean(dense(stats.sums[:, columns])))
                rest, cell = values[inside] - explained[place], codes[inside]
                scale = term_scale(stats, null, term, spread)
                table.correct(edge, Block.of(each, rest, scale, weight[inside], cell), each)
    return table.log_pvalue, table.method


@dataclass(frozen=True)
class _Table:
    """p-values of statistics with degrees of freedom, those of chi-square until corrected."""

    square: FloatArray
    df: FloatArray
    log_pvalue: FloatArray
    method: StrArray
    suspect: BoolArray

    @classmethod
    def of(cls, square: FloatArray, df: FloatArray) -> _Table:
        """Start with chi-square p-values."""
        log_pvalue = np.asarray(chi2_log_sf(square, df))
        method = np.full(square.shape, CHI2, dtype=object)
        return cls(square, df, log_pvalue, method, log_pvalue < LOG_SUSPECT)

    def correct(self, at: tuple[int, int], block: Block, distribution: NullDistribution) -> None:
        """Correct a p-value where chi-square does not hold."""
        self.log_pvalue[at], self.method[at] = block.tail(
            self.square[at], self.df[at], self.log_pvalue[at], distribution.inflation
        )


def _model_based(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    distributions: list[NullDistribution],
    statistic: FloatArray,
    df: FloatArray,
    refitted: BoolArray,
    *,
    given: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return statistics with the variances of the label models; those of refits have them."""
    if not fit.is_penalised:
        return deflate(statistic, distributions), df
    spread = feature_variances(stats, fit.settings.intercept)
    nulls = [each.null.with_covariance(MODEL_BASED) for each in distributions]
    if statistic.ndim == 3:
        found = statistics_of_products(given_scores(stats, nulls, spread), statistic.shape)
        rank, refitted = df, refitted[:, :, None]
    else:
        found, rank = joint_statistics(stats, nulls, spread, given=given)
    kept = refitted | np.isnan(found) | np.isnan(statistic)
    return np.where(kept, statistic, found), np.where(kept, df, rank)


def _places(null: NullModel, cells: IntArray) -> tuple[IntArray, IntArray]:
    """Return which of some cells are uncertain, and where these are among the uncertain ones."""
    place = np.full(len(null.counts), -1)
    place[null.rows] = np.arange(len(null.rows))
    found = place[cells]
    inside = np.flatnonzero(found >= 0)
    return inside, found[inside]


def _joint_blocks(
    fit: NetworkFit, stats: LabelsetStatistics, distribution: NullDistribution, suspect: BoolArray
) -> Iterator[tuple[int, Block]]:
    """Yield features, and what the null model of a label leaves of them and their products."""
    points = PointsOfFeatures(fit, stats, exact=True)
    spread = feature_variances(stats, fit.settings.intercept)
    null = distribution.null.with_covariance(MODEL_BASED)
    columns, root = joint_columns(stats, null), null.root()
    explaining = (root / null.weight[null.rows]).T
    for part, block in feature_blocks(stats):
        wanted = np.flatnonzero(suspect[part])
        for cut in chunks(len(wanted), points.size, limit=_ROWS_AT_ONCE):
            inside = wanted[cut]
            whole = part.start + inside
            sums, squares = (dense(of[:, inside])[null.rows] for of in (block.sums, block.squares))
            scale = joint_scale(null, columns, squares, spread[whole])
            for which, found in points.of(block, inside, whole):
                for at, bounds in zip(which.tolist(), pairwise(found.start), strict=True):
                    own = slice(*bounds)
                    listed, place = _places(null, found.cell[own])
                    explained = explaining @ (root @ (sums[:, [at]] * columns))
                    rest = found.value[own][listed, None] * columns[place] - explained[place]
                    weight, cell = found.weight[own][listed], null.rows[place]
                    yield int(whole[at]), Block.of(distribution, rest, scale[at], weight, cell)
