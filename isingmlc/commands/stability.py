"""``isingmlc stability``: how far a network varies, and whether it stays with fewer rows."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import TYPE_CHECKING, Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.options import (
    add_alpha,
    add_fit,
    add_jobs,
    add_plot,
    add_seed,
    add_sparse,
    check_cov_type,
    given_options,
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
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.regularized import RegularizedIsingResults

EXAMPLES = """\
examples:
  isingmlc stability data.csv --labels 'y_*' --seed 0
  isingmlc stability data.csv --labels 'y_*' --method l1 --rule or --draws 500 --jobs 2
  isingmlc stability data.csv --labels 'y_*' --table cs --plot curves.png
  isingmlc stability data.csv --labels 'y_*' --table centrality --out centrality.csv
  isingmlc stability data.csv --labels 'y_*' --features 'x_*' --table ranks

Rows are drawn anew for pairs, centrality, differences and ranks, and left out for cs, the
CS-coefficient of R's bootnet.
"""
TABLES = ("pairs", "centrality", "differences", "ranks", "cs")
# Options that only some methods have.
_OWNERS = {
    "penalty": ("nodewise",),
    "neighbors": ("nodewise",),
    "cov_type": ("nodewise",),
    "no_intercept": ("nodewise",),
    "gamma": ("l1",),
    "rule": ("l1",),
}


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "stability",
        help="say how far the network, or a ranking, varies from sample to sample",
        description="Fit the network of the labels to bootstrap draws of the rows, or to parts of "
        "them, and say how far it varies. With --features these are tested in every draw too.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, labels_alone=True, scan=True)
    group = parser.add_argument_group("stability")
    group.add_argument(
        "--method",
        choices=("nodewise", "l1"),
        default="nodewise",
        help="how label models are fitted: one regression per label, or with l1 penalties that "
        "EBIC chooses (default: nodewise)",
    )
    add_fit(group)
    add_sparse(group)
    group.add_argument(
        "--draws",
        type=count,
        default=1000,
        metavar="N",
        help="how many draws of the rows (default: 1000)",
    )
    add_alpha(group, "level of the intervals (default: 0.05)", 0.05)
    add_seed(group, "the draws")
    add_jobs(group, "processes")
    add_plot(group, "network.png; of curves with --table cs")
    add_output_arguments(parser, tables=TABLES, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Draw rows and write what varies."""
    refuse_foreign(options, "method", _OWNERS)
    check_cov_type(options)
    check_output(options, summary=options.table is None)
    model = make_model(options, needs_rows=bool(options.features))
    wants = bool(model.feature_names)
    if options.method == "l1" and wants:
        raise exc.DataError("--features are tested in label models without l1 penalties.")
    if options.table == "ranks" and not wants:
        raise exc.DataError("--table ranks is about features. Name them with --features.")
    results: IsingResults | RegularizedIsingResults
    if options.method == "l1":
        results = model.fit_regularized(**given_options(options, "gamma", "rule"))
    else:
        results = model.fit(
            penalty=given_penalty(options),
            neighbors=options.neighbors,
            cov_type=options.cov_type,
        )
    drawing: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.jobs}
    if wants:
        drawing["features"] = True
    if options.table == "cs":
        drop = results.drop_cases(options.draws, **drawing)
        if options.plot is not None:
            write_picture(options, drop.plot().figure)
        write_output(options, drop.cs_coefficient(), drop.summary())
        return
    boot = results.bootstrap(options.draws, **drawing)
    if options.plot is not None:
        write_picture(options, boot.plot_network(alpha=options.alpha).figure)
    if options.table is None:
        write_output(options, boot.edges(alpha=options.alpha), boot.summary())
        return
    tables = {
        "pairs": lambda: boot.intervals(alpha=options.alpha).assign(
            **boot.inclusion()[["edge", "positive", "negative"]]
        ),
        "centrality": lambda: boot.centrality(alpha=options.alpha),
        "differences": lambda: boot.difference(alpha=options.alpha),
        "ranks": lambda: boot.ranks(alpha=options.alpha),
    }
    write_output(options, tables[options.table]())
