"""Estimates and tests of several imputed data sets as one: Rubin's rules, and D2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from isingmlc.base.arrays import FloatArray
from isingmlc.inference.tails import chi2_log_sf

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
    """Estimates pooled by Rubin's rules.

    Attributes
    ----------
    coef, bse : ndarray
        Means of the estimates, and the roots of their total variances.
    df : ndarray
        Degrees of freedom of Student's t.
    fmi : ndarray
        The fraction of missing information.
    """

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
        """Give confidence limits.

        Parameters
        ----------
        alpha : float
            One minus the level.

        Returns
        -------
        tuple of ndarray
            Lower and upper ones.
        """
        width = stats.t.isf(alpha / 2, self.df) * self.bse
        return self.coef - width, self.coef + width


def pool_estimates(coef: FloatArray, bse: FloatArray, df_complete: FloatArray) -> PooledEstimates:
    r"""Pool estimates by Rubin's rules, with the degrees of freedom of Barnard and Rubin.

    Parameters
    ----------
    coef, bse : ndarray, shape (m, ...)
        Estimates of m data sets and their errors.
    df_complete : ndarray
        Degrees of freedom if nothing were missing.

    Returns
    -------
    PooledEstimates
        NaN where an estimate is not finite in one of the data sets.

    Examples
    --------
    >>> found = pool_estimates(np.array([1.0, 1.2, 0.8]), np.full(3, 0.3), np.array(100.0))
    >>> round(float(found.bse), 4), round(float(found.fmi), 4)
    (0.3786, 0.4575)
    """
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
    """Tests pooled by D2.

    Attributes
    ----------
    statistic : ndarray
        D2, referred to F.
    df, df_denom : ndarray
        Degrees of freedom of F.
    fmi : ndarray
        The fraction of missing information, as far as the statistics show it.
    """

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
    r"""Give the chi-square statistics that have these p-values.

    Statistics of several data sets are comparable on this scale whatever their p-values are
    from: Student's t or F with few clusters, saddlepoint approximations, permutations.

    Parameters
    ----------
    log_pvalue : ndarray
        Natural logarithms of p-values.
    df : ndarray
        Degrees of freedom.

    Returns
    -------
    ndarray
        The statistics.

    Examples
    --------
    >>> equivalent_statistic(np.log([0.05, 0.01]), np.array([1.0, 2.0])).round(3)
    array([3.841, 9.21 ])
    """
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
    r"""Pool chi-square statistics by D2 of Li, Meng, Raghunathan and Rubin (1991).

    Parameters
    ----------
    statistic : ndarray, shape (m, ...)
        Statistics of m data sets.
    df : ndarray
        Their degrees of freedom.

    Returns
    -------
    PooledTests
        NaN where a statistic is missing in one of the data sets.

    Examples
    --------
    >>> found = pool_tests(np.array([6.0, 9.0, 7.5]), np.array(1.0))
    >>> round(float(found.statistic), 3), round(float(found.pvalue), 4)
    (6.628, 0.0106)
    """
    m = len(statistic)
    increase = (1 + 1 / m) * np.sqrt(statistic).var(axis=0, ddof=1)
    mean = statistic.mean(axis=0)
    pooled = (mean / df - (m + 1) / (m - 1) * increase) / (1 + increase)
    with np.errstate(divide="ignore"):
        df_denom = df ** (-3 / m) * (m - 1) * (1 + 1 / increase) ** 2
    fmi = (increase + 2 / (df_denom + 3)) / (1 + increase)
    return PooledTests(pooled, np.where(np.isnan(pooled), np.nan, df), df_denom, fmi)
