r"""Scores of the products of features with labels, alone and given the feature.

A feature times label s has sums :math:`y_{gs} S_g` and squares :math:`y_{gs} Q_g` in cells, so its
score needs no other data than that of the feature; see :mod:`isingmlc.inference.score`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, SignArray, chunks, dense
from isingmlc.fitting.information import KEPT_BYTES
from isingmlc.fitting.newton import one_thread
from isingmlc.inference.score import (
    COLLINEAR,
    OWN_SPREAD,
    PART_BYTES,
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
# What else costs time beside multiplying, in multiplications: a number that is written and read
# again, and a call.
_LINE = 30
_CALL = 100_000
# What rounding may add to the squares of a column that is constant, as a share of them.
_ROUNDED = 1e-14
# F'zw of all labels at all labelsets is worth writing down where it takes no more than this.
_WHOLE_BYTES = 2**20
# What products need of null models, and where variances are taken from residuals.
_KINDS = ("weight", "effective")
_EMPIRICAL = (*_KINDS, "noise", "scale")


@dataclass(frozen=True)
class ProductScores:
    """Scores of the products of some features with one label.

    Attributes
    ----------
    features : slice
        The features.
    other : int
        The label that they are multiplied with.
    labels : ndarray of int
        The labels whose models have something to test.
    scores : Scores
        Arrays of these labels × columns.
    places : ndarray of int, shape (features,), or None
        The column of each feature; -1 where its product is constant wherever the label is, and has
        nothing to test. None where the columns are the features.
    """

    features: slice
    other: int
    labels: IntArray
    scores: Scores
    places: IntArray | None

    def of_features(self, values: FloatArray) -> FloatArray:
        """Give each feature the values of its column.

        Parameters
        ----------
        values : ndarray
            Labels × columns.

        Returns
        -------
        ndarray
            Labels × features; NaN where a feature has no column.
        """
        if self.places is None:
            return values
        nothing = np.full((len(values), 1), np.nan)
        return np.concatenate([values, nothing], axis=1).take(self.places, axis=1)

    def by_feature(self) -> tuple[IntArray, Scores]:
        """Give which features have something to test, and their own scores.

        Returns
        -------
        features : ndarray of int
            Positions of features.
        scores : Scores
            Arrays of labels × these features.
        """
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
    *,
    merging: bool = True,
) -> Iterator[ProductScores]:
    """Scores of the products of all features with each label.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    nulls : sequence of NullModel
        The fits of the labels.
    spread : ndarray, shape (p,)
        How much the features vary in all rows.
    merging : bool
        Whether products that are equal have one column.

    Yields
    ------
    ProductScores
        Those of a block of features with one label.
    """
    n_regressors = nulls[0].factors.design.shape[1] if nulls else 0
    for some in chunks(len(nulls), 16 * n_regressors**2, limit=KEPT_BYTES):
        products = _Products(stats, nulls[some])
        for part, block in feature_blocks(stats):
            for other in range(stats.patterns.shape[1]):
                columns = block.sums, block.squares, spread[part]
                found = products.scores(other, *columns, merging=merging)
                yield ProductScores(part, other, *found)


def statistics_of_products(
    scores: Iterable[ProductScores],
    shape: tuple[int, ...],
    signs: SignArray | None = None,
    errors: FloatArray | None = None,
) -> FloatArray:
    """Write down the statistics of products.

    Parameters
    ----------
    scores : iterable
        Scores, as `product_scores` and `given_scores` yield them.
    shape : tuple of int
        How many features, labels and labels there are.
    signs : ndarray of int8, shape (features, labels, labels), optional
        Where the signs of the scores are written, if they are wanted.
    errors : ndarray, shape (features, labels, labels), optional
        Where standard errors of coefficients that are one step are written, if they are wanted.

    Returns
    -------
    ndarray, shape (features, labels, labels)
        Entry (j, k, s) is of feature j times label s in the model of label k; NaN where there is
        nothing to test.
    """
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
    r"""Scores of products of columns with labels, for the models of some labels.

    Within the labelsets that carry a label few others occur, and a product is zero elsewhere. What
    regressors explain of it is therefore a form of its sums crossed with these few regressors, B
    under the weights and C under the noise: :math:`2B'A^{-1}C - B'A^{-1}MA^{-1}B`, with M the
    information with the noise in place of the weights. Where the noise is the weights it is
    :math:`B'A^{-1}B`.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.
    nulls : sequence of NullModel
        The fits of the labels.
    """

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
        # A inverse would lose digits where variances are inflated; there F stands for it.
        self._regular = np.array([null.factor.inflation <= INVERTED for null in nulls])
        self._design = nulls[0].factors.design
        n_regressors = self._design.shape[1]
        self._has = np.zeros((len(nulls), n_regressors), dtype=np.bool_)
        self._inverse = np.zeros((len(nulls), n_regressors, n_regressors))
        self._between = np.zeros_like(self._inverse) if self._empirical else None
        self._is_inverted = False
        # How many regressors occur where a label does, and what F'zw of all labels would take.
        carried = stats.patterns.astype(np.float64)
        self._n_met = np.count_nonzero(carried.T @ (self._design != 0), axis=1)
        self._rank = max(null.factor.matrix.shape[1] for null in nulls)
        size = 8 * len(nulls) * self._rank * len(carried)
        self._may_be_whole = not self._empirical and size <= _WHOLE_BYTES
        # By sums times these columns are told apart.
        self._marks = np.sin(np.arange(1.0, len(carried) + 1))

    @cached_property
    def _rooted(self) -> FloatArray:
        """F'zw of all labels at all labelsets: labelsets × (labels × rank)."""
        rooted = np.zeros((len(self._nulls), self._rank, len(self._patterns)))
        for null, lines in zip(self._nulls, rooted, strict=True):
            root = null.root()
            lines[: len(root), null.rows] = root
        return np.ascontiguousarray(rooted.reshape(-1, len(self._patterns)).T)

    def _is_whole(self, other: int, n_rows: int, n_columns: int) -> bool:
        """Tell whether F of all regressors takes less than one of those that occur with a label."""
        more = (self._rank - int(self._n_met[other])) * n_rows * n_columns
        return self._may_be_whole and more <= _CALL

    def _explained_by_all(self, rows: IntArray, sums: Any) -> FloatArray:
        """Give what all models explain of columns that are zero outside some labelsets."""
        rooted, n_labels = self._rooted[rows].T, len(self._nulls)
        found = np.empty((n_labels, sums.shape[1]))
        for part in chunks(sums.shape[1], 8 * len(rooted), limit=PART_BYTES):
            leaning = rooted @ dense(sums[:, part])
            leaning = leaning.reshape(n_labels, self._rank, leaning.shape[1])
            found[:, part] = np.einsum("kij,kij->kj", leaning, leaning)
        return found

    def _invert_all(self) -> None:
        """Write down the inverse information of labels whose variances are not inflated."""
        if not self._is_inverted:
            self._is_inverted = True
            for at in np.flatnonzero(self._regular).tolist():
                self._invert(at, self._nulls[at])

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
        self, other: int, sums: Any, squares: Any, spread: FloatArray, *, merging: bool
    ) -> tuple[IntArray, Scores, IntArray | None]:
        """Give labels with something to test, scores of the products, and places of features."""
        # Labelsets without the label have products of zero.
        rows = np.flatnonzero(self._patterns[:, other])
        in_play = np.flatnonzero(self._usable[:, other])
        whole = sums, squares, spread
        sums, squares = sums[rows], squares[rows]
        weights, effective, *empirical = self._values[rows][:, :, in_play].transpose(1, 2, 0)
        noise, scales = empirical or (weights, weights)
        counted = weights @ self._counts[rows]
        places, size = None, weights.size * len(spread)
        if size > _CALL:
            columns = np.arange(len(spread))
            if self._absorb:
                share = (counted / weights.max(axis=1)).min()
                least = COLLINEAR * OWN_SPREAD * share * spread
                columns = np.flatnonzero(self._vary(rows, sums, squares) > least)
            # Looking for equal columns takes some calls.
            merging = merging and size > 3 * _CALL and not sparse.issparse(sums)
            columns, found, largest = self._distinct(
                columns, rows, sums, squares, spread, merging=merging
            )
            if len(columns) < len(spread):
                sums, squares = _take(sums, columns), _take(squares, columns)
                spread, places = largest, found
        variance = np.asarray(noise @ squares)
        measured = np.asarray(scales @ squares) if self._empirical else variance.copy()
        scale = np.multiply.outer(OWN_SPREAD * counted, spread)
        np.maximum(measured, scale, out=scale)
        scores = Scores(np.asarray(effective @ sums), variance, scale)
        nulls = [self._nulls[at] for at in in_play.tolist()]
        if self._clustered:
            for null, line in zip(nulls, variance, strict=True):
                line[:] = null.cluster_variance(sums, rows)
        else:
            if self._is_whole(other, len(rows), sums.shape[1]):
                variance -= self._explained_by_all(rows, sums)[in_play]
            else:
                self._take_explained(other, in_play, rows, weights, noise, sums, variance)
            sharpen(nulls, scores, sums, squares, rows)
        if merging and places is not None:
            by_spread = scores.collinear & (variance > COLLINEAR * measured)
            if by_spread.any():
                # Equal products of features that vary differently in all rows are judged apart.
                return self.scores(other, *whole, merging=False)
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
            self._invert_all()
            chosen = slice(None) if regular.all() else np.flatnonzero(regular)
            carried = in_play[chosen], rows, weights[chosen], noise[chosen]
            variance[chosen] -= self._explained(other, *carried, sums)
        for order in np.flatnonzero(~regular).tolist():
            null = self._nulls[in_play[order]]
            for part in chunks(sums.shape[1], 8 * len(rows), limit=PART_BYTES):
                variance[order, part] -= explained(null, sums[:, part], rows)

    def _distinct(
        self,
        columns: IntArray,
        rows: IntArray,
        sums: Any,
        squares: Any,
        spread: FloatArray,
        *,
        merging: bool,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Pick columns, one of each kind of equal ones if these are merged.

        Gives them, the place of every column among them, -1 of those not asked for, and the largest
        spread of each kind.
        """
        first = np.ones(len(columns), dtype=np.bool_)
        if merging:
            keys = (self._marks[rows] @ sums)[columns]
            order = keys.argsort()
            columns, keys = columns[order], keys[order]
            alike = np.flatnonzero(keys[1:] == keys[:-1])
            pairs = columns[alike], columns[alike + 1]
            differ = np.zeros(len(alike), dtype=np.bool_)
            for matrix in (sums, squares):
                differ |= np.not_equal(*(matrix.take(some, axis=1) for some in pairs)).any(axis=0)
            first[alike + 1] = differ
        places = np.full(len(spread), -1)
        places[columns] = np.cumsum(first) - 1
        largest = np.maximum.reduceat(spread[columns], np.flatnonzero(first))
        return columns[first], places, largest

    def _vary(self, rows: IntArray, sums: Any, squares: Any) -> FloatArray:
        """Give how much columns vary in some labelsets, at the most.

        Multiplied by the largest weight this is no less than the variance of the score of the
        product with a label that all of them carry, in a model that has the label.
        """
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
        """Give what some models explain of the products with a label: models × columns."""
        regressors = self._design[rows]
        met = np.flatnonzero(regressors.any(axis=0))
        others = met[(met != 0) & (met != 1 + other)]
        # The label is itself a constant here: the two regressors are one.
        columns = np.concatenate([[0], others, [1 + other]])
        regressors = regressors[:, columns[:-1]]
        carried = (regressors != 0).astype(np.float64)
        has = self._has[models[:, None], columns]
        has[:, 0] |= has[:, -1]
        used = (weights @ carried > 0) & has[:, :-1]
        inverse = _fold(self._inverse, models, columns)
        if self._between is not None:
            between = _fold(self._between, models, columns)
            return _crossed_forms(regressors, used, weights, noise, inverse, between, sums)
        # Of three factors, roots, regressors and sums, the two are multiplied first that leave
        # less to do. Crossed sums are written and read once more, and take calls for each label,
        # but what they are multiplied by is triangular.
        n_used = used.sum(axis=1)
        crossing = used.sum(axis=0) @ carried.sum(axis=0) + _LINE * n_used.sum()
        calls = _CALL * len(models) / max(sums.shape[1], 1)
        rooting = n_used.sum() * len(rows)
        is_rooted = rooting <= (n_used**2).sum() / 2 + crossing + calls
        squares_of = _squares_of_rooted if is_rooted else _squares_of_crossed
        return squares_of(_roots(inverse, used), regressors, used, weights, sums)


def _squares_of_rooted(
    roots: FloatArray, regressors: FloatArray, used: BoolArray, weights: FloatArray, sums: Any
) -> FloatArray:
    """Multiply roots by regressors, then by sums; give squares: labels × columns."""
    rooted = roots @ (regressors.T * weights[:, None, :])
    n_labels, n_carried, n_rows = rooted.shape
    unused = used.size - int(used.sum())
    whole = unused * n_rows * sums.shape[1] <= _CALL * n_labels
    stacked = rooted.reshape(-1, n_rows) if whole else rooted[used]
    stops = np.cumsum(used.sum(axis=1)).tolist()
    squares = np.empty((n_labels, sums.shape[1]))
    for part in chunks(sums.shape[1], 8 * len(stacked), limit=PART_BYTES):
        leaning = stacked @ dense(sums[:, part])
        if whole:
            leaning = leaning.reshape(n_labels, n_carried, -1)
            squares[:, part] = np.einsum("kij,kij->kj", leaning, leaning)
            continue
        for line, start, stop in zip(squares, [0, *stops], stops, strict=False):
            own = leaning[start:stop]
            np.einsum("ij,ij->j", own, own, out=line[part])
    return squares


def _squares_of_crossed(
    roots: FloatArray, regressors: FloatArray, used: BoolArray, weights: FloatArray, sums: Any
) -> FloatArray:
    """Multiply regressors by sums, then roots by both; give squares: labels × columns."""
    crossed = _Crossed(regressors, used)
    squares = np.empty((len(used), sums.shape[1]))
    for part in chunks(sums.shape[1], 8 * len(crossed), limit=PART_BYTES):
        lines = crossed.sums(weights, dense(sums[:, part]))
        for root, (at, slots), square in zip(roots, crossed.places, squares, strict=True):
            # Lines that are picked are a copy, which the product may take the place of.
            own, triangle = lines.take(slots, axis=0).T, root[at[:, None], at]
            leaning = blas.dtrmm(1.0, triangle, own, side=1, trans_a=1, overwrite_b=1).T
            np.einsum("ij,ij->j", leaning, leaning, out=square[part])
    return squares


def _crossed_forms(
    regressors: FloatArray,
    used: BoolArray,
    weights: FloatArray,
    noise: FloatArray,
    inverse: FloatArray,
    between: FloatArray,
    sums: Any,
) -> FloatArray:
    """Give 2B'A⁻¹C - B'A⁻¹MA⁻¹B: labels × columns."""
    crossed = _Crossed(regressors, used)
    forms = np.empty((len(used), sums.shape[1]))
    for part in chunks(sums.shape[1], 16 * len(crossed), limit=PART_BYTES):
        some = dense(sums[:, part])
        lines, noisy = crossed.sums(weights, some), crossed.sums(noise, some)
        for order, (at, slots) in enumerate(crossed.places):
            picked, own = (order, at[:, None], at), lines[slots]
            other = 2 * (inverse[picked] @ noisy[slots]) - between[picked] @ own
            np.einsum("ij,ij->j", own, other, out=forms[order, part])
    return forms


def _fold(forms: FloatArray, labels: IntArray, columns: IntArray) -> FloatArray:
    """Pick forms of some labels in some columns, of which the last is added to the first."""
    size = len(columns)
    places = (columns[:, None] * forms.shape[1] + columns).ravel()
    some = forms if len(labels) == len(forms) else forms[labels]
    picked = some.reshape(len(labels), -1).take(places, axis=1).reshape(-1, size, size)
    picked[:, 0] += picked[:, -1]
    picked[:, :, 0] += picked[:, :, -1]
    return np.asarray(picked[:, :-1, :-1])


def _roots(inverse: FloatArray, used: BoolArray) -> FloatArray:
    """Give R with R'R the inverse in the regressors that are used, labels × c × c."""
    inverse *= used[:, :, None] & used[:, None, :]
    diagonal = np.arange(used.shape[1])
    inverse[:, diagonal, diagonal] += ~used
    roots = np.asarray(np.linalg.cholesky(inverse).transpose(0, 2, 1))
    roots[~used] = 0.0
    return roots


class _Crossed:
    """Where labels find the sums of the regressors that they use.

    Parameters
    ----------
    regressors : ndarray, shape (L, c)
        The regressors.
    used : ndarray of bool, shape (labels, c)
        Which labels use them.

    Attributes
    ----------
    places : list of tuple of ndarray
        For each label, the regressors that it uses and the lines of their sums.
    """

    def __init__(self, regressors: FloatArray, used: BoolArray) -> None:
        self._columns = regressors.T
        self._binary = ((regressors == 0) | (regressors == 1)).all(axis=0).tolist()
        self._carriers = [column.nonzero()[0] for column in self._columns]
        self._users = [column.nonzero()[0] for column in used.T]
        slots = (np.cumsum(used.T) - 1).reshape(used.T.shape).T
        places = (line.nonzero()[0] for line in used)
        self.places = [(at, slot[at]) for at, slot in zip(places, slots, strict=True)]

    def __len__(self) -> int:
        return sum(map(len, self._users))

    def sums(self, weights: FloatArray, sums: FloatArray) -> FloatArray:
        """Sum columns times regressors times weights (labels × L): a line per label using one."""
        crossed = np.empty((len(self), sums.shape[1]))
        by_row = np.ascontiguousarray(weights.T)
        start = 0
        kinds = zip(self._carriers, self._users, self._columns, self._binary, strict=True)
        for at, users, column, is_binary in kinds:
            stop = start + len(users)
            if stop > start:
                picked = by_row[at][:, users]
                if not is_binary:
                    picked *= column[at, None]
                own = sums if len(at) == len(sums) else sums.take(at, axis=0)
                np.matmul(picked.T, own, out=crossed[start:stop])
            start = stop
        return crossed


def given_scores(
    stats: LabelsetStatistics, nulls: Sequence[NullModel], spread: FloatArray
) -> Iterator[ProductScores]:
    r"""Scores of the products of all features with each label, given the feature itself.

    With :math:`s_x, V_{xx}` and :math:`s_p, V_{pp}` those of the feature and the product and
    :math:`V_{px}` their covariance, the score is :math:`s_p - s_x V_{px} / V_{xx}` and its variance
    :math:`V_{pp} - V_{px}^2 / V_{xx}`: one Newton step towards the model that has the feature.

    Parameters
    ----------
    stats, nulls, spread
        As `product_scores` takes them.

    Yields
    ------
    ProductScores
        Those of a block of features with one label.
    """
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
        for found in product_scores(block, steps, spread[part], merging=False):
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
    """Give what variances from residuals of products with a label are measured by."""
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
    """Give variances from residuals of products with a label less slopes times their features."""
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
    """Give what each cell adds to the covariance of a feature with its products: L × p.

    With c what the regressors explain of a feature this is w (Q − c S). Other noise takes the place
    of w, and then what the regressors explain of a product does not vanish with it.
    """
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
