"""The arguments that say which data a command works on, and the data that they stand for."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isingmlc import exceptions as exc
from isingmlc.commands.categories import (
    LISTED,
    Levels,
    as_categories,
    count_missing,
    describe_categories,
    find_categories,
    find_few_valued,
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
    """What a command reads from a file."""

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
    """Add the arguments that `read_file` understands."""
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
    if covariates:
        group.add_argument(
            "--weights",
            dest="freq_weights",
            metavar="NAME",
            help="the column that says how many observations a row stands for; it is no feature",
        )
    group.add_argument(
        "--categories",
        type=name_list,
        action="extend",
        metavar="NAMES",
        help="columns of numbers that are categories, in the same way, e.g. codes of a region; "
        "text always is",
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
    """Read one file as the arguments say."""
    is_arff = Path(file).suffix.lower() == ".arff"
    return _read_arff(file, options) if is_arff else _read_table(file, options, like)


def make_model(options: Namespace, *, needs_rows: bool = False) -> IsingModel:
    """Make the model of the data that the arguments name; without features if they have none."""
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
    from isingmlc.input.categories import code_categories
    from isingmlc.input.columns import choose_columns

    labels = list(read_label_list(options.xml)) if options.xml else options.labels
    if not labels:
        raise exc.DataError(
            f"nothing says which columns of {file} are labels. Give their names or a pattern, e.g. "
            "--labels a,b,c or --labels 'y_*'."
        )
    form = {"sep": options.sep, "encoding": options.encoding}
    path, frame = read_frame(
        sys.stdin.buffer if file == "-" else file,
        **{name: value for name, value in form.items() if value is not None},
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
        named = [name for name in feature_columns if name not in taken]
        if options.categories:
            chosen = choose_columns("categories", [*named, *columns], options.categories)
            frame = as_categories(frame, chosen)
        features = frame[named]
        found = find_categories("features", features)
        of_covariates = find_categories("covariates", frame[columns])
        levels = found if like is None else _same_categories(found, like.levels)
        if options.missing == "raise":
            roles = {"labels": label_columns, "features": list(features), "covariates": columns}
            roles |= {argument: [name] for argument, name in drawn.items()}
            count_missing(frame, levels, roles)
        coded, terms = code_categories(features, levels)
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
        given = _complete(Input(data, covariates, **sampling, levels=levels, terms=terms), options)
        announce(options, found, of_covariates, find_few_valued(frame[[*named, *columns]]))
        return given
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


def announce(
    options: Namespace, features: Levels, covariates: Levels, few_valued: Mapping[str, str]
) -> None:
    """Say on standard error how variables are used that could be used otherwise."""
    said = [
        f"{argument} used as categories, the reference level first: {describe_categories(levels)}"
        for argument, levels in (("features", features), ("covariates", covariates))
        if levels
    ]
    if few_valued and options.command != "describe":
        listed = [f"{name} ({values})" for name, values in few_valued.items()]
        more = len(listed) - LISTED
        shown = ", ".join(listed[:LISTED]) + (f" and {more} more" if more > 0 else "")
        said.append(
            f"used as numbers, with one effect per unit: {shown}. --categories NAMES makes "
            "categories of them"
        )
    for line in said:
        print(f"isingmlc {options.command}: {line}", file=sys.stderr)


def _same_categories(found: Levels, wanted: Levels) -> Levels:
    """Return the categories of another file, which must be those of this one."""
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
    flags = {"covariates": "--covariates", **SAMPLING}
    for flag in (flag for name, flag in flags.items() if getattr(options, name) is not None):
        raise exc.DataError(
            f"{flag} names a column of a table, but {file} is an ARFF file. Write it as CSV first."
        )
    data = read_mulan(
        file, options.xml, labels=options.labels, encoding=options.encoding or "utf-8"
    )
    try:
        return _complete(_choose(data, options), options)
    except exc.DataError as error:
        raise exc.FileError(f"{file}: {error}") from error


def _choose(data: Dataset, options: Namespace) -> Input:
    """Keep the features that were asked for."""
    import pandas as pd

    from isingmlc.input.columns import choose_columns

    names = list(data.feature_names)
    unwanted = choose_columns("drop", names, options.drop) if options.drop else []
    asked = names
    if options.features is not None:
        asked = choose_columns("features", names, options.features) if options.features else []
    kept = [name for name in asked if name not in unwanted]
    if isinstance(data.features, pd.DataFrame):
        features = data.features[kept]
    else:
        place = {name: at for at, name in enumerate(names)}
        features = data.features[:, [place[name] for name in kept]]
    return Input(replace(data, features=features, feature_names=tuple(kept)))
