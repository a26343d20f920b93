"""How much rows say about labels, and p-values that follow from it."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_data
from hypothesis import given, settings
from hypothesis import strategies as st

import isingmlc as im
from isingmlc.exceptions import LowInformationWarning

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

OURS = "ignore::isingmlc.exceptions.IsingWarning"


def told(act):
    """Return the warnings about information that a call issues."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(each.message) for each in caught if each.category is LowInformationWarning]


def rare_and_common(rng, n_rows=800, share=0.02):
    """One rare label, two common ones."""
    common = rng.random((n_rows, 2)) < 0.5
    return pd.DataFrame(
        np.column_stack([rng.random(n_rows) < share, common]).astype(int),
        columns=["rare", "left", "right"],
    )


# Information


def test_information_is_the_trace_of_the_variances_of_statsmodels():
    labels, features = load_data("plain")
    res = im.IsingModel(labels, features).fit()
    for label in labels:
        fitted = np.asarray(res.nodes[label].fittedvalues)
        counts = res.model.statistics.counts
        expected = counts @ (fitted * (1 - fitted))
        row = res.diagnostics.loc[label]
        assert row["information"] == pytest.approx(expected, rel=1e-8)
        per = row["information_per_coefficient"]
        assert per == pytest.approx(expected / labels.shape[1], rel=1e-8)


# The warning


def test_a_label_that_others_all_but_determine_is_named():
    rng = np.random.default_rng(0)
    network = im.simulate.IsingDistribution(np.full(5, -5.0), 2.5 * (1 - np.eye(5)))
    labels = network.sample(600, random_state=rng)
    labels.columns = [f"label{at}" for at in range(5)]
    res = im.IsingModel(labels, rng.normal(size=(600, 2))).fit()
    (message,) = told(res.score_test)
    assert "'label0'" in message
    assert "diagnostics" in message
    assert "neighbors='ebic'" in message
    # Half of the rows carry each label: it is not how rare they are.
    assert res.diagnostics["prevalence"].between(0.3, 0.7).all()
    assert (res.diagnostics["information_per_coefficient"] < 4).all()
    # Once for these results, and once more for chi-square, whatever comes after.
    assert told(res.score_test) == []
    assert len(told(lambda: res.score_test(pvalue="chi2"))) == 1
    assert told(lambda: res.lr_test(["x1"])) == []


def test_skewed_features_need_more_information_where_nothing_corrects_for_it():
    rng = np.random.default_rng(1)
    labels = rare_and_common(rng, share=0.05)
    normal, skewed = rng.normal(size=(800, 2)), rng.lognormal(size=(800, 2))
    res = im.IsingModel(labels, normal).fit()
    assert 4 * 3 < res.diagnostics.loc["rare", "information"] < 75
    assert told(lambda: res.score_test(pvalue="chi2")) == []
    res = im.IsingModel(labels, skewed).fit()
    assert told(res.score_test) == []
    (message,) = told(lambda: res.score_test(pvalue="chi2"))
    assert "'rare'" in message
    assert "'left'" not in message
    assert "skewed" in message
    assert "pvalue='auto'" in message
    # Without rows nobody knows how skewed a feature is, unless it is 0/1.
    assert len(told(im.IsingModel(labels, skewed).fit().remove_data().score_test)) == 1
    binary = (rng.random((800, 2)) < 0.4).astype(int)
    assert told(im.IsingModel(labels, binary).fit().remove_data().score_test) == []


# Saddlepoints


@pytest.mark.filterwarnings(OURS)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1.0, "firth"]))
@settings(deadline=None, max_examples=25)
def test_every_edge_with_a_statistic_has_a_pvalue(seed, penalty):
    rng = np.random.default_rng(seed)
    n_rows, n_labels = int(rng.integers(20, 120)), int(rng.integers(1, 5))
    labels = rng.random((n_rows, n_labels)) < rng.uniform(0.02, 0.98, n_labels)
    labels[:2] = [[False] * n_labels, [True] * n_labels]
    features = np.column_stack(
        [
            rng.lognormal(sigma=2, size=(n_rows, 2)),
            rng.random((n_rows, 2)) < 0.1,
            1e8 + rng.normal(size=n_rows),
        ]
    )
    res = im.IsingModel(labels, features).fit(penalty=penalty)
    for results in (res, res.remove_data()):
        arrays = results.score_test(min_count=0).arrays
        tested = ~np.isnan(arrays.statistic)
        assert (np.isnan(arrays.pvalue) == ~tested).all()
        assert (arrays.pvalue[tested] <= 1).all()
        assert np.isfinite(arrays.log10_pvalue[tested]).all()
        assert ((arrays.pvalue_method != "") == tested).all()


