r"""Robust covariances of estimates, and the distributions that tests with few clusters refer to.

With A the (penalised) information of a label's fit and M the variance of its score, the sandwich
:math:`A^{-1} M A^{-1}` is the covariance of its coefficients whatever the residuals do: M is
:math:`\sum_i e_i^2 z_i z_i'` (HC0), the same with :math:`e_i^2 / (1 - h_i)` (HC2), or the sum over
clusters of :math:`t_c t_c'` with :math:`t_c = \sum_{i \in c} e_i z_i` [1]_. Residuals are the
effective ones of penalised fits.

The score of G clusters is a sum of G independent terms. Around their mean, and with
:math:`G / (G - 1)`, the statistic of q columns is Hotelling's :math:`T^2`, and
:math:`T^2 (G - q) / (q (G - 1))` has an F distribution with q and :math:`G - q` degrees of freedom
if the terms are normal; for one column that is Student's t with :math:`G - 1`.

References
----------
.. [1] Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear
   models. *Biometrika* 73, 13–22.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats as distributions
from scipy.special import betaln, hyp2f1

from isingmlc.base.arrays import FloatArray
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.score import NullModel, null_models

# Tails below this have lost digits, and their logarithms come from a series.
_SMALLEST = 1e-290


def covariance_root(null: NullModel) -> FloatArray:
    """Return R with RR' the robust covariance of the coefficients of one label."""
    clusters = null.clusters
    inner = null.inner() if clusters is None else clusters.crossed(null.cluster_gradients)
    values, vectors = np.linalg.eigh(inner)
    return np.asarray(null.factor.matrix @ (vectors * np.sqrt(np.maximum(values, 0.0))))


def robust_errors(fit: NetworkFit) -> FloatArray:
    """Return robust standard errors of all coefficients."""
    regressors = fit.regressors
    errors = np.full((len(fit.nodes), regressors.n_columns), np.nan)
    for node, null in zip(fit.nodes, null_models(fit, range(len(fit.nodes))), strict=True):
        if not len(null.rows) or not len(node.basis):
            continue
        whole = np.zeros((regressors.n_columns, len(node.basis)))
        root = covariance_root(null)
        whole[node.basis, : root.shape[1]] = root
        spread = regressors.in_units(whole)[node.basis]
        line = errors[node.label]
        line[node.basis] = np.sqrt(np.einsum("ij,ij->i", spread, spread))
        line[node.basis[null.factor.aliased]] = np.nan
        line[~np.isfinite(node.coef)] = np.nan
    return errors


def degrees_of_clusters(fit: NetworkFit) -> FloatArray | None:
    """Return for each label the clusters in play less one, if tests are to refer to t and F."""
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
    scaled, first, second = _as_f(statistic, df, df_denom)
    return distributions.f.sf(scaled, first, second)


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
