"""`IsingResults`: every public attribute, and what each promises."""

import inspect
import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from golden import load_data
from scipy import stats

import isingmlc as im

pytestmark = pytest.mark.filterwarnings(
    "ignore::isingmlc.exceptions.IsingWarning",
)


def separated():
    return im.IsingModel(*load_data("separated"))


def with_odd_labels():
    labels, features = load_data("plain")
    return im.IsingModel(labels.assign(copy=labels["y1"], never=0), features.assign(one=1.0))


def many_labels():
    rng = np.random.default_rng(4)
    labels = rng.random((400, 20)) < rng.uniform(0.05, 0.5, 20)
    return im.IsingModel(labels, rng.normal(size=(400, 3)))


MODELS = {
    "plain": lambda: im.IsingModel(*load_data("plain")),
    "no intercept": lambda: im.IsingModel(*load_data("plain"), intercept=False),
    "no features": lambda: im.IsingModel(load_data("plain")[0]),
    "one label": lambda: im.IsingModel(load_data("plain")[0][["y1"]], load_data("plain")[1]),
    "separated": separated,
    "odd labels": with_odd_labels,
    "many labels": many_labels,
    "statistics": lambda: im.IsingModel.from_statistics(
        im.LabelsetStatistics.from_arrays(*load_data("plain"))
    ),
}


# Every model by maximum likelihood, and the plain one in every way.
FITS = [
    *((name, {}) for name in MODELS),
    *(("plain", {"penalty": penalty}) for penalty in (1.0, "firth")),
    *(("plain", {"method": method}) for method in ("joint", "pseudo")),
    *(("odd labels", options) for options in ({"penalty": 1.0}, {"method": "pseudo"})),
]


@pytest.fixture(scope="module", params=FITS, ids=lambda each: f"{each[0]} {each[1]}")
def results(request):
    name, options = request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", im.exceptions.IsingWarning)
        return MODELS[name]().fit(**options)


# What needs rows, features, a distribution, or a fit of another kind says so.
NEED_MORE = (
    "predict",
    "joint_distribution",
    "score_test",
    "rank_features",
    "wald_test",
    "lr_test",
    "check_calibration",
    "goodness_of_fit",
)
# What is for label models that are fitted one by one.
RESAMPLES = ("bootstrap", "drop_cases")
# What draws at random draws little here.
DRAWS = {"bootstrap": 20, "drop_cases": 20, "check_calibration": 2, "goodness_of_fit": 2}


def result_checker(results):
    """Read every public attribute and call every method that needs no argument."""
    for name in dir(results):
        # Pictures have tests of their own.
        if name.startswith(("_", "plot_")) or name in ("save", "load", "report"):
            continue
        value = getattr(results, name)
        if callable(value) and all(
            p.default is not p.empty for p in inspect.signature(value).parameters.values()
        ):
            try:
                value(*([DRAWS[name]] if name in DRAWS else []))
            except im.exceptions.ModelError:
                is_shared = results.method in ("joint", "pseudo")
                if name not in NEED_MORE and not (is_shared and name in RESAMPLES):
                    raise


def test_every_public_attribute_can_be_read(results):
    result_checker(results)


def test_tables_carry_names_and_shapes(results):
    labels = list(results.label_names)
    terms = ["const", *labels] if results.settings.intercept else labels
    for name in ("params", "bse", "zvalues", "pvalues"):
        frame = getattr(results, name)
        assert list(frame.columns) == labels
        assert list(frame.index) == terms
        assert np.isnan([frame.loc[label, label] for label in labels]).all()
    assert list(results.diagnostics.index) == labels
    assert list(results.thresholds.index) == labels
    interactions = results.interactions
    np.testing.assert_array_equal(interactions, interactions.T)
    assert (np.diag(interactions) == 0).all()


def test_standard_errors_belong_to_finite_estimates(results):
    finite = np.isfinite(results.params)
    assert (results.bse.notna() == finite).all(axis=None)
    assert (results.pvalues.notna() == finite).all(axis=None)
    limits = results.conf_int()
    low, high = limits["lower"], limits["upper"]
    coef, bse = (
        np.array([table.loc[term, label] for label, term in limits.index])
        for table in (results.params, results.bse)
    )
    known = np.isfinite(coef)
    assert (limits.notna().all(axis=1) == known).all()
    assert ((low < coef) & (coef < high))[known].all()
    np.testing.assert_allclose(
        (high - low)[known] / 2, stats.norm.isf(0.025) * bse[known], rtol=1e-10
    )


