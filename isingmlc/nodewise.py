r"""Nodewise logistic regressions: each label explained by all others, on the labelset table.

A fit on L labelsets with their counts as weights has the estimates, standard errors and
likelihood of the fit on n rows. Where labels are separated the fit is the limit of maximum
likelihood: settled labelsets (see :mod:`isingmlc.separation`) drop out with probability 0 or 1,
coefficients along the settling directions are infinite, and the rest is an ordinary fit of lower
rank. Ridge and Firth penalties keep everything finite instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit, log_expit
from threadpoolctl import ThreadpoolController

from isingmlc.arguments import check_option
from isingmlc.data import BoolArray, FloatArray, IntArray, row_blocks
from isingmlc.separation import (
    Columns,
    independent_columns,
    peel,
    settled_rows,
    shortest_direction,
)

METHODS = ("mle", "ridge", "firth")

# Squared Newton decrement at which a fit has converged; on very large counts rounding may stop
# it a little earlier.
_CONVERGED = 1e-18
_ROUNDING = 1e-12
# Squared decrement below which Firth's objective is concave enough for its exact curvature.
_NEAR = 1.0
# Newton squares its error near a finite maximum; a decrement that has not begun to collapse
# after so many steps (fewer from a good start) is taken for a sign of separation.
_PATIENCE = 5
_PATIENCE_WARM = 2
_COLLAPSE = 0.1
# Guesses at what is separated before the linear programme is asked.
_GUESSES = 3


@dataclass(frozen=True)
class FitSettings:
    """How the label models are fitted.

    Attributes
    ----------
    method : {"mle", "ridge", "firth"}
        Maximum likelihood (its limit under separation), or a penalty that keeps it finite.
    alpha : float
        Ridge penalty: ``alpha / 2`` times the squared coefficients, the intercept free.
    intercept : bool
        Whether each regression has a constant.
    max_iter : int
        Newton or scoring steps after which a fit is given up.
    """

    method: str = "mle"
    alpha: float = 1.0
    intercept: bool = True
    max_iter: int = 100


@dataclass(frozen=True)
class NodeFit:
    """The fitted model of one label given the others.

    Positions 0 and 1 + l in arrays of K + 1 entries stand for the constant and for label l.

    Attributes
    ----------
    label : int
        Which label is explained.
    coef, bse : ndarray, shape (K + 1,)
        Estimates and standard errors: ±inf and NaN along separated directions, NaN where a
        coefficient is aliased or not in the model.
    basis : ndarray of int
        Positions of the coefficients that the fit on the labelsets in play was made with.
    basis_coef : ndarray, shape (len(basis),)
        Their values.
    covariance : ndarray, shape (len(basis), len(basis))
        Inverse (penalised) information.
    directions : ndarray, shape (rounds, K + 1)
        Where coefficients run off; earlier rounds outweigh later ones.
    aliased, unidentified : ndarray, shape (K + 1, d)
        Directions of the coefficients about which the labelsets, or those in play, say nothing.
    in_play : ndarray of bool, shape (L,)
        Labelsets at which the label is not certain.
    probability : ndarray, shape (L,)
        Fitted probability at each labelset.
    llf, llf_null : float
        Log-likelihood of the fit and of the fit with a constant only.
    iterations : int
        Newton or scoring steps taken in all.
    converged : bool
        Whether the fit converged.
    """

    label: int
    coef: FloatArray
    bse: FloatArray
    basis: IntArray
    basis_coef: FloatArray
    covariance: FloatArray
    directions: FloatArray
    aliased: FloatArray
    unidentified: FloatArray
    in_play: BoolArray
    probability: FloatArray
    llf: float
    llf_null: float
    iterations: int
    converged: bool

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def predict(self, labels: BoolArray) -> FloatArray:
        """Give the probability of the label at any label vectors.

        Parameters
        ----------
        labels : ndarray of bool, shape (rows, K)
            Label vectors; the explained label itself is not looked at.

        Returns
        -------
        ndarray, shape (rows,)
            Probabilities; NaN where the data do not identify them.
        """
        design = np.column_stack([np.ones(len(labels)), labels])
        probability = expit(design[:, self.basis] @ self.basis_coef)
        probability[_touches(design, self.unidentified)] = np.nan
        for direction in self.directions[::-1]:
            push = design @ direction
            certain = np.abs(push) > 1e-9
            probability[certain] = push[certain] > 0
        probability[_touches(design, self.aliased)] = np.nan
        return np.asarray(probability)


def _touches(design: FloatArray, directions: FloatArray) -> BoolArray:
    """Mark rows whose linear predictor changes along any of the directions."""
    return np.asarray((np.abs(design @ directions) > 1e-9).any(axis=1))


@dataclass(frozen=True)
class _Solution:
    """Where an iteration stopped."""

    coef: FloatArray
    covariance: FloatArray
    step: FloatArray
    steps: int
    converged: bool


def fit_nodes(
    patterns: BoolArray, counts: FloatArray, settings: FitSettings
) -> tuple[NodeFit, ...]:
    """Fit the model of every label given the others.

    Parameters
    ----------
    patterns : ndarray of bool, shape (L, K)
        The labelsets.
    counts : ndarray, shape (L,)
        Their (weighted) counts.
    settings : FitSettings
        How to fit.

    Returns
    -------
    tuple of NodeFit
        One fit a label.

    Examples
    --------
    >>> patterns = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    >>> counts = np.array([30.0, 10.0, 10.0, 30.0])
    >>> first, second = fit_nodes(patterns, counts, FitSettings())
    >>> first.coef[2], np.log(30 * 30 / (10 * 10))  # the log odds ratio
    (np.float64(2.197...), np.float64(2.197...))
    """
    check_option("method", settings.method, METHODS)
    design = np.column_stack([np.ones(len(patterns)), patterns])
    gram = design.T @ design
    first = 0 if settings.intercept else 1
    whole = independent_columns(gram[first:, first:])
    constant = np.ptp(patterns.astype(np.int8), axis=0) == 0
    # These matrices are small: more threads only get in each other's way.
    with _thread_pools().limit(limits=1, user_api="blas"):
        in_play, directions = peel(patterns, settings.intercept)
        fits = []
        for label in range(patterns.shape[1]):
            columns = np.delete(np.arange(first, len(gram)), label + 1 - first)
            free = np.zeros((len(gram), 0))
            if len(whole.dropped) and settings.method != "ridge":
                chosen = whole.without(label + 1 - first)
                if chosen is None:
                    chosen = independent_columns(gram[np.ix_(columns, columns)])
                free = np.zeros((len(gram), len(chosen.dropped)))
                free[columns] = chosen.null_space
                columns = columns[chosen.kept]
            # The ridge penalty leaves the constant free: alone it still settles a constant label.
            settles = settings.method == "ridge" and settings.intercept and constant[label]
            problem = _Problem(label, design, columns, free, counts, settings)
            if settings.method == "mle" or settles:
                fits.append(_fit_limit(problem, in_play[label], directions[label]))
            else:
                fits.append(_fit_penalised(problem))
    return tuple(fits)


def find_aliases(patterns: BoolArray, intercept: bool) -> tuple[tuple[int, ...], ...]:
    """Find labels that are linear functions of others.

    Parameters
    ----------
    patterns : ndarray of bool, shape (L, K)
        The labelsets.
    intercept : bool
        Whether a constant counts as one of the others.

    Returns
    -------
    tuple of tuple of int
        For each label, the others that share a linear relation with it (constant labels, which
        are told apart anyway, are left out).

    Examples
    --------
    The third label is the first one turned round:

    >>> patterns = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]], dtype=bool)
    >>> find_aliases(patterns, intercept=True)
    ((2,), (), (0,))
    """
    n_labels = patterns.shape[1]
    varies = np.flatnonzero(patterns.any(axis=0) & ~patterns.all(axis=0))
    columns = patterns[:, varies].astype(np.float64)
    if intercept:
        columns = np.column_stack([np.ones(len(patterns)), columns])
    relations = independent_columns(columns.T @ columns)
    labels_of = np.concatenate([[-1], varies]) if intercept else varies
    related: list[set[int]] = [set() for _ in range(n_labels)]
    for dropped, shares in zip(relations.dropped, relations.dependence.T, strict=True):
        members = {int(labels_of[dropped]), *labels_of[relations.kept[shares != 0]].tolist()} - {-1}
        for member in members:
            related[member] |= members - {member}
    return tuple(tuple(sorted(others)) for others in related)


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@dataclass(frozen=True)
class _Problem:
    """The regression of one label: `design` holds a constant and all labels."""

    label: int
    design: FloatArray
    columns: IntArray
    aliased: FloatArray
    counts: FloatArray
    settings: FitSettings

    @property
    def outcome(self) -> BoolArray:
        """The label that is explained."""
        return self.design[:, self.label + 1] > 0

    def solved(
        self,
        *,
        basis: IntArray,
        solution: _Solution,
        estimable: IntArray,
        directions: list[FloatArray],
        unidentified: FloatArray,
        in_play: BoolArray,
        steps: int,
    ) -> NodeFit:
        """Put a fit together from the solution on the rows in play."""
        size = self.design.shape[1]
        outcome = self.outcome
        eta = self.design[np.ix_(in_play, basis)] @ solution.coef
        probability = outcome.astype(np.float64)
        probability[in_play] = expit(eta)
        coef, bse = np.full(size, np.nan), np.full(size, np.nan)
        finite = np.zeros(size, dtype=np.bool_)
        finite[basis[estimable]] = True
        coef[basis[estimable]] = solution.coef[estimable]
        bse[basis[estimable]] = np.sqrt(np.diag(solution.covariance))[estimable]
        for direction in directions[::-1]:
            running = (direction != 0) & ~finite
            coef[running] = np.copysign(np.inf, direction[running])
        return NodeFit(
            label=self.label,
            coef=coef,
            bse=bse,
            basis=basis,
            basis_coef=solution.coef,
            covariance=solution.covariance,
            directions=np.array(directions).reshape(len(directions), size),
            aliased=self.aliased,
            unidentified=unidentified,
            in_play=in_play,
            probability=probability,
            llf=float(self.counts[in_play] @ _log_likelihood(eta, outcome[in_play])),
            llf_null=_null_log_likelihood(outcome, self.counts, self.settings.intercept),
            iterations=steps,
            converged=solution.converged,
        )


def _fit_limit(problem: _Problem, in_play: BoolArray, directions: list[FloatArray]) -> NodeFit:
    """Fit by maximum likelihood, or its limit where the label is separated."""
    design, columns, counts = problem.design, problem.columns, problem.counts
    outcome, settings = problem.outcome, problem.settings
    size = design.shape[1]
    start: FloatArray | None = None
    steps = guesses = 0
    all_settled = False
    chosen = _rank(design[np.ix_(in_play, columns)])
    while True:
        basis = columns[chosen.kept]
        inner, result = design[np.ix_(in_play, basis)], outcome[in_play]
        solution = _newton(
            inner,
            result,
            counts[in_play],
            start=None if start is None else chosen.carry_over(start[columns]),
            max_steps=settings.max_iter - steps,
            patience=np.inf if all_settled else _PATIENCE if start is None else _PATIENCE_WARM,
        )
        steps += solution.steps
        if all_settled or (solution.converged and _proves_overlap(inner, solution)):
            break
        start = np.zeros(size)
        start[basis] = solution.coef
        # Along a separated direction a Newton step moves each settled row by about one and no
        # other row; such a guess is checked, and only where it fails a programme is solved.
        guesses += 1
        if guesses <= _GUESSES:
            settled = np.where(result, 1.0, -1.0) * (inner @ solution.step) > 0.5
        else:
            settled = settled_rows(inner, result)
            all_settled = True
        if not settled.any():
            continue
        remaining = in_play.copy()
        remaining[np.flatnonzero(in_play)[settled]] = False
        rest = _rank(design[np.ix_(remaining, columns)])
        regressors = design[np.ix_(in_play & ~remaining, columns)]
        direction = shortest_direction(regressors, result[settled], rest.null_space)
        if direction is not None:
            directions.append(np.zeros(size))
            directions[-1][columns] = direction
            in_play, chosen = remaining, rest
    unidentified = np.zeros((size, len(chosen.dropped)))
    unidentified[columns] = chosen.null_space
    return problem.solved(
        basis=basis,
        solution=solution,
        estimable=chosen.estimable,
        directions=directions,
        unidentified=unidentified,
        in_play=in_play,
        steps=steps,
    )


def _fit_penalised(problem: _Problem) -> NodeFit:
    """Fit with a ridge or Firth penalty: finite, so nothing is settled."""
    columns, counts, settings = problem.columns, problem.counts, problem.settings
    inner, outcome = problem.design[:, columns], problem.outcome
    if settings.method == "firth":
        solution = _firth_newton(inner, outcome, counts, settings.max_iter)
    else:
        penalty = np.where(columns == 0, 0.0, settings.alpha)
        solution = _newton(inner, outcome, counts, max_steps=settings.max_iter, penalty=penalty)
    return problem.solved(
        basis=columns,
        solution=solution,
        estimable=np.arange(len(columns)),
        directions=[],
        unidentified=np.zeros((problem.design.shape[1], 0)),
        in_play=np.ones(len(outcome), dtype=np.bool_),
        steps=solution.steps,
    )


def _rank(regressors: FloatArray) -> Columns:
    return independent_columns(regressors.T @ regressors, in_order=False)


def _newton(
    design: FloatArray,
    outcome: BoolArray,
    counts: FloatArray,
    *,
    start: FloatArray | None = None,
    max_steps: int,
    penalty: FloatArray | None = None,
    patience: float = np.inf,
) -> _Solution:
    """Maximise the (ridge-penalised) likelihood; stop where it stalls after `patience` steps."""
    if penalty is None:
        penalty = np.zeros(design.shape[1])
    ridge = np.diag(penalty)
    steps = 0
    if start is None:
        start = _first_step(design, outcome, counts, ridge)
        steps = 1

    # With the sign of the outcome, expit of the linear predictor is what happened to happen.
    signed = np.where(outcome, 1.0, -1.0)[:, None] * design

    def objective(coef: FloatArray, margin: FloatArray) -> float:
        return float(counts @ log_expit(margin) - 0.5 * coef @ (penalty * coef))

    coef, margin = start, signed @ start
    value = objective(coef, margin)
    previous = np.inf
    while True:
        surprise = expit(-margin)
        weights = counts * surprise * (1 - surprise)
        gradient = (counts * surprise) @ signed - penalty * coef
        covariance = _inverse((signed.T * weights) @ signed + ridge)
        if covariance is None:
            unknown = np.full_like(ridge, np.nan)
            return _Solution(coef, unknown, np.zeros_like(coef), steps, converged=False)
        step = covariance @ gradient
        decrement = float(gradient @ step)
        if decrement <= _CONVERGED or previous <= decrement <= _ROUNDING:
            return _Solution(coef, covariance, step, steps, converged=True)
        stalls = steps >= patience and decrement > _COLLAPSE * previous
        if steps >= max_steps or stalls:
            return _Solution(coef, covariance, step, steps, converged=False)
        previous = decrement
        length = 1.0
        while True:
            candidate = coef + length * step
            new_margin = signed @ candidate
            new_value = objective(candidate, new_margin)
            if new_value >= value - 1e-12 * abs(value) or length < 1e-6:
                break
            length /= 2
        coef, margin, value = candidate, new_margin, new_value
        steps += 1


def _first_step(
    design: FloatArray, outcome: BoolArray, counts: FloatArray, ridge: FloatArray
) -> FloatArray:
    """Take the first scoring step from probabilities of 1/4 and 3/4, as R's ``glm`` does."""
    weight = 3 / 16
    response = np.where(outcome, 1.0, -1.0) * (np.log(3) + 0.25 / weight)
    scaled = design.T * (weight * counts)
    information = scaled @ design + ridge
    return np.asarray(np.linalg.solve(information, scaled @ response))


