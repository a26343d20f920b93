"""``isingmlc network``: pairs of labels with errors, centrality, predictability."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.options import (
    add_adjust,
    add_alpha,
    add_fit,
    add_odds_ratios,
    add_top,
    adjustment,
    check_cov_type,
    check_odds_ratios,
    given_penalty,
)
from isingmlc.commands.outputs import (
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    first_rows,
    write_output,
)

EXAMPLES = """\
examples:
  isingmlc network data.csv --labels 'y_*'
  isingmlc network data.csv --labels 'y_*' --adjust holm --out pairs.csv
  isingmlc network data.csv --labels 'y_*' --top 30 --odds-ratios --out pairs.tex
  isingmlc network data.csv --labels 'y_*' --covariates age,sex --groups practice
  isingmlc network data.csv --labels 'y_*' --table centrality
  isingmlc network data.csv --labels 'y_*' --table predictability --format csv
"""
TABLES = ("pairs", "centrality", "predictability")


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "network",
        help="say how sure each interaction of labels is",
        description="List every pair of labels with its interaction, standard error, test, "
        "interval and counts; or how central and how predictable labels are.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, labels_alone=True, scan=True)
    group = parser.add_argument_group("network")
    add_fit(group)
    add_alpha(group, "level of the confidence intervals (default: 0.05)", 0.05)
    add_adjust(group)
    add_odds_ratios(group, "interactions")
    add_top(group, "pairs or labels")
    add_output_arguments(parser, tables=TABLES, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Fit the network and write what is known of it."""
    check_cov_type(options)
    check_odds_ratios(options, "pairs")
    check_output(options)
    results = make_model(options).fit(
        penalty=given_penalty(options),
        neighbors=options.neighbors,
        cov_type=options.cov_type,
    )
    if options.table == "centrality":
        table = results.centrality(alpha=options.alpha)
    elif options.table == "predictability":
        table = results.predictability().rename_axis("label")
    else:
        table = results.network_table(
            alpha=options.alpha, adjust=adjustment(options), exponentiate=options.odds_ratios
        )
        order = table["pvalue"].argsort(kind="stable") if len(table) else []
        table = table.iloc[order].reset_index(drop=True)
    write_output(options, first_rows(options, table))
