"""Likelihood-ratio and Wald statistics against R, statsmodels and hand, and their limits."""

import itertools
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from exact import independent, settled_exactly
from golden import load, load_data
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import fit_rows
from scipy import optimize, sparse
from scipy.special import expit, log_expit

import isingmlc as im
from isingmlc.fitting.separation import find_separation
from isingmlc.inference.refits import refit_test
from isingmlc.statistics.sums import find_labelsets

pytestmark = pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")


def refit(labels, table, *, intercept=True, freq_weights=None, fit=None, **options):
    """Fit a network, and give its Wald and likelihood-ratio tests as arrays."""
    model = im.IsingModel(labels, table, intercept=intercept, freq_weights=freq_weights)
    res = model.fit(**(fit or {}))
    lr, wald = (test(min_count=0, **options) for test in (res.lr_test, res.wald_test))
    assert lr.reasons.equals(wald.reasons)
    tables = {"lr": lr.statistics, "wald": wald.statistics, "df": lr.df, "reason": lr.reasons}
    tables |= {"coef": lr.params, "bse": lr.bse}
    arrays = {name: None if each is None else each.to_numpy() for name, each in tables.items()}
    return res, SimpleNamespace(**arrays, product=lr.arrays.product_statistic)


def entries(table, reference, labels, features):
    """Pick the entries of a table that rows of reference values are about."""
    at = features.columns.get_indexer(reference["feature"])
    return table[at, labels.columns.get_indexer(reference["label"])]


def design(labels, label, intercept=True):
    others = labels.drop(columns=label).astype(float)
    return sm.add_constant(others, has_constant="add") if intercept else others


def block(labels, label, feature):
    """Give a feature and its products with the other labels."""
    others = labels.drop(columns=label)
    return pd.concat([feature, others.mul(feature, axis=0).add_prefix("x:")], axis=1)


def glm(outcome, regressors, freq_weights=None):
    """Fit with statsmodels until nothing moves, standard errors included: they lag by a step."""
    family = sm.families.Binomial()
    model = sm.GLM(outcome, regressors, family=family, freq_weights=freq_weights)
    return model.fit(start_params=model.fit(tol=0, maxiter=15).params, tol=0, maxiter=2)


def supremum(regressors, outcome, steps=45):
    """Climb towards the supremum of the likelihood by many scoring steps.

    Under separation each step comes nearer to it by a factor of e.
    """
    signed = np.where(outcome, 1.0, -1.0)[:, None] * regressors
    coef = np.zeros(regressors.shape[1])
    value = np.sum(log_expit(signed @ coef))
    for _ in range(steps):
        # Square roots of the odds against what happened, and of the weights.
        odds = np.exp(-signed @ coef / 2)
        weight = odds * expit(signed @ coef)
        step = np.linalg.lstsq(weight[:, None] * signed, odds, rcond=1e-9)[0]
        while (new := np.sum(log_expit(signed @ (coef + step)))) < value - 1e-12:
            step = step / 2
        coef, value = coef + step, new
    return value


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["plain", "rare"])
def test_refits_agree_with_r(name, intercept):
    labels, features = load_data(name)
    _, found = refit(labels, features, intercept=intercept)
    reference = load(name, "edges").query("intercept == @intercept")
    assert (found.reason == "ok").all()
    assert (found.df == 1).all()
    # R takes standard errors from the weights of the last step but one: they lag by up to 8e-8
    # here, and the Wald statistics by twice as much, as the next test shows.
    for table, column, tolerance in (
        (found.lr, "lr", 1e-7),
        (found.coef, "coef", 1e-7),
        (found.bse, "se", 1e-7),
        (found.wald, "wald", 2e-7),
    ):
        picked = entries(table, reference, labels, features)
        np.testing.assert_allclose(picked, reference[column], rtol=tolerance, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["plain", "rare"])
def test_refits_agree_with_statsmodels_on_the_rows(name, intercept):
    labels, features = load_data(name)
    _, found = refit(labels, features, intercept=intercept)
    for k, label in enumerate(labels):
        regressors = design(labels, label, intercept)
        null = glm(labels[label], regressors)
        for j, feature in enumerate(features):
            # Far from zero statsmodels needs a centred feature; with an intercept that is the same.
            shift = features[feature].mean() if intercept else 0.0
            larger = glm(labels[label], regressors.assign(x=features[feature] - shift))
            assert found.lr[j, k] == pytest.approx(2 * (larger.llf - null.llf), rel=1e-8, abs=1e-9)
            assert found.coef[j, k] == pytest.approx(larger.params["x"], rel=1e-8)
            assert found.bse[j, k] == pytest.approx(larger.bse["x"], rel=1e-8)
            assert found.wald[j, k] == pytest.approx(larger.tvalues["x"] ** 2, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["plain", "rare"])
def test_blocks_agree_with_r(name, intercept):
    labels, features = load_data(name)
    _, found = refit(labels, features, intercept=intercept, products="joint")
    reference = load(name, "joint").query("intercept == @intercept")
    picked = entries(found.lr, reference, labels, features)
    np.testing.assert_allclose(picked, reference["lr"], rtol=1e-7)
    picked = entries(found.df, reference, labels, features)
    np.testing.assert_array_equal(picked, reference["df"])
    assert found.coef is None
    assert found.bse is None
    np.testing.assert_array_equal(np.isnan(found.wald), found.reason == "separated-alternative")


