"""Short reports in the common frame: a few sentences, and the tables and pictures of one object."""

from __future__ import annotations

import base64
import io
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc.base.names import display_names, name_writer
from isingmlc.base.printing import say_given
from isingmlc.plots.style import FAINT, INK, OPEN, RAISES, UNTESTED
from isingmlc.report.frame import fill_frame, list_table, read_part, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Rows of a table that are listed; the CSV has all.
_LISTED = 60
# Pixels in an inch, and the share of its own size that a picture is shown in at least.
_PIXELS = 96
_LEAST = 0.75
# A page of 1,280 pixels has room for this.
_WIDEST = 1120
_PACKAGES = ("isingmlc", "numpy", "scipy", "pandas", "statsmodels", "matplotlib")
# Colours of pictures, and those of the dark page in their place; other hues are seen on both.
_IN_THE_DARK = {
    "#000000": "#e6ebf0",
    INK: "#e6ebf0",
    FAINT: "#aab6c2",
    OPEN: "#a5afb9",
    UNTESTED: "#6d7986",
    "#ffffff": "#18222c",
    RAISES: "#2f93d6",
}
_HEADS = {
    "pvalue": "p",
    "pvalue_adj": "Adjusted p",
    "cs": "CS-coefficient",
    "se": "Standard error",
    "score_se": "Standard error",
    "share_se": "Error of share",
    "among_first_se": "Error of share",
    "lam": "Penalty",
}


@dataclass(frozen=True)
class Picture:
    """A picture inside the page."""

    address: str
    least: int


@dataclass(frozen=True)
class Part:
    """A table or a picture, with its title."""

    title: str
    hint: str = ""
    frame: pd.DataFrame | None = None
    picture: Picture | None = None
    described: str = ""
    write: Callable[[str], str] = str

    @property
    def name(self) -> str:
        """What the CSV file is called."""
        return self.title.lower().replace(" ", "-")

    @cached_property
    def listed(self) -> pd.DataFrame:
        """The first rows of the table as text."""
        assert self.frame is not None
        rows = self.frame.head(_LISTED)
        return pd.DataFrame(
            {
                _head(str(name)): [self.write(cell) for cell in _write_column(rows[name])]
                for name in rows
            }
        )


@dataclass(frozen=True)
class ShortReport:
    """All that a short report shows."""

    title: str
    subtitle: str
    cards: Sequence[tuple[str, str]]
    findings: Sequence[str]
    notes: Sequence[str]
    parts: Sequence[Part]
    described: dict[str, str]
    adjusted_for: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()

    notes_head = "Keep in mind"

    @property
    def given(self) -> str:
        """What everything is conditioned on, in a few words; empty without covariates."""
        return say_given(self.adjusted_for)

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """What made the report, and versions."""
        adjusted = {"adjusted for": ", ".join(display_names(self.adjusted_for)) or "nothing"}
        versions = {"Python": platform.python_version()}
        versions |= {name: version(name) for name in _PACKAGES}
        return {"Made from": {**self.described, **adjusted}, "Versions": versions}


def write_short(report: ShortReport, path: Path) -> None:
    """Write a short report to a file, whole or not at all."""
    report = _name_as_people_do(report)
    facts = {
        "tables": {
            part.name: list_table(part.frame) for part in report.parts if part.frame is not None
        },
        "adjustedFor": ", ".join(report.adjusted_for),
    }
    write_page(fill_frame("short.html", report, facts, [read_part("common.js")]), path)


def _name_as_people_do(report: ShortReport) -> ShortReport:
    """Write what a formula made as people do, in sentences and in the tables of the page."""
    write = name_writer([*report.feature_names, *report.adjusted_for])
    return replace(
        report,
        findings=[write(sentence) for sentence in report.findings],
        notes=[write(note) for note in report.notes],
        parts=[replace(part, write=write) for part in report.parts],
    )


def draw(plot: Callable[[], Any]) -> Picture:
    """Draw a picture that goes into a page and is dark where it is, the same for the same plot."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "isingmlc"}):
        figure: Figure = np.ravel(np.array(plot(), dtype=object))[0].figure.canvas.figure
        file = io.BytesIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        plt.close(figure)
    drawn = file.getvalue().replace(b"</svg>", _dark_style().encode("ascii") + b"</svg>")
    content = base64.b64encode(drawn).decode("ascii")
    least = min(int(_LEAST * _PIXELS * figure.get_figwidth()), _WIDEST)
    return Picture(f"data:image/svg+xml;base64,{content}", least)


def _dark_style() -> str:
    """Say how a picture without a ground is coloured on a dark page."""
    rules = [
        f'[style*="{what}: {light.lower()}"] {{ {what}: {dark} !important }}'
        for light, dark in _IN_THE_DARK.items()
        for what in ("fill", "stroke")
    ]
    # Black is what has no colour of its own.
    rules.append(f"svg {{ fill: {_IN_THE_DARK[INK]} }}")
    return f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}</style>"


def join_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Name pairs of labels in one column instead of two."""
    pairs = [f"{a} – {b}" for a, b in zip(frame["first"], frame["second"], strict=True)]
    joined = frame.drop(columns=["first", "second"])
    joined.insert(0, "pair", pd.array(pairs, dtype=object))
    return joined


def _head(name: str) -> str:
    """Write the head of a column as people do."""
    return _HEADS.get(name, name.replace("_", " ").capitalize())


def _write_column(column: pd.Series) -> list[str]:
    """Write the cells of a column as people do."""
    if column.dtype == bool:
        return ["yes" if value else "no" for value in column]
    if not pd.api.types.is_numeric_dtype(column):
        return ["–" if value is None else str(value) for value in column]
    numbers = column.to_numpy(dtype=float)
    if "pvalue" in str(column.name):
        return [_write_pvalue(value) for value in numbers]
    known = numbers[np.isfinite(numbers)]
    is_whole = bool((known == np.round(known)).all() and (np.abs(known) < 1e15).all())
    return [_write_number(value, is_whole) for value in numbers]


def _write_pvalue(value: float) -> str:
    if np.isnan(value):
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _write_number(value: float, is_whole: bool) -> str:
    """Write a whole number, or one with three digits."""
    if np.isnan(value):
        return "–"
    size = abs(value)
    text = f"{size:,.0f}" if is_whole else f"{size:#.3g}".rstrip(".")
    return ("−" if value < 0 else "") + ("∞" if np.isinf(value) else text)
