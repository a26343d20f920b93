"""Input outside the numerical range is refused, with the argument, the column and the value."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import isingmlc as im
from isingmlc.exceptions import DataError

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, (200, 2))
FEATURES = RNG.normal(size=(200, 3))
THIN = np.where(RNG.random((200, 3)) < 0.1, FEATURES, 0.0)


def with_outlier(columns, value):
    columns = columns.copy()
    columns[7, 1] = value
    return columns


@pytest.mark.parametrize("argument", ["freq_weights", "sampling_weights"])
def test_weights_that_do_not_compare_are_refused(tmp_path, argument):
    weights = np.ones(200)
    weights[3] = 1e8
    im.IsingModel(LABELS, **{argument: weights})
    weights[3] = 1e12
    message = f"{argument} must lie within a factor of 1e.08 .* range from 1 to 1e.12"
    with pytest.raises(DataError, match=message):
        im.IsingModel(LABELS, **{argument: weights})
    pytest.importorskip("ibis", reason='pip install "isingmlc[engines]"')
    pd.DataFrame(LABELS, columns=["a", "b"]).assign(w=weights).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=message):
        im.scan(tmp_path / "rows.parquet", labels=["a", "b"], **{argument: "w"})


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("columns", [FEATURES, THIN])
def test_columns_with_a_value_of_another_order_are_refused(kind, columns):
    im.IsingModel(LABELS, kind(with_outlier(columns, 1e5 * columns.std())))
    for value in (1e11, -1e7):
        message = rf"features must lie within .* column 'x2' holds {value:g}".replace("+", ".")
        with pytest.raises(DataError, match=message):
            im.IsingModel(LABELS, kind(with_outlier(columns, value)))
    with pytest.raises(DataError, match=r"covariates must lie within .* column 'c2'"):
        im.IsingModel(LABELS, covariates=with_outlier(columns, 1e11))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_of_two_values_and_of_any_unit_are_in_range(kind):
    one = np.arange(200) == 5
    columns = np.column_stack([one, 0.3 + 0.6 * one, 1e12 * FEATURES[:, 0], 1e-12 * FEATURES[:, 0]])
    columns = np.column_stack([columns, 1e8 + FEATURES[:, 1], np.arange(200)])
    model = im.IsingModel(LABELS, kind(columns))
    assert (model.fit().score_test().reasons == "ok").all(axis=None)
