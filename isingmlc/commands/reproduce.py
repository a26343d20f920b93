"""``isingmlc reproduce``: the experiments of the paper, beside the values that it prints."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc.commands.names import EXPERIMENTS
from isingmlc.commands.options import add_jobs, add_seed

EXAMPLES = """\
examples:
  isingmlc reproduce all --out reproduced --data mulan --jobs 2
  isingmlc reproduce --out reproduced --quick
  isingmlc reproduce figure-roc figure-size --out reproduced

parts:
  figure-scene   networks of the most and the least important feature of scene
  figure-score   score statistics by the size of the effect and the number of rows
  figure-roc     ROC curves of seven methods on artificial data
  figure-size    area below the ROC curves by the number of rows
  table1         sizes of the data sets
  tables         classifiers on selected features, with tests of the methods (Tables 2-6)
  figure-time    computing time by the numbers of features and labels

Finished work is kept in DIR/work: a run that was interrupted goes on from there. Data sets whose
files are not found are listed as absent.
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "reproduce",
        help="run the experiments of the paper",
        description="Run the experiments of the paper and write tables (CSV), figures (PNG and "
        "SVG) and a page that shows them beside the printed values (index.html).",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "parts",
        nargs="*",
        default="all",
        choices=(*EXPERIMENTS, "all"),
        metavar="PART",
        help="what to run, see below (default: all)",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write to")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with Mulan's data sets, one folder per set (default: ISINGMLC_DATA, then the "
        "folder of downloads)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer simulations and subset sizes, small data sets only",
    )
    add_jobs(parser, "processes")
    add_seed(parser, "all that is random", default=0)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Run the experiments, and say where the page is."""
    from isingmlc.experiments import reproduce

    page = reproduce(
        options.parts,
        options.out,
        options.data,
        quick=options.quick,
        n_jobs=options.jobs,
        random_state=options.seed,
    )
    print(f"Tables and figures, to be opened in a browser: {page.resolve()}")
