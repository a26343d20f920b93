"""p-values: tails of chi-square distributions, of weighted sums of them, of binary scores.

Every tail is accurate relative to itself, and has a logarithm that stays finite where the p-value
is too small for a floating-point number. Arrays go in, arrays come out; NaN stays NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import erfc
from scipy.stats import norm
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests, multitest_alias

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option
from isingmlc.base.arrays import FloatArray, chunks
from isingmlc.base.tables import ResultTable
from isingmlc.inference.tails import BernoulliSum, chi2_log_sf, chi2_sum_log_sf

LOG_10 = float(np.log(10))
# Weights are eigenvalues, as a rule: rounding may leave zeros this share of the largest below zero.
WEIGHT_ROUNDING = 1e-8
# Nearer to zero than this many standard deviations the saddlepoint formula is 0/0.
SMALLEST_CUTOFF = 0.1
# Columns without any entry as large as this are zero: smaller numbers lose their digits.
SMALLEST_UNIT = 1e-290
# A local false discovery rate is a ratio of densities, which does not exist at 0 itself.
SMALLEST_LOCAL = 1e-300
METHODS = tuple(
    name
    for name in (
        "bonferroni",
        "sidak",
        "holm-sidak",
        "holm",
        "simes-hochberg",
        "hommel",
        "fdr_bh",
        "fdr_by",
        "fdr_tsbh",
        "fdr_tsbky",
        "fdr_gbs",
        "lfdr",
    )
    # Not every version of statsmodels has the last of them.
    if name in multitest_alias
)


def chi2_sf(statistic: npt.ArrayLike, df: npt.ArrayLike) -> Any:
    """Return upper tails of chi-square distributions."""
    starts, degrees = np.broadcast_arrays(np.asarray(statistic, float), np.asarray(df, float))
    # A squared normal variable is the usual case, and its tail is by far the fastest to compute.
    sf = np.where(degrees == 1, erfc(np.sqrt(np.maximum(starts, 0.0) / 2)), np.nan)
    other = (degrees > 0) & (degrees != 1)
    if other.any():
        sf[other] = np.exp(chi2_log_sf(starts[other], degrees[other]))
    return sf[()]


def chi2_log10_sf(statistic: npt.ArrayLike, df: npt.ArrayLike) -> Any:
    """Return decimal logarithms of upper tails of chi-square distributions."""
    return chi2_log_sf(statistic, df) / LOG_10


def weighted_chi2_sf(statistic: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """Return upper tails of weighted sums of chi-square variables with one degree of freedom."""
    return np.asarray(np.exp(_weighted_log_sf(statistic, weights)))


def weighted_chi2_log10_sf(statistic: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """Return decimal logarithms of the tails of :func:`weighted_chi2_sf`."""
    return np.asarray(_weighted_log_sf(statistic, weights) / LOG_10)


def bernoulli_saddlepoint(
    score: npt.ArrayLike,
    columns: npt.ArrayLike,
    probability: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    cutoff: float = 2.0,
    complement: npt.ArrayLike | None = None,
    fixed_total: bool | npt.ArrayLike = False,
) -> tuple[FloatArray, FloatArray]:
    """Return two-sided p-values of scores of binary outcomes by saddlepoint approximation."""
    if not cutoff >= SMALLEST_CUTOFF:
        raise exc.DataError(f"cutoff must be at least {SMALLEST_CUTOFF}, but is {cutoff!r}.")
    total, unit = _bernoulli_sum(columns, probability, weights, complement, fixed_total)
    scores = np.asarray(score, dtype=float)
    if scores.shape != unit.shape:
        raise exc.DataError(
            f"score must have one value per column, shape {unit.shape}, but its shape is "
            f"{scores.shape}."
        )
    deviation = np.sqrt(total.variance())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scores = scores / unit
        statistic = np.where(deviation > 0, (scores / deviation) ** 2, np.nan)
    log_pvalue = chi2_log_sf(statistic, 1.0)
    far = np.flatnonzero(statistic > cutoff**2)
    tails = [total.log_tail(np.abs(scores[far]), far, sign) for sign in (1.0, -1.0)]
    log_pvalue[far] = np.minimum(np.logaddexp(*tails), 0.0)
    return np.exp(log_pvalue), log_pvalue / LOG_10


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


def _weighted_log_sf(statistic: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """Check the arguments, and go through the sums block by block."""
    values = np.asarray(statistic, dtype=float)
    table = np.asarray(weights, dtype=float)
    if table.ndim != 2 or values.shape != table.shape[:1]:
        raise exc.DataError(
            f"statistic must have shape (p,) and weights (p, K), but their shapes are "
            f"{values.shape} and {table.shape}. Give one row of weights per statistic."
        )
    largest = table.max(axis=1, initial=0.0)
    if (table < -WEIGHT_ROUNDING * largest[:, None]).any():
        raise exc.DataError(
            f"weights must not be negative, but the smallest is {np.nanmin(table):g}. Pass the "
            "eigenvalues of a positive semidefinite matrix."
        )
    log_sf = np.full(values.shape, np.nan)
    usable = np.flatnonzero(np.isfinite(table).all(axis=1) & (largest > 0) & ~np.isnan(values))
    for block in chunks(len(usable), 64 * table.shape[1]):
        rows = usable[block]
        log_sf[rows] = chi2_sum_log_sf(
            values[rows], np.maximum(table[rows].T, 0.0), np.ones(len(rows))
        )
    return log_sf


def _bernoulli_sum(
    columns: npt.ArrayLike,
    probability: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    complement: npt.ArrayLike | None,
    fixed_total: bool | npt.ArrayLike,
) -> tuple[BernoulliSum, FloatArray]:
    """Check the arguments, drop rows that count for nothing, and give the units of columns too."""
    table = np.asarray(columns, dtype=float)
    if table.ndim != 2:
        raise exc.DataError(
            exc.WRONG_DIMENSION.format(argument="columns", ndim=table.ndim, shape=table.shape)
        )
    chances = np.asarray(probability, dtype=float)
    others = 1 - chances if complement is None else np.asarray(complement, dtype=float)
    counts = np.ones(len(table)) if weights is None else np.asarray(weights, dtype=float)
    for name, values in (("probability", chances), ("complement", others), ("weights", counts)):
        if not values.ndim or values.shape != table.shape[: values.ndim]:
            raise exc.DataError(
                f"{name} must have one value per row of columns, shape {table.shape[:1]}, or per "
                f"row and column, shape {table.shape}, but its shape is {values.shape}."
            )
    if not ((chances >= 0) & (chances <= 1) & (others >= 0) & (others <= 1)).all():
        raise exc.DataError(
            "probability must lie between 0 and 1 in every row. Pass fitted probabilities, not "
            "logits."
        )
    if not ((counts >= 0) & np.isfinite(counts)).all():
        raise exc.DataError("weights must be finite and not negative. Drop the rows, or fill in.")
    total = np.ones(len(table)) if isinstance(fixed_total, bool) else np.asarray(fixed_total, float)
    if total.shape != table.shape[:1]:
        raise exc.DataError(
            f"fixed_total must be True, False or one value per row of columns, shape "
            f"{table.shape[:1]}, but its shape is {total.shape}."
        )
    uncertain = (chances > 0) & (others > 0)
    if uncertain.ndim == 2 and not uncertain.all():
        # Of a row that is certain in some columns, nothing counts in these.
        counts = (counts if counts.ndim == 2 else counts[:, None]) * uncertain
        chances, others = (np.where(uncertain, each, 0.5) for each in (chances, others))
    counted = uncertain if uncertain.ndim == 1 else uncertain.any(axis=1)
    counted = counted & (counts > 0 if counts.ndim == 1 else (counts > 0).any(axis=1))
    # The rarer outcome of each row is the one that counts: its probability has all its digits.
    sign = np.where(chances > 0.5, -1.0, 1.0)[counted]
    table = table[counted] * (sign if sign.ndim == 2 else sign[:, None])
    # In units of its largest entry no square of a column is lost.
    unit = np.maximum(table.max(axis=0, initial=0.0), -table.min(axis=0, initial=0.0))
    unit[unit < SMALLEST_UNIT] = np.inf
    fixed = fixed_total is not False
    total = total[counted] if sign.ndim == 1 else total[counted, None]
    with np.errstate(invalid="ignore"):
        scores = BernoulliSum(
            table / unit,
            np.minimum(chances, others)[counted],
            counts[counted],
            sign * total if fixed else None,
        )
    return scores, unit
