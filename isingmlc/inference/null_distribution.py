r"""p-values of single columns by the distribution of their scores under the null.

The score of a column x is :math:`\sum_i r_i (y_i - p_i)` with independent outcomes, where
:math:`r = x - c` is what the null model leaves of the column. Three things keep its square over its
variance from being chi-square:

- *Skewness.* Where outcomes are rare or a column is skewed, few rows decide. Where chi-square says
  p < 0.05, skewness and kurtosis of the score tell how far it is off; if by much, the p-value is
  that of a saddlepoint (:mod:`isingmlc.inference.saddlepoint`).
- *Leverage.* A model with many coefficients for the information in the rows follows them: its
  p(1−p) are too small. Below `LEAST_PER_COEFFICIENT` variances are multiplied by
  :math:`\sum \tilde e^2 / \sum w (1 - h)`, observed over expected squared residuals.
- *A penalty.* Its p(1−p) are too large where a label is certain. The probabilities are those of the
  effective residuals, :math:`y - \tilde e`, and variances are multiplied likewise. Several columns
  at once have the probabilities of the penalised model itself.

Rows are needed one by one only where they are far out. Zeros and ones are counted within cells.
Of sparse columns the entries are taken exactly, and the zeros of the cells that have any; all
other zeros are normal. Of other columns, values within three standard deviations of the mean are
three points per cell with the first four moments of the rows there. Without rows, columns of
numbers are two points per cell, one standard deviation above and below the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    StrArray,
    chunks,
    chunks_by_size,
    dense,
)
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import LEAST_PER_COEFFICIENT, information
from isingmlc.inference.blocks import product_scores, statistics_of_products
from isingmlc.inference.covariance import Bernoulli
from isingmlc.inference.pvalues import LOG_10, chi2_log_sf
from isingmlc.inference.saddlepoint import (
    CHI2_HOLDS,
    Scores,
    error_of_normal,
    two_sided,
)
from isingmlc.inference.score import NullModel, feature_scores, feature_variances
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of, feature_blocks
from isingmlc.statistics.sums import RowGroups

# Larger chi-square p-values than this stand.
LOG_SUSPECT = float(np.log(0.05))
# What p-values are called after where they come from.
CHI2, SADDLEPOINT, SCALED = "chi2", "saddlepoint", "-scaled"
# Values farther from the mean than so many standard deviations stay what they are.
_FAR_OUT = 3.0
# Squares of zeros and ones differ from their sums by no more than this share.
_BINARY = 1e-7
# Variation within cells below this share of the squares is rounding.
_NO_SPREAD = 1e-12
# Outcomes of rows that are lumped together are at least this likely.
_LEAST_PROBABILITY = 1e-9
# Numbers that are worked on at a time: of rows, and of outcomes of scores.
_ROWS_AT_ONCE = 2**23
_OUTCOMES_AT_ONCE = 2**18


@dataclass(frozen=True)
class NullDistribution:
    """How the outcomes of one label are distributed under the null.

    Shapes: probability, complement (L,).
    """

    null: NullModel
    probability: FloatArray
    complement: FloatArray
    inflation: float
    has_constant: bool

    @classmethod
    def of(
        cls, fit: NetworkFit, null: NullModel, *, little: bool, several: bool
    ) -> NullDistribution:
        """Take it from the fit of a label; `little` if there is little information."""
        node = fit.nodes[null.label]
        probability, complement = node.probability, node.complement
        effective = null.penalised and not several
        if effective:
            away = np.minimum(np.abs(null.effective), 1.0)
            is_one = fit.stats.patterns[:, null.label]
            probability = np.where(is_one, 1 - away, away)
            complement = np.where(is_one, away, 1 - away)
        inflation = 1.0
        if effective or (little and not null.penalised):
            expected = float(null.counts @ (probability * complement * (1 - null.leverage)))
            found = float(null.counts @ null.effective**2)
            inflation = found / expected if expected > 0 and found > 0 else 1.0
        return cls(null, probability, complement, inflation, fit.settings.intercept)

    def holds_carriers(self, other: int) -> bool:
        """Whether the fit holds the number of ones among the carriers of another label."""
        return not self.null.penalised and 1 + other in self.null.factor.basis

    def held(self, others: IntArray, carries: BoolArray) -> FloatArray:
        """Return of which rows the fit holds the total, for products with other labels.

        Shapes: carries, which of the rows carry them, and returned (others, rows).
        """
        if not self.has_constant:
            return np.zeros(carries.shape)
        every = [not self.holds_carriers(other) for other in others.tolist()]
        return np.asarray(carries | np.array(every)[:, None], dtype=float)


def null_distributions(
    fit: NetworkFit, nulls: list[NullModel], several: bool = False
) -> list[NullDistribution]:
    """Return the null distributions of labels, for tests of one column or of several at once."""
    little = information(fit)[:, 1] < LEAST_PER_COEFFICIENT
    return [
        NullDistribution.of(fit, null, little=bool(little[null.label]), several=several)
        for null in nulls
    ]


@dataclass(frozen=True, eq=False)
class _AllEdges:
    """p-values of all edges, computed when they are first asked for."""

    fit: NetworkFit
    nulls: list[NullModel]
    statistic: FloatArray
    find: Callable[[list[NullDistribution]], tuple[FloatArray, StrArray]]
    several: bool

    @cached_property
    def distributions(self) -> list[NullDistribution]:
        return null_distributions(self.fit, self.nulls, self.several)

    @cached_property
    def found(self) -> tuple[FloatArray, StrArray]:
        """Log p-values, and their methods; of equal columns those of the first."""
        first = first_equal(self.statistic)
        log_pvalue, method = self.find(self.distributions)
        return log_pvalue[first], method[first]


class EdgePvalues:
    """p-values of edges, or of some features, computed when they are first asked for."""

    feature = None

    def __init__(self, edges: _AllEdges, at: Any = slice(None)) -> None:
        self._all, self._at = edges, at

    @classmethod
    def of(
        cls,
        fit: NetworkFit,
        nulls: list[NullModel],
        statistic: FloatArray,
        find: Callable[[list[NullDistribution]], tuple[FloatArray, StrArray]],
        *,
        several: bool,
    ) -> EdgePvalues:
        """Have p-values found from the null distributions, for one or several columns at once."""
        return cls(_AllEdges(fit, nulls, statistic, find, several))

    def take(self, positions: IntArray) -> EdgePvalues:
        """Return those of some features."""
        return EdgePvalues(self._all, np.arange(len(self._all.statistic))[self._at][positions])

    @property
    def edge(self) -> FloatArray:
        """p-values of edges."""
        return np.asarray(np.exp(self._all.found[0][self._at]))

    @property
    def log10(self) -> FloatArray:
        """Their logarithms to base ten."""
        return np.asarray(self._all.found[0][self._at] / LOG_10)

    @property
    def method(self) -> StrArray:
        """Where the p-value of each edge comes from; empty where there is none."""
        names = self._all.found[1].copy()
        for each in self._all.distributions:
            if each.inflation != 1.0:
                names[:, each.null.label] += SCALED
        names[np.isnan(self._all.statistic)] = ""
        return np.asarray(names[self._at])

    @property
    def note(self) -> str:
        """Which labels have variances that are scaled."""
        names = self._all.fit.stats.label_names
        scaled = [names[each.null.label] for each in self._all.distributions if each.inflation != 1]
        if not scaled:
            return ""
        return (
            f"variances for label(s) {exc.shorten(scaled)} are scaled to what the residuals of "
            "their models vary by"
        )


def edge_pvalues(
    fit: NetworkFit, nulls: list[NullModel], statistic: FloatArray, *, always: bool
) -> EdgePvalues:
    """Return p-values of features; `always` by saddlepoint over all rows, where p < 0.05."""
    find = partial(find_pvalues, fit, statistic, always)
    return EdgePvalues.of(fit, nulls, statistic, find, several=False)


def product_pvalues(
    fit: NetworkFit, stats: LabelsetStatistics, nulls: list[NullModel], statistic: FloatArray
) -> EdgePvalues:
    """Return p-values of products of features with other labels, each by itself."""
    find = partial(_find_products, fit, stats, statistic)
    return EdgePvalues.of(fit, nulls, statistic, find, several=False)


def find_pvalues(
    fit: NetworkFit, statistic: FloatArray, always: bool, distributions: list[NullDistribution]
) -> tuple[FloatArray, StrArray]:
    """Compute log p-values of all features and labels, and their methods."""
    square = statistic
    if fit.is_penalised and distributions:
        nulls = [each.null.with_covariance(Bernoulli()) for each in distributions]
        spread = feature_variances(fit.stats, fit.settings.intercept)
        own = np.full(statistic.shape, np.nan)
        labels = [null.label for null in nulls]
        own[:, labels] = feature_scores(fit.stats, nulls, spread).statistic().T
        square = np.where(np.isnan(own) | np.isnan(statistic), statistic, own)
    return _Search(fit, fit.stats, distributions, always).pvalues(deflate(square, distributions))


def _find_products(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    statistic: FloatArray,
    distributions: list[NullDistribution],
) -> tuple[FloatArray, StrArray]:
    """Compute log p-values of products, and their methods."""
    square = statistic
    if fit.is_penalised:
        nulls = [each.null.with_covariance(Bernoulli()) for each in distributions]
        scores = product_scores(stats, nulls, feature_variances(stats, fit.settings.intercept))
        own = statistics_of_products(scores, statistic.shape)
        square = np.where(np.isnan(own) | np.isnan(statistic), statistic, own)
    return _Search(fit, stats, distributions, False).pvalues(deflate(square, distributions))


def deflate(statistic: FloatArray, distributions: list[NullDistribution]) -> FloatArray:
    """Divide statistics, features × labels (× labels), by what variances are multiplied with."""
    square = statistic.copy()
    for each in distributions:
        square[:, each.null.label] /= each.inflation
    return square


def first_equal(statistic: FloatArray) -> IntArray:
    """Find for each feature the first with the same statistics."""
    known = np.nan_to_num(statistic.reshape(len(statistic), -1), nan=-1.0)
    # Equal rows have equal sums.
    order = np.argsort(known.sum(axis=1), kind="stable")
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (known[order[1:]] != known[order[:-1]]).any(axis=1)
    first = np.empty_like(order)
    first[order] = order[np.flatnonzero(starts)][np.cumsum(starts) - 1]
    return first


@dataclass(frozen=True)
class Points:
    """Values of columns, those of one after those of another, and how many rows have each.

    Where only some cells are listed the rows of the others are zero before the shift; `whole` is
    then the number of rows of a cell at one of its points, and zero at others.
    """

    start: IntArray
    cell: IntArray
    value: FloatArray
    weight: FloatArray
    whole: FloatArray | None = None

    @classmethod
    def joined(cls, *lists: tuple[Any, ...], n_columns: int) -> Points:
        """Put lists of columns, cells, values, weights (and whole) together, by column."""
        rest: list[Any]
        column, *rest = (np.concatenate(each) for each in zip(*lists, strict=True))
        order = np.argsort(column, kind="stable")
        start = np.searchsorted(column[order], np.arange(n_columns + 1))
        return cls(start, *(each[order] for each in rest))

    @classmethod
    def of_moments(cls, counts: FloatArray, *sums: FloatArray) -> Points:
        """Make two points per cell from sums of powers, three from the first four powers.

        Shapes: counts, sums (L, columns).
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, square, *higher = (each / counts for each in sums)
            variance = square - mean**2
            # What single rows leave is rounding.
            varies = (counts > 1) & (variance > _NO_SPREAD * square)
            deviation = np.sqrt(np.where(varies, variance, 1.0))
            skewness, kurtosis = np.zeros_like(mean), np.ones_like(mean)
            if higher:
                cube, fourth = higher
                skewness = (cube - 3 * mean * square + 2 * mean**3) / deviation**3
                kurtosis = fourth - 4 * mean * cube + 6 * mean**2 * square - 3 * mean**4
                kurtosis = np.maximum(kurtosis / deviation**4, 1 + skewness**2)
            half = np.sqrt(kurtosis - 0.75 * skewness**2)
            upper, lower = skewness / 2 + half, skewness / 2 - half
            shares = np.stack([1 / (upper * 2 * half), -1 / (lower * 2 * half)])
        places = np.stack([mean + deviation * upper, mean + deviation * lower, mean])
        shares = np.where(varies, shares, 0.0)
        weight = counts * np.concatenate([shares, 1 - shares.sum(axis=0, keepdims=True)])
        kind, cell, column = np.nonzero(weight > _NO_SPREAD * counts)
        found = column, cell, places[kind, cell, column], weight[kind, cell, column]
        return cls.joined(found, n_columns=mean.shape[1])


