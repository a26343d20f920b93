r"""The larger models of Wald and likelihood-ratio tests, fitted for many features at once.

The null model of label k is the logistic regression of :math:`y_k` on z, the constant and the
other labels. The larger model of feature j has :math:`x_j` besides, or the block
:math:`(x_j, x_j y_s : s \ne k)`. All of a label's larger models are fitted together by one
Newton iteration that starts at the null model. Rows with the same labelset g share z, so with
weights :math:`w_i` at the rows the information is

.. math::

    \sum_i w_i z_i z_i' = \sum_g W_{0g} z_g z_g', \quad
    \sum_i w_i x_i z_i m_i' = \sum_g W_{1g} z_g m_g', \quad
    \sum_i w_i x_i^2 m_i m_i' = \sum_g W_{2g} m_g m_g', \quad
    W_{rg} = \sum_{i \in g} w_i x_i^r ,

where m is the constant, or the constant and the other labels, by which the feature is
multiplied. Only the three sums run over rows.

Rows that are certain under the null model stay certain in a larger one, and add nothing to
either likelihood: only the others, those *in play*, are looked at. A feature may separate those
in turn. Most fits prove that it does not; where one does not prove it a linear programme tells,
and the likelihood is that of the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.linalg import qr
from scipy.special import log_expit
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.data import BLOCK_BYTES, BoolArray, FloatArray, IntArray, ModelData
from isingmlc.nodewise import (
    _CONVERGED,
    _ROUNDING,
    FitSettings,
    NodeFit,
    _newton,
    _proves_overlap,
    _Solution,
    _thread_pools,
)
from isingmlc.score import COLLINEAR
from isingmlc.separation import independent_columns, settled_rows, shortest_direction

# Loss of likelihood, relative to the null model's, that is put down to rounding.
_SLACK = 1e-12
# Singular values and pivots below this share of the largest are zeros, in columns of about unit
# size: rounding leaves far less, and data far more.
_RANK_TOLERANCE = 1e-9
# The odds against what happened do not overflow.
_LEAST_MARGIN = -700.0
# Variance inflation beyond which an inverse is not to be trusted.
_SINGULAR = 1e12
# A Newton step that must be cut to less than this share of itself leads nowhere.
_SHORTEST = 1e-6


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
        ``separated-alternative``, or the reason of a label that can not be tested.
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


@dataclass(frozen=True)
class _Node:
    """The rows in play for one label, sorted by labelset, and the null model on them.

    Regressors and multipliers of a labelset have the sign of its outcome, plus for a one. The
    probability of what happened in a row is then expit of its linear predictor, the *margin*.
    """

    rows: IntArray
    sizes: IntArray
    weights: FloatArray | None
    regressors: FloatArray
    multipliers: FloatArray
    penalty: FloatArray
    start: FloatArray
    log_likelihood: FloatArray
    centred: bool

    @property
    def null_value(self) -> float:
        """The (penalised) log-likelihood of the null model."""
        return float(self.log_likelihood.sum() - 0.5 * self.penalty @ self.start**2)

    def standardise(
        self, x: FloatArray, weights: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Bring each feature to unit size, and to mean zero where there is a constant."""
        if self.centred:
            # Around its first value a constant is exactly zero.
            x = x - x[:, :1]
            x -= np.average(x, axis=1, weights=weights, keepdims=True)
        size = np.sqrt(np.mean(x**2, axis=1))
        size[size == 0] = 1.0
        return x / size[:, None], size


