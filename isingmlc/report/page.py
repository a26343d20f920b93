"""The page of a report: one HTML file with everything in it, which asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.model import Model
from bokeh.resources import Resources
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from isingmlc.base.storage import write_file
from isingmlc.fitting.testable import Reason
from isingmlc.plots.style import FAINT, INK, LOWERS, OPEN, RAISES, UNTESTED, wrap_names
from isingmlc.plots.ties import choose_ties
from isingmlc.report import figures, tables
from isingmlc.report.data import FeaturePart, ReportData, say_power

_COLORS = {
    "raises": RAISES,
    "lowers": LOWERS,
    "open": OPEN,
    "untested": UNTESTED,
    "ink": INK,
    "faint": FAINT,
}
_NAME_LENGTH = 26
# Up to so many pairs of labels all are drawn at first.
_MANY_PAIRS = 45
# Nothing is fetched, and no script runs but those whose hash is listed.
_POLICY = (
    "default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)


def write_page(data: ReportData, path: Path) -> None:
    """Write a report to a file, whole or not at all; see `IsingResults.report`."""
    # Characters that no text can hold are replaced, not refused.
    content = render_page(data).encode("utf-8", "replace")
    write_file(path, lambda file: file.write(content))


def render_page(data: ReportData) -> str:
    """Make the page of `IsingResults.report`: HTML, the same for the same fit."""
    scripts = [*_bokeh_scripts(), _read("report.js")]
    facts = json.dumps(_facts(data), allow_nan=False)
    hashes = " ".join(_hash(script) for script in scripts)
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(_read("page.html")).render(
        data=data,
        part=data.features,
        many=len(data.results.label_names) > figures.MANY,
        labels=_label_rows(data),
        threshold=_threshold(data),
        summary=data.results.summary(data.options.alpha).as_text(),
        colors=_COLORS,
        shades=", ".join(figures.palette(6)),
        smallest=say_power(-_deepest(data.features)),
        policy=_POLICY.format(hashes=hashes),
        style=Markup(_read("report.css")),
        # No tag can begin inside the text of a script.
        facts=Markup(facts.replace("<", "\\u003c")),
        scripts=[Markup(script) for script in scripts],
    )


def _read(name: str) -> str:
    return files("isingmlc.report").joinpath(name).read_text(encoding="utf-8")


def _bokeh_scripts() -> list[str]:
    """Give the parts of BokehJS that the page uses, as text."""
    parts: list[Any] = ["bokeh", "bokeh-widgets", "bokeh-tables"]
    scripts = Resources("inline", components=parts).js_raw
    return [script.replace("\r\n", "\n") for script in scripts]


def _hash(script: str) -> str:
    """Name a script in the policy of the page."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


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
        "colors": _COLORS,
        "reasons": [(reason.value, reason.meaning) for reason in Reason],
        "diagnostics": _table(data),
        "adjustedFor": ", ".join(data.results.adjusted_for),
    }
    if part is not None:
        names = part.table["feature"].tolist()
        facts |= {
            "rowsTotal": part.total,
            "shortFeatures": wrap_names(names, _NAME_LENGTH, 1),
            "largest": max(float(np.nan_to_num(part.edges["statistic"]).max()), 1e-300),
            "deepest": _deepest(part),
            "undirected": part.tests.undirected,
            "withPairs": 0 if part.pairs is None else len(part.pairs.first),
        }
    return facts


def _draw(data: ReportData) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make Bokeh's document, and say which part of it goes where."""
    part = data.features
    shown: list[Model] = [figures.label_network(data)]
    hidden: list[Model | None] = [figures.label_source(data)]
    if part is not None:
        shown += [
            tables.feature_table(part),
            figures.feature_network(data),
            figures.heat_map(part),
        ]
        hidden += [tables.edge_source(part), tables.pair_source(part)]
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
    """Give models numbers in their order: Bokeh counts all that a process ever made."""
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
    """Give the largest −log10 p, at least 1."""
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


def _label_rows(data: ReportData) -> list[dict[str, str]]:
    """Give the diagnostics of the labels as text."""
    return [
        {
            "label": str(label),
            "positives": f"{row['positives']:,.12g}",
            "prevalence": f"{row['prevalence']:.1%}",
            "rows": f"{row['rows']:,.12g}",
            "infinite": str(row["infinite"]),
            "pseudo_r2": "–" if np.isnan(row["pseudo_r2"]) else f"{row['pseudo_r2']:.3f}",
            "reason": row["reason"],
        }
        for label, row in data.results.diagnostics.iterrows()
    ]


def _table(data: ReportData) -> list[list[Any]]:
    """Give the diagnostics of the labels as rows of a table, the head first."""
    frame = data.results.diagnostics.rename_axis("label").reset_index()
    text = frame.astype(object).where(frame.notna(), "")
    return [list(frame.columns), *([str(cell) for cell in row] for row in text.to_numpy())]
