"""Label models of some of the other labels, against statsmodels, scikit-learn and by hand."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import root
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError, SeparationWarning

NAMES = ["hypertension", "diabetes", "arthritis", "depression", "asthma", "heart_disease"]
# Two labels with two neighbours, two with one, and two with none.
PATH = nx.Graph([("asthma", "depression"), ("depression", "diabetes")])
PATH.add_edge("hypertension", "diabetes")


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


@pytest.fixture(scope="module")
def model(data):
    return im.IsingModel(data.labels, data.features)


def strongest(labels, count):
    """Choose the labels with the largest correlations."""
    strength = labels.corr().abs()
    return {name: list(strength[name].drop(name).nlargest(count).index) for name in labels}


def chosen_labels(data, neighbors):
    """Say which labels each model should have."""
    if isinstance(neighbors, int):
        return strongest(data.labels, neighbors)
    if neighbors == "ebic":
        neighbors = im.IsingModel(data.labels).fit_regularized(rule="or").to_networkx()
    return {name: list(neighbors[name]) if name in neighbors else [] for name in data.labels}


def glm(labels, name, others, *features):
    """Fit one label on others with statsmodels, iterated until nothing moves."""
    design = labels[others].assign(const=1.0).astype(float)
    for feature in features:
        design[feature.name] = feature
    family = sm.families.Binomial()
    return sm.GLM(labels[name], design, family=family).fit(tol=0, maxiter=15)


def score_test(null, columns):
    """Return statsmodels' score test of further columns: statistic, p-value, df."""
    found = null.model.score_test(null.params, exog_extra=np.asarray(columns, dtype=float))
    return tuple(float(np.squeeze(value)) for value in found)


# Fits


@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
@pytest.mark.parametrize(
    "everything",
    [5, 99, np.int64(5), np.ones((6, 6)), nx.complete_graph(NAMES), "frame"],
    ids=["5", "99", "integer of numpy", "array", "graph", "frame"],
)
def test_all_labels_are_the_default(data, model, penalty, everything):
    if isinstance(everything, str):
        everything = data.labels.corr()
    whole, same = model.fit(penalty=penalty), model.fit(penalty=penalty, neighbors=everything)
    for name in ("params", "bse", "interactions"):
        pd.testing.assert_frame_equal(
            getattr(same, name), getattr(whole, name), rtol=1e-9, atol=1e-12
        )
    assert same.llf == pytest.approx(whole.llf, rel=1e-12)
    np.testing.assert_allclose(
        same.score_test().statistics, whole.score_test().statistics, rtol=1e-9
    )


@pytest.mark.parametrize("neighbors", [1, 2, "ebic", PATH], ids=["1", "2", "ebic", "graph"])
def test_fits_and_tests_agree_with_statsmodels_on_the_chosen_columns(data, model, neighbors):
    res = model.fit(neighbors=neighbors)
    edges = res.score_test(pvalue="chi2")
    chosen = chosen_labels(data, neighbors)
    assert 0 < sum(map(len, chosen.values())) < 30
    assert res.diagnostics["neighbors"].to_dict() == {k: len(v) for k, v in chosen.items()}
    for at, (name, others) in enumerate(chosen.items()):
        expected = glm(data.labels, name, others)
        terms = expected.params.index
        np.testing.assert_allclose(res.params[name][terms], expected.params, rtol=1e-8)
        # statsmodels takes errors from the step before its last: it may be 2e-8 off, ours is not.
        np.testing.assert_allclose(res.bse[name][terms], expected.bse, rtol=1e-7)
        assert res.fits[at].llf == pytest.approx(expected.llf, rel=1e-10)
        np.testing.assert_allclose(res.predict()[name], expected.fittedvalues, rtol=1e-8)
        absent = data.labels.columns.difference([name, *others])
        assert (res.params[name][absent] == 0).all()
        assert res.bse[name][absent].isna().all()
        for feature in data.features:
            statistic, pvalue, _ = score_test(expected, data.features[[feature]])
            assert edges.statistics.loc[feature, name] == pytest.approx(statistic, rel=1e-7)
            assert edges.pvalues.loc[feature, name] == pytest.approx(pvalue, rel=1e-6)


