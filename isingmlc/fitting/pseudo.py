"""Joint pseudo-likelihood: all label models at once, with one interaction per pair of labels.

The product of the likelihoods of all labels given the others, as a function of coefficients that
the models share, is that of one logistic regression with K rows per row of the data. Newton's
method adds up gradients and informations of the label models. Rows that separation settles drop
out, as everywhere; they are found on rows of all models together, as what settles a row of one
label may do harm to a row of another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.faces import counted_direction, find_settled, settling_direction
from isingmlc.fitting.newton import LEAST_MARGIN, Points, Solution, climb, inverse, newton_step
from isingmlc.fitting.old_separation import Columns, independent_columns, peel
from isingmlc.fitting.regressors import Regressors
from isingmlc.fitting.shared import SharedFit, SharedTerms

# Steps after which a fit that does not collapse is looked at for separation.
_PATIENCE = 8
# Margins are no further from zero than this by rounding, in units of a direction's own size.
_ROUNDING = 1e-6


def fit_pseudo(
    patterns: BoolArray,
    counts: FloatArray,
    terms: SharedTerms,
    max_iter: int,
    regressors: Regressors,
) -> tuple[SharedFit, BoolArray]:
    """Fit all label models with shared coefficients."""
    table = _Stacked(terms, regressors, np.where(patterns.T, 1.0, -1.0), counts)
    everywhere = np.ones(table.signs.shape, dtype=np.bool_)
    whole = table.independent(everywhere)
    in_play, directions = _settle_by_counting(table)
    start, steps, is_final = np.zeros(terms.n_terms), 0, False
    nobs = float(counts.sum())
    while True:
        chosen = whole if in_play.all() else table.independent(in_play)
        solution = _climb(table, chosen, in_play, start, max_iter - steps, is_final)
        steps += solution.steps
        start = np.zeros(terms.n_terms)
        start[chosen.kept] = solution.coef
        if is_final or solution.proves_overlap(regressors.radius_squared, nobs):
            break
        space = np.eye(terms.n_terms)[:, chosen.kept]
        # A step moves the margins of rows that are settled, and hardly any other.
        moves = table.move(space @ solution.step)
        rows = np.flatnonzero(in_play)
        found = find_settled(table, rows[np.argsort(-moves[rows], kind="stable")], space)
        if found is None:
            is_final = True
            continue
        in_play = in_play & ~found.reshape(in_play.shape)
        away = table.independent(in_play).null_space
        directions.append(settling_direction(table, np.flatnonzero(found), away))
        start = _carry_over(table.independent(in_play), start)
    shared = SharedFit(
        basis=chosen.kept,
        basis_coef=solution.coef,
        directions=np.array(directions).reshape(-1, terms.n_terms),
        aliased=whole.null_space,
        unidentified=chosen.null_space,
        llf=min(table.value(start, in_play), 0.0),
        iterations=steps,
        converged=solution.converged,
    )
    return shared, in_play


@dataclass(frozen=True, eq=False)
class _Stacked:
    """The rows of all label models, those of the first label first."""

    terms: SharedTerms
    regressors: Regressors
    signs: FloatArray
    counts: FloatArray

    def take(self, rows: IntArray) -> FloatArray:
        """Write out signed regressors of some rows."""
        labels, cells = np.divmod(rows, self.signs.shape[1])
        written = np.zeros((len(rows), self.terms.n_terms + 1))
        signed = self.signs[labels, cells, None] * self.regressors.matrix[cells]
        # Positions that a model does not have share a last column, which is left out.
        np.put_along_axis(written, self.terms.place[labels] % written.shape[1], signed, axis=1)
        return written[:, :-1]

    def move(self, direction: FloatArray) -> FloatArray:
        """Return the margins of all rows along a direction."""
        moved = self.terms.gather(direction) @ self.regressors.matrix.T
        return np.asarray((self.signs * moved).ravel())

    def independent(self, in_play: BoolArray) -> Columns:
        """Choose coefficients that rows in play tell apart."""
        matrix = self.regressors.matrix
        largest = np.maximum(np.abs(matrix).max(axis=1), 1.0)
        crossing = self.regressors.pairs.crossing(self.terms.columns)
        crossed = crossing(range(len(in_play)), in_play / largest**2)
        return independent_columns(self.terms.add_up_squares(crossed))

    def value(self, values: FloatArray, in_play: BoolArray) -> float:
        """Return the log pseudo-likelihood of the rows in play."""
        margins = self.move(values).reshape(in_play.shape)
        return float((in_play * -np.logaddexp(0.0, -margins)).sum(axis=0) @ self.counts)


def _settle_by_counting(table: _Stacked) -> tuple[BoolArray, list[FloatArray]]:
    """Settle rows by empty cells of pairs, and by the context, which is each label's own."""
    terms, regressors = table.terms, table.regressors
    n_labels, directions = len(table.signs), []
    in_play = np.ones(table.signs.shape, dtype=np.bool_)
    away = counted_direction(regressors.matrix[:, 1 : 1 + n_labels], terms)
    if away.any():
        in_play = (table.move(away) <= _ROUNDING).reshape(in_play.shape)
        directions.append(away)
    context = 1 + n_labels + np.flatnonzero(regressors.binary[1 + n_labels :])
    if not len(context):
        return in_play, directions
    has_thresholds = bool((terms.place[:, 0] >= 0).all())
    uses = np.ones((n_labels, len(context)), dtype=np.bool_)
    columns = regressors.matrix[:, context]
    in_play, found = peel(table.signs.T > 0, columns, uses, has_thresholds, in_play)
    positions = np.concatenate([[0], context])
    for turn in range(max(map(len, found))):
        lines = np.zeros(terms.place.shape)
        for label, own in enumerate(found):
            if turn < len(own):
                lines[label, positions] = own[turn]
        directions.append(terms.add_up(lines))
    return in_play, directions


