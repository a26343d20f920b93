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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
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
)
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import LEAST_PER_COEFFICIENT, information
from isingmlc.inference.blocks import product_scores, statistics_of_products
from isingmlc.inference.covariance import Bernoulli
from isingmlc.inference.points import Points, PointsOfFeatures
from isingmlc.inference.pvalues import LOG_10, chi2_log_sf
from isingmlc.inference.saddlepoint import (
    CHI2_HOLDS,
    Scores,
    error_of_normal,
    two_sided,
)
from isingmlc.inference.score import NullModel, feature_scores, feature_variances
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks

# Larger chi-square p-values than this stand.
LOG_SUSPECT = float(np.log(0.05))
# What p-values are called after where they come from.
CHI2, SADDLEPOINT, SCALED = "chi2", "saddlepoint", "-scaled"
# Outcomes of rows that are lumped together are at least this likely.
_LEAST_PROBABILITY = 1e-9
# Numbers that are worked on at a time: of rows, and of outcomes of scores.
_ROWS_AT_ONCE = 2**21
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
    found = []
    for null in nulls:
        chances = fit.nodes[null.label].probability, fit.nodes[null.label].complement
        is_effective = null.penalised and not several
        if is_effective:
            away = np.minimum(np.abs(null.effective), 1.0)
            is_one = fit.stats.patterns[:, null.label]
            chances = np.where(is_one, 1 - away, away), np.where(is_one, away, 1 - away)
        inflation = 1.0
        if is_effective or (little[null.label] and not null.penalised):
            expected = float(null.counts @ (chances[0] * chances[1] * (1 - null.leverage)))
            observed = float(null.counts @ null.effective**2)
            inflation = observed / expected if expected > 0 and observed > 0 else 1.0
        found.append(NullDistribution(null, *chances, inflation, fit.settings.intercept))
    return found


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

    def __init__(
        self,
        fit: NetworkFit,
        nulls: list[NullModel],
        statistic: FloatArray,
        find: Callable[[list[NullDistribution]], tuple[FloatArray, StrArray]],
        *,
        several: bool = False,
    ) -> None:
        self._all = _AllEdges(fit, nulls, statistic, find, several)
        self._at: Any = slice(None)

    def take(self, positions: IntArray) -> EdgePvalues:
        """Return those of some features."""
        taken = copy(self)
        taken._at = np.arange(len(self._all.statistic))[self._at][positions]
        return taken

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
    fit: NetworkFit,
    nulls: list[NullModel],
    statistic: FloatArray,
    stats: LabelsetStatistics | None = None,
    *,
    always: bool = False,
) -> EdgePvalues:
    """Return p-values of features, or of their products with other labels, each by itself.

    `always` by saddlepoint over all rows, where p < 0.05.
    """
    find = partial(find_pvalues, fit, fit.stats if stats is None else stats, statistic, always)
    return EdgePvalues(fit, nulls, statistic, find)


