"""The order of features by importance, the same on every processor."""

from __future__ import annotations

import numpy as np

from isingmlc.base.arrays import FloatArray, IntArray

# Importances that differ by less than this share of the larger one differ by rounding: another
# processor may add in another order. They are ties.
TIE = 1e-9


def rank_levels(importance: FloatArray) -> IntArray:
    """Give the levels of importance, from the best on; what differs by rounding alone is tied.

    Parameters
    ----------
    importance : ndarray, shape (p,)
        Importances, not negative.

    Returns
    -------
    ndarray of int, shape (p,)
        The level of each feature, 0 for the best.

    Examples
    --------
    >>> rank_levels(np.array([0.5, 2.0, 2.0 + 1e-13, 0.0]))
    array([1, 0, 0, 2])
    """
    order = np.argsort(-importance, kind="stable")
    falling = importance[order]
    falls = falling[:-1] - falling[1:] > TIE * falling[:-1]
    levels = np.empty(len(order), dtype=np.intp)
    levels[order] = np.concatenate([[0], np.cumsum(falls)])[: len(order)]
    return levels


def best_first(importance: FloatArray) -> IntArray:
    """Order features by importance; ties keep the order of the columns.

    Parameters
    ----------
    importance : ndarray, shape (p,)
        Importances, not negative.

    Returns
    -------
    ndarray of int, shape (p,)
        Positions of the features, the best first.

    Examples
    --------
    >>> best_first(np.array([0.5, 2.0, 2.0 + 1e-13, 0.0]))
    array([1, 2, 0, 3])
    """
    return np.argsort(rank_levels(importance), kind="stable")
