"""Chunks hold every item once, and checksums tell any change."""

import tracemalloc

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from isingmlc.base.arrays import checksum, chunks, chunks_by_size, typical_sizes


@given(
    n=st.integers(0, 40),
    bytes_each=st.integers(0, 50),
    limit=st.integers(1, 100),
    least=st.integers(1, 5),
    start=st.integers(0, 40),
)
def test_chunks_hold_every_item_once(n, bytes_each, limit, least, start):
    parts = list(chunks(n, bytes_each, limit=limit, least=least, start=start))
    assert [at for part in parts for at in range(n)[part]] == list(range(start, n))
    sizes = [part.stop - part.start for part in parts]
    assert all(size <= max(least, 1) or size * bytes_each <= limit for size in sizes)
    assert all(size >= least for size in sizes[:-1])


@pytest.mark.parametrize(("n", "width", "expected"), [(0, 3, []), (7, 3, [3, 3, 1]), (2, 9, [2])])
def test_chunks_of_a_given_width(n, width, expected):
    assert [part.stop - part.start for part in chunks(n, width=width)] == expected


def test_the_memory_of_a_chunk_is_bounded_by_default(monkeypatch):
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 100)
    assert [part.stop for part in chunks(30, 8)] == [12, 24, 30]


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(1, 40))
def test_chunks_by_size_hold_every_item_once(sizes, limit):
    parts = chunks_by_size(np.array(sizes, dtype=int), limit)
    assert [at for part in parts for at in range(len(sizes))[part]] == list(range(len(sizes)))
    for part in parts:
        assert sum(sizes[part][:-1]) <= limit


KINDS = ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">f8", "g"]


def matrices(kind):
    # Few different values: rows with the same sum, and floats whose low bits are all zero.
    values = [0, 1] if kind == "?" else [0, 1, 2, 3, 4, 64]
    return hnp.arrays(
        np.dtype(kind),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12),
        elements=st.sampled_from(values).map(np.dtype(kind).type),
    )


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_changed_cell_changes_the_checksum(kind, data):
    before = data.draw(matrices(kind))
    after = before.copy()
    cell = tuple(data.draw(st.integers(0, size - 1)) for size in before.shape)
    after[cell] = 1 - after[cell] if kind == "?" else data.draw(st.sampled_from([5, 6, 100]))
    forms = [np.asarray, np.asfortranarray]
    if kind in ("?", "i8", "f4", "f8"):
        forms.append(sparse.csr_array)
    for form in forms:
        assert checksum(form(before)) == checksum(form(before.copy()))
        assert checksum(form(before)) != checksum(form(after))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_changes_places_changes_the_checksum(kind, data):
    for before in (matrix := data.draw(matrices(kind)), matrix.T):
        first, second = (data.draw(st.integers(0, len(before) - 1)) for _ in range(2))
        after = before.copy()
        after[[first, second]] = after[[second, first]]
        assume((after != before).any())
        assert checksum(before) != checksum(after)


@pytest.mark.parametrize("kind", KINDS)
def test_the_checksum_does_not_depend_on_how_values_lie_in_memory(kind):
    values = np.arange(600).reshape(20, 30) % 7
    matrix = values.astype(kind)
    expected = checksum(matrix)
    assert checksum(np.asfortranarray(matrix)) == expected
    large = np.zeros((40, 60), dtype=kind)
    large[::2, ::2] = matrix
    assert checksum(large[::2, ::2]) == expected
    assert checksum(matrix[::-1, ::-1].copy()[::-1, ::-1]) == expected


def test_the_smallest_change_of_a_float_changes_the_checksum():
    features = np.random.default_rng(0).normal(size=(3000, 40))
    before = checksum(features)
    for row, column in ((0, 0), (1234, 17), (2999, 39)):
        kept = features[row, column]
        features[row, column] = np.nextafter(kept, np.inf)
        assert checksum(features) != before
        features[row, column] = kept
    assert checksum(features) == before
    features[5, 5] = 0.0
    before = checksum(features)
    features[5, 5] = -0.0
    assert checksum(features) != before


def test_shuffled_rows_of_indicators_are_noticed():
    hot = np.eye(50)[np.random.default_rng(0).integers(0, 50, 2000)]
    before = checksum(hot)
    for first in range(0, 200, 2):
        if (hot[first] != hot[first + 1]).any():
            hot[[first, first + 1]] = hot[[first + 1, first]]
            assert checksum(hot) != before
            hot[[first, first + 1]] = hot[[first + 1, first]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_matrices_without_cells_have_a_checksum(shape):
    assert checksum(np.empty(shape)) == checksum(np.empty(shape))


@pytest.mark.parametrize("order", ["C", "F"])
def test_checksums_take_little_memory(order):
    features = np.ones((40_000, 50), order=order)
    tracemalloc.start()
    checksum(features[::2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**21


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(0, 9), st.integers(0, 4)),
        elements=st.sampled_from([0.0, 0.0, -1.0, 2.5, 1e9, -1e-9]),
    )
)
def test_typical_sizes_are_medians(columns):
    for column, size in zip(np.abs(columns.T), typical_sizes(columns), strict=True):
        filled = column[column > 0]
        expected = np.median(filled) if len(filled) else 1.0
        if len(column) and np.median(column) > 0:
            expected = np.median(column)
        assert size == expected