def test_likelihood_ratios_agree_with_r_under_separation():
    labels, features = load_data("separated")
    _, found = refit(labels, features)
    reference = load("separated", "edges")
    picked = entries(found.lr, reference, labels, features)
    np.testing.assert_allclose(picked, reference["lr"], rtol=1e-7)
    assert (found.reason == "ok").all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_weighted_refits_agree_with_statsmodels(container):
    data = im.datasets.load_example()
    weights = np.random.default_rng(4).integers(1, 5, len(data.labels))
    features = data.features[["age", "bmi", "smoker"]]
    _, plain = refit(data.labels, container(features), freq_weights=weights)
    _, joint = refit(data.labels, container(features), freq_weights=weights, products="joint")
    for label in ("diabetes", "asthma"):
        k = data.labels.columns.get_loc(label)
        regressors, outcome = design(data.labels, label), data.labels[label]
        null = glm(outcome, regressors, weights)
        for j, feature in enumerate(features):
            x = features[feature] - features[feature].mean()
            larger = glm(outcome, regressors.assign(x=x), weights)
            assert plain.lr[j, k] == pytest.approx(2 * (larger.llf - null.llf), rel=1e-8)
            assert plain.coef[j, k] == pytest.approx(larger.params["x"], rel=1e-8)
            assert plain.bse[j, k] == pytest.approx(larger.bse["x"], rel=1e-8)
            added = block(data.labels, label, x.rename("x"))
            larger = glm(outcome, regressors.join(added), weights)
            assert joint.df[j, k] == 6
            assert joint.lr[j, k] == pytest.approx(2 * (larger.llf - null.llf), rel=1e-8)
            restricted = np.eye(12)[6:]
            wald = larger.wald_test(restricted, use_f=False, scalar=True)
            assert joint.wald[j, k] == pytest.approx(wald.statistic, rel=1e-7)


@pytest.mark.parametrize("products", [None, "joint"])
def test_weights_count_rows(products):
    labels, features = load_data("separated")
    weights = np.random.default_rng(1).integers(1, 4, len(labels))
    repeated = np.repeat(np.arange(len(labels)), weights)
    for fit in ({}, {"method": "ridge"}):
        _, weighted = refit(labels, features, freq_weights=weights, products=products, fit=fit)
        _, whole = refit(labels.iloc[repeated], features.iloc[repeated], products=products, fit=fit)
        np.testing.assert_allclose(weighted.lr, whole.lr, rtol=1e-8)
        np.testing.assert_allclose(weighted.wald, whole.wald, rtol=1e-8)


def test_complete_separation_leaves_the_null_deviance():
    labels, features = load_data("plain")
    distance = 0.1 + features["x2"].abs()
    features = features.assign(
        up=np.where(labels["y1"] == 1, distance, -distance),
        down=np.where(labels["y1"] == 1, 3 - distance, 3 + distance),
    )[["x1", "up", "down"]]
    res, found = refit(labels, features)
    assert list(found.reason[:, 0]) == ["ok", "separated-alternative", "separated-alternative"]
    assert found.lr[1:, 0] == pytest.approx(-2 * res.fits[0].llf, rel=1e-12)
    assert np.isnan(found.wald[1:, 0]).all()
    assert list(found.coef[1:, 0]) == [np.inf, -np.inf]
    assert np.isnan(found.bse[1:, 0]).all()
    assert list(found.df[:, 0]) == [1, 1, 1]


def test_quasi_separation_has_the_likelihood_of_the_rows_that_remain():
    # y1 given y2 is a saturated model of a 2 × 2 table. The feature is one in 4 rows, all with
    # y1 = y2 = 1: these settle, and the table without them remains.
    counts = pd.DataFrame({"y1": [0, 0, 1, 1], "y2": [0, 1, 0, 1], "n": [30, 12, 9, 21]})
    rows = counts.loc[counts.index.repeat(counts["n"]), ["y1", "y2"]].reset_index(drop=True)
    feature = pd.DataFrame({"x": (rows.index >= len(rows) - 4).astype(int)})
    _, found = refit(rows, feature)

    def log_likelihood(none, one):
        return sum(n * np.log(n / (none + one)) for n in (none, one))

    gain = log_likelihood(12, 21 - 4) - log_likelihood(12, 21)
    assert found.lr[0, 0] == pytest.approx(2 * gain, rel=1e-12)
    assert found.reason[0, 0] == "separated-alternative"
    assert found.coef[0, 0] == np.inf
    # The coefficients of y2 and the feature alone: y1 is not at all certain where x is 0.
    assert np.isnan(found.wald[0, 0])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=4, max_size=25))
