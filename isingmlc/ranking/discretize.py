r"""Intervals of features: supervised by minimum description length, by quantiles, by buckets.

All of them work on contingency tables, so the order of the categories of a feature matters and
its values do not: a monotone transformation changes nothing. Cuts lie between distinct values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import entr

from isingmlc.base.arrays import FloatArray, IntArray, chunks_by_size
from isingmlc.ranking.contingency import Tables, mark_changes, running_totals, subtract_counts

# Costs that differ by less are equal, and the first cut is taken: what rounding leaves of a tie
# must not depend on how rows or labels are ordered.
_TIE = 1e-7
# Cuts are looked for in so many places at a time.
_PLACES = 2**18

Intervals: TypeAlias = tuple[IntArray, IntArray]
"""First category of each interval, and the one after its last."""


@dataclass(frozen=True)
class LabelRuns:
    """Labels counted along the categories of features, pair by pair."""

    ones: FloatArray
    zeros: FloatArray
    first: IntArray
    last: IntArray
    n_labels: int

    @classmethod
    def of(cls, tables: Tables) -> LabelRuns:
        """Lay out tables of labels."""
        counts = tables.counts.T
        begins = len(tables.rows) * np.arange(len(counts))[:, None]
        return cls(
            running_totals(counts.ravel()),
            running_totals(subtract_counts(tables.rows, counts).ravel()),
            (begins + tables.starts[:-1]).ravel(),
            (begins + tables.starts[1:]).ravel(),
            len(counts),
        )

    def count(self, intervals: Intervals) -> tuple[FloatArray, FloatArray]:
        """Return the rows with and without the label in each interval."""
        first, last = intervals
        return self.ones[last] - self.ones[first], self.zeros[last] - self.zeros[first]

    def pair(self, intervals: Intervals) -> IntArray:
        """Return the pair of label and feature that each interval belongs to."""
        return np.searchsorted(self.first, intervals[0], side="right") - 1

    def sum_up(self, intervals: Intervals, values: FloatArray) -> FloatArray:
        """Sum values of intervals within pairs, and give them as features × labels."""
        sums = np.bincount(self.pair(intervals), values).astype(np.float64)
        return sums.reshape(self.n_labels, -1).T


def quantile_bins(tables: Tables, n_bins: int) -> IntArray:
    """Merge categories into intervals of about equally many rows."""
    starts = tables.starts[:-1]
    feature = np.repeat(np.arange(len(starts)), np.diff(tables.starts))
    before = np.cumsum(tables.rows) - tables.rows
    middle = before - before[starts][feature] + tables.rows / 2
    total = np.add.reduceat(tables.rows, starts)[feature]
    bins = np.minimum(n_bins * middle // total, n_bins - 1)
    return np.flatnonzero(mark_changes(bins, feature))


def bucket_intervals(runs: LabelRuns, min_bucket: int) -> Intervals:
    """Form the buckets of Holte's one-rule, for every pair of label and feature."""
    done: list[Intervals] = []
    first, end = runs.first, runs.last
    while len(first):
        enough = np.minimum(
            np.searchsorted(runs.ones, runs.ones[first] + min_bucket),
            np.searchsorted(runs.zeros, runs.zeros[first] + min_bucket),
        )
        last = np.minimum(enough, end)
        ones, zeros = runs.count((first, last))
        # Running totals stand still where a category has no rows of the other kind.
        pure = np.where(
            ones > zeros,
            np.searchsorted(runs.zeros, runs.zeros[last], side="right"),
            np.searchsorted(runs.ones, runs.ones[last], side="right"),
        )
        last = np.minimum(pure - 1, end)
        done.append((first, last))
        open_ended = last < end
        first, end = last[open_ended], end[open_ended]
    return _join(done)


def mdl_intervals(runs: LabelRuns) -> Intervals:
    """Cut features by minimum description length, for every label anew; see `mdl_bins`."""

    def sweep(places: _Places) -> _Cuts:
        before = runs.count((places.first, places.at))
        after = runs.count((places.at, places.last))
        return _Cuts(*_label_side(*before), *_label_side(*after))

    return _split(sweep, (runs.first, runs.last))


def mdl_bins(tables: Tables) -> IntArray:
    """Cut features by minimum description length, for a class of many values."""

    def sweep(places: _Places) -> _Cuts:
        return _sweep_classes(tables, places)

    intervals = _split(sweep, (tables.starts[:-1], tables.starts[1:]))
    return np.sort(intervals[0])


@dataclass(frozen=True)
class _Places:
    """Places where intervals can be cut; the last of each interval is its end, which is no cut."""

    at: IntArray
    first: IntArray
    last: IntArray
    begin: IntArray


@dataclass(frozen=True)
class _Cuts:
    """What the two sides of each place hold."""

    cost_before: FloatArray
    rows_before: FloatArray
    classes_before: IntArray
    cost_after: FloatArray
    rows_after: FloatArray
    classes_after: IntArray


_Sweep: TypeAlias = Callable[[_Places], _Cuts]


