"""Sparse networks of labels: against IsingFit, and what each part of the result promises."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_context, load_data
from hypothesis import given, settings
from hypothesis import strategies as st

import isingmlc as im


def plain(**options):
    return im.IsingModel(load_data("plain")[0]).fit_regularized(**options)


def random_labels(seed, rows=300, labels=6):
    """Draw labels of which neighbours in a chain go together."""
    rng = np.random.default_rng(seed)
    drawn = np.zeros((rows, labels), dtype=int)
    chance = np.full(rows, 0.4)
    for at in range(labels):
        drawn[:, at] = rng.random(rows) < chance
        chance = np.where(drawn[:, at] == 1, 0.65, 0.25)
    return pd.DataFrame(drawn, columns=[f"l{at}" for at in range(labels)])


def with_rare_labels():
    labels = random_labels(1).assign(never=0, once=0, all_but_one=1)
    labels.loc[3, "once"] = 1
    labels.loc[5, "all_but_one"] = 0
    return labels


def fit_rare(**options):
    with pytest.warns(im.exceptions.DataWarning):
        model = im.IsingModel(with_rare_labels())
    with pytest.warns(im.exceptions.DataWarning, match=r"'never', 'once', 'all_but_one' have one"):
        return model.fit_regularized(**options)


# Against IsingFit


@pytest.mark.parametrize("rule", ["and", "or"])
def test_networks_are_those_of_isingfit(rule):
    expected = load("plain", f"isingfit_{rule}").set_index("label")
    net = plain(rule=rule)
    weights = expected[list(net.label_names)]
    assert ((net.interactions != 0) == (weights != 0)).all(axis=None)
    # IsingFit leaves glmnet at its default tolerance of 1e-7; ours is the solution.
    np.testing.assert_allclose(net.interactions, weights, atol=1e-4)
    np.testing.assert_allclose(net.thresholds, expected["threshold"], atol=1e-4)
    np.testing.assert_allclose(net.lam, expected["lambda"], rtol=1e-12)
    assert net.kkt.max() < 1e-11
    # The penalty of y4 is the last one before its path ends: the rule that ends it decides.
    assert list(net.diagnostics["at_end"]) == [False, False, False, True]
    assert net.diagnostics.loc["y4", "n_lambda"] == 39


def test_coefficients_with_features_are_those_of_glmnet():
    labels, features = load_data("plain")
    model = im.IsingModel(labels, features)
    for ratio, expected in load("plain", "l1").groupby("ratio"):
        lam_max = expected.groupby("label")["lambda_max"].first()
        net = model.fit_regularized(lam=ratio * lam_max, features=True)
        theirs = expected.pivot_table(index="term", columns="label", values="coef")
        theirs = theirs.reindex(["(Intercept)", *labels, *features]).fillna(0.0)
        np.testing.assert_allclose(net.diagnostics["lam_max"], lam_max, rtol=1e-12)
        np.testing.assert_allclose(net.directed, theirs.loc[list(labels)], atol=1e-7)
        np.testing.assert_allclose(net.effects, theirs.loc[list(features)], atol=1e-7)
        np.testing.assert_allclose(net.thresholds, theirs.loc["(Intercept)"], atol=1e-6)


# What the labelset table stands for


def test_labelsets_give_what_rows_do():
    labels = random_labels(2)
    net = im.IsingModel(labels).fit_regularized()
    for at, (name, path) in enumerate(zip(net.label_names, net.paths, strict=True)):
        # As features of one label the others are taken row by row.
        alone = im.IsingModel(labels[[name]], labels.drop(columns=name))
        (expected,) = alone.fit_regularized(features=True).paths
        np.testing.assert_allclose(path.lam, expected.lam, rtol=1e-12)
        coef = np.delete(path.coef.toarray(), at, axis=1)
        np.testing.assert_allclose(coef, expected.coef.toarray()[:, 1:], atol=1e-8)
        np.testing.assert_allclose(path.llf, expected.llf, rtol=1e-12)
        assert net.lam[name] in path.lam


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6), st.permutations(range(4)))
def test_the_order_of_the_labels_does_not_matter(seed, order):
    labels = random_labels(seed, rows=150, labels=4)
    net = im.IsingModel(labels).fit_regularized()
    again = im.IsingModel(labels.iloc[:, order]).fit_regularized()
    names = list(net.label_names)
    np.testing.assert_allclose(again.interactions.loc[names, names], net.interactions, atol=1e-8)
    np.testing.assert_allclose(again.lam[names], net.lam, rtol=1e-9)
    np.testing.assert_allclose(again.thresholds[names], net.thresholds, atol=1e-8)


# Choosing


def test_the_table_has_every_penalty_with_its_criteria():
    net = plain(gamma=0.5)
    table = net.criteria
    log_n = np.log(net.nobs)
    price = table["n_nonzero"] * log_n
    np.testing.assert_allclose(table["bic"], price - 2 * table["llf"])
    np.testing.assert_allclose(table["aic"], 2 * table["n_nonzero"] - 2 * table["llf"])
    extra = 2 * 0.5 * table["n_nonzero"] * np.log(3)
    np.testing.assert_allclose(table["ebic"], table["bic"] + extra)
    chosen = table[table["chosen"]].set_index("label")
    np.testing.assert_array_equal(chosen["lam"], net.lam)
    np.testing.assert_array_equal(chosen["ebic"], table.groupby("label")["ebic"].min())
    np.testing.assert_array_equal(chosen["n_nonzero"], (net.directed != 0).sum())
    assert (table["kkt"] < 1e-11).all()


CHOICES = ({}, {"gamma": 0}, {"gamma": 0.5}, {"gamma": 1.0}, {"criterion": "aic"})


@pytest.mark.parametrize("options", CHOICES)
def test_another_criterion_chooses_what_a_new_fit_does(options):
    model = im.IsingModel(random_labels(11, labels=12))
    net = model.fit_regularized()
    chosen, fitted = net.with_criterion(**options), model.fit_regularized(**options)
    pd.testing.assert_frame_equal(chosen.interactions, fitted.interactions, atol=1e-9)
    pd.testing.assert_series_equal(chosen.lam, fitted.lam)
    assert chosen.criterion == fitted.criterion == options.get("criterion", "ebic")
    # Criteria that charge more choose from the same paths, which are long enough for them.
    assert (chosen.paths is net.paths) == (chosen.criterion == "ebic" and chosen.gamma >= 0.25)
    kind = chosen.criterion
    best = chosen.criteria.groupby("label", sort=False)[kind].min()
    np.testing.assert_array_equal(chosen.criteria.query("chosen")[kind], best)


def test_bic_is_ebic_without_gamma():
    pd.testing.assert_frame_equal(plain(gamma=0).interactions, plain(criterion="bic").interactions)


def test_rules_combine_the_two_coefficients_of_a_pair():
    both, one = plain(rule="and"), plain(rule="or")
    directed = both.directed.to_numpy()
    present = directed != 0
    assert (present != present.T).any()
    mean = (directed + directed.T) / 2
    np.testing.assert_array_equal(one.interactions, mean)
    np.testing.assert_array_equal(both.interactions, np.where(present & present.T, mean, 0))
    pd.testing.assert_frame_equal(both.with_rule("or").interactions, one.interactions)
    assert both.with_rule("or").rule == "or"
    assert both.rule == "and"
    assert both.n_edges == np.triu(both.interactions).astype(bool).sum() == 3
    assert one.n_edges == 4
    assert one.density == 4 / 6


# Given penalties


def test_given_penalties_are_used():
    labels = load_data("plain")[0]
    model = im.IsingModel(labels)
    net = model.fit_regularized(0.02)
    assert (net.lam == 0.02).all()
    assert net.criterion == "fixed"
    assert len(net.criteria) == 4
    assert net.criteria["chosen"].all()
    penalties = [0.01, 0.02, 0.03, 0.04]
    mapping = dict(zip(labels, penalties, strict=True))
    for given_as in (penalties, np.array(penalties), mapping, pd.Series(mapping)[::-1]):
        np.testing.assert_array_equal(model.fit_regularized(given_as).lam, penalties)
    assert model.fit_regularized(np.array(0.02)).lam["y1"] == 0.02
    with pytest.raises(im.exceptions.ModelError, match="were given"):
        net.with_criterion(gamma=0.5)


def test_a_large_penalty_leaves_no_edge():
    labels = load_data("plain")[0]
    lam_max = plain().diagnostics["lam_max"].max()
    for lam in (lam_max, 10.0):
        net = plain(lam=lam)
        assert net.n_edges == 0
        assert not net.directed.to_numpy().any()
        mean = labels.mean()
        np.testing.assert_allclose(net.thresholds, np.log(mean / (1 - mean)))
        assert "Edges: 0 of 6" in " ".join(str(net.summary()).split())
        assert net.to_frame().empty
        assert net.to_networkx().number_of_edges() == 0


# Labels that are special


def test_labels_with_one_case_or_none_are_left_out():
    net = fit_rare()
    names = list(random_labels(1))
    expected = im.IsingModel(random_labels(1)).fit_regularized()
    pd.testing.assert_frame_equal(
        net.interactions.loc[names, names], expected.interactions, atol=1e-9
    )
    pd.testing.assert_frame_equal(net.criteria, expected.criteria, atol=1e-9)
    out = ["never", "once", "all_but_one"]
    assert not net.interactions[out].to_numpy().any()
    assert net.thresholds[out].isna().all()
    assert net.lam[out].isna().all()
    reasons = net.diagnostics["reason"]
    assert list(reasons[out]) == ["constant-label", "too-rare", "too-rare"]
    assert (reasons[names] == "ok").all()
    assert net.converged
    notes = net.summary().notes
    assert "never is left out: constant-label." in notes
    assert "once and all_but_one are left out: too-rare." in notes


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_separated_and_determined_labels_have_finite_coefficients():
    separated = load_data("separated")[0]
    determined = random_labels(6).assign(none=lambda frame: 1 - frame.max(axis=1))
    copied = random_labels(7).assign(copy=lambda frame: frame["l0"])
    for labels in (separated, determined, copied):
        model = im.IsingModel(labels)
        assert np.isinf(model.fit().params).any(axis=None)
        net = model.fit_regularized()
        assert np.isfinite(net.directed).all(axis=None)
        assert net.converged
        assert net.kkt.max() < 1e-11
        assert net.n_edges > 0


def worst_violation(net, labels):
    """Compute the largest violation of the optimality conditions from the coefficients."""
    labels = labels.to_numpy(float)
    standard = (labels - labels.mean(axis=0)) / labels.std(axis=0)
    eta = net.thresholds.to_numpy() + labels @ net.directed.to_numpy()
    residual = labels - 1 / (1 + np.exp(-eta))
    pull = standard.T @ residual / len(labels)
    np.fill_diagonal(pull, 0.0)
    lam, coef = net.lam.to_numpy(), net.directed.to_numpy()
    off = np.where(coef != 0, np.abs(pull - lam * np.sign(coef)), np.abs(pull) - lam)
    return max(np.abs(residual.mean(axis=0)).max(), off.max())


@pytest.mark.parametrize("name", ["emotions", "yeast", "scene", "flags"])
def test_real_sets_are_solved_to_the_tolerance(data_dir, name):
    data = im.datasets.load_mulan(name, part="train", data_dir=data_dir)
    said = nullcontext()
    if name == "yeast":
        said = pytest.warns(
            im.exceptions.SeparationWarning, match="'Class13' is never 1 unless 'Class12' is 1"
        )
    with said:
        net = im.IsingModel(data.labels).fit_regularized()
    assert net.converged
    assert net.kkt.max() < 1e-11
    assert worst_violation(net, data.labels) < 1e-10


def test_many_rare_labels_are_solved_to_the_tolerance():
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 40, size=(3000, 1))
    chance = np.where(topic == np.arange(400) % 40, 0.3, 0.01)
    labels = pd.DataFrame((rng.random((3000, 400)) < chance).astype(int)).add_prefix("l")
    model = im.IsingModel(labels)
    net = model.fit_regularized(lam=0.01)
    assert worst_violation(net, labels) < 1e-10
    same = np.arange(400)[:, None] % 40 == np.arange(400) % 40
    assert (net.interactions != 0).to_numpy()[same].mean() > 0.5
    assert (net.interactions != 0).to_numpy()[~same].mean() < 0.01


# Features


def test_features_stand_beside_the_labels():
    data = im.datasets.load_example()
    net = im.IsingModel(data.labels, data.features).fit_regularized(features=True)
    assert net.feature_names == tuple(data.features)
    assert net.effects.shape == (30, 6)
    assert net.effects.loc["parent_diabetes", "diabetes"] > 0
    found = net.effects.index[(net.effects != 0).any(axis=1)]
    assert set(found) >= {"age", "bmi", "smoker", "hay_fever"}
    table = net.criteria
    extra = 2 * 0.25 * table["n_nonzero"] * np.log(5 + 30)
    np.testing.assert_allclose(table["ebic"], table["bic"] + extra)
    counts = (net.directed != 0).sum() + (net.effects != 0).sum()
    np.testing.assert_array_equal(net.diagnostics["n_nonzero"], counts)
    without = im.IsingModel(data.labels, data.features).fit_regularized()
    assert without.effects.shape == (0, 6)
    assert without.feature_names == ()


# Arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": -0.1}, "gamma must not be negative, but is -0.1"),
        ({"gamma": "much"}, "gamma must be a finite number, but is 'much'"),
        ({"rule": "xor"}, "rule must be one of 'and', 'or', but is 'xor'"),
        ({"criterion": "cv"}, "criterion must be one of 'ebic', 'bic', 'aic', but is 'cv'"),
        ({"lam": 0}, "lam must be a finite number above 0, but is 0"),
        ({"lam": -1.0}, "lam must be a finite number above 0"),
        ({"lam": "small"}, "lam must be a finite number above 0, but is 'small'"),
        ({"lam": [0.1, 0.1]}, r"one number per label \(4\), but has 2"),
        ({"lam": [0.1, 0.1, 0.1, np.nan]}, "lam must be a finite number above 0, but is nan"),
        ({"lam": np.ones((4, 2))}, "lam must be a finite number above 0"),
        ({"lam": {"y1": 0.1}}, "has none for 'y2', 'y3', 'y4'"),
        ({"n_lambda": 0}, "n_lambda must be a whole number of at least 1"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"features": "all"}, "features must be one of True, False"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(im.exceptions.DataError, match=message):
        plain(**options)


def test_what_a_model_cannot_do_is_told():
    labels, features = load_data("plain")
    with pytest.raises(im.exceptions.ModelError, match="intercept=True"):
        im.IsingModel(labels, intercept=False).fit_regularized()
    with pytest.raises(im.exceptions.ModelError, match="no features"):
        im.IsingModel(labels).fit_regularized(features=True)
    stats = im.LabelsetStatistics.from_arrays(labels, features)
    with pytest.raises(im.exceptions.ModelError, match="needs the rows"):
        im.IsingModel.from_statistics(stats).fit_regularized(features=True)
    net = plain()
    with pytest.raises(im.exceptions.DataError, match="rule must be one of"):
        net.with_rule("xor")
    with pytest.raises(im.exceptions.DataError, match="gamma must not be negative"):
        net.with_criterion(gamma=-1)


# What a person reads and sees


def test_edges_are_listed_strongest_first():
    net = plain(rule="or")
    frame = net.to_frame()
    assert list(frame["weight"].abs()) == sorted(frame["weight"].abs(), reverse=True)
    for row in frame.itertuples():
        assert row.weight == net.interactions.loc[row.first, row.second]
        assert row.first_model == net.directed.loc[row.second, row.first]
        assert row.second_model == net.directed.loc[row.first, row.second]
        assert row.weight == pytest.approx((row.first_model + row.second_model) / 2)
    assert len(frame) == net.n_edges


def test_the_summary_tells_the_network():
    net = plain()
    text = str(net.summary())
    words = " ".join(text.split())
    for expected in (
        "Sparse Ising Network",
        "Labels: 4 of 4",
        "No. Observations: 400",
        "Edges: 3 of 6",
        "Criterion: ebic",
        "Gamma: 0.25",
        "Rule: and",
        "Converged: yes",
    ):
        assert expected in words
    row = next(line for line in map(str.split, text.splitlines()) if line[:2] == ["y1", "y2"])
    assert float(row[2]) == pytest.approx(net.interactions.loc["y1", "y2"], abs=6e-5)
    tables = text.split("\n\nNotes")[0].splitlines()
    assert len({len(line) for line in tables}) == 1
    assert net._repr_html_() == net.summary().as_html()
    assert "Sparse Ising Network" in net.summary().as_latex()
    assert repr(net) == "RegularizedIsingResults(4 labels, 3 of 6 edges, ebic, rule 'and')"


# Covariates


def table_of(expected, labels, others):
    """Bring glmnet's coefficients into the shape of ours: threshold, labels and others × labels."""
    found = expected.pivot_table(index="term", columns="label", values="coef")
    return found.reindex(["(Intercept)", *labels, *others]).fillna(0.0)


