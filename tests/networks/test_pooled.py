"""Fits and tests of imputed data sets, pooled."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.imputation.mice import MICE

import isingmlc as im
from isingmlc.exceptions import DataError, ModelError
from isingmlc.networks.pooling import pool_estimates, pool_tests

REFERENCE = Path(__file__).parents[1] / "reference"


@pytest.fixture(scope="module")
def imputed():
    """Return labels, and features of which some values were drawn six times."""
    rng = np.random.default_rng(0)
    n = 400
    x = rng.normal(size=n)
    z = 0.6 * x + rng.normal(size=n)
    labels = pd.DataFrame(
        {
            "a": (rng.logistic(size=n) < x).astype(int),
            "b": (rng.logistic(size=n) < 0.5 * x).astype(int),
            "c": (rng.logistic(size=n) < 0).astype(int),
        }
    )
    gaps = rng.random(n) < 0.3
    drawn = []
    for _ in range(6):
        filled = np.where(gaps, 0.45 * z + rng.normal(0, 0.85, n), x)
        drawn.append(pd.DataFrame({"x": filled, "z": z}))
    return labels, drawn


@pytest.fixture(scope="module")
def fits(imputed):
    labels, drawn = imputed
    return [im.IsingModel(labels, features).fit() for features in drawn]


def test_rubins_rules_are_those_of_mitools_and_mice():
    given = pd.read_csv(REFERENCE / "pool_data.csv").set_index(["imputation", "parameter"])
    for complete, expected in pd.read_csv(REFERENCE / "pool_rubin.csv").groupby("df_complete"):
        # One line per imputation, parameter by parameter in the file.
        coef, bse = (given[name].to_numpy().reshape(5, 6).T for name in ("coef", "bse"))
        found = pool_estimates(coef, bse, np.full(5, complete))
        for name in ("coef", "bse", "df", "fmi"):
            np.testing.assert_allclose(getattr(found, name), expected[name], rtol=1e-10)


def test_d2_is_as_printed():
    given = pd.read_csv(REFERENCE / "pool_statistics.csv")
    expected = pd.read_csv(REFERENCE / "pool_d2.csv")
    found = pool_tests(given["d"].to_numpy().reshape(5, 6).T, expected["k"].to_numpy(dtype=float))
    np.testing.assert_allclose(found.statistic, expected["D2"], rtol=1e-10)
    np.testing.assert_allclose(found.df_denom, expected["nu"], rtol=1e-10)
    np.testing.assert_allclose(found.pvalue, expected["p"], rtol=1e-8)


def test_wald_tests_are_pooled_as_statsmodels_combines_them(imputed, fits):
    labels, drawn = imputed
    frame = im.pool([fit.wald_test() for fit in fits]).set_index(["feature", "label"])
    for feature, label in frame.index:
        others = labels.drop(columns=label)
        mice = object.__new__(MICE)
        mice.results_list = [
            sm.GLM(
                labels[label],
                sm.add_constant(others.assign(added=features[feature])),
                family=sm.families.Binomial(),
            ).fit(tol=1e-12)
            for features in drawn
        ]
        mice.model_class = sm.GLM
        mice.endog_names, mice.exog_names = label, ["const", *others.columns, "added"]
        expected = mice.combine()
        row = frame.loc[(feature, label)]
        assert row["coef"] == pytest.approx(expected.params[-1], rel=1e-6)
        assert row["bse"] == pytest.approx(expected.bse[-1], rel=1e-6)
        # Theirs is that of infinitely many rows and data sets.
        assert row["fmi"] == pytest.approx(expected.frac_miss_info[-1], abs=0.06)
        assert row["lower"] < row["coef"] < row["upper"]
    assert (frame["reason"] == "ok").all()
    assert frame.loc[("x", "a"), "fmi"] > frame.loc[("z", "a"), "fmi"]


def test_score_tests_are_pooled_by_d2(fits):
    frame = im.pool([fit.score_test(pvalue="chi2") for fit in fits], adjust=None)
    statistics = np.array([fit.score_test().statistics.to_numpy().ravel() for fit in fits])
    expected = pool_tests(statistics, np.ones(6))
    np.testing.assert_allclose(frame["pvalue"], expected.pvalue)
    np.testing.assert_allclose(frame["pvalue_adj"], frame["pvalue"])
    wald = im.pool([fit.wald_test() for fit in fits])
    np.testing.assert_allclose(np.log10(frame["pvalue"]), np.log10(wald["pvalue"]), atol=1.2)


def test_equal_data_sets_give_what_one_gives(fits):
    one = fits[0]
    frame = im.pool([one] * 4)
    alone = one.to_frame()
    np.testing.assert_allclose(frame["coef"], alone["coef"])
    np.testing.assert_allclose(frame["bse"], alone["std err"])
    np.testing.assert_allclose(frame["fmi"], 0.0, atol=1e-12)
    # Degrees of freedom of the complete data, times a factor near one.
    assert frame["df"].between(390, 400).all()
    tests = im.pool([one.score_test(pvalue="chi2")] * 4)
    np.testing.assert_allclose(
        tests["pvalue"], one.score_test(pvalue="chi2").pvalues.to_numpy().ravel()
    )


def test_pooled_odds_ratios(fits):
    tests = [fit.wald_test() for fit in fits]
    plain, odds = im.pool(tests), im.pool(tests, exponentiate=True)
    np.testing.assert_allclose(odds["odds_ratio"], np.exp(plain["coef"]))
    np.testing.assert_allclose(odds["upper"], np.exp(plain["upper"]))
    assert "bse" not in odds
    assert "odds_ratio" in im.pool(fits, exponentiate=True)
    with pytest.raises(ModelError, match="no odds ratios"):
        im.pool([fit.score_test() for fit in fits], exponentiate=True)


def test_what_cannot_be_estimated_somewhere_has_a_reason(imputed):
    labels, drawn = imputed
    changed = [features.assign(z=0.0) if at == 2 else features for at, features in enumerate(drawn)]
    with pytest.warns(im.exceptions.DataWarning):
        tests = [im.IsingModel(labels, features).fit().score_test() for features in changed]
    frame = im.pool(tests).set_index(["feature", "label"])
    assert np.isnan(frame.loc[("z", "a"), "pvalue"])
    assert frame.loc[("z", "a"), "reason"] == "constant-feature in 1 of 6"
    assert frame.loc[("x", "a"), "reason"] == "ok"
    # Where two labels never meet an interaction is infinite.
    apart = labels.assign(b=labels["b"] * (1 - labels["a"]))
    with pytest.warns(im.exceptions.SeparationWarning):
        fits = [im.IsingModel(apart).fit() for _ in range(2)]
    frame = im.pool(fits).set_index(["label", "term"])
    assert frame.loc[("a", "b"), "reason"] == "not finite in 2 of 2"
    assert np.isnan(frame.loc[("a", "b"), "coef"])


def test_what_cannot_be_pooled_is_said(fits, imputed):
    labels, drawn = imputed
    edges = [fit.score_test() for fit in fits]
    for wrong, message in (
        (fits[:1], "at least two"),
        (fits[0], "at least two"),
        ([fits[0], edges[0]], "EdgeTests, IsingResults"),
        ([edges[0], edges[1][["x"]]], "same features and labels"),
        ([edges[0], fits[1].wald_test()], "same tests"),
        ([fits[0], im.IsingModel(labels, covariates=drawn[0]).fit()], "same labels, covariates"),
    ):
        with pytest.raises(DataError, match=message):
            im.pool(wrong)
    with pytest.raises(ModelError, match="one by one"):
        im.pool([fit.score_test(products="individual") for fit in fits[:2]])
    joint = im.pool([fit.score_test(products="joint") for fit in fits])
    assert (joint["df"] == 3).all()
    assert "longtable" not in joint.to_latex(caption="Pooled.")
