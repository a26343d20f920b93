"""Score tests of all edges of a fit, with p-values of the kind that is asked for.

Where p-values come from is one function: it takes the fit, the null models, the tests with their
chi-square p-values and what chance needs, and gives the tests with other p-values. Put it into
`PVALUES`, and `score_test` and its check of the argument know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_option
from isingmlc.base.arrays import BLOCK_BYTES, Features, FloatArray, StrArray, dense
from isingmlc.fitting.diagnostics import why_untestable
from isingmlc.fitting.newton import thread_pools
from isingmlc.inference.edges import EdgeArrays, FeatureNull, GivenPvalues, Products
from isingmlc.inference.permutation import permute
from isingmlc.inference.pvalues import bernoulli_saddlepoint
from isingmlc.inference.score import (
    NullModel,
    feature_scores,
    joint_scores,
    null_models,
    plain_scores,
    product_scores,
    term_scores,
)
from isingmlc.results.edge_tests import EdgeTests
from isingmlc.statistics.blocks import feature_blocks
from isingmlc.statistics.labelsets import LabelsetStatistics
from isingmlc.statistics.sums import find_labelsets

if TYPE_CHECKING:
    from isingmlc.results.ising import IsingResults

INTERACTIONS = (None, "individual", "joint")
# Below this many standard deviations chi-square and saddlepoint agree.
SADDLEPOINT_CUTOFF = 2.0
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
    check_option("pvalue", pvalue, tuple(PVALUES))
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
    testable = [fit for fit in results.fits if labels[fit.label] == "ok"]
    nulls = null_models(stats, testable, results.method != "mle")
    if interactions == "joint":
        return _joint(results, nulls, reason)
    plain = _plain(results, nulls, reason, interactions)
    if by == "term":
        return _by_term(results, nulls, plain)
    return PVALUES[pvalue](results, nulls, plain, Chance(n_permutations, random_state))


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
    reasons = why_untestable(stats, results.settings, results.fits)
    reasons[(reasons == "ok") & (minority < least)] = "too-rare"
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
    reason = np.tile(labels, (len(constant), 1))
    reason[np.ix_(constant, labels == "ok")] = "constant-feature"
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
    return stats.recenter(stats.shift + stats.column_sums / stats.nobs)


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
    scores = feature_scores(stats, nulls)
    labels = np.array([null.label for null in nulls], dtype=np.intp)
    # The labels of null models can be tested, so only features stand in the way.
    varies = (reason[:, labels[:1]] == "ok").all(axis=1)
    collinear = scores.collinear
    tested = varies & ~collinear

    def spread(values: FloatArray, otherwise: float) -> FloatArray:
        """Write values of labels × features where they belong."""
        table = np.full(reason.shape, otherwise)
        table[:, labels] = np.where(tested, values, otherwise).T
        return table

    statistic = spread(scores.statistic(), np.nan)
    at, feature = np.nonzero(varies & collinear)
    reason[feature, labels[at]] = "collinear-feature"
    products = None
    if interactions == "individual":
        n_features, n_labels = reason.shape
        by_label = np.full((n_labels, n_labels, n_features), np.nan)
        for part, other, of_products in product_scores(stats, nulls):
            values = np.where(varies[part], of_products.statistic(), np.nan)
            by_label[other, labels, part] = np.where((labels == other)[:, None], np.nan, values)
        products = Products(by_label.transpose(2, 1, 0))
    return EdgeTests(
        tuple(results.feature_names),
        results.label_names,
        EdgeArrays(
            statistic,
            spread(np.ones(tested.shape), np.nan),
            reason,
            spread(np.sign(scores.score), 0.0),
        ),
        test="score",
        interactions=interactions,
        products=products,
        note=note_on(results),
        feature_null=None
        if interactions
        else _feature_null(results, nulls, spread(scores.variance, np.nan)),
    )


def _feature_null(
    results: IsingResults, nulls: list[NullModel], variance: FloatArray
) -> FeatureNull:
    """Collect what the sum of a feature's statistics is compared with."""
    stats = results.model.statistics
    residual = np.zeros(stats.patterns.shape)
    for null in nulls:
        residual[:, null.label] = null.effective
    weighted = residual * stats.counts[:, None]
    crossed = leaning = weighted.T @ residual
    if not results.settings.intercept:
        # With a constant among the regressors a column of ones is explained without rest.
        fitted = np.zeros(stats.patterns.shape)
        for null in nulls:
            explained = null.fit_to(null.lean(stats.counts[:, None]))
            fitted[null.rows, null.label] = explained[:, 0]
        mixed = (weighted * fitted).T @ residual
        leaning = mixed + mixed.T - (weighted * fitted).T @ (residual * fitted)
    return FeatureNull(
        crossed=crossed,
        leaning=leaning,
        mean=stats.column_sums / stats.nobs,
        square=stats.column_squares / stats.nobs,
        variance=variance,
    )


