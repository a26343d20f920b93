"""The order of features by importance, the same on every processor."""

from __future__ import annotations

import numpy as np

from isingmlc.base.arrays import FloatArray, IntArray

# Importances that differ by less than this share of the larger one are ties, whatever the order in
# which a BLAS adds: rounding that adds up over the steps of a forward ranking is about 1e-8 where a
# column is nearly a linear function of those before it.
TIE = 1e-7


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
