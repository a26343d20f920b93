"""How a network is to look: places, names, colours and sizes of its labels, scale of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, TypedDict
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like, to_hex
from matplotlib.lines import Line2D

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.networks.centrality import read_communities
from isingmlc.plots.canvas import Places, Room
from isingmlc.plots.layout import LAYOUTS, place_labels, strength
from isingmlc.plots.style import FAINT, INK, PAPER, TITLE_SIZE, Entries, set_title

NODE_SIZES = ("alone", "prevalence", "strength")
# Diameters of nodes in points: of the smallest and the largest, and if all are alike.
_SMALL, _LARGE, _ALIKE = 5.0, 13.0, 8.0
_SAYS = {
    "alone": "the larger, the likelier alone",
    "prevalence": "the larger, the more frequent",
    "strength": "the larger, the stronger tied",
    "given": "the larger, the larger the given value",
}
# Colours of communities, in turn: those of Okabe and Ito that lines do not have.
_PALETTE = ("#009E73", "#CC79A7", "#D55E00", "#56B4E9", INK, "#F0E442", "#8C6D31", FAINT)
# Where the labels of each picture stand, so that another one can have them in the same places.
_DRAWN: WeakKeyDictionary[Axes, tuple[tuple[str, ...], Places]] = WeakKeyDictionary()


class LookOptions(TypedDict, total=False):
    """What pictures of networks take; `IsingResults.plot_label_network` explains it."""

    layout: str | Mapping[str, Any] | Axes
    communities: Any
    colors: Mapping[str, Any] | Sequence[Any] | None
    names: Mapping[str, str] | Sequence[str] | None
    node_size: str | Mapping[str, float] | pd.Series | None
    edge_labels: bool
    min_weight: float | None
    max_weight: float | None
    title: str | None


@dataclass(frozen=True)
class NetworkLook:
    """How a network is to look; `IsingResults.plot_label_network` explains the attributes."""

    layout: str | Mapping[str, Any] | Axes = "circle"
    communities: Any = None
    colors: Mapping[str, Any] | Sequence[Any] | None = None
    names: Mapping[str, str] | Sequence[str] | None = None
    node_size: str | Mapping[str, float] | pd.Series | None = None
    edge_labels: bool = False
    min_weight: float | None = None
    max_weight: float | None = None
    title: str | None = None

    @classmethod
    def of(cls, options: LookOptions, **defaults: Any) -> NetworkLook:
        """Read what a user passed, or raise our error."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(known)}."
                raise exc.DataError(f"networks are not drawn by an argument {name!r}. {hint}")
        return cls(**{**defaults, **options})

    def __post_init__(self) -> None:
        if isinstance(self.layout, str) or not isinstance(self.layout, Mapping | Axes):
            check_option("layout", self.layout, LAYOUTS)
        check_option("edge_labels", self.edge_labels, (True, False))
        if isinstance(self.node_size, str):
            check_option("node_size", self.node_size, NODE_SIZES)
        if self.min_weight is not None and check_number("min_weight", self.min_weight) < 0:
            raise exc.DataError(f"min_weight must not be negative, but is {self.min_weight!r}.")
        if self.max_weight is not None:
            check_number("max_weight", self.max_weight, above=0)

    def display(
        self,
        labels: tuple[str, ...],
        others: tuple[str, ...] = (),
        *,
        of: tuple[str, ...] | None = None,
    ) -> list[str]:
        """Return the names that labels have in the picture."""
        shown = _by_label("names", self.names, labels)
        _check_known("names", shown, (*labels, *others))
        return [str(shown.get(name, name)) for name in (labels if of is None else of)]

    def set_titles(
        self, axes: Sequence[Axes], texts: Sequence[str], given: Sequence[Sequence[str]]
    ) -> None:
        """Title axes by what they show, or as the user says: several of them with one title."""
        if self.title is not None and len(axes) > 1:
            axes[0].figure.suptitle(self.title, fontsize=TITLE_SIZE, parse_math=False)
        for ax, text, covariates in zip(axes, texts, given, strict=True):
            is_own = self.title is not None and len(axes) == 1
            set_title(ax, str(self.title) if is_own else text, covariates)

    def place(self, interactions: FloatArray, labels: tuple[str, ...]) -> Places:
        """Say where the labels are to stand."""
        if isinstance(self.layout, str):
            points = place_labels(interactions, self.layout)
            return Places(points, on_circle=self.layout != "spring")
        if not isinstance(self.layout, Axes):
            return Places(_read_places(self.layout, labels), kept=True)
        if self.layout not in _DRAWN:
            raise exc.DataError(
                "layout must be axes on which a network was drawn, a mapping of labels to "
                f"places, or one of {exc.shorten(LAYOUTS)}, but nothing was drawn on these "
                "axes by this package."
            )
        known, places = _DRAWN[self.layout]
        points = _read_places(dict(zip(known, places.points, strict=True)), labels)
        return replace(places, points=points)

    def frame(self, ax: Axes, labels: tuple[str, ...], room: Room, *, on_circle: bool) -> None:
        """Set the limits of axes, and keep where labels stand for another picture."""
        view = room.frame(ax)
        _DRAWN[ax] = labels, Places(room.nodes, on_circle=on_circle, kept=True, view=view)

    def paint(self, labels: tuple[str, ...]) -> tuple[list[str], Entries]:
        """Return the colour of each label, and what the legend says about colours."""
        given = _by_label("colors", self.colors, labels)
        for name, color in given.items():
            if not is_color_like(color):
                raise exc.DataError(
                    f"colors must hold colours of matplotlib, but that of {name!r} is {color!r}."
                )
        if self.communities is None:
            _check_known("colors", given, labels)
            return [to_hex(given.get(name, FAINT)) for name in labels], []
        members = read_communities(self.communities, labels)
        found = list(dict.fromkeys(members.tolist()))
        _check_known("colors", given, (*found, *labels))
        palette = {
            name: to_hex(given.get(name, _PALETTE[at % len(_PALETTE)]))
            for at, name in enumerate(found)
        }
        colors = [
            to_hex(given.get(name, palette[member]))
            for name, member in zip(labels, members, strict=True)
        ]
        return colors, [(make_node(_ALIKE, palette[name]), str(name)) for name in found]

    def measure(
        self,
        labels: tuple[str, ...],
        interactions: FloatArray,
        thresholds: pd.Series | None,
        prevalence: pd.Series | None,
    ) -> tuple[FloatArray, Entries]:
        """Return the diameter of each node, and what the legend says about sizes."""
        if self.node_size is None:
            return np.full(len(labels), _ALIKE), []
        if isinstance(self.node_size, str):
            kind = self.node_size
            shares = _shares(kind, interactions, thresholds, prevalence)
        else:
            kind, shares = "given", _relative(_read_sizes(self.node_size, labels))
        if shares is None:
            return np.full(len(labels), _ALIKE), []
        sizes = np.sqrt(_SMALL**2 + (_LARGE**2 - _SMALL**2) * np.nan_to_num(shares))
        return np.asarray(sizes), [(make_node(_ALIKE, FAINT), _SAYS[kind])]


