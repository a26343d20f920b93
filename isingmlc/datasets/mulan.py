"""Multi-label data as Mulan and MEKA keep them: an ARFF file, and a list of its labels."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import as_path, check_option, is_text
from isingmlc.base.arrays import FloatArray
from isingmlc.datasets._files import file_error
from isingmlc.datasets.arff import ArffTable, beginning, quote, read_arff, whole_number
from isingmlc.datasets.coding import check_memory, columns_of, number_matrix
from isingmlc.datasets.label_list import line_with, read_label_list, write_label_list
from isingmlc.datasets.registry import PUBLISHED
from isingmlc.input.columns import Selection, choose_columns
from isingmlc.input.rows import prepare
from isingmlc.input.tables import Dataset

PARTS = ("train", "test", "all")
DATA_VARIABLE = "ISINGMLC_DATA"

_MEKA_COUNT = re.compile(r"-C\s+(-?)(\d+)", re.ASCII)


def read_mulan(
    arff: str | PathLike[str],
    xml: str | PathLike[str] | None = None,
    *,
    labels: Selection | None = None,
    encoding: str = "utf-8",
) -> Dataset:
    r"""Read a multi-label data set from an ARFF file.

    Parameters
    ----------
    arff : str or path
        The ARFF file, dense or sparse.
    xml : str or path, optional
        Mulan's list of the labels. If omitted, it is the file of the same name that ends in
        ``.xml``, if there is one; else MEKA's ``-C`` in the ``@relation`` line counts the
        labels: the first C attributes are the labels, or the last, if C is negative.
    labels : str, int, or list of these, optional
        The label attributes, instead of a list: names, patterns or positions, as
        :func:`read_table` takes them.
    encoding : str
        Encoding of the ARFF file.

    Returns
    -------
    Dataset
        Labels in the order of the list, features in the order of the ARFF file; the features are
        a frame, or a CSR array with its `feature_names` if the file is sparse.

    Raises
    ------
    FileError
        When a file is absent or damaged, or a label is not in the ARFF file or not 0/1; the
        message has the line. When categories have so many values that columns for them would take
        more than 2 GB.

    Warns
    -----
    DataWarning
        When attributes of text or dates are left out.

    Notes
    -----
    A two-valued attribute like ``{0,1}``, ``{-1,1}``, ``{no,yes}``, ``{n,y}``, ``{false,true}``,
    ``{f,t}``, ``{off,on}`` or ``{absent,present}`` is one column; the second value of the pairs
    above is 1, in whatever order and case the file has them. Any other list of values becomes one
    0/1 column per value, named ``attribute=value``. A missing value (``?``) is NaN, in all of an
    attribute's columns; a label may not be missing. What a sparse row leaves out is 0, or the
    first value of the attribute's list, as the format says.

    Examples
    --------
    >>> import tempfile
    >>> from isingmlc import datasets
    >>> rows = "@relation 'beach: -C 1'", "@attribute sand {no,yes}", "@attribute hue real"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "photos.arff")
    ...     _ = path.write_text("\n".join([*rows, "@data", "yes,0.5", "no,?"]))
    ...     data = datasets.read_mulan(path)
    >>> data
    Dataset('photos': 2 rows, 1 labels, 1 features)
    >>> data.labels["sand"].tolist(), data.features["hue"].tolist()
    ([1, 0], [0.5, nan])
    """
    if labels is not None and xml is not None:
        raise exc.DataError("labels and xml both say which attributes are labels. Pass one.")
    table = read_arff(as_path("arff", arff), encoding)
    attributes = [attribute.name for attribute in table.attributes]
    if xml is None and labels is None:
        beside = table.path.with_suffix(".xml")
        xml = beside if beside.is_file() else None
    names: Sequence[str]
    if labels is not None:
        try:
            names = choose_columns("labels", attributes, labels)
        except exc.DataError as error:
            raise file_error(table.path, str(error)) from error
        source = "the argument"
    elif xml is None:
        names = _meka_labels(table)
        source = "MEKA's -C in the @relation line"
    else:
        listed = as_path("xml", xml)
        names = read_label_list(listed)
        source = listed.name
        known = set(attributes)
        lacking = [name for name in names if name not in known]
        if lacking:
            raise file_error(
                listed,
                f"label(s) {exc.shorten(lacking)} are not among the attributes of "
                f"{table.path.name}.",
                line_with(listed, escape(lacking[0])),
            )
    description = f"Read from {table.path.name}; the labels are those of {source}."
    return _build(table, names, table.path.stem, description)


def load_mulan(
    name: str, part: str = "train", data_dir: str | PathLike[str] | None = None
) -> Dataset:
    """Load one of Mulan's data sets from files that are already there.

    Parameters
    ----------
    name : str
        Its name, e.g. ``"scene"``.
    part : {"train", "test", "all"}
        The training rows, the test rows, or both, the training rows first.
    data_dir : str or path, optional
        Folder that holds ``<name>/<name>-train.arff``, ``<name>/<name>-test.arff`` and
        ``<name>/<name>.xml``, or these files themselves. If omitted, it is the folder that the
        environment variable ISINGMLC_DATA names, then the one that :func:`fetch_mulan` fills.
        For ``part="all"`` a file ``<name>.arff`` is enough if there is no split.

    Returns
    -------
    Dataset
        Labels and features, as from :func:`read_mulan`.

    Raises
    ------
    FileError
        When the files are not there or are damaged, or when training and test file do not make
        the same columns.
    DataError
        When an argument cannot be used.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> datasets.load_mulan("scene", part="test")  # doctest: +SKIP
    Dataset('scene': 1196 rows, 6 labels, 294 features)
    """
    if not isinstance(name, str):
        raise exc.DataError(
            "name must be the name of a data set, e.g. 'scene', but is of type "
            f"{type(name).__name__}."
        )
    check_option("part", part, PARTS)
    found = find_part(name, part, data_dir)
    if found is not None:
        return read_parts(found[0], name, found[1])
    wanted = " or ".join(" and ".join(files) for files in part_files(name, part))
    looked = ", ".join(str(folder) for folder in _folders(name, data_dir))
    otherwise = (
        f", or download them with fetch_mulan({name!r})."
        if name in PUBLISHED
        else f". The data sets that fetch_mulan can download are {', '.join(map(repr, PUBLISHED))}."
    )
    raise exc.FileError(
        f"there is no {wanted} in any of these folders: {looked}. Pass data_dir= or set "
        f"{DATA_VARIABLE} to the folder that has the files{otherwise}"
    )


def to_mulan(data: Dataset | tuple[Any, Any], stem: str | PathLike[str]) -> tuple[Path, Path]:
    """Write a data set as an ARFF file and the list of its labels.

    Parameters
    ----------
    data : Dataset or pair of labels and features
        What to write: 0/1 labels, and numeric features that are a frame, an array or sparse. NaN
        is written as missing.
    stem : str or path
        Where to write. ``.arff`` and ``.xml`` are added; if it ends in one of these already,
        that ending is taken off first. Files that are there are overwritten.

    Returns
    -------
    pair of Path
        The ARFF file, sparse if the features are, and the XML file.

    Raises
    ------
    DataError
        When the data cannot be used.
    FileError
        When the files cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from isingmlc import datasets
    >>> labels = pd.DataFrame({"beach": [0, 1], "urban": [1, 1]})
    >>> features = pd.DataFrame({"hue": [0.25, np.nan]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     arff, xml = datasets.to_mulan((labels, features), Path(folder, "photos"))
    ...     print(arff.read_text())
    ...     again = datasets.read_mulan(arff, xml)
    @relation photos
    <BLANKLINE>
    @attribute hue numeric
    @attribute beach {0,1}
    @attribute urban {0,1}
    <BLANKLINE>
    @data
    0.25,0,1
    ?,1,1
    <BLANKLINE>
    >>> bool(again.labels.equals(labels) and again.features.equals(features))
    True
    """
    stem = as_path("stem", stem)
    if not stem.name:
        raise exc.DataError(f"stem must end in the name of a file, but is {str(stem)!r}.")
    if stem.suffix.lower() in (".arff", ".xml"):
        stem = stem.with_suffix("")
    if isinstance(data, Dataset):
        labels, features, feature_names = data.labels, data.features, data.feature_names
    elif isinstance(data, tuple | list) and len(data) == 2:
        (labels, features), feature_names = data, None
    else:
        raise exc.DataError(
            "data must be a Dataset or a pair (labels, features), but is of type "
            f"{type(data).__name__}."
        )
    if features is None:
        raise exc.DataError(exc.NOT_A_TABLE.format(argument="features", given="NoneType"))
    if not (sparse.issparse(features) or isinstance(features, pd.DataFrame)):
        features = np.asarray(features)
    # Missing features may be written, so the door sees zeros in their place; and what is odd about
    # columns that are tested matters to who reads the file.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exc.DataWarning)
        checked = prepare(labels, _zeros_for_nan(features), feature_names=feature_names)
    # The name of a file may hold bytes that are no text.
    title = stem.name.encode("utf-8", "replace").decode()
    header = [
        f"@relation {quote(title)}",
        "",
        *(f"@attribute {quote(name)} numeric" for name in checked.feature_names),
        *(f"@attribute {quote(name)} {{0,1}}" for name in checked.label_names),
        "",
        "@data",
    ]
    if sparse.issparse(features):
        rows = _sparse_rows(sparse.csr_array(features), checked.labels)
    else:
        frame = pd.DataFrame(features)
        rows = _dense_rows(frame.to_numpy(np.float64, na_value=np.nan), checked.labels)
    arff, xml = (stem.with_name(stem.name + ending) for ending in (".arff", ".xml"))
    for name in (*checked.label_names, *checked.feature_names):
        if not is_text(name):
            raise exc.DataError(
                f"the name {name!r} holds half a character (a lone surrogate), which a file cannot "
                "hold. Rename the column."
            )
    try:
        write_label_list(xml, checked.label_names)
        arff.write_text("\n".join([*header, *rows, ""]), encoding="utf-8", newline="\n")
    except OSError as error:
        raise file_error(stem, f"the files cannot be written here ({error.strerror}).") from error
    return arff, xml


def cache_folder() -> Path:
    """Give the folder in which downloaded data sets are kept.

    Returns
    -------
    Path
        A folder for caches, by the custom of the operating system.
    """
    import pooch  # takes long to import, and only those who load files need it

    return Path(pooch.os_cache("isingmlc"))


def find_part(
    name: str, part: str, data_dir: str | PathLike[str] | None = None
) -> tuple[Path, tuple[str, ...]] | None:
    """Find the files that make up a part of a data set.

    Parameters
    ----------
    name, part, data_dir
        As `load_mulan` takes them.

    Returns
    -------
    tuple of folder and file names, or None
        The first folder that holds them; None if no folder does.
    """
    for folder in _folders(name, data_dir):
        for files in part_files(name, part):
            try:
                if all((folder / file).is_file() for file in files):
                    return folder, files
            except OSError as error:
                problem = f"it cannot be looked for here ({error.strerror})."
                raise file_error(folder / files[0], problem) from error
    return None


def part_files(name: str, part: str) -> list[tuple[str, ...]]:
    """List the ARFF files that make up a part, in each way in which they may do so.

    Parameters
    ----------
    name : str
        Name of the data set.
    part : {"train", "test", "all"}
        The part.

    Returns
    -------
    list of tuple of str
        File names; any one of the tuples will do.
    """
    if part == "all":
        return [(f"{name}-train.arff", f"{name}-test.arff"), (f"{name}.arff",)]
    return [(f"{name}-{part}.arff",)]


def read_parts(folder: Path, name: str, files: Sequence[str]) -> Dataset:
    """Read the files of a data set and put their rows below each other.

    Parameters
    ----------
    folder : Path
        The folder.
    name : str
        Name of the data set; its labels are in ``<name>.xml``.
    files : sequence of str
        Names of one or more ARFF files.

    Returns
    -------
    Dataset
        All rows.

    Raises
    ------
    FileError
        When a file is absent or damaged, or when they do not make the same columns.
    """
    xml = folder / f"{name}.xml"
    first, *others = (read_mulan(folder / file, xml) for file in files)
    labels, features = [first.labels], [first.features]
    for file, other in zip(files[1:], others, strict=True):
        unlike = set(first.feature_names) ^ set(other.feature_names)
        if unlike or sparse.issparse(first.features) != sparse.issparse(other.features):
            raise file_error(
                folder / file,
                f"its columns are not those of {files[0]}: "
                + (f"{exc.shorten(sorted(unlike))} differ" if unlike else "one file is sparse")
                + ". Load the parts one by one.",
            )
        order = [other.feature_names.index(column) for column in first.feature_names]
        labels.append(other.labels)
        features.append(
            other.features[:, order]
            if sparse.issparse(other.features)
            else other.features.iloc[:, order]
        )
    return Dataset(
        labels=pd.concat(labels, ignore_index=True),
        features=(
            sparse.vstack(features, format="csr")
            if sparse.issparse(first.features)
            else pd.concat(features, ignore_index=True)
        ),
        feature_names=first.feature_names,
        name=name,
        DESCR=f"{name}: read from {' and '.join(files)}; the labels are those of {xml.name}.",
    )


def _folders(name: str, data_dir: str | PathLike[str] | None) -> list[Path]:
    """List the folders in which a data set is looked for."""
    if data_dir is not None:
        roots = [as_path("data_dir", data_dir)]
    else:
        named = os.environ.get(DATA_VARIABLE)
        roots = [Path(named).expanduser()] if named else []
        roots.append(cache_folder())
    return [folder for root in roots for folder in (root / name, root)]


def _meka_labels(table: ArffTable) -> tuple[str, ...]:
    match = _MEKA_COUNT.search(table.relation)
    if match is None:
        raise file_error(
            table.path,
            "nothing says which attributes are labels. Pass Mulan's list of labels as xml=, or "
            "give their number in the file, e.g. @relation 'name: -C 3'.",
        )
    count = whole_number(match[2])
    names = tuple(attribute.name for attribute in table.attributes)
    if not 0 < count <= len(names):
        raise file_error(
            table.path,
            f"the @relation line has -C {match[1]}{beginning(match[2])}, but the "
            f"labels must be between 1 and all {len(names)} of the attributes.",
        )
    return names[-count:] if match[1] else names[:count]


def _build(table: ArffTable, label_names: Sequence[str], name: str, description: str) -> Dataset:
    """Turn what was read into labels and features."""
    positions = {attribute.name: at for at, attribute in enumerate(table.attributes)}
    labels = _label_frame(table, [positions[label] for label in label_names])
    chosen = set(label_names)
    text = [attribute.name for attribute in table.attributes if attribute.kind == "text"]
    if text:
        message = (
            f"{table.path}: attribute(s) {exc.shorten(text)} hold text or dates, which cannot be "
            "features, and were left out."
        )
        exc.warn(message, exc.DataWarning)
    columns = [
        column
        for at, attribute in enumerate(table.attributes)
        if attribute.name not in chosen and attribute.kind != "text"
        for column in columns_of(attribute, at)
    ]
    names = tuple(column.name for column in columns)
    repeated = pd.Index(names)[pd.Index(names).duplicated()].unique()
    if len(repeated):
        raise file_error(
            table.path,
            f"the values of a category would make the column(s) {exc.shorten(repeated)}, which "
            "are there already. Rename one of the attributes.",
        )
    features = number_matrix(table, columns)
    if not sparse.issparse(features):
        features = pd.DataFrame(features, columns=list(names))
    return Dataset(
        labels=labels, features=features, feature_names=names, name=name, DESCR=description
    )


def _label_frame(table: ArffTable, positions: Sequence[int]) -> pd.DataFrame:
    """Give the labels as 0/1 integers, or say which of them is not 0/1, and where."""
    columns = []
    for at in positions:
        attribute = table.attributes[at]
        made = columns_of(attribute, at) if attribute.kind != "text" else []
        if len(made) != 1 or made[0].name != attribute.name:
            given = "text" if attribute.kind == "text" else exc.shorten(attribute.values)
            raise file_error(
                table.path,
                f"label {attribute.name!r} must be coded 0/1 (or no/yes, false/true), but is "
                f"declared as {given}.",
            )
        columns += made
    if sparse.issparse(table.cells):
        size = 16 * len(table.lines) * len(columns)  # floats, then integers
        check_memory(table, size, f"a frame of {len(columns)} labels", "Choose fewer labels.")
    matrix = number_matrix(table, columns)
    matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
    wrong = np.argwhere((matrix != 0) & (matrix != 1))
    if len(wrong):
        row, column = wrong[0]
        value = matrix[row, column]
        given = "missing" if np.isnan(value) else f"{value:g}"
        raise file_error(
            table.path,
            f"label {columns[column].name!r} must be 0 or 1, but is {given}.",
            table.lines[row],
        )
    return pd.DataFrame(matrix.astype(np.int64), columns=[column.name for column in columns])


def _zeros_for_nan(features: Any) -> Any:
    if isinstance(features, pd.DataFrame):
        return features.fillna(0)
    if not sparse.issparse(features):
        return np.nan_to_num(features, posinf=np.inf, neginf=-np.inf)
    filled = sparse.csr_array(features, copy=True)
    if filled.dtype.kind == "f":
        filled.data[np.isnan(filled.data)] = 0
    return filled


def _number(value: float) -> str:
    """Write the shortest text that reads back as the same number."""
    return "?" if np.isnan(value) else repr(value).removesuffix(".0")


def _dense_rows(features: FloatArray, labels: Any) -> list[str]:
    return [
        ",".join([*map(_number, row), *("1" if label else "0" for label in given)])
        for row, given in zip(features.tolist(), labels.tolist(), strict=True)
    ]


def _sparse_rows(features: Any, labels: Any) -> list[str]:
    # In order and without doubles, on a copy: the matrix may be the user's own.
    features = sparse.csr_array(features, copy=True)
    features.sum_duplicates()
    n_features = features.shape[1]
    rows = []
    for at, given in enumerate(labels):
        stored = slice(features.indptr[at], features.indptr[at + 1])
        entries = [
            f"{column} {_number(value)}"
            for column, value in zip(
                features.indices[stored].tolist(),
                features.data[stored].astype(np.float64).tolist(),
                strict=True,
            )
            if value != 0
        ]
        entries += [f"{n_features + label} 1" for label in np.flatnonzero(given).tolist()]
        rows.append("{" + ",".join(entries) + "}")
    return rows
