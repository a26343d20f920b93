"""Rankings of simulated features, of which it is known which are relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from isingmlc.base.arrays import FloatArray
from isingmlc.datasets import make_artdata
from isingmlc.experiments.curves import METHODS
from isingmlc.experiments.sources import shuffle_features
from isingmlc.experiments.workshop import Unit, Workshop
from isingmlc.model import IsingModel
from isingmlc.ranking.methods import Ranker

SHUFFLED = (
    "Features are put into random order before they are ranked: rankings break ties by the order "
    "of the features, and the simulated data list the relevant ones first. The filters tie many "
    "features, all in which minimum description length finds no cut; unshuffled, they would seem "
    "to find what they cannot see."
)


def rank_artdata(
    workshop: Workshop, cases: Sequence[tuple[int, int]], n_simulations: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rank the features of simulated data by all methods.

    Parameters
    ----------
    workshop : Workshop
        Where to work.
    cases : sequence of (which, n)
        Which of the four data sets, with how many rows.
    n_simulations : int
        Simulations per case.

    Returns
    -------
    areas : DataFrame
        Columns dataset, n, method, simulation, auc.
    curves : DataFrame
        Columns dataset, n, method, fpr, tpr: the mean true positive rate at each false positive
        rate.
    """
    units = [
        Unit(
            f"ArtData{which}-n{n}",
            {"which": which, "n": n, "n_simulations": n_simulations, "seed": workshop.seed},
        )
        for which, n in sorted(cases, key=lambda case: -case[1])
    ]
    results = workshop.compute("rankings", rank_simulations, units)
    areas, curves = [], []
    for unit, result in zip(units, results, strict=True):
        case = {"dataset": f"ArtData{unit.settings['which']}", "n": unit.settings["n"]}
        for method, found in result.items():
            areas += [
                {**case, "method": method, "simulation": number, "auc": auc}
                for number, auc in enumerate(found["auc"], 1)
            ]
            rates = np.linspace(0, 1, len(found["tpr"]))
            curves += [
                {**case, "method": method, "fpr": fpr, "tpr": tpr}
                for fpr, tpr in zip(rates, found["tpr"], strict=True)
            ]
    order = ["dataset", "n"]
    return (
        pd.DataFrame(areas).sort_values(order, kind="stable", ignore_index=True),
        pd.DataFrame(curves).sort_values(order, kind="stable", ignore_index=True),
    )


def rank_simulations(
    which: int, n: int, n_simulations: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Simulate data, rank the features by all methods, and see how early relevant ones come.

    Parameters
    ----------
    which : {1, 2, 3, 4}
        Which of the data sets.
    n : int
        Rows.
    n_simulations : int
        How often.
    seed : int
        Source of randomness.

    Returns
    -------
    dict of str to dict
        For each method the areas below the curves, ``auc``, and the mean true positive rate
        ``tpr`` at the false positive rates 0, 1/m, …, 1, m being the irrelevant features.

    Examples
    --------
    >>> found = rank_simulations(which=3, n=100, n_simulations=1, seed=0)
    >>> len(found["score"]["tpr"])
    42
    """
    generator = np.random.default_rng([seed, which, n])
    areas: dict[str, list[float]] = {method: [] for method in METHODS}
    curves: dict[str, list[FloatArray]] = {method: [] for method in METHODS}
    for _ in range(n_simulations):
        data = make_artdata(which, n, random_state=generator)
        ranker = Ranker(IsingModel(shuffle_features(data, generator)))
        for method in METHODS:
            roc = ranker.rank(method).roc(data.relevant or ())
            areas[method].append(roc.auc)
            curves[method].append(highest_rates(roc.fpr, roc.tpr))
    return {
        method: {"auc": areas[method], "tpr": np.mean(curves[method], axis=0).tolist()}
        for method in METHODS
    }


def highest_rates(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    """Give the largest true positive rate at each false positive rate.

    Their mean over all false positive rates but the last is the area below the curve, so means
    of them over simulations have the mean area.

    Parameters
    ----------
    fpr, tpr : ndarray
        A curve as in `RankingRoc`.

    Returns
    -------
    ndarray
        The rates at 0, 1/m, …, 1.

    Examples
    --------
    >>> highest_rates(np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.5, 0.5, 1.0, 1.0]))
    array([0.5, 1. , 1. ])
    """
    fpr, tpr = np.append(0.0, fpr), np.append(0.0, tpr)
    last = np.append(np.flatnonzero(np.diff(fpr) > 0), len(fpr) - 1)
    return np.asarray(tpr[last])
