"""Cross-products of the columns of a design, most of them 0/1, under many weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray

# Share of entries from which on a matrix is multiplied faster when it is not sparse.
_DENSE = 0.1
# What entries of sparse sums, columns and pairs of columns take in comparison, per row.
_OF_ENTRY, _OF_COLUMN, _OF_PAIR = 1.5, 2.0, 0.05
# Pairs of columns that labelsets may carry in all before matrices are multiplied instead.
_MOST_PAIRS = 2**24
# Share of rows that runs of equal ones may be for adding these up to pay.
_FEWER = 0.5


class PairSums:
    """Weighted cross-products :math:`Z'WZ` of the columns of a design, for many weights."""

    def __init__(self, design: FloatArray, binary: BoolArray | None = None) -> None:
        self.design = design
        self._pool: Any = None
        size = design.shape[1]
        self.place = np.arange(size * size).reshape(size, size)
        self.n_sums = size * size
        self._cost = np.inf
        self.binary = np.ones(size, dtype=np.bool_) if binary is None else binary
        self._wide = np.flatnonzero(~self.binary)
        self._runs: Any = None
        carried, inside = design, np.flatnonzero(self.binary)
        if len(self._wide):
            carried = design[:, inside]
            # Cells of one labelset stand together, one after the other.
            begins = (carried[1:] != carried[:-1]).any(axis=1)
            first = np.concatenate([[0], np.flatnonzero(begins) + 1])[: len(design)]
            if len(first) < _FEWER * len(design):
                ends = np.append(first, len(design))
                entries = np.ones(len(design)), np.arange(len(design)), ends
                self._runs = sparse.csr_array(entries, shape=(len(first), len(design)))
                carried = carried[first]
        n_carried = np.count_nonzero(carried, axis=1)
        n_pairs = int((n_carried * (n_carried + 1)).sum()) // 2
        if n_pairs > _MOST_PAIRS:
            return
        n_columns = len(inside)
        is_dense = n_pairs > _DENSE * len(carried) * n_columns * (n_columns + 1) / 2
        place, self._pool = (_every_pair if is_dense else _carried_pairs)(carried)
        self.n_sums = n_sums = self._pool.shape[0]
        if len(self._wide):
            self.place[inside[:, None], inside] = place
            # After these come the products of each wide column with all columns.
            for column in self._wide.tolist():
                self.place[column] = self.place[:, column] = self.n_sums + np.arange(size)
                self.n_sums += size
        else:
            self.place = place
        is_dense = isinstance(self._pool, np.ndarray)
        self._cost = _OF_ENTRY * (_OF_PAIR * n_sums * len(carried) if is_dense else n_pairs)
        self._cost += _OF_PAIR * design.size * len(self._wide)

    @cached_property
    def widest(self) -> FloatArray:
        """The largest entry of each column, whatever its sign, shape (m,)."""
        return np.asarray(np.abs(self.design).max(axis=0, initial=0.0))

    def crossing(
        self, columns: Sequence[IntArray]
    ) -> Callable[[Iterable[int], FloatArray], list[FloatArray]]:
        """Return what makes Z'WZ of the columns of several models."""
        size = sum(map(len, columns)) / max(len(columns), 1)
        one_by_one = len(self.design) * size * (_OF_COLUMN + _OF_PAIR * size)
        if one_by_one < self._cost:

            def multiply(models: Iterable[int], weights: FloatArray) -> list[FloatArray]:
                lines = (self._lines[columns[model]] for model in models)
                return [(own * line) @ own.T for own, line in zip(lines, weights, strict=True)]

            return multiply
        places = [self.place[at[:, None], at] for at in columns]

        def collect(models: Iterable[int], weights: FloatArray) -> list[FloatArray]:
            lines = zip(models, self.under(weights), strict=True)
            return [sums.take(places[model]) for model, sums in lines]

        return collect

    @cached_property
    def _lines(self) -> FloatArray:
        """The design with one line per column."""
        return np.ascontiguousarray(self.design.T)

    def under(self, weights: FloatArray) -> FloatArray:
        """Return the sums under each line of weights."""
        if self._pool is not None:
            lines = weights.T if self._runs is None else self._runs @ weights.T
            carried = (self._pool @ lines).T
            if not len(self._wide):
                return np.ascontiguousarray(carried)
            crossed = [(weights * self.design[:, at]) @ self.design for at in self._wide.tolist()]
            return np.hstack([carried, *crossed])
        products = [(self.design.T * line) @ self.design for line in weights]
        return np.array(products).reshape(len(weights), -1)

    def quadratic_forms(self, entries: FloatArray) -> FloatArray:
        """Return z'Mz of each row z of the design, for several symmetric M."""
        if self._pool is None:
            matrices = entries.reshape(-1, *self.place.shape)
            forms = [np.einsum("ij,ij->i", self.design @ each, self.design) for each in matrices]
            return np.array(forms).reshape(len(entries), -1)
        # Rows carry each pair once, but off the diagonal its entry counts twice.
        n_carried = self._pool.shape[0]
        times = np.full(self.n_sums, 2.0)
        times[self.place.diagonal()] = 1.0
        forms = self._pool.T @ (times * entries)[:, :n_carried].T
        forms = (forms if self._runs is None else self._runs.T @ forms).T
        size = self.design.shape[1]
        for order, column in enumerate(self._wide.tolist()):
            # A pair of wide columns stands with the later one, for both.
            twice = np.where(np.isin(np.arange(size), self._wide[order:]), 0.0, 2.0)
            twice[column] = 1.0
            begin = n_carried + order * size
            slopes = (twice * entries[:, begin : begin + size]) @ self.design.T
            forms = forms + slopes * self.design[:, column]
        return np.ascontiguousarray(forms)


def _every_pair(carried: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return where the product of two columns is, and which rows carry both: pairs × rows."""
    size = carried.shape[1]
    later, earlier = np.tril_indices(size)
    place = np.empty((size, size), dtype=np.intp)
    place[later, earlier] = place[earlier, later] = np.arange(len(later))
    lines = np.ascontiguousarray(carried.T)
    return place, lines[later] * lines[earlier]


def _carried_pairs(carried: FloatArray) -> tuple[IntArray, Any]:
    """Return the same for pairs that some row carries, most likely sparse; others share a sum."""
    n_rows, size = carried.shape
    rows, columns = carried.nonzero()
    n_carried = np.bincount(rows, minlength=n_rows)
    # Each column that a row carries is paired with itself and those before it.
    begin = (np.cumsum(n_carried) - n_carried)[rows]
    n_partners = np.arange(len(rows)) - begin + 1
    later = np.repeat(np.arange(len(rows)), n_partners)
    earlier = np.arange(len(later)) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
    earlier += begin[later]
    flat = columns[later] * size + columns[earlier]
    occurs = np.zeros(size * size, dtype=np.bool_)
    occurs[flat] = True
    # Pairs that no row carries share a last sum, which is zero.
    number = np.where(occurs, np.cumsum(occurs) - 1, occurs.sum())
    place = np.minimum(number.reshape(size, size), number.reshape(size, size).T)
    shape = int(occurs.sum()) + 1, n_rows
    if len(flat) > _DENSE * shape[0] * shape[1]:
        pool = np.zeros(shape)
        pool[number[flat], rows[later]] = 1.0
        return place, pool
    ends = np.concatenate([[0], np.cumsum(n_carried * (n_carried + 1) // 2)])
    return place, sparse.csc_array((np.ones(len(flat)), number[flat], ends), shape=shape)
