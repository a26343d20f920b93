"""Statistics of data sets, and fewer labels."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from isingmlc import datasets
from isingmlc.exceptions import DataError

# Cardinality, density and distinct label sets as Mulan states them.
STATED = {
    "bibtex": (2.402, 0.015, 2856),
    "emotions": (1.869, 0.311, 27),
    "enron": (3.378, 0.064, 753),
    "flags": (3.392, 0.485, 54),
    "medical": (1.245, 0.028, 94),
    "scene": (1.074, 0.179, 15),
    "yeast": (4.237, 0.303, 198),
}


def photos(name="photos"):
    labels = pd.DataFrame(
        {"beach": [1, 1, 1, 0, 1], "urban": [0, 1, 0, 0, 1], "field": [0, 0, 0, 0, 0]}
    )
    features = pd.DataFrame({"hue": [0.1, 0.2, 0.3, 0.4, 0.5], "size": [1, 2, 3, 4, 5]})
    return datasets.Dataset(labels, features, ("hue", "size"), name=name, DESCR="Photos.")


@pytest.mark.parametrize("name", STATED)
def test_statistics_are_those_that_mulan_states(data_dir, name):
    row = datasets.describe(datasets.load_mulan(name, "all", data_dir)).datasets.loc[name]
    cardinality, density, labelsets = STATED[name]
    # Mulan gives three decimals, rounded up in places.
    assert row["cardinality"] == pytest.approx(cardinality, abs=1e-3)
    assert row["density"] == pytest.approx(density, abs=1e-3)
    assert row["labelsets"] == labelsets


def test_the_paper_s_table_is_reproduced_where_its_sets_are_here(data_dir):
    stated = {
        "scene": (2407, 294, 6),
        "yeast": (2417, 103, 14),
        "bibtex": (7395, 1836, 50),
        "medical": (978, 1449, 45),
    }
    limited = [datasets.limit_labels(datasets.load_mulan(name, "all", data_dir)) for name in stated]
    table = datasets.describe(limited).datasets
    expected = pd.DataFrame(stated, index=["n", "p", "K"]).T.rename_axis("dataset")
    assert_frame_equal(table[["n", "p", "K"]], expected)


def test_statistics_of_a_small_set_are_right_by_hand():
    description = datasets.describe(photos())
    row = description.datasets.loc["photos"]
    assert row[["n", "p", "K", "labelsets"]].tolist() == [5, 2, 3, 3]
    assert row["cardinality"] == pytest.approx(6 / 5)
    assert row["density"] == pytest.approx(6 / 15)
    # 4/4 and 4/2; the label without positives does not count.
    assert row["imbalance"] == pytest.approx(1.5)
    labels = description.labels.loc["photos"]
    assert labels["positives"].tolist() == [4, 2, 0]
    assert labels["share"].tolist() == [0.8, 0.4, 0.0]
    assert labels["imbalance"].tolist()[:2] == [1, 2]
    assert np.isnan(labels.loc["field", "imbalance"])
    assert description.labels.index.names == ["dataset", "label"]


def test_missing_labels_count():
    labels = photos().labels.astype(float)
    labels.iloc[0, 0] = np.nan
    found = datasets.describe(dataclasses.replace(photos(), labels=labels))
    assert found.datasets.loc["photos", ["n", "missing"]].tolist() == [5, 1]
    own = found.labels.loc["photos"]
    assert own["positives"].tolist() == labels.sum().tolist()
    np.testing.assert_allclose(own["share"], labels.mean())
    assert own["missing"].tolist() == [1, 0, 0]


def test_it_prints_as_a_table():
    description = datasets.describe([photos("a"), photos("b")])
    lines = repr(description).splitlines()
    assert lines[0].split() == [
        *("n", "p", "K", "labelsets", "cardinality", "density", "imbalance", "missing"),
    ]
    assert lines[2].split() == ["a", "5", "2", "3", "3", "1.200", "0.400", "1.50", "0"]
    assert "<td>1.200</td>" in description._repr_html_()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "data must hold at least one data set"),
        ({}, "data must hold at least one data set"),
        ([photos(), photos()], r"two data sets of one name\. Pass a mapping"),
        (
            [photos().labels],
            "data must be a Dataset, or a list or a dict of them, but .* DataFrame",
        ),
        (photos().labels, "data must be a Dataset, .*, but there is a DataFrame"),
        (photos().labels["beach"], "data must be a Dataset, .*, but there is a Series"),
        (None, "data must be a Dataset, .*, but there is a NoneType"),
        (5, "data must be a Dataset, .*, but there is a int"),
        ("scene", "data must be a Dataset, .*, but there is a str"),
        ({"a": 3}, "but there is a int"),
    ],
)
def test_what_is_no_data_set_is_refused(given, message):
    with pytest.raises(DataError, match=message):
        datasets.describe(given)


def test_the_most_frequent_labels_are_kept_in_their_order_and_all_rows():
    data = photos()
    labels = data.labels[["field", "urban", "beach"]]
    limited = datasets.limit_labels(dataclasses.replace(data, labels=labels), 2)
    assert list(limited.labels) == ["urban", "beach"]
    assert len(limited.labels) == len(limited.features) == 5
    assert limited.labels.iloc[3].sum() == 0
    assert limited.DESCR == "Photos. Limited to the 2 most frequent of its 3 labels."
    assert limited.name == "photos"
    assert list(data.labels) == ["beach", "urban", "field"]


@pytest.mark.parametrize("n_labels", [0, -1, 2.5, "5", True])
def test_a_number_of_labels_that_is_none_is_refused(n_labels):
    with pytest.raises(DataError, match="n_labels must be a whole number of at least 1"):
        datasets.limit_labels(photos(), n_labels)
