"""The fits that a criterion chooses on paths of l1-penalised regressions, without the other fits.

Most penalties of a path are never chosen, and nearly all of them can be ruled out from few fits:
between two penalties the loss is no smaller than at the smaller one. So first only few penalties
are fitted, then those in the middle between them that are not ruled out, those in the middle again,
and so on, together and to few digits, and the chosen one to the last. A fit between two others
begins on the line through them, which is nearly where it ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.fitting.l1_design import Design
from isingmlc.fitting.l1_free import FreeColumns
from isingmlc.fitting.l1_path import (
    EXPLAINED,
    RISE,
    SHORTEST,
    SPARE,
    L1Path,
    PathStart,
    penalties_of,
)
from isingmlc.fitting.l1_solver import NO_GRADIENT, L1Points, L1Problems

# Every so many penalties are fitted, at first and then between those.
_STRIDES = (8, 4, 2, 1)
# Coefficients that a path may lack between two penalties beside each other that both have them.
_LACKING = 2
# Where the explained deviance rises by less than so many times what ends a path, all penalties are
# fitted, to see where it ends.
_SLOW = 20


@dataclass(eq=False)
class _Grid:
    """What is known at the penalties of each outcome: arrays of outcomes × penalties."""

    lam: FloatArray
    known: BoolArray
    loss: FloatArray
    size: IntArray
    intercept: FloatArray
    coef: FloatArray

    @classmethod
    def of(cls, lam: FloatArray, n_columns: int) -> _Grid:
        """Know nothing."""
        shape = lam.shape
        return cls(
            lam,
            np.zeros(shape, dtype=np.bool_),
            np.full(shape, np.inf),
            np.zeros(shape, dtype=np.intp),
            np.zeros(shape),
            np.zeros((*shape, n_columns)),
        )

    def put(self, models: IntArray, at: IntArray, points: L1Points, problems: L1Problems) -> None:
        """Enter fits."""
        self.known[models, at] = True
        self.loss[models, at] = problems.losses(points)
        self.size[models, at] = ((points.coef != 0) & ~problems.free).sum(axis=1)
        self.intercept[models, at], self.coef[models, at] = points.intercept, points.coef

    def guess(
        self, models: IntArray, at: IntArray, above: IntArray, below: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Guess intercepts and coefficients on the lines through two fits of each model."""
        lam, larger, smaller = (self.lam[models, each] for each in (at, above, below))
        part = (larger - lam) / (larger - smaller)
        intercept, coef = self.intercept[models, above], self.coef[models, above]
        return (
            intercept + part * (self.intercept[models, below] - intercept),
            coef + part[:, None] * (self.coef[models, below] - coef),
        )


def choose_fits(
    design: Design,
    outcomes: BoolArray,
    usable: BoolArray,
    *,
    price: float,
    free: FreeColumns | None = None,
    largest_llf: FloatArray | None = None,
    n_lambda: int = 100,
    max_iter: int = 100,
    whole: bool = False,
) -> list[L1Path]:
    """Return the fit of each outcome that a criterion chooses on its path."""
    start = PathStart.of(design, outcomes, usable, free, max_iter)
    lam = _lay_out_penalties(start, n_lambda)
    grid = _Grid.of(lam, len(design.scale))
    most = np.zeros(len(outcomes)) if largest_llf is None else largest_llf
    _fit_some(start, grid, price, most, max_iter, whole)
    for stride in _STRIDES[1:]:
        _fit_between(start, grid, price, stride, max_iter, whole)
    criterion = price * grid.size + 2 * design.nobs * grid.loss
    chosen = np.where(_on_path(start, grid, whole), criterion, np.inf).argmin(axis=1)
    models = np.arange(len(outcomes))
    problems, lam = start.problems_of(models), lam[models, chosen]
    rough = grid.intercept[models, chosen], grid.coef[models, chosen]
    points = problems.solve(problems.start_at(models, lam, *rough), lam, lam, max_iter)
    losses, sizes = problems.losses(points), ((points.coef != 0) & ~problems.free).sum(axis=1)
    return [
        start.name_fits(
            model,
            points.lam[[model]],
            points.intercept[[model]],
            points.coef[[model]],
            n_nonzero=sizes[[model]],
            losses=losses[[model]],
            kkt=points.violation[[model]],
            least_price=price,
        )
        for model in models.tolist()
    ]


