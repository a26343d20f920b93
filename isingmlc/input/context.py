"""The context: columns that every label model has besides the other labels.

Numbers stay numbers. A category is kept as positions among its levels, so that contexts of
different batches can be put together even if a level is only in one of them; it becomes 0/1
columns, one per level but the first, where a model is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, dense
from isingmlc.input.tables import (
    as_matrix,
    as_table,
    column_names,
    is_numeric,
    is_plain,
)
from isingmlc.input.text import FEW_LEVELS, find_kind, name_type

Levels = tuple[str, ...] | None
"""The levels of a category; None for numbers."""
Recipe = Callable[..., pd.DataFrame]
"""Makes the columns of a formula from the user's columns."""


@dataclass(frozen=True, eq=False)
class Context:
    """Values of covariates, one line per row or per cell of rows."""

    numbers: FloatArray
    names: tuple[str, ...] = ()
    levels: tuple[Levels, ...] = ()
    sources: tuple[str, ...] = field(default=())
    mentions: tuple[tuple[str, ...], ...] = field(default=())
    recipe: Recipe | None = None
    sampling: Context | None = None

    def __post_init__(self) -> None:
        if len(self.sources) != len(self.names):
            object.__setattr__(self, "sources", self.names)
        if len(self.mentions) != len(self.names):
            object.__setattr__(self, "mentions", tuple((name,) for name in self.names))
        self.numbers.flags.writeable = False

    @classmethod
    def empty(cls, n_rows: int) -> Context:
        """Return the context of rows without covariates."""
        return cls(np.empty((n_rows, 0)))

    def __len__(self) -> int:
        return len(self.names)

    def sampled(self, name: str) -> FloatArray | None:
        """Return the clusters or sampling weights of lines; None if there are none."""
        if self.sampling is None or name not in self.sampling.names:
            return None
        return np.asarray(self.sampling.numbers[:, self.sampling.names.index(name)])

    @property
    def described(self) -> tuple[str, ...]:
        """What the user wrote, each once."""
        return tuple(dict.fromkeys(self.sources))

    def take(self, rows: IntArray | BoolArray | slice) -> Context:
        """Return some of the lines."""
        sampling = None if self.sampling is None else self.sampling.take(rows)
        return replace(self, numbers=self.numbers[rows], sampling=sampling)

    def select(self, positions: IntArray) -> Context:
        """Return some of the covariates."""
        at = positions.tolist()
        return Context(
            self.numbers[:, positions],
            tuple(self.names[each] for each in at),
            tuple(self.levels[each] for each in at),
            tuple(self.sources[each] for each in at),
            tuple(self.mentions[each] for each in at),
            self.recipe,
            self.sampling,
        )

    def beside(self, other: Context) -> Context:
        """Put the covariates of another context beside these."""
        return Context(
            np.hstack([self.numbers, other.numbers]),
            (*self.names, *other.names),
            (*self.levels, *other.levels),
            (*self.sources, *other.sources),
            (*self.mentions, *other.mentions),
            self.recipe,
            self.sampling,
        )

    def recode(self, levels: tuple[Levels, ...]) -> Context:
        """Return the same values as positions among other levels, which must hold the old ones."""
        if levels == self.levels:
            return self
        values = self.numbers.copy()
        for at, (old, new) in enumerate(zip(self.levels, levels, strict=True)):
            if old is not None and new is not None and old != new:
                order = {level: place for place, level in enumerate(new)}
                place = np.array([order[level] for level in old], dtype=np.float64)
                known = ~np.isnan(values[:, at])
                values[known, at] = place[values[known, at].astype(np.intp)]
        return replace(self, numbers=values, levels=levels)

    def without_rows(self) -> Context:
        """Return a few lines that tell all levels that occur, enough to code other rows."""
        first = [
            np.unique(column, return_index=True)[1]
            for column, levels in zip(self.numbers.T, self.levels, strict=True)
            if levels is not None
        ]
        some = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *first]))
        return replace(self.take(some), sampling=None)

    def stack(self, other: Context) -> Context:
        """Put the lines of another context below these."""
        if self.names != other.names:
            raise exc.DataError(
                "statistics can be added when their covariates are the same, in the same order, "
                f"but one has {exc.shorten(self.names) or 'none'} and the other "
                f"{exc.shorten(other.names) or 'none'}."
            )
        both = []
        for name, own, given in zip(self.names, self.levels, other.levels, strict=True):
            if (own is None) != (given is None):
                raise exc.DataError(
                    f"covariate {name!r} is a number in one part of the data and a category in "
                    "another. Give it the same type everywhere."
                )
            both.append(own if own == given else tuple(sorted({*(own or ()), *(given or ())})))
        levels = tuple(both)
        mine, theirs = self.recode(levels), other.recode(levels)
        beside = self.sampling
        if (beside is None) != (other.sampling is None):
            raise exc.DataError(
                "statistics can be added when both or none have groups or sampling_weights."
            )
        if beside is not None and other.sampling is not None:
            beside = beside.stack(other.sampling)  # noqa: PD013  (no frame)
        both_lines = np.concatenate([mine.numbers, theirs.numbers])
        return replace(mine, numbers=both_lines, sampling=beside)

    def equals(self, other: Context) -> bool:
        """Return whether another context has the same lines of the same covariates."""
        if self.sampling is None or other.sampling is None:
            if self.sampling is not other.sampling:
                return False
        elif not self.sampling.equals(other.sampling):
            return False
        same_columns = (self.names, self.levels) == (other.names, other.levels)
        return same_columns and np.array_equal(self.numbers, other.numbers, equal_nan=True)

    def list_missing(self, n_rows: IntArray | None = None) -> str:
        """List the covariates that lack values, and in how many rows."""
        absent = np.isnan(self.numbers)
        counts = absent.sum(axis=0) if n_rows is None else n_rows @ absent
        return ", ".join(
            f"{name!r} ({count})" for name, count in zip(self.names, counts, strict=True) if count
        )

    def find_varying(self, *, anywhere: bool) -> IntArray:
        """Find the covariates that are not the same in every line."""
        same = (self.numbers == self.numbers[:1]).all(axis=0)
        is_number = np.array([level is None for level in self.levels], dtype=np.bool_)
        if not anywhere:
            same &= ~is_number | (self.numbers[0] == 0)
        return np.flatnonzero(~same)

    @cached_property
    def is_discrete(self) -> BoolArray:
        """Which covariates are categories, or take no other values than 0 and 1."""
        binary = ((self.numbers == 0) | (self.numbers == 1)).all(axis=0)
        is_category = np.array([level is not None for level in self.levels], dtype=np.bool_)
        return np.asarray(is_category | binary)

    @cached_property
    def _coding(self) -> tuple[tuple[int, float | None, str], ...]:
        """The columns of the models: covariate, position of the level, and name."""
        coding: list[tuple[int, float | None, str]] = []
        for at, (name, levels) in enumerate(zip(self.names, self.levels, strict=True)):
            if levels is None:
                coding.append((at, None, name))
                continue
            # A level that does not occur has no column, and the first that does is the reference.
            found = np.unique(self.numbers[:, at]).astype(np.intp).tolist()
            coding += [(at, float(level), f"{name}[T.{levels[level]}]") for level in found[1:]]
        return tuple(coding)

    def columns_of(self, name: str) -> IntArray:
        """Return the positions of a covariate's columns among those that the models have."""
        wanted = self.names.index(name)
        return np.flatnonzero([at == wanted for at, _, _ in self._coding])

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that the models have."""
        return tuple(name for _, _, name in self._coding)

    @property
    def columns(self) -> FloatArray:
        """What the models have: numbers, and one 0/1 column per level but the first."""
        return self.columns_at(self.numbers)

    def columns_at(self, values: FloatArray) -> FloatArray:
        """Return the columns that the models have at other values of the covariates."""
        made = np.empty((len(values), len(self._coding)))
        for column, (at, level, _) in zip(made.T, self._coding, strict=True):
            column[:] = values[:, at] if level is None else values[:, at] == level
        return made

    def read_like(self, given: Any) -> Context:
        """Read other rows of the same covariates."""
        if isinstance(given, pd.DataFrame):
            given = given.set_axis(given.columns.map(str), axis=1)
            if self.recipe is not None and not set(self.names) <= set(given.columns):
                given = self.recipe(given)
            lacking = [name for name in self.names if name not in given.columns]
            if lacking:
                raise exc.DataError(
                    exc.LACKING_COLUMNS.format(
                        argument="covariates",
                        columns=exc.shorten(lacking),
                        present=exc.shorten(given.columns, 20),
                    )
                )
            given = given[list(self.names)]
        found = read_context(given, self.names)
        missing = np.isnan(found.numbers)
        lines = zip(self.names, self.levels, found.levels, missing.T, strict=True)
        for name, own, theirs, gaps in lines:
            if (own is None) != (theirs is None) and not gaps.all():
                wanted = "numbers" if own is None else "a category"
                raise exc.DataError(
                    f"covariate {name!r} must hold {wanted}, as the model has it, but holds "
                    f"{'text' if own is None else 'numbers'}."
                )
            unseen = [level for level in theirs or () if level not in (own or ())]
            if unseen:
                raise exc.DataError(
                    f"covariate {name!r} has the level(s) {exc.shorten(unseen)}, which the model "
                    f"has not seen; it has {exc.shorten(own or ())}."
                )
        for problem, marks in (("missing", missing), ("infinite", np.isinf(found.numbers))):
            if marks.any():
                lacking = [self.names[at] for at in np.flatnonzero(marks.any(axis=0))]
                n_rows = int(marks.any(axis=1).sum())
                raise exc.DataError(
                    f"covariates has {problem} values in {n_rows} row(s), in column(s) "
                    f"{exc.shorten(lacking)}. Fill in numbers first."
                )
        return found.recode(self.levels)


def read_context(
    given: Any,
    names: tuple[str, ...] | None = None,
    sources: tuple[str, ...] = (),
    mentions: tuple[tuple[str, ...], ...] = (),
    recipe: Recipe | None = None,
) -> Context:
    """Read covariates of any kind."""
    table = as_cells(given)
    names = column_names(table, "covariates", names)
    if sparse.issparse(table):
        table = table.toarray()
    frame = pd.DataFrame(table)
    levels: list[Levels] = [None] * len(names)
    if names and all(is_plain(dtype) for dtype in set(frame.dtypes)):
        values = np.ascontiguousarray(frame.to_numpy(np.float64))
        return Context(values + 0.0, names, tuple(levels), sources, mentions, recipe)
    values = np.empty(frame.shape)
    for at, name in enumerate(names):
        column = frame.iloc[:, at].infer_objects()
        if is_numeric(column):
            values[:, at] = dense(as_matrix(column.to_frame(), "covariates", (name,)))[:, 0]
        else:
            values[:, at], levels[at] = _read_category(column, name)
    _warn_of_numbers(names, frame, levels)
    # Negative zero is zero: rows with either are in one cell.
    return Context(values + 0.0, names, tuple(levels), sources, mentions, recipe)


def _warn_of_numbers(names: Sequence[str], frame: pd.DataFrame, levels: Sequence[Levels]) -> None:
    """Say which categories are numbers written as text; a pandas category is meant as one."""
    found = [
        name
        for name, each, dtype in zip(names, levels, frame.dtypes, strict=True)
        if each is not None
        and not isinstance(dtype, pd.CategoricalDtype)
        and len(each) > FEW_LEVELS
        and find_kind(each, len(frame)) == "numbers"
    ]
    if found:
        exc.warn(exc.TEXT_OF_NUMBERS.format(columns=exc.shorten(found)), exc.DataWarning)


def as_cells(given: Any) -> Any:
    """Bring covariates to a table whose columns keep their kinds."""
    rows = isinstance(given, list | tuple) and len(given) > 0
    if rows and all(isinstance(row, list | tuple) for row in given):
        # numpy would make text of numbers that stand beside text.
        if len({len(row) for row in given}) > 1:
            raise exc.DataError(exc.RAGGED.format(argument="covariates"))
        given = pd.DataFrame(given)
    return as_table(given, "covariates")


def _read_category(column: pd.Series, name: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Return positions among levels, NaN where a value is missing, and the levels."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, levels = column.cat.codes.to_numpy(), column.cat.categories
    elif pd.api.types.is_string_dtype(column.dtype) or (
        pd.api.types.infer_dtype(column, skipna=True) == "string"
    ):
        codes, levels = pd.factorize(column, sort=True)
    else:
        raise exc.DataError(exc.NOT_A_COVARIATE.format(columns=repr(name), kind=name_type(column)))
    texts = tuple(str(level) for level in levels)
    if len(set(texts)) < len(texts):
        raise exc.DataError(
            f"covariates must have levels that differ when they are written out, but column "
            f"{name!r} has two that do not."
        )
    return np.where(codes < 0, np.nan, codes), texts
