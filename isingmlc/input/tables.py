"""What a user hands in, of whatever kind, as a table of numbers with names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import dense
from isingmlc.input.text import YES_NO_PAIRS, find_kind, name_type

# Sums of squares of larger values could overflow.
LARGEST = 1e100
# What pandas calls columns of Python objects that are numbers or missing.
_NUMBERS = ("boolean", "decimal", "empty", "floating", "integer", "mixed-integer-float")


def is_unnamed(columns: pd.Index) -> bool:
    """Return whether a frame's columns are pandas' own 0, 1, 2, …."""
    return bool(isinstance(columns, pd.RangeIndex) and columns.equals(pd.RangeIndex(len(columns))))


def as_table(given: Any, argument: str) -> Any:
    """Bring any container to a frame, a CSR matrix or a 2-D array."""
    if argument == "labels":
        check_tags(given, argument)
    if isinstance(given, list | tuple) and given and isinstance(given[0], pd.Series):
        given = _join_series(given, argument)
    cells = given
    if not isinstance(given, pd.DataFrame | pd.Series) and not sparse.issparse(given):
        # Tables of Polars, PyArrow and the like keep their names.
        is_arrow = hasattr(given, "__arrow_c_stream__") and hasattr(given, "columns")
        cells = read_arrow(given) if is_arrow else as_array(given, argument)
    if cells.ndim == 0:
        kind = type(given).__name__
        raise exc.DataError(exc.NOT_A_TABLE.format(argument=argument, given=kind))
    if 0 in cells.shape:
        what = "column" if cells.shape[0] else "row"
        message = exc.EMPTY.format(argument=argument, what=what, shape=cells.shape)
        raise exc.DataError(message) if cells.shape[0] else exc.NoRowsError(message)
    if cells.ndim != 2:
        raise exc.DataError(
            exc.WRONG_DIMENSION.format(argument=argument, ndim=cells.ndim, shape=cells.shape)
        )
    return _canonical(cells) if sparse.issparse(cells) else cells


def read_arrow(given: Any) -> pd.DataFrame:
    """Make a frame of a table or batch that others keep in Arrow's format."""
    try:
        import pyarrow  # takes long to import, and only those with such tables need it
    except ImportError as error:
        raise exc.EngineError(exc.NO_ARROW.format(kind=type(given).__name__)) from error
    return pyarrow.table(given).to_pandas()


def check_tags(given: Any, argument: str) -> None:
    """Refuse lists or sets of tags, one per row, and say how to make 0/1 columns of them."""
    is_series = isinstance(given, pd.Series)
    is_array = isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype == object
    if not (is_series or is_array or isinstance(given, list | tuple)):
        return
    rows = [row for row in given if isinstance(row, list | tuple | set | frozenset)]
    # Lists of the same length, of yes and no, are the rows of a table, as numpy reads them.
    is_table = (
        isinstance(given, list | tuple)
        and len({len(row) for row in rows}) < 2
        and len({tag for row in rows for tag in row if isinstance(tag, str)}) < 3
    )
    if any(
        isinstance(row, set | frozenset)
        or (not is_table and any(isinstance(tag, str) for tag in row))
        for row in rows
    ):
        index = f", index={argument}.index" if is_series else ""
        raise exc.DataError(exc.TAGS.format(argument=argument, index=index))


def as_array(given: Any, argument: str) -> Any:
    """Make an array; what a masked array hides is missing."""
    try:
        return given.astype(object).filled(np.nan) if np.ma.is_masked(given) else np.asarray(given)
    except ValueError as error:
        raise exc.DataError(exc.RAGGED.format(argument=argument)) from error