class _Outcomes:
    """What is known of the larger models of some features, for one label.

    `kept` marks the columns with rank in each model, those of the null model first; `step` is
    the last Newton step that was taken.
    """

    def __init__(self, kept: BoolArray, n_null: int) -> None:
        rank = kept[:, n_null:].sum(axis=1)
        self.kept = kept
        self.step = np.zeros(kept.shape)
        self.df = np.where(rank > 0, rank, np.nan)
        self.gain, self.wald, self.coef, self.bse = np.full((4, len(kept)), np.nan)
        self.separated = np.zeros(len(kept), dtype=np.bool_)
        # Without rank there is nothing to fit.
        self.finished = rank == 0

    def record(
        self, at: IntArray, gain: FloatArray, coef: FloatArray, covariance: FloatArray
    ) -> None:
        """Note finite maxima: gain in likelihood, added coefficients and their covariance."""
        self.gain[at] = gain
        self.wald[at] = np.sum(coef * np.linalg.solve(covariance, coef[..., None])[..., 0], axis=1)
        self.coef[at] = coef[:, 0]
        self.bse[at] = np.sqrt(covariance[:, 0, 0])
        self.finished[at] = True


def refit_edges(
    data: ModelData,
    codes: IntArray,
    patterns: BoolArray,
    fits: tuple[NodeFit, ...],
    settings: FitSettings,
    label_reasons: Sequence[str],
    features: Sequence[int] | None = None,
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

    A fit proves that nothing is separated by its Newton decrement :math:`\nu` when
    :math:`4 R^2 tr(\Sigma) \nu^2 \le 1`, with R the length of the longest row and :math:`\Sigma`
    the inverse information [1]_. Only where that fails a linear programme is solved.

    References
    ----------
    .. [1] Bach, F. (2010). Self-concordant analysis for logistic regression. *Electronic Journal
       of Statistics* 4, 384–414, proposition 2.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.labelsets import find_labelsets
    >>> example = im.datasets.load_example()
    >>> res = im.IsingModel(example.labels, example.features).fit()
    >>> patterns, codes = find_labelsets(res.model.data.packed_labels, 6)
    >>> refits = refit_edges(
    ...     res.model.data, codes, patterns, res.fits, res.settings, ["ok"] * 6, features=[0]
    ... )
    >>> refits.lr.round(1)
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
    with _thread_pools().limit(limits=1, user_api="blas"):
        results = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
            delayed(_fit_piece)(source, fit, wanted[piece]) for fit, piece in pieces
        )
        bar = tqdm(results, "refits", len(pieces), disable=None)
        for (fit, piece), outcome in zip(pieces, bar, strict=True):
            at = piece, fit.label
            lr[at] = 2 * np.maximum(outcome.gain, 0.0)
            wald[at], df[at] = outcome.wald, outcome.df
            if not joint:
                coef[at], bse[at] = outcome.coef, outcome.bse
            reason[at] = np.select(
                [np.isnan(outcome.df), outcome.separated],
                ["collinear-feature", "separated-alternative"],
                "ok",
            )
            n_failed += int(np.sum(~outcome.finished))
    if n_failed:
        exc.warn(
            f"{n_failed} of {np.isfinite(df).sum()} larger models did not converge in "
            f"{settings.max_iter} steps; their statistics are approximate. Raise max_iter.",
            exc.ConvergenceWarning,
        )
    return Refits(lr, wald, df, coef, bse, reason)


def _pieces(source: _Source, fit: NodeFit, n_features: int) -> list[slice]:
    """Cut the features into slices whose temporaries are neither too large nor many."""
    n_rows = int(source.sizes[fit.in_play].sum())
    n_columns = len(fit.basis) + (source.patterns.shape[1] if source.joint else 1)
    largest = max(n_rows, n_columns * max(n_columns, int(fit.in_play.sum())))
    step = max(1, BLOCK_BYTES // (8 * largest))
    return [slice(start, start + step) for start in range(0, n_features, step)]


def _make_node(source: _Source, fit: NodeFit) -> _Node:
    settings = source.settings
    sizes = source.sizes[fit.in_play]
    rows = source.order[np.repeat(fit.in_play, source.sizes)]
    weights = None if source.weights is None else source.weights[rows]
    patterns = source.patterns[fit.in_play]
    design = np.column_stack([np.ones(len(patterns)), patterns])
    multipliers = design[:, :1]
    if source.joint:
        factors = np.delete(design, fit.label + 1, axis=1)
        multipliers = factors[:, independent_columns(factors.T @ factors).kept]
    sign = np.where(patterns[:, fit.label], 1.0, -1.0)[:, None]
    regressors = sign * design[:, fit.basis]
    ridge = settings.alpha if settings.method == "ridge" else 0.0
    added = np.zeros(multipliers.shape[1])
    counts = sizes if weights is None else np.add.reduceat(weights, _starts(sizes))
    return _Node(
        rows=rows,
        sizes=sizes,
        weights=weights,
        regressors=regressors,
        multipliers=sign * multipliers,
        penalty=np.concatenate([np.where(fit.basis == 0, 0.0, ridge), added]),
        start=np.concatenate([fit.basis_coef, added]),
        log_likelihood=counts * log_expit(regressors @ fit.basis_coef),
        centred=settings.intercept,
    )


def _starts(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]])


