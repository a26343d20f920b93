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
from isingmlc.plots.layout import boxes_around, orbit
from isingmlc.plots.style import (
    DASH_DOTTED,
    DASHED,
    DOTTED,
    FAINT,
    LOWERS,
    RAISES,
    SMALL_SIZE,
    SOLID,
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
    """Interactions between labels that are drawn.

    Attributes
    ----------
    first, second : ndarray of int
        Pairs of labels.
    weight : ndarray
        Their interactions; infinite where the labels are separated.
    left_out : mapping of str to int
        How many interactions of which kind are not drawn.
    sureness : ndarray, optional
        How sure each is, from 0 to 1: lines are the paler, the less.
    doubtful : ndarray of bool, optional
        Marks of those that may be zero: their lines are broken, and all others are not.
    words : tuple of two str
        What the legend says of lines above zero, and below.
    """

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    weight: FloatArray
    left_out: dict[str, int]
    sureness: FloatArray | None = None
    doubtful: BoolArray | None = None
    words: tuple[str, str] = ("labels attract each other", "labels repel each other")

    @property
    def endless(self) -> BoolArray:
        """Marks of the infinite interactions."""
        return np.asarray(np.isinf(self.weight))

    def legend(self, largest: float | None = None) -> Entries:
        """Say what the lines mean.

        Parameters
        ----------
        largest : float, optional
            The interaction that has the widest line; the largest of these if omitted.

        Returns
        -------
        list of (Artist, str)
            Samples and words, of what occurs only.
        """
        finite, endless = self.weight[~self.endless], self.weight[self.endless]
        repelling = DASH_DOTTED if self.doubtful is None else SOLID
        kinds = (
            ((finite > 0).any(), RAISES, SOLID, self.words[0]),
            ((finite < 0).any(), LOWERS, repelling, self.words[1]),
            ((endless > 0).any(), RAISES, DOTTED, "interaction +∞ (separated labels)"),
            ((endless < 0).any(), LOWERS, DOTTED, "interaction −∞ (separated labels)"),
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
        """The largest finite interaction in absolute value."""
        return float(np.abs(self.weight[~self.endless]).max(initial=_ZERO))

    def draw(
        self, ax: Axes, nodes: FloatArray, *, curved: bool, largest: float | None = None
    ) -> None:
        """Draw the lines, weak ones below and paler.

        Parameters
        ----------
        ax : Axes
            Where to.
        nodes : ndarray, shape (K, 2)
            Where the labels stand.
        curved : bool
            Whether lines go round the centre, or straight.
        largest : float, optional
            The interaction that has the widest line; the largest of these if omitted.
        """
        size = np.abs(self.weight)
        largest = self.largest if largest is None else largest
        shares = np.where(self.endless, 0.2, np.minimum(size / largest, 1.0))
        # Among many lines the weak ones must not hide the strong ones.
        pale = min(0.25, 20 / max(len(size), 1))
        order = np.argsort(shares, kind="stable")
        negative = self.weight < 0
        colors = np.where(negative[:, None], to_rgb(LOWERS), to_rgb(RAISES))
        alphas = pale + (0.65 - pale) * shares
        if self.sureness is not None:
            alphas = _PALEST + (_DARKEST - _PALEST) * self.sureness
        widths = np.where(self.endless, _CAPPED, _width(shares))
        broken = negative if self.doubtful is None else 3 * self.doubtful
        styles = np.where(self.endless, 2, broken)
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
        """Write interactions on their straight lines, off nodes, names and each other.

        Parameters
        ----------
        ax : Axes
            Where to.
        room : Room
            Where labels and their names stand.
        """
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
    """Give the width of a line, in points, by its share of the widest."""
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
    """Choose the interactions to draw.

    Parameters
    ----------
    interactions : ndarray, shape (K, K)
        Symmetric interactions; NaN where the data say nothing.
    min_weight : float or None
        Interactions above it in absolute value are drawn. None takes the strongest, as many as
        there are labels but at least 12, and infinite ones only if they are not more than that.

    Returns
    -------
    Ties
        What to draw.
    """
    first, second = np.triu_indices(len(interactions), 1)
    weight = interactions[first, second]
    size = np.nan_to_num(np.abs(weight), nan=0.0, posinf=np.inf)
    there = size > _ZERO
    drawn = there & (size > (0 if min_weight is None else min_weight))
    endless = np.isinf(size)
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
