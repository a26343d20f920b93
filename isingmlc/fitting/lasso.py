r"""l1-penalised logistic regressions of many outcomes on the same columns.

For each outcome this is the minimum of

.. math:: -\frac{1}{n} \sum_g N_g \log P(y_g | z_g'b) + \lambda \sum_j f_j |b_j|

over the coefficients b of a constant and of standardised columns. The factor f of a column is 0
where it is free of the penalty, as the constant is. Proximal Newton steps minimise a quadratic
approximation of the loss in the columns that have a coefficient or nearly enter; the gradient in
all columns tells which others violate the optimality conditions. All outcomes take their steps
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, dense

# Largest violation of the optimality conditions of a solution, also as a part of the penalty. Where
# rounding lets them, solutions go a thousandth further.
TOLERANCE = 1e-9
_RELATIVE = 1e-3
_FURTHER = 1e-3
# Rounding in gradients and objectives.
ROUNDING = 1e-14
# A column enters a quadratic approximation for a gradient that is above its penalty by this.
_ENTRY = 1e-13
# Keeps systems solvable where columns depend on each other; solutions do not depend on it.
_JITTER = 1e-12
# An approximation is renewed when a step leaves more than this part of the violation.
_STALE = 0.02
# Columns take part in approximations from this part of the penalty on.
_NEAR = 0.9
# A step must bring this part of the decrease that is expected, and is halved so often for it.
_DECREASE = 1e-4
_HALVINGS = 30
# Log-odds beyond this are certain.
_CERTAIN = 700.0
# Variances below this part of the mean square are the rounding of zero.
_CONSTANT = 1e-24
# Columns are copies of each other where their correlation is this near to 1 or −1.
_COPY = 1e-9
# The penalty factor of columns that take no part.
EXCLUDED = 1e200
# On the way to a penalty each one is at least this part of the one before, and violations are at
# most this part of the penalty.
_STRIDE = 0.5
_ENOUGH = 0.1


def tolerance_at(lam: Any) -> Any:
    """Return the violation that a solution may have."""
    return np.minimum(TOLERANCE, _RELATIVE * lam) + ROUNDING


@dataclass(frozen=True, eq=False)
class Columns:
    """A constant and standardised columns, on rows with weights; sparse ones are not centred."""

    matrix: Any
    center: FloatArray
    scale: FloatArray
    share: FloatArray
    nobs: float

    @classmethod
    def of(cls, columns: Any, weights: FloatArray) -> Columns:
        """Standardise columns."""
        nobs = float(weights.sum())
        share = weights / nobs
        mean = np.asarray(share @ columns, dtype=np.float64)
        ones = np.ones((len(share), 1))
        if sparse.issparse(columns):
            matrix = sparse.hstack([ones, columns], "csc", dtype=np.float64)
            stored = np.diff(matrix.indptr)
            deviation, is_stored = matrix.copy(), matrix.copy()
            deviation.data = np.square(matrix.data - np.repeat(np.append(1.0, mean), stored))
            is_stored.data = np.ones(len(matrix.data))
            full = stored[1:] == len(share)
            unstored = np.where(full, 0.0, 1 - (share @ is_stored)[1:])
            variance = (share @ deviation)[1:] + unstored * mean**2
            center = np.where(full, mean, 0.0)
        else:
            matrix = np.asfortranarray(np.hstack([ones, columns], dtype=np.float64))
            matrix[:, 1:] -= mean
            variance = share @ np.square(matrix[:, 1:])
            center = mean
        # If all values are alike, their mean may be off by a rounding.
        varies = variance > _CONSTANT * (variance + mean**2)
        scale = np.sqrt(np.where(varies, variance, np.inf))
        if sparse.issparse(columns):
            matrix.data -= np.repeat(np.append(0.0, center), stored)
            matrix.data /= np.repeat(np.append(1.0, scale), stored)
        else:
            matrix[:, 1:] /= scale
        return cls(matrix, center, scale, share, nobs)

    @property
    def varies(self) -> BoolArray:
        """Marks of the columns that are not constant, shape (q,)."""
        return np.isfinite(self.scale)

    def predict(self, coef: FloatArray) -> FloatArray:
        """Return linear predictors, a line per outcome."""
        return np.ascontiguousarray(coef @ self.matrix.T)

    def cross(self, places: IntArray, weight: FloatArray) -> FloatArray:
        """Return the weighted cross-products of some columns."""
        if not sparse.issparse(self.matrix):
            lines = self.matrix.T[places]
            return np.asarray((lines * weight) @ lines.T)
        columns = self.matrix[:, places]
        weighted = columns.copy()
        weighted.data *= weight[columns.indices]
        return dense(weighted.T @ columns)

    @cached_property
    def copies(self) -> list[tuple[IntArray, FloatArray]]:
        """Columns that are copies of each other, mirrored ones too, and their signs."""
        # Random sums are equal for copies, and hardly ever for others.
        numbers = self.share * np.random.default_rng(0).normal(size=len(self.share))
        numbers -= numbers.sum() * self.share
        sums = np.abs(np.asarray(numbers @ self.matrix))[1:]
        order = np.argsort(sums, kind="stable")
        order = order[self.varies[order]]
        apart = np.flatnonzero(np.diff(sums[order]) > _COPY * sums[order][1:]) + 1
        found = []
        for run in np.split(order, apart):
            if len(run) > 1:
                members = np.sort(run)
                values = dense(self.matrix[:, 1 + members])
                values = values - self.share @ values
                correlation = (self.share * values[:, 0]) @ values
                alike = np.abs(correlation) > 1 - _COPY
                if alike.sum() > 1:
                    found.append((members[alike], np.sign(correlation[alike])))
        return found

    def leave_out_copies(self, usable: BoolArray, free: BoolArray) -> BoolArray:
        """Mark the first of all usable columns that are copies of each other."""
        first = usable & ~free
        for members, _ in self.copies:
            inside = first[:, members] & ~free[:, members].any(axis=1, keepdims=True)
            first[:, members] = inside & (np.cumsum(inside, axis=1) == 1)
        return first

    def share_among_copies(self, values: FloatArray, usable: BoolArray) -> FloatArray:
        """Share the values of the first of all copies equally among the usable ones."""
        shared = values.copy()
        for members, signs in self.copies:
            inside = usable[..., members]
            total = np.where(inside, values[..., members] * signs, 0.0).sum(axis=-1, keepdims=True)
            shares = total * signs / np.maximum(inside.sum(axis=-1, keepdims=True), 1)
            shared[..., members] = np.where(inside, shares, values[..., members])
        return shared


def minimize_quadratics(
    gram: FloatArray, slope: FloatArray, penalty: FloatArray, start: FloatArray
) -> FloatArray:
    """Minimise b'Gb/2 − s'b + Σ penalty·|b| exactly, for several G and s, by active sets."""
    minima, left = start.copy(), np.arange(len(start))
    coef, sign, entered = start.copy(), np.sign(start), np.zeros(start.shape, dtype=np.bool_)
    # Far more rounds than are ever needed: rounding must not make it go in circles.
    for _ in range(50 + 10 * start.shape[1]):
        free = penalty == 0
        active = (sign != 0) | free
        goal = _solve_active(gram, slope - penalty * sign, active)
        crossing = active & ~free & (goal * sign <= 0)
        is_cut = crossing.any(axis=1)
        is_done = np.zeros(len(left), dtype=np.bool_)
        if is_cut.any():
            goal, dropped, length = _cut(gram, slope, penalty, coef, goal, crossing)
            sign[dropped] = 0.0
            # Only rounding had brought in what goes at once.
            is_done = is_cut & (length == 0) & (dropped == entered).all(axis=1)
        coef = goal
        pull = slope - (gram @ coef[..., None])[..., 0]
        entered = ~is_cut[:, None] & ~active & (np.abs(pull) > penalty + _ENTRY)
        sign[entered] = np.sign(pull[entered])
        is_done |= ~is_cut & ~entered.any(axis=1)
        if is_done.any():
            minima[left[is_done]] = coef[is_done]
            stays = ~is_done
            left, gram, slope, penalty = left[stays], gram[stays], slope[stays], penalty[stays]
            coef, sign, entered = coef[stays], sign[stays], entered[stays]
            if not len(left):
                return minima
    minima[left] = coef
    return minima


def _solve_active(gram: FloatArray, target: FloatArray, active: BoolArray) -> FloatArray:
    """Solve systems in their active columns alone; the others get zero."""
    width = int(active.sum(axis=1).max(initial=0))
    order = np.argsort(~active, axis=1, kind="stable")[:, :width]
    lines = np.arange(len(gram))[:, None]
    is_in = active[lines, order]
    system = gram[lines[:, :, None], order[:, :, None], order[:, None, :]]
    system *= is_in[:, :, None] & is_in[:, None, :]
    system[:, np.arange(width), np.arange(width)] += ~is_in
    solution = np.linalg.solve(system, (target[lines, order] * is_in)[..., None])[..., 0]
    goal = np.zeros_like(target)
    goal[lines, order] = solution
    return goal


def _cut(
    gram: FloatArray,
    slope: FloatArray,
    penalty: FloatArray,
    coef: FloatArray,
    goal: FloatArray,
    crossing: BoolArray,
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Drop coefficients that change their sign: all if that is better, or the first on the way."""

    def objective(at: FloatArray) -> FloatArray:
        linear = (penalty * np.abs(at) - slope * at).sum(axis=1)
        return np.asarray(linear + ((gram @ at[..., None])[..., 0] * at).sum(axis=1) / 2)

    clipped = np.where(crossing, 0.0, goal)
    is_better = objective(clipped) < objective(coef)
    way = np.where(crossing, coef / np.where(crossing & (coef != goal), coef - goal, 1.0), 2.0)
    length = np.minimum(way.min(axis=1), 1.0)
    partly = coef + length[:, None] * (goal - coef)
    dropped = crossing & (is_better[:, None] | (way <= length[:, None]))
    partly[dropped] = 0.0
    length[is_better] = 1.0
    return np.where(is_better[:, None], clipped, partly), dropped, length


