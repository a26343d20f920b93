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

A feature x has the S and Q of `LabelsetStatistics`. Its product with a label s has
:math:`y_{gs} S_g` and :math:`y_{gs} Q_g`, so it needs no other data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks, dense
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks

# A column with less than this share of its variance left given the labels has none.
COLLINEAR = 1e-10
# Nor has one that varies in the rows in play by less than this share of COLLINEAR, measured by how
# it varies in all rows: adding statistics that were summed around different origins leaves more.
OWN_SPREAD = 1e-3
# Scores of unit variance that differ by less than this differ by rounding.
ROUNDING = 1e-9
# Temporaries that grow with the number of features are cut to about this size.
_PART_BYTES = 2**26


@dataclass(frozen=True)
class NullModel:
    """What a score test needs of one label's fit.

    Attributes
    ----------
    label : int
        The label.
    counts : ndarray, shape (L,)
        Counts of the labelsets.
    regressors : csc_array, shape (1 + K, L)
        The constant and all labels.
    rows : ndarray of int
        Labelsets at which the label is not certain.
    probability, weight : ndarray, shape (L,)
        p and w at all labelsets; weights are zero where the label is certain.
    basis : ndarray of int, shape (m,)
        Which of the constant and all labels are regressors of this label.
    factor : ndarray, shape (m, m)
        F with :math:`FF' = A^{-1}`; then :math:`B'A^{-1}B` is the square of :math:`F'B`.
    effective : ndarray, shape (L,)
        :math:`e - w z'A^{-1}g`, of which scores are the products with sums; e itself at a maximum
        of the likelihood, zero where the label is certain.
    penalised : bool
        Whether variances are taken from the residuals.
    """

    label: int
    counts: FloatArray
    regressors: Any
    rows: IntArray
    probability: FloatArray
    weight: FloatArray
    basis: IntArray
    factor: FloatArray
    effective: FloatArray
    penalised: bool

    @cached_property
    def noise(self) -> FloatArray:
        """How much residuals vary: the weights, or their own squares under a penalty."""
        return self.effective**2 if self.penalised else self.weight

    @cached_property
    def scale(self) -> FloatArray:
        """What variances are measured by: the noise, where it is more than rounding."""
        return np.maximum(self.noise, COLLINEAR * self.weight)

    @cached_property
    def _cross(self) -> Any:
        """The regressors times the weights, for one label: only the numbers change."""
        pattern = self.regressors
        values = np.repeat(self.weight, np.diff(pattern.indptr))
        return sparse.csc_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)

    def lean(self, sums: Any, rows: Any = None) -> FloatArray:
        """Give F'B of columns with these sums, at all labelsets or at some."""
        cross = self._cross if rows is None else self._cross[:, rows]
        return np.asarray(self.factor.T @ dense(cross @ sums)[self.basis])

    def root(self) -> FloatArray:
        """Give F'z w at the labelsets in play."""
        return np.asarray(self.factor.T @ dense(self._cross[:, self.rows])[self.basis])

    def fit_to(self, leaning: FloatArray) -> FloatArray:
        """Give what the regressors explain of columns, at the labelsets in play."""
        return np.asarray(self.root().T @ leaning / self.weight[self.rows, None])


