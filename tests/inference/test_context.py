"""Covariates in every label model: against R and statsmodels, by properties and by simulation."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from golden import load
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

import isingmlc as im

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

OURS = "ignore::isingmlc.exceptions.IsingWarning"
LABELS, COVARIATES = ["y1", "y2", "y3", "y4"], ["age", "sex", "region"]
FEATURES = ["x1", "x2", "x3", "x4", "x5"]


@pytest.fixture(scope="module")
def frame():
    # Old versions of patsy do not know pandas' type for text.
    return load("context", "data").astype({"region": object})


@pytest.fixture(scope="module")
def res(frame):
    return im.IsingModel(frame[LABELS], frame[FEATURES], covariates=frame[COVARIATES]).fit()


def draw(seed=0, n=400, n_labels=3, n_features=4):
    """Labels and features that go with age, sex and place, and with each other."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 12, n).round()
    covariates = pd.DataFrame(
        {
            "age": age,
            "sex": rng.integers(0, 2, n),
            "place": rng.choice(["north", "mid", "south"], n),
        }
    )
    pull = (age - 50)[:, None] / 20 + rng.normal(size=(n, 1))
    labels = pd.DataFrame(
        (rng.random((n, n_labels)) < expit(pull - 0.5)).astype(int),
        columns=[f"y{k + 1}" for k in range(n_labels)],
    )
    features = pd.DataFrame(
        rng.normal(size=(n, n_features)) + (age - 50)[:, None] / 15,
        columns=[f"x{j + 1}" for j in range(n_features)],
    )
    return labels, features, covariates


# Reference values


def test_estimates_are_those_of_r(res):
    nodes = load("context", "nodes")
    names = {
        "(Intercept)": "const",
        "regionnorth": "region[T.north]",
        "regionsouth": "region[T.south]",
    }
    for row in nodes.itertuples():
        term = names.get(row.term, row.term)
        assert res.params.loc[term, row.label] == pytest.approx(row.estimate, rel=1e-7)
        assert res.bse.loc[term, row.label] == pytest.approx(row.se, rel=1e-6)
        assert res.nodes[row.label].params[term] == pytest.approx(row.estimate, rel=1e-7)
        assert res.nodes[row.label].bse[term] == pytest.approx(row.se, rel=1e-6)
    llf = nodes.groupby("label")["loglik"].first()
    np.testing.assert_allclose([fit.llf for fit in res.fits], llf[LABELS], rtol=1e-9)


def test_tests_of_features_are_those_of_r(res):
    reference = load("context", "edges").set_index(["feature", "label"])
    tests = {"score": res.score_test(), "lr": res.lr_test(), "wald": res.wald_test()}
    for name, edges in tests.items():
        found = [edges.statistics.loc[edge] for edge in reference.index]
        np.testing.assert_allclose(found, reference[name], rtol=1e-6, atol=1e-8)
    effects = tests["wald"]
    for edge, row in reference.iterrows():
        assert effects.params.loc[edge] == pytest.approx(row["coef"], rel=1e-6)
        assert effects.bse.loc[edge] == pytest.approx(row["se"], rel=1e-6)


@pytest.mark.parametrize("test", ["score", "lr"])
def test_products_given_their_feature_are_those_of_r(res, test):
    reference = load("context", "moderation")
    together = getattr(res, f"{test}_test")(products="given-joint")
    for row in reference[reference["with"] == "all"].itertuples():
        edge = row.feature, row.label
        assert together.statistics.loc[edge] == pytest.approx(getattr(row, test), rel=1e-6)
        assert together.df.loc[edge] == row.df


def test_wald_tests_of_products_given_their_feature(frame, res):
    together = res.wald_test(["x2"], products="given-joint").statistics
    glm = smf.glm(
        "y1 ~ y2 + y3 + y4 + age + sex + region + x2 + x2:y2 + x2:y3 + x2:y4",
        frame,
        family=sm.families.Binomial(),
    ).fit(tol=1e-12)
    block = glm.wald_test("x2:y2 = x2:y3 = x2:y4 = 0", scalar=True)
    assert together.loc["x2", "y1"] == pytest.approx(float(block.statistic), rel=1e-5)


