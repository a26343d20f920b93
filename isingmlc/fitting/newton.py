r"""Newton's method for logistic likelihoods, with a ridge penalty, Jeffreys' prior or neither.

Regressors come *signed*, times −1 in rows whose outcome is 0. The probability of what happened in
a row is then expit of its linear predictor, the *margin*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit, log_expit
from threadpoolctl import ThreadpoolController

from isingmlc.base.arrays import FloatArray, chunks

# Squared Newton decrement at which a fit has converged; on very large counts rounding may stop
# it a little earlier.
CONVERGED = 1e-18
ROUNDING = 1e-12
# Loss of likelihood, relative to it, that is put down to rounding.
SLACK = 1e-12
# A Newton step that must be cut to less than this share of itself leads nowhere.
SHORTEST = 1e-6
# Odds against what happened, exp(-margin), do not overflow from here on.
LEAST_MARGIN = -700.0
# Weights and residuals at probabilities of 1/4 and 3/4, those that R's glm begins with: a scoring
# step from there has the response log 3 plus residual over weight.
START_WEIGHT = 3 / 16
START_PULL = START_WEIGHT * float(np.log(3)) + 1 / 4
# Squared decrement below which Firth's objective is concave enough for its exact curvature.
_NEAR = 1.0


@dataclass(frozen=True)
class Solution:
    """Where an iteration stopped.

    Attributes
    ----------
    coef : ndarray, shape (m,)
        Coefficients.
    covariance : ndarray, shape (m, m)
        Inverse (penalised) information; NaN where it is singular to working precision, or where
        the iteration was given up.
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


class Point(NamedTuple):
    """Where an iteration stands.

    Attributes
    ----------
    coef : ndarray, shape (m,)
        Coefficients.
    value : float
        What is maximised.
    step : ndarray, shape (m,)
        The full step from here.
    decrement : float
        The gradient times the step, Newton's squared decrement; NaN where there is no step.
    information : ndarray, shape (m, m)
        The (penalised) information.
    """

    coef: FloatArray
    value: float
    step: FloatArray
    decrement: float
    information: FloatArray


def is_maximum(decrement: float, previous: float) -> bool:
    """Tell whether an iteration has come to its end.

    Parameters
    ----------
    decrement, previous : float
        Squared Newton decrements of the last two points.

    Returns
    -------
    bool
        Whether the last point is a maximum to working precision.
    """
    return decrement <= CONVERGED or previous <= decrement <= ROUNDING


def climb(
    evaluate: Callable[[FloatArray], Point],
    start: FloatArray,
    max_steps: int,
    gives_up: Callable[[Point, float, int], bool] | None = None,
    steps: int = 0,
) -> tuple[Point, int, bool]:
    """Go from point to point, halving steps that lead down.

    Parameters
    ----------
    evaluate : callable
        Gives the point at some coefficients.
    start : ndarray, shape (m,)
        Coefficients to begin with.
    max_steps : int
        Steps after which to stop.
    gives_up : callable, optional
        Tells from a point, the decrement before it and the steps taken whether to stop there.
    steps : int
        Steps that led to the start.

    Returns
    -------
    point : Point
        The last point.
    steps : int
        Steps taken in all.
    converged : bool
        Whether the point is a maximum to working precision.
    """
    point, previous = evaluate(start), np.inf
    while True:
        decrement = point.decrement
        converged = is_maximum(decrement, previous)
        if converged or steps >= max_steps or np.isnan(decrement):
            return point, steps, converged
        if gives_up is not None and gives_up(point, previous, steps):
            return point, steps, False
        least = point.value - SLACK * abs(point.value)
        length = 1.0
        while True:
            candidate = evaluate(point.coef + length * point.step)
            if candidate.value >= least or length < SHORTEST:
                break
            length /= 2
        point, previous = candidate, decrement
        steps += 1


