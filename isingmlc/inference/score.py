r"""Score statistics of all feature–label edges from labelset statistics.

For label k, with fitted probabilities p on labelsets, residuals :math:`e = y - p`, weights
:math:`w = p(1-p)` and regressors z (the constant and the other labels), the score statistic of a
column with sums S and squares Q within labelsets is

.. math::

    u = \frac{(s - B'A^{-1}g)^2}{D - B'A^{-1}B}, \quad
    s = \sum_g e_g S_g, \; D = \sum_g w_g Q_g, \; B = \sum_g w_g z_g S_g, \;
    A = \sum_g N_g w_g z_g z_g', \; g = \sum_g N_g e_g z_g .

At a maximum of the likelihood g vanishes; under a penalty it is the penalty's own gradient, and A
carries the penalty. The weights w then overstate how much the residuals vary (where a label is
certain, a penalised model still says it is not), so the variance is taken from the residuals
themselves: :math:`\sum_i \tilde e_i^2 (x_i - c_i)^2` with :math:`c = z'A^{-1}B`, which is
:math:`\sum_g \tilde e_g^2 (Q_g - 2 c_g S_g + N_g c_g^2)` on labelsets. What the penalty adds to the
residuals does not vary, and is left out of them: :math:`\tilde e = e - w z'A^{-1}g`, which are to
first order those after a Newton step towards the maximum without penalty.

The same variance serves where the model of a label may be wrong about how its residuals vary
(HC0 of White [1]_). Residuals of rows with much leverage are too small, since the model was fitted
to them; HC2 divides their squares by :math:`1 - h` with the leverage :math:`h = w z'A^{-1}z` of one
observation, and is right on average where the model is. Both need cells alone. Either is a kind of
*noise* that stands where the weights stand otherwise: `NullModel.with_noise`. With sampling weights
the noise of a row has the weight once more than its count and its sums have it. Where rows depend
on each other within clusters, :math:`\sum_i \tilde e_i (x_i - c_i)` is taken over each of them
first: `NullModel.cluster_scores`, from which whoever needs covariances between labels can make
those too.

A feature x has the S and Q of `LabelsetStatistics`. Its product with a label s has
:math:`y_{gs} S_g` and :math:`y_{gs} Q_g`, so it needs no other data.

References
----------
.. [1] MacKinnon, J. G. and White, H. (1985). Some heteroskedasticity-consistent covariance matrix
   estimators with improved finite sample properties. *Journal of Econometrics* 29, 305–325.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks, chunks_by_size, dense
from isingmlc.fitting.dependence import Clusters
from isingmlc.fitting.information import KEPT_BYTES, Factor, Factors
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks

# A column with less than this share of its variance left given the labels has none.
COLLINEAR = 1e-10
# Nor has one that varies in the rows in play by less than this share of COLLINEAR, measured by how
# it varies in all rows: adding statistics that were summed around different origins leaves more.
OWN_SPREAD = 1e-3
# Of a column that the regressors explain but for less than this share the rest is not what a
# difference of two sums leaves: it is computed by itself.
DOUBTFUL = 1e-4
# What rounding takes from a variance at the most, as a share of its scale, per unit of inflation.
LOST = 1e-13
# Temporaries that grow with the number of features are cut to about this size.
PART_BYTES = 2**26
# An observation with a leverage nearer to one than this was fitted without rest.
LEAST_REST = 1e-8


@dataclass(frozen=True)
class NullModel:
    """What a score test needs of one label's fit."""

    label: int
    counts: FloatArray
    factors: Factors
    rows: IntArray
    probability: FloatArray
    weight: FloatArray
    effective: FloatArray
    penalised: bool
    spans_labels: bool = False
    noise_kind: str = "weights"
    robust: bool = False
    drawn: FloatArray | None = None
    all_clusters: Clusters | None = None

    @property
    def factor(self) -> Factor:
        """F with :math:`FF' = A^{-1}`; then :math:`B'A^{-1}B` is the square of :math:`F'B`."""
        return self.factors[self.label]

    def with_noise(self, kind: str) -> NullModel:
        """Return the same fit with variances that are taken from somewhere else."""
        return self if kind == self.noise_kind else replace(self, noise_kind=kind)

    def trusting(self) -> NullModel:
        """Return the same fit with variances as the model says, which are its information."""
        return replace(self, noise_kind="weights", robust=False, drawn=None, all_clusters=None)

    @property
    def empirical(self) -> bool:
        """Whether variances are taken from residuals."""
        return self.noise_kind != "weights"

    @cached_property
    def leverage(self) -> FloatArray:
        """Leverage :math:`w z'A^{-1}z` of one observation in each cell; zero if it is certain."""
        leverage = np.zeros(len(self.weight))
        root = self.root()
        leverage[self.rows] = np.einsum("ij,ij->j", root, root) / self.weight[self.rows]
        return leverage if self.drawn is None else leverage * self.drawn

    @cached_property
    def noise(self) -> FloatArray:
        """How much the residual of one observation varies in each cell; see `noise_kind`."""
        if not self.empirical:
            return self.weight
        if self.noise_kind == "model":
            return self.weight if self.drawn is None else self.weight * self.drawn
        if self.noise_kind == "effective":
            away = np.minimum(np.abs(self.effective), 1.0)
            return np.where(self.weight > 0, away * (1 - away), 0.0)
        squares = self.effective**2
        if self.noise_kind == "HC2":
            squares /= np.maximum(1.0 - self.leverage, LEAST_REST)
        return squares if self.drawn is None else squares * self.drawn

    @cached_property
    def clusters(self) -> Clusters | None:
        """The clusters that have cells in play, of these cells; None if rows are independent."""
        return None if self.all_clusters is None else self.all_clusters.among(self.rows)

    @cached_property
    def cluster_gradients(self) -> FloatArray:
        """F'z times residuals, added up within clusters: clusters × rank."""
        assert self.clusters is not None
        share = self.effective[self.rows] * self.counts[self.rows] / self.weight[self.rows]
        return self.clusters.add_up(share[:, None] * self.root().T)

    def cluster_scores(self, sums: Any, rows: IntArray | None = None) -> FloatArray:
        """Return the efficient scores of columns within each cluster of dependent rows."""
        assert self.clusters is not None
        inside, given = np.arange(len(self.rows)), self.rows
        if rows is not None:
            _, inside, given = np.intersect1d(
                self.rows, rows, assume_unique=True, return_indices=True
            )
        own = dense(sums[given])
        leaning = self.root()[:, inside] @ own
        own = own * self.effective[self.rows[inside], None]
        return self.clusters.add_up(own, inside) - self.cluster_gradients @ leaning

    def cluster_variance(self, sums: Any, rows: IntArray | None = None) -> FloatArray:
        """Return the variances of scores of columns from those of clusters."""
        assert self.clusters is not None
        variance = np.empty(sums.shape[1])
        size = 8 * max(self.clusters.n_clusters, len(self.rows))
        for part in chunks(sums.shape[1], size, limit=PART_BYTES):
            variance[part] = self.clusters.squares(self.cluster_scores(sums[:, part], rows))
        return variance

    @cached_property
    def scale(self) -> FloatArray:
        """What variances are measured by: the noise, where it is more than rounding."""
        return np.maximum(self.noise, COLLINEAR * self.weight)

    def root(self) -> FloatArray:
        """Return F'z w at the labelsets in play."""
        factor = self.factor
        if factor.root is not None:
            return factor.root
        regressors = self.factors.design[self.rows[:, None], factor.basis]
        return np.asarray(factor.matrix.T @ (regressors * self.weight[self.rows, None]).T)

    def noisy_root(self) -> FloatArray:
        """Return F'z times the noise at the labelsets in play."""
        return self.root() * (self.noise[self.rows] / self.weight[self.rows])

    def inner(self) -> FloatArray:
        """Return F'MF, M the information with the noise in place of the weights."""
        root = self.root() / self.weight[self.rows]
        return np.asarray((root * (self.counts * self.noise)[self.rows]) @ root.T)

    def lean(self, sums: Any) -> FloatArray:
        """Return F'B of columns with these sums at all labelsets."""
        return np.asarray(self.root() @ dense(sums[self.rows]))

    def fit_to(self, leaning: FloatArray) -> FloatArray:
        """Return what the regressors explain of columns, at the labelsets in play."""
        return np.asarray(self.root().T @ leaning / self.weight[self.rows, None])


