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
themselves: :math:`\sum_i e_i^2 (x_i - c_i)^2` with :math:`c = z'A^{-1}B`, which is
:math:`\sum_g e_g^2 (Q_g - 2 c_g S_g + N_g c_g^2)` on labelsets.

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

from isingmlc.data import BoolArray, FloatArray, IntArray
from isingmlc.labelsets import LabelsetStatistics, dense
from isingmlc.nodewise import NodeFit

# A column with less than this share of its variance left given the labels has none.
COLLINEAR = 1e-10
# Temporaries that grow with the number of features are cut to about this size.
_PART_BYTES = 2**26


@dataclass(frozen=True)
class NullModel:
    """What a score test needs of one label's fit.

    Attributes
    ----------
    label : int
        The label.
    rows : ndarray of int
        Labelsets at which it is not certain.
    probability, residual, weight, counts : ndarray, shape (L,)
        p, e, w and N at all labelsets; residuals and weights are zero where the label is certain.
    regressors : csc_array, shape (1 + K, L)
        The constant and all labels, sparse as labels are.
    basis : ndarray of int, shape (m,)
        Which of them are regressors of this label.
    factor : ndarray, shape (m, m)
        F with :math:`FF' = A^{-1}`; then :math:`B'A^{-1}B` is the square of :math:`F'B`.
    effective : ndarray, shape (L,)
        :math:`e - w z'A^{-1}g`, of which scores are the products with sums; e itself at a maximum
        of the likelihood.
    penalised : bool
        Whether variances are taken from the residuals.
    """

    label: int
    rows: IntArray
    probability: FloatArray
    residual: FloatArray
    weight: FloatArray
    counts: FloatArray
    regressors: Any
    basis: IntArray
    factor: FloatArray
    effective: FloatArray
    penalised: bool

    @classmethod
    def of(
        cls, stats: LabelsetStatistics, regressors: Any, fit: NodeFit, penalised: bool
    ) -> NullModel:
        """Take what is needed from a fit; `regressors` is what `sparse_regressors` gives."""
        residual = np.where(fit.in_play, stats.patterns[:, fit.label] - fit.probability, 0.0)
        weight = np.where(fit.in_play, fit.probability * (1 - fit.probability), 0.0)
        factor = fit.covariance
        if len(fit.basis):
            factor = np.asarray(np.linalg.cholesky(fit.covariance))
        return cls(
            label=fit.label,
            rows=np.flatnonzero(fit.in_play),
            probability=fit.probability,
            residual=residual,
            weight=weight,
            counts=stats.counts,
            regressors=regressors,
            basis=fit.basis,
            factor=factor,
            effective=effective_residual(stats, regressors, fit) if penalised else residual,
            penalised=penalised,
        )

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


def effective_residual(stats: LabelsetStatistics, regressors: Any, fit: NodeFit) -> FloatArray:
    """Take the penalty's own gradient out of the residuals of a penalised fit.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    regressors : csc_array, shape (1 + K, L)
        What `sparse_regressors` gives.
    fit : NodeFit
        The fit.

    Returns
    -------
    ndarray, shape (L,)
        :math:`e - w z'A^{-1}g`; zero everywhere where the regressors leave nothing to test.
    """
    residual = np.where(fit.in_play, stats.patterns[:, fit.label] - fit.probability, 0.0)
    weight = np.where(fit.in_play, fit.probability * (1 - fit.probability), 0.0)
    gradient = (regressors @ (stats.counts * residual))[fit.basis]
    step = np.zeros(regressors.shape[0])
    step[fit.basis] = fit.covariance @ gradient
    return np.asarray(residual - weight * (regressors.T @ step))


def sparse_regressors(stats: LabelsetStatistics) -> Any:
    """Give the constant and the labels as rows of a sparse matrix.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.

    Returns
    -------
    csc_array, shape (1 + K, L)
        The regressors of all label models, at all labelsets.
    """
    ones = np.ones((1, len(stats.counts)))
    return sparse.csc_array(np.vstack([ones, stats.patterns.T]))


