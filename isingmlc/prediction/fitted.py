r"""Label models with effects, fitted to rows and made into a law of labelsets; penalties chosen.

The model of label k is
:math:`\theta_k + \sum_{l \ne k} \beta_{kl} y_l + \sum_j \gamma_{kj} \tilde x_j` with features
:math:`\tilde x` of unit variance, and maximizes its likelihood less half the penalty times the
squares of all :math:`\beta` and :math:`\gamma`. scikit-learn's Newton solver fits it, to dense and
sparse features alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray
from isingmlc.base.threads import one_thread
from isingmlc.metrics import MEASURES
from isingmlc.prediction.law import LabelsetLaw, list_labelsets

# Largest gradient, per observation, of a fit that has converged.
_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class EffectsFit:
    """Thresholds, interactions and effects of label models, in the units of the features."""

    thresholds: FloatArray
    interactions: FloatArray
    effects: FloatArray
    converged: BoolArray
    n_steps: IntArray


def fit_effects(
    features: Features,
    labels: BoolArray,
    weights: FloatArray,
    penalty: float,
    *,
    start: EffectsFit | None = None,
    max_steps: int = 100,
    n_jobs: int = 1,
) -> EffectsFit:
    """Fit the models of all labels."""
    scaler = StandardScaler(with_mean=False).fit(features, sample_weight=weights)
    scaled, n_labels = scaler.transform(features), labels.shape[1]

    def fit_one(label: int) -> LogisticRegression:
        others = np.delete(labels, label, axis=1).astype(np.float64)
        columns: Any = np.hstack([others, scaled]) if isinstance(scaled, np.ndarray) else None
        if columns is None:
            columns = sparse.hstack([sparse.csr_array(others), scaled], format="csr")
        model = LogisticRegression(
            C=1 / penalty,
            solver="newton-cg",
            tol=_TOLERANCE,
            max_iter=max_steps,
            warm_start=start is not None,
        )
        if start is not None:
            own = np.delete(start.interactions[label], label)
            model.coef_ = np.append(own, start.effects[label] * scaler.scale_)[None]
            model.intercept_ = start.thresholds[label : label + 1]
            model.classes_ = np.array([False, True])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the caller says so
            return model.fit(columns, labels[:, label], sample_weight=weights)

    with one_thread():
        models = Parallel(n_jobs, backend="threading")(
            delayed(fit_one)(label) for label in range(n_labels)
        )
    coef = np.array([model.coef_[0] for model in models])
    steps = np.array([model.n_iter_[0] for model in models])
    interactions = np.zeros((n_labels, n_labels))
    interactions[~np.eye(n_labels, dtype=np.bool_)] = coef[:, : n_labels - 1].ravel()
    return EffectsFit(
        np.array([model.intercept_[0] for model in models]),
        interactions,
        coef[:, n_labels - 1 :] / scaler.scale_,
        steps < max_steps,
        steps,
    )


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
