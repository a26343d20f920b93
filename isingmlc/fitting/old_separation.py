r"""Exact separation and rank of a logistic regression on columns that are 0/1 or of unit size.

A row is *settled* when some direction of the coefficients raises its likelihood for ever and
lowers nobody's. The maximum-likelihood limit then puts probability one on its outcome. What is
settled is found by counting and, where counting does not suffice, by a linear programme; never
by watching iterations diverge.

Where regressors are *signed*, they are times −1 in rows whose outcome is 0: a direction of the
coefficients then raises the likelihood of a row when it raises its linear predictor, the *margin*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse
from scipy.linalg import lapack, solve_triangular

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, typical_sizes
from isingmlc.fitting.settling import settle_by_steps

# Columns are 0/1 or of unit size: a pivot below this share of its diagonal is a zero. That is so of
# 0/1 columns; cross-products of others have half the digits of the columns, and where a pivot is
# not clear the columns themselves are asked.
_PIVOT_TOLERANCE = 1e-9
_CLEAR_PIVOT = 1e-5
# What is left of a column, singular values and pivots are zeros below this share: rounding leaves
# far less and data far more.
RANK_TOLERANCE = 1e-9
# But of a column that lost digits when it was written down so many times that may be left.
_LOST = 8.0
# A column that has less than this of another, both of unit size, does not depend on it.
_NO_SHARE = 1e-7
# Residual of the least-distance problem below which it has no solution, and how far from zero, as
# a share of it, the slope of a column may be at a solution.
_INFEASIBLE = 1e-10
_OPTIMAL = 1e-10
_EXACT = 8 * float(np.finfo(np.float64).eps)
# How well the answer to a linear programme must hold.
_FEASIBLE = 1e-9
# How a linear programme is solved, and again where the answer does not hold: more digits are more
# than some programmes can be solved to.
_TEN_DIGITS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_PROGRAMMES: tuple[dict[str, float], ...] = (_TEN_DIGITS, {}, {"presolve": False})
# Simplex steps per row and column after which a solver is given up; it takes about one.
_MOST_STEPS = 100
UNDECIDED = (
    "whether labels are separated could not be decided: no solver gave an answer that holds. "
    "Columns of very different size may be the cause: rescale the features, or fit with "
    "penalty=1.0."
)


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
        if not len(self.dropped):
            return np.zeros((len(self.kept), 0))
        basis = np.zeros((len(self.kept) + len(self.dropped), len(self.dropped)))
        basis[self.kept] = -self.dependence
        basis[self.dropped, np.arange(len(self.dropped))] = 1.0
        return basis

    def among(self, positions: IntArray, n_columns: int) -> Columns:
        """Return the same of more columns, of which all others are kept."""
        if len(positions) == n_columns:
            return self
        dropped = positions[self.dropped]
        is_kept = np.ones(n_columns, dtype=np.bool_)
        is_kept[dropped] = False
        kept = is_kept.nonzero()[0]
        dependence = np.zeros((len(kept), len(dropped)))
        dependence[np.searchsorted(kept, positions[self.kept])] = self.dependence
        return Columns(kept, dropped, dependence)

    def carry_over(self, coef: FloatArray) -> FloatArray:
        """Return coefficients of the kept columns with the linear predictor of all of them."""
        return np.asarray(coef[self.kept] + self.dependence @ coef[self.dropped])

    def without(self, column: int) -> Columns | None:
        """Leave out a column on which no other depends; None where that is not so easy."""
        stays = self.kept != column
        if stays.all() or self.dependence[~stays].any():
            return None
        kept, dropped = self.kept[stays], self.dropped
        return Columns(kept - (kept > column), dropped - (dropped > column), self.dependence[stays])


def independent_columns(
    gram: FloatArray,
    *,
    in_order: bool = True,
    keep_first: bool = False,
    binary: BoolArray | None = None,
    rows: Callable[[], FloatArray] | None = None,
    lost: FloatArray | None = None,
    known: Columns | None = None,
) -> Columns:
    """Eliminate columns in order, as R does, and drop those without a pivot."""
    if rows is not None and binary is not None and not binary.all():
        if known is None and _has_pivots(gram, _CLEAR_PIVOT):
            return Columns.all_of(len(gram))
        places = binary.nonzero()[0]
        if known is None:
            inner = gram[places[:, None], places]
            known = independent_columns(inner, in_order=in_order, keep_first=keep_first)
        columns = known.among(places, len(gram))
        if _has_pivots(gram[columns.kept[:, None], columns.kept], _CLEAR_PIVOT):
            return columns
        return _from_rows(rows(), np.zeros(len(gram)) if lost is None else lost)
    diagonal = gram.diagonal()
    # Mostly only empty columns depend on others, and that is seen without elimination.
    filled = diagonal.nonzero()[0]
    inner = gram if len(filled) == len(gram) else gram[filled[:, None], filled]
    kept = filled
    if not _has_pivots(inner):
        kept = filled[_in_order(inner) if in_order else _with_pivots(inner, keep_first)]
    if len(kept) == len(gram):
        return Columns.all_of(len(gram))
    is_dropped = np.ones(len(gram), dtype=np.bool_)
    is_dropped[kept] = False
    dropped = is_dropped.nonzero()[0]
    dependence = np.zeros((len(kept), len(dropped)))
    if len(kept) < len(filled):
        leaning = diagonal[dropped].nonzero()[0]
        lines = gram[kept]
        found = lapack.dposv(lines[:, kept], lines[:, dropped[leaning]])[1]
        found[np.abs(found) < _NO_SHARE] = 0.0
        dependence[:, leaning] = found
    return Columns(kept, dropped, dependence)


def _with_pivots(gram: FloatArray, keep_first: bool) -> IntArray:
    """Find a largest set of independent columns, whichever comes first by pivoting."""
    scale = np.sqrt(gram.diagonal())
    if keep_first:
        # The largest comes first.
        scale[0] /= 2
    _, order, rank, _ = lapack.dpstrf(gram / (scale[:, None] * scale), tol=_PIVOT_TOLERANCE)
    return np.sort(order[:rank]) - 1


def _from_rows(rows: FloatArray, lost: FloatArray) -> Columns:
    """Eliminate columns in order, with all their digits."""
    # The triangle of a QR decomposition has the lengths and angles of the columns.
    columns: FloatArray = np.asarray(np.linalg.qr(rows, mode="r"))
    lengths = np.linalg.norm(columns, axis=0)
    longest = lengths.max(initial=0.0) or 1.0
    lost = lost * longest
    basis, triangle = np.zeros((len(columns), 0)), np.zeros((0, 0))
    kept: list[int] = []
    dropped: list[int] = []
    dependences: list[FloatArray] = []
    for at, (rest, length, own) in enumerate(zip(columns.T, lengths, lost, strict=True)):
        along = np.zeros(len(kept))
        # What rounding leaves of a projection is taken out by another.
        for _ in range(2):
            share = rest @ basis
            rest, along = rest - basis @ share, along + share
        left = np.linalg.norm(rest)
        dependence = solve_triangular(triangle, along, check_finite=False) if kept else along
        hidden = _LOST * (own + np.abs(dependence) @ lost[kept])
        if left > max(RANK_TOLERANCE * length, hidden):
            basis = np.column_stack([basis, rest / left])
            triangle = np.pad(triangle, ((0, 1), (0, 1)))
            triangle[:, -1] = np.append(along, left)
            kept.append(at)
        else:
            dropped.append(at)
            is_rounding = np.abs(dependence) < max(_NO_SHARE, hidden / longest)
            dependences.append(np.where(is_rounding, 0.0, dependence))
    table = np.zeros((len(kept), len(dropped)))
    for column, dependence in enumerate(dependences):
        table[: len(dependence), column] = dependence
    return Columns(np.array(kept, dtype=np.intp), np.array(dropped, dtype=np.intp), table)


def _has_pivots(gram: FloatArray, least: float = _PIVOT_TOLERANCE) -> bool:
    """Return whether no column is a linear function of the others."""
    if not len(gram):
        return True
    factor, failed = lapack.dpotrf(gram, clean=0)
    return not failed and bool((factor.diagonal() ** 2 > least * gram.diagonal()).all())


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


def peel(
    outcomes: BoolArray,
    columns: FloatArray,
    uses: BoolArray,
    intercept: bool,
    in_play: BoolArray | None = None,
) -> tuple[BoolArray, list[list[FloatArray]]]:
    """Settle rows of all label models by counting: round after round, drop what columns settle."""
    n_labels, n_columns = uses.shape
    labels = outcomes.astype(np.float64)
    # What may settle rows: carrying a column; with an intercept also lacking it, or any row. The
    # effect of each is on the constant and the coefficients of the columns.
    sides, effects = columns, np.eye(1 + n_columns)[:, 1:]
    may_settle = uses.T
    if intercept:
        sides = np.hstack([columns, 1.0 - columns, np.ones((len(columns), 1))])
        effects = np.hstack([effects, -effects, np.zeros((1 + n_columns, 1))])
        effects[0, n_columns:] = 1.0
        may_settle = np.vstack([uses.T, uses.T, np.ones((1, n_labels), dtype=np.bool_)])
    in_play = np.ones(outcomes.shape, dtype=np.bool_) if in_play is None else in_play.T.copy()
    directions: list[list[FloatArray]] = [[] for _ in range(n_labels)]
    # Where a round settles nothing for a label, none after it does.
    left = np.arange(n_labels)
    while len(left):
        rows = in_play[:, left]
        # Entry (s, k) counts rows in play for label k on side s.
        total, positives = sides.T @ rows, sides.T @ (rows * labels[:, left])
        settles = (positives == 0) | (positives == total)
        settles &= (total > 0) & may_settle[:, left]
        if intercept:
            settles[:-1] &= ~settles[-1]
        # A side that settles has rows in play.
        has_settled = settles.any(axis=0).nonzero()[0]
        if not len(has_settled):
            break
        if len(has_settled) < len(left):
            left, rows = left[has_settled], rows[:, has_settled]
            settles, positives = settles[:, has_settled], positives[:, has_settled]
        direction = effects @ np.where(settles, np.where(positives > 0, 1.0, -1.0), 0.0)
        for label, line in zip(left.tolist(), direction.T, strict=True):
            directions[label].append(line)
        in_play[:, left] = rows & (sides @ settles == 0)
    return np.ascontiguousarray(in_play.T), directions


def unit_rows(rows: FloatArray) -> FloatArray:
    """Bring rows to unit size, which changes neither their rank nor what separates them."""
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    return rows if (sizes <= 1.0).all() else rows / np.maximum(sizes, 1.0)[:, None]


class Separation(NamedTuple):
    """What separation settles."""

    direction: FloatArray
    settled: BoolArray


def find_separation(signed: FloatArray) -> Separation:
    """Find a direction that settles every row that separation settles, by a linear programme."""
    n_rows, n_columns = signed.shape
    # Solvers take what is small for zero, so columns are brought to one size, and then rows.
    units = typical_sizes(signed)
    signed = signed / units
    largest = np.abs(signed).max(axis=1, initial=0.0)
    largest[largest == 0] = 1.0
    signed = signed / largest[:, None]
    sizes = np.linalg.norm(signed, axis=1)
    reach = _FEASIBLE * np.maximum(1.0, sizes)
    constraints = sparse.hstack([-sparse.csr_array(signed), sparse.eye_array(n_rows)])
    limit = _MOST_STEPS * (n_rows + n_columns)
    for options in _PROGRAMMES:
        solution = optimize.linprog(
            np.concatenate([np.zeros(n_columns), -np.ones(n_rows)]),
            A_ub=constraints,
            b_ub=np.zeros(n_rows),
            bounds=[(None, None)] * n_columns + [(0.0, 1.0)] * n_rows,
            method="highs-ds",
            options=options | {"maxiter": limit},
        )
        # Without success there may be no point at all.
        if solution.status == 0:
            direction = np.asarray(solution.x[:n_columns])
            multipliers = -np.asarray(solution.ineqlin.marginals)
            margins = signed @ direction
            others = margins <= 0.5
            is_still = (np.abs(margins[others]) <= reach[others]).all()
            is_complete = (multipliers[others] > 0.5).all() and (multipliers > -_FEASIBLE).all()
            balance = np.abs(multipliers @ signed)
            is_balanced = (balance <= _FEASIBLE * (np.abs(multipliers) @ sizes)).all()
            if is_still and is_complete and is_balanced:
                if others.all():
                    return Separation(np.zeros(n_columns), ~others)
                least = (margins * largest)[~others].min()
                return Separation(direction / units / least, ~others)
    found = settle_by_steps(signed, _PROGRAMMES)
    if found is None:
        raise exc.ModelError(UNDECIDED)
    direction, settled = found
    least = (signed @ direction * largest)[settled].min(initial=np.inf)
    return Separation(direction / units / least, settled)


def shortest_direction(
    settled: FloatArray, null_space: FloatArray, length: float = 1.0
) -> FloatArray | None:
    """Choose the one direction along which to send coefficients to infinity."""
    if not null_space.size:
        return None
    null_space = lapack.dorgqr(*lapack.dgeqrf(null_space)[:2])[0]
    margins = length * (settled @ null_space)
    system = np.vstack([margins.T, np.ones(len(margins))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    sizes = np.sqrt(np.einsum("ij,ij->j", system, system))
    for solve in (_by_nnls, _by_bvls):
        weights = solve(system, target)
        residual = target - system @ weights
        if residual @ residual < _INFEASIBLE:
            # Rows with these weights add up to nothing: not all of them can be settled.
            return None
        # At the optimum no residual points along a column, and none against one in use. Solvers
        # have returned other points.
        slope = (system.T @ residual) / sizes
        steepest = max(slope.max(), np.abs(slope * (weights > 0)).max())
        if steepest <= _OPTIMAL * residual[-1] + _EXACT:
            direction = length * (null_space @ (weights @ margins / residual[-1]))
            direction[np.abs(direction) < 1e-9 * np.abs(direction).max()] = 0.0
            return np.asarray(direction)
    raise exc.ModelError(UNDECIDED)


def _by_nnls(system: FloatArray, target: FloatArray) -> FloatArray:
    """Solve non-negative least squares fast; where that fails, all weights are zero."""
    try:
        return np.asarray(optimize.nnls(system, target, maxiter=30 * system.shape[1])[0])
    except RuntimeError:
        return np.zeros(system.shape[1])


def _by_bvls(system: FloatArray, target: FloatArray) -> FloatArray:
    """Solve non-negative least squares by steps that stand dependent columns."""
    solution = optimize.lsq_linear(system, target, (0.0, np.inf), method="bvls", tol=0.0)
    return np.asarray(np.maximum(solution.x, 0.0))
