"""Comparing methods: tests against R, ties, the ways that tables degenerate, the diagram."""

import html
import itertools
import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
import statsmodels.formula.api as smf
from golden import load
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from matplotlib.figure import Figure
from scipy import stats

from isingmlc import compare
from isingmlc.exceptions import DataError, DataWarning
from isingmlc.experiments.paper import MEASURES, load_paper_table

# Few distinct values, so that most tables have ties.
tables = hnp.arrays(
    np.int64, st.tuples(st.integers(2, 8), st.integers(2, 6)), elements=st.integers(0, 4)
).map(lambda cells: pd.DataFrame(cells / 8).rename(columns="m{}".format))
many = settings(deadline=None, max_examples=50)
# A test of every pair that it is told to be exact about agrees with R to this.
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def simulated(n_datasets, n_methods, seed=0, effect=0.0):
    cells = np.random.default_rng(seed).normal(size=(n_datasets, n_methods))
    cells += effect * np.arange(n_methods)
    return pd.DataFrame(cells).rename(columns="method {}".format, index="set {}".format)


@pytest.fixture(params=["data", *MEASURES])
def compared(request):
    """Give the name of a table and the table itself; R compared the methods on all of them."""
    if request.param == "data":
        return request.param, load("compare", "data").set_index("Unnamed: 0")
    return request.param, load_paper_table(request.param)


# Against R


def test_friedman_s_test_agrees_with_r(compared):
    name, table = compared
    expected = load("compare", "friedman").set_index("table").loc[name]
    result = compare.friedman(table)
    np.testing.assert_allclose(result.statistic, expected["statistic"], **EXACT)
    np.testing.assert_allclose(result.pvalue, expected["pvalue"], **EXACT)
    assert result.df == expected["df"]


@pytest.mark.parametrize("adjust", [None, "holm", "fdr_bh"])
def test_conover_s_test_agrees_with_the_analysis_of_ranks_in_r(compared, adjust):
    name, table = compared
    expected = load("compare", "pairs").set_index("table").loc[name]
    pvalues = compare.posthoc_conover(table, adjust)
    found = [pvalues.loc[pair] for pair in zip(expected["first"], expected["second"], strict=True)]
    np.testing.assert_allclose(found, expected[adjust or "conover"], **EXACT)


def test_nemenyi_s_test_agrees_with_r(compared):
    name, table = compared
    expected = load("compare", "pairs").set_index("table").loc[name]
    pvalues = compare.posthoc_nemenyi(table)
    found = [pvalues.loc[pair] for pair in zip(expected["first"], expected["second"], strict=True)]
    # R's ptukey is accurate to about ten digits after the point.
    np.testing.assert_allclose(found, expected["nemenyi"], atol=1e-8)


def test_critical_differences_agree_with_r():
    for row in load("compare", "differences").itertuples():
        found = compare.critical_difference(int(row.methods), 10, row.alpha)
        # R's qtukey stops at a change of 0.0001.
        assert found == pytest.approx(row.difference, rel=2e-4)


@pytest.mark.parametrize(
    ("n_methods", "alpha", "quantile"),
    [(2, 0.05, 1.960), (4, 0.05, 2.569), (10, 0.05, 3.164), (4, 0.10, 2.291), (7, 0.10, 2.693)],
)
def test_critical_differences_are_those_of_demsar_s_table(n_methods, alpha, quantile):
    error = np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    found = compare.critical_difference(n_methods, 14, alpha)
    assert found / error == pytest.approx(quantile, abs=6e-4)


def test_demsar_s_example_comes_out_as_he_prints_it():
    methods = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
    ranks = [4, 3, 2, 1, 1, 2, 3, 4, 4, 1, 2, 3, 4, 1, 3, 2, 4, 2, 3, 1, 1, 2.5, 4, 2.5, 3, 2, 4, 1]
    ranks += [2.5, 2.5, 4, 1, 4, 3, 2, 1, 2.5, 2.5, 2.5, 2.5, 4, 2.5, 1, 2.5, 3, 2, 4, 1]
    ranks += [4, 1, 2, 3, 3, 1, 4, 2]
    table = pd.DataFrame(np.reshape(ranks, (14, 4)), columns=methods)
    result = compare.friedman(table, higher_is_better=False)
    # His best rank is 1, ours is the number of methods.
    np.testing.assert_allclose(5 - result.ranks, [3.143, 2.000, 2.893, 1.964], atol=6e-4)
    pvalues = compare.posthoc_nemenyi(table)
    different = {pair for pair in itertools.combinations(methods, 2) if pvalues.loc[pair] <= 0.10}
    assert different == {("C4.5", "C4.5+m"), ("C4.5", "C4.5+m+cf")}
    assert pvalues.to_numpy().min() > 0.05


