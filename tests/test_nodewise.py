"""Nodewise fits against R, statsmodels and scikit-learn, and by hand."""

import warnings
from dataclasses import replace

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import isingmlc as im
from isingmlc.fitting.nodewise import FitSettings, find_aliases, fit_nodes
from isingmlc.fitting.regressors import Regressors

SEPARATION = "ignore::isingmlc.exceptions.SeparationWarning"


def table(**counts):
    """Make labelsets and counts from keywords like ``_010=4``."""
    patterns = np.array([[int(c) for c in name[1:]] for name in counts], dtype=bool)
    return patterns, np.array(list(counts.values()), dtype=float)


def with_constant(patterns):
    """Write label vectors as rows of a model without covariates."""
    return np.column_stack([np.ones(len(patterns)), patterns])


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
            "loglik": [res.fits[labels.columns.get_loc(k)].llf for k in reference["label"]],
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
    for k, label in enumerate(labels):
        glm = full_glm(labels, label, intercept)
        np.testing.assert_allclose(res.params[label][glm.params.index], glm.params, rtol=1e-8)
        np.testing.assert_allclose(res.bse[label][glm.params.index], glm.bse, rtol=1e-8)
        assert res.fits[k].llf == pytest.approx(glm.llf, rel=1e-10)
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
    assert res.fits[2].llf == pytest.approx(glm.llf, rel=1e-10)


def test_firth_agrees_with_brglm2():
    labels, _ = load_data("separated")
    res = im.IsingModel(labels).fit(method="firth")
    reference = load("separated", "firth").replace("(Intercept)", "const")
    for row in reference.itertuples():
        assert res.params.loc[row.term, row.label] == pytest.approx(row.estimate, rel=1e-8)
        assert res.bse.loc[row.term, row.label] == pytest.approx(row.se, rel=1e-8)
        k = labels.columns.get_loc(row.label)
        assert res.fits[k].llf == pytest.approx(row.loglik, rel=1e-10)


def test_firth_of_one_constant_is_the_known_shrinkage():
    # One label alone: Jeffreys' prior adds half a row of each outcome, p = (n1 + 1/2) / (n + 1).
    patterns, counts = table(_0=20, _1=3)
    (fit,) = fit_nodes(patterns, counts, FitSettings("firth"))
    assert fit.coef[0] == pytest.approx(logit(3.5 / 24), rel=1e-12)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("name", ["plain", "separated"])
def test_ridge_agrees_with_scikit_learn_on_the_rows(name, penalty):
    labels, _ = load_data(name)
    res = im.IsingModel(labels).fit(method="ridge", penalty=penalty)
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


def test_two_labels_have_the_log_odds_ratio():
    # 2×2 table 30 10 / 20 40: threshold logit(20/50), interaction log(30·40 / (10·20)).
    patterns, counts = table(_00=30, _01=10, _10=20, _11=40)
    first, second = fit_nodes(patterns, counts, FitSettings())
    assert first.coef[2] == pytest.approx(np.log(6), rel=1e-10)
    assert second.coef[1] == pytest.approx(np.log(6), rel=1e-10)
    assert first.coef[0] == pytest.approx(np.log(20 / 30), rel=1e-10)
    # The variance of a log odds ratio is the sum of the reciprocal counts.
    errors = im.IsingModel(patterns, freq_weights=counts).fit().bse["y1"]
    assert errors["y2"] == pytest.approx(np.sqrt(1 / 30 + 1 / 10 + 1 / 20 + 1 / 40), rel=1e-10)


@pytest.mark.filterwarnings(SEPARATION)
def test_a_pair_that_never_meets_has_an_interaction_of_minus_infinity():
    # y1 and y2 never meet, so given y2 = 1 the label y1 is certainly 0; given y2 = 0 it is a
    # coin with 20 of 50: threshold logit(20/50), one free parameter, variance 1/20 + 1/30.
    patterns, counts = table(_00=30, _01=10, _10=20)
    first, second = fit_nodes(patterns, counts, FitSettings())
    assert first.coef[2] == second.coef[1] == -np.inf
    errors = im.IsingModel(patterns, freq_weights=counts).fit().bse["y1"]
    assert np.isnan(errors["y2"])
    assert first.coef[0] == pytest.approx(np.log(20 / 30), rel=1e-12)
    assert errors["const"] == pytest.approx(np.sqrt(1 / 20 + 1 / 30), rel=1e-12)
    np.testing.assert_array_equal(first.in_play, [True, False, True])
    np.testing.assert_allclose(first.probability, [0.4, 0.0, 0.4], rtol=1e-12)
    assert first.llf == pytest.approx(20 * np.log(0.4) + 30 * np.log(0.6), rel=1e-12)


