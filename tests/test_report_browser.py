"""Reports in a real browser: Chromium, driven by Playwright.

The browser is the one that ``ISINGMLC_CHROMIUM`` names, or a Chromium or Chrome on the path. Where
there is none the tests are skipped; where the variable is set they are not.
"""

import io
import os
import shutil

import hostile
import numpy as np
import pandas as pd
import pytest

import isingmlc as im

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

pytest.importorskip("bokeh", reason="reports need Bokeh: pip install 'isingmlc[report]'")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

NAMED = os.environ.get("ISINGMLC_CHROMIUM")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = NAMED or next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here: install it, or name it with ISINGMLC_CHROMIUM"
)
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Models of the page by name, and where on the screen a place of a picture is.
HELPERS = """() => {
window.model = (name) => Bokeh.documents[0].get_model_by_name(name);
window.column = (source, name) => Array.from(model(source).get_column(name));
window.pixel = (name, x, y) => {
  const view = Bokeh.documents[0].views_manager.find_one(model(name));
  const box = view.el.getBoundingClientRect();
  return [box.left + view.frame.x_scale.compute(x), box.top + view.frame.y_scale.compute(y)];
};
}"""


class Page:
    """An open report, with what the browser said about it."""

    def __init__(self, page, path):
        self.page = page
        self.complaints, self.requests = [], []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._see)
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready]", state="attached")
        page.evaluate(HELPERS)

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _see(self, dialog):
        self.complaints.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def column(self, source, name):
        return self.page.evaluate("([source, name]) => column(source, name)", [source, name])

    def rows(self):
        """Names in the rows of the table of features that can be seen, from above."""
        rows = self.page.locator("#feature-table .slick-row")
        seen = [
            (row.evaluate("row => row.getBoundingClientRect().top"), row.locator(".slick-cell"))
            for row in rows.all()
        ]
        return [cells.nth(1).inner_text() for _, cells in sorted(seen, key=lambda pair: pair[0])]

    def click_row(self, name):
        self.page.locator("#feature-table .slick-row", has_text=name).first.click()

    def chosen(self):
        return self.page.locator("#chosen-name").text_content()

    def download(self, table):
        with self.page.expect_download() as coming:
            self.page.locator(f"[data-table={table}]").click()
        assert coming.value.suggested_filename == f"{table}.csv"
        return coming.value.path().read_text(encoding="utf-8")

    def tooltip(self, plot, x, y):
        self.page.locator(f"#{plot}").scroll_into_view_if_needed()
        self.page.mouse.move(*self.page.evaluate("place => pixel(...place)", [plot, x, y]))
        # Bokeh keeps what a tooltip says in a tree of its own, beside style sheets.
        said = self.page.wait_for_function(
            """() => {
              const tip = document.querySelector(".bk-Tooltip");
              const parts = tip ? [...tip.shadowRoot.children] : [];
              const text = parts.filter((part) => !["STYLE", "LINK"].includes(part.tagName));
              return text.map((part) => part.innerText).join("\\n").trim();
            }"""
        )
        return said.json_value()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=list(SWITCHES))
        yield started
        started.close()


@pytest.fixture(scope="module")
def open_page(browser):
    contexts = []

    def open_report(path, **viewport):
        size = {"width": 1400, "height": 1000, **viewport}
        contexts.append(browser.new_context(viewport=size, offline=True))
        return Page(contexts[-1].new_page(), path)

    yield open_report
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def fit():
    return im.IsingModel(im.datasets.load_example()).fit()


@pytest.fixture(scope="module")
def example(fit, tmp_path_factory):
    return fit.report(tmp_path_factory.mktemp("example") / "report.html")


@pytest.fixture(scope="module")
def page(open_page, example):
    """Give the open report of the bundled data; no test depends on what another one chose."""
    return open_page(example)


def test_it_loads_without_a_complaint_or_a_request(open_page, example):
    page = open_page(example)
    page.page.wait_for_timeout(300)
    assert page.complaints == []
    assert page.requests == [example.as_uri()]
    assert page.chosen() == "age"


def test_a_click_on_the_third_row_shows_the_network_of_that_feature(page, fit):
    third = page.rows()[2]
    assert third == fit.rank_features().order[2]
    before = page.page.locator("#network").screenshot()
    page.click_row(third)
    assert page.chosen() == third
    edges = fit.score_test()[third]
    assert page.column("spokes", "label") == list(edges.index)
    shown = [float(text) for text in page.column("spokes", "statistic")]
    np.testing.assert_allclose(shown, edges["statistic"], atol=0.05)
    assert page.column("centre", "text") == [third]
    page.page.wait_for_timeout(200)
    assert page.page.locator("#network").screenshot() != before
    strongest = page.page.locator("#chosen-edges tr").first.locator("td").first
    assert strongest.text_content() == edges["pvalue"].idxmin()
    assert page.complaints == []


def test_arrow_keys_walk_through_the_features(page, fit):
    page.click_row("bmi")
    page.page.keyboard.press("ArrowDown")
    assert page.chosen() == fit.rank_features().order[2]


