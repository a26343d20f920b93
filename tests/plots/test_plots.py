"""Pictures of tests, rankings and fits: what they show, and that all of them can be read."""

import io
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.testing.compare import compare_images
from pictures import (
    AWKWARD,
    BASELINES,
    CASES,
    IMAGES,
    PICTURES,
    adjusted_model,
    edges,
    overlapping,
    path,
    ranking,
    roc,
    save,
    texts_of,
)
from PIL import Image
from scipy.stats import beta

import isingmlc as im
from isingmlc import plots
from isingmlc.exceptions import DataError, DataWarning, ModelError

FIT_WARNINGS = "ignore::isingmlc.exceptions.IsingWarning"


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# What holds for all pictures


@pytest.mark.parametrize(
    ("name", "case"),
    [
        (name, case)
        for case in CASES
        for name in PICTURES
        # These do not show labels.
        if case in ("example", "covariates") or name not in ("qq", "roc", "selection")
    ],
)
def test_no_text_overlaps_another_or_leaves_the_figure(name, case):
    texts, (width, height) = texts_of(name, case)
    assert len(texts) > 3
    assert not overlapping(texts)
    outside = [
        text
        for text, box in texts
        if min(box.x0, box.y0) < -0.5 or box.x1 > width + 0.5 or box.y1 > height + 0.5
    ]
    assert not outside


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_take_axes_and_leave_the_settings_of_matplotlib_alone(name):
    before = mpl.rcParams.copy()
    ax = Figure(figsize=(7, 6), layout="constrained").subplots()
    assert PICTURES[name]("example", ax) is ax
    ax.figure.canvas.draw()
    assert ax.get_title()
    assert not plt.get_fignums()
    assert mpl.rcParams == before


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_say_which_covariates_they_are_given(name):
    ax = PICTURES[name]("covariates")
    said = legend_texts(ax)[0] if name == "roc" else ax.get_title()
    assert "given age, sex" in said
    # All of them, or how many more.
    assert any(word in said.replace("\n", " ") for word in (", urban", " more covariates"))
    plain = PICTURES[name]("example")
    assert "given" not in (legend_texts(plain)[0] if name == "roc" else plain.get_title())


def test_networks_at_values_say_which_other_covariates_they_are_given():
    data = im.datasets.load_example()
    features = data.features
    res = im.IsingModel(data.labels, covariates=features[["age", "female"]]).fit()
    assert [ax.get_title() for ax in res.plot_at({"age": [30, 70]})] == [
        "age = 30\ngiven female",
        "age = 70\ngiven female",
    ]
    alone = res.at({"age": 30, "female": 1})
    assert alone.at_means == ()
    assert alone.plot().get_title() == "Interactions of 6 labels at age = 30, female = 1"


def test_sparse_networks_with_covariates_say_so():
    net = adjusted_model().fit_regularized()
    assert "\ngiven age, sex," in net.plot_label_network().get_title()
    assert net.to_networkx().graph["adjusted_for"].startswith("age, sex, ")


@pytest.mark.parametrize("name", ["network", "spring network"])
def test_the_same_picture_is_drawn_twice(name):
    drawn = []
    for _ in range(2):
        file = io.BytesIO()
        PICTURES[name]("long names").figure.savefig(file, dpi=40)
        drawn.append(file.getvalue())
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("name", PICTURES)
def test_what_is_no_axes_is_refused(name):
    with pytest.raises(DataError, match="ax must be matplotlib Axes, but is of type Figure"):
        PICTURES[name]("example", Figure())


@pytest.mark.parametrize(
    "name", ["network", "spring network", "label network", "heatmap", "diagnostics"]
)
def test_names_are_shown_as_they_stand(name):
    joined = "".join("".join(text.split()) for text, _ in texts_of(name, "long names")[0])
    assert AWKWARD in joined
    assert "_migraine_with_aura" in joined


def compare_with_baseline(name, drawn):
    """Return None, or a sentence about how a picture differs from its baseline."""
    baseline = IMAGES / f"{name}.png"
    # Letters are drawn otherwise by each series of matplotlib, so pictures are compared within it.
    with Image.open(baseline) as image:
        series = re.search(r"(\d+\.\d+)\.", image.text["Software"])[1]
    if not mpl.__version__.startswith(f"{series}."):
        pytest.skip(
            f"baselines are of matplotlib {series}: draw them with python tests/pictures.py"
        )
    return compare_images(str(baseline), str(drawn), tol=6)


