r"""Tails of many scores at once, each a sum of independent binary outcomes, by its cumulants.

A score :math:`S = \sum_i u_i r_i (y_i - p_i)` with variance one has the skewness and excess
kurtosis

.. math::

    \gamma_1 = \sum u w (1 - 2p) r^3, \quad
    \gamma_2 = \sum u w (1 - 6w) r^4 - 3 \frac{(\sum u w (1 - 2p) r^2 d)^2}{\sum u w d^2},
    \quad w = p (1 - p) ,

the last term since the fit holds the total :math:`T = \sum u d (y - p)` at zero. Where they are
too large for the normal distribution the tail given the total comes from a double saddlepoint [1]_:
with :math:`f = \max_{t, a} tz - K(t, a)`, K the joint cumulant generating function of S and T,
:math:`\omega = \sqrt{2f}` and :math:`\nu = t \sqrt{\det K'' / \operatorname{var} T}`, the tail is
:math:`\Phi(-\omega - \log(\nu / \omega) / \omega)`, and no larger than :math:`e^{-f}`.

References
----------
.. [1] Skovgaard, I. M. (1987). Saddlepoint expansions for conditional distributions. *Journal of
   Applied Probability* 24, 875–887.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray

# A chi-square p-value stands if it is off by no more than this share of itself.
CHI2_HOLDS = 0.1
# Squared Newton decrement at a saddlepoint: its tail is then known to five digits.
_CONVERGED = 1e-10
# A step that gains less than this is the last one.
_STALLED = 1e-7
# Relative loss that rounding causes where an exponent no longer rises.
_ROUNDING = 1e-12
# More steps are needed only towards scores that are impossible.
_MAX_STEPS = 60
# Logits of outcomes move by no more than twice this: its exponential is as good as infinite.
_FURTHEST = 150.0
# Below this the formula of the tail divides by zero; it happens where a single outcome of a chance
# below 1e-5 has nearly all of the variance.
_LEAST_ROOT = 0.3
# A tail smaller than the other one by this on a logarithmic scale adds nothing to it.
_NEGLIGIBLE = 6.0


@dataclass(frozen=True)
class Scores:
    """Scores with variance one as sums of outcomes, those of one score after those of another.

    Shapes: count (m,); outcomes (4, N): r, p (at most ½), u and the d of the total that is held,
    zero where none is. To each score a normal variable is added, with the variance `normal` (m,).
    """

    count: IntArray
    outcomes: FloatArray
    normal: FloatArray

    @classmethod
    def of_rows(
        cls,
        residual: FloatArray,
        probability: FloatArray,
        complement: FloatArray,
        weight: FloatArray,
        fixed: FloatArray,
    ) -> Scores:
        """Make m scores of the same n rows; residual and fixed are (m, n)."""
        # The rarer outcome of each row is the one that counts: its probability has all its digits.
        sign = np.where(probability > complement, -1.0, 1.0)
        rarer = np.minimum(probability, complement)
        outcomes = np.broadcast_arrays(sign * residual, rarer, weight, sign * fixed)
        m, n = residual.shape
        return cls(np.full(m, n), np.reshape(outcomes, (4, -1)), np.zeros(m))

    @cached_property
    def start(self) -> IntArray:
        """Where the outcomes of each score begin."""
        return np.cumsum(self.count) - self.count

    def add(self, values: FloatArray) -> FloatArray:
        """Add up the values of the outcomes of each score."""
        return np.asarray(np.add.reduceat(values, self.start))

    def spread(self, values: FloatArray) -> FloatArray:
        """Repeat the value of each score for its outcomes."""
        return np.repeat(values, self.count)

    def take(self, at: BoolArray) -> Scores:
        """Return some of the scores."""
        listed = np.flatnonzero(np.repeat(at, self.count))
        return Scores(self.count[at], self.outcomes.take(listed, axis=1), self.normal[at])

    def standardized(self) -> tuple[Scores, FloatArray]:
        """Return the scores over their standard deviations, and their variances."""
        residual, p, weight, _ = self.outcomes
        variance = self.add(weight * p * (1 - p) * residual**2) + self.normal
        unit = np.sqrt(np.where(variance > 0, variance, 1.0))
        return self.scaled(1 / unit, 1.0), variance

    def scaled(self, residuals: FloatArray | float, weights: FloatArray | float) -> Scores:
        """Multiply the residuals and weights of the outcomes of each score."""
        outcomes = self.outcomes.copy()
        for line, factor in ((0, residuals), (2, weights)):
            outcomes[line] *= factor if isinstance(factor, float) else self.spread(factor)
        return Scores(self.count, outcomes, self.normal * residuals**2 * weights)

    @cached_property
    def total_variance(self) -> FloatArray:
        """Variances of the totals; one where none is held."""
        _, p, weight, fixed = self.outcomes
        found = self.add(weight * p * (1 - p) * fixed**2)
        return np.where(found > 0, found, 1.0)

    def cumulants(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return skewness, excess kurtosis and the third cumulant of S, S and T."""
        residual, p, weight, fixed = self.outcomes
        squares, variance = residual**2, p * (1 - p)
        part = weight * variance * squares
        fourth = self.add(part * squares * (1 - 6 * variance))
        part *= 1 - 2 * p
        mixed = self.add(part * fixed)
        kurtosis = fourth - 3 * mixed**2 / self.total_variance
        return self.add(part * residual), kurtosis, mixed

    def first_tilt(self, size: FloatArray) -> FloatArray:
        """Return the saddlepoints of distributions with these third cumulants and no further."""
        skewness, _, mixed = self.cumulants()
        tilt = 2 * size / (1 + np.sqrt(np.maximum(1 + 2 * skewness * size, 0.0)))
        return np.stack([tilt, -mixed * tilt**2 / (2 * self.total_variance)])

    def reach(self) -> FloatArray:
        """Return how far tilts may go, of scores and of totals."""
        largest = np.maximum.reduceat(np.abs(self.outcomes[0]), self.start)
        size = np.maximum(largest, np.finfo(float).tiny)
        return np.stack([_FURTHEST / size, np.full(len(size), _FURTHEST)])


