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
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.combine import (
    COMBINE,
    FeatureTests,
    ScoreCovariance,
    combine_acat,
    normal_scores,
    quadratic_form,
    sum_of_squares,
)
from isingmlc.inference.covariance import hotelling_log10_sf, say_robust
from isingmlc.inference.pvalues import chi2_log10_sf

PRODUCTS = (None, "individual", "joint", "given", "given-joint")
UNITS = ("term", "column")
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
_ARRAYS: tuple[str, ...] = ("statistic", "df", "reason", "sign", "coef", "bse")
_ARRAYS += tuple(
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
        parts = self.edge, self.log10, self.method, self.feature
        taken: list[Any] = [None if each is None else each[positions] for each in parts]
        return GivenPvalues(*taken)


def refer(
    statistic: FloatArray, df: FloatArray | float, df_denom: FloatArray | None
) -> GivenPvalues:
    """Refer statistics to chi-square, or with few clusters to Hotelling's distribution."""
    if df_denom is None:
        log10, name = np.asarray(chi2_log10_sf(statistic, df)), "chi2"
    else:
        log10, name = np.asarray(hotelling_log10_sf(statistic, df, df_denom)), "hotelling"
    method = np.where(np.isnan(statistic), "", name).astype(object)
    return GivenPvalues(10.0**log10, log10, method)


def _list_pvalues(source: Pvalues) -> dict[str, Any]:
    """Return p-values as the columns that tables have."""
    return {"pvalue": source.edge, "log10p": source.log10, "pvalue_method": source.method}


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
        names = tuple(self.feature_names[each] for each in at.tolist())
        changed: dict[str, Any] = {
            name: value[at] if name in _ARRAYS else value.take(at)
            for name in (*_ARRAYS, "covariance", "given", "given_products")
            if (value := getattr(self, name)) is not None
        }
        return replace(self, feature_names=names, **changed)

    @classmethod
    def stack(cls, parts: Sequence[EdgeArrays]) -> EdgeArrays:
        """Put tests of different features of the same labels into one table."""
        if len(parts) == 1:
            return parts[0]

        def join(tables: Sequence[dict[str, Any]]) -> GivenPvalues:
            names = ("pvalue", "log10p", "pvalue_method")
            return GivenPvalues(
                *(np.concatenate([each[name] for each in tables]) for name in names)
            )

        changed: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in _ARRAYS
            if getattr(parts[0], name) is not None
        }
        if parts[0].product_statistic is not None:
            changed["given_products"] = join([part.product_columns() for part in parts])
        return replace(
            parts[0],
            feature_names=tuple(name for part in parts for name in part.feature_names),
            covariance=None,
            given=join([part.columns() for part in parts]),
            **changed,
        )

    def columns(self) -> dict[str, Any]:
        """Return what tables of edges have, each an array of features × labels."""
        effects = {} if self.coef is None else {"coef": self.coef, "bse": self.bse}
        return {
            **effects,
            "statistic": self.statistic,
            "df": self.df,
            **_list_pvalues(self._pvalues),
            "sign": self.sign,
            "reason": self.reason,
        }

    def with_one_df(self) -> FloatArray:
        """Statistics with one degree of freedom that have the tail probabilities of these."""
        tested = ~np.isnan(self.statistic)
        log10p = refer(self.statistic, self.df, self.df_denom).log10
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
            **_list_pvalues(refer(statistic, df, self.df_denom)),
            "pvalue_method": np.where(np.isnan(statistic), "", "wald").astype(object),
            "sign": np.sign(np.nan_to_num(coef)),
            "reason": np.where(np.isinf(coef), Reason.SEPARATED_ALTERNATIVE, own).astype(object),
        }

    @cached_property
    def _pvalues(self) -> Pvalues:
        return self.given or refer(self.statistic, self.df, self.df_denom)

    @cached_array
    def pvalue(self) -> FloatArray:
        """p-values of edges."""
        return self._pvalues.edge

    @cached_array
    def log10_pvalue(self) -> FloatArray:
        """Their logarithms to base ten."""
        return self._pvalues.log10

    @property
    def pvalue_method(self) -> StrArray:
        """Where each p-value comes from; empty where there is none."""
        return self._pvalues.method

    def product_columns(self) -> dict[str, Any]:
        """Return p-values of products, each an array of features × labels × labels."""
        statistic, df_denom = self.product_statistic, self.df_denom
        assert statistic is not None
        degrees = None if df_denom is None else df_denom[:, None]
        return _list_pvalues(self.given_products or refer(statistic, 1.0, degrees))

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
            return FeatureTests(self.importance, nothing, np.log10(permuted), n_tests)
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
        labels, n_tests = self.covariance.labels, self._acat.n_tests
        scores = normal_scores(self.sign, self.log10_pvalue)[:, labels]
        own = scores if self.df_denom is None else self._sign_t()[:, labels]
        # Sums and logarithms of their tails, quadratic forms and ranks.
        found = np.full((4, len(scores)), np.nan)
        for at, values, vectors in self.covariance.decompose():
            found[:2, at] = sum_of_squares(scores[at], values)
            found[2:, at] = quadratic_form(own[at], values, vectors)
        found[:, n_tests == 0] = np.nan
        total, log10p, form, rank = found
        by_sum = FeatureTests(total, np.full(total.shape, np.nan), log10p, n_tests)
        if self.df_denom is None:
            tail = chi2_log10_sf(form, rank)
        else:
            tested = ~np.isnan(self.statistic)
            degrees = np.where(tested, self.df_denom, np.inf).min(axis=1)
            tail = np.asarray(hotelling_log10_sf(form, rank, degrees))
        return by_sum, FeatureTests(form, rank, tail, n_tests)

    def _sign_t(self) -> FloatArray:
        """Return t statistics with their signs, which Hotelling's statistic combines."""
        assert self.df_denom is not None
        size = np.sqrt(self.statistic)
        by_model = getattr(self.given, "by_model", None)
        if by_model is not None:
            # Where a variance is not believed, the statistic is at most what the p-value says.
            said = student_t.isf(np.minimum(self.pvalue, 1.0) / 2, self.df_denom)
            size = np.where(by_model, np.minimum(said, size), size)
        return np.asarray(self.sign * np.nan_to_num(size))


def check_tested(products: str | None, unit: str) -> None:
    """Check that what is to be tested can be."""
    check_option("products", products, PRODUCTS)
    if products and unit == "term":
        raise exc.DataError(
            "products are those of features of one column with labels, but some terms have "
            "several columns. Name other features, or test single columns, each adjusted for the "
            f"rest of its term: products={products!r}, unit='column'."
        )


def note_on(fit: NetworkFit) -> str:
    """Say what to keep in mind about p-values of a fit."""
    covariates, notes = fit.stats.context.described, []
    if covariates:
        plural = "s" * (len(covariates) > 1)
        notes.append(f"tests are given the covariate{plural} {', '.join(covariates)}")
    if fit.is_penalised:
        penalty = "Firth" if fit.settings.is_firth else "ridge"
        notes.append(f"the null model is penalised ({penalty}), so p-values are approximate")
    if fit.shared is not None:
        shared = f"the null model has one interaction per pair of labels ({fit.settings.method})"
        notes.append(shared)
    if fit.is_robust:
        notes.append(say_robust(fit))
    if fit.settings.neighbors != "all":
        mean = np.mean([node.neighbors.sum() for node in fit.nodes])
        others = f"{mean:.3g} of the {len(fit.nodes) - 1} other labels"
        notes.append(f"each label is tested given {others} on average")
    return "; ".join(notes)
