r"""The columns of label models, their cross-products, and factors of the inverse information.

Columns are a constant, all labels, and those of the context. Columns of the context that are not
0/1 are centred and brought to unit size, so that neither their origin nor their unit matters to
rank, separation or rounding. Middle and size are medians: next to an outlier the other values would
hardly differ on a scale that it had a say in. Products with labels, which a penalty may shrink,
have mean zero and variance one. With :math:`\tilde c = (c - m) / s` the coefficient of c is
:math:`\tilde\gamma / s`, and the constant loses :math:`\tilde\gamma m / s`.

With :math:`A = Z'WZ` the (penalised) information of a label's fit, score tests and standard errors
need F with :math:`FF' = A^{-1}`. It comes from the Cholesky factor of A, scaled to a diagonal of
ones, unless a coefficient's variance is inflated by more than `_INFLATED`. Beyond that A has lost
the digits that matter, and F comes from a QR decomposition of :math:`\sqrt{W}Z` with pivots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack, qr

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks_by_size, typical_sizes
from isingmlc.fitting.separation import Columns, independent_columns
from isingmlc.statistics.labelsets import LabelsetStatistics

# Pairs of 0/1 columns that rows may carry in all for these to be listed.
_MOST_PAIRS = 2**24
# How much the variance of a coefficient may exceed what it would be without the other regressors.
_INFLATED = 1e7
# Pivots of the scaled regressors below this share of the largest are zeros.
_ALIASED = 1e-10
# Factors are kept until they take more than this.
_KEPT_BYTES = 2**27


class CrossProducts:
    """Products of the columns of a design under many weights, and quadratic forms of its rows.

    Rows carry few pairs of the 0/1 columns. These are listed once in a sparse matrix of pairs ×
    rows, which sums weights for all models at once.
    """

    def __init__(self, design: FloatArray, binary: BoolArray) -> None:
        self.design, self.binary = design, binary

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, Any] | None:
        """The pairs of 0/1 columns that rows carry, and which rows do; None if too many."""
        inside = np.flatnonzero(self.binary)
        rows, columns = self.design[:, inside].nonzero()
        n_carried = np.bincount(rows, minlength=len(self.design))
        if (n_carried * (n_carried + 1)).sum() // 2 > _MOST_PAIRS:
            return None
        # Each column that a row carries is paired with itself and those before it.
        begin = (np.cumsum(n_carried) - n_carried)[rows]
        n_partners = np.arange(len(rows)) - begin + 1
        later = np.repeat(np.arange(len(rows)), n_partners)
        earlier = np.arange(len(later)) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
        earlier += begin[later]
        size = len(inside)
        flat = columns[later] * size + columns[earlier]
        pairs, number = np.unique(flat, return_inverse=True)
        ends = np.concatenate([[0], np.cumsum(n_carried * (n_carried + 1) // 2)])
        carriers = sparse.csc_array(
            (np.ones(len(flat)), number.ravel(), ends), shape=(len(pairs), len(self.design))
        )
        return inside[pairs // size], inside[pairs % size], carriers.tocsr()

    @cached_property
    def _wide(self) -> IntArray:
        """The columns that are not 0/1, or all if pairs are too many to be listed."""
        return np.arange(len(self.binary)) if self._pairs is None else np.flatnonzero(~self.binary)

    def under(self, weights: FloatArray) -> FloatArray:
        """Return Z'WZ for each line of weights, shape (m, d, d)."""
        design, wide, size = self.design, self._wide, self.design.shape[1]
        products = np.zeros((len(weights), size, size))
        if self._pairs is not None:
            later, earlier, carriers = self._pairs
            sums = (carriers @ weights.T).T
            products[:, later, earlier] = sums
            products[:, earlier, later] = sums
        if len(wide) == size:
            for own, line in zip(products, weights, strict=True):
                own[:] = (design.T * line) @ design
        else:
            for at in wide.tolist():
                products[:, at] = products[:, :, at] = (weights * design[:, at]) @ design
        return products

    def are_few(self, columns: Sequence[IntArray]) -> bool:
        """Return whether models have so few of the columns that each is better off by itself."""
        return bool(4 * max(map(len, columns), default=0) < self.design.shape[1])

    def of_columns(self, columns: Sequence[IntArray], weights: FloatArray) -> list[FloatArray]:
        """Return Z'WZ of some columns under each line of weights."""
        if not self.are_few(columns):
            whole = self.under(weights)
            return [own[at[:, None], at] for own, at in zip(whole, columns, strict=True)]
        lines = (self.design.T[at] for at in columns)
        return [(own * line) @ own.T for own, line in zip(lines, weights, strict=True)]

    def quadratic_forms(self, matrices: FloatArray) -> FloatArray:
        """Return z'Mz of each row of the design for symmetric M, shape (m, L)."""
        design, wide = self.design, self._wide
        if self._pairs is None:
            forms = [np.einsum("ij,ij->i", design @ own, design) for own in matrices]
            return np.array(forms).reshape(len(matrices), len(design))
        later, earlier, carriers = self._pairs
        times = np.where(later == earlier, 1.0, 2.0)
        forms = (carriers.T @ (times * matrices[:, later, earlier]).T).T
        if len(wide):
            halves = matrices[:, wide].copy()
            # Products with 0/1 columns stand on both sides of the diagonal.
            halves[:, :, self.binary] *= 2.0
            forms = forms + np.vecdot((halves @ design.T).transpose(0, 2, 1), design[:, wide])
        return np.ascontiguousarray(forms)