# Against other computations


@many
@given(tables.filter(lambda table: table.shape[1] > 2 and table.std(axis=1).any()))
def test_friedman_s_test_is_scipy_s(table):
    expected = stats.friedmanchisquare(*table.to_numpy().T)
    np.testing.assert_allclose(tuple(compare.friedman(table)), tuple(expected), rtol=1e-9)


def test_two_methods_can_be_compared():
    table = simulated(12, 2, effect=1.0)
    wins = (table["method 1"] > table["method 0"]).sum()
    result = compare.friedman(table)
    # Without ties it is the sign test: the squared distance of wins from half the data sets.
    assert result.statistic == pytest.approx((2 * wins - 12) ** 2 / 12)
    assert result.df == 1
    assert result.pvalue == pytest.approx(stats.chi2.sf(result.statistic, 1))


def test_conover_s_test_is_the_t_test_in_the_analysis_of_ranks():
    table = simulated(9, 4, seed=3, effect=0.4).round(1)
    long = table.rank(axis=1).reset_index().melt("index", var_name="method", value_name="rank")
    long = long.astype({"index": object, "method": object})
    fit = smf.ols("rank ~ C(method) + C(index)", long).fit()
    pvalues = compare.posthoc_conover(table, adjust=None)
    for method in table.columns[1:]:
        expected = fit.pvalues[f"C(method)[T.{method}]"]
        assert pvalues.loc["method 0", method] == pytest.approx(expected, rel=1e-9)


@many
@given(tables)
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.DataWarning")
def test_p_values_of_pairs_are_those_of_scikit_posthocs(table):
    expected = scikit_posthocs.posthoc_nemenyi_friedman(table)
    np.testing.assert_allclose(compare.posthoc_nemenyi(table), expected, rtol=0, atol=1e-12)
    result = compare.friedman(table)
    # Where nothing varies beside the methods it divides zero by zero.
    if not (result.all_tied or result.unanimous):
        expected = scikit_posthocs.posthoc_conover_friedman(table)
        found = compare.posthoc_conover(table, adjust=None)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_the_f_test_is_iman_and_davenport_s():
    result = compare.friedman(simulated(14, 4, seed=5, effect=0.5))
    chi2 = result.statistic
    statistic, pvalue = result.iman_davenport
    assert statistic == pytest.approx(13 * chi2 / (14 * 3 - chi2))
    assert pvalue == pytest.approx(stats.f.sf(statistic, 3, 39))


def test_concordance_is_kendall_s():
    table = simulated(6, 5, effect=0.3)
    pairs = itertools.combinations(table.to_numpy(), 2)
    mean = np.mean([stats.spearmanr(a, b).statistic for a, b in pairs])
    # The mean of Spearman's correlations of all pairs of data sets is (n W - 1) / (n - 1).
    assert compare.friedman(table).concordance == pytest.approx((5 * mean + 1) / 6)


def test_p_values_are_uniform_where_methods_perform_alike():
    rng = np.random.default_rng(8)
    pvalues = np.array(
        [compare.friedman(pd.DataFrame(rng.random((40, 6)))).pvalue for _ in range(400)]
    )
    rejected = (pvalues <= 0.05).mean()
    # Three standard errors of a share of 400.
    assert abs(rejected - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 400)


# Ranks


def test_the_best_method_has_the_highest_rank():
    table = pd.DataFrame({"bad": [0.1, 0.2, 0.3], "good": [0.8, 0.7, 0.9], "mid": [0.5, 0.5, 0.5]})
    assert compare.friedman(table).ranks.to_dict() == {"bad": 1, "good": 3, "mid": 2}
    losses = compare.friedman(1 - table, higher_is_better=False)
    assert losses.ranks.to_dict() == {"bad": 1, "good": 3, "mid": 2}
    assert losses.to_frame().index.tolist() == ["good", "mid", "bad"]