@pytest.mark.parametrize("values", [{"age": 70.0}, {"x1": 1.5}, {"region": "south"}])
def test_the_network_at_a_value_is_that_of_a_model_with_products(frame, res, values):
    ((name, value),) = values.items()
    centred = f'C({name}, Treatment("{value}"))' if name == "region" else f"I({name} - {value})"
    others = " + ".join(column for column in COVARIATES if column != name)
    network = res.at(values)
    for label in LABELS:
        rest = " + ".join(other for other in LABELS if other != label)
        glm = smf.glm(
            f"{label} ~ ({rest}) * {centred} + {others}", frame, family=sm.families.Binomial()
        ).fit(tol=1e-12)
        for other in LABELS:
            if other != label:
                assert network.params.loc[other, label] == pytest.approx(glm.params[other])
                assert network.bse.loc[other, label] == pytest.approx(glm.bse[other], rel=1e-5)


def test_the_threshold_at_a_value_has_the_other_covariates_at_their_means(frame, res):
    network = res.at({"age": 70.0})
    middle = frame.assign(south=frame.region == "south", north=frame.region == "north")
    for name in ("sex", "south", "north"):
        middle[name] = middle[name] - middle[name].mean()
    glm = smf.glm(
        "y2 ~ (y1 + y3 + y4) * I(age - 70) + sex + south + north",
        middle.astype({"south": float, "north": float}),
        family=sm.families.Binomial(),
    ).fit(tol=1e-12)
    assert network.thresholds["y2"] == pytest.approx(glm.params["Intercept"])
    assert network.thresholds_bse["y2"] == pytest.approx(glm.bse["Intercept"], rel=1e-5)


# Two ways to the same


def test_splines_are_covariates(frame):
    model = im.IsingModel.from_formula("y1 + y2 ~ x1", frame, covariates="bs(age, df=4) + C(sex)")
    assert model.statistics.context.described == ("bs(age, df=4)", "C(sex)")
    glm = smf.glm("y1 ~ y2 + bs(age, df=4) + C(sex)", frame, family=sm.families.Binomial())
    fitted = glm.fit(tol=1e-12)
    assert model.fit().fits[0].llf == pytest.approx(fitted.llf, rel=1e-9)


@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
def test_categories_equal_dummies_and_cells_equal_rows(penalty):
    labels, features, covariates = draw()
    dummies = pd.get_dummies(covariates, columns=["place"], drop_first=True)
    # A column that tells all rows apart, but changes nothing: every row is a cell of its own.
    by_category = im.IsingModel(labels, features, covariates=covariates).fit(penalty=penalty)
    by_dummies = im.IsingModel(labels, features, covariates=dummies).fit(penalty=penalty)
    np.testing.assert_allclose(by_category.params, by_dummies.params, rtol=1e-8)
    for products in (None, "individual", "joint", "given", "given-joint"):
        np.testing.assert_allclose(
            by_category.score_test(products=products).statistics,
            by_dummies.score_test(products=products).statistics,
            rtol=1e-7,
        )


def test_score_statistics_are_those_of_statsmodels_on_rows():
    labels, features, covariates = draw(1)
    res = im.IsingModel(labels, features, covariates=covariates[["age", "sex"]]).fit()
    design = sm.add_constant(labels[["y2", "y3"]].join(covariates[["age", "sex"]]).astype(float))
    glm = sm.GLM(labels["y1"], design, family=sm.families.Binomial()).fit(tol=1e-14)
    for name in features:
        expected = glm.model.score_test(glm.params, exog_extra=features[[name]].to_numpy())[0]
        found = res.score_test().statistics.loc[name, "y1"]
        assert found == pytest.approx(float(np.squeeze(expected)), rel=1e-6)


# What must hold for all data

numbers = st.integers(0, 10_000)


