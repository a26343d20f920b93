"""What is true of a label model, computed from rows: no formula is shared with the package.

Separation is a linear programme on the rows whose answer is proved, fits are iterated least
squares, score statistics are residuals of a QR decomposition with pivots, and tails of weighted
sums of chi-squares are sums over their characteristic function. Where data are degenerate to within
rounding there is no right answer: `UndecidedError` says so.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import integrate, linalg, optimize, stats
from scipy.special import expit, log_expit

# Shares of a variance that are certainly rounding, and certainly more. Between them both answers
# are right, and numbers are compared with what digits there are.
ROUNDING, CLEAR = 1e-13, 1e-7
# Standard errors from the maximum at which the package calls a fit converged, and at which a
# likelihood is no longer what its second derivatives say.
CONVERGED, FAR = 1e-6, 1e-2
# What a column of unit length must leave of itself to be no function of others. The package says
# 1e-9 of columns that it brings to one size in another way, by medians.
DEPENDENT = 1e-6
# Pivots of a weighted design, its columns of unit length, from which on they are clear.
SINGULAR = 1e-9


class UndecidedError(Exception):
    """The data are degenerate to within rounding: there is no right answer to compare with."""


def rank_and_basis(rows, least=DEPENDENT):
    """Give independent columns and an orthonormal basis of them, by QR with pivots.

    What a column leaves of itself must be `least` or more, or nothing.
    """
    if not rows.size:
        return np.arange(0), np.zeros((len(rows), 0))
    length = np.linalg.norm(rows, axis=0)
    scaled = rows / np.where(length > 0, length, 1.0)
    basis, triangle, order = linalg.qr(scaled, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    clear = pivots > least
    if (~clear & (pivots > 1e-11)).any():
        raise UndecidedError("rank")
    rank = int(clear.sum())
    return np.sort(order[:rank]), basis[:, :rank]


def separated(signed):
    """Find the rows that some direction settles, and such a direction.

    Rows overlap if positive multiples of them add up to zero. The programme looks for those; its
    multipliers are the direction. Both are polished and then proved.
    """
    distinct, place = np.unique(signed, axis=0, return_inverse=True)
    place = place.ravel()
    size = np.abs(distinct).max(axis=1, initial=0.0)
    rows = distinct / np.where(size > 0, size, 1.0)[:, None]
    n_rows, n_columns = rows.shape
    if not n_columns:
        return np.zeros(len(signed), bool), np.zeros(0)
    unit = np.eye(n_rows)
    solution = optimize.linprog(
        np.concatenate([np.zeros(n_rows), -np.ones(n_rows)]),
        A_ub=np.hstack([-unit, unit]),
        b_ub=np.zeros(n_rows),
        A_eq=np.hstack([rows.T, np.zeros((n_columns, n_rows))]),
        b_eq=np.zeros(n_columns),
        bounds=[(0, None)] * n_rows + [(0, 1)] * n_rows,
    )
    if solution.status:
        raise UndecidedError("programme")
    overlaps = solution.x[n_rows:] > 0.5
    inner, outer = rows[overlaps], rows[~overlaps]
    if len(inner):
        weights = solution.x[:n_rows][overlaps]
        weights = weights - linalg.lstsq(inner.T, inner.T @ weights)[0]
        rest = np.abs(inner.T @ weights).max()
        if weights.min() < 0.5 or rest > 1e-12 * np.abs(weights).sum():
            raise UndecidedError("overlap")
        if weights.max() * DEPENDENT > 1.0:
            # Without some of the rows columns would depend on each other all but exactly.
            raise UndecidedError("overlap by a hair")
    if not len(outer):
        return np.zeros(len(signed), bool), np.zeros(n_columns)
    free = null_space(inner, n_columns)
    marginals = solution.eqlin.marginals
    direction = free @ (free.T @ marginals)
    if (outer @ direction).sum() < 0:
        direction = -direction
    if not free.shape[1] or (outer @ direction).min() < DEPENDENT * np.abs(direction).max():
        # Told apart by less than what counts as a column of its own.
        raise UndecidedError("separation by a hair")
    return ~overlaps[place], direction


def null_space(rows, n_columns):
    if not len(rows):
        return np.eye(n_columns)
    _, sizes, axes = linalg.svd(rows, full_matrices=True)
    clear = sizes > DEPENDENT * sizes[0]
    if (~clear & (sizes > 1e-11 * sizes[0])).any():
        raise UndecidedError("null space")
    return axes[int(clear.sum()) :].T


@dataclass
class Fit:
    """A logistic regression on rows: `inside` says which rows are not settled.

    F is `spread`, with FF' the inverse information. `unsure` is how many standard errors away from
    the maximum rounding of the gradient may leave any fit.
    """

    inside: np.ndarray
    columns: np.ndarray
    coef: np.ndarray
    probability: np.ndarray
    value: float
    roots: np.ndarray
    pearson: np.ndarray
    spread: np.ndarray
    unsure: float
    direction: np.ndarray | None = None

    def reach(self, directions):
        """Give how far values along directions may be from those of another fit."""
        if self.unsure > FAR:
            raise UndecidedError("rounding of the gradient")
        return (CONVERGED + self.unsure) * np.linalg.norm(directions @ self.spread, axis=1)


def fit_rows(design, outcome, counts, penalty=None, offset=None):
    """Fit the (ridge-penalised) limit of maximum likelihood by iterated least squares.

    With an offset there must be nothing that is separated.
    """
    penalty = np.zeros(design.shape[1]) if penalty is None else penalty
    sign = np.where(outcome, 1.0, -1.0)
    free = penalty == 0
    settled, direction = separated(sign[:, None] * design[:, free])
    inside = ~settled
    rows = design[inside]
    if penalty.any():
        columns = np.arange(design.shape[1])
        bare = np.flatnonzero(free)
        dropped = np.setdiff1d(bare, bare[rank_and_basis(rows[:, bare])[0]])
        columns = np.setdiff1d(columns, dropped)
    else:
        columns = rank_and_basis(rows)[0]
    rows, ridge = rows[:, columns], np.diag(np.sqrt(penalty[columns]))
    sign, weight = sign[inside], counts[inside]
    offset = np.zeros(len(rows)) if offset is None else offset

    def objective(coef):
        value = weight @ log_expit(sign * (rows @ coef + offset))
        # Without a penalty a step may go farther out than squares can say.
        return value - 0.5 * np.sum((np.sqrt(penalty[columns]) * coef) ** 2)

    coef, last, spread = np.zeros(len(columns)), np.inf, np.zeros((0, 0))
    value = objective(coef)
    for _ in range(300):
        if not len(columns):
            break
        eta = rows @ coef + offset
        roots = np.sqrt(weight * expit(eta) * expit(-eta))
        system = np.vstack([roots[:, None] * rows, ridge])
        length = np.linalg.norm(system, axis=0)
        length[length == 0] = 1.0
        triangle, order = linalg.qr(system / length, mode="r", pivoting=True)
        pivots = np.abs(np.diag(triangle))
        # With an offset no row may have a weight left.
        if len(pivots) < len(order) or pivots[-1] <= 1e-14 * pivots[0]:
            raise UndecidedError("information")
        triangle = triangle[: len(order)]
        pull = rows.T @ (weight * sign * expit(-sign * eta)) - penalty[columns] * coef
        half = linalg.solve_triangular(triangle, (pull / length)[order], trans="T")
        spread = np.zeros(triangle.shape)
        spread[order] = linalg.solve_triangular(triangle, np.eye(len(order)))
        spread /= length[:, None]
        step = np.zeros(len(columns))
        step[order] = linalg.solve_triangular(triangle, half)
        step /= length
        decrement = np.linalg.norm(half)
        share = 1.0
        while not objective(coef + share * step) >= value - 1e-13 * abs(value):
            share /= 2
            if share < 1e-9:
                raise UndecidedError("steps")
        coef = coef + share * step
        value = objective(coef)
        if decrement < 1e-11 or (decrement < 1e-7 and decrement >= last):
            break
        last = decrement
    else:
        raise UndecidedError("iteration")
    eta = rows @ coef + offset
    if (sign * eta < -600.0).any():
        raise UndecidedError("overflow")
    probability = outcome.astype(float)
    probability[inside] = expit(eta)
    roots = np.sqrt(weight * expit(eta) * expit(-eta))
    pulls = weight * expit(-sign * eta) * (1 + np.abs(eta))
    hidden = np.finfo(float).eps * (np.abs(rows).T @ pulls + penalty[columns] * np.abs(coef))
    return Fit(
        inside,
        columns,
        coef,
        probability,
        float(value),
        roots,
        pearson=np.sqrt(weight) * sign * np.exp(-0.5 * sign * eta),
        spread=spread,
        unsure=float(np.linalg.norm(np.abs(spread).T @ hidden)),
        direction=direction if settled.any() else None,
    )


def code_context(covariates, intercept):
    """Give the columns of covariates by name: numbers, or one per level but the first."""
    columns = {}
    for name in () if covariates is None else covariates.columns:
        values = covariates[name].to_numpy()
        if values.dtype.kind == "f":
            if (values != (values[0] if intercept else 0.0)).any():
                columns[name] = values
            continue
        for level in sorted(set(values))[1:]:
            columns[f"{name}[T.{level}]"] = (values == level).astype(float)
    return columns


def standardise(column, intercept):
    """Give a column at most one in size, around its middle if there is a constant besides."""
    centre = 0.0
    if intercept:
        near = column - column[0]
        centre = column[0] + near.mean()
        column = near - near.mean()
    size = np.abs(column).max()
    return column / size, centre, size


class Label:
    """What the oracle knows of one label's null model."""

    def __init__(self, case, k, penalty=0.0):
        self.case, self.k = case, k
        others = np.delete(case.labels, k, axis=1).astype(float)
        ones = np.ones((case.n_rows, int(case.intercept)))
        context = [standardise(column, case.intercept) for column in case.context.values()]
        self.design = np.column_stack([ones, others, *(column for column, _, _ in context)])
        plain = ones.shape[1] + others.shape[1]
        self.centres = np.array([0.0] * plain + [centre for _, centre, _ in context])
        self.units = np.array([1.0] * plain + [size for _, _, size in context])
        sizes = [np.abs(column).max() for column in case.context.values()]
        lost = np.finfo(float).eps * np.array(sizes) / self.units[plain:]
        self.lost = float(lost.max(initial=0.0))
        self.outcome = case.labels[:, k].astype(bool)
        self.counts = case.counts
        self.penalty = np.full(self.design.shape[1], penalty)
        self.penalty[: ones.shape[1]] = self.penalty[plain:] = 0.0
        self.constant = bool(self.outcome.all() or not self.outcome.any())

    @cached_property
    def fit(self):
        penalty = self.penalty if self.penalty.any() else None
        if self.constant and self.case.intercept and penalty is not None:
            raise UndecidedError("constant label under a penalty")
        # What covariates lost when they were written down must not tell them apart.
        rank_and_basis(self.design, max(DEPENDENT, 100 * self.lost))
        return fit_rows(self.design, self.outcome, self.counts, penalty)

    def in_units(self, values):
        """Give coefficients, or directions of them, of the columns as they were given."""
        values = (values.T / self.units[self.fit.columns]).T
        if self.case.intercept and 0 in self.fit.columns:
            values[0] -= self.centres[self.fit.columns] @ values
        return values

    @cached_property
    def basis(self):
        """An orthonormal basis of what the null model explains, on rows in play."""
        fit = self.fit
        scaled = fit.roots[:, None] * self.design[fit.inside][:, fit.columns]
        if not scaled.size:
            return scaled
        self.require_possible_rows()
        length = np.linalg.norm(scaled, axis=0)
        basis, triangle, _ = linalg.qr(scaled / length, mode="economic", pivoting=True)
        if np.abs(np.diag(triangle)).min() < SINGULAR:
            raise UndecidedError("information")
        return basis

    def require_possible_rows(self):
        """Residuals in units of their errors must leave digits for those of other rows."""
        if np.abs(self.fit.pearson).max() > 1e6:
            raise UndecidedError("a row that is all but impossible")

    @property
    def reason(self):
        if self.constant:
            return "constant-label"
        return "ok" if self.fit.inside.any() else "determined-label"

    def residual(self, columns):
        """Take from columns what the null model explains, in units of the weights."""
        rest = self.fit.roots[:, None] * columns[self.fit.inside]
        for _ in range(3):
            rest = rest - self.basis @ (self.basis.T @ rest)
        return rest

    def sizes(self, columns, spread, carried=None):
        """What the variances of columns are measured by."""
        weight = self.fit.roots**2
        inside = columns[self.fit.inside]
        total = weight @ np.ones(len(weight)) if carried is None else weight @ carried
        return np.maximum(weight @ inside**2, 1e-3 * total * spread)

    def around_own_mean(self, column):
        """Give a column around its mean in the rows in play, the only ones that refits look at."""
        inside = self.fit.inside
        if not self.case.intercept:
            return column.astype(float)
        near = column - column[inside][0]
        return near - np.average(near[inside], weights=self.counts[inside])

    def score(self, column, spread):
        """Give statistic, share of variance that is left, and sign."""
        rest = self.residual(column[:, None])[:, 0]
        variance = rest @ rest
        size = self.sizes(column[:, None], spread)[0]
        share = variance / size if size > 0 else 0.0
        score = self.fit.pearson @ rest
        return (score**2 / variance if variance > 0 else np.nan), share, np.sign(score)

    def hidden(self, column):
        """Give how much of a standardised score rounding of its sum over rows may be."""
        fit = self.fit
        rest = self.residual(column[:, None])[:, 0]
        terms = np.abs(fit.pearson * fit.roots * column[fit.inside])
        return np.finfo(float).eps * terms.sum() / np.linalg.norm(rest)

    def block(self, columns, spread, carried=None):
        """Give statistic and rank of several columns together; a rank must be clear."""
        size = self.sizes(columns, spread, carried)
        columns, size = columns[:, size > 0], size[size > 0]
        if not columns.size:
            return np.nan, 0
        rest = self.residual(columns) / np.sqrt(size)
        left, sizes, _ = linalg.svd(rest, full_matrices=False)
        clear = sizes**2 > CLEAR
        if (~clear & (sizes**2 > ROUNDING)).any():
            raise UndecidedError("rank of a block")
        return float(np.sum((left[:, clear].T @ self.fit.pearson) ** 2)), int(clear.sum())

    def ridge_score(self, column, spread):
        """Give the efficient score statistic under a penalty, and the share of variance left."""
        fit = self.fit
        rows, weight = self.design[fit.inside][:, fit.columns], fit.roots**2
        column, counts = column[fit.inside], self.counts[fit.inside]
        ridge = np.diag(np.sqrt(self.penalty[fit.columns]))
        system = np.vstack([fit.roots[:, None] * rows, ridge])
        length = np.linalg.norm(system, axis=0)
        basis = linalg.qr(system / np.where(length > 0, length, 1.0), mode="economic")[0]

        def left(values):
            rest = np.concatenate([values, np.zeros(len(ridge))])
            for _ in range(3):
                rest = rest - basis @ (basis.T @ rest)
            return rest[: len(values)]

        self.require_possible_rows()
        # In units of the roots of the weights, in which small residuals keep their digits.
        residual, rest = left(fit.pearson), left(fit.roots * column)
        effective = residual * fit.roots / counts
        if np.abs(effective).max() < 1e-6:
            raise UndecidedError("nothing left under a penalty")
        variance = np.sum((residual * rest) ** 2 / counts)
        noise = np.maximum(counts * effective**2, 1e-10 * weight)
        size = max(noise @ column**2, 1e-3 * weight.sum() * spread)
        score = residual @ (fit.roots * column)
        return score**2 / variance if variance > 0 else np.nan, variance / size, np.sign(score)

    def refit(self, columns):
        """Fit the model with more columns: gain, Wald statistic, coefficient and error."""
        inside = self.fit.inside
        spans, sizes = np.ptp(columns[inside], axis=0), np.abs(columns[inside]).max(axis=0)
        if ((spans > 0) & (spans < 1e-6 * sizes)).any():
            raise UndecidedError("a column that is all but constant")
        design = np.hstack([self.design[inside][:, self.fit.columns], columns[inside]])
        n_null = len(self.fit.columns)
        penalty = None
        if self.penalty.any():
            penalty = np.concatenate([self.penalty[self.fit.columns], np.zeros(columns.shape[1])])
        outcome, counts = self.outcome[inside], self.counts[inside]
        free = np.arange(n_null) if penalty is None else np.flatnonzero(penalty[:n_null] == 0)
        tried = np.concatenate([free, np.arange(n_null, design.shape[1])])
        added = tried[rank_in_order(design[:, tried], len(free))[len(free) :]]
        keep = np.concatenate([np.arange(n_null), added])
        design, penalty = design[:, keep], None if penalty is None else penalty[keep]
        larger = fit_rows(design, outcome, counts, penalty)
        gain = larger.value - self.fit.value
        added = design.shape[1] - n_null
        if larger.direction is not None:
            # The last column is the only one of which a sign is asked.
            sign = -1.0 if larger.direction[-1] < 0 else 1.0
            return gain, np.nan, sign * np.inf, np.nan, added
        if not larger.roots.all():
            # A finite maximum so far out that weights underflow: refits may take it for a limit.
            raise UndecidedError("rows whose weights underflow")
        rows = larger.roots[:, None] * design[larger.inside][:, larger.columns]
        if penalty is not None:
            rows = np.vstack([rows, np.diag(np.sqrt(penalty))])
        length = np.linalg.norm(rows, axis=0)
        triangle = linalg.qr(rows / length, mode="r")[0][: len(length)]
        if np.abs(np.diag(triangle)).min(initial=1.0) < 1e-6:
            raise UndecidedError("information of a larger model")
        root = linalg.solve_triangular(triangle, np.eye(len(length))) / length[:, None]
        margins = design[larger.inside][:, larger.columns] @ root
        if CONVERGED * np.linalg.norm(margins, axis=1).max(initial=0.0) > 1.0:
            # Anywhere among the points that count as the maximum errors may be quite different.
            raise UndecidedError("a likelihood that is flat")
        last = triangle[n_null:, n_null:] * length[n_null:]
        coef = larger.coef[n_null:]
        error = np.linalg.norm(root[n_null]) if added else np.nan
        wald = float(np.sum((last @ coef) ** 2))
        return gain, wald, coef[0] if added else np.nan, error, added

    def profile(self, column, effect):
        """Give the log-likelihood of the rows in play if a column has a given effect."""
        inside, columns = self.fit.inside, self.fit.columns
        rows, offset = self.design[inside][:, columns], effect * column[inside]
        return fit_rows(rows, self.outcome[inside], self.counts[inside], None, offset).value


