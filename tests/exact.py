"""Separation of whole numbers without rounding: every edge of the cone of directions."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np


def settled_exactly(signed):
    """Find the rows that some direction settles, and the direction as whole numbers.

    Directions in which no margin falls make a cone. If the columns are independent it has corners,
    and is spanned by its edges: on each of them all but one of the columns' number of margins
    are zero. So it suffices to look at the few directions that are orthogonal to so many rows.

    Parameters
    ----------
    signed : ndarray of int, shape (rows, columns)
        Regressors, times -1 where the outcome is 0.

    Returns
    -------
    settled : ndarray of bool, shape (rows,)
        The rows.
    direction : ndarray of int, shape (columns,)
        The sum of the edges.
    """
    distinct = np.unique(signed, axis=0)
    direction = _sum_of_edges(tuple(map(tuple, distinct.tolist())))
    return signed @ direction > 0, direction


@cache
def _sum_of_edges(rows):
    signed = np.array(rows)
    columns = independent(signed)
    inner = signed[:, columns]
    direction = np.zeros(signed.shape[1], dtype=int)
    for chosen in itertools.combinations(inner, max(len(columns) - 1, 0)):
        edge = orthogonal(
            np.array(chosen, dtype=int).reshape(len(chosen), len(columns)), len(columns)
        )
        for side in (edge, -edge):
            if (inner @ side >= 0).all() and (inner @ side > 0).any():
                direction[columns] += side
    return direction


def independent(matrix):
    """Choose columns that no earlier ones give, by elimination with fractions."""
    rest = [[Fraction(int(entry)) for entry in column] for column in matrix.T]
    chosen = []
    for at, column in enumerate(rest):
        pivot = next((row for row, entry in enumerate(column) if entry), None)
        if pivot is None:
            continue
        chosen.append(at)
        for later in rest[at + 1 :]:
            share = later[pivot] / column[pivot]
            later[:] = [one - share * other for one, other in zip(later, column, strict=True)]
    return np.array(chosen, dtype=int)


def orthogonal(rows, n_columns):
    """Give the direction orthogonal to one row less than there are columns, from minors."""
    entries = [
        (-1) ** at * determinant(np.delete(rows, at, axis=1).tolist()) for at in range(n_columns)
    ]
    return np.array(entries, dtype=int)


def determinant(rows):
    """Expand a determinant of whole numbers along its first row."""
    if not rows:
        return 1
    return sum(
        (-1) ** at * entry * determinant([row[:at] + row[at + 1 :] for row in rows[1:]])
        for at, entry in enumerate(rows[0])
        if entry
    )
