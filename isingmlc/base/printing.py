"""Tables of a summary as text, HTML, LaTeX and comma-separated values."""

from __future__ import annotations

import csv
import html
import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_params

from isingmlc.base import latex
from isingmlc.base.names import display_names

_WIDTH = 78
# Characters for a number.
COLUMN = 10
# Characters for the name of a covariate in a caption.
_GIVEN_NAME = 22


@dataclass(frozen=True)
class Table:
    """Cells of one table of a summary, as text."""

    rows: list[list[str]]
    header: list[str] | None
    title: str | None
    aligns: str
    widths: list[int]
    is_prose: bool = False

    @property
    def width(self) -> int:
        """Characters of a row in text."""
        return sum(self.widths) + len(self.widths) - 1

    def render(self, escape: Callable[[str], str]) -> SimpleTable:
        """Make statsmodels' table, with user-supplied text escaped."""
        form = {
            **fmt_params,
            "data_fmts": ["%s"] * len(self.aligns),
            "data_aligns": self.aligns,
            "colwidths": self.widths,
        }
        return SimpleTable(
            [[escape(cell) for cell in row] for row in self.rows],
            headers=None if self.header is None else [escape(cell) for cell in self.header],
            title=self.title,
            txt_fmt=form,
        )

    def as_latex(self) -> str:
        """Write the table in the way of all our tables."""
        heads = self.header or [""] * len(self.aligns)
        columns = [
            latex.read_text(head, cells, align == "r" and not self.is_prose)
            for head, cells, align in zip(
                heads, zip(*self.rows, strict=True), self.aligns, strict=True
            )
        ]
        # Prose and the head of a summary stand whole; of other tables the first columns are names.
        n_names = len(self.aligns) - len(self.aligns.lstrip("l")) if self.header else 0
        title = self.title
        return latex.write_columns(columns, n_names, title=title, is_float=False)


class IsingSummary(Summary):  # type: ignore[misc]
    """A statsmodels summary of an Ising fit.

    Has `as_text`, `as_html`, `as_latex` and `as_csv`; the text holds neither dates nor times, so
    the same fit prints the same. Names are escaped in HTML and LaTeX.

    Parameters
    ----------
    contents : list of Table
        The tables.
    notes : list of str
        Sentences about what needs attention.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> text = im.IsingModel(data.labels, data.features).fit().summary().as_text()
    >>> print(text.splitlines()[0].strip())
    Ising Model Results
    """

    def __init__(self, contents: list[Table], notes: list[str]) -> None:
        super().__init__()
        self._contents = contents
        self.notes = tuple(notes)
        self.tables = [table.render(str if table.is_prose else shorten_name) for table in contents]
        if notes:
            lines = ["Notes:"]
            for number, note in enumerate(notes, 1):
                mark = f"[{number}] "
                lines += textwrap.wrap(
                    note, _WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark)
                )
            self.add_extra_txt(lines)

    def __repr__(self) -> str:
        return str(self)

    def as_latex(self) -> str:
        r"""Render as LaTeX, every name escaped; it needs ``\usepackage{booktabs,longtable}``.

        Returns
        -------
        str
            The tables and notes.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data).fit()
        >>> res.summary().as_latex()[1:14]
        'begin{center}'
        """
        tables = "\n\n".join(table.as_latex() for table in self._contents)
        listed = "".join(f"\\item {latex.breakable(note)}\n" for note in self.notes)
        if not listed:
            return tables
        return f"{tables}\n\n\\begin{{enumerate}}\\raggedright\n{listed}\\end{{enumerate}}"

    def as_csv(self) -> str:
        """Render as comma-separated values, names quoted if they need it.

        Returns
        -------
        str
            The tables one after the other, then the notes, one per line.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data).fit()
        >>> res.summary().as_csv().splitlines()[1]
        'Labels:,6,No. Observations:,1500'
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for table in self._contents:
            if table.title:
                writer.writerow([table.title])
            rows = [*([table.header] if table.header else []), *table.rows]
            writer.writerows([cell.strip() for cell in row] for row in rows)
        writer.writerows([note] for note in self.notes)
        return text.getvalue()

    def as_html(self) -> str:
        """Render as HTML, every name escaped.

        Returns
        -------
        str
            The tables and notes.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> res = im.IsingModel(data).fit()
        >>> res.summary().as_html().startswith("<table")
        True
        """
        tables = [table.render(html.escape).as_html() for table in self._contents]
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return "\n".join(tables) + (f"\n<p>Notes:</p>\n<ol>{notes}</ol>" if notes else "")


def list_rows(frame: pd.DataFrame, names: list[str], digits: dict[str, str], title: str) -> Table:
    """Tabulate the rows of a frame, names first, then numbers."""
    cells = [
        *(frame[name].astype(str).tolist() for name in names),
        *(
            ["" if value != value else form.format(value) for value in frame[name]]
            for name, form in digits.items()
        ),
    ]
    widths = [
        max(len(shorten_name(cell)) for cell in [name, *column])
        for name, column in zip(names, cells, strict=False)
    ]
    header = [name.ljust(width) for name, width in zip(names, widths, strict=True)]
    return Table(
        [list(row) for row in zip(*cells, strict=True)],
        [*header, *digits],
        title,
        "l" * len(names) + "r" * len(digits),
        widths + [max(COLUMN, len(name)) for name in digits],
    )


def two_columns(
    title: str, left: list[tuple[str, str]], right: list[tuple[str, str]], width: int
) -> Table:
    """Put two lists of names and values side by side."""
    gap = 3
    names = [max(len(name) for name, _ in part) for part in (left, right)]
    room = max(width - sum(names) - gap - 3, 12)
    widths = [names[0], room // 2, gap + names[1], room - room // 2]
    rows = [
        [name, value, " " * gap + other, number]
        for (name, value), (other, number) in zip(left, right, strict=True)
    ]
    return Table(rows, None, title, "lrlr", widths)


def list_covariates(names: Sequence[str], width: int) -> list[Table]:
    """Say what models are adjusted for, in as many lines as that takes."""
    if not names:
        return []
    caption = "Adjusted for:"
    # In the columns of the head, so that LaTeX has both in one table.
    room = width - len(caption) - 3
    lines = textwrap.wrap(", ".join(names), room, break_on_hyphens=False)
    rows = [["" if number else caption, "", "", line] for number, line in enumerate(lines)]
    return [Table(rows, None, None, "lrlr", [len(caption), 0, 0, room], is_prose=True)]


def say_given(names: Sequence[str], width: int = _WIDTH) -> str:
    """Say in a few words what is conditioned on, for a caption."""
    if not names:
        return ""
    short = [shorten_name(name, _GIVEN_NAME) for name in display_names(names)]
    for n_listed in range(len(short), 0, -1):
        n_more = len(short) - n_listed
        more = f" and {n_more} more covariate{'s' * (n_more > 1)}" if n_more else ""
        words = f"given {', '.join(short[:n_listed])}{more}"
        if len(words) <= width:
            return words
    return f"given {len(short)} covariate{'s' * (len(short) > 1)}"


def shorten_name(name: str, width: int = 28) -> str:
    """Cut a long name in the middle: where names are long they often begin alike."""
    return name if len(name) <= width else f"{name[: width // 2]}…{name[1 - width // 2 :]}"


def say_count(number: float) -> str:
    """Write how many there are; of weights that add up to no whole number one digit."""
    # Weights are added up with rounding.
    is_whole = abs(number - round(number)) <= 1e-9 * abs(number)
    return f"{number:,.0f}" if is_whole else f"{number:,.1f}"