@pytest.mark.parametrize("neighbors", [2, PATH], ids=["2", "graph"])
def test_wald_and_likelihood_ratio_tests_agree_with_statsmodels(data, model, neighbors):
    res = model.fit(neighbors=neighbors)
    wald, ratio = res.wald_test(["bmi"]), res.lr_test(["bmi"])
    for name, others in chosen_labels(data, neighbors).items():
        null = glm(data.labels, name, others)
        larger = glm(data.labels, name, others, data.features["bmi"])
        assert wald.loc["bmi", name].statistic == pytest.approx(larger.tvalues["bmi"] ** 2, 1e-6)
        assert wald["bmi"].loc[name, "coef"] == pytest.approx(larger.params["bmi"], rel=1e-6)
        assert wald["bmi"].loc[name, "bse"] == pytest.approx(larger.bse["bmi"], rel=1e-6)
        assert ratio.loc["bmi", name].statistic == pytest.approx(
            2 * (larger.llf - null.llf), rel=1e-6
        )


@pytest.mark.parametrize("nothing", [0, np.zeros((6, 6)), nx.Graph()], ids=["0", "array", "graph"])
def test_no_neighbours_are_tests_without_labels(data, model, nothing):
    res = model.fit(neighbors=nothing)
    statistic = res.score_test().statistics
    n = len(data.labels)
    for name in data.labels:
        for feature in data.features:
            expected = n * stats.pearsonr(data.features[feature], data.labels[name]).statistic ** 2
            assert statistic.loc[feature, name] == pytest.approx(expected, rel=1e-9)
    share = data.labels.mean()
    np.testing.assert_allclose(expit(res.thresholds), share, rtol=1e-9)
    np.testing.assert_allclose(
        res.bse.loc["const"], 1 / np.sqrt(n * share * (1 - share)), rtol=1e-9
    )
    assert (res.interactions == 0).all(axis=None)
    assert (res.diagnostics["neighbors"] == 0).all()


def test_a_ridge_fit_of_some_labels_agrees_with_scikit_learn(data, model):
    res = model.fit(penalty=3.0, neighbors=2)
    for name, others in strongest(data.labels, 2).items():
        expected = LogisticRegression(C=1 / 3.0, solver="newton-cholesky", tol=1e-12)
        expected.fit(data.labels[others], data.labels[name])
        np.testing.assert_allclose(res.params[name][others], expected.coef_[0], rtol=1e-6)
        assert res.thresholds[name] == pytest.approx(expected.intercept_[0], rel=1e-6)
    assert res.score_test().pvalues.notna().all(axis=None)
    assert "penalised (ridge)" in res.score_test().note
    assert "given 2 of the 5 other labels" in res.score_test().note


def test_a_firth_fit_of_some_labels_solves_its_equations(data, model):
    """The score of Jeffreys' prior, X'(y − p + h (1/2 − p)) with leverages h, vanishes."""
    res = model.fit(penalty="firth", neighbors=2)
    for name, others in strongest(data.labels, 2).items():
        design = data.labels[others].assign(const=1.0).to_numpy(float)
        outcome = data.labels[name].to_numpy(float)

        def score(coef, design=design, outcome=outcome):
            p = expit(design @ coef)
            root_weighted = design * np.sqrt(p * (1 - p))[:, None]
            leverage = (np.linalg.qr(root_weighted)[0] ** 2).sum(axis=1)
            return design.T @ (outcome - p + leverage * (0.5 - p))

        solution = root(score, np.zeros(3), tol=1e-12)
        np.testing.assert_allclose(res.params[name][[*others, "const"]], solution.x, rtol=1e-7)


# The choice


def test_labels_that_go_with_no_other_have_no_neighbour():
    """Of three independent labels none is associated; a constant label neither."""
    cube = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T
    labels = pd.DataFrame(np.vstack([cube] * 4), columns=list("abc"))
    res = im.IsingModel(labels).fit(neighbors=2)
    assert (res.diagnostics["neighbors"] == 0).all()
    with pytest.warns(im.exceptions.DataWarning, match="'d'"):
        res = im.IsingModel(labels.assign(d=1)).fit(neighbors=3)
    assert (res.diagnostics["neighbors"] == 0).all()


