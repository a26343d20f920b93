"""``isingmlc simulate``: artificial data, and draws from networks."""

from __future__ import annotations

import inspect
from argparse import Namespace, _SubParsersAction
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isingmlc import exceptions as exc
from isingmlc.commands.options import add_seed
from isingmlc.commands.outputs import add_output_arguments, check_output, write_output
from isingmlc.commands.values import count

if TYPE_CHECKING:
    import pandas as pd

    from isingmlc.datasets import Dataset

EXAMPLES = """\
examples:
  isingmlc simulate artdata1 --seed 0 --out art1.csv
  isingmlc simulate artdata4 -n 500 --n-features 100 --noise independent --out art4.csv
  isingmlc simulate example --out survey.parquet
  isingmlc fit survey.parquet --labels diabetes,asthma,depression --save network.npz
  isingmlc simulate network --fit network.npz --n-samples 1000 --seed 1
  isingmlc simulate network --interactions weights.csv --thresholds thresholds.csv -n 1000

data:
  artdata1, artdata2   Ising labels; features act on labels and an interaction, or on that alone
  artdata3, artdata4   labels are comparisons of features, without and with noise
  score-example        one feature that acts on one of ten labels with strength --effect
  or-example           a label that is 1 where another label or the feature is
  xor-example          a feature that tells whether two labels differ
  timing-data          features and labels that have nothing to do with each other
  network-data         many labels from a sparse network, moved by one feature in five
  example              the bundled survey
  network              labels from a fit that isingmlc fit --save kept, or from parameters in CSV
                       files as isingmlc fit --table interactions and --table thresholds write them
"""
MAKERS: dict[str, tuple[str, dict[str, int]]] = {
    "artdata1": ("make_artdata", {"which": 1}),
    "artdata2": ("make_artdata", {"which": 2}),
    "artdata3": ("make_artdata", {"which": 3}),
    "artdata4": ("make_artdata", {"which": 4}),
    "score-example": ("make_score_example", {}),
    "or-example": ("make_or_example", {}),
    "xor-example": ("make_xor_example", {}),
    "timing-data": ("make_timing_data", {}),
    "network-data": ("make_network_data", {}),
    "example": ("load_example", {}),
}
# Options of the command, and the arguments of the functions that they stand for.
_ARGUMENTS = {
    "n_samples": "n_samples",
    "n_features": "n_features",
    "n_labels": "n_labels",
    "effect": "a",
    "noise": "noise",
    "dependence": "dependence",
    "seed": "random_state",
}
# How many rows are drawn from a network if --n-samples is omitted.
DRAWN = 1000
_OF_NETWORK = ("n_samples", "seed", "fit", "interactions", "thresholds")


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "simulate",
        help="make artificial data",
        description="Make artificial data, or draw labels from an Ising network.",
        epilog=EXAMPLES,
    )
    parser.add_argument("what", choices=(*MAKERS, "network"), metavar="DATA", help="see below")
    parser.add_argument(
        "--n-samples", "-n", type=count, metavar="N", help=f"how many rows (network: {DRAWN})"
    )
    parser.add_argument("--n-features", type=count, metavar="N", help="how many features")
    parser.add_argument(
        "--n-labels", type=count, metavar="N", help="how many labels (timing-data, network-data)"
    )
    parser.add_argument(
        "--effect", type=float, metavar="A", help="strength of the feature (score-example)"
    )
    parser.add_argument(
        "--noise", choices=("shared", "independent"), help="how noise is drawn (artdata4)"
    )
    parser.add_argument(
        "--dependence",
        choices=("weak", "strong"),
        help="how strongly labels interact (network-data)",
    )
    add_seed(parser, "the random numbers")
    parser.add_argument("--fit", metavar="FILE", help="a fit to draw from (network)")
    parser.add_argument(
        "--interactions", metavar="FILE", help="CSV of interactions to draw from (network)"
    )
    parser.add_argument(
        "--thresholds", metavar="FILE", help="CSV of thresholds (network; default: zeros)"
    )
    add_output_arguments(parser, formats=("csv", "json", "parquet"), default="csv")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Make the data and write them."""
    check_output(options)
    data = _draw(options) if options.what == "network" else _make(options)
    write_output(options, data.labels.join(data.features))


def _make(options: Namespace) -> Dataset:
    """Call the function that makes the data with the arguments that were given."""
    from isingmlc import datasets

    name, settings = MAKERS[options.what]
    maker = getattr(datasets, name)
    known = inspect.signature(maker).parameters
    _check(options, [flag for flag, argument in _ARGUMENTS.items() if argument in known])
    given = {
        argument: getattr(options, flag)
        for flag, argument in _ARGUMENTS.items()
        if getattr(options, flag) is not None
    }
    data: Dataset = maker(**settings, **given)
    return data


def _draw(options: Namespace) -> Dataset:
    """Draw labels from a fit or from parameters in files."""
    import pandas as pd

    from isingmlc.datasets import Dataset
    from isingmlc.results.ising import IsingResults
    from isingmlc.simulate import IsingDistribution, distribution_of

    _check(options, _OF_NETWORK)
    if (options.fit is None) == (options.interactions is None):
        raise exc.DataError("network draws from --fit FILE or from --interactions FILE: give one.")
    if options.fit is not None:
        distribution = distribution_of(IsingResults.load(options.fit))
    else:
        interactions = _read_parameters(options.interactions)
        thresholds = pd.Series(0.0, interactions.index)
        if options.thresholds is not None:
            thresholds = _read_parameters(options.thresholds).iloc[:, 0]
        distribution = IsingDistribution(thresholds, interactions)
    labels = distribution.sample(options.n_samples or DRAWN, random_state=options.seed)
    return Dataset(labels, pd.DataFrame(index=labels.index), (), name="network")


def _read_parameters(file: str) -> pd.DataFrame:
    """Read a table whose first column names the labels."""
    import pandas as pd

    from isingmlc.datasets._files import existing_file, file_error

    path = existing_file(file)
    try:
        return pd.read_csv(path, index_col=0).astype(float)
    except (ValueError, OSError, LookupError) as error:
        # What pandas raises at damaged files are ValueErrors.
        raise file_error(
            path, "a CSV table of numbers is wanted, whose first column names the labels."
        ) from error


def _check(options: Namespace, known: Sequence[str]) -> None:
    """Refuse options that the data do not have."""
    for flag in (*_ARGUMENTS, *_OF_NETWORK):
        if getattr(options, flag) is not None and flag not in known:
            listed = ", ".join(map(_spell, known)) or "none"
            raise exc.DataError(
                f"{_spell(flag)} has no meaning for {options.what}, whose options are {listed}."
            )


def _spell(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"
