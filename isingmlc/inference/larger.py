r"""Larger logistic models: a label's null model and columns besides, many models at once.

The null model of a label is its logistic regression on z: the constant, the other labels and the
covariates. A larger model has besides columns x times multipliers m, the constant or other labels.
Rows of a cell share z and m, so with weights :math:`w_i` at the rows the information is

.. math::

    \sum_i w_i z_i z_i' = \sum_g W_{0g} z_g z_g', \quad
    \sum_i w_i x_i z_i m_i' = \sum_g W_{1g} z_g m_g', \quad
    \sum_i w_i x_i^2 m_i m_i' = \sum_g W_{2g} m_g m_g', \quad
    W_{rg} = \sum_{i \in g} w_i x_i^r .

Only the three sums run over rows. Rows that are certain under the null model stay certain in a
larger one and add nothing to either likelihood: only the others are looked at. A fit that does not
prove that its maximum is finite is repeated as that of a label model by itself (see
:mod:`isingmlc.fitting.nodewise`), which finds the rows that are separated, and so the limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, typical_sizes
from isingmlc.base.tolerances import COLLINEAR
from isingmlc.fitting.design import Factors, Regressors
from isingmlc.fitting.logistic import inverses, maximize, proves_overlap
from isingmlc.fitting.nodewise import NetworkFit, fit_alone, ridge_penalty
from isingmlc.inference.blocks import scaled_forms
from isingmlc.inference.covariance import covariance_of

# Newton steps after which models that have not converged are fitted one by one.
_TOGETHER = 8


@dataclass(frozen=True, eq=False)
class LargerDesign:
    """Regressors that models share, and p columns of each model times q multipliers.

    Rows are sorted by cell. Shapes: regressors (cells, d), multipliers (cells, q), sizes (cells,),
    x (models, p, rows), uses (models, d + p q).
    """

    regressors: FloatArray
    multipliers: FloatArray
    sizes: IntArray
    x: FloatArray
    uses: BoolArray

    def among(self, models: IntArray) -> LargerDesign:
        """Return the design of some of the models."""
        return replace(self, x=self.x[models], uses=self.uses[models])

    @cached_property
    def _first(self) -> IntArray:
        """The first row of each cell."""
        return np.cumsum(self.sizes) - self.sizes

    def pool(self, values: FloatArray) -> FloatArray:
        """Add up rows, the last axis, within cells."""
        return np.asarray(np.add.reduceat(values, self._first, axis=-1))

    def spread(self, values: FloatArray) -> FloatArray:
        """Repeat what cells have for each of their rows."""
        return np.repeat(values, self.sizes, axis=-1)

    def _columns(self, models: IntArray) -> FloatArray:
        return self.x if len(models) == len(self.x) else self.x[models]

    def predict(self, models: IntArray, coef: FloatArray) -> FloatArray:
        """Return linear predictors."""
        x, size = self._columns(models), self.regressors.shape[1]
        predictor = self.spread(coef[:, :size] @ self.regressors.T)
        slopes = coef[:, size:].reshape(*x.shape[:2], -1) @ self.multipliers.T
        for at in range(x.shape[1]):
            predictor += self.spread(slopes[:, at]) * x[:, at]
        return predictor

    def gradient(self, models: IntArray, residuals: FloatArray) -> FloatArray:
        """Return Z'e."""
        inner = self.pool(residuals) @ self.regressors
        added = self.pool(residuals[:, None, :] * self._columns(models)) @ self.multipliers
        return np.hstack([inner, added.reshape(len(inner), -1)]) * self.uses[models]

    def cell_gradients(self, residuals: FloatArray) -> FloatArray:
        """Return Z'e within cells, of all models: (models, cells, columns)."""
        inner = self.pool(residuals)[:, :, None] * self.regressors
        added = self.pool(residuals[:, None, :] * self.x)[..., None] * self.multipliers
        added = added.transpose(0, 2, 1, 3).reshape(*inner.shape[:2], -1)
        return np.concatenate([inner, added], axis=2) * self.uses[:, None, :]

    def information(self, models: IntArray, weights: FloatArray) -> FloatArray:
        """Return Z'WZ."""
        x, uses = self._columns(models), self.uses[models]
        weighted = weights[:, None, :] * x
        n_models, p, _ = x.shape
        z, m = self.regressors, self.multipliers
        size, q = z.shape[1], m.shape[1]
        found = np.empty((n_models, size + p * q, size + p * q))
        found[:, :size, :size] = (z.T * self.pool(weights)[:, None, :]) @ z
        crossed = (z.T * self.pool(weighted)[:, :, None, :]) @ m
        crossed = crossed.transpose(0, 2, 1, 3).reshape(n_models, size, p * q)
        found[:, :size, size:], found[:, size:, :size] = crossed, crossed.transpose(0, 2, 1)
        for at in range(p):
            second = self.pool(weighted * x[:, [at]])
            own = ((m.T * second[:, :, None, :]) @ m).transpose(0, 2, 1, 3)
            place = size + at * q
            found[:, place : place + q, size:] = own.reshape(n_models, q, p * q)
        return np.asarray(found * (uses[:, :, None] & uses[:, None, :]))

    def quadratic(self, models: IntArray, matrices: FloatArray) -> FloatArray:
        """Return z'Mz of each row."""
        x, z, m = self._columns(models), self.regressors, self.multipliers
        p, size, q = x.shape[1], z.shape[1], m.shape[1]
        form = self.spread(((z @ matrices[:, :size, :size]) * z).sum(axis=2))
        for at in range(p):
            lines = matrices[:, size + at * q : size + (at + 1) * q]
            slope = 2 * self.spread(((m @ lines[:, :, :size]) * z).sum(axis=2))
            for other in range(p):
                own = lines[:, :, size + other * q : size + (other + 1) * q]
                slope += self.spread(((m @ own) * m).sum(axis=2)) * x[:, other]
            form += slope * x[:, at]
        return np.asarray(form)


