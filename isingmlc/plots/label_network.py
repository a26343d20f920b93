"""The network of the labels alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.plots.canvas import find_room, legend_band
from isingmlc.plots.layout import LAYOUTS, place_labels
from isingmlc.plots.style import FAINT, PAPER, make_axes, set_title, settle
from isingmlc.plots.ties import choose_ties

# Diameters of nodes in points, for labels that never and that always occur alone.
_SMALL, _LARGE = 5.0, 13.0


def plot_label_network(
    interactions: pd.DataFrame,
    thresholds: pd.Series | None = None,
    *,
    threshold: float = 0.0,
    layout: str = "circle",
    ax: Axes | None = None,
) -> Axes:
    """Draw a network of labels from its parameters.

    Parameters
    ----------
    interactions : DataFrame, shape (K, K)
        Symmetric interactions with the names of the labels; NaN where the data say nothing.
    thresholds : Series, optional
        Thresholds of the labels. The more likely a label is when no other label is present, the
        larger its node.
    threshold, layout, ax
        As `IsingResults.plot_label_network` takes them.

    Returns
    -------
    Axes
        The picture. Lines are wider and darker for stronger interactions. Solid blue ones join
        labels that attract each other, broken orange ones labels that repel each other; infinite
        interactions, of labels that are separated, are dotted and all of one width.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_label_network
    >>> from matplotlib.figure import Figure
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> ax = plot_label_network(res.interactions, threshold=0.3, ax=Figure().subplots())
    >>> ax.get_title()
    'Interactions of 6 labels (9 of 15 pairs above 0.3)'
    """
    check_option("layout", layout, LAYOUTS)
    if list(interactions.index) != list(interactions.columns):
        raise exc.DataError(
            "interactions must have the same labels in rows and columns, but its shape is "
            f"{interactions.shape} and its names differ. Pass results.interactions."
        )
    labels = [str(name) for name in interactions.columns]
    weights = interactions.to_numpy(dtype=np.float64)
    ties = choose_ties(weights, threshold)

    ax = make_axes(ax, 7.0, 5.8)
    ax.set_axis_off()
    pairs = len(labels) * (len(labels) - 1) // 2
    above = f" above {threshold:g}" if threshold > 0 else ""
    set_title(
        ax, f"Interactions of {len(labels)} labels ({len(ties.weight)} of {pairs} pairs{above})"
    )
    settle(ax)
    entries = ties.legend()
    if thresholds is not None:
        entries.append((_node(8.0), "the larger, the likelier alone"))
    band = legend_band(ax, entries, "lower center")
    room = find_room(
        [ax],
        labels,
        place_labels(weights, layout),
        band=band,
        suffixes=[[""] * len(labels)],
        centre=np.zeros(2),
        on_circle=layout != "spring",
    )
    room.frame(ax, band)
    ties.draw(ax, room.nodes, curved=False)
    room.write_names(ax, [False] * len(labels), [""] * len(labels))
    sizes = np.full(len(labels), 8.0) if thresholds is None else _sizes(thresholds, labels)
    for node, size in zip(room.nodes, sizes, strict=True):
        mark = _node(size)
        mark.set_data(*node[:, None])
        ax.add_line(mark)
    return ax


def _node(size: float) -> Line2D:
    """Give a node; it is placed later, or stands in the legend."""
    node = Line2D([], [], linestyle="none", marker="o", markersize=size, color=FAINT, zorder=4)
    node.set(markeredgecolor=PAPER, markeredgewidth=1.0)
    return node


def _sizes(thresholds: pd.Series, labels: list[str]) -> FloatArray:
    """Give diameters such that areas grow with the probability of a label alone."""
    alone = 1 / (1 + np.exp(-thresholds.reindex(labels).to_numpy(dtype=np.float64)))
    return np.asarray(np.sqrt(_SMALL**2 + (_LARGE**2 - _SMALL**2) * np.nan_to_num(alone)))
