r"""Rank and separation of logistic regressions.

A row is *certain* when some direction of the coefficients raises its likelihood for ever and lowers
that of no other row. The limit of maximum likelihood then gives its outcome probability one. Such
rows are found by counting 0/1 columns (`peel`), from a Newton step, or by a linear programme; a
direction counts only once it is checked on all rows.

Rows are *signed*: regressors times −1 where the outcome is 0. A direction then raises the
likelihood of a row when it raises its linear predictor, the *margin*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy import optimize
from scipy.linalg import lapack, solve_triangular

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, typical_sizes
from isingmlc.base.tolerances import CLEAR_PIVOT, NO_DIRECTION, NO_PIVOT

# Rows that a linear programme is given at a time.
_ROWS = 1500
# So often rows are added to those that the shortest direction is made from.
_ROUNDS = 20
# Of rows and columns of unit size: margins above the one are those of certain rows, and no margin
# falls by more than the other.
CERTAIN = 1e-6
STILL = 1e-8
# A column whose coefficient in another, both of unit size, is below this has no share in it.
_NO_SHARE = 1e-7
# Squared residual of the least-distance problem below which it has no solution: directions are not
# longer than 1e7.
_INFEASIBLE = 1e-14


class Columns(NamedTuple):
    """Which columns of a design are linearly independent of those before them."""

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

    def carry_over(self, coef: FloatArray) -> FloatArray:
        """Return coefficients of the kept columns with the linear predictor of all of them."""
        return np.asarray(coef[self.kept] + self.dependence @ coef[self.dropped])


def independent_columns(gram: FloatArray, rows: Callable[[], FloatArray] | None = None) -> Columns:
    """Choose columns in order, as R does, leaving out those that depend on earlier ones.

    Cross-products suffice for 0/1 columns. Columns of other numbers are given as `rows`, which are
    asked where cross-products leave a doubt.
    """
    filled = np.flatnonzero(gram.diagonal() > 0)
    inner = gram if len(filled) == len(gram) else gram[filled[:, None], filled]
    if _has_pivots(inner, NO_PIVOT if rows is None else CLEAR_PIVOT):
        if len(filled) == len(gram):
            return Columns.all_of(len(gram))
        kept, shares = filled, np.zeros((len(filled), 0))
    elif rows is None:
        kept, shares = _eliminate(filled, inner)
    else:
        kept, shares = _orthogonalize(filled, rows()[:, filled])
    is_kept = np.zeros(len(gram), dtype=np.bool_)
    is_kept[kept] = True
    dropped = np.flatnonzero(~is_kept)
    dependence = np.zeros((len(kept), len(dropped)))
    is_filled = gram.diagonal()[dropped] > 0
    dependence[:, is_filled] = np.where(np.abs(shares) < _NO_SHARE, 0.0, shares)
    return Columns(kept, dropped, dependence)


def _has_pivots(gram: FloatArray, least: float) -> bool:
    """Return whether no column is a linear function of the others."""
    if not len(gram):
        return True
    factor, failed = lapack.dpotrf(gram, clean=0)
    return not failed and bool((factor.diagonal() ** 2 > least * gram.diagonal()).all())


def _eliminate(columns: IntArray, gram: FloatArray) -> tuple[IntArray, FloatArray]:
    """Choose columns by Gaussian elimination of cross-products; return shares in the others."""
    rest, kept = gram.copy(), np.zeros(len(gram), dtype=np.bool_)
    for column, whole in enumerate(gram.diagonal()):
        if rest[column, column] > NO_PIVOT * whole:
            kept[column] = True
            line = rest[column].copy()
            rest -= np.outer(line / line[column], line)
    shares = np.linalg.solve(gram[np.ix_(kept, kept)], gram[np.ix_(kept, ~kept)])
    return columns[kept], shares


def _orthogonalize(columns: IntArray, rows: FloatArray) -> tuple[IntArray, FloatArray]:
    """Choose columns by Gram–Schmidt with all digits; return their shares in the others."""
    size = np.linalg.norm(rows, axis=0)
    triangle: FloatArray = np.asarray(np.linalg.qr(rows / size, mode="r"))
    basis = np.zeros((len(triangle), 0))
    kept = np.zeros(len(columns), dtype=np.bool_)
    for at, column in enumerate(triangle.T):
        rest = column
        for _ in range(2):  # once more for what rounding leaves of the first projection
            rest = rest - basis @ (basis.T @ rest)
        left = np.linalg.norm(rest)
        if left > NO_PIVOT:
            kept[at] = True
            basis = np.column_stack([basis, rest / left])
    inner = basis.T @ triangle
    shares = solve_triangular(inner[:, kept], inner[:, ~kept]) if kept.any() else inner[:, ~kept]
    return columns[kept], shares * (size[~kept] / size[kept, None])


def peel(
    outcomes: BoolArray,
    columns: FloatArray,
    uses: BoolArray,
    intercept: bool,
    uncertain: BoolArray | None = None,
) -> tuple[BoolArray, list[list[FloatArray]]]:
    """Drop rows that a 0/1 column makes certain, round after round, for all label models.

    Rows with one value of a column that have only one outcome are certain. Returns the uncertain
    rows, labels × rows, and each label's directions in the constant and the columns.
    """
    n_labels, n_columns = uses.shape
    labels = outcomes.astype(np.float64)
    # The sides of a column: having it and, with an intercept, lacking it; or all rows.
    sides, effects = columns, np.eye(1 + n_columns)[:, 1:]
    usable = uses.T
    if intercept:
        sides = np.hstack([columns, 1.0 - columns, np.ones((len(columns), 1))])
        effects = np.hstack([effects, -effects, np.zeros((1 + n_columns, 1))])
        effects[0, n_columns:] = 1.0
        usable = np.vstack([uses.T, uses.T, np.ones((1, n_labels), dtype=np.bool_)])
    rows = np.ones(outcomes.shape, dtype=np.bool_) if uncertain is None else uncertain.T.copy()
    directions: list[list[FloatArray]] = [[] for _ in range(n_labels)]
    left = np.arange(n_labels)
    while len(left):
        total, positives = sides.T @ rows[:, left], sides.T @ (rows[:, left] * labels[:, left])
        certain = ((positives == 0) | (positives == total)) & (total > 0) & usable[:, left]
        if intercept:
            certain[:-1] &= ~certain[-1]
        changed = np.flatnonzero(certain.any(axis=0))
        left, certain, positives = left[changed], certain[:, changed], positives[:, changed]
        found = effects @ np.where(certain, np.where(positives > 0, 1.0, -1.0), 0.0)
        for label, direction in zip(left.tolist(), found.T, strict=True):
            directions[label].append(direction)
        rows[:, left] &= sides @ certain == 0
    return np.ascontiguousarray(rows.T), directions


class SignedRows(Protocol):
    """Signed rows of regressors, of which few are written out at a time."""

    def take(self, rows: IntArray) -> FloatArray:
        """Write out some rows."""

    def margins(self, direction: FloatArray) -> FloatArray:
        """Return how far a direction moves all rows."""


@dataclass(frozen=True)
class MatrixRows:
    """Signed rows in memory."""

    signed: FloatArray

    def take(self, rows: IntArray) -> FloatArray:
        """Write out some rows."""
        return np.asarray(self.signed[rows])

    def margins(self, direction: FloatArray) -> FloatArray:
        """Return how far a direction moves all rows."""
        return np.asarray(self.signed @ direction)


def find_direction(rows: SignedRows, candidates: IntArray, space: FloatArray) -> FloatArray | None:
    """Find a direction in a space that raises some rows and lowers none, by linear programmes.

    A programme has few rows; those that its direction lowers are added until there are none. The
    margins that the direction raises most are one. Returns None if the rows overlap.
    """
    chosen = candidates[:0]
    while space.shape[1]:
        if not len(chosen):
            if not len(candidates):
                break
            chosen, candidates = candidates[:_ROWS], candidates[_ROWS:]
        written = rows.take(chosen) @ space
        along = _solve_programme(written)
        if along is None:
            # No direction that makes anything certain moves these rows.
            space, chosen = space @ null_space(written), chosen[:0]
            continue
        margins = rows.margins(space @ along)
        everyone = np.concatenate([chosen, candidates])
        highest = np.abs(margins[everyone]).max()
        lowered = everyone[margins[everyone] < -STILL * highest]
        if not len(lowered):
            return np.asarray(space @ along / highest)
        worst = lowered[np.argsort(margins[lowered], kind="stable")[:_ROWS]]
        added = np.setdiff1d(worst, chosen)
        if not len(added):
            break
        chosen, candidates = np.concatenate([chosen, added]), np.setdiff1d(candidates, added)
    return None


def _solve_programme(rows: FloatArray) -> FloatArray | None:
    """Return a direction that lowers no row and raises some; None if there is none."""
    units = typical_sizes(rows)
    scaled = rows / units
    largest = np.abs(scaled).max(axis=1)
    scaled = scaled[largest > 0] / largest[largest > 0, None]
    if not len(scaled):
        return None
    solution = optimize.linprog(
        -scaled.mean(axis=0),
        A_ub=-scaled,
        b_ub=np.zeros(len(scaled)),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    if solution.status != 0 or (scaled @ solution.x).max() < CERTAIN:
        return None
    return np.asarray(solution.x / units)


def null_space(rows: FloatArray) -> FloatArray:
    """Return directions, as columns, that hardly move any row."""
    scale = np.abs(rows).max(axis=1, initial=0.0)
    rows = rows / np.where(scale > 0, scale, 1.0)[:, None]
    return independent_columns(rows.T @ rows).null_space


def shortest_direction(rows: SignedRows, certain: IntArray, space: FloatArray) -> FloatArray | None:
    """Return the shortest direction in a space with margins of at least one; None if none has.

    It says which coefficients are infinite in the limit.
    """
    if not space.size:
        return None
    space = np.linalg.qr(space)[0]
    chosen = certain[:_ROWS]
    for _ in range(_ROUNDS):
        written = rows.take(chosen) @ space
        system = np.vstack([written.T, np.ones(len(written))])
        target = np.append(np.zeros(len(written.T)), 1.0)
        try:
            weights = optimize.nnls(system, target)[0]
        except RuntimeError:  # too many iterations
            return None
        rest = 1.0 - weights.sum()
        if not rest > _INFEASIBLE:
            return None
        direction = space @ (weights @ written) / rest
        margins = rows.margins(direction)[certain]
        short = np.flatnonzero(margins < 1 - CERTAIN)
        short = short[np.argsort(margins[short], kind="stable")[:_ROWS]]
        added = np.setdiff1d(certain[short], chosen)
        if not len(added):
            direction[np.abs(direction) < NO_DIRECTION * np.abs(direction).max()] = 0.0
            return np.asarray(direction)
        chosen = np.concatenate([chosen, added])
    return None
