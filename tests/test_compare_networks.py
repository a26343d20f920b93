"""Whether networks of groups differ."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats as distributions

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError
from isingmlc.fitting import l1_path
from isingmlc.fitting.testable import Reason
from isingmlc.networks.groups import compare_weights

REFERENCE = Path(__file__).parent / "reference"
OURS = "ignore::isingmlc.exceptions.IsingWarning"
PAIRS = np.triu_indices(4, 1)


@pytest.fixture(scope="module")
def rows():
    return pd.read_csv(REFERENCE / "context_data.csv")


@pytest.fixture(scope="module")
def labels(rows):
    return rows[["y1", "y2", "y3", "y4"]]


@pytest.fixture(scope="module")
def found(rows, labels):
    return im.compare_networks(
        im.IsingModel(labels), rows["sex"], n_permutations=99, random_state=0
    )


def test_differences_are_those_of_r():
    expected = pd.read_csv(REFERENCE / "context_groups.csv").loc[0]
    networks = [
        pd.read_csv(REFERENCE / f"context_group{group}_network.csv", index_col=0).to_numpy()[PAIRS]
        for group in (0, 1)
    ]
    apart = compare_weights(np.array(networks), np.ones(6, dtype=bool))
    assert apart.largest == pytest.approx(expected["M"], abs=1e-12)
    assert apart.strength == pytest.approx(expected["S"], abs=1e-12)


def test_sparse_networks_of_groups_are_those_of_r(rows, labels, monkeypatch):
    """The reference was made with whole paths (fdev = 0), which glmnet ends early otherwise."""
    monkeypatch.setattr(l1_path, "path_has_ended", lambda explained: False)
    expected = pd.read_csv(REFERENCE / "context_groups.csv").loc[0]
    found = im.compare_networks(
        im.IsingModel(labels), rows["sex"], method="ebic", n_permutations=3, random_state=0
    )
    assert pytest.approx(expected["M"], abs=1e-4) == found.M
    assert pytest.approx(expected["S"], abs=1e-4) == found.S
    np.testing.assert_allclose(
        found.groups["strength"], expected[["strength0", "strength1"]].to_numpy(), atol=1e-4
    )
    assert found._wald is None
    assert found.edges["wald"].isna().all()
    assert list(found.tests.index) == ["M", "S"]


def test_networks_are_those_of_the_groups(rows, labels, found):
    assert list(found.networks) == ["0", "1"]
    for group in (0, 1):
        inside = (rows["sex"] == group).to_numpy()
        alone = im.IsingModel(labels[inside]).fit()
        np.testing.assert_allclose(
            found.networks[str(group)].interactions, alone.interactions, atol=1e-9
        )
        weights = alone.interactions.to_numpy()[PAIRS]
        np.testing.assert_allclose(found.edges[f"weight_{group}"], weights, atol=1e-9)
        assert found.groups.loc[str(group), "observations"] == inside.sum()
        assert found.groups.loc[str(group), "strength"] == pytest.approx(np.abs(weights).sum())
    apart = (found.edges["weight_0"] - found.edges["weight_1"]).abs()
    np.testing.assert_allclose(found.edges["difference"], apart)
    assert pytest.approx(apart.max()) == found.M


def test_wald_tests_are_those_of_two_independent_estimates(rows, labels, found):
    tables = [
        im.IsingModel(labels[(rows["sex"] == group).to_numpy()]).fit().network_table()
        for group in (0, 1)
    ]
    z = (tables[0]["weight"] - tables[1]["weight"]) / np.hypot(tables[0]["se"], tables[1]["se"])
    np.testing.assert_allclose(found.edges["wald"], z**2, rtol=1e-8)
    np.testing.assert_allclose(found.edges["wald_pvalue"], 2 * distributions.norm.sf(z.abs()))
    # All at once, by the contrasts of each group
    wald = found.tests.loc["wald"]
    assert wald["df"] == 6
    assert wald["pvalue"] == pytest.approx(distributions.chi2.sf(wald["statistic"], 6))
    estimates = [net._estimate for net in found.networks.values()]
    unit = np.zeros((6, 4, 4))
    unit[np.arange(6), PAIRS[0], PAIRS[1]] = unit[np.arange(6), PAIRS[1], PAIRS[0]] = 1
    spread = sum(each.covariance(unit) for each in estimates)
    apart = (found.edges["weight_0"] - found.edges["weight_1"]).to_numpy()
    assert wald["statistic"] == pytest.approx(apart @ np.linalg.solve(spread, apart))


def test_permutations_deal_out_rows(rows, labels, found):
    """The same from rows: membership is shuffled and each group fitted; another stream of draws.

    Of 99 permutations each a p-value has a standard error of at most 0.05.
    """
    rng, sex = np.random.default_rng(5), rows["sex"].to_numpy()
    largest, strength = [], []
    for _ in range(99):
        shuffled = rng.permutation(sex)
        weights = [
            im.IsingModel(labels[shuffled == group]).fit().interactions.to_numpy()[PAIRS]
            for group in (0, 1)
        ]
        largest.append(np.abs(weights[0] - weights[1]).max())
        strength.append(abs(np.abs(weights[0]).sum() - np.abs(weights[1]).sum()))
    assert found.pvalue == pytest.approx((1 + np.sum(np.array(largest) >= found.M)) / 100, abs=0.1)
    expected = (1 + np.sum(np.array(strength) >= found.S)) / 100
    assert found.tests.loc["S", "pvalue"] == pytest.approx(expected, abs=0.25)


def test_pvalues_are_never_zero_and_adjusted_ones_not_smaller(found):
    edges = found.edges
    assert (edges["pvalue"] >= 0.01).all()
    assert (edges["pvalue_adj"] >= edges["pvalue"]).all()
    assert edges["pvalue_adj"].min() == pytest.approx(found.pvalue)
    assert (edges["reason"] == Reason.OK).all()


def test_three_groups_and_names(rows, labels):
    found = im.compare_networks(
        im.IsingModel(labels), rows["region"], n_permutations=19, random_state=0
    )
    assert list(found.networks) == ["mid", "north", "south"]
    weights = found.edges[["weight_mid", "weight_north", "weight_south"]]
    np.testing.assert_allclose(found.edges["difference"], np.ptp(weights.to_numpy(), axis=1))
    wald = found.tests.loc["wald"]
    assert wald["df"] == 12
    # Equal to that of differences from another group
    again = im.compare_networks(
        im.IsingModel(labels),
        rows["region"].map({"mid": "z", "north": "a", "south": "k"}),
        n_permutations=1,
        random_state=0,
    )
    assert again.tests.loc["wald", "statistic"] == pytest.approx(wald["statistic"])
    assert pytest.approx(found.M) == again.M


def test_weights_stand_for_rows_and_the_seed_decides(rows, labels):
    times = np.random.default_rng(0).integers(1, 3, len(labels))
    repeated = labels.loc[labels.index.repeat(times)].reset_index(drop=True)
    options = {"n_permutations": 20, "random_state": 3}
    weighted = im.compare_networks(
        im.IsingModel(labels, freq_weights=times), rows["sex"], **options
    )
    other = im.compare_networks(
        im.IsingModel(repeated), np.repeat(rows["sex"].to_numpy(), times), **options
    )
    pd.testing.assert_frame_equal(weighted.edges, other.edges, rtol=1e-7)
    assert weighted.pvalue == other.pvalue


def test_covariates_leave_wald_tests_alone(rows, labels):
    model = im.IsingModel(labels, covariates=rows[["age"]])
    found = im.compare_networks(model, rows["sex"], n_permutations=10)
    assert found.n_permutations == 0
    assert np.isnan(found.pvalue)
    assert found.edges["pvalue"].isna().all()
    assert found.edges["wald_pvalue"].between(0, 1).all()
    assert found.tests.loc["wald", "pvalue"] < 1


@pytest.mark.filterwarnings(OURS)
def test_pairs_that_never_meet_in_a_group_are_not_compared():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame((rng.random((400, 3)) < 0.4).astype(int), columns=list("abc"))
    group = np.repeat([0, 1], 200)
    labels.loc[group == 1, "b"] &= 1 - labels.loc[group == 1, "a"]
    found = im.compare_networks(im.IsingModel(labels), group, n_permutations=19, random_state=0)
    edges = found.edges.set_index(["first", "second"])
    assert edges.loc[("a", "b"), "reason"] == Reason.INFINITE_PAIR
    assert np.isnan(edges.loc[("a", "b"), "difference"])
    assert np.isnan(edges.loc[("a", "b"), "pvalue"])
    assert pytest.approx(edges["difference"].max()) == found.M
    assert 0 < found.pvalue <= 1


def test_a_planted_difference_is_found():
    weights = np.zeros((4, 4))
    weights[0, 1] = weights[1, 0] = 2.5
    first = im.simulate.IsingDistribution(np.full(4, -0.5), weights).sample(300, random_state=0)
    second = im.simulate.IsingDistribution(np.full(4, -0.5), 0 * weights).sample(
        300, random_state=1
    )
    model = im.IsingModel(pd.concat([first, second], ignore_index=True))
    found = im.compare_networks(model, np.repeat([0, 1], 300), n_permutations=99, random_state=0)
    assert found.pvalue == 0.01
    significant = found.edges[found.edges["pvalue_adj"] < 0.05]
    assert significant[["first", "second"]].to_numpy().tolist() == [["y1", "y2"]]


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (lambda rows: rows["sex"].iloc[:10], "lacks rows"),
        (lambda rows: [0, 1], "one group for each"),
        (lambda rows: np.zeros(len(rows)), "two groups or more"),
        (lambda rows: rows["sex"].where(rows.index > 3), "missing"),
        (lambda rows: np.arange(len(rows)), "qcut"),
        (lambda rows: "sex", "one group for each"),
    ],
)
def test_bad_groups_are_refused(rows, labels, by, said):
    with pytest.raises(DataError, match=said):
        im.compare_networks(im.IsingModel(labels), by(rows))


def test_other_bad_input_is_refused(rows, labels):
    model, sex = im.IsingModel(labels), rows["sex"]
    with pytest.raises(DataError, match="n_permutations"):
        im.compare_networks(model, sex, n_permutations=0)
    with pytest.raises(DataError, match="method"):
        im.compare_networks(model, sex, method="lasso")
    with pytest.raises(DataError, match="IsingModel"):
        im.compare_networks(labels, sex)
    with pytest.raises(ModelError, match="rows"):
        im.compare_networks(model.without_data(), sex)
    with pytest.raises(ModelError, match="groups"):
        im.compare_networks(im.IsingModel(labels, groups=rows["centre"]), sex)
    with pytest.raises(ModelError, match="sampling_weights"):
        im.compare_networks(im.IsingModel(labels, sampling_weights=rows["weight"]), sex)
    lost = labels.assign(y4=labels["y4"] * sex)
    with pytest.raises(DataError, match=r"'y4' do not vary in the group '0'"):
        im.compare_networks(im.IsingModel(lost), sex)