def test_hovering_says_the_values_of_an_edge(page, fit):
    page.click_row("bmi")
    at = page.column("spokes", "label").index("diabetes")
    x, y = (page.column("spokes", name)[at] for name in ("x1", "y1"))
    text = page.tooltip("network", x, y)
    assert "diabetes" in text
    assert "goes with" in text
    assert "48.7" in text


def test_search_filters_features_by_name_and_by_strongest_label(page, fit):
    page.page.fill("#search", "BMI")
    assert page.rows() == ["bmi"]
    assert page.page.locator("#found").text_content() == "1 of 30 features"
    page.page.fill("#search", "asthma")
    table = fit.rank_features().to_frame()
    wanted = set(table.index[table["strongest"] == "asthma"])
    assert set(page.rows()) == wanted
    page.page.fill("#search", "no such thing")
    assert page.rows() == []
    page.page.fill("#search", "")
    page.page.check("#only-significant")
    assert set(page.rows()) == set(fit.rank_features().select(alpha=0.05))
    page.page.uncheck("#only-significant")
    assert page.complaints == []


def test_a_click_on_a_column_head_sorts(open_page, example):
    page = open_page(example)
    page.page.locator(".slick-header-column", has_text="Feature").click()
    names = page.rows()
    assert names == sorted(names)
    page.click_row(names[1])
    assert page.chosen() == names[1]


def test_the_slider_changes_the_number_of_edges(page, fit):
    weights = fit.interactions.to_numpy()
    weights = np.abs(weights[np.triu_indices(len(weights), 1)])

    def drawn():
        return page.page.evaluate("Array.from(model('drawn').indices).length")

    assert drawn() == len(weights)
    for threshold in (0.5, 1.0):
        page.page.evaluate(
            """value => {
              const slider = document.getElementById("threshold");
              slider.value = value;
              slider.dispatchEvent(new Event("input"));
            }""",
            str(threshold),
        )
        expected = int((weights > threshold).sum())
        assert 0 < expected < len(weights)
        assert drawn() == expected
        text = page.page.locator("#drawn-count").text_content()
        assert text == f"{expected} of {len(weights)} pairs drawn"


def test_tables_download_with_the_right_numbers(page, fit):
    edges = pd.read_csv(io.StringIO(page.download("edges")))
    expected = fit.score_test().to_frame()
    merged = edges.merge(expected, on=["feature", "label"], suffixes=("", "_expected"))
    assert len(merged) == len(expected) == len(edges)
    for name in ("statistic", "df", "pvalue", "log10p", "pvalue_adj", "sign"):
        np.testing.assert_allclose(merged[name], merged[f"{name}_expected"], rtol=1e-12)
    features = pd.read_csv(io.StringIO(page.download("features")), index_col="feature")
    table = fit.rank_features().to_frame()
    assert list(features.index) == list(table.index)
    np.testing.assert_allclose(features["importance"], table["importance"], rtol=1e-12)
    np.testing.assert_allclose(features["pvalue"], table["pvalue"], rtol=1e-12)
    assert features["strongest"].tolist() == table["strongest"].tolist()
    pairs = pd.read_csv(io.StringIO(page.download("pairs")))
    strongest = fit.rank_features("products").pairs.loc["age"].sort_values(ascending=False)
    assert list(pairs) == ["feature", "label", "with", "statistic"]
    mine = pairs[pairs["feature"] == "age"]
    np.testing.assert_allclose(mine["statistic"], strongest.head(10), rtol=1e-12)
    interactions = pd.read_csv(io.StringIO(page.download("interactions")))
    for row in interactions.itertuples():
        assert row.interaction == pytest.approx(fit.interactions.loc[row.first, row.second])
    diagnostics = pd.read_csv(io.StringIO(page.download("diagnostics")), index_col="label")
    assert diagnostics["rows"].tolist() == fit.diagnostics["rows"].tolist()


def test_a_click_on_the_heat_map_chooses_its_feature(page):
    page.page.locator("#heat-map").scroll_into_view_if_needed()
    wanted = page.column("cells", "feature")[6 * 4]
    place = page.page.evaluate("row => pixel('heat-map', 1.5, row)", 30 - 4 - 0.5)
    page.page.mouse.click(*place)
    page.page.wait_for_function(
        "name => document.getElementById('chosen-name').textContent === name", arg=wanted
    )
    assert page.complaints == []


def test_hostile_names_are_shown_as_text_and_run_nothing(open_page, tmp_path):
    fit = hostile.hostile_fit()
    path = fit.report(tmp_path / "report.html", title="<script>alert(3)</script> {{ 7*7 }}")
    page = open_page(path)
    assert page.page.locator("h1").text_content() == "<script>alert(3)</script> {{ 7*7 }}"
    order = fit.rank_features().order
    for name in order[:6]:
        at = order.index(name)
        page.page.evaluate("row => { model('features').selected.indices = [row]; }", at)
        assert page.chosen() == name
        assert page.column("spokes", "label") == hostile.LABELS
        assert page.page.locator("#chosen-edges td:first-child").all_text_contents() != []
    x, y = (page.column("spokes", name)[0] for name in ("x1", "y1"))
    assert hostile.LABELS[0] in page.tooltip("network", x, y)
    assert hostile.LABELS[2] in page.page.locator("#chosen-edges").inner_text()
    frame = pd.read_csv(io.StringIO(page.download("edges")))
    assert set(frame["feature"]) == set(hostile.FEATURES)
    assert set(frame["label"]) == set(hostile.LABELS)
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("img").count() == 0
    assert page.complaints == []
    assert page.requests == [path.as_uri()]


