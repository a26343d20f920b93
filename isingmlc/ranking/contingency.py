r"""Contingency tables of features and labels, for many features and all labels at once.

A feature's *categories* are its distinct values, in order. The tables of several features stand
one below the other, one row per category. They are counted by one product of matrices: an indicator
of categories, rows × categories, times an indicator of labels. A 0/1 feature is its own indicator,
and what no row of a sparse feature stores, its zeros, is counted by subtraction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import rel_entr

from isingmlc.base.arrays import (
    BoolArray,
    Features,
    FloatArray,
    IntArray,
    chunks,
    chunks_by_size,
    dense,
)

# Tables are counted for so many features at a time that they have about this many cells.
_TABLE_CELLS = 2**20
# Columns of whole numbers that span less than this are their own codes and need no sorting.
_CODED_SPAN = 256
# A count below this fraction of what it was subtracted from is none.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Classes:
    """What features are tabulated against: K labels, or one class variable of L values."""

    membership: Any
    column_sums: FloatArray
    exclusive: bool

    @property
    def totals(self) -> FloatArray:
        """Weighted number of rows with each label or class."""
        return self.column_sums if self.exclusive else self.column_sums[:-1]

    @property
    def n(self) -> float:
        """Weighted number of rows."""
        return float(self.column_sums.sum() if self.exclusive else self.column_sums[-1])

    @classmethod
    def of_labels(cls, labels: BoolArray, weights: FloatArray | None) -> Classes:
        """Prepare labels, shape (n, K)."""
        membership = np.ones((len(labels), labels.shape[1] + 1))
        membership[:, :-1] = labels
        if weights is not None:
            membership *= weights[:, None]
        return cls(membership, membership.sum(axis=0), exclusive=False)

    @classmethod
    def of_codes(cls, codes: IntArray, weights: FloatArray | None) -> Classes:
        """Prepare one class variable, coded 0, 1, …, L − 1."""
        counts = np.ones(len(codes)) if weights is None else weights
        totals = np.bincount(codes, counts).astype(np.float64)
        membership = sparse.csr_array(
            (counts, codes, np.arange(len(codes) + 1)), shape=(len(codes), len(totals))
        )
        return cls(membership, totals, exclusive=True)


@dataclass(frozen=True)
class Tables:
    """Contingency tables of several features, one below the other."""

    counts: Any
    rows: FloatArray
    starts: IntArray

    @property
    def n_categories(self) -> IntArray:
        """Number of categories of each feature that occur."""
        return np.add.reduceat((self.rows > 0).astype(np.intp), self.starts[:-1])

    def take(self, features: BoolArray) -> Tables:
        """Return the tables of some features."""
        if features.all():
            return self
        sizes = np.diff(self.starts)
        kept = np.flatnonzero(np.repeat(features, sizes))
        return Tables(self.counts[kept], self.rows[kept], running_totals(sizes[features]))

    def merge(self, first: IntArray) -> Tables:
        """Merge neighbouring categories; `first` says where the merged ones begin."""
        pool = _pool(np.append(first, len(self.rows)))
        return Tables(pool @ self.counts, pool @ self.rows, np.searchsorted(first, self.starts))


Measure: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


def chi2_cells(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return what cells add to Pearson's chi-square."""
    squares = np.square(observed - expected)
    return np.divide(squares, expected, out=np.zeros_like(squares), where=expected > 0)


