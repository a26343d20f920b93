"""The page that shows all tables and figures of the experiments in one folder."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from isingmlc.experiments.workshop import Workshop, list_versions

DIFFERENCE = "difference"
"""What the names of rows of differences begin with in the column ``value``."""

_QUICK = "A quick look: few simulations, few sizes, small data sets; see the settings."
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper's experiments, run again</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 72rem;
  margin: 2rem auto; padding: 0 1rem; }}
h1, h2 {{ line-height: 1.25; }}
h2 {{ border-top: 1px solid #ccc; margin-top: 3rem; padding-top: 1.5rem; }}
p, ul {{ max-width: 48rem; }}
figure {{ margin: 1.5rem 0; overflow-x: auto; }}
figure img {{ max-width: 100%; }}
figcaption, caption {{ text-align: left; font-weight: 600; margin-bottom: .5rem; }}
table {{ border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .6rem; text-align: right; white-space: nowrap; }}
th {{ border-bottom: 2px solid #222; }}
td {{ border-bottom: 1px solid #ddd; }}
.text {{ text-align: left; }}
.files, details {{ font-size: .875rem; color: #555; }}
</style>
</head>
<body>
<h1>The paper's experiments, run again</h1>
<p>P. Teisseyre, <cite>Feature ranking for multi-label classification using Markov networks</cite>,
Neurocomputing (2016), <a href="https://arxiv.org/abs/1602.07464">arXiv:1602.07464</a>. Values
called <em>paper</em> are printed there, all others were computed by isingmlc.</p>
<ul>
{contents}
</ul>
{sections}
</body>
</html>
"""


@dataclass(frozen=True)
class TableView:
    """A table on the page.

    Attributes
    ----------
    caption : str
        What it shows.
    file : str
        The file with its values.
    digits : int
        Decimals of numbers that are not whole.
    best : bool
        Whether the largest number of each row is set off, but in rows of differences.
    """

    caption: str
    file: str
    digits: int = 3
    best: bool = False


@dataclass(frozen=True)
class FigureView:
    """A figure on the page.

    Attributes
    ----------
    caption : str
        What it shows.
    name : str
        Name of its files without their endings.
    """

    caption: str
    name: str


@dataclass(frozen=True)
class Section:
    """What one part of the experiments adds to the page.

    Attributes
    ----------
    title : str
        Its title.
    text : sequence of str
        Paragraphs.
    settings : mapping
        How it was computed.
    tables : sequence of TableView
        Its tables.
    figures : sequence of FigureView
        Its figures.
    """

    title: str
    text: Sequence[str]
    settings: Mapping[str, Any]
    tables: Sequence[TableView] = field(default_factory=tuple)
    figures: Sequence[FigureView] = field(default_factory=tuple)


def keep_section(workshop: Workshop, part: str, section: Section, quick: bool) -> None:
    """Keep what a part adds to the page, with seed, versions and warnings.

    Parameters
    ----------
    workshop : Workshop
        Where to.
    part : str
        The part.
    section : Section
        What it adds.
    quick : bool
        Whether it is only a quick look.
    """
    kept = {
        **asdict(section),
        "quick": quick,
        "seed": workshop.seed,
        "versions": list_versions(),
        "warned": workshop.warned,
    }
    workshop.write_text(_section_file(part), json.dumps(kept, indent=1))


def write_index(workshop: Workshop, parts: Iterable[str]) -> None:
    """Write the page with all parts that are there, of this run and of earlier ones.

    Parameters
    ----------
    workshop : Workshop
        Where to.
    parts : iterable of str
        All parts, in the order of the page.
    """
    found = {
        part: json.loads((workshop.out / _section_file(part)).read_bytes())
        for part in parts
        if (workshop.out / _section_file(part)).is_file()
    }
    contents = "\n".join(
        f'<li><a href="#{part}">{html.escape(kept["title"])}</a></li>'
        for part, kept in found.items()
    )
    sections = "\n".join(_show_section(workshop, part, kept) for part, kept in found.items())
    workshop.write_text("index.html", _PAGE.format(contents=contents, sections=sections))