class PointsOfFeatures:
    """Represents features as points in cells; `exact` keeps every row."""

    def __init__(self, fit: NetworkFit, stats: LabelsetStatistics, *, exact: bool) -> None:
        self._stats, self._exact = stats, exact
        self._features: Any = None
        self._data = None if fit.rows is None else fit.rows_for("p-values of rare labels")
        if self._data is not None:
            features: Any = self._data.features
            self._features = features.tocsc() if sparse.issparse(features) else features
            self._groups = RowGroups(
                cells_of(stats, self._data), len(stats.counts), self._data.weights
            )

    @property
    def size(self) -> int:
        """How many numbers it takes to find the points of a column, at most."""
        return max(2 * len(self._stats.counts), 0 if self._data is None else self._data.n_rows)

    def of(
        self, block: LabelsetStatistics, inside: IntArray, whole: IntArray
    ) -> Iterator[tuple[IntArray, Points]]:
        """Yield which of some features of a block, and their points."""
        sums, squares = block.sums[:, inside], block.squares[:, inside]
        shift = self._stats.shift[whole]
        is_sparse = sparse.issparse(sums) and not shift.any() and not self._exact
        if not is_sparse:
            sums, squares = dense(sums), dense(squares)
        binary = self._are_binary(sums, squares, shift)
        for which, find in ((binary, self._of_ones), (~binary, self._of_numbers)):
            at = np.flatnonzero(which)
            if len(at):
                yield at, find(sums[:, at], squares[:, at], shift[at], whole[at])

    def _are_binary(self, sums: Any, squares: Any, shift: FloatArray) -> BoolArray:
        """Tell which columns are zeros and ones."""
        if sparse.issparse(sums):
            return np.asarray(abs(squares - sums).sum(axis=0) <= _BINARY * squares.sum(axis=0))
        counts = self._stats.counts[:, None]
        ones, origin = sums + counts * shift, counts * shift**2
        off = np.abs(squares - ones * (1 - 2 * shift) - origin) > _BINARY * (squares + origin)
        within = (ones >= -_BINARY * counts) & (ones <= (1 + _BINARY) * counts)
        return np.asarray(~off.any(axis=0) & within.all(axis=0))

    def _of_ones(self, sums: Any, _: Any, shift: FloatArray, whole: IntArray) -> Points:
        """Count ones and zeros in the cells that have ones; in all where that is exact."""
        counts = self._stats.counts
        if sparse.issparse(sums):
            ones = sums.tocsc()
            ones.sort_indices()
            start, cell, number = (
                ones.indptr.astype(np.intp),
                ones.indices.astype(np.intp),
                ones.data,
            )
        else:
            table = np.clip(sums + counts[:, None] * shift, 0.0, counts[:, None]).T
            column, cell = np.nonzero(table > (-1.0 if self._exact else _BINARY))
            start = np.searchsorted(column, np.arange(len(shift) + 1))
            number = table[column, cell]
        rows, origin = counts[cell], np.repeat(shift, np.diff(start))
        weight = np.stack([number, rows - number], axis=1)
        weight[:, 1] *= weight[:, 1] > _BINARY
        listed = weight > 0
        listed[:, 0] = True
        whole = np.zeros_like(weight)
        whole[:, 0] = 0.0 if self._exact else rows
        return Points(
            np.append(0, np.cumsum(listed.sum(axis=1)))[start],
            np.repeat(cell, 2)[listed.ravel()],
            np.stack([1 - origin, -origin], axis=1)[listed],
            weight[listed],
            None if self._exact else np.asarray(whole[listed]),
        )

    def _of_numbers(self, sums: Any, squares: Any, shift: FloatArray, whole: IntArray) -> Points:
        """Take numbers from the rows, or from their means and variances in cells."""
        if self._data is None:
            counts = np.repeat(self._stats.counts[:, None], len(shift), axis=1)
            return Points.of_moments(counts, dense(sums), dense(squares))
        features = self._features[:, whole]
        if sparse.issparse(sums):
            return self._of_entries(features)
        values = dense(features) - shift
        n_rows, width = values.shape
        if self._exact or 6 * len(self._stats.counts) >= n_rows:
            weight = np.ones(n_rows) if self._groups.weights is None else self._groups.weights
            codes = np.tile(self._groups.codes, width)
            return Points(
                np.arange(width + 1) * n_rows, codes, values.T.ravel(), np.tile(weight, width)
            )
        return self._of_moments(values)

    def _of_entries(self, features: Any) -> Points:
        """Take the entries of sparse columns, and the zeros of the cells that they are in."""
        weights, counts = self._groups.weights, self._stats.counts
        column = np.repeat(np.arange(features.shape[1]), np.diff(features.indptr))
        cell = self._groups.codes[features.indices]
        weight = np.ones(len(cell)) if weights is None else weights[features.indices]
        places, where = np.unique(column * len(counts) + cell, return_inverse=True)
        listed = np.bincount(where.ravel(), weight, len(places))
        column_of, cell_of = np.divmod(places, len(counts))
        rows = counts[cell_of]
        zero = np.zeros(len(cell))
        return Points.joined(
            (column, cell, features.data.astype(float), weight, zero),
            (column_of, cell_of, np.zeros(len(rows)), np.maximum(rows - listed, 0.0), rows),
            n_columns=features.shape[1],
        )

    def _of_moments(self, values: FloatArray) -> Points:
        """Take rows that are far out as they are, and three points per cell for the others."""
        groups, counts = self._groups, self._stats.counts
        centre, spread = values.mean(axis=0), values.std(axis=0)
        column, row = np.nonzero((np.abs(values - centre) > _FAR_OUT * spread).T)
        weight = np.ones(len(row)) if groups.weights is None else groups.weights[row]
        cell, far = groups.codes[row], values[row, column]
        values[row, column] = 0.0
        listed = np.bincount(cell * len(spread) + column, weight, counts.size * len(spread))
        rows = counts[:, None] - listed.reshape(len(counts), -1)
        pool, power, moments = groups.pool(), values.copy(), []
        for _ in range(4):
            moments.append(pool @ power)
            power *= values
        inner = Points.of_moments(np.maximum(rows, 0.0), *moments)
        own = np.repeat(np.arange(len(spread)), np.diff(inner.start))
        return Points.joined(
            (own, inner.cell, inner.value, inner.weight),
            (column, cell, far, weight),
            n_columns=len(spread),
        )