def newton(
    signed: FloatArray,
    counts: FloatArray,
    *,
    start: FloatArray | None = None,
    max_steps: int,
    penalty: FloatArray | None = None,
    gives_up: Callable[[Point, float, int], bool] | None = None,
) -> Solution:
    """Maximise the (ridge-penalised) likelihood of a logistic regression.

    Parameters
    ----------
    signed : ndarray, shape (rows, m)
        Signed regressors.
    counts : ndarray, shape (rows,)
        How many observations each row stands for.
    start : ndarray, shape (m,), optional
        Coefficients to begin with. Without them the first step is taken from probabilities of
        1/4 and 3/4, as in R's ``glm``.
    max_steps : int
        Steps after which to stop.
    penalty : ndarray, shape (m,), optional
        Ridge penalties of the coefficients.
    gives_up : callable, optional
        See `climb`.

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
    if not signed.shape[1]:
        return Solution(np.zeros(0), np.zeros((0, 0)), np.zeros(0), 0, converged=True)

    def evaluate(coef: FloatArray) -> Point:
        odds = np.exp(-np.maximum(signed @ coef, LEAST_MARGIN))
        chance = 1 / (1 + odds)
        value = -float(counts @ np.log1p(odds))
        pull = counts * (odds * chance)
        gradient = pull @ signed
        scaled = np.sqrt(pull * chance)[:, None] * signed
        information = scaled.T @ scaled
        if penalty is not None:
            value -= 0.5 * float(penalty @ coef**2)
            gradient -= penalty * coef
            information += np.diag(penalty)
        _, step, singular = lapack.dposv(information, gradient)
        if singular:
            return Point(coef, value, np.zeros_like(coef), np.nan, information)
        return Point(coef, value, step, float(gradient @ step), information)

    steps = 0
    if start is None:
        start = _first_step(signed, counts, penalty)
        steps = 1
    point, steps, converged = climb(evaluate, start, max_steps, gives_up, steps)
    return Solution(point.coef, covariance_of(point.information), point.step, steps, converged)


def _first_step(signed: FloatArray, counts: FloatArray, penalty: FloatArray | None) -> FloatArray:
    """Take the first scoring step from probabilities of 1/4 and 3/4."""
    scaled = (START_WEIGHT * counts) * signed.T
    information = scaled @ signed
    if penalty is not None:
        information += np.diag(penalty)
    _, start, singular = lapack.dposv(information, (START_PULL * counts) @ signed)
    return np.zeros(len(start)) if singular else np.asarray(start)


def firth_newton(signed: FloatArray, counts: FloatArray, max_steps: int) -> Solution:
    r"""Maximise the likelihood of a logistic regression with Jeffreys' prior.

    Parameters
    ----------
    signed : ndarray, shape (rows, m)
        Signed regressors.
    counts : ndarray, shape (rows,)
        How many observations each row stands for.
    max_steps : int
        Steps after which to stop.

    Returns
    -------
    Solution
        Where the iteration stopped.

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

    >>> solution = firth_newton(np.array([[1.0]]), np.array([3.0]), max_steps=20)
    >>> solution.coef, np.log(3.5 / 0.5)
    (array([1.94591015]), np.float64(1.94591...))
    """

    def evaluate(coef: FloatArray) -> Point:
        margin = signed @ coef
        chance, surprise = expit(margin), expit(-margin)
        variance = chance * surprise
        information = signed.T @ ((counts * variance)[:, None] * signed)
        covariance = inverse(information)
        if covariance is None:
            return Point(coef, -np.inf, np.zeros_like(coef), np.nan, information)
        log_determinant = float(np.linalg.slogdet(information)[1])
        value = float(counts @ log_expit(margin)) + 0.5 * log_determinant
        leverage = counts * variance * np.einsum("ij,ij->i", signed @ covariance, signed)
        score = (counts * surprise + leverage * (0.5 - chance)) @ signed
        # The score is that of data with h/2 more rows of each outcome: step with their
        # information, and with the exact curvature near the maximum.
        weights = (counts + leverage) * variance
        step = np.linalg.solve(signed.T @ (weights[:, None] * signed), score)
        if score @ step <= _NEAR:
            curvature = inverse(
                _firth_curvature(signed, counts, chance, variance, covariance, leverage)
            )
            step = step if curvature is None else curvature @ score
        return Point(coef, value, step, float(score @ step), information)

    point, steps, converged = climb(evaluate, np.zeros(signed.shape[1]), max_steps)
    return Solution(point.coef, covariance_of(point.information), point.step, steps, converged)


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


def inverse(information: FloatArray) -> FloatArray | None:
    """Invert a positive definite matrix.

    Parameters
    ----------
    information : ndarray, shape (m, m)
        The matrix.

    Returns
    -------
    ndarray, shape (m, m), or None
        The inverse; None where the matrix is not positive definite to working precision.
    """
    if not len(information):
        return information
    factor, failed = lapack.dpotrf(information, lower=1)
    if failed:
        return None
    lower, failed = lapack.dpotri(factor, lower=1)
    if failed:
        return None
    full: FloatArray = lower + lower.T
    full.flat[:: len(full) + 1] /= 2
    return full


def covariance_of(information: FloatArray) -> FloatArray:
    """Give the covariance of estimates.

    Parameters
    ----------
    information : ndarray, shape (m, m)
        Their information.

    Returns
    -------
    ndarray, shape (m, m)
        Its inverse; NaN where it is singular to working precision.
    """
    covariance = inverse(information)
    return np.full_like(information, np.nan) if covariance is None else covariance


@cache
def thread_pools() -> ThreadpoolController:
    """Give the pools of threads that linear algebra has, for limiting them.

    Returns
    -------
    ThreadpoolController
        The pools.
    """
    return ThreadpoolController()
