"""``isingmlc plan``: how many rows edges of features, or a network, need."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import ESTIMATORS, MEASURES
from isingmlc.commands.options import add_alpha, add_jobs, add_plot, add_seed, refuse_foreign
from isingmlc.commands.outputs import (
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    write_output,
    write_picture,
)
from isingmlc.commands.values import count, count_list, name_list

EXAMPLES = """\
examples:
  isingmlc plan --prevalence 0.2 --odds-ratio 1.5 --n-tests 180
  isingmlc plan --prevalence 0.2 --feature-prevalence 0.3 --rows 1000
  isingmlc plan pilot.csv --labels 'y_*' --odds-ratio 1.3 --plot plan.png
  isingmlc plan pilot.csv --labels 'y_*' --of network --rows 200,500,1000,2000 --seed 0
  isingmlc plan --of network --fit network.npz --estimator nodewise --out plan.csv

Edges of features are planned in closed form, from a pilot or from a few numbers; networks by
drawing rows from one and fitting it again.
"""
# Which options belong to which plan.
_OWNERS = {
    "odds_ratio": ("edges",),
    "power": ("edges",),
    "n_tests": ("edges",),
    "prevalence": ("edges",),
    "explained": ("edges",),
    "feature_prevalence": ("edges",),
    "feature_skewness": ("edges",),
    "feature_explained": ("edges",),
    "fit": ("network",),
    "estimator": ("network",),
    "measures": ("network",),
    "min_weight": ("network",),
    "draws": ("network",),
    "seed": ("network",),
    "jobs": ("network",),
}
_NAMES = {"draws": "n_draws", "seed": "random_state", "jobs": "n_jobs"}


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "plan",
        help="plan how many rows to collect",
        description="Plan how many rows edges of features, or a network of labels, need.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, optional=True, scan=True)
    group = parser.add_argument_group("plan")
    group.add_argument(
        "--of",
        choices=("edges", "network"),
        default="edges",
        help="what is to be found: edges of features, or the network (default: edges)",
    )
    group.add_argument(
        "--rows",
        type=count_list,
        metavar="N",
        help="rows at which odds ratios are looked for (default: those of FILE), or the sizes that "
        "are tried, e.g. 200,500,1000 (default: six from 100 to 3200)",
    )
    add_alpha(
        group,
        "level over all tests of edges, or of adjusted p-values with --estimator nodewise "
        "(default: 0.05)",
        0.05,
    )
    edges = parser.add_argument_group("edges (--of edges)")
    edges.add_argument(
        "--odds-ratio", type=float, metavar="X", help="odds ratio that rows are counted for"
    )
    edges.add_argument(
        "--power", type=float, metavar="X", help="probability of finding it (default: 0.8)"
    )
    edges.add_argument(
        "--n-tests", type=count, metavar="N", help="how many tests --alpha is divided by"
    )
    edges.add_argument(
        "--prevalence", type=float, metavar="X", help="without FILE: how often the label occurs"
    )
    edges.add_argument(
        "--explained",
        type=float,
        metavar="X",
        help="without FILE: share of the label's variance that other labels explain (default: 0)",
    )
    edges.add_argument(
        "--feature-prevalence",
        type=float,
        metavar="X",
        help="without FILE: how often a binary feature is one (default: the feature is normal)",
    )
    edges.add_argument(
        "--feature-skewness",
        type=float,
        metavar="X",
        help="without FILE: skewness of a feature that is not binary (default: 0)",
    )
    edges.add_argument(
        "--feature-explained",
        type=float,
        metavar="X",
        help="without FILE: share of the feature's variance that labels explain (default: 0)",
    )
    network = parser.add_argument_group("networks (--of network)")
    network.add_argument("--fit", metavar="FILE", help="a fit that isingmlc fit --save kept")
    network.add_argument(
        "--estimator",
        choices=ESTIMATORS,
        help="how networks will be fitted: with penalties that EBIC chooses, or without (default: "
        "ebic)",
    )
    network.add_argument(
        "--measures",
        type=name_list,
        metavar="NAMES",
        help=f"what is measured, of {', '.join(MEASURES)} (default: the first three)",
    )
    network.add_argument(
        "--min-weight",
        type=float,
        metavar="X",
        help="smaller interactions are set to zero before drawing (default: 0)",
    )
    network.add_argument(
        "--draws",
        type=count,
        metavar="N",
        help="how many draws of the rows, per size (default: 100)",
    )
    add_seed(network, "the draws")
    add_jobs(network, "processes", default=None)
    add_output_arguments(parser, formats=SUMMARY_FORMATS)
    add_plot(parser, "plan.png")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Make the plan and write it."""
    refuse_foreign(options, "of", _OWNERS)
    check_output(options)
    from isingmlc.results.sample_size import plan_sample_size

    given = {
        _NAMES.get(name, name): getattr(options, name)
        for name, owners in _OWNERS.items()
        if options.of in owners and name != "fit" and getattr(options, name) is not None
    }
    rows = options.rows
    if options.of == "edges" and rows is not None:
        if len(rows) > 1:
            raise exc.DataError("--rows takes one number with --of edges.")
        rows = rows[0]
    plan = plan_sample_size(
        _read_source(options), of=options.of, n=rows, alpha=options.alpha, **given
    )
    write_output(options, plan.to_frame(), plan.summary())
    if options.plot is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 5.0), layout="constrained")
        plan.plot(ax=figure.subplots())
        write_picture(options, figure)


def _read_source(options: Namespace) -> Any:
    """Return what is known already: a fit of the data, or one that was saved."""
    for name in ("groups", "sampling_weights"):
        if getattr(options, name) is not None:
            flag = name.replace("_", "-")
            raise exc.DataError(
                f"rows are planned that are independent and stand for themselves: leave out "
                f"--{flag}; with clusters plan for more rows, by the ratio of squared errors that "
                "fits with and without them have."
            )
    if options.of == "edges":
        return None if options.data is None else make_model(options).fit()
    if (options.data is None) == (options.fit is None):
        raise exc.DataError("a network is drawn from FILE or from --fit FILE: give one.")
    if options.fit is None:
        return make_model(options).fit_regularized()
    from isingmlc.results.ising import IsingResults

    return IsingResults.load(options.fit)
