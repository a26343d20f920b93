"""The paper's first figure: networks of the most and the least important feature of scene."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import isingmlc as im
from isingmlc.experiments.index_page import Section
from isingmlc.experiments.sources import absent_names, find_sources
from isingmlc.experiments.workshop import Workshop

TITLE = "Networks of the most and the least important feature"
PRINTED = (239, 71)
"""The most and the least important feature in the paper."""


@dataclass(frozen=True)
class Settings:
    """Which data set is drawn."""

    dataset: str = "scene"


FULL = Settings()
QUICK = FULL


def run(workshop: Workshop, settings: Settings) -> Section:
    """Draw the two networks."""
    from matplotlib.figure import Figure

    name = settings.dataset
    found = find_sources([name], workshop.data)
    if not found:
        return Section(TITLE, [absent_names([name], found)], asdict(settings))
    with workshop.watch():
        results = im.IsingModel(im.datasets.load_mulan(name, "train", workshop.data)).fit()
    edges = results.score_test(pvalue="chi2")
    order = results.rank_features().order
    extremes = [order[0], order[-1]]
    figure = Figure(figsize=(12, 5.6), layout="constrained")
    results.plot_networks(extremes, edges=edges, axes=figure.subplots(1, 2))
    listed = edges.to_frame().set_index("feature").loc[extremes].reset_index()
    names = workshop.write_figure("figure-scene", figure)
    columns = ["feature", "label", "statistic", "pvalue", "pvalue_adj", "reason"]
    file = workshop.write_table("figure-scene", listed[columns])
    importance = edges.importance
    text = (
        f"Score tests of all {len(order)} features of {name}, on its training rows. The most "
        f"important feature is {extremes[0]} (importance {importance[extremes[0]]:.1f}), the least "
        f"important one {extremes[1]} ({importance[extremes[1]]:.2f}). In the paper they are "
        f"x{PRINTED[0]} and x{PRINTED[1]}."
    )
    if len(order) >= max(PRINTED):
        ranks = [order.index(edges.feature_names[number - 1]) + 1 for number in PRINTED]
        text += f" Here these have the ranks {ranks[0]} and {ranks[1]}."
    return Section(
        f"{TITLE}: {name}",
        [text],
        asdict(settings),
        {"Edges of the two features": file},
        {"Score statistics of the two features and all labels": names},
    )
