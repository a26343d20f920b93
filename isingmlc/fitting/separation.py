r"""Exact separation and rank of a logistic regression on 0/1 columns.

A row is *settled* when some direction of the coefficients raises its likelihood for ever and
lowers nobody's. The maximum-likelihood limit then puts probability one on its outcome. What is
settled is found by counting and, where counting does not suffice, by a linear programme; never
by watching iterations diverge.

Where regressors are *signed*, they are times −1 in rows whose outcome is 0: a direction of the
coefficients then raises the likelihood of a row when it raises its linear predictor, the *margin*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse
from scipy.linalg import lapack

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray

# Gram matrices here hold small integers: a pivot below this share of its diagonal is a zero.
_PIVOT_TOLERANCE = 1e-9
# Residual of the least-distance problem below which it has no solution.
_INFEASIBLE = 1e-10


@dataclass(frozen=True)
class Columns:
    """Which columns of a design are linearly independent of those before them.

    Attributes
    ----------
    kept : ndarray of int
        Columns that are no linear function of earlier ones.
    dropped : ndarray of int
        The others.
    dependence : ndarray, shape (len(kept), len(dropped))
        Coefficients that write each dropped column in the kept ones.
    """

    kept: IntArray
    dropped: IntArray
    dependence: FloatArray

    @classmethod
    def all_of(cls, n_columns: int) -> Columns:
        """Keep every column."""
        return cls(np.arange(n_columns), np.arange(0), np.zeros((n_columns, 0)))

    @property
    def null_space(self) -> FloatArray:
        """Directions that change no linear predictor, as columns that span them."""
        basis = np.zeros((len(self.kept) + len(self.dropped), len(self.dropped)))
        basis[self.kept] = -self.dependence
        basis[self.dropped, np.arange(len(self.dropped))] = 1.0
        return basis

    @property
    def estimable(self) -> IntArray:
        """Positions in `kept` of coefficients that do not depend on what was dropped."""
        return np.flatnonzero(~self.dependence.any(axis=1))

    def carry_over(self, coef: FloatArray) -> FloatArray:
        """Give coefficients of the kept columns with the linear predictor of all of them."""
        return np.asarray(coef[self.kept] + self.dependence @ coef[self.dropped])

    def without(self, column: int) -> Columns | None:
        """Leave out a column on which no other depends; None where that is not so easy."""
        at = np.flatnonzero(self.kept == column)
        if not len(at) or self.dependence[at[0]].any():
            return None
        kept = np.delete(self.kept, at)
        return Columns(
            kept - (kept > column),
            self.dropped - (self.dropped > column),
            np.delete(self.dependence, at, axis=0),
        )


def independent_columns(gram: FloatArray, *, in_order: bool = True) -> Columns:
    """Eliminate columns in order, as R does, and drop those without a pivot.

    Parameters
    ----------
    gram : ndarray, shape (m, m)
        Cross-products ``Z'Z`` of the columns.
    in_order : bool
        Whether of dependent columns the last ones are dropped; where that does not matter,
        elimination with pivots is faster.

    Returns
    -------
    Columns
        What is kept, what is dropped, and how the one gives the other.

    Examples
    --------
    The third column is the sum of the first two:

    >>> Z = np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 2]])
    >>> columns = independent_columns(Z.T @ Z)
    >>> columns.kept, columns.dropped, columns.dependence.ravel()
    (array([0, 1]), array([2]), array([1., 1.]))
    """
    diagonal = gram.diagonal()
    # Mostly only empty columns depend on others, and that is seen without elimination.
    filled = np.flatnonzero(diagonal)
    if len(filled) == len(gram) and _has_pivots(gram):
        return Columns.all_of(len(gram))
    inner = gram[filled][:, filled]
    kept = filled
    if not _has_pivots(inner):
        kept = filled[_in_order(inner) if in_order else _with_pivots(inner)]
    independent = np.zeros(len(gram), dtype=np.bool_)
    independent[kept] = True
    dropped = np.flatnonzero(~independent)
    dependence = np.zeros((len(kept), len(dropped)))
    if len(kept) < len(filled):
        leaning = np.flatnonzero(diagonal[dropped])
        rows = gram[kept]
        dependence[:, leaning] = lapack.dposv(rows[:, kept], rows[:, dropped[leaning]])[1]
        dependence[np.abs(dependence) < 1e-7] = 0.0
    return Columns(kept, dropped, dependence)


def _with_pivots(gram: FloatArray) -> IntArray:
    """Find a largest set of independent columns, whichever comes first by pivoting."""
    scale = np.sqrt(gram.diagonal())
    _, order, rank, _ = lapack.dpstrf(gram / (scale[:, None] * scale), tol=_PIVOT_TOLERANCE)
    return np.sort(order[:rank]) - 1


def _has_pivots(gram: FloatArray) -> bool:
    """Tell whether no column is a linear function of the others."""
    if not len(gram):
        return True
    factor, failed = lapack.dpotrf(gram)
    pivots = factor.diagonal() ** 2
    return not failed and bool((pivots > _PIVOT_TOLERANCE * gram.diagonal()).all())


def _in_order(gram: FloatArray) -> IntArray:
    """Find the columns that are no linear function of earlier ones."""
    rest = gram.copy()
    kept = []
    for column, whole in enumerate(gram.diagonal()):
        pivot = rest[column, column]
        if pivot > _PIVOT_TOLERANCE * whole:
            kept.append(column)
            line = rest[column].copy()
            rest -= np.outer(line / pivot, line)
    return np.array(kept, dtype=np.intp)


def peel(patterns: BoolArray, intercept: bool) -> tuple[BoolArray, list[list[FloatArray]]]:
    """Settle rows of all label models by counting: round after round, drop what labels settle.

    In the model of a label, another label that only ever occurs with one of its values settles
    the rows that carry it; with an intercept, so does a label that is only ever absent with one
    value settle those that lack it, and a label that is the same in all rows left settles them
    all.

    Parameters
    ----------
    patterns : ndarray of bool, shape (rows, K)
        The label vectors.
    intercept : bool
        Whether the models have a constant.

    Returns
    -------
    in_play : ndarray of bool, shape (K, rows)
        For each label, the rows that counting does not settle.
    directions : list of lists of ndarray, shape (1 + K,)
        For each label, the directions in which the constant and the coefficients of the labels
        run off, one a round. Earlier rounds outweigh later ones.

    Examples
    --------
    The second and third label never meet, so each sends the other's coefficient to −∞:

    >>> patterns = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]])
    >>> in_play, directions = peel(patterns.astype(bool), intercept=True)
    >>> in_play[1]
    array([ True,  True,  True,  True, False, False])
    >>> directions[1]
    [array([ 0.,  0.,  0., -1.])]
    """
    n_labels = patterns.shape[1]
    labels = patterns.astype(np.float64)
    # What may settle rows: carrying a label; with an intercept also lacking it, or any row. The
    # effect of each is on the constant and the coefficients of the labels.
    sides, effects = labels, np.eye(1 + n_labels)[:, 1:]
    if intercept:
        sides = np.hstack([labels, 1.0 - labels, np.ones((len(labels), 1))])
        effects = np.hstack([effects, -effects, np.zeros((1 + n_labels, 1))])
        effects[0, n_labels:] = 1.0
    is_other = effects[1:].T == 0
    in_play = np.ones(patterns.shape, dtype=np.bool_)
    directions: list[list[FloatArray]] = [[] for _ in range(n_labels)]
    # Where a round settles nothing for a label, none after it does.
    left = np.arange(n_labels)
    while len(left):
        rows = in_play[:, left]
        # Entry (s, k) counts rows in play for label k on side s.
        total, positives = sides.T @ rows, sides.T @ (rows * labels[:, left])
        settles = (positives == 0) | (positives == total)
        settles &= (total > 0) & is_other[:, left]
        if intercept:
            settles[:-1] &= ~settles[-1]
        direction = effects @ np.where(settles, np.where(positives > 0, 1.0, -1.0), 0.0)
        settled = (sides @ settles > 0) & rows
        has_settled = settled.any(axis=0)
        for label, line in zip(left[has_settled], direction.T[has_settled], strict=True):
            directions[label].append(line)
        left = left[has_settled]
        in_play[:, left] &= ~settled[:, has_settled]
    return np.ascontiguousarray(in_play.T), directions


def settled_rows(signed: FloatArray) -> BoolArray:
    r"""Find every row that separation settles, by one linear programme.

    With :math:`q_i` the signed regressors, the programme maximises :math:`\sum_i t_i` subject to
    :math:`q_i'\gamma \ge t_i` and :math:`0 \le t_i \le 1`. Directions add up and may be scaled,
    so at the optimum each :math:`t_i` is 0 or 1, and 1 exactly where some direction settles
    row i.

    Parameters
    ----------
    signed : ndarray, shape (rows, columns)
        Signed regressors.

    Returns
    -------
    ndarray of bool, shape (rows,)
        True where the row is settled.

    References
    ----------
    .. [1] Konis, K. (2007). *Linear programming algorithms for detecting separated data in
       binary logistic regression models*. DPhil thesis, University of Oxford.

    Examples
    --------
    Outcomes 0, 1 and 0:

    >>> settled_rows(np.array([[-1.0, 0.0], [1.0, 1.0], [-1.0, -1.0]]))
    array([ True, False, False])
    """
    n_rows, n_columns = signed.shape
    constraints = sparse.hstack([-sparse.csr_array(signed), sparse.eye_array(n_rows)])
    solution = optimize.linprog(
        np.concatenate([np.zeros(n_columns), -np.ones(n_rows)]),
        A_ub=constraints,
        b_ub=np.zeros(n_rows),
        bounds=[(None, None)] * n_columns + [(0.0, 1.0)] * n_rows,
        method="highs",
    )
    return np.asarray(solution.x[n_columns:] > 0.5)


def shortest_direction(settled: FloatArray, null_space: FloatArray) -> FloatArray | None:
    r"""Choose the one direction along which to send coefficients to infinity.

    Of all directions in `null_space` that settle the rows with a margin of one this is the
    shortest, so it depends neither on the order of the rows nor on that of the columns. Ridge
    estimates run off along it when their penalty vanishes [1]_. It is a least-distance problem
    and solved as non-negative least squares [2]_.

    Parameters
    ----------
    settled : ndarray, shape (rows, columns)
        Signed regressors of the settled rows.
    null_space : ndarray, shape (columns, d)
        Directions that leave all other rows alone, as columns that span them.

    Returns
    -------
    ndarray, shape (columns,), or None
        The direction; None where no direction settles all of the rows.

    References
    ----------
    .. [1] Rosset, S., Zhu, J., Hastie, T. (2004). Boosting as a regularized path to a maximum
       margin classifier. *JMLR* 5, 941–973.
    .. [2] Lawson, C. L., Hanson, R. J. (1995). *Solving least squares problems*, chapter 23.

    Examples
    --------
    >>> shortest_direction(np.array([[-1.0, 0.0]]), np.eye(2))
    array([-1.,  0.])
    """
    if not null_space.size:
        return None
    null_space = lapack.dorgqr(*lapack.dgeqrf(null_space)[:2])[0]
    margins = settled @ null_space
    system = np.ones((margins.shape[1] + 1, len(margins)))
    system[:-1] = margins.T
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights, _ = optimize.nnls(system, target, maxiter=30 * len(margins))
    residual = system @ weights - target
    if -residual[-1] < _INFEASIBLE:
        return None
    scaled = -residual[:-1] / residual[-1]
    if (margins @ scaled < 0.5).any():
        return None
    direction = null_space @ scaled
    direction[np.abs(direction) < 1e-9 * np.abs(direction).max()] = 0.0
    return np.asarray(direction)
