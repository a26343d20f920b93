"""Pictures of how sure a network is: intervals, and what is left of it with fewer rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from isingmlc.plots.style import (
    FAINT,
    INK,
    LINES,
    Entries,
    add_legend,
    below,
    label_axes,
    make_axes,
    set_title,
)

if TYPE_CHECKING:
    from isingmlc.networks.case_dropping import CaseDropping

_NAME_LENGTH = 40


def plot_stability(drop: CaseDropping, *, cor: float = 0.7, ax: Axes | None = None) -> Axes:
    """Draw how much a network of fewer rows is like that of all; see `CaseDropping.plot`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from matplotlib.figure import Figure
    >>> from isingmlc.plots import plot_stability
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> drop = res.drop_cases(100, random_state=0)
    >>> plot_stability(drop, ax=Figure().subplots()).get_ylabel()
    'correlation with all rows'
    """
    table, coefficients = drop.to_frame(cor=cor), drop.cs_coefficient(cor=cor)
    ax = make_axes(ax, 6.4, 4.4)
    set_title(ax, f"Networks of fewer rows ({drop.nobs} in all)")
    ax.axhline(cor, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    entries: Entries = []
    for order, (measure, levels) in enumerate(table.groupby("measure", sort=False)):
        colour, style = LINES[order % len(LINES)]
        ax.fill_between(
            levels["dropped"], levels["lower"], levels["upper"], color=colour, alpha=0.13, lw=0
        )
        (line,) = ax.plot(
            levels["dropped"], levels["mean"], color=colour, linestyle=style, linewidth=1.8
        )
        cs = float(coefficients.loc[measure, "cs"])
        if cs > 0:
            at = levels.loc[np.isclose(levels["dropped"], cs), "mean"]
            ax.plot([cs], at, "D", color=colour, markersize=6.5, markeredgecolor="white")
        more = "≥ " if cs > 0 and coefficients.loc[measure, "at_edge"] else ""
        entries.append((line, f"{str(measure).replace('_', ' ')}: CS {more}{cs:.2f}"))
    diamond = Line2D([], [], linestyle="none", marker="D", color=INK, markersize=6)
    entries.append((diamond, "CS-coefficient"))
    label_axes(ax, "rows left out", "correlation with all rows")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set(ylim=(min(0.0, float(table["lower"].min())) - 0.02, 1.03))
    add_legend(ax, entries, loc="upper center", ncols=2, **below(ax, 36))
    return ax
