"""How far networks vary: bootstrap draws, and rows left out."""

import numpy as np
import pandas as pd
import pytest

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, ModelError

OURS = "ignore::isingmlc.exceptions.IsingWarning"
PAIRS = np.triu_indices(6, 1)
MEASURES = ("strength", "expected_influence", "expected_influence_2", "closeness", "betweenness")
KINDS = ("pairs", "thresholds", *MEASURES)


@pytest.fixture(scope="module")
def example():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def res(example):
    return im.IsingModel(example.labels).fit()


@pytest.fixture(scope="module")
def net(example):
    return im.IsingModel(example.labels).fit_regularized()


def rows_of(stats, counts, **context):
    """Write the rows out that counts stand for."""
    labels = pd.DataFrame(stats.patterns.astype(int), columns=list(stats.label_names))
    return labels.loc[np.repeat(np.arange(len(counts)), counts.astype(int))].reset_index(drop=True)


# Draws are fitted as any rows would be


@pytest.mark.filterwarnings(OURS)
def test_draws_that_separate_or_lose_a_label_have_the_limit_and_are_marked():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame((rng.random((120, 4)) < 0.4).astype(int), columns=list("abcd"))
    labels["e"] = 0
    labels.loc[:1, "e"] = 1
    labels.loc[[0, 1], list("abcd")] = [[1, 0, 1, 0], [0, 1, 1, 0]]
    model = im.IsingModel(labels)
    res = model.fit()
    boot = res.bootstrap(60, random_state=0)
    lost = int(boot.marked.loc["e", "constant-label"])
    assert 0 < lost < 30
    assert (boot.marked.drop("e") == 0).all(axis=None)
    pairs = boot.draws("pairs")
    assert pairs["a", "e"].isna().sum() == lost
    assert np.isfinite(pairs["a", "b"]).all()
    strength = boot.draws("strength")
    assert strength["e"].isna().sum() == lost
    assert strength["a"].notna().all()
    table = boot.intervals().set_index(["first", "second"])
    assert table.loc[("a", "e"), "missing"] == lost
    assert table.loc[("c", "e"), "separated"] > 0
    drop = res.drop_cases(40, random_state=0)
    assert drop.marked["e"].sum() > 0
    assert drop.correlations()["pairs"].notna().all()
    net = model.fit_regularized()
    boot = net.bootstrap(15, random_state=0)
    assert boot.marked.loc["e", "too-rare"] > 0
    assert boot.inclusion().set_index(["first", "second"]).loc[("a", "e"), "missing"] > 0
    assert boot.intervals()["sample"].notna().sum() >= 6


@pytest.mark.parametrize("options", [{}, {"gamma": 0.5, "rule": "or"}, {"criterion": "aic"}])
@pytest.mark.filterwarnings(OURS)
def test_draws_of_sparse_networks_are_those_of_their_rows(options):
    rng = np.random.default_rng(3)
    common = rng.normal(size=(400, 1))
    chance = 1 / (1 + np.exp(1.5 * rng.random(12) - 1.2 * common))
    labels = pd.DataFrame((rng.random((400, 12)) < chance).astype(int))
    net = im.IsingModel(labels.add_prefix("l")).fit_regularized(**options)
    pairs = net.bootstrap(6, random_state=5).draws("pairs")
    stats = net.model.statistics
    drawn = np.random.default_rng(5).multinomial(400, stats.counts / 400, size=6)
    first, second = np.triu_indices(12, 1)
    for counts, found in zip(drawn, pairs.to_numpy(), strict=True):
        again = im.IsingModel(rows_of(stats, counts)).fit_regularized(**options)
        np.testing.assert_allclose(found, again.interactions.to_numpy()[first, second], atol=1e-8)
        assert ((found != 0) == (again.interactions.to_numpy()[first, second] != 0)).all()


# What is made of the draws


@pytest.mark.slow
def test_bootstrap_errors_agree_with_those_of_the_sandwich(res):
    """400 draws: a standard deviation is off by 3.5%, the largest of 15 by about 10%."""
    boot = res.bootstrap(400, random_state=0)
    ratio = boot.intervals()["sd"] / res.network_table()["se"]
    assert ratio.between(0.85, 1.18).all()
    central = res.centrality().set_index(["measure", "label"])["se"]
    for measure in ("expected_influence", "expected_influence_2"):
        ratio = boot.intervals(measure).set_index("label")["sd"] / central[measure]
        assert ratio.between(0.85, 1.2).all()


