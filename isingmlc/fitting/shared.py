"""Coefficients that label models share: one per threshold, one per pair of labels.

In the symmetric Ising model the coefficient of label l in the model of label k is that of k in the
model of l. Here is which coefficient of all label models is which of the shared ones, and what a
fit of them is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.separation import CERTAIN, SignedRows, find_direction, shortest_direction

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

    def add_up_squares(self, crossed: FloatArray) -> FloatArray:
        """Add up matrices of label models, shape (K, m, m)."""
        total = np.zeros((self.n_terms, self.n_terms))
        for line, columns, matrix in zip(self.place, self.columns, crossed, strict=True):
            at = line[columns]
            total[at[:, None], at] += matrix[columns[:, None], columns]
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


def counted_direction(labels: FloatArray, terms: SharedTerms) -> FloatArray:
    """Find by counting a direction against values that no row has of one label, or of two."""
    direction, place = np.zeros(terms.n_terms), terms.place
    has_thresholds = bool((place[:, 0] >= 0).all())
    constant = (labels == labels[0]).all(axis=0) & has_thresholds
    direction[place[constant, 0]] = 2 * labels[0, constant] - 1
    varied = (place[:, 1 : 1 + len(place)] >= 0) & ~constant & ~constant[:, None]
    for one, other in ((1, 1), (0, 0), (1, 0), (0, 1)):
        if not has_thresholds and not (one and other):
            continue
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
