"""``isingmlc select``: a subset of the features, and a classifier that uses it."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace, _SubParsersAction
from typing import TYPE_CHECKING, Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import add_input_arguments, model_of, read_file
from isingmlc.commands.names import CLASSIFIERS, METRICS, RANKINGS, SPLITS
from isingmlc.commands.options import (
    add_adjust,
    add_alpha,
    add_combine,
    add_cov_type,
    add_jobs,
    add_neighbors,
    add_seed,
    add_top,
    add_unit,
    adjustment,
    check_cov_type,
)
from isingmlc.commands.outputs import (
    SHOWN,
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    first_rows,
    write_output,
)
from isingmlc.commands.values import count, count_or_share, folds, setting

if TYPE_CHECKING:
    from isingmlc.datasets import Dataset

EXAMPLES = """\
examples:
  isingmlc select train.csv --labels 'y_*' --test test.csv
  isingmlc select data.csv --labels 'y_*' --method score,products,br-ig --metric jaccard
  isingmlc select data.csv --labels 'y_*' --method auto --cv 5 --one-se
  isingmlc select data.csv --labels 'y_*' --method forward --groups person
  isingmlc select data.csv --labels 'y_*' --method score:penalty=2 --max-features 50
  isingmlc select data.csv --labels 'y_*' --alpha 0.05 --out selected.csv
  isingmlc select data.csv --labels 'y_*' --covariates age,sex --alpha 0.05
  isingmlc select train.csv --labels 'y_*' --test test.csv --table predictions --format csv

