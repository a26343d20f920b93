"""Heat maps of all edges: features × labels, darker for smaller p-values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator
from scipy.spatial.distance import pdist

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray, best_first
from isingmlc.plots.canvas import measure
from isingmlc.plots.evidence import describe_level, find_significant
from isingmlc.plots.layout import cluster_order
from isingmlc.plots.style import (
    INK,
    PAPER,
    SMALL_SIZE,
    TEXT_SIZE,
    UNTESTED,
    Entries,
    add_legend,
    below,
    label_ticks,
    make_axes,
    set_title,
    settle,
    size_in_points,
    wrap_names,
)
from isingmlc.summaries import TEST_NAMES

if TYPE_CHECKING:
    from isingmlc.results.edge_tests import EdgeTests

ORDERS = ("rank", "cluster", "given")
# White to dark blue, lightness falling evenly.
COLORS = LinearSegmentedColormap.from_list(
    "isingmlc", ["#FFFFFF", "#CFE1F2", "#7FB2D9", "#2F7FBC", "#08519C", "#062A54"]
)
_NAME_LENGTH = 26
# How many features are drawn unless more are asked for.
_TOP = 40
# Points that a row needs for its name to be read.
_LEGIBLE = 8.0


def plot_heatmap(
    edges: EdgeTests,
    *,
    order: str = "rank",
    top: int = _TOP,
    alpha: float = 0.05,
    adjust: str | None = "fdr_bh",
    ax: Axes | None = None,
) -> Axes:
    """Draw the p-values of all edges; `EdgeTests.plot_heatmap` explains the arguments.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_heatmap
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> plot_heatmap(edges, top=5, ax=Figure().subplots()).get_title()
    'Score tests of the 5 most important of 30 features'
    """
    check_option("order", order, ORDERS)
    top = min(check_count("top", top, 1), len(edges.feature_names))
    significant = find_significant(edges, alpha, adjust)
    rows, columns = _order(edges, order, top)
    at = np.ix_(rows, columns)
    depth = -edges.log10_pvalues.to_numpy()[at]
    sign = np.where(significant, edges.signs, np.nan)[at]
    n_rows, n_columns = depth.shape

    longest = min(max(len(label) for label in edges.label_names), _NAME_LENGTH)
    width = 3.4 + n_columns * np.clip(3 / n_columns, 0.22, 0.55)
    ax = make_axes(ax, width, 1.2 + 0.08 * longest + 0.19 * max(n_rows, 7))
    chosen = "first" if order == "given" else "most important"
    of = f" {chosen} of {len(edges.feature_names)}" if top < len(edges.feature_names) else ""
    what = "products of the" if edges.products == "given-joint" else "the"
    title = f"{TEST_NAMES[edges.test]} tests of {what} {top}{of} features"
    set_title(ax, title, edges.adjusted_for)
    largest = max(np.nan_to_num(depth).max(), 1.0)
    # Square roots: else one edge far beyond the others would leave them all white.
    image = ax.imshow(
        np.ma.masked_invalid(depth), COLORS, PowerNorm(0.5, 0.0, largest), aspect="auto"
    )
    ax.set_xlim(-0.5, n_columns - 0.5)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6 if n_rows > 15 else 1.0, aspect=25, pad=0.02)
    bar.locator = MaxNLocator(6)
    bar.set_label("−log10 p", fontsize=SMALL_SIZE)
    bar.ax.tick_params(labelsize=SMALL_SIZE)
    _name(
        ax,
        [edges.feature_names[row] for row in rows],
        [edges.label_names[column] for column in columns],
    )
    settle(ax)
    _warn_of_small_rows(ax, n_rows)
    level = describe_level("≤", alpha, adjust)
    entries = _mark(ax, sign, np.sqrt(depth / largest) > 0.55, level, edges.undirected)
    entries += _hatch(ax, edges.reasons.to_numpy()[at], np.isnan(depth))
    columns_fit = 2 if n_columns > 10 else 1
    add_legend(ax, entries, loc="upper center", ncols=columns_fit, **below(ax, 2))
    return ax


def _warn_of_small_rows(ax: Axes, n_rows: int) -> None:
    """Say how names become legible where they are too small."""
    room = size_in_points(ax)[1] / n_rows
    if n_rows > _TOP and room < _LEGIBLE:
        wanted = ax.get_figure(root=True).get_figheight() * _LEGIBLE / room  # type: ignore[union-attr]
        exc.warn(
            f"the {n_rows} features of the heat map have {room:.1f} points each, and their names "
            f"are too small to read on a page. Draw fewer, e.g. top={_TOP}, or on axes of a figure "
            f"of {wanted:.0f} inches: fig, ax = pyplot.subplots(figsize=(8, {wanted:.0f}), "
            "layout='constrained').",
            exc.DataWarning,
        )


def _order(
    edges: EdgeTests, order: str, top: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Choose and order features and labels."""
    columns = np.arange(len(edges.label_names))
    if order == "given":
        return np.arange(top), columns
    rows = best_first(edges.importance.to_numpy())[:top]
    if order == "rank":
        return rows, columns
    # Signed roots of the statistics: what a feature does to each label, on the scale of z.
    effect = np.nan_to_num(np.sqrt(edges.statistics.to_numpy()) * edges.signs.to_numpy())[rows]
    return rows[cluster_order(pdist(effect))], cluster_order(pdist(effect.T))


