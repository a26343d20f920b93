r"""Wald and likelihood-ratio tests: the larger models of all features and labels.

The null model of label k is the logistic regression of :math:`y_k` on the constant and the other
labels. The larger model of feature j has :math:`x_j` besides, or a product :math:`x_j y_s`, or the
block :math:`(x_j, x_j y_s : s \ne k)`; that of a formula term has its columns.

Under a ridge penalty the larger model has the penalty of the null model on the coefficients of the
labels, and none on what is added. The likelihood ratio is that of the penalised likelihoods, the
Wald statistic has the inverse of the penalised information. A product :math:`x_j y_s` would then
depend on where the zero of the feature lies, since a shift changes coefficients that are
penalised; so the zero is put at the mean. Models without an intercept take features as they are.

Degrees of freedom count columns that are independent given z on the uncertain rows: a product with
a label that never occurs there, say, adds none.

Where a feature is rare, most likelihood ratios of true nulls are those of tables with empty cells,
and far too small. Firth's penalised likelihood :math:`l(\beta) + \frac{1}{2} \log \det I(\beta)`
[1]_ has a finite maximum whatever is separated, and its ratio keeps its level [2]_. Both models
have the design of the larger one: under the null the coefficient of the feature is held at zero,
but the feature stays in I, as in R's logistf.

References
----------
.. [1] Firth, D. (1993). Bias reduction of maximum likelihood estimates. *Biometrika* 80, 27–38.
.. [2] Heinze, G. and Schemper, M. (2002). A solution to the problem of separation in logistic
   regression. *Statistics in Medicine* 21, 2409–2419.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import expit
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_jobs, check_names, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, chunks
from isingmlc.base.tables import ResultTable
from isingmlc.base.threads import one_thread
from isingmlc.fitting.logistic import inverses
from isingmlc.fitting.nodewise import NetworkFit, NodeFit, ridge_penalty
from isingmlc.fitting.reasons import (
    Reason,
    find_constant,
    judge_counts,
    judge_edges,
    judge_fits,
    judge_tests,
)
from isingmlc.fitting.separation import independent_columns
from isingmlc.inference.covariance import MODEL_BASED, degrees_of_clusters, reference
from isingmlc.inference.edges import EdgeArrays, check_tested, note_on
from isingmlc.inference.larger import LargerFits, Null, fit_firth, fit_larger
from isingmlc.inference.pvalues import chi2_sf
from isingmlc.inference.score import Scores, null_models
from isingmlc.statistics.labelsets import cells_of
from isingmlc.statistics.sums import find_cells

_LIMIT = "the larger models of edges with the reason 'separated-alternative' are limits"
_FIRTH = "likelihoods have Jeffreys' prior (Firth), in the design of the larger model"


@dataclass(frozen=True)
class Refits:
    """Larger models against null models, in arrays of features (or terms) × labels × columns."""

    lr: FloatArray
    wald: FloatArray
    df: FloatArray
    reason: StrArray
    coef: FloatArray
    bse: FloatArray


class _Job(NamedTuple):
    """Larger models of one label: lines of the results, and the columns of each (lines × p)."""

    label: int
    lines: IntArray
    columns: IntArray


T = TypeVar("T")


class Rows:
    """The rows of a fit, sorted by cell."""

    def __init__(self, fit: NetworkFit, purpose: str) -> None:
        data = fit.rows_for(purpose)
        codes = cells_of(fit.stats, data)
        self.fit = fit
        self.order = np.argsort(codes, kind="stable")
        self.sizes = np.bincount(codes, minlength=len(fit.stats.patterns))
        is_sparse = sparse.issparse(data.features)
        self.features: Any = sparse.csc_array(data.features) if is_sparse else data.features
        self.counts = np.ones(len(codes)) if data.weights is None else data.weights

    def null(self, label: int) -> Null:
        """Return the null model of a label on its uncertain rows."""
        fit, node = self.fit, self.fit.nodes[label]
        cells, places = np.flatnonzero(node.in_play), node.basis
        (null,) = null_models(fit, [label], MODEL_BASED)
        found = null.root()
        root = np.zeros((len(found), len(node.in_play)))
        root[:, null.rows] = found
        ridge = ridge_penalty(fit.settings, fit.regressors)
        penalty = np.zeros(len(places)) if ridge is None else ridge[places]
        return self._lay_out(
            label, cells, places, node.basis_coef, penalty, node.weight[cells], root[:, cells]
        )

    def unfitted(self, label: int) -> Null:
        """Return the null model of a label on all rows, before it is fitted."""
        stats, regressors = self.fit.stats, self.fit.regressors
        neighbors = np.array([node.neighbors for node in self.fit.nodes])
        used = np.flatnonzero(regressors.used_by(neighbors, self.fit.settings.intercept)[label])
        size = np.sqrt(stats.counts)
        matrix = size[:, None] * regressors.matrix[:, used]
        kept = independent_columns(matrix.T @ matrix).kept
        root = np.linalg.qr(matrix[:, kept])[0].T / size
        cells, zeros, ones = np.arange(len(size)), np.zeros(len(kept)), np.ones(len(size))
        return self._lay_out(label, cells, used[kept], zeros, zeros, ones, root)

    def _lay_out(self, label: int, cells: IntArray, places: IntArray, *arrays: FloatArray) -> Null:
        """Return a null model on some cells."""
        outcome = self.fit.stats.patterns[cells, label]
        counts = self.counts[self.of(cells)]
        return Null(self.fit, places, cells, outcome, self.sizes[cells], counts, *arrays)

    def of(self, cells: IntArray) -> IntArray:
        """Return the rows of some cells, in ascending order of cells."""
        is_in = np.zeros(len(self.sizes), dtype=np.bool_)
        is_in[cells] = True
        return self.order[np.repeat(is_in, self.sizes)]

    def take(self, null: Null, columns: IntArray) -> FloatArray:
        """Return columns (models × p) in the rows of a null model, models × p × rows."""
        rows, flat = self.of(null.cells), columns.ravel()
        if sparse.issparse(self.features):
            chosen = self.features[:, flat].toarray()[rows]
        else:
            chosen = self.features[np.ix_(rows, flat)]
        x = np.ascontiguousarray(chosen.T, dtype=np.float64)
        return null.centre(x.reshape(*columns.shape, -1))

    def jobs(self, label: int, columns: list[IntArray], q: int) -> Iterator[_Job]:
        """Cut the work on a label into pieces whose temporaries are neither too large nor many."""
        widths = np.array([len(each) for each in columns])
        n_cells, n_rows = len(self.sizes), len(self.order)
        for width in np.unique(widths).tolist():
            lines = np.flatnonzero(widths == width)
            size = len(self.fit.nodes[label].basis) + width * q
            largest = max(width * n_rows, size * max(size, n_cells))
            for piece in chunks(len(lines), 8 * largest):
                some = lines[piece]
                yield _Job(label, some, np.array([columns[line] for line in some]))


def _work(jobs: list[_Job], work: Callable[[_Job], T], n_jobs: int) -> Iterator[tuple[_Job, T]]:
    """Do jobs in threads; return each with what was found."""
    # The work is in loops of numpy that let other threads run; those of BLAS would be in the way.
    with one_thread():
        found = Parallel(n_jobs=check_jobs(n_jobs), backend="threading", return_as="generator")(
            delayed(work)(job) for job in jobs
        )
        bar = tqdm(found, "refits", len(jobs), disable=None, leave=False)
        yield from zip(jobs, bar, strict=True)


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
    fit: NetworkFit,
    refits: Refits,
    test: str,
    names: tuple[str, ...],
    products: str | None,
    note: str = "",
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
        note=note or "; ".join(filter(None, [note_on(fit), _LIMIT if is_limit else ""])),
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
    fit.refuse_shared(purpose, "Use score_test(), or fit().")
    rows = Rows(fit, purpose)
    if fit.settings.is_firth:
        raise exc.ModelError(
            "likelihood-ratio and Wald tests are for models fitted with a ridge penalty or none, "
            "but this one was fitted with penalty='firth'. Use score tests, or fit again."
        )
    names, columns = _find_columns(fit, features, unit)
    return _refit(rows, judge_fits(fit, min_count), columns, products, n_jobs, fit_larger), names


def _refit(
    rows: Rows,
    labels: StrArray,
    columns: list[IntArray],
    products: str | None,
    n_jobs: int,
    fit_models: Callable[[Null, FloatArray, FloatArray], LargerFits],
) -> Refits:
    """Fit the larger models of features and labels, by maximum likelihood or Firth's."""
    fit, is_firth = rows.fit, fit_models is fit_firth
    constant = find_constant(fit.stats, fit.settings.intercept)
    before = judge_edges(labels, np.array([constant[each].all() for each in columns]))
    n_slots = {"individual": 1 + len(labels), "given": 1 + len(labels), "given-joint": 2}
    shape = (*before.shape, n_slots.get(products or "", 1))
    lr, wald, df, coef, bse = np.full((5, *shape), np.nan)
    separated = np.zeros(shape, dtype=np.bool_)
    n_failed = 0
    has_block = products in ("joint", "given-joint")
    jobs = [
        job
        for label in np.flatnonzero(labels == Reason.OK).tolist()
        for job in rows.jobs(label, columns, len(labels) if has_block else 2)
    ]

    def refit(job: _Job) -> list[tuple[int, int, LargerFits]]:
        null = rows.unfitted(job.label) if is_firth else rows.null(job.label)
        x = rows.take(null, job.columns)
        return [
            (slot, n_given, fit_models(null, x, by))
            for slot, n_given, by in _multipliers(null, job.label, products)
        ]

    for job, fitted in _work(jobs, refit, n_jobs):
        for slot, n_given, models in fitted:
            at, first = (job.lines, job.label, slot), models.n_null + n_given
            lr[at], df[at] = 2 * np.maximum(models.gain, 0.0), models.df
            wald[at], separated[at] = models.wald(first), models.separated
            if job.columns.shape[1] == 1 and not has_block:
                coef[at], bse[at] = models.effects(first)
            n_failed += int(np.sum(~models.converged))
    if n_failed:
        what = "tests" if is_firth else "larger models"
        exc.warn(
            f"{n_failed} of {np.isfinite(df).sum()} {what} did not converge in "
            f"{fit.settings.max_iter} steps; their statistics are approximate. Raise max_iter.",
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
    return Refits(lr, wald, df, reason, coef, bse)


def _multipliers(
    null: Null, label: int, products: str | None
) -> Iterator[tuple[int, int, FloatArray]]:
    """Return what features are multiplied with, where it stands, and the columns before it."""
    others, factors = _label_factors(null, label)
    constant = factors[:, :1]
    if products == "given-joint":
        yield 1, 0, constant
    if products in ("joint", "given-joint"):
        yield 0, int(products == "given-joint"), factors
        return
    yield 0, 0, constant
    if products is not None:
        first = int(products == "given")
        for at, other in enumerate(others.tolist(), 1):
            yield 1 + other, first, factors[:, [0, at] if first else [at]]


def _label_factors(null: Null, label: int) -> tuple[IntArray, FloatArray]:
    """Return the other labels that occur, and what joint products are made with: one and them."""
    patterns = null.fit.stats.patterns[null.cells]
    # A product with a label that never occurs in these rows is zero.
    others = np.flatnonzero(patterns.any(axis=0))
    others = others[others != label]
    return others, np.column_stack([np.ones(len(patterns)), patterns[:, others]])


def _take_given(lr: FloatArray, wald: FloatArray, df: FloatArray, products: str) -> BoolArray:
    """Compare models that have products with those that have the feature alone, in place."""
    first, others = np.s_[..., :1], np.s_[..., 1:]
    tested, given = (others, first) if products == "given" else (first, others)
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


def fit_products(
    fit: NetworkFit, features: IntArray, labels: IntArray, others: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Fit models that have a feature and one of its products besides."""
    rows = Rows(fit, "effects")
    coef, bse = np.full((2, len(features)), np.nan)
    kinds = np.column_stack([labels, others])
    with one_thread():
        for label, other in np.unique(kinds, axis=0).tolist():
            at = np.flatnonzero((kinds == (label, other)).all(axis=1))
            null = rows.null(label)
            by = np.column_stack([np.ones(len(null.cells)), fit.stats.patterns[null.cells, other]])
            models = fit_larger(null, rows.take(null, features[at, None]), by)
            known = models.converged & (models.df == 2)
            coef[at[known]] = models.coef[known, -1]
            bse[at[known]] = np.sqrt(models.covariance[known, -1, -1])
    return coef, bse


class ProductScores(NamedTuple):
    """Scores of the products of features, in models that have the features."""

    score: FloatArray
    variance: FloatArray
    scale: FloatArray
    separated: BoolArray
    error: FloatArray


class ProductRests(NamedTuple):
    """What models that have a feature leave of its products, by rows."""

    rest: FloatArray
    scale: FloatArray
    probability: FloatArray
    complement: FloatArray


Found = TypeVar("Found", ProductScores, ProductRests)


def refit_products(
    fit: NetworkFit,
    edges: BoolArray,
    n_jobs: int,
    evaluate: Callable[[Null, FloatArray, FloatArray], Found],
) -> Iterator[tuple[IntArray, NodeFit, IntArray, Found]]:
    """Fit models that have a feature, and look at its products in them."""
    if not edges.any():
        return
    rows = Rows(fit, "score_test(refit=True)")
    jobs = [
        job
        for node in fit.nodes
        for job in rows.jobs(
            node.label,
            [np.array([at]) for at in np.flatnonzero(edges[:, node.label])],
            len(fit.nodes),
        )
    ]

    def look(job: _Job) -> tuple[IntArray, Found]:
        null = rows.null(job.label)
        others, by = _label_factors(null, job.label)
        return others, evaluate(null, rows.take(null, job.columns), by)

    for job, (others, found) in _work(jobs, look, n_jobs):
        yield job.columns[:, 0], fit.nodes[job.label], others, found


class _GivenFeature:
    """Models that have a feature besides, and what they leave of its products."""

    def __init__(self, null: Null, x: FloatArray, multipliers: FloatArray) -> None:
        models = fit_larger(null, x, multipliers[:, :1])
        self.n_given = n_given = models.n_null + 1
        everyone = np.arange(len(x))
        uses = np.ones((len(x), models.n_null + multipliers.shape[1]), dtype=np.bool_)
        design = replace(models.design, multipliers=multipliers, uses=uses)
        known = np.isfinite(models.coef).all(axis=1)
        self.failed = ~known & ~np.isnan(models.df)
        # A feature without rank changes nothing.
        coef = np.zeros(uses.shape)
        coef[:, : models.n_null] = null.coef
        coef[known, :n_given] = models.coef[known]
        predictor = design.predict(everyone, coef)
        self.probability, self.complement = expit(predictor), expit(-predictor)
        weight = null.counts * self.probability * self.complement
        residual = np.where(null.outcomes, self.complement, -self.probability)
        self.gradient = design.gradient(everyone, null.counts * residual)
        self.information = design.information(everyone, weight)
        self.penalty, uses = np.append(null.penalty, 0.0), models.design.uses
        inner = self.information[:, :n_given, :n_given] + np.diag(self.penalty)
        inner *= uses[:, :, None] & uses[:, None, :]
        self.crossed = self.information[:, :n_given, n_given:] * uses[:, :, None]
        self.slope = inverses(inner)[0] @ self.crossed

    @property
    def scale(self) -> FloatArray:
        """What variances of the products are measured by, features × d."""
        return np.asarray(np.einsum("mii->mi", self.information)[:, self.n_given :])


def score_products(null: Null, x: FloatArray, multipliers: FloatArray) -> ProductScores:
    """Fit the models that have a feature besides, and score its products in them."""
    models = _GivenFeature(null, x, multipliers)
    inner, added = np.s_[: models.n_given], np.s_[models.n_given :]
    explained = models.crossed + models.penalty[:, None] * models.slope
    variance = models.information[:, added, added] - explained.transpose(0, 2, 1) @ models.slope
    taken = np.einsum("mi,mij->mj", models.gradient[:, inner], models.slope)
    score = models.gradient[:, added] - taken
    left = models.scale - np.einsum("mij,mij->mj", models.crossed, models.slope)
    own = Scores(score, np.einsum("mii->mi", variance), models.scale, left)
    return ProductScores(score, variance, models.scale, models.failed, own.one_step()[1])


def leave_products(null: Null, x: FloatArray, multipliers: FloatArray) -> ProductRests:
    """Fit the models that have a feature besides, and return what they leave of its products."""
    models = _GivenFeature(null, x, multipliers)
    n_null = models.n_given - 1
    factors = np.repeat(multipliers[:, 1:], null.sizes, axis=0) - models.slope[:, None, n_null]
    explained = np.repeat(null.columns @ models.slope[:, :n_null], null.sizes, axis=1)
    rest = x[:, 0, :, None] * factors - explained
    return ProductRests(rest, models.scale, models.probability, models.complement)


def firth_lr_test(
    fit: NetworkFit, features: Sequence[str] | str | None, *, min_count: int = 2, n_jobs: int = 1
) -> EdgeArrays:
    """Test single features; `IsingResults.lr_test` explains the arguments."""
    refuse_robust(fit)
    rows = Rows(fit, "lr_test")
    names, columns = _find_columns(fit, features, "column")
    # Certain rows are rows like others: only a label that does not vary has nothing to test.
    minority = fit.stats.counts @ fit.stats.patterns
    labels = judge_counts(np.minimum(minority, fit.stats.nobs - minority), min_count)
    refits = _refit(rows, labels, columns, None, n_jobs, fit_firth)
    return _as_edges(fit, refits, "lr", names, None, _FIRTH)


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
