r"""Newton's method: one loop for any number of models, and the likelihoods that it maximises.

`climb` is the only iteration. It takes many models at once, and asks a function for their values
and steps; a single model is a batch of one. What is maximised here are likelihoods of logistic
regressions, with a ridge penalty, Jeffreys' prior or neither.

Regressors come *signed*, times −1 in rows whose outcome is 0. The probability of what happened in
a row is then expit of its linear predictor, the *margin*.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.pair_sums import PairSums

# Squared Newton decrement at which a fit has converged; on very large counts rounding may stop
# it a little earlier.
CONVERGED = 1e-18
ROUNDING = 1e-12
# Loss of likelihood, relative to it, that is put down to rounding.
_SLACK = 1e-12
# One that is more than rounding.
_HARM = 1e-6
# A step that leads too far is cut: first so that no coefficient, or no margin, moves by more than
# this, then by halves. What must be cut to less than this share of that leads nowhere.
_FURTHEST = 10.0
_SHORTEST = 1e-6
# At a maximum the next step moves no margin by more than this, so that the curvature along it is
# the one that the step was made with.
_STILL = 0.1
# But rows with a margin beyond this have no say in anything; nor have those that can gain less than
# what a fit has converged at.
_CERTAIN = 80.0
# Squared decrements are twice the gain that they promise; this much more than there is to gain is
# no promise.
_PROMISE = 10.0
# Near a finite maximum Newton's method squares its error: a decrement above this share of the one
# before has not collapsed.
_COLLAPSE = 0.1
# Odds against what happened, exp(-margin), do not overflow from here on.
LEAST_MARGIN = -700.0
# Weights and residuals at probabilities of 1/4 and 3/4, those that R's glm begins with: a scoring
# step from there has the response log 3 plus residual over weight.
_START_WEIGHT = 3 / 16
_START_PULL = _START_WEIGHT * float(np.log(3)) + 1 / 4
# Inverse information and steps beyond this come from points so far out that no row has a weight.
_LARGEST = 1e100
# Squared decrement below which a maximum is near. From there on Firth's steps learn from those
# before, and from how many.
_NEAR = 1.0
_MEMORY = 20
_EPSILON = float(np.finfo(np.float64).eps)


class Points(NamedTuple):
    """Where the iterations of several models stand."""

    value: FloatArray
    step: FloatArray
    decrement: FloatArray
    curvature: Sequence[FloatArray] | FloatArray

    @classmethod
    def of_one(
        cls, value: float, step: FloatArray, decrement: float, curvature: FloatArray
    ) -> Points:
        """Return the point of a single model."""
        return cls(np.array([value]), step[None], np.array([decrement]), [curvature])


@dataclass(frozen=True)
class Solution:
    """Where the iteration of one model stopped."""

    coef: FloatArray
    half: FloatArray
    step: FloatArray
    decrement: float
    steps: int
    converged: bool

    @property
    def covariance(self) -> FloatArray:
        """Inverse (penalised) information."""
        return np.tril(self.half) + np.tril(self.half, -1).T

    def proves_overlap(self, radius_squared: float, nobs: float) -> bool:
        """Return whether it shows that nothing is separated; see `proves_overlap`."""
        if not self.converged:
            return False
        trace = float(self.half.trace())
        return bool(proves_overlap(self.decrement, trace, radius_squared, nobs))


class Ends(NamedTuple):
    """Where the iterations of several models stopped."""

    coef: FloatArray
    step: FloatArray
    value: FloatArray
    decrement: FloatArray
    steps: IntArray
    converged: BoolArray
    curvature: list[FloatArray | None]

    def solution(
        self, model: int, half: FloatArray | None, columns: IntArray | slice = slice(None)
    ) -> Solution:
        """Return the solution of a model that has some of the columns."""
        coef = self.coef[model, columns]
        if half is None:
            half = np.full((len(coef), len(coef)), np.nan)
        steps, converged = int(self.steps[model]), bool(self.converged[model])
        step, decrement = self.step[model, columns], float(self.decrement[model])
        return Solution(coef, half, step, decrement, steps, converged)


Evaluate: TypeAlias = Callable[[IntArray, FloatArray], Points]
GivesUp: TypeAlias = Callable[[int, int, Points, int], bool]
Margins: TypeAlias = Callable[[int, FloatArray], FloatArray]


def _furthest_move(step: FloatArray, moves: FloatArray) -> float:
    """Return how far a step leads: the most that a coefficient or, if less, that a margin moves."""
    return float(min(np.abs(step).max(initial=0.0), np.abs(moves).max(initial=0.0)))


def climb(
    evaluate: Evaluate,
    start: FloatArray,
    max_steps: int | Sequence[int],
    *,
    first: Points | None = None,
    size: float = 0.0,
    patience: int = 0,
    gives_up: GivesUp | None = None,
    margins: Margins | None = None,
    widest: FloatArray | None = None,
    certain: Callable[[int], FloatArray] | None = None,
    enough: float = CONVERGED,
) -> Ends:
    """Go from point to point, halving steps that lead down, each model until its own end."""
    n_models = len(start)
    most = np.full(n_models, max_steps).tolist()
    # What is known of the last point that each model accepted. Scalars, as the rule is asked model
    # by model: on short arrays it would take longer.
    coef, step, candidate = start, np.zeros(start.shape), start.copy()
    values, decrements = [-np.inf] * n_models, [np.inf] * n_models
    lengths, steps, converged = [1.0] * n_models, [0] * n_models, [False] * n_models
    curvature: list[FloatArray | None] = [None] * n_models
    left = np.arange(n_models)
    points = evaluate(left, start) if first is None else first
    while True:
        stay, halved, refused = [], [], []
        lines = zip(left.tolist(), points.value.tolist(), points.decrement.tolist(), strict=True)
        for line, (model, value, decrement) in enumerate(lines):
            least = values[model] - _SLACK * (abs(values[model]) + size)
            leads_down = not value >= least
            # A likelihood is at most one: where more is promised the information has vanished.
            is_lost = decrement > _PROMISE * (abs(value) + size) or math.isnan(decrement)
            # Before the first step there is none to cut.
            if (leads_down or is_lost) and steps[model]:
                own = step[model]
                leads = _furthest_move(own, own if margins is None else margins(model, own))
                reach = _FURTHEST / leads if leads > _FURTHEST else 1.0
                shortest = reach * (_SHORTEST if leads_down else 1.0)
                if lengths[model] > shortest:
                    lengths[model] = min(lengths[model] / 2, reach)
                    halved.append(line)
                    stay.append(line)
                    continue
                if value < least - _HARM * (abs(values[model]) + size):
                    # There is no way on: the last point stays.
                    refused.append(line)
                    continue
            previous = decrements[model]
            values[model], decrements[model], lengths[model] = value, decrement, 1.0
            at_end = decrement <= enough or previous <= decrement <= ROUNDING
            if at_end and margins is not None:
                # Far from a maximum a decrement says nothing of what there is to gain.
                own = points.step[line]
                if widest is None or not np.abs(own) @ widest <= _STILL:
                    before, moves = margins(model, candidate[line]), margins(model, own)
                    limit = _CERTAIN if certain is None else certain(model)
                    moves = moves[np.minimum(before, before + moves) < limit]
                    at_end = bool(np.abs(moves).max(initial=0.0) <= _STILL)
            converged[model] = at_end
            if converged[model] or steps[model] >= most[model] or math.isnan(decrement):
                curvature[model] = points.curvature[line]
                continue
            stalls = steps[model] >= patience and decrement > _COLLAPSE * previous
            if stalls and gives_up is not None and gives_up(model, steps[model], points, line):
                continue
            steps[model] += 1
            stay.append(line)
        if halved or refused:
            back = halved + refused
            candidate[back], points.step[back] = coef[left[back]], step[left[back]]
        if len(left) == n_models:
            coef, step = candidate, points.step
        else:
            coef[left], step[left] = candidate, points.step
        if not stay:
            break
        change, base = points.step, candidate
        if len(stay) < len(left):
            left, change, base = left[stay], change[stay], base[stay]
        if halved:
            change = change * np.array([lengths[model] for model in left.tolist()])[:, None]
        candidate = base + change
        points = evaluate(left, candidate)
    return Ends(
        coef=coef,
        step=step,
        value=np.array(values),
        decrement=np.array(decrements),
        steps=np.array(steps),
        converged=np.array(converged),
        curvature=curvature,
    )


def certain_from(counts: FloatArray) -> FloatArray:
    """Return the margins from which on rows can gain less than what a fit has converged at."""
    return np.asarray(np.minimum(np.log(counts / CONVERGED), _CERTAIN))


def newton(
    signed: FloatArray,
    counts: FloatArray,
    *,
    start: FloatArray | None = None,
    max_steps: int,
    penalty: FloatArray | None = None,
) -> Solution:
    """Maximise the (ridge-penalised) likelihood of a logistic regression."""
    n_columns = signed.shape[1]
    if not n_columns:
        return Solution(np.zeros(0), np.zeros((0, 0)), np.zeros(0), 0.0, 0, converged=True)

    def solve(value: float, gradient: FloatArray, weights: FloatArray) -> Points:
        scaled = np.sqrt(weights)[:, None] * signed
        information = scaled.T @ scaled
        if penalty is not None:
            information += np.diag(penalty)
        step = newton_step(information, gradient)
        if step is None:
            return Points.of_one(value, np.zeros(n_columns), np.nan, information)
        return Points.of_one(value, step, float(gradient @ step), information)

    def evaluate(_: IntArray, coefs: FloatArray) -> Points:
        coef = coefs[0]
        odds = np.exp(-np.maximum(signed @ coef, LEAST_MARGIN))
        chance = 1 / (1 + odds)
        value, pull = -(counts @ np.log1p(odds)), counts * (odds * chance)
        gradient = pull @ signed
        if penalty is not None:
            value -= 0.5 * (penalty @ coef**2)
            gradient -= penalty * coef
        return solve(value, gradient, pull * chance)

    first = None
    if start is None:
        start = np.zeros(n_columns)
        value = -float(np.log(2) * counts.sum())
        first = solve(value, (_START_PULL * counts) @ signed, _START_WEIGHT * counts)
        first = first._replace(decrement=np.array([np.inf]))
    ends = climb(
        evaluate,
        start[None],
        max_steps,
        first=first,
        margins=lambda _, coef: signed @ coef,
        certain=lambda _: certain_from(counts),
    )
    return ends.solution(0, inverse(ends.curvature[0]))


def newton_together(
    pairs: PairSums,
    signs: FloatArray,
    counts: FloatArray,
    columns: Sequence[IntArray],
    *,
    start: FloatArray | None = None,
    max_steps: Sequence[int],
    penalty: FloatArray | None = None,
    patience: int = 0,
    gives_up: Callable[[int, FloatArray, int], bool] | None = None,
    enough: float = CONVERGED,
) -> list[Solution]:
    """Maximise the (ridge-penalised) likelihoods of several logistic regressions."""
    design = pairs.design
    crossing = pairs.crossing(columns)
    ridges = None if penalty is None else [np.diag(penalty[at]) for at in columns]

    def margins(model: int, coef: FloatArray) -> FloatArray:
        return np.asarray((signs[model] * (design @ coef))[counts[model] > 0])

    def solve(
        models: IntArray, value: FloatArray, gradients: FloatArray, weights: FloatArray
    ) -> Points:
        steps, singular = np.zeros(gradients.shape), []
        factors: list[FloatArray] = []
        numbers = models.tolist()
        lines = zip(numbers, gradients, steps, crossing(numbers, weights), strict=True)
        for model, gradient, step, factor in lines:
            at = columns[model]
            if ridges is not None:
                factor += ridges[model]
            if len(at):
                # Symmetric, and LAPACK takes it as it is when transposed.
                factor, own, failed = lapack.dposv(
                    factor.T, gradient.take(at), overwrite_a=1, lower=1
                )
                if failed:
                    singular.append(len(factors))
                else:
                    step[at] = own
            factors.append(factor)
        is_near = np.abs(steps).max(initial=0.0) <= _FURTHEST
        if not is_near:
            longest = np.abs(steps).max(axis=1, initial=0.0)
            overflow = np.flatnonzero(~(longest <= _LARGEST))
            steps[overflow] = 0.0
            singular += overflow.tolist()
        decrements = np.vecdot(gradients, steps)
        if singular:
            decrements[singular] = np.nan
        if not is_near:
            # Steps that promise little and go far come from where rows of little weight have no
            # say.
            for far in np.flatnonzero((decrements <= _NEAR) & (longest > _FURTHEST)):
                # A margin that rises does no harm.
                falls = np.minimum(margins(models[far], steps[far]), 0.0)
                furthest = _furthest_move(steps[far], falls)
                steps[far] *= _FURTHEST / max(furthest, _FURTHEST)
        return Points(value, steps, decrements, factors)

    def evaluate(models: IntArray, coef: FloatArray) -> Points:
        is_whole = len(models) == len(signs)
        sign, count = (signs, counts) if is_whole else (signs[models], counts[models])
        margin = sign * (coef @ design.T)
        odds = np.exp(-np.maximum(margin, LEAST_MARGIN))
        chance = 1 / (1 + odds)
        value = -np.vecdot(count, np.log1p(odds))
        if not margin.min(initial=0.0) >= LEAST_MARGIN:
            # A step that makes rows impossible is too long: they have no weight to turn back by.
            value[((margin < LEAST_MARGIN) & (count > 0)).any(axis=1)] = -np.inf
        pull = count * (odds * chance)
        gradients = (sign * pull) @ design
        if penalty is not None:
            value -= 0.5 * (coef**2 @ penalty)
            gradients -= penalty * coef
        return solve(models, value, gradients, pull * chance)

    first = None
    if start is None:
        start = np.zeros((len(columns), design.shape[1]))
        value = -np.log(2) * counts.sum(axis=1)
        gradients = (signs * (_START_PULL * counts)) @ design
        first = solve(np.arange(len(columns)), value, gradients, _START_WEIGHT * counts)
        # A model without columns has come to its end.
        decrement = np.where([len(at) > 0 for at in columns], np.inf, 0.0)
        first = first._replace(decrement=decrement)

    def asks(model: int, steps: int, points: Points, line: int) -> bool:
        return gives_up is not None and gives_up(model, points.step[line, columns[model]], steps)

    ends = climb(
        evaluate,
        start,
        max_steps,
        first=first,
        patience=patience,
        gives_up=None if gives_up is None else asks,
        margins=margins,
        widest=pairs.widest,
        certain=lambda model: certain_from(counts[model][counts[model] > 0]),
        enough=enough,
    )
    lines = zip(ends.curvature, ends.decrement.tolist(), columns, strict=True)
    return [
        ends.solution(model, None if math.isnan(decrement) else _half_inverse(factor), at)
        for model, (factor, decrement, at) in enumerate(lines)
    ]


def firth_newton(
    pairs: PairSums,
    signs: FloatArray,
    counts: FloatArray,
    columns: Sequence[IntArray],
    *,
    max_steps: int,
) -> list[Solution]:
    """Maximise the likelihoods of several logistic regressions with Jeffreys' prior."""
    ends = firth_maxima(pairs, signs, counts, columns, max_steps=max_steps)
    return [
        ends.solution(model, covariance, at)
        for model, (covariance, at) in enumerate(zip(ends.curvature, columns, strict=True))
    ]