def test_a_frame_holds_every_coefficient(results):
    frame = results.to_frame()
    assert len(frame) == len(results.params) * len(results.label_names) - len(results.label_names)
    expected = [results.params.loc[term, label] for label, term in frame.index]
    np.testing.assert_array_equal(frame["coef"], expected)
    errors = [results.bse.loc[term, label] for label, term in frame.index]
    np.testing.assert_array_equal(frame["std err"], errors)
    assert list(results.to_frame(alpha=0.1).columns)[-2:] == ["[0.05", "0.95]"]


def test_saved_results_come_back_as_they_were(results, tmp_path):
    results.save(tmp_path / "fit.npz")
    again = im.IsingResults.load(tmp_path / "fit.npz")
    assert again.settings == results.settings
    assert again.model.terms == results.model.terms
    for name in ("params", "bse", "diagnostics", "interactions"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(results, name))
    assert again.llf == results.llf
    assert str(again.summary()) == str(results.summary())
    if results.feature_names:
        pd.testing.assert_frame_equal(
            again.score_test().statistics, results.score_test().statistics, check_exact=True
        )
    vectors = results.model.statistics.patterns
    pd.testing.assert_frame_equal(again.predict(vectors), results.predict(vectors))


def test_results_are_read_only(results):
    for name in ("params", "llf", "anything"):
        with pytest.raises(AttributeError, match="read-only"):
            setattr(results, name, None)
    with pytest.raises(AttributeError, match="read-only"):
        del results.fits
    with pytest.raises(AttributeError, match="read-only"):
        results.model.nobs = 3.0
    with pytest.raises(ValueError, match="read-only"):
        results.fits[0].coef[0] = 1.0


def test_removing_data_keeps_all_but_the_rows():
    res = MODELS["plain"]().fit()
    bare = res.remove_data()
    assert res.model.data is not None
    assert bare.model.data is None
    pd.testing.assert_frame_equal(bare.params, res.params)
    pd.testing.assert_frame_equal(*(each.score_test(pvalue="chi2").pvalues for each in (bare, res)))
    # Without rows two points per cell stand for a feature that is not 0/1.
    near = [np.log10(each.score_test().pvalues) for each in (bare, res)]
    np.testing.assert_allclose(*near, rtol=0.05)
    with pytest.raises(im.exceptions.ModelError, match=r"predict\(labels\)"):
        bare.predict()


def test_likelihood_and_criteria_are_sums_over_the_nodes():
    res = MODELS["plain"]().fit()
    nodes = [res.nodes[label] for label in res.label_names]
    assert res.llf == pytest.approx(sum(node.llf for node in nodes))
    assert res.df_model == sum(len(node.params) for node in nodes) == 16
    assert res.aic == pytest.approx(-2 * res.llf + 2 * 16)
    assert res.bic == pytest.approx(-2 * res.llf + np.log(400) * 16)


# Nodes as statsmodels results


@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
@pytest.mark.parametrize("name", ["plain", "separated", "odd labels"])
def test_nodes_are_statsmodels_results_with_our_values(name, penalty):
    res = MODELS[name]().fit(penalty=penalty)
    for label in res.nodes:
        if res.diagnostics.loc[label, "reason"] != "ok" or label == "never":
            continue
        node = res.nodes[label]
        assert node is res.nodes[label]
        for term in node.params.index:
            # A coefficient that is infinite in the whole model has another name in play.
            assert term.endswith("(in play)") != (term in res.params.index)
            if term in res.params.index:
                assert node.params[term] == res.params.loc[term, label]
                assert node.bse[term] == pytest.approx(res.bse.loc[term, label])
        fit = res.fits[res.label_names.index(label)]
        assert node.llf == pytest.approx(fit.llf)
        assert node.nobs == res.diagnostics.loc[label, "rows"]
        assert label in str(node.summary())
        wald = node.wald_test(np.eye(len(node.params))[-1:], scalar=True)
        z = node.params.iloc[-1] / node.bse.iloc[-1]
        assert float(wald.statistic) == pytest.approx(z**2)


