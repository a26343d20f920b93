"""Categories among the features: the 0/1 columns they become, one per level but the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.input.tables import is_numeric, is_plain
from isingmlc.input.text import find_kind

Levels = Mapping[str, tuple[str, ...]]
"""The levels of each category, the reference first."""


def name_level(variable: str, level: object, reference: object) -> str:
    """Name the 0/1 column that compares a level with the reference level."""
    return f"{variable}: {level} vs {reference}"


def name_columns(variable: str, levels: tuple[str, ...]) -> tuple[str, ...]:
    """Name the columns of a category, one per level but the first."""
    return tuple(name_level(variable, level, levels[0]) for level in levels[1:])


def list_levels(column: pd.Series) -> tuple[str, ...]:
    """List the levels that occur in a column, in the order of a pandas category or sorted."""
    known = column.dropna()
    if isinstance(known.dtype, pd.CategoricalDtype):
        return tuple(str(level) for level in known.cat.remove_unused_categories().cat.categories)
    return tuple(sorted(known.unique()))


def find_levels(frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Find the columns of a frame that are categories: pandas categories, and text that is one."""
    found = {}
    # Most columns of a wide frame are numbers, as their types tell at once.
    others = np.flatnonzero([not is_plain(dtype) for dtype in frame.dtypes])
    for name, column in frame.iloc[:, others].items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            found[str(name)] = list_levels(column)
        elif not is_numeric(column) and _is_text(column):
            levels = list_levels(column)
            if find_kind(levels, int(column.notna().sum())) == "category":
                found[str(name)] = levels
    return found


def _is_text(column: pd.Series) -> bool:
    return bool(pd.api.types.infer_dtype(column, skipna=True) == "string")


def code_categories(
    frame: pd.DataFrame, levels: Levels
) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """Replace categories by 0/1 columns, one per level but the first, as a formula does."""
    if not levels:
        return frame, {str(name): (str(name),) for name in frame.columns}
    parts: list[pd.Series] = []
    terms: dict[str, tuple[str, ...]] = {}
    for name in map(str, frame.columns):
        column = frame[name]
        if name not in levels:
            parts.append(column)
            terms[name] = (name,)
            continue
        text = column.astype(object).map(str, na_action="ignore")
        unseen = [level for level in text.dropna().unique() if level not in levels[name]]
        if unseen:
            raise exc.DataError(
                f"feature {name!r} has the level(s) {exc.shorten(unseen)}, which were not among "
                f"those seen before, {exc.shorten(levels[name])}."
            )
        made = name_columns(name, levels[name])
        for each, level in zip(made, levels[name][1:], strict=True):
            parts.append(text.eq(level).astype(float).where(text.notna()).rename(each))
        # A category of one level is constant and makes no column.
        if made:
            terms[name] = made
    constant = [name for name, each in levels.items() if len(each) < 2]
    if constant:
        exc.warn(exc.ONE_LEVEL.format(names=exc.shorten(constant)), exc.DataWarning)
    return pd.concat(parts, axis=1) if parts else frame[[]], terms


@dataclass(frozen=True)
class CategoryRecipe:
    """Codes the categories of other rows as those of the first ones were coded."""

    columns: tuple[str, ...]
    levels: Levels

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Code the categories of a frame."""
        named = frame.set_axis(frame.columns.map(str), axis=1)
        lacking = [name for name in self.columns if name not in named.columns]
        if lacking:
            raise exc.DataError(
                exc.LACKING_COLUMNS.format(
                    argument="features",
                    columns=exc.shorten(lacking),
                    present=exc.shorten(named.columns, 20),
                )
            )
        levels = {name: each for name, each in self.levels.items() if len(each) > 1}
        coded, _ = code_categories(named[[*self.columns]], levels)
        return coded
