"""The arguments that say which data a command works on, and the data that they stand for."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isingmlc import exceptions as exc
from isingmlc.commands.categories import (
    Levels,
    code_categories,
    count_missing,
    describe_categories,
    find_categories,
)
from isingmlc.commands.values import name_list, separator

if TYPE_CHECKING:
    import pandas as pd

    from isingmlc.datasets import Dataset
    from isingmlc.model import IsingModel


# What says how rows were drawn and what they stand for: arguments in Python, and options.
SAMPLING = {
    "groups": "--groups",
    "sampling_weights": "--sampling-weights",
    "freq_weights": "--weights",
}


@dataclass(frozen=True)
class Input:
    """What a command reads from a file.

    Attributes
    ----------
    data : Dataset
        Labels and features, without missing values; categories among them are 0/1 columns.
    covariates : DataFrame or None
        The covariates of the same rows, if any are named.
    groups, sampling_weights, freq_weights : Series or None
        Their clusters and weights, if these are named.
    levels : mapping of str to tuple of str
        The categories among the features, with their levels.
    terms : mapping of str to tuple of str
        Which columns of the features belong together: those of a category.
    """

    data: Dataset
    covariates: pd.DataFrame | None = None
    groups: pd.Series | None = None
    sampling_weights: pd.Series | None = None
    freq_weights: pd.Series | None = None
    levels: Levels = field(default_factory=dict)
    terms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def features(self) -> Any:
        """The features; None if there are none."""
        return self.data.features if self.data.feature_names else None

    @property
    def conditioned(self) -> dict[str, Any]:
        """Covariates, clusters and weights as arguments by keyword; nothing if there are none."""
        names = ("covariates", *SAMPLING)
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def weights(self) -> pd.Series | None:
        """How much each row counts, by both kinds of weights; None if all count alike."""
        drawn, times = self.sampling_weights, self.freq_weights
        if drawn is None or times is None:
            return times if drawn is None else drawn
        return drawn * times


def add_input_arguments(
    parser: ArgumentParser,
    *,
    several: bool = False,
    optional: bool = False,
    labels_alone: bool = False,
    covariates: bool = True,
    counts_missing: bool = False,
    scan: bool = False,
) -> None:
    """Add the arguments that `read_file` understands.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of a subcommand.
    several : bool
        Whether the command takes more than one file.
    optional : bool
        Whether it can do without any.
    labels_alone : bool
        Whether no column is a feature unless ``--features`` names it.
    covariates : bool
        Whether the command takes covariates, clusters and sampling weights.
    counts_missing : bool
        Whether the command can do with missing values, and counts them.
    scan : bool
        Whether the command does without rows, so that files of any size will do.
    """
    group = parser.add_argument_group("input")
    group.add_argument(
        "data",
        metavar="FILE",
        nargs="+" if several else "?" if optional else None,
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
    if covariates:
        group.add_argument(
            "--covariates",
            type=name_list,
            action="extend",
            metavar="NAMES",
            help="columns that everything is adjusted for, in the same way, e.g. age,sex; they are "
            "no features, and text is taken as categories",
        )
        group.add_argument(
            "--groups",
            metavar="NAME",
            help="the column that says which rows belong together and may depend on each other, "
            "e.g. the practice; it is no feature",
        )
        group.add_argument(
            "--sampling-weights",
            metavar="NAME",
            help="the column with inverse probabilities of being drawn; it is no feature",
        )
    else:
        parser.set_defaults(covariates=None, **dict.fromkeys(SAMPLING))
    if covariates or counts_missing:
        group.add_argument(
            "--weights",
            dest="freq_weights",
            metavar="NAME",
            help="the column that says how many observations a row stands for; it is no feature",
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
        choices=(*(("count",) if counts_missing else ()), "raise", "drop"),
        default="count" if counts_missing else "raise",
        help="what to do with rows that have missing values (default: "
        f"{'count, which keeps them' if counts_missing else 'raise, which stops'})",
    )
    group.add_argument(
        "--sep", type=separator, help="separator of the columns of a text file (default: comma)"
    )
    group.add_argument("--encoding", help="encoding of a text file (default: utf-8)")
    if scan:
        group.add_argument(
            "--scan",
            action=BooleanOptionalAction,
            help="sum rows up as they are read, or read them into memory: Parquet and CSV files of "
            "any size, folders and patterns of files can be scanned, but what needs rows, such as "
            "Wald tests, is not to be had then (default: large Parquet files, folders and patterns "
            "are)",
        )
    else:
        parser.set_defaults(scan=False)
    parser.set_defaults(no_intercept=False)


def read_file(file: str, options: Namespace, like: Input | None = None) -> Input:
    """Read one file as the arguments say.

    Parameters
    ----------
    file : str
        Its path, or ``-`` for CSV on standard input.
    options : Namespace
        Parsed arguments.
    like : Input, optional
        What was read before from a file of the same columns: categories have its levels.

    Returns
    -------
    Input
        Labels, features and covariates.

    Raises
    ------
    FileError
        When the file cannot be read, or lacks what is asked for.
    DataError
        When nothing says which columns are labels.
    """
    is_arff = Path(file).suffix.lower() == ".arff"
    return _read_arff(file, options) if is_arff else _read_table(file, options, like)


def make_model(options: Namespace, *, needs_rows: bool = False) -> IsingModel:
    """Make the model of the data that the arguments name; without features if they have none.

    If nobody says whether they are scanned, files are not where the command `needs_rows`.
    """
    from isingmlc.commands.scanning import is_scanned, scan_model

    if is_scanned(options, needs_rows):
        return scan_model(options)
    return model_of(read_file(options.data, options), intercept=not options.no_intercept)


def model_of(given: Input, *, intercept: bool = True, tests: bool = True) -> IsingModel:
    """Make the model of data that were read; without `tests` no p-value comes of it."""
    from isingmlc.input.rows import prepare
    from isingmlc.model import IsingModel

    rows = prepare(
        given.data.labels,
        given.features,
        **given.conditioned,
        feature_names=given.data.feature_names or None,
        terms=given.terms,
    )
    return IsingModel._from_rows(rows, intercept=intercept, tests=tests)


def _read_table(file: str, options: Namespace, like: Input | None) -> Input:
    from isingmlc.datasets import Dataset
    from isingmlc.datasets._files import file_error
    from isingmlc.datasets.label_list import read_label_list
    from isingmlc.datasets.tables import choose_roles, read_frame, separator_hint
    from isingmlc.input.columns import choose_columns

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
    try:
        dropped = choose_columns("drop", list(frame.columns), options.drop) if options.drop else []
        known = [name for name in frame.columns if name not in dropped]
        columns = choose_covariates(known, label_columns, options)
        drawn = choose_sampling(known, [*label_columns, *(options.features or ())], options)
        taken = {*columns, *drawn.values()}
        features = frame[[name for name in feature_columns if name not in taken]]
        found = find_categories("features", features)
        announce(options, found, find_categories("covariates", frame[columns]))
        levels = found if like is None else _same_categories(found, like.levels)
        if options.missing == "raise":
            roles = {"labels": label_columns, "features": list(features), "covariates": columns}
            roles |= {argument: [name] for argument, name in drawn.items()}
            count_missing(frame, levels, roles)
        coded, terms = code_categories(features, levels)
        warn_of_constants(levels)
        names = tuple(map(str, coded.columns))
        data = Dataset(
            frame[label_columns],
            coded,
            names,
            name=path.name.partition(".")[0],
            DESCR=f"Read from {path.name}.",
        )
        covariates = frame[columns] if columns else None
        sampling = {argument: frame[name] for argument, name in drawn.items()}
        return _complete(Input(data, covariates, **sampling, levels=levels, terms=terms), options)
    except exc.DataError as error:
        raise file_error(path, f"{error}{separator_hint(list(frame.columns))}") from error


def choose_covariates(columns: list[str], labels: list[str], options: Namespace) -> list[str]:
    """Choose the columns that are covariates, none of which may be a label or a feature."""
    from isingmlc.input.columns import choose_columns

    if options.covariates is None:
        return []
    if getattr(options, "between", None) is not None:
        # Groups to compare are read as a covariate, but a person named them otherwise.
        choose_columns("--between", columns, [options.between])
    chosen = choose_columns("covariates", columns, options.covariates)
    # A pattern of features may take in covariates, a name is meant.
    both = [name for name in options.features or () if name in chosen]
    if both:
        verb = "is" if len(both) == 1 else "are"
        raise exc.DataError(
            f"{exc.shorten(both)} {verb} named by --features and by --covariates: nothing of a "
            "feature is left to test once it is given. Name it once."
        )
    shared = [name for name in chosen if name in labels]
    if shared:
        verb = "is" if len(shared) == 1 else "are"
        raise exc.DataError(exc.COVARIATE_IS_LABEL.format(names=f"{exc.shorten(shared)} {verb}"))
    return chosen


def choose_sampling(columns: list[str], taken: list[str], options: Namespace) -> dict[str, str]:
    """Find the columns of clusters and weights, which are no labels and no features."""
    found = {}
    for argument, flag in SAMPLING.items():
        name = getattr(options, argument)
        if name is None:
            continue
        if name not in columns:
            raise exc.DataError(
                f"{flag} must name a column, but is {name!r}. There are {exc.shorten(columns, 10)}."
            )
        if name in taken:
            raise exc.DataError(
                f"{name!r} is named by {flag}, and as a label or feature. Name it once."
            )
        found[argument] = name
    return found


def announce(options: Namespace, features: Levels, covariates: Levels) -> None:
    """Say on standard error which columns are taken as categories, the reference level first."""
    for argument, levels in (("features", features), ("covariates", covariates)):
        if levels:
            print(
                f"isingmlc {options.command}: text {argument} are coded as categories: "
                f"{describe_categories(levels)}",
                file=sys.stderr,
            )


def warn_of_constants(levels: Levels) -> None:
    """Say which categories have one level, and so make no column."""
    constant = [name for name, each in levels.items() if len(each) < 2]
    if constant:
        exc.warn(
            f"feature(s) {exc.shorten(constant)} hold the same text in every row and were left "
            "out.",
            exc.DataWarning,
        )


def _same_categories(found: Levels, wanted: Levels) -> Levels:
    """Give the categories of another file, which must be those of this one."""
    differ = sorted(set(found) ^ set(wanted))
    if differ:
        raise exc.DataError(
            f"feature(s) {exc.shorten(differ)} hold numbers in one file and text in the other. "
            "Give them the same type in both."
        )
    return wanted


def _complete(given: Input, options: Namespace) -> Input:
    """Keep the rows without missing values, as ``--missing`` says."""
    import numpy as np
    import pandas as pd

    from isingmlc.input.rows import prepare

    data, covariates = given.data, given.covariates
    labels = data.labels.reset_index(drop=True)
    if options.missing == "count":
        # Labels that are known are 0 and 1 here too.
        prepare(labels.where(labels.notna(), 0))
        return given
    checked = prepare(
        labels,
        given.features,
        covariates=covariates,
        groups=given.groups,
        sampling_weights=given.sampling_weights,
        freq_weights=given.freq_weights,
        missing=options.missing,
        feature_names=data.feature_names or None,
        terms=given.terms,
    )
    assert checked.index is not None
    rows = checked.index.to_numpy()
    features = data.features
    if isinstance(features, pd.DataFrame):
        features = features.iloc[rows].reset_index(drop=True)
    elif len(rows) < features.shape[0]:
        features = features[rows]
    if covariates is not None:
        covariates = covariates.iloc[rows].reset_index(drop=True)
    kept = pd.DataFrame(checked.labels.astype(np.int64), columns=list(checked.label_names))
    sampling: dict[str, Any] = {
        name: None if column is None else column.iloc[rows].reset_index(drop=True)
        for name, column in ((name, getattr(given, name)) for name in SAMPLING)
    }
    complete = replace(data, labels=kept, features=features)
    return replace(given, data=complete, covariates=covariates, **sampling)


def _read_arff(file: str, options: Namespace) -> Input:
    from isingmlc.datasets import read_mulan

    if options.sep is not None:
        raise exc.DataError(f"--sep is for tables, but {file} is an ARFF file. Leave it out.")
    data = read_mulan(
        file, options.xml, labels=options.labels, encoding=options.encoding or "utf-8"
    )
    try:
        return _complete(_choose(data, options), options)
    except exc.DataError as error:
        raise exc.FileError(f"{file}: {error}") from error


def _choose(data: Dataset, options: Namespace) -> Input:
    """Keep the features that were asked for, and take out the covariates."""
    from isingmlc.input.columns import choose_columns

    names = list(data.feature_names)
    unwanted = set(choose_columns("drop", names, options.drop) if options.drop else [])
    asked = names
    if options.features is not None:
        asked = choose_columns("features", names, options.features) if options.features else []
    covariates, sampling = None, {}
    if options.covariates is not None:
        covariates, used = _arff_columns(
            data, unwanted, partial(choose_covariates, options=options)
        )
        unwanted |= used
    drawn = {name: getattr(options, name) for name in SAMPLING}
    if any(drawn.values()):
        columns, used = _arff_columns(
            data,
            unwanted - {*(options.covariates or ())},
            lambda known, labels: list(choose_sampling(known, labels, options).values()),
        )
        unwanted |= used
        sampling = {name: columns[column] for name, column in drawn.items() if column}
    kept = [name for name in asked if name not in unwanted]
    return Input(
        replace(data, features=_columns_of(data, kept), feature_names=tuple(kept)),
        covariates,
        **sampling,
    )


def _columns_of(data: Dataset, names: list[str]) -> Any:
    """Give some of the features, sparse ones too."""
    import pandas as pd

    if isinstance(data.features, pd.DataFrame):
        return data.features[names]
    place = {name: at for at, name in enumerate(data.feature_names)}
    return data.features[:, [place[name] for name in names]]


def _arff_columns(
    data: Dataset, unwanted: set[str], choose: Callable[[list[str], list[str]], list[str]]
) -> tuple[pd.DataFrame, set[str]]:
    """Take columns from an ARFF file, where a category came as one 0/1 column per level.

    Returns
    -------
    columns : DataFrame
        Numbers, and categories put together again.
    used : set of str
        The columns that they were made of.
    """
    import pandas as pd

    categories: dict[str, list[str]] = {}
    plain = []
    for name in data.feature_names:
        stem, equals, _ = name.partition("=")
        if equals and stem not in data.feature_names:
            categories.setdefault(stem, []).append(name)
        elif name not in unwanted:
            plain.append(name)
    labels = list(data.labels.columns)
    chosen = choose([*plain, *categories, *labels], labels)
    made, used = {}, set()
    for name in chosen:
        columns = categories.get(name, [name])
        values = _columns_of(data, columns)
        values = values.to_numpy() if isinstance(values, pd.DataFrame) else values.toarray()
        used |= {*columns}
        if name not in categories:
            made[name] = pd.Series(values[:, 0])
            continue
        codes = values.argmax(axis=1)
        codes[pd.isna(values).any(axis=1)] = -1
        levels = [column.partition("=")[2] for column in columns]
        made[name] = pd.Series(pd.Categorical.from_codes(codes, levels))
    return pd.DataFrame(made), used
