"""Sparse networks of labels: against IsingFit, and what each part of the result promises."""

import inspect
import pickle
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_context, load_data
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import sparse

import isingmlc as im
from isingmlc.fitting.l1_design import Design
from isingmlc.fitting.l1_path import l1_paths


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
        # With features the largest likelihood is not known, and paths end later.
        size = len(path.lam)
        assert size <= len(expected.lam)
        np.testing.assert_allclose(path.lam, expected.lam[:size], rtol=1e-12)
        coef = np.delete(path.coef.toarray(), at, axis=1)
        np.testing.assert_allclose(coef, expected.coef.toarray()[:size, 1:], atol=1e-8)
        np.testing.assert_allclose(path.llf, expected.llf[:size], rtol=1e-12)
        assert net.lam[name] in path.lam


def test_statistics_and_weights_give_what_rows_do():
    labels = random_labels(3)
    net = im.IsingModel(labels).fit_regularized()
    stats = im.LabelsetStatistics.from_arrays(labels)
    from_stats = im.IsingModel.from_statistics(stats).fit_regularized()
    counted = labels.value_counts().rename("count").reset_index()
    from_counts = im.IsingModel(
        counted[list(labels)], freq_weights=counted["count"]
    ).fit_regularized()
    for other in (from_stats, from_counts):
        pd.testing.assert_frame_equal(other.interactions, net.interactions, rtol=1e-9)
        pd.testing.assert_frame_equal(other.criteria, net.criteria, atol=1e-9)


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


def choose_from_whole_paths(net):
    """Fit the same model with paths that no criterion ends."""
    stats = net.model.statistics
    included = np.array([path is not None for path in net.paths])
    design = Design.of(stats.patterns, stats.counts)
    usable = np.tile(included & design.varies, (len(included), 1)) & ~np.eye(
        len(included), dtype=bool
    )
    found = iter(l1_paths(design, stats.patterns.T[included], usable[included]))
    paths = tuple(next(found) if path is not None else None for path in net.paths)
    return im.RegularizedIsingResults(net.model, net.settings, paths)


CHOICES = ({}, {"gamma": 0}, {"gamma": 0.5}, {"gamma": 1.0}, {"criterion": "aic"})


def check_choices(labels):
    """Compare the choices of all criteria with those from whole paths; give the lengths of both."""
    model = im.IsingModel(labels)
    whole = choose_from_whole_paths(model.fit_regularized(n_lambda=2))
    lengths = []
    for options in CHOICES:
        net = model.fit_regularized(**options)
        expected = im.RegularizedIsingResults(model, net.settings, whole.paths)
        np.testing.assert_allclose(net.lam, expected.lam, rtol=1e-12)
        np.testing.assert_allclose(net.directed, expected.directed, atol=1e-8)
        lengths.append((len(net.criteria), len(expected.criteria)))
    return lengths


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("name", ["emotions", "yeast", "scene", "flags", "medical", "enron"])
def test_real_sets_have_the_choices_of_whole_paths(data_dir, name):
    data = im.datasets.load_mulan(name, part="train", data_dir=data_dir)
    lengths = check_choices(data.labels)
    if data.labels.shape[1] > 40:
        ended, whole = lengths[CHOICES.index({})]
        assert ended < whole / 2


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("seed", range(6))
def test_related_labels_have_the_choices_of_whole_paths(seed):
    # One factor behind all, and a label that some of them pull up and others down.
    rng = np.random.default_rng(seed)
    rows, size = [(60, 8), (60, 25), (400, 14), (400, 25), (150, 8), (1500, 14)][seed]
    others = 2 * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, size)) > 0
    pulled = 1.5 * others @ rng.normal(size=size) + rng.logistic(size=rows) > 0
    check_choices(np.column_stack([pulled, others]).astype(int))


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