def test_untestable_edges_are_grey_and_say_why(open_page, tmp_path):
    labels = pd.DataFrame(
        {"a": [0, 1, 0, 1, 0, 1, 1, 0] * 20, "b": [0, 0, 1, 1, 0, 1, 0, 1] * 20, "same": 1}
    )
    generator = np.random.default_rng(1)
    features = pd.DataFrame(
        {"x": generator.normal(size=160), "constant": 1.0, "z": generator.normal(size=160)}
    )
    with pytest.warns(im.exceptions.DataWarning):
        model = im.IsingModel(labels, features)
    page = open_page(model.fit().report(tmp_path / "report.html"))
    effects = page.column("spokes", "effect")
    assert effects[2] == "not tested: the label is the same in every row (constant-label)"
    assert page.column("spokes", "color")[2] == "#B5B5B5"
    page.click_row("constant")
    assert page.chosen() == "constant"
    assert all("not tested" in text for text in page.column("spokes", "effect"))
    assert page.page.locator("#chosen-words").text_content() == (
        "None of its edges is significant. 3 of 3 edges could not be tested. The feature is the "
        "same in every row (constant-feature)."
    )
    assert page.complaints == []


@pytest.mark.filterwarnings(FEW_ROWS)
def test_many_features_and_labels_answer_a_click_at_once(open_page, tmp_path):
    generator = np.random.default_rng(0)
    features = generator.normal(size=(300, 2000))
    labels = (generator.normal(size=(300, 50)) + features[:, :50] > 0.8).astype(int)
    fit = im.IsingModel(labels, features).fit(method="ridge")
    page = open_page(fit.report(tmp_path / "report.html", pairs=0))
    order = page.column("features", "feature")
    assert page.rows()[:3] == order[:3]
    milliseconds = page.page.evaluate(
        """async () => {
          const start = performance.now();
          model("features").selected.indices = [2];
          await new Promise(requestAnimationFrame);
          await new Promise(requestAnimationFrame);
          return performance.now() - start;
        }"""
    )
    assert page.chosen() == order[2]
    # At once to a person; here some tenths of a second, with room for a busy machine.
    assert milliseconds < 2000
    page.page.click("#heat-on")
    assert page.page.locator("#heat-rows").text_content().startswith("Features 41–80 of 2,000")
    assert page.complaints == []


def test_a_narrow_window_shows_everything_in_one_column(open_page, example):
    page = open_page(example, width=420, height=900)
    left = [
        page.page.locator(f"#{name}").bounding_box()["x"] for name in ("feature-table", "network")
    ]
    assert left[0] == pytest.approx(left[1], abs=2)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.complaints == []


@pytest.mark.parametrize(
    ("width", "left_out"),
    [
        (1400, []),
        (1200, ["p"]),
        (390, ["p", "Strongest label", "Importance"]),
    ],
)
def test_columns_that_cannot_be_read_give_way(open_page, example, width, left_out):
    page = open_page(example, width=width)
    heads = page.page.locator(".slick-header-column")
    all_heads = ["#", "Feature", "Importance", "p", "Adjusted p", "Strongest label"]
    playwright.expect(heads).to_have_text([text for text in all_heads if text not in left_out])
    for head in heads.all():
        name, column = head.locator(".slick-column-name").bounding_box(), head.bounding_box()
        assert name["x"] >= column["x"]
        assert name["x"] + name["width"] <= column["x"] + column["width"]
    assert page.complaints == []


def test_a_network_without_features_is_a_report_too(open_page, tmp_path):
    labels = im.datasets.load_example().labels
    path = im.IsingModel(labels).fit().report(tmp_path / "report.html")
    page = open_page(path)
    assert page.page.locator("#features").count() == 0
    assert page.page.locator("#drawn-count").text_content() == "15 of 15 pairs drawn"
    assert page.complaints == []


def test_everything_says_what_it_is_adjusted_for(open_page, tmp_path):
    data = im.datasets.load_example()
    features = data.features.drop(columns=["age", "female"])
    covariates = data.features[["age", "female"]]
    fit = im.IsingModel(data.labels, features, covariates=covariates).fit()
    page = open_page(fit.report(tmp_path / "report.html"))
    given = page.page.locator(".given")
    assert given.all_text_contents() == ["given age, female"] * 7
    for name in ("features", "edges", "pairs", "interactions", "diagnostics"):
        table = pd.read_csv(io.StringIO(page.download(name)))
        assert table.columns[-1] == "adjusted_for"
        assert set(table["adjusted_for"]) == {"age, female"}
    narrow = open_page(tmp_path / "report.html", width=420, height=900)
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.complaints == narrow.complaints == []
