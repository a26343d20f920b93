"""How central labels are, and how well they are predicted."""

from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import isingmlc as im
from isingmlc.exceptions import DataError

OURS = "ignore::isingmlc.exceptions.IsingWarning"
GROUPS = {
    "hypertension": "body",
    "diabetes": "body",
    "arthritis": "body",
    "depression": "mind",
    "asthma": "lung",
    "heart_disease": "body",
}


@pytest.fixture(scope="module")
def example():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def res(example):
    return im.IsingModel(example.labels).fit()


def wide(table, column="value"):
    return table.set_index(["label", "measure"])[column].unstack("measure")  # noqa: PD010


def by_definition(weights):
    """Compute closeness and betweenness by trying every path."""
    n = len(weights)
    lengths = np.where(weights != 0, 1 / np.where(weights == 0, 1, np.abs(weights)), np.inf)
    shortest, between = np.zeros((n, n)), np.zeros((n, n, n))
    for start, end in permutations(range(n), 2):
        others = [node for node in range(n) if node not in (start, end)]
        paths = [
            (start, *inner, end) for size in range(n - 1) for inner in permutations(others, size)
        ]
        costs = np.array([sum(lengths[a, b] for a, b in pairwise(p)) for p in paths])
        shortest[start, end] = costs.min()
        best = [p for p, cost in zip(paths, costs, strict=True) if cost == costs.min() < np.inf]
        for path in best:
            between[start, end, list(path[1:-1])] += 1 / len(best)
    return shortest, between


def test_sums_and_paths_by_their_definitions(res):
    weights = res.interactions.to_numpy()
    found = wide(res.centrality(GROUPS)).loc[list(res.label_names)]
    influence = weights.sum(axis=1)
    np.testing.assert_allclose(found["strength"], np.abs(weights).sum(axis=1))
    np.testing.assert_allclose(found["expected_influence"], influence)
    np.testing.assert_allclose(found["expected_influence_2"], influence + weights @ influence)
    shortest, between = by_definition(weights)
    np.testing.assert_allclose(found["closeness"], 5 / shortest.sum(axis=1))
    np.testing.assert_allclose(found["betweenness"], between.sum(axis=(0, 1)) / 2)
    group = np.array([GROUPS[name] for name in res.label_names])
    across = group[:, None] != group
    np.testing.assert_allclose(found["bridge_strength"], np.abs(weights * across).sum(axis=1))
    np.testing.assert_allclose(found["bridge_expected_influence"], (weights * across).sum(axis=1))
    np.testing.assert_allclose(
        found["bridge_closeness"], across.sum(axis=1) / (shortest * across).sum(axis=1)
    )
    bridges = (between * across[:, :, None]).sum(axis=(0, 1)) / 2
    np.testing.assert_allclose(found["bridge_betweenness"], bridges)


def test_error_of_expected_influence_is_that_of_a_contrast(res):
    table = res.centrality().set_index(["measure", "label"])
    for name in res.label_names:
        test = res.contrast({(name, other): 1 for other in res.label_names if other != name})
        row = table.loc[("expected_influence", name)]
        assert row["value"] == pytest.approx(test.estimates[0])
        assert row["se"] == pytest.approx(test.errors[0])
        assert row["upper"] == pytest.approx(row["value"] + 1.959963984540054 * row["se"])


def test_paths_and_sparse_networks_have_no_errors(example, res):
    table = res.centrality()
    paths = table["measure"].isin(["closeness", "betweenness"])
    assert (table.loc[paths, "reason"] == "no-error").all()
    strength = table["measure"] == "strength"
    assert (table.loc[~paths & ~strength, "reason"] == "ok").all()
    net = im.IsingModel(example.labels).fit_regularized()
    table = net.centrality(GROUPS)
    assert (table["reason"] == "no-error").all()
    assert table["se"].isna().all()
    strength = wide(table)["strength"].loc[list(net.label_names)]
    np.testing.assert_allclose(strength, net.interactions.abs().sum())
    shortest, between = by_definition(net.interactions.to_numpy())
    found = wide(table).loc[list(net.label_names)]
    np.testing.assert_allclose(found["betweenness"], between.sum(axis=(0, 1)) / 2)
    np.testing.assert_allclose(found["closeness"], 5 / shortest.sum(axis=1))