def error_of_normal(size: FloatArray, skewness: FloatArray, kurtosis: FloatArray) -> FloatArray:
    """Return how far logarithms of two-sided normal tails are off, by the first two corrections."""
    moved = np.abs(skewness) * size**3 / 6
    # log cosh without overflow: one tail gains what the other loses.
    both = moved + np.log1p(np.exp(-2 * moved)) - np.log(2)
    return np.asarray(both + (np.abs(kurtosis) + 3 * skewness**2) * size**4 / 24)


def two_sided(scores: Scores, size: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return log P(|S| ≥ size) of standardized scores by double saddlepoints."""
    # The tail that is likely to be heavier comes first; the other one mostly adds nothing.
    scores = scores.scaled(np.where(skewness < 0, -1.0, 1.0), 1.0)
    heavier = upper_tails(scores, size)
    lighter = upper_tails(scores.scaled(-1.0, 1.0), size, _NEGLIGIBLE - heavier)
    return np.minimum(np.logaddexp(heavier, lighter), 0.0)


def upper_tails(scores: Scores, size: FloatArray, enough: FloatArray | None = None) -> FloatArray:
    """Return log P(S ≥ size), roughly where it is below −enough."""
    limit = np.full(len(size), np.inf) if enough is None else enough
    exponent, determinant, tilt = np.zeros((3, len(size)))
    variance, reach = scores.total_variance, scores.reach()
    at, move = np.zeros((2, len(size))), np.clip(scores.first_tilt(size), -reach, reach)
    best, finished = np.zeros(len(size)), np.zeros(len(size), dtype=np.bool_)
    active, some = np.arange(len(size)), scores
    for _ in range(_MAX_STEPS):
        here = at + move
        generated, slope, along, across, crossed = _derivatives(some, here)
        value = here[0] * size - generated
        product = along * across - crossed**2
        missing, surplus = size - slope[0], -slope[1]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first = (across * missing - crossed * surplus) / product
            newton = np.stack([first, (along * surplus - crossed * missing) / product])
            decrement = newton[0] * missing + newton[1] * surplus
            newton *= np.minimum(1.0, (1 + np.abs(here[0])) / np.abs(first))
        newton = np.clip(here + newton, -reach, reach) - here
        # The exponent is concave: a step after which it is lower was too long.
        falls = ~(value >= best - _ROUNDING * (1 + np.abs(best)))
        # Towards the largest possible score the tilt goes on, but the exponent stays.
        close = (decrement < _CONVERGED) | (value - best < _STALLED) | (value > limit)
        done = ~falls & ~finished & (close | ~np.isfinite(newton).all(axis=0))
        at, best = np.where(falls, at, here), np.where(falls, best, value)
        exponent[active], tilt[active] = best, at[0]
        determinant[active[done]] = product[done]
        finished |= done
        if finished.all():
            break
        move = np.where(finished, 0.0, np.where(falls, move / 2, newton))
        if 4 * some.count[finished].sum() > some.count.sum():
            rest = np.flatnonzero(~finished)
            some, active, finished = some.take(~finished), active[rest], finished[rest]
            size, limit, best, at, move, reach = (
                each[..., rest] for each in (size, limit, best, at, move, reach)
            )
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(2 * np.maximum(exponent, 0.0))
        ratio = tilt * np.sqrt(np.maximum(determinant, 0.0) / variance) / root
        tail = log_ndtr(-(root + np.log(ratio) / root))
    # Chernoff's bound; where the largest possible score was reached the curvature is zero.
    return np.asarray(np.fmin(np.where(root < _LEAST_ROOT, np.nan, tail), -(root**2) / 2))


def _derivatives(scores: Scores, at: FloatArray) -> tuple[FloatArray, ...]:
    """Return the cumulant generating functions of scores and totals, and first two derivatives.

    Shapes: at, first derivatives (2, m).
    """
    residual, p, weight, fixed = scores.outcomes
    moves = scores.spread(at[0]) * residual + scores.spread(at[1]) * fixed
    odds = np.exp(moves)
    mean = 1 + p * (odds - 1)
    generated = scores.add(weight * (np.log(mean) - p * moves))
    spread = weight * p * (1 - p) / mean
    moved = spread * (odds - 1)
    spread *= odds / mean
    generated += scores.normal * at[0] ** 2 / 2
    slope = np.stack(
        [scores.add(moved * residual) + scores.normal * at[0], scores.add(moved * fixed)]
    )
    weighted = spread * residual
    along = scores.add(weighted * residual) + scores.normal
    # Without a total that is held its tilt stays zero.
    across = scores.add(spread * fixed**2) if fixed.any() else np.ones_like(along)
    return generated, slope, along, across, scores.add(weighted * fixed)