@pytest.mark.filterwarnings(OURS)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([None, 1.0, "firth"]),
    st.sampled_from(["individual", "joint", "given", "given-joint"]),
)
@settings(deadline=None, max_examples=25)
def test_every_product_with_a_statistic_has_a_pvalue(seed, penalty, products):
    rng = np.random.default_rng(seed)
    n_rows, n_labels = int(rng.integers(20, 120)), int(rng.integers(1, 5))
    labels = rng.random((n_rows, n_labels)) < rng.uniform(0.02, 0.98, n_labels)
    labels[:2] = [[False] * n_labels, [True] * n_labels]
    features = np.column_stack(
        [rng.lognormal(sigma=2, size=(n_rows, 2)), rng.random((n_rows, 2)) < 0.1, np.ones(n_rows)]
    )
    res = im.IsingModel(labels, features).fit(penalty=penalty)
    for results in (res, res.remove_data()):
        frame = results.score_test(products=products, min_count=0).to_frame(adjust=None)
        tested = frame["statistic"].notna()
        assert (frame["pvalue"].notna() == tested).all()
        assert np.isfinite(frame.loc[tested, "log10p"]).all()
        assert (frame.loc[tested, "pvalue"] <= 1).all()
        assert ((frame["pvalue_method"] != "") == tested).all()


# The default


@pytest.mark.filterwarnings(OURS)
@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=15)
def test_pvalues_do_not_depend_on_order_or_scale(seed):
    rng = np.random.default_rng(seed)
    labels = rare_and_common(rng, 200, 0.05)
    labels.iloc[:2, 0] = [0, 1]
    features = pd.DataFrame(rng.lognormal(size=(200, 4)), columns=list("abcd"))
    expected = im.IsingModel(labels, features).fit().score_test().log10_pvalues
    rows, columns = rng.permutation(200), rng.permutation(4)
    moved = (features * 3.0 + 7.0).iloc[rows, columns]
    found = im.IsingModel(labels.iloc[rows, ::-1], moved).fit().score_test().log10_pvalues
    pd.testing.assert_frame_equal(
        found.loc[expected.index, expected.columns], expected, rtol=1e-5, atol=1e-6
    )
    weights = np.full(100, 2.0)
    twice = im.IsingModel(labels[:100], features[:100], freq_weights=weights).fit()
    repeated = im.IsingModel(
        pd.concat([labels[:100]] * 2, ignore_index=True),
        pd.concat([features[:100]] * 2, ignore_index=True),
    ).fit()
    pd.testing.assert_frame_equal(
        twice.score_test().log10_pvalues, repeated.score_test().log10_pvalues, rtol=1e-6
    )


@pytest.mark.filterwarnings(FEW_ROWS)
def test_binary_features_have_the_same_pvalues_without_rows():
    rng = np.random.default_rng(3)
    labels = rare_and_common(rng)
    features = (rng.random((800, 200)) < 0.05).astype(float)
    res = im.IsingModel(labels, features).fit()
    edges = res.score_test()
    assert (edges.arrays.pvalue_method == "saddlepoint").any()
    found = res.remove_data().score_test().log10_pvalues
    pd.testing.assert_frame_equal(found, edges.log10_pvalues, rtol=1e-8)


def test_chi_square_stands_where_it_holds():
    data = im.datasets.load_example()
    res = im.IsingModel(data.labels, data.features).fit()
    chi2, auto = (res.score_test(pvalue=name) for name in ("chi2", "auto"))
    kept = auto.arrays.pvalue_method == "chi2"
    assert kept.mean() > 0.8
    np.testing.assert_allclose(auto.arrays.pvalue[kept], chi2.arrays.pvalue[kept], rtol=1e-12)
    pd.testing.assert_series_equal(auto.importance, chi2.importance)
    frame = auto.to_frame()
    assert set(frame["pvalue_method"]) <= {"chi2", "saddlepoint"}


