r"""Larger logistic models: a label's null model and a feature besides, many features at once.

The null model of a label is its logistic regression on z, the constant and the other labels. A
larger model has besides a feature x times multipliers m: the constant, another label, or the
constant and all other labels. All of them are fitted together by one Newton iteration that starts
at the null model. Rows with the same labelset g share z and m, so with weights :math:`w_i` at the
rows the information is

.. math::

    \sum_i w_i z_i z_i' = \sum_g W_{0g} z_g z_g', \quad
    \sum_i w_i x_i z_i m_i' = \sum_g W_{1g} z_g m_g', \quad
    \sum_i w_i x_i^2 m_i m_i' = \sum_g W_{2g} m_g m_g', \quad
    W_{rg} = \sum_{i \in g} w_i x_i^r .

Only the three sums run over rows. A fit that converges mostly proves that its maximum is finite.
Where one does not, the rows that the feature separates are found and left out, as in
:mod:`isingmlc.fitting.nodewise`: what remains gives the likelihood of the limit.

A larger model may also have several columns besides, those of a formula term. It is fitted on the
rows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.special import expit, log_expit

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, typical_sizes
from isingmlc.base.tolerances import COLLINEAR
from isingmlc.fitting.flat import climb_flat, is_felt, lengths_of, root_odds
from isingmlc.fitting.newton import (
    LEAST_MARGIN,
    ROUNDING,
    Points,
    Solution,
    climb,
    newton,
    proves_overlap,
)
from isingmlc.fitting.old_separation import RANK_TOLERANCE, find_separation, unit_rows
from isingmlc.inference.score import Scores

# Variance inflation beyond which an inverse is not to be trusted.
_SINGULAR = 1e12
# A step that moves the margin of a row by more than this settles it, if no other row moves.
_CLEAR = 0.1
# What a column must leave of itself to be no function of others, whatever that is in other units.
_OWN = 1e-6


@dataclass(frozen=True)
class RowsInPlay:
    """The rows at which a label is not certain, sorted by labelset, and its null model on them."""

    sizes: IntArray
    weights: FloatArray | None
    regressors: FloatArray
    multipliers: FloatArray
    penalty: FloatArray
    start: FloatArray
    intercept: bool

    @property
    def n_null(self) -> int:
        """Coefficients of the null model."""
        return int(self.regressors.shape[1])

    @cached_property
    def first(self) -> IntArray:
        """The first row with each labelset."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def pooled(self, values: FloatArray) -> FloatArray:
        """Sum values of the rows, the last axis, over those with each labelset."""
        return np.asarray(np.add.reduceat(values, self.first, axis=-1))

    @cached_property
    def counts(self) -> FloatArray:
        """The (weighted) number of rows with each labelset."""
        return self.sizes.astype(float) if self.weights is None else self.pooled(self.weights)

    @cached_property
    def has_no_origin(self) -> bool:
        """Whether larger models are the same from wherever a feature is measured."""
        if self.penalty.any():
            return False
        if not self.intercept or (np.abs(self.multipliers) == 1).all():
            return True
        slope = np.linalg.lstsq(self.regressors, self.multipliers, rcond=None)[0]
        rest = self.regressors @ slope - self.multipliers
        return bool(np.abs(rest).max(initial=0.0) < RANK_TOLERANCE)

    @cached_property
    def margin(self) -> FloatArray:
        """The margin of each labelset under the null model."""
        return np.asarray(self.regressors @ self.start[: self.n_null])

    @cached_property
    def log_likelihood(self) -> FloatArray:
        """The null model's log-likelihood of the rows with each labelset."""
        return np.asarray(self.counts * log_expit(self.margin))

    @cached_property
    def value(self) -> float:
        """The (penalised) log-likelihood of the null model."""
        return float(self.log_likelihood.sum() - 0.5 * self.penalty @ self.start**2)

    @cached_property
    def _triangle(self) -> tuple[FloatArray, IntArray]:
        """A triangular root of the null model's information, and the columns in its order."""
        roots = np.sqrt(self.counts * expit(self.margin) * expit(-self.margin))
        ridge = np.diag(np.sqrt(self.penalty[: self.n_null]))
        rows = np.vstack([roots[:, None] * self.regressors, ridge])
        triangle, order = qr(rows, mode="r", pivoting=True)
        pivots = np.abs(np.diag(triangle))
        rank = int(np.sum(pivots > np.finfo(float).eps * pivots.max(initial=0.0)))
        return triangle[:rank, :rank], order[:rank]

    def explained(self, crossed: FloatArray) -> FloatArray:
        """Return how much of the information of columns the null model takes: C'A⁻¹C."""
        triangle, order = self._triangle
        n_models, _, n_added = crossed.shape
        flat = crossed[:, order].transpose(1, 0, 2).reshape(len(order), n_models * n_added)
        half = solve_triangular(triangle, flat, trans="T").reshape(-1, n_models, n_added)
        half = half.transpose(1, 0, 2)
        return np.asarray(half.transpose(0, 2, 1) @ half)