def null_models(
    fit: NetworkFit, labels: Sequence[int], noise_kind: str | None = None
) -> list[NullModel]:
    """Take what score tests need from the fits of some labels."""
    if noise_kind is None:
        noise_kind = "HC0" if fit.is_penalised or fit.is_robust else "weights"
        if fit.settings.cov_type == "HC2":
            noise_kind = "HC2"
    penalised, robust, dependence = fit.is_penalised, fit.is_robust, fit.dependence
    spans_labels = fit.is_nodewise and fit.settings.neighbors == "all"
    counts, factors, residuals, weights = fit.stats.counts, fit.factors, fit.residuals, fit.weights
    return [
        NullModel(
            label=label,
            counts=counts,
            factors=factors,
            rows=weights[label].nonzero()[0],
            probability=fit.nodes[label].probability,
            weight=weights[label],
            effective=residuals[label],
            penalised=penalised,
            spans_labels=spans_labels,
            noise_kind=noise_kind,
            robust=robust,
            drawn=dependence.drawn,
            all_clusters=dependence.clusters,
        )
        for label in labels
    ]


@dataclass(frozen=True)
class Scores:
    """Efficient scores of many columns, for one label or for several."""

    score: FloatArray
    variance: FloatArray
    scale: FloatArray
    information: FloatArray | None = None

    @property
    def collinear(self) -> Any:
        """Columns without variance of their own."""
        return self.variance <= COLLINEAR * self.scale

    def statistic(self) -> FloatArray:
        """Return the score statistics; NaN where nothing is left to test."""
        statistic = self.score * self.score
        statistic /= np.where(self.collinear, np.nan, self.variance)
        return statistic

    def step_error(self) -> FloatArray:
        """Return the standard errors of one-step estimates."""
        deviation = np.sqrt(np.maximum(self.variance, 0.0))
        information = self.variance if self.information is None else self.information
        error = np.full(deviation.shape, np.nan)
        np.divide(deviation, information, out=error, where=information > 0)
        return error


