"""``isingmlc report``: an interactive report in one HTML file."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import RANKED_BY_SUMS
from isingmlc.commands.options import (
    add_adjust,
    add_alpha,
    add_combine,
    add_fit,
    add_page,
    add_ranking,
    add_seed,
    adjustment,
    check_cov_type,
    given_penalty,
)
from isingmlc.commands.outputs import say_written
from isingmlc.commands.values import count

EXAMPLES = """\
examples:
  isingmlc report data.csv --labels 'y_*'
  isingmlc report data.csv --labels 'y_*' --title 'Survey 2024' --out survey.html --open
  isingmlc report data.csv --labels 'y_*' --covariates age,sex --out adjusted.html
  isingmlc report scene-train.arff --xml scene.xml --penalty 1 --top 500
  isingmlc report data.parquet --labels a,b,c --method score+l1 --alpha 0.01
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "report",
        help="write an interactive report",
        description="Write an interactive report to one HTML file: features, their networks, the "
        "heat map of all edges, the label network, what needs attention, and tables as CSV. It "
        "opens in a browser without a connection.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, scan=True)
    group = parser.add_argument_group("tests")
    add_ranking(group, "as in isingmlc rank")
    add_fit(group)
    add_combine(group)
    add_adjust(group)
    add_alpha(
        group,
        "level up to which adjusted p-values are significant, and of the confidence intervals in "
        "the summary, as in isingmlc fit (default: 0.05)",
        default=0.05,
    )
    page = parser.add_argument_group("report")
    page.add_argument(
        "--top",
        type=count,
        default=2000,
        metavar="N",
        help="how many features to keep, the most important ones (default: 2000)",
    )
    page.add_argument(
        "--pairs",
        type=int,
        metavar="N",
        help="how many pairs of labels to keep for each feature, 0 for none (default: 10, of the "
        "best features alone if there are very many products to test)",
    )
    page.add_argument(
        "--draws",
        type=count,
        metavar="N",
        help="how many draws of the rows to say how sure the network is, in bootstraps and with "
        "rows left out (default: none)",
    )
    add_seed(page, "the draws")
    page.add_argument("--title", metavar="TEXT", help="the headline")
    add_page(page, "report.html")
    page.add_argument("--open", action="store_true", help="open the report in a browser")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Fit, test, and write the report."""
    check_cov_type(options)
    results = make_model(options, needs_rows=options.method not in RANKED_BY_SUMS).fit(
        penalty=given_penalty(options),
        neighbors=options.neighbors,
        cov_type=options.cov_type,
    )
    ranking = None
    if results.feature_names:
        combined = {} if options.combine is None else {"combine": options.combine}
        ranking = results.rank_features(options.method, **combined)
    drawn: dict[str, Any] = {}
    if options.draws is not None:
        drawn["bootstrap"] = results.bootstrap(options.draws, random_state=options.seed)
        drawn["dropping"] = results.drop_cases(options.draws, random_state=options.seed)
    path = results.report(
        options.out,
        ranking=ranking,
        **drawn,
        alpha=options.alpha,
        adjust=adjustment(options),
        top=options.top,
        pairs=options.pairs,
        title=options.title,
    )
    say_written(options, path)
    if options.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
