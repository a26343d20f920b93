"""Code that messages suggest is run, as it stands in the message, on data of that kind."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.preprocessing

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError
from isingmlc.sklearn import IsingClassifier, IsingSelector

TRUTH = pd.DataFrame({"a": [1, 0, 1, 0, 1, 0, 0, 1], "b": [0, 1, 1, 0, 0, 1, 0, 1]})
NO, YES = 0, 1
# How no and yes are written; a value that says nothing of itself is explained by the reader.
CODINGS = {
    "1 yes, 2 no": ({NO: 2, YES: 1}, 1),
    "1 no, 2 yes": ({NO: 1, YES: 2}, 2),
    "-1/1": ({NO: -1, YES: 1}, None),
    "no/yes": ({NO: "no", YES: "yes"}, None),
    "No/YES": ({NO: "No", YES: "YES"}, None),
    "text 0/1": ({NO: "0", YES: "1"}, None),
    "text False/True": ({NO: "False", YES: "True"}, None),
    "nein/ja": ({NO: "nein", YES: "ja"}, "ja"),
    "text 1 yes, 2 no": ({NO: "2", YES: "1"}, "1"),
}


def suggested(message, yes):
    """Take the line of code out of a message; that for which `yes` means yes, if it has two."""
    lines = re.findall(r"labels\[.*?\] = labels.*?\.astype\(float\)", message)
    if yes is None:
        assert len(lines) == 1, message
        return lines[0]
    assert len(lines) == 2, message
    first, second = re.search(
        r"astype\(float\) if (.+?) means yes,.* if (.+?) does", message
    ).groups()
    return lines[(first, second).index(repr(yes))]


def follow(labels, yes, **options):
    """Do what messages say until the model is made."""
    labels = labels.copy()
    for _ in range(labels.shape[1] + 1):
        try:
            return labels, im.IsingModel(labels, **options)
        except DataError as error:
            exec(suggested(str(error), yes), {"labels": labels})
    raise AssertionError("the advice does not lead to a model")


@pytest.mark.parametrize("kind", ["object", "category"])
@pytest.mark.parametrize("name", CODINGS)
def test_suggested_recoding_is_right(name, kind):
    codes, yes = CODINGS[name]
    given = (
        TRUTH.replace({"b": codes}) if kind == "object" else TRUTH.assign(b=TRUTH["b"].map(codes))
    )
    given = given.astype({"b": kind}) if kind == "category" else given
    coded, _ = follow(given, yes)
    pd.testing.assert_frame_equal(coded, TRUTH, check_dtype=False)


@pytest.mark.filterwarnings("ignore:.*rows have missing values:isingmlc.exceptions.DataWarning")
@pytest.mark.parametrize("name", CODINGS)
def test_missing_answers_stay_missing(name):
    codes, yes = CODINGS[name]
    truth = TRUTH.astype(float)
    truth.loc[[1, 6], "a"] = np.nan
    truth.loc[2, "b"] = np.nan
    given = pd.DataFrame({column: truth[column].map(codes) for column in truth})
    coded, model = follow(given, yes, missing="drop")
    pd.testing.assert_frame_equal(coded, truth, check_dtype=False)
    assert model.nobs == 5


def test_more_than_two_values_get_no_code():
    for values in ([1, 2, 9, 1, 2, 9, 1, 2], list("abcabcab"), [0.2, 0.4, 0.1, 0.7, 0, 1, 1, 0]):
        with pytest.raises(DataError, match="which values mean 1 and which 0") as caught:
            im.IsingModel(TRUTH.assign(b=values))
        assert "labels[" not in str(caught.value)
        assert "missing answers missing" in str(caught.value)


def test_formula_with_text_labels():
    data = TRUTH.assign(b=TRUTH["b"].map({0: "nein", 1: "ja"}))
    with pytest.raises(DataError, match=r"I\(b == …\) with the category that means 1") as caught:
        im.IsingModel.from_formula("a + b ~ 1", data)
    term = re.search(r"I\(b == …\)", str(caught.value)).group().replace("…", "'ja'")
    data.loc[0, "b"] = None
    with pytest.warns(im.exceptions.DataWarning, match="1 of 8 rows"):
        model = im.IsingModel.from_formula(f"a + {term} ~ 1", data, missing="drop")
    assert (model.data.labels == TRUTH.iloc[1:].to_numpy()).all()


def test_no_argument_is_suggested_that_does_not_exist():
    data = im.datasets.load_example()
    labels, features = data.labels, data.features
    gaps = labels.astype(float)
    gaps.iloc[0, 0] = np.nan
    lacking = features.copy().astype(float)
    lacking.iloc[0] = np.nan
    results = im.IsingModel(labels).fit()
    choice = im.select_features(labels, features, alpha=0.05)
    calls = [
        lambda: results.predict(gaps),
        lambda: choice.predict(lacking),
    ]
    for call in calls:
        with pytest.raises(DataError, match="has missing values in 1 row") as caught:
            call()
        assert "missing='drop'" not in str(caught.value)
        assert "Leave those rows out" in str(caught.value)
    # Where the argument is suggested, it is one.
    with pytest.raises(DataError, match="missing='drop'"):
        im.IsingModel(gaps)
    with pytest.warns(im.exceptions.DataWarning, match="1 of 1500 rows"):
        assert im.IsingModel(gaps, missing="drop").nobs == 1499


@pytest.mark.parametrize("draw", ["bootstrap", "drop_cases"])
def test_weighted_networks_point_to_a_method_that_exists(draw):
    labels = im.datasets.load_example().labels
    model = im.IsingModel(labels, sampling_weights=np.linspace(1, 2, len(labels)))
    with pytest.raises(ModelError) as caught:
        getattr(model.fit_regularized(), draw)(10)
    assert "IsingModel.fit().network_table()" in str(caught.value)
    assert model.fit().network_table()["se"].notna().all()


def test_messages_without_code_that_reverses_answers():
    y = np.array([[1, 2], [2, 1], [1, 1], [2, 2]])
    with pytest.raises(DataError, match="Code the value that means yes as 1") as caught:
        IsingClassifier().fit(np.arange(8.0).reshape(4, 2), y)
    assert "max" not in str(caught.value)
    with pytest.raises(DataError, match="Turn probabilities into 0/1 first") as caught:
        im.metrics.hamming_score([[0, 1]], [[0.2, np.nan]])
    assert "> 0.5" not in str(caught.value)


# Lines of code in other messages


def code_in(call, pattern):
    """Return the code, which a pattern has in brackets, in what a call says or warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", im.exceptions.IsingWarning)
        with pytest.raises((im.exceptions.IsingError, im.exceptions.IsingWarning)) as caught:
            call()
    found = re.search(pattern, str(caught.value))
    assert found, str(caught.value)
    return found.group(1)


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def tables(data):
    labels = data.labels[["hypertension", "diabetes"]]
    return labels, data.features[["bmi", "smoker"]].astype(float)