@settings(deadline=None, max_examples=25)
@given(seed=numbers)
@pytest.mark.filterwarnings(OURS)
def test_order_unit_and_origin_of_covariates_do_not_matter(seed):
    labels, features, covariates = draw(seed, n=120)
    plain = im.IsingModel(labels, features, covariates=covariates).fit()
    turned = covariates[["place", "sex", "age"]].assign(
        age=lambda table: 1e6 + table["age"] / 1e3, sex=lambda table: 1 - table["sex"]
    )
    other = im.IsingModel(labels, features, covariates=turned).fit()
    np.testing.assert_allclose(
        other.score_test().statistics, plain.score_test().statistics, rtol=1e-5, atol=1e-8
    )
    label_rows = ["y1", "y2", "y3"]
    np.testing.assert_allclose(
        other.params.loc[label_rows], plain.params.loc[label_rows], rtol=1e-5, atol=1e-8
    )


@pytest.mark.filterwarnings(OURS)
def test_aliased_covariates_change_no_test():
    labels, features, covariates = draw(4)
    plain = im.IsingModel(labels, features, covariates=covariates).fit()
    twice = covariates.assign(months=12 * covariates["age"], male=1 - covariates["sex"])
    with pytest.warns(im.exceptions.AliasingWarning, match="'months', 'male'"):
        res = im.IsingModel(labels, features, covariates=twice).fit()
    assert res.params.loc[["months", "male"]].isna().all(axis=None)
    np.testing.assert_allclose(
        res.score_test().statistics, plain.score_test().statistics, rtol=1e-7
    )
    np.testing.assert_allclose(res.predict(), plain.predict(), rtol=1e-7)


def test_a_feature_that_covariates_explain_is_collinear():
    labels, features, covariates = draw(5)
    more = features.assign(age=covariates["age"], mixed=2 * covariates["age"] - covariates["sex"])
    for covariates_given in (covariates, sparse.csr_array(covariates[["age", "sex"]])):
        res = im.IsingModel(labels, more, covariates=covariates_given).fit()
        for edges in (res.score_test(), res.lr_test(), res.wald_test()):
            assert (edges.reasons.loc[["age", "mixed"]] == "collinear-feature").all(axis=None)
            assert edges.statistics.loc[["age", "mixed"]].isna().all(axis=None)
            assert (edges.reasons.loc["x1"] == "ok").all()
    assert "covariates" in im.Reason.COLLINEAR_FEATURE.meaning


# Separation


@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
def test_a_category_that_separates_a_label(penalty):
    labels, features, covariates = draw(6)
    # Nobody in the south has y1: that level settles its rows, and the others are as without it.
    labels.loc[covariates["place"] == "south", "y1"] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", im.exceptions.SeparationWarning)
        res = im.IsingModel(labels, features, covariates=covariates).fit(penalty=penalty)
    if penalty == "firth":
        assert np.isfinite(res.params.loc["place[T.south]", "y1"])
        return
    assert res.params.loc["place[T.south]", "y1"] == -np.inf
    kept = covariates["place"] != "south"
    alone = im.IsingModel(labels[kept], features[kept], covariates=covariates[kept])
    alone = alone.fit(penalty=penalty)
    rows = ["const", "y2", "y3", "age", "sex", "place[T.north]"]
    np.testing.assert_allclose(res.params.loc[rows, "y1"], alone.params.loc[rows, "y1"], rtol=1e-6)
    np.testing.assert_allclose(res.bse.loc[rows, "y1"], alone.bse.loc[rows, "y1"], rtol=1e-6)
    np.testing.assert_allclose(
        res.score_test().statistics["y1"], alone.score_test().statistics["y1"], rtol=1e-6
    )
    assert (res.predict().loc[~kept, "y1"] == 0).all()


@pytest.mark.parametrize("penalty", [None, 1.0])
@pytest.mark.filterwarnings(FEW_ROWS)
def test_a_number_that_separates_a_label_in_part_of_the_rows(penalty):
    labels, features, covariates = draw(7)
    # Above 60 everybody has y1, below nobody; at 60 there are both.
    age = covariates["age"].copy()
    labels["y1"] = (age > 60).astype(int)
    at = age.between(58, 62)
    age[at] = 60.0
    covariates = covariates.assign(age=age)[["age"]]
    with pytest.warns(im.exceptions.SeparationWarning, match="labels and the covariates"):
        res = im.IsingModel(labels, features, covariates=covariates).fit(penalty=penalty)
    assert res.fits[0].in_play.sum() > 0
    np.testing.assert_array_equal(res.predict()["y1"][~at], (age > 60)[~at])
    assert res.params.loc["age", "y1"] == np.inf
    assert res.params.loc["const", "y1"] == -np.inf
    alone = im.IsingModel(labels[at], features[at]).fit(penalty=penalty)
    np.testing.assert_allclose(
        res.params.loc[["y2", "y3"], "y1"], alone.params.loc[["y2", "y3"], "y1"], rtol=1e-6
    )
    np.testing.assert_allclose(
        res.score_test().statistics["y1"], alone.score_test().statistics["y1"], rtol=1e-6
    )


