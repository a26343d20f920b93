r"""Likelihood ratios with Jeffreys' prior, for edges of rare labels and rare features.

Where a feature is rare, most likelihood ratios of true nulls are those of tables with empty cells,
and far too small. Firth's penalised likelihood :math:`l(\beta) + \frac{1}{2} \log \det I(\beta)`
[1]_ has a finite maximum whatever is separated, and its ratio keeps its level [2]_. Both models
have the design of the larger one: under the null the coefficient of the feature is held at zero,
but the feature stays in I, as in R's logistf.

References
----------
.. [1] Firth, D. (1993). Bias reduction of maximum likelihood estimates. *Biometrika* 80, 27–38.
.. [2] Heinze, G. and Schemper, M. (2002). A solution to the problem of separation in logistic
   regression. *Statistics in Medicine* 21, 2409–2419.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_jobs, check_names
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, dense
from isingmlc.base.threads import one_thread
from isingmlc.fitting.newton import firth_maxima
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.old_separation import independent_columns
from isingmlc.fitting.pair_sums import PairSums
from isingmlc.fitting.reasons import Reason, find_constant, judge_edges, judge_fits, judge_tests
from isingmlc.inference.edges import EdgeArrays
from isingmlc.inference.refits import refuse_robust
from isingmlc.statistics.labelsets import cells_of

_NOTE = "likelihoods have Jeffreys' prior (Firth), in the design of the larger model"


class _Ratios(NamedTuple):
    """Tests of one feature with all labels: arrays of labels."""

    statistic: FloatArray
    coef: FloatArray
    bse: FloatArray
    converged: BoolArray


def firth_lr_test(
    fit: NetworkFit,
    features: Sequence[str] | str | None = None,
    *,
    min_count: int = 2,
    n_jobs: int = 1,
) -> EdgeArrays:
    """Test single features; `IsingResults.lr_test` explains the arguments."""
    stats, settings = fit.stats, fit.settings
    refuse_robust(fit)
    data = fit.rows_for("lr_test")
    chosen = check_names("features", features, stats.feature_names)
    n_jobs = check_jobs(n_jobs)
    constant = find_constant(stats, settings.intercept)[chosen]
    # Certain rows are rows like others: only a label that does not vary has nothing to test.
    labels = judge_fits(fit, 0)
    minority = stats.counts @ stats.patterns
    minority = np.minimum(minority, stats.nobs - minority)
    labels[labels != Reason.CONSTANT_LABEL] = Reason.OK
    labels[(labels == Reason.OK) & (minority < min_count)] = Reason.TOO_RARE
    reason = judge_edges(labels, constant)
    tested = np.flatnonzero(labels == Reason.OK)
    bases = list(_bases(fit, tested))
    codes = cells_of(stats, data)
    columns: Any = data.features
    if sparse.issparse(columns):
        columns = sparse.csc_array(columns)
    statistic, coef, bse = np.full((3, *reason.shape), np.nan)
    converged = np.ones(reason.shape, dtype=np.bool_)
    lines = np.flatnonzero(~constant)

    def one(line: int) -> _Ratios:
        values = dense(columns[:, [chosen[line]]])[:, 0].astype(float)
        return _test_feature(fit, codes, values, data.weights, tested, bases)

    with one_thread():
        found = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
            delayed(one)(line) for line in lines
        )
        for line, ratios in zip(
            lines, tqdm(found, "Firth fits", len(lines), disable=None, leave=False), strict=True
        ):
            at = line, tested
            statistic[at], coef[at], bse[at], converged[at] = ratios
    if not converged.all():
        exc.warn(
            f"{np.sum(~converged)} of {np.isfinite(statistic).sum()} tests did not converge in "
            f"{settings.max_iter} steps; their statistics are approximate. Raise max_iter.",
            exc.ConvergenceWarning,
        )
    collinear = (reason == Reason.OK) & np.isnan(statistic)
    return EdgeArrays(
        tuple(stats.feature_names[at] for at in chosen),
        stats.label_names,
        statistic,
        np.where(np.isnan(statistic), np.nan, 1.0),
        judge_tests(reason, collinear, np.zeros(reason.shape, dtype=np.bool_)),
        np.nan_to_num(np.sign(coef)),
        test="lr",
        note=_NOTE,
        coef=coef,
        bse=bse,
    )


def _bases(fit: NetworkFit, labels: IntArray) -> Iterator[IntArray]:
    """Return the columns of each label's model that do not depend on others, over all cells."""
    regressors, counts = fit.regressors, fit.stats.counts
    neighbors = np.array([node.neighbors for node in fit.nodes])
    uses = regressors.used_by(neighbors, fit.settings.intercept)
    gram = regressors.matrix.T @ (counts[:, None] * regressors.matrix)
    for label in labels:
        used = np.flatnonzero(uses[label])
        yield used[independent_columns(gram[np.ix_(used, used)]).kept]


def _test_feature(
    fit: NetworkFit,
    codes: IntArray,
    values: FloatArray,
    weights: FloatArray | None,
    labels: IntArray,
    bases: list[IntArray],
) -> _Ratios:
    """Test one feature with all labels, on the distinct rows of cells and values."""
    stats = fit.stats
    matrix = fit.regressors.matrix
    mean = float(np.mean(values)) if fit.settings.intercept else 0.0
    size = float(np.sqrt(np.mean((values - mean) ** 2)))
    scaled = (values - mean) / size
    distinct, row = np.unique(np.column_stack([codes, scaled]), axis=0, return_inverse=True)
    counts = np.bincount(row.ravel(), weights).astype(np.float64)
    cells = distinct[:, 0].astype(np.intp)
    design = np.column_stack([matrix[cells], distinct[:, 1]])
    last = design.shape[1] - 1
    gram = design.T @ (counts[:, None] * design)
    whole = [np.append(basis, last) for basis in bases]
    has_rank = np.array(
        [last in at[independent_columns(gram[np.ix_(at, at)]).kept] for at in whole], dtype=np.bool_
    )
    statistic, coef, bse = np.full((3, len(labels)), np.nan)
    converged = np.ones(len(labels), dtype=np.bool_)
    at = np.flatnonzero(has_rank)
    if len(at):
        signs = np.where(stats.patterns[cells][:, labels[at]].T, 1.0, -1.0)
        models = [whole[each] for each in at]
        free = [*models, *(bases[each] for each in at)]
        binary = np.append(fit.regressors.pairs.binary, False)
        ends = firth_maxima(
            PairSums(design, binary),
            np.vstack([signs, signs]),
            counts,
            [*models, *models],
            max_steps=fit.settings.max_iter,
            free=free,
        )
        n = len(at)
        statistic[at] = 2 * np.maximum(ends.value[:n] - ends.value[n:], 0.0)
        converged[at] = ends.converged[:n] & ends.converged[n:]
        coef[at] = ends.coef[:n, last] / size
        covariances = ends.curvature[:n]
        bse[at] = [np.nan if each is None else np.sqrt(each[-1, -1]) / size for each in covariances]
    return _Ratios(statistic, coef, bse, converged)
