r"""Wald and likelihood-ratio tests: the larger models of all features and labels.

The null model of label k is the logistic regression of :math:`y_k` on the constant and the other
labels. The larger model of feature j has :math:`x_j` besides, or a product :math:`x_j y_s`, or the
block :math:`(x_j, x_j y_s : s \ne k)`. Rows that are certain under the null model stay certain in a
larger one, and add nothing to either likelihood: only the others, those *in play*, are looked at.

Under a ridge penalty the larger model has the penalty of the null model on the coefficients of the
labels, and none on what is added. The likelihood ratio is that of the penalised likelihoods, the
Wald statistic has the inverse of the penalised information. A product :math:`x_j y_s` would then
depend on where the zero of the feature lies, since a shift changes coefficients that are
penalised; so the zero is put at the mean. Models without an intercept take features as they are.

Degrees of freedom count columns that are independent given z on the rows in play: a product with a
label that never occurs there, say, adds none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_jobs, check_names, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, chunks
from isingmlc.fitting.newton import thread_pools
from isingmlc.fitting.nodewise import FitSettings, NetworkFit, NodeFit
from isingmlc.fitting.separation import independent_columns
from isingmlc.fitting.testable import Reason, find_constant, judge_edges, judge_fits, judge_tests
from isingmlc.inference.edges import EdgeArrays
from isingmlc.inference.larger_models import LargerModels, RowsInPlay, fit_larger_models
from isingmlc.inference.pvalues import chi2_sf
from isingmlc.inference.score_tests import BY, PRODUCTS, note_on
from isingmlc.statistics.sums import find_labelsets

_LIMIT = "the larger models of edges with the reason 'separated-alternative' are limits"


@dataclass(frozen=True)
class Refits:
    """Larger models against null models, in arrays of features tested × labels.

    Attributes
    ----------
    lr : ndarray of float
        Likelihood-ratio statistics, twice the gain in (penalised) log-likelihood. Where the
        larger model is separated, that of the limit.
    wald : ndarray of float
        Wald statistics of the added coefficients; NaN where the larger model is separated.
    df : ndarray of float
        Degrees of freedom: the rank that the added columns bring.
    coef, bse : ndarray of float
        Coefficient of the feature and its standard error, on the scale of the feature. NaN for
        blocks; ±inf and NaN where the larger model is separated.
    reason : ndarray of object
        Why there is no statistic, or what is special about it.
    """

    lr: FloatArray
    wald: FloatArray
    df: FloatArray
    coef: FloatArray
    bse: FloatArray
    reason: StrArray


@dataclass(frozen=True)
class _Source:
    """What all labels share; `order` sorts the rows by labelset, of which `sizes` counts them."""

    features: Any
    weights: FloatArray | None
    order: IntArray
    sizes: IntArray
    patterns: BoolArray
    settings: FitSettings
    joint: bool


def refit_test(
    fit: NetworkFit,
    test: str,
    features: Sequence[str] | str | None = None,
    products: str | None = None,
    *,
    by: str = "feature",
    min_count: int = 2,
    n_jobs: int = 1,
) -> EdgeArrays:
    """Test edges; `IsingResults.wald_test` and `lr_test` explain the arguments."""
    check_option("by", by, BY)
    check_option("products", products, PRODUCTS)
    for argument, given in (("by", by), ("products", products)):
        if given in ("term", "individual"):
            raise exc.DataError(
                f"{argument}={given!r} is for score tests, which fit nothing anew: use score_test, "
                f"or leave {argument} out."
            )
    refits, names = refit_edges(fit, f"{test}_test", features, products, min_count, n_jobs)
    return _as_edges(fit, refits, test, names, products)


def _as_edges(
    fit: NetworkFit, refits: Refits, test: str, names: tuple[str, ...], products: str | None
) -> EdgeArrays:
    """Make the tests of one kind from larger models."""
    statistic = refits.wald if test == "wald" else refits.lr
    is_limit = (refits.reason == Reason.SEPARATED_ALTERNATIVE).any()
    return EdgeArrays(
        names,
        fit.stats.label_names,
        statistic,
        np.where(np.isnan(statistic), np.nan, refits.df),
        refits.reason,
        np.nan_to_num(np.sign(refits.coef)),
        test=test,
        products=products,
        note="; ".join(filter(None, [note_on(fit), _LIMIT if is_limit else ""])),
        coef=None if products else refits.coef,
        bse=None if products else refits.bse,
    )


def refit_edges(
    fit: NetworkFit,
    purpose: str,
    features: Sequence[str] | str | None,
    products: str | None,
    min_count: int,
    n_jobs: int,
) -> tuple[Refits, tuple[str, ...]]:
    """Fit the larger models of features and labels, and compare them with the null models.

    Parameters
    ----------
    fit : NetworkFit
        The null models.
    purpose : str
        What needs the rows, for the message.
    features, products, min_count, n_jobs
        As `IsingResults.wald_test` takes them.

    Returns
    -------
    refits : Refits
        The comparisons.
    names : tuple of str
        The features.

    Raises
    ------
    ModelError
        When the null models were fitted by Firth's method, or there are no features or no rows.

    Warns
    -----
    ConvergenceWarning
        When larger models did not converge in ``settings.max_iter`` steps.
    """
    stats, settings = fit.stats, fit.settings
    data = fit.rows_for(purpose)
    if settings.method == "firth":
        raise exc.ModelError(
            "likelihood-ratio and Wald tests are for models fitted with method='mle' or "
            "method='ridge', but this one was fitted with method='firth'. Use score tests, or fit "
            "anew."
        )
    wanted = check_names("features", features, stats.feature_names)
    n_jobs = check_jobs(n_jobs)
    patterns, codes = find_labelsets(data.packed_labels, len(data.label_names))
    is_sparse = sparse.issparse(data.features)
    source = _Source(
        features=sparse.csc_array(data.features) if is_sparse else data.features,
        weights=data.weights,
        order=np.argsort(codes, kind="stable"),
        sizes=np.bincount(codes, minlength=len(patterns)),
        patterns=patterns,
        settings=settings,
        joint=products == "joint",
    )
    labels = judge_fits(fit, min_count)
    reason = judge_edges(labels, find_constant(stats, settings.intercept)[wanted])
    pieces = [
        (node, piece)
        for node in fit.nodes
        if labels[node.label] == Reason.OK
        for piece in _pieces(source, node, len(wanted))
    ]
    lr, wald, df, coef, bse = (np.full(reason.shape, np.nan) for _ in range(5))
    separated = np.zeros(reason.shape, dtype=np.bool_)
    n_failed = 0
    # The work is in loops of numpy that let other threads run; those of BLAS would be in the way.
    with thread_pools().limit(limits=1, user_api="blas"):
        results = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
            delayed(_fit_piece)(source, node, wanted[piece]) for node, piece in pieces
        )
        bar = tqdm(results, "refits", len(pieces), disable=None)
        for (node, piece), models in zip(pieces, bar, strict=True):
            at = piece, node.label
            lr[at] = 2 * np.maximum(models.gain, 0.0)
            wald[at], df[at], separated[at] = models.wald, models.df, models.separated
            if not source.joint:
                coef[at], bse[at] = models.coef, models.bse
            n_failed += int(np.sum(~models.finished))
    if n_failed:
        exc.warn(
            f"{n_failed} of {np.isfinite(df).sum()} larger models did not converge in "
            f"{settings.max_iter} steps; their statistics are approximate. Raise max_iter.",
            exc.ConvergenceWarning,
        )
    tested = reason == Reason.OK
    constant = reason == Reason.CONSTANT_FEATURE
    reason = judge_tests(reason, tested & np.isnan(df), tested & separated)
    lr, wald, df, coef, bse = np.where(constant, np.nan, [lr, wald, df, coef, bse])
    names = tuple(stats.feature_names[at] for at in wanted.tolist())
    return Refits(lr, wald, df, coef, bse, reason), names


def _pieces(source: _Source, fit: NodeFit, n_features: int) -> list[slice]:
    """Cut the features into slices whose temporaries are neither too large nor many."""
    n_labelsets, n_rows = int(fit.in_play.sum()), int(source.sizes[fit.in_play].sum())
    n_columns = len(fit.basis) + (source.patterns.shape[1] if source.joint else 1)
    largest = max(n_rows, n_columns * max(n_columns, n_labelsets))
    return list(chunks(n_features, 8 * largest))


def _fit_piece(source: _Source, fit: NodeFit, columns: IntArray) -> LargerModels:
    """Fit the larger models of some features for one label."""
    settings = source.settings
    rows = source.order[np.repeat(fit.in_play, source.sizes)]
    patterns = source.patterns[fit.in_play]
    design = np.column_stack([np.ones(len(patterns)), patterns])
    multipliers = design[:, :1]
    if source.joint:
        factors = np.delete(design, fit.label + 1, axis=1)
        multipliers = factors[:, independent_columns(factors.T @ factors).kept]
    sign = np.where(patterns[:, fit.label], 1.0, -1.0)[:, None]
    added = np.zeros(multipliers.shape[1])
    ridge = settings.penalty if settings.method == "ridge" else 0.0
    null = RowsInPlay(
        sizes=source.sizes[fit.in_play],
        weights=None if source.weights is None else source.weights[rows],
        regressors=sign * design[:, fit.basis],
        multipliers=sign * multipliers,
        penalty=np.concatenate([np.where(fit.basis == 0, 0.0, ridge), added]),
        start=np.concatenate([fit.basis_coef, added]),
        intercept=settings.intercept,
    )
    if sparse.issparse(source.features):
        chosen = source.features[:, columns].toarray()[rows]
    else:
        chosen = source.features[np.ix_(rows, columns)]
    features = np.ascontiguousarray(chosen.T, dtype=np.float64)
    return fit_larger_models(null, features, settings.max_iter)


def compare_tests(fit: NetworkFit, score: EdgeArrays) -> pd.DataFrame:
    """Put the tests of one feature side by side; see `IsingResults.compare_tests`."""
    products = score.products
    check_option("products", products, (None, "joint"))
    refits, names = refit_edges(fit, "compare_tests", score.feature_names, products, 2, 1)
    tests = {
        "score": score,
        "lr": _as_edges(fit, refits, "lr", names, products),
        "wald": _as_edges(fit, refits, "wald", names, products),
    }
    columns = {name: edges.statistic[0] for name, edges in tests.items()}
    columns["df"] = tests["score"].df[0]
    columns |= {f"{name}_pvalue": edges.pvalue[0] for name, edges in tests.items()}
    columns["reason"] = refits.reason[0]
    return pd.DataFrame(columns, pd.Index(fit.stats.label_names, name="label"))


def compare_lr_test(full: NetworkFit, restricted: NetworkFit) -> pd.DataFrame:
    """Compare nested fits, label by label; see `IsingResults.compare_lr_test`."""
    if full.is_penalised or restricted.is_penalised:
        raise exc.ModelError("likelihood-ratio tests compare fits with method='mle'.")
    stats, fewer = full.stats, restricted.stats
    lacking = [name for name in fewer.label_names if name not in stats.label_names]
    if lacking or (restricted.settings.intercept and not full.settings.intercept):
        what = f"the label(s) {exc.shorten(lacking)}" if lacking else "an intercept"
        raise exc.ModelError(
            f"the fits are not nested: the restricted one has {what} and the full one has not. "
            "Call it on the larger fit: full.compare_lr_test(restricted)."
        )
    common = [stats.label_names.index(name) for name in fewer.label_names]
    patterns, codes = find_labelsets(np.packbits(stats.patterns[:, common], axis=1), len(common))
    counts = np.bincount(codes, stats.counts)
    if not (np.array_equal(patterns, fewer.patterns) and np.allclose(counts, fewer.counts)):
        raise exc.ModelError(
            "likelihood-ratio tests compare fits of the same rows, but the counts of the labels "
            "that both have differ."
        )
    pairs = [(full.nodes[at], node) for at, node in zip(common, restricted.nodes, strict=True)]
    statistic = np.array([max(2 * (large.llf - small.llf), 0.0) for large, small in pairs])
    # Infinite coefficients count too.
    df = np.array(
        [np.sum(~np.isnan(large.coef)) - np.sum(~np.isnan(small.coef)) for large, small in pairs]
    )
    return pd.DataFrame(
        {"statistic": statistic, "df": df, "pvalue": chi2_sf(statistic, np.where(df, df, np.nan))},
        index=pd.Index(fewer.label_names),
    )
