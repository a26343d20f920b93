"""``isingmlc test``: tests of all feature–label edges."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import PRODUCTS, PVALUES
from isingmlc.commands.options import (
    add_adjust,
    add_fit,
    add_jobs,
    add_seed,
    add_top,
    add_unit,
    adjustment,
    check_cov_type,
    given_penalty,
    refuse_foreign,
)
from isingmlc.commands.outputs import (
    SHOWN,
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    first_rows,
    write_output,
)
from isingmlc.commands.values import count

EXAMPLES = """\
examples:
  isingmlc test data.csv --labels 'y_*'
  isingmlc test data.csv --labels 'y_*' --method lr --adjust bonferroni --top 50
  isingmlc test data.csv --labels 'y_*' --products joint --out edges.parquet
  isingmlc test data.csv --labels 'y_*' --pvalue saddlepoint --format csv
  isingmlc test data.csv --labels 'y_*' --neighbors 10
  isingmlc test data.csv --labels 'y_*' --odds-ratios sd --out edges.tex
  isingmlc test data.csv --labels 'y_*' --covariates age,sex --categories region
  isingmlc test data.csv --labels 'y_*' --cov-type cluster --groups practice
  isingmlc test survey.csv --labels 'y_*' --sampling-weights w --groups district
"""
# Options that only some tests have, and the arguments that they stand for.
_REFITS = ("wald", "lr")
_OWNERS = {"pvalue": ("score",), "permutations": ("score",), "seed": ("score",), "jobs": _REFITS}
_ARGUMENTS = {
    "pvalue": "pvalue",
    "permutations": "n_permutations",
    "seed": "random_state",
    "jobs": "n_jobs",
}


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "test",
        help="test every feature against every label",
        description="Test every feature-label edge, the strongest first.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, scan=True)
    group = parser.add_argument_group("tests")
    group.add_argument(
        "--method",
        choices=("score", *_REFITS),
        default="score",
        help="how edges are tested: by score, Wald or likelihood-ratio tests, of which only the "
        "first need no further fits (default: score)",
    )
    group.add_argument(
        "--products",
        choices=PRODUCTS,
        help="test products of features with other labels too: each by itself, all together with "
        "the feature, or, which tells whether the feature moves the ties of the label, each or all "
        "given the feature",
    )
    add_unit(group, "test")
    add_fit(group)
    group.add_argument(
        "--pvalue",
        choices=PVALUES,
        help="where p-values of score tests come from (default: auto)",
    )
    group.add_argument(
        "--permutations", type=count, metavar="N", help="how many permutations (default: 999)"
    )
    add_seed(group, "the permutations")
    group.add_argument(
        "--odds-ratios",
        choices=("unit", "sd"),
        metavar="unit|sd",
        help="give odds ratios with intervals, for one unit of a feature or for one standard "
        "deviation; those of a table to read are fitted, others one step from the score",
    )
    add_adjust(group)
    group.add_argument(
        "--within",
        choices=("label", "feature"),
        help="adjust over the edges of each label or each feature (default: over all edges)",
    )
    group.add_argument(
        "--min-count",
        type=count,
        default=2,
        metavar="N",
        help="labels with fewer rows of one kind are not tested (default: 2)",
    )
    add_jobs(group, "threads for Wald and likelihood-ratio tests", default=None)
    add_top(group, "edges")
    add_output_arguments(parser, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Test the edges and write them."""
    refuse_foreign(options, "method", _OWNERS)
    check_cov_type(options)
    check_output(options)
    given = {argument: getattr(options, flag) for flag, argument in _ARGUMENTS.items()}
    settings = {argument: value for argument, value in given.items() if value is not None}
    needs_rows = options.method in _REFITS or options.pvalue in ("saddlepoint", "permutation")
    results = make_model(options, needs_rows=needs_rows).fit(
        penalty=given_penalty(options),
        neighbors=options.neighbors,
        cov_type=options.cov_type,
    )
    test = getattr(results, f"{options.method}_test")
    edges = test(
        products=options.products, unit=options.unit, min_count=options.min_count, **settings
    )
    adjust = adjustment(options)
    effects: dict[str, Any] = {}
    if options.odds_ratios is not None:
        effects = {"exponentiate": True, "per": options.odds_ratios}
    refit = options.top or SHOWN
    table = edges.to_frame(adjust, options.within, **effects, refit=refit if effects else 0)
    table = edges._list_strongest(table, len(table)).reset_index(drop=True)
    write_output(
        options,
        first_rows(options, table),
        edges.summary(options.top or SHOWN, adjust, options.within, **effects),
    )
