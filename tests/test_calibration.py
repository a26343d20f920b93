"""Calibration: how often permuted features are found, and who is to blame."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import isingmlc as im
from isingmlc.commands import cli
from isingmlc.exceptions import DataError, ModelError
from isingmlc.inference.calibration import Exchange, _permuted, exchangeable
from isingmlc.inference.score_tests import score_test
from isingmlc.results.calibration import judge

OURS = "ignore::isingmlc.exceptions.IsingWarning"


def rare_and_common(n=400, p=12, seed=0):
    """One label in a hundred rows, two in every second, and skewed features."""
    rng = np.random.default_rng(seed)
    labels = pd.DataFrame(
        {
            "rare": rng.permutation(np.arange(n) < 8).astype(int),
            "one": rng.integers(0, 2, n),
            "two": rng.integers(0, 2, n),
        }
    )
    features = pd.DataFrame(rng.lognormal(sigma=1.2, size=(n, p))).add_prefix("x")
    return labels, features


@pytest.mark.filterwarnings(OURS)
def test_the_rare_label_is_to_blame_and_the_saddlepoint_holds():
    labels, features = rare_and_common()
    res = im.IsingModel(labels, features).fit()
    check = res.check_calibration(
        300, pvalue="chi2", compare=[{"pvalue": "saddlepoint"}], random_state=3
    )
    assert check.settings == ("mle, chi2", "mle, saddlepoint")
    assert check.to_blame == ("rare",)
    assert check.holds.tolist() == [False, True]
    text = str(check.summary())
    assert "Found too often: edges of rare." in text
    assert "hold with mle, saddlepoint" in text
    ratio = check.to_frame().set_index(["setting", "label", "level"])["ratio"]
    assert ratio["mle, chi2", "rare", 0.001] > 4
    assert ratio["mle, saddlepoint", "rare", 0.001] < 3
    assert ratio["mle, chi2", "one", 0.05] == pytest.approx(1.0, abs=0.25)


def test_counts_are_those_of_tests_of_permuted_rows():
    """Permuting rows and making a model of them anew gives the same p-values."""
    data = im.datasets.load_example()
    some = data.features[["age", "bmi", "smoker"]]
    res = im.IsingModel(data.labels, some).fit()
    exchange = exchangeable(res._fit)
    orders = [exchange.draw(np.random.default_rng(seed)) for seed in (1, 2)]
    fit = _permuted(res._fit, orders)
    for pvalue in ("chi2", "saddlepoint"):
        found = score_test(fit, pvalue=pvalue)
        for at, order in enumerate(orders):
            mixed = some.iloc[order].reset_index(drop=True)
            anew = im.IsingModel(data.labels, mixed).fit().score_test(pvalue=pvalue)
            own = slice(3 * at, 3 * at + 3)
            np.testing.assert_allclose(found.log10_pvalue[own], anew.log10_pvalues, rtol=1e-6)
            np.testing.assert_allclose(
                found.feature_tests("sum").pvalue[own], anew.feature_pvalues("sum"), rtol=1e-6
            )


def test_counts_add_up_and_do_not_depend_on_threads():
    labels, features = rare_and_common(n=200, p=3, seed=1)
    res = im.IsingModel(labels[["one", "two"]], features).fit()
    one, two = (
        res.check_calibration(40, compare=False, random_state=5, n_jobs=jobs) for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame())
    table = one.to_frame().set_index(["label", "level"])
    assert table.loc[("(all edges)", 0.05), "tests"] == 40 * 3 * 2
    assert table.loc[("(features)", 0.05), "tests"] == 40 * 3
    for level in one.levels:
        count = (table["share"] * table["tests"]).xs(level, level="level")
        assert count["(all edges)"] == pytest.approx(count["one"] + count["two"])
    other = res.check_calibration(40, compare=False, random_state=6)
    assert (other.to_frame()["share"] != one.to_frame()["share"]).any()


def test_monte_carlo_errors_tell_how_far_repeated_checks_differ():
    rng = np.random.default_rng(2)
    labels = (rng.random((150, 2)) < 0.4).astype(int)
    # Copies of one column: permutations are all that is independent.
    features = np.repeat(rng.normal(size=(150, 1)), 8, axis=1) + 1e-6 * rng.normal(size=(150, 8))
    res = im.IsingModel(labels, features).fit()
    found = [
        res.check_calibration(50, compare=False, levels=(0.1,), random_state=seed)
        .to_frame()
        .set_index("label")
        for seed in range(30)
    ]
    ratios = pd.concat([each["ratio"] for each in found], axis=1)
    errors = pd.concat([each["error"] for each in found], axis=1)
    # Standard deviations of 30 values are known to an eighth of themselves.
    share = (ratios.std(axis=1) / errors.mean(axis=1)).to_numpy()
    assert ((share > 0.6) & (share < 1.5)).all()


def test_rows_are_exchanged_within_covariates():
    data = im.datasets.load_example()
    features = data.features.drop(columns=["age", "female"])
    sex = data.features[["female"]].astype(int).astype(str)
    by_sex = exchangeable(im.IsingModel(data.labels, features, covariates=sex).fit()._fit)
    assert "within the same covariates" in by_sex.note
    order = by_sex.draw(np.random.default_rng(0))
    assert sorted(order) == list(range(len(order)))
    np.testing.assert_array_equal(sex.to_numpy()[order], sex.to_numpy())
    both = data.features[["age", "female"]]
    by_both = exchangeable(im.IsingModel(data.labels, features, covariates=both).fit()._fit)
    assert "strata of the covariates" in by_both.note
    order = by_both.draw(np.random.default_rng(0))
    np.testing.assert_array_equal(both["female"].to_numpy()[order], both["female"].to_numpy())
    age = both["age"].to_numpy()
    assert (age[order] != age).mean() > 0.5
    assert np.corrcoef(age[order], age)[0, 1] > 0.9


def test_clusters_move_as_a_whole():
    blocks = np.repeat([0, 1, 2, 3], 5)[np.random.default_rng(1).permutation(20)]
    exchange = Exchange(20, None, blocks, "")
    moved = set()
    for seed in range(20):
        order = exchange.draw(np.random.default_rng(seed))
        assert sorted(order) == list(range(20))
        for block in range(4):
            # The places of a cluster are taken by the rows of one other, in their order.
            taken = order[blocks == block]
            assert len(set(blocks[taken])) == 1
            assert (np.diff(taken) > 0).all()
            moved.add((block, int(blocks[taken[0]])))
    assert len(moved) == 16


@pytest.mark.filterwarnings(OURS)
def test_clusters_are_checked_as_clusters():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(50), 10)
    labels = (rng.normal(size=(50, 2))[groups] + rng.normal(size=(500, 2)) > 0).astype(int)
    features = rng.normal(size=(50, 10))[groups]
    res = im.IsingModel(labels, features, groups=groups).fit(cov_type="cluster")
    check = res.check_calibration(40, compare=[{"cov_type": "nonrobust"}], random_state=0)
    assert "whole clusters at a time" in check.note
    assert check.holds.tolist() == [True, False]
    ratio = check.to_frame().set_index(["setting", "label", "level"])["ratio"]
    name = check.settings[1]
    assert "nonrobust" in name
    assert ratio[name, "(all edges)", 0.01] > 5
    mixed = im.IsingModel(labels, features, groups=groups, covariates=rng.normal(size=(500, 1)))
    with pytest.raises(ModelError, match="exchanges whole clusters that have the same covariates"):
        mixed.fit(cov_type="cluster").check_calibration(5)


def test_covariates_that_explain_a_feature_do_not_make_it_a_finding():
    """Features and labels both follow age: permuted within strata, tests still hold."""
    rng = np.random.default_rng(4)
    age = rng.normal(size=(600, 1))
    labels = (age + rng.normal(size=(600, 2)) > 0).astype(int)
    features = age + rng.normal(size=(600, 5))
    res = im.IsingModel(labels, features, covariates=age).fit()
    check = res.check_calibration(200, compare=False, random_state=0)
    table = check.to_frame().set_index(["label", "level"])
    assert table.loc[("(all edges)", 0.05), "ratio"] == pytest.approx(1.0, abs=0.3)
    assert check.holds.all()


@pytest.mark.filterwarnings(OURS)
def test_terms_and_joint_tests_are_checked_as_they_are_run():
    data = im.datasets.load_example()
    frame = data.features[["age", "bmi"]].assign(
        kind=pd.qcut(data.features["bmi"], 3, labels=["low", "mid", "high"]).astype(str),
        a=data.labels["diabetes"],
        b=data.labels["asthma"],
    )
    res = im.IsingModel.from_formula("a + b ~ age + C(kind)", frame).fit()
    check = res.check_calibration(30, by="term", compare=False, random_state=0)
    assert check.n_features == 2
    assert check.to_frame()["ratio"].iloc[0] == pytest.approx(1.0, abs=0.6)
    joint = res.check_calibration(30, products="joint", compare=False, random_state=0)
    assert joint.to_frame()["tests"].iloc[0] == 30 * 3 * 2
    some = res.check_calibration(30, features=["age"], compare=False, random_state=0)
    assert some.n_features == 1


@pytest.mark.filterwarnings(OURS)
def test_what_cannot_be_checked_is_said():
    labels, features = rare_and_common(n=100, p=2)
    model = im.IsingModel(labels, features)
    res = model.fit()
    bare = im.IsingModel.from_statistics(model.statistics).fit()
    with pytest.raises(ModelError, match="check_calibration needs the rows of the data"):
        bare.check_calibration()
    weighted = im.IsingModel(labels, features, freq_weights=np.arange(1, 101)).fit()
    with pytest.raises(ModelError, match="freq_weights differ from 1"):
        weighted.check_calibration()
    many = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 4))).add_prefix("c")
    crowded = im.IsingModel(labels[["one", "two"]], features, covariates=many).fit()
    with pytest.raises(ModelError, match="too few for strata"):
        crowded.check_calibration()
    with pytest.raises(DataError, match="pvalue must be one of"):
        res.check_calibration(pvalue="permutation")
    with pytest.raises(DataError, match="combine must be one of"):
        res.check_calibration(combine="fisher")
    with pytest.raises(DataError, match="n_permutations must be a whole number of at least 2"):
        res.check_calibration(1)
    with pytest.raises(DataError, match="levels must"):
        res.check_calibration(levels=[])
    with pytest.raises(DataError, match="compare must be True, False or a list"):
        res.check_calibration(5, compare=["ridge"])
    with pytest.raises(DataError, match="compare names 'penalties', which neither"):
        res.check_calibration(5, compare=[{"penalties": 1}])
    with pytest.raises(DataError, match="products must be one of"):
        res.check_calibration(5, products="given")


@pytest.mark.parametrize(
    ("ratio", "error", "level", "expected"),
    [
        (1.0, 0.05, 0.05, "holds"),
        (1.2, 0.05, 0.05, "unclear"),
        (1.5, 0.1, 0.05, "too often"),
        (1.5, 0.1, 0.001, "holds"),
        (0.3, 0.02, 0.001, "too seldom"),
        (np.nan, np.nan, 0.05, ""),
    ],
)
def test_verdicts(ratio, error, level, expected):
    assert judge(ratio, error, level) == expected


@pytest.mark.filterwarnings(OURS)
def test_pictures_name_who_is_to_blame():
    labels, features = rare_and_common()
    check = (
        im.IsingModel(labels, features)
        .fit()
        .check_calibration(100, pvalue="chi2", compare=False, random_state=3)
    )
    ax = check.plot(ax=Figure().subplots())
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["rare", "other labels", "features (acat)", "uniform p-values"]
    assert "too often" in check._repr_html_()


def test_the_command_writes_table_and_picture(tmp_path, capsys):
    data = im.datasets.load_example()
    path, out, picture = (tmp_path / name for name in ("d.csv", "out.csv", "qq.png"))
    pd.concat([data.labels, data.features[["age", "bmi"]]], axis=1).to_csv(path, index=False)
    labels = ",".join(data.labels.columns)
    asked = ["calibrate", str(path), "--labels", labels, "--permutations", "20", "--seed", "1"]
    assert cli.main([*asked, "--combine", "sum"]) == 0
    assert "Calibration of p-values" in capsys.readouterr().out
    assert cli.main([*asked, "--no-compare", "--out", str(out), "--plot", str(picture)]) == 0
    table = pd.read_csv(out)
    res = im.IsingModel(data.labels, data.features[["age", "bmi"]]).fit()
    expected = res.check_calibration(20, compare=False, random_state=1).to_frame()
    assert set(table["setting"]) == set(expected["setting"])
    np.testing.assert_allclose(table["ratio"], expected["ratio"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert cli.main([*asked, "--plot", str(tmp_path / "qq.nothing")]) == 2
    assert "cannot be written" in capsys.readouterr().err
