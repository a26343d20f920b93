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
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks, take_features

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
# Scores of unit variance that differ by less than this differ by rounding.
ROUNDING = 1e-9
# Temporaries that grow with the number of features are cut to about this size.
PART_BYTES = 2**26
# An observation with a leverage nearer to one than this was fitted without rest.
LEAST_REST = 1e-8


@dataclass(frozen=True)
class NullModel:
    """What a score test needs of one label's fit.

    Attributes
    ----------
    label : int
        The label.
    counts : ndarray, shape (L,)
        Counts of the labelsets.
    factors : Factors
        Factors of the inverse information of all labels.
    rows : ndarray of int
        Labelsets with a weight: those at which the label is not certain.
    probability, weight : ndarray, shape (L,)
        p and w at all labelsets; weights are zero where the label is certain.
    effective : ndarray, shape (L,)
        :math:`e - w z'A^{-1}g`, of which scores are the products with sums; e itself at a maximum
        of the likelihood, zero where the label is certain.
    penalised : bool
        Whether the fit is penalised.
    spans_labels : bool
        Whether every other label is a combination of the regressors, free of any penalty.
    noise_kind : {"weights", "model", "HC0", "HC2", "effective"}
        What variances are taken from: the weights of the model; these with sampling weights;
        squares of effective residuals; these divided by one minus the leverage; or the weights of
        the probabilities that belong to the effective residuals.
    robust : bool
        Whether the model is not trusted for how residuals vary, or rows for being independent.
    drawn : ndarray, shape (L,), or None
        Sampling weights of the rows of each cell. Counts and sums have them once, variances twice.
    all_clusters : Clusters or None
        Clusters of all cells, if rows are not independent; then variances come from the scores of
        clusters, and the noise says only what they are measured by.
    """

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
        """Give the same fit with variances that are taken from somewhere else.

        Parameters
        ----------
        kind : {"weights", "HC0", "HC2", "effective"}
            See `noise_kind`.

        Returns
        -------
        NullModel
            The fit; the scores of columns do not change, their variances do.
        """
        return self if kind == self.noise_kind else replace(self, noise_kind=kind)

    def trusting(self) -> NullModel:
        """Give the same fit with variances as the model says, which are its information."""
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
        r"""Give the efficient scores of columns within each cluster of dependent rows.

        With c what the null model explains of a column these are :math:`\sum_i e_i (x_i - c_i)`
        over the rows of a cluster; over all clusters they add up to the score. Products of those
        of two labels, added up over clusters, are the covariance of their scores.

        Parameters
        ----------
        sums : ndarray or csr_array
            Sums of the columns within all cells, or within `rows`.
        rows : ndarray of int, optional
            Cells outside which the sums are zero; none if omitted.

        Returns
        -------
        ndarray, shape (clusters, columns)
            The scores, in the order of `clusters`: those with cells in play.
        """
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
        """Give the variances of scores of columns from those of clusters; see `cluster_scores`."""
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
        """Give F'z w at the labelsets in play."""
        factor = self.factor
        if factor.root is not None:
            return factor.root
        regressors = self.factors.design[self.rows[:, None], factor.basis]
        return np.asarray(factor.matrix.T @ (regressors * self.weight[self.rows, None]).T)

    def noisy_root(self) -> FloatArray:
        """Give F'z times the noise at the labelsets in play."""
        return self.root() * (self.noise[self.rows] / self.weight[self.rows])

    def inner(self) -> FloatArray:
        """Give F'MF, M the information with the noise in place of the weights."""
        root = self.root() / self.weight[self.rows]
        return np.asarray((root * (self.counts * self.noise)[self.rows]) @ root.T)

    def lean(self, sums: Any) -> FloatArray:
        """Give F'B of columns with these sums at all labelsets."""
        return np.asarray(self.root() @ dense(sums[self.rows]))

    def fit_to(self, leaning: FloatArray) -> FloatArray:
        """Give what the regressors explain of columns, at the labelsets in play."""
        return np.asarray(self.root().T @ leaning / self.weight[self.rows, None])


