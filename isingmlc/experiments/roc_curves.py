"""ROC curves of all methods on the four artificial data sets."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from isingmlc.base.arrays import FloatArray
from isingmlc.datasets.artificial import DEFAULT_ROWS
from isingmlc.experiments.artificial_rankings import TIES, rank_artdata
from isingmlc.experiments.curves import METHODS, make_panels, thin_out
from isingmlc.experiments.index_page import Section
from isingmlc.experiments.workshop import Workshop
from isingmlc.plots import plot_roc
from isingmlc.plots.style import set_title
from isingmlc.results.ranking import RankingRoc


@dataclass(frozen=True)
class Settings:
    """Which of the data sets are simulated, and how often; with as many rows as in the paper."""

    datasets: tuple[int, ...] = (1, 2, 3, 4)
    n_simulations: int = 20


FULL = Settings()
QUICK = Settings(n_simulations=5)


def run(workshop: Workshop, settings: Settings) -> Section:
    """Rank simulated features and draw mean ROC curves."""
    cases = [(which, DEFAULT_ROWS[which]) for which in settings.datasets]
    areas, curves = rank_artdata(workshop, cases, settings.n_simulations)
    figure, panels = make_panels(len(cases), 5.2, 5.2)
    for ax, (name, of_set) in zip(panels, curves.groupby("dataset"), strict=True):
        for method in METHODS:
            rates = of_set.loc[of_set["method"] == method, "tpr"].to_numpy()
            plot_roc(_as_steps(method, rates), ax=ax)
        thin_out([line for line in ax.lines if line.get_gid() == "roc"])
        set_title(ax, f"{name}, n = {of_set['n'].iloc[0]}")
    name = workshop.write_figure("figure-roc", figure)
    files = [
        workshop.write_table("figure-roc-auc", _summarise(areas)),
        workshop.write_table("figure-roc", curves),
    ]
    text = [
        f"Mean ROC curves over {settings.n_simulations} simulations: the share of relevant "
        "features among the first ones of a ranking against the share of irrelevant ones. An area "
        "(AUC) of 1 means that all relevant features come first, one of 0.5 a random order.",
        TIES,
        "The paper finds for ArtData1 that all methods but those on labelsets do well, for "
        "ArtData2 that only the Ising methods do, for ArtData3 and ArtData4 that products are "
        "best, br-ig second, and that l1 and the methods on labelsets do badly. It prints no "
        "numbers of these figures in its text.",
        f"The curves are in {files[1]}.",
    ]
    return Section(
        "ROC curves on artificial data",
        text,
        asdict(settings),
        {"Mean area and its standard error": files[0]},
        {"Mean ROC curves of seven methods": name},
    )


def _as_steps(method: str, rates: FloatArray) -> RankingRoc:
    """Return the curve that goes right at each mean rate; its area is the mean area."""
    fpr = np.linspace(0, 1, len(rates))
    return RankingRoc(
        method,
        np.append(0.0, np.repeat(fpr[1:], 2)),
        np.append(np.repeat(rates[:-1], 2), rates[-1]),
    )


def _summarise(areas: pd.DataFrame) -> pd.DataFrame:
    """Return mean areas and standard errors, one row per data set and one column per method."""
    by_case = areas.pivot_table("auc", ["dataset", "n", "simulation"], "method")[list(METHODS)]
    grouped = by_case.groupby(["dataset", "n"])
    both = pd.concat({"AUC": grouped.mean(), "standard error": grouped.sem()}, names=["value"])
    order = ["dataset", "n", "value"]
    return both.reorder_levels(order).sort_index().reset_index()
