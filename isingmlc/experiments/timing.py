"""The paper's last figure: computing time by the numbers of features and of labels."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from statistics import median

import pandas as pd
from matplotlib.figure import Figure

from isingmlc.datasets import make_timing_data
from isingmlc.experiments.curves import METHODS, PAPER, draw_curves, name_ticks
from isingmlc.experiments.index_page import Section
from isingmlc.experiments.workshop import Unit, Workshop
from isingmlc.plots.style import add_legend
from isingmlc.ranking.methods import rank_features


@dataclass(frozen=True)
class Settings:
    """Sizes of the data, and how often each is measured."""

    n: int = 500
    n_simulations: int = 5
    numbers_of_features: tuple[int, ...] = (50, 100, 200, 500, 1000, 2000)
    labels_beside: int = 5
    numbers_of_labels: tuple[int, ...] = (2, 5, 10, 20, 30, 40, 50)
    features_beside: int = 50


FULL = Settings()
QUICK = Settings(
    n_simulations=2, numbers_of_features=(50, 100, 200), numbers_of_labels=(2, 5, 10, 20)
)


def run(workshop: Workshop, settings: Settings) -> Section:
    """Measure how long rankings take, one after the other, and draw the times."""
    by_features = [(p, settings.labels_beside) for p in settings.numbers_of_features]
    by_labels = [(settings.features_beside, K) for K in settings.numbers_of_labels]
    cases = list(dict.fromkeys(by_features + by_labels))
    common = {"n": settings.n, "n_simulations": settings.n_simulations, "seed": workshop.seed}
    units = [
        Unit(f"{method}-p{p}-K{K}", {"method": method, "p": p, "K": K, **common})
        for p, K in cases
        for method in METHODS
    ]
    measured = workshop.compute("times", measure_time, units, one_by_one=True)
    found = pd.DataFrame([unit.settings for unit in units]).assign(seconds=measured)
    seconds = found.pivot_table("seconds", ["p", "K"], "method")[list(METHODS)]
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    entries = draw_curves(
        left,
        seconds.loc[by_features].droplevel("K"),
        title=f"By features, K = {settings.labels_beside} labels",
        x="features p",
        y="seconds",
    )
    draw_curves(
        right,
        seconds.loc[by_labels].droplevel("p"),
        title=f"By labels, p = {settings.features_beside} features",
        x="labels K",
        y="seconds",
    )
    for ax, places in (
        (left, settings.numbers_of_features),
        (right, settings.numbers_of_labels),
    ):
        name_ticks(ax, places)
        ax.set_yscale("log")
    add_legend(figure, entries, loc="outside right center")
    name = workshop.write_figure("figure-time", figure)
    file = workshop.write_table("figure-time", seconds.loc[cases].reset_index())
    text = [
        f"Seconds of processor time that a ranking of {settings.n} rows takes on one core of this "
        f"machine: the median of {settings.n_simulations} data sets of Gaussian features and "
        "labels that are fair coins, measured one after the other. Times differ from run to run; "
        "a run that is resumed keeps those that were measured before.",
        "The paper, with programs in R, finds that times grow linearly with p for all methods but "
        "l1, which is the slowest, and with the square of K for products.",
    ]
    return Section(
        "Computing time",
        text,
        asdict(settings),
        {"Seconds by features p and labels K": file},
        {"Computing time by the numbers of features and labels": name},
    )


def measure_time(method: str, p: int, K: int, n: int, n_simulations: int, seed: int) -> float:
    """Measure how long a ranking takes."""
    # Whatever is imported at the first call is not part of the time.
    options = PAPER.get(method, {})
    rank_features(make_timing_data(n, 2, 2, random_state=seed), method=method, **options)
    seconds = []
    for number in range(n_simulations):
        data = make_timing_data(n, p, K, random_state=seed + number)
        start = time.process_time()
        rank_features(data, method=method, **options)
        seconds.append(time.process_time() - start)
    return median(seconds)
