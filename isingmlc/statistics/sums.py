"""Sums over rows: which cell each row is in, and what features add up to within cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

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
from isingmlc.input.context import Context

# This many rows show where a feature lies; its sums are taken around their mean.
SHIFT_SAMPLE = 100
# With fewer rows per group than this they are worth sorting, blocks of about this size at a time,
# where features take more than this.
_FEW_ROWS = 16
_BLOCK_BYTES = 2**20
_LARGE_BYTES = 2**24


def find_labelsets(packed: PackedBits, n_labels: int) -> tuple[BoolArray, IntArray]:
    """Find the distinct label vectors and which of them each row has.

    Parameters
    ----------
    packed : ndarray of uint8, shape (n, ceil(n_labels / 8))
        Labels as packed bits.
    n_labels : int
        Number of labels.

    Returns
    -------
    patterns : ndarray of bool, shape (L, n_labels)
        The distinct vectors in lexicographic order, whatever the order of the rows.
    codes : ndarray of int, shape (n,)
        The pattern of each row.

    Examples
    --------
    >>> patterns, codes = find_labelsets(np.array([[128], [0], [128]], dtype=np.uint8), 2)
    >>> patterns.astype(int), codes
    (array([[0, 0],
           [1, 0]]), array([1, 0, 1]))
    """
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
    """Find the distinct combinations of label vector and context, and which of them each row has.

    Rows of different clusters or sampling weights are in different cells, too.

    Parameters
    ----------
    packed : ndarray of uint8, shape (n, ceil(n_labels / 8))
        Labels as packed bits.
    n_labels : int
        Number of labels.
    context : Context, n lines
        The covariates.

    Returns
    -------
    patterns : ndarray of bool, shape (L, n_labels)
        The label vectors of the cells, in lexicographic order; cells with the same one are in the
        order of their context, whatever the order of the rows.
    context : Context, L lines
        The covariates of the cells.
    codes : ndarray of int, shape (n,)
        The cell of each row.

    Examples
    --------
    >>> packed = np.array([[128], [0], [128]], dtype=np.uint8)
    >>> context = Context(np.array([[1.5], [0.5], [0.5]]), ("age",), (None,))
    >>> patterns, cells, codes = find_cells(packed, 1, context)
    >>> patterns.ravel(), cells.numbers.ravel(), codes
    (array([False,  True,  True]), array([0.5, 0.5, 1.5]), array([2, 0, 1]))
    """
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
    """Say how many labelsets there are, or cells where something else tells rows apart.

    Parameters
    ----------
    n_cells : int
        Their number.
    context : Context
        The covariates.

    Returns
    -------
    str
        The number and what it counts.

    Examples
    --------
    >>> name_cells(15, Context.empty(15))
    '15 labelsets'
    """
    is_split = len(context) or context.sampling is not None
    return f"{n_cells} {'cells' if is_split else 'labelsets'}"


def as_shift(given: Any, n_features: int) -> FloatArray:
    """Check an origin: one number, or one per feature.

    Parameters
    ----------
    given : object
        What the user passed.
    n_features : int
        How many features there are.

    Returns
    -------
    ndarray, shape (n_features,)
        The origin of each feature.
    """
    try:
        shift = np.asarray(given, dtype=np.float64)
        return np.broadcast_to(shift, (n_features,)).copy()
    except (TypeError, ValueError) as error:
        raise exc.DataError(
            f"shift must be a number or one number per feature ({n_features}), but is {given!r}."
        ) from error


def choose_shift(features: Any, weights: FloatArray | None = None) -> FloatArray:
    """Find a value near the middle of each feature, exact where the feature is constant.

    Of whole numbers it is one of them: then all differences are exact, and equal ones stay equal.

    Parameters
    ----------
    features : ndarray or csr_array, shape (n, p)
        The features.
    weights : ndarray, shape (n,), optional
        How many observations each row stands for.

    Returns
    -------
    ndarray, shape (p,)
        The values.
    """
    n_rows, n_features = features.shape
    if sparse.issparse(features):
        shift = np.zeros(n_features)
        columns = sparse.csc_array(features)
        full = np.flatnonzero(np.diff(columns.indptr) == n_rows)
        sample, step = columns[:, full].toarray() if len(full) else np.empty((n_rows, 0)), 1
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
    """Rows in groups.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        The group of each row.
    n_groups : int
        How many groups there are.
    weights : ndarray or None, shape (n,)
        How often each row counts.
    """

    codes: IntArray
    n_groups: int
    weights: FloatArray | None = None

    @property
    def counts(self) -> FloatArray:
        """The (weighted) number of rows in each group."""
        counted = np.bincount(self.codes, self.weights, minlength=self.n_groups)
        return counted.astype(np.float64)

    def pool(self, rows: slice = slice(None)) -> Any:
        """Make the matrix whose product with rows sums them within groups.

        Parameters
        ----------
        rows : slice
            Which rows; all of them if omitted.

        Returns
        -------
        csc_array, shape (n_groups, rows)
            The weights, each in the row of its group.
        """
        codes = self.codes[rows]
        values = np.ones(len(codes)) if self.weights is None else self.weights[rows]
        places = np.arange(len(codes) + 1)
        return sparse.csc_array((values, codes, places), shape=(self.n_groups, len(codes)))


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """Sums and squares of features within groups of rows, in memory.

    Attributes
    ----------
    sums, squares : ndarray or csr_array, shape (n_groups, p)
        Sums of ``x - shift`` and of ``(x - shift) ** 2``.
    shift : ndarray, shape (p,)
        What was subtracted from each feature.
    """

    sums: Any
    squares: Any
    shift: FloatArray

    def __post_init__(self) -> None:
        for array in (self.sums, self.squares, self.shift):
            _stored(array).flags.writeable = False

    @classmethod
    def of_nothing(cls, n_groups: int) -> FeatureSums:
        """Make the sums of no features.

        Parameters
        ----------
        n_groups : int
            How many groups there are.

        Returns
        -------
        FeatureSums
            Arrays without columns.
        """
        return cls(np.empty((n_groups, 0)), np.empty((n_groups, 0)), np.empty(0))

    @cached_property
    def column_sums(self) -> FloatArray:
        """Sums over all groups, shape (p,)."""
        return np.asarray(self.sums.sum(axis=0))

    @cached_property
    def column_squares(self) -> FloatArray:
        """Squares over all groups, shape (p,)."""
        return np.asarray(self.squares.sum(axis=0))

    @property
    def n_bytes(self) -> int:
        """What sums and squares take."""
        return int(_stored(self.sums).nbytes + _stored(self.squares).nbytes)

    def in_memory(self) -> FeatureSums:
        """Give the sums in memory: this object."""
        return self

    def blocks(self) -> Iterator[tuple[slice, FeatureSums]]:
        """Go through the features: all are one block."""
        yield slice(0, len(self.shift)), self

    def multiply(self, factor: float) -> FeatureSums:
        """Give the sums of rows whose weights are so many times as large.

        Parameters
        ----------
        factor : float
            How many times.

        Returns
        -------
        FeatureSums
            The sums.
        """
        return FeatureSums(factor * self.sums, factor * self.squares, self.shift)

    def recenter(self, shift: FloatArray, counts: FloatArray) -> FeatureSums:
        """Give the sums of features measured from another origin.

        Parameters
        ----------
        shift : ndarray, shape (p,)
            The new origin.
        counts : ndarray, shape (n_groups,)
            The (weighted) number of rows in each group.

        Returns
        -------
        FeatureSums
            The sums around `shift`.
        """
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
    """Give the array that holds the numbers of a matrix, sparse or not."""
    return array.data if sparse.issparse(array) else array


def sum_within(features: Any, groups: RowGroups, shift: FloatArray) -> FeatureSums:
    """Sum features within groups of rows.

    Parameters
    ----------
    features : ndarray or csr_array, shape (n, p)
        The features.
    groups : RowGroups
        The group and the weight of each row.
    shift : ndarray, shape (p,)
        What is subtracted from the features.

    Returns
    -------
    FeatureSums
        The sums; sparse if the features are.

    Examples
    --------
    >>> groups = RowGroups(np.array([0, 1, 0]), 2)
    >>> sum_within(np.array([[1.0], [2.0], [5.0]]), groups, np.zeros(1)).sums
    array([[6.],
           [2.]])
    """
    sum_up = _sum_sparse if sparse.issparse(features) else _sum_dense
    return sum_up(features, groups, shift)


def _sum_dense(features: Any, groups: RowGroups, shift: FloatArray) -> FeatureSums:
    n_rows, n_features = features.shape
    is_large = 8 * n_rows * n_features > _LARGE_BYTES
    if groups.n_groups == n_rows or (is_large and n_rows < _FEW_ROWS * groups.n_groups):
        return _sum_in_order(features, groups, shift)
    # With many more rows in a block than there are groups, adding to these costs little.
    least = 4 * groups.n_groups
    blocks = list(chunks(n_rows, 8 * n_features, limit=2 * _BLOCK_BYTES, least=least))
    buffer = np.empty((blocks[0].stop, n_features))
    sums, squares = _add_up(features, groups, shift, blocks[0], buffer)
    for block in blocks[1:]:
        more, more_squares = _add_up(features, groups, shift, block, buffer)
        sums += more
        squares += more_squares
    return FeatureSums(sums, squares, shift)


def _add_up(
    features: Any, groups: RowGroups, shift: FloatArray, rows: slice, buffer: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum some rows, and their squares."""
    pool = groups.pool(rows)
    values = buffer[: pool.shape[1]]
    # Columns that stand one after the other are laid out by rows faster when nothing else is done.
    np.copyto(values, features[rows])
    values -= shift
    sums = pool @ values
    np.square(values, out=values)
    return sums, pool @ values


