"""Which columns cost the rows that are dropped for missing values, and columns that are names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    return count_gaps(absent, parts).say(n_rows)


@dataclass
class GapCounts:
    """Rows that are dropped for missing values, and what columns have to do with it.

    Attributes
    ----------
    n_dropped : int
        The rows.
    lacking : dict of str to list of int
        Values that a column lacks, and rows in which it is the only one to lack any.
    """

    n_dropped: int = 0
    lacking: dict[str, list[int]] = field(default_factory=dict)

    def add(self, other: GapCounts) -> None:
        """Add what was counted in other rows.

        Parameters
        ----------
        other : GapCounts
            The counts.
        """
        self.n_dropped += other.n_dropped
        for name, counts in other.lacking.items():
            own = self.lacking.get(name, [0, 0])
            self.lacking[name] = [own[0] + counts[0], own[1] + counts[1]]

    def say(self, n_rows: int, order: Sequence[str] = ()) -> str:
        """Say what was counted; `say_dropped` says how.

        Parameters
        ----------
        n_rows : int
            All rows that count.
        order : sequence of str
            Columns, in the order in which those that lack as much are named.

        Returns
        -------
        str
            The message of the warning.
        """
        place = {name: at for at, name in enumerate(order)}
        names = sorted(self.lacking, key=lambda name: place.get(name, len(place)))
        counts = np.array([self.lacking[name] for name in names], dtype=np.int64).reshape(-1, 2)
        return say_dropped(n_rows, self.n_dropped, names, counts[:, 0], counts[:, 1])


def count_gaps(absent: BoolArray, parts: Sequence[tuple[Sequence[object], Any]]) -> GapCounts:
    """Count what is missing in the rows that are dropped.

    Parameters
    ----------
    absent : ndarray of bool
        The rows.
    parts : sequence of (names, matrix)
        Columns with their names, as `explain_dropped` takes them; one that is there twice counts
        once.

    Returns
    -------
    GapCounts
        The counts.

    Examples
    --------
    >>> values = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, 3.0], [2.0, np.nan]])
    >>> count_gaps(np.isnan(values).any(axis=1), [(["age", "bmi"], values)])
    GapCounts(n_dropped=3, lacking={'age': [1, 0], 'bmi': [3, 2]})
    """
    rows = np.flatnonzero(absent)
    names: dict[str, None] = {}
    columns: list[Any] = []
    lacking = np.zeros(len(rows), dtype=np.int64)
    for part, matrix in parts:
        fresh = [at for at, name in enumerate(part) if str(name) not in names]
        names |= dict.fromkeys(str(part[at]) for at in fresh)
        marks = _missing_in(matrix, rows)
        columns.append(marks if len(fresh) == len(part) else marks[:, fresh])
        lacking += np.asarray(columns[-1].sum(axis=1)).ravel()
    alone_rows = (lacking == 1).astype(np.int64)
    total = np.concatenate([np.asarray(part.sum(axis=0)).ravel() for part in columns])
    alone = np.concatenate([np.asarray(part.T @ alone_rows).ravel() for part in columns])
    counted = zip(names, total.tolist(), alone.tolist(), strict=True)
    return GapCounts(len(rows), {name: [n, own] for name, n, own in counted if n})


def missing_error(n_rows: int, blocks: Mapping[str, str]) -> exc.DataError:
    """Make the error that says where values are missing.

    Parameters
    ----------
    n_rows : int
        Rows that lack some value.
    blocks : mapping of str to str
        Arguments with missing values and a list of their columns, empty for those that are one.

    Returns
    -------
    DataError
        The error.

    Examples
    --------
    >>> print(missing_error(3, {"labels": "'a'", "features": "'age', 'bmi'", "groups": ""}))
    labels, features and groups have missing values in 3 row(s): labels in column(s) 'a'; features
    in column(s) 'age', 'bmi'; groups. Drop those rows with missing='drop', or fill them in first.
    """
    if len(blocks) == 1:
        ((argument, columns),) = blocks.items()
        if columns:
            text = exc.MISSING.format(argument=argument, n_rows=n_rows, columns=columns)
            return exc.DataError(text)
        return exc.DataError(exc.MISSING_IN.format(argument=argument, n_rows=n_rows))
    *most, last = blocks
    listed = [f"{name} in column(s) {found}" if found else name for name, found in blocks.items()]
    return exc.DataError(
        exc.MISSING_EVERYWHERE.format(
            arguments=f"{', '.join(most)} and {last}", n_rows=n_rows, columns="; ".join(listed)
        )
    )


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
    # Mostly one look at all names tells that none is that of an identifier, and three rows tell
    # that numbers do not count the rows.
    any_named = _NAMED_ID.search("\n".join(names)) is not None
    whole = np.flatnonzero(_are_distinct(head[:3]) | any_named)
    for cells in (head[:3], head):
        whole = whole[~_has_fractions(cells[:, whole])]
    distinct = _are_distinct(head[:, whole])
    found = []
    for at, is_distinct in zip(whole.tolist(), distinct.tolist(), strict=True):
        is_named = any_named and _NAMED_ID.search(names[at]) is not None
        if (is_distinct or is_named) and _is_identifier(matrix[:, at], is_named):
            found.append(names[at])
    if found:
        verb, it = ("looks", "it says") if len(found) == 1 else ("look", "they say")
        exc.warn(
            exc.IDENTIFIERS.format(columns=exc.shorten(found), verb=verb, it=it), exc.DataWarning
        )


def _are_distinct(cells: Any) -> BoolArray:
    """Mark the columns whose cells are all different."""
    return np.asarray((np.diff(np.sort(cells, axis=0), axis=0) != 0).all(axis=0))


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
