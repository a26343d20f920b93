r"""Likelihoods that are all but flat in some directions, climbed with all digits that there are.

Where weights of rows are many orders of magnitude apart, or columns all but depend on each other,
cross-products :math:`Z'WZ` have lost what small weights say. Steps are then least squares on
:math:`\sqrt{W}Z`, by a QR decomposition with pivots, which has not.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.special import expit, log_expit

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.newton import LEAST_MARGIN, Points, Solution, certain_from, climb

# A column of this share of its length, once rows are weighted, is in rows that are certain alone.
_UNFELT = 1e-15
# So many times rounding may be what a direction seems to explain.
_HIDDEN = 4.0


def climb_flat(
    design: FloatArray,
    counts: FloatArray,
    penalty: FloatArray,
    start: FloatArray,
    max_steps: int,
    offset: FloatArray | float = 0.0,
) -> Solution:
    """Maximise the (ridge-penalised) likelihood of a logistic regression that is flat somewhere.

    Its maximum may lie so far out that a step of any length is right, as long as it leads up.

    Parameters
    ----------
    design : ndarray, shape (rows, m)
        Signed regressors.
    counts : ndarray, shape (rows,)
        How many observations each row stands for.
    penalty : ndarray, shape (m,)
        Ridge penalties of the coefficients.
    start : ndarray, shape (m,)
        Coefficients to begin with.
    max_steps : int
        Steps after which to stop.
    offset : ndarray, shape (rows,), or float
        What margins have besides.

    Returns
    -------
    Solution
        Where the iteration stopped, without its covariance.

    Examples
    --------
    Two groups of rows, of which one has a thousand million times the weight of the other:

    >>> design = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [-1.0, -1.0]])
    >>> counts = np.array([1e9, 2e9, 3.0, 1.0])
    >>> solution = climb_flat(design, counts, np.zeros(2), np.zeros(2), 50)
    >>> solution.coef, np.log(1 / 2), np.log(3.0) - np.log(1 / 2)
    (array([-0.69314718,  1.79175947]), np.float64(-0.693147...), np.float64(1.791759...))
    """
    ridge = np.diag(np.sqrt(penalty))

    def evaluate(_: IntArray, coefs: FloatArray) -> Points:
        (coef,) = coefs
        margin = design @ coef + offset
        odds = root_odds(counts, margin)
        pull = np.concatenate([odds, -np.sqrt(penalty) * coef])
        scaled = np.vstack([(odds * expit(margin))[:, None] * design, ridge])
        step, decrement = np.zeros(len(coef)), 0.0
        felt = is_felt(scaled, design, counts)
        if felt.any():
            step[felt], decrement = _least_squares(scaled[:, felt], pull)
        value = float(counts @ log_expit(margin) - 0.5 * penalty @ coef**2)
        if not margin.min(initial=0.0) >= LEAST_MARGIN:
            # Rows that are impossible have no weight to turn back by.
            value = -np.inf
        return Points.of_one(value, step, decrement, scaled)

    ends = climb(
        evaluate,
        start[None],
        max_steps,
        margins=lambda _, coef: design @ coef,
        certain=lambda _: certain_from(counts) - offset,
    )
    return ends.solution(0, None)


def root_odds(counts: FloatArray, margin: FloatArray) -> FloatArray:
    """Give square roots of the odds against what happened, times counts.

    So the squares of small numbers need not be told from zero.

    Parameters
    ----------
    counts, margin : ndarray, shape (rows,)
        Counts and margins of the rows.

    Returns
    -------
    ndarray, shape (rows,)
        The roots.
    """
    return np.asarray(np.sqrt(counts) * np.exp(-0.5 * np.maximum(margin, LEAST_MARGIN)))


def is_felt(scaled: FloatArray, design: FloatArray, counts: FloatArray) -> BoolArray:
    """Mark columns that some row with a weight has, or a penalty.

    Parameters
    ----------
    scaled : ndarray, shape (rows + m, m)
        Columns times the roots of the weights, and the roots of the penalties below.
    design : ndarray, shape (rows, m)
        The columns.
    counts : ndarray, shape (rows,)
        Counts of the rows.

    Returns
    -------
    ndarray of bool, shape (m,)
        The marks.
    """
    whole = lengths_of(np.sqrt(counts)[:, None] * design)
    return np.asarray(scaled.any(axis=0) & (lengths_of(scaled) > _UNFELT * whole))


def lengths_of(columns: FloatArray) -> FloatArray:
    """Give the lengths of columns, of which the squares may be too small for numbers; one for zero.

    Where only few rows have a weight left, columns may be of very different length.

    Parameters
    ----------
    columns : ndarray, shape (rows, m)
        The columns.

    Returns
    -------
    ndarray, shape (m,)
        The lengths.
    """
    largest = np.abs(columns).max(axis=0, initial=0.0)
    largest[largest == 0] = 1.0
    lengths = np.linalg.norm(columns / largest, axis=0)
    return np.asarray(largest * np.where(lengths > 0, lengths, 1.0))


def _least_squares(rows: FloatArray, target: FloatArray) -> tuple[FloatArray, float]:
    """Solve least squares among columns of any length; give the square of what is explained too."""
    lengths = lengths_of(rows)
    rows = rows / lengths
    # Large rows first: then small ones keep their digits.
    order = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
    left, triangle, columns = qr(rows[order], mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(triangle.diagonal())
    rank = int((pivots > np.finfo(float).eps * pivots[:1]).sum())
    kept, root = columns[:rank], triangle[:rank, :rank]
    epsilon = np.finfo(float).eps
    along = target[order] @ left[:, :rank]
    hidden = epsilon * lengths_of(target[:, None])[0] * pivots[0] / pivots[:rank]
    # A row that is all but impossible hides the others in that, but not in the gradient.
    from_gradient = solve_triangular(root, (target @ rows)[kept], trans="T")
    inverse = np.abs(solve_triangular(root, np.eye(rank)))
    lost = epsilon * ((np.abs(target) @ np.abs(rows))[kept] @ inverse)
    along = np.where(lost < hidden, from_gradient, along)
    # Columns that are orthogonal but for rounding: what they explain by it is nothing.
    along[np.abs(along) <= _HIDDEN * np.minimum(lost, hidden)] = 0.0
    solution = np.zeros(len(lengths))
    solution[kept] = solve_triangular(root, along)
    return solution / lengths, float(along @ along)
