r"""l1-penalised logistic regressions of each label on the other labels and all features.

For label k, with the other labels and the features as standardised columns z, the minimum of

.. math:: -\frac{1}{n} \sum_i w_i \log P(y_{ik} | a + z_i'b) + \lambda_k \|b\|_1

over a free intercept a and coefficients b is found in two stages. liblinear goes nearly all of
the way, also if features separate the label, as those of texts do. But it penalises the
intercept, and stops where coefficients may still move by a tenth and depend on the random order
of its steps. So proximal Newton steps, which leave the intercept free, end what it began.
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
from isingmlc.base.arguments import check_count, check_jobs, check_number
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray
from isingmlc.fitting.l1_path import NO_GRADIENT, Design, L1Point, L1Problem, lay_out
from isingmlc.fitting.newton import thread_pools
from isingmlc.fitting.testable import Reason, judge_counts, judge_features
from isingmlc.input.rows import ModelData

# Largest violation of the optimality conditions, as a part of the penalty, that goes unmentioned.
TOLERANCE = 1e-5
# How liblinear is run. It penalises the intercept divided by the first of these. With a smaller
# tolerance it takes longer over digits that Newton steps give at once; with a larger one it leaves
# them too much to do if there are more columns than rows.
_INTERCEPT_SCALING = 100.0
_LIBLINEAR_TOLERANCE = 1e-5
_LIBLINEAR_STEPS = 1000
# scikit-learn 1.8 spells the l1 penalty anew, and warns of the old spelling.
_IS_RENAMED = getattr(LogisticRegression(), "penalty", "deprecated") == "deprecated"
_L1: dict[str, Any] = {"l1_ratio": 1.0} if _IS_RENAMED else {"penalty": "l1"}
# Newton steps after which a label is given up; a handful is usual.
_NEWTON_STEPS = 100


@dataclass(frozen=True)
class L1Fits:
    r"""l1-penalised regressions of all labels.

    Attributes
    ----------
    coefficients : ndarray, shape (m, K)
        Coefficients of the m features, in the models of the K labels, on the scale of
        standardised columns. NaN for constant features and for labels that were not fitted.
    label_coefficients : ndarray, shape (K, K)
        Coefficients of the labels, likewise: entry (l, k) is that of label l in the model of
        label k. NaN on the diagonal.
    original_coefficients, original_label_coefficients : ndarray
        The same, on the scale of the columns as they were given.
    intercept : ndarray, shape (K,)
        Intercepts that belong to the coefficients on the original scale.
    lam, lam_max : ndarray, shape (K,)
        Penalties on the scale of the mean log-likelihood, and the smallest ones at which every
        coefficient is zero. Both are 0 if no column is correlated with the label.
    violation : ndarray, shape (K,)
        Largest violation of the optimality conditions, as a part of the penalty: how far the
        gradient of the mean log-likelihood is from 0 (intercept), from :math:`\pm\lambda`
        (coefficients other than zero), or beyond :math:`\pm\lambda` (the others).
    gap : ndarray, shape (K,)
        Duality gap as a part of the objective: by no more could it still fall.
    feature_reason : ndarray of object, shape (m,)
        ``ok`` or ``constant-feature``.
    label_reason : ndarray of object, shape (K,)
        ``ok``, ``constant-label`` or ``too-rare``.
    feature_names, label_names : tuple of str
        Names of the features used and of the labels.
    notes : tuple of str
        Sentences that say what was fitted.
    """

    coefficients: FloatArray
    label_coefficients: FloatArray
    original_coefficients: FloatArray
    original_label_coefficients: FloatArray
    intercept: FloatArray
    lam: FloatArray
    lam_max: FloatArray
    violation: FloatArray
    gap: FloatArray
    feature_reason: StrArray
    label_reason: StrArray
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Give one row per label: its penalty, and how nearly its regression is optimal.

        Returns
        -------
        DataFrame
            Columns lam, lam_max, violation, gap and reason.

        Examples
        --------
        >>> import isingmlc as im
        >>> ranking = im.rank_features(im.datasets.load_example(), method="l1")
        >>> bool((ranking.fits.to_frame()["violation"] < 1e-5).all())
        True
        """
        columns = {
            "lam": self.lam,
            "lam_max": self.lam_max,
            "violation": self.violation,
            "gap": self.gap,
            "reason": self.label_reason,
        }
        return pd.DataFrame(columns, pd.Index(self.label_names, name="label"))


