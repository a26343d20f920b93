r"""Scores of products of features with labels, and of blocks of several columns.

A feature times label l has sums :math:`y_{gl} S_g` and squares :math:`y_{gl} Q_g` in cells, so it
needs no other data than the feature, and only the cells that carry the label. A block of columns
has sums and cross-sums: a feature with all its products, or the columns of a formula term. Given a
feature, a product has the score :math:`U_l - s U_0` with :math:`s = I_{0l} / I_{00}`: one Newton
step, by the information I, towards the model that has the feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from isingmlc.base.arrays import FloatArray, IntArray, SignArray, chunks, dense
from isingmlc.base.threads import one_thread
from isingmlc.base.tolerances import COLLINEAR, OWN_VARIANCE
from isingmlc.inference.score import PART_BYTES, Batches, NullArrays, NullModel, Scores
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks


class ProductScores(NamedTuple):
    """Scores of the products of some features with one label, in the models of some labels."""

    other: int
    labels: IntArray
    features: IntArray
    scores: Scores


def product_scores(
    stats: LabelsetStatistics,
    nulls: Sequence[NullModel],
    variances: FloatArray,
    *,
    given: bool = False,
) -> Iterator[ProductScores]:
    """Score the products of all features with each label, or what they add to their feature."""
    batches = Batches(nulls)
    for part, block in feature_blocks(stats):
        for arrays in batches:
            size = 16 * len(arrays.nulls) * arrays.design.shape[1]
            for cut in chunks(part.stop - part.start, size, limit=PART_BYTES):
                sums, squares = block.sums[:, cut], block.squares[:, cut]
                place, spread = part.start + cut.start, variances[part][cut]
                if given:
                    sums, squares = dense(sums), dense(squares)
                    own, leaning = arrays.scores(sums, squares, spread), arrays.lean(sums)
                for other in range(stats.patterns.shape[1]):
                    rows = np.flatnonzero(stats.patterns[:, other])
                    met = (arrays.weight[:, rows] > 0).any(axis=1) & (arrays.labels != other)
                    if not met.any():
                        continue
                    at = np.flatnonzero(met)
                    columns = np.flatnonzero(np.asarray(squares[rows].sum(axis=0)) > 0)
                    some, sides = arrays.among(at, rows), (sums[rows], squares[rows])
                    mine, its = (each[:, columns] for each in sides)
                    found = some.scores(mine, its, spread[columns])
                    if given:
                        first, second = (each[at][..., columns] for each in leaning)
                        alone = own.take(np.ix_(at, columns)), sums[:, columns], (first, second)
                        found = _adjust(some, found, mine, its, *alone)
                    yield ProductScores(other, some.labels, place + columns, found)


given_scores = partial(product_scores, given=True)


def _adjust(
    arrays: NullArrays,
    product: Scores,
    sums: FloatArray,
    squares: FloatArray,
    own: Scores,
    own_sums: FloatArray,
    own_leaning: tuple[FloatArray, FloatArray],
) -> Scores:
    """Take features out of the scores of their products, which have these sums and squares."""
    plain, noisy = arrays.explain(own_leaning, arrays.lean(sums))
    shared, together = arrays.weight @ squares - plain, arrays.cell_variance @ squares - noisy
    slope = np.zeros_like(shared)
    np.divide(shared, own.information, out=slope, where=~own.collinear)
    variance = product.variance + slope * (slope * own.variance - 2 * together)
    for at, null in enumerate(arrays.nulls):
        if null.clusters is not None:
            rest = null.cluster_scores(sums, arrays.rows)
            variance[at] = null.clusters.squares(rest - slope[at] * null.cluster_scores(own_sums))
    score, information = product.score - slope * own.score, product.information - slope * shared
    return Scores(score, variance, product.scale, information)


def statistics_of_products(
    scores: Iterable[ProductScores],
    shape: tuple[int, ...],
    signs: SignArray | None = None,
    errors: FloatArray | None = None,
) -> FloatArray:
    """Write down the statistics of products: features × labels × labels."""
    by_label = np.full(shape[::-1], np.nan)
    # Many small matrices: more threads only get in each other's way.
    with one_thread():
        for found in scores:
            at = found.other, found.labels[:, None], found.features
            by_label[at] = statistic = found.scores.statistic()
            if signs is not None:
                sign = np.where(np.isnan(statistic), 0.0, np.sign(found.scores.score))
                signs.transpose(2, 1, 0)[at] = sign
            if errors is not None:
                errors.transpose(2, 1, 0)[at] = found.scores.one_step()[1]
    return by_label.transpose(2, 1, 0)


@dataclass(frozen=True)
class Blocks:
    """Scores of n blocks of d columns, (n, d), with their variance matrices, (n, d, d)."""

    score: FloatArray
    scale: FloatArray
    variance: FloatArray
    information: FloatArray

    @classmethod
    def of(
        cls,
        null: NullModel,
        scale: FloatArray,
        sum_up: Callable[[FloatArray], FloatArray],
        cross: Callable[[FloatArray], FloatArray],
        by_cluster: Callable[[], FloatArray],
    ) -> Blocks:
        """Score blocks by functions of weights of the uncertain cells, and the scores of clusters.

        They return sums (n, m, d) under weights (m, cells), cross-sums (n, d, d) under weights
        (cells), and the scores of clusters (n, clusters, d).
        """
        weight, root = null.weight[null.rows], null.root()
        score, leaning = sum_up(null.effective[None, null.rows])[:, 0], sum_up(root)
        across = leaning.transpose(0, 2, 1)
        variance = information = cross(weight) - across @ leaning
        if null.clusters is not None:
            variance = null.clusters.crossed(by_cluster())
        elif null.is_sandwich:
            cell_variance = null.cell_variance[null.rows]
            noisy = sum_up(root * (cell_variance / weight))
            half = across @ (noisy - 0.5 * null.covariance.meat(null) @ leaning)
            variance = cross(cell_variance) - half - half.transpose(0, 2, 1)
        return cls(score, scale, variance, information)

    def without_first(self) -> Blocks:
        """Take the first column of each block out of the others, by the information."""
        own, shared = self.information[:, 0, 0], self.information[:, 1:, 0]
        slope = np.zeros_like(shared)
        is_left = own > COLLINEAR * self.scale[:, 0]
        np.divide(shared, own[:, None], out=slope, where=is_left[:, None])
        # Rows (-s_l, 1 at l) take a block to what is left of it.
        rest = np.broadcast_to(np.eye(slope.shape[1]), (*slope.shape, slope.shape[1]))
        left = np.concatenate([-slope[:, :, None], rest], axis=2)
        variance, information = (
            left @ each @ left.transpose(0, 2, 1) for each in (self.variance, self.information)
        )
        score = self.score[:, 1:] - slope * self.score[:, :1]
        return Blocks(score, self.scale[:, 1:], variance, information)

    def tests(self, added: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return score statistics and their degrees of freedom; `added` goes to all variances."""
        variance = self.variance + np.reshape(added, (-1, 1, 1)) * np.eye(self.score.shape[1])
        return scaled_forms(self.score, self.scale, variance)


