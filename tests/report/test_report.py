"""Reports as files, without a browser; `test_report_browser` opens them."""

import base64
import gzip
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import hostile
import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.exceptions import (
    DataError,
    DataWarning,
    FileError,
    ModelError,
    SeparationWarning,
)

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

pytest.importorskip("bokeh", reason="reports need Bokeh: pip install 'isingmlc[report]'")


class Elements(HTMLParser):
    """The elements of a page, its scripts, and its text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.text = [], [], []
        self.within_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")
            self.within_script = True

    def handle_endtag(self, tag):
        self.within_script = self.within_script and tag != "script"

    def handle_data(self, data):
        if self.within_script:
            self.scripts[-1] += data
        else:
            self.text.append(data)

    @property
    def facts(self):
        return json.loads(self.scripts[0])


def read(path):
    return Elements(path.read_text(encoding="utf-8"))


def models(facts, kind):
    """Find the models of a kind in Bokeh's document, by name."""
    found = {}

    def walk(value):
        if isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            if value.get("name") == kind and "attributes" in value:
                found[value["attributes"].get("name")] = value["attributes"]
            for item in value.values():
                walk(item)

    walk(facts["document"])
    return found


def columns(facts, name):
    """Return the columns of a data source as arrays or lists."""
    entries = dict(models(facts, "ColumnDataSource")[name]["data"]["entries"])

    def decode(column):
        if isinstance(column, list):
            return column
        raw = base64.b64decode(column["array"]["data"])
        # Older versions of Bokeh do not compress.
        raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
        return np.frombuffer(raw, dtype=column["dtype"]).reshape(column["shape"])

    return {key: decode(column) for key, column in entries.items()}


@pytest.fixture(scope="module")
def fit():
    return im.IsingModel(im.datasets.load_example()).fit()


@pytest.fixture(scope="module")
def page(fit, tmp_path_factory):
    return read(fit.report(tmp_path_factory.mktemp("report") / "report.html"))


def separated_fit(**options):
    """Fit labels of which one is constant, one determined, and two never meet."""
    generator = np.random.default_rng(3)
    first, second, third = generator.random((3, 200)) < 0.4
    third &= ~first
    none = ~(first | second | third)
    labels = pd.DataFrame(
        {"first": first, "second": second, "third": third, "none": none, "always": True}
    ).astype(int)
    features = pd.DataFrame(generator.normal(size=(200, 4))).add_prefix("x")
    features["x0"] += first
    features["same"] = 2.0
    with pytest.warns(DataWarning):
        model = im.IsingModel(labels, features)
    if options:
        return model.fit(**options)
    with pytest.warns(SeparationWarning):
        return model.fit()


@pytest.fixture(scope="module")
def separated():
    return separated_fit()


@pytest.fixture(scope="module")
def separated_page(separated, tmp_path_factory):
    return read(separated.report(tmp_path_factory.mktemp("separated") / "report.html"))