def test_one_label_is_separated_where_the_feature_does_not_overlap(rows):
    """Without other labels, ties at the border are what remains."""
    outcome = np.array([row[0] for row in rows])
    x = np.array([row[1] for row in rows], dtype=float)
    if outcome.all() or not outcome.any():
        return
    res, found = refit(outcome[:, None].astype(int), x[:, None])
    if np.ptp(x) == 0:
        assert found.reason[0, 0] == "constant-feature"
        assert np.isnan([found.lr[0, 0], found.wald[0, 0], found.df[0, 0]]).all()
        return
    low, high = x[~outcome], x[outcome]
    border = high.min() if low.max() <= high.min() else low.min()
    separated = low.max() <= high.min() or high.max() <= low.min()
    assert (found.reason[0, 0] == "separated-alternative") == separated
    if separated:
        ties = np.array([(low == border).sum(), (high == border).sum()])
        shares = ties[ties > 0] / max(ties.sum(), 1)
        limit = float(ties[ties > 0] @ np.log(shares))
        assert found.lr[0, 0] == pytest.approx(2 * (limit - res.fits[0].llf), rel=1e-9, abs=1e-9)
        assert found.coef[0, 0] == (np.inf if low.max() <= high.min() else -np.inf)
    else:
        assert np.isfinite(found.wald[0, 0])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(-2, 2)), min_size=8, max_size=40),
    st.booleans(),
    st.sampled_from([None, "joint"]),
)
def test_limits_of_small_tables_are_exact(rows, intercept, products):
    codes, x = np.array(rows).T
    labels = pd.DataFrame((codes[:, None] >> np.arange(3)) & 1, columns=["a", "b", "c"])
    if (labels == labels.iloc[0]).all(axis=None):
        return
    features = pd.DataFrame({"x": x})
    res, found = refit(labels, features, intercept=intercept, products=products)
    for k, label in enumerate(labels):
        if found.reason[0, k] not in ("ok", "separated-alternative"):
            continue
        outcome = labels[label].to_numpy() == 1
        added = block(labels, label, features["x"]) if products else features
        regressors = design(labels, label, intercept).join(added).to_numpy(float)
        value = supremum(regressors, outcome)
        assert found.lr[0, k] == pytest.approx(2 * (value - res.fits[k].llf), abs=1e-7)
        _, of_row = find_labelsets(res.model.data.packed_labels, 3)
        in_play = res.fits[k].in_play[of_row]
        signed = np.where(outcome, 1.0, -1.0)[:, None] * regressors
        settled = find_separation(signed[in_play]).settled.any()
        assert (found.reason[0, k] == "separated-alternative") == settled


def test_a_copy_of_the_label_has_an_infinite_coefficient():
    labels = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], [2, 2, 1, 2], axis=0)
    res, found = refit(labels, labels[:, [0]])
    assert found.coef[0, 0] == np.inf
    assert np.isnan([found.bse[0, 0], found.wald[0, 0]]).all()
    assert found.reason[0, 0] == "separated-alternative"
    assert found.lr[0, 0] == pytest.approx(-2 * res.fits[0].llf, rel=1e-12)


def test_an_edge_that_no_programme_can_decide_is_as_good_as_separated(monkeypatch):
    labels = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], [2, 2, 1, 2], axis=0)
    res = im.IsingModel(labels, np.column_stack([labels[:, 0], [0, 1, 0, 1, 0, 1, 0]])).fit()
    failed = optimize.OptimizeResult(status=4, x=None, ineqlin=None)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: failed)
    monkeypatch.setattr("isingmlc.inference.larger_models._CLEAR", np.inf)
    edges = res.lr_test(min_count=0)
    assert list(edges.reasons["y1"]) == ["separated-alternative", "ok"]
    assert edges.statistics.loc["x1", "y1"] == pytest.approx(-2 * res.fits[0].llf, rel=1e-6)
    assert np.isnan(edges.params.loc["x1", "y1"])


def test_a_separated_category_is_told():
    """Levels b and c occur with y = 0 alone; what is left is one row of each kind at level a."""
    frame = pd.DataFrame({"y": [1, 0, 0, 0], "level": ["a", "c", "a", "b"]})
    res = im.IsingModel.from_formula("y ~ C(level)", frame).fit()
    edges = res.lr_test(by="term", min_count=0)
    assert edges.reasons.loc["C(level)", "y"] == "separated-alternative"
    assert edges.df.loc["C(level)", "y"] == 2
    gain = 2 * np.log(0.5) - res.fits[0].llf
    assert edges.statistics.loc["C(level)", "y"] == pytest.approx(2 * gain, rel=1e-9)


def columns_up_to_order(sizes, values):
    """All columns, but of those that differ by the order of equal rows only one."""
    within = [itertools.combinations_with_replacement(values, size) for size in sizes]
    return np.array([sum(parts, ()) for parts in itertools.product(*within)]).T


@pytest.mark.parametrize(
    ("n_rows", "values"), [(7, (0, 1)), (5, (0, 1, 3))], ids=["seven rows", "three values"]
)
@pytest.mark.parametrize("intercept", [True, False])
def test_every_small_table_is_separated_or_not_exactly(n_rows, values, intercept):
    """All rows of two labels and all features, judged without rounding."""
    labelsets = np.array(list(itertools.product([0, 1], repeat=2)))
    n_separated = 0
    for sizes in itertools.product(range(n_rows + 1), repeat=4):
        labels = np.repeat(labelsets, sizes, axis=0)
        if sum(sizes) != n_rows or (labels == labels[0]).all():
            continue
        features = columns_up_to_order(sizes, values)
        _, found = refit(labels, features, intercept=intercept)
        for k in range(2):
            ones = np.ones((n_rows, int(intercept)), dtype=int)
            null = np.hstack([ones, labels[:, [1 - k]]])
            sign = np.where(labels[:, k], 1, -1)[:, None]
            in_play = ~settled_exactly(sign * null)[0]
            for j, feature in enumerate(features.T):
                design = np.column_stack([null, feature])[in_play]
                if found.reason[j, k] not in ("ok", "separated-alternative"):
                    is_new = 2 + intercept - 1 in independent(design)
                    assert not is_new or np.ptp(labels[:, k]) == 0 or not in_play.any()
                    continue
                settled, direction = settled_exactly(sign[in_play] * design)
                expected = "separated-alternative" if settled.any() else "ok"
                assert found.reason[j, k] == expected
                if settled.any():
                    assert found.coef[j, k] == np.copysign(np.inf, direction[-1])
                    n_separated += 1
                else:
                    assert np.isfinite([found.coef[j, k], found.bse[j, k]]).all()
    assert n_separated > 500