def test_another_criterion_keeps_the_other_settings():
    model = im.IsingModel(random_labels(11, labels=12))
    net = model.fit_regularized(rule="or", n_lambda=30).with_criterion("aic")
    pd.testing.assert_frame_equal(
        net.interactions,
        model.fit_regularized(criterion="aic", rule="or", n_lambda=30).interactions,
    )
    assert net.rule == "or"
    assert net.settings.n_lambda == 30


def test_bic_is_ebic_without_gamma():
    pd.testing.assert_frame_equal(plain(gamma=0).interactions, plain(criterion="bic").interactions)


def test_a_larger_gamma_gives_no_more_coefficients():
    net = im.IsingModel(random_labels(4, labels=8)).fit_regularized()
    counts = [
        (net.with_criterion(gamma=gamma).directed != 0).sum().to_numpy()
        for gamma in (0, 0.25, 0.5, 1, 2, 50)
    ]
    assert all((more >= less).all() for more, less in pairwise(counts))
    assert counts[0].sum() > counts[-1].sum() == 0


def test_of_two_penalties_as_good_the_larger_is_chosen():
    net = plain()
    at = int(net.criteria.query("label == 'y1'")["chosen"].argmax())
    path = net.paths[0]
    twice = replace(
        path,
        lam=np.array([0.02, 0.01]),
        intercept=path.intercept[[at, at]],
        coef=path.coef[[at, at]],
        n_nonzero=path.n_nonzero[[at, at]],
        llf=path.llf[[at, at]],
        explained=path.explained[[at, at]],
        kkt=path.kkt[[at, at]],
    )
    tied = im.RegularizedIsingResults(net.model, net.settings, (twice, *net.paths[1:]))
    assert tied.lam["y1"] == 0.02


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


def test_penalties_that_were_chosen_give_the_network_again():
    net = fit_rare()
    again = fit_rare(lam=net.lam)
    pd.testing.assert_frame_equal(again.interactions, net.interactions, atol=1e-8)
    pd.testing.assert_series_equal(again.thresholds, net.thresholds, atol=1e-8)


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


def test_two_cases_are_enough():
    labels = random_labels(5)
    labels["l5"] = 0
    labels.loc[[3, 8], "l5"] = 1
    assert (im.IsingModel(labels).fit_regularized().diagnostics["reason"] == "ok").all()


def test_no_label_may_be_left():
    labels = np.zeros((30, 2), dtype=int)
    labels[0, 0] = labels[1, 1] = 1
    with pytest.warns(im.exceptions.DataWarning, match="left out"):
        net = im.IsingModel(labels).fit_regularized()
    assert net.n_edges == 0
    assert net.criteria.empty
    assert "left out" in str(net.summary())


def test_a_label_alone_has_its_threshold():
    labels = load_data("plain")[0][["y1"]]
    net = im.IsingModel(labels).fit_regularized()
    mean = labels["y1"].mean()
    assert net.thresholds["y1"] == pytest.approx(np.log(mean / (1 - mean)))
    assert net.interactions.shape == (1, 1)
    assert net.density == 0


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