class _Search:
    """Finds the p-values of columns where chi-square does not hold."""

    def __init__(
        self,
        fit: NetworkFit,
        stats: LabelsetStatistics,
        distributions: list[NullDistribution],
        always: bool,
    ) -> None:
        self._stats, self._always = stats, always
        self._points = PointsOfFeatures(fit, stats, exact=always)
        self._of_label = {each.null.label: each for each in distributions}
        self._drawn = distributions[0].null.drawn if distributions else None
        n_labels, n_cells = len(stats.label_names), len(stats.counts)
        self._holds_total = self._drawn is None and fit.settings.intercept
        self._root: Any = (None,)
        self._inflation = np.ones(n_labels)
        # The rarer outcome of each row is the one that counts: its probability has all its digits.
        self._probability, self._sign = np.zeros((n_labels, n_cells)), np.ones((n_labels, n_cells))
        for label, each in self._of_label.items():
            self._inflation[label], rows = each.inflation, each.null.rows
            rarer = np.minimum(each.probability, each.complement)
            self._probability[label, rows] = rarer[rows]
            self._sign[label] = np.where(each.probability > each.complement, -1.0, 1.0)

    def pvalues(self, square: FloatArray) -> tuple[FloatArray, StrArray]:
        """Return log p-values and methods of edges with these statistics, (p, K) or (p, K, K)."""
        log_pvalue = np.asarray(chi2_log_sf(square, 1.0))
        method = np.full(square.shape, CHI2, dtype=object)
        suspect = log_pvalue < LOG_SUSPECT
        for part, block in feature_blocks(self._stats):
            needed = np.flatnonzero(suspect[part].reshape(part.stop - part.start, -1).any(axis=1))
            for cut in chunks(len(needed), self._points.size, limit=_ROWS_AT_ONCE):
                inside = needed[cut]
                for which, points in self._points.of(block, inside, part.start + inside):
                    sums = block.sums[:, inside[which]].T
                    sums = sums.tocsr() if sparse.issparse(sums) else sums
                    features = part.start + inside[which]
                    for edges in self._pieces(points, suspect[features]):
                        at = features[edges[0]], *edges[1:]
                        shift = self._stats.shift[at[0]]
                        scores = self._scores(points, sums, shift, edges)
                        size, given = np.sqrt(square[at]), log_pvalue[at]
                        log_pvalue[at], method[at] = tails_of_columns(
                            scores, size, given, always=self._always
                        )
        return log_pvalue, method

    def _pieces(self, points: Points, suspect: BoolArray) -> Iterator[IntArray]:
        """Yield places of edges among columns, labels (and other labels), as memory allows."""
        # Edges of the same label come one after the other.
        found = np.array(np.nonzero(np.moveaxis(suspect, 0, -1)))
        edges = np.roll(found, 1, axis=0)
        sizes = np.maximum(np.diff(points.start)[edges[0]], len(self._stats.counts))
        for cut in chunks_by_size(sizes, _OUTCOMES_AT_ONCE):
            yield edges[:, cut]

    def _scores(self, points: Points, sums: Any, shift: FloatArray, edges: IntArray) -> Scores:
        """Return the scores of edges as sums of outcomes."""
        explained, crossed = self._explain(points, sums, shift, edges)
        column, label, *other = edges
        n_cells = len(self._stats.counts)
        count = np.diff(points.start)[column]
        edge = np.repeat(np.arange(len(count)), count)
        index = np.arange(len(edge)) + np.repeat(
            points.start[column] - np.cumsum(count) + count, count
        )
        cell = points.cell.take(index)
        place = np.repeat(label * n_cells, count) + cell
        probability = self._probability.take(place)
        counts = probability > 0
        if other:
            counts &= self._stats.patterns[cell, np.repeat(other[0], count)]
        edge, index, cell, place, probability = (
            each[counts] for each in (edge, index, cell, place, probability)
        )
        count = np.bincount(edge, minlength=len(count))
        sign, weight = self._sign.take(place), points.weight.take(index)
        left = explained.take(edge * n_cells + cell)
        residual = sign * (points.value.take(index) - left)
        drawn = 1.0 if self._drawn is None else self._drawn[cell]
        if self._drawn is not None:
            # A sampling weight makes a row count for more, not for more rows.
            residual, weight = residual * drawn, weight / drawn
        if points.whole is not None:
            listed = points.whole.take(index) / drawn * probability * (1 - probability)
            zero = (-np.repeat(shift, count) - left) * drawn
            powers = zero**2, zero, 1.0, sign * (1 - 2 * probability)
            for line, each in zip(crossed, powers, strict=True):
                line -= np.bincount(edge, listed * each, len(count))
        lump, normal = _lump_together(crossed)
        place = np.arange(len(edge)) + edge + 1
        every = np.empty((4, len(edge) + len(count)))
        every[:, place] = residual, probability, weight, sign
        every[:, np.cumsum(count + 1) - count - 1] = lump
        if not self._holds_total:
            every[3] = 0.0
        inflation = self._inflation[label]
        if (inflation != 1.0).any():
            every[2] *= np.repeat(inflation, count + 1)
            normal *= inflation
        return Scores(count + 1, every, normal)

    def _explain(
        self, points: Points, sums: Any, shift: FloatArray, edges: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what null models explain of columns, and cumulants of the zeros in all cells.

        Shapes: sums (columns, L), returned (m, L) and (4, m): variance of their score S, its
        covariance with their total T, variance and third cumulant of T.
        """
        column, label, *other = edges
        n_labels, n_cells = self._probability.shape
        explained, crossed = np.empty((len(column), n_cells)), np.zeros((4, len(column)))
        group = label * n_labels + other[0] if other else label
        for bounds in pairwise(np.flatnonzero(np.diff(group, prepend=-1, append=-1))):
            part = slice(*bounds)
            each = self._of_label[label[part.start]]
            carried = np.ones(n_cells)
            if other:
                carried = self._stats.patterns[:, other[0][part.start]].astype(float)
            root, explaining = self._root_of(each.null)
            own = explained[part] = (sums[column[part]] @ (root * carried).T) @ explaining
            if points.whole is None and not other:
                continue
            chance = self._probability[each.null.label]
            unlisted = 1 - carried if points.whole is None else 1.0
            variance = unlisted * self._stats.counts * chance * (1 - chance)
            origin = own + shift[part, None] * carried
            if self._drawn is not None:
                variance, origin = variance / self._drawn, origin * self._drawn
            held = carried if other and each.holds_carriers(other[0][part.start]) else 1.0
            skewed = self._sign[each.null.label] * (1 - 2 * chance)
            crossed[0, part] = origin**2 @ variance
            crossed[1, part] = -origin @ (variance * held)
            crossed[2, part] = (variance * held).sum()
            crossed[3, part] = (variance * held) @ skewed
        return explained, crossed

    def _root_of(self, null: NullModel) -> tuple[FloatArray, FloatArray]:
        """Return F'zw in all cells, and the same over w: (rank, L)."""
        if self._root[0] != null.label:
            inside = null.root()
            root, explaining = np.zeros((2, len(inside), len(null.counts)))
            root[:, null.rows], explaining[:, null.rows] = inside, inside / null.weight[null.rows]
            self._root = null.label, root, explaining
        return self._root[1], self._root[2]


def _lump_together(crossed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Represent rows by one kind of outcome per score, and what is left of its variance.

    Shapes: crossed (4, m) as `_explain` returns them; returned (4, m): residual, probability,
    weight, sign, and (m,).
    """
    variance, covariance, total, third = crossed
    known = total > _NO_SPREAD
    unit = np.where(known, total, 1.0)
    residual = np.where(known, covariance / unit, 0.0)
    probability = np.clip((1 - np.abs(third) / unit) / 2, _LEAST_PROBABILITY, 0.5)
    sign = np.where(third < 0, -1.0, 1.0)
    weight = np.where(known, unit / (probability * (1 - probability)), 0.0)
    normal = np.maximum(variance - residual * covariance, 0.0)
    return np.stack([sign * residual, probability, weight, sign]), normal


def tails_of_columns(
    scores: Scores, size: FloatArray, log_pvalue: FloatArray, *, always: bool = False
) -> tuple[FloatArray, StrArray]:
    """Return the log p-values of scores of these sizes, given those of chi-square, and methods."""
    scores, variance = scores.standardized()
    skewness, kurtosis, _ = scores.cumulants()
    error = error_of_normal(size, skewness, kurtosis)
    found, method = log_pvalue.copy(), np.full(len(size), CHI2, dtype=object)
    solved = (variance > 0) & (always | (error > CHI2_HOLDS))
    if solved.any():
        some = scores.take(solved)
        found[solved] = two_sided(some, size[solved], skewness[solved])
        method[solved] = SADDLEPOINT
    return found, method
