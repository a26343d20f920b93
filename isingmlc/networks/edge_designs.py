"""What the power of feature–label edges depends on, read from a fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_names
from isingmlc.base.arrays import IntArray, StrArray
from isingmlc.fitting.diagnostics import column_moments, column_skewness
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.testable import Reason, find_constant, judge_edges, judge_fits, judge_tests
from isingmlc.inference.score import feature_scores, null_models, own_spread
from isingmlc.networks.edge_power import STEEPEST, EdgeDesigns, condense


class FittedEdges(NamedTuple):
    """Edges of a fit.

    Attributes
    ----------
    designs : EdgeDesigns
        The edges that can be tested.
    feature, label : ndarray of int, shape (edges,)
        Which they are.
    feature_names : tuple of str
        Names of the features.
    reason : ndarray of object, shape (p, K)
        Why the others cannot.
    """

    designs: EdgeDesigns
    feature: IntArray
    label: IntArray
    feature_names: tuple[str, ...]
    reason: StrArray


def read_edges(fit: NetworkFit, features: object = None) -> FittedEdges:
    """Read from a fit what the power of its edges depends on.

    Parameters
    ----------
    fit : NetworkFit
        The fit.
    features : sequence of str, optional
        Which features; all if omitted.

    Returns
    -------
    FittedEdges
        The edges.

    Raises
    ------
    ModelError
        When there are no features, or errors are robust.
    """
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
    labels = judge_fits(fit, 2)
    nulls = null_models(fit, np.flatnonzero(labels == Reason.OK).tolist(), "weights")
    reason = judge_edges(labels, find_constant(stats, fit.settings.intercept))
    scores = feature_scores(stats, nulls, own_spread(stats, fit.settings.intercept))
    collinear = np.zeros(reason.shape, dtype=np.bool_)
    left = np.full(reason.shape, np.nan)
    mean, variance, binary = column_moments(stats)
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
        # To two digits, as more of them do not matter and features with the same are done at once.
        np.clip(column_skewness(fit).round(2), -STEEPEST, STEEPEST)[feature],
    )
    return FittedEdges(designs, feature, label, stats.feature_names, reason)