def firth_maxima(
    pairs: PairSums,
    signs: FloatArray,
    counts: FloatArray,
    columns: Sequence[IntArray],
    *,
    max_steps: int,
    free: Sequence[IntArray] | None = None,
) -> Ends:
    """Find the maxima of likelihoods with Jeffreys' prior, some coefficients held at zero."""
    design = pairs.design
    places = [pairs.place[at[:, None], at] for at in columns]
    fitted = columns if free is None else free
    inside = [pairs.place[at[:, None], at] for at in fitted]
    memories = [_Curvature() for _ in columns]

    def evaluate(models: IntArray, coef: FloatArray) -> Points:
        sign = signs if len(models) == len(signs) else signs[models]
        odds = np.exp(-np.maximum(sign * (coef @ design.T), LEAST_MARGIN))
        chance = 1 / (1 + odds)
        value = -(np.log1p(odds) @ counts)
        variance = odds * chance**2
        inverses = np.zeros((len(models), pairs.n_sums))
        covariances = []
        for line, sums in enumerate(pairs.under(counts * variance)):
            at, place = columns[models[line]], places[models[line]]
            if not len(at):
                covariances.append(np.zeros((0, 0)))
                continue
            # Symmetric, and LAPACK takes it as it is when transposed.
            factor, failed = lapack.dpotrf(sums.take(place).T, lower=1, overwrite_a=1)
            covariance = None if failed else _inverse_from(factor)
            if covariance is None:
                value[line] = -np.inf
                covariances.append(np.full(place.shape, np.nan))
                continue
            value[line] += np.log(factor.diagonal()).sum()
            covariances.append(covariance)
            inverses[line, place] = covariance
        leverage = counts * variance * pairs.quadratic_forms(inverses)
        scores = (sign * (counts * (odds * chance) + leverage * (0.5 - chance))) @ design
        steps, decrements = np.zeros(coef.shape), np.full(len(models), np.nan)
        for line, sums in enumerate(pairs.under((counts + leverage) * variance)):
            model = models[line]
            at, memory = fitted[model], memories[model]
            if not len(at):
                decrements[line] = 0.0
            elif value[line] > -np.inf:
                score = scores[line, at]
                information = sums.take(inside[model]).T
                step = memory.step(information, coef[line, at], score)
                if step is not None:
                    steps[line, at] = step
                    decrements[line] = score @ step
        return Points(value, steps, decrements, covariances)

    return climb(
        evaluate,
        np.zeros((len(columns), design.shape[1])),
        max_steps,
        margins=lambda model, coef: signs[model] * (design @ coef),
    )