def test_the_file_holds_everything_and_names_no_other(page):
    for tag, attributes in page.elements:
        assert tag not in ("iframe", "object", "embed", "img", "base"), tag
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith(("#", "data:"))
    policy = next(
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    running = page.scripts[1:]
    assert len(running) == 4
    for script in running:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_the_same_fit_gives_the_same_bytes(fit, tmp_path):
    first = fit.report(tmp_path / "first.html").read_bytes()
    im.IsingModel(im.datasets.load_example().labels).fit().report(tmp_path / "other.html")
    again = im.IsingModel(im.datasets.load_example()).fit()
    assert again.report(tmp_path / "second.html").read_bytes() == first


def test_features_come_best_first_with_their_edges(page, fit):
    facts = page.facts
    table = fit.rank_features().to_frame()
    features = columns(facts, "features")
    assert features["feature"] == list(table.index)
    np.testing.assert_allclose(features["importance"], table["importance"])
    np.testing.assert_allclose(features["pvalue"], table["pvalue"])
    labels = np.array([*fit.label_names, ""])
    assert labels[features["strongest"]].tolist() == table["strongest"].tolist()
    significant = {
        name
        for name, value in zip(features["feature"], features["pvalue_adj"], strict=True)
        if value <= 0.05
    }
    assert significant == set(fit.rank_features().select(0.05))
    edges = fit.score_test()
    cells = columns(facts, "edges")
    order = list(table.index)
    shape = edges.statistics.shape
    np.testing.assert_allclose(
        cells["statistic"].reshape(shape), edges.statistics.loc[order], rtol=1e-5
    )
    adjusted = edges.to_frame().set_index(["feature", "label"])["pvalue_adj"]
    expected = [adjusted[name, label] for name in order for label in edges.label_names]
    np.testing.assert_allclose(10.0 ** cells["log10p_adj"], expected, rtol=1e-4)
    np.testing.assert_array_equal(cells["significant"], np.array(expected) <= 0.05)
    np.testing.assert_array_equal(
        cells["sign"].reshape(shape), edges.signs.loc[order].to_numpy().astype(int)
    )


def test_sentences_settings_and_versions_are_there(page, fit):
    text = " ".join(page.text)
    assert "8 of 30 features go with some label (fdr_bh-adjusted p-value ≤ 0.05)." in text
    assert "The strongest edge: age goes with hypertension (odds ratio 1.04 per unit" in text
    assert "statistic 133, p = 1.7e-31)." in "".join(page.text)
    assert "Ising Model Results" in text
    assert f"{fit.llf:.4f}" in text
    for package in ("isingmlc", "numpy", "bokeh"):
        assert package in text
    assert im.__version__ in text


def test_what_needs_attention_is_said(separated_page):
    text = " ".join(separated_page.text)
    assert "always is 1 in every row: its edges cannot be tested." in text
    assert "edges were not tested: determined-label." in text
    assert "edges were not tested: constant-label." in text
    assert "never occur together" in text


def test_edges_with_an_empty_cell_say_that_effects_are_infinite(tmp_path):
    rng = np.random.default_rng(0)
    labels = pd.DataFrame(rng.integers(0, 2, (500, 3)), columns=list("abc"))
    rare = (rng.random(500) < 0.05).astype(float)
    labels.loc[rare == 1, "a"] = 0
    fit = im.IsingModel(labels, pd.DataFrame({"x": rng.normal(size=500), "g": rare})).fit()
    facts = read(fit.report(tmp_path / "report.html")).facts
    cells, codes = columns(facts, "edges"), [code for code, _ in facts["reasons"]]
    at = columns(facts, "features")["feature"].index("g") * 3
    assert cells["coef"][at] == -np.inf
    limits = fit.wald_test(["g"]).conf_int().loc[("g", "a")]
    assert cells["limit"][at] == pytest.approx(limits["upper"], rel=1e-5)
    assert np.isnan(cells["limit"]).sum() == 5
    assert codes[cells["reason"][at]] == "separated-alternative"
    assert [codes[code] for code in cells["reason"]].count("ok") == 5
    assert np.isfinite(cells["statistic"]).all()


def feature_reasons(page):
    codes = [code for code, _ in page.facts["reasons"]]
    return [codes[at] for at in columns(page.facts, "features")["reason"]]


def explained(page):
    """Return the reasons that a page explains, and what it says about them."""
    text = [part.strip() for part in page.text]
    begin = text.index("What the reasons mean")
    listed = [part for part in text[begin + 1 : text.index("Summary of the label models")] if part]
    return dict(zip(listed[::2], listed[1::2], strict=True))


def test_reasons_are_explained_where_they_occur(page, separated_page):
    assert "What the reasons mean" not in page.text
    assert explained(separated_page) == {
        "constant-label": "the label is the same in every row",
        "determined-label": "the other labels and covariates determine the label",
        "constant-feature": "the feature is the same in every row",
    }


def test_features_that_a_screening_leaves_out_say_so(fit, tmp_path):
    ranking = fit.rank_features("score+l1", keep=0.2)
    page = read(fit.report(tmp_path / "report.html", ranking=ranking, pairs=0))
    reasons = feature_reasons(page)
    assert reasons == 6 * ["ok"] + 24 * ["screened-out"]
    meaning = "the score tests did not keep the feature for the penalised models"
    assert explained(page) == {"screened-out": meaning}
    assert dict(page.facts["reasons"])["screened-out"] == meaning
    assert "Score tests kept 6 of 30 features" in " ".join(page.text)


@pytest.mark.parametrize(("penalty", "kind"), [(1.0, "ridge"), ("firth", "Firth")])
@pytest.mark.filterwarnings(FEW_ROWS)
def test_penalised_fits_say_that_p_values_are_approximate(penalty, kind, tmp_path):
    fit = separated_fit(penalty=penalty)
    page = read(fit.report(tmp_path / "report.html", pairs=0))
    sentence = f"The null model is penalised ({kind}), so p-values are approximate"
    assert sentence in " ".join(page.text)


def test_a_fit_without_rows_gives_the_same_features(fit, page, tmp_path):
    facts = read(fit.remove_data().report(tmp_path / "report.html", pairs=0)).facts
    assert columns(facts, "features")["feature"] == columns(page.facts, "features")["feature"]


def test_a_fit_without_features_has_a_report_of_its_labels(tmp_path):
    page = read(im.IsingModel(im.datasets.load_example().labels).fit().report(tmp_path / "r.html"))
    identifiers = {attributes.get("id") for _, attributes in page.elements}
    assert {"labels", "label-network", "fit", "settings"} <= identifiers
    assert not {"features", "heat", "network"} & identifiers


def test_only_the_best_features_are_kept(fit, tmp_path):
    page = read(fit.report(tmp_path / "report.html", top=5, pairs=0))
    assert columns(page.facts, "features")["feature"] == list(fit.rank_features().top(5))
    text = " ".join(page.text)
    assert "The 5 most important of 30 features are shown." in text
    # What is said of all features stays: they were all tested.
    assert "8 of 30 features go with some label" in text
    assert "They were left out with pairs=0." in text


def test_terms_of_a_formula_are_shown_without_pairs(tmp_path):
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    fit = im.IsingModel.from_formula(
        "diabetes + asthma + depression ~ bmi + C(deprivation_decile)", frame
    ).fit()
    page = read(fit.report(tmp_path / "report.html", edges=fit.score_test(unit="term")))
    assert set(columns(page.facts, "features")["feature"]) == {"bmi", "C(deprivation_decile)"}
    assert "not for categories and other terms" in " ".join(page.text)
    assert set(columns(page.facts, "edges")["df"]) == {1, 9}


def test_hostile_names_make_no_element(separated_page, tmp_path):
    fit = hostile.hostile_fit()
    title = "</title><script>alert(3)</script> {{ 7*7 }}"
    page = read(fit.report(tmp_path / "report.html", title=title))
    assert len(page.scripts) == len(separated_page.scripts)
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert title in page.text
    facts = page.facts
    assert set(columns(facts, "features")["feature"]) == set(hostile.FEATURES)
    assert columns(facts, "labels")["name"] == hostile.LABELS


def test_a_file_that_can_not_be_written_is_our_error(fit, tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        fit.report(tmp_path / "absent" / "report.html", pairs=0)
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        fit.report(tmp_path / "folder", pairs=0)
    with pytest.raises(DataError, match="path must be a str or a path"):
        fit.report(3)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 2}, "alpha"),
        ({"adjust": "magic"}, "adjust"),
        ({"top": 0}, "top"),
        ({"pairs": -1}, "pairs"),
    ],
)
def test_wrong_options_are_said_before_anything_is_written(fit, tmp_path, options, message):
    with pytest.raises(DataError, match=message):
        fit.report(tmp_path / "report.html", **options)
    assert not list(tmp_path.iterdir())


