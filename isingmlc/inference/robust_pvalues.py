r"""p-values of scores whose robust variance comes from too few rows to be believed.

A robust variance is a sum of squares of what was observed. Where a rare feature meets a rare label
nothing may have happened among its carriers: residuals are then minus their small probabilities,
their squares next to nothing, and a score that chance brings about in one sample of five seems to
be many standard errors away. The model knows better how much such a score varies: by
:math:`V = \sum_i w_i r_i^2`, r what it leaves of the column, if rows are independent. Residuals of
rows of the same cluster are correlated; with :math:`\rho` their correlation, estimated from all
rows of the label [1]_, the variance is

.. math::

    V + \rho \Bigl(\sum_c \bigl(\sum_{i \in c} \sqrt{w_i} r_i\bigr)^2 - V\Bigr).

Two kinds of edges have p-values of the score measured by this variance, from the null distribution
of scores (:mod:`isingmlc.inference.null_distribution`): those of which it is not near enough to a
normal one, since few rows decide; and those whose robust variance is less than a share of this
one, a share below which that of G clusters comes in one case of a hundred, if that makes the
p-value larger.

References
----------
.. [1] Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear
   models. *Biometrika* 73, 13–22.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.covariance import MODEL_BASED, Clustered
from isingmlc.inference.null_distribution import SADDLEPOINT, edge_pvalues, first_equal
from isingmlc.inference.score import NullModel, feature_scores, feature_variances
from isingmlc.statistics.dependence import Clusters
from isingmlc.statistics.labelsets import feature_blocks

# A robust variance below this share of the model's is not believed, however many clusters or rows
# it comes from.
_SHARE = 0.7
# How often that of G clusters may be below its share where nothing is wrong.
_CHANCE = 0.01
# What the p-values are called, after the distribution that they come from.
MODEL = "-model-variance"


@dataclass(frozen=True, eq=False)
class GuardedPvalues:
    """p-values of robust tests, some of which have the model's variance."""

    log10: FloatArray
    method: StrArray
    by_model: BoolArray
    feature = None
    note = (
        "where few rows decide, p-values have the variance of the label model instead of the "
        "robust one"
    )

    @property
    def edge(self) -> FloatArray:
        """p-values of edges."""
        return np.asarray(10.0**self.log10)

    def take(self, positions: IntArray) -> GuardedPvalues:
        """Return those of some features."""
        return GuardedPvalues(
            self.log10[positions], self.method[positions], self.by_model[positions]
        )


def guard(
    fit: NetworkFit,
    nulls: list[NullModel],
    statistic: FloatArray,
    log10: FloatArray,
    method: StrArray,
) -> GuardedPvalues | None:
    """Return p-values that have the model's variance where robust ones are not believed."""
    labels = np.array([null.label for null in nulls], dtype=np.intp)
    believed = np.full(statistic.shape, np.nan)
    believed[:, labels] = _model_statistics(fit, nulls).T[first_equal(statistic)]
    by_model = [null.with_covariance(MODEL_BASED) for null in nulls]
    found = edge_pvalues(fit, by_model, believed, always=False)
    few = np.char.startswith(found.method.astype(str), SADDLEPOINT)
    # Scores are the same, so that statistics are to each other as variances are.
    with np.errstate(invalid="ignore"):
        few |= (believed < statistic * _least_share(nulls)) & (found.log10 > log10)
    if not few.any():
        return None
    names = np.where(few, found.method + MODEL, method)
    return GuardedPvalues(np.where(few, found.log10, log10), names, few)


def _least_share(nulls: list[NullModel]) -> float:
    """Return the share of the model's variance that a robust one must have."""
    covariance = nulls[0].covariance
    if not isinstance(covariance, Clustered):
        return _SHARE
    degrees = max(covariance.all_clusters.n_clusters - 1, 1)
    return min(_SHARE, float(chi2.ppf(_CHANCE, degrees) / degrees))


def _model_statistics(fit: NetworkFit, nulls: list[NullModel]) -> FloatArray:
    """Return the statistics of all features with the model's variances: labels × features."""
    stats = fit.stats
    by_model = [null.with_covariance(MODEL_BASED) for null in nulls]
    scores = feature_scores(stats, by_model, feature_variances(stats, fit.settings.intercept))
    variance = scores.variance.copy()
    for order, null in enumerate(nulls):
        if not isinstance(null.covariance, Clustered):
            continue
        # The sum over clusters of squares, once of residuals and once of their deviations.
        plainly = Clusters(null.covariance.all_clusters.codes, corrected=False)
        deviations = replace(null, effective=np.sqrt(null.weight), covariance=Clustered(plainly))
        correlation = _correlation(null, plainly)
        for part, block in feature_blocks(stats):
            together = deviations.cluster_variance(block.sums)
            variance[order, part] += correlation * (together - variance[order, part])
    return replace(scores, variance=variance).statistic()


def _correlation(null: NullModel, clusters: Clusters) -> float:
    """Return the correlation of residuals within clusters, zero if it is negative."""
    counts, drawn = null.counts, 1.0 if null.drawn is None else null.drawn

    def of_different_rows(values: FloatArray) -> float:
        together = clusters.add_up((counts * values)[:, None])
        return float((together**2).sum() - (counts * drawn) @ values**2)

    found = of_different_rows(np.where(null.weight > 0, null.effective, 0.0))
    most = of_different_rows(np.sqrt(null.weight))
    return float(np.clip(found / most, 0.0, 1.0)) if most > 0 else 0.0