# Distributions


def confounded(seed, n=500, n_features=30):
    """Features and labels that go together through age alone, features with growing spread."""
    rng = np.random.default_rng(seed)
    age, sex = rng.normal(size=n), rng.integers(0, 2, n)
    shared = 0.7 * rng.normal(size=n)
    pull = np.column_stack([0.7 * age, -0.7 * age, 0.7 * age]) + 0.5 * sex[:, None]
    labels = (rng.random((n, 3)) < expit(pull + shared[:, None] - 0.4)).astype(int)
    spread = np.exp(0.4 * age)[:, None]
    features = rng.normal(size=(n, n_features)) * spread + (0.6 * age + 0.5 * sex)[:, None]
    return labels, features, np.column_stack([age, sex])


@pytest.mark.slow
def test_adjusted_tests_keep_their_level_where_others_do_not():
    edges, of_features, unadjusted = [], [], []
    for seed in range(40):
        labels, features, covariates = confounded(seed)
        found = im.IsingModel(labels, features, covariates=covariates).fit().score_test()
        edges.append(found.pvalues.to_numpy().ravel())
        of_features.append(found.feature_pvalues().to_numpy())
        plain = im.IsingModel(labels, features).fit().score_test()
        unadjusted.append(plain.pvalues.to_numpy().ravel())
    # Features of one data set share their labels: allow for it beside the Monte-Carlo error.
    assert np.mean(np.concatenate(edges) < 0.05) == pytest.approx(0.05, abs=0.012)
    assert np.mean(np.concatenate(of_features) < 0.05) == pytest.approx(0.05, abs=0.02)
    assert np.mean(np.concatenate(unadjusted) < 0.05) > 0.3


@pytest.mark.slow
def test_products_given_a_strong_feature_keep_their_level():
    rejected = {"exact": [], "difference": []}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(600, 8))
        shared = 0.5 * rng.normal(size=(600, 1))
        # Each feature acts strongly on all labels, and alike whatever the other labels are.
        effect = x.sum(axis=1, keepdims=True) * 0.5
        labels = (rng.random((600, 3)) < expit(effect + shared)).astype(int)
        res = im.IsingModel(labels, x).fit()
        given_it = res.score_test(products="given-joint")
        rejected["exact"].append(given_it.pvalues.to_numpy() < 0.05)
        joint, alone = res.score_test(products="joint"), res.score_test()
        difference = joint.statistics - alone.statistics
        rejected["difference"].append(difference.to_numpy() > 5.991)
    assert np.mean(rejected["exact"]) == pytest.approx(0.05, abs=0.025)
    assert np.mean(rejected["exact"]) > np.mean(rejected["difference"])


def test_permutations_stay_within_strata():
    labels, features, covariates = confounded(1, n=300, n_features=6)
    strata = pd.DataFrame(
        {"old": covariates[:, 0] > 0, "sex": np.where(covariates[:, 1] == 1, "m", "f")}
    )
    res = im.IsingModel(labels, features, covariates=strata).fit()
    options = {"pvalue": "permutation", "n_permutations": 400, "random_state": 0}
    found = res.score_test(**options)
    # Permuting within strata by hand, with a refit of nothing: the same distribution.
    rng = np.random.default_rng(1)
    groups = strata["old"].astype(int) * 2 + (strata["sex"] == "m")
    exceed = np.zeros(found.statistics.shape)
    for _ in range(400):
        shuffled = features.copy()
        for group in range(4):
            rows = np.flatnonzero(groups == group)
            shuffled[rows] = features[rng.permutation(rows)]
        again = im.IsingModel(labels, shuffled, covariates=strata).fit().score_test()
        exceed += again.statistics.to_numpy() >= found.statistics.to_numpy()
    np.testing.assert_allclose(found.pvalues, (1 + exceed) / 401, atol=0.11)
    numeric = im.IsingModel(labels, features, covariates=covariates).fit()
    with pytest.raises(im.exceptions.ModelError, match=r"'c1' are numbers.*saddlepoint"):
        numeric.score_test(**options)