def rejected(kind, penalty=None, pvalue="auto"):
    """Return how often true nulls fall below 0.05 and 0.01, over nominal."""
    pvalues = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        if kind == "topics":
            share = rng.gamma(1.0, size=40) + 0.3
            labels = rng.random((400, 40)) < 1.5 * share / share.sum()
            features = rng.normal(size=(400, 60))
        else:
            labels = rng.random((800, 5)) < 0.02
            features = rng.lognormal(size=(800, 400))
        res = im.IsingModel(labels.astype(int), features).fit(penalty=penalty)
        pvalues.append(res.score_test(pvalue=pvalue).arrays.pvalue.ravel())
    found = np.concatenate(pvalues)
    found = found[~np.isnan(found)]
    return [np.mean(found <= level) / level for level in (0.05, 0.01)]


# Three to six thousand edges: standard errors of 0.06 to 0.08 at 0.05, 0.13 to 0.18 at 0.01, and
# something more since edges share labels.


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
def test_level_with_rare_labels_and_skewed_features(penalty):
    at_05, at_01 = rejected("skewed", penalty)
    assert 0.75 < at_05 < 1.25
    assert 0.55 < at_01 < 1.5
    assert rejected("skewed", penalty, "chi2")[1] > 1.8


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_level_where_coefficients_eat_the_information():
    at_05, at_01 = rejected("topics")
    assert 0.8 < at_05 < 1.2
    assert 0.5 < at_01 < 1.5
    assert rejected("topics", pvalue="chi2")[0] > 1.25


# Firth's likelihood ratio


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("name", ["rare", "separated"])
@pytest.mark.parametrize("penalty", [None, "firth"])
def test_firth_likelihood_ratios_agree_with_r(name, penalty):
    labels, features = load_data(name)
    res = im.IsingModel(labels, features).fit(penalty=penalty)
    edges = res.lr_test(penalty="firth")
    reference = load("firth", "lr").query("set == @name")
    assert len(reference) == edges.statistics.size
    for row in reference.itertuples():
        at = row.feature, row.label
        assert edges.statistics.loc[at] == pytest.approx(row.lr, rel=1e-6, abs=1e-9)
        assert edges.params.loc[at] == pytest.approx(row.coef, rel=1e-5, abs=1e-8)
        assert edges.bse.loc[at] == pytest.approx(row.se, rel=1e-5)
    assert (edges.df == 1).all(axis=None)
    assert "Jeffreys" in edges.note


@pytest.mark.filterwarnings(OURS)
def test_firth_likelihood_ratios_are_finite_where_a_feature_separates():
    labels = pd.DataFrame({"a": [0] * 20 + [1] * 6, "b": [0, 1] * 13})
    features = pd.DataFrame({"cut": [0] * 20 + [1] * 6, "copy": [0, 1] * 13, "one": 1})
    edges = im.IsingModel(labels, features).fit().lr_test(penalty="firth")
    assert np.isfinite(edges.statistics.loc["cut", "a"])
    assert np.isfinite(edges.params.loc["cut", "a"])
    assert edges.reasons.loc["copy", "a"] == "collinear-feature"
    assert (edges.reasons.loc["one"] == "constant-feature").all()
    assert edges.signs.loc["cut", "a"] == 1


# Joint tests


def test_permutations_of_joint_tests():
    rng = np.random.default_rng(0)
    labels, features = rng.random((150, 3)) < 0.4, rng.normal(size=(150, 6))
    options = {"pvalue": "permutation", "n_permutations": 400, "random_state": 1}
    # A label alone has no products.
    alone = im.IsingModel(labels[:, :1], features).fit()
    joint = alone.score_test(products="joint", **options)
    pd.testing.assert_frame_equal(joint.pvalues, alone.score_test(**options).pvalues)
    # Where chi-square holds, permutations agree with it.
    res = im.IsingModel(labels, features).fit()
    joint = res.score_test(products="joint", **options)
    expected = res.score_test(products="joint").pvalues
    error = np.sqrt(expected * (1 - expected) / 400)
    assert ((joint.pvalues - expected).abs() < 4 * error + 0.03).all(axis=None)
    assert joint.distribution == "400 permutations"
    assert set(joint.arrays.pvalue_method.ravel()) == {"permutation"}


