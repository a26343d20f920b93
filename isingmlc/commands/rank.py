"""``isingmlc rank``: features in order of importance."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import RANKED_BY_SUMS
from isingmlc.commands.options import (
    add_combine,
    add_fit,
    add_ranking,
    add_top,
    add_unit,
    check_cov_type,
    given_penalty,
)
from isingmlc.commands.outputs import (
    SHOWN,
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    first_rows,
    write_output,
)
from isingmlc.commands.values import count_or_share, setting

EXAMPLES = """\
examples:
  isingmlc rank data.csv --labels 'y_*' --method score --top 20
  isingmlc rank data.csv --labels 'y_*' --covariates age,sex
  isingmlc rank data.parquet --labels a,b,c --penalty 2
  isingmlc rank scene-train.arff --xml scene.xml --method score+l1 --option keep=0.1
  isingmlc rank data.csv --labels 'y_*' --method forward --n-features 20
  isingmlc rank data.csv --labels 'y_*' --categories region
  isingmlc rank data.csv --labels 'y_*' --method br-ig --out ranking.csv
  zcat data.csv.gz | isingmlc rank - --labels 'y_*' --format json

methods (isingmlc.rank_features explains them and their options):
  score              sum over labels of score statistics; has p-values
  products           the same, and the products of features with other labels
  products-joint     joint statistics of a feature and its products
  l1, score+l1       coefficients of l1-penalised models, all features or those the score keeps
  forward            one after the other, each for what it adds to those before it
  ssc                the same by canonical correlations with the labels
  br-chi2, br-ig     chi-square or information gain for each label by itself
  lp-chi2, lp-ig     the same for the labelset as one class
  oner               accuracy of rules on one feature

--penalty, --neighbors, --cov-type, --groups and --no-intercept are for methods with label
models: score, products, products-joint and score+l1. They have a ridge penalty of 1 unless
--penalty says otherwise; tests (isingmlc test) have none. --covariates
is for these and for l1, forward and ssc.
Categories and other variables of several columns are for score, forward and ssc.
"""
# Options of methods that have a flag of their own.
_SETTINGS = ("combine", "n_features", "stop")


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "rank",
        help="rank the features",
        description="Rank features by how much they matter to the labels.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, scan=True)
    group = parser.add_argument_group("ranking")
    add_ranking(group, "see below")
    add_fit(group, "1")
    add_combine(group)
    add_unit(group, "rank")
    group.add_argument(
        "--n-features",
        type=count_or_share,
        metavar="N",
        help="how many features forward and ssc pick, a number or a share; the others follow "
        "(default: 50)",
    )
    group.add_argument(
        "--stop",
        choices=("ebic",),
        help="forward: stop where the extended BIC of no label falls any more",
    )
    group.add_argument(
        "--option",
        "-o",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="option of the method, e.g. min_count=5, keep=0.1, n_jobs=2; may be repeated",
    )
    add_top(group, "features")
    group.add_argument(
        "--contributions",
        action="store_true",
        help="add one column per label: what it contributes",
    )
    add_output_arguments(parser, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Rank the features and write the ranking."""
    from isingmlc.ranking.methods import Ranker, check_request

    settings = dict(options.option)
    for name in _SETTINGS:
        value = getattr(options, name)
        if value is not None and name in settings:
            raise exc.DataError(
                f"--{name.replace('_', '-')} and --option {name}=… say the same. Leave one out."
            )
        if value is not None:
            settings[name] = value
    fit = {"penalty": given_penalty(options, "auto"), "neighbors": options.neighbors}
    # What is wrong with the options is said before the data are read.
    check_output(options, summary=not options.contributions)
    has_covariates = options.covariates is not None
    asked = {**fit, "unit": options.unit}
    check_request(options.method, settings, **asked, has_covariates=has_covariates)
    check_cov_type(options)
    model = make_model(options, needs_rows=options.method not in RANKED_BY_SUMS)
    ranker = Ranker(model, options.cov_type)
    ranking = ranker.rank(options.method, unit=options.unit, **fit, **settings)
    table = ranking.to_frame()
    if options.contributions:
        # Labels may be called as columns of the table are.
        parts = ranking.contributions.add_prefix("from_")
        write_output(options, first_rows(options, table.join(parts)))
    else:
        write_output(options, first_rows(options, table), ranking.summary(options.top or SHOWN))
