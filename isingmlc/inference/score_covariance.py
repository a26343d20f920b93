r"""How the scores of one feature for several labels vary together.

With e the residuals of a label's null model and c what that model explains of the feature, the
score is a sum over rows of :math:`e_i (x_i - c_i)`. So the covariance of the scores for labels k
and l is

.. math:: \sum_i e_{ik} e_{il} (x_i - c_{ik}) (x_i - c_{il}) ,

whatever the feature's distribution, and however that depends on the labels. In cells it is a sum
over cells, of the feature's variation within them and of its means.

Labelsets with few rows say little of how a feature varies in them, and a single outlier in one of
them would make the scores of its labels look the same. So the variation in a labelset with N rows
counts with N/(N + 10), and the mean variation of the feature in all rows with the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks, dense
from isingmlc.base.threads import one_thread
from isingmlc.inference.score import NullModel
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks, take_features

# Spread within cells below this share of the squares is rounding.
_ROUNDING = 1e-12
# Temporaries are cut to about this size.
_PART_BYTES = 2**26
# What a feature's variation in all rows counts against that in one labelset, in rows.
POOLED = 10.0


@dataclass(frozen=True)
class ScoreCovariance:
    """Covariances of the scores of features, computed when they are looked at."""

    stats: LabelsetStatistics
    nulls: Sequence[NullModel]
    positions: IntArray
    tested: BoolArray

    def take(self, positions: IntArray) -> ScoreCovariance:
        """Return those of some features."""
        return replace(self, positions=self.positions[positions], tested=self.tested[positions])

    def decompose(self) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Decompose the correlation matrices of the scores, some features at a time."""
        labels = np.array([null.label for null in self.nulls], dtype=np.intp)
        n_labels = self.tested.shape[1]
        stats = self.stats
        if not np.array_equal(self.positions, np.arange(len(stats.feature_names))):
            stats = take_features(stats, self.positions)
        # Many small matrices: more threads only get in each other's way.
        with one_thread():
            for part, covariance in score_covariances(stats, self.nulls):
                features = np.arange(part.start, part.stop)
                tested = self.tested[features][:, labels]
                values, vectors = np.linalg.eigh(_correlations(covariance, tested))
                all_values = np.zeros((len(features), n_labels))
                all_vectors = np.zeros((len(features), n_labels, n_labels))
                all_values[:, : len(labels)] = np.maximum(values, 0.0)
                all_vectors[:, labels, : len(labels)] = vectors
                yield features, all_values, all_vectors


def _correlations(covariance: FloatArray, tested: BoolArray) -> FloatArray:
    """Scale covariances to correlations; what is not tested has zeros."""
    variance = np.einsum("jkk->jk", covariance)
    # A score that does not vary in these rows is as if independent of all others.
    alone = tested & ~(variance > 0)
    scale = np.where(tested & ~alone, np.sqrt(np.maximum(variance, 0.0)), np.inf)
    correlation = covariance / scale[:, :, None] / scale[:, None, :]
    diagonal = np.arange(tested.shape[1])
    correlation[:, diagonal, diagonal] = np.where(tested, 1.0, 0.0)
    return np.asarray(correlation)


def score_covariances(
    stats: LabelsetStatistics, nulls: Sequence[NullModel]
) -> Iterator[tuple[slice, FloatArray]]:
    """Return the covariances of the scores of all features, some at a time."""
    if not nulls:
        return
    if nulls[0].all_clusters is not None:
        yield from _cluster_covariances(stats, nulls)
        return
    residuals = np.array([_residuals(null) for null in nulls]).T
    n_cells, n_labels = residuals.shape
    counts = stats.counts
    share = _own_share(stats)
    noise = counts @ residuals**2
    pooled = (residuals * (counts * (1 - share))[:, None]).T @ residuals
    # In units of the mean variation of a feature, which differs from label to label.
    unit = np.where(noise > 0, noise, np.inf)
    for part, block in feature_blocks(stats):
        width = part.stop - part.start
        for inner in chunks(width, 8 * n_labels * max(n_cells, n_labels), limit=_PART_BYTES):
            sums, squares = dense(block.sums[:, inner]), dense(block.squares[:, inner])
            # Features vary within cells, and their means vary between them.
            means = sums / counts[:, None]
            within = squares - means * sums
            # What single rows leave is rounding.
            within[within <= _ROUNDING * squares] = 0.0
            varied = np.flatnonzero(within.any(axis=1))
            total = within[varied].T @ residuals[varied] ** 2
            covariance = np.zeros((means.shape[1], n_labels**2))
            for some in chunks(len(varied), 8 * n_labels**2, limit=_PART_BYTES):
                cells = varied[some]
                crossed = residuals[cells, :, None] * residuals[cells, None, :]
                crossed *= share[cells, None, None]
                covariance += within[cells].T @ crossed.reshape(-1, n_labels**2)
            between = np.zeros((means.shape[1], n_labels, n_cells))
            for at, null in enumerate(nulls):
                rest = means[null.rows] - null.fit_to(null.lean(sums))
                rest *= np.sqrt(counts[null.rows, None]) * residuals[null.rows, at, None]
                between[:, at, null.rows] = rest.T
            total += np.einsum("jkg,jkg->jk", between, between)
            between *= np.sqrt(share)
            covariance = covariance.reshape(-1, n_labels, n_labels)
            covariance += between @ between.transpose(0, 2, 1)
            typical = np.sqrt(total / unit)
            covariance += typical[:, :, None] * typical[:, None, :] * pooled
            yield slice(part.start + inner.start, part.start + inner.stop), covariance


def _cluster_covariances(
    stats: LabelsetStatistics, nulls: Sequence[NullModel]
) -> Iterator[tuple[slice, FloatArray]]:
    """Return the covariances of scores from those of clusters of dependent rows."""
    clusters = nulls[0].all_clusters
    assert clusters is not None
    size = 8 * clusters.n_clusters * len(nulls)
    for part, block in feature_blocks(stats):
        for inner in chunks(part.stop - part.start, size, limit=_PART_BYTES):
            sums = block.sums[:, inner]
            scores = np.zeros((sums.shape[1], clusters.n_clusters, len(nulls)))
            for at, null in enumerate(nulls):
                own = null.clusters
                assert own is not None
                # Clusters without a row in play have no score; the others are around their mean.
                present = np.unique(clusters.codes[null.rows])
                scores[:, present, at] = own.centred(null.cluster_scores(sums)).T
            covariance = scores.transpose(0, 2, 1) @ scores
            yield slice(part.start + inner.start, part.start + inner.stop), covariance


def _residuals(null: NullModel) -> FloatArray:
    """Return a label's residuals, with the sizes that its variances have."""
    if null.noise_kind != "HC2" and null.drawn is None:
        return null.effective
    return np.asarray(np.copysign(np.sqrt(null.noise), null.effective))


def _own_share(stats: LabelsetStatistics) -> FloatArray:
    """Return how much the variation in each cell counts, by the rows with the same labels."""
    rows = stats.counts
    if len(stats.context) or stats.context.sampling is not None:
        same = np.unique(stats.patterns, axis=0, return_inverse=True)[1].ravel()
        rows = np.asarray(np.bincount(same, weights=stats.counts)[same], dtype=float)
    return np.asarray(rows / (rows + POOLED))
