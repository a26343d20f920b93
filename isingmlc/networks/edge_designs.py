"""What the power of feature–label edges depends on, read from a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_names
from isingmlc.base.arrays import FloatArray, IntArray, StrArray, dense
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import (
    Reason,
    column_moments,
    find_constant,
    judge_edges,
    judge_fits,
    judge_tests,
)
from isingmlc.inference.covariance import MODEL_BASED
from isingmlc.inference.score import feature_scores, feature_variances, null_models
from isingmlc.networks.edge_power import NODES, EdgeDesigns, condense, condense_values

# So many rows tell how a feature is distributed.
_MOST_ROWS = 100_000


class FittedEdges(NamedTuple):
    """Edges of a fit."""

    designs: EdgeDesigns
    feature: IntArray
    label: IntArray
    feature_names: tuple[str, ...]
    reason: StrArray

    @classmethod
    def stack(cls, parts: Sequence[FittedEdges]) -> FittedEdges:
        """Put the edges of different features together."""
        first = np.cumsum([0, *(len(part.feature_names) for part in parts)])
        features = [part.feature + at for part, at in zip(parts, first, strict=False)]
        designs: list[Any] = [part.designs for part in parts if len(part.label)]
        return cls(
            EdgeDesigns(
                *(
                    np.concatenate([getattr(each, field.name) for each in designs])
                    for field in fields(EdgeDesigns)
                )
            )
            if designs
            else parts[0].designs,
            np.concatenate(features),
            np.concatenate([part.label for part in parts]),
            tuple(name for part in parts for name in part.feature_names),
            np.concatenate([part.reason for part in parts]),
        )


def read_edges(fit: NetworkFit, features: object = None) -> FittedEdges:
    """Read from a fit what the power of its edges depends on."""
    if not fit.stats.feature_names:
        raise exc.ModelError(exc.NO_FEATURES)
    if fit.is_robust:
        raise exc.ModelError(
            "plan_sample_size() takes rows for independent, but the fit has "
            f"cov_type={fit.settings.cov_type!r}. Fit with cov_type='nonrobust'; with clusters "
            "plan for more rows, by the ratio of squared errors that both have."
        )
    if features is not None:
        fit = fit.take_features(check_names("features", features, fit.stats.feature_names))
    stats = fit.stats
    mean, variance, binary = column_moments(stats)
    unknown = [stats.feature_names[at] for at in np.flatnonzero(~binary & (variance > 0))]
    if fit.rows is None and unknown:
        raise exc.ModelError(
            "the power of a test depends on how a feature is distributed, which sums do not tell "
            f"of {exc.shorten(unknown)}. Fit the pilot with its rows, IsingModel(labels, features)"
            ".fit(), plan for binary features alone, features=[…], or give numbers instead: "
            "prevalence=… and feature_skewness=…."
        )
    labels = judge_fits(fit, 2)
    nulls = null_models(fit, np.flatnonzero(labels == Reason.OK).tolist(), MODEL_BASED)
    reason = judge_edges(labels, find_constant(stats, fit.settings.intercept))
    scores = feature_scores(stats, nulls, feature_variances(stats, fit.settings.intercept))
    collinear = np.zeros(reason.shape, dtype=np.bool_)
    left = np.full(reason.shape, np.nan)
    n_labels = len(stats.label_names)
    predictors, shares = [np.zeros((n_labels, 0))] * 2
    if nulls:
        rows = np.array([null.label for null in nulls])
        collinear[:, rows] = scores.collinear.T
        few = [
            condense(
                logit(np.clip(null.probability, 1e-300, 1 - 1e-16)),
                null.counts / stats.nobs,
                null.weight > 0,
            )
            for null in nulls
        ]
        predictors = np.zeros((n_labels, len(few[0][0])))
        shares = np.zeros(predictors.shape)
        predictors[rows], shares[rows] = (np.array(part) for part in zip(*few, strict=True))
        # The information of a row stays what it is, though few predictors stand for all.
        chance = expit(predictors[rows])
        weight = stats.nobs * (shares[rows] * chance * (1 - chance)).sum(axis=1)
        spread = np.where(variance > 0, variance, 1.0)
        left[:, rows] = (scores.variance / weight[:, None] / spread).T
    collinear &= reason == Reason.OK
    reason = judge_tests(reason, collinear, np.zeros(reason.shape, dtype=np.bool_))
    feature, label = np.nonzero(reason == Reason.OK)
    designs = EdgeDesigns(
        predictors[label],
        shares[label],
        left[feature, label],
        np.where(binary, mean, np.nan)[feature],
        np.zeros(len(feature)),
        *(each[feature] for each in _read_values(fit, np.flatnonzero(~binary & (variance > 0)))),
    )
    return FittedEdges(designs, feature, label, stats.feature_names, reason)


def _read_values(fit: NetworkFit, positions: IntArray) -> tuple[FloatArray, FloatArray]:
    """Read the values of some features and their probabilities from rows; zeros for all others."""
    values, chances = np.zeros((2, len(fit.stats.feature_names), NODES))
    if fit.rows is None:
        return values, chances
    features: Any = fit.rows.features
    if sparse.issparse(features):
        features = sparse.csc_array(features)
    weights = fit.rows.weights
    some = np.linspace(0, features.shape[0], min(features.shape[0], _MOST_ROWS), endpoint=False)
    rows = some.astype(np.intp)
    for at in positions.tolist():
        column = dense(features[:, [at]])[rows, 0].astype(np.float64)
        if np.ptp(column) > 0:
            each = np.ones(len(rows)) if weights is None else weights[rows]
            values[at], chances[at] = condense_values(column, each)
    return values, chances
