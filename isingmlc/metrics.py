"""Measures of how well predicted label sets agree with the true ones; higher is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.input.tables import (
    as_array,
    as_table,
    check_same_rows,
    check_tags,
    column_names,
    is_unnamed,
)

__all__ = ["evaluate", "hamming_score", "jaccard_score", "subset_accuracy"]


def subset_accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of rows whose label set is predicted exactly.

    Parameters
    ----------
    y_true : array_like, DataFrame or sparse, shape (n, K)
        The true 0/1 labels.
    y_pred : array_like, DataFrame or sparse, shape (n, K)
        The predicted 0/1 labels. Columns of two frames are matched by name, whatever their order;
        otherwise by position.
    sample_weight : array_like, shape (n,), optional
        How much each row counts.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    DataError
        When the two do not describe the same rows and labels, or are not coded 0/1.

    Examples
    --------
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    0.5
    """
    return _subset(*_check(y_true, y_pred, sample_weight))


def hamming_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of single labels that are predicted correctly.

    Parameters
    ----------
    y_true, y_pred, sample_weight
        As `subset_accuracy` takes them.

    Returns
    -------
    float
        Between 0 and 1: one minus the Hamming loss.

    Examples
    --------
    >>> hamming_score([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    0.75
    """
    return _hamming(*_check(y_true, y_pred, sample_weight))


def jaccard_score(
    y_true: Any, y_pred: Any, *, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """Return how much true and predicted label sets overlap, on average over rows.

    The overlap of a row is the number of labels in both sets divided by the number in either.

    Parameters
    ----------
    y_true, y_pred, sample_weight
        As `subset_accuracy` takes them.
    zero_division : {0.0, 1.0}
        The overlap of two empty sets, which is 0/0. With 0, as in the paper's tables, rows
        without labels gain nothing from being predicted so, and the measure may fall below
        subset accuracy.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> truth, guess = [[1, 0], [1, 1], [0, 0]], [[1, 0], [0, 1], [0, 0]]
    >>> jaccard_score(truth, guess)
    0.5
    >>> round(jaccard_score(truth, guess, zero_division=1), 3)
    0.833
    """
    overlap = _check_zero_division(zero_division)
    return _jaccard(*_check(y_true, y_pred, sample_weight), overlap)


def evaluate(
    y_true: Any, y_pred: Any, *, zero_division: float = 0.0, sample_weight: Any = None
) -> pd.Series:
    """Return all measures at once.

    Parameters
    ----------
    y_true, y_pred, zero_division, sample_weight
        As `jaccard_score` takes them.

    Returns
    -------
    Series
        ``subset``, ``hamming`` and ``jaccard``.

    Examples
    --------
    >>> evaluate([[1, 0], [1, 1]], [[1, 0], [0, 1]])
    subset     0.50
    hamming    0.75
    jaccard    0.75
    Name: score, dtype: float64
    """
    overlap = _check_zero_division(zero_division)
    pair = _check(y_true, y_pred, sample_weight)
    scores = {
        "subset": _subset(*pair),
        "hamming": _hamming(*pair),
        "jaccard": _jaccard(*pair, overlap),
    }
    return pd.Series(scores, name="score")


def score_rows(truth: BoolArray, guess: BoolArray) -> FloatArray:
    """Return the measures of single rows, whose means `evaluate` gives."""
    agrees = truth == guess
    size = (truth | guess).sum(axis=1)
    shared = (truth & guess).sum(axis=1)
    jaccard = np.divide(shared, size, out=np.zeros(len(truth)), where=size > 0)
    return np.column_stack([agrees.all(axis=1), agrees.mean(axis=1), jaccard])


METRICS: Mapping[str, Callable[..., float]] = MappingProxyType(
    {"subset": subset_accuracy, "hamming": hamming_score, "jaccard": jaccard_score}
)
"""The measures by the names that `evaluate` and ``metric=`` use."""


def measure_f1(
    average: str, truth: BoolArray, guess: BoolArray, *, sample_weight: FloatArray | None = None
) -> float:
    """Return the F1 of predicted label sets; 0 where nothing is there and nothing predicted."""
    from sklearn.metrics import f1_score

    labels = np.arange(truth.shape[1])
    # A label that no set has changes nothing; without it a single label were no set to sklearn.
    truth, guess = (np.pad(sets, ((0, 0), (0, 1))) for sets in (truth, guess))
    score = f1_score(
        truth,
        guess,
        labels=labels,
        average=average,
        sample_weight=sample_weight,
        zero_division=0.0,
    )
    return float(score)


MEASURES: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        **METRICS,
        "f1": partial(measure_f1, "samples"),
        "f1-micro": partial(measure_f1, "micro"),
        "f1-macro": partial(measure_f1, "macro"),
    }
)
"""All measures that can be maximised, by name: those of `METRICS` and three kinds of F1."""


def _subset(truth: BoolArray, guess: BoolArray, weights: FloatArray | None) -> float:
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(truth, guess, sample_weight=weights))


def _hamming(truth: BoolArray, guess: BoolArray, weights: FloatArray | None) -> float:
    from sklearn.metrics import hamming_loss

    return 1.0 - float(hamming_loss(truth, guess, sample_weight=weights))


def _jaccard(
    truth: BoolArray, guess: BoolArray, weights: FloatArray | None, overlap: float
) -> float:
    from sklearn.metrics import jaccard_score

    # A label that no set has changes nothing; without it a single label were no set to sklearn.
    truth, guess = (np.pad(sets, ((0, 0), (0, 1))) for sets in (truth, guess))
    score = jaccard_score(
        truth, guess, average="samples", sample_weight=weights, zero_division=overlap
    )
    return float(score)


def _check_zero_division(given: Any) -> float:
    number = check_number("zero_division", given)
    check_option("zero_division", number, (0.0, 1.0))
    return number


def _check(
    y_true: Any, y_pred: Any, sample_weight: Any
) -> tuple[BoolArray, BoolArray, FloatArray | None]:
    """Bring true and predicted labels to two matrices with the same rows and columns."""
    check_tags(y_true, "y_true")
    check_tags(y_pred, "y_pred")
    truth = as_table(y_true, "y_true")
    guess = _match_columns(truth, as_table(y_pred, "y_pred"))
    check_same_rows("y_true", truth, "y_pred", guess)
    weights = None if sample_weight is None else _check_weights(sample_weight, truth)
    return _as_sets(truth, "y_true"), _as_sets(guess, "y_pred"), weights


def _match_columns(truth: Any, guess: Any) -> Any:
    """Put predicted columns into the order of the true ones, by name if both have names."""
    known, found = column_names(truth, "y_true", None), column_names(guess, "y_pred", None)
    if _has_names(truth) and _has_names(guess) and known != found:
        if set(known) != set(found):
            lacking = [name for name in known if name not in found]
            other = [name for name in found if name not in known]
            problems = [f"lacks {exc.shorten(lacking)}"] if lacking else []
            problems += [f"has {exc.shorten(other)} besides"] if other else []
            raise exc.DataError(
                f"y_pred must have the columns of y_true, but {' and '.join(problems)}. Take the "
                "columns that both have, or rename them."
            )
        return guess.set_axis(list(found), axis=1)[list(known)]
    if len(known) != len(found):
        raise exc.DataError(
            f"y_pred must have the {len(known)} column(s) of y_true, but has {len(found)}. "
            "Predict all of the labels."
        )
    return guess


def _has_names(table: Any) -> bool:
    return isinstance(table, pd.DataFrame) and not is_unnamed(table.columns)


def _as_sets(table: Any, argument: str) -> BoolArray:
    """Return a matrix of 0/1 values as booleans; anything else, NaN too, is an error."""
    if isinstance(table, pd.DataFrame):
        cells = table.to_numpy()
    else:
        cells = table.toarray() if sparse.issparse(table) else table
    if cells.dtype.kind == "O":
        # pandas' NA is neither equal to a number nor not.
        cells = np.where(pd.isna(cells), np.nan, cells)
    ones: BoolArray = cells == 1
    usable = ones | (cells == 0)
    if not usable.all():
        row, column = np.argwhere(~usable)[0].tolist()
        name = column_names(table, argument, None)[column] if _has_names(table) else column
        value = cells[row, column]
        value = value.item() if isinstance(value, np.generic) else value
        raise exc.DataError(
            f"{argument} must be coded 0/1, but column {name!r} holds {value!r} in row {row}. Turn "
            "probabilities into 0/1 first, and leave out rows with missing values."
        )
    return ones.astype(np.bool_, copy=False)


def _check_weights(given: Any, rows: Any) -> FloatArray:
    cells = given if isinstance(given, pd.Series) else as_array(given, "sample_weight")
    if cells.ndim != 1:
        raise exc.DataError(
            f"sample_weight must hold one number per row, but its shape is {cells.shape}."
        )
    check_same_rows("y_true", rows, "sample_weight", cells)
    try:
        weights = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.full(len(cells), np.nan)
    if not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
        raise exc.DataError(
            "sample_weight must be finite and not negative, and not all zero, but is "
            f"{exc.shorten(cells)}. 0 leaves a row out."
        )
    return weights