class _NodeFit(NamedTuple):
    """The regression of one label on the columns of a design."""

    intercept: float
    coef: FloatArray
    lam: float = 0.0
    lam_max: float = 0.0
    violation: float = 0.0
    gap: float = 0.0


def fit_l1(
    data: ModelData,
    lam_ratio: float = 1e-4,
    *,
    min_count: int = 2,
    n_jobs: int = 1,
) -> L1Fits:
    r"""Fit an l1-penalised logistic regression of each label on the other labels and features.

    Parameters
    ----------
    data : ModelData
        The rows.
    lam_ratio : float
        The penalty of each label, as a part of the smallest one at which all its coefficients are
        zero; above 0, at most 1.
    min_count : int
        Labels with fewer rows of one kind are too rare to fit. They still explain other labels.
    n_jobs : int
        Processes to use; −1 for one per core.

    Returns
    -------
    L1Fits
        The fits.

    Raises
    ------
    DataError
        For arguments out of their range.

    Warns
    -----
    ConvergenceWarning
        When fits violate the optimality conditions by more than 1e-5 of the penalty.

    Notes
    -----
    Columns are divided by their standard deviations, with the weights and without a correction of
    the degrees of freedom. The smallest penalty at which all coefficients of label k are zero is
    :math:`\max_j |\sum_i w_i z_{ij} (y_{ik} - \bar y_k)| / n`.

    If columns are copies of each other, the fit is not unique: the sum of their coefficients is,
    its division among them is not. Processes, unlike threads, do not share the generator of
    random numbers inside liblinear, so that the fits do not depend on `n_jobs`.

    References
    ----------
    .. [1] Ravikumar, P., Wainwright, M. J. and Lafferty, J. D. (2010). High-dimensional Ising
       model selection using l1-regularized logistic regression. *Ann. Statist.* 38(3),
       1287–1319.
    .. [2] Yuan, G.-X., Ho, C.-H. and Lin, C.-J. (2012). An improved GLMNET for l1-regularized
       logistic regression. *J. Mach. Learn. Res.* 13, 1999–2030.
    .. [3] Koh, K., Kim, S.-J. and Boyd, S. (2007). An interior-point method for large-scale
       l1-regularized logistic regression. *J. Mach. Learn. Res.* 8, 1519–1555.

    Examples
    --------
    >>> from isingmlc import datasets
    >>> from isingmlc.input.rows import prepare
    >>> example = datasets.load_example()
    >>> fits = fit_l1(prepare(example.labels, example.features), lam_ratio=0.1)
    >>> fits.coefficients.shape, fits.label_coefficients.shape
    ((30, 6), (6, 6))
    >>> bool(fits.violation.max() < 1e-5)
    True
    """
    ratio = check_number("lam_ratio", lam_ratio, above=0, at_most=1)
    least, jobs = check_count("min_count", min_count, 0), check_jobs(n_jobs)
    labels, weights, design = lay_out(data)
    n_labels = labels.shape[1]
    minority = np.minimum(weights @ labels, weights @ ~labels)
    label_reason = judge_counts(minority, least)
    fitted = np.flatnonzero(label_reason == Reason.OK)
    results = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_fit_node)(design, labels, label, ratio) for label in fitted
    )
    bar = tqdm(results, "l1 fits", len(fitted), disable=None, leave=False)
    coefficients = np.full((len(design.scale), n_labels), np.nan)
    intercept, lam, lam_max, violation, gap = (np.full(n_labels, np.nan) for _ in range(5))
    for label, fit in zip(fitted, bar, strict=True):
        coefficients[:, label] = np.where(design.varies, fit.coef, np.nan)
        coefficients[label, label] = np.nan
        intercept[label], lam[label], lam_max[label] = fit.intercept, fit.lam, fit.lam_max
        violation[label], gap[label] = fit.violation, fit.gap
    original = coefficients / design.scale[:, None]
    notes = _notes(ratio, [data.label_names[at] for at in np.flatnonzero(violation > TOLERANCE)])
    return L1Fits(
        coefficients=coefficients[n_labels:],
        label_coefficients=coefficients[:n_labels],
        original_coefficients=original[n_labels:],
        original_label_coefficients=original[:n_labels],
        intercept=intercept - np.nansum(original * design.center[:, None], axis=0),
        lam=lam,
        lam_max=lam_max,
        violation=violation,
        gap=gap,
        feature_reason=judge_features(~design.varies[n_labels:], label_reason),
        label_reason=label_reason,
        feature_names=data.feature_names,
        label_names=data.label_names,
        notes=notes,
    )