def test_equal_values_share_the_mean_of_their_ranks():
    table = pd.DataFrame([[0.5, 0.5, 0.1, 0.9], [0.2, 0.2, 0.2, 0.2]], columns=list("abcd"))
    result = compare.friedman(table)
    np.testing.assert_allclose(result.ranks, [2.5, 2.5, 1.75, 3.25])
    assert result.to_frame()["wins"].to_dict() == {"d": 2, "a": 1, "b": 1, "c": 1}


@many
@given(tables)
def test_ranks_add_up_and_turn_round_with_the_values(table):
    result = compare.friedman(table)
    n_methods = table.shape[1]
    assert result.ranks.sum() == pytest.approx(n_methods * (n_methods + 1) / 2)
    turned = compare.friedman(table, higher_is_better=False)
    np.testing.assert_allclose(turned.ranks, n_methods + 1 - result.ranks)
    assert tuple(turned) == tuple(result)


@many
@given(tables)
def test_only_the_order_of_values_matters(table):
    result = compare.friedman(table)
    other = compare.friedman(np.exp(3 * table).mul(np.arange(1, len(table) + 1), axis=0))
    assert tuple(other) == tuple(result)
    shuffled = compare.friedman(table.iloc[::-1, ::-1])
    assert shuffled.statistic == pytest.approx(result.statistic, rel=1e-12, abs=1e-12)
    pd.testing.assert_series_equal(shuffled.ranks[result.ranks.index], result.ranks)


@many
@given(tables, st.sampled_from(["conover", "holm", "nemenyi"]))
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.DataWarning")
def test_p_values_of_pairs_are_symmetric_and_fall_with_the_difference_of_ranks(table, test):
    ranks = compare.friedman(table).ranks.to_numpy()
    if test == "nemenyi":
        frame = compare.posthoc_nemenyi(table)
    else:
        frame = compare.posthoc_conover(table, None if test == "conover" else test)
    assert frame.index.tolist() == frame.columns.tolist() == table.columns.tolist()
    pvalues = frame.to_numpy()
    assert np.array_equal(pvalues, pvalues.T)
    assert (np.diag(pvalues) == 1).all()
    assert ((pvalues >= 0) & (pvalues <= 1)).all()
    upper = np.triu_indices(len(ranks), 1)
    difference = np.abs(ranks[:, None] - ranks)[upper].round(9)
    order = np.lexsort((-pvalues[upper], difference))
    assert (np.diff(pvalues[upper][order]) <= 1e-9).all()


# Tables in which nothing, or nothing but the methods, varies


def test_methods_that_tie_everywhere_are_not_different():
    table = pd.DataFrame(0.5, index=range(4), columns=list("abc"))
    result = compare.friedman(table)
    assert tuple(result) == (0, 1)
    assert result.concordance == 0
    assert result.iman_davenport == (0, 1)
    assert (result.posthoc == 1).all(axis=None)
    assert (compare.posthoc_nemenyi(table) == 1).all(axis=None)
    assert "equal on every data set" in str(result.summary())


def test_conover_s_p_values_are_zero_with_a_warning_where_all_data_sets_agree():
    table = pd.DataFrame({"a": [1, 2, 3], "b": [2, 3, 4], "c": [2, 3, 4], "d": [9, 9, 9]})
    result = compare.friedman(table)
    assert result.concordance == pytest.approx(1)
    assert result.iman_davenport == (np.inf, 0)
    with pytest.warns(DataWarning, match="every data set ranks the methods alike"):
        pvalues = result.posthoc
    assert pvalues.loc["b", "c"] == 1
    assert pvalues.loc["a", "b"] == pvalues.loc["a", "d"] == pvalues.loc["c", "d"] == 0
    assert "ranks the methods alike" in " ".join(str(result.summary()).split())


