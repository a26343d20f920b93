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
    """Rows to train on, rows to validate on, and the rankings of the first."""

    training: ModelData
    held_out: ModelData
    rankings: Mapping[str, FeatureRanking]


class Attempts(NamedTuple):
    """What was tried, and how it did."""

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
    """Train on the first features of rankings and measure on the validation rows."""
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
    """Return the standard error of a weighted mean over rows."""
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
    """Find the columns of what is chosen."""
    place = {name: at for at, name in enumerate(data.feature_names)}
    return np.array([place[name] for term in chosen for name in terms[term]], dtype=np.intp)


def choose(path: pd.DataFrame, rule: str) -> tuple[str, int]:
    """Choose a ranking and a size."""
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
    """Choose a ranking and a size; rankings other than the first have to be better beyond doubt."""
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
    """Return the place of a ranking and a size."""
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
    """Return what there is to compute, ranking by ranking."""
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