class Null(NamedTuple):
    """A label's null model on its uncertain cells and their rows, sorted by cell.

    `places` are those of the coefficients among the regressors of the fit; `root` (r, cells) has
    F'z w, with F F' the inverse information and weights w. Models with Firth's penalty have all
    cells, and weights of one.
    """

    fit: NetworkFit
    places: IntArray
    cells: IntArray
    outcome: BoolArray
    sizes: IntArray
    counts: FloatArray
    coef: FloatArray
    penalty: FloatArray
    weight: FloatArray
    root: FloatArray

    @property
    def columns(self) -> FloatArray:
        """The regressors z, cells × d."""
        return self.fit.regressors.matrix[np.ix_(self.cells, self.places)]

    @property
    def value(self) -> float:
        """The (penalised) log-likelihood."""
        predictor = self.columns @ self.coef
        found = log_expit(np.where(self.outcome, predictor, -predictor))
        pooled = np.add.reduceat(self.counts, np.cumsum(self.sizes) - self.sizes)
        return float(pooled @ found - 0.5 * self.penalty @ self.coef**2)

    @property
    def outcomes(self) -> BoolArray:
        """The outcomes of the rows."""
        return np.repeat(self.outcome, self.sizes)

    def centre(self, x: FloatArray) -> FloatArray:
        """Centre columns, the last axis being rows, if there is an intercept."""
        if not self.fit.settings.intercept:
            return x
        # Around its first value a constant is exactly zero.
        x = x - x[..., :1]
        return np.asarray(x - np.average(x, axis=-1, weights=self.counts)[..., None])

    def design(self, x: FloatArray, multipliers: FloatArray) -> LargerDesign:
        """Add columns times multipliers to each model; those that depend on others stand aside."""
        z = self.columns
        size = x.shape[1] * multipliers.shape[1]
        uses = np.ones((len(x), z.shape[1] + size), dtype=np.bool_)
        whole = LargerDesign(z, multipliers, self.sizes, x, uses)
        first = whole.pool(self.counts * x)
        leaning = (self.root[:, None, None] * first).transpose(1, 2, 0, 3) @ multipliers
        leaning = leaning.transpose(0, 2, 1, 3).reshape(len(x), -1, size)
        weights = np.broadcast_to(self.counts * whole.spread(self.weight), (len(x), x.shape[-1]))
        information = whole.information(np.arange(len(x)), weights)
        information = information[:, z.shape[1] :, z.shape[1] :]
        rest = information - leaning.transpose(0, 2, 1) @ leaning
        total = np.einsum("mii->mi", information).copy()
        for at in range(size):
            pivot = rest[:, at, at]
            has_rank = pivot > COLLINEAR * total[:, at]
            uses[:, z.shape[1] + at] = has_rank
            share = rest[:, at] * has_rank[:, None] / np.where(has_rank, pivot, 1.0)[:, None]
            rest = rest - share[:, :, None] * rest[:, None, at]
        return whole


