"""Kinds of arrays, and what is done with all of them: unpacking, chunks, checksums."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from isingmlc.base.tolerances import TIE

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
PackedBits: TypeAlias = npt.NDArray[np.uint8]
IntArray: TypeAlias = npt.NDArray[np.intp]
SignArray: TypeAlias = npt.NDArray[np.int8]
StrArray: TypeAlias = npt.NDArray[np.object_]
Features: TypeAlias = Any
"""A numeric array or a ``scipy.sparse.csr_array`` (SciPy ships no types)."""

# Temporaries made from a chunk stay about this large, whatever n is.
BLOCK_BYTES = 2**22
# What stays in the cache of a core.
_CACHE_BYTES = 2**19
# So many rows tell what kind of numbers the columns have.
_FIRST_ROWS = 16
# Its powers are the weights of columns in a checksum; odd, so that no product with one is lost.
_MULTIPLIER = 0x9E3779B97F4A7C15


def unpack(packed: PackedBits, n_labels: int) -> BoolArray:
    """Turn packed bits into a boolean matrix with one column per label."""
    return np.unpackbits(packed, axis=1, count=n_labels).view(np.bool_)


def chunks(
    n: int,
    bytes_each: int = 1,
    *,
    limit: int | None = None,
    least: int = 1,
    width: int | None = None,
    start: int = 0,
) -> Iterator[slice]:
    """Cut items (rows, columns, repetitions) into consecutive slices of bounded size."""
    if width is None:
        width = max(least, (BLOCK_BYTES if limit is None else limit) // max(1, bytes_each))
    for first in range(start, n, width):
        yield slice(first, min(first + width, n))


def chunks_by_size(sizes: IntArray, limit: int) -> list[slice]:
    """Cut items of different sizes into consecutive slices of about the same size."""
    if 0 < sizes.sum() <= limit:
        return [slice(0, len(sizes))]
    before = np.cumsum(sizes) - sizes
    cuts = (np.flatnonzero(np.diff(before // limit)) + 1).tolist()
    return [slice(*bounds) for bounds in pairwise([0, *cuts, len(sizes)]) if len(sizes)]


def dense(matrix: Any) -> FloatArray:
    """Return an array, whether a matrix is sparse or not."""
    array: FloatArray = matrix.toarray() if sparse.issparse(matrix) else matrix
    return array


def typical_sizes(columns: FloatArray) -> FloatArray:
    """Return the size that the entries of each column mostly have, whatever the largest are."""
    sizes = np.abs(columns)
    n_rows = len(columns)
    if not n_rows:
        return np.ones(columns.shape[1])
    typical = np.median(sizes, axis=0)
    sparse = np.flatnonzero(typical == 0)
    if len(sparse):
        # Zeros come first; the two entries in the middle of the others may be one.
        ordered = np.sort(sizes[:, sparse], axis=0)
        filled = np.count_nonzero(ordered, axis=0)
        middles = [(n_rows - filled + (filled - at) // 2).clip(0, n_rows - 1) for at in (1, 0)]
        every = np.arange(len(sparse))
        medians = (ordered[middles[0], every] + ordered[middles[1], every]) / 2
        typical[sparse] = np.where(filled > 0, medians, 1.0)
    return np.asarray(typical)


def leaves_out_zero(lower: Any, upper: Any) -> Any:
    """Tell which intervals leave out zero; those without limits do not."""
    return (lower > 0) | (upper < 0)


def rank_levels(importance: FloatArray) -> IntArray:
    """Return the levels of importance, from the best on; what differs by rounding alone is tied."""
    order = np.argsort(-importance, kind="stable")
    falling = importance[order]
    falls = falling[:-1] - falling[1:] > TIE * falling[:-1]
    levels = np.empty(len(order), dtype=np.intp)
    levels[order] = np.concatenate([[0], np.cumsum(falls)])[: len(order)]
    return levels


def best_first(importance: FloatArray) -> IntArray:
    """Order features by importance; ties keep the order of the columns."""
    return np.argsort(rank_levels(importance), kind="stable")


def checksum(features: Features) -> int:
    """Return a number that changes when values do, to see later whether they are still the same."""
    value = 0
    if sparse.issparse(features):
        for part in (features.data, features.indices, features.indptr):
            value = zlib.crc32(part, value)
        return value
    n_rows, n_columns = features.shape
    weights = np.multiply.accumulate(np.full(n_columns, _MULTIPLIER, dtype=np.uint64))
    is_wide = features.itemsize == 8
    folds = is_wide and _has_high_bits_alone(features[:_FIRST_ROWS])
    # What is looked at as it is needs no temporaries.
    limit = None if is_wide and not folds else _CACHE_BYTES
    for rows in chunks(n_rows, features.itemsize * n_columns, limit=limit):
        part = features[rows]
        if is_wide:
            # One word per row first: that is faster than to look at every byte.
            bits = part.view(np.uint64)
            if folds:
                folded = bits >> 32
                folded ^= bits
                bits = folded
            part = np.einsum("ij,j->i", bits, weights)
        value = zlib.crc32(part.tobytes(), value)
    return value


def _has_high_bits_alone(rows: Any) -> bool:
    """Return whether a column seems to have high bits alone, as whole numbers do."""
    return not (rows.view(np.uint64) << 32).any(axis=0).all()
