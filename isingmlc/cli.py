"""The command line, ``isingmlc``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import isingmlc as im


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the command; ``sys.argv`` where not given.

    Returns
    -------
    int
        Exit code.
    """
    parser = argparse.ArgumentParser(
        prog="isingmlc",
        description="Which features matter for which labels: score tests on Ising networks.",
        epilog="example: isingmlc demo",
    )
    parser.add_argument("--version", action="version", version=f"isingmlc {im.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    demo = commands.add_parser(
        "demo",
        help="fit and rank the bundled data",
        description="Fit the label network of the bundled, simulated survey and rank its features.",
    )
    demo.add_argument(
        "--top", type=_count, default=10, help="how many features to list (default: 10)"
    )
    options = parser.parse_args(arguments)
    try:
        run_demo(options.top)
        sys.stdout.flush()
    except im.exceptions.IsingError as error:
        print(f"isingmlc: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read the output has seen enough; python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def run_demo(top: int) -> None:
    """Print the summary and the ranking of the bundled data.

    Parameters
    ----------
    top : int
        How many features to list.
    """
    data = im.datasets.load_example()
    results = im.IsingModel(data.labels, data.features).fit()
    ranking = results.rank_features()
    listed = list(ranking.top(top))
    print(data.DESCR.strip().splitlines()[0], end="\n\n")
    print(results.summary(), end="\n\n")
    print(f"The {len(listed)} most important of {len(ranking.importance)} features")
    print(ranking.table().loc[listed].to_string(float_format="%.1f"))


def _count(text: str) -> int:
    """Read a number of at least one; argparse turns the error into its own."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, but is {number}")
    return number
