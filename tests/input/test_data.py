"""The door: containers, names, weights, missing rows, and what is refused."""

import decimal
import re
from importlib import import_module
from importlib.util import find_spec

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from pandas.testing import assert_frame_equal
from scipy import sparse

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning
from isingmlc.input.rows import prepare, prepare_labels

LABELS = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])
FEATURES = np.array([[0.5, -1.0], [1.5, 0.0], [2.5, 3.0], [0.0, 4.0]])
LABEL_FRAME = pd.DataFrame(LABELS, columns=["a", "b"])
FEATURE_FRAME = pd.DataFrame(FEATURES, columns=["u", "v"])
SPARSE_KINDS = [
    getattr(sparse, f"{form}_{kind}")
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("array", "matrix")
]


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def as_type(dtype):
    return lambda table: pd.DataFrame(table).astype(dtype)


def mixed_sparse(table):
    """Columns of pandas' Sparse and one ordinary column in the middle."""
    frame = pd.DataFrame(table).astype(pd.SparseDtype(table.dtype, 0))
    middle = table.shape[1] // 2
    return frame.assign(**{"ordinary": table[:, middle]}).rename(columns=str)[
        [*map(str, range(middle)), "ordinary", *map(str, range(middle + 1, table.shape[1]))]
    ]


HAS_ARROW = find_spec("pyarrow") is not None


def arrow():
    return import_module("pyarrow")


def installed(containers):
    """Leave out containers of Arrow where it is not installed."""
    return {kind: make for kind, make in containers.items() if HAS_ARROW or "arrow" not in kind}


ANY_CONTAINER = installed(
    {
        "array": np.asarray,
        "array in Fortran order": np.asfortranarray,
        "array of other byte order": lambda table: table.astype(table.dtype.newbyteorder(">")),
        "every second column of an array": lambda table: np.repeat(table, 2, axis=1)[:, ::2],
        "objects": lambda table: table.astype(object),
        "long double": lambda table: table.astype(np.longdouble),
        "lists": lambda table: table.tolist(),
        "tuples": lambda table: tuple(map(tuple, table.tolist())),
        "frame": pd.DataFrame,
        "list of Series": lambda table: [pd.Series(column) for column in table.T],
        "arrow table": lambda table: arrow().table(
            {str(at): col for at, col in enumerate(table.T)}
        ),
        "Float64": as_type("Float64"),
        "double[pyarrow]": as_type("double[pyarrow]"),
        "mostly Sparse frame": mixed_sparse,
        **{kind.__name__: kind for kind in SPARSE_KINDS},
    }
)
LABEL_CONTAINERS = installed(
    {
        **ANY_CONTAINER,
        "bool": lambda table: table.astype(bool),
        "uint8": lambda table: table.astype(np.uint8),
        "float32": lambda table: table.astype(np.float32),
        "boolean": lambda table: pd.DataFrame(table.astype(bool)).astype("boolean"),
        "bool[pyarrow]": lambda table: pd.DataFrame(table.astype(bool)).astype("bool[pyarrow]"),
        "Int64": as_type("Int64"),
        "int64[pyarrow]": as_type("int64[pyarrow]"),
        "Sparse[int]": as_type(pd.SparseDtype(np.int64, 0)),
        "Sparse[bool]": lambda table: pd.DataFrame(table.astype(bool)).astype(
            pd.SparseDtype(bool, False)
        ),
        "Sparse[bool] filled with True": lambda table: pd.DataFrame(table.astype(bool)).astype(
            pd.SparseDtype(bool, True)
        ),
        "sparse bool": lambda table: sparse.csr_array(table.astype(bool)),
        "int and bool columns": lambda table: pd.DataFrame(
            {at: column.astype(bool if at % 2 else int) for at, column in enumerate(table.T)}
        ),
    }
)
FEATURE_CONTAINERS = installed(
    {
        **ANY_CONTAINER,
        "Decimal": lambda table: np.vectorize(decimal.Decimal, otypes=[object])(table),
        "Sparse[float]": as_type(pd.SparseDtype(np.float64, 0)),
        "Sparse[float] filled with NaN": as_type(pd.SparseDtype(np.float64, np.nan)),
    }
)


@st.composite
def label_arrays(draw, n_rows):
    n_labels = draw(st.integers(1, 10))
    return draw(arrays(np.int64, (n_rows, n_labels), elements=st.integers(0, 1)))


@st.composite
def feature_arrays(draw, n_rows):
    # Quarters are exact in every type; many of them are zero.
    quarters = st.one_of(st.just(0.0), st.integers(-40, 40).map(lambda value: value / 4))
    return draw(arrays(np.float64, (n_rows, draw(st.integers(1, 4))), elements=quarters))


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 9))
    return draw(label_arrays(n_rows)), draw(feature_arrays(n_rows))


