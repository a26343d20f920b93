r"""Scores of the products of features with labels, alone and given the feature.

A feature times label s has sums :math:`y_{gs} S_g` and squares :math:`y_{gs} Q_g` in cells, so its
score needs no other data than that of the feature; see :mod:`isingmlc.inference.score`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import FloatArray, IntArray, SignArray, chunks, dense
from isingmlc.base.threads import one_thread
from isingmlc.fitting.information import KEPT_BYTES
from isingmlc.inference.score import (
    COLLINEAR,
    OWN_SPREAD,
    PART_BYTES,
    Crossed,
    NullModel,
    Scores,
    explained,
    plain_scores,
    sharpen,
)
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks

# Beyond this inflation of variances products of the inverse information lose more digits than those
# of its factor, to which COLLINEAR is not safe.
INVERTED = 1e4
# What rounding may add to the squares of a column that is constant, as a share of them.
_ROUNDED = 1e-14
# What products need of null models, and where variances are taken from residuals.
_KINDS = ("weight", "effective")
_EMPIRICAL = (*_KINDS, "noise", "scale")


@dataclass(frozen=True)
class ProductScores:
    """Scores of the products of some features with one label."""

    features: slice
    other: int
    labels: IntArray
    scores: Scores
    places: IntArray | None

    def of_features(self, values: FloatArray) -> FloatArray:
        """Return each feature the values of its column."""
        if self.places is None:
            return values
        nothing = np.full((len(values), 1), np.nan)
        return np.concatenate([values, nothing], axis=1).take(self.places, axis=1)

    def by_feature(self) -> tuple[IntArray, Scores]:
        """Return which features have something to test, and their own scores."""
        start, scores = self.features.start, self.scores
        if self.places is None:
            return np.arange(start, self.features.stop), scores
        features = np.flatnonzero(self.places >= 0)
        arrays = (scores.score, scores.variance, scores.scale)
        columns = self.places[features]
        return start + features, Scores(*(each.take(columns, axis=1) for each in arrays))


def product_scores(
    stats: LabelsetStatistics,
    nulls: Sequence[NullModel],
    spread: FloatArray,
) -> Iterator[ProductScores]:
    """Scores of the products of all features with each label."""
    n_regressors = nulls[0].factors.design.shape[1] if nulls else 0
    for some in chunks(len(nulls), 16 * n_regressors**2, limit=KEPT_BYTES):
        products = _Products(stats, nulls[some])
        for part, block in feature_blocks(stats):
            for other in range(stats.patterns.shape[1]):
                columns = block.sums, block.squares, spread[part]
                found = products.scores(other, *columns)
                yield ProductScores(part, other, *found)


def statistics_of_products(
    scores: Iterable[ProductScores],
    shape: tuple[int, ...],
    signs: SignArray | None = None,
    errors: FloatArray | None = None,
) -> FloatArray:
    """Write down the statistics of products."""
    by_label = np.full(shape[::-1], np.nan)
    signs_by_label = None if signs is None else signs.transpose(2, 1, 0)
    errors_by_label = None if errors is None else errors.transpose(2, 1, 0)
    # Many small matrices: more threads only get in each other's way.
    with one_thread():
        for found in scores:
            at = found.other, found.labels, found.features
            signed = np.copysign(found.scores.statistic(), found.scores.score)
            signed = found.of_features(signed)
            by_label[at] = np.abs(signed)
            if signs_by_label is not None:
                signs_by_label[at] = (signed > 0).view(np.int8) - (signed < 0).view(np.int8)
            if errors_by_label is not None:
                errors_by_label[at] = found.of_features(found.scores.step_error())
    return by_label.transpose(2, 1, 0)


def _take(matrix: Any, columns: IntArray) -> Any:
    """Take some columns, line by line as they were."""
    return matrix[:, columns] if sparse.issparse(matrix) else matrix.take(columns, axis=1)


class _Products:
    """Scores of products of columns with labels, for the models of some labels."""

    def __init__(self, stats: LabelsetStatistics, nulls: Sequence[NullModel]) -> None:
        self._nulls, self._patterns, self._counts = nulls, stats.patterns, stats.counts
        self._labels = np.array([null.label for null in nulls])
        self._empirical = any(null.empirical for null in nulls)
        names = _EMPIRICAL if self._empirical else _KINDS
        kinds = np.array([[getattr(null, name) for null in nulls] for name in names])
        # Labelsets first: of these some are picked, again and again.
        self._values = np.ascontiguousarray(kinds.transpose(2, 0, 1))
        met = (kinds[0] > 0).astype(np.float64) @ stats.patterns
        self._usable = (met > 0) & (self._labels[:, None] != np.arange(met.shape[1]))
        self._clustered = any(null.clusters is not None for null in nulls)
        # Whether models explain whatever is constant where a label is.
        self._absorb = not self._empirical and all(null.spans_labels for null in nulls)
        # The inverse information loses digits where variances are inflated; there F stands for it.
        self._regular = np.array([null.factor.inflation <= INVERTED for null in nulls])
        self._design = nulls[0].factors.design
        n_regressors = self._design.shape[1]
        self._has = np.zeros((len(nulls), n_regressors), dtype=np.bool_)
        self._inverse = np.zeros((len(nulls), n_regressors, n_regressors))
        self._between = np.zeros_like(self._inverse) if self._empirical else None
        for at in np.flatnonzero(self._regular).tolist():
            self._invert(at, nulls[at])

    def _invert(self, at: int, null: NullModel) -> None:
        """Write down the inverse information of a label, and what stands between two B."""
        factor = null.factor
        self._has[at, factor.basis] = True
        place = at, factor.basis[:, None], factor.basis
        inverse = factor.matrix @ factor.matrix.T
        self._inverse[place] = inverse
        if self._between is not None:
            noisy = (null.noise * null.counts)[None]
            (middle,) = null.factors.cross_products([null.label], noisy)
            self._between[place] = inverse @ middle @ inverse

    def scores(
        self, other: int, sums: Any, squares: Any, spread: FloatArray
    ) -> tuple[IntArray, Scores, IntArray | None]:
        """Return labels with something to test, scores of the products, and places of features."""
        # Labelsets without the label have products of zero.
        rows = np.flatnonzero(self._patterns[:, other])
        in_play = np.flatnonzero(self._usable[:, other])
        sums, squares = sums[rows], squares[rows]
        weights, effective, *empirical = self._values[rows][:, :, in_play].transpose(1, 2, 0)
        noise, scales = empirical or (weights, weights)
        counted = weights @ self._counts[rows]
        places = None
        if self._absorb and len(in_play):
            least = COLLINEAR * OWN_SPREAD * (counted / weights.max(axis=1)).min() * spread
            vary = self._vary(rows, sums, squares) > least
            if not vary.all():
                places = np.where(vary, np.cumsum(vary) - 1, -1)
                columns = np.flatnonzero(vary)
                sums, squares, spread = _take(sums, columns), _take(squares, columns), spread[vary]
        variance = np.asarray(noise @ squares)
        scale = np.asarray(scales @ squares) if self._empirical else variance.copy()
        np.maximum(scale, np.multiply.outer(OWN_SPREAD * counted, spread), out=scale)
        scores = Scores(np.asarray(effective @ sums), variance, scale)
        nulls = [self._nulls[at] for at in in_play.tolist()]
        if self._clustered:
            for null, line in zip(nulls, variance, strict=True):
                line[:] = null.cluster_variance(sums, rows)
        else:
            self._take_explained(other, in_play, rows, weights, noise, sums, variance)
            sharpen(nulls, scores, sums, squares, rows)
        return self._labels[in_play], scores, places

    def _take_explained(
        self,
        other: int,
        in_play: IntArray,
        rows: IntArray,
        weights: FloatArray,
        noise: FloatArray,
        sums: Any,
        variance: FloatArray,
    ) -> None:
        """Take what models explain of the products with a label from their variances."""
        regular = self._regular[in_play]
        if regular.any():
            chosen = slice(None) if regular.all() else np.flatnonzero(regular)
            carried = in_play[chosen], rows, weights[chosen], noise[chosen]
            variance[chosen] -= self._explained(other, *carried, sums)
        for order in np.flatnonzero(~regular).tolist():
            null = self._nulls[in_play[order]]
            for part in chunks(sums.shape[1], 8 * len(rows), limit=PART_BYTES):
                variance[order, part] -= explained(null, sums[:, part], rows)

    def _vary(self, rows: IntArray, sums: Any, squares: Any) -> FloatArray:
        """Return how much columns vary in some labelsets, at the most."""
        ones = np.ones(len(rows))
        total, square = np.asarray(ones @ sums), np.asarray(ones @ squares)
        return np.asarray(square * (1 + _ROUNDED) - total**2 / self._counts[rows].sum())

    def _explained(
        self,
        other: int,
        models: IntArray,
        rows: IntArray,
        weights: FloatArray,
        noise: FloatArray,
        sums: Any,
    ) -> FloatArray:
        """Return B'A⁻¹B, or 2B'A⁻¹C - B'A⁻¹MA⁻¹B with noise, of products with a label."""
        regressors = self._design[rows]
        met = np.flatnonzero(regressors.any(axis=0))
        others = met[(met != 0) & (met != 1 + other)]
        # The label is itself a constant here: the two regressors are one.
        columns = np.concatenate([[0], others, [1 + other]])
        regressors = regressors[:, columns[:-1]]
        has = self._has[models[:, None], columns]
        has[:, 0] |= has[:, -1]
        used = (weights @ (regressors != 0) > 0) & has[:, :-1]
        inverse = _fold(self._inverse, models, columns)
        between = None if self._between is None else _fold(self._between, models, columns)
        crossed = Crossed(regressors, used)
        forms = np.empty((len(used), sums.shape[1]))
        for part in chunks(sums.shape[1], 16 * len(crossed), limit=PART_BYTES):
            some = dense(sums[:, part])
            lines = crossed.sums(weights, some)
            noisy = lines if between is None else crossed.sums(noise, some)
            for order, has in enumerate(used):
                at, slots = np.flatnonzero(has), crossed.slots[order, has]
                picked, own = (order, at[:, None], at), lines[slots]
                step = inverse[picked] @ noisy[slots]
                if between is not None:
                    step = 2 * step - between[picked] @ own
                np.einsum("ij,ij->j", own, step, out=forms[order, part])
        return forms


