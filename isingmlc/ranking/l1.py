r"""l1-penalised logistic regressions of each label on the other labels and all features.

For label k, with the other labels and the features as standardised columns z, the minimum of

.. math:: -\frac{1}{n} \sum_i w_i \log P(y_{ik} | a + z_i'b) + \lambda_k \|b\|_1

over a free intercept a and coefficients b is found in two stages. liblinear goes nearly all of
the way, also if features separate the label, as those of texts do. But it penalises the
intercept, and stops where coefficients may still move by a tenth and depend on the random order
of its steps. So proximal Newton steps, which leave the intercept free, end what it began.

Covariates are further columns of every model, free of the penalty as the intercept is unless they
are to be penalised.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import entr, expit
from sklearn.exceptions import ConvergenceWarning as LiblinearWarning
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_jobs, check_number, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray, dense
from isingmlc.base.tables import ResultTable
from isingmlc.base.threads import one_thread
from isingmlc.fitting.l1_design import Design, lay_out
from isingmlc.fitting.l1_free import FreeColumns
from isingmlc.fitting.l1_solver import NO_GRADIENT, L1Points, L1Problems
from isingmlc.fitting.testable import Reason, judge_counts, without_labels
from isingmlc.input.rows import ModelData

# Largest violation of the optimality conditions, as a part of the penalty, that goes unmentioned.
TOLERANCE = 1e-5
# How liblinear is run. What is free it penalises divided by the first of these. With a smaller
# tolerance it takes longer over digits that Newton steps give at once; with a larger one it leaves
# them too much to do if there are more columns than rows.
_FREE_SCALING = 100.0
_LIBLINEAR_TOLERANCE = 1e-5
_LIBLINEAR_STEPS = 1000
# scikit-learn 1.8 spells the l1 penalty anew, and warns of the old spelling.
_IS_RENAMED = getattr(LogisticRegression(), "penalty", "deprecated") == "deprecated"
_L1: dict[str, Any] = {"l1_ratio": 1.0} if _IS_RENAMED else {"penalty": "l1"}
# Who chooses penalties if no number does, from so many on the path of a label, and its gamma.
EBIC = "ebic"
_N_LAMBDA = 50
_GAMMA = 0.5
# Lower end of a path as a part of the upper one, and if there are more columns than observations;
# and after how many penalties without a better one it is left.
_LOWEST = 1e-4
_LOWEST_WIDE = 1e-2
_PATIENCE = 5
# Newton steps after which a label is given up; a handful is usual.
_NEWTON_STEPS = 100


@dataclass(frozen=True)
class L1Fits:
    """l1-penalised regressions of all labels."""

    coefficients: FloatArray
    label_coefficients: FloatArray
    covariate_coefficients: FloatArray
    original_coefficients: FloatArray
    original_label_coefficients: FloatArray
    original_covariate_coefficients: FloatArray
    intercept: FloatArray
    lam: FloatArray
    lam_max: FloatArray
    violation: FloatArray
    gap: FloatArray
    pull: FloatArray
    feature_reason: StrArray
    label_reason: StrArray
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    covariate_columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per label: its penalty, and how nearly its regression is optimal."""
        columns = {
            "lam": self.lam,
            "lam_max": self.lam_max,
            "violation": self.violation,
            "gap": self.gap,
            "reason": self.label_reason,
        }
        return ResultTable(columns, pd.Index(self.label_names, name="label"))


class _NodeFit(NamedTuple):
    """The regression of one label on the columns of a design."""

    intercept: float
    coef: FloatArray
    pull: FloatArray
    lam: float = 0.0
    lam_max: float = 0.0
    violation: float = 0.0
    gap: float = 0.0