def test_parametric_draws_follow_the_fitted_network(res, net):
    boot = res.bootstrap(150, random_state=0, parametric=True)
    assert repr(boot) == "NetworkBootstrap(6 labels, 150 draws, parametric)"
    table = boot.intervals()
    np.testing.assert_allclose(table["sample"], res.interactions.to_numpy()[PAIRS])
    # The mean of 150 draws is off by a twelfth of their spread.
    assert ((table["mean"] - table["sample"]).abs() < 0.4 * table["sd"]).all()
    assert len(net.bootstrap(3, random_state=0, parametric=True).draws()) == 3


def test_parametric_draws_need_a_distribution(example):
    adjusted = im.IsingModel(example.labels, covariates=example.features[["age"]]).fit()
    with pytest.raises(ModelError, match="adjusted for"):
        adjusted.bootstrap(10, parametric=True)


def test_intervals_are_quantiles_of_type_six(res):
    boot = res.bootstrap(99, random_state=0)
    for of in KINDS:
        values = boot.draws(of).to_numpy()
        table = boot.intervals(of, alpha=0.1)
        expected = np.quantile(values, [0.05, 0.95], axis=0, method="weibull")
        np.testing.assert_allclose(table[["lower", "upper"]].to_numpy().T, expected)
        np.testing.assert_allclose(table["mean"], values.mean(axis=0))
        np.testing.assert_allclose(table["sd"], values.std(axis=0, ddof=1))
        assert (table[["separated", "missing"]] == 0).all(axis=None)
    weights = boot.draws().to_numpy()[7]
    network = np.zeros((6, 6))
    network[PAIRS] = weights
    network += network.T
    np.testing.assert_allclose(boot.draws("strength").iloc[7], np.abs(network).sum(axis=1))


def test_inclusion_counts_draws(net):
    boot = net.bootstrap(20, random_state=3)
    draws, table = boot.draws(), boot.inclusion()
    np.testing.assert_allclose(table["edge"], (draws != 0).mean())
    np.testing.assert_allclose(table["positive"], (draws > 0).mean())
    np.testing.assert_allclose(table["negative"], (draws < 0).mean())
    np.testing.assert_allclose(table["sample"], net.interactions.to_numpy()[PAIRS])
    assert 0 <= table["edge"].min() < 0.5 < table["edge"].max() == 1


def test_differences_count_draws_on_each_side(res):
    boot = res.bootstrap(199, random_state=0)
    table = boot.difference("expected_influence", adjust="fdr_bh")
    draws = boot.draws("expected_influence")
    assert len(table) == 15
    for row in table.itertuples():
        apart = draws[row.one] - draws[row.other]
        side = min((apart <= 0).sum(), (apart >= 0).sum())
        assert row.pvalue == pytest.approx(min(2 * (1 + side) / 200, 1))
        assert row.lower == pytest.approx(np.quantile(apart, 0.025, method="weibull"))
    assert boot.smallest_pvalue == 0.01
    assert table["pvalue"].min() >= 0.01
    assert (table["pvalue_adj"] >= table["pvalue"]).all()
    pairs = boot.difference()
    assert len(pairs) == 105
    assert pairs["one"][0] == "hypertension:diabetes"
    with pytest.warns(DataWarning, match="199 draws cannot"):
        boot.difference(adjust="bonferroni")


