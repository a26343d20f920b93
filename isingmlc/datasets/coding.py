"""From the attributes of an ARFF file to columns of numbers: 0/1 and indicator coding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import FloatArray
from isingmlc.datasets._files import file_error
from isingmlc.datasets.arff import ArffTable, Attribute

# In each pair the second value is coded 1. Upper or lower case and the order in which the file
# lists them do not matter.
YES_NO_PAIRS = (
    ("0", "1"),
    ("-1", "1"),
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("off", "on"),
    ("absent", "present"),
)


# What columns may take that a file asks for in a few words, in bytes.
MAX_MEMORY = 2e9


@dataclass(frozen=True)
class Column:
    """One column of numbers, made from one attribute.

    Attributes
    ----------
    attribute : int
        Position of the attribute in the file.
    name : str
        Name of the column.
    levels : ndarray of float or None
        The number that each value of a yes/no category becomes.
    code : int or None
        The value of another category whose cells become 1, all others 0. If `levels` is None too,
        the cells are numbers.
    """

    attribute: int
    name: str
    levels: FloatArray | None = None
    code: int | None = None

    @property
    def omitted(self) -> float:
        """What a cell becomes that a sparse row leaves out: it is the first of its list."""
        return float(self.code == 0) if self.levels is None else float(self.levels[0])

    def translate(self, cells: FloatArray) -> FloatArray:
        """Compute the numbers of this column.

        Parameters
        ----------
        cells : ndarray
            Cells of the attribute.

        Returns
        -------
        ndarray
            Their numbers; NaN where a cell is missing.

        Examples
        --------
        >>> Column(0, "colour=blue", code=2).translate(np.array([2.0, 0.0, np.nan]))
        array([ 1.,  0., nan])
        """
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
    """Give 0 or 1 for each value of a yes/no attribute.

    Parameters
    ----------
    values : sequence of str
        The values that the attribute may take.

    Returns
    -------
    ndarray of float or None
        One number per value; None if the values are not a pair like no/yes.

    Examples
    --------
    >>> yes_no_levels(["YES", "NO"])
    array([1., 0.])
    """
    lowered = [value.lower() for value in values]
    for pair in YES_NO_PAIRS:
        if set(lowered) <= set(pair):
            return np.array([float(value == pair[1]) for value in lowered])
    return None


def columns_of(attribute: Attribute, position: int) -> list[Column]:
    """List the columns that an attribute becomes.

    Parameters
    ----------
    attribute : Attribute
        A number or a category.
    position : int
        Its position in the file.

    Returns
    -------
    list of Column
        One column, or one for each value of a category that is not a yes/no pair.
    """
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
    """Compute columns of numbers.

    Parameters
    ----------
    table : ArffTable
        What was read.
    columns : sequence of Column
        What to compute.

    Returns
    -------
    ndarray or csr_array, shape (rows, columns)
        The numbers; sparse if the table is.

    Raises
    ------
    FileError
        When categories have so many values that their columns would fill the memory.
    """
    if sparse.issparse(table.cells):
        return _sparse_matrix(table, columns)
    if len(columns) > len(table.attributes):
        _check_categories(table, 8 * len(table.lines) * len(columns))
    matrix = np.empty((table.cells.shape[0], len(columns)))
    for at, column in enumerate(columns):
        matrix[:, at] = column.translate(table.cells[:, column.attribute])
    return matrix


def check_memory(table: ArffTable, size: float, what: str, advice: str) -> None:
    """Refuse to make far more of a file than it holds.

    Parameters
    ----------
    table : ArffTable
        What was read.
    size : float
        Bytes that it would become.
    what, advice : str
        What would take them, and what to do instead, for the message.

    Raises
    ------
    FileError
        When that is more than `MAX_MEMORY`.
    """
    if size > MAX_MEMORY:
        raise file_error(table.path, f"{what} would take {size / 1e9:.2g} GB or more. {advice}")


def _check_categories(table: ArffTable, size: float) -> None:
    widest = max(table.attributes, key=lambda attribute: len(attribute.values))
    check_memory(
        table,
        size,
        f"one column per value of a category, {len(widest.values)} for {widest.name!r} alone,",
        "Write sparse rows with few missing values, or declare what is no category as string.",
    )


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
        if column.code is not None:
            _check_categories(table, 12 * ends[-1])  # a number and its column
    return sparse.csc_array(
        (np.concatenate(numbers), np.concatenate(rows), np.array(ends)),
        shape=(n_rows, len(columns)),
    ).tocsr()
