"""Score tests of all edges of a fit, with p-values of the kind that is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.arguments import RandomState, check_count, check_option
from isingmlc.data import BLOCK_BYTES, Features, FloatArray, StrArray
from isingmlc.diagnostics import why_untestable
from isingmlc.edge_tests import EdgeArrays, EdgeTests, FeatureNull, GivenPvalues, Products
from isingmlc.labelsets import LabelsetStatistics, dense, find_labelsets
from isingmlc.permutation import permute
from isingmlc.pvalues import bernoulli_saddlepoint
from isingmlc.score import (
    NullModel,
    effective_residual,
    joint_scores,
    plain_scores,
    product_scores,
    sparse_regressors,
    term_scores,
)

if TYPE_CHECKING:
    from isingmlc.results import IsingResults

PVALUES = ("chi2", "saddlepoint", "permutation")
INTERACTIONS = (None, "individual", "joint")
# Below this many standard deviations chi-square and saddlepoint agree.
SADDLEPOINT_CUTOFF = 2.0
# Residuals below this are rounding.
NOTHING_LEFT = 1e-9
_APPROXIMATE = "the null model is penalised ({method}), so p-values are approximate"


def score_test(
    results: IsingResults,
    interactions: str | None = None,
    *,
    by: str = "feature",
    pvalue: str = "chi2",
    min_count: int = 2,
    n_permutations: int = 999,
    random_state: RandomState = None,
) -> EdgeTests:
    """Test every edge; `IsingResults.score_test` explains the arguments.

    Parameters
    ----------
    results : IsingResults
        The fit.
    interactions : {None, "individual", "joint"}
        Whether products with other labels are tested too.
    by : {"feature", "term"}
        Whether columns of a formula term are tested together.
    pvalue : {"chi2", "saddlepoint", "permutation"}
        Where p-values come from.
    min_count : int
        Labels with fewer rows of one kind in play are too rare to test.
    n_permutations : int
        Permutations, with ``pvalue="permutation"``.
    random_state : int, Generator or None
        Source of permutations.

    Returns
    -------
    EdgeTests
        The tests.
    """
    check_option("interactions", interactions, INTERACTIONS)
    check_option("by", by, ("feature", "term"))
    check_option("pvalue", pvalue, PVALUES)
    if (interactions or by == "term") and pvalue != "chi2":
        raise exc.DataError(
            f"pvalue={pvalue!r} is for single features; use pvalue='chi2' with interactions or "
            "by='term'."
        )
    if interactions and by == "term":
        raise exc.DataError("by='term' tests terms without interactions: leave interactions out.")
    if not results.feature_names:
        raise exc.ModelError(exc.NO_FEATURES)
    labels = label_reasons(results, min_count)
    reason = edge_reasons(results, labels)
    stats = results.model.statistics
    regressors = sparse_regressors(stats)
    nulls = [
        NullModel.of(stats, regressors, fit, results.method != "mle")
        for fit, label in zip(results.fits, labels, strict=True)
        if label == "ok"
    ]
    if interactions == "joint":
        return _joint(results, nulls, reason)
    plain = _plain(results, nulls, reason, interactions)
    if by == "term":
        return _by_term(results, nulls, plain)
    if pvalue == "saddlepoint":
        return _with_saddlepoint(results, nulls, plain)
    if pvalue == "permutation":
        count = check_count("n_permutations", n_permutations, 1)
        data = results.model.rows("pvalue='permutation'")
        return permute(data, results.model.statistics, nulls, plain, count, random_state)
    return plain


def label_reasons(results: IsingResults, min_count: int) -> StrArray:
    """Say of each label whether it can be tested.

    Parameters
    ----------
    results : IsingResults
        The fit.
    min_count : int
        Labels with fewer rows of one kind in play are too rare.

    Returns
    -------
    ndarray of object, shape (K,)
        ``ok`` or the reason why not.
    """
    least = check_count("min_count", min_count, 0)
    stats = results.model.statistics
    in_play = np.array([fit.in_play for fit in results.fits]).T * stats.counts[:, None]
    ones = (in_play * stats.patterns).sum(axis=0)
    minority = np.minimum(ones, in_play.sum(axis=0) - ones)
    reasons = why_untestable(stats, results.fits)
    reasons[(reasons == "ok") & (minority < least)] = "too-rare"
    if results.method != "mle":
        # A penalised model may still leave nothing to test, where it has a coefficient for each
        # combination of the other labels.
        regressors = sparse_regressors(stats)
        for fit in results.fits:
            left = effective_residual(stats, regressors, fit)
            if reasons[fit.label] == "ok" and np.abs(left).max() < NOTHING_LEFT:
                reasons[fit.label] = "determined-label"
    return reasons


def edge_reasons(results: IsingResults, labels: StrArray) -> StrArray:
    """Say of each edge whether label and feature vary.

    Parameters
    ----------
    results : IsingResults
        The fit.
    labels : ndarray of object, shape (K,)
        What `label_reasons` says.

    Returns
    -------
    ndarray of object, shape (p, K)
        ``ok`` or the reason why not.
    """
    constant = results.model.untestable_features
    reason = np.full((len(constant), len(labels)), "ok", dtype=object)
    reason[constant] = "constant-feature"
    reason[:, labels != "ok"] = labels[labels != "ok"]
    return reason


def _statistics_for_products(results: IsingResults) -> LabelsetStatistics:
    """Centre the features where a product with a label would depend on their origin.

    A maximum-likelihood model absorbs any multiple of the label itself, a ridge model does not:
    there the product is that of the centred feature, so that its test does not depend on where a
    feature's zero is. Sparse statistics become dense by it.
    """
    stats = results.model.statistics
    if results.method != "ridge" or not results.settings.intercept:
        return stats
    return stats.recenter(stats.shift + np.asarray(stats.sums.sum(axis=0)) / stats.nobs)


def note_on(results: IsingResults) -> str:
    """Say what to keep in mind about p-values of a fit.

    Parameters
    ----------
    results : IsingResults
        The fit.

    Returns
    -------
    str
        Empty for a maximum-likelihood fit.
    """
    return "" if results.method == "mle" else _APPROXIMATE.format(method=results.method)


def _plain(
    results: IsingResults, nulls: list[NullModel], reason: StrArray, interactions: str | None
) -> EdgeTests:
    """Test single columns, and with interactions their products with other labels."""
    stats = results.model.statistics
    if interactions:
        stats = _statistics_for_products(results)
    statistic = np.full(reason.shape, np.nan)
    sign, variance = np.zeros(reason.shape), np.full(reason.shape, np.nan)
    products = None
    if interactions == "individual":
        n_labels = reason.shape[1]
        products = np.full((*reason.shape, n_labels), np.nan)
    scores = plain_scores(nulls, stats.patterns, stats.sums, stats.squares)
    values, collinear = scores.statistic(), scores.collinear
    # The labels of null models can be tested, so only features stand in the way.
    varies = reason[:, nulls[0].label] == "ok" if nulls else np.zeros(0, dtype=np.bool_)
    for at, null in enumerate(nulls):
        label = null.label
        reason[collinear[at] & varies, label] = "collinear-feature"
        tested = ~collinear[at] & varies
        statistic[tested, label] = values[at, tested]
        sign[tested, label] = np.sign(scores.score[at, tested])
        variance[tested, label] = scores.variance[at, tested]
    if products is not None:
        for other, scores in product_scores(stats, nulls):
            values = scores.statistic()
            for at, null in enumerate(nulls):
                if null.label != other:
                    products[varies, null.label, other] = values[at, varies]
    return EdgeTests(
        tuple(results.feature_names),
        results.label_names,
        EdgeArrays(statistic, np.where(np.isnan(statistic), np.nan, 1.0), reason, sign),
        test="score",
        interactions=interactions,
        products=None if products is None else Products(products),
        note=note_on(results),
        feature_null=None if interactions else _feature_null(stats, nulls, variance),
    )


def _feature_null(
    stats: LabelsetStatistics, nulls: list[NullModel], variance: FloatArray
) -> FeatureNull:
    """Collect what the sum of a feature's statistics is compared with."""
    shape = stats.patterns.shape
    residual, fitted = np.zeros(shape), np.zeros(shape)
    for null in nulls:
        residual[:, null.label] = null.residual
        # A constant among the regressors explains a column of ones without rest.
        fitted[null.rows, null.label] = (
            1.0 if 0 in null.basis else null.fit_to(null.lean(stats.counts[:, None]))[:, 0]
        )
    weighted = residual * stats.counts[:, None]
    crossed = weighted.T @ residual
    mixed = (weighted * fitted).T @ residual
    both = (weighted * fitted).T @ (residual * fitted)
    return FeatureNull(
        crossed=crossed,
        leaning=mixed + mixed.T - both,
        mean=np.asarray(stats.sums.sum(axis=0)) / stats.nobs,
        square=np.asarray(stats.squares.sum(axis=0)) / stats.nobs,
        variance=variance,
    )


