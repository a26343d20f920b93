"""Interactions between labels as lines: which ones are drawn, how, and what the legend says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.plots.canvas import Room, measure
from isingmlc.plots.layout import HUGE, boxes_around, orbit
from isingmlc.plots.style import (
    DASH_DOTTED,
    DASHED,
    DOTTED,
    FAINT,
    LOWERS,
    RAISES,
    SMALL_SIZE,
    SOLID,
    UNTESTED,
    Entries,
    blank,
    write,
)

# Widths in points; infinite interactions have the last, whatever the others are.
_THIN, _THICK, _CAPPED = 0.5, 4.0, 1.2
# How opaque lines are that are the least sure, and the surest.
_PALEST, _DARKEST = 0.12, 0.85
# Where on a line its number may stand: shares of its length, the first that is free.
_STATIONS = (0.5, 0.45, 0.55, 0.4, 0.6, 0.35, 0.65, 0.3, 0.7, 0.25, 0.75, 0.2, 0.8)
# How far beside the line, in their own size, where there is no room on it.
_ASIDE = (0.0, 0.6, -0.6, 1.2, -1.2)
# Sizes of these numbers in points, the first at which all are free.
_NUMBER_SIZES = (SMALL_SIZE, 7.0, 6.0)
# If the number of ties is left to us there is one per label, and at least this many.
_FEW = 12
# Below this an interaction is the rounding of a zero.
_ZERO = 1e-12


@dataclass(frozen=True)
class Ties:
    """Interactions between labels that are drawn."""

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    weight: FloatArray
    left_out: dict[str, int]
    sureness: FloatArray | None = None
    doubtful: BoolArray | None = None
    unestimable: BoolArray | None = None
    words: tuple[str, str] = ("labels attract each other", "labels repel each other")

    @property
    def endless(self) -> BoolArray:
        """Marks of interactions that are infinite, or so large that they might as well be."""
        return np.asarray(np.abs(self.weight) > HUGE)

    @property
    def unknown(self) -> BoolArray:
        """Marks of interactions that cannot be estimated."""
        return np.zeros(len(self.weight), bool) if self.unestimable is None else self.unestimable

    @property
    def scaled(self) -> BoolArray:
        """Marks of interactions that have a width by their size."""
        return ~(self.endless | self.unknown)

    def legend(self, largest: float | None = None) -> Entries:
        """Say what the lines mean."""
        finite, endless = self.weight[self.scaled], self.weight[self.endless & ~self.unknown]
        above = "∞ (separated labels)" if np.isinf(endless).all() else f"{HUGE:g} or more"
        repelling = DASH_DOTTED if self.doubtful is None else SOLID
        kinds = (
            ((finite > 0).any(), RAISES, SOLID, self.words[0]),
            ((finite < 0).any(), LOWERS, repelling, self.words[1]),
            ((endless > 0).any(), RAISES, DOTTED, f"interaction +{above}"),
            ((endless < 0).any(), LOWERS, DOTTED, f"interaction −{above}"),
            (self.unknown.any(), UNTESTED, DASHED, "cannot be estimated: separated in draws"),
        )
        entries: Entries = [
            (Line2D([], [], color=color, linestyle=style, linewidth=1.6, alpha=0.7), words)
            for occurs, color, style, words in kinds
            if occurs
        ]
        if len(finite):
            entries += _show_widths(self.largest if largest is None else largest)
        left_out = ", ".join(f"{count} {kind}" for kind, count in self.left_out.items() if count)
        if left_out:
            blank = Line2D([], [], linestyle="none")
            entries.append((blank, f"interactions not drawn: {left_out}"))
        return entries

    @property
    def largest(self) -> float:
        """The largest interaction in absolute value among those that set the scale."""
        return float(np.abs(self.weight[self.scaled]).max(initial=_ZERO))

    def draw(
        self, ax: Axes, nodes: FloatArray, *, curved: bool, largest: float | None = None
    ) -> None:
        """Draw the lines, weak ones below and paler."""
        size = np.abs(self.weight)
        largest = self.largest if largest is None else largest
        shares = np.where(self.scaled, np.minimum(size / largest, 1.0), 0.2)
        # Among many lines the weak ones must not hide the strong ones.
        pale = min(0.25, 20 / max(len(size), 1))
        order = np.argsort(shares, kind="stable")
        negative = self.weight < 0
        colors = np.where(negative[:, None], to_rgb(LOWERS), to_rgb(RAISES))
        colors[self.unknown] = to_rgb(UNTESTED)
        alphas = pale + (0.65 - pale) * shares
        if self.sureness is not None:
            alphas = _PALEST + (_DARKEST - _PALEST) * self.sureness
        alphas = np.where(self.unknown, _DARKEST, alphas)
        widths = np.where(self.scaled, _width(shares), _CAPPED)
        broken = negative if self.doubtful is None else 3 * self.doubtful
        styles = np.where(self.unknown, 3, np.where(self.endless, 2, broken))
        ends = zip(nodes[self.first[order]], nodes[self.second[order]], strict=True)
        lines = LineCollection(
            [orbit(*pair) if curved else np.array(pair) for pair in ends],
            colors=np.column_stack([colors, alphas])[order],
            linewidths=widths[order],
            linestyles=[(SOLID, DASH_DOTTED, DOTTED, DASHED)[style] for style in styles[order]],
            zorder=1,
        )
        ax.add_collection(lines, autolim=False)

    def write_weights(self, ax: Axes, room: Room) -> None:
        """Write interactions on their straight lines, off nodes, names and each other."""
        order = np.argsort(-np.abs(self.weight), kind="stable")
        texts = [_say_weight(self.weight[at]) for at in order]
        lines = [room.nodes[[self.first[at], self.second[at]]] for at in order]
        for size in _NUMBER_SIZES:
            places, are_free = _find_stations(lines, measure(ax, texts, size) / room.unit, room)
            if are_free:
                break
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
        for (x, y), text in zip(places, texts, strict=True):
            write(ax, x, y, text, bbox=blank(ax), zorder=3, **style)


def _find_stations(
    lines: list[FloatArray], sizes: FloatArray, room: Room
) -> tuple[list[FloatArray], bool]:
    """Find places for numbers, one on each line, that meet as little as can be, the first first."""
    taken, found, are_free = room.boxes, [], True
    for ends, size in zip(lines, sizes, strict=True):
        along = ends[1] - ends[0]
        places = ends[0] + np.array(_STATIONS)[:, None] * along
        normal = np.array([-along[1], along[0]]) / np.linalg.norm(along)
        aside = normal * (np.abs(normal) @ size)
        places = np.vstack([places + shift * aside for shift in _ASIDE])
        boxes = boxes_around(places, size[None])
        apart = (boxes[:, None, :2] >= taken[:, 2:]) | (taken[:, :2] >= boxes[:, None, 2:])
        meets = (~apart.any(axis=2)).sum(axis=1)
        best = int(np.argmin(meets))
        are_free &= bool(meets[best] == 0)
        taken = np.vstack([taken, boxes[best]])
        found.append(places[best])
    return found, are_free


def _width(share: FloatArray | float) -> FloatArray | float:
    """Return the width of a line, in points, by its share of the widest."""
    return _THIN + (_THICK - _THIN) * share


def _show_widths(largest: float) -> Entries:
    """Show what widths mean: the widest line, and one of a half."""
    return [
        (Line2D([], [], color=FAINT, linewidth=float(_width(share))), f"± {share * largest:.2g}")
        for share in (0.5, 1.0)
    ]


def _say_weight(weight: float) -> str:
    """Write an interaction with two digits after the point."""
    if np.isinf(weight):
        return "+∞" if weight > 0 else "−∞"
    return f"{weight:.2f}".replace("-", "−")


def choose_ties(interactions: FloatArray, min_weight: float | None) -> Ties:
    """Choose the interactions to draw."""
    first, second = np.triu_indices(len(interactions), 1)
    weight = interactions[first, second]
    size = np.nan_to_num(np.abs(weight), nan=0.0, posinf=np.inf)
    there = size > _ZERO
    drawn = there & (size > (0 if min_weight is None else min_weight))
    endless = size > HUGE
    if min_weight is None:
        most = max(_FEW, len(interactions))
        strongest = np.argsort(-np.where(endless, 0.0, size), kind="stable")[:most]
        few = endless.sum() <= most
        drawn &= np.where(endless, few, np.isin(np.arange(len(size)), strongest))
    weaker = there & ~drawn
    left_out = {
        "weaker": int((weaker & ~endless).sum()),
        "infinite": int((weaker & endless).sum()),
        "unidentified": int(np.isnan(weight).sum()),
    }
    return Ties(first[drawn], second[drawn], weight[drawn], left_out)