@pytest.mark.parametrize("products", [None, "individual", "joint"])
def test_a_feature_far_from_zero_without_an_intercept_is_told(products):
    """Around 1e8 programmes see little of what varies, and some end without an answer."""
    rows = "11111 11111 11111 10011 11011 11000 00110 00101 00111 10101"
    labels = np.array([[int(c) for c in row] for row in rows.split()])
    varies = [0.058, 0.981, -0.295, 0.095, -0.177, -0.118, -0.12, -0.235, -0.274, 0.039]
    copies = 0.166 * labels[:, 0]
    features = 1e8 + np.column_stack([varies, copies, copies * np.arange(10)])
    res, found = refit(labels, features, intercept=False, products=products)
    told = {"ok", "separated-alternative", "collinear-feature"}
    assert set(found.reason.ravel()) <= told
    np.testing.assert_array_equal(np.isfinite(found.wald), found.reason == "ok")
    score = res.score_test(products=products, min_count=0)
    np.testing.assert_array_equal(score.statistics.notna(), score.reasons == "ok")


def test_products_with_labels_that_never_occur_in_play_add_no_degrees_of_freedom():
    """In `separated` y3 and y4 never meet: the model of y3 is one of the rows without y4."""
    labels, features = load_data("separated")
    res, found = refit(labels, features, products="joint")
    assert (found.df[:, [0, 1]] == 4).all()
    assert (found.df[:, [2, 3]] == 3).all()
    rest = labels[labels["y4"] == 0].drop(columns="y4")
    for j, feature in enumerate(features):
        added = block(rest, "y3", features.loc[rest.index, feature])
        larger = glm(rest["y3"], design(rest, "y3").join(added))
        assert found.lr[j, 2] == pytest.approx(2 * (larger.llf - res.fits[2].llf), rel=1e-8)
        wald = larger.wald_test(np.eye(6)[3:], use_f=False, scalar=True)
        assert found.wald[j, 2] == pytest.approx(wald.statistic, rel=1e-7)


def test_degrees_of_freedom_are_the_rank_of_the_block():
    labels, features = load_data("plain")
    features = pd.DataFrame(
        {
            "absent": features["x1"].where(labels["y2"] == 0, 0.0),
            "label": labels["y2"],
            "sum": labels["y2"] + labels["y3"],
            "spread": 1e5 + 0.1 * features["x1"],
        }
    )
    _, plain = refit(labels, features)
    _, joint = refit(labels, features, products="joint")
    assert list(plain.reason[:, 0]) == ["ok", "collinear-feature", "collinear-feature", "ok"]
    assert np.isnan(plain.df[[1, 2], 0]).all()
    # Of y2·(1, y2, y3, y4) the last two are new, of (y2 + y3)·(1, y2, y3, y4) y2·y3 and
    # (y2 + y3)·y4.
    assert list(joint.df[:, 0]) == [3, 2, 2, 4]
    regressors = design(labels, "y1")
    null = glm(labels["y1"], regressors)
    products = pd.DataFrame({"23": labels.y2 * labels.y3, "24": labels.y2 * labels.y4})
    larger = glm(labels["y1"], regressors.join(products))
    assert joint.lr[1, 0] == pytest.approx(2 * (larger.llf - null.llf), rel=1e-8)
    wald = larger.wald_test(np.eye(6)[4:], use_f=False, scalar=True)
    assert joint.wald[1, 0] == pytest.approx(wald.statistic, rel=1e-7)


def test_a_feature_that_is_constant_in_play_is_collinear():
    labels, _ = load_data("separated")
    # The model of y3 is one of the rows without y4.
    feature = pd.DataFrame({"x": 0.1 + 0.7 * labels["y4"] * np.arange(len(labels))})
    for products in (None, "joint"):
        _, found = refit(labels, feature, products=products)
        assert found.reason[0, 2] == "collinear-feature"
        assert np.isnan(found.lr[0, 2])
        assert found.reason[0, 0] == "ok"


def test_labels_that_cannot_be_tested_keep_their_reason():
    labels, features = load_data("plain")
    labels = labels.assign(never=0, none=(labels.sum(axis=1) == 0).astype(int))
    _, found = refit(labels, features)
    assert (found.reason[:, 4] == "constant-label").all()
    assert (found.reason[:, 5] == "determined-label").all()
    for table in (found.lr, found.wald, found.df, found.coef, found.bse):
        assert np.isnan(table[:, 4:]).all()
        assert np.isfinite(table[:, :4]).all()


