"""Subsets of features are measured on validation rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray
from isingmlc.base.tables import ResultTable
from isingmlc.input.context import Context
from isingmlc.input.rows import ModelData
from isingmlc.metrics import MEASURES, METRICS, score_rows
from isingmlc.results.ranking import FeatureRanking
from isingmlc.selection.classifiers import VaryingLabels, join_columns

Measure = Callable[..., Any]
"""A function of true and predicted labels."""


@dataclass(frozen=True)
class Fold:
    """Rows to train on, rows to validate on, and the rankings of the first.

    Attributes
    ----------
    training, held_out : ModelData
        The two parts.
    rankings : mapping of str to FeatureRanking
        Rankings by the names that they have in the table.
    """

    training: ModelData
    held_out: ModelData
    rankings: Mapping[str, FeatureRanking]


class Attempts(NamedTuple):
    """What was tried, and how it did.

    Attributes
    ----------
    path : DataFrame
        Columns method, size, score (the measure that counts, over the validation rows of all
        folds), score_se (its standard error over rows, NaN if it is no mean of rows) and all
        measures; one row per ranking and size.
    scores : ndarray, shape (attempts, rows)
        What each validation row scores; NaN if the measure is no mean of rows.
    weights : ndarray, shape (rows,)
        How many observations each validation row stands for.
    """

    path: pd.DataFrame
    scores: FloatArray
    weights: FloatArray


def try_sizes(
    folds: Sequence[Fold],
    context: Context,
    terms: Mapping[str, tuple[str, ...]],
    sizes: IntArray,
    estimator: VaryingLabels,
    metric: str | Measure,
    n_jobs: int,
) -> Attempts:
    """Train on the first features of rankings and measure on the validation rows.

    Parameters
    ----------
    folds : sequence of Fold
        What to train and to validate on.
    context : Context
        The covariates of all rows, which say how those of a part become columns.
    terms : mapping of str to tuple of str
        What is ranked, and the columns of each.
    sizes : ndarray of int
        Numbers of features to try, in increasing order.
    estimator : VaryingLabels
        The classifier.
    metric : str or callable
        The measure that counts, by name, or a function of true and predicted labels.
    n_jobs : int
        Processes to use.

    Returns
    -------
    Attempts
        What was tried.
    """
    tried = list(product(folds[0].rankings, sizes.tolist()))
    measured = tqdm(
        joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
            job for fold in folds for job in _list_jobs(fold, context, terms, sizes, estimator)
        ),
        desc="selecting features",
        total=len(folds) * len(tried),
        disable=None,
    )
    guesses = iter(measured)
    found = [[next(guesses) for _ in tried] for _ in folds]
    truth = np.concatenate([fold.held_out.labels for fold in folds])
    is_weighted = any(fold.held_out.weights is not None for fold in folds)
    weights = np.concatenate([_weights_of(fold.held_out) for fold in folds])
    lines, scores = [], np.full((len(tried), len(truth)), np.nan)
    for number, (method, size) in enumerate(tried):
        guess = np.concatenate([per_fold[number] for per_fold in found])
        rows = score_rows(truth, guess)
        # Scores that are equal must not differ by rounding.
        means = np.average(rows, axis=0, weights=weights).round(12)
        if metric in METRICS:
            at = tuple(METRICS).index(str(metric))
            score, scores[number] = means[at], rows[:, at]
            error = _error_of_mean(rows[:, at], weights)
        else:
            score = _measure_all(metric, truth, guess, weights if is_weighted else None)
            error = np.nan
        lines.append((method, size, score, error, *means))
    path = ResultTable(lines, columns=["method", "size", "score", "score_se", *METRICS])
    return Attempts(path, scores, weights)


def _error_of_mean(values: FloatArray, weights: FloatArray) -> float:
    """Give the standard error of a weighted mean over rows."""
    spread = np.average((values - np.average(values, weights=weights)) ** 2, weights=weights)
    return float(np.sqrt(spread / weights.sum()))


def _measure_all(
    metric: str | Measure, truth: BoolArray, guess: BoolArray, weights: FloatArray | None
) -> float:
    """Measure all validation rows together; a function of the user's gets labels of 0 and 1."""
    given = {} if weights is None else {"sample_weight": weights}
    if isinstance(metric, str):
        return round(MEASURES[metric](truth, guess, **given), 12)
    score = metric(truth.astype(np.int64), guess.astype(np.int64), **given)
    if not isinstance(score, Real) or not np.isfinite(float(score)):
        raise exc.DataError(
            "metric must give one finite number for true and predicted labels, the larger the "
            f"better, but gave {score!r}."
        )
    return round(float(score), 12)


