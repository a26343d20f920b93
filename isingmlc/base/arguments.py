"""Checks of plain arguments that many functions take: options, counts, paths, randomness."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from operator import index
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from isingmlc import exceptions as exc

RandomState: TypeAlias = int | np.random.Generator | None


def check_option(argument: str, given: object, allowed: Sequence[object]) -> None:
    """Raise our error when an option is not one of those that exist."""
    given = given.item() if isinstance(given, np.generic) else given
    if not any(isinstance(given, type(option)) and given == option for option in allowed):
        options = ", ".join(repr(option) for option in allowed)
        raise exc.DataError(exc.BAD_OPTION.format(argument=argument, allowed=options, given=given))


def check_count(argument: str, given: Any, minimum: int) -> int:
    """Return a whole number of at least `minimum`, or raise our error."""
    number = _whole_number(given)
    if number is None or number < minimum:
        raise exc.DataError(exc.BAD_COUNT.format(argument=argument, minimum=minimum, given=given))
    return number


def check_number(
    argument: str,
    given: Any,
    *,
    above: float = -np.inf,
    below: float = np.inf,
    at_most: float = np.inf,
) -> float:
    """Return a finite number between two bounds, or raise our error."""
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(given, str | bytes) or not (above < number < below and number <= at_most):
        limits = [f"above {above:g}"] if above > -np.inf else []
        limits += [f"below {below:g}"] if below < np.inf else []
        limits += [f"at most {at_most:g}"] if at_most < np.inf else []
        wanted = " ".join(["a finite number", " and ".join(limits)]).strip()
        raise exc.DataError(f"{argument} must be {wanted}, but is {given!r}.")
    return number


def check_penalty(given: Any) -> float | str | None:
    """Return a penalty of label models: None, a ridge penalty, or ``"firth"``."""
    if given is None:
        return None
    if isinstance(given, str):
        check_option("penalty", given, (None, "firth", 1.0))
        return given
    return check_number("penalty", given, above=0)


def check_memory(given: Any) -> float:
    """Return the number of bytes that may be used, or raise our error."""
    return np.inf if given is None else check_number("max_memory", given, above=0)


def check_jobs(given: Any) -> int:
    """Return the number of threads or processes to use, or raise our error."""
    number = _whole_number(given)
    if not number:
        raise exc.DataError(
            f"n_jobs must be a whole number other than 0 (-1 for all cores), but is {given!r}."
        )
    return number


def check_size(argument: str, given: Any, available: int) -> int:
    """Return a number of features, or the number that a share of them is."""
    if isinstance(given, float | np.floating):
        share = check_number(argument, given, above=0, at_most=1)
        # 0.29 · 100 is a little below 29 in floating point.
        return max(1, int(share * available + 1e-9))
    size = check_count(argument, given, 1)
    if size > available:
        raise exc.DataError(
            f"{argument} must be at most the number of features, {available}, but is {size}. "
            "Give fewer, or a share such as 0.2."
        )
    return size


def make_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that `random_state` stands for, or raise our error."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise exc.DataError(
            "random_state must be a whole number of at least 0, a numpy Generator or None, but is "
            f"{random_state!r}."
        ) from error


def as_path(argument: str, given: str | os.PathLike[str]) -> Path:
    """Return the path that an argument stands for, or raise our error."""
    try:
        path = Path(os.fspath(given)).expanduser()
        possible = b"\0" not in os.fsencode(path)
    except TypeError as error:
        raise exc.DataError(
            f"{argument} must be a str or a path, but is of type {type(given).__name__}."
        ) from error
    except (RuntimeError, UnicodeError) as error:  # no such home folder; a lone surrogate
        raise exc.DataError(f"{argument} cannot be a path: {given!r} ({error}).") from error
    if not possible:
        raise exc.DataError(f"{argument} cannot be a path: {given!r} holds a null character.")
    return path


def check_names(
    argument: str, given: Any, known: Sequence[str], *, what: str = "features of the model"
) -> npt.NDArray[np.intp]:
    """Return positions of things by their names, or raise our error."""
    if given is None:
        return np.arange(len(known))
    if not isinstance(given, Iterable):
        raise exc.DataError(f"{argument} must be a list of names, but is {given!r}.")
    names = [given] if isinstance(given, str) else list(given)
    place = {name: at for at, name in enumerate(known)}
    unknown = [name for name in names if name not in place]
    if unknown or not names:
        raise exc.DataError(
            f"{argument} must name {what}, e.g. {exc.shorten(known)}, but has "
            f"{exc.shorten(unknown) if names else 'none'}."
        )
    if len(set(names)) < len(names):
        raise exc.DataError(f"{argument} names some more than once: {exc.shorten(names)}.")
    return np.array([place[name] for name in names], dtype=np.intp)


def _whole_number(given: Any) -> int | None:
    """Return a whole number, or None if it is none; True and False are none."""
    try:
        return None if isinstance(given, bool) else index(given)
    except TypeError:
        return None
