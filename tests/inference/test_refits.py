"""Likelihood-ratio and Wald statistics against R, statsmodels and hand, and their limits."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, log_expit

import isingmlc as im

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
    """Return a feature and its products with the other labels."""
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


def test_a_copy_of_the_label_has_an_infinite_coefficient():
    labels = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], [2, 2, 1, 2], axis=0)
    res, found = refit(labels, labels[:, [0]])
    assert found.coef[0, 0] == np.inf
    assert np.isnan([found.bse[0, 0], found.wald[0, 0]]).all()
    assert found.reason[0, 0] == "separated-alternative"
    assert found.lr[0, 0] == pytest.approx(-2 * res.fits[0].llf, rel=1e-12)


def test_a_separated_category_is_told():
    """Levels b and c occur with y = 0 alone; what is left is one row of each kind at level a."""
    frame = pd.DataFrame({"y": [1, 0, 0, 0], "level": ["a", "c", "a", "b"]})
    res = im.IsingModel.from_formula("y ~ C(level)", frame).fit()
    edges = res.lr_test(unit="term", min_count=0)
    assert edges.reasons.loc["C(level)", "y"] == "separated-alternative"
    assert edges.df.loc["C(level)", "y"] == 2
    gain = 2 * np.log(0.5) - res.fits[0].llf
    assert edges.statistics.loc["C(level)", "y"] == pytest.approx(2 * gain, rel=1e-9)


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


@pytest.mark.parametrize("products", [None, "joint"])
def test_ridge_refits_maximise_the_penalised_likelihood(products):
    labels, features = load_data("separated")
    features = features - features.mean()
    fit = {"penalty": 2.5}
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


def test_firth_has_no_refits():
    labels, features = load_data("separated")
    with pytest.raises(im.exceptions.ModelError, match="a ridge penalty or none"):
        refit(labels, features, fit={"penalty": "firth"})


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
        edges = test(unit="term", min_count=0)
        assert edges.reasons.loc["C(level)", "y"] == "separated-alternative"
    # In the limit the rows of the first level alone are uncertain, half of them with the label.
    limit = 2 * (4 * np.log(4) - 3 * np.log(3) - 2 * np.log(2))
    assert edges.statistics.loc["C(level)", "y"] == pytest.approx(limit, rel=1e-6)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_only_tests_with_limits_say_that_some_are():
    rng = np.random.default_rng(2)
    labels = pd.DataFrame(rng.integers(0, 2, (300, 2)), columns=["a", "b"])
    features = pd.DataFrame({"plain": rng.normal(size=300)})
    features["separating"] = np.where(labels["a"] == 1, 1.0, -1.0) * rng.uniform(1, 2, 300)
    res = im.IsingModel(labels, features).fit()
    assert "limits" in res.lr_test().summary().as_text()
    assert "limits" not in res.lr_test(features="plain").summary().as_text()


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_firth_counts_the_rarer_value_of_a_label():
    rng = np.random.default_rng(4)
    labels = pd.DataFrame({"mostly": np.arange(200) > 2, "even": rng.random(200) < 0.5}).astype(int)
    res = im.IsingModel(labels, rng.normal(size=(200, 1))).fit()
    assert res.lr_test(penalty="firth", min_count=3).reasons["mostly"].tolist() == ["ok"]
    assert res.lr_test(penalty="firth", min_count=4).reasons["mostly"].tolist() == ["too-rare"]
