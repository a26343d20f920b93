"""What input must be like: weights that compare, columns in range, features that are no labels.

A label with fewer rows than parameters is no error: where its rows do not overlap its fit is a
limit, as with any separation, and it says so by its reason (``determined-label``) and by
`LowInformationWarning`; a penalty is the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import IntArray, dense

# How many times the smallest weight the largest may be.
WEIGHT_RATIO = 1e8
# How many standard deviations of the other rows a value may be from their mean.
FARTHEST = 1e6
# Columns with values farther than this, as some rows show it, are looked at.
_FAR = FARTHEST / 1000
# So many rows tell how columns vary, and tell them apart.
_LOOKED_AT = 1000
# From fewer rows it is not known how a column varies.
_FEWEST_ROWS = 10
# Other rows that vary less than this, relative to their size, are constant.
_CONSTANT = 1e-12
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


def check_columns(argument: str, matrix: Any, names: Sequence[str]) -> None:
    """Refuse columns with a value that is too far from all others."""
    if matrix.shape[0] < _FEWEST_ROWS or matrix.dtype.itemsize < 4:
        return
    for at in _find_suspects(matrix).tolist():
        column = dense(matrix[:, [at]]).ravel().astype(np.float64)
        place = np.argmax(np.abs(column - column.mean()))
        others = np.delete(column, place)
        # In units of their size, of which no square is too small for a number.
        size = np.abs(others).max() or 1.0
        spread, away = (others / size).std(), abs(column[place] - others.mean()) / size
        if np.ptp(others) > _CONSTANT * size and away > FARTHEST * spread:
            raise exc.DataError(
                exc.OUTLIER.format(
                    argument=argument,
                    column=names[at],
                    value=column[place],
                    low=others.min(),
                    high=others.max(),
                    farthest=f"{FARTHEST:g}",
                )
            )


def _find_suspects(matrix: Any) -> IntArray:
    """Find the columns with a value that is far from others, as some rows or sums show these."""
    ends = [dense(end(axis=0)).ravel().astype(np.float64) for end in (matrix.min, matrix.max)]
    if sparse.issparse(matrix):
        n_rows, n_columns = matrix.shape
        values, at = matrix.data.astype(np.float64), matrix.indices
        total, square = (
            np.bincount(at, part, n_columns).astype(float) for part in (values, values**2)
        )
        # Beside a single entry nothing varies.
        square[np.bincount(at, minlength=n_columns) < 2] = np.inf
        low, high = ends
    else:
        few = matrix[:: max(1, matrix.shape[0] // _LOOKED_AT)].astype(np.float64)
        few = few - few[0]
        n_rows, total, square = len(few), few.sum(axis=0), (few**2).sum(axis=0)
        low, high = few.min(axis=0), few.max(axis=0)
        ends = [end - matrix[0] for end in ends]
    mean = total / n_rows
    taken = np.maximum(high - mean, mean - low) ** 2 * n_rows / (n_rows - 1)
    rest = np.maximum(square - n_rows * mean**2 - taken, 0.0) / n_rows
    return np.flatnonzero(np.maximum(ends[1] - mean, mean - ends[0]) > _FAR * np.sqrt(rest))


def warn_of_copies(
    features: Any, labels: Any, feature_names: Sequence[object], label_names: Sequence[object]
) -> None:
    """Warn once of features that equal a label in every row."""
    step = max(1, features.shape[0] // _LOOKED_AT)
    values, known = dense(features[::step]), dense(labels[::step]) != 0
    rarer = np.minimum(known.sum(axis=0), (~known).sum(axis=0))
    counted = np.flatnonzero(rarer >= _FEWEST)
    # Sums of random whole numbers over the ones of columns are exact as floats, and hardly ever
    # equal if the columns are not.
    numbers = np.random.default_rng(0).integers(1, 2**32, len(known)).astype(np.float64)
    own, marks = numbers @ values, numbers @ known[:, counted].astype(np.float64)
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
