r"""Label models with effects of many features: one ridge-penalised regression per label, from rows.

The model of label k is
:math:`\theta_k + \sum_{l \ne k} \beta_{kl} y_l + \sum_j \gamma_{kj} \tilde x_j` with features
:math:`\tilde x` of unit variance, and maximizes its likelihood less half the penalty times the
squares of all :math:`\beta` and :math:`\gamma`. scikit-learn's Newton solver fits it, to dense and
sparse features alike.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray
from isingmlc.base.threads import one_thread

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
