"""Validation rows: they are split off, and subsets of features are measured on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, make_generator
from isingmlc.base.arrays import BoolArray, Features, IntArray
from isingmlc.input.context import Context
from isingmlc.input.rows import ModelData
from isingmlc.metrics import evaluate
from isingmlc.results.ranking import FeatureRanking, best_first
from isingmlc.selection.classifiers import VaryingLabels, join_columns, vary


def split_rows(
    data: ModelData, share: float, random_state: RandomState
) -> tuple[ModelData, ModelData]:
    """Split the rows at random.

    Parameters
    ----------
    data : ModelData
        The rows.
    share : float
        Share of the rows that is kept for validation.
    random_state : int, Generator or None
        Source of the split.

    Returns
    -------
    training, validation : ModelData
        The two parts, each in the order of the rows.

    Raises
    ------
    DataError
        When a part has too few rows, or no label varies in those for training.
    """
    n_validation = round(share * data.n_rows)
    if not 0 < n_validation < data.n_rows - 1:
        raise exc.DataError(
            f"validation={share:g} leaves {data.n_rows - n_validation} of {data.n_rows} rows to "
            f"train and {n_validation} to validate: both parts need some. Change validation, or "
            "give more rows."
        )
    order = make_generator(random_state).permutation(data.n_rows)
    training = data.take_rows(np.sort(order[n_validation:]))
    if not vary(training.labels).any():
        raise exc.DataError(
            f"no label varies among the {training.n_rows} rows for training, so there is nothing "
            "to learn. Give more rows, another random_state or a smaller share for validation."
        )
    return training, data.take_rows(np.sort(order[:n_validation]))


def try_sizes(
    training: ModelData,
    validation: ModelData,
    context: Context,
    rankings: Mapping[str, FeatureRanking],
    sizes: IntArray,
    estimator: VaryingLabels,
    n_jobs: int,
) -> pd.DataFrame:
    """Train on the first features of rankings and measure on the validation rows.

    Parameters
    ----------
    training, validation : ModelData
        The two parts of the rows.
    context : Context
        The covariates of all rows, which say how those of a part become columns.
    rankings : mapping of str to FeatureRanking
        Rankings by the names that they have in the table.
    sizes : ndarray of int
        Numbers of features to try, in increasing order.
    estimator : VaryingLabels
        The classifier.
    n_jobs : int
        Processes to use.

    Returns
    -------
    DataFrame
        Columns method, size and the measures; one row per ranking and size.
    """
    measured = tqdm(
        joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
            _list_jobs((training, validation), context, rankings.values(), sizes, estimator)
        ),
        desc="selecting features",
        total=len(rankings) * len(sizes),
        disable=None,
    )
    tried = pd.DataFrame(product(rankings, sizes), columns=["method", "size"])
    return tried.join(pd.DataFrame(list(measured)).reset_index(drop=True))


def _list_jobs(
    parts: tuple[ModelData, ModelData],
    context: Context,
    rankings: Iterable[FeatureRanking],
    sizes: IntArray,
    estimator: VaryingLabels,
) -> Iterator[Any]:
    """Give what there is to compute, ranking by ranking."""
    truth = [part.labels for part in parts]
    always = [context.columns_at(part.context.numbers) for part in parts]
    for ranking in rankings:
        # In the order of the ranking, the best features of any number are neighbours.
        best = best_first(ranking.scores.importance)[: sizes[-1]]
        ordered: list[Features] = [part.take_features(best).features for part in parts]
        for size in sizes:
            columns = [
                join_columns(own, part[:, :size]) for own, part in zip(always, ordered, strict=True)
            ]
            yield joblib.delayed(_measure)(estimator, *columns, *truth)


def _measure(
    estimator: VaryingLabels,
    training: Features,
    validation: Features,
    labels: BoolArray,
    truth: BoolArray,
) -> pd.Series:
    """Train on some rows and measure on others."""
    # The problems are small: threads would wait for each other most of the time.
    with threadpool_limits(limits=1):
        return evaluate(truth, estimator.fit(training, labels).predict(validation))