def rank_in_order(design, n_null):
    """Choose added columns that are independent of the null model's and of each other."""
    length = np.linalg.norm(design, axis=0)
    scaled = design / np.where(length > 0, length, 1.0)
    basis = linalg.qr(scaled[:, :n_null], mode="economic")[0] if n_null else scaled[:, :0]
    kept = list(range(n_null))
    for at in range(n_null, design.shape[1]):
        rest = scaled[:, at]
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        left = np.linalg.norm(rest)
        if left > 1e-4:
            kept.append(at)
            basis = np.column_stack([basis, rest / left])
        elif left > 1e-11:
            raise UndecidedError("rank of a larger model")
    return np.array(kept, dtype=int)


def weighted_chi2_sf(value, weights):
    """P(Σ λ χ²₁ > value) from the characteristic function, to about eight digits."""
    weights = np.sort(weights[weights > 1e-9 * weights.max()])[::-1]
    value, weights = value / weights[0], weights / weights[0]
    if len(weights) == 1:
        return float(stats.chi2.sf(value, 1))
    if len(weights) == 2:
        # In polar coordinates the radius integrates out.
        def along(angle):
            rate = np.cos(angle) ** 2 / weights[0] + np.sin(angle) ** 2 / weights[1]
            return np.exp(-0.5 * value * rate) / (np.sqrt(weights[0] * weights[1]) * rate)

        # Nearly all may lie within a narrow peak at zero.
        width = np.sqrt(weights[1])
        points = [times * width for times in (1, 4, 16, 64) if times * width < 1.5]
        area = integrate.quad(along, 0, np.pi / 2, epsabs=1e-13, limit=500, points=points)[0]
        return area * 2 / np.pi
    # A sum over the middles of steps is off by what lies beyond a period, 2π over the step.
    step = 2 * np.pi / (value + weights.sum() + 60.0)
    n_terms = 1000
    while True:
        last = np.exp(-0.25 * np.sum(np.log1p((2 * weights * n_terms * step) ** 2)))
        if last * 2 / len(weights) < 3e-8:
            break
        n_terms *= 2
        if n_terms > 1_000_000:
            raise UndecidedError("integral")
    total = 0.0
    for start in range(0, n_terms, 100_000):
        at = np.arange(start, min(start + 100_000, n_terms)) + 0.5
        turned = 2 * weights[:, None] * (at * step)
        angle = 0.5 * np.arctan(turned).sum(axis=0) - at * step * value
        total += np.sum(np.sin(angle) / at * np.exp(-0.25 * np.log1p(turned**2).sum(axis=0)))
    return 0.5 + total / np.pi
