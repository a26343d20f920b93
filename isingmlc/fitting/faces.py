"""What shared coefficients settle, where rows are too many to be written out at once.

In a likelihood that has one factor per row, or one term per state that the labels may be in, a
direction of the coefficients settles those whose margin it raises, if it lowers none. Rows are
given by two functions, so that there may be a million of them: a few are written out for a linear
programme, and what it finds is tried on all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.old_separation import (
    UNDECIDED,
    find_separation,
    independent_columns,
    shortest_direction,
    unit_rows,
)
from isingmlc.fitting.shared import SharedTerms

# So many rows are written out at a time.
_ROWS = 4096
# Margins of directions that settle rows by one or more are no further from zero than this by
# rounding.
_ROUNDING = 1e-6
# Entries of rows along directions that span a null space, below this, are rounding.
_NOISE = 1e-8


class Rows(Protocol):
    """Signed regressors of many rows."""

    def take(self, rows: IntArray) -> FloatArray:
        """Write out some rows."""

    def move(self, direction: FloatArray) -> FloatArray:
        """Return the margins of all rows along a direction."""


@dataclass(frozen=True)
class MatrixRows:
    """Rows that are all written out."""

    signed: FloatArray

    def take(self, rows: IntArray) -> FloatArray:
        """Write out some rows."""
        return np.asarray(self.signed[rows])

    def move(self, direction: FloatArray) -> FloatArray:
        """Return the margins of all rows along a direction."""
        return np.asarray(self.signed @ direction)


def counted_direction(labels: FloatArray, terms: SharedTerms) -> FloatArray:
    """Find by counting where coefficients run off: what no row has of one label, or of two."""
    direction, place = np.zeros(terms.n_terms), terms.place
    has_thresholds = bool((place[:, 0] >= 0).all())
    constant = (labels == labels[0]).all(axis=0) & has_thresholds
    direction[place[constant, 0]] = 2 * labels[0, constant] - 1
    varied = (place[:, 1 : 1 + len(place)] >= 0) & ~constant & ~constant[:, None]
    for one, other in ((1, 1), (0, 0), (1, 0), (0, 1)):
        if not has_thresholds and not (one and other):
            continue
        counted = (labels == one).T.astype(np.float64) @ (labels == other)
        first, second = np.nonzero(np.triu((counted == 0) & varied))
        # Less of the product of both, each as it is or one minus it.
        np.add.at(direction, place[first, 1 + second], -1 if one == other else 1)
        if not other:
            np.add.at(direction, place[first, 0], 1 - 2 * one)
        if not one:
            np.add.at(direction, place[second, 0], 1 - 2 * other)
    return direction


def find_settled(rows: Rows, candidates: IntArray, space: FloatArray) -> BoolArray | None:
    """Find rows that some direction settles."""
    rest, chosen = candidates, candidates[:0]
    while space.shape[1] and (len(chosen) or len(rest)):
        if not len(chosen):
            chosen, rest = rest[:_ROWS], rest[_ROWS:]
        written = rows.take(chosen) @ space
        # A row that is brought to unit size must not be one of rounding.
        written[np.abs(written) < _NOISE] = 0.0
        found = find_separation(written)
        if not found.settled.any():
            # A direction that settles anything leaves these rows where they are.
            written = unit_rows(written)
            space = space @ independent_columns(written.T @ written).null_space
            chosen = chosen[:0]
            continue
        moves = rows.move(space @ found.direction)
        margins = moves[candidates]
        lowered = np.flatnonzero(margins < -_ROUNDING)
        if not len(lowered):
            settled = np.zeros(len(moves), dtype=np.bool_)
            settled[candidates[margins > _ROUNDING]] = True
            return settled
        worst = lowered[np.argsort(margins[lowered], kind="stable")[:_ROWS]]
        added = np.setdiff1d(candidates[worst], chosen)
        if not len(added):
            raise exc.ModelError(UNDECIDED)
        chosen = np.concatenate([chosen, added])
    return None


def settling_direction(rows: Rows, settled: IntArray, space: FloatArray) -> FloatArray:
    """Return the shortest direction that settles rows and leaves all others alone."""
    chosen = settled[:_ROWS]
    while True:
        direction = shortest_direction(np.unique(rows.take(chosen), axis=0), space)
        if direction is None:
            raise exc.ModelError(UNDECIDED)
        margins = rows.move(direction)[settled]
        short = np.flatnonzero(margins < 1 - _ROUNDING)
        added = np.setdiff1d(settled[short[np.argsort(margins[short])[:_ROWS]]], chosen)
        if not len(added):
            return direction
        chosen = np.concatenate([chosen, added])
