"""Pieces of queries in Ibis, and the way they are run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arrays import FloatArray, chunks
from isingmlc.input.tables import LARGEST

# Columns that one query asks for, two or three expressions each: PostgreSQL allows 1,664 of them.
COLUMNS_AT_ONCE = 500
_NOT_INSTALLED = (
    "reading tables and files needs Ibis and DuckDB, but they are not installed ({error}). Install "
    'the extra: pip install "isingmlc[engines]".'
)


def import_ibis() -> Any:
    """Return the ibis module, or say how to install it."""
    try:
        import ibis
    except ImportError as error:
        raise exc.EngineError(_NOT_INSTALLED.format(error=error)) from error
    return ibis


def start_duckdb() -> Any:
    """Connect to a new DuckDB in memory."""
    ibis = import_ibis()
    try:
        return ibis.duckdb.connect()
    except (ImportError, AttributeError) as error:
        raise exc.EngineError(_NOT_INSTALLED.format(error=error)) from error


def run(query: Any) -> Any:
    """Run a query."""
    try:
        return query.to_pyarrow()
    except Exception as error:  # every engine has errors of its own
        raise exc.EngineError(
            f"the engine could not run the query: {type(error).__name__}: {error}"
        ) from error


def one_row(query: Any) -> dict[str, Any]:
    """Run a query that has one row for an answer, and give it by column."""
    row: dict[str, Any] = run(query).to_pylist()[0]
    return row


def matrix(answer: Any, prefix: str, n_columns: int) -> FloatArray:
    """Take numbered columns of an answer side by side."""
    values = np.empty((answer.num_rows, n_columns))
    for at in range(n_columns):
        values[:, at] = answer[f"{prefix}{at}"].cast("float64", safe=False).to_numpy()
    return values


def number(column: Any) -> Any:
    """Make a column float64, with NaN for NULL: sums then show it instead of passing it over."""
    return column.cast("float64").fill_null(float("nan"))


def exactly(value: float) -> Any:
    """Write a number so that every engine reads it to the last bit."""
    return import_ibis().literal(repr(value)).cast("float64")


def is_missing(column: Any) -> Any:
    """Mark NULL and NaN in a numeric or boolean column."""
    if column.type().is_floating():
        return column.isnull() | column.isnan()
    return column.isnull()


def is_infinite(column: Any) -> Any:
    """Mark values of a numeric or boolean column that are too large to be squared."""
    # Some engines hold NaN to be larger than all numbers.
    return ~is_missing(column) & (column.cast("float64").abs() > LARGEST)


def count_rows(rows: Any, columns: Sequence[str], test: Callable[[Any], Any]) -> dict[str, int]:
    """Count the rows in which each of some columns passes a test."""
    counts = {}
    for part in chunks(len(columns), width=COLUMNS_AT_ONCE):
        names = columns[part]
        marks = {f"n{at}": test(rows[name]).sum() for at, name in enumerate(names)}
        found = one_row(rows.aggregate(**marks))
        counts.update({name: found[f"n{at}"] or 0 for at, name in enumerate(names)})
    return {name: int(count) for name, count in counts.items() if count}


def count_any(rows: Any, columns: Sequence[str], test: Callable[[Any], Any]) -> int:
    """Count the rows in which any of some columns passes; `count_rows` explains the arguments."""
    return count(rows) - count(rows.filter(*(~test(rows[name]) for name in columns)))


def count(rows: Any) -> int:
    """Count the rows of a table."""
    return int(one_row(rows.aggregate(n=rows.count()))["n"])
