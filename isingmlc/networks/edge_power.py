r"""Power of score tests of feature–label edges, from what the null model of a label says.

Under an effect :math:`\gamma` of a feature on a label the score :math:`\sum_i (y_i - p_i) r_i`, r
what the other labels leave of the feature, is a sum of independent terms with mean :math:`\mu` and
variance :math:`\sigma^2` each; the test divides it by the root of n times its variance without an
effect, :math:`V_0`, the information :math:`D - B'A^{-1}B` per row. So with :math:`z_a` the quantile
of the level the power on n rows is

.. math:: \Phi\{(\sqrt n \mu - z_a \sqrt{V_0}) / \sigma\}

and the rows that a power with quantile :math:`z_b` needs are
:math:`n = \{(z_a \sqrt{V_0} + z_b \sigma) / \mu\}^2`. For small effects
:math:`\mu = \gamma V_0` and :math:`\sigma^2 = V_0`, which gives the textbook's
:math:`(z_a + z_b)^2 / (\gamma^2 V_0)`. For others both are sums over the linear predictors that
the null model has and over the values of the feature, two of a binary one and a few for others:
those of a pilot's rows, or the nodes of a quadrature of a normal or, where only a skewness is
known, of a shifted gamma distribution. The threshold moves so that the label stays as frequent as
it is. The variance that the test divides by is estimated, too, and where there is an effect it
goes with the score: a sample with more rows of a rare label has more of both. So
:math:`\sigma^2` is the variance of the score less half of :math:`\mu / V_0` times what a row adds
to that estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtr, ndtri, roots_genlaguerre

from isingmlc.base.arrays import BoolArray, FloatArray, chunks

# So many values stand for the linear predictors of a label, and for a normal feature.
_PREDICTORS = 24
NODES = 24
# Shares of the rows at which the values of a feature are cut; the few in the tails say most.
_LOWER_CUTS = (2e-4, 1e-3, 3e-3, 7e-3, 0.015, 0.03, 0.06, 0.1, 0.17, 0.25, 0.35, 0.45)
_CUTS = np.array([*_LOWER_CUTS, *(1 - cut for cut in _LOWER_CUTS[:0:-1])])
# Features that are skewed less than this count as normal.
_SYMMETRIC = 0.1
# No feature counts as more skewed than this.
STEEPEST = 10.0
# Newton steps for a threshold, and halvings for an effect: beyond these nothing changes.
_THRESHOLD_STEPS = 8
_HALVINGS = 30
# The largest effect that is looked at, a log odds ratio.
_LARGEST = 6.0


@dataclass(frozen=True, eq=False)
class EdgeDesigns:
    """What the power of edges depends on, one line per edge."""

    predictor: FloatArray
    share: FloatArray
    left: FloatArray
    prevalence: FloatArray
    skewness: FloatArray
    values: FloatArray | None = None
    chances: FloatArray | None = None

    @cached_property
    def _feature(self) -> tuple[FloatArray, FloatArray]:
        """Values of what is left of the feature, and their probabilities, edges × nodes."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        values = np.tile(nodes, (len(self.left), 1))
        chances = np.tile(weights / weights.sum(), (len(self.left), 1))
        skewed = np.isnan(self.prevalence) & (np.abs(self.skewness) >= _SYMMETRIC)
        for skewness in np.unique(self.skewness[skewed]):
            shape = 4 / skewness**2
            nodes, weights = roots_genlaguerre(NODES, shape - 1)
            same = skewed & (self.skewness == skewness)
            values[same] = np.sign(skewness) * (nodes - shape) / np.sqrt(shape)
            chances[same] = weights / weights.sum()
        if self.values is not None and self.chances is not None:
            values, chances = self.values.copy(), self.chances.copy()
        binary = np.flatnonzero(~np.isnan(self.prevalence))
        often = self.prevalence[binary]
        values[binary], chances[binary] = 0.0, 0.0
        values[binary, 0], values[binary, 1] = -often, 1 - often
        chances[binary, 0], chances[binary, 1] = 1 - often, often
        return values * np.sqrt(self.left)[:, None], chances

    @cached_property
    def information(self) -> FloatArray:
        """The variance of a row's score without an effect, shape (edges,)."""
        values, chances = self._feature
        weight = expit(self.predictor) * expit(-self.predictor)
        return np.asarray((self.share * weight).sum(axis=1) * (chances * values**2).sum(axis=1))

    def moments(self, effect: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of a row's score under effects."""
        values, chances = self._feature
        moved = effect[:, None] * values
        null = expit(self.predictor)
        frequent = (self.share * null).sum(axis=1)
        threshold = np.zeros(len(effect))
        weight = self.share[:, :, None] * chances[:, None, :]
        for _ in range(_THRESHOLD_STEPS):
            chance = expit(self.predictor[:, :, None] + (moved + threshold[:, None])[:, None, :])
            found = (weight * chance).sum(axis=(1, 2))
            slope = (weight * chance * (1 - chance)).sum(axis=(1, 2))
            step = (frequent - found) / np.where(slope > 0, slope, 1.0)
            threshold += np.clip(step, -1.0, 1.0)
        null, value = null[:, :, None], values[:, None, :]
        away = chance - null
        mean = (weight * away * value).sum(axis=(1, 2))
        # What a row adds to its score, less what it adds to the variance that this is divided by.
        information = self.information
        part = mean / (2 * np.where(information > 0, information, 1.0))
        square = (chances * values**2).sum(axis=1)
        slope_of_row = value - (part * square)[:, None, None] * (1 - 2 * null)
        steady = part[:, None, None] * null * (1 - null) * value**2
        drift = away * slope_of_row - steady
        spread = chance * (1 - chance) * slope_of_row**2
        total = (weight * drift).sum(axis=(1, 2))
        variance = (weight * (spread + drift**2)).sum(axis=(1, 2)) - total**2
        return mean, variance

    def take(self, edges: slice) -> EdgeDesigns:
        """Return some of the edges."""
        return EdgeDesigns(
            self.predictor[edges],
            self.share[edges],
            self.left[edges],
            self.prevalence[edges],
            self.skewness[edges],
            None if self.values is None else self.values[edges],
            None if self.chances is None else self.chances[edges],
        )


def find_power(
    designs: EdgeDesigns, effect: FloatArray, n_rows: FloatArray | float, level: float
) -> FloatArray:
    """Return the power of two-sided score tests."""
    mean, variance = designs.moments(effect)
    least = -ndtri(level / 2) * np.sqrt(designs.information)
    drift, spread = np.sqrt(n_rows) * mean, np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = ndtr((drift - least) / spread) + ndtr((-drift - least) / spread)
    return np.asarray(np.where(spread > 0, found, np.nan))


def find_needed(designs: EdgeDesigns, effect: FloatArray, power: float, level: float) -> FloatArray:
    """Return the rows that effects need; `find_power` has the arguments."""
    mean, variance = designs.moments(effect)
    wanted = -ndtri(level / 2) * np.sqrt(designs.information) + ndtri(power) * np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.ceil((wanted / mean) ** 2)
    return np.asarray(np.where(designs.information > 0, rows, np.nan))


def find_detectable(
    designs: EdgeDesigns, n_rows: float, power: float, level: float, *, raises: bool
) -> FloatArray:
    """Return the smallest effects that are found."""
    sign = 1.0 if raises else -1.0
    low, high = np.zeros(len(designs.left)), np.full(len(designs.left), _LARGEST)
    enough = find_power(designs, sign * high, n_rows, level) >= power
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found = find_power(designs, sign * middle, n_rows, level) >= power
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return np.asarray(np.where(enough, sign * high, np.nan))


def in_parts(designs: EdgeDesigns) -> list[EdgeDesigns]:
    """Cut many edges into parts whose sums fit into memory."""
    size = 8 * 4 * designs.predictor.shape[1] * NODES
    return [designs.take(some) for some in chunks(len(designs.left), size, limit=2**24)]


def condense(
    predictor: FloatArray, share: FloatArray, inside: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Let a few linear predictors stand for many."""
    order = np.flatnonzero(inside)[np.argsort(predictor[inside], kind="stable")]
    predictor, share = predictor[order], share[order]
    if not len(order):
        return np.zeros(_PREDICTORS), np.zeros(_PREDICTORS)
    codes = np.arange(len(order))
    if len(order) > _PREDICTORS:
        reached = np.cumsum(share) - share / 2
        codes = np.minimum((reached / share.sum() * _PREDICTORS).astype(int), _PREDICTORS - 1)
    shares = np.bincount(codes, share, _PREDICTORS).astype(np.float64)
    few = np.bincount(codes, share * predictor, _PREDICTORS) / np.where(shares > 0, shares, 1.0)
    return few, shares


def condense_values(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Let a few values with mean 0 and variance 1 stand for those of a feature."""
    order = np.argsort(values, kind="stable")
    share = weights[order] / weights.sum()
    code = np.searchsorted(_CUTS, np.cumsum(share) - share / 2)
    chances = np.bincount(code, share, NODES).astype(np.float64)
    few = np.bincount(code, share * values[order], NODES) / np.where(chances > 0, chances, 1.0)
    few = np.where(chances > 0, few - chances @ few, 0.0)
    return few / np.sqrt(chances @ few**2), chances


def predictors_of(prevalence: float, explained: float) -> tuple[FloatArray, FloatArray]:
    """Return linear predictors of a label of which only two numbers are known."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_PREDICTORS)
    share = weights / weights.sum()

    def centre(spread: float) -> FloatArray:
        low, high = -60.0, 60.0
        for _ in range(80):
            middle = (low + high) / 2
            if share @ expit(middle + spread * nodes) < prevalence:
                low = middle
            else:
                high = middle
        return np.asarray(high + spread * nodes)

    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        chance = expit(centre(middle))
        found = 1 - share @ (chance * (1 - chance)) / (prevalence * (1 - prevalence))
        low, high = (middle, high) if found < explained else (low, middle)
    return centre(low if explained == 0 else high), share