def _proves_overlap(design: FloatArray, solution: _Solution) -> bool:
    r"""Tell whether a converged fit shows that nothing is separated.

    The logistic likelihood is self-concordant with constant :math:`R = \max_i \|z_i\|`, so a
    Newton decrement :math:`\nu \le \sqrt{\lambda_{min}} / (2R)` proves that a finite maximum
    exists (Bach, 2010, *Electronic Journal of Statistics* 4, proposition 2). The decrement is
    below its tolerance here, and :math:`1 / tr(\Sigma) \le \lambda_{min}`.
    """
    if not design.size:
        return True
    radius_squared = float((design**2).sum(axis=1).max())
    return bool(4 * radius_squared * np.trace(solution.covariance) * _CONVERGED <= 1.0)


def _firth_newton(
    design: FloatArray, outcome: BoolArray, counts: FloatArray, max_steps: int
) -> _Solution:
    r"""Maximise the likelihood with Jeffreys' prior by Newton steps with halving.

    The score is :math:`Z'(N(y - p) + h(1/2 - p))`, h the leverages (Firth, 1993, *Biometrika*
    80).
    """
    coef = np.zeros(design.shape[1])
    value, previous, steps = -np.inf, np.inf, 0
    step, length = np.zeros_like(coef), 1.0
    while True:
        candidate = coef + length * step
        eta = design @ candidate
        probability = expit(eta)
        variance = probability * expit(-eta)
        information = design.T @ ((counts * variance)[:, None] * design)
        covariance = _inverse(information)
        new_value = -np.inf
        if covariance is not None:
            log_determinant = float(np.linalg.slogdet(information)[1])
            new_value = float(counts @ _log_likelihood(eta, outcome)) + 0.5 * log_determinant
        if new_value < value - 1e-10 * abs(value) and length > 1e-6:
            length /= 2
            continue
        if covariance is None:
            unknown = np.full_like(information, np.nan)
            return _Solution(coef, unknown, step, steps, converged=False)
        coef, value, length = candidate, new_value, 1.0
        leverage = counts * variance * ((design @ covariance) * design).sum(axis=1)
        score = design.T @ (counts * (outcome - probability) + leverage * (0.5 - probability))
        # The score is that of data with h/2 more rows of each outcome: step with their
        # information, and with the exact curvature near the maximum.
        weights = (counts + leverage) * variance
        step = np.linalg.solve(design.T @ (weights[:, None] * design), score)
        if score @ step <= _NEAR:
            curvature = _inverse(
                _firth_curvature(design, counts, probability, variance, covariance, leverage)
            )
            step = step if curvature is None else curvature @ score
        decrement = float(score @ step)
        if decrement <= _CONVERGED or previous <= decrement <= _ROUNDING:
            return _Solution(coef, covariance, step, steps, converged=True)
        if steps >= max_steps:
            return _Solution(coef, covariance, step, steps, converged=False)
        previous = decrement
        steps += 1


