r"""The ARFF grammar: declarations, dense rows and sparse rows, quoting, missing values.

A table is read as numbers. A cell of a category ("nominal" in ARFF) is the position of its value
in the list that the attribute declares, so that what a sparse row leaves out is 0 for numbers and
categories alike: ARFF says that an omitted category is the *first* of its list.

liac-arff, the reader that Python has, was measured and is not used: it leaves the backslash in
``'Brown Creeper\'s'`` and cuts ``'it\''`` short, so that names do not match the label list; it
refuses a tab after ``@attribute``; it keeps the last of two values for one
column of a sparse row and reads ``1_0`` as ten, both without a word; and its errors do not name the
attribute. SciPy's reader knows no sparse rows. The tests compare this reader with liac-arff on what
both can read.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import FloatArray
from isingmlc.datasets._files import existing_file, file_error, read_lines

# No two parts that follow each other in a pattern may match the same character: trying every
# place where one ends and the other begins takes the square of the length of a line.
_VALUE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,{}'"%][^\s,{}]*"""
_RELATION = re.compile(r"@relation\b\s*(.*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"@attribute\s+({_VALUE})\s*(.*)", re.IGNORECASE)
_NUMERIC = re.compile(r"(?:numeric|real|integer)\s*(?:\[[^\]]*\]\s*)?(?:%.*)?", re.IGNORECASE)
_TEXT = re.compile(r"(?:string|date)\b.*", re.IGNORECASE)
_ITEM = re.compile(rf"\s*({_VALUE})(\s*)")
_ENTRY = re.compile(rf"\s*(\+?\d+)\s+({_VALUE})\s*", re.ASCII)
_END_OF_ROW = re.compile(r"(?:%.*)?")
_END_OF_LIST = re.compile(r"\}\s*(?:%.*)?")
_NO_ENTRIES = re.compile(r"\{\s*\}\s*(?:%.*)?")
_OPEN_QUOTE = re.compile(r"""(?:\d+\s+)?['"]""", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:nan|inf|infinity)",
    re.IGNORECASE | re.ASCII,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_NEEDS_CARE = re.compile(r"""['"?\\\t%_]|[^\x00-\x7f]""")
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_QUOTE_HINT = "Put names and values that hold spaces or any of , { } % in quotes."
_SPARSE_HINT = "A sparse row is written {column value, column value, …}."


@dataclass(frozen=True)
class Attribute:
    """One column that a file declares."""

    name: str
    kind: Literal["number", "category", "text"]
    values: tuple[str, ...] = ()

    @cached_property
    def codes(self) -> dict[str, float]:
        """The number of each value."""
        return {value: float(code) for code, value in enumerate(self.values)}


@dataclass(frozen=True)
class ArffTable:
    """What an ARFF file holds, as numbers."""

    path: Path
    relation: str
    attributes: tuple[Attribute, ...]
    cells: Any
    lines: tuple[int, ...]


@dataclass(frozen=True)
class _Place:
    """A line of a file."""

    path: Path
    line: int

    def error(self, problem: str) -> exc.FileError:
        return file_error(self.path, problem, self.line)


_Row = tuple[_Place, str]
_Encoder = Callable[[str], float]


def read_arff(path: str | PathLike[str], encoding: str = "utf-8") -> ArffTable:
    """Read an ARFF file, dense or sparse."""
    path = existing_file(path)
    lines = read_lines(path, encoding)
    if not any(line.strip() for line in lines):
        raise file_error(path, "the file is empty.")
    numbered = iter([(_Place(path, number), line.strip()) for number, line in enumerate(lines, 1)])
    relation, attributes = _read_header(path, numbered)
    rows = [(place, text) for place, text in numbered if text and not text.startswith("%")]
    if not rows:
        raise file_error(path, "there are no rows after @data. The file may be truncated.")
    read_rows = _read_sparse if rows[0][1].startswith("{") else _read_dense
    return ArffTable(
        path=path,
        relation=relation,
        attributes=attributes,
        cells=read_rows(rows, attributes),
        lines=tuple(place.line for place, _ in rows),
    )


def _unquote(text: str) -> str:
    if text[0] not in "'\"":
        return text
    return _ESCAPE.sub(_unescape, text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _UNESCAPED.get(code, code)


def _read_header(path: Path, lines: Iterator[_Row]) -> tuple[str, tuple[Attribute, ...]]:
    """Read up to and including the @data line."""
    relation = ""
    attributes: dict[str, Attribute] = {}
    for place, text in lines:
        if not text or text.startswith("%"):
            continue
        keyword = text.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            if not attributes:
                raise place.error("@data comes before any @attribute: there are no columns.")
            return relation, tuple(attributes.values())
        if match := _RELATION.fullmatch(text):
            named = _ITEM.match(match[1]) if match[1][:1] in ("'", '"') else None
            relation = _unquote(named[1]) if named else match[1]
        elif keyword.startswith("@attribute"):
            attribute = _read_attribute(place, text)
            if attribute.name in attributes:
                raise place.error(f"attribute {attribute.name!r} is declared a second time.")
            attributes[attribute.name] = attribute
        else:
            raise place.error(
                f"{_cut(text)} is not part of an ARFF header. Before the rows there may be "
                "@relation, @attribute, @data and comments that start with %."
            )
    raise file_error(path, "there is no @data line. The file may be truncated.")


def _read_attribute(place: _Place, text: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise _unreadable(place, text, len("@attribute"))
    name, kind = _unquote(match[1]), match[2]
    if _NUMERIC.fullmatch(kind):
        return Attribute(name, "number")
    if _TEXT.fullmatch(kind):
        return Attribute(name, "text")
    if not kind.startswith("{"):
        raise place.error(
            f"attribute {name!r} must be numeric, real, integer, string, date or a list of values "
            f"in braces, but is {_cut(kind)}."
        )
    values = ["?" if value is None else value for value in _split(place, kind, 1, "}")]
    repeated = [value for value, count in Counter(values).items() if count > 1]
    if repeated:
        raise place.error(f"attribute {name!r} lists {exc.shorten(repeated)} more than once.")
    return Attribute(name, "category", tuple(values))


def _split(place: _Place, text: str, at: int = 0, closing: str = "") -> list[str | None]:
    """Take values apart from `at` on, with their quotes off and None for a bare question mark."""
    values: list[str | None] = []
    ends = _END_OF_LIST if closing else _END_OF_ROW
    while match := _ITEM.match(text, at):
        values.append(None if match[1] == "?" else _unquote(match[1]))
        at = match.end()
        if ends.fullmatch(text, at):
            return values
        if text[at : at + 1] == ",":
            at += 1
        elif "\t" not in match[2]:  # a tab separates as a comma does
            break
    raise _unreadable(place, text, at, closing)


def _unreadable(
    place: _Place, text: str, at: int, closing: str = "", hint: str = _QUOTE_HINT
) -> exc.FileError:
    """Say what is wrong with what stands at `at`."""
    rest = text[at:].strip()
    if _OPEN_QUOTE.match(rest):
        problem = f"a quote is opened and not closed: {_cut(rest)}."
    elif closing not in rest:
        problem = "the brace { is not closed. The file may be truncated."
    elif not rest:
        problem = "the line ends where a value is wanted. The file may be truncated."
    elif rest[0] == ",":
        problem = "there is no value between two commas. Write ? for a missing value."
    else:
        problem = f"{_cut(rest)} is not understood here. {hint}"
    return place.error(problem)


def _cut(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")


def _encode(place: _Place, attribute: Attribute, value: str | None) -> float:
    """Turn one cell into its number."""
    if value is None or attribute.kind == "text":
        return np.nan
    if attribute.kind == "number":
        if not _NUMBER.fullmatch(value):
            raise place.error(f"attribute {attribute.name!r} wants a number, not {_cut(value)}.")
        return float(value)
    if value not in attribute.codes:
        raise place.error(
            f"attribute {attribute.name!r} has no value {_cut(value)}; it was declared with "
            f"{exc.shorten(attribute.values)}."
        )
    return attribute.codes[value]


def _encoders(attributes: Sequence[Attribute]) -> list[_Encoder]:
    """Return the quick way to a number for each column; it fails if `_encode` must look."""
    return [
        float if attribute.kind == "number" else attribute.codes.__getitem__
        for attribute in attributes
    ]


def _read_dense(rows: Sequence[_Row], attributes: Sequence[Attribute]) -> FloatArray:
    encoders = _encoders(attributes)
    # It grows with what is read, so that a short file cannot ask for much memory.
    cells = array("d")
    for place, text in rows:
        if not _NEEDS_CARE.search(text):
            try:
                values = zip(encoders, text.split(","), strict=True)
                cells.extend([encode(value) for encode, value in values])
                continue
            except (ValueError, KeyError):
                pass
        cells.extend(_dense_row(place, text, attributes))
    return np.frombuffer(cells).reshape(len(rows), len(attributes))


def _dense_row(place: _Place, text: str, attributes: Sequence[Attribute]) -> list[float]:
    """Read a row with care: quotes, missing values, and what is wrong with it."""
    if text.startswith("{"):
        raise place.error("this row is sparse, in braces, but the rows before it are not.")
    values = _split(place, text)
    if len(values) != len(attributes):
        raise place.error(
            f"the row has {len(values)} values, but {len(attributes)} attributes are declared."
        )
    return [
        _encode(place, attribute, value)
        for attribute, value in zip(attributes, values, strict=True)
    ]


def _read_sparse(rows: Sequence[_Row], attributes: Sequence[Attribute]) -> Any:
    encoders = _encoders(attributes)
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for place, text in rows:
        entries = _quick_entries(text, encoders)
        if entries is None:
            entries = _sparse_row(place, text, attributes)
        columns += entries
        values += entries.values()
        ends.append(len(columns))
    cells = sparse.csr_array(
        (np.array(values, dtype=np.float64), np.array(columns, dtype=np.int32), np.array(ends)),
        shape=(len(rows), len(attributes)),
    )
    cells.sort_indices()
    cells.eliminate_zeros()
    return cells


def _quick_entries(text: str, encoders: Sequence[_Encoder]) -> dict[int, float] | None:
    """Read a plain sparse row; None if `_sparse_row` must look."""
    if _NEEDS_CARE.search(text) or not (text.startswith("{") and text.endswith("}")):
        return None
    entries: dict[int, float] = {}
    pairs = text[1:-1].split(",")
    try:
        for pair in pairs:
            column, value = pair.split()
            entries[int(column)] = encoders[int(column)](value)
    except (ValueError, KeyError, IndexError):
        return None
    return entries if len(entries) == len(pairs) and min(entries) >= 0 else None


def _sparse_row(place: _Place, text: str, attributes: Sequence[Attribute]) -> dict[int, float]:
    """Read a row with care: quotes, missing values, and what is wrong with it."""
    if not text.startswith("{"):
        raise place.error("this row is not sparse, but the rows before it are in braces.")
    entries: dict[int, float] = {}
    if _NO_ENTRIES.fullmatch(text):
        return entries
    at = 1
    while match := _ENTRY.match(text, at):
        column = int(match[1])
        if column >= len(attributes):
            raise place.error(
                f"there is no column {column}: {len(attributes)} attributes are "
                "declared, counted from 0."
            )
        if column in entries:
            raise place.error(f"column {column} ({attributes[column].name!r}) is given twice.")
        value = None if match[2] == "?" else _unquote(match[2])
        entries[column] = _encode(place, attributes[column], value)
        at = match.end()
        if _END_OF_LIST.fullmatch(text, at):
            return entries
        if text[at : at + 1] != ",":
            break
        at += 1
    raise _unreadable(place, text, at, "}", _SPARSE_HINT)
