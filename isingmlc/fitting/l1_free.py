"""Columns that l1-penalised label models have without a penalty, as they have their threshold.

A penalty keeps the coefficients of other columns finite. So what is certain in the limit of the
penalised models is what the free columns alone make certain, and that is found once, as exactly as
for models without a penalty. Rows at which a label is certain drop out of its regressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, chunks
from isingmlc.fitting.nodewise import FitSettings, fit_nodes
from isingmlc.fitting.regressors import Regressors


@dataclass(frozen=True, eq=False)
class FreeColumns:
    """Which columns are free of the penalty, one line per outcome."""

    columns: BoolArray
    in_play: BoolArray | None
    limits: FloatArray
    aliased: BoolArray

    @classmethod
    def none(cls, n_outcomes: int, n_columns: int) -> FreeColumns:
        """Return no free column at all."""
        nowhere = np.zeros((n_outcomes, n_columns), dtype=np.bool_)
        return cls(nowhere, None, np.zeros((n_outcomes, 1 + n_columns)), nowhere)

    @classmethod
    def of(
        cls, labels: BoolArray, weights: FloatArray, context: FloatArray, n_columns: int
    ) -> FreeColumns:
        """Free the columns of the context in the models of all labels."""
        n_labels, n_context = labels.shape[1], context.shape[1]
        if not n_context:
            return cls.none(n_labels, n_columns)
        # The models of the labels do not have each other, so that some can be fitted at a time.
        place = slice(n_labels, n_labels + n_context)
        columns = np.zeros((n_labels, n_columns), dtype=np.bool_)
        aliased = np.zeros_like(columns)
        in_play = np.empty(labels.T.shape, dtype=np.bool_)
        limits = np.zeros((n_labels, 1 + n_columns))
        for block in chunks(n_labels, 32 * len(weights)):
            some = labels[:, block]
            alone = np.zeros((some.shape[1], some.shape[1]), dtype=np.bool_)
            regressors = Regressors.of(some, weights, context)
            nulls = fit_nodes(some, weights, FitSettings(), alone, regressors=regressors)
            for label, null in enumerate(nulls, block.start):
                own = np.arange(regressors.n_columns - n_context, regressors.n_columns)
                columns[label, place] = np.isin(own, null.basis)
                in_play[label] = null.in_play
                runs = np.where(np.isfinite(null.coef), 0.0, null.coef)
                limits[label, 0], limits[label, 1:][place] = runs[0], runs[own]
                aliased[label, place] = np.isnan(runs[own]) & (null.aliased[own] != 0).any(axis=1)
        return cls(columns, None if in_play.all() else in_play, limits, aliased)

    def take(self, lines: BoolArray | IntArray) -> FreeColumns:
        """Return some of the lines."""
        in_play = None if self.in_play is None else self.in_play[lines]
        return FreeColumns(self.columns[lines], in_play, self.limits[lines], self.aliased[lines])

    def put_limits(self, line: int, intercept: FloatArray, coef: FloatArray) -> None:
        """Write into fits of one outcome what runs off or is not identified."""
        limit = self.limits[line]
        if limit[0] != 0:
            intercept[:] = limit[0]
        coef[:, limit[1:] != 0] = limit[1:][limit[1:] != 0]

    @property
    def determined(self) -> BoolArray:
        """Outcomes that the free columns determine in every row, shape (k,)."""
        if self.in_play is None:
            return np.zeros(len(self.columns), dtype=np.bool_)
        return np.asarray(~self.in_play.any(axis=1))

    def warn(self, labels: StrArray, included: BoolArray, columns: Sequence[str]) -> None:
        """Say which labels covariates separate, and which covariates depend on others."""
        determined = self.determined & included
        separated = ~determined & included
        separated &= False if self.in_play is None else ~self.in_play.all(axis=1)
        aliased = self.aliased[included, len(labels) : len(labels) + len(columns)]
        lost = np.array(columns, dtype=object)[aliased.any(axis=0)]
        for template, concerned, kind in (
            (exc.DETERMINED_BY_COVARIATES, labels[determined], exc.SeparationWarning),
            (exc.SEPARATED_BY_COVARIATES, labels[separated], exc.SeparationWarning),
            (exc.ALIASED_COVARIATES, lost, exc.AliasingWarning),
        ):
            if len(concerned):
                exc.warn(template.format(names=exc.shorten(concerned)), kind)
