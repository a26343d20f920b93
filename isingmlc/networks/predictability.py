"""How well each label is predicted by the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import xlog1py, xlogy

from isingmlc.base.arrays import BoolArray, FloatArray, StrArray
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.reasons import Reason


def list_predictability(
    labels: BoolArray,
    counts: FloatArray,
    probability: FloatArray,
    label_names: tuple[str, ...],
    reasons: StrArray,
) -> pd.DataFrame:
    """Tabulate how well labels are predicted."""
    total = counts.sum()
    positives = counts @ labels
    share, most = positives / total, np.maximum(positives, total - positives)
    hits = counts @ ((probability > 0.5) == labels)
    deviance = -(counts @ np.where(labels, xlogy(1, probability), xlog1py(1, -probability)))
    null = -total * (xlogy(share, share) + xlog1py(1 - share, -share))
    with np.errstate(invalid="ignore", divide="ignore"):
        gain, explained = (hits - most) / (total - most), 1 - deviance / null
    auc = [rank_area(labels[:, k], probability[:, k], counts) for k in range(labels.shape[1])]
    frame = ResultTable(
        {
            "prevalence": share,
            "marginal": most / total,
            "accuracy": hits / total,
            "gain": gain,
            "deviance_r2": explained,
            "auc": auc,
            "reason": reasons,
        },
        index=pd.Index(label_names),
    )
    said = reasons == Reason.OK
    frame.loc[~said, ["accuracy", "gain", "deviance_r2", "auc"]] = np.nan
    return frame


def rank_area(outcome: BoolArray, score: FloatArray, counts: FloatArray) -> float:
    """Return the area under the ROC curve: how often a row with the label has the higher score."""
    # What differs by rounding ties.
    _, place = np.unique(np.round(score, 12), return_inverse=True)
    with_label = np.bincount(place, counts * outcome)
    without = np.bincount(place, counts * ~outcome)
    pairs = with_label.sum() * without.sum()
    if not pairs:
        return float("nan")
    below = np.cumsum(without) - without
    return float(with_label @ (below + without / 2) / pairs)