def test_a_label_that_means_no_other_is_determined():
    # y3 is 1 exactly when y1 and y2 are 0: its model fits perfectly, threshold +inf, both
    # interactions -inf, log-likelihood 0, nothing in play.
    patterns, counts = table(_001=9, _010=7, _100=5, _110=3)
    third = fit_nodes(patterns, counts, FitSettings())[2]
    np.testing.assert_array_equal(third.coef[:3], [np.inf, -np.inf, -np.inf])
    assert not third.in_play.any()
    assert third.llf == 0
    np.testing.assert_array_equal(third.probability, [1, 0, 0, 0])
    # The other models lose the rows with y3 (there y1 is certainly 0) and keep the rest: among
    # 010, 100, 110 the label y1 is certainly 1 without y2, and 3 of 10 with it.
    first = fit_nodes(patterns, counts, FitSettings())[0]
    np.testing.assert_array_equal(first.in_play, [False, True, False, True])
    np.testing.assert_allclose(first.probability[[1, 3]], 0.3, rtol=1e-12)


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
        res = im.IsingModel(labels).fit(method="ridge")
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


def test_a_label_that_is_the_sum_of_two_others_is_aliased():
    # y1 and y2 never meet and s = y1 + y2.
    patterns, counts = table(_0000=9, _1010=5, _0110=6, _0001=4, _1011=3, _0111=8)
    regressors = Regressors.of(patterns, np.ones(len(patterns)))
    assert find_aliases(regressors, intercept=True) == ((1, 2), (0, 2), (0, 1), ())
    last = fit_nodes(patterns, counts, FitSettings())[3]
    # Three groups of rows, each with its own share of the last label; s is dropped.
    np.testing.assert_allclose(last.probability, [4 / 13, 3 / 8, 8 / 14, 4 / 13, 3 / 8, 8 / 14])
    assert np.isnan(last.coef[3])
    assert last.coef[1] == pytest.approx(logit(3 / 8) - logit(4 / 13), rel=1e-10)


def test_no_intercept_and_no_label_is_a_fair_coin():
    # Without a threshold a row with no other label has log-odds 0 whatever the data.
    patterns, counts = table(_00=30, _01=10, _10=20)
    first, _ = fit_nodes(patterns, counts, FitSettings(intercept=False))
    np.testing.assert_array_equal(first.probability, [0.5, 0.0, 0.5])
    assert first.llf == pytest.approx(50 * np.log(0.5))


