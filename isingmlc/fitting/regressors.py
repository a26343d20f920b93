r"""What label models are made of: a constant, all labels, and the columns of the context.

Columns of the context that are not 0/1 are centred and brought to unit size, so that neither their
origin nor their unit matters to rank, separation or rounding. Middle and size are medians: next to
an outlier the other values would hardly differ on a scale that it had a say in. Products with
labels, which a penalty may shrink, have mean zero and variance one. Coefficients on this scale are
brought to the user's by a linear map: with :math:`\tilde c = (c - m) / s` the coefficient of c is
:math:`\tilde\gamma / s`, and the constant loses :math:`\tilde\gamma m / s`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, typical_sizes
from isingmlc.fitting.cross_products import CrossProducts
from isingmlc.fitting.pair_sums import PairSums
from isingmlc.fitting.separation import Columns, independent_columns
from isingmlc.statistics.labelsets import LabelsetStatistics


@dataclass(frozen=True, eq=False)
class Regressors:
    """The columns of all label models on the cells, the constant first and the context last."""

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
        n_cells, n_labels = patterns.shape
        matrix = np.ones((n_cells, 1 + n_labels))
        matrix[:, 1:] = patterns
        if columns is None or not columns.shape[1]:
            label_of = np.arange(-1, n_labels)
            zeros, ones = np.zeros(len(label_of)), np.ones(len(label_of))
            return cls(matrix, label_of, zeros, ones, ones)
        labels = np.full(columns.shape[1], -1) if labels is None else labels
        centre, scale = np.zeros(columns.shape[1]), np.ones(columns.shape[1])
        wide = ~((columns == 0) | (columns == 1)).all(axis=0)
        own, products = wide & (labels < 0), wide & (labels >= 0)
        share = counts / counts.sum()
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
        scaled = (columns - centre) / scale
        variance = share @ scaled**2 - (share @ scaled) ** 2
        return cls(
            np.hstack([matrix, scaled]),
            np.concatenate([[-1], np.arange(n_labels), labels]),
            np.concatenate([np.zeros(1 + n_labels), centre]),
            np.concatenate([np.ones(1 + n_labels), scale]),
            np.concatenate([np.ones(1 + n_labels), np.maximum(variance, 0.0)]),
        )

    @classmethod
    def of_statistics(cls, stats: LabelsetStatistics, intercept: bool) -> Regressors:
        """Lay out the columns of statistics; `of` explains the rest."""
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
        return not self.is_centred and bool((self.scale == 1).all())

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return int(self.matrix.shape[1])

    @cached_property
    def _has_context(self) -> bool:
        """Whether there are more columns than the constant and the labels."""
        return self.n_columns > 2 + int(self.label_of.max())

    @cached_property
    def free(self) -> BoolArray:
        """The constant and the context, which a ridge penalty leaves free unless told otherwise."""
        return self.label_of < 0

    @cached_property
    def binary(self) -> BoolArray:
        """Columns of zeros and ones, as they were given."""
        if not self._has_context:
            return np.ones(self.n_columns, dtype=np.bool_)
        unmoved = (self.centre == 0) & (self.scale == 1)
        return np.asarray(((self.matrix == 0) | (self.matrix == 1)).all(axis=0) & unmoved)

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
        return self.independent(self._gram, columns, slice(None))

    @cached_property
    def _gram(self) -> FloatArray:
        """Cross-products of the columns."""
        return np.asarray(self.matrix.T @ self.matrix)

    def independent(
        self, gram: FloatArray, columns: IntArray, rows: BoolArray | slice | None
    ) -> Columns:
        """Choose linearly independent columns by cross-products, in doubt by rows if given."""
        some = gram[columns[:, None], columns]
        if self._are_binary or rows is None:
            return independent_columns(some)
        return independent_columns(some, lambda: self.matrix[rows][:, columns])

    @cached_property
    def _are_binary(self) -> bool:
        """Whether all columns are of zeros and ones."""
        return bool(self.binary.all())

    @cached_property
    def is_centred(self) -> bool:
        """Whether something was subtracted from any column."""
        return bool(self.centre.any())

    @cached_property
    def pairs(self) -> PairSums:
        """Cross-products of the columns under many weights."""
        return PairSums(self.matrix, self.binary)

    @cached_property
    def radius_squared(self) -> float:
        """The largest sum of squares in a row."""
        return float(np.einsum("ij,ij->i", self.matrix, self.matrix).max())

    def used_by(self, neighbors: BoolArray, intercept: bool) -> BoolArray:
        """Mark the columns that the model of each label has."""
        used = np.where(self.free, True, neighbors[:, np.maximum(self.label_of, 0)])
        used[:, 0] = intercept
        return np.asarray(used)
