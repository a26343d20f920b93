"""Names as people write them: ``C(smoking)[T.never]`` is shown as ``smoking: never``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_CATEGORY = re.compile(r"C\((?P<inside>[^\W\d].*)\)", re.DOTALL)
_LEVEL = re.compile(r"(?P<factor>.+)\[(?P<coding>[TS]\.)?(?P<level>.+)\]", re.DOTALL)


def display_names(
    names: Sequence[str], terms: Mapping[str, tuple[str, ...]] | None = None
) -> list[str]:
    """Return the names to show of features, covariates or terms."""
    if terms is None:
        made = {name for name in names if any(map(_is_coded, _split(name, ":")))}
    else:
        made = {column for term, columns in terms.items() for column in columns if column != term}
        made |= {term for term, columns in terms.items() if columns != (term,)}
    shown = {name: _display(name) if name in made else name for name in names}
    times = Counter(shown.values())
    return [name if times[shown[name]] > 1 else shown[name] for name in names]


def name_writer(
    names: Sequence[str], terms: Mapping[str, tuple[str, ...]] | None = None
) -> Callable[[str], str]:
    """Return a function that puts the names to show into a text."""
    pairs = zip(names, display_names(names, terms), strict=True)
    shown = {name: text for name, text in pairs if name != text}
    if not shown:
        return str
    # A name that begins as another is looked for first.
    longest_first = sorted(shown, key=len, reverse=True)
    found = re.compile("|".join(map(re.escape, longest_first)))
    return lambda text: found.sub(lambda match: shown[match[0]], text)


def find_terms(names: Sequence[str], terms: Mapping[str, tuple[str, ...]]) -> list[int]:
    """Tell which features belong to the same term."""
    term_of = {column: term for term, columns in terms.items() for column in columns}
    numbers: dict[str, int] = {}
    return [numbers.setdefault(term_of.get(name, name), len(numbers)) for name in names]


def _display(name: str) -> str:
    if " vs " in name:
        return name
    return " × ".join(_display_factor(factor) for factor in _split(name, ":"))


def _display_factor(text: str) -> str:
    """Write one factor of a product."""
    found = _LEVEL.fullmatch(text)
    factor, level = (text, "") if found is None else (found["factor"], found["level"])
    factor = _inside_category(factor) or factor
    return f"{factor}: {level}" if level else factor


def _is_coded(factor: str) -> bool:
    """Tell from its form whether a formula made a factor from a category."""
    found = _LEVEL.fullmatch(factor)
    if found is None:
        return bool(_inside_category(factor))
    return found["coding"] is not None or bool(_inside_category(found["factor"]))


def _inside_category(factor: str) -> str:
    """Name the column of ``C(column, …)``; nothing for what is written otherwise."""
    category = _CATEGORY.fullmatch(factor)
    if category is None or not _is_balanced(category["inside"]):
        return ""
    return _split(category["inside"], ",")[0].strip()


def _is_balanced(text: str) -> bool:
    """Return whether brackets close in a text that opened in it: not in ``a) by C(b``."""
    depth = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return False
    return depth == 0


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
