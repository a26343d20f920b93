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
_LISTED = 5


def find_categories(argument: str, frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Find the columns of text and their levels.

    Parameters
    ----------
    argument : str
        What the columns are, for messages.
    frame : DataFrame
        The columns.

    Returns
    -------
    dict of str to tuple of str
        Levels in the order of the letters, or in that of the file where it has one.

    Raises
    ------
    DataError
        When a column holds numbers among which there is text, dates, identifiers, or something else
        than numbers and text.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [50, 60, 70], "region": ["south", "north", "south"]})
    >>> find_categories("features", frame)
    {'region': ('north', 'south')}
    """
    from isingmlc.input.tables import is_numeric

    found = {}
    for name, column in frame.items():
        if not is_numeric(column):
            levels = _levels(argument, column)
            check_levels(argument, str(name), levels, int(column.notna().sum()))
            found[str(name)] = levels
    return found


def check_levels(argument: str, name: str, levels: tuple[str, ...], n_known: int) -> None:
    """Refuse text that is no category.

    Parameters
    ----------
    argument, name : str
        What the column is, and its name, for messages.
    levels : tuple of str
        The different texts in it.
    n_known : int
        Rows that have one.

    Raises
    ------
    DataError
        When they are numbers among which there is text, dates or identifiers.
    """
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
    """Give the levels that occur in a column."""
    import pandas as pd

    known = column.dropna()
    if isinstance(known.dtype, pd.CategoricalDtype):
        return tuple(str(level) for level in known.cat.remove_unused_categories().cat.categories)
    if pd.api.types.infer_dtype(known, skipna=True) not in ("string", "empty"):
        raise exc.DataError(
            f"{argument} must hold numbers or categories, but column {column.name!r} is of type "
            f"{column.dtype}. Leave it out with --drop NAMES, or turn it into numbers or text."
        )
    return tuple(sorted(known.unique()))


def code_categories(
    frame: pd.DataFrame, levels: Levels
) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """Replace categories by 0/1 columns, one per level but the first, as a formula does.

    Parameters
    ----------
    frame : DataFrame
        The columns.
    levels : mapping of str to tuple of str
        Which of them are categories, with their levels.

    Returns
    -------
    frame : DataFrame
        Numbers; missing values are missing in all columns of a category.
    terms : dict of str to tuple of str
        What was a column, and the columns that it is now.

    Raises
    ------
    DataError
        When a category has a level that is not among its levels.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [50, 60], "region": ["south", "north"]})
    >>> code_categories(frame, {"region": ("north", "south")})
    (   age  region[T.south]
    0   50              1.0
    1   60              0.0, {'age': ('age',), 'region': ('region[T.south]',)})
    """
    import pandas as pd

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
        made = {f"{name}[T.{level}]": text.eq(level).astype(float) for level in levels[name][1:]}
        parts += [values.where(text.notna()).rename(each) for each, values in made.items()]
        # A category of one level is constant and makes no column.
        if made:
            terms[name] = tuple(made)
    coded = pd.concat(parts, axis=1) if parts else frame[[]]
    return coded, terms


def count_missing(
    frame: pd.DataFrame, categories: Iterable[str], roles: Mapping[str, Sequence[str]]
) -> None:
    """Refuse categories that lack values, and say which columns of all do and how many.

    Parameters
    ----------
    frame : DataFrame
        All columns.
    categories : iterable of str
        The features that are categories.
    roles : mapping of str to sequence of str
        Arguments and their columns.

    Raises
    ------
    DataError
        When categories lack values; those that others lack are said by whoever reads them.
    """
    from isingmlc.input.gaps import missing_error

    if not frame[list(categories)].isna().to_numpy().any():
        return
    gaps = frame[list(dict.fromkeys(name for names in roles.values() for name in names))].isna()
    counts = {str(name): int(n) for name, n in gaps.sum().items() if n}
    raise missing_error(int(gaps.any(axis=1).sum()), list_gaps(counts, roles))


def list_gaps(counts: Mapping[str, int], roles: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """List the columns of each argument that lack values, and how many.

    Parameters
    ----------
    counts : mapping of str to int
        The columns.
    roles : mapping of str to sequence of str
        Arguments and their columns.

    Returns
    -------
    dict of str to str
        The lists, of arguments that lack some.

    Examples
    --------
    >>> list_gaps({"x": 5}, {"labels": ["a", "b"], "features": ["x", "z"]})
    {'features': "'x' (5)"}
    """
    listed = {
        argument: ", ".join(f"{name!r} ({counts[name]})" for name in names if name in counts)
        for argument, names in roles.items()
    }
    return {argument: columns for argument, columns in listed.items() if columns}


def describe_categories(levels: Levels) -> str:
    """List categories with their levels, the reference first.

    Parameters
    ----------
    levels : mapping of str to tuple of str
        The categories.

    Returns
    -------
    str
        A list in words.

    Examples
    --------
    >>> describe_categories({"region": ("north", "south")})
    'region (north, south)'
    """
    listed = []
    for name, each in levels.items():
        more = len(each) - _LISTED
        shown = ", ".join(each[:_LISTED]) + (f", … {more} more" if more > 0 else "")
        listed.append(f"{name} ({shown})")
    return ", ".join(listed)
