r"""Newton's method: one loop for any number of models, and the likelihoods that it maximises.

`climb` is the only iteration. It takes many models at once, and asks a function for their values
and steps; a single model is a batch of one. What is maximised here are likelihoods of logistic
regressions, with a ridge penalty, Jeffreys' prior or neither.

Regressors come *signed*, times −1 in rows whose outcome is 0. The probability of what happened in
a row is then expit of its linear predictor, the *margin*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit, log_expit
from threadpoolctl import ThreadpoolController

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.fitting.pair_sums import PairSums

# Squared Newton decrement at which a fit has converged; on very large counts rounding may stop
# it a little earlier.
CONVERGED = 1e-18
ROUNDING = 1e-12
# Loss of likelihood, relative to it, that is put down to rounding.
_SLACK = 1e-12
# A Newton step that must be cut to less than this share of itself leads nowhere.
_SHORTEST = 1e-6
# Near a finite maximum Newton's method squares its error: a decrement above this share of the one
# before has not collapsed.
_COLLAPSE = 0.1
# Odds against what happened, exp(-margin), do not overflow from here on.
LEAST_MARGIN = -700.0
# Weights and residuals at probabilities of 1/4 and 3/4, those that R's glm begins with: a scoring
# step from there has the response log 3 plus residual over weight.
_START_WEIGHT = 3 / 16
_START_PULL = _START_WEIGHT * float(np.log(3)) + 1 / 4
# Squared decrement below which Firth's objective is concave enough for its exact curvature.
_NEAR = 1.0


class Points(NamedTuple):
    """Where the iterations of several models stand.

    Attributes
    ----------
    value : ndarray, shape (models,)
        What is maximised.
    step : ndarray, shape (models, m)
        The full steps from here.
    decrement : ndarray, shape (models,)
        The gradient times the step, Newton's squared decrement; NaN where there is no step.
    curvature : sequence of ndarray, shape (m, m)
        The information of each model or its inverse, whatever is wanted at the end.
    """

    value: FloatArray
    step: FloatArray
    decrement: FloatArray
    curvature: Sequence[FloatArray] | FloatArray

    @classmethod
    def of_one(
        cls, value: float, step: FloatArray, decrement: float, curvature: FloatArray
    ) -> Points:
        """Give the point of a single model."""
        return cls(np.array([value]), step[None], np.array([decrement]), [curvature])


@dataclass(frozen=True)
class Solution:
    """Where the iteration of one model stopped.

    Attributes
    ----------
    coef : ndarray, shape (m,)
        Coefficients.
    covariance : ndarray, shape (m, m)
        Inverse (penalised) information; NaN where it is singular to working precision, or where
        the model was given up.
    step : ndarray, shape (m,)
        The step that would be next.
    steps : int
        Steps taken.
    converged : bool
        Whether the iteration came to its end.
    """

    coef: FloatArray
    covariance: FloatArray
    step: FloatArray
    steps: int
    converged: bool


class Ends(NamedTuple):
    """Where the iterations of several models stopped.

    Attributes
    ----------
    coef, step : ndarray, shape (models, m)
        Coefficients, and the steps that would be next.
    value, decrement : ndarray, shape (models,)
        What is maximised, and Newton's squared decrement.
    steps : ndarray of int, shape (models,)
        Steps taken.
    converged : ndarray of bool, shape (models,)
        Whether the iteration came to its end.
    curvature : list of ndarray or None
        The curvature there; None where a model was given up.
    """

    coef: FloatArray
    step: FloatArray
    value: FloatArray
    decrement: FloatArray
    steps: IntArray
    converged: BoolArray
    curvature: list[FloatArray | None]

    def solution(
        self, model: int, covariance: FloatArray | None, columns: IntArray | slice = slice(None)
    ) -> Solution:
        """Give the solution of a model that has some of the columns."""
        coef = self.coef[model, columns]
        if covariance is None:
            covariance = np.full((len(coef), len(coef)), np.nan)
        steps, converged = int(self.steps[model]), bool(self.converged[model])
        return Solution(coef, covariance, self.step[model, columns], steps, converged)


Evaluate: TypeAlias = Callable[[IntArray, FloatArray], Points]
GivesUp: TypeAlias = Callable[[int, int, Points, int], bool]


def climb(
    evaluate: Evaluate,
    start: FloatArray,
    max_steps: int | Sequence[int],
    *,
    first: Points | None = None,
    size: float = 0.0,
    patience: int = 0,
    gives_up: GivesUp | None = None,
) -> Ends:
    """Go from point to point, halving steps that lead down, each model until its own end.

    Parameters
    ----------
    evaluate : callable
        Gives the points of some of the models, from their numbers and coefficients.
    start : ndarray, shape (models, m)
        Coefficients to begin with.
    max_steps : int or sequence of int
        Steps after which models stop.
    first : Points, optional
        The points at `start`; evaluated if omitted.
    size : float
        The size of what values are differences from, for their rounding.
    patience : int
        Steps after which `gives_up` is asked about a model whose decrement does not collapse.
    gives_up : callable, optional
        Tells whether to stop, from the number of a model, the steps taken, the points and which
        of them is that of the model.

    Returns
    -------
    Ends
        Where the models stopped.

    Examples
    --------
    The largest values of :math:`cb - e^b` are where b is the logarithm of c:

    >>> c = np.array([2.0, 5.0])
    >>> def evaluate(models, b):
    ...     value = c[models] * b[:, 0] - np.exp(b[:, 0])
    ...     step = c[models, None] * np.exp(-b) - 1
    ...     return Points(value, step, np.exp(b[:, 0]) * step[:, 0] ** 2, np.exp(b)[..., None])
    >>> np.exp(climb(evaluate, np.zeros((2, 1)), max_steps=20).coef[:, 0])
    array([2., 5.])
    """
    n_models = len(start)
    most = np.full(n_models, max_steps).tolist()
    # What is known of the last point that each model accepted. Scalars, as the rule is asked model
    # by model: on short arrays it would take longer.
    coef, step = start.copy(), np.zeros(start.shape)
    values, decrements = [-np.inf] * n_models, [np.inf] * n_models
    lengths, steps, converged = [1.0] * n_models, [0] * n_models, [False] * n_models
    curvature: list[FloatArray | None] = [None] * n_models
    left, candidate = np.arange(n_models), start
    points = evaluate(left, start) if first is None else first
    while True:
        stay, halved = [], []
        lines = zip(left.tolist(), points.value.tolist(), points.decrement.tolist(), strict=True)
        for line, (model, value, decrement) in enumerate(lines):
            least = values[model] - _SLACK * (abs(values[model]) + size)
            if not value >= least and lengths[model] >= _SHORTEST:
                lengths[model] /= 2
                halved.append(line)
                stay.append(line)
                continue
            previous = decrements[model]
            values[model], decrements[model], lengths[model] = value, decrement, 1.0
            converged[model] = decrement <= CONVERGED or previous <= decrement <= ROUNDING
            if converged[model] or steps[model] >= most[model] or math.isnan(decrement):
                curvature[model] = points.curvature[line]
                continue
            stalls = steps[model] >= patience and decrement > _COLLAPSE * previous
            if stalls and gives_up is not None and gives_up(model, steps[model], points, line):
                continue
            steps[model] += 1
            stay.append(line)
        if halved:
            candidate[halved], points.step[halved] = coef[left[halved]], step[left[halved]]
        coef[left], step[left] = candidate, points.step
        if not stay:
            break
        if len(stay) < len(left):
            left = left[stay]
        change = step[left]
        if halved:
            change *= np.array([lengths[model] for model in left.tolist()])[:, None]
        candidate = coef[left] + change
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


def newton(
    signed: FloatArray,
    counts: FloatArray,
    *,
    start: FloatArray | None = None,
    max_steps: int,
    penalty: FloatArray | None = None,
) -> Solution:
    """Maximise the (ridge-penalised) likelihood of a logistic regression.

    Parameters
    ----------
    signed : ndarray, shape (rows, m)
        Signed regressors.
    counts : ndarray, shape (rows,)
        How many observations each row stands for.
    start : ndarray, shape (m,), optional
        Coefficients to begin with. If omitted, the first step is taken from probabilities of 1/4
        and 3/4, as in R's ``glm``.
    max_steps : int
        Steps after which to stop.
    penalty : ndarray, shape (m,), optional
        Ridge penalties of the coefficients.

    Returns
    -------
    Solution
        Where the iteration stopped.

    Examples
    --------
    Three rows with outcome 1, one with 0, and a constant:

    >>> solution = newton(np.array([[1.0], [-1.0]]), np.array([3.0, 1.0]), max_steps=20)
    >>> solution.coef, np.log(3.0)
    (array([1.09861229]), np.float64(1.09861...))
    """
    n_columns = signed.shape[1]
    if not n_columns:
        return Solution(np.zeros(0), np.zeros((0, 0)), np.zeros(0), 0, converged=True)

    def solve(value: float, gradient: FloatArray, weights: FloatArray) -> Points:
        scaled = np.sqrt(weights)[:, None] * signed
        information = scaled.T @ scaled
        if penalty is not None:
            information += np.diag(penalty)
        _, step, singular = lapack.dposv(information, gradient)
        if singular:
            return Points.of_one(value, np.zeros(n_columns), np.nan, information)
        return Points.of_one(value, step, gradient @ step, information)

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
        first = solve(-np.inf, (_START_PULL * counts) @ signed, _START_WEIGHT * counts)
        first = first._replace(decrement=np.array([np.inf]))
    ends = climb(evaluate, start[None], max_steps, first=first)
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
) -> list[Solution]:
    """Maximise the (ridge-penalised) likelihoods of several logistic regressions.

    All of them have columns of one 0/1 design. Their margins, gradients and weights are computed
    together, so that only the systems of equations are solved one by one.

    Parameters
    ----------
    pairs : PairSums
        Cross-products of the design that has the columns of all of them.
    signs : ndarray, shape (models, rows)
        1 where the outcome is 1, and −1 where it is 0.
    counts : ndarray, shape (models, rows)
        How many observations each row stands for; zero where it takes no part.
    columns : sequence of ndarray of int
        The columns of each model, linearly independent in the rows that take part.
    start : ndarray, shape (models, m), optional
        Coefficients to begin with, zero outside `columns`. If omitted, the first step is taken
        from probabilities of 1/4 and 3/4, as in R's ``glm``.
    max_steps : sequence of int
        Steps after which each stops.
    penalty : ndarray, shape (m,), optional
        Ridge penalties of the coefficients.
    patience : int
        Steps after which `gives_up` is asked about models whose decrements do not collapse.
    gives_up : callable, optional
        Tells from the number of a model, its next step and the steps taken whether it stops.

    Returns
    -------
    list of Solution
        Where each iteration stopped.

    Examples
    --------
    Three rows with outcome 1, one with 0, and a constant:

    >>> (solution,) = newton_together(
    ...     PairSums(np.ones((2, 1))),
    ...     signs=np.array([[1.0, -1.0]]),
    ...     counts=np.array([[3.0, 1.0]]),
    ...     columns=[np.array([0])],
    ...     max_steps=[20],
    ... )
    >>> solution.coef, np.log(3.0)
    (array([1.09861229]), np.float64(1.09861...))
    """
    design = pairs.design
    places = [pairs.place[at[:, None], at] for at in columns]
    ridges = None if penalty is None else [np.diag(penalty[at]) for at in columns]

    def solve(
        models: IntArray, value: FloatArray, gradients: FloatArray, weights: FloatArray
    ) -> Points:
        steps, singular = np.zeros(gradients.shape), []
        informations: list[FloatArray] = []
        lines = zip(models.tolist(), gradients, steps, pairs.under(weights), strict=True)
        for model, gradient, step, sums in lines:
            at, information = columns[model], sums.take(places[model])
            if ridges is not None:
                information += ridges[model]
            if len(at):
                _, own, failed = lapack.dposv(information, gradient.take(at))
                if failed:
                    singular.append(len(informations))
                else:
                    step[at] = own
            informations.append(information)
        decrements = np.einsum("ij,ij->i", gradients, steps)
        if singular:
            decrements[singular] = np.nan
        return Points(value, steps, decrements, informations)

    def evaluate(models: IntArray, coef: FloatArray) -> Points:
        is_whole = len(models) == len(signs)
        sign, count = (signs, counts) if is_whole else (signs[models], counts[models])
        odds = np.exp(-np.maximum(sign * (coef @ design.T), LEAST_MARGIN))
        chance = 1 / (1 + odds)
        value = -np.einsum("ij,ij->i", count, np.log1p(odds))
        pull = count * (odds * chance)
        gradients = (sign * pull) @ design
        if penalty is not None:
            value -= 0.5 * (coef**2 @ penalty)
            gradients -= penalty * coef
        return solve(models, value, gradients, pull * chance)

    first = None
    if start is None:
        start = np.zeros((len(columns), design.shape[1]))
        value = np.full(len(columns), -np.inf)
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
    )
    return [
        ends.solution(model, inverse(information), at)
        for model, (information, at) in enumerate(zip(ends.curvature, columns, strict=True))
    ]


def firth_newton(
    signed: Sequence[FloatArray], counts: FloatArray, max_steps: int
) -> list[Solution]:
    r"""Maximise the likelihoods of several logistic regressions with Jeffreys' prior.

    Parameters
    ----------
    signed : sequence of ndarray, shape (rows, m)
        Signed regressors of each.
    counts : ndarray, shape (rows,)
        How many observations each row stands for.
    max_steps : int
        Steps after which to stop.

    Returns
    -------
    list of Solution
        Where each iteration stopped.

    Notes
    -----
    With p the probability of what happened the score is :math:`Z'(N(1 - p) + h(1/2 - p))`, h the
    leverages [1]_.

    References
    ----------
    .. [1] Firth, D. (1993). Bias reduction of maximum likelihood estimates. *Biometrika* 80,
       27–38.

    Examples
    --------
    Jeffreys' prior adds half a row of each outcome:

    >>> (solution,) = firth_newton([np.array([[1.0]])], np.array([3.0]), max_steps=20)
    >>> solution.coef, np.log(3.5 / 0.5)
    (array([1.94591015]), np.float64(1.94591...))
    """
    sizes = [each.shape[1] for each in signed]

    def evaluate(models: IntArray, coef: FloatArray) -> Points:
        steps, rest = np.zeros(coef.shape), []
        for model, line, step in zip(models.tolist(), coef, steps, strict=True):
            own = slice(sizes[model])
            step[own], *others = _firth_step(signed[model], counts, line[own])
            rest.append(others)
        value, decrement, covariance = zip(*rest, strict=True)
        return Points(np.array(value), steps, np.array(decrement), covariance)

    ends = climb(evaluate, np.zeros((len(signed), max(sizes))), max_steps)
    return [
        ends.solution(model, covariance, slice(size))
        for model, (covariance, size) in enumerate(zip(ends.curvature, sizes, strict=True))
    ]


def _firth_step(
    signed: FloatArray, counts: FloatArray, coef: FloatArray
) -> tuple[FloatArray, float, float, FloatArray]:
    """Give step, likelihood with Jeffreys' prior, decrement and covariance."""
    margin = signed @ coef
    if not len(coef):
        return coef, counts @ log_expit(margin), 0.0, np.zeros((0, 0))
    chance, surprise = expit(margin), expit(-margin)
    variance = chance * surprise
    information = signed.T @ ((counts * variance)[:, None] * signed)
    factor, failed = lapack.dpotrf(information, lower=1)
    if failed:
        return np.zeros_like(coef), -np.inf, np.nan, np.full_like(information, np.nan)
    covariance = _inverse_from(factor)
    value = counts @ log_expit(margin) + np.log(factor.diagonal()).sum()
    leverage = counts * variance * np.einsum("ij,ij->i", signed @ covariance, signed)
    score = (counts * surprise + leverage * (0.5 - chance)) @ signed
    # The score is that of data with h/2 more rows of each outcome: step with their information,
    # and with the exact curvature near the maximum.
    weights = (counts + leverage) * variance
    step = lapack.dposv(signed.T @ (weights[:, None] * signed), score)[1]
    if score @ step <= _NEAR:
        curvature = inverse(
            _firth_curvature(signed, counts, chance, variance, covariance, leverage)
        )
        step = step if curvature is None else curvature @ score
    return step, value, score @ step, covariance


