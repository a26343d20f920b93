r"""Labelset statistics: the four small arrays from which every score test is computed.

The null model of a label depends on the other labels alone, so rows with the same label vector
(the same *labelset*) share its fitted probability. Whatever a score test needs of the features
is therefore their sums and sums of squares within labelsets. These add up over rows, batches,
files and machines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.batches import read_batch
from isingmlc.data import (
    BoolArray,
    FloatArray,
    IntArray,
    ModelData,
    PackedBits,
    prepare,
    row_blocks,
    unpack,
)
from isingmlc.storage import read_arrays, write_arrays
from isingmlc.terms import recenter_products, sum_products, wide_terms

# So many rows tell where a feature lies; its sums are taken around their mean.
_SHIFT_SAMPLE = 1000
_FILE_KIND = "labelset statistics"


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


@dataclass(frozen=True, eq=False, repr=False)
class LabelsetStatistics:
    r"""Counts of labelsets, and sums and squares of features within them.

    Objects of the same labels and features add up: ``a + b`` is the statistics of the rows of
    both. Make them with `from_arrays` or `from_batches`.

    Attributes
    ----------
    patterns : ndarray of bool, shape (L, K)
        The distinct label vectors, in lexicographic order.
    counts : ndarray of float, shape (L,)
        The (weighted) number of rows with each.
    sums : ndarray or csr_array, shape (L, p)
        Sums of ``x - shift`` over those rows.
    squares : ndarray or csr_array, shape (L, p)
        Sums of ``(x - shift) ** 2`` over those rows.
    shift : ndarray, shape (p,)
        What was subtracted from each feature before summing. A feature with a large mean and a
        small variance would otherwise lose its digits. `recenter` changes it.
    label_names, feature_names : tuple of str
        Names.
    n_rows : int
        Rows seen, unweighted.
    term_columns : dict of str to ndarray of int
        Formula terms that made several columns, and where these are.
    term_products : dict of str to ndarray, shape (L, d, d)
        Sums of the cross-products of the d columns of such terms, around `shift`.

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
    sums: Any
    squares: Any
    shift: FloatArray
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    n_rows: int
    term_columns: Mapping[str, IntArray] = field(default_factory=dict)
    term_products: Mapping[str, FloatArray] = field(default_factory=dict)
    nobs: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nobs", float(self.counts.sum()))
        for array in (self.patterns, self.counts, self.shift):
            array.flags.writeable = False
        for array in (self.sums, self.squares):
            (array.data if sparse.issparse(array) else array).flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"LabelsetStatistics({self.n_rows} rows, {len(self.label_names)} labels, "
            f"{len(self.feature_names)} features, {len(self.counts)} labelsets)"
        )

    @classmethod
    def from_arrays(
        cls,
        labels: Any,
        features: Any = None,
        *,
        freq_weights: Any = None,
        missing: str = "raise",
        label_names: Sequence[object] | None = None,
        feature_names: Sequence[object] | None = None,
    ) -> LabelsetStatistics:
        """Compute the statistics of rows in memory.

        Parameters
        ----------
        labels : array_like, DataFrame, list of Series or sparse, shape (n, K)
            The 0/1 labels.
        features : array_like, DataFrame, list of Series or sparse, shape (n, p), optional
            The features.
        freq_weights : array_like, shape (n,), optional
            How many observations each row stands for.
        missing : {"raise", "drop"}
            What to do with rows that have missing values.
        label_names, feature_names : sequence, optional
            Names, where the data carry none.

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
            freq_weights=freq_weights,
            missing=missing,
            label_names=label_names,
            feature_names=feature_names,
        )
        return cls.from_data(data)

    @classmethod
    def from_data(cls, data: ModelData, shift: FloatArray | None = None) -> LabelsetStatistics:
        """Compute the statistics of checked rows.

        Parameters
        ----------
        data : ModelData
            What the door let in.
        shift : ndarray, shape (p,), optional
            What to subtract from the features; chosen from the data where it is not given.

        Returns
        -------
        LabelsetStatistics
            The statistics.
        """
        patterns, codes = find_labelsets(data.packed_labels, len(data.label_names))
        counts = np.bincount(codes, data.weights, minlength=len(patterns)).astype(np.float64)
        features = np.empty((data.n_rows, 0)) if data.features is None else data.features
        if shift is None:
            shift = _choose_shift(features)
        sum_up = _sum_sparse if sparse.issparse(features) else _sum_dense
        sums, squares = sum_up(features, codes, len(patterns), data.weights, shift)
        term_columns = wide_terms(data.terms, data.feature_names)
        pool = _indicator(codes, len(patterns), data.weights) if term_columns else None
        return cls(
            patterns,
            counts,
            sums,
            squares,
            shift,
            data.label_names,
            data.feature_names,
            data.n_rows,
            term_columns,
            {
                term: sum_products(features, columns, pool, shift)
                for term, columns in term_columns.items()
            },
        )

    @classmethod
    def from_batches(
        cls,
        batches: Iterable[Any],
        *,
        labels: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weights: str | None = None,
        missing: str = "raise",
    ) -> LabelsetStatistics:
        """Compute the statistics of rows that come in batches, one batch in memory at a time.

        Parameters
        ----------
        batches : iterable
            Either pairs ``(labels, features)`` or triples ``(labels, features, freq_weights)``
            of what `from_arrays` takes, or, with `labels` given, frames that hold all columns.
        labels, features : list of str, optional
            The columns of a frame; `features` defaults to all that are not labels or weights.
        weights : str, optional
            The column of a frame that holds the frequency weights.
        missing : {"raise", "drop"}
            What to do with rows that have missing values.

        Returns
        -------
        LabelsetStatistics
            The statistics of all batches together.

        Examples
        --------
        >>> import isingmlc as im, pandas as pd
        >>> frame = pd.DataFrame({"a": [0, 1, 1], "b": [1, 0, 1], "x": [0.1, 0.2, 0.3]})
        >>> im.LabelsetStatistics.from_batches([frame[:2], frame[2:]], labels=["a", "b"])
        LabelsetStatistics(3 rows, 2 labels, 1 features, 3 labelsets)
        """
        if not isinstance(batches, Iterable):
            raise exc.DataError(f"batches must be iterable, but is {type(batches).__name__}.")
        total: LabelsetStatistics | None = None
        for batch in batches:
            data = read_batch(batch, labels, features, weights, missing)
            if data is None:
                continue
            # One shift for all batches: then adding them up loses no digits.
            part = cls.from_data(data, None if total is None else total.shift)
            total = part if total is None else total + part
        if total is None:
            raise exc.DataError(
                "batches must hold at least one batch with rows that can be used, but has none."
            )
        return total

    def recenter(self, shift: Any) -> LabelsetStatistics:
        """Give the same statistics for features measured from another origin.

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
        shift = _as_shift(shift, len(self.feature_names))
        moved = self.shift - shift
        if not moved.any():
            return self
        counts, step = self.counts[:, None], moved[None, :]
        if sparse.issparse(self.sums):
            counts, step = sparse.csr_array(counts), sparse.csr_array(step)
            diagonal = sparse.diags_array(moved)
            squares = self.squares + 2.0 * (self.sums @ diagonal) + counts @ step.power(2)
            sums = self.sums + counts @ step
        else:
            squares = self.squares + 2.0 * self.sums * step + counts * step**2
            sums = self.sums + counts * step
        products = {
            term: recenter_products(
                self.term_products[term], dense(self.sums[:, at]), self.counts, moved[at]
            )
            for term, at in self.term_columns.items()
        }
        return replace(self, sums=sums, squares=squares, shift=shift, term_products=products)

    def __add__(self, other: object) -> LabelsetStatistics:
        if not isinstance(other, LabelsetStatistics):
            return NotImplemented
        for kind in ("label_names", "feature_names", "term_columns"):
            mine, theirs = tuple(getattr(self, kind)), tuple(getattr(other, kind))
            if mine != theirs:
                raise exc.DataError(
                    f"statistics can be added when their {kind} are the same, in the same order, "
                    f"but one has {exc.shorten(mine)} and the other {exc.shorten(theirs)}."
                )
        other = other.recenter(self.shift)
        both = np.packbits(np.concatenate([self.patterns, other.patterns]), axis=1)
        patterns, codes = find_labelsets(both, len(self.label_names))
        pool = _indicator(codes, len(patterns), None)

        def pooled(mine: Any, theirs: Any) -> Any:
            if sparse.issparse(mine) and sparse.issparse(theirs):
                return sparse.csr_array(pool @ sparse.vstack([mine, theirs], format="csr"))
            return pool @ np.concatenate([dense(mine), dense(theirs)])

        return LabelsetStatistics(
            patterns,
            pool @ np.concatenate([self.counts, other.counts]),
            pooled(self.sums, other.sums),
            pooled(self.squares, other.squares),
            self.shift,
            self.label_names,
            self.feature_names,
            self.n_rows + other.n_rows,
            self.term_columns,
            {
                term: (
                    pool
                    @ np.concatenate([mine, other.term_products[term]]).reshape(pool.shape[1], -1)
                ).reshape(-1, *mine.shape[1:])
                for term, mine in self.term_products.items()
            },
        )

    def __radd__(self, other: object) -> LabelsetStatistics:
        # The start value of sum().
        return self if other == 0 else NotImplemented

    @cached_property
    def constant_features(self) -> BoolArray:
        """Marks of the features that are the same in every row, shape (p,)."""
        sums = np.asarray(self.sums.sum(axis=0))
        squares = np.asarray(self.squares.sum(axis=0))
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
        write_arrays(path, _FILE_KIND, *self.to_parts())

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
        """
        return cls.from_parts(*read_arrays(path, _FILE_KIND))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Take the statistics apart for a file.

        Returns
        -------
        header : dict
            Names and numbers that JSON can hold.
        arrays : dict of str to ndarray or csr_array
            The arrays.
        """
        header = {
            "label_names": self.label_names,
            "feature_names": self.feature_names,
            "n_rows": self.n_rows,
            "terms": list(self.term_columns),
        }
        arrays = {
            name: getattr(self, name) for name in ("patterns", "counts", "sums", "squares", "shift")
        }
        for at, term in enumerate(self.term_columns):
            arrays[f"columns{at}"] = self.term_columns[term]
            arrays[f"products{at}"] = self.term_products[term]
        return header, arrays

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: dict[str, Any]) -> LabelsetStatistics:
        """Put the statistics together again.

        Parameters
        ----------
        header, arrays : mapping
            What `to_parts` gave.

        Returns
        -------
        LabelsetStatistics
            The statistics.
        """
        terms = header["terms"]
        return cls(
            label_names=tuple(header["label_names"]),
            feature_names=tuple(header["feature_names"]),
            n_rows=header["n_rows"],
            term_columns={term: arrays.pop(f"columns{at}") for at, term in enumerate(terms)},
            term_products={term: arrays.pop(f"products{at}") for at, term in enumerate(terms)},
            **arrays,
        )