def test_infinite_coefficients_have_another_name_in_play():
    # y1 is certainly 1 without y2; with it, 10 of 30 have it: const + y2 = log(10 / 20).
    labels = np.repeat([[0, 1], [1, 0], [1, 1]], [20, 30, 10], axis=0)
    res = im.IsingModel(labels).fit()
    assert res.params.loc["const", "y1"] == np.inf
    node = res.nodes["y1"]
    assert len(node.params) == 1
    (name,) = node.params.index
    assert name.endswith(" (in play)")
    assert node.params.iloc[0] == pytest.approx(np.log(0.5))


def test_a_node_without_a_regression_says_why():
    res = with_odd_labels().fit()
    with pytest.raises(im.exceptions.ModelError, match=r"'never' is constant-label.*penalty=1.0"):
        res.nodes["never"]
    with pytest.raises(im.exceptions.ModelError, match="'copy' is determined-label"):
        res.nodes["copy"]
    with pytest.raises(KeyError, match="labels are 'y1'"):
        res.nodes["beach"]


# Interactions


def test_rules_combine_the_two_estimates_of_a_pair():
    res = MODELS["plain"]().fit()
    mine, theirs = res.params.loc["y2", "y1"], res.params.loc["y1", "y2"]
    by_rule = {
        rule: res.symmetrize(rule).loc["y1", "y2"] for rule in ("mean", "min", "max", "and", "or")
    }
    assert by_rule["mean"] == by_rule["and"] == by_rule["or"] == pytest.approx((mine + theirs) / 2)
    assert abs(by_rule["min"]) == min(abs(mine), abs(theirs))
    assert abs(by_rule["max"]) == max(abs(mine), abs(theirs))
    weak = res.pvalues.loc[list(res.label_names)]
    first, second = np.argwhere((weak > 0.05).to_numpy() & (weak.T > 0.05).to_numpy())[0]
    assert res.symmetrize("and").iloc[first, second] == 0
    assert res.symmetrize("or").iloc[first, second] == 0
    assert res.interactions.iloc[first, second] != 0
    with pytest.raises(im.exceptions.DataError, match="'mean', 'min', 'max', 'and', 'or'"):
        res.symmetrize("median")


def test_infinite_interactions_stay_infinite():
    res = separated().fit()
    for rule in ("mean", "min", "max", "and", "or"):
        assert res.symmetrize(rule).loc["y3", "y4"] == -np.inf


def test_the_network_has_the_interactions_as_weights():
    res = MODELS["plain"]().fit()
    graph = res.to_networkx()
    assert isinstance(graph, nx.Graph)
    assert set(graph) == set(res.label_names)
    assert graph["y1"]["y2"]["weight"] == res.interactions.loc["y1", "y2"]
    assert graph.nodes["y3"]["threshold"] == res.thresholds["y3"]
    n_edges = (res.symmetrize("and") != 0).to_numpy().sum() / 2
    assert res.to_networkx("and").number_of_edges() == n_edges


# Distributions


def test_the_joint_distribution_has_the_conditionals_of_the_network():
    res = MODELS["plain"]().fit()
    joint = res.joint_distribution()
    assert joint.sum() == pytest.approx(1)
    assert joint.index.names == list(res.label_names)
    ones, zeros = joint.xs(1, level="y1"), joint.xs(0, level="y1")
    others = ones.index.to_frame().to_numpy()
    expected = res.thresholds["y1"] + others @ res.interactions.loc["y1", ["y2", "y3", "y4"]]
    np.testing.assert_allclose(np.log(ones / zeros), expected, rtol=1e-10)


def test_pairs_that_never_meet_have_probability_zero():
    labels = np.repeat(
        [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 1], [0, 1, 1]], 20, axis=0
    )
    joint = im.IsingModel(labels).fit().joint_distribution()
    assert (joint.xs((1, 1), level=("y1", "y2")) == 0).all()
    assert joint.drop([(1, 1, 0), (1, 1, 1)]).min() > 0


def test_a_network_without_a_distribution_says_what_to_do():
    labels = np.repeat([[0, 1], [1, 0]], 20, axis=0)
    with pytest.raises(im.exceptions.ModelError, match=r"penalty=1.0"):
        im.IsingModel(labels).fit().joint_distribution()
    rng = np.random.default_rng(0)
    many = im.IsingModel(rng.random((500, 21)) < 0.5).fit()
    with pytest.raises(im.exceptions.ModelError, match="20"):
        many.joint_distribution()


# Prediction


