"""Logistic regressions and their tests, computed from rows with numpy and scipy alone.

Nothing is imported from the package and no formula is shared with it: separation is one linear
programme over all rows, fits are Newton steps, and a score is a sum over rows of residuals times
what weighted least squares leaves of a column.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize
from scipy.special import expit, log_expit

# Between these shares of its variance a column may count as collinear or not.
ROUNDING, CLEAR = 1e-13, 1e-7


def certain_rows(signed):
    """Find the rows whose likelihood rises for ever along a direction in which no other's falls.

    Of the 0 ≤ v ≤ 1 with v ≤ Zd the largest sum has a one for each certain row and zeros elsewhere.
    """
    rows, place = np.unique(signed, axis=0, return_inverse=True)
    n_rows, n_columns = rows.shape
    if not n_columns:
        return np.zeros(len(signed), bool), np.zeros(0)
    largest = np.abs(rows).max(axis=0)
    rows = rows / np.where(largest > 0, largest, 1.0)
    found = optimize.linprog(
        np.repeat([0.0, -1.0], [n_columns, n_rows]),
        A_ub=np.hstack([-rows, np.eye(n_rows)]),
        b_ub=np.zeros(n_rows),
        bounds=[(-1e6, 1e6)] * n_columns + [(0.0, 1.0)] * n_rows,
    )
    return found.x[n_columns:][place.ravel()] > 0.5, found.x[:n_columns]


def independent(rows, first=()):
    """Choose independent columns, the given ones first."""
    kept, basis = list(first), np.zeros((len(rows), 0))
    if kept:
        basis = linalg.qr(rows[:, kept] / np.linalg.norm(rows[:, kept], axis=0), mode="economic")[0]
    for at in range(rows.shape[1]):
        length = np.linalg.norm(rows[:, at])
        if at in first or length == 0:
            continue
        rest = rows[:, at] / length
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > 1e-6:
            kept.append(at)
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return np.sort(kept).astype(int)


@dataclass
class Fit:
    """The limit of maximum likelihood: `inside` are the rows that are not certain."""

    design: np.ndarray
    outcome: np.ndarray
    counts: np.ndarray
    penalty: np.ndarray
    inside: np.ndarray
    direction: np.ndarray
    columns: np.ndarray
    coef: np.ndarray
    llf: float
    converged: bool

    @property
    def probability(self):
        found = self.outcome.astype(float)
        found[self.inside] = expit(self.design[self.inside][:, self.columns] @ self.coef)
        return found

    def explain(self, block):
        """Return what is left of columns, and the leverage of one observation in each row."""
        rows, p = self.design[self.inside][:, self.columns], self.probability[self.inside]
        roots, ridge = np.sqrt(self.counts[self.inside] * p * (1 - p)), self.penalty[self.columns]
        scaled = np.vstack([roots[:, None] * rows, np.diag(np.sqrt(ridge))[ridge > 0]])
        basis = linalg.qr(scaled / np.linalg.norm(scaled, axis=0), mode="economic")[0]
        rest = np.zeros((len(scaled), block.shape[1]))
        rest[: len(rows)] = roots[:, None] * block[self.inside]
        for _ in range(3):
            rest = rest - basis @ (basis.T @ rest)
        leverage = np.sum(basis[: len(rows)] ** 2, axis=1) / self.counts[self.inside]
        return rest[: len(rows)] / roots[:, None], leverage

    def score(self, block, cov_type="model", drawn=None, groups=None):
        """Test columns: statistic, rank, and the smallest share of a variance that is left."""
        inside, p = self.inside, self.probability[self.inside]
        counts, weight = self.counts[inside], p * (1 - p)
        drawn = np.ones(len(p)) if drawn is None else drawn[inside]
        rest, leverage = self.explain(block)
        # What a penalty adds to residuals does not vary: it is left out of them.
        working = ((self.outcome[inside] - p) / weight)[:, None]
        if self.penalty.any():
            whole = np.zeros((len(self.outcome), 1))
            whole[inside] = working
            working = self.explain(whole)[0]
        residual = weight * working[:, 0]
        noise = {"model": weight, "HC2": residual**2 / (1 - leverage * drawn)}
        noise = noise.get(cov_type, residual**2) * drawn
        variance = rest.T @ ((counts * noise)[:, None] * rest)
        if groups is not None:
            sums = np.zeros((groups.max() + 1, rest.shape[1]))
            np.add.at(sums, groups[inside], (counts * residual)[:, None] * rest)
            sums = sums[np.unique(groups[inside])]
            sums = sums - sums.mean(axis=0)
            variance = sums.T @ sums * len(sums) / (len(sums) - 1)
        total = (counts * noise) @ block[inside] ** 2
        sizes = np.sqrt(np.where(total > 0, total, 1.0))
        values, axes = linalg.eigh(variance / np.outer(sizes, sizes))
        along = axes.T @ (((counts * (self.outcome[inside] - p)) @ rest) / sizes)
        clear = values > CLEAR
        doubtful = values[(values > ROUNDING) & ~clear].size > 0
        # A row that stands for part of an observation may have a leverage above one.
        doubtful |= cov_type == "HC2" and bool((leverage * drawn > 1 - CLEAR).any())
        return np.sum(along[clear] ** 2 / values[clear]), int(clear.sum()), doubtful

    def refit(self, block):
        """Add columns: likelihood ratio, Wald statistic, coefficients and errors."""
        inside = self.inside
        both = np.hstack([self.design[inside][:, self.columns], block[inside]])
        penalty = np.concatenate([self.penalty[self.columns], np.zeros(block.shape[1])])
        larger = fit(both, self.outcome[inside], self.counts[inside], penalty)
        ratio = 2 * (larger.llf - self.llf)
        added = larger.columns >= len(self.columns)
        if not larger.inside.all() or not larger.converged:
            return ratio, np.nan, larger.direction[len(self.columns) :], None, larger
        p = larger.probability
        rows = both[:, larger.columns]
        information = rows.T @ ((larger.counts * p * (1 - p))[:, None] * rows)
        covariance = linalg.inv(information + np.diag(penalty[larger.columns]))[added][:, added]
        coef = larger.coef[added]
        wald = coef @ linalg.solve(covariance, coef)
        return ratio, wald, coef, np.sqrt(np.diag(covariance)), larger


def fit(design, outcome, counts, penalty=None):
    """Maximise the likelihood of a logistic regression, with a ridge penalty on some columns."""
    penalty = np.zeros(design.shape[1]) if penalty is None else penalty
    signs, free = np.where(outcome, 1.0, -1.0), penalty == 0
    certain, found = certain_rows(signs[:, None] * design[:, free])
    direction = np.zeros(design.shape[1])
    direction[free] = found if certain.any() else 0.0
    inside = ~certain
    columns = independent(design[inside])
    if penalty.any():
        some = np.flatnonzero(free)
        columns = np.sort([*some[independent(design[inside][:, free])], *np.flatnonzero(~free)])
    rows, sign, weight, ridge = (
        *(design[inside][:, columns], signs[inside]),
        *(counts[inside], penalty[columns]),
    )

    def value_at(coef):
        return weight @ log_expit(sign * (rows @ coef)) - 0.5 * ridge @ coef**2

    coef, converged = np.zeros(len(columns)), not len(columns)
    for _ in range(200 if len(columns) else 0):
        p = expit(rows @ coef)
        slope = rows.T @ (weight * sign * expit(-sign * (rows @ coef))) - ridge * coef
        information = rows.T @ ((weight * p * (1 - p))[:, None] * rows) + np.diag(ridge)
        sizes = np.sqrt(np.diag(information))
        if not (sizes > 0).all():
            break  # Rows have become certain that the linear programme left uncertain.
        step = linalg.lstsq(information / np.outer(sizes, sizes), slope / sizes)[0] / sizes
        share, value = 1.0, value_at(coef)
        while not value_at(coef + share * step) >= value - 1e-12 * abs(value) and share > 1e-9:
            share /= 2
        coef, converged = coef + share * step, abs(slope @ step) < 1e-18 + 1e-15 * abs(value)
        if converged:
            break
    # A row that is all but certain has no digits left to test with.
    chance = expit(rows @ coef)
    converged = bool(converged and (chance * (1 - chance) > 1e-13).all())
    given = (design, outcome, counts, penalty, inside, direction, columns)
    return Fit(*given, coef, float(value_at(coef)), converged)