def joint_columns(stats: LabelsetStatistics, null: NullModel) -> FloatArray:
    """Return what a feature is multiplied by in joint tests: one, and the labels that occur."""
    patterns = stats.patterns[null.rows]
    columns = np.column_stack([np.ones(len(patterns)), np.delete(patterns, null.label, axis=1)])
    return columns[:, columns.any(axis=0)]


def joint_scores(
    stats: LabelsetStatistics,
    null: NullModel,
    variances: FloatArray,
    *,
    given: bool = False,
    added: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Test each feature and all its products together, or all products given the feature."""
    columns = joint_columns(stats, null)
    n_cells, size = columns.shape
    n_features = len(stats.feature_names)
    statistic, rank = np.empty((2, n_features))
    widest = size * max(size, 2 * len(null.root()))
    if null.clusters is not None:
        widest = max(size * null.clusters.n_clusters, n_cells)
    for part in chunks(n_features, 8 * widest, limit=PART_BYTES):
        sums = dense(stats.sums[null.rows][:, part])
        squares = dense(stats.squares[null.rows][:, part])
        blocks = _joint_blocks(null, columns, sums, squares, variances[part])
        if given:
            blocks = blocks.without_first()
        statistic[part], rank[part] = blocks.tests(0.0 if added is None else added[part])
    return statistic, rank


def _joint_blocks(
    null: NullModel,
    columns: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
    variances: FloatArray,
) -> Blocks:
    """Multiply features with columns to make one block of each."""

    def multiply(features: FloatArray, weights: FloatArray) -> FloatArray:
        crossed = weights[:, :, None] * columns[:, None, :]
        found = np.asarray(features.T @ crossed.reshape(len(crossed), -1))
        return found.reshape(features.shape[1], *crossed.shape[1:])

    def by_cluster() -> FloatArray:
        scores = [null.cluster_scores(each[:, None] * sums, null.rows).T for each in columns.T]
        return np.stack(scores, axis=-1)

    return Blocks.of(
        null,
        joint_scale(null, columns, squares, variances),
        lambda weights: multiply(sums, weights.T),
        lambda weights: multiply(squares, columns * weights[:, None]),
        by_cluster,
    )


def joint_statistics(
    stats: LabelsetStatistics,
    nulls: Sequence[NullModel],
    variances: FloatArray,
    *,
    given: bool = False,
    added: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Compute joint statistics and degrees of freedom of all features and labels."""
    shape = len(stats.feature_names), len(stats.label_names)
    statistic, rank = np.full((2, *shape), np.nan)
    # Many small matrices: more threads only get in each other's way.
    with one_thread():
        for part, block in feature_blocks(stats):
            for null in nulls:
                at = part, null.label
                more = None if added is None else added[null.label, part]
                statistic[at], rank[at] = joint_scores(
                    block, null, variances[part], given=given, added=more
                )
    return statistic, rank


def joint_scale(
    null: NullModel, columns: FloatArray, squares: Any, variances: FloatArray
) -> FloatArray:
    """Return what variances of features times columns are measured by."""
    weight = (null.weight * null.counts)[null.rows]
    least = OWN_VARIANCE * (weight @ columns)[:, None] * variances
    return np.asarray(np.maximum((columns.T * _least_variance(null)) @ squares, least).T)


def term_scores(
    stats: LabelsetStatistics, null: NullModel, term: str, variances: FloatArray
) -> tuple[float, float]:
    """Test the columns of one term together."""
    sums = dense(stats.sums[null.rows][:, stats.term_columns[term]])
    products = stats.term_products[term][null.rows]
    blocks = Blocks.of(
        null,
        term_scale(stats, null, term, variances)[None],
        lambda weights: (weights @ sums)[None],
        lambda weights: np.einsum("g,gij->ij", weights, products)[None],
        lambda: null.cluster_scores(sums, null.rows)[None],
    )
    statistic, rank = blocks.tests()
    return float(statistic[0]), float(rank[0])


def term_scale(
    stats: LabelsetStatistics, null: NullModel, term: str, variances: FloatArray
) -> FloatArray:
    """Return what variances of the columns of a term are measured by."""
    products = stats.term_products[term][null.rows]
    weight = null.weight[null.rows] @ null.counts[null.rows]
    least = OWN_VARIANCE * weight * variances[stats.term_columns[term]]
    return np.asarray(np.maximum(np.einsum("g,gii->i", _least_variance(null), products), least))


def _least_variance(null: NullModel) -> FloatArray:
    """Return the variances of residuals in the uncertain cells, where they are above rounding."""
    return np.maximum(null.cell_variance, COLLINEAR * null.weight)[null.rows]


def scaled_forms(
    score: FloatArray, scale: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Evaluate quadratic forms ``s'V⁺s`` and the ranks of V after bringing columns to a scale."""
    size = np.sqrt(np.where(scale > 0, scale, np.inf))
    values, vectors = np.linalg.eigh(variance / (size[:, :, None] * size[:, None, :]))
    along = np.einsum("jk,jki->ji", score / size, vectors)
    real = values > COLLINEAR
    parts = np.divide(along**2, values, out=np.zeros_like(along), where=real)
    rank = real.sum(axis=1).astype(np.float64)
    return np.where(rank > 0, parts.sum(axis=1), np.nan), rank