def test_draws_depend_on_the_seed_alone(res):
    first, again = (res.bootstrap(120, random_state=4).draws() for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(res.bootstrap(120, random_state=5).draws())
    pd.testing.assert_frame_equal(res.bootstrap(120, random_state=4, n_jobs=2).draws(), first)


# Rows left out


def test_cs_coefficient_by_its_definition(res):
    drop = res.drop_cases(200, random_state=0)
    frame, n = drop.correlations(), int(res.nobs)
    wanted = np.round((1 - np.linspace(0.05, 0.75, 10)) * n)
    assert frame.groupby("rows").size().to_dict() == dict.fromkeys(wanted.astype(int), 20)
    for measure in ("pairs", "strength", "expected_influence"):
        alike = (frame[measure] > 0.7).groupby(frame["dropped"]).mean()
        stable = alike[alike > 0.95]
        row = drop.cs_coefficient().loc[measure]
        assert row["cs"] == (stable.index.max() if len(stable) else 0)
        assert row["cs_lower"] <= row["cs"] <= row["cs_upper"]
        assert row["share"] == alike[row["cs"]]
    strict = drop.cs_coefficient(cor=0.9)["cs"]
    assert (strict <= drop.cs_coefficient()["cs"]).all()
    assert drop.cs_coefficient(cor=-0.99)["at_edge"].all()
    assert (drop.cs_coefficient(cor=0.9999)["cs"] == 0).all()
    assert drop.cs_coefficient(cor=0.9999)["at_edge"].all()


@pytest.mark.parametrize("kind", ["plain", "sparse"])
def test_correlations_are_those_of_the_rows_that_are_kept(res, net, kind):
    whole = res if kind == "plain" else net
    frame = whole.drop_cases(20, random_state=6).correlations()
    generator, stats = np.random.default_rng(6), whole.model.statistics
    for at, rows in enumerate(frame["rows"]):
        counts = generator.multivariate_hypergeometric(stats.counts.astype(int), rows)
        if at % 7:
            continue
        model = im.IsingModel(rows_of(stats, counts))
        part = model.fit() if kind == "plain" else model.fit_regularized()
        mine, all_rows = part.interactions.to_numpy(), whole.interactions.to_numpy()
        expected = np.corrcoef(mine[PAIRS], all_rows[PAIRS])[0, 1]
        assert frame["pairs"][at] == pytest.approx(expected, abs=1e-7)
        strength = np.corrcoef(np.abs(mine).sum(axis=0), np.abs(all_rows).sum(axis=0))[0, 1]
        assert frame["strength"][at] == pytest.approx(strength, abs=1e-7)


# Bad input


@pytest.mark.parametrize("kind", ["res", "net"])
def test_bad_arguments_are_refused(kind, request):
    fitted = request.getfixturevalue(kind)
    with pytest.raises(DataError, match="n_draws"):
        fitted.bootstrap(0)
    with pytest.raises(DataError, match="n_draws"):
        fitted.drop_cases(9)
    with pytest.raises(DataError, match="random_state"):
        fitted.bootstrap(10, random_state="x")
    with pytest.raises(DataError, match="n_jobs"):
        fitted.drop_cases(10, n_jobs=0)
    boot = fitted.bootstrap(2, random_state=0)
    for call in (boot.intervals, boot.draws, boot.difference):
        with pytest.raises(DataError, match="of must be"):
            call("degree")
    with pytest.raises(DataError, match="alpha"):
        boot.intervals(alpha=1)
    with pytest.raises(DataError, match="adjust"):
        boot.difference(adjust="best")
    with pytest.raises(AttributeError, match="read-only"):
        boot.parametric = True


@pytest.mark.slow
def test_clusters_are_drawn_whole(example):
    """Each row in the data four times, as a cluster: the spread is that of the rows once."""
    labels = example.labels.iloc[:500]
    four = pd.concat([labels] * 4, ignore_index=True)
    groups = np.tile(np.arange(500), 4)
    once = im.IsingModel(labels).fit()
    fit = im.IsingModel(four, groups=groups).fit(cov_type="cluster")
    ratio = fit.bootstrap(150, random_state=0).intervals()["sd"] / once.network_table()["se"]
    assert 0.85 < ratio.median() < 1.2
    net = im.IsingModel(four, groups=groups).fit_regularized()
    counts = net.bootstrap(1, random_state=0)
    assert counts.n_draws == 1


def test_rows_with_sampling_weights_are_not_drawn(example):
    weights = np.linspace(0.5, 2, len(example.labels))
    res = im.IsingModel(example.labels, sampling_weights=weights).fit()
    for call in (res.bootstrap, res.drop_cases):
        with pytest.raises(ModelError, match="sampling_weights"):
            call(20)


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("features", [False, True])
def test_draws_are_saved(tmp_path, features):
    data = im.datasets.load_example()
    # Few rows, so that some draws lose a label or separate it.
    model = im.IsingModel(data.labels.iloc[:40], data.features[["age", "bmi"]].iloc[:40])
    boot = model.fit().bootstrap(30, random_state=0, features=features)
    boot.save(tmp_path / "boot.npz")
    again = im.NetworkBootstrap.load(tmp_path / "boot.npz")
    assert repr(again) == repr(boot)
    pd.testing.assert_frame_equal(again.marked, boot.marked)
    kinds = ("pairs", "thresholds", "closeness", *(["statistics"] if features else []))
    for of in kinds:
        pd.testing.assert_frame_equal(again.intervals(of), boot.intervals(of))
    res = model.fit()
    res.save(tmp_path / "fit.npz")
    with pytest.raises(im.exceptions.FileError, match="NetworkBootstrap"):
        im.NetworkBootstrap.load(tmp_path / "fit.npz")
