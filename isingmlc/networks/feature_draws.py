"""Tests of features in draws of the rows: what the statistics and ranks of features vary by.

A feature is not a function of counts of labelsets, so rows are drawn here, and whole clusters where
rows depend on each other. Each draw is fitted and tested as the data were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_names
from isingmlc.base.arrays import FloatArray, IntArray, StrArray, best_first
from isingmlc.base.threads import one_thread
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.nodewise import NetworkFit, fit_nodes
from isingmlc.inference.score_tests import score_test
from isingmlc.input.rows import ModelData
from isingmlc.input.sampling import GROUPS
from isingmlc.networks.refits import Networks, PlainRefits
from isingmlc.statistics.labelsets import sum_rows

# Statistics of all draws may take so many bytes.
_MOST_BYTES = 2**31


class NetworksWithTests(NamedTuple):
    """Networks of the same labels, with the statistics of features in each."""

    thresholds: FloatArray
    weights: FloatArray
    reasons: StrArray
    statistics: FloatArray

    @property
    def networks(self) -> Networks:
        """The networks alone."""
        return Networks(self.thresholds, self.weights, self.reasons)

    @property
    def importance(self) -> FloatArray:
        """Sums of the statistics over the labels, shape (draws, p)."""
        return np.asarray(np.nansum(self.statistics, axis=2))

    @property
    def ranks(self) -> FloatArray:
        """Ranks by importance, 1 for the best, shape (draws, p)."""
        return rank_lines(self.importance)


def rank_lines(importance: FloatArray) -> FloatArray:
    """Rank the features of each line, 1 for the best; ties keep the order of the features."""
    ranks = np.empty(importance.shape)
    for line, values in zip(ranks, importance, strict=True):
        line[best_first(values)] = np.arange(1, len(values) + 1)
    return ranks


@dataclass(frozen=True, eq=False)
class RowRefits:
    """What fits networks to draws of rows, and tests the features in each."""

    fit: NetworkFit
    rows: ModelData
    clusters: IntArray | None

    @classmethod
    def of(cls, fit: NetworkFit, features: Sequence[str] | bool, what: str) -> RowRefits:
        """Prepare for draws of the rows of a fit."""
        rows = fit.rows_for(f"{what} of features")
        if features is not True:
            if isinstance(features, bool) or not len(features):
                raise exc.DataError(
                    f"features must be True for all of them, or list some, but is {features!r}."
                )
            every = tuple(fit.terms)
            names = [every[at] for at in check_names("features", features, every)]
            terms = {name: fit.terms[name] for name in names}
            columns = [name for each in terms.values() for name in each]
            chosen = np.array([fit.stats.feature_names.index(name) for name in columns])
            fit = fit.take_features(chosen)
            rows = replace(rows.take_features(chosen), terms=terms)
        clusters = None
        sampling = rows.context.sampling
        if fit.settings.cov_type == "cluster" and sampling is not None:
            codes = sampling.numbers[:, sampling.names.index(GROUPS)]
            clusters = np.unique(codes, return_inverse=True)[1]
        return cls(replace(fit, rows=None), rows, clusters)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features that are tested: terms as a whole."""
        return tuple(self.rows.terms)

    def without_clusters(self) -> RowRefits:
        """Draw rows, whatever clusters they belong to."""
        return replace(self, clusters=None)

    def check_size(self, n_draws: int) -> None:
        """Say that so many draws of so many statistics do not fit into memory."""
        n_features, n_labels = len(self.feature_names), len(self.fit.nodes)
        if 8 * n_draws * n_features * n_labels > _MOST_BYTES:
            raise exc.ModelError(
                f"{n_draws} draws of {n_features} × {n_labels} statistics take more than "
                f"{_MOST_BYTES / 1e9:.0f} GB. Name fewer features, e.g. the first of a ranking: "
                "features=ranking.top(100)."
            )

    @property
    def counts(self) -> FloatArray:
        """How many observations each row stands for."""
        weights = self.rows.weights
        return np.ones(self.rows.n_rows) if weights is None else weights

    def fit_times(self, times: IntArray) -> NetworksWithTests:
        """Fit and test one network per line."""
        with one_thread():
            parts = [self.fit_rows(self._draw_rows(line)) for line in times]
        return NetworksWithTests(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _draw_rows(self, times: IntArray) -> ModelData:
        """Return the rows of a draw."""
        if self.clusters is None:
            kept = np.flatnonzero(times)
            return replace(self.rows.take_rows(kept), weights=times[kept].astype(np.float64))
        again = times[self.clusters]
        kept = np.repeat(np.arange(len(again)), again)
        part = self.rows.take_rows(kept)
        # A cluster that is drawn twice is two clusters.
        first = np.repeat(np.cumsum(again) - again, again)
        copy = np.arange(len(kept)) - first
        context = part.context
        assert context.sampling is not None
        numbers = context.sampling.numbers.copy()
        column = context.sampling.names.index(GROUPS)
        numbers[:, column] = self.clusters[kept] * (1 + int(times.max())) + copy
        levels = tuple(
            None if at == column else level for at, level in enumerate(context.sampling.levels)
        )
        sampling = replace(context.sampling, numbers=numbers, levels=levels)
        return replace(part, covariates=replace(context, sampling=sampling))

    def fit_rows(self, rows: ModelData) -> NetworksWithTests:
        """Fit and test one network."""
        settings, n_features = self.fit.settings, len(self.feature_names)
        shift = None if settings.intercept else np.zeros(len(rows.feature_names))
        stats = sum_rows(rows, shift)
        patterns = stats.patterns
        constant = np.asarray(patterns.all(axis=0) | ~patterns.any(axis=0))
        refits = PlainRefits.of(self.fit)
        regressors = Regressors.of_statistics(stats, settings.intercept)
        try:
            nodes = fit_nodes(
                patterns, stats.counts, settings, refits.neighbors, regressors=regressors
            )
        except exc.ModelError:  # whether labels are separated could not be decided
            unknown = refits.fit_cells(patterns, stats.context.columns, stats.counts)
            return NetworksWithTests(*unknown, np.full((1, n_features, len(constant)), np.nan))
        fit = NetworkFit(stats, settings, nodes, None, rows.terms, regressors)
        if stats.term_columns:
            statistics = score_test(fit, unit="term", pvalue="chi2").with_one_df()
        else:
            statistics = score_test(fit, pvalue="chi2").statistic
        return NetworksWithTests(*refits.name_fits(nodes, constant), statistics[None])
