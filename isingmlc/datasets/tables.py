"""Tables from files: CSV, TSV, Parquet and Feather, with columns named as labels and features."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import takewhile
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.datasets._files import existing_file, file_error
from isingmlc.input.columns import Selection, as_items, choose_columns
from isingmlc.input.rows import prepare
from isingmlc.input.tables import Dataset

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
# pandas gives such names to the columns of a text file whose names are blank.
_UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)?|\s*")


def read_table(
    path: str | PathLike[str] | IO[Any],
    labels: Selection,
    features: Selection | None = None,
    *,
    drop: Selection | None = None,
    missing: str = "raise",
    **options: Any,
) -> Dataset:
    r"""Read labels and features from the columns of a file.

    Parameters
    ----------
    path : str, path or open file
        A file that ends in ``.csv``, ``.tsv`` or ``.tab`` (also compressed, e.g. ``.csv.gz``),
        ``.parquet`` or ``.pq``, ``.feather`` or ``.arrow``. An open file, such as
        ``sys.stdin.buffer``, is read as CSV.
    labels : str, int, or list of these
        The label columns: names, patterns like ``"label_*"``, or positions counted from 0, from
        the end if negative.
    features : str, int, or list of these, optional
        The feature columns, chosen in the same way; all others if omitted, except for first
        columns without a name that count the rows, as ``frame.to_csv(path)`` writes them. An empty
        list chooses none.
    drop : str, int, or list of these, optional
        Columns to leave out before anything else is chosen, e.g. identifiers.
    missing : {"raise", "drop"}
        What to do with rows that have missing values.
    **options
        Passed on to pandas' reader, e.g. ``decimal=","``.

    Returns
    -------
    Dataset
        Labels and features, in the order in which they were chosen.

    Raises
    ------
    FileError
        When the file is absent or cannot be read, a column is not there, or its values cannot
        be used; the message names the file.
    DataError
        When `path` is no path, or the options ask for chunks.

    Warns
    -----
    DataWarning
        When columns without a name are left out, or rows are dropped.

    Examples
    --------
    >>> import tempfile
    >>> from isingmlc import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "photos.csv")
    ...     _ = path.write_text("hue,is_beach,is_urban\n0.5,1,0\n0.7,1,1\n")
    ...     data = datasets.read_table(path, labels="is_*")
    >>> data
    Dataset('photos': 2 rows, 2 labels, 1 features)
    """
    path, frame = read_frame(path, **options)
    roles = choose_roles(path, frame, labels, features, drop)
    return make_dataset(path, frame, *roles, missing)


def read_frame(path: str | PathLike[str] | IO[Any], **options: Any) -> tuple[Path, pd.DataFrame]:
    """Read all columns of a file."""
    for option in ("chunksize", "iterator"):
        if options.get(option):
            raise exc.DataError(
                f"{option} must be left out, but is {options[option]!r}: read_table reads a file "
                "as a whole. For chunks pass what pandas.read_csv(path, chunksize=…) gives to "
                "LabelsetStatistics.from_batches."
            )
    if hasattr(path, "read"):
        path, frame = _read_stream(path, options)
    else:
        path = existing_file(path)
        frame = _read_frame(path, path, _kind(path), options)
    frame.columns = frame.columns.map(str)
    return path, frame


def choose_roles(
    path: Path,
    frame: pd.DataFrame,
    labels: Selection,
    features: Selection | None = None,
    drop: Selection | None = None,
) -> tuple[list[str], list[str]]:
    """Choose the columns of a file that are labels, and those that are features."""
    columns = list(frame.columns)
    try:
        if drop is not None:
            frame = frame.drop(columns=choose_columns("drop", columns, drop))
            columns = list(frame.columns)
        label_columns = choose_columns("labels", columns, labels)
        if features is None:
            left_out = [column for column in _row_numbers(frame) if column not in label_columns]
            chosen = {*label_columns, *left_out}
            feature_columns = [column for column in columns if column not in chosen]
        else:
            left_out = []
            asked = as_items("features", features)
            feature_columns = choose_columns("features", columns, asked) if asked else []
    except exc.DataError as error:
        raise file_error(path, f"{error}{separator_hint(columns)}") from error
    if left_out:
        message = (
            f"{path}: column(s) {exc.shorten(left_out)} have no name and count the rows, like an "
            "index that pandas wrote, and were left out. To keep them, name them in features=."
        )
        exc.warn(message, exc.DataWarning)
    return label_columns, feature_columns


def make_dataset(
    path: Path, frame: pd.DataFrame, labels: list[str], features: list[str], missing: str
) -> Dataset:
    """Make a data set of the columns of a file."""
    try:
        data = prepare(frame[labels], frame[features] if features else None, missing=missing)
    except exc.DataError as error:
        hint = separator_hint(list(frame.columns))
        raise file_error(path, f"{error}{hint}") from error
    values = np.empty((data.n_rows, 0)) if data.features is None else data.features
    return Dataset(
        labels=pd.DataFrame(data.labels.astype(np.int64), columns=list(data.label_names)),
        features=pd.DataFrame(values, columns=list(data.feature_names)),
        feature_names=data.feature_names,
        name=path.name.partition(".")[0],
        DESCR=f"Read from {path.name}.",
    )


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = _KINDS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise file_error(
            path, f"the kind of file is not known by its ending. Known are {', '.join(_KINDS)}."
        )
    return kind


def _read_stream(stream: Any, options: dict[str, Any]) -> tuple[Path, pd.DataFrame]:
    """Read CSV from an open file, and give the name that messages use for it."""
    path = Path(str(getattr(stream, "name", "<stream>")))
    try:
        content = stream.read()
        held = BytesIO(content.encode() if isinstance(content, str) else content)
    except Exception as error:  # whatever an open file, or what behaves like one, may raise
        problem = f"it cannot be read ({str(error).strip() or type(error).__name__})."
        hint = "Pass a file that is open for reading, best in binary mode."
        raise file_error(path, f"{problem} {hint}") from error
    if not held.getbuffer().nbytes:
        raise file_error(path, "there is nothing to read.")
    return path, _read_frame(path, held, "csv", options)


def _read_frame(
    path: Path, source: Path | BytesIO, kind: str, options: dict[str, Any]
) -> pd.DataFrame:
    try:
        if kind == "parquet":
            return pd.read_parquet(source, **options)
        if kind == "feather":
            return pd.read_feather(source, **options)
        if "delimiter" not in options:
            options = {"sep": "\t" if kind == "tsv" else ",", **options}
        _check_header(path, source, options)
        if isinstance(source, BytesIO):
            source.seek(0)
        return pd.read_csv(source, **options)
    except ImportError as error:
        raise file_error(
            path, f"pandas needs another package for it ({error}). Try pip install pyarrow."
        ) from error
    except exc.DataError:
        raise
    except TypeError as error:
        raise file_error(path, f"pandas does not take these options ({error}).") from error
    except Exception as error:
        # pandas and pyarrow raise errors of many classes at damaged files.
        problem = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise file_error(path, f"it cannot be read as {kind} ({problem}).") from error


def _check_header(path: Path, source: Path | BytesIO, options: dict[str, Any]) -> None:
    """Refuse names that occur twice: pandas would rename them without a word."""
    if not {"header", "names"}.isdisjoint(options):
        return
    shared = {"sep", "compression", "skiprows", "comment", "quotechar", "escapechar"}
    shared |= {"encoding", "encoding_errors"}
    taken = {name: option for name, option in options.items() if name in shared}
    header = pd.read_csv(source, header=None, nrows=1, dtype=str, **taken).iloc[0].dropna()
    repeated = header[header.duplicated()].unique()
    if len(repeated):
        raise file_error(
            path, f"its header has the name(s) {exc.shorten(repeated)} more than once."
        )


def _row_numbers(frame: pd.DataFrame) -> list[str]:
    """Find the columns that hold a saved index: the first ones, unnamed, counting the rows."""

    def counts_rows(column: str) -> bool:
        if not _UNNAMED.fullmatch(column) or not pd.api.types.is_numeric_dtype(frame[column]):
            return False
        values = frame[column].to_numpy(np.float64, na_value=np.nan)
        return any(np.array_equal(values, np.arange(len(values)) + start) for start in (0, 1))

    return list(takewhile(counts_rows, frame.columns))


def separator_hint(columns: list[str]) -> str:
    """Say which separator to try if a whole line was read as one column."""
    if len(columns) == 1:
        for separator, written in {"\t": r"\t", ";": ";", ",": ","}.items():
            if separator in columns[0]:
                return f' There is one column only; try sep="{written}".'
    return ""
