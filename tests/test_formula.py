"""Formulas: labels, features and terms from a frame."""

import copy
import pickle

import numpy as np
import pandas as pd
import patsy
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, ModelError
from isingmlc.input.formula import read_formula

N_ROWS = 200
LEVELS = ("south", "north", "west")


def make_frame():
    rng = np.random.default_rng(11)
    region = pd.Series(rng.choice(LEVELS, N_ROWS))
    return pd.DataFrame(
        {
            "a": rng.integers(0, 2, N_ROWS),
            "b": rng.integers(0, 2, N_ROWS).astype(float),
            "c": rng.integers(0, 2, N_ROWS).astype(bool),
            "x1": rng.normal(size=N_ROWS),
            "x2": rng.integers(0, 50, N_ROWS),
            "z": rng.normal(3.0, 1.0, N_ROWS),
            "g": region,
            "k": region.astype("category"),
            "odd name": rng.normal(size=N_ROWS),
            "weight": rng.integers(0, 4, N_ROWS),
            "day": pd.date_range("2020-01-01", periods=N_ROWS),
        }
    )


@pytest.fixture
def frame():
    return make_frame()


def model_of(formula, data, **options):
    return im.IsingModel.from_formula(formula, data, **options)


def double(values):
    return 2 * values


def test_labels_features_and_terms_are_taken_from_the_frame(frame):
    before = frame.copy(deep=True)
    model = model_of("a + b + c ~ x1 + x2 + C(g)", frame)
    assert_frame_equal(frame, before)
    assert model.label_names == ("a", "b", "c")
    assert model.feature_names == ("x1", "x2", "C(g)[T.south]", "C(g)[T.west]")
    assert model.terms == {
        "x1": ("x1",),
        "x2": ("x2",),
        "C(g)": ("C(g)[T.south]", "C(g)[T.west]"),
    }
    assert np.array_equal(model.data.labels, frame[["a", "b", "c"]].astype(bool))
    dummies = np.c_[frame.g == "south", frame.g == "west"]
    assert np.array_equal(model.data.features, np.c_[frame.x1, frame.x2, dummies])


def test_a_formula_gives_the_same_model_as_arrays(frame):
    by_formula = model_of("a + b + c ~ x1 + x2", frame).fit()
    by_arrays = im.IsingModel(frame[["a", "b", "c"]], frame[["x1", "x2"]]).fit()
    assert_frame_equal(by_formula.params, by_arrays.params)
    assert_frame_equal(by_formula.score_test().statistics, by_arrays.score_test().statistics)


@pytest.mark.parametrize(
    ("term", "columns"),
    [
        ("bs(x1, df=4)", [f"bs(x1, df=4)[{at}]" for at in range(4)]),
        ("g", ["g[T.south]", "g[T.west]"]),
        ("k", ["k[T.south]", "k[T.west]"]),
        ("c", ["c[T.True]"]),
        ("x1:x2", ["x1:x2"]),
        ("g:x1", ["g[north]:x1", "g[south]:x1", "g[west]:x1"]),
        ("I(x1 ** 2)", ["I(x1 ** 2)"]),
        ("np.exp(x1)", ["np.exp(x1)"]),
        ("double(x1)", ["double(x1)"]),
        ("standardize(x1)", ["standardize(x1)"]),
        ("day.dt.month", ["day.dt.month"]),
        ("C(g, Treatment('west'))", [f"C(g, Treatment('west'))[T.{at}]" for at in LEVELS[1::-1]]),
    ],
)
def test_a_term_of_several_columns_is_one_term(frame, term, columns):
    model = model_of(f"a + b ~ {term} + z", frame)
    assert model.terms == {term: tuple(columns), "z": ("z",)}
    assert model.feature_names == (*columns, "z")


