"""Checks of plain arguments that many functions take: options, counts, sources of randomness."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_whole_number
from typing import Any, TypeAlias

import numpy as np

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
    try:
        number = as_whole_number(given)
    except TypeError:
        number = minimum - 1
    if number < minimum or isinstance(given, bool):
        raise exc.DataError(
            exc.BAD_COUNT.format(argument=argument, minimum=minimum, given=given)
        ) from None
    return number


def check_number(
    argument: str, given: Any, *, above: float = -np.inf, below: float = np.inf
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
    if isinstance(given, str | bytes) or not above < number < below:
        limits = [f"above {above:g}"] if above > -np.inf else []
        limits += [f"below {below:g}"] if below < np.inf else []
        wanted = " ".join(["a finite number", " and ".join(limits)]).strip()
        raise exc.DataError(f"{argument} must be {wanted}, but is {given!r}.")
    return number


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
    try:
        number = as_whole_number(given)
    except TypeError:
        number = 0
    if number == 0 or isinstance(given, bool):
        raise exc.DataError(
            f"n_jobs must be a whole number other than 0 (-1 for all cores), but is {given!r}."
        ) from None
    return number


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
