"""The arguments that say which data a command works on, and the data that they stand for."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isingmlc import exceptions as exc
from isingmlc.commands.values import name_list, separator

if TYPE_CHECKING:
    import pandas as pd

    from isingmlc.datasets import Dataset
    from isingmlc.model import IsingModel


def add_input_arguments(
    parser: ArgumentParser, *, several: bool = False, labels_alone: bool = False
) -> None:
    """Add the arguments that `read_file` understands.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of a subcommand.
    several : bool
        Whether the command takes more than one file.
    labels_alone : bool
        Whether no column is a feature unless ``--features`` names it.
    """
    group = parser.add_argument_group("input")
    group.add_argument(
        "data",
        metavar="FILE",
        nargs="+" if several else None,
        help="CSV, TSV, Parquet, Feather or ARFF file; - reads CSV from standard input",
    )
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--labels",
        type=name_list,
        action="extend",
        metavar="NAMES",
        help="the label columns: names or patterns, e.g. a,b,c or 'y_*'",
    )
    which.add_argument(
        "--xml",
        metavar="FILE",
        help="Mulan's list of the labels; for an ARFF file found by itself if it has the same name",
    )
    group.add_argument(
        "--features",
        type=name_list,
        action="extend",
        default=[] if labels_alone else None,
        metavar="NAMES",
        help="the feature columns, in the same way (default: "
        f"{'none, other columns are not looked at' if labels_alone else 'all other columns'})",
    )
    group.add_argument(
        "--drop",
        type=name_list,
        action="extend",
        metavar="NAMES",
        help="columns to leave out, e.g. identifiers",
    )
    group.add_argument(
        "--missing",
        choices=("raise", "drop"),
        default="raise",
        help="what to do with rows that have missing values (default: raise, which stops)",
    )
    group.add_argument(
        "--sep", type=separator, help="separator of the columns of a text file (default: comma)"
    )
    group.add_argument("--encoding", help="encoding of a text file (default: utf-8)")


def read_file(file: str, options: Namespace) -> Dataset:
    """Read one file as the arguments say.

    Parameters
    ----------
    file : str
        Its path, or ``-`` for CSV on standard input.
    options : Namespace
        Parsed arguments.

    Returns
    -------
    Dataset
        Labels and features, without missing values.

    Raises
    ------
    FileError
        When the file cannot be read, or lacks what is asked for.
    DataError
        When nothing says which columns are labels.
    """
    if Path(file).suffix.lower() == ".arff":
        return _read_arff(file, options)
    return _read_table(file, options)


def make_model(options: Namespace) -> IsingModel:
    """Make the model of the data that the arguments name; without features if they have none."""
    from isingmlc.model import IsingModel

    data = read_file(options.data, options)
    labels = data if data.feature_names else data.labels
    return IsingModel(labels, intercept=not options.no_intercept)


def _read_table(file: str, options: Namespace) -> Dataset:
    from isingmlc.datasets.label_list import read_label_list
    from isingmlc.datasets.tables import choose_roles, make_dataset, read_frame

    labels = list(read_label_list(options.xml)) if options.xml else options.labels
    if not labels:
        raise exc.DataError(
            f"nothing says which columns of {file} are labels. Give their names or a pattern, e.g. "
            "--labels a,b,c or --labels 'y_*'."
        )
    given = {"sep": options.sep, "encoding": options.encoding}
    path, frame = read_frame(
        sys.stdin.buffer if file == "-" else file,
        **{name: value for name, value in given.items() if value is not None},
    )
    label_columns, feature_columns = choose_roles(
        path, frame, labels, options.features, options.drop
    )
    _refuse_text(path, frame[feature_columns])
    return make_dataset(path, frame, label_columns, feature_columns, options.missing)


def _refuse_text(path: Path, features: pd.DataFrame) -> None:
    """Refuse columns without numbers, and say what helps on the command line."""
    from isingmlc.input.tables import is_numeric

    kinds = {name: str(column.dtype) for name, column in features.items() if not is_numeric(column)}
    if kinds:
        message = exc.NOT_NUMERIC.format(
            argument="features",
            columns=exc.shorten(kinds),
            kind=", ".join(sorted(set(kinds.values()))),
            hint="Leave them out with --drop NAMES; code categories as 0/1 columns first.",
        )
        raise exc.FileError(f"{path}: {message}")


def _read_arff(file: str, options: Namespace) -> Dataset:
    from isingmlc.datasets import read_mulan

    if options.sep is not None:
        raise exc.DataError(f"--sep is for tables, but {file} is an ARFF file. Leave it out.")
    data = read_mulan(
        file, options.xml, labels=options.labels, encoding=options.encoding or "utf-8"
    )
    try:
        return _choose(data, options)
    except exc.DataError as error:
        raise exc.FileError(f"{file}: {error}") from error


def _choose(data: Dataset, options: Namespace) -> Dataset:
    """Keep the features that were asked for, and the rows without missing values."""
    import pandas as pd

    from isingmlc.datasets.tables import choose_columns
    from isingmlc.input.rows import prepare

    names = list(data.feature_names)
    unwanted = set(choose_columns("drop", names, options.drop) if options.drop else [])
    asked = names
    if options.features is not None:
        asked = choose_columns("features", names, options.features) if options.features else []
    kept = [name for name in asked if name not in unwanted]
    if isinstance(data.features, pd.DataFrame):
        features = data.features[kept]
    else:
        place = {name: at for at, name in enumerate(names)}
        features = data.features[:, [place[name] for name in kept]]
    checked = prepare(
        data.labels,
        features if kept else None,
        missing=options.missing,
        feature_names=kept or None,
    )
    assert checked.index is not None
    rows = checked.index.to_numpy()
    return replace(
        data,
        labels=data.labels.iloc[rows].reset_index(drop=True),
        features=(
            features.iloc[rows].reset_index(drop=True)
            if isinstance(features, pd.DataFrame)
            else features[rows]
        ),
        feature_names=tuple(kept),
    )
