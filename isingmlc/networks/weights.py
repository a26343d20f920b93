"""Weights of pairs of labels, from the two coefficients that each pair has."""

from __future__ import annotations

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray


def pair_shares(slopes: FloatArray, has: BoolArray) -> FloatArray:
    """Give the share that each coefficient has in the weight of its pair.

    Parameters
    ----------
    slopes : ndarray, shape (..., K, K)
        Entry (k, l) is the coefficient of label l in the model of label k; NaN where it is not
        identified.
    has : ndarray of bool, shape (K, K)
        Whether the model of label k has label l.

    Returns
    -------
    ndarray, shape (..., K, K)
        A half where both coefficients of a pair are known, 1 where it is the only one, 0 where it
        is not known.

    Examples
    --------
    >>> slopes = np.array([[np.nan, 1.0, np.nan], [2.0, np.nan, 3.0], [4.0, 5.0, np.nan]])
    >>> pair_shares(slopes, ~np.eye(3, dtype=bool))
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0.5],
           [1. , 0.5, 0. ]])
    """
    known = has & ~np.isnan(slopes)
    return np.where(known, np.where(np.swapaxes(known, -1, -2), 0.5, 1.0), 0.0)


def pair_weights(slopes: FloatArray, has: BoolArray) -> FloatArray:
    """Give the weights of pairs: the mean of two coefficients, or the one that is known.

    Parameters
    ----------
    slopes : ndarray, shape (..., K, K)
        Entry (k, l) is the coefficient of label l in the model of label k.
    has : ndarray of bool, shape (K, K)
        Whether the model of label k has label l.

    Returns
    -------
    ndarray, shape (..., K, K)
        Symmetric, zero on the diagonal and for pairs that no model has; NaN where neither
        coefficient is known, or both run to opposite infinities.

    Examples
    --------
    >>> slopes = np.array([[np.nan, 1.0, np.nan], [2.0, np.nan, 3.0], [4.0, -np.inf, np.nan]])
    >>> pair_weights(slopes, ~np.eye(3, dtype=bool))
    array([[ 0. ,  1.5,  4. ],
           [ 1.5,  0. , -inf],
           [ 4. , -inf,  0. ]])
    """
    shares = pair_shares(slopes, has)
    mine = np.where(shares > 0, shares, 0.0) * np.where(shares > 0, slopes, 0.0)
    with np.errstate(invalid="ignore"):
        weights = mine + np.swapaxes(mine, -1, -2)
    unknown = (shares == 0) & (np.swapaxes(shares, -1, -2) == 0)
    weights[unknown & (has | has.T)] = np.nan
    return np.asarray(weights)
