"""Attributes that are computed once and can not be changed through what they hand out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