@pytest.mark.parametrize("name", ["emotions", "yeast", "scene", "flags"])
def test_real_sets_are_solved_to_the_tolerance(data_dir, name):
    data = im.datasets.load_mulan(name, part="train", data_dir=data_dir)
    net = im.IsingModel(data.labels).fit_regularized()
    assert net.converged
    assert net.kkt.max() < 1e-11
    labels = data.labels.to_numpy(float)
    standard = (labels - labels.mean(axis=0)) / labels.std(axis=0)
    eta = net.thresholds.to_numpy() + labels @ net.directed.to_numpy()
    residual = labels - 1 / (1 + np.exp(-eta))
    pull = standard.T @ residual / len(labels)
    np.fill_diagonal(pull, 0.0)
    lam, coef = net.lam.to_numpy(), net.directed.to_numpy()
    assert np.abs(residual.mean(axis=0)).max() < 1e-10
    off = np.where(coef != 0, np.abs(pull - lam * np.sign(coef)), np.abs(pull) - lam)
    assert off.max() < 1e-10


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_copies_of_a_label_have_the_same_edges():
    labels = random_labels(7).assign(copy=lambda frame: frame["l2"], other=lambda f: 1 - f["l2"])
    net = im.IsingModel(labels).fit_regularized()
    rest = ["l0", "l1", "l3", "l4", "l5"]
    directed = net.directed
    assert directed.loc["l2", rest].any()
    np.testing.assert_allclose(directed.loc["copy", rest], directed.loc["l2", rest], rtol=1e-12)
    np.testing.assert_allclose(directed.loc["other", rest], -directed.loc["l2", rest], rtol=1e-12)
    alone = im.IsingModel(random_labels(7)).fit_regularized(lam=net.lam[list(random_labels(7))])
    np.testing.assert_allclose(
        3 * directed.loc["l2", rest], alone.directed.loc["l2", rest], atol=1e-8
    )
    backwards = im.IsingModel(labels.iloc[:, ::-1]).fit_regularized()
    names = list(labels)
    np.testing.assert_allclose(backwards.directed.loc[names, names], directed, atol=1e-8)


def test_too_few_steps_are_told():
    model = im.IsingModel(load_data("plain")[0])
    with pytest.warns(im.exceptions.ConvergenceWarning, match=r"'y1'.*Raise max_iter"):
        net = model.fit_regularized(max_iter=1)
    assert not net.converged
    assert not net.diagnostics["converged"].any()
    assert any("did not converge" in note for note in net.summary().notes)


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


def test_sparse_weighted_features_give_what_dense_rows_do():
    rng = np.random.default_rng(8)
    labels = random_labels(8, labels=3)
    features = np.where(rng.random((300, 5)) < 0.3, rng.normal(size=(300, 5)), 0.0)
    features[:, 4] = 0.0
    weights = rng.integers(1, 4, 300)
    with pytest.warns(im.exceptions.DataWarning, match="'x5' are the same"):
        thin = im.IsingModel(labels, sparse.csr_array(features), freq_weights=weights)
    rows = np.repeat(np.arange(300), weights)
    with pytest.warns(im.exceptions.DataWarning, match="'x5' are the same"):
        full = im.IsingModel(labels.iloc[rows].reset_index(drop=True), features[rows])
    first = thin.fit_regularized(features=True)
    second = full.fit_regularized(features=True)
    pd.testing.assert_frame_equal(first.effects, second.effects, atol=1e-8)
    pd.testing.assert_frame_equal(first.interactions, second.interactions, atol=1e-8)
    # A constant feature is none that could have been chosen.
    assert first.paths[0].n_columns == 2 + 4


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


@pytest.mark.parametrize(
    "make", [plain, lambda: plain(lam=1.0), fit_rare], ids=["plain", "empty", "rare"]
)
def test_every_public_attribute_can_be_read(make, tmp_path):
    net = make()
    arguments = {
        "save": {"path": tmp_path / "network.npz"},
        "load": {"path": tmp_path / "network.npz"},
        "report": {"path": tmp_path / "report.html"},
        "plot_label_network": {"ax": Figure().subplots()},
        "bootstrap": {"n_draws": 5},
        "drop_cases": {"n_draws": 10},
    }
    # What is saved is loaded.
    for name in sorted(dir(net), key=lambda name: name == "load"):
        if name.startswith("_"):
            continue
        value = getattr(net, name)
        needs = [
            argument
            for argument in (inspect.signature(value).parameters if callable(value) else ())
            if argument == "rule"
        ]
        if callable(value) and not needs and not (net.criterion == "fixed" and "with" in name):
            value(**arguments.get(name, {}))
    labels = list(net.label_names)
    for frame in (net.interactions, net.directed):
        assert list(frame.index) == list(frame.columns) == labels
        assert (np.diag(frame) == 0).all()
    np.testing.assert_array_equal(net.interactions, net.interactions.T)
    for series in (net.thresholds, net.lam, net.kkt):
        assert list(series.index) == labels


