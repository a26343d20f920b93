"""Separation found face by face, where one linear programme for all rows has no answer that holds.

Entries of a column may have very different sizes, as those of a spline near its knots: a direction
that settles rows at the small ones by a margin of one is so long that its rounding hides what it
does to others. A direction of bounded size settles what it can; of the rows that are left columns
are brought to one size again, and so on until multipliers prove that no other row is settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

from isingmlc.base.arrays import BoolArray, FloatArray

# Margins of rows that a step settles are above the one; no margin falls by more than the other.
_CLEAR = 1e-6
_STILL = 1e-9


class _Step(NamedTuple):
    """A direction, what it settles of the rows it was asked about, and whether it is the last."""

    direction: FloatArray
    settled: BoolArray
    is_last: bool


def settle_by_steps(
    signed: FloatArray, programmes: Sequence[dict[str, float]]
) -> tuple[FloatArray, BoolArray] | None:
    """Find what separation settles, step by step."""
    n_rows, n_columns = signed.shape
    left = np.arange(n_rows)
    steps: list[FloatArray] = []
    settled: list[BoolArray] = []
    # Every step leaves a face of a lower dimension.
    for _ in range(n_columns + 1):
        step = _take_step(signed[left], programmes)
        if step is None:
            return None
        if step.is_last:
            break
        rows = np.zeros(n_rows, dtype=np.bool_)
        rows[left[step.settled]] = True
        steps.append(step.direction)
        settled.append(rows)
        left = left[~step.settled]
    direction = np.zeros(n_columns)
    # What an earlier step settled outweighs what later ones do to it.
    for line, rows in zip(reversed(steps), reversed(settled), strict=True):
        own, others = signed[rows] @ line, signed[rows] @ direction
        direction = direction + max(float(((1.0 - others) / own).max()), 0.0) * line
    in_all = np.any([np.zeros(n_rows, dtype=np.bool_), *settled], axis=0)
    # What rounding left of a step in rows of later ones may outweigh what these do to them.
    is_proved = (signed[in_all] @ direction > 0.5).all()
    return (direction, in_all) if is_proved else None


def _take_step(signed: FloatArray, programmes: Sequence[dict[str, float]]) -> _Step | None:
    """Settle some rows by a direction of bounded size, or prove that none is settled."""
    columns = np.flatnonzero(signed.any(axis=0))
    direction = np.zeros(signed.shape[1])
    if not len(columns):
        return _Step(direction, np.zeros(len(signed), dtype=np.bool_), is_last=True)
    units = np.abs(signed[:, columns]).max(axis=0)
    rows = signed[:, columns] / units
    largest = np.abs(rows).max(axis=1)
    rows = rows / np.where(largest > 0, largest, 1.0)[:, None]
    n_rows, n_columns = rows.shape
    for options in programmes:
        solution = optimize.linprog(
            np.concatenate([np.zeros(n_columns), -np.ones(n_rows)]),
            A_ub=sparse.hstack([-sparse.csr_array(rows), sparse.eye_array(n_rows)]),
            b_ub=np.zeros(n_rows),
            bounds=[(-1.0, 1.0)] * n_columns + [(0.0, 1.0)] * n_rows,
            method="highs-ds",
            options=options,
        )
        if solution.status != 0:
            continue
        found = np.asarray(solution.x[:n_columns])
        margins = rows @ found
        settled = np.asarray(margins > _CLEAR)
        if (margins < -_STILL).any():
            continue
        if settled.any():
            # Rows of smaller margins are asked again when columns are of their size.
            direction[columns] = found / units
            return _Step(direction, settled, is_last=False)
        # Multipliers that are positive everywhere and under which rows add up to nothing.
        multipliers = -np.asarray(solution.ineqlin.marginals)
        balance = np.abs(multipliers @ rows)
        if (multipliers > 0.5).all() and (balance <= _STILL * multipliers.sum()).all():
            return _Step(direction, settled, is_last=True)
    return None