def test_constant_features_stand_in_for_the_intercept():
    labels, _ = load_data("plain")
    _, found = refit(labels, np.full((len(labels), 1), 0.1), intercept=False)
    with_constant = im.IsingModel(labels).fit()
    without = im.IsingModel(labels, intercept=False).fit()
    for k in range(4):
        gain = with_constant.fits[k].llf - without.fits[k].llf
        assert found.lr[0, k] == pytest.approx(2 * gain, rel=1e-9)
        assert 0.1 * found.coef[0, k] == pytest.approx(with_constant.fits[k].coef[0], rel=1e-9)


@pytest.mark.parametrize("fit", [{}, {"method": "ridge"}], ids=["mle", "ridge"])
@pytest.mark.parametrize("products", [None, "joint"])
def test_statistics_do_not_depend_on_scale_or_origin_of_a_feature(fit, products):
    labels, features = load_data("plain")
    _, plain = refit(labels, features, fit=fit, products=products)
    _, moved = refit(labels, -3e-4 * features + 11, fit=fit, products=products)
    np.testing.assert_allclose(moved.lr, plain.lr, rtol=1e-6)
    np.testing.assert_allclose(moved.wald, plain.wald, rtol=1e-6)
    np.testing.assert_array_equal(moved.df, plain.df)
    if not products:
        np.testing.assert_allclose(moved.coef, plain.coef / -3e-4, rtol=1e-6)


@pytest.mark.parametrize("products", [None, "joint"])
def test_ridge_refits_maximise_the_penalised_likelihood(products):
    labels, features = load_data("separated")
    features = features - features.mean()
    fit = {"method": "ridge", "penalty": 2.5}
    res, found = refit(labels, features, fit=fit, products=products)
    for k, label in enumerate(labels):
        penalty = 2.5 * (np.arange(4) > 0)
        null = res.fits[k].llf - 0.5 * penalty @ res.params[label].dropna() ** 2
        for j, feature in enumerate(features):
            added = block(labels, label, features[feature]) if products else features[[feature]]
            regressors = design(labels, label).join(added).to_numpy()
            extended = np.concatenate([penalty, np.zeros(added.shape[1])])
            value, coef, information = ridge_fit(regressors, labels[label].to_numpy(), extended)
            inverse = np.linalg.inv(information)[4:, 4:]
            wald = coef[4:] @ np.linalg.solve(inverse, coef[4:])
            assert found.lr[j, k] == pytest.approx(2 * (value - null), rel=1e-8)
            assert found.wald[j, k] == pytest.approx(wald, rel=1e-8)
            assert found.df[j, k] == added.shape[1]
            if not products:
                assert found.coef[j, k] == pytest.approx(coef[4], rel=1e-8)
                assert found.bse[j, k] == pytest.approx(np.sqrt(inverse[0, 0]), rel=1e-8)


def ridge_fit(regressors, outcome, penalty):
    """Maximise a penalised likelihood by Newton steps from zero."""
    penalty = np.asarray(penalty)
    coef = np.zeros(regressors.shape[1])
    for _ in range(25):
        p = expit(regressors @ coef)
        information = regressors.T @ ((p * (1 - p))[:, None] * regressors) + np.diag(penalty)
        coef = coef + np.linalg.solve(information, regressors.T @ (outcome - p) - penalty * coef)
    value = np.sum(log_expit(np.where(outcome, 1, -1) * (regressors @ coef)))
    return value - 0.5 * penalty @ coef**2, coef, information


def test_ridge_leaves_a_separating_feature_its_limit():
    labels, features = load_data("plain")
    feature = pd.DataFrame({"x": (labels["y1"] - 0.5) * (0.1 + features["x2"].abs())})
    res, found = refit(labels, feature, fit={"method": "ridge", "penalty": 3.0})
    # All rows settle, so the penalised coefficients go to zero.
    null = res.fits[0].llf - 1.5 * np.sum(res.fits[0].coef[2:] ** 2)
    assert found.lr[0, 0] == pytest.approx(-2 * null, rel=1e-12)
    assert found.reason[0, 0] == "separated-alternative"
    assert found.coef[0, 0] == np.inf
    # With rows of both kinds where the feature is zero, these remain.
    kept = np.arange(len(labels)) % 3 > 0
    feature = feature.where(kept[:, None], 0.0)
    res, found = refit(labels, feature, fit={"method": "ridge", "penalty": 3.0})
    rest = labels[~kept]
    penalty = 3.0 * (np.arange(4) > 0)
    value, _, _ = ridge_fit(design(rest, "y1").to_numpy(), rest["y1"].to_numpy(), penalty)
    # The constant cannot follow the feature: zero lies inside its range.
    null = res.fits[0].llf - 1.5 * np.sum(res.fits[0].coef[2:] ** 2)
    assert found.reason[0, 0] == "separated-alternative"
    assert found.lr[0, 0] == pytest.approx(2 * (value - null), rel=1e-10)


