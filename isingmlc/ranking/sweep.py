r"""Greedy selection of columns by a weighted Gram–Schmidt sweep.

Column j has a score :math:`U_{jk}` for target k and a variance :math:`V_{jk}`, and is worth
:math:`\sum_k r_k U_{jk}^2 / V_{jk}` with a rate :math:`r_k` per target. Once column s is picked,
what it explains is taken out of all others: with :math:`v_{jk}` the cross-product of j with what is
left of s,

.. math:: U_{jk} \leftarrow U_{jk} - v_{jk} U_{sk} / v_{sk}, \quad
          V_{jk} \leftarrow V_{jk} - v_{jk}^2 / v_{sk} .

So a step needs the cross-products of one column with all, and nothing is fitted again. Forward
selection of features for logistic regressions under fixed weights is such a sweep, and so is
forward selection by canonical correlations.

Columns of a term are picked together. A term is worth what its columns add one after the other,
:math:`u'V^{-1}u` with the scores u and the variance V of its columns, both given what was picked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from tqdm import tqdm

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.base.tolerances import TIE
from isingmlc.inference.combine import normal_scores
from isingmlc.inference.pvalues import chi2_log10_sf

# A column with less than this share of its variance left given those picked before has none.
# Rounding adds up over steps, so this is more than a single test needs.
REDUNDANT = 1e-8
# How many columns that lost most by a step are named: those that lost more than this share of
# what they were worth, and at least this share of what the step gained.
_NAMED = 3
_LOST = 0.5
_NOTABLE = 0.05

Cross = Callable[[int], FloatArray]


@dataclass(frozen=True)
class Terms:
    """Columns that are picked together."""

    columns: tuple[IntArray, ...]

    def compare(self, gains: FloatArray, ranks: FloatArray, rate: FloatArray) -> FloatArray:
        """Bring gains to one degree of freedom: what as many columns gain by chance differs."""
        found = gains.copy()
        wide = ranks > 1
        unit = np.broadcast_to(rate, gains.shape)[wide]
        tails = chi2_log10_sf(gains[wide] / unit, ranks[wide])
        found[wide] = normal_scores(np.ones(len(tails)), tails) ** 2 * unit
        return found


@dataclass
class Standing:
    """Where a sweep stands."""

    score: FloatArray
    variance: FloatArray
    scale: FloatArray
    rate: FloatArray
    left: FloatArray
    cross: Cross
    blocks: list[tuple[IntArray, FloatArray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines: list[tuple[FloatArray, FloatArray]] = []

    @property
    def alive(self) -> BoolArray:
        """Where a column has variance of its own left."""
        return np.asarray(self.variance > REDUNDANT * self.scale)

    def worth(self) -> FloatArray:
        """Return what each column would add for each target; zero if nothing is left."""
        variance = np.where(self.alive, self.variance, np.inf)
        return np.asarray(self.rate * self.score**2 / variance)

    def worth_of(self, terms: Terms | None) -> tuple[FloatArray, FloatArray]:
        """Return what each term would add for each target, and how many columns do it."""
        worth, ranks = self.worth(), np.broadcast_to(self.alive, self.score.shape).astype(float)
        if terms is None:
            return worth, ranks
        first = np.array([columns[0] for columns in terms.columns], dtype=np.intp)
        worth, ranks = worth[first], ranks[first]
        places = {int(columns[0]): at for at, columns in enumerate(terms.columns)}
        for columns, block in self.blocks:
            at = places[int(columns[0])]
            parts, counted = add_up_block(self.score[columns], block, self.scale[columns])
            worth[at], ranks[at] = self.rate * parts.sum(axis=0), counted.sum(axis=0)
        return worth, ranks

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
        for columns, block in self.blocks:
            line = crossed[columns]
            block -= line[:, None] * (line / pivot)

    def take_out_all(self, columns: Sequence[int]) -> list[int]:
        """Take what columns explain out of all, one after the other."""
        taken = []
        for column in columns:
            if self.alive[column].any():
                self.take_out(column)
                taken.append(column)
        return taken


def add_up_block(
    score: FloatArray, block: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what the columns of a term add to those before them in the term."""
    score, block = score.copy(), block.copy()
    worth, counted = np.zeros(score.shape), np.zeros(score.shape)
    for at in range(len(score)):
        alive = block[at, at] > REDUNDANT * scale[at]
        pivot = np.where(alive, block[at, at], np.inf)
        worth[at], counted[at] = score[at] ** 2 / pivot, alive
        line = block[at].copy()
        score -= line * (score[at] / pivot)
        block -= line[:, None] * (line / pivot)
    return worth, counted


@dataclass(frozen=True)
class Sweep:
    """What a sweep found."""

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
    terms: Terms | None = None,
) -> Sweep:
    """Pick columns one after the other, each for what it adds to those before."""
    usable, picked = usable.copy(), []
    gains, displaced = [], []
    worth, ranks = standing.worth_of(terms)
    for _ in tqdm(range(n_steps), "forward steps", disable=None, leave=False):
        capped = np.minimum(worth, standing.left)
        counted = _compare(capped, ranks, standing.rate, terms)
        totals = np.where(usable, counted.sum(axis=1), 0.0)
        best = totals.max(initial=0.0)
        if not best > nothing:
            break
        at = int(np.flatnonzero(totals >= best * (1 - TIE))[0])
        if (capped[at] <= worthwhile * standing.rate * np.maximum(ranks[at], 1)).all():
            break
        picked.append(at)
        gains.append(counted[at])
        usable[at] = False
        standing.left = standing.left - capped[at]
        before = _compare(worth, ranks, standing.rate, terms).sum(axis=1)
        columns = [at] if terms is None else terms.columns[at].tolist()
        standing.take_out_all(columns)
        worth, ranks = standing.worth_of(terms)
        after = _compare(worth, ranks, standing.rate, terms).sum(axis=1)
        displaced.append(_lost_most(before, after, usable, best))
    n_targets = len(standing.left)
    remaining = _compare(np.minimum(worth, standing.left), ranks, standing.rate, terms)
    return Sweep(
        np.array(picked, dtype=np.intp),
        np.array(gains).reshape(-1, n_targets),
        tuple(displaced),
        np.where(usable[:, None], remaining, 0.0),
        usable & ~ranks.any(axis=1),
    )


def _compare(
    gains: FloatArray, ranks: FloatArray, rate: FloatArray, terms: Terms | None
) -> FloatArray:
    """Make gains of terms with different numbers of columns comparable."""
    return gains if terms is None else terms.compare(gains, ranks, rate)


def _lost_most(
    before: FloatArray, after: FloatArray, usable: BoolArray, gain: float
) -> tuple[int, ...]:
    """Find the columns whose worth a step took."""
    lost = np.where(usable & (after < (1 - _LOST) * before), before - after, 0.0)
    order = np.argsort(-lost, kind="stable")[:_NAMED]
    return tuple(order[lost[order] > _NOTABLE * gain].tolist())