@pytest.mark.parametrize("name", BASELINES)
def test_the_picture_is_as_it_was(name, tmp_path):
    assert compare_with_baseline(name, save(name, tmp_path)) is None


# Heat maps


def test_heatmap_shows_minus_log_p_in_the_order_of_importance():
    tests = edges("example")
    ax = plots.plot_heatmap(tests, top=7)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == list(tests.importance.sort_values(ascending=False).index[:7])
    np.testing.assert_allclose(ax.images[0].get_array(), -tests.log10_pvalues.loc[names])


def test_heatmap_marks_significant_edges_by_their_direction():
    tests = edges("example")
    ax = plots.plot_heatmap(tests, order="given", alpha=0.01, adjust="bonferroni")
    found = {
        shape: {
            (int(y), int(x))
            for line in ax.lines
            if line.get_marker() == shape
            for x, y in line.get_xydata()
        }
        for shape in "^v"
    }
    adjusted = tests.to_frame("bonferroni")["pvalue_adj"].to_numpy().reshape(30, 6)
    for shape, sign in (("^", 1), ("v", -1)):
        expected = np.argwhere((adjusted <= 0.01) & (tests.signs.to_numpy() == sign))
        assert found[shape] == {tuple(at) for at in expected.tolist()}
    assert any("p ≤ 0.01, bonferroni" in text for text in legend_texts(ax))


@pytest.mark.filterwarnings(FIT_WARNINGS)
def test_heatmap_hatches_what_could_not_be_tested_and_says_why():
    rng = np.random.default_rng(0)
    labels = np.eye(3, dtype=int)[rng.integers(3, size=200)]
    tests = im.IsingModel(labels, rng.normal(size=(200, 4))).fit().score_test()
    ax = plots.plot_heatmap(tests)
    hatched = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
    assert len(hatched) == tests.statistics.isna().to_numpy().sum() == 12
    assert "not tested: determined-label" in legend_texts(ax)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top must be a whole number of at least 1, but is 0"),
        ({"alpha": 1.0}, "alpha must be a finite number above 0 and below 1"),
        ({"order": "size"}, "order must be one of 'rank', 'cluster', 'given'"),
        ({"adjust": "twice"}, "adjust must be one of"),
    ],
)
def test_heatmap_refuses_what_is_out_of_range(options, message):
    with pytest.raises(DataError, match=message):
        plots.plot_heatmap(edges("example"), **options)


# Quantile plots


def test_qq_puts_sorted_p_values_against_uniform_quantiles():
    tests = edges("example")
    ax = plots.plot_qq(tests)
    expected, observed = ax.lines[1].get_data()
    np.testing.assert_allclose(expected, -np.log10((np.arange(1, 181) - 0.5) / 180))
    np.testing.assert_allclose(observed, np.sort(-tests.log10_pvalues.to_numpy().ravel())[::-1])


def test_the_band_of_qq_holds_the_central_part_of_each_order_statistic():
    ax = plots.plot_qq(edges("example"))
    vertices = ax.collections[0].get_paths()[0].vertices
    smallest = vertices[np.isclose(vertices[:, 0], -np.log10(0.5 / 180))][:, 1]
    expected = -np.log10(beta.ppf([0.975, 0.025], 1, 180))
    np.testing.assert_allclose([smallest.min(), smallest.max()], expected)


def test_qq_keeps_the_smallest_of_very_many_p_values():
    rng = np.random.default_rng(0)
    labels = (rng.random((300, 4)) < 0.4).astype(int)
    tests = im.IsingModel(labels, rng.normal(size=(300, 2000))).fit().score_test()
    observed = plots.plot_qq(tests).lines[1].get_ydata()
    best = np.sort(-tests.log10_pvalues.to_numpy().ravel())[::-1]
    assert len(observed) <= 5000 < best.size
    np.testing.assert_allclose(observed[:100], best[:100])
    assert observed[-1] == best[-1]


# Rankings


