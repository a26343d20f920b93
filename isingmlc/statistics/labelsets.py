r"""Labelset statistics: the four small arrays from which every score test is computed.

The null model of a label depends on the other labels alone, so rows with the same label vector
(the same *labelset*) share its fitted probability. Whatever a score test needs of the features
is therefore their sums and sums of squares within labelsets. These add up over rows, batches,
files and machines.

With covariates the null model depends on them besides, and *cells* take the place of labelsets:
rows with the same label vector and the same values of the covariates. Few values make few cells;
with a continuous covariate every row may be a cell of its own, and the arrays are the rows
themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_memory
from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray, dense
from isingmlc.base.readonly import cached_array
from isingmlc.base.storage import read_fields, write_fields
from isingmlc.input.context import Context
from isingmlc.input.rows import ModelData, prepare, require_rows
from isingmlc.input.sampling import GROUPS, SAMPLING_WEIGHTS, scale_weights
from isingmlc.statistics.blocks import (
    SumsInBlocks,
    block_rows,
    block_width,
    side_by_side,
    warn_of_blocks,
)
from isingmlc.statistics.sums import (
    FeatureSums,
    ProductsWhenNeeded,
    RowGroups,
    as_shift,
    bytes_needed,
    choose_shift,
    find_cells,
    name_cells,
    recenter_products,
    sum_products,
    sum_within,
    wide_terms,
)

# What sums and squares may take before they are computed in blocks of features, in bytes.
MAX_MEMORY = 2e9
# The same where the rows stay in memory, from which they are soon computed anew.
MAX_BESIDE_ROWS = 2**28


@dataclass(frozen=True, eq=False, repr=False)
class LabelsetStatistics:
    r"""Counts of labelsets, and sums and squares of features within them.

    Objects of the same labels and features add up: ``a + b`` is the statistics of the rows of
    both. Make them with `from_arrays`, `from_batches` or `from_table`.

    Attributes
    ----------
    patterns : ndarray of bool, shape (L, K)
        The distinct label vectors, in lexicographic order. With covariates those of the cells.
    counts : ndarray of float, shape (L,)
        The (weighted) number of rows with each.
    context : Context
        The covariates of the cells, L lines; without columns where there are none.
    groups, sampling_weights : ndarray, shape (L,), or None
        The cluster of dependent rows that each cell belongs to, and the sampling weight of its
        rows. Where there are any, rows of different ones are in different cells, and counts, sums
        and squares are weighted.
    sums : ndarray or csr_array, shape (L, p)
        Sums of ``x - shift`` over those rows.
    squares : ndarray or csr_array, shape (L, p)
        Sums of ``(x - shift) ** 2`` over those rows.
    shift : ndarray, shape (p,)
        What was subtracted from each feature before summing. A feature with a large mean and a
        small variance would otherwise lose its digits. `recenter` changes it.
    source : FeatureSums, SumsInBlocks or callable
        Holds `sums`, `squares` and `shift`, or says where blocks of them are read from; or gives
        one or the other when it is called, which is not before somebody asks.
    label_names, feature_names : tuple of str
        Names.
    n_rows : int
        Rows seen, unweighted.
    term_columns : dict of str to ndarray of int
        Formula terms that made several columns, and where these are.
    term_products : mapping of str to ndarray, shape (L, d, d)
        Sums of the cross-products of the d columns of such terms, around `shift`, computed when
        they are first asked for.
    products : callable or None
        Asks the engine that holds the rows for the products of one feature with all: takes a
        position and the shift, and gives their sums within cells, shape (L, p). None where nobody
        can be asked; it is not saved.

    Notes
    -----
    With :math:`g` running over labelsets, :math:`N_g` is `counts`,
    :math:`S_{gj} = \sum_{i \in g} (x_{ij} - c_j)` is `sums` and
    :math:`Q_{gj} = \sum_{i \in g} (x_{ij} - c_j)^2` is `squares`. Sparse features are shifted
    only in columns that have no zeros, so that they stay sparse; other columns vary too much
    between zero and the rest for a shift to matter.

    Examples
    --------
    >>> import isingmlc as im
    >>> stats = im.LabelsetStatistics.from_arrays(
    ...     [[0, 1], [1, 1], [0, 1]], [[1.0], [2.0], [5.0]]
    ... )
    >>> stats.patterns.astype(int)
    array([[0, 1],
           [1, 1]])
    >>> stats.counts
    array([2., 1.])
    >>> stats.recenter(0.0).sums
    array([[6.],
           [2.]])
    """

    patterns: BoolArray
    counts: FloatArray
    context: Context
    source: FeatureSums | SumsInBlocks | Callable[[], FeatureSums | SumsInBlocks]
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    n_rows: int
    term_columns: Mapping[str, IntArray] = field(default_factory=dict)
    term_products: Mapping[str, FloatArray] = field(default_factory=dict)
    products: Callable[[int, FloatArray], FloatArray] | None = None

    def __post_init__(self) -> None:
        for array in (self.patterns, self.counts):
            array.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        # The connection to an engine stays where it is.
        return {**self.__dict__, "products": None}

    def __repr__(self) -> str:
        return (
            f"LabelsetStatistics({self.n_rows} rows, {len(self.label_names)} labels, "
            f"{len(self.feature_names)} features, {describe_cells(self)})"
        )

    @classmethod
    def from_arrays(
        cls,
        labels: Any,
        features: Any = None,
        *,
        covariates: Any = None,
        freq_weights: Any = None,
        groups: Any = None,
        sampling_weights: Any = None,
        missing: str = "raise",
        label_names: Sequence[object] | None = None,
        feature_names: Sequence[object] | None = None,
        covariate_names: Sequence[object] | None = None,
        max_memory: float | None = MAX_MEMORY,
    ) -> LabelsetStatistics:
        """Compute the statistics of rows in memory.

        Parameters
        ----------
        labels : array_like, DataFrame, list of Series or sparse, shape (n, K)
            The 0/1 labels.
        features : array_like, DataFrame, list of Series or sparse, shape (n, p), optional
            The features.
        covariates : array_like, DataFrame, list of Series or sparse, shape (n, c), optional
            Columns that every label model has besides the other labels: numbers or categories.
        freq_weights : array_like, shape (n,), optional
            How many observations each row stands for.
        groups : array_like, shape (n,), optional
            The cluster of dependent rows that each row belongs to; sums are then those of each
            cluster.
        sampling_weights : array_like, shape (n,), optional
            Inverse probabilities of being drawn; rows of different weights are then told apart.
        missing : {"raise", "drop"}
            What to do with rows that have missing values.
        label_names, feature_names, covariate_names : sequence, optional
            Names, if the data have none.
        max_memory : float or None
            Bytes that sums and squares may take. If there are so many labelsets that they would
            take more, they are computed in blocks of features when a test needs them; a warning
            says so.

        Returns
        -------
        LabelsetStatistics
            The statistics.

        Examples
        --------
        >>> import isingmlc as im
        >>> im.LabelsetStatistics.from_arrays([[0, 1], [1, 0]], [[0.5], [1.5]])
        LabelsetStatistics(2 rows, 2 labels, 1 features, 2 labelsets)
        """
        data = prepare(
            labels,
            features,
            covariates=covariates,
            freq_weights=freq_weights,
            groups=groups,
            sampling_weights=sampling_weights,
            missing=missing,
            label_names=label_names,
            feature_names=feature_names,
            covariate_names=covariate_names,
        )
        return sum_rows(data, max_memory=max_memory)

    @classmethod
    def from_batches(
        cls,
        batches: Iterable[Any],
        *,
        labels: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        covariates: str | Sequence[str] | None = None,
        freq_weights: str | None = None,
        groups: str | None = None,
        sampling_weights: str | None = None,
        missing: str = "raise",
        n_jobs: int = 1,
        max_memory: float | None = MAX_MEMORY,
    ) -> LabelsetStatistics:
        """Compute the statistics of rows that come in batches, one batch in memory at a time.

        Parameters
        ----------
        batches : iterable
            Either tuples ``(labels, features)`` of what `from_arrays` takes, which may go on with
            ``freq_weights``, ``covariates``, ``groups`` and ``sampling_weights`` in this order,
            where all but the labels may be None; or, with `labels` given, tables that hold all
            columns: frames, Arrow record batches, structured arrays, dicts. A function without
            arguments stands for the batch that it returns; with `n_jobs` it is called by a worker.
        labels, features : list of str, optional
            The columns of a table: names, or patterns like ``"y_*"``; `features` are all others if
            omitted.
        covariates : list of str, optional
            The columns of a table that every label model has besides the other labels: numbers,
            or categories, as text or pandas' category. Levels that only some batches have are
            put together.
        freq_weights : str, optional
            The column of a table that says how many observations each row stands for.
        groups : str, optional
            The column of a table that tells the cluster of dependent rows that a row belongs to. A
            cluster may go on in other batches.
        sampling_weights : str, optional
            The column of a table with inverse probabilities of being drawn.
        missing : {"raise", "drop"}
            What to do with rows that have missing values.
        n_jobs : int
            Worker processes that sum up batches; -1 for all cores.
        max_memory : float or None
            Bytes that sums and squares may take. If there are so many labelsets that they would
            take more, batches that can be read again, such as a list of functions, are read in
            blocks of features when a test needs them, and a warning says so; other batches are an
            error. With covariates there are cells instead: combinations of a labelset and their
            values.

        Returns
        -------
        LabelsetStatistics
            The statistics of all batches together.

        Raises
        ------
        DataError
            When a batch cannot be used; the message says which one.
        EngineError
            When a worker process died.

        Examples
        --------
        >>> import isingmlc as im, pandas as pd
        >>> frame = pd.DataFrame({"a": [0, 1, 1], "b": [1, 0, 1], "x": [0.1, 0.2, 0.3]})
        >>> im.LabelsetStatistics.from_batches([frame[:2], frame[2:]], labels=["a", "b"])
        LabelsetStatistics(3 rows, 2 labels, 1 features, 3 labelsets)

        Text columns are categories:

        >>> frame["sex"] = ["f", "m", "f"]
        >>> batches = [frame[:2], frame[2:]]
        >>> im.LabelsetStatistics.from_batches(batches, labels=["a", "b"], covariates=["sex"])
        LabelsetStatistics(3 rows, 2 labels, 1 features, 1 covariate, 3 cells)
        """
        from isingmlc.statistics.sources.batches import BatchColumns, sum_batches

        columns = BatchColumns.checked(
            labels, features, covariates, freq_weights, groups, sampling_weights, missing
        )
        return sum_batches(batches, columns, n_jobs, max_memory)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        labels: str | Sequence[str],
        features: Sequence[str] | None = None,
        covariates: str | Sequence[str] | None = None,
        freq_weights: str | None = None,
        groups: str | None = None,
        sampling_weights: str | None = None,
        missing: str = "raise",
        max_memory: float | None = MAX_MEMORY,
    ) -> LabelsetStatistics:
        """Compute the statistics where the rows are, in a database or on a cluster.

        Parameters
        ----------
        table : ibis.Table
            An Ibis table expression: DuckDB, Spark, BigQuery, Snowflake, PostgreSQL and others.
        labels : list of str
            The columns with the labels, boolean or 0/1 of any numeric type: names, or patterns like
            ``"y_*"``.
        features : list of str, optional
            The columns with the features, in the same way; all others if omitted. Text is a
            category, which is tested as a whole.
        covariates : list of str, optional
            The columns with the covariates, in the same way, which every label model has besides
            the other labels: numbers, booleans, or text, whose values are the levels of a category.
        freq_weights : str, optional
            The column that says how many observations each row stands for.
        groups : str, optional
            The column that tells the cluster of dependent rows that a row belongs to, numbers or
            text; rows are grouped by it too.
        sampling_weights : str, optional
            The column with inverse probabilities of being drawn; rows are grouped by it too.
        missing : {"raise", "drop"}
            What to do with rows that have NULL or NaN in any of these columns.
        max_memory : float or None
            Bytes that sums and squares may take here. If there are so many labelsets that they
            would take more, they are asked for in blocks of features when a test needs them; a
            warning says so. With covariates there are cells instead: combinations of a labelset
            and their values.

        Returns
        -------
        LabelsetStatistics
            The statistics.

        Raises
        ------
        DataError
            When columns are absent or of a type that they cannot have, when labels are not 0/1,
            or covariates lack values: before features are read.
        EngineError
            When Ibis is not installed, or the engine fails.

        See Also
        --------
        isingmlc.scan : the same for Parquet and CSV files.

        Examples
        --------
        >>> import ibis, isingmlc as im
        >>> connection = ibis.duckdb.connect()
        >>> table = connection.sql("SELECT i % 2 AS a, i % 3 = 0 AS b, i AS x FROM range(9) t(i)")
        >>> im.LabelsetStatistics.from_table(table, labels=["a", "b"])
        LabelsetStatistics(9 rows, 2 labels, 1 features, 4 labelsets)
        """
        from isingmlc.statistics.sources.engines import read_table

        return read_table(
            table,
            labels,
            features,
            covariates,
            freq_weights,
            groups,
            sampling_weights,
            missing,
            max_memory,
        )[0]

    def recenter(self, shift: Any) -> LabelsetStatistics:
        """Return the same statistics for features measured from another origin.

        Parameters
        ----------
        shift : float or array_like, shape (p,)
            The new origin of each feature; 0 gives plain sums and squares of the features.

        Returns
        -------
        LabelsetStatistics
            The statistics around `shift`.

        Examples
        --------
        >>> import isingmlc as im
        >>> stats = im.LabelsetStatistics.from_arrays([[0], [0], [1]], [[2.0], [3.0], [4.0]])
        >>> stats.recenter(0.0).sums.ravel(), stats.recenter(2.0).sums.ravel()
        (array([5., 4.]), array([1., 2.]))
        """
        shift = as_shift(shift, len(self.feature_names))
        moved = self.shift - shift
        if not moved.any():
            return self
        products = {
            term: partial(self._recenter_products, term, moved[at])
            for term, at in self.term_columns.items()
        }
        return replace(
            self,
            source=self.feature_sums.recenter(shift, self.counts),
            term_products=ProductsWhenNeeded(products),
        )

    def _recenter_products(self, term: str, moved: FloatArray) -> FloatArray:
        """Return the cross-products of the columns of a term around another origin."""
        sums = dense(self.sums[:, self.term_columns[term]])
        return recenter_products(self.term_products[term], sums, self.counts, moved)

    def __add__(self, other: object) -> LabelsetStatistics:
        if not isinstance(other, LabelsetStatistics):
            return NotImplemented
        for kind in ("label_names", "feature_names", "term_columns"):
            own, given = tuple(getattr(self, kind)), tuple(getattr(other, kind))
            if own != given:
                raise exc.DataError(
                    f"statistics can be added when their {kind} are the same, in the same order, "
                    f"but one has {exc.shorten(own)} and the other {exc.shorten(given)}."
                )
        mine, theirs = in_memory(self), in_memory(other.recenter(self.shift))
        both = np.packbits(np.concatenate([mine.patterns, theirs.patterns]), axis=1)
        stacked = mine.context.stack(theirs.context)
        patterns, context, codes = find_cells(both, len(self.label_names), stacked)
        pool = RowGroups(codes, len(patterns)).pool()
        sums, squares = (
            _add_rows(getattr(mine, name), getattr(theirs, name), pool, codes)
            for name in ("sums", "squares")
        )
        return replace(
            mine,
            patterns=patterns,
            counts=pool @ np.concatenate([mine.counts, theirs.counts]),
            context=context,
            source=FeatureSums(sums, squares, self.shift),
            n_rows=mine.n_rows + theirs.n_rows,
            term_products={
                term: _add_rows(products, theirs.term_products[term], pool, codes)
                for term, products in mine.term_products.items()
            },
            products=None,
        )

    def __radd__(self, other: object) -> LabelsetStatistics:
        # The start value of sum().
        return self if other == 0 else NotImplemented

    @cached_property
    def feature_sums(self) -> FeatureSums | SumsInBlocks:
        """What holds `sums`, `squares` and `shift`."""
        return self.source() if callable(self.source) else self.source

    @property
    def sums(self) -> Any:
        """Sums of ``x - shift`` within labelsets, shape (L, p)."""
        return self.feature_sums.sums

    @property
    def squares(self) -> Any:
        """Sums of ``(x - shift) ** 2`` within labelsets, shape (L, p)."""
        return self.feature_sums.squares

    @property
    def shift(self) -> FloatArray:
        """What was subtracted from each feature before summing, shape (p,)."""
        return self.feature_sums.shift

    @property
    def column_sums(self) -> FloatArray:
        """Sums of ``x - shift`` over all rows, shape (p,)."""
        return self.feature_sums.column_sums

    @property
    def column_squares(self) -> FloatArray:
        """Sums of ``(x - shift) ** 2`` over all rows, shape (p,)."""
        return self.feature_sums.column_squares

    @cached_property
    def nobs(self) -> float:
        """The (weighted) number of rows."""
        return float(self.counts.sum())

    @cached_property
    def groups(self) -> IntArray | None:
        """The cluster of each cell, numbered from 0; None if there are none."""
        found = self.context.sampled(GROUPS)
        return None if found is None else np.unique(found, return_inverse=True)[1].ravel()

    @property
    def sampling_weights(self) -> FloatArray | None:
        """The sampling weight of the rows in each cell; None if there are none."""
        return self.context.sampled(SAMPLING_WEIGHTS)

    @property
    def observations(self) -> FloatArray:
        """How many observations each cell has, whatever their sampling weights."""
        drawn = self.context.sampled(SAMPLING_WEIGHTS)
        # Weights are multiplied and divided by the same numbers.
        return self.counts if drawn is None else np.round(self.counts / drawn, 9)

    @cached_array
    def constant_features(self) -> BoolArray:
        """Marks of the features that are the same in every row, shape (p,)."""
        sums, squares = self.column_sums, self.column_squares
        # Around a shift inside the data a feature that varies keeps nearly all of its squares.
        return np.asarray(squares - sums**2 / self.nobs <= 1e-13 * squares)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the statistics to one file (numpy's ``.npz``, no pickle).

        Parameters
        ----------
        path : path-like
            Where to. The file appears whole or not at all.

        Examples
        --------
        >>> import isingmlc as im, tempfile
        >>> stats = im.LabelsetStatistics.from_arrays([[0, 1], [1, 0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stats.save(f"{folder}/stats.npz")
        ...     im.LabelsetStatistics.load(f"{folder}/stats.npz")
        LabelsetStatistics(2 rows, 2 labels, 0 features, 2 labelsets)
        """
        write_fields(path, "LabelsetStatistics", take_apart(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LabelsetStatistics:
        """Read statistics that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        LabelsetStatistics
            The statistics.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> stats = LabelsetStatistics.from_arrays([[0, 1], [1, 1]], [[0.5], [2.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stats.save(Path(folder, "survey.npz"))
        ...     print(LabelsetStatistics.load(Path(folder, "survey.npz")).nobs)
        2.0
        """
        return put_together(read_fields(path, "LabelsetStatistics"))


def sum_rows(
    data: ModelData,
    shift: FloatArray | None = None,
    max_memory: float | None = None,
    *,
    when_needed: bool = False,
) -> LabelsetStatistics:
    """Compute the statistics of checked rows."""
    patterns, context, codes = find_cells(data.packed_labels, len(data.label_names), data.context)
    groups = RowGroups(codes, len(patterns), data.weights)
    term_columns = wide_terms(data.terms, data.feature_names)
    if shift is None and term_columns:
        shift = choose_shift(data.features, data.weights)
    limit = np.inf if term_columns else check_memory(max_memory)
    # Who sums later holds the rows, and must know whether they are still the same.
    summing = partial(_sum_features, data, groups, shift, limit, keeps_rows=when_needed)
    return LabelsetStatistics(
        patterns,
        groups.counts,
        context,
        summing if when_needed else summing(),
        data.label_names,
        data.feature_names,
        data.n_rows,
        term_columns,
        ProductsWhenNeeded(
            {
                term: partial(_sum_products, data, term, columns, groups, shift)
                for term, columns in term_columns.items()
                if shift is not None
            }
        ),
    )


def _sum_features(
    data: ModelData,
    groups: RowGroups,
    shift: FloatArray | None,
    max_memory: float,
    *,
    keeps_rows: bool,
) -> FeatureSums | SumsInBlocks:
    """Sum the features of rows within labelsets, in blocks where that takes too much memory."""
    if data.features is None:
        return FeatureSums.of_nothing(groups.n_groups)
    if keeps_rows:
        require_rows("a test", data, data.feature_names)
    features: Features = data.features
    if shift is None:
        shift = choose_shift(features, data.weights)
    size = bytes_needed(features, groups.n_groups)
    if size <= max_memory:
        return sum_within(features, groups, shift)
    sizes = features.shape[1], size, max_memory
    if not keeps_rows:
        warn_of_blocks(name_cells(groups.n_groups, data.context), *sizes)
    return block_rows(features, groups, shift, block_width(*sizes))


def _sum_products(
    data: ModelData, term: str, columns: IntArray, groups: RowGroups, shift: FloatArray
) -> FloatArray:
    """Sum the cross-products of the columns of a term, if that does not take too much memory."""
    check_products(term, groups.n_groups, len(columns))
    require_rows("a test", data, data.feature_names)
    return sum_products(data.features, columns, groups, shift)


def check_products(term: str, n_groups: int, n_columns: int) -> None:
    """Refuse cross-products that take more memory than sums may take."""
    size = 8 * n_groups * n_columns**2
    if size > MAX_MEMORY:
        raise exc.ModelError(
            f"to test the {n_columns:,} columns of the term {term!r} together needs "
            f"{size / 1e9:,.0f} GB, as there are {n_groups:,} cells of labels and covariates. Put "
            "levels of the category together, or test its columns one by one with unit='column'."
        )


def scale_sampling(stats: LabelsetStatistics) -> LabelsetStatistics:
    """Bring sampling weights to a mean of one, so that observations count as many as there are."""
    drawn = stats.sampling_weights
    if drawn is None:
        return stats
    factor = float((stats.counts / drawn).sum()) / stats.nobs
    if factor == 1.0:
        return stats
    return replace(
        stats,
        counts=factor * stats.counts,
        context=scale_weights(stats.context, factor),
        source=stats.feature_sums.multiply(factor),
        term_products=ProductsWhenNeeded(
            {term: partial(_multiply_products, stats, term, factor) for term in stats.term_products}
        ),
    )


def _multiply_products(stats: LabelsetStatistics, term: str, factor: float) -> FloatArray:
    return factor * stats.term_products[term]


def feature_blocks(stats: LabelsetStatistics) -> Iterator[tuple[slice, LabelsetStatistics]]:
    """Go through the features of statistics, as many at a time as `max_memory` allows."""
    for part, sums in stats.feature_sums.blocks():
        yield part, _with_sums(stats, sums, part)


def in_memory(stats: LabelsetStatistics) -> LabelsetStatistics:
    """Return the same statistics with all sums and squares in memory."""
    return _with_sums(stats, stats.feature_sums.in_memory(), slice(None))


def take_features(stats: LabelsetStatistics, positions: IntArray) -> LabelsetStatistics:
    """Return the statistics of some features, in memory."""
    places, sums, squares = [], [], []
    for part, block in stats.feature_sums.blocks():
        inside = np.flatnonzero((positions >= part.start) & (positions < part.stop))
        places.append(inside)
        sums.append(block.sums[:, positions[inside] - part.start])
        squares.append(block.squares[:, positions[inside] - part.start])
    order = np.argsort(np.concatenate(places))
    return replace(
        stats,
        source=FeatureSums(
            side_by_side(sums)[:, order], side_by_side(squares)[:, order], stats.shift[positions]
        ),
        feature_names=tuple(stats.feature_names[at] for at in positions.tolist()),
        term_columns={},
        term_products={},
        products=None,
    )


def _with_sums(stats: LabelsetStatistics, sums: FeatureSums, part: slice) -> LabelsetStatistics:
    """Return the statistics of some features, whose sums are these."""
    if sums is stats.source:
        return stats
    return replace(stats, source=sums, feature_names=stats.feature_names[part], products=None)


def stats_with(
    stats: LabelsetStatistics, data: ModelData, features: Sequence[str]
) -> LabelsetStatistics:
    """Count rows within cells that some features are covariates of too."""
    columns = [data.feature_names.index(name) for name in features]
    rows: Features = data.features
    values = dense(rows[:, columns]).astype(np.float64) + 0.0
    names = tuple(features)
    context = _context_of(stats, data).beside(Context(values, names, (None,) * len(names)))
    bare = replace(data, features=None, feature_names=(), terms={}, covariates=context)
    return sum_rows(bare)


def _context_of(stats: LabelsetStatistics, data: ModelData) -> Context:
    """Return the covariates of rows, without those that a model has left out."""
    names = list(data.context.names)
    at = np.array([names.index(name) for name in stats.context.names], dtype=np.intp)
    return data.context.select(at)


def cells_of(stats: LabelsetStatistics, data: ModelData) -> IntArray:
    """Find the cell of each row."""
    context = _context_of(stats, data)
    return find_cells(data.packed_labels, len(data.label_names), context)[2]


def describe_cells(stats: LabelsetStatistics) -> str:
    """Say how many labelsets or cells there are."""
    cells = name_cells(len(stats.counts), stats.context)
    n_covariates = len(stats.context.described)
    if not n_covariates:
        return cells
    return f"{n_covariates} covariate{'s' * (n_covariates > 1)}, {cells}"


def take_apart(stats: LabelsetStatistics) -> dict[str, Any]:
    """Return statistics as fields that can be saved, with all sums and squares."""
    stats = in_memory(stats)
    names = ("patterns", "counts", "label_names", "feature_names", "n_rows")
    terms = [
        (term, columns, stats.term_products[term]) for term, columns in stats.term_columns.items()
    ]
    return {
        **{name: getattr(stats, name) for name in names},
        "context": replace(stats.context, recipe=None),
        "source": stats.source,
        "terms": terms,
    }


def put_together(fields: Mapping[str, Any]) -> LabelsetStatistics:
    """Return the statistics that fields were taken from."""
    kept = {**fields}
    terms, sampling = kept.pop("terms"), kept["context"]["sampling"]
    kept["context"]["sampling"] = None if sampling is None else Context(**sampling)
    kept["context"] = Context(**kept["context"])
    kept["source"] = FeatureSums(**kept["source"])
    return LabelsetStatistics(
        **kept,
        term_columns={name: columns for name, columns, _ in terms},
        term_products={name: products for name, _, products in terms},
    )


def _add_rows(mine: Any, theirs: Any, pool: Any, codes: IntArray) -> Any:
    """Add up what two statistics have for the same labelsets."""
    if sparse.issparse(mine) and sparse.issparse(theirs):
        return sparse.csr_array(pool @ sparse.vstack([mine, theirs], format="csr"))
    total = np.zeros((pool.shape[0], *mine.shape[1:]))
    total[codes[: mine.shape[0]]] = dense(mine)
    total[codes[mine.shape[0] :]] += dense(theirs)
    return total
