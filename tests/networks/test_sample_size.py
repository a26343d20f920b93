"""How many rows edges and networks need."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from matplotlib.figure import Figure
from scipy import optimize
from scipy import stats as distributions
from scipy.special import expit

import isingmlc as im
from isingmlc.commands.cli import main
from isingmlc.exceptions import DataError, ModelError


@pytest.fixture(scope="module")
def pilot():
    data = im.datasets.load_example()
    return im.IsingModel(data.labels, data.features[["age", "bmi", "smoker", "female"]]).fit()


@pytest.fixture(scope="module")
def chain():
    """Five labels in a row: four edges, six pairs without."""
    weights = np.zeros((5, 5))
    for at in range(4):
        weights[at, at + 1] = weights[at + 1, at] = 1.2
    return im.simulate.IsingDistribution([-0.8] * 5, weights)


# Edges


def test_information_is_that_of_a_regression(pilot):
    """The inverse variance of a feature's coefficient in a null model with a little of it."""
    plan = im.plan_sample_size(pilot, odds_ratio=1.5)
    table = plan.to_frame().set_index(["feature", "label"])
    data = im.datasets.load_example()
    for name in ("bmi", "smoker"):
        x = data.features[name].to_numpy(float)
        scaled = x if name == "smoker" else x / x.std()
        others = data.labels.drop(columns="diabetes").to_numpy(float)
        design = np.column_stack([np.ones(1500), others])
        null = sm.GLM(data.labels["diabetes"], design, family=sm.families.Binomial()).fit()
        weight = (null.mu * (1 - null.mu))[:, None]
        whole = np.column_stack([design, scaled])
        inverse = np.linalg.inv(whole.T @ (weight * whole))
        found = table.loc[(name, "diabetes"), "information"]
        assert found == pytest.approx(1 / inverse[-1, -1] / 1500, rel=1e-6)


def test_levels_of_a_category_are_planned_against_the_reference_level():
    """The rows for a level against the reference level, given the other levels."""
    data = im.datasets.load_example()
    third = pd.qcut(data.features["age"], 3, labels=["young", "middle", "old"]).astype(str)
    features = data.features[["bmi"]].assign(age=third)
    plan = im.plan_sample_size(im.IsingModel(data.labels, features).fit(), odds_ratio=1.5)
    table = plan.to_frame().set_index(["feature", "label"])
    dummies = pd.get_dummies(third, dtype=float)[["old", "young"]]
    for name, other in (("old", "young"), ("young", "old")):
        nuisance = sm.add_constant(
            data.labels.drop(columns="diabetes").assign(other=dummies[other])
        )
        null = sm.GLM(data.labels["diabetes"], nuisance, family=sm.families.Binomial()).fit()
        whole = nuisance.assign(x=dummies[name]).to_numpy()
        weight = (null.mu * (1 - null.mu))[:, None]
        information = 1 / np.linalg.inv(whole.T @ (weight * whole))[-1, -1] / 1500
        found = table.loc[(f"age: {name} vs middle", "diabetes"), "information"]
        assert found == pytest.approx(information, rel=1e-6)
    alone = im.plan_sample_size(im.IsingModel(data.labels, features[["bmi"]]).fit(), odds_ratio=1.5)
    kept = table.loc[["bmi"], "information"]
    np.testing.assert_allclose(kept, alone.to_frame()["information"], rtol=1e-9)


def test_small_effects_need_what_the_textbook_says():
    plan = im.plan_sample_size(prevalence=0.3, odds_ratio=1.02, n_tests=20)
    line = plan.to_frame().iloc[0]
    z = distributions.norm.isf([0.05 / 20 / 2, 0.2]).sum()
    assert line["information"] == pytest.approx(0.21)
    assert line["needed"] == pytest.approx(z**2 / (np.log(1.02) ** 2 * 0.21), rel=1e-3)


