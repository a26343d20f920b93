r"""Wald and likelihood-ratio statistics: the larger models of all features and labels.

The null model of label k is the logistic regression of :math:`y_k` on the constant and the other
labels. The larger model of feature j has :math:`x_j` besides, or the block
:math:`(x_j, x_j y_s : s \ne k)`. Rows that are certain under the null model stay certain in a
larger one, and add nothing to either likelihood: only the others, those *in play*, are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BLOCK_BYTES, BoolArray, FloatArray, IntArray
from isingmlc.fitting.newton import thread_pools
from isingmlc.fitting.nodewise import FitSettings, NodeFit
from isingmlc.fitting.separation import independent_columns
from isingmlc.inference.larger_models import LargerModels, RowsInPlay, fit_larger_models
from isingmlc.input.rows import ModelData


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
    reason : ndarray of str
        ``ok``, ``collinear-feature`` (nothing is left of the feature given the labels),
        ``separated-alternative`` (the feature makes rows certain, exactly or to the last digit),
        or the reason of a label that can not be tested.
    """

    lr: FloatArray
    wald: FloatArray
    df: FloatArray
    coef: FloatArray
    bse: FloatArray
    reason: Any


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


def refit_edges(
    data: ModelData,
    codes: IntArray,
    patterns: BoolArray,
    fits: tuple[NodeFit, ...],
    settings: FitSettings,
    label_reasons: Any,
    features: Any = None,
    *,
    joint: bool = False,
    n_jobs: int = 1,
) -> Refits:
    r"""Fit the larger models of all features and labels, and compare them with the null models.

    Parameters
    ----------
    data : ModelData
        The rows.
    codes : ndarray of int, shape (n,)
        The labelset of each row, as `find_labelsets` gives it.
    patterns : ndarray of bool, shape (L, K)
        The labelsets.
    fits : tuple of NodeFit
        The null models, one a label.
    settings : FitSettings
        How they were fitted.
    label_reasons : sequence of str, length K
        ``ok`` or why a label can not be tested.
    features : sequence of int, optional
        Positions of the features to test; all of them where not given.
    joint : bool
        Whether a feature comes with its products with the other labels.
    n_jobs : int
        Threads to use; -1 for one a core.

    Returns
    -------
    Refits
        The comparisons.

    Raises
    ------
    ModelError
        When the null models were fitted by Firth's method, or hold no features.

    Warns
    -----
    ConvergenceWarning
        When larger models did not converge in ``settings.max_iter`` steps.

    Notes
    -----
    Under a ridge penalty the larger model has the penalty of the null model on the coefficients
    of the labels, and none on what is added. The likelihood ratio is that of the penalised
    likelihoods, the Wald statistic has the inverse of the penalised information. A block
    :math:`x_j y_s` would then depend on where the zero of the feature lies, since a shift changes
    coefficients that are penalised; so the zero is put at the mean. Models without an intercept
    take features as they are.

    Degrees of freedom count columns that are independent given z on the rows in play: a product
    with a label that never occurs there, say, adds none.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.statistics.sums import find_labelsets
    >>> example = im.datasets.load_example()
    >>> res = im.IsingModel(example.labels, example.features).fit()
    >>> patterns, codes = find_labelsets(res.model.data.packed_labels, 6)
    >>> refits = refit_edges(
    ...     res.model.data, codes, patterns, res.fits, res.settings, ["ok"] * 6, features=[0]
    ... )
    >>> refits.lr.round(1)
    array([[136.4,   9.2,  71.4,   0. ,   0. ,  53.5]])
    """
    if settings.method == "firth":
        raise exc.ModelError(
            "likelihood-ratio and Wald tests are for models fitted with method='mle' or "
            "method='ridge', but this one was fitted with method='firth'. Use score tests, or fit "
            "anew."
        )
    if data.features is None:
        raise exc.ModelError("the model has no features to test. Pass features to IsingModel.")
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise exc.DataError(
            f"n_jobs must be a whole number other than 0 (-1 for all cores), but is {n_jobs!r}."
        )
    is_sparse = sparse.issparse(data.features)
    source = _Source(
        features=sparse.csc_array(data.features) if is_sparse else data.features,
        weights=data.weights,
        order=np.argsort(codes, kind="stable"),
        sizes=np.bincount(codes, minlength=len(patterns)),
        patterns=patterns,
        settings=settings,
        joint=joint,
    )
    wanted = np.arange(data.features.shape[1]) if features is None else np.asarray(features)
    reasons = np.asarray(label_reasons, dtype=object)
    pieces = [
        (fit, piece)
        for fit in fits
        if reasons[fit.label] == "ok"
        for piece in _pieces(source, fit, len(wanted))
    ]
    shape = (len(wanted), len(fits))
    lr, wald, df, coef, bse = (np.full(shape, np.nan) for _ in range(5))
    reason = np.broadcast_to(reasons, shape).copy()
    n_failed = 0
    # The work is in loops of numpy that let other threads run; those of BLAS would be in the way.
    with thread_pools().limit(limits=1, user_api="blas"):
        results = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
            delayed(_fit_piece)(source, fit, wanted[piece]) for fit, piece in pieces
        )
        bar = tqdm(results, "refits", len(pieces), disable=None)
        for (fit, piece), models in zip(pieces, bar, strict=True):
            at = piece, fit.label
            lr[at] = 2 * np.maximum(models.gain, 0.0)
            wald[at], df[at] = models.wald, models.df
            if not joint:
                coef[at], bse[at] = models.coef, models.bse
            reason[at] = np.select(
                [np.isnan(models.df), models.separated],
                ["collinear-feature", "separated-alternative"],
                "ok",
            )
            n_failed += int(np.sum(~models.finished))
    if n_failed:
        exc.warn(
            f"{n_failed} of {np.isfinite(df).sum()} larger models did not converge in "
            f"{settings.max_iter} steps; their statistics are approximate. Raise max_iter.",
            exc.ConvergenceWarning,
        )
    return Refits(lr, wald, df, coef, bse, reason)


def _pieces(source: _Source, fit: NodeFit, n_features: int) -> list[slice]:
    """Cut the features into slices whose temporaries are neither too large nor many."""
    n_labelsets, n_rows = int(fit.in_play.sum()), int(source.sizes[fit.in_play].sum())
    n_columns = len(fit.basis) + (source.patterns.shape[1] if source.joint else 1)
    largest = max(n_rows, n_columns * max(n_columns, n_labelsets))
    step = max(1, BLOCK_BYTES // (8 * largest))
    return [slice(start, start + step) for start in range(0, n_features, step)]


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
    ridge = settings.alpha if settings.method == "ridge" else 0.0
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