def test_code_that_makes_tables(tables):
    labels, features = tables
    one = labels["diabetes"]
    code = code_in(lambda: im.IsingModel(one.to_numpy()), r"(numpy\.reshape.*?\)\))")
    np.testing.assert_array_equal(eval(code, {"numpy": np, "labels": one}), labels[["diabetes"]])
    code = code_in(lambda: im.IsingModel(one), r"a Series as (.*?)\.$")
    pd.testing.assert_frame_equal(eval(code, {"labels": one}), labels[["diabetes"]])
    moved = features.iloc[::-1]
    space = {"labels": labels, "features": moved}
    exec(code_in(lambda: im.IsingModel(labels, moved), r"(features = .*?\]),"), space)
    pd.testing.assert_frame_equal(space["features"], features)
    code = code_in(lambda: im.IsingModel(labels, moved), r"drop the indexes with (\S*\))")
    assert im.IsingModel(labels, eval(f"moved{code}", {"moved": moved})).nobs == len(labels)
    series = [labels["hypertension"], labels["diabetes"].iloc[5:]]
    code = code_in(lambda: im.IsingModel(series), r"(pandas\.concat.*?\))")
    pd.testing.assert_frame_equal(eval(code, {"pandas": pd, "series": series}), labels.iloc[5:])
    for kind in (np.asarray, pd.DataFrame):
        copied = kind(features.assign(copy=labels["diabetes"]))
        code = code_in(lambda table=copied: im.IsingModel(labels, table), r"(np\.delete.*?\))")
        kept = eval(code, {"np": np, "features": copied})
        np.testing.assert_array_equal(np.asarray(kept, dtype=float), features)
    names = list(labels)
    weights = pd.DataFrame([[0.0, 0.5], [0.3, 0.0]], names, names)
    code = code_in(lambda: im.simulate.IsingDistribution([0, 0], weights), r"e\.g\. (.* / 2)\.")
    mean = eval(code, {"interactions": weights})
    assert im.simulate.IsingDistribution([0, 0], mean).interactions.iloc[0, 1] == 0.4


