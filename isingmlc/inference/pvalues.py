r"""p-values: tails of chi-square distributions and of weighted sums of them, and adjustment.

Every tail is accurate relative to itself, and has a logarithm that stays finite where the p-value
is too small for a floating-point number. Arrays go in, arrays come out; NaN stays NaN.

Tails of :math:`Q = \sum_i \lambda_i \chi^2` are inverted from the moment generating function,

.. math::

    P(Q > q) = \frac{1}{2 \pi i} \int \exp\{K(s) - s q\} \frac{ds}{s}, \quad
    K(s) = -\frac{\nu}{2} \sum_i \log(1 - 2 \lambda_i s) ,

:math:`\nu` the degrees of freedom of each chi-square. The contour crosses the real axis at the
saddlepoint of the whole integrand, between the pole at 0 and the first branch point
:math:`1 / (2 \max \lambda_i)`, and is a hyperbola around all branch points, along which the
integrand falls from its peak steadily to zero. So nothing cancels, and the trapezoidal rule
converges geometrically. Below the mean of Q the contour passes on the other side of the pole and
gives :math:`P(Q < q)`.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import erfc, gammainc, gammaincc, log_ndtr
from scipy.stats import norm
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests, multitest_alias

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option
from isingmlc.base.arrays import FloatArray, chunks
from isingmlc.base.tables import ResultTable

LOG_10 = float(np.log(10))
LOG_2 = float(np.log(2))
# Below this the incomplete gamma function nears the smallest floating-point number.
SMALLEST_GAMMA = 1e-290
# Sums this many times larger (smaller) than their largest weight: the leading term is all there is.
EXTREME_RATIO = 1e100
# The hyperbola's asymptotes make this angle with the real axis. Above π/4 the integrand falls all
# along them; above π/3 three factors of it together do not turn by more than a full circle.
ANGLE = 0.35 * np.pi
# Nodes of the trapezoidal rule are this far apart; it leaves a relative error of about 2e-13.
NODE_STEP = 0.1
# Terms smaller than this share of their sum change nothing.
NEGLIGIBLE = 1e-16
# Halvings of an interval whose ends have at most the ratio of the number of weights to one. The
# saddlepoint only places the contour, so a few digits of it will do.
BISECTIONS = 14
# A local false discovery rate is a ratio of densities, which does not exist at 0 itself.
SMALLEST_LOCAL = 1e-300
_OF_FAMILIES = ("bonferroni", "sidak", "holm-sidak", "holm", "simes-hochberg", "hommel")
_OF_RATES = ("fdr_bh", "fdr_by", "fdr_tsbh", "fdr_tsbky", "fdr_gbs", "lfdr")
# Not every version of statsmodels has the last of them.
METHODS = tuple(name for name in (*_OF_FAMILIES, *_OF_RATES) if name in multitest_alias)


def chi2_sf(statistic: npt.ArrayLike, df: npt.ArrayLike) -> Any:
    """Return upper tails of chi-square distributions."""
    starts, degrees = np.broadcast_arrays(np.asarray(statistic, float), np.asarray(df, float))
    # A squared normal variable is the usual case, and its tail is by far the fastest to compute.
    sf = np.where(degrees == 1, erfc(np.sqrt(np.maximum(starts, 0.0) / 2)), np.nan)
    other = (degrees > 0) & (degrees != 1)
    if other.any():
        sf[other] = np.exp(chi2_log_sf(starts[other], degrees[other]))
    return sf[()]


def chi2_log_sf(statistic: npt.ArrayLike, df: npt.ArrayLike) -> Any:
    """Return natural logarithms of upper tails of chi-square distributions."""
    starts, degrees = np.broadcast_arrays(
        np.asarray(statistic, dtype=float), np.asarray(df, dtype=float)
    )
    log_sf = np.full(starts.shape, np.nan)
    # A squared normal variable is the usual case, and its tail is by far the fastest to compute.
    normal, other = degrees == 1, (degrees > 0) & (degrees != 1)
    log_sf[normal] = LOG_2 + log_ndtr(-np.sqrt(np.maximum(starts[normal], 0.0)))
    log_sf[other] = _log_gammaincc(np.maximum(starts[other], 0.0), degrees[other])
    return log_sf[()]


def chi2_log10_sf(statistic: npt.ArrayLike, df: npt.ArrayLike) -> Any:
    """Return decimal logarithms of upper tails of chi-square distributions."""
    return chi2_log_sf(statistic, df) / LOG_10


def chi2_sum_log_sf(statistic: FloatArray, weights: FloatArray, df: FloatArray) -> FloatArray:
    """Return natural logarithms of upper tails of weighted sums of chi-square variables."""
    largest = weights.max(axis=0)
    with np.errstate(over="ignore"):
        ratio = statistic / largest
    log_sf = np.where(ratio > 1, -ratio / 2, 0.0)
    inside = (ratio > 1 / EXTREME_RATIO) & (ratio < EXTREME_RATIO)
    relative = weights[:, inside] / largest[inside]
    log_sf[inside] = _contour_log_sf(ratio[inside], relative, df[inside])
    return log_sf


def weighted_chi2_log10_sf(statistic: FloatArray, weights: FloatArray) -> FloatArray:
    """Return decimal logarithms of upper tails of weighted sums of chi-squares with one df.

    Shapes: statistic (p,), weights (p, K), none of them negative.
    """
    log_sf = np.full(statistic.shape, np.nan)
    usable = np.flatnonzero((weights.max(axis=1, initial=0.0) > 0) & ~np.isnan(statistic))
    for block in chunks(len(usable), 64 * weights.shape[1]):
        rows = usable[block]
        log_sf[rows] = chi2_sum_log_sf(statistic[rows], weights[rows].T, np.ones(len(rows)))
    return np.asarray(log_sf / LOG_10)


def wald_limits(
    coef: FloatArray,
    bse: FloatArray,
    alpha: float,
    index: pd.Index,
    df: FloatArray | None = None,
) -> pd.DataFrame:
    """Return Wald's confidence limits."""
    level = check_number("alpha", alpha, above=0, below=1)
    width = (norm.isf(level / 2) if df is None else student.isf(level / 2, df)) * bse
    finite = np.where(np.isfinite(coef), coef, np.nan)
    return ResultTable({"lower": finite - width, "upper": finite + width}, index)


