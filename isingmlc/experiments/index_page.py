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

_QUICK = "A quick look: few simulations, few sizes, small data sets; see the settings."
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper's experiments, run again</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; }}
p, ul {{ max-width: 48rem; }}
figure {{ margin: 1.5rem 0; overflow-x: auto; }}
figure img {{ max-width: 100%; }}
figcaption {{ font-weight: 600; margin-bottom: .5rem; }}
table {{ border-collapse: collapse; font-size: .875rem; }}
th, td {{ padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }}
.files, details {{ font-size: .875rem; }}
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
class Section:
    """What one part of the experiments adds to the page: tables and figures by caption."""

    title: str
    text: Sequence[str]
    settings: Mapping[str, Any]
    tables: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)


def keep_section(workshop: Workshop, part: str, section: Section, quick: bool) -> None:
    """Keep what a part adds to the page, with seed, versions and warnings."""
    kept = {
        **asdict(section),
        "quick": quick,
        "seed": workshop.seed,
        "versions": list_versions(),
        "warned": workshop.warned,
    }
    workshop.write_text(_section_file(part), json.dumps(kept, indent=1))


def write_index(workshop: Workshop, parts: Iterable[str]) -> None:
    """Write the page with all parts that are there, of this run and of earlier ones."""
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
    for caption, name in kept["figures"].items():
        shown = f'<img src="{name}.png" alt="{html.escape(caption)}">'
        pieces.append(_show(caption, shown, f"{name}.png", f"{name}.svg"))
    for caption, file in kept["tables"].items():
        # Names such as "None" are names.
        frame = pd.read_csv(workshop.out / file, keep_default_na=False, na_values=[""])
        shown = frame.to_html(index=False, border=0, na_rep="–", float_format="{:.4g}".format)
        pieces.append(_show(caption, shown, file))
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


def _show(caption: str, shown: str, *files: str) -> str:
    """Show a figure or a table with links to its files."""
    links = ", ".join(f'<a href="{file}">{file}</a>' for file in files)
    return (
        f"<figure><figcaption>{html.escape(caption)}</figcaption>\n{shown}\n"
        f'<p class="files">{links}</p></figure>'
    )


def _show_list(title: str, lines: Iterable[str]) -> str:
    items = "\n".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<details><summary>{title}</summary>\n<ul>\n{items}\n</ul></details>"


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