@dataclass(frozen=True, eq=False)
class LargerFits:
    """Larger models of one label: n models with D coefficients.

    `gain` is that in (penalised) log-likelihood. Where something is separated the covariance is
    NaN, and so are coefficients that are not infinite.
    """

    design: LargerDesign
    n_null: int
    gain: FloatArray
    coef: FloatArray
    covariance: FloatArray
    separated: BoolArray
    converged: BoolArray

    @classmethod
    def empty(cls, design: LargerDesign, n_null: int) -> LargerFits:
        """Return what is known before anything is fitted."""
        n_models, size = design.uses.shape
        return cls(
            design,
            n_null,
            gain=np.full(n_models, np.nan),
            coef=np.full((n_models, size), np.nan),
            covariance=np.full((n_models, size, size), np.nan),
            separated=np.zeros(n_models, dtype=np.bool_),
            converged=np.ones(n_models, dtype=np.bool_),
        )

    @property
    def df(self) -> FloatArray:
        """The number of columns that are added; NaN if there is none."""
        df = self.design.uses[:, self.n_null :].sum(axis=1).astype(np.float64)
        return np.where(df > 0, df, np.nan)

    def wald(self, first: int) -> FloatArray:
        """Test the coefficients from some column on."""
        known = np.flatnonzero(np.isfinite(self.covariance).all(axis=(1, 2)))
        statistic = np.full(len(self.coef), np.nan)
        covariance = self.covariance[known][:, first:, first:]
        scale = np.einsum("mii->mi", covariance)
        statistic[known], _ = scaled_forms(self.coef[known, first:], scale, covariance)
        return statistic

    def effects(self, column: int) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients of a column, and their errors."""
        has = self.design.uses[:, column]
        coef = np.where(has, self.coef[:, column], np.nan)
        return coef, np.sqrt(np.where(has, self.covariance[:, column, column], np.nan))


def fit_larger(null: Null, x: FloatArray, multipliers: FloatArray) -> LargerFits:
    """Fit larger models with columns x (models, p, rows) times multipliers (cells, q)."""
    design, n_null = null.design(x, multipliers), len(null.places)
    found = LargerFits.empty(design, n_null)
    at = np.flatnonzero(found.df > 0)
    if not len(at):
        return found
    some, shape, size = design.among(at), (len(at), x.shape[2]), found.coef.shape[1]
    penalty, start = np.zeros(size), np.zeros((len(at), size))
    penalty[:n_null], start[:, :n_null] = null.penalty, null.coef
    counts = np.broadcast_to(null.counts, shape)
    fits = maximize(
        some,
        np.broadcast_to(null.outcomes, shape),
        counts,
        size,
        penalty=penalty,
        start=start,
        max_iter=min(null.fit.settings.max_iter, _TOGETHER),
    )
    proven = proves_overlap(some, fits, counts)
    done = at[proven]
    found.gain[done], found.coef[done] = fits.llf[proven] - null.value, fits.coef[proven]
    found.covariance[done] = inverses(fits.information[proven])[0]
    for model in at[~proven].tolist():
        _fit_alone(null, found, model)
    if null.fit.is_robust:
        _make_robust(null, found, penalty)
    return found


def fit_firth(null: Null, x: FloatArray, multipliers: FloatArray) -> LargerFits:
    """Do the same with Firth's penalty, in the design of the larger models, for one column each."""
    design = null.design(x, multipliers)
    found = LargerFits.empty(design, len(null.places))
    at = np.flatnonzero(found.df > 0)
    if len(at):
        shape, size = (len(at), x.shape[2]), found.coef.shape[1]
        larger, smaller = (
            maximize(
                design.among(at),
                np.broadcast_to(null.outcomes, shape),
                null.counts,
                size,
                firth=True,
                held=held,
                max_iter=null.fit.settings.max_iter,
            )
            for held in (False, np.arange(size) == size - 1)
        )
        found.gain[at], found.coef[at] = larger.llf - smaller.llf, larger.coef
        found.covariance[at] = inverses(larger.information)[0]
        found.converged[at] = larger.converged & smaller.converged
    return found