def test_results_are_read_only():
    net = plain()
    for name in ("interactions", "n_edges", "anything"):
        with pytest.raises(AttributeError, match="read-only"):
            setattr(net, name, None)
    with pytest.raises(AttributeError, match="read-only"):
        del net.paths
    before = net.interactions
    taken = net.interactions
    taken.loc["y1", "y2"] = 99.0
    pd.testing.assert_frame_equal(net.interactions, before)
    with pytest.raises(ValueError, match="read-only"):
        net.paths[0].lam[0] = 1.0


def test_results_can_be_pickled():
    net = plain()
    again = pickle.loads(pickle.dumps(net))
    pd.testing.assert_frame_equal(again.criteria, net.criteria)
    assert str(again.summary()) == str(net.summary())


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


def test_the_graph_holds_the_network():
    net = plain()
    graph = net.to_networkx()
    expected = nx.to_pandas_adjacency(graph, nodelist=list(net.label_names))
    np.testing.assert_array_equal(expected, net.interactions)
    assert graph.nodes["y1"]["threshold"] == net.thresholds["y1"]
    assert graph.nodes["y1"]["prevalence"] == load_data("plain")[0]["y1"].mean()


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


def test_the_summary_of_many_labels_lists_the_strongest_edges():
    labels = random_labels(9, rows=400, labels=25)
    net = im.IsingModel(labels).fit_regularized(gamma=0, n_lambda=10)
    text = str(net.summary())
    assert f"The 20 strongest of {net.n_edges} edges" in text
    assert "threshold" not in text
    assert len(text.splitlines()) < 40


def test_the_picture_has_the_edges_of_the_network():
    net = plain(rule="or")
    axes = Figure().subplots()
    assert net.plot_label_network(ax=axes) is axes
    assert "4 of 6 pairs" in axes.get_title()
    other = net.plot_label_network(ax=Figure().subplots(), min_weight=0.3)
    assert "of 6 pairs above 0.3" in other.get_title()


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


def test_penalised_covariates_are_features_by_another_name():
    labels, covariates, _ = load_context()
    columns = pd.get_dummies(covariates, drop_first=True, dtype=float)
    as_covariates = im.IsingModel(labels, covariates=covariates)
    net = as_covariates.fit_regularized(penalize_covariates=True, gamma=1)
    expected = im.IsingModel(labels, columns).fit_regularized(features=True, gamma=1)
    np.testing.assert_allclose(net.interactions, expected.interactions, atol=1e-8)
    np.testing.assert_allclose(net.directed.iloc[4:], expected.effects, atol=1e-8)
    assert (net.directed.iloc[4:] == 0).any(axis=None)
    np.testing.assert_array_equal(net.diagnostics["n_nonzero"], expected.diagnostics["n_nonzero"])


def test_statistics_with_covariates_give_what_rows_do():
    labels, covariates, _ = load_context()
    few = covariates.assign(age=covariates["age"] > 50)
    stats = im.LabelsetStatistics.from_arrays(labels, covariates=few)
    assert len(stats.counts) < 200
    net = im.IsingModel.from_statistics(stats).fit_regularized(lam=0.01)
    # A feature that is a covariate has no effect, but has the models fitted to rows.
    by_rows = im.IsingModel(labels, few[["sex"]], covariates=few)
    expected = by_rows.fit_regularized(lam=0.01, features=True)
    pd.testing.assert_frame_equal(net.directed, expected.directed, atol=1e-9)


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


def test_a_constant_covariate_changes_nothing():
    labels = random_labels(4)
    with pytest.warns(im.exceptions.DataWarning, match="'one' are the same in every row"):
        model = im.IsingModel(
            labels,
            labels * 2.0 + 1,
            covariates=pd.DataFrame({"one": np.ones(300)}),
            feature_names=[f"x{k}" for k in range(6)],
        )
    plain_net = im.IsingModel(labels).fit_regularized()
    pd.testing.assert_frame_equal(model.fit_regularized().directed, plain_net.directed)
    assert model.fit_regularized(features=True).directed.shape == (6, 6)


