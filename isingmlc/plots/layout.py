"""Where nodes and names stand: circles, springs, and names that keep off each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import squareform

from isingmlc.base.arrays import BoolArray, FloatArray

# Interactions beyond this (an odds ratio of 22,000) are all but infinite, and set no scale.
HUGE = 10.0
LAYOUTS = ("circle", "cluster", "spring")
# Places across the area at which boxes may stand.
_COLUMNS = 81
# Labels that nothing ties stand below the others, so many in a row, and rows so far apart.
_ROW, _ROW_HEIGHT = 5, 0.25


def circle(n: int) -> FloatArray:
    """Place nodes on the unit circle, clockwise from the top."""
    first = 0.5 if n % 2 == 0 else 0.25
    angle = np.pi / 2 - 2 * np.pi * (np.arange(n) + first) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


def cluster_order(distance: FloatArray) -> npt.NDArray[np.intp]:
    """Order items so that close ones are neighbours."""
    if len(distance) < 2:
        # One item has no pairs, two have one.
        return np.arange(len(distance) + 1)
    tree = optimal_leaf_ordering(linkage(distance, "average"), distance)
    return np.asarray(leaves_list(tree), dtype=np.intp)


def strength(interactions: FloatArray) -> FloatArray:
    """Return absolute interactions, huge ones as large as the largest other, unknown ones zero."""
    size = np.where(np.isnan(interactions), 0.0, np.abs(interactions))
    usual = size[size <= HUGE]
    return np.minimum(size, usual.max() if usual.any() else 1.0)


def place_labels(interactions: FloatArray, layout: str) -> FloatArray:
    """Place labels by their interactions alone, so that every picture of a fit has them alike."""
    n = len(interactions)
    ring = circle(n)
    if layout == "circle" or n < 3:
        return ring
    ties = strength(interactions)
    if layout == "cluster":
        order = cluster_order(squareform(ties.max() - ties, checks=False))
        places = np.empty((n, 2))
        places[order] = ring
        return places
    return _spring(ties)


def _spring(ties: FloatArray) -> FloatArray:
    """Let ties pull labels together, above rows of the labels that nothing ties."""
    tied = ties.any(axis=1)
    n_single = int((~tied).sum())
    places = np.empty((len(ties), 2))
    if not tied.any():
        return circle(len(ties))
    places[tied] = _pull(ties[np.ix_(tied, tied)])
    if n_single:
        n_rows = -(-n_single // _ROW)
        top = min(n_rows * _ROW_HEIGHT, 1.0)
        # The rows are as long as each other, or nearly so.
        row = np.arange(n_single) * n_rows // n_single
        within = np.arange(n_single) - np.searchsorted(row, row)
        length = np.bincount(row)[row]
        across = (2 * within + 1) / length - 1
        up = -1 + top * row / max(n_rows, 1)
        places[~tied] = np.column_stack([across, up])
        places[tied, 1] = -1 + top + (places[tied, 1] + 1) * (1 - top / 2)
    return places


def _pull(ties: FloatArray) -> FloatArray:
    """Let ties pull labels together, each component by itself, and put components side by side."""
    import networkx as nx

    # Strong ties pull twice as much as weak ones, not a hundred times: nodes need room.
    graph = nx.from_numpy_array(np.where(ties > 0, 0.5 + 0.5 * ties / ties.max(), 0.0))
    parts = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    places = np.zeros((len(ties), 2))
    sizes = np.empty((len(parts), 2))
    for at, part in enumerate(parts):
        members = sorted(part)
        ring = dict(zip(members, circle(len(members)), strict=True))
        # The seed is fixed: the same network gives the same picture.
        own_graph = graph.subgraph(members)
        room = 2.0 / np.sqrt(len(members))
        found = nx.spring_layout(own_graph, k=room, pos=ring, iterations=200, seed=0)
        own = np.array([found[label] for label in members])
        own -= (own.max(axis=0) + own.min(axis=0)) / 2
        # Every label gets the same room, whatever component it belongs to.
        reach = np.linalg.norm(own, axis=1).max(initial=0.0)
        if reach > 0:
            places[members] = own / reach * np.sqrt(len(members))
        sizes[at] = 2 * (np.sqrt(len(members)) + 0.5)
    if len(parts) > 1:
        side = 2 * sizes.sum(axis=0)
        centres = pack(np.zeros((len(parts), 2)), sizes, np.concatenate([-side, side]) / 2)
        for centre, part in zip(centres, parts, strict=True):
            places[sorted(part)] += centre
    places -= (places.max(axis=0) + places.min(axis=0)) / 2
    # Pictures are as wide as they are: what is narrow or low may be stretched.
    reach = np.abs(places).max(axis=0)
    return np.asarray(places / np.where(reach > 0, reach, 1.0))


def spread(wanted: FloatArray, gap: FloatArray, low: float, high: float) -> FloatArray:
    """Move points on a line as little as needed to keep their distances."""
    order = np.argsort(wanted, kind="stable")
    room = gap[order]
    # Without the room between them, points need only be in order: isotonic regression.
    taken = np.concatenate([[0.0], np.cumsum((room[1:] + room[:-1]) / 2)])
    free = isotonic_regression(wanted[order] - taken).x
    lowest = low + room[0] / 2
    highest = max(high - room[-1] / 2 - taken[-1], lowest)
    placed = np.empty(len(wanted))
    placed[order] = np.clip(free, lowest, highest) + taken
    return placed


def boxes_around(centres: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return boxes (left, bottom, right, top) of given sizes around points."""
    return np.hstack([centres - sizes / 2, centres + sizes / 2])


