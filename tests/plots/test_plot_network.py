"""Networks around features and of labels: what lines, marks and legends say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from pictures import AWKWARD, drawn_texts, edges, fit, simulate

import isingmlc as im
from isingmlc import plots
from isingmlc.exceptions import DataError
from isingmlc.plots.style import DASHED, DOTTED, LOWERS, RAISES, SOLID, UNTESTED


@pytest.fixture(scope="module")
def separated():
    """Return a fit in which one label is determined and pairs of labels never meet."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 3))
    labels = pd.DataFrame((rng.random((400, 4)) < 0.4).astype(int), columns=list("abcd"))
    labels.loc[labels["a"] == 1, "b"] = 0
    labels["none"] = (~labels.any(axis=1)).astype(int)
    with pytest.warns(im.exceptions.SeparationWarning):
        return im.IsingModel(labels, x).fit()


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def spokes(ax):
    """Return the lines that begin in the centre, in the order of the labels."""
    return [
        line for line in ax.lines if len(line.get_xdata()) == 2 and not line.get_xydata()[0].any()
    ]


def dashes(line):
    """Return the pattern of a line, without its width."""
    offset, pattern = line._unscaled_dash_pattern
    return (offset, tuple(pattern or ()))


def ties(ax):
    """Return a table of the lines between labels: colour, width and pattern."""
    (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
    patterns = [tuple(pattern or ()) for _, pattern in lines._us_linestyles]
    colors = [to_hex(color).upper() for color in lines.get_colors()]
    return pd.DataFrame({"color": colors, "width": lines.get_linewidths(), "pattern": patterns})


# Edges of a feature


def test_edges_show_statistic_direction_and_significance():
    tests = edges("example")
    ax = fit("example").plot_network("exercise_hours", edges=tests)
    adjusted = tests.to_frame().set_index(["feature", "label"])["pvalue_adj"]["exercise_hours"]
    lines = spokes(ax)
    assert len(lines) == 6
    for line, label in zip(lines, tests.label_names, strict=True):
        sign = tests.signs.loc["exercise_hours", label]
        assert line.get_color() == (RAISES if sign > 0 else LOWERS)
        assert dashes(line) == (SOLID if adjusted[label] <= 0.05 else DASHED)
    statistic = tests.statistics.loc["exercise_hours"]
    widths = pd.Series([line.get_linewidth() for line in lines], statistic.index)
    assert widths.corr(np.sqrt(statistic)) == pytest.approx(1)
    written = [text.get_text() for text in ax.texts]
    marks = tests.signs.loc["exercise_hours"].map({1.0: "▲", -1.0: "▼"})
    for label in tests.label_names:
        assert f"{marks[label]} {statistic[label]:.1f}" in written


def test_the_level_and_the_adjustment_decide_what_is_significant():
    def solid(**options):
        ax = plots.plot_network(fit("example"), "bmi", edges=edges("example"), **options)
        return sum(dashes(line) == SOLID for line in spokes(ax))

    pvalue = edges("example").pvalues.loc["bmi"]
    assert solid(adjust=None, alpha=0.4) == (pvalue <= 0.4).sum() > solid(adjust="bonferroni")


def test_edges_that_are_not_significant_can_be_left_out():
    ax = plots.plot_network(
        fit("example"), "exercise_hours", edges=edges("example"), insignificant="hide"
    )
    (line,) = spokes(ax)
    assert dashes(line) == SOLID
    assert sum("▲" in text.get_text() or "▼" in text.get_text() for text in ax.texts) == 1
    assert "edges not drawn: p > 0.05, fdr_bh" in legend_texts(ax)


def test_edges_that_cannot_be_tested_are_grey_and_the_legend_says_why(separated):
    ax = separated.plot_network("x1")
    grey = [line for line in spokes(ax) if line.get_color() == UNTESTED]
    assert len(grey) == 1
    assert dashes(grey[0]) == DOTTED
    assert "not tested: determined-label" in legend_texts(ax)


def test_statistics_stand_beside_the_names_when_edges_have_no_room():
    tests = edges("many labels")
    ax = fit("many labels").plot_network("x1", edges=tests)
    statistic = tests.statistics.loc["x1"]
    texts = [text.get_text() for text in ax.texts]
    for label in tests.label_names:
        number = f"{statistic[label]:.{0 if statistic[label] >= 99.95 else 1}f}"
        assert any(text.startswith(label) and text.endswith(number) for text in texts)


@pytest.mark.parametrize("n_labels", [1, 2, 3])
@pytest.mark.parametrize("layout", ["circle", "cluster", "spring"])
def test_few_labels_are_drawn_too(n_labels, layout):
    results = simulate([f"y{number}" for number in range(n_labels)], n=200)
    ax = results.plot_network("x1", layout=layout)
    assert len(spokes(ax)) == n_labels
    texts = drawn_texts(ax.figure)
    assert {f"y{number}" for number in range(n_labels)} <= {t.split()[0] for t, _ in texts}
    results.plot_label_network(layout=layout)


# Several features


def test_networks_side_by_side_share_layout_and_scale():
    tests = edges("example")
    axes = fit("example").plot_networks(["age", "bmi", "exercise_hours", "pets"], edges=tests)
    assert axes.shape == (4,)
    axes[0].figure.canvas.draw()
    places = [
        {
            text.get_text(): text.get_position()
            for text in ax.texts
            if text.get_text() in tests.label_names
        }
        for ax in axes
    ]
    assert len(places[0]) == 6
    assert all(place == places[0] for place in places)
    # One unit has the same pixels, and a statistic the same width, in all of them.
    units = [np.ptp(ax.transData.transform([(0, 0), (1, 0)])[:, 0]) for ax in axes]
    np.testing.assert_allclose(units, units[0])
    width = [line.get_linewidth() for ax in axes for line in spokes(ax)]
    root = (
        np.sqrt(tests.statistics.loc[["age", "bmi", "exercise_hours", "pets"]]).to_numpy().ravel()
    )
    assert np.corrcoef(width, root)[0, 1] == pytest.approx(1)
    assert len(axes[0].figure.legends) == 1


def test_extremes_are_the_most_and_the_least_important_feature():
    axes = fit("example").plot_networks()
    importance = edges("example").importance
    for ax, name in zip(axes, (importance.idxmax(), importance.idxmin()), strict=True):
        assert f"of {name} (" in ax.get_title()


def test_networks_are_drawn_on_given_axes_with_a_legend_each():
    given_axes = Figure(figsize=(11, 5)).subplots(1, 2, sharex=True, sharey=True)
    axes = fit("example").plot_networks(["age", "bmi"], axes=given_axes)
    assert list(axes) == list(given_axes)
    assert legend_texts(axes[0]) == legend_texts(axes[1])


# Wrong input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature": "smokr"}, "feature must be .* but is 'smokr'. Did you mean 'smoker'"),
        ({"feature": "qqq"}, "There are 'age', 'female'"),
        ({"feature": 3}, "feature must be the name of a feature, but is 3"),
        ({"alpha": 0}, "alpha must be a finite number above 0 and below 1, but is 0"),
        ({"alpha": 2}, "alpha must be a finite number above 0 and below 1, but is 2"),
        ({"adjust": "half"}, "adjust must be one of"),
        ({"layout": "square"}, "layout must be one of 'circle', 'cluster', 'spring'"),
        ({"insignificant": "blue"}, "insignificant must be one of 'dashed', 'hide'"),
        ({"min_weight": -1}, "min_weight must not be negative"),
        ({"min_weight": "high"}, "min_weight must be a finite number"),
    ],
)
def test_network_refuses_what_is_out_of_range(options, message):
    with pytest.raises(DataError, match=message):
        fit("example").plot_network(**{"feature": "age", **options})


