r"""Label models with effects of many features: ridge-penalised pseudo-likelihood, from rows.

The model of label k is
:math:`\theta_k + \sum_{l \ne k} \beta_{kl} y_l + \sum_j \gamma_{kj} \tilde x_j` with features
:math:`\tilde x` of unit variance, and maximises its likelihood less half the penalty times the
squares of all :math:`\beta` and :math:`\gamma`. All labels share one design, so that their margins
and gradients are products of matrices. Newton's equations are solved by a Cholesky factor per label
if columns are few, and otherwise by conjugate gradients for all labels together, which need no
cross-products: features may be sparse, and more than the rows. Such a solution is to lead to the
next point, not to be exact, so that dense columns are multiplied in single precision there;
gradients, and what they say of the maximum, are in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from scipy.linalg import lapack
from scipy.special import logit
from sklearn.utils.sparsefuncs import mean_variance_axis

from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray, chunks
from isingmlc.base.threads import one_thread
from isingmlc.fitting.newton import CONVERGED, LEAST_MARGIN, Points, climb
from isingmlc.input.rows import constant_columns

# Columns up to which systems of equations are solved by factors.
_FEW_COLUMNS = 400
# Conjugate gradients leave this share of the gradient: more far from the maximum, where the next
# step begins anew, and less near it, by the size of the gradient. They stop after so many steps.
_LEFT_NEAR, _LEFT_FAR = 0.01, 0.3
_LEFT_BY_SIZE = 0.1
_MOST_GRADIENTS = 1000
# Squared decrement at which a model that is fitted so has come to its maximum: coefficients are
# within a ten-millionth of a standard error of it.
_ENOUGH = 1e-14
# Single precision serves if it can round off no more of the information than this share of the
# penalty; what it does round off is far less.
_ROUNDED_OFF = 1.0
# Products of so many rows, columns and models are fastest, for up to so many models: rows are read
# once from memory, and BLAS does not rearrange them.
_SMALL_PRODUCT = 10**6
_FEW_MODELS = 20
# Entries of a design that is made dense, and the share of them that are not zero from which on it
# is multiplied faster so.
_DENSE_BYTES = 2**27
_DENSE_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class EffectsDesign:
    """The columns of all label models: a constant, the labels, and features of unit variance."""

    matrix: Features
    centre: FloatArray
    scale: FloatArray
    labels: BoolArray
    weights: FloatArray

    @classmethod
    def of(
        cls, features: Features, labels: BoolArray, weights: FloatArray | None = None
    ) -> EffectsDesign:
        """Lay out the columns."""
        n_rows, n_labels = labels.shape
        weights = np.ones(n_rows) if weights is None else weights
        before = np.column_stack([np.ones(n_rows), labels])
        centre, scale = find_scale(features, weights)
        if sparse.issparse(features) and _stays_sparse(features, before.shape[1]):
            matrix = sparse.hstack([sparse.csr_array(before), features], "csr")
        else:
            dense = features.toarray() if sparse.issparse(features) else features
            matrix = np.empty((n_rows, before.shape[1] + dense.shape[1]))
            matrix[:, : before.shape[1]] = before
            scaled = matrix[:, before.shape[1] :]
            np.subtract(dense, centre, out=scaled)
            scaled /= scale
        return cls(
            matrix,
            np.concatenate([np.zeros(1 + n_labels), centre]),
            np.concatenate([np.ones(1 + n_labels), scale]),
            labels,
            weights,
        )

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse, so that columns are scaled as they are used."""
        return bool(sparse.issparse(self.matrix))

    @cached_property
    def light(self) -> npt.NDArray[np.float32]:
        """The columns of a dense matrix in single precision."""
        return np.asarray(self.matrix, dtype=np.float32)

    def is_light_enough(self, penalty: float) -> bool:
        """Return whether single precision leads to the maximum at a ridge penalty."""
        most = 0.25 * self.weights.sum() * len(self.centre) * np.finfo(np.float32).eps
        return bool(not self.is_sparse and most <= _ROUNDED_OFF * penalty)

    def times(self, coef: FloatArray) -> FloatArray:
        """Return the linear predictors of several models."""
        if not self.is_sparse:
            return np.asarray(coef @ self.matrix.T)
        own = (coef / self.scale).T
        return np.asarray(self.matrix @ own - self.centre @ own).T

    def back(self, pull: FloatArray) -> FloatArray:
        """Return the products of all columns with something that rows have."""
        if not self.is_sparse:
            return np.asarray(pull @ self.matrix)
        products = (self.matrix.T @ pull.T).T
        return np.asarray((products - np.outer(pull.sum(axis=1), self.centre)) / self.scale)

    def bend(self, weights: FloatArray, coef: FloatArray, light: bool) -> FloatArray:
        """Return the products of coefficients with the information of several models."""
        if not light:
            return self.back(weights * self.times(coef))
        # Coefficients near a maximum are too small for the exponents of single precision.
        size = np.abs(coef).max(axis=1, keepdims=True)
        size[size == 0] = 1.0
        scaled, weights = (coef / size).astype(np.float32).T, weights.astype(np.float32)
        n_models, n_columns = coef.shape
        is_cut = n_models <= _FEW_MODELS
        products = np.zeros((n_models, n_columns), dtype=np.float32)
        for rows in chunks(len(self.light), n_columns * n_models * is_cut, limit=_SMALL_PRODUCT):
            part = self.light[rows]
            products += (weights[:, rows] * (part @ scaled).T) @ part
        return np.asarray(products * size)

    def sizes(self) -> FloatArray:
        """Return the weighted mean squares of the columns."""
        total = self.weights.sum()
        label_sizes = self.weights @ self.labels / total
        ones = np.ones(len(self.centre) - self.labels.shape[1])
        return np.concatenate([ones[:1], label_sizes, ones[1:]])

    def crossed(self, weights: FloatArray) -> FloatArray:
        """Return the cross-products of the columns of a dense matrix under weights of rows."""
        size = self.matrix.shape[1]
        information = np.zeros((size, size))
        for rows in chunks(len(weights), 8 * size):
            part = self.matrix[rows] * np.sqrt(weights[rows])[:, None]
            information += part.T @ part
        return information


