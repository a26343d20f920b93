"""How often p-values of features that do nothing are small, on the data at hand.

Rows of all features are permuted together against the labels, so that features keep their
distributions and their dependence on each other, and lose any effect. Whatever is tested is then
tested anew. The fits of the labels stay what they are, since features are no part of them: only
sums within cells change, and the features of many permutations stand side by side in one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, make_generator
from isingmlc.base.arrays import FloatArray, IntArray, chunks
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.score_tests import score_test
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of
from isingmlc.statistics.sums import RowGroups, sum_products, sum_within

# Features of several permutations are tested at once, in tables of about this size.
_TABLE_BYTES = 2**25
# p-values are counted on a grid of their decimal logarithms.
GRID = np.linspace(0.0, -10.0, 501)
# Strata that numbers are cut into have about so many rows, and a number is cut into so many.
_ROWS_PER_STRATUM = 20
_MOST_CUTS = 10
_PURPOSE = "check_calibration"


@dataclass(frozen=True)
class Setting:
    """A way to test.

    Attributes
    ----------
    name : str
        What it is called.
    fit : NetworkFit
        The fits of the labels.
    options : mapping
        Arguments of `score_test`.
    """

    name: str
    fit: NetworkFit
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Counts:
    """How many p-values of null features are small.

    Attributes
    ----------
    tests : ndarray, shape (permutations, settings, labels + 1)
        How many p-values there are, per label and, last, of features.
    small : ndarray, shape (permutations, settings, labels + 1, levels)
        How many of them are at most each level.
    below : ndarray, shape (settings, labels + 1, grid)
        How many have a decimal logarithm of at most each point of `GRID`, over all permutations.
    """

    tests: FloatArray
    small: FloatArray
    below: FloatArray


@dataclass(frozen=True)
class Exchange:
    """Which rows may take each other's place.

    Attributes
    ----------
    n_rows : int
        How many rows there are.
    strata : ndarray of int, shape (n,), or None
        Rows are exchanged within these alone.
    blocks : ndarray of int, shape (n,), or None
        Rows that move together: clusters.
    note : str
        What is done, in words.
    """

    n_rows: int
    strata: IntArray | None
    blocks: IntArray | None
    note: str

    def draw(self, generator: np.random.Generator) -> IntArray:
        """Draw an order of the rows.

        Parameters
        ----------
        generator : Generator
            Source of the order.

        Returns
        -------
        ndarray of int, shape (n,)
            Which row takes the place of each.
        """
        strata = np.zeros(self.n_rows, np.intp) if self.strata is None else self.strata
        if self.blocks is None:
            shuffled = generator.permutation(self.n_rows)
            places = np.argsort(strata, kind="stable")
            rows = shuffled[np.argsort(strata[shuffled], kind="stable")]
        else:
            # Whole blocks in any order, one after the other along the rows of each stratum.
            turn = generator.permutation(int(self.blocks.max()) + 1)[self.blocks]
            places = np.lexsort((self.blocks, strata))
            rows = np.lexsort((turn, strata))
        order = np.empty(self.n_rows, dtype=np.intp)
        order[places] = rows
        return order


def exchangeable(fit: NetworkFit, purpose: str = _PURPOSE) -> Exchange:
    """Find out which rows may take each other's place where features have no effect.

    Parameters
    ----------
    fit : NetworkFit
        The fit.
    purpose : str
        What asks, for messages.

    Returns
    -------
    Exchange
        The rows, in strata of the covariates if there are any.

    Raises
    ------
    ModelError
        When there are no rows, when rows stand for several observations, or when covariates make
        too many strata.
    """
    data = fit.rows_for(purpose)
    if data.weights is not None and (data.weights != 1).any():
        raise exc.ModelError(
            f"{purpose} exchanges rows, so each must stand for one observation, but freq_weights "
            "differ from 1. Repeat the rows instead."
        )
    codes = cells_of(fit.stats, data)
    strata, note = _strata(fit.stats, codes)
    if fit.stats.groups is None:
        return Exchange(data.n_rows, strata, None, note)
    blocks = np.asarray(fit.stats.groups[codes], dtype=np.intp)
    if strata is not None:
        crossed = np.unique(np.column_stack([blocks, strata]), axis=0)
        if len(crossed) > len(np.unique(blocks)):
            raise exc.ModelError(
                f"{purpose} exchanges whole clusters that have the same covariates, but within "
                "clusters covariates differ. Check the calibration without covariates."
            )
    return Exchange(data.n_rows, strata, blocks, f"{note}, whole clusters at a time")


def _strata(stats: LabelsetStatistics, codes: IntArray) -> tuple[IntArray | None, str]:
    """Give each row the number of its stratum, if there are covariates, and say what is done."""
    context = stats.context
    if not len(context):
        return None, "rows of the features were permuted against all labels"
    numbers = np.asarray(context.numbers, dtype=float)[codes]
    discrete = np.asarray(context.is_discrete)
    columns = [numbers[:, at] for at in np.flatnonzero(discrete)]
    n_rows, n_cut = len(codes), int((~discrete).sum())
    same = _number(columns, n_rows)
    if not n_cut:
        return same, "rows of the features were permuted within the same covariates"
    room = n_rows / _ROWS_PER_STRATUM / (int(same.max()) + 1)
    cuts = min(int(max(room, 0.0) ** (1 / n_cut)), _MOST_CUTS)
    if cuts < 2:
        raise exc.ModelError(
            f"{_PURPOSE} permutes features within strata of the covariates, but {n_rows} rows are "
            f"too few for strata of {n_cut} number(s) and {int(discrete.sum())} category column(s) "
            f"with {_ROWS_PER_STRATUM} rows each. Check the calibration with fewer covariates."
        )
    levels = np.arange(1, cuts) / cuts
    for at in np.flatnonzero(~discrete):
        edges = np.quantile(numbers[:, at], levels)
        columns.append(np.searchsorted(edges, numbers[:, at], side="right").astype(float))
    strata = _number(columns, n_rows)
    return strata, (
        "rows of the features were permuted within strata of the covariates, numbers cut at "
        f"{cuts} equal shares of the rows"
    )


def _number(columns: Sequence[FloatArray], n_rows: int) -> IntArray:
    """Give the distinct rows of a table numbers."""
    if not columns:
        return np.zeros(n_rows, dtype=np.intp)
    found = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1]
    return np.asarray(found.ravel(), dtype=np.intp)


def count_small(
    settings: Sequence[Setting],
    exchange: Exchange,
    levels: Sequence[float],
    combine: str,
    n_permutations: int,
    random_state: RandomState,
    n_jobs: int,
) -> Counts:
    """Test permuted features in all settings, and count the small p-values.

    Parameters
    ----------
    settings : sequence of Setting
        Ways to test, all of the same rows.
    exchange : Exchange
        Which rows may be exchanged.
    levels : sequence of float
        Levels of p-values.
    combine : str
        How p-values of features are made.
    n_permutations : int
        How many permutations.
    random_state : int, Generator or None
        Source of the permutations.
    n_jobs : int
        Threads to use; the counts do not depend on it.

    Returns
    -------
    Counts
        The counts.
    """
    generator = make_generator(random_state)
    first = settings[0].fit
    data = first.rows_for(_PURPOSE)
    assert data.features is not None
    size = 8 * max(data.features.shape[1], 1) * (data.n_rows + 2 * len(first.stats.counts))
    batches = list(chunks(n_permutations, size, limit=_TABLE_BYTES))

    def draw() -> Iterator[list[IntArray]]:
        for batch in batches:
            yield [exchange.draw(generator) for _ in range(batch.stop - batch.start)]

    counted = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
        delayed(_count)(settings, orders, levels, combine) for orders in draw()
    )
    found = list(tqdm(counted, "permutations", len(batches), disable=None, leave=False))
    return Counts(
        np.concatenate([part.tests for part in found]),
        np.concatenate([part.small for part in found]),
        np.sum([part.below for part in found], axis=0),
    )


def _count(
    settings: Sequence[Setting], orders: list[IntArray], levels: Sequence[float], combine: str
) -> Counts:
    """Count small p-values of some permutations in all settings."""
    n_labels = len(settings[0].fit.stats.label_names)
    tests = np.zeros((len(orders), len(settings), n_labels + 1))
    small = np.zeros((*tests.shape, len(levels)))
    below = np.zeros((len(settings), n_labels + 1, len(GRID)))
    limits = np.log10(np.asarray(levels, dtype=float))
    for at, setting in enumerate(settings):
        edges = score_test(_permuted(setting.fit, orders), **setting.options)
        log10p = np.column_stack([edges.log10_pvalue, edges.feature_tests(combine).log10_pvalue])
        table = log10p.reshape(len(orders), -1, n_labels + 1)
        tests[:, at] = (~np.isnan(table)).sum(axis=1)
        small[:, at] = (table[..., None] <= limits).sum(axis=1)
        for column in range(n_labels + 1):
            known = np.sort(log10p[:, column][~np.isnan(log10p[:, column])])
            below[at, column] = np.searchsorted(known, GRID, side="right")
    return Counts(tests, small, below)


def _permuted(fit: NetworkFit, orders: list[IntArray]) -> NetworkFit:
    """Give the same fit with the features of several permutations side by side."""
    data, stats = fit.rows_for(_PURPOSE), fit.stats
    assert data.features is not None
    parts: list[Any] = [data.features[order] for order in orders]
    features: Any
    if sparse.issparse(data.features):
        features = sparse.csr_array(sparse.hstack(parts))
    else:
        features = np.hstack(parts)

    def rename(name: str, at: int) -> str:
        return f"{at}:{name}"

    def repeat(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(rename(name, at) for at in range(len(orders)) for name in names)

    def repeat_terms(terms: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        return {
            rename(term, at): tuple(rename(name, at) for name in columns)
            for at in range(len(orders))
            for term, columns in terms.items()
        }

    groups = RowGroups(cells_of(stats, data), len(stats.counts), data.weights)
    shift = np.tile(stats.shift, len(orders))
    width = len(stats.feature_names)
    term_columns = {
        rename(term, at): columns + at * width
        for at in range(len(orders))
        for term, columns in stats.term_columns.items()
    }
    permuted: ModelData = replace(
        data,
        features=features,
        feature_names=repeat(data.feature_names),
        terms=repeat_terms(data.terms),
    )
    return replace(
        fit,
        stats=replace(
            stats,
            source=sum_within(features, groups, shift),
            feature_names=repeat(stats.feature_names),
            term_columns=term_columns,
            term_products={
                term: sum_products(features, columns, groups, shift)
                for term, columns in term_columns.items()
            },
        ),
        rows=permuted,
        terms=repeat_terms(fit.terms),
    )