@dataclass(frozen=True)
class Scores:
    """Efficient scores of many columns, for one label or for several.

    Attributes
    ----------
    score : ndarray, shape (columns,) or (labels, columns)
        :math:`s - B'A^{-1}g`.
    variance : ndarray
        :math:`D - B'A^{-1}B`.
    total : ndarray
        D, the scale of the variance.
    """

    score: FloatArray
    variance: FloatArray
    total: FloatArray

    @property
    def collinear(self) -> Any:
        """Columns without variance of their own."""
        return self.variance <= COLLINEAR * self.total

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
    rows: IntArray | None = None,
) -> Scores:
    """Scores of all columns for all labels.

    Parameters
    ----------
    nulls : sequence of NullModel
        The fits of the labels.
    patterns : ndarray of bool, shape (L, K)
        The labelsets.
    sums, squares : ndarray or csr_array, shape (L, columns) or (len(rows), columns)
        Sums and squares within labelsets.
    rows : ndarray of int, optional
        Labelsets outside which all columns are zero, where sums and squares are given for these
        only.

    Returns
    -------
    Scores
        Arrays of labels × columns.
    """
    if rows is None:
        rows = np.arange(len(patterns))
    n_columns = sums.shape[1]
    weights = np.array([null.weight[rows] for null in nulls]).reshape(len(nulls), len(rows))
    effective = np.array([null.effective[rows] for null in nulls]).reshape(weights.shape)
    total = np.asarray(weights @ squares)
    variance = np.zeros(total.shape)
    # The constant is carried by all labelsets; regressors that none carries are left out.
    carriers = [np.arange(len(rows)), *(np.flatnonzero(column) for column in patterns[rows].T)]
    carried = np.array([len(at) > 0 for at in carriers])
    place = np.cumsum(carried) - 1
    concerned = np.flatnonzero(weights.any(axis=1))
    for part in _parts(n_columns, 8 * len(concerned) * int(carried.sum())):
        whole = part == slice(0, n_columns)
        some, some_squares = (sums, squares) if whole else (sums[:, part], squares[:, part])
        # B for all labels, one regressor at a time: only labelsets that carry it count.
        crossed = np.array(
            [weights[np.ix_(concerned, at)] @ some[at] for at in carriers if len(at)]
        )
        for order, at in enumerate(concerned.tolist()):
            null = nulls[at]
            inside = carried[null.basis]
            leaning = null.factor[inside].T @ crossed[place[null.basis[inside]], order]
            variance[at, part] = _variance(null, rows, some, some_squares, leaning, total[at, part])
    return Scores(np.asarray(effective @ sums), variance, total)


def product_scores(
    stats: LabelsetStatistics, nulls: Sequence[NullModel]
) -> Iterator[tuple[int, Scores]]:
    """Scores of the products of all features with each label.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    nulls : sequence of NullModel
        The fits of the labels.

    Yields
    ------
    int
        The label that features are multiplied with.
    Scores
        Arrays of labels × features; the row of that label itself means nothing.
    """
    for other, carried in enumerate(stats.patterns.T):
        # Labelsets without the label have products of zero.
        rows = np.flatnonzero(carried)
        yield (
            other,
            plain_scores(nulls, stats.patterns, stats.sums[rows], stats.squares[rows], rows),
        )


def _variance(
    null: NullModel,
    rows: IntArray,
    sums: Any,
    squares: Any,
    leaning: FloatArray,
    total: FloatArray,
) -> FloatArray:
    """Variances of efficient scores of columns that are zero outside some labelsets."""
    if not null.penalised:
        return np.asarray(total - np.einsum("ij,ij->j", leaning, leaning))
    noise = null.residual**2
    variance = noise[rows] @ squares
    # What the model explains reaches labelsets where the columns themselves are zero.
    inside = np.flatnonzero(null.weight[rows] > 0)
    among = np.searchsorted(null.rows, rows[inside])
    spread = noise[null.rows] * null.counts[null.rows]
    for part in _parts(leaning.shape[1], 8 * len(null.rows)):
        fitted = null.fit_to(leaning[:, part])
        crossed = fitted[among] * dense(sums[:, part])[inside]
        variance[part] += spread @ fitted**2 - 2 * (noise[rows[inside]] @ crossed)
    return np.asarray(variance)


