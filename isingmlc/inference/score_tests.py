"""Score tests of all edges of a fit: of features, of their products with labels, and of terms.

Products given their feature are tested in a model that has the feature. That model need not be
fitted for every feature: one Newton step from the model without it comes near where its effect is
weak, and can be taken from the statistics of cells. Where the score of the feature itself is large
the step falls short, and the model is fitted to the rows; so it is where that is cheap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_jobs, check_names, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray
from isingmlc.base.tolerances import COLLINEAR
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import (
    Reason,
    find_constant,
    judge_edges,
    judge_fits,
    judge_products,
    judge_tests,
)
from isingmlc.inference.blocks import (
    joint_statistics,
    product_scores,
    scaled_forms,
    statistics_of_products,
    term_scores,
)
from isingmlc.inference.combine import ScoreCovariance
from isingmlc.inference.covariance import degrees_of_clusters, reference
from isingmlc.inference.edges import EdgeArrays, Pvalues, check_tested, note_on
from isingmlc.inference.joint import Block, GivenBlock, given_pvalues, joint_pvalues, term_pvalues
from isingmlc.inference.moderation import (
    check_refit,
    find_large,
    pool_tests,
    score_correlations,
)
from isingmlc.inference.null_distribution import edge_pvalues, product_pvalues
from isingmlc.inference.permutation import permute
from isingmlc.inference.refit import leave_products, refit_products, score_products
from isingmlc.inference.robust_pvalues import guard
from isingmlc.inference.score import (
    NullModel,
    feature_scores,
    feature_variances,
    null_models,
)
from isingmlc.statistics.labelsets import cells_of

PVALUES = ("auto", "chi2", "saddlepoint", "permutation")
# Sources of p-values that hold whatever the variances of scores come from.
ROBUST_PVALUES = ("chi2", "auto")
# Share of the variance of a feature itself that is added to the variances of its products in
# rankings: little, so that a product that few rows carry does not outweigh all others.
_ADDED = 0.1
_REFITTED = (
    "products are tested given their feature: {n_refits} of {n_edges} edges refitted, {rest}"
)


@dataclass(frozen=True)
class _Tested:
    """The label models that can be tested, and reasons why edges cannot: features × labels."""

    fit: NetworkFit
    nulls: list[NullModel]
    reason: StrArray
    constant: BoolArray
    variances: FloatArray

    @classmethod
    def of(cls, fit: NetworkFit, min_count: int, *, products: bool = False) -> _Tested:
        """Look at a fit; for products features are centred where these depend on their origin."""
        intercept, labels = fit.settings.intercept, judge_fits(fit, min_count)
        nulls = null_models(fit, np.flatnonzero(labels == Reason.OK).tolist())
        constant = find_constant(fit.stats, intercept)
        if products and intercept and (fit.settings.ridge or fit.settings.neighbors != "all"):
            stats = fit.stats
            centre = stats.shift + stats.column_sums / stats.nobs
            fit = replace(fit, stats=stats.recenter(centre))
        variances = feature_variances(fit.stats, intercept)
        return cls(fit, nulls, judge_edges(labels, constant), constant, variances)

    @property
    def product_shape(self) -> tuple[int, ...]:
        """Features × labels × labels."""
        return *self.reason.shape, self.reason.shape[1]

    def arrays(
        self, statistic: FloatArray, df: FloatArray, reason: StrArray, sign: FloatArray, **more: Any
    ) -> EdgeArrays:
        """Put tests of all edges together."""
        stats = self.fit.stats
        return EdgeArrays(
            stats.feature_names,
            stats.label_names,
            statistic,
            df,
            reason,
            sign,
            test="score",
            note=note_on(self.fit),
            df_denom=degrees_of_clusters(self.fit),
            distribution=reference(self.fit),
            **more,
        )


def score_test(
    fit: NetworkFit,
    features: Sequence[str] | str | None = None,
    unit: str = "column",
    products: str | None = None,
    *,
    min_count: int = 2,
    n_jobs: int = 1,
    pvalue: str = "auto",
    refit: bool | str = "auto",
    n_permutations: int = 999,
    random_state: RandomState = None,
) -> EdgeArrays:
    """Test every edge; `IsingResults.score_test` explains the arguments."""
    check_tested(products, unit)
    check_option("pvalue", pvalue, PVALUES)
    n_jobs = check_jobs(n_jobs)
    _check_pvalue(fit, unit, products, pvalue)
    corrects = pvalue == "auto" and not fit.is_robust and is_corrected(fit, unit)
    if unit == "term":
        chosen = check_names("features", features, tuple(fit.terms))
        return _test_terms(_Tested.of(fit, min_count), corrects).take(chosen)
    is_given = products in ("given", "given-joint")
    if is_given:
        check_refit(fit, products, refit)
    if features is not None:
        fit = fit.take_features(check_names("features", features, fit.stats.feature_names))
    tested = _Tested.of(fit, min_count, products=products is not None)
    if is_given:
        return _test_given(tested, products == "given", corrects, refit, n_jobs)
    nowhere = np.zeros(tested.reason.shape, dtype=np.bool_)
    if products == "joint":
        tests = _test_jointly(tested, nowhere, n_jobs, given=False)
    else:
        tests = _test_features(tested)
    if products == "individual":
        tests = replace(tests, products=products)
        tests = _test_each(tested, tests, nowhere, n_jobs, given=False)
    fit, nulls = tested.fit, tested.nulls
    if pvalue == "permutation":
        count = check_count("n_permutations", n_permutations, 1)
        rows = fit.rows_for("pvalue='permutation'")
        return permute(rows, fit.stats, nulls, tests, count, random_state, n_jobs)
    if pvalue == "chi2" or (products and not corrects):
        return tests
    return _correct(tested, tests, pvalue)


def _correct(tested: _Tested, tests: EdgeArrays, pvalue: str) -> EdgeArrays:
    """Take p-values from the distributions of scores where chi-square does not hold."""
    fit, nulls, statistic = tested.fit, tested.nulls, tests.statistic
    if tests.products == "joint":
        return _with_pvalues(tests, joint_pvalues(fit, fit.stats, nulls, statistic, tests.df))
    if tests.product_statistic is not None:
        found = product_pvalues(fit, fit.stats, nulls, tests.product_statistic)
        tests = replace(tests, given_products=found)
    if fit.is_robust:
        # Robust variances are there for what the model is wrong about, and so is the distribution
        # it implies; unless they are too small to be believed.
        if fit.is_penalised or not nulls:
            return tests
        given = guard(fit, nulls, statistic, tests.log10_pvalue, tests.pvalue_method)
        return tests if given is None else _with_pvalues(tests, given, tests.distribution)
    always = pvalue == "saddlepoint"
    if always:
        fit.rows_for("pvalue='saddlepoint'")
    return _with_pvalues(tests, edge_pvalues(fit, nulls, statistic, always=always), pvalue)


def _check_pvalue(fit: NetworkFit, unit: str, products: str | None, pvalue: str) -> None:
    """Check that the p-values that are asked for can be computed for what is tested."""
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


def _with_pvalues(tests: EdgeArrays, given: Pvalues, distribution: str = "auto") -> EdgeArrays:
    """Put p-values in the place of those of chi-square."""
    note = "; ".join(filter(None, [tests.note, getattr(given, "note", "")]))
    return replace(tests, given=given, distribution=distribution, note=note)


def is_corrected(fit: NetworkFit, unit: str) -> bool:
    """Whether ``pvalue="auto"`` corrects for little information: for terms it needs the rows."""
    return unit != "term" or fit.rows is not None


def _test_features(tested: _Tested) -> EdgeArrays:
    """Test single columns."""
    stats, nulls, constant = tested.fit.stats, tested.nulls, tested.constant
    scores = feature_scores(stats, nulls, tested.variances)
    labels = [null.label for null in nulls]
    statistic, sign = np.full(tested.reason.shape, np.nan), np.zeros(tested.reason.shape)
    statistic[:, labels], sign[:, labels] = scores.statistic().T, np.sign(scores.score).T
    statistic[constant], sign[constant] = np.nan, 0.0
    is_tested, reason = ~np.isnan(statistic), tested.reason.copy()
    reason[(reason == Reason.OK) & ~is_tested] = Reason.COLLINEAR_FEATURE
    covariance = ScoreCovariance(stats, nulls, np.arange(len(reason)), is_tested)
    df = np.where(is_tested, 1.0, np.nan)
    return tested.arrays(statistic, df, reason, sign, covariance=covariance)


def _test_each(
    tested: _Tested, single: EdgeArrays, large: BoolArray, n_jobs: int, *, given: bool
) -> EdgeArrays:
    """Test the products of features with other labels, in the model of one label, one by one.

    Models that have the feature are fitted where it is `large`.
    """
    shape, fit = tested.product_shape, tested.fit
    sign, separated = np.zeros(shape[::-1], dtype=np.int8).T, np.zeros(large.shape, dtype=np.bool_)
    error: Any = np.full(shape[::-1], np.nan).T if given else None
    scores = product_scores(fit.stats, tested.nulls, tested.variances, given=given)
    statistic = statistics_of_products(scores, shape, sign, error)
    for lines, node, others, found in refit_products(fit, large, n_jobs, score_products):
        variance = np.diagonal(found.variance, axis1=1, axis2=2)
        usable = (variance > COLLINEAR * found.scale) & ~found.separated[:, None]
        values = np.full(variance.shape, np.nan)
        np.divide(found.score**2, variance, out=values, where=usable)
        at = lines[:, None], node.label, others
        statistic[lines, node.label] = np.nan
        statistic[at], sign[at], error[at] = values, np.sign(found.score), found.error
        separated[lines, node.label] = found.separated
    statistic[tested.constant] = np.nan
    untested = np.isnan(statistic)
    sign[untested] = 0
    tests = replace(single, product_statistic=statistic, product_sign=sign, covariance=None)
    if not given:
        return tests
    error[untested] = np.nan
    reason = judge_products(np.broadcast_to(single.reason[:, :, None], shape), ~untested)
    reason[separated] = Reason.SEPARATED_ALTERNATIVE
    return replace(tests, product_reason=reason, product_bse=error)


def _test_jointly(tested: _Tested, large: BoolArray, n_jobs: int, *, given: bool) -> EdgeArrays:
    """Test each feature together with all its products, or all products given the feature."""
    fit, reason = tested.fit, tested.reason
    statistic, df = joint_statistics(fit.stats, tested.nulls, tested.variances, given=given)
    separated = np.zeros(reason.shape, dtype=np.bool_)
    for lines, node, _, found in refit_products(fit, large, n_jobs, score_products):
        at = lines, node.label
        statistic[at], df[at], separated[at] = np.nan, np.nan, found.separated
        kept = ~found.separated
        if found.score.shape[1] and kept.any():
            statistic[lines[kept], node.label], df[lines[kept], node.label] = scaled_forms(
                found.score[kept], found.scale[kept], found.variance[kept]
            )
    usable = (reason == Reason.OK) & ~separated
    is_tested = usable & (df > 0)
    reason = judge_tests(reason, usable & ~is_tested, separated)
    statistic, df = np.where(is_tested, statistic, np.nan), np.where(is_tested, df, np.nan)
    products = "given-joint" if given else "joint"
    return tested.arrays(statistic, df, reason, np.zeros(reason.shape), products=products)


def _test_terms(tested: _Tested, corrects: bool) -> EdgeArrays:
    """Test the columns of each formula term together."""
    fit, nulls = tested.fit, tested.nulls
    stats, terms = fit.stats, tuple(fit.terms)
    single = _test_features(tested)
    place = {name: at for at, name in enumerate(stats.feature_names)}
    first = np.array([place[columns[0]] for columns in fit.terms.values()], dtype=np.intp)
    tests = single.take(first)
    names = ("statistic", "df", "sign", "reason")
    statistic, df, sign, reason = (getattr(tests, name).copy() for name in names)
    for term, columns in stats.term_columns.items():
        at = terms.index(term)
        # A term cannot be tested where its label cannot, or where none of its columns varies.
        varying = columns[~tested.constant[columns]]
        reason[at] = tested.reason[varying[0] if len(varying) else columns[0]]
        sign[at], statistic[at], df[at] = 0.0, np.nan, np.nan
        for null in nulls if len(varying) else ():
            found = term_scores(stats, null, term, tested.variances)
            statistic[at, null.label], df[at, null.label] = found
        explained = df[at] == 0
        reason[at, explained], df[at, explained] = Reason.COLLINEAR_FEATURE, np.nan
    own = dict(zip(names, (statistic, df, sign, reason), strict=True))
    tests = replace(tests, feature_names=terms, covariance=None, **own)
    if not corrects:
        return tests
    return _with_pvalues(tests, term_pvalues(fit, nulls, single.statistic, first, statistic, df))


def _test_given(
    tested: _Tested, each: bool, corrects: bool, refit: bool | str, n_jobs: int
) -> EdgeArrays:
    """Test products given their feature, each pair of labels by itself or all together."""
    fit, nulls = tested.fit, tested.nulls
    single = _test_features(tested)
    is_tested = single.reason == Reason.OK
    large = find_large(fit, single, refit)
    if each:
        # A pair is tested in two models: both are fitted, or neither.
        large = is_tested & large.any(axis=1, keepdims=True)
    n_refits, n_edges = int(large.sum()), int(is_tested.sum())
    rest = "one Newton step for the others" if n_refits < n_edges else "none approximated"
    note = _REFITTED.format(n_refits=n_refits, n_edges=n_edges, rest=rest)
    note = "; ".join(filter(None, [single.note, note]))
    refitted = partial(_leave_products, fit)
    if not each:
        tests = replace(_test_jointly(tested, large, n_jobs, given=True), note=note)
        if not corrects:
            return tests
        found = given_pvalues(fit, fit.stats, nulls, tests.statistic, tests.df, large, refitted)
        return _with_pvalues(tests, found)
    single = replace(single, products="given", note=note)
    tests = _test_each(tested, single, large, n_jobs, given=True)
    rho = score_correlations(fit, large, n_jobs)
    if not corrects:
        return pool_tests(tests, rho)
    assert tests.product_statistic is not None
    products = tests.product_statistic
    sides = given_pvalues(fit, fit.stats, nulls, products, None, large, refitted)
    alone = edge_pvalues(fit, nulls, tests.statistic, always=False)
    return _with_pvalues(pool_tests(tests, rho, sides), alone)


def _leave_products(fit: NetworkFit, edges: BoolArray) -> Iterator[GivenBlock]:
    """Refit models that have a feature, and yield what they leave of its products."""
    if not edges.any():
        return
    data = fit.rows_for("p-values of products")
    codes = cells_of(fit.stats, data)
    order = np.argsort(codes, kind="stable")
    weights = np.ones(len(codes)) if data.weights is None else data.weights
    for features, node, others, found in refit_products(fit, edges, 1, leave_products):
        rows = order[node.in_play[codes[order]]]
        for at, rest, scale, chance, other in zip(features.tolist(), *found, strict=True):
            block = Block(rest, scale, chance, other, weights[rows], codes[rows])
            yield node.label, at, others, block


def regularized_statistics(fit: NetworkFit, products: str, min_count: int) -> FloatArray:
    """Compute regularised statistics of features with their products, for rankings."""
    tested = _Tested.of(fit, min_count, products=True)
    stats, nulls, variances = tested.fit.stats, tested.nulls, tested.variances
    added = np.full(tested.reason.shape[::-1], np.nan)
    for null in nulls:
        added[null.label] = _ADDED * (null.cell_variance @ null.counts) * variances
    if products == "joint":
        return joint_statistics(stats, nulls, variances, added=added)[0]

    by_label, labels = np.full(added.shape, np.nan), [null.label for null in nulls]
    statistic = feature_scores(stats, nulls, variances).statistic(added[labels])
    by_label[labels] = np.nan_to_num(statistic)
    for found in product_scores(stats, nulls, variances):
        edges = np.ix_(found.labels, found.features)
        by_label[edges] += np.nan_to_num(found.scores.statistic(added[edges]))
    return by_label.T
