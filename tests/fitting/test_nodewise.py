"""Nodewise fits against R, statsmodels and scikit-learn, and by hand."""

import warnings

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_data
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import isingmlc as im

SEPARATION = "ignore::isingmlc.exceptions.SeparationWarning"


def table(penalty=None, intercept=True, **counts):
    """Fit a model to labelsets with counts from keywords like ``_010=4``."""
    patterns = np.array([[int(c) for c in name[1:]] for name in counts])
    model = im.IsingModel(patterns, freq_weights=list(counts.values()), intercept=intercept)
    return model.fit(penalty=penalty)


def simulated(seed=0, n=300, n_labels=5):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, 1))
    return pd.DataFrame(
        (rng.normal(size=(n, n_labels)) + factor > 0.6).astype(int),
        columns=[f"y{k + 1}" for k in range(n_labels)],
    )


def full_glm(labels, name, intercept=True):
    """Fit one label on the rows with statsmodels, iterated until nothing moves."""
    others = labels.drop(columns=name).astype(float)
    design = sm.add_constant(others, has_constant="add") if intercept else others
    return sm.GLM(labels[name], design, family=sm.families.Binomial()).fit(tol=0, maxiter=15)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["plain", "rare"])
def test_fits_agree_with_r(name, intercept):
    labels, _ = load_data(name)
    res = im.IsingModel(labels, intercept=intercept).fit()
    reference = load(name, "nodes").query("intercept == @intercept").replace("(Intercept)", "const")
    assert len(reference) == res.params.notna().to_numpy().sum()
    found = pd.DataFrame(
        {
            "estimate": [res.params.loc[t, k] for k, t in reference[["label", "term"]].to_numpy()],
            "se": [res.bse.loc[t, k] for k, t in reference[["label", "term"]].to_numpy()],
            "loglik": [res.nodes[k].llf for k in reference["label"]],
        }
    )
    np.testing.assert_allclose(found["estimate"], reference["estimate"], rtol=1e-8)
    np.testing.assert_allclose(found["loglik"], reference["loglik"], rtol=1e-8)
    # R takes standard errors from the weights of the last step but one: they lag by up to 2e-8
    # here, as statsmodels' fully iterated ones show in the next test.
    np.testing.assert_allclose(found["se"], reference["se"], rtol=2e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["plain", "rare"])
def test_fits_agree_with_statsmodels_on_the_rows(name, intercept):
    labels, _ = load_data(name)
    res = im.IsingModel(labels, intercept=intercept).fit()
    for label in labels:
        glm = full_glm(labels, label, intercept)
        np.testing.assert_allclose(res.params[label][glm.params.index], glm.params, rtol=1e-8)
        np.testing.assert_allclose(res.bse[label][glm.params.index], glm.bse, rtol=1e-8)
        assert res.nodes[label].llf == pytest.approx(glm.llf, rel=1e-10)
        np.testing.assert_allclose(res.predict()[label], glm.fittedvalues, rtol=1e-8)


@pytest.mark.filterwarnings(SEPARATION)
def test_the_limit_of_separated_labels_agrees_with_a_fit_of_the_rest():
    """In `separated` y3 and y4 never meet and every row has a label."""
    labels, _ = load_data("separated")
    res = im.IsingModel(labels).fit()
    assert res.params.loc["y3", "y4"] == res.params.loc["y4", "y3"] == -np.inf
    # Among rows without y4 the model of y3 has (1, y1, y2). Every row has a label, so 00 occurs
    # with y3 = 1 only; but 10, 01 and 11 occur with both outcomes and span the three columns, so
    # no direction can settle it.
    rest = labels[labels.y4 == 0]
    assert res.diagnostics.loc["y3", "rows"] == len(rest)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        glm = full_glm(rest.drop(columns="y4"), "y3")
    fitted = res.predict()["y3"]
    np.testing.assert_allclose(fitted[rest.index], glm.fittedvalues, rtol=1e-8)
    settled = fitted.drop(rest.index)
    np.testing.assert_array_equal(settled, labels["y3"].drop(rest.index))
    assert res.nodes["y3"].llf == pytest.approx(glm.llf, rel=1e-10)


def test_firth_agrees_with_brglm2():
    labels, _ = load_data("separated")
    res = im.IsingModel(labels).fit(penalty="firth")
    reference = load("separated", "firth").replace("(Intercept)", "const")
    for row in reference.itertuples():
        assert res.params.loc[row.term, row.label] == pytest.approx(row.estimate, rel=1e-8)
        assert res.bse.loc[row.term, row.label] == pytest.approx(row.se, rel=1e-8)
    logliks = reference.groupby("label")["loglik"].first()
    assert res.llf == pytest.approx(logliks.sum(), rel=1e-10)


