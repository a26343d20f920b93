"""The door: what a user hands in becomes one checked, named, immutable :class:`ModelData`.

Labels leave it as packed bits, eight to a byte, whatever they were before; features leave it as
they came, a numeric array or a CSR matrix, without a copy where none is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
PackedBits: TypeAlias = npt.NDArray[np.uint8]
IntArray: TypeAlias = npt.NDArray[np.intp]
Features: TypeAlias = Any
"""A numeric array or a ``scipy.sparse.csr_array`` (SciPy ships no types)."""

# Temporaries made from a block of rows stay about this large, whatever n is.
BLOCK_BYTES = 2**22


@dataclass(frozen=True)
class _Table:
    """A container brought to two dimensions: its cells, column names and row index."""

    argument: str
    cells: Any  # frame, csr_array or 2-D array
    columns: pd.Index | None = None
    index: pd.Index | None = None


@dataclass(frozen=True)
class ModelData:
    """Rows that passed the door.

    Attributes
    ----------
    packed_labels : ndarray of uint8, shape (n, ceil(K / 8))
        The 0/1 labels as packed bits; `unpack` reverses it.
    label_names : tuple of str
        Names of the K labels.
    features : ndarray, csr_array or None
        The n×p features, untouched.
    feature_names : tuple of str
        Names of the p features.
    weights : ndarray of float or None
        Frequency weights; None where every row counts once.
    terms : mapping of str to tuple of str
        Formula terms and the feature columns each of them made.
    n_dropped : int
        Rows left out because of missing values.
    """

    packed_labels: PackedBits
    label_names: tuple[str, ...]
    features: Features | None = None
    feature_names: tuple[str, ...] = ()
    weights: FloatArray | None = None
    terms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_dropped: int = 0

    @property
    def n_rows(self) -> int:
        """Rows kept."""
        return int(self.packed_labels.shape[0])

    @property
    def labels(self) -> BoolArray:
        """The n×K labels, unpacked anew at each call."""
        return unpack(self.packed_labels, len(self.label_names))


def unpack(packed: PackedBits, n_labels: int) -> BoolArray:
    """Turn packed bits into a boolean matrix with one column a label.

    Parameters
    ----------
    packed : ndarray of uint8, shape (rows, ceil(n_labels / 8))
        Packed bits.
    n_labels : int
        How many of the bits are labels.

    Returns
    -------
    ndarray of bool, shape (rows, n_labels)
        The labels.

    Examples
    --------
    >>> unpack(np.array([[0b10100000]], dtype=np.uint8), 3)
    array([[ True, False,  True]])
    """
    return np.unpackbits(packed, axis=1, count=n_labels).view(np.bool_)


def row_blocks(n_rows: int, bytes_per_row: int) -> Iterable[slice]:
    """Cut rows into slices whose temporaries take about ``BLOCK_BYTES``.

    Parameters
    ----------
    n_rows : int
        Rows in all.
    bytes_per_row : int
        What one row of the temporary takes.

    Yields
    ------
    slice
        Consecutive rows.
    """
    step = max(16, BLOCK_BYTES // max(1, bytes_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def check_option(argument: str, given: object, allowed: Sequence[object]) -> None:
    """Raise our error when an option is not one of those that exist.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    given : object
        What the user passed.
    allowed : sequence
        What may be passed.

    Raises
    ------
    DataError
        When `given` is not in `allowed`.
    """
    if given not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise exc.DataError(exc.BAD_OPTION.format(argument=argument, allowed=options, given=given))


def prepare(
    labels: Any,
    features: Any = None,
    *,
    freq_weights: Any = None,
    missing: str = "raise",
    label_names: Sequence[object] | None = None,
    feature_names: Sequence[object] | None = None,
    terms: Mapping[str, tuple[str, ...]] | None = None,
    n_dropped: int = 0,
) -> ModelData:
    """Check labels, features and weights and bring them into one shape.

    Parameters
    ----------
    labels : array_like, DataFrame, list of Series or sparse, shape (n, K)
        The 0/1 labels.
    features : array_like, DataFrame, list of Series or sparse, shape (n, p), optional
        The features.
    freq_weights : array_like, shape (n,), optional
        How many observations each row stands for.
    missing : {"raise", "drop"}
        What to do with rows that have missing values.
    label_names, feature_names : sequence, optional
        Names that override those of a frame, or ``y1…``, ``x1…``.
    terms : mapping, optional
        Formula terms and their columns.
    n_dropped : int
        Rows that were dropped before.

    Returns
    -------
    ModelData
        The checked rows.

    Raises
    ------
    DataError
        Where the data can not be used; the message says how to mend them.

    Examples
    --------
    >>> data = prepare([[0, 1], [1, 1], [1, 0]], [[0.5], [1.5], [2.5]])
    >>> data.label_names, data.feature_names, data.n_rows
    (('y1', 'y2'), ('x1',), 3)
    """
    check_option("missing", missing, ("raise", "drop"))
    label_table = _as_table(labels, "labels")
    names = _names(label_table, label_names, "y")
    label_matrix = _numeric(label_table, names)
    n_rows = label_matrix.shape[0]
    absent = _rows_missing(label_matrix, "labels", names, missing)

    feature_matrix: Features | None = None
    columns: tuple[str, ...] = ()
    if features is not None:
        feature_table = _as_table(features, "features")
        _check_same_rows(label_table, feature_table)
        columns = _names(feature_table, feature_names, "x")
        shared = [name for name in columns if name in set(names)]
        if shared:
            verb = "is" if len(shared) == 1 else "are"
            raise exc.DataError(exc.SHARED_NAMES.format(names=f"{exc.shorten(shared)} {verb}"))
        feature_matrix = _numeric(feature_table, columns)
        absent |= _rows_missing(feature_matrix, "features", columns, missing)
    weights = _weights(freq_weights, n_rows)

    n_missing = int(absent.sum())
    if n_missing == n_rows:
        raise exc.DataError(exc.NOTHING_LEFT.format(n_rows=n_rows))
    if n_missing:
        message = exc.ROWS_DROPPED.format(n_dropped=n_missing, n_rows=n_rows)
        exc.warn(message, exc.DataWarning)
    if weights is not None:
        if not weights[~absent].any():
            raise exc.DataError(exc.BAD_WEIGHTS.format(problem="all of them are zero"))
        # A row that stands for no observation is none.
        absent |= weights == 0
    if absent.any():
        kept = ~absent
        label_matrix = label_matrix[kept]
        feature_matrix = None if feature_matrix is None else feature_matrix[kept]
        weights = None if weights is None else weights[kept]
    return ModelData(
        packed_labels=_pack(label_matrix, names),
        label_names=names,
        features=feature_matrix,
        feature_names=columns,
        weights=weights,
        terms=dict(terms) if terms else {name: (name,) for name in columns},
        n_dropped=n_dropped + n_missing,
    )


def prepare_labels(labels: Any, names: tuple[str, ...]) -> BoolArray:
    """Check labels that must match a fitted model's.

    Parameters
    ----------
    labels : array_like, DataFrame or sparse, shape (n, K)
        The 0/1 labels; a frame may have its columns in any order and others besides.
    names : tuple of str
        The model's label names.

    Returns
    -------
    ndarray of bool, shape (n, K)
        The labels in the model's order.
    """
    if isinstance(labels, pd.DataFrame) and not _is_unnamed(labels.columns):
        lacking = [name for name in names if name not in labels.columns]
        if lacking:
            raise exc.DataError(
                f"labels lacks the column(s) {exc.shorten(lacking)} that the model was fitted on."
            )
        labels = labels[list(names)]
    data = prepare(labels)
    if len(data.label_names) != len(names):
        raise exc.DataError(
            f"labels must have the {len(names)} columns that the model was fitted on, but has "
            f"{len(data.label_names)}."
        )
    return data.labels


def _is_unnamed(columns: pd.Index) -> bool:
    """Tell whether a frame's columns are pandas' own 0, 1, 2, …."""
    return bool(isinstance(columns, pd.RangeIndex) and columns.equals(pd.RangeIndex(len(columns))))


def _as_table(given: Any, argument: str) -> _Table:
    """Bring any container to a frame, a CSR matrix or a 2-D array."""
    if isinstance(given, list | tuple) and given and isinstance(given[0], pd.Series):
        given = _join_series(given, argument)
    if isinstance(given, pd.DataFrame | pd.Series):
        cells: Any = given
    elif sparse.issparse(given):
        cells = sparse.csr_array(given)
    else:
        try:
            cells = np.asarray(given)
        except ValueError as error:
            raise exc.DataError(exc.RAGGED.format(argument=argument)) from error
    if cells.ndim != 2:
        raise exc.DataError(
            exc.WRONG_DIMENSION.format(argument=argument, ndim=cells.ndim, shape=cells.shape)
        )
    for size, what in zip(cells.shape, ("row", "column"), strict=True):
        if size == 0:
            raise exc.DataError(exc.EMPTY.format(argument=argument, what=what, shape=cells.shape))
    if not isinstance(cells, pd.DataFrame):
        return _Table(argument, cells)
    columns = None if _is_unnamed(cells.columns) else cells.columns
    index = cells.index
    if all(isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in cells.dtypes):
        cells = sparse.csr_array(cells.sparse.to_coo())
    return _Table(argument, cells, columns, index)


def _join_series(columns: Sequence[Any], argument: str) -> pd.DataFrame:
    first = columns[0].index
    if not all(isinstance(column, pd.Series) and column.index.equals(first) for column in columns):
        raise exc.DataError(exc.SERIES_DIFFER.format(argument=argument))
    return pd.concat(columns, axis=1)


def _check_same_rows(labels: _Table, features: _Table) -> None:
    n_labels, n_features = labels.cells.shape[0], features.cells.shape[0]
    if n_labels != n_features:
        raise exc.DataError(
            exc.ROWS_DIFFER.format(
                first="labels", n_first=n_labels, second="features", n_second=n_features
            )
        )
    if (
        labels.index is not None
        and features.index is not None
        and not labels.index.equals(features.index)
    ):
        raise exc.DataError(exc.INDEX_DIFFERS.format(n=n_labels))


def _names(table: _Table, given: Sequence[object] | None, prefix: str) -> tuple[str, ...]:
    """Take the user's names, else the frame's, else number the columns."""
    n_columns = table.cells.shape[1]
    if given is None:
        given = None if table.columns is None else list(table.columns)
    if given is None:
        return tuple(f"{prefix}{number}" for number in range(1, n_columns + 1))
    names = tuple(str(name) for name in given)
    if len(names) != n_columns:
        raise exc.DataError(
            exc.NAMES_LENGTH.format(argument=table.argument, wanted=n_columns, given=len(names))
        )
    counts = pd.Series(names).value_counts(sort=False)
    repeated = list(counts.index[counts > 1])
    if repeated:
        raise exc.DataError(
            exc.DUPLICATE_NAMES.format(argument=table.argument, names=exc.shorten(repeated))
        )
    return names


def _numeric(table: _Table, names: tuple[str, ...]) -> Any:
    """Give the values as a numeric array or CSR matrix, with NaN for what is missing."""
    cells = table.cells
    if isinstance(cells, pd.DataFrame):
        return _frame_to_array(cells, table.argument, names)
    if cells.dtype.kind in "biuf":
        return cells
    if cells.dtype.kind == "O" and not sparse.issparse(cells):
        frame = pd.DataFrame(cells).infer_objects()
        return _frame_to_array(frame, table.argument, names)
    raise exc.DataError(
        exc.NOT_NUMERIC.format(
            argument=table.argument,
            columns=exc.shorten(names),
            kind=f"values of type {cells.dtype}",
            first=names[0],
        )
    )


def _frame_to_array(frame: pd.DataFrame, argument: str, names: tuple[str, ...]) -> Any:
    """Convert a frame of numpy, nullable, Arrow or sparse columns; refuse text and dates."""
    numeric = [
        pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)
        for dtype in frame.dtypes
    ]
    # A column of nothing but None is a missing column, not text.
    usable = [ok or bool(frame.iloc[:, at].isna().all()) for at, ok in enumerate(numeric)]
    if not all(usable):
        refused = [names[at] for at, ok in enumerate(usable) if not ok]
        kinds = sorted(
            {str(dtype) for dtype, ok in zip(frame.dtypes, usable, strict=True) if not ok}
        )
        raise exc.DataError(
            exc.NOT_NUMERIC.format(
                argument=argument,
                columns=exc.shorten(refused),
                kind=f"values of type {', '.join(kinds)}",
                first=refused[0],
            )
        )
    if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes):
        # Booleans beside numbers would otherwise become Python objects.
        return frame.to_numpy(dtype=np.result_type(*frame.dtypes))
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _rows_missing(matrix: Any, argument: str, names: tuple[str, ...], missing: str) -> BoolArray:
    """Mark rows with NaN; raise for infinities, and for NaN unless they are to be dropped."""
    n_rows = matrix.shape[0]
    absent = np.zeros(n_rows, dtype=np.bool_)
    if matrix.dtype.kind != "f":
        return absent
    stored = matrix.data if sparse.issparse(matrix) else matrix
    # One sum settles the ordinary case: it is finite only if every value is (an overflow of
    # finite values comes back clean from the careful look below).
    with np.errstate(all="ignore"):
        if np.isfinite(stored.sum(dtype=np.float64)):
            return absent
    for test, template in ((np.isinf, exc.INFINITE), (np.isnan, exc.MISSING)):
        rows = np.zeros(n_rows, dtype=np.bool_)
        columns = np.zeros(matrix.shape[1], dtype=np.bool_)
        for block in row_blocks(n_rows, matrix.shape[1]):
            if sparse.issparse(matrix):
                part = matrix[block].tocoo()
                hit = test(part.data)
                rows[block.start + part.coords[0][hit]] = True
                columns[part.coords[1][hit]] = True
            else:
                hits = test(matrix[block])
                rows[block] = hits.any(axis=1)
                columns |= hits.any(axis=0)
        if rows.any() and (test is np.isinf or missing == "raise"):
            listed = exc.shorten(name for name, bad in zip(names, columns, strict=True) if bad)
            raise exc.DataError(
                template.format(argument=argument, n_rows=int(rows.sum()), columns=listed)
            )
        absent |= rows
    return absent


def _weights(given: Any, n_rows: int) -> FloatArray | None:
    if given is None:
        return None
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise exc.DataError(exc.BAD_WEIGHTS.format(problem="they are not numbers")) from error
    if weights.ndim != 1:
        problem = f"they have shape {weights.shape} where ({n_rows},) is wanted"
        raise exc.DataError(exc.BAD_WEIGHTS.format(problem=problem))
    if len(weights) != n_rows:
        raise exc.DataError(
            exc.ROWS_DIFFER.format(
                first="labels", n_first=n_rows, second="freq_weights", n_second=len(weights)
            )
        )
    for problem, bad in (
        ("finite", ~np.isfinite(weights)),
        ("negative", np.isfinite(weights) & (weights < 0)),
    ):
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            text = f"{int(bad.sum())} are {'not ' if problem == 'finite' else ''}{problem}"
            raise exc.DataError(
                exc.BAD_WEIGHTS.format(problem=f"{text} (row {first}: {weights[first]})")
            )
    return weights


def _pack(matrix: Any, names: tuple[str, ...]) -> PackedBits:
    """Check that labels are 0/1 and pack them, a block of rows at a time."""
    n_rows, n_labels = matrix.shape
    packed = np.empty((n_rows, (n_labels + 7) // 8), dtype=np.uint8)
    for block in row_blocks(n_rows, 8 * n_labels):
        part = matrix[block]
        dense = part.toarray() if sparse.issparse(part) else part
        ones = dense.astype(np.bool_)
        if dense.dtype.kind != "b" and not np.array_equal(ones, dense):
            _raise_not_binary(matrix, names)
        packed[block] = np.packbits(ones, axis=1)
    return packed


def _raise_not_binary(matrix: Any, names: tuple[str, ...]) -> None:
    for at, name in enumerate(names):
        column = matrix[:, [at]]
        values = np.unique(column.toarray() if sparse.issparse(column) else column)
        if np.isin(values, (0, 1)).all():
            continue
        if np.isin(values, (-1, 1)).all():
            hint = "Recode −1/1 to 0/1 with labels = (labels + 1) // 2."
        elif np.isin(values, (1, 2)).all():
            hint = "Recode 1/2 to 0/1 with labels = labels - 1."
        else:
            hint = "Recode it, e.g. labels = (labels > 0).astype(int), or drop the column."
        given = ", ".join(f"{value:g}" for value in values[:5]) + (", …" if len(values) > 5 else "")
        raise exc.DataError(exc.NOT_BINARY.format(column=name, values=given, hint=hint))
