"""Summaries as a statistics package prints them: tables, then what needs attention in words."""

from __future__ import annotations

import csv
import html
import io
import textwrap
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.iolib.summary import Summary, summary_return
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_params

from isingmlc.arguments import check_count
from isingmlc.data import BoolArray
from isingmlc.diagnostics import RARE

if TYPE_CHECKING:
    from isingmlc.edge_tests import EdgeTests
    from isingmlc.results import IsingResults

# Up to so many labels every label has a table of its own; beyond, the strongest pairs share one.
MAX_BLOCKS = 8
N_STRONGEST = 20
_WIDTH = 78
_COLUMN = 10
# What LaTeX would take for commands in the notes.
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
    }
)
# More names or pairs than this are counted instead of listed.
_MAX_LISTED = 4
# From this share of determined labels on, or this share of rows with information down, the
# summary recommends a penalty.
_MUCH_DETERMINED = 0.25
_FEW_ROWS = 0.5


@dataclass(frozen=True)
class Table:
    """Cells of one table of a summary, as text.

    Attributes
    ----------
    rows : list of list of str
        The cells; the first one of a row names it.
    header : list of str or None
        Column heads.
    title : str or None
        Title.
    aligns : str
        ``l`` or ``r`` for each column.
    widths : list of int
        Characters for each column in text.
    """

    rows: list[list[str]]
    header: list[str] | None
    title: str | None
    aligns: str
    widths: list[int]

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
        self.tables = [table.render(_shorten) for table in contents]
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
        """Render as LaTeX, every name escaped.

        Returns
        -------
        str
            The tables and notes.
        """
        full = [table.render(_latex_name) for table in self._contents]
        tables: str = summary_return(full, return_fmt="latex")
        notes = [note.translate(_LATEX) for note in self.notes]
        listed = "".join(f"\\item {note}\n" for note in notes)
        return tables + (f"\n\\begin{{enumerate}}\n{listed}\\end{{enumerate}}" if notes else "")

    def as_csv(self) -> str:
        """Render as comma-separated values, names quoted where they need it.

        Returns
        -------
        str
            The tables one after the other, then the notes, one a line.
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
        """
        tables = [table.render(html.escape).as_html() for table in self._contents]
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return "\n".join(tables) + (f"\n<p>Notes:</p>\n<ol>{notes}</ol>" if notes else "")


def summarize(results: IsingResults, alpha: float = 0.05) -> IsingSummary:
    """Summarise a fit.

    Parameters
    ----------
    results : IsingResults
        The fit.
    alpha : float
        One minus the level of the confidence intervals.

    Returns
    -------
    IsingSummary
        Head, coefficient tables, notes.
    """
    frame = results.summary_frame(alpha)
    if len(results.label_names) <= MAX_BLOCKS:
        width = max(len(_shorten(name)) for name in ("const", *results.label_names))
        tables = [_block(label, frame.loc[label], width) for label in results.label_names]
    else:
        tables = [_strongest(frame)]
    head = _head(results, sum(tables[0].widths) + len(tables[0].widths) - 1)
    return IsingSummary([head, *tables], attention(results))


def summarize_edges(edges: EdgeTests, top: int, adjust: str) -> IsingSummary:
    """Summarise the strongest edges of many tests.

    Parameters
    ----------
    edges : EdgeTests
        The tests.
    top : int
        How many edges to list.
    adjust : str
        How p-values are adjusted for multiplicity.

    Returns
    -------
    IsingSummary
        Head, the edges with the smallest p-values, notes.
    """
    frame = edges.to_frame(adjust)
    tested = frame[frame["statistic"].notna()]
    listed = tested.nsmallest(check_count("top", top, 1), "log10p", keep="first")
    columns = ["statistic", "df", "pvalue", "pvalue_adj"]
    names = ["feature", "label", *(["with"] if "with" in frame else [])]
    digits = {"statistic": "{:.3f}", "df": "{:.0f}", "pvalue": "{:.3g}", "pvalue_adj": "{:.3g}"}
    rows = [
        [
            *(row[name] for name in names),
            *(digits[column].format(row[column]) for column in columns),
        ]
        for _, row in listed.iterrows()
    ]
    widths = [
        max(len(_shorten(cell)) for cell in [name, *(row[at] for row in rows)])
        for at, name in enumerate(names)
    ]
    header = [name.ljust(width) for name, width in zip(names, widths, strict=True)]
    table = Table(
        rows,
        [*header, *columns],
        f"The {len(rows)} strongest of {len(tested)} edges",
        "l" * len(names) + "r" * len(columns),
        widths + [_COLUMN] * len(columns),
    )
    kind = {"score": "Score", "wald": "Wald", "lr": "Likelihood-ratio"}[edges.test]
    left = [
        ("Features:", f"{len(edges.features)}"),
        ("Labels:", f"{len(edges.labels)}"),
        ("Interactions:", edges.interactions or "none"),
    ]
    right = [
        ("Edges tested:", f"{len(tested)} of {len(frame)}"),
        ("Distribution:", edges.distribution),
        ("Adjusted p-values:", adjust),
    ]
    width = sum(table.widths) + len(table.widths) - 1
    head = _two_columns(f"{kind} Tests of Feature-Label Edges", left, right, width)
    notes = [f"Null: {edges.null}."]
    for reason, count in frame.loc[frame["statistic"].isna(), "reason"].value_counts().items():
        edges_were = "1 edge was" if count == 1 else f"{count} edges were"
        notes.append(f"{edges_were} not tested: {reason}.")
    if edges.note:
        notes.append(f"{edges.note[0].upper()}{edges.note[1:]}.")
    return IsingSummary([head, table], notes)


