"""Networks fitted again to other counts of the same cells: a bootstrap draw, a half, a group.

A network of labels depends on the rows through the counts of cells alone, so resampling rows is
resampling counts. Label models of all draws go through Newton's method together, from the fit of
all rows. What does not come to a proven maximum there, because the draw separates a label or a
label does not vary in it, is fitted again by itself, with the limit that any other fit would have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray, chunks
from isingmlc.base.threads import one_thread
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.ebic import LabelModels, NetworkSettings
from isingmlc.fitting.lasso import tolerance_at
from isingmlc.fitting.logistic import SharedDesign, maximize, proves_overlap
from isingmlc.fitting.nodewise import (
    FitSettings,
    NetworkFit,
    NodeFit,
    fit_nodes,
    ridge_penalty,
)
from isingmlc.fitting.reasons import Reason
from isingmlc.networks.weights import pair_weights

# What the models of the draws that are fitted together may take.
_BLOCK_BYTES = 2**25
# Draws that are handed over at a time, at most.
_MOST_DRAWS = 50
# Newton steps after which a model that has not converged is fitted by itself.
_LOOK = 8


class Networks(NamedTuple):
    """Networks of the same labels."""

    thresholds: FloatArray
    weights: FloatArray
    reasons: StrArray

    @classmethod
    def join(cls, parts: Iterable[Networks]) -> Networks:
        """Put networks one after the other."""
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


# Networks, perhaps with more about each.
Fitted = TypeVar("Fitted", bound=tuple[Any, ...])
# Labels, columns of the covariates, and counts of cells.
Cells: TypeAlias = tuple[BoolArray, FloatArray, FloatArray]


class Refits(Protocol):
    """What fits networks to counts."""

    def fit_counts(self, counts: FloatArray) -> Networks:
        """Fit one network per line of counts."""

    def fit_tables(self, tables: Sequence[Cells]) -> Networks:
        """Fit one network to each table of cells."""


@dataclass(frozen=True, eq=False)
class PlainRefits:
    """Networks without selection, each as the fit of all rows."""

    patterns: BoolArray
    counts: FloatArray
    columns: FloatArray
    settings: FitSettings
    neighbors: BoolArray
    start: FloatArray | None

    @classmethod
    def of(cls, fit: NetworkFit) -> PlainRefits:
        """Prepare for other counts of the cells of a fit."""
        regressors, nodes = fit.regressors, fit.nodes
        neighbors = np.array([node.neighbors for node in nodes])
        uses = regressors.used_by(neighbors, fit.settings.intercept)
        start = np.zeros((len(nodes), regressors.n_columns))
        for node in nodes:
            start[node.label, node.basis] = node.basis_coef
        is_plain = not fit.settings.is_firth and all(
            node.in_play.all() and node.converged and len(node.basis) == own.sum()
            for node, own in zip(nodes, uses, strict=True)
        )
        stats = fit.stats
        return cls(
            stats.patterns,
            stats.counts,
            stats.context.columns,
            fit.settings,
            neighbors,
            start if is_plain else None,
        )

    @cached_property
    def regressors(self) -> Regressors:
        """The columns of all label models."""
        return Regressors.of(
            self.patterns, self.counts, self.columns, intercept=self.settings.intercept
        )

    def fit_counts(self, counts: FloatArray) -> Networks:
        """Fit one network per line of counts."""
        if self.start is None:
            return Networks.join(self._fit_alone(line) for line in counts)
        # These matrices are small: more threads only get in each other's way.
        with one_thread():
            each = 8 * len(self.start) * (8 * len(self.patterns) + 4 * self.start.shape[1] ** 2)
            parts = [
                self._fit_together(counts[some], self.start)
                for some in chunks(len(counts), each, limit=_BLOCK_BYTES)
            ]
        return Networks.join(parts)

    def _fit_together(self, counts: FloatArray, start: FloatArray) -> Networks:
        """Fit the label models of several draws in one go."""
        regressors, (n_labels, n_columns) = self.regressors, start.shape
        n_draws, penalty = len(counts), ridge_penalty(self.settings, regressors)
        uses = regressors.used_by(self.neighbors, self.settings.intercept)
        design = SharedDesign(regressors.products, np.tile(uses, (n_draws, 1)))
        rows = np.repeat(counts, n_labels, axis=0)
        fits = maximize(
            design,
            np.tile(self.patterns.T, (n_draws, 1)),
            rows,
            n_columns,
            penalty=0.0 if penalty is None else penalty,
            start=np.tile(start, (n_draws, 1)),
            max_iter=min(_LOOK, self.settings.max_iter),
        )
        proven = proves_overlap(design, fits, rows).reshape(n_draws, n_labels)
        coefs = regressors.in_units(fits.coef.T).T.reshape(n_draws, n_labels, n_columns)
        networks = self._name(coefs, np.full(proven.shape, Reason.OK))
        for at in np.flatnonzero(~proven.all(axis=1)).tolist():
            alone = self._fit_alone(counts[at])
            for whole, own in zip(networks, alone, strict=True):
                whole[at] = own[0]
        return networks

    def _fit_alone(self, counts: FloatArray) -> Networks:
        """Fit the label models of one draw on the cells that it has."""
        present = counts > 0
        return self.fit_cells(self.patterns[present], self.columns[present], counts[present])

    def fit_cells(self, patterns: BoolArray, columns: FloatArray, counts: FloatArray) -> Networks:
        """Fit one network to cells of its own."""
        intercept = self.settings.intercept
        regressors = Regressors.of(patterns, counts, columns, intercept=intercept)
        constant = np.asarray(patterns.all(axis=0) | ~patterns.any(axis=0))
        reasons = np.where(constant, Reason.CONSTANT_LABEL, Reason.OK).astype(object)
        try:
            fits: tuple[NodeFit, ...] = fit_nodes(
                patterns, counts, self.settings, self.neighbors, regressors=regressors
            )
        except exc.ModelError:  # whether labels are separated could not be decided
            unknown = np.full((1, len(constant), regressors.n_columns), np.nan)
            reasons[~constant] = Reason.NOT_CONVERGED
            return self._name(unknown, reasons[None])
        return self.name_fits(fits, constant)

    def name_fits(self, fits: Sequence[NodeFit], constant: BoolArray) -> Networks:
        """Return the network of fitted label models."""
        reasons = np.where(constant, Reason.CONSTANT_LABEL, Reason.OK).astype(object)
        coefs = np.array([fit.coef for fit in fits])
        failed = np.array([not fit.converged for fit in fits]) & ~constant
        coefs[failed] = np.nan
        reasons[failed] = Reason.NOT_CONVERGED
        # The coefficients that a label without variance seems to have say nothing.
        coefs[constant] = np.nan
        coefs[:, 1 : 1 + len(fits)][:, constant] = np.nan
        return self._name(coefs[None], reasons[None])

    def fit_tables(self, tables: Sequence[Cells]) -> Networks:
        """Fit one network to each table of cells."""
        return Networks.join(self.fit_cells(*cells) for cells in tables)

    def _name(self, coefs: FloatArray, reasons: StrArray) -> Networks:
        """Return thresholds and weights of coefficients, draws × labels × columns."""
        n_labels = coefs.shape[1]
        slopes = coefs[:, :, 1 : 1 + n_labels].copy()
        slopes[:, np.eye(n_labels, dtype=np.bool_)] = np.nan
        thresholds = coefs[:, :, 0] if self.settings.intercept else np.zeros(coefs.shape[:2])
        weights = pair_weights(slopes, self.neighbors)
        return Networks(thresholds.copy(), weights, reasons.astype(object))


@dataclass(frozen=True, eq=False)
class SparseRefits:
    """Networks by l1-penalised label models, the penalty chosen anew in each."""

    patterns: BoolArray
    columns: FloatArray
    settings: NetworkSettings
    lam: FloatArray | None

    def fit_counts(self, counts: FloatArray) -> Networks:
        """Fit one network per line of counts; see `PlainRefits.fit_counts`."""
        present = counts > 0
        return self.fit_tables(
            [
                (self.patterns[own], self.columns[own], line[own])
                for line, own in zip(counts, present, strict=True)
            ]
        )

    def fit_tables(self, tables: Sequence[Cells]) -> Networks:
        """Fit one network to each table of cells; see `PlainRefits.fit_tables`."""
        with one_thread():
            return Networks.join(self.fit_cells(*cells) for cells in tables)

    def fit_cells(self, patterns: BoolArray, columns: FloatArray, counts: FloatArray) -> Networks:
        """Fit one network to cells of its own; see `PlainRefits.fit_cells`."""
        n_labels = patterns.shape[1]
        models = LabelModels.of(patterns, counts, columns, None, self.settings)
        models.exclude_determined()
        left_out = models.reasons != Reason.OK
        slopes, thresholds = np.zeros((n_labels, n_labels)), np.full(n_labels, np.nan)
        for some in models.blocks():
            lam = self.lam
            chosen = models.choose(some) if lam is None else models.solve(some, lam[some])
            found = models.in_units(some, chosen.fits.coef)
            thresholds[some], slopes[some] = found[:, 0], found[:, 1 : 1 + n_labels]
            failed = chosen.violation > tolerance_at(chosen.lam)
            models.reasons[some[failed]] = Reason.NOT_CONVERGED
        weights = (slopes + slopes.T) / 2
        if self.settings.rule == "and":
            weights = np.where((slopes != 0) & (slopes.T != 0), weights, 0.0)
        weights[left_out] = weights[:, left_out] = np.nan
        np.fill_diagonal(weights, 0.0)
        return Networks(thresholds[None], weights[None], models.reasons[None])


def refit_draws(
    fit: Callable[[Any], Fitted],
    draw: Callable[[int], Any],
    n_draws: int,
    n_jobs: int,
    what: str,
) -> Fitted:
    """Fit the networks of many draws, some at a time."""
    sizes = [part.stop - part.start for part in chunks(n_draws, width=_MOST_DRAWS)]

    def jobs() -> Iterator[Any]:
        for size in sizes:
            yield delayed(fit)(draw(size))

    found = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="2*n_jobs")(jobs())
    parts = []
    with tqdm(total=n_draws, desc=what, disable=None, leave=False) as bar:
        for size, part in zip(sizes, found, strict=True):
            parts.append(part)
            bar.update(size)
    kind: Any = type(parts[0])
    joined: Fitted = kind(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    return joined
