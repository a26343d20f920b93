"""Features as few points in each cell: values, and how many rows have them.

Rows are needed one by one only where they are far out. Zeros and ones are counted within cells.
Of sparse columns the entries are taken exactly, and the zeros of the cells that have any; all
other zeros are normal. Of other columns, values within three standard deviations of the mean are
three points per cell with the first four moments of the rows there. Without rows, columns of
numbers are two points per cell, one standard deviation above and below the mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, dense
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of
from isingmlc.statistics.sums import RowGroups

# Values farther from the mean than so many standard deviations stay what they are.
_FAR_OUT = 3.0
# Squares of zeros and ones differ from their sums by no more than this share.
_BINARY = 1e-7
# Variation within cells below this share of the squares is rounding.
_NO_SPREAD = 1e-12


@dataclass(frozen=True)
class Points:
    """Values of columns, those of one after those of another, and how many rows have each.

    Where only some cells are listed the rows of the others are zero before the shift; `whole` is
    then the number of rows of a cell at one of its points, and zero at others.
    """

    start: IntArray
    cell: IntArray
    value: FloatArray
    weight: FloatArray
    whole: FloatArray | None = None

    @classmethod
    def joined(cls, *lists: tuple[Any, ...], n_columns: int) -> Points:
        """Put lists of columns, cells, values, weights (and whole) together, by column."""
        rest: list[Any]
        column, *rest = (np.concatenate(each) for each in zip(*lists, strict=True))
        order = np.argsort(column, kind="stable")
        start = np.searchsorted(column[order], np.arange(n_columns + 1))
        return cls(start, *(each[order] for each in rest))

    @classmethod
    def of_moments(cls, counts: FloatArray, *sums: FloatArray) -> Points:
        """Make two points per cell from sums of powers, three from the first four powers.

        Shapes: counts, sums (L, columns).
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, square, *higher = (each / counts for each in sums)
            variance = square - mean**2
            # What single rows leave is rounding.
            varies = (counts > 1) & (variance > _NO_SPREAD * square)
            deviation = np.sqrt(np.where(varies, variance, 1.0))
            skewness, kurtosis = np.zeros_like(mean), np.ones_like(mean)
            if higher:
                cube, fourth = higher
                skewness = (cube - 3 * mean * square + 2 * mean**3) / deviation**3
                kurtosis = fourth - 4 * mean * cube + 6 * mean**2 * square - 3 * mean**4
                kurtosis = np.maximum(kurtosis / deviation**4, 1 + skewness**2)
            half = np.sqrt(kurtosis - 0.75 * skewness**2)
            upper, lower = skewness / 2 + half, skewness / 2 - half
            shares = np.stack([1 / (upper * 2 * half), -1 / (lower * 2 * half)])
        places = np.stack([mean + deviation * upper, mean + deviation * lower, mean])
        shares = np.where(varies, shares, 0.0)
        weight = counts * np.concatenate([shares, 1 - shares.sum(axis=0, keepdims=True)])
        kind, cell, column = np.nonzero(weight > _NO_SPREAD * counts)
        found = column, cell, places[kind, cell, column], weight[kind, cell, column]
        return cls.joined(found, n_columns=mean.shape[1])


