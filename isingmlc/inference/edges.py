"""Tests of all feature–label edges as arrays; `results.edge_tests` gives them names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.stats import t as student_t

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import FloatArray, IntArray, SignArray, StrArray
from isingmlc.base.readonly import FrozenArrays, cached_array
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.combine import (
    COMBINE,
    FeatureTests,
    ScoreCovariance,
    combine_acat,
    combine_scores,
    normal_scores,
)
from isingmlc.inference.covariance import hotelling_log10_sf, hotelling_sf
from isingmlc.inference.pvalues import chi2_log10_sf, chi2_sf

_NO_COVARIANCE = (
    "combine={combine!r} needs to know how the scores of a feature vary together, as score tests "
    "of single features do, but these are {what}. Use combine='acat', which needs their p-values "
    "alone, or res.score_test().feature_pvalues(combine={combine!r})."
)
_PERMUTED = (
    "combine={combine!r} is not among what was permuted: use combine='sum', whose p-values come "
    "from the permutations, or combine='acat', which combines those of the edges."
)


# The arrays of edges and of products, of which either all or none are there.
_OF_EDGES = ("statistic", "df", "reason", "sign", "coef", "bse")
_OF_PRODUCTS = tuple(
    f"product_{name}" for name in ("statistic", "sign", "reason", "coef", "bse", "rho")
)


class Pvalues(Protocol):
    """p-values of edges or products that do not come from the distribution of their statistics."""

    @property
    def edge(self) -> FloatArray:
        """The p-values."""

    @property
    def log10(self) -> FloatArray:
        """Their logarithms to base ten."""

    @property
    def method(self) -> StrArray:
        """Where each comes from; empty where there is none."""

    def take(self, positions: IntArray) -> Pvalues:
        """Return those of some features."""


@dataclass(frozen=True)
class GivenPvalues(FrozenArrays):
    """p-values that are known."""

    edge: FloatArray
    log10: FloatArray
    method: StrArray
    feature: FloatArray | None = None

    def take(self, positions: IntArray) -> GivenPvalues:
        """Return those of some features."""
        feature = None if self.feature is None else self.feature[positions]
        return GivenPvalues(
            self.edge[positions], self.log10[positions], self.method[positions], feature
        )

    @classmethod
    def stack(cls, parts: Sequence[dict[str, Any]]) -> GivenPvalues:
        """Stack p-values of different features."""
        names = ("pvalue", "log10p", "pvalue_method")
        return cls(*(np.concatenate([part[name] for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class EdgeArrays(FrozenArrays):
    """Tests of all edges as arrays, features × labels."""

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
    given: Pvalues | None = None
    given_products: Pvalues | None = None
    coef: FloatArray | None = None
    bse: FloatArray | None = None
    product_coef: FloatArray | None = None
    product_bse: FloatArray | None = None
    product_rho: FloatArray | None = None
    df_denom: FloatArray | None = None

    def take(self, positions: Sequence[int] | IntArray) -> EdgeArrays:
        """Return the tests of some features."""
        at = np.asarray(positions, dtype=np.intp)
        changed: dict[str, Any] = {
            "feature_names": tuple(self.feature_names[each] for each in at.tolist())
        }
        for name in (*_OF_EDGES, *_OF_PRODUCTS):
            cells = getattr(self, name)
            changed[name] = None if cells is None else cells[at]
        for name in ("covariance", "given", "given_products"):
            part = getattr(self, name)
            changed[name] = None if part is None else part.take(at)
        return replace(self, **changed)

    @classmethod
    def stack(cls, parts: Sequence[EdgeArrays]) -> EdgeArrays:
        """Put tests of different features of the same labels into one table."""
        if len(parts) == 1:
            return parts[0]
        changed: dict[str, Any] = {
            "feature_names": tuple(name for part in parts for name in part.feature_names),
            "covariance": None,
            "given": GivenPvalues.stack([part.columns() for part in parts]),
        }
        for name in (*_OF_EDGES, *_OF_PRODUCTS):
            cells = [getattr(part, name) for part in parts]
            changed[name] = None if cells[0] is None else np.concatenate(cells)
        if parts[0].product_statistic is not None:
            changed["given_products"] = GivenPvalues.stack(
                [part.product_columns() for part in parts]
            )
        return replace(parts[0], **changed)

    def columns(self) -> dict[str, Any]:
        """Return what tables of edges have, each an array of features × labels."""
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

    def with_one_df(self) -> FloatArray:
        """Statistics with one degree of freedom that have the tail probabilities of these."""
        tested = ~np.isnan(self.statistic)
        log10p = self.log10_tails(self.statistic, self.df)
        equal = normal_scores(np.ones(tested.shape), log10p) ** 2
        alike = (self.df == 1) & (self.df_denom is None)
        return np.where(alike, self.statistic, np.where(tested, equal, np.nan))

    def wald_columns(self, coef: FloatArray, bse: FloatArray, reason: StrArray) -> dict[str, Any]:
        """Compute Wald tests of the levels of one term, each an array of levels × labels."""
        with np.errstate(invalid="ignore"):
            statistic = np.where(np.isfinite(coef), (coef / bse) ** 2, np.nan)
        df = np.where(np.isnan(statistic), np.nan, 1.0)
        own = np.where(np.isnan(coef) & (reason == Reason.OK), Reason.COLLINEAR_FEATURE, reason)
        return {
            "statistic": statistic,
            "df": df,
            "pvalue": self.tails(statistic, df),
            "log10p": self.log10_tails(statistic, df),
            "pvalue_method": np.where(np.isnan(statistic), "", "wald").astype(object),
            "sign": np.sign(np.nan_to_num(coef)),
            "reason": np.where(np.isinf(coef), Reason.SEPARATED_ALTERNATIVE, own).astype(object),
        }

    @cached_array
    def pvalue(self) -> FloatArray:
        """p-values of edges."""
        return self.tails(self.statistic, self.df) if self.given is None else self.given.edge

    @cached_array
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
        """Return p-values of products, each an array of features × labels × labels."""
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
        """Return p-values of statistics by the distribution that these tests refer to."""
        if self.df_denom is None:
            return np.asarray(chi2_sf(statistic, df))
        return np.asarray(hotelling_sf(statistic, df, self._denominators(statistic)))

    def log10_tails(self, statistic: FloatArray, df: FloatArray | float) -> FloatArray:
        """Return logarithms to base ten of `tails`."""
        if self.df_denom is None:
            return np.asarray(chi2_log10_sf(statistic, df))
        return np.asarray(hotelling_log10_sf(statistic, df, self._denominators(statistic)))

    def _denominators(self, statistic: FloatArray) -> FloatArray:
        assert self.df_denom is not None
        return self.df_denom if statistic.ndim == 2 else self.df_denom[:, None]

    @cached_array
    def importance(self) -> FloatArray:
        """Sum over labels (and products) of the statistics of each feature."""
        importance = np.nansum(self.statistic, axis=1)
        if self.product_statistic is not None:
            importance = importance + np.nansum(self.product_statistic, axis=(1, 2))
        return np.asarray(importance)

    def feature_tests(self, combine: str) -> FeatureTests:
        """Test each feature over all labels."""
        check_option("combine", combine, COMBINE)
        if combine == "acat":
            return self._acat
        permuted = getattr(self.given, "feature", None)
        if permuted is not None:
            if combine != "sum":
                raise exc.ModelError(_PERMUTED.format(combine=combine))
            nothing = np.full(permuted.shape, np.nan)
            n_tests = self._acat.n_tests
            return FeatureTests("sum", self.importance, nothing, np.log10(permuted), n_tests)
        if self.covariance is None:
            raise exc.ModelError(_NO_COVARIANCE.format(combine=combine, what=self._what()))
        by_sum, omnibus = self._by_scores
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
        labels = self.covariance.labels
        scores = normal_scores(self.sign, self.log10_pvalue)[:, labels]
        n_tests = self._acat.n_tests
        empty = np.full(len(n_tests), np.nan)
        tests = [
            FeatureTests(name, empty.copy(), empty.copy(), empty.copy(), n_tests)
            for name in ("sum", "omnibus")
        ]
        for at, values, vectors in self.covariance.decompose():
            by_sum, omnibus = combine_scores(scores[at], values, vectors, n_tests[at])
            if self.df_denom is not None:
                omnibus = self._by_hotelling(at, labels, values, vectors)
            for target, part in zip(tests, (by_sum, omnibus), strict=True):
                target.statistic[at], target.df[at] = part.statistic, part.df
                target.log10_pvalue[at] = part.log10_pvalue
        return tests[0], tests[1]

    def _by_hotelling(
        self, features: slice, labels: IntArray, values: FloatArray, vectors: FloatArray
    ) -> FeatureTests:
        """Refer quadratic forms from few clusters to Hotelling's distribution."""
        assert self.df_denom is not None
        size = np.sqrt(self.statistic[features])
        by_model = getattr(self.given, "by_model", None)
        if by_model is not None:
            # Where a variance is not believed, the statistic is at most what the p-value says.
            said = student_t.isf(np.minimum(self.pvalue[features], 1.0) / 2, self.df_denom)
            size = np.where(by_model[features], np.minimum(said, size), size)
        own = self.sign[features] * np.nan_to_num(size)
        _, form = combine_scores(own[:, labels], values, vectors, self._acat.n_tests[features])
        tested = ~np.isnan(self.statistic[features])
        degrees = np.where(tested, self.df_denom, np.inf).min(axis=1)
        log10p = np.asarray(hotelling_log10_sf(form.statistic, form.df, degrees))
        return replace(form, log10_pvalue=log10p)
