"""Effects of edges: odds ratios, intervals, one step and fitted; forest plots."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from matplotlib.figure import Figure
from scipy.optimize import brentq
from scipy.stats import chi2, norm

import isingmlc as im
from isingmlc.exceptions import DataError


def profile_limit(label, others, feature, certain, alpha=0.05):
    """Find by statsmodels the finite limit of a 0/1 feature that settles a label, by rows."""
    family = sm.families.Binomial()
    design, apart = sm.add_constant(others.astype(float)), feature != 1
    # In the limit rows with the feature are certain, and the others are as without it.
    top = sm.GLM(label[apart].astype(float), design[apart], family).fit().llf

    def beyond(effect):
        fit = sm.GLM(label.astype(float), design, family, effect * (feature == 1)).fit(tol=1e-12)
        return 2 * (top - fit.llf) - chi2.isf(alpha, 1)

    return brentq(beyond, *((-1.0, 8.0) if certain else (-20.0, 10.0)), xtol=1e-10)


def draw(strength=0.15, n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    features = pd.DataFrame(
        {
            "x1": rng.normal(3.0, 2.0, n_rows),
            "x2": rng.integers(0, 2, n_rows).astype(float),
            "x3": rng.exponential(1.0, n_rows),
        }
    )
    age = rng.normal(size=n_rows)
    common = rng.normal(size=n_rows)
    tilt = strength * (features["x1"] - 3) / 2 + strength * features["x2"] + 0.3 * age
    labels = pd.DataFrame(
        {
            name: (rng.logistic(size=n_rows) < tilt + common * size).astype(int)
            for name, size in (("a", 0.8), ("b", 0.5), ("c", -0.6))
        }
    )
    return labels, features, pd.DataFrame({"age": age})


@pytest.fixture(scope="module")
def data():
    return draw()


@pytest.fixture(scope="module")
def edges(data):
    labels, features, covariates = data
    return im.IsingModel(labels, features, covariates=covariates).fit().score_test()


def test_fitted_odds_ratios_are_those_of_statsmodels(data, edges):
    labels, features, covariates = data
    frame = edges.to_frame(exponentiate=True, conf_int=0.9, refit=9)
    assert (frame["estimate"] == "fitted").all()
    for row in frame.itertuples():
        others = labels.drop(columns=row.label)
        design = sm.add_constant(pd.concat([others, covariates, features[row.feature]], axis=1))
        fit = sm.Logit(labels[row.label], design).fit(disp=0)
        expected = np.exp([fit.params[row.feature], *fit.conf_int(0.1).loc[row.feature]])
        np.testing.assert_allclose([row.odds_ratio, row.lower, row.upper], expected, rtol=1e-6)


def test_one_step_is_the_score_over_its_variance(data, edges):
    labels, features, covariates = data
    frame = edges.to_frame(per="unit").set_index(["feature", "label"])
    assert (frame["estimate"] == "one-step").all()
    for feature, label in frame.index:
        design = sm.add_constant(pd.concat([labels.drop(columns=label), covariates], axis=1))
        fit = sm.GLM(labels[label], design, family=sm.families.Binomial()).fit(tol=1e-13)
        root = np.sqrt(fit.mu * (1 - fit.mu))
        column = root * features[feature].to_numpy()
        q, _ = np.linalg.qr(root[:, None] * design.to_numpy())
        left = column - q @ (q.T @ column)
        score = features[feature] @ (labels[label] - fit.mu)
        row = frame.loc[(feature, label)]
        np.testing.assert_allclose(row["coef"], score / (left @ left), rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(row["bse"], 1 / np.sqrt(left @ left), rtol=1e-8)
        np.testing.assert_allclose((row["coef"] / row["bse"]) ** 2, row["statistic"], rtol=1e-8)


def test_refits_are_those_of_the_strongest_edges(edges):
    frame = edges.to_frame(exponentiate=True, refit=2).sort_values("pvalue")
    assert frame["estimate"].tolist() == ["fitted"] * 2 + ["one-step"] * 7
    assert frame.columns[:6].tolist() == [
        "feature", "label", "odds_ratio", "lower", "upper", "estimate",
    ]  # fmt: skip


def test_wald_tests_have_fitted_effects(data):
    labels, features, _ = data
    wald = im.IsingModel(labels, features).fit().wald_test()
    frame = wald.to_frame(exponentiate=True)
    limits = np.exp(wald.conf_int())
    np.testing.assert_allclose(frame["lower"], limits["lower"])
    np.testing.assert_allclose(frame["odds_ratio"], np.exp(wald.params.to_numpy().ravel()))
    assert (frame["estimate"] == "fitted").all()
    assert "odds_ratio" in wald.to_csv(exponentiate=True).splitlines()[0]


def test_clusters_have_errors_and_intervals_of_their_own(data):
    labels, features, _ = data
    groups = np.arange(len(labels)) % 40
    res = im.IsingModel(labels, features, groups=groups).fit(cov_type="cluster")
    edges = res.score_test()
    step = edges.to_frame(conf_int=0.95)
    wald = res.wald_test()
    limits = wald.conf_int()
    np.testing.assert_allclose(step["bse"], wald.bse.to_numpy().ravel(), rtol=0.1)
    fitted = edges.to_frame(conf_int=0.95, refit=9)
    np.testing.assert_allclose(fitted["lower"], limits["lower"], rtol=1e-9)


def test_without_rows_effects_stay_one_step(data):
    labels, features, _ = data
    stats = im.LabelsetStatistics.from_arrays(labels, features)
    edges = im.IsingModel.from_statistics(stats).fit().score_test()
    frame = edges.to_frame(exponentiate=True, refit=5)
    assert (frame["estimate"] == "one-step").all()
    assert any("one Newton step" in note for note in edges.summary(3, exponentiate=True).notes)
    ax = edges.plot_forest(label="a", ax=Figure().subplots())
    assert sum(text.get_text().endswith("*") for text in ax.texts) == 3


def test_what_separates_a_label_is_infinite_and_has_one_limit():
    labels, features, _ = draw(n_rows=300)
    rare = ((labels["a"] == 1) & (features["x2"] == 1)).astype(float)
    edges = im.IsingModel(labels, features.assign(rare=rare)).fit().score_test()
    frame = edges.to_frame(exponentiate=True, refit=12).set_index(["feature", "label"])
    row = frame.loc[("rare", "a")]
    assert row["odds_ratio"] == np.inf
    others = labels[["b", "c"]].to_numpy()
    limit = profile_limit(labels["a"].to_numpy(), others, rare.to_numpy(), 1)
    assert row["lower"] == pytest.approx(np.exp(limit), rel=1e-6)
    assert row["upper"] == np.inf
    ax = edges.plot_forest(label="a", ax=Figure().subplots())
    assert any("separated" in text.get_text() for text in ax.texts)


def test_summaries_show_odds_ratios(edges):
    text = edges.summary(4, exponentiate=True, per="sd").as_text()
    assert "odds_ratio" in text
    assert "one standard deviation" in text
    latex = edges.to_latex(top=4, exponentiate=True)
    assert "Estimates: fitted." in latex
    assert r"odds\_ratio & lower & upper & pvalue" in latex


def test_forests(data, edges):
    labels, features, _ = data
    plain = im.IsingModel(labels, features).fit().score_test()
    ax = edges.plot_forest(beside=plain, ax=Figure().subplots())
    assert ax.get_title() == "Odds ratios of 9 edges"
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["given age", "not adjusted"]
    assert ax.get_xscale() == "log"
    low, high = ax.get_xlim()
    assert low < 1 < high
    ax = plain.plot_forest(feature="x1", per="sd", ax=Figure().subplots())
    assert ax.get_xlabel() == "odds ratio for one standard deviation"
    assert next(tick.get_text() for tick in ax.get_yticklabels()) in labels.columns
    with pytest.raises(DataError, match="exclude each other"):
        plain.plot_forest(label="a", feature="x1")
    with pytest.raises(DataError, match="label"):
        plain.plot_forest(label="nosuch")
    with pytest.raises(DataError, match="beside"):
        plain.plot_forest(beside=plain.take(["x1"]))


@pytest.mark.parametrize("groups", [False, True])
def test_products_given_features_have_effects(groups):
    data = im.datasets.load_example()
    labels, features = data.labels.iloc[:, :3], data.features[["bmi"]]
    clusters = np.arange(len(labels)) % 50 if groups else None
    res = im.IsingModel(labels, features, groups=clusters).fit()
    frame = res.wald_test(products="given").to_frame(conf_int=0.9)
    frame = frame.set_index(["label", "with"])
    label, other, third = labels.columns
    design = sm.add_constant(labels[[other, third]].assign(bmi=features["bmi"]))
    design["product"] = design["bmi"] * labels[other]
    model = sm.Logit(labels[label], design)
    fitted = (
        model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
        if groups
        else model.fit(disp=0)
    )
    mirrored = sm.add_constant(labels[[label, third]].assign(bmi=features["bmi"]))
    mirrored["product"] = mirrored["bmi"] * labels[label]
    sides = (
        fitted.params["product"],
        sm.Logit(labels[other], mirrored).fit(disp=0).params["product"],
    )
    row = frame.loc[(label, other)]
    # One estimate per pair: an average of those in the models of its two labels.
    assert min(sides) < row["coef"] < max(sides)
    assert row["statistic"] == pytest.approx((row["coef"] / row["bse"]) ** 2, rel=1e-9)
    assert row["sign"] == np.sign(row["coef"])
    assert row["lower"] < row["coef"] < row["upper"]
    if not groups:
        limits = row["coef"] + norm.ppf([0.05, 0.95]) * row["bse"]
        np.testing.assert_allclose(row[["lower", "upper"]].astype(float), limits, rtol=1e-6)
    ratios = res.wald_test(products="given").to_frame(exponentiate=True, per="sd")
    ratio = ratios.set_index(["label", "with"]).loc[(label, other), "odds_ratio"]
    assert ratio == pytest.approx(np.exp(row["coef"] * features["bmi"].std()), rel=1e-9)


def one_step(labels, label, other, feature, given, robust=False):
    """Take one Newton step towards a product by the rows, from the model that has `given`."""
    own = labels.columns[labels.columns != label]
    base = sm.add_constant(np.column_stack([labels[own], *given]).astype(float))
    fitted = sm.Logit(labels[label], base).fit(disp=0, tol=1e-12)
    p = fitted.predict()
    columns = base if given else np.column_stack([base, feature])
    wide = np.column_stack([columns, feature * labels[other]])
    information = wide.T @ ((p * (1 - p))[:, None] * wide)
    bread = np.linalg.inv(information)
    coef = bread @ wide.T @ (labels[label] - p)
    meat = wide.T @ (((labels[label] - p) ** 2).to_numpy()[:, None] * wide)
    covariance = bread @ meat @ bread if robust else bread
    return coef[-1], np.sqrt(covariance[-1, -1])


@pytest.mark.parametrize(("refit", "robust"), [(True, False), (False, False), (False, True)])
def test_score_tests_of_products_have_effects_of_one_step(data, refit, robust):
    labels, features, _ = data
    res = im.IsingModel(labels, features).fit(cov_type="HC0" if robust else "nonrobust")
    tests = res.score_test(products="given", refit=refit)
    frame = tests.to_frame(conf_int=0.9)
    products = frame[frame["with"] != ""]
    assert len(products) == 9
    assert (products["estimate"] == "one-step").all()
    for row in products.to_dict("records"):
        feature = features[row["feature"]].to_numpy()
        given = [feature] if refit else []
        pair = row["label"], row["with"]
        steps = [one_step(labels, *ends, feature, given, robust) for ends in (pair, pair[::-1])]
        (coef, other), precision = zip(*[(step, 1 / se) for step, se in steps], strict=True)
        total = np.square(precision).sum()
        mean = (coef * precision[0] ** 2 + other * precision[1] ** 2) / total
        assert row["coef"] == pytest.approx(mean, rel=1e-6)
        # Without refitted models the two estimates count as one.
        largest = sum(precision) / total
        assert row["bse"] <= largest if refit else row["bse"] == pytest.approx(largest, rel=1e-6)
        half = norm.isf(0.05) * row["bse"]
        limits = [row["coef"] - half, row["coef"] + half]
        np.testing.assert_allclose([row["lower"], row["upper"]], limits, rtol=1e-9)
    np.testing.assert_allclose((products["coef"] / products["bse"]) ** 2, products["statistic"])
    some = tests.take(["x3", "x1"]).to_frame(exponentiate=True, per="sd")
    ratio = some.set_index(["feature", "label", "with"]).loc[("x1", "a", "b"), "odds_ratio"]
    coef = products.set_index(["feature", "label", "with"]).loc[("x1", "a", "b"), "coef"]
    assert ratio == pytest.approx(np.exp(coef * features["x1"].std()), rel=1e-9)


def test_the_strongest_products_are_fitted(data):
    labels, features, _ = data
    res = im.IsingModel(labels, features).fit()
    tests, fitted = res.score_test(products="given"), res.wald_test(products="given")
    expected = fitted.to_frame(conf_int=0.95)
    every = tests.take(["x3", "x2", "x1"]).to_frame(conf_int=0.95, refit=27)
    assert (every["estimate"] == "fitted").all()
    both = every.merge(expected, on=["feature", "label", "with"])
    np.testing.assert_allclose(both["coef_x"], both["coef_y"], rtol=1e-9)
    np.testing.assert_allclose(both["bse_x"], both["bse_y"], rtol=1e-9)
    some = tests.to_frame(conf_int=0.95, refit=12)
    is_fitted = some["estimate"] == "fitted"
    assert is_fitted.sum() == 12
    assert some["pvalue"][is_fitted].max() <= some["pvalue"][~is_fitted].min()
    assert 0 < (is_fitted & (some["with"] != "")).sum() < 12


@pytest.mark.parametrize("test", ["score_test", "wald_test"])
def test_forests_draw_features_and_not_their_products(data, test):
    res = im.IsingModel(*data[:2]).fit()
    drawn = [
        [tick.get_text() for tick in tests.plot_forest(ax=Figure().subplots()).get_yticklabels()]
        for tests in (getattr(res, test)(products="given"), getattr(res, test)())
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 9


def test_products_are_adjusted_apart_from_features():
    data = im.datasets.load_example()
    res = im.IsingModel(data.labels, data.features[["age", "bmi"]]).fit()
    frame = res.wald_test(products="given").to_frame("bonferroni")
    for is_product, count in ((False, 12), (True, 30)):
        part = frame[(frame["with"] != "") == is_product]
        assert len(part) == count
        np.testing.assert_allclose(part["pvalue_adj"], np.minimum(count * part["pvalue"], 1))


@pytest.fixture(scope="module")
def apart():
    """Return a fit whose feature g separates the label a."""
    rng = np.random.default_rng(0)
    labels = pd.DataFrame(rng.integers(0, 2, (500, 3)), columns=list("abc"))
    rare = (rng.random(500) < 0.05).astype(float)
    labels.loc[rare == 1, "a"] = 0
    return im.IsingModel(labels, pd.DataFrame({"x": rng.normal(size=500), "g": rare})).fit()


@pytest.mark.parametrize("test", ["score_test", "wald_test", "lr_test"])
def test_odds_ratios_of_zero_have_a_limit_and_say_so(apart, test):
    frame = getattr(apart, test)().to_frame(exponentiate=True, refit=6)
    row = frame.set_index(["feature", "label"]).loc[("g", "a")]
    assert (row["odds_ratio"], row["lower"], row["estimate"]) == (0, 0, "infinite")
    labels, features = apart.model.data.labels, apart.model.data.features
    limit = profile_limit(labels[:, 0], labels[:, 1:], features[:, 1], 0)
    assert row["upper"] == pytest.approx(np.exp(limit), rel=1e-6)
    # What is known of the effect stands beside it, and the score test is as it was.
    assert row["reason"] == "separated-alternative"
    assert (frame["reason"] == "ok").sum() == 5
    plain = getattr(apart, test)().reasons.loc["g", "a"]
    assert plain == ("ok" if test == "score_test" else "separated-alternative")


def test_intervals_of_infinite_effects_have_one_finite_end(apart):
    tests = apart.wald_test()
    labels, features = apart.model.data.labels, apart.model.data.features
    for alpha in (0.05, 0.2):
        limits = tests.conf_int(alpha).loc[("g", "a")]
        expected = profile_limit(labels[:, 0], labels[:, 1:], features[:, 1], 0, alpha)
        assert limits["lower"] == -np.inf
        assert limits["upper"] == pytest.approx(expected, rel=1e-6)
    # Where the likelihood says little the interval goes beyond no effect.
    few = np.flatnonzero(features[:, 1] == 1)[2:]
    kept = np.setdiff1d(np.arange(len(labels)), few)
    model = im.IsingModel(labels[kept].astype(int), features[kept])
    limit = model.fit().wald_test().conf_int().loc[("x2", "y1"), "upper"]
    expected = profile_limit(labels[kept, 0], labels[kept, 1:], features[kept, 1], 0)
    assert limit == pytest.approx(expected, rel=1e-6)
    assert limit > 0
    # Rows that are counted are rows that are repeated; units only scale.
    counted = im.IsingModel(
        labels.astype(int), features * [1, 10], freq_weights=np.full(len(labels), 2)
    )
    twice = counted.fit().wald_test().conf_int().loc[("x2", "y1"), "upper"]
    repeated = (
        np.repeat(each, 2, axis=0) for each in (labels[:, 0], labels[:, 1:], features[:, 1])
    )
    assert 10 * twice == pytest.approx(profile_limit(*repeated, 0), rel=1e-6)


def test_a_number_that_separates_a_label_has_a_limit():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, (200, 2))
    x = np.where(labels[:, 0] == 1, 2.0, 0.0) + rng.random(200)
    edges = im.IsingModel(labels, x[:, None]).fit().lr_test()
    limits = edges.conf_int().loc[("x1", "y1")]

    def likelihood(effect):
        family = sm.families.Binomial()
        return sm.GLM(labels[:, 0], sm.add_constant(labels[:, 1]), family, effect * x).fit().llf

    # Of a label that is certain in every row the likelihood is one.
    expected = brentq(lambda effect: -2 * likelihood(effect) - chi2.isf(0.05, 1), 0, 20)
    assert limits["lower"] == pytest.approx(expected, rel=1e-6)
    assert limits["upper"] == np.inf


def test_without_an_intercept_limits_are_those_of_features_as_they_are():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, (200, 2))
    x = np.where(labels[:, 0] == 1, 2.0, -1.0) * rng.uniform(0.5, 1.0, 200)
    edges = im.IsingModel(labels, x[:, None], intercept=False).fit().wald_test()
    limits = edges.conf_int().loc[("x1", "y1")]

    def likelihood(effect):
        return sm.GLM(labels[:, 0], labels[:, [1]], sm.families.Binomial(), effect * x).fit().llf

    expected = brentq(lambda effect: -2 * likelihood(effect) - chi2.isf(0.05, 1), 0, 20)
    assert limits["lower"] == pytest.approx(expected, rel=1e-6)
    assert limits["upper"] == np.inf


def test_robust_fits_have_no_likelihood_for_a_limit(apart):
    robust = apart.model.fit(cov_type="HC0").wald_test().conf_int().loc[("g", "a")]
    assert robust["lower"] == -np.inf
    assert np.isnan(robust["upper"])


def test_effects_per_what_is_asked_for(apart):
    tests = apart.wald_test()
    one = tests.to_frame(per="unit").set_index(["feature", "label"])["coef"]
    for per, x, g in (("sd", apart.model.data.features[:, 0].std(ddof=1), 1.0), ({"x": 5}, 5, 1)):
        found = tests.to_frame(per=per).set_index(["feature", "label"])["coef"]
        np.testing.assert_allclose(found["x"], x * one["x"])
        np.testing.assert_allclose(found["g"], g * one["g"])
    with pytest.raises(DataError, match="per must name"):
        tests.to_frame(per={"weight": 5})
    with pytest.raises(DataError, match=r"per\['x'\] must be"):
        tests.to_frame(per={"x": -1})