def _fold(forms: FloatArray, labels: IntArray, columns: IntArray) -> FloatArray:
    """Pick forms of some labels in some columns, of which the last is added to the first."""
    picked = forms[labels[:, None, None], columns[:, None], columns]
    picked[:, 0] += picked[:, -1]
    picked[:, :, 0] += picked[:, :, -1]
    return np.asarray(picked[:, :-1, :-1])


def given_scores(
    stats: LabelsetStatistics, nulls: Sequence[NullModel], spread: FloatArray
) -> Iterator[ProductScores]:
    """Scores of the products of all features with each label, given the feature itself."""
    if not nulls:
        return
    order_of = {null.label: order for order, null in enumerate(nulls)}
    carried = sparse.csr_array(stats.patterns.T.astype(np.float64))
    for part, block in feature_blocks(stats):
        plain = plain_scores(nulls, block.sums, block.squares, spread[part])
        # The step towards a model that has the feature is one by the information.
        steps = [null.trusting() if null.empirical else null for null in nulls]
        known = plain
        if any(null.empirical for null in nulls):
            known = plain_scores(steps, block.sums, block.squares, spread[part])
        # Entry (k, l, j): covariance of x_j and x_j y_l in the model of label k.
        crossed = np.array(
            [carried @ _crossed_by_cell(null, block.sums, block.squares) for null in steps]
        )
        for found in product_scores(block, steps, spread[part]):
            inner, scores = found.by_feature()
            at = np.array([order_of[label] for label in found.labels.tolist()], dtype=np.intp)
            own, covariance = known.variance[at][:, inner], crossed[at, found.other][:, inner]
            slope = np.zeros_like(own)
            is_left = own > COLLINEAR * known.scale[at][:, inner]
            np.divide(covariance, own, out=slope, where=is_left)
            information = scores.variance - slope * covariance
            variance, scale = information, scores.scale
            if known is not plain:
                some = [nulls[each] for each in at.tolist()]
                variance = _empirical_rest(some, block, found.other, inner, slope)
                scale = _empirical_scale(some, block, found.other, inner, spread[part][inner])
            given = Scores(
                scores.score - slope * plain.score[at][:, inner],
                variance,
                scale,
                None if known is plain else information,
            )
            places = np.full(block.sums.shape[1], -1)
            places[inner] = np.arange(len(inner))
            yield ProductScores(part, found.other, found.labels, given, places)