@pytest.mark.filterwarnings(FEW_ROWS)
def test_joint_pvalues_of_rare_labels_come_near_permutations():
    rng = np.random.default_rng(0)
    labels = rare_and_common(rng, share=0.03)
    features = rng.lognormal(size=(800, 60))
    res = im.IsingModel(labels, features).fit()
    chi2, auto = (res.score_test(products="joint", pvalue=kind) for kind in ("chi2", "auto"))
    corrected = auto.arrays.pvalue_method[:, 0] == "mixture"
    names = [name for name, chosen in zip(auto.pvalues.index, corrected, strict=True) if chosen]
    assert len(names) >= 3
    permuted = res.score_test(
        names, products="joint", pvalue="permutation", n_permutations=2000, random_state=0
    )
    expected = np.log(permuted.pvalues["rare"])
    # Counts of permutations differ by chance, and an approximation by something more.
    error = 4 * np.sqrt(np.exp(-expected) / 2000) + 0.7
    assert (np.abs(np.log(auto.pvalues.loc[names, "rare"]) - expected) < error).all()
    # Chi-square is off by more than a factor of five somewhere.
    assert (np.log(chi2.pvalues.loc[names, "rare"]) - expected < -np.log(5)).any()


@pytest.mark.slow
@pytest.mark.filterwarnings(FEW_ROWS)
def test_joint_level_with_rare_labels_and_skewed_features():
    rng = np.random.default_rng(1)
    found = {"chi2": [], "auto": []}
    for _ in range(8):
        labels = rare_and_common(rng, share=0.03)
        res = im.IsingModel(labels, rng.lognormal(size=(800, 250))).fit()
        for kind, each in found.items():
            each.append(res.score_test(products="joint", pvalue=kind).pvalues["rare"])
    chi2, auto = (np.concatenate(each) for each in found.values())
    # Two thousand tests: standard errors of 0.1 at 0.05 and 0.22 at 0.01, and something more.
    assert np.mean(chi2 <= 0.01) / 0.01 > 2.5
    assert np.mean(auto <= 0.05) / 0.05 == pytest.approx(1.0, abs=0.4)
    assert np.mean(auto <= 0.01) / 0.01 == pytest.approx(1.0, abs=0.7)
    assert np.mean(auto <= 0.001) / 0.001 < 3.5