class _Curvature:
    """What the last steps of a model tell of its curvature, beyond its information."""

    def __init__(self) -> None:
        self._last: tuple[FloatArray, FloatArray] | None = None
        self._pairs: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=_MEMORY)

    def step(
        self, information: FloatArray, coef: FloatArray, score: FloatArray
    ) -> FloatArray | None:
        """Return the step from a point, and remember the point; None where there is no step."""
        factor, failed = lapack.dpotrf(information, lower=1, overwrite_a=1)
        plain: FloatArray = lapack.dpotrs(factor, score, lower=1)[0]
        if failed or not _is_moderate(plain):
            return None
        if not score @ plain <= _NEAR:
            return plain
        if self._last is not None:
            move, fall = coef - self._last[0], self._last[1] - score
            # What is but rounding says nothing of the curvature.
            if move @ fall > _EPSILON * math.sqrt((move @ move) * (fall @ fall)):
                self._pairs.append((move, fall))
        self._last = coef, score
        # The inverse of the information, updated with each pair in turn.
        weights = []
        step: FloatArray = score.copy()
        for move, fall in reversed(self._pairs):
            weights.append((move @ step) / (move @ fall))
            step -= weights[-1] * fall
        step = lapack.dpotrs(factor, step, lower=1)[0]
        for move, fall in self._pairs:
            step += (weights.pop() - (fall @ step) / (move @ fall)) * move
        return step if _is_moderate(step) else None


