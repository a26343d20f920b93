"""Summaries of how sure networks are: draws, rows left out, groups compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.printing import IsingSummary, Table, list_rows, two_columns
from isingmlc.fitting.reasons import Reason

if TYPE_CHECKING:
    from isingmlc.networks.bootstrap import NetworkBootstrap
    from isingmlc.networks.case_dropping import CaseDropping
    from isingmlc.results.network_comparison import NetworkComparison

# So many pairs of labels, and features, are listed at most.
_LISTED = 20
_NULLS = {
    "thresholds": "Under the null hypothesis of permutations groups may differ in thresholds: the "
    "group of each row is drawn given its labels.",
    "nothing": "Under the null hypothesis of permutations groups differ in nothing, so other "
    "thresholds alone lead to small p-values.",
    "pairs, thresholds": "Rows are dealt out within pairs, given their labels; under that null "
    "hypothesis groups may differ in thresholds.",
    "pairs": "Rows are dealt out within pairs; under that null hypothesis groups differ in "
    "nothing.",
}


def summarize_bootstrap(boot: NetworkBootstrap) -> IsingSummary:
    """Summarise draws: the strongest pairs with their intervals, and the ranks of features."""
    edges = boot.edges()
    order = edges["sample"].abs().sort_values(ascending=False, kind="stable").index
    listed = edges.loc[order[:_LISTED]]
    numbers = {"sample": "{:.3f}", "lower": "{:.3f}", "upper": "{:.3f}", "share": "{:.2f}"}
    tables = [list_rows(listed, ["first", "second"], numbers, _title("pairs", listed, edges))]
    if boot.feature_names:
        ranks = boot.ranks()
        shown = ranks.head(_LISTED)
        digits = {
            "rank": "{:d}",
            "lower": "{:.1f}",
            "upper": "{:.1f}",
            "among_first": "{:.2f}",
        }
        tables.append(list_rows(shown, ["feature"], digits, _title("features", shown, ranks)))
    notes = [
        "lower and upper are quantiles of the draws at 95%; share is that of draws in which a pair "
        "has the sign of all rows."
    ]
    no_limits = listed[listed["reason"] == Reason.INFINITE_PAIR]
    if len(no_limits):
        pairs = [
            f"{one} – {other} in {n} of {boot.n_draws} draws"
            for one, other, n in no_limits[["first", "second", "separated"]].itertuples(index=False)
        ]
        notes.append(
            f"Pairs without limits cannot be estimated: they were separated, {', '.join(pairs)}."
        )
    if boot.feature_names:
        notes.append(
            "Limits of features are those of their ranks; among_first is the share of draws in "
            "which a feature is among the first 10."
        )
    marked = boot.marked
    for reason in marked:
        names = list(marked.index[marked[reason] > 0])
        notes.append(
            f"In some draws there is no place in the network ({reason}) for {exc.shorten(names)}."
        )
    left = [("Labels:", f"{len(boot.label_names)}"), ("Features:", f"{len(boot.feature_names)}")]
    right = [
        ("Draws:", f"{boot.n_draws}"),
        ("Drawn from:", "the fitted network" if boot.parametric else "the rows"),
    ]
    return _put_together("Bootstrap of a Network", left, right, tables, notes)


def summarize_dropping(drop: CaseDropping) -> IsingSummary:
    """Summarise rows left out: the CS-coefficients."""
    found = drop.cs_coefficient().reset_index()
    found["edge"] = found["at_edge"].map({True: "yes", False: "no"})
    numbers = {"cs": "{:.2f}", "cs_lower": "{:.2f}", "cs_upper": "{:.2f}", "edge": "{}"}
    tables = [list_rows(found, ["measure"], numbers, "CS-coefficients")]
    notes = [
        "cs is the largest share of rows that can be left out so that more than 95% of draws "
        "correlate above 0.7 with all rows; its authors ask for 0.25 at least, and better 0.5.",
        "cs_lower and cs_upper say what more draws might change; edge, whether the levels end "
        "there.",
    ]
    marked = drop.marked.sum()
    if (marked > 0).any():
        notes.append(
            "In some draws there is no place in the network for "
            f"{exc.shorten(list(marked.index[marked > 0]))}."
        )
    levels = f"{drop.correlations()['rows'].nunique()}"
    left = [("Labels:", f"{len(drop.label_names)}"), ("Levels:", levels)]
    right = [("No. Observations:", f"{drop.nobs}"), ("Draws:", f"{len(drop.correlations())}")]
    return _put_together("Networks of Fewer Rows", left, right, tables, notes)


def summarize_comparison(found: NetworkComparison) -> IsingSummary:
    """Summarise groups: the tests, and the pairs that differ most."""
    tests = found.tests.reset_index()
    named = ["group_1", "group_2"] if len(found.networks) > 2 else []
    numbers = {"statistic": "{:.3f}", "pvalue": "{:.4g}"}
    numbers |= {"pvalue_adj": "{:.4g}"} if named else {}
    numbers |= {"distribution": "{}", "pairs": "{:d}"}
    edges = found.edges
    by_size = edges["difference"].abs().sort_values(ascending=False, kind="stable").index
    listed = edges.loc[by_size].sort_values("pvalue", kind="stable").head(_LISTED)
    weights = [] if named else [name for name in edges if str(name).startswith("weight_")]
    columns = dict.fromkeys((*weights, "difference"), "{:.3f}")
    columns |= dict.fromkeys(("pvalue", "pvalue_adj"), "{:.4g}")
    tables = [
        list_rows(tests, ["test", *named], numbers, "Tests"),
        list_rows(listed, ["first", "second", *named], columns, _title("pairs", listed, edges)),
    ]
    notes = [
        _NULLS[found.null],
        "M is the largest difference of two groups in a pair, S that of the sums of absolute "
        "interactions. pvalue_adj is adjusted for all pairs (max-T).",
        "difference is group_2 less group_1; pvalue_adj is adjusted for all pairs of groups, too."
        if named
        else "difference is the second group less the first.",
    ]
    if (tests["reason"] == Reason.TOO_FEW_ROWS).any():
        notes.append(f"S has no p-value: {Reason.TOO_FEW_ROWS.meaning}.")
    left_out = edges.loc[edges["reason"] != Reason.OK, "reason"].value_counts()
    if len(left_out):
        why = ", ".join(f"{reason} {count}" for reason, count in left_out.items())
        notes.append(
            f"{left_out.sum()} of {len(edges)} pairs are no part of M, S and strength, since their "
            f"interaction is not finite in both groups ({why})."
        )
    groups = found.groups["observations"]
    left = [("Groups:", f"{len(groups)}"), ("Labels:", f"{len(found.label_names)}")]
    right = [
        ("No. Observations:", ", ".join(map(str, groups))),
        ("Permutations:", f"{found.n_permutations}"),
    ]
    return _put_together("Networks of Groups", left, right, tables, notes)


def _title(what: str, listed: pd.DataFrame, all_rows: pd.DataFrame) -> str:
    """Say what is listed."""
    if len(listed) == len(all_rows):
        return what.capitalize()
    return f"The first {len(listed)} of {len(all_rows)} {what}"


def _put_together(
    title: str,
    left: list[tuple[str, str]],
    right: list[tuple[str, str]],
    tables: list[Table],
    notes: list[str],
) -> IsingSummary:
    """Put a head on tables."""
    width = max(table.width for table in tables)
    return IsingSummary([two_columns(title, left, right, width), *tables], notes)
