r"""Score statistics of columns for all labels, from their sums within cells.

For label k, with fitted probabilities p on cells, residuals :math:`e = y - p`, weights
:math:`w = p(1-p)` and regressors z (the constant, the other labels and the covariates), a column
with sums S and squares Q within cells has the score :math:`U = \sum_g e_g S_g` with variance

.. math::

    V = \sum_g w_g Q_g - G'G, \quad G = F' \sum_g w_g z_g S_g, \quad
    FF' = A^{-1}, \quad A = \sum_g N_g w_g z_g z_g' .

So statistics of all columns for a batch of labels are products of the sums with the residuals and
with weighted regressors, and of the squares with the weights.

Under a penalty A carries it, and the residuals are those after a Newton step towards the maximum
without penalty, :math:`\tilde e = e - w z'A^{-1}g` with the gradient g, since what the penalty adds
to the residuals does not vary. Where variances do not come from the model, the score of a column
is still :math:`\sum_i \tilde e_i (x_i - c_i)` with :math:`c = z'A^{-1}Z'WS` what the regressors
explain of it. With :math:`v_g` the variance of the residual of an observation (see
:mod:`isingmlc.inference.covariance`) its variance is
:math:`\sum_g v_g (Q_g - 2 c_g S_g + N_g c_g^2)`; of dependent rows it comes from the sums within
clusters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from isingmlc.base.arrays import FloatArray, IntArray, chunks, dense
from isingmlc.base.tolerances import COLLINEAR, INFLATED, OWN_VARIANCE
from isingmlc.fitting.design import Factor, Factors
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.covariance import MODEL_BASED, Clustered, ModelBased, covariance_of
from isingmlc.statistics.dependence import Clusters
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks

# Temporaries that grow with the number of features, and factors of a batch of labels, take so much.
PART_BYTES = 2**26
_SLAB_BYTES = 2**24
_BATCH_BYTES = 2**27
# Products with sparse columns of more non-zeros than this share are faster with zeros filled in.
_FILLED = 0.03
# Regressors that more than this share of the cells have are multiplied with all cells.
_FULL = 0.35


@dataclass(frozen=True)
class NullModel:
    """What score tests need of the fit of one label; `rows` are its uncertain cells."""

    label: int
    counts: FloatArray
    factors: Factors
    rows: IntArray
    probability: FloatArray
    weight: FloatArray
    effective: FloatArray
    penalised: bool = False
    covariance: ModelBased = MODEL_BASED
    drawn: FloatArray | None = None

    @property
    def factor(self) -> Factor:
        """F with :math:`FF' = A^{-1}`, A the information."""
        return self.factors[self.label]

    def with_covariance(self, covariance: ModelBased) -> NullModel:
        """Return the same fit with another type of covariance."""
        return replace(self, covariance=covariance)

    @property
    def is_sandwich(self) -> bool:
        """Whether variances are others than the information."""
        return type(self.covariance) is not ModelBased or self.drawn is not None

    @cached_property
    def cell_variance(self) -> FloatArray:
        """The variance of the residual of one observation in each cell."""
        return self.covariance.cell_variance(self)

    def weighted_regressors(self, factor: Factor) -> FloatArray:
        """Return z w in the uncertain cells: regressors × cells."""
        regressors = self.factors.design[self.rows[:, None], factor.basis]
        return np.asarray((regressors * self.weight[self.rows, None]).T)

    def orthonormal(self, factor: Factor) -> FloatArray:
        """Return F with the digits that an information matrix of inflated variances has lost."""
        if factor.inflation <= INFLATED or factor.root is not None or self.penalised:
            return factor.matrix
        # F'AF is nearly the identity: another Cholesky step brings F'Z'W to it.
        root = factor.matrix.T @ self.weighted_regressors(factor)
        products = (root * (self.counts[self.rows] / self.weight[self.rows])) @ root.T
        found = solve_triangular(np.linalg.cholesky(products), factor.matrix.T, lower=True)
        return np.asarray(found.T)

    def root(self) -> FloatArray:
        """Return F'z w in the uncertain cells: rank × cells."""
        factor = self.factor
        if factor.root is not None:
            return factor.root
        return np.asarray(self.orthonormal(factor).T @ self.weighted_regressors(factor))

    def lean(self, sums: Any) -> FloatArray:
        """Return F'Z'WS of columns with these sums in all cells."""
        return np.asarray(self.root() @ dense(sums[self.rows]))

    def fit_to(self, leaning: FloatArray) -> FloatArray:
        """Return what the regressors explain of columns in the uncertain cells."""
        return np.asarray(self.root().T @ leaning / self.weight[self.rows, None])

    @cached_property
    def leverage(self) -> FloatArray:
        """Leverage :math:`w z'A^{-1}z` of one observation in each cell; zero if it is certain."""
        leverage = np.zeros(len(self.weight))
        root = self.root()
        leverage[self.rows] = np.einsum("ij,ij->j", root, root) / self.weight[self.rows]
        return leverage if self.drawn is None else leverage * self.drawn

    def coefficient_root(self) -> FloatArray:
        """Return R with RR' the sandwich covariance of the coefficients."""
        values, vectors = np.linalg.eigh(self.covariance.meat(self))
        return np.asarray(self.factor.matrix @ (vectors * np.sqrt(np.maximum(values, 0.0))))

    @cached_property
    def clusters(self) -> Clusters | None:
        """The clusters of the uncertain cells; None if rows are independent."""
        if not isinstance(self.covariance, Clustered):
            return None
        return self.covariance.all_clusters.among(self.rows)

    @cached_property
    def cluster_gradients(self) -> FloatArray:
        """F'z times residuals, added up within clusters: clusters × rank."""
        assert self.clusters is not None
        share = self.effective[self.rows] * self.counts[self.rows] / self.weight[self.rows]
        return self.clusters.add_up(share[:, None] * self.root().T)

    def cluster_scores(self, sums: Any, rows: IntArray | None = None) -> FloatArray:
        """Return the efficient scores of columns with sums in all or some cells, by cluster."""
        assert self.clusters is not None
        inside, given = np.arange(len(self.rows)), self.rows
        if rows is not None:
            common = np.intersect1d(self.rows, rows, assume_unique=True, return_indices=True)
            inside, given = common[1:]
        own = dense(sums[given])
        leaning = self.root()[:, inside] @ own
        own = own * self.effective[self.rows[inside], None]
        return self.clusters.add_up(own, inside) - self.cluster_gradients @ leaning

    def cluster_variance(self, sums: Any, rows: IntArray | None = None) -> FloatArray:
        """Return the variances of the scores of columns from those of clusters."""
        assert self.clusters is not None
        variance = np.empty(sums.shape[1])
        size = 8 * max(self.clusters.n_clusters, len(self.rows))
        for part in chunks(sums.shape[1], size, limit=PART_BYTES):
            variance[part] = self.clusters.squares(self.cluster_scores(sums[:, part], rows))
        return variance