def test_predictions_carry_the_index_of_the_rows():
    labels, features = load_data("plain")
    labels.index = features.index = [f"p{i}" for i in range(len(labels))]
    features.loc["p3", "x1"] = np.nan
    res = im.IsingModel(labels, features, missing="drop").fit()
    predicted = res.predict()
    assert list(predicted.index) == [name for name in labels.index if name != "p3"]
    pd.testing.assert_series_equal(predicted.loc["p4"], res.predict(labels).loc["p4"])


def test_prediction_matches_columns_by_name():
    labels, _ = load_data("plain")
    res = im.IsingModel(labels).fit()
    shuffled = labels[["y3", "y1", "y4", "y2"]].assign(extra="text")
    pd.testing.assert_frame_equal(res.predict(shuffled), res.predict())
    with pytest.raises(im.exceptions.DataError, match=r"lacks the column.*'y4'"):
        res.predict(labels[["y1", "y2", "y3"]])
    with pytest.raises(im.exceptions.DataError, match="4 columns"):
        res.predict(labels.to_numpy()[:, :3])


# Diagnostics


def test_diagnostics_count_what_is_in_play():
    labels, _ = load_data("separated")
    res = separated().fit()
    table = res.diagnostics
    np.testing.assert_array_equal(table["positives"], labels.sum())
    np.testing.assert_allclose(table["prevalence"], labels.mean())
    assert table.loc["y3", "rows"] == (labels["y4"] == 0).sum()
    assert table["separated"].any()
    assert not table["determined"].any()
    for fit in res.fits:
        name = res.label_names[fit.label]
        node = res.nodes[name]
        variance = node.mu * (1 - node.mu)
        assert table.loc[name, "min_variance"] == pytest.approx(variance.min())
        weights = node.model.freq_weights
        gram = node.model.exog.T @ (weights[:, None] * node.model.exog) / weights.sum()
        assert table.loc[name, "min_eigenvalue"] == pytest.approx(np.linalg.eigvalsh(gram)[0])
        assert table.loc[name, "pseudo_r2"] == pytest.approx(1 - fit.llf / fit.llf_null)
    plain = MODELS["plain"]().fit()
    node = plain.nodes["y1"]
    assert plain.diagnostics.loc["y1", "pseudo_r2"] == pytest.approx(1 - node.llf / node.llnull)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mle"}, "'nodewise', 'joint', 'pseudo'"),
        ({"penalty": 0}, "penalty must be a finite number above 0, but is 0"),
        ({"penalty": np.inf}, "penalty must be a finite number above 0"),
        ({"penalty": "1"}, "penalty must be one of None, 'firth', 1.0"),
        ({"penalty": [1, 2]}, "penalty must be a finite number above 0"),
        ({"method": "joint", "penalty": 5.0}, "penalty is for method='nodewise', but method is"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 2.5}, "max_iter must be"),
        ({"max_iter": None}, "max_iter must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(im.exceptions.DataError, match=message):
        MODELS["plain"]().fit(**options)


@pytest.mark.parametrize("alpha", [0, 1, 3, "x", None])
def test_levels_that_make_no_sense_are_refused(alpha):
    res = MODELS["plain"]().fit()
    for work in (res.conf_int, res.to_frame, lambda a: res.symmetrize("and", alpha=a)):
        with pytest.raises(
            im.exceptions.DataError, match="alpha must be a finite number above 0 and"
        ):
            work(alpha)


def test_constant_labels_have_no_edges_and_a_plain_message():
    labels, _ = load_data("plain")
    res = im.IsingModel(labels.assign(one=1)).fit(penalty=1.0)
    assert res.to_networkx().degree("one") == 0
    with pytest.raises(im.exceptions.ModelError, match="Leave out labels that are constant"):
        res.joint_distribution()
    with pytest.raises(im.exceptions.ModelError, match="'one' is constant-label"):
        res.nodes["one"]


def test_fits_tests_and_rankings_survive_pickling():
    data = im.datasets.load_example()
    res = im.IsingModel(data.labels, data.features).fit()
    for thing, read in (
        (res, lambda res: res.params),
        (res.score_test(), lambda edges: edges.pvalues),
        (res.rank_features(), lambda ranking: ranking.to_frame()),
    ):
        read(thing)
        again = pickle.loads(pickle.dumps(thing))
        pd.testing.assert_frame_equal(read(again), read(thing))
    with pytest.raises(AttributeError, match="read-only"):
        pickle.loads(pickle.dumps(res)).method = "ridge"