def _lay_out_penalties(start: PathStart, n_lambda: int) -> FloatArray:
    """Return the penalties of all outcomes; those of one that nothing explains are all the same."""
    lam = np.repeat(start.lam_max[:, None], n_lambda, axis=1)
    lowest, explained = np.array(start.lowest), start.lam_max > NO_GRADIENT
    for least in set(start.lowest):
        falling = explained & (lowest == least)
        lam[falling] = penalties_of(1.0, None, least, n_lambda) * start.lam_max[falling, None]
    return lam


def _fit_some(
    start: PathStart,
    grid: _Grid,
    price: float,
    most: FloatArray,
    max_iter: int,
    whole: bool,
) -> None:
    """Go down the paths in long steps, to where nothing can be chosen any more."""
    nobs, n_lambda = start.design.nobs, grid.lam.shape[1]
    problems, points = start.problems, start.points
    left, best = np.arange(len(grid.lam)), np.full(len(grid.lam), np.inf)
    before = 0
    for turn in [*range(0, n_lambda - 1, _STRIDES[0]), n_lambda - 1]:
        now, last = grid.lam[left, turn], grid.lam[left, before]
        if turn:
            points = problems.solve(points, now, last, max_iter, rough=True)
        else:
            # The first penalty of each outcome lets no column in.
            points = problems.at_penalty(points, now)
        grid.put(left, np.full(len(left), turn), points, problems)
        loss, charge = grid.loss[left, turn], price * grid.size[left, turn]
        criterion = charge + 2 * nobs * loss
        best[left] = np.minimum(best[left], criterion)
        rises = (grid.loss[left, before] - loss) / start.null_loss[left] if turn else np.inf
        least = charge - SPARE * price - 2 * most[left]
        ended = (least >= best[left]) & (criterion > best[left])
        ended |= now == grid.lam[left, -1]
        if turn >= SHORTEST - 1:
            ended |= 1 - loss / start.null_loss[left] > EXPLAINED
            ended |= (rises < RISE) & (not whole) & (before >= SHORTEST - 1)
        before = turn
        if ended.any():
            left, points = left[~ended], points.take(~ended)
            problems.keep(~ended)
            if not len(left):
                return


def _fit_between(
    start: PathStart, grid: _Grid, price: float, stride: int, max_iter: int, whole: bool
) -> None:
    """Fit the penalties between those that are known, unless they are ruled out."""
    nobs, n_lambda = start.design.nobs, grid.lam.shape[1]
    at = np.arange(n_lambda)
    # The nearest fits on either side; beyond the last one nothing is looked for.
    above = np.maximum.accumulate(np.where(grid.known, at, 0), axis=1)
    below = np.minimum.accumulate(np.where(grid.known, at, n_lambda)[:, ::-1], axis=1)[:, ::-1]
    inside = ~grid.known & (below < n_lambda) & (at % stride == 0)
    below = np.minimum(below, n_lambda - 1)
    lines = np.arange(len(grid.lam))[:, None]
    loss = grid.loss[lines, below]
    size = np.minimum(grid.size[lines, above], grid.size[lines, below])
    best = (price * grid.size + 2 * nobs * grid.loss).min(axis=1, keepdims=True)
    wanted = price * np.maximum(size - _LACKING, 0) + 2 * nobs * loss <= best
    null = start.null_loss[:, None]
    wanted |= 1 - loss / null > EXPLAINED
    if not whole:
        wanted |= (grid.loss[lines, above] - loss) / null < _SLOW * RISE
    models, places = np.nonzero(inside & wanted)
    for some in chunks(len(models), 64 * start.outcomes.shape[1]):
        mine, place = models[some], places[some]
        problems = start.problems_of(mine)
        nearest, lam = above[mine, place], grid.lam[mine, place]
        each = np.arange(len(mine))
        guess = grid.guess(mine, place, nearest, below[mine, place])
        points = problems.start_at(each, lam, *guess)
        points = problems.solve(points, lam, grid.lam[mine, nearest], max_iter, rough=True)
        grid.put(mine, place, points, problems)


def _on_path(start: PathStart, grid: _Grid, whole: bool) -> BoolArray:
    """Mark the fits up to where glmnet would end each path."""
    explained = 1 - grid.loss / start.null_loss[:, None]
    ends = explained > EXPLAINED
    if not whole:
        both = grid.known[:, 1:] & grid.known[:, :-1]
        rise = np.where(both, grid.loss[:, :-1], np.inf) - np.where(both, grid.loss[:, 1:], 0.0)
        ends[:, 1:] |= rise < RISE * start.null_loss[:, None]
    ends[:, : SHORTEST - 1] = False
    over: IntArray = np.cumsum(ends, axis=1) - ends
    return np.asarray(grid.known & (over == 0))