def _stays_sparse(features: Features, n_before: int) -> bool:
    """Return whether sparse features are multiplied faster, or must be, as they are."""
    n_rows, n_columns = features.shape
    n_all = n_before + n_columns
    is_thin = features.nnz < _DENSE_SHARE * n_rows * n_columns and n_all > _FEW_COLUMNS
    return bool(is_thin or 8 * n_rows * n_all > _DENSE_BYTES)


def find_scale(features: Features, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weighted means and standard deviations of features."""
    if sparse.issparse(features):
        centre, variance = mean_variance_axis(features.astype(np.float64), 0, weights=weights)
    else:
        share = weights / weights.sum()
        centre = share @ features
        variance = np.empty(len(centre))
        for columns in chunks(len(centre), 8 * len(share)):
            variance[columns] = share @ (features[:, columns] - centre[columns]) ** 2
    inside = features if weights.all() else features[weights > 0]
    is_constant = constant_columns(inside, anywhere=True)
    scale = np.where(is_constant | (variance <= 0), 1.0, np.sqrt(variance))
    return np.asarray(centre), scale


@dataclass(frozen=True, eq=False)
class EffectsFit:
    """Label models with effects of features."""

    coef: FloatArray
    converged: BoolArray
    n_steps: IntArray

    def in_units(self, design: EffectsDesign) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return thresholds, interactions and effects in the units of the features."""
        n_labels = len(self.coef)
        own = self.coef / design.scale
        return (
            own[:, 0] - own @ design.centre,
            own[:, 1 : 1 + n_labels],
            own[:, 1 + n_labels :],
        )


def fit_effects(
    design: EffectsDesign,
    penalty: float,
    *,
    start: FloatArray | None = None,
    max_steps: int = 100,
    n_jobs: int = 1,
) -> EffectsFit:
    """Fit the models of all labels."""
    n_labels, size = design.labels.shape[1], len(design.centre)
    signs = np.where(design.labels.T, 1.0, -1.0)
    penalties = np.full(size, float(penalty))
    penalties[0] = 0.0
    own = 1 + np.arange(n_labels)
    is_direct = not design.is_sparse and size <= _FEW_COLUMNS
    light = design.is_light_enough(penalty)
    sizes = design.sizes()

    def evaluate(models: IntArray, coef: FloatArray) -> Points:
        sign = signs[models]
        odds = np.exp(-np.maximum(sign * design.times(coef), LEAST_MARGIN))
        chance = 1 / (1 + odds)
        value = -(np.log1p(odds) @ design.weights) - 0.5 * (coef**2 @ penalties)
        pull = design.weights * odds * chance
        gradients = design.back(sign * pull) - penalties * coef
        gradients[np.arange(len(models)), own[models]] = 0.0
        if is_direct:
            steps = _solve_directly(
                design, pull * chance, gradients, penalties, own[models], n_jobs
            )
        else:
            steps = _solve_by_gradients(
                design, pull * chance, gradients, penalties, own[models], sizes, light
            )
        decrements = np.einsum("ij,ij->i", gradients, steps)
        return Points(value, steps, decrements, np.empty((len(models), 0, 0)))

    if start is None:
        start = np.zeros((n_labels, size))
        start[:, 0] = logit(design.weights @ design.labels / design.weights.sum())
    ends = climb(evaluate, start, max_steps, enough=CONVERGED if is_direct else _ENOUGH)
    return EffectsFit(ends.coef, ends.converged, ends.steps)


def _solve_directly(
    design: EffectsDesign,
    weights: FloatArray,
    gradients: FloatArray,
    penalties: FloatArray,
    own: IntArray,
    n_jobs: int,
) -> FloatArray:
    """Solve Newton's equations of each label by a Cholesky factor."""
    steps = np.zeros_like(gradients)

    def solve(line: int) -> None:
        column = own[line]
        information = design.crossed(weights[line])
        information[np.diag_indices_from(information)] += penalties
        information[column] = information[:, column] = 0.0
        information[column, column] = 1.0
        _, step, failed = lapack.dposv(information, gradients[line])
        steps[line] = np.nan if failed else step

    if n_jobs == 1 or len(own) == 1:
        for line in range(len(own)):
            solve(line)
    else:
        with one_thread():
            Parallel(n_jobs, backend="threading")(delayed(solve)(line) for line in range(len(own)))
    return steps


def _solve_by_gradients(
    design: EffectsDesign,
    weights: FloatArray,
    gradients: FloatArray,
    penalties: FloatArray,
    own: IntArray,
    sizes: FloatArray,
    light: bool,
) -> FloatArray:
    """Solve Newton's equations of all labels by conjugate gradients, as far as a step needs."""
    # The diagonal of the information, if weights had nothing to do with features.
    scaling = 1 / (np.outer(weights.sum(axis=1), sizes) + penalties + (penalties == 0))
    steps = np.zeros_like(gradients)
    # The information is at least the penalty: what it makes of a small gradient is known.
    bound = np.where(penalties > 0, penalties, weights.sum(axis=1, keepdims=True))
    left = np.flatnonzero((gradients**2 / bound).sum(axis=1) > _ENOUGH)
    residual = gradients[left]
    scaled = scaling[left] * residual
    size = np.einsum("ij,ij->i", residual, scaled)
    enough = np.clip(_LEFT_BY_SIZE * np.sqrt(size), _LEFT_NEAR, _LEFT_FAR) ** 2 * size
    direction = scaled
    for _ in range(_MOST_GRADIENTS):
        if not len(left):
            break
        curved = design.bend(weights[left], direction, light) + penalties * direction
        curved[np.arange(len(left)), own[left]] = 0.0
        along = size / np.einsum("ij,ij->i", direction, curved)
        steps[left] += along[:, None] * direction
        residual -= along[:, None] * curved
        scaled = scaling[left] * residual
        before, size = size, np.einsum("ij,ij->i", residual, scaled)
        direction = scaled + (size / before)[:, None] * direction
        going = size > enough
        if not going.all():
            left, residual, direction = left[going], residual[going], direction[going]
            size, enough = size[going], enough[going]
    return steps
