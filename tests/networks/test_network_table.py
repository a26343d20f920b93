"""The network as an estimate: errors of pairs of labels, and tests of combinations of them."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats as distributions

import isingmlc as im
from isingmlc.exceptions import DataError

OURS = "ignore::isingmlc.exceptions.IsingWarning"


@pytest.fixture(scope="module")
def example():
    return im.datasets.load_example()


def stacked(labels, covariates=None):
    """Fit all label models as one regression, the labels of a row being a cluster.

    Gives coefficients and covariance, and where the coefficient of a label in the model of
    another one is.
    """
    labels = np.asarray(labels, dtype=float)
    n, n_labels = labels.shape
    extra = np.empty((n, 0)) if covariates is None else np.asarray(covariates, dtype=float)
    width = n_labels + extra.shape[1]
    design = np.zeros((n_labels * n, n_labels * width))
    for k in range(n_labels):
        block = np.column_stack([np.ones(n), np.delete(labels, k, axis=1), extra])
        design[k * n : (k + 1) * n, k * width : (k + 1) * width] = block
    fit = sm.GLM(labels.T.ravel(), design, family=sm.families.Binomial()).fit(
        tol=1e-13,
        cov_type="cluster",
        cov_kwds={"groups": np.tile(np.arange(n), n_labels), "use_correction": False},
    )

    def at(k, m):
        return k * width + 1 + (m if m < k else m - 1)

    return fit.params, fit.cov_params(), at, width


def of_pairs(covariance, at, combination, names):
    """Return the variance of a combination of pairs from that of all coefficients."""
    line = np.zeros(len(covariance))
    for (first, second), share in combination.items():
        k, m = names.index(first), names.index(second)
        line[at(k, m)] += share / 2
        line[at(m, k)] += share / 2
    return line


@pytest.mark.parametrize("covariates", [None, ["age"], ["age", "bmi"]])
def test_errors_are_those_of_one_stacked_regression_with_rows_as_clusters(example, covariates):
    context = None if covariates is None else example.features[covariates]
    res = im.IsingModel(example.labels, covariates=context).fit()
    coef, covariance, at, width = stacked(example.labels, context)
    table = res.network_table()
    for row in table.itertuples():
        line = of_pairs(covariance, at, {(row.first, row.second): 1}, res.label_names)
        assert row.weight == pytest.approx(line @ coef, rel=1e-7)
        assert row.se == pytest.approx(np.sqrt(line @ covariance @ line), rel=1e-7)
        assert row.pvalue == pytest.approx(2 * distributions.norm.sf(abs(row.z)), rel=1e-9)
    # Two pairs and a threshold together
    names = res.label_names
    combination = {(names[0], names[1]): 1.0, (names[2], names[4]): -2.0}
    lines = np.array(
        [
            of_pairs(covariance, at, combination, names),
            of_pairs(covariance, at, {(names[1], names[2]): 1.0}, names),
        ]
    )
    lines[1, 3 * width] = 0.5
    values = np.array([0.1, -1.0])
    apart = lines @ coef - values
    expected = apart @ np.linalg.solve(lines @ covariance @ lines.T, apart)
    test = res.contrast([combination, {(names[2], names[1]): 1.0, names[3]: 0.5}], values)
    assert test.statistic == pytest.approx(expected, rel=1e-7)
    assert test.df == 2
    # Hotelling's distribution, with the degrees of freedom of a label's regression.
    left = res.nobs - len(res.label_names) - len(covariates or ())
    scaled = expected * (left - 1) / (2 * left)
    assert test.pvalue == pytest.approx(distributions.f.sf(scaled, 2, left - 1), rel=1e-6)
    assert tuple(test) == (test.statistic, test.pvalue)


def test_table_has_cells_limits_and_evidence(example):
    labels = example.labels
    res = im.IsingModel(labels).fit()
    table = res.network_table(alpha=0.1, adjust="holm")
    assert len(table) == 15
    for row in table.itertuples():
        cells = pd.crosstab(labels[row.first], labels[row.second])
        assert (row.both, row.first_only) == (cells.loc[1, 1], cells.loc[1, 0])
        assert (row.second_only, row.neither) == (cells.loc[0, 1], cells.loc[0, 0])
    width = (table["upper"] - table["lower"]) / table["se"]
    np.testing.assert_allclose(width, 2 * 1.6448536269514722)
    np.testing.assert_allclose(table["evidence"], table["z"] ** 2 - np.log(len(labels)))
    holm = sm.stats.multipletests(table["pvalue"], method="holm")[1]
    np.testing.assert_allclose(table["pvalue_adj"], holm)
    raw = res.network_table(adjust=None)
    assert raw["pvalue_adj"].equals(raw["pvalue"].rename("pvalue_adj"))


@pytest.mark.filterwarnings(OURS)
def test_pairs_without_an_estimate_say_why():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame((rng.random((400, 5)) < 0.4).astype(int), columns=list("abcde"))
    labels["b"] &= 1 - labels["a"]  # a and b never meet
    labels["f"] = 1
    labels["g"] = labels["c"]
    res = im.IsingModel(labels).fit()
    table = res.network_table().set_index(["first", "second"])
    assert table.loc[("a", "b"), "weight"] == -np.inf
    assert table.loc[("a", "b"), "reason"] == "infinite-pair"
    assert table.loc[("a", "f"), "reason"] == "constant-label"
    assert (table.loc[("c", "g"), ["both", "first_only", "second_only"]] > 0).tolist() == [
        True,
        False,
        False,
    ]
    assert table.loc[("d", "e"), "reason"] == "ok"
    untested = ~table["reason"].isin(["ok", "one-model"])
    numbers = table[["se", "z", "pvalue", "pvalue_adj", "lower", "upper", "evidence"]]
    assert numbers[untested].isna().all(axis=None)
    assert np.isfinite(numbers[~untested]).all(axis=None)
    np.testing.assert_array_equal(
        table["weight"].to_numpy(), res.interactions.to_numpy()[np.triu_indices(7, 1)]
    )
    test = res.contrast({("d", "e"): 1, ("a", "b"): -1})
    assert np.isnan(test.statistic)
    assert np.isnan(test.pvalue)
    assert test.reason == "infinite-pair"
    assert res.contrast([("a", "f")]).reason == "constant-label"


def test_models_with_some_neighbours_only(example):
    res = im.IsingModel(example.labels).fit(neighbors=2)
    table = res.network_table()
    absent = table["reason"] == "no-model"
    single = table["reason"] == "one-model"
    assert absent.any()
    assert single.any()
    assert (table.loc[absent, "weight"] == 0).all()
    assert table.loc[absent, "se"].isna().all()
    for row in table[single].itertuples():
        mine, other = res.params.loc[row.second, row.first], res.params.loc[row.first, row.second]
        assert row.weight == (mine or other)
        assert row.se > 0


def test_null_is_said_in_words_and_tests_cannot_be_changed(example):
    res = im.IsingModel(example.labels).fit()
    first, second, third, *_ = res.label_names
    test = res.contrast({(first, second): 2, (second, third): -0.5, first: 1}, 1)
    assert test.null == f"2 {first}:{second} - 0.5 {second}:{third} + threshold of {first} = 1"
    assert test.distribution == "chi2(1)"
    assert res.contrast((first, second)) == res.contrast({(first, second): 1.0})
    pairs = [(first, name) for name in res.label_names[1:]]
    assert res.contrast(pairs).null.endswith(" = 0 and 2 more")
    again = res.contrast([*pairs, pairs[0]])
    assert again.df == 5
    assert again.statistic == pytest.approx(res.contrast(pairs).statistic, rel=1e-9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        test.pvalue = 0.0


@pytest.mark.parametrize(
    ("combinations", "value", "said"),
    [
        ("diabetes", 0, "cannot be read"),
        ([], 0, "at least one pair"),
        ([{}], 0, "at least one pair"),
        ([("diabetes", "diabetes")], 0, "two labels"),
        ([("diabetes", "gout")], 0, "'gout'"),
        ([("diabetes", "asthma", "arthritis")], 0, "two labels"),
        ({("diabetes", "asthma"): 0}, 0, "other than zero"),
        ({("diabetes", "asthma"): "much"}, 0, "finite number"),
        ([("diabetes", "asthma")], [0, 1], "one per combination"),
        ([("diabetes", "asthma")], np.nan, "value must be"),
        ([("diabetes", "asthma"), ("asthma", "diabetes")], [0, 1], "contradict"),
    ],
)
def test_combinations_that_cannot_be_read_are_refused(example, combinations, value, said):
    res = im.IsingModel(example.labels).fit()
    with pytest.raises(DataError, match=said):
        res.contrast(combinations, value)


def test_thresholds_need_an_intercept(example):
    res = im.IsingModel(example.labels, intercept=False).fit()
    assert res.network_table()["se"].notna().all()
    with pytest.raises(DataError, match="intercept"):
        res.contrast({"asthma": 1})


@pytest.mark.slow
def test_intervals_cover():
    """150 draws: the share of covered pairs has a standard error of about 0.5 points."""
    weights = np.zeros((6, 6))
    weights[[0, 0, 1, 2, 3], [1, 2, 4, 3, 5]] = [0.8, -0.4, 0.4, 0.6, 0.5]
    truth = im.simulate.IsingDistribution([-0.8, -0.4, -0.6, -0.2, -1.0, -0.5], weights + weights.T)
    rng, rows = np.random.default_rng(11), np.triu_indices(6, 1)
    pairs, covered = truth.interactions.to_numpy()[rows], []
    for _ in range(150):
        table = im.IsingModel(truth.sample(500, random_state=rng)).fit().network_table()
        covered += ((table["lower"] <= pairs) & (pairs <= table["upper"])).tolist()
    assert 0.93 < np.mean(covered) < 0.97


@pytest.mark.filterwarnings(OURS)
def test_pairs_have_odds_ratios(example):
    res = im.IsingModel(example.labels).fit()
    plain, odds = res.network_table(alpha=0.1), res.network_table(alpha=0.1, exponentiate=True)
    np.testing.assert_allclose(odds["odds_ratio"], np.exp(plain["weight"]))
    np.testing.assert_allclose(odds["lower"], np.exp(plain["weight"] - 1.6448536 * plain["se"]))
    np.testing.assert_allclose(odds["upper"], np.exp(plain["weight"] + 1.6448536 * plain["se"]))
    assert odds.columns[:3].tolist() == ["first", "second", "odds_ratio"]
    same = ["z", "pvalue", "pvalue_adj", "evidence", "both", "reason"]
    pd.testing.assert_frame_equal(odds[same], plain[same])
    # Two labels that never meet, and two that are never apart.
    a = np.resize([1, 0, 0, 0, 1], 300)
    b = np.where(a == 1, 0, np.resize([1, 0, 0], 300))
    c = np.resize([0, 1, 1, 0, 1, 0, 1], 300)
    table = im.IsingModel(np.column_stack([a, b, c])).fit().network_table(exponentiate=True)
    row = table.iloc[0]
    assert (row["odds_ratio"], row["lower"], row["reason"]) == (0, 0, "infinite-pair")
    assert np.isnan(row["upper"])
