r"""p-values of scores from their own distribution, where it is not near enough to a normal one.

Under the null the score of a column is :math:`\sum_i (y_i - p_i) r_i` with independent outcomes
and :math:`r = x - c` what the null model leaves of the column. Three things keep its square,
divided by its variance, from being chi-square:

- *Skewness.* Where outcomes are rare or a column is skewed, few rows decide. The cumulants
  :math:`\kappa_3 = \sum w (1 - 2p) r^3` and :math:`\kappa_4 = \sum w (1 - 6w) r^4`, the latter
  less :math:`3 (\sum w (1 - 2p) r^2)^2 / \sum w` since a fitted constant holds the number of ones
  fixed, tell how far the tail is off. If by more than a little, it is that of a saddlepoint
  approximation.
- *Leverage.* A model with many coefficients for what the rows say follows them: its p(1−p) are too
  small. Below `LEAST_PER_COEFFICIENT` variances are multiplied by
  :math:`\sum \tilde e^2 / \sum w (1 - h)`, what residuals vary by over what the model
  says that they should.
- *A penalty.* Its p(1−p) are too large where a label is certain. The probabilities are those that
  belong to the effective residuals, :math:`y - \tilde e`, and variances are multiplied likewise.
  Several columns at once have the probabilities of the penalised model itself: then p-values are
  too large where a label is certain, whereas effective residuals of few rows leave some too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, chunks, dense
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import LEAST_PER_COEFFICIENT, information
from isingmlc.inference.covariance import Bernoulli
from isingmlc.inference.pvalues import LOG_10, bernoulli_saddlepoint
from isingmlc.inference.score import NullModel, feature_scores, feature_variances
from isingmlc.inference.tails import chi2_log_sf
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of, feature_blocks

# Up to this many standard deviations chi-square and saddlepoint agree.
SADDLEPOINT_CUTOFF = 2.0
# A chi-square p-value stands if the logarithm of the right one differs from its own by at most
# this much, and this share of it: by 19% at 0.05, 21% at 0.01, 29% at 0.001.
DIFFERENCE = 0.05
SHARE = 0.03
# Squares of zeros and ones differ from their sums by no more than this share.
_BINARY = 1e-7
# Columns as rows take about this much at a time.
_PIECE_BYTES = 2**26
# What the corrected p-values of an edge are called.
CHI2, SADDLEPOINT, SCALED = "chi2", "saddlepoint", "-scaled"


@dataclass(frozen=True)
class ScoreLaw:
    """What the scores of one label's columns are made of under the null."""

    null: NullModel
    probability: FloatArray
    complement: FloatArray
    inflation: float
    has_constant: bool

    def fixes(self, other: int, carriers: BoolArray) -> bool | BoolArray:
        """Return the rows whose number of ones is fixed, for products with another label."""
        if self.null.penalised or 1 + other not in self.null.factor.basis:
            return self.has_constant
        return carriers


def score_laws(fit: NetworkFit, nulls: list[NullModel], together: bool = False) -> list[ScoreLaw]:
    """Return what the scores of all labels are made of."""
    known = information(fit)[:, 1]
    laws = []
    for null in nulls:
        node = fit.nodes[null.label]
        probability, complement = node.probability, node.complement
        effective = null.penalised and not together
        if effective:
            # The like of them that a Newton step towards the maximum without penalty leads to.
            away = np.minimum(np.abs(null.effective), 1.0)
            is_one = fit.stats.patterns[:, null.label]
            probability = np.where(is_one, 1 - away, away)
            complement = np.where(is_one, away, 1 - away)
        inflation = 1.0
        little = known[null.label] < LEAST_PER_COEFFICIENT and not null.penalised
        if effective or little:
            expected = float(null.counts @ (probability * complement * (1 - null.leverage)))
            found = float(null.counts @ null.effective**2)
            inflation = found / expected if expected > 0 and found > 0 else 1.0
        laws.append(ScoreLaw(null, probability, complement, inflation, fit.settings.intercept))
    return laws


@dataclass(frozen=True, eq=False)
class FoundPvalues:
    """Natural logarithms of the p-values of all edges, and where each comes from."""

    log_pvalue: FloatArray
    method: StrArray


@dataclass(frozen=True, eq=False)
class _AllEdges:
    """p-values of all edges, computed when they are first asked for."""

    fit: NetworkFit
    nulls: list[NullModel]
    statistic: FloatArray
    find: Callable[[list[ScoreLaw]], FoundPvalues]
    together: bool

    @cached_property
    def laws(self) -> list[ScoreLaw]:
        return score_laws(self.fit, self.nulls, self.together)

    @cached_property
    def found(self) -> FoundPvalues:
        return self.find(self.laws)


