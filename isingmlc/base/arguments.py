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
    """Raise our error when an option is not one of those that exist.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    given : object
        What the user passed.
    allowed : sequence
        What may be passed.

    Raises
    ------
    DataError
        When `given` is not in `allowed`.
    """
    given = given.item() if isinstance(given, np.generic) else given
    if not any(isinstance(given, type(option)) and given == option for option in allowed):
        options = ", ".join(repr(option) for option in allowed)
        raise exc.DataError(exc.BAD_OPTION.format(argument=argument, allowed=options, given=given))


def check_count(argument: str, given: Any, minimum: int) -> int:
    """Give a whole number of at least `minimum`, or raise our error.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    given : object
        What the user passed.
    minimum : int
        The least that makes sense.

    Returns
    -------
    int
        The number.

    Raises
    ------
    DataError
        When `given` is not a whole number, or too small.

    Examples
    --------
    >>> check_count("n", np.int64(3), 1)
    3
    """
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
    """Give a finite number between two bounds, or raise our error.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    given : object
        What the user passed.
    above, below : float
        Bounds that must not be reached.
    at_most : float
        A bound that may be reached.

    Returns
    -------
    float
        The number.

    Raises
    ------
    DataError
        When `given` is not a number, or not between the bounds.

    Examples
    --------
    >>> check_number("alpha", 0.05, above=0, below=1)
    0.05
    """
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


def check_memory(given: Any) -> float:
    """Give the number of bytes that may be used, or raise our error.

    Parameters
    ----------
    given : object
        What the user passed as ``max_memory``; None for any number.

    Returns
    -------
    float
        The number.

    Raises
    ------
    DataError
        When `given` is not a number above 0.

    Examples
    --------
    >>> check_memory(2e9), check_memory(None)
    (2000000000.0, inf)
    """
    return np.inf if given is None else check_number("max_memory", given, above=0)


def check_jobs(given: Any) -> int:
    """Give the number of threads or processes to use, or raise our error.

    Parameters
    ----------
    given : object
        What the user passed as ``n_jobs``.

    Returns
    -------
    int
        The number; negative ones count from the number of cores.

    Raises
    ------
    DataError
        When `given` is not a whole number, or 0.

    Examples
    --------
    >>> check_jobs(-1)
    -1
    """
    number = _whole_number(given)
    if not number:
        raise exc.DataError(
            f"n_jobs must be a whole number other than 0 (-1 for all cores), but is {given!r}."
        )
    return number


def check_size(argument: str, given: Any, available: int) -> int:
    """Give a number of features, or the number that a share of them is.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    given : int or float
        A number from 1 to `available`, or a share above 0 and at most 1.
    available : int
        How many there are.

    Returns
    -------
    int
        The number; a share is rounded down, but to no less than 1.

    Raises
    ------
    DataError
        When `given` is neither, or more than there are.

    Examples
    --------
    >>> check_size("max_features", 0.2, 294), check_size("max_features", 7, 294)
    (58, 7)
    """
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
    """Give the generator that `random_state` stands for, or raise our error.

    Parameters
    ----------
    random_state : int, Generator or None
        A seed, a generator, or nothing for a fresh one.

    Returns
    -------
    Generator
        Source of randomness.

    Raises
    ------
    DataError
        When `random_state` is none of these.

    Examples
    --------
    >>> make_generator(0).integers(10)
    np.int64(8)
    """
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise exc.DataError(
            "random_state must be a whole number of at least 0, a numpy Generator or None, but is "
            f"{random_state!r}."
        ) from error


def as_path(argument: str, given: str | os.PathLike[str]) -> Path:
    """Give the path that an argument stands for, or raise our error.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    given : str or path
        What the user passed; ``~`` is the home folder.

    Returns
    -------
    Path
        The path, which an operating system can take; nothing need be there.

    Raises
    ------
    DataError
        When `given` is no path.

    Examples
    --------
    >>> as_path("path", "photos.csv").name
    'photos.csv'
    """
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


def is_text(given: str) -> bool:
    r"""Say whether every character of a string is one, so that files and tables can hold it.

    Parameters
    ----------
    given : str
        Any string.

    Returns
    -------
    bool
        False where half a character stands alone (a surrogate of UTF-16).

    Examples
    --------
    >>> is_text("größe"), is_text("gr\ud83d")
    (True, False)
    """
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_names(
    argument: str, given: Any, known: Sequence[str], *, what: str = "features of the model"
) -> npt.NDArray[np.intp]:
    """Give positions of things by their names, or raise our error.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    given : str, iterable of str or None
        What the user passed: a name or several; None for all of them.
    known : sequence of str
        All names.
    what : str
        What they are names of, for the message.

    Returns
    -------
    ndarray of int
        The positions, in the order of `given`.

    Raises
    ------
    DataError
        When there is no such name, or one comes more than once.

    Examples
    --------
    >>> check_names("features", ["bmi", "age"], ("age", "sex", "bmi"))
    array([2, 0])
    """
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
    """Give a whole number, or None if it is none; True and False are none."""
    try:
        return None if isinstance(given, bool) else index(given)
    except TypeError:
        return None
