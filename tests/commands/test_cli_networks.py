"""The commands network, stability and compare."""

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.commands import cli

LABELS = "hypertension,diabetes,arthritis,depression"


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def rows(data, tmp_path_factory):
    frame = data.labels[LABELS.split(",")].join(data.features[["age", "bmi", "tea_cups"]])
    frame["sex"] = np.where(data.features["female"] == 1, "female", "male")
    frame["wave"] = np.arange(len(frame)) % 2
    frame["person"] = [f"p{at // 2}" for at in range(len(frame))]
    path = tmp_path_factory.mktemp("networks") / "rows.csv"
    frame.to_csv(path, index=False)
    return path, frame


@pytest.fixture
def call(capsys):
    def run(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def read(out):
    from io import StringIO

    return pd.read_csv(StringIO(out))


def test_network_lists_pairs_and_labels(call, rows):
    path, frame = rows
    res = im.IsingModel(frame[LABELS.split(",")]).fit()
    arguments = ("network", path, "--labels", LABELS, "--format", "csv")
    found = read(call(*arguments, "--adjust", "holm")[1])
    expected = res.network_table(adjust="holm").sort_values("pvalue", ignore_index=True)
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected), check_dtype=False)
    odds = read(call(*arguments, "--odds-ratios", "--alpha", "0.1")[1])
    expected = res.network_table(alpha=0.1).sort_values("pvalue", ignore_index=True)
    for ours, theirs in {"odds_ratio": "weight", "lower": "lower", "upper": "upper"}.items():
        np.testing.assert_allclose(odds[ours], np.exp(expected[theirs]))
    assert not {"weight", "se"} & set(odds)
    code, _, err = call(*arguments, "--odds-ratios", "--table", "centrality")
    assert code == 2
    assert "--odds-ratios is for --table pairs, but --table is centrality." in err
    central = read(call(*arguments, "--table", "centrality", "--alpha", "0.1")[1])
    expected = res.centrality(alpha=0.1)
    np.testing.assert_allclose(central["value"], expected["value"])
    np.testing.assert_allclose(central["lower"], expected["lower"])
    told = read(call(*arguments, "--table", "predictability")[1]).set_index("label")
    np.testing.assert_allclose(told["accuracy"], res.predictability()["accuracy"])
    assert len(call(*arguments[:4], "--top", "3")[1].splitlines()) == 4


def test_fits_give_odds_ratios(call, rows):
    path, frame = rows
    res = im.IsingModel(frame[LABELS.split(",")]).fit()
    arguments = ("fit", path, "--labels", LABELS, "--odds-ratios")
    found = read(call(*arguments, "--format", "csv")[1])
    np.testing.assert_allclose(found["odds ratio"], np.exp(res.to_frame()["coef"]))
    np.testing.assert_allclose(found["0.975]"], np.exp(res.to_frame()["0.975]"]))
    assert "odds ratio" in call(*arguments)[1]
    for extra, said in (
        (("--method", "l1"), "--odds-ratios is for --method nodewise or"),
        (("--table", "thresholds"), "--odds-ratios is for --table coefficients"),
    ):
        code, _, err = call(*arguments, *extra)
        assert code == 2
        assert said in err


def test_stability_draws_and_leaves_out(call, rows, tmp_path):
    path, frame = rows
    res = im.IsingModel(frame[LABELS.split(",")]).fit()
    given = ("stability", path, "--labels", LABELS, "--draws", "60", "--seed", "1")
    boot = res.bootstrap(60, random_state=1)
    pairs = read(call(*given, "--table", "pairs", "--format", "csv")[1])
    np.testing.assert_allclose(pairs["lower"], boot.intervals()["lower"])
    np.testing.assert_allclose(pairs["positive"], boot.inclusion()["positive"])
    for table, expected in (
        ("centrality", boot.centrality()["upper"]),
        ("differences", boot.difference()["upper"]),
    ):
        found = read(call(*given, "--table", table, "--format", "csv")[1])
        np.testing.assert_allclose(found["upper"], expected)
    picture = tmp_path / "curves.png"
    code, out, err = call(*given, "--table", "cs", "--plot", picture)
    assert code == 0
    assert "CS-coefficients" in out
    assert picture.stat().st_size > 1000
    assert f"wrote {picture}" in err
    code, out, _ = call(*given, "--plot", tmp_path / "network.svg")
    assert "Bootstrap of a Network" in out
    assert (tmp_path / "network.svg").exists()
    code, out, _ = call(*given, "--method", "l1", "--format", "latex", "--draws", "3")
    assert code == 0
    assert "tabular" in out