def test_interactions_are_terms_of_their_own(frame):
    model = model_of("a + b ~ x1 * x2", frame)
    assert list(model.terms) == ["x1", "x2", "x1:x2"]
    assert np.array_equal(model.data.features[:, 2], frame.x1 * frame.x2)


def test_functions_are_looked_up_where_the_model_is_made(frame):
    shift = 5.0

    def move(values):
        return values + shift

    model = im.IsingModel.from_formula("a + b ~ move(x1) + I(x2 + shift)", frame)
    assert np.array_equal(model.data.features, np.c_[frame.x1 + 5.0, frame.x2 + 5.0])


def test_quoted_names_are_the_columns_own(frame):
    model = model_of("Q('a') + b ~ Q('odd name') + x1:Q('odd name')", frame)
    assert model.label_names == ("a", "b")
    assert list(model.terms) == ["odd name", "x1:Q('odd name')"]
    assert np.array_equal(model.data.features[:, 0], frame["odd name"])
    bracketed = frame.rename(columns={"x1": "x[1]"})
    assert model_of("a + b ~ Q('x[1]')", bracketed).terms == {"x[1]": ("x[1]",)}


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("c", lambda frame: frame.c),
        ("I(z > 3)", lambda frame: frame.z > 3),
        ("z > 3", lambda frame: frame.z > 3),
        ("I(g == 'west')", lambda frame: frame.g == "west"),
        ("g.isin(['west', 'south'])", lambda frame: frame.g != "north"),
        ("C(a)", lambda frame: frame.a == 1),
        ("a:b", lambda frame: frame.a * frame.b == 1),
    ],
)
def test_labels_may_be_booleans_conditions_and_products(frame, label, expected):
    model = model_of(f"{label} + b ~ x1", frame)
    assert model.label_names == (label, "b")
    assert np.array_equal(model.data.labels[:, 0], expected(frame))


@pytest.mark.parametrize(
    "dtype",
    ["boolean", "bool[pyarrow]", "Int64", "int64[pyarrow]", "Float64", "object", "category"],
)
def test_labels_may_be_of_any_type_that_holds_zeros_and_ones(frame, dtype):
    plain = model_of("a + c ~ x1", frame)
    data = frame.assign(a=frame.a.astype(bool if "bool" in dtype else int).astype(dtype))
    assert np.array_equal(model_of("a + c ~ x1", data).data.labels, plain.data.labels)


def test_a_label_that_is_never_true_stays_so(frame):
    for never in (False, pd.Series(False, index=frame.index, dtype=object), 0):
        with pytest.warns(DataWarning, match=r"'never' are the same in every row"):
            model = model_of("a + never ~ x1", frame.assign(never=never))
        assert not model.data.labels[:, 1].any()


@pytest.mark.parametrize(
    "dtype", ["Int64", "int64[pyarrow]", "Float64", "double[pyarrow]", "float32", "object"]
)
def test_features_may_be_of_any_numeric_type(frame, dtype):
    data = frame.assign(x2=frame.x2.astype(dtype))
    model = model_of("a + b ~ x2", data)
    assert model.terms == {"x2": ("x2",)}
    assert np.array_equal(model.data.features[:, 0], frame.x2)


@pytest.mark.parametrize(
    "dtype", ["str", "object", "category", "string", "string[pyarrow]", pd.ArrowDtype(pa.string())]
)
def test_text_and_categories_of_any_type_are_coded_alike(frame, dtype):
    model = model_of("a + b ~ g", frame.assign(g=frame.g.astype(dtype)))
    assert model.terms == {"g": ("g[T.south]", "g[T.west]")}
    assert np.array_equal(model.data.features, np.c_[frame.g == "south", frame.g == "west"])


def test_the_order_of_categories_is_kept(frame):
    ordered = pd.Categorical(frame.g, ["west", "south", "north"], ordered=True)
    assert model_of("a + b ~ g", frame.assign(g=ordered)).feature_names == (
        "g[T.south]",
        "g[T.north]",
    )


