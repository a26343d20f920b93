"""The room of a network picture: where nodes, names and the legend stand, measured in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
# Half the side, in gaps, of the square around a node that names and numbers keep off.
_NODE_SHARE = 0.7


@dataclass(frozen=True)
class View:
    """What axes show of a network, in units."""

    origin: FloatArray
    size: FloatArray
    band: float


@dataclass(frozen=True)
class Places:
    """Where labels are to stand."""

    points: FloatArray
    on_circle: bool = False
    kept: bool = False
    view: View | None = None

    @property
    def origin(self) -> FloatArray:
        """The point that comes into the middle of the picture."""
        if self.view is not None:
            return self.view.origin
        if self.kept:
            return np.asarray(self.points.max(axis=0) + self.points.min(axis=0)) / 2
        return np.zeros(2)

    def centred(self) -> Places:
        """Move kept points so that the middle is at zero."""
        view = None if self.view is None else replace(self.view, origin=np.zeros(2))
        return replace(self, points=self.points - self.origin, view=view)

    def loose(self) -> Places:
        """Let labels move, from points in the unit square."""
        points = self.points - self.origin
        reach = np.abs(points).max()
        return Places(points / reach if reach > 0 else points)


@dataclass(frozen=True)
class Room:
    """Where everything stands. One unit is the radius of the circle."""

    unit: float
    nodes: FloatArray
    names: list[str]
    anchors: FloatArray
    sides: list[str]
    size: float
    extents: FloatArray
    reach: float
    band: float
    origin: FloatArray
    span: FloatArray | None = None

    def frame(self, ax: Axes) -> View:
        """Set the limits of axes so that a unit has its pixels and the legend its band."""
        area = ax.get_window_extent()
        span = np.array([area.width, area.height]) if self.span is None else self.span
        size = span / self.unit
        lift = self.band / 2 / self.unit
        x, y = self.origin
        ax.set_xlim(x - size[0] / 2, x + size[0] / 2)
        ax.set_ylim(y - size[1] / 2 - lift, y + size[1] / 2 - lift)
        ax.set_aspect("equal")
        return View(self.origin, size, self.band / self.unit)

    @property
    def boxes(self) -> FloatArray:
        """The boxes that nodes and names take, shape (2K, 4)."""
        names = boxes_around(_middles(self.anchors, self.extents, self.sides), self.extents)
        return np.vstack([boxes_around(self.nodes, np.full((1, 2), 2 * self.reach)), names])

    def covers(self, centre: FloatArray) -> bool:
        """Return whether a box of so many pixels in the middle would cover a node."""
        half = centre / 2 / self.unit + self.reach
        return bool((np.abs(self.nodes - self.origin) < half).all(axis=1).any())

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
            if side != "center" and np.linalg.norm(node - anchor) * self.unit > far:
                ax.plot(*np.array([node, anchor]).T, color=FAINT, linewidth=0.5, zorder=0.5)


def measure(ax: Axes, texts: Sequence[str], size: float, weight: str = "normal") -> FloatArray:
    """Return width and height of texts in pixels."""
    sizes = np.zeros((len(texts), 2))
    for row, text in zip(sizes, texts, strict=True):
        if text:
            written = write(ax, 0, 0, text, fontsize=size, weight=weight, linespacing=1.05)
            extent = written.get_window_extent()
            row[:] = extent.width, extent.height
            written.remove()
    return sizes


def legend_band(owner: Axes | Figure | SubFigure, entries: Entries, place: str) -> float:
    """Add a legend in as many columns as fit, and give its height in pixels."""
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
    places: Places,
    *,
    band: float,
    suffixes: Sequence[Sequence[str]],
    centre: FloatArray,
    diameter: float = 0.0,
) -> Room:
    """Find room for nodes and names, the same on all axes."""
    areas = [ax.get_window_extent() for ax in axes]
    area = np.array([min(a.width for a in areas), min(a.height for a in areas)])
    point = axes[0].figure.dpi / 72
    gap = max(_GAP, diameter / 2 + 3.0) * point
    most, span = np.inf, None
    if places.view is not None:
        most = float((area / places.view.size).min())
        span, kept = most * places.view.size, places.view.band * most
        # A legend that is higher than the other picture's may reach below the lowest node.
        lowest = (places.points[:, 1] - places.origin[1]).min() * most - 2 * gap
        bottom = (kept - span[1]) / 2
        area, band = span.copy(), kept if lowest > bottom + band - kept else max(band, kept)
    area[1] = max(area[1] - band, 1.0)
    lines = 2 if len(labels) <= _TWO_LINES else 1
    rows = -(-len(labels) // 2) if places.on_circle else 2 * int(np.ceil(np.sqrt(len(labels))))
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
        nodes = places.points
        if places.on_circle:
            fits = sizes[:, 0].max() <= _NAME_SHARE * area[0]
            unit, anchors, sides = _round(nodes, sizes, area, point, gap, most)
        elif places.kept:
            away = nodes - places.origin
            unit, anchors, sides, fits = _beside(away, sizes, area, point, gap, centre, most)
            anchors = anchors + places.origin
        else:
            unit, nodes, anchors, sides, fits = _open(nodes, sizes, area, point, gap, centre)
        extents, reach = sizes / unit, _NODE_SHARE * gap / unit
        shown = (extents, reach, band, places.origin, span)
        room = Room(unit, nodes, names, anchors, sides, size, *shown)
        if fits:
            break
    return room


def _round(
    places: FloatArray,
    sizes: FloatArray,
    area: FloatArray,
    point: float,
    gap: float,
    most: float,
) -> tuple[float, FloatArray, list[str]]:
    """Return a circle its radius, and put names outside, left or right of it."""
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
    radius = min(radius, most)
    height = heights(inner[1])
    across = np.sqrt(np.maximum((radius + gap) ** 2 - height**2, 0.0))
    across = np.maximum(across, np.abs(places[:, 0]) * radius + 0.8 * gap)
    anchors = np.column_stack([np.where(right, across, -across), height]) / radius
    return radius, anchors, ["left" if at else "right" for at in right]


def _middles(anchors: FloatArray, sizes: FloatArray, sides: Sequence[str]) -> FloatArray:
    """Return the middles of names."""
    aside = np.array([{"left": 0.5, "center": 0.0, "right": -0.5}[side] for side in sides])
    return np.column_stack([anchors[:, 0] + aside * sizes[:, 0], anchors[:, 1]])


def _beside(
    nodes: FloatArray,
    sizes: FloatArray,
    area: FloatArray,
    point: float,
    gap: float,
    centre: FloatArray,
    most: float,
) -> tuple[float, FloatArray, list[str], bool]:
    """Keep nodes where they are, at a scale that fits, and put names where there is room."""
    inner = area / 2 - _MARGIN * point
    needs = np.full(sizes.shape, gap)
    if not np.isfinite(most):
        needs = needs + sizes * np.array([0.5, 1.0])
    away = np.maximum(np.abs(nodes), 1e-9 * max(np.abs(nodes).max(), 1e-300))
    unit = min(float((np.maximum(inner - needs, inner / 8) / away).min()), most)
    squares = boxes_around(nodes * unit, np.full((1, 2), 2 * _NODE_SHARE * gap))
    taken = [boxes_around(np.zeros((1, 2)), centre[None])] if centre.any() else []
    anchors, sides, fits = np.empty_like(nodes), [], True
    for at, (node, size) in enumerate(zip(nodes * unit, sizes, strict=True)):
        out, up = (1.0 if part >= 0 else -1.0 for part in node)
        rise = gap + size[1] / 2
        steps = [(out, 0.0), (0.0, up), (0.0, -up), (-out, 0.0)]
        steps += [(x, y) for x in (out, -out) for y in (up, -up)]
        tried = node + np.array(steps) * np.array([gap, rise])
        kinds = [{1.0: "left", 0.0: "center", -1.0: "right"}[x] for x, _ in steps]
        boxes = boxes_around(_middles(tried, np.tile(size, (len(steps), 1)), kinds), size[None])
        others = np.vstack([np.delete(squares, at, axis=0), *taken])
        meets = np.array([overlaps(np.vstack([others, box]))[-1].sum() for box in boxes])
        meets += (np.abs(boxes) > np.tile(area / 2, 2)).any(axis=1)
        best = int(np.argmin(meets))
        anchors[at], fits = tried[best] / unit, fits and meets[best] == 0
        sides.append(kinds[best])
        taken.append(boxes[[best]])
    return unit, anchors, sides, fits


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