# What cannot be compared


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (simulated(5, 1), ("two columns", "(5, 1)", "table.T")),
        (simulated(1, 5), ("two rows", "(1, 5)")),
        (pd.DataFrame(), ("(0, 0)",)),
        (np.ones((3, 3)), ("DataFrame", "ndarray")),
        (None, ("NoneType",)),
        (
            simulated(3, 3).assign(**{"method 1": list("abc")}),
            ("must be numeric", "'method 1'"),
        ),
        (simulated(3, 3).astype(complex), ("must be numeric",)),
        (simulated(3, 2).set_axis(["a", "a"], axis=1), ("method(s) 'a' more than once",)),
        (simulated(3, 2).set_axis(["x", "y", "x"]), ("data set(s) 'x' more than once", "Average")),
    ],
)
def test_a_table_that_cannot_be_compared_is_refused(table, words):
    for use in (compare.friedman, compare.posthoc_conover, compare.posthoc_nemenyi):
        with pytest.raises(DataError) as caught:
            use(table)
        for word in words:
            assert word in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, None, pd.NA, np.inf])
def test_a_data_set_that_a_method_lacks_is_named(value):
    table = simulated(4, 3).astype(object)
    table.loc["set 2", "method 1"] = value
    with pytest.raises(DataError, match=r"none of 'method 1 on set 2'.*dropna"):
        compare.friedman(table)


def test_options_are_checked():
    table = simulated(5, 3)
    with pytest.raises(DataError, match="adjust must be one of None, 'bonferroni'"):
        compare.posthoc_conover(table, adjust="tukey")
    with pytest.raises(DataError, match="higher_is_better must be one of True, False"):
        compare.friedman(table, higher_is_better="yes")
    with pytest.raises(DataError, match="test must be one of 'nemenyi', 'conover'"):
        compare.plot_critical_difference(table, test="wilcoxon")
    for alpha in (0, 1, "0.05", None):
        with pytest.raises(DataError, match="alpha must be a finite number above 0 and below 1"):
            compare.plot_critical_difference(table, alpha=alpha)
    with pytest.raises(DataError, match="ax must be matplotlib Axes"):
        compare.plot_critical_difference(table, ax=3)
    for sizes, argument in (((1, 5), "n_methods"), ((5, 1), "n_datasets"), ((2.5, 5), "n_methods")):
        with pytest.raises(DataError, match=f"{argument} must be a whole number of at least 2"):
            compare.critical_difference(*sizes)


# The result


def test_a_result_reads_as_a_table_of_methods_and_pairs():
    result = compare.friedman(load_paper_table("hamming"))
    summary = result.summary()
    text = " ".join(str(summary).split())
    for words in ("Friedman Test", "Methods: 7", "Data sets: 13", "Chi-square: 22.223", "0.0011"):
        assert words in text
    assert "1 products" in text
    assert "7 lp-chi2 0.000325" in text
    assert str(result.summary()) == str(summary)
    assert result._repr_html_() == summary.as_html()
    assert "lp-chi2" in summary.as_latex()
    assert "not significant" not in text
    assert "not significant" in str(compare.friedman(load_paper_table("jaccard")).summary())


def test_names_are_escaped_in_html():
    table = simulated(12, 3).rename(columns={"method 0": "<b>bold</b>"})
    result = compare.friedman(table)
    assert html.escape("<b>bold</b>") in result._repr_html_()
    assert "<b>bold" not in result._repr_html_()


def test_many_methods_have_no_table_of_pairs():
    summary = str(compare.friedman(simulated(12, 11)).summary())
    assert "p-values of pairs" not in summary
    assert "method 10" in summary


def test_small_tables_are_warned_of_in_the_summary():
    assert "rough approximation" in str(compare.friedman(simulated(10, 6)).summary())
    assert "rough approximation" not in str(compare.friedman(simulated(11, 6)).summary())


def test_a_result_cannot_be_changed():
    table = simulated(5, 3)
    result = compare.friedman(table)
    with pytest.raises(AttributeError):
        result.methods = ("a", "b", "c")
    with pytest.raises(AttributeError):
        result.posthoc = None
    with pytest.raises(ValueError, match="read-only"):
        result.scores[0, 0] = 1
    ranks, before = result.ranks, result.ranks.copy()
    ranks.iloc[0] = 99
    table.iloc[0, 0] = 99
    pd.testing.assert_series_equal(result.ranks, before)
    assert result.scores.max() < 99
    assert repr(result).startswith("CompareResult(3 methods on 5 data sets, chi2(2) =")


