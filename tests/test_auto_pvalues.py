"""How much rows say about labels, and p-values that follow from it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from golden import load_data

import isingmlc as im
from isingmlc.exceptions import LowInformationWarning

OURS = "ignore::isingmlc.exceptions.IsingWarning"


def told(act):
    """Give the warnings about information that a call issues."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(each.message) for each in caught if each.category is LowInformationWarning]


def rare_and_common(rng, n_rows=800, share=0.02):
    """One rare label, two common ones."""
    common = rng.random((n_rows, 2)) < 0.5
    return pd.DataFrame(
        np.column_stack([rng.random(n_rows) < share, common]).astype(int),
        columns=["rare", "left", "right"],
    )


# Information


def test_information_is_the_trace_of_the_variances_of_statsmodels():
    labels, features = load_data("plain")
    res = im.IsingModel(labels, features).fit()
    for label in labels:
        fitted = np.asarray(res.nodes[label].fittedvalues)
        counts = res.model.statistics.counts
        expected = counts @ (fitted * (1 - fitted))
        row = res.diagnostics.loc[label]
        assert row["information"] == pytest.approx(expected, rel=1e-8)
        per = row["information_per_coefficient"]
        assert per == pytest.approx(expected / labels.shape[1], rel=1e-8)


@pytest.mark.filterwarnings(OURS)
def test_information_counts_rows_in_play_alone():
    labels = pd.DataFrame({"a": [0] * 40 + [0, 1] * 20, "b": [1] * 40 + [0] * 40})
    res = im.IsingModel(labels).fit()
    # Where b is 1, a is 0: those rows say nothing more. Of the others half carry a.
    assert res.diagnostics.loc["a", "information"] == pytest.approx(40 / 4)
    assert res.diagnostics.loc["a", "information_per_coefficient"] == pytest.approx(40 / 4)


# The warning


def test_a_label_that_others_all_but_determine_is_named():
    rng = np.random.default_rng(0)
    network = im.simulate.IsingDistribution(np.full(5, -5.0), 2.5 * (1 - np.eye(5)))
    labels = network.sample(600, random_state=rng)
    labels.columns = [f"label{at}" for at in range(5)]
    res = im.IsingModel(labels, rng.normal(size=(600, 2))).fit()
    (message,) = told(res.score_test)
    assert "'label0'" in message
    assert "diagnostics" in message
    assert "neighbors='ebic'" in message
    # Half of the rows carry each label: it is not how rare they are.
    assert res.diagnostics["prevalence"].between(0.3, 0.7).all()
    assert (res.diagnostics["information_per_coefficient"] < 4).all()
    # Once for these results, and once more for chi-square, whatever comes after.
    assert told(res.score_test) == []
    assert len(told(lambda: res.score_test(pvalue="chi2"))) == 1
    assert told(lambda: res.lr_test(["x1"])) == []


def test_skewed_features_need_more_information_where_nothing_corrects_for_it():
    rng = np.random.default_rng(1)
    labels = rare_and_common(rng, share=0.05)
    normal, skewed = rng.normal(size=(800, 2)), rng.lognormal(size=(800, 2))
    res = im.IsingModel(labels, normal).fit()
    assert 4 * 3 < res.diagnostics.loc["rare", "information"] < 75
    assert told(lambda: res.score_test(pvalue="chi2")) == []
    res = im.IsingModel(labels, skewed).fit()
    assert told(res.score_test) == []
    (message,) = told(lambda: res.score_test(pvalue="chi2"))
    assert "'rare'" in message
    assert "'left'" not in message
    assert "skewed" in message
    assert "pvalue='auto'" in message
    # Without rows nobody knows how skewed a feature is, unless it is 0/1.
    assert len(told(im.IsingModel(labels, skewed).fit().remove_data().score_test)) == 1
    binary = (rng.random((800, 2)) < 0.4).astype(int)
    assert told(im.IsingModel(labels, binary).fit().remove_data().score_test) == []


def test_summary_names_labels_with_little_information():
    rng = np.random.default_rng(2)
    labels = rare_and_common(rng, share=0.008)
    notes = im.IsingModel(labels).fit().summary().notes
    (note,) = [note for note in notes if "information" in note]
    assert note.startswith("The rows say little about rare: information Σp(1−p) of")
