"""Score tests of all edges of a fit, with p-values of the kind that is asked for.

Where p-values come from is one function: it takes the fit, the null models, the tests with their
chi-square p-values and what chance needs, and gives the tests with other p-values. Put it into
`PVALUES`, and `score_test` and its check of the argument know it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, check_count, check_jobs, check_names, check_option
from isingmlc.base.arrays import FloatArray, StrArray
from isingmlc.base.threads import one_thread
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.testable import Reason, find_constant, judge_edges, judge_fits, judge_tests
from isingmlc.inference.blocks import (
    joint_scores,
    product_scores,
    statistics_of_products,
    term_scores,
)
from isingmlc.inference.combine import ScoreCovariance
from isingmlc.inference.covariance import degrees_of_clusters, reference, say_robust
from isingmlc.inference.edges import EdgeArrays
from isingmlc.inference.joint_law import joint_pvalues, product_pvalues, term_pvalues
from isingmlc.inference.permutation import permute
from isingmlc.inference.robust_law import GuardedPvalues, guard
from isingmlc.inference.score import (
    NullModel,
    Scores,
    feature_scores,
    feature_variances,
    null_models,
)
from isingmlc.inference.score_law import LawPvalues, edge_pvalues
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks

PRODUCTS = (None, "individual", "joint", "given", "given-joint")
UNITS = ("term", "column")
_NEIGHBORS = "each label is tested given {mean:.3g} of the {others} other labels on average"
_COVARIATES = "tests are given the covariate{s} {names}"
# Sources of p-values that hold whatever the variances of scores come from.
ROBUST_PVALUES = ("chi2", "auto")
_SHARED = "the null model has one interaction per pair of labels ({method})"
# Share of the variance of a feature itself that is added to the variances of its products in
# rankings: little, so that a product that few rows carry does not outweigh all others.
_ADDED = 0.1
_APPROXIMATE = "the null model is penalised ({penalty}), so p-values are approximate"


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
    by_law = pvalue == "auto" and not fit.is_robust and is_corrected(fit, unit)
    if unit == "term":
        terms = tuple(fit.terms)
        chosen = check_names("features", features, terms)
        return _by_term(fit, terms, min_count, by_law).take(chosen)
    if features is not None:
        fit = fit.take_features(check_names("features", features, fit.stats.feature_names))
    labels = judge_fits(fit, min_count)
    nulls = null_models(fit, np.flatnonzero(labels == Reason.OK).tolist())
    reason = judge_edges(labels, find_constant(fit.stats, fit.settings.intercept))
    chance = Chance(n_permutations, random_state, n_jobs)
    if products == "joint":
        joint = _joint(fit, nulls, reason)
        if pvalue == "permutation":
            return _by_permutation(replace(fit, stats=for_products(fit)), nulls, joint, chance)
        if not by_law:
            return joint
        given = joint_pvalues(fit, for_products(fit), nulls, joint.statistic, joint.df)
        return with_law(joint, given, "auto")
    plain = single_tests(fit, nulls, reason, products)
    if products and not by_law:
        return plain
    if plain.product_statistic is not None:
        given = product_pvalues(fit, for_products(fit), nulls, plain.product_statistic)
        plain = replace(plain, given_products=given)
    return PVALUES[pvalue](fit, nulls, plain, chance)


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


def single_tests(
    fit: NetworkFit, nulls: list[NullModel], reason: StrArray, products: str | None = None
) -> EdgeArrays:
    """Test single columns, and if so wished their products with other labels."""
    stats = for_products(fit) if products else fit.stats
    spread = feature_variances(stats, fit.settings.intercept)
    scores = feature_scores(stats, nulls, spread)
    labels = np.array([null.label for null in nulls], dtype=np.intp)
    constant = find_constant(fit.stats, fit.settings.intercept)
    # Names of reasons take long to compare.
    tested = np.zeros(reason.shape, dtype=np.bool_)
    tested[:, labels] = ~constant[:, None]

    def place(values: FloatArray, otherwise: float) -> FloatArray:
        """Write values of labels × features where they belong."""
        table = np.full(reason.shape, otherwise)
        table[:, labels] = values.T
        table[~tested] = otherwise
        return table

    collinear = place(scores.collinear, 0.0) > 0
    tested = tested & ~collinear
    reason = judge_tests(reason, collinear, np.zeros(reason.shape, bool))
    product_statistic = product_sign = None
    if products == "individual":
        shape = (*reason.shape, reason.shape[1])
        found = product_scores(stats, nulls, spread)
        product_sign = np.zeros(shape[::-1], dtype=np.int8).T
        product_statistic = statistics_of_products(found, shape, product_sign)
        product_statistic[constant] = np.nan
        product_sign[constant] = 0
    statistic = place(scores.statistic(), np.nan)
    return EdgeArrays(
        stats.feature_names,
        stats.label_names,
        statistic,
        np.where(np.isnan(statistic), np.nan, 1.0),
        reason,
        place(np.sign(scores.score), 0.0),
        test="score",
        products=products,
        product_statistic=product_statistic,
        product_sign=product_sign,
        note=note_on(fit),
        covariance=None
        if products
        else ScoreCovariance(stats, nulls, np.arange(len(statistic)), ~np.isnan(statistic)),
        df_denom=degrees_of_clusters(fit),
        distribution=reference(fit),
    )


def _joint(fit: NetworkFit, nulls: list[NullModel], reason: StrArray) -> EdgeArrays:
    """Test each feature together with all its products."""
    stats = for_products(fit)
    spread = feature_variances(stats, fit.settings.intercept)
    statistic, rank = np.full(reason.shape, np.nan), np.full(reason.shape, np.nan)
    # Many small matrices: more threads only get in each other's way.
    with one_thread():
        for part, block in feature_blocks(stats):
            for null in nulls:
                at = part, null.label
                statistic[at], rank[at] = joint_scores(block, null, spread[part])
    tested = reason == Reason.OK
    reason = judge_tests(reason, tested & (rank == 0), np.zeros(reason.shape, bool))
    tested &= rank > 0
    return EdgeArrays(
        stats.feature_names,
        stats.label_names,
        np.where(tested, statistic, np.nan),
        np.where(tested, rank, np.nan),
        reason,
        np.zeros(reason.shape),
        test="score",
        products="joint",
        note=note_on(fit),
        df_denom=degrees_of_clusters(fit),
        distribution=reference(fit),
    )


def regularized_statistics(fit: NetworkFit, products: str, min_count: int) -> FloatArray:
    """Compute regularised statistics of features with their products, for rankings."""
    stats = for_products(fit)
    labels = np.flatnonzero(judge_fits(fit, min_count) == Reason.OK)
    nulls = null_models(fit, labels.tolist())
    spread = feature_variances(stats, fit.settings.intercept)
    by_label = np.full((len(fit.stats.label_names), len(spread)), np.nan)
    added = by_label.copy()
    for null in nulls:
        added[null.label] = _ADDED * (null.cell_variance @ null.counts) * spread

    def divide(scores: Scores, added: FloatArray) -> FloatArray:
        """Divide squared scores by variances with what is added to them."""
        variance = np.maximum(scores.variance, 0.0) + added
        square = scores.score**2
        return np.divide(square, variance, out=np.zeros_like(square), where=variance > 0)

    with one_thread():
        if products == "joint":
            for part, block in feature_blocks(stats):
                for null in nulls:
                    at = null.label, part
                    by_label[at], _ = joint_scores(block, null, spread[part], added=added[at])
            return by_label.T
        by_label[labels] = divide(feature_scores(stats, nulls, spread), added[labels])
        for found in product_scores(stats, nulls, spread):
            edges = np.ix_(found.labels, found.features)
            by_label[edges] += divide(found.scores, added[edges])
    return by_label.T


def _by_term(fit: NetworkFit, terms: tuple[str, ...], min_count: int, by_law: bool) -> EdgeArrays:
    """Test the columns of each formula term together."""
    stats = fit.stats
    labels = judge_fits(fit, min_count)
    nulls = null_models(fit, np.flatnonzero(labels == Reason.OK).tolist())
    constant = find_constant(stats, fit.settings.intercept)
    single = single_tests(fit, nulls, judge_edges(labels, constant))
    spread = feature_variances(stats, fit.settings.intercept)
    place = {name: at for at, name in enumerate(stats.feature_names)}
    first = np.array([place[fit.terms[term][0]] for term in terms], dtype=np.intp)
    tests = single.take(first)
    own = {name: getattr(tests, name).copy() for name in ("statistic", "df", "sign", "reason")}
    statistic, df, sign, reason = own.values()
    for term, columns in stats.term_columns.items():
        at = terms.index(term)
        sign[at], statistic[at], df[at] = 0.0, np.nan, np.nan
        # A term cannot be tested where its label cannot, or where none of its columns varies.
        (reason[at],) = judge_edges(labels, np.array([constant[columns].all()]))
        rank = np.full(len(labels), np.nan)
        for null in nulls:
            if reason[at, null.label] == Reason.OK:
                value, rank[null.label] = term_scores(stats, null, term, spread)
                statistic[at, null.label] = value
        df[at] = np.where(rank > 0, rank, np.nan)
        reason[at] = judge_tests(reason[at], rank == 0, np.zeros(len(labels), bool))
    tests = replace(tests, feature_names=terms, covariance=None, **own)
    if not by_law:
        return tests
    given = term_pvalues(fit, nulls, single.statistic, first, statistic, df)
    return with_law(tests, given, "auto")


@dataclass(frozen=True)
class Chance:
    """What p-values need that are drawn at random."""

    n_permutations: int
    random_state: RandomState
    n_jobs: int


def _by_chi2(
    fit: NetworkFit, nulls: list[NullModel], plain: EdgeArrays, chance: Chance
) -> EdgeArrays:
    """Leave the p-values as they are."""
    return plain


def _by_permutation(
    fit: NetworkFit, nulls: list[NullModel], plain: EdgeArrays, chance: Chance
) -> EdgeArrays:
    """Replace p-values by those of permuting the rows of the features."""
    count = check_count("n_permutations", chance.n_permutations, 1)
    rows = fit.rows_for("pvalue='permutation'")
    return permute(rows, fit.stats, nulls, plain, count, chance.random_state, chance.n_jobs)


def _by_saddlepoint(
    fit: NetworkFit, nulls: list[NullModel], plain: EdgeArrays, chance: Chance
) -> EdgeArrays:
    """Replace p-values of large statistics by saddlepoint approximations from the rows."""
    fit.rows_for("pvalue='saddlepoint'")
    return _by_law(fit, nulls, plain, "saddlepoint")


def _by_auto(
    fit: NetworkFit, nulls: list[NullModel], plain: EdgeArrays, chance: Chance
) -> EdgeArrays:
    """Replace p-values where chi-square does not hold."""
    if not fit.is_robust:
        return _by_law(fit, nulls, plain, "auto")
    # Robust variances are there for what the model is wrong about, and so is its law; unless they
    # are too small to be believed.
    if fit.is_penalised or not nulls:
        return plain
    given = guard(fit, nulls, plain.statistic, plain.log10_pvalue, plain.pvalue_method)
    return plain if given is None else with_law(plain, given, plain.distribution)


def _by_law(
    fit: NetworkFit, nulls: list[NullModel], plain: EdgeArrays, distribution: str
) -> EdgeArrays:
    """Refer scores to their own distribution, always or where that makes a difference."""
    always = distribution == "saddlepoint"
    return with_law(plain, edge_pvalues(fit, nulls, plain.statistic, always=always), distribution)


def with_law(
    plain: EdgeArrays, given: LawPvalues | GuardedPvalues, distribution: str
) -> EdgeArrays:
    """Put p-values in the place of those of chi-square."""
    note = "; ".join(filter(None, [plain.note, given.note]))
    return replace(plain, given=given, distribution=distribution, note=note)


PVALUES: dict[str, Callable[[NetworkFit, list[NullModel], EdgeArrays, Chance], EdgeArrays]] = {
    "auto": _by_auto,
    "chi2": _by_chi2,
    "saddlepoint": _by_saddlepoint,
    "permutation": _by_permutation,
}
"""Where p-values of single features come from, by name."""