def _firth_curvature(
    signed: FloatArray,
    counts: FloatArray,
    chance: FloatArray,
    variance: FloatArray,
    covariance: FloatArray,
    leverage: FloatArray,
) -> FloatArray:
    """Give minus the second derivative of the likelihood with Jeffreys' prior."""
    slope = 1 - 2 * chance
    weights = counts * variance - 0.5 * leverage * (slope**2 - 2 * variance)
    curvature: FloatArray = signed.T @ (weights[:, None] * signed)
    scaled = (counts * variance * slope)[:, None] * signed
    for block in chunks(len(signed), 8 * len(signed)):
        kernel = np.square(signed[block] @ covariance @ signed.T)
        curvature += 0.5 * scaled[block].T @ (kernel @ scaled)
    return curvature


def proves_overlap(solution: Solution, radius_squared: float) -> bool:
    r"""Tell whether a converged fit shows that nothing is separated.

    Parameters
    ----------
    solution : Solution
        Where Newton's method converged.
    radius_squared : float
        The largest sum of squared regressors in a row, or more than that.

    Returns
    -------
    bool
        True where a finite maximum is certain; False where nothing is known.

    Notes
    -----
    The logistic likelihood is self-concordant with constant :math:`R = \max_i \|z_i\|`, so a
    Newton decrement :math:`\nu \le \sqrt{\lambda_{min}} / (2R)` proves that a finite maximum
    exists [1]_. The decrement is below its tolerance here, and
    :math:`1 / tr(\Sigma) \le \lambda_{min}`.

    References
    ----------
    .. [1] Bach, F. (2010). Self-concordant analysis for logistic regression. *Electronic Journal
       of Statistics* 4, 384–414, proposition 2.
    """
    flatness = 4 * radius_squared * float(solution.covariance.trace())
    return solution.converged and flatness * CONVERGED <= 1.0


def inverse(information: FloatArray | None) -> FloatArray | None:
    """Invert a positive definite matrix.

    Parameters
    ----------
    information : ndarray, shape (m, m), or None
        The matrix, if there is one.

    Returns
    -------
    ndarray, shape (m, m), or None
        The inverse; None where the matrix is not positive definite to working precision.
    """
    if information is None or not len(information):
        return information
    factor, failed = lapack.dpotrf(information, lower=1)
    return None if failed else _inverse_from(factor)


def _inverse_from(factor: FloatArray) -> FloatArray:
    """Invert a matrix that has this lower Cholesky factor."""
    lower, _ = lapack.dpotri(factor, lower=1)
    full: FloatArray = lower + lower.T
    full.flat[:: len(full) + 1] /= 2
    return full


@cache
def thread_pools() -> ThreadpoolController:
    """Give the pools of threads that linear algebra has, for limiting them.

    Returns
    -------
    ThreadpoolController
        The pools.
    """
    return ThreadpoolController()
