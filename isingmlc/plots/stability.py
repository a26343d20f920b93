"""Pictures of how sure a network is: intervals, and what is left of it with fewer rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_option
from isingmlc.plots.style import (
    FAINT,
    INK,
    LINES,
    LOWERS,
    OPEN,
    RAISES,
    Entries,
    add_legend,
    below,
    font_for,
    join_names,
    label_axes,
    label_bars,
    make_axes,
    set_title,
    wrap_names,
    write,
)

if TYPE_CHECKING:
    from isingmlc.networks.case_dropping import CaseDropping

_NAME_LENGTH = 40
_PAIR_LENGTH = 50
_PAIR = " – "
# What estimates are called on the axis, by their column.
_MEANING = {"weight": "interaction", "sample": "in the sample", "value": "value"}


def plot_intervals(
    table: pd.DataFrame,
    *,
    top: int = 40,
    labels: Sequence[str] | None = None,
    clear: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates with their intervals, the largest first.

    Parameters
    ----------
    table : DataFrame
        What `IsingResults.network_table` or `NetworkBootstrap.intervals` gives, or one measure of
        `IsingResults.centrality`: names, an estimate, and the columns ``lower`` and ``upper``.
    top : int
        How many rows are drawn, those that are largest in absolute value.
    labels : sequence of str, optional
        Only rows that have one of these labels are drawn.
    clear : bool
        Whether only rows are drawn whose intervals leave out zero.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Returns
    -------
    Axes
        The picture. Filled marks have intervals that leave out zero; what is infinite or not known
        is said in words.

    Raises
    ------
    DataError
        When the table has other columns, or several rows of one name, or nothing is left of it.

    Examples
    --------
    >>> import isingmlc as im
    >>> from matplotlib.figure import Figure
    >>> from isingmlc.plots import plot_intervals
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> plot_intervals(res.network_table(), ax=Figure().subplots()).get_title()
    '15 estimates with their intervals'
    """
    top = check_count("top", top, 1)
    value = next((name for name in ("weight", "sample", "value") if name in table), None)
    is_pair = "first" in table and "second" in table
    if value is None or not {"lower", "upper"} <= set(table) or not (is_pair or "label" in table):
        raise exc.DataError(
            "table must be that of network_table(), of intervals() or of centrality(), but has "
            f"the columns {exc.shorten(table.columns, 10)}."
        )
    table = _filter(table, ["first", "second"] if is_pair else ["label"], labels, clear)
    names = table["first"] + _PAIR + table["second"] if is_pair else table["label"]
    if names.duplicated().any():
        raise exc.DataError(
            f"table has several rows of {exc.shorten(names[names.duplicated()].unique())}. Take "
            "one measure: table[table['measure'] == 'strength']."
        )
    size = table[value].abs().fillna(-1.0)
    shown = table.assign(name=names).loc[size.nlargest(top, keep="first").index]
    shown = shown.sort_values(value, ascending=False, kind="stable", na_position="last")
    n, total = len(shown), len(table)
    ax = make_axes(ax, 8.0 if is_pair else 7.0, 1.6 + (0.24 if n <= 25 else 0.17) * n)
    some = f"{total}" if n == total else f"The {n} largest of {total}"
    set_title(ax, f"{some} estimates with their intervals")
    estimate = shown[value].to_numpy(dtype=float)
    lower, upper = (shown[name].to_numpy(dtype=float) for name in ("lower", "upper"))
    finite = np.isfinite(estimate)
    known = finite & np.isfinite(lower) & np.isfinite(upper)
    clear = known & ((lower > 0) | (upper < 0))
    place = np.arange(n)
    ax.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    colour = np.where(estimate < 0, LOWERS, RAISES)
    ax.hlines(place[known], lower[known], upper[known], color=colour[known], linewidth=1.6)
    ax.scatter(estimate[clear], place[clear], color=colour[clear], s=26, zorder=3)
    open_marks = finite & ~clear
    ax.scatter(
        estimate[open_marks],
        place[open_marks],
        facecolor="white",
        edgecolor=colour[open_marks],
        s=26,
        zorder=3,
    )
    ax.set(ylim=(n - 0.4, -0.6))
    if is_pair:
        written = join_names(list(shown["first"]), list(shown["second"]), _PAIR, _PAIR_LENGTH)
    else:
        written = wrap_names(list(shown["name"]), _NAME_LENGTH, 1)
    room = label_bars(ax, _MEANING[value], written)
    for at in np.flatnonzero(~finite).tolist():
        said = "not known" if np.isnan(estimate[at]) else f"{'+' if estimate[at] > 0 else '−'}∞"
        write(ax, 0.0, at, f" {said}", fontsize=font_for(room), color=OPEN, va="center")
    entries: Entries = [
        (_mark(RAISES, RAISES), "interval leaves out zero"),
        (_mark("white", RAISES), "interval covers zero"),
    ]
    add_legend(ax, entries, loc="upper center", ncols=2, **below(ax, 34))
    return ax


def _filter(
    table: pd.DataFrame, columns: list[str], labels: Sequence[str] | None, clear: bool
) -> pd.DataFrame:
    """Take the rows of some labels, and those whose intervals leave out zero."""
    check_option("clear", clear, (True, False))
    if labels is not None:
        wanted = [labels] if isinstance(labels, str) else list(labels)
        strange = sorted(set(wanted) - set(table[columns].to_numpy().ravel()))
        if strange:
            raise exc.DataError(f"labels must be in the table, but {exc.shorten(strange)} are not.")
        table = table[table[columns].isin(wanted).any(axis=1)]
    if clear:
        table = table[(table["lower"] > 0) | (table["upper"] < 0)]
    if not len(table):
        raise exc.DataError(
            "nothing is left to draw: no interval leaves out zero. Draw all with clear=False."
        )
    return table


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


def _mark(face: str, edge: str) -> Line2D:
    """Give a mark for the legend."""
    return Line2D(
        [], [], linestyle="-", marker="o", color=edge, markerfacecolor=face, markersize=5.5
    )
