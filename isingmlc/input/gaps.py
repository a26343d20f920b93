"""Which columns cost the rows that are dropped for missing values, and columns that are names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, IntArray, chunks

# So many columns are named in a message.
_LISTED = 5
# Fewer rows than this say little about whether numbers count them.
_FEWEST_ROWS = 50
_NAMED_ID = re.compile(
    r"(?i:(^|[\s_.\-])(id|ids|uuid|guid|rowid|identifier)$)|[a-z]I[Dd]$", re.MULTILINE
)


def explain_dropped(
    n_rows: int, absent: BoolArray, parts: Sequence[tuple[Sequence[object], Any]]
) -> str:
    """Say which columns cost rows, one by one and together, and what is left without the worst.

    Parameters
    ----------
    n_rows : int
        All rows that count.
    absent : ndarray of bool
        The rows that are dropped.
    parts : sequence of (names, matrix)
        Columns with their names: arrays of any type or CSR matrices, NaN where a value is missing.

    Returns
    -------
    str
        The message of the warning.

    Examples
    --------
    >>> values = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, 3.0], [2.0, np.nan]])
    >>> absent = np.isnan(values).any(axis=1)
    >>> print(explain_dropped(4, absent, [(["age", "bmi"], values)]))
    3 of 4 rows have missing values and were dropped: 'bmi' lacks 3 values (2 of these rows lack
    nothing else), 'age' 1 (0). Without 'bmi' 3 rows would remain.
    """
    n_dropped = int(absent.sum())
    rows = np.flatnonzero(absent)
    names: list[object] = []
    columns: list[Any] = []
    lacking = np.zeros(len(rows), dtype=np.int64)
    for part, matrix in parts:
        names += list(part)
        columns.append(_missing_in(matrix, rows))
        lacking += np.asarray(columns[-1].sum(axis=1)).ravel()
    alone_rows = (lacking == 1).astype(np.int64)
    total = np.concatenate([np.asarray(part.sum(axis=0)).ravel() for part in columns])
    alone = np.concatenate([np.asarray(part.T @ alone_rows).ravel() for part in columns])
    return say_dropped(n_rows, n_dropped, names, total, alone)


def say_dropped(
    n_rows: int, n_dropped: int, names: Sequence[object], total: IntArray, alone: IntArray
) -> str:
    """Say which columns cost rows, from counts.

    Parameters
    ----------
    n_rows, n_dropped : int
        All rows that count, and those that are dropped.
    names : sequence
        The columns.
    total, alone : ndarray of int
        Values that each of them lacks, and rows in which it is the only one to lack any.

    Returns
    -------
    str
        The message of the warning.

    Examples
    --------
    >>> print(say_dropped(9, 3, ["age", "bmi"], np.array([1, 3]), np.array([0, 2])))
    3 of 9 rows have missing values and were dropped: 'bmi' lacks 3 values (2 of these rows lack
    nothing else), 'age' 1 (0). Without 'bmi' 8 rows would remain.
    """
    said = exc.ROWS_DROPPED.format(n_dropped=n_dropped, n_rows=n_rows)
    order = np.lexsort((-alone, -total))
    order = order[total[order] > 0]
    if not len(order):
        return said
    listed = [
        f"{str(names[at])!r} {'lacks ' if first else ''}{total[at]}"
        f"{_values(total[at]) if first else ''} ({alone[at]}{_ALONE if first else ''})"
        for first, at in ((at == order[0], at) for at in order[:_LISTED])
    ]
    more = len(order) - len(listed)
    tail = f" and {more} more column{'s' * (more > 1)}" if more else ""
    said = f"{said[:-1]}: {', '.join(listed)}{tail}."
    worst = int(np.argmax(alone))
    if alone[worst] and len(order) > 1:
        left = n_rows - n_dropped + int(alone[worst])
        said += f" Without {str(names[worst])!r} {left} rows would remain."
    return said


_ALONE = " of these rows lack nothing else"


def _values(count: int) -> str:
    return " value" if count == 1 else " values"


def _missing_in(matrix: Any, rows: Any) -> Any:
    """Mark what is missing in some rows, as a sparse matrix."""
    if sparse.issparse(matrix):
        part = sparse.csr_array(matrix[rows])
        part = sparse.csr_array(
            (np.isnan(part.data).astype(np.int64), part.indices, part.indptr), part.shape
        )
        part.eliminate_zeros()
        return part
    blocks = []
    for block in chunks(len(rows), matrix.shape[1]):
        blocks.append(sparse.csr_array(_isnan(matrix[rows[block]]).astype(np.int64)))
    return sparse.csr_array(sparse.vstack(blocks))


def _isnan(cells: Any) -> BoolArray:
    if cells.dtype.kind == "f":
        return np.asarray(np.isnan(cells))
    return np.zeros(cells.shape, dtype=np.bool_)


def warn_of_identifiers(matrix: Any, names: Sequence[str]) -> None:
    """Warn once of features that look like names of rows: running numbers, and what is called id.

    Parameters
    ----------
    matrix : ndarray or csr_array, shape (n, p)
        The features; sparse ones are not looked at.
    names : sequence of str
        Their names.

    Warns
    -----
    DataWarning
        When some do.
    """
    if sparse.issparse(matrix) or matrix.dtype == np.bool_ or matrix.shape[0] < 2:
        return
    head = np.asarray(matrix[:_FEWEST_ROWS])
    whole = np.flatnonzero(~_has_fractions(head))
    if not len(whole):
        return
    distinct = (np.diff(np.sort(head[:, whole], axis=0), axis=0) != 0).all(axis=0)
    is_distinct = dict(zip(whole.tolist(), distinct.tolist(), strict=True))
    # Mostly one look at all names tells that none is that of an identifier.
    any_named = _NAMED_ID.search("\n".join(names)) is not None
    found = []
    for at in (whole if any_named else whole[distinct]).tolist():
        is_named = any_named and _NAMED_ID.search(names[at]) is not None
        if (is_distinct[at] or is_named) and _is_identifier(matrix[:, at], is_named):
            found.append(names[at])
    if found:
        verb, it = ("looks", "it says") if len(found) == 1 else ("look", "they say")
        exc.warn(
            exc.IDENTIFIERS.format(columns=exc.shorten(found), verb=verb, it=it), exc.DataWarning
        )


def _has_fractions(cells: Any) -> BoolArray:
    if cells.dtype.kind != "f":
        return np.zeros(cells.shape[1], dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        return np.asarray((cells != np.floor(cells)).any(axis=0))


def _is_identifier(column: Any, is_named: bool) -> bool:
    """Tell whether whole numbers count the rows, or name many of them."""
    values = np.unique(column)
    if is_named:
        return len(values) > max(20, len(column) // 10) and not _has_fractions(column[:, None])[0]
    if len(column) < _FEWEST_ROWS or len(values) < len(column):
        return False
    return bool(values[-1] - values[0] == len(values) - 1)