def _as_shift(given: Any, n_features: int) -> FloatArray:
    """Check an origin: one number, or one a feature."""
    try:
        shift = np.asarray(given, dtype=np.float64)
        return np.broadcast_to(shift, (n_features,)).copy()
    except (TypeError, ValueError) as error:
        raise exc.DataError(
            f"shift must be a number or one number a feature ({n_features}), but is {given!r}."
        ) from error


def dense(matrix: Any) -> FloatArray:
    """Give an array, whether a matrix is sparse or not.

    Parameters
    ----------
    matrix : ndarray or csr_array
        A block small enough to be dense.

    Returns
    -------
    ndarray
        The same numbers.
    """
    array: FloatArray = matrix.toarray() if sparse.issparse(matrix) else matrix
    return array


def _indicator(codes: IntArray, n_groups: int, weights: FloatArray | None) -> Any:
    """Make the n_groups × rows matrix whose product with rows sums them within groups."""
    values = np.ones(len(codes)) if weights is None else weights
    return sparse.csc_array(
        (values, codes, np.arange(len(codes) + 1)), shape=(n_groups, len(codes))
    )


def _choose_shift(features: Any) -> FloatArray:
    """Find a value near the middle of each feature, exact where the feature is constant."""
    n_rows, n_features = features.shape
    if sparse.issparse(features):
        shift = np.zeros(n_features)
        columns = sparse.csc_array(features)
        full = np.flatnonzero(np.diff(columns.indptr) == n_rows)
        sample = columns[:, full].toarray() if len(full) else np.empty((n_rows, 0))
    else:
        full = np.arange(n_features)
        shift = np.empty(n_features)
        step = max(1, n_rows // _SHIFT_SAMPLE)
        sample = features[::step]
    middle = sample.mean(axis=0, dtype=np.float64)
    alike = (sample == sample[0]).all(axis=0)
    shift[full] = np.where(alike, sample[0], middle)
    return shift


def _sum_dense(
    features: Any, codes: IntArray, n_groups: int, weights: FloatArray | None, shift: FloatArray
) -> tuple[FloatArray, FloatArray]:
    n_rows, n_features = features.shape
    sums = np.zeros((n_groups, n_features))
    squares = np.zeros((n_groups, n_features))
    blocks = list(row_blocks(n_rows, 8 * n_features))
    buffer = np.empty((blocks[0].stop, n_features))
    for block in blocks:
        groups: Any = slice(None)
        local = codes[block]
        size = n_groups
        if n_groups > len(local):
            # Sum only the groups that occur here, so that many groups do not cost many zeros.
            groups, local = np.unique(local, return_inverse=True)
            size = len(groups)
        pool = _indicator(local, size, None if weights is None else weights[block])
        values = np.subtract(features[block], shift, out=buffer[: len(local)])
        sums[groups] += pool @ values
        np.square(values, out=values)
        squares[groups] += pool @ values
    return sums, squares


def _sum_sparse(
    features: Any, codes: IntArray, n_groups: int, weights: FloatArray | None, shift: FloatArray
) -> tuple[Any, Any]:
    values = features.astype(np.float64)
    if shift.any():
        values.data = values.data - shift[values.indices]
    pool = _indicator(codes, n_groups, weights)
    sums = sparse.csr_array(pool @ values)
    values.data = np.square(values.data)
    return sums, sparse.csr_array(pool @ values)
