"""Paths of l1-penalised logistic regressions on weighted rows.

Each penalty starts where the last one ended, so that a few steps are enough. The paths of many
outcomes go down together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import entr

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.l1_design import Design
from isingmlc.fitting.l1_free import FreeColumns
from isingmlc.fitting.l1_solver import NO_GRADIENT, L1Points, L1Problems, tolerance_at

# glmnet ends a path where the explained fraction of the deviance is above the first of these, or
# has risen by less than the second, but not before so many penalties.
EXPLAINED = 0.999
RISE = 1e-5
SHORTEST = 5
# Lower end of glmnet's paths as a part of the upper one, and where there are not more
# observations than columns.
_LOWEST = 1e-4
_LOWEST_WIDE = 1e-2
# Coefficients that a path may lose again after it was ended for a criterion. Of 20,000 choices, by
# five criteria on 4,000 paths of random and real labels, 250 were other than from the whole path
# with 0 of them, 37 with 1, 5 with 2, and none with 3.
SPARE = 5
# On the way to a single penalty each one is at least this part of the one before.
_STRIDE = 0.8


@dataclass(frozen=True)
class L1Path:
    """Penalised regressions of one outcome, from the largest penalty down."""

    lam: FloatArray
    lam_max: float
    n_columns: int
    intercept: FloatArray
    coef: Any
    n_nonzero: IntArray
    llf: FloatArray
    explained: FloatArray
    kkt: FloatArray
    least_price: float

    def __post_init__(self) -> None:
        parts = (self.lam, self.intercept, self.coef.data, self.n_nonzero)
        for array in (*parts, self.llf, self.explained, self.kkt):
            array.flags.writeable = False

    @property
    def converged(self) -> bool:
        """Whether every penalty was solved to the tolerance."""
        return bool((self.kkt <= tolerance_at(self.lam)).all())


@dataclass(frozen=True)
class PathStart:
    """Where the paths of several outcomes begin: no penalised column has a coefficient."""

    design: Design
    outcomes: BoolArray
    usable: BoolArray
    distinct: BoolArray
    free: FreeColumns
    problems: L1Problems
    points: L1Points
    lam_max: FloatArray
    lowest: list[float]
    null_loss: FloatArray

    @classmethod
    def of(
        cls,
        design: Design,
        outcomes: BoolArray,
        usable: BoolArray,
        free: FreeColumns | None,
        max_iter: int,
    ) -> PathStart:
        """Fit what is not penalised; `l1_paths` explains the arguments."""
        free = FreeColumns.none(len(outcomes), len(design.scale)) if free is None else free
        usable = usable & design.varies & ~free.columns
        distinct = np.array(
            [
                design.leave_out_copies(penalised, without) | without
                for penalised, without in zip(usable, free.columns, strict=True)
            ]
        )
        problems = L1Problems(design, outcomes, distinct, free.columns, free.in_play)
        points = problems.null_points(max_iter)
        lam_max = np.abs(np.where(free.columns, 0.0, points.gradient)).max(axis=1, initial=0.0)
        positives = outcomes @ design.share
        is_long = design.nobs > usable.sum(axis=1) + free.columns.sum(axis=1)
        return cls(
            design,
            outcomes,
            usable,
            distinct,
            free,
            problems,
            points,
            lam_max,
            np.where(is_long, _LOWEST, _LOWEST_WIDE).tolist(),
            entr(positives) + entr(1 - positives),
        )

    def problems_of(self, models: IntArray) -> L1Problems:
        """Return the regressions of some outcomes, of one several times perhaps."""
        rows = None if self.free.in_play is None else self.free.in_play[models]
        columns = self.distinct[models], self.free.columns[models]
        return L1Problems(self.design, self.outcomes[models], *columns, rows)

    def name_fits(
        self,
        model: int,
        lam: FloatArray,
        intercept: FloatArray,
        coef: FloatArray,
        *,
        n_nonzero: IntArray,
        losses: FloatArray,
        kkt: FloatArray,
        least_price: float,
    ) -> L1Path:
        """Return fits of an outcome, in the units of its columns."""
        design, usable, is_free = self.design, self.usable[model], self.free.columns[model]
        shared = design.share_among_copies(coef * ~is_free, usable)
        coef = np.where(is_free, coef, shared) / design.scale
        intercept = intercept - coef @ design.center
        self.free.put_limits(model, intercept, coef)
        return L1Path(
            lam=lam,
            lam_max=float(self.lam_max[model]),
            n_columns=int(usable.sum()),
            intercept=intercept,
            coef=sparse.csr_array(coef),
            n_nonzero=n_nonzero,
            llf=-design.nobs * losses,
            explained=1 - losses / self.null_loss[model],
            kkt=kkt,
            least_price=least_price,
        )


def l1_paths(
    design: Design,
    outcomes: BoolArray,
    usable: BoolArray,
    lam: FloatArray | None = None,
    *,
    free: FreeColumns | None = None,
    price: float = 0.0,
    largest_llf: FloatArray | None = None,
    n_lambda: int = 100,
    max_iter: int = 100,
    whole: bool = False,
) -> list[L1Path]:
    """Fit the l1-penalised logistic regressions of several outcomes."""
    start = PathStart.of(design, outcomes, usable, free, max_iter)
    problems, points, lam_max, null_loss = (
        start.problems,
        start.points,
        start.lam_max,
        start.null_loss,
    )
    is_free = start.free.columns
    most = np.zeros(len(outcomes)) if largest_llf is None else largest_llf
    penalties = [
        penalties_of(top, None if lam is None else float(lam[at]), lowest, n_lambda)
        for at, (top, lowest) in enumerate(zip(lam_max.tolist(), start.lowest, strict=True))
    ]
    records: list[list[tuple[Any, ...]]] = [[] for _ in penalties]
    explained: list[list[float]] = [[] for _ in penalties]
    settled = np.zeros(len(penalties), dtype=np.bool_)
    best = np.full(len(penalties), np.inf)
    left, last = np.arange(len(penalties)), lam_max
    for turn in range(max(map(len, penalties), default=0)):
        now = np.array([penalties[model][turn] for model in left.tolist()])
        # The first penalty of each outcome lets no column in.
        points = (
            problems.solve(points, now, last[left], max_iter)
            if turn
            else problems.at_penalty(points, now)
        )
        loss = problems.losses(points)
        n_nonzero = ((points.coef != 0) & ~is_free[left]).sum(axis=1)
        rows = (now, points.intercept, points.coef, n_nonzero, loss, points.violation)
        for model, *row in zip(left.tolist(), *rows, strict=True):
            records[model].append(tuple(row))
            explained[model].append(1 - row[4] / null_loss[model])
        ended = np.array([len(penalties[model]) == turn + 1 for model in left.tolist()])
        if lam is None:
            ended |= np.array([path_has_ended(explained[model], whole) for model in left.tolist()])
            if price > 0:
                charge = price * n_nonzero
                criterion = charge + 2 * design.nobs * loss
                best[left] = np.minimum(best[left], criterion)
                least = charge - SPARE * price - 2 * most[left]
                is_hopeless = (least >= best[left]) & (criterion > best[left])
                settled[left] = is_hopeless & ~ended
                ended |= is_hopeless
        last = lam_max.copy()
        last[left] = now
        if ended.any():
            left, points = left[~ended], points.take(~ended)
            problems.keep(~ended)
            if not len(left):
                break
    paths = []
    for model, record in enumerate(records):
        if lam is not None:
            record = record[-1:]
        lams, intercepts, coefs, sizes, losses, violations = map(
            np.array, zip(*record, strict=True)
        )
        paths.append(
            start.name_fits(
                model,
                lams,
                intercepts,
                coefs,
                n_nonzero=sizes,
                losses=losses,
                kkt=violations,
                least_price=price if settled[model] else 0.0,
            )
        )
    return paths


def penalties_of(lam_max: float, lam: float | None, lowest: float, n_lambda: int) -> list[float]:
    """Return the penalties of a path, or those on the way to a single one."""
    if lam_max <= NO_GRADIENT:
        return [lam_max if lam is None else lam]
    if lam is None:
        path: list[float] = (lam_max * np.geomspace(1, lowest, n_lambda)).tolist()
        return path
    if lam >= lam_max:
        return [lam]
    steps = max(1, int(np.ceil(np.log(lam / lam_max) / np.log(_STRIDE))))
    way: list[float] = np.geomspace(lam_max, lam, steps + 1).tolist()
    return way


def path_has_ended(explained: Sequence[float], whole: bool = False) -> bool:
    """Return whether glmnet would end a path after the penalties fitted so far."""
    return len(explained) >= SHORTEST and (
        explained[-1] > EXPLAINED or (not whole and explained[-1] - explained[-2] < RISE)
    )
