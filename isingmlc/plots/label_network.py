"""The network of the labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.plots.canvas import find_room, legend_band
from isingmlc.plots.layout import LAYOUTS, place_labels
from isingmlc.plots.style import FAINT, PAPER, make_axes, make_panels, set_title, settle
from isingmlc.plots.ties import Ties, choose_ties

if TYPE_CHECKING:
    from isingmlc.results.network_at import NetworkAt

# Diameters of nodes in points, for labels that never and that always occur alone.
_SMALL, _LARGE = 5.0, 13.0


def plot_label_network(
    interactions: pd.DataFrame,
    thresholds: pd.Series | None = None,
    *,
    threshold: float = 0.0,
    layout: str = "circle",
    adjusted_for: Sequence[str] = (),
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
    adjusted_for : sequence of str
        The covariates that interactions are given, for the title.

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
    pairs = len(labels) * (len(labels) - 1) // 2
    above = f" above {threshold:g}" if threshold > 0 else ""
    title = f"Interactions of {len(labels)} labels ({len(ties.weight)} of {pairs} pairs{above})"
    sizes = None if thresholds is None else _sizes(thresholds, labels)
    places = place_labels(weights, layout)
    ax = make_axes(ax, 7.0, 5.8)
    ax.set_axis_off()
    set_title(ax, title, adjusted_for)
    _draw(ax, labels, ties, places, sizes, on_circle=layout != "spring")
    return ax


def plot_networks_at(
    networks: Sequence[NetworkAt],
    *,
    threshold: float = 0.0,
    layout: str = "circle",
    axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
) -> npt.NDArray[np.object_]:
    """Draw networks at several values side by side; `IsingResults.plot_at` explains the rest.

    Lines of the same width are interactions of the same size in all of them, and labels stand in
    the same places.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_networks_at
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, covariates=data.features[["age"]]).fit()
    >>> networks = [res.at({"age": age}) for age in (30, 70)]
    >>> axes = plot_networks_at(networks, axes=Figure().subplots(1, 2))
    >>> [ax.get_title() for ax in axes]
    ['age = 30', 'age = 70']
    """
    check_option("layout", layout, LAYOUTS)
    weights = [network.interactions.to_numpy() for network in networks]
    ties = [choose_ties(each, threshold) for each in weights]
    labels = list(networks[0].label_names)
    places = place_labels(np.mean([np.nan_to_num(each) for each in weights], axis=0), layout)
    largest = max(each.largest for each in ties)
    panels = make_panels(axes, len(networks), "value")
    before = f"Interactions of {len(labels)} labels at " if len(networks) == 1 else ""
    for ax, network in zip(panels, networks, strict=True):
        ax.set_axis_off()
        set_title(ax, before + network.described, network.at_means)
    for ax, network, drawn in zip(panels, networks, ties, strict=True):
        sizes = _sizes(network.thresholds, labels)
        on_circle = layout != "spring"
        _draw(ax, labels, drawn, places, sizes, on_circle=on_circle, largest=largest)
    return np.array(panels, dtype=object)


def _draw(
    ax: Axes,
    labels: list[str],
    ties: Ties,
    places: FloatArray,
    sizes: FloatArray | None,
    *,
    on_circle: bool,
    largest: float | None = None,
) -> None:
    """Draw labels at their places, their ties and the legend."""
    settle(ax)
    entries = ties.legend()
    if sizes is not None:
        entries.append((_node(8.0), "the larger, the likelier alone"))
    if largest is not None:
        entries.append((Line2D([], [], linestyle="none"), f"widest line: {largest:.2f}"))
    band = legend_band(ax, entries, "lower center")
    room = find_room(
        [ax],
        labels,
        places,
        band=band,
        suffixes=[[""] * len(labels)],
        centre=np.zeros(2),
        on_circle=on_circle,
    )
    room.frame(ax, band)
    ties.draw(ax, room.nodes, curved=False, largest=largest)
    room.write_names(ax, [False] * len(labels), [""] * len(labels))
    diameters = np.full(len(labels), 8.0) if sizes is None else sizes
    for node, size in zip(room.nodes, diameters, strict=True):
        mark = _node(size)
        mark.set_data(*node[:, None])
        ax.add_line(mark)


def _node(size: float) -> Line2D:
    """Give a node; it is placed later, or stands in the legend."""
    node = Line2D([], [], linestyle="none", marker="o", markersize=size, color=FAINT, zorder=4)
    node.set(markeredgecolor=PAPER, markeredgewidth=1.0)
    return node


def _sizes(thresholds: pd.Series, labels: list[str]) -> FloatArray:
    """Give diameters such that areas grow with the probability of a label alone."""
    alone = 1 / (1 + np.exp(-thresholds.reindex(labels).to_numpy(dtype=np.float64)))
    return np.asarray(np.sqrt(_SMALL**2 + (_LARGE**2 - _SMALL**2) * np.nan_to_num(alone)))
