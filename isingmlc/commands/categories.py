"""Text columns of a file as categories: which ones, their levels, and the 0/1 columns they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from isingmlc import exceptions as exc

if TYPE_CHECKING:
    import pandas as pd

Levels = Mapping[str, tuple[str, ...]]
"""The levels of each category."""

# How many levels a message lists.
LISTED = 5
# Whole numbers with at most so many values may be codes of a category.
FEW_VALUES = 10


def find_categories(argument: str, frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Find the columns of text and their levels."""
    import pandas as pd

    from isingmlc.input.tables import is_numeric

    found = {}
    for name, column in frame.items():
        if not is_numeric(column):
            levels = _levels(argument, column)
            if not isinstance(column.dtype, pd.CategoricalDtype):
                check_levels(argument, str(name), levels, int(column.notna().sum()))
            found[str(name)] = levels
    return found


def as_categories(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Make categories of columns that a user named, whole numbers written without a point."""
    import pandas as pd

    made = {}
    for name in names:
        column = frame[name]
        is_number = pd.api.types.is_numeric_dtype(column)
        if is_number and (column.dropna() % 1 == 0).all():
            column = column.astype("Int64")
        made[name] = column.astype("category")
    return frame.assign(**made)


def find_few_valued(frame: pd.DataFrame) -> dict[str, str]:
    """Find columns of few whole numbers, which may be codes, and their range."""
    import pandas as pd

    found = {}
    for name, column in frame.items():
        if not pd.api.types.is_numeric_dtype(column) or column.dtype.kind == "b":
            continue
        values = column.dropna().unique()
        if 2 < len(values) <= FEW_VALUES and (values % 1 == 0).all():
            found[str(name)] = f"{min(values):g} to {max(values):g}"
    return found


def check_levels(argument: str, name: str, levels: tuple[str, ...], n_known: int) -> None:
    """Refuse text that is no category."""
    from isingmlc.input.text import find_kind, is_number

    kind = find_kind(levels, n_known)
    if kind == "category":
        return
    remedy = "Leave it out with --drop NAMES"
    if kind == "numbers":
        others = [
            level for level, known in zip(levels, is_number(levels), strict=True) if not known
        ]
        wrong = f"besides {exc.shorten(others)}" if others else "written as text"
        found = f"holds numbers {wrong}"
        remedy = "Mend these cells, or leave the column out with --drop NAMES"
    elif kind == "dates":
        found = f"holds {len(levels)} different dates or times"
        remedy += ", or turn it into a number, such as days since the first one"
    else:
        found = f"has {len(levels)} different texts in {n_known} rows, like an identifier"
    raise exc.DataError(
        f"{argument} must hold numbers or categories, but column {name!r} {found}. {remedy}."
    )


def _levels(argument: str, column: pd.Series) -> tuple[str, ...]:
    """Return the levels that occur in a column."""
    import pandas as pd

    from isingmlc.input.categories import list_levels

    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if not is_category and kind not in ("string", "empty"):
        raise exc.DataError(
            f"{argument} must hold numbers or categories, but column {column.name!r} is of type "
            f"{column.dtype}. Leave it out with --drop NAMES, or turn it into numbers or text."
        )
    return list_levels(column)


def count_missing(
    frame: pd.DataFrame, categories: Iterable[str], roles: Mapping[str, Sequence[str]]
) -> None:
    """Refuse categories that lack values, and say which columns of all do and how many."""
    from isingmlc.input.gaps import missing_error

    if not frame[list(categories)].isna().to_numpy().any():
        return
    gaps = frame[list(dict.fromkeys(name for names in roles.values() for name in names))].isna()
    counts = {str(name): int(n) for name, n in gaps.sum().items() if n}
    raise missing_error(int(gaps.any(axis=1).sum()), list_gaps(counts, roles))


def list_gaps(counts: Mapping[str, int], roles: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """List the columns of each argument that lack values, and how many."""
    listed = {
        argument: ", ".join(f"{name!r} ({counts[name]})" for name in names if name in counts)
        for argument, names in roles.items()
    }
    return {argument: columns for argument, columns in listed.items() if columns}


def describe_categories(levels: Levels) -> str:
    """List categories with their levels, the reference first."""
    listed = []
    for name, each in levels.items():
        more = len(each) - LISTED
        shown = ", ".join(each[:LISTED]) + (f", … {more} more" if more > 0 else "")
        listed.append(f"{name} ({shown})")
    return ", ".join(listed)
