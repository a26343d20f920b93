r"""Robust errors of larger models, and the Wald statistics that follow from them.

Of a larger model that was fitted with d, the regressors of the null model and what is added, the
covariance is :math:`A^{-1} M A^{-1}` as for null models (see :mod:`isingmlc.inference.covariance`).
Rows of a cell share all of d but the feature x, so M needs the same three sums over rows as the
information A, with squared residuals in place of the weights; of clusters it needs two,
:math:`\sum e_i` and :math:`\sum e_i x_i`, within cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.nodewise import NetworkFit, NodeFit
from isingmlc.inference.covariance import LEAST_REST
from isingmlc.inference.larger_models import (
    LargerModels,
    RowsInPlay,
    _design,
    _distinct_rows,
    _information,
    _inverses,
    _standardise,
)
from isingmlc.statistics.dependence import Clusters


@dataclass(frozen=True, eq=False)
class RobustErrors:
    """What the errors of larger models of one label are made from."""

    by_leverage: bool
    drawn: FloatArray | None
    clusters: Clusters | None

    @classmethod
    def of(cls, fit: NetworkFit, node: NodeFit) -> RobustErrors | None:
        """Read what the settings of a fit say; None if errors are not robust."""
        if not fit.is_robust:
            return None
        cells, law = np.flatnonzero(node.in_play), fit.dependence
        return cls(
            fit.settings.cov_type == "HC2",
            None if law.drawn is None else law.drawn[cells],
            None if law.clusters is None else law.clusters.among(cells),
        )

    def replace_errors(
        self, models: LargerModels, null: RowsInPlay, features: FloatArray, n_given: int = 0
    ) -> None:
        """Replace the errors and Wald statistics of larger models that have one feature each."""
        at = np.flatnonzero(np.isfinite(models.wald))
        if not len(at):
            return
        x, size = _standardise(null, features[at], null.weights)
        coef, kept = models.whole[at], models.kept[at]
        n_null = null.n_null
        margin = np.repeat(coef[:, n_null:] @ null.multipliers.T, null.sizes, axis=1) * x
        margin += np.repeat(coef[:, :n_null] @ null.regressors.T, null.sizes, axis=1)
        residual = expit(-margin)
        weight = residual * expit(margin)
        counts = np.ones(x.shape[1]) if null.weights is None else null.weights
        bread = self._sums(null, x, counts * weight)
        bread[:, np.arange(kept.shape[1]), np.arange(kept.shape[1])] += null.penalty
        inverse = _inverses(_aside(bread, kept))
        inverse = inverse * (kept[:, :, None] & kept[:, None, :])
        if null.penalty.any():
            # What the penalty pulls is no part of the spread; see `NetworkFit.residuals`.
            step = np.einsum("mij,mj->mi", inverse, null.penalty * coef)
            residual -= weight * self._along(null, x, step)
        if self.clusters is not None:
            meat = self.clusters.crossed(self._by_cluster(null, x, counts * residual))
        else:
            squares = residual**2
            drawn = 1.0 if self.drawn is None else np.repeat(self.drawn, null.sizes)
            if self.by_leverage:
                leverage = drawn * weight * self._form(null, x, inverse)
                squares /= np.maximum(1.0 - leverage, LEAST_REST)
            meat = self._sums(null, x, counts * drawn * squares)
        covariance = _aside(inverse @ meat @ inverse, kept)[:, n_null:, n_null:]
        self._record(models, at, coef[:, n_null:], covariance, n_given)
        models.bse[at] /= size

    def replace_block(self, models: LargerModels, null: RowsInPlay, columns: FloatArray) -> None:
        """Replace the Wald statistic of the larger model that has several columns together."""
        if not np.isfinite(models.wald[0]):
            return
        x, _ = _standardise(null, columns, null.weights)
        rows, kept = _distinct_rows(null, x), models.kept[0]
        design = _design(null, rows)[:, kept]
        coef, penalty = models.whole[0, kept], null.penalty[kept]
        margin = design @ coef
        residual = expit(-margin)
        weight = residual * expit(margin)
        bread = (design.T * (rows.counts * weight)) @ design + np.diag(penalty)
        (inverse,) = _inverses(bread[None])
        residual -= weight * (design @ (inverse @ (penalty * coef)))
        if self.clusters is not None:
            scores = (rows.counts * residual)[:, None] * design
            meat = self.clusters.crossed(self.clusters.add_up(scores, rows.codes))
        else:
            squares = residual**2
            drawn = 1.0 if self.drawn is None else self.drawn[rows.codes]
            if self.by_leverage:
                leverage = drawn * weight * np.einsum("ni,ij,nj->n", design, inverse, design)
                squares /= np.maximum(1.0 - leverage, LEAST_REST)
            meat = (design.T * (rows.counts * drawn * squares)) @ design
        added = np.flatnonzero(kept) >= null.n_null
        covariance = (inverse @ meat @ inverse)[np.ix_(added, added)]
        self._record(models, np.array([0]), coef[None, added], covariance[None], 0)

    @staticmethod
    def _record(
        models: LargerModels,
        at: IntArray,
        coef: FloatArray,
        covariance: FloatArray,
        n_given: int,
    ) -> None:
        """Write errors and Wald statistics down; a singular covariance tests nothing."""
        variances = np.einsum("mii->mi", covariance)
        known = np.isfinite(covariance).all(axis=(1, 2)) & (variances > 0).all(axis=1)
        models.separated[at[~known]] = True
        models.wald[at[~known]] = models.bse[at[~known]] = models.coef[at[~known]] = np.nan
        at, coef, covariance = at[known], coef[known], covariance[known]
        tested = coef[:, n_given:]
        own = covariance[:, n_given:, n_given:]
        size = np.sqrt(np.einsum("mii->mi", own))
        precision = np.linalg.pinv(own / (size[:, :, None] * size[:, None, :]), hermitian=True)
        scaled = tested / size
        models.wald[at] = np.einsum("mi,mij,mj->m", scaled, precision, scaled)
        models.bse[at] = np.sqrt(covariance[:, n_given, n_given])

    @staticmethod
    def _sums(null: RowsInPlay, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the cross-products of all columns under weights of rows: models × m × m."""
        first = weights * x
        parts = (null.pooled(each) for each in (weights, first, first * x))
        return _information(null, *parts) - np.diag(null.penalty)

    @staticmethod
    def _along(null: RowsInPlay, x: FloatArray, direction: FloatArray) -> FloatArray:
        """Return linear functions of the columns in each row, one per model."""
        n_null = null.n_null
        along = np.repeat(direction[:, n_null:] @ null.multipliers.T, null.sizes, axis=1) * x
        return along + np.repeat(direction[:, :n_null] @ null.regressors.T, null.sizes, axis=1)

    @staticmethod
    def _form(null: RowsInPlay, x: FloatArray, matrix: FloatArray) -> FloatArray:
        """Return quadratic forms of the columns in each row, one per model."""
        n_null, z, m = null.n_null, null.regressors, null.multipliers
        inner = np.einsum("gi,mij,gj->mg", z, matrix[:, :n_null, :n_null], z)
        crossed = np.einsum("gi,mij,gj->mg", z, matrix[:, :n_null, n_null:], m)
        added = np.einsum("gi,mij,gj->mg", m, matrix[:, n_null:, n_null:], m)
        spread = (np.repeat(each, null.sizes, axis=1) for each in (inner, 2 * crossed, added))
        zeroth, first, second = spread
        return np.asarray(zeroth + x * (first + x * second))

    def _by_cluster(self, null: RowsInPlay, x: FloatArray, residual: FloatArray) -> FloatArray:
        """Return scores of all columns within clusters: models × clusters × m."""
        assert self.clusters is not None
        zeroth, first = null.pooled(residual), null.pooled(residual * x)
        parts = [
            self.clusters.add_up((values * column).T)
            for values, columns in ((zeroth, null.regressors), (first, null.multipliers))
            for column in columns.T
        ]
        return np.array(parts).transpose(2, 1, 0)


def _aside(matrices: FloatArray, kept: BoolArray) -> FloatArray:
    """Put columns without rank aside: ones on the diagonal and zeros elsewhere."""
    inside = np.where(kept[:, :, None] & kept[:, None, :], matrices, 0.0)
    return np.asarray(inside + np.eye(kept.shape[1]) * ~kept[:, None, :])
