r"""p-values of products, terms and joint score tests, where few rows decide them.

A product of a feature and a label is one column, to which applies what does to a feature; only that
the number of ones that the fit holds fixed is that among the carriers of the label.

The statistic of a feature with all its products is :math:`|\sum_i (y_i - p_i) t_i|^2`, with t what
the null model leaves of their columns, scaled so that the variance is the unit matrix. Each outcome
moves the sum by the length of its t. Where outcomes are rare or a feature is skewed, a single one
can move it by several standard deviations, and the square is nowhere near chi-square.

So the few observations that move it most are taken one by one: given their outcomes, all of which
are enumerated with their probabilities, the sum of the others is taken to be normal, and the
statistic to be noncentral chi-square, scaled by the variance that is left. The p-value is the mean
of its tails. So it is for the columns of a term.

For strong edges (below 1e-6) many observations decide, not a few. Their p-value comes from the
directions in which the scores have locally the heaviest tails: the saddlepoint tail of such a
direction as a normal deviate, referred to a weighted sum of chi-squares whose other weights say how
fast tails get lighter away from the direction. That is exact for normal scores, and within 5% of
log p of enumerated categories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from scipy.special import expit, log_ndtr, ndtri_exp
from scipy.stats import ncx2

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, dense
from isingmlc.base.tolerances import COLLINEAR
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.blocks import (
    joint_columns,
    joint_scale,
    joint_scores,
    product_scores,
    statistics_of_products,
    term_scale,
    term_scores,
)
from isingmlc.inference.covariance import MODEL_BASED, Bernoulli
from isingmlc.inference.pvalues import LOG_10, bernoulli_saddlepoint
from isingmlc.inference.score import NullModel, feature_variances
from isingmlc.inference.score_law import (
    CHI2,
    DIFFERENCE,
    SADDLEPOINT,
    SADDLEPOINT_CUTOFF,
    SHARE,
    Columns,
    FoundPvalues,
    LawPvalues,
    Rest,
    RowValues,
    ScoreLaw,
    column_tails,
    find_pvalues,
    first_alike,
    name_methods,
    score_laws,
)
from isingmlc.inference.tails import chi2_log_sf
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks

# The p-values of statistics that chi-square finds less likely than this are looked at: that of
# two standard deviations.
LOG_SUSPECT = float(np.log(0.0455))
# How many observations are taken one by one; all 2^8 outcomes are enumerated.
_HEAVY = 8
# At least this share of the variance is taken to be left by them.
_LEAST_REMAINS = 0.05
# Beyond these, tails of noncentral distributions are replaced by a bound that has a logarithm.
_LOG_SMALLEST_TAIL = -570.0
_LARGEST_LIMIT = 1e4
# A mean by so many standard deviations beyond the limit leaves nothing on this side of it.
_FAR_BEYOND = 40.0
# Below this a few observations no longer decide: the direction with the heaviest tail does.
_LOG_STRONG = float(np.log(1e-6))
_TILT_STEPS = 100
_NO_GRADIENT = 1e-9
# Cosine of directions that are taken to be the same.
_SAME_DIRECTION = 0.99
# What p-values from enumerated outcomes are called.
MIXTURE = "mixture"


def joint_pvalues(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    statistic: FloatArray,
    df: FloatArray,
) -> LawPvalues:
    """Return p-values of joint tests, corrected where chi-square does not hold."""
    find = partial(_find_of_joint, fit, stats, statistic=statistic, df=df)
    return LawPvalues(fit, nulls, statistic, find, together=True)


def product_pvalues(
    fit: NetworkFit, stats: LabelsetStatistics, nulls: list[NullModel], statistic: FloatArray
) -> LawPvalues:
    """Return p-values of single products, corrected where chi-square does not hold."""
    find = partial(_find_of_products, fit, stats, statistic=statistic)
    return LawPvalues(fit, nulls, statistic, find)


def term_pvalues(
    fit: NetworkFit,
    nulls: list[NullModel],
    single: FloatArray,
    first: IntArray,
    statistic: FloatArray,
    df: FloatArray,
) -> LawPvalues:
    """Return p-values of terms, corrected where chi-square does not hold."""
    find = partial(_find_of_terms, fit, single=single, first=first, statistic=statistic, df=df)
    return LawPvalues(fit, nulls, statistic, find, together=True)


def _find_of_terms(
    fit: NetworkFit,
    laws: list[ScoreLaw],
    single: FloatArray,
    first: IntArray,
    statistic: FloatArray,
    df: FloatArray,
) -> FoundPvalues:
    """Compute the p-values of all terms."""
    alone = find_pvalues(fit, score_laws(fit, [law.null for law in laws]), single, False)
    log_pvalue, method = alone.log_pvalue[first], alone.method[first]
    stats, source = fit.stats, RowValues(fit, fit.stats)
    place = {int(column): at for at, column in enumerate(first)}
    spread = feature_variances(stats, fit.settings.intercept)
    for term, columns in stats.term_columns.items():
        at = place[int(columns[0])]
        method[at] = CHI2
        log_pvalue[at] = np.nan
        for law in laws:
            null = law.null.with_covariance(MODEL_BASED)
            here = [at], [null.label]
            square, degrees = statistic[here], df[here]
            if null.penalised and not np.isnan(square):
                square, degrees = np.array(term_scores(stats, null, term, spread))[:, None]
            square = square / law.inflation
            log_pvalue[here] = plain = np.asarray(chi2_log_sf(square, degrees))
            if not plain < LOG_SUSPECT:
                continue
            explained = null.fit_to(null.lean(dense(stats.sums[:, columns])))
            values = source.rows_of(law, columns)
            rest = (values.values - explained[values.at])[None]
            scale = term_scale(stats, null, term, spread)[None]
            block = Block.of(law, np.array([at]), values, rest, scale)
            given, chosen, name = joint_tails(block, square, degrees, plain)
            if chosen:
                log_pvalue[here], method[here] = given, name
    return FoundPvalues(log_pvalue, method)


def _find_of_products(
    fit: NetworkFit, stats: LabelsetStatistics, laws: list[ScoreLaw], statistic: FloatArray
) -> FoundPvalues:
    """Compute the p-values of all products."""
    square = statistic
    if fit.is_penalised:
        nulls = [law.null.with_covariance(Bernoulli()) for law in laws]
        scores = product_scores(stats, nulls, feature_variances(stats, fit.settings.intercept))
        square = known_or(statistics_of_products(scores, statistic.shape), statistic)
    square = deflate(square, laws)
    log_pvalue = np.asarray(chi2_log_sf(square, 1.0))
    replaced = np.zeros(statistic.shape, dtype=np.bool_)
    source = RowValues(fit, stats)
    for part, block in feature_blocks(stats):
        for law, other in product(laws, range(statistic.shape[2])):
            null = law.null
            column = stats.patterns[null.rows, other].astype(np.float64)[:, None]
            large = square[part, null.label, other] > SADDLEPOINT_CUTOFF**2
            suspects = np.flatnonzero(large)
            for cut in source.chunks(law, len(suspects)):
                inside = suspects[cut]
                whole = part.start + inside
                sums = column * dense(block.sums[null.rows][:, inside])
                explained = null.fit_to(null.root() @ sums)
                for values in source.of(law, block, inside, whole):
                    at = whole[values.which], null.label, other
                    rest = values.values * column[values.at]
                    rest -= explained[:, values.which][values.at]
                    carriers = stats.patterns[values.cells, other]
                    piece = Rest.of(law, rest, values, law.fixes(other, carriers))
                    size = np.sqrt(square[at])
                    given, chosen = column_tails(piece, size, log_pvalue[at], False)
                    log_pvalue[at] = np.where(chosen, given, log_pvalue[at])
                    replaced[at] = chosen
    alike = first_alike(statistic.reshape(len(statistic), -1))
    return FoundPvalues(log_pvalue[alike], name_methods(replaced[alike], SADDLEPOINT))


def _find_of_joint(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    laws: list[ScoreLaw],
    statistic: FloatArray,
    df: FloatArray,
) -> FoundPvalues:
    """Compute the p-values of all edges."""
    spread = feature_variances(stats, fit.settings.intercept)
    square = statistic
    if fit.is_penalised:
        square, df = trusted_joint_scores(stats, laws, spread, statistic, df)
    square = deflate(square, laws)
    log_pvalue = np.asarray(chi2_log_sf(square, df))
    method = np.full(statistic.shape, CHI2, dtype=object)
    source = RowValues(fit, stats)
    for law in laws:
        label = law.null.label
        suspects = log_pvalue[:, label] < LOG_SUSPECT
        for block in blocks_of_rows(stats, source, law, suspects, spread):
            at = block.features, label
            given, chosen, name = joint_tails(block, square[at], df[at], log_pvalue[at])
            log_pvalue[at] = np.where(chosen, given, log_pvalue[at])
            method[at] = np.where(chosen, name, CHI2)
    alike = first_alike(statistic)
    return FoundPvalues(log_pvalue[alike], method[alike])


def deflate(statistic: FloatArray, laws: list[ScoreLaw]) -> FloatArray:
    """Divide statistics of features × labels (× labels) by what variances are multiplied with."""
    square = statistic.copy()
    for law in laws:
        square[:, law.null.label] /= law.inflation
    return square


def known_or(values: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Take values where both are known, and the others elsewhere."""
    known = ~np.isnan(values) & ~np.isnan(otherwise)
    return np.where(known, values, otherwise)


