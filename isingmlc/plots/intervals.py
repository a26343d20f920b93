"""Estimates with their intervals: of pairs and labels, and of measures of centrality."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, leaves_out_zero
from isingmlc.fitting.reasons import Reason
from isingmlc.plots.layout import HUGE
from isingmlc.plots.style import (
    FAINT,
    LOWERS,
    OPEN,
    RAISES,
    SMALL_SIZE,
    TITLE_SIZE,
    UNTESTED,
    Entries,
    add_legend,
    below,
    font_for,
    join_names,
    label_bars,
    label_ticks,
    make_axes,
    make_panels,
    set_title,
    settle,
    size_in_points,
    wrap_names,
    write,
)

# Characters of a name and of a pair, in a picture of its own, and of a name beside others.
_NAME_LENGTH, _PAIR_LENGTH, _SHORT_LENGTH = 40, 50, 30


def plot_intervals(
    table: pd.DataFrame,
    *,
    top: int = 40,
    labels: Sequence[str] | None = None,
    clear: bool = False,
    what: str | None = None,
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
    what : str, optional
        What the estimates are, for below the picture; if omitted, what the table tells.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Returns
    -------
    Axes
        The plot. Filled marks have intervals that leave out zero. An arrow to the edge is a
        limit that is infinite or beyond the scale, a cross an estimate without an interval (grey
        if it cannot be estimated); estimates that are infinite, beyond the scale or not known are
        said in words.

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
    columns = [name for name in ("first", "second", "feature", "label") if name in table]
    if value is None or not {"lower", "upper"} <= set(table) or not columns:
        raise exc.DataError(
            "table must be that of network_table(), of intervals() or of centrality(), but has "
            f"the columns {exc.shorten(table.columns, 10)}."
        )
    table = _filter(table, columns, labels, clear)
    twice = table[table[columns].duplicated()]
    if len(twice):
        names = twice[columns].agg(" – ".join, axis=1).unique()
        raise exc.DataError(
            f"table has several rows of {exc.shorten(names)}. Take one measure: "
            "table[table['measure'] == 'strength']."
        )
    said = _say_kind(table) if what is None else str(what)
    size = table[value].abs().fillna(-1.0)
    shown = table.loc[size.nlargest(top, keep="first").index]
    shown = shown.sort_values(value, ascending=False, kind="stable", na_position="last")
    n, total = len(shown), len(table)
    ax = make_axes(ax, 7.0 if len(columns) == 1 else 8.0, 1.6 + (0.24 if n <= 25 else 0.17) * n)
    some = f"{total}" if n == total else f"The {n} largest of {total}"
    set_title(ax, f"{some} estimates with their intervals")
    estimate, lower, upper = (
        shown[name].to_numpy(dtype=float) for name in (value, "lower", "upper")
    )
    ax.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    colour = np.where(estimate < 0, LOWERS, RAISES)
    if "separated" in shown:
        colour = np.where(shown["reason"] == Reason.INFINITE_PAIR, UNTESTED, colour)
    entries = _draw_intervals(ax, estimate, lower, upper, colour)
    room = label_bars(ax, said, _write_names(shown[columns]))
    for at in np.flatnonzero(~_on_scale(estimate)).tolist():
        _say_endless(ax, at, estimate[at], lower[at], upper[at], font_for(room))
    add_legend(ax, entries, loc="upper center", ncols=2, **below(ax, 34))
    return ax


def _write_names(names: pd.DataFrame) -> list[str]:
    """Write names of pairs of labels, labels, features, or features with labels."""
    parts = [list(names[column]) for column in names]
    if len(parts) == 1:
        return wrap_names(parts[0], _NAME_LENGTH, 1)
    between = " – " if "first" in names else " → "
    return join_names(parts[0], parts[1], between, _PAIR_LENGTH)


def _say_kind(table: pd.DataFrame) -> str:
    """Say what the estimates of a table are, as far as it tells."""
    if "first" in table:
        return "interaction"
    kinds = table["measure"].unique() if "measure" in table else ["estimate"]
    return ", ".join(str(kind).replace("_", " ") for kind in kinds)


def _draw_intervals(
    ax: Axes,
    estimate: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    colour: npt.NDArray[np.str_],
) -> Entries:
    """Draw estimates at 0, 1, … with their intervals; infinite limits are arrows to the edge."""
    n = len(estimate)
    place = np.arange(n)
    finite = _on_scale(estimate)
    has_limits = ~(np.isnan(lower) | np.isnan(upper))
    clear = leaves_out_zero(lower, upper)
    # Where nothing has an interval, there is nothing to tell apart.
    without = ~has_limits & has_limits.any()
    open_marks = has_limits & ~clear
    for kind, face in ((~open_marks & ~without, colour), (open_marks, np.full(n, "white"))):
        at = finite & kind
        ax.scatter(
            estimate[at], place[at], facecolor=face[at], edgecolor=colour[at], s=26, zorder=3
        )
    crosses = finite & without
    ax.scatter(estimate[crosses], place[crosses], c=colour[crosses], marker="x", s=24, zorder=3)
    entries: Entries = [
        (_mark(RAISES), "interval leaves out zero"),
        (_mark("white"), "interval covers zero"),
    ]
    grey = colour == UNTESTED
    for there, shade, words in (
        (crosses & ~grey, RAISES, "no interval"),
        (grey, UNTESTED, "cannot be estimated: separated in draws"),
    ):
        if there.any():
            cross = Line2D([], [], linestyle="none", marker="x", color=shade, markersize=5.5)
            entries.append((cross, words))
    # The scale is that of what is finite; what is not goes to its edges.
    ends = np.concatenate([estimate, lower, upper])
    known = ends[np.abs(ends) <= _farthest(estimate)]
    low, high = (known.min(), known.max()) if len(known) else (-1.0, 1.0)
    edge = 0.05 * (high - low) or 1.0
    low, high = low - edge, high + edge
    ax.set(xlim=(low, high), ylim=(n - 0.4, -0.6))
    left, right = np.maximum(lower, low)[has_limits], np.minimum(upper, high)[has_limits]
    ax.hlines(place[has_limits], left, right, color=colour[has_limits], linewidth=1.6)
    for endless, end, arrow in (
        (has_limits & (lower < low), low, "<"),
        (has_limits & (upper > high), high, ">"),
    ):
        at = np.full(endless.sum(), end)
        ax.scatter(at, place[endless], marker=arrow, color=colour[endless], s=34, clip_on=False)
    beyond = np.concatenate([lower[has_limits & (lower < low)], upper[has_limits & (upper > high)]])
    if len(beyond):
        arrow_head = Line2D([], [], color=RAISES, marker=">", markersize=5.5)
        words = "infinite" if np.isinf(beyond).all() else "beyond the scale"
        entries.append((arrow_head, f"limit is {words}"))
    return entries


def _farthest(estimate: FloatArray) -> float:
    """Return how far from zero the scale may reach: huge estimates and limits do not set it."""
    size = np.abs(estimate[np.isfinite(estimate)])
    return max(HUGE, 10 * float(np.median(size)) if len(size) else 0.0)


def _on_scale(estimate: FloatArray) -> BoolArray:
    """Mark estimates that have a place on the scale."""
    return np.asarray(np.abs(estimate) <= _farthest(estimate))


def _say_endless(
    ax: Axes, at: int, estimate: float, lower: float, upper: float, size: float
) -> None:
    """Say that an estimate is infinite or not known, at the finite end of its interval."""
    said = "not known"
    if not np.isnan(estimate):
        number = "∞" if np.isinf(estimate) else f"{abs(estimate):.3g}"
        said = f"{'+' if estimate > 0 else '−'}{number}"
    x, side = 0.0, "left"
    low, high = ax.get_xlim()
    if low < lower < high:
        x, side = lower, "right"
    elif low < upper < high:
        x = upper
    write(ax, x, at, f" {said} ", fontsize=size, color=OPEN, va="center", ha=side)


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
        table = table[leaves_out_zero(table["lower"], table["upper"])]
    if not len(table):
        raise exc.DataError(
            "nothing is left to draw: no interval leaves out zero. Draw all with clear=False."
        )
    return table


def plot_centrality(
    table: pd.DataFrame,
    *,
    measures: Sequence[str] | None = None,
    axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
) -> npt.NDArray[np.object_]:
    """Draw how central labels are, one panel per measure, with intervals where there are any.

    Parameters
    ----------
    table : DataFrame
        What `IsingResults.centrality` or `NetworkBootstrap.centrality` gives.
    measures : sequence of str, optional
        Which measures; all of the table if omitted.
    axes : sequence of Axes, optional
        Where to draw, one per measure; a new figure if omitted.

    Returns
    -------
    ndarray of Axes
        The pictures. Labels stand in the order of the first measure in all of them; names stand
        at the left ones alone if the figure is new. Marks are those of `plot_intervals`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_centrality
    >>> from matplotlib.figure import Figure
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> axes = plot_centrality(res.centrality(), measures=["strength"], axes=[Figure().subplots()])
    >>> axes[0].get_title()
    'strength'
    """
    if not {"measure", "label", "value", "lower", "upper"} <= set(table):
        raise exc.DataError(
            f"table must be that of centrality(), but has the columns {exc.shorten(table.columns)}."
        )
    known = list(dict.fromkeys(table["measure"]))
    wanted = known if measures is None else [measures] if isinstance(measures, str) else measures
    strange = [name for name in wanted if name not in known]
    if strange or not len(wanted):
        raise exc.DataError(
            f"measures must be among {exc.shorten(known, 10)}, but are {list(wanted)!r}."
        )
    first = table[table["measure"] == wanted[0]].set_index("label")["value"]
    order = first.sort_values(ascending=False, kind="stable", na_position="last").index
    n = len(order)
    if axes is None and len(wanted) == 1:
        panels = [make_axes(None, 6.0, 1.4 + 0.24 * n)]
    else:
        panels = make_panels(axes, len(wanted), "measure")
    names = wrap_names(list(order), _SHORT_LENGTH, 1)
    for ax, measure in zip(panels, wanted, strict=True):
        own = table[table["measure"] == measure].set_index("label").loc[order]
        value, lower, upper = (
            own[name].to_numpy(dtype=float) for name in ("value", "lower", "upper")
        )
        ax.set_title(str(measure).replace("_", " "), fontsize=TITLE_SIZE, parse_math=False)
        drawn = np.where(np.isfinite(value), value, np.nan)
        _draw_intervals(ax, drawn, lower, upper, np.full(n, RAISES))
        if ax.get_xlim()[0] < 0 < ax.get_xlim()[1]:
            ax.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
        ax.grid(axis="y", color=FAINT, linewidth=0.3)
        ax.tick_params(axis="x", labelsize=SMALL_SIZE)
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.set_xlabel(_say_unsure(own), fontsize=SMALL_SIZE)
    _name_panels(panels, names, once=axes is None)
    return np.array(panels, dtype=object)


def _say_unsure(table: pd.DataFrame) -> str:
    """Say of how many labels the interval of a sum of absolute values is too narrow."""
    unsure = int((table["reason"] == Reason.UNSURE_SIGNS).sum()) if "reason" in table else 0
    return f"{unsure} of {len(table)} intervals too narrow: unsure signs" if unsure else ""


def _name_panels(panels: Sequence[Axes], names: Sequence[str], *, once: bool) -> None:
    """Name the rows of panels, all together; the first of those side by side alone if once."""
    # Names take room from the panels, so these are measured with names of about the right size.
    for _ in range(2):
        settle(panels[0])
        room = min(size_in_points(ax)[1] for ax in panels) / max(len(names), 1)
        for ax in panels:
            spec = ax.get_subplotspec()
            is_first = not once or spec is None or spec.is_first_col()
            label_ticks(ax.set_yticks, names if is_first else [""] * len(names), room)


def _mark(face: str) -> Line2D:
    """Return a mark for the legend."""
    return Line2D(
        [], [], linestyle="-", marker="o", color=RAISES, markerfacecolor=face, markersize=5.5
    )