class PointsOfFeatures:
    """Represents features as points in cells; `exact` keeps every row."""

    def __init__(self, fit: NetworkFit, stats: LabelsetStatistics, *, exact: bool) -> None:
        self._stats, self._exact = stats, exact
        self._features: Any = None
        self._data = None if fit.rows is None else fit.rows_for("p-values of rare labels")
        if self._data is not None:
            features: Any = self._data.features
            self._features = features.tocsc() if sparse.issparse(features) else features
            self._groups = RowGroups(
                cells_of(stats, self._data), len(stats.counts), self._data.weights
            )

    @property
    def size(self) -> int:
        """How many numbers it takes to find the points of a column, at most."""
        if sparse.issparse(self._features) and not self._exact:
            return 2 * (1 + int(self._features.nnz) // int(self._features.shape[1]))
        return max(2 * len(self._stats.counts), 0 if self._data is None else self._data.n_rows)

    def of(
        self, block: LabelsetStatistics, inside: IntArray, whole: IntArray
    ) -> Iterator[tuple[IntArray, Points]]:
        """Yield which of some features of a block, and their points."""
        sums, squares = block.sums[:, inside], block.squares[:, inside]
        shift = self._stats.shift[whole]
        is_sparse = sparse.issparse(sums) and not shift.any() and not self._exact
        if not is_sparse:
            sums, squares = dense(sums), dense(squares)
        binary = self._are_binary(sums, squares, shift)
        for which, find in ((binary, self._of_ones), (~binary, self._of_numbers)):
            at = np.flatnonzero(which)
            if len(at):
                yield at, find(sums[:, at], squares[:, at], shift[at], whole[at])

    def _are_binary(self, sums: Any, squares: Any, shift: FloatArray) -> BoolArray:
        """Tell which columns are zeros and ones."""
        if sparse.issparse(sums):
            return np.asarray(abs(squares - sums).sum(axis=0) <= _BINARY * squares.sum(axis=0))
        counts = self._stats.counts[:, None]
        ones, origin = sums + counts * shift, counts * shift**2
        off = np.abs(squares - ones * (1 - 2 * shift) - origin) > _BINARY * (squares + origin)
        within = (ones >= -_BINARY * counts) & (ones <= (1 + _BINARY) * counts)
        return np.asarray(~off.any(axis=0) & within.all(axis=0))

    def _of_ones(self, sums: Any, _: Any, shift: FloatArray, whole: IntArray) -> Points:
        """Count ones and zeros in the cells that have ones; in all where that is exact."""
        counts = self._stats.counts
        if sparse.issparse(sums):
            ones = sums.tocoo()
            column, cell, number = ones.col, ones.row, ones.data
        else:
            table = np.clip(sums + counts[:, None] * shift, 0.0, counts[:, None]).T
            column, cell = np.nonzero(table > (-1.0 if self._exact else _BINARY))
            number = table[column, cell]
        rows, zero = counts[cell], -shift[column]
        carriers, others = (
            (column, cell, zero + 1, number, rows),
            (column, cell, zero, rows - number),
        )
        others = tuple(each[rows - number > _BINARY] for each in (*others, np.zeros(len(rows))))
        kept = 4 if self._exact else 5
        return Points.joined(carriers[:kept], others[:kept], n_columns=len(shift))

    def _of_numbers(self, sums: Any, squares: Any, shift: FloatArray, whole: IntArray) -> Points:
        """Take numbers from the rows, or from their means and variances in cells."""
        counts = self._stats.counts
        if self._data is None:
            every = np.repeat(counts[:, None], len(shift), axis=1)
            return Points.of_moments(every, dense(sums), dense(squares))
        features = self._features[:, whole]
        if sparse.issparse(sums):
            return self._of_entries(features)
        values = dense(features) - shift
        if not self._exact and 6 * len(counts) < len(values):
            return self._of_moments(values)
        n_rows, width = values.shape
        weight = np.ones(n_rows) if self._groups.weights is None else self._groups.weights
        cell, weight = np.tile(self._groups.codes, width), np.tile(weight, width)
        return Points(np.arange(width + 1) * n_rows, cell, values.T.ravel(), weight)

    def _of_entries(self, features: Any) -> Points:
        """Take the entries of sparse columns, and the zeros of the cells that they are in."""
        weights, counts = self._groups.weights, self._stats.counts
        column = np.repeat(np.arange(features.shape[1]), np.diff(features.indptr))
        cell = self._groups.codes[features.indices]
        weight = np.ones(len(cell)) if weights is None else weights[features.indices]
        places, where = np.unique(column * len(counts) + cell, return_inverse=True)
        listed = np.bincount(where.ravel(), weight, len(places))
        column_of, cell_of = np.divmod(places, len(counts))
        rows = counts[cell_of]
        zero = np.zeros(len(cell))
        return Points.joined(
            (column, cell, features.data.astype(float), weight, zero),
            (column_of, cell_of, np.zeros(len(rows)), np.maximum(rows - listed, 0.0), rows),
            n_columns=features.shape[1],
        )

    def _of_moments(self, values: FloatArray) -> Points:
        """Take rows that are far out as they are, and three points per cell for the others."""
        groups, counts = self._groups, self._stats.counts
        centre, spread = values.mean(axis=0), values.std(axis=0)
        column, row = np.nonzero((np.abs(values - centre) > _FAR_OUT * spread).T)
        weight = np.ones(len(row)) if groups.weights is None else groups.weights[row]
        cell, far = groups.codes[row], values[row, column]
        values[row, column] = 0.0
        listed = np.bincount(cell * len(spread) + column, weight, counts.size * len(spread))
        rows = counts[:, None] - listed.reshape(len(counts), -1)
        pool, power, moments = groups.pool(), values.copy(), []
        for _ in range(4):
            moments.append(pool @ power)
            power *= values
        inner = Points.of_moments(np.maximum(rows, 0.0), *moments)
        own = np.repeat(np.arange(len(spread)), np.diff(inner.start))
        return Points.joined(
            (own, inner.cell, inner.value, inner.weight),
            (column, cell, far, weight),
            n_columns=len(spread),
        )
