"""The room of a network picture: where nodes, names and the legend stand, measured in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from isingmlc.base.arrays import FloatArray
from isingmlc.plots.layout import boxes_around, overlaps, pack, spread
from isingmlc.plots.style import (
    FAINT,
    TEXT_SIZE,
    Entries,
    add_legend,
    blank,
    font_for,
    wrap_names,
    write,
)

# Up to so many labels names have two lines.
_TWO_LINES = 20
_LENGTHS = {2: (20, 17, 14, 12, 10, 8, 6), 1: (30, 25, 21, 17, 14, 11, 8, 6)}
# Names may take this share of the width on each side of a circle.
_NAME_SHARE = 0.3
# Points between a node and its name, and between names and the edges.
_GAP, _MARGIN = 8.0, np.array([3.0, 10.0])


@dataclass(frozen=True)
class Room:
    """Where everything stands. One unit is the radius of the circle.

    Attributes
    ----------
    unit : float
        Pixels in a unit.
    nodes : ndarray, shape (K, 2)
        Places of the labels.
    names : list of str
        Names in lines.
    anchors : ndarray, shape (K, 2)
        Where names begin or end.
    sides : list of str
        ``"left"`` or ``"right"``: the side of the name that the anchor is at.
    size : float
        Size of the names in points.
    """

    unit: float
    nodes: FloatArray
    names: list[str]
    anchors: FloatArray
    sides: list[str]
    size: float

    def frame(self, ax: Axes, band: float) -> None:
        """Set the limits of axes so that a unit has its pixels and the legend its band."""
        area = ax.get_window_extent()
        half = np.array([area.width, area.height]) / 2 / self.unit
        lift = band / 2 / self.unit
        ax.set_xlim(-half[0], half[0])
        ax.set_ylim(-half[1] - lift, half[1] - lift)
        ax.set_aspect("equal")

    def write_names(self, ax: Axes, faint: Sequence[bool], suffixes: Sequence[str]) -> None:
        """Write the names beside their nodes, with a line to those that had to move."""
        far = 1.6 * _GAP * ax.figure.dpi / 72
        for name, node, anchor, side, pale, suffix in zip(
            self.names, self.nodes, self.anchors, self.sides, faint, suffixes, strict=True
        ):
            write(
                ax,
                anchor[0],
                anchor[1],
                name + suffix,
                fontsize=self.size,
                color=FAINT if pale else None,
                ha=side,
                va="center",
                linespacing=1.05,
                bbox=blank(ax),
                zorder=3.5,
            )
            if np.linalg.norm(node - anchor) * self.unit > far:
                ax.plot(*np.array([node, anchor]).T, color=FAINT, linewidth=0.5, zorder=0.5)


def measure(ax: Axes, texts: Sequence[str], size: float, weight: str = "normal") -> FloatArray:
    """Give width and height of texts in pixels.

    Parameters
    ----------
    ax : Axes
        Where they will stand.
    texts : sequence of str
        The texts.
    size : float
        Their size in points.
    weight : str
        Their weight.

    Returns
    -------
    ndarray, shape (n, 2)
        Widths and heights.
    """
    sizes = np.zeros((len(texts), 2))
    for row, text in zip(sizes, texts, strict=True):
        if text:
            written = write(ax, 0, 0, text, fontsize=size, weight=weight, linespacing=1.05)
            extent = written.get_window_extent()
            row[:] = extent.width, extent.height
            written.remove()
    return sizes


def legend_band(owner: Axes | Figure | SubFigure, entries: Entries, place: str) -> float:
    """Add a legend in as many columns as fit, and give its height in pixels.

    Parameters
    ----------
    owner : Axes or Figure
        What the legend belongs to.
    entries : list of (Artist, str)
        Samples and words.
    place : str
        Where it stands.

    Returns
    -------
    float
        Height of the legend, 0 if there is none.
    """
    for columns in range(min(len(entries), 3), 0, -1):
        legend = add_legend(owner, entries, loc=place, ncols=columns, borderpad=0.2)
        assert legend is not None
        extent = legend.get_window_extent()
        if extent.width <= owner.get_window_extent().width or columns == 1:
            return float(extent.height)
        legend.remove()
    return 0.0


def find_room(
    axes: Sequence[Axes],
    labels: Sequence[str],
    places: FloatArray,
    *,
    band: float,
    suffixes: Sequence[Sequence[str]],
    centre: FloatArray,
    on_circle: bool,
    diameter: float = 0.0,
) -> Room:
    """Find room for nodes and names, the same on all axes.

    Parameters
    ----------
    axes : sequence of Axes
        Where to draw; the smallest decides.
    labels : sequence of str
        Names of the labels.
    places : ndarray, shape (K, 2)
        Where labels would stand in the unit disc.
    band : float
        Pixels to keep free at the bottom.
    suffixes : sequence of sequences of str
        What is written after each name, for each of the axes.
    centre : ndarray, shape (2,)
        Width and height in pixels of what stands in the centre.
    on_circle : bool
        Whether places are on the circle, with names outside, or anywhere, with names beside
        them.
    diameter : float
        Points across the largest node.

    Returns
    -------
    Room
        The places. Names are cut only as far as needed.
    """
    areas = [ax.get_window_extent() for ax in axes]
    area = np.array([min(a.width for a in areas), max(min(a.height for a in areas) - band, 1.0)])
    point = axes[0].figure.dpi / 72
    gap = max(_GAP, diameter / 2 + 3.0) * point
    lines = 2 if len(labels) <= _TWO_LINES else 1
    rows = -(-len(labels) // 2) if on_circle else 2 * int(np.ceil(np.sqrt(len(labels))))
    size = font_for(area[1] / point / rows / lines, TEXT_SIZE if len(labels) <= _TWO_LINES else 7.5)
    for length in _LENGTHS[lines]:
        names = wrap_names(labels, length, lines)
        # The widest of what stands on any of the axes.
        sizes = np.max(
            [
                measure(axes[0], [n + s for n, s in zip(names, after, strict=True)], size)
                for after in suffixes
            ],
            axis=0,
        )
        if on_circle:
            fits = sizes[:, 0].max() <= _NAME_SHARE * area[0]
            unit, nodes, anchors, sides = _round(places, sizes, area, point, gap)
        else:
            unit, nodes, anchors, sides, fits = _open(places, sizes, area, point, gap, centre)
        room = Room(unit, nodes, names, anchors, sides, size)
        if fits:
            break
    return room


def _round(
    places: FloatArray, sizes: FloatArray, area: FloatArray, point: float, gap: float
) -> tuple[float, FloatArray, FloatArray, list[str]]:
    """Put nodes on a circle and names outside, left or right of it."""
    inner = area / 2 - _MARGIN * point
    smallest = area.min() / 8
    across = (inner[0] - sizes[:, 0] - gap) / np.abs(places[:, 0])
    radius = max(min(across.min(), inner[1] - sizes[:, 1].max() / 2 - gap), smallest)
    right = places[:, 0] > 0
    rows = sizes[:, 1] * 1.12

    def heights(limit: float) -> FloatArray:
        """Names stand a little farther out than their nodes, and off each other."""
        placed = np.empty(len(places))
        for side in (right, ~right):
            if side.any():
                wanted = places[side, 1] * (radius + gap)
                placed[side] = spread(wanted, rows[side], -limit, limit)
        return placed

    # Names that were pushed up or down beyond the edge make the circle smaller.
    for _ in range(3):
        beyond = (np.abs(heights(np.inf)) + rows / 2).max() - inner[1]
        radius = max(radius - max(beyond, 0.0), smallest)
    height = heights(inner[1])
    across = np.sqrt(np.maximum((radius + gap) ** 2 - height**2, 0.0))
    across = np.maximum(across, np.abs(places[:, 0]) * radius + 0.8 * gap)
    anchors = np.column_stack([np.where(right, across, -across), height]) / radius
    return radius, places, anchors, ["left" if at else "right" for at in right]


def _open(
    places: FloatArray,
    sizes: FloatArray,
    area: FloatArray,
    point: float,
    gap: float,
    centre: FloatArray,
) -> tuple[float, FloatArray, FloatArray, list[str], bool]:
    """Put nodes where they are drawn to, and names on their outer sides, as room allows."""
    # A box holds a node, at the end toward the centre, and its name.
    boxes = np.vstack([centre + gap, sizes + np.array([2.4 * gap, 0.0])])
    boxes[1:, 1] = np.maximum(1.15 * boxes[1:, 1], 2 * gap)
    right = places[:, 0] >= 0
    outward = np.column_stack([np.where(right, 1.0, -1.0), np.zeros(len(right))])
    shift = outward * (boxes[1:, :1] / 2 - gap)
    distance = np.linalg.norm(places, axis=1, keepdims=True)
    off = places * (0.35 + 0.65 * distance) / np.maximum(distance, 1e-9) if centre.any() else places
    inner = area - 2 * _MARGIN * point
    wanted = np.vstack([np.zeros(2), off * (0.42 * inner - 2 * gap) + shift])
    placed = pack(wanted, boxes, np.concatenate([-inner / 2, inner / 2]))
    fits = not overlaps(boxes_around(placed, boxes)).any()
    nodes = placed[1:] - shift
    unit = area.min() / 2
    sides = ["left" if at else "right" for at in right]
    return unit, nodes / unit, (nodes + outward * gap) / unit, sides, fits
