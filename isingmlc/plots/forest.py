"""Odds ratios with their intervals: a forest plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_names, check_number
from isingmlc.base.arrays import FloatArray
from isingmlc.base.printing import say_given
from isingmlc.inference.effects import BY_LEVEL
from isingmlc.plots.style import (
    FAINT,
    INK,
    OPEN,
    RAISES,
    SMALL_SIZE,
    Entries,
    add_legend,
    below,
    check_feature,
    font_for,
    join_names,
    label_bars,
    make_axes,
    set_title,
    wrap_names,
    write,
)

if TYPE_CHECKING:
    from isingmlc.results.edge_tests import EdgeTests

_NAME_LENGTH = 40
_PAIR_LENGTH = 50
# Intervals that reach further than this many times their neighbours' are cut, with an arrow.
_FAR = 50.0


def plot_forest(
    edges: EdgeTests,
    *,
    label: str | None = None,
    feature: str | None = None,
    beside: EdgeTests | None = None,
    top: int = 20,
    per: str = "unit",
    conf_int: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw odds ratios with their intervals; see `EdgeTests.plot_forest`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from matplotlib.figure import Figure
    >>> from isingmlc.plots import plot_forest
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> plot_forest(edges, label="diabetes", top=5, ax=Figure().subplots()).get_title()
    'diabetes: odds ratios of the 5 strongest of 30 features'
    """
    top = check_count("top", top, 1)
    level = check_number("conf_int", conf_int, above=0, below=1)
    if label is not None and feature is not None:
        raise exc.DataError("label and feature exclude each other: one forest is of either.")
    if label is not None:
        check_names("label", [label], edges.label_names, what="one of the labels")
    if feature is not None:
        edges = edges.take([check_feature(feature, edges.feature_names)])
    strongest = _choose(edges, label, top)
    options = {"exponentiate": True, "conf_int": level, "per": per}
    shown = _fitted(edges, strongest, options)
    other = None if beside is None else _fitted(beside, strongest, options)
    n, n_tests, total = len(shown), len(strongest), _count(edges, label)
    ax = make_axes(ax, 8.0, 1.7 + (0.27 if n <= 25 else 0.18) * n * (1.0 if other is None else 1.4))
    some = f"{total}" if n_tests == total else f"the {n_tests} strongest of {total}"
    if label is not None:
        title = f"{label}: odds ratios of {some} features"
    elif feature is not None:
        title = f"{feature}: odds ratios for {some} labels"
    else:
        title = f"Odds ratios of {some} edges"
    set_title(ax, title, edges.adjusted_for if beside is None else ())
    _draw(ax, shown, other, _name(shown, label, feature), per)
    if other is not None and beside is not None:
        entries: Entries = [
            (_mark(RAISES, "o", RAISES), say_given(edges.adjusted_for, 50) or "not adjusted"),
            (_mark(OPEN, "s", "white"), say_given(beside.adjusted_for, 50) or "not adjusted"),
        ]
        add_legend(ax, entries, loc="upper center", ncols=2, **below(ax, 40))
    return ax


def _name(shown: pd.DataFrame, label: str | None, feature: str | None) -> list[str]:
    """Name the edges by what is not in the title."""
    if label is None and (feature is None or "term" in shown):
        return join_names(list(shown["feature"]), list(shown["label"]), " → ", _PAIR_LENGTH)
    return wrap_names(list(shown["feature" if feature is None else "label"]), _NAME_LENGTH, 1)


def _count(edges: EdgeTests, label: str | None) -> int:
    statistics = edges.statistics if label is None else edges.statistics[[label]]
    return int(statistics.notna().to_numpy().sum())


def _choose(edges: EdgeTests, label: str | None, top: int) -> pd.DataFrame:
    """Choose the edges with the smallest p-values."""
    frame = _without_products(edges.to_frame(None))
    frame = frame[frame["statistic"].notna() & (label is None or frame["label"] == label)]
    if frame.empty:
        raise exc.DataError("no edge was tested, so there is nothing to draw.")
    return frame.nsmallest(top, "log10p", keep="first")[["feature", "label"]]


def _fitted(edges: EdgeTests, chosen: pd.DataFrame, options: dict[str, object]) -> pd.DataFrame:
    """Return effects of edges, fitted where there are rows."""
    features = list(dict.fromkeys(chosen["feature"]))
    check_names("beside", features, edges.feature_names)
    some = edges.take(features)
    # As many rows as there are: products given features have tests too.
    refit = some.arrays.statistic.size * (1 if some.products is None else 1 + len(some.label_names))
    frame = _without_products(some.to_frame(None, **options, refit=refit))  # type: ignore[arg-type]
    if "term" not in frame:
        return pd.DataFrame(chosen.merge(frame, how="left", on=["feature", "label"]))
    # The effects of a category are those of its levels.
    found = chosen.rename(columns={"feature": "term"}).merge(
        frame, how="left", on=["term", "label"]
    )
    return found[found["estimate"] != BY_LEVEL].reset_index(drop=True)


