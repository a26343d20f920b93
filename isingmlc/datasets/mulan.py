"""Multi-label data as Mulan and MEKA keep them: an ARFF file, and a list of its labels."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import as_path, check_option
from isingmlc.datasets._files import file_error
from isingmlc.datasets.arff import ArffTable, read_arff
from isingmlc.datasets.coding import columns_of, number_matrix
from isingmlc.datasets.label_list import line_with, read_label_list
from isingmlc.datasets.registry import PUBLISHED
from isingmlc.input.columns import Selection, choose_columns
from isingmlc.input.tables import Dataset

PARTS = ("train", "test", "all")
DATA_VARIABLE = "ISINGMLC_DATA"

_NO_POOCH = (
    "downloading data sets needs pooch, which is not installed. Install the extra: pip install "
    '"isingmlc[download]".'
)
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
        message has the line.

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


def cache_folder() -> Path:
    """Return the folder in which downloaded data sets are kept."""
    return Path(import_pooch().os_cache("isingmlc"))


def import_pooch() -> Any:
    """Return the module that downloads files, or say how to install it."""
    try:
        import pooch  # takes long to import, and only those who download need it
    except ImportError as error:
        raise exc.EngineError(_NO_POOCH) from error
    return pooch


def find_part(
    name: str, part: str, data_dir: str | PathLike[str] | None = None
) -> tuple[Path, tuple[str, ...]] | None:
    """Find the files that make up a part of a data set."""
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
    """List the ARFF files that make up a part, in each way in which they may do so."""
    if part == "all":
        return [(f"{name}-train.arff", f"{name}-test.arff"), (f"{name}.arff",)]
    return [(f"{name}-{part}.arff",)]


def read_parts(folder: Path, name: str, files: Sequence[str]) -> Dataset:
    """Read the files of a data set and put their rows below each other."""
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
        # Without it nothing was downloaded.
        with suppress(exc.EngineError):
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
    count = int(match[2])
    names = tuple(attribute.name for attribute in table.attributes)
    if not 0 < count <= len(names):
        raise file_error(
            table.path,
            f"the @relation line has -C {match[1]}{match[2]}, but the labels "
            f"must be between 1 and all {len(names)} of the attributes.",
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
    """Return the labels as 0/1 integers, or say which of them is not 0/1, and where."""
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