def fit_l1(
    data: ModelData,
    lam_ratio: float | str = EBIC,
    *,
    penalize_covariates: bool = False,
    min_count: int = 2,
    n_jobs: int = 1,
) -> L1Fits:
    """Fit an l1-penalised logistic regression of each label on the other labels and features."""
    ratio = None if _is_ebic(lam_ratio) else _check_ratio(lam_ratio)
    least, jobs = check_count("min_count", min_count, 0), check_jobs(n_jobs)
    check_option("penalize_covariates", penalize_covariates, (True, False))
    labels, weights, context, design = lay_out(data)
    n_labels, n_others = labels.shape[1], labels.shape[1] + len(context.column_names)
    minority = np.minimum(weights @ labels, weights @ ~labels)
    label_reason = judge_counts(minority, least)
    usable, constant = design.varies.copy(), ~design.varies[n_others:]
    feature_reason = np.full(len(constant), Reason.OK, dtype=object)
    free = FreeColumns.none(n_labels, len(usable))
    if n_others > n_labels and not penalize_covariates:
        free = FreeColumns.of(labels, weights, context.columns, len(usable))
        names = np.array(data.label_names, dtype=object)
        free.warn(names, label_reason == Reason.OK, context.column_names)
        label_reason[(label_reason == Reason.OK) & free.determined] = Reason.DETERMINED_LABEL
        is_context = np.arange(len(usable)) < n_others
        is_context[:n_labels] = False
        usable[is_context] = False
        feature_reason[design.explained_by(is_context)[n_others:]] = Reason.COLLINEAR_FEATURE
    feature_reason[constant] = Reason.CONSTANT_FEATURE
    fitted = np.flatnonzero(label_reason == Reason.OK)
    results = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_fit_node)(design, labels, label, ratio, usable, free.take(np.array([label])))
        for label in fitted
    )
    bar = tqdm(results, "l1 fits", len(fitted), disable=None, leave=False)
    coefficients = np.full((len(design.scale), n_labels), np.nan)
    pull = coefficients.copy()
    intercept, lam, lam_max, violation, gap = (np.full(n_labels, np.nan) for _ in range(5))
    for label, fit in zip(fitted, bar, strict=True):
        is_known = usable | free.columns[label]
        coefficients[:, label] = np.where(is_known, fit.coef, np.nan)
        coefficients[label, label] = np.nan
        pull[:, label] = np.where(usable, fit.pull, np.nan)
        intercept[label], lam[label], lam_max[label] = fit.intercept, fit.lam, fit.lam_max
        violation[label], gap[label] = fit.violation, fit.gap
    original = coefficients / design.scale[:, None]
    intercept -= np.nansum(original * design.center[:, None], axis=0)
    # Infinite on any scale, or not known.
    limits = free.limits[fitted]
    intercept[fitted] = np.where(limits[:, 0] != 0, limits[:, 0], intercept[fitted])
    for each in (coefficients, original):
        each[:, fitted] = np.where(limits[:, 1:].T != 0, limits[:, 1:].T, each[:, fitted])
    notes = _notes(
        ratio, lam, lam_max, [data.label_names[at] for at in np.flatnonzero(violation > TOLERANCE)]
    )
    if len(context):
        how = "penalised like the other labels" if penalize_covariates else "without a penalty"
        notes = (f"Every penalised model has {', '.join(context.described)}, {how}.", *notes)
    return L1Fits(
        coefficients=coefficients[n_others:],
        label_coefficients=coefficients[:n_labels],
        covariate_coefficients=coefficients[n_labels:n_others],
        original_coefficients=original[n_others:],
        original_label_coefficients=original[:n_labels],
        original_covariate_coefficients=original[n_labels:n_others],
        intercept=intercept,
        lam=lam,
        lam_max=lam_max,
        violation=violation,
        gap=gap,
        pull=pull[n_others:],
        feature_reason=without_labels(feature_reason, label_reason),
        label_reason=label_reason,
        feature_names=data.feature_names,
        label_names=data.label_names,
        covariate_columns=context.column_names,
        notes=notes,
    )


