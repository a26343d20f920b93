"""Tests of all feature–label edges as arrays; `results.edge_tests` gives them names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import t as student_t

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import FloatArray, IntArray, SignArray, StrArray
from isingmlc.inference.combine import (
    COMBINE,
    FeatureTests,
    combine_acat,
    combine_all,
    combine_scores,
    normal_scores,
)
from isingmlc.inference.pvalues import chi2_log10_sf, chi2_sf
from isingmlc.inference.robust import hotelling_log10_sf, hotelling_sf
from isingmlc.inference.robust_law import GuardedPvalues
from isingmlc.inference.score_covariance import ScoreCovariance
from isingmlc.inference.score_law import LawPvalues

_NO_COVARIANCE = (
    "combine={combine!r} needs to know how the scores of a feature vary together, as score tests "
    "of single features do, but these are {what}. Use combine='acat', which needs their p-values "
    "alone, or res.score_test().feature_pvalues(combine={combine!r})."
)
_PERMUTED = (
    "combine={combine!r} is not among what was permuted: use combine='sum', whose p-values come "
    "from the permutations, or combine='acat', which combines those of the edges."
)


@dataclass(frozen=True)
class GivenPvalues:
    """p-values that do not come from the chi-square distribution.

    Attributes
    ----------
    edge, log10 : ndarray, shape (features, labels)
        p-values of edges and their logarithms.
    feature : ndarray, shape (features,), or None
        p-values of the sums of statistics, of features.
    kind : str
        Where they come from.
    """

    edge: FloatArray
    log10: FloatArray
    feature: FloatArray | None = None
    kind: str = "permutation"

    @property
    def method(self) -> StrArray:
        """Where the p-value of each edge comes from; empty where there is none."""
        return np.where(np.isnan(self.edge), "", self.kind).astype(object)

    def take(self, positions: IntArray) -> GivenPvalues:
        """Give those of some features."""
        feature = None if self.feature is None else self.feature[positions]
        return replace(
            self, edge=self.edge[positions], log10=self.log10[positions], feature=feature
        )


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
        Whether the feature goes with (1) or against (−1) the label; 0 where that has no answer.
    test : {"score", "wald", "lr"}
        Which test.
    products : {None, "individual", "joint"}
        Whether products of features with labels are tested too, each by itself or all together.
    product_statistic : ndarray, shape (features, labels, labels), or None
        Entry (j, k, s) tests the product of feature j with label s in the model of label k; NaN
        where it is impossible and for s = k.
    product_sign : ndarray of int8, shape (features, labels, labels), or None
        Whether a product goes with (1) or against (−1) the label, so that the feature makes the tie
        of the two labels stronger or weaker; none of larger models.
    product_reason : ndarray of object, shape (features, labels, labels), or None
        Why a product cannot be tested, or what is special about it; decided from the reasons of
        the features if omitted.
    distribution : str
        Where the p-values come from.
    note : str
        What to keep in mind; empty where there is nothing.
    covariance : ScoreCovariance or None
        How the scores of a feature vary together, where that is known.
    given : GivenPvalues, LawPvalues, GuardedPvalues or None
        p-values other than those of the chi-square distribution.
    given_products : LawPvalues or None
        The like of them for products.
    coef, bse : ndarray, shape (features, labels), or None
        Coefficients and standard errors, of Wald and likelihood-ratio tests of single features.
    product_coef, product_bse : ndarray, shape (features, labels, labels), or None
        The like of them for products given the feature. Score tests have errors of coefficients
        that are one step; these coefficients follow from statistics, signs and errors.
    df_denom : ndarray, shape (labels,), or None
        The number of clusters less one, where statistics are referred to t and F distributions
        instead of normal and chi-square ones.
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
    product_sign: SignArray | None = None
    product_reason: StrArray | None = None
    distribution: str = "chi-square"
    note: str = ""
    covariance: ScoreCovariance | None = None
    given: GivenPvalues | LawPvalues | GuardedPvalues | None = None
    given_products: LawPvalues | None = None
    coef: FloatArray | None = None
    bse: FloatArray | None = None
    product_coef: FloatArray | None = None
    product_bse: FloatArray | None = None
    df_denom: FloatArray | None = None

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
        of_products = ("statistic", "sign", "reason", "coef", "bse")
        for name in (*of_edges, *(f"product_{part}" for part in of_products)):
            cells = getattr(self, name)
            changed[name] = None if cells is None else cells[at]
        for name in ("covariance", "given", "given_products"):
            part = getattr(self, name)
            changed[name] = None if part is None else part.take(at)
        return replace(self, **changed)

    def columns(self) -> dict[str, Any]:
        """Give what tables of edges have, each an array of features × labels.

        Returns
        -------
        dict of str to ndarray
            (coef, bse,) statistic, df, pvalue, log10p, pvalue_method, sign and reason.
        """
        effects = {} if self.coef is None else {"coef": self.coef, "bse": self.bse}
        return {
            **effects,
            "statistic": self.statistic,
            "df": self.df,
            "pvalue": self.pvalue,
            "log10p": self.log10_pvalue,
            "pvalue_method": self.pvalue_method,
            "sign": self.sign,
            "reason": self.reason,
        }

    @cached_property
    def pvalue(self) -> FloatArray:
        """p-values of edges."""
        return self.tails(self.statistic, self.df) if self.given is None else self.given.edge

    @cached_property
    def log10_pvalue(self) -> FloatArray:
        """Their logarithms to base ten."""
        if self.given is not None:
            return self.given.log10
        return self.log10_tails(self.statistic, self.df)

    @property
    def pvalue_method(self) -> StrArray:
        """Where each p-value comes from; empty where there is none."""
        return self.name_tails(self.statistic) if self.given is None else self.given.method

    def product_columns(self) -> dict[str, Any]:
        """Give p-values of products, each an array of features × labels × labels.

        Returns
        -------
        dict of str to ndarray
            pvalue, log10p and pvalue_method.
        """
        statistic, given = self.product_statistic, self.given_products
        assert statistic is not None
        if given is not None:
            return {"pvalue": given.edge, "log10p": given.log10, "pvalue_method": given.method}
        return {
            "pvalue": self.tails(statistic, 1.0),
            "log10p": self.log10_tails(statistic, 1.0),
            "pvalue_method": self.name_tails(statistic),
        }

    def name_tails(self, statistic: FloatArray) -> StrArray:
        """Name where the p-values of `tails` come from; empty where there is none."""
        name = "chi2" if self.df_denom is None else "hotelling"
        return np.where(np.isnan(statistic), "", name).astype(object)

    def tails(self, statistic: FloatArray, df: FloatArray | float) -> FloatArray:
        """Give p-values of statistics by the distribution that these tests refer to.

        Parameters
        ----------
        statistic : ndarray, shape (features, labels) or (features, labels, labels)
            Statistics of edges, or of products: the second axis has the labels of the models.
        df : ndarray or float
            Degrees of freedom.

        Returns
        -------
        ndarray, of the same shape
            The p-values.
        """
        if self.df_denom is None:
            return np.asarray(chi2_sf(statistic, df))
        return np.asarray(hotelling_sf(statistic, df, self._denominators(statistic)))

    def log10_tails(self, statistic: FloatArray, df: FloatArray | float) -> FloatArray:
        """Give logarithms to base ten of `tails`."""
        if self.df_denom is None:
            return np.asarray(chi2_log10_sf(statistic, df))
        return np.asarray(hotelling_log10_sf(statistic, df, self._denominators(statistic)))

    def _denominators(self, statistic: FloatArray) -> FloatArray:
        assert self.df_denom is not None
        return self.df_denom if statistic.ndim == 2 else self.df_denom[:, None]

    @cached_property
    def importance(self) -> FloatArray:
        """Sum over labels (and products) of the statistics of each feature."""
        importance = np.nansum(self.statistic, axis=1)
        if self.product_statistic is not None:
            importance = importance + np.nansum(self.product_statistic, axis=(1, 2))
        return np.asarray(importance)

    def feature_tests(self, combine: str) -> FeatureTests:
        """Test each feature over all labels.

        Parameters
        ----------
        combine : {"acat", "sum", "omnibus", "cauchy"}
            How the tests of its edges are combined.

        Returns
        -------
        FeatureTests
            One test per feature.

        Raises
        ------
        DataError
            When there is no such way.
        ModelError
            When it needs what these tests do not have.
        """
        check_option("combine", combine, COMBINE)
        if combine == "acat":
            return self._acat
        permuted = None if self.given is None else self.given.feature
        if permuted is not None:
            if combine != "sum":
                raise exc.ModelError(_PERMUTED.format(combine=combine))
            nothing = np.full(permuted.shape, np.nan)
            n_tests = self._acat.n_tests
            return FeatureTests("sum", self.importance, nothing, np.log10(permuted), n_tests)
        if self.covariance is None:
            raise exc.ModelError(_NO_COVARIANCE.format(combine=combine, what=self._what()))
        by_sum, omnibus = self._by_scores
        if combine == "cauchy":
            return combine_all([self._acat, by_sum, omnibus])
        return by_sum if combine == "sum" else omnibus

    def _what(self) -> str:
        """Say which tests these are."""
        if self.products:
            return f"{self.test} tests with products={self.products!r}"
        return f"{self.test} tests" + (" of terms" if self.test == "score" else "")

    @cached_property
    def _acat(self) -> FeatureTests:
        """Tests of features by the p-values of edges, and of products where they are tested."""
        log10p = self.log10_pvalue
        if self.product_statistic is not None:
            products = self.product_columns()["log10p"]
            log10p = np.column_stack([log10p, products.reshape(len(products), -1)])
        return combine_acat(log10p)

    @cached_property
    def _by_scores(self) -> tuple[FeatureTests, FeatureTests]:
        """Tests of features by the sum of squared scores, and by their quadratic form."""
        assert self.covariance is not None
        scores = normal_scores(self.sign, self.log10_pvalue)
        n_tests = self._acat.n_tests
        empty = np.full(n_tests.shape, np.nan)
        whole = [
            FeatureTests(name, empty.copy(), empty.copy(), empty.copy(), n_tests)
            for name in ("sum", "omnibus")
        ]
        for at, values, vectors in self.covariance.decompose():
            found = combine_scores(scores[at], values, vectors, n_tests[at])
            if self.df_denom is not None:
                found = found[0], self._by_hotelling(at, values, vectors)
            for target, part in zip(whole, found, strict=True):
                target.statistic[at] = part.statistic
                target.df[at] = part.df
                target.log10_pvalue[at] = part.log10_pvalue
        return whole[0], whole[1]

    def _by_hotelling(
        self, features: IntArray, values: FloatArray, vectors: FloatArray
    ) -> FeatureTests:
        """Refer quadratic forms of some features, from few clusters, to Hotelling's distribution.

        Correlations that are estimated from hardly more clusters than labels are too uncertain for
        a chi-square.
        """
        assert self.df_denom is not None
        size = np.sqrt(self.statistic[features])
        if isinstance(self.given, GuardedPvalues):
            # Where a variance is not believed, the statistic is at most what the p-value says.
            said = student_t.isf(np.minimum(self.pvalue[features], 1.0) / 2, self.df_denom)
            size = np.where(self.given.by_model[features], np.minimum(said, size), size)
        own = self.sign[features] * np.nan_to_num(size)
        _, form = combine_scores(own, values, vectors, self._acat.n_tests[features])
        tested = ~np.isnan(self.statistic[features])
        degrees = np.where(tested, self.df_denom, np.inf).min(axis=1)
        log10p = np.asarray(hotelling_log10_sf(form.statistic, form.df, degrees))
        return replace(form, log10_pvalue=log10p)