class LargerModels:
    """What is known of some larger models."""

    def __init__(self, kept: BoolArray, n_null: int, n_given: int = 0) -> None:
        rank = kept[:, n_null:].sum(axis=1)
        self.kept, self._n_null, self._n_given = kept, n_null, n_given
        self.whole = np.full(kept.shape, np.nan)
        self.step = np.zeros(kept.shape)
        self.df = np.where(rank > 0, rank, np.nan)
        self.gain, self.wald, self.coef, self.bse = np.full((4, len(kept)), np.nan)
        self.separated = np.zeros(len(kept), dtype=np.bool_)
        self.finished = rank == 0

    def record(
        self, at: IntArray, gain: FloatArray, coef: FloatArray, covariance: FloatArray
    ) -> None:
        """Note finite maxima."""
        self.gain[at], self.whole[at] = gain, coef
        coef = coef[:, self._n_null :]
        tested = coef[:, self._n_given :]
        precision = _inverses(covariance[:, self._n_given :, self._n_given :])
        self.wald[at] = np.einsum("ij,ijk,ik->i", tested, precision, tested)
        self.coef[at] = tested[:, 0]
        self.bse[at] = np.sqrt(covariance[:, self._n_given, self._n_given])
        self.finished[at] = True


def fit_larger_models(
    null: RowsInPlay, features: FloatArray, max_steps: int, n_given: int = 0
) -> LargerModels:
    """Fit the larger models of some features for one label."""
    x, size = _standardise(null, features, null.weights)
    # Steps from points so far out that no row has a weight may be of any length.
    with np.errstate(over="ignore", invalid="ignore"):
        models = _fit_together(null, x, max_steps, n_given)
        for at in np.flatnonzero(~models.finished).tolist():
            _finish(models, at, null, _distinct_rows(null, x[[at]]), models.step[at], max_steps)
    models.coef /= size
    models.bse /= size
    return models


class ProductScores(NamedTuple):
    """Scores of the products of features, in models that have the features."""

    score: FloatArray
    variance: FloatArray
    scale: FloatArray
    separated: BoolArray
    error: FloatArray


class _ModelsWithFeature:
    """Models that have a feature besides, and what they leave of its products."""

    def __init__(self, null: RowsInPlay, features: FloatArray, max_steps: int) -> None:
        self.n_given = n_given = null.n_null + 1
        base = replace(
            null,
            multipliers=null.multipliers[:, :1],
            penalty=null.penalty[:n_given],
            start=null.start[:n_given],
        )
        models = fit_larger_models(base, features, max_steps)
        has_rank = models.kept[:, null.n_null]
        coef = np.zeros((len(features), len(null.start)))
        # A feature without rank changes nothing.
        coef[:, :n_given] = np.where(has_rank[:, None], models.whole, base.start)
        failed = np.asarray(np.isnan(coef).any(axis=1))
        self.coef = np.where(failed[:, None], 0.0, coef)
        self.x, self.size = _standardise(null, features, null.weights)
        _, self.gradient, self.information = _evaluate(null, self.x, self.coef)
        inner, added = np.s_[:n_given], np.s_[n_given:]
        self.crossed = self.information[:, inner, added] * models.kept[:, :, None]
        points = _solve(
            models.kept,
            self.gradient[:, 0],
            self.gradient[:, inner],
            self.information[:, inner, inner],
        )
        self.slope = points.curvature @ self.crossed
        self.failed = failed | np.isnan(points.decrement)

    @property
    def scale(self) -> FloatArray:
        """What variances of the products are measured by, features × d."""
        added = self.information[:, self.n_given :, self.n_given :]
        return np.diagonal(added, axis1=1, axis2=2)


