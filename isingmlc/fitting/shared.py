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
from isingmlc.base.schema import Array, Flag, Number, Record

# Fits whose label models share coefficients.
SHARED = ("joint", "pseudo")


@dataclass(frozen=True, eq=False)
class SharedTerms:
    """Which of the shared coefficients each label model has.

    Thresholds come first, then pairs, then what the context does to each label.

    Attributes
    ----------
    place : ndarray of int, shape (K, m)
        The number of the shared coefficient that stands at a position of a label model, in the
        order of `NodeFit`; −1 where the model has none.

    Examples
    --------
    >>> terms = SharedTerms.of(~np.eye(3, dtype=bool), n_context=0, intercept=True)
    >>> terms.place
    array([[ 0, -1,  3,  4],
           [ 1,  3, -1,  5],
           [ 2,  4,  5, -1]])
    >>> terms.gather(np.arange(6.0))
    array([[0., 0., 3., 4.],
           [1., 3., 0., 5.],
           [2., 4., 5., 0.]])
    """

    place: IntArray

    @classmethod
    def of(cls, neighbors: BoolArray, n_context: int, intercept: bool) -> SharedTerms:
        """Give each coefficient its number.

        Parameters
        ----------
        neighbors : ndarray of bool, shape (K, K)
            Whether two labels have an interaction, symmetric.
        n_context : int
            How many columns the context has.
        intercept : bool
            Whether labels have thresholds.

        Returns
        -------
        SharedTerms
            The numbers.
        """
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
        """Give each label model its own, zero where it has none.

        Parameters
        ----------
        values : ndarray, shape (..., P)
            What belongs to the shared coefficients.

        Returns
        -------
        ndarray, shape (..., K, m)
            What belongs to those of the label models.
        """
        whole = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return np.asarray(whole[..., self.place])

    def add_up(self, values: FloatArray) -> FloatArray:
        """Add up what label models have for each shared coefficient.

        Parameters
        ----------
        values : ndarray, shape (..., K, m)
            What they have; looked at where they have a coefficient.

        Returns
        -------
        ndarray, shape (..., P)
            The sums.
        """
        total = np.zeros((*values.shape[:-2], self.n_terms))
        for line, columns in enumerate(self.columns):
            total[..., self.place[line, columns]] += values[..., line, columns]
        return total

    def add_up_squares(self, crossed: list[FloatArray]) -> FloatArray:
        """Add up matrices of label models.

        Parameters
        ----------
        crossed : list of ndarray
            One square matrix per label, of the coefficients that its model has.

        Returns
        -------
        ndarray, shape (P, P)
            The sum.
        """
        total = np.zeros((self.n_terms, self.n_terms))
        for line, columns, matrix in zip(self.place, self.columns, crossed, strict=True):
            at = line[columns]
            total[at[:, None], at] += matrix
        return total


@dataclass(frozen=True)
class SharedFit:
    """A fit of shared coefficients; the fields mean what those of `NodeFit` do.

    Attributes
    ----------
    basis : ndarray of int
        The coefficients that the fit was made with.
    basis_coef : ndarray, shape (len(basis),)
        Their values, on the scale of `Regressors`.
    directions : ndarray, shape (rounds, P)
        Where coefficients run off; earlier rounds outweigh later ones.
    aliased, unidentified : ndarray, shape (P, d)
        Directions about which the rows, or those in play, say nothing.
    llf : float
        The log-likelihood, or log pseudo-likelihood.
    iterations : int
        Newton steps.
    converged : bool
        Whether the fit converged.
    """

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


# What is saved of it: one line per field.
SHARED_FIELDS = Record(
    {
        "aliased": Array(float, ("shared_terms", "shared_aliased")),
        "basis": Array(int, ("shared_basis",), least=0, below="shared_terms", unique=True),
        "basis_coef": Array(float, ("shared_basis",)),
        "directions": Array(float, ("shared_rounds", "shared_terms")),
        "unidentified": Array(float, ("shared_terms", "shared_unidentified")),
        "llf": Number(float, most=0),
        "iterations": Number(int, least=0),
        "converged": Flag(),
    }
)
