r"""Tables as LaTeX that compiles: escaped, with booktabs, in parts where a page is too narrow.

A document needs ``\usepackage{booktabs,longtable}``. Widths are measured before LaTeX sees a table,
in the characters of its default font, so that no column ends up off the page: what is too wide is
cut into parts below each other that repeat the names, and long names are broken into lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

# Columns of ours that hold p-values.
_PVALUES = re.compile(r"pvalue|pvalue_adj|\w+_pvalue|pvalue_\w+(?<!_method)|P>\|[zt]\|")
# Columns of ours that say the same in all rows more often than not, and how a note says it.
_NOTES = {
    "adjusted_for": "Adjusted for {}.",
    "pvalue_method": "p-values: {}.",
    "errors": "Standard errors: {}.",
    "estimate": "Estimates: {}.",
    "reason": "Reason: {}.",
}
# What a note need not say; reasons add the one that is none.
IDLE_WORDS: set[str] = {""}
# Lines of a page that a table may fill; longer ones run over several pages.
_PAGE = 36
# The share of a line that one other column of words may take.
_WORDS_SHARE = 0.4

_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After the end of a row these would be its options.
    "[": "{[}",
    "*": "{*}",
    "−": "$-$",
    "–": r"\textendash{}",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "√": r"$\surd$",
    "²": "$^2$",
    "³": "$^3$",
    "°": r"$^\circ$",
}
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu",
    "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon",
    "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi",
    "Ω": "Omega",
}  # fmt: skip
_LATEX = str.maketrans({**_SIGNS, **{sign: f"$\\{name}$" for sign, name in _GREEK.items()}})
_NUMBER = re.compile(r"([-−+]?)(\d+(?:\.\d+)?)(?:e([-+]\d+))?")
# Points of a character at ten points, from above.
_POINTS = {
    **dict.fromkeys("il.,:;!|'`[]", 2.8),
    **dict.fromkeys(" -", 3.4),
    **dict.fromkeys("fjrst()I", 4.0),
    **dict.fromkeys("cez?", 4.5),
    **dict.fromkeys("ago0123456789/*$_", 5.05),
    **dict.fromkeys('bdhknpquvxyJS"{}', 5.6),
    **dict.fromkeys("mM%", 9.2),
}
_OTHER_POINTS = 7.9
_WIDE_POINTS = 10.3


@dataclass(frozen=True)
class _Type:
    """A size of type: how much of it a line holds, in points at ten points."""

    line: float
    gap: float
    command: str
    # The share of a line that the names of rows may take together.
    names_share: float


_SMALL = r"\footnotesize\setlength{\tabcolsep}{4pt}"
# Before a table is cut, its type gets smaller, and its names are broken into shorter lines.
_SIZES = (
    _Type(320.0, 12.0, "", 0.6),
    _Type(382.0, 10.0, _SMALL, 0.6),
    _Type(382.0, 10.0, _SMALL, 0.4),
)


@dataclass(frozen=True)
class Column:
    """A column of a table as text."""

    head: str
    cells: list[str]
    is_number: bool


def escape(text: str) -> str:
    """Write text so that LaTeX prints it as it is."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    # No ligatures: two hyphens are not a dash.
    return re.sub(r"([-`'])(?=\1)", r"\1{}", printable.translate(_LATEX))


def format_pvalue(value: float) -> str:
    """Write a p-value as papers do."""
    if np.isnan(value):
        return "--"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def format_number(value: float, digits: int = 3) -> str:
    """Write a number with some decimals, or as a power of ten if they would not show it."""
    if np.isnan(value):
        return "--"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value and not 0.5 * 10.0**-digits <= abs(value) < 1e7:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def to_latex(
    frame: pd.DataFrame,
    *,
    caption: str | None = None,
    label: str | None = None,
    digits: int = 3,
    holds_pvalues: bool = False,
) -> str:
    """Write a frame as a table."""
    columns, notes, n_names = _read(frame, digits, holds_pvalues)
    return write_columns(columns, n_names, caption=caption, label=label, notes=notes)


def _read(
    frame: pd.DataFrame, digits: int, holds_pvalues: bool
) -> tuple[list[Column], list[str], int]:
    """Turn a frame into text, what all rows share into notes; count the columns of names."""
    columns, notes = [], []
    index = frame.index
    if not isinstance(index, pd.RangeIndex) or index.name is not None:
        for level in range(index.nlevels):
            head = index.names[level]
            cells = [str(value) for value in index.get_level_values(level)]
            columns.append(Column("" if head is None else str(head), cells, False))
    n_names = len(columns)
    is_leading = n_names == 0
    for at, name in enumerate(frame.columns):
        head = " – ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        values = frame.iloc[:, at]
        if head == "log10p" and "pvalue" in frame:
            continue
        column = _column(head, values, digits, holds_pvalues or bool(_PVALUES.fullmatch(head)))
        same = set(column.cells)
        if head in _NOTES and ((len(same) <= 1 and len(frame) > 1) or same <= IDLE_WORDS):
            notes += [_NOTES[head].format(word) for word in same - IDLE_WORDS]
            continue
        is_leading &= not column.is_number
        n_names += is_leading
        columns.append(column)
    # Of words alone the first column names the rows.
    return columns, notes, n_names if n_names < len(columns) else min(1, n_names)


