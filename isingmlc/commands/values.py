"""What is written after an option, turned into a value; argparse reports what cannot be."""

from __future__ import annotations

import csv
import math
import os
from argparse import ArgumentTypeError
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Number = TypeVar("Number", int, float)


def count(text: str) -> int:
    """Read a whole number of at least one."""
    return _number(text, int, lambda number: number >= 1, "a whole number of at least 1")


def folds(text: str) -> int:
    """Read a number of folds."""
    return _number(text, int, lambda number: number >= 2, "a whole number of at least 2")


def jobs(text: str) -> int:
    """Read a number of processes or threads; negative ones count from the number of cores."""
    wanted = "a whole number other than 0 (-1 for one per core)"
    return _number(text, int, lambda number: number != 0, wanted)


def level(text: str) -> float:
    """Read the level of a test, an interval or a false-discovery rate."""
    return _number(text, float, lambda number: 0 < number < 1, "a number above 0 and below 1")


def penalty(text: str) -> float | str:
    """Read a penalty of label models."""
    if text in ("none", "firth"):
        return text
    wanted = "none, firth or a finite number above 0"
    return _number(text, float, lambda number: 0 < number < math.inf, wanted)


def neighbors(text: str) -> int | str:
    """Read which other labels label models have: those of a sparse network, or how many."""
    if text == "ebic":
        return text
    return _number(text, int, lambda number: number >= 0, "ebic or a whole number of at least 0")


def _number(text: str, kind: type[Number], accept: Callable[[Number], bool], wanted: str) -> Number:
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not accept(number):
        raise ArgumentTypeError(f"must be {wanted}, but is {text!r}")
    return number


def count_or_share(text: str) -> int | float:
    """Read a number of things, or a share of them all where there is a decimal point."""
    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        raise ArgumentTypeError(
            f"must be a number such as 50 or a share such as 0.2, but is {text!r}"
        ) from None


def count_list(text: str) -> list[int]:
    """Read counts that are separated by commas."""
    return [count(part.strip()) for part in text.split(",")]


def name_list(text: str) -> list[str]:
    """Read names that are separated by commas; quotes hold a name with a comma together."""
    names = [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]
    names = [name for name in names if name]
    if not names:
        raise ArgumentTypeError(f"must hold names separated by commas, but is {text!r}")
    return names


def setting(text: str) -> tuple[str, object]:
    """Read an option of a method, written as name=value; what looks like a number becomes one."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ArgumentTypeError(f"must be of the form name=value, but is {text!r}")
    try:
        return name.strip().replace("-", "_"), literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip().replace("-", "_"), value.strip()


def separator(text: str) -> str:
    r"""Read the separator of columns; a tab may be written as \\t."""
    return "\t" if text == "\\t" else text


def writable(text: str) -> Path:
    """Read the path of a file; what is wrong with it is said before anything is computed."""
    path = Path(text).expanduser()
    if path.is_dir():
        raise ArgumentTypeError(f"{text} is a folder; give the path of a file")
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ArgumentTypeError(f"{text} cannot be written")
    return path