@pytest.mark.parametrize("nothing", ["1", "0", "-1"])
def test_a_formula_without_features_gives_a_model_of_labels(frame, nothing):
    model = model_of(f"a + b + c ~ {nothing}", frame)
    assert model.terms == {}
    assert model.feature_names == ()
    assert model.data.features is None
    assert model.fit().nobs == N_ROWS


def test_constants_are_not_features_but_change_how_categories_are_coded(frame):
    assert model_of("a + b ~ x1 - 1", frame).feature_names == ("x1",)
    assert model_of("a + b ~ 1 + x1", frame).feature_names == ("x1",)
    assert model_of("a + b ~ g - 1", frame).feature_names == ("g[north]", "g[south]", "g[west]")
    assert model_of("a + 1 ~ x1", frame).label_names == ("a",)


def with_holes(data):
    holes = data.astype({"a": float}).astype({"c": "boolean"})
    holes.loc[[0, 7], "x1"] = np.nan
    holes.loc[7, "a"] = np.nan
    holes.loc[9, "c"] = pd.NA
    holes.loc[11, "g"] = None
    holes.loc[13, "k"] = None
    # The formulas below do not use it.
    holes.loc[15, "z"] = np.nan
    return holes


def test_rows_with_missing_values_are_dropped_once_told_and_the_rest_kept(frame):
    holes = with_holes(frame)
    formula = "a + c ~ center(x1) + g + C(k) + bs(x2, df=3)"
    with pytest.raises(DataError) as raised:
        model_of(formula, holes)
    assert str(raised.value) == (
        "data has missing values in 5 row(s), in column(s) 'a', 'c', 'x1', 'g', 'k'. "
        "Drop those rows with missing='drop', or fill them in first."
    )
    with pytest.warns(DataWarning) as caught:
        model = im.IsingModel.from_formula(formula, holes, missing="drop")
    assert [str(warning.message) for warning in caught] == [
        "5 of 200 rows have missing values and were dropped: 'x1' lacks 2 values (1 of these rows "
        "lack nothing else), 'c' 1 (1), 'g' 1 (1), 'k' 1 (1), 'a' 1 (0). Without 'c' 196 rows "
        "would remain."
    ]
    assert caught[0].filename == __file__
    assert model.data.n_dropped == 5
    whole = model_of(formula, frame.drop([0, 7, 9, 11, 13]))
    assert np.array_equal(model.data.labels, whole.data.labels)
    np.testing.assert_allclose(model.data.features, whole.data.features, rtol=0, atol=1e-12)


def test_only_columns_that_the_formula_uses_must_be_there(frame):
    holes = frame.assign(z=np.nan, west=np.nan)
    codes = "g.map({'west': 1, 'south': 2, 'north': 3})"
    model = model_of(f"a + b ~ x1 + {codes}", holes)
    assert model.nobs == N_ROWS


def test_values_that_a_formula_makes_missing_are_treated_as_missing(frame):
    def root(values):
        return np.sqrt(values.where(values >= 0))

    lost = (frame.x1 < 0).sum()
    with pytest.raises(DataError) as raised:
        im.IsingModel.from_formula("a + b ~ root(x1) + x2", frame)
    assert str(raised.value) == (
        "formula 'a + b ~ root(x1) + x2' has missing values in "
        f"{lost} row(s), in column(s) 'root(x1)'. Drop those rows with missing='drop', or fill "
        "them in first."
    )
    with pytest.warns(DataWarning) as caught:
        model = im.IsingModel.from_formula("a + root(b) ~ root(x1) + g", frame, missing="drop")
    assert len(caught) == 1
    kept = frame[frame.x1 >= 0]
    assert model.data.n_dropped == lost
    assert np.array_equal(model.data.labels[:, 0], kept.a == 1)
    assert np.array_equal(model.data.features[:, 0], np.sqrt(kept.x1))
    with pytest.warns(DataWarning, match="rows have missing values"):
        model = im.IsingModel.from_formula("a + b ~ g.where(x1 >= 0)", frame, missing="drop")
    assert np.array_equal(model.data.features[:, 0], kept.g == "south")


