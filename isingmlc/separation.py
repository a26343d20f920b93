r"""Exact separation and rank of a logistic regression on 0/1 columns.

A row is *settled* when some direction of the coefficients raises its likelihood for ever and
lowers nobody's. The maximum-likelihood limit then puts probability one on its outcome. What is
settled is found by counting and, where counting does not suffice, by a linear programme; never
by watching iterations diverge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse
from scipy.linalg import lapack

from isingmlc.data import BoolArray, FloatArray, IntArray

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
    independent = np.diag(gram) > 0
    # Mostly only empty columns depend on others, and that is seen without elimination.
    filled = np.flatnonzero(independent)
    if not in_order:
        independent[filled] = _with_pivots(gram[np.ix_(filled, filled)])
    elif not _has_pivots(gram[np.ix_(filled, filled)]):
        rest = gram.copy()
        for column in np.flatnonzero(independent):
            pivot = rest[column, column]
            if pivot > _PIVOT_TOLERANCE * gram[column, column]:
                line = rest[column].copy()
                rest -= np.outer(line / pivot, line)
            else:
                independent[column] = False
    kept, dropped = np.flatnonzero(independent), np.flatnonzero(~independent)
    dependence = np.zeros((len(kept), len(dropped)))
    nonzero = np.diag(gram)[dropped] > 0
    if nonzero.any():
        crossed = gram[np.ix_(kept, dropped[nonzero])]
        dependence[:, nonzero] = np.linalg.solve(gram[np.ix_(kept, kept)], crossed)
        dependence[np.abs(dependence) < 1e-7] = 0.0
    return Columns(kept, dropped, dependence)


def _with_pivots(gram: FloatArray) -> BoolArray:
    """Mark a largest set of independent columns, whichever comes first by pivoting."""
    scale = np.sqrt(np.diag(gram))
    _, order, rank, _ = lapack.dpstrf(gram / np.outer(scale, scale), tol=_PIVOT_TOLERANCE)
    marks = np.zeros(len(gram), dtype=np.bool_)
    marks[order[:rank] - 1] = True
    return marks


def _has_pivots(gram: FloatArray) -> bool:
    """Tell whether no column is a linear function of the others."""
    try:
        pivots = np.diag(np.linalg.cholesky(gram)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((pivots > _PIVOT_TOLERANCE * np.diag(gram)).all())


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
    labels = patterns.astype(np.float64)
    n_labels = labels.shape[1]
    others = ~np.eye(n_labels, dtype=np.bool_)
    in_play = np.ones(labels.shape)
    directions: list[list[FloatArray]] = [[] for _ in range(n_labels)]
    while True:
        # Entry (s, k) counts rows in play for label k.
        positives = in_play * labels
        n_rows, n_positive = in_play.sum(axis=0), positives.sum(axis=0)
        carriers, both = labels.T @ in_play, labels.T @ positives
        same = intercept & ((n_positive == 0) | (n_positive == n_rows))
        open_ = others & ~same
        present = open_ & (carriers > 0) & ((both == 0) | (both == carriers))
        direction = np.zeros((1 + n_labels, n_labels))
        direction[0, same] = np.where(n_positive[same] > 0, 1.0, -1.0)
        direction[1:][present] = np.where(both[present] > 0, 1.0, -1.0)
        settled = (labels @ present > 0) | same
        if intercept:
            none = both == n_positive
            absent = open_ & (carriers < n_rows) & (none | (n_positive - both == n_rows - carriers))
            sign = np.where(absent, np.where(none, -1.0, 1.0), 0.0)
            direction[1:] -= sign
            direction[0] += sign.sum(axis=0)
            settled |= (1.0 - labels) @ absent > 0
        settled &= in_play > 0
        if not settled.any():
            return in_play.T > 0, directions
        for label in np.flatnonzero(settled.any(axis=0)):
            directions[label].append(direction[:, label])
        in_play[settled] = 0.0


def settled_rows(design: FloatArray, outcome: BoolArray) -> BoolArray:
    r"""Find every row that separation settles, by one linear programme.

    With :math:`q_i = (2y_i - 1) z_i`, the programme maximises :math:`\sum_i t_i` subject to
    :math:`q_i'\gamma \ge t_i` and :math:`0 \le t_i \le 1`. Directions add up and may be scaled,
    so at the optimum each :math:`t_i` is 0 or 1, and 1 exactly where some direction settles
    row i.

    Parameters
    ----------
    design : ndarray, shape (rows, columns)
        The regressors.
    outcome : ndarray of bool, shape (rows,)
        The label that is explained.

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
    >>> design = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> settled_rows(design, np.array([False, True, False]))
    array([ True, False, False])
    """
    n_rows, n_columns = design.shape
    signed = np.where(outcome, 1.0, -1.0)[:, None] * design
    constraints = sparse.hstack([-sparse.csr_array(signed), sparse.eye_array(n_rows)])
    solution = optimize.linprog(
        np.concatenate([np.zeros(n_columns), -np.ones(n_rows)]),
        A_ub=constraints,
        b_ub=np.zeros(n_rows),
        bounds=[(None, None)] * n_columns + [(0.0, 1.0)] * n_rows,
        method="highs",
    )
    return np.asarray(solution.x[n_columns:] > 0.5)


def shortest_direction(
    settled: FloatArray, outcome: BoolArray, null_space: FloatArray
) -> FloatArray | None:
    r"""Choose the one direction along which to send coefficients to infinity.

    Of all directions in `null_space` that settle the rows with a margin of one this is the
    shortest, so it depends neither on the order of the rows nor on that of the columns. Ridge
    estimates run off along it when their penalty vanishes [1]_. It is a least-distance problem
    and solved as non-negative least squares [2]_.

    Parameters
    ----------
    settled : ndarray, shape (rows, columns)
        Regressors of the settled rows.
    outcome : ndarray of bool, shape (rows,)
        Their outcomes.
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
    >>> shortest_direction(np.array([[1.0, 0.0]]), np.array([False]), np.eye(2))
    array([-1.,  0.])
    """
    null_space = np.linalg.qr(null_space)[0]
    margins = np.where(outcome, 1.0, -1.0)[:, None] * (settled @ null_space)
    target = np.zeros(margins.shape[1] + 1)
    target[-1] = 1.0
    system = np.vstack([margins.T, np.ones(len(margins))])
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