def context_model(**options):
    labels, covariates, features = load_context()
    return im.IsingModel(labels, features, covariates=covariates, **options)


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("penalized", [False, True])
def test_coefficients_with_covariates_are_those_of_glmnet(features, penalized):
    model = context_model()
    tables = load("context", "l1").query("features == @features and penalized == @penalized")
    for ratio, expected in tables.groupby("ratio"):
        lam_max = expected.groupby("label")["lambda_max"].first()
        net = model.fit_regularized(
            lam=ratio * lam_max, features=features, penalize_covariates=penalized
        )
        rows = list(net.directed.index)
        assert rows[4:] == ["age", "sex", "region[T.north]", "region[T.south]"]
        theirs = table_of(expected, rows, net.effects.index)
        np.testing.assert_allclose(net.diagnostics["lam_max"], lam_max, rtol=1e-10)
        np.testing.assert_allclose(net.directed, theirs.loc[rows], atol=1e-8)
        np.testing.assert_allclose(net.effects, theirs.loc[list(net.effects.index)], atol=1e-8)
        np.testing.assert_allclose(net.thresholds, theirs.loc["(Intercept)"], atol=1e-8)
        assert net.kkt.max() < 1e-11


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("penalized", [False, True])
def test_choices_with_covariates_are_those_from_paths_of_glmnet(features, penalized):
    net = context_model().fit_regularized(features=features, penalize_covariates=penalized)
    expected = load("context", "l1_ebic").query("features == @features and penalized == @penalized")
    by_label = expected.groupby("label").first()
    rows = list(net.directed.index)
    theirs = table_of(expected, rows, net.effects.index)
    chosen = net.criteria[net.criteria["chosen"]].set_index("label")
    # glmnet finds where its path begins by steps of its own, to fewer digits.
    np.testing.assert_allclose(net.lam, by_label["lambda"], rtol=1e-9)
    np.testing.assert_allclose(net.directed, theirs.loc[rows], atol=1e-7)
    np.testing.assert_allclose(net.effects, theirs.loc[list(net.effects.index)], atol=1e-7)
    np.testing.assert_allclose(chosen["llf"], by_label["llf"], atol=1e-6)
    np.testing.assert_allclose(chosen["explained"], by_label["explained"], atol=1e-8)
    assert list(net.diagnostics["n_lambda"]) == list(by_label["n_lambda"])


