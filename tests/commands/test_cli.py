"""The command line: every subcommand as a program, and in this process on good and bad input."""

import contextlib
import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mulan_files import write_mulan

import isingmlc as im
from isingmlc import model
from isingmlc.commands import cli, names
from isingmlc.inference import pvalues
from isingmlc.inference.combine import COMBINE
from isingmlc.inference.edges import PRODUCTS, UNITS
from isingmlc.inference.score_tests import PVALUES
from isingmlc.metrics import MEASURES
from isingmlc.networks import network_power
from isingmlc.ranking.methods import RANKING_METHODS
from isingmlc.results import group_networks
from isingmlc.selection import classifiers, folds

LABELS = "hypertension,diabetes,arthritis,depression,asthma,heart_disease"
CONDITIONS = LABELS.split(",")


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """Return a folder with the bundled data in every form that can be read."""
    folder = tmp_path_factory.mktemp("survey")
    frame = data.labels.join(data.features)
    frame.to_csv(folder / "survey.csv", index=False)
    frame.to_csv(folder / "survey.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "survey.parquet")
    write_mulan(data.labels, data.features, folder / "survey")
    return folder


@pytest.fixture(scope="module")
def survey(folder):
    return str(folder / "survey.csv")


@pytest.fixture
def call(capsys):
    """Run the command line in this process; give its exit code, output and errors."""

    def run(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        # The bundled survey has counts, which every command says are used as numbers.
        lines = said.err.splitlines(keepends=True)
        return code, said.out, "".join(line for line in lines if ": used as numbers" not in line)

    return run


def run_program(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "isingmlc", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        **options,
    )


def succeed(*arguments, **options):
    done = run_program(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done


# Every subcommand as a program, on bundled data


def test_demo_prints_the_summary_and_the_ranking_and_writes_a_report(data, tmp_path):
    pytest.importorskip("bokeh")
    done = succeed("demo", "--top", "3", cwd=tmp_path)
    assert done.stderr == ""
    assert "simulated" in done.stdout.splitlines()[0]
    assert "Ising Model Results" in done.stdout
    top = im.rank_features(data.labels, data.features).top(3)
    ranking = done.stdout.partition("The 3 best of 30 features")[2].splitlines()
    assert tuple(line.split()[0] for line in ranking[4:7]) == top
    report = tmp_path / "isingmlc-demo.html"
    assert str(report.resolve()) in done.stdout
    assert "<html" in report.read_text(encoding="utf-8")


def test_fit_as_a_program_prints_the_summary(data, survey):
    done = succeed("fit", survey, "--labels", LABELS)
    summary = im.IsingModel(data.labels).fit().summary()
    assert done.stdout.strip() == str(summary).strip()
    assert done.stderr == ""


def test_simulate_and_rank_as_programs_can_be_piped():
    made = succeed(
        "simulate", "artdata2", "--n-samples", "300", "--n-features", "12", "--seed", "3"
    )
    expected = im.datasets.make_artdata(2, n_samples=300, n_features=12, random_state=3)
    drawn = pd.read_csv(io.StringIO(made.stdout))
    pd.testing.assert_frame_equal(
        drawn, expected.labels.join(expected.features), check_exact=False, rtol=1e-12
    )
    ranked = succeed(
        "rank", "-", "--labels", "y*", "--method", "score", "--top", "5", input=made.stdout
    )
    ranking = im.rank_features(expected)
    assert ranked.stdout.strip() == str(ranking.summary(5)).strip()


def test_programs_answer_broken_input_with_one_line_and_exit_code_two(tmp_path):
    (tmp_path / "broken.csv").write_text("a,b,x\n0,1,2\n1,5,3\n0,0,1\n", encoding="utf-8")
    (tmp_path / "broken.npz").write_bytes(b"not a fit")
    wrong = "broken.csv: labels must be coded 0/1, but column 'b' holds 0, 1, 5"
    broken = {"rank": (("broken.csv", "--labels", "a,b"), wrong)}
    broken["simulate"] = (("network", "--fit", "broken.npz"), "broken.npz: it is a text file")
    # Two at a time: most of their time is taken by imports.
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(
            lambda command: run_program(command, *broken[command][0], cwd=tmp_path), broken
        )
    for (command, (_, message)), program in zip(broken.items(), done, strict=True):
        assert (program.returncode, program.stdout) == (2, "")
        assert program.stderr.startswith(f"isingmlc {command}: error: ")
        assert message in program.stderr
        assert program.stderr.count("\n") == 1


def test_a_reader_that_stops_early_gets_no_traceback():
    with subprocess.Popen(
        [sys.executable, "-m", "isingmlc", "simulate", "timing-data"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


# What the parser knows


def test_names_offered_are_those_that_exist():
    assert set(names.RANKINGS) == set(RANKING_METHODS)
    assert names.METHODS == model.METHODS
    assert names.ESTIMATORS == network_power.ESTIMATORS
    assert names.MEASURES == network_power.MEASURES
    assert names.COMPARED == group_networks.METHODS
    assert set(names.PVALUES) == set(PVALUES)
    assert {None, *names.PRODUCTS} == set(PRODUCTS)
    assert names.COMBINE == COMBINE
    assert set(names.METRICS) == set(MEASURES)
    assert names.CLASSIFIERS == classifiers.CLASSIFIERS
    assert names.SPLITS == folds.SPLITS
    assert names.UNITS == UNITS
    assert set(pvalues.METHODS) - set(names.ADJUSTMENTS) <= {"lfdr"}
    assert set(names.ADJUSTMENTS) <= set(pvalues.METHODS)


def test_version_and_help_answer(call):
    assert call("--version")[:2] == (0, f"isingmlc {im.__version__}\n")
    code, out, _ = call("--help")
    assert code == 0
    assert all(f"\n    {command} " in out for command in cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_of_every_command_has_examples(call, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = call(command, "--help")
    assert (code, err) == (0, "")
    assert f"\nexamples:\n  isingmlc {command}" in out
    assert max(map(len, out.partition("\nexamples:")[0].splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "isingmlc: error: the following arguments are required: command"),
        (("dance",), "invalid choice: 'dance'"),
        (("rank", "a.csv", "--method", "magic"), "argument --method: invalid choice: 'magic'"),
        (("rank", "a.csv", "--option", "keep"), "must be of the form name=value, but is 'keep'"),
        (("rank", "a.csv", "--option", "depth=3"), "method 'score' has no option 'depth'"),
        (("rank", "a.csv", "--method", "oner", "--covariates", "age"), "given covariates"),
        (("rank", "a.csv", "--labels", ","), "must hold names separated by commas"),
        (("rank", "a.csv", "--labels", "y", "--xml", "a.xml"), "not allowed with argument"),
        (("rank", "a.csv", "--out", "no/such/folder/a.csv"), "there is no folder no/such/folder"),
        (("rank", "a.csv", "--out", "."), ". is a folder"),
        (("rank", "a.csv", "--out", "a.xlsx"), "Known are .txt, .csv, .json, .parquet, .pq, .tex;"),
        (
            ("rank", "a.csv", "--out", "a.tex", "--contributions"),
            "Only the summary can be written as LaTeX",
        ),
        (
            ("fit", "a.csv", "--table", "diagnostics", "--format", "latex"),
            "Only the summary can be",
        ),
        (("describe", "a.csv", "--out", "a.tex"), "Known are .txt, .csv, .json, .parquet, .pq;"),
        (("simulate", "example", "--out", "a.tex"), "Known are .csv, .json, .parquet, .pq;"),
        (("rank", "a.csv"), "nothing says which columns of a.csv are labels"),
        (
            ("test", "a.csv", "--method", "wald", "--pvalue", "chi2"),
            "--pvalue is for --method score, but",
        ),
        (("fit", "a.csv", "--gamma", "1"), "--gamma is for --method l1, but --method is nodewise"),
        (
            ("fit", "a.csv", "--method", "joint", "--penalty", "2"),
            "--penalty is for --method nodewise",
        ),
        (("report", "a.csv", "--penalty", "ridge"), "must be none, firth or a finite number above"),
        (
            ("fit", "a.csv", "--method", "l1", "--neighbors", "0"),
            "--neighbors is for --method nodewise",
        ),
        (("test", "a.csv", "--method", "wald", "--seed", "0"), "--seed is for --method score, but"),
        (("rank", "a.csv", "--method", "oner", "--neighbors", "2"), "penalty and neighbors"),
        *(
            (
                (command, "a.csv", "--neighbors", value),
                "--neighbors: must be ebic or a whole number of at least 0, but is",
            )
            for command in ("fit", "test", "rank", "select", "report")
            for value in ("-1", "bic", "2.5")
        ),
        (
            ("test", "a.csv", "--penalty", "-1"),
            "--penalty: must be none, firth or a finite number above 0, but",
        ),
        (("fit", "a.csv", "--alpha", "95"), "--alpha: must be a number above 0 and below 1, but"),
        (("select", "a.csv", "--method", "score,magic"), "there is no ranking 'magic'"),
        (("rank", "a.csv", "--n-features", "5"), "method 'score' has no option 'n_features'"),
        (("rank", "a.csv", "--method", "ssc", "--stop", "ebic"), "'ssc' has no option 'stop'"),
        (
            ("rank", "a.csv", "--method", "ssc", "--n-features", "5", "-o", "n_features=6"),
            "--n-features and --option n_features=… say the same",
        ),
        (("select", "a.csv", "--method", "auto", "--combine", "sum"), "without p-values. Leave"),
        (("select", "a.csv", "--cov-type", "cluster"), "Add --groups COLUMN"),
        (("select", "a.csv", "--table", "predictions"), "needs other rows"),
        (("simulate", "xor-example", "--noise", "shared"), "--noise has no meaning for xor-ex"),
        (("simulate", "or-example", "--n-labels", "2"), "whose options are --n-samples, --seed."),
        (("simulate", "network"), "draws from --fit FILE or from --interactions FILE"),
        (("simulate", "artdata1", "--n-features", "3"), "n_features must be a whole number"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_two(call, arguments, message):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert err.startswith("isingmlc")


# Input


def rank_json(call, *arguments):
    code, out, err = call("rank", *arguments, "--format", "json")
    assert code == 0, err
    return [row["feature"] for row in json.loads(out)]


def test_all_kinds_of_files_give_the_same_ranking(call, folder, data, monkeypatch):
    order = list(im.rank_features(data.labels, data.features).order)
    assert rank_json(call, folder / "survey.csv", "--labels", LABELS) == order
    assert rank_json(call, folder / "survey.tsv", "--labels", LABELS) == order
    assert rank_json(call, folder / "survey.parquet", "--labels", LABELS) == order
    assert rank_json(call, folder / "survey.arff") == order
    assert rank_json(call, folder / "survey.arff", "--xml", folder / "survey.xml") == order
    assert rank_json(call, folder / "survey.csv", "--xml", folder / "survey.xml") == order
    assert rank_json(call, folder / "survey.arff", "--labels", LABELS) == order
    content = (folder / "survey.tsv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert rank_json(call, "-", "--labels", LABELS, "--sep", "\\t") == order


def test_columns_are_chosen_and_dropped_by_name_and_pattern(call, folder):
    rows = rank_json(
        call,
        folder / "survey.csv",
        "--labels",
        "asthma,*betes",
        "--labels",
        "arthritis",
        "--features",
        "bmi,age,s*",
        "--drop",
        "s[!m]*",
    )
    assert sorted(rows) == ["age", "bmi", "smoker"]


def test_rows_with_missing_values_stop_or_are_dropped(call, data, tmp_path):
    features = data.features.astype(float)
    features.iloc[:40, 0] = np.nan
    path = tmp_path / "gaps.csv"
    data.labels.join(features).to_csv(path, index=False)
    code, out, err = call("describe", path, "--labels", LABELS, "--format", "json")
    assert (code, err) == (0, "")
    assert [json.loads(out)[0][name] for name in ("n", "missing")] == [1500, 40]
    code, _, err = call("describe", path, "--labels", LABELS, "--missing", "raise")
    assert code == 2
    assert f"{path}: features has missing values in 40 row(s)" in err
    assert "Drop those rows with --missing drop, or fill them in first." in err
    code, out, err = call(
        "describe", path, "--labels", LABELS, "--missing", "drop", "--format", "json"
    )
    assert code == 0
    assert json.loads(out)[0]["n"] == 1460
    assert err == (
        "isingmlc describe: warning: 40 of 1500 rows have missing values and were dropped: 'age' "
        "lacks 40 values (40 of these rows lack nothing else).\n"
    )


def test_warnings_name_options_as_they_are_typed(call, data, tmp_path):
    path = tmp_path / "named.csv"
    frame = data.labels.join(data.features[["age"]])
    frame["count"] = np.resize([0.5, 1.5], len(frame))
    frame.to_csv(path, index=False)
    code, _, err = call("rank", path, "--labels", LABELS, "--weights", "count")
    assert code == 0
    assert "name them with --sampling-weights." in err
    assert "groups=" not in err


@pytest.mark.parametrize("scan", ["--scan", "--no-scan"])
def test_missing_categories_are_counted_once(call, tmp_path, scan):
    if scan == "--scan":
        pytest.importorskip("duckdb")
    data = im.datasets.load_example()
    frame = data.labels.join(data.features[["age", "bmi"]].astype(float))
    frame["smoking"] = np.resize(np.array(["never", "former", "current"], dtype=object), 1500)
    frame.loc[:29, "smoking"] = None
    frame.loc[20:39, "bmi"] = None
    path = tmp_path / "gaps.parquet"
    frame.to_parquet(path)
    code, _, err = call("rank", path, "--labels", LABELS, scan, "--missing", "drop")
    assert code == 0
    assert (
        "40 of 1500 rows have missing values and were dropped: 'smoking' lacks 30 values (20 of "
        "these rows lack nothing else), 'bmi' 20 (10)."
    ) in err


BROKEN = {
    "unknown label": ("a,b,x\n0,1,2\n1,0,3\n", "a,zzz", "asks for 'zzz', which no column matches"),
    "not 0/1": ("a,b,x\n0,3,2\n1,0,3\n1,1,1\n", "a,b", "column 'b' holds 0, 1, 3"),
    "numbers and text": (
        "a,b,x\n" + "0,1,1\n1,0,2\n1,1,3\n0,1,unknown\n" * 5,
        "a,b",
        "column 'x' holds numbers besides 'unknown'. Mend these cells, or leave the column out",
    ),
    "identifier": (
        "a,b,x\n" + "".join(f"{at % 2},{at % 3 == 0:d},person {at}\n" for at in range(30)),
        "a,b",
        "column 'x' has 30 different texts in 30 rows, like an identifier. Leave it out with --dr",
    ),
    "dates": (
        "a,b,x\n"
        + "".join(f"{at % 2},{at % 3 == 0:d},2026-01-{at % 25 + 1:02}\n" for at in range(500)),
        "a,b",
        "column 'x' holds 25 different dates or times. Leave it out with --drop NAMES, or turn it",
    ),
    "gaps everywhere": (
        "a,b,x,z\n" + "0,1,red,1\n1,,,2\n1,1,blue,\n0,1,blue,5\n" * 5,
        "a,b",
        "labels and features have missing values in 10 row(s): labels in column(s) 'b' (5); "
        "features in column(s) 'x' (5), 'z' (5). Drop those rows with --missing drop",
    ),
    "other separator": ("a;b;x\n0;1;2\n1;0;3\n", "a,b", 'There is one column only; try sep=";"'),
    "constant labels": ("a,b,x\n0,0,2\n" + 9 * "0,0,3\n", "a,b", "no label varies"),
    "ragged": ("a,b,x\n0,1,2\n1,0,3,4,5\n", "a,b", "it cannot be read as csv"),
}


@pytest.mark.parametrize(("content", "labels", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_tables_are_one_line_and_exit_code_two(call, tmp_path, content, labels, message):
    path = tmp_path / "broken.csv"
    path.write_text(content, encoding="utf-8")
    code, out, err = call("rank", path, "--labels", labels)
    assert (code, out) == (2, "")
    assert message in err
    said = (": warning: ", " used as categories, ")
    assert [line for line in err.splitlines() if not any(each in line for each in said)] == [
        err.splitlines()[-1]
    ]


def test_files_that_are_something_else_are_said_to_be(call, tmp_path, folder):
    noise = bytes(range(256)) * 4
    for name, message in {
        "noise.csv": "it cannot be read as csv",
        "noise.parquet": "it cannot be read as parquet",
        "noise.arff": "byte 0x80 is not valid utf-8",
        "noise.xlsx": "the kind of file is not known by its ending",
    }.items():
        (tmp_path / name).write_bytes(noise)
        code, _, err = call("describe", tmp_path / name, "--labels", "a")
        assert code == 2
        assert f"{tmp_path / name}" in err
        assert message in err
        assert err.count("\n") == 1
    alone = tmp_path / "alone.arff"
    alone.write_bytes((folder / "survey.arff").read_bytes())
    code, _, err = call("fit", alone)
    assert code == 2
    assert "nothing says which attributes are labels" in err
    assert "--sep is for tables" in call("fit", alone, "--sep", ";")[2]
    whole = folder / "survey.arff"
    assert "--groups names a column of a table" in call("fit", whole, "--groups", "age")[2]
    assert "this is a folder" in call("describe", tmp_path, "--labels", "a")[2]


# Output


def test_formats_hold_the_same_table(call, survey, tmp_path):
    arguments = ("rank", survey, "--labels", LABELS, "--top", "7")
    _, out, err = call(*arguments, "--format", "csv")
    expected = pd.read_csv(io.StringIO(out))
    assert err == ""
    assert len(expected) == 7
    for ending, read in {
        ".csv": pd.read_csv,
        ".json": pd.read_json,
        ".parquet": pd.read_parquet,
    }.items():
        path = tmp_path / f"ranking{ending}"
        code, out, err = call(*arguments, "--out", path)
        assert (code, out, err) == (0, "", f"isingmlc rank: wrote {path}\n")
        pd.testing.assert_frame_equal(read(path), expected, check_dtype=False)
    shown = call(*arguments)[1]
    assert call(*arguments, "--out", tmp_path / "ranking.txt")[0] == 0
    assert (tmp_path / "ranking.txt").read_text(encoding="utf-8") == shown


def test_summaries_are_written_as_latex(call, data, survey, tmp_path):
    results = im.IsingModel(data).fit()
    arguments = (survey, "--labels", LABELS)
    code, out, _ = call("test", *arguments, "--format", "latex")
    assert (code, out.strip()) == (0, results.score_test().summary(20).as_latex().strip())
    path = tmp_path / "ranking.tex"
    code, out, err = call("rank", *arguments, "--top", "3", "--out", path)
    assert (code, out, err) == (0, "", f"isingmlc rank: wrote {path}\n")
    expected = im.rank_features(data).summary(3).as_latex()
    assert path.read_text(encoding="utf-8").strip() == expected.strip()
    assert r"heart\_disease" in call("fit", *arguments, "--format", "latex")[1]


def test_parquet_goes_through_a_pipe_and_json_holds_no_nan(tmp_path, capfdbinary):
    pairs = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 0], "c": [0, 1, 1, 0]})
    rows = pd.concat([pairs] * 5)
    rows.to_csv(tmp_path / "pairs.csv", index=False)
    code = cli.main(
        ["fit", str(tmp_path / "pairs.csv"), "--labels", "a,b,c", "--format", "parquet"]
    )
    sys.stdout.flush()
    assert code == 0
    said = capfdbinary.readouterr()
    frame = pd.read_parquet(io.BytesIO(said.out))
    assert np.isinf(frame["coef"]).any()
    assert b"isingmlc fit: warning: " in said.err
    cli.main(["fit", str(tmp_path / "pairs.csv"), "--labels", "a,b,c", "--format", "json"])
    cells = json.loads(capfdbinary.readouterr().out, parse_constant=pytest.fail)
    assert [row["coef"] for row in cells if row["coef"] in ("Infinity", "-Infinity")]
    assert any(row["std err"] is None for row in cells)


def test_parquet_is_not_for_terminals_and_needs_its_package(call, survey, monkeypatch):
    arguments = ("rank", survey, "--labels", LABELS, "--format", "parquet")
    with monkeypatch.context() as patch:
        patch.setattr(sys.stdout, "isatty", lambda: True)
        code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert "Name a file with --out FILE" in err

    def refuse(*_, **__):
        raise ImportError("no engine")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", refuse)
    code, _, err = call(*arguments)
    assert code == 2
    assert "Try python -m pip install pyarrow" in err


def test_characters_that_a_terminal_lacks_are_no_error(data, survey):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with contextlib.redirect_stdout(stream):
        code = cli.main(["rank", survey, "--labels", LABELS, "--method", "products"])
    assert code == 0
    assert b"depression ? asthma" in stream.buffer.getvalue()


def test_a_file_that_cannot_be_written_is_an_error(call, survey, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    code, _, err = call("rank", survey, "--labels", LABELS, "--out", tmp_path / "a.csv")
    assert code == 2
    assert "cannot be written (No space left on device)" in err


# The subcommands


@pytest.mark.parametrize("method", ["score", "products", "l1", "forward", "lp-ig"])
def test_every_method_ranks(call, data, survey, method):
    code, out, err = call("rank", survey, "--labels", LABELS, "--method", method, "--top", "1")
    assert (code, err) == (0, "")
    assert im.rank_features(data.labels, data.features, method).top(1)[0] in out


def test_rank_passes_options_on(call, data, survey):
    kept = rank_json(
        call,
        survey,
        *("--labels", LABELS, "--method", "score+l1", "-o", "keep=0.1", "--penalty", "1"),
        *("--penalty", "2", "--option", "n-jobs=1"),
    )
    ranking = im.rank_features(data.labels, data.features, "score+l1", keep=0.1, penalty=2.0)
    assert kept == list(ranking.order)


def test_rank_has_flags_for_picking_one_after_the_other(call, data, survey):
    arguments = ("rank", survey, "--labels", LABELS, "--method", "forward", "--format", "csv")
    flags = ("--n-features", "3", "--stop", "ebic")
    _, out, _ = call(*arguments, *flags)
    ranking = im.rank_features(data, method="forward", n_features=3, stop="ebic")
    assert pd.read_csv(io.StringIO(out))["feature"].tolist() == list(ranking.order)


@pytest.mark.parametrize("given", ["ebic"])
def test_label_models_may_have_few_labels(call, data, survey, tmp_path, given):
    neighbors = int(given) if given.isdecimal() else given
    results = im.IsingModel(data.labels, data.features).fit(neighbors=neighbors)
    arguments = (survey, "--labels", LABELS, "--neighbors", given)
    shown = f"{im.IsingModel(data.labels).fit(neighbors=neighbors).summary()}".rstrip()
    assert call("fit", *arguments) == (0, f"{shown}\n", "")
    shown = f"{results.score_test().summary()}".rstrip()
    assert call("test", *arguments) == (0, f"{shown}\n", "")
    assert "of the 5 other labels on average" in shown
    shown = f"{results.rank_features().summary()}".rstrip()
    assert call("rank", *arguments, "--penalty", "none") == (0, f"{shown}\n", "")
    assert f"neighbors={neighbors!r}" in shown
    chosen = im.select_features(data, neighbors=neighbors, alpha=0.05)
    assert call("select", *arguments, "--alpha", "0.05")[:2] == (0, f"{chosen.summary()}\n")
    assert f"score (neighbors={given})" in str(chosen.summary())


@pytest.mark.parametrize(
    ("arguments", "method", "options"),
    [
        (("--products", "joint"), "score_test", {"products": "joint"}),
        (("--products", "individual"), "score_test", {"products": "individual"}),
        (("--method", "lr", "--jobs", "1"), "lr_test", {}),
        (("--method", "wald", "--products", "joint"), "wald_test", {"products": "joint"}),
        (("--pvalue", "saddlepoint", "--min-count", "5"), "score_test", {"pvalue": "saddlepoint"}),
        (
            ("--pvalue", "permutation", "--permutations", "20", "--seed", "1"),
            "score_test",
            {"pvalue": "permutation", "n_permutations": 20, "random_state": 1},
        ),
    ],
)
def test_test_takes_every_kind_of_test(call, data, survey, arguments, method, options):
    few = ["age", "bmi", "pets"]
    code, out, err = call(
        *("test", survey, "--labels", LABELS, "--features", ",".join(few), *arguments),
        *("--adjust", "holm", "--within", "label", "--format", "csv"),
    )
    assert (code, err) == (0, "")
    results = im.IsingModel(data.labels, data.features[few]).fit()
    expected = getattr(results, method)(**options).to_frame("holm", "label")
    expected = expected.sort_values("log10p", kind="stable", ignore_index=True)
    found = pd.read_csv(io.StringIO(out), keep_default_na=False, na_values=[""])
    assert found["label"].tolist() == expected["label"].tolist()
    np.testing.assert_allclose(found["pvalue_adj"], expected["pvalue_adj"], rtol=1e-9)


def test_fit_writes_each_of_its_tables(call, data, survey):
    results = im.IsingModel(data.labels, data.features).fit(penalty=2.0)
    arguments = ("fit", survey, "--labels", LABELS, "--penalty", "2")
    expected = {
        "coefficients": results.to_frame(0.1).reset_index(),
        "interactions": results.interactions.rename_axis("label").reset_index(),
        "thresholds": results.thresholds.rename_axis("label").reset_index(),
        "diagnostics": results.diagnostics.rename_axis("label").reset_index(),
    }
    for table, frame in expected.items():
        _, out, _ = call(*arguments, "--alpha", "0.1", "--table", table, "--format", "csv")
        found = pd.read_csv(io.StringIO(out), keep_default_na=False, na_values=[""])
        assert found.columns.tolist() == frame.columns.tolist()
        assert found.iloc[:, 0].tolist() == frame.iloc[:, 0].tolist()
        assert len(found) == len(frame)
        numbers = frame.select_dtypes("number").columns
        np.testing.assert_allclose(found[numbers], frame[numbers])
    assert "hypertension" in call(*arguments, "--table", "thresholds")[1]


def test_fit_looks_at_labels_alone(call, data, tmp_path):
    features = data.features.astype(float)
    features.iloc[:40, 0] = np.nan
    path = tmp_path / "gaps.csv"
    data.labels.join(features).assign(id="person").to_csv(path, index=False)
    arguments = ("fit", path, "--labels", LABELS)
    shown = f"{im.IsingModel(data.labels).fit().summary()}".rstrip()
    assert call(*arguments) == (0, f"{shown}\n", "")
    assert call(*arguments, "--missing", "drop") == (0, f"{shown}\n", "")
    name = data.feature_names[0]
    code, _, err = call(*arguments, "--features", name)
    assert code == 2
    assert "features has missing values in 40 row(s)" in err


# Covariates and categories


@pytest.fixture(scope="module")
def cohort(data):
    """Return the bundled data with text among the features."""
    rng = np.random.default_rng(4)
    features = data.features[["age", "bmi", "smoker", "hay_fever"]]
    sex = np.where(data.features["female"] == 1, "f", "m")
    region = rng.choice(["north", "south", "west"], len(features))
    job = rng.choice(["clerk", "nurse", "teacher"], len(features))
    return data.labels.join(features).assign(sex=sex, region=region, job=job)


@pytest.fixture(scope="module")
def cohort_csv(cohort, tmp_path_factory):
    path = tmp_path_factory.mktemp("cohort") / "cohort.csv"
    cohort.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def adjusted(cohort):
    """Return the fit that the commands should come to."""
    right = "bmi + smoker + hay_fever + job"
    left = " + ".join(CONDITIONS)
    return im.IsingModel.from_formula(
        f"{left} ~ {right}", cohort, covariates="age + sex + region"
    ).fit()


GIVEN = ("--labels", LABELS, "--covariates", "age,sex", "--covariates", "reg*")


def test_covariates_are_adjusted_for_and_are_no_features(call, cohort_csv, adjusted):
    code, out, err = call("test", cohort_csv, *GIVEN, "--format", "json")
    assert code == 0
    found = pd.DataFrame(json.loads(out)).set_index(["feature", "label"])
    wanted = adjusted.score_test().to_frame().set_index(["feature", "label"])
    assert set(found.index) == set(wanted.index)
    found = found.loc[wanted.index]
    np.testing.assert_allclose(found["statistic"], wanted["statistic"], rtol=1e-10)
    assert set(found["adjusted_for"]) == {"age, sex, region"}
    assert err.splitlines() == [
        "isingmlc test: features used as categories, the reference level first: job (clerk, "
        "nurse, teacher)",
        "isingmlc test: covariates used as categories, the reference level first: sex (f, m), "
        "region (north, south, west)",
    ]


@pytest.mark.parametrize("method", ["score", "wald"])
def test_the_columns_of_a_category_are_tested_together(call, cohort_csv, adjusted, method):
    arguments = ("--unit", "term", "--method", method, "--format", "csv")
    code, out, _ = call("test", cohort_csv, *GIVEN, *arguments)
    assert code == 0
    found = pd.read_csv(io.StringIO(out)).set_index(["feature", "label"])
    wanted = getattr(adjusted, f"{method}_test")(unit="term").to_frame()
    wanted = wanted.set_index(["feature", "label"])
    assert {name for name, _ in found.index} == {"bmi", "smoker", "hay_fever", "job"}
    np.testing.assert_allclose(found.loc[wanted.index]["statistic"], wanted["statistic"], rtol=1e-6)
    assert set(found.loc["job", "df"]) == {2}


def test_fit_has_covariates_below_the_labels(call, cohort_csv, adjusted, tmp_path):
    path = tmp_path / "fit.npz"
    code, out, _ = call("fit", cohort_csv, *GIVEN, "--save", path)
    assert code == 0
    assert any(
        " ".join(line.split()) == "Adjusted for: age, sex, region" for line in out.splitlines()
    )
    assert "region[T.west]" in out
    loaded = im.IsingResults.load(path)
    assert loaded.adjusted_for == ("age", "sex", "region")
    np.testing.assert_allclose(loaded.params, adjusted.params, rtol=1e-6)
    _, out, _ = call("fit", cohort_csv, *GIVEN, "--table", "thresholds", "--format", "csv")
    thresholds = tmp_path / "thresholds.csv"
    thresholds.write_text(out, encoding="utf-8")
    assert set(pd.read_csv(thresholds)["adjusted_for"]) == {"age, sex, region"}
    # Neither is drawn from as if it were a network of its own.
    code, _, err = call("simulate", "network", "--fit", path)
    assert code == 2
    assert "the network is adjusted for 'age', 'sex', 'region'" in err
    _, out, _ = call("fit", cohort_csv, *GIVEN, "--table", "interactions", "--format", "csv")
    interactions = tmp_path / "interactions.csv"
    interactions.write_text(out, encoding="utf-8")
    code, _, err = call(
        "simulate", "network", "--interactions", interactions, "--thresholds", thresholds
    )
    assert code == 2
    assert "a CSV table of numbers is wanted" in err


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("age,diabetes", "'diabetes' is named as label and as covariate"),
        ("ages", "covariates asks for 'ages', which no column matches. There are 'age'."),
        ("*", "are named as label and as covariate"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "report"])
def test_covariates_that_cannot_be_are_named(call, cohort_csv, command, names, message):
    code, out, err = call(command, cohort_csv, "--labels", LABELS, "--covariates", names)
    assert (code, out) == (2, "")
    assert f"{cohort_csv}: " in err
    assert message in err
    assert err.count("\n") == 1


def test_other_rows_are_coded_as_the_first_ones(call, cohort, cohort_csv, tmp_path):
    # Among them one level never occurs: the others must keep their columns.
    few = cohort[cohort["job"] != "clerk"].drop(columns=["sex", "region"])
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    cohort.drop(columns=["sex", "region"]).to_csv(train, index=False)
    few.to_csv(test, index=False)
    arguments = ("select", train, "--labels", LABELS, "--test", test, "--seed", "0")
    arguments = (*arguments, "--max-features", "5", "--table", "predictions", "--format", "csv")
    code, out, _ = call(*arguments)
    assert code == 0
    labels = cohort[CONDITIONS]
    features = cohort[["age", "bmi", "smoker", "hay_fever", "job"]]
    selection = im.select_features(labels, features, max_features=5, random_state=0)
    wanted = selection.predict(features.loc[few.index])
    found = pd.read_csv(io.StringIO(out), index_col="row")
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
    few.assign(job="pilot").to_csv(test, index=False)
    code, _, err = call(*arguments)
    assert code == 2
    assert f"{test}: feature 'job' has the level(s) 'pilot', which were not among those seen" in err
    few.assign(job=1.5).to_csv(test, index=False)
    code, _, err = call(*arguments)
    assert code == 2
    assert "feature(s) 'job' hold numbers in one file and text in the other" in err


def test_a_fit_that_was_kept_can_be_drawn_from(call, survey, tmp_path):
    path = tmp_path / "network.npz"
    code, _, err = call("fit", survey, "--labels", LABELS, "--save", path)
    assert (code, err) == (0, f"isingmlc fit: wrote {path}\n")
    _, out, _ = call("simulate", "network", "--fit", path, "--n-samples", "50", "--seed", "1")
    expected = im.simulate.distribution_of(im.IsingResults.load(path)).sample(50, random_state=1)
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(out)), expected, check_dtype=False)


def test_parameters_that_were_written_can_be_drawn_from(call, survey, tmp_path):
    arguments = ("fit", survey, "--labels", LABELS)
    call(*arguments, "--table", "interactions", "--out", tmp_path / "interactions.csv")
    call(*arguments, "--table", "thresholds", "--out", tmp_path / "thresholds.csv")
    network = ("simulate", "network", "--interactions", tmp_path / "interactions.csv")
    code, out, _ = call(*network, "--thresholds", tmp_path / "thresholds.csv", "--seed", "1")
    assert code == 0
    drawn = pd.read_csv(io.StringIO(out))
    assert drawn.columns.tolist() == CONDITIONS
    # Three standard errors around the survey's own share.
    assert abs(drawn["hypertension"].mean() - 0.339) < 3 * np.sqrt(0.339 * 0.661 / 1000)
    half = pd.read_csv(io.StringIO(call(*network, "--n-samples", "20", "--seed", "1")[1]))
    assert half["asthma"].mean() > drawn["asthma"].mean()
    (tmp_path / "words.csv").write_text("label,a\na,high\n", encoding="utf-8")
    code, _, err = call("simulate", "network", "--interactions", tmp_path / "words.csv")
    assert code == 2
    assert "a CSV table of numbers is wanted" in err
    assert "there is no such file" in call("simulate", "network", "--fit", tmp_path / "none.npz")[2]


def test_select_lets_a_validation_set_choose_among_rankings(call, data, survey):
    _, out, _ = call(
        *("select", survey, "--labels", LABELS, "--method", "score,br-ig", "--seed", "0"),
        *("--method", "score:penalty=1.0", "--max-features", "4", "--grid", "2"),
        *("--metric", "jaccard", "--table", "path", "--format", "csv"),
    )
    sel = im.select_features(
        data.labels,
        data.features,
        ["score", "br-ig", ("score", {"penalty": 1.0})],
        max_features=4,
        grid=2,
        metric="jaccard",
        random_state=0,
    )
    found = pd.read_csv(io.StringIO(out))
    pd.testing.assert_frame_equal(sel.path.reset_index(drop=True), found, check_dtype=False)


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (("--cv", "3", "--one-se"), {"cv": 3, "rule": "one-se"}),
        (("--split", "ordered"), {"split": "ordered"}),
        (
            ("--classifier", "chain", "--split", "random"),
            {"classifier": "chain", "split": "random"},
        ),
        (
            ("--method", "forward:n_features=3,ssc"),
            {"method": [("forward", {"n_features": 3}), "ssc"]},
        ),
        (("--method", "auto"), {"method": "auto"}),
    ],
)
def test_select_takes_splits_rules_and_classifiers(call, data, survey, flags, options):
    _, out, _ = call(
        *("select", survey, "--labels", LABELS, "--max-features", "3", "--seed", "0"),
        *(*flags, "--table", "path", "--format", "csv"),
    )
    sel = im.select_features(data.labels, data.features, max_features=3, random_state=0, **options)
    found = pd.read_csv(io.StringIO(out))
    pd.testing.assert_frame_equal(sel.path.reset_index(drop=True), found, check_dtype=False)


def test_select_predicts_and_measures_other_rows(call, data, survey, folder):
    sel = im.select_features(data.labels, data.features, alpha=0.01)
    arguments = ("select", survey, "--labels", LABELS, "--alpha", "0.01")
    tested = (*arguments, "--test", folder / "survey.parquet")
    _, out, _ = call(*tested, "--table", "predictions", "--format", "csv")
    predicted = pd.read_csv(io.StringIO(out), index_col="row")
    np.testing.assert_array_equal(predicted, sel.predict(data.features))
    measures = sel.evaluate(data)
    _, out, _ = call(*tested, "--table", "measures", "--format", "csv")
    found = pd.read_csv(io.StringIO(out), index_col="measure")["value"]
    np.testing.assert_allclose(found, measures[found.index])
    assert f"subset {measures['subset']:.4f}" in call(*tested)[1]
    code, _, err = call(*arguments, "--test", folder / "none.csv")
    assert code == 2
    assert "none.csv: there is no such file" in err


def test_demo_says_how_to_get_the_report(call, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("isingmlc.commands.demo.find_spec", lambda name: None)
    code, out, _ = call("demo", "--top", "1")
    assert code == 0
    assert "python -m pip install 'isingmlc[report]'" in out
    assert "report" not in call("demo", "--no-report")[1]
    assert not any(tmp_path.iterdir())


# Errors of all kinds


def fail(error):
    def run(options):
        raise error

    return run


def test_an_interruption_is_quiet(call, monkeypatch):
    monkeypatch.setattr("isingmlc.commands.demo.run", fail(KeyboardInterrupt()))
    assert call("demo") == (130, "", "")


def test_unexpected_errors_are_one_line_and_debug_shows_where(call, monkeypatch):
    monkeypatch.setattr("isingmlc.commands.demo.run", fail(RuntimeError("two\nlines")))
    line = "isingmlc demo: error: unexpected RuntimeError: two lines (--debug shows where)\n"
    assert call("demo") == (2, "", line)
    for arguments in (("demo", "--debug"), ("--debug", "demo")):
        code, _, err = call(*arguments)
        assert code == 2
        assert err.startswith("Traceback")
        assert err.endswith(line)


def test_filters_of_warnings_are_left_alone(call, survey):
    import warnings

    before = (list(warnings.filters), warnings.showwarning)
    call("rank", survey, "--labels", LABELS)
    assert (list(warnings.filters), warnings.showwarning) == before


def test_a_column_cannot_be_feature_and_covariate(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    data = im.datasets.load_example()
    data.labels.join(data.features).to_csv(path, index=False)
    shared = ["test", str(path), "--labels", "asthma,diabetes", "--covariates", "age"]
    assert cli.main([*shared, "--features", "age,bmi"]) != 0
    assert "'age' is named by --features and by --covariates" in capsys.readouterr().err
    assert cli.main([*shared, "--features", "ag*,bmi"]) == 0


def test_rows_that_stand_for_several_are_told_by_a_column(call, data, tmp_path):
    counts = 1 + np.arange(len(data.labels)) % 3
    path = tmp_path / "counted.csv"
    data.labels.join(data.features).assign(n=counts).to_csv(path, index=False)
    code, out, _ = call("test", path, "--labels", LABELS, "--weights", "n", "--json")
    assert code == 0
    found = pd.DataFrame(json.loads(out)).set_index(["feature", "label"])
    assert "n" not in found.index.get_level_values("feature")
    model = im.IsingModel(data.labels, data.features, freq_weights=counts)
    expected = model.fit().score_test().to_frame().set_index(["feature", "label"])
    np.testing.assert_allclose(
        found["statistic"], expected["statistic"].loc[found.index], rtol=1e-9
    )
    code, _, err = call("test", path, "--labels", LABELS, "--weights", "nosuch")
    assert code == 2
    assert "--weights must name a column, but is 'nosuch'" in err


def test_files_of_any_size_are_summed_up_as_they_are_read(call, data, tmp_path):
    frame = data.labels.join(data.features).assign(
        place=np.where(np.arange(1500) % 3, "town", "land"), n=1 + np.arange(1500) % 2
    )
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:600].to_parquet(folder / "a.parquet")
    frame[600:].to_parquet(folder / "b.parquet")
    frame.to_parquet(tmp_path / "whole.parquet")
    frame.to_csv(tmp_path / "whole.csv", index=False)
    given = ("--labels", LABELS, "--covariates", "pla*", "--weights", "n", "--drop", "female")
    arguments = (*given, "--pvalue", "chi2", "--format", "csv")
    _, out, _ = call("test", tmp_path / "whole.parquet", *arguments)
    expected = pd.read_csv(io.StringIO(out)).set_index(["feature", "label"])
    for name in ("whole.parquet", "whole.csv", "parts", "parts/*.parquet"):
        code, out, _ = call("test", tmp_path / name, "--scan", *arguments)
        assert code == 0
        found = pd.read_csv(io.StringIO(out)).set_index(["feature", "label"])
        np.testing.assert_allclose(
            found["statistic"], expected["statistic"].loc[found.index], rtol=1e-8
        )
    code, _, err = call("test", folder, "--scan", *given, "--method", "wald")
    assert code == 2
    assert "rows" in err
    code, _, err = call("test", tmp_path / "nosuch.parquet", "--scan", *given)
    assert code == 2
    assert "there is no file or Parquet file in" in err
    code, _, err = call("test", folder, "--scan", *given, "--sep", ";")
    assert code == 2
    assert "--sep is for files that are read whole" in err
    code, _, err = call("test", folder, "--scan")
    assert code == 2
    assert "which columns" in err


@pytest.fixture
def categories(data, tmp_path):
    """A survey with text features and covariates, some of which say the order of their levels."""
    rng = np.random.default_rng(0)
    frame = data.labels.join(data.features[["age", "bmi"]]).assign(
        region=pd.Categorical(
            rng.choice(["south", "north", "east"], 1500), ["south", "north", "east", "west"]
        ),
        place=rng.choice(["town", "land"], 1500),
        school=pd.Categorical(rng.choice(["low", "mid", "high"], 1500), ["low", "mid", "high"]),
        n=1 + np.arange(1500) % 3,
    )
    frame.to_parquet(tmp_path / "survey.parquet")
    return frame


def test_scans_code_text_as_whole_files_do(call, categories, tmp_path):
    (tmp_path / "parts").mkdir()
    categories[:700].to_parquet(tmp_path / "parts" / "a.parquet")
    categories[700:].to_parquet(tmp_path / "parts" / "b.parquet")
    given = ("--labels", LABELS, "--covariates", "sch*,place", "--weights", "n")
    given += ("--pvalue", "chi2", "--format", "csv")
    _, out, said = call("test", tmp_path / "survey.parquet", "--no-scan", *given)
    expected = pd.read_csv(io.StringIO(out)).set_index(["feature", "label"])
    for name in ("survey.parquet", "parts"):
        _, out, err = call("test", tmp_path / name, "--scan", *given)
        assert err == said
        found = pd.read_csv(io.StringIO(out)).set_index(["feature", "label"])
        assert set(found.index) == set(expected.index)
        statistics = expected["statistic"].loc[found.index]
        np.testing.assert_allclose(found["statistic"], statistics, rtol=1e-8)
    fit = ("fit", tmp_path / "survey.parquet", "--labels", LABELS, "--covariates", "school")
    assert call(*fit, "--scan")[1] == call(*fit)[1]


def test_scans_say_what_is_wrong_with_text(call, categories, tmp_path):
    path = tmp_path / "odd.parquet"
    arguments = ("rank", path, "--labels", LABELS, "--scan")
    categories.assign(place=[None, *categories["place"][1:]]).to_parquet(path)
    code, _, err = call(*arguments)
    assert code == 2
    assert "missing values in 1 row(s), in column(s) 'place' (1)" in err
    code, _, err = call(*arguments, "--missing", "drop")
    assert code == 0
    assert "1 of 1500 rows have missing values and were dropped" in err
    categories.assign(place=[f"p{row}" for row in range(1500)]).to_parquet(path)
    assert "1500 different texts in 1500 rows, like an identifier" in call(*arguments)[2]
    categories.assign(place="here").to_parquet(path)
    assert "'place' hold the same text in every row" in call(*arguments)[2]


def test_large_parquet_files_are_scanned_by_themselves(call, categories, tmp_path, monkeypatch):
    path = tmp_path / "survey.parquet"
    arguments = ("test", path, "--labels", LABELS, "--features", "age,bmi", "--format", "csv")
    assert call(*arguments)[2] == ""
    monkeypatch.setattr("isingmlc.commands.scanning.LARGE", 1000)
    code, _, err = call(*arguments)
    assert code == 0
    assert "1,500 rows and 12 columns; they are summed up as they are read" in err
    assert call(*arguments, "--no-scan")[2] == ""
    code, _, err = call(*arguments, "--method", "wald")
    assert code == 0
    assert "read into memory, for this needs rows" in err
    monkeypatch.setattr("isingmlc.commands.scanning.find_spec", lambda name: None)
    code, _, err = call(*arguments)
    assert code == 0
    assert 'needs pip install "isingmlc[engines]"' in err


def test_commands_that_need_no_rows_scan(call, categories, tmp_path):
    path, given = (
        tmp_path / "survey.parquet",
        ("--labels", LABELS, "--seed", "0", "--format", "csv"),
    )
    for command in (
        ("stability", path, *given, "--draws", "5"),
        ("compare", path, *given, "--between", "place", "--permutations", "5"),
    ):
        whole, scanned = (
            pd.read_csv(io.StringIO(call(*command, how)[1])) for how in ("--no-scan", "--scan")
        )
        pd.testing.assert_frame_equal(whole, scanned, rtol=1e-8)
    plan = ("plan", path, *given[:2], "--features", "age", "--odds-ratio", "1.3")
    assert call(*plan, "--no-scan")[0] == 0
    code, _, err = call(*plan, "--scan")
    assert code == 2
    assert "how a feature is distributed" in err
    code, _, err = call("compare", path, *given, "--between", "place", "--paired", "n", "--scan")
    assert code == 2
    assert "--paired is about rows" in err