def adjust(pvalues: npt.ArrayLike, method: str, *, alpha: float = 0.05) -> FloatArray:
    """Adjust p-values for their number."""
    check_option("method", method, METHODS)
    if not 0 < alpha < 1:
        raise exc.DataError(f"alpha must lie between 0 and 1, but is {alpha!r}.")
    values = np.asarray(pvalues, dtype=float)
    if values.ndim != 1:
        raise exc.DataError(
            f"pvalues must be one-dimensional, but its shape is {values.shape}. "
            "Use adjust_within for a table of features and labels."
        )
    known = ~np.isnan(values)
    counted = values[known]
    if ((counted < 0) | (counted > 1)).any():
        raise exc.DataError(
            f"pvalues must lie between 0 and 1, but go from {counted.min():g} to "
            f"{counted.max():g}. Pass p-values, not statistics or logarithms."
        )
    adjusted = np.full(values.shape, np.nan)
    if method == "holm":
        adjusted[known] = _holm(counted)
    elif counted.size:
        if method == "lfdr":
            counted = np.maximum(counted, SMALLEST_LOCAL)
        # Values of exactly 0 and 1 make statsmodels divide by zero on the way to right results.
        with np.errstate(divide="ignore", over="ignore"):
            adjusted[known] = multipletests(counted, alpha=alpha, method=method)[1]
    return adjusted


def adjust_within(
    pvalues: npt.ArrayLike, method: str, within: str | None = None, *, alpha: float = 0.05
) -> FloatArray:
    """Adjust a table of p-values, all together or family by family."""
    check_option("within", within, (None, "label", "feature"))
    table = np.asarray(pvalues, dtype=float)
    if table.ndim != 2:
        raise exc.DataError(
            exc.WRONG_DIMENSION.format(argument="pvalues", ndim=table.ndim, shape=table.shape)
        )
    if within is None:
        return adjust(table.ravel(), method, alpha=alpha).reshape(table.shape)
    adjusted = np.full(table.shape, np.nan)
    families = (table.T, adjusted.T) if within == "label" else (table, adjusted)
    for family, target in zip(*families, strict=True):
        target[:] = adjust(family, method, alpha=alpha)
    return adjusted


