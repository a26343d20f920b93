"""From the attributes of an ARFF file to columns of numbers: 0/1 and indicator coding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import FloatArray
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
        The number that each value of a category becomes; None if the cells are numbers.
    """

    attribute: int
    name: str
    levels: FloatArray | None


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
        return [Column(position, attribute.name, None)]
    levels = yes_no_levels(attribute.values)
    if levels is not None:
        return [Column(position, attribute.name, levels)]
    indicators = np.eye(len(attribute.values))
    return [
        Column(position, f"{attribute.name}={value}", row)
        for value, row in zip(attribute.values, indicators, strict=True)
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
    """
    if sparse.issparse(table.cells):
        return _sparse_matrix(table.cells.tocsc(), columns)
    matrix = np.empty((table.cells.shape[0], len(columns)))
    for at, column in enumerate(columns):
        matrix[:, at] = _translate(table.cells[:, column.attribute], column.levels)
    return matrix


def _translate(codes: FloatArray, levels: FloatArray | None) -> FloatArray:
    if levels is None:
        return codes
    missing = np.isnan(codes)
    numbers = levels[np.where(missing, 0, codes).astype(np.intp)]
    numbers[missing] = np.nan
    return numbers


def _sparse_matrix(cells: Any, columns: Sequence[Column]) -> Any:
    n_rows = cells.shape[0]
    if not columns:
        return sparse.csr_array((n_rows, 0))
    rows, numbers, ends = [], [], [0]
    for column in columns:
        stored = slice(cells.indptr[column.attribute], cells.indptr[column.attribute + 1])
        at = cells.indices[stored]
        values = _translate(cells.data[stored], column.levels)
        if column.levels is not None and column.levels[0] != 0:
            # What a sparse row leaves out is the first value of the list, here not a zero.
            filled = np.full(n_rows, column.levels[0])
            filled[at] = values
            at, values = np.arange(n_rows, dtype=cells.indices.dtype), filled
        rows.append(at)
        numbers.append(values)
        ends.append(ends[-1] + len(at))
    matrix = sparse.csc_array(
        (np.concatenate(numbers), np.concatenate(rows), np.array(ends)),
        shape=(n_rows, len(columns)),
    ).tocsr()
    matrix.eliminate_zeros()
    return matrix