def test_networks_refuse_no_features_and_too_few_axes():
    with pytest.raises(DataError, match="features must name at least one feature"):
        fit("example").plot_networks([])
    with pytest.raises(
        DataError, match="axes must hold one Axes per feature, 2 in all, but holds 3"
    ):
        fit("example").plot_networks(["age", "bmi"], axes=Figure().subplots(1, 3))


def test_tests_of_other_labels_are_refused():
    with pytest.raises(DataError, match="edges must be tests of the labels of the fit"):
        fit("example").plot_network("x1", edges=edges("long names"))


def test_tests_that_are_given_other_covariates_are_refused():
    message = "edges must be tests given the covariates of the fit, 'age', .* are none. Take them"
    with pytest.raises(DataError, match=message):
        fit("covariates").plot_network("bmi", edges=edges("example"))
    with pytest.raises(DataError, match="of the fit, none, but those of edges are 'age', 'sex'"):
        fit("example").plot_networks(["bmi"], edges=edges("covariates"))


def test_a_fit_without_features_says_so():
    results = im.IsingModel(im.datasets.load_example().labels).fit()
    with pytest.raises(im.exceptions.IsingError, match="feature"):
        results.plot_network("age")


# Labels


def test_interactions_show_sign_and_strength():
    names = list("abcd")
    weights = pd.DataFrame(0.0, names, names)
    for first, second, weight in (("a", "b", 2.0), ("b", "c", -1.0), ("c", "d", 0.5)):
        weights.loc[first, second] = weights.loc[second, first] = weight
    ax = plots.plot_label_network(weights)
    lines = ties(ax)
    # Weak ones are drawn first.
    assert lines["width"].tolist() == pytest.approx([0.5 + 3.5 * share for share in (0.25, 0.5, 1)])
    assert lines["color"].tolist() == [RAISES, LOWERS, RAISES]
    assert [pattern == SOLID[1] for pattern in lines["pattern"]] == [True, False, True]
    assert ax.get_title() == "Interactions of 4 labels (3 of 6 pairs)"


