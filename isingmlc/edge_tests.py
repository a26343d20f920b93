r"""Tests of feature–label edges from labelset statistics.

For label k, with fitted probabilities p on labelsets, residuals :math:`e = y - p`, weights
:math:`w = p(1-p)` and regressors z (the constant and the other labels), the score statistic of
feature j is

.. math::

    u_{jk} = \frac{(s - B'A^{-1}g)^2}{D - B'A^{-1}B}, \quad
    s = \sum_g e_g S_{gj}, \; D = \sum_g w_g Q_{gj}, \; B = \sum_g w_g z_g S_{gj}, \;
    A = \sum_g N_g w_g z_g z_g', \; g = \sum_g N_g e_g z_g .

At a maximum of the likelihood g vanishes; under a penalty it is the penalty's own gradient, and
A carries the penalty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2, norm

from isingmlc.data import FloatArray
from isingmlc.labelsets import LabelsetStatistics
from isingmlc.nodewise import NodeFit

# A feature with less than this share of its variance left given the labels has none.
COLLINEAR = 1e-10


@dataclass(frozen=True, repr=False)
class EdgeTests:
    """Tests of all feature–label edges.

    Attributes
    ----------
    statistic : DataFrame, features × labels
        Rao's score statistics; NaN where an edge can not be tested.
    df : DataFrame, features × labels
        Degrees of freedom of the chi-square distribution under the null.
    pvalue : DataFrame, features × labels
        Its upper tail at `statistic`.
    reason : DataFrame, features × labels
        ``ok``, or why an edge can not be tested: ``constant-label``, ``determined-label``,
        ``constant-feature`` or ``collinear-feature``.
    null : str
        What is tested.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> edges.statistic.loc["bmi"].idxmax()
    'diabetes'
    """

    statistic: pd.DataFrame
    df: pd.DataFrame
    pvalue: pd.DataFrame
    reason: pd.DataFrame
    null: str = "the feature has no effect on the label given the other labels"

    def __repr__(self) -> str:
        n_features, n_labels = self.statistic.shape
        tested = int((self.reason == "ok").to_numpy().sum())
        return (
            f"EdgeTests(score, {n_features} features × {n_labels} labels, "
            f"{tested} of {n_features * n_labels} edges testable)"
        )

    @property
    def importance(self) -> pd.Series:
        """Sum over labels of the statistics of each feature; untestable edges add nothing."""
        return self.statistic.sum(axis=1).rename("importance")

    def to_frame(self) -> pd.DataFrame:
        """Give one row an edge.

        Returns
        -------
        DataFrame
            Columns feature, label, statistic, df, pvalue, log10p and reason. The logarithms are
            finite also where p-values are too small for a floating-point number.
        """
        n_features, n_labels = self.statistic.shape
        flat = {name: getattr(self, name).to_numpy().ravel() for name in ("statistic", "df")}
        return pd.DataFrame(
            {
                "feature": np.repeat(self.statistic.index.to_numpy(), n_labels),
                "label": np.tile(self.statistic.columns.to_numpy(), n_features),
                **flat,
                "pvalue": self.pvalue.to_numpy().ravel(),
                # A chi-square with one degree of freedom is a squared normal, and the normal
                # tail has a logarithm that does not underflow.
                "log10p": (np.log(2) + norm.logsf(np.sqrt(flat["statistic"]))) / np.log(10),
                "reason": self.reason.to_numpy().ravel(),
            }
        )


def score_test(
    stats: LabelsetStatistics,
    fits: tuple[NodeFit, ...],
    label_reasons: pd.Series,
    *,
    intercept: bool,
) -> EdgeTests:
    """Test every edge with the score statistic.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics of labels and features.
    fits : tuple of NodeFit
        The null models, one a label.
    label_reasons : Series
        ``ok`` or why a label can not be tested, by label.
    intercept : bool
        Whether the null models have a constant.

    Returns
    -------
    EdgeTests
        The tests.
    """
    # Without an intercept in the models a constant feature is as good as any other, unless zero.
    empty = np.asarray(stats.squares.sum(axis=0)) == 0
    statistic = np.full((len(stats.feature_names), len(fits)), np.nan)
    reason = np.full(statistic.shape, "ok", dtype=object)
    reason[stats.constant_features() if intercept else empty] = "constant-feature"
    for fit, label_reason in zip(fits, label_reasons, strict=True):
        if label_reason != "ok":
            reason[:, fit.label] = label_reason
            continue
        score, variance, scale = _efficient_score(stats, fit)
        collinear = (variance <= COLLINEAR * scale) & (reason[:, fit.label] == "ok")
        reason[collinear, fit.label] = "collinear-feature"
        testable = reason[:, fit.label] == "ok"
        statistic[testable, fit.label] = score[testable] ** 2 / variance[testable]
    index, columns = pd.Index(stats.feature_names, name="feature"), pd.Index(stats.label_names)
    degrees = np.where(np.isnan(statistic), np.nan, 1.0)
    return EdgeTests(
        *(
            pd.DataFrame(_frozen(table), index, columns, copy=False)
            for table in (statistic, degrees, chi2.sf(statistic, 1), reason)
        )
    )


def _efficient_score(
    stats: LabelsetStatistics, fit: NodeFit
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scores of all features for one label, their variances, and the scale of these."""
    rows = np.flatnonzero(fit.in_play)
    probability = fit.probability[rows]
    residual = stats.patterns[rows, fit.label] - probability
    weight = probability * (1 - probability)
    design = np.column_stack([np.ones(len(rows)), stats.patterns[rows]])[:, fit.basis]
    sums, squares = stats.sums[rows], stats.squares[rows]
    total = weight @ squares
    cross = (design * weight[:, None]).T @ sums
    leaning = fit.covariance @ cross
    gradient = design.T @ (stats.counts[rows] * residual)
    score = residual @ sums - gradient @ leaning
    return score, total - (cross * leaning).sum(axis=0), total


def _frozen(table: Any) -> Any:
    table.flags.writeable = False
    return table
