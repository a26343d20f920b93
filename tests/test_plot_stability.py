"""Pictures of how sure a network is: what is drawn is in the tables."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import isingmlc as im
from isingmlc.exceptions import DataError
from isingmlc.plots import plot_intervals, plot_stability


@pytest.fixture(scope="module")
def res():
    return im.IsingModel(im.datasets.load_example().labels).fit()


def new_axes():
    return Figure(layout="constrained").subplots()


def test_intervals_are_those_of_the_table(res):
    table = res.network_table().sort_values("weight", ascending=False)
    ax = plot_intervals(res.network_table(), ax=new_axes())
    (lines,) = [each for each in ax.collections if hasattr(each, "get_segments")]
    segments = lines.get_segments()
    drawn = np.array([segment[:, 0] for segment in segments])
    np.testing.assert_allclose(drawn, table[["lower", "upper"]])
    marks = [each for each in ax.collections if not hasattr(each, "get_segments")]
    points = np.vstack([each.get_offsets() for each in marks])
    points = points[np.argsort(points[:, 1])]
    np.testing.assert_allclose(points[:, 0], table["weight"])
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == (table["first"] + " – " + table["second"]).tolist()
    clear = (table["lower"] > 0) | (table["upper"] < 0)
    assert len(marks[0].get_offsets()) == clear.sum()


def test_the_largest_are_drawn_and_others_counted(res):
    boot = res.bootstrap(20, random_state=0)
    ax = boot.plot(top=4, ax=new_axes())
    assert ax.get_title() == "The 4 largest of 15 estimates with their intervals"
    assert len(ax.get_yticklabels()) == 4


def test_what_is_not_finite_is_said():
    table = pd.DataFrame(
        {
            "label": list("abc"),
            "value": [1.0, -np.inf, np.nan],
            "lower": [0.5, np.nan, np.nan],
            "upper": [1.5, np.nan, np.nan],
        }
    )
    ax = plot_intervals(table, ax=new_axes())
    assert {text.get_text().strip() for text in ax.texts} == {"−∞", "not known"}


def test_tables_of_another_kind_are_refused(res):
    with pytest.raises(DataError, match="network_table"):
        plot_intervals(pd.DataFrame({"x": [1.0]}))
    with pytest.raises(DataError, match="one measure"):
        plot_intervals(res.centrality())
    with pytest.raises(DataError, match="top"):
        plot_intervals(res.network_table(), top=0)


def test_curves_are_those_of_the_table_and_cs_is_marked(res):
    drop = res.drop_cases(60, random_state=0)
    ax = plot_stability(drop, ax=new_axes())
    table, coefficients = drop.to_frame(), drop.cs_coefficient()
    curves = [line for line in ax.lines if len(line.get_xdata()) == 10]
    assert len(curves) == 3
    for line, (measure, levels) in zip(curves, table.groupby("measure", sort=False), strict=True):
        np.testing.assert_allclose(line.get_ydata(), levels["mean"])
        np.testing.assert_allclose(line.get_xdata(), levels["dropped"])
        said = [text.get_text() for text in ax.get_legend().get_texts()]
        name = measure.replace("_", " ")
        assert any(
            text.startswith(name) and f"{coefficients.loc[measure, 'cs']:.2f}" in text
            for text in said
        )
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "D"]
    np.testing.assert_allclose(marks, coefficients["cs"][coefficients["cs"] > 0])


def test_an_empty_network_is_drawn_without_marks():
    labels = np.random.default_rng(0).integers(0, 2, (100, 3))
    drop = im.IsingModel(labels).fit_regularized(lam=1.0).drop_cases(20, random_state=0)
    ax = drop.plot(ax=new_axes())
    assert not [line for line in ax.lines if line.get_marker() == "D"]
    assert "CS 0.00" in ax.get_legend().get_texts()[0].get_text()