def _column(head: str, values: pd.Series, digits: int, is_pvalue: bool) -> Column:
    if pd.api.types.is_bool_dtype(values):
        return Column(head, ["yes" if value else "no" for value in values], False)
    if not pd.api.types.is_numeric_dtype(values):
        return Column(head, ["" if _is_missing(value) else str(value) for value in values], False)
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = numbers[np.isfinite(numbers)]
    if is_pvalue:
        cells = [format_pvalue(value) for value in numbers]
    elif (finite == np.round(finite)).all() and (np.abs(finite) < 1e15).all():
        cells = [format_number(value, 0) if not np.isfinite(value) else f"{value:.0f}"
                 for value in numbers]  # fmt: skip
    else:
        cells = [format_number(value, digits) for value in numbers]
    return Column(head, cells, True)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def read_text(head: str, cells: Sequence[str], is_number: bool) -> Column:
    """Take a column that is text already, and write its p-values as papers do."""
    stripped = [cell.strip() for cell in cells]
    if _PVALUES.fullmatch(head.strip()):
        stripped = [
            format_pvalue(float(cell)) if _NUMBER.fullmatch(cell) else cell for cell in stripped
        ]
    return Column(head.strip(), stripped, is_number)


def write_columns(
    columns: Sequence[Column],
    n_names: int,
    *,
    caption: str | None = None,
    label: str | None = None,
    notes: Iterable[str] = (),
    title: str | None = None,
    is_float: bool = True,
) -> str:
    """Write columns of text as a table, in parts if a line cannot hold them."""
    has_head = any(column.head for column in columns)
    tried = [_cut_evenly(_fit_to_line(columns, n_names, size), n_names, size) for size in _SIZES]
    parts, size = min(zip(tried, _SIZES, strict=True), key=lambda found: len(found[0]))
    height = sum(_height(part) for part in parts)
    tail = [f"{{\\footnotesize\\raggedright {breakable(note)}\\par}}" for note in notes]
    named = [f"\\caption{{{caption}}}"] if caption else []
    named += [f"\\label{{{label}}}"] if label else []
    lead = [f"\\textbf{{{breakable(title)}}}\\par\\smallskip"] if title else []
    if height > _PAGE:
        tables: list[str] = []
        for number, part in enumerate(parts):
            # What stands above a long table belongs to its first part; the others are no tables
            # of their own.
            first = "".join(named) + r"\\" if named and not number else ""
            tables += _long(part, has_head, first)
            tables += [r"\addtocounter{table}{-1}"] if number or not caption else []
        head = [r"\begin{center}", *lead, r"\end{center}", r"\nopagebreak"] if lead else []
        small = [r"\begingroup", size.command, *tables, r"\endgroup"] if size.command else tables
        return "\n".join([*head, *small, *tail])
    bodies = [line for part in parts for line in [*_tabular(part, has_head), r"\par\medskip"]][:-1]
    bodies = [size.command, *bodies] if size.command else bodies
    if is_float:
        return "\n".join(
            [r"\begin{table}[htbp]", r"\centering", *named, *bodies, *_after(tail), r"\end{table}"]
        )
    return "\n".join([r"\begin{center}", *lead, *bodies, *_after(tail), r"\end{center}"])


def _after(tail: list[str]) -> list[str]:
    return [r"\par\smallskip", *tail] if tail else []


@dataclass(frozen=True)
class _Fitted:
    """A column whose cells are broken into lines that fit."""

    head: list[str]
    cells: list[list[str]]
    is_number: bool
    width: float


def _fit_to_line(columns: Sequence[Column], n_names: int, size: _Type) -> list[_Fitted]:
    """Break long words; numbers stay whole."""
    wide = [max(map(_measure, [column.head, *column.cells])) for column in columns]
    rooms = _share_out(wide[:n_names], size.line * size.names_share - n_names * size.gap)
    rooms += [size.line * _WORDS_SHARE - size.gap] * (len(columns) - n_names)
    fitted = []
    for column, room in zip(columns, rooms, strict=True):
        head = _break(column.head, room)
        cells = [[cell] if column.is_number else _break(cell, room) for cell in column.cells]
        width = max(_measure(line) for lines in [head, *cells] for line in lines)
        fitted.append(_Fitted(head, cells, column.is_number, width))
    return fitted


def _share_out(wanted: list[float], budget: float) -> list[float]:
    """Return each what it wants if that is enough for all; otherwise the widest give way."""
    ascending = sorted(wanted)
    for at, width in enumerate(ascending):
        if width * (len(wanted) - at) > budget:
            cap = budget / (len(wanted) - at)
            return [min(each, cap) for each in wanted]
        budget -= width
    return wanted