def test_bars_of_a_ranking_add_up_to_the_importance():
    ranked = ranking("example")
    ax = plots.plot_ranking(ranked, top=6)
    widths = np.zeros(6)
    for bar in ax.patches:
        widths[round(bar.get_y() + bar.get_height() / 2)] += bar.get_width()
    np.testing.assert_allclose(widths, ranked.importance[list(ranked.order[:6])])
    assert [text.get_text() for text in ax.get_yticklabels()] == list(ranked.order[:6])
    assert set(legend_texts(ax)) == set(edges("example").label_names)


def test_pairs_name_the_planted_pair_first():
    ranked = ranking("example", "products")
    ax = plots.plot_pairs(ranked, "deprivation_decile", top=5)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[0] == "depression × asthma"
    assert len(names) == 5
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, ranked.pairs.loc["deprivation_decile"].nlargest(5))


def test_pairs_need_a_ranking_with_pairs():
    with pytest.raises(ModelError, match=r"rank_features\(method='products'\)"):
        plots.plot_pairs(ranking("example"), "age")


def test_methods_of_rankings_draw_the_same_pictures():
    ranked = ranking("example", "products")
    assert ranked.plot(3).get_title() == "The 3 most important of 30 features (products)"
    assert "age" in ranked.plot_pairs("age").get_title()
    ax = ranked.roc(["age"]).plot(name="mine")
    assert legend_texts(ax) == [f"mine: AUC {ranked.roc(['age']).auc:.3f}"]


# ROC curves


def test_roc_curves_begin_at_zero_and_end_at_one():
    (_, curve) = plots.plot_roc(roc("example")).lines
    assert curve.get_xydata()[[0, -1]].tolist() == [[0, 0], [1, 1]]


# Selections


def test_selection_marks_the_chosen_size():
    ax = plots.plot_selection(path(), 9)
    assert ax.lines[0].get_xdata() == [9, 9]
    assert legend_texts(ax) == ["subset", "hamming", AWKWARD]
    marked = [line for line in ax.lines if line.get_markersize() == 9]
    assert [line.get_xdata()[0] for line in marked] == [9, 9, 9]


def test_selection_compares_rankings():
    tried = pd.concat([path().assign(method=name) for name in ("score", "l1")])
    ax = plots.plot_selection(tried, 4, measures=["subset"], by="method", winner="l1")
    assert legend_texts(ax) == ["score", "l1"]
    assert ax.get_ylabel() == "subset"
    assert sum(line.get_markersize() == 9 for line in ax.lines) == 1


@pytest.mark.parametrize(
    ("frame", "chosen", "options", "message"),
    [
        (path().drop(columns="size"), 1, {}, "path must have the column.s. 'size'"),
        (path(), 99, {}, "chosen must be one of the sizes of path"),
        (path(), 9, {"measures": ["accuracy"]}, "path must have the column.s. 'accuracy'"),
        (path()[["size"]], 9, {}, "path must have a column with a measure"),
        (pd.concat([path(), path()]), 9, {}, "path must have each size once"),
    ],
)
def test_selection_refuses_paths_without_what_is_drawn(frame, chosen, options, message):
    with pytest.raises(DataError, match=message):
        plots.plot_selection(frame, chosen, **options)


# Diagnostics


@pytest.mark.filterwarnings(FIT_WARNINGS)
def test_diagnostics_show_the_rows_that_carry_information():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame((rng.random((300, 4)) < 0.4).astype(int), columns=list("abcd"))
    labels.loc[labels["a"] == 1, "b"] = 0
    labels["e"] = 1 - labels["d"]
    results = im.IsingModel(labels).fit()
    ax = plots.plot_diagnostics(results)
    share = results.diagnostics["rows"] / 300
    tested = results.diagnostics["reason"] == "ok"
    drawn = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in ax.patches}
    assert drawn == pytest.approx(dict(enumerate(share[tested])))
    assert [text.get_text() for text in ax.texts] == ["determined-label"] * 2
    assert "rows that carry information: the others are certain" in legend_texts(ax)


# Names


def test_heat_maps_say_how_names_become_legible():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (400, 3))
    tests = im.IsingModel(labels, rng.normal(size=(400, 300))).fit().score_test()
    assert plots.plot_heatmap(tests).get_title().startswith("Score tests of the 40 most important")
    with pytest.warns(DataWarning, match=r"Draw fewer, e.g. top=40, or on axes of a figure of"):
        plots.plot_heatmap(tests, top=300)
