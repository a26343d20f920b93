"""Skipped items coded 0: both fits name them, and the advice recovers the network."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.exceptions import SeparationWarning

ITEMS = ["sleep", "appetite", "tired", "worth"]


def simulate(n, screens, seed=1):
    """Draw from a known network by enumeration; give all answers, and those with items skipped."""
    names = [*screens, *ITEMS, "worry"]
    true = pd.DataFrame(0.0, names, names)
    for item in ITEMS:
        true.loc[item, "worry"] = true.loc["worry", item] = 1.5
        true.loc[item, screens[0]] = true.loc[screens[0], item] = 0.66
    states = np.array(list(itertools.product([0, 1], repeat=len(names))))
    odds = np.einsum("ij,jk,ik->i", states, true.to_numpy(), states) / 2 - states.sum(axis=1)
    share = np.exp(odds) / np.exp(odds).sum()
    rows = np.random.default_rng(seed).choice(len(states), n, p=share)
    answers = pd.DataFrame(states[rows], columns=names)
    skipped = answers.copy()
    skipped.loc[answers[screens].sum(axis=1) == 0, ITEMS] = 0
    return true, answers, skipped


def caught(fit):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        results = fit()
    return results, [str(each.message) for each in found if each.category is SeparationWarning]


@pytest.mark.parametrize("method", ["fit", "fit_regularized"])
@pytest.mark.parametrize("screens", [["low"], ["low", "interest"]])
def test_skipped_items_are_named(method, screens):
    _, answers, skipped = simulate(1500, screens)
    results, said = caught(getattr(im.IsingModel(skipped), method))
    expected = (
        "'sleep', 'appetite', 'tired', 'worth' are never 1 unless "
        f"{' or '.join(map(repr, screens))} is 1"
    )
    assert len(said) == 1
    assert expected in said[0]
    assert "fit only the rows in which they were asked" in said[0]
    assert any(expected in note for note in results.summary().notes)
    # The same people without the skip rule.
    results, said = caught(getattr(im.IsingModel(answers), method))
    assert said == []
    assert not any("never 1 unless" in note for note in results.summary().notes)


def test_the_advice_recovers_the_network():
    true, _, skipped = simulate(6000, ["low"])
    net, _ = caught(im.IsingModel(skipped).fit_regularized)
    # What the warning is about: 0.66 and 0 in truth.
    assert net.interactions.loc["sleep", "low"] > 4
    assert net.interactions.loc["worry", "low"] < -1.5
    asked = skipped[skipped["low"] == 1].drop(columns="low")
    results, said = caught(im.IsingModel(asked).fit)
    assert said == []
    table = results.network_table()
    truth = [true.loc[a, b] for a, b in zip(table["first"], table["second"], strict=True)]
    assert (np.abs(table["weight"] - truth) < 3.5 * table["se"]).all()


def test_two_screening_labels_as_covariates():
    true, _, skipped = simulate(6000, ["low", "interest"])
    screens = skipped[["low", "interest"]]
    net, _ = caught(im.IsingModel(skipped).fit_regularized)
    assert net.interactions.loc["low", "interest"] < -1.5  # 0 in truth
    asked = screens.any(axis=1)
    labels = skipped.loc[asked, [*ITEMS, "worry"]]
    results, said = caught(im.IsingModel(labels, covariates=screens[asked]).fit)
    assert said == []
    table = results.network_table()
    truth = [true.loc[a, b] for a, b in zip(table["first"], table["second"], strict=True)]
    assert (np.abs(table["weight"] - truth) < 3.5 * table["se"]).all()


def test_rare_and_copied_labels_are_not_called_skipped():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame(rng.random((2000, 30)) < np.linspace(0.002, 0.5, 30)).astype(int)
    _, said = caught(im.IsingModel(labels).fit_regularized)
    assert said == []
    labels = im.datasets.load_example().labels
    _, said = caught(im.IsingModel(labels.assign(copy=labels["asthma"])).fit_regularized)
    assert said == []


def test_neighbors_by_ebic_say_it_once():
    _, _, skipped = simulate(1500, ["low"])
    _, said = caught(lambda: im.IsingModel(skipped).fit(neighbors="ebic"))
    assert sum("never 1 unless" in text for text in said) == 1
