"""Label models that share their coefficients, and maximum pseudo-likelihood of these.

In the symmetric Ising model there is one coefficient per threshold and one per pair of labels: that
of label l in the model of label k is that of k in the model of l. The product of the likelihoods
of all labels given the others is, as a function of these, the likelihood of one logistic regression
with K rows per row of the data. Rows that separation makes certain drop out, as everywhere; they
are found among the rows of all label models together, as what raises a row of one label may lower a
row of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.base.readonly import FrozenArrays
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.logistic import maximize, proves_overlap
from isingmlc.fitting.separation import (
    CERTAIN,
    Columns,
    SignedRows,
    find_direction,
    independent_columns,
    shortest_direction,
)

# Fits whose label models share coefficients.
SHARED = ("joint", "pseudo")
# Newton steps after which a fit that has not converged is looked at for separation.
_LOOK = 8


@dataclass(frozen=True, eq=False)
class SharedTerms:
    """Which of the P shared coefficients each label model has, shape (K, m); -1 for none."""

    place: IntArray

    @classmethod
    def of(cls, neighbors: BoolArray, n_context: int, intercept: bool) -> SharedTerms:
        """Return numbers of thresholds, pairs, and coefficients of the context."""
        n_labels = len(neighbors)
        place = np.full((n_labels, 1 + n_labels + n_context), -1)
        n_terms = n_labels * intercept
        if intercept:
            place[:, 0] = np.arange(n_labels)
        first, second = np.nonzero(np.triu(neighbors, 1))
        pairs = n_terms + np.arange(len(first))
        place[first, 1 + second] = place[second, 1 + first] = pairs
        context = n_terms + len(first) + np.arange(n_labels * n_context)
        place[:, 1 + n_labels :] = context.reshape(n_labels, n_context)
        return cls(place)

    @cached_property
    def n_terms(self) -> int:
        """How many coefficients there are."""
        return int(self.place.max(initial=-1)) + 1

    @cached_property
    def columns(self) -> list[IntArray]:
        """The positions that each label model has."""
        return [np.flatnonzero(line >= 0) for line in self.place]

    def gather(self, values: FloatArray) -> FloatArray:
        """Return what each label model has of coefficients, zero where it has none."""
        whole = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return np.asarray(whole[..., self.place])

    def add_up(self, values: FloatArray) -> FloatArray:
        """Add up what label models have for each shared coefficient."""
        total = np.zeros((*values.shape[:-2], self.n_terms))
        for line, columns in enumerate(self.columns):
            total[..., self.place[line, columns]] += values[..., line, columns]
        return total

    def add_up_squares(self, crossed: FloatArray) -> FloatArray:
        """Add up matrices of label models, shape (K, m, m)."""
        total = np.zeros((self.n_terms, self.n_terms))
        for line, columns, matrix in zip(self.place, self.columns, crossed, strict=True):
            at = line[columns]
            total[at[:, None], at] += matrix[columns[:, None], columns]
        return total


@dataclass(frozen=True)
class SharedFit(FrozenArrays):
    """A fit of shared coefficients; the fields mean what those of `NodeFit` do."""

    basis: IntArray
    basis_coef: FloatArray
    directions: FloatArray
    aliased: FloatArray
    unidentified: FloatArray
    llf: float
    iterations: int
    converged: bool

    @property
    def finite_part(self) -> FloatArray:
        """The finite part of all coefficients, shape (P,); zero outside the basis."""
        values = np.zeros(len(self.aliased))
        values[self.basis] = self.basis_coef
        return values


def counted_direction(labels: BoolArray, terms: SharedTerms) -> FloatArray:
    """Find by counting a direction against values that no row has of one label, or of two."""
    direction, place = np.zeros(terms.n_terms), terms.place
    has_thresholds = bool((place[:, 0] >= 0).all())
    constant = (labels == labels[0]).all(axis=0) & has_thresholds
    direction[place[constant, 0]] = np.where(labels[0, constant], 1.0, -1.0)
    varied = (place[:, 1 : 1 + len(place)] >= 0) & ~constant & ~constant[:, None]
    for one, other in ((1, 1), (0, 0), (1, 0), (0, 1)) if has_thresholds else ((1, 1),):
        counted = (labels == one).T.astype(np.float64) @ (labels == other)
        first, second = np.nonzero(np.triu((counted == 0) & varied))
        # Less of the product of both, each as it is or one minus it.
        np.add.at(direction, place[first, 1 + second], -1 if one == other else 1)
        if not other:
            np.add.at(direction, place[first, 0], 1 - 2 * one)
        if not one:
            np.add.at(direction, place[second, 0], 1 - 2 * other)
    return direction


class SharedRows(SignedRows, Protocol):
    """Signed rows of shared coefficients, some of which are uncertain."""

    def null_space(self, uncertain: BoolArray) -> FloatArray:
        """Return directions, as columns, that move no uncertain row."""


def drop_certain(
    rows: SharedRows, candidates: IntArray, space: FloatArray, uncertain: BoolArray
) -> tuple[BoolArray, FloatArray] | None:
    """Find what separation makes certain; return the uncertain rows and the direction, if any."""
    direction = find_direction(rows, candidates, space)
    if direction is None:
        return None
    certain = uncertain & (rows.margins(direction) > CERTAIN)
    uncertain = uncertain & ~certain
    shorter = shortest_direction(rows, np.flatnonzero(certain), rows.null_space(uncertain))
    return uncertain, direction if shorter is None else shorter


def fit_pseudo(
    patterns: BoolArray,
    counts: FloatArray,
    terms: SharedTerms,
    max_iter: int,
    regressors: Regressors,
) -> tuple[SharedFit, BoolArray]:
    """Fit all label models with shared coefficients; return where labels are uncertain too."""
    models = _StackedModels(terms, regressors, patterns.T)
    uncertain, directions = np.ones(patterns.size, dtype=np.bool_), []
    aliased = models.null_space(uncertain)
    away = counted_direction(patterns, terms)
    if away.any():
        uncertain = models.margins(away) <= CERTAIN
        directions.append(away)
    outcomes, weights = models.outcomes.reshape(1, -1), np.tile(counts, len(terms.place))
    values, steps, is_final = np.zeros(terms.n_terms), 0, False
    while True:
        chosen = models.independent(uncertain)
        start = np.zeros((1, terms.n_terms))
        start[0, chosen.kept] = chosen.carry_over(values)
        design = _Basis(models, chosen.kept)
        left = max_iter - steps
        fits = maximize(
            design,
            outcomes,
            weights * uncertain,
            terms.n_terms,
            start=start,
            max_iter=left if is_final else min(left, _LOOK),
        )
        values, steps = fits.coef[0], steps + int(fits.steps[0])
        if is_final or proves_overlap(design, fits, (weights * uncertain)[None])[0]:
            break
        # A Newton step moves the margins of certain rows most.
        moves, candidates = models.margins(fits.step[0]), np.flatnonzero(uncertain)
        candidates = candidates[np.argsort(-moves[candidates], kind="stable")]
        space = np.eye(terms.n_terms)[:, chosen.kept]
        found = drop_certain(models, candidates, space, uncertain)
        is_final = found is None
        if found is not None:
            uncertain = found[0]
            directions.append(found[1])
    llf, converged = float(fits.llf[0]), bool(fits.converged[0])
    shared = shared_fit(chosen, values, directions, aliased, llf, steps, converged)
    return shared, uncertain.reshape(patterns.T.shape)


def shared_fit(
    chosen: Columns,
    values: FloatArray,
    directions: Sequence[FloatArray],
    aliased: FloatArray,
    llf: float,
    iterations: int,
    converged: bool,
) -> SharedFit:
    """Put together where an iteration ended."""
    return SharedFit(
        basis=chosen.kept,
        basis_coef=values[chosen.kept],
        directions=np.array(directions).reshape(-1, len(values)),
        aliased=aliased,
        unidentified=chosen.null_space,
        llf=min(llf, 0.0),
        iterations=iterations,
        converged=converged,
    )


@dataclass(frozen=True, eq=False)
class _StackedModels:
    """All label models as one: rows (K · L) are those of the first label first."""

    terms: SharedTerms
    regressors: Regressors
    outcomes: BoolArray

    def predict(self, coef: FloatArray) -> FloatArray:
        """Return linear predictors, shape (..., K · L)."""
        found = self.terms.gather(coef) @ self.regressors.matrix.T
        return np.asarray(found.reshape(*coef.shape[:-1], -1))

    def information(self, weights: FloatArray) -> FloatArray:
        """Return the sum of Z'WZ over label models."""
        by_label = weights.reshape(self.outcomes.shape)
        return self.terms.add_up_squares(self.regressors.products.under(by_label))

    def take(self, rows: IntArray) -> FloatArray:
        """Write out signed regressors of some rows."""
        labels, cells = np.divmod(rows, self.outcomes.shape[1])
        written = np.zeros((len(rows), self.terms.n_terms + 1))
        signs = np.where(self.outcomes[labels, cells], 1.0, -1.0)
        signed = signs[:, None] * self.regressors.matrix[cells]
        # Positions that a model does not have share a last column, which is left out.
        np.put_along_axis(written, self.terms.place[labels] % written.shape[1], signed, axis=1)
        return written[:, :-1]

    def margins(self, direction: FloatArray) -> FloatArray:
        """Return the margins of all rows along a direction."""
        moved = self.predict(direction)
        return np.where(self.outcomes.ravel(), moved, -moved)

    def independent(self, uncertain: BoolArray) -> Columns:
        """Choose coefficients that uncertain rows tell apart."""
        return independent_columns(self.information(uncertain.astype(np.float64)))

    def null_space(self, uncertain: BoolArray) -> FloatArray:
        """Return directions, as columns, that move no uncertain row."""
        return self.independent(uncertain).null_space


