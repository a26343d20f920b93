"""Labelset statistics from a table in a database or on a cluster, by way of Ibis.

They are one ``GROUP BY`` over the labels and the covariates, and over clusters and sampling weights
if there are any. Labels are packed into whole numbers
first, so that an engine groups by one or a few columns whatever the number of labels, and features
are asked for in several queries of a moderate number of columns each. Text in a covariate comes as
it is, once per cell, and is coded here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_memory
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.input.categories import name_columns
from isingmlc.input.context import Context, read_context
from isingmlc.input.sampling import GROUPS, SAMPLING_WEIGHTS, read_sampling
from isingmlc.input.tables import LARGEST
from isingmlc.statistics.blocks import SumsInBlocks, block_width, join_blocks, warn_of_blocks
from isingmlc.statistics.labelsets import LabelsetStatistics
from isingmlc.statistics.sources.cells import check_cells, most_cells
from isingmlc.statistics.sources.queries import (
    COLUMNS_AT_ONCE,
    count_any,
    count_rows,
    exactly,
    is_infinite,
    is_missing,
    matrix,
    number,
    run,
)
from isingmlc.statistics.sources.table_checks import (
    TableColumns,
    check_columns,
    check_context,
    missing_values,
    usable_rows,
)
from isingmlc.statistics.sources.text import (
    code_text,
    find_categories,
    remember_categories,
    text_columns,
)
from isingmlc.statistics.sums import FeatureSums, choose_shift, find_cells, name_cells

# Labels that one whole number holds: seven bytes, so that none reaches the sign.
_LABELS_PER_WORD = 56
# This many rows show where a feature lies.
_SHIFT_ROWS = 1000


@dataclass(frozen=True)
class TableSource:
    """A table that was checked."""

    rows: Any
    columns: TableColumns
    levels: Mapping[str, tuple[str, ...]]
    given: TableColumns
    categories: Mapping[str, tuple[str, ...]]

    def count_labelsets(self, limit: float) -> LabelsetStatistics:
        """Count the labelsets, or the cells where there are covariates."""
        metrics = {"n": self.rows.count()}
        weight = self._weight()
        n_keys = len(self.columns.covariates) + len(self.columns.sampling)
        sizes = len(self.columns.labels), n_keys, limit
        if weight is not None:
            metrics["weight"] = weight.sum()
        query = self.rows.group_by(**self._keys()).aggregate(**metrics)
        most = most_cells(*sizes)
        answer = run(query if most == np.inf else query.limit(int(most) + 1))
        check_cells(answer.num_rows, *sizes)
        patterns, context, order = self._sort(answer)
        n_rows = answer["n"].to_numpy()[order]
        counts = n_rows if weight is None else answer["weight"].to_numpy()[order]
        return LabelsetStatistics(
            patterns,
            counts.astype(np.float64),
            context,
            FeatureSums.of_nothing(len(patterns)),
            self.columns.labels,
            (),
            int(n_rows.sum()),
        )

    def find_shift(self, features: Sequence[str]) -> FloatArray:
        """Find a value near the middle of some features, from a few rows."""
        columns = {f"x{at}": self.rows[name] for at, name in enumerate(features)}
        sample = matrix(run(self.rows.select(**columns).limit(_SHIFT_ROWS)), "x", len(features))
        usable = np.abs(sample) <= LARGEST
        first = np.take_along_axis(sample, usable.argmax(axis=0)[None], axis=0)
        return choose_shift(np.where(usable, sample, np.where(usable.any(axis=0), first, 0.0)))

    def sum_within(
        self, features: Sequence[str], shift: FloatArray, labelsets: LabelsetStatistics
    ) -> FeatureSums:
        """Sum some features within labelsets."""
        answer, order = self._aggregate(self._sums(features, shift), labelsets)
        sums, squares = (matrix(answer, prefix, len(features))[order] for prefix in ("s", "q"))
        self._check_finite(features, squares)
        return FeatureSums(sums, squares, shift)

    def sum_products(
        self, column: int, shift: FloatArray, labelsets: LabelsetStatistics
    ) -> FloatArray:
        """Sum the products of one feature with all, within labelsets."""
        features, weights = self.columns.features, self.columns.freq_weights
        one = number(self.rows[features[column]]) - exactly(float(shift[column]))
        if weights is not None:
            one = one * number(self.rows[weights])
        sums = np.empty((len(labelsets.counts), len(features)))
        for part in chunks(len(features), width=COLUMNS_AT_ONCE):
            pairs = zip(features[part], shift[part].tolist(), strict=True)
            metrics = {
                f"s{at}": (one * (number(self.rows[name]) - exactly(origin))).sum()
                for at, (name, origin) in enumerate(pairs)
            }
            answer, order = self._aggregate(metrics, labelsets)
            sums[:, part] = matrix(answer, "s", len(metrics))[order]
        return sums

    def _aggregate(
        self, metrics: dict[str, Any], labelsets: LabelsetStatistics
    ) -> tuple[Any, IntArray]:
        """Aggregate within labelsets; give the answer and the order that sorts it as they are."""
        query = self.rows.group_by(**self._keys())
        answer = run(query.aggregate(n=self.rows.count(), **metrics))
        patterns, context, order = self._sort(answer)
        n_rows = int(answer["n"].to_numpy().sum())
        if n_rows != labelsets.n_rows or not _same_cells(patterns, context, labelsets):
            raise exc.EngineError(
                f"the table changed while it was read: it had {labelsets.n_rows} rows and "
                f"{name_cells(len(labelsets.counts), context)}, now it has {n_rows} and "
                f"{len(patterns)}. Read a copy or a snapshot of it."
            )
        return answer, order

    def sum_columns(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sum all features over all rows."""
        n_features = len(self.columns.features)
        shift, sums, squares = (np.empty(n_features) for _ in range(3))
        for part in chunks(n_features, width=COLUMNS_AT_ONCE):
            names = self.columns.features[part]
            shift[part] = self.find_shift(names)
            answer = run(self.rows.aggregate(**self._sums(names, shift[part])))
            sums[part] = matrix(answer, "s", len(names))[0]
            squares[part] = matrix(answer, "q", len(names))[0]
            self._check_finite(names, squares[None, part])
        return shift, sums, squares

    def _keys(self) -> dict[str, Any]:
        """Pack the labels into whole numbers, the first of them into the highest bits."""
        labels, keys = self.columns.labels, {}
        for at, part in enumerate(chunks(len(labels), width=_LABELS_PER_WORD)):
            bits = (
                self.rows[name].cast("int64") * 2 ** (_LABELS_PER_WORD - 1 - place)
                for place, name in enumerate(labels[part])
            )
            keys[f"key{at}"] = reduce(operator.add, bits)
        for at, name in enumerate(self.columns.covariates):
            column = self.rows[name]
            keys[f"c{at}"] = column if column.type().is_string() else number(column)
        for argument, name in self.columns.sampling.items():
            column = self.rows[name]
            kind = column.type()
            # Large whole numbers would not be told apart as float64.
            as_it_is = kind.is_string() or (kind.is_integer() and argument == GROUPS)
            keys[argument] = column if as_it_is else number(column)
        return keys

    def _weight(self) -> Any:
        """Return how often a row counts; None if every row counts once."""
        weights = [number(self.rows[name]) for name in self.columns.weights]
        return reduce(operator.mul, weights) if weights else None

    def _sort(self, answer: Any) -> tuple[BoolArray, Context, IntArray]:
        """Unpack the cells of an answer in their order, and find the order that sorts it so."""
        n_labels = len(self.columns.labels)
        n_words = -(-n_labels // _LABELS_PER_WORD)
        words = np.column_stack([answer[f"key{at}"].to_numpy() for at in range(n_words)])
        # The highest byte of each word is not used.
        used = words.astype(">i8").view(np.uint8).reshape(len(words), n_words, 8)[:, :, 1:]
        packed = used.reshape(len(words), 7 * n_words)[:, : -(-n_labels // 8)]
        patterns, context, codes = find_cells(packed, n_labels, self._read_context(answer))
        return patterns, context, np.argsort(codes)

    def _read_context(self, answer: Any) -> Context:
        """Read the covariates of an answer; the levels of a category are those that it holds."""
        names = self.columns.covariates
        context = Context.empty(answer.num_rows)
        if names:
            columns = [answer[f"c{at}"].to_pandas() for at in range(len(names))]
            for at, name in enumerate(names):
                if name in self.levels:
                    columns[at] = pd.Series(pd.Categorical(columns[at], self.levels[name]))
            context = read_context(columns, names)
            if np.isnan(context.numbers).any():
                raise missing_values(self.rows, self.columns)
            check_context(context, answer["n"].to_numpy())
        given = {argument: answer[argument].to_pandas() for argument in self.columns.sampling}
        sampling = read_sampling(
            given.get(GROUPS), given.get(SAMPLING_WEIGHTS), "table", context.numbers, "raise"
        )
        return replace(context, sampling=sampling)

    def _sums(self, features: Sequence[str], shift: FloatArray) -> dict[str, Any]:
        weight = self._weight()
        metrics = {}
        for at, (name, origin) in enumerate(zip(features, shift.tolist(), strict=True)):
            moved = number(self.rows[name]) - exactly(origin)
            weighted = moved if weight is None else moved * weight
            metrics[f"s{at}"], metrics[f"q{at}"] = weighted.sum(), (weighted * moved).sum()
        return metrics

    def _check_finite(self, features: Sequence[str], squares: FloatArray) -> None:
        """Say which features have missing or infinite values, if the sums show any."""
        suspects = np.flatnonzero(~(squares <= LARGEST**2).all(axis=0))
        names = [features[at] for at in suspects.tolist()]
        if names and count_rows(self.rows, names, is_missing):
            raise missing_values(self.rows, self.columns)
        hit = list(count_rows(self.rows, names, is_infinite))
        if hit:
            raise exc.DataError(
                exc.INFINITE.format(
                    argument="features",
                    n_rows=count_any(self.rows, hit, is_infinite),
                    columns=exc.shorten(hit),
                    largest=LARGEST,
                )
            )


def read_table(
    table: Any,
    labels: str | Sequence[str],
    features: str | Sequence[str] | None,
    covariates: str | Sequence[str] | None,
    freq_weights: str | None,
    groups: str | None,
    sampling_weights: str | None,
    missing: str,
    max_memory: float | None,
    levels: Callable[[Sequence[str]], Mapping[str, tuple[str, ...]]] = lambda names: {},
    made_of: Mapping[str, str] | None = None,
) -> tuple[LabelsetStatistics, TableSource]:
    """Compute statistics by queries; `LabelsetStatistics.from_table` explains the arguments."""
    limit = check_memory(max_memory)
    columns = check_columns(
        table, labels, features, covariates, freq_weights, groups, sampling_weights, missing
    )
    order = levels(text_columns(table, [*columns.features, *columns.covariates]))
    categories = find_categories(table, columns.features, order)
    if missing == "raise" and count_rows(table, list(categories), is_missing):
        raise missing_values(table, columns)
    terms = {
        name: name_columns(name, categories[name]) if name in categories else (name,)
        for name in columns.features
    }
    coded = replace(columns, features=tuple(chain.from_iterable(terms.values())))
    if categories:
        table = code_text(table, categories)
        made_of = {column: name for name in categories for column in terms[name]}
    rows = usable_rows(table, coded, made_of or {})
    source = TableSource(rows, coded, order, columns, categories)
    stats = _sum_source(source, limit)
    known = remember_categories(stats, terms) if categories else stats
    if any(len(made) > 1 and name not in known.term_columns for name, made in terms.items()):
        raise exc.DataError(exc.TERM_IN_BLOCKS)
    return known, source


def _sum_source(source: TableSource, limit: float) -> LabelsetStatistics:
    """Count labelsets and sum the features within them, now or when they are needed."""
    columns = source.columns
    labelsets = source.count_labelsets(limit)
    n_cells, n_features = len(labelsets.counts), len(columns.features)
    size = 16 * n_cells * n_features
    if size <= limit:
        stats = _sum_features(source, labelsets)
        return replace(stats, products=_ProductReader(source, labelsets))
    warn_of_blocks(name_cells(n_cells, labelsets.context), n_features, size, limit)
    width = block_width(n_features, size, limit)
    blocks = SumsInBlocks(_BlockReader(source, labelsets), width, *source.sum_columns())
    stats = replace(labelsets, source=blocks, feature_names=columns.features)
    return replace(stats, products=_ProductReader(source, labelsets))


def _sum_features(source: TableSource, labelsets: LabelsetStatistics) -> LabelsetStatistics:
    """Sum all features within labelsets, some at a time."""
    features = source.columns.features
    shift = np.empty(len(features))
    sums, squares = (np.empty((len(labelsets.counts), len(features))) for _ in range(2))
    parts = list(chunks(len(features), width=COLUMNS_AT_ONCE))
    for part in tqdm(parts, "queries", disable=None):
        shift[part] = source.find_shift(features[part])
        block = source.sum_within(features[part], shift[part], labelsets)
        sums[:, part], squares[:, part] = block.sums, block.squares
    return replace(labelsets, source=FeatureSums(sums, squares, shift), feature_names=features)


def _same_cells(patterns: BoolArray, context: Context, labelsets: LabelsetStatistics) -> bool:
    return np.array_equal(patterns, labelsets.patterns) and context.equals(labelsets.context)


@dataclass(frozen=True)
class _BlockReader:
    """Asks a table for blocks of features."""

    source: TableSource
    labelsets: LabelsetStatistics

    def __call__(self, part: slice, shift: FloatArray) -> FeatureSums:
        names = self.source.columns.features[part]
        answers = [
            self.source.sum_within(names[piece], shift[piece], self.labelsets)
            for piece in chunks(len(names), width=COLUMNS_AT_ONCE)
        ]
        return join_blocks(answers, shift)


@dataclass(frozen=True)
class _ProductReader:
    """Asks a table for the products of one feature with all."""

    source: TableSource
    labelsets: LabelsetStatistics

    def __call__(self, column: int, shift: FloatArray) -> FloatArray:
        return self.source.sum_products(column, shift, self.labelsets)