def _fit_alone(null: Null, found: LargerFits, model: int) -> None:
    """Fit one model by itself, or its limit, on its distinct rows."""
    design, settings, whole = found.design, null.fit.settings, null.fit.regressors
    cells, x, counts = distinct_rows(
        np.repeat(np.arange(len(null.cells)), null.sizes), design.x[model], null.counts
    )
    if settings.intercept and (design.multipliers == 1).all():
        # Counting finds what 0/1 columns separate.
        low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
        x = np.where(((x == low) | (x == high)).all(axis=1, keepdims=True), x - low, x)
    added = (x.T[:, :, None] * design.multipliers[cells][:, None, :]).reshape(len(cells), -1)
    added = added[:, design.uses[model, found.n_null :]]
    units = typical_sizes(added)
    # The constant comes first, whether it is used or not.
    own = np.union1d([0], null.places)
    n_own, n_added = len(own), added.shape[1]
    size = n_own + n_added
    regressors = Regressors(
        np.hstack([whole.matrix[np.ix_(null.cells[cells], own)], added / units]),
        np.concatenate([np.minimum(whole.label_of[own], 0), np.full(n_added, -1)]),
        np.zeros(size),
        np.ones(size),
        np.concatenate([whole.variance[own], np.zeros(n_added)]),
    )
    outcome = null.outcome[cells]
    node = fit_alone(regressors, outcome, counts, settings)
    penalty = ridge_penalty(settings, regressors)
    coef = np.zeros(size)
    coef[node.basis] = node.coef[node.basis]
    predictor = regressors.matrix @ coef
    value = (counts * node.uncertain) @ log_expit(np.where(outcome, predictor, -predictor))
    value -= 0.0 if penalty is None else 0.5 * penalty @ coef**2
    found.gain[model], found.converged[model] = value - null.value, node.converged
    places = np.append(np.searchsorted(own, null.places), np.arange(n_own, size))
    used, units = np.flatnonzero(design.uses[model]), np.append(np.ones(found.n_null), units)
    weight = expit(predictor) * expit(-predictor)
    factors = Factors(regressors.products, counts, [node.basis], weight[None], penalty)
    if node.directions or factors[0].aliased.any():
        found.separated[model] = True
        for direction in reversed(node.directions):
            moved = direction[places] != 0
            found.coef[model, used[moved]] = np.copysign(np.inf, direction[places][moved])
        return
    root = np.zeros((size, factors[0].matrix.shape[1]))
    root[node.basis] = factors[0].matrix
    root = root[places] / units[:, None]
    found.coef[model], found.covariance[model] = 0.0, 0.0
    found.coef[model, used] = coef[places] / units
    found.covariance[model][np.ix_(used, used)] = root @ root.T


def distinct_rows(
    cells: IntArray, x: FloatArray, counts: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Pool rows that have cell and columns x (p, rows) in common."""
    order = np.lexsort((*x, cells))
    cells, x = cells[order], x[:, order]
    differs = (np.diff(x, axis=1) != 0).any(axis=0) | (np.diff(cells) > 0)
    first = np.concatenate([[0], np.flatnonzero(differs) + 1])
    return cells[first], x[:, first], np.add.reduceat(counts[order], first)


class _Residuals(NamedTuple):
    """Residuals of the rows of larger models; see `covariance.Residuals`."""

    effective: FloatArray
    weight: FloatArray
    drawn: FloatArray | None
    leverage: FloatArray


def _make_robust(null: Null, found: LargerFits, penalty: FloatArray) -> None:
    """Replace covariances by robust ones, in place; where they are singular nothing is known."""
    at = np.flatnonzero(np.isfinite(found.covariance).all(axis=(1, 2)))
    design, coef, bread = found.design.among(at), found.coef[at], found.covariance[at]
    models, dependence = np.arange(len(at)), null.fit.dependence
    predictor = design.predict(models, coef)
    weight = expit(predictor) * expit(-predictor)
    residual = np.where(null.outcomes, expit(-predictor), -expit(predictor))
    # What the penalty pulls does not vary; see `NetworkFit.residuals`.
    steps = np.einsum("mij,mj->mi", bread, penalty * coef)
    residual -= weight * design.predict(models, steps)
    kind = covariance_of(null.fit)
    if dependence.clusters is not None:
        gradients = design.cell_gradients(null.counts * residual).transpose(1, 0, 2)
        clusters = dependence.clusters.among(null.cells)
        sums = clusters.add_up(gradients.reshape(len(null.cells), -1))
        meat = clusters.crossed(sums.reshape(-1, *coef.shape).transpose(1, 0, 2))
    else:
        drawn = None if dependence.drawn is None else design.spread(dependence.drawn[null.cells])
        leverage = weight * design.quadratic(models, bread)
        leverage *= 1.0 if drawn is None else drawn
        variance = kind.cell_variance(_Residuals(residual, weight, drawn, leverage))
        meat = design.information(models, null.counts * variance)
    covariance = bread @ meat @ bread
    variances = np.einsum("mii->mi", covariance)[:, found.n_null :]
    uses = design.uses[:, found.n_null :]
    known = np.isfinite(covariance).all(axis=(1, 2)) & ((variances > 0) | ~uses).all(axis=1)
    found.covariance[at] = np.where(known[:, None, None], covariance, np.nan)
    found.coef[at[~known]] = np.nan
    found.separated[at[~known]] = True