@dataclass(frozen=True, eq=False)
class _Basis:
    """The design of some of the shared coefficients; see `logistic.Design`."""

    models: _StackedModels
    basis: IntArray

    def predict(self, models: IntArray, coef: FloatArray) -> FloatArray:
        """Return linear predictors."""
        return self.models.predict(coef)

    def gradient(self, models: IntArray, residuals: FloatArray) -> FloatArray:
        """Return Z'e."""
        by_label = residuals.reshape(len(residuals), *self.models.outcomes.shape)
        whole = self.models.terms.add_up(by_label @ self.models.regressors.matrix)
        gradient = np.zeros_like(whole)
        gradient[:, self.basis] = whole[:, self.basis]
        return gradient

    def information(self, models: IntArray, weights: FloatArray) -> FloatArray:
        """Return Z'WZ."""
        size, inside = self.models.terms.n_terms, np.ix_(self.basis, self.basis)
        information = np.zeros((len(weights), size, size))
        for own, line in zip(information, weights, strict=True):
            own[inside] = self.models.information(line)[inside]
        return information

    def quadratic(self, models: IntArray, matrices: FloatArray) -> FloatArray:
        """Return z'Mz of each row."""
        place, products = self.models.terms.place, self.models.regressors.products
        padded = np.pad(matrices, ((0, 0), (0, 1), (0, 1)))
        by_label = padded[:, place[:, :, None], place[:, None, :]]
        return np.array([products.quadratic_forms(own).ravel() for own in by_label])
