"""Reports in a real browser: Chromium, driven by Playwright.

The browser is the one that ``ISINGMLC_CHROMIUM`` names, or a Chromium or Chrome on the path.
"""

import io
from importlib.resources import files

import hostile
import numpy as np
import pandas as pd
import pytest

import isingmlc as im

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

pytest.importorskip("bokeh", reason="reports need Bokeh: pip install 'isingmlc[report]'")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

WIDTHS = (390, 800, 1280)
pytestmark = pytest.mark.browser
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
        """Names in the rows of the table of features, from above."""
        return self.page.locator("#rows th").all_text_contents()

    def table(self):
        """Return the table of features or edges, by the heads of its columns."""
        return self.page.evaluate(
            """() => [...document.getElementById("rows").children].map((row) =>
              Object.fromEntries([...row.cells].map((cell) =>
                [cell.dataset.head || "feature", cell.textContent])))"""
        )

    def click_row(self, name):
        self.page.locator("#rows th").get_by_text(name, exact=True).first.click()

    def sort(self, head):
        self.page.locator("#heads button", has_text=head).first.click()

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
def browser(chromium):
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=list(SWITCHES))
        yield started
        started.close()


@pytest.fixture(scope="module")
def open_page(browser):
    contexts = []

    def open_report(path, scheme="light", **viewport):
        size = {"width": 1400, "height": 1000, **viewport}
        contexts.append(browser.new_context(viewport=size, offline=True, color_scheme=scheme))
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
    """Return the open report of the bundled data; no test depends on what another one chose."""
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
    strongest = page.page.locator("#chosen-edges tr").first.locator("th")
    assert strongest.text_content() == edges["pvalue"].idxmin()
    assert page.complaints == []


def test_hovering_says_the_values_of_an_edge(page, fit):
    page.click_row("bmi")
    at = page.column("spokes", "label").index("diabetes")
    x, y = (page.column("spokes", name)[at] for name in ("x1", "y1"))
    text = page.tooltip("network", x, y)
    assert "diabetes" in text
    assert "goes with" in text
    assert "48.7" in text


def test_search_finds_every_edge(page, fit):
    page.page.fill("#search", "BMI")
    expected = fit.score_test()["bmi"].sort_values("pvalue", kind="stable")
    assert page.rows() == ["bmi"] * 6
    assert [row["label"] for row in page.table()] == list(expected.index)
    assert page.page.locator("#found").text_content() == "6 of 180 edges"
    # Asthma is not the label that goes most with bmi.
    page.page.fill("#search", "asthma bmi")
    (row,) = page.table()
    assert (row["feature"], row["label"]) == ("bmi", "asthma")
    assert float(row["statistic"]) == pytest.approx(expected.loc["asthma", "statistic"], abs=0.01)
    page.page.fill("#search", "no such thing")
    assert page.rows() == []
    page.page.fill("#search", "")
    assert len(page.rows()) == 30
    page.page.check("#only-significant")
    assert set(page.rows()) == set(fit.rank_features().select(alpha=0.05))
    page.page.uncheck("#only-significant")
    assert page.complaints == []


def test_a_label_has_a_list_of_its_features_that_can_be_sorted(open_page, example, fit):
    page = open_page(example)
    page.page.select_option("#view", label="asthma")
    edges = fit.score_test().to_frame(per="unit", refit=100).query("label == 'asthma'")
    edges = edges.set_index("feature")
    by_p = list(edges.sort_values("log10p", kind="stable").index)
    assert page.rows()[:5] == by_p[:5]
    assert page.page.locator("#found").text_content() == "30 of 30 edges"
    assert "label" not in page.table()[0]
    for head, column, is_rising in (
        ("Feature", "feature", True),
        ("Odds ratio", "coef", False),
        ("Statistic", "statistic", False),
        ("Adjusted p", "pvalue_adj", True),
    ):
        page.sort(head)
        values = edges.reset_index().set_index("feature", drop=False)[column]
        seen = values[page.rows()]
        assert seen.is_monotonic_increasing if is_rising else seen.is_monotonic_decreasing
        page.sort(head)
        seen = values[page.rows()]
        assert seen.is_monotonic_decreasing if is_rising else seen.is_monotonic_increasing
    page.click_row("bmi")
    assert page.chosen() == "bmi"
    assert page.complaints == []