def test_blocks_under_ridge_settle_rows_without_help_of_the_labels():
    """Around its mean of zero the feature is positive with y1 = 0 and negative with y1 = 1."""
    rng = np.random.default_rng(3)
    labels = pd.DataFrame({"y1": np.tile([0, 1], 15), "y2": rng.integers(0, 2, 30)})
    x = np.zeros(30)
    x[[4, 7, 9]] = 0.6, -0.4, -0.2
    labels.loc[[4, 7, 9], "y2"] = 0, 0, 1
    fit = {"method": "ridge", "penalty": 10.0}
    res, found = refit(labels, x[:, None], fit=fit, products="joint")
    rest = labels[x == 0]
    value, _, _ = ridge_fit(design(rest, "y1").to_numpy(), rest["y1"].to_numpy(), [0.0, 10.0])
    null = res.fits[0].llf - 5.0 * res.fits[0].coef[2] ** 2
    assert found.reason[0, 0] == "separated-alternative"
    assert found.lr[0, 0] == pytest.approx(2 * (value - null), rel=1e-9)


@pytest.mark.parametrize("products", [None, "joint"])
def test_outliers_leave_the_likelihood_exact(products):
    """Far out rows are certain in floating-point numbers although nothing is separated."""
    rng = np.random.default_rng(12)
    for _ in range(20):
        labels = pd.DataFrame(rng.integers(0, 2, (25, 2)), columns=["y1", "y2"])
        x = rng.normal(size=25) * np.where(np.arange(25) < 2, 2e3, 1.0)
        features = pd.DataFrame({"x": x})
        res, found = refit(labels, features, products=products)
        for k, label in enumerate(labels):
            added = block(labels, label, features["x"]) if products else features
            regressors = design(labels, label).join(added).to_numpy()
            gain = supremum(regressors, labels[label].to_numpy() == 1) - res.fits[k].llf
            assert found.lr[0, k] == pytest.approx(2 * gain, abs=1e-6)
            assert np.isfinite(found.wald[0, k]) == (found.reason[0, k] == "ok")


def test_an_outlier_is_not_taken_for_separation():
    """All but one of the values lie together, so that in standard units they hardly differ."""
    labels = pd.DataFrame({"y1": [1, 0, 0, 1, 1], "y2": [0, 0, 1, 1, 0]})
    x = np.array([-0.74051311, -0.00041422, 30.60906839, 9781.91224924, 24.19878138])
    _, found = refit(labels, x[:, None])
    larger = fit_rows(np.column_stack([np.ones(5), labels["y2"], x]), labels["y1"] == 1, np.ones(5))
    assert larger.inside.all()
    assert found.reason[0, 0] == "ok"
    assert found.coef[0, 0] == pytest.approx(larger.coef[2], rel=1e-6)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e12, 1e14])
def test_an_outlier_of_any_size_leaves_the_fit_of_the_others(size):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    labels = np.column_stack([rng.random(60) < expit(x), rng.random(60) < 0.5]).astype(int)
    labels[0, 0], x[0] = 1, size
    _, found = refit(labels, x[:, None])
    # With this coefficient the row of the outlier is certain.
    rest = np.column_stack([np.ones(59), labels[1:, 1], x[1:]])
    expected = sm.Logit(labels[1:, 0], rest).fit(disp=0, tol=1e-13)
    assert found.reason[0, 0] == "ok"
    assert found.coef[0, 0] == pytest.approx(expected.params[2], rel=1e-9)
    assert found.bse[0, 0] == pytest.approx(expected.bse[2], rel=1e-9)
    null = sm.Logit(labels[:, 0], np.column_stack([np.ones(60), labels[:, 1]])).fit(disp=0)
    assert found.lr[0, 0] == pytest.approx(2 * (expected.llf - null.llf), rel=1e-9)
    robust = sm.Logit(labels[1:, 0], rest).fit(disp=0, tol=1e-13, cov_type="HC0")
    wald = im.IsingModel(labels, x[:, None]).fit(cov_type="HC0").wald_test()
    assert wald.bse.iloc[0, 0] == pytest.approx(robust.bse[2], rel=1e-9)


def test_the_middle_of_a_feature_is_that_of_the_weights():
    """Around any other value hardly anything would be left of it."""
    labels, x = np.array([[0], [1]]), np.array([[1.43], [0.0]])
    _, found = refit(labels, x, freq_weights=np.array([1e11, 1.0]))
    assert found.reason[0, 0] == "separated-alternative"
    assert found.df[0, 0] == 1
    # The larger model leaves nothing of the deviance.
    expected = 2 * (1e11 * np.log1p(1e-11) + np.log(1e11 + 1))
    assert found.lr[0, 0] == pytest.approx(expected, rel=1e-9)


def test_maxima_that_lie_far_out_are_found():
    """Products of a feature that all but copies a label have coefficients in the thousands."""
    rng = np.random.default_rng(7)
    labels = rng.random((120, 12)) < rng.uniform(0.1, 0.5, 12)
    labels = labels[labels.any(axis=1)].astype(float)
    x = (labels[:, 1] + 1e-3 * rng.normal(size=len(labels)))[:, None]
    _, found = refit(labels.astype(int), x, intercept=False, products="joint")
    counts = np.ones(len(labels))
    for label in (0, 2, 3):
        others = np.delete(labels, label, axis=1)
        outcome = labels[:, label] > 0
        null = fit_rows(others, outcome, counts)
        larger = fit_rows(np.hstack([others, x, x * others]), outcome, counts)
        assert larger.inside.all()
        assert found.reason[0, label] == "ok"
        expected = 2 * (larger.value - null.value)
        assert found.lr[0, label] == pytest.approx(expected, rel=1e-9)