def test_a_path_starts_with_covariates_and_without_labels():
    net = context_model().fit_regularized()
    null = context_model().fit(neighbors=0)
    for name, path in zip(net.label_names, net.paths, strict=True):
        first = path.coef[[0]].toarray()[0]
        assert not first[:4].any()
        assert path.n_nonzero[0] == 0
        np.testing.assert_allclose(first[4:], null.params[name].iloc[5:], rtol=1e-8)
        np.testing.assert_allclose(path.intercept[0], null.params.loc["const", name], rtol=1e-8)
        assert path.n_columns == 3
    counted = (net.directed.iloc[:4] != 0).sum()
    np.testing.assert_array_equal(net.diagnostics["n_nonzero"], counted)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_origin_unit_and_order_of_covariates_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    labels = random_labels(seed, rows=120, labels=4)
    covariates = pd.DataFrame(
        {"age": rng.normal(size=120) + labels["l1"], "place": rng.choice(list("abc"), 120)}
    )
    changed = covariates[["place", "age"]].assign(age=1000 - 40 * covariates["age"])
    net, other = (
        im.IsingModel(labels, covariates=each).fit_regularized() for each in (covariates, changed)
    )
    pd.testing.assert_frame_equal(net.interactions, other.interactions, atol=1e-7)
    np.testing.assert_allclose(net.directed.loc["age"], -40 * other.directed.loc["age"], atol=1e-7)
    np.testing.assert_allclose(
        net.directed.loc["place[T.b]"], other.directed.loc["place[T.b]"], atol=1e-7
    )
    np.testing.assert_allclose(net.lam, other.lam, rtol=1e-8)