def test_code_that_makes_numbers_of_text_and_dates(tables):
    labels, features = tables
    smokes = np.where(features[["smoker"]] == 1, "yes", "no")
    frame = labels.assign(x1=smokes[:, 0], day=pd.date_range("2020", periods=len(labels)))
    code = code_in(lambda: im.IsingModel(labels, smokes), r"(IsingModel\.from_formula.*?data\))")
    space = {"IsingModel": im.IsingModel, "data": frame}
    model = eval(code.replace("…", "hypertension + diabetes"), space)
    np.testing.assert_array_equal(model.data.features, features[["smoker"]])
    text = features.assign(bmi=features["bmi"].map(str))
    code = code_in(lambda: im.IsingModel(labels, text), r"(pd\.to_numeric)")
    pd.testing.assert_series_equal(eval(code)(text["bmi"]), features["bmi"])
    x = pd.DataFrame(smokes)
    code = code_in(lambda: IsingClassifier().fit(x, labels), r"(sklearn\..*?\))")
    made = eval(code, {"sklearn": sklearn}).fit_transform(x)
    np.testing.assert_array_equal(made.toarray(), features[["smoker"]])
    three = np.arange(len(labels)) % 3
    code = code_in(lambda: IsingClassifier().fit(features, three), r"(sklearn\.\S*r)\.")
    np.testing.assert_array_equal(eval(code)().fit_transform(three), np.eye(3)[three])
    few, formula = frame.iloc[360:372], "hypertension + diabetes ~ "
    columns = {r"e\.g\. (\S*?),": few[["day"]].map(lambda day: day.year)}
    columns[r"or (C\(day\))"] = np.eye(12)[:, 1:]
    for pattern, expected in columns.items():
        code = code_in(lambda: im.IsingModel.from_formula(f"{formula} day", frame), pattern)
        model = im.IsingModel.from_formula(formula + code, few)
        np.testing.assert_array_equal(model.data.features, expected)


def test_code_that_makes_models_and_results(data, tables):
    labels, features = tables
    frame = labels.assign(sex=data.features["female"])
    model, fitted = im.IsingModel(labels, features), im.IsingModel(labels).fit()
    adjusted = im.IsingModel(labels, covariates=features).fit()
    space = {"IsingModel": im.IsingModel, "labels": labels, "features": features, "im": im}
    made = eval(code_in(fitted.score_test, r"with (IsingModel\(.*?\))"), space)
    assert made.feature_names == model.feature_names
    light = model.without_data().fit()
    made = eval(code_in(light.wald_test, r"Make (IsingModel\(.*?\))"), space)
    assert made.fit().wald_test().statistics.notna().all(axis=None)
    code = code_in(lambda: im.simulate.distribution_of(adjusted), r"(results\.at.*?\)\)?)\.$")
    values = "{'bmi': 25, 'smoker': 0}"
    at = eval(re.sub(r"\{.*\}", values, code), {"results": adjusted})
    assert im.simulate.distribution_of(at).pmf().sum() == pytest.approx(1)
    law = im.simulate.IsingDistribution([0, 0], np.zeros((2, 2)), effects=[[1.0, 0.5]])
    code = code_in(law.mean, r"first: (distribution.*?\)\.mean\(\))")
    mean = eval(code, {"distribution": law, "features": [1.0]})
    np.testing.assert_allclose(mean, 1 / (1 + np.exp([-1.0, -0.5])))
    space |= {"model": im.IsingModel(labels), "frame": frame}
    for group, name in enumerate(("first", "second")):
        space[name] = im.IsingModel(labels[frame["sex"] == group]).fit()
    for pattern in (r"(compare_networks\(model.*?\]\))", r"(compare_networks\(\{.*?\}\))"):
        code = code_in(lambda: im.compare_networks(fitted), pattern)
        code = code.replace(")", ", n_permutations=1, random_state=0)")
        assert len(eval(f"im.{code}", space).networks) == 2
    for pattern in (r"each row: (fit\(.*?\)),", r"or (IsingModel\(…, groups=…\))"):
        code = code_in(lambda: im.IsingModel(labels).fit(cov_type="cluster"), pattern)
        code = code.replace("(…", "(labels").replace("=…", "=np.arange(1500) % 30")
        found = eval(f"model.{code}" if code[0] == "f" else f"{code}.fit()", space | {"np": np})
        assert found.cov_type == "cluster"
    code = code_in(lambda: IsingSelector(method=1).fit(features, labels), r"write (.*\))\.")
    selector = eval(code, {"IsingSelector": IsingSelector}).fit(features, labels)
    assert selector.get_support().sum() == 1
    code = code_in(lambda: fitted.compare_lr_test(adjusted), r"fit: (full\..*?\))")
    assert eval(code, {"full": adjusted, "restricted": fitted})["df"].tolist() == [2, 2]
    code = code_in(lambda: im.pool([fitted]), r"(im\.pool.*?\))")
    code = code.replace(", ...", "")
    assert len(eval(code, space | {"res1": fitted, "res2": space["first"]}))
    table = fitted.centrality()
    code = code_in(lambda: im.plots.plot_intervals(table), r"measure: (.*)\.$")
    assert set(eval(code, {"table": table})["measure"]) == {"strength"}