def _mark(ax: Axes, sign: FloatArray, dark: BoolArray, level: str, undirected: str) -> Entries:
    """Mark significant edges with the direction of the effect, light on dark cells."""
    width, height = size_in_points(ax)
    cell = min(width / sign.shape[1], height / sign.shape[0])
    size = np.clip(0.4 * cell, 1.5, 5.5)
    entries: Entries = []
    for value, shape, meaning in (
        (1, "^", "goes with"),
        (-1, "v", "goes against"),
        (0, "s", undirected),
    ):
        for where, color in ((dark, PAPER), (~dark, INK)):
            rows, columns = np.nonzero((sign == value) & where)
            style: dict[str, Any] = {"linestyle": "none", "color": color, "markeredgewidth": 0.0}
            ax.plot(columns, rows, marker=shape, markersize=size, **style)
        if (sign == value).any():
            sample = Line2D([], [], marker=shape, color=INK, linestyle="none", markersize=5)
            entries.append((sample, f"{meaning} the label ({level})"))
    return entries


def _hatch(ax: Axes, reason: StrArray, untested: BoolArray) -> Entries:
    """Hatch the edges that could not be tested."""
    if not untested.any():
        return []
    gray: dict[str, Any] = {"facecolor": "#EFEFEF", "edgecolor": UNTESTED, "hatch": "////"}
    for row, column in np.argwhere(untested):
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, linewidth=0.0, **gray))
    listed = ", ".join(dict.fromkeys(reason[untested]))
    return [(Patch(**gray, linewidth=0.0), f"not tested: {listed}")]


def _name(ax: Axes, features: list[str], labels: list[str]) -> None:
    """Name rows and columns; columns above, upright where their names are wider than they are."""
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    upright = {"rotation": 90, "va": "bottom", "ha": "center"}
    rows = wrap_names(features, _NAME_LENGTH, 1)
    columns = wrap_names(labels, _NAME_LENGTH, 1)
    # Names take room from the cells, so cells are measured with names of about the right size.
    for _ in range(2):
        settle(ax)
        width, height = size_in_points(ax)
        column = width / len(labels)
        label_ticks(ax.set_yticks, rows, height / len(features))
        level = wrap_names(labels, 12, 2)
        fits = measure(ax, level, TEXT_SIZE)[:, 0].max() * 72 / ax.figure.dpi < 0.95 * column
        if fits:
            label_ticks(ax.set_xticks, level, 2 * TEXT_SIZE)
        else:
            label_ticks(ax.set_xticks, columns, column, **upright)