def test_power_needed_and_detectable_agree(pilot):
    plan = im.plan_sample_size(pilot, odds_ratio=1.4, n=2000, n_tests=50)
    table = plan.to_frame().set_index(["feature", "label"])
    for at in [("bmi", "asthma"), ("smoker", "diabetes")]:
        n = int(table.loc[at, "needed"])
        power = plan.power_at([n - 2, n]).loc[at]
        assert power.iloc[0] < 0.8 + 1e-3
        assert power.iloc[1] == pytest.approx(0.8, abs=2e-3)
        found = plan.power_at(2000, table.loc[at, "raising"]).loc[at]
        lowered = plan.power_at(2000, table.loc[at, "lowering"]).loc[at]
        assert found.iloc[0] == pytest.approx(0.8, abs=1e-6)
        assert lowered.iloc[0] == pytest.approx(0.8, abs=1e-6)
    assert (table["raising"] > 1).all()
    assert (table["lowering"] < 1).all()
    assert plan.level == 0.05 / 50
    detectable = plan.detectable_at([500, 2000])
    np.testing.assert_allclose(detectable[2000], table["raising"], rtol=1e-9)
    assert (detectable[500] > detectable[2000]).all()


@pytest.mark.slow
@pytest.mark.parametrize("often", [None, 0.3])
def test_power_is_what_simulation_finds(often):
    """Three points of power, and three Monte-Carlo errors, of what tests find."""
    weights = np.array([[0.0, 1.0, -0.5], [1.0, 0.0, 0.6], [-0.5, 0.6, 0.0]])
    effects = np.array([[np.log(1.6), 0.0, 0.0]])
    generator = np.random.default_rng(4)
    mean = 0.0 if often is None else often
    thresholds = [-0.8 - mean * effects[0, 0], -0.4, 0.2]
    law = im.simulate.IsingDistribution(thresholds, weights, effects=effects)

    def draw(n):
        x = generator.normal(size=(n, 1)) if often is None else generator.random((n, 1)) < often
        x = x.astype(float)
        return im.IsingModel(law.sample(features=x, random_state=generator), x).fit()

    plan = im.plan_sample_size(draw(20_000), odds_ratio=1.6, n_tests=1)
    n = int(plan.to_frame().loc[0, "needed"])
    draws = 250
    found = [draw(n).score_test(pvalue="chi2").pvalues.iloc[0, 0] <= 0.05 for _ in range(draws)]
    assert abs(np.mean(found) - 0.8) < 0.03 + 3 * np.sqrt(0.16 / draws)


def finds(labels, features, level):
    """Tell which studies find an effect on a single label by score tests, a line of rows each."""
    rest = features - features.mean(axis=1, keepdims=True)
    share = labels.mean(axis=1)
    least = distributions.chi2.isf(level, 1) * share * (1 - share) * (rest**2).sum(axis=1)
    return (rest * labels).sum(axis=1) ** 2 > least


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "binary", "skewed"])
@pytest.mark.parametrize("ratio", [2.0, 0.5])
def test_power_of_rare_labels_and_skewed_features(kind, ratio):
    """A label in 3% of the rows, as few rows as 80% need: three points and Monte-Carlo errors."""
    generator, effect = np.random.default_rng(1), np.log(ratio)
    draw = {
        "normal": generator.normal,
        "binary": lambda size: (generator.random(size) < 0.1).astype(float),
        "skewed": lambda size: generator.exponential(size=size) - 1,
    }[kind]
    said = {"normal": {}, "binary": {"feature_prevalence": 0.1}, "skewed": {"feature_skewness": 2}}
    plan = im.plan_sample_size(prevalence=0.03, odds_ratio=ratio, **said[kind])
    n, draws = int(plan.to_frame().loc[0, "needed"]), 1000
    many = draw(size=400_000)
    threshold = optimize.brentq(lambda t: expit(t + effect * many).mean() - 0.03, -12, 12)
    features = draw(size=(draws, n))
    labels = generator.random((draws, n)) < expit(threshold + effect * features)
    found = finds(labels, features, 0.05)
    assert abs(found.mean() - 0.8) < 0.03 + 3 * np.sqrt(0.16 / draws)


def test_pilots_without_rows_say_that_distributions_are_missing():
    generator = np.random.default_rng(0)
    x = pd.DataFrame({"wait": generator.exponential(size=500), "sex": np.arange(500) % 2})
    y = (generator.random((500, 1)) < 0.1).astype(int)
    pilot = im.IsingModel(y, x).fit()
    with pytest.raises(ModelError, match=r"'wait'.*with its rows.*feature_skewness"):
        im.plan_sample_size(pilot.remove_data(), odds_ratio=0.5)
    bare = im.plan_sample_size(pilot.remove_data(), odds_ratio=0.5, features=["sex"]).to_frame()
    full = im.plan_sample_size(pilot, odds_ratio=0.5, features=["sex"]).to_frame()
    pd.testing.assert_frame_equal(bare, full)


