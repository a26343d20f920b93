r"""Symmetric models: label models that share their coefficients, and the covariance of these.

Estimates are where a sum over rows of :math:`\psi_i` is zero: the gradient of a row's
log-likelihood, :math:`s(y_i) - E s(y)`, or of its log pseudo-likelihood,
:math:`\sum_k z_{ik} e_{ik}`. With A minus the derivative of the sum, the influence of a row is
:math:`A^{-1} \psi_i`. Exact likelihoods have the covariance :math:`A^{-1}`; of a pseudo-likelihood,
and wherever errors are robust, it is the sum of products of influences, Godambe's
:math:`A^{-1} (\sum_i \psi_i \psi_i') A^{-1}` [1]_.

References
----------
.. [1] Varin, C., Reid, N. and Firth, D. (2011). An overview of composite likelihood methods.
   *Statistica Sinica* 21, 5–42.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray
from isingmlc.base.threads import one_thread
from isingmlc.base.tolerances import MOST_INFLATED
from isingmlc.fitting.joint import MAX_LABELS, States, fit_joint
from isingmlc.fitting.logistic import inverses
from isingmlc.fitting.nodewise import FitSettings, NetworkFit, Node, NodeFit, assemble_fits
from isingmlc.fitting.pseudo import fit_pseudo
from isingmlc.fitting.regressors import Regressors
from isingmlc.fitting.shared import SharedFit, SharedTerms
from isingmlc.input.context import Context

# Matrices of more coefficients than this are too large.
MAX_TERMS = 8_000


def fit_symmetric(
    patterns: BoolArray,
    counts: FloatArray,
    settings: FitSettings,
    neighbors: BoolArray,
    regressors: Regressors,
) -> tuple[SharedFit, tuple[NodeFit, ...]]:
    """Fit label models that share their coefficients."""
    n_context = regressors.n_columns - 1 - len(neighbors)
    terms = SharedTerms.of(neighbors, n_context, settings.intercept)
    with one_thread():
        if settings.method == "joint":
            shared, in_play = fit_joint(patterns, counts, terms, settings.max_iter)
        else:
            shared, in_play = fit_pseudo(patterns, counts, terms, settings.max_iter, regressors)
    ends = _split(shared, terms, in_play)
    fits = assemble_fits(regressors, patterns, counts, settings.intercept, neighbors, ends)
    return shared, fits


def check_symmetric(settings: FitSettings, neighbors: BoolArray, context: Context) -> None:
    """Check that label models can share their coefficients."""
    n_labels, method = len(neighbors), settings.method
    if method == "joint" and n_labels > MAX_LABELS:
        raise exc.ModelError(
            f"method='joint' lists the states of all labels, for up to {MAX_LABELS} of them, but "
            f"there are {n_labels}. Use method='pseudo'."
        )
    if method == "joint" and len(context):
        raise exc.ModelError(
            "method='joint' has no covariates, but the model is adjusted for "
            f"{exc.shorten(context.described)}. Use method='pseudo'."
        )
    n_terms = SharedTerms.of(neighbors, len(context.column_names), settings.intercept).n_terms
    if n_terms > MAX_TERMS:
        raise exc.ModelError(
            f"method={method!r} fits all coefficients together, up to {MAX_TERMS:,} of them, but "
            f"there are {n_terms:,}. Use fewer pairs, fit(method='pseudo', neighbors='ebic'), or "
            "method='nodewise'."
        )
    if settings.cov_type == "HC2":
        raise exc.DataError(
            "cov_type='HC2' divides by leverages in one regression per label, which "
            f"method={method!r} has not. Use cov_type='HC0', or 'cluster'."
        )


def _split(shared: SharedFit, terms: SharedTerms, in_play: BoolArray) -> list[Node]:
    """Return the model of each label its part of a fit."""
    in_basis = np.zeros(terms.n_terms + 1, dtype=np.bool_)
    in_basis[shared.basis] = True
    values = terms.gather(shared.finite_part)
    spread = [
        terms.gather(part) for part in (shared.directions, shared.aliased.T, shared.unidentified.T)
    ]
    ends = []
    for label, place in enumerate(terms.place):
        basis = np.flatnonzero(in_basis[place])
        own = [part[part[:, label].any(axis=1), label] for part in spread]
        directions, aliased, unidentified = own
        ends.append(
            Node(
                label=label,
                columns=basis,
                aliased=aliased.T,
                uncertain=in_play[label],
                directions=list(directions),
                coef=values[label],
                unidentified=unidentified.T,
                basis=basis,
                steps=shared.iterations,
                converged=shared.converged,
            )
        )
    return ends


@dataclass(frozen=True, eq=False)
class SharedCovariance:
    """The covariance of shared coefficients."""

    fit: NetworkFit

    @cached_property
    def states(self) -> States:
        """The states that have a probability."""
        shared = self._shared
        return States.of(self.fit.shared_terms, self.fit.stats.patterns).left_by(shared)

    @cached_property
    def distribution(self) -> FloatArray:
        """The probabilities of all states under a joint fit, shape (2**K,)."""
        return self.states.distribution(self._shared.finite_part).probability

    @cached_property
    def influence(self) -> FloatArray:
        """What one row of each cell adds to the coefficients of the basis, shape (L, b)."""
        return self._gradients @ self._inverse

    @cached_property
    def matrix(self) -> FloatArray:
        """The covariance of the coefficients of the basis, shape (b, b)."""
        if self.fit.settings.method == "joint" and not self.fit.is_robust:
            return self._inverse
        return self.fit.dependence.covariance(self.influence)

    @cached_property
    def effective_terms(self) -> float:
        r"""How many coefficients a fit counts for, the trace of :math:`A^{-1} \sum \psi \psi'`."""
        if self.fit.settings.method == "joint":
            return float(len(self._shared.basis))
        counts = self.fit.stats.counts
        return float(np.einsum("gi,gi->", counts[:, None] * self._gradients, self.influence))

    def shares(self, lines: FloatArray) -> FloatArray:
        """Write linear functions of coefficients of label models in those of the basis."""
        regressors = self.fit.regressors
        if not regressors.in_their_units:
            lines = (lines - lines[..., :1] * regressors.centre) / regressors.scale
        return np.asarray(self.fit.shared_terms.add_up(lines)[:, self._shared.basis])

    @cached_property
    def errors(self) -> FloatArray:
        """Standard errors of all coefficients, shape (K, m); NaN where one is not finite."""
        errors = np.full((len(self.fit.nodes), self.fit.regressors.n_columns), np.nan)
        for node, line in zip(self.fit.nodes, errors, strict=True):
            lines = np.zeros((len(node.basis), *errors.shape))
            lines[np.arange(len(node.basis)), node.label, node.basis] = 1.0
            shares = self.shares(lines)
            variance = np.einsum("ij,ij->i", shares @ self.matrix, shares)
            line[node.basis] = np.sqrt(np.maximum(variance, 0.0))
            line[~np.isfinite(node.coef)] = np.nan
        return errors

    @property
    def _shared(self) -> SharedFit:
        assert self.fit.shared is not None
        return self.fit.shared

    @cached_property
    def _gradients(self) -> FloatArray:
        """The gradient of one row of each cell in the coefficients of the basis, shape (L, b)."""
        fit, basis = self.fit, self._shared.basis
        if fit.settings.method == "joint":
            means = self._moments[0]
            return (self.states.statistics(self.states.numbers) - means)[:, basis]
        patterns, design = fit.stats.patterns, fit.regressors.matrix
        gradients = np.zeros((len(patterns), fit.shared_terms.n_terms))
        for node, place in zip(fit.nodes, fit.shared_terms.place, strict=True):
            residual = np.where(patterns[:, node.label], node.complement, -node.probability)
            at = np.flatnonzero(place >= 0)
            gradients[:, place[at]] += residual[:, None] * design[:, at]
        return gradients[:, basis]

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and covariance of the terms under the fitted distribution."""
        return self.states.moments(self.distribution)

    @cached_property
    def _inverse(self) -> FloatArray:
        """The inverse of A; NaN where it is singular to working precision."""
        fit, basis = self.fit, self._shared.basis
        if fit.settings.method == "joint":
            whole = fit.stats.nobs * self._moments[1]
        else:
            products = fit.regressors.products.under(fit.stats.counts * fit.weights)
            whole = fit.shared_terms.add_up_squares(products)
        found, inflation = inverses(whole[np.ix_(basis, basis)][None])
        return found[0] if inflation[0] < MOST_INFLATED else np.full(found[0].shape, np.nan)
