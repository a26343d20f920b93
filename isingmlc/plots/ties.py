"""Interactions between labels as lines: which ones are drawn, how, and what the legend says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.plots.layout import orbit
from isingmlc.plots.style import DASH_DOTTED, DOTTED, LOWERS, RAISES, SOLID, Entries

# Widths in points; infinite interactions have the last, whatever the others are.
_THIN, _THICK, _CAPPED = 0.5, 3.0, 1.2
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
    """

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    weight: FloatArray
    left_out: dict[str, int]

    @property
    def endless(self) -> BoolArray:
        """Marks of the infinite interactions."""
        return np.asarray(np.isinf(self.weight))

    def legend(self) -> Entries:
        """Say what the lines mean.

        Returns
        -------
        list of (Artist, str)
            Samples and words, of what occurs only.
        """
        finite, endless = self.weight[~self.endless], self.weight[self.endless]
        kinds = (
            ((finite > 0).any(), RAISES, SOLID, "labels attract each other"),
            ((finite < 0).any(), LOWERS, DASH_DOTTED, "labels repel each other"),
            ((endless > 0).any(), RAISES, DOTTED, "interaction +∞ (separated labels)"),
            ((endless < 0).any(), LOWERS, DOTTED, "interaction −∞ (separated labels)"),
        )
        entries: Entries = [
            (Line2D([], [], color=color, linestyle=style, linewidth=1.6, alpha=0.7), words)
            for occurs, color, style, words in kinds
            if occurs
        ]
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
        widths = np.where(self.endless, _CAPPED, _THIN + (_THICK - _THIN) * shares)
        styles = np.where(self.endless, 2, negative)
        ends = zip(nodes[self.first[order]], nodes[self.second[order]], strict=True)
        lines = LineCollection(
            [orbit(*pair) if curved else np.array(pair) for pair in ends],
            colors=np.column_stack([colors, alphas])[order],
            linewidths=widths[order],
            linestyles=[(SOLID, DASH_DOTTED, DOTTED)[style] for style in styles[order]],
            zorder=1,
        )
        ax.add_collection(lines, autolim=False)


def choose_ties(interactions: FloatArray, threshold: float | None) -> Ties:
    """Choose the interactions to draw.

    Parameters
    ----------
    interactions : ndarray, shape (K, K)
        Symmetric interactions; NaN where the data say nothing.
    threshold : float or None
        Interactions above it in absolute value are drawn. None takes the strongest, as many as
        there are labels but at least 12, and infinite ones only if they are not more than that.

    Returns
    -------
    Ties
        What to draw.

    Raises
    ------
    DataError
        When `threshold` is negative or no number.
    """
    if threshold is not None and check_number("threshold", threshold) < 0:
        raise exc.DataError(f"threshold must not be negative, but is {threshold!r}.")
    first, second = np.triu_indices(len(interactions), 1)
    weight = interactions[first, second]
    size = np.nan_to_num(np.abs(weight), nan=0.0, posinf=np.inf)
    there = size > _ZERO
    drawn = there & (size > (0 if threshold is None else threshold))
    endless = np.isinf(size)
    if threshold is None:
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