def test_score_wald_and_likelihood_ratio_agree_on_many_rows():
    rng = np.random.default_rng(8)
    factor = rng.normal(size=(20_000, 1))
    labels = (rng.normal(size=(20_000, 4)) + factor > 0.3).astype(int)
    features = rng.normal(size=(20_000, 12)) + 0.02 * labels[:, :1]
    for products in (None, "joint"):
        res, found = refit(labels, features, products=products)
        score = res.score_test(products=products).statistics.to_numpy()
        np.testing.assert_allclose(found.lr, score, rtol=0.03, atol=0.01)
        np.testing.assert_allclose(found.wald, score, rtol=0.03, atol=0.01)


@pytest.mark.parametrize("products", [None, "joint"])
def test_order_and_choice_of_features_do_not_matter(products):
    labels, features = load_data("rare")
    order = [3, 0, 4]
    _, all_of_them = refit(labels, features, products=products)
    _, permuted = refit(labels, features.iloc[:, order], products=products)
    names = features.columns[order]
    _, chosen = refit(labels, features, products=products, features=names)
    for other in (permuted, chosen):
        for name in ("lr", "wald", "df", "coef", "bse"):
            expected = getattr(all_of_them, name)
            if expected is not None:
                np.testing.assert_allclose(getattr(other, name), expected[order], rtol=1e-9)
        np.testing.assert_array_equal(other.reason, all_of_them.reason[order])


