"""Curves of several methods in one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from isingmlc.plots.style import LINES, SMALL_SIZE, Entries, set_title

METHODS = ("score", "products", "l1", "lp-chi2", "lp-ig", "br-chi2", "br-ig")
"""The paper's seven methods, in the order of its tables."""
PAPER: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "score": {"penalty": None},
        "products": {"penalty": None},
        "l1": {"lam_ratio": 1e-4},
    }
)
"""Options of the paper's methods that are not the defaults of `rank_features`."""


def make_panels(number: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Make a figure with two panels in each row."""
    columns = min(number, 2)
    rows = -(-number // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    panels = np.ravel(figure.subplots(rows, columns)).tolist()
    for ax in panels[number:]:
        ax.remove()
    return figure, panels[:number]


def draw_curves(
    ax: Axes,
    curves: pd.DataFrame,
    *,
    title: str,
    x: str,
    y: str,
) -> Entries:
    """Draw one curve per column."""
    entries: Entries = []
    for (name, curve), (color, style) in zip(curves.items(), LINES, strict=False):
        (line,) = ax.plot(curve.index, curve, "o", color=color, linestyle=style, markersize=3.5)
        entries.append((line, str(name)))
    thin_out([line for line, _ in entries])
    ax.set_xlabel(x, fontsize=SMALL_SIZE)
    ax.set_ylabel(y, fontsize=SMALL_SIZE)
    ax.tick_params(labelsize=SMALL_SIZE)
    ax.spines[["top", "right"]].set_visible(False)
    set_title(ax, title)
    return entries


def name_ticks(ax: Axes, places: Sequence[int]) -> None:
    """Use a logarithmic horizontal axis that names these places and no others."""
    ax.set_xscale("log")
    ax.set_xticks(places, [str(place) for place in places])
    ax.xaxis.set_minor_locator(NullLocator())


def thin_out(lines: Sequence[Artist]) -> None:
    """Make later curves thinner, so that those below show where they coincide."""
    for line, width in zip(lines, np.linspace(3.2, 1.4, len(lines)), strict=True):
        line.set(linewidth=width)
