"""Coefficients that label models share: one per threshold, one per pair of labels.

In the symmetric Ising model the coefficient of label l in the model of label k is that of k in the
model of l. Here is which coefficient of all label models is which of the shared ones, and what a
fit of them is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray

# Fits whose label models share coefficients.
SHARED = ("joint", "pseudo")


@dataclass(frozen=True, eq=False)
class SharedTerms:
    """Which of the shared coefficients each label model has."""

    place: IntArray

    @classmethod
    def of(cls, neighbors: BoolArray, n_context: int, intercept: bool) -> SharedTerms:
        """Return each coefficient its number."""
        n_labels = len(neighbors)
        place = np.full((n_labels, 1 + n_labels + n_context), -1)
        n_terms = 0
        if intercept:
            place[:, 0] = np.arange(n_labels)
            n_terms = n_labels
        first, second = np.nonzero(np.triu(neighbors, 1))
        pairs = n_terms + np.arange(len(first))
        place[first, 1 + second] = place[second, 1 + first] = pairs
        n_terms += len(first)
        context = n_terms + np.arange(n_labels * n_context)
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
        """Return each label model its own, zero where it has none."""
        whole = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return np.asarray(whole[..., self.place])

    def add_up(self, values: FloatArray) -> FloatArray:
        """Add up what label models have for each shared coefficient."""
        total = np.zeros((*values.shape[:-2], self.n_terms))
        for line, columns in enumerate(self.columns):
            total[..., self.place[line, columns]] += values[..., line, columns]
        return total

    def add_up_squares(self, crossed: list[FloatArray]) -> FloatArray:
        """Add up matrices of label models."""
        total = np.zeros((self.n_terms, self.n_terms))
        for line, columns, matrix in zip(self.place, self.columns, crossed, strict=True):
            at = line[columns]
            total[at[:, None], at] += matrix
        return total


@dataclass(frozen=True)
class SharedFit:
    """A fit of shared coefficients; the fields mean what those of `NodeFit` do."""

    basis: IntArray
    basis_coef: FloatArray
    directions: FloatArray
    aliased: FloatArray
    unidentified: FloatArray
    llf: float
    iterations: int
    converged: bool

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def finite_part(self) -> FloatArray:
        """The finite part of all coefficients, shape (P,); zero outside the basis."""
        values = np.zeros(len(self.aliased))
        values[self.basis] = self.basis_coef
        return values
