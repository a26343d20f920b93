"""Standardised columns for l1-penalised regressions, and which of them are copies of others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray, chunks, dense
from isingmlc.fitting.pair_sums import PairSums
from isingmlc.input.context import Context
from isingmlc.input.rows import ModelData

# Variances below this part of the mean square are the rounding of zero.
_CONSTANT = 1e-24
# What is left of a column given others is rounding below this part of its size.
_DEPENDENT = 1e-12


@dataclass(frozen=True)
class Design:
    """Standardised columns that several outcomes share."""

    columns: Any
    center: FloatArray
    scale: FloatArray
    share: FloatArray
    nobs: float
    original: IntArray
    mirrored: FloatArray
    pairs: PairSums | None = None

    @classmethod
    def of(cls, columns: Any, weights: FloatArray) -> Design:
        """Standardise columns."""
        nobs = float(weights.sum())
        share = weights / nobs
        original, mirrored = _find_copies(columns)
        mean = np.asarray(share @ columns, dtype=np.float64)
        if sparse.issparse(columns):
            values = sparse.csc_array(columns, dtype=np.float64, copy=True)
            stored = np.diff(values.indptr)
            # Deviations of what is stored, and of the zeros that are not.
            deviation, ones = values.copy(), values.copy()
            deviation.data = np.square(values.data - np.repeat(mean, stored))
            ones.data = np.ones(len(values.data))
            full = stored == len(share)
            variance = share @ deviation + np.where(full, 0.0, 1 - share @ ones) * mean**2
            center = np.where(full, mean, 0.0)
            values.data -= np.repeat(center, stored)
        else:
            values = np.array(columns, dtype=np.float64, order="F")
            values -= mean
            variance = share @ np.square(values)
            center = mean
        # If all values are alike, their mean may be off by a rounding.
        varies = variance > _CONSTANT * (variance + mean**2)
        scale = np.sqrt(np.where(varies, variance, np.inf))
        if sparse.issparse(values):
            values.data /= np.repeat(scale, stored)
        else:
            values /= scale
        pairs = None
        if not sparse.issparse(columns) and columns.dtype == np.bool_:
            pairs = PairSums(columns.astype(np.float64))
        return cls(values, center, scale, share, nobs, original, mirrored, pairs)

    @property
    def varies(self) -> BoolArray:
        """Marks of the columns that are not constant, shape (q,)."""
        return np.isfinite(self.scale)

    @cached_property
    def has_copies(self) -> bool:
        """Whether some columns are copies of others."""
        return bool((self.original != np.arange(len(self.original))).any())

    def leave_out_copies(self, usable: BoolArray, free: BoolArray | None = None) -> BoolArray:
        """Mark the first of all usable columns that are copies of each other."""
        if not self.has_copies:
            return usable & ~free if free is not None else usable.copy()
        if free is not None and free.any():
            usable = usable & ~np.isin(self.original, self.original[free])
        places = np.flatnonzero(usable)
        first = np.zeros_like(usable)
        first[places[np.unique(self.original[places], return_index=True)[1]]] = True
        return first

    def explained_by(self, free: BoolArray) -> BoolArray:
        """Mark the columns that are linear functions of others and a constant."""
        root = np.sqrt(self.share)[:, None]
        basis = np.column_stack([np.ones(len(root)), dense(self.columns[:, free])])
        left, sizes, _ = np.linalg.svd(root * basis, full_matrices=False)
        left = left[:, sizes > _DEPENDENT * sizes[0]]
        inside = (root * left).T @ self.columns
        # The mean square of a column of unit variance, and what others take of it.
        square = 1 + np.square(np.asarray(self.share @ self.columns))
        return np.asarray(square - np.square(inside).sum(axis=0) <= _DEPENDENT * square)

    def share_among_copies(self, coef: FloatArray, usable: BoolArray) -> FloatArray:
        """Share the coefficients of the first of all copies equally among them."""
        if not self.has_copies:
            return coef
        first = np.flatnonzero(self.leave_out_copies(usable))
        if len(first) == usable.sum():
            return coef
        total = np.zeros_like(coef)
        total[:, self.original[first]] = coef[:, first] * self.mirrored[first]
        copies = np.bincount(self.original[usable], minlength=len(usable))
        shares = usable * self.mirrored / np.maximum(copies[self.original], 1)
        return np.asarray(total[:, self.original] * shares)


def _find_copies(columns: Any) -> tuple[IntArray, FloatArray]:
    """Return the first column that each one is a copy of, and −1 where it is mirrored."""
    n_rows, n_columns = columns.shape
    columns = sparse.csc_array(columns) if sparse.issparse(columns) else columns
    original, mirrored = np.arange(n_columns), np.ones(n_columns)
    seen: dict[tuple[bool, bytes], int] = {}
    for block in chunks(n_columns, 8 * n_rows):
        lines = np.ascontiguousarray(dense(columns[:, block]).T, dtype=np.float64)
        places = np.arange(len(lines))
        first = lines[:, 0]
        differs = lines != first[:, None]
        other = lines[places, differs.argmax(axis=1)]
        is_other = lines == other[:, None]
        two_valued = (is_other | ~differs).all(axis=1)
        leading = np.sign(lines[places, (lines != 0).argmax(axis=1)])
        mirrored[block] = np.where(two_valued, np.where(other >= first, 1.0, -1.0), leading)
        # Of two values, which rows have that of the first row is all there is to know.
        pictures = np.packbits(is_other, axis=1)
        for at in range(block.start, block.stop):
            line = at - block.start
            picture = pictures[line]
            if not two_valued[line]:
                # Zeros may have signs, which go when zero is added.
                picture = mirrored[at] * lines[line] + 0.0
            key = bool(two_valued[line]), blake2b(picture, digest_size=16).digest()
            original[at] = seen.setdefault(key, at)
    return original, mirrored * mirrored[original]


def side_by_side(labels: BoolArray, context: FloatArray, features: Features | None = None) -> Any:
    """Put labels, columns of the context and features side by side."""
    if features is None:
        return np.hstack([labels, context]) if context.shape[1] else labels
    if sparse.issparse(features):
        parts = [sparse.csc_array(labels), sparse.csc_array(context), features]
        return sparse.hstack(parts, "csc", dtype=np.float64)
    return np.hstack([labels, context, features], dtype=np.float64)


def lay_out(data: ModelData) -> tuple[BoolArray, FloatArray, Context, Design]:
    """Lay out rows for regressions of each label on other labels, context and features."""
    labels = data.labels
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    context = data.context.select(data.context.find_varying(anywhere=True))
    columns = side_by_side(labels, context.columns, data.features)
    return labels, weights, context, Design.of(columns, weights)
