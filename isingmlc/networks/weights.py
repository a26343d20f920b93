"""Weights of pairs of labels, from the two coefficients that each pair has."""

from __future__ import annotations

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray


def pair_shares(slopes: FloatArray, has: BoolArray) -> FloatArray:
    """Return the share that each coefficient has in the weight of its pair."""
    known = has & ~np.isnan(slopes)
    return np.where(known, np.where(np.swapaxes(known, -1, -2), 0.5, 1.0), 0.0)


def pair_weights(slopes: FloatArray, has: BoolArray) -> FloatArray:
    """Return the weights of pairs: the mean of two coefficients, or the one that is known."""
    shares = pair_shares(slopes, has)
    mine = np.where(shares > 0, shares, 0.0) * np.where(shares > 0, slopes, 0.0)
    with np.errstate(invalid="ignore"):
        weights = mine + np.swapaxes(mine, -1, -2)
    unknown = (shares == 0) & (np.swapaxes(shares, -1, -2) == 0)
    weights[unknown & (has | has.T)] = np.nan
    return np.asarray(weights)
