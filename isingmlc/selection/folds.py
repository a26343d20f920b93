"""Which rows train and which validate: shares of labels kept, groups whole, time in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, TimeSeriesSplit, check_cv

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_option, make_generator
from isingmlc.base.arrays import IntArray
from isingmlc.input.rows import ModelData
from isingmlc.input.tables import as_array
from isingmlc.prediction.splits import stratify
from isingmlc.selection.classifiers import vary

SPLITS = ("stratified", "random", "ordered")


def make_folds(
    data: ModelData,
    *,
    validation: float,
    cv: Any,
    split: str,
    groups: Any,
    random_state: RandomState,
) -> list[tuple[IntArray, IntArray]]:
    """Decide which rows train and which validate."""
    check_option("split", split, SPLITS)
    members = None if groups is None else _read_groups(groups, data.n_rows)
    if members is not None and split == "ordered":
        raise exc.DataError(
            "split='ordered' takes rows as they come, and cannot keep groups together. Leave one "
            "of split and groups out, or pass a splitter as cv."
        )
    if cv is None:
        folds = [_split_once(data, validation, split, members, random_state)]
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        folds = _split_often(data, check_count("cv", cv, 2), split, members, random_state)
    else:
        folds = _split_as_told(data, cv, members)
    for number, (training, held_out) in enumerate(folds, start=1):
        of = f" of fold {number}" if len(folds) > 1 else ""
        if len(training) < 2 or not len(held_out):
            raise exc.DataError(
                f"{len(training)} rows{of} are left to train and {len(held_out)} to validate, of "
                f"{data.n_rows}: both parts need some. Change validation or cv, or give more rows."
            )
        if not vary(data.labels[training]).any():
            raise exc.DataError(
                f"no label varies among the {len(training)} rows for training{of}, so there is "
                "nothing to learn. Give more rows, another random_state, other groups or a smaller "
                "share for validation."
            )
    return folds


def _read_groups(groups: Any, n_rows: int) -> IntArray:
    """Return the groups numbers."""
    members = np.asarray(as_array(groups, "groups"))
    if members.shape != (n_rows,):
        raise exc.DataError(
            f"groups must hold one value per row that is used, here {n_rows}, but its shape is "
            f"{members.shape}. Drop rows with missing values or weights of 0 first."
        )
    numbers = np.unique(members.astype(str), return_inverse=True)[1]
    if numbers.max() < 1:
        raise exc.DataError("groups must hold at least two groups, but all rows are of one.")
    return np.asarray(numbers)


def _split_once(
    data: ModelData,
    share: float,
    split: str,
    groups: IntArray | None,
    random_state: RandomState,
) -> tuple[IntArray, IntArray]:
    """Keep a share of the rows for validation."""
    generator = make_generator(random_state)
    n_validation = round(share * data.n_rows)
    if not 0 < n_validation < data.n_rows - 1:
        raise exc.DataError(
            f"validation={share:g} leaves {data.n_rows - n_validation} of {data.n_rows} rows to "
            f"train and {n_validation} to validate: both parts need some. Change validation, or "
            "give more rows."
        )
    if groups is not None:
        splitter = GroupShuffleSplit(
            1, test_size=share, random_state=int(generator.integers(2**31))
        )
        training, held_out = next(splitter.split(groups, groups=groups))
        return np.sort(training), np.sort(held_out)
    if split == "stratified":
        parts = stratify(data.labels, np.array([1 - share, share]), generator)
        return np.flatnonzero(parts == 0), np.flatnonzero(parts == 1)
    order = np.arange(data.n_rows)[::-1]
    if split == "random":
        order = generator.permutation(data.n_rows)
    return np.sort(order[n_validation:]), np.sort(order[:n_validation])


def _split_often(
    data: ModelData,
    n_splits: int,
    split: str,
    groups: IntArray | None,
    random_state: RandomState,
) -> list[tuple[IntArray, IntArray]]:
    """Make folds of about the same size."""
    n_units = data.n_rows if groups is None else int(groups.max()) + 1
    if n_splits > n_units:
        raise exc.DataError(
            f"cv must be at most the number of {'rows' if groups is None else 'groups'}, "
            f"{n_units}, but is {n_splits}."
        )
    if groups is not None:
        return list(GroupKFold(n_splits).split(groups, groups=groups))
    if split == "ordered":
        if n_splits >= data.n_rows:
            raise exc.DataError(
                f"cv must be below the number of rows, {data.n_rows}, for split='ordered', but is "
                f"{n_splits}."
            )
        return list(TimeSeriesSplit(n_splits).split(np.empty(data.n_rows)))
    generator = make_generator(random_state)
    if split == "stratified":
        parts = stratify(data.labels, np.full(n_splits, 1 / n_splits), generator)
    else:
        parts = generator.permutation(data.n_rows) % n_splits
    return [
        (np.flatnonzero(parts != part), np.flatnonzero(parts == part)) for part in range(n_splits)
    ]


def _split_as_told(
    data: ModelData, cv: Any, groups: IntArray | None
) -> list[tuple[IntArray, IntArray]]:
    """Let a splitter decide, or take pairs of rows."""
    try:
        labels = data.labels.astype(np.int64)
        target = labels[:, 0] if labels.shape[1] == 1 else labels
        pairs = list(check_cv(cv).split(np.empty((data.n_rows, 1)), target, groups))
        folds = [(_read_rows(a, data.n_rows), _read_rows(b, data.n_rows)) for a, b in pairs]
    except (TypeError, ValueError) as error:
        raise exc.DataError(
            "cv must be a number of folds, a splitter of scikit-learn's or pairs of rows to train "
            f"and to validate on, and must be able to split these {data.n_rows} rows, but is "
            f"{cv!r}: {error}"
        ) from error
    if not folds:
        raise exc.DataError("cv must make at least one fold, but makes none.")
    return folds


def _read_rows(rows: Any, n_rows: int) -> IntArray:
    """Check positions, or marks, of rows."""
    given = np.asarray(rows)
    places = np.flatnonzero(given) if given.dtype == np.bool_ else given.astype(np.intp)
    if given.dtype.kind not in "biu" or (places < 0).any() or (places >= n_rows).any():
        raise ValueError(f"rows must be positions from 0 to {n_rows - 1}")
    return places
