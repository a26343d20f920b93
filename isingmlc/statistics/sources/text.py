"""Text in tables that are not in memory: levels, the 0/1 columns they make, and their products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from isingmlc.base.arrays import FloatArray, IntArray, dense
from isingmlc.statistics.labelsets import LabelsetStatistics, check_products
from isingmlc.statistics.sources.queries import count, run
from isingmlc.statistics.sums import FeatureSums, ProductsWhenNeeded, wide_terms


def text_columns(table: Any, names: Sequence[str]) -> list[str]:
    """Find the columns that hold text.

    Parameters
    ----------
    table : ibis.Table
        The table.
    names : sequence of str
        Columns.

    Returns
    -------
    list of str
        Some of them.
    """
    schema = table.schema()
    return [name for name in names if schema[name].is_string()]


def find_levels(table: Any, name: str, order: Sequence[str] = ()) -> tuple[tuple[str, ...], int]:
    """Find the levels of a column of text.

    Parameters
    ----------
    table : ibis.Table
        The table.
    name : str
        The column.
    order : sequence of str
        Levels in an order that is to be kept.

    Returns
    -------
    levels : tuple of str
        Those that occur, in the order of the letters where `order` does not have them.
    n_known : int
        Rows that have a value.
    """
    known = table.filter(table[name].notnull())
    there = set(run(known.select(level=known[name]).distinct())["level"].to_pylist())
    first = [level for level in order if level in there]
    return (*first, *sorted(there - {*first})), count(known)


def code_text(table: Any, levels: Mapping[str, tuple[str, ...]]) -> Any:
    """Add 0/1 columns to a table, one per level of a category but the first.

    Parameters
    ----------
    table : ibis.Table
        The table.
    levels : mapping of str to tuple of str
        Categories and their levels.

    Returns
    -------
    ibis.Table
        The table with columns such as ``region[T.south]``; NULL where the category is missing.
    """
    made = {
        f"{name}[T.{level}]": (table[name] == level).cast("float64")
        for name, known in levels.items()
        for level in known[1:]
    }
    return table.mutate(**made) if made else table


def remember_categories(
    stats: LabelsetStatistics, terms: Mapping[str, tuple[str, ...]]
) -> LabelsetStatistics:
    """Let statistics know which of their 0/1 columns are levels of one category.

    The products of such columns need no query: where one is 1 the others are 0.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    terms : mapping of str to tuple of str
        Categories and the columns of their levels.

    Returns
    -------
    LabelsetStatistics
        The same with terms; without them where sums are in blocks, not in memory.

    Examples
    --------
    >>> import isingmlc as im
    >>> stats = im.LabelsetStatistics.from_arrays(
    ...     [[0], [1], [1]], [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]], feature_names=["b", "c"]
    ... )
    >>> known = remember_categories(stats.recenter(0.0), {"g": ("b", "c")})
    >>> known.term_products["g"].round(9).tolist()
    [[[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]]
    """
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