def find_pvalues(
    fit: NetworkFit,
    stats: LabelsetStatistics,
    statistic: FloatArray,
    always: bool,
    distributions: list[NullDistribution],
) -> tuple[FloatArray, StrArray]:
    """Compute log p-values of all features (or products) and labels, and their methods."""
    square = statistic
    if fit.is_penalised and distributions:
        nulls = [each.null.with_covariance(Bernoulli()) for each in distributions]
        spread = feature_variances(stats, fit.settings.intercept)
        if statistic.ndim == 3:
            own = statistics_of_products(product_scores(stats, nulls, spread), statistic.shape)
        else:
            own, labels = np.full(statistic.shape, np.nan), [null.label for null in nulls]
            own[:, labels] = feature_scores(stats, nulls, spread).statistic().T
        square = np.where(np.isnan(own) | np.isnan(statistic), statistic, own)
    return _Search(fit, stats, distributions, always).pvalues(deflate(square, distributions))


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
        self._width = max((each.null.factor.matrix.shape[1] for each in distributions), default=0)
        self._last: Any = (None,)
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
                    edges = _by_label(suspect[features])
                    leaning = self._lean(sums, edges)
                    sizes = np.maximum(np.diff(points.start)[edges[0]], len(self._stats.counts))
                    for cut in chunks_by_size(sizes, _OUTCOMES_AT_ONCE):
                        at = features[edges[0, cut]], *edges[1:, cut]
                        shift = self._stats.shift[at[0]]
                        scores = self._scores(points, leaning[cut], shift, edges[:, cut])
                        size, given = np.sqrt(square[at]), log_pvalue[at]
                        log_pvalue[at], method[at] = tails_of_columns(
                            scores, size, given, always=self._always
                        )
        return log_pvalue, method

    def _scores(
        self, points: Points, leaning: FloatArray, shift: FloatArray, edges: IntArray
    ) -> Scores:
        """Return the scores of edges as sums of outcomes."""
        explained, crossed = self._explain(points, leaning, shift, edges)
        column, label, *other = edges
        n_cells = len(self._stats.counts)
        count = np.diff(points.start)[column]
        start = np.cumsum(count) - count
        index = np.arange(count.sum()) + np.repeat(points.start[column] - start, count)
        cell = points.cell.take(index)
        place = np.repeat(label * n_cells, count) + cell
        uncertain = self._probability.take(place) > 0
        if other:
            uncertain &= self._stats.patterns[cell, np.repeat(other[0], count)]
        kept = np.flatnonzero(uncertain)
        index, cell, place = (each.take(kept) for each in (index, cell, place))
        count = np.add.reduceat(uncertain, start, dtype=np.intp)
        left = explained.take(np.repeat(np.arange(len(count)) * n_cells, count) + cell)
        sign, residual = self._sign.take(place), points.value.take(index) - left
        # A sampling weight makes a row count for more, not for more rows.
        drawn = 1.0 if self._drawn is None else self._drawn[cell]
        outcomes = [sign * residual * drawn, self._probability.take(place)]
        outcomes += [points.weight.take(index) / drawn, sign]
        # The first outcome of each score stands for the rows that are not listed.
        lump, start = np.cumsum(count) - count, np.cumsum(count + 1) - count - 1
        every = np.stack([np.insert(each, lump, 0.0) for each in outcomes])
        if points.whole is not None:
            _, probability, _, sign = every
            listed = np.insert(points.whole.take(index) / drawn, lump, 0.0)
            listed *= probability * (1 - probability)
            zero = np.insert((-np.repeat(shift, count) - left) * drawn, lump, 0.0)
            powers = zero**2, zero, 1.0, sign * (1 - 2 * probability)
            crossed -= [np.add.reduceat(listed * each, start) for each in powers]
        every[:, start], normal = _lump_together(crossed)
        if not self._holds_total:
            every[3] = 0.0
        inflation = self._inflation[label]
        if (inflation != 1.0).any():
            every[2] *= np.repeat(inflation, count + 1)
            normal *= inflation
        return Scores(count + 1, every, normal)

    def _groups(
        self, edges: IntArray
    ) -> Iterator[tuple[slice, NullDistribution, int | None, FloatArray]]:
        """Yield edges of the same label, and which cells their columns are not zero in."""
        _, label, *other = edges
        n_labels, n_cells = self._probability.shape
        group = label * n_labels + other[0] if other else label
        for bounds in pairwise(np.flatnonzero(np.diff(group, prepend=-1, append=-1))):
            each, with_label = self._of_label[label[bounds[0]]], None
            carried = np.ones(n_cells)
            if other:
                with_label = int(other[0][bounds[0]])
                carried = self._stats.patterns[:, with_label].astype(float)
            yield slice(*bounds), each, with_label, carried

    def _root_of(self, null: NullModel) -> FloatArray:
        """Return F'zw of a label, which comes several times in a row."""
        if self._last[0] != null.label:
            self._last = null.label, null.root()
        return np.asarray(self._last[1])

    def _lean(self, sums: Any, edges: IntArray) -> FloatArray:
        """Return F'zw times columns: edges × regressors, with zeros where there are fewer."""
        found = np.zeros((edges.shape[1], self._width))
        for part, each, _, carried in self._groups(edges):
            root, rows = self._root_of(each.null), each.null.rows
            weighted = np.zeros((len(carried), len(root)))
            weighted[rows] = root.T * carried[rows, None]
            found[part, : len(root)] = sums[edges[0, part]] @ weighted
        return found

    def _explain(
        self, points: Points, leaning: FloatArray, shift: FloatArray, edges: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what null models explain of columns, and cumulants of the zeros in all cells.

        Shapes: leaning (m, regressors), returned (m, L) and (4, m): variance of their score S, its
        covariance with their total T, variance and third cumulant of T.
        """
        n_cells = self._probability.shape[1]
        explained, crossed = np.zeros((len(shift), n_cells)), np.zeros((4, len(shift)))
        for part, each, other, carried in self._groups(edges):
            root, rows = self._root_of(each.null), each.null.rows
            own = explained[part]
            own[:, rows] = leaning[part, : len(root)] @ root / each.null.weight[rows]
            if points.whole is None and other is None:
                continue
            chance = self._probability[each.null.label]
            unlisted = 1 - carried if points.whole is None else 1.0
            variance = unlisted * self._stats.counts * chance * (1 - chance)
            origin = own + shift[part, None] * carried if shift[part].any() else own
            if self._drawn is not None:
                variance, origin = variance / self._drawn, origin * self._drawn
            held = carried if other is not None and each.holds_carriers(other) else 1.0
            skewed = self._sign[each.null.label] * (1 - 2 * chance)
            crossed[0, part] = origin**2 @ variance
            crossed[1, part] = -origin @ (variance * held)
            crossed[2, part] = (variance * held).sum()
            crossed[3, part] = (variance * held) @ skewed
        return explained, crossed


def _by_label(suspect: BoolArray) -> IntArray:
    """Return edges as columns, labels (and other labels), those of a label one after the other."""
    return np.roll(np.array(np.nonzero(np.moveaxis(suspect, 0, -1))), 1, axis=0)


def _lump_together(crossed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Represent rows by one kind of outcome per score, and what is left of its variance.

    Shapes: crossed (4, m) as `_explain` returns them; returned (4, m): residual, probability,
    weight, sign, and (m,).
    """
    variance, covariance, total, third = crossed
    known = total > 0
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