def score_products(null: RowsInPlay, features: FloatArray, max_steps: int) -> ProductScores:
    """Fit the models that have a feature besides, and score its products in them."""
    models = _ModelsWithFeature(null, features, max_steps)
    inner, added = np.s_[: models.n_given], np.s_[models.n_given :]
    slope, penalty = models.slope, null.penalty[inner]
    # The penalty's own gradient is no part of the scores, and does not vary.
    gradient = models.gradient + null.penalty * models.coef
    explained = models.crossed + penalty[:, None] * slope
    variance = models.information[:, added, added] - explained.transpose(0, 2, 1) @ slope
    score = gradient[:, added] - np.einsum("mi,mij->mj", gradient[:, inner], slope)
    left = models.scale - np.einsum("mij,mij->mj", models.crossed, slope)
    own = Scores(score, np.diagonal(variance, axis1=1, axis2=2), models.scale, left)
    error = own.one_step()[1] / models.size[:, None]
    return ProductScores(score, variance, models.scale, models.failed, error)


class ProductRests(NamedTuple):
    """What models that have a feature leave of its products, by rows."""

    rest: FloatArray
    scale: FloatArray
    probability: FloatArray
    complement: FloatArray


def leave_products(null: RowsInPlay, features: FloatArray, max_steps: int) -> ProductRests:
    """Fit the models that have a feature besides, and give what they leave of its products."""
    models = _ModelsWithFeature(null, features, max_steps)
    n_null, x = null.n_null, models.x
    sign = np.repeat(null.multipliers[:, 0], null.sizes)
    margin = np.repeat(models.coef[:, :n_null] @ null.regressors.T, null.sizes, axis=1)
    margin += models.coef[:, [n_null]] * x * sign
    # By row and product, unsigned: the feature times a multiplier, less what is explained of it.
    factors = np.repeat(null.multipliers[:, 1:], null.sizes, axis=0) - (
        sign[:, None] * models.slope[:, None, n_null]
    )
    explained = np.repeat(null.regressors @ models.slope[:, :n_null], null.sizes, axis=1)
    rest = (x[:, :, None] * factors - explained) * sign[:, None]
    return ProductRests(rest, models.scale, expit(sign * margin), expit(-sign * margin))


def fit_block(null: RowsInPlay, columns: FloatArray, max_steps: int) -> LargerModels:
    """Fit the larger model of one label that has several columns together."""
    x, _ = _standardise(null, columns, null.weights)
    rows = _distinct_rows(null, x)
    design, margin = _design(null, rows), null.margin[rows.codes]
    weights = rows.counts * expit(margin) * expit(-margin)
    information = (design.T * weights) @ design + np.diag(null.penalty)
    models = LargerModels(_columns_with_rank(null, information[None]), null.n_null)
    if not models.finished[0]:
        with np.errstate(over="ignore", invalid="ignore"):
            _finish(models, 0, null, rows, None, max_steps)
    return models


def _finish(
    models: LargerModels,
    at: int,
    null: RowsInPlay,
    rows: _Rows,
    step: FloatArray | None,
    max_steps: int,
) -> None:
    """Fit one model or its limit by itself, and record it."""
    kept = models.kept[at]
    gain, direction, solution = _fit_alone(null, rows, kept, step, max_steps)
    covariance = solution.covariance[null.n_null :, null.n_null :]
    # A maximum may lie so far out that some rows are certain in floating-point numbers.
    if direction is None and not _is_singular(covariance):
        # A column without rank stands aside.
        coef, added = np.zeros(len(kept)), np.eye(len(kept) - null.n_null)
        coef[kept] = solution.coef
        inside = np.flatnonzero(kept[null.n_null :])
        added[np.ix_(inside, inside)] = covariance
        models.record(np.array([at]), np.array([gain]), coef[None], added[None])
    else:
        models.gain[at], models.separated[at] = gain, True
        if direction is not None and direction[-1]:
            models.coef[at] = np.copysign(np.inf, direction[-1])
    models.finished[at] = solution.converged


