"""Exact draws by elimination of one label after the other, on plain arrays.

Summing a label out of the distribution leaves a table over its neighbours. With an order that keeps
these tables small a network of any size is summed up exactly; then labels are drawn in the reverse
order, each given those it was connected to. The cost doubles with each neighbour at the time of
elimination, not with each label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.simulate.parameters import Laws, RowParameters

# A label with more neighbours than this is not eliminated: its table has 2^20 entries per row.
MAX_WIDTH = 20
# Nor are labels whose tables together have more entries per row than this.
MAX_ENTRIES = 2**26
# What the tables of a block of rows may take together.
_TABLE_BYTES = 2**26


@dataclass(frozen=True)
class Step:
    """One label and what it is connected to when it is summed out, in the order of elimination."""

    label: int
    neighbours: tuple[int, ...]


def order_labels(connected: BoolArray) -> list[Step] | None:
    """Find an order of elimination that connects few labels anew (min-fill).

    Parameters
    ----------
    connected : ndarray of bool, shape (K, K)
        Which labels interact.

    Returns
    -------
    list of Step or None
        All labels in the order of their elimination; None if one would have more than `MAX_WIDTH`
        neighbours.

    Examples
    --------
    >>> chain = np.eye(3, k=1, dtype=bool)
    >>> [step.neighbours for step in order_labels(chain | chain.T)]
    [(1,), (2,), ()]
    """
    # Sets of labels are the bits of whole numbers, which Python counts fast.
    around = [_bits(np.flatnonzero(row)) for row in connected]
    added = {label: _count_added(label, around) for label in range(len(around))}
    chosen: list[tuple[int, list[int]]] = []
    while added:
        candidates = [label for label in added if around[label].bit_count() <= MAX_WIDTH]
        if not candidates:
            return None
        label = min(candidates, key=added.__getitem__)
        neighbours = _members(around[label])
        chosen.append((label, neighbours))
        del added[label]
        for neighbour in neighbours:
            around[neighbour] |= around[label]
            around[neighbour] &= ~(1 << neighbour | 1 << label)
        # New connections change the count of their ends and of whoever knows both ends.
        touched = around[label]
        for neighbour in neighbours:
            touched |= around[neighbour]
        for other in _members(touched):
            added[other] = _count_added(other, around)
    turn = {label: at for at, (label, _) in enumerate(chosen)}
    return [Step(label, tuple(sorted(near, key=turn.__getitem__))) for label, near in chosen]


def count_entries(steps: Sequence[Step]) -> int:
    """Entries of all tables of one row."""
    return sum(2 ** len(step.neighbours) for step in steps)


def draw_by_elimination(
    laws: Laws, n_rows: int, generator: np.random.Generator, steps: Sequence[Step]
) -> IntArray:
    """Draw one label vector per row, n_rows × K."""
    labels = np.empty((n_rows, len(steps)), dtype=np.intp)
    if laws.features is None:
        tables = _eliminate(laws.at(), steps)
        for block in chunks(n_rows, 8 * len(steps)):
            labels[block] = _draw_back(tables, steps, block, generator)
        return labels
    bytes_each = 8 * count_entries(steps)
    for block in chunks(n_rows, bytes_each, limit=_TABLE_BYTES):
        tables = _eliminate(laws.at(block), steps)
        labels[block] = _draw_back(tables, steps, block, generator)
    return labels


def mean_by_elimination(rows: RowParameters, steps: Sequence[Step]) -> FloatArray:
    """Probability that each label is 1, for one row.

    In the reverse order of elimination the neighbours of a label are part of the table of the
    first of them, so their probabilities are sums over that.
    """
    tables = _eliminate(rows, steps)
    means = np.empty(len(steps))
    joint: dict[int, tuple[tuple[int, ...], FloatArray]] = {}
    for step, log_odds in zip(reversed(steps), reversed(tables), strict=True):
        around = np.ones(())
        if step.neighbours:
            scope, known = joint[step.neighbours[0]]
            gone = tuple(at for at, label in enumerate(scope) if label not in step.neighbours)
            around = known.sum(axis=gone)
        chance = special.expit(log_odds[:, 0]).reshape(around.shape)
        both = np.stack([around * (1.0 - chance), around * chance])
        joint[step.label] = (step.label, *step.neighbours), both
        means[step.label] = both[1].sum()
    return means


def _eliminate(rows: RowParameters, steps: Sequence[Step]) -> list[FloatArray]:
    """Sum out all labels; the log-odds of each given its neighbours, 2^neighbours × m.

    In logarithms, since weights can be of any size. What is added is never −inf: all labels that
    were summed out can be 0, whatever the others are.
    """
    n_rows = rows.thresholds.shape[1]
    messages: defaultdict[int, list[tuple[tuple[int, ...], FloatArray]]] = defaultdict(list)
    tables = []
    for step in steps:
        shape = (2,) * len(step.neighbours) + (n_rows,)
        log_odds = np.empty(shape)
        log_odds[:] = rows.thresholds[step.label]
        total = np.zeros(shape)
        for axis, neighbour in enumerate(step.neighbours):
            on = (slice(None),) * axis + (1,)
            log_odds[on] += rows.interaction(step.label, neighbour)
        for scope, message in messages.pop(step.label, []):
            own = tuple(2 if neighbour in scope else 1 for neighbour in step.neighbours)
            off, on = message.reshape(2, *own, n_rows)
            log_odds += on - off
            total += off
        tables.append(log_odds.reshape(-1, n_rows))
        if step.neighbours:
            # log(1 + exp(log_odds)), which neither overflows nor needs the slow log1p: an absolute
            # error of 1e-16 is nothing beside the other terms.
            message = np.abs(log_odds)
            np.negative(message, out=message)
            np.exp(message, out=message)
            message += 1.0
            np.log(message, out=message)
            message += np.maximum(log_odds, 0.0)
            message += total
            messages[step.neighbours[0]].append((step.neighbours, message))
    return tables


def _draw_back(
    tables: Sequence[FloatArray],
    steps: Sequence[Step],
    block: slice,
    generator: np.random.Generator,
) -> IntArray:
    """Draw labels for a block of rows in the reverse order of elimination."""
    n_rows = block.stop - block.start
    uniforms = generator.random((n_rows, len(steps))).T
    labels = np.empty((len(steps), n_rows), dtype=np.intp)
    for step, table in zip(reversed(steps), reversed(tables), strict=True):
        entry = np.zeros(n_rows, dtype=np.intp)
        for neighbour in step.neighbours:
            entry += entry + labels[neighbour]
        log_odds = table[entry, 0 if table.shape[1] == 1 else np.arange(n_rows)]
        labels[step.label] = uniforms[step.label] < special.expit(log_odds)
    return labels.T


def _bits(labels: IntArray) -> int:
    return sum(1 << label for label in labels.tolist())


def _members(bits: int) -> list[int]:
    members = []
    while bits:
        lowest = bits & -bits
        members.append(lowest.bit_length() - 1)
        bits ^= lowest
    return members


def _count_added(label: int, around: Sequence[int]) -> int:
    """Count the pairs of neighbours that are not connected, twice each."""
    near = around[label]
    if near.bit_count() > MAX_WIDTH:
        return 0
    return sum((near & ~around[neighbour]).bit_count() - 1 for neighbour in _members(near))
