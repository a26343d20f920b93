"""What input must be like: weights that compare, columns in range, features that are no labels.

A label with fewer rows than parameters is no error: its fit is a limit, as with any separation, and
its reason (``determined-label``) and `LowInformationWarning` say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks, dense

# How many times the smallest weight the largest may be.
WEIGHT_RATIO = 1e8
# How many standard deviations of the other rows a value may be from their mean.
FARTHEST = 1e6
# Columns with values farther than this, as some rows show it, are looked at.
_FAR = FARTHEST / 1000
_LOOKED_AT = 128
# From fewer rows it is not known how a column varies.
_FEWEST_ROWS = 10
# Other rows that vary less than this, relative to their size, are constant.
_CONSTANT = 1e-12
# Rows that tell columns apart; a column that equals a label in them is compared in all rows.
_COMPARED = 1000
# Labels with fewer ones or zeros among these rows are not looked for: other columns equal them by
# chance.
_FEWEST = 5
# How many copies are named.
_SAID = 3


def check_ratio(argument: str, least: float, most: float) -> None:
    """Refuse positive weights of which the largest is too large beside the smallest."""
    if most > WEIGHT_RATIO * least:
        raise exc.DataError(
            exc.WEIGHTS_APART.format(
                argument=argument, least=least, most=most, ratio=f"{WEIGHT_RATIO:g}"
            )
        )


def column_ends(matrix: Any) -> FloatArray:
    """Return the smallest and the largest value of each column, shape (2, p)."""
    if not sparse.issparse(matrix):
        return np.array([matrix.min(axis=0), matrix.max(axis=0)], dtype=np.float64)
    is_full = np.bincount(matrix.indices, minlength=matrix.shape[1]) == matrix.shape[0]
    ends = np.where(is_full, [[np.inf], [-np.inf]], 0.0)
    with np.errstate(invalid="ignore"):
        np.minimum.at(ends[0], matrix.indices, matrix.data)
        np.maximum.at(ends[1], matrix.indices, matrix.data)
    return ends


def check_columns(argument: str, matrix: Any, names: Sequence[str], ends: FloatArray) -> None:
    """Refuse columns with a value that is too far from all others, by the ends of the columns."""
    n_rows = matrix.shape[0]
    if n_rows < _FEWEST_ROWS or matrix.dtype.itemsize < 4:
        return
    suspects = _find_suspects(matrix, ends)
    for part in chunks(len(suspects), 8 * n_rows):
        columns = dense(matrix[:, suspects[part]]).astype(np.float64)
        at = np.arange(columns.shape[1])
        place = np.abs(columns - columns.mean(axis=0)).argmax(axis=0)
        farthest, columns[place, at] = columns[place, at], columns[0]
        low, high = column_ends(columns[1:])
        # In units of their size, of which no square is too small for a number.
        size = np.maximum(-low, high)
        size[size == 0] = 1.0
        others = columns[1:] / size
        away = np.abs(farthest / size - others.mean(axis=0))
        is_far = (high - low > _CONSTANT * size) & (away > FARTHEST * others.std(axis=0))
        for column in np.flatnonzero(is_far)[:1].tolist():
            raise exc.DataError(
                exc.OUTLIER.format(
                    argument=argument,
                    column=names[suspects[part][column]],
                    value=farthest[column],
                    low=low[column],
                    high=high[column],
                    farthest=f"{FARTHEST:g}",
                )
            )


def _find_suspects(matrix: Any, ends: FloatArray) -> IntArray:
    """Find the columns with an end that is far from other values, as some rows show these."""
    if sparse.issparse(matrix):
        values = matrix.data.astype(np.float64, copy=False)
        counts, total, square = (
            np.bincount(matrix.indices, kind, matrix.shape[1]).astype(np.float64)
            for kind in (None, values, values**2)
        )
        # Beside a single entry nothing varies.
        square[counts < 2] = np.inf
        return np.flatnonzero(_are_far(matrix.shape[0], total, square, ends, ends))
    few = matrix[:: max(1, matrix.shape[0] // _LOOKED_AT)]
    is_far = np.zeros(few.shape[1], dtype=np.bool_)
    for part in chunks(few.shape[1], 8 * len(few)):
        values = few[:, part].astype(np.float64)
        origin = values[0].copy()
        values -= origin
        sums = values.sum(axis=0), (values**2).sum(axis=0)
        is_far[part] = _are_far(len(few), *sums, column_ends(values), ends[:, part] - origin)
    return np.flatnonzero(is_far)


def _are_far(
    n: int, total: FloatArray, square: FloatArray, inner: FloatArray, ends: FloatArray
) -> BoolArray:
    """Tell where ends are far from n rows with these sums, squares and ends."""
    mean = total / n
    taken = (np.abs(inner - mean) ** 2).max(axis=0) * n / (n - 1)
    rest = np.maximum(square - n * mean**2 - taken, 0.0) / n
    return np.asarray(np.abs(ends - mean).max(axis=0) > _FAR * np.sqrt(rest))


def warn_of_copies(
    features: Any, labels: Any, feature_names: Sequence[object], label_names: Sequence[object]
) -> None:
    """Warn once of features that equal a label in every row."""
    step = max(1, features.shape[0] // _COMPARED)
    values, known = features[::step], dense(labels[::step]) != 0
    rarer = np.minimum(known.sum(axis=0), (~known).sum(axis=0))
    counted = np.flatnonzero(rarer >= _FEWEST)
    # Sums of random whole numbers over the ones of columns are exact as floats, and hardly ever
    # equal if the columns are not.
    numbers = np.random.default_rng(0).integers(1, 2**32, len(known)).astype(np.float64)
    marks = numbers @ known[:, counted].astype(np.float64)
    parts = [slice(None)] if sparse.issparse(values) else chunks(values.shape[1], 8 * len(known))
    own = np.concatenate([numbers @ values[:, part] for part in parts])
    said, columns = [], []
    for at in np.flatnonzero(np.isin(own, marks)).tolist():
        for label in counted[marks == own[at]].tolist():
            if (dense(features[:, [at]]) == (dense(labels[:, [label]]) != 0)).all():
                names = str(feature_names[at]), str(label_names[label])
                said.append(f"{names[0]!r} (column {at} from 0, equal to label {names[1]!r})")
                columns.append(at)
    if said:
        more = f" and {len(said) - _SAID} more" if len(said) > _SAID else ""
        copies = ", ".join(said[:_SAID]) + more
        message = exc.FEATURE_COPIES_LABEL.format(copies=copies, columns=columns[:_SAID])
        exc.warn(message, exc.DataWarning)
