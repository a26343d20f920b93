r"""Greedy selection of columns by a weighted Gram–Schmidt sweep.

Column j has a score :math:`U_{jk}` for target k and a variance :math:`V_{jk}`, and is worth
:math:`\sum_k U_{jk}^2 / V_{jk}`. Once column s is picked, what it explains is taken out of all
others: with :math:`v_{jk}` the cross-product of j with what is left of s,

.. math:: U_{jk} \leftarrow U_{jk} - v_{jk} U_{sk} / v_{sk}, \quad
          V_{jk} \leftarrow V_{jk} - v_{jk}^2 / v_{sk} .

So a step needs the cross-products of one column with all, and nothing is fitted again. Forward
selection of features for logistic regressions under fixed weights is such a sweep, and so is
forward selection by canonical correlations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray

# A column with less than this share of its variance left given those picked before has none.
# Rounding adds up over steps, so this is more than a single test needs.
REDUNDANT = 1e-8
# Worths that differ by less than this share differ by rounding: the first column is taken.
TIE = 1e-7
# How many columns that lost most by a step are named: those that lost more than this share of
# what they were worth, and at least this share of what the step gained.
_NAMED = 3
_LOST = 0.5
_NOTABLE = 0.05

Cross = Callable[[int], FloatArray]
Restart = Callable[[list[int]], "Standing"]


@dataclass
class Standing:
    """Where a sweep stands.

    Attributes
    ----------
    score : ndarray, shape (p, K)
        U, given what was picked.
    variance : ndarray, shape (p, K) or (p, 1)
        V; one column if all targets share it.
    scale : ndarray, the shape of `variance`
        What variances are measured by: those before anything was taken out.
    left : ndarray, shape (K,)
        What each target has left to gain, at which its part of a worth is capped; infinite if
        there is no cap.
    cross : callable
        Takes a position and gives the cross-products of that column with all, less what the
        model has taken out of both before any column was picked; the shape of `variance`.
    """

    score: FloatArray
    variance: FloatArray
    scale: FloatArray
    left: FloatArray
    cross: Cross

    def __post_init__(self) -> None:
        self._lines: list[tuple[FloatArray, FloatArray]] = []

    @property
    def alive(self) -> BoolArray:
        """Where a column has variance of its own left."""
        return np.asarray(self.variance > REDUNDANT * self.scale)

    def worth(self) -> FloatArray:
        """Give what each column would add for each target, not capped; zero if nothing is left."""
        variance = np.where(self.alive, self.variance, np.inf)
        return np.asarray(self.score**2 / variance)

    def take_out(self, column: int) -> None:
        """Take what a column explains out of all columns."""
        pivot = np.where(self.alive[column], self.variance[column], np.inf)
        crossed = self.cross(column)
        for line, size in self._lines:
            crossed = crossed - line * (line[column] / size)
        self._lines.append((crossed, pivot))
        self.score = self.score - crossed * (self.score[column] / pivot)
        self.variance = self.variance - crossed * (crossed / pivot)
        self.variance[column] = 0.0


@dataclass(frozen=True)
class Sweep:
    """What a sweep found.

    Attributes
    ----------
    picked : ndarray of int, shape (T,)
        Positions of the columns picked, in order.
    gains : ndarray, shape (T, K)
        What each step added for each target.
    displaced : tuple of tuple of int
        For each step, the columns that lost most of their worth by it.
    remaining : ndarray, shape (p, K)
        What each column would add after the last step; zero for those picked.
    redundant : ndarray of bool, shape (p,)
        Columns of which those picked before leave nothing.
    """

    picked: IntArray
    gains: FloatArray
    displaced: tuple[tuple[int, ...], ...]
    remaining: FloatArray
    redundant: BoolArray


def sweep(
    standing: Standing,
    usable: BoolArray,
    n_steps: int,
    *,
    nothing: float,
    worthwhile: float = 0.0,
    restart: Restart | None = None,
) -> Sweep:
    """Pick columns one after the other, each for what it adds to those before.

    Parameters
    ----------
    standing : Standing
        Where the sweep begins; it is changed.
    usable : ndarray of bool, shape (p,)
        The columns that may be picked.
    n_steps : int
        How many to pick at most.
    nothing : float
        A worth up to this is none: the sweep ends.
    worthwhile : float
        The sweep ends before a column that adds no more than this for any target.
    restart : callable, optional
        Gives a new standing once these columns are picked, if there is one. The old one is swept
        if omitted.

    Returns
    -------
    Sweep
        What was picked, and what is left.

    Examples
    --------
    The third column is the sum of the others, and the best by itself:

    >>> columns = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    >>> target = np.array([[2.0], [1.0], [0.0]])
    >>> start = Standing(
    ...     score=columns.T @ target,
    ...     variance=(columns**2).sum(axis=0)[:, None],
    ...     scale=(columns**2).sum(axis=0)[:, None],
    ...     left=np.array([np.inf]),
    ...     cross=lambda at: columns.T @ columns[:, [at]],
    ... )
    >>> found = sweep(start, np.ones(3, dtype=bool), 3, nothing=1e-9)
    >>> found.picked, found.gains.ravel(), found.redundant
    (array([2, 0]), array([4.5, 0.5]), array([False,  True, False]))
    """
    usable, picked = usable.copy(), []
    gains, displaced = [], []
    worth = standing.worth()
    for _ in tqdm(range(n_steps), "forward steps", disable=None, leave=False):
        capped = np.minimum(worth, standing.left)
        totals = np.where(usable, capped.sum(axis=1), 0.0)
        best = totals.max(initial=0.0)
        if not best > nothing:
            break
        column = int(np.flatnonzero(totals >= best * (1 - TIE))[0])
        if capped[column].max() <= worthwhile:
            break
        picked.append(column)
        gains.append(capped[column])
        usable[column] = False
        standing.left = standing.left - capped[column]
        standing = _next(standing, picked, restart)
        before, worth = worth.sum(axis=1), standing.worth()
        displaced.append(_lost_most(before, worth.sum(axis=1), usable, best))
    n_targets = len(standing.left)
    remaining = np.where(usable[:, None], np.minimum(worth, standing.left), 0.0)
    return Sweep(
        np.array(picked, dtype=np.intp),
        np.array(gains).reshape(-1, n_targets),
        tuple(displaced),
        remaining,
        usable & ~standing.alive.any(axis=1),
    )


def _next(standing: Standing, picked: list[int], restart: Restart | None) -> Standing:
    """Give the standing once a further column is picked."""
    if restart is not None:
        return restart(picked)
    standing.take_out(picked[-1])
    return standing


def _lost_most(
    before: FloatArray, after: FloatArray, usable: BoolArray, gain: float
) -> tuple[int, ...]:
    """Find the columns whose worth a step took."""
    lost = np.where(usable & (after < (1 - _LOST) * before), before - after, 0.0)
    order = np.argsort(-lost, kind="stable")[:_NAMED]
    return tuple(order[lost[order] > _NOTABLE * gain].tolist())
