r"""Newton's method for many logistic regressions at once, the only one in the package.

Models differ in their designs, outcomes, counts and offsets. What a design must do is predict,
and sum residuals and weights: one matrix for all models (`SharedDesign`), a matrix of each model's
own (`StackedDesign`), or label models that share coefficients. A ridge penalty subtracts
:math:`\frac12 \sum_j \lambda_j \beta_j^2` from the log-likelihood, Firth's adds
:math:`\frac12 \log\det A` with A the information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.base.tolerances import (
    CONVERGED,
    JITTER,
    LONGEST_MOVE,
    MOST_INFLATED,
    ROUNDING_OF_LIKELIHOOD,
    STALLED,
)
from isingmlc.fitting.design import CrossProducts

# A step that must be cut to less than this share leads nowhere.
_SHORTEST = 1e-6
# Odds against what happened, exp(-margin), do not overflow from here on.
_LEAST_MARGIN = -700.0
# Added to the diagonal before a matrix is inverted, which a variance inflation of MOST_INFLATED or
# less does not feel.
_REGULAR = 1e-13


class Design(Protocol):
    """The columns of m models with d coefficients each, on L rows."""

    def predict(self, models: IntArray, coef: FloatArray) -> FloatArray:
        """Return linear predictors: (m, d) to (m, L)."""

    def gradient(self, models: IntArray, residuals: FloatArray) -> FloatArray:
        """Return Z'e: (m, L) to (m, d)."""

    def information(self, models: IntArray, weights: FloatArray) -> FloatArray:
        """Return Z'WZ: (m, L) to (m, d, d)."""

    def quadratic(self, models: IntArray, matrices: FloatArray) -> FloatArray:
        """Return z'Mz of each row: (m, d, d) to (m, L)."""


@dataclass(frozen=True)
class SharedDesign:
    """Columns of one matrix; `uses` marks those of each model."""

    products: CrossProducts
    uses: BoolArray

    def predict(self, models: IntArray, coef: FloatArray) -> FloatArray:
        """Return linear predictors."""
        return np.asarray(coef @ self.products.design.T)

    def gradient(self, models: IntArray, residuals: FloatArray) -> FloatArray:
        """Return Z'e."""
        return np.asarray((residuals @ self.products.design) * self.uses[models])

    def information(self, models: IntArray, weights: FloatArray) -> FloatArray:
        """Return Z'WZ."""
        uses = self.uses[models]
        return self.products.under(weights) * (uses[:, :, None] & uses[:, None, :])

    def quadratic(self, models: IntArray, matrices: FloatArray) -> FloatArray:
        """Return z'Mz of each row."""
        return self.products.quadratic_forms(matrices)


@dataclass(frozen=True)
class NarrowDesign:
    """A few columns of one matrix for each model, shape (m, d); the last and zero one for none."""

    matrix: FloatArray
    columns: IntArray

    def predict(self, models: IntArray, coef: FloatArray) -> FloatArray:
        """Return linear predictors."""
        whole = np.zeros((len(coef), self.matrix.shape[1]))
        np.put_along_axis(whole, self.columns[models], coef, axis=1)
        return np.asarray(whole @ self.matrix.T)

    def gradient(self, models: IntArray, residuals: FloatArray) -> FloatArray:
        """Return Z'e."""
        return np.take_along_axis(residuals @ self.matrix, self.columns[models], axis=1)

    def information(self, models: IntArray, weights: FloatArray) -> FloatArray:
        """Return Z'WZ."""
        lines = (self.matrix.T[at] for at in self.columns[models])
        return np.array([(own * line) @ own.T for own, line in zip(lines, weights, strict=True)])

    def quadratic(self, models: IntArray, matrices: FloatArray) -> FloatArray:
        """Return z'Mz of each row."""
        lines = (self.matrix.T[at] for at in self.columns[models])
        return np.array([np.vecdot((m @ z).T, z.T) for m, z in zip(matrices, lines, strict=True)])


@dataclass(frozen=True)
class StackedDesign:
    """A matrix for each model, shape (m, L, d)."""

    matrices: FloatArray

    def predict(self, models: IntArray, coef: FloatArray) -> FloatArray:
        """Return linear predictors."""
        return np.asarray((self.matrices[models] @ coef[:, :, None])[:, :, 0])

    def gradient(self, models: IntArray, residuals: FloatArray) -> FloatArray:
        """Return Z'e."""
        return np.asarray((residuals[:, None, :] @ self.matrices[models])[:, 0])

    def information(self, models: IntArray, weights: FloatArray) -> FloatArray:
        """Return Z'WZ."""
        matrices = self.matrices[models]
        return np.asarray((matrices * weights[:, :, None]).transpose(0, 2, 1) @ matrices)

    def quadratic(self, models: IntArray, matrices: FloatArray) -> FloatArray:
        """Return z'Mz of each row."""
        own = self.matrices[models]
        return np.asarray(((own @ matrices) * own).sum(axis=2))