def ig_cells(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return what cells add to n times the mutual information, in nats."""
    cells: FloatArray = rel_entr(observed, expected)
    return cells


MEASURES: dict[str, Measure] = {"chi2": chi2_cells, "ig": ig_cells}


def label_cells(
    ones: FloatArray, rows: FloatArray, totals: FloatArray, n: float, measure: Measure
) -> FloatArray:
    """Return what the two cells of a category, label present and absent, add to a measure."""
    present = measure(ones, rows * totals / n)
    return present + measure(subtract_counts(rows, ones), rows * (n - totals) / n)


def subtract_counts(whole: FloatArray, part: FloatArray) -> FloatArray:
    """Subtract counts; what is left by rounding, if weights are fractions, is zero."""
    left = whole - part
    left[left <= _ROUNDING * whole] = 0.0
    return left


def score_tables(tables: Tables, classes: Classes, criterion: str) -> FloatArray:
    """Compute chi-squares or mutual informations of tables."""
    measure, n = MEASURES[criterion], classes.n
    n_categories, n_columns = tables.counts.shape
    by_category = np.empty((n_categories, 1 if classes.exclusive else n_columns))
    for block in chunks(n_categories, 8 * n_columns):
        observed, rows = dense(tables.counts[block]), tables.rows[block, None]
        if classes.exclusive:
            cells = measure(observed, rows * classes.totals / n)
            by_category[block] = cells.sum(axis=1, keepdims=True)
        else:
            by_category[block] = label_cells(observed, rows, classes.totals, n, measure)
    sums = np.add.reduceat(by_category, tables.starts[:-1], axis=0)
    # Exactly, also if weights are fractions and sums are rounded.
    sums[tables.n_categories == 1] = 0.0
    return finish_scores(sums, n, criterion)


def finish_scores(sums: FloatArray, n: float, criterion: str) -> FloatArray:
    """Make scores of sums over cells; rounding may leave those of nothing below zero."""
    scores = np.maximum(sums, 0.0)
    return scores / n if criterion == "ig" else scores


@dataclass(frozen=True)
class Piece:
    """Features that are tabulated together."""

    columns: IntArray
    binary: bool


def cut_into_pieces(features: Features, classes: Classes) -> list[Piece]:
    """Divide features into pieces whose tables are neither too large nor too many."""
    binary = _find_binary(features)
    if sparse.issparse(features):
        most = np.diff(features.indptr) + 1
    else:
        most = np.full(len(binary), features.shape[0])
    n_columns = len(classes.column_sums)
    # Binary features have two categories each, others at most one per row; a row has one class.
    others = most + n_columns if classes.exclusive else most * n_columns
    cells = np.where(binary, most + 2 * n_columns, others)
    pieces = []
    for kind in (True, False):
        columns = np.flatnonzero(binary == kind)
        parts = chunks_by_size(cells[columns], _TABLE_CELLS)
        pieces += [Piece(columns[part], kind) for part in parts]
    return pieces


def tabulate(features: Features, piece: Piece, classes: Classes) -> Tables:
    """Count the contingency tables of some features."""
    part = _take_columns(features, piece.columns)
    if piece.binary:
        return _tabulate_binary(part, classes)
    if sparse.issparse(part):
        return _tabulate_sparse(part, classes)
    indicator, starts = _code(np.asarray(part, dtype=np.float64))
    return _as_tables(indicator @ classes.membership, starts, classes)


def as_columns(features: Features) -> Features:
    """Return features by columns: sparse ones as CSC without stored zeros."""
    if not sparse.issparse(features):
        return features
    columns = features.tocsc()
    columns.eliminate_zeros()
    return columns


def _find_binary(features: Features) -> BoolArray:
    """Mark the columns that hold nothing but 0 and 1."""
    n_rows, n_features = features.shape
    binary = np.ones(n_features, dtype=np.bool_)
    if sparse.issparse(features):
        odd = running_totals(features.data != 1)
        np.equal(odd[features.indptr[1:]], odd[features.indptr[:-1]], out=binary)
        return binary
    for block in chunks(n_rows, 8 * n_features):
        part = features[block]
        binary &= (part.astype(np.bool_) == part).all(axis=0)
        if not binary.any():
            break
    return binary


def _take_columns(features: Features, columns: IntArray) -> Features:
    """Take columns, without a copy if they are neighbours."""
    if columns[-1] - columns[0] + 1 == len(columns):
        return features[:, columns[0] : columns[-1] + 1]
    return features[:, columns]


def running_totals(values: Any) -> Any:
    """Return 0 and the sums of the first value, the first two, and so on."""
    return np.concatenate([[0], np.cumsum(values)])


def mark_changes(*keys: Any) -> BoolArray:
    """Mark the entries at which any of several arrays differs from the entry before."""
    changes = np.ones(len(keys[0]), dtype=np.bool_)
    changes[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return changes


def _pool(pointers: IntArray) -> Any:
    """Return the matrix that sums neighbouring entries; `pointers` say where sums begin and end."""
    n = int(pointers[-1])
    return sparse.csr_array((np.ones(n), np.arange(n), pointers), shape=(len(pointers) - 1, n))


def _as_tables(counts: Any, starts: IntArray, classes: Classes) -> Tables:
    """Tell the counts of labels from those of rows."""
    if classes.exclusive:
        counts = counts.tocsr() if sparse.issparse(counts) else counts
        return Tables(counts, counts.sum(axis=1), starts)
    return Tables(counts[:, :-1], counts[:, -1], starts)


def _tabulate_binary(part: Features, classes: Classes) -> Tables:
    """Count the tables of 0/1 features: one product, the zeros by subtraction."""
    part = part.astype(np.float64, copy=False)
    if sparse.issparse(part):
        ones = dense(part.T @ classes.membership)
    else:
        ones = (classes.membership.T @ part).T
    both = np.empty((part.shape[1], 2, ones.shape[1]))
    both[:, 1] = ones
    both[:, 0] = subtract_counts(classes.column_sums, ones)
    starts = 2 * np.arange(part.shape[1] + 1)
    return _as_tables(both.reshape(-1, ones.shape[1]), starts, classes)


def _code(columns: FloatArray) -> tuple[Any, IntArray]:
    """Return the indicator of the categories, categories × rows, and where features begin."""
    n_rows, n_columns = columns.shape
    low = columns.min(axis=0)
    span = columns.max(axis=0) - low
    stored = np.ones(columns.size)
    if (span < _CODED_SPAN).all():
        codes = (columns - low).astype(np.intp)
        if (codes == columns - low).all():
            starts = running_totals(span.astype(np.intp) + 1)
            codes += starts[:-1]
            pointers = n_columns * np.arange(n_rows + 1)
            shape = (starts[-1], n_rows)
            return sparse.csc_array((stored, codes.ravel(), pointers), shape=shape), starts
    by_feature = np.ascontiguousarray(columns.T)
    order = np.argsort(by_feature, axis=1)
    values = np.take_along_axis(by_feature, order, axis=1)
    new = np.ones(values.shape, dtype=np.bool_)
    np.not_equal(values[:, 1:], values[:, :-1], out=new[:, 1:])
    first = np.flatnonzero(new)
    indicator = sparse.csr_array(
        (stored, order.ravel(), np.append(first, columns.size)), shape=(len(first), n_rows)
    )
    return indicator, np.searchsorted(first, n_rows * np.arange(n_columns + 1))


def _tabulate_sparse(part: Any, classes: Classes) -> Tables:
    """Count the tables of sparse features: stored values are sorted, zeros are what is left."""
    n_rows, n_columns = part.shape
    stored = np.diff(part.indptr)
    thin = np.flatnonzero(stored < n_rows)
    # An entry without weight stands for the zeros of each feature that has any.
    values = np.concatenate([part.data, np.zeros(len(thin))])
    feature = np.concatenate([np.repeat(np.arange(n_columns), stored), thin])
    order = np.lexsort((values, feature))
    rows = np.concatenate([part.indices, np.zeros(len(thin), dtype=part.indices.dtype)])[order]
    values, feature, is_stored = values[order], feature[order], order < part.nnz
    new = mark_changes(values, feature)
    first = np.flatnonzero(new)
    starts = np.searchsorted(feature[first], np.arange(n_columns + 1))
    indicator = sparse.csr_array(
        (is_stored.astype(np.float64), rows, np.append(first, len(order))),
        shape=(len(first), n_rows),
    )
    counts = indicator @ classes.membership
    zeros = np.cumsum(new)[~is_stored] - 1
    place = sparse.csr_array((np.ones(len(thin)), (zeros, thin)), shape=(len(first), n_columns))
    lacking = subtract_counts(classes.column_sums, dense(_pool(starts) @ counts))
    if classes.exclusive:
        counts = sparse.csr_array(counts + place @ sparse.csr_array(lacking))
        counts.eliminate_zeros()
    else:
        counts = counts + place @ lacking
    return _as_tables(counts, starts, classes)