def separated_by_sex(n=400):
    """Draw labels of which the first never occurs with sex 1, and the second with age below 30."""
    rng = np.random.default_rng(5)
    labels = random_labels(5, rows=n, labels=4)
    covariates = pd.DataFrame({"sex": rng.integers(0, 2, n), "age": rng.integers(20, 80, n)})
    labels.loc[covariates["sex"] == 1, "l0"] = 0
    return labels, covariates


def test_labels_that_covariates_separate_have_the_exact_limit():
    labels, covariates = separated_by_sex()
    model = im.IsingModel(labels, covariates=covariates)
    with pytest.warns(im.exceptions.SeparationWarning, match="'l0' are certain in part of the"):
        net = model.fit_regularized(lam=0.02)
    assert net.directed.loc["sex", "l0"] == -np.inf
    assert np.isfinite(net.directed.drop(columns="l0")).all(axis=None)
    assert np.isfinite(net.directed["l0"].drop("sex")).all()
    assert np.isfinite(net.thresholds).all()
    # The conditions of a minimum on the rows that remain, with the penalty of all rows.
    rest = covariates["sex"] == 0
    columns = labels.drop(columns="l0").assign(age=covariates["age"])
    coef = net.directed.loc[columns.columns, "l0"]
    eta = net.thresholds["l0"] + columns[rest] @ coef
    residual = labels.loc[rest, "l0"] - 1 / (1 + np.exp(-eta))
    gradient = (residual @ columns[rest]) / len(labels) / columns.std(ddof=0)
    others = ["l1", "l2", "l3"]
    assert abs(residual.sum()) < 1e-9
    assert abs(gradient["age"]) < 1e-9
    is_in = coef[others] != 0
    assert is_in.any()
    np.testing.assert_allclose(gradient[others][is_in], 0.02 * np.sign(coef[others][is_in]))
    assert (gradient[others].abs() <= 0.02 + 1e-9).all()
    chosen = net.criteria.query("label == 'l0'").iloc[0]
    np.testing.assert_allclose(
        chosen["llf"], -np.logaddexp(0, np.where(labels.loc[rest, "l0"], -eta, eta)).sum()
    )
    with pytest.warns(im.exceptions.SeparationWarning):
        assert model.fit_regularized().converged
    assert np.isfinite(model.fit_regularized(penalize_covariates=True).directed).all(axis=None)
    # Where those that are certain have the code 0, the threshold is infinite too.
    other = im.IsingModel(labels, covariates=covariates.assign(sex=1 - covariates["sex"]))
    with pytest.warns(im.exceptions.SeparationWarning):
        turned = other.fit_regularized(lam=0.02)
    assert turned.thresholds["l0"] == -np.inf
    assert turned.directed.loc["sex", "l0"] == np.inf
    np.testing.assert_allclose(turned.directed.loc[others, "l0"], coef[others], atol=1e-7)