def _canonical(matrix: Any) -> Any:
    """Return a CSR matrix with one entry per cell, on the user's own arrays where they are so."""
    rows = sparse.csr_array(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _join_series(columns: Sequence[Any], argument: str) -> pd.DataFrame:
    first = columns[0].index
    for position, column in enumerate(columns, start=1):
        if not isinstance(column, pd.Series) or not column.index.equals(first):
            raise exc.DataError(exc.SERIES_DIFFER.format(argument=argument, position=position))
    return pd.concat(columns, axis=1)


def check_same_rows(first: str, ours: Any, second: str, theirs: Any) -> None:
    """Check that two tables have the same rows, by number and, for frames, by index."""
    n_ours, n_theirs = ours.shape[0], theirs.shape[0]
    if n_ours != n_theirs:
        raise exc.DataError(
            exc.ROWS_DIFFER.format(first=first, n_first=n_ours, second=second, n_second=n_theirs)
        )
    indexes = [part.index for part in (ours, theirs) if isinstance(part, pd.DataFrame | pd.Series)]
    if len(indexes) == 2 and not indexes[0].equals(indexes[1]):
        raise exc.DataError(exc.INDEX_DIFFERS.format(first=first, second=second, n=n_ours))


def column_names(table: Any, argument: str, given: Sequence[object] | None) -> tuple[str, ...]:
    """Take the user's names, else the frame's, else number the columns."""
    n_columns = table.shape[1]
    if given is not None:
        argument = f"{argument.removesuffix('s')}_names"
        kinds = Sequence | np.ndarray | pd.Index | pd.Series
        is_list = isinstance(given, kinds) and not isinstance(given, str)
        if not is_list or len(given) != n_columns:
            problem = f"has {len(given)}" if is_list else f"is of type {type(given).__name__}"
            raise exc.DataError(
                exc.BAD_NAMES.format(argument=argument, wanted=n_columns, problem=problem)
            )
    elif isinstance(table, pd.DataFrame) and not is_unnamed(table.columns):
        given = list(table.columns)
    else:
        prefix = {"labels": "y", "covariates": "c"}.get(argument, "x")
        return tuple(f"{prefix}{number}" for number in range(1, n_columns + 1))
    names = tuple(str(name) for name in given)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise exc.DataError(
            exc.DUPLICATE_NAMES.format(argument=argument, names=exc.shorten(repeated))
        )
    return names


def as_matrix(table: Any, argument: str, names: tuple[str, ...]) -> Any:
    """Return the values as a numeric array or CSR matrix, with NaN for what is missing."""
    if isinstance(table, pd.DataFrame):
        dtypes = set(table.dtypes)
        if all(is_plain(dtype) for dtype in dtypes):
            return table.to_numpy(np.result_type(*dtypes))
    if isinstance(table, pd.DataFrame) or table.dtype.kind == "O":
        frame = pd.DataFrame(table).infer_objects()
        usable = np.array([is_numeric(column) for _, column in frame.items()])
        if usable.all():
            return _frame_to_matrix(frame)
        bad = np.flatnonzero(~usable)
        names = tuple(names[at] for at in bad)
        kind = ", ".join(sorted({name_type(frame.iloc[:, at]) for at in bad}))
    elif table.dtype.kind in "biuf":
        return table
    else:
        bad = np.arange(len(names))
        kind = "text" if table.dtype.kind in "US" else str(table.dtype)
    quoted = [name if name.isidentifier() else f"Q({name!r})" for name in names]
    if argument == "labels":
        cells = table if isinstance(table, pd.DataFrame) else pd.DataFrame(dense(table))
        values = cells.iloc[:, bad[0]].dropna().unique().tolist()
        hint = say_recoding(names[0], values)
    elif isinstance(table, pd.DataFrame):
        hint = _say_remedies(names, quoted, [frame.iloc[:, at] for at in bad])
    else:
        hint = exc.CODE_FEATURES.format(name=quoted[0])
    raise exc.DataError(
        exc.NOT_NUMERIC.format(argument=argument, columns=exc.shorten(names), kind=kind, hint=hint)
    )


def say_recoding(name: str, values: Sequence[Any]) -> str:
    """Say how to code a label 0/1: by its two values, or in words if there are more."""
    if len(values) != 2:
        return exc.CODE_VALUES
    cell = f"labels[{name!r}]"
    low, high = sorted(values, key=lambda value: str(value).lower())
    codes = [
        f"{cell} = {cell}.map({{{low!r}: {1 - one}, {high!r}: {one}}}).astype(float)"
        for one in (0, 1)
    ]
    if low == 0 or (str(low).lower(), str(high).lower()) in YES_NO_PAIRS:
        return exc.CODE_LABEL.format(code=codes[1])
    code = f"{codes[0]} if {low!r} means yes, {codes[1]} if {high!r} does"
    return exc.CODE_LABEL.format(code=code)


def _say_remedies(names: Sequence[str], quoted: Sequence[str], columns: Sequence[pd.Series]) -> str:
    """Say what to do with features that are no numbers, once for each kind."""
    said: dict[str, str] = {}
    for name, written, column in zip(names, quoted, columns, strict=True):
        known = column.dropna()
        kind = "dates" if column.dtype.kind in "mM" else "category"
        if kind == "category" and not isinstance(column.dtype, pd.CategoricalDtype):
            kind = find_kind(known.map(str).unique().tolist(), len(known))
        template = {
            "dates": exc.COUNT_DATES,
            "identifiers": exc.LEAVE_OUT_IDENTIFIERS,
            "numbers": exc.NUMBERS_AS_TEXT,
        }.get(kind, exc.CODE_FEATURES)
        is_code = template == exc.CODE_FEATURES
        said.setdefault(kind, template.format(name=written if is_code else name))
    return " ".join(said.values())


def is_plain(dtype: Any) -> bool:
    """Return whether a column of a frame is numpy's, of real numbers or booleans."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def is_numeric(column: pd.Series) -> bool:
    """Return whether a column holds real numbers or booleans, missing ones aside."""
    types = pd.api.types
    if column.dtype == object:
        return types.infer_dtype(column, skipna=True) in _NUMBERS
    if isinstance(column.dtype, pd.CategoricalDtype) or types.is_complex_dtype(column.dtype):
        return False
    return bool(types.is_numeric_dtype(column.dtype) or types.is_bool_dtype(column.dtype))


def _frame_to_matrix(frame: pd.DataFrame) -> Any:
    """Convert numeric columns; a frame that is mostly pandas' Sparse becomes a CSR matrix."""
    zero_filled = np.array(
        [isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in frame.dtypes]
    )
    if 2 * zero_filled.sum() > len(zero_filled):
        parts = [frame.loc[:, zero_filled].sparse.to_coo()]
        if not zero_filled.all():
            parts.append(sparse.coo_array(_frame_to_matrix(frame.loc[:, ~zero_filled])))
        places = np.concatenate([np.flatnonzero(zero_filled), np.flatnonzero(~zero_filled)])
        return _canonical(sparse.hstack(parts, format="csc")[:, np.argsort(places)])
    if all(is_plain(dtype) for dtype in frame.dtypes):
        return frame.to_numpy(np.result_type(*set(frame.dtypes)))
    if any(pd.api.types.is_object_dtype(dtype) for dtype in frame.dtypes):
        # Among Python objects pandas' NA is an object like any other, and no number.
        frame = frame.where(frame.notna(), np.nan)
    return frame.to_numpy(np.float64, na_value=np.nan)


@dataclass(frozen=True, repr=False)
class Dataset:
    """Labels and features of one data set, with what is known about them.

    Attributes
    ----------
    labels : DataFrame, shape (n, K)
        The 0/1 labels.
    features : DataFrame or csr_array, shape (n, p)
        The features; sparse if the source is sparse.
    feature_names : tuple of str
        Names of the features, in column order, also if `features` is sparse.
    relevant : tuple of str or None
        Names of the features that act on the labels, if the truth is known.
    truth : mapping or None
        What the data were drawn from, if they are simulated and that is known.
    name : str
        Short name.
    DESCR : str
        Where the data come from and what they hold.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> data.labels.shape, data.features.shape
    ((1500, 6), (1500, 30))
    """

    labels: pd.DataFrame
    features: Any
    feature_names: tuple[str, ...]
    relevant: tuple[str, ...] | None = None
    truth: Mapping[str, Any] | None = None
    name: str = ""
    DESCR: str = ""

    def __repr__(self) -> str:
        n_rows, n_labels = self.labels.shape
        kind = "" if isinstance(self.features, pd.DataFrame) else "sparse "
        return (
            f"Dataset({self.name!r}: {n_rows} rows, {n_labels} labels, "
            f"{len(self.feature_names)} {kind}features)"
        )


def open_dataset(labels: Any, features: Any, feature_names: Any) -> tuple[Any, Any, Any]:
    """Take labels, features and their names out of a `Dataset`; leave anything else as it is."""
    if not isinstance(labels, Dataset):
        return labels, features, feature_names
    if features is not None or feature_names is not None:
        raise exc.DataError(
            "labels is a Dataset, which has features of its own. Pass the Dataset alone, or its "
            ".labels with other features."
        )
    return labels.labels, labels.features, labels.feature_names
