"""Methods compared over data sets, against R; the paper's Theorem 1 as it is written."""

import sys

import numpy as np
import pytest
from golden import load
from matplotlib.figure import Figure

import isingmlc as im
from isingmlc.experiments import load_paper_table, theorem_bound
from isingmlc.experiments.friedman import friedman
from isingmlc.experiments.paper import MEASURES


@pytest.mark.parametrize("name", ["data", *MEASURES])
def test_friedman_s_and_conover_s_tests_agree_with_r(name):
    is_made = name == "data"
    table = load("compare", "data").set_index("Unnamed: 0") if is_made else load_paper_table(name)
    expected = load("compare", "friedman").set_index("table").loc[name]
    result = friedman(table)
    assert result.statistic == pytest.approx(expected["statistic"], rel=1e-9)
    assert result.pvalue == pytest.approx(expected["pvalue"], rel=1e-9)
    pairs = load("compare", "pairs").query("table == @name")
    found = [result.posthoc.loc[row.first, row.second] for row in pairs.itertuples()]
    np.testing.assert_allclose(found, pairs["holm"], rtol=1e-9)


def test_the_diagram_names_the_methods():
    ax = Figure().subplots()
    result = friedman(load_paper_table("hamming"))
    result.draw(ax)
    drawn = " ".join(text.get_text() for text in ax.texts)
    assert all(method in drawn for method in result.ranks.index)


def test_without_scikit_posthocs_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(im.exceptions.EngineError, match=r'pip install "isingmlc\[experiments\]"'):
        _ = friedman(load_paper_table("hamming")).posthoc


def test_the_bound_of_the_theorem_is_as_it_is_written():
    data = im.datasets.make_score_example(a=1.0, n_samples=500, random_state=1)
    res = im.IsingModel(data.labels, data.features, intercept=False).fit()
    bound = theorem_bound(res, "x1", "y1", a=0.5)
    x = data.features["x1"].to_numpy()
    others = data.labels.drop(columns="y1").to_numpy(float)
    z = np.column_stack([others, x])
    eta = others @ res.params["y1"].drop("y1").to_numpy() + 0.5 * x
    p = 1 / (1 + np.exp(-eta))
    size, largest = 10, np.abs(x).max()
    assert bound["min_variance"] == pytest.approx((p * (1 - p)).min())
    assert bound["min_eigenvalue"] == pytest.approx(np.linalg.eigvalsh(z.T @ z / 500)[0])
    constant = bound["min_eigenvalue"] * bound["min_variance"]
    constant = (constant / (2 * np.e**3 * largest * (size + largest) ** 1.5)) ** 2
    assert bound["constant"] == pytest.approx(constant)
    assert bound["bound"] == pytest.approx(constant * 500 * 0.25)
    exponent = constant * 500 * (size + largest**2) * 0.25 / 2
    assert bound["probability"] == pytest.approx(1 - size * np.exp(-exponent))
    assert theorem_bound(res, "x1", "y1", a=2.0)["range"] == 2.0
    with pytest.raises(im.exceptions.DataError, match="feature must be one of"):
        theorem_bound(res, "x9", "y1", a=1.0)
    with pytest.raises(im.exceptions.DataError, match="coefficient_range"):
        theorem_bound(res, "x1", "y1", a=1.0, coefficient_range=0.5)