def test_strength_says_where_signs_are_unsure(res):
    pairs = res.network_table()
    unsure = pairs[(pairs["lower"] <= 0) & (pairs["upper"] >= 0)]
    across = unsure["first"].map(GROUPS) != unsure["second"].map(GROUPS)
    table = res.centrality(GROUPS).set_index(["measure", "label"])["reason"]
    for measure, touched in (("strength", unsure), ("bridge_strength", unsure[across])):
        marked = table[measure].index[table[measure] == "unsure-signs"]
        assert set(marked) == set(touched[["first", "second"]].to_numpy().ravel())


@pytest.mark.filterwarnings(OURS)
def test_labels_without_a_place_and_infinite_pairs_say_so():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame((rng.random((400, 4)) < 0.4).astype(int), columns=list("abcd"))
    labels["b"] &= 1 - labels["a"]
    labels["e"] = 1
    table = im.IsingModel(labels).fit().centrality().set_index(["measure", "label"])
    assert table.loc[("strength", "e"), "reason"] == "constant-label"
    assert np.isnan(table.loc[("strength", "e"), "value"])
    assert table.loc[("strength", "a"), "value"] == np.inf
    assert table.loc[("strength", "a"), "reason"] == "infinite-pair"
    assert table.loc[("expected_influence", "c"), "reason"] == "ok"
    assert table.loc[("expected_influence", "c"), "se"] > 0
    assert table.loc["closeness"]["value"].isna().all()
    assert table.loc[("closeness", "c"), "reason"] == "infinite-pair"
    assert not (table["value"].isna() & table["reason"].isin(["ok", "no-error"])).any()
    net = im.IsingModel(labels).fit_regularized()
    table = net.centrality().set_index(["measure", "label"])
    assert table.loc[("strength", "e"), "reason"] == "constant-label"
    assert np.isfinite(table.loc[("closeness", "a"), "value"])
    assert net.predictability().loc["e", "reason"] == "constant-label"


@pytest.mark.parametrize(
    ("communities", "said"),
    [
        ({"asthma": 1}, "every label"),
        ([1, 2], "one per label"),
        ("mind", "one per label"),
        ([1] * 6, "two or more"),
    ],
)
def test_bad_communities_are_refused(res, communities, said):
    with pytest.raises(DataError, match=said):
        res.centrality(communities)


@pytest.mark.parametrize("kind", ["plain", "covariates", "sparse", "sparse-features"])
def test_predictability_is_that_of_other_programs(example, kind):
    labels, features = example.labels, example.features
    if kind == "covariates":
        model = im.IsingModel(labels, covariates=features[["age"]])
        found, probability = model.fit().predictability(), model.fit().predict()
    elif kind == "plain":
        fit = im.IsingModel(labels).fit()
        found, probability = fit.predictability(), fit.predict()
    else:
        with_features = kind == "sparse-features"
        net = im.IsingModel(labels, features).fit_regularized(features=with_features)
        found = net.predictability()
        odds = labels @ net.directed + net.thresholds
        if with_features:
            odds += features @ net.effects
        probability = 1 / (1 + np.exp(-odds))
    for name in labels:
        y, p = labels[name], probability[name]
        row = found.loc[name]
        right = metrics.accuracy_score(y, p > 0.5)
        most = max(y.mean(), 1 - y.mean())
        assert row["accuracy"] == pytest.approx(right)
        assert row["gain"] == pytest.approx((right - most) / (1 - most), abs=1e-9)
        assert row["auc"] == pytest.approx(metrics.roc_auc_score(y, p.round(10)))
        explained = 1 - metrics.log_loss(y, p) / metrics.log_loss(y, np.full(len(y), y.mean()))
        assert row["deviance_r2"] == pytest.approx(explained)
        assert row["reason"] == "ok"