def test_effects_are_odds_ratios_with_intervals(open_page, example, fit):
    page = open_page(example)
    page.page.fill("#search", "bmi diabetes")
    odds = fit.score_test().to_frame(exponentiate=True, refit=100)
    odds = odds.set_index(["feature", "label"])
    row = odds.loc["bmi", "diabetes"]
    assert row["estimate"] == "fitted"
    text = f"▲ {row['odds_ratio']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})"
    written = {one["label"]: one["odds ratio"] for one in page.table()}
    assert written["diabetes"] == text
    page.page.check("#per-sd")
    row = fit.score_test().to_frame(exponentiate=True, per="sd", refit=100)
    row = row.set_index(["feature", "label"]).loc["bmi", "diabetes"]
    text = f"▲ {row['odds_ratio']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})"
    written = {one["label"]: one["odds ratio"] for one in page.table()}
    assert written["diabetes"] == text
    table = pd.read_csv(io.StringIO(page.download("edges"))).set_index(["feature", "label"])
    assert set(table["per"]) == {"sd"}
    assert table.loc[("bmi", "diabetes"), "odds_ratio"] == pytest.approx(row["odds_ratio"], 1e-4)
    page.page.uncheck("#per-sd")
    # What is one step from the score has a star.
    page.page.fill("#search", "")
    page.page.select_option("#view", label="asthma")
    steps = odds.xs("asthma", level="label")["estimate"]
    for one in page.table():
        assert ("*" in one["odds ratio"]) == (steps[one["feature"]] == "one-step")
    assert steps.nunique() == 2
    assert page.complaints == []


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
    for name in ("statistic", "df", "log10p", "sign"):
        np.testing.assert_allclose(merged[name], merged[f"{name}_expected"], rtol=1e-5)
    for name in ("pvalue", "pvalue_adj"):
        np.testing.assert_allclose(merged[name], merged[f"{name}_expected"], rtol=1e-3)
    words = {1: "with", -1: "against"}
    assert merged["direction"].tolist() == merged["sign"].map(words).tolist()
    features = pd.read_csv(io.StringIO(page.download("features")), index_col="feature")
    table = fit.rank_features().to_frame()
    assert list(features.index) == list(table.index)
    np.testing.assert_allclose(features["importance"], table["importance"], rtol=1e-12)
    np.testing.assert_allclose(features["pvalue"], table["pvalue"], rtol=1e-12)
    assert features["strongest"].tolist() == table["strongest"].tolist()
    assert features.loc["exercise_hours", "direction"] == "against"
    assert features.loc["exercise_hours", "upper"] < 1
    pairs = pd.read_csv(io.StringIO(page.download("pairs")))
    strongest = fit.rank_features("products").pairs.loc["age"].sort_values(ascending=False)
    assert list(pairs) == [
        *("feature", "label", "with", "direction", "coef", "bse", "odds_ratio", "lower", "upper"),
        *("per", "estimate", "statistic", "sign"),
    ]
    mine = pairs[pairs["feature"] == "age"]
    np.testing.assert_allclose(mine["statistic"], strongest.head(10), rtol=1e-5)
    estimates = pairs["estimate"].value_counts()
    assert estimates["fitted"] + estimates["infinite"] == 100
    endless = pairs[pairs["estimate"] == "infinite"]
    assert (endless["odds_ratio"] == endless["lower"]).all()
    assert set(endless["lower"]) == {0}
    stepped = fit.score_test(["age"], products="given")
    of_steps = stepped.to_frame(exponentiate=True).set_index(["label", "with"])
    of_fits = fit.wald_test(["age"], products="given").to_frame(exponentiate=True)
    of_fits = of_fits.set_index(["label", "with"])
    for row in mine.to_dict("records"):
        pair = row["label"], row["with"]
        effects = of_fits if row["estimate"] == "fitted" else of_steps
        for name in ("odds_ratio", "lower", "upper"):
            assert row[name] == pytest.approx(effects.loc[pair, name], rel=1e-4)
        assert row["odds_ratio"] == pytest.approx(np.exp(row["coef"]), rel=1e-5)
        assert row["statistic"] == pytest.approx(of_steps.loc[pair, "statistic"], rel=2e-5)
        assert row["sign"] == np.sign(row["coef"]) == of_steps.loc[pair, "sign"]
        assert row["direction"] == words[row["sign"]]
    interactions = pd.read_csv(io.StringIO(page.download("interactions")))
    for row in interactions.itertuples():
        weight = fit.interactions.loc[row.first, row.second]
        assert row.interaction == pytest.approx(weight, rel=1e-5)
        assert row.odds_ratio == pytest.approx(np.exp(weight), rel=1e-5)
        assert row.direction == ("attract" if weight > 0 else "repel")
        assert row.lower < row.interaction < row.upper
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
        page.page.locator("#rows button").nth(order.index(name)).click()
        assert page.chosen() == name
        assert page.column("spokes", "label") == hostile.LABELS
        assert page.page.locator("#chosen-edges th").all_text_contents() != []
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
    assert page.column("spokes", "color")[2] == "#b5b5b5"
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
    fit = im.IsingModel(labels, features).fit(penalty=1.0)
    path = fit.report(tmp_path / "report.html")
    # The report may grow up to 5 MB; what it has today leaves room.
    assert path.stat().st_size < 4.5e6
    page = open_page(path)
    order = page.column("features", "feature")
    assert page.rows()[:3] == order[:3]
    milliseconds = page.page.evaluate(
        """async () => {
          const start = performance.now();
          document.querySelectorAll("#rows button")[2].click();
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


def test_a_network_without_features_is_a_report_too(open_page, tmp_path):
    labels = im.datasets.load_example().labels
    path = im.IsingModel(labels).fit().report(tmp_path / "report.html")
    page = open_page(path)
    assert page.page.locator("#features").count() == 0
    assert page.page.locator("#drawn-count").text_content() == "15 of 15 pairs drawn"
    assert page.complaints == []


# What everybody can read: all widths, light and dark, without a mouse, by the rules of axe-core

# Numbers and names on the page that do not fit into what holds them.
CUT = """() => {
  const cut = [];
  for (const cell of document.querySelectorAll("td, th, .card b, #chosen-facts span")) {
    if (!cell.offsetParent || !cell.textContent.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(cell);
    const text = range.getBoundingClientRect();
    const holder = cell.closest(".scroll, .card, section").getBoundingClientRect();
    const own = cell.getBoundingClientRect();
    const isOut = text.left < holder.left - 1 || text.right > holder.right + 1;
    if (isOut || text.right > own.right + 1 || text.left < own.left - 1) cut.push(cell.textContent);
  }
  return cut;
}"""
# Texts on a picture that end outside it, or on which others lie.
BESIDE = """(name) => {
  const plot = model(name);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "bold 12px sans-serif";
  const [x, text] = [column("pairs", "statistic"), column("pairs", "text")];
  return x.filter((value, at) => {
    const start = (value / plot.x_range.end) * plot.inner_width + 5;
    return start + pen.measureText(text[at]).width > plot.inner_width + 8;
  }).length;
}"""


@pytest.fixture(scope="module")
def axe():
    """Return axe-core, which a package for tests holds."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def complain(page, axe):
    """Return what axe-core finds fault with."""
    page.page.evaluate(axe)
    found = page.page.evaluate("axe.run()")
    assert found["passes"]
    return [(fault["id"], fault["nodes"][0]["html"]) for fault in found["violations"]]


def many_labels(n_labels):
    """Fit labels with long names, each of which two features go with."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(2000, n_labels + 5))
    pull = features[:, :n_labels] + 0.8 * features[:, 1 : n_labels + 1]
    labels = (generator.normal(size=pull.shape) + 0.6 * pull > 0.8).astype(int)
    words = ("hypertension", "chronic kidney disease", "asthma", "heart failure", "migraine")
    names = [f"{words[at % 5]} {at // 5 + 1}" for at in range(n_labels)]
    columns = [f"measure_of_something_{at}" for at in range(n_labels + 5)]
    frames = pd.DataFrame(labels, columns=names), pd.DataFrame(features, columns=columns)
    return im.IsingModel(*frames).fit()


@pytest.fixture(scope="module")
def by_size(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    # Pairs of the best features alone are tested, which takes a fraction of the time.
    reports = {n: many_labels(n).report(folder / f"{n}.html") for n in (20, 50)}
    return {6: example, **reports}


@pytest.mark.parametrize("n_labels", [6, 20, 50])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_and_axe_finds_no_fault(open_page, by_size, axe, n_labels, width):
    # Every width and every number of labels is seen light and dark.
    scheme = "light" if (n_labels + width) % 4 else "dark"
    page = open_page(by_size[n_labels], scheme, width=width, height=900)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.page.evaluate(CUT) == []
    page.page.select_option("#view", index=2)
    assert page.page.evaluate(CUT) == []
    page.page.check("#per-sd")
    page.page.fill("#search", "1")
    assert page.page.evaluate(CUT) == []
    assert page.page.evaluate(BESIDE, "pair-chart") == 0
    assert complain(page, axe) == []
    assert page.complaints == []


@pytest.mark.parametrize("width", [390, 1280])
def test_names_of_many_labels_are_legible(open_page, by_size, width):
    page = open_page(by_size[50], width=width, height=900)
    # A head of the heat map has a line of its own, and the buttons lead to all of them.
    shown = page.page.evaluate("model('heat-labels').factors.length")
    assert page.page.evaluate("model('heat-map').inner_width") / shown >= 13
    seen = set(page.page.evaluate("model('heat-labels').factors"))
    for _ in range(50):
        if page.page.locator("#heat-right").is_hidden() or page.page.is_disabled("#heat-right"):
            break
        page.page.click("#heat-right")
        seen |= set(page.page.evaluate("model('heat-labels').factors"))
    while page.page.is_enabled("#heat-left") and page.page.is_visible("#heat-left"):
        page.page.click("#heat-left")
        seen |= set(page.page.evaluate("model('heat-labels').factors"))
    assert len(seen) == 50
    # Around the circle too; names of significant edges stay whole.
    names = page.column("names", "text")
    radius = page.page.evaluate(
        "model('network').inner_height / (model('network').y_range.end * 2)"
    )
    assert 2 * np.pi * (radius + 12) / 50 >= 11.5
    bold = [at for at, style in enumerate(page.column("names", "style")) if style == "bold"]
    assert bold
    whole = page.column("labels", "name")
    assert all(names[at].split("  ")[0] == whole[at] for at in bold)
    assert page.complaints == []


def test_dark_pages_have_dark_pictures(open_page, example):
    light, dark = (open_page(example, scheme) for scheme in ("light", "dark"))
    grounds = []
    for page in (light, dark):
        style = "getComputedStyle(document.querySelector('section')).backgroundColor"
        grounds.append(page.page.evaluate(style))
    assert grounds == ["rgb(255, 255, 255)", "rgb(24, 34, 44)"]
    assert light.column("names", "color") != dark.column("names", "color")
    colors = "model('heat-map').left[0].major_label_text_color"
    assert light.page.evaluate(colors) != dark.page.evaluate(colors)
    assert light.page.evaluate("model('shades').palette[0]") == "#ffffff"
    # A change while the page is open is followed.
    light.page.emulate_media(color_scheme="dark")
    light.page.wait_for_function("() => model('shades').palette[0] === '#18222c'")
    assert light.column("names", "color") == dark.column("names", "color")
    assert light.complaints == dark.complaints == []


def test_everything_is_done_with_the_keyboard(open_page, example, fit):
    page = open_page(example)
    keyboard = page.page.keyboard

    def focused():
        return page.page.evaluate("document.activeElement.id || document.activeElement.textContent")

    def tab_to(wanted):
        for _ in range(60):
            keyboard.press("Tab")
            if focused().startswith(wanted):
                return
        pytest.fail(f"{wanted} is not reached with Tab")

    tab_to("Overview")
    tab_to("view")
    keyboard.type("asthma")
    assert page.page.locator("#found").text_content() == "30 of 30 edges"
    tab_to("search")
    keyboard.type("female")
    assert page.rows() == ["female"]
    keyboard.press("Control+A")
    keyboard.press("Delete")
    tab_to("only-significant")
    keyboard.press("Space")
    assert page.page.locator("#found").text_content().endswith("of 30 edges")
    tab_to("per-sd")
    keyboard.press("Space")
    assert set(page.page.locator(".per").all_text_contents()) == {"standard deviation"}
    tab_to("Feature")
    keyboard.press("Enter")
    assert page.rows() == sorted(page.rows())
    tab_to(page.rows()[0])
    keyboard.press("ArrowDown")
    assert page.chosen() == page.rows()[1]
    keyboard.press("ArrowUp")
    assert page.chosen() == page.rows()[0]
    tab_to("Edges as CSV")
    with page.page.expect_download() as coming:
        keyboard.press("Enter")
    assert coming.value.suggested_filename == "edges.csv"
    tab_to("threshold")
    before = page.page.evaluate("Array.from(model('drawn').indices).length")
    keyboard.press("End")
    assert page.page.evaluate("Array.from(model('drawn').indices).length") < before
    assert page.complaints == []