@dataclass(frozen=True, eq=False)
class Regressors:
    """The columns of all label models on the cells, the constant first and the context last.

    `label_of` is the label that a column is, or is a product with; -1 if none.
    """

    matrix: FloatArray
    label_of: IntArray
    centre: FloatArray
    scale: FloatArray
    variance: FloatArray

    @classmethod
    def of(
        cls,
        patterns: BoolArray,
        counts: FloatArray,
        columns: FloatArray | None = None,
        *,
        intercept: bool = True,
        labels: IntArray | None = None,
    ) -> Regressors:
        """Lay out the columns."""
        n_labels, n_context = patterns.shape[1], 0 if columns is None else columns.shape[1]
        size = 1 + n_labels + n_context
        label_of = np.full(size, -1)
        label_of[1 : 1 + n_labels] = np.arange(n_labels)
        matrix, centre, scale, variance = np.ones((len(patterns), size)), *np.ones((3, size))
        matrix[:, 1 : 1 + n_labels] = patterns
        centre[:] = 0.0
        if columns is not None and n_context:
            context = slice(1 + n_labels, None)
            if labels is not None:
                label_of[context] = labels
            share = counts / counts.sum()
            is_product = label_of[context] >= 0
            centre[context], scale[context] = _standards(columns, share, is_product, intercept)
            matrix[:, context] = scaled = (columns - centre[context]) / scale[context]
            variance[context] = np.maximum(share @ scaled**2 - (share @ scaled) ** 2, 0.0)
        return cls(matrix, label_of, centre, scale, variance)

    @classmethod
    def of_statistics(cls, stats: LabelsetStatistics, intercept: bool) -> Regressors:
        """Lay out the columns of statistics."""
        return cls.of(stats.patterns, stats.counts, stats.context.columns, intercept=intercept)

    def at(self, labels: BoolArray, columns: FloatArray) -> FloatArray:
        """Return the columns of other rows, on the same scale."""
        whole = np.column_stack([np.ones(len(labels)), labels, columns])
        return (whole - self.centre) / self.scale

    def in_units(self, values: FloatArray) -> FloatArray:
        """Bring coefficients, or directions of them, to the units of the user's columns."""
        if self.in_their_units:
            return values
        restored = (values.T / self.scale).T
        restored[0] -= self.centre @ restored
        return restored

    def functions_of_units(self, lines: FloatArray) -> FloatArray:
        """Write linear functions of coefficients in the user's units, as lines, in those here."""
        if self.in_their_units:
            return lines
        return np.asarray((lines - lines[..., :1] * self.centre) / self.scale)

    def changed_by(self, directions: FloatArray, rounding: float) -> BoolArray:
        """Mark the coefficients of the user's columns that directions change."""
        changed = np.abs(directions) > rounding
        if not self.in_their_units:
            carried = (directions.T * (self.centre / self.scale)).T
            size = 1.0 + np.abs(carried).sum(axis=0)
            changed[0] = np.abs(directions[0] - carried.sum(axis=0)) > rounding * size
        return np.asarray(changed)

    @cached_property
    def in_their_units(self) -> bool:
        """Whether no column was moved or scaled."""
        return not self.centre.any() and bool((self.scale == 1).all())

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return int(self.matrix.shape[1])

    @cached_property
    def free(self) -> BoolArray:
        """The constant and the context, which a ridge penalty leaves free unless told otherwise."""
        return self.label_of < 0

    @cached_property
    def binary(self) -> BoolArray:
        """Columns of zeros and ones, as they were given."""
        is_binary = (self.centre == 0) & (self.scale == 1)
        context = np.arange(2 + int(self.label_of.max()), self.n_columns)
        values = self.matrix[:, context]
        is_binary[context] &= ((values == 0) | (values == 1)).all(axis=0)
        return np.asarray(is_binary)

    @cached_property
    def products(self) -> CrossProducts:
        """Cross-products of the columns under many weights."""
        return CrossProducts(self.matrix, self.binary)

    @cached_property
    def relations(self) -> Columns:
        """Which of the columns are linear functions of those before them."""
        return self.relations_among(np.arange(self.n_columns))

    def relations_among(self, columns: IntArray) -> Columns:
        """Tell which of some columns are linear functions of those before them, in all rows."""
        return self.independent(self._gram[columns[:, None], columns], columns, slice(None))

    @cached_property
    def _gram(self) -> FloatArray:
        """Cross-products of the columns."""
        return np.asarray(self.matrix.T @ self.matrix)

    def independent(
        self, gram: FloatArray, columns: IntArray, rows: BoolArray | slice | None
    ) -> Columns:
        """Choose linearly independent columns by cross-products, in doubt by rows if given."""
        if rows is None or self.binary.all():
            return independent_columns(gram)
        return independent_columns(gram, lambda: self.matrix[rows][:, columns])

    def used_by(self, neighbors: BoolArray, intercept: bool) -> BoolArray:
        """Mark the columns that the model of each label has."""
        used = np.where(self.free, True, neighbors[:, np.maximum(self.label_of, 0)])
        used[:, 0] = intercept
        return np.asarray(used)