def make_node(size: float, color: str) -> Line2D:
    """Return a node; it is placed later, or stands in the legend."""
    node = Line2D([], [], linestyle="none", marker="o", markersize=size, color=color, zorder=4)
    node.set(markeredgecolor=PAPER, markeredgewidth=1.0)
    return node


def _by_label(argument: str, given: Any, labels: tuple[str, ...]) -> dict[str, Any]:
    """Return what belongs to each label, from a mapping or a list in the order of the labels."""
    if given is None:
        return {}
    if isinstance(given, Mapping | pd.Series):
        return dict(given)
    if isinstance(given, str) or np.ndim(given) == 0 or len(given) != len(labels):
        raise exc.DataError(
            f"{argument} must map labels to what they have, or list one for each of the "
            f"{len(labels)} labels in their order, but is {given!r}."
        )
    return dict(zip(labels, given, strict=True))


def _check_known(argument: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise exc.DataError(
            f"{argument} must be for what is drawn, but has {exc.shorten(unknown)}. There are "
            f"{exc.shorten(known)}."
        )


def _read_places(given: Mapping[str, Any], labels: tuple[str, ...]) -> FloatArray:
    lacking = [name for name in labels if name not in given]
    if lacking:
        raise exc.DataError(
            f"layout must have a place for every label, but has none for {exc.shorten(lacking)}."
        )
    try:
        places = np.array([given[name] for name in labels], dtype=np.float64)
    except (TypeError, ValueError):
        places = np.zeros(0)
    if places.shape != (len(labels), 2) or not np.isfinite(places).all():
        raise exc.DataError("layout must map every label to a pair of finite numbers, x and y.")
    return places


def _shares(
    kind: str,
    interactions: FloatArray,
    thresholds: pd.Series | None,
    prevalence: pd.Series | None,
) -> FloatArray | None:
    """Return shares of the largest area; None if what they would come from is not known."""
    if kind == "strength":
        ties = strength(interactions)
        np.fill_diagonal(ties, 0.0)
        return _relative(ties.sum(axis=1))
    source = thresholds if kind == "alone" else prevalence
    if source is None:
        return None
    values = source.to_numpy(dtype=np.float64)
    return np.asarray(1 / (1 + np.exp(-values)) if kind == "alone" else values)


def _relative(values: FloatArray) -> FloatArray:
    largest = np.nanmax(values, initial=0.0)
    return values / largest if largest > 0 else np.zeros(len(values))


def _read_sizes(given: Any, labels: tuple[str, ...]) -> npt.NDArray[np.float64]:
    if not isinstance(given, Mapping | pd.Series):
        raise exc.DataError(
            f"node_size must be one of {exc.shorten(NODE_SIZES)}, a mapping of labels to numbers, "
            f"a Series or None, but is of type {type(given).__name__}."
        )
    lacking = [name for name in labels if name not in given]
    if lacking:
        raise exc.DataError(f"node_size must have every label, but has no {exc.shorten(lacking)}.")
    try:
        values = np.array([given[name] for name in labels], dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(1, -1.0)
    if not (values >= 0).all() or not np.isfinite(values).all():
        raise exc.DataError("node_size must hold finite numbers that are not negative.")
    return values