def _fit_node(
    design: Design,
    labels: BoolArray,
    label: int,
    lam_ratio: float | None,
    usable: BoolArray,
    free: FreeColumns,
) -> _NodeFit:
    """Fit one label: by liblinear and then by Newton steps to the end, or along a path."""
    usable = usable.copy()
    usable[label] = False
    is_free = free.columns[0]
    distinct = design.leave_out_copies(usable, is_free) | is_free
    # Most of these matrices are small: more threads only get in each other's way.
    with one_thread():
        outcome = labels[:, label][None]
        problem = L1Problems(design, outcome, distinct[None], free.columns, free.in_play)
        point = problem.null_points(_NEWTON_STEPS)
        lam_max = float(np.abs(point.gradient[0, ~is_free]).max(initial=0.0))
        if lam_max <= NO_GRADIENT:
            return _NodeFit(float(point.intercept[0]), point.coef[0], np.zeros(len(usable)))
        if lam_ratio is None:
            charged = int((usable & ~is_free).sum())
            price = float(np.log(design.nobs) + 2 * _GAMMA * np.log(max(charged, 1)))
            point = _follow_path(problem, point, lam_max, price)
        else:
            penalty = np.array([lam_ratio * lam_max])
            if lam_ratio < 1:
                point = _run_liblinear(problem, float(penalty[0]))
            point = problem.solve(point, penalty, penalty, _NEWTON_STEPS)
        lam = float(point.lam[0])
        gap = _relative_gap(problem, point)
    shared = design.share_among_copies(point.coef * ~is_free, usable)[0]
    coef = np.where(is_free, point.coef[0], shared)
    pull = np.abs(design.share_among_copies(point.gradient * ~is_free, usable)[0])
    violation = float(point.violation[0]) / lam
    return _NodeFit(float(point.intercept[0]), coef, pull, lam, lam_max, violation, gap)


def _is_ebic(lam_ratio: object) -> bool:
    """Return whether EBIC is to choose the penalties."""
    return isinstance(lam_ratio, str) and lam_ratio == EBIC


def _check_ratio(lam_ratio: Any) -> float:
    """Return the penalty as a part of the largest one, or say what it may be."""
    if isinstance(lam_ratio, str):
        raise exc.DataError(
            f"lam_ratio must be a number above 0 and at most 1, or {EBIC!r}, but is {lam_ratio!r}."
        )
    return check_number("lam_ratio", lam_ratio, above=0, at_most=1)


def _follow_path(problem: L1Problems, point: L1Points, lam_max: float, price: float) -> L1Points:
    """Return the point on the path of a label that EBIC chooses."""
    is_free, nobs = problem.free[0], problem.design.nobs
    is_long = nobs > problem.usable[0].sum()
    penalties = lam_max * np.geomspace(1, _LOWEST if is_long else _LOWEST_WIDE, _N_LAMBDA)
    best, least, waited = point, np.inf, 0
    for last, lam in zip([lam_max, *penalties], penalties, strict=False):
        point = problem.solve(point, np.array([lam]), np.array([last]), _NEWTON_STEPS)
        n_nonzero = int(((point.coef[0] != 0) & ~is_free).sum())
        criterion = price * n_nonzero + 2 * nobs * float(problem.losses(point)[0])
        waited += 1
        if criterion < least:
            best, least, waited = point, criterion, 0
        if waited == _PATIENCE:
            break
    return best