def test_unseen_label_vectors_are_predicted_by_the_limit_or_not_at_all():
    # y3 never meets y1, so a vector with y3 has P(y1) = 0, also where it was not seen (111).
    patterns, counts = table(_000=8, _010=5, _100=6, _110=9, _001=4, _011=2)
    first = fit_nodes(patterns, counts, FitSettings())[0]
    np.testing.assert_allclose(first.predict(with_constant(patterns)), first.probability)
    assert first.predict(with_constant(np.array([[True, True, True]]))) == [0.0]
    # y2 and y3 always come together: what y2 alone does to y1 is not identified.
    patterns, counts = table(_000=8, _100=6, _011=5, _111=9)
    first = fit_nodes(patterns, counts, FitSettings())[0]
    assert np.isnan(first.coef[3])
    vectors = np.array([[0, 1, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=bool)
    np.testing.assert_allclose(
        first.predict(with_constant(vectors)), [9 / 14, 6 / 14, np.nan, np.nan]
    )


def test_probabilities_that_no_data_identify_are_nan_with_a_warning():
    # y2 and y3 always come together.
    labels = np.repeat([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]], 20, axis=0)
    with pytest.warns((im.exceptions.AliasingWarning, im.exceptions.SeparationWarning)):
        res = im.IsingModel(labels).fit()
    with pytest.warns(im.exceptions.SeparationWarning, match="1 row.*do not identify.*'y1'"):
        predicted = res.predict([[0, 1, 0], [0, 1, 1]])
    assert np.isnan(predicted.loc[0, "y1"])
    assert predicted.loc[1, "y1"] == pytest.approx(0.5)


# What must hold for all data


small = st.integers(2, 4).flatmap(
    lambda n_labels: hnp.arrays(np.bool_, st.tuples(st.integers(4, 40), st.just(n_labels)))
)


@given(small, st.randoms(use_true_random=False), st.sampled_from(["mle", "ridge", "firth"]))
@settings(max_examples=60, deadline=None)
def test_permuting_labels_permutes_the_fit(labels, random, method):
    order = list(range(labels.shape[1]))
    random.shuffle(order)
    setting = FitSettings(method)
    tables = []
    for columns in (list(range(len(order))), order):
        patterns, counts = np.unique(labels[:, columns], axis=0, return_counts=True)
        tables.append((patterns, fit_nodes(patterns, counts.astype(float), setting)))
    (patterns, plain), (_, permuted) = tables
    for position, column in enumerate(order):
        mine, theirs = plain[column], permuted[position]
        assert mine.llf == pytest.approx(theirs.llf, abs=1e-9)
        np.testing.assert_allclose(
            theirs.predict(with_constant(patterns[:, order])),
            mine.predict(with_constant(patterns)),
            atol=1e-9,
        )


@given(small)
@settings(max_examples=60, deadline=None)
def test_fitted_probabilities_reproduce_the_counts(labels):
    """At the maximum (or its limit) expected and observed co-occurrences are the same."""
    patterns, counts = np.unique(labels, axis=0, return_counts=True)
    for fit in fit_nodes(patterns, counts.astype(float), FitSettings()):
        design = np.column_stack([np.ones(len(patterns)), np.delete(patterns, fit.label, axis=1)])
        residual = counts * (patterns[:, fit.label] - fit.probability)
        np.testing.assert_allclose(design.T @ residual, 0, atol=1e-7)


@given(small)
@settings(max_examples=40, deadline=None)
def test_a_vanishing_ridge_penalty_gives_the_limit(labels):
    """The exact limit against the path that leads to it."""
    patterns, counts = np.unique(labels, axis=0, return_counts=True)
    counts = counts.astype(float)
    limit = fit_nodes(patterns, counts, FitSettings())
    nearly = fit_nodes(patterns, counts, FitSettings("ridge", penalty=1e-7, max_iter=500))
    for exact, ridge in zip(limit, nearly, strict=True):
        np.testing.assert_allclose(ridge.probability, exact.probability, atol=1e-3)


def test_a_fit_that_runs_out_of_steps_says_so():
    labels = simulated()
    with pytest.warns(im.exceptions.ConvergenceWarning, match="Raise max_iter"):
        res = im.IsingModel(labels).fit(max_iter=1)
    assert not res.converged
    assert "did not converge" in str(res.summary())


def test_a_weight_that_is_as_good_as_none_is_none():
    patterns, counts = table(_00=3, _01=2, _10=2, _11=1)
    fit = fit_nodes(patterns, counts, FitSettings())[0]
    tiny = np.array([1e-313, 1e-200, 1e-100, 0.5])
    weight = replace(fit, probability=tiny, complement=1 - tiny).weight
    np.testing.assert_array_equal(weight, [0.0, 0.0, 1e-100, 0.25])


def test_large_counts_converge():
    patterns, counts = table(_00=3e9, _01=1e9, _10=2e9, _11=4e9)
    first, _ = fit_nodes(patterns, counts, FitSettings())
    assert first.converged
    assert first.coef[2] == pytest.approx(np.log(6), rel=1e-10)
    np.testing.assert_allclose(first.probability[0], expit(np.log(2 / 3)), rtol=1e-12)


def test_weights_of_very_different_sizes_converge():
    rng = np.random.default_rng(0)
    for _ in range(40):
        patterns = np.unique(rng.random((rng.integers(6, 40), 4)) < 0.5, axis=0)
        counts = 10.0 ** rng.uniform(-6, 8, len(patterns))
        for fit in fit_nodes(patterns, counts, FitSettings("ridge")):
            assert fit.converged


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


@pytest.mark.parametrize("method", ["mle", "ridge", "firth"])
def test_threads_do_not_change_a_fit(method, monkeypatch):
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 2**10)  # several blocks of labels
    data = im.datasets.make_network_data(400, n_labels=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = im.IsingModel(data.labels).fit(method)
        together = im.IsingModel(data.labels).fit(method, n_jobs=3)
    pd.testing.assert_frame_equal(alone.params, together.params)
    pd.testing.assert_frame_equal(alone.bse, together.bse)


def test_bad_numbers_of_threads_are_refused():
    with pytest.raises(im.exceptions.DataError, match="n_jobs"):
        im.IsingModel(im.datasets.load_example().labels).fit(n_jobs=0)


def test_rows_of_next_to_no_weight_are_fitted_as_others_are():
    patterns, counts = table(
        _000=1e-11, _001=1e4, _010=1e-12, _011=1e4, _100=1e-12, _101=1, _110=1e-12, _111=0.2
    )
    first = fit_nodes(patterns, counts, FitSettings())[0]
    assert first.converged
    # At a maximum as many have the label as are expected, among these rows as among the others. A
    # billionth of a standard error, the rule for the end, is a thousandth of so little.
    residual = counts * (patterns[:, 0] - first.probability)
    light = ~patterns[:, 2]
    assert abs(residual[light].sum()) < 1e-3 * counts[light].sum()
    assert abs(residual[~light].sum()) < 1e-6 * counts[patterns[:, 0]].sum()