def _climb(
    table: _Stacked,
    chosen: Columns,
    in_play: BoolArray,
    start: FloatArray,
    max_steps: int,
    is_final: bool,
) -> Solution:
    """Maximise the pseudo-likelihood of the rows in play."""
    terms, signs, design = table.terms, table.signs, table.regressors.matrix
    counts, at = table.counts * in_play, chosen.kept
    crossing = table.regressors.pairs.crossing(terms.columns)

    def spread(coef: FloatArray) -> FloatArray:
        values = np.zeros(terms.n_terms)
        values[at] = coef
        return values

    def margins(_: int, coef: FloatArray) -> FloatArray:
        return table.move(spread(coef))[in_play.ravel()]

    def evaluate(_: IntArray, coefs: FloatArray) -> Points:
        odds = np.exp(-np.maximum(table.move(spread(coefs[0])), LEAST_MARGIN)).reshape(signs.shape)
        chance = 1 / (1 + odds)
        value, pull = -float((counts * np.log1p(odds)).sum()), counts * (odds * chance)
        gradient = terms.add_up((signs * pull) @ design)[at]
        crossed = crossing(range(len(signs)), pull * chance)
        information = terms.add_up_squares(crossed)[np.ix_(at, at)]
        step = newton_step(information, gradient) if len(at) else np.zeros(0)
        if step is None:
            return Points.of_one(value, np.zeros(len(at)), np.nan, information)
        return Points.of_one(value, step, float(gradient @ step), information)

    ends = climb(
        evaluate,
        start[None, at],
        max_steps,
        patience=_PATIENCE,
        gives_up=None if is_final else lambda *_: True,
        margins=margins,
    )
    return ends.solution(0, inverse(ends.curvature[0]))


def _carry_over(chosen: Columns, values: FloatArray) -> FloatArray:
    """Return coefficients of chosen columns with the linear predictor of all."""
    carried = np.zeros(len(values))
    carried[chosen.kept] = chosen.carry_over(values)
    return carried