def test_saddlepoint_agrees_with_permutation_within_strata():
    labels, features, covariates = confounded(2, n=400, n_features=5)
    features = np.exp(features)
    strata = pd.DataFrame({"old": covariates[:, 0] > 0})
    res = im.IsingModel(labels, features, covariates=strata).fit()
    saddle = res.score_test(pvalue="saddlepoint").pvalues.to_numpy()
    assert ((saddle >= 0) & (saddle <= 1)).all()
    plain = res.score_test().pvalues.to_numpy()
    np.testing.assert_allclose(saddle[plain > 0.05], plain[plain > 0.05])


# Other tests and results


def test_nested_models_differ_by_their_covariates(frame):
    full = im.IsingModel(frame[LABELS], covariates=frame[["age", "sex"]]).fit()
    less = im.IsingModel(frame[LABELS], covariates=frame[["sex"]]).fit()
    none = im.IsingModel(frame[LABELS]).fit()
    found = full.compare_lr_test(less)
    glm = smf.glm("y1 ~ y2 + y3 + y4 + sex", frame, family=sm.families.Binomial()).fit(tol=1e-12)
    more = smf.glm("y1 ~ y2 + y3 + y4 + sex + age", frame, family=sm.families.Binomial())
    expected = 2 * (more.fit(tol=1e-12).llf - glm.llf)
    assert found.loc["y1", "statistic"] == pytest.approx(expected, rel=1e-7)
    assert (found["df"] == 1).all()
    assert (full.compare_lr_test(none)["df"] == 2).all()
    with pytest.raises(im.exceptions.ModelError, match=r"not nested.*covariate\(s\) 'sex'"):
        none.compare_lr_test(less)


def test_terms_are_tested_given_covariates(frame):
    model = im.IsingModel.from_formula(
        "y1 + y2 + y3 + y4 ~ C(region) + x1", frame, covariates="age + sex"
    )
    found = model.fit().score_test(unit="term")
    glm = smf.glm("y1 ~ y2 + y3 + y4 + age + sex", frame, family=sm.families.Binomial())
    fitted = glm.fit(tol=1e-14)
    extra = pd.get_dummies(frame["region"], drop_first=True).to_numpy(float)
    statistic, _, df = fitted.model.score_test(fitted.params, exog_extra=extra)
    assert found.statistics.loc["C(region)", "y1"] == pytest.approx(np.squeeze(statistic), rel=1e-6)
    assert found.df.loc["C(region)", "y1"] == df


def test_without_rows_products_take_one_step(frame, res):
    stats = im.LabelsetStatistics.from_arrays(
        frame[LABELS], frame[FEATURES], covariates=frame[COVARIATES]
    )
    bare = im.IsingModel.from_statistics(stats).fit()
    with pytest.warns(im.exceptions.DataWarning, match="needs rows"):
        step = bare.score_test(products="given-joint")
    assert "0 of 20 edges refitted" in step.note
    np.testing.assert_allclose(
        step.statistics,
        res.score_test(products="given-joint", refit=False).statistics,
        rtol=1e-8,
    )
    # Weak effects of features that are not skewed: the step comes near.
    exact = res.score_test(products="given-joint", refit=True)
    weak = (res.score_test().statistics < 4).drop(index="x4")
    near = np.isclose(
        step.statistics.drop(index="x4"), exact.statistics.drop(index="x4"), rtol=0.06, atol=0.02
    )
    assert near[weak.to_numpy()].all()
    with pytest.raises(im.exceptions.ModelError, match="needs the rows"):
        bare.score_test(products="given", refit=True)