def test_firth_of_one_constant_is_the_known_shrinkage():
    # One label alone: Jeffreys' prior adds half a row of each outcome, p = (n1 + 1/2) / (n + 1).
    res = table("firth", _0=20, _1=3)
    assert res.thresholds.iloc[0] == pytest.approx(logit(3.5 / 24), rel=1e-12)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("name", ["plain", "separated"])
def test_ridge_agrees_with_scikit_learn_on_the_rows(name, penalty):
    labels, _ = load_data(name)
    res = im.IsingModel(labels).fit(penalty=penalty)
    for label in labels:
        others = labels.drop(columns=label)
        logistic = LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=10_000)
        logistic.fit(others, labels[label])
        np.testing.assert_allclose(
            res.params.loc[others.columns, label], logistic.coef_[0], atol=1e-6
        )
        assert res.params.loc["const", label] == pytest.approx(logistic.intercept_[0], abs=1e-6)


def test_weights_count_rows():
    labels = simulated()
    weights = np.random.default_rng(1).integers(0, 4, len(labels))
    weighted = im.IsingModel(labels, freq_weights=weights).fit()
    repeated = im.IsingModel(labels.loc[labels.index.repeat(weights)]).fit()
    np.testing.assert_allclose(weighted.params, repeated.params, rtol=1e-10)
    np.testing.assert_allclose(weighted.bse, repeated.bse, rtol=1e-10)
    assert weighted.llf == pytest.approx(repeated.llf)
    assert weighted.nobs == repeated.nobs == weights.sum()


# Cases whose right answer is derived by hand


@pytest.mark.parametrize("times", [1, 1e8])
def test_two_labels_have_the_log_odds_ratio(times):
    # 2×2 table 30 10 / 20 40: threshold logit(20/50), interaction log(30·40 / (10·20)).
    res = table(_00=30 * times, _01=10 * times, _10=20 * times, _11=40 * times)
    assert res.converged
    assert res.params.loc["y2", "y1"] == pytest.approx(np.log(6), rel=1e-10)
    assert res.params.loc["y1", "y2"] == pytest.approx(np.log(6), rel=1e-10)
    assert res.thresholds["y1"] == pytest.approx(np.log(20 / 30), rel=1e-10)
    # The variance of a log odds ratio is the sum of the reciprocal counts.
    expected = np.sqrt((1 / 30 + 1 / 10 + 1 / 20 + 1 / 40) / times)
    assert res.bse.loc["y2", "y1"] == pytest.approx(expected, rel=1e-10)


@pytest.mark.filterwarnings(SEPARATION)
def test_a_pair_that_never_meets_has_an_interaction_of_minus_infinity():
    # y1 and y2 never meet, so given y2 = 1 the label y1 is certainly 0; given y2 = 0 it is a
    # coin with 20 of 50: threshold logit(20/50), one free parameter, variance 1/20 + 1/30.
    res = table(_00=30, _01=10, _10=20)
    assert res.params.loc["y2", "y1"] == res.params.loc["y1", "y2"] == -np.inf
    assert np.isnan(res.bse.loc["y2", "y1"])
    assert res.thresholds["y1"] == pytest.approx(np.log(20 / 30), rel=1e-12)
    assert res.bse.loc["const", "y1"] == pytest.approx(np.sqrt(1 / 20 + 1 / 30), rel=1e-12)
    np.testing.assert_allclose(res.predict()["y1"], [0.4, 0.0, 0.4], rtol=1e-12)
    of_coins = 20 * np.log(0.4) + 30 * np.log(0.6) + 10 * np.log(0.25) + 30 * np.log(0.75)
    assert res.llf == pytest.approx(of_coins, rel=1e-12)


@pytest.mark.filterwarnings(SEPARATION)
def test_a_label_that_means_no_other_is_determined():
    # y3 is 1 exactly when y1 and y2 are 0: its model fits perfectly, threshold +inf, both
    # interactions -inf, nothing uncertain.
    res = table(_001=9, _010=7, _100=5, _110=3)
    assert res.params.loc[["const", "y1", "y2"], "y3"].tolist() == [np.inf, -np.inf, -np.inf]
    assert res.diagnostics.loc["y3", "reason"] == "determined-label"
    np.testing.assert_array_equal(res.predict()["y3"], [1, 0, 0, 0])
    # The other models lose the rows with y3 (there y1 is certainly 0) and keep the rest: among
    # 010, 100, 110 the label y1 is certainly 1 without y2, and 3 of 10 with it.
    np.testing.assert_allclose(res.predict()["y1"], [0.0, 0.3, 1.0, 0.3], rtol=1e-12)


