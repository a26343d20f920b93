"""``isingmlc fit``: the network of the labels."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import TYPE_CHECKING, Any

from isingmlc.commands.inputs import add_input_arguments, make_model
from isingmlc.commands.names import METHODS
from isingmlc.commands.options import (
    add_alpha,
    add_fit,
    add_odds_ratios,
    add_sparse,
    check_cov_type,
    check_odds_ratios,
    given_options,
    given_penalty,
    refuse_foreign,
)
from isingmlc.commands.outputs import (
    SUMMARY_FORMATS,
    add_output_arguments,
    check_output,
    say_written,
    write_output,
)
from isingmlc.commands.values import writable

if TYPE_CHECKING:
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.regularized import RegularizedIsingResults

EXAMPLES = """\
examples:
  isingmlc fit data.csv --labels 'y_*'
  isingmlc fit data.csv --labels a,b,c --penalty 2 --alpha 0.1
  isingmlc fit data.csv --labels 'y_*' --neighbors ebic
  isingmlc fit data.csv --labels 'y_*' --method joint
  isingmlc fit data.csv --labels 'y_*' --covariates age,sex --odds-ratios
  isingmlc fit data.csv --labels 'y_*' --groups practice
  isingmlc fit data.csv --labels 'y_*' --table interactions --format csv
  isingmlc fit scene-train.arff --xml scene.xml --method l1 --gamma 0.5 --rule or
  isingmlc fit data.csv --labels 'y_*' --out network.tex
  isingmlc fit data.csv --labels 'y_*' --save network.npz
  isingmlc fit data.csv --labels 'y_*' --features age,bmi --save network.npz
"""
TABLES = ("coefficients", "interactions", "thresholds", "diagnostics")
# Options that only some methods have.
_OWNERS = {
    "penalty": ("nodewise",),
    **dict.fromkeys(
        ("neighbors", "cov_type", "alpha", "odds_ratios", "save", "no_intercept"), METHODS
    ),
    "lam": ("l1",),
    "criterion": ("l1",),
    "gamma": ("l1",),
    "rule": ("l1",),
}


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "fit",
        help="fit the network of the labels",
        description="Fit the Ising network of the labels, by default one logistic regression per "
        "label. Other columns take no part in it, unless --covariates names them; those that "
        "--features names are read so that --save keeps what tests of them need.",
        epilog=EXAMPLES,
    )
    add_input_arguments(parser, labels_alone=True, scan=True)
    group = parser.add_argument_group("fit")
    group.add_argument(
        "--method",
        choices=(*METHODS, "l1"),
        default="nodewise",
        help="how label models are fitted: one regression per label; with one interaction per "
        "pair, by the likelihood of all labels (joint, up to 20) or their pseudo-likelihood; or "
        "with l1 penalties, which make a sparse network (default: nodewise)",
    )
    add_fit(group)
    add_alpha(
        group,
        "level of the confidence intervals, 0.05 for intervals of 95%% (default: 0.05)",
    )
    add_odds_ratios(group, "coefficients")
    group.add_argument(
        "--save",
        type=writable,
        metavar="FILE",
        help="keep the fit for isingmlc simulate network and IsingResults.load; with --features "
        "also what score tests of them need",
    )
    sparse = parser.add_argument_group("sparse network (--method l1)")
    sparse.add_argument(
        "--lam", type=float, metavar="X", help="one l1 penalty for all labels, instead of paths"
    )
    sparse.add_argument(
        "--criterion",
        choices=("ebic", "bic", "aic"),
        help="what chooses the l1 penalty of each label (default: ebic)",
    )
    add_sparse(sparse)
    add_output_arguments(parser, tables=TABLES, formats=SUMMARY_FORMATS)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Fit the network and write it."""
    refuse_foreign(options, "method", _OWNERS)
    check_cov_type(options)
    check_odds_ratios(options, "coefficients")
    check_output(options, summary=options.table is None)
    model = make_model(options)
    results: IsingResults | RegularizedIsingResults
    if options.method == "l1":
        given = given_options(options, "lam", "criterion", "gamma", "rule")
        results = model.fit_regularized(**given)
        coefficients, summary = results.to_frame(), results.summary()
    else:
        results = model.fit(
            method=options.method,
            penalty=given_penalty(options),
            neighbors=options.neighbors,
            cov_type=options.cov_type,
        )
        alpha = 0.05 if options.alpha is None else options.alpha
        coefficients, summary = (
            make(alpha, exponentiate=options.odds_ratios)
            for make in (results.to_frame, results.summary)
        )
        if options.save is not None:
            results.save(options.save)
            say_written(options, options.save)
    thresholds = results.thresholds.rename_axis("label").to_frame()
    if results.adjusted_for:
        # They are those where all covariates are zero: not to be taken for others.
        thresholds["adjusted_for"] = ", ".join(results.adjusted_for)
    tables = {
        "coefficients": coefficients,
        "interactions": results.interactions.rename_axis(index="label"),
        "thresholds": thresholds,
        "diagnostics": results.diagnostics.rename_axis("label"),
    }
    if options.table is None:
        write_output(options, coefficients, summary)
    else:
        write_output(options, tables[options.table])
