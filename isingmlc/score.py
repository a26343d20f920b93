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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from isingmlc.data import FloatArray, IntArray
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
    probability, residual, weight : ndarray, shape (rows,)
        p, e and w there.
    root : ndarray, shape (m, rows)
        :math:`F'(z_g w_g)` with :math:`FF' = A^{-1}`: its products with sums, squared and added
        up, are :math:`B'A^{-1}B`.
    gradient : ndarray, shape (m,)
        :math:`F'g`; zero at a maximum of the likelihood.
    counts : ndarray, shape (rows,)
        N there.
    penalised : bool
        Whether variances are taken from the residuals.
    """

    label: int
    rows: IntArray
    probability: FloatArray
    residual: FloatArray
    weight: FloatArray
    root: FloatArray
    gradient: FloatArray
    counts: FloatArray
    penalised: bool

    @classmethod
    def of(cls, stats: LabelsetStatistics, fit: NodeFit, penalised: bool) -> NullModel:
        """Take what is needed from a fit."""
        rows = np.flatnonzero(fit.in_play)
        probability = fit.probability[rows]
        residual = stats.patterns[rows, fit.label] - probability
        weight = probability * (1 - probability)
        design = np.column_stack([np.ones(len(rows)), stats.patterns[rows]])[:, fit.basis]
        factor = np.linalg.cholesky(fit.covariance) if len(fit.basis) else fit.covariance
        return cls(
            label=fit.label,
            rows=rows,
            probability=probability,
            residual=residual,
            weight=weight,
            root=factor.T @ (design * weight[:, None]).T,
            gradient=factor.T @ (design.T @ (stats.counts[rows] * residual)),
            counts=stats.counts[rows],
            penalised=penalised,
        )

    def fit_to(self, leaning: FloatArray) -> FloatArray:
        """Give what the regressors explain of columns, from products of `root` with their sums."""
        return np.asarray(self.root.T @ leaning / self.weight[:, None])


@dataclass(frozen=True)
class Scores:
    """Efficient scores of many columns for one label.

    Attributes
    ----------
    score : ndarray
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


def plain_scores(null: NullModel, sums: Any, squares: Any) -> Scores:
    """Scores of all columns for one label.

    Parameters
    ----------
    null : NullModel
        The label's fit.
    sums, squares : ndarray or csr_array, shape (L, columns)
        Sums and squares within labelsets.

    Returns
    -------
    Scores
        One entry a column.
    """
    return _scores(null, slice(None), sums[null.rows], squares[null.rows])


def product_scores(stats: LabelsetStatistics, null: NullModel) -> Iterator[tuple[int, Scores]]:
    """Scores of the products of all features with each other label.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    null : NullModel
        The label's fit.

    Yields
    ------
    int
        The label that features are multiplied with.
    Scores
        One entry a feature.
    """
    sums, squares = stats.sums[null.rows], stats.squares[null.rows]
    for other in range(stats.patterns.shape[1]):
        if other != null.label:
            # Labelsets without the other label have products of zero.
            carriers = np.flatnonzero(stats.patterns[null.rows, other])
            yield other, _scores(null, carriers, sums[carriers], squares[carriers])


def _scores(null: NullModel, rows: Any, sums: Any, squares: Any) -> Scores:
    """Scores of columns that are zero outside some rows of the null model."""
    leaning = null.root[:, rows] @ sums
    total = null.weight[rows] @ squares
    if null.penalised:
        variance = _residual_variance(null, rows, sums, squares, leaning)
    else:
        variance = total - np.einsum("ij,ij->j", leaning, leaning)
    return Scores(null.residual[rows] @ sums - null.gradient @ leaning, variance, total)


def _residual_variance(
    null: NullModel, rows: Any, sums: Any, squares: Any, leaning: FloatArray
) -> FloatArray:
    noise = null.residual**2
    variance = noise[rows] @ squares
    # What the model explains reaches rows where the columns themselves are zero.
    for part in _parts(leaning.shape[1], 8 * len(noise)):
        fitted = null.fit_to(leaning[:, part])
        crossed = fitted[rows] * dense(sums[:, part])
        variance[part] += (noise * null.counts) @ fitted**2 - 2 * (noise[rows] @ crossed)
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
    weighted = (crossed * null.weight[:, None]).T
    # F'z_g w_g times each block column: what the null model takes from it.
    rooted = (null.root[:, None, :] * blocks.T[None]).reshape(-1, len(blocks))
    residual = (blocks * null.residual[:, None]).T
    noise = null.residual**2
    columns_at_once = size * max(size, len(null.root), len(blocks) if null.penalised else 1)
    for part in _parts(n_features, 8 * columns_at_once):
        sums, squares = dense(stats.sums[null.rows][:, part]), stats.squares[null.rows][:, part]
        n_part = sums.shape[1]
        total = (weighted @ squares).T.reshape(n_part, size, size)
        leaning = (rooted @ sums).T.reshape(n_part, len(null.root), size)
        if null.penalised:
            fitted = np.einsum("mg,jma->jga", null.root, leaning) / null.weight[:, None]
            own = sums.T[:, :, None] * blocks
            variance = ((crossed * noise[:, None]).T @ squares).T.reshape(n_part, size, size)
            variance += _sandwich(noise, null.counts, own, fitted)
        else:
            variance = total - leaning.transpose(0, 2, 1) @ leaning
        score = (residual @ sums).T - np.einsum("i,jik->jk", null.gradient, leaning)
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
    leaning = null.root @ sums
    total = np.einsum("g,gij->ij", null.weight, stats.term_products[term][null.rows])
    score = null.residual @ sums - null.gradient @ leaning
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