def _two_columns(
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


def _head(results: IsingResults, width: int) -> Table:
    settings = results.settings
    method = f"ridge, alpha={settings.alpha:g}" if results.method == "ridge" else results.method
    left = [
        ("Labels:", f"{len(results.label_names)}"),
        ("Features:", f"{len(results.feature_names)}"),
        ("Labelsets:", f"{len(results.model.statistics.counts)}"),
        ("Method:", method),
        ("Intercept:", "yes" if settings.intercept else "no"),
    ]
    right = [
        ("No. Observations:", f"{results.nobs:g}"),
        ("Log pseudo-likelihood:", f"{results.llf:.4f}"),
        ("AIC:", f"{results.aic:.4f}"),
        ("BIC:", f"{results.bic:.4f}"),
        ("Converged:", "yes" if results.converged else "NO"),
    ]
    return _two_columns("Ising Model Results", left, right, width)


def _number(value: float, digits: int) -> str:
    if np.isnan(value):
        return "--"
    return f"{value:.{digits}f}" if np.isfinite(value) else f"{value:g}"


def _cells(names: Iterable[str], frame: pd.DataFrame) -> list[list[str]]:
    digits = (4, 3, 3, 3, 3, 3)
    return [
        [name, *(_number(value, places) for value, places in zip(row, digits, strict=True))]
        for name, row in zip(names, frame.to_numpy(), strict=True)
    ]


def _coefficients(
    corner: str, names: list[str], frame: pd.DataFrame, width: int, title: str | None = None
) -> Table:
    """Tabulate coefficients, the corner above their names."""
    header = [_shorten(corner).ljust(width) if len(corner) <= width else corner, *frame.columns]
    return Table(_cells(names, frame), header, title, "lrrrrrr", [width] + [_COLUMN] * 6)


def _block(label: str, frame: pd.DataFrame, width: int) -> Table:
    """Tabulate the regression of one label on the others."""
    return _coefficients(label, list(frame.index), frame, width)


def _strongest(frame: pd.DataFrame) -> Table:
    """Tabulate the pairs with the largest z-values; all are in ``summary_frame()``."""
    pairs = frame[frame.index.get_level_values("term") != "const"]
    order = pairs["z"].abs().sort_values(ascending=False, kind="stable", na_position="last")
    chosen = pairs.loc[order.index[:N_STRONGEST]]
    names = [f"{label} ~ {term}" for label, term in chosen.index]
    corner = "label ~ other"
    width = max(len(_shorten(name)) for name in [corner, *names])
    title = f"The {len(chosen)} strongest of {len(pairs)} label-label coefficients"
    return _coefficients(corner, names, chosen, width, title)


def _shorten(name: str, width: int = 28) -> str:
    """Cut a long name in the middle: where names are long they often begin alike."""
    return name if len(name) <= width else f"{name[: width // 2]}…{name[1 - width // 2 :]}"


def _latex_name(name: str) -> str:
    # statsmodels escapes the rest.
    return name.replace("\\", "/")


def attention(results: IsingResults) -> list[str]:
    """Say in sentences what a reader of the fit should know.

    Parameters
    ----------
    results : IsingResults
        The fit.

    Returns
    -------
    list of str
        One sentence or two a matter; empty where all is ordinary.
    """
    diagnostics = results.diagnostics
    notes = _about_certain_labels(results)
    varies = (diagnostics["reason"] != "constant-label").to_numpy()
    notes += _about_pairs(results, varies)
    if results.method == "mle":
        notes += _about_lost_rows(diagnostics, results.nobs)
    for label, others in diagnostics["aliased_with"].items():
        if others:
            notes.append(f"{label} is a linear function of {others}.")
    rare = diagnostics.index[diagnostics["rare"]]
    if len(rare):
        notes.append(
            f"{_list(rare)} {'has' if len(rare) == 1 else 'have'} fewer than {RARE} rows of one "
            "kind: large-sample p-values are not to be trusted there."
        )
    failed = diagnostics.index[~diagnostics["converged"]]
    if len(failed):
        notes.append(f"The fit of {_list(failed)} did not converge.")
    if results.method == "ridge":
        notes.append("Standard errors come from the penalised information and are approximate.")
    data = results.model.data
    if data is not None and data.n_dropped:
        notes.append(f"{data.n_dropped} rows with missing values were dropped.")
    return notes


def _about_certain_labels(results: IsingResults) -> list[str]:
    """Name the labels that can not be tested, and why."""
    patterns = results.model.statistics.patterns
    reasons = results.diagnostics["reason"].to_numpy()
    names = np.array(results.label_names, dtype=object)
    notes = []
    for value, text in ((False, "0"), (True, "1")):
        same = names[(reasons == "constant-label") & (patterns[0] == value)]
        if len(same):
            notes.append(f"{_list(same)} {_be(same)} {text} in every row: {_untestable(same)}.")
    determined = np.flatnonzero(reasons == "determined-label")
    rules = {int(at): _rule(patterns, int(at), names) for at in determined}
    for at, rule in rules.items():
        if rule:
            notes.append(f"{names[at]} is {rule}: {_untestable(names[[at]])}.")
    rest = names[[at for at, rule in rules.items() if not rule]]
    if len(rest):
        verb = _be(rest)
        notes.append(f"{_list(rest)} {verb} determined by the other labels: {_untestable(rest)}.")
    return notes


def _rule(patterns: BoolArray, label: int, names: npt.NDArray[np.object_]) -> str:
    """Say how a label follows from the others, where that takes few words."""
    outcome = patterns[:, label]
    others = np.delete(patterns, label, axis=1)
    if np.array_equal(outcome, ~others.any(axis=1)):
        return "1 exactly when no other label is"
    if np.array_equal(outcome, others.any(axis=1)):
        return "1 exactly when some other label is"
    for other, name in enumerate(names):
        if other != label and np.array_equal(outcome, patterns[:, other]):
            return f"1 exactly when {name} is"
        if other != label and np.array_equal(outcome, ~patterns[:, other]):
            return f"1 exactly when {name} is 0"
    return ""


def _about_pairs(results: IsingResults, varies: BoolArray) -> list[str]:
    """Say which labels never meet, and whether every row has one."""
    patterns = results.model.statistics.patterns
    names = np.array(results.label_names, dtype=object)
    together = patterns.T.astype(np.float64) @ patterns
    never = np.triu(together == 0, 1) & np.outer(varies, varies)
    pairs = [f"{names[a]} and {names[b]}" for a, b in zip(*np.nonzero(never), strict=True)]
    effect = ": the interaction runs to −inf" if results.method == "mle" else ""
    notes = []
    if 0 < len(pairs) <= _MAX_LISTED:
        notes += [f"{pair} never occur together{effect}." for pair in pairs]
    elif pairs:
        total = int(varies.sum() * (varies.sum() - 1) / 2)
        effect = effect.replace("the interaction runs", "their interactions run")
        shown = "; ".join(pairs[:_MAX_LISTED])
        notes.append(
            f"{len(pairs)} of {total} pairs of labels never occur together{effect} "
            f"(first: {shown})."
        )
    if patterns.any(axis=1).all():
        notes.append("Every row carries at least one label.")
    return notes


def _about_lost_rows(diagnostics: pd.DataFrame, nobs: float) -> list[str]:
    """Recommend a penalty where separation leaves little to test."""
    tested = diagnostics[diagnostics["reason"] != "constant-label"]
    partly = tested.index[tested["separated"] & ~tested["determined"]]
    notes = []
    if len(partly):
        notes.append(
            f"{_list(partly)} {_be(partly)} certain in part of the rows given the other labels: "
            "coefficients along those directions are infinite, and only the other rows carry "
            "information (see diagnostics)."
        )
    share = float((tested["rows"] / nobs).mean())
    determined = float(tested["determined"].mean())
    if determined >= _MUCH_DETERMINED or share <= _FEW_ROWS:
        notes.append(
            f"On average {share:.0%} of the rows carry information about a label, and "
            f"{tested['determined'].sum()} of {len(tested)} labels cannot be tested at all. To use "
            "every row for every label, fit(method='ridge', alpha=1.0)."
        )
    return notes


def _list(names: Iterable[object]) -> str:
    listed = [str(name) for name in names]
    if len(listed) > _MAX_LISTED + 1:
        return f"{', '.join(listed[:_MAX_LISTED])} and {len(listed) - _MAX_LISTED} other labels"
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


def _be(names: Sized) -> str:
    return "is" if len(names) == 1 else "are"


def _untestable(names: Sized) -> str:
    return f"{'its' if len(names) == 1 else 'their'} edges cannot be tested"