def test_what_covariates_explain_is_no_edge():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=2000)
    chance = 1 / (1 + np.exp(-1.5 * cause))
    labels = pd.DataFrame({name: rng.random(2000) < chance for name in "abc"})
    assert im.IsingModel(labels).fit_regularized().n_edges == 3
    model = im.IsingModel(labels, covariates=pd.DataFrame({"cause": cause}))
    net = model.fit_regularized()
    assert net.n_edges == 0
    assert repr(net) == (
        "RegularizedIsingResults(3 labels, 0 of 3 edges, ebic, rule 'and', given cause)"
    )
    assert net.covariate_names == ("cause",)
    np.testing.assert_allclose(net.directed.loc["cause"], 1.5, atol=0.2)
    # Fits on its neighbours have the covariate too.
    res = model.fit(neighbors="ebic")
    assert (res.params.loc[["a", "b", "c"]].fillna(0) == 0).all(axis=None)
    pd.testing.assert_frame_equal(net.refit().params, res.params)
    np.testing.assert_allclose(res.params.loc["cause"], net.directed.loc["cause"], rtol=1e-8)


def test_other_rules_and_criteria_keep_how_covariates_are_treated():
    net = context_model().fit_regularized(penalize_covariates=True)
    assert net.with_rule("or").settings.penalize_covariates
    longer = net.with_criterion("aic")
    assert longer.settings.penalize_covariates
    expected = context_model().fit_regularized(penalize_covariates=True, criterion="aic")
    pd.testing.assert_frame_equal(longer.directed, expected.directed)


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


def test_covariates_that_others_determine_have_no_coefficient():
    labels, covariates = separated_by_sex()
    labels["l0"] = random_labels(5, rows=400)["l4"]
    twice = covariates.assign(men=1 - covariates["sex"])
    with pytest.warns(im.exceptions.AliasingWarning, match="'men' are linear functions of other"):
        net = im.IsingModel(labels, covariates=twice).fit_regularized()
    expected = im.IsingModel(labels, covariates=covariates).fit_regularized()
    assert net.directed.loc["men"].isna().all()
    pd.testing.assert_frame_equal(net.directed.drop("men"), expected.directed, atol=1e-8)


def test_a_feature_that_is_a_covariate_has_no_effect():
    labels, covariates, features = load_context()
    for make in (lambda each: each, sparse.csr_array):
        model = im.IsingModel(
            labels,
            make(features.assign(age=covariates["age"]).to_numpy()),
            covariates=covariates,
            feature_names=[*features, "age"],
        )
        net = model.fit_regularized(lam=0.005, features=True)
        assert not net.effects.loc["age"].any()
        expected = context_model().fit_regularized(lam=0.005, features=True)
        pd.testing.assert_frame_equal(net.directed, expected.directed, atol=1e-8)
        pd.testing.assert_frame_equal(net.effects.drop("age"), expected.effects, atol=1e-8)


def test_penalize_covariates_must_be_yes_or_no():
    with pytest.raises(im.exceptions.DataError, match="penalize_covariates must be"):
        context_model().fit_regularized(penalize_covariates="yes")


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


def test_rules_may_be_written_as_in_r():
    model = im.IsingModel(im.datasets.load_example().labels)
    net = model.fit_regularized(rule="OR")
    assert net.rule == "or"
    assert net.with_rule("And").rule == "and"
    with pytest.raises(
        im.exceptions.DataError, match="rule must be one of 'and', 'or', but is 'XOR'"
    ):
        model.fit_regularized(rule="XOR")


@pytest.mark.parametrize("method", ["ebic", "l1", "IsingFit"])
def test_fit_says_where_sparse_networks_are(method):
    with pytest.raises(
        im.exceptions.DataError, match=r"fit_regularized\(\) fits label models with l1"
    ):
        im.IsingModel(im.datasets.load_example().labels).fit(method)
