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
from isingmlc.inference.combine import normal_scores
from isingmlc.inference.pvalues import chi2_log10_sf

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


@dataclass(frozen=True)
class Terms:
    """Columns that are picked together.

    Attributes
    ----------
    columns : tuple of ndarray of int
        Positions of the columns of each term.
    """

    columns: tuple[IntArray, ...]

    def compare(self, gains: FloatArray, ranks: FloatArray, rate: FloatArray) -> FloatArray:
        """Bring gains to one degree of freedom: what as many columns gain by chance differs.

        Parameters
        ----------
        gains, ranks : ndarray, shape (terms, K)
            What each term adds to each target, and the number of columns that do.
        rate : ndarray, shape (K,)
            What gains are divided by to have chi-square distributions if a term does nothing.

        Returns
        -------
        ndarray, shape (terms, K)
            The gains of single columns that have the same tail probabilities.

        Examples
        --------
        >>> terms = Terms((np.arange(1), np.arange(1, 5)))
        >>> gains, ranks = np.array([[9.0], [9.0]]), np.array([[1.0], [4.0]])
        >>> terms.compare(gains, ranks, np.ones(1)).round(2)
        array([[9.  ],
               [3.51]])
        """
        found = gains.copy()
        wide = ranks > 1
        unit = np.broadcast_to(rate, gains.shape)[wide]
        tails = chi2_log10_sf(gains[wide] / unit, ranks[wide])
        found[wide] = normal_scores(np.ones(len(tails)), tails) ** 2 * unit
        return found


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
    rate : ndarray, shape (K,)
        What a statistic of 1, which has a chi-square distribution if a column does nothing, is
        worth, target by target.
    left : ndarray, shape (K,)
        What each target has left to gain, at which its part of a worth is capped; infinite if
        there is no cap.
    cross : callable
        Takes a position and gives the cross-products of that column with all, less what the
        model has taken out of both before any column was picked; the shape of `variance`.
    blocks : list of pairs
        Positions of the columns of a term, and their variance matrices given what was picked, of
        shape (d, d, K) or (d, d, 1), for all terms of several columns.
    """

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
        """Give what each column would add for each target, not capped; zero if nothing is left."""
        variance = np.where(self.alive, self.variance, np.inf)
        return np.asarray(self.rate * self.score**2 / variance)

    def worth_of(self, terms: Terms | None) -> tuple[FloatArray, FloatArray]:
        """Give what each term would add for each target, not capped, and how many columns do it.

        Parameters
        ----------
        terms : Terms or None
            The terms; single columns if omitted.

        Returns
        -------
        worth, ranks : ndarray, shape (terms, K)
            What is added; the columns that have variance left given those before them in the term.
        """
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
        """Take what columns explain out of all, one after the other.

        Parameters
        ----------
        columns : sequence of int
            Positions of the columns.

        Returns
        -------
        list of int
            Those that had something left to take out.
        """
        taken = []
        for column in columns:
            if self.alive[column].any():
                self.take_out(column)
                taken.append(column)
        return taken


def add_up_block(
    score: FloatArray, block: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Give what the columns of a term add to those before them in the term.

    Parameters
    ----------
    score : ndarray, shape (d, K)
        Scores of the columns.
    block : ndarray, shape (d, d, K) or (d, d, 1)
        Their variance matrices.
    scale : ndarray, shape (d, K) or (d, 1)
        What variances are measured by.

    Returns
    -------
    worth, counted : ndarray, shape (d, K)
        What each column adds; 1 if it has variance of its own left, 0 if not.

    Examples
    --------
    The third column is the sum of the others:

    >>> columns = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    >>> block = (columns.T @ columns)[:, :, None]
    >>> worth, counted = add_up_block(columns.T @ [[2.0], [1.0]], block, np.ones((3, 1)))
    >>> worth.ravel(), counted.ravel()
    (array([4., 1., 0.]), array([1., 1., 0.]))
    """
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
    """What a sweep found.

    Attributes
    ----------
    picked : ndarray of int, shape (T,)
        Positions of the columns (or terms) picked, in order.
    gains : ndarray, shape (T, K)
        What each step added for each target; of terms, at one degree of freedom.
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
    terms: Terms | None = None,
) -> Sweep:
    """Pick columns one after the other, each for what it adds to those before.

    Parameters
    ----------
    standing : Standing
        Where the sweep begins; it is changed.
    usable : ndarray of bool, shape (p,)
        The columns (or terms) that may be picked.
    n_steps : int
        How many to pick at most.
    nothing : float
        A worth up to this is none: the sweep ends.
    worthwhile : float
        The sweep ends before a column whose statistic is no larger than this for any target; before
        a term whose statistic is no larger than as many times this as it has columns.
    restart : callable, optional
        Gives a new standing once these columns are picked besides those before, if there is one.
        The old one is swept if omitted.
    terms : Terms, optional
        Columns that are picked together; single columns are picked if omitted.

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
    ...     rate=np.ones(1),
    ...     left=np.array([np.inf]),
    ...     cross=lambda at: columns.T @ columns[:, [at]],
    ... )
    >>> found = sweep(start, np.ones(3, dtype=bool), 3, nothing=1e-9)
    >>> found.picked, found.gains.ravel(), found.redundant
    (array([2, 0]), array([4.5, 0.5]), array([False,  True, False]))
    """
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
        standing = _next(standing, columns, restart)
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


def _next(standing: Standing, columns: Sequence[int], restart: Restart | None) -> Standing:
    """Give the standing once further columns are picked."""
    if restart is not None:
        return restart(list(columns))
    standing.take_out_all(columns)
    return standing


def _lost_most(
    before: FloatArray, after: FloatArray, usable: BoolArray, gain: float
) -> tuple[int, ...]:
    """Find the columns whose worth a step took."""
    lost = np.where(usable & (after < (1 - _LOST) * before), before - after, 0.0)
    order = np.argsort(-lost, kind="stable")[:_NAMED]
    return tuple(order[lost[order] > _NOTABLE * gain].tolist())
