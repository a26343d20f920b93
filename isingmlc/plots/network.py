"""Networks around a feature: its edges to the labels, and the ties between the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import FloatArray, best_first
from isingmlc.plots.canvas import Places, Room, find_room, legend_band, measure
from isingmlc.plots.evidence import MARKS, check_edges, describe_level, find_significant
from isingmlc.plots.layout import boxes_around, overlaps
from isingmlc.plots.look import LookOptions, NetworkLook, make_node
from isingmlc.plots.style import (
    DASHED,
    DOTTED,
    FAINT,
    INK,
    LOWERS,
    OPEN,
    PAPER,
    RAISES,
    SMALL_SIZE,
    SOLID,
    TEXT_SIZE,
    UNTESTED,
    Entries,
    blank,
    check_feature,
    digits,
    make_axes,
    make_panels,
    settle,
    wrap,
    write,
)
from isingmlc.plots.ties import choose_ties
from isingmlc.summaries import TEST_NAMES

if TYPE_CHECKING:
    import numpy.typing as npt

    from isingmlc.results.edge_tests import EdgeTests
    from isingmlc.results.ising import IsingResults

INSIGNIFICANT = ("dashed", "hide")
_COLORS = {1.0: RAISES, -1.0: LOWERS, 0.0: OPEN}
_THIN, _THICK = 0.9, 6.5
# Points by which the ring of a community is wider than its node.
_HALO = 6.0
# Where on an edge its statistic stands: shares of its length, in turn.
_STATIONS = ((0.5,), (0.56, 0.42), (0.6, 0.45, 0.33))


@dataclass(frozen=True)
class _Options:
    """How networks are drawn; see `plot_network`."""

    alpha: float
    adjust: str | None
    insignificant: str
    look: NetworkLook

    @property
    def hides(self) -> bool:
        """Whether edges that are not significant are left out."""
        return self.insignificant == "hide"

    def __post_init__(self) -> None:
        check_option("insignificant", self.insignificant, INSIGNIFICANT)


@dataclass(frozen=True)
class Spokes:
    """The edges of one feature."""

    feature: str
    importance: float
    table: pd.DataFrame

    @property
    def centre(self) -> str:
        """What stands in the centre: the name in lines."""
        return wrap(self.feature, 14, 3)

    def numbers(self, hide: bool) -> list[str]:
        """Write each statistic with a mark for its direction; nothing if none is shown."""
        texts = []
        for row in self.table.itertuples():
            places = 0 if row.statistic >= 99.95 else 1
            shown = row.significant or not (hide or np.isnan(row.statistic))
            texts.append(f"{MARKS[row.sign]} {row.statistic:.{places}f}".strip() if shown else "")
        return texts


def plot_network(
    results: IsingResults,
    feature: str | None = None,
    *,
    edges: EdgeTests | None = None,
    alpha: float = 0.05,
    adjust: str | None = "fdr_bh",
    insignificant: str = "dashed",
    ax: Axes | None = None,
    **look: Unpack[LookOptions],
) -> Axes:
    """Draw the network around one feature; `IsingResults.plot_network` explains the arguments.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_network
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> plot_network(res, "bmi", ax=Figure().subplots()).get_title()
    'Score statistics of bmi (importance 77.6)'
    """
    options = _Options(alpha, adjust, insignificant, NetworkLook.of(look, edge_labels=True))
    tests = _tests(results, edges)
    if feature is None:
        raise exc.DataError(
            f"feature must be named, e.g. plot_network({tests.feature_names[0]!r}). The labels "
            "alone are drawn by plot_label_network()."
        )
    spokes = _spokes(tests, [feature], options)
    ax = make_axes(ax, 7.0, 5.8)
    _draw(results, tests, spokes, options, [ax])
    return ax


def plot_networks(
    results: IsingResults,
    features: Sequence[str] | str = "extremes",
    *,
    edges: EdgeTests | None = None,
    alpha: float = 0.05,
    adjust: str | None = "fdr_bh",
    insignificant: str = "dashed",
    axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
    **look: Unpack[LookOptions],
) -> npt.NDArray[np.object_]:
    """Draw networks side by side; `IsingResults.plot_networks` explains the arguments.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_networks
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> axes = plot_networks(res, "extremes", axes=Figure().subplots(1, 2))
    >>> [ax.get_title().split()[3] for ax in axes]
    ['age', 'household_size']
    """
    options = _Options(alpha, adjust, insignificant, NetworkLook.of(look, edge_labels=True))
    tests = _tests(results, edges)
    names = _extremes(tests) if isinstance(features, str) and features == "extremes" else features
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise exc.DataError(
            "features must name at least one feature, but is empty. Pass names, or 'extremes' for "
            "the most and the least important one."
        )
    spokes = _spokes(tests, names, options)
    panels = make_panels(axes, len(names), "feature")
    _draw(results, tests, spokes, options, panels, one_legend=axes is None)
    return np.array(panels, dtype=object)


def _tests(results: IsingResults, edges: EdgeTests | None) -> EdgeTests:
    """Return the tests to draw, of the labels of the fit."""
    return results.score_test() if edges is None else check_edges(edges, results)


def _extremes(edges: EdgeTests) -> list[str]:
    """Name the most and the least important feature among those that were tested."""
    importance = edges.importance[edges.statistics.notna().any(axis=1)]
    ranked = importance.index[best_first(importance.to_numpy())]
    return [ranked[0], ranked[-1]] if len(ranked) > 1 else list(edges.feature_names[:1])


def _spokes(edges: EdgeTests, features: Sequence[str], options: _Options) -> list[Spokes]:
    """Look up the edges of features."""
    names = [check_feature(feature, edges.feature_names) for feature in features]
    significant = find_significant(edges, options.alpha, options.adjust)
    found = []
    for name in names:
        table = edges[name][["statistic", "reason"]]
        table["sign"] = edges.signs.loc[name]
        table["significant"] = significant[edges.feature_names.index(name)]
        (shown,) = options.look.display(edges.label_names, edges.feature_names, of=(name,))
        found.append(Spokes(shown, float(edges.importance[name]), table))
    return found


def _draw(
    results: IsingResults,
    edges: EdgeTests,
    spokes: list[Spokes],
    options: _Options,
    axes: list[Axes],
    one_legend: bool = False,
) -> None:
    """Draw all networks with one layout and one scale, and one legend or the same under each."""
    look, labels = options.look, results.label_names
    weights = results.interactions.to_numpy()
    ties = choose_ties(weights, look.min_weight)
    colors, said = look.paint(labels)
    prevalence = results.diagnostics["prevalence"]
    sizes = look.measure(labels, weights, _thresholds(results), prevalence)
    entries = [
        *_legend(spokes, options, edges.undirected),
        *ties.legend(look.max_weight),
        *said,
        *sizes[1],
    ]
    for ax in axes:
        ax.set_axis_off()
    kind = f"{TEST_NAMES[edges.test]} statistics"
    titles = [f"{kind} of {one.feature} (importance {digits(one.importance)})" for one in spokes]
    look.set_titles(axes, titles, [edges.adjusted_for] * len(axes))
    band = 0.0
    if one_legend:
        legend_band(axes[0].figure, entries, "outside lower center")
        settle(axes[0])
    else:
        settle(axes[0])
        band = max(legend_band(ax, entries, "lower center") for ax in axes)

    numbers = [
        one.numbers(options.hides) if look.edge_labels else [""] * len(labels) for one in spokes
    ]
    places = look.place(weights, labels)
    shown = look.display(labels, edges.feature_names)
    halos = None if look.communities is None and look.colors is None else colors
    diameter = sizes[0].max() + (0.0 if halos is None else _HALO)
    room, stations, suffixes = _find_places(
        shown, places, axes, spokes, numbers, band, diameter=diameter
    )
    statistics = pd.concat([one.table["statistic"] for one in spokes])
    largest = max(np.nan_to_num(statistics).max(), np.finfo(float).tiny)
    box = {"boxstyle": "round,pad=0.5", "facecolor": INK, "edgecolor": PAPER, "linewidth": 1.5}
    middle = {"ha": "center", "va": "center", "color": PAPER, "zorder": 6}
    for ax, one, after, texts in zip(axes, spokes, suffixes, numbers, strict=True):
        look.frame(ax, labels, room, on_circle=places.on_circle)
        ties.draw(ax, room.nodes, curved=places.on_circle, largest=look.max_weight)
        _draw_spokes(ax, one, room, options, largest, sizes[0])
        if halos is not None:
            _draw_halos(ax, room, halos, sizes[0])
        room.write_names(ax, (~one.table["significant"]).tolist(), after)
        if stations is not None:
            _write_numbers(ax, one, texts, stations)
        write(ax, 0, 0, one.centre, fontsize=TEXT_SIZE, bbox=box, **middle)


def _find_places(
    labels: list[str],
    places: Places,
    axes: list[Axes],
    spokes: list[Spokes],
    numbers: list[list[str]],
    band: float,
    *,
    diameter: float,
) -> tuple[Room, FloatArray | None, list[list[str]]]:
    """Find room for names and statistics: these on the edges, or else beside the names."""
    pad = TEXT_SIZE * axes[0].figure.dpi / 72
    centre = measure(axes[0], [one.centre for one in spokes], TEXT_SIZE).max(axis=0) + pad
    room_for = partial(find_room, axes, labels, band=band, centre=centre, diameter=diameter)
    if places.on_circle:
        nothing = [[""] * len(row) for row in numbers]
        room = room_for(places, suffixes=nothing)
        stations = _stations(axes[0], room, numbers, centre)
        if stations is not None:
            return room, stations, nothing
    beside = [[f"  {number}" if number else "" for number in row] for row in numbers]
    room = room_for(places.centred(), suffixes=beside)
    # Labels that the feature would cover move off, and others make room for them.
    if places.kept and room.covers(centre):
        room = room_for(places.loose(), suffixes=beside)
    return room, None, beside


def _stations(
    ax: Axes, room: Room, numbers: list[list[str]], centre: FloatArray
) -> FloatArray | None:
    """Find places on the edges where no statistic meets another; None if there are none."""
    sizes = np.max([measure(ax, row, SMALL_SIZE, "bold") for row in numbers], axis=0) * 1.05
    for shares in _STATIONS:
        share = np.resize(shares, len(room.nodes))
        places = room.nodes * share[:, None]
        boxes = np.vstack(
            [boxes_around(places * room.unit, sizes), boxes_around(np.zeros((1, 2)), centre[None])]
        )
        if not overlaps(boxes).any():
            return np.asarray(places)
    return None


def _thresholds(results: IsingResults) -> pd.Series | None:
    """Return the thresholds, unless they depend on the values of covariates."""
    return None if results.adjusted_for else results.thresholds


def _draw_halos(ax: Axes, room: Room, colors: list[str], sizes: FloatArray) -> None:
    """Show communities and colours behind nodes, whose own colours say what was found."""
    for node, color, size in zip(room.nodes, colors, sizes, strict=True):
        halo = make_node(size + _HALO, color)
        halo.set(zorder=3.9, data=node[:, None])
        ax.add_line(halo)


def _draw_spokes(
    ax: Axes, spokes: Spokes, room: Room, options: _Options, largest: float, sizes: FloatArray
) -> None:
    """Draw the edges of a feature and the nodes of the labels."""
    for node, row, size in zip(room.nodes, spokes.table.itertuples(), sizes, strict=True):
        untested = np.isnan(row.statistic)
        shown = untested or row.significant or not options.hides
        # What is not drawn leaves no colour behind.
        color = UNTESTED if untested else _COLORS[row.sign] if shown else FAINT
        if shown:
            share = 0.0 if untested else np.sqrt(row.statistic / largest)
            ax.plot(
                [0, node[0]],
                [0, node[1]],
                color=color,
                linestyle=DOTTED if untested else SOLID if row.significant else DASHED,
                linewidth=_THIN + (_THICK - _THIN) * share,
                alpha=0.95 if row.significant else 0.75,
                zorder=2 + share,
                solid_capstyle="butt",
            )
        ax.plot(
            *node,
            marker="X" if untested else "o",
            markersize=size,
            markerfacecolor=color if row.significant or untested else PAPER,
            markeredgecolor=PAPER if untested else INK if row.significant else color,
            markeredgewidth=1.0,
            zorder=4,
        )


def _write_numbers(ax: Axes, spokes: Spokes, numbers: list[str], places: FloatArray) -> None:
    for place, number, row in zip(places, numbers, spokes.table.itertuples(), strict=True):
        if number:
            write(
                ax,
                place[0],
                place[1],
                number,
                fontsize=SMALL_SIZE,
                color=None if row.significant else FAINT,
                fontweight="bold" if row.significant else "normal",
                ha="center",
                va="center",
                bbox=blank(ax),
                zorder=5,
            )


def _legend(spokes: list[Spokes], options: _Options, undirected: str) -> Entries:
    """Say what edges of features mean, of what occurs only."""
    table = pd.concat([one.table for one in spokes])
    tested = table[table["statistic"].notna()]
    drawn = tested[tested["significant"]] if options.hides else tested
    verbs = {1.0: "▲ goes with", -1.0: "▼ goes against", 0.0: undirected}
    directions = {sign: f"{verb} the label" for sign, verb in verbs.items()}
    entries: Entries = [
        (Line2D([], [], color=_COLORS[sign], linewidth=3), text)
        for sign, text in directions.items()
        if (drawn["sign"] == sign).any()
    ]
    if not tested["significant"].all():
        level = describe_level(">", options.alpha, options.adjust)
        dashes = Line2D([], [], color=OPEN, linestyle=DASHED, linewidth=1.4)
        nothing = Line2D([], [], linestyle="none")
        entries.append(
            (nothing, f"edges not drawn: {level}")
            if options.hides
            else (dashes, f"not significant ({level})")
        )
    for reason in table.loc[table["statistic"].isna(), "reason"].unique():
        sample = Line2D([], [], color=UNTESTED, linestyle=DOTTED, linewidth=1.4, marker="X")
        entries.append((sample, f"not tested: {reason}"))
    return entries
