"""Tests of all feature–label edges as arrays; `results.edge_tests` gives them names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from isingmlc.base.arrays import FloatArray, IntArray, StrArray
from isingmlc.inference.feature_null import CellNull, FeatureNull
from isingmlc.inference.pvalues import chi2_log10_sf, chi2_sf, weighted_chi2_sf


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

    def take(self, positions: IntArray) -> GivenPvalues:
        """Give those of some features."""
        feature = None if self.feature is None else self.feature[positions]
        return GivenPvalues(self.edge[positions], self.log10[positions], feature)


@dataclass(frozen=True, eq=False)
class EdgeArrays:
    """Tests of all edges as arrays, features × labels.

    Attributes
    ----------
    feature_names, label_names : tuple of str
        Names of the features (or terms) and labels.
    statistic, df : ndarray of float, shape (features, labels)
        Statistics and degrees of freedom; NaN where an edge cannot be tested.
    reason : ndarray of object, shape (features, labels)
        Why an edge cannot be tested, or what is special about it; see `Reason`.
    sign : ndarray of float, shape (features, labels)
        Whether the feature raises (1) or lowers (−1) the label; 0 where that has no answer.
    test : {"score", "wald", "lr"}
        Which test.
    products : {None, "individual", "joint"}
        Whether products of features with labels are tested too, each by itself or all together.
    product_statistic : ndarray, shape (features, labels, labels), or None
        Entry (j, k, s) tests the product of feature j with label s in the model of label k; NaN
        where it is impossible and for s = k.
    product_reason : ndarray of object, shape (features, labels, labels), or None
        Why a product cannot be tested, or what is special about it; decided from the reasons of
        the features if omitted.
    distribution : str
        Where the p-values come from.
    note : str
        What to keep in mind; empty where there is nothing.
    null : FeatureNull, CellNull or None
        What the importance of a feature is compared with.
    given : GivenPvalues or None
        p-values other than those of the chi-square distribution.
    coef, bse : ndarray, shape (features, labels), or None
        Coefficients and standard errors, of Wald and likelihood-ratio tests of single features.
    """

    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    statistic: FloatArray
    df: FloatArray
    reason: StrArray
    sign: FloatArray
    test: str
    products: str | None = None
    product_statistic: FloatArray | None = None
    product_reason: StrArray | None = None
    distribution: str = "chi-square"
    note: str = ""
    null: FeatureNull | CellNull | None = None
    given: GivenPvalues | None = None
    coef: FloatArray | None = None
    bse: FloatArray | None = None

    def take(self, positions: Sequence[int] | IntArray) -> EdgeArrays:
        """Give the tests of some features.

        Parameters
        ----------
        positions : sequence of int
            Which features.

        Returns
        -------
        EdgeArrays
            Their tests.
        """
        at = np.asarray(positions, dtype=np.intp)
        changed: dict[str, Any] = {
            "feature_names": tuple(self.feature_names[each] for each in at.tolist())
        }
        of_edges = ("statistic", "df", "reason", "sign", "coef", "bse")
        for name in (*of_edges, "product_statistic", "product_reason"):
            cells = getattr(self, name)
            changed[name] = None if cells is None else cells[at]
        for name in ("null", "given"):
            part = getattr(self, name)
            changed[name] = None if part is None else part.take(at)
        return replace(self, **changed)

    def columns(self) -> dict[str, Any]:
        """Give what tables of edges have, each an array of features × labels.

        Returns
        -------
        dict of str to ndarray
            (coef, bse,) statistic, df, pvalue, log10p, sign and reason.
        """
        effects = {} if self.coef is None else {"coef": self.coef, "bse": self.bse}
        return {
            **effects,
            "statistic": self.statistic,
            "df": self.df,
            "pvalue": self.pvalue,
            "log10p": self.log10_pvalue,
            "sign": self.sign,
            "reason": self.reason,
        }

    @cached_property
    def pvalue(self) -> FloatArray:
        """p-values of edges."""
        return self._tail(chi2_sf) if self.given is None else self.given.edge

    @cached_property
    def log10_pvalue(self) -> FloatArray:
        """Their logarithms to base ten."""
        return self._tail(chi2_log10_sf) if self.given is None else self.given.log10

    def _tail(self, tail: Callable[[FloatArray, FloatArray], Any]) -> FloatArray:
        return np.asarray(tail(self.statistic, self.df))

    @cached_property
    def importance(self) -> FloatArray:
        """Sum over labels (and products) of the statistics of each feature."""
        importance = np.nansum(self.statistic, axis=1)
        if self.product_statistic is not None:
            importance = importance + np.nansum(self.product_statistic, axis=(1, 2))
        return np.asarray(importance)

    @cached_property
    def feature_pvalue(self) -> FloatArray | None:
        """p-values of features; None where the sum of statistics has no reference distribution."""
        if self.given is not None and self.given.feature is not None:
            return self.given.feature
        if self.null is None:
            return None
        return weighted_chi2_sf(self.importance, self.null.weights())
