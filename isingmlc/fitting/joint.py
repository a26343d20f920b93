r"""Exact maximum likelihood of the symmetric Ising model.

With :math:`s(y)` the labels and the products of pairs, :math:`P(y) \propto \exp(\phi's(y))` over
the :math:`2^K` states that K labels may be in. Of a fit on n rows only the means of s are needed,
and of a state its weight: the mean of a product of labels is the sum of probabilities over all
states that have them, and these sums are found for all products at once, one label after the
other, in :math:`K 2^K` additions. The information :math:`n \operatorname{Cov}(s)` has means of
products of up to four labels, all of which are among them.

The maximum is finite if and only if the mean of s over the rows lies inside the polytope that the
:math:`s(y)` of all states span [1]_. Otherwise it lies on a face, and the limit of maximum
likelihood is the fit to the states on that face; all others have probability zero, and
coefficients along the normal of the face are infinite. The face is found exactly: cells of the
table of two labels that are empty give most of it, and linear programmes the rest.

References
----------
.. [1] Barndorff-Nielsen, O. (1978). *Information and exponential families in statistical theory*.
   Wiley, section 9.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logit

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.base.tolerances import CONVERGED, ROUNDING_OF_LIKELIHOOD, STALLED
from isingmlc.fitting.logistic import newton_steps
from isingmlc.fitting.separation import CERTAIN, Columns, independent_columns, null_space
from isingmlc.fitting.shared import SharedFit, SharedTerms, counted_direction, drop_certain
from isingmlc.simulate.enumeration import list_log_weights
from isingmlc.simulate.parameters import RowParameters

# The states of more labels are not listed.
MAX_LABELS = 20
# States are looked at in the order of their remainders.
_PRIME = 1009


def fit_joint(
    patterns: BoolArray, counts: FloatArray, terms: SharedTerms, max_iter: int
) -> tuple[SharedFit, BoolArray]:
    """Fit the symmetric model to labelsets."""
    states = States.of(terms, patterns)
    total = float(counts.sum())
    means = counts @ states.statistics(states.numbers) / total
    states, directions = _find_face(states)
    chosen = states.independent
    start = np.zeros(terms.n_terms)
    alone = terms.place[:, 0]
    alone = alone[(alone >= 0) & (means[alone] > 0) & (means[alone] < 1)]
    start[alone] = logit(means[alone])
    values, steps, converged = _match_moments(states, total, means, chosen.kept, start, max_iter)
    shared = SharedFit(
        basis=chosen.kept,
        basis_coef=values[chosen.kept],
        directions=np.array(directions).reshape(-1, terms.n_terms),
        aliased=np.zeros((terms.n_terms, 0)),
        unidentified=chosen.null_space,
        llf=min(total * float(means @ values - states.distribution(values).log_sum), 0.0),
        iterations=steps,
        converged=converged,
    )
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
        fitted = states.distribution(values)
        value = total * float(means @ values - fitted.log_sum)
        if not value >= best - ROUNDING_OF_LIKELIHOOD * (1 + abs(best)) and length > 1e-6:
            length, step = length / 2, step / 2
            values[at] -= step
            continue
        expected, covariance = states.moments(fitted.probability)
        gradient = total * (means - expected)[at]
        step = newton_steps(total * covariance[np.ix_(at, at)][None], gradient[None])[0]
        decrement = float(gradient @ step)
        stalled = previous <= decrement <= STALLED
        if decrement <= CONVERGED or stalled or steps >= max_iter:
            return values, steps, decrement <= CONVERGED or stalled
        best, previous, length, steps = value, decrement, 1.0, steps + 1
        values[at] += step


@dataclass(frozen=True)
class Distribution:
    """Probabilities of all states, and the logarithm of the sum of their weights."""

    probability: FloatArray
    log_sum: float


@dataclass(frozen=True, eq=False)
class States:
    """The states that labels may be in, numbered in binary, the first label the largest digit."""

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

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.terms.place)

    @cached_property
    def bits(self) -> IntArray:
        """The number that a label adds to that of a state, shape (K,)."""
        return np.asarray(1 << np.arange(self.n_labels)[::-1])

    @cached_property
    def masks(self) -> IntArray:
        """The labels that each term is a product of, as the number of their state."""
        masks = np.zeros(self.terms.n_terms, dtype=np.intp)
        for label, (place, columns) in enumerate(
            zip(self.terms.place, self.terms.columns, strict=True)
        ):
            masks[place[columns]] |= self.bits[label]
        return masks

    def without(self, settled: BoolArray) -> States:
        """Return the same states less some that have no probability."""
        return States(self.terms, self.numbers, self.inside & ~settled)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up values over all states that have the labels of a state, for each of them."""
        total = values.reshape((2,) * self.n_labels).astype(np.float64)
        for label in range(self.n_labels):
            halves = np.moveaxis(total, label, 0)
            halves[0] += halves[1]
        return total.reshape(-1)

    def moments(self, probability: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means of all terms and their covariance under probabilities of states."""
        sums = self.sums(probability)
        means = sums[self.masks]
        return means, sums[self.masks[:, None] | self.masks] - np.outer(means, means)

    def exponents(self, values: FloatArray) -> FloatArray:
        r"""Return :math:`\phi's(y)` of all states, shape (2**K,)."""
        of_labels = self.terms.gather(values)
        interactions = of_labels[:, 1 : 1 + self.n_labels]
        rows = RowParameters(of_labels[:, :1], np.ascontiguousarray(interactions), {})
        return np.asarray(list_log_weights(rows)[:, 0])

    def distribution(self, values: FloatArray) -> Distribution:
        """Return the probabilities of states under coefficients."""
        exponents = self.exponents(values)
        largest = exponents[self.inside].max()
        weights = np.where(self.inside, np.exp(np.minimum(exponents - largest, 0.0)), 0.0)
        total = float(weights.sum())
        return Distribution(weights / total, float(largest + np.log(total)))

    def statistics(self, numbers: IntArray) -> FloatArray:
        """Write out :math:`s(y)` of some states, shape (len(numbers), P)."""
        carried = (numbers[:, None] & self.masks) == self.masks
        return np.asarray(carried, dtype=np.float64)

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
        moments = self.sums(self.inside.astype(np.float64))
        alone = moments[self.masks]
        crossed = moments[self.masks[:, None] | self.masks]
        return independent_columns(self.inside.sum() * crossed - np.outer(alone, alone))


def _find_face(states: States) -> tuple[States, list[FloatArray]]:
    """Find the states on the face that the rows lie on, and directions that lead away from it."""
    seen = np.unique(states.numbers)
    carried = ((seen[:, None] & states.bits) > 0).astype(np.float64)
    away, directions = counted_direction(carried, states.terms), []
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
        inside, direction = found
        states = States(states.terms, states.numbers, inside)
        directions.append(direction)