def overlaps(boxes: FloatArray) -> BoolArray:
    """Mark the pairs of boxes that overlap."""
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    meet = np.all((low < high.swapaxes(0, 1)) & (low.swapaxes(0, 1) < high), axis=2)
    return np.asarray(meet & ~np.eye(len(boxes), dtype=bool))


def pack(centres: FloatArray, sizes: FloatArray, area: FloatArray) -> FloatArray:
    """Put boxes where there is room for them, each as near as possible to where it would be."""
    placed = centres.copy()
    row = sizes[1:, 1].max() * 1.001
    low, high = area[:2] + row / 2, area[2:] - row / 2
    down = low[1] + row * np.arange(max(int((high[1] - low[1]) / row) + 1, 1))
    across = np.linspace(area[0], area[2], _COLUMNS)
    grid = np.stack(np.meshgrid(across, down), axis=2).reshape(-1, 2)
    for at in range(1, len(placed)):
        reach = (sizes[:at] + sizes[at]) / 2
        inside = (
            np.abs(grid[:, 0] - (area[0] + area[2]) / 2) <= (area[2] - area[0] - sizes[at, 0]) / 2
        )
        free = inside & (np.abs(grid[:, None] - placed[:at]) >= reach).any(axis=2).all(axis=1)
        if free.any():
            distance = np.where(free, ((grid - centres[at]) ** 2).sum(axis=1), np.inf)
            placed[at] = grid[np.argmin(distance)]
    return placed


def orbit(first: FloatArray, second: FloatArray) -> FloatArray:
    """Join two points of the unit circle by a curve that keeps off the centre."""
    start, end = (np.arctan2(point[1], point[0]) for point in (first, second))
    turn = (end - start + np.pi) % (2 * np.pi) - np.pi
    # Half way it is a little farther out than a straight line would be.
    radius = np.sqrt(np.cos(turn / 2) ** 2 + 0.3 * np.sin(turn / 2) ** 2)
    angle = start + turn / 2
    halfway = radius * np.array([np.cos(angle), np.sin(angle)])
    middle = 2 * halfway - (first + second) / 2
    share = np.linspace(0, 1, 40)[:, None]
    curve = (1 - share) ** 2 * first + 2 * share * (1 - share) * middle + share**2 * second
    return np.asarray(curve)
