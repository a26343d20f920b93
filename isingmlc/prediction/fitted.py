"""Label models with effects, fitted to rows and made into a law of labelsets; penalties chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray
from isingmlc.fitting.effects import EffectsDesign, EffectsFit, fit_effects
from isingmlc.fitting.newton import one_thread
from isingmlc.metrics import MEASURES
from isingmlc.prediction.law import LabelsetLaw, list_labelsets


@dataclass(frozen=True, eq=False)
class FittedLabels:
    """An Ising model of the labels given features.

    Attributes
    ----------
    thresholds : ndarray, shape (K,)
        Thresholds; zero for labels that are constant.
    effects : ndarray, shape (K, p)
        What features add to them, in their own units.
    law : LabelsetLaw
        The interactions, and which labelsets are possible.
    seen : ndarray of bool, shape (C, K)
        The labelsets of the rows.
    counts : ndarray, shape (C,)
        Their (weighted) counts.
    varies : ndarray of bool, shape (K,)
        Which labels are not constant.
    fit : EffectsFit or None
        The fits of the labels that vary; None if none does.
    """

    thresholds: FloatArray
    effects: FloatArray
    law: LabelsetLaw
    seen: BoolArray
    counts: FloatArray
    varies: BoolArray
    fit: EffectsFit | None

    def fields(self, features: Features) -> FloatArray:
        """Give thresholds plus effects of the features of other rows, shape (n, K)."""
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
    """Fit the model at several penalties, each from the fit before.

    Parameters
    ----------
    features : ndarray or csr_array, shape (n, p)
        The features.
    labels : ndarray of bool, shape (n, K)
        The labels.
    weights : ndarray, shape (n,)
        How many observations each row stands for, none of them zero.
    penalties : sequence of float
        Ridge penalties.
    labelsets : {"seen", "all"}
        Which labelsets are possible.
    max_steps : int
        Newton steps after which a label model is given up.
    n_jobs : int
        Threads, as `fit_effects` takes them.

    Yields
    ------
    FittedLabels
        The model at each penalty.
    """
    seen, kind = np.unique(labels, axis=0, return_inverse=True)
    counts = np.bincount(kind.ravel(), weights, minlength=len(seen)).astype(np.float64)
    varies = np.asarray((labels != labels[0]).any(axis=0))
    possible = seen if labelsets == "seen" else list_labelsets(varies, labels[0])
    n_labels, n_features = labels.shape[1], features.shape[1]
    inner = np.flatnonzero(varies)
    design = EffectsDesign.of(features, labels[:, varies], weights) if len(inner) else None
    start: FloatArray | None = None
    for penalty in penalties:
        thresholds, effects = np.zeros(n_labels), np.zeros((n_labels, n_features))
        interactions = np.zeros((n_labels, n_labels))
        fit = None
        if design is not None:
            fit = fit_effects(design, penalty, start=start, max_steps=max_steps, n_jobs=n_jobs)
            start = fit.coef
            thresholds[inner], between, effects[inner] = fit.in_units(design)
            interactions[np.ix_(inner, inner)] = (between + between.T) / 2
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
    """Measure predictions of held-out rows at several penalties.

    Parameters
    ----------
    features, labels, weights, labelsets, max_steps
        As `fit_path` takes them.
    penalties : sequence of float
        Ridge penalties, in decreasing order.
    splits : iterable of pairs of ndarray of int
        Rows to train on, and rows to predict.
    decode : {"subset", "hamming", "jaccard", "f1"}
        The measure, which predictions are made for too.
    n_jobs : int
        Threads, each with a fold.

    Returns
    -------
    DataFrame
        One row per penalty: the penalty, the mean score over folds, and the standard error of the
        mean; then the score of each fold.
    """

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
