"""From the attributes of an ARFF file to columns of numbers: 0/1 and indicator coding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import FloatArray
from isingmlc.datasets.arff import ArffTable, Attribute
from isingmlc.input.text import YES_NO_PAIRS


@dataclass(frozen=True)
class Column:
    """One column of numbers, made from one attribute."""

    attribute: int
    name: str
    levels: FloatArray | None = None
    code: int | None = None

    @property
    def omitted(self) -> float:
        """What a cell becomes that a sparse row leaves out: it is the first of its list."""
        return float(self.code == 0) if self.levels is None else float(self.levels[0])

    def translate(self, cells: FloatArray) -> FloatArray:
        """Compute the numbers of this column."""
        if self.levels is None and self.code is None:
            return cells
        missing = np.isnan(cells)
        numbers: FloatArray
        if self.levels is None:
            numbers = (cells == self.code).astype(np.float64)
        else:
            numbers = self.levels[np.where(missing, 0, cells).astype(np.intp)]
        numbers[missing] = np.nan
        return numbers


def yes_no_levels(values: Sequence[str]) -> FloatArray | None:
    """Return 0 or 1 for each value of a yes/no attribute."""
    lowered = [value.lower() for value in values]
    for pair in YES_NO_PAIRS:
        if set(lowered) <= set(pair):
            return np.array([float(value == pair[1]) for value in lowered])
    return None


def columns_of(attribute: Attribute, position: int) -> list[Column]:
    """List the columns that an attribute becomes."""
    if attribute.kind == "number":
        return [Column(position, attribute.name)]
    levels = yes_no_levels(attribute.values)
    if levels is not None:
        return [Column(position, attribute.name, levels)]
    return [
        Column(position, f"{attribute.name}={value}", code=code)
        for code, value in enumerate(attribute.values)
    ]


def number_matrix(table: ArffTable, columns: Sequence[Column]) -> Any:
    """Compute columns of numbers."""
    if sparse.issparse(table.cells):
        return _sparse_matrix(table, columns)
    matrix = np.empty((table.cells.shape[0], len(columns)))
    for at, column in enumerate(columns):
        matrix[:, at] = column.translate(table.cells[:, column.attribute])
    return matrix


def _sparse_matrix(table: ArffTable, columns: Sequence[Column]) -> Any:
    cells = table.cells.tocsc()
    n_rows = cells.shape[0]
    if not columns:
        return sparse.csr_array((n_rows, 0))
    rows, numbers, ends = [], [], [0]
    for column in columns:
        stored = slice(cells.indptr[column.attribute], cells.indptr[column.attribute + 1])
        at = cells.indices[stored]
        values = column.translate(cells.data[stored])
        if column.omitted:
            filled = np.full(n_rows, column.omitted)
            filled[at] = values
            at, values = np.arange(n_rows, dtype=cells.indices.dtype), filled
        # Most cells of a category are zero in each of its columns.
        kept = values != 0
        rows.append(at[kept])
        numbers.append(values[kept])
        ends.append(ends[-1] + len(rows[-1]))
    return sparse.csc_array(
        (np.concatenate(numbers), np.concatenate(rows), np.array(ends)),
        shape=(n_rows, len(columns)),
    ).tocsr()
