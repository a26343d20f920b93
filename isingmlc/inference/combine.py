r"""One p-value per feature from the tests of its edges.

The tests of a feature for several labels are dependent. There are three ways to make one of them:

- *sum*: squares of the scores, standardised, add up to a weighted sum of chi-squares, whose weights
  are the eigenvalues of the scores' correlation matrix;
- *omnibus*: the quadratic form with the inverse of that matrix is chi-square, with as many degrees
  of freedom as the matrix has rank;
- *acat*: a mean of Cauchy variables has nearly the same tail however they depend on each other, so
  p-values are made Cauchy variables and their mean a p-value again. No correlation is needed.

With e the residuals of a label's null model and c what its regressors explain of the feature, the
score is a sum over rows of :math:`e_i (x_i - c_i)`. So the covariance of the scores for labels k
and l is :math:`\sum_i e_{ik} e_{il} (x_i - c_{ik}) (x_i - c_{il})`, whatever the feature's
distribution, and however that depends on the labels: in cells a sum over the feature's variation
within them and over its means. Labelsets with few rows say little of how a feature varies in them,
and a single outlier in one of them would make the scores of its labels look the same. So the
variation in a labelset with N rows counts with N/(N + 10), and the mean variation of the feature in
all rows with the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtri_exp

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks, dense
from isingmlc.base.threads import one_thread
from isingmlc.inference.covariance import Clustered
from isingmlc.inference.pvalues import LOG_10, weighted_chi2_log10_sf
from isingmlc.inference.score import PART_BYTES, NullModel
from isingmlc.statistics.dependence import Clusters
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks, take_features

_Find: TypeAlias = Callable[[Any, Any], FloatArray]
COMBINE = ("acat", "sum", "omnibus")
DEFAULT_COMBINE = "acat"
# Larger p-values count as this one: a p-value of 1 must not outweigh any other, however small.
LARGEST = 0.999
# Directions in which correlated scores vary by less than this share of one score do not count.
RANK = 1e-6
_LOG_2 = float(np.log(2))
# Of an angle below this the tangent is the angle itself.
_TINY = 1e-8
# Variation within cells below this share of the squares is rounding.
_ROUNDING = 1e-12
# What a feature's variation in all rows counts against that in one labelset, in rows.
_POOLED = 10.0


@dataclass(frozen=True)
class FeatureTests:
    """Tests of features over all labels."""

    statistic: FloatArray
    df: FloatArray
    log10_pvalue: FloatArray
    n_tests: FloatArray

    @cached_property
    def pvalue(self) -> FloatArray:
        """The p-values."""
        return np.asarray(10.0**self.log10_pvalue)


def combine_cauchy(log10_pvalue: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Combine dependent p-values by their Cauchy transforms, each line of a table by itself."""
    log_p = np.minimum(np.asarray(log10_pvalue, dtype=float) * LOG_10, np.log(LARGEST))
    known = ~np.isnan(log_p)
    least = log_p.min(axis=1, initial=0.0, where=known)[:, None]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        angle = np.pi * np.exp(log_p)
        # In units of one over the smallest p-value; the tangent of a tiny angle is that angle.
        small = np.exp(least - log_p) / np.pi
        parts = np.where(angle > _TINY, np.exp(least) / np.tan(angle), small)
        mean = np.where(known, parts, 0.0).sum(axis=1) / known.sum(axis=1)
        statistic = mean * np.exp(-least[:, 0])
        tail = np.log(np.arctan2(1.0, statistic) / np.pi)
        tail = np.where(statistic > 1 / _TINY, least[:, 0] - np.log(np.pi * mean), tail)
    # A p-value of zero that has no logarithm stays one.
    tail = np.where((log_p == -np.inf).any(axis=1), -np.inf, tail / LOG_10)
    tested = known.any(axis=1)
    return np.where(tested, statistic, np.nan), np.where(tested, tail, np.nan)


def combine_acat(log10_pvalue: FloatArray) -> FeatureTests:
    """Combine the tests of each feature by their p-values alone."""
    statistic, log10p = combine_cauchy(log10_pvalue)
    n_tests = np.asarray((~np.isnan(log10_pvalue)).sum(axis=1), dtype=float)
    return FeatureTests(statistic, np.full(log10p.shape, np.nan), log10p, n_tests)


def normal_scores(sign: FloatArray, log10_pvalue: FloatArray) -> FloatArray:
    """Return the normal scores that have these two-sided p-values."""
    size = -ndtri_exp(np.minimum(log10_pvalue * LOG_10, 0.0) - _LOG_2)
    return np.where(np.isnan(log10_pvalue), 0.0, sign * size)