@pytest.mark.parametrize("products", [None, "joint"])
def test_threads_do_not_change_the_numbers(products, monkeypatch):
    labels, features = load_data("rare")
    # Many small pieces.
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 3000)
    _, one = refit(labels, features, products=products)
    _, two = refit(labels, features, products=products, n_jobs=2)
    for name in ("lr", "wald", "df", "coef", "bse", "reason"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    monkeypatch.undo()
    _, whole = refit(labels, features, products=products)
    np.testing.assert_allclose(one.lr, whole.lr, rtol=1e-9)
    np.testing.assert_allclose(one.wald, whole.wald, rtol=1e-9)


@pytest.mark.parametrize("kind", ["float32", "int64", "int8", "bool"])
def test_any_numeric_features_will_do(kind):
    labels, features = load_data("plain")
    coarse = (2 * features[["x1", "x2", "x3"]]).round()
    values = (coarse > 0 if kind == "bool" else coarse).to_numpy()
    _, expected = refit(labels, values.astype(float))
    for container in (np.asarray, np.asfortranarray, sparse.csr_array):
        _, found = refit(labels, container(values.astype(kind)))
        np.testing.assert_allclose(found.lr, expected.lr, rtol=1e-9)
        np.testing.assert_allclose(found.wald, expected.wald, rtol=1e-9)


def test_no_output_where_nobody_watches(capfd):
    labels, features = load_data("rare")
    refit(labels, features)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_firth_has_no_refits():
    labels, features = load_data("separated")
    with pytest.raises(im.exceptions.ModelError, match="'mle' or method='ridge'"):
        refit(labels, features, fit={"method": "firth"})


def test_there_must_be_features():
    labels, _ = load_data("plain")
    with pytest.raises(im.exceptions.ModelError, match="no features"):
        refit(labels, None)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2"])
def test_jobs_are_a_number(n_jobs):
    labels, features = load_data("plain")
    with pytest.raises(im.exceptions.DataError, match="n_jobs must be"):
        refit(labels, features, n_jobs=n_jobs)


def test_models_that_do_not_converge_are_counted():
    labels, features = load_data("plain")
    res = im.IsingModel(labels, features).fit()
    # Null models that converged, and larger ones that are given a single step.
    hasty = replace(res._fit, settings=replace(res.settings, max_iter=1))
    with pytest.warns(im.exceptions.ConvergenceWarning, match="24 of 24 larger models"):
        found = refit_test(hasty, "lr")
    assert np.isfinite(found.statistic).all()


@pytest.mark.parametrize("products", [None, "joint"])
def test_real_features_have_the_supremum_of_the_likelihood(data_dir, products):
    """In scene no feature separates rows, but some blocks do."""
    data = im.datasets.load_mulan("scene", part="train", data_dir=data_dir)
    labels, features = data.labels, pd.DataFrame(np.asarray(data.features))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        res, found = refit(labels, features, products=products)
    assert (found.reason[:, labels.columns.get_loc("Sunset")] == "determined-label").all()
    ordinary = np.argwhere(found.reason == "ok")
    separated = np.argwhere(found.reason == "separated-alternative")
    assert len(separated) > 20 if products else not len(separated)
    for j, k in [*ordinary[::200], *separated[::5]]:
        x = ((features[j] - features[j].mean()) / features[j].std()).rename("x")
        label = labels.columns[k]
        added = block(labels, label, x) if products else x.to_frame()
        regressors = design(labels, label).join(added).to_numpy()
        gain = supremum(regressors, labels[label].to_numpy() == 1) - res.fits[k].llf
        assert found.lr[j, k] == pytest.approx(2 * gain, abs=1e-6)


def test_effects_are_those_of_statsmodels():
    data = im.datasets.load_example()
    names = ["age", "bmi", "smoker"]
    res = im.IsingModel(data.labels, data.features).fit()
    edges = res.wald_test(names)
    for label in ("diabetes", "asthma"):
        for name in names:
            others = data.labels.drop(columns=label).assign(const=1.0, feature=data.features[name])
            fit = sm.GLM(data.labels[label], others, family=sm.families.Binomial()).fit(tol=1e-12)
            coef, bse = edges.params.loc[name, label], edges.bse.loc[name, label]
            assert coef == pytest.approx(fit.params["feature"], rel=1e-8)
            assert bse == pytest.approx(fit.bse["feature"], rel=1e-6)
            limits = edges.conf_int(0.1).loc[(name, label)]
            np.testing.assert_allclose(limits, fit.conf_int(0.1).loc["feature"], rtol=1e-6)
            assert edges.loc[name, label].statistic == pytest.approx((coef / bse) ** 2)
    table = edges[["bmi"]].to_frame()
    assert list(table.columns[:4]) == ["feature", "label", "coef", "bse"]
    np.testing.assert_array_equal(table["coef"], edges["bmi"]["coef"])
    assert res.lr_test(names).params.equals(edges.params)
    assert "coef" in str(edges.summary())
    score = res.score_test(products="individual").to_frame()
    alone = score[score["with"] == ""].set_index(["feature", "label"])
    assert (alone.loc[[(name, "diabetes") for name in names], "sign"] == 1).all()
    assert score.loc[score["with"] != "", "sign"].isin([-1, 1]).all()
    assert res.score_test().params is None
    assert "coef" not in res.score_test().to_frame()
    assert res.lr_test(names, products="joint").params is None


def test_effects_of_edges_that_cannot_be_fitted_say_so():
    rng = np.random.default_rng(0)
    labels = rng.random((200, 2)) < 0.4
    features = pd.DataFrame({"same": 1.0, "splits": labels[:, 0] * 1.0, "plain": rng.random(200)})
    with pytest.warns(im.exceptions.IsingWarning):
        edges = im.IsingModel(labels, features).fit().lr_test()
    assert edges.params.loc["splits", "y1"] == np.inf
    assert edges.reasons.loc["splits", "y1"] == "separated-alternative"
    assert edges.params.loc["same"].isna().all()
    assert (edges.reasons.loc["same"] == "constant-feature").all()
    assert np.isfinite(edges.bse.loc["plain"]).all()


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_a_level_without_the_label_separates_its_term():
    # Two levels never have the label; rounding of the gradient hides that the fit goes on.
    frame = pd.DataFrame({"y": [1, 0, 0, 0], "level": ["a", "a", "c", "b"]})
    res = im.IsingModel.from_formula("y ~ C(level)", frame).fit()
    for test in (res.wald_test, res.lr_test):
        edges = test(by="term", min_count=0)
        assert edges.reasons.loc["C(level)", "y"] == "separated-alternative"
    # In the limit the rows of the first level alone are uncertain, half of them with the label.
    limit = 2 * (4 * np.log(4) - 3 * np.log(3) - 2 * np.log(2))
    assert edges.statistics.loc["C(level)", "y"] == pytest.approx(limit, rel=1e-6)


def test_a_likelihood_ratio_has_its_digits_where_rows_are_all_but_certain():
    labels = np.array([[0, 1, 1]] * 5 + [[1, 0, 0], [0, 0, 1]])
    feature = np.array([1.25, -0.73, 0.81, 1.29, -1.22, 0.67, 0.22])
    weights = np.array([1.0, 1.0, 1.0, 1e11, 1.0, 1.0, 1.0])
    _, tests = refit(
        labels, feature[:, None], freq_weights=weights, fit={"method": "ridge", "penalty": 0.1}
    )
    penalty = np.array([0.0, 0.1, 0.1, 0.0])
    for label in range(3):
        others = np.delete(labels, label, axis=1)
        design = np.column_stack([np.ones(len(labels)), others, feature])
        outcome = labels[:, label] > 0
        null = fit_rows(design[:, :-1], outcome, weights, penalty[:-1])
        larger = fit_rows(design, outcome, weights, penalty)
        assert tests.lr[0, label] == pytest.approx(2 * (larger.value - null.value), rel=1e-10)


def test_rows_that_a_copy_of_a_label_tells_apart_by_little_are_settled():
    # A feature that is all but the first label: in the rows that have it, it tells the second.
    labels = np.zeros((28, 2), dtype=int)
    labels[[3, 7, 8], 0] = labels[[1, 3, 15, 16, 26], 1] = 1
    beside = [93, -189, 1131, -1531, 282, 647, 496, -21, -1513, -79, -2310, 44, -64, -49, -439]
    beside += [-772, -633, 25, 1830, -31, 75, 150, 1238, 144, -173, 1153, 172, -270]
    feature = labels[:, 0] + 1e-6 * np.array(beside)
    res = im.IsingModel(labels, feature[:, None]).fit()
    found = res.lr_test(products="joint", min_count=0).arrays.statistic[0, 1]
    # What is left is a model of the rows without the label.
    rest = labels[:, 0] == 0
    design = sm.add_constant(1e3 * feature[rest, None])
    left = sm.Logit(labels[rest, 1], design).fit(disp=False).llf
    assert found == pytest.approx(2 * (left - res.fits[1].llf), rel=1e-7)
