"""``isingmlc compare``: whether the networks of groups of rows differ."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import add_input_arguments, make_model, model_of, read_file
from isingmlc.commands.names import COMPARED
from isingmlc.commands.options import (
    add_jobs,
    add_penalty,
    add_plot,
    add_seed,
    add_sparse,
    given_penalty,
    refuse_foreign,
)
from isingmlc.commands.outputs import (
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    write_output,
    write_picture,
)
from isingmlc.commands.values import count

if TYPE_CHECKING:
    import pandas as pd

    from isingmlc.model import IsingModel

EXAMPLES = """\
examples:
  isingmlc compare data.csv --labels 'y_*' --between sex --seed 0
  isingmlc compare data.csv --labels 'y_*' --between sex --covariates age
  isingmlc compare data.csv --labels 'y_*' --between sex --method ebic --gamma 0.5 --jobs 2
  isingmlc compare waves.csv --labels 'y_*' --between wave --paired person
  isingmlc compare data.csv --labels 'y_*' --between sex --table edges --out edges.csv

Groups may differ in their thresholds, and so in how frequent labels are, unless
--equal-thresholds says otherwise: then rows are dealt out as in R's NetworkComparisonTest.
"""
TABLES = ("tests", "edges", "groups")


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "compare",
        help="test whether the networks of groups differ",
        description="Fit the network of the labels in each group of rows, and test whether the "
        "networks differ: by the largest difference, by global strength, and pair by pair.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, labels_alone=True, scan=True)
    group = parser.add_argument_group("comparison")
    group.add_argument(
        "--between",
        required=True,
        metavar="NAME",
        help="the column that says which group each row is in",
    )
    group.add_argument(
        "--paired",
        metavar="NAME",
        help="the column that says which rows of different groups belong together, e.g. the person",
    )
    group.add_argument(
        "--method",
        choices=COMPARED,
        default="nodewise",
        help="how networks are fitted: one regression per label, or sparse ones with l1 penalties "
        "that EBIC chooses (default: nodewise)",
    )
    add_penalty(group)
    add_sparse(group)
    group.add_argument(
        "--equal-thresholds",
        action="store_true",
        help="deal out rows as if groups differed in nothing, not in thresholds either",
    )
    group.add_argument(
        "--permutations",
        type=count,
        default=1000,
        metavar="N",
        help="how many permutations (default: 1000)",
    )
    add_seed(group, "the permutations")
    add_jobs(group, "processes")
    add_plot(group, "groups.png")
    add_output_arguments(parser, tables=TABLES, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Compare the groups and write the tests."""
    from isingmlc.results.network_comparison import compare_networks

    owners = {"penalty": ("nodewise",), "gamma": ("ebic",), "rule": ("ebic",)}
    refuse_foreign(options, "method", owners)
    check_output(options, summary=options.table is None)
    for name in ("groups", "sampling_weights"):
        if getattr(options, name) is not None:
            flag = name.replace("_", "-")
            raise exc.DataError(f"rows are compared that stand for themselves: leave out --{flag}.")
    # The groups are read as a covariate is.
    options.covariates = [*(options.covariates or ()), options.between]
    if options.paired is not None and options.missing == "drop":
        raise exc.DataError("--paired and --missing drop do not go together: rows lose partners.")
    model, pairs = _read(options)
    found = compare_networks(
        model,
        options.between,
        pairs=pairs,
        method=options.method,
        penalty=given_penalty(options),
        gamma=options.gamma,
        rule=options.rule,
        null="nothing" if options.equal_thresholds else "thresholds",
        n_permutations=options.permutations,
        random_state=options.seed,
        n_jobs=options.jobs,
    )
    if options.plot is not None:
        write_picture(options, found.plot()[0].figure)
    if options.table is None:
        write_output(options, found.tests, found.summary())
    else:
        tables = {"tests": found.tests, "edges": found.edges, "groups": found.groups}
        write_output(options, tables[options.table])


def _read(options: Namespace) -> tuple[IsingModel, pd.Series | None]:
    """Read the rows, and which of them belong together."""
    if options.paired is None:
        return make_model(options), None
    if options.scan:
        raise exc.DataError("--paired is about rows, which --scan does not keep: leave one out.")
    # Rows that belong together are read as clusters are.
    options.groups = options.paired
    given = read_file(options.data, options)
    return model_of(replace(given, groups=None)), given.groups
