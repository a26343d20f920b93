"""Summaries of draws, of rows left out and of groups."""

import pytest

import isingmlc as im


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


def test_rows_left_out_in_words(res):
    drop = res.drop_cases(20, random_state=0)
    text, found = drop.summary().as_text(), drop.cs_coefficient()
    line = next(line for line in text.splitlines() if line.startswith("strength"))
    assert line.split()[1:4] == [
        f"{found.loc['strength', name]:.2f}" for name in ("cs", "cs_lower", "cs_upper")
    ]
    assert "tabular" in drop.summary().as_latex()