@dataclass(frozen=True)
class LogisticFits:
    """Where the iterations of m models ended, with the next Newton step."""

    coef: FloatArray
    predictor: FloatArray
    llf: FloatArray
    gradient: FloatArray
    information: FloatArray
    step: FloatArray
    decrement: FloatArray
    steps: IntArray
    converged: BoolArray


@dataclass(frozen=True)
class _Problem:
    """Likelihoods of m models, and their derivatives."""

    design: Design
    signs: FloatArray
    counts: FloatArray
    penalty: FloatArray
    firth: bool
    held: BoolArray

    def value(self, at: IntArray, coef: FloatArray, against: FloatArray) -> FloatArray:
        """Return penalised log-likelihoods, by the odds against what happened."""
        place = self.place(at)
        value = -np.vecdot(self.counts[place], np.log1p(against))
        value -= 0.5 * np.vecdot(self.penalty[place], coef**2)
        if self.firth:
            weight = self.counts[place] * against * (1 / (1 + against)) ** 2
            value += 0.5 * _log_determinants(self.design.information(at, weight))
        return np.asarray(value)

    def derivatives(
        self, at: IntArray, coef: FloatArray, against: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gradients, information, and the curvature that steps are made with."""
        place, chance = self.place(at), 1 / (1 + against)
        free = ~self.held[place]
        residual = self.counts[place] * (against * chance)
        weight = residual * chance
        information = self.design.information(at, weight)
        curvature = information
        if self.firth:
            leverage = weight * self.design.quadratic(at, inverses(information)[0])
            residual += leverage * (0.5 - chance)
            curvature = self.design.information(at, weight + leverage * against * chance**2)
            curvature *= free[:, :, None] & free[:, None, :]
        gradient = self.design.gradient(at, self.signs[place] * residual)
        gradient = (gradient - self.penalty[place] * coef) * free
        columns = np.arange(coef.shape[1])
        information[:, columns, columns] += self.penalty[place]
        return gradient, information, curvature

    def place(self, at: IntArray) -> IntArray | slice:
        """Return where models stand among all, so that no copy is made of all of them."""
        return slice(None) if len(at) == len(self.signs) else at


def maximize(
    design: Design,
    outcomes: BoolArray,
    counts: FloatArray,
    n_coefficients: int,
    *,
    offset: FloatArray | float = 0.0,
    penalty: FloatArray | float = 0.0,
    firth: bool = False,
    held: BoolArray | bool = False,
    start: FloatArray | None = None,
    max_iter: int | Sequence[int] = 100,
) -> LogisticFits:
    """Maximize the (penalised) likelihoods of m logistic regressions on L rows.

    Columns of a model must be linearly independent on its rows with counts; coefficients of
    columns that a model has not stay zero. Firth's penalty may have some that are `held` there.
    """
    n_models, shape = len(outcomes), (len(outcomes), n_coefficients)
    signs = np.where(outcomes, 1.0, -1.0)
    counts = np.broadcast_to(counts, signs.shape)
    penalty, held = np.broadcast_to(penalty, shape), np.broadcast_to(held, shape)
    problem = _Problem(design, signs, counts, penalty, firth, held)
    active = np.arange(n_models)
    coef = np.zeros(shape) if start is None else start.copy()
    predictor = design.predict(active, coef) + offset
    value, decrement = np.full(n_models, -np.inf), np.full(n_models, np.inf)
    gradient, step, move = np.zeros(shape), np.zeros(shape), np.zeros(signs.shape)
    information = np.zeros((*shape, n_coefficients))
    length, steps = np.ones(n_models), np.zeros(n_models, dtype=np.intp)
    converged, most = np.zeros(n_models, dtype=np.bool_), np.broadcast_to(max_iter, n_models)
    while len(active):
        place = problem.place(active)
        against = np.exp(-np.maximum(signs[place] * predictor[place], _LEAST_MARGIN))
        found = problem.value(active, coef[place], against)
        slack = ROUNDING_OF_LIKELIHOOD * (1 + np.abs(value[active]))
        falls = ~(found >= value[active] - slack) & (steps[active] > 0)
        back = active[falls]
        if len(back):
            for half in (step, move, length):
                half[back] /= 2
            coef[back] -= step[back]
            predictor[back] -= move[back]
        at = active[~falls]
        value[at] = found[~falls]
        if len(at):
            against = against[~falls] if len(back) else against
            gradient[at], information[at], curvature = problem.derivatives(at, coef[at], against)
            step[at] = newton_steps(curvature, gradient[at])
            previous, decrement[at] = decrement[at], np.vecdot(gradient[at], step[at])
            stalled = (decrement[at] <= STALLED) & (decrement[at] >= previous)
            converged[at] = (decrement[at] <= CONVERGED) | stalled
        going = ~converged[active] & (length[active] > _SHORTEST)
        going &= falls | (steps[active] < most[active])
        at = active[~falls & going]
        if len(at):
            place = problem.place(at)
            move[place] = design.predict(at, step[at])
            furthest = (np.abs(move[place]) * (counts[place] > 0)).max(axis=1, initial=0.0)
            share = LONGEST_MOVE / np.maximum(furthest, LONGEST_MOVE)
            step[at] *= share[:, None]
            move[place] *= share[:, None]
            coef[at] += step[at]
            predictor[place] += move[place]
            length[at] = 1.0
            steps[at] += 1
        active = active[going]
    return LogisticFits(
        coef, predictor, value, gradient, information, step, decrement, steps, converged
    )


def proves_overlap(design: Design, fits: LogisticFits, counts: FloatArray) -> BoolArray:
    r"""Return which fits prove that their maxima are finite.

    By self-concordance of the logistic likelihood a maximum exists if :math:`\nu R \le \frac12`,
    with :math:`\nu^2 = g'A^{-1}g` and :math:`R^2 = \max z'A^{-1}z` [1]_.

    References
    ----------
    .. [1] Bach, F. (2010). Self-concordant analysis for logistic regression. *Electronic Journal of
       Statistics* 4, 384–414.
    """
    covariance, inflation = inverses(fits.information)
    known = fits.converged & (inflation > 0) & (inflation < MOST_INFLATED)
    at = np.flatnonzero(known)
    if not len(at):
        return known
    covariance, gradient = covariance[at], fits.gradient[at]
    radius = np.where(counts[at] > 0, design.quadratic(at, covariance), 0.0).max(
        axis=1, initial=0.0
    )
    decrement = np.einsum("mi,mij,mj->m", gradient, covariance, gradient)
    known[at] = np.abs(decrement) * radius <= 0.25
    return known


def inverses(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Invert information matrices; return the largest variance inflation of each too.

    Columns that a model has not are zero in both.
    """
    scaled, size = _scale(matrices, _REGULAR)
    inverse = np.linalg.inv(scaled)
    inflation = np.einsum("mii->mi", inverse)
    worst = np.where((inflation > 0).all(axis=1), inflation.max(axis=1, initial=0.0), np.inf)
    return inverse * (size[:, :, None] * size[:, None, :]), worst


def newton_steps(information: FloatArray, gradient: FloatArray) -> FloatArray:
    """Solve for Newton steps; zero in columns without information."""
    scaled, size = _scale(information, JITTER)
    return np.asarray(np.linalg.solve(scaled, (size * gradient)[:, :, None])[:, :, 0] * size)


def _scale(matrices: FloatArray, jitter: float) -> tuple[FloatArray, FloatArray]:
    """Bring matrices to a diagonal of one plus jitter; return also what columns are divided by."""
    diagonal = np.einsum("mii->mi", matrices)
    size = np.zeros(diagonal.shape)
    np.divide(1.0, np.sqrt(np.maximum(diagonal, 0.0)), out=size, where=diagonal > 1e-290)
    scaled = matrices * (size[:, :, None] * size[:, None, :])
    places = np.arange(diagonal.shape[1])
    scaled[:, places, places] = 1.0 + jitter
    return scaled, size


def _log_determinants(matrices: FloatArray) -> FloatArray:
    """Return log determinants of the parts of matrices that have a diagonal."""
    scaled, size = _scale(matrices, 0.0)
    _, log_determinant = np.linalg.slogdet(scaled)
    inside = np.where(size > 0, size, 1.0)
    return np.asarray(log_determinant - 2 * np.log(inside).sum(axis=1))
