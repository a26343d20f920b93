"""Short reports: networks, comparisons, draws, rankings and selections, in a browser too."""

import csv
import io
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import test_report_browser
from test_report import Elements

import isingmlc as im
from isingmlc.exceptions import DataError, FileError

axe = test_report_browser.axe
browser = test_report_browser.browser
open_page = test_report_browser.open_page
KINDS = ("network", "comparison", "bootstrap", "dropping", "ranking", "selection")


@pytest.fixture(scope="module")
def objects():
    data = im.datasets.load_example()
    fit = im.IsingModel(data.labels, data.features).fit()
    return {
        "network": fit.model.fit_regularized(features=True),
        "comparison": im.compare_networks(
            im.IsingModel(data.labels), data.features["female"], n_permutations=19, random_state=0
        ),
        "bootstrap": fit.bootstrap(20, features=True, random_state=0),
        "dropping": fit.drop_cases(20, random_state=0),
        "ranking": im.rank_features(data.labels, data.features, method="forward", n_features=5),
        "selection": im.select_features(data.labels, data.features, random_state=0),
    }


@pytest.fixture(scope="module")
def paths(objects, tmp_path_factory):
    folder = tmp_path_factory.mktemp("short")
    return {kind: found.report(folder / f"{kind}.html") for kind, found in objects.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_one_file_that_is_the_same_each_time(objects, paths, kind, tmp_path):
    text = paths[kind].read_text(encoding="utf-8")
    page = Elements(text)
    assert len(page.scripts) == 2
    pictures = [attributes for tag, attributes in page.elements if tag == "img"]
    assert pictures
    for picture in pictures:
        assert picture["src"].startswith("data:image/svg+xml;base64,")
        assert picture["alt"].endswith("the tables say the same.")
    assert "raises" not in "".join(page.text).replace("--raises", "")
    title = "<script>alert(1)</script>"
    again = objects[kind].report(tmp_path / "again.html", title=title)
    other = Elements(again.read_text(encoding="utf-8"))
    assert len(other.scripts) == 2
    assert title in other.text
    objects[kind].report(tmp_path / "again.html")
    assert again.read_text(encoding="utf-8") == text


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.LowInformationWarning")
def test_draws_and_comparisons_say_what_they_are_given(tmp_path):
    data = im.datasets.load_example()
    given = data.features[["age", "female"]]
    model = im.IsingModel(data.labels, covariates=given)
    boot = model.fit().bootstrap(3, random_state=0)
    boot.save(tmp_path / "boot.npz")
    groups = data.features["smoker"]
    found = {
        "bootstrap": boot,
        "loaded": im.NetworkBootstrap.load(tmp_path / "boot.npz"),
        "sparse": model.fit_regularized(lam=0.01).bootstrap(2, random_state=0),
        "dropping": model.fit().drop_cases(10, random_state=0),
        "sparse dropping": model.fit_regularized(lam=0.01).drop_cases(10, random_state=0),
        "comparison": im.compare_networks(model, groups, n_permutations=2, random_state=0),
    }
    for one in found.values():
        assert one.adjusted_for == ("age", "female")
        assert "given age, female" in repr(one)
        page = Elements(one.report(tmp_path / "report.html").read_text(encoding="utf-8"))
        assert page.text.count("given age, female") > 1
        assert json.loads(page.scripts[0])["adjustedFor"] == "age, female"
    plain = im.IsingModel(data.labels).fit().bootstrap(2, random_state=0)
    assert plain.adjusted_for == ()
    assert "given" not in repr(plain)


def tables(path):
    facts = json.loads(Elements(path.read_text(encoding="utf-8")).scripts[0])
    frames = {}
    for name, rows in facts["tables"].items():
        file = io.StringIO()
        csv.writer(file).writerows(rows)
        file.seek(0)
        frames[name] = pd.read_csv(file)
    return frames


def test_tables_hold_what_the_objects_say(objects, paths):
    edges = tables(paths["network"])["edges"]
    expected = objects["network"].to_frame()
    np.testing.assert_allclose(edges["weight"], expected["weight"], rtol=1e-5)
    np.testing.assert_allclose(edges["odds_ratio"], np.exp(expected["weight"]), rtol=1e-5)
    effects = tables(paths["network"])["features"]
    assert len(effects) == (objects["network"].effects != 0).to_numpy().sum()
    assert set(effects["direction"]) == {"with", "against"}
    tests = tables(paths["comparison"])["tests"].set_index("test")
    assert tests.loc["M", "statistic"] == pytest.approx(objects["comparison"].M, rel=1e-5)
    assert len(tables(paths["comparison"])["pairs-of-labels"]) == 15
    draws = tables(paths["bootstrap"])
    assert set(draws) == {"pairs-of-labels", "centrality", "ranks-of-features"}
    coefficients = tables(paths["dropping"])["cs-coefficients"]
    expected = objects["dropping"].cs_coefficient()["cs"]
    np.testing.assert_allclose(coefficients["cs"], expected, rtol=1e-5)
    assert tables(paths["ranking"])["path"]["feature"][0] == objects["ranking"].order[0]
    assert tables(paths["selection"])["chosen"]["feature"].tolist() == list(
        objects["selection"].selected
    )


def test_findings_are_sentences(objects, paths):
    text = {
        kind: " ".join("".join(Elements(path.read_text(encoding="utf-8")).text).split())
        for kind, path in paths.items()
    }
    assert (
        "The strongest: hypertension goes with diabetes given the other labels" in text["network"]
    )
    assert "pairs of labels differ between groups (adjusted p ≤ 0.05)." in text["comparison"]
    assert "have intervals at 95% that leave out zero." in text["bootstrap"]
    assert "5 features were picked one after the other" in text["ranking"]
    assert "of 30 were chosen by forward: 'age', 'bmi'" in text["selection"]


def test_a_ranking_without_a_path_and_a_choice_by_p_values_have_reports(tmp_path):
    data = im.datasets.load_example()
    covariates = data.features[["age"]]
    features = data.features.drop(columns="age")
    ranking = im.rank_features(data.labels, features, covariates=covariates)
    text = ranking.report(tmp_path / "ranking.html").read_text(encoding="utf-8")
    assert "First come" in text
    assert "given age" in text
    chosen = im.select_features(data.labels, data.features, alpha=0.05)
    assert set(tables(chosen.report(tmp_path / "chosen.html"))) == {"chosen"}
    with pytest.raises(FileError, match="there is no folder"):
        ranking.report(tmp_path / "absent" / "report.html")
    with pytest.raises(DataError, match="path must be a str or a path"):
        ranking.report(3)


@test_report_browser.pytestmark
def test_pictures_have_the_ground_of_the_page(open_page, paths):
    grounds, inks = [], []
    for scheme in ("light", "dark"):
        page = open_page(paths["dropping"], scheme, width=800, height=900)
        picture = page.page.locator(".picture img").screenshot()
        colors = plt.imread(io.BytesIO(picture))[..., :3].mean(axis=2).ravel()
        grounds.append(np.median(colors))
        inks.append(colors.min() if scheme == "light" else colors.max())
    assert grounds[0] == 1
    assert grounds[1] < 0.2
    assert inks[0] < 0.2
    assert inks[1] > 0.8


@test_report_browser.pytestmark
@pytest.mark.parametrize(("kind", "scheme"), [*zip(KINDS, 3 * ("light", "dark"), strict=True)])
def test_short_reports_are_read_everywhere(open_page, paths, axe, kind, scheme):
    for width in (390, 800, 1280):
        page = open_page(paths[kind], scheme, width=width, height=900)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.page.evaluate(test_report_browser.CUT) == []
        # Between these widths nothing looks otherwise than at one of them.
        if width != 800:
            assert test_report_browser.complain(page, axe) == []
        assert page.complaints == []
        assert page.requests == [paths[kind].as_uri()]
    name = page.page.locator("[data-table]").first.get_attribute("data-table")
    assert page.download(name)