class LawPvalues:
    """p-values from the distribution of scores, computed when they are first asked for."""

    feature = None

    def __init__(
        self,
        fit: NetworkFit,
        nulls: list[NullModel],
        statistic: FloatArray,
        find: Callable[[list[ScoreLaw]], FoundPvalues],
        together: bool = False,
    ) -> None:
        self._all = _AllEdges(fit, nulls, statistic, find, together)
        self._at: Any = slice(None)

    def take(self, positions: IntArray) -> LawPvalues:
        """Return those of some features."""
        taken = object.__new__(LawPvalues)
        taken._all = self._all
        taken._at = np.arange(len(self._all.statistic))[self._at][positions]
        return taken

    @property
    def edge(self) -> FloatArray:
        """p-values of edges."""
        return np.asarray(np.exp(self._all.found.log_pvalue[self._at]))

    @property
    def log10(self) -> FloatArray:
        """Their logarithms to base ten."""
        return np.asarray(self._all.found.log_pvalue[self._at] / LOG_10)

    @property
    def method(self) -> StrArray:
        """Where the p-value of each edge comes from; empty where there is none."""
        names = self._all.found.method.copy()
        for law in self._all.laws:
            if law.inflation != 1.0:
                names[:, law.null.label] += SCALED
        names[np.isnan(self._all.statistic)] = ""
        return np.asarray(names[self._at])

    @property
    def note(self) -> str:
        """Which labels have variances that are scaled."""
        names = self._all.fit.stats.label_names
        corrected = [names[law.null.label] for law in self._all.laws if law.inflation != 1.0]
        if not corrected:
            return ""
        return (
            f"variances for label(s) {exc.shorten(corrected)} are scaled to what the residuals of "
            "their models vary by"
        )


def edge_pvalues(
    fit: NetworkFit, nulls: list[NullModel], statistic: FloatArray, *, always: bool
) -> LawPvalues:
    """Return p-values of single columns from the distributions of their scores."""
    find = partial(find_pvalues, fit, statistic=statistic, always=always)
    return LawPvalues(fit, nulls, statistic, find)


def find_pvalues(
    fit: NetworkFit, laws: list[ScoreLaw], statistic: FloatArray, always: bool
) -> FoundPvalues:
    """Compute the p-values of all edges; `edge_pvalues` explains the arguments."""
    stats = fit.stats
    square = _standardised(fit, laws, statistic)
    log_pvalue = np.asarray(chi2_log_sf(square, 1.0))
    replaced = np.zeros(statistic.shape, dtype=np.bool_)
    source = RowValues(fit, stats)
    for part, block in feature_blocks(stats):
        for law in laws:
            label = law.null.label
            suspects = np.flatnonzero(square[part, label] > SADDLEPOINT_CUTOFF**2)
            for cut in source.chunks(law, len(suspects)):
                inside = suspects[cut]
                whole = part.start + inside
                null = law.null
                explained = null.fit_to(null.lean(dense(block.sums[:, inside])))
                for values in source.of(law, block, inside, whole):
                    at = whole[values.which], label
                    rest = values.values - explained[:, values.which][values.at]
                    piece = Rest.of(law, rest, values, law.has_constant)
                    size = np.sqrt(square[at])
                    given, chosen = column_tails(piece, size, log_pvalue[at], always)
                    log_pvalue[at] = np.where(chosen, given, log_pvalue[at])
                    replaced[at] = chosen
    alike = first_alike(statistic)
    return FoundPvalues(log_pvalue[alike], name_methods(replaced[alike], SADDLEPOINT))


def name_methods(corrected: BoolArray, name: str) -> StrArray:
    """Name where p-values come from: those that are corrected, and chi-square."""
    return np.where(corrected, name, CHI2).astype(object)


def _standardised(fit: NetworkFit, laws: list[ScoreLaw], statistic: FloatArray) -> FloatArray:
    """Squares of scores over their variances; those of the model, corrected for leverage."""
    square = statistic.copy()
    if any(law.null.penalised for law in laws):
        spread = feature_variances(fit.stats, fit.settings.intercept)
        own = feature_scores(
            fit.stats, [law.null.with_covariance(Bernoulli()) for law in laws], spread
        ).statistic()[:, first_alike(statistic)]
        for law, values in zip(laws, own, strict=True):
            at = ~np.isnan(values) & ~np.isnan(statistic[:, law.null.label])
            square[at, law.null.label] = values[at]
    for law in laws:
        square[:, law.null.label] /= law.inflation
    return square