def test_nothing_left_is_told(frame):
    with pytest.raises(DataError, match="every one of the 200 rows has a missing value"):
        model_of("a + b ~ x1", frame.assign(x1=np.nan), missing="drop")
    with pytest.raises(DataError, match="every one of the 200 rows has a missing value"):
        model_of("a + b ~ x1.where(x1 > 99)", frame, missing="drop")


def test_weights_by_name_are_weights_by_value(frame):
    by_name = model_of("a + b ~ x1 + g", frame, freq_weights="weight")
    counted = frame.loc[frame.index.repeat(frame.weight)]
    repeated = model_of("a + b ~ x1 + g", counted)
    for weights in (frame.weight, frame.weight.to_numpy(), frame.weight.tolist()):
        model = model_of("a + b ~ x1 + g", frame, freq_weights=weights)
        assert np.array_equal(model.data.weights, by_name.data.weights)
    assert by_name.nobs == repeated.nobs == frame.weight.sum()
    assert_frame_equal(by_name.fit().params, repeated.fit().params, atol=1e-8)


def test_rows_of_weight_zero_have_no_say(frame):
    weights = np.where(frame.g == "west", 0, 2)
    holes = frame.assign(x1=frame.x1.where(frame.g != "west"))
    model = model_of("a + b ~ center(x1) + g", holes, freq_weights=weights)
    left = frame[frame.g != "west"]
    assert model.feature_names == ("center(x1)", "g[T.south]")
    assert model.data.n_dropped == 0
    np.testing.assert_allclose(model.data.features[:, 0], left.x1 - left.x1.mean(), atol=1e-12)


@pytest.mark.parametrize("missing", ["raise", "drop"])
def test_rows_may_have_any_index(frame, missing):
    plain = model_of("a + b ~ x1 + g", frame, freq_weights="weight")
    indexes = [
        np.zeros(N_ROWS),
        np.arange(N_ROWS) // 2,
        np.arange(N_ROWS)[::-1],
        [None] * N_ROWS,
        pd.MultiIndex.from_arrays([frame.g, frame.x2]),
    ]
    for index in indexes:
        data = frame.set_axis(index)
        for weights in ("weight", data.weight, frame.weight.to_numpy()):
            model = model_of("a + b ~ x1 + g", data, freq_weights=weights, missing=missing)
            assert np.array_equal(model.data.features, plain.data.features)
            assert np.array_equal(model.data.weights, plain.data.weights)