def _fit_node(design: Design, labels: BoolArray, label: int, lam_ratio: float) -> _NodeFit:
    """Fit one label, by liblinear and then by Newton steps to the end."""
    usable = design.varies.copy()
    usable[label] = False
    # Most of these matrices are small: more threads only get in each other's way.
    with thread_pools().limit(limits=1, user_api="blas"):
        solver = L1Problem(design, labels[:, label], usable)
        null = solver.null_point()
        lam_max = float(np.abs(null.gradient).max(initial=0.0))
        if lam_max <= NO_GRADIENT:
            return _NodeFit(null.intercept, null.coef)
        lam = lam_ratio * lam_max
        start = null
        if lam < lam_max:
            start = _run_liblinear(solver, lam)
        point = solver.solve(start, lam, lam, _NEWTON_STEPS)
        gap = _relative_gap(solver, point)
    return _NodeFit(point.intercept, point.coef, lam, lam_max, point.violation / lam, gap)


def _run_liblinear(solver: L1Problem, lam: float) -> L1Point:
    """Give liblinear's solution, which has a slightly penalised intercept."""
    design, usable = solver.design, solver.usable
    columns = design.columns[:, usable]
    if sparse.issparse(columns):
        # liblinear takes rows with indices of 32 bits.
        rows = sparse.csr_array(columns)
        kind = sparse.get_index_dtype(maxval=max(rows.nnz, *rows.shape))
        parts = rows.data, rows.indices.astype(kind), rows.indptr.astype(kind)
        columns = sparse.csr_array(parts, shape=rows.shape)
    regression = LogisticRegression(
        solver="liblinear",
        C=1 / (design.nobs * lam),
        intercept_scaling=_INTERCEPT_SCALING,
        tol=_LIBLINEAR_TOLERANCE,
        max_iter=_LIBLINEAR_STEPS,
        random_state=0,
        **_L1,
    )
    with warnings.catch_warnings():
        # Whether the fit is optimal is seen, and said, at the end.
        warnings.simplefilter("ignore", LiblinearWarning)
        regression.fit(columns, solver.outcome, sample_weight=design.nobs * design.share)
    coef = np.zeros(len(usable))
    coef[usable] = regression.coef_[0]
    intercept = float(regression.intercept_[0])
    return solver.look_at(lam, intercept, coef, intercept + design.columns @ coef)


def _relative_gap(solver: L1Problem, point: L1Point) -> float:
    r"""Bound how far the objective is above its minimum, as a part of it.

    The dual problem is to maximise the mean entropy of probabilities :math:`\theta` for which
    :math:`\sum_i \pm w_i \theta_i = 0` and :math:`|\sum_i \pm w_i \theta_i z_{ij}| / n \le
    \lambda`, the sign that of the outcome. Those of what did not happen, scaled until they meet
    both conditions, give a bound from below.
    """
    share, outcome = solver.design.share, solver.outcome
    surprise = expit(np.where(outcome, -point.eta, point.eta))
    total = share @ np.where(outcome, surprise, 0.0), share @ np.where(outcome, 0.0, surprise)
    surprise *= min(total) / np.where(outcome, *total)
    pull = (share * np.where(outcome, surprise, -surprise)) @ solver.design.columns
    steepest = np.abs(pull[solver.usable]).max()
    surprise *= min(1.0, point.lam / steepest)
    bound = float(share @ (entr(surprise) + entr(1 - surprise)))
    # Rounding must not put the bound above the minimum.
    return max(0.0, 1 - bound / point.objective)


def _notes(lam_ratio: float, unsolved: Sequence[str]) -> tuple[str, ...]:
    """Say what was fitted, and warn if a fit is not optimal."""
    note = (
        f"The penalty of each label is {lam_ratio:g} of the smallest one at which all its "
        "coefficients are zero; coefficients are those of standardised features."
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