def null_models(
    fit: NetworkFit, labels: Sequence[int], noise_kind: str | None = None
) -> list[NullModel]:
    """Take what score tests need from the fits of some labels.

    Parameters
    ----------
    fit : NetworkFit
        The fits.
    labels : sequence of int
        The labels.
    noise_kind : {"weights", "HC0", "HC2", "effective"}, optional
        What variances are taken from. If omitted, what the type of covariance of the fit says,
        and without one squares of residuals for penalised fits and the weights otherwise.

    Returns
    -------
    list of NullModel
        One per label.
    """
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
    """Efficient scores of many columns, for one label or for several.

    Attributes
    ----------
    score : ndarray, shape (columns,) or (labels, columns)
        :math:`s - B'A^{-1}g`.
    variance : ndarray
        :math:`D - B'A^{-1}B`.
    scale : ndarray
        What the variance is measured by: D, or the like of it with squared residuals.
    information : ndarray or None
        What a Newton step divides the score by, where it is known and is not the variance.
    """

    score: FloatArray
    variance: FloatArray
    scale: FloatArray
    information: FloatArray | None = None

    @property
    def collinear(self) -> Any:
        """Columns without variance of their own."""
        return self.variance <= COLLINEAR * self.scale

    def statistic(self) -> FloatArray:
        """Give the score statistics; NaN where nothing is left to test."""
        statistic = self.score * self.score
        statistic /= np.where(self.collinear, np.nan, self.variance)
        return statistic

    def step_error(self) -> FloatArray:
        """Give the standard errors of coefficients that are one Newton step from the null model."""
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
    """Scores of all columns for all labels.

    Parameters
    ----------
    nulls : sequence of NullModel
        The fits of the labels.
    sums, squares : ndarray or csr_array, shape (L, columns)
        Sums and squares within labelsets.
    spread : ndarray, shape (columns,)
        How much the columns vary in all rows; see `own_spread`.

    Returns
    -------
    Scores
        Arrays of labels × columns.
    """
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
    r"""Compute scores and variances again, in place, where hardly anything is left of a column.

    Parameters
    ----------
    nulls : sequence of NullModel
        The fits of the labels.
    scores : Scores
        Arrays of labels × columns.
    sums, squares : ndarray or csr_array
        Sums and squares of the columns within all labelsets, or within `rows`.
    rows : ndarray of int, optional
        Labelsets outside which the columns are zero; none if omitted.

    Returns
    -------
    Scores
        The same arrays.

    Notes
    -----
    With m the mean of a column in a labelset and c what the regressors explain of it the variance
    is :math:`\sum_g w_g (Q_g - S_g m_g) + \sum_g w_g N_g (m_g - c_g)^2`: what small numbers add
    up to has their digits.
    """
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
    """Give scores and variances of columns from what regressors leave of them in labelsets."""
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
    users = _Users([factors[order].basis for order in regular], nulls[0].factors)
    if empirical:
        labels = [nulls[order].label for order in regular]
        inner = nulls[0].factors.cross_products(labels, noise * nulls[0].counts)
    n_arrays = 2 if empirical else 1
    for part in chunks(sums.shape[1], 8 * n_arrays * len(users), limit=PART_BYTES):
        some = sums if part == slice(0, sums.shape[1]) else sums[:, part]
        crossed = users.cross(weights, some)
        noisy = users.cross(noise, some) if empirical else crossed
        for at, order in enumerate(regular):
            factor = factors[order].matrix
            leaning = factor.T @ crossed[users.slots[at]]
            if empirical:
                slope = factor @ leaning
                own = inner[at] @ slope - 2 * noisy[users.slots[at]]
                variance[order, part] += np.einsum("ij,ij->j", slope, own)
            else:
                variance[order, part] -= np.einsum("ij,ij->j", leaning, leaning)


def explained(null: NullModel, sums: Any, rows: IntArray | None = None) -> FloatArray:
    """Give what the regressors of one label explain of the variances of columns.

    Parameters
    ----------
    null : NullModel
        The label's fit.
    sums : ndarray or csr_array
        Sums of the columns within all labelsets, or within `rows`.
    rows : ndarray of int, optional
        Labelsets outside which the sums are zero; none if omitted.

    Returns
    -------
    ndarray, shape (columns,)
        What is explained.
    """
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


class _Users:
    """Which labels have which regressors, for summing each regressor once for all of them.

    Parameters
    ----------
    bases : list of ndarray of int
        The regressors of each label.
    factors : Factors
        Where the regressors are.

    Attributes
    ----------
    slots : list of slice
        Where each label finds the sums of its regressors.
    """

    def __init__(self, bases: list[IntArray], factors: Factors) -> None:
        sizes = np.array([len(basis) for basis in bases])
        starts = np.cumsum(sizes) - sizes
        self.slots = [slice(at, at + size) for at, size in zip(starts, sizes, strict=True)]
        # Where each label has each regressor, if it has it.
        place = np.full((factors.design.shape[1], len(bases)), -1)
        for label, basis in enumerate(bases):
            place[basis, label] = starts[label] + np.arange(len(basis))
        self._labels = [line.nonzero()[0] for line in place >= 0]
        self._places = [line[labels] for line, labels in zip(place, self._labels, strict=True)]
        self._columns = factors.design.T
        self._binary = factors.binary
        # Cells that do not carry a column add nothing to it.
        self._carriers = [column.nonzero()[0] for column in self._columns]

    def __len__(self) -> int:
        return int(self.slots[-1].stop)

    def cross(self, weights: FloatArray, sums: Any) -> FloatArray:
        """Sum columns times regressors times weights (labels × L): one line per slot."""
        crossed = np.zeros((len(self), sums.shape[1]))
        lines = zip(
            self._labels, self._places, self._columns, self._binary, self._carriers, strict=True
        )
        for labels, places, column, is_binary, at in lines:
            if len(labels) and len(at):
                everywhere = len(at) == len(column)
                picked = weights if everywhere else weights.take(at, axis=1)
                if len(labels) < len(weights):
                    picked = picked[labels]
                if not is_binary:
                    picked = picked * column[at]
                crossed[places] = picked @ (sums if everywhere else sums[at])
        return crossed


