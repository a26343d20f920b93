"""Sums over rows: which cell each row is in, and what features add up to within cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    PackedBits,
    chunks,
    dense,
    unpack,
)
from isingmlc.base.readonly import cached_array
from isingmlc.input.context import Context

# This many rows show where a feature lies; its sums are taken around their mean.
SHIFT_SAMPLE = 100
# Columns of so many bytes are summed at a time, or so many columns: they stay in a cache.
_BLOCK_BYTES = 2**22
_FEWEST_COLUMNS = 16
_MANY_ROWS = 2**18
# Seconds after which a progress bar appears.
DELAY = 2.0


def find_labelsets(packed: PackedBits, n_labels: int) -> tuple[BoolArray, IntArray]:
    """Find the distinct label vectors and which of them each row has."""
    n_rows, n_bytes = packed.shape
    padded = np.zeros((n_rows, -(-n_bytes // 8) * 8), dtype=np.uint8)
    padded[:, :n_bytes] = packed
    # Big-endian words: their numeric order is the lexicographic order of the bits.
    words = padded.view(">u8").astype(np.uint64)
    codes, distinct = pd.factorize(words[:, 0])
    for word in words.T[1:]:
        more, values = pd.factorize(word)
        codes, distinct = pd.factorize(codes * len(values) + more)
    first_row = np.empty(len(distinct), dtype=np.intp)
    first_row[codes[::-1]] = np.arange(n_rows - 1, -1, -1)
    order = np.lexsort(words[first_row].T[::-1])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return unpack(packed[first_row[order]], n_labels), rank[codes]


def find_cells(
    packed: PackedBits, n_labels: int, context: Context
) -> tuple[BoolArray, Context, IntArray]:
    """Find the distinct cells of labels and context, and the cell of each row."""
    patterns, codes = find_labelsets(packed, n_labels)
    columns = list(context.numbers.T)
    if context.sampling is not None:
        columns += list(context.sampling.numbers.T)
    if not columns:
        return patterns, Context.empty(len(patterns)), codes
    n_cells = len(patterns)
    for column in columns:
        if n_cells == len(codes):
            # Every row is told from all others.
            break
        places, distinct = pd.factorize(column, sort=True)
        codes, cells = pd.factorize(codes * len(distinct) + places, sort=True)
        n_cells = len(cells)
    first_row = np.empty(n_cells, dtype=np.intp)
    first_row[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return unpack(packed[first_row], n_labels), context.take(first_row), codes


def name_cells(n_cells: int, context: Context) -> str:
    """Say how many labelsets there are, or cells where something else tells rows apart."""
    is_split = len(context) or context.sampling is not None
    return f"{n_cells} {'cells' if is_split else 'labelsets'}"


def as_shift(given: Any, n_features: int) -> FloatArray:
    """Check an origin: one number, or one per feature."""
    try:
        shift = np.asarray(given, dtype=np.float64)
        return np.broadcast_to(shift, (n_features,)).copy()
    except (TypeError, ValueError) as error:
        raise exc.DataError(
            f"shift must be a number or one number per feature ({n_features}), but is {given!r}."
        ) from error


def choose_shift(features: Any, weights: FloatArray | None = None) -> FloatArray:
    """Find a value near the middle of each feature, exact where the feature is constant."""
    n_rows, n_features = features.shape
    if sparse.issparse(features):
        shift = np.zeros(n_features)
        full = np.flatnonzero(np.bincount(features.indices, minlength=n_features) == n_rows)
        sample, step = features[:, full].toarray(), 1
    else:
        full = np.arange(n_features)
        shift = np.empty(n_features)
        step = max(1, n_rows // SHIFT_SAMPLE)
        sample = features[::step]
    middle = sample.mean(axis=0, dtype=np.float64)
    if weights is not None and weights[::step].any():
        shares = weights[::step]
        middle = shares @ sample / shares.sum()
    nearest = sample[np.abs(sample - middle).argmin(axis=0), np.arange(len(full))]
    is_exact = (sample == np.rint(sample)).all(axis=0) | (sample == sample[0]).all(axis=0)
    shift[full] = np.where(is_exact, nearest, middle)
    return shift


@dataclass(frozen=True)
class RowGroups:
    """Rows in groups."""

    codes: IntArray
    n_groups: int
    weights: FloatArray | None = None

    @property
    def counts(self) -> FloatArray:
        """The (weighted) number of rows in each group."""
        counted = np.bincount(self.codes, self.weights, minlength=self.n_groups)
        return counted.astype(np.float64)

    def pool(self, rows: slice = slice(None)) -> Any:
        """Make the matrix whose product with rows sums them within groups."""
        codes = self.codes[rows]
        values = np.ones(len(codes)) if self.weights is None else self.weights[rows]
        places = np.arange(len(codes) + 1)
        return sparse.csc_array((values, codes, places), shape=(self.n_groups, len(codes)))


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """Sums and squares of features within groups of rows, in memory."""

    sums: Any
    squares: Any
    shift: FloatArray

    def __post_init__(self) -> None:
        for array in (self.sums, self.squares, self.shift):
            _stored(array).flags.writeable = False

    @classmethod
    def of_nothing(cls, n_groups: int) -> FeatureSums:
        """Make the sums of no features."""
        return cls(np.empty((n_groups, 0)), np.empty((n_groups, 0)), np.empty(0))

    @cached_array
    def column_sums(self) -> FloatArray:
        """Sums over all groups, shape (p,)."""
        return np.asarray(self.sums.sum(axis=0))

    @cached_array
    def column_squares(self) -> FloatArray:
        """Squares over all groups, shape (p,)."""
        return np.asarray(self.squares.sum(axis=0))

    @property
    def n_bytes(self) -> int:
        """What sums and squares take."""
        return int(_stored(self.sums).nbytes + _stored(self.squares).nbytes)

    def in_memory(self) -> FeatureSums:
        """Return the sums in memory: this object."""
        return self

    def blocks(self) -> Iterator[tuple[slice, FeatureSums]]:
        """Go through the features: all are one block."""
        yield slice(0, len(self.shift)), self

    def multiply(self, factor: float) -> FeatureSums:
        """Return the sums of rows whose weights are so many times as large."""
        return FeatureSums(factor * self.sums, factor * self.squares, self.shift)

    def recenter(self, shift: FloatArray, counts: FloatArray) -> FeatureSums:
        """Return the sums of features measured from another origin."""
        moved = self.shift - shift
        rows, step = counts[:, None], moved[None, :]
        if sparse.issparse(self.sums):
            rows, step = sparse.csr_array(rows), sparse.csr_array(step)
            diagonal = sparse.diags_array(moved)
            squares = self.squares + 2.0 * (self.sums @ diagonal) + rows @ step.power(2)
            return FeatureSums(self.sums + rows @ step, squares, shift)
        squares = self.squares + 2.0 * self.sums * step + rows * step**2
        return FeatureSums(self.sums + rows * step, squares, shift)


def _stored(array: Any) -> Any:
    """Return the array that holds the numbers of a matrix, sparse or not."""
    return array.data if sparse.issparse(array) else array


def sum_within(features: Any, groups: RowGroups, shift: FloatArray) -> FeatureSums:
    """Sum features within groups of rows."""
    sum_up = _sum_sparse if sparse.issparse(features) else _sum_dense
    return sum_up(features, groups, shift)


def _sum_dense(features: Any, groups: RowGroups, shift: FloatArray) -> FeatureSums:
    """Sum blocks of columns: fast in whatever order and of whatever type the values are."""
    n_rows, n_features = features.shape
    sums, squares = np.zeros((2, groups.n_groups, n_features))
    # With so many rows adding blocks of them up costs little.
    blocks = chunks(n_rows, width=max(_MANY_ROWS, 4 * groups.n_groups))
    pools = [(rows, groups.pool(rows)) for rows in blocks]
    size = 8 * pools[0][0].stop
    parts = list(chunks(n_features, size, limit=_BLOCK_BYTES, least=_FEWEST_COLUMNS))
    for part in tqdm(parts, "sums of features", disable=None, leave=False, delay=DELAY):
        for rows, pool in pools:
            values = features[rows, part].astype(np.float64, order="C")
            values -= shift[part]
            sums[:, part] += pool @ values
            squares[:, part] += pool @ np.square(values, out=values)
    return FeatureSums(sums, squares, shift)


def _sum_sparse(features: Any, groups: RowGroups, shift: FloatArray) -> FeatureSums:
    """Sum values and their squares in one product, as real and imaginary parts."""
    both = features.data.astype(np.complex128)
    both -= shift[features.indices]
    both.imag = both.real**2
    entries = sparse.csr_array((both, features.indices, features.indptr), features.shape)
    found = groups.pool().tocsr() @ entries
    del both, entries
    sums = sparse.csr_array((found.data.real.copy(), found.indices, found.indptr), found.shape)
    places = found.indices.copy(), found.indptr.copy()
    return FeatureSums(
        sums, sparse.csr_array((found.data.imag.copy(), *places), found.shape), shift
    )


def bytes_needed(features: Any, n_groups: int) -> int:
    """Say how many bytes sums and squares take at most."""
    cells: int = n_groups * features.shape[1]
    return 24 * min(features.nnz, cells) if sparse.issparse(features) else 16 * cells


def wide_terms(
    terms: Mapping[str, tuple[str, ...]], feature_names: tuple[str, ...]
) -> dict[str, IntArray]:
    """Find the terms that made several columns."""
    wide = {term: columns for term, columns in terms.items() if len(columns) > 1}
    position = {name: at for at, name in enumerate(feature_names)} if wide else {}
    return {term: np.array([position[name] for name in columns]) for term, columns in wide.items()}


class ProductsWhenNeeded(Mapping[str, FloatArray]):
    """Cross-products of the columns of terms, computed when somebody first asks for them."""

    def __init__(self, computing: Mapping[str, Callable[[], FloatArray]]) -> None:
        self._computing = computing
        self._known: dict[str, FloatArray] = {}

    def __getitem__(self, term: str) -> FloatArray:
        if term not in self._known:
            self._known[term] = self._computing[term]()
        return self._known[term]

    def __iter__(self) -> Iterator[str]:
        return iter(self._computing)

    def __len__(self) -> int:
        return len(self._computing)


def sum_products(
    features: Any, columns: IntArray, groups: RowGroups, shift: FloatArray
) -> FloatArray:
    """Sum the cross-products of some columns within groups of rows."""
    n_rows, size = features.shape[0], len(columns)
    total = np.zeros((groups.n_groups, size * size))
    for block in chunks(n_rows, 8 * size * size):
        values = dense(features[block][:, columns]) - shift[columns]
        crossed = (values[:, :, None] * values[:, None, :]).reshape(len(values), -1)
        # A block of few rows is in few groups.
        found, codes = np.unique(groups.codes[block], return_inverse=True)
        weights = None if groups.weights is None else groups.weights[block]
        total[found] += RowGroups(codes, len(found), weights).pool() @ crossed
    return total.reshape(-1, size, size)


def recenter_products(
    products: FloatArray, sums: FloatArray, counts: FloatArray, moved: FloatArray
) -> FloatArray:
    """Return cross-products of columns measured from another origin."""
    crossed = sums[:, :, None] * moved
    return np.asarray(
        products
        + crossed
        + crossed.transpose(0, 2, 1)
        + counts[:, None, None] * np.outer(moved, moved)
    )
