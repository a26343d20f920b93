r"""One p-value per feature from the tests of its edges.

The tests of a feature for several labels are dependent. There are three ways to make one of them:

- *sum*: squares of the scores, standardised, add up to a weighted sum of chi-squares, whose weights
  are the eigenvalues of the scores' correlation matrix;
- *omnibus*: the quadratic form with the inverse of that matrix is chi-square, with as many degrees
  of freedom as the matrix has rank;
- *acat*: a mean of Cauchy variables has nearly the same tail however they depend on each other, so
  p-values are made Cauchy variables and their mean a p-value again. No correlation is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri_exp

from isingmlc.base.arrays import FloatArray
from isingmlc.inference.pvalues import LOG_10, chi2_log10_sf, weighted_chi2_log10_sf

COMBINE = ("acat", "sum", "omnibus")
DEFAULT_COMBINE = "acat"
# Larger p-values count as this one: a p-value of 1 must not outweigh any other, however small.
LARGEST = 0.999
# Directions in which correlated scores vary by less than this share of one score do not count.
RANK = 1e-6
_LOG_2 = float(np.log(2))


@dataclass(frozen=True)
class FeatureTests:
    """Tests of features over all labels."""

    combine: str
    statistic: FloatArray
    df: FloatArray
    log10_pvalue: FloatArray
    n_tests: FloatArray

    @cached_property
    def pvalue(self) -> FloatArray:
        """The p-values."""
        return np.asarray(10.0**self.log10_pvalue)


def combine_cauchy(log10_pvalue: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Combine dependent p-values by their Cauchy transforms, each line of a table by itself."""
    log_p = np.minimum(np.asarray(log10_pvalue, dtype=float) * LOG_10, np.log(LARGEST))
    known = ~np.isnan(log_p)
    count = known.sum(axis=1).astype(float)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        angle = np.pi * np.exp(log_p)
        is_small = log_p < -_LOG_2
        # The cotangent of a small angle, as a logarithm; that of a tiny one is one over the angle.
        ratio = np.where(angle > 1e-8, np.tan(angle) / angle, 1.0)
        log_cot = np.where(is_small, -log_p - np.log(np.pi) - np.log(ratio), -np.inf)
        unit = np.maximum(log_cot.max(axis=1, initial=0.0, where=known), 0.0)
        parts = np.where(is_small, np.exp(log_cot - unit[:, None]), 0.0)
        rest = np.where(is_small, 0.0, 1 / np.tan(angle)) * np.exp(-unit)[:, None]
        mean = np.where(known, parts + rest, 0.0).sum(axis=1) / count
        statistic = mean * np.exp(unit)
        # One over T, for its arctangent; where that is tiny they are the same.
        inverse = np.exp(-unit) / mean
        log_tail = np.where(inverse > 1e-8, np.log(np.arctan(inverse)), -unit - np.log(mean))
        upper = log_tail - np.log(np.pi)
        lower = np.log(0.5 - np.arctan(statistic) / np.pi)
    log_pvalue = np.where(mean > 0, upper, lower) / LOG_10
    # A p-value of zero that has no logarithm stays one.
    log_pvalue = np.where((log_p == -np.inf).any(axis=1), -np.inf, log_pvalue)
    tested = count > 0
    return np.where(tested, statistic, np.nan), np.where(tested, log_pvalue, np.nan)


def combine_acat(log10_pvalue: FloatArray) -> FeatureTests:
    """Combine the tests of each feature by their p-values alone."""
    statistic, log10p = combine_cauchy(log10_pvalue)
    return FeatureTests("acat", statistic, *_no_df(log10p), _count(log10_pvalue))


def normal_scores(sign: FloatArray, log10_pvalue: FloatArray) -> FloatArray:
    """Return the normal scores that have these two-sided p-values."""
    size = -ndtri_exp(np.minimum(log10_pvalue * LOG_10, 0.0) - _LOG_2)
    return np.where(np.isnan(log10_pvalue), 0.0, sign * size)


def combine_scores(
    scores: FloatArray, values: FloatArray, vectors: FloatArray, n_tests: FloatArray
) -> tuple[FeatureTests, FeatureTests]:
    """Combine correlated scores of each feature: their sum of squares, and their quadratic form."""
    total = np.where(n_tests > 0, (scores**2).sum(axis=1), np.nan)
    by_sum = FeatureTests(
        "sum", total, *_no_df(weighted_chi2_log10_sf(total, np.maximum(values, 0.0))), n_tests
    )
    along = np.einsum("jk,jki->ji", scores, vectors)
    counts = values > RANK
    form = np.divide(along**2, values, out=np.zeros_like(along), where=counts).sum(axis=1)
    rank = np.where(n_tests > 0, counts.sum(axis=1), np.nan)
    form = np.where(n_tests > 0, form, np.nan)
    return by_sum, FeatureTests("omnibus", form, rank, chi2_log10_sf(form, rank), n_tests)


def _count(log10_pvalue: FloatArray) -> FloatArray:
    return np.asarray((~np.isnan(log10_pvalue)).sum(axis=1), dtype=float)


def _no_df(log10_pvalue: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Put degrees of freedom that do not exist before logarithms of p-values."""
    return np.full(log10_pvalue.shape, np.nan), log10_pvalue
