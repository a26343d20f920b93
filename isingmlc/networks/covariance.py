r"""The covariance of all label models together, from counts.

The coefficients of label k are a sum over rows of :math:`\psi_{ik} = A_k^{-1} z_{ik} e_{ik}`, up
to what vanishes with n: A is the information, z the regressors and e the residual. Rows of a cell
share it, so stacked over labels the covariance of all coefficients is
:math:`\sum_g N_g \psi_g \psi_g'`, the sandwich of one regression with all labels of a row as its
cluster. What follows from it, of whatever several models estimate together, needs no resampling.
Clusters of dependent rows and sampling weights are minded: `NetworkFit.dependence` adds up.
Where label models share coefficients :mod:`isingmlc.fitting.joint` has their covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isingmlc.base.arrays import FloatArray, StrArray, chunks
from isingmlc.fitting.joint import SharedCovariance
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import judge_pairs
from isingmlc.networks.weights import pair_shares, pair_weights

# What influences on many functions may take at a time.
_MOST_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class NetworkEstimate:
    """Thresholds and weights of pairs, with the influence that every cell has on them."""

    fit: NetworkFit

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.fit.nodes)

    @cached_property
    def shared(self) -> SharedCovariance | None:
        """The covariance of coefficients that label models share, if they do."""
        return None if self.fit.shared is None else SharedCovariance(self.fit)

    @cached_property
    def thresholds(self) -> FloatArray:
        """Thresholds, shape (K,); zero for models without."""
        if not self.fit.settings.intercept:
            return np.zeros(self.n_labels)
        return np.array([node.coef[0] for node in self.fit.nodes])

    @cached_property
    def slopes(self) -> FloatArray:
        """Entry (k, l) is the coefficient of label l in the model of label k."""
        return np.array([node.coef[1 : 1 + self.n_labels] for node in self.fit.nodes])

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each coefficient in the weight of its pair."""
        return pair_shares(self.slopes, np.array([node.neighbors for node in self.fit.nodes]))

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of pairs, shape (K, K)."""
        return pair_weights(self.slopes, np.array([node.neighbors for node in self.fit.nodes]))

    @cached_property
    def reasons(self) -> StrArray:
        """What is special about each pair, shape (K, K)."""
        return judge_pairs(self.fit, self.weights, self.shares)

    @cached_property
    def pair_errors(self) -> FloatArray:
        """Standard errors of `weights`; NaN where a weight is not finite or not estimated."""
        n_labels, counts = self.n_labels, self.fit.stats.counts
        if self.shared is not None:
            return np.where(np.eye(n_labels) == 0, self.shared.errors[:, 1 : 1 + n_labels], np.nan)
        variances = np.zeros((n_labels, n_labels))
        unit = np.eye(self.fit.regressors.n_columns)[1 : 1 + n_labels]
        for block in chunks(n_labels, 24 * len(counts) * n_labels, limit=_MOST_BYTES):
            labels = np.arange(n_labels)[block]
            mine = [self._influence(k, unit * self.shares[k, :, None]) for k in labels]
            own = unit[block]
            theirs = [
                self._influence(k, own * self.shares[k, block, None]) for k in range(n_labels)
            ]
            both = np.array(mine) + np.array(theirs).transpose(2, 1, 0)
            variances[block] = [self.fit.dependence.variances(each) for each in both]
        known = np.isfinite(self.weights) & ((self.shares > 0) | (self.shares.T > 0))
        return np.where(known & (variances > 0), np.sqrt(variances), np.nan)

    def influence(
        self, on_weights: FloatArray, on_thresholds: FloatArray | None = None
    ) -> FloatArray:
        """Return what one row of each cell adds to functions of weights and thresholds."""
        if self.shared is not None:
            shares = self._shared_shares(self.shared, on_weights, on_thresholds)
            return np.asarray(self.shared.influence @ shares.T)
        n_labels = self.n_labels
        total = np.zeros((len(self.fit.stats.counts), len(on_weights)))
        for label in range(n_labels):
            lines = np.zeros((len(on_weights), self.fit.regressors.n_columns))
            lines[:, 1 : 1 + n_labels] = on_weights[:, label] * self.shares[label]
            if on_thresholds is not None:
                lines[:, 0] = on_thresholds[:, label]
            total += self._influence(label, lines)
        return total

    def _shared_shares(
        self, shared: SharedCovariance, on_weights: FloatArray, on_thresholds: FloatArray | None
    ) -> FloatArray:
        """Return what functions have of shared coefficients; see `influence`."""
        n_labels = self.n_labels
        lines = np.zeros((len(on_weights), n_labels, self.fit.regressors.n_columns))
        lines[..., 1 : 1 + n_labels] = on_weights * self.shares
        if on_thresholds is not None:
            lines[..., 0] = on_thresholds
        return shared.shares(lines)

    def covariance(
        self, on_weights: FloatArray, on_thresholds: FloatArray | None = None
    ) -> FloatArray:
        """Return the covariance of functions of weights and thresholds; see `influence`."""
        if self.shared is not None:
            shares = self._shared_shares(self.shared, on_weights, on_thresholds)
            return np.asarray(shares @ self.shared.matrix @ shares.T)
        found = self.influence(on_weights, on_thresholds)
        return self.fit.dependence.covariance(found)

    def errors(self, on_weights: FloatArray) -> FloatArray:
        """Return the standard errors of functions of weights; see `influence`."""
        counts = self.fit.stats.counts
        each = 8 * len(counts) + 8 * self.n_labels * self.fit.regressors.n_columns
        parts = [
            np.sqrt(self._variances(on_weights[some]))
            for some in chunks(len(on_weights), each, limit=_MOST_BYTES)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _variances(self, on_weights: FloatArray) -> FloatArray:
        """Return the variances of functions of weights; see `influence`."""
        if self.shared is None:
            return self.fit.dependence.variances(self.influence(on_weights))
        shares = self._shared_shares(self.shared, on_weights, None)
        return np.asarray(np.einsum("ij,ij->i", shares @ self.shared.matrix, shares))

    def _influence(self, label: int, lines: FloatArray) -> FloatArray:
        """Return the influences on linear functions of the coefficients of one label."""
        fit, node = self.fit, self.fit.nodes[label]
        lines = fit.regressors.functions_of_units(lines)
        factor = fit.factors[label].matrix
        leaning = factor @ (lines[:, node.basis] @ factor).T
        found = (fit.regressors.matrix[:, node.basis] @ leaning) * fit.plain_residuals[label][
            :, None
        ]
        if fit.is_penalised:
            # What the penalty pulls is no part of the spread.
            found -= fit.stats.counts @ found / fit.stats.nobs
        return np.asarray(found)
