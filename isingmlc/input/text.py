"""What the texts of a column are: levels of a category, numbers, dates or identifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import pandas as pd

TextKind = Literal["category", "numbers", "dates", "identifiers"]
"""What a column of text can be."""

# So few levels make a category, whatever they are; more of them do if each has so many rows.
FEW_LEVELS = 20
_ROWS_PER_LEVEL = 5
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?"
    r"|\d{1,2}[- ]?[A-Za-z]{3,9}[- ,]{0,2}\d{2,4}([T ].*)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)


def find_kind(levels: Sequence[str], n_known: int) -> TextKind:
    """Tell what the different texts of a column are.

    Parameters
    ----------
    levels : sequence of str
        The different texts.
    n_known : int
        Rows that have one.

    Returns
    -------
    {"category", "numbers", "dates", "identifiers"}
        Numbers and dates where most texts are written like one; identifiers where there are so
        many that few rows share one.

    Examples
    --------
    >>> find_kind(["north", "south"], 100), find_kind(["61", "62", "unknown"], 100)
    ('category', 'numbers')
    >>> find_kind([f"2026-01-{day:02}" for day in range(1, 32)], 5000)
    'dates'
    """
    if 2 * is_number(levels).sum() > len(levels):
        return "numbers"
    if len(levels) <= FEW_LEVELS:
        return "category"
    if 2 * sum(_DATE.fullmatch(text.strip()) is not None for text in levels) > len(levels):
        return "dates"
    return "identifiers" if _ROWS_PER_LEVEL * len(levels) > n_known else "category"


def is_number(texts: Sequence[str]) -> pd.Series:
    """Tell which texts are numbers.

    Parameters
    ----------
    texts : sequence of str
        The texts.

    Returns
    -------
    Series of bool
        Whether each is one.

    Examples
    --------
    >>> is_number(["61.5", "old"]).tolist()
    [True, False]
    """
    found: pd.Series = pd.to_numeric(pd.Series(list(texts), dtype=object), errors="coerce").notna()
    return found