def _empirical_scale(
    nulls: Sequence[NullModel],
    block: LabelsetStatistics,
    other: int,
    part: IntArray,
    spread: FloatArray,
) -> FloatArray:
    """Return what variances from residuals of products with a label are measured by."""
    rows = np.flatnonzero(block.patterns[:, other])
    scales = np.array([null.scale[rows] for null in nulls]).reshape(len(nulls), len(rows))
    counted = np.array([null.weight[rows] @ null.counts[rows] for null in nulls])
    own = np.multiply.outer(OWN_SPREAD * counted, spread)
    np.maximum(own, np.asarray(scales @ block.squares[rows][:, part]), out=own)
    return np.asarray(own)


def _empirical_rest(
    nulls: Sequence[NullModel],
    block: LabelsetStatistics,
    other: int,
    part: IntArray,
    slopes: FloatArray,
) -> FloatArray:
    """Return variances from residuals of products with a label less slopes times their features."""
    carrier = block.patterns[:, other].astype(np.float64)[:, None]
    sums, squares = dense(block.sums[:, part]), dense(block.squares[:, part])
    variances = np.empty(slopes.shape)
    for null, slope, variance in zip(nulls, slopes, variances, strict=True):
        # One column in place of two: the carriers' x less a multiple of everyone's.
        some = null.rows
        for inner in chunks(sums.shape[1], 16 * len(some), limit=PART_BYTES):
            factor = (carrier - slope[inner])[some]
            rest = np.zeros((len(carrier), factor.shape[1]))
            rest[some] = factor * sums[some, inner]
            if null.clusters is not None:
                variance[inner] = null.cluster_variance(rest)
                continue
            total = null.noise[some] @ (factor**2 * squares[some, inner])
            variance[inner] = total - explained(null, rest)
    return variances


def _crossed_by_cell(null: NullModel, sums: Any, squares: Any) -> FloatArray:
    """Return what each cell adds to the covariance of a feature with its products: L × p."""
    rows = null.rows
    own, second = dense(sums[rows]), dense(squares[rows])
    explained = null.fit_to(null.lean(sums))
    noise = null.noise[rows, None]
    cells = noise * (second - explained * own)
    if null.empirical:
        rest = noise * (null.counts[rows, None] * explained - own)
        leaning = null.root() @ (rest / null.weight[rows, None])
        cells += null.weight[rows, None] * own * null.fit_to(leaning)
    whole = np.zeros((len(null.weight), own.shape[1]))
    whole[rows] = cells
    return whole