def totals(labels, features, **options):
    stats = im.LabelsetStatistics.from_arrays(labels, features, **options).recenter(0.0)
    return stats.patterns, stats.counts, dense(stats.sums), dense(stats.squares)


def assert_same_totals(first, second):
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_allclose(ours.astype(float), theirs.astype(float), rtol=0, atol=1e-9)


@given(tables())
@settings(deadline=None, max_examples=40)
def test_every_container_of_the_same_table_gives_the_same_data(table):
    labels, features = table
    plain = prepare(labels, features)
    assert np.array_equal(plain.labels, labels)
    for make in LABEL_CONTAINERS.values():
        assert np.array_equal(prepare(make(labels)).packed_labels, plain.packed_labels)
    for make in FEATURE_CONTAINERS.values():
        given_features = make(features)
        data = prepare(labels, given_features)
        assert np.array_equal(dense(data.features).astype(np.float64), features)
        assert data.n_dropped == 0
        assert sparse.issparse(data.features) == sparse.issparse(given_features) or isinstance(
            given_features, pd.DataFrame
        )


@given(tables(), st.data())
@settings(deadline=None, max_examples=60)
def test_weights_stand_for_repeated_rows_and_zero_for_none(table, data):
    labels, features = table
    counts = st.lists(st.integers(0, 4), min_size=len(labels), max_size=len(labels)).filter(any)
    weights = np.array(data.draw(counts))
    repeated = totals(np.repeat(labels, weights, axis=0), np.repeat(features, weights, axis=0))
    for container in (np.asarray, list, pd.Series, lambda values: pd.Series(values, dtype="Int64")):
        assert_same_totals(totals(labels, features, freq_weights=container(weights)), repeated)
    sparse_parts = sparse.csr_array(labels), sparse.csr_array(features)
    assert_same_totals(totals(*sparse_parts, freq_weights=weights), repeated)
    seen = weights > 0
    assert_same_totals(
        totals(labels, features, freq_weights=seen), totals(labels[seen], features[seen])
    )


def test_missing_values_of_all_blocks_are_named_at_once():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame(rng.integers(0, 2, (9, 2)).astype(float), columns=["a", "b"])
    features = pd.DataFrame(rng.normal(size=(9, 2)), columns=["x", "z"])
    covariates = pd.DataFrame({"age": rng.normal(size=9), "sex": list("fmfmfmfmf")})
    labels.loc[0, "b"] = features.loc[[1, 2], "z"] = np.nan
    covariates.loc[2, "age"] = covariates.loc[[3, 4], "sex"] = None
    groups, weights = np.arange(9.0), np.ones(9)
    groups[5] = weights[6] = np.nan
    given = {"covariates": covariates, "groups": groups}
    message = (
        "labels, features, covariates, groups, sampling_weights and freq_weights have missing "
        "values in 7 row(s): labels in column(s) 'b'; features in column(s) 'z'; covariates in "
        "column(s) 'age' (1), 'sex' (2); groups; sampling_weights; freq_weights. Drop those rows "
        "with missing='drop', or fill them in first."
    )
    sampling = np.where(np.isnan(weights), np.nan, 2.0)
    both = {"freq_weights": weights, "sampling_weights": sampling}
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        prepare(labels, features, **given, **both)
    with pytest.raises(DataError, match=r"^features and groups have missing values in 3 row\(s\)"):
        prepare(labels.fillna(0), features, groups=groups)
    with pytest.warns(DataWarning, match=r"'freq_weights' 1 \(1\)"):
        prepare(labels, features, freq_weights=weights, missing="drop")
    frame = labels.join(features).join(covariates)
    with pytest.raises(DataError, match=r"^data, groups and freq_weights have .* in 7 row\(s\)"):
        im.IsingModel.from_formula(
            "a + b ~ x + z", frame, covariates="age + sex", groups=groups, freq_weights=weights
        )


def test_names_come_from_frames_and_are_numbered_otherwise():
    pa = pytest.importorskip("pyarrow", reason="reads tables of Arrow")
    data = prepare(LABEL_FRAME, FEATURE_FRAME)
    assert (data.label_names, data.feature_names) == (("a", "b"), ("u", "v"))
    assert data.terms == {"u": ("u",), "v": ("v",)}
    data = prepare(pd.DataFrame(LABELS), pd.DataFrame(FEATURES))
    assert (data.label_names, data.feature_names) == (("y1", "y2"), ("x1", "x2"))
    data = prepare([LABEL_FRAME.a, LABEL_FRAME.b], sparse.csr_array(FEATURES))
    assert (data.label_names, data.feature_names) == (("a", "b"), ("x1", "x2"))
    sparse_frame = FEATURE_FRAME.astype(pd.SparseDtype(float, 0))
    assert prepare(LABELS, sparse_frame).feature_names == ("u", "v")
    arrow = pa.table({"a": [0, 1], "b": [1, 1]})
    assert prepare(arrow).label_names == ("a", "b")


