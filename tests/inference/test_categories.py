"""A categorical variable is one thing: its levels are compared with the reference level."""

import io

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import isingmlc as im
from isingmlc.commands.cli import main

LABELS = ["u", "v", "w"]
GIVEN = {"u": "v + w", "v": "u + w", "w": "u + v"}
LEVELS = ["a0", "b1", "c2", "d3"]


@pytest.fixture(scope="module")
def frame():
    """Rows in which the risk rises with the levels of x."""
    generator = np.random.default_rng(11)
    n_rows = 3000
    level = generator.integers(0, 4, n_rows)
    age = generator.normal(50, 10, n_rows)
    effect = np.array([0.0, 0.25, 0.6, 1.2])[level]
    labels = {}
    logit = -1 + effect + 0.02 * (age - 50)
    for name in LABELS:
        labels[name] = (generator.random(n_rows) < 1 / (1 + np.exp(-logit))).astype(int)
        logit = -1 + 0.5 * labels[name] + 0.5 * effect
    return pd.DataFrame(
        {
            **labels,
            "age": age,
            "x": np.array(LEVELS)[level],
            "z": generator.normal(size=n_rows),
            "sex": generator.choice(["m", "f"], n_rows),
            "code": level + 1,
            "site": generator.integers(0, 60, n_rows),
        }
    )


@pytest.fixture(scope="module")
def model(frame):
    return im.IsingModel.from_formula("u + v + w ~ C(x) + z + sex", frame, covariates="age")


@pytest.fixture(scope="module")
def results(model):
    return model.fit()


def glm(frame, label, more="C(x)", **options):
    formula = f"{label} ~ {GIVEN[label]} + age + {more}"
    return smf.glm(formula, frame, family=sm.families.Binomial()).fit(tol=1e-13, **options)


def effects_of_levels(edges):
    table = edges.to_frame(exponentiate=True).set_index(["feature", "label"])
    return table[table["term"] == "C(x)"]


def test_effects_of_levels_are_those_of_statsmodels(frame, results):
    table = effects_of_levels(results.score_test())
    for label in LABELS:
        expected = glm(frame, label)
        for level in LEVELS[1:]:
            row = table.loc[(f"x: {level} vs a0", label)]
            name = f"C(x)[T.{level}]"
            assert row["odds_ratio"] == pytest.approx(np.exp(expected.params[name]), rel=1e-6)
            limits = np.exp(expected.conf_int().loc[name])
            assert row[["lower", "upper"]].tolist() == pytest.approx(limits.tolist(), rel=1e-6)
            assert row["pvalue"] == pytest.approx(expected.pvalues[name], rel=1e-5)


@pytest.mark.parametrize(
    ("fit", "glm_options"),
    [
        ({"cov_type": "HC0"}, {"cov_type": "HC0"}),
        ({"groups": "site"}, {"cov_type": "cluster", "use_t": False}),
    ],
)
def test_errors_of_levels_are_of_the_kind_of_the_fit(frame, model, fit, glm_options):
    options = dict(glm_options)
    if "groups" in fit:
        fit = {"groups": frame["site"], "use_correction": False}
        options["cov_kwds"] = {"groups": frame["site"], "use_correction": False}
    table = model.fit(**fit).score_test().to_frame(conf_int=0.95).set_index(["feature", "label"])
    for label in LABELS:
        errors = glm(frame, label, **options).bse
        for level in LEVELS[1:]:
            found = table.loc[(f"x: {level} vs a0", label), "bse"]
            assert found == pytest.approx(errors[f"C(x)[T.{level}]"], rel=1e-6)


def test_the_test_of_a_term_is_that_of_statsmodels(frame, results):
    edges = results.score_test()
    assert edges.feature_names == ("C(x)", "z", "sex")
    dummies = pd.get_dummies(frame["x"], drop_first=True, dtype=float)
    for label in LABELS:
        null = glm(frame, label, "1")
        statistic, pvalue, df = null.model.score_test(null.params, exog_extra=dummies)
        expected = np.asarray(statistic).item()
        assert edges.statistics.loc["C(x)", label] == pytest.approx(expected, rel=1e-6)
        assert edges.pvalues.loc["C(x)", label] == pytest.approx(
            np.asarray(pvalue).item(), rel=1e-4
        )
        assert edges.df.loc["C(x)", label] == df == 3
    assert len(edges.to_frame()) == 3 * len(LABELS)


