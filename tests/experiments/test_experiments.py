"""The paper's experiments: what they write, what they keep, and what they refuse."""

import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from mulan_files import write_mulan

import isingmlc as im
from isingmlc.commands import cli, names
from isingmlc.exceptions import DataError, DataWarning, FileError, SeparationWarning, warn
from isingmlc.experiments import (
    PARTS,
    comparisons,
    load_paper_posthoc,
    load_paper_table,
    reproduce,
    sources,
)
from isingmlc.experiments.curves import METHODS
from isingmlc.experiments.friedman import friedman
from isingmlc.experiments.index_page import keep_section, write_index
from isingmlc.experiments.paper import FRIEDMAN_PVALUES, MEASURES
from isingmlc.experiments.workshop import Unit, Workshop

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

AWKWARD = "<script>alert('$x_1$')</script>"


def run_part(part, folder, data=None, seed=0, n_jobs=1, **changed):
    """Run one part with few simulations, and write the page."""
    module = import_module(f"isingmlc.experiments.{PARTS[part]}")
    workshop = Workshop.open(folder, data, n_jobs, seed)
    section = module.run(workshop, replace(module.QUICK, **changed))
    keep_section(workshop, part, section, quick=False)
    write_index(workshop, PARTS)
    return section


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="session")
def mulan(tmp_path_factory):
    """Return a folder with small data sets under names of the paper."""
    folder = tmp_path_factory.mktemp("mulan")
    data = im.datasets.load_example()
    labels = data.labels.rename(columns={data.labels.columns[0]: AWKWARD})
    for name, train, test in (("scene", 200, 100), ("emotions", 100, 50)):
        (folder / name).mkdir()
        for part, rows in (("train", slice(train)), ("test", slice(train, train + test))):
            write_mulan(labels[rows], data.features[rows], folder / name / f"{name}-{part}")
        (folder / name / f"{name}-train.xml").rename(folder / name / f"{name}.xml")
    (folder / "CAL500").mkdir()
    write_mulan(labels[:600], data.features[:600], folder / "CAL500" / "CAL500")
    return folder


# Finished work


