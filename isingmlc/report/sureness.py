"""What a report says about how sure the network is: intervals, draws, rows left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arrays import leaves_out_zero
from isingmlc.base.names import display_names
from isingmlc.base.printing import say_count

if TYPE_CHECKING:
    from isingmlc.networks.bootstrap import NetworkBootstrap
    from isingmlc.networks.case_dropping import CaseDropping
    from isingmlc.results.ising import IsingResults

# So many pairs of labels are listed, the surest first; with more than so many none has an error.
_LISTED = 40
_MOST_PAIRS = 5000
# Features whose ranks are listed.
_RANKED = 20
# Twice the logarithm of a Bayes factor above which evidence is called positive, and strong.
_POSITIVE = 2.0
_STRONG = 6.0
# An interval that holds this logarithm of an odds ratio is too wide to speak for absence.
_WIDE = float(np.log(2))
# What a row says of a pair at most, as a variance: that of rows spread evenly over the four cells.
_UNIT_VARIANCE = 16.0
_TOO_FEW = "too few rows"


@dataclass(frozen=True)
class Sureness:
    """How sure a network is, as sentences and tables of text."""

    sentences: tuple[str, ...]
    pairs: pd.DataFrame
    ranks: pd.DataFrame
    coefficients: pd.DataFrame
    network: pd.DataFrame


def gather_sureness(
    results: IsingResults,
    alpha: float,
    adjust: str | None,
    boot: NetworkBootstrap | None,
    drop: CaseDropping | None,
) -> Sureness:
    """Collect how sure a network is; `IsingResults.report` explains the arguments."""
    for name, given in (("bootstrap", boot), ("dropping", drop)):
        if given is not None and given.label_names != results.label_names:
            raise exc.DataError(
                f"{name} must be of the labels of the fit, {exc.shorten(results.label_names)}, but "
                f"is of {exc.shorten(given.label_names)}. Take it from the same results."
            )
    sentences, pairs, network = [], pd.DataFrame(), pd.DataFrame()
    n_labels = len(results.label_names)
    n_pairs = n_labels * (n_labels - 1) // 2
    if n_pairs > _MOST_PAIRS:
        sentences.append(f"{n_pairs:,} pairs of labels are too many to list; see network_table().")
    else:
        network = results.network_table(alpha=alpha, adjust=adjust)
        if boot is not None:
            network["share"] = boot.edges(alpha=alpha)["share"]
        found, pairs = _list_pairs(network, alpha, adjust)
        sentences += found
    ranks, coefficients = pd.DataFrame(), pd.DataFrame()
    if boot is not None and boot.feature_names:
        ranks = _list_ranks(boot, results.model.terms)
        sentences.append(f"Ranks of features are those in {boot.n_draws:,} bootstrap draws.")
    if drop is not None:
        coefficients = _list_coefficients(drop)
        sentences.append(
            "The CS-coefficient is the largest share of rows that can be left out so that more "
            "than 95% of draws correlate above 0.7 with all rows; 0.25 is wanted at least, and "
            "better 0.5."
        )
    if boot is None and drop is None:
        sentences.append(
            "Other samples were not drawn. report(bootstrap=res.bootstrap(1000), "
            "dropping=res.drop_cases(1000)) adds what they say."
        )
    return Sureness(tuple(sentences), pairs, ranks, coefficients, network)


def _list_pairs(
    table: pd.DataFrame, alpha: float, adjust: str | None
) -> tuple[list[str], pd.DataFrame]:
    """List pairs of labels with their intervals."""
    clear = leaves_out_zero(table["lower"], table["upper"])
    said_of = [_weigh(row) for row in table.to_dict("records")]
    words = pd.Series(said_of, index=table.index, dtype=object)
    absent = (table["evidence"] < 0) & (words != _TOO_FEW)
    few = int((words == _TOO_FEW).sum())
    unknown = int((~np.isfinite(table["se"])).sum())
    said = [
        f"Of {len(table):,} pairs of labels {int(clear.sum()):,} have intervals at "
        f"{1 - alpha:.0%} that leave out zero, and {int(absent.sum()):,} have data that rather "
        "speak for the absence of an interaction."
    ]
    if few:
        said.append(
            f"{few:,} have too few rows to tell: their intervals hold zero, and an odds ratio of 2 "
            "or 1/2."
        )
    if unknown:
        said.append(f"{unknown:,} have no error: they are infinite, or the data say nothing.")
    order = table["pvalue"].fillna(2.0).sort_values(kind="stable").index[:_LISTED]
    if len(order) < len(table):
        said.append(f"The {len(order)} surest are listed.")
    rows = []
    for at, row in table.loc[order].to_dict("index").items():
        known = np.isfinite(row["se"])
        listed = {
            "Pair": f"{row['first']} – {row['second']}",
            "Interaction": _number(row["weight"]),
            "Interval": f"{_number(row['lower'])} to {_number(row['upper'])}" if known else "–",
            "Adjusted p" if adjust else "p": f"{row['pvalue_adj']:.2g}" if known else "–",
            "Evidence": words[at],
            "Rows with both": say_count(row["both"]),
        }
        if "share" in table:
            listed["Draws with its sign"] = f"{row['share']:.0%}"
        rows.append(listed)
    return said, pd.DataFrame(rows)


def _list_ranks(boot: NetworkBootstrap, terms: Mapping[str, tuple[str, ...]]) -> pd.DataFrame:
    """List the ranks of the best features."""
    shown = dict(zip(boot.feature_names, display_names(boot.feature_names, terms), strict=True))
    rows = [
        {
            "Feature": shown[row["feature"]],
            "Rank": f"{row['rank']}",
            "Interval": f"{row['lower']:.3g} to {row['upper']:.3g}",
            "Among the first 10": f"{row['among_first']:.0%}",
        }
        for row in boot.ranks(first=10).head(_RANKED).to_dict("records")
    ]
    return pd.DataFrame(rows)


def _list_coefficients(drop: CaseDropping) -> pd.DataFrame:
    """List CS-coefficients."""
    rows = [
        {
            "Measure": str(measure).replace("_", " "),
            "CS-coefficient": f"{row['cs']:.2f}",
            "With more draws": f"{row['cs_lower']:.2f} to {row['cs_upper']:.2f}",
            "At the edge of the levels": "yes" if row["at_edge"] else "no",
        }
        for measure, row in drop.cs_coefficient().iterrows()
    ]
    return pd.DataFrame(rows)


def _number(value: float) -> str:
    """Write a number with two digits after the point."""
    if np.isnan(value):
        return "–"
    size = "∞" if np.isinf(value) else f"{abs(value):.2f}"
    return f"−{size}" if value < 0 else size


def _weigh(row: Mapping[str, Any]) -> str:
    """Say what the data speak for, absence only as far as the pair's own information goes."""
    evidence = row["evidence"]
    if np.isnan(evidence):
        return "–"
    if evidence > _POSITIVE:
        return "strong for interaction" if evidence > _STRONG else "for interaction"
    if evidence < 0 and max(row["upper"], -row["lower"]) > _WIDE:
        return _TOO_FEW
    own = row["z"] ** 2 - np.log(_UNIT_VARIANCE / row["se"] ** 2)
    absence = max(evidence, own)
    if absence > -_POSITIVE:
        return "neither"
    return "strong for absence" if absence < -_STRONG else "for absence"