def _joint(results: IsingResults, nulls: list[NullModel], reason: StrArray) -> EdgeTests:
    """Test each feature together with all its products."""
    stats = _statistics_for_products(results)
    statistic, df = np.full(reason.shape, np.nan), np.full(reason.shape, np.nan)
    # Many small matrices: more threads only get in each other's way.
    with thread_pools().limit(limits=1, user_api="blas"):
        for part, block in feature_blocks(stats):
            for null in nulls:
                at = part, null.label
                value, rank = joint_scores(block, null)
                reasons = reason[at]
                reasons[(rank == 0) & (reasons == "ok")] = "collinear-feature"
                statistic[at], df[at] = np.where(reasons == "ok", (value, rank), np.nan)
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


@dataclass(frozen=True)
class Chance:
    """What p-values need that are drawn at random."""

    n_permutations: int
    random_state: RandomState


def _by_chi2(
    results: IsingResults, nulls: list[NullModel], plain: EdgeTests, chance: Chance
) -> EdgeTests:
    """Leave the p-values as they are."""
    return plain


def _by_permutation(
    results: IsingResults, nulls: list[NullModel], plain: EdgeTests, chance: Chance
) -> EdgeTests:
    """Replace p-values by those of permuting the rows of the features."""
    count = check_count("n_permutations", chance.n_permutations, 1)
    data = results.model.rows("pvalue='permutation'")
    return permute(data, results.model.statistics, nulls, plain, count, chance.random_state)


def _by_saddlepoint(
    results: IsingResults, nulls: list[NullModel], plain: EdgeTests, chance: Chance
) -> EdgeTests:
    """Replace p-values of large statistics by saddlepoint approximations from the rows."""
    stats, data = results.model.statistics, results.model.rows("pvalue='saddlepoint'")
    features: Features = data.features
    codes = find_labelsets(data.packed_labels, len(data.label_names))[1]
    pvalue, log10p = plain.pvalue.to_numpy(copy=True), plain.log10p.to_numpy(copy=True)
    statistic = plain.statistic.to_numpy()
    for columns, block in feature_blocks(stats):
        for null in nulls:
            place = np.full(len(stats.counts), -1)
            place[null.rows] = np.arange(len(null.rows))
            rows = np.flatnonzero(place[codes] >= 0)
            at = place[codes[rows]]
            weights = None if data.weights is None else data.weights[rows]
            suspects = columns.start + np.flatnonzero(
                statistic[columns, null.label] > SADDLEPOINT_CUTOFF**2
            )
            step = max(1, BLOCK_BYTES // (8 * len(rows)))
            for start in range(0, len(suspects), step):
                part = suspects[start : start + step]
                inside = part - columns.start
                sums, squares = block.sums[:, inside], block.squares[:, inside]
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


PVALUES: dict[str, Callable[[IsingResults, list[NullModel], EdgeTests, Chance], EdgeTests]] = {
    "chi2": _by_chi2,
    "saddlepoint": _by_saddlepoint,
    "permutation": _by_permutation,
}
"""Where p-values of single features come from, by name."""
