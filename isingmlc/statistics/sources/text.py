"""Text in tables that are not in memory: levels, the 0/1 columns they make, and their products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arrays import FloatArray, IntArray, chunks, dense
from isingmlc.input.categories import name_level
from isingmlc.input.text import find_kind
from isingmlc.statistics.labelsets import LabelsetStatistics, check_products
from isingmlc.statistics.sources.queries import COLUMNS_AT_ONCE, count, run
from isingmlc.statistics.sources.table_checks import show_text
from isingmlc.statistics.sums import FeatureSums, ProductsWhenNeeded, wide_terms

_HINTS = {
    "dates": exc.COUNT_DATES,
    "identifiers": exc.LEAVE_OUT_IDENTIFIERS,
    "numbers": exc.NUMBERS_AS_TEXT,
}


def text_columns(table: Any, names: Sequence[str]) -> list[str]:
    """Find the columns that hold text."""
    schema = table.schema()
    return [name for name in names if schema[name].is_string()]


def find_levels(table: Any, name: str, order: Sequence[str] = ()) -> tuple[tuple[str, ...], int]:
    """Find the levels of a column of text."""
    known = table.filter(table[name].notnull())
    there = set(run(known.select(level=known[name]).distinct())["level"].to_pylist())
    first = [level for level in order if level in there]
    return (*first, *sorted(there - {*first})), count(known)


def as_text(table: Any, names: Sequence[str]) -> Any:
    """Write columns of numbers as text, whole numbers without a point."""
    schema = table.schema()
    made = {}
    for name in names:
        whole = table[name].cast("int64")
        if schema[name].is_numeric():
            is_whole = (table[name] == whole).all()
            as_written = (
                whole if schema[name].is_integer() or _ask(table, is_whole) else table[name]
            )
            made[name] = as_written.cast("string")
    return table.mutate(**made) if made else table


def _ask(table: Any, question: Any) -> Any:
    """Ask one thing of a table."""
    return run(table.aggregate(answer=question))["answer"].to_pylist()[0]


def sort_numbers(levels: tuple[str, ...]) -> tuple[str, ...]:
    """Sort levels that are numbers by size, others by letters."""
    try:
        return tuple(sorted(levels, key=float))
    except ValueError:
        return levels


def count_values(table: Any, names: Sequence[str], most: int) -> dict[str, str]:
    """Find columns of whole numbers with 3 to `most` values, and their ranges."""
    schema = table.schema()
    whole = [name for name in names if schema[name].is_integer()]
    found = {}
    for part in chunks(len(whole), width=COLUMNS_AT_ONCE):
        asked = {
            f"{what}{at}": getattr(table[name], what)()
            for at, name in enumerate(whole[part])
            for what in ("nunique", "min", "max")
        }
        answer = run(table.aggregate(**asked))
        for at, name in enumerate(whole[part]):
            n_values, low, high = (
                answer[f"{what}{at}"].to_pylist()[0] for what in ("nunique", "min", "max")
            )
            if 2 < n_values <= most:
                found[name] = f"{low:g} to {high:g}"
    return found


def code_text(table: Any, levels: Mapping[str, tuple[str, ...]]) -> Any:
    """Add 0/1 columns to a table, one per level of a category but the first."""
    made = {
        name_level(name, level, known[0]): (table[name] == level).cast("float64")
        for name, known in levels.items()
        for level in known[1:]
    }
    return table.mutate(**made) if made else table


def find_categories(
    table: Any, names: Sequence[str], orders: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Find the features that hold text, and their levels; what is no category is refused."""
    found = {}
    for name in text_columns(table, names):
        levels, n_known = find_levels(table, name, orders.get(name, ()))
        kind = find_kind(levels, n_known)
        if kind != "category":
            hint = show_text(table, {name: table[name].type()}) + _HINTS[kind].format(name=name)
            raise exc.DataError(
                exc.NOT_NUMERIC.format(
                    argument="features", columns=repr(name), kind="string", hint=hint
                )
            )
        found[name] = levels
    constant = [name for name, levels in found.items() if len(levels) < 2]
    if constant:
        exc.warn(exc.ONE_LEVEL.format(names=exc.shorten(constant)), exc.DataWarning)
    return found


def remember_categories(
    stats: LabelsetStatistics, terms: Mapping[str, tuple[str, ...]]
) -> LabelsetStatistics:
    """Let statistics know which of their 0/1 columns are levels of one category."""
    columns = wide_terms(terms, stats.feature_names)
    sums = stats.feature_sums
    if not isinstance(sums, FeatureSums):
        return stats
    products = {
        term: partial(_exclusive_products, term, stats.counts, sums, at)
        for term, at in columns.items()
    }
    return replace(stats, term_columns=columns, term_products=ProductsWhenNeeded(products))


def _exclusive_products(
    term: str, counts: FloatArray, sums: FeatureSums, columns: IntArray
) -> FloatArray:
    """Sum products of columns, around their shifts, of which at most one is not 0 in a row."""
    check_products(term, len(counts), len(columns))
    shift = sums.shift[columns]
    within = dense(sums.sums[:, columns])
    moved = within[:, :, None] * shift + within[:, None, :] * shift[:, None]
    crossed = 0.0 - (moved + counts[:, None, None] * np.outer(shift, shift))
    diagonal = np.arange(len(columns))
    crossed[:, diagonal, diagonal] = dense(sums.squares[:, columns])
    return crossed
