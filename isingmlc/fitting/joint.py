r"""Maximum likelihood of the symmetric Ising model, and the covariance of shared coefficients.

With :math:`s(y)` the labels and the products of pairs, :math:`P(y) \propto \exp(\phi's(y))` over
the :math:`2^K` states that K labels may be in. Of a fit on n rows only the means of s are needed.
The mean of a product of labels is the sum of probabilities over all states that have them, and
these sums are found for all products at once, one label after the other, in :math:`K 2^K`
additions. The information :math:`n \operatorname{Cov}(s)` has means of products of up to four
labels, all of which are among them.

The maximum is finite if and only if the mean of s over the rows lies inside the polytope that the
:math:`s(y)` of all states span [1]_. Otherwise it lies on a face, and the limit of maximum
likelihood is the fit to the states on that face; all others have probability zero, and
coefficients along the normal of the face are infinite. The face is found exactly: cells of the
table of two labels that are empty give most of it, and linear programmes the rest.

Estimates are where a sum over rows of :math:`\psi_i` is zero: the gradient of a row's
log-likelihood, :math:`s(y_i) - E s(y)`, or of its log pseudo-likelihood,
:math:`\sum_k z_{ik} e_{ik}`. With A minus the derivative of the sum, the influence of a row is
:math:`A^{-1} \psi_i`. Exact likelihoods have the covariance :math:`A^{-1}`; of a pseudo-likelihood,
and wherever errors are robust, it is Godambe's :math:`A^{-1} (\sum_i \psi_i \psi_i') A^{-1}` [2]_.

References
----------
.. [1] Barndorff-Nielsen, O. (1978). *Information and exponential families in statistical theory*.
   Wiley, section 9.3.
.. [2] Varin, C., Reid, N. and Firth, D. (2011). An overview of composite likelihood methods.
   *Statistica Sinica* 21, 5–42.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logit

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.base.threads import one_thread
from isingmlc.base.tolerances import CONVERGED, MOST_INFLATED, ROUNDING_OF_LIKELIHOOD, STALLED
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.logistic import inverses, newton_steps
from isingmlc.fitting.nodewise import FitSettings, NetworkFit, Node, NodeFit, assemble_fits
from isingmlc.fitting.pseudo import (
    SharedFit,
    SharedTerms,
    counted_direction,
    drop_certain,
    fit_pseudo,
    shared_fit,
)
from isingmlc.fitting.separation import CERTAIN, Columns, independent_columns, null_space
from isingmlc.input.context import Context

# The states of more labels are not listed; matrices of more coefficients are too large.
_MAX_LABELS = 20
_MAX_TERMS = 8_000
# States are looked at in the order of their remainders.
_PRIME = 1009


def check_symmetric(settings: FitSettings, neighbors: BoolArray, context: Context) -> None:
    """Check that label models can share their coefficients."""
    n_labels, method = len(neighbors), settings.method
    if method == "joint" and n_labels > _MAX_LABELS:
        raise exc.ModelError(
            f"method='joint' lists the states of all labels, for up to {_MAX_LABELS} of them, but "
            f"there are {n_labels}. Use method='pseudo'."
        )
    if method == "joint" and len(context):
        raise exc.ModelError(
            "method='joint' has no covariates, but the model is adjusted for "
            f"{exc.shorten(context.described)}. Use method='pseudo'."
        )
    n_terms = SharedTerms.of(neighbors, len(context.column_names), settings.intercept).n_terms
    if n_terms > _MAX_TERMS:
        raise exc.ModelError(
            f"method={method!r} fits all coefficients together, up to {_MAX_TERMS:,} of them, but "
            f"there are {n_terms:,}. Use fewer pairs, fit(method='pseudo', neighbors='ebic'), or "
            "method='nodewise'."
        )
    if settings.cov_type == "HC2":
        raise exc.DataError(
            "cov_type='HC2' divides by leverages in one regression per label, which "
            f"method={method!r} has not. Use cov_type='HC0', or 'cluster'."
        )


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
            shared, uncertain = fit_joint(patterns, counts, terms, settings.max_iter)
        else:
            shared, uncertain = fit_pseudo(patterns, counts, terms, settings.max_iter, regressors)
    in_basis = np.isin(terms.place, shared.basis)
    directions, aliased, unidentified, coef = (
        terms.gather(part)
        for part in (shared.directions, shared.aliased.T, shared.unidentified.T, shared.finite_part)
    )
    nodes = [
        Node(
            label=label,
            columns=np.flatnonzero(own),
            aliased=_own_part(aliased, label).T,
            uncertain=uncertain[label],
            directions=list(_own_part(directions, label)),
            coef=coef[label],
            unidentified=_own_part(unidentified, label).T,
            basis=np.flatnonzero(own),
            steps=shared.iterations,
            converged=shared.converged,
        )
        for label, own in enumerate(in_basis)
    ]
    fits = assemble_fits(regressors, patterns, counts, settings.intercept, neighbors, nodes)
    return shared, fits


def _own_part(lines: FloatArray, label: int) -> FloatArray:
    """Return directions of the coefficients of one label, those that change any."""
    return np.asarray(lines[lines[:, label].any(axis=1), label])


def fit_joint(
    patterns: BoolArray, counts: FloatArray, terms: SharedTerms, max_iter: int
) -> tuple[SharedFit, BoolArray]:
    """Fit the symmetric model to labelsets; return where labels are uncertain too."""
    states, directions = _find_face(States.of(terms, patterns), counted_direction(patterns, terms))
    total, chosen = float(counts.sum()), states.independent
    means = counts @ states.statistics(states.numbers) / total
    start = np.zeros(terms.n_terms)
    alone = terms.place[:, 0]
    alone = alone[(alone >= 0) & (means[alone] > 0) & (means[alone] < 1)]
    start[alone] = logit(means[alone])
    values, steps, converged = _match_moments(states, total, means, chosen.kept, start, max_iter)
    llf = total * float(means @ values - states.distribution(values)[1])
    aliased = np.zeros((terms.n_terms, 0))
    shared = shared_fit(chosen, values, directions, aliased, llf, steps, converged)
    return shared, states.inside[states.numbers ^ states.bits[:, None]]


def _match_moments(
    states: States,
    total: float,
    means: FloatArray,
    at: IntArray,
    start: FloatArray,
    max_iter: int,
) -> tuple[FloatArray, int, bool]:
    """Maximize the likelihood, which gives terms the means that they have in the rows."""
    values, step = np.zeros(states.terms.n_terms), np.zeros(len(at))
    values[at] = start[at]
    best, previous, length, steps = -np.inf, np.inf, 1.0, 0
    while True:
        probability, log_sum = states.distribution(values)
        value = total * float(means @ values - log_sum)
        if not value >= best - ROUNDING_OF_LIKELIHOOD * (1 + abs(best)) and length > 1e-6:
            length, step = length / 2, step / 2
            values[at] -= step
            continue
        expected, covariance = states.moments(probability)
        gradient = total * (means - expected)[at]
        step = newton_steps(total * covariance[np.ix_(at, at)][None], gradient[None])[0]
        decrement = float(gradient @ step)
        converged = decrement <= CONVERGED or previous <= decrement <= STALLED
        if converged or steps >= max_iter:
            return values, steps, converged
        best, previous, length, steps = value, decrement, 1.0, steps + 1
        values[at] += step


@dataclass(frozen=True, eq=False)
class States:
    """The states that labels may be in, numbered in binary, the first label the largest digit.

    `numbers` are those of the cells of the data; `inside` marks states with a probability.
    """

    terms: SharedTerms
    numbers: IntArray
    inside: BoolArray

    @classmethod
    def of(cls, terms: SharedTerms, patterns: BoolArray) -> States:
        """List the states of labels, and number those of cells."""
        n_labels = patterns.shape[1]
        numbers = patterns @ (1 << np.arange(n_labels)[::-1])
        return cls(terms, numbers, np.ones(2**n_labels, dtype=np.bool_))

    def left_by(self, shared: SharedFit) -> States:
        """Return the states that have a probability in a fit."""
        left = self
        for direction in shared.directions:
            left = left.without(left.margins(direction) > CERTAIN)
        return left

    def without(self, certain: BoolArray) -> States:
        """Return the same states less some that have no probability."""
        return States(self.terms, self.numbers, self.inside & ~certain)

    @cached_property
    def bits(self) -> IntArray:
        """The number that a label adds to that of a state, shape (K,)."""
        return np.asarray(1 << np.arange(len(self.terms.place))[::-1])

    @cached_property
    def masks(self) -> IntArray:
        """The labels that each term is a product of, as the number of their state."""
        masks = np.zeros(self.terms.n_terms, dtype=np.intp)
        for bit, place, columns in zip(
            self.bits, self.terms.place, self.terms.columns, strict=True
        ):
            masks[place[columns]] |= bit
        return masks

    def _add_up(self, values: FloatArray, into: int) -> FloatArray:
        """Add up values over all states that have the labels of a state (0), or only those (1)."""
        total = values.reshape((2,) * len(self.bits)).astype(np.float64)
        for label in range(total.ndim):
            halves = np.moveaxis(total, label, 0)
            halves[into] += halves[1 - into]
        return total.reshape(-1)

    def moments(self, probability: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means of all terms and their covariance under probabilities of states."""
        sums = self._add_up(probability, 0)
        means = sums[self.masks]
        return means, sums[self.masks[:, None] | self.masks] - np.outer(means, means)

    def exponents(self, values: FloatArray) -> FloatArray:
        r"""Return :math:`\phi's(y)` of all states, shape (2**K,)."""
        own = np.zeros(len(self.inside))
        own[self.masks] = values
        return self._add_up(own, 1)

    def distribution(self, values: FloatArray) -> tuple[FloatArray, float]:
        """Return the probabilities of states, and the logarithm of the sum of their weights."""
        exponents = self.exponents(values)
        largest = exponents[self.inside].max()
        weights = np.where(self.inside, np.exp(np.minimum(exponents - largest, 0.0)), 0.0)
        total = float(weights.sum())
        return weights / total, float(largest + np.log(total))

    def statistics(self, numbers: IntArray) -> FloatArray:
        """Write out :math:`s(y)` of some states, shape (len(numbers), P)."""
        return np.asarray((numbers[:, None] & self.masks) == self.masks, dtype=np.float64)

    def take(self, rows: IntArray) -> FloatArray:
        """Return how the terms of some states differ from those of the first cell."""
        return self.statistics(self.numbers[:1]) - self.statistics(rows)

    def margins(self, direction: FloatArray) -> FloatArray:
        """Return how far a direction puts each state below the first cell."""
        exponents = self.exponents(direction)
        return np.asarray(exponents[self.numbers[0]] - exponents)

    def null_space(self, uncertain: BoolArray) -> FloatArray:
        """Return directions, as columns, that move none of these states."""
        return States(self.terms, self.numbers, uncertain).independent.null_space

    @cached_property
    def independent(self) -> Columns:
        """Terms that are not linear functions of others on all states inside."""
        # Whole numbers, so nothing is lost.
        sums = self._add_up(self.inside.astype(np.float64), 0)
        alone, crossed = sums[self.masks], sums[self.masks[:, None] | self.masks]
        return independent_columns(self.inside.sum() * crossed - np.outer(alone, alone))