def _fit_piece(source: _Source, fit: NodeFit, columns: IntArray) -> _Outcomes:
    """Fit the larger models of some features for one label."""
    node = _make_node(source, fit)
    if sparse.issparse(source.features):
        chosen = source.features[:, columns].toarray()[node.rows]
    else:
        chosen = source.features[np.ix_(node.rows, columns)]
    x, size = node.standardise(np.ascontiguousarray(chosen.T, dtype=np.float64), node.weights)
    outcomes = _fit_together(node, x, source.settings.max_iter)
    n_null = node.regressors.shape[1]
    for at in np.flatnonzero(~outcomes.finished):
        gain, direction, solution = _fit_alone(
            node, x[at], outcomes.kept[at], outcomes.step[at], source.settings.max_iter
        )
        if direction is None:
            added = solution.coef[None, n_null:], solution.covariance[None, n_null:, n_null:]
            outcomes.record(np.array([at]), np.array([gain]), *added)
        else:
            outcomes.gain[at] = gain
            outcomes.coef[at] = np.copysign(np.inf, direction[-1])
            outcomes.separated[at] = True
        outcomes.finished[at] = solution.converged
    outcomes.coef /= size
    outcomes.bse /= size
    return outcomes


def _evaluate(
    node: _Node, x: FloatArray, coef: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give gain in (penalised) likelihood over the null model, gradient and information."""
    n_null = node.regressors.shape[1]
    margin = np.repeat(coef[:, n_null:] @ node.multipliers.T, node.sizes, axis=1)
    margin *= x
    margin += np.repeat(coef[:, :n_null] @ node.regressors.T, node.sizes, axis=1)
    odds = np.exp(-np.maximum(margin, _LEAST_MARGIN, out=margin), out=margin)
    chance = 1 / (1 + odds)
    log_likelihood = np.log(chance)
    residual = odds * chance
    weight = residual * chance
    if node.weights is not None:
        for values in (log_likelihood, residual, weight):
            values *= node.weights
    starts = _starts(node.sizes)

    def pooled(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values, starts, axis=1))

    gain = np.sum(pooled(log_likelihood) - node.log_likelihood, axis=1)
    gain += 0.5 * (node.start**2 - coef**2) @ node.penalty
    gradient = np.hstack(
        [pooled(residual) @ node.regressors, pooled(residual * x) @ node.multipliers]
    )
    gradient -= node.penalty * coef
    # The sign of the outcome is there twice, so it goes away.
    information = np.empty((*coef.shape, coef.shape[1]))
    null, added = np.s_[:n_null], np.s_[n_null:]
    information[:, null, null] = _products(node.regressors, pooled(weight), node.regressors)
    weight *= x
    cross = _products(node.regressors, pooled(weight), node.multipliers)
    information[:, null, added] = cross
    information[:, added, null] = cross.transpose(0, 2, 1)
    weight *= x
    information[:, added, added] = _products(node.multipliers, pooled(weight), node.multipliers)
    information += np.diag(node.penalty)
    return gain, gradient, information


def _products(left: FloatArray, weights: FloatArray, right: FloatArray) -> FloatArray:
    """Give the cross-products of two matrices under each line of weights."""
    return np.asarray((left.T * weights[:, None, :]) @ right)


def _gained_columns(information: FloatArray, n_null: int) -> BoolArray:
    """Mark the columns of each model that are independent, those of the null model first."""
    null, added = np.s_[:n_null], np.s_[n_null:]
    # The null model's own part is the same for all features.
    cross = information[:, null, added]
    leaning = np.linalg.solve(information[0, null, null], cross)
    rest = information[:, added, added] - cross.transpose(0, 2, 1) @ leaning
    total = np.diagonal(information[:, added, added], axis1=1, axis2=2)
    everyone = np.arange(len(rest))
    gained = np.zeros(total.shape, dtype=np.bool_)
    for _ in range(total.shape[1]):
        pivots = np.diagonal(rest, axis1=1, axis2=2)
        share = np.divide(pivots, total, out=np.zeros_like(total), where=(total > 0) & ~gained)
        best = share.argmax(axis=1)
        good = share[everyone, best] > COLLINEAR
        if not good.any():
            break
        gained[everyone[good], best[good]] = True
        line = rest[everyone, best] * good[:, None]
        pivot = np.where(good, pivots[everyone, best], 1.0)
        rest = rest - line[:, :, None] * line[:, None, :] / pivot[:, None, None]
    return np.hstack([np.ones((len(rest), n_null), dtype=np.bool_), gained])


def _fit_together(node: _Node, x: FloatArray, max_steps: int) -> _Outcomes:
    """Fit all models at once by Newton steps with halving; record those proved to be maxima."""
    n_null = node.regressors.shape[1]
    furthest = np.maximum.reduceat(x**2, _starts(node.sizes), axis=1)
    norms = (node.regressors**2).sum(axis=1) + furthest * (node.multipliers**2).sum(axis=1)
    radius_squared = norms.max(axis=1)
    coef = np.tile(node.start, (len(x), 1))
    candidate = coef.copy()
    evaluation = _evaluate(node, x, candidate)
    kept = _gained_columns(evaluation[-1], n_null)
    outcomes = _Outcomes(kept, n_null)
    gain, previous, length = np.full(len(x), -np.inf), np.full(len(x), np.inf), np.ones(len(x))
    left = np.flatnonzero(~outcomes.finished)
    evaluation = tuple(part[left] for part in evaluation)
    for _ in range(max_steps + 1):
        new_gain, gradient, information = evaluation
        # A column without rank stands aside: its coefficient stays zero.
        inside = kept[left]
        gradient = gradient * inside
        information = np.where(inside[:, :, None] & inside[:, None, :], information, 0.0)
        information += np.eye(kept.shape[1]) * ~inside[:, None, :]
        covariance = _inverses(information)
        newton = (covariance @ gradient[..., None])[..., 0]
        decrement = (gradient * newton).sum(axis=1)
        better = new_gain >= gain[left] - _SLACK * abs(node.null_value)
        done = better & (
            (decrement <= _CONVERGED) | ((previous[left] <= decrement) & (decrement <= _ROUNDING))
        )
        variances = np.diagonal(covariance, axis1=1, axis2=2)
        inflation = variances * np.diagonal(information, axis1=1, axis2=2)
        regular = (inflation > 0).all(axis=1) & (inflation < _SINGULAR).all(axis=1)
        flatness = 4 * radius_squared[left] * variances.sum(axis=1)
        proved = done & regular & (flatness * np.maximum(decrement, _CONVERGED) <= 1.0)
        outcomes.record(
            left[proved],
            new_gain[proved],
            candidate[left[proved], n_null:],
            covariance[proved, n_null:, n_null:],
        )
        moved = left[better]
        coef[moved], gain[moved] = candidate[moved], new_gain[better]
        outcomes.step[moved], previous[moved] = newton[better], decrement[better]
        length[left] = np.where(better, 1.0, length[left] / 2)
        # What has become too flat for a proof is likely to be separated.
        hopeful = regular & (flatness * _ROUNDING <= 1.0) & (length[left] > _SHORTEST)
        left = left[~done & hopeful]
        if not len(left):
            break
        candidate[left] = coef[left] + length[left, None] * outcomes.step[left]
        evaluation = _evaluate(node, x[left], candidate[left])
    return outcomes


def _inverses(matrices: FloatArray) -> FloatArray:
    """Invert each matrix; NaN where one is singular."""
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        inverses = np.full_like(matrices, np.nan)
        for matrix, inverse in zip(matrices, inverses, strict=True):
            with suppress(np.linalg.LinAlgError):
                inverse[:] = np.linalg.inv(matrix)
        return inverses


def _fit_alone(
    node: _Node, x: FloatArray, kept: BoolArray, step: FloatArray, max_steps: int
) -> tuple[float, FloatArray | None, _Solution]:
    """Fit one model or its limit; give gain, direction of separation and fit of the rest."""
    codes, x, counts = _distinct_rows(node, x)
    design = _design(node, codes, x)[:, kept]
    penalty = node.penalty[kept]
    free = design[:, penalty == 0]

    def fit_rest(settled: BoolArray) -> tuple[float, _Solution, bool]:
        rest, basis, weights = design[~settled], np.arange(len(penalty)), counts[~settled]
        if settled.any():
            values = x[~settled]
            if len(values) and not penalty.any():
                values = node.standardise(values[None], weights)[0][0]
            rest = _design(node, codes[~settled], values)[:, kept]
            basis = _independent(np.vstack([rest, np.diag(np.sqrt(penalty))]))
            rest = rest[:, basis]
        happened = np.ones(len(rest), dtype=np.bool_)
        solution = _newton(rest, happened, weights, max_steps=max_steps, penalty=penalty[basis])
        value = weights @ log_expit(rest @ solution.coef)
        value -= 0.5 * penalty[basis] @ solution.coef**2
        proved = solution.converged and _proves_overlap(rest, solution)
        return float(value) - node.null_value, solution, proved

    # Along a separated direction a Newton step moves each settled row by about one and no other
    # row. Such a guess is right if a direction confirms it, and complete if the fit of the other
    # rows proves it; only else a programme is solved.
    settled = design @ step[kept] > 0.5
    direction = _settling_direction(free, settled)
    if direction is not None:
        gain, solution, complete = fit_rest(settled)
        if complete:
            return gain, direction, solution
    settled = settled_rows(free, np.ones(len(free), dtype=np.bool_))
    direction = _settling_direction(free, settled)
    gain, solution, _ = fit_rest(settled & (direction is not None))
    return gain, direction, solution


def _distinct_rows(node: _Node, x: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Pool rows that have labelset and value of the feature in common."""
    codes = np.repeat(np.arange(len(node.sizes)), node.sizes)
    order = np.lexsort((x, codes))
    codes, x = codes[order], x[order]
    first = np.flatnonzero(np.diff(codes, prepend=-1) | (np.diff(x, prepend=np.nan) != 0))
    weights = np.ones(len(order)) if node.weights is None else node.weights[order]
    return codes[first], x[first], np.add.reduceat(weights, first)


def _design(node: _Node, codes: IntArray, x: FloatArray) -> FloatArray:
    """Write a larger model out by rows."""
    return np.hstack([node.regressors[codes], x[:, None] * node.multipliers[codes]])


def _settling_direction(design: FloatArray, settled: BoolArray) -> FloatArray | None:
    """Find a direction that settles just these rows; None where there is none."""
    if not settled.any():
        return None
    triangle = np.linalg.qr(design[~settled], mode="r")
    _, sizes, axes = np.linalg.svd(triangle)
    rank = int(np.sum(sizes > _RANK_TOLERANCE * sizes.max(initial=0.0)))
    happened = np.ones(int(settled.sum()), dtype=np.bool_)
    return shortest_direction(design[settled], happened, axes[rank:].T)


def _independent(design: FloatArray) -> IntArray:
    """Choose columns that span all of them."""
    norms = np.sqrt((design**2).sum(axis=0))
    triangle, order = qr(design / np.where(norms > 0, norms, 1.0), mode="r", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    return np.sort(order[: np.sum(pivots > _RANK_TOLERANCE)])