def _cut_evenly(columns: list[_Fitted], n_names: int, size: _Type) -> list[list[_Fitted]]:
    """Cut into as few parts as a line allows, none of them much narrower than the others."""
    parts = _cut_into_parts(columns, n_names, size)
    for share in np.arange(0.95, 0.3, -0.05):
        narrower = _cut_into_parts(columns, n_names, replace(size, line=size.line * share))
        if len(narrower) > len(parts):
            break
        parts = narrower
    return parts


def _cut_into_parts(columns: list[_Fitted], n_names: int, size: _Type) -> list[list[_Fitted]]:
    names, others = columns[:n_names], columns[n_names:]
    start = sum(column.width + size.gap for column in names) - size.gap
    parts: list[list[_Fitted]] = [[*names]]
    width = start
    for column in others:
        if len(parts[-1]) > n_names and width + size.gap + column.width > size.line:
            parts.append([*names])
            width = start
        parts[-1].append(column)
        width += size.gap + column.width
    return parts


def _height(part: list[_Fitted]) -> int:
    """Count the lines of a part; rules and space between parts are worth two."""
    heads = max(len(column.head) for column in part)
    rows = zip(*(column.cells for column in part), strict=True)
    return 2 + heads + sum(max(map(len, row)) for row in rows)


def _rows(part: list[_Fitted], has_head: bool) -> tuple[list[str], list[str]]:
    head = [f"{' & '.join(_typeset(column.head, column) for column in part)} \\\\"]
    body = [
        f"{' & '.join(_typeset(cell, column) for cell, column in zip(row, part, strict=True))} \\\\"
        for row in zip(*(column.cells for column in part), strict=True)
    ]
    return ([r"\toprule", *head, r"\midrule"] if has_head else [r"\toprule"]), body


def _layout(part: list[_Fitted]) -> str:
    return f"{{@{{}}{''.join('r' if column.is_number else 'l' for column in part)}@{{}}}}"


def _tabular(part: list[_Fitted], has_head: bool) -> list[str]:
    head, body = _rows(part, has_head)
    begin = f"\\begin{{tabular}}{_layout(part)}"
    return [begin, *head, *body, r"\bottomrule", r"\end{tabular}"]


def _long(part: list[_Fitted], has_head: bool, first: str) -> list[str]:
    head, body = _rows(part, has_head)
    begin = f"\\begin{{longtable}}{_layout(part)}"
    again = [*head, r"\endhead", r"\bottomrule", r"\endlastfoot"]
    start = [first, *head, r"\endfirsthead"] if first else []
    return [begin, *start, *again, *body, r"\end{longtable}"]


def _typeset(lines: list[str], column: _Fitted) -> str:
    if len(lines) == 1:
        return _typeset_line(lines[0], column)
    side = "r" if column.is_number else "l"
    stacked = r"\\".join(escape(line) for line in lines)
    return f"\\begin{{tabular}}[t]{{@{{}}{side}@{{}}}}{stacked}\\end{{tabular}}"


def _typeset_line(cell: str, column: _Fitted) -> str:
    if not column.is_number:
        return escape(cell)
    if cell == "--":
        return cell
    number = _NUMBER.fullmatch(cell)
    if number is None:
        return f"$<${cell[1:]}" if cell.startswith("<") else escape(cell)
    sign, mantissa, power = number.groups()
    sign = sign.replace("−", "-")
    if power is not None:
        return f"${sign}{mantissa}\\times10^{{{int(power)}}}$"
    return f"${sign}{mantissa}$" if sign else mantissa


def _measure(text: str) -> float:
    """Return the points of a line of text at ten points, from above."""
    number = _NUMBER.fullmatch(text)
    if number is None:
        return sum(_points(sign) for sign in text)
    # A minus is wider than a hyphen; times, ten and its power.
    sign = _OTHER_POINTS if number[1] else 0.0
    return sign + 5.05 * len(number[2]) + (40.0 if number[3] else 0.0)


def _points(sign: str) -> float:
    known = _POINTS.get(sign)
    if known is not None:
        return known
    return _OTHER_POINTS if sign.isascii() and sign != "W" else _WIDE_POINTS


def _break(text: str, room: float) -> list[str]:
    """Break text into lines: between words, after signs, and in mid-word only if it must be."""
    if _measure(text) <= room:
        return [text]
    lines = [""]
    for piece in re.findall(r"\s+|[^\W_]+_?|_|[^\w\s]", text):
        if _measure(lines[-1] + piece.rstrip()) <= room:
            lines[-1] += piece
            continue
        if piece.isspace():
            lines.append("")
            continue
        if lines[-1]:
            lines.append("")
        for sign in piece:
            if _measure(lines[-1] + sign) > room:
                lines.append("")
            lines[-1] += sign
    return [line.rstrip() for line in lines if line.strip()] or [""]


def breakable(text: str) -> str:
    """Escape a sentence whose long names may be broken after signs."""
    return "".join(
        escape(word) if len(word) < 20 else r"\allowbreak{}".join(map(escape, _pieces(word)))
        for word in re.findall(r"\s+|\S+", text)
    )


def _pieces(word: str) -> list[str]:
    return re.findall(r"[^\W_]{1,12}|\W|_", word)
