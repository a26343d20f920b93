"""Summaries: what is in them, that they are the same each time, and how they read."""

import html

import numpy as np
import pandas as pd
import pytest
from golden import load_data

import isingmlc as im
from isingmlc.exceptions import ModelError

pytestmark = pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")


def fitted(labels, features=None, **options):
    return im.IsingModel(labels, features).fit(**options)


def test_the_head_tells_what_was_fitted():
    res = fitted(*load_data("plain"))
    text = str(res.summary())
    words = " ".join(text.split())
    for expected in (
        "Ising Model Results",
        "Labels: 4",
        "Features: 6",
        "No. Observations: 400",
        "Labelsets: 16",
        "Method: nodewise",
        f"Log pseudo-likelihood: {res.llf:.4f}",
        f"AIC: {res.aic:.4f}",
        f"BIC: {res.bic:.4f}",
        "Converged: yes",
    ):
        assert expected in words
    assert "Notes" not in text


def test_every_label_has_a_table_with_its_coefficients():
    res = fitted(*load_data("plain"))
    text = str(res.summary())
    assert text.count("P>|z|") == 4
    row = next(line for line in text.splitlines() if line.startswith("y2"))
    numbers = [float(cell) for cell in row.split()[1:]]
    np.testing.assert_allclose(numbers, res.to_frame().loc[("y1", "y2")], atol=6e-4)
    lengths = {len(line) for line in text.splitlines()}
    assert lengths == {len(text.splitlines()[1])}


def test_many_labels_are_shortened_to_the_strongest():
    rng = np.random.default_rng(2)
    labels = rng.random((600, 50)) < rng.uniform(0.05, 0.4, 50)
    res = fitted(labels)
    text = str(res.summary())
    assert "The 20 strongest of 2450 label-label coefficients" in text
    assert len(text.splitlines()) < 60
    first = res.to_frame().query("term != 'const'")["z"].abs().idxmax()
    assert f"{first[0]} ~ {first[1]}" in text


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        (
            [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0]],
            "y3 is 1 exactly when no other label is: its edges cannot be tested.",
        ),
        (
            [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]],
            "y3 is 1 exactly when some other label is: its edges cannot be tested.",
        ),
        (
            [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]],
            "y1 is 1 exactly when y3 is: its edges cannot be tested.",
        ),
        (
            [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]],
            "y1 is 1 exactly when y3 is 0: its edges cannot be tested.",
        ),
        (
            [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]],
            "y3 is determined by the other labels: its edges cannot be tested.",
        ),
        ([[0, 0], [0, 1], [1, 0]], "y1 and y2 never occur together: the interaction runs to −inf."),
        ([[0, 1], [1, 0], [1, 1]], "Every row carries at least one label."),
        ([[0, 1], [1, 1]], "y2 is 1 in every row: its edges cannot be tested."),
        (
            [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]],
            "y1 is a linear function of y3.",
        ),
    ],
)
def test_what_needs_attention_is_said_in_sentences(labels, note):
    res = fitted(np.repeat(labels, 20, axis=0))
    assert note in res.summary().notes
    assert note.split()[0] in str(res.summary())


def test_rare_labels_and_dropped_rows_are_mentioned():
    labels, features = load_data("plain")
    labels = labels.assign(rare=np.arange(len(labels)) < 4)
    features.iloc[10:13, 0] = np.nan
    notes = im.IsingModel(labels, features, missing="drop").fit().summary().notes
    assert any(note.startswith("The rows say little about rare: information") for note in notes)
    assert "3 rows with missing values were dropped." in notes


def test_ridge_is_recommended_where_little_can_be_tested():
    labels = np.repeat(np.eye(5, dtype=int), 15, axis=0)
    recommended = "fit(penalty=1.0)"
    assert any(recommended in note for note in fitted(labels).summary().notes)
    assert not any(recommended in note for note in fitted(labels, penalty=1.0).summary().notes)
    assert not any(recommended in note for note in fitted(*load_data("separated")).summary().notes)


def test_the_same_fit_prints_the_same_text():
    labels, features = load_data("separated")
    one = fitted(labels, features).summary()
    two = fitted(labels.copy(), features.copy()).summary()
    for form in ("as_text", "as_html", "as_latex", "as_csv"):
        assert getattr(one, form)() == getattr(two, form)()


def test_names_are_escaped_in_html():
    labels, _ = load_data("plain")
    evil = "<script>f()</script>"
    res = fitted(labels.rename(columns={"y1": evil}))
    page = res._repr_html_()
    assert "<script>" not in page
    assert html.escape(evil) in page
    res = fitted(labels.assign(**{evil: 0}))
    assert "<script>" not in res._repr_html_()
    assert html.escape(evil) in res.summary().as_html()


def test_names_are_escaped_in_latex():
    labels, _ = load_data("plain")
    res = fitted(labels.assign(**{"a_b & c%": 0}))
    latex = res.summary().as_latex()
    assert r"\item a\_b \& c\% is 0 in every row" in latex
    assert r"\begin{enumerate}" in latex