def test_a_label_that_covariates_determine_has_no_fit():
    labels, covariates = separated_by_sex()
    labels["old"] = 1 * (covariates["age"] > 60)
    model = im.IsingModel(labels, covariates=covariates[["age"]])
    with pytest.warns(im.exceptions.SeparationWarning, match="'old' are determined by the cov"):
        net = model.fit_regularized()
    assert net.diagnostics["reason"].to_dict()["old"] == "determined-label"
    assert (net.diagnostics["reason"].drop("old") == "ok").all()
    assert np.isnan(net.thresholds["old"])
    assert not net.interactions["old"].any()
    assert net.criteria["label"].nunique() == 4


# Files, and what follows a network


@pytest.mark.parametrize("options", [{}, {"features": True, "gamma": 0.5, "rule": "or"}])
def test_networks_are_saved_whole(tmp_path, options):
    data = im.datasets.load_example()
    features = data.features[["age", "bmi"]]
    covariates = data.features[["female"]]
    labels = data.labels.assign(never=0)
    with pytest.warns(im.exceptions.DataWarning):
        net = im.IsingModel(labels, features, covariates=covariates).fit_regularized(**options)
    net.save(tmp_path / "net.npz")
    again = im.RegularizedIsingResults.load(tmp_path / "net.npz")
    assert again.settings == net.settings
    assert again.adjusted_for == ("female",)
    assert repr(again) == repr(net)
    for name in ("interactions", "directed", "effects", "criteria", "diagnostics"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(net, name))
    pd.testing.assert_series_equal(again.thresholds, net.thresholds)
    assert str(again.summary()) == str(net.summary())
    statistics = net.refit().score_test(pvalue="chi2").statistics
    found = again.refit().score_test(pvalue="chi2").statistics
    pd.testing.assert_frame_equal(found, statistics, rtol=1e-9)
    with pytest.raises(
        im.exceptions.FileError, match=r"Load it with RegularizedIsingResults\.load"
    ):
        im.IsingResults.load(tmp_path / "net.npz")