def _joint(results: IsingResults, nulls: list[NullModel], reason: StrArray) -> EdgeTests:
    """Test each feature together with all its products."""
    stats = _statistics_for_products(results)
    statistic, df = np.full(reason.shape, np.nan), np.full(reason.shape, np.nan)
    for null in nulls:
        label = null.label
        value, rank = joint_scores(stats, null)
        reason[(rank == 0) & (reason[:, label] == "ok"), label] = "collinear-feature"
        tested = reason[:, label] == "ok"
        statistic[tested, label], df[tested, label] = value[tested], rank[tested]
    return EdgeTests(
        tuple(results.feature_names),
        results.label_names,
        EdgeArrays(statistic, df, reason, np.zeros(reason.shape)),
        test="score",
        interactions="joint",
        note=note_on(results),
    )


def _by_term(results: IsingResults, nulls: list[NullModel], single: EdgeTests) -> EdgeTests:
    """Test the columns of each formula term together."""
    stats = results.model.statistics
    terms = list(results.model.terms)
    tables = {
        name: getattr(single, name).reindex([results.model.terms[term][0] for term in terms])
        for name in ("statistic", "df", "reason", "sign")
    }
    statistic, df, reason, sign = (table.to_numpy(copy=True) for table in tables.values())
    for term, columns in stats.term_columns.items():
        at = terms.index(term)
        # A term can not be tested where its label can not, or where none of its columns varies.
        reasons = single.reason.iloc[columns].to_numpy()
        sign[at], statistic[at], df[at], reason[at] = 0.0, np.nan, np.nan, reasons[0]
        for null in nulls:
            if (reasons[:, null.label] == "constant-feature").all():
                continue
            value, rank = term_scores(stats, null, term)
            reason[at, null.label] = "ok" if rank else "collinear-feature"
            if rank:
                statistic[at, null.label], df[at, null.label] = value, rank
    return EdgeTests(
        tuple(terms),
        results.label_names,
        EdgeArrays(statistic, df, reason, sign),
        test="score",
        note=single.note,
    )


