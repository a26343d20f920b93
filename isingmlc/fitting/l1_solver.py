r"""l1-penalised logistic regressions of many outcomes on one design, solved to the last digits.

For each outcome the minimum of

.. math:: -\frac{1}{n} \sum_g N_g \log P(y_g | a + z_g'b) + \lambda \|b\|_1

over a free intercept a and coefficients b of standardised columns is found by proximal Newton
steps: the quadratic approximation of the loss, with the l1 norm as it is, is minimised exactly by
an active-set method, and a line search does the rest. A step looks only at the columns that may
enter. Columns may be free of the penalty, as the intercept is; their coefficients are left out of
the norm.

All outcomes take their steps together, so that nearly all the work is done on whole arrays, with
one line per outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks, dense
from isingmlc.fitting.l1_design import Design
from isingmlc.fitting.pair_sums import PairSums

# Largest violation of the optimality conditions that a solution may have, also as a part of the
# penalty; and how much further a solution goes where rounding lets it.
TOLERANCE = 1e-9
_RELATIVE = 1e-3
_FURTHER = 1e-3
# The violation that is small enough on the way to a solution.
_ROUGH = 1e-6
# Rounding in an objective; in a gradient; and what keeps systems solvable where columns depend on
# each other, small enough that none of them enters only for it.
_ROUNDING = 1e-14
_ENTRY = 1e-13
_JITTER = 4e-15
# A step must bring this part of the decrease that is expected, and is halved so often for it.
_DECREASE = 1e-4
_HALVINGS = 30
# A quadratic approximation serves further steps as long as each leaves at most this part of the
# violation.
_STALE = 0.003
# Log-odds beyond this are certain.
_CERTAIN = 700.0
# Gradients below this are the rounding of zero: no column says anything about the outcome.
NO_GRADIENT = 1e-14


def solve_quadratics(
    gram: FloatArray, slope: FloatArray, lam: FloatArray, start: FloatArray
) -> FloatArray:
    r"""Minimise :math:`b'Gb/2 - s'b + \sum_j \lambda_j |b_j|` exactly, for several G, s and λ."""
    minima = start.copy()
    if not start.size:
        return minima
    left, is_free = np.arange(len(start)), lam == 0
    coef, sign, added = start.copy(), np.sign(start), np.full(len(start), -1)
    unit = np.eye(start.shape[1])
    # Far more rounds than are ever needed: rounding must not make it go in circles.
    for _ in range(50 + 10 * start.shape[1]):
        active = (sign != 0) | is_free
        system = np.where(active[:, :, None] & active[:, None, :], gram, unit)
        target = np.where(active, slope - lam * sign, 0.0)
        there = np.linalg.solve(system, target[..., None])[..., 0]
        crossing = active & ~is_free & (there * sign <= 0)
        is_cut = crossing.any(axis=1)
        if is_cut.any():
            way = np.where(
                crossing, coef / np.where(crossing & (coef != there), coef - there, 1), 2
            )
            length = way.min(axis=1, keepdims=True)
            dropped = crossing & (way <= length)
            there = np.where(is_cut[:, None], coef + length * (there - coef), there)
            there[dropped] = sign[dropped] = 0.0
            # Only rounding had brought in what goes at once.
            is_done = is_cut & (length[:, 0] == 0) & dropped[np.arange(len(left)), added]
        else:
            is_done = is_cut
        coef = there
        pull = slope - (gram @ coef[..., None])[..., 0]
        excess = np.where((sign != 0) | is_free, -np.inf, np.abs(pull) - lam)
        most = excess.argmax(axis=1)
        enters = ~is_cut & (excess[np.arange(len(left)), most] > _ENTRY)
        sign[enters, most[enters]] = np.sign(pull[enters, most[enters]])
        added = np.where(enters, most, added)
        is_done |= ~is_cut & ~enters
        if is_done.all():
            minima[left] = coef
            return minima
        if is_done.any():
            stays = ~is_done
            minima[left[is_done]] = coef[is_done]
            left, gram, slope, lam = left[stays], gram[stays], slope[stays], lam[stays]
            coef, sign, added = coef[stays], sign[stays], added[stays]
            is_free = is_free[stays]
    minima[left] = coef
    return minima


def tolerance_at(lam: Any) -> Any:
    """Return the violation that a solution may have."""
    return np.minimum(TOLERANCE, _RELATIVE * lam) + _ROUNDING


@dataclass(frozen=True)
class L1Points:
    """Where the regressions of several outcomes stand: one line of each array per outcome."""

    lam: FloatArray
    intercept: FloatArray
    coef: FloatArray
    eta: FloatArray
    probability: FloatArray
    slope: FloatArray
    gradient: FloatArray
    violation: FloatArray

    def take(self, lines: BoolArray | IntArray) -> L1Points:
        """Return some of the lines."""
        return L1Points(*(getattr(self, field.name)[lines] for field in fields(self)))

    def put(self, lines: IntArray, points: L1Points) -> None:
        """Replace some of the lines."""
        for field in fields(self):
            getattr(self, field.name)[lines] = getattr(points, field.name)


@dataclass(frozen=True)
class _Quadratics:
    """Second-order approximations of the losses of several outcomes in some of the columns."""

    places: IntArray
    is_in: BoolArray
    gram: FloatArray
    center: FloatArray
    total: FloatArray

    def take(self, lines: BoolArray | IntArray) -> _Quadratics:
        """Return some of the lines."""
        return _Quadratics(*(getattr(self, field.name)[lines] for field in fields(self)))

    def replaced(self, lines: IntArray, others: _Quadratics) -> _Quadratics:
        """Return approximations with others in some lines, as wide as the wider ones."""
        width = max(self.places.shape[1], others.places.shape[1])
        mine, theirs = self._widened(width), others._widened(width)
        for field in fields(self):
            getattr(mine, field.name)[lines] = getattr(theirs, field.name)
        return mine

    def _widened(self, width: int) -> _Quadratics:
        """Fill up with columns that take no part."""
        n, old = self.places.shape
        if old == width:
            return self
        gram = np.zeros((n, width, width))
        gram[:] = np.eye(width)
        gram[:, :old, :old] = self.gram
        places = np.zeros((n, width), dtype=np.intp)
        is_in = np.zeros((n, width), dtype=np.bool_)
        center = np.zeros((n, width))
        places[:, :old], is_in[:, :old], center[:, :old] = self.places, self.is_in, self.center
        return _Quadratics(places, is_in, gram, center, self.total)

    def gather(self, values: FloatArray) -> FloatArray:
        """Pick the values of the columns that take part; zero for the others."""
        return np.where(self.is_in, _pick(values, self.places), 0.0)

    def scatter(self, values: FloatArray, whole: FloatArray) -> FloatArray:
        """Put the values of the columns that take part into copies of whole lines."""
        filled = whole.copy()
        lines = np.nonzero(self.is_in)[0]
        filled[lines, self.places[self.is_in]] = values[self.is_in]
        return filled


class L1Problems:
    """The regressions of several outcomes on the usable columns of a design."""

    def __init__(
        self,
        design: Design,
        outcomes: BoolArray,
        usable: BoolArray,
        free: BoolArray | None = None,
        in_play: BoolArray | None = None,
    ) -> None:
        self.design, self.outcomes, self.usable, self.in_play = design, outcomes, usable, in_play
        self.free = np.zeros_like(usable) if free is None else free
        # Columns that steps look at, and approximations that serve until they are stale.
        self._working = self.free.copy()
        self._is_stale = np.ones(len(outcomes), dtype=np.bool_)
        nothing = np.zeros((len(outcomes), 0))
        self._quadratics = _Quadratics(
            places=nothing.astype(np.intp),
            is_in=nothing.astype(np.bool_),
            gram=np.zeros((len(outcomes), 0, 0)),
            center=nothing,
            total=np.zeros(len(outcomes)),
        )

    def keep(self, lines: BoolArray) -> None:
        """Leave out the other outcomes."""
        self.outcomes, self.usable = self.outcomes[lines], self.usable[lines]
        self.free = self.free[lines]
        self.in_play = None if self.in_play is None else self.in_play[lines]
        self._working, self._is_stale = self._working[lines], self._is_stale[lines]
        self._quadratics = self._quadratics.take(lines)

    def null_points(self, max_iter: int) -> L1Points:
        """Return the solutions without penalised columns."""
        lines, coef = np.arange(len(self.outcomes)), np.zeros(self.usable.shape)
        share = self.shares(lines)
        intercept = logit((self.outcomes * share).sum(axis=1) / share.sum(axis=-1))
        eta = np.repeat(intercept[:, None], self.outcomes.shape[1], axis=1)
        points = self.look_at(lines, np.zeros(len(eta)), intercept, coef, eta)
        if not self.free.any():
            return points
        # A penalty that lets nothing in.
        most = np.abs(np.where(self.free, 0.0, points.gradient)).max(axis=1, initial=0.0)
        lam = 1 + 2 * most
        return self.solve(points, lam, lam, max_iter)

    def at_penalty(self, points: L1Points, lam: FloatArray) -> L1Points:
        """Look at points, one per outcome, under other penalties."""
        penalty = self._penalties(np.arange(len(lam)), lam)
        violation = _violation(penalty, points.coef, points.slope, points.gradient)
        return replace(points, lam=lam, violation=violation)

    def start_at(
        self, lines: IntArray, lam: FloatArray, intercept: FloatArray, coef: FloatArray
    ) -> L1Points:
        """Look at coefficients."""
        return self.look_at(lines, lam, intercept, coef, intercept[:, None] + self._predict(coef))

    def solve(
        self,
        start: L1Points,
        lam: FloatArray,
        last: FloatArray,
        max_iter: int,
        *,
        rough: bool = False,
    ) -> L1Points:
        """Find the solutions for the next penalties from those for the last ones."""
        points = self.at_penalty(start, lam)
        ends = points.take(np.arange(len(lam)))
        # Columns that the strong rule lets in; later ones are let in where they violate.
        self._working |= self.usable & (np.abs(points.gradient) >= (2 * lam - last)[:, None])
        tolerance = tolerance_at(lam)
        aim = np.maximum(_FURTHER * tolerance, _ROUNDING)
        if rough:
            aim = tolerance = np.minimum(_ROUGH, _RELATIVE * lam) + _ROUNDING
        left, before, least = np.arange(len(lam)), np.full(len(lam), np.inf), points.violation
        for _ in range(max_iter):
            violation = points.violation
            is_done = (violation <= tolerance[left]) & (violation > before / 2)
            is_done |= (violation <= aim[left]) | (violation == before)
            if is_done.any():
                ends.put(left[is_done], points.take(is_done))
                left, points, least = left[~is_done], points.take(~is_done), least[~is_done]
            if not len(left):
                return ends
            before = points.violation
            points = self._step(left, points, least)
            self._is_stale[left] = points.violation > _STALE * before
            least = np.minimum(least, points.violation)
        ends.put(left, points)
        return ends

    def _step(self, lines: IntArray, points: L1Points, least: FloatArray) -> L1Points:
        """Go to the minima of quadratic approximations, or as far that way as it helps."""
        here = self._current_quadratics(lines, points)
        lam = points.lam
        coef, slope = here.gather(points.coef), here.gather(points.gradient)
        slope -= here.center * points.slope[:, None]
        target = (here.gram @ coef[..., None])[..., 0] - slope
        penalty = here.gather(self._penalties(lines, lam))
        goal = solve_quadratics(here.gram, target, penalty, coef)
        change = goal - coef
        # The intercept is free: it follows the coefficients, which see centred columns.
        intercept_change = -points.slope / here.total - (here.center * change).sum(axis=1)
        whole_change = here.scatter(change, np.zeros_like(points.coef))
        eta_change = intercept_change[:, None] + self._predict(whole_change)
        moved = self.look_at(
            lines,
            lam,
            points.intercept + intercept_change,
            here.scatter(goal, points.coef),
            points.eta + eta_change,
        )
        # Where the violation halves there is no need to look at the objective, which must fall
        # elsewhere.
        doubtful = np.flatnonzero(moved.violation > least / 2)
        if not len(doubtful):
            return moved
        lengths = penalty * (np.abs(goal) - np.abs(coef))
        expected = (slope * change + lengths).sum(axis=1) - points.slope**2 / here.total
        objective = np.zeros(len(lines))
        objective[doubtful] = self.objectives(points.take(doubtful), lines[doubtful])
        tried = moved.take(doubtful)
        for length in 0.5 ** np.arange(1, _HALVINGS + 1):
            allowed = objective[doubtful] + 2 * _DECREASE * length * expected[doubtful] + _ROUNDING
            fails = self.objectives(tried, lines[doubtful]) > allowed
            moved.put(doubtful[~fails], tried.take(~fails))
            doubtful = doubtful[fails]
            if not len(doubtful):
                return moved
            tried = self.look_at(
                lines[doubtful],
                lam[doubtful],
                points.intercept[doubtful] + length * intercept_change[doubtful],
                points.coef[doubtful] + length * whole_change[doubtful],
                points.eta[doubtful] + length * eta_change[doubtful],
            )
        moved.put(doubtful, points.take(doubtful))
        return moved

    def look_at(
        self,
        lines: IntArray,
        lam: FloatArray,
        intercept: FloatArray,
        coef: FloatArray,
        eta: FloatArray,
    ) -> L1Points:
        """Compute gradients, and violations of the optimality conditions."""
        probability = 1 / (1 + np.exp(-np.maximum(eta, -_CERTAIN)))
        residual = self.shares(lines) * (probability - self.outcomes[lines])
        slope = residual.sum(axis=1)
        gradient = np.where(self.usable[lines], residual @ self.design.columns, 0.0)
        violation = _violation(self._penalties(lines, lam), coef, slope, gradient)
        return L1Points(lam, intercept, coef, eta, probability, slope, gradient, violation)

    def losses(self, points: L1Points, lines: IntArray | None = None) -> FloatArray:
        """Return mean negative log-likelihoods."""
        chosen = slice(None) if lines is None else lines
        margin = np.where(self.outcomes[chosen], points.eta, -points.eta)
        loss = np.log1p(np.exp(-np.maximum(margin, -_CERTAIN)))
        if self.in_play is not None:
            loss *= self.in_play[chosen]
        return np.asarray(loss @ self.design.share)

    def objectives(self, points: L1Points, lines: IntArray | None = None) -> FloatArray:
        """Return losses with their penalties."""
        free = self.free if lines is None else self.free[lines]
        norm: FloatArray = np.where(free, 0.0, np.abs(points.coef)).sum(axis=1)
        return self.losses(points, lines) + points.lam * norm

    def shares(self, lines: IntArray) -> FloatArray:
        """Return the weights of the rows, zero where a row does not count."""
        share = self.design.share
        return share if self.in_play is None else share * self.in_play[lines]

    def _penalties(self, lines: IntArray, lam: FloatArray) -> FloatArray:
        """Return the penalty of each column, a line per outcome."""
        return np.where(self.free[lines], 0.0, lam[:, None])

    def _predict(self, coef: FloatArray) -> FloatArray:
        """Return linear predictors, a line per outcome."""
        return np.ascontiguousarray(coef @ self.design.columns.T)

    def _current_quadratics(self, lines: IntArray, points: L1Points) -> _Quadratics:
        """Return approximations at some points, or near them while they are good enough."""
        lets_in = self.usable[lines] & (np.abs(points.gradient) > points.lam[:, None])
        working = self._working[lines] | lets_in | (points.coef != 0)
        self._working[lines] = working
        is_new = self._is_stale[lines]
        is_new |= working.sum(axis=1) != self._quadratics.is_in[lines].sum(axis=1)
        if is_new.any():
            share = self.shares(lines[is_new])
            fresh = self._approximate(working[is_new], points.probability[is_new], share)
            self._quadratics = self._quadratics.replaced(lines[is_new], fresh)
        return self._quadratics.take(lines)

    def _approximate(
        self, working: BoolArray, probability: FloatArray, share: FloatArray
    ) -> _Quadratics:
        """Approximate losses in the columns of working sets, at some probabilities."""
        n, width = len(working), int(working.sum(axis=1).max(initial=0))
        places = np.argsort(~working, axis=1, kind="stable")[:, :width]
        is_in = _pick(working, places)
        weight = share * probability * (1 - probability)
        total = weight.sum(axis=1)
        gram, center = np.zeros((n, width, width)), np.zeros((n, width))
        pairs = self.design.pairs
        if pairs is not None and width:
            gram, center = self._cross_labels(pairs, places, weight, total)
            gram *= is_in[:, :, None] & is_in[:, None, :]
            center *= is_in
        for block in chunks(n if pairs is None else 0, 16 * weight.shape[1] * max(width, 1)):
            # No wider than these outcomes need.
            part = is_in[block, : int(is_in[block].sum(axis=1).max())]
            size = part.shape[1]
            columns = self._columns_at(places[block, :size])
            means = (columns @ weight[block, :, None])[..., 0] / total[block, None]
            columns -= means[..., None]
            columns *= np.sqrt(weight[block, None, :])
            products = columns @ columns.transpose(0, 2, 1)
            gram[block, :size, :size] = products * (part[:, :, None] & part[:, None, :])
            center[block, :size] = means * part
        jitter = _JITTER * np.linalg.norm(gram, axis=(1, 2))
        gram += np.eye(width) * np.where(is_in, jitter[:, None], 1.0)[:, None, :]
        return _Quadratics(places, is_in, gram, center, total)

    def _cross_labels(
        self, pairs: PairSums, places: IntArray, weight: FloatArray, total: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return cross-products about weighted means, and the means, from sums over pairs."""
        n, width = places.shape
        at = pairs.place[places[:, :, None], places[:, None, :]].reshape(n, -1)
        sums = _pick(pairs.under(weight), at).reshape(n, width, width)
        scale = self.design.scale[places]
        means = np.diagonal(sums, axis1=1, axis2=2) / total[:, None]
        gram = sums - total[:, None, None] * means[:, :, None] * means[:, None, :]
        gram /= scale[:, :, None] * scale[:, None, :]
        return gram, (means - self.design.center[places]) / scale

    def _columns_at(self, places: IntArray) -> FloatArray:
        """Return columns as lines, one block of them per outcome."""
        columns = self.design.columns
        if sparse.issparse(columns):
            return np.array([dense(columns[:, each]).T for each in places])
        return np.asarray(columns.T[places])


def _pick(values: Any, places: IntArray) -> Any:
    """Return the values at some places of each line."""
    return values[np.arange(len(values))[:, None], places]


def _violation(
    penalty: FloatArray, coef: FloatArray, slope: FloatArray, gradient: FloatArray
) -> FloatArray:
    """Return how far points are from meeting the optimality conditions."""
    off = np.abs(gradient + penalty * np.sign(coef)) - penalty * (coef == 0)
    largest: FloatArray = off.max(axis=1, initial=0.0)
    return np.maximum(np.abs(slope), largest)