FIT = r"(fit\([^)]*\))"


def test_fits_that_are_suggested(data):
    rng = np.random.default_rng(0)
    labels = pd.DataFrame(rng.integers(0, 2, (200, 2)), columns=["a", "b"])
    separated = labels.assign(c=labels["a"] * labels["b"])
    model = im.IsingModel(separated)
    for pattern in (FIT, rf"{FIT[:-1]}) keep", rf" or {FIT} keep"):
        found = eval(f"model.{code_in(model.fit, pattern)}", {"model": model})
        assert np.isfinite(found.params.fillna(0)).all(axis=None)
    code = code_in(lambda: model.fit(penalize_covariates=True), rf"or {FIT}")
    assert eval(f"model.{code}", {"model": model}).converged
    with pytest.warns(im.exceptions.IsingWarning):
        limit = im.IsingModel(labels.assign(c=labels["a"])).fit()
    code = code_in(lambda: limit.nodes["c"], rf"label {FIT}")
    assert eval(f"limit.model.{code}", {"limit": limit}).nodes["c"].converged
    rare = im.IsingModel((rng.random((300, 6)) < 0.04).astype(int), rng.normal(size=(300, 2)))
    for pattern in (rf"'auto', {FIT}", rf"or {FIT}"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", im.exceptions.IsingWarning)
            res = rare.fit()
        code = code_in(lambda res=res: res.score_test(pvalue="chi2").pvalues, pattern)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", im.exceptions.IsingWarning)
            assert eval(f"rare.{code}", {"rare": rare}).score_test().statistics.shape == (2, 6)
    ranked = im.IsingModel(data.labels, data.features)
    plain = ranked.fit()
    call = lambda: plain.rank_features(penalty=1.0)  # noqa: E731
    code = code_in(call, r"(model\.fit\(.*?\))").replace("=…", "=None")
    assert eval(code, {"model": ranked}).converged
    code = code_in(call, r"(isingmlc\.rank.*?\))").replace("=…", "=1.0")
    space = {"isingmlc": im, "labels": data.labels, "features": data.features}
    assert len(eval(code, space).to_frame()) == data.features.shape[1]


# Ibis asks pandas for an option that has no effect there any more.
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
def test_code_that_reads_and_draws(data, tables, tmp_path):
    import matplotlib
    from matplotlib import pyplot

    labels, features = tables
    path = tmp_path / "data.csv"
    labels.join(features).to_csv(path, index=False)
    code = code_in(
        lambda: im.datasets.read_table(path, labels=list(labels), chunksize=500),
        r"pass what (pandas.*?\)) gives",
    )
    chunks = eval(code.replace("…", "500"), {"pandas": pd, "path": path})
    names = {"labels": list(labels), "features": list(features)}
    stats = im.LabelsetStatistics.from_batches(chunks, **names)
    model = im.IsingModel(labels, features)
    expected = model.fit().score_test(pvalue="chi2").statistics
    found = im.IsingModel.from_statistics(stats).fit().score_test(pvalue="chi2")
    np.testing.assert_allclose(found.statistics, expected, rtol=1e-9)
    ibis = pytest.importorskip("ibis")
    frame = labels.join(features)
    code = code_in(lambda: im.LabelsetStatistics.from_table(frame, **names), r"with (ibis.*?\))")
    table = eval(code, {"ibis": ibis, "frame": frame})
    small = im.IsingModel.from_statistics(stats).fit()
    rank = {"method": "forward"}
    code = code_in(lambda: small.rank_features(**rank), r"(IsingModel\.from.*?\)\))\.")
    code = code.replace("from_table(…", "from_table(table, **names")
    space = {"IsingModel": im.IsingModel, "LabelsetStatistics": im.LabelsetStatistics}
    found = eval(code, space | {"table": table, "names": names}).fit().rank_features(**rank)
    assert found.order == model.fit().rank_features(**rank).order
    res = im.IsingModel(data.labels, data.features).fit()
    ranking = res.rank_features()
    space = {"matplotlib": matplotlib, "pyplot": pyplot}
    exec(code_in(lambda: ranking.plot(ax=1), r"with (fig, .*?\))\.$"), space)
    assert ranking.plot(ax=space["ax"]) is not None
    wide = np.random.default_rng(0).normal(size=(len(data.labels), 300))
    edges = im.IsingModel(data.labels, wide).fit().score_test()
    exec(code_in(lambda: edges.plot_heatmap(top=300), r"inches: (fig, .*\))\.$"), space)
    assert edges.plot_heatmap(top=300, ax=space["ax"]) is not None