def _holm(pvalues: FloatArray) -> FloatArray:
    """Holm's method. That of statsmodels collects garbage, which takes a tenth of a second."""
    order = np.argsort(pvalues)
    adjusted = np.empty(pvalues.shape)
    stepped = pvalues[order] * np.arange(len(pvalues), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def _log_complement(probability: FloatArray) -> FloatArray:
    """Return log(1 − probability), which is 0 and not −0 where the probability is 0."""
    return np.asarray(np.log1p(0.0 - probability))


def _log_gammaincc(statistic: FloatArray, df: FloatArray) -> FloatArray:
    """Logarithm of the chi-square tail, by the incomplete gamma function as far as it goes."""
    upper = gammaincc(df / 2, statistic / 2)
    with np.errstate(divide="ignore"):
        log_lower = _log_complement(gammainc(df / 2, statistic / 2))
        log_sf = np.asarray(np.where(upper > 0.5, log_lower, np.log(upper)))
    far = upper < SMALLEST_GAMMA
    ones = np.ones((1, np.count_nonzero(far)))
    log_sf[far] = chi2_sum_log_sf(statistic[far], ones, df[far])
    return log_sf


def _contour_log_sf(ratio: FloatArray, weights: FloatArray, df: FloatArray) -> FloatArray:
    """Log tails by the trapezoidal rule on hyperbolas; the largest weight of each sum is 1."""
    is_upper = ratio > df * weights.sum(axis=0)
    distance, crossing = _crossing(ratio, weights, df, is_upper)
    base = 1 - weights + weights * distance
    tilted = weights / base
    width = 1 / np.sqrt(2 * df * (tilted**2).sum(axis=0) + 1 / crossing**2)
    log_peak = -df * np.log(base).sum(axis=0) / 2 - crossing * ratio - np.log(np.abs(crossing))
    # Rows of zeros make the number of factors a multiple of three.
    slopes = np.zeros((len(weights) + -len(weights) % 3, len(ratio)))
    slopes[: len(weights)] = 2 * width * tilted
    total = np.full(len(ratio), np.sin(ANGLE) / 2)
    for node in count(1):
        place = node * NODE_STEP + 1j * ANGLE
        shift = np.cosh(place) - np.cos(ANGLE)
        exponent = -df * _log_product(1 - slopes * shift) / 2 - ratio * width * shift
        term = np.exp(exponent) * np.sinh(place) / (1 + width / crossing * shift)
        total += term.imag
        if (np.abs(term) <= NEGLIGIBLE * total).all():
            break
    log_tail = log_peak + np.log(total * width * NODE_STEP / np.pi)
    return np.asarray(np.where(is_upper, log_tail, _log_complement(np.exp(log_tail))))


def _crossing(
    ratio: FloatArray, weights: FloatArray, df: FloatArray, is_upper: Any
) -> tuple[FloatArray, FloatArray]:
    """Return where contours cross the real axis, relative to the first branch point."""

    def solve_quadratic(total_df: FloatArray) -> FloatArray:
        root = np.hypot(ratio - total_df + 2, np.sqrt(8 * total_df))
        return np.where(
            is_upper,
            2 * total_df / (ratio + total_df + 2 + root),
            (2 + total_df - ratio + root) / (2 * ratio),
        )

    # Above the mean t itself is bisected, below it t − 1, so that neither loses digits.
    low, high = solve_quadratic(df), solve_quadratic(df * len(weights))
    offset = np.where(is_upper, 0.0, 1.0)
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        mean = df * (weights / (1 - weights + weights * (middle + offset))).sum(axis=0)
        too_near = mean + 2 / (middle + offset - 1) > ratio
        low, high = np.where(too_near, middle, low), np.where(too_near, high, middle)
    middle = np.sqrt(low * high)
    return middle + offset, (1 - offset - middle) / 2


def _log_product(factors: Any) -> Any:
    """Add up the logarithms of `factors` down the columns, on the principal branch."""
    products = factors[0::3] * factors[1::3] * factors[2::3]
    argument = np.angle(products)
    argument -= 2 * np.pi * (argument > 0)
    log_modulus = np.log(products.real**2 + products.imag**2) / 2
    return log_modulus.sum(axis=0) + 1j * argument.sum(axis=0)
