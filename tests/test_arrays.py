"""Chunks: every item once, in order, and none of them larger than it may be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingmlc.base.arrays import chunks, chunks_by_size


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
