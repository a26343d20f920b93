r"""l1-penalised logistic regressions of each label on the other labels and all features.

For label k, with the other labels and the features as standardised columns z, the minimum of

.. math:: -\frac{1}{n} \sum_i w_i \log P(y_{ik} | a + z_i'b) + \lambda_k \|b\|_1

over a free intercept a and coefficients b is found. Covariates are further columns of every model,
free of the penalty as the intercept is unless they are to be penalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_jobs, check_number, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, dense
from isingmlc.base.tables import ResultTable
from isingmlc.base.threads import one_thread
from isingmlc.fitting.ebic import LabelModels, NetworkSettings, lay_out
from isingmlc.fitting.lasso import Columns
from isingmlc.fitting.reasons import Reason, without_labels
from isingmlc.input.rows import ModelData

# Largest violation of the optimality conditions, as a part of the penalty, that goes unmentioned.
TOLERANCE = 1e-5
# Who chooses penalties if no number does, from so many on the path of a label, and its gamma.
EBIC = "ebic"
_N_LAMBDA = 50
_GAMMA = 0.5
# What is left of a column given others is rounding below this part of its size.
_DEPENDENT = 1e-12


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
            "reason": self.label_reason,
        }
        return ResultTable(columns, pd.Index(self.label_names, name="label"))


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
    settings = NetworkSettings(
        gamma=_GAMMA, n_lambda=_N_LAMBDA, whole_paths=True, penalize_covariates=penalize_covariates
    )
    labels, weights, context = lay_out(data)
    models = LabelModels.of(
        labels,
        weights,
        context.columns,
        data.features,
        settings,
        min_count=least,
        rare_explain=True,
    )
    names = np.array(data.label_names, dtype=object)
    models.free.warn(names, models.reasons == Reason.OK, context.column_names)
    models.exclude_determined()
    n_labels, n_others = labels.shape[1], labels.shape[1] + len(context.column_names)
    scale, varies = models.columns.scale, models.columns.varies
    original, pull = np.full((2, len(scale), n_labels), np.nan)
    intercept, lam, lam_max, violation = np.full((4, n_labels), np.nan)
    fitted = np.flatnonzero(models.reasons == Reason.OK)
    results = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_fit_label)(models, label, ratio) for label in fitted
    )
    bar = tqdm(results, "l1 fits", len(fitted), disable=None, leave=False)
    for label, fit in zip(fitted, bar, strict=True):
        usable = models.usable_for(np.array([label]))[0]
        is_known = usable | models.free.columns[label, 1:] | (models.free.limits[label, 1:] != 0)
        original[:, label] = np.where(is_known, fit.coef[1:], np.nan)
        pull[:, label] = np.where(usable, fit.pull, np.nan)
        intercept[label], lam[label], lam_max[label] = fit.coef[0], fit.lam, fit.lam_max
        violation[label] = fit.violation
    feature_reason = np.full(len(scale) - n_others, Reason.OK, dtype=object)
    if not penalize_covariates:
        covariates = np.arange(n_labels, n_others)
        feature_reason[_explained_by(models.columns, covariates)[n_others:]] = (
            Reason.COLLINEAR_FEATURE
        )
    feature_reason[~varies[n_others:]] = Reason.CONSTANT_FEATURE
    notes = _notes(ratio, lam, lam_max, names[violation > TOLERANCE])
    if len(context):
        how = "penalised like the other labels" if penalize_covariates else "without a penalty"
        notes = (f"Every penalised model has {', '.join(context.described)}, {how}.", *notes)
    coefficients = original * np.where(varies, scale, 1.0)[:, None]
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
        pull=pull[n_others:],
        feature_reason=without_labels(feature_reason, models.reasons),
        label_reason=models.reasons,
        feature_names=data.feature_names,
        label_names=data.label_names,
        covariate_columns=context.column_names,
        notes=notes,
    )


class _LabelFit(NamedTuple):
    """The regression of one label, in the units of its columns; gradients are of standardised."""

    coef: FloatArray
    pull: FloatArray
    lam: float
    lam_max: float
    violation: float


def _fit_label(models: LabelModels, label: int, ratio: float | None) -> _LabelFit:
    """Fit one label, with a part of its largest penalty or the one that EBIC chooses."""
    some = np.array([label])
    # Most of these matrices are small: more threads only get in each other's way.
    with one_thread():
        chosen = models.choose(some) if ratio is None else models.solve(some, None, ratio)
    gradient, usable = chosen.fits.gradient[:, 1:], models.usable_for(some)
    pull = np.abs(models.columns.share_among_copies(gradient, usable))[0]
    lam = float(chosen.lam[0])
    return _LabelFit(
        models.in_units(some, chosen.fits.coef)[0],
        pull,
        lam,
        float(chosen.largest[0]),
        float(chosen.violation[0]) / lam,
    )


def _explained_by(columns: Columns, places: IntArray) -> BoolArray:
    """Mark the columns that are linear functions of some of them and a constant."""
    root = np.sqrt(columns.share)[:, None]
    basis = root * dense(columns.matrix[:, np.append(0, 1 + places)])
    left, sizes, _ = np.linalg.svd(basis, full_matrices=False)
    left = left[:, sizes > _DEPENDENT * sizes[0]]
    inside = np.asarray((root * left).T @ columns.matrix)[:, 1:]
    # The mean square of a column of unit variance, and what the others explain of it.
    square = 1 + np.square(np.asarray(columns.share @ columns.matrix)[1:])
    return np.asarray(square - np.square(inside).sum(axis=0) <= _DEPENDENT * square)


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


def _notes(
    lam_ratio: float | None, lam: FloatArray, lam_max: FloatArray, unsolved: StrArray
) -> tuple[str, ...]:
    """Say what was fitted, and warn if a fit is not optimal."""
    if lam_ratio is not None:
        how = f"{lam_ratio:g} of"
    else:
        fitted = ~np.isnan(lam)
        shares = (lam / lam_max)[fitted] if fitted.any() else np.ones(1)
        least, most = f"{shares.min():.2g}", f"{shares.max():.2g}"
        between = least if least == most else f"from {least} to {most}"
        how = f"what EBIC (gamma {_GAMMA:g}) chooses, {between} of"
    note = (
        f"The penalty of each label is {how} the smallest one at which all its coefficients are "
        "zero; coefficients are those of standardised features."
    )
    if not len(unsolved):
        return (note,)
    problem = (
        f"the l1-penalised fits of label(s) {exc.shorten(unsolved)} violate the optimality "
        f"conditions by more than {TOLERANCE:g} of the penalty; their coefficients are "
        "approximate. Raise lam_ratio."
    )
    exc.warn(problem, exc.ConvergenceWarning)
    return note, f"{problem[0].upper()}{problem[1:]}"
