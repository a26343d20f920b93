"""``isingmlc demo``: what the package does, on the bundled data."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from importlib.util import find_spec
from typing import Any

from isingmlc.commands.options import add_page
from isingmlc.commands.values import count

EXAMPLES = """\
examples:
  isingmlc demo
  isingmlc demo --top 5 --out survey.html
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "demo",
        help="fit and rank the bundled data",
        description="Fit the label network of the bundled, simulated survey, rank its features, "
        "and write an interactive report.",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "--top", type=count, default=10, metavar="N", help="how many features to list (default: 10)"
    )
    add_page(parser, "isingmlc-demo.html")
    parser.add_argument("--no-report", action="store_true", help="write no report")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Print the summary and the ranking of the bundled data, and write the report."""
    from isingmlc.datasets import load_example
    from isingmlc.model import IsingModel

    data = load_example()
    results = IsingModel(data).fit()
    ranking = results.rank_features()
    print(data.DESCR.splitlines()[0], end="\n\n")
    print(results.summary(), end="\n\n")
    print(ranking.summary(options.top))
    if options.no_report:
        return
    if find_spec("bokeh") is None:
        print("\nFor an interactive report: python -m pip install 'isingmlc[report]'")
        return
    results.report(options.out, ranking=ranking)
    print(f"\nInteractive report, to be opened in a browser: {options.out.resolve()}")