def test_bad_numbers_of_skewness_are_refused():
    numbers = {"prevalence": 0.1, "odds_ratio": 0.5}
    assert im.plan_sample_size(**numbers).to_frame().loc[0, "kind"] == "per SD, normal"
    with pytest.raises(DataError, match="Leave one of them out"):
        im.plan_sample_size(feature_skewness=1, feature_prevalence=0.2, **numbers)
    with pytest.raises(DataError, match="feature_skewness"):
        im.plan_sample_size(feature_skewness=11, **numbers)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.5, 1 / 1.5])
@pytest.mark.parametrize("kind", ["normal", "lognormal", "student", "counts"])
def test_power_from_rows_is_what_studies_find(kind, ratio):
    """Score tests of studies of the planned size; 0.8 ± 0.05 but for three Monte-Carlo errors."""
    generator, effect, studies = np.random.default_rng(5), np.log(ratio), 300
    draw = {
        "normal": generator.normal,
        "lognormal": generator.lognormal,
        "student": lambda size: generator.standard_t(4, size),
        "counts": lambda size: generator.poisson(0.3, size).astype(float),
    }[kind]
    many = draw(size=400_000)
    spread, other = many.std(), generator.random(400_000) < 0.4

    def chance(threshold, x, b, effect):
        return expit(threshold + 0.7 * b + effect * x / spread)

    def find_threshold(effect):
        return optimize.brentq(lambda t: chance(t, many, other, effect).mean() - 0.1, -15, 15)

    def study(n, effect, threshold):
        x, b = draw(size=n), generator.random(n) < 0.4
        a = generator.random(n) < chance(threshold, x, b, effect)
        return im.IsingModel(pd.DataFrame({"a": a, "b": b}), pd.DataFrame({"x": x})).fit()

    pilot = study(40_000, 0.0, find_threshold(0.0))
    plan = im.plan_sample_size(pilot, odds_ratio=ratio, n_tests=1).to_frame().set_index("label")
    n, threshold = int(plan.loc["a", "needed"]), find_threshold(effect)
    found = [
        study(n, effect, threshold).score_test().pvalues.loc["x", "a"] <= 0.05
        for _ in range(studies)
    ]
    assert abs(np.mean(found) - 0.8) < 0.05 + 3 * np.sqrt(0.16 / studies)


def test_plans_of_edges_are_read(pilot):
    plan = im.plan_sample_size(pilot, features=["bmi", "smoker"], odds_ratio=1.3)
    text = plan.summary().as_text()
    assert "Bonferroni" in text
    assert "heart_disease" in text
    assert plan.plot(ax=Figure().subplots()).get_ylabel() == "smallest odds ratio found (per SD)"
    binary = im.plan_sample_size(pilot, features=["smoker"], n=1000)
    assert binary.plot(ax=Figure().subplots()).get_ylabel().endswith("(binary)")
    assert "12 edges" in repr(plan)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "a plan for edges needs a fit"),
        ({"prevalence": 0.2}, "a plan needs odds_ratio"),
        ({"prevalence": 1.2, "n": 100}, "prevalence must be"),
        ({"prevalence": 0.2, "odds_ratio": 1}, "odds_ratio must differ from 1"),
        ({"prevalence": 0.2, "odds_ratio": -1}, "odds_ratio must be"),
        ({"prevalence": 0.2, "odds_ratio": 2, "power": 1.5}, "power must be"),
        ({"prevalence": 0.2, "odds_ratio": 2, "n_draws": 5}, "n_draws belongs to of='network'"),
        ({"prevalence": 0.2, "odds_ratio": 2, "features": ["x"]}, "there is none"),
        ({"of": "network"}, "source must be a fitted network"),
        ({"of": "networks"}, "of must be"),
        ({"source": 3}, "source must be IsingResults"),
    ],
)
def test_bad_plans_say_what_is_wrong(options, said):
    with pytest.raises(DataError, match=said):
        im.plan_sample_size(**options)


def test_plans_of_fits_say_what_is_wrong(pilot):
    with pytest.raises(DataError, match="prevalence is for plans without a fit"):
        im.plan_sample_size(pilot, prevalence=0.2, odds_ratio=2)
    labels = im.datasets.load_example().labels
    with pytest.raises(ModelError, match="no features"):
        im.plan_sample_size(im.IsingModel(labels).fit(), odds_ratio=2)
    features = im.datasets.load_example().features[["bmi"]]
    robust = im.IsingModel(labels, features).fit(cov_type="HC0")
    with pytest.raises(ModelError, match="cov_type='nonrobust'"):
        im.plan_sample_size(robust, odds_ratio=2)
    with pytest.raises(DataError, match="has no odds_ratio"):
        im.plan_sample_size(pilot, n=100).power_at(200)


