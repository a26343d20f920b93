"""Pairs of labels that cannot be estimated, and p-values of differences between draws."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.stats import false_discovery_control

import isingmlc as im
from isingmlc import plots

N_DRAWS = 400


@pytest.fixture(scope="module")
def boot():
    """Draws of six labels of 400 people; one person alone has both e and f."""
    rng = np.random.default_rng(1)
    share = np.array([0.4, 0.35, 0.3, 0.45, 0.06, 0.05])
    labels = pd.DataFrame((rng.random((400, 6)) < share).astype(int), columns=list("abcdef"))
    labels.loc[(labels["e"] == 1) & (labels["f"] == 1), "f"] = 0
    labels.loc[labels.index[labels["e"] == 1][0], "f"] = 1
    return im.IsingModel(labels).fit().bootstrap(N_DRAWS, random_state=0)


def lines(ax):
    (drawn,) = (each for each in ax.collections if isinstance(each, LineCollection))
    return pd.DataFrame(
        {
            "color": [to_hex(color) for color in drawn.get_colors()],
            "width": drawn.get_linewidths(),
            "dashed": [pattern is not None for _, pattern in drawn.get_linestyles()],
        }
    )


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_pair_that_one_person_carries_has_no_interval(boot):
    """A draw leaves that person out with probability (1 − 1/n)ⁿ: 0.368 for 400 rows."""
    table = boot.intervals().set_index(["first", "second"])
    row = table.loc[("e", "f")]
    share = (1 - 1 / 400) ** 400
    error = np.sqrt(share * (1 - share) / N_DRAWS)
    assert row["separated"] / N_DRAWS == pytest.approx(share, abs=4 * error)
    assert row[["lower", "upper"]].isna().all()
    assert row["reason"] == "infinite-pair"
    others = table.drop(("e", "f"))
    assert (others["reason"] == "ok").all()
    assert np.isfinite(others[["lower", "upper"]]).all(axis=None)
    text = " ".join(boot.summary().as_text().split())
    assert f"they were separated, e – f in {row['separated']} of {N_DRAWS} draws." in text
    edges = boot.edges().set_index(["first", "second"])
    assert edges.loc[("e", "f"), "separated"] == row["separated"]
    assert edges.loc[("e", "f"), "covers_zero"]


def test_it_is_drawn_as_not_estimable(boot):
    ax = boot.plot_network(ax=Figure().subplots())
    drawn = lines(ax)
    grey = drawn[drawn["color"] == "#b5b5b5"]
    assert len(grey) == 1
    assert grey["dashed"].all()
    assert grey["width"].item() < 0.5 * drawn["width"].max()
    assert "cannot be estimated: separated in draws" in words(ax)
    ax = boot.plot(ax=Figure().subplots())
    assert "cannot be estimated: separated in draws" in words(ax)
    assert np.isfinite(ax.get_xlim()).all()


@pytest.mark.parametrize("huge", [np.inf, -40.0])
def test_a_huge_interaction_sets_no_scale(huge):
    names = list("abcd")
    weights = pd.DataFrame(0.3, names, names)
    weights.loc["a", "b"] = weights.loc["b", "a"] = 1.0
    thresholds = pd.Series(0.0, names)
    usual = plots.plot_label_network(weights, thresholds, ax=Figure().subplots())
    weights.loc["c", "d"] = weights.loc["d", "c"] = huge
    ax = plots.plot_label_network(weights, thresholds, ax=Figure().subplots())
    assert lines(ax)["width"].max() == lines(usual)["width"].max()
    assert {"± 0.5", "± 1"} <= set(words(ax)) & set(words(usual))
    assert np.sort(lines(ax)["width"])[-2] < lines(ax)["width"].max() / 2


def test_huge_estimates_and_limits_set_no_scale_of_intervals():
    table = pd.DataFrame(
        {
            "first": list("aaab"),
            "second": list("bcdc"),
            "weight": [35.0, 0.5, -0.8, -np.inf],
            "lower": [-300.0, -0.1, -1.5, np.nan],
            "upper": [400.0, 1.1, -0.2, np.nan],
        }
    )
    ax = plots.plot_intervals(table, ax=Figure().subplots())
    assert -2 < ax.get_xlim()[0] < -1.5
    assert 1.1 < ax.get_xlim()[1] < 1.5
    assert {text.get_text().strip() for text in ax.texts} == {"+35", "−∞"}
    assert "limit is beyond the scale" in words(ax)


def test_differences_are_adjusted_for_their_number(boot):
    found = boot.difference()
    assert len(found) == 105
    np.testing.assert_allclose(found["pvalue_adj"], false_discovery_control(found["pvalue"]))
    assert (found["pvalue_adj"] > found["pvalue"]).any()
    assert "pvalue_adj" not in boot.difference(adjust=None)
    assert not np.isinf(found[["lower", "upper"]]).any(axis=None)
