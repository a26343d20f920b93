"""The network of the labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from isingmlc import exceptions as exc
from isingmlc.base.arrays import FloatArray
from isingmlc.plots.canvas import Places, find_room, legend_band
from isingmlc.plots.look import LookOptions, NetworkLook, make_node
from isingmlc.plots.style import Entries, make_axes, make_panels, settle
from isingmlc.plots.ties import Ties, choose_ties

if TYPE_CHECKING:
    from isingmlc.results.network_at import NetworkAt


def plot_label_network(
    interactions: pd.DataFrame,
    thresholds: pd.Series | None = None,
    prevalence: pd.Series | None = None,
    *,
    adjusted_for: Sequence[str] = (),
    ax: Axes | None = None,
    **look: Unpack[LookOptions],
) -> Axes:
    """Draw a network of labels from its parameters.

    Parameters
    ----------
    interactions : DataFrame, shape (K, K)
        Symmetric interactions with the names of the labels; NaN where the data say nothing.
    thresholds, prevalence : Series, optional
        Thresholds of the labels and how often they occur, for the sizes of nodes.
    adjusted_for : sequence of str
        The covariates that interactions are given, for the title.
    ax : Axes, optional
        Where to draw; a new figure if omitted.
    **look
        As `IsingResults.plot_label_network` takes it.

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
    >>> ax = plot_label_network(res.interactions, min_weight=0.3, ax=Figure().subplots())
    >>> ax.get_title()
    'Interactions of 6 labels (9 of 15 pairs above 0.3)'
    """
    wanted = NetworkLook.of(look, min_weight=0.0, node_size="alone")
    if list(interactions.index) != list(interactions.columns):
        raise exc.DataError(
            "interactions must have the same labels in rows and columns, but its shape is "
            f"{interactions.shape} and its names differ. Pass results.interactions."
        )
    labels = tuple(str(name) for name in interactions.columns)
    weights = interactions.to_numpy(dtype=np.float64)
    ties = choose_ties(weights, wanted.min_weight)
    pairs = len(labels) * (len(labels) - 1) // 2
    above = f" above {wanted.min_weight:g}" if wanted.min_weight else ""
    title = f"Interactions of {len(labels)} labels ({len(ties.weight)} of {pairs} pairs{above})"
    places = wanted.place(weights, labels)
    ax = make_axes(ax, 7.0, 5.8)
    ax.set_axis_off()
    wanted.set_titles([ax], [title], [adjusted_for])
    sizes = wanted.measure(labels, weights, thresholds, prevalence)
    draw_labels([ax], labels, [Panel(ties, sizes)], places, wanted)
    return ax


def plot_networks_at(
    networks: Sequence[NetworkAt],
    *,
    axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
    **look: Unpack[LookOptions],
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
    weights = [network.interactions.to_numpy() for network in networks]
    wanted = NetworkLook.of(look, min_weight=0.0, node_size="alone")
    ties = [choose_ties(each, wanted.min_weight) for each in weights]
    labels = tuple(networks[0].label_names)
    mean = np.mean([np.nan_to_num(each) for each in weights], axis=0)
    places = wanted.place(mean, labels)
    panels = make_panels(axes, len(networks), "value")
    before = f"Interactions of {len(labels)} labels at " if len(networks) == 1 else ""
    for ax in panels:
        ax.set_axis_off()
    titles = [before + network.described for network in networks]
    wanted.set_titles(panels, titles, [network.at_means for network in networks])
    sizes = [
        wanted.measure(labels, network.interactions.to_numpy(), network.thresholds, None)
        for network in networks
    ]
    shown = [Panel(drawn, size) for drawn, size in zip(ties, sizes, strict=True)]
    draw_labels(panels, labels, shown, places, wanted)
    return np.array(panels, dtype=object)


@dataclass(frozen=True)
class Panel:
    """What one picture of labels shows."""

    ties: Ties
    sizes: tuple[FloatArray, Entries]
    said: Entries = field(default_factory=list)


def draw_labels(
    axes: Sequence[Axes],
    labels: tuple[str, ...],
    panels: Sequence[Panel],
    places: Places,
    look: NetworkLook,
) -> None:
    """Draw labels, their ties and the legend: in the same places and on one scale on all axes."""
    settle(axes[0])
    widest = look.max_weight
    if widest is None:
        widest = max(panel.ties.largest for panel in panels)
    colors, painted = look.paint(labels)
    bands = [
        legend_band(
            ax,
            [*panel.ties.legend(widest), *panel.said, *painted, *panel.sizes[1]],
            "lower center",
        )
        for ax, panel in zip(axes, panels, strict=True)
    ]
    room = find_room(
        axes,
        look.display(labels),
        places,
        band=max(bands),
        suffixes=[[""] * len(labels)],
        centre=np.zeros(2),
        diameter=max(panel.sizes[0].max() for panel in panels),
    )
    for ax, panel in zip(axes, panels, strict=True):
        look.frame(ax, labels, room, on_circle=places.on_circle)
        panel.ties.draw(ax, room.nodes, curved=False, largest=widest)
        if look.edge_labels:
            panel.ties.write_weights(ax, room)
        room.write_names(ax, [False] * len(labels), [""] * len(labels))
        for node, size, color in zip(room.nodes, panel.sizes[0], colors, strict=True):
            mark = make_node(size, color)
            mark.set_data(*node[:, None])
            ax.add_line(mark)
