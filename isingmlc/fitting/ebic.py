"""Networks of labels from l1-penalised label models, each with the penalty that EBIC chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import entr
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_number, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, chunks
from isingmlc.base.threads import one_thread
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.lasso import EXCLUDED, ROUNDING, Columns, Regressions, tolerance_at
from isingmlc.fitting.nodewise import FitSettings, fit_nodes
from isingmlc.fitting.reasons import Reason, judge_counts
from isingmlc.input.context import Context
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import LabelsetStatistics

CRITERIA = ("ebic", "bic", "aic")
RULES = ("and", "or")
# With fewer rows of one kind than this a label is left out.
TOO_RARE = 2
# glmnet ends a path where the explained fraction of the deviance is above the first of these, or
# has risen by less than the second, but not before so many penalties.
_EXPLAINED = 0.999
_RISE = 1e-5
_SHORTEST = 5
# Lower end of glmnet's paths as a part of the upper one, and where there are not more
# observations than columns.
_LOWEST = 1e-4
_LOWEST_WIDE = 1e-2
# Coefficients that a path may lose again after it was ended for a criterion.
_SPARE = 5
# Where only a criterion is looked for, paths are followed with violations up to this part of the
# penalty: one coefficient may be missed, or one too many be in. Near the end of a path there are no
# violations: above an explained fraction, or where it rises by less than so many times _RISE.
_ROUGH = 0.01
_DECIDED = 0.9
_DOUBTFUL = 20
# Labels are sparse columns if they have more entries than this, and fewer ones than this part.
_MANY = 2**20
_SPARSE = 0.1


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


@dataclass(frozen=True)
class L1Path:
    """Penalised regressions of one label, from the largest penalty down."""

    lam: FloatArray
    lam_max: float
    n_columns: int
    intercept: FloatArray
    coef: Any
    n_nonzero: IntArray
    llf: FloatArray
    explained: FloatArray
    kkt: FloatArray
    least_price: float

    def __post_init__(self) -> None:
        parts = (self.lam, self.intercept, self.coef.data, self.n_nonzero)
        for array in (*parts, self.llf, self.explained, self.kkt):
            array.flags.writeable = False

    @property
    def converged(self) -> bool:
        """Whether every penalty was solved to the tolerance."""
        return bool((self.kkt <= tolerance_at(self.lam)).all())


@dataclass(frozen=True, eq=False)
class FreeColumns:
    """What label models have without a penalty: the threshold, and covariates perhaps.

    A penalty keeps the other coefficients finite, so what is certain in the limit is what the free
    columns alone make certain. Rows at which a label is certain drop out of its regression.
    """

    columns: BoolArray
    limits: FloatArray
    aliased: BoolArray
    in_play: BoolArray | None = None

    @classmethod
    def of(
        cls, labels: BoolArray, weights: FloatArray, context: FloatArray, n_columns: int
    ) -> FreeColumns:
        """Free the threshold and the columns of a context in the models of all labels."""
        n_labels, n_context = labels.shape[1], context.shape[1]
        columns = np.zeros((n_labels, 1 + n_columns), dtype=np.bool_)
        columns[:, 0] = True
        limits, aliased = np.zeros(columns.shape), np.zeros((n_labels, n_context), dtype=np.bool_)
        if not n_context:
            return cls(columns, limits, aliased)
        alone = np.zeros((n_labels, n_labels), dtype=np.bool_)
        regressors = Regressors.of(labels, weights, context)
        nulls = fit_nodes(labels, weights, FitSettings(), alone, regressors=regressors)
        own = np.arange(1 + n_labels, regressors.n_columns)
        for label, null in enumerate(nulls):
            columns[label, own] = np.isin(own, null.basis)
            infinite = np.where(np.isfinite(null.coef), 0.0, null.coef)
            limits[label, 0], limits[label, own] = infinite[0], infinite[own]
            aliased[label] = np.isnan(infinite[own]) & (null.aliased[own] != 0).any(axis=1)
        in_play = np.array([null.in_play for null in nulls])
        return cls(columns, limits, aliased, None if in_play.all() else in_play)

    @property
    def uncertain(self) -> FloatArray:
        """The part of the rows at which each label is uncertain, shape (K,)."""
        if self.in_play is None:
            return np.ones(len(self.columns))
        return np.asarray(self.in_play.mean(axis=1))

    def warn(self, labels: StrArray, included: BoolArray, columns: Sequence[str]) -> None:
        """Say which labels covariates separate, and which covariates depend on others."""
        uncertain = self.uncertain
        determined = included & (uncertain == 0)
        separated = included & (uncertain > 0) & (uncertain < 1)
        lost = np.array(columns, dtype=object)[self.aliased[included].any(axis=0)]
        for template, concerned, kind in (
            (exc.DETERMINED_BY_COVARIATES, labels[determined], exc.SeparationWarning),
            (exc.SEPARATED_BY_COVARIATES, labels[separated], exc.SeparationWarning),
            (exc.ALIASED_COVARIATES, lost, exc.AliasingWarning),
        ):
            if len(concerned):
                exc.warn(template.format(names=exc.shorten(concerned)), kind)


class Chosen(NamedTuple):
    """The fits of some labels at one penalty each, with the smallest penalties without a fit."""

    fits: Regressions
    lam: FloatArray
    largest: FloatArray
    violation: FloatArray


@dataclass(frozen=True, eq=False)
class LabelModels:
    """The l1-penalised models of all labels: each on the others, covariates and features."""

    labels: BoolArray
    columns: Columns
    usable: BoolArray
    free: FreeColumns
    reasons: StrArray
    settings: NetworkSettings

    @classmethod
    def of(
        cls,
        labels: BoolArray,
        weights: FloatArray,
        context: FloatArray,
        features: Any,
        settings: NetworkSettings,
        *,
        min_count: float = TOO_RARE,
        rare_explain: bool = False,
    ) -> LabelModels:
        """Prepare the models on weighted rows or cells."""
        n_labels, n_context = labels.shape[1], context.shape[1]
        columns = Columns.of(_side_by_side(labels, context, features), weights)
        positives = weights @ labels
        reasons = judge_counts(np.minimum(positives, columns.nobs - positives), min_count)
        usable = columns.varies.copy()
        if not rare_explain:
            usable[:n_labels] &= reasons == Reason.OK
        if not settings.penalize_covariates:
            usable[n_labels : n_labels + n_context] = False
        free = FreeColumns.of(
            labels, weights, context[:, : 0 if settings.penalize_covariates else None], len(usable)
        )
        return cls(labels, columns, usable, free, reasons, settings)

    def exclude_determined(self) -> None:
        """Set the reason of labels that covariates determine."""
        self.reasons[(self.reasons == Reason.OK) & (self.free.uncertain == 0)] = (
            Reason.DETERMINED_LABEL
        )

    @property
    def price(self) -> float:
        """What the criterion charges per coefficient."""
        return self.settings.price(self.columns.nobs, int(self.usable.sum()) - 1)

    def blocks(self) -> list[IntArray]:
        """Return the labels that are fitted, some at a time."""
        fitted = np.flatnonzero(self.reasons == Reason.OK)
        return [fitted[some] for some in chunks(len(fitted), 32 * len(self.labels))]

    def usable_for(self, some: IntArray) -> BoolArray:
        """Mark the columns that are penalised in the models of some labels."""
        usable = np.tile(self.usable, (len(some), 1))
        usable[np.arange(len(some)), some] = False
        return usable & ~self.free.columns[some, 1:]

    def regressions(self, some: IntArray) -> Regressions:
        """Return the regressions of some labels; of copies the first has the coefficient."""
        free = self.free.columns[some]
        distinct = self.columns.leave_out_copies(self.usable_for(some), free[:, 1:])
        factors = np.where(free, 0.0, EXCLUDED)
        factors[:, 1:][distinct] = 1.0
        in_play = None if self.free.in_play is None else self.free.in_play[some]
        outcomes = np.ascontiguousarray(self.labels[:, some].T)
        return Regressions(self.columns, outcomes, factors, in_play)

    def in_units(self, some: IntArray, coef: FloatArray) -> FloatArray:
        """Return thresholds and coefficients in the units of the columns, a line per label."""
        slopes = self.columns.share_among_copies(coef[:, 1:], self.usable_for(some))
        slopes /= self.columns.scale
        found = np.column_stack([coef[:, 0] - slopes @ self.columns.center, slopes])
        limits = self.free.limits[some]
        return np.where(limits != 0, limits, found)

    def solve(self, some: IntArray, lam: FloatArray | None, ratio: float = 1.0) -> Chosen:
        """Fit some labels with given penalties, or parts of the largest."""
        fits, max_iter = self.regressions(some), self.settings.max_iter
        largest = fits.find_largest(max_iter)
        if lam is None:
            # Where nothing explains a label, rounding must not seem to.
            lam = np.where(largest > ROUNDING, ratio, 1.0) * largest
        return Chosen(fits, lam, largest, fits.descend(largest, lam, max_iter))

    def choose(self, some: IntArray) -> Chosen:
        """Fit some labels with the penalties that the criterion chooses, to the last digits."""
        paths = self._follow(some, rough=True)
        rough = [self.price * path.size + 2 * self.columns.nobs * path.loss for path in paths]
        near = [np.flatnonzero(each <= each.min() + self.price) for each in rough]
        model = np.repeat(np.arange(len(some)), [len(places) for places in near])
        lam, coef = (
            np.concatenate([getattr(path, name)[at] for path, at in zip(paths, near, strict=True)])
            for name in ("lam", "coef")
        )
        fits = self.regressions(some[model])
        fits.start_at(coef)
        violation = fits.solve(lam, self.settings.max_iter)
        criterion = self.price * fits.sizes + 2 * self.columns.nobs * fits.losses
        order = np.lexsort((criterion, model))
        is_best = np.zeros(len(model), dtype=np.bool_)
        is_best[order[np.unique(model[order], return_index=True)[1]]] = True
        fits.keep(is_best)
        largest = np.array([path.lam[0] for path in paths])
        return Chosen(fits, lam[is_best], largest, violation[is_best])

    def fit_paths(self, some: IntArray) -> list[L1Path]:
        """Fit the paths of some labels."""
        return list(map(self._in_user_units, some, self._follow(some)))

    def fit_at(self, some: IntArray, lam: FloatArray) -> list[L1Path]:
        """Fit some labels with given penalties, as paths of one penalty."""
        chosen = self.solve(some, lam)
        fits, largest = chosen.fits, chosen.largest.tolist()
        lines = zip(chosen.lam, fits.coef, fits.losses, fits.sizes, chosen.violation, strict=True)
        return list(map(self._in_user_units, some, [_Path.of([line]) for line in lines], largest))

    def _follow(self, some: IntArray, *, rough: bool = False) -> list[_Path]:
        """Fit one penalty after the other up to where paths end."""
        settings, nobs, price = self.settings, self.columns.nobs, self.price
        fits, null_loss = self.regressions(some), self._null_losses(some)
        largest = fits.find_largest(settings.max_iter)
        n_columns = self.usable_for(some).sum(axis=1) + self.free.columns[some, 1:].sum(axis=1)
        lowest = np.where(nobs > n_columns, _LOWEST, _LOWEST_WIDE)
        grid = largest[:, None] * np.geomspace(1, lowest, settings.n_lambda).T
        lines: list[list[Any]] = [[] for _ in some]
        least_price, best = np.zeros(len(some)), np.full(len(some), np.inf)
        left, loss, norm = np.arange(len(some)), fits.losses, fits.norms
        is_rough = np.full(len(some), rough)
        for place in range(settings.n_lambda):
            lam, loss_before, norm_before = grid[left, place], loss, norm
            # The first penalty of each label lets no column in.
            violation = fits.violations(lam)
            if place:
                enough = np.where(is_rough[left], _ROUGH * lam, 0.0)
                violation = fits.solve(lam, settings.max_iter, enough)
            loss, norm, size = fits.losses, fits.norms, fits.sizes
            found = lam, fits.coef.copy(), loss, size, violation
            for model, *line in zip(left, *found, strict=True):
                lines[model].append(line)
            explained, rise = 1 - loss / null_loss[left], (loss_before - loss) / null_loss[left]
            is_rough[left] &= (place == 0) | ((explained < _DECIDED) & (rise > _DOUBTFUL * _RISE))
            ended = (largest[left] <= ROUNDING) | (place + 1 == settings.n_lambda)
            if place + 1 >= _SHORTEST:
                ended |= explained > _EXPLAINED
                if not settings.whole_paths:
                    ended |= rise < _RISE
            criterion = price * size + 2 * nobs * loss
            if place:
                # The loss falls by at most the penalty times what the norm will still gain, which
                # is taken to go on as it does now.
                growth = (norm - norm_before) / (grid[left, place - 1] - lam)
                least = criterion - price * _SPARE - 2 * nobs * lam**2 * growth
                hopeless = (least >= best[left]) & (criterion > best[left])
                least_price[left[hopeless & ~ended]] = price
                ended |= hopeless
            best[left] = np.minimum(best[left], criterion)
            fits.keep(~ended)
            left, loss, norm = left[~ended], loss[~ended], norm[~ended]
            if not len(left):
                break
        return list(map(_Path.of, lines, least_price.tolist()))

    def _null_losses(self, some: IntArray) -> FloatArray:
        """Return the losses of the thresholds alone."""
        positives = self.columns.share @ self.labels[:, some]
        return np.asarray(entr(positives) + entr(1 - positives))

    def _in_user_units(self, label: int, path: _Path, largest: float | None = None) -> L1Path:
        """Return the fits of a label, in the units of its columns."""
        some = np.array([label])
        found = self.in_units(np.repeat(some, len(path.lam)), path.coef)
        return L1Path(
            lam=path.lam,
            lam_max=float(path.lam[0]) if largest is None else largest,
            n_columns=int(self.usable_for(some).sum()),
            intercept=found[:, 0].copy(),
            coef=sparse.csr_array(found[:, 1:]),
            n_nonzero=path.size,
            llf=-self.columns.nobs * path.loss,
            explained=1 - path.loss / self._null_losses(some),
            kkt=path.violation,
            least_price=path.least_price,
        )


@dataclass(frozen=True, eq=False)
class _Path:
    """Fits of one label in standardised columns, one line per penalty."""

    lam: FloatArray
    coef: FloatArray
    loss: FloatArray
    size: IntArray
    violation: FloatArray
    least_price: float

    @classmethod
    def of(cls, lines: Sequence[Sequence[Any]], least_price: float = 0.0) -> _Path:
        """Put fits together."""
        parts: list[Any] = [np.array(part) for part in zip(*lines, strict=True)]
        return cls(*[*parts, least_price])


def fit_paths(
    stats: LabelsetStatistics, rows: ModelData | None, lam: Any, *, intercept: bool, **choices: Any
) -> tuple[NetworkSettings, tuple[L1Path | None, ...]]:
    """Fit the paths of all labels; `IsingModel.fit_regularized` explains the arguments."""
    settings = NetworkSettings(**choices, fixed=lam is not None)
    if not intercept:
        raise exc.ModelError(exc.FREE_THRESHOLD.format(what="fit_regularized"))
    names = np.array(stats.label_names, dtype=object)
    if rows is None:
        parts = stats.patterns, stats.counts, stats.context.columns, None
    else:
        labels, weights, context = lay_out(rows)
        parts = labels, weights, context.columns, rows.features
    models = LabelModels.of(*parts, settings)
    included = models.reasons == Reason.OK
    if not included.all():
        exc.warn(
            f"label(s) {exc.shorten(names[~included])} have one row of one kind or none: they are "
            "left out of the network, without edges and without a threshold.",
            exc.DataWarning,
        )
    given = None if lam is None else _check_lam(lam, names, included)
    models.free.warn(names, included, stats.context.column_names)
    models.exclude_determined()
    paths: list[L1Path | None] = [None] * len(names)
    blocks = models.blocks()
    # Most of these matrices are small: more threads only get in each other's way.
    with (
        one_thread(),
        tqdm(total=sum(map(len, blocks)), desc="labels", disable=None, leave=False) as bar,
    ):
        for some in blocks:
            found = models.fit_paths(some) if given is None else models.fit_at(some, given[some])
            for label, path in zip(some.tolist(), found, strict=True):
                paths[label] = path
            bar.update(len(some))
    failed = names[[path is not None and not path.converged for path in paths]]
    if len(failed):
        message = exc.PATHS_NOT_CONVERGED.format(names=exc.shorten(failed), steps=settings.max_iter)
        exc.warn(message, exc.ConvergenceWarning)
    return settings, tuple(paths)


def lay_out(rows: ModelData) -> tuple[BoolArray, FloatArray, Context]:
    """Return the labels of rows, their weights, and the covariates that vary."""
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    return rows.labels, weights, rows.context.select(rows.context.find_varying(anywhere=True))


def _side_by_side(labels: BoolArray, context: FloatArray, features: Any) -> Any:
    """Put labels, columns of the context and features side by side."""
    many = features is None and labels.size > _MANY and labels.mean() < _SPARSE
    features = np.empty((len(labels), 0)) if features is None else features
    if many or sparse.issparse(features):
        parts = [sparse.csc_array(labels), sparse.csc_array(context), sparse.csc_array(features)]
        return sparse.hstack(parts, "csc", dtype=np.float64)
    return np.hstack([labels, context, features], dtype=np.float64)


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
