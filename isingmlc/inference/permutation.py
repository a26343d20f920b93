"""Permutation p-values: a slow reference that assumes nothing but exchangeable rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, make_generator
from isingmlc.base.arrays import FloatArray, IntArray, chunks, dense
from isingmlc.inference.blocks import joint_scores
from isingmlc.inference.edges import EdgeArrays, GivenPvalues
from isingmlc.inference.score import Batches, NullModel, feature_variances, score_columns
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of
from isingmlc.statistics.sums import FeatureSums

# Statistics of permuted data are computed in pieces of about this size.
_PIECE_BYTES = 2**25
# A relative margin keeps ties of rounding on the side of the null.
_MARGIN = 1 - 1e-12


def permute(
    data: ModelData,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    plain: EdgeArrays,
    n_permutations: int,
    random_state: RandomState,
    n_jobs: int,
) -> EdgeArrays:
    """Replace p-values by those of permuting the rows of the features against the labels."""
    if data.weights is not None and (data.weights != 1).any():
        raise exc.ModelError(
            "pvalue='permutation' exchanges rows, so each must stand for one observation, but "
            "freq_weights differ from 1. Repeat the rows instead."
        )
    generator = make_generator(random_state)
    codes, strata = cells_of(stats, data), _strata(stats, data)
    observed = plain.statistic
    n_rows, n_sets, n_features = len(codes), len(stats.counts), len(observed)
    batches = list(chunks(n_permutations, 8 * n_sets * min(n_features, 256), limit=_PIECE_BYTES))

    def draw() -> Iterator[IntArray]:
        for batch in batches:
            order = np.tile(np.arange(n_rows), (batch.stop - batch.start, 1))
            shuffled = generator.permuted(order, axis=1)
            if strata is not None:
                # Rows in any order, sorted by stratum again, take the place of those in it.
                inside = np.take_along_axis(
                    shuffled, np.argsort(strata[shuffled], axis=1, kind="stable"), axis=1
                )
                shuffled[:, np.argsort(strata, kind="stable")] = inside
            yield codes[shuffled]

    counted = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
        delayed(_count_exceeding)(data, stats, nulls, plain, shuffled) for shuffled in draw()
    )
    exceed, exceed_importance = np.zeros(observed.shape), np.zeros(n_features)
    for edges, features in tqdm(counted, "permutations", len(batches), disable=None, leave=False):
        exceed += edges
        exceed_importance += features
    pvalue = np.where(np.isnan(observed), np.nan, (1 + exceed) / (1 + n_permutations))
    untested = np.isnan(observed).all(axis=1)
    feature = np.where(untested, np.nan, (1 + exceed_importance) / (1 + n_permutations))
    method = np.where(np.isnan(observed), "", "permutation").astype(object)
    return replace(
        plain,
        given=GivenPvalues(pvalue, np.log10(pvalue), method, feature),
        distribution=f"{n_permutations} permutations",
    )


def _strata(stats: LabelsetStatistics, data: ModelData) -> IntArray | None:
    """Return each row the number of its context, within which rows may be exchanged."""
    context = stats.context
    if not len(context):
        return None
    if not context.is_discrete.all():
        names = [context.names[at] for at in np.flatnonzero(~context.is_discrete)]
        raise exc.ModelError(
            "pvalue='permutation' exchanges rows that have the same covariates, which must be "
            f"categories or 0/1, but covariate(s) {exc.shorten(names)} are numbers. Use "
            "pvalue='chi2' or pvalue='saddlepoint', or make them categories."
        )
    # The cells of each stratum are those of its labelsets.
    distinct = np.unique(context.numbers, axis=0, return_inverse=True)[1].ravel()
    return np.asarray(distinct[cells_of(stats, data)], dtype=np.intp)


def _count_exceeding(
    data: ModelData,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    plain: EdgeArrays,
    shuffled: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Count permutations whose statistics, and whose sums of them, reach the observed ones."""
    observed, importance = plain.statistic, plain.importance
    edges, features = np.zeros(observed.shape), np.zeros(len(observed))
    n_rows, n_sets = shuffled.shape[1], len(shuffled) * len(stats.counts)
    for part in chunks(len(observed), 8 * max(n_rows, n_sets), limit=_PIECE_BYTES):
        values = _permuted_statistics(data, stats, nulls, shuffled, part, plain.products == "joint")
        values[:, np.isnan(observed[part])] = np.nan
        edges[part] = (values >= observed[part] * _MARGIN).sum(axis=0)
        sums = np.nansum(values, axis=2)
        features[part] = (sums >= importance[part] * _MARGIN).sum(axis=0)
    return edges, features


def _permuted_statistics(
    data: ModelData,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    shuffled: IntArray,
    part: slice,
    joint: bool,
) -> FloatArray:
    """Score statistics of some features for all permutations: permutations × features × labels."""
    count, n_rows = shuffled.shape
    n_sets = len(stats.counts)
    # One matrix sums the rows of all permutations: row b * L + g takes those in labelset g.
    indices = (shuffled + n_sets * np.arange(count)[:, None]).T.ravel()
    pool = sparse.csc_array(
        (np.ones(count * n_rows), indices, count * np.arange(n_rows + 1)),
        shape=(count * n_sets, n_rows),
    )
    assert data.features is not None
    columns = dense(data.features[:, part]) - stats.shift[part]
    n_part = columns.shape[1]

    def side_by_side(summed: FloatArray) -> FloatArray:
        stacked = summed.reshape(count, n_sets, n_part).transpose(1, 0, 2)
        return stacked.reshape(n_sets, count * n_part)

    sums, squares = side_by_side(pool @ columns), side_by_side(pool @ columns**2)
    statistic = np.full((count, n_part, stats.patterns.shape[1]), np.nan)
    if joint and nulls:
        # Each permutation of a feature is a feature.
        has_constant = 0 in nulls[0].factor.basis
        spread = np.tile(feature_variances(stats, has_constant)[part], count)
        permuted = replace(
            stats,
            source=FeatureSums(sums, squares, np.tile(stats.shift[part], count)),
            feature_names=tuple(map(str, range(count * n_part))),
            products=None,
        )
        scores = np.array([joint_scores(permuted, null, spread)[0] for null in nulls])
    else:
        scores = score_columns(Batches(nulls), sums, squares).statistic()
    for null, values in zip(nulls, scores, strict=True):
        statistic[:, :, null.label] = values.reshape(count, n_part)
    return statistic
