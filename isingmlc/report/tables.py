"""The tables of a report: features as Bokeh shows them, and the arrays behind the pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import CDSView, ColumnDataSource, IndexFilter, InlineStyleSheet
from bokeh.models.widgets.tables import (
    DataTable,
    NumberFormatter,
    ScientificFormatter,
    StringFormatter,
    TableColumn,
)

from isingmlc.fitting.testable import Reason
from isingmlc.plots.evidence import MARKS
from isingmlc.report.data import FeaturePart
from isingmlc.report.figures import MANY

_STYLE = """
:host { font-family: inherit; font-size: 13px; }
.slick-header-columns { background: #f4f6f8; }
.slick-header-column, .slick-header-column.ui-state-default { background: #f4f6f8; color: #33404d;
  font-weight: 600; border: 0; border-bottom: 1px solid #d5dce3; padding: 6px 8px; }
.slick-header-column:nth-child(n+3):not(:last-child) .slick-column-name { float: right; }
.slick-cell { border: 0; border-bottom: 1px solid #eef1f4; padding: 4px 8px; color: #222;
  font-variant-numeric: tabular-nums; }
.slick-cell > div { overflow: hidden; text-overflow: ellipsis; }
.slick-row, .slick-row.odd { cursor: pointer; background: #fff; }
.slick-row:hover .slick-cell { background: #eef5fb; }
.slick-cell.selected, .slick-row .slick-cell.selected { background: #d3e7f6; }
.slick-cell.active { border-color: #eef1f4; }
"""


def feature_table(part: FeaturePart) -> DataTable:
    """Make the table of features; the filter ``searched`` says which are shown."""
    table = part.table
    shown = [
        f"{label} {MARKS[sign]}".rstrip() if label else f"– {reason}"
        for label, sign, reason in zip(
            table["strongest"], table["sign"], table["reason"], strict=True
        )
    ]
    source = ColumnDataSource(
        {
            "rank": np.arange(1, len(table) + 1, dtype=np.int32),
            "feature": table["feature"].tolist(),
            "importance": table["importance"].to_numpy(),
            "pvalue": table["pvalue"].to_numpy(),
            "pvalue_adj": table["pvalue_adj"].to_numpy(),
            "strongest": table["strongest"].tolist(),
            "shown": shown,
            "reason": table["reason"].tolist(),
        },
        name="features",
    )
    number: dict[str, Any] = {"text_align": "right", "nan_format": "–"}
    small = ScientificFormatter(precision=2, power_limit_low=-2, **number)
    columns = [
        TableColumn(field="rank", title="#", width=34, formatter=StringFormatter()),
        TableColumn(field="feature", title="Feature", width=172),
        TableColumn(
            field="importance",
            title="Importance",
            width=98,
            formatter=NumberFormatter(format="0,0.00", **number),
            default_sort="descending",
            name="importance-column",
        ),
    ]
    if part.has_pvalues:
        columns += [
            TableColumn(field="pvalue", title="p", width=82, formatter=small, name="p-column"),
            TableColumn(field="pvalue_adj", title="Adjusted p", width=94, formatter=small),
        ]
    columns.append(
        TableColumn(field="shown", title="Strongest label", width=140, name="strongest-column")
    )
    return DataTable(
        source=source,
        columns=columns,
        view=CDSView(filter=IndexFilter(name="searched")),
        index_position=None,
        reorderable=False,
        row_height=28,
        height=570 if len(part.tests.label_names) > MANY else 430,
        sizing_mode="stretch_width",
        margin=0,
        stylesheets=[InlineStyleSheet(css=_STYLE)],
        name="feature-table",
    )


def edge_source(part: FeaturePart) -> ColumnDataSource:
    """Put all edges into flat arrays, feature by feature; a reason is its place in `Reason`."""
    codes = {reason: code for code, reason in enumerate(Reason)}
    cells = part.edges
    numbers = {name: cells[name].ravel() for name in ("statistic", "log10p", "pvalue_adj")}
    return ColumnDataSource(
        {
            **numbers,
            "df": np.nan_to_num(cells["df"]).astype(np.uint16).ravel(),
            "sign": cells["sign"].astype(np.int8).ravel(),
            "reason": np.vectorize(codes.__getitem__, otypes=[np.uint8])(cells["reason"]).ravel(),
        },
        name="edges",
    )


def pair_source(part: FeaturePart) -> ColumnDataSource | None:
    """Put the strongest pairs of labels, if there are any, into flat arrays, feature by feature."""
    if part.pairs is None:
        return None
    return ColumnDataSource(
        {
            "first": part.pairs.first.astype(np.uint16).ravel(),
            "second": part.pairs.second.astype(np.uint16).ravel(),
            "statistic": part.pairs.statistic.ravel(),
        },
        name="all-pairs",
    )
