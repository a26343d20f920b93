"""Weighted cross-products of the columns of a design, most of them 0/1, for many models at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray

# Pairs of columns that rows may carry in all for these to be listed.
_MOST_PAIRS = 2**24


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
