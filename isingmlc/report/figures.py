"""The parts of a report that Bokeh draws. What a click changes is filled in by ``report.js``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from bokeh.core.properties import value
from bokeh.models import (
    CDSView,
    ColumnDataSource,
    FactorRange,
    HoverTool,
    IndexFilter,
    LinearColorMapper,
    PanTool,
    Range1d,
    ResetTool,
    SaveTool,
    TapTool,
    WheelZoomTool,
)
from bokeh.plotting import figure
from matplotlib.colors import LinearSegmentedColormap, to_hex

from isingmlc.base.arrays import FloatArray
from isingmlc.plots.heatmap import COLORS
from isingmlc.plots.layout import HUGE, orbit, place_labels
from isingmlc.plots.style import FAINT, INK, LOWERS, PAPER, RAISES, UNTESTED, wrap_names
from isingmlc.plots.ties import choose_ties
from isingmlc.report.data import FeaturePart, ReportData

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
# Beyond so many labels their names are turned outwards, and pictures need more room.
MANY = 14
# Rows of the heat map that are shown at a time.
PAGE = 40
_ROW = 19
_NAME_LENGTH = 26
_DARK_COLORS = LinearSegmentedColormap.from_list("dark", ["#18222C", "#1F5F8F", "#CFEAFF"])


def label_source(data: ReportData) -> ColumnDataSource:
    """Put names, places on the circle and diagnostics of the labels into columns."""
    results = data.results
    places = _places(data)
    diagnostics = results.diagnostics
    names = list(results.label_names)
    return ColumnDataSource(
        {
            "name": names,
            "short": wrap_names(names, _NAME_LENGTH, 1),
            "x": places[:, 0],
            "y": places[:, 1],
            "prevalence": diagnostics["prevalence"].to_numpy(dtype=float),
            "threshold": results.thresholds.to_numpy(dtype=float),
            "rows": diagnostics["rows"].to_numpy(dtype=float),
            "reason": diagnostics["reason"].tolist(),
        },
        name="labels",
    )


def feature_network(data: ReportData) -> figure:
    """Draw the ties between labels; ``report.js`` fills in the network of a feature."""
    plot = _network("network", "network of a feature", data)
    ties = _ties(data)
    plot.multi_line(
        "xs",
        "ys",
        source=ties,
        line_color="color",
        line_width="width",
        line_alpha="alpha",
        line_dash="dash",
    )
    spokes = _lines(plot, _empty("spokes", [*_ENDS, *_EDGE]))
    nodes = _nodes(plot, _empty("nodes", ["x", "y", *_EDGE]))
    n_labels = len(data.results.label_names)
    _write(plot, "numbers", n_labels, background=True)
    _write(plot, "names", n_labels)
    plot.text(
        "x",
        "y",
        "text",
        source=_empty("centre", ["x", "y", "text"]),
        name="centre-text",
        text_align="center",
        text_baseline="middle",
        text_color=PAPER,
        text_font=value(FONT),
        text_font_size="14px",
        text_font_style="bold",
        **_box(INK, padding=9, border_radius=8),
    )
    edge = [
        ("label", "@label"),
        ("effect", "@effect"),
        ("odds ratio", "@odds"),
        ("statistic", "@statistic"),
        ("p", "@pvalue"),
        ("adjusted p", "@pvalue_adj"),
    ]
    _hover(plot, [spokes, nodes], edge)
    return plot


def label_network(data: ReportData) -> figure:
    """Draw the interactions between labels; the filter ``drawn`` says which are shown."""
    plot = _network("label-network", "label network", data)
    view = CDSView(filter=IndexFilter(name="drawn"))
    lines = _lines(plot, _pairs_of_labels(data), view=view)
    nodes = _nodes(
        plot, _empty("label-nodes", ["x", "y", "size", "fill", "line", "marker", *_LABEL])
    )
    _write(plot, "label-names", len(data.results.label_names))
    _hover(
        plot,
        [nodes],
        [
            ("label", "@label"),
            ("rows with it", "@prevalence"),
            ("threshold", "@threshold"),
            ("rows with information", "@rows"),
            ("tests", "@effect"),
        ],
    )
    _hover(plot, [lines], [("labels", "@first – @second"), ("interaction", "@value")])
    return plot


def pair_chart() -> figure:
    """Make the chart of the products of a feature with pairs of labels, without bars."""
    plot = figure(
        y_range=FactorRange(factors=[], name="pair-names"),
        x_range=Range1d(start=0, end=1, name="pair-range"),
        height=300,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        name="pair-chart",
    )
    _plain(plot)
    bars = plot.hbar(
        y="pair",
        right="statistic",
        height=0.66,
        source=_empty(
            "pairs",
            ["pair", "statistic", "text", "first", "second", "ratio"],
        ),
        color=RAISES,
        name="pair-bars",
    )
    plot.text(
        "statistic",
        "pair",
        "text",
        source=bars.data_source,
        name="pair-texts",
        x_offset=5,
        text_baseline="middle",
        text_font=value(FONT),
        text_font_size="12px",
        text_color=INK,
    )
    plot.xaxis.axis_label = "statistic"
    said = [
        ("labels", "@first × @second"),
        ("statistic", "@statistic{0.000}"),
        ("ratio", "@ratio"),
    ]
    _hover(plot, [bars], said)
    return plot


def heat_map(part: FeaturePart) -> figure:
    """Make the heat map of edges, without cells."""
    labels = wrap_names(list(part.tests.label_names), _NAME_LENGTH, 1)
    rows = min(PAGE, len(part.table))
    longest = max(len(name) for name in labels)
    plot = figure(
        x_range=FactorRange(factors=labels, name="heat-labels"),
        y_range=FactorRange(factors=[], name="heat-features"),
        x_axis_location="above",
        height=_ROW * rows + 7 * min(longest, _NAME_LENGTH) + 30,
        max_width=260 + max(60 * len(labels), 420),
        sizing_mode="stretch_width",
        toolbar_location="right",
        tools=[TapTool(), SaveTool(filename="heat-map")],
        name="heat-map",
    )
    _plain(plot)
    source = _empty("cells", ["x", "y", "shade", "mark", "mark_color", "row", *_EDGE])
    mapper = LinearColorMapper(
        palette=palettes(2)["light"], low=0.0, high=1.0, nan_color="#EFEFEF", name="shades"
    )
    cells = plot.rect(
        "x",
        "y",
        1,
        1,
        source=source,
        name="heat-cells",
        fill_color={"field": "shade", "transform": mapper},
        line_color=PAPER,
    )
    # Hatching is dear, so cells that need it have a source of their own.
    plot.rect(
        "x",
        "y",
        1,
        1,
        source=_empty("untested", ["x", "y"]),
        name="heat-untested",
        fill_color=None,
        line_color=PAPER,
        hatch_pattern="/",
        hatch_color=UNTESTED,
        hatch_scale=6,
        hatch_weight=0.6,
    )
    # A click chooses a feature; no cell is to fade.
    cells.nonselection_glyph = None
    marks = plot.text(
        "x",
        "y",
        "mark",
        source=source,
        text_color="mark_color",
        text_align="center",
        text_baseline="middle",
        text_font=value(FONT),
        text_font_size="9px",
    )
    marks.nonselection_glyph = None
    plot.hbar(
        y="y",
        left=0,
        right="right",
        height=1,
        source=_empty("chosen-row", ["y", "right"]),
        name="heat-chosen",
        fill_color=None,
        line_color=INK,
        line_width=2,
    )
    plot.xaxis.major_label_orientation = "vertical" if len(labels) > 8 else 0.6
    plot.min_border_right = 50
    _hover(
        plot,
        [cells],
        [
            ("feature", "@feature"),
            ("label", "@label"),
            ("effect", "@effect"),
            ("odds ratio", "@odds"),
            ("statistic", "@statistic"),
            ("p", "@pvalue"),
            ("adjusted p", "@pvalue_adj"),
        ],
    )
    return plot


# Columns of an edge: how it is drawn and what a hover says about it.
_EDGE = [
    *("feature", "label", "effect", "odds", "statistic", "pvalue", "pvalue_adj"),
    *("color", "width", "dash", "alpha", "fill", "line", "marker", "size"),
]
_ENDS = ["x0", "y0", "x1", "y1", "from_x", "from_y", "to_x", "to_y"]
_LABEL = ["label", "prevalence", "threshold", "rows", "effect"]


def _empty(name: str, columns: Sequence[str]) -> ColumnDataSource:
    return ColumnDataSource({column: [] for column in columns}, name=name)


def _places(data: ReportData) -> FloatArray:
    """Return the places of the labels, tied ones side by side, in both networks the same."""
    return place_labels(data.results.interactions.to_numpy(), "cluster")


def _network(name: str, file: str, data: ReportData) -> figure:
    """Make an empty picture; its ranges are fitted to the room that names need."""
    many = len(data.results.label_names) > MANY
    plot = figure(
        x_range=Range1d(start=-1.6, end=1.6),
        y_range=Range1d(start=-1.3, end=1.3),
        height=600 if many else 460,
        sizing_mode="stretch_width",
        toolbar_location="right",
        tools=[PanTool(), WheelZoomTool(), ResetTool(), SaveTool(filename=file)],
        active_drag=None,
        active_scroll=None,
        name=name,
    )
    _plain(plot)
    plot.axis.visible = False
    return plot


def _plain(plot: figure) -> None:
    """Take away what is not needed, and set the font."""
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.grid.visible = False
    plot.outline_line_color = None
    plot.min_border = 4
    plot.background_fill_color = None
    plot.border_fill_color = None
    for axis in plot.axis:
        axis.axis_line_color = None
        axis.major_tick_line_color = None
        axis.minor_tick_line_color = None
        axis.major_label_text_font = FONT
        axis.major_label_text_font_size = "12px"
        axis.major_label_text_color = INK
        axis.axis_label_text_font = FONT
        axis.axis_label_text_font_size = "12px"
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_color = FAINT


def _lines(plot: figure, source: ColumnDataSource, **options: Any) -> Any:
    """Draw lines, and give what a hover feels: wider ones that keep off the nodes."""
    plot.segment(
        "x0",
        "y0",
        "x1",
        "y1",
        source=source,
        line_color="color",
        line_width="width",
        line_dash="dash",
        line_alpha="alpha",
        **options,
    )
    return plot.segment(
        "from_x", "from_y", "to_x", "to_y", source=source, line_width=8, line_alpha=0, **options
    )


def _nodes(plot: figure, source: ColumnDataSource) -> Any:
    return plot.scatter(
        "x",
        "y",
        source=source,
        size="size",
        marker="marker",
        fill_color="fill",
        line_color="line",
        line_width=1.6,
    )


def _write(plot: figure, name: str, count: int, *, background: bool = False) -> None:
    """Add texts whose places, turns and colours come from a source."""
    nowhere = np.full(count, np.nan)
    source = ColumnDataSource(
        {
            "x": nowhere,
            "y": nowhere,
            "text": [""] * count,
            "angle": np.zeros(count),
            "align": ["center"] * count,
            "color": [INK] * count,
            "style": ["normal"] * count,
        },
        name=name,
    )
    box = _box(PAPER, background_fill_alpha=0.85, padding=2)
    plot.text(
        "x",
        "y",
        "text",
        source=source,
        name=f"{name}-text",
        angle="angle",
        text_align="align",
        text_baseline="middle",
        text_color="color",
        text_font=value(FONT),
        text_font_size="12px",
        text_font_style="style",
        **(box if background else {}),
    )


def _box(color: str, **options: Any) -> dict[str, Any]:
    """Put a box behind text."""
    return {"background_fill_color": color, **options}


def _hover(plot: figure, renderers: list[Any], tooltips: list[tuple[str, str]]) -> None:
    plot.add_tools(HoverTool(renderers=renderers, tooltips=tooltips, visible=False))


def palettes(n: int) -> dict[str, list[str]]:
    """Return n colours for growing −log10 p: away from the colour of the page, light or dark."""
    share = np.linspace(0, 1, n)
    return {
        "light": [to_hex(color) for color in COLORS(share)],
        "dark": [to_hex(color) for color in _DARK_COLORS(share)],
    }


def _line_styles(weight: FloatArray) -> dict[str, Any]:
    """Say how interactions are drawn: colour and dashes by sign, width and paleness by strength."""
    size = np.abs(weight)
    endless = size > HUGE
    largest = max(size[~endless].max(initial=0.0), np.finfo(float).tiny)
    share = np.where(endless, 0.3, np.minimum(size / largest, 1.0))
    dash = np.where(endless, "dotted", np.where(weight < 0, "dotdash", "solid"))
    return {
        "sign": np.where(weight < 0, -1, 1).astype(np.int8),
        "color": np.where(weight < 0, LOWERS, RAISES).tolist(),
        "width": 0.8 + 3.4 * share,
        "alpha": 0.25 + 0.5 * share,
        "dash": dash.tolist(),
    }


def _say_weights(weight: FloatArray) -> list[str]:
    return [f"{value:.3f}".replace("inf", "∞").replace("-", "−") for value in weight]


def _named(data: ReportData, positions: npt.NDArray[np.intp]) -> list[str]:
    return [data.results.label_names[at] for at in positions]


def _ties(data: ReportData) -> ColumnDataSource:
    """Return the strongest interactions as curves that keep off the feature in the centre."""
    places = _places(data)
    ties = choose_ties(data.results.interactions.to_numpy(), None)
    ends = zip(ties.first, ties.second, strict=True)
    curves = [orbit(places[first], places[second]) for first, second in ends]
    columns: dict[str, Any] = {
        "xs": [curve[:, 0] for curve in curves],
        "ys": [curve[:, 1] for curve in curves],
        **_line_styles(ties.weight),
    }
    # They are the background of the feature's own edges.
    columns["alpha"] *= 0.5
    columns["width"] *= 0.7
    return ColumnDataSource(columns, name="ties")


def _pairs_of_labels(data: ReportData) -> ColumnDataSource:
    """Return all interactions that are known, the weakest first so that strong ones lie above."""
    weights = data.results.interactions.to_numpy()
    first, second = np.triu_indices(len(weights), 1)
    known = ~np.isnan(weights[first, second])
    first, second = first[known], second[known]
    order = np.argsort(np.abs(weights[first, second]), kind="stable")
    first, second = first[order], second[order]
    weight = weights[first, second]
    places = _places(data)
    start, end = places[first], places[second]
    inside = 0.1 * (end - start)
    ends = np.hstack([start, end, start + inside, end - inside])
    return ColumnDataSource(
        {
            **dict(zip(_ENDS, ends.T, strict=True)),
            "first": _named(data, first),
            "second": _named(data, second),
            "weight": weight,
            "value": _say_weights(weight),
            **_line_styles(weight),
        },
        name="interactions",
    )
