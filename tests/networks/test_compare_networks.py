"""Whether networks of groups differ."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError

REFERENCE = Path(__file__).parents[1] / "reference"
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


def test_sparse_networks_of_groups_are_those_of_r(rows, labels):
    """The reference was made with whole paths, ``glmnet.control(fdev=0)``."""
    expected = pd.read_csv(REFERENCE / "context_groups.csv").loc[0]
    found = im.compare_networks(
        im.IsingModel(labels), rows["sex"], method="ebic", n_permutations=3, random_state=0
    )
    assert pytest.approx(expected["M"], abs=1e-4) == found.M
    assert pytest.approx(expected["S"], abs=1e-4) == found.S
    np.testing.assert_allclose(
        found.groups["strength"], expected[["strength0", "strength1"]].to_numpy(), atol=1e-4
    )
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
    apart = found.edges["weight_1"] - found.edges["weight_0"]
    np.testing.assert_allclose(found.edges["difference"], apart)
    assert (apart < 0).any()
    assert pytest.approx(apart.abs().max()) == found.M
    assert found.tests["pairs"].tolist() == [len(apart)] * len(found.tests)


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


def test_covariates_are_in_all_networks(rows, labels):
    model = im.IsingModel(labels, covariates=rows[["age"]])
    found = im.compare_networks(model, rows["sex"], n_permutations=10, random_state=0)
    for group in (0, 1):
        inside = (rows["sex"] == group).to_numpy()
        alone = im.IsingModel(labels[inside], covariates=rows.loc[inside, ["age"]]).fit()
        weights = alone.interactions.to_numpy()[PAIRS]
        np.testing.assert_allclose(found.edges[f"weight_{group}"], weights, atol=1e-8)
    assert found.edges["pvalue"].between(0, 1).all()
    # A covariate that tells the groups apart is none within them.
    named = im.compare_networks(
        im.IsingModel(labels, covariates=rows[["age", "sex"]]),
        "sex",
        n_permutations=10,
        random_state=0,
    )
    pd.testing.assert_frame_equal(named.edges, found.edges)


def test_groups_by_name_of_a_feature_or_of_cells_without_rows(rows, labels, found):
    options = {"n_permutations": 99, "random_state": 0}
    feature = im.compare_networks(im.IsingModel(labels, rows[["age", "sex"]]), "sex", **options)
    pd.testing.assert_frame_equal(feature.edges, found.edges)
    model = im.IsingModel(labels, covariates=rows[["sex"]]).without_data()
    cells = im.compare_networks(model, "sex", **options)
    pd.testing.assert_frame_equal(cells.edges, found.edges, rtol=1e-7)


def test_results_at_hand_are_compared(rows, labels, found):
    parts = [im.IsingModel(labels[(rows["sex"] == group).to_numpy()]).fit() for group in (0, 1)]
    options = {"n_permutations": 99, "random_state": 0}
    named = im.compare_networks(dict(zip("01", parts, strict=True)), **options)
    pd.testing.assert_frame_equal(named.edges, found.edges, rtol=1e-7)
    assert list(im.compare_networks(parts, **options).networks) == ["1", "2"]
    saved = [each.remove_data() for each in parts]
    again = im.compare_networks(saved, **options)
    assert again.pvalue == found.pvalue
    sparse = [each.model.fit_regularized() for each in parts]
    assert 0 < im.compare_networks(sparse, n_permutations=2, random_state=0).pvalue <= 1


@pytest.mark.filterwarnings(OURS)
def test_results_that_cannot_be_compared_are_refused(rows, labels):
    first, second = (im.IsingModel(labels[(rows["sex"] == group).to_numpy()]) for group in (0, 1))
    fit = first.fit()
    with pytest.raises(DataError, match="two networks or more"):
        im.compare_networks([fit])
    with pytest.raises(DataError, match="must have the same labels"):
        im.compare_networks([fit, im.IsingModel(labels[["y2", "y1", "y3"]]).fit()])
    with pytest.raises(DataError, match=r"fitted, but is of type DataFrame. .*IsingModel\(each\)"):
        im.compare_networks([labels, labels])
    with pytest.raises(DataError, match=r"of type IsingModel. Fit them first: .*\[each.fit"):
        im.compare_networks([first, second])
    with pytest.raises(DataError, match="fitted alike"):
        im.compare_networks([fit, second.fit(penalty=1.0)])
    with pytest.raises(DataError, match="fitted already"):
        im.compare_networks([fit, second.fit()], method="ebic")
    with pytest.raises(ModelError, match="without lam"):
        im.compare_networks([first.fit_regularized(0.1), second.fit_regularized(0.1)])
    with pytest.raises(ModelError, match="neighbors"):
        im.compare_networks([first.fit(neighbors="ebic"), second.fit(neighbors="ebic")])
    with pytest.raises(ModelError, match="one by one"):
        im.compare_networks([first.fit("joint"), second.fit("joint")])
    adjusted = im.IsingModel(labels, covariates=rows[["age"]]).fit()
    with pytest.raises(DataError, match="same covariates"):
        im.compare_networks([fit, adjusted])
    lost = im.IsingModel(labels.assign(y4=0)).fit(penalty=1.0)
    with pytest.raises(DataError, match="do not vary in the group 'b'"):
        im.compare_networks({"a": first.fit(penalty=1.0), "b": lost})


# Rows that belong together


def make_pairs(n, rng):
    """Ask people twice: the second answers are mostly the first ones."""
    weights = np.full((3, 3), 0.5) * ~np.eye(3, dtype=bool)
    first = im.simulate.IsingDistribution(np.full(3, -0.3), weights)
    before = first.sample(n, random_state=rng).to_numpy()
    other = first.sample(n, random_state=rng).to_numpy()
    after = np.where(rng.random((n, 1)) < 0.8, before, other)
    frame = pd.DataFrame(np.vstack([before, after]), columns=list("abc"))
    order = rng.permutation(2 * n)
    wave, person = np.repeat([0, 1], n), np.tile(np.arange(n), 2)
    return frame.iloc[order].reset_index(drop=True), wave[order], person[order]


def test_pairs_are_minded():
    frame, wave, person = make_pairs(400, np.random.default_rng(0))
    options = {"n_permutations": 99, "random_state": 0}
    paired = im.compare_networks(im.IsingModel(frame), wave, pairs=person, **options)
    apart = im.compare_networks(im.IsingModel(frame), wave, **options)
    assert paired.null == "pairs, thresholds"
    pd.testing.assert_series_equal(paired.edges["difference"], apart.edges["difference"])
    # Answers that repeat differ less by chance: the same difference has a smaller p-value.
    assert (paired.edges["pvalue"] <= apart.edges["pvalue"]).all()
    assert (paired.edges["pvalue"] < apart.edges["pvalue"]).any()


def test_bad_pairs_are_refused(rows, labels):
    model, sex = im.IsingModel(labels), rows["sex"]
    with pytest.raises(DataError, match="once in every group"):
        im.compare_networks(model, sex, pairs=np.arange(600))
    with pytest.raises(DataError, match="pairs must have one value"):
        im.compare_networks(model, sex, pairs=[1, 2])
    with pytest.raises(DataError, match="name of a covariate"):
        im.compare_networks(model, sex, pairs="person")
    weighted = im.IsingModel(labels, freq_weights=np.full(600, 2))
    with pytest.raises(DataError, match="freq_weights"):
        im.compare_networks(weighted, sex, pairs=np.arange(600))


# Level and power


def rejections(thresholds, n, null, seed, strength=0.8):
    """Compare two groups of equal interactions many times; give shares of p-values up to 5%."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((3, 3))
    weights[0, 1] = weights[1, 0] = weights[1, 2] = weights[2, 1] = strength
    found = []
    for _ in range(80):
        parts = [
            im.simulate.IsingDistribution(np.full(3, each), weights).sample(size, random_state=rng)
            for each, size in zip(thresholds, n, strict=True)
        ]
        networks = [im.IsingModel(part).fit() for part in parts]
        test = im.compare_networks(networks, null=null, n_permutations=19, random_state=rng)
        found.append(test.tests["pvalue"])
    return (np.array(found) <= 0.05 + 1e-12).mean(axis=0)


