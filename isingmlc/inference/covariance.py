r"""Variances of scores and covariances of coefficients, and the distributions tests refer to.

With :math:`FF' = A^{-1}` the inverse (penalised) information of a label's fit and M the variance
of its score, the sandwich :math:`A^{-1} M A^{-1}` is the covariance of its coefficients whatever
the residuals do. Types of covariance differ in M: the information itself (model-based),
:math:`\sum_i e_i^2 z_i z_i'` (HC0 [1]_), the same with :math:`e_i^2 / (1 - h_i)` and leverages h
(HC2), or a sum over clusters of :math:`t_c t_c'` with :math:`t_c = \sum_{i \in c} e_i z_i` [2]_.
Residuals of penalised fits are those after a Newton step towards the maximum without penalty. With
sampling weights a row counts with its weight once more than in sums.

The score of G clusters is a sum of G independent terms. Around their mean, and with
:math:`G / (G - 1)`, the statistic of q columns is Hotelling's :math:`T^2`, and
:math:`T^2 (G - q) / (q (G - 1))` has an F distribution with q and :math:`G - q` degrees of freedom
if the terms are normal; for one column that is Student's t with :math:`G - 1`.

References
----------
.. [1] MacKinnon, J. G. and White, H. (1985). Some heteroskedasticity-consistent covariance matrix
   estimators with improved finite sample properties. *Journal of Econometrics* 29, 305–325.
.. [2] Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear
   models. *Biometrika* 73, 13–22.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import stats as distributions
from scipy.special import betaln, hyp2f1

from isingmlc.base.arrays import FloatArray
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.statistics.dependence import Clusters

if TYPE_CHECKING:
    from isingmlc.inference.score import NullModel

# An observation with a leverage nearer to one than this has no residual.
LEAST_REST = 1e-8
# Tails below this have lost digits, and their logarithms come from a series.
_SMALLEST = 1e-290


class Residuals(Protocol):
    """Residuals of models, and what types of covariance ask of them besides."""

    @property
    def effective(self) -> FloatArray:
        """The residuals."""

    @property
    def weight(self) -> FloatArray:
        """Their variances, if the models hold."""

    @property
    def drawn(self) -> FloatArray | None:
        """Sampling weights."""

    @property
    def leverage(self) -> FloatArray:
        """The leverage of one observation."""


@dataclass(frozen=True)
class ModelBased:
    """Residuals vary as the label model says."""

    def cell_variance(self, null: Residuals) -> FloatArray:
        """Return the variance of the residual of one observation in each cell."""
        return null.weight if null.drawn is None else null.weight * null.drawn

    def meat(self, null: NullModel) -> FloatArray:
        """Return F'MF, M the variance of the score of the regressors."""
        root = null.root() / null.weight[null.rows]
        return np.asarray((root * (null.counts * self.cell_variance(null))[null.rows]) @ root.T)


MODEL_BASED = ModelBased()


class Bernoulli(ModelBased):
    """Outcomes have the probabilities that belong to the residuals of a penalised model."""

    def cell_variance(self, null: Residuals) -> FloatArray:
        """Return the variance of the residual of one observation in each cell."""
        away = np.minimum(np.abs(null.effective), 1.0)
        return np.where(null.weight > 0, away * (1 - away), 0.0)


class HC0(ModelBased):
    """Residuals vary by their squares."""

    def cell_variance(self, null: Residuals) -> FloatArray:
        """Return the variance of the residual of one observation in each cell."""
        squares = null.effective**2
        return squares if null.drawn is None else squares * null.drawn


class HC2(HC0):
    """Residuals vary by their squares over one minus their leverage."""

    def cell_variance(self, null: Residuals) -> FloatArray:
        """Return the variance of the residual of one observation in each cell."""
        return super().cell_variance(null) / np.maximum(1.0 - null.leverage, LEAST_REST)


@dataclass(frozen=True)
class Clustered(HC0):
    """Residuals are correlated within clusters of rows."""

    all_clusters: Clusters

    def meat(self, null: NullModel) -> FloatArray:
        """Return F'MF, M the variance of the score of the regressors."""
        assert null.clusters is not None
        return null.clusters.crossed(null.cluster_gradients)


def covariance_of(fit: NetworkFit) -> ModelBased:
    """Return the type of covariance that a fit asks for."""
    clusters = fit.dependence.clusters
    if clusters is not None:
        return Clustered(clusters)
    if fit.settings.cov_type == "HC2":
        return HC2()
    return HC0() if fit.is_penalised or fit.is_robust else ModelBased()


def degrees_of_clusters(fit: NetworkFit) -> FloatArray | None:
    """Return for each label its clusters with uncertain rows less one, if tests refer to t or F."""
    clusters = fit.dependence.clusters
    if clusters is None or not clusters.corrected:
        return None
    numbers = [clusters.among(np.flatnonzero(node.weight)).n_clusters for node in fit.nodes]
    return np.maximum(np.array(numbers, dtype=np.float64) - 1, 0.0)


def reference(fit: NetworkFit) -> str:
    """Name the distributions that tests refer to."""
    return "chi-square" if fit.dependence.degrees is None else "F"


def say_robust(fit: NetworkFit) -> str:
    """Say where variances come from, and what tests refer to."""
    kinds = {"HC0": "squared residuals (HC0)", "HC2": "squared residuals over 1 − h (HC2)"}
    kind = kinds.get(fit.settings.cov_type, "")
    clusters = fit.dependence.clusters
    if clusters is not None:
        kind = f"{clusters.n_clusters} clusters"
    if fit.stats.sampling_weights is not None:
        kind += ", with sampling weights"
    degrees = degrees_of_clusters(fit)
    if degrees is None:
        return f"variances come from {kind}"
    least, most = int(degrees.min()), int(degrees.max())
    many = f"{most}" if least == most else f"{least} to {most}"
    return f"variances come from {kind}, and p-values from t with {many} degrees of freedom"


def hotelling_sf(statistic: npt.ArrayLike, df: npt.ArrayLike, df_denom: npt.ArrayLike) -> Any:
    """Return upper tails of Hotelling's statistic."""
    return distributions.f.sf(*_as_f(statistic, df, df_denom))


def hotelling_log10_sf(statistic: npt.ArrayLike, df: npt.ArrayLike, df_denom: npt.ArrayLike) -> Any:
    """Return the logarithms to base ten of `hotelling_sf`."""
    scaled, first, second = _as_f(statistic, df, df_denom)
    tail = np.atleast_1d(distributions.f.sf(scaled, first, second))
    with np.errstate(divide="ignore"):
        found = np.log10(tail)
    small = tail < _SMALLEST
    if small.any():
        # The tail is an incomplete beta function, of which this is the series.
        a, b = (np.atleast_1d(each)[small] / 2 for each in (second, first))
        x = a / (a + b * np.atleast_1d(scaled)[small])
        series = hyp2f1(a + b, 1.0, a + 1.0, x)
        found[small] = (
            a * np.log(x) + b * np.log1p(-x) - np.log(a) - betaln(a, b) + np.log(series)
        ) / np.log(10)
    return found.reshape(np.shape(scaled))[()]


def _as_f(
    statistic: npt.ArrayLike, df: npt.ArrayLike, df_denom: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the F statistic and its degrees of freedom."""
    value, columns, rest = np.broadcast_arrays(
        *(np.asarray(each, dtype=np.float64) for each in (statistic, df, df_denom))
    )
    second = np.where(rest + 1 - columns > 0, rest + 1 - columns, np.nan)
    columns = np.where(columns > 0, columns, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return value * second / (columns * rest), columns, second