def test_forms_of_one_graph_are_one(data, model):
    expected = model.fit(neighbors=PATH).params
    array = nx.to_numpy_array(PATH, nodelist=[name for name in NAMES if name in PATH])
    part = pd.DataFrame(array, *([[name for name in NAMES if name in PATH]] * 2))
    backwards = part.iloc[::-1, ::-1] * -0.3
    whole = part.reindex(index=NAMES, columns=NAMES, fill_value=0)
    for graph in (part, backwards, whole, whole.to_numpy(), whole.to_numpy().tolist(), whole > 0):
        pd.testing.assert_frame_equal(model.fit(neighbors=graph).params, expected)
    with_loops = whole.to_numpy() + np.diag(np.full(6, np.nan))
    pd.testing.assert_frame_equal(model.fit(neighbors=with_loops).params, expected)


@pytest.mark.parametrize("rule", ["and", "or"])
def test_a_refit_has_the_edges_of_the_network(model, rule):
    net = model.fit_regularized(rule=rule)
    res = net.refit()
    np.testing.assert_array_equal(res.interactions != 0, net.interactions != 0)
    pd.testing.assert_frame_equal(res.params, model.fit(neighbors=net.to_networkx()).params)
    assert res.settings.neighbors == "l1"
    by_name = model.fit(neighbors="ebic")
    assert by_name.settings.neighbors == "ebic"
    if rule == "or":
        pd.testing.assert_frame_equal(res.params, by_name.params)


# Tables


def test_pairs_in_one_model_stand_alone_and_pairs_in_none_are_zero(data, model):
    chosen = strongest(data.labels, 1)
    res = model.fit(neighbors=1)
    kinds = set()
    for rule in ("mean", "min", "max"):
        found = res.symmetrize(rule)
        pd.testing.assert_frame_equal(found, found.T)
        for first in NAMES:
            for second in set(NAMES) - {first}:
                estimates = [
                    res.params.loc[other, name]
                    for name, other in ((first, second), (second, first))
                    if other in chosen[name]
                ]
                kinds.add(len(estimates))
                if rule == "mean":
                    expected = np.mean(estimates) if estimates else 0.0
                elif rule == "min":
                    expected = min(estimates, key=abs, default=0.0)
                else:
                    expected = max(estimates, key=abs, default=0.0)
                assert found.loc[first, second] == pytest.approx(expected, rel=1e-12)
    assert kinds == {0, 1, 2}
    # Where only one model has a pair its test alone cannot make two.
    both, one = res.symmetrize("and"), res.symmetrize("or")
    assert (one != 0).to_numpy().sum() > (both != 0).to_numpy().sum() > 0
    for first in NAMES:
        for second in set(NAMES) - set(chosen[first]):
            assert both.loc[first, second] == 0
    assert set(res.to_networkx().edges) == {
        (first, second)
        for at, first in enumerate(NAMES)
        for second in NAMES[at + 1 :]
        if second in chosen[first] or first in chosen[second]
    }


@pytest.mark.parametrize("neighbors", [2, "ebic", PATH], ids=["2", "ebic", "graph"])
@pytest.mark.parametrize("penalty", [None, 1.0])
def test_a_saved_fit_keeps_its_neighbours(model, penalty, neighbors, tmp_path):
    res = model.fit(penalty=penalty, neighbors=neighbors)
    res.save(tmp_path / "fit.npz")
    again = im.IsingResults.load(tmp_path / "fit.npz")
    assert again.settings == res.settings
    pd.testing.assert_frame_equal(again.diagnostics, res.diagnostics)
    pd.testing.assert_frame_equal(again.to_frame(), res.to_frame())
    pd.testing.assert_frame_equal(again.interactions, res.interactions)
    pd.testing.assert_frame_equal(again.score_test().statistics, res.score_test().statistics)
    assert str(again.summary()) == str(res.summary())


# Labels that are separated


def never_together(seed=0):
    """Draw four labels of which the first two never meet."""
    rng = np.random.default_rng(seed)
    labels = pd.DataFrame(rng.integers(2, size=(200, 4)), columns=list("abcd"))
    labels.loc[labels["a"] == 1, "b"] = 0
    return labels