def proves_overlap(
    decrement: FloatArray | float,
    trace: FloatArray | float,
    radius_squared: FloatArray | float,
    nobs: float,
) -> BoolArray | bool:
    """Return whether converged fits show that nothing is separated."""
    times = 4 * radius_squared * trace
    # A product that overflows is infinite, a power of Python's is an error.
    lost = _EPSILON * nobs
    hidden = lost * lost * radius_squared * trace
    return (times * decrement <= 1.0) & (times * CONVERGED <= 1.0) & (times * hidden <= 1.0)


def inverse(information: FloatArray | None) -> FloatArray | None:
    """Invert a positive definite matrix."""
    if information is None or not len(information):
        return information
    factor, failed = lapack.dpotrf(information, lower=1)
    return None if failed else _inverse_from(factor)


def _half_inverse(factor: FloatArray | None) -> FloatArray | None:
    """Invert a matrix that has this lower Cholesky factor, below; None where that overflows."""
    if factor is None or not len(factor):
        return factor
    lower: FloatArray = lapack.dpotri(factor, lower=1)[0]
    # The largest entries of an inverse stand on its diagonal.
    return lower if lower.trace() <= _LARGEST else None


def _inverse_from(factor: FloatArray) -> FloatArray | None:
    """Invert a matrix that has this lower Cholesky factor, zero above; None where it overflows."""
    lower = _half_inverse(factor)
    if lower is None:
        return None
    full: FloatArray = lower + lower.T
    full.flat[:: len(full) + 1] /= 2
    return full


def _is_moderate(values: FloatArray) -> bool:
    """Return whether numbers can be added and multiplied with each other without overflow."""
    return bool(np.abs(values).max(initial=0.0) <= _LARGEST)


def newton_step(information: FloatArray, gradient: FloatArray) -> FloatArray | None:
    """Solve for a step; None where the information is singular to working precision."""
    _, step, failed = lapack.dposv(information, gradient)
    return None if failed or not _is_moderate(step) else step
