r"""Factors of the inverse information of the label models, the one place that inverts it.

With :math:`A = Z'WZ` the (penalised) information of a label's fit on labelsets, score tests and
standard errors need F with :math:`FF' = A^{-1}`. It comes from the Cholesky factor of A, scaled to
a diagonal of ones, as long as no coefficient's variance is inflated by more than `INFLATED`.
Beyond that A has lost the digits that matter, and F comes from a QR decomposition of
:math:`\sqrt{W}Z` with pivots, which has not. Directions of the coefficients along which
:math:`\sqrt{W}Z`, its columns brought to length one, is shorter than `ALIASED` count as aliased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack, qr

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks_by_size
from isingmlc.fitting.cross_products import CrossProducts

# How much the variance of a coefficient may exceed what it would be without the other regressors.
INFLATED = 1e7
# Pivots of the scaled regressors below this share of the largest are zeros.
ALIASED = 1e-10
# Factors are kept until they take more than this.
KEPT_BYTES = 2**27


@dataclass(frozen=True)
class Factor:
    """F with :math:`FF' = A^{-1}`, of one label's information A."""

    basis: IntArray
    matrix: FloatArray
    aliased: BoolArray
    inflation: float
    root: FloatArray | None = None


class Factors:
    """Factors of all labels, computed when needed, some labels at a time."""

    def __init__(
        self,
        products: CrossProducts,
        counts: FloatArray,
        bases: Sequence[IntArray],
        weights: FloatArray,
        penalty: FloatArray | None,
    ) -> None:
        self._products, self._counts, self._penalty = products, counts, penalty
        self.bases, self._weights = bases, weights
        sizes = np.array([8 * len(basis) ** 2 for basis in bases])
        self._blocks = chunks_by_size(sizes, KEPT_BYTES)
        self._block_of = np.repeat(
            np.arange(len(self._blocks)), [part.stop - part.start for part in self._blocks]
        )
        self._kept: tuple[int, list[Factor]] = -1, []

    def __getitem__(self, label: int) -> Factor:
        """Return the factor of a label, and keep those of its neighbours in the list."""
        block = int(self._block_of[label])
        kept, factors = self._kept
        if kept != block:
            factors = self._compute(self._blocks[block])
            self._kept = block, factors
        place: int = label - self._blocks[block].start
        return factors[place]

    @property
    def design(self) -> FloatArray:
        """The constant, all labels and the context."""
        return self._products.design

    @property
    def binary(self) -> BoolArray:
        """Which of them are of zeros and ones."""
        return self._products.binary

    def cross_products(self, labels: Sequence[int], weights: FloatArray) -> list[FloatArray]:
        """Return Z'WZ of the regressors of some labels, each under its own weights."""
        products = self._products.under(weights)
        bases = [self.bases[label] for label in labels]
        return [own[at[:, None], at] for own, at in zip(products, bases, strict=True)]

    def _compute(self, labels: slice) -> list[Factor]:
        """Factor the information of some labels."""
        bases, weights = self.bases[labels], self._weights[labels]
        products = self._products.under(self._counts * weights)
        return [
            self._factor(at, line, own[at[:, None], at])
            for at, line, own in zip(bases, weights, products, strict=True)
        ]

    def _factor(self, basis: IntArray, weight: FloatArray, information: FloatArray) -> Factor:
        """Factor the information of one label."""
        if not len(basis):
            return Factor(basis, np.zeros((0, 0)), np.zeros(0, dtype=np.bool_), 1.0)
        penalty = None
        if self._penalty is not None:
            penalty = self._penalty[basis]
            information.flat[:: len(basis) + 1] += penalty
        found = _from_information(information)
        if found is not None:
            values, inflation = found
            return Factor(basis, values, np.zeros(len(basis), dtype=np.bool_), inflation)
        rows = np.flatnonzero(weight > 0)
        scale = np.sqrt(self._counts * weight)[rows]
        regressors = scale[:, None] * self._products.design[rows[:, None], basis]
        values, aliased, orthogonal = _from_regressors(regressors, penalty)
        return Factor(basis, values, aliased, np.inf, orthogonal.T * (weight[rows] / scale))


def _from_information(information: FloatArray) -> tuple[FloatArray, float] | None:
    """Factor the inverse of a matrix, with the inflation; None where it lacks what is needed."""
    diagonal = information.diagonal()
    if not (diagonal > 0).all():
        return None
    size = np.sqrt(diagonal)
    upper, failed = lapack.dpotrf(information / (size[:, None] * size), lower=0)
    if failed:
        return None
    inverse, _ = lapack.dtrtri(upper, lower=0)
    inflation = float(np.einsum("ij,ij->i", inverse, inverse).max())
    if not inflation <= INFLATED:
        return None
    return inverse / size[:, None], inflation


def _from_regressors(
    regressors: FloatArray, penalty: FloatArray | None
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Factor the inverse of cross-products; give aliases and orthogonal regressors too."""
    n_rows, n_columns = regressors.shape
    if penalty is not None:
        regressors = np.vstack([regressors, np.diag(np.sqrt(penalty))])
    size = np.sqrt(np.einsum("ij,ij->j", regressors, regressors))
    size[size == 0] = 1.0
    scaled = regressors / size
    # Large rows first: then small ones keep their digits.
    order = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")
    left, upper, pivots = qr(scaled[order], mode="economic", pivoting=True, check_finite=False)
    lengths = np.abs(upper.diagonal())
    rank = int((lengths > ALIASED * lengths[:1]).sum())
    values = np.zeros((n_columns, rank))
    if rank:
        inverse, _ = lapack.dtrtri(upper[:rank, :rank], lower=0)
        values[pivots[:rank]] = inverse / size[pivots[:rank], None]
    aliased = np.ones(n_columns, dtype=np.bool_)
    aliased[pivots[:rank]] = False
    orthogonal: Any = np.empty((len(scaled), rank))
    orthogonal[order] = left[:, :rank]
    return values, aliased, orthogonal[:n_rows]
