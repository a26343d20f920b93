"""Formula terms are ranked and selected as a whole."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import isingmlc as im
from isingmlc.sklearn import IsingClassifier

FORMULA = "a + b + c ~ x + noise + C(kind) + C(idle)"


@pytest.fixture(scope="module")
def frame():
    """Rows whose labels depend on x (a little) and on kind, and on no other column."""
    generator = np.random.default_rng(3)
    n_rows = 800
    kind = generator.integers(0, 4, n_rows)
    x = generator.standard_normal(n_rows)
    effect = np.array([-0.8, 0.0, 0.4, 0.9])[kind]
    labels = {
        name: (generator.random(n_rows) < 1 / (1 + np.exp(-(size * x + effect - 0.3)))).astype(int)
        for name, size in (("a", 0.35), ("b", 0.3), ("c", 0.0))
    }
    return pd.DataFrame(
        {
            **labels,
            "x": x,
            "noise": generator.standard_normal(n_rows),
            "kind": pd.Series(kind).map(dict(enumerate("pqrs"))),
            "idle": generator.integers(0, 30, n_rows),
        }
    )


@pytest.fixture(scope="module")
def model(frame):
    return im.IsingModel.from_formula(FORMULA, frame)


def made(model):
    """Return the columns that the formula made, as a frame."""
    return pd.DataFrame(model.data.features, columns=list(model.feature_names))


def test_statistics_of_terms_count_by_their_p_values(model):
    res = model.fit()
    ranking = res.rank_features(unit="term")
    edges = res.score_test(unit="term")
    assert ranking.feature_names == ("x", "noise", "C(kind)", "C(idle)")
    equal = stats.chi2.isf(stats.chi2.sf(edges.statistics, edges.arrays.df), 1)
    np.testing.assert_allclose(ranking.contributions, equal, rtol=1e-6)
    np.testing.assert_allclose(ranking.importance, equal.sum(axis=1), rtol=1e-6)
    pd.testing.assert_series_equal(ranking.pvalues, edges.feature_pvalues(), check_names=False)
    assert ranking.settings["unit"] == "term"
    assert "as a whole" in ranking.summary().as_text()


def test_an_idle_category_of_many_levels_does_not_come_first(model):
    res = model.fit()
    raw = res.score_test(unit="term").statistics.sum(axis=1)
    assert raw["C(idle)"] > raw["x"]
    ranking = res.rank_features(unit="term")
    assert set(ranking.top(2)) == {"C(kind)", "x"}
    assert ranking.select(alpha=0.05) == ranking.top(2)


@pytest.mark.parametrize("method", ["forward", "ssc"])
def test_an_idle_category_of_many_levels_is_not_picked_first(model, method):
    ranking = im.rank_features(model, method=method, unit="term")
    assert set(ranking.top(2)) == {"C(kind)", "x"}
    assert ranking.settings["unit"] == "term"
    assert "picked as a whole" in ranking.summary().as_text()


def test_validation_rows_choose_among_rankings_of_terms(model):
    sel = im.select_features(model, method="auto", unit="term", max_features=3, random_state=0)
    assert set(sel.path["method"]) == {"forward", "ssc"}
    assert set(sel.selected) <= set(model.terms)
    by_default = im.select_features(model, unit="term", max_features=3, random_state=0)
    assert by_default.method == "forward"
    first = im.rank_features(model, method="forward", unit="term", n_features=1)
    assert len(first.path) == 1


def test_terms_of_one_column_are_ranked_as_features(model):
    by_term = im.rank_features(model, unit="term", penalty=1.0)
    by_column = im.rank_features(model, penalty=1.0)
    for name in ("x", "noise"):
        pd.testing.assert_series_equal(
            by_term.contributions.loc[name], by_column.contributions.loc[name]
        )


def test_terms_of_clusters_have_their_p_values(frame):
    clusters = np.arange(len(frame)) % 40
    res = im.IsingModel.from_formula(FORMULA, frame, groups=clusters).fit()
    ranking, edges = res.rank_features(unit="term"), res.score_test(unit="term")
    expected = stats.chi2.isf(edges.pvalues.to_numpy(), 1)
    np.testing.assert_allclose(ranking.contributions, expected, rtol=1e-6)


def test_a_model_stands_for_its_data(frame):
    labels, features = frame[["a", "b", "c"]], frame[["x", "noise"]]
    model = im.IsingModel(labels, features)
    pd.testing.assert_frame_equal(
        im.rank_features(model, method="forward").to_frame(),
        im.rank_features(labels, features, method="forward").to_frame(),
    )
    options = {"max_features": 2, "random_state": 0}
    chosen = im.select_features(model, **options)
    expected = im.select_features(labels, features, **options)
    assert chosen.selected == expected.selected
    pd.testing.assert_frame_equal(chosen.path, expected.path)
    stats_alone = im.IsingModel.from_statistics(model.statistics)
    assert im.rank_features(stats_alone).order == im.rank_features(model).order


@pytest.mark.parametrize("cv", [None, 3])
def test_terms_are_selected_whole(frame, model, cv):
    sel = im.select_features(model, unit="term", max_features=4, cv=cv, random_state=0)
    assert sel.path["size"].tolist() == [1, 2, 3, 4]
    assert "C(kind)" in sel.selected
    assert [name for name in sel.columns if "kind" in name] == list(model.terms["C(kind)"])
    assert "of 4 terms" in repr(sel)
    assert f"{len(sel.selected)} of 4" in sel.summary().as_text()
    predicted = sel.predict(made(model))
    pd.testing.assert_frame_equal(predicted, sel.predict(made(model)[list(sel.columns)]))
    again = sel.classifier.predict(made(model)[list(sel.columns)].to_numpy())
    np.testing.assert_array_equal(predicted, again)
    assert sel.evaluate(frame[["a", "b", "c"]], made(model))["hamming"] > 0.55


def test_new_rows_are_predicted_from_the_columns_that_a_formula_mentions(frame):
    formula = "a + b + c ~ center(x) + bs(noise, df=4) + C(kind)"
    model = im.IsingModel.from_formula(formula, frame, covariates="C(idle > 15)")
    sel = im.select_features(model, unit="term", max_features=3, grid=[3], random_state=0)
    expected = sel.predict(made(model), frame)
    pd.testing.assert_frame_equal(sel.predict(frame, frame), expected)
    # What the formula learnt from all rows holds for a few, whatever their means and levels.
    few = frame.iloc[5:9]
    for each in (sel, pickle.loads(pickle.dumps(sel))):
        pd.testing.assert_frame_equal(each.predict(few, few), expected.iloc[5:9])
    measured = sel.evaluate(frame[["a", "b", "c"]], frame, frame)
    pd.testing.assert_series_equal(
        measured, sel.evaluate(frame[["a", "b", "c"]], made(model), frame)
    )
    with pytest.raises(im.exceptions.DataError, match="features of the formula cannot be made"):
        sel.predict(few.assign(kind="unknown"), few)
    with pytest.raises(im.exceptions.DataError, match=r"features lacks the column\(s\) 'kind'"):
        sel.predict(few.drop(columns="kind"), few)
    with pytest.raises(im.exceptions.DataError, match="features of the formula cannot be made"):
        sel.predict(few.assign(x=np.nan), few)


def test_a_formula_that_cannot_be_pickled_leaves_the_columns_that_it_makes(frame):
    functions = {"twice": lambda column: 2 * column}
    model = im.IsingModel.from_formula("a + b ~ functions['twice'](x) + noise", frame)
    assert set(functions) == {"twice"}
    sel = im.select_features(model, max_features=2, grid=[2], random_state=0)
    again = pickle.loads(pickle.dumps(sel))
    pd.testing.assert_frame_equal(again.predict(made(model)), sel.predict(frame))
    with pytest.raises(im.exceptions.ModelError, match="pass the columns that the formula makes"):
        again.predict(frame)


def test_sizes_of_terms_are_those_of_their_columns(frame, model):
    """The score of the first two terms is that of a classifier on all their columns."""
    rows = np.arange(len(frame))
    folds = [(rows[:500], rows[500:])]
    sel = im.select_features(model, unit="term", grid=[2], max_features=2, cv=folds)
    columns = [name for term in sel.ranking.top(2) for name in model.terms[term]]
    classifier = IsingClassifier(decode="subset")
    labels, features = frame[["a", "b", "c"]].to_numpy(), made(model)[columns].to_numpy()
    guess = classifier.fit(features[:500], labels[:500]).predict(features[500:])
    expected = (guess == labels[500:]).all(axis=1).mean()
    assert sel.path["subset"].tolist() == pytest.approx([expected])


def test_terms_are_selected_by_p_values_and_by_a_ranking(model):
    sel = im.select_features(model, unit="term", alpha=0.05)
    assert set(sel.selected) == {"x", "C(kind)"}
    assert len(sel.columns) == 4
    ranking = model.fit().rank_features(unit="term")
    by_ranking = im.select_features(model, unit="term", ranking=ranking, alpha=0.05)
    assert by_ranking.selected == sel.selected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "l1"}, "which method 'l1' cannot rank as one variable. Use one of 'score'"),
        ({"method": ["score", "oner"]}, "which method 'oner' cannot"),
        ({"unit": "feature"}, "unit must be"),
        (
            {"method": ("score", {"combine": "sum"}), "unit": "term"},
            "combine='sum' needs one score",
        ),
        ({"covariates": np.ones(800)}, "'covariates' cannot be given beside a model"),
        ({"intercept": False}, "'intercept' cannot be given beside a model"),
        ({"missing": "drop"}, "'missing' cannot be given beside a model"),
    ],
)
def test_what_cannot_be_is_said(model, arguments, message):
    with pytest.raises(im.exceptions.DataError, match=message):
        im.select_features(model, **arguments)


def test_a_ranking_is_of_what_is_selected(model):
    ranking = model.fit().rank_features(unit="column")
    with pytest.raises(im.exceptions.DataError, match="must be of the terms"):
        im.select_features(model, ranking=ranking)
    with pytest.raises(im.exceptions.DataError, match="method 'l1' cannot"):
        model.fit().rank_features("l1")
