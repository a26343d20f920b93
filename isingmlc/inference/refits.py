r"""Wald and likelihood-ratio tests: the larger models of all features and labels.

The null model of label k is the logistic regression of :math:`y_k` on the constant and the other
labels. The larger model of feature j has :math:`x_j` besides, or a product :math:`x_j y_s`, or the
block :math:`(x_j, x_j y_s : s \ne k)`; that of a formula term has its columns. Rows that are
certain under the null model stay certain in a larger one, and add nothing to either likelihood:
only the others, those *in play*, are looked at.

Under a ridge penalty the larger model has the penalty of the null model on the coefficients of the
labels, and none on what is added. The likelihood ratio is that of the penalised likelihoods, the
Wald statistic has the inverse of the penalised information. A product :math:`x_j y_s` would then
depend on where the zero of the feature lies, since a shift changes coefficients that are
penalised; so the zero is put at the mean. Models without an intercept take features as they are.

Degrees of freedom count columns that are independent given z on the rows in play: a product with a
label that never occurs there, say, adds none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_jobs, check_names, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, chunks
from isingmlc.base.tables import ResultTable
from isingmlc.base.threads import one_thread
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.nodewise import FitSettings, NetworkFit, NodeFit, ridge_penalty
from isingmlc.fitting.old_separation import independent_columns
from isingmlc.fitting.reasons import Reason, find_constant, judge_edges, judge_fits, judge_tests
from isingmlc.inference.covariance import degrees_of_clusters, reference
from isingmlc.inference.edges import EdgeArrays
from isingmlc.inference.larger_models import (
    LargerModels,
    ProductRests,
    ProductScores,
    RowsInPlay,
    fit_block,
    fit_larger_models,
)
from isingmlc.inference.pvalues import chi2_sf
from isingmlc.inference.robust_refits import RobustErrors
from isingmlc.inference.score_tests import check_tested, note_on
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import cells_of
from isingmlc.statistics.sums import find_cells

Found = TypeVar("Found", ProductScores, ProductRests)
_LIMIT = "the larger models of edges with the reason 'separated-alternative' are limits"


@dataclass(frozen=True)
class Refits:
    """Larger models against null models, in arrays of features (or terms) × labels × columns."""

    lr: FloatArray
    wald: FloatArray
    df: FloatArray
    reason: StrArray
    coef: FloatArray
    bse: FloatArray


@dataclass(frozen=True)
class _Source:
    """What all labels share; `order` sorts the rows by labelset, of which `sizes` counts them."""

    features: Any
    weights: FloatArray | None
    order: IntArray
    sizes: IntArray
    patterns: BoolArray
    regressors: Regressors
    settings: FitSettings
    products: str | None

    @classmethod
    def of(cls, fit: NetworkFit, data: ModelData, products: str | None) -> _Source:
        """Sort the rows of a fit."""
        patterns, codes = fit.stats.patterns, cells_of(fit.stats, data)
        is_sparse = sparse.issparse(data.features)
        return cls(
            features=sparse.csc_array(data.features) if is_sparse else data.features,
            weights=data.weights,
            order=np.argsort(codes, kind="stable"),
            sizes=np.bincount(codes, minlength=len(patterns)),
            patterns=patterns,
            regressors=fit.regressors,
            settings=fit.settings,
            products=products,
        )

    def rows(self, node: NodeFit) -> IntArray:
        """Return the rows in play."""
        return self.order[np.repeat(node.in_play, self.sizes)]

    def take(self, node: NodeFit, columns: IntArray) -> FloatArray:
        """Return features in the rows in play, one per line."""
        rows = self.rows(node)
        if sparse.issparse(self.features):
            chosen = self.features[:, columns].toarray()[rows]
        else:
            chosen = self.features[np.ix_(rows, columns)]
        return np.ascontiguousarray(chosen.T, dtype=np.float64)

    def null(self, node: NodeFit, multipliers: FloatArray, n_added: int) -> RowsInPlay:
        """Lay out the null model of a label for larger ones."""
        design = self.regressors.matrix[node.in_play]
        sign = np.where(self.patterns[node.in_play, node.label], 1.0, -1.0)[:, None]
        ridge = ridge_penalty(self.settings, self.regressors)
        penalty = np.zeros(len(node.basis)) if ridge is None else ridge[node.basis]
        added = np.zeros(n_added)
        return RowsInPlay(
            sizes=self.sizes[node.in_play],
            weights=None if self.weights is None else self.weights[self.rows(node)],
            regressors=sign * design[:, node.basis],
            multipliers=sign * multipliers,
            penalty=np.concatenate([penalty, added]),
            start=np.concatenate([node.basis_coef, added]),
            intercept=self.settings.intercept,
        )

    def multipliers(self, node: NodeFit) -> Iterator[tuple[int, FloatArray]]:
        """Return what features are multiplied with, and where that stands in `Refits`."""
        patterns = self.patterns[node.in_play].astype(np.float64)
        constant = np.ones((len(patterns), 1))
        if self.products in ("joint", "given-joint"):
            factors = np.hstack([constant, np.delete(patterns, node.label, axis=1)])
            if self.products == "given-joint":
                yield 1, constant
            yield 0, factors[:, independent_columns(factors.T @ factors).kept]
            return
        yield 0, constant
        if self.products in ("individual", "given"):
            # A product with a label that never occurs in play is zero.
            others = np.flatnonzero(patterns.any(axis=0)).tolist()
            before = [constant] if self.products == "given" else []
            for at in others:
                if at != node.label:
                    yield 1 + at, np.hstack([*before, patterns[:, [at]]])


class _Job(NamedTuple):
    """Larger models of one label: lines of the results, and the columns that they are about."""

    node: NodeFit
    lines: IntArray
    columns: IntArray

    @property
    def is_single(self) -> bool:
        """Whether each line has one column, and not one line has them all."""
        return len(self.lines) == len(self.columns)


def refit_test(
    fit: NetworkFit,
    test: str,
    features: Sequence[str] | str | None = None,
    unit: str = "column",
    products: str | None = None,
    *,
    min_count: int = 2,
    n_jobs: int = 1,
) -> EdgeArrays:
    """Test edges; `IsingResults.wald_test` and `lr_test` explain the arguments."""
    check_tested(products, unit)
    if test == "lr":
        refuse_robust(fit)
        if products == "given":
            raise exc.ModelError(
                "products='given' has one test per pair of labels, whose models have two "
                "likelihoods that share rows, so there is no likelihood ratio. Use "
                "score_test(products='given') or wald_test(products='given')."
            )
    purpose = f"{test}_test"
    refits, names = refit_edges(fit, purpose, features, products, unit, min_count, n_jobs)
    return _as_edges(fit, refits, test, names, products)


def refuse_robust(fit: NetworkFit) -> None:
    """Refuse a likelihood ratio where the likelihood is not that of the rows."""
    if fit.is_robust:
        raise exc.ModelError(
            "likelihood ratios take rows for independent and label models for right, but the fit "
            f"has cov_type={fit.settings.cov_type!r}. Use score_test or wald_test, which follow "
            "it, or fit with cov_type='nonrobust'."
        )


def _as_edges(
    fit: NetworkFit, refits: Refits, test: str, names: tuple[str, ...], products: str | None
) -> EdgeArrays:
    """Make the tests of one kind from larger models."""
    statistic = refits.wald if test == "wald" else refits.lr
    df = np.where(np.isnan(statistic), np.nan, refits.df)
    is_limit = (refits.reason == Reason.SEPARATED_ALTERNATIVE).any()
    is_single = products in ("individual", "given")
    has_effects = products in (None, "given")
    return EdgeArrays(
        names,
        fit.stats.label_names,
        statistic[..., 0],
        df[..., 0],
        refits.reason[..., 0],
        np.nan_to_num(np.sign(refits.coef[..., 0])),
        test=test,
        products=products,
        product_statistic=statistic[..., 1:] if is_single else None,
        product_reason=refits.reason[..., 1:] if is_single else None,
        product_sign=np.nan_to_num(np.sign(refits.coef[..., 1:])).astype(np.int8)
        if is_single
        else None,
        note="; ".join(filter(None, [note_on(fit), _LIMIT if is_limit else ""])),
        coef=refits.coef[..., 0] if has_effects else None,
        bse=refits.bse[..., 0] if has_effects else None,
        product_coef=refits.coef[..., 1:] if products == "given" else None,
        product_bse=refits.bse[..., 1:] if products == "given" else None,
        df_denom=degrees_of_clusters(fit),
        distribution=reference(fit),
    )


def refit_edges(
    fit: NetworkFit,
    purpose: str,
    features: Sequence[str] | str | None,
    products: str | None,
    unit: str = "column",
    min_count: int = 2,
    n_jobs: int = 1,
) -> tuple[Refits, tuple[str, ...]]:
    """Fit the larger models of features and labels, and compare them with the null models."""
    stats, settings = fit.stats, fit.settings
    fit.refuse_shared(purpose, "Use score_test(), or fit().")
    data = fit.rows_for(purpose)
    if settings.is_firth:
        raise exc.ModelError(
            "likelihood-ratio and Wald tests are for models fitted with a ridge penalty or none, "
            "but this one was fitted with penalty='firth'. Use score tests, or fit again."
        )
    n_jobs = check_jobs(n_jobs)
    names, columns = _find_columns(fit, features, unit)
    source = _Source.of(fit, data, products)
    labels, constant = judge_fits(fit, min_count), find_constant(stats, settings.intercept)
    before = judge_edges(labels, np.array([constant[each].all() for each in columns]))
    testable = [node for node in fit.nodes if labels[node.label] == Reason.OK]
    jobs = [job for node in testable for job in _jobs(source, node, columns)]
    n_slots = {"individual": 1 + len(labels), "given": 1 + len(labels), "given-joint": 2}
    shape = (*before.shape, n_slots.get(products or "", 1))
    lr, wald, df = np.full((3, *shape), np.nan)
    coef, bse = np.full((2, *shape), np.nan)
    separated = np.zeros(shape, dtype=np.bool_)
    n_failed = 0
    # The work is in loops of numpy that let other threads run; those of BLAS would be in the way.
    with one_thread():
        results = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
            delayed(_fit)(source, job, RobustErrors.of(fit, job.node)) for job in jobs
        )
        for job, fitted in zip(jobs, tqdm(results, "refits", len(jobs), disable=None), strict=True):
            for slot, models in fitted:
                at = job.lines, job.node.label, slot
                lr[at] = 2 * np.maximum(models.gain, 0.0)
                wald[at], df[at], separated[at] = models.wald, models.df, models.separated
                if job.is_single and products not in ("joint", "given-joint"):
                    coef[at], bse[at] = models.coef, models.bse
                n_failed += int(np.sum(~models.finished))
    if n_failed:
        exc.warn(
            f"{n_failed} of {np.isfinite(df).sum()} larger models did not converge in "
            f"{settings.max_iter} steps; their statistics are approximate. Raise max_iter.",
            exc.ConvergenceWarning,
        )
    if products in ("given", "given-joint"):
        without = _take_given(lr, wald, df, products)
        coef[without] = bse[without] = np.nan
    for values in (lr, wald, df, coef, bse):
        values[before == Reason.CONSTANT_FEATURE] = np.nan
    tested = (before == Reason.OK)[..., None]
    reason = judge_tests(
        np.broadcast_to(before[..., None], shape), tested & np.isnan(df), tested & separated
    )
    return Refits(lr, wald, df, reason, coef, bse), names


def _take_given(lr: FloatArray, wald: FloatArray, df: FloatArray, products: str) -> BoolArray:
    """Compare models that have products with those that have the feature alone, in place."""
    tested, given = (
        (np.s_[..., 1:], np.s_[..., :1])
        if products == "given"
        else (
            np.s_[..., :1],
            np.s_[..., 1:],
        )
    )
    lr[tested] = np.maximum(lr[tested] - np.nan_to_num(lr[given]), 0.0)
    df[tested] -= np.nan_to_num(df[given])
    without = np.zeros(df.shape, dtype=np.bool_)
    without[tested] = df[tested] == 0
    for values in (lr, wald, df):
        values[without] = np.nan
    return without


def _find_columns(
    fit: NetworkFit, features: Sequence[str] | str | None, unit: str
) -> tuple[tuple[str, ...], list[IntArray]]:
    """Find the features or terms that are asked for, and the columns of each."""
    every = tuple(fit.terms) if unit == "term" else fit.stats.feature_names
    names = tuple(every[at] for at in check_names("features", features, every))
    place = {name: at for at, name in enumerate(fit.stats.feature_names)}
    columns = [fit.terms[name] if unit == "term" else (name,) for name in names]
    return names, [np.array([place[each] for each in some]) for some in columns]


def _jobs(source: _Source, node: NodeFit, columns: list[IntArray]) -> Iterator[_Job]:
    """Cut the work on a label into pieces whose temporaries are neither too large nor many."""
    sizes = np.array([len(each) for each in columns])
    n_labelsets, n_rows = int(node.in_play.sum()), int(source.sizes[node.in_play].sum())
    n_added = source.patterns.shape[1] if "joint" in (source.products or "") else 1
    n_columns = len(node.basis) + n_added
    largest = max(n_rows, n_columns * max(n_columns, n_labelsets))
    single = np.flatnonzero(sizes == 1)
    for piece in chunks(len(single), 8 * largest):
        lines = single[piece]
        yield _Job(node, lines, np.concatenate([columns[line] for line in lines]))
    for line in np.flatnonzero(sizes > 1):
        yield _Job(node, np.array([line]), columns[line])


def _fit(source: _Source, job: _Job, errors: RobustErrors | None) -> list[tuple[int, LargerModels]]:
    """Fit larger models; give them with where they stand in `Refits`."""
    node, max_steps = job.node, source.settings.max_iter
    x = source.take(node, job.columns)
    if not job.is_single:
        null = source.null(node, np.ones((int(node.in_play.sum()), 1)), len(x))
        block = fit_block(null, x, max_steps)
        if errors is not None:
            errors.replace_block(block, null, x)
        return [(0, block)]
    fitted = []
    for slot, by in source.multipliers(node):
        n_given = int("given" in (source.products or "") and by.shape[1] > 1)
        null = source.null(node, by, by.shape[1])
        models = fit_larger_models(null, x, max_steps, n_given)
        if errors is not None:
            errors.replace_errors(models, null, x, n_given)
        fitted.append((slot, models))
    return fitted


def refit_products(
    fit: NetworkFit,
    edges: BoolArray,
    n_jobs: int,
    evaluate: Callable[[RowsInPlay, FloatArray, int], Found],
) -> Iterator[tuple[IntArray, NodeFit, IntArray, Found]]:
    """Fit models that have a feature, and look at its products in them."""
    if not edges.any():
        return
    source = _Source.of(fit, fit.rows_for("score_test(refit=True)"), "joint")
    jobs = [
        job
        for node in fit.nodes
        for job in _jobs(
            source, node, [np.array([at]) for at in np.flatnonzero(edges[:, node.label])]
        )
    ]

    def look(job: _Job) -> tuple[IntArray, NodeFit, IntArray, Found]:
        node = job.node
        patterns = source.patterns[node.in_play].astype(np.float64)
        # A product with a label that never occurs in play is zero.
        others = np.flatnonzero(patterns.any(axis=0))
        others = others[others != node.label]
        by = np.hstack([np.ones((len(patterns), 1)), patterns[:, others]])
        null = source.null(node, by, by.shape[1])
        x = source.take(node, job.columns)
        return job.columns, node, others, evaluate(null, x, source.settings.max_iter)

    with one_thread():
        results = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
            delayed(look)(job) for job in jobs
        )
        yield from tqdm(results, "refits", len(jobs), disable=None, leave=False)


def fit_products(
    fit: NetworkFit, features: IntArray, labels: IntArray, others: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Fit models that have a feature and one of its products besides."""
    source = _Source.of(fit, fit.rows_for("effects"), "given")
    coef, bse = np.full((2, len(features)), np.nan)
    kinds = np.column_stack([labels, others])
    with one_thread():
        for label, other in np.unique(kinds, axis=0).tolist():
            at = np.flatnonzero((kinds == (label, other)).all(axis=1))
            node = fit.nodes[label]
            patterns = source.patterns[node.in_play].astype(np.float64)
            by = np.column_stack([np.ones(len(patterns)), patterns[:, other]])
            null, x = source.null(node, by, 2), source.take(node, features[at])
            models = fit_larger_models(null, x, source.settings.max_iter, 1)
            errors = RobustErrors.of(fit, node)
            if errors is not None:
                errors.replace_errors(models, null, x, 1)
            known = models.finished & (models.df == 2)
            coef[at[known]], bse[at[known]] = models.coef[known], models.bse[known]
    return coef, bse


