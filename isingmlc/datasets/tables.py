"""Tables from files: CSV, TSV, Parquet and Feather, with columns named as labels and features."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.data import prepare
from isingmlc.datasets._base import Dataset
from isingmlc.datasets._files import existing_file, file_error

Selection = str | int | Sequence[str | int]

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


def read_table(
    path: str | PathLike[str],
    labels: Selection,
    features: Selection | None = None,
    *,
    missing: str = "raise",
    **options: Any,
) -> Dataset:
    r"""Read labels and features from the columns of a file.

    Parameters
    ----------
    path : str or path
        A file that ends in ``.csv``, ``.tsv`` or ``.tab`` (also compressed, e.g. ``.csv.gz``),
        ``.parquet`` or ``.pq``, ``.feather`` or ``.arrow``.
    labels : str, int, or list of these
        The label columns: names, patterns like ``"label_*"``, or positions counted from 0, from
        the end where negative.
    features : str, int, or list of these, optional
        The feature columns, chosen in the same way; all others where left out.
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
        When the file is absent or can not be read, a column is not there, or its values can not
        be used; the message names the file.

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
    path = existing_file(path)
    frame = _read_frame(path, options)
    frame.columns = frame.columns.map(str)
    columns = list(frame.columns)
    try:
        label_columns = _choose("labels", columns, labels)
        if features is None:
            chosen = set(label_columns)
            feature_columns = [column for column in columns if column not in chosen]
        else:
            feature_columns = _choose("features", columns, features)
        data = prepare(
            frame[label_columns],
            frame[feature_columns] if feature_columns else None,
            missing=missing,
        )
    except exc.DataError as error:
        raise file_error(path, str(error)) from error
    values = np.empty((data.n_rows, 0)) if data.features is None else data.features
    return Dataset(
        labels=pd.DataFrame(data.labels.astype(np.int64), columns=list(data.label_names)),
        features=pd.DataFrame(values, columns=list(data.feature_names)),
        feature_names=data.feature_names,
        name=path.name.partition(".")[0],
        DESCR=f"Read from {path.name}.",
    )


def _read_frame(path: Path, options: dict[str, Any]) -> pd.DataFrame:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = _KINDS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise file_error(
            path, f"the kind of file is not known by its ending. Known are {', '.join(_KINDS)}."
        )
    try:
        if kind == "parquet":
            return pd.read_parquet(path, **options)
        if kind == "feather":
            return pd.read_feather(path, **options)
        options = {"sep": "\t" if kind == "tsv" else ",", **options}
        _check_header(path, options)
        return pd.read_csv(path, **options)
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
        raise file_error(path, f"it can not be read as {kind} ({problem}).") from error


def _check_header(path: Path, options: dict[str, Any]) -> None:
    """Refuse names that occur twice: pandas would rename them without a word."""
    if not {"header", "names"}.isdisjoint(options):
        return
    shared = {"sep", "encoding", "compression", "skiprows", "comment", "quotechar", "escapechar"}
    taken = {name: option for name, option in options.items() if name in shared}
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, **taken).iloc[0].dropna()
    repeated = header[header.duplicated()].unique()
    if len(repeated):
        raise file_error(
            path, f"its header has the name(s) {exc.shorten(repeated)} more than once."
        )


def _choose(argument: str, columns: list[str], wanted: Selection) -> list[str]:
    """Translate names, patterns and positions into column names, each once."""
    items = [wanted] if isinstance(wanted, str | int | np.integer) else list(wanted)
    chosen: dict[str, None] = {}
    for item in items:
        chosen.update(dict.fromkeys(_matches(argument, columns, item)))
    if not chosen:
        raise exc.DataError(f"{argument} must choose at least one column, but is empty.")
    return list(chosen)


def _matches(argument: str, columns: list[str], item: Any) -> list[str]:
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        if -len(columns) <= item < len(columns):
            return [columns[item]]
        raise exc.DataError(
            f"{argument} asks for column {item}, but there are {len(columns)}, counted from 0."
        )
    if not isinstance(item, str):
        raise exc.DataError(
            f"{argument} must hold names, patterns or positions, but holds {item!r}."
        )
    if item in columns:
        return [item]
    found = [column for column in columns if fnmatchcase(column, item)]
    if found:
        return found
    near = get_close_matches(item, columns, n=3) or columns
    raise exc.DataError(
        f"{argument} asks for {item!r}, which no column matches. There are {exc.shorten(near)}."
    )
