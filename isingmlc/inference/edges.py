"""What tests of edges are made of: one edge, arrays of all, products, effects, p-values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from isingmlc.base.arrays import FloatArray, StrArray
from isingmlc.inference.pvalues import chi2_sf, wald_limits


@dataclass(frozen=True, slots=True)
class EdgeTest:
    """Test of one feature–label edge; unpacks to its statistic and p-value.

    Attributes
    ----------
    feature, label : str
        The edge.
    statistic, df, pvalue, log10p : float
        The test; NaN where it is impossible.
    reason : str
        ``ok``, or why it is impossible.
    null : str
        What is tested.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> edges.loc["bmi", "diabetes"]
    EdgeTest(bmi – diabetes: statistic 48.73, df 1, p-value 2.94e-12)
    >>> statistic, pvalue = edges.loc["bmi", "diabetes"]
    """

    feature: str
    label: str
    statistic: float
    df: float
    pvalue: float
    log10p: float
    reason: str
    null: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __repr__(self) -> str:
        test = f"statistic {self.statistic:.4g}, df {self.df:g}, p-value {self.pvalue:.3g}"
        found = test if self.reason == "ok" else self.reason
        return f"EdgeTest({self.feature} – {self.label}: {found})"


@dataclass(frozen=True)
class Products:
    """Tests of products of features with labels.

    Attributes
    ----------
    statistic, pvalue : ndarray, shape (features, labels, labels)
        Entry (j, k, s) tests the product of feature j with label s in the model of label k; NaN
        where it is impossible and for s = k.
    """

    statistic: FloatArray

    @cached_property
    def pvalue(self) -> FloatArray:
        """Upper tails of the chi-square distribution with one degree of freedom."""
        return np.asarray(chi2_sf(self.statistic, 1.0))


@dataclass(frozen=True)
class FeatureNull:
    r"""What the sum of a feature's statistics over labels is compared with.

    Attributes
    ----------
    crossed, leaning : ndarray, shape (K, K)
        :math:`\sum_g N_g e_{gk} e_{gl}`, and the same with factors
        :math:`h_{gk} + h_{gl} - h_{gk} h_{gl}`, h what the null model fits to a column of ones.
    mean, square : ndarray, shape (p,)
        First and second moment of the features.
    variance : ndarray, shape (p, K)
        Variances by which the scores were standardised; NaN for impossible tests.
    """

    crossed: FloatArray
    leaning: FloatArray
    mean: FloatArray
    square: FloatArray
    variance: FloatArray

    def take(self, positions: list[int]) -> FeatureNull:
        """Give what some of the features are compared with."""
        return replace(
            self,
            mean=self.mean[positions],
            square=self.square[positions],
            variance=self.variance[positions],
        )

    def weights(self) -> FloatArray:
        """Give the eigenvalues of the covariance of the standardised scores, a row a feature."""
        deviation = np.sqrt(np.where(np.isnan(self.variance), np.inf, self.variance))
        weights = np.empty(deviation.shape)
        step = max(1, 2**22 // self.crossed.size)
        for start in range(0, len(weights), step):
            part = slice(start, start + step)
            covariance = (
                self.square[part, None, None] * self.crossed
                - self.mean[part, None, None] ** 2 * self.leaning
            )
            scale = deviation[part, :, None] * deviation[part, None, :]
            weights[part] = np.linalg.eigvalsh(covariance / scale)
        return np.maximum(weights, 0.0)


@dataclass(frozen=True)
class EdgeArrays:
    """Tests of all edges as arrays, features × labels.

    Attributes
    ----------
    statistic, df : ndarray of float
        Statistics and degrees of freedom; NaN where an edge can not be tested.
    reason : ndarray of object
        ``ok``, or why an edge can not be tested or what is special about it.
    sign : ndarray of float
        Whether the feature raises (1) or lowers (−1) the label; 0 where that has no answer.
    """

    statistic: FloatArray
    df: FloatArray
    reason: StrArray
    sign: FloatArray

    def take(self, positions: list[int]) -> EdgeArrays:
        """Give those of some features."""
        return EdgeArrays(
            self.statistic[positions],
            self.df[positions],
            self.reason[positions],
            self.sign[positions],
        )


@dataclass(frozen=True)
class GivenPvalues:
    """p-values that do not come from the chi-square distribution.

    Attributes
    ----------
    edge, log10 : ndarray, shape (features, labels)
        p-values of edges and their logarithms.
    feature : ndarray, shape (features,), or None
        p-values of features.
    """

    edge: FloatArray
    log10: FloatArray
    feature: FloatArray | None = None

    def take(self, positions: list[int]) -> GivenPvalues:
        """Give those of some features."""
        return GivenPvalues(
            self.edge[positions],
            self.log10[positions],
            None if self.feature is None else self.feature[positions],
        )


@dataclass(frozen=True)
class Estimates:
    """Effects of the features in the larger models that Wald and likelihood-ratio tests fit.

    Attributes
    ----------
    coef, bse : DataFrame, features × labels
        Log-odds ratios for one unit of the feature, given the other labels, and their standard
        errors. Infinite and NaN where the feature separates the label; NaN where nothing is fitted.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().wald_test(["bmi"])
    >>> edges.estimates.coef.loc["bmi", "diabetes"].round(3)
    np.float64(0.136)
    """

    coef: pd.DataFrame
    bse: pd.DataFrame

    def conf_int(self, alpha: float = 0.05) -> dict[str, pd.DataFrame]:
        """Wald confidence intervals of `coef`; their exponentials are those of odds ratios.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.

        Returns
        -------
        dict of str to DataFrame
            Frames ``"lower"`` and ``"upper"``, shaped like `coef`; NaN where `bse` is.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> edges = im.IsingModel(data.labels, data.features).fit().wald_test(["bmi"])
        >>> limits = edges.estimates.conf_int()
        >>> [limits[end].loc["bmi", "diabetes"].round(3) for end in ("lower", "upper")]
        [np.float64(0.097), np.float64(0.175)]
        """
        return wald_limits(self.coef, self.bse, alpha)

    def take(self, features: list[str]) -> Estimates:
        """Give those of some features.

        Parameters
        ----------
        features : list of str
            Their names.

        Returns
        -------
        Estimates
            Their effects.

        Examples
        --------
        >>> table = pd.DataFrame({"y1": [0.5, 1.5]}, index=["x1", "x2"])
        >>> Estimates(coef=table, bse=table).take(["x2"]).coef.shape
        (1, 1)
        """
        return Estimates(self.coef.loc[features], self.bse.loc[features])
