"""How well networks are found on so many rows, by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.ebic import NetworkSettings
from isingmlc.fitting.nodewise import FitSettings, NetworkFit, fit_nodes
from isingmlc.networks.bootstrap import count_cells
from isingmlc.networks.case_dropping import correlate, drop_rows
from isingmlc.networks.contrasts import list_pairs
from isingmlc.networks.covariance import NetworkEstimate
from isingmlc.networks.refits import PlainRefits, Refits, SparseRefits
from isingmlc.statistics.labelsets import LabelsetStatistics

MEASURES = ("sensitivity", "specificity", "correlation", "cs")
ESTIMATORS = ("ebic", "nodewise")


class Measured(NamedTuple):
    """What was measured on draws, shape (draws, measures)."""

    values: FloatArray


@dataclass(frozen=True, eq=False)
class NetworkTrial:
    """Draws rows from a network, fits one to them, and measures how alike they are."""

    distribution: Any
    measures: tuple[str, ...]
    estimator: str
    settings: NetworkSettings
    alpha: float
    cs_draws: int

    def measure(self, tasks: Sequence[tuple[int, int]]) -> Measured:
        """Measure some draws."""
        return Measured(np.array([self._measure(*task) for task in tasks]))

    def _measure(self, n_rows: int, seed: int) -> FloatArray:
        """Measure one draw."""
        generator = np.random.default_rng(seed)
        labels = self.distribution.sample(n_rows, random_state=generator).to_numpy(np.bool_)
        cells = count_cells(labels)
        weights, found = self._fit(cells)
        pairs = np.triu_indices(len(weights), 1)
        wanted = self.distribution.interactions.to_numpy()[pairs]
        is_edge, hit = wanted != 0, found[pairs]
        values = []
        for measure in self.measures:
            if measure == "correlation":
                values.append(float(correlate(weights[pairs][None], wanted[None])[0]))
            elif measure == "cs":
                names = tuple(self.distribution.label_names)
                dropped = drop_rows(
                    self._refits(cells[0], cells[2]),
                    cells[2],
                    names,
                    self.cs_draws,
                    random_state=generator,
                    n_jobs=1,
                )
                values.append(float(dropped.cs_coefficient().loc["pairs", "cs"]))
            else:
                counted = is_edge if measure == "sensitivity" else ~is_edge
                right = hit == is_edge
                values.append(float(right[counted].mean()) if counted.any() else np.nan)
        return np.array(values)

    def _refits(self, patterns: BoolArray, counts: FloatArray) -> Refits:
        """Return what fits such networks."""
        columns = np.empty((len(patterns), 0))
        if self.estimator == "ebic":
            return SparseRefits(patterns, columns, self.settings, None)
        everyone = ~np.eye(patterns.shape[1], dtype=np.bool_)
        return PlainRefits(patterns, counts, columns, FitSettings(), everyone, None)

    def _fit(self, cells: Any) -> tuple[FloatArray, BoolArray]:
        """Fit a network, and tell which pairs are edges of it."""
        if self.estimator == "ebic":
            weights = self._refits(cells[0], cells[2]).fit_tables([cells]).weights[0]
            return weights, np.nan_to_num(weights) != 0
        stats = LabelsetStatistics.from_arrays(cells[0].astype(np.intp), freq_weights=cells[2])
        settings = FitSettings()
        nodes = fit_nodes(stats.patterns, stats.counts, settings)
        estimate = NetworkEstimate(NetworkFit(stats, settings, nodes, None, {}))
        table = list_pairs(estimate, self.alpha)
        found = np.zeros(estimate.weights.shape, dtype=np.bool_)
        first, second = np.triu_indices(len(found), 1)
        significant = (table["pvalue_adj"] <= self.alpha).to_numpy()
        # Labels that never meet, or only together, are tied beyond any doubt of an error.
        found[first, second] = significant | np.isinf(table["weight"].to_numpy())
        return estimate.weights, found


def fit_rising(means: FloatArray, weights: FloatArray) -> FloatArray:
    """Fit means that do not fall with the number of rows."""
    known = ~np.isnan(means)
    fitted = np.full(len(means), np.nan)
    if known.any():
        fitted[known] = isotonic_regression(means[known], weights=weights[known]).x
    return fitted


def find_rows(n_rows: IntArray, fitted: FloatArray, target: float) -> float:
    """Return the rows at which a rising fit reaches a target, between sizes on a log scale."""
    enough = np.flatnonzero(fitted >= target)
    if not len(enough):
        return float("inf")
    at = int(enough[0])
    if at == 0:
        return float(n_rows[0])
    low, high = fitted[at - 1], fitted[at]
    share = (target - low) / (high - low)
    low_rows, high_rows = np.log(n_rows[at - 1]), np.log(n_rows[at])
    return float(np.round(np.exp(low_rows + share * (high_rows - low_rows)), 6))