def find_columns(
    data: ModelData, terms: Mapping[str, tuple[str, ...]], chosen: Iterable[str]
) -> IntArray:
    """Find the columns of what is chosen.

    Parameters
    ----------
    data : ModelData
        Rows with all features.
    terms : mapping of str to tuple of str
        What may be chosen, and the columns of each.
    chosen : iterable of str
        What is chosen.

    Returns
    -------
    ndarray of int
        Positions of the columns, in the order of `chosen`.
    """
    place = {name: at for at, name in enumerate(data.feature_names)}
    return np.array([place[name] for term in chosen for name in terms[term]], dtype=np.intp)


def choose(path: pd.DataFrame, rule: str) -> tuple[str, int]:
    """Choose a ranking and a size.

    Parameters
    ----------
    path : DataFrame
        The path of what `try_sizes` gives, or a part of it.
    rule : {"best", "one-se"}
        The best score, of equal ones that of the smallest size; or the smallest size whose score
        is within one standard error of the best.

    Returns
    -------
    method : str
        The ranking.
    size : int
        The number of features.

    Examples
    --------
    >>> path = pd.DataFrame(
    ...     {"method": "score", "size": [1, 2], "score": [0.50, 0.51], "score_se": [0.02, 0.02]}
    ... )
    >>> choose(path, "best"), choose(path, "one-se")
    (('score', 2), ('score', 1))
    """
    # Means of equal scores may differ by rounding. Rows are in the order of methods and sizes.
    ordered = path.assign(score=path["score"].round(12)).sort_values(
        ["score", "size"], ascending=[False, True], kind="stable"
    )
    if rule == "one-se":
        best = ordered.iloc[0]
        near = ordered[ordered["score"] >= best["score"] - best["score_se"]]
        ordered = near.sort_values(["size", "score"], ascending=[True, False], kind="stable")
    return str(ordered.iloc[0]["method"]), int(ordered.iloc[0]["size"])


def choose_cautiously(tried: Attempts, rule: str) -> tuple[str, int]:
    """Choose a ranking and a size; rankings other than the first have to be better beyond doubt.

    Each ranking has its own size. A later ranking is chosen if the rows that it scores better are
    worth more than one standard error of the difference, row by row.

    Parameters
    ----------
    tried : Attempts
        What `try_sizes` gives.
    rule : {"best", "one-se"}
        How a size is chosen; see `choose`.

    Returns
    -------
    method : str
        The ranking.
    size : int
        The number of features.

    Examples
    --------
    The same scores, of rows that are right in both rankings or in one of them:

    >>> path = pd.DataFrame({"method": ["forward", "ssc"], "size": 1, "score": [0.4, 0.6]})
    >>> alike = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]])
    >>> unlike = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
    >>> for scores in (alike, unlike):
    ...     print(choose_cautiously(Attempts(path, scores, np.ones(5)), "best"))
    ('ssc', 1)
    ('forward', 1)
    """
    path = tried.path
    chosen, *others = (
        choose(path[path["method"] == name], rule) for name in path["method"].unique()
    )
    for other in others:
        here, there = (_find(path, each) for each in (chosen, other))
        gain = path["score"].iloc[there] - path["score"].iloc[here]
        differences = tried.scores[there] - tried.scores[here]
        doubt = np.nan_to_num(_error_of_mean(differences, tried.weights))
        if gain > doubt:
            chosen = other
    return chosen


def _find(path: pd.DataFrame, attempt: tuple[str, int]) -> int:
    """Give the place of a ranking and a size."""
    method, size = attempt
    return int(np.flatnonzero((path["method"] == method) & (path["size"] == size))[0])


def _weights_of(data: ModelData) -> FloatArray:
    return np.ones(data.n_rows) if data.weights is None else data.weights


def _list_jobs(
    fold: Fold,
    context: Context,
    terms: Mapping[str, tuple[str, ...]],
    sizes: IntArray,
    estimator: VaryingLabels,
) -> Iterator[Any]:
    """Give what there is to compute, ranking by ranking."""
    parts = fold.training, fold.held_out
    always = [context.columns_at(part.context.numbers) for part in parts]
    for ranking in fold.rankings.values():
        # In the order of the ranking, the best features of any number are neighbours.
        names = ranking.order[: sizes[-1]]
        best = find_columns(fold.training, terms, names)
        n_columns = np.cumsum([len(terms[name]) for name in names])
        ordered: list[Features] = [part.take_features(best).features for part in parts]
        for size in sizes:
            columns = [
                join_columns(own, part[:, : n_columns[size - 1]])
                for own, part in zip(always, ordered, strict=True)
            ]
            yield joblib.delayed(_predict)(
                estimator, *columns, fold.training.labels, fold.training.weights
            )


def _predict(
    estimator: VaryingLabels,
    training: Features,
    validation: Features,
    labels: BoolArray,
    weights: FloatArray | None,
) -> BoolArray:
    """Train on some rows and predict others."""
    # The problems are small: threads would wait for each other most of the time.
    with threadpool_limits(limits=1):
        guess = estimator.fit(training, labels, weights).predict(validation)
    return np.asarray(guess > 0)
