r"""What the sum of a feature's statistics over labels is compared with.

Scores of one feature for several labels are correlated, so their squares do not add up to a
chi-square. Standardised scores with covariance C have a sum of squares that is distributed as
chi-squares of one degree of freedom, each times an eigenvalue of C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isingmlc.base.arrays import FloatArray, IntArray, chunks, dense
from isingmlc.inference.score import NullModel
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks, take_features

# Spread within cells below this share of the squares is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FeatureNull:
    r"""Covariances of the scores of features that are independent of all labels.

    Attributes
    ----------
    crossed, leaning : ndarray, shape (K, K)
        :math:`\sum_g N_g e_{gk} e_{gl}`, and the same with factors
        :math:`h_{gk} + h_{gl} - h_{gk} h_{gl}`, h what the null model fits to a column of ones.
    mean, square : ndarray, shape (p,)
        First and second moment of the features.
    variance : ndarray, shape (p, K)
        Variances by which the scores were standardised; NaN for impossible tests.
    """

    crossed: FloatArray
    leaning: FloatArray
    mean: FloatArray
    square: FloatArray
    variance: FloatArray

    def take(self, positions: IntArray) -> FeatureNull:
        """Give what some of the features are compared with."""
        parts = {name: getattr(self, name)[positions] for name in ("mean", "square", "variance")}
        return replace(self, **parts)

    def weights(self) -> FloatArray:
        """Give the eigenvalues of the covariance of the standardised scores, per feature."""
        deviation = np.sqrt(np.where(np.isnan(self.variance), np.inf, self.variance))
        weights = np.empty(deviation.shape)
        for part in chunks(len(weights), 8 * self.crossed.size, limit=2**25):
            covariance = (
                self.square[part, None, None] * self.crossed
                - self.mean[part, None, None] ** 2 * self.leaning
            )
            scale = deviation[part, :, None] * deviation[part, None, :]
            weights[part] = np.linalg.eigvalsh(covariance / scale)
        return np.maximum(weights, 0.0)


@dataclass(frozen=True)
class CellNull:
    r"""Covariances of the scores of features that may depend on the covariates.

    A feature that is independent of the labels given the covariates need not have the same mean
    and variance everywhere. So its scores are taken as they are: with c what the null model of a
    label explains of the feature, the covariance of the scores for labels k and l is

    .. math:: \sum_i e_{ik} e_{il} (x_i - c_{ik}) (x_i - c_{il}) .

    Attributes
    ----------
    stats : LabelsetStatistics
        The statistics.
    nulls : sequence of NullModel
        The null models of the labels that are tested.
    positions : ndarray of int, shape (p,)
        Which of the features.
    variance : ndarray, shape (p, K)
        Variances by which the scores were standardised; NaN for impossible tests.
    """

    stats: LabelsetStatistics
    nulls: Sequence[NullModel]
    positions: IntArray
    variance: FloatArray

    def take(self, positions: IntArray) -> CellNull:
        """Give what some of the features are compared with."""
        return replace(self, positions=self.positions[positions], variance=self.variance[positions])

    def weights(self) -> FloatArray:
        """Give the eigenvalues of the covariance of the standardised scores, per feature."""
        labels = [null.label for null in self.nulls]
        variance = self.variance[:, labels]
        deviation = np.sqrt(np.where(np.isnan(variance), np.inf, variance))
        weights = np.zeros(self.variance.shape)
        stats = self.stats
        if not np.array_equal(self.positions, np.arange(len(stats.feature_names))):
            stats = take_features(stats, self.positions)
        for part, covariance in _score_covariances(stats, self.nulls):
            scale = deviation[part, :, None] * deviation[part, None, :]
            weights[part, : len(labels)] = np.linalg.eigvalsh(covariance / scale)
        return np.maximum(weights, 0.0)


def _score_covariances(
    stats: LabelsetStatistics, nulls: Sequence[NullModel]
) -> Iterator[tuple[slice, FloatArray]]:
    """Give the covariances of the scores of all features, some at a time: features × K × K."""
    if not nulls:
        return
    effective = np.array([null.effective for null in nulls]).T
    n_cells, n_labels = effective.shape
    root = np.sqrt(stats.counts)[:, None]
    for part, block in feature_blocks(stats):
        width = part.stop - part.start
        for inner in chunks(width, 8 * n_cells * n_labels, limit=2**27):
            sums, squares = dense(block.sums[:, inner]), dense(block.squares[:, inner])
            # Features vary within cells, and their means vary between them.
            means = sums / stats.counts[:, None]
            within = squares - means * sums
            # What single rows leave is rounding.
            varied = np.flatnonzero((within > _ROUNDING * squares).any(axis=1))
            crossed = effective[varied, :, None] * effective[varied, None, :]
            covariance = within[varied].T @ crossed.reshape(-1, n_labels**2)
            between = np.zeros((means.shape[1], n_labels, n_cells))
            for at, null in enumerate(nulls):
                rest = means[null.rows] - null.fit_to(null.lean(sums))
                rest *= root[null.rows] * effective[null.rows, at, None]
                between[:, at, null.rows] = rest.T
            covariance = covariance.reshape(-1, n_labels, n_labels)
            covariance += between @ between.transpose(0, 2, 1)
            yield slice(part.start + inner.start, part.start + inner.stop), covariance
