r"""How rows depend on each other, and what that makes of variances.

An estimate or a score is a sum over rows of what each of them adds. Of independent rows the squares
of that add up to the variance; of rows in clusters those of the sums within clusters do. With
sampling weights what a row adds is multiplied by its weight, and so is it before it is squared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import FloatArray, IntArray
from isingmlc.statistics.labelsets import LabelsetStatistics

COV_TYPES = ("nonrobust", "HC0", "HC2", "cluster")


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of dependent rows, each cell in one of them."""

    codes: IntArray
    corrected: bool

    @cached_property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return int(self.codes.max(initial=-1)) + 1

    @property
    def factor(self) -> float:
        """What sums of squares are multiplied with."""
        if not self.corrected:
            return 1.0
        return self.n_clusters / max(self.n_clusters - 1, 1)

    def among(self, cells: IntArray) -> Clusters:
        """Return the clusters of some cells, numbered anew."""
        codes = np.unique(self.codes[cells], return_inverse=True)[1].ravel()
        return Clusters(codes, self.corrected)

    def add_up(self, values: Any, cells: IntArray | slice = slice(None)) -> FloatArray:
        """Add up what cells have, within clusters."""
        codes = self.codes[cells]
        places = np.arange(len(codes) + 1)
        pool = sparse.csc_array(
            (np.ones(len(codes)), codes, places), shape=(self.n_clusters, len(codes))
        )
        found = pool @ values
        return np.asarray(found.toarray() if sparse.issparse(found) else found)

    def centred(self, sums: FloatArray) -> FloatArray:
        """Take the mean of the clusters, the axis before the last, from their sums if so wished."""
        return sums - sums.mean(axis=-2, keepdims=True) if self.corrected else sums

    def squares(self, sums: FloatArray) -> FloatArray:
        """Return the variances of totals from sums within clusters."""
        rest = self.centred(sums)
        return np.asarray(self.factor * np.einsum("gj,gj->j", rest, rest))

    def crossed(self, sums: FloatArray) -> FloatArray:
        """Return the covariances of totals from sums within clusters."""
        rest = self.centred(sums)
        return np.asarray(self.factor * (np.swapaxes(rest, -1, -2) @ rest))


@dataclass(frozen=True, eq=False)
class Dependence:
    """What makes a variance of the influences that rows have."""

    counts: FloatArray
    drawn: FloatArray | None = None
    clusters: Clusters | None = None

    @classmethod
    def of(cls, stats: LabelsetStatistics, cov_type: str, corrected: bool) -> Dependence:
        """Read from statistics what a type of covariance needs."""
        clusters = None
        if cov_type == "cluster":
            assert stats.groups is not None
            clusters = Clusters(stats.groups, corrected)
        return cls(stats.counts, stats.sampling_weights, clusters)

    @property
    def degrees(self) -> float | None:
        """The number of clusters less one, if tests refer to t and F; None otherwise."""
        if self.clusters is None or not self.clusters.corrected:
            return None
        return float(self.clusters.n_clusters - 1)

    def variances(self, influence: FloatArray) -> FloatArray:
        """Return the variances of sums over all rows."""
        if self.clusters is not None:
            return self.clusters.squares(self.clusters.add_up(self.counts[:, None] * influence))
        return np.asarray(self._squared_counts @ influence**2)

    def covariance(self, influence: FloatArray) -> FloatArray:
        """Return the covariance of sums over all rows; see `variances`."""
        if self.clusters is not None:
            return self.clusters.crossed(self.clusters.add_up(self.counts[:, None] * influence))
        return np.asarray(influence.T @ (self._squared_counts[:, None] * influence))

    @property
    def _squared_counts(self) -> FloatArray:
        """Sums of the squared weights of rows."""
        return self.counts if self.drawn is None else self.counts * self.drawn