def test_a_smallest_weight_leaves_out_weak_interactions():
    results = fit("example")
    strong = int((results.interactions.abs() > 0.5).to_numpy().sum() / 2)
    ax = results.plot_label_network(min_weight=0.5)
    assert ax.get_title() == f"Interactions of 6 labels ({strong} of 15 pairs above 0.5)"
    assert f"interactions not drawn: {15 - strong} weaker" in legend_texts(ax)


def test_infinite_and_unidentified_interactions_are_drawn_capped_or_counted():
    names = [AWKWARD, "b", "c", "d"]
    weights = pd.DataFrame(0.0, names, names)
    for (first, second), weight in {
        (0, 1): -np.inf,
        (0, 2): np.inf,
        (1, 2): 9.0,
        (2, 3): np.nan,
    }.items():
        weights.iloc[first, second] = weights.iloc[second, first] = weight
    ax = plots.plot_label_network(weights, pd.Series([-np.inf, 0.0, np.inf, np.nan], names))
    ax.figure.canvas.draw()
    lines = ties(ax)
    dotted = lines[lines["pattern"] == DOTTED[1]]
    assert set(dotted["color"]) == {RAISES, LOWERS}
    assert len(dotted["width"].unique()) == 1
    assert len(lines) == 3
    texts = legend_texts(ax)
    assert "interaction −∞ (separated labels)" in texts
    assert "interaction +∞ (separated labels)" in texts
    assert "interactions not drawn: 1 unidentified" in texts
    sizes = [line.get_markersize() for line in ax.lines if line.get_marker() == "o"]
    assert sizes[0] < sizes[1] < sizes[2]
    assert sizes[3] == sizes[0]


@pytest.mark.parametrize("layout", ["circle", "cluster", "spring"])
def test_a_separated_fit_has_a_picture(separated, layout):
    assert np.isinf(separated.interactions.to_numpy()).any()
    separated.plot_label_network(layout=layout).figure.canvas.draw()
    separated.plot_network("x1", layout=layout).figure.canvas.draw()


def test_interactions_must_be_square():
    with pytest.raises(DataError, match="interactions must have the same labels in rows and col"):
        plots.plot_label_network(fit("example").interactions.iloc[:3])


# Places


def test_a_network_without_a_feature_says_what_draws_the_labels():
    res = im.IsingModel(im.datasets.load_example()).fit()
    with pytest.raises(im.exceptions.DataError, match=r"plot_network\('age'\).*plot_label_network"):
        res.plot_network()


# How networks are to look


def nodes_of(ax):
    """Return the nodes of a picture of labels, in their order."""
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    return [(*line.get_xydata()[0], line.get_markersize(), line.get_color()) for line in marks]


def test_communities_have_colors_and_a_legend():
    results = fit("example")
    communities = ["body", "body", "mind", "body", "mind", "body"]
    ax = results.plot_label_network(communities=communities, colors={"mind": "red"})
    colors = [color for *_, color in nodes_of(ax)]
    assert [colors[at] == "#ff0000" for at in range(6)] == [name == "mind" for name in communities]
    assert len(set(colors)) == 2
    assert {"body", "mind"} <= set(legend_texts(ax))
    around = results.plot_network("bmi", communities=communities, colors={"mind": "red"})
    assert sum(color == "#ff0000" for *_, color in nodes_of(around)) == 2


def test_display_names_stand_for_names():
    results = fit("example")
    names = {"hypertension": "High blood pressure", "bmi": "Body mass index"}
    ax = results.plot_network("bmi", names=names)
    assert ax.get_title().startswith("Score statistics of Body mass index")
    texts = {" ".join(text.get_text().split()) for text in ax.texts}
    assert {"High blood pressure", "Body mass index"} <= texts
    assert not {"hypertension", "bmi"} & texts


def test_sizes_of_nodes_mean_what_was_asked_for():
    results = fit("example")
    sizes = {
        name: np.array(
            [size for *_, size, _ in nodes_of(results.plot_label_network(node_size=how))]
        )
        for name, how in {
            "prevalence": "prevalence",
            "strength": "strength",
            "given": results.centrality()
            .query("measure == 'strength'")
            .set_index("label")["value"],
            "none": None,
        }.items()
    }
    prevalence = results.diagnostics["prevalence"].to_numpy()
    assert (np.argsort(sizes["prevalence"]) == np.argsort(prevalence)).all()
    np.testing.assert_allclose(sizes["strength"], sizes["given"])
    assert set(sizes["none"]) == {8.0}


