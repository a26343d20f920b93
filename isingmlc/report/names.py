"""Names as people write them: ``C(smoking)[T.never]`` is shown as ``smoking: never``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

_CATEGORY = re.compile(r"C\((?P<inside>.*)\)", re.DOTALL)
_LEVEL = re.compile(r"(?P<factor>.+)\[(?:[TS]\.)?(?P<level>.*)\]", re.DOTALL)


def display_names(names: Sequence[str], terms: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Give the names to show of features or terms.

    Parameters
    ----------
    names : sequence of str
        Features, or terms of a formula.
    terms : mapping of str to tuple of str
        Terms and the columns that each of them made.

    Returns
    -------
    list of str
        What a formula made of a category is written as category and level, products with ×. Other
        names stay as they are, and so do those that would no longer be told apart.

    Examples
    --------
    >>> terms = {"C(smoking)": ("C(smoking)[T.ex]", "C(smoking)[T.never]"), "age": ("age",)}
    >>> display_names(["C(smoking)[T.never]", "age"], terms)
    ['smoking: never', 'age']
    >>> display_names(["C(smoking)", "age"], terms)
    ['smoking', 'age']
    """
    made = {column for term, columns in terms.items() for column in columns if column != term}
    made |= {term for term, columns in terms.items() if columns != (term,)}
    shown = [_display(name) if name in made else name for name in names]
    times = Counter(shown)
    return [name if times[text] > 1 else text for name, text in zip(names, shown, strict=True)]


def find_terms(names: Sequence[str], terms: Mapping[str, tuple[str, ...]]) -> list[int]:
    """Tell which features belong to the same term.

    Parameters
    ----------
    names : sequence of str
        Features, or terms themselves.
    terms : mapping of str to tuple of str
        Terms and the columns that each of them made.

    Returns
    -------
    list of int
        Features of the same term have the same number.

    Examples
    --------
    >>> find_terms(["g[T.a]", "x", "g[T.b]"], {"g": ("g[T.a]", "g[T.b]"), "x": ("x",)})
    [0, 1, 0]
    """
    term_of = {column: term for term, columns in terms.items() for column in columns}
    numbers: dict[str, int] = {}
    return [numbers.setdefault(term_of.get(name, name), len(numbers)) for name in names]


def _display(name: str) -> str:
    return " × ".join(_display_factor(factor) for factor in _split(name, ":"))


def _display_factor(text: str) -> str:
    """Write one factor of a product."""
    found = _LEVEL.fullmatch(text)
    factor, level = (text, "") if found is None else (found["factor"], found["level"])
    category = _CATEGORY.fullmatch(factor)
    if category is not None:
        factor = _split(category["inside"], ",")[0].strip()
    return f"{factor}: {level}" if level else factor


def _split(text: str, separator: str) -> list[str]:
    """Split a text where no bracket is open."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