@pytest.mark.slow
def test_level_holds_where_groups_are_of_unequal_size_and_prevalence():
    """80 tests at 5% each: more than 10 rejections (0.125) have a probability of 0.2%."""
    assert (rejections((-0.5, -0.5), (120, 360), "thresholds", 0) <= 0.125).all()
    assert (rejections((-1.6, 0.1), (250, 500), "thresholds", 1) <= 0.125).all()


@pytest.mark.filterwarnings(OURS)
def test_pairs_that_never_meet_in_a_group_are_not_compared():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame((rng.random((400, 3)) < 0.4).astype(int), columns=list("abc"))
    group = np.repeat([0, 1], 200)
    labels.loc[group == 1, "b"] &= 1 - labels.loc[group == 1, "a"]
    found = im.compare_networks(im.IsingModel(labels), group, n_permutations=19, random_state=0)
    edges = found.edges.set_index(["first", "second"])
    assert edges.loc[("a", "b"), "reason"] == "infinite-pair"
    assert np.isnan(edges.loc[("a", "b"), "difference"])
    assert np.isnan(edges.loc[("a", "b"), "pvalue"])
    assert pytest.approx(edges["difference"].abs().max()) == found.M
    assert 0 < found.pvalue <= 1
    # Strength is that of the pairs that are compared, and it is said how many are not.
    compared = edges[edges["reason"] == "ok"]
    strength = compared[["weight_0", "weight_1"]].abs().sum()
    np.testing.assert_allclose(found.groups["strength"], strength)
    assert pytest.approx(np.ptp(strength)) == found.S
    assert found.tests.loc[["M", "S"], "pairs"].tolist() == [2, 2]
    text = " ".join(found.summary().as_text().split())
    assert "1 of 3 pairs are no part of M, S" in text
    assert "(infinite-pair 1)" in text