def test_a_picture_has_the_places_of_another():
    results = fit("example")
    first = results.plot_label_network(layout="cluster")
    second = results.plot_label_network(layout=first, communities=list("aabbcc"))
    np.testing.assert_allclose(
        [node[:2] for node in nodes_of(first)], [node[:2] for node in nodes_of(second)]
    )
    around = results.plot_network("bmi", layout=first, node_size=None)
    labels = [node[:2] for node in nodes_of(around)]
    np.testing.assert_allclose(labels, [node[:2] for node in nodes_of(first)])


def sparse_pair():
    """Return two networks of the same labels, one with labels that nothing ties."""
    names = ["concentration", "slowed", "fatigue", "sleep", "appetite", "guilt", "suicidal"]
    one, other = (pd.DataFrame(0.0, names, names) for _ in range(2))
    for at in range(6):
        one.iloc[at, at + 1] = one.iloc[at + 1, at] = 1.0 + at / 10
        other.iloc[at, at + 1] = other.iloc[at + 1, at] = -0.3 if at < 3 else 0.0
    return one, other


@pytest.mark.parametrize("layout", ["spring", "circle", "cluster"])
def test_nodes_stand_in_the_very_same_places_beside_each_other(layout):
    axes = Figure(figsize=(11, 5), layout="constrained").subplots(1, 2)
    one, other = sparse_pair()
    plots.plot_label_network(one, layout=layout, ax=axes[0], title="a longer\ntitle")
    # A scale less, so the legend is lower.
    plots.plot_label_network(other, layout=axes[0], ax=axes[1])
    first, second = ([node[:2] for node in nodes_of(ax)] for ax in axes)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(axes[0].get_xlim(), axes[1].get_xlim())
    np.testing.assert_allclose(axes[0].get_ylim(), axes[1].get_ylim())


def test_networks_share_a_scale():
    names = list("abc")
    weak = pd.DataFrame(0.2 * (1 - np.eye(3)), names, names)
    widths = [
        ties(plots.plot_label_network(weights, max_weight=2.0))["width"].max()
        for weights in (weak, 10 * weak)
    ]
    assert widths == pytest.approx([0.5 + 3.5 * 0.1, 4.0])
    texts = legend_texts(plots.plot_label_network(weak, max_weight=2.0))
    assert {"± 1", "± 2"} <= set(texts)


def test_interactions_are_written_on_their_lines():
    names = list("abcd")
    weights = pd.DataFrame(0.0, names, names)
    for first, second, weight in (("a", "b", 1.234), ("b", "c", -0.5), ("c", "d", np.inf)):
        weights.loc[first, second] = weights.loc[second, first] = weight
    ax = plots.plot_label_network(weights, edge_labels=True, title="A $title_1$")
    assert {"1.23", "−0.50", "+∞"} <= {text.get_text() for text in ax.texts}
    assert ax.get_title() == "A $title_1$"


def test_several_networks_have_one_title_above_them():
    axes = fit("example").plot_networks(["bmi", "age", "smoker", "pets"], title="Four")
    assert axes[0].figure.get_suptitle() == "Four"
    assert "bmi" in axes[0].get_title()
    # Two by two.
    assert len({ax.get_position().y0 for ax in axes}) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"comunities": "ab"}, "not drawn by an argument 'comunities'. Did you mean communities"),
        ({"names": {"flu": "Flu"}}, "names must be for what is drawn, but has 'flu'"),
        ({"colors": {"asthma": "no colour"}}, "colors must hold colours of matplotlib"),
        ({"names": ["a", "b"]}, "names must map labels .* each of the 6 labels"),
        ({"colors": "red"}, "colors must map labels .* but is 'red'"),
        ({"layout": {"asthma": (0, 1)}}, "layout must have a place for every label"),
        ({"layout": dict.fromkeys(im.datasets.load_example().labels, "x")}, "pair of finite"),
        ({"layout": Figure().subplots()}, "nothing was drawn on these axes"),
        ({"layout": 3}, "layout must be one of"),
        ({"node_size": "weight"}, "node_size must be one of 'alone', 'prevalence', 'strength'"),
        ({"node_size": 3}, "node_size must be one of .* is of type int"),
        ({"node_size": {"asthma": 1}}, "node_size must have every label"),
        ({"max_weight": 0}, "max_weight"),
        ({"edge_labels": "yes"}, "edge_labels must be one of True, False"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_looks_that_do_not_fit_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        fit("example").plot_label_network(**options)
