"""How the area below ROC curves grows with the number of rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from isingmlc.experiments.artificial_rankings import TIES, rank_artdata
from isingmlc.experiments.curves import METHODS, draw_curves, make_panels, name_ticks
from isingmlc.experiments.index_page import Section
from isingmlc.experiments.workshop import Workshop
from isingmlc.plots.style import add_legend


@dataclass(frozen=True)
class Settings:
    """Which of the data sets are simulated with how many rows, and how often."""

    datasets: tuple[int, ...] = (1, 2, 3, 4)
    sizes: tuple[int, ...] = (50, 100, 200, 400, 700, 1000, 2000)
    n_simulations: int = 20


FULL = Settings()
QUICK = Settings(sizes=(50, 100, 400), n_simulations=5)


def run(workshop: Workshop, settings: Settings) -> Section:
    """Rank simulated features of data with few and with many rows, and draw the areas."""
    cases = [(which, n) for which in settings.datasets for n in settings.sizes]
    areas, _ = rank_artdata(workshop, cases, settings.n_simulations)
    means = areas.pivot_table("auc", ["dataset", "n"], "method")[list(METHODS)]
    figure, panels = make_panels(len(settings.datasets), 5.6, 4.2)
    for ax, name in zip(panels, means.index.unique("dataset"), strict=True):
        entries = draw_curves(ax, means.loc[name], title=name, x="rows n", y="mean AUC")
        ax.set_ylim(0.4, 1.02)
        name_ticks(ax, settings.sizes)
    add_legend(figure, entries, loc="outside right center")
    name = workshop.write_figure("figure-size", figure)
    file = workshop.write_table("figure-size", means.reset_index())
    text = [
        f"Mean areas below ROC curves over {settings.n_simulations} simulations, by the number of "
        "rows.",
        TIES,
        "The paper finds that the areas grow with n: for ArtData1 of all methods, those on "
        "labelsets unsteadily; for ArtData2 of the Ising methods only, and more slowly; for "
        "ArtData3 of all; for ArtData4 not of those on labelsets.",
    ]
    return Section(
        "Area below ROC curves by the number of rows",
        text,
        asdict(settings),
        {"Mean area": file},
        {"Mean area by the number of rows": name},
    )
