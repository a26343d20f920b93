"""``isingmlc report``: an interactive report in one HTML file."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from pathlib import Path
from typing import Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import ADJUSTMENTS, NULLS, RANKINGS
from isingmlc.commands.outputs import say_written, writable
from isingmlc.commands.values import count

EXAMPLES = """\
examples:
  isingmlc report data.csv --labels 'y_*'
  isingmlc report data.csv --labels 'y_*' --title 'Survey 2024' --out survey.html --open
  isingmlc report scene-train.arff --xml scene.xml --null ridge --top 500
  isingmlc report data.parquet --labels a,b,c --method score+l1 --level 0.01
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command.

    Parameters
    ----------
    commands : _SubParsersAction
        Where to.
    """
    parser = commands.add_parser(
        "report",
        help="write an interactive report",
        description="Write an interactive report to one HTML file: features, their networks, the "
        "heat map of all edges, the label network, what needs attention, and tables as CSV. It "
        "opens in a browser without a connection.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser)
    group = parser.add_argument_group("tests")
    group.add_argument(
        "--method",
        choices=RANKINGS,
        default="score",
        metavar="METHOD",
        help="how features are ranked, as in isingmlc rank (default: score)",
    )
    group.add_argument(
        "--null", choices=NULLS, default="mle", help="how label models are fitted (default: mle)"
    )
    group.add_argument("--alpha", type=float, help="penalty of --null ridge (default: 1)")
    group.add_argument(
        "--no-intercept", action="store_true", help="label models without an intercept"
    )
    group.add_argument(
        "--adjust",
        choices=(*ADJUSTMENTS, "none"),
        default="fdr_bh",
        metavar="METHOD",
        help=f"how p-values are adjusted: {', '.join(ADJUSTMENTS)} or none (default: fdr_bh)",
    )
    group.add_argument(
        "--level",
        type=float,
        default=0.05,
        help="adjusted p-values up to this are significant (default: 0.05)",
    )
    page = parser.add_argument_group("report")
    page.add_argument(
        "--top",
        type=count,
        default=2000,
        help="how many features it holds, the most important ones (default: 2000)",
    )
    page.add_argument(
        "--pairs",
        type=int,
        metavar="N",
        help="how many pairs of labels to keep for each feature, 0 for none (default: 10, unless "
        "there are very many products to test)",
    )
    page.add_argument("--title", help="the headline")
    page.add_argument(
        "--out",
        type=writable,
        default=Path("report.html"),
        metavar="FILE",
        help="file to write (default: report.html)",
    )
    page.add_argument("--open", action="store_true", help="open the report in a browser")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Fit, test, and write the report.

    Parameters
    ----------
    options : Namespace
        Parsed arguments.
    """
    if not 0 < options.level < 1:
        raise exc.DataError(f"--level must be above 0 and below 1, but is {options.level:g}.")
    results = make_model(options).fit(method=options.null, alpha=options.alpha)
    ranking = None
    if results.feature_names:
        ranking = results.rank_features(options.method)
    path = results.report(
        options.out,
        ranking=ranking,
        alpha=options.level,
        adjust=None if options.adjust == "none" else options.adjust,
        top=options.top,
        pairs=options.pairs,
        title=options.title,
    )
    say_written(options, path)
    if options.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