def test_finished_units_are_not_computed_again(tmp_path):
    calls = []

    def square(number):
        calls.append(number)
        return {"square": number**2}

    units = [Unit(f"of {number}", {"number": number}) for number in (1, 2)]
    first = Workshop.open(tmp_path).compute("squares", square, units)
    units.append(Unit("of 3", {"number": 3}))
    second = Workshop.open(tmp_path).compute("squares", square, units[::-1])
    assert first == [{"square": 1}, {"square": 4}]
    assert second == [{"square": 9}, {"square": 4}, {"square": 1}]
    assert calls == [1, 2, 3]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    calls = []

    def work(number, ready):
        calls.append(number)
        if number == 2 and len(calls) == 2:
            raise KeyboardInterrupt
        return number

    units = [Unit(str(number), {"number": number, "ready": True}) for number in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        Workshop.open(tmp_path).compute("work", work, units)
    assert Workshop.open(tmp_path).compute("work", work, units) == [1, 2, 3]
    assert calls == [1, 2, 2, 3]


def test_warnings_are_kept_with_results_and_shown_on_the_page(tmp_path, mulan):
    def doubtful(number):
        warn(f"{number} is odd", DataWarning)
        return number

    units = [Unit(str(number), {"number": number}) for number in (1, 3)]
    for _ in range(2):
        workshop = Workshop.open(tmp_path)
        workshop.compute("numbers", doubtful, units)
        assert workshop.warned == {"DataWarning": ["1 is odd", "3 is odd"]}
    with workshop.watch():
        warn("one more", DataWarning)
    assert len(workshop.warned["DataWarning"]) == 3


# Data sets


def test_data_sets_are_found_split_and_limited(mulan):
    found = sources.find_sources(sources.list_sets(), mulan)
    assert list(found) == ["scene", "CAL500", "emotions"]
    assert [source.is_split for source in found.values()] == [True, False, True]
    assert len({source.digest for source in found.values()}) == 3
    sentence = sources.absent_names(sources.list_sets(), found)
    assert "genbase" in sentence
    assert "scene" not in sentence
    assert sources.absent_names(found, found) == ""


def test_a_single_file_is_halved_and_cut_to_the_rows_of_the_paper(mulan):
    split = sources.load_split("CAL500", mulan, 0)
    assert len(split.train.labels) == len(split.test.labels) == 251
    assert not set(split.train.labels.index) & set(split.test.labels.index)
    again = sources.load_split.__wrapped__("CAL500", mulan, 0)
    other = sources.load_split.__wrapped__("CAL500", mulan, 1)
    assert again.train.labels.equals(split.train.labels)
    assert not other.train.labels.index.equals(split.train.labels.index)


def test_files_whose_features_differ_are_refused(tmp_path):
    data = im.datasets.load_example()
    (tmp_path / "yeast").mkdir()
    for part, columns in (("train", slice(0, 5)), ("test", slice(1, 6))):
        pair = (data.labels[:50], data.features.iloc[:50, columns])
        write_mulan(*pair, tmp_path / "yeast" / f"yeast-{part}")
    (tmp_path / "yeast" / "yeast-train.xml").rename(tmp_path / "yeast" / "yeast.xml")
    with pytest.raises(FileError, match=r"yeast-test.arff: its features are not those of"):
        sources.load_split("yeast", tmp_path, 0)


def test_labels_are_limited_by_the_training_rows(tmp_path):
    rng = np.random.default_rng(0)
    labels = pd.DataFrame(rng.random((80, 60)) < np.linspace(0.1, 0.9, 60))
    labels = labels.astype(int).add_prefix("y")
    features = pd.DataFrame(rng.normal(size=(80, 3))).add_prefix("x")
    (tmp_path / "medical").mkdir()
    for part, rows in (("train", slice(40)), ("test", slice(40, 80))):
        pair = (labels[rows], features[rows])
        write_mulan(*pair, tmp_path / "medical" / f"medical-{part}")
    (tmp_path / "medical" / "medical-train.xml").rename(tmp_path / "medical" / "medical.xml")
    train = im.datasets.load_mulan("medical", "train", tmp_path)
    for options, n_labels in (({}, 50), ({"n_labels": 20}, 20)):
        split = sources.load_split("medical", tmp_path, 0, **options)
        kept = im.datasets.limit_labels(train, n_labels)
        assert list(split.train.labels) == list(split.test.labels) == list(kept.labels)
        assert kept.labels.shape[1] == n_labels


# Rankings of artificial data


# Comparisons


@pytest.mark.parametrize("measure", MEASURES)
def test_tables_of_the_paper_give_its_own_comparison(measure):
    here = {name: load_paper_table(name) for name in MEASURES}
    compared = comparisons.list_comparisons(here, measure)
    assert {len(result.table) for result in compared.values()} == {13}
    tests = comparisons.run_friedman(here).query("measure == @measure")
    assert len(set(tests["p"])) == 1
    assert tests["p"].iloc[0] == pytest.approx(FRIEDMAN_PVALUES[measure], rel=0.25)
    assert tests["p printed"].dropna().tolist() == [FRIEDMAN_PVALUES[measure]]
    table = comparisons.beside_paper(measure, here[measure])
    differences = table[table["value"] == "difference"]
    assert (differences[list(METHODS)] == 0).all(axis=None)
    assert len(table) == 3 * 13


def test_pairs_have_the_printed_and_the_right_pvalues():
    here = {name: load_paper_table(name) for name in MEASURES}
    pairs = comparisons.compare_pairs(here).set_index(["measure", "method", "with"]).sort_index()
    printed = load_paper_posthoc("subset").loc["score", "lp-ig"]
    row = pairs.loc[("subset", "score", "lp-ig")]
    right = friedman(here["subset"]).posthoc.loc["score", "lp-ig"]
    assert row["paper, as printed"] == printed == 0.0556
    assert row["paper, all data sets"] == row["here, data sets of the paper"] == right
    assert right > printed
    assert pairs.loc["jaccard", "paper, as printed"].isna().all()


def test_data_sets_that_the_paper_has_not_are_compared_apart():
    table = load_paper_table("subset").loc[["scene", "yeast", "ArtData3"]]
    table.loc["flags"] = np.linspace(0, 1, 7)
    compared = comparisons.list_comparisons({"subset": table.assign(auto=0.5)}, "subset")
    sizes = {name: r.table.shape for name, r in compared.items()}
    assert sizes == {
        "here, data sets of the paper": (3, 7),
        "paper, the same data sets": (3, 7),
        "paper, all data sets": (13, 7),
        "here, all data sets and methods": (4, 8),
    }
    rows = comparisons.beside_paper("subset", table).groupby("dataset").size()
    assert rows.to_dict() == {"ArtData3": 3, "flags": 1, "scene": 3, "yeast": 3}


# The parts


@pytest.mark.filterwarnings(FEW_ROWS)
def test_networks_of_the_extreme_features_are_drawn_with_names_as_they_stand(tmp_path, mulan):
    section = run_part("figure-scene", tmp_path, mulan)
    table = pd.read_csv(tmp_path / "figure-scene.csv")
    data = im.datasets.load_mulan("scene", "train", mulan)
    with pytest.warns(SeparationWarning):
        order = im.rank_features(data, penalty=None).order
    assert table["feature"].unique().tolist() == [order[0], order[-1]]
    assert AWKWARD in table["label"].tolist()
    page = (tmp_path / "index.html").read_text()
    assert "SeparationWarning, in 1 piece(s) of work" in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert order[0] in section.text[0]


def test_an_absent_scene_is_said_and_nothing_is_drawn(tmp_path):
    (tmp_path / "data").mkdir()
    section = run_part("figure-scene", tmp_path / "out", tmp_path / "data")
    assert section.text[0].startswith("Absent, and left out everywhere: scene.")
    assert set(contents(tmp_path / "out")) == {"index.html"}


def test_score_statistics_grow_with_the_effect_and_the_rows(tmp_path):
    run_part("figure-score", tmp_path, n_simulations=15, sizes=(100, 300), effects=(0.0, 1.0))
    means = pd.read_csv(tmp_path / "figure-score.csv").pivot_table("mean", "a1", "n")
    # 15 draws of a chi-square with mean 1 and variance 2: within four standard errors.
    assert means.loc[0.0].to_numpy() == pytest.approx(1, abs=4 * np.sqrt(2 / 15))
    assert means.loc[1.0, 300] > 2 * means.loc[1.0, 100] > 10
    assert len(pd.read_csv(tmp_path / "figure-score-draws.csv")) == 2 * 2 * 15


@pytest.mark.slow
def test_roc_curves_have_the_mean_area(tmp_path):
    run_part("figure-roc", tmp_path, datasets=(3,), n_simulations=2)
    areas = pd.read_csv(tmp_path / "figure-roc-auc.csv").set_index("value")
    curves = pd.read_csv(tmp_path / "figure-roc.csv")
    for method in METHODS:
        curve = curves[curves["method"] == method]
        assert curve["tpr"].is_monotonic_increasing
        assert curve["tpr"].iloc[:-1].mean() == pytest.approx(areas.loc["AUC", method])
    assert areas.loc["AUC", "score"] > 0.95


def test_the_first_table_has_sizes_here_and_printed_ones_and_no_others(tmp_path, mulan):
    section = run_part("table1", tmp_path, mulan)
    table = pd.read_csv(tmp_path / "table1.csv").set_index("dataset")
    assert list(table.index) == list(sources.list_sets())
    assert table.loc["scene", ["n", "p", "K"]].tolist() == [300, 30, 6]
    assert table.loc["scene", ["n (paper)", "p (paper)", "K (paper)"]].tolist() == [2407, 294, 6]
    assert table.loc["genbase", ["n", "p", "K", "labelsets"]].isna().all()
    assert table.loc["genbase", "n (paper)"] == 662
    assert "genbase" in section.text[-1]


@pytest.mark.slow
def test_tables_have_all_methods_beside_the_paper(tmp_path, mulan):
    section = run_part(
        "tables",
        tmp_path,
        mulan,
        datasets=("scene", "genbase", "emotions"),
        n_simulations=1,
        n_sizes=2,
    )
    table = pd.read_csv(tmp_path / "table3-subset.csv").set_index(["dataset", "value"])
    assert list(table.columns) == [*METHODS, "forward", "ssc", "auto", "auto-ising"]
    assert table.index.unique("dataset").tolist() == ["scene", "emotions", "ArtData3", "ArtData4"]
    printed = load_paper_table("subset").loc["scene"]
    assert table.loc[("scene", "paper"), list(METHODS)].to_numpy() == pytest.approx(printed)
    difference = table.loc[("scene", "here")] - table.loc[("scene", "paper")]
    assert table.loc[("scene", "difference")].to_numpy() == pytest.approx(
        difference.to_numpy(), nan_ok=True
    )
    selections = pd.read_csv(tmp_path / "tables-selections.csv")
    assert len(selections) == 4 * 11
    assert ((selections[list(MEASURES)] >= 0) & (selections[list(MEASURES)] <= 1)).all(axis=None)
    assert selections["size"].between(1, 10).all()
    split = sources.load_split("scene", mulan, 0)
    options = {"grid": 2, "random_state": 0, "split": "random", "classifier": "chain"}
    options["max_features"] = 0.2
    chosen = im.select_features(split.train, method="br-ig", **options)
    expected = chosen.evaluate(split.test.labels, split.test.features)["subset"]
    assert table.loc[("scene", "here"), "br-ig"] == pytest.approx(expected)
    both = ["forward", "ssc"]
    ising = im.select_features(split.train, method=both, **options | {"classifier": "ising"})
    expected = ising.evaluate(split.test.labels, split.test.features)["subset"]
    assert table.loc[("scene", "here"), "auto-ising"] == pytest.approx(expected)
    rankings = selections.set_index(["dataset", "method"])["ranking"]
    assert rankings["scene", "auto-ising"] == ising.method
    assert any("genbase" in paragraph for paragraph in section.text)
    assert set(pd.read_csv(tmp_path / "tables-ranks.csv")["measure"]) == set(MEASURES)


@pytest.mark.slow
def test_tables_have_fewer_labels_beside_and_count_no_data_set_twice(tmp_path):
    generator = np.random.default_rng(0)
    labels = pd.DataFrame(generator.random((80, 22)) < 0.4).astype(int).add_prefix("y")
    features = pd.DataFrame(generator.normal(size=(80, 5))).add_prefix("x")
    folder = tmp_path / "data" / "genbase"
    folder.mkdir(parents=True)
    for part, rows in (("train", slice(50)), ("test", slice(50, 80))):
        write_mulan(labels[rows], features[rows], folder / f"genbase-{part}")
    (folder / "genbase-train.xml").rename(folder / "genbase.xml")
    methods = ("score", "l1", "lp-ig", "br-ig")
    options = {"datasets": ("genbase",), "n_simulations": 1, "n_sizes": 2, "methods": methods}
    section = run_part("tables", tmp_path / "out", tmp_path / "data", **options)
    table = pd.read_csv(tmp_path / "out" / "table2-hamming.csv").set_index(["dataset", "value"])
    values = ["here", "paper", "difference", "here, 20 labels", "difference, 20 labels"]
    assert table.loc["genbase"].index.tolist() == values
    assert table.loc["ArtData3"].index.tolist() == values[:3]
    split = sources.load_split("genbase", tmp_path / "data", 0, 20)
    with pytest.warns(DataWarning, match="finds nothing"):
        chosen = im.select_features(
            split.train,
            method="br-ig",
            max_features=0.2,
            grid=2,
            split="random",
            classifier="chain",
            random_state=0,
        )
    expected = chosen.evaluate(split.test.labels, split.test.features)["hamming"]
    found = table.loc[("genbase", "here, 20 labels"), "br-ig"]
    assert found == pytest.approx(expected)
    printed = table.loc[("genbase", "paper"), "br-ig"]
    assert table.loc[("genbase", "difference, 20 labels"), "br-ig"] == pytest.approx(
        found - printed
    )
    ranks = pd.read_csv(tmp_path / "out" / "tables-ranks.csv").set_index("compared")
    assert set(ranks.loc["here, all data sets and methods", "data sets"]) == {3}
    selections = pd.read_csv(tmp_path / "out" / "tables-selections.csv")
    assert selections.groupby(["dataset", "labels"]).size().to_dict() == {
        ("ArtData3", 50): 4,
        ("ArtData4", 50): 4,
        ("genbase", 20): 4,
        ("genbase", 50): 4,
    }
    assert any("20 most frequent labels" in paragraph for paragraph in section.text)


@pytest.mark.slow
def test_times_are_measured_for_all_methods_and_sizes(tmp_path):
    run_part(
        "figure-time",
        tmp_path,
        n=100,
        n_simulations=1,
        numbers_of_features=(5, 10),
        numbers_of_labels=(2, 5),
        labels_beside=2,
        features_beside=5,
    )
    table = pd.read_csv(tmp_path / "figure-time.csv")
    assert list(zip(table["p"], table["K"], strict=True)) == [(5, 2), (10, 2), (5, 5)]
    assert (table[list(METHODS)] > 0).all(axis=None)


# The page


def test_the_page_links_to_files_that_are_there_and_keeps_earlier_parts(tmp_path, mulan):
    run_part("figure-roc", tmp_path, datasets=(3,), n_simulations=1, seed=5)
    run_part("table1", tmp_path, mulan)
    page = (tmp_path / "index.html").read_text()
    targets = re.findall(r'(?:src|href)="([^"]+)"', page)
    local = [target for target in targets if not target.startswith(("#", "https://arxiv.org"))]
    assert {"figure-roc.png", "figure-roc.svg", "table1.csv"} <= set(local)
    assert all((tmp_path / target).is_file() for target in local)
    anchors = [target[1:] for target in targets if target.startswith("#")]
    assert anchors == ["figure-roc", "table1"]
    assert all(f'id="{anchor}"' in page for anchor in anchors)
    assert "seed: 5" in page
    assert "seed: 0" in page
    assert f"isingmlc {im.__version__}" in page
    assert str(tmp_path) not in page


# The function and the command


def test_quick_runs_are_marked(tmp_path):
    (tmp_path / "data").mkdir()
    page = reproduce(["table1"], tmp_path / "out", tmp_path / "data", quick=True)
    assert page == tmp_path / "out" / "index.html"
    assert "A quick look" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parts": "table7"}, "parts must be one of 'figure-scene', .* but is 'table7'"),
        ({"parts": []}, "parts must name at least one of figure-scene, .* but is empty"),
        ({"quick": "yes"}, "quick must be one of True, False, but is 'yes'"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0, but is -1"),
        ({"random_state": None}, "random_state must be a whole number of at least 0"),
        ({"out": 7}, "out must be a str or a path, but is of type int"),
    ],
)
def test_what_cannot_be_run_is_said_before_it_is(tmp_path, arguments, message):
    with pytest.raises(DataError, match=message):
        reproduce(**{"parts": "all", "out": tmp_path, **arguments})


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"file.out: the output folder cannot be written"):
        reproduce("all", tmp_path / "file" / "out")


def test_a_data_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileError, match=r"nothing: there is no such folder"):
        reproduce("table1", tmp_path / "out", tmp_path / "nothing")


def test_the_command_writes_the_page_and_names_it(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    arguments = ["reproduce", "table1", "--quick", "--data", str(tmp_path / "data")]
    assert cli.main([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.strip().endswith(str(tmp_path / "out" / "index.html"))


def test_the_command_offers_all_parts():
    assert tuple(PARTS) == names.EXPERIMENTS