def test_a_constant_label_is_certain_and_does_not_disturb_the_others():
    labels = simulated(n_labels=3)
    plain = im.IsingModel(labels).fit()
    for value in (0, 1):
        with pytest.warns(im.exceptions.DataWarning, match="'same' are the same in every row"):
            model = im.IsingModel(labels.assign(same=value))
        res = model.fit()
        assert res.diagnostics.loc["same", "reason"] == "constant-label"
        assert res.params.loc["const", "same"] == (np.inf if value else -np.inf)
        assert res.params.loc["same", labels.columns].isna().all()
        np.testing.assert_allclose(
            res.params.loc[plain.params.index, labels.columns], plain.params, rtol=1e-10
        )
        assert res.llf == pytest.approx(plain.llf)


def test_ridge_leaves_a_constant_label_constant():
    labels = simulated(n_labels=3).assign(same=0)
    with pytest.warns(im.exceptions.DataWarning):
        res = im.IsingModel(labels).fit(penalty=1.0)
    assert res.params.loc["const", "same"] == -np.inf
    assert (res.predict()["same"] == 0).all()
    assert res.params.loc["same", "y1"] == 0


def test_a_duplicate_label_is_aliased_and_changes_no_probability():
    # `copy` equals y1. In the models of y2 and y3 it is dropped, being the later one; in the
    # models of y1 and `copy` each determines the other.
    labels = simulated(n_labels=3)
    plain = im.IsingModel(labels).fit()
    with pytest.warns() as caught:
        res = im.IsingModel(labels.assign(copy=labels.y1)).fit()
    kinds = {warning.category for warning in caught}
    assert kinds == {im.exceptions.AliasingWarning, im.exceptions.SeparationWarning}
    assert res.params.loc["copy", ["y2", "y3"]].isna().all()
    np.testing.assert_allclose(
        res.params.loc[plain.params.index, ["y2", "y3"]], plain.params[["y2", "y3"]], rtol=1e-10
    )
    np.testing.assert_allclose(res.predict()[["y2", "y3"]], plain.predict()[["y2", "y3"]])
    assert list(res.diagnostics["aliased_with"]) == ["copy", "", "", "y1"]
    assert list(res.diagnostics["determined"]) == [True, False, False, True]


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_a_label_that_is_the_sum_of_two_others_is_aliased():
    # y1 and y2 never meet and y3 = y1 + y2.
    res = table(_0000=9, _1010=5, _0110=6, _0001=4, _1011=3, _0111=8)
    # Three groups of rows, each with its own share of the last label; y3 is dropped.
    expected = [4 / 13, 3 / 8, 8 / 14, 4 / 13, 3 / 8, 8 / 14]
    np.testing.assert_allclose(res.predict()["y4"], expected)
    assert np.isnan(res.params.loc["y3", "y4"])
    assert res.params.loc["y1", "y4"] == pytest.approx(logit(3 / 8) - logit(4 / 13), rel=1e-10)


@pytest.mark.filterwarnings(SEPARATION)
def test_no_intercept_and_no_label_is_a_fair_coin():
    # Without a threshold a row with no other label has log-odds 0 whatever the data.
    res = table(intercept=False, _00=30, _01=10, _10=20)
    np.testing.assert_array_equal(res.predict()["y1"], [0.5, 0.0, 0.5])


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_unseen_label_vectors_are_predicted_by_the_limit_or_not_at_all():
    # y3 never meets y1, so a vector with y3 has P(y1) = 0, also where it was not seen (111).
    res = table(_000=8, _010=5, _100=6, _110=9, _001=4, _011=2)
    assert res.predict([[1, 1, 1]])["y1"].tolist() == [0.0]
    # y2 and y3 always come together: what y2 alone does to y1 is not identified.
    res = table(_000=8, _100=6, _011=5, _111=9)
    vectors = [[0, 1, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]]
    np.testing.assert_allclose(res.predict(vectors)["y1"], [9 / 14, 6 / 14, np.nan, np.nan])


def test_probabilities_that_no_data_identify_are_nan_with_a_warning():
    # y2 and y3 always come together.
    labels = np.repeat([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]], 20, axis=0)
    with pytest.warns((im.exceptions.AliasingWarning, im.exceptions.SeparationWarning)):
        res = im.IsingModel(labels).fit()
    with pytest.warns(im.exceptions.SeparationWarning, match="1 row.*do not identify.*'y1'"):
        predicted = res.predict([[0, 1, 0], [0, 1, 1]])
    assert np.isnan(predicted.loc[0, "y1"])
    assert predicted.loc[1, "y1"] == pytest.approx(0.5)