def null_models(
    fit: NetworkFit, labels: Sequence[int], covariance: ModelBased | None = None
) -> list[NullModel]:
    """Take what score tests need from the fits of some labels."""
    weights, residuals = fit.weights, fit.residuals
    shared: dict[str, Any] = {
        "counts": fit.stats.counts,
        "factors": fit.factors,
        "penalised": fit.is_penalised,
        "covariance": covariance_of(fit) if covariance is None else covariance,
        "drawn": fit.dependence.drawn if fit.is_robust else None,
    }
    return [
        NullModel(
            label=label,
            rows=weights[label].nonzero()[0],
            probability=fit.nodes[label].probability,
            weight=weights[label],
            effective=residuals[label],
            **shared,
        )
        for label in labels
    ]


def robust_errors(fit: NetworkFit) -> FloatArray:
    """Return robust standard errors of all coefficients."""
    regressors, nulls = fit.regressors, null_models(fit, range(len(fit.nodes)))
    errors = np.full((len(fit.nodes), regressors.n_columns), np.nan)
    for node, null, line in zip(fit.nodes, nulls, errors, strict=True):
        if len(null.rows) and len(node.basis):
            root = null.coefficient_root()
            whole = np.zeros((regressors.n_columns, root.shape[1]))
            whole[node.basis] = root
            line[node.basis] = np.linalg.norm(regressors.in_units(whole)[node.basis], axis=1)
            line[node.basis[null.factor.aliased]] = np.nan
            line[~np.isfinite(node.coef)] = np.nan
    return errors


@dataclass(frozen=True)
class Scores:
    """Efficient scores of columns: labels × columns."""

    score: FloatArray
    variance: FloatArray
    scale: FloatArray
    information: FloatArray

    @property
    def collinear(self) -> Any:
        """Columns that the regressors explain."""
        return self.variance <= COLLINEAR * self.scale

    def statistic(self, added: FloatArray | float = 0.0) -> FloatArray:
        """Return the score statistics, NaN where nothing is left; `added` goes to variances."""
        return self.score**2 / np.where(self.collinear, np.nan, self.variance + added)

    def one_step(self) -> tuple[FloatArray, FloatArray]:
        """Return the estimates after one Newton step, and their standard errors."""
        bread = np.where(self.information > 0, self.information, np.nan)
        return self.score / bread, np.sqrt(np.maximum(self.variance, 0.0)) / bread

    def take(self, at: Any) -> Scores:
        """Return some of them."""
        return Scores(self.score[at], self.variance[at], self.scale[at], self.information[at])


