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

# In each pair the second value is coded 1. Upper or lower case and the order in which the file
# lists them do not matter.
YES_NO_PAIRS = (
    ("0", "1"),
    ("-1", "1"),
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("off", "on"),
    ("absent", "present"),
)


def find_kind(levels: Sequence[str], n_known: int) -> TextKind:
    """Tell what the different texts of a column are."""
    if 2 * is_number(levels).sum() > len(levels):
        return "numbers"
    if len(levels) <= FEW_LEVELS:
        return "category"
    if 2 * sum(_DATE.fullmatch(text.strip()) is not None for text in levels) > len(levels):
        return "dates"
    return "identifiers" if _ROWS_PER_LEVEL * len(levels) > n_known else "category"


def name_type(column: pd.Series) -> str:
    """Name the type of a column: ``str`` for text, whatever version of pandas keeps it."""
    is_text = column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "string"
    return "str" if is_text else str(column.dtype)


def is_number(texts: Sequence[str]) -> pd.Series:
    """Tell which texts are numbers."""
    found: pd.Series = pd.to_numeric(pd.Series(list(texts), dtype=object), errors="coerce").notna()
    return found
