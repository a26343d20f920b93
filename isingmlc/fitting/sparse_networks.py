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
from isingmlc.base.arrays import BoolArray, StrArray
from isingmlc.fitting.l1_path import Design, L1Path, l1_path, lay_out
from isingmlc.fitting.newton import thread_pools
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import LabelsetStatistics

CRITERIA = ("ebic", "bic", "aic")
RULES = ("and", "or")
# With fewer rows of one kind than this a label is left out.
TOO_RARE = 2


@dataclass(frozen=True)
class NetworkSettings:
    """How a sparse network is fitted and chosen.

    Attributes
    ----------
    criterion : {"ebic", "bic", "aic"}
        What chooses the penalty of each label.
    gamma : float
        The parameter of EBIC.
    rule : {"and", "or"}
        Whether an edge needs both of its coefficients or one.
    features : bool
        Whether the label models have the features besides the other labels.
    max_iter : int
        Newton steps after which a penalty is given up.
    fixed : bool
        Whether the user gave the penalties, so that nothing is chosen.
    """

    criterion: str = "ebic"
    gamma: float = 0.25
    rule: str = "and"
    features: bool = False
    max_iter: int = 100
    fixed: bool = False

    def __post_init__(self) -> None:
        check_option("criterion", self.criterion, CRITERIA)
        check_option("rule", self.rule, RULES)
        check_option("features", self.features, (True, False))
        check_count("max_iter", self.max_iter, 1)
        if check_number("gamma", self.gamma) < 0:
            raise exc.DataError(
                f"gamma must not be negative, but is {self.gamma!r}. 0 is BIC; networks are mostly "
                "chosen with 0.25 or 0.5."
            )


def fit_paths(
    stats: LabelsetStatistics,
    rows: ModelData | None,
    lam: Any,
    *,
    intercept: bool,
    n_lambda: int,
    **choices: Any,
) -> tuple[NetworkSettings, tuple[L1Path | None, ...]]:
    """Fit the paths of all labels; `IsingModel.fit_regularized` explains the arguments.

    The label models have the features besides the other labels if rows are given.
    """
    settings = NetworkSettings(**choices, fixed=lam is not None)
    n_lambda = check_count("n_lambda", n_lambda, 1)
    if not intercept:
        raise exc.ModelError(exc.FREE_THRESHOLD.format(what="fit_regularized"))
    if rows is None:
        labels, weights = stats.patterns, stats.counts
        design = Design.of(labels, weights)
    else:
        labels, weights, design = lay_out(rows)
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
    usable = np.ones(design.columns.shape[1], dtype=np.bool_)
    usable[: len(names)] = included
    paths: list[L1Path | None] = [None] * len(names)
    # Most of these matrices are small: more threads only get in each other's way.
    with thread_pools().limit(limits=1, user_api="blas"):
        for label in tqdm(np.flatnonzero(included), desc="labels", disable=None, leave=False):
            usable[label] = False
            paths[label] = l1_path(
                design,
                labels[:, label],
                usable,
                None if given is None else given[label],
                n_lambda=n_lambda,
                max_iter=settings.max_iter,
            )
            usable[label] = True
    failed = names[[path is not None and not path.converged for path in paths]]
    if len(failed):
        message = exc.NOT_CONVERGED.format(names=exc.shorten(failed), steps=settings.max_iter)
        exc.warn(message, exc.ConvergenceWarning)
    return settings, tuple(paths)


def _check_lam(lam: Any, names: StrArray, included: BoolArray) -> list[float]:
    """Give one penalty per label; those of labels that are left out do not matter."""
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
    return [
        check_number("lam", penalty, above=0) if matters else np.nan
        for penalty, matters in zip(penalties, included, strict=True)
    ]