def _run_liblinear(problem: L1Problems, lam: float) -> L1Points:
    """Return liblinear's solution, which has slightly penalised intercepts and free columns."""
    design, usable = problem.design, problem.usable[0]
    size = np.where(problem.free[0], _FREE_SCALING, 1.0)
    columns = design.columns[:, usable]
    if problem.free.any():
        columns = columns * size[usable]
    if sparse.issparse(columns):
        # liblinear takes rows with indices of 32 bits.
        rows = sparse.csr_array(columns)
        kind = sparse.get_index_dtype(maxval=max(rows.nnz, *rows.shape))
        parts = rows.data, rows.indices.astype(kind), rows.indptr.astype(kind)
        columns = sparse.csr_array(parts, shape=rows.shape)
    regression = LogisticRegression(
        solver="liblinear",
        C=1 / (design.nobs * lam),
        intercept_scaling=_FREE_SCALING,
        tol=_LIBLINEAR_TOLERANCE,
        max_iter=_LIBLINEAR_STEPS,
        random_state=0,
        **_L1,
    )
    with warnings.catch_warnings():
        # Whether the fit is optimal is seen, and said, at the end.
        warnings.simplefilter("ignore", LiblinearWarning)
        weights = design.nobs * np.ravel(problem.shares(np.array([0])))
        regression.fit(columns, problem.outcomes[0], sample_weight=weights)
    coef = np.zeros((1, len(usable)))
    coef[0, usable] = regression.coef_[0] * size[usable]
    intercept = regression.intercept_
    eta = intercept + (design.columns @ coef[0])[None]
    return problem.look_at(np.array([0]), np.array([lam]), intercept, coef, eta)


def _relative_gap(problem: L1Problems, point: L1Points) -> float:
    """Bound how far the objective is above its minimum, as a part of it."""
    design, is_free = problem.design, problem.free[0]
    share, outcome, eta = problem.shares(np.array([0])), problem.outcomes[0], point.eta[0]
    share = np.ravel(share)
    surprise = expit(np.where(outcome, -eta, eta))
    total = share @ np.where(outcome, surprise, 0.0), share @ np.where(outcome, 0.0, surprise)
    surprise *= min(total) / np.where(outcome, *total)
    sign = np.where(outcome, 1.0, -1.0)
    if is_free.any():
        # At a solution the free columns are all but balanced: a small step is enough.
        fixed = np.column_stack([np.ones(len(share)), dense(design.columns[:, is_free])])
        weight = share * surprise
        off = fixed.T @ (sign * weight)
        step = fixed @ np.linalg.lstsq(fixed.T @ (weight[:, None] * fixed), off)[0]
        if np.abs(step).max() >= 1:
            return 1.0
        surprise *= 1 - sign * step
        surprise /= max(1.0, float(surprise.max()))
    pull = (share * sign * surprise) @ design.columns
    steepest = float(np.abs(pull[problem.usable[0] & ~is_free]).max())
    surprise *= min(1.0, float(point.lam[0]) / steepest)
    bound = float(share @ (entr(surprise) + entr(1 - surprise)))
    # Rounding must not put the bound above the minimum.
    return max(0.0, 1 - bound / float(problem.objectives(point)[0]))


def _notes(
    lam_ratio: float | None, lam: FloatArray, lam_max: FloatArray, unsolved: Sequence[str]
) -> tuple[str, ...]:
    """Say what was fitted, and warn if a fit is not optimal."""
    if lam_ratio is not None:
        how = f"{lam_ratio:g} of"
    else:
        shares = (lam / np.where(lam_max > 0, lam_max, np.nan))[lam_max > 0]
        least, most = (
            (f"{share:.2g}" for share in (np.min(shares), np.max(shares)))
            if len(shares)
            else ("1", "1")
        )
        between = least if least == most else f"from {least} to {most}"
        how = f"what EBIC (gamma {_GAMMA:g}) chooses, {between} of"
    note = (
        f"The penalty of each label is {how} the smallest one at which all its coefficients are "
        "zero; coefficients are those of standardised features."
    )
    if not unsolved:
        return (note,)
    problem = (
        f"the l1-penalised fits of label(s) {exc.shorten(unsolved)} violate the optimality "
        f"conditions by more than {TOLERANCE:g} of the penalty; their coefficients are "
        "approximate. Raise lam_ratio."
    )
    exc.warn(problem, exc.ConvergenceWarning)
    return note, f"{problem[0].upper()}{problem[1:]}"
