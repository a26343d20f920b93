r"""Newton's method for the models of many labels at once.

All label models have columns of one 0/1 design. At each step the margins, gradients and weights of
all of them are computed together, so that only the systems of equations are solved one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from isingmlc.base.arrays import FloatArray, IntArray
from isingmlc.fitting.newton import (
    LEAST_MARGIN,
    SHORTEST,
    SLACK,
    START_PULL,
    START_WEIGHT,
    Solution,
    covariance_of,
    is_maximum,
)

# Shares of decrements above which they do not collapse.
_COLLAPSE = 0.1
# Share of entries from which on a matrix is multiplied faster when it is not sparse.
_DENSE = 0.1
# Pairs of columns that labelsets may carry in all before matrices are multiplied instead.
_MOST_PAIRS = 2**24


class PairSums:
    r"""Weighted cross-products :math:`Z'WZ` of the columns of a 0/1 design, for many weights.

    A row that carries c of the m columns adds its weight to c(c + 1)/2 entries. Labels are
    sparse, so these are far fewer operations than a product of matrices takes.

    Parameters
    ----------
    design : ndarray of float, shape (rows, m)
        The columns, of zeros and ones.

    Attributes
    ----------
    design : ndarray of float, shape (rows, m)
        The columns.
    place : ndarray of int, shape (m, m)
        Where among the sums the product of two columns is.

    Examples
    --------
    >>> pairs = PairSums(np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> sums = pairs.under(np.array([[2.0, 3.0]]))
    >>> sums[0][pairs.place]
    array([[5., 3.],
           [3., 3.]])
    """

    def __init__(self, design: FloatArray) -> None:
        self.design = design
        self._pool: Any = None
        size = design.shape[1]
        self.place = np.arange(size * size).reshape(size, size)
        rows, columns = np.nonzero(design)
        n_carried = np.bincount(rows, minlength=len(design))
        n_pairs = n_carried * (n_carried + 1) // 2
        if n_pairs.sum() > _MOST_PAIRS:
            return
        # Each column that a row carries is paired with itself and those before it.
        begin = (np.cumsum(n_carried) - n_carried)[rows]
        n_partners = np.arange(len(rows)) - begin + 1
        later = np.repeat(np.arange(len(rows)), n_partners)
        earlier = np.arange(len(later)) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
        earlier += begin[later]
        flat = columns[later] * size + columns[earlier]
        occurs = np.zeros(size * size, dtype=np.bool_)
        occurs[flat] = True
        # Pairs that no row carries share a last sum, which is zero.
        number = np.where(occurs, np.cumsum(occurs) - 1, occurs.sum())
        self.place = np.minimum(number.reshape(size, size), number.reshape(size, size).T)
        pool = sparse.csc_array(
            (np.ones(len(flat)), number[flat], np.concatenate([[0], np.cumsum(n_pairs)])),
            shape=(int(occurs.sum()) + 1, len(design)),
        )
        is_dense = pool.nnz > _DENSE * pool.shape[0] * pool.shape[1]
        self._pool = pool.toarray() if is_dense else pool

    def under(self, weights: FloatArray) -> FloatArray:
        """Give the sums under each line of weights.

        Parameters
        ----------
        weights : ndarray, shape (lines, rows)
            The weights.

        Returns
        -------
        ndarray, shape (lines, sums)
            The sums; taken at `place` they make a matrix.
        """
        if self._pool is not None:
            return np.ascontiguousarray((self._pool @ weights.T).T)
        products = [(self.design.T * line) @ self.design for line in weights]
        return np.array(products).reshape(len(weights), -1)


class _Iteration:
    """Where the iteration of one model stands: `coef` and `step`, which lead to `candidate`."""

    def __init__(self, columns: IntArray, place: IntArray, start: FloatArray) -> None:
        self.columns, self.place = columns, place
        self.coef = self.candidate = start
        self.step = np.zeros_like(start)
        self.value, self.decrement, self.length, self.steps = -np.inf, np.inf, 1.0, 0

    def leads_down(self, value: float) -> bool:
        """Tell whether the candidate has a smaller value, and the step must be cut."""
        return value < self.value - SLACK * abs(self.value) and self.length >= SHORTEST

    def halve(self) -> None:
        """Go half as far."""
        self.length /= 2
        self.candidate = self.coef + self.length * self.step

    def go_on(self, value: float, step: FloatArray, decrement: float) -> None:
        """Accept the candidate, and take the step that leads on from it."""
        self.value, self.decrement, self.length = value, decrement, 1.0
        self.coef, self.step = self.candidate, step
        self.candidate = self.coef + step
        self.steps += 1


def newton_together(
    pairs: PairSums,
    signs: FloatArray,
    counts: FloatArray,
    columns: Sequence[IntArray],
    *,
    start: FloatArray | None = None,
    max_steps: Sequence[int],
    penalty: FloatArray | None = None,
    patience: float = np.inf,
    gives_up: Callable[[int, FloatArray, int], bool] | None = None,
) -> list[Solution]:
    """Maximise the (ridge-penalised) likelihoods of several logistic regressions.

    Parameters
    ----------
    pairs : PairSums
        Cross-products of the design that has the columns of all of them.
    signs : ndarray, shape (models, rows)
        1 where the outcome is 1, and −1 where it is 0.
    counts : ndarray, shape (models, rows)
        How many observations each row stands for; zero where it takes no part.
    columns : sequence of ndarray of int
        The columns of each model, linearly independent in the rows that take part.
    start : ndarray, shape (models, m), optional
        Coefficients to begin with, zero outside `columns`. Without them the first step is taken
        from probabilities of 1/4 and 3/4, as in R's ``glm``.
    max_steps : sequence of int
        Steps after which each stops.
    penalty : ndarray, shape (m,), optional
        Ridge penalties of the coefficients.
    patience : float
        Steps after which `gives_up` is asked about models whose decrements do not collapse:
        Newton's method squares its error near a finite maximum.
    gives_up : callable, optional
        Tells from the number of a model, its next step and the steps taken whether it stops.

    Returns
    -------
    list of Solution
        Where each iteration stopped.

    Examples
    --------
    Three rows with outcome 1, one with 0, and a constant:

    >>> (solution,) = newton_together(
    ...     PairSums(np.ones((2, 1))),
    ...     signs=np.array([[1.0, -1.0]]),
    ...     counts=np.array([[3.0, 1.0]]),
    ...     columns=[np.array([0])],
    ...     max_steps=[20],
    ... )
    >>> solution.coef, np.log(3.0)
    (array([1.09861229]), np.float64(1.09861...))
    """
    design, is_first = pairs.design, start is None
    coef = np.zeros((len(columns), design.shape[1])) if start is None else start
    models = [
        _Iteration(at, pairs.place[at[:, None], at], line[at])
        for at, line in zip(columns, coef, strict=True)
    ]
    nothing = Solution(np.zeros(0), np.zeros((0, 0)), np.zeros(0), 0, converged=True)
    solutions = {order: nothing for order, at in enumerate(columns) if not len(at)}
    left: list[int] = []
    while len(solutions) < len(models):
        if len(left) + len(solutions) != len(models):
            left = [order for order in range(len(models)) if order not in solutions]
            sign, count = signs[left], counts[left]
        coef = np.zeros((len(left), design.shape[1]))
        for line, order in zip(coef, left, strict=True):
            line[models[order].columns] = models[order].candidate
        if is_first:
            values = np.full(len(left), -np.inf)
            pull, weights = START_PULL * count, START_WEIGHT * count
        else:
            odds = np.exp(-np.maximum(sign * (coef @ design.T), LEAST_MARGIN))
            chance = 1 / (1 + odds)
            values = -np.einsum("ij,ij->i", count, np.log1p(odds))
            pull = count * (odds * chance)
            weights = pull * chance
        gradients = (sign * pull) @ design
        if penalty is not None:
            values -= 0.5 * (coef**2 @ penalty)
            gradients -= penalty * coef
        lines = zip(left, values.tolist(), gradients, pairs.under(weights), strict=True)
        for order, value, gradient, sums in lines:
            model = models[order]
            if model.leads_down(value):
                model.halve()
                continue
            information, own = sums.take(model.place), gradient.take(model.columns)
            if penalty is not None:
                information += np.diag(penalty[model.columns])
            _, step, singular = lapack.dposv(information, own)
            if singular:
                step = np.zeros_like(own)
            decrement = np.nan if singular else float(own.dot(step))
            if is_first:
                model.go_on(value, step, np.inf)
                continue
            converged = is_maximum(decrement, model.decrement)
            if converged or singular or model.steps >= max_steps[order]:
                covariance = covariance_of(information)
                solutions[order] = Solution(
                    model.candidate, covariance, step, model.steps, converged
                )
                continue
            stalls = model.steps >= patience and decrement > _COLLAPSE * model.decrement
            if stalls and gives_up is not None and gives_up(order, step, model.steps):
                unknown = np.full_like(information, np.nan)
                solutions[order] = Solution(model.candidate, unknown, step, model.steps, False)
                continue
            model.go_on(value, step, decrement)
        is_first = False
    return [solutions[order] for order in range(len(models))]
