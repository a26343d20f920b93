"""Chunks hold every item once, and checksums tell any change."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from isingmlc.base.arrays import checksum

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
def test_the_checksum_does_not_depend_on_how_values_lie_in_memory(kind):
    values = np.arange(600).reshape(20, 30) % 7
    matrix = values.astype(kind)
    expected = checksum(matrix)
    assert checksum(np.asfortranarray(matrix)) == expected
    large = np.zeros((40, 60), dtype=kind)
    large[::2, ::2] = matrix
    assert checksum(large[::2, ::2]) == expected
    assert checksum(matrix[::-1, ::-1].copy()[::-1, ::-1]) == expected
