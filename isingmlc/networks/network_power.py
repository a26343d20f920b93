"""How well networks are found on so many rows, by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.nodewise import FitSettings, NetworkFit, fit_nodes
from isingmlc.fitting.sparse_networks import NetworkSettings
from isingmlc.networks.bootstrap import count_cells
from isingmlc.networks.case_dropping import correlate, drop_rows
from isingmlc.networks.contrasts import list_pairs
from isingmlc.networks.covariance import NetworkEstimate
from isingmlc.networks.refits import PlainRefits, Refits, SparseRefits
from isingmlc.statistics.labelsets import LabelsetStatistics

MEASURES = ("sensitivity", "specificity", "correlation", "cs")
ESTIMATORS = ("ebic", "mle")


class Measured(NamedTuple):
    """What was measured on draws, shape (draws, measures)."""

    values: FloatArray


@dataclass(frozen=True, eq=False)
class NetworkTrial:
    """Draws rows from a network, fits one to them, and measures how alike they are.

    Attributes
    ----------
    distribution : IsingDistribution
        What rows are drawn from.
    measures : tuple of str
        What is measured.
    estimator : {"ebic", "mle"}
        How networks are fitted: with penalties that EBIC chooses, or without, pairs with a small
        adjusted p-value being edges.
    settings : NetworkSettings
        How sparse networks are fitted.
    alpha : float
        Level of adjusted p-values.
    cs_draws : int
        Draws for a CS-coefficient.
    """

    distribution: Any
    measures: tuple[str, ...]
    estimator: str
    settings: NetworkSettings
    alpha: float
    cs_draws: int

    def measure(self, tasks: Sequence[tuple[int, int]]) -> Measured:
        """Measure some draws.

        Parameters
        ----------
        tasks : sequence of tuple of int
            Rows and seed of each draw.

        Returns
        -------
        Measured
            One line per draw.
        """
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
        """Give what fits such networks."""
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
    """Fit means that do not fall with the number of rows.

    Parameters
    ----------
    means, weights : ndarray, shape (sizes,)
        Means in the order of the number of rows, and how many draws each has.

    Returns
    -------
    ndarray, shape (sizes,)
        The fit; NaN where a mean is.

    Examples
    --------
    >>> fit_rising(np.array([0.2, 0.6, 0.5]), np.ones(3))
    array([0.2 , 0.55, 0.55])
    """
    known = ~np.isnan(means)
    fitted = np.full(len(means), np.nan)
    if known.any():
        fitted[known] = isotonic_regression(means[known], weights=weights[known]).x
    return fitted


def find_rows(n_rows: IntArray, fitted: FloatArray, target: float) -> float:
    """Give the rows at which a rising fit reaches a target, between sizes on a log scale.

    Parameters
    ----------
    n_rows : ndarray of int, shape (sizes,)
        Numbers of rows, rising.
    fitted : ndarray, shape (sizes,)
        The fit.
    target : float
        The target.

    Returns
    -------
    float
        Rows; the smallest size where that is enough, infinity where none is.

    Examples
    --------
    >>> find_rows(np.array([100, 400]), np.array([0.4, 0.8]), 0.6)
    200.0
    """
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
