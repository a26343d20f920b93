"""``isingmlc select``: a subset of the features, and a classifier that uses it."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace, _SubParsersAction
from typing import TYPE_CHECKING, Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import add_input_arguments, read_file, read_input
from isingmlc.commands.names import ADJUSTMENTS, METRICS, RANKINGS
from isingmlc.commands.outputs import (
    SHOWN,
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    first_rows,
    write_output,
)
from isingmlc.commands.values import count, count_or_share, jobs, setting

if TYPE_CHECKING:
    from isingmlc.datasets import Dataset

EXAMPLES = """\
examples:
  isingmlc select train.csv --labels 'y_*' --test test.csv
  isingmlc select data.csv --labels 'y_*' --method score,interaction,br-ig --metric jaccard
  isingmlc select data.csv --labels 'y_*' --method score:null=ridge:alpha=2 --max-features 50
  isingmlc select data.csv --labels 'y_*' --fdr 0.05 --out chosen.csv
  isingmlc select train.csv --labels 'y_*' --test test.csv --table predictions --format csv
"""
TABLES = ("chosen", "path", "measures", "predictions")


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command.

    Parameters
    ----------
    commands : _SubParsersAction
        Where to.
    """
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
        help=f"auto, or rankings to try, separated by commas: {', '.join(RANKINGS)}; with options "
        "as in score:null=ridge (default: score)",
    )
    group.add_argument(
        "--fdr",
        type=float,
        metavar="ALPHA",
        help="choose by p-values up to this false discovery rate, without a validation set",
    )
    group.add_argument(
        "--adjust",
        choices=ADJUSTMENTS,
        default="fdr_bh",
        metavar="METHOD",
        help=f"how p-values are adjusted for --fdr: {', '.join(ADJUSTMENTS)} (default: fdr_bh)",
    )
    group.add_argument(
        "--max-features",
        type=count_or_share,
        default=0.2,
        metavar="N",
        help="the most features to try, a number or a share (default: 0.2)",
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
        default=0.3,
        metavar="SHARE",
        help="share of the rows kept for validation (default: 0.3)",
    )
    group.add_argument(
        "--metric", choices=METRICS, default="subset", help="what to maximise (default: subset)"
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of the split")
    group.add_argument(
        "--jobs",
        type=jobs,
        default=1,
        metavar="N",
        help="processes; -1 for one a core (default: 1)",
    )
    group.add_argument(
        "--test", metavar="FILE", help="other rows of the same columns to measure predictions on"
    )
    group.add_argument(
        "--top",
        type=count,
        metavar="N",
        help=f"how many rows (default: {SHOWN} in a table, else all)",
    )
    add_output_arguments(parser, tables=TABLES, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def candidates(text: str) -> list[str | tuple[str, dict[str, object]]]:
    """Read rankings that are separated by commas, options after colons.

    Parameters
    ----------
    text : str
        What was written.

    Returns
    -------
    list of str and of pairs
        Names, and names with options.

    Raises
    ------
    ArgumentTypeError
        When an option is not of the form name=value.

    Examples
    --------
    >>> candidates("br-ig,score:null=ridge")
    ['br-ig', ('score', {'null': 'ridge'})]
    """
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
    """Choose features, and write them or what they predict.

    Parameters
    ----------
    options : Namespace
        Parsed arguments.
    """
    from isingmlc.selection.choice import AUTO, select_features

    check_output(options, summary=options.table is None)
    if options.table in ("measures", "predictions") and options.test is None:
        raise exc.DataError(f"--table {options.table} needs other rows. Name them by --test FILE.")
    methods: list[Any] = []
    for entry in options.method or ["score"]:
        methods += AUTO if entry == "auto" else [entry]
    data = read_input(options)
    selection = select_features(
        data if data.feature_names else data.labels,
        method=methods,
        alpha=options.fdr,
        adjust=options.adjust,
        max_features=options.max_features,
        grid=options.grid,
        validation=options.validation,
        metric=options.metric,
        random_state=options.seed,
        n_jobs=options.jobs,
    )
    chosen = selection.ranking.to_frame().loc[list(selection.features)]
    tables = {"chosen": chosen, "path": selection.path}
    summary = selection.summary(options.top or SHOWN)
    if options.test is not None:
        other = read_file(options.test, options)
        _check_columns(options, data, other)
        measures = selection.evaluate(other)
        tables["measures"] = measures.rename_axis("measure").to_frame("value")
        tables["predictions"] = selection.predict(other.features).rename_axis("row")
        listed = ", ".join(f"{name} {value:.4f}" for name, value in measures.items())
        measured = f"On {options.test} ({len(other.labels)} rows): {listed}"
        # Below the text, and among the notes of the LaTeX.
        summary.extra_txt = "\n\n".join(filter(None, [summary.extra_txt, measured]))
        summary.notes = (*summary.notes, measured)
    if options.table is None:
        write_output(options, first_rows(options, chosen), summary)
    else:
        write_output(options, first_rows(options, tables[options.table]))


def _check_columns(options: Namespace, data: Dataset, other: Dataset) -> None:
    """See that features which come without names are the same ones."""
    is_frame = hasattr(other.features, "columns")
    if not is_frame and other.feature_names != data.feature_names:
        raise exc.FileError(
            f"{options.test}: its features are not those of {options.data}, in their order. Choose "
            "the same ones with --features."
        )
