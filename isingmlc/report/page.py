"""The page of a report: one HTML file with everything in it, which asks nothing of the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bokeh.document import Document
from bokeh.model import Model
from bokeh.resources import Resources

from isingmlc.base.printing import say_count
from isingmlc.fitting.reasons import Reason
from isingmlc.plots.style import wrap_names
from isingmlc.plots.ties import choose_ties
from isingmlc.report import figures, tables
from isingmlc.report.data import FeaturePart, ReportData, say_power
from isingmlc.report.frame import fill_frame, list_table, read_part, write_page

_NAME_LENGTH = 26
# Up to so many pairs of labels all are drawn at first.
_MANY_PAIRS = 45


def write_report(data: ReportData, path: Path) -> None:
    """Write the report of a fit to a file, whole or not at all; see `IsingResults.report`."""
    write_page(render_page(data), path)


def render_page(data: ReportData) -> str:
    """Make the page of `IsingResults.report`: HTML, the same for the same fit."""
    palettes = figures.palettes(6)
    return fill_frame(
        "page.html",
        data,
        _facts(data),
        [*_bokeh_scripts(), read_part("common.js"), read_part("report.js")],
        part=data.features,
        many=len(data.results.label_names) > figures.MANY,
        labels=_label_rows(data),
        level=f"{100 * (1 - data.options.alpha):.4g}%",
        threshold=_threshold(data),
        summary=data.results.summary(data.options.alpha).as_text(),
        shades={name: ", ".join(colors) for name, colors in palettes.items()},
        smallest=say_power(-_deepest(data.features)),
    )


def _bokeh_scripts() -> list[str]:
    """Return the part of BokehJS that the page uses, as text."""
    parts: list[Any] = ["bokeh"]
    scripts = Resources("inline", components=parts).js_raw
    return [script.replace("\r\n", "\n") for script in scripts]


def _facts(data: ReportData) -> dict[str, Any]:
    """Collect what the script of the page needs."""
    document, render = _draw(data)
    part = data.features
    facts: dict[str, Any] = {
        "document": document,
        "render": render,
        "font": figures.FONT,
        "many": figures.MANY,
        "page": figures.PAGE,
        "alpha": data.options.alpha,
        "critical": None,
        "reasons": [(reason.value, reason.meaning) for reason in Reason],
        "tables": {
            "diagnostics": list_table(data.results.diagnostics.rename_axis("label").reset_index()),
            "interactions": list_table(_interactions(data)),
        },
        "adjustedFor": ", ".join(data.results.adjusted_for),
    }
    if part is not None:
        names = part.table["shown"].tolist()
        facts |= {
            "rowsTotal": part.total,
            "shortFeatures": wrap_names(names, _NAME_LENGTH, 1),
            "largest": max(float(np.nan_to_num(part.edges["statistic"]).max()), 1e-300),
            "deepest": _deepest(part),
            "undirected": part.tests.undirected,
            "withPairs": 0 if part.pairs is None else len(part.pairs.first),
            "pairErrors": None if part.pairs is None else part.pairs.critical.tolist(),
            "palettes": figures.palettes(128),
            "critical": None if part.critical is None else part.critical.tolist(),
        }
    return facts


def _draw(data: ReportData) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make Bokeh's document, and say which part of it goes where."""
    part = data.features
    shown: list[Model] = [figures.label_network(data)]
    hidden: list[Model | None] = [figures.label_source(data)]
    if part is not None:
        shown += [figures.feature_network(data), figures.heat_map(part)]
        hidden += [
            tables.feature_source(part),
            tables.edge_source(part),
            tables.pair_source(part),
        ]
        if part.pairs is not None:
            shown.append(figures.pair_chart())
    document = Document()
    # What is shown comes first: places on the page are told by position.
    for root in [*shown, *filter(None, hidden)]:
        document.add_root(root)
    numbers: dict[str, str] = {}
    drawn = _renumber(document.to_json(deferred=False), numbers)
    roots = {numbers[root.id]: root.name for root in shown}
    return drawn, {"docid": "report", "roots": roots, "root_ids": list(roots)}


def _renumber(value: Any, numbers: dict[str, str]) -> Any:
    """Return models numbers in their order: Bokeh counts all that a process ever made."""
    if isinstance(value, list):
        return [_renumber(item, numbers) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: numbers.setdefault(item, f"p{len(numbers) + 1}")
        if key == "id"
        else _renumber(item, numbers)
        for key, item in value.items()
    }


def _deepest(part: FeaturePart | None) -> float:
    """Return the largest −log10 p, at least 1."""
    return 1.0 if part is None else max(float(np.nan_to_num(-part.edges["log10p"]).max()), 1.0)


def _threshold(data: ReportData) -> dict[str, Any]:
    """Say where the slider begins and ends: at first the strongest interactions are drawn."""
    weights = data.results.interactions.to_numpy()
    pairs = weights[np.triu_indices(len(weights), 1)]
    size = np.abs(pairs[np.isfinite(pairs)])
    largest = float(size.max(initial=0.0)) or 1.0
    ties = choose_ties(weights, None)
    drawn = np.abs(ties.weight[~ties.endless])
    step = 10 ** np.floor(np.log10(largest) - 2)
    weakest = float(drawn.min(initial=largest)) if len(pairs) > _MANY_PAIRS else 0.0
    return {
        "largest": f"{np.ceil(largest / step) * step:g}",
        "step": f"{step:g}",
        "value": f"{np.floor(weakest / step) * step:g}",
        "infinite": int(np.isinf(pairs).sum()),
        "few": not ties.left_out["infinite"],
        "unknown": int(np.isnan(pairs).sum()),
    }


def _label_rows(data: ReportData) -> pd.DataFrame:
    """Return the diagnostics of the labels as text."""
    rows = [
        {
            "Label": str(label),
            "Rows with it": say_count(row["positives"]),
            "Share": f"{row['prevalence']:.1%}",
            "Rows with information": say_count(row["rows"]),
            "Infinite coefficients": str(row["infinite"]),
            "Pseudo R²": "–" if np.isnan(row["pseudo_r2"]) else f"{row['pseudo_r2']:.3f}",
            "Reason": row["reason"],
        }
        for label, row in data.results.diagnostics.iterrows()
    ]
    return pd.DataFrame(rows)


def _interactions(data: ReportData) -> pd.DataFrame:
    """List the interactions of labels, with direction, odds ratios and what is known of errors."""
    table = data.sure.network
    if not len(table):
        weights = data.results.interactions.to_numpy()
        first, second = np.triu_indices(len(weights), 1)
        names = np.array(data.results.label_names, dtype=object)
        weight = weights[first, second]
        table = pd.DataFrame({"first": names[first], "second": names[second], "weight": weight})
    table = table[table["weight"].notna()].rename(columns={"weight": "interaction"})
    size = table["interaction"].to_numpy(dtype=float)
    with np.errstate(over="ignore"):
        odds = np.exp(size)
    table.insert(2, "direction", np.select([size > 0, size < 0], ["attract", "repel"], ""))
    table.insert(4, "odds_ratio", odds)
    return table
