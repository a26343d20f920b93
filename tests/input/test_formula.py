"""Formulas: labels, features and terms from a frame."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning

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
    assert model.feature_names == ("x1", "x2", "g: south vs north", "g: west vs north")
    assert model.terms == {
        "x1": ("x1",),
        "x2": ("x2",),
        "C(g)": ("g: south vs north", "g: west vs north"),
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
        ("g", ["g: south vs north", "g: west vs north"]),
        ("k", ["k: south vs north", "k: west vs north"]),
        ("c", ["c: True vs False"]),
        ("x1:x2", ["x1:x2"]),
        ("g:x1", ["g[north]:x1", "g[south]:x1", "g[west]:x1"]),
        ("I(x1 ** 2)", ["I(x1 ** 2)"]),
        ("np.exp(x1)", ["np.exp(x1)"]),
        ("double(x1)", ["double(x1)"]),
        ("standardize(x1)", ["standardize(x1)"]),
        ("day.dt.month", ["day.dt.month"]),
        ("C(g, Treatment('west'))", [f"g: {at} vs west" for at in LEVELS[1::-1]]),
    ],
)
def test_a_term_of_several_columns_is_one_term(frame, term, columns):
    model = model_of(f"a + b ~ {term} + z", frame)
    assert model.terms == {term: tuple(columns), "z": ("z",)}
    assert model.feature_names == (*columns, "z")


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


def test_the_order_of_categories_is_kept(frame):
    ordered = pd.Categorical(frame.g, ["west", "south", "north"], ordered=True)
    assert model_of("a + b ~ g", frame.assign(g=ordered)).feature_names == (
        "g: south vs west",
        "g: north vs west",
    )


@pytest.mark.parametrize("nothing", ["1", "0", "-1"])
def test_a_formula_without_features_gives_a_model_of_labels(frame, nothing):
    model = model_of(f"a + b + c ~ {nothing}", frame)
    assert model.terms == {}
    assert model.feature_names == ()
    assert model.data.features is None
    assert model.fit().nobs == N_ROWS


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


def test_weights_by_name_are_weights_by_value(frame):
    by_name = model_of("a + b ~ x1 + g", frame, freq_weights="weight")
    counted = frame.loc[frame.index.repeat(frame.weight)]
    repeated = model_of("a + b ~ x1 + g", counted)
    for weights in (frame.weight, frame.weight.to_numpy(), frame.weight.tolist()):
        model = model_of("a + b ~ x1 + g", frame, freq_weights=weights)
        assert np.array_equal(model.data.weights, by_name.data.weights)
    assert by_name.nobs == repeated.nobs == frame.weight.sum()
    assert_frame_equal(by_name.fit().params, repeated.fit().params, atol=1e-8)


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
    "a + z ~ x1": ["labels must be coded 0/1, but column 'z' holds", "which values mean 1"],
    "g + b ~ x1": ["label 'g'", "categories 'north', 'south', 'west'", "Write I(g == …)"],
    "k + b ~ x1": ["label 'k'", "Write I(k == …)"],
    "Q('k') + b ~ x1": ["label 'k'", "Write I(Q('k') == …)"],
    "one + b ~ x1": ["label 'one'", "categories 'same'", "Write I(one == …)"],
    "bs(x1, df=4) + b ~ x1": ["label 'bs(x1, df=4)'", "makes 4 columns where one is wanted"],
    "a:c + b ~ x1": ["label 'a:c' in the formula makes 2 columns", "one column of 0/1"],
}


@pytest.mark.parametrize("formula", REFUSED)
def test_formulas_that_can_not_be_used_are_refused_with_a_reason(frame, formula):
    with pytest.raises(DataError) as caught:
        model_of(formula, frame.assign(one="same"))
    for piece in REFUSED[formula]:
        assert piece in str(caught.value)
