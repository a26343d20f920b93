"""Label models with effects, fitted to rows and made into a law of labelsets; penalties chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray
from isingmlc.base.threads import one_thread
from isingmlc.fitting.effects import EffectsFit, fit_effects
from isingmlc.metrics import MEASURES
from isingmlc.prediction.law import LabelsetLaw, list_labelsets


@dataclass(frozen=True, eq=False)
class FittedLabels:
    """An Ising model of the labels given features."""

    thresholds: FloatArray
    effects: FloatArray
    law: LabelsetLaw
    seen: BoolArray
    counts: FloatArray
    varies: BoolArray
    fit: EffectsFit | None

    def fields(self, features: Features) -> FloatArray:
        """Return thresholds plus effects of the features of other rows, shape (n, K)."""
        return np.asarray(features @ self.effects.T) + self.thresholds


def fit_path(
    features: Features,
    labels: BoolArray,
    weights: FloatArray,
    penalties: Sequence[float],
    *,
    labelsets: str,
    max_steps: int,
    n_jobs: int = 1,
) -> Iterable[FittedLabels]:
    """Fit the model at several penalties, each from the fit before."""
    seen, kind = np.unique(labels, axis=0, return_inverse=True)
    counts = np.bincount(kind.ravel(), weights, minlength=len(seen)).astype(np.float64)
    varies = np.asarray((labels != labels[0]).any(axis=0))
    possible = seen if labelsets == "seen" else list_labelsets(varies, labels[0])
    n_labels, n_features = labels.shape[1], features.shape[1]
    inner = np.flatnonzero(varies)
    fit: EffectsFit | None = None
    for penalty in penalties:
        thresholds, effects = np.zeros(n_labels), np.zeros((n_labels, n_features))
        interactions = np.zeros((n_labels, n_labels))
        if len(inner):
            fit = fit_effects(
                features,
                labels[:, inner],
                weights,
                penalty,
                start=fit,
                max_steps=max_steps,
                n_jobs=n_jobs,
            )
            thresholds[inner], effects[inner] = fit.thresholds, fit.effects
            interactions[np.ix_(inner, inner)] = (fit.interactions + fit.interactions.T) / 2
        law = LabelsetLaw(possible, interactions)
        yield FittedLabels(thresholds, effects, law, seen, counts, varies, fit)


def try_penalties(
    features: Features,
    labels: BoolArray,
    weights: FloatArray,
    penalties: Sequence[float],
    splits: Iterable[tuple[IntArray, IntArray]],
    decode: str,
    *,
    labelsets: str,
    max_steps: int,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Measure predictions of held-out rows at several penalties."""

    def measure(train: IntArray, test: IntArray) -> list[float]:
        path = fit_path(
            features[train],
            labels[train],
            weights[train],
            penalties,
            labelsets=labelsets,
            max_steps=max_steps,
        )
        return [
            MEASURES[decode](
                labels[test],
                model.law.decode(model.fields(features[test]), decode, model.seen),
                sample_weight=weights[test],
            )
            for model in path
        ]

    with one_thread() if n_jobs != 1 else nullcontext():
        scores = Parallel(n_jobs, backend="threading")(delayed(measure)(*split) for split in splits)
    folds = np.array(scores).T
    table = pd.DataFrame({"penalty": np.asarray(penalties, dtype=np.float64)})
    table["score"] = folds.mean(axis=1)
    spread = folds.std(axis=1, ddof=1) if folds.shape[1] > 1 else np.full(len(folds), np.nan)
    table["score_se"] = spread / np.sqrt(folds.shape[1])
    for fold in range(folds.shape[1]):
        table[f"fold{fold}"] = folds[:, fold]
    return table