def test_errors_of_a_refit_are_marked_as_after_selection(tmp_path):
    data = im.datasets.load_example()
    model = im.IsingModel(data.labels, data.features[["bmi"]])
    net = model.fit_regularized()
    res = net.refit()
    assert res.is_after_selection
    assert (res.network_table()["errors"] == "after selection").all()
    assert any("after selection" in note for note in res.summary().notes)
    res.save(tmp_path / "fit.npz")
    assert im.IsingResults.load(tmp_path / "fit.npz").is_after_selection
    # A graph that came from elsewhere was not chosen by these rows.
    for other in (model.fit(), model.fit(neighbors=net.to_networkx())):
        assert not other.is_after_selection
        assert "errors" not in other.network_table()
    assert model.fit(neighbors="ebic").is_after_selection


def test_a_refit_is_the_maximum_likelihood_of_the_chosen_edges():
    labels = im.datasets.load_example().labels
    net = im.IsingModel(labels).fit_regularized()
    params = net.refit().params
    for label in labels:
        chosen = [name for name in labels if net.interactions.loc[label, name] != 0]
        expected = sm.Logit(labels[label], sm.add_constant(labels[chosen])).fit(disp=0).params
        np.testing.assert_allclose(params.loc[["const", *chosen], label], expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["ebic", "l1", "IsingFit"])
def test_fit_says_where_sparse_networks_are(method):
    with pytest.raises(
        im.exceptions.DataError, match=r"fit_regularized\(\) fits label models with l1"
    ):
        im.IsingModel(im.datasets.load_example().labels).fit(method)
