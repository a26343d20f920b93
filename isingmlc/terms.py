"""Cross-products of the columns of a formula term, which testing them together needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc.data import FloatArray, IntArray, row_blocks


def wide_terms(
    terms: Mapping[str, tuple[str, ...]], feature_names: tuple[str, ...]
) -> dict[str, IntArray]:
    """Find the terms that made several columns.

    Parameters
    ----------
    terms : mapping of str to tuple of str
        Terms and their columns.
    feature_names : tuple of str
        All columns.

    Returns
    -------
    dict of str to ndarray of int
        Positions of the columns of each term that has more than one.

    Examples
    --------
    >>> wide_terms({"C(g)": ("g1", "g2"), "x": ("x",)}, ("x", "g1", "g2"))
    {'C(g)': array([1, 2])}
    """
    position = {name: at for at, name in enumerate(feature_names)}
    return {
        term: np.array([position[name] for name in columns])
        for term, columns in terms.items()
        if len(columns) > 1
    }


def sum_products(
    features: Any,
    columns: IntArray,
    pool: Any,
    shift: FloatArray,
) -> FloatArray:
    """Sum the cross-products of some columns within labelsets.

    Parameters
    ----------
    features : ndarray or csr_array, shape (n, p)
        The features.
    columns : ndarray of int, shape (d,)
        The columns of one term.
    pool : csc_array, shape (L, n)
        Sums rows within labelsets.
    shift : ndarray, shape (p,)
        What is subtracted from the features.

    Returns
    -------
    ndarray, shape (L, d, d)
        The sums.
    """
    n_rows, size = features.shape[0], len(columns)
    total = np.zeros((pool.shape[0], size * size))
    for block in row_blocks(n_rows, 8 * size * size):
        part = features[block][:, columns]
        values = (part.toarray() if sparse.issparse(part) else part) - shift[columns]
        crossed = (values[:, :, None] * values[:, None, :]).reshape(len(values), -1)
        total += pool[:, block] @ crossed
    return total.reshape(-1, size, size)


def recenter_products(
    products: FloatArray, sums: FloatArray, counts: FloatArray, moved: FloatArray
) -> FloatArray:
    """Give cross-products of columns measured from another origin.

    Parameters
    ----------
    products : ndarray, shape (L, d, d)
        Cross-products around the old origin.
    sums : ndarray, shape (L, d)
        Sums around the old origin.
    counts : ndarray, shape (L,)
        Counts.
    moved : ndarray, shape (d,)
        Old origin minus new origin.

    Returns
    -------
    ndarray, shape (L, d, d)
        Cross-products around the new origin.
    """
    crossed = sums[:, :, None] * moved
    return np.asarray(
        products
        + crossed
        + crossed.transpose(0, 2, 1)
        + counts[:, None, None] * np.outer(moved, moved)
    )