def own_spread(stats: LabelsetStatistics, intercept: bool) -> FloatArray:
    """Give how much each feature varies in all rows.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    intercept : bool
        Whether the label models have a constant; without one features are measured from zero.

    Returns
    -------
    ndarray, shape (p,)
        Variances, or mean squares.
    """
    squares = stats.column_squares / stats.nobs
    return squares - (stats.column_sums / stats.nobs) ** 2 if intercept else squares


def feature_scores(
    stats: LabelsetStatistics, nulls: Sequence[NullModel], spread: FloatArray
) -> Scores:
    """Scores of all features for all labels, a block of features at a time.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    nulls : sequence of NullModel
        The fits of the labels.
    spread : ndarray, shape (p,)
        How much the features vary in all rows.

    Returns
    -------
    Scores
        Arrays of labels × features.
    """
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


def first_equals(stats: LabelsetStatistics, scores: Scores) -> IntArray:
    """Find for each feature the first one that is equal to it, itself if there is none.

    Matrix products round equal columns differently, by where they stand and which processor
    multiplies. What is said of a feature is therefore said of the first that is equal to it.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    scores : Scores
        Scores of all features, labels × features.

    Returns
    -------
    ndarray of int, shape (p,)
        Positions of features.
    """
    ordered = np.sort(stats.column_sums)
    if (ordered[1:] > ordered[:-1]).all():
        return np.arange(len(ordered))
    size = np.sqrt(np.where(scores.scale > 0, scores.scale, 1.0))
    shares = np.concatenate([scores.score / size, scores.variance / size**2])
    # Sums over rows are taken alike for all columns, so those of equal ones are equal. Mixed in
    # proportions that no data have, scores bring what is equal side by side.
    proportions = np.sqrt(np.arange(2.0, 2.0 + len(shares)))
    mixed = proportions @ shares
    order = np.lexsort((mixed, stats.column_squares, stats.column_sums))
    alike = np.abs(np.diff(mixed[order])) <= 2 * ROUNDING * proportions.sum()
    for totals in (stats.column_sums, stats.column_squares):
        alike &= np.diff(totals[order]) == 0
    candidates = np.flatnonzero(alike)
    differ = shares[:, order[candidates + 1]] - shares[:, order[candidates]]
    alike[candidates] = (np.abs(differ) <= ROUNDING).all(axis=0)
    # Scores of different columns may be alike, as in a balanced design, while those of their
    # products are not. Sums tell; among columns with such scores, equal ones come side by side.
    pairs = np.flatnonzero(alike)
    if len(pairs):
        members = np.union1d(pairs, pairs + 1)
        runs = np.concatenate([[0], np.cumsum(~alike)])[members]
        order[members] = order[members][np.lexsort((_mix_sums(stats, order[members]), runs))]
        alike[pairs] = _have_equal_sums(stats, order[pairs], order[pairs + 1])
    run = np.concatenate([[0], np.cumsum(~alike)])[: len(order)]
    first = np.full(len(order), len(order))
    np.minimum.at(first, run, order)
    equals = np.empty_like(order)
    equals[order] = first[run]
    return equals


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


def _mix_sums(stats: LabelsetStatistics, features: IntArray) -> FloatArray:
    """Give numbers that are the same for features with the same sums, and hardly for others."""
    shares = np.sqrt(np.arange(2.0, 2.0 + len(stats.counts)))[:, None]
    mixed = np.empty(len(features))
    for part in chunks(len(features), 16 * len(stats.counts), limit=PART_BYTES):
        # Not a product of matrices, which may round equal columns differently.
        mixed[part] = (shares * dense(take_features(stats, features[part]).sums)).sum(axis=0)
    return mixed