def test_single_columns_are_adjusted_for_the_rest_of_their_term(frame, results):
    edges = results.score_test(unit="column")
    wald = results.wald_test("x: d3 vs a0", unit="column")
    others = pd.get_dummies(frame["x"], dtype=float)[["b1", "c2"]]
    column = (frame["x"] == "d3").astype(float).to_frame()
    for label in LABELS:
        null = glm(frame.join(others), label, "b1 + c2")
        statistic = np.asarray(null.model.score_test(null.params, exog_extra=column)[0]).item()
        assert edges.statistics.loc["x: d3 vs a0", label] == pytest.approx(statistic, rel=1e-6)
        expected = glm(frame, label).tvalues["C(x)[T.d3]"] ** 2
        assert wald.statistics.loc["x: d3 vs a0", label] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("products", [None, "given"])
def test_effects_of_single_columns_are_adjusted_for_the_rest_of_their_term(
    frame, results, products
):
    edges = results.score_test(products=products, unit="column")
    table = edges.to_frame(exponentiate=True, refit=5)
    table = table[table["with"] == ""] if products else table
    table = table.set_index(["feature", "label"])
    for label in LABELS:
        expected = np.exp(glm(frame, label).params)
        for level in LEVELS[1:]:
            found = table.loc[(f"x: {level} vs a0", label), "odds_ratio"]
            assert found == pytest.approx(expected[f"C(x)[T.{level}]"], rel=1e-6)


@pytest.mark.parametrize("kind", ["text", "category", "ordered"])
def test_columns_of_a_frame_are_coded_as_a_formula_codes_them(frame, results, kind):
    features = frame[["x", "z", "sex"]]
    if kind != "text":
        dtype = pd.CategoricalDtype([*LEVELS, "never"], ordered=kind == "ordered")
        features = features.astype({"x": dtype})
    found = im.IsingModel(frame[LABELS], features, covariates=frame[["age"]]).fit()
    edges, expected = found.score_test(), results.score_test()
    assert edges.feature_names == ("x", "z", "sex")
    np.testing.assert_allclose(edges.statistics, expected.statistics, rtol=1e-9)
    np.testing.assert_array_equal(edges.df, expected.df)
    rows, wanted = edges.to_frame(exponentiate=True), expected.to_frame(exponentiate=True)
    assert "sex: m vs f" in set(rows["feature"])
    np.testing.assert_allclose(rows["odds_ratio"], wanted["odds_ratio"], rtol=1e-5)


def test_the_reference_is_the_first_level_of_a_category(frame):
    dtype = pd.CategoricalDtype(LEVELS[::-1])
    model = im.IsingModel(frame[LABELS], frame[["x"]].astype({"x": dtype}))
    assert model.terms["x"] == ("x: c2 vs d3", "x: b1 vs d3", "x: a0 vs d3")


def test_missing_categories_are_missing(frame):
    features = frame[["x", "z"]].copy()
    features.loc[:9, "x"] = None
    with pytest.raises(im.exceptions.DataError, match="missing values in 10 row"):
        im.IsingModel(frame[LABELS], features)
    with pytest.warns(im.exceptions.DataWarning, match="10 of 3000 rows"):
        model = im.IsingModel(frame[LABELS], features, missing="drop")
    assert model.nobs == 2990


def test_terms_are_ranked_selected_drawn_and_shown_whole(frame, results):
    model = im.IsingModel(frame[LABELS], frame[["x", "z", "sex"]], covariates=frame[["age"]])
    assert im.rank_features(model).order[0] == "x"
    assert im.rank_features(model, method="forward").top(1) == ("x",)
    chosen = im.select_features(model, alpha=0.05)
    assert chosen.selected == ("x",)
    assert chosen.columns == tuple(f"x: {level} vs a0" for level in LEVELS[1:])
    predicted = chosen.predict(frame.head(5), frame.head(5))
    assert predicted.shape == (5, 3)
    boot = results.bootstrap(5, features=True, random_state=0)
    assert set(boot.ranks()["feature"]) == {"C(x)", "z", "sex"}
    forest = results.score_test().plot_forest(label="u")
    names = [text.get_text() for text in forest.get_yticklabels()]
    assert {"x: b1 vs a0", "x: c2 vs a0", "x: d3 vs a0", "sex: m vs f"} <= set(names)
    assert "C(x)" not in names
    text = results.score_test().summary(top=2, exponentiate=True).as_text()
    assert text.index("C(x)") < text.index("x: b1 vs a0") < text.index("x: d3 vs a0")
    assert "nan" not in text