def _without_products(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the effects of features, of which products are no part."""
    return frame if "with" not in frame else frame[frame["with"] == ""].drop(columns="with")


def _draw(
    ax: Axes, shown: pd.DataFrame, other: pd.DataFrame | None, names: list[str], per: str
) -> None:
    n = len(shown)
    place = np.arange(n, dtype=np.float64)
    ax.set_xscale("log")
    ax.axvline(1.0, color=FAINT, linewidth=0.8, zorder=0)
    low, high = _limits([shown] if other is None else [shown, other])
    ax.set(xlim=(low, high), ylim=(n - 0.4, -0.6))
    apart = 0.0 if other is None else 0.17
    _draw_intervals(ax, shown, place - apart, RAISES, "o", RAISES)
    if other is not None:
        _draw_intervals(ax, other, place + apart, OPEN, "s", "white")
    unit = "one standard deviation" if per == "sd" else "one unit"
    room = label_bars(ax, f"odds ratio for {unit}", names)
    ax.xaxis.set_major_locator(FixedLocator(_ticks(low, high)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    size = min(font_for(room), SMALL_SIZE)
    # Beyond the right end, in a column of its own that the layout makes room for.
    across = ax.get_yaxis_transform()
    style = {"transform": across, "clip_on": False, "color": INK}
    for at, row in enumerate(shown.itertuples()):
        said = write(ax, 1.02, at, _say(row), fontsize=size, va="center", **style)
        said.set_in_layout(True)


def _say(row: object) -> str:
    ratio, lower, upper = (getattr(row, name) for name in ("odds_ratio", "lower", "upper"))
    if np.isnan(ratio):
        return "not known"
    if np.isinf(ratio) or ratio == 0:
        end = f"from {_short(lower)}" if ratio else f"up to {_short(upper)}"
        known = "" if np.isnan(lower if ratio else upper) else f"{end}, "
        return f"{'∞' if ratio else '0'} ({known}separated)"
    step = "" if getattr(row, "estimate", "") == "fitted" else " *"
    return f"{_short(ratio)} ({_short(lower)} to {_short(upper)}){step}"


def _short(value: float) -> str:
    return f"{value:.2f}" if 0.01 <= value < 100 else f"{value:.2g}"


def _limits(frames: list[pd.DataFrame]) -> tuple[float, float]:
    """Return the ends of the axis; one is on it, and no interval takes all of it."""
    ends, points = (
        np.concatenate([frame[names].to_numpy(dtype=np.float64).ravel() for frame in frames])
        for names in (["lower", "upper"], ["odds_ratio"])
    )
    # Ratios of zero and infinity have no place on the axis.
    ends, points = (
        np.append(np.log(values[np.isfinite(values) & (values > 0)]), 0.0)
        for values in (ends, points)
    )
    low = max(ends.min(), points.min() - np.log(_FAR))
    high = min(ends.max(), points.max() + np.log(_FAR))
    edge = max(0.04 * (high - low), 0.01)
    return float(np.exp(low - edge)), float(np.exp(high + edge))


def _ticks(low: float, high: float) -> list[float]:
    """Choose round odds ratios along the axis, one among them."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ([1.0], [1.0, 2.0, 5.0], [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]):
        ticks = np.outer(powers, steps).ravel()
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) >= 4:
            return [float(tick) for tick in ticks]
    ticks = np.asarray(MaxNLocator(6).tick_values(low, high))
    ticks[np.argmin(np.abs(ticks - 1.0))] = 1.0
    return [float(tick) for tick in ticks if low <= tick <= high]


def _draw_intervals(
    ax: Axes, frame: pd.DataFrame, place: FloatArray, colour: str, marker: str, face: str
) -> None:
    ratio, lower, upper = (
        frame[name].to_numpy(dtype=np.float64) for name in ("odds_ratio", "lower", "upper")
    )
    known = ~np.isnan(lower) & ~np.isnan(upper)
    is_finite = known & np.isfinite(ratio) & (ratio > 0)
    low, high = ax.get_xlim()
    ax.hlines(
        place[known],
        np.maximum(lower[known], low),
        np.minimum(upper[known], high),
        color=colour,
        linewidth=1.5,
    )
    for beyond, end, arrow in (
        (known & (lower < low), low, "<"),
        (known & (upper > high), high, ">"),
    ):
        ax.scatter(np.full(beyond.sum(), end), place[beyond], marker=arrow, color=colour, s=22)
    ax.scatter(
        ratio[is_finite],
        place[is_finite],
        marker=marker,
        s=26,
        facecolor=face,
        edgecolor=colour,
        zorder=3,
    )


def _mark(edge: str, marker: str, face: str) -> Line2D:
    return Line2D(
        [], [], linestyle="-", marker=marker, color=edge, markerfacecolor=face, markersize=5.5
    )
