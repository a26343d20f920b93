"""Calibration: how often permuted features are found, and which label is to blame."""

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.commands import cli
from isingmlc.exceptions import DataError, ModelError

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


def ratios(check):
    return check.to_frame().set_index(["label", "level"])["ratio"]


@pytest.mark.filterwarnings(OURS)
def test_the_rare_label_is_to_blame_and_the_saddlepoint_holds():
    res = im.IsingModel(*rare_and_common()).fit()
    chi2, other = (
        res.check_calibration(150, pvalue=name, random_state=3) for name in ("chi2", "saddlepoint")
    )
    assert chi2.to_blame == ("rare",)
    assert other.to_blame == ()
    assert "Found too often: edges of rare." in str(chi2.summary())
    assert "too often" in chi2._repr_html_()
    assert ratios(chi2)["rare", 0.001] > 4
    assert ratios(other)["rare", 0.001] < 3
    assert ratios(chi2)["one", 0.05] == pytest.approx(1.0, abs=0.25)


def test_counts_are_those_of_tests_of_permuted_rows():
    """Permuting rows and making a model of them anew gives the same counts."""
    data = im.datasets.load_example()
    some = data.features[["age", "bmi", "smoker"]]
    check = im.IsingModel(data.labels, some).fit().check_calibration(6, random_state=2)
    generator = np.random.default_rng(2)
    edges, features = [], []
    for _ in range(6):
        mixed = some.iloc[generator.permutation(len(some)).argsort()].reset_index(drop=True)
        anew = im.IsingModel(data.labels, mixed).fit().score_test()
        edges.append(anew.pvalues.to_numpy())
        features.append(anew.feature_pvalues())
    for level in (0.05, 0.01, 0.001):
        assert ratios(check)["(all edges)", level] * level == pytest.approx(
            (np.array(edges) <= level).mean()
        )
        assert ratios(check)["(features)", level] * level == pytest.approx(
            (np.array(features) <= level).mean()
        )
    assert check.to_frame().set_index("label")["tests"]["(all edges)"].tolist() == [6 * 3 * 6] * 3


def test_monte_carlo_errors_tell_how_far_repeated_checks_differ():
    rng = np.random.default_rng(2)
    labels = (rng.random((150, 2)) < 0.4).astype(int)
    # Copies of one column: permutations are all that is independent.
    features = np.repeat(rng.normal(size=(150, 1)), 8, axis=1) + 1e-6 * rng.normal(size=(150, 8))
    res = im.IsingModel(labels, features).fit()
    found = [
        res.check_calibration(50, levels=(0.1,), random_state=seed).to_frame().set_index("label")
        for seed in range(30)
    ]
    of_each = pd.concat([each["ratio"] for each in found], axis=1)
    errors = pd.concat([each["error"] for each in found], axis=1)
    # Standard deviations of 30 values are known to an eighth of themselves.
    share = (of_each.std(axis=1) / errors.mean(axis=1)).to_numpy()
    assert ((share > 0.6) & (share < 1.5)).all()


@pytest.mark.filterwarnings(OURS)
def test_clusters_are_permuted_as_a_whole():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(50), 10)
    labels = (rng.normal(size=(50, 2))[groups] + rng.normal(size=(500, 2)) > 0).astype(int)
    features = rng.normal(size=(50, 10))[groups]
    model = im.IsingModel(labels, features, groups=groups)
    check = model.fit(cov_type="cluster").check_calibration(40, random_state=0)
    assert "whole clusters at a time" in check.note
    assert ratios(check)["(all edges)", 0.05] == pytest.approx(1.0, abs=0.4)
    ignored = model.fit(cov_type="nonrobust").check_calibration(40, random_state=0)
    assert ratios(ignored)["(all edges)", 0.01] > 5
    mixed = im.IsingModel(labels, features, groups=groups, covariates=rng.normal(size=(500, 1)))
    with pytest.raises(ModelError, match="exchanges whole clusters that have the same covariates"):
        mixed.fit(cov_type="cluster").check_calibration(5)


@pytest.mark.parametrize("kind", ["number", "category"])
def test_covariates_that_explain_a_feature_do_not_make_it_a_finding(kind):
    """Features and labels both follow a covariate: permuted within strata, tests still hold."""
    rng = np.random.default_rng(4)
    number = rng.normal(size=(600, 1))
    covariate = pd.DataFrame(number if kind == "number" else (number > 0).astype(str))
    around = number if kind == "number" else 2.0 * (number > 0)
    labels = (around + rng.normal(size=(600, 2)) > 0).astype(int)
    features = around + rng.normal(size=(600, 5))
    res = im.IsingModel(labels, features, covariates=covariate.add_prefix("c")).fit()
    check = res.check_calibration(400, random_state=0)
    assert ("same covariates" if kind == "category" else "10 equal shares") in check.note
    assert ratios(check)["(all edges)", 0.05] == pytest.approx(1.0, abs=0.3)
    assert check.to_blame == ()


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
        res.check_calibration(pvalue="exact")
    with pytest.raises(DataError, match="combine must be one of"):
        res.check_calibration(combine="fisher")
    with pytest.raises(DataError, match="n_permutations must be a whole number of at least 2"):
        res.check_calibration(1)
    with pytest.raises(DataError, match="levels must"):
        res.check_calibration(levels=[])


def test_the_command_writes_the_table(tmp_path, capsys):
    data = im.datasets.load_example()
    path, out = tmp_path / "d.csv", tmp_path / "out.csv"
    pd.concat([data.labels, data.features[["age", "bmi"]]], axis=1).to_csv(path, index=False)
    labels = ",".join(data.labels.columns)
    asked = ["calibrate", str(path), "--labels", labels, "--permutations", "20", "--seed", "1"]
    assert cli.main([*asked, "--combine", "sum"]) == 0
    assert "Calibration of p-values" in capsys.readouterr().out
    assert cli.main([*asked, "--out", str(out)]) == 0
    res = im.IsingModel(data.labels, data.features[["age", "bmi"]]).fit()
    expected = res.check_calibration(20, random_state=1).to_frame()
    np.testing.assert_allclose(pd.read_csv(out)["ratio"], expected["ratio"])
