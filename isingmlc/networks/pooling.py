"""Estimates and tests of several imputed data sets as one: Rubin's rules, and D2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from isingmlc.base.arrays import FloatArray
from isingmlc.inference.pvalues import chi2_log_sf

# Variances between data sets below this share of those within are rounding errors of fits.
_ROUNDING = 1e-15
# So many degrees of freedom are as good as infinitely many.
_MANY = 1e10
# Below this logarithm p-values come near to the smallest number, and so many steps of Newton's
# method find their statistics.
_LOG_TINY = -600.0
_STEPS = 8


@dataclass(frozen=True)
class PooledEstimates:
    """Estimates pooled by Rubin's rules."""

    coef: FloatArray
    bse: FloatArray
    df: FloatArray
    fmi: FloatArray

    @property
    def pvalue(self) -> FloatArray:
        """Two-sided p-values of the estimates over their errors."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(2 * stats.t.sf(np.abs(self.coef / self.bse), self.df))

    def limits(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return confidence limits."""
        width = stats.t.isf(alpha / 2, self.df) * self.bse
        return self.coef - width, self.coef + width


def pool_estimates(coef: FloatArray, bse: FloatArray, df_complete: FloatArray) -> PooledEstimates:
    """Pool estimates by Rubin's rules, with the degrees of freedom of Barnard and Rubin."""
    m = len(coef)
    known = (np.isfinite(coef) & np.isfinite(bse)).all(axis=0)
    coef, bse = np.where(known, coef, np.nan), np.where(known, bse, np.nan)
    within, between = (bse**2).mean(axis=0), coef.var(axis=0, ddof=1)
    total = within + (1 + 1 / m) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        increase = (1 + 1 / m) * between / within
        increase = np.where(increase < _ROUNDING, 0.0, increase)
        share = increase / (1 + increase)
        large = (m - 1) / share**2
        shrunk = 1 - 2 / (np.asarray(df_complete, dtype=np.float64) + 3)
        observed = shrunk * df_complete * (1 - share)
        # What has no missing information has the degrees of freedom of the complete data.
        df = 1 / (1 / large + 1 / observed)
        fmi = (increase + 2 / (df + 3)) / (1 + increase)
    return PooledEstimates(
        coef.mean(axis=0), np.sqrt(total), df, np.where(increase > 0, fmi, share)
    )


@dataclass(frozen=True)
class PooledTests:
    """Tests pooled by D2."""

    statistic: FloatArray
    df: FloatArray
    df_denom: FloatArray
    fmi: FloatArray

    @property
    def pvalue(self) -> FloatArray:
        """p-values by the F distribution; 1 where D2 is negative."""
        found = stats.f.sf(np.maximum(self.statistic, 0.0), self.df, self.df_denom)
        # With next to no difference between data sets it is the chi-square distribution, where F
        # of older versions of scipy loses its way.
        same = stats.chi2.sf(np.maximum(self.statistic, 0.0) * self.df, self.df)
        return np.asarray(np.where(self.df_denom > _MANY, same, found))


def equivalent_statistic(log_pvalue: FloatArray, df: FloatArray) -> FloatArray:
    """Return the chi-square statistics that have these p-values."""
    statistic = np.asarray(stats.chi2.isf(np.exp(log_pvalue), df))
    far = np.asarray(log_pvalue < _LOG_TINY)
    if far.any():
        wanted, degrees = log_pvalue[far], np.broadcast_to(df, log_pvalue.shape)[far]
        found = -2.0 * wanted
        for _ in range(_STEPS):
            tail = chi2_log_sf(found, degrees)
            slope = -np.exp(stats.chi2.logpdf(found, degrees) - tail)
            found = found - (tail - wanted) / slope
        statistic[far] = found
    return statistic


def pool_tests(statistic: FloatArray, df: FloatArray) -> PooledTests:
    """Pool chi-square statistics by D2 of Li, Meng, Raghunathan and Rubin (1991)."""
    m = len(statistic)
    increase = (1 + 1 / m) * np.sqrt(statistic).var(axis=0, ddof=1)
    mean = statistic.mean(axis=0)
    pooled = (mean / df - (m + 1) / (m - 1) * increase) / (1 + increase)
    with np.errstate(divide="ignore"):
        df_denom = df ** (-3 / m) * (m - 1) * (1 + 1 / increase) ** 2
    fmi = (increase + 2 / (df_denom + 3)) / (1 + increase)
    return PooledTests(pooled, np.where(np.isnan(pooled), np.nan, df), df_denom, fmi)
