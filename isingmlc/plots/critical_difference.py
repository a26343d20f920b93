"""Critical-difference diagrams: average ranks, and which methods cannot be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from isingmlc.base.arguments import check_number, check_option
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.compare import POSTHOC_TESTS, critical_difference
from isingmlc.plots.canvas import measure
from isingmlc.plots.style import (
    FAINT,
    INK,
    RAISES,
    font_for,
    make_axes,
    set_title,
    settle,
    size_in_points,
    wrap_names,
    write,
)

if TYPE_CHECKING:
    from isingmlc.compare import CompareResult

# Heights in lines of text: above the axis the critical difference and the ticks, below it bars,
# then names, then what bars mean.
_DIFFERENCE, _TICKS, _GAP, _BAR, _WORDS = 1.5, 1.3, 0.7, 0.5, 1.3
# Bars on one level are this share of the axis apart at least.
_APART = 0.04
# Names are cut until the axis has this share of the width.
_AXIS_SHARE = 0.33
_LENGTHS = (60, 30, 24, 18, 14, 11, 8)


def draw_critical_difference(
    result: CompareResult, alpha: float = 0.05, ax: Axes | None = None, test: str = "nemenyi"
) -> Axes:
    """Draw average ranks; `CompareResult.plot_critical_difference` explains the arguments."""
    alpha = check_number("alpha", alpha, above=0, below=1)
    check_option("test", test, POSTHOC_TESTS)
    n_methods, n_datasets = len(result.methods), len(result.datasets)
    ranks = result.ranks.sort_values(kind="stable")
    width = critical_difference(n_methods, n_datasets, alpha) if test == "nemenyi" else None
    values = ranks.to_numpy()
    alike = (
        np.abs(values[:, None] - values) < width
        if width is not None
        else result.posthoc.loc[ranks.index, ranks.index].to_numpy() > alpha
    )
    groups = _groups(alike)
    levels = _levels(values, groups)
    n_left = -(-n_methods // 2)
    below = _GAP + _BAR * (max(levels, default=-1) + 1) + 0.6
    above = _TICKS + (_DIFFERENCE if width is not None else 0.0)
    height = above + below + n_left + _WORDS

    ax = make_axes(ax, 7.5, 0.9 + 0.2 * height)
    ax.set_axis_off()
    set_title(ax, f"Average ranks of {n_methods} methods on {n_datasets} data sets")
    settle(ax)
    size = font_for(size_in_points(ax)[1] / height)
    names, unit, margins = _fit(ax, list(ranks.index), values, n_left, size)
    ax.set_xlim(1 - margins[0] / unit, n_methods + margins[1] / unit)
    bottom = -below - n_left - _WORDS
    ax.set_ylim(bottom, above)

    _draw_axis(ax, n_methods, unit, size)
    if width is not None:
        _draw_difference(ax, width, n_methods, _TICKS + 0.3, size)
    # A bar ends a little beyond the ranks that it covers.
    end = 0.4 * measure(ax, ["n"], size)[0, 0] / unit
    for (first, last), level in zip(groups, levels, strict=True):
        y = -_GAP - _BAR * level
        ax.plot(
            [values[first] - end, values[last] + end],
            [y, y],
            color=RAISES,
            linewidth=0.35 * size,
            solid_capstyle="round",
            zorder=3,
        )
    for at, (name, rank) in enumerate(zip(names, values, strict=True)):
        is_left = at < n_left
        # The outermost method has the first row, so that no lines cross.
        y = -below - 0.5 - (at if is_left else n_methods - 1 - at)
        outside = 1 - 2 * end if is_left else n_methods + 2 * end
        ax.plot([rank, rank, outside], [0, y, y], color=INK, linewidth=0.8, zorder=2)
        side = "right" if is_left else "left"
        x = outside - end if is_left else outside + end
        write(ax, x, y, name, fontsize=size, color=INK, ha=side, va="center")
    words = f"bars join methods that do not differ at {alpha:g} ({test.capitalize()})"
    middle = sum(ax.get_xlim()) / 2
    write(ax, middle, bottom, words, fontsize=size, color=FAINT, ha="center", va="bottom")
    return ax


def _groups(alike: BoolArray) -> list[tuple[int, int]]:
    """Give first and last of the largest runs of methods, sorted by rank, that are all alike."""
    runs: list[tuple[int, int]] = []
    for first, row in enumerate(alike):
        last = first + int(np.argmin(np.append(row[first:], False))) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def _levels(ranks: FloatArray, groups: list[tuple[int, int]]) -> list[int]:
    """Give each bar the first level at which it is clear of the bars before it."""
    apart = _APART * (len(ranks) - 1)
    ends: list[float] = []
    levels = []
    for first, last in groups:
        free = [at for at, end in enumerate(ends) if end + apart < ranks[first]]
        level = free[0] if free else len(ends)
        ends[level : level + 1] = [ranks[last]]
        levels.append(level)
    return levels


def _fit(
    ax: Axes, methods: list[str], ranks: FloatArray, n_left: int, size: float
) -> tuple[list[str], float, tuple[float, float]]:
    """Give names with ranks, pixels per rank, and pixels for the names on either side."""
    width = ax.get_window_extent().width
    gap = 1.6 * measure(ax, ["n"], size)[0, 0]
    for length in _LENGTHS:
        names = [
            f"{rank:.2f}  {name}" if at >= n_left else f"{name}  {rank:.2f}"
            for at, (name, rank) in enumerate(
                zip(wrap_names(methods, length, 1), ranks, strict=True)
            )
        ]
        widths = measure(ax, names, size)[:, 0] + gap
        margins = float(widths[:n_left].max()), float(widths[n_left:].max())
        room = width - sum(margins)
        if room >= _AXIS_SHARE * width:
            break
    return names, max(room, _AXIS_SHARE * width / 2) / (len(methods) - 1), margins


def _draw_axis(ax: Axes, n_methods: int, unit: float, size: float) -> None:
    """Draw the axis of ranks with as many numbers as fit."""
    ax.plot([1, n_methods], [0, 0], color=INK, linewidth=1.0, zorder=2)
    widest = measure(ax, [f" {n_methods} "], size)[0, 0]
    step = max(1, int(np.ceil(widest / unit)))
    for rank in range(1, n_methods + 1, step):
        ax.plot([rank, rank], [0, 0.25], color=INK, linewidth=1.0, zorder=2)
        write(ax, rank, 0.4, f"{rank}", fontsize=size, color=FAINT, ha="center", va="bottom")


def _draw_difference(ax: Axes, width: float, n_methods: int, y: float, size: float) -> None:
    """Draw the critical difference as a bar with its length beside it."""
    fits = width <= n_methods - 1
    last = 1 + width if fits else n_methods
    ax.plot([1, last], [y, y], color=INK, linewidth=1.4)
    for x in (1, last) if fits else (1,):
        ax.plot([x, x], [y - 0.2, y + 0.2], color=INK, linewidth=1.4)
    words = f"critical difference {width:.2f}" + ("" if fits else ", longer than the axis")
    write(ax, 1, y + 0.3, words, fontsize=size, color=INK, ha="left", va="bottom")
