"""Rows that come in batches: each is checked as all rows at once are, then added up."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_jobs, check_memory, check_option
from isingmlc.base.arrays import FloatArray
from isingmlc.input.columns import name_roles
from isingmlc.input.gaps import GapCounts
from isingmlc.input.rows import ModelData, prepare
from isingmlc.input.tables import read_arrow
from isingmlc.statistics.blocks import SumsInBlocks, block_width, warn_of_blocks
from isingmlc.statistics.labelsets import LabelsetStatistics, sum_rows
from isingmlc.statistics.sources.cells import (
    check_cells,
    check_clashes,
    check_sampling,
    count_keys,
    covariate_names,
)
from isingmlc.statistics.sums import FeatureSums, name_cells

# A batch and its number, counted from 1.
_Numbered = tuple[int, Any]


@dataclass(frozen=True)
class BatchColumns:
    """Which columns of a batch are what."""

    labels: tuple[str, ...] | None
    features: tuple[str, ...] | None
    covariates: tuple[str, ...]
    freq_weights: str | None
    groups: str | None
    sampling_weights: str | None
    missing: str

    @classmethod
    def checked(
        cls,
        labels: str | Sequence[str] | None,
        features: str | Sequence[str] | None,
        covariates: str | Sequence[str] | None,
        freq_weights: str | None,
        groups: str | None,
        sampling_weights: str | None,
        missing: str,
    ) -> BatchColumns:
        """Check what a user passed; `LabelsetStatistics.from_batches` explains the arguments."""
        check_option("missing", missing, ("raise", "drop"))
        labels = (labels,) if isinstance(labels, str) else labels
        features = (features,) if isinstance(features, str) else features
        context = covariate_names(covariates)
        check_clashes(context, labels or (), features or ())
        if context and labels is None:
            raise exc.DataError(
                "covariates names columns of tables, but labels does not. Name the label columns "
                "too: labels=[…]; in tuples covariates come fourth: (labels, features, "
                "freq_weights or None, covariates)."
            )
        given = {"groups": groups, "sampling_weights": sampling_weights}
        for name, column in check_sampling(given, labels, features).items():
            if column is not None and labels is None:
                raise exc.DataError(
                    f"{name} names a column of tables, but labels does not. Name the label columns "
                    "too: labels=[…]; in tuples groups come fifth and sampling_weights sixth."
                )
        return cls(
            None if labels is None else tuple(labels),
            None if features is None else tuple(features),
            context,
            freq_weights,
            groups,
            sampling_weights,
            missing,
        )

    def within(self, present: Sequence[str]) -> BatchColumns:
        """Replace patterns by the columns of a table that they match."""
        assert self.labels is not None
        drawn = (self.freq_weights, self.groups, self.sampling_weights)
        labels, features, covariates = name_roles(
            present, self.labels, self.features, self.covariates, drawn
        )
        if (labels, features, covariates) == (self.labels, self.features, self.covariates):
            return self
        return BatchColumns.checked(labels, features, covariates, *drawn, self.missing)


@dataclass(frozen=True)
class _Part:
    """What a batch adds: statistics (None if it has no usable row) and rows dropped."""

    stats: LabelsetStatistics | None
    gaps: GapCounts


@dataclass
class _Total:
    """What was added up so far."""

    stats: LabelsetStatistics | None = None
    done: int = 0
    gaps: GapCounts = field(default_factory=GapCounts)

    def add(self, part: _Part) -> None:
        if self.stats is None:
            self.stats = part.stats
        elif part.stats is not None:
            try:
                self.stats = self.stats + part.stats
            except exc.DataError as error:
                raise exc.DataError(f"in batch {self.done + 1}: {error}") from error
        self.done += 1
        self.gaps.add(part.gaps)

    @property
    def size(self) -> int:
        """Bytes of sums and squares."""
        return 0 if self.stats is None else self.stats.feature_sums.in_memory().n_bytes


def sum_batches(
    batches: Iterable[Any],
    columns: BatchColumns,
    n_jobs: int,
    max_memory: float | None,
) -> LabelsetStatistics:
    """Add up batches; `LabelsetStatistics.from_batches` explains the arguments."""
    if not isinstance(batches, Iterable) or isinstance(batches, pd.DataFrame | Mapping | str):
        raise exc.DataError(
            f"batches must be iterable, one batch after the other, but is "
            f"{type(batches).__name__}. Give a single batch as [batch]."
        )
    n_jobs, limit = check_jobs(n_jobs), check_memory(max_memory)
    total = _Total()
    parts = _summarise_all(enumerate(batches, start=1), columns, None, n_jobs)
    bar = tqdm(
        parts,
        desc="batches",
        total=len(batches) if isinstance(batches, Sized) else None,
        disable=None,
    )
    try:
        for part in bar:
            total.add(part)
            if total.size > limit:
                break
    except BrokenProcessPool as error:
        raise exc.EngineError(
            f"a worker process died after {total.done} batches had been added up, most often "
            "because memory ran out. Call again with smaller batches or fewer n_jobs."
        ) from error
    finally:
        parts.close()
    if total.stats is None:
        raise exc.DataError(
            "batches must hold at least one batch with rows that can be used, but has none."
        )
    if total.size > limit:
        return _block_batches(batches, columns, total.stats.shift, n_jobs, limit)
    _warn_of_dropped(total.gaps, total.stats, total.stats.feature_names)
    return total.stats


def _summarise_all(
    remaining: Iterator[_Numbered],
    columns: BatchColumns,
    shift: FloatArray | None,
    n_jobs: int,
    features: slice | None = None,
) -> Generator[_Part, None, None]:
    """Go through batches in order, in this process or in workers."""
    # All are summed around the shift of the first rows: then adding them up loses no digits.
    while shift is None:
        number, batch = next(remaining, (0, None))
        if not number:
            return
        part = _summarise(number, batch, columns)
        shift = None if part.stats is None else part.stats.shift
        yield part
    if n_jobs == 1:
        for number, batch in remaining:
            yield _summarise(number, batch, columns, shift, features)
        return
    yield from _in_workers(remaining, n_jobs, columns, shift, features)


def _in_workers(
    remaining: Iterator[_Numbered], n_jobs: int, *settings: Any
) -> Generator[_Part, None, None]:
    """Summarise batches in worker processes, in order."""
    workers = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="all")
    working: Iterator[_Part] = iter(())
    try:
        # Batches are taken here, in the thread that they may belong to, while workers are at the
        # ones before.
        while some := list(islice(remaining, effective_n_jobs(n_jobs))):
            yield from working
            working = workers([delayed(_summarise)(*numbered, *settings) for numbered in some])
        yield from working
    finally:
        with suppress(Exception):
            list(working)


def _summarise(
    number: int,
    batch: Any,
    columns: BatchColumns,
    shift: FloatArray | None = None,
    features: slice | None = None,
) -> _Part:
    data, gaps = _read(number, batch, columns)
    if data is None:
        return _Part(None, gaps)
    if features is not None:
        data = data.take_features(features)
    return _Part(sum_rows(data, shift), gaps)


def _block_batches(
    batches: Iterable[Any],
    columns: BatchColumns,
    shift: FloatArray,
    n_jobs: int,
    max_memory: float,
) -> LabelsetStatistics:
    """Count labelsets first, and read features in blocks when they are needed."""
    if iter(batches) is batches:
        raise exc.DataError(
            f"the sums of the features within labelsets outgrew max_memory={max_memory:g}, and "
            "batches can be read only once. Give batches that can be read again, such as a list of "
            "functions that each read one; or raise max_memory, model fewer labels, or covariates "
            "with fewer values."
        )
    labelsets: LabelsetStatistics | None = None
    names: tuple[str, ...] = ()
    sums, squares, gaps = np.zeros(len(shift)), np.zeros(len(shift)), GapCounts()
    for part in _summarise_all(enumerate(batches, start=1), columns, shift, n_jobs):
        gaps.add(part.gaps)
        if part.stats is None:
            continue
        sums += part.stats.column_sums
        squares += part.stats.column_squares
        names = part.stats.feature_names
        alone = _labels_alone(part.stats)
        labelsets = alone if labelsets is None else labelsets + alone
        n_labels, n_covariates = len(labelsets.label_names), count_keys(labelsets.context)
        check_cells(len(labelsets.counts), n_labels, n_covariates, max_memory)
    assert labelsets is not None
    _warn_of_dropped(gaps, labelsets, names)
    n_cells = len(labelsets.counts)
    size = 16 * n_cells * len(names)
    warn_of_blocks(name_cells(n_cells, labelsets.context), len(names), size, max_memory)
    width = block_width(len(names), size, max_memory)
    read = _BatchReader(batches, columns, n_jobs, labelsets)
    blocks = SumsInBlocks(read, width, shift, sums, squares)
    return replace(labelsets, source=blocks, feature_names=names)


@dataclass(frozen=True)
class _BatchReader:
    """Reads blocks of features of batches that can be read again."""

    batches: Iterable[Any]
    columns: BatchColumns
    n_jobs: int
    labelsets: LabelsetStatistics

    def __call__(self, part: slice, shift: FloatArray) -> FeatureSums:
        total = _Total()
        numbered = enumerate(self.batches, start=1)
        for summary in _summarise_all(numbered, self.columns, shift, self.n_jobs, part):
            total.add(summary)
        stats = total.stats
        if stats is None or not _same_labelsets(stats, self.labelsets):
            raise exc.DataError(
                "batches must give the same rows whenever they are read, but other labels or "
                "covariates than at first came now. Give batches that do not change, or raise "
                "max_memory."
            )
        return stats.feature_sums.in_memory()


def _same_labelsets(one: LabelsetStatistics, other: LabelsetStatistics) -> bool:
    same = np.array_equal(one.patterns, other.patterns) and one.context.equals(other.context)
    return same and np.array_equal(one.counts, other.counts)


def _labels_alone(stats: LabelsetStatistics) -> LabelsetStatistics:
    return replace(stats, source=FeatureSums.of_nothing(len(stats.counts)), feature_names=())


def _warn_of_dropped(
    gaps: GapCounts, kept: LabelsetStatistics, feature_names: tuple[str, ...]
) -> None:
    """Say which columns cost rows, as if all rows had come at once."""
    if gaps.n_dropped:
        order = (*kept.label_names, *feature_names, *kept.context.names)
        exc.warn(gaps.say(gaps.n_dropped + kept.n_rows, order), exc.DataWarning)


def _read(number: int, batch: Any, columns: BatchColumns) -> tuple[ModelData | None, GapCounts]:
    """Check a batch; an error says which one it is."""
    try:
        return read_batch(batch() if callable(batch) else batch, columns)
    except exc.DataError as error:
        raise type(error)(f"in batch {number}: {error}") from error


def read_batch(batch: Any, columns: BatchColumns) -> tuple[ModelData | None, GapCounts]:
    """Check one batch."""
    if columns.labels is None:
        if not isinstance(batch, tuple) or not 2 <= len(batch) <= 6:
            given = type(batch).__name__
            if isinstance(batch, tuple):
                given = f"a tuple of {len(batch)}"
            raise exc.DataError(
                "batches must yield (labels, features), and after these freq_weights, covariates, "
                "groups and sampling_weights, each of them or None, but yielded "
                f"{given}. For frames, name the label columns: labels=[…]."
            )
        return _prepare_batch(*batch, missing=columns.missing)
    frame = _as_frame(batch)
    columns = columns.within(frame.columns)
    assert columns.labels is not None
    labels, weights, context = list(columns.labels), columns.freq_weights, list(columns.covariates)
    drawn = [columns.groups, columns.sampling_weights]
    single = [name for name in (weights, *drawn) if name]
    features = list(columns.features or ())
    named = [*labels, *features, *context, *single]
    lacking = [name for name in named if name not in frame.columns]
    if lacking:
        raise exc.DataError(
            exc.LACKING_COLUMNS.format(
                argument="the batch",
                columns=exc.shorten(lacking),
                present=exc.shorten(frame.columns, 20),
            )
        )
    return _prepare_batch(
        frame[labels],
        frame[features] if features else None,
        frame[weights].to_numpy() if weights else None,
        frame[context] if context else None,
        *(frame[name] if name else None for name in drawn),
        missing=columns.missing,
    )


def _as_frame(batch: Any) -> pd.DataFrame:
    """Make a frame of whatever holds named columns."""
    if isinstance(batch, pd.DataFrame):
        return batch
    if hasattr(batch, "__arrow_c_stream__") or hasattr(batch, "__arrow_c_array__"):
        return read_arrow(batch)
    if isinstance(batch, Mapping) or (isinstance(batch, np.ndarray) and batch.dtype.names):
        return pd.DataFrame(batch)
    raise exc.DataError(
        f"with labels named, batches must yield frames or other tables with all columns, but "
        f"yielded {type(batch).__name__}. Leave labels out for (labels, features) pairs."
    )


def _prepare_batch(
    labels: Any,
    features: Any,
    weights: Any = None,
    covariates: Any = None,
    groups: Any = None,
    sampling_weights: Any = None,
    *,
    missing: str,
) -> tuple[ModelData | None, GapCounts]:
    """Check a batch as all rows are checked, but let one pass that has nothing to add."""
    gaps = GapCounts()
    try:
        data = prepare(
            labels,
            features,
            covariates=covariates,
            freq_weights=weights,
            groups=groups,
            sampling_weights=sampling_weights,
            missing=missing,
            gaps=gaps,
        )
    except exc.NoRowsError:
        return None, gaps
    return data, gaps