def null_models(fit: NetworkFit, labels: Sequence[int]) -> list[NullModel]:
    """Take what score tests need from the fits of some labels.

    Parameters
    ----------
    fit : NetworkFit
        The fits.
    labels : sequence of int
        The labels.

    Returns
    -------
    list of NullModel
        One per label.
    """
    stats = fit.stats
    regressors = sparse.csc_array(np.vstack([np.ones(len(stats.counts)), stats.patterns.T]))
    return [
        NullModel(
            label=node.label,
            counts=stats.counts,
            regressors=regressors,
            rows=np.flatnonzero(node.in_play),
            probability=node.probability,
            # A certain label has a probability of 0 or 1, so its weight vanishes there.
            weight=node.probability * (1 - node.probability),
            basis=node.basis,
            factor=np.asarray(np.linalg.cholesky(node.covariance)),
            effective=fit.residuals[node.label],
            penalised=fit.is_penalised,
        )
        for node in (fit.nodes[label] for label in labels)
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
        What the variance is measured by: D, or under a penalty the like of it with squared
        residuals.
    """

    score: FloatArray
    variance: FloatArray
    scale: FloatArray

    @property
    def collinear(self) -> Any:
        """Columns without variance of their own."""
        return self.variance <= COLLINEAR * self.scale

    def statistic(self) -> FloatArray:
        """Give the score statistics; NaN where nothing is left to test."""
        statistic = np.full(self.score.shape, np.nan)
        np.divide(self.score**2, self.variance, out=statistic, where=~self.collinear)
        return statistic


def plain_scores(
    nulls: Sequence[NullModel],
    patterns: BoolArray,
    sums: Any,
    squares: Any,
    spread: FloatArray | float = 0.0,
) -> Scores:
    """Scores of all columns for all labels.

    Parameters
    ----------
    nulls : sequence of NullModel
        The fits of the labels.
    patterns : ndarray of bool, shape (L, K)
        The labelsets.
    sums, squares : ndarray or csr_array, shape (L, columns)
        Sums and squares within labelsets.
    spread : ndarray, shape (columns,)
        How much the columns vary in all rows; see `own_spread`.

    Returns
    -------
    Scores
        Arrays of labels × columns.
    """
    weights = np.array([null.weight for null in nulls]).reshape(len(nulls), len(patterns))
    effective = np.array([null.effective for null in nulls]).reshape(weights.shape)
    n_columns = sums.shape[1]
    total, scale = _totals(nulls, squares, spread)
    variance = np.zeros(total.shape)
    # The constant is carried by all labelsets; regressors that none carries are left out.
    rows = np.arange(len(patterns))
    carriers = [rows, *(np.flatnonzero(column) for column in patterns.T)]
    carried = np.array([len(at) > 0 for at in carriers])
    place = np.cumsum(carried) - 1
    for part in chunks(n_columns, 8 * len(nulls) * int(carried.sum()), limit=_PART_BYTES):
        some = sums if part == slice(0, n_columns) else sums[:, part]
        # B for all labels, one regressor at a time: only labelsets that carry it count.
        crossed = np.empty((int(carried.sum()), len(nulls), some.shape[1]))
        for target, at in zip(crossed, (at for at in carriers if len(at)), strict=True):
            target[:] = weights[:, at] @ some[at]
        for order, null in enumerate(nulls):
            inside = carried[null.basis]
            leaning = null.factor[inside].T @ crossed[place[null.basis[inside]], order]
            variance[order, part] = _variance(null, rows, some, leaning, total[order, part])
    return Scores(np.asarray(effective @ sums), variance, scale)


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
        plain_scores(nulls, block.patterns, block.sums, block.squares, spread[part])
        for part, block in feature_blocks(stats)
    ]
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
    size = np.sqrt(np.where(scores.scale > 0, scores.scale, 1.0))
    shares = np.concatenate([scores.score / size, scores.variance / size**2])
    # Sums over rows are taken alike for all columns, so those of equal ones are equal. Mixed in
    # proportions that no data have, scores bring what is equal side by side.
    mixed = np.sqrt(np.arange(2.0, 2.0 + len(shares))) @ shares
    order = np.lexsort((mixed, stats.column_squares, stats.column_sums))
    alike = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for totals in (stats.column_sums, stats.column_squares):
        alike &= np.diff(totals[order]) == 0
    candidates = np.flatnonzero(alike)
    differ = shares[:, order[candidates + 1]] - shares[:, order[candidates]]
    alike[candidates] = (np.abs(differ) <= ROUNDING).all(axis=0)
    run = np.concatenate([[0], np.cumsum(~alike)])[: len(order)]
    first = np.full(len(order), len(order))
    np.minimum.at(first, run, order)
    equals = np.empty_like(order)
    equals[order] = first[run]
    return equals


def product_scores(
    stats: LabelsetStatistics, nulls: Sequence[NullModel], spread: FloatArray
) -> Iterator[tuple[slice, int, Scores]]:
    """Scores of the products of all features with each label.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    nulls : sequence of NullModel
        The fits of the labels.
    spread : ndarray, shape (p,)
        How much the features vary in all rows.

    Yields
    ------
    slice
        Which features.
    int
        The label that they are multiplied with.
    Scores
        Arrays of labels × features; the row of that label itself means nothing.
    """
    for part, block in feature_blocks(stats):
        for other, carried in enumerate(stats.patterns.T):
            # Labelsets without the label have products of zero.
            rows = np.flatnonzero(carried)
            sums, squares = block.sums[rows], block.squares[rows]
            scores = _carried_scores(nulls, stats.patterns, sums, squares, rows, spread[part])
            yield part, other, scores


def _carried_scores(
    nulls: Sequence[NullModel],
    patterns: BoolArray,
    sums: Any,
    squares: Any,
    rows: IntArray,
    spread: FloatArray,
) -> Scores:
    """Scores for all labels of columns that are zero outside a few labelsets."""
    design = np.column_stack([np.ones(len(rows)), patterns[rows]])
    carried = np.asarray(design.any(axis=0))
    weights = np.array([null.weight[rows] for null in nulls]).reshape(len(nulls), len(rows))
    effective = np.array([null.effective[rows] for null in nulls]).reshape(weights.shape)
    total, scale = _totals(nulls, squares, spread, rows)
    variance = np.zeros(total.shape)
    for order, null in enumerate(nulls):
        if not weights[order].any():
            continue
        inside = carried[null.basis]
        factor = null.factor[inside]
        if not null.penalised:
            # Of F only its products with regressors that are carried here are needed.
            factor = np.asarray(np.linalg.cholesky(factor @ factor.T))
        root = factor.T @ (weights[order] * design[:, null.basis[inside]].T)
        for part in chunks(sums.shape[1], 8 * len(root), limit=_PART_BYTES):
            some = sums[:, part]
            variance[order, part] = _variance(null, rows, some, root @ some, total[order, part])
    return Scores(np.asarray(effective @ sums), variance, scale)


def _totals(
    nulls: Sequence[NullModel],
    squares: Any,
    spread: FloatArray | float,
    rows: Any = slice(None),
) -> tuple[FloatArray, FloatArray]:
    """Variances of scores that are not efficient, and what variances are measured by."""
    shape = len(nulls), squares.shape[0]
    total = np.asarray(np.array([null.noise[rows] for null in nulls]).reshape(shape) @ squares)
    scale = total
    if any(null.penalised for null in nulls):
        scale = np.array([null.scale[rows] for null in nulls]) @ squares
    weight = np.array([null.weight[rows] @ null.counts[rows] for null in nulls])
    return total, np.maximum(scale, OWN_SPREAD * weight[:, None] * spread)


def _variance(
    null: NullModel, rows: IntArray, sums: Any, leaning: FloatArray, total: FloatArray
) -> FloatArray:
    """Variances of efficient scores of columns that are zero outside some labelsets."""
    if not null.penalised:
        return np.asarray(total - np.einsum("ij,ij->j", leaning, leaning))
    variance = total.copy()
    # What the model explains reaches labelsets where the columns themselves are zero.
    inside = np.flatnonzero(null.weight[rows] > 0)
    among = np.searchsorted(null.rows, rows[inside])
    spread = null.noise[null.rows] * null.counts[null.rows]
    for part in chunks(leaning.shape[1], 8 * len(null.rows), limit=_PART_BYTES):
        fitted = null.fit_to(leaning[:, part])
        crossed = fitted[among] * dense(sums[:, part])[inside]
        variance[part] += spread @ fitted**2 - 2 * (null.noise[rows[inside]] @ crossed)
    return variance


def joint_scores(
    stats: LabelsetStatistics, null: NullModel, spread: FloatArray
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

    Returns
    -------
    statistic : ndarray, shape (p,)
        :math:`U = S'V^+S`; NaN where the rank is zero.
    df : ndarray, shape (p,)
        The rank of V: eigenvalues of V, scaled by the diagonal of D (under a penalty, of the like
        of it with squared residuals), above 1e-10.
    """
    patterns = stats.patterns[null.rows]
    blocks = np.column_stack([np.ones(len(patterns)), np.delete(patterns, null.label, axis=1)])
    blocks = blocks[:, blocks.any(axis=0)]
    size = blocks.shape[1]
    n_features = len(stats.feature_names)
    statistic, rank = np.empty(n_features), np.empty(n_features)
    crossed = (blocks[:, :, None] * blocks[:, None, :]).reshape(len(blocks), -1)
    noise, counts = null.noise[null.rows], null.counts[null.rows]
    noisy = (crossed * noise[:, None]).T
    weight = null.weight[null.rows] * counts
    # F'z_g w_g times each block column: what the null model takes from it.
    root = null.root()
    rooted = (root[:, None, :] * blocks.T[None]).reshape(-1, len(blocks))
    effective = (blocks * null.effective[null.rows, None]).T
    columns_at_once = size * max(size, len(root), len(blocks) if null.penalised else 1)
    for part in chunks(n_features, 8 * columns_at_once, limit=_PART_BYTES):
        sums, squares = dense(stats.sums[null.rows][:, part]), stats.squares[null.rows][:, part]
        n_part = sums.shape[1]
        total = (noisy @ squares).T.reshape(n_part, size, size)
        leaning = (rooted @ sums).T.reshape(n_part, len(root), size)
        if null.penalised:
            fitted = np.einsum("mg,jma->jga", root, leaning) / null.weight[null.rows, None]
            own = sums.T[:, :, None] * blocks
            variance = total + _sandwich(noise, counts, own, fitted)
        else:
            variance = total - leaning.transpose(0, 2, 1) @ leaning
        score = (effective @ sums).T
        scale = np.maximum(
            (blocks.T * null.scale[null.rows]) @ squares,
            OWN_SPREAD * (weight @ blocks)[:, None] * spread[part],
        )
        statistic[part], rank[part] = _scaled_forms(score, scale.T, variance)
    return statistic, rank


def _sandwich(
    noise: FloatArray, counts: FloatArray, sums: FloatArray, fitted: FloatArray
) -> FloatArray:
    """Sum e²(N c c' − S c' − c S') over labelsets, for many blocks: blocks × d × d."""
    weighted = noise[:, None] * (0.5 * counts[:, None] * fitted - sums)
    half = weighted.transpose(0, 2, 1) @ fitted
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
    leaning = null.lean(sums, null.rows)
    noise, counts = null.noise[null.rows], null.counts[null.rows]
    total = np.einsum("g,gij->ij", noise, products)
    score = null.effective[null.rows] @ sums
    if null.penalised:
        variance = total + _sandwich(noise, counts, sums[None], null.fit_to(leaning)[None])[0]
    else:
        variance = total - leaning.T @ leaning
    weight = null.weight[null.rows] @ counts
    scale = np.maximum(
        np.einsum("g,gii->i", null.scale[null.rows], products),
        OWN_SPREAD * weight * spread[stats.term_columns[term]],
    )
    statistic, rank = _scaled_forms(score[None], scale[None], variance[None])
    return float(statistic[0]), float(rank[0])


def _scaled_forms(
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
