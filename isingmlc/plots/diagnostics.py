"""What a user should know of a fit before reading its tests, one row per label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from isingmlc.fitting.reasons import RARE, Reason
from isingmlc.plots.style import (
    FAINT,
    INK,
    LOWERS,
    PAPER,
    RAISES,
    SMALL_SIZE,
    Entries,
    add_legend,
    below,
    font_for,
    label_bars,
    make_axes,
    set_title,
    wrap_names,
    write,
)

if TYPE_CHECKING:
    from isingmlc.results.ising import IsingResults

_NAME_LENGTH = 28


def plot_diagnostics(results: IsingResults, *, ax: Axes | None = None) -> Axes:
    """Draw what limits the tests of each label; see `IsingResults.plot_diagnostics`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_diagnostics
    >>> from matplotlib.figure import Figure
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> plot_diagnostics(res, ax=Figure().subplots()).get_title()
    'What the 6 labels can be tested with (1500 rows)'
    """
    table = results.diagnostics
    n = len(table)
    ax = make_axes(ax, 7.6, 2.0 + (0.26 if n <= 20 else 0.18) * n)
    title = f"What the {n} labels can be tested with ({results.nobs:g} rows)"
    set_title(ax, title, results.adjusted_for)
    entries = _draw_rows(ax, table, results.nobs)
    names = wrap_names(list(table.index), _NAME_LENGTH, 1)
    rare = table["rare"].to_numpy()
    names = [f"{name} *" if few else name for name, few in zip(names, rare, strict=True)]
    if rare.any():
        star = Line2D([], [], linestyle="none", marker=(5, 2, 0), color=INK, markersize=5)
        entries.append((star, f"rare: fewer than {RARE} rows of one kind"))
    ax.set(xlim=(-0.01, 1.01), ylim=(n - 0.4, -0.6))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    add_legend(ax, entries, loc="upper center", ncols=2, **below(ax, 34))
    variance = ax.secondary_yaxis("right")
    variance.tick_params(length=0)
    variance.spines["right"].set_visible(False)
    variance.set_ylabel("smallest p(1−p)", fontsize=SMALL_SIZE)
    values = [_digits(value) for value in table["min_variance"]]
    room = label_bars(ax, "share of rows", names, (variance.set_yticks, values))
    for at, reason in enumerate(table["reason"]):
        if reason != Reason.OK:
            size = font_for(room, SMALL_SIZE)
            write(ax, 0.015, at, reason, fontsize=size, color=FAINT, va="center")
    return ax


def _draw_rows(ax: Axes, table: pd.DataFrame, nobs: float) -> Entries:
    """Draw the bars and marks of all labels."""
    share = (table["rows"] / nobs).to_numpy()
    tested = (table["reason"] == Reason.OK).to_numpy()
    separated = table["separated"].to_numpy()
    place = np.arange(len(table))
    light = {"facecolor": "#8FC1E0", "hatch": "////", "edgecolor": RAISES, "linewidth": 0.6}
    entries: Entries = []
    for concerned, style, words in (
        (tested & ~separated, {"facecolor": RAISES}, "rows that carry information: all"),
        (tested & separated, light, "rows that carry information: the others are certain"),
    ):
        if concerned.any():
            ax.barh(place[concerned], share[concerned], height=0.66, **style)
            entries.append((Patch(**style), words))
    (mark,) = ax.plot(
        table["prevalence"][tested],
        place[tested],
        "D",
        color=LOWERS,
        markersize=5.5,
        markeredgecolor=PAPER,
        markeredgewidth=0.8,
    )
    entries.append((mark, "rows with the label"))
    return entries


def _digits(variance: float) -> str:
    return "" if np.isnan(variance) else f"{variance:.2f}" if variance >= 0.005 else "< 0.005"
