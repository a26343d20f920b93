"""Labelset statistics in blocks of features, where their sums would not fit into memory.

With many labels nearly every row is a labelset of its own, and the sums of p features within L
labelsets take as much memory as the rows themselves. But a score test of a feature needs the sums
of this feature alone. So they are computed for a block of features, used, and forgotten. Blocks of
features rather than of rows: the cross-products of a score test grow with the square of the number
of labels, for every feature, and files and tables that store columns read each of them once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arrays import FloatArray, checksum, chunks
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import LabelsetStatistics
from isingmlc.statistics.sums import as_shift

ReadBlock: TypeAlias = Callable[[slice, FloatArray], LabelsetStatistics]
"""Gives the statistics of some features, around a shift."""

# A block is in memory about so many times while it is made: as rows, as sums, as what is sent.
_COPIES = 4


class BlockedStatistics(LabelsetStatistics):
    """Labelset statistics that compute sums and squares when they are asked for.

    `blocks` gives them for a few features at a time. Whatever needs all of them at once (`sums`
    and `squares` themselves, adding, saving) builds them whole.

    Parameters
    ----------
    labelsets : LabelsetStatistics
        The statistics of the labels alone.
    feature_names : tuple of str
        Names of the features.
    shift, column_sums, column_squares : ndarray, shape (p,)
        The origin of the features, and their sums and squares over all rows around it.
    width : int
        How many features make a block.
    read : callable
        ``read(part, shift)`` gives the statistics of a slice of the features.

    Examples
    --------
    >>> import isingmlc as im
    >>> import warnings
    >>> data = im.datasets.load_example()
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     stats = im.LabelsetStatistics.from_arrays(data.labels, data.features, max_memory=2e4)
    >>> [(part.start, part.stop) for part, _ in stats.blocks()][:3]
    [(0, 5), (5, 10), (10, 15)]
    """

    _labelsets: LabelsetStatistics
    _width: int
    _read: ReadBlock

    def __init__(
        self,
        labelsets: LabelsetStatistics,
        feature_names: tuple[str, ...],
        shift: FloatArray,
        column_sums: FloatArray,
        column_squares: FloatArray,
        width: int,
        read: ReadBlock,
    ) -> None:
        self.__dict__.update(
            patterns=labelsets.patterns,
            counts=labelsets.counts,
            shift=shift,
            label_names=labelsets.label_names,
            feature_names=feature_names,
            n_rows=labelsets.n_rows,
            term_columns={},
            term_products={},
            nobs=labelsets.nobs,
            column_sums=column_sums,
            column_squares=column_squares,
            _labelsets=labelsets,
            _width=width,
            _read=read,
        )
        shift.flags.writeable = False

    @property
    def sums(self) -> Any:
        """Sums of all features, computed anew at each access."""
        return self.whole().sums

    @property
    def squares(self) -> Any:
        """Squares of all features, computed anew at each access."""
        return self.whole().squares

    def blocks(self) -> Iterator[tuple[slice, LabelsetStatistics]]:
        """Go through the features, a block at a time.

        Yields
        ------
        slice
            Which features.
        LabelsetStatistics
            Their statistics.
        """
        parts = list(chunks(len(self.feature_names), width=self._width))
        for part in tqdm(parts, "blocks of features", disable=None, leave=False):
            yield part, self._read(part, self.shift[part])

    def whole(self) -> LabelsetStatistics:
        """Give the same statistics with all sums and squares in memory.

        Returns
        -------
        LabelsetStatistics
            The statistics.
        """
        read = [block for _, block in self.blocks()]
        return replace(
            self._labelsets,
            sums=_side_by_side([block.sums for block in read]),
            squares=_side_by_side([block.squares for block in read]),
            shift=self.shift,
            feature_names=self.feature_names,
        )

    def __add__(self, other: object) -> LabelsetStatistics:
        return self.whole() + other

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Take the statistics apart for a file, with all sums and squares.

        Returns
        -------
        header, arrays : dict
            What `LabelsetStatistics.to_parts` gives.
        """
        return self.whole().to_parts()

    def recenter(self, shift: Any) -> LabelsetStatistics:
        """Give the same statistics for features measured from another origin.

        Parameters
        ----------
        shift : float or array_like, shape (p,)
            The new origin of each feature.

        Returns
        -------
        LabelsetStatistics
            The statistics around `shift`, in blocks too.
        """
        shift = as_shift(shift, len(self.feature_names))
        moved = self.shift - shift
        return BlockedStatistics(
            self._labelsets,
            self.feature_names,
            shift,
            self.column_sums + self.nobs * moved,
            self.column_squares + 2.0 * self.column_sums * moved + self.nobs * moved**2,
            self._width,
            self._read,
        )


def block_width(n_labelsets: int, n_features: int, size: float, max_memory: float) -> int:
    """Choose how many features make a block, and give notice of it.

    Parameters
    ----------
    n_labelsets, n_features : int
        L and p.
    size : float
        Bytes that all sums and squares would take.
    max_memory : float
        Bytes that they may take.

    Returns
    -------
    int
        Features a block, at least one.
    """
    width = max(1, int(n_features * max_memory / (_COPIES * size)))
    message = exc.IN_BLOCKS.format(
        n_features=n_features,
        n_labelsets=n_labelsets,
        size=size / 1e9,
        max_memory=max_memory,
        n_blocks=-(-n_features // width),
    )
    exc.warn(message, exc.DataWarning)
    return width


def block_rows(data: ModelData, shift: FloatArray, width: int) -> BlockedStatistics:
    """Make statistics in blocks of rows in memory.

    Parameters
    ----------
    data : ModelData
        The rows.
    shift : ndarray, shape (p,)
        What to subtract from the features.
    width : int
        Features a block.

    Returns
    -------
    BlockedStatistics
        The statistics. They hold the rows, and refuse to go on when these were changed in place.
    """
    checksums, sums, squares = {}, [], []
    for part in chunks(len(data.feature_names), width=width):
        some = take_features(data, part)
        checksums[part.start] = checksum(some.features)
        block = LabelsetStatistics.from_data(some, shift[part])
        sums.append(block.column_sums)
        squares.append(block.column_squares)
    return BlockedStatistics(
        LabelsetStatistics.from_data(take_features(data, slice(0, 0))),
        data.feature_names,
        shift,
        np.concatenate(sums),
        np.concatenate(squares),
        width,
        _RowReader(data, checksums),
    )


@dataclass(frozen=True)
class _RowReader:
    """Reads blocks of features of rows in memory."""

    data: ModelData
    checksums: dict[int, int]

    def __call__(self, part: slice, shift: FloatArray) -> LabelsetStatistics:
        some = take_features(self.data, part)
        if checksum(some.features) != self.checksums[part.start]:
            raise exc.ModelError(exc.ROWS_CHANGED.format(purpose="a test in blocks of features"))
        return LabelsetStatistics.from_data(some, shift)


def take_features(data: ModelData, part: slice) -> ModelData:
    """Give the same rows with some of the features.

    Parameters
    ----------
    data : ModelData
        The rows.
    part : slice
        Which features.

    Returns
    -------
    ModelData
        The rows with these features.
    """
    names, features = data.feature_names[part], data.features
    if names == data.feature_names:
        return data
    return replace(
        data,
        features=None if features is None else features[:, part],
        feature_names=names,
        terms={name: (name,) for name in names},
    )


def _side_by_side(blocks: list[Any]) -> Any:
    if any(sparse.issparse(block) for block in blocks):
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))
    return np.concatenate(blocks, axis=1)