def sum_of_squares(scores: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums of squared correlated scores, and the logarithms of their tails to base ten."""
    total = (scores**2).sum(axis=1)
    return total, weighted_chi2_log10_sf(total, np.maximum(values, 0.0))


def quadratic_form(
    scores: FloatArray, values: FloatArray, vectors: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return quadratic forms of scores with the inverse of their correlations, and its rank."""
    along, counts = np.einsum("jk,jki->ji", scores, vectors), values > RANK
    form = np.divide(along**2, values, out=np.zeros_like(along), where=counts)
    return form.sum(axis=1), counts.sum(axis=1).astype(float)


@dataclass(frozen=True)
class ScoreCovariance:
    """Covariances of the scores of features for several labels, computed when needed."""

    stats: LabelsetStatistics
    nulls: Sequence[NullModel]
    positions: IntArray
    tested: BoolArray

    @property
    def labels(self) -> IntArray:
        """The labels that have null models."""
        return np.array([null.label for null in self.nulls], dtype=np.intp)

    def take(self, positions: IntArray) -> ScoreCovariance:
        """Return those of some features."""
        return replace(self, positions=self.positions[positions], tested=self.tested[positions])

    def decompose(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Decompose the correlation matrices of the scores, some features at a time."""
        stats, nulls, tested = self.stats, self.nulls, self.tested[:, self.labels]
        if not np.array_equal(self.positions, np.arange(len(stats.feature_names))):
            stats = take_features(stats, self.positions)
        if not nulls:
            return
        covariance = nulls[0].covariance
        if isinstance(covariance, Clustered):
            clusters = covariance.all_clusters
            find: _Find = partial(_covary_by_cluster, nulls, clusters)
            n_terms = clusters.n_clusters
        else:
            find, n_terms = _covary_by_cell(stats, nulls), 2 * len(stats.counts)
        size = 8 * len(nulls) * max(n_terms, len(nulls))
        # Many small matrices: more threads only get in each other's way.
        with one_thread():
            for part, block in feature_blocks(stats):
                for cut in chunks(part.stop - part.start, size, limit=PART_BYTES):
                    at = slice(part.start + cut.start, part.start + cut.stop)
                    found = find(block.sums[:, cut], block.squares[:, cut])
                    yield at, *np.linalg.eigh(_correlations(found, tested[at]))


def _correlations(covariance: FloatArray, tested: BoolArray) -> FloatArray:
    """Scale covariances to correlations; what is not tested has zeros."""
    variance = np.einsum("jkk->jk", covariance)
    # A score that does not vary in these rows is as if independent of all others.
    scale = np.where(tested & (variance > 0), np.sqrt(np.maximum(variance, 0.0)), np.inf)
    correlation = covariance / scale[:, :, None] / scale[:, None, :]
    diagonal = np.arange(tested.shape[1])
    correlation[:, diagonal, diagonal] = tested
    return np.asarray(correlation)


def _covary_by_cell(stats: LabelsetStatistics, nulls: Sequence[NullModel]) -> _Find:
    """Return what computes covariances of the scores of independent rows from sums and squares."""
    residuals = np.array([_residuals(null) for null in nulls])
    counts, share = stats.counts, _own_share(stats)
    pooled = (residuals * (counts * (1 - share))) @ residuals.T
    # In units of the mean variation of a feature, which differs from label to label.
    unit = residuals**2 @ counts
    unit = np.where(unit > 0, unit, np.inf)

    def covariances(sums: Any, squares: Any) -> FloatArray:
        sums, squares = dense(sums), dense(squares)
        means = sums / counts[:, None]
        within = squares - means * sums
        # What single rows leave is rounding.
        within[within <= _ROUNDING * squares] = 0.0
        varied = np.flatnonzero(within.any(axis=1))
        n_cells, n_columns = means.shape
        terms = np.zeros((n_columns, len(nulls), n_cells + len(varied)))
        for at, null in enumerate(nulls):
            rest = means[null.rows] - null.fit_to(null.lean(sums))
            rest *= (np.sqrt(counts) * residuals[at])[null.rows, None]
            terms[:, at, null.rows] = rest.T
        terms[:, :, n_cells:] = np.sqrt(within[varied]).T[:, None] * residuals[:, varied]
        typical = np.sqrt(np.einsum("jkg,jkg->jk", terms, terms) / unit)
        terms *= np.sqrt(np.concatenate([share, share[varied]]))
        found = terms @ terms.transpose(0, 2, 1)
        return np.asarray(found + typical[:, :, None] * typical[:, None, :] * pooled)

    return covariances


def _covary_by_cluster(
    nulls: Sequence[NullModel], clusters: Clusters, sums: Any, _: Any
) -> FloatArray:
    """Compute covariances of scores from those of clusters of dependent rows."""
    scores = np.zeros((sums.shape[1], len(nulls), clusters.n_clusters))
    for at, null in enumerate(nulls):
        assert null.clusters is not None
        # Clusters of certain rows alone have no score; the others are around their mean.
        present = np.unique(clusters.codes[null.rows])
        scores[:, at, present] = null.clusters.centred(null.cluster_scores(sums)).T
    return np.asarray(scores @ scores.transpose(0, 2, 1))


def _residuals(null: NullModel) -> FloatArray:
    """Return the residuals of a label, of the sizes that its type of covariance gives them."""
    if not null.is_sandwich:
        return null.effective
    return np.asarray(np.copysign(np.sqrt(null.cell_variance), null.effective))


def _own_share(stats: LabelsetStatistics) -> FloatArray:
    """Return how much the variation in each cell counts, by the rows with the same labels."""
    rows = stats.counts
    if len(stats.context) or stats.context.sampling is not None:
        same = np.unique(stats.patterns, axis=0, return_inverse=True)[1].ravel()
        rows = np.asarray(np.bincount(same, weights=stats.counts)[same], dtype=float)
    return np.asarray(rows / (rows + _POOLED))