Rows of one group of --groups stay together, on one side of the split, and with --alpha p-values
come from the groups. Rows of --test have the same columns, and count as their weights say.
"""
TABLES = ("selected", "path", "measures", "predictions")


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "select",
        help="choose features for prediction",
        description="Choose the first features of a ranking: as many as predict best on rows kept "
        "for validation, or those with small p-values.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser)
    group = parser.add_argument_group("selection")
    group.add_argument(
        "--method",
        type=candidates,
        action="extend",
        metavar="METHODS",
        help=f"how features are ranked: auto, or methods to try, separated by commas: "
        f"{', '.join(RANKINGS)}; with options as in score:penalty=2 (default: forward; score with "
        "--alpha, --neighbors, --cov-type or --combine)",
    )
    add_unit(group, "choose")
    add_neighbors(group)
    add_cov_type(group)
    add_alpha(
        group,
        "choose features whose adjusted p-values are at most this level, the false-discovery rate "
        "unless --adjust says otherwise (default: choose by a validation set)",
    )
    add_adjust(group)
    add_combine(group)
    group.add_argument(
        "--max-features",
        type=count_or_share,
        metavar="N",
        help="the most features to try, a number or a share (default: 0.2, or 20 if that is more)",
    )
    group.add_argument(
        "--grid",
        type=count,
        metavar="N",
        help="try so many sizes only, evenly on a logarithmic scale (default: all)",
    )
    group.add_argument(
        "--validation",
        type=float,
        metavar="SHARE",
        help="share of the rows kept for validation (default: 0.3; five folds with --method auto)",
    )
    group.add_argument(
        "--cv",
        type=folds,
        metavar="N",
        help="validate on all rows in so many folds, instead of on a share of them",
    )
    group.add_argument(
        "--split",
        choices=SPLITS,
        default="stratified",
        help="how rows are split: with the labels in the same shares, at random, or later rows "
        "validate what earlier ones teach (default: stratified); with --groups, whole groups at "
        "random",
    )
    group.add_argument(
        "--one-se",
        action="store_true",
        help="keep the smallest number of features whose score is within one standard error of the "
        "best (default: the best)",
    )
    group.add_argument(
        "--classifier",
        choices=CLASSIFIERS,
        default="ising",
        help="what predicts: an Ising model with effects of features, or the paper's chain of "
        "logistic regressions (default: ising)",
    )
    group.add_argument(
        "--metric", choices=METRICS, default="subset", help="what to maximise (default: subset)"
    )
    add_seed(group, "the split")
    add_jobs(group, "processes")
    group.add_argument(
        "--test", metavar="FILE", help="other rows of the same columns to measure predictions on"
    )
    add_top(group, "rows")
    add_output_arguments(parser, tables=TABLES, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def candidates(text: str) -> list[str | tuple[str, dict[str, object]]]:
    """Read rankings that are separated by commas, options after colons."""
    entries: list[str | tuple[str, dict[str, object]]] = []
    for entry in text.split(","):
        name, *settings = (part.strip() for part in entry.split(":"))
        if name not in (*RANKINGS, "auto"):
            raise ArgumentTypeError(
                f"there is no ranking {name!r}; choose from auto, {', '.join(RANKINGS)}"
            )
        entries.append((name, dict(map(setting, settings))) if settings else name)
    return entries


def run(options: Namespace) -> None:
    """Choose features, and write them or what they predict."""
    from isingmlc.selection.choice import select_features

    if options.alpha is not None or options.groups is None:
        check_cov_type(options)
    check_output(options, summary=options.table is None)
    if options.table in ("measures", "predictions") and options.test is None:
        raise exc.DataError(f"--table {options.table} needs other rows. Name them by --test FILE.")
    methods: list[Any] | None = options.method
    if options.combine is not None:
        methods = [_combined(entry, options.combine) for entry in methods or ["score"]]
    given = read_file(options.data, options)
    selection = select_features(
        model_of(given, tests=options.alpha is not None),
        method=methods,
        unit=options.unit,
        neighbors=options.neighbors,
        cov_type=options.cov_type,
        alpha=options.alpha,
        adjust=adjustment(options),
        max_features=options.max_features,
        grid=options.grid,
        validation=options.validation,
        cv=options.cv,
        split=options.split,
        rule="one-se" if options.one_se else "best",
        classifier=options.classifier,
        metric=options.metric,
        random_state=options.seed,
        n_jobs=options.jobs,
    )
    selected = selection.ranking.to_frame().loc[list(selection.selected)]
    tables = {"selected": selected, "path": selection.path}
    summary = selection.summary(options.top or SHOWN)
    if options.test is not None:
        there = read_file(options.test, options, given)
        other = there.data
        _check_columns(options, given.data, other)
        measures = selection.evaluate(
            other, covariates=there.covariates, sample_weight=there.weights
        )
        tables["measures"] = measures.rename_axis("measure").to_frame("value")
        predicted = selection.predict(other.features, there.covariates)
        tables["predictions"] = predicted.rename_axis("row")
        listed = ", ".join(f"{name} {value:.4f}" for name, value in measures.items())
        measured = f"On {options.test} ({len(other.labels)} rows): {listed}"
        # Below the text, and among the notes of the LaTeX.
        summary.extra_txt = "\n\n".join(filter(None, [summary.extra_txt, measured]))
        summary.notes = (*summary.notes, measured)
    if options.table is None:
        write_output(options, first_rows(options, selected), summary)
    else:
        write_output(options, first_rows(options, tables[options.table]))


def _combined(entry: Any, combine: str) -> tuple[str, dict[str, object]]:
    """Return a ranking the option that says how its p-values are made."""
    name, settings = (entry, {}) if isinstance(entry, str) else entry
    if name == "auto":
        raise exc.DataError(
            "--combine says how p-values are made, but --method auto lets validation rows choose "
            "among rankings, without p-values. Leave --combine out, or use --method score --alpha."
        )
    return name, {**settings, "combine": combine}


def _check_columns(options: Namespace, data: Dataset, other: Dataset) -> None:
    """See that features which come without names are the same ones."""
    is_frame = hasattr(other.features, "columns")
    if not is_frame and other.feature_names != data.feature_names:
        raise exc.FileError(
            f"{options.test}: its features are not those of {options.data}, in their order. Choose "
            "the same ones with --features."
        )