def test_comparing_imports_nothing_that_draws():
    code = (
        "import sys, pandas as pd; from isingmlc import compare; "
        "table = pd.DataFrame([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], columns=list('abc')); "
        "str(compare.friedman(table).summary()); compare.posthoc_nemenyi(table); "
        "print({'scikit_posthocs', 'seaborn', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "set()"


# The diagram


def boxes(ax):
    ax.figure.canvas.draw()
    texts = [text for text in (*ax.texts, ax.title) if text.get_text()]
    return {text.get_text(): text.get_window_extent() for text in texts}


def overlap(a, b):
    return min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1


def bars(ax):
    """Give where bars begin and end."""
    return [tuple(line.get_xdata()) for line in ax.lines if line.get_solid_capstyle() == "round"]


NAMES = ["score", "products", "products-joint", "l1", "score+l1", "br-chi2", "br-ig", "lp-ig"]
close = simulated(13, 8).set_axis(NAMES, axis=1)


@pytest.mark.parametrize("test", ["nemenyi", "conover"])
@pytest.mark.parametrize(
    ("table", "size"),
    [
        (close, (7.5, 3)),
        (close, (4.5, 3)),
        (load_paper_table("subset"), (6, 3)),
        (simulated(20, 25, effect=0.1), (8, 7)),
        (simulated(3, 2, effect=1.0), (5, 2)),
        (simulated(2, 8), (6, 3)),
        (close.rename(columns="a very long name of the method that is called {}".format), (7, 3)),
    ],
)
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.DataWarning")
def test_no_text_of_the_diagram_overlaps_or_leaves_it(table, size, test):
    ax = Figure(figsize=size, layout="constrained").subplots()
    assert compare.plot_critical_difference(table, ax=ax, test=test) is ax
    found = boxes(ax)
    for (name, box), (other, second) in itertools.combinations(found.items(), 2):
        assert not overlap(box, second), (name, other)
    area = ax.figure.bbox
    for name, box in found.items():
        assert box.x0 >= area.x0 - 1, name
        assert box.x1 <= area.x1 + 1, name
        assert box.y0 >= area.y0 - 1, name
        assert box.y1 <= area.y1 + 1, name


def test_the_diagram_shows_ranks_and_the_critical_difference():
    table = load_paper_table("hamming")
    ax = compare.plot_critical_difference(table, ax=Figure(figsize=(7, 3)).subplots())
    texts = [text.get_text() for text in ax.texts]
    for name, rank in compare.friedman(table).ranks.items():
        assert any(name in text.split() and f"{rank:.2f}" in text for text in texts)
    assert "critical difference 2.50" in texts
    assert any("0.05 (Nemenyi)" in text for text in texts)
    lines = [line.get_xdata() for line in ax.lines]
    assert any(len(x) == 2 and np.isclose(x[1] - x[0], 2.4986, atol=1e-3) for x in lines)


def test_bars_join_exactly_the_methods_that_do_not_differ():
    for test, table in itertools.product(
        ("nemenyi", "conover"), (load_paper_table("hamming"), simulated(20, 9, 1, effect=0.35))
    ):
        result = compare.friedman(table)
        pvalues = compare.posthoc_nemenyi(table) if test == "nemenyi" else result.posthoc
        ax = result.plot_critical_difference(ax=Figure(figsize=(7, 4)).subplots(), test=test)
        joined = bars(ax)
        assert joined
        for first, second in itertools.combinations(result.methods, 2):
            ranks = result.ranks[[first, second]]
            together = any(low <= ranks.min() and ranks.max() <= high for low, high in joined)
            assert together == (pvalues.loc[first, second] > 0.05), (test, first, second)


def test_methods_that_all_differ_have_no_bars():
    table = simulated(60, 3, effect=9.0)
    ax = compare.plot_critical_difference(table, ax=Figure().subplots())
    assert not bars(ax)


def test_a_critical_difference_longer_than_the_axis_says_so():
    ax = compare.plot_critical_difference(simulated(2, 3), ax=Figure().subplots())
    assert any("longer than the axis" in text.get_text() for text in ax.texts)


def test_drawing_leaves_settings_and_filters_alone():
    settings_before, filters = dict(mpl.rcParams), list(warnings.filters)
    compare.plot_critical_difference(close, ax=Figure().subplots(), test="conover")
    assert dict(mpl.rcParams) == settings_before
    assert warnings.filters == filters