def join(parts: Sequence[Scores], axis: int) -> Scores:
    """Put scores of different labels (axis 0) or columns (axis 1) together."""
    if len(parts) == 1:
        return parts[0]
    fields = zip(*(vars(part).values() for part in parts), strict=True)
    return Scores(*(np.concatenate(each, axis) for each in fields))


@dataclass(frozen=True)
class NullArrays:
    """Null models of some labels (K) in some cells (L) as arrays.

    The factors F' of all labels (K, rank, D) have zeros for regressors that a label has not. Where
    cross-products have too few digits for them, `roots` F'Z'W stand by the place of the label.
    """

    nulls: Sequence[NullModel]
    rows: IntArray | None
    counts: FloatArray
    residual: FloatArray
    weight: FloatArray
    cell_variance: FloatArray
    design: FloatArray
    factor: FloatArray
    roots: dict[int, FloatArray]
    meat: FloatArray | None

    @classmethod
    def of(cls, nulls: Sequence[NullModel]) -> NullArrays:
        """Stack the null models of some labels."""
        counts, design = nulls[0].counts, nulls[0].factors.design
        factors = [null.factor for null in nulls]
        rank = max(factor.matrix.shape[1] for factor in factors)
        stacked, roots = np.zeros((len(nulls), rank, design.shape[1])), {}
        for at, (null, factor) in enumerate(zip(nulls, factors, strict=True)):
            matrix = null.orthonormal(factor).T
            stacked[at, : len(matrix), factor.basis] = matrix.T
            if factor.root is not None:
                roots[at] = np.zeros((rank, len(counts)))
                roots[at][: len(matrix), null.rows] = factor.root
        weight = np.array([null.weight for null in nulls])
        residual = np.array([null.effective for null in nulls])
        found = cls(
            nulls, None, counts, residual, weight, weight, design, stacked, roots, meat=None
        )
        if not any(null.is_sandwich for null in nulls):
            return found
        found = replace(found, cell_variance=np.array([null.cell_variance for null in nulls]))
        crossed = found.cross(found.cell_variance, counts[:, None] * design)
        meat = stacked @ crossed.transpose(1, 0, 2) @ stacked.transpose(0, 2, 1)
        for at in roots:
            own = nulls[at].covariance.meat(nulls[at])
            meat[at, : len(own), : len(own)] = own
        return replace(found, meat=meat)

    @property
    def labels(self) -> IntArray:
        """The labels of the models."""
        return np.array([null.label for null in self.nulls], dtype=np.intp)

    def among(self, at: IntArray, rows: IntArray) -> NullArrays:
        """Return some of the models in some of the cells."""
        place, design = np.ix_(at, rows), self.design[rows]
        met = design.any(axis=0)
        weight = self.weight[place]
        roots = {
            order: self.roots[each][:, rows]
            for order, each in enumerate(at.tolist())
            if each in self.roots
        }
        return NullArrays(
            [self.nulls[each] for each in at.tolist()],
            rows,
            self.counts[rows],
            self.residual[place],
            weight,
            weight if self.meat is None else self.cell_variance[place],
            design[:, met],
            self.factor[at][:, :, met],
            roots,
            None if self.meat is None else self.meat[at],
        )

    def cross(self, weights: FloatArray, sums: Any) -> FloatArray:
        """Return sums of columns times regressors under weights: regressors × labels × columns."""
        n_labels, n_columns = len(weights), sums.shape[1]
        crossed = np.zeros((self.design.shape[1], n_labels, n_columns))
        by_cell = np.ascontiguousarray(weights.T)
        # Cells that do not carry a rare label add nothing to it.
        is_full = (self.design != 0).mean(axis=0) > (1.0 if sparse.issparse(sums) else _FULL)
        full = np.flatnonzero(is_full)
        for part in chunks(len(full), 8 * weights.size, limit=PART_BYTES):
            regressors = self.design[:, full[part], None]
            weighted = np.multiply(regressors, by_cell[:, None], order="C")
            n_cells, *shape = weighted.shape
            found = _multiply(weighted.reshape(n_cells, math.prod(shape)), sums)
            crossed[full[part]] = found.reshape(*shape, n_columns)
        for at in np.flatnonzero(~is_full).tolist():
            rows = self.design[:, at].nonzero()[0]
            weighted = by_cell[rows] * self.design[rows, at, None]
            crossed[at] = _multiply(weighted, sums[rows])
        return crossed

    def lean(self, sums: Any) -> tuple[FloatArray, FloatArray]:
        """Return F'Z' times columns, by weights and by the variances of residuals."""
        if sparse.issparse(sums) and sums.nnz > _FILLED * sums.shape[0] * sums.shape[1]:
            sums = sums.toarray()
        plain = self.factor @ self.cross(self.weight, sums).transpose(1, 0, 2)
        for at, root in self.roots.items():
            plain[at] = root @ sums
        if self.meat is None:
            return plain, plain
        noisy = self.factor @ self.cross(self.cell_variance, sums).transpose(1, 0, 2)
        for at, root in self.roots.items():
            positive = np.where(self.weight[at] > 0, self.weight[at], 1.0)
            noisy[at] = (root * (self.cell_variance[at] / positive)) @ sums
        return plain, noisy

    def explain(
        self, first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return what regressors explain of the information and covariance of two columns each."""
        plain = np.einsum("krp,krp->kp", first[0], second[0])
        if self.meat is None:
            return plain, plain
        rest = second[1] - self.meat @ second[0]
        explained = np.einsum("krp,krp->kp", first[0], rest)
        return plain, explained + np.einsum("krp,krp->kp", first[1], second[0])

    def scores(self, sums: Any, squares: Any, variances: FloatArray | float = 0.0) -> Scores:
        """Return the scores of columns, by their sums and squares in these cells.

        `variances` are those of the columns in all rows.
        """
        n_columns = sums.shape[1]
        least = np.multiply.outer(self.weight @ self.counts, OWN_VARIANCE * variances)
        variance = information = np.asarray(self.weight @ squares)
        if self.meat is not None:
            variance = np.asarray(self.cell_variance @ squares)
        least = np.maximum(COLLINEAR * information, least.reshape(len(least), -1))
        scale = np.maximum(variance, least)
        # Zeros of a slab of sparse columns may be filled in.
        n_filled = sums.shape[0] // 4 if sparse.issparse(sums) else 0
        size = max(len(self.nulls) * self.design.shape[1], n_filled)
        for part in chunks(n_columns, 8 * size, limit=_SLAB_BYTES):
            some = sums if part == slice(0, n_columns) else sums[:, part]
            leaning = self.lean(some)
            explained = self.explain(leaning, leaning)
            information[:, part] -= explained[0]
            if self.meat is not None:
                variance[:, part] -= explained[1]
        for line, null in zip(variance, self.nulls, strict=True):
            if null.clusters is not None:
                line[:] = null.cluster_variance(sums, self.rows)
        return Scores(np.asarray(self.residual @ sums), variance, scale, information)


def _multiply(weighted: FloatArray, sums: Any) -> FloatArray:
    """Return the sums over cells of weights times columns."""
    if sparse.issparse(sums):
        return np.asarray((sums.T @ weighted).T)
    return np.asarray(weighted.T @ sums)


class Batches:
    """The null models of all labels as arrays, as many labels at a time as fit into memory."""

    def __init__(self, nulls: Sequence[NullModel]) -> None:
        self._nulls = nulls
        size = nulls[0].factors.design.shape[1] if nulls else 0
        self._parts = list(chunks(len(nulls), 8 * size**2, limit=_BATCH_BYTES))
        self._kept = [NullArrays.of(nulls)] if len(self._parts) == 1 else []

    def __iter__(self) -> Iterator[NullArrays]:
        if self._kept:
            return iter(self._kept)
        return (NullArrays.of(self._nulls[part]) for part in self._parts)


def score_columns(
    batches: Batches, sums: Any, squares: Any, variances: FloatArray | float = 0.0
) -> Scores:
    """Score columns with these sums and squares for all labels."""
    found = [arrays.scores(sums, squares, variances) for arrays in batches]
    return join(found or [Scores(*np.empty((4, 0, sums.shape[1])))], 0)


def feature_scores(
    stats: LabelsetStatistics, nulls: Sequence[NullModel], variances: FloatArray
) -> Scores:
    """Score all features for all labels, a block of features at a time."""
    batches = Batches(nulls)
    return join(
        [
            score_columns(batches, block.sums, block.squares, variances[part])
            for part, block in feature_blocks(stats)
        ],
        1,
    )


def feature_variances(stats: LabelsetStatistics, intercept: bool) -> FloatArray:
    """Return the variance of each feature in all rows, around zero without an intercept."""
    squares = stats.column_squares / stats.nobs
    return squares - (stats.column_sums / stats.nobs) ** 2 if intercept else squares