def test_weights_stay_with_their_rows_when_others_are_dropped(frame):
    holes = with_holes(frame).assign(weight=frame.weight + 1.0)
    holes.loc[20, "weight"] = np.nan
    kept = np.delete(np.arange(N_ROWS), [0, 7, 20])
    for index in (np.arange(N_ROWS), np.arange(N_ROWS) // 4):
        with pytest.warns(DataWarning, match="3 of 200 rows") as caught:
            model = im.IsingModel.from_formula(
                "a + b ~ x1", holes.set_axis(index), freq_weights="weight", missing="drop"
            )
        assert len(caught) == 1
        assert model.data.n_dropped == 3
        assert np.array_equal(model.data.weights, frame.weight[kept] + 1.0)
        assert np.array_equal(model.data.features[:, 0], frame.x1[kept])


@pytest.mark.parametrize(
    ("weights", "pieces"),
    [
        ("nope", ["freq_weights must name a column of data", "'nope'", "data has 'a', 'b'"]),
        ([1, 2], ["data has 200 rows and freq_weights has 2"]),
        (2, ["freq_weights must hold one number per row", "shape () where (200,) is wanted"]),
        (np.ones((N_ROWS, 1)), ["shape (200, 1) where (200,) is wanted"]),
        ("g", ["freq_weights must hold one number per row", "they are of type str"]),
        ("day", ["they are of type datetime64"]),
        ("x1", ["they are negative in"]),
        (
            np.r_[np.nan, np.ones(N_ROWS - 1)],
            ["freq_weights has missing values in 1 row(s). Drop those rows with missing='drop'"],
        ),
        (pd.Series(1, index=range(1, N_ROWS + 1)), ["data and freq_weights", "indexes differ"]),
    ],
)
def test_weights_that_can_not_be_counts_are_refused(frame, weights, pieces):
    with pytest.raises(DataError) as caught:
        model_of("a + b ~ x1", frame, freq_weights=weights)
    for piece in pieces:
        assert piece in str(caught.value)


WRITE = "e.g. 'a + b ~ x1 + x2', or 'a + b ~ 1'"
REFUSED = {
    "a + b": ["names no label", WRITE],
    "~ x1": ["names no label", WRITE],
    "1 ~ x1": ["names no label", WRITE],
    "": ["names no label", WRITE],
    "a + b ~": ["cannot be read", WRITE],
    "a + b ~ x1 +": ["cannot be read", WRITE],
    "a ~ b ~ c": ["cannot be read", "only be used once"],
    "a + b ~ .": ["cannot be read", WRITE],
    "a + b ~ 5": ["cannot be read", "numbers besides '0' and '1'"],
    "a + b ~ nope": ["cannot be evaluated", "'nope' is not defined", "columns of data ('a', 'b'"],
    "nope + b ~ x1": ["cannot be evaluated", "'nope' is not defined"],
    "a + b ~ Q('nope')": ["cannot be evaluated", "nope"],
    "a + b ~ Q()": ["cannot be evaluated", "Q"],
    "a + b ~ x1.nope()": ["cannot be evaluated", "no attribute 'nope'"],
    "a + b ~ np.log(g)": ["cannot be evaluated", "log"],
    "a + b ~ I(1 / 0)": ["cannot be evaluated", "ZeroDivisionError"],
    "a + b ~ I(3)": ["cannot be evaluated", "rows mismatch"],
    "a + b ~ I(x1 * 1j)": ["cannot be evaluated", "complex128"],
    "a + b ~ day": ["column(s) 'day' of data hold dates", "day.dt.year", "C(day)"],
    "day + b ~ x1": ["column(s) 'day' of data hold dates"],
    "a + b ~ one": ["term 'one' of the formula makes no column", "single category", "Take it out"],
    "a + b ~ a + x1": ["'a' is named as label and as feature"],
    "a + b ~ Q('a')": ["'a' is named as label and as feature"],
    "a + Q('a') ~ x1": ["labels has the name(s) 'a' more than once"],
    "a + b ~ x1 + Q('x1')": ["features has the name(s) 'x1' more than once"],
    "a + b ~ I(1 / weight)": ["features has infinite values", "'I(1 / weight)'"],
    "a + z ~ x1": ["labels must be coded 0/1, but column 'z' holds", "in a formula I(z >"],
    "g + b ~ x1": ["label 'g'", "categories 'north', 'south', 'west'", "e.g. I(g == 'west')"],
    "k + b ~ x1": ["label 'k'", "e.g. I(k == 'west')"],
    "Q('k') + b ~ x1": ["label 'k'", "e.g. I(Q('k') == 'west')"],
    "one + b ~ x1": ["label 'one'", "categories 'same'", "I(one == 'same')"],
    "bs(x1, df=4) + b ~ x1": ["label 'bs(x1, df=4)'", "makes 4 columns where one is wanted"],
    "a:c + b ~ x1": ["label 'a:c' in the formula makes 2 columns", "I(x > 0)"],
}


@pytest.mark.parametrize("formula", REFUSED)
def test_formulas_that_can_not_be_used_are_refused_with_a_reason(frame, formula):
    with pytest.raises(DataError) as caught:
        model_of(formula, frame.assign(one="same"))
    for piece in REFUSED[formula]:
        assert piece in str(caught.value)


@pytest.mark.parametrize("formula", [None, 3, ["a ~ b"], patsy.ModelDesc([], [])])
def test_a_formula_is_text(frame, formula):
    with pytest.raises(DataError, match="formula must be text, but is of type"):
        model_of(formula, frame)


def test_data_must_be_a_frame_with_rows(frame):
    for data in (None, dict(frame), frame.to_numpy()):
        with pytest.raises(DataError, match=r"data must be a DataFrame.*pandas\.DataFrame"):
            model_of("a + b ~ x1", data)
    with pytest.raises(DataError, match="data must have at least one row"):
        model_of("a + b ~ x1", frame[:0])
    with pytest.raises(DataError, match="missing must be one of 'raise', 'drop', but is 'skip'"):
        model_of("a + b ~ x1", frame, missing="skip")


def test_columns_of_one_name_are_refused_only_where_the_formula_uses_them(frame):
    twice = pd.concat([frame, frame[["x2", "g"]]], axis=1)
    assert model_of("a + b ~ x1", twice).feature_names == ("x1",)
    with pytest.raises(DataError, match=r"data has the name\(s\) 'x2' more than once"):
        model_of("a + b ~ x1 + x2", twice)


def test_columns_may_have_names_that_are_not_text(frame):
    model = model_of("a + b ~ x1 + Q(3)", frame.rename(columns={"x2": 3}))
    assert model.terms == {"x1": ("x1",), "3": ("3",)}
    stacked = pd.concat({"top": frame}, axis=1)
    with pytest.raises(DataError, match="'a' is not defined"):
        model_of("a + b ~ x1", stacked)


def test_what_a_formula_takes_keeps_the_index_of_its_rows(frame):
    data = frame.set_axis([f"row{at}" for at in range(N_ROWS)])
    data.iloc[3, data.columns.get_indexer(["x1", "weight"])] = np.nan, 2
    environment = patsy.EvalEnvironment.capture()
    with pytest.warns(DataWarning, match="1 of"):
        parts = read_formula("a + b ~ x1", data, "drop", environment, "weight")
    kept = data.index[(data.weight > 0) & data.x1.notna()]
    assert list(parts.labels.index) == list(parts.features.index) == list(kept)
    assert np.array_equal(parts.weights, data.weight[kept])
    assert parts.n_dropped == 1


@pytest.mark.parametrize(
    "covariates",
    [
        "z",
        "bs(z, df=4)",
        "cr(z, df=3, constraints='center')",
        "center(z) + standardize(x2)",
        "np.exp(x1)",
        "C(g, Treatment('west'))",
        "C(k, Sum):z",
        "Q('odd name')",
        "double(x2)",
    ],
)
def test_covariates_of_formulas_are_pickled_with_what_they_learnt(frame, covariates):
    res = im.IsingModel.from_formula("a + b + c ~ x1", frame, covariates=covariates).fit()
    other = frame[50:60]
    expected = res.model.statistics.context.recipe(other)
    for again in (pickle.loads(pickle.dumps(res)), copy.deepcopy(res), copy.copy(res)):
        assert_frame_equal(again.params, res.params)
        assert_frame_equal(again.score_test().statistics, res.score_test().statistics)
        assert_frame_equal(again.model.statistics.context.recipe(other), expected)


def test_formulas_that_call_a_lambda_say_how_to_be_pickled(frame):
    half = lambda values: values / 2  # noqa: E731
    res = im.IsingModel.from_formula("a + b ~ x1", frame, covariates="half(z)").fit()
    assert half(2) == 1
    with pytest.raises(ModelError, match="Define it in a module and import it"):
        pickle.dumps(res)
    assert_frame_equal(copy.deepcopy(res).params, res.params)