def _find_face(states: States, away: FloatArray) -> tuple[States, list[FloatArray]]:
    """Find the states on the face that the rows lie on, and directions that lead away from it."""
    seen, directions = np.unique(states.numbers), []
    if away.any():
        states = states.without(states.margins(away) > CERTAIN)
        directions.append(away)
    while True:
        basis = states.independent.kept
        # Along a direction away from the face all rows stay where they are.
        still = null_space(states.take(seen)[:, basis])
        space = np.zeros((states.terms.n_terms, still.shape[1]))
        space[basis] = still
        # Neighbours in number are alike: begin with states from everywhere.
        others = np.setdiff1d(np.flatnonzero(states.inside), seen)
        others = others[np.argsort(others % _PRIME, kind="stable")]
        found = drop_certain(states, others, space, states.inside)
        if found is None:
            return states, directions
        states = States(states.terms, states.numbers, found[0])
        directions.append(found[1])


@dataclass(frozen=True, eq=False)
class SharedCovariance:
    """The covariance of shared coefficients."""

    fit: NetworkFit

    @cached_property
    def states(self) -> States:
        """The states that have a probability."""
        return States.of(self.fit.shared_terms, self.fit.stats.patterns).left_by(self._shared)

    @cached_property
    def distribution(self) -> FloatArray:
        """The probabilities of all states under a joint fit, shape (2**K,)."""
        return self.states.distribution(self._shared.finite_part)[0]

    @cached_property
    def influence(self) -> FloatArray:
        """What one row of each cell adds to the coefficients of the basis, shape (L, b)."""
        return self._gradients @ self._inverse

    @cached_property
    def matrix(self) -> FloatArray:
        """The covariance of the coefficients of the basis, shape (b, b)."""
        if self._is_joint and not self.fit.is_robust:
            return self._inverse
        return self.fit.dependence.covariance(self.influence)

    @cached_property
    def effective_terms(self) -> float:
        r"""How many coefficients a fit counts for, the trace of :math:`A^{-1} \sum \psi \psi'`."""
        if self._is_joint:
            return float(len(self._shared.basis))
        counts = self.fit.stats.counts
        return float(np.einsum("gi,gi->", counts[:, None] * self._gradients, self.influence))

    def shares(self, lines: FloatArray) -> FloatArray:
        """Write linear functions of coefficients of label models in those of the basis."""
        own = self.fit.regressors.functions_of_units(lines)
        return np.asarray(self.fit.shared_terms.add_up(own)[:, self._shared.basis])

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
    def _is_joint(self) -> bool:
        """Whether the likelihood is that of all labels together."""
        return self.fit.settings.method == "joint"

    @property
    def _shared(self) -> SharedFit:
        """The fit."""
        assert self.fit.shared is not None
        return self.fit.shared

    @cached_property
    def _gradients(self) -> FloatArray:
        """The gradient of one row of each cell in the coefficients of the basis, shape (L, b)."""
        fit, basis = self.fit, self._shared.basis
        if self._is_joint:
            return (self.states.statistics(self.states.numbers) - self._moments[0])[:, basis]
        gradients = np.zeros((len(fit.stats.patterns), fit.shared_terms.n_terms))
        for place, residual in zip(fit.shared_terms.place, fit.plain_residuals, strict=True):
            at = np.flatnonzero(place >= 0)
            gradients[:, place[at]] += residual[:, None] * fit.regressors.matrix[:, at]
        return gradients[:, basis]

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and covariance of the terms under the fitted distribution."""
        return self.states.moments(self.distribution)

    @cached_property
    def _inverse(self) -> FloatArray:
        """The inverse of A; NaN where it is singular to working precision."""
        fit, basis = self.fit, self._shared.basis
        if self._is_joint:
            whole = fit.stats.nobs * self._moments[1]
        else:
            products = fit.regressors.products.under(fit.stats.counts * fit.weights)
            whole = fit.shared_terms.add_up_squares(products)
        found, inflation = inverses(whole[np.ix_(basis, basis)][None])
        return found[0] if inflation[0] < MOST_INFLATED else np.full(found[0].shape, np.nan)
