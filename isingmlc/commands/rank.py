"""``isingmlc rank``: features in order of importance."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import NULLS, RANKINGS
from isingmlc.commands.outputs import (
    SHOWN,
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    first_rows,
    write_output,
)
from isingmlc.commands.values import count, setting

EXAMPLES = """\
examples:
  isingmlc rank data.csv --labels 'y_*' --method score --top 20
  isingmlc rank data.parquet --labels a,b,c --null ridge --alpha 2
  isingmlc rank scene-train.arff --xml scene.xml --method score+l1 --option keep=0.1
  isingmlc rank data.csv --labels 'y_*' --method br-ig --out ranking.csv
  zcat data.csv.gz | isingmlc rank - --labels 'y_*' --format json

methods (isingmlc.rank_features explains them and their options):
  score              sum over labels of score statistics; has p-values
  interaction        the same, and the products of features with other labels
  interaction-joint  joint statistics of a feature and its products
  l1, score+l1       coefficients of l1-penalised models, all features or those the score keeps
  br-chi2, br-ig     chi-square or information gain for each label by itself
  lp-chi2, lp-ig     the same for the labelset as one class
  oner               accuracy of rules on one feature
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command.

    Parameters
    ----------
    commands : _SubParsersAction
        Where to.
    """
    parser = commands.add_parser(
        "rank",
        help="rank the features",
        description="Rank features by how much they matter to the labels.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser)
    group = parser.add_argument_group("ranking")
    group.add_argument(
        "--method",
        choices=RANKINGS,
        default="score",
        metavar="METHOD",
        help="how importance is measured, see below (default: score)",
    )
    group.add_argument(
        "--null",
        choices=NULLS,
        default="mle",
        help="how label models are fitted, for score, interaction(-joint), score+l1 (default: mle)",
    )
    group.add_argument("--alpha", type=float, help="penalty of --null ridge (default: 1)")
    group.add_argument(
        "--option",
        "-o",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="option of the method, e.g. min_count=5, keep=0.1, n_jobs=2; may be repeated",
    )
    group.add_argument(
        "--top",
        type=count,
        metavar="N",
        help=f"how many features (default: {SHOWN} in a table, else all)",
    )
    group.add_argument(
        "--contributions", action="store_true", help="add a column a label: what it contributes"
    )
    add_output_arguments(parser, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Rank the features and write the ranking.

    Parameters
    ----------
    options : Namespace
        Parsed arguments.
    """
    from isingmlc.ranking.methods import Ranker, check_request

    settings = dict(options.option)
    # What is wrong with the options is said before the data are read.
    check_output(options, summary=not options.contributions)
    check_request(options.method, options.null, options.alpha, settings)
    model = make_model(options)
    ranking = Ranker(model).rank(options.method, null=options.null, alpha=options.alpha, **settings)
    table = ranking.to_frame()
    if options.contributions:
        # Labels may be called as columns of the table are.
        parts = ranking.contributions.add_prefix("from_")
        write_output(options, first_rows(options, table.join(parts)))
    else:
        write_output(options, first_rows(options, table), ranking.summary(options.top or SHOWN))
