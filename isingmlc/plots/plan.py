"""Pictures of how many rows are needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from isingmlc.fitting.reasons import Reason
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
    wrap_names,
)

if TYPE_CHECKING:
    from isingmlc.results.sample_size import EdgePlan, NetworkPlan

# Labels that have lines of their own; of more all are one line with a band.
_MOST_LINES = 8
_NAME_LENGTH = 24
_SIZES = 17


def plot_edge_plan(plan: EdgePlan, *, ax: Axes | None = None) -> Axes:
    """Draw the smallest odds ratios that are found; see `EdgePlan.plot`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from matplotlib.figure import Figure
    >>> from isingmlc.plots import plot_edge_plan
    >>> plan = im.plan_sample_size(prevalence=0.2, odds_ratio=1.5)
    >>> plot_edge_plan(plan, ax=Figure().subplots()).get_ylabel()
    'smallest odds ratio found (per SD, normal)'
    """
    table = plan.to_frame()
    needed = table["needed"].dropna()
    middle = plan.n_rows if plan.n_rows is not None else float(needed.median())
    if len(needed):
        middle = float(np.sqrt(middle * max(needed.median(), 2.0)))
    sizes = np.unique(np.geomspace(max(middle / 10, 20), middle * 10, _SIZES).astype(int))
    found = plan.detectable_at(sizes)
    kinds = table.set_index(["feature", "label"])["kind"].loc[found.index]
    scaled = (kinds != "binary").to_numpy()
    kind = str(kinds[scaled].iloc[0]) if scaled.any() else "binary"
    found = found[scaled] if scaled.any() else found
    ax = make_axes(ax, 6.4, 4.4)
    set_title(ax, f"Odds ratios found with power {plan.power:g} at level {plan.level:.2g}")
    medians = found.groupby(level="label", sort=False).median()
    entries: Entries = []
    if len(medians) > _MOST_LINES:
        colour, style = LINES[0]
        ax.fill_between(
            sizes, medians.quantile(0.1), medians.quantile(0.9), color=colour, alpha=0.13, lw=0
        )
        (line,) = ax.plot(sizes, medians.median(), color=colour, linestyle=style, linewidth=1.8)
        entries.append((line, f"median of {len(medians)} labels, 80% of them shaded"))
    else:
        for order, (label, values) in enumerate(medians.iterrows()):
            colour, style = LINES[order % len(LINES)]
            (line,) = ax.plot(sizes, values, color=colour, linestyle=style, linewidth=1.8)
            entries.append((line, wrap_names([str(label)], _NAME_LENGTH, 1)[0]))
    if plan.odds_ratio is not None and plan.odds_ratio > 1:
        ax.axhline(plan.odds_ratio, color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    if plan.n_rows is not None:
        ax.axvline(plan.n_rows, color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    label_axes(ax, "rows", f"smallest odds ratio found ({kind})")
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.2, 1.5, 2.0, 3.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    _count_rows(ax)
    add_legend(ax, entries, loc="upper center", ncols=min(len(entries), 3), **below(ax, 36))
    return ax


def plot_network_plan(
    plan: NetworkPlan, targets: Mapping[str, float] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw how well a network is found; see `NetworkPlan.plot`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from matplotlib.figure import Figure
    >>> from isingmlc.plots import plot_network_plan
    >>> net = im.IsingModel(im.datasets.load_example().labels).fit_regularized()
    >>> plan = im.plan_sample_size(net, of="network", n=[200, 800], n_draws=5, random_state=0)
    >>> plot_network_plan(plan, ax=Figure().subplots()).get_ylabel()
    'mean over draws'
    """
    table, needed = plan.to_frame(), plan.needed(targets)
    ax = make_axes(ax, 6.4, 4.6)
    set_title(ax, f"A network of {plan.about['labels']} labels, found on fewer and more rows")
    entries: Entries = []
    for order, (measure, part) in enumerate(table.groupby("measure", sort=False)):
        if part["mean"].isna().all():
            continue
        colour, style = LINES[order % len(LINES)]
        ax.fill_between(part["n"], part["lower"], part["upper"], color=colour, alpha=0.1, lw=0)
        ax.plot(part["n"], part["mean"], "o", color=colour, markersize=4.5)
        (line,) = ax.plot(part["n"], part["fitted"], color=colour, linestyle=style, linewidth=1.8)
        said = str(measure)
        if measure in needed.index:
            found = needed.loc[measure]
            if found["reason"] == Reason.AT_THE_SMALLEST:
                said += f": {found['target']:g} at {found['n']:.0f} rows or fewer"
            elif np.isfinite(found["n"]):
                ax.plot([found["n"]], [found["target"]], "D", color=colour, markersize=6.5)
                low, high = found["lower"], min(found["upper"], part["n"].max())
                ax.hlines(found["target"], low, high, color=colour, linewidth=1.2)
                said += f": {found['target']:g} at {found['n']:.0f} rows"
            elif found["reason"] == Reason.NOT_REACHED:
                said += f": {found['target']:g} not reached"
        entries.append((line, said))
    diamond = Line2D([], [], linestyle="none", marker="D", color=INK, markersize=6)
    entries.append((diamond, "target reached, with its interval"))
    label_axes(ax, "rows", "mean over draws")
    ax.set(ylim=(min(0.0, float(table["lower"].min())) - 0.02, 1.03))
    _count_rows(ax)
    add_legend(ax, entries, loc="upper center", ncols=2, **below(ax, 36))
    return ax


def _count_rows(ax: Axes) -> None:
    """Put numbers of rows on a log scale, written out."""
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
