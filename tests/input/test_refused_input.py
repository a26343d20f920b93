"""Input that was taken wrongly, descriptions with weights, and advice that is run as given."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MultiLabelBinarizer
from statsmodels.stats.weightstats import DescrStatsW

import isingmlc as im
from isingmlc.sklearn import IsingClassifier, IsingSelector


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


# Descriptions with sampling weights


def test_descriptions_count_people_and_weight_percentages():
    rng = np.random.default_rng(1)
    labels = pd.DataFrame({"a": rng.integers(0, 2, 200), "b": rng.integers(0, 2, 200)})
    sex = pd.DataFrame({"sex": np.where(rng.random(200) < 0.4, "f", "m")})
    weights = np.where(labels["a"] == 1, 9.0, 1.0)
    one = im.describe(labels, sex, sampling_weights=weights)
    frame = one.to_frame().set_index(["variable", "level"])
    a, women = frame.loc[("a", "")], frame.loc[("sex", "f")]
    is_woman = (sex["sex"] == "f").to_numpy()
    assert a["count"] == labels["a"].sum()
    assert women["count"] == is_woman.sum()
    assert a["n"] == 200
    assert a["share"] == pytest.approx(DescrStatsW(labels["a"], weights).mean)
    assert women["share"] == pytest.approx(DescrStatsW(is_woman.astype(float), weights).mean)
    printed = one.table.set_index("variable")["all"]
    assert printed["rows"] == "200"
    assert printed["a"] == f"{labels['a'].sum()} ({DescrStatsW(labels['a'], weights).mean:.1%})"
    assert one.overlap.loc["a", "b"] == (labels["a"] & labels["b"]).sum()


@pytest.mark.parametrize("fit", ["fit", "fit_regularized"])
def test_fits_count_people_and_weight_percentages(fit):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, (300, 3))
    weights = rng.uniform(1, 9, 300)
    found = getattr(im.IsingModel(labels, sampling_weights=weights), fit)().diagnostics
    assert found["positives"].tolist() == labels.sum(axis=0).tolist()
    np.testing.assert_allclose(found["prevalence"], DescrStatsW(labels, weights).mean)


def test_frequency_weights_are_people():
    table = im.describe([[1, 0], [0, 1]], freq_weights=[3, 5]).table.set_index("variable")["all"]
    assert (table["rows"], table["y1"]) == ("8", "3 (37.5%)")


# IsingSelector


@pytest.mark.parametrize("values", [(0.0, 0.9), ("no", "yes"), ("0", "1")])
def test_selector_refuses_labels_that_are_no_numbers_of_a_code(data, values):
    y = np.where(data.labels == 1, values[1], values[0])
    for labels in (y, y.astype(object), pd.DataFrame(y, columns=data.labels.columns), y[:, 0]):
        with pytest.raises(im.exceptions.DataError, match="y must hold 0/1 labels"):
            IsingSelector().fit(data.features, labels)


def test_selector_takes_one_rule_for_how_many_features(data):
    selector = IsingSelector(alpha=0.05, n_features_to_select=3)
    with pytest.raises(im.exceptions.DataError, match=r"alpha=0.05 and n_features_to_select=3"):
        selector.fit(data.features, data.labels)


def test_a_list_of_methods_is_refused_by_name(data):
    methods = ["forward", "ssc"]
    with pytest.raises(im.exceptions.DataError, match="method must be"):
        IsingSelector(method=methods).fit(data.features, data.labels)
    with pytest.raises(im.exceptions.DataError, match="method must be"):
        im.rank_features(data.labels, data.features, method=methods)


# Tags


TAGS = [["a", "b"], [], ["c"], ["a"], ["b", "c"], ["a", "c"]] * 20
DOORS = {
    "labels": [
        lambda y, x: im.IsingModel(y, x),
        lambda y, x: im.rank_features(y, x),
        lambda y, x: im.select_features(y, x, alpha=0.5),
        lambda y, x: im.describe(y, x),
    ],
    "y": [
        lambda y, x: IsingClassifier().fit(x, y),
        lambda y, x: IsingSelector().fit(x, y),
    ],
    "y_true": [lambda y, x: im.metrics.evaluate(y, y)],
}


@pytest.mark.parametrize(
    "tags",
    [
        TAGS,
        [["a", "b"], ["b", "c"], ["a", "c"]] * 40,
        [set(row) for row in TAGS],
        [tuple(row) for row in TAGS],
        pd.Series(TAGS, index=range(5, 125)),
        pd.Series([frozenset(row) for row in TAGS]),
        np.array(TAGS, dtype=object),
    ],
    ids=["lists", "pairs", "sets", "tuples", "series", "series-of-sets", "array"],
)
@pytest.mark.parametrize(
    ("name", "door"), [(name, door) for name, doors in DOORS.items() for door in doors]
)
def test_tags_get_code_that_makes_columns_of_them(tags, name, door):
    index = tags.index if isinstance(tags, pd.Series) else None
    x = pd.DataFrame(np.random.default_rng(0).standard_normal((120, 2)), index).add_prefix("x")
    with pytest.raises(im.exceptions.DataError, match="lists the tags of each row") as caught:
        door(tags, x)
    code = str(caught.value).split("first: ")[1]
    space = {"pd": pd, name: tags}
    exec(code, space)
    made = space[name]
    expected = MultiLabelBinarizer().fit_transform(tags)
    np.testing.assert_array_equal(made.to_numpy(), expected)
    assert list(made.columns) == ["a", "b", "c"]
    assert made.index.equals(x.index)


def test_rows_of_different_length_are_no_tags():
    with pytest.raises(im.exceptions.DataError, match="rows differ in length"):
        im.IsingModel([[0, 1], [1]])


# Communities


def test_communities_list_their_labels_or_labels_name_theirs(data):
    groups = {
        "mind": ["depression"],
        "body": [name for name in data.labels.columns if name != "depression"],
    }
    of_labels = {label: group for group, labels in groups.items() for label in labels}
    res, net = (getattr(im.IsingModel(data.labels), fit)() for fit in ("fit", "fit_regularized"))
    for fitted in (res, net, res.bootstrap(9, random_state=0)):
        pd.testing.assert_frame_equal(fitted.centrality(groups), fitted.centrality(of_labels))
        pd.testing.assert_frame_equal(
            fitted.centrality(pd.Series(groups)), fitted.centrality(of_labels)
        )
    colors = [
        [patch.get_facecolor() for patch in net.plot_label_network(communities=given).patches]
        for given in (groups, of_labels)
    ]
    assert colors[0] == colors[1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"one": ["a"], "two": ["b", "z"]}, "lists 'z', but the labels are 'a', 'b', 'c'"),
        ({"one": ["a", "b"], "two": ["b", "c"]}, "list each label once, but 'b' comes again"),
        ({"one": ["a"], "two": ["b"]}, "has no 'c'"),
    ],
)
def test_communities_that_do_not_fit_the_labels_are_named(groups, message):
    labels = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (90, 3)), columns=list("abc"))
    with pytest.raises(im.exceptions.DataError, match=re.escape(message)):
        im.IsingModel(labels).fit().centrality(groups)


# Groups of rows


@pytest.mark.parametrize("kind", ["years", "decimals", "name"])
def test_a_continuous_group_gets_code_that_cuts_it(data, kind):
    by = data.features["age"].round() if kind == "years" else data.features["age"] + 0.123
    model = im.IsingModel(data.labels)
    if kind == "name":
        model, by = im.IsingModel(data), "age"
    with pytest.raises(im.exceptions.DataError, match="Cut numbers into groups") as caught:
        im.compare_networks(model, by=by, n_permutations=9, random_state=0)
    codes = re.findall(r"by = (pd\.q?cut\(.*?\)) (?:makes|cuts)", str(caught.value))
    assert len(codes) == 2
    for code in codes:
        cut = eval(code, {"pd": pd, "np": np, "by": by, "frame": data.features})
        found = im.compare_networks(model, by=cut, n_permutations=9, random_state=0)
        assert sum(each.nobs for each in found.networks.values()) == len(data.labels)
