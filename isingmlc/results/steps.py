"""`FeatureSteps`: how features were picked one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from isingmlc.base.arrays import FloatArray, IntArray
from isingmlc.base.readonly import FrozenResult
from isingmlc.base.tables import ResultTable

# Labels that make up at least this share of a gain are named.
_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class FeatureSteps(FrozenResult):
    """The steps of a forward ranking, as arrays.

    Attributes
    ----------
    picked : ndarray of int, shape (T,)
        Positions of the features, in the order in which they were picked.
    gain : ndarray, shape (T,)
        What each added, to all labels together.
    displaced : tuple of tuple of int
        For each step, the features that lost most of their worth by it.

    Examples
    --------
    >>> import isingmlc as im
    >>> ranking = im.rank_features(im.datasets.load_example(), method="forward", n_features=2)
    >>> ranking.scores.steps.gain.round(1)
    array([86.4, 18.2])
    """

    picked: IntArray
    gain: FloatArray
    displaced: tuple[tuple[int, ...], ...]


def list_steps(
    steps: FeatureSteps,
    feature_names: tuple[str, ...],
    label_names: tuple[str, ...],
    parts: FloatArray,
) -> pd.DataFrame:
    """Return one row per step."""
    names = np.array([*label_names], dtype=object)
    gained = []
    for line in np.nan_to_num(parts[steps.picked]):
        order = np.argsort(-line, kind="stable")
        gained.append(", ".join(names[order[line[order] >= _SHARE * line.sum()]]))
    columns = {
        "feature": [feature_names[at] for at in steps.picked],
        "gain": steps.gain,
        "total": np.cumsum(steps.gain),
        "labels": gained,
        "redundant": [", ".join(feature_names[at] for at in step) for step in steps.displaced],
    }
    return ResultTable(columns, pd.RangeIndex(1, len(steps.gain) + 1, name="step"))
