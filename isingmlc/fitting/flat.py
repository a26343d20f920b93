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
    """Maximise the (ridge-penalised) likelihood of a logistic regression that is flat somewhere."""
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
    """Return square roots of the odds against what happened, times counts."""
    return np.asarray(np.sqrt(counts) * np.exp(-0.5 * np.maximum(margin, LEAST_MARGIN)))


def is_felt(scaled: FloatArray, design: FloatArray, counts: FloatArray) -> BoolArray:
    """Mark columns that some row with a weight has, or a penalty."""
    whole = lengths_of(np.sqrt(counts)[:, None] * design)
    return np.asarray(scaled.any(axis=0) & (lengths_of(scaled) > _UNFELT * whole))


def lengths_of(columns: FloatArray) -> FloatArray:
    """Return the lengths of columns whose squares may underflow; one for zero."""
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