def _standards(
    columns: FloatArray, share: FloatArray, is_product: BoolArray, intercept: bool
) -> tuple[FloatArray, FloatArray]:
    """Return what is subtracted from columns of the context, and what they are divided by."""
    centre, scale = np.zeros(columns.shape[1]), np.ones(columns.shape[1])
    wide = ~((columns == 0) | (columns == 1)).all(axis=0)
    own, products = wide & ~is_product, wide & is_product
    if own.any():
        if intercept:
            centre[own] = np.median(columns[:, own], axis=0)
        scale[own] = typical_sizes(columns[:, own] - centre[own])
    if products.any():
        if intercept:
            centre[products] = share @ columns[:, products]
        moved = columns[:, products] - centre[products]
        # Squares of what is very small would be zero.
        largest = np.abs(moved).max(axis=0)
        largest[largest == 0] = 1.0
        spread = largest * np.sqrt(share @ (moved / largest) ** 2)
        scale[products] = np.where(spread > 0, spread, 1.0)
    return centre, scale


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
        sizes = np.array([len(basis) for basis in bases])
        if not products.are_few(bases):
            sizes[:] = products.design.shape[1]
        self._blocks = chunks_by_size(8 * sizes**2, _KEPT_BYTES)
        self._kept: dict[int, Factor] = {}

    def __getitem__(self, label: int) -> Factor:
        """Return the factor of a label, and keep those of its neighbours in the list."""
        if label not in self._kept:
            block = next(part for part in self._blocks if part.start <= label < part.stop)
            bases, weights = self.bases[block], self._weights[block]
            products = self._products.of_columns(bases, self._counts * weights)
            found = map(self._factor, bases, weights, products)
            self._kept = dict(enumerate(found, block.start))
        return self._kept[label]

    @property
    def design(self) -> FloatArray:
        """The constant, all labels and the context."""
        return self._products.design

    def _factor(self, basis: IntArray, weight: FloatArray, information: FloatArray) -> Factor:
        """Factor the information of one label."""
        if not len(basis):
            return Factor(basis, np.zeros((0, 0)), np.zeros(0, dtype=np.bool_), 1.0)
        penalty = np.zeros(len(basis)) if self._penalty is None else self._penalty[basis]
        found = _from_information(information + np.diag(penalty))
        if found is not None:
            values, inflation = found
            return Factor(basis, values, np.zeros(len(basis), dtype=np.bool_), inflation)
        rows = np.flatnonzero(weight > 0)
        scale = np.sqrt(self._counts * weight)[rows]
        regressors = scale[:, None] * self.design[rows[:, None], basis]
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
    return (inverse / size[:, None], inflation) if inflation <= _INFLATED else None


def _from_regressors(
    regressors: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Factor the inverse of cross-products; return aliases and orthogonal regressors too."""
    n_rows, n_columns = regressors.shape
    regressors = np.vstack([regressors, np.diag(np.sqrt(penalty))[penalty > 0]])
    size = np.sqrt(np.einsum("ij,ij->j", regressors, regressors))
    size[size == 0] = 1.0
    scaled = regressors / size
    # Large rows first: then small ones keep their digits.
    order = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")
    left, upper, pivots = qr(scaled[order], mode="economic", pivoting=True, check_finite=False)
    lengths = np.abs(upper.diagonal())
    rank = int((lengths > _ALIASED * lengths[:1]).sum())
    values = np.zeros((n_columns, rank))
    if rank:
        inverse, _ = lapack.dtrtri(upper[:rank, :rank], lower=0)
        values[pivots[:rank]] = inverse / size[pivots[:rank], None]
    aliased = np.ones(n_columns, dtype=np.bool_)
    aliased[pivots[:rank]] = False
    orthogonal: Any = np.empty((len(scaled), rank))
    orthogonal[order] = left[:, :rank]
    return values, aliased, orthogonal[:n_rows]