def _firth_curvature(
    design: FloatArray,
    counts: FloatArray,
    probability: FloatArray,
    variance: FloatArray,
    covariance: FloatArray,
    leverage: FloatArray,
) -> FloatArray:
    """Give minus the second derivative of the likelihood with Jeffreys' prior."""
    slope = 1 - 2 * probability
    weights = counts * variance - 0.5 * leverage * (slope**2 - 2 * variance)
    curvature: FloatArray = design.T @ (weights[:, None] * design)
    scaled = (counts * variance * slope)[:, None] * design
    for block in row_blocks(len(design), 8 * len(design)):
        kernel = np.square(design[block] @ covariance @ design.T)
        curvature += 0.5 * scaled[block].T @ (kernel @ scaled)
    return curvature


def _inverse(information: FloatArray) -> FloatArray | None:
    """Invert a positive definite matrix; None where it is not one to working precision."""
    if not len(information):
        return information
    factor, failed = lapack.dpotrf(information, lower=1)
    if failed:
        return None
    lower, failed = lapack.dpotri(factor, lower=1)
    if failed:
        return None
    inverse: FloatArray = lower + lower.T
    inverse.flat[:: len(inverse) + 1] /= 2
    return inverse


def _log_likelihood(eta: FloatArray, outcome: BoolArray) -> FloatArray:
    return np.asarray(log_expit(np.where(outcome, eta, -eta)))


def _null_log_likelihood(outcome: BoolArray, counts: FloatArray, intercept: bool) -> float:
    total = float(counts.sum())
    positives = float(counts @ outcome)
    if not intercept:
        return -total * float(np.log(2))
    shares = np.array([positives, total - positives])
    shares = shares[shares > 0]
    return float(shares @ np.log(shares / total))
