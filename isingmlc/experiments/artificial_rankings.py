"""Rankings of simulated features, of which it is known which are relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from isingmlc.base.arrays import FloatArray
from isingmlc.datasets import make_artdata
from isingmlc.experiments.curves import METHODS, PAPER
from isingmlc.experiments.workshop import Unit, Workshop
from isingmlc.model import IsingModel
from isingmlc.ranking.methods import Ranker
from isingmlc.results.ranking import RankingRoc

TIES = (
    "Features that a ranking ties count as in any order: the curve is the mean over all of them. "
    "The filters tie many, all in which minimum description length finds no cut."
)


def rank_artdata(
    workshop: Workshop, cases: Sequence[tuple[int, int]], n_simulations: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rank the features of simulated data by all methods."""
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
    """Simulate data, rank the features by all methods, and see how early relevant ones come."""
    generator = np.random.default_rng([seed, which, n])
    areas: dict[str, list[float]] = {method: [] for method in METHODS}
    curves: dict[str, list[FloatArray]] = {method: [] for method in METHODS}
    for _ in range(n_simulations):
        data = make_artdata(which, n, random_state=generator)
        ranker = Ranker(IsingModel(data))
        n_irrelevant = len(data.feature_names) - len(data.relevant or ())
        for method in METHODS:
            roc = ranker.rank(method, **PAPER.get(method, {})).roc(data.relevant or ())
            areas[method].append(roc.auc)
            curves[method].append(mean_rates(roc, n_irrelevant))
    return {
        method: {"auc": areas[method], "tpr": np.mean(curves[method], axis=0).tolist()}
        for method in METHODS
    }


def mean_rates(roc: RankingRoc, n_irrelevant: int) -> FloatArray:
    """Return the mean true positive rate between each false positive rate and the next."""
    fpr, tpr = np.append(0.0, roc.fpr), np.append(0.0, roc.tpr)
    width, height = np.diff(fpr), np.diff(tpr)
    area = np.append(0.0, np.cumsum(width * (tpr[:-1] + height / 2)))
    grid = np.linspace(0, 1, n_irrelevant + 1)
    at = np.minimum(np.searchsorted(fpr, grid, side="right") - 1, len(width) - 1)
    slope = np.divide(height, width, out=np.zeros_like(width), where=width > 0)
    along = grid - fpr[at]
    below = area[at] + along * (tpr[at] + slope[at] * along / 2)
    return np.append(np.diff(below) * n_irrelevant, 1.0)