def _section_file(part: str) -> str:
    return f"work/sections/{part}.json"


def _show_section(workshop: Workshop, part: str, kept: Mapping[str, Any]) -> str:
    pieces = [f'<h2 id="{part}">{html.escape(kept["title"])}</h2>']
    if kept["quick"]:
        pieces.append(f"<p><strong>{_QUICK}</strong></p>")
    pieces += [f"<p>{html.escape(paragraph)}</p>" for paragraph in kept["text"]]
    pieces += [_show_figure(FigureView(**view)) for view in kept["figures"]]
    pieces += [_show_table(workshop, TableView(**view)) for view in kept["tables"]]
    settings = {**kept["settings"], "seed": kept["seed"]}
    pieces += [
        _show_list("Settings", (f"{name}: {_plain(value)}" for name, value in settings.items())),
        _show_list("Versions", (f"{name} {number}" for name, number in kept["versions"].items())),
    ]
    if kept["warned"]:
        lines = (
            f"{category}, in {len(messages)} piece(s) of work, the first: {messages[0]}"
            for category, messages in kept["warned"].items()
        )
        pieces.append(_show_list("Warnings", lines))
    return "\n".join(pieces)


def _show_figure(view: FigureView) -> str:
    name, caption = html.escape(view.name), html.escape(view.caption)
    return (
        f"<figure><figcaption>{caption}</figcaption>\n"
        f'<img src="{name}.png" alt="{caption}">\n'
        f'<p class="files"><a href="{name}.png">{name}.png</a>, '
        f'<a href="{name}.svg">{name}.svg</a></p></figure>'
    )


def _show_table(workshop: Workshop, view: TableView) -> str:
    # Names such as "None" are names.
    frame = pd.read_csv(workshop.out / view.file, keep_default_na=False, na_values=[""])
    texts = {name: _cells(frame[name], view.digits) for name in frame}
    kinds = {
        name: "" if pd.api.types.is_numeric_dtype(frame[name]) else ' class="text"'
        for name in frame
    }
    best = _best_cells(frame) if view.best else set()
    head = "".join(f"<th{kinds[name]}>{html.escape(str(name))}</th>" for name in frame)
    rows = [
        "".join(
            f"<td{kinds[name]}>{_emphasise(texts[name][row], (row, name) in best)}</td>"
            for name in frame
        )
        for row in range(len(frame))
    ]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    file = html.escape(view.file)
    return (
        f"<figure><table><caption>{html.escape(view.caption)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n"
        f'<p class="files"><a href="{file}">{file}</a></p></figure>'
    )


def _cells(column: pd.Series, digits: int) -> list[str]:
    """Write the cells of a column; whole numbers without decimals, missing ones as a dash."""
    if not pd.api.types.is_numeric_dtype(column):
        return [html.escape(str(value)) if pd.notna(value) else "" for value in column]
    whole = (column.dropna() % 1 == 0).all()
    form = f"{{:.{0 if whole else digits}f}}"
    return [form.format(value).replace("-", "−") if pd.notna(value) else "–" for value in column]


def _best_cells(frame: pd.DataFrame) -> set[tuple[int, str]]:
    numbers = frame.select_dtypes("number")
    rows = frame.index[~frame["value"].str.startswith(DIFFERENCE)]
    is_best = numbers.eq(numbers.max(axis=1), axis=0).loc[rows]
    return {(row, name) for row in rows for name in numbers if is_best.loc[row, name]}


def _emphasise(text: str, is_best: bool) -> str:
    return f"<strong>{text}</strong>" if is_best else text


def _show_list(title: str, lines: Iterable[str]) -> str:
    items = "\n".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<details><summary>{title}</summary>\n<ul>\n{items}\n</ul></details>"


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
