"""``isingmlc calibrate``: how often features that do nothing are found, on the data at hand."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import PVALUES
from isingmlc.commands.options import (
    add_combine,
    add_fit,
    add_seed,
    check_cov_type,
    given_penalty,
)
from isingmlc.commands.outputs import (
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    write_output,
)
from isingmlc.commands.values import count

EXAMPLES = """\
examples:
  isingmlc calibrate data.csv --labels 'y_*' --seed 0
  isingmlc calibrate data.csv --labels 'y_*' --covariates age,sex
  isingmlc calibrate data.csv --labels 'y_*' --groups practice
  isingmlc calibrate data.csv --labels 'y_*' --pvalue chi2 --out calibration.csv

Rows of the features are permuted, so that none has an effect, and tested as isingmlc test does.
The table says how often p-values fall below 0.05, 0.01 and 0.001, over how often they should.
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "calibrate",
        help="check p-values on permuted features",
        description="Check how often features that do nothing are found on these data, and which "
        "label is to blame.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser)
    group = parser.add_argument_group("tests")
    add_fit(group)
    group.add_argument(
        "--pvalue",
        choices=tuple(name for name in PVALUES if name != "permutation"),
        help="where p-values of score tests come from (default: as in isingmlc test)",
    )
    add_combine(group)
    group.add_argument(
        "--min-count",
        type=count,
        default=2,
        metavar="N",
        help="labels with fewer rows of one kind are not tested (default: 2)",
    )
    group.add_argument(
        "--permutations",
        type=count,
        default=100,
        metavar="N",
        help="how many permutations (default: 100)",
    )
    add_seed(group, "the permutations")
    add_output_arguments(parser, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Permute, test, and write the table."""
    check_cov_type(options)
    check_output(options)
    results = make_model(options).fit(
        penalty=given_penalty(options),
        neighbors=options.neighbors,
        cov_type=options.cov_type,
    )
    given = {"pvalue": options.pvalue, "combine": options.combine}
    check = results.check_calibration(
        options.permutations,
        min_count=options.min_count,
        random_state=options.seed,
        **{name: value for name, value in given.items() if value is not None},
    )
    write_output(options, check.to_frame(), check.summary())