def test_other_forms_hold_the_numbers():
    res = fitted(*load_data("plain"))
    summary = res.summary()
    number = f"{res.params.loc['y2', 'y1']:.4f}"
    for form in (summary.as_text(), summary.as_html(), summary.as_latex(), summary.as_csv()):
        assert number in form
    assert r"\begin{tabular}" in summary.as_latex()
    assert res._repr_html_() == summary.as_html()
    assert res.summary(alpha=0.1).as_text().count("0.95]") == 4


# Covariates


@pytest.fixture(scope="module")
def adjusted():
    """Return a fit with a numeric covariate and two categories."""
    labels, features = load_data("plain")
    rng = np.random.default_rng(5)
    covariates = pd.DataFrame(
        {
            "age": rng.normal(50, 10, len(labels)).round(),
            "sex": rng.choice(["f", "m"], len(labels)),
            "region": rng.choice(["north", "south", "west"], len(labels)),
        }
    )
    return im.IsingModel(labels, features, covariates=covariates).fit()


def test_covariates_stand_below_the_labels_and_in_the_head(adjusted):
    lines = adjusted.summary().as_text().splitlines()
    assert len({len(line) for line in lines}) == 1
    begin = next(at for at, line in enumerate(lines) if line.startswith("Adjusted for:"))
    assert lines[begin].split(":")[1].strip() == "age, sex, region"
    assert any(line.startswith("Cells:") for line in lines[:begin])
    table = [line.split()[0] for line in lines[begin + 4 : begin + 12]]
    columns = ["age", "sex[T.m]", "region[T.south]", "region[T.west]"]
    assert table == ["const", "y2", "y3", "y4", *columns]
    row = next(line for line in lines if line.startswith("sex[T.m]"))
    numbers = [float(cell) for cell in row.split()[1:]]
    np.testing.assert_allclose(numbers, adjusted.to_frame().loc[("y1", "sex[T.m]")], atol=6e-4)


def test_other_forms_say_what_is_adjusted_for(adjusted):
    summary = adjusted.summary()
    for form in (summary.as_html(), summary.as_latex(), summary.as_csv()):
        assert "Adjusted for:" in form
        assert "age, sex, region" in form
    assert "Adjusted for" not in fitted(*load_data("plain")).summary().as_csv()


@pytest.mark.parametrize("test", ["score", "wald", "lr"])
@pytest.mark.parametrize("products", [None, "joint", "given-joint"])
def test_tests_say_which_covariates_they_are_given(adjusted, test, products):
    edges = getattr(adjusted, f"{test}_test")(["x1", "x2"], products)
    assert edges.adjusted_for == edges.take("x2").adjusted_for == ("age", "sex", "region")
    assert edges[["x1"]].adjusted_for == edges.adjusted_for
    assert edges.note.startswith("tests are given the covariates age, sex, region")
    assert edges.null.endswith("the other labels and covariates")
    assert " 4 labels given age, sex, region, " in repr(edges)
    assert edges.loc["x1", "y1"].null == edges.null
    assert "Adjusted for:" in edges.summary().as_text()
    notes = edges.summary().notes
    assert any(note.startswith("Tests are given the covariates age, sex, reg") for note in notes)


def test_tables_and_graphs_of_tests_carry_the_covariates(adjusted, tmp_path):
    import networkx as nx

    edges = adjusted.score_test()
    assert set(edges.to_frame()["adjusted_for"]) == {"age, sex, region"}
    assert edges.to_csv().splitlines()[1].endswith(',"age, sex, region"')
    edges.to_graphml(tmp_path / "edges.graphml")
    graph = nx.read_graphml(tmp_path / "edges.graphml")
    assert graph.graph["adjusted_for"] == "age, sex, region"
    assert adjusted.to_networkx().graph["adjusted_for"] == "age, sex, region"
    plain = fitted(*load_data("plain"))
    assert "adjusted_for" not in plain.score_test().to_frame()
    assert plain.to_networkx().graph == {}
    assert plain.score_test().adjusted_for == ()


@pytest.mark.parametrize("method", ["score", "l1"])
def test_rankings_carry_the_covariates(adjusted, method):
    ranking = adjusted.rank_features(method)
    assert ranking.adjusted_for == ("age", "sex", "region")
    assert "6 features given age, sex, region: " in repr(ranking)
    assert set(ranking.to_frame()["adjusted_for"]) == {"age, sex, region"}
    assert "Adjusted for:" in ranking.summary().as_text()
    plain = fitted(*load_data("plain")).rank_features(method)
    assert "adjusted_for" not in plain.to_frame()


def test_a_joint_distribution_needs_values_of_the_covariates(adjusted):
    message = (
        "the network is adjusted for 'age', 'sex', 'region', and its thresholds .* Take the "
        r"network at some first: results.at\({'age': …}\)"
    )
    for ask in (adjusted.joint_distribution, lambda: im.simulate.distribution_of(adjusted)):
        with pytest.raises(ModelError, match=message):
            ask()
    with pytest.raises(ModelError, match="is adjusted for"):
        im.simulate.distribution_of(adjusted.model.fit_regularized())
    there = adjusted.at({"age": 50, "sex": "m"})
    assert there.joint_distribution().sum() == pytest.approx(1)