# Networks


@pytest.mark.parametrize("estimator", ["ebic", "nodewise"])
def test_networks_are_found_with_more_rows(chain, estimator):
    plan = im.plan_sample_size(
        chain, of="network", n=[1600, 50, 200], estimator=estimator, n_draws=8, random_state=1
    )
    table = plan.to_frame().pivot_table("mean", "n", "measure")
    assert list(table.index) == [50, 200, 1600]
    assert table["sensitivity"].is_monotonic_increasing
    assert table.loc[1600, "sensitivity"] > 0.95
    assert (table["specificity"] > 0.75).all()
    assert table.loc[1600, "correlation"] > 0.95
    needed = plan.needed()
    line = needed.loc["sensitivity"]
    assert 50 < line["lower"] <= line["n"] <= line["upper"] < 1600
    assert line["reason"] == "ok"
    assert needed.loc["specificity", "reason"] in ("ok", "at-the-smallest")
    assert plan.needed({"correlation": 0.999})["reason"].tolist() == ["not-reached"]
    assert np.isinf(plan.needed({"correlation": 0.999})["n"]).all()
    rising = plan.to_frame().groupby("measure")["fitted"].agg(lambda x: x.is_monotonic_increasing)
    assert rising.all()


def test_draws_are_those_of_a_fit(chain):
    """One draw by hand: the same rows, fitted by the public methods."""
    plan = im.plan_sample_size(chain, of="network", n=500, n_draws=2, random_state=3)
    seeds = np.random.default_rng(3).integers(2**63, size=(1, 2))
    truth = chain.interactions.to_numpy()[np.triu_indices(5, 1)]
    for line, seed in zip(plan.draws.itertuples(), seeds[0], strict=True):
        labels = chain.sample(500, random_state=np.random.default_rng(int(seed)))
        net = im.IsingModel(labels).fit_regularized()
        weights = net.interactions.to_numpy()[np.triu_indices(5, 1)]
        assert line.sensitivity == (weights[truth != 0] != 0).mean()
        assert line.specificity == (weights[truth == 0] == 0).mean()
        assert line.correlation == pytest.approx(np.corrcoef(weights, truth)[0, 1])


def test_fits_are_drawn_from():
    labels = im.datasets.load_example().labels
    res = im.IsingModel(labels).fit()
    options = {"of": "network", "n": [200], "n_draws": 3, "random_state": 0}
    plan = im.plan_sample_size(res, **options)
    # A fit without penalty has no pair without an interaction.
    assert plan.needed().loc["specificity", "reason"] == "nothing-to-find"
    assert plan.plot(ax=Figure().subplots()).get_ylabel() == "mean over draws"
    fewer = im.plan_sample_size(res, min_weight=0.3, **options)
    assert fewer.about["edges"] == 9
    text = fewer.summary().as_text()
    assert "9 of 15 pairs" in text
    assert "at-the-smallest" in text
    with pytest.raises(DataError, match="no edges of 100 or more"):
        im.plan_sample_size(res, min_weight=100, **options)
    with pytest.raises(DataError, match="measures"):
        im.plan_sample_size(res, measures=["size"], **options)
    with pytest.raises(DataError, match="targets must map"):
        plan.needed({})
    with pytest.raises(DataError, match="targets"):
        plan.needed({"cs": 0.5})


# The command


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--prevalence", "0.2", "--odds-ratio", "1.5", "--plot", "plan.png"]) == 0
    assert "Plan for edges" in capsys.readouterr().out
    assert (tmp_path / "plan.png").stat().st_size > 1000
    im.datasets.load_example().labels.to_csv("data.csv", index=False)
    options = ["--of", "network", "--rows", "100,200", "--draws", "3", "--seed", "0"]
    assert main(["plan", "data.csv", "--labels", "*", *options, "--out", "plan.csv"]) == 0
    table = pd.read_csv("plan.csv")
    assert set(table["n"]) == {100, 200}
    assert main(["plan", "--of", "network"]) != 0
    assert "give one" in capsys.readouterr().err
    assert main(["plan", "--prevalence", "0.2", "--rows", "10,20"]) != 0
    assert "one number" in capsys.readouterr().err