def compare_tests(fit: NetworkFit, score: EdgeArrays) -> pd.DataFrame:
    """Put the tests of one feature side by side; see `IsingResults.compare_tests`."""
    products = score.products
    check_option("products", products, (None, "joint"))
    if len(score.feature_names) != 1:
        raise exc.DataError(
            f"feature must be the name of one feature, but is {len(score.feature_names)} of them."
        )
    refits, names = refit_edges(fit, "compare_tests", score.feature_names, products, "term")
    tests = {"score": score}
    for test in ("wald",) if fit.is_robust else ("lr", "wald"):
        tests[test] = _as_edges(fit, refits, test, names, products)
    columns = {name: edges.statistic[0] for name, edges in tests.items()}
    columns["df"] = tests["score"].df[0]
    columns |= {f"{name}_pvalue": edges.pvalue[0] for name, edges in tests.items()}
    columns["reason"] = tests["wald"].reason[0]
    return ResultTable(columns, pd.Index(fit.stats.label_names, name="label"))


def compare_lr_test(full: NetworkFit, restricted: NetworkFit) -> pd.DataFrame:
    """Compare nested fits, label by label; see `IsingResults.compare_lr_test`."""
    for each in (full, restricted):
        each.refuse_shared(
            "compare_lr_test()",
            "Compare llf, df_model, aic or bic of joint fits, or test interactions with "
            "contrast().",
        )
    if full.is_penalised or restricted.is_penalised:
        raise exc.ModelError("likelihood-ratio tests compare fits without a penalty.")
    refuse_robust(full)
    refuse_robust(restricted)
    stats, fewer = full.stats, restricted.stats
    lacking = [name for name in fewer.label_names if name not in stats.label_names]
    covariates = [name for name in fewer.context.names if name not in stats.context.names]
    if lacking or covariates or (restricted.settings.intercept and not full.settings.intercept):
        what = f"the label(s) {exc.shorten(lacking)}" if lacking else "an intercept"
        if covariates:
            what = f"the covariate(s) {exc.shorten(covariates)}"
        raise exc.ModelError(
            f"the fits are not nested: the restricted one has {what} and the full one has not. "
            "Call it on the larger fit: full.compare_lr_test(restricted)."
        )
    common = [stats.label_names.index(name) for name in fewer.label_names]
    given = [stats.context.names.index(name) for name in fewer.context.names]
    patterns, context, codes = find_cells(
        np.packbits(stats.patterns[:, common], axis=1),
        len(common),
        stats.context.select(np.array(given, dtype=np.intp)),
    )
    counts = np.bincount(codes, stats.counts)
    if not (
        np.array_equal(patterns, fewer.patterns)
        and np.array_equal(context.numbers, fewer.context.numbers)
        and np.allclose(counts, fewer.counts)
    ):
        raise exc.ModelError(
            "likelihood-ratio tests compare fits of the same rows, but the counts of the labels "
            "and covariates that both have differ."
        )
    pairs = [(full.nodes[at], node) for at, node in zip(common, restricted.nodes, strict=True)]
    statistic = np.array([max(2 * (large.llf - small.llf), 0.0) for large, small in pairs])
    unshared = [
        fewer.label_names[small.label]
        for large, small in pairs
        if (small.neighbors & ~large.neighbors[common]).any()
    ]
    if unshared:
        raise exc.ModelError(
            f"the fits are not nested: in the restricted one the model(s) of "
            f"{exc.shorten(unshared)} have labels that they have not in the full one. Fit one of "
            "them with other neighbors."
        )
    df = np.array([_n_coefficients(large) - _n_coefficients(small) for large, small in pairs])
    return ResultTable(
        {"statistic": statistic, "df": df, "pvalue": chi2_sf(statistic, np.where(df, df, np.nan))},
        index=pd.Index(fewer.label_names),
    )


def _n_coefficients(node: NodeFit) -> int:
    """Count the coefficients that a model has; infinite ones count too."""
    has = np.ones(len(node.coef), dtype=np.bool_)
    has[1 : 1 + len(node.neighbors)] = node.neighbors
    return int(np.sum(~np.isnan(node.coef) & has))
