"""Objects that are filled once, and tables that cannot be changed through what they hand out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ReadOnly:
    """Base of objects whose attributes are set once, by their own constructor.

    Derived values may still be cached: `functools.cached_property` and `table` keep what they
    computed beside the attributes.

    Examples
    --------
    >>> class Point(ReadOnly):
    ...     def __init__(self, x):
    ...         self._fill(x=x)
    >>> Point(1.0).x
    1.0
    >>> Point(1.0).x = 2.0
    Traceback (most recent call last):
        ...
    AttributeError: Point is read-only: 'x' cannot be set. Make a new one.
    """

    def _fill(self, **attributes: object) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{type(self).__name__} is read-only: {name!r} cannot be set. Make a new one."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is read-only: {name!r} cannot be deleted.")


class table:  # noqa: N801
    """A cached attribute that hands out its frame or Series anew at each access.

    pandas copies on write, so handing out a shallow copy costs nothing, and whatever a user does
    with it, sorting in place or setting a column, stays with the copy.

    Parameters
    ----------
    compute : callable
        The method that computes the table.

    Examples
    --------
    >>> import pandas as pd
    >>> class Results:
    ...     @table
    ...     def params(self):
    ...         return pd.Series([1.0, 2.0])
    >>> results = Results()
    >>> params = results.params
    >>> params[0] = 99.0
    >>> results.params[0]
    np.float64(1.0)
    """

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        cache = vars(instance)
        key = f"_table_{self._name}"
        if key not in cache:
            cache[key] = self._compute(instance)
        value = cache[key]
        return None if value is None else value.copy(deep=False)

    def __set__(self, instance: Any, value: object) -> None:
        raise AttributeError(f"{self._name!r} is read-only.")
