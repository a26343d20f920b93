"""What saved files hold: a description of every field, and the check of all of them before use.

A description stands beside the class that is saved and is made of the kinds of fields here. Sizes
have names: the first field with a size of that name sets it, and all others must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import repr as short
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import is_text

Sizes = dict[str, int]
Rule = Callable[[Mapping[str, Any]], tuple[str, str] | None]

_DTYPES = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)}


class MisfitError(Exception):
    """A field is not as described.

    Parameters
    ----------
    name : str
        The field, after the fields that it is part of: ``"fits/0/coef"``.
    problem : str
        What is wrong with it.

    Examples
    --------
    >>> print(MisfitError("counts", "is missing"))
    field 'counts' is missing
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"field {name!r} {problem}")


class Field(Protocol):
    """A kind of field."""

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Give the value of a field as it was before it was saved, or raise `MisfitError`.

        Parameters
        ----------
        value : object
            What is to be saved, or what a file has.
        name : str
            Name of the field.
        sizes : dict of str to int
            The sizes that are known; those that this field sets are added.
        """


@dataclass(frozen=True, kw_only=True)
class _Numbers:
    """What numbers may be; where NaN may be at all it is within any bounds."""

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: str | None = None
    finite: bool = True

    def _check_values(self, values: Any, name: str, sizes: Sizes) -> None:
        tests: list[tuple[Any, str]] = []
        if self.finite and values.dtype.kind == "f":
            tests.append((~np.isfinite(values), "finite"))
        if self.least is not None:
            tests.append((values < self.least, f"at least {self.least:g}"))
        if self.above is not None:
            tests.append((values <= self.above, f"above {self.above:g}"))
        if self.most is not None:
            tests.append((values > self.most, f"at most {self.most:g}"))
        if self.below is not None:
            size = _known(self.below, sizes)
            tests.append((values >= size, f"below {size}"))
        for outside, wanted in tests:
            if outside.any():
                raise MisfitError(name, f"must be {wanted}, but holds {values[outside].flat[0]}")


@dataclass(frozen=True)
class Array(_Numbers):
    """An array.

    Attributes
    ----------
    kind : {bool, int, float}
        What it holds, in one byte or in eight.
    shape : tuple of str
        Names of its sizes; ``"labels+1"`` is one more than the size ``"labels"``.
    unique : bool
        Whether no entry, or no row, may be there twice.
    least, above, most : float, optional
        Bounds of its entries.
    below : str, optional
        A size that its entries must be below.
    finite : bool
        Whether its entries must be finite.

    Examples
    --------
    >>> counts = Array(float, ("labelsets",), above=0)
    >>> counts.check(np.array([2.0, 0.0]), "counts", {"labelsets": 2})
    Traceback (most recent call last):
        ...
    isingmlc.base.schema.MisfitError: field 'counts' must be above 0, but holds 0.0
    """

    kind: type
    shape: tuple[str, ...]
    unique: bool = False

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        dtype = _DTYPES[self.kind]
        if not isinstance(value, np.ndarray):
            raise MisfitError(name, f"must be an array, but is {short(value)}")
        if value.dtype != dtype:
            raise MisfitError(name, f"must be of type {dtype}, but is of type {value.dtype}")
        if value.ndim != len(self.shape):
            raise MisfitError(
                name, f"must have {len(self.shape)} dimension(s), but has {value.ndim}"
            )
        for axis, size in enumerate(self.shape):
            _agree(size, value.shape[axis], name, sizes)
        self._check_values(value, name, sizes)
        # Rows of bits are compared as bytes.
        keys = np.packbits(value, axis=1) if self.kind is bool and value.ndim == 2 else value
        if self.unique and len(np.unique(keys, axis=0)) < len(keys):
            raise MisfitError(name, "must not hold the same twice")
        return value


@dataclass(frozen=True)
class Matrix:
    """A matrix of finite numbers, dense or sparse.

    Attributes
    ----------
    rows, columns : str
        Names of its sizes.

    Examples
    --------
    >>> Matrix("labelsets", "features").check(np.eye(2), "sums", {}).shape
    (2, 2)
    """

    rows: str
    columns: str

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        if sparse.issparse(value):
            _agree(self.rows, value.shape[0], name, sizes)
            _agree(self.columns, value.shape[1], name, sizes)
            value = sparse_parts(value)
        if not isinstance(value, Mapping):
            return Array(float, (self.rows, self.columns)).check(value, name, sizes)
        within = dict(sizes)  # the number of entries is that of this matrix alone
        parts = Record(
            {
                "data": Array(float, ("entries",)),
                "indices": Array(int, ("entries",), least=0, below=self.columns),
                "indptr": Array(int, (f"{self.rows}+1",)),
            }
        ).check(value, name, within)
        starts = parts["indptr"]
        if starts[0] != 0 or starts[-1] != within["entries"] or (np.diff(starts) < 0).any():
            raise MisfitError(f"{name}/indptr", "must rise from 0 to the number of entries")
        shape = _known(self.rows, sizes), _known(self.columns, sizes)
        matrix = sparse.csr_array((parts["data"], parts["indices"], starts), shape=shape)
        if not matrix.has_canonical_format:
            raise MisfitError(f"{name}/indices", "must rise within each row")
        return matrix


@dataclass(frozen=True)
class Number(_Numbers):
    """A number.

    Attributes
    ----------
    kind : {int, float}
        Whole, or any.
    least, above, most : float, optional
        Bounds.
    below : str, optional
        A size that it must be below.
    finite : bool
        Whether it must be finite.

    Examples
    --------
    >>> Number(float, above=0).check(1, "penalty", {})
    1.0
    """

    kind: type

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        allowed = (int,) if self.kind is int else (int, float)
        if type(value) not in allowed or (type(value) is int and abs(value) >= 2**63):
            wanted = "a whole number" if self.kind is int else "a number"
            raise MisfitError(name, f"must be {wanted}, but is {short(value)}")
        self._check_values(np.array([value]), name, sizes)
        return self.kind(value)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        if type(value) is not bool:
            raise MisfitError(name, f"must be true or false, but is {short(value)}")
        return value


@dataclass(frozen=True)
class Text:
    """A string.

    Attributes
    ----------
    allowed : sequence of str, optional
        What it may be; anything if omitted.

    Examples
    --------
    >>> Text(("mle", "ridge")).check("ridge", "method", {})
    'ridge'
    """

    allowed: Sequence[str] | None = None

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        if not isinstance(value, str) or not is_text(value):
            raise MisfitError(name, f"must be text, but is {short(value)}")
        if self.allowed is not None and value not in self.allowed:
            wanted = exc.shorten(self.allowed)
            raise MisfitError(name, f"must be one of {wanted}, but is {short(value)}")
        return value


@dataclass(frozen=True)
class Names:
    """Strings, none of them twice.

    Attributes
    ----------
    size : str, optional
        Name of their number.
    least : int
        How many there must be at least.

    Examples
    --------
    >>> Names("labels").check(["a", "b"], "label_names", {})
    ('a', 'b')
    """

    size: str | None = None
    least: int = 0

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        names = tuple(Listed(Text(), self.size).check(value, name, sizes))
        if len(names) < self.least:
            raise MisfitError(name, f"must have at least {self.least}, but has {len(names)}")
        if len(set(names)) < len(names):
            raise MisfitError(name, "must not hold the same twice")
        return names


@dataclass(frozen=True)
class Listed:
    """Any number of fields of one kind; each may have sizes of its own.

    Attributes
    ----------
    item : Field
        What each is.
    size : str, optional
        Name of their number.

    Examples
    --------
    >>> Listed(Number(int)).check([1, 2.5], "first", {})
    Traceback (most recent call last):
        ...
    isingmlc.base.schema.MisfitError: field 'first/1' must be a whole number, but is 2.5
    """

    item: Field
    size: str | None = None

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        if not isinstance(value, list | tuple):
            raise MisfitError(name, f"must be a list, but is {short(value)}")
        if self.size is not None:
            _agree(self.size, len(value), name, sizes)
        return [self.item.check(item, f"{name}/{at}", dict(sizes)) for at, item in enumerate(value)]


@dataclass(frozen=True)
class Optional:
    """A field that need not be there.

    Attributes
    ----------
    kind : Field
        What it is if it is there.
    """

    kind: Field

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        return self.kind.check(value, name, sizes)


@dataclass(frozen=True)
class Json:
    """What is compared as a whole and not looked into.

    Attributes
    ----------
    kind : {dict, list}
        What it is.
    """

    kind: type

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        if not isinstance(value, self.kind):
            raise MisfitError(name, f"must be a {self.kind.__name__}, but is {short(value)}")
        return value


@dataclass(frozen=True)
class Record:
    """Fields with names, these and no others.

    Attributes
    ----------
    fields : mapping of str to Field
        What they are; fields that set a size come before those that need it.
    rules : sequence of callable
        What must be true of several fields: takes them all, and returns None or the name of a
        field and what is wrong with it.

    Examples
    --------
    >>> record = Record({"counts": Array(float, ("labelsets",)), "n_rows": Number(int)})
    >>> record.check({"counts": np.ones(2)}, "", {})
    Traceback (most recent call last):
        ...
    isingmlc.base.schema.MisfitError: field 'n_rows' is missing
    """

    fields: Mapping[str, Field]
    rules: Sequence[Rule] = field(default=())

    def check(self, value: Any, name: str, sizes: Sizes) -> Any:
        """Check what `Field.check` says."""
        prefix = f"{name}/" if name else ""
        if not isinstance(value, Mapping):
            raise MisfitError(name, f"must be a group of fields, but is {short(value)}")
        for key in value:
            if key not in self.fields:
                raise MisfitError(f"{prefix}{key}", "is not known")
        checked: dict[str, Any] = {}
        for key, kind in self.fields.items():
            if key in value:
                checked[key] = kind.check(value[key], f"{prefix}{key}", sizes)
            elif not isinstance(kind, Optional):
                raise MisfitError(f"{prefix}{key}", "is missing")
        for rule in self.rules:
            found = rule(checked)
            if found is not None:
                raise MisfitError(f"{prefix}{found[0]}", found[1])
        return checked


def sparse_parts(matrix: Any) -> dict[str, Any]:
    """Take a sparse matrix apart into plain arrays.

    Parameters
    ----------
    matrix : csr_array
        The matrix; it is not changed.

    Returns
    -------
    dict of str to ndarray
        Its entries, their columns in order, and where each row begins.

    Examples
    --------
    >>> sparse_parts(sparse.csr_array([[0.0, 2.5], [0.0, 0.0]]))["indptr"]
    array([0, 1, 1])
    """
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int64),
        "indptr": matrix.indptr.astype(np.int64),
    }


def _known(size: str, sizes: Sizes) -> int:
    name, _, more = size.partition("+")
    return sizes[name] + int(more or 0)


def _agree(size: str, found: int, name: str, sizes: Sizes) -> None:
    """Set a size, or see that it is what it was set to."""
    if size not in sizes and "+" not in size:
        sizes[size] = found
    elif found != _known(size, sizes):
        raise MisfitError(name, f"must hold {_known(size, sizes)} ({size}), but holds {found}")