def plain_scores(
    nulls: Sequence[NullModel],
    sums: Any,
    squares: Any,
    spread: FloatArray | float = 0.0,
) -> Scores:
    """Scores of all columns for all labels."""
    effective = np.array([null.effective for null in nulls]).reshape(len(nulls), sums.shape[0])
    total, scale = _totals(nulls, squares, spread)
    score = np.asarray(effective @ sums)
    if any(null.clusters is not None for null in nulls):
        return Scores(score, np.array([null.cluster_variance(sums) for null in nulls]), scale)
    variance = total.copy()
    sizes = np.array([8 * len(null.factors.bases[null.label]) ** 2 for null in nulls])
    for block in chunks_by_size(sizes, KEPT_BYTES):
        _take_explained(nulls[block], sums, variance[block])
    return sharpen(nulls, Scores(score, variance, scale), sums, squares)


def sharpen(
    nulls: Sequence[NullModel],
    scores: Scores,
    sums: Any,
    squares: Any,
    rows: IntArray | None = None,
) -> Scores:
    """Compute scores and variances again, in place, where hardly anything is left of a column."""
    doubtful = np.flatnonzero(scores.variance < DOUBTFUL * scores.scale)
    if not len(doubtful):
        return scores
    # Of columns that have none whatever rounding did there is no more to know.
    lost = LOST * np.array([null.factor.inflation for null in nulls])
    least = np.where(lost < COLLINEAR, COLLINEAR - lost, -np.inf)
    scale = np.maximum(scores.scale.take(doubtful), np.finfo(float).tiny)
    orders = doubtful // scores.variance.shape[1]
    known = scores.variance.take(doubtful) <= least[orders] * scale
    doubtful, orders = doubtful[~known], orders[~known]
    for order in sorted(set(orders.tolist())):
        null, columns = nulls[order], doubtful[orders == order] % scores.variance.shape[1]
        if null.empirical:
            continue
        for part in chunks(len(columns), 32 * len(null.rows), limit=PART_BYTES):
            at = columns[part]
            left = _what_is_left(null, sums[:, at], squares[:, at], rows)
            scores.score[order, at], scores.variance[order, at] = left
    return scores


