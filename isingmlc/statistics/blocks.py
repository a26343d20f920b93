"""Labelset statistics in blocks of features, where their sums would not fit into memory.

With many labels nearly every row is a labelset, and the sums of features within them take as much
memory as the rows. But a score test of a feature needs its sums alone. So they are computed for a
block of features, used, and forgotten. Why blocks of features, not of rows: the cross-products of a
score test grow with the square of the number of labels, and files often store columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arrays import Features, FloatArray, checksum, chunks
from isingmlc.statistics.sums import DELAY, FeatureSums, RowGroups, sum_within

ReadBlock: TypeAlias = Callable[[slice, FloatArray], FeatureSums]
"""Returns the sums of some features, around a shift."""

# About how often a block is in memory while it is made: as rows, as sums, as what is sent.
_COPIES = 4


@dataclass(frozen=True, eq=False)
class SumsInBlocks:
    """Sums and squares that are computed when they are needed, some features at a time."""

    read: ReadBlock
    width: int
    shift: FloatArray
    column_sums: FloatArray
    column_squares: FloatArray

    def __post_init__(self) -> None:
        self.shift.flags.writeable = False

    @property
    def sums(self) -> Any:
        """Sums of all features."""
        return self.in_memory().sums

    @property
    def squares(self) -> Any:
        """Squares of all features."""
        return self.in_memory().squares

    def in_memory(self) -> FeatureSums:
        """Compute the sums of all features."""
        return join_blocks([block for _, block in self.blocks()], self.shift)

    def blocks(self) -> Iterator[tuple[slice, FeatureSums]]:
        """Go through the features, one block at a time."""
        parts = list(chunks(len(self.shift), width=self.width))
        for part in tqdm(parts, "blocks of features", disable=None, leave=False, delay=DELAY):
            yield part, self.read(part, self.shift[part])

    def multiply(self, factor: float) -> SumsInBlocks:
        """Change the weights of rows; `FeatureSums.multiply` explains the argument."""
        read, sums = _Multiplied(self.read, factor), factor * self.column_sums
        return replace(
            self, read=read, column_sums=sums, column_squares=factor * self.column_squares
        )

    def recenter(self, shift: FloatArray, counts: FloatArray) -> SumsInBlocks:
        """Change the origin; `FeatureSums.recenter` explains the arguments."""
        moved, nobs = self.shift - shift, counts.sum()
        return replace(
            self,
            shift=shift,
            column_sums=self.column_sums + nobs * moved,
            column_squares=self.column_squares + 2.0 * self.column_sums * moved + nobs * moved**2,
        )


@dataclass(frozen=True)
class _Multiplied:
    """Reads blocks of features, with other weights of the rows."""

    read: ReadBlock
    factor: float

    def __call__(self, part: slice, shift: FloatArray) -> FeatureSums:
        return self.read(part, shift).multiply(self.factor)


def block_width(n_features: int, size: float, max_memory: float) -> int:
    """Choose how many features make a block, if all of them take so many bytes."""
    return max(1, int(n_features * max_memory / (_COPIES * size)))


def warn_of_blocks(cells: str, n_features: int, size: float, max_memory: float) -> None:
    """Warn of sums that are not kept."""
    message = exc.IN_BLOCKS.format(
        n_features=n_features,
        cells=cells,
        size=size / 1e9,
        max_memory=max_memory,
        n_blocks=-(-n_features // block_width(n_features, size, max_memory)),
    )
    exc.warn(message, exc.DataWarning)


def block_rows(
    features: Features, groups: RowGroups, shift: FloatArray, width: int
) -> SumsInBlocks:
    """Sum the features of rows in memory in blocks."""
    checksums, column_sums = {}, []
    everyone = RowGroups(np.zeros_like(groups.codes), 1, groups.weights)
    for part in chunks(features.shape[1], width=width):
        some = features[:, part]
        checksums[part.start] = checksum(some)
        whole = sum_within(some, everyone, shift[part])
        column_sums.append((whole.column_sums, whole.column_squares))
    reader = _RowReader(features, groups, checksums)
    return SumsInBlocks(reader, width, shift, *np.concatenate(column_sums, axis=1))


@dataclass(frozen=True)
class _RowReader:
    """Reads blocks of features of rows in memory."""

    features: Features
    groups: RowGroups
    checksums: dict[int, int]

    def __call__(self, part: slice, shift: FloatArray) -> FeatureSums:
        some = self.features[:, part]
        if checksum(some) != self.checksums[part.start]:
            raise exc.ModelError(exc.ROWS_CHANGED.format(purpose="a test in blocks of features"))
        return sum_within(some, self.groups, shift)


def join_blocks(blocks: list[FeatureSums], shift: FloatArray) -> FeatureSums:
    """Put the sums of several blocks of features beside each other."""
    sums, squares = ([getattr(each, name) for each in blocks] for name in ("sums", "squares"))
    return FeatureSums(side_by_side(sums), side_by_side(squares), shift)


def side_by_side(blocks: list[Any]) -> Any:
    """Put the columns of several arrays or sparse matrices beside each other."""
    if any(sparse.issparse(block) for block in blocks):
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))
    return np.concatenate(blocks, axis=1)