def _split(sweep: _Sweep, intervals: Intervals) -> Intervals:
    """Cut intervals, and the parts again, until no cut is worth its description."""
    done: list[Intervals] = []
    first, last = intervals
    while len(first):
        parts = chunks_by_size(last - first, _PLACES)
        cut = np.concatenate([_best_cuts(sweep, first[part], last[part]) for part in parts])
        whole = cut == last
        done.append((first[whole], last[whole]))
        split = ~whole
        first, last = (
            np.concatenate([first[split], cut[split]]),
            np.concatenate([cut[split], last[split]]),
        )
    return _join(done)


def _join(intervals: list[Intervals]) -> Intervals:
    """Put lists of intervals one after the other."""
    return (
        np.concatenate([first for first, _ in intervals]),
        np.concatenate([last for _, last in intervals]),
    )


def _ranges(first: IntArray, last: IntArray) -> IntArray:
    """Join the ranges from `first` up to, not including, `last`."""
    sizes = last - first
    steps = np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    return steps + np.arange(len(steps))


def _best_cuts(sweep: _Sweep, first: IntArray, last: IntArray) -> IntArray:
    """Find the best cut of each interval; its end if that is not worth its description."""
    sizes = last - first
    begin = np.cumsum(sizes) - sizes
    places = _Places(
        _ranges(first + 1, last + 1), np.repeat(first, sizes), np.repeat(last, sizes), begin
    )
    cuts = sweep(places)
    cost = cuts.cost_before + cuts.cost_after
    good = np.flatnonzero(cost <= np.repeat(np.minimum.reduceat(cost, begin), sizes) + _TIE)
    best = good[np.searchsorted(good, begin)]
    end = begin + sizes - 1
    n, k, whole = cuts.rows_before[end], cuts.classes_before[end], cuts.cost_before[end]
    gain = whole - cost[best]
    gained = (
        k * _ratio(whole, n)
        - cuts.classes_before[best] * _ratio(cuts.cost_before[best], cuts.rows_before[best])
        - cuts.classes_after[best] * _ratio(cuts.cost_after[best], cuts.rows_after[best])
    )
    # log(3^k − 2), for many classes too.
    description = np.log(np.maximum(n - 1, 1)) + k * np.log(3) + np.log1p(-2 * 3.0**-k) - gained
    accepted = (gain > _TIE) & (gain > description)
    return np.where(accepted, places.at[best], last)


def _ratio(cost: FloatArray, rows: FloatArray) -> FloatArray:
    """Return entropies; no rows have none."""
    return cost / np.where(rows > 0, rows, 1.0)


def _label_side(ones: FloatArray, zeros: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return cost, rows and number of classes of one side of places, for a label."""
    rows = ones + zeros
    cost = entr(ones) + entr(zeros) - entr(rows)
    return cost, rows, np.add(ones > 0, zeros > 0, dtype=np.intp)


def _sweep_classes(tables: Tables, places: _Places) -> _Cuts:
    """Return the sides of places for a class of many values."""
    pointers = tables.counts.indptr.astype(np.intp)
    first, last = places.first[places.begin], places.last[places.begin]
    entry = _ranges(pointers[first], pointers[last])
    owner = np.repeat(np.arange(len(first)), pointers[last] - pointers[first])
    added = tables.counts.data[entry]

    # The entries of one class in one interval, in order.
    key = owner * tables.counts.shape[1] + tables.counts.indices[entry]
    order = np.argsort(key, kind="stable")
    new = mark_changes(key[order])
    run = np.flatnonzero(new)
    lengths = np.diff(np.append(run, len(order)))
    steps = added[order]
    before = np.cumsum(steps) - steps
    before -= np.repeat(before[run], lengths)
    total = np.repeat(np.add.reduceat(steps, run), lengths)
    final = np.append(new[1:], True)
    after = np.where(final, 0.0, total - before - steps)

    begins = running_totals(pointers[last] - pointers[first])[:-1]
    n_places = last - first
    ends = np.repeat(begins, n_places) + pointers[places.at] - pointers[places.first]

    def along(changes: Any) -> Any:
        """Sum what entries change from the begin of an interval up to each place."""
        in_order = np.empty_like(changes)
        in_order[order] = changes
        running = running_totals(in_order)
        return running[ends] - np.repeat(running[begins], n_places)

    rows_before = along(steps)
    sums_before = along(entr(before + steps) - entr(before))
    classes_before = along(new.astype(np.intp))
    lost = along(entr(after + steps) - entr(after))
    gone = along(final.astype(np.intp))
    end = places.begin + n_places - 1
    rows_after = np.repeat(rows_before[end], n_places) - rows_before
    sums_after = np.repeat(sums_before[end], n_places) - lost
    classes_after = np.repeat(classes_before[end], n_places) - gone
    return _Cuts(
        sums_before - entr(rows_before),
        rows_before,
        classes_before,
        sums_after - entr(np.maximum(rows_after, 0.0)),
        rows_after,
        classes_after,
    )