def test_tests_and_rankings_of_other_data_are_refused(fit, tmp_path):
    data = im.datasets.load_example()
    other = im.IsingModel(data.labels.iloc[:, :3], data.features[["age", "bmi"]]).fit()
    with pytest.raises(DataError, match="edges must be tests of the labels of the fit"):
        fit.report(tmp_path / "report.html", edges=other.score_test())
    with pytest.raises(DataError, match="ranking must be of the features"):
        fit.report(tmp_path / "report.html", ranking=other.rank_features())


def test_without_bokeh_the_error_says_what_to_install(fit, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "bokeh"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("page", "figures"):
        monkeypatch.delitem(sys.modules, f"isingmlc.report.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(ModelError, match=re.escape('pip install "isingmlc[report]"')):
        fit.report(tmp_path / "report.html")


# Notebooks


def test_notebooks_show_names_as_text():
    fit = hostile.hostile_fit()
    ranking = fit.rank_features()
    labels = (np.random.default_rng(0).random((120, 6)) < 0.4).astype(int)
    features = np.random.default_rng(1).normal(size=(120, len(hostile.FEATURES)))
    selection = im.select_features(
        labels,
        features,
        label_names=hostile.LABELS,
        feature_names=hostile.FEATURES,
        random_state=0,
    )
    for shown in (fit, fit.score_test(), ranking, selection):
        page = Elements(shown._repr_html_())
        assert page.scripts == []
        tags = {tag for tag, _ in page.elements}
        assert tags <= {"table", "caption", "tr", "th", "td", "p", "ol", "li", "tbody", "thead"}
        assert sum(tag == "table" for tag, _ in page.elements) >= 2
    assert "<script>alert(2)</script>" in "".join(Elements(fit._repr_html_()).text)


# Covariates


@pytest.fixture(scope="module")
def adjusted():
    data = im.datasets.load_example()
    covariates = data.features[["age"]].assign(sex=np.where(data.features["female"] == 1, "f", "m"))
    features = data.features.drop(columns=["age", "female"])
    return im.IsingModel(data.labels, features, covariates=covariates).fit()


def test_every_part_says_what_it_is_adjusted_for(adjusted, tmp_path):
    page = read(adjusted.report(tmp_path / "report.html", ranking=adjusted.rank_features()))
    text = " ".join(" ".join(page.text).split())
    for heading in (
        "Features",
        "Its edges",
        "Its products with pairs of labels",
        "All edges",
        "Label network",
        "The fit",
    ):
        assert f"{heading} given age, sex " in text
    assert "tests of 28 features and 6 labels on 1,500 observations, given age, sex " in text
    assert "features go with some label, given age, sex (fdr_bh-adjusted" in text
    assert "Interactions of labels given all other labels and the covariates:" in text
    assert "adjusted for age, sex Tests" in text
    assert "Tests are given the covariates age, sex." in text
    assert "cells of labels and covariates" in text
    assert "sex[T.m]" in text.split("Summary of the label models")[1]
    assert page.facts["adjustedFor"] == "age, sex"


def test_covariates_of_a_formula_are_named_as_people_do(tmp_path):
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    frame["sex"] = np.where(frame["female"] == 1, "f", "m")
    formula = "diabetes + asthma + depression ~ age + bmi"
    fit = im.IsingModel.from_formula(formula, frame, covariates="C(sex)").fit()
    page = read(fit.report(tmp_path / "report.html", pairs=0))
    assert page.text.count("given sex") >= 5
    assert "Tests are given the covariate sex." in page.text
    # The printed summary and files have the exact name.
    exact = [text for text in page.text if "C(sex)" in text and text not in page.scripts]
    assert all("Adjusted for:" in text for text in exact)
    assert page.facts["adjustedFor"] == "C(sex)"


def test_tests_and_rankings_that_are_not_given_the_covariates_are_refused(adjusted, tmp_path):
    data = im.datasets.load_example()
    plain = im.IsingModel(data.labels, data.features[list(adjusted.feature_names)]).fit()
    with pytest.raises(DataError, match="edges must be tests given the covariates of the fit"):
        adjusted.report(tmp_path / "report.html", edges=plain.score_test())
    message = "ranking must be given the covariates of the fit, 'age', 'sex', but is given none"
    with pytest.raises(DataError, match=message):
        adjusted.report(tmp_path / "report.html", ranking=plain.rank_features())


@pytest.mark.filterwarnings(FEW_ROWS)
def test_rare_labels_have_too_few_rows_to_speak_for_absence(tmp_path):
    rng = np.random.default_rng(0)
    shares = {"common": 0.5, "other": 0.4, "rare": 0.02, "rarer": 0.015}
    labels = pd.DataFrame({name: rng.random(5000) < share for name, share in shares.items()})
    res = im.IsingModel(labels.astype(int)).fit()
    text = " ".join(read(res.report(tmp_path / "report.html")).text)
    assert "1 have too few rows to tell" in text
    table = res.network_table().set_index(["first", "second"])
    assert (table.loc[[("rare", "rarer"), ("common", "rare")], "evidence"] < -6).all()


def test_how_sure_the_network_is(tmp_path):
    data = im.datasets.load_example()
    res = im.IsingModel(data.labels, data.features[["age", "bmi"]]).fit()
    table = res.network_table()
    clear = ((table["lower"] > 0) | (table["upper"] < 0)).sum()
    boot = res.bootstrap(20, features=True, random_state=0)
    drop = res.drop_cases(20, random_state=0)
    path = res.report(tmp_path / "sure.html", bootstrap=boot, dropping=drop, pairs=0)
    page = path.read_text(encoding="utf-8")
    assert "<h2>How sure is this?</h2>" in page
    for words in ("Draws with its sign", "Among the first 10", "CS-coefficient", "at 95%"):
        assert words in page
    assert f"Of 15 pairs of labels {clear} have" in page
    other = im.IsingModel(data.labels.iloc[:, :4]).fit()
    with pytest.raises(DataError, match="bootstrap must be of the labels"):
        res.report(tmp_path / "other.html", bootstrap=other.bootstrap(2, random_state=0))
    with pytest.raises(DataError, match="dropping must be of the labels"):
        res.report(tmp_path / "other.html", dropping=other.drop_cases(10, random_state=0))