small = st.integers(2, 4).flatmap(
    lambda n_labels: hnp.arrays(np.bool_, st.tuples(st.integers(4, 40), st.just(n_labels)))
)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@given(small)
@settings(max_examples=25, deadline=None)
def test_a_vanishing_ridge_penalty_gives_the_limit(labels):
    """The exact limit against the path that leads to it, and the equations at the maximum."""
    assume(((labels.min(axis=0) == 0) & (labels.max(axis=0) == 1)).all())
    model = im.IsingModel(labels.astype(int))
    limit = model.fit().predict().to_numpy()
    nearly = model.fit(penalty=1e-7, max_iter=500).predict()
    np.testing.assert_allclose(nearly, limit, atol=1e-3)
    # Expected and observed co-occurrences are the same.
    residual = labels - limit
    np.testing.assert_allclose(labels.T @ residual * (1 - np.eye(labels.shape[1])), 0, atol=1e-7)


def test_a_fit_that_runs_out_of_steps_says_so():
    labels = simulated()
    with pytest.warns(im.exceptions.ConvergenceWarning, match="Raise max_iter"):
        res = im.IsingModel(labels).fit(max_iter=1)
    assert not res.converged
    assert "did not converge" in str(res.summary())


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("order", ["ABE", "EBA", "AEB", "BEA"])
def test_infinite_coefficients_are_those_of_labels_that_are_not_aliased(order):
    # E is 1 − A, and B never meets A: given the others, B is certain where A is 1.
    rows = [[1, 0, 0]] * 20 + [[0, 1, 1]] * 10 + [[0, 0, 1]] * 15
    labels = pd.DataFrame(rows, columns=list("ABE"))[list(order)]
    res = im.IsingModel(labels).fit()
    coef = res.params["B"].drop("B")
    last = max("AE", key=order.index)
    assert np.isnan(coef[last])
    # The limit of the log-odds, as coefficients of size 50 approach it, is that of the fit.
    finite = coef.fillna(0).replace([np.inf, -np.inf], [50, -50])
    eta = finite["const"] + labels.drop(columns="B") @ finite.drop("const")
    certain = labels["A"] == 1
    assert (eta[certain] < -40).all()
    if np.isfinite(coef["const"]):
        np.testing.assert_allclose(expit(eta[~certain]), 0.4)
    np.testing.assert_allclose(res.predict(labels)["B"], np.where(certain, 0.0, 0.4))


@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
def test_threads_do_not_change_a_fit(penalty, monkeypatch):
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 2**10)  # several blocks of labels
    data = im.datasets.make_network_data(400, n_labels=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = im.IsingModel(data.labels).fit(penalty=penalty)
        together = im.IsingModel(data.labels).fit(penalty=penalty, n_jobs=3)
    pd.testing.assert_frame_equal(alone.params, together.params)
    pd.testing.assert_frame_equal(alone.bse, together.bse)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_splines_whose_columns_nearly_vanish_are_decided():
    # Near its knots a spline has entries so small that a direction that settles their rows by a
    # margin of one is too long for a solver to tell what it does to others.
    rng = np.random.default_rng(5)
    age = rng.normal(60, 12, 2000).clip(18, 95)
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 2000)})
    for label, base in (("common", -0.2), ("rare", -4.8), ("rarer", -5.3)):
        chance = 1 / (1 + np.exp(-(base + 0.04 * (age - 60))))
        frame[label] = (rng.random(2000) < chance).astype(int)
    formula = "common + rare + rarer ~ 1"
    res = im.IsingModel.from_formula(formula, frame, covariates="bs(age, df=4) + C(sex)").fit()
    assert res.at({"age": 70}).label_names == ("common", "rare", "rarer")


def test_pseudo_r2_without_an_intercept_is_against_a_probability_of_one_half():
    rng = np.random.default_rng(3)
    labels = pd.DataFrame((rng.random((400, 3)) < [0.3, 0.5, 0.6]).astype(int), columns=list("abc"))
    found = im.IsingModel(labels, intercept=False).fit().diagnostics["pseudo_r2"]
    for label in labels:
        others = labels.drop(columns=label).astype(float)
        own = sm.GLM(labels[label], others, family=sm.families.Binomial()).fit()
        assert found[label] == pytest.approx(1 - own.llf / (400 * np.log(0.5)), rel=1e-8)