@pytest.mark.slow
def test_intervals_of_interactions_at_a_value_cover(frame):
    covered = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        age = rng.normal(size=800)
        first = rng.random(800) < 0.5
        slope = 0.4 + 0.5 * age
        second = rng.random(800) < expit(-0.3 + slope * first)
        labels = np.column_stack([first, second]).astype(int)
        res = im.IsingModel(labels, covariates=age[:, None], covariate_names=["age"]).fit()
        row = res.at({"age": 1.0}).to_frame().iloc[0]
        covered.append(row["lower"] < 0.9 < row["upper"])
    assert np.mean(covered) > 0.88


def test_all_terms_of_a_column_follow_it(frame):
    formula = "y1 + y2 + y3 + y4 ~ x1"
    plain = im.IsingModel.from_formula(formula, frame, covariates="bs(age, df=4) + sex").fit()
    network = plain.at({"age": 60.0})
    glm = smf.glm("y2 ~ (y1 + y3 + y4) * bs(age, df=4) + sex", frame, family=sm.families.Binomial())
    fitted = glm.fit(tol=1e-12)
    point = {"age": 60.0, "sex": frame["sex"].mean(), "y1": 0, "y3": 0, "y4": 0}
    rows = pd.DataFrame([point, point | {"y3": 1}])
    low, high = np.log(fitted.predict(rows) / (1 - fitted.predict(rows)))
    assert network.thresholds["y2"] == pytest.approx(low, rel=1e-6)
    assert network.params.loc["y3", "y2"] == pytest.approx(high - low, rel=1e-6)
    crossed = im.IsingModel.from_formula(formula, frame, covariates="age * C(sex)").fit()
    with pytest.raises(im.exceptions.DataError, match=r"values must have 'sex' too"):
        crossed.at({"age": 60.0})
    both = crossed.at({"age": 60.0, "sex": 1})
    assert both.at_means == ()
    with pytest.raises(im.exceptions.DataError, match=r"age:C\(sex\)"):
        crossed.at({"age:C(sex)[T.1]": 1.0})


def test_raw_columns_predict_where_a_formula_made_the_covariates(tmp_path, frame):
    model = im.IsingModel.from_formula("y1 + y2 ~ x1", frame, covariates="bs(age, df=4) + C(sex)")
    res = model.fit()
    head = frame.head(5)
    pd.testing.assert_frame_equal(res.predict(head[["y1", "y2"]], head), res.predict().head(5))
    with pytest.raises(im.exceptions.DataError, match="lacks the column"):
        res.predict(head[["y1", "y2"]], head[["age"]])
    res.save(tmp_path / "fit.npz")
    with pytest.raises(im.exceptions.ModelError, match="formula"):
        im.IsingResults.load(tmp_path / "fit.npz").at({"age": 50.0})


@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
@pytest.mark.filterwarnings(OURS)
def test_interactions_of_a_label_that_does_not_vary_at_a_level_are_unknown(penalty):
    labels, _, covariates = draw(6)
    labels.loc[covariates["place"] == "south", "y1"] = 0
    res = im.IsingModel(labels, covariates=covariates).fit(penalty=penalty)
    south, north = (res.at({"place": place}) for place in ("south", "north"))
    assert south.interactions.loc["y1", ["y2", "y3"]].isna().all()
    assert np.isfinite(south.interactions.loc["y2", "y3"])
    assert south.to_frame().loc[0, ["se", "pvalue"]].isna().all()
    assert np.isfinite(north.interactions).all(axis=None)


def test_aliased_covariates_are_said_where_they_leave_thresholds_open():
    labels, _, covariates = draw(4)
    with pytest.warns(im.exceptions.AliasingWarning):
        res = im.IsingModel(
            labels, covariates=covariates.assign(days=365 * covariates["age"])
        ).fit()
    with pytest.warns(im.exceptions.DataWarning, match="not identified at these values"):
        network = res.at({"age": 50})
    assert network.thresholds.isna().all()


# Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.iloc[:-1], "rows"),
        (lambda c: c.assign(age=c["age"].where(c["age"] < 60)), r"'age' \(\d+\)"),
        (lambda c: c.assign(y1=1.0), "named as label and as covariate"),
        (lambda c: c.assign(x1=1.0), "named as feature and as covariate"),
        (lambda c: c.assign(age=np.inf), "infinite"),
        (lambda c: c.assign(when=pd.Timestamp("2020-01-01")), "dates"),
        (lambda c: c.assign(const=c["age"]), "const"),
        (lambda c: c.assign(name=[f"p{i}" for i in range(len(c))]), "columns for 400 rows"),
    ],
)
def test_covariates_that_cannot_be_used(change, message):
    labels, features, covariates = draw()
    with pytest.raises(im.exceptions.DataError, match=message):
        im.IsingModel(labels, features, covariates=change(covariates))


def test_a_covariate_that_is_a_label_is_an_error():
    labels, features, covariates = draw()
    for copy in (labels["y2"], 1 - labels["y2"]):
        with pytest.raises(im.exceptions.DataError, match=r"'copy' is the label 'y2'"):
            im.IsingModel(labels, features, covariates=covariates.assign(copy=copy))


def test_rows_without_covariates_are_dropped_and_counted():
    labels, features, covariates = draw()
    gaps = covariates.copy()
    gaps.loc[[3, 7], "age"] = np.nan
    gaps.loc[7, "place"] = None
    said = r"2 of 400.*'age' lacks 2 values \(1 of.*, 'place' 1 \(0\)"
    with pytest.warns(im.exceptions.DataWarning, match=said):
        model = im.IsingModel(labels, features, covariates=gaps, missing="drop")
    kept = labels.index.difference([3, 7])
    other = im.IsingModel(labels.loc[kept], features.loc[kept], covariates=covariates.loc[kept])
    pd.testing.assert_frame_equal(model.fit().params, other.fit().params)


def test_predictions_need_the_covariates(res):
    with pytest.raises(im.exceptions.DataError, match="'age', 'sex', 'region', but none"):
        res.predict([[0, 0, 0, 0]])
    row = pd.DataFrame({"age": [50], "sex": [1], "region": ["west"]})
    with pytest.raises(im.exceptions.DataError, match="'west', which the model has not seen"):
        res.predict([[0, 0, 0, 0]], row)
    with pytest.raises(im.exceptions.DataError, match="lacks the column"):
        res.predict([[0, 0, 0, 0]], row.drop(columns="age"))
    row = row.assign(region="mid")
    with pytest.raises(im.exceptions.DataError, match=r"infinite values in 1 row.*'age'"):
        res.predict([[0, 0, 0, 0]], row.assign(age=np.inf))
    with pytest.raises(im.exceptions.DataError, match=r"missing values in 1 row.*'region'"):
        res.predict([[0, 0, 0, 0]], row.assign(region=None))
    frame = pd.DataFrame([[0, 0, 0, 0]], columns=LABELS)
    with pytest.raises(im.exceptions.DataError, match="index"):
        res.predict(frame, row.set_axis([7]))


def test_values_that_cannot_be_moderators(res):
    for values, message in (
        ({"height": 3}, "'height'"),
        ({}, "empty"),
        ({"region": "west"}, "one of its levels"),
        ({"age": "old"}, "number"),
        ([70], "map names"),
    ):
        with pytest.raises(im.exceptions.DataError, match=message):
            res.at(values)
    with pytest.raises(im.exceptions.DataError, match="list of values"):
        res.plot_at({"age": 70})
    with pytest.raises(im.exceptions.ModelError, match="rows"):
        res.remove_data().at({"x1": 1.0})


def test_networks_outside_the_data_are_warned_of_once():
    data = im.datasets.load_example()
    features = data.features
    res = im.IsingModel(
        data.labels, features[["bmi"]], covariates=features[["age", "smoker"]]
    ).fit()
    low, high = features["age"].min(), features["age"].max()
    message = rf"outside the data: age = 900 \(in the data {low:g} to {high:g}\)"
    with pytest.warns(im.exceptions.DataWarning, match=message) as found:
        res.at({"age": 900, "bmi": 25})
    assert len(found) == 1
    with pytest.warns(im.exceptions.DataWarning, match="bmi = -1"):
        res.at({"bmi": -1})
    for age in (low, high):
        res.at({"age": age})