def _sum_in_order(features: Any, groups: RowGroups, shift: FloatArray) -> FeatureSums:
    """Take rows in the order of their groups, so that a block has few groups."""
    shape = groups.n_groups, features.shape[1]
    order = np.argsort(groups.codes, kind="stable")
    if groups.n_groups == len(order):
        sums = _take_rows(features, order, shift)
        squares = sums * sums
        if groups.weights is not None:
            sums *= groups.weights[order, None]
            squares *= groups.weights[order, None]
        return FeatureSums(sums, squares, shift)
    sums, squares = np.zeros(shape), np.zeros(shape)
    for block in chunks(len(order), 8 * shape[1], limit=_BLOCK_BYTES):
        rows = order[block]
        codes = groups.codes[rows]
        values = _take_rows(features, rows, shift)
        some = slice(codes[0], codes[-1] + 1)
        weights = None if groups.weights is None else groups.weights[rows]
        pool = RowGroups(codes - some.start, some.stop - some.start, weights).pool()
        sums[some] += pool @ values
        np.square(values, out=values)
        squares[some] += pool @ values
    return FeatureSums(sums, squares, shift)


def _take_rows(features: Any, rows: IntArray, shift: FloatArray) -> FloatArray:
    """Give some rows less the shift, in place: fresh memory would take longer than the numbers."""
    values: FloatArray = features.take(rows, axis=0).astype(np.float64, copy=False)
    values -= shift
    return values