class Regressions:
    """Where the l1-penalised regressions of several outcomes stand, one line per outcome."""

    def __init__(
        self,
        columns: Columns,
        outcomes: BoolArray,
        factors: FloatArray,
        in_play: BoolArray | None = None,
    ) -> None:
        self.columns, self.outcomes, self.factors = columns, outcomes, factors
        self.share = np.broadcast_to(columns.share, outcomes.shape)
        if in_play is not None:
            self.share = self.share * in_play
        n_outcomes = len(outcomes)
        coef = np.zeros(factors.shape)
        coef[:, 0] = logit((outcomes * self.share).sum(axis=1) / self.share.sum(axis=1))
        self._working = np.zeros(factors.shape, dtype=np.bool_)
        self._is_stale = np.ones(n_outcomes, dtype=np.bool_)
        self._grams = [np.zeros((0, 0))] * n_outcomes
        self.start_at(coef)

    def start_at(self, coef: FloatArray) -> None:
        """Go to some coefficients."""
        self.coef = coef
        self.eta, self.gradient = self._look(np.arange(len(coef)), coef)
        self._is_stale[:] = True

    def keep(self, lines: BoolArray) -> None:
        """Leave out the other outcomes."""
        for name in ("outcomes", "factors", "share", "coef", "eta", "gradient"):
            setattr(self, name, getattr(self, name)[lines])
        self._working, self._is_stale = self._working[lines], self._is_stale[lines]
        self._grams = [self._grams[line] for line in np.flatnonzero(lines)]

    @property
    def is_penalized(self) -> BoolArray:
        """Marks of the columns that have a penalty."""
        return (self.factors > 0) & (self.factors < EXCLUDED)

    @property
    def losses(self) -> FloatArray:
        """Mean negative log-likelihoods."""
        return self._losses(np.arange(len(self.eta)), self.eta)

    @property
    def sizes(self) -> IntArray:
        """How many penalised coefficients are not zero."""
        return np.asarray(((self.coef != 0) & self.is_penalized).sum(axis=1))

    @property
    def norms(self) -> FloatArray:
        """The l1 norms of the penalised coefficients."""
        return np.asarray(np.where(self.is_penalized, np.abs(self.coef), 0.0).sum(axis=1))

    def violations(self, lam: FloatArray) -> FloatArray:
        """Return how far the fits are from being optimal for some penalties."""
        return _violations(lam[:, None] * self.factors, self.coef, self.gradient)

    def find_largest(self, max_iter: int) -> FloatArray:
        """Fit what has no penalty; return the smallest penalties at which nothing else enters."""
        # A penalty that lets nothing in.
        self.solve(np.full(len(self.coef), 1 / ROUNDING), max_iter)
        pulls = np.abs(self.gradient) / np.where(self.is_penalized, self.factors, np.inf)
        return np.asarray(pulls.max(axis=1, initial=ROUNDING))

    def descend(self, largest: FloatArray, lam: FloatArray, max_iter: int) -> FloatArray:
        """Solve for penalties by way of larger ones."""
        top = np.maximum(largest, lam)
        n_steps = int(np.ceil(np.log((lam / top).min(initial=1.0)) / np.log(_STRIDE)))
        for at in range(1, n_steps):
            part = at / n_steps
            between = top ** (1 - part) * lam**part
            self.solve(between, max_iter, _ENOUGH * between)
        return self.solve(lam, max_iter)

    def solve(self, lam: FloatArray, max_iter: int, enough: FloatArray | float = 0.0) -> FloatArray:
        """Find the solutions for some penalties, up to a violation; return their violations."""
        penalty = lam[:, None] * self.factors
        tolerance = np.maximum(tolerance_at(lam), enough)
        aim = np.maximum(_FURTHER * tolerance_at(lam), np.maximum(enough, ROUNDING))
        violation = _violations(penalty, self.coef, self.gradient)
        before, least = np.full(len(lam), np.inf), violation.copy()
        for _ in range(max_iter):
            slow = violation > before / 2
            at = np.flatnonzero(
                (violation > aim) & (violation != before) & ~(slow & (violation <= tolerance))
            )
            if not len(at):
                break
            before[at] = violation[at]
            self._step(at, penalty[at], least[at])
            violation[at] = _violations(penalty[at], self.coef[at], self.gradient[at])
            self._is_stale[at] = violation[at] > _STALE * before[at]
            least = np.minimum(least, violation)
        return violation

    def _step(self, at: IntArray, penalty: FloatArray, least: FloatArray) -> None:
        """Go to the minima of quadratic approximations, or as far that way as it helps."""
        self._renew(at, penalty)
        here, gradient = self.coef[at], self.gradient[at]
        goal = self._minimize(at, penalty, here, gradient)
        expected = (gradient * (goal - here) + penalty * (np.abs(goal) - np.abs(here))).sum(axis=1)
        doubtful, objective = np.arange(len(at)), None
        for length in 0.5 ** np.arange(_HALVINGS):
            lines = at[doubtful]
            coef = goal[doubtful]
            if length < 1:
                coef = here[doubtful] + length * (coef - here[doubtful])
            eta, gradient = self._look(lines, coef)
            fails = _violations(penalty[doubtful], coef, gradient) > least[doubtful] / 2
            # Where the violation halves there is no need to look at the objective.
            if fails.any():
                if objective is None:
                    objective = self._losses(at, self.eta[at]) + (penalty * np.abs(here)).sum(1)
                reached = self._losses(lines, eta) + (penalty[doubtful] * np.abs(coef)).sum(axis=1)
                allowed = objective[doubtful] + _DECREASE * length * expected[doubtful] + ROUNDING
                fails &= reached > allowed
            good = lines[~fails]
            self.coef[good], self.eta[good] = coef[~fails], eta[~fails]
            self.gradient[good] = gradient[~fails]
            doubtful = doubtful[fails]
            if not len(doubtful):
                return

    def _minimize(
        self, at: IntArray, penalty: FloatArray, coef: FloatArray, gradient: FloatArray
    ) -> FloatArray:
        """Return the minima of quadratic approximations."""
        working = self._working[at]
        width = int(working.sum(axis=1).max())
        places = np.argsort(~working, axis=1, kind="stable")[:, :width]
        lines = np.arange(len(at))[:, None]
        is_in = working[lines, places]
        grams = np.zeros((len(at), width, width))
        grams[:] = np.eye(width)
        for gram, line in zip(grams, at, strict=True):
            own = self._grams[line]
            gram[: len(own), : len(own)] = own
        start = coef[lines, places] * is_in
        slope = (grams @ start[..., None])[..., 0] - gradient[lines, places] * is_in
        penalties = np.where(is_in, penalty[lines, places], 1.0)
        minima = minimize_quadratics(grams, slope, penalties, start)
        goal = coef.copy()
        goal[lines, places] = np.where(is_in, minima, goal[lines, places])
        return goal

    def _renew(self, at: IntArray, penalty: FloatArray) -> None:
        """Renew approximations that are stale or lack columns that violate."""
        pull = np.abs(self.gradient[at])
        lacks = ((pull > penalty) & ~self._working[at]).any(axis=1)
        renewed = np.flatnonzero(lacks | self._is_stale[at])
        lines = at[renewed]
        probability = _probabilities(self.eta[lines])
        weights = self.share[lines] * probability * (1 - probability)
        near = pull[renewed] > _NEAR * penalty[renewed]
        self._working[lines] = near | (self.coef[lines] != 0) | (self.factors[lines] == 0)
        for line, weight in zip(lines.tolist(), weights, strict=True):
            gram = self.columns.cross(np.flatnonzero(self._working[line]), weight)
            gram[np.diag_indices(len(gram))] += _JITTER * np.trace(gram) / len(gram)
            self._grams[line] = gram

    def _look(self, lines: IntArray, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return linear predictors and gradients."""
        eta = self.columns.predict(coef)
        residual = self.share[lines] * (_probabilities(eta) - self.outcomes[lines])
        return eta, np.ascontiguousarray(residual @ self.columns.matrix)

    def _losses(self, lines: IntArray, eta: FloatArray) -> FloatArray:
        """Return mean negative log-likelihoods."""
        margin = np.where(self.outcomes[lines], eta, -eta)
        loss = np.log1p(np.exp(-np.maximum(margin, -_CERTAIN)))
        return np.asarray((self.share[lines] * loss).sum(axis=1))


def _probabilities(eta: FloatArray) -> FloatArray:
    """Return probabilities of log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.maximum(eta, -_CERTAIN))))


def _violations(penalty: FloatArray, coef: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return how far points are from meeting the optimality conditions."""
    off = np.abs(gradient + penalty * np.sign(coef)) - penalty * (coef == 0)
    return np.asarray(off.max(axis=1, initial=0.0))