def test_names_given_by_the_user_go_first():
    for names in (
        ["p", "q"],
        ("p", "q"),
        np.array(["p", "q"]),
        pd.Index(["p", "q"]),
        pd.Series(["p", "q"]),
    ):
        data = prepare(LABEL_FRAME, FEATURES, label_names=names, feature_names=["s", 3])
        assert (data.label_names, data.feature_names) == (("p", "q"), ("s", "3"))


def freeze(*parts):
    for part in parts:
        part.flags.writeable = False


def test_the_users_objects_stay_as_they_are_and_may_be_read_only():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, (60, 3)).astype(float)
    features = rng.normal(size=(60, 4))
    features[3, 1] = labels[5, 0] = np.nan
    weights = rng.integers(1, 3, 60).astype(float)
    weights[9] = 0
    matrix = sparse.csr_array(features)
    # The same cell twice and unsorted: what scipy would tidy up in place.
    matrix.indices[:2] = matrix.indices[1::-1].copy()
    matrix.indices[4:6] = 2
    frames = pd.DataFrame(labels, columns=list("abc")), pd.DataFrame(features)
    freeze(labels, features, weights, matrix.data, matrix.indices, matrix.indptr)
    before = [part.tobytes() for part in (labels, features, weights)]
    sparse_before = [part.tobytes() for part in (matrix.data, matrix.indices, matrix.indptr)]
    frames_before = [frame.copy(deep=True) for frame in frames]
    for given_labels, given_features in (
        (labels, features),
        (labels, matrix),
        frames,
        ([frames[0].a, frames[0].b], matrix),
    ):
        with pytest.warns(DataWarning):
            im.IsingModel(given_labels, given_features, freq_weights=weights, missing="drop")
    assert [part.tobytes() for part in (labels, features, weights)] == before
    after = [part.tobytes() for part in (matrix.data, matrix.indices, matrix.indptr)]
    assert after == sparse_before
    for frame, copy in zip(frames, frames_before, strict=True):
        assert_frame_equal(frame, copy)


