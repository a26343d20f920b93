"""The frame of every report: one HTML file that asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from isingmlc.base.storage import write_file

# Nothing is fetched, and no script runs but those whose hash is listed.
_POLICY = (
    "default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)
_NUMBER = re.compile(r"\d[\d.,]*e-\d+")


def write_page(page: str, path: Path) -> None:
    """Write a page to a file, whole or not at all."""
    # Characters that no text can hold are replaced, not refused.
    content = page.encode("utf-8", "replace")
    write_file(path, lambda file: file.write(content))


def read_part(name: str) -> str:
    """Read a part of the page that is kept as a file."""
    return files("isingmlc.report").joinpath(name).read_text(encoding="utf-8")


def fill_frame(
    template: str, data: Any, facts: Mapping[str, Any], scripts: Sequence[str], **parts: Any
) -> str:
    """Make a page."""
    # No tag can begin inside the text of a script.
    text = json.dumps(facts, allow_nan=False).replace("<", "\\u003c")
    hashes = " ".join(_hash(script) for script in scripts)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(read_part)
    )
    environment.filters["hold"] = _hold_numbers
    return environment.get_template(template).render(
        data=data,
        policy=_POLICY.format(hashes=hashes),
        style=Markup(read_part("report.css")),
        facts=Markup(text),
        scripts=[Markup(script) for script in scripts],
        **parts,
    )


def list_table(frame: pd.DataFrame) -> list[list[str]]:
    """Return a table as rows of text for a CSV file, the head first."""
    cells = [[_write_cell(value) for value in row] for row in frame.astype(object).to_numpy()]
    return [[str(name) for name in frame.columns], *cells]


def _write_cell(value: Any) -> str:
    """Write a cell; a number with six digits, nothing where there is none."""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.6g}"
    return "" if value is None else str(value)


def _hold_numbers(text: str) -> Markup:
    """Keep a line from ending inside a number: 4.4e- says something else than 4.4e-30."""
    return Markup(_NUMBER.sub(r'<span class="number">\g<0></span>', str(escape(text))))


def _hash(script: str) -> str:
    """Name a script in the policy of the page."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
