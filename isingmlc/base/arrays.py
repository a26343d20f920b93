"""Kinds of arrays, and what is done with any of them: packed bits, sparse or not, chunks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
PackedBits: TypeAlias = npt.NDArray[np.uint8]
IntArray: TypeAlias = npt.NDArray[np.intp]
StrArray: TypeAlias = npt.NDArray[np.object_]
Features: TypeAlias = Any
"""A numeric array or a ``scipy.sparse.csr_array`` (SciPy ships no types)."""

# Temporaries made from a chunk stay about this large, whatever n is.
BLOCK_BYTES = 2**22


def unpack(packed: PackedBits, n_labels: int) -> BoolArray:
    """Turn packed bits into a boolean matrix with one column a label.

    Parameters
    ----------
    packed : ndarray of uint8, shape (rows, ceil(n_labels / 8))
        Packed bits.
    n_labels : int
        How many of the bits are labels.

    Returns
    -------
    ndarray of bool, shape (rows, n_labels)
        The labels.

    Examples
    --------
    >>> unpack(np.array([[0b10100000]], dtype=np.uint8), 3)
    array([[ True, False,  True]])
    """
    return np.unpackbits(packed, axis=1, count=n_labels).view(np.bool_)


def row_blocks(n_rows: int, bytes_per_row: int, least: int = 16) -> Iterable[slice]:
    """Cut rows into slices whose temporaries take about ``BLOCK_BYTES``.

    Parameters
    ----------
    n_rows : int
        Rows in all.
    bytes_per_row : int
        What one row of the temporary takes.
    least : int
        Rows that a slice has in any case.

    Yields
    ------
    slice
        Consecutive rows.
    """
    step = max(least, BLOCK_BYTES // max(1, bytes_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def dense(matrix: Any) -> FloatArray:
    """Give an array, whether a matrix is sparse or not.

    Parameters
    ----------
    matrix : ndarray or csr_array
        A block small enough to be dense.

    Returns
    -------
    ndarray
        The same numbers.
    """
    array: FloatArray = matrix.toarray() if sparse.issparse(matrix) else matrix
    return array
