"""Joint pseudo-likelihood: all label models at once, with one interaction per pair of labels.

The product of the likelihoods of all labels given the others, as a function of coefficients that
the models share, is that of one logistic regression with K rows per row of the data. Rows that
separation makes certain drop out, as everywhere; they are found among the rows of all models
together, as what raises a row of one label may lower a row of another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.logistic import maximize, proves_overlap
from isingmlc.fitting.regressors import Regressors
from isingmlc.fitting.separation import CERTAIN, Columns, independent_columns
from isingmlc.fitting.shared import SharedFit, SharedTerms, counted_direction, drop_certain

# Newton steps after which a fit that has not converged is looked at for separation.
_LOOK = 8


def fit_pseudo(
    patterns: BoolArray,
    counts: FloatArray,
    terms: SharedTerms,
    max_iter: int,
    regressors: Regressors,
) -> tuple[SharedFit, BoolArray]:
    """Fit all label models with shared coefficients."""
    rows = _StackedRows(terms, regressors, patterns.T)
    whole = rows.independent(np.ones(patterns.size, dtype=np.bool_))
    uncertain, directions = np.ones(patterns.size, dtype=np.bool_), []
    away = counted_direction(patterns.astype(np.float64), terms)
    if away.any():
        uncertain = rows.margins(away) <= CERTAIN
        directions.append(away)
    values, steps, is_final = np.zeros(terms.n_terms), 0, False
    outcomes, weights = rows.outcomes.reshape(1, -1), np.tile(counts, len(rows.outcomes))
    while True:
        chosen = rows.independent(uncertain)
        start = np.zeros(terms.n_terms)
        start[chosen.kept] = chosen.carry_over(values)
        design = SharedCoefficients(terms, regressors, chosen.kept)
        left = max_iter - steps
        fits = maximize(
            design,
            outcomes,
            weights * uncertain,
            terms.n_terms,
            start=start[None],
            max_iter=left if is_final else min(left, _LOOK),
        )
        values, steps = fits.coef[0], steps + int(fits.steps[0])
        if is_final or proves_overlap(design, fits, (weights * uncertain)[None])[0]:
            break
        # A Newton step moves the margins of certain rows most.
        moves, candidates = rows.margins(fits.step[0]), np.flatnonzero(uncertain)
        candidates = candidates[np.argsort(-moves[candidates], kind="stable")]
        space = np.eye(terms.n_terms)[:, chosen.kept]
        found = drop_certain(rows, candidates, space, uncertain)
        if found is None:
            is_final = True
        else:
            uncertain, direction = found
            directions.append(direction)
    shared = SharedFit(
        basis=chosen.kept,
        basis_coef=values[chosen.kept],
        directions=np.array(directions).reshape(-1, terms.n_terms),
        aliased=whole.null_space,
        unidentified=chosen.null_space,
        llf=min(float(fits.llf[0]), 0.0),
        iterations=steps,
        converged=bool(fits.converged[0]),
    )
    return shared, uncertain.reshape(patterns.T.shape)


@dataclass(frozen=True, eq=False)
class SharedCoefficients:
    """The design of one model whose rows are those of all label models; see `logistic.Design`."""

    terms: SharedTerms
    regressors: Regressors
    basis: IntArray

    def predict(self, models: IntArray, coef: FloatArray) -> FloatArray:
        """Return linear predictors."""
        found = self.terms.gather(coef) @ self.regressors.matrix.T
        return np.asarray(found.reshape(len(coef), -1))

    def gradient(self, models: IntArray, residuals: FloatArray) -> FloatArray:
        """Return Z'e."""
        by_label = residuals.reshape(len(residuals), len(self.terms.place), -1)
        whole = self.terms.add_up(by_label @ self.regressors.matrix)
        gradient = np.zeros_like(whole)
        gradient[:, self.basis] = whole[:, self.basis]
        return gradient

    def information(self, models: IntArray, weights: FloatArray) -> FloatArray:
        """Return Z'WZ."""
        information = np.zeros((len(weights), self.terms.n_terms, self.terms.n_terms))
        inside = self.basis[:, None], self.basis
        for own, line in zip(information, weights, strict=True):
            by_label = line.reshape(len(self.terms.place), -1)
            own[inside] = self.terms.add_up_squares(self.regressors.products.under(by_label))[
                inside
            ]
        return information

    def quadratic(self, models: IntArray, matrices: FloatArray) -> FloatArray:
        """Return z'Mz of each row."""
        place = self.terms.place
        forms = []
        for matrix in matrices:
            padded = np.pad(matrix, (0, 1))
            by_label = padded[place[:, :, None], place[:, None, :]]
            forms.append(self.regressors.products.quadratic_forms(by_label).ravel())
        return np.array(forms)


@dataclass(frozen=True, eq=False)
class _StackedRows:
    """Signed rows of all label models, those of the first label first."""

    terms: SharedTerms
    regressors: Regressors
    outcomes: BoolArray

    def take(self, rows: IntArray) -> FloatArray:
        """Write out signed regressors of some rows."""
        labels, cells = np.divmod(rows, self.outcomes.shape[1])
        written = np.zeros((len(rows), self.terms.n_terms + 1))
        signs = np.where(self.outcomes[labels, cells], 1.0, -1.0)
        signed = signs[:, None] * self.regressors.matrix[cells]
        # Positions that a model does not have share a last column, which is left out.
        np.put_along_axis(written, self.terms.place[labels] % written.shape[1], signed, axis=1)
        return written[:, :-1]

    def margins(self, direction: FloatArray) -> FloatArray:
        """Return the margins of all rows along a direction."""
        moved = self.terms.gather(direction) @ self.regressors.matrix.T
        return np.where(self.outcomes, moved, -moved).ravel()

    def independent(self, uncertain: BoolArray) -> Columns:
        """Choose coefficients that uncertain rows tell apart."""
        by_label = uncertain.reshape(self.outcomes.shape).astype(np.float64)
        return independent_columns(
            self.terms.add_up_squares(self.regressors.products.under(by_label))
        )

    def null_space(self, uncertain: BoolArray) -> FloatArray:
        """Return directions, as columns, that move no uncertain row."""
        return self.independent(uncertain).null_space
