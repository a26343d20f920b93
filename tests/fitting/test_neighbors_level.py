"""Tests of features given some of the other labels, on networks whose truth is known."""

import numpy as np
import pytest

import isingmlc as im

# Labels are rare and never meet, as they do among many.
pytestmark = pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")

LEVEL = 0.05
REPETITIONS = 12


def draw(seed, n_samples=2000):
    """Draw a network of 30 labels that go together strongly; 32 of its 40 features do nothing."""
    return im.datasets.make_network_data(
        n_samples, n_features=40, n_labels=30, dependence="strong", random_state=seed
    )


@pytest.fixture(scope="module")
def networks():
    return [draw(seed) for seed in range(REPETITIONS)]


def pvalues_of(data, neighbors):
    results = im.IsingModel(data.labels, data.features).fit(neighbors=neighbors)
    return results.score_test().pvalues


def count_small(networks, neighbors, choose):
    """Count the edges of a kind, chosen by the truth, and those with a p-value below the level."""
    small = total = 0
    for data in networks:
        pvalues = pvalues_of(data, neighbors).to_numpy()[choose(data.truth)]
        small += (pvalues < LEVEL).sum()
        total += (~np.isnan(pvalues)).sum()
    return small, total


def edges_of_idle_features(truth):
    idle = (truth["effects"] == 0).all(axis=1).to_numpy()
    return idle[:, None] & np.ones(truth["effects"].shape, dtype=bool)


def edges_by_way_of_a_neighbor(truth):
    """Choose edges whose feature acts on a neighbour of the label, but not on the label."""
    acts = truth["effects"].to_numpy() != 0
    linked = truth["interactions"].to_numpy() != 0
    return (acts @ linked) & ~acts


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", [3, "ebic"])
def test_idle_features_are_found_as_often_as_the_level_says(networks, neighbors):
    small, total = count_small(networks, neighbors, edges_of_idle_features)
    assert total > 0.95 * REPETITIONS * 32 * 30
    error = np.sqrt(LEVEL * (1 - LEVEL) / total)
    assert abs(small / total - LEVEL) < 4.5 * error


@pytest.mark.slow
def test_what_acts_on_a_neighbor_shows_if_the_neighbor_is_left_out(networks):
    given_none, total = count_small(networks, 0, edges_by_way_of_a_neighbor)
    given_all, _ = count_small(networks, None, edges_by_way_of_a_neighbor)
    error = np.sqrt(LEVEL * (1 - LEVEL) / total)
    assert given_none / total > 0.2
    assert abs(given_all / total - LEVEL) < 4.5 * error


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rankings_given_all_labels_and_given_few_are_nearly_the_same(seed):
    data = draw(seed, n_samples=4000)
    model = im.IsingModel(data.labels, data.features)
    full, few = model.fit(), model.fit(neighbors="ebic")
    assert few.diagnostics["neighbors"].mean() < 6 < full.diagnostics["neighbors"].mean()
    one, two = full.rank_features().importance, few.rank_features().importance
    assert one.corr(two, "spearman") > 0.95