def test_stability_ranks_features_that_are_named(call, rows):
    path, _ = rows
    given = ("stability", path, "--labels", LABELS, "--draws", "10", "--seed", "1")
    ranks = read(
        call(*given, "--features", "age,tea_cups", "--table", "ranks", "--format", "csv")[1]
    )
    assert ranks["feature"].tolist() == ["age", "tea_cups"]
    assert "ranking" in call(*given, "--features", "age,tea_cups,bmi", "--table", "cs")[1]


def test_compare_takes_groups_covariates_and_pairs(call, rows, tmp_path):
    path, frame = rows
    labels = frame[LABELS.split(",")]
    given = ("compare", path, "--labels", LABELS, "--permutations", "19", "--seed", "0")
    found = read(call(*given, "--between", "sex", "--table", "edges", "--format", "csv")[1])
    options = {"n_permutations": 19, "random_state": 0}
    expected = im.compare_networks(im.IsingModel(labels), frame["sex"], **options)
    np.testing.assert_allclose(found["pvalue_adj"], expected.edges["pvalue_adj"])
    np.testing.assert_allclose(found["weight_male"], expected.edges["weight_male"])
    adjusted = im.compare_networks(
        im.IsingModel(labels, covariates=frame[["age"]]), frame["sex"], **options
    )
    tests = read(
        call(
            *given, "--between", "sex", "--covariates", "age", "--table", "tests", "--format", "csv"
        )[1]
    )
    np.testing.assert_allclose(tests["pvalue"], adjusted.tests["pvalue"])
    paired = im.compare_networks(
        im.IsingModel(labels), frame["wave"], pairs=frame["person"], **options
    )
    code, out, _ = call(
        *given, "--between", "wave", "--paired", "person", "--table", "tests", "--format", "csv"
    )
    np.testing.assert_allclose(read(out)["pvalue"], paired.tests["pvalue"])
    code, out, _ = call(*given, "--between", "sex", "--plot", tmp_path / "groups.png")
    assert code == 0
    assert "Networks of Groups" in out
    assert (tmp_path / "groups.png").exists()
    told = call(*given, "--between", "sex", "--equal-thresholds", "--method", "ebic")[1]
    assert "differ in nothing" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("stability", "--table", "ranks"), "Name them with --features"),
        (("stability", "--method", "l1", "--features", "age"), "without l1 penalties"),
        (("stability", "--method", "l1", "--penalty", "1"), "--penalty is for --method nodewise"),
        (("stability", "--draws", "0"), "--draws"),
        (("stability", "--draws", "5", "--plot", "a.nothing"), "cannot be written"),
        (("network", "--penalty", "0"), "must be none, firth or a finite number above 0"),
        (("compare",), "--between"),
        (("compare", "--between", "region"), "region"),
        (("compare", "--between", "age"), "Cut numbers into groups"),
        (("compare", "--between", "sex", "--groups", "person"), "leave out --groups"),
        (("compare", "--between", "sex", "--permutations", "0"), "--permutations"),
        (("compare", "--between", "wave", "--paired", "person", "--missing", "drop"), "partners"),
        (("compare", "--between", "sex", "--paired", "person"), "once in every group"),
    ],
)
def test_mistakes_are_one_line(call, rows, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(arguments[0], rows[0], "--labels", LABELS, *arguments[1:])
    assert code == 2
    assert said in err.splitlines()[-1]


def test_sparse_networks_take_their_options_everywhere(call, rows):
    path, frame = rows
    labels = frame[LABELS.split(",")]
    given = ("compare", path, "--labels", LABELS, "--between", "sex", "--permutations", "3")
    sparse = ("--gamma", "1.5", "--rule", "or")
    table = ("--table", "edges", "--format", "csv", "--seed", "0")
    found = read(call(*given, "--method", "ebic", *sparse, *table)[1])
    expected = im.compare_networks(
        im.IsingModel(labels),
        frame["sex"],
        method="ebic",
        gamma=1.5,
        rule="or",
        n_permutations=3,
        random_state=0,
    )
    np.testing.assert_allclose(found["weight_male"], expected.edges["weight_male"])
    code, _, err = call(*given, *sparse)
    assert code == 2
    assert "--gamma is for --method ebic, but --method is nodewise" in err
    given = ("stability", path, "--labels", LABELS, "--draws", "3", "--seed", "0")
    pairs = read(call(*given, "--method", "l1", *sparse, "--table", "pairs", "--format", "csv")[1])
    net = im.IsingModel(labels).fit_regularized(gamma=1.5, rule="or")
    boot = net.bootstrap(3, random_state=0)
    np.testing.assert_allclose(pairs["sample"], boot.intervals()["sample"])
    assert "--rule is for --method l1" in call(*given, "--rule", "or")[2]