def _have_equal_sums(stats: LabelsetStatistics, first: IntArray, second: IntArray) -> BoolArray:
    """Tell which pairs of features have the same sums and squares within all labelsets."""
    equal = np.ones(len(first), dtype=np.bool_)
    for part in chunks(len(first), 32 * len(stats.counts), limit=PART_BYTES):
        one, other = take_features(stats, first[part]), take_features(stats, second[part])
        for name in ("sums", "squares"):
            same = dense(getattr(one, name)) == dense(getattr(other, name))
            equal[part] &= same.all(axis=0)
    return equal


def joint_columns(stats: LabelsetStatistics, null: NullModel) -> FloatArray:
    """Give what a feature is multiplied by in joint tests: one, and the labels that occur.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    null : NullModel
        The label's fit.

    Returns
    -------
    ndarray, shape (cells in play, d)
        The constant first.
    """
    patterns = stats.patterns[null.rows]
    columns = np.column_stack([np.ones(len(patterns)), np.delete(patterns, null.label, axis=1)])
    return columns[:, columns.any(axis=0)]


def joint_scores(
    stats: LabelsetStatistics, null: NullModel, spread: FloatArray, *, given: bool = False
) -> tuple[FloatArray, FloatArray]:
    r"""Multivariate score statistics of a feature and all its products with other labels.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    null : NullModel
        The label's fit.
    spread : ndarray, shape (p,)
        How much the features vary in all rows.
    given : bool
        Whether only the products are tested, given the feature: its part of their scores and
        variances is taken out, which is one Newton step towards the model that has it.

    Returns
    -------
    statistic : ndarray, shape (p,)
        :math:`U = S'V^+S`; NaN where the rank is zero.
    df : ndarray, shape (p,)
        The rank of V: eigenvalues of V, scaled by the diagonal of D (or of the like of it with
        squared residuals), above 1e-10.
    """
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
        statistic[part], rank[part] = scaled_forms(score, scale, variance)
    return statistic, rank


def joint_scale(
    null: NullModel, columns: FloatArray, squares: Any, spread: FloatArray
) -> FloatArray:
    """Give what variances of features times columns are measured by.

    Parameters
    ----------
    null : NullModel
        The label's fit.
    columns : ndarray, shape (cells in play, d)
        What features are multiplied by; see `joint_columns`.
    squares : ndarray or csr_array, shape (cells in play, features)
        Squares of the features.
    spread : ndarray, shape (features,)
        How much the features vary in all rows.

    Returns
    -------
    ndarray, shape (features, d)
        The scales.
    """
    weight = (null.weight * null.counts)[null.rows]
    least = OWN_SPREAD * (weight @ columns)[:, None] * spread
    return np.asarray(np.maximum((columns.T * null.scale[null.rows]) @ squares, least).T)


def _take_first(
    score: FloatArray, variance: FloatArray, information: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Take the first of several columns out of the scores and variances of the others.

    The step towards a model that has it is one by the information, which variances from residuals
    are not.
    """
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
    """Give what regressors explain of the variances of many blocks: blocks × d × d."""
    if noisy is None or inner is None:
        return np.asarray(leaning.transpose(0, 2, 1) @ leaning)
    half = leaning.transpose(0, 2, 1) @ (noisy - 0.5 * inner @ leaning)
    return np.asarray(half + half.transpose(0, 2, 1))


def term_scores(
    stats: LabelsetStatistics, null: NullModel, term: str, spread: FloatArray
) -> tuple[float, float]:
    """Multivariate score statistic of the columns of one term.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics, with cross-products of the term's columns.
    null : NullModel
        The label's fit.
    term : str
        The term.
    spread : ndarray, shape (p,)
        How much the features vary in all rows.

    Returns
    -------
    statistic, df : float
        The statistic and its degrees of freedom, the rank of the columns given the labels.
    """
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
    """Give what variances of the columns of a term are measured by; see `term_scores`."""
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
    """Evaluate many quadratic forms ``s'V⁺s`` and the ranks of V.

    Parameters
    ----------
    score : ndarray, shape (p, d)
        Scores, scaled so that the variances are of order one.
    variance : ndarray, shape (p, d, d)
        Their variances, scaled likewise.

    Returns
    -------
    statistic : ndarray, shape (p,)
        The forms; NaN where the rank is zero.
    rank : ndarray, shape (p,)
        Eigenvalues above 1e-10.
    """
    values, vectors = np.linalg.eigh(variance)
    along = np.einsum("jk,jki->ji", score, vectors)
    real = values > COLLINEAR
    parts = np.divide(along**2, values, out=np.zeros_like(along), where=real)
    rank = real.sum(axis=1).astype(np.float64)
    return np.where(rank > 0, parts.sum(axis=1), np.nan), rank
