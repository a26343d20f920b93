"""Objects that are filled once, and tables that cannot be changed through what they hand out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

T = TypeVar("T")

# Since version 3 pandas copies on write, so a shallow copy costs nothing; before it must be deep.
_SHARES_WHEN_WRITTEN = int(pd.__version__.partition(".")[0]) < 3


def copy_table(value: Any) -> Any:
    """Return a frame or Series that can be written to without a change of this one."""
    return value.copy(deep=_SHARES_WHEN_WRITTEN)


def freeze(value: Any) -> Any:
    """Return a read-only view of an array; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


class FrozenArrays:
    """Base of frozen dataclasses behind results: their arrays are read-only."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, freeze(value))


class OwnTables:
    """Base of results that hold tables: each access returns a table of its own.

    What a user does with it stays with the copy. Tables are kept apart from other attributes, so
    that `__getattr__` alone finds them.
    """

    def _keep_tables(self) -> None:
        own = vars(self)
        names = [name for name in own if isinstance(own[name], pd.DataFrame | pd.Series)]
        own.setdefault("_kept_tables", {}).update({name: own.pop(name) for name in names})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            try:
                return copy_table(vars(self)["_kept_tables"][name])
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *vars(self).get("_kept_tables", ())]


class FrozenResult(OwnTables, FrozenArrays):
    """Base of results that are frozen dataclasses: arrays are read-only, tables are copies."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep_tables()


class cached_array(cached_property[T]):  # noqa: N801
    """A cached property whose array is read-only."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        super().__init__(wraps(compute)(lambda owner: freeze(compute(owner))))


class ReadOnly(OwnTables):
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
            object.__setattr__(self, name, freeze(value))
        self._keep_tables()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{type(self).__name__} is read-only: {name!r} cannot be set. Make a new one."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is read-only: {name!r} cannot be deleted.")


class table:  # noqa: N801
    """A cached attribute that hands out its frame or Series anew at each access."""

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
        return None if value is None else copy_table(value)

    def __set__(self, instance: Any, value: object) -> None:
        raise AttributeError(f"{self._name!r} is read-only.")