def _parts(n_columns: int, bytes_each: int) -> Iterator[slice]:
    """Cut columns so that temporaries stay bounded."""
    step = max(1, _PART_BYTES // max(1, bytes_each))
    for start in range(0, n_columns, step):
        yield slice(start, min(start + step, n_columns))


def joint_scores(stats: LabelsetStatistics, null: NullModel) -> tuple[FloatArray, FloatArray]:
    r"""Multivariate score statistics of a feature and all its products with other labels.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    null : NullModel
        The label's fit.

    Returns
    -------
    statistic : ndarray, shape (p,)
        :math:`U = S'V^+S`; NaN where the rank is zero.
    df : ndarray, shape (p,)
        The rank of V: eigenvalues of V, scaled by the diagonal of D, above 1e-10.
    """
    patterns = stats.patterns[null.rows]
    blocks = np.column_stack([np.ones(len(patterns)), np.delete(patterns, null.label, axis=1)])
    blocks = blocks[:, blocks.any(axis=0)]
    size = blocks.shape[1]
    n_features = len(stats.feature_names)
    statistic, rank = np.empty(n_features), np.empty(n_features)
    crossed = (blocks[:, :, None] * blocks[:, None, :]).reshape(len(blocks), -1)
    weighted = (crossed * null.weight[null.rows, None]).T
    # F'z_g w_g times each block column: what the null model takes from it.
    root = null.root()
    rooted = (root[:, None, :] * blocks.T[None]).reshape(-1, len(blocks))
    effective = (blocks * null.effective[null.rows, None]).T
    noise, counts = null.residual[null.rows] ** 2, null.counts[null.rows]
    columns_at_once = size * max(size, len(root), len(blocks) if null.penalised else 1)
    for part in _parts(n_features, 8 * columns_at_once):
        sums, squares = dense(stats.sums[null.rows][:, part]), stats.squares[null.rows][:, part]
        n_part = sums.shape[1]
        total = (weighted @ squares).T.reshape(n_part, size, size)
        leaning = (rooted @ sums).T.reshape(n_part, len(root), size)
        if null.penalised:
            fitted = np.einsum("mg,jma->jga", root, leaning) / null.weight[null.rows, None]
            own = sums.T[:, :, None] * blocks
            variance = ((crossed * noise[:, None]).T @ squares).T.reshape(n_part, size, size)
            variance += _sandwich(noise, counts, own, fitted)
        else:
            variance = total - leaning.transpose(0, 2, 1) @ leaning
        score = (effective @ sums).T
        statistic[part], rank[part] = _scaled_forms(score, total, variance)
    return statistic, rank


def _sandwich(
    noise: FloatArray, counts: FloatArray, sums: FloatArray, fitted: FloatArray
) -> FloatArray:
    """Sum e²(N c c' − S c' − c S') over labelsets, for many blocks: blocks × d × d."""
    weighted = noise[:, None] * (0.5 * counts[:, None] * fitted - sums)
    half = weighted.transpose(0, 2, 1) @ fitted
    return np.asarray(half + half.transpose(0, 2, 1))


def term_scores(stats: LabelsetStatistics, null: NullModel, term: str) -> tuple[float, float]:
    """Multivariate score statistic of the columns of one term.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics, with cross-products of the term's columns.
    null : NullModel
        The label's fit.
    term : str
        The term.

    Returns
    -------
    statistic, df : float
        The statistic and its degrees of freedom, the rank of the columns given the labels.
    """
    sums = dense(stats.sums[null.rows][:, stats.term_columns[term]])
    products = stats.term_products[term][null.rows]
    leaning = null.lean(sums, null.rows)
    total = np.einsum("g,gij->ij", null.weight[null.rows], products)
    score = null.effective[null.rows] @ sums
    if null.penalised:
        noise, counts = null.residual[null.rows] ** 2, null.counts[null.rows]
        variance = np.einsum("g,gij->ij", noise, products)
        variance = variance + _sandwich(noise, counts, sums[None], null.fit_to(leaning)[None])[0]
    else:
        variance = total - leaning.T @ leaning
    statistic, rank = _scaled_forms(score[None], total[None], (total - leaning.T @ leaning)[None])
    return float(statistic[0]), float(rank[0])


def _scaled_forms(
    score: FloatArray, total: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Evaluate quadratic forms after scaling columns by their variance before the null model."""
    scale = np.sqrt(np.einsum("jkk->jk", total))
    scale[scale == 0] = np.inf
    return quadratic_forms(score / scale, variance / (scale[:, :, None] * scale[:, None, :]))


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
