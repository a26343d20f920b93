"""Summaries of draws, of rows left out and of groups."""

import numpy as np
import pandas as pd
import pytest

import isingmlc as im

OURS = "ignore::isingmlc.exceptions.IsingWarning"


@pytest.fixture(scope="module")
def example():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def res(example):
    return im.IsingModel(example.labels, example.features[["age", "bmi", "smoker"]]).fit()


def test_a_bootstrap_in_words(res):
    boot = res.bootstrap(20, features=True, random_state=0)
    text = boot.summary().as_text()
    edge = boot.edges().iloc[0]
    line = next(line for line in text.splitlines() if line.startswith("hypertension diabetes"))
    assert line.split()[2:] == [
        f"{edge[name]:.{digits}f}"
        for name, digits in (("sample", 3), ("lower", 3), ("upper", 3), ("share", 2))
    ]
    assert "among_first" in text
    assert "the rows" in text
    parametric = res.bootstrap(3, parametric=True, random_state=0).summary().as_text()
    assert "the fitted network" in parametric
    assert "among_first" not in parametric
    assert "<table" in boot.summary().as_html()


@pytest.mark.filterwarnings(OURS)
def test_labels_that_draws_lose_are_named():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame((rng.random((60, 3)) < 0.5).astype(int), columns=list("abc"))
    labels["c"] = 0
    labels.loc[[3, 40], "c"] = 1
    res = im.IsingModel(labels).fit("ridge")
    assert "(constant-label) for 'c'" in " ".join(
        res.bootstrap(30, random_state=0).summary().as_text().split()
    )
    assert "no place in the network for 'c'" in " ".join(
        res.drop_cases(30, random_state=0).summary().as_text().split()
    )


def test_rows_left_out_in_words(res):
    drop = res.drop_cases(20, random_state=0)
    text, found = drop.summary().as_text(), drop.cs_coefficient()
    line = next(line for line in text.splitlines() if line.startswith("strength"))
    assert line.split()[1:4] == [
        f"{found.loc['strength', name]:.2f}" for name in ("cs", "cs_lower", "cs_upper")
    ]
    assert "tabular" in drop.summary().as_latex()


def test_groups_in_words(example, res):
    for null, said in (("thresholds", "may differ in thresholds"), ("nothing", "in nothing")):
        found = im.compare_networks(
            res.model, "smoker", null=null, n_permutations=9, random_state=0
        )
        text = " ".join(found.summary().as_text().split())
        assert said in text
        assert f"M {found.M:.3f}" in text
        assert "1218, 282" in text
    paired = im.compare_networks(
        im.IsingModel(example.labels),
        np.arange(1500) % 2,
        pairs=np.arange(1500) // 2,
        n_permutations=9,
        random_state=0,
    )
    assert "within pairs" in paired.summary().as_text()