def test_products_of_a_category_are_those_of_its_columns(results):
    with pytest.raises(im.exceptions.DataError, match="unit='column'"):
        results.score_test(products="given")
    assert results.score_test("z", products="given").feature_names == ("z",)
    found = results.score_test("x: d3 vs a0", products="given", unit="column")
    assert found.statistics.notna().all(axis=None)


def test_effects_of_levels_need_rows(model):
    light = model.without_data().fit().score_test()
    rows = light.to_frame(exponentiate=True)
    assert set(rows.loc[rows["term"] == "C(x)", "estimate"]) == {"needs-rows"}


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_scan_tests_categories_whole(frame, results, tmp_path, ending):
    pytest.importorskip("ibis", reason="reads a file with DuckDB")
    columns = [*LABELS, "age", "x", "z", "sex"]
    path = tmp_path / f"survey{ending}"
    data = frame[columns].astype({"x": pd.CategoricalDtype(LEVELS[::-1])})
    data.to_parquet(path) if ending == ".parquet" else data.to_csv(path, index=False)
    stats, rows = im.scan(path, labels=LABELS, covariates="age", sample=5000, random_state=0)
    edges, expected = im.IsingModel.from_statistics(stats).fit().score_test(), results.score_test()
    assert edges.feature_names == ("x", "z", "sex: m vs f")
    np.testing.assert_allclose(edges.statistics, expected.statistics, rtol=1e-9)
    np.testing.assert_array_equal(edges.df, expected.df)
    drawn = im.IsingModel(rows[LABELS], rows[["x", "z", "sex"]], covariates=rows[["age"]])
    assert sum(drawn.terms.values(), ()) == stats.feature_names
    np.testing.assert_allclose(drawn.fit().score_test().statistics, edges.statistics, rtol=1e-9)


def test_a_scan_counts_rows_that_lack_a_category(frame, tmp_path):
    pytest.importorskip("ibis", reason="reads a file with DuckDB")
    data = frame[[*LABELS, "x", "z"]].copy()
    data.loc[:9, "x"] = None
    data.to_parquet(tmp_path / "survey.parquet")
    with pytest.raises(im.exceptions.DataError, match=r"missing values in 10 row.*'x'"):
        im.scan(tmp_path, labels=LABELS)
    with pytest.warns(im.exceptions.DataWarning, match="10 of 3000 rows"):
        stats = im.scan(tmp_path, labels=LABELS, missing="drop")
    assert stats.n_rows == 2990
    data["x"] = [f"person {at}" for at in range(3000)]
    data.to_parquet(tmp_path / "survey.parquet")
    with pytest.raises(im.exceptions.DataError, match="'x' looks like an identifier"):
        im.scan(tmp_path, labels=LABELS)


@pytest.mark.parametrize("how", ["--no-scan", "--scan"])
def test_the_command_says_how_variables_are_used(frame, results, tmp_path, capsys, how):
    pytest.importorskip("ibis", reason="reads a file with DuckDB")
    path = tmp_path / "survey.parquet"
    frame.drop(columns="site").to_parquet(path)
    arguments = ("test", str(path), "--labels", "u,v,w", "--covariates", "age", how)
    arguments = (*arguments, "--pvalue", "chi2", "--format", "csv")
    main([*arguments, "--drop", "x"])
    done = capsys.readouterr()
    assert "features used as categories, the reference level first: sex (f, m)" in done.err
    assert "used as numbers, with one effect per unit: code (1 to 4)" in done.err
    linear = pd.read_csv(io.StringIO(done.out)).set_index(["feature", "label"])
    assert linear.loc[("code", "u"), "df"] == 1
    main([*arguments, "--drop", "x", "--categories", "code"])
    done = capsys.readouterr()
    assert "sex (f, m), code (1, 2, 3, 4)" in done.err
    assert "used as numbers" not in done.err
    found = pd.read_csv(io.StringIO(done.out)).set_index(["feature", "label"])
    expected = results.score_test().statistics
    assert found.loc[("code", "u"), "statistic"] == pytest.approx(expected.loc["C(x)", "u"])
    assert found.loc[("code", "u"), "df"] == 3
    assert found.loc[("sex", "v"), "statistic"] == pytest.approx(expected.loc["sex", "v"])
