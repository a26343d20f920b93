"""Columns that a user names: by their names, by patterns, or by positions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from glob import has_magic
from typing import Any

import numpy as np

from isingmlc import exceptions as exc

Selection = str | int | Sequence[str | int]


def choose_columns(argument: str, columns: list[str], wanted: Selection) -> list[str]:
    """Translate names, patterns and positions into names of columns, each once."""
    chosen: dict[str, None] = {}
    for item in as_items(argument, wanted):
        chosen.update(dict.fromkeys(_matches(argument, columns, item)))
    if not chosen:
        raise exc.DataError(f"{argument} must choose at least one column, but is empty.")
    return list(chosen)


def as_items(argument: str, wanted: Selection) -> list[str | int]:
    """Return what was asked for as a list."""
    if isinstance(wanted, str | int | np.integer):
        return [wanted]
    try:
        return list(wanted)
    except TypeError as error:
        raise exc.DataError(
            f"{argument} must be a name, a pattern, a position or a list of these, but is "
            f"{wanted!r}. Give several positions as a list or a range, e.g. range(3)."
        ) from error


def _matches(argument: str, columns: list[str], item: Any) -> list[str]:
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        if -len(columns) <= item < len(columns):
            return [columns[item]]
        raise exc.DataError(
            f"{argument} asks for column {item}, but there are {len(columns)}, counted from 0."
        )
    if not isinstance(item, str):
        raise exc.DataError(
            f"{argument} must hold names, patterns or positions, but holds {item!r}."
        )
    if item in columns:
        return [item]
    found = [column for column in columns if fnmatchcase(column, item)]
    if found:
        return found
    near = get_close_matches(item, columns, n=3) or columns
    raise exc.DataError(
        f"{argument} asks for {item!r}, which no column matches. There are {exc.shorten(near)}."
    )


def expand_patterns(
    columns: Sequence[str], wanted: str | Sequence[str], taken: Collection[str] = ()
) -> tuple[str, ...]:
    """Replace patterns by the columns that they match, and leave all else as it is."""
    given = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    known = set(columns)
    passed = {*given, *taken}
    expanded: list[str] = []
    for item in given:
        found = [item]
        if isinstance(item, str) and item not in known and has_magic(item):
            matches = [name for name in columns if fnmatchcase(name, item)]
            found = [name for name in matches if name not in passed] if matches else found
            passed |= {*found}
        expanded += found
    return tuple(expanded)


def name_roles(
    columns: Sequence[str],
    labels: str | Sequence[str],
    features: str | Sequence[str] | None,
    covariates: Sequence[str],
    drawn: Sequence[str | None],
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Replace patterns among the columns of a table that a user named."""
    single = {name for name in drawn if name is not None}
    chosen = expand_patterns(columns, labels, {*single, *covariates})
    context = expand_patterns(columns, covariates)
    others = {*chosen, *context, *single}
    if features is None:
        return chosen, tuple(name for name in columns if name not in others), context
    return chosen, expand_patterns(columns, features, others), context