def column_tails(
    piece: Rest, size: FloatArray, log_pvalue: FloatArray, always: bool
) -> tuple[FloatArray, BoolArray]:
    """Return log p-values by saddlepoint approximation, and for which columns they are chosen."""
    variance, difference = _how_far_off(piece, size)
    chosen = variance > 0
    if not always:
        chosen &= difference > DIFFERENCE - SHARE * log_pvalue
    given = log_pvalue.copy()
    at = np.flatnonzero(chosen)
    if len(at):
        probability, complement, weights = (
            each if each.ndim == 1 else each[:, at]
            for each in (piece.probability, piece.complement, piece.weights)
        )
        _, log10p = bernoulli_saddlepoint(
            size[at] * np.sqrt(variance[at] * piece.inflation),
            piece.rest[:, at],
            probability,
            weights * piece.inflation,
            cutoff=SADDLEPOINT_CUTOFF * (1 - 1e-6),
            complement=complement,
            fixed_total=piece.fixed,
        )
        given[at] = log10p * LOG_10
    return given, chosen & np.isfinite(given)


def _how_far_off(piece: Rest, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute variances, and how far the logarithms of tails are from normal ones."""
    rest = piece.rest
    weight = piece.probability * piece.complement
    kinds = weight, weight * (piece.complement - piece.probability), weight * (1 - 6 * weight)

    def add(kind: int, values: FloatArray) -> FloatArray:
        factors = kinds[kind], piece.weights
        if all(each.ndim == 1 for each in factors):
            return np.asarray((factors[0] * factors[1]) @ values)
        first, second = (each if each.ndim == 2 else each[:, None] for each in factors)
        return np.asarray(np.einsum("ij,ij->j", first * second, values))

    squares = rest**2
    variance = add(0, squares)
    usable = np.where(variance > 0, variance, np.nan)
    third = add(1, squares * rest) / usable**1.5
    fourth = add(2, squares**2) / usable**2
    if piece.fixed is not False:
        held = np.broadcast_to(np.asarray(piece.fixed, float), len(rest))[:, None]
        total = add(0, np.broadcast_to(held, rest.shape))
        lost = 3 * (add(1, held * squares) / usable) ** 2
        fourth -= np.divide(lost, total, out=np.zeros_like(total), where=total > 0)
    third, fourth = third / np.sqrt(piece.inflation), fourth / piece.inflation
    moved = np.abs(third) * size**3 / 6
    # log cosh without overflow: both tails count.
    difference = moved + np.log1p(np.exp(-2 * moved)) - np.log(2)
    difference += (np.abs(fourth) + 3 * third**2) * size**4 / 24
    return variance, np.nan_to_num(difference)


@dataclass(frozen=True)
class Rest:
    """What null models leave of columns, and how the outcomes of the rows are distributed."""

    rest: FloatArray
    probability: FloatArray
    complement: FloatArray
    weights: FloatArray
    inflation: float
    fixed: bool | BoolArray

    @classmethod
    def of(cls, law: ScoreLaw, rest: FloatArray, values: Columns, fixed: bool | BoolArray) -> Rest:
        """Take how outcomes are distributed from a law."""
        weights = values.weights
        if law.null.drawn is not None:
            # A sampling weight makes a row count for more, not for more rows. Of weighted rows the
            # fit does not hold the number of ones.
            drawn = law.null.drawn[values.cells]
            rest, fixed = rest * drawn[:, None], False
            weights = weights / (drawn if weights.ndim == 1 else drawn[:, None])
        return cls(
            rest,
            law.probability[values.cells],
            law.complement[values.cells],
            weights,
            law.inflation,
            fixed,
        )


@dataclass(frozen=True)
class Columns:
    """Features as rows, or as cells that stand for them."""

    which: IntArray
    values: FloatArray
    at: IntArray
    cells: IntArray
    weights: FloatArray


class RowValues:
    """Gives the columns of features as rows."""

    def __init__(self, fit: NetworkFit, stats: LabelsetStatistics) -> None:
        self._stats = stats
        self._data = None if fit.rows is None else fit.rows_for("p-values of rare labels")
        self._features: Any = None
        self._codes: IntArray | None = None
        self._in_play: dict[int, tuple[IntArray, IntArray]] = {}
        if self._data is not None:
            features = self._data.features
            self._features = sparse.csc_array(features) if sparse.issparse(features) else features
            self._codes = cells_of(fit.stats, self._data)

    def chunks(self, law: ScoreLaw, count: int, n_columns: int = 1) -> Iterator[slice]:
        """Cut features so that they fit into memory as rows, with some columns of each."""
        n_rows = 2 * len(law.null.rows)
        if self._codes is not None:
            n_rows = max(n_rows, len(self._codes))
        return chunks(count, 64 * n_rows * n_columns, limit=_PIECE_BYTES)

    def _rows_of(self, null: NullModel) -> tuple[IntArray, IntArray]:
        """Rows at which a label is not certain, and their cells among those in play."""
        assert self._codes is not None
        if null.label not in self._in_play:
            place = np.full(len(null.counts), -1)
            place[null.rows] = np.arange(len(null.rows))
            at = place[self._codes]
            rows = np.flatnonzero(at >= 0)
            self._in_play[null.label] = rows, at[rows]
        return self._in_play[null.label]

    def of(
        self, law: ScoreLaw, block: LabelsetStatistics, inside: IntArray, whole: IntArray
    ) -> Iterator[Columns]:
        """Return features of a block, in a form that suits them."""
        null = law.null
        if self._codes is not None and 2 * len(null.rows) >= len(self._rows_of(null)[0]):
            # Ones and zeros of each cell would be no fewer than rows.
            yield self.rows_of(law, whole)
            return
        sums = dense(block.sums[:, inside])[null.rows]
        squares = dense(block.squares[:, inside])[null.rows]
        shift = self._stats.shift[whole]
        counts = null.counts[null.rows]
        ones = sums + counts[:, None] * shift
        binary = _are_binary(ones, squares, counts, shift)
        twice = np.tile(np.arange(len(null.rows)), 2)
        for chosen in (binary, ~binary):
            which = np.flatnonzero(chosen)
            if not len(which):
                continue
            if chosen is not binary and self._codes is not None:
                yield replace(self.rows_of(law, whole[which]), which=which)
                continue
            own = shift[which]
            if chosen is binary:
                carried = np.clip(ones[:, which], 0.0, counts[:, None])
                values = np.repeat([1.0 - own, -own], len(counts), axis=0)
                weights = np.concatenate([carried, counts[:, None] - carried])
            else:
                mean = sums[:, which] / counts[:, None]
                spread = squares[:, which] / counts[:, None] - mean**2
                deviation = np.sqrt(np.maximum(spread, 0.0))
                values = np.concatenate([mean + deviation, mean - deviation])
                weights = np.tile(counts / 2, 2)
            yield Columns(which, values, twice, null.rows[twice], weights)

    def rows_of(self, law: ScoreLaw, features: IntArray) -> Columns:
        """Return features as the rows that there are."""
        assert self._data is not None
        rows, at = self._rows_of(law.null)
        # Columns first: of many rows few columns are wanted.
        values = dense(self._features[:, features])[rows] - self._stats.shift[features]
        given = self._data.weights
        weights = np.ones(len(rows)) if given is None else given[rows]
        return Columns(np.arange(len(features)), values, at, law.null.rows[at], weights)


def _are_binary(
    ones: FloatArray, squares: FloatArray, counts: FloatArray, shift: FloatArray
) -> BoolArray:
    """Tell which columns are zeros and ones, from the sums and squares about their shifts."""
    origin = counts[:, None] * shift**2
    expected = ones * (1 - 2 * shift) + origin
    # Measured by the squares themselves: a column of tiny numbers is not one of zeros.
    off = np.abs(squares - expected) > _BINARY * (squares + origin)
    within = (ones >= -_BINARY * counts[:, None]) & (ones <= (1 + _BINARY) * counts[:, None])
    return np.asarray(~off.any(axis=0) & within.all(axis=0))


def first_alike(statistic: FloatArray) -> IntArray:
    """Find for each feature the first with the same statistics."""
    known = np.nan_to_num(statistic, nan=-1.0)
    # Rows that are equal are added up alike.
    order = np.argsort(known.sum(axis=1), kind="stable")
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (known[order[1:]] != known[order[:-1]]).any(axis=1)
    first = np.empty_like(order)
    first[order] = order[np.flatnonzero(starts)][np.cumsum(starts) - 1]
    return first
