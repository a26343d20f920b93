"""Whether networks of groups differ."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats as distributions
from scipy.special import expit
from statsmodels.discrete.conditional_models import ConditionalLogit

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError
from isingmlc.fitting.testable import Reason
from isingmlc.networks.groups import RedrawWithin, compare_weights

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
    apart = compare_weights(np.array(networks))
    assert apart.largest == pytest.approx(expected["M"], abs=1e-12)
    assert apart.strength == pytest.approx(expected["S"], abs=1e-12)


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
    apart = found.edges["weight_1"] - found.edges["weight_0"]
    np.testing.assert_allclose(found.edges["difference"], apart)
    assert (apart < 0).any()
    assert pytest.approx(apart.abs().max()) == found.M
    assert found.tests["pairs"].tolist() == [len(apart)] * len(found.tests)


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


def test_permutations_deal_out_rows(rows, labels):
    """The same from rows: membership is shuffled and each group fitted; another stream of draws.

    Of 99 permutations each a p-value has a standard error of at most 0.05.
    """
    rng, sex = np.random.default_rng(5), rows["sex"].to_numpy()
    found = im.compare_networks(
        im.IsingModel(labels), sex, null="nothing", n_permutations=99, random_state=0
    )
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
    assert (edges["reason"] == Reason.OK).all()


def test_three_groups_and_names(rows, labels):
    found = im.compare_networks(
        im.IsingModel(labels), rows["region"], n_permutations=19, random_state=0
    )
    assert list(found.networks) == ["mid", "north", "south"]
    weights = found.edges[["weight_mid", "weight_north", "weight_south"]]
    differences = found.edges["difference"]
    np.testing.assert_allclose(differences.abs(), np.ptp(weights.to_numpy(), axis=1))
    later_is_larger = np.argmax(weights, axis=1) > np.argmin(weights, axis=1)
    assert ((differences > 0) == later_is_larger).all()
    assert "the later one less the earlier" in found.summary().as_text().replace("\n", " ")
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


def test_covariates_are_in_all_networks(rows, labels):
    model = im.IsingModel(labels, covariates=rows[["age"]])
    found = im.compare_networks(model, rows["sex"], n_permutations=10, random_state=0)
    for group in (0, 1):
        inside = (rows["sex"] == group).to_numpy()
        alone = im.IsingModel(labels[inside], covariates=rows.loc[inside, ["age"]]).fit()
        weights = alone.interactions.to_numpy()[PAIRS]
        np.testing.assert_allclose(found.edges[f"weight_{group}"], weights, atol=1e-8)
    for column in ("pvalue", "wald_pvalue"):
        assert found.edges[column].between(0, 1).all()
    assert (found.edges["wald_pvalue_adj"] >= found.edges["wald_pvalue"]).all()
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


@pytest.mark.parametrize("how", ["fit", "fit_regularized"])
def test_labels_in_another_order_are_aligned(rows, labels, how):
    names = list(labels)
    options = {"n_permutations": 5, "random_state": 0}
    parts = [labels[(rows["sex"] == group).to_numpy()] for group in (0, 1)]
    covariates = [rows.loc[part.index, ["age"]] for part in parts]
    found = [
        getattr(im.IsingModel(part[order], covariates=given), how)()
        for part, order, given in zip(parts, (names, names), covariates, strict=True)
    ]
    turned = getattr(im.IsingModel(parts[1][names[::-1]], covariates=covariates[1]), how)()
    expected = im.compare_networks(found, **options)
    aligned = im.compare_networks([found[0], turned], **options)
    assert aligned.label_names == tuple(names)
    pd.testing.assert_frame_equal(aligned.edges, expected.edges, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings(OURS)
def test_results_that_cannot_be_compared_are_refused(rows, labels):
    first, second = (im.IsingModel(labels[(rows["sex"] == group).to_numpy()]) for group in (0, 1))
    fit = first.fit()
    with pytest.raises(DataError, match="two networks or more"):
        im.compare_networks([fit])
    with pytest.raises(DataError, match="two networks or more"):
        im.compare_networks(fit)
    with pytest.raises(DataError, match="of type int"):
        im.compare_networks([fit, 3])
    with pytest.raises(DataError, match="must have the same labels"):
        im.compare_networks([fit, im.IsingModel(labels[["y2", "y1", "y3"]]).fit()])
    with pytest.raises(DataError, match=r"fitted, but is of type DataFrame. .*IsingModel\(each\)"):
        im.compare_networks([labels, labels])
    with pytest.raises(DataError, match=r"of type IsingModel. Fit them first: .*\[each.fit"):
        im.compare_networks([first, second])
    with pytest.raises(DataError, match="fitted alike"):
        im.compare_networks([fit, second.fit("ridge")])
    with pytest.raises(DataError, match="fitted already"):
        im.compare_networks([fit, second.fit()], method="ebic")
    with pytest.raises(DataError, match="by and pairs"):
        im.compare_networks([fit, second.fit()], by=[0, 1])
    with pytest.raises(ModelError, match="without lam"):
        im.compare_networks([first.fit_regularized(0.1), second.fit_regularized(0.1)])
    with pytest.raises(ModelError, match="neighbors"):
        im.compare_networks([first.fit(neighbors="ebic"), second.fit(neighbors="ebic")])
    with pytest.raises(ModelError, match="one by one"):
        im.compare_networks([first.fit("joint"), second.fit("joint")])
    adjusted = im.IsingModel(labels, covariates=rows[["age"]]).fit()
    with pytest.raises(DataError, match="same covariates"):
        im.compare_networks([fit, adjusted])
    lost = im.IsingModel(labels.assign(y4=0)).fit("ridge")
    with pytest.raises(DataError, match="do not vary in the group 'b'"):
        im.compare_networks({"a": first.fit("ridge"), "b": lost})
    with pytest.raises(DataError, match="by must say"):
        im.compare_networks(first)
    with pytest.raises(DataError, match="null"):
        im.compare_networks([fit, second.fit()], null="all")
    with pytest.raises(DataError, match="gamma and rule"):
        im.compare_networks(im.IsingModel(labels), rows["sex"], gamma=0.5)


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
    # Answers that repeat differ less by chance: the same difference weighs more.
    assert (paired.edges["wald"] > 2 * apart.edges["wald"]).all()
    assert (paired.edges["pvalue"] <= apart.edges["pvalue"]).all()
    # The sandwich of one regression in which the rows of a person are a cluster
    long = frame.assign(wave=wave)
    moments = {}
    for outcome, other in (("a", "b"), ("b", "a")):
        third = "c"
        columns = [other, third]
        design = sm.add_constant(long[columns].assign(wave=wave))
        for name in columns:
            design[f"{name}:wave"] = long[name] * wave
        fit = sm.GLM(long[outcome], design, family=sm.families.Binomial()).fit()
        scores = design.to_numpy() * fit.resid_response.to_numpy()[:, None]
        influence = scores @ np.linalg.inv(
            design.to_numpy().T @ (design.to_numpy() * (fit.mu * (1 - fit.mu))[:, None])
        )
        at = list(design.columns).index(f"{other}:wave")
        moments[outcome] = fit.params[f"{other}:wave"], influence[:, at]
    difference = (moments["a"][0] + moments["b"][0]) / 2
    per_person = np.bincount(person, (moments["a"][1] + moments["b"][1]) / 2)
    edge = paired.edges.set_index(["first", "second"]).loc[("a", "b")]
    assert edge["wald"] == pytest.approx(difference**2 / (per_person @ per_person), rel=1e-6)


def test_rows_of_pairs_change_places_given_their_labels():
    """By a conditional logistic regression; where nothing differs, half of the pairs change."""
    rng = np.random.default_rng(2)
    before, after = (rng.random((500, 2)) < often for often in (0.3, [0.6, 0.3]))
    columns = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    cells = np.column_stack([2 * each[:, 0] + each[:, 1] for each in (before, after)]).astype(int)
    dealing = RedrawWithin(cells, columns)
    reference = ConditionalLogit(
        np.tile([0, 1], 500),
        np.stack([before, after], axis=1).reshape(-1, 2).astype(float),
        groups=np.repeat(np.arange(500), 2),
    ).fit()
    apart = after.astype(float) - before
    np.testing.assert_allclose(
        dealing.exchanges, expit(-apart @ np.asarray(reference.params)), atol=1e-3
    )
    drawn = dealing.draw(rng, 400)
    np.testing.assert_array_equal(drawn.sum(axis=(1, 2)), 1000)
    # The labels of each group stay as frequent as they are.
    counts = np.array([np.bincount(each, minlength=4) for each in cells.T])
    np.testing.assert_allclose(drawn.mean(axis=0) @ columns, counts @ columns, atol=3)
    same = RedrawWithin(np.column_stack([cells[:, 0], cells[:, 0]]), columns)
    np.testing.assert_allclose(same.exchanges, 0.5)


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


def test_three_waves_of_the_same_people():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame((rng.random((300, 3)) < 0.5).astype(int), columns=list("abc"))
    found = im.compare_networks(
        im.IsingModel(frame),
        np.repeat(["x", "y", "z"], 100),
        pairs=np.tile(np.arange(100), 3),
        n_permutations=19,
        random_state=0,
    )
    assert found.null == "pairs"
    assert found.tests.loc["wald", "df"] == 6
    assert found.edges["pvalue"].between(0.05, 1).all()


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
        found.append([test.pvalue, test.tests.loc["S", "pvalue"], test.tests.loc["wald", "pvalue"]])
    return (np.array(found) <= 0.05 + 1e-12).mean(axis=0)


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
    assert edges.loc[("a", "b"), "reason"] == Reason.INFINITE_PAIR
    assert np.isnan(edges.loc[("a", "b"), "difference"])
    assert np.isnan(edges.loc[("a", "b"), "pvalue"])
    assert pytest.approx(edges["difference"].abs().max()) == found.M
    assert 0 < found.pvalue <= 1
    # Strength is that of the pairs that are compared, and it is said how many are not.
    compared = edges[edges["reason"] == Reason.OK]
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
    assert (found.mean(axis=0)[:3] < 0.62).all()


@pytest.mark.filterwarnings(OURS)
def test_pairs_with_few_rows_are_no_part_of_the_joint_wald_test():
    labels = rare_symptoms(0)
    groups = np.repeat([0, 1], 300)
    found = im.compare_networks(im.IsingModel(labels), groups, n_permutations=1, random_state=0)
    tables = [
        [pd.crosstab(own[one], own[other]).to_numpy() for own in (labels[:300], labels[300:])]
        for one, other in zip(found.edges["first"], found.edges["second"], strict=True)
    ]
    enough = [all(table.shape == (2, 2) and table.min() >= 5 for table in pair) for pair in tables]
    assert 0 < sum(enough) < len(enough)
    assert found.tests.loc["wald", "df"] == sum(enough)


@pytest.mark.filterwarnings(OURS)
def test_a_difference_is_found_beside_rare_labels():
    """Rare pairs vary most; measured by how much each varies they do not hide another."""
    groups = np.repeat([0, 1], 1000)
    labels = rare_symptoms(3, 2000)
    rng = np.random.default_rng(0)
    copies = (groups == 1) & (rng.random(2000) < 0.4)
    labels.loc[copies, "y5"] = labels.loc[copies, "y3"]
    found = im.compare_networks(im.IsingModel(labels), groups, n_permutations=99, random_state=0)
    edges = found.edges.set_index(["first", "second"])
    assert edges["pvalue_adj"].idxmin() == ("y3", "y5")
    assert edges.loc[("y3", "y5"), "pvalue_adj"] <= 0.02


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