TEXT = ["must be numeric", "IsingModel.from_formula", "C("]
REFUSED = {
    "labels −1/1": (2 * LABELS - 1, None, {}, ["'y1' holds -1, 1", ".map({-1: 0, 1: 1})"]),
    "labels −1/1 sparse": (sparse.csr_array(2 * LABELS - 1), None, {}, ["'y1' holds -1, 1"]),
    "labels 1/2": (LABELS + 1, None, {}, ["'y1' holds 1, 2", ".map({1: 1, 2: 0})"]),
    "labels 0/0.5": (LABELS / 2, None, {}, ["coded 0/1", "'y1' holds 0, 0.5"]),
    "labels of three values": ([[0, 0], [1, 1], [0, 2]], None, {}, ["'y2' holds 0, 1, 2"]),
    "labels of many values": (np.arange(14).reshape(7, 2), None, {}, ["holds 0, 2, 4, 6, 8, …"]),
    "labels 0/255": (LABELS.astype(np.uint8) * 255, None, {}, ["'y1' holds 0, 255"]),
    "labels with NaN": (
        pd.DataFrame({"a": [0, np.nan, np.nan], "b": [0, 1, 1]}),
        None,
        {},
        ["labels has missing values in 2 row(s), in column(s) 'a'", "missing='drop'", "fill"],
    ),
    "labels with infinity": (
        [[0, np.inf], [1, 0]],
        None,
        {},
        ["labels has infinite values", "'y2'"],
    ),
    "features with NaN": (
        LABELS,
        [[1, np.nan], [np.nan, 2], [3, 4], [5, 6]],
        {},
        ["features has missing values in 2 row(s), in column(s) 'x1', 'x2'", "missing='drop'"],
    ),
    "features with infinity": (
        LABELS,
        FEATURE_FRAME.replace(4.0, -np.inf),
        {},
        ["features has infinite values", "in 1 row(s), in column(s) 'v'", "leave those rows out"],
    ),
    "features too large to square": (
        LABELS,
        np.where(FEATURES == 4.0, -1.7e308, FEATURES),
        {},
        ["beyond ±1e+100", "in 1 row(s), in column(s) 'x2'"],
    ),
    "nothing left": (LABELS, [[np.nan]] * 4, {"missing": "drop"}, ["4 rows", "leaves none"]),
    "fewer rows of features": (
        LABELS,
        FEATURES[:3],
        {},
        ["labels has 4 rows and features has 3", "same rows"],
    ),
    "other index of features": (
        LABEL_FRAME,
        FEATURE_FRAME[::-1],
        {},
        ["labels and features", "indexes differ", "features.loc[labels.index]", "reset_index"],
    ),
    "no rows": (np.empty((0, 2)), None, {}, ["labels must have at least one row", "(0, 2)"]),
    "no features": (LABELS, LABEL_FRAME[[]], {}, ["features must have", "may be left out"]),
    "label names twice": (LABEL_FRAME[["a", "a"]], None, {}, ["labels has the name(s) 'a' more"]),
    "feature names twice": (
        LABELS,
        FEATURE_FRAME[["u", "u"]],
        {},
        ["features has the name(s) 'u' more than once", "Rename"],
    ),
    "label and feature of one name": (
        LABEL_FRAME,
        FEATURE_FRAME.rename(columns={"v": "b"}),
        {},
        ["'b' is named as label and as feature", "Take the column(s) out"],
    ),
    "too few names": (
        LABELS,
        FEATURES,
        {"feature_names": ["u"]},
        ["feature_names must be a list with one name per column (2), but has 1"],
    ),
    "names as one text": (
        LABELS,
        None,
        {"label_names": "ab"},
        ["label_names must be a list", "is of type str"],
    ),
    "names without features": (
        LABELS,
        None,
        {"feature_names": ["u"]},
        ["feature_names", "features is not given"],
    ),
    "text among numbers": (
        LABELS,
        np.array([[1, "a"]] * 4, dtype=object),
        {},
        ["column(s) 'x2' are of type str", *TEXT],
    ),
    "dates": (
        LABELS,
        pd.DataFrame({"day": pd.date_range("2020", periods=4)}),
        {},
        ["'day' are of type datetime64", "holds dates: turn them into numbers"],
    ),
    "text labels": (
        [["yes", "no"], ["no", "no"]],
        None,
        {},
        ["'y1', 'y2' are of type text", "labels['y1'].map({'no': 0, 'yes': 1})"],
    ),
    "categorical labels": (
        LABEL_FRAME.astype("category"),
        None,
        {},
        ["'a', 'b' are of type category", "labels['a'].map({0: 0, 1: 1})"],
    ),
    "complex features": (LABELS, FEATURES * 1j, {}, ["features must be numeric", "complex128"]),
    "one dimension": (
        [0, 1, 1],
        None,
        {},
        ["labels must be two-dimensional", "shape (3,)", "numpy.reshape(labels, (-1, 1))"],
    ),
    "a Series": (
        LABELS,
        FEATURE_FRAME["u"],
        {},
        ["features must be two-dimensional", "features.to_frame()"],
    ),
    "a number": (3, None, {}, ["labels must be a table", "is of type int", "pandas.DataFrame"]),
    "a dict": ({"a": [0, 1]}, None, {}, ["is of type dict", "pandas.DataFrame"]),
    "ragged rows": ([[0, 1], [1]], None, {}, ["labels must be rectangular", "same number"]),
    "Series of other indexes": (
        [LABEL_FRAME.a, LABEL_FRAME.b[::-1]],
        None,
        {},
        ["labels must be a list of Series", "number 2 has another index", "pandas.concat"],
    ),
    "unknown missing": (
        LABELS,
        None,
        {"missing": "skip"},
        ["missing must be one of 'raise', 'drop', but is 'skip'"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_with_a_reason_and_a_way_out(case):
    labels, features, options, pieces = REFUSED[case]
    with pytest.raises(DataError) as caught:
        im.IsingModel(labels, features, **options)
    message = str(caught.value)
    for piece in pieces:
        assert piece in message
    assert not re.search(r"\{[a-z_]*[!:}]", message)  # no field of a template is left open
    assert message.endswith(".")


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1, 2, -1, -2], "they are negative in 2 row(s), first in row 2"),
        ([1, np.inf, 1, 1], "they are too large in 1 row(s), first in row 1"),
        ([1e308] * 4, "they are too large in 4 row(s)"),
        ([0, 0, 0, 0], "all of them are zero"),
        (list("abcd"), "they are of type str"),
        (list("1234"), "they are of type str"),
        (pd.date_range("2020", periods=4), "they are of type datetime64"),
        (pd.Series([1, 2, 3, 4]).astype("category"), "they are of type category"),
        ([1j] * 4, "they are of type complex128"),
        (np.ones((4, 1)), "they have shape (4, 1) where (4,) is wanted"),
        (pd.DataFrame({"w": [1, 2, 3, 4]}), "they have shape (4, 1)"),
        (2, "they have shape () where (4,) is wanted"),
        ("w", "they have shape ()"),
        (sparse.csr_array([[1, 2, 3, 4]]), "they have shape ()"),
    ],
)
def test_weights_that_cannot_be_counts_are_refused(weights, problem):
    with pytest.raises(DataError) as caught:
        prepare(LABELS, FEATURES, freq_weights=weights)
    assert str(caught.value).startswith("freq_weights must hold one number per row")
    assert problem in str(caught.value)


