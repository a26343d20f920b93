"""Networks of labels from l1-penalised label models, each with the penalty that EBIC chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_number, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray, chunks
from isingmlc.base.threads import one_thread
from isingmlc.fitting.l1_design import Design, lay_out, side_by_side
from isingmlc.fitting.l1_free import FreeColumns
from isingmlc.fitting.l1_path import L1Path, l1_paths
from isingmlc.fitting.nodewise import FitSettings, fit_nodes
from isingmlc.fitting.regressors import Regressors
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import LabelsetStatistics

CRITERIA = ("ebic", "bic", "aic")
RULES = ("and", "or")
# With fewer rows of one kind than this a label is left out.
TOO_RARE = 2


@dataclass(frozen=True)
class NetworkSettings:
    """How a sparse network is fitted and chosen."""

    criterion: str = "ebic"
    gamma: float = 0.25
    rule: str = "and"
    features: bool = False
    penalize_covariates: bool = False
    max_iter: int = 100
    n_lambda: int = 100
    whole_paths: bool = False
    fixed: bool = False

    def __post_init__(self) -> None:
        check_option("criterion", self.criterion, CRITERIA)
        if isinstance(self.rule, str) and self.rule.lower() in RULES:
            # R's packages write it in capitals.
            object.__setattr__(self, "rule", self.rule.lower())
        check_option("rule", self.rule, RULES)
        check_option("features", self.features, (True, False))
        check_option("penalize_covariates", self.penalize_covariates, (True, False))
        check_option("whole_paths", self.whole_paths, (True, False))
        check_count("max_iter", self.max_iter, 1)
        check_count("n_lambda", self.n_lambda, 1)
        if check_number("gamma", self.gamma) < 0:
            raise exc.DataError(
                f"gamma must not be negative, but is {self.gamma!r}. 0 is BIC; networks are mostly "
                "chosen with 0.25 or 0.5."
            )

    def price(self, nobs: float, n_columns: int, criterion: str | None = None) -> float:
        """Return what a criterion charges per coefficient, beside −2 log-likelihood."""
        kind = self.criterion if criterion is None else criterion
        price = 2.0 if kind == "aic" else float(np.log(nobs))
        if kind == "ebic":
            price += 2 * self.gamma * float(np.log(max(n_columns, 1)))
        return price

    def choose(self, path: L1Path, nobs: float) -> int:
        """Return the place of the best fit on a path; the larger penalty if two are as good."""
        price = self.price(nobs, path.n_columns)
        return int((price * path.n_nonzero - 2 * path.llf).argmin())


def fit_paths(
    stats: LabelsetStatistics, rows: ModelData | None, lam: Any, *, intercept: bool, **choices: Any
) -> tuple[NetworkSettings, tuple[L1Path | None, ...]]:
    """Fit the paths of all labels; `IsingModel.fit_regularized` explains the arguments."""
    settings = NetworkSettings(**choices, fixed=lam is not None)
    if not intercept:
        raise exc.ModelError(exc.FREE_THRESHOLD.format(what="fit_regularized"))
    if rows is None:
        labels, weights, context = stats.patterns, stats.counts, stats.context.columns
        design = Design.of(side_by_side(labels, context), weights)
    else:
        labels, weights, covariates, design = lay_out(rows)
        context = covariates.columns
    positives = weights @ labels
    included = np.minimum(positives, weights.sum() - positives) >= TOO_RARE
    names = np.array(stats.label_names, dtype=object)
    if not included.all():
        exc.warn(
            f"label(s) {exc.shorten(names[~included])} have one row of one kind or none: they are "
            "left out of the network, without edges and without a threshold.",
            exc.DataWarning,
        )
    given = None if lam is None else _check_lam(lam, names, included)
    usable = design.varies.copy()
    usable[: len(names)] &= included
    free = FreeColumns.none(len(names), len(usable))
    if context.shape[1] and not settings.penalize_covariates:
        usable[len(names) : len(names) + context.shape[1]] = False
        free = FreeColumns.of(labels, weights, context, len(usable))
        free.warn(names, included, stats.context.column_names)
        included &= ~free.determined
    price = settings.price(stats.nobs, int(usable.sum()) - 1)
    largest_llf = np.zeros(len(names))
    if rows is None and given is None and included.any():
        regressors = Regressors.of(labels[:, included], weights, context)
        fits = fit_nodes(labels[:, included], weights, FitSettings(), regressors=regressors)
        largest_llf[included] = [fit.llf if fit.converged else 0.0 for fit in fits]
    paths: list[L1Path | None] = [None] * len(names)
    # What the points of a label take, and its coefficients on the path.
    bytes_each = 8 * (len(weights) + settings.n_lambda * len(usable))
    # Most of these matrices are small: more threads only get in each other's way.
    with (
        one_thread(),
        tqdm(total=int(included.sum()), desc="labels", disable=None, leave=False) as bar,
    ):
        for block in chunks(int(included.sum()), bytes_each):
            explained = np.flatnonzero(included)[block]
            others = np.tile(usable, (len(explained), 1))
            others[np.arange(len(explained)), explained] = False
            found = l1_paths(
                design,
                np.ascontiguousarray(labels[:, explained].T),
                others,
                None if given is None else given[explained],
                free=free.take(explained),
                price=price,
                largest_llf=largest_llf[explained],
                n_lambda=settings.n_lambda,
                max_iter=settings.max_iter,
                whole=settings.whole_paths,
            )
            for label, path in zip(explained, found, strict=True):
                paths[label] = path
            bar.update(len(explained))
    failed = names[[path is not None and not path.converged for path in paths]]
    if len(failed):
        message = exc.PATHS_NOT_CONVERGED.format(names=exc.shorten(failed), steps=settings.max_iter)
        exc.warn(message, exc.ConvergenceWarning)
    return settings, tuple(paths)


def _check_lam(lam: Any, names: StrArray, included: BoolArray) -> FloatArray:
    """Return one penalty per label; those of labels that are left out do not matter."""
    if isinstance(lam, Mapping | pd.Series):
        lacking = [name for name in names[included] if name not in lam]
        if lacking:
            raise exc.DataError(
                f"lam must have a penalty for every label, but has none for {exc.shorten(lacking)}."
            )
        lam = [lam.get(name) for name in names]
    lam = lam.tolist() if isinstance(lam, np.ndarray) else lam
    is_list = isinstance(lam, Iterable) and not isinstance(lam, str)
    penalties = list(lam) if is_list else [lam] * len(names)
    if len(penalties) != len(names):
        raise exc.DataError(
            f"lam must be a number or one number per label ({len(names)}), but has "
            f"{len(penalties)}."
        )
    checked = [
        check_number("lam", penalty, above=0) if matters else np.nan
        for penalty, matters in zip(penalties, included, strict=True)
    ]
    return np.array(checked)
