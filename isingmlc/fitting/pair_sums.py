"""Cross-products of the columns of a 0/1 design under many weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.base.arrays import FloatArray

# Share of entries from which on a matrix is multiplied faster when it is not sparse.
_DENSE = 0.1
# Pairs of columns that labelsets may carry in all before matrices are multiplied instead.
_MOST_PAIRS = 2**24


class PairSums:
    r"""Weighted cross-products :math:`Z'WZ` of the columns of a 0/1 design, for many weights.

    A row that carries c of the m columns adds its weight to c(c + 1)/2 entries. Labels are
    sparse, so these are far fewer operations than a product of matrices takes.

    Parameters
    ----------
    design : ndarray of float, shape (rows, m)
        The columns, of zeros and ones.

    Attributes
    ----------
    design : ndarray of float, shape (rows, m)
        The columns.
    place : ndarray of int, shape (m, m)
        Where among the sums the product of two columns is.

    Examples
    --------
    >>> pairs = PairSums(np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> sums = pairs.under(np.array([[2.0, 3.0]]))
    >>> sums[0][pairs.place]
    array([[5., 3.],
           [3., 3.]])
    """

    def __init__(self, design: FloatArray) -> None:
        self.design = design
        self._pool: Any = None
        size = design.shape[1]
        self.place = np.arange(size * size).reshape(size, size)
        rows, columns = np.nonzero(design)
        n_carried = np.bincount(rows, minlength=len(design))
        n_pairs = n_carried * (n_carried + 1) // 2
        if n_pairs.sum() > _MOST_PAIRS:
            return
        # Each column that a row carries is paired with itself and those before it.
        begin = (np.cumsum(n_carried) - n_carried)[rows]
        n_partners = np.arange(len(rows)) - begin + 1
        later = np.repeat(np.arange(len(rows)), n_partners)
        earlier = np.arange(len(later)) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
        earlier += begin[later]
        flat = columns[later] * size + columns[earlier]
        occurs = np.zeros(size * size, dtype=np.bool_)
        occurs[flat] = True
        # Pairs that no row carries share a last sum, which is zero.
        number = np.where(occurs, np.cumsum(occurs) - 1, occurs.sum())
        self.place = np.minimum(number.reshape(size, size), number.reshape(size, size).T)
        pool = sparse.csc_array(
            (np.ones(len(flat)), number[flat], np.concatenate([[0], np.cumsum(n_pairs)])),
            shape=(int(occurs.sum()) + 1, len(design)),
        )
        is_dense = pool.nnz > _DENSE * pool.shape[0] * pool.shape[1]
        self._pool = pool.toarray() if is_dense else pool

    def under(self, weights: FloatArray) -> FloatArray:
        """Give the sums under each line of weights.

        Parameters
        ----------
        weights : ndarray, shape (lines, rows)
            The weights.

        Returns
        -------
        ndarray, shape (lines, sums)
            The sums; taken at `place` they make a matrix.
        """
        if self._pool is not None:
            return np.ascontiguousarray((self._pool @ weights.T).T)
        products = [(self.design.T * line) @ self.design for line in weights]
        return np.array(products).reshape(len(weights), -1)
