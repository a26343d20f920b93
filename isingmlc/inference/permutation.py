"""Permutation p-values: a slow reference that assumes nothing but exchangeable rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, make_generator
from isingmlc.base.arrays import FloatArray, IntArray, dense
from isingmlc.inference.edges import GivenPvalues
from isingmlc.inference.score import NullModel, plain_scores
from isingmlc.input.rows import ModelData
from isingmlc.results.edge_tests import EdgeTests
from isingmlc.statistics.labelsets import LabelsetStatistics
from isingmlc.statistics.sums import find_labelsets

# Statistics of permuted data are computed in pieces of about this size.
_PIECE_BYTES = 2**25


def permute(
    data: ModelData,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    plain: EdgeTests,
    n_permutations: int,
    random_state: RandomState,
) -> EdgeTests:
    """Replace p-values by those of permuting the rows of the features against the labels.

    Parameters
    ----------
    data : ModelData
        The rows.
    stats : LabelsetStatistics
        Their statistics.
    nulls : list of NullModel
        The null models of the labels that are tested.
    plain : EdgeTests
        The score tests.
    n_permutations : int
        How many permutations.
    random_state : int, Generator or None
        Source of the permutations.

    Returns
    -------
    EdgeTests
        The tests, with p-values ``(1 + #{permuted ≥ observed}) / (1 + permutations)`` for edges
        and for features.
    """
    if data.weights is not None and (data.weights != 1).any():
        raise exc.ModelError(
            "pvalue='permutation' exchanges rows, so each must stand for one observation, but "
            "freq_weights differ from 1. Repeat the rows instead."
        )
    generator = make_generator(random_state)
    codes = find_labelsets(data.packed_labels, len(data.label_names))[1]
    observed = plain.statistic.to_numpy()
    importance = plain.importance.to_numpy()
    exceed = np.zeros(observed.shape)
    exceed_importance = np.zeros(len(importance))
    n_rows, n_sets, n_features = len(codes), len(stats.counts), observed.shape[0]
    together = max(1, min(n_permutations, _PIECE_BYTES // (8 * n_sets * min(n_features, 256))))
    width = max(1, _PIECE_BYTES // (8 * max(n_rows, together * n_sets)))
    for start in tqdm(
        range(0, n_permutations, together), desc="permutations", disable=None, leave=False
    ):
        count = min(together, n_permutations - start)
        shuffled = codes[generator.permuted(np.tile(np.arange(n_rows), (count, 1)), axis=1)]
        for first in range(0, n_features, width):
            part = slice(first, min(first + width, n_features))
            values = _permuted_statistics(data, stats, nulls, shuffled, part)
            values[:, np.isnan(observed[part])] = np.nan
            # A relative margin keeps ties of rounding on the side of the null.
            exceed[part] += (values >= observed[part] * (1 - 1e-12)).sum(axis=0)
            sums = np.nansum(values, axis=2)
            exceed_importance[part] += (sums >= importance[part] * (1 - 1e-12)).sum(axis=0)
    pvalue = np.where(np.isnan(observed), np.nan, (1 + exceed) / (1 + n_permutations))
    untested = np.isnan(observed).all(axis=1)
    feature = np.where(untested, np.nan, (1 + exceed_importance) / (1 + n_permutations))
    return replace(
        plain,
        given_pvalue=GivenPvalues(pvalue, np.log10(pvalue), feature),
        distribution=f"{n_permutations} permutations",
    )


def _permuted_statistics(
    data: ModelData,
    stats: LabelsetStatistics,
    nulls: list[NullModel],
    shuffled: IntArray,
    part: slice,
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
    scores = plain_scores(nulls, stats.patterns, sums, squares).statistic()
    for null, values in zip(nulls, scores, strict=True):
        statistic[:, :, null.label] = values.reshape(count, n_part)
    return statistic