def simulate_products(rng, outcome, design, columns, n_draws=20_000):
    """Draw outcomes of the model with a feature; give the share of forms as large as observed."""
    chances = sm.Logit(outcome, design).fit(disp=False, tol=1e-10).predict()
    roots = np.sqrt(chances * (1 - chances))[:, None]
    rest = columns - design @ np.linalg.lstsq(roots * design, roots * columns, rcond=None)[0]
    variance = (rest.T * (chances * (1 - chances))) @ rest
    root = np.linalg.cholesky(np.linalg.inv(variance))
    drawn = (rng.random((n_draws, len(outcome))) < chances) - chances
    forms = ((drawn @ rest @ root) ** 2).sum(axis=1)
    observed = (((outcome - chances) @ rest @ root) ** 2).sum()
    return observed, np.mean(forms >= observed * (1 - 1e-12))


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("acts", [False, True])
def test_pvalues_given_the_feature_come_near_draws_of_its_model(acts):
    rng = np.random.default_rng(7)
    features = rng.lognormal(size=(600, 60))
    labels = rare_and_common(rng, 600, 0.04)
    if acts:
        chances = 1 / (1 + np.exp(4.5 - 0.4 * features[:, 0]))
        labels["rare"] = (rng.random(600) < chances).astype(int)
        features = features[:, :1] * rng.lognormal(sigma=0.6, size=(600, 60))
    res = im.IsingModel(labels, features).fit()
    chi2, auto = (res.score_test(products="given-joint", pvalue=kind) for kind in ("chi2", "auto"))
    frame = auto.to_frame(adjust=None).assign(chi2=chi2.to_frame(adjust=None)["pvalue"])
    frame = frame[(frame["label"] == "rare") & ~frame["pvalue_method"].isin(["", "chi2"])]
    assert len(frame) > 0
    outcome = labels["rare"].to_numpy(float)
    for row in frame.nsmallest(5, "chi2").to_dict("records"):
        x = features[:, int(row["feature"][1:]) - 1]
        others = labels[["left", "right"]].to_numpy(float)
        columns = x[:, None] * others
        observed, share = simulate_products(
            rng, outcome, np.column_stack([np.ones(600), others, x]), columns
        )
        assert row["statistic"] == pytest.approx(observed, rel=1e-5)
        # Draws have errors, and an approximation something more.
        error = 3 / np.sqrt(20_000 * share) + 0.5
        assert np.log(row["pvalue"]) == pytest.approx(np.log(share), abs=error)


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_level_of_products_given_their_feature():
    rng = np.random.default_rng(2)
    found = {"chi2": [], "auto": []}
    for _ in range(6):
        labels = rare_and_common(rng, share=0.03)
        res = im.IsingModel(labels, rng.lognormal(size=(800, 250))).fit()
        for kind, each in found.items():
            tests = res.score_test(products="given-joint", pvalue=kind, refit=False)
            each.append(tests.pvalues["rare"].dropna())
    chi2, auto = (np.concatenate(each) for each in found.values())
    # 1,500 tests: standard errors of 0.11 at 0.05 and 0.26 at 0.01, and something more.
    assert np.mean(chi2 <= 0.01) / 0.01 > 1.5
    assert np.mean(auto <= 0.05) / 0.05 == pytest.approx(1.0, abs=0.45)
    assert np.mean(auto <= 0.01) / 0.01 == pytest.approx(1.0, abs=0.9)


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
@pytest.mark.parametrize("products", ["individual", "joint", "given", "given-joint"])
def test_level_of_products_where_hardly_any_labels_meet(penalty, products):
    pvalues = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        labels = (rng.random((1000, 5)) < 0.025).astype(int)
        features = np.column_stack([rng.lognormal(size=(1000, 15)), rng.random((1000, 15)) < 0.03])
        res = im.IsingModel(labels, features).fit(penalty=penalty)
        frame = res.score_test(products=products).to_frame(adjust=None)
        if "with" in frame:
            frame = frame[frame["with"] != ""]
        pvalues.append(frame["pvalue"].dropna())
    found = np.concatenate(pvalues)
    # By chi-square up to 270 times too many at 0.001, and up to 30 times at 0.01.
    assert np.mean(found <= 0.05) / 0.05 < 2.2
    assert np.mean(found <= 0.01) / 0.01 < 2.5
    assert np.mean(found <= 0.001) / 0.001 < 3.0


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("penalty", [None, 1.0])
def test_level_given_a_feature_that_acts(penalty):
    # One Newton step would reject seven times too often under a penalty.
    rng = np.random.default_rng(0)
    pvalues = []
    for _ in range(100):
        x = rng.lognormal(size=(600, 1))
        labels = rare_and_common(rng, 600)
        labels["rare"] = rng.random(600) < 1 / (1 + np.exp(3.7 - 0.35 * x[:, 0]))
        res = im.IsingModel(labels.astype(int), x).fit(penalty=penalty)
        pvalues.append(res.score_test(products="given-joint").pvalues.loc["x1", "rare"])
    found = np.array(pvalues)
    # Standard errors of 0.44 at 0.05 and of 1 at 0.01.
    assert np.mean(found <= 0.05) / 0.05 < 2.4
    assert np.mean(found <= 0.01) / 0.01 < 4.5