def trusted_joint_scores(
    stats: LabelsetStatistics,
    laws: list[ScoreLaw],
    spread: FloatArray,
    statistic: FloatArray,
    df: FloatArray,
    *,
    given: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return joint tests with variances that the label models say, where there are any."""
    found, rank = np.full((2, *statistic.shape), np.nan)
    for (part, block), law in product(feature_blocks(stats), laws):
        null = law.null.with_covariance(MODEL_BASED)
        at = part, null.label
        found[at], rank[at] = joint_scores(block, null, spread[part], given=given)
    rank[np.isnan(found)] = np.nan
    return known_or(found, statistic), known_or(rank, df)


@dataclass(frozen=True)
class Block:
    """What null models leave of columns of each feature, and how outcomes are distributed."""

    features: IntArray
    rest: FloatArray
    scale: FloatArray
    probability: FloatArray
    complement: FloatArray
    counts: FloatArray
    cells: IntArray
    inflation: float

    @classmethod
    def of(
        cls,
        law: ScoreLaw,
        features: IntArray,
        values: Columns,
        rest: FloatArray,
        scale: FloatArray,
    ) -> Block:
        """Take how outcomes are distributed from a law."""
        shape = rest.shape[:2]
        return cls(
            features,
            rest,
            scale,
            np.broadcast_to(law.probability[values.cells], shape),
            np.broadcast_to(law.complement[values.cells], shape),
            np.broadcast_to(values.weights.T, shape),
            values.cells,
            law.inflation,
        )


def blocks_of_rows(
    stats: LabelsetStatistics,
    source: RowValues,
    law: ScoreLaw,
    suspects: BoolArray,
    spread: FloatArray,
) -> Iterator[Block]:
    """Return features and their products as rows, less what one label's model explains of them."""
    # Whatever else variances are taken from, the model says what the rows say of a direction.
    null = law.null.with_covariance(MODEL_BASED)
    columns = joint_columns(stats, null)
    for part, block in feature_blocks(stats):
        wanted = np.flatnonzero(suspects[part])
        for cut in source.chunks(law, len(wanted), columns.shape[1] + 4):
            inside = wanted[cut]
            whole = part.start + inside
            squares = dense(block.squares[null.rows][:, inside])
            scale = joint_scale(null, columns, squares, spread[whole])
            left = _explained(null, columns, dense(block.sums[null.rows][:, inside]))
            for values in source.of(law, block, inside, whole):
                rest = values.values.T[:, :, None] * columns[values.at]
                rest -= left[values.which][:, values.at]
                yield Block.of(law, whole[values.which], values, rest, scale[values.which])


def _explained(null: NullModel, columns: FloatArray, sums: FloatArray) -> FloatArray:
    """Return what regressors explain of features times columns: features × cells × columns."""
    root = null.root()
    leaning = np.einsum("qg,gj,gd->jqd", root, sums, columns, optimize=True)
    return np.asarray((root / null.weight[null.rows]).T @ leaning)


def joint_tails(
    block: Block, square: FloatArray, df: FloatArray, log_pvalue: FloatArray
) -> tuple[FloatArray, BoolArray, StrArray]:
    """Compute log p-values from enumerated outcomes, or by saddlepoint for strong edges."""
    weight = block.probability * block.complement
    counts, n_rows = block.counts, block.rest.shape[1]
    length, scaled = _whiten(block.rest, weight * counts, block.scale)
    # Those whose outcomes keep the sum most from being normal. A row of several observations
    # counts as often.
    distance = weight * length**2
    # Which of several that are equal but for rounding comes first must not depend on it.
    longest = distance.max(axis=1, keepdims=True)
    distance = np.round(distance / np.where(longest > 0, longest, 1.0), 9)
    cells = np.broadcast_to(block.cells, distance.shape)
    order = np.lexsort((cells, -distance), axis=1)
    # Counts of carriers come out of sums, so whole numbers may be off by rounding.
    reached = np.round(np.cumsum(np.take_along_axis(counts, order, axis=1), axis=1), 6)
    places = np.array([(reached <= slot).sum(axis=1) for slot in range(_HEAVY)]).T
    known = places < n_rows
    heavy = np.take_along_axis(order, np.minimum(places, n_rows - 1), axis=1)
    moves = np.take_along_axis(scaled, heavy[:, :, None], axis=1) / np.sqrt(block.inflation)
    moves *= known[:, :, None]
    chance, otherwise, spread = (
        np.take_along_axis(each, heavy, axis=1)
        for each in (block.probability, block.complement, weight)
    )
    taken = spread * np.einsum("jhd,jhd->jh", moves, moves)
    remains = np.maximum(1 - taken.sum(axis=1) / df, _LEAST_REMAINS)
    outcomes = (np.arange(2**_HEAVY)[:, None] >> np.arange(_HEAVY)) & 1
    # What cannot be has the logarithm −∞, which a product with zero would make undefined.
    with np.errstate(divide="ignore"):
        logs = np.log(otherwise)[:, None, :], np.log(chance)[:, None, :]
    log_chance = np.where(outcomes == 1, logs[1], logs[0]).sum(axis=2)
    shift = (outcomes - chance[:, None, :]) @ moves
    off_centre = np.einsum("jod,jod->jo", shift, shift) / remains[:, None]
    limit, degrees = (square / remains)[:, None], df[:, None]
    log_tail = _log_noncentral_tails(limit, degrees, off_centre)
    given = np.minimum(np.logaddexp.reduce(log_chance + log_tail, axis=1), 0.0)
    strong = given < _LOG_STRONG
    for at in np.flatnonzero(strong):
        starts = moves[at][known[at]]
        given[at] = _log_strong_tail(
            scaled[at],
            block.probability[at],
            counts[at] * block.inflation,
            np.sqrt(square[at] * block.inflation),
            float(df[at]),
            np.concatenate([starts, -starts, np.eye(moves.shape[2]), -np.eye(moves.shape[2])]),
        )
    chosen = np.abs(given - log_pvalue) > DIFFERENCE - SHARE * log_pvalue
    name = np.where(strong, SADDLEPOINT, MIXTURE).astype(object)
    return given, chosen & np.isfinite(given), name


def _log_strong_tail(
    scaled: FloatArray,
    probability: FloatArray,
    counts: FloatArray,
    radius: float,
    df: float,
    starts: FloatArray,
) -> float:
    """Compute the log tail of a strong edge from the direction in which tails are heaviest."""
    logit = np.log(probability) - np.log1p(-probability)
    inside = np.isfinite(logit) & (counts > 0)
    scaled, probability, counts = scaled[inside], probability[inside], counts[inside]
    logit = logit[inside]

    direction = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    direction = np.unique(direction.round(9), axis=0)
    size = np.zeros(len(direction))
    for _ in range(_TILT_STEPS):
        along = scaled @ direction.T
        chance = expit(logit[:, None] + size * along)
        gradient = (counts[:, None] * (chance - probability[:, None])).T @ scaled
        curvature = counts @ (chance * (1 - chance) * along**2)
        missing = radius - np.einsum("sd,sd->s", gradient, direction)
        step = missing / np.maximum(curvature, _NO_GRADIENT)
        size += np.clip(step, -size / 2, size + 1.0)
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        # The first gradient, without any tilt, is zero.
        rising = length > _NO_GRADIENT
        direction = np.where(rising, gradient / np.where(rising, length, 1.0), direction)
    # The iterations end in the directions that are locally heaviest; those that coincide are one.
    alike = np.triu(direction @ direction.T > _SAME_DIRECTION, 1).any(axis=0)
    direction, size = direction[~alike], size[~alike]
    along = scaled @ direction.T
    _, log10p = bernoulli_saddlepoint(
        np.full(len(direction), radius), along, probability, counts, cutoff=SADDLEPOINT_CUTOFF
    )
    deviates = ndtri_exp(log10p * LOG_10 - np.log(2))
    tails = np.full(len(direction), -np.inf)
    for at in np.flatnonzero(np.isfinite(deviates)):
        deviate = deviates[at]
        # On the sphere of scores of this length the exponent rises away from the direction by the
        # inverse of the tilted variance, less what the sphere bends back.
        chance = expit(logit + size[at] * along[:, at])
        across = np.linalg.svd(direction[at][None])[2][1:]
        variance = (scaled * (counts * chance * (1 - chance))[:, None]).T @ scaled
        inverse = np.linalg.inv(variance + _NO_GRADIENT * np.eye(len(variance)))
        rise = np.linalg.eigvalsh(across @ inverse @ across.T) - size[at] / radius
        nearness = (deviate / radius) ** 2
        weights = nearness / (nearness + np.maximum(rise, 0.0))
        tails[at] = log_tail_of_squares(deviate**2, np.append(weights, 1.0)) - np.log(2)
    # All directions together are no heavier than if each were like the heaviest.
    most = chi2_log_sf(np.min(np.abs(deviates)) ** 2, df)
    return float(min(most, np.logaddexp.reduce(tails)))


def log_tail_of_squares(limit: float, weights: FloatArray) -> float:
    """Compute the log upper tail of a weighted sum of chi-squares, of which 1 is the largest."""
    lower, upper = 0.0, 0.5
    for _ in range(200):
        tilt = (lower + upper) / 2
        low = np.sum(weights / (1 - 2 * tilt * weights)) < limit
        lower, upper = (tilt, upper) if low else (lower, tilt)
    shrunk = 1 - 2 * tilt * weights
    root = np.sqrt(2 * tilt * limit + np.sum(np.log(shrunk)))
    slope = tilt * np.sqrt(2 * np.sum((weights / shrunk) ** 2))
    return float(log_ndtr(-(root + np.log(slope / root) / root)))


def _whiten(
    rest: FloatArray, weight: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Scale columns so that their scores have unit variances; squared lengths first."""
    variance = rest.transpose(0, 2, 1) @ (rest * weight[:, :, None])
    size = np.sqrt(np.where(scale > 0, scale, np.inf))
    values, vectors = np.linalg.eigh(variance / (size[:, :, None] * size[:, None, :]))
    root = np.sqrt(np.where(values > COLLINEAR, values, np.inf))
    scaled = rest @ (vectors / size[:, :, None] / root[:, None, :])
    return np.einsum("jid,jid->ji", scaled, scaled), scaled


def _log_noncentral_tails(limit: FloatArray, df: FloatArray, off_centre: FloatArray) -> FloatArray:
    """Logarithms of upper tails of noncentral chi-square distributions."""
    limit, df = np.broadcast_to(limit, off_centre.shape), np.broadcast_to(df, off_centre.shape)
    # A normal vector is no farther out than the limit less how far its mean is.
    beyond = np.sqrt(limit) - np.sqrt(off_centre)
    log_tail = np.asarray(chi2_log_sf(np.maximum(beyond, 0.0) ** 2, df))
    # A mean far beyond the limit has the tail 1.
    exact = (log_tail > _LOG_SMALLEST_TAIL) & (limit < _LARGEST_LIMIT) & (beyond > -_FAR_BEYOND)
    tail = np.asarray(ncx2.sf(limit[exact], df[exact], off_centre[exact]))
    with np.errstate(divide="ignore"):
        log_tail[exact] = np.minimum(np.log(tail), log_tail[exact])
    return log_tail
