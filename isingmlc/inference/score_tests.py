"""Score tests of all edges of a fit, with p-values of the kind that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_jobs, check_names, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.testable import Reason, find_constant, judge_edges, judge_fits, judge_tests
from isingmlc.inference.blocks import (
    joint_statistics,
    product_scores,
    statistics_of_products,
    term_scores,
)
from isingmlc.inference.combine import ScoreCovariance
from isingmlc.inference.covariance import degrees_of_clusters, reference, say_robust
from isingmlc.inference.edges import EdgeArrays, Pvalues
from isingmlc.inference.joint import joint_pvalues, term_pvalues
from isingmlc.inference.null_distribution import edge_pvalues
from isingmlc.inference.permutation import permute
from isingmlc.inference.robust_pvalues import guard
from isingmlc.inference.score import (
    NullModel,
    Scores,
    feature_scores,
    feature_variances,
    null_models,
)
from isingmlc.statistics.labelsets import LabelsetStatistics

PRODUCTS = (None, "individual", "joint", "given", "given-joint")
UNITS = ("term", "column")
PVALUES = ("auto", "chi2", "saddlepoint", "permutation")
# Sources of p-values that hold whatever the variances of scores come from.
ROBUST_PVALUES = ("chi2", "auto")
_NEIGHBORS = "each label is tested given {mean:.3g} of the {others} other labels on average"
_COVARIATES = "tests are given the covariate{s} {names}"
_SHARED = "the null model has one interaction per pair of labels ({method})"
_APPROXIMATE = "the null model is penalised ({penalty}), so p-values are approximate"
# Share of the variance of a feature itself that is added to the variances of its products in
# rankings: little, so that a product that few rows carry does not outweigh all others.
_ADDED = 0.1


def score_test(
    fit: NetworkFit,
    features: Sequence[str] | str | None = None,
    unit: str = "column",
    products: str | None = None,
    *,
    min_count: int = 2,
    n_jobs: int = 1,
    pvalue: str = "auto",
    n_permutations: int = 999,
    random_state: RandomState = None,
) -> EdgeArrays:
    """Test every edge; `IsingResults.score_test` explains the arguments."""
    check_tested(products, unit)
    check_option("pvalue", pvalue, tuple(PVALUES))
    n_jobs = check_jobs(n_jobs)
    allowed = ("auto", "chi2", "permutation") if products == "joint" else ("auto", "chi2")
    if (products or unit == "term") and pvalue not in allowed:
        raise exc.DataError(
            f"pvalue={pvalue!r} is for features of one column; use pvalue='auto' or 'chi2' with "
            "products and for terms of several columns, or pvalue='permutation' with "
            "products='joint'."
        )
    if not fit.stats.feature_names:
        raise exc.ModelError(exc.NO_FEATURES)
    if fit.is_robust and pvalue not in ROBUST_PVALUES:
        raise exc.ModelError(
            f"pvalue={pvalue!r} takes rows for independent and label models for right, but the fit "
            f"has cov_type={fit.settings.cov_type!r}. Use pvalue={ROBUST_PVALUES[0]!r}, or fit "
            "with cov_type='nonrobust'."
        )
    corrects = pvalue == "auto" and not fit.is_robust and is_corrected(fit, unit)
    if unit == "term":
        chosen = check_names("features", features, tuple(fit.terms))
        return _test_terms(fit, min_count, corrects).take(chosen)
    if features is not None:
        fit = fit.take_features(check_names("features", features, fit.stats.feature_names))
    nulls, reason = null_models_to_test(fit, min_count)
    if products == "joint":
        fit = replace(fit, stats=for_products(fit))
        tests = _test_jointly(fit, nulls, reason)
    else:
        tests = single_tests(fit, nulls, reason, products)
    if pvalue == "permutation":
        count = check_count("n_permutations", n_permutations, 1)
        rows = fit.rows_for("pvalue='permutation'")
        return permute(rows, fit.stats, nulls, tests, count, random_state, n_jobs)
    if products == "joint":
        if not corrects:
            return tests
        return with_pvalues(tests, joint_pvalues(fit, fit.stats, nulls, tests.statistic, tests.df))
    if pvalue == "chi2" or (products and not corrects):
        return tests
    if tests.product_statistic is not None:
        found = edge_pvalues(fit, nulls, tests.product_statistic, for_products(fit))
        tests = replace(tests, given_products=found)
    if fit.is_robust:
        # Robust variances are there for what the model is wrong about, and so is the distribution
        # it implies; unless they are too small to be believed.
        if fit.is_penalised or not nulls:
            return tests
        given = guard(fit, nulls, tests.statistic, tests.log10_pvalue, tests.pvalue_method)
        return tests if given is None else with_pvalues(tests, given, tests.distribution)
    if pvalue == "saddlepoint":
        fit.rows_for("pvalue='saddlepoint'")
    always = pvalue == "saddlepoint"
    return with_pvalues(tests, edge_pvalues(fit, nulls, tests.statistic, always=always), pvalue)


def null_models_to_test(fit: NetworkFit, min_count: int) -> tuple[list[NullModel], StrArray]:
    """Return the models of labels that can be tested, and the reasons of edges."""
    labels = judge_fits(fit, min_count)
    nulls = null_models(fit, np.flatnonzero(labels == Reason.OK).tolist())
    return nulls, judge_edges(labels, find_constant(fit.stats, fit.settings.intercept))


def with_pvalues(tests: EdgeArrays, given: Pvalues, distribution: str = "auto") -> EdgeArrays:
    """Put p-values in the place of those of chi-square."""
    note = "; ".join(filter(None, [tests.note, getattr(given, "note", "")]))
    return replace(tests, given=given, distribution=distribution, note=note)


def is_corrected(fit: NetworkFit, unit: str) -> bool:
    """Whether ``pvalue="auto"`` corrects for little information: for terms it needs the rows."""
    return unit != "term" or fit.rows is not None


def check_tested(products: str | None, unit: str) -> None:
    """Check that what is to be tested can be."""
    check_option("products", products, PRODUCTS)
    if products and unit == "term":
        raise exc.DataError(
            "products are those of features of one column with labels, but some terms have "
            "several columns. Name other features, or test single columns, each adjusted for the "
            f"rest of its term: products={products!r}, unit='column'."
        )


def for_products(fit: NetworkFit) -> LabelsetStatistics:
    """Centre the features where a product with a label would depend on their origin."""
    stats, settings = fit.stats, fit.settings
    absorbs = not settings.ridge and settings.neighbors == "all"
    if absorbs or not settings.intercept:
        return stats
    return stats.recenter(stats.shift + stats.column_sums / stats.nobs)


def note_on(fit: NetworkFit) -> str:
    """Say what to keep in mind about p-values of a fit."""
    covariates = fit.stats.context.described
    notes = []
    if covariates:
        plural = "s" * (len(covariates) > 1)
        notes.append(_COVARIATES.format(s=plural, names=", ".join(covariates)))
    if fit.is_penalised:
        notes.append(_APPROXIMATE.format(penalty="Firth" if fit.settings.is_firth else "ridge"))
    if fit.shared is not None:
        notes.append(_SHARED.format(method=fit.settings.method))
    if fit.is_robust:
        notes.append(say_robust(fit))
    if fit.settings.neighbors != "all":
        mean = np.mean([node.neighbors.sum() for node in fit.nodes])
        notes.append(_NEIGHBORS.format(mean=mean, others=len(fit.nodes) - 1))
    return "; ".join(notes)


def _edge_arrays(
    fit: NetworkFit, statistic: FloatArray, df: FloatArray, reason: StrArray, **more: Any
) -> EdgeArrays:
    """Put score tests of all features of a fit together."""
    return EdgeArrays(
        fit.stats.feature_names,
        fit.stats.label_names,
        statistic,
        df,
        reason,
        test="score",
        note=note_on(fit),
        df_denom=degrees_of_clusters(fit),
        distribution=reference(fit),
        **more,
    )


def single_tests(
    fit: NetworkFit, nulls: list[NullModel], reason: StrArray, products: str | None = None
) -> EdgeArrays:
    """Test single columns, and if so wished their products with other labels."""
    stats = for_products(fit) if products else fit.stats
    variances = feature_variances(stats, fit.settings.intercept)
    scores = feature_scores(stats, nulls, variances)
    constant = find_constant(fit.stats, fit.settings.intercept)
    labels = [null.label for null in nulls]
    collinear = np.zeros(reason.shape, dtype=np.bool_)
    statistic, sign = np.full(reason.shape, np.nan), np.zeros(reason.shape)
    collinear[:, labels] = scores.collinear.T & ~constant[:, None]
    statistic[:, labels], sign[:, labels] = scores.statistic().T, np.sign(scores.score).T
    statistic[constant], sign[constant] = np.nan, 0.0
    more: dict[str, Any] = {}
    if products == "individual":
        shape = (*reason.shape, reason.shape[1])
        signs = np.zeros(shape[::-1], dtype=np.int8).T
        found = statistics_of_products(product_scores(stats, nulls, variances), shape, signs)
        found[constant], signs[constant] = np.nan, 0
        more = {"product_statistic": found, "product_sign": signs}
    if not products:
        tested = ~np.isnan(statistic)
        more = {"covariance": ScoreCovariance(stats, nulls, np.arange(len(tested)), tested)}
    reason = judge_tests(reason, collinear, np.zeros_like(collinear))
    df = np.where(np.isnan(statistic), np.nan, 1.0)
    return _edge_arrays(fit, statistic, df, reason, sign=sign, products=products, **more)


def _test_jointly(fit: NetworkFit, nulls: list[NullModel], reason: StrArray) -> EdgeArrays:
    """Test each feature together with all its products."""
    variances = feature_variances(fit.stats, fit.settings.intercept)
    found = joint_statistics(fit.stats, nulls, variances)
    statistic, df, reason = judge_joint(*found, reason, np.zeros(reason.shape, dtype=np.bool_))
    return _edge_arrays(fit, statistic, df, reason, sign=np.zeros(reason.shape), products="joint")


def judge_joint(
    statistic: FloatArray, df: FloatArray, reason: StrArray, separated: BoolArray
) -> tuple[FloatArray, FloatArray, StrArray]:
    """Leave out joint tests of nothing, with the reasons why."""
    usable = (reason == Reason.OK) & ~separated
    tested = usable & (df > 0)
    reason = judge_tests(reason, usable & ~tested, separated)
    return np.where(tested, statistic, np.nan), np.where(tested, df, np.nan), reason


def _test_terms(fit: NetworkFit, min_count: int, corrects: bool) -> EdgeArrays:
    """Test the columns of each formula term together."""
    stats, terms = fit.stats, tuple(fit.terms)
    nulls, reasons = null_models_to_test(fit, min_count)
    constant = find_constant(stats, fit.settings.intercept)
    variances = feature_variances(stats, fit.settings.intercept)
    single = single_tests(fit, nulls, reasons)
    place = {name: at for at, name in enumerate(stats.feature_names)}
    first = np.array([place[columns[0]] for columns in fit.terms.values()], dtype=np.intp)
    tests = single.take(first)
    own = {name: getattr(tests, name).copy() for name in ("statistic", "df", "sign", "reason")}
    statistic, df, sign, reason = own.values()
    for term, columns in stats.term_columns.items():
        at = terms.index(term)
        # A term cannot be tested where its label cannot, or where none of its columns varies.
        varying = columns[~constant[columns]]
        reason[at] = reasons[varying[0] if len(varying) else columns[0]]
        sign[at], statistic[at], df[at] = 0.0, np.nan, np.nan
        for null in nulls:
            if len(varying):
                edge = at, null.label
                statistic[edge], df[edge] = term_scores(stats, null, term, variances)
        reason[at] = judge_tests(reason[at], df[at] == 0, np.zeros(len(df[at]), bool))
        df[at, df[at] == 0] = np.nan
    tests = replace(tests, feature_names=terms, covariance=None, **own)
    if not corrects:
        return tests
    return with_pvalues(tests, term_pvalues(fit, nulls, single.statistic, first, statistic, df))


def regularized_statistics(fit: NetworkFit, products: str, min_count: int) -> FloatArray:
    """Compute regularised statistics of features with their products, for rankings."""
    stats = for_products(fit)
    nulls, _ = null_models_to_test(fit, min_count)
    labels = [null.label for null in nulls]
    variances = feature_variances(stats, fit.settings.intercept)
    added = np.full((len(stats.label_names), len(variances)), np.nan)
    for null in nulls:
        added[null.label] = _ADDED * (null.cell_variance @ null.counts) * variances
    if products == "joint":
        return joint_statistics(stats, nulls, variances, added=added)[0]

    def divide(scores: Scores, added: FloatArray) -> FloatArray:
        """Divide squared scores by variances with what is added to them."""
        variance = np.maximum(scores.variance, 0.0) + added
        square = scores.score**2
        return np.divide(square, variance, out=np.zeros_like(square), where=variance > 0)

    by_label = np.full(added.shape, np.nan)
    by_label[labels] = divide(feature_scores(stats, nulls, variances), added[labels])
    for found in product_scores(stats, nulls, variances):
        edges = np.ix_(found.labels, found.features)
        by_label[edges] += divide(found.scores, added[edges])
    return by_label.T
