r"""Logarithms of tail probabilities: the numerical work behind :mod:`isingmlc.inference.pvalues`.

Tails of :math:`Q = \sum_i \lambda_i \chi^2` are inverted from the moment generating function,

.. math::

    P(Q > q) = \frac{1}{2 \pi i} \int \exp\{K(s) - s q\} \frac{ds}{s}, \quad
    K(s) = -\frac{\nu}{2} \sum_i \log(1 - 2 \lambda_i s) ,

:math:`\nu` the degrees of freedom of each chi-square. The contour crosses the real axis at the
saddlepoint of the whole integrand, between the pole at 0 and the first branch point
:math:`1 / (2 \max \lambda_i)`, and is a hyperbola around all branch points, along which the
integrand falls from its peak steadily to zero. So nothing cancels, and the trapezoidal rule
converges geometrically. Below the mean of Q the contour passes on the other side of the pole and
gives :math:`P(Q < q)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaincc, log_ndtr

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks

LOG_2 = float(np.log(2))
# Below this the incomplete gamma function nears the smallest floating-point number.
SMALLEST_GAMMA = 1e-290
# Sums this many times larger (smaller) than their largest weight: the leading term is all there is.
EXTREME_RATIO = 1e100
# The hyperbola's asymptotes make this angle with the real axis. Above π/4 the integrand falls all
# along them; above π/3 three factors of it together do not turn by more than a full circle.
ANGLE = 0.35 * np.pi
# Nodes of the trapezoidal rule are this far apart; it leaves a relative error of about 2e-13.
NODE_STEP = 0.1
# Terms smaller than this share of their sum change nothing.
NEGLIGIBLE = 1e-16
# Halvings of an interval whose ends have at most the ratio of the number of weights to one. The
# saddlepoint only places the contour, so a few digits of it will do.
BISECTIONS = 14
# Scores this close to the largest possible one, relative to it, differ from it by rounding alone.
# So do scores this close relative to the range of possible scores: a score may be the difference
# of two sums as large as that.
SCORE_ROUNDING = 1e-10
RANGE_ROUNDING = 1e-12
# Entries of a column this small relative to its largest are zeros.
ENTRY_ROUNDING = 1e-12
# Newton and bisection steps toward a saddlepoint (a handful is usual), and when to stop.
MAX_STEPS = 200
STEP_TOLERANCE = 1e-9
# Steps toward a double saddlepoint, and when to stop: Newton's method squares its error; how far a
# logit may move in one step; a tilt beyond which there is none; and when the curvatures are those
# of one direction.
MAX_DOUBLE_STEPS = 20
DOUBLE_TOLERANCE = 1e-6
LONGEST_MOVE = 3.0
FURTHEST_TILT = 50.0
DOUBLE_SINGULAR = 1e-10


def chi2_log_sf(statistic: npt.ArrayLike, df: npt.ArrayLike) -> Any:
    """Return natural logarithms of upper tails of chi-square distributions."""
    starts, degrees = np.broadcast_arrays(
        np.asarray(statistic, dtype=float), np.asarray(df, dtype=float)
    )
    log_sf = np.full(starts.shape, np.nan)
    # A squared normal variable is the usual case, and its tail is by far the fastest to compute.
    normal, other = degrees == 1, (degrees > 0) & (degrees != 1)
    log_sf[normal] = LOG_2 + log_ndtr(-np.sqrt(np.maximum(starts[normal], 0.0)))
    log_sf[other] = _log_gammaincc(np.maximum(starts[other], 0.0), degrees[other])
    return log_sf[()]


def chi2_sum_log_sf(statistic: FloatArray, weights: FloatArray, df: FloatArray) -> FloatArray:
    """Return natural logarithms of upper tails of weighted sums of chi-square variables."""
    largest = weights.max(axis=0)
    with np.errstate(over="ignore"):
        ratio = statistic / largest
    log_sf = np.where(ratio > 1, -ratio / 2, 0.0)
    inside = (ratio > 1 / EXTREME_RATIO) & (ratio < EXTREME_RATIO)
    relative = weights[:, inside] / largest[inside]
    log_sf[inside] = _contour_log_sf(ratio[inside], relative, df[inside])
    return log_sf


@dataclass(frozen=True)
class BernoulliSum:
    r"""Scores :math:`S_j = \sum_i w_{ij} x_{ij} (y_i - p_i)` of independent binary outcomes."""

    columns: Any
    probability: FloatArray
    weights: FloatArray
    total: FloatArray | None = None

    def variance(self) -> FloatArray:
        """Return the variances of all scores."""
        every = np.arange(self.columns.shape[1])
        variance = np.zeros(len(every))
        for rows in chunks(len(self.columns), 16 * len(variance)):
            probability = self._probability(rows, every)
            squares = probability * (1 - probability) * self.columns[rows] ** 2
            variance += _add_rows(self.weights[rows], squares)
        return variance

    def log_tail(self, target: FloatArray, which: IntArray, sign: float) -> FloatArray:
        """Return natural logarithms of the probabilities that scores are large."""
        largest, smallest, log_tail = self._extreme(which, sign)
        rounding = SCORE_ROUNDING * largest + RANGE_ROUNDING * (largest - smallest)
        log_tail[target > largest + rounding] = -np.inf
        inside = np.flatnonzero(target < largest - rounding)
        if self.total is not None:
            given, found = self._log_tail_given_total(target[inside], which[inside], sign)
            log_tail[inside[found]] = given[found]
            inside = inside[~found]
        target, which = target[inside], which[inside]
        tilt, curvature = self._saddlepoint(target, which, sign)
        root = np.sqrt(2 * self._divergence(tilt, which, sign))
        # Near the largest score the curvature may vanish; the bounds hold all the same.
        with np.errstate(divide="ignore"):
            correction = np.log(tilt * np.sqrt(curvature) / root) / root
        approximation = log_ndtr(-root - correction)
        log_tail[inside] = np.clip(approximation, log_tail[inside], -(root**2) / 2)
        return log_tail

    def _log_tail_given_total(
        self, target: FloatArray, which: IntArray, sign: float
    ) -> tuple[FloatArray, BoolArray]:
        """Log tails given the total by a double saddlepoint, and where there is one."""
        tilt, offset, curvature, found = self._double_saddlepoint(target, which, sign)
        log_tail = np.full(len(target), np.nan)
        at = np.flatnonzero(found)
        divergence = self._divergence(tilt[at], which[at], sign, offset[at])
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(2 * divergence)
            correction = np.log(tilt[at] * np.sqrt(curvature[at]) / root) / root
            log_tail[at] = log_ndtr(-root - correction)
        return log_tail, found & np.isfinite(log_tail)

    def _blocks(self, which: IntArray, sign: float) -> Iterable[tuple[slice, FloatArray]]:
        """Chosen columns times `sign`, so few rows at a time that temporaries stay in the cache."""
        for rows in chunks(len(self.columns), 128 * len(which)):
            yield rows, sign * self.columns[rows][:, which]

    def _weights(self, rows: slice, which: IntArray) -> FloatArray:
        """Weights of some rows, in chosen columns where these differ."""
        weights = self.weights[rows]
        return weights if weights.ndim == 1 else weights[:, which]

    def _probability(self, rows: slice, which: IntArray) -> FloatArray:
        """Probabilities of some rows, rows × 1, or in chosen columns where these differ."""
        return _pick(self.probability, rows, which)

    def _extreme(self, which: IntArray, sign: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Largest and smallest possible scores, and log probabilities of the largest."""
        largest, smallest, log_probability = np.zeros((3, len(which)))
        for rows, x in self._blocks(which, sign):
            weights, probability = self._weights(rows, which), self._probability(rows, which)
            # Terms of one sign alone, so that no digits cancel in either sum.
            rising, falling = np.maximum(x, 0.0), np.minimum(x, 0.0)
            one, zero = 1 - probability, -probability
            largest += _add_rows(weights, one * rising + zero * falling)
            smallest += _add_rows(weights, one * falling + zero * rising)
            certain = np.log(probability) * (x > ENTRY_ROUNDING)
            certain += np.log1p(-probability) * (x < -ENTRY_ROUNDING)
            log_probability += _add_rows(weights, certain)
        return largest, smallest, log_probability

    def _logit(self, rows: slice, which: IntArray) -> FloatArray:
        probability = self._probability(rows, which)
        return np.asarray(np.log(probability) - np.log1p(-probability))

    def _tilted(
        self, tilt: FloatArray, which: IntArray, sign: float, offset: FloatArray | None = None
    ) -> Iterable[tuple[slice, FloatArray, FloatArray, BoolArray, FloatArray]]:
        """Yield columns, moves, whether tilted outcomes are likelier 1, and odds of the other."""
        for rows, x in self._blocks(which, sign):
            moves = tilt * x
            if offset is not None:
                moves += offset * self._direction(rows, which)
            tilted_logit = self._logit(rows, which) + moves
            yield rows, x, moves, tilted_logit > 0, np.exp(-np.abs(tilted_logit))

    def _direction(self, rows: slice, which: IntArray) -> FloatArray:
        assert self.total is not None
        return _pick(self.total, rows, which)

    def _divergence(
        self, tilt: FloatArray, which: IntArray, sign: float, offset: FloatArray | None = None
    ) -> FloatArray:
        """Relative entropies of the tilted outcomes, which are ts − K(t) where K'(t) = s."""
        value = np.zeros(len(which))
        for rows, _, moves, likely, odds in self._tilted(tilt, which, sign, offset):
            logit = self._logit(rows, which)
            # −log p and −log(1 − p), in the same steps as below: where x is zero, exactly zero is
            # left.
            rest = np.log1p(np.exp(-np.abs(logit)))
            if_one, if_zero = rest + np.maximum(-logit, 0.0), rest + np.maximum(logit, 0.0)
            shift = moves * odds / (1 + odds)
            surprise = np.where(likely, if_one - shift, if_zero + shift)
            value += _add_rows(self._weights(rows, which), surprise - np.log1p(odds))
        return value

    def _derivatives(
        self, tilt: FloatArray, which: IntArray, sign: float
    ) -> tuple[FloatArray, FloatArray]:
        """First two derivatives of the cumulant generating functions at `tilt`."""
        slope, curvature = np.zeros((2, len(which)))
        for rows, x, _, likely, odds in self._tilted(tilt, which, sign):
            weights = self._weights(rows, which)
            unlikelier = odds / (1 + odds)
            moved = self._moved(rows, which, likely, unlikelier)
            slope += _add_rows(weights, x * moved)
            curvature += _add_rows(weights, x**2 * unlikelier / (1 + odds))
        return slope, curvature

    def _moved(
        self, rows: slice, which: IntArray, likely: BoolArray, unlikelier: FloatArray
    ) -> FloatArray:
        """How far tilted probabilities are from those of the null."""
        probability = self._probability(rows, which)
        return np.where(likely, (1 - probability) - unlikelier, unlikelier - probability)

    def _double_saddlepoint(
        self, target: FloatArray, which: IntArray, sign: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        """Tilts and offsets where slopes are `target` and totals as expected."""
        tilt, offset, curvature = np.zeros((3, len(which)))
        found = np.zeros(len(which), dtype=np.bool_)
        active = np.arange(len(which))
        own = np.zeros(len(which))
        for rows, _ in self._blocks(which, sign):
            probability, direction = self._probability(rows, which), self._direction(rows, which)
            spread = probability * (1 - probability) * direction**2
            spread = np.broadcast_to(spread, (len(spread), len(which)))
            own += _add_rows(self._weights(rows, which), spread)
        for _ in range(MAX_DOUBLE_STEPS):
            columns = which[active]
            slope, total, along, across, crossed = np.zeros((5, len(active)))
            tilted = self._tilted(tilt[active], columns, sign, offset[active])
            for rows, x, _, likely, odds in tilted:
                weights = self._weights(rows, columns)
                direction = self._direction(rows, columns)
                unlikelier = odds / (1 + odds)
                moved = self._moved(rows, columns, likely, unlikelier)
                spread = unlikelier / (1 + odds)
                slope += _add_rows(weights, x * moved)
                total += _add_rows(weights, direction * moved)
                along += _add_rows(weights, x**2 * spread)
                spread *= direction
                crossed += _add_rows(weights, x * spread)
                across += _add_rows(weights, direction * spread)
            determinant = along * across - crossed**2
            curvature[active] = determinant / own[active]
            missing, surplus = target[active] - slope, -total
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = (across * missing - crossed * surplus) / determinant
                shift = (along * surplus - crossed * missing) / determinant
            usable = np.isfinite(step) & np.isfinite(shift)
            usable &= determinant > DOUBLE_SINGULAR * along * across
            active, step, shift = active[usable], step[usable], shift[usable]
            furthest = np.abs(step) + np.abs(shift)
            share = np.minimum(1.0, LONGEST_MOVE / np.maximum(furthest, 1e-300))
            tilt[active] += share * step
            offset[active] += share * shift
            done = furthest <= DOUBLE_TOLERANCE * (1.0 + np.abs(tilt[active]))
            found[active[done]] = tilt[active[done]] > 0
            active = active[~done & (np.abs(tilt[active]) < FURTHEST_TILT)]
            if not len(active):
                break
        return tilt, offset, curvature, found

    def _saddlepoint(
        self, target: FloatArray, which: IntArray, sign: float
    ) -> tuple[FloatArray, FloatArray]:
        """Where slopes are `target`, and curvatures there, by Newton's method within brackets."""
        tilt, low, high = np.zeros(len(which)), np.zeros(len(which)), np.full(len(which), np.inf)
        curvature = np.zeros(len(which))
        active = np.arange(len(which))
        for _ in range(MAX_STEPS):
            here = tilt[active]
            slope, curvature[active] = self._derivatives(here, which[active], sign)
            missing = target[active] - slope
            low[active] = np.where(missing > 0, here, low[active])
            high[active] = np.where(missing > 0, high[active], here)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                newton = here + missing / curvature[active]
            # As long as there is no upper end, the next place is at most four times as far.
            limit = np.minimum(high[active], np.maximum(4 * here, 1.0))
            fallback = np.where(limit < high[active], limit, (low[active] + limit) / 2)
            allowed = (newton >= low[active]) & (newton <= limit)
            tilt[active] = np.where(allowed, newton, fallback)
            active = active[np.abs(tilt[active] - here) > STEP_TOLERANCE * here]
            if not len(active):
                break
        return tilt, curvature


def _pick(values: FloatArray, rows: slice, which: IntArray) -> FloatArray:
    """Take some rows of what is the same in all columns, or of some columns if it is not."""
    return values[rows, None] if values.ndim == 1 else values[rows][:, which]


def _add_rows(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Add up rows times their weights, which are the same in all columns or not."""
    if weights.ndim == 1:
        return np.asarray(weights @ values)
    return np.asarray(np.einsum("ij,ij->j", weights, values))


def _log_complement(probability: FloatArray) -> FloatArray:
    """Return log(1 − probability), which is 0 and not −0 where the probability is 0."""
    return np.asarray(np.log1p(0.0 - probability))


def _log_gammaincc(statistic: FloatArray, df: FloatArray) -> FloatArray:
    """Logarithm of the chi-square tail, by the incomplete gamma function as far as it goes."""
    upper = gammaincc(df / 2, statistic / 2)
    with np.errstate(divide="ignore"):
        log_lower = _log_complement(gammainc(df / 2, statistic / 2))
        log_sf = np.asarray(np.where(upper > 0.5, log_lower, np.log(upper)))
    far = upper < SMALLEST_GAMMA
    ones = np.ones((1, np.count_nonzero(far)))
    log_sf[far] = chi2_sum_log_sf(statistic[far], ones, df[far])
    return log_sf


def _contour_log_sf(ratio: FloatArray, weights: FloatArray, df: FloatArray) -> FloatArray:
    """Log tails by the trapezoidal rule on hyperbolas; the largest weight of each sum is 1."""
    is_upper = ratio > df * weights.sum(axis=0)
    distance, crossing = _crossing(ratio, weights, df, is_upper)
    base = 1 - weights + weights * distance
    tilted = weights / base
    width = 1 / np.sqrt(2 * df * (tilted**2).sum(axis=0) + 1 / crossing**2)
    log_peak = -df * np.log(base).sum(axis=0) / 2 - crossing * ratio - np.log(np.abs(crossing))
    # Rows of zeros make the number of factors a multiple of three.
    slopes = np.zeros((len(weights) + -len(weights) % 3, len(ratio)))
    slopes[: len(weights)] = 2 * width * tilted
    total = np.full(len(ratio), np.sin(ANGLE) / 2)
    for node in count(1):
        place = node * NODE_STEP + 1j * ANGLE
        shift = np.cosh(place) - np.cos(ANGLE)
        exponent = -df * _log_product(1 - slopes * shift) / 2 - ratio * width * shift
        term = np.exp(exponent) * np.sinh(place) / (1 + width / crossing * shift)
        total += term.imag
        if (np.abs(term) <= NEGLIGIBLE * total).all():
            break
    log_tail = log_peak + np.log(total * width * NODE_STEP / np.pi)
    return np.asarray(np.where(is_upper, log_tail, _log_complement(np.exp(log_tail))))


def _crossing(
    ratio: FloatArray, weights: FloatArray, df: FloatArray, is_upper: Any
) -> tuple[FloatArray, FloatArray]:
    """Return where contours cross the real axis, relative to the first branch point."""

    def solve_quadratic(total_df: FloatArray) -> FloatArray:
        root = np.hypot(ratio - total_df + 2, np.sqrt(8 * total_df))
        return np.where(
            is_upper,
            2 * total_df / (ratio + total_df + 2 + root),
            (2 + total_df - ratio + root) / (2 * ratio),
        )

    # Above the mean t itself is bisected, below it t − 1, so that neither loses digits.
    low, high = solve_quadratic(df), solve_quadratic(df * len(weights))
    offset = np.where(is_upper, 0.0, 1.0)
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        mean = df * (weights / (1 - weights + weights * (middle + offset))).sum(axis=0)
        too_near = mean + 2 / (middle + offset - 1) > ratio
        low, high = np.where(too_near, middle, low), np.where(too_near, high, middle)
    middle = np.sqrt(low * high)
    return middle + offset, (1 - offset - middle) / 2


def _log_product(factors: Any) -> Any:
    """Add up the logarithms of `factors` down the columns, on the principal branch."""
    products = factors[0::3] * factors[1::3] * factors[2::3]
    argument = np.angle(products)
    argument -= 2 * np.pi * (argument > 0)
    log_modulus = np.log(products.real**2 + products.imag**2) / 2
    return log_modulus.sum(axis=0) + 1j * argument.sum(axis=0)
