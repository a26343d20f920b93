"""Code that messages suggest is run, as it stands in the message, on data of that kind."""

import re

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError
from isingmlc.sklearn import IsingClassifier

TRUTH = pd.DataFrame({"a": [1, 0, 1, 0, 1, 0, 0, 1], "b": [0, 1, 1, 0, 0, 1, 0, 1]})
NO, YES = 0, 1
# How no and yes are written; a value that says nothing of itself is explained by the reader.
CODINGS = {
    "1 yes, 2 no": ({NO: 2, YES: 1}, 1),
    "1 no, 2 yes": ({NO: 1, YES: 2}, 2),
    "-1/1": ({NO: -1, YES: 1}, None),
    "no/yes": ({NO: "no", YES: "yes"}, None),
    "No/YES": ({NO: "No", YES: "YES"}, None),
    "text 0/1": ({NO: "0", YES: "1"}, None),
    "text False/True": ({NO: "False", YES: "True"}, None),
    "nein/ja": ({NO: "nein", YES: "ja"}, "ja"),
    "text 1 yes, 2 no": ({NO: "2", YES: "1"}, "1"),
}


def suggested(message, yes):
    """Take the line of code out of a message; that for which `yes` means yes, if it has two."""
    lines = re.findall(r"labels\[.*?\] = labels.*?\.astype\(float\)", message)
    if yes is None:
        assert len(lines) == 1, message
        return lines[0]
    assert len(lines) == 2, message
    first, second = re.search(
        r"astype\(float\) if (.+?) means yes,.* if (.+?) does", message
    ).groups()
    return lines[(first, second).index(repr(yes))]


def follow(labels, yes, **options):
    """Do what messages say until the model is made."""
    labels = labels.copy()
    for _ in range(labels.shape[1] + 1):
        try:
            return labels, im.IsingModel(labels, **options)
        except DataError as error:
            exec(suggested(str(error), yes), {"labels": labels})
    raise AssertionError("the advice does not lead to a model")


@pytest.mark.parametrize("kind", ["object", "category"])
@pytest.mark.parametrize("name", CODINGS)
def test_suggested_recoding_is_right(name, kind):
    codes, yes = CODINGS[name]
    given = (
        TRUTH.replace({"b": codes}) if kind == "object" else TRUTH.assign(b=TRUTH["b"].map(codes))
    )
    given = given.astype({"b": kind}) if kind == "category" else given
    coded, _ = follow(given, yes)
    pd.testing.assert_frame_equal(coded, TRUTH, check_dtype=False)


@pytest.mark.filterwarnings("ignore:.*rows have missing values:isingmlc.exceptions.DataWarning")
@pytest.mark.parametrize("name", CODINGS)
def test_missing_answers_stay_missing(name):
    codes, yes = CODINGS[name]
    truth = TRUTH.astype(float)
    truth.loc[[1, 6], "a"] = np.nan
    truth.loc[2, "b"] = np.nan
    given = pd.DataFrame({column: truth[column].map(codes) for column in truth})
    coded, model = follow(given, yes, missing="drop")
    pd.testing.assert_frame_equal(coded, truth, check_dtype=False)
    assert model.nobs == 5


def test_more_than_two_values_get_no_code():
    for values in ([1, 2, 9, 1, 2, 9, 1, 2], list("abcabcab"), [0.2, 0.4, 0.1, 0.7, 0, 1, 1, 0]):
        with pytest.raises(DataError, match="which values mean 1 and which 0") as caught:
            im.IsingModel(TRUTH.assign(b=values))
        assert "labels[" not in str(caught.value)
        assert "missing answers missing" in str(caught.value)


def test_formula_with_text_labels():
    data = TRUTH.assign(b=TRUTH["b"].map({0: "nein", 1: "ja"}))
    with pytest.raises(DataError, match=r"I\(b == …\) with the category that means 1") as caught:
        im.IsingModel.from_formula("a + b ~ 1", data)
    term = re.search(r"I\(b == …\)", str(caught.value)).group().replace("…", "'ja'")
    data.loc[0, "b"] = None
    with pytest.warns(im.exceptions.DataWarning, match="1 of 8 rows"):
        model = im.IsingModel.from_formula(f"a + {term} ~ 1", data, missing="drop")
    assert (model.data.labels == TRUTH.iloc[1:].to_numpy()).all()


def test_no_argument_is_suggested_that_does_not_exist():
    data = im.datasets.load_example()
    labels, features = data.labels, data.features
    gaps = labels.astype(float)
    gaps.iloc[0, 0] = np.nan
    lacking = features.copy().astype(float)
    lacking.iloc[0] = np.nan
    results = im.IsingModel(labels).fit()
    choice = im.select_features(labels, features, alpha=0.05)
    calls = [
        lambda: results.predict(gaps),
        lambda: choice.predict(lacking),
    ]
    for call in calls:
        with pytest.raises(DataError, match="has missing values in 1 row") as caught:
            call()
        assert "missing='drop'" not in str(caught.value)
        assert "Leave those rows out" in str(caught.value)
    # Where the argument is suggested, it is one.
    with pytest.raises(DataError, match="missing='drop'"):
        im.IsingModel(gaps)
    with pytest.warns(im.exceptions.DataWarning, match="1 of 1500 rows"):
        assert im.IsingModel(gaps, missing="drop").nobs == 1499


@pytest.mark.parametrize("draw", ["bootstrap", "drop_cases"])
def test_weighted_networks_point_to_a_method_that_exists(draw):
    labels = im.datasets.load_example().labels
    model = im.IsingModel(labels, sampling_weights=np.linspace(1, 2, len(labels)))
    with pytest.raises(ModelError) as caught:
        getattr(model.fit_regularized(), draw)(10)
    assert "IsingModel.fit().network_table()" in str(caught.value)
    assert model.fit().network_table()["se"].notna().all()


def test_messages_without_code_that_reverses_answers():
    y = np.array([[1, 2], [2, 1], [1, 1], [2, 2]])
    with pytest.raises(DataError, match="Code the value that means yes as 1") as caught:
        IsingClassifier().fit(np.arange(8.0).reshape(4, 2), y)
    assert "max" not in str(caught.value)
    with pytest.raises(DataError, match="Turn probabilities into 0/1 first") as caught:
        im.metrics.hamming_score([[0, 1]], [[0.2, np.nan]])
    assert "> 0.5" not in str(caught.value)
