"""Pictures of how sure a network is: what is drawn is in the tables."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

import isingmlc as im
from isingmlc.exceptions import DataError
from isingmlc.plots import (
    plot_centrality,
    plot_differences,
    plot_groups,
    plot_intervals,
    plot_stability,
    plot_uncertain_network,
)


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


def lines_of(ax):
    (lines,) = [each for each in ax.collections if hasattr(each, "get_segments")]
    return lines


def said_in(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_intervals_are_filtered(res):
    table = res.network_table()
    ax = plot_intervals(table, labels=["asthma"], ax=new_axes())
    assert len(ax.get_yticklabels()) == 5
    clear = (table["lower"] > 0) | (table["upper"] < 0)
    ax = plot_intervals(table, clear=True, ax=new_axes())
    assert len(ax.get_yticklabels()) == clear.sum()
    with pytest.raises(DataError, match="'gout' are not"):
        plot_intervals(table, labels=["gout"])
    with pytest.raises(DataError, match="nothing is left"):
        plot_intervals(table[~clear], clear=True)


def test_a_network_shows_what_draws_say(res):
    boot = res.bootstrap(40, random_state=0)
    table = boot.edges()
    ax = plot_uncertain_network(boot, ax=new_axes())
    lines = lines_of(ax)
    assert len(lines.get_segments()) == len(table) == 15
    order = table["sample"].abs().argsort(kind="stable")
    drawn = table.iloc[order]
    np.testing.assert_allclose(lines.get_colors()[:, 3], 0.12 + 0.73 * drawn["share"])
    widths = 0.5 + 3.5 * drawn["sample"].abs() / drawn["sample"].abs().max()
    np.testing.assert_allclose(lines.get_linewidths(), widths)
    broken = np.array([bool(style[1]) for style in lines.get_linestyles()])
    np.testing.assert_array_equal(broken, drawn["covers_zero"])
    assert "interval (95%) covers zero" in said_in(ax)
    found = boot.inclusion()
    sign = np.where(table["sample"] > 0, found["positive"], found["negative"])
    np.testing.assert_allclose(table["share"], sign)


def test_a_matrix_of_differences(res):
    boot = res.bootstrap(99, random_state=0)
    ax = plot_differences(boot, "strength", ax=new_axes())
    cells = ax.images[0].get_array()
    table = boot.difference("strength")
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert (
        names == boot.intervals("strength").sort_values("sample", ascending=False)["label"].tolist()
    )
    for row in table.itertuples():
        at = names.index(row.one), names.index(row.other)
        expected = 0 if row.pvalue_adj > 0.05 else 2 if row.difference > 0 else 1
        assert cells[at] == expected
        assert cells[at[::-1]] == (0, 2, 1)[expected]
    assert len(ax.texts) == 6
    few = plot_differences(boot, "pairs", top=4, ax=new_axes())
    assert few.images[0].get_array().shape == (4, 4)
    with pytest.raises(DataError, match="top"):
        boot.plot_differences(top=1)


def test_centralities_are_those_of_the_table(res):
    for table in (res.centrality(), res.bootstrap(20, random_state=0).centrality()):
        axes = plot_centrality(
            table, measures=["strength", "closeness"], axes=Figure().subplots(1, 2)
        )
        for ax, measure in zip(axes, ("strength", "closeness"), strict=True):
            names = [tick.get_text() for tick in ax.get_yticklabels()]
            own = table[table["measure"] == measure].set_index("label").loc[names]
            marks = [each for each in ax.collections if isinstance(each, PathCollection)]
            drawn = np.concatenate([each.get_offsets() for each in marks])
            np.testing.assert_allclose(drawn[np.argsort(drawn[:, 1]), 0], own["value"])
            known = own.dropna(subset="lower")
            limits = [segment[:, 0] for segment in lines_of(ax).get_segments()]
            np.testing.assert_allclose(np.reshape(limits, (-1, 2)), known[["lower", "upper"]])
    with pytest.raises(DataError, match="measures"):
        plot_centrality(res.centrality(), measures=["degree"])
    with pytest.raises(DataError, match="centrality"):
        plot_centrality(res.network_table())


def test_groups_are_drawn_on_one_scale():
    data = im.datasets.load_example()
    found = im.compare_networks(
        im.IsingModel(data.labels), data.features["smoker"], n_permutations=19, random_state=0
    )
    axes = plot_groups(found, axes=Figure(figsize=(15, 5)).subplots(1, 3))
    edges = found.edges
    apart = edges["weight_1"] - edges["weight_0"]
    largest = max(edges["weight_0"].abs().max(), edges["weight_1"].abs().max(), apart.abs().max())
    for ax, weight in zip(axes, (edges["weight_0"], edges["weight_1"], apart), strict=True):
        expected = np.sort(0.5 + 3.5 * weight.abs() / largest)
        np.testing.assert_allclose(np.sort(lines_of(ax).get_linewidths()), expected)
    assert "larger in 1" in said_in(axes[2])
    assert "adjusted p > 0.05" in said_in(axes[2])
    three = im.compare_networks(
        im.IsingModel(data.labels),
        np.arange(1500) % 3,
        n_permutations=2,
        random_state=0,
    )
    assert len(three.plot(axes=Figure().subplots(1, 3))) == 3


def test_infinite_limits_are_arrows_and_marks_follow_one_rule():
    table = pd.DataFrame(
        {
            "first": list("aaabb"),
            "second": list("bcdcd"),
            "sample": [2.0, 1.5, 1.0, 0.5, -1.0],
            "lower": [0.5, -np.inf, 0.2, np.nan, -np.inf],
            "upper": [np.inf, np.inf, 1.8, np.nan, -0.1],
        }
    )
    ax = plot_intervals(table, ax=new_axes())
    assert ax.get_xlabel() == "interaction"
    marks = [each for each in ax.collections if isinstance(each, PathCollection)]
    filled, hollow, crosses, left, right = (np.asarray(each.get_offsets()) for each in marks)
    assert filled[:, 0].tolist() == [2.0, 1.0, -1.0]
    assert hollow[:, 0].tolist() == [1.5]
    assert crosses[:, 0].tolist() == [0.5]
    low, high = ax.get_xlim()
    assert left.tolist() == [[low, 1], [low, 4]]
    assert right.tolist() == [[high, 0], [high, 1]]
    bars = next(each for each in ax.collections if isinstance(each, LineCollection))
    ends = {seg[0, 1]: seg[:, 0].tolist() for seg in bars.get_segments()}
    assert ends == {0: [0.5, high], 1: [low, high], 2: [0.2, 1.8], 4: [low, -0.1]}
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[2:] == ["no interval", "limit is infinite"]


def test_features_have_pictures_of_their_draws():
    data = im.datasets.load_example()
    res = im.IsingModel(data.labels, data.features[["age", "bmi"]]).fit()
    boot = res.bootstrap(20, features=True, random_state=0)
    ax = boot.plot("importance", ax=new_axes())
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["age", "bmi"]
    ax = boot.plot("statistics", top=3, ax=new_axes())
    assert all(" → " in tick.get_text() for tick in ax.get_yticklabels())