class _Rows(NamedTuple):
    """Distinct rows: their labelsets, their columns x (columns × rows) and how many they are."""

    codes: IntArray
    x: FloatArray
    counts: FloatArray


def _standardise(
    null: RowsInPlay, x: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Scale each feature to unit size, around its middle if that is free; return sizes too."""
    if null.has_no_origin:
        x = x - _medians(x, weights)[:, None] if null.intercept else x
        size = typical_sizes(x.T)
        return x / size[:, None], size
    if null.intercept:
        # Around its first value a constant is exactly zero.
        x = x - x[:, :1]
        x -= np.average(x, axis=1, weights=weights, keepdims=True)
    size = np.sqrt(np.mean(x**2, axis=1))
    size[size == 0] = 1.0
    return x / size[:, None], size


def _medians(x: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the (weighted) median of each line."""
    if weights is None:
        return np.asarray(np.median(x, axis=1))
    order = np.argsort(x, axis=1)
    below = np.cumsum(weights[order], axis=1)
    middle = np.argmax(below >= below[:, -1:] / 2, axis=1)
    return np.asarray(np.take_along_axis(x, order, axis=1)[np.arange(len(x)), middle])


def _at_null(null: RowsInPlay, x: FloatArray) -> tuple[FloatArray, ...]:
    """Return what `_evaluate` gives at the null model, where rows of a labelset are alike."""
    weighted = x if null.weights is None else null.weights * x
    sums, squares = null.pooled(weighted), null.pooled(weighted * x)
    chance, residual = expit(null.margin), expit(-null.margin)
    gradient = np.empty((len(x), len(null.start)))
    gradient[:, : null.n_null] = (null.counts * residual) @ null.regressors
    gradient[:, null.n_null :] = (residual * sums) @ null.multipliers
    gradient -= null.penalty * null.start
    weight = residual * chance
    information = _information(null, (weight * null.counts)[None], weight * sums, weight * squares)
    return np.zeros(len(x)), gradient, information


def _evaluate(null: RowsInPlay, x: FloatArray, coef: FloatArray) -> tuple[FloatArray, ...]:
    """Return gain in (penalised) likelihood over the null model, gradient and information."""
    n_null = null.n_null
    margin = np.repeat(coef[:, n_null:] @ null.multipliers.T, null.sizes, axis=1)
    margin *= x
    margin += np.repeat(coef[:, :n_null] @ null.regressors.T, null.sizes, axis=1)
    odds = np.exp(-np.maximum(margin, LEAST_MARGIN, out=margin), out=margin)
    chance = 1 / (1 + odds)
    # Of a row that is all but certain, the logarithm of its chance has no digits.
    log_likelihood = -np.log1p(odds)
    residual = odds * chance
    weight = residual * chance
    if null.weights is not None:
        for values in (log_likelihood, residual, weight):
            values *= null.weights
    gain = np.sum(null.pooled(log_likelihood) - null.log_likelihood, axis=1)
    gain += 0.5 * (null.start**2 - coef**2) @ null.penalty
    gradient = np.hstack(
        [null.pooled(residual) @ null.regressors, null.pooled(residual * x) @ null.multipliers]
    )
    gradient -= null.penalty * coef
    zeroth = null.pooled(weight)
    weight *= x
    first = null.pooled(weight)
    weight *= x
    return gain, gradient, _information(null, zeroth, first, null.pooled(weight))


def _information(
    null: RowsInPlay, zeroth: FloatArray, first: FloatArray, second: FloatArray
) -> FloatArray:
    """Return the information from sums of the weights times 1, x and x² over labelsets."""
    n_columns = len(null.start)
    information = np.empty((len(first), n_columns, n_columns))
    inner, added = np.s_[: null.n_null], np.s_[null.n_null :]
    information[:, inner, inner] = _products(null.regressors, zeroth, null.regressors)
    crossed = _products(null.regressors, first, null.multipliers)
    information[:, inner, added] = crossed
    information[:, added, inner] = crossed.transpose(0, 2, 1)
    information[:, added, added] = _products(null.multipliers, second, null.multipliers)
    information += np.diag(null.penalty)
    return information


def _products(left: FloatArray, weights: FloatArray, right: FloatArray) -> FloatArray:
    """Return the cross-products of two matrices under each line of weights."""
    return np.asarray((left.T * weights[:, None, :]) @ right)


def _columns_with_rank(null: RowsInPlay, information: FloatArray) -> BoolArray:
    """Mark the columns of each model that are independent, those of the null model first."""
    inner, added = np.s_[: null.n_null], np.s_[null.n_null :]
    rest = information[:, added, added] - null.explained(information[:, inner, added])
    total = np.diagonal(information[:, added, added], axis1=1, axis2=2)
    everyone = np.arange(len(rest))
    gained = np.zeros(total.shape, dtype=np.bool_)
    for _ in range(total.shape[1]):
        pivots = np.diagonal(rest, axis1=1, axis2=2)
        share = np.divide(pivots, total, out=np.zeros_like(total), where=(total > 0) & ~gained)
        best = share.argmax(axis=1)
        good = share[everyone, best] > COLLINEAR
        if not good.any():
            break
        gained[everyone[good], best[good]] = True
        line = rest[everyone, best] * good[:, None]
        pivot = np.where(good, pivots[everyone, best], 1.0)
        rest = rest - line[:, :, None] * line[:, None, :] / pivot[:, None, None]
    return np.hstack([np.ones((len(rest), null.n_null), dtype=np.bool_), gained])


def _fit_together(null: RowsInPlay, x: FloatArray, max_steps: int, n_given: int) -> LargerModels:
    """Fit all models at once, and record those that are proved to be maxima."""
    n_null = null.n_null
    gain, gradient, information = _at_null(null, x)
    models = LargerModels(_columns_with_rank(null, information), n_null, n_given)
    ranked = np.flatnonzero(~models.finished)
    if not len(ranked):
        return models
    if len(ranked) < len(x):
        x = x[ranked]
    kept = models.kept[ranked]
    furthest = np.maximum.reduceat(x**2, null.first, axis=1)
    norms = (null.regressors**2).sum(axis=1) + furthest * (null.multipliers**2).sum(axis=1)
    radius_squared = norms.max(axis=1)

    def evaluate(at: IntArray, coef: FloatArray) -> Points:
        return _solve(kept[at], *_evaluate(null, x if len(at) == len(x) else x[at], coef))

    def gives_up(at: int, _: int, points: Points, line: int) -> bool:
        # What has become too flat for a proof is likely to be separated.
        return bool(4 * radius_squared[at] * points.curvature[line].trace() * ROUNDING > 1.0)

    ends = climb(
        evaluate,
        np.tile(null.start, (len(x), 1)),
        max_steps,
        first=_solve(kept, gain[ranked], gradient[ranked], information[ranked]),
        size=abs(null.value),
        gives_up=gives_up,
    )
    models.step[ranked] = ends.step
    done = np.flatnonzero(ends.converged)
    covariance = np.array([ends.curvature[at] for at in done]).reshape(-1, *information.shape[1:])
    trace = np.trace(covariance, axis1=1, axis2=2)
    nobs = float(null.counts.sum())
    proved = proves_overlap(ends.decrement[done], trace, radius_squared[done], nobs)
    done = done[proved]
    added = covariance[proved, n_null:, n_null:]
    models.record(ranked[done], ends.value[done], ends.coef[done], added)
    return models


def _solve(
    kept: BoolArray, gain: FloatArray, gradient: FloatArray, information: FloatArray
) -> Points:
    """Return points with their covariances; there is no step where one is not to be trusted."""
    # A column without rank stands aside: its coefficient stays zero.
    gradient = gradient * kept
    information = np.where(kept[:, :, None] & kept[:, None, :], information, 0.0)
    information += np.eye(kept.shape[1]) * ~kept[:, None, :]
    covariance = _inverses(information)
    step = (covariance @ gradient[..., None])[..., 0]
    decrement = (gradient * step).sum(axis=1)
    variances = np.diagonal(covariance, axis1=1, axis2=2)
    inflation = variances * np.diagonal(information, axis1=1, axis2=2)
    regular = ((inflation > 0) & (inflation < _SINGULAR)).all(axis=1)
    return Points(gain, step, np.where(regular, decrement, np.nan), covariance)


def _inverses(matrices: FloatArray) -> FloatArray:
    """Invert each matrix; NaN where one is singular."""
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        inverses = np.full_like(matrices, np.nan)
        for matrix, inverse in zip(matrices, inverses, strict=True):
            with suppress(np.linalg.LinAlgError):
                inverse[:] = np.linalg.inv(matrix)
        return inverses


def _fit_alone(
    null: RowsInPlay, rows: _Rows, kept: BoolArray, step: FloatArray | None, max_steps: int
) -> tuple[float, FloatArray | None, Solution]:
    """Fit one model or its limit; give gain, direction of separation and fit of the rest."""
    design, penalty = _design(null, rows)[:, kept], null.penalty[kept]
    # Only directions without a penalty can be separated, and the length of a row is of no matter.
    free = design[:, penalty == 0]
    free = free / np.maximum(np.abs(free).max(axis=1, keepdims=True), np.finfo(float).tiny)

    def assess(
        some: FloatArray, counts: FloatArray, basis: IntArray, solution: Solution
    ) -> tuple[float, Solution, bool]:
        value = counts @ log_expit(some @ solution.coef)
        value -= 0.5 * penalty[basis] @ solution.coef**2
        covariance, decrement = _covariance_at(some, counts, penalty[basis], solution.coef)
        solution = replace(solution, half=covariance, decrement=decrement)
        # In the metric of the covariance it does not matter in which units columns are.
        reach = float(np.vecdot(some @ covariance, some).max(initial=0.0))
        proved = proves_overlap(decrement, 1.0, reach, float(counts.sum()))
        return float(value) - null.value, solution, solution.converged and bool(proved)

    def fit_rest(settled: BoolArray) -> tuple[float, Solution, bool]:
        rest, counts, basis = design[~settled], rows.counts[~settled], np.arange(len(penalty))
        is_sure = True
        if settled.any():
            x = rows.x[:, ~settled]
            if x.size and not penalty.any():
                x, _ = _standardise(null, x, counts)
            rest = _design(null, _Rows(rows.codes[~settled], x, counts))[:, kept]
            basis = _independent(rest, penalty)
            is_sure = bool(penalty.any()) or _explain(rest[:, basis], rest)
            rest = rest[:, basis]
        solution = newton(rest, counts, max_steps=max_steps, penalty=penalty[basis])
        if not solution.converged:
            solution = climb_flat(rest, counts, penalty[basis], solution.coef, max_steps)
        gain, solution, proved = assess(rest, counts, basis, solution)
        return gain, solution, proved and is_sure

    if step is None:
        first = newton(design, rows.counts, max_steps=max_steps, penalty=penalty)
        gain, solution, proved = assess(design, rows.counts, np.arange(len(penalty)), first)
        if proved:
            return gain, None, solution
        last = solution.step
    else:
        last = step[kept]
    # Along a separated direction a Newton step moves each settled row by about one and no other
    # row. Such a guess is right if what the step does to no other row confirms it, and complete if
    # the fit of the other rows proves that; only else a programme is solved.
    settled = design @ last > 0.5
    own = last[penalty == 0]
    direction = _within(free[~settled], own)
    moves = design[settled][:, penalty == 0] @ direction
    # In a row that is far out what rounding left of a step is long too.
    is_more = free[settled] @ direction > RANK_TOLERANCE * np.linalg.norm(own)
    if settled.any() and (is_more & (moves > _CLEAR)).all():
        gain, solution, complete = fit_rest(settled)
        if complete:
            return gain, direction, solution
    try:
        direction, settled = find_separation(free)
    except exc.ModelError:
        # No programme can tell: it is as good as separated, unless the fit proves that it is not.
        gain, solution, proved = fit_rest(np.zeros(len(design), dtype=np.bool_))
        if not proved:
            solution = replace(solution, half=np.full_like(solution.half, np.nan))
        return gain, None, solution
    gain, solution, _ = fit_rest(settled)
    return gain, direction if settled.any() else None, solution


def _covariance_at(
    design: FloatArray, counts: FloatArray, penalty: FloatArray, coef: FloatArray
) -> tuple[FloatArray, float]:
    """Invert the information from a root of it; NaN where it is flat, or not at a maximum."""
    margin = design @ coef
    roots = root_odds(counts, margin) * expit(margin)
    scaled = np.vstack([roots[:, None] * design, np.diag(np.sqrt(penalty))])
    felt = is_felt(scaled, design, counts)
    covariance = np.full((len(coef), len(coef)), np.nan)
    scaled = scaled[:, felt]
    lengths = lengths_of(scaled)
    _, sizes, axes = np.linalg.svd(scaled / lengths, full_matrices=False)
    if len(sizes) == len(lengths) and (sizes > RANK_TOLERANCE).all():
        gradient = ((counts * expit(-margin)) @ design - penalty * coef)[felt]
        decrement = float(np.sum((axes @ (gradient / lengths) / sizes) ** 2))
        if decrement <= ROUNDING:
            own = (axes.T / sizes**2) @ axes / np.outer(lengths, lengths)
            covariance[np.ix_(felt, felt)] = own
            return covariance, decrement
    return covariance, np.nan


def _is_singular(covariance: FloatArray) -> bool:
    """Return whether a covariance is unknown, or known from rounding alone."""
    size = np.sqrt(np.diag(covariance))
    correlation = covariance / (size[:, None] * size)
    return bool(np.isnan(size).any() or np.linalg.cond(correlation) > _SINGULAR)


def _distinct_rows(null: RowsInPlay, x: FloatArray) -> _Rows:
    """Pool rows that have labelset and columns in common."""
    codes = np.repeat(np.arange(len(null.sizes)), null.sizes)
    order = np.lexsort((*x, codes))
    codes, x = codes[order], x[:, order]
    differs = (np.diff(x, axis=1, prepend=np.nan) != 0).any(axis=0)
    first = np.flatnonzero(differs | (np.diff(codes, prepend=-1) > 0))
    weights = np.ones(len(order)) if null.weights is None else null.weights[order]
    return _Rows(codes[first], x[:, first], np.add.reduceat(weights, first))


def _design(null: RowsInPlay, rows: _Rows) -> FloatArray:
    """Write a larger model out by rows: one column has multipliers, or several have one."""
    return np.hstack([null.regressors[rows.codes], rows.x.T * null.multipliers[rows.codes]])


def _within(rows: FloatArray, direction: FloatArray) -> FloatArray:
    """Return the part of a direction that leaves rows alone."""
    _, sizes, axes = np.linalg.svd(np.linalg.qr(rows, mode="r"))
    rank = int(np.sum(sizes > RANK_TOLERANCE * sizes.max(initial=0.0)))
    return np.asarray(axes[rank:].T @ (axes[rank:] @ direction))


def _independent(design: FloatArray, penalty: FloatArray) -> IntArray:
    """Choose columns that span all of them; those with a penalty can do without others."""
    design = unit_rows(design)
    triangle, order = qr(np.vstack([design, np.diag(np.sqrt(penalty))]), mode="r", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    longest = np.sqrt((design**2).sum(axis=0).max())
    return np.sort(order[: np.sum(pivots > RANK_TOLERANCE * longest)])


def _explain(basis: FloatArray, columns: FloatArray) -> bool:
    """Return whether columns are functions of a basis also where rows keep their lengths."""
    if not basis.size:
        return not columns.any()
    left = columns - basis @ np.linalg.lstsq(basis, columns)[0]
    return bool((np.linalg.norm(left, axis=0) <= _OWN * np.linalg.norm(columns, axis=0)).all())