@pytest.mark.parametrize("labels", [np.zeros((30, 2)), [[0, 1]], np.ones((5, 1), dtype=bool)])
def test_labels_of_which_none_varies_are_refused(labels):
    with pytest.raises(DataError, match=r"no label varies.*in all \d+ rows.*0/1 outcomes"):
        im.IsingModel(labels)


def sample(n_rows=200, seed=5):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (n_rows, 3)), rng.normal(size=(n_rows, 2))


@pytest.mark.parametrize("constant", [0, 1])
def test_a_constant_label_is_warned_about_once_and_can_be_fitted(constant):
    labels, features = sample()
    labels[:, 1] = constant
    with pytest.warns(DataWarning) as caught:
        model = im.IsingModel(labels, features)
    assert len(caught) == 1
    assert "label(s) 'y2' are the same in every row" in str(caught[0].message)
    assert caught[0].filename == __file__
    results = model.fit()
    assert np.isfinite(results.params.loc["y1", "y3"])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_a_constant_feature_is_warned_about_once_and_can_be_fitted(container):
    labels, features = sample()
    features = container(np.c_[features, np.full(len(features), 0.1)])
    with pytest.warns(DataWarning) as caught:
        model = im.IsingModel(labels, features)
    assert len(caught) == 1
    assert "feature(s) 'x3' are the same in every row" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert model.fit().converged


def test_dropped_rows_are_told_once_where_the_user_is():
    labels, features = sample()
    features[:3, 0] = np.nan
    for call in (prepare, im.IsingModel, im.LabelsetStatistics.from_arrays):
        with pytest.warns(DataWarning) as caught:
            call(labels, features, missing="drop")
        assert len(caught) == 1
        assert str(caught[0].message) == (
            "3 of 200 rows have missing values and were dropped: 'x1' lacks 3 values (3 of these "
            "rows lack nothing else)."
        )
        assert caught[0].filename == __file__


def test_new_labels_are_matched_by_name_in_any_order():
    frame = pd.DataFrame({"b": [1, 0], "other": [5, 6], "a": [0, 0]})
    assert np.array_equal(prepare_labels(frame, ("a", "b")), [[False, True], [False, False]])
    numbered = pd.DataFrame([[1, 0]], columns=[20, 10])
    assert np.array_equal(prepare_labels(numbered, ("10", "20")), [[False, True]])
    assert np.array_equal(prepare_labels([[1, 0]], ("a", "b")), [[True, False]])
    with pytest.raises(DataError, match=r"lacks the column\(s\) 'c' that the model was fitted on"):
        prepare_labels(frame, ("a", "c"))
    with pytest.raises(DataError, match="must have the 2 columns that the model was fitted on"):
        prepare_labels([[1]], ("a", "b"))
    with pytest.raises(DataError, match="'a', 'b' more than once"):
        prepare_labels(pd.concat([frame, frame], axis=1), ("a", "b"))


def test_features_that_are_no_numbers_are_told_apart():
    labels = pd.DataFrame({"a": np.resize([0, 1], 200), "b": np.resize([0, 1, 1], 200)})
    features = pd.DataFrame(
        {
            "pid": [f"P{at}" for at in range(200)],
            "day": pd.date_range("2026-01-01", periods=200),
            "age": [f"{at}" for at in range(200)],
        }
    )
    for name, remedy in (
        ("pid", "'pid' looks like an identifier of rows: leave it out"),
        ("day", "'day' holds dates: turn them into numbers"),
        ("age", "'age' holds numbers written as text"),
    ):
        with pytest.raises(DataError, match=remedy) as caught:
            prepare(labels, features[[name]])
        assert "C(" not in str(caught.value)
    with pytest.warns(DataWarning, match="'age' hold numbers written as text"):
        prepare(labels, covariates=features[["age"]])