def _with_saddlepoint(results: IsingResults, nulls: list[NullModel], plain: EdgeTests) -> EdgeTests:
    """Replace p-values of large statistics by saddlepoint approximations from the rows."""
    stats, data = results.model.statistics, results.model.rows("pvalue='saddlepoint'")
    features: Features = data.features
    codes = find_labelsets(data.packed_labels, len(data.label_names))[1]
    pvalue, log10p = plain.pvalue.to_numpy(copy=True), plain.log10p.to_numpy(copy=True)
    statistic = plain.statistic.to_numpy()
    for null in nulls:
        place = np.full(len(stats.counts), -1)
        place[null.rows] = np.arange(len(null.rows))
        rows = np.flatnonzero(place[codes] >= 0)
        at = place[codes[rows]]
        weights = None if data.weights is None else data.weights[rows]
        suspects = np.flatnonzero(statistic[:, null.label] > SADDLEPOINT_CUTOFF**2)
        step = max(1, BLOCK_BYTES // (8 * len(rows)))
        for start in range(0, len(suspects), step):
            part = suspects[start : start + step]
            sums, squares = stats.sums[:, part], stats.squares[:, part]
            values = dense(features[rows][:, part]) - stats.shift[part]
            values -= null.fit_to(null.lean(sums))[at]
            scores = plain_scores([null], stats.patterns, sums, squares)
            pvalue[part, null.label], log10p[part, null.label] = bernoulli_saddlepoint(
                scores.score[0],
                values,
                null.probability[codes[rows]],
                weights,
                cutoff=SADDLEPOINT_CUTOFF,
            )
    given = GivenPvalues(pvalue, log10p)
    return replace(plain, given_pvalue=given, distribution="saddlepoint")