def _sum_sparse(features: Any, groups: RowGroups, shift: FloatArray) -> FeatureSums:
    values = features.astype(np.float64)
    if shift.any():
        values.data = values.data - shift[values.indices]
    pool = groups.pool()
    sums = sparse.csr_array(pool @ values)
    values.data = np.square(values.data)
    return FeatureSums(sums, sparse.csr_array(pool @ values), shift)


def bytes_needed(features: Any, n_groups: int) -> int:
    """Say how many bytes sums and squares take at most.

    Parameters
    ----------
    features : ndarray or csr_array, shape (n, p)
        The features.
    n_groups : int
        How many groups there are.

    Returns
    -------
    int
        Bytes; an entry of a sparse matrix stores its column too.
    """
    cells: int = n_groups * features.shape[1]
    return 24 * min(features.nnz, cells) if sparse.issparse(features) else 16 * cells


def wide_terms(
    terms: Mapping[str, tuple[str, ...]], feature_names: tuple[str, ...]
) -> dict[str, IntArray]:
    """Find the terms that made several columns.

    Parameters
    ----------
    terms : mapping of str to tuple of str
        Terms and their columns.
    feature_names : tuple of str
        All columns.

    Returns
    -------
    dict of str to ndarray of int
        Positions of the columns of each term that has more than one.

    Examples
    --------
    >>> wide_terms({"C(g)": ("g1", "g2"), "x": ("x",)}, ("x", "g1", "g2"))
    {'C(g)': array([1, 2])}
    """
    wide = {term: columns for term, columns in terms.items() if len(columns) > 1}
    position = {name: at for at, name in enumerate(feature_names)} if wide else {}
    return {term: np.array([position[name] for name in columns]) for term, columns in wide.items()}


class ProductsWhenNeeded(Mapping[str, FloatArray]):
    """Cross-products of the columns of terms, computed when somebody first asks for them.

    Parameters
    ----------
    computing : mapping of str to callable
        What gives the products of each term.

    Examples
    --------
    >>> from functools import partial
    >>> products = ProductsWhenNeeded({"C(g)": partial(np.ones, (1, 2, 2))})
    >>> products["C(g)"].shape
    (1, 2, 2)
    """

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
    """Sum the cross-products of some columns within groups of rows.

    Parameters
    ----------
    features : ndarray or csr_array, shape (n, p)
        The features.
    columns : ndarray of int, shape (d,)
        The columns of one term.
    groups : RowGroups
        The group and the weight of each row.
    shift : ndarray, shape (p,)
        What is subtracted from the features.

    Returns
    -------
    ndarray, shape (n_groups, d, d)
        The sums.
    """
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
    """Give cross-products of columns measured from another origin.

    Parameters
    ----------
    products : ndarray, shape (L, d, d)
        Cross-products around the old origin.
    sums : ndarray, shape (L, d)
        Sums around the old origin.
    counts : ndarray, shape (L,)
        Counts.
    moved : ndarray, shape (d,)
        Old origin minus new origin.

    Returns
    -------
    ndarray, shape (L, d, d)
        Cross-products around the new origin.
    """
    crossed = sums[:, :, None] * moved
    return np.asarray(
        products
        + crossed
        + crossed.transpose(0, 2, 1)
        + counts[:, None, None] * np.outer(moved, moved)
    )
