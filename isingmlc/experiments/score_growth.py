"""The figure of section 3.2: score statistics of relevant features grow, others stay small."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import stats

import isingmlc as im
from isingmlc.base.arrays import FloatArray
from isingmlc.experiments.curves import draw_curves
from isingmlc.experiments.index_page import Section
from isingmlc.experiments.workshop import Unit, Workshop
from isingmlc.plots.style import (
    DOTTED,
    FAINT,
    LOWERS,
    RAISES,
    SMALL_SIZE,
    Entries,
    add_legend,
    set_title,
)


@dataclass(frozen=True)
class Settings:
    """Rows and effects that are simulated, and how often."""

    n_simulations: int = 50
    sizes: tuple[int, ...] = (100, 250, 500, 1000)
    effects: tuple[float, ...] = tuple(round(0.1 * step, 1) for step in range(21))
    shown_effect: float = 1.0


FULL = Settings()
QUICK = Settings(n_simulations=20, sizes=(100, 500), effects=(0.0, 0.5, 1.0, 1.5, 2.0))


def run(workshop: Workshop, settings: Settings) -> Section:
    """Simulate score statistics and draw their distribution and growth."""
    units = [
        Unit(
            f"n{n}-a{a:g}",
            {"a": a, "n": n, "n_simulations": settings.n_simulations, "seed": workshop.seed},
        )
        for n in sorted(settings.sizes, reverse=True)
        for a in settings.effects
    ]
    simulated = workshop.compute("score", simulate_statistics, units)
    rows = [
        {"n": unit.settings["n"], "a1": unit.settings["a"], "statistic": statistic}
        for unit, statistics in zip(units, simulated, strict=True)
        for statistic in statistics
    ]
    drawn = pd.DataFrame(rows)
    means = drawn.groupby(["n", "a1"])["statistic"].agg(["mean", "std"]).reset_index()
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    largest = drawn[drawn["n"] == max(settings.sizes)].set_index("a1")["statistic"]
    _draw_distributions(
        left, largest[0.0].to_numpy(), largest[settings.shown_effect].to_numpy(), settings
    )
    growth = means.pivot_table("mean", "a1", "n")
    growth.columns = [f"n = {n}" for n in growth.columns]
    entries = draw_curves(
        right, growth, title="Mean score statistic by effect", x="a1", y="mean score statistic"
    )
    add_legend(right, entries, loc="upper left")
    name = workshop.write_figure("figure-score", figure)
    files = [
        workshop.write_table("figure-score", means),
        workshop.write_table("figure-score-draws", drawn),
    ]
    irrelevant = largest[0.0]
    text = [
        "One Gaussian feature x1 and ten labels: y2 to y10 are fair coins, and the log-odds of y1 "
        "are a1 x1 + 0.1 (y2 + … + y10). The statistic is that of x1 and y1.",
        f"With a1 = 0 its mean over {len(irrelevant)} simulations of {max(settings.sizes)} rows is "
        f"{irrelevant.mean():.2f} (chi-square with one degree of freedom: 1), with a1 = "
        f"{settings.shown_effect:g} it is {largest[settings.shown_effect].mean():.1f}.",
        f"All single statistics are in {files[1]}.",
    ]
    return Section(
        "Section 3.2: score statistics and the size of effects",
        text,
        asdict(settings),
        {"Mean and standard deviation by rows and effect": files[0]},
        {"Score statistics of a relevant and an irrelevant feature": name},
    )


def simulate_statistics(a: float, n: int, n_simulations: int, seed: int) -> list[float]:
    """Simulate score statistics of x1 and y1."""
    # The same effect and size get the same draws, whatever else is simulated.
    generator = np.random.default_rng([seed, n, round(1000 * a)])
    statistics = []
    for _ in range(n_simulations):
        data = im.datasets.make_score_example(a, n, generator)
        edges = im.IsingModel(data).fit().score_test(pvalue="chi2")
        statistics.append(float(edges.statistics.loc["x1", "y1"]))
    return statistics


def _draw_distributions(
    ax: Axes, irrelevant: FloatArray, relevant: FloatArray, settings: Settings
) -> None:
    """Draw smoothed histograms of two samples of statistics, each on the scale of square roots."""
    top = 1.1 * np.sqrt(relevant.max())
    places = np.linspace(0, top, 400)
    entries: Entries = []
    for sample, color, words in (
        (irrelevant, LOWERS, "irrelevant: a1 = 0"),
        (relevant, RAISES, f"relevant: a1 = {settings.shown_effect:g}"),
    ):
        density = _smooth(np.sqrt(sample), places)
        ax.fill_between(places, density, color=color, alpha=0.35, linewidth=0)
        (line,) = ax.plot(places, density, color=color, linewidth=1.8)
        entries.append((line, words))
    ax.plot(places, stats.halfnorm.pdf(places), color=FAINT, linestyle=DOTTED, linewidth=1.4)
    theory = Line2D([], [], color=FAINT, linestyle=DOTTED, linewidth=1.4)
    entries.append((theory, "chi-square with 1 degree of freedom"))
    ax.set(xlim=(0, top), ylim=(0, None))
    ax.set_xlabel("square root of the score statistic", fontsize=SMALL_SIZE)
    ax.set_ylabel("density", fontsize=SMALL_SIZE)
    ax.tick_params(labelsize=SMALL_SIZE)
    ax.spines[["top", "right"]].set_visible(False)
    set_title(ax, f"Score statistics, n = {max(settings.sizes)}")
    add_legend(ax, entries, loc="upper center")


def _smooth(sample: FloatArray, places: FloatArray) -> FloatArray:
    """Estimate a density on the positive numbers: what falls below zero is folded back."""
    density = stats.gaussian_kde(sample)
    return np.asarray(density(places) + density(-places))
