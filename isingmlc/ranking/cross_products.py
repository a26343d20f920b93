r"""Weighted cross-products of one feature with all: what a step of forward ranking needs.

For feature s and label k they are :math:`\sum_i w_{ik} (x_{is} - f_{ik}) x_{ij}` for all j, with
weights w and fitted values f that rows of a cell share. Rows give them in one pass. Statistics hold
no products of features, and ask the engine that they came from for them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import Features, FloatArray, IntArray, chunks, dense
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of, take_features

# Rows are passed over in blocks of about this size; features that are smaller are centred once.
_PASS_BYTES = 2**26
NO_PRODUCTS = (
    "{purpose} needs products of features, which statistics do not hold. Make the model of rows, "
    "or of a table in a database, which can be asked for them: "
    "IsingModel.from_statistics(LabelsetStatistics.from_table(…))."
)


class RowProducts:
    """Cross-products from rows."""

    def __init__(self, data: ModelData, shift: FloatArray, cells: IntArray) -> None:
        features: Features = data.features
        self._is_sparse = sparse.issparse(features)
        self._features = features.tocsc() if self._is_sparse else features
        self._shift, self._cells, self._weights = shift, cells, data.weights

    def __call__(self, column: int, weights: FloatArray, fitted: FloatArray) -> FloatArray:
        """Return the cross-products of one feature with all."""
        compute = self._sum_sparse if self._is_sparse else self._sum_dense
        return compute(column, weights, fitted)

    def sums_of(self, column: int) -> FloatArray:
        """Return the sums of one feature within cells."""
        values = dense(self._features[:, [column]]).ravel() - self._shift[column]
        if self._weights is not None:
            values = values * self._weights
        return np.bincount(self._cells, values).astype(np.float64)

    def _sum_dense(self, column: int, weights: FloatArray, fitted: FloatArray) -> FloatArray:
        n_rows, n_features = self._features.shape
        crossed = np.zeros((n_features, weights.shape[1]))
        size = 8 * (n_features + 3 * weights.shape[1])
        for rows in chunks(n_rows, size, limit=_PASS_BYTES):
            block = self._block(rows)
            left = self._left(block[:, column], rows, weights, fitted)
            crossed += block.T @ left
        return crossed

    def _block(self, rows: slice) -> FloatArray:
        """Return some rows of the features, less the shift."""
        if rows == slice(0, self._features.shape[0]):
            return self._all_rows
        return np.asarray(self._features[rows] - self._shift, dtype=np.float64)

    @cached_property
    def _all_rows(self) -> FloatArray:
        """The features less the shift, if they fit into one block."""
        return np.asarray(self._features - self._shift, dtype=np.float64)

    def _sum_sparse(self, column: int, weights: FloatArray, fitted: FloatArray) -> FloatArray:
        n_rows, n_features = self._features.shape
        crossed = np.empty((n_features, weights.shape[1]))
        whole = slice(0, n_rows)
        values = dense(self._features[:, [column]]).ravel() - self._shift[column]
        for part in chunks(weights.shape[1], 24 * n_rows, limit=_PASS_BYTES):
            left = self._left(values, whole, weights[:, part], fitted[:, part])
            crossed[:, part] = self._features.T @ left
            if self._shift.any():
                crossed[:, part] -= np.outer(self._shift, left.sum(axis=0))
        return crossed

    def _left(
        self, values: FloatArray, rows: slice, weights: FloatArray, fitted: FloatArray
    ) -> FloatArray:
        """Return what is left of a feature in some rows, times the weights."""
        cells = self._cells[rows]
        left = values[:, None] - fitted[cells]
        left *= weights[cells]
        if self._weights is not None:
            left *= self._weights[rows, None]
        return left


class AskedProducts:
    """Cross-products from sums of products within cells, which a source of statistics gives."""

    def __init__(self, stats: LabelsetStatistics) -> None:
        self._stats = stats

    def __call__(self, column: int, weights: FloatArray, fitted: FloatArray) -> FloatArray:
        """Return the cross-products of one feature with all."""
        ask: Any = self._stats.products
        crossed = np.asarray(ask(column, self._stats.shift).T @ weights)
        pull = weights * fitted
        for part, sums in self._stats.feature_sums.blocks():
            crossed[part] -= sums.sums.T @ pull
        return crossed

    def sums_of(self, column: int) -> FloatArray:
        """Return the sums of one feature within cells; `RowProducts` explains it."""
        return dense(take_features(self._stats, np.array([column])).sums).ravel()


def find_products(
    stats: LabelsetStatistics, data: ModelData | None, purpose: str
) -> RowProducts | AskedProducts:
    """Find what can give cross-products."""
    if data is not None:
        return RowProducts(data, stats.shift, cells_of(stats, data))
    if stats.products is None:
        raise exc.ModelError(NO_PRODUCTS.format(purpose=purpose))
    return AskedProducts(stats)
