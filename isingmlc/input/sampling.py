"""How rows were drawn: the cluster that a row belongs to, and its sampling weight.

Neither is part of a label model, but rows of different clusters, or of different weights, may not
be added up: variances need the sums of each cluster, and the squares of the weights. So both tell
cells apart as covariates do, and travel beside them: `Context.sampling` is a context of its own,
with the columns `GROUPS` and `SAMPLING_WEIGHTS`, or one of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arrays import FloatArray
from isingmlc.input.checks import check_ratio
from isingmlc.input.context import Context, Levels
from isingmlc.input.tables import LARGEST, as_array, check_same_rows, is_numeric
from isingmlc.input.text import name_type

GROUPS, SAMPLING_WEIGHTS = "groups", "sampling_weights"
# Whole numbers beyond this are not told apart as floating-point numbers.
_EXACT = 2**53


def read_sampling(
    groups: Any, sampling_weights: Any, argument: str, rows: Any, missing: str
) -> Context | None:
    """Read clusters and sampling weights, and check that they belong to the rows."""
    columns: list[FloatArray] = []
    names: list[str] = []
    levels: list[Levels] = []
    if groups is not None:
        values, found = _read_groups(groups, argument, rows)
        n_missing = int(np.isnan(values).sum())
        if n_missing and missing == "raise":
            raise exc.DataError(
                f"groups has missing values in {n_missing} row(s). Drop those rows with "
                "missing='drop', or say which cluster they belong to."
            )
        columns.append(values)
        names.append(GROUPS)
        levels.append(found)
    if sampling_weights is not None:
        columns.append(check_weights(sampling_weights, argument, rows, missing, SAMPLING_WEIGHTS))
        names.append(SAMPLING_WEIGHTS)
        levels.append(None)
    if not names:
        return None
    return Context(np.column_stack(columns), tuple(names), tuple(levels))


def _read_groups(given: Any, argument: str, rows: Any) -> tuple[FloatArray, Levels]:
    """Return clusters as numbers, NaN where one is missing, and their names if they are text."""
    if isinstance(given, pd.DataFrame) and given.shape[1] == 1:
        given = given.iloc[:, 0]
    cells = given if isinstance(given, pd.Series) else as_array(given, GROUPS)
    if cells.ndim != 1:
        raise exc.DataError(
            f"groups must hold the cluster of each row, shape ({rows.shape[0]},), but has shape "
            f"{cells.shape}."
        )
    check_same_rows(argument, rows, GROUPS, cells)
    column = pd.Series(cells).reset_index(drop=True).infer_objects()
    if is_numeric(column):
        is_large = column.dtype.kind in "iu" and bool((column.abs() > _EXACT).any())
        if not is_large:
            # Negative zero is zero.
            return column.to_numpy(np.float64, na_value=np.nan) + 0.0, None
    codes, found = pd.factorize(column.where(column.isna(), column.astype(str)), sort=True)
    return np.where(codes < 0, np.nan, codes), tuple(map(str, found))


def check_weights(
    given: Any, argument: str, rows: Any, missing: str, name: str = "freq_weights"
) -> FloatArray:
    """Check weights against the rows that they belong to."""
    template = exc.BAD_WEIGHTS if name == "freq_weights" else exc.BAD_SAMPLING_WEIGHTS

    def bad(problem: str) -> exc.DataError:
        return exc.DataError(template.format(problem=problem))

    cells = given if isinstance(given, pd.Series) else as_array(given, name)
    if cells.ndim != 1:
        raise bad(f"they have shape {cells.shape} where ({rows.shape[0]},) is wanted")
    check_same_rows(argument, rows, name, cells)
    column = pd.Series(cells).infer_objects()
    if not is_numeric(column):
        raise bad(f"they are of type {name_type(column)}")
    weights: FloatArray = column.to_numpy(np.float64, na_value=np.nan)
    if name == "freq_weights" and not weights.any():
        raise exc.NoRowsError(template.format(problem="all of them are zero"))
    for kind, marks in (
        ("negative", weights < 0),
        ("zero", (weights == 0) & (name != "freq_weights")),
        ("too large", weights > LARGEST),
        ("missing (missing='drop' drops such rows)", np.isnan(weights) & (missing == "raise")),
    ):
        if marks.any():
            where = f"{marks.sum()} row(s), first in row {marks.argmax()}"
            raise bad(f"they are {kind} in {where}")
    positive = weights[weights > 0]
    if len(positive):
        check_ratio(name, positive.min(), positive.max())
    return weights


def scale_weights(context: Context, factor: float) -> Context:
    """Multiply sampling weights."""
    sampling = context.sampling
    assert sampling is not None
    numbers = sampling.numbers.copy()
    numbers[:, sampling.names.index(SAMPLING_WEIGHTS)] *= factor
    return replace(context, sampling=replace(sampling, numbers=numbers))
