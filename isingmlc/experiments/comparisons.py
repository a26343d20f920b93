"""Methods compared over data sets, here and in the paper's printed tables."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from isingmlc.experiments.curves import METHODS
from isingmlc.experiments.friedman import FriedmanTest, friedman
from isingmlc.experiments.index_page import DIFFERENCE
from isingmlc.experiments.paper import (
    FRIEDMAN_PVALUES,
    load_paper_posthoc,
    load_paper_ranks,
    load_paper_table,
)
from isingmlc.experiments.sources import FEWER_LABELS
from isingmlc.plots.style import set_title

HERE, PAPER = "here", "paper"
FEWER = f", {FEWER_LABELS} labels"
_POSTHOC = ("hamming", "subset")


def beside_paper(
    measure: str, here: pd.DataFrame, fewer: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Put printed values and differences below those found here."""
    printed = load_paper_table(measure).reindex(here.index, columns=here.columns)
    parts = {HERE: here, PAPER: printed, DIFFERENCE: here - printed}
    if fewer is not None:
        parts[f"{HERE}{FEWER}"] = fewer.reindex(here.index)
        parts[f"{DIFFERENCE}{FEWER}"] = fewer.reindex(here.index) - printed
    stacked = pd.concat(parts, names=["value", "dataset"]).swaplevel()
    rows = [(name, value) for name in here.index for value in parts]
    return stacked.loc[rows].dropna(how="all").reset_index()


def list_comparisons(here: Mapping[str, pd.DataFrame], measure: str) -> dict[str, FriedmanTest]:
    """Compare methods on the data sets that both have, on the paper's and on all here."""
    table, printed = here[measure], load_paper_table(measure)
    both = [name for name in printed.index if name in table.index]
    methods = [method for method in METHODS if method in table]
    return {
        "here, data sets of the paper": friedman(table.loc[both, methods]),
        "paper, the same data sets": friedman(printed.loc[both, methods]),
        "paper, all data sets": friedman(printed),
        "here, all data sets and methods": friedman(table),
    }


def compare_ranks(here: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """List average ranks of the methods."""
    rows = []
    for measure in here:
        for name, result in list_comparisons(here, measure).items():
            first = {"measure": measure, "compared": name, "data sets": len(result.table)}
            rows.append({**first, **result.ranks.to_dict()})
        printed = load_paper_ranks(measure)
        first = {"measure": measure, "compared": "paper, as printed", "data sets": 13}
        rows.append({**first, **printed.to_dict()})
    return pd.DataFrame(rows)


def run_friedman(here: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """List Friedman's tests."""
    return pd.DataFrame(
        [
            {
                "measure": measure,
                "compared": name,
                "data sets": len(result.table),
                "methods": result.table.shape[1],
                "statistic": result.statistic,
                "df": result.table.shape[1] - 1,
                "p": result.pvalue,
                "p printed": (
                    FRIEDMAN_PVALUES[measure] if name == "paper, all data sets" else np.nan
                ),
            }
            for measure in here
            for name, result in list_comparisons(here, measure).items()
        ]
    )


def compare_pairs(here: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """List p-values of all pairs of methods by Conover's test."""
    rows = []
    for measure, table in here.items():
        tests = {name: result.posthoc for name, result in list_comparisons(here, measure).items()}
        if measure in _POSTHOC:
            tests["paper, as printed"] = load_paper_posthoc(measure)
        for one, other in combinations(table.columns, 2):
            values = {
                name: pvalues.loc[one, other]
                for name, pvalues in tests.items()
                if one in pvalues and other in pvalues
            }
            rows.append({"measure": measure, "method": one, "with": other, **values})
    return pd.DataFrame(rows)


def draw_critical_differences(here: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw average ranks of all methods here, one picture per measure."""
    figure = Figure(figsize=(8, 2.6 * len(here)), layout="constrained")
    panels = np.ravel(figure.subplots(len(here), 1))
    for ax, (measure, table) in zip(panels, here.items(), strict=True):
        friedman(table).draw(ax)
        set_title(ax, f"{measure}: average ranks on {len(table)} data sets")
    return figure