def test_products_with_few_carriers_are_named():
    rng = np.random.default_rng(0)
    labels, features = rare_and_common(rng), rng.lognormal(size=(800, 2))
    model = im.IsingModel(labels, features)
    for penalty, kinds in {
        None: ("individual", "joint"),
        1.0: ("individual", "joint", "given", "given-joint"),
        "firth": ("individual", "joint", "given", "given-joint"),
    }.items():
        for kind in kinds:
            warned = told(lambda by=penalty, of=kind: model.fit(penalty=by).score_test(products=of))
            assert warned == []
    labels["scarce"] = (rng.random(800) < 0.02).astype(int)
    labels.loc[labels.index[labels["rare"] == 1][:2], "scarce"] = 1
    res = im.IsingModel(labels, features).fit()
    (message,) = told(lambda: res.score_test(products="given"))
    assert "'rare'" in message
    assert "'scarce'" in message
    assert "'left'" not in message
    assert "products=None" in message
    assert told(lambda: res.score_test(products="joint")) == []
    (message,) = told(lambda: res.score_test(products="joint", pvalue="chi2"))
    assert "pvalue='auto'" in message
    with pytest.raises(im.exceptions.DataError, match="products='joint'"):
        res.score_test(products="individual", pvalue="permutation")


def test_strong_features_of_firth_models_are_named():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 1))
    labels = rare_and_common(rng, 400)
    labels["rare"] = (rng.random(400) < 1 / (1 + np.exp(1 - x[:, 0]))).astype(int)
    model = im.IsingModel(labels, x)
    with pytest.warns(im.exceptions.DataWarning, match="with a ridge penalty or none"):
        model.fit(penalty="firth").score_test(products="given")
    note = model.fit(penalty=1.0).score_test(products="given").note
    assert "3 of 3 edges refitted" in note
    with pytest.raises(im.exceptions.ModelError, match="ridge penalty or none"):
        model.fit(penalty="firth").score_test(products="given", refit=True)


def test_robust_fits_and_terms_without_rows_say_what_suits_them():
    rng = np.random.default_rng(0)
    labels = rare_and_common(rng, share=0.01)
    frame = labels.assign(z=rng.choice(list("pqr"), 800, p=[0.6, 0.38, 0.02]))
    model = im.IsingModel.from_formula("rare + left + right ~ C(z)", frame)
    robust = model.fit(cov_type="HC0")
    (message,) = told(lambda: robust.score_test(pvalue="chi2"))
    assert "cov_type='nonrobust'" in message
    (message,) = told(lambda: robust.score_test(unit="column"))
    assert "pvalue_method" in message
    (message,) = told(lambda: model.fit().remove_data().score_test(unit="term"))
    assert "holds its rows" in message


@pytest.mark.slow
@pytest.mark.filterwarnings(FEW_ROWS)
def test_level_of_terms_with_rare_levels():
    rng = np.random.default_rng(4)
    found = {"chi2": [], "auto": []}
    formula = "rare + left + right ~ " + " + ".join(f"x{at}" for at in range(40))
    for _ in range(10):
        frame = rare_and_common(rng, n_rows=1000, share=0.015)
        levels = rng.choice(list("pqrs"), (1000, 40), p=[0.5, 0.3, 0.19, 0.01])
        frame = frame.join(pd.DataFrame(levels, columns=[f"x{at}" for at in range(40)]))
        res = im.IsingModel.from_formula(formula, frame).fit()
        for kind, each in found.items():
            each.append(res.score_test(unit="term", pvalue=kind).pvalues["rare"])
    chi2, auto = (np.concatenate(each) for each in found.values())
    # Four hundred tests: a standard error of 0.5 at 0.01.
    assert np.mean(chi2 <= 0.01) / 0.01 > 2.5
    assert np.mean(auto <= 0.01) / 0.01 < 2.0
    assert np.mean(auto <= 0.05) / 0.05 == pytest.approx(1.0, abs=0.6)


def test_products_given_skewed_features_are_warned_of_where_rows_say_little():
    rng = np.random.default_rng(5)
    labels = rare_and_common(rng, 1000, 0.03)
    skewed, even = np.exp(rng.normal(size=(1000, 3))), rng.normal(size=(1000, 3))
    model = im.IsingModel(labels, skewed)
    (message,) = told(lambda: model.fit().score_test(products="given"))
    assert "'rare'" in message
    assert "given their feature" in message
    assert not told(lambda: model.fit().score_test())
    assert not told(lambda: im.IsingModel(labels, even).fit().score_test(products="given"))