def rare_symptoms(number, n_rows=600):
    """Draw nine labels, of which one occurs in 6% and one in 3% of rows."""
    weights = np.zeros((9, 9))
    for one, other, weight in ((0, 1, 1.5), (1, 5, 1.2), (2, 3, 1.0), (5, 8, 1.4), (6, 7, 1.0)):
        weights[one, other] = weights[other, one] = weight
    thresholds = [-1.2, -1.2, -0.8, -0.8, -0.6, -1.6, -1.0, -2.8, -4.2]
    drawn = im.simulate.IsingDistribution(thresholds, weights)
    return drawn.sample(n_rows, random_state=number)


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_level_holds_where_labels_are_rare():
    """Whatever is infinite in a draw is left out of it, as it is of the groups.

    60 tests at 5%: more than 8 rejections (0.133) have a probability of 0.4%. A mean of p-values
    above 0.62 has less than that.
    """
    found = []
    for number in range(60):
        groups = np.repeat([0, 1], 300)
        compared = im.compare_networks(
            im.IsingModel(rare_symptoms(number)), groups, n_permutations=19, random_state=number
        )
        found.append([*compared.tests["pvalue"], compared.edges["pvalue_adj"].min()])
    found = np.array(found)
    assert ((found <= 0.05 + 1e-12).mean(axis=0) <= 0.133).all()
    assert (found.mean(axis=0)[:2] < 0.62).all()


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
        (lambda rows: [0, 1], "one value for each"),
        (lambda rows: np.zeros(len(rows)), "two groups or more"),
        (lambda rows: rows["sex"].where(rows.index > 3), "missing"),
        (lambda rows: np.arange(len(rows)), "qcut"),
        (lambda rows: "sex", "name of a covariate"),
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
