"""The options that several commands have: one name, one meaning, the same words in the help."""

from __future__ import annotations

from argparse import Namespace, _ActionsContainer
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isingmlc import exceptions as exc
from isingmlc.commands.names import ADJUSTMENTS, COMBINE, COV_TYPES, RANKINGS, UNITS
from isingmlc.commands.outputs import SHOWN
from isingmlc.commands.values import count, jobs, level, neighbors, penalty, writable


def add_fit(group: _ActionsContainer, default: str = "none") -> None:
    """Add the options that say how label models are fitted."""
    add_penalty(group, default)
    add_neighbors(group)
    add_cov_type(group)
    group.add_argument(
        "--no-intercept", action="store_true", help="label models without an intercept"
    )


def add_penalty(group: _ActionsContainer, default: str = "none") -> None:
    """Add the penalty of label models."""
    group.add_argument(
        "--penalty",
        type=penalty,
        metavar="none|X|firth",
        help="penalty of the label models: none (maximum likelihood), a ridge penalty of size X, "
        f"or Firth's (default: {default})",
    )


def given_penalty(options: Namespace, default: str | None = None) -> float | str | None:
    """Return the penalty of label models as functions take it."""
    if options.penalty is None:
        return default
    chosen: float | str = options.penalty
    return None if chosen == "none" else chosen


def add_sparse(group: _ActionsContainer) -> None:
    """Add the options of sparse networks whose penalties EBIC chooses."""
    group.add_argument("--gamma", type=float, metavar="X", help="parameter of EBIC (default: 0.25)")
    group.add_argument(
        "--rule",
        type=str.lower,
        choices=("and", "or"),
        help="whether an edge needs both of its coefficients, or one (default: and)",
    )


def given_options(options: Namespace, *names: str) -> dict[str, Any]:
    """Return those of some options that a person gave, by name."""
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def add_neighbors(group: _ActionsContainer) -> None:
    """Add the option that says which other labels label models have."""
    group.add_argument(
        "--neighbors",
        type=neighbors,
        metavar="ebic|M",
        help="which other labels the model of each label has: those that a sparse network chosen "
        "by EBIC links with it, or the M most associated ones (default: all)",
    )


def add_odds_ratios(group: _ActionsContainer, of: str) -> None:
    """Add the option that gives odds ratios in place of coefficients."""
    group.add_argument(
        "--odds-ratios",
        action="store_true",
        help=f"give odds ratios with intervals instead of {of} with standard errors",
    )


def check_odds_ratios(options: Namespace, table: str) -> None:
    """Refuse odds ratios in a table that has none; `table` is the one that has them."""
    if options.odds_ratios and options.table not in (None, table):
        raise exc.DataError(
            f"--odds-ratios is for --table {table}, but --table is {options.table}. Leave one of "
            "them out."
        )


def add_cov_type(group: _ActionsContainer) -> None:
    """Add the option that says where errors and variances of scores come from."""
    group.add_argument(
        "--cov-type",
        choices=COV_TYPES,
        help="where errors and variances of scores come from: the label models, squared residuals "
        "without or with leverage, or clusters of rows (default: cluster with --groups, HC0 with "
        "--sampling-weights, otherwise nonrobust)",
    )


def check_cov_type(options: Namespace) -> None:
    """Refuse clusters that nothing uses, and errors of clusters that nobody names."""
    if options.groups is not None and options.cov_type not in (None, "cluster"):
        raise exc.DataError(
            f"--groups is for --cov-type cluster, but --cov-type is {options.cov_type}. Leave one "
            "of them out."
        )
    if options.groups is None and options.cov_type == "cluster":
        raise exc.DataError("--cov-type cluster needs to know the clusters. Add --groups COLUMN.")


def refuse_foreign(options: Namespace, chooser: str, owners: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse options that do not belong to what another option chose."""
    chosen = getattr(options, chooser)
    for name, choices in owners.items():
        value = getattr(options, name)
        # A 0 is given, too.
        is_given = value is not None and value is not False
        if is_given and chosen not in choices:
            raise exc.DataError(
                f"--{name.replace('_', '-')} is for --{chooser} {' or '.join(choices)}, but "
                f"--{chooser} is {chosen}. Leave it out."
            )


def add_ranking(group: _ActionsContainer, see: str) -> None:
    """Add the option that says how features are ranked."""
    group.add_argument(
        "--method",
        choices=RANKINGS,
        default="score",
        metavar="METHOD",
        help=f"how features are ranked, {see} (default: score)",
    )


def add_unit(group: _ActionsContainer, verb: str) -> None:
    """Add the option that says whether the columns of a category stay together."""
    group.add_argument(
        "--unit",
        choices=UNITS,
        default="term",
        help=f"{verb} variables as a whole, or single columns of categories (default: term)",
    )


def add_alpha(group: _ActionsContainer, meaning: str, default: float | None = None) -> None:
    """Add the level of tests, intervals or a false-discovery rate."""
    group.add_argument("--alpha", type=level, default=default, metavar="LEVEL", help=meaning)


def add_adjust(group: _ActionsContainer) -> None:
    """Add the option that says how p-values are adjusted; `adjustment` reads it."""
    group.add_argument(
        "--adjust",
        choices=(*ADJUSTMENTS, "none"),
        default="fdr_bh",
        metavar="METHOD",
        help=f"how p-values are adjusted: {', '.join(ADJUSTMENTS)} or none (default: fdr_bh)",
    )


def add_combine(group: _ActionsContainer) -> None:
    """Add the option that says how the tests of a feature become one p-value."""
    group.add_argument(
        "--combine",
        choices=COMBINE,
        help="how the tests of a feature over labels become one p-value: by Cauchy combination, "
        "by their sum or by their quadratic form (default: acat); for methods score and score+l1",
    )


def adjustment(options: Namespace) -> str | None:
    """Return the adjustment of p-values as Python takes it."""
    return None if options.adjust == "none" else str(options.adjust)


def add_top(group: _ActionsContainer, things: str) -> None:
    """Add the number of rows that are listed; `first_rows` takes them."""
    group.add_argument(
        "--top",
        type=count,
        metavar="N",
        help=f"how many {things} to list (default: {SHOWN} in a table, else all)",
    )


def add_seed(group: _ActionsContainer, of: str, default: int | None = None) -> None:
    """Add the seed of what is random."""
    usual = "" if default is None else f" (default: {default})"
    group.add_argument(
        "--seed", type=int, default=default, metavar="N", help=f"seed of {of}{usual}"
    )


def add_plot(group: _ActionsContainer, example: str) -> None:
    """Add the file that a picture goes to; `write_picture` writes it."""
    group.add_argument(
        "--plot", type=writable, metavar="FILE", help=f"picture to write, e.g. {example}"
    )


def add_jobs(group: _ActionsContainer, workers: str, default: int | None = 1) -> None:
    """Add the number of processes or threads."""
    group.add_argument(
        "--jobs",
        type=jobs,
        default=default,
        metavar="N",
        help=f"how many {workers}, -1 for one per core (default: 1)",
    )


def add_page(group: _ActionsContainer, default: str) -> None:
    """Add the file that a report goes to."""
    group.add_argument(
        "--out",
        type=writable,
        default=Path(default),
        metavar="FILE",
        help=f"file to write (default: {default})",
    )
