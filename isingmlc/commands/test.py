"""``isingmlc test``: tests of all feature–label edges."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import ADJUSTMENTS, NULLS, PVALUES
from isingmlc.commands.outputs import (
    SHOWN,
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    first_rows,
    write_output,
)
from isingmlc.commands.values import count, jobs

EXAMPLES = """\
examples:
  isingmlc test data.csv --labels 'y_*'
  isingmlc test data.csv --labels 'y_*' --method lr --adjust bonferroni --top 50
  isingmlc test data.csv --labels 'y_*' --interactions joint --out edges.parquet
  isingmlc test data.csv --labels 'y_*' --pvalue saddlepoint --format csv
"""

# Options of the command, and the arguments of the two kinds of tests that they stand for.
_OF_SCORE = {"pvalue": "pvalue", "permutations": "n_permutations", "seed": "random_state"}
_OF_REFITS = {"jobs": "n_jobs"}


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command.

    Parameters
    ----------
    commands : _SubParsersAction
        Where to.
    """
    parser = commands.add_parser(
        "test",
        help="test every feature against every label",
        description="Test every feature-label edge, the strongest first.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser)
    group = parser.add_argument_group("tests")
    group.add_argument(
        "--method",
        choices=("score", "wald", "lr"),
        default="score",
        help="score, Wald or likelihood-ratio tests; only the first need no further fits "
        "(default: score)",
    )
    group.add_argument(
        "--interactions",
        choices=("individual", "joint"),
        help="test products of features with other labels too: each by itself (score only) or all "
        "together with the feature",
    )
    group.add_argument(
        "--null", choices=NULLS, default="mle", help="how label models are fitted (default: mle)"
    )
    group.add_argument("--alpha", type=float, help="penalty of --null ridge (default: 1)")
    group.add_argument(
        "--no-intercept", action="store_true", help="label models without an intercept"
    )
    group.add_argument(
        "--pvalue",
        choices=PVALUES,
        help="where p-values of score tests come from (default: chi2)",
    )
    group.add_argument(
        "--permutations", type=count, metavar="N", help="how many permutations (default: 999)"
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of the permutations")
    group.add_argument(
        "--adjust",
        choices=(*ADJUSTMENTS, "none"),
        default="fdr_bh",
        metavar="METHOD",
        help=f"how p-values are adjusted: {', '.join(ADJUSTMENTS)} or none (default: fdr_bh)",
    )
    group.add_argument(
        "--within",
        choices=("label", "feature"),
        help="adjust over the edges of one label or one feature (default: over all edges)",
    )
    group.add_argument(
        "--min-count",
        type=count,
        default=2,
        metavar="N",
        help="labels with fewer rows of one kind are not tested (default: 2)",
    )
    group.add_argument(
        "--jobs", type=jobs, metavar="N", help="threads for Wald and likelihood-ratio tests"
    )
    group.add_argument(
        "--top",
        type=count,
        metavar="N",
        help=f"how many edges (default: {SHOWN} in a table, else all)",
    )
    add_output_arguments(parser, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Test the edges and write them.

    Parameters
    ----------
    options : Namespace
        Parsed arguments.
    """
    settings = _settings(options)
    check_output(options)
    results = make_model(options).fit(method=options.null, alpha=options.alpha)
    test = getattr(results, f"{options.method}_test")
    edges = test(interactions=options.interactions, min_count=options.min_count, **settings)
    adjust = None if options.adjust == "none" else options.adjust
    table = edges.to_frame(adjust, options.within)
    table = table.sort_values("log10p", kind="stable", na_position="last", ignore_index=True)
    write_output(
        options,
        first_rows(options, table),
        edges.summary(options.top or SHOWN, adjust, options.within),
    )


def _settings(options: Namespace) -> dict[str, Any]:
    """Gather the settings of the test, and refuse those of another one."""
    given = {flag for flag in (*_OF_SCORE, *_OF_REFITS) if getattr(options, flag) is not None}
    mine = _OF_SCORE if options.method == "score" else _OF_REFITS
    foreign = sorted(given - set(mine))
    if foreign:
        raise exc.DataError(
            f"--{foreign[0]} has no meaning with --method {options.method}. Leave it out."
        )
    return {mine[flag]: getattr(options, flag) for flag in given}
