r"""Paths of l1-penalised logistic regressions on weighted rows, solved to the last digits.

At each penalty :math:`\lambda` the minimum of

.. math:: -\frac{1}{n} \sum_g N_g \log P(y_g | a + z_g'b) + \lambda \|b\|_1

over a free intercept a and coefficients b of standardised columns is found by proximal Newton
steps: the quadratic approximation of the loss, with the l1 norm as it is, is minimised exactly by
an active-set method, and a line search does the rest. Each penalty starts where the last one
ended, so that two or three steps are enough, and a step looks only at the columns that may enter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit, logit

from isingmlc.base.arrays import BoolArray, Features, FloatArray, dense
from isingmlc.input.rows import ModelData

# Largest violation of the optimality conditions that a solution may have, also as a part of the
# penalty; and how much further a solution goes where rounding lets it.
TOLERANCE = 1e-9
_RELATIVE = 1e-3
_FURTHER = 1e-3
# Rounding in an objective; in a gradient; and what keeps systems solvable where columns depend on
# each other, small enough that none of them enters only for it.
_ROUNDING = 1e-14
_ENTRY = 1e-13
_JITTER = 4e-15
# A step must bring this part of the decrease that is expected, and is halved so often for it.
_DECREASE = 1e-4
_HALVINGS = 30
# Variances below this part of the mean square are the rounding of zero.
_CONSTANT = 1e-24
# glmnet ends a path where the explained fraction of the deviance is above the first of these, or
# has risen by less than the second, but not before so many penalties.
_EXPLAINED = 0.999
_RISE = 1e-5
_SHORTEST = 5
# Lower end of glmnet's paths as a part of the upper one, and where there are not more
# observations than columns.
_LOWEST = 1e-4
_LOWEST_WIDE = 1e-2
# On the way to a single penalty each one is at least this part of the one before.
_STRIDE = 0.8
# Gradients below this are the rounding of zero: no column says anything about the outcome.
NO_GRADIENT = 1e-14


@dataclass(frozen=True)
class Design:
    """Standardised columns that several outcomes share.

    Attributes
    ----------
    columns : ndarray or csc_array, shape (rows, q)
        Columns minus `center`, divided by `scale`.
    center, scale : ndarray, shape (q,)
        The means (zero for sparse columns with zeros: the intercept makes up for it), and the
        standard deviations, with the weights and without a correction of the degrees of freedom,
        infinite where a column is constant.
    share : ndarray, shape (rows,)
        Weights of the rows, adding up to one.
    nobs : float
        Sum of the weights.
    """

    columns: Any
    center: FloatArray
    scale: FloatArray
    share: FloatArray
    nobs: float

    @classmethod
    def of(cls, columns: Any, weights: FloatArray) -> Design:
        """Standardise columns.

        Parameters
        ----------
        columns : ndarray or sparse, shape (rows, q)
            What explains the outcomes.
        weights : ndarray, shape (rows,)
            How many observations each row stands for.

        Returns
        -------
        Design
            The standardised columns.
        """
        nobs = float(weights.sum())
        share = weights / nobs
        mean = np.asarray(share @ columns, dtype=np.float64)
        if sparse.issparse(columns):
            values = sparse.csc_array(columns, dtype=np.float64, copy=True)
            stored = np.diff(values.indptr)
            # Deviations of what is stored, and of the zeros that are not.
            deviation, ones = values.copy(), values.copy()
            deviation.data = np.square(values.data - np.repeat(mean, stored))
            ones.data = np.ones(len(values.data))
            full = stored == len(share)
            variance = share @ deviation + np.where(full, 0.0, 1 - share @ ones) * mean**2
            center = np.where(full, mean, 0.0)
            values.data -= np.repeat(center, stored)
        else:
            values = np.array(columns, dtype=np.float64, order="F")
            values -= mean
            variance = share @ np.square(values)
            center = mean
        # If all values are alike, their mean may be off by a rounding.
        varies = variance > _CONSTANT * (variance + mean**2)
        scale = np.sqrt(np.where(varies, variance, np.inf))
        if sparse.issparse(values):
            values.data /= np.repeat(scale, stored)
        else:
            values /= scale
        return cls(values, center, scale, share, nobs)

    @property
    def varies(self) -> BoolArray:
        """Marks of the columns that are not constant, shape (q,)."""
        return np.isfinite(self.scale)


def lay_out(data: ModelData) -> tuple[BoolArray, FloatArray, Design]:
    """Lay out rows for regressions of each label on the other labels and the features.

    Parameters
    ----------
    data : ModelData
        The rows, with features.

    Returns
    -------
    labels : ndarray of bool, shape (n, K)
        The labels.
    weights : ndarray, shape (n,)
        The weights of the rows.
    design : Design
        Labels and features side by side, standardised, which all the regressions share.
    """
    labels = data.labels
    features: Features = data.features
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    if sparse.issparse(features):
        columns = sparse.hstack([sparse.csc_array(labels), features], "csc", dtype=np.float64)
    else:
        columns = np.hstack([labels, features], dtype=np.float64)
    return labels, weights, Design.of(columns, weights)


@dataclass(frozen=True)
class L1Path:
    """Penalised regressions of one outcome, from the largest penalty down.

    Attributes
    ----------
    lam : ndarray, shape (m,)
        Penalties, on the scale of the mean log-likelihood.
    lam_max : float
        The smallest penalty at which every coefficient is zero.
    n_columns : int
        Number of columns that could have a coefficient.
    intercept : ndarray, shape (m,)
        Intercepts.
    coef : csr_array, shape (m, q)
        Coefficients of the columns as they were before standardising.
    llf : ndarray, shape (m,)
        Log-likelihoods, without the penalty.
    explained : ndarray, shape (m,)
        Fractions of the null deviance that are explained.
    kkt : ndarray, shape (m,)
        Largest violations of the optimality conditions, on the scale of `lam`.
    """

    lam: FloatArray
    lam_max: float
    n_columns: int
    intercept: FloatArray
    coef: Any
    llf: FloatArray
    explained: FloatArray
    kkt: FloatArray

    def __post_init__(self) -> None:
        arrays = (self.lam, self.intercept, self.coef.data, self.llf, self.explained, self.kkt)
        for array in arrays:
            array.flags.writeable = False

    @property
    def n_nonzero(self) -> Any:
        """Number of coefficients other than zero at each penalty."""
        return np.diff(self.coef.indptr)

    @property
    def converged(self) -> bool:
        """Whether every penalty was solved to the tolerance."""
        return bool((self.kkt <= _tolerance(self.lam)).all())


def l1_path(
    design: Design,
    outcome: BoolArray,
    usable: BoolArray,
    lam: float | None = None,
    *,
    n_lambda: int = 100,
    max_iter: int = 100,
) -> L1Path:
    """Fit the l1-penalised logistic regressions of one outcome.

    Parameters
    ----------
    design : Design
        Standardised columns.
    outcome : ndarray of bool, shape (rows,)
        What is explained; it must vary.
    usable : ndarray of bool, shape (q,)
        Which columns may explain it.
    lam : float, optional
        A single penalty. Otherwise the path is glmnet's: log-spaced from the smallest penalty at
        which every coefficient is zero down to 1e-4 of it (1e-2 if there are not more
        observations than columns), and ended early by the rule of `path_has_ended`.
    n_lambda : int
        How many penalties a path has at most.
    max_iter : int
        Newton steps after which a penalty is given up.

    Returns
    -------
    L1Path
        The fits.

    References
    ----------
    .. [1] Friedman, J., Hastie, T. and Tibshirani, R. (2010). Regularization paths for
       generalized linear models via coordinate descent. *J. Stat. Softw.* 33(1), 1–22.
    .. [2] Lee, J. D., Sun, Y. and Saunders, M. A. (2014). Proximal Newton-type methods for
       minimizing composite functions. *SIAM J. Optim.* 24(3), 1420–1443.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> columns = rng.normal(size=(200, 3))
    >>> outcome = rng.random(200) < expit(columns[:, 0])
    >>> design = Design.of(columns, np.ones(200))
    >>> path = l1_path(design, outcome, design.varies, lam=0.05)
    >>> path.coef.toarray().round(2)
    array([[0.68, 0.  , 0.  ]])
    >>> path.kkt < 1e-9
    array([ True])
    """
    solver = L1Problem(design, outcome, usable & design.varies)
    point = null = solver.null_point()
    n_columns = int(solver.usable.sum())
    lam_max = float(np.abs(null.gradient).max(initial=0.0))
    lowest = _LOWEST if design.nobs > n_columns else _LOWEST_WIDE
    fits = []
    explained: list[float] = []
    last = lam_max
    for penalty in _penalties(lam_max, lam, lowest, n_lambda):
        point = solver.solve(point, penalty, last, max_iter)
        last = penalty
        fits.append((penalty, point.intercept, point.coef, point.loss, point.violation))
        explained.append(1 - point.loss / null.loss)
        if lam is None and path_has_ended(explained):
            break
    if lam is not None:
        fits, explained = fits[-1:], explained[-1:]
    lams, intercepts, coefs, losses, violations = map(np.array, zip(*fits, strict=True))
    coefs = coefs / design.scale
    return L1Path(
        lam=lams,
        lam_max=lam_max,
        n_columns=n_columns,
        intercept=intercepts - coefs @ design.center,
        coef=sparse.csr_array(coefs),
        llf=-design.nobs * losses,
        explained=np.array(explained),
        kkt=violations,
    )


def _penalties(lam_max: float, lam: float | None, lowest: float, n_lambda: int) -> list[float]:
    """Give the penalties of a path, or those on the way to a single one."""
    if lam_max <= NO_GRADIENT:
        return [lam_max if lam is None else lam]
    if lam is None:
        path: list[float] = (lam_max * np.geomspace(1, lowest, n_lambda)).tolist()
        return path
    if lam >= lam_max:
        return [lam]
    steps = max(1, int(np.ceil(np.log(lam / lam_max) / np.log(_STRIDE))))
    way: list[float] = np.geomspace(lam_max, lam, steps + 1).tolist()
    return way


def path_has_ended(explained: Sequence[float]) -> bool:
    """Tell whether glmnet would end a path after the penalties fitted so far.

    Parameters
    ----------
    explained : sequence of float
        Fractions of the null deviance that each penalty explains.

    Returns
    -------
    bool
        Whether there are at least five, and the last one is above 0.999 or less than 1e-5 above
        the one before.

    Examples
    --------
    >>> path_has_ended([0.0, 0.1, 0.2, 0.3, 0.300009])
    True
    >>> path_has_ended([0.0, 0.1, 0.2, 0.200009])
    False
    """
    return len(explained) >= _SHORTEST and (
        explained[-1] > _EXPLAINED or explained[-1] - explained[-2] < _RISE
    )


def solve_quadratic(
    gram: FloatArray, slope: FloatArray, lam: float, start: FloatArray
) -> FloatArray:
    r"""Minimise :math:`b'Gb/2 - s'b + \lambda \|b\|_1` exactly.

    Parameters
    ----------
    gram : ndarray, shape (q, q)
        G, positive definite.
    slope : ndarray, shape (q,)
        s.
    lam : float
        The penalty.
    start : ndarray, shape (q,)
        A guess; the fewer of its signs are wrong, the faster.

    Returns
    -------
    ndarray, shape (q,)
        The minimum, with exact zeros.

    Notes
    -----
    With the signs of the non-zero coefficients given, the minimum solves a linear system. Towards
    it a coefficient that reaches zero is dropped; once it is reached, the coefficient that
    violates the optimality conditions most is added, and so on [1]_. The objective falls at each
    minimum, so no set of signs comes twice.

    References
    ----------
    .. [1] Lee, H., Battle, A., Raina, R. and Ng, A. Y. (2006). Efficient sparse coding
       algorithms. *Advances in Neural Information Processing Systems* 19.

    Examples
    --------
    >>> solve_quadratic(np.eye(2), np.array([1.0, 0.1]), 0.3, np.zeros(2))
    array([0.7, 0. ])
    """
    coef = start.copy()
    sign = np.sign(start)
    added = -1
    # Far more rounds than are ever needed: rounding must not make it go in circles.
    for _ in range(50 + 10 * len(coef)):
        active = np.flatnonzero(sign)
        if len(active):
            here = coef[active]
            there = np.linalg.solve(
                gram[active[:, None], active], slope[active] - lam * sign[active]
            )
            crossing = there * sign[active] <= 0
            if crossing.any():
                way = np.where(crossing, here / np.where(crossing, here - there, 1.0), np.inf)
                coef[active] = here + way.min() * (there - here)
                dropped = active[way <= way.min()]
                coef[dropped] = sign[dropped] = 0.0
                if added in dropped and not way.min():
                    # Only rounding had brought it in.
                    break
                continue
            coef[active] = there
        pull = np.where(sign == 0, slope - gram @ coef, 0.0)
        if np.abs(pull).max(initial=0.0) <= lam + _ENTRY:
            break
        added = int(np.abs(pull).argmax())
        sign[added] = np.sign(pull[added])
    return coef


def _tolerance(lam: Any) -> Any:
    """Give the violation that a solution may have."""
    return np.minimum(TOLERANCE, _RELATIVE * lam) + _ROUNDING


@dataclass(frozen=True)
class L1Point:
    """Where the solver stands: coefficients, and all that follows from them.

    Attributes
    ----------
    lam : float
        The penalty.
    intercept, coef : float, ndarray of shape (m,)
        The coefficients.
    eta, probability : ndarray, shape (n,)
        Log-odds and probabilities of the rows.
    loss, objective : float
        Mean negative log-likelihood, without and with the penalty.
    slope, gradient : float, ndarray of shape (m,)
        Derivatives of the loss by the intercept and the coefficients.
    violation : float
        How far the conditions of a minimum are from being met.
    """

    lam: float
    intercept: float
    coef: FloatArray
    eta: FloatArray
    loss: float
    objective: float
    probability: FloatArray
    slope: float
    gradient: FloatArray
    violation: float


@dataclass(frozen=True)
class L1Problem:
    """The regression of one outcome on the usable columns of a design.

    Attributes
    ----------
    design : Design
        The columns.
    outcome : ndarray of bool, shape (n,)
        What they explain.
    usable : ndarray of bool, shape (m,)
        Marks of the columns that may have a coefficient.
    """

    design: Design
    outcome: BoolArray
    usable: BoolArray

    def null_point(self) -> L1Point:
        """Give the solution without columns."""
        intercept = float(logit(self.design.share @ self.outcome))
        eta = np.full(len(self.outcome), intercept)
        return self.look_at(0.0, intercept, np.zeros(len(self.usable)), eta)

    def solve(self, start: L1Point, lam: float, last: float, max_iter: int) -> L1Point:
        """Find the solution for one penalty from that for the one before."""
        point = self.look_at(lam, start.intercept, start.coef, start.eta)
        # Columns that the strong rule lets in; later ones are let in where they violate.
        working = np.abs(point.gradient) >= 2 * lam - last
        tolerance = _tolerance(lam)
        aim = max(_FURTHER * tolerance, _ROUNDING)
        before = np.inf
        for _ in range(max_iter):
            is_stuck = point.violation <= tolerance and point.violation > before / 2
            if point.violation <= aim or is_stuck:
                break
            before = point.violation
            working |= (point.coef != 0) | (np.abs(point.gradient) > lam)
            moved = self._step(point, np.flatnonzero(working & self.usable))
            if moved is point:
                break
            point = moved
        return point

    def _step(self, point: L1Point, working: Any) -> L1Point:
        """Go to the minimum of the quadratic approximation, or as far that way as it helps."""
        share, lam = self.design.share, point.lam
        weight = share * point.probability * (1 - point.probability)
        total = weight.sum()
        columns = dense(self.design.columns[:, working])
        # The intercept is free: it follows the coefficients, which see centred columns.
        center = weight @ columns / total
        rooted = np.sqrt(weight)[:, None] * (columns - center)
        gram = rooted.T @ rooted
        gram[np.diag_indices_from(gram)] += _JITTER * np.linalg.norm(gram)
        slope = point.gradient[working] - center * point.slope
        here = point.coef[working]
        there = solve_quadratic(gram, gram @ here - slope, lam, here)
        step = there - here
        intercept_step = -point.slope / total - center @ step
        eta_step = intercept_step + columns @ step
        expected = (
            slope @ step - point.slope**2 / total + lam * (np.abs(there).sum() - np.abs(here).sum())
        )
        for length in 0.5 ** np.arange(_HALVINGS):
            coef = point.coef.copy()
            coef[working] = there if length == 1 else here + length * step
            moved = self.look_at(
                lam,
                point.intercept + length * intercept_step,
                coef,
                point.eta + length * eta_step,
            )
            if moved.objective <= point.objective + _DECREASE * length * expected + _ROUNDING:
                return moved
        return point

    def look_at(self, lam: float, intercept: float, coef: FloatArray, eta: FloatArray) -> L1Point:
        """Compute loss, gradient and violation of the optimality conditions."""
        share = self.design.share
        probability = expit(eta)
        residual = share * (probability - self.outcome)
        slope = float(residual.sum())
        gradient = np.where(self.usable, residual @ self.design.columns, 0.0)
        loss = -float(share @ log_expit(np.where(self.outcome, eta, -eta)))
        off = np.abs(gradient + lam * np.sign(coef)) - lam * (coef == 0)
        return L1Point(
            lam=lam,
            intercept=intercept,
            coef=coef,
            eta=eta,
            loss=loss,
            objective=loss + lam * float(np.abs(coef).sum()),
            probability=probability,
            slope=slope,
            gradient=gradient,
            violation=max(abs(slope), float(off.max(initial=0.0))),
        )