def _what_is_left(
    null: NullModel, sums: Any, squares: Any, rows: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return scores and variances of columns from what regressors leave of them in labelsets."""
    inside, given = np.arange(len(null.rows)), null.rows
    if rows is not None:
        _, inside, given = np.intersect1d(null.rows, rows, assume_unique=True, return_indices=True)
    own, second = dense(sums[given]), dense(squares[given])
    counts, weight = null.counts[null.rows], null.weight[null.rows]
    mean = own / counts[inside, None]
    within = weight[inside] @ np.maximum(second - own * mean, 0.0)
    rest = np.zeros((len(null.rows), own.shape[1]))
    rest[inside] = mean
    root = null.root()
    # What rounding leaves of a projection is taken out by another.
    for _ in range(3):
        rest -= root.T @ (root @ (counts[:, None] * rest)) / weight[:, None]
    score = (null.effective[null.rows] * counts) @ rest
    return score, within + (weight * counts) @ rest**2


def _take_explained(nulls: Sequence[NullModel], sums: Any, variance: FloatArray) -> None:
    """Take what the regressors of some labels explain of columns from their variances."""
    regular = []
    factors = [null.factor for null in nulls]
    for order, null in enumerate(nulls):
        if factors[order].root is None:
            regular.append(order)
        else:
            for part in chunks(sums.shape[1], 8 * len(null.rows), limit=PART_BYTES):
                variance[order, part] -= explained(null, sums[:, part])
    if not regular:
        return
    empirical = any(null.empirical for null in nulls)
    weights = np.array([nulls[order].weight for order in regular])
    noise = np.array([nulls[order].noise for order in regular]) if empirical else weights
    design = nulls[0].factors.design
    used = np.zeros((len(regular), design.shape[1]), dtype=np.bool_)
    for line, order in zip(used, regular, strict=True):
        line[factors[order].basis] = True
    users = Crossed(design, used)
    if empirical:
        labels = [nulls[order].label for order in regular]
        inner = nulls[0].factors.cross_products(labels, noise * nulls[0].counts)
    n_arrays = 2 if empirical else 1
    for part in chunks(sums.shape[1], 8 * n_arrays * len(users), limit=PART_BYTES):
        some = sums if part == slice(0, sums.shape[1]) else sums[:, part]
        crossed = users.sums(weights, some)
        noisy = users.sums(noise, some) if empirical else crossed
        for at, order in enumerate(regular):
            factor, slots = factors[order].matrix, users.slots[at, factors[order].basis]
            leaning = factor.T @ crossed[slots]
            if empirical:
                slope = factor @ leaning
                own = inner[at] @ slope - 2 * noisy[slots]
                variance[order, part] += np.einsum("ij,ij->j", slope, own)
            else:
                variance[order, part] -= np.einsum("ij,ij->j", leaning, leaning)


def explained(null: NullModel, sums: Any, rows: IntArray | None = None) -> FloatArray:
    """Return what the regressors of one label explain of the variances of columns."""
    inside: Any = slice(None)
    given = null.rows
    if rows is not None:
        _, inside, given = np.intersect1d(null.rows, rows, assume_unique=True, return_indices=True)
    own = dense(sums[given])
    leaning = null.root()[:, inside] @ own
    if not null.empirical:
        return np.asarray(np.einsum("ij,ij->j", leaning, leaning))
    noisy = null.noisy_root()[:, inside] @ own
    return np.asarray(np.einsum("ij,ij->j", leaning, 2 * noisy - null.inner() @ leaning))


class Crossed:
    """Where labels find the sums of the regressors that they have; each is summed once for all."""

    def __init__(self, regressors: FloatArray, used: BoolArray) -> None:
        self._columns = regressors.T
        self._binary = ((regressors == 0) | (regressors == 1)).all(axis=0).tolist()
        # Cells that do not carry a column add nothing to it.
        self._carriers = [column.nonzero()[0] for column in self._columns]
        self._users = [column.nonzero()[0] for column in used.T]
        # Where each label has the sums of each regressor, if it has it.
        self.slots = (np.cumsum(used.T) - 1).reshape(used.T.shape).T

    def __len__(self) -> int:
        return sum(map(len, self._users))

    def sums(self, weights: FloatArray, sums: Any) -> FloatArray:
        """Sum columns times regressors times weights (labels × L): a line per label using one."""
        crossed = np.empty((len(self), sums.shape[1]))
        by_row = np.ascontiguousarray(weights.T)
        start = 0
        kinds = zip(self._carriers, self._users, self._columns, self._binary, strict=True)
        for at, users, column, is_binary in kinds:
            stop = start + len(users)
            if stop > start:
                picked = by_row[at][:, users]
                if not is_binary:
                    picked *= column[at, None]
                crossed[start:stop] = picked.T @ (sums if len(at) == sums.shape[0] else sums[at])
            start = stop
        return crossed


def own_spread(stats: LabelsetStatistics, intercept: bool) -> FloatArray:
    """Return how much each feature varies in all rows."""
    squares = stats.column_squares / stats.nobs
    return squares - (stats.column_sums / stats.nobs) ** 2 if intercept else squares


def feature_scores(
    stats: LabelsetStatistics, nulls: Sequence[NullModel], spread: FloatArray
) -> Scores:
    """Scores of all features for all labels, a block of features at a time."""
    blocks = [
        plain_scores(nulls, block.sums, block.squares, spread[part])
        for part, block in feature_blocks(stats)
    ]
    if len(blocks) == 1:
        return blocks[0]
    return Scores(
        np.concatenate([block.score for block in blocks], axis=1),
        np.concatenate([block.variance for block in blocks], axis=1),
        np.concatenate([block.scale for block in blocks], axis=1),
    )


def _totals(
    nulls: Sequence[NullModel], squares: Any, spread: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Variances of scores that are not efficient, and what variances are measured by."""
    shape = len(nulls), squares.shape[0]
    total = np.asarray(np.array([null.noise for null in nulls]).reshape(shape) @ squares)
    scale = total
    if any(null.empirical for null in nulls):
        scale = np.array([null.scale for null in nulls]) @ squares
    weight = np.array([null.weight @ null.counts for null in nulls])
    return total, np.maximum(scale, OWN_SPREAD * weight[:, None] * spread)


def joint_columns(stats: LabelsetStatistics, null: NullModel) -> FloatArray:
    """Return what a feature is multiplied by in joint tests: one, and the labels that occur."""
    patterns = stats.patterns[null.rows]
    columns = np.column_stack([np.ones(len(patterns)), np.delete(patterns, null.label, axis=1)])
    return columns[:, columns.any(axis=0)]


def joint_scores(
    stats: LabelsetStatistics,
    null: NullModel,
    spread: FloatArray,
    *,
    given: bool = False,
    added: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Multivariate score statistics of a feature and all its products with other labels."""
    blocks = joint_columns(stats, null)
    size = blocks.shape[1]
    n_features = len(stats.feature_names)
    statistic, rank = np.empty(n_features), np.empty(n_features)
    crossed = (blocks[:, :, None] * blocks[:, None, :]).reshape(len(blocks), -1)
    noisy = (crossed * null.noise[null.rows, None]).T
    # F'z_g w_g times each block column: what the null model takes from it.
    roots = [null.root(), null.noisy_root()] if null.empirical else [null.root()]
    rooted = [(root[:, None, :] * blocks.T[None]).reshape(-1, len(blocks)) for root in roots]
    inner = null.inner() if null.empirical else None
    effective = (blocks * null.effective[null.rows, None]).T
    columns_at_once = size * max(size, len(roots) * len(roots[0]))
    if null.clusters is not None:
        columns_at_once = max(size * null.clusters.n_clusters, len(blocks))
    for part in chunks(n_features, 8 * columns_at_once, limit=PART_BYTES):
        sums, squares = dense(stats.sums[null.rows][:, part]), stats.squares[null.rows][:, part]
        n_part = sums.shape[1]
        total = (noisy @ squares).T.reshape(n_part, size, size)
        if null.clusters is None:
            leanings = [(each @ sums).T.reshape(n_part, -1, size) for each in rooted]
            variance = total - _explained_together(*leanings, inner=inner)
        else:
            by_block = [null.cluster_scores(block[:, None] * sums, null.rows) for block in blocks.T]
            variance = null.clusters.crossed(np.array(by_block).transpose(2, 1, 0))
        score = (effective @ sums).T
        scale = joint_scale(null, blocks, squares, spread[part])
        if given:
            information = variance
            if null.empirical:
                leaning = (rooted[0] @ sums).T.reshape(n_part, -1, size)
                weighted = (crossed * null.weight[null.rows, None]).T
                total = (weighted @ squares).T.reshape(n_part, size, size)
                information = total - _explained_together(leaning)
            score, variance = _take_first(score, variance, information, scale)
            scale = scale[:, 1:]
        if added is not None:
            variance = variance + added[part, None, None] * np.eye(size)
        statistic[part], rank[part] = scaled_forms(score, scale, variance)
    return statistic, rank


def joint_scale(
    null: NullModel, columns: FloatArray, squares: Any, spread: FloatArray
) -> FloatArray:
    """Return what variances of features times columns are measured by."""
    weight = (null.weight * null.counts)[null.rows]
    least = OWN_SPREAD * (weight @ columns)[:, None] * spread
    return np.asarray(np.maximum((columns.T * null.scale[null.rows]) @ squares, least).T)


def _take_first(
    score: FloatArray, variance: FloatArray, information: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Take the first of several columns out of the scores and variances of the others."""
    own, crossed = information[:, 0, 0], information[:, 1:, 0]
    slope = np.zeros_like(crossed)
    np.divide(crossed, own[:, None], out=slope, where=(own > COLLINEAR * scale[:, 0])[:, None])
    score = score[:, 1:] - slope * score[:, :1]
    taken = slope[:, :, None] * variance[:, None, 1:, 0]
    rest = variance[:, 1:, 1:] - taken - taken.transpose(0, 2, 1)
    return score, rest + slope[:, :, None] * slope[:, None, :] * variance[:, :1, :1]


def _explained_together(
    leaning: FloatArray, noisy: FloatArray | None = None, *, inner: FloatArray | None = None
) -> FloatArray:
    """Return what regressors explain of the variances of many blocks: blocks × d × d."""
    if noisy is None or inner is None:
        return np.asarray(leaning.transpose(0, 2, 1) @ leaning)
    half = leaning.transpose(0, 2, 1) @ (noisy - 0.5 * inner @ leaning)
    return np.asarray(half + half.transpose(0, 2, 1))


def term_scores(
    stats: LabelsetStatistics, null: NullModel, term: str, spread: FloatArray
) -> tuple[float, float]:
    """Multivariate score statistic of the columns of one term."""
    sums = dense(stats.sums[null.rows][:, stats.term_columns[term]])
    products = stats.term_products[term][null.rows]
    total = np.einsum("g,gij->ij", null.noise[null.rows], products)
    score = null.effective[null.rows] @ sums
    roots = [null.root(), null.noisy_root()] if null.empirical else [null.root()]
    inner = null.inner() if null.empirical else None
    if null.clusters is None:
        parts = [(root @ sums)[None] for root in roots]
        variance = total - _explained_together(*parts, inner=inner)[0]
    else:
        variance = null.clusters.crossed(null.cluster_scores(sums, null.rows))
    scale = term_scale(stats, null, term, spread)
    statistic, rank = scaled_forms(score[None], scale[None], variance[None])
    return float(statistic[0]), float(rank[0])


def term_scale(
    stats: LabelsetStatistics, null: NullModel, term: str, spread: FloatArray
) -> FloatArray:
    """Return what variances of the columns of a term are measured by; see `term_scores`."""
    products = stats.term_products[term][null.rows]
    weight = null.weight[null.rows] @ null.counts[null.rows]
    least = OWN_SPREAD * weight * spread[stats.term_columns[term]]
    return np.asarray(np.maximum(np.einsum("g,gii->i", null.scale[null.rows], products), least))


def scaled_forms(
    score: FloatArray, scale: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Evaluate quadratic forms after bringing columns to a scale."""
    size = np.sqrt(np.where(scale > 0, scale, np.inf))
    return quadratic_forms(score / size, variance / (size[:, :, None] * size[:, None, :]))


def quadratic_forms(score: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Evaluate many quadratic forms ``s'V⁺s`` and the ranks of V."""
    values, vectors = np.linalg.eigh(variance)
    along = np.einsum("jk,jki->ji", score, vectors)
    real = values > COLLINEAR
    parts = np.divide(along**2, values, out=np.zeros_like(along), where=real)
    rank = real.sum(axis=1).astype(np.float64)
    return np.where(rank > 0, parts.sum(axis=1), np.nan), rank