def test_labels_that_never_meet_are_infinite_only_as_neighbours():
    labels = never_together()
    features = pd.DataFrame({"x": np.random.default_rng(1).normal(size=200)})
    model = im.IsingModel(labels, features)
    apart = nx.Graph([("a", "c"), ("b", "c"), ("c", "d")])
    finite = model.fit(neighbors=apart)
    assert np.isfinite(finite.to_frame()).all(axis=None)
    assert not finite.diagnostics["separated"].any()
    for name in labels:
        others = list(apart[name])
        null = glm(labels, name, others)
        np.testing.assert_allclose(finite.params[name][others], null.params[others], rtol=1e-7)
        statistic = score_test(null, features)[0]
        found = finite.score_test().loc["x", name].statistic
        assert found == pytest.approx(statistic, rel=1e-7)
    assert "never occur together" not in str(finite.summary())
    together = nx.Graph([("a", "b"), ("b", "c"), ("c", "d")])
    with pytest.warns(SeparationWarning, match="'a', 'b'"):
        limit = model.fit(neighbors=together)
    assert limit.params.loc["b", "a"] == limit.params.loc["a", "b"] == -np.inf
    assert limit.interactions.loc["a", "b"] == -np.inf
    assert limit.diagnostics["separated"].tolist() == [True, True, False, False]
    assert np.isfinite(limit.params.loc["c", "b"])
    assert "a and b never occur together: the interaction runs" in str(limit.summary())
    # Only rows without the other label tell anything of the two.
    for name, other in ("ab", "ba"):
        left = labels[labels[other] == 0]
        rest = [label for label in together[name] if label != other]
        null = glm(left, name, rest)
        statistic = score_test(null, features.loc[left.index])[0]
        found = limit.score_test().loc["x", name].statistic
        assert found == pytest.approx(statistic, rel=1e-7)


# Bad input


def edges(*pairs):
    graph = nx.Graph()
    graph.add_edges_from(pairs)
    return graph


@pytest.mark.parametrize(
    ("neighbors", "message"),
    [
        ("bic", "but is 'bic'"),
        (True, "but is True"),
        (np.True_, "but is np.True_"),
        (2.0, "but is 2.0"),
        (np.float32(2), r"but is np.float32\(2.0\)"),
        (np.nan, "but is nan"),
        (object(), "but is object"),
        ({}, "but is dict"),
        ([[1, 0], [1]], "but is list"),
        (np.zeros((5, 5)), r"one line and column per label \(6\), but its shape is \(5, 5\)"),
        (np.zeros(6), r"but its shape is \(6,\)"),
        ([], r"but its shape is \(0,\)"),
        (
            np.triu(np.ones((6, 6))),
            "'hypertension' and 'diabetes' are linked in one direction only. Link both",
        ),
        (nx.DiGraph([("asthma", "depression")]), "'depression' and 'asthma' are linked in one"),
        (np.full((6, 6), np.nan), "whether 'hypertension' and 'diabetes' are linked"),
        (edges(("asthma", "gout")), "nodes that are no labels: 'gout'"),
        (edges((0, 1)), "nodes that are no labels: '0', '1'"),
        (pd.DataFrame(0, ["gout"], ["asthma"]), "names what is no label: 'gout'"),
        (pd.DataFrame(0, ["asthma"], ["gout"]), "names what is no label: 'gout'"),
        (pd.DataFrame(0, ["asthma"] * 2, ["asthma"] * 2), "the table names a label twice"),
    ],
)
def test_what_is_no_neighbourhood_is_told_what_is_wanted(model, neighbors, message):
    wanted = "neighbors must be 'ebic', how many labels each label is given, or a graph"
    with pytest.raises(DataError, match=rf"{wanted}.*{message}"):
        model.fit(neighbors=neighbors)


def test_models_too_large_for_memory_are_refused_before_they_are_fitted():
    labels = np.random.default_rng(0).random((60, 1300)) < 0.3
    model = im.IsingModel(labels)
    with pytest.raises(ModelError, match=r"may need 18 GB .*neighbors='ebic'.*penalty=1\.0"):
        model.fit()
