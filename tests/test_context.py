"""Covariates in every label model: against R and statsmodels, by properties and by simulation."""

import warnings

import hypothesis.extra.numpy as hnp
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
    run = getattr(res, f"{test}_test")
    single = reference[reference["with"] != "all"].set_index(["feature", "label", "with"])
    each = run(products="given").to_frame()
    found = each[each["with"] != ""].set_index(["feature", "label", "with"])["statistic"]
    np.testing.assert_allclose(found.loc[single.index], single[test], rtol=1e-6, atol=1e-6)
    together = run(products="given-joint")
    for row in reference[reference["with"] == "all"].itertuples():
        edge = row.feature, row.label
        assert together.statistics.loc[edge] == pytest.approx(getattr(row, test), rel=1e-6)
        assert together.df.loc[edge] == row.df


def test_wald_tests_of_products_given_their_feature(frame, res):
    found = res.wald_test(["x2"], products="given").to_frame().set_index(["label", "with"])
    together = res.wald_test(["x2"], products="given-joint").statistics
    glm = smf.glm(
        "y1 ~ y2 + y3 + y4 + age + sex + region + x2 + x2:y3", frame, family=sm.families.Binomial()
    ).fit(tol=1e-12)
    expected = (glm.params["x2:y3"] / glm.bse["x2:y3"]) ** 2
    assert found.loc[("y1", "y3"), "statistic"] == pytest.approx(expected, rel=1e-5)
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


def test_formulas_and_frames_make_the_same_model(frame, res):
    formula = "y1 + y2 + y3 + y4 ~ x1 + x2 + x3 + x4 + x5"
    other = im.IsingModel.from_formula(formula, frame, covariates="age + sex + C(region)").fit()
    assert other.model.statistics.context.described == ("age", "sex", "C(region)")
    np.testing.assert_allclose(other.params, res.params, rtol=1e-9)
    np.testing.assert_allclose(other.score_test().statistics, res.score_test().statistics)


def test_splines_are_covariates(frame):
    model = im.IsingModel.from_formula("y1 + y2 ~ x1", frame, covariates="bs(age, df=4) + C(sex)")
    assert model.statistics.context.described == ("bs(age, df=4)", "C(sex)")
    glm = smf.glm("y1 ~ y2 + bs(age, df=4) + C(sex)", frame, family=sm.families.Binomial())
    fitted = glm.fit(tol=1e-12)
    assert model.fit().fits[0].llf == pytest.approx(fitted.llf, rel=1e-9)


@pytest.mark.parametrize("method", ["mle", "ridge", "firth"])
def test_categories_equal_dummies_and_cells_equal_rows(method):
    labels, features, covariates = draw()
    dummies = pd.get_dummies(covariates, columns=["place"], drop_first=True)
    # A column that tells all rows apart, but changes nothing: every row is a cell of its own.
    by_category = im.IsingModel(labels, features, covariates=covariates).fit(method=method)
    by_dummies = im.IsingModel(labels, features, covariates=dummies).fit(method=method)
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


def test_parts_add_up():
    labels, features, covariates = draw(2)
    # The first part lacks a level that the second has.
    order = np.argsort(covariates["place"].eq("south"), kind="stable")
    parts = [
        im.LabelsetStatistics.from_arrays(
            labels.iloc[rows], features.iloc[rows], covariates=covariates.iloc[rows]
        )
        for rows in np.array_split(order, 3)
    ]
    assert parts[0].context.levels[2] == ("mid", "north")
    res = im.IsingModel.from_statistics(parts[2] + parts[0] + parts[1]).fit()
    whole = im.IsingModel(labels, features, covariates=covariates).fit()
    pd.testing.assert_frame_equal(res.params, whole.params, rtol=1e-9)
    np.testing.assert_allclose(
        res.score_test().statistics, whole.score_test().statistics, rtol=1e-8
    )
    with pytest.raises(im.exceptions.DataError, match="covariates are the same"):
        parts[0] + im.LabelsetStatistics.from_arrays(labels, features)


def test_saved_results_keep_their_covariates(tmp_path, res):
    res.save(tmp_path / "fit.npz")
    again = im.IsingResults.load(tmp_path / "fit.npz")
    pd.testing.assert_frame_equal(again.params, res.params)
    np.testing.assert_allclose(again.score_test().statistics, res.score_test().statistics)
    rows = [[1, 0, 0, 1]], pd.DataFrame({"region": ["mid"], "sex": [1], "age": [40]})
    pd.testing.assert_frame_equal(again.predict(*rows), res.predict(*rows))


def test_predictions_are_those_of_the_rows(frame, res):
    again = res.predict(frame[LABELS], frame[COVARIATES])
    pd.testing.assert_frame_equal(again, res.predict(), check_index_type=False)
    glm = smf.glm("y1 ~ y2 + y3 + y4 + age + sex + region", frame, family=sm.families.Binomial())
    np.testing.assert_allclose(again["y1"], glm.fit(tol=1e-12).fittedvalues, rtol=1e-7)


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


@settings(deadline=None, max_examples=25)
@given(seed=numbers)
@pytest.mark.filterwarnings(OURS)
def test_order_of_rows_labels_and_features_does_not_matter(seed):
    labels, features, covariates = draw(seed, n=120)
    rows = np.random.default_rng(seed).permutation(len(labels))
    plain = im.IsingModel(labels, features, covariates=covariates).fit().score_test()
    turned = im.IsingModel(
        labels.iloc[rows, ::-1], features.iloc[rows, ::-1], covariates=covariates.iloc[rows]
    )
    found = turned.fit().score_test().statistics.loc[list(features), list(labels)]
    np.testing.assert_allclose(found, plain.statistics, rtol=1e-7, atol=1e-9)


def test_a_constant_covariate_changes_nothing():
    labels, features, covariates = draw(3)
    plain = im.IsingModel(labels, features, covariates=covariates).fit()
    more = covariates.assign(same=1.0, all_alike="here")
    with pytest.warns(im.exceptions.DataWarning, match=r"'same', 'all_alike' are the same"):
        model = im.IsingModel(labels, features, covariates=more)
    assert model.covariate_names == ("age", "sex", "place")
    res = model.fit()
    pd.testing.assert_frame_equal(res.params, plain.params)
    pd.testing.assert_frame_equal(res.score_test().statistics, plain.score_test().statistics)
    pd.testing.assert_frame_equal(res.predict(), plain.predict())
    np.testing.assert_allclose(res.lr_test().statistics, plain.lr_test().statistics)


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


@pytest.mark.parametrize("method", ["mle", "ridge"])
def test_covariates_that_are_all_but_the_same(method):
    labels, features, covariates = draw(4, n=60)
    rng = np.random.default_rng(0)
    age = covariates["age"] - 50
    # Their difference settles much, so their coefficients are large and of opposite sign.
    near = age + 1e-3 * (labels["y1"] + rng.normal(size=60))
    given = pd.DataFrame({"age": age, "near": near})
    apart = pd.DataFrame({"age": age, "difference": near - age})
    one = im.IsingModel(labels, features, covariates=given).fit(method=method)
    two = im.IsingModel(labels, features, covariates=apart).fit(method=method)
    assert one.converged
    assert one.params.loc["near", "y1"] > 100
    np.testing.assert_allclose(one.predict(), two.predict(), atol=1e-8)
    np.testing.assert_allclose(one.params.loc["near"], two.params.loc["difference"], rtol=1e-5)
    if method == "mle":
        apart["difference"] *= 1e3
        design = sm.add_constant(labels[["y2", "y3"]].join(apart))
        glm = sm.GLM(labels["y1"], design, family=sm.families.Binomial()).fit(tol=1e-14)
        np.testing.assert_allclose(one.predict()["y1"], glm.fittedvalues, atol=1e-8)


@pytest.mark.parametrize("size", [1e-4, 1e-6, 1e-7])
def test_covariates_that_differ_in_their_last_digits(size):
    """Cross-products do not tell them apart, columns do; nothing is dropped or settled."""
    rng = np.random.default_rng(0)
    age, other = rng.normal(size=(2, 200))
    labels = (rng.random((200, 2)) < expit(np.outer(other, [1.0, 0.0]))).astype(int)
    near = pd.DataFrame({"age": age, "near": age + size * other})
    apart = pd.DataFrame({"age": age, "other": other})
    one, two = (im.IsingModel(labels, covariates=given).fit() for given in (near, apart))
    assert one.converged
    assert one.llf == pytest.approx(two.llf, abs=1e-6)
    np.testing.assert_allclose(one.predict(), two.predict(), atol=1e-7)
    expected = two.params.loc["other", "y1"] / size
    assert one.params.loc["near", "y1"] == pytest.approx(expected, rel=1e-6)


def test_what_rounding_left_of_a_covariate_is_no_covariate():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (100, 2))
    time = 1e8 + rng.normal(size=100)
    given = pd.DataFrame({"time": time, "later": 3.0 + 0.7 * time})
    with pytest.warns(im.exceptions.AliasingWarning, match="later"):
        res = im.IsingModel(labels, covariates=given).fit()
    alone = im.IsingModel(labels, covariates=given[["time"]]).fit()
    assert res.llf == pytest.approx(alone.llf, abs=1e-6)


@pytest.mark.filterwarnings(OURS)
def test_a_maximum_that_few_digits_of_small_weights_hold_is_found():
    # Cross-products of regressors had lost what the rows of margins around 40 say.
    rows = ["00000", "10111", "10100", "01101", "01110", "10001", "00100"]
    labels = np.array([[digit == "1" for digit in row] for row in rows]).astype(int)
    c = pd.DataFrame({"c": [0.701, 0.8446, 5.2974, -7.7405, -1.2393, 0.4468, -40.6856]})
    found = []
    for column in (c, 1e9 * c, c.iloc[::-1]):
        res = im.IsingModel(labels[column.index], covariates=column, intercept=False).fit()
        assert res.converged
        found.append([fit.llf for fit in res.fits])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-9)


@pytest.mark.filterwarnings(OURS)
def test_a_maximum_that_is_far_out_is_found():
    # A row that is certain soon lets two others, which tell little, send the coefficient far.
    age = np.array([1e-4, -1.5e-3, 1.0])
    res = im.IsingModel([[0], [0], [1]], covariates=age[:, None], intercept=False).fit()
    assert res.converged
    chance = res.predict().to_numpy()[:, 0]
    assert age @ (np.array([0, 0, 1]) - chance) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("size", [1e3, 1e9, 1e12, 1e14])
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_an_outlier_of_any_size_leaves_the_fit_of_the_others(size):
    rng = np.random.default_rng(0)
    c = rng.normal(size=60)
    labels = np.column_stack([rng.random(60) < expit(c), rng.random(60) < 0.5]).astype(int)
    labels[0, 0], c[0] = 1, size
    x = rng.normal(size=60)
    res = im.IsingModel(labels, x[:, None], covariates=pd.DataFrame({"c": c})).fit()
    # With this coefficient the row of the outlier is certain.
    rest = np.column_stack([np.ones(59), labels[1:, 1], c[1:]])
    expected = sm.Logit(labels[1:, 0], rest).fit(disp=0, tol=1e-13)
    assert res.converged
    found = res.params["y1"].drop("y1")
    np.testing.assert_allclose(found, expected.params, rtol=1e-9)
    np.testing.assert_allclose(res.bse["y1"].drop("y1"), expected.bse, rtol=1e-9)
    edge = res.score_test().loc["x1", "y1"]
    assert edge.statistic == pytest.approx(score_on_rows(expected, x[1:]), rel=1e-9)


def score_on_rows(fit, x):
    """Give the score statistic of a column for a fit by statsmodels."""
    weight = fit.predict() * (1 - fit.predict())
    root = np.sqrt(weight)[:, None]
    rest = root[:, 0] * x
    slope = np.linalg.lstsq(root * fit.model.exog, rest, rcond=None)[0]
    rest = rest - root * fit.model.exog @ slope
    return (fit.resid_response @ x) ** 2 / (rest @ rest)


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


def test_products_of_a_covariate_are_tested_given_it():
    labels, features, covariates = draw(5)
    more = features.assign(age=covariates["age"])
    res = im.IsingModel(labels, more, covariates=covariates).fit()
    for products in ("individual", "given"):
        edges = res.score_test(products=products).to_frame().set_index(["feature", "label", "with"])
        assert edges.loc[("age", "y1", ""), "reason"] == "collinear-feature"
        assert edges.loc[("age", "y1", "y2"), "reason"] == "ok"
        assert edges.loc[("age", "y1", "y2"), "statistic"] > 0
    glm = sm.GLM(
        labels["y1"],
        sm.add_constant(
            labels[["y2", "y3"]].join(pd.get_dummies(covariates, drop_first=True))
        ).astype(float),
        family=sm.families.Binomial(),
    ).fit(tol=1e-14)
    product = (covariates["age"] * labels["y2"]).to_numpy()[:, None]
    expected = np.squeeze(glm.model.score_test(glm.params, exog_extra=product)[0])
    assert edges.loc[("age", "y1", "y2"), "statistic"] == pytest.approx(expected, rel=1e-6)


# Separation


@pytest.mark.parametrize("method", ["mle", "ridge", "firth"])
def test_a_category_that_separates_a_label(method):
    labels, features, covariates = draw(6)
    # Nobody in the south has y1: that level settles its rows, and the others are as without it.
    labels.loc[covariates["place"] == "south", "y1"] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", im.exceptions.SeparationWarning)
        res = im.IsingModel(labels, features, covariates=covariates).fit(method=method)
    if method == "firth":
        assert np.isfinite(res.params.loc["place[T.south]", "y1"])
        return
    assert res.params.loc["place[T.south]", "y1"] == -np.inf
    kept = covariates["place"] != "south"
    alone = im.IsingModel(labels[kept], features[kept], covariates=covariates[kept])
    alone = alone.fit(method=method)
    rows = ["const", "y2", "y3", "age", "sex", "place[T.north]"]
    np.testing.assert_allclose(res.params.loc[rows, "y1"], alone.params.loc[rows, "y1"], rtol=1e-6)
    np.testing.assert_allclose(res.bse.loc[rows, "y1"], alone.bse.loc[rows, "y1"], rtol=1e-6)
    np.testing.assert_allclose(
        res.score_test().statistics["y1"], alone.score_test().statistics["y1"], rtol=1e-6
    )
    assert (res.predict().loc[~kept, "y1"] == 0).all()


@pytest.mark.parametrize("method", ["mle", "ridge"])
@pytest.mark.filterwarnings(FEW_ROWS)
def test_a_number_that_separates_a_label_in_part_of_the_rows(method):
    labels, features, covariates = draw(7)
    # Above 60 everybody has y1, below nobody; at 60 there are both.
    age = covariates["age"].copy()
    labels["y1"] = (age > 60).astype(int)
    at = age.between(58, 62)
    age[at] = 60.0
    covariates = covariates.assign(age=age)[["age"]]
    with pytest.warns(im.exceptions.SeparationWarning, match="labels and the covariates"):
        res = im.IsingModel(labels, features, covariates=covariates).fit(method=method)
    assert res.fits[0].in_play.sum() > 0
    np.testing.assert_array_equal(res.predict()["y1"][~at], (age > 60)[~at])
    assert res.params.loc["age", "y1"] == np.inf
    assert res.params.loc["const", "y1"] == -np.inf
    alone = im.IsingModel(labels[at], features[at]).fit(method=method)
    np.testing.assert_allclose(
        res.params.loc[["y2", "y3"], "y1"], alone.params.loc[["y2", "y3"], "y1"], rtol=1e-6
    )
    np.testing.assert_allclose(
        res.score_test().statistics["y1"], alone.score_test().statistics["y1"], rtol=1e-6
    )


@pytest.mark.parametrize("unit", [1e12, 1e-12])
@pytest.mark.filterwarnings(OURS)
def test_infinite_coefficients_are_so_in_any_unit(unit):
    labels, features, covariates = draw(7)
    labels.loc[covariates["age"] > 60, "y1"] = 1
    above = np.maximum(covariates["age"] - 60, 0)
    given = covariates.assign(above=above)[["above", "age"]]
    plain = im.IsingModel(labels, features, covariates=given).fit()
    res = im.IsingModel(labels, features, covariates=given * unit).fit()
    assert plain.params.loc["above", "y1"] == np.inf
    assert np.isfinite(plain.params.loc[["const", "y2", "y3", "age"], "y1"]).all()
    scale = [1, 1, 1, 1, unit, unit]
    np.testing.assert_allclose(res.params.mul(scale, axis=0), plain.params, rtol=1e-6)


@pytest.mark.filterwarnings(OURS)
def test_two_values_are_treated_alike_in_any_unit():
    labels = np.array([[1, 0], [0, 0], [0, 1], [1, 0]])
    one, two = (
        im.IsingModel(labels, covariates=np.array([[2.0], [1.0], [1.0], [1.0]]) * unit).fit()
        for unit in (1.0, -0.25)
    )
    np.testing.assert_array_equal(np.isfinite(one.params), np.isfinite(two.params))
    np.testing.assert_array_equal(one.params.iloc[-1], -two.params.iloc[-1])


@pytest.mark.filterwarnings(OURS)
def test_a_penalty_where_covariates_leave_no_row_in_play():
    rows = [[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 1, 1], [1, 1, 1, 1]]
    covariates = [[0.341, 0], [-1.007, 1], [-0.37, 2], [-0.093, 3], [-0.684, 4], [1.202, 5]]
    weights = [1, 1, 1, 1, 1, 1e8]
    features = np.arange(6.0)[:, None] ** 2
    model = im.IsingModel(rows, features, covariates=covariates, freq_weights=weights)
    res = model.fit(method="ridge")
    # Along a mix of the covariates rows with the first label come last, all others first.
    assert not res.fits[0].in_play.any()
    assert (res.score_test(min_count=0).reasons["y1"] == "determined-label").all()
    np.testing.assert_array_equal(res.predict()["y1"], np.array(rows)[:, 0])


def test_covariates_that_determine_a_label():
    labels, features, covariates = draw(8)
    labels["y1"] = (covariates["age"] > 50).astype(int)
    with pytest.warns(im.exceptions.SeparationWarning):
        res = im.IsingModel(labels, features, covariates=covariates[["age"]]).fit()
    assert (res.score_test().reasons["y1"] == "determined-label").all()
    assert (res.score_test().reasons["y2"] == "ok").all()


@settings(deadline=None, max_examples=60)
@given(
    rows=hnp.arrays(np.int8, st.tuples(st.integers(6, 14), st.just(4)), elements=st.integers(0, 3))
)
@pytest.mark.filterwarnings(OURS)
def test_separation_by_covariates_is_found_exactly(rows):
    labels, covariates = (rows[:, :2] > 1).astype(int), rows[:, 2:].astype(float)
    varies = (labels.min(axis=0) < labels.max(axis=0)).all()
    if not varies or (labels[:, 0] == labels[:, 1]).all():
        return
    try:
        res = im.IsingModel(labels, covariates=covariates).fit()
    except im.exceptions.DataError:
        return
    limit = res.predict().to_numpy()
    # A tiny ridge on everything comes as near to the limit as it can.
    for label in range(2):
        others = np.column_stack([labels[:, 1 - label], covariates]).astype(float)
        design = np.column_stack([np.ones(len(others)), others - others.mean(axis=0)])
        coef = _tiny_ridge(design, labels[:, label])
        np.testing.assert_allclose(limit[:, label], expit(design @ coef), atol=2e-3)


def _tiny_ridge(design, outcome, penalty=1e-7):
    """Maximise a logistic likelihood with a tiny penalty by damped Newton steps."""
    coef = np.zeros(design.shape[1])
    ridge = penalty * np.eye(len(coef))

    def value(at):
        sign = np.where(outcome, 1.0, -1.0)
        return -np.logaddexp(0, -sign * (design @ at)).sum() - 0.5 * penalty * at @ at

    for _ in range(500):
        chance = expit(design @ coef)
        gradient = design.T @ (outcome - chance) - ridge @ coef
        information = (design.T * (chance * (1 - chance))) @ design + ridge
        step, length = np.linalg.solve(information, gradient), 1.0
        while value(coef + length * step) < value(coef) and length > 1e-8:
            length /= 2
        coef = coef + length * step
        if gradient @ step < 1e-14:
            break
    return coef


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
    found = model.fit().score_test(by="term")
    glm = smf.glm("y1 ~ y2 + y3 + y4 + age + sex", frame, family=sm.families.Binomial())
    fitted = glm.fit(tol=1e-14)
    extra = pd.get_dummies(frame["region"], drop_first=True).to_numpy(float)
    statistic, _, df = fitted.model.score_test(fitted.params, exog_extra=extra)
    assert found.statistics.loc["C(region)", "y1"] == pytest.approx(np.squeeze(statistic), rel=1e-6)
    assert found.df.loc["C(region)", "y1"] == df


def test_weights_count_rows(frame):
    weights = np.random.default_rng(0).integers(0, 4, len(frame))
    repeated = frame.loc[frame.index.repeat(weights)].reset_index(drop=True)
    weighted = im.IsingModel(
        frame[LABELS], frame[FEATURES], covariates=frame[COVARIATES], freq_weights=weights
    ).fit()
    whole = im.IsingModel(
        repeated[LABELS], repeated[FEATURES], covariates=repeated[COVARIATES]
    ).fit()
    np.testing.assert_allclose(weighted.params, whole.params, rtol=1e-8)
    for products in (None, "given"):
        np.testing.assert_allclose(
            weighted.score_test(products=products).statistics,
            whole.score_test(products=products).statistics,
            rtol=1e-7,
        )
    np.testing.assert_allclose(
        weighted.score_test().feature_pvalues(), whole.score_test().feature_pvalues(), rtol=1e-6
    )


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


def test_one_step_for_each_product_is_the_one_step_for_all_of_two_labels():
    labels, features, covariates = draw(9, n_labels=2)
    for method in ("mle", "ridge", "firth"):
        res = im.IsingModel(labels, features, covariates=covariates).fit(method=method)
        each = res.score_test(products="given", refit=False).to_frame()
        each = each[each["with"] != ""].set_index(["feature", "label"])["statistic"]
        together = res.score_test(products="given-joint", refit=False).to_frame()
        together = together.set_index(["feature", "label"])["statistic"]
        np.testing.assert_allclose(each.loc[together.index], together, rtol=1e-8)


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


@pytest.mark.parametrize("method", ["mle", "ridge", "firth"])
@pytest.mark.filterwarnings(OURS)
def test_interactions_of_a_label_that_does_not_vary_at_a_level_are_unknown(method):
    labels, _, covariates = draw(6)
    labels.loc[covariates["place"] == "south", "y1"] = 0
    res = im.IsingModel(labels, covariates=covariates).fit(method=method)
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


def test_lists_of_rows_and_sparse_columns_keep_their_kinds():
    labels, features, covariates = draw(9)
    plain = im.IsingModel(labels, features, covariates=covariates).fit()
    rows = im.IsingModel(labels, features, covariates=covariates.to_numpy().tolist()).fit()
    np.testing.assert_allclose(rows.params, plain.params)
    dummies = pd.get_dummies(covariates, sparse=True, drop_first=True)
    thin = im.IsingModel(labels, features, covariates=dummies).fit()
    np.testing.assert_allclose(thin.params, plain.params, rtol=1e-8)


def test_a_tiny_unit_is_a_unit():
    labels, features, covariates = draw(9)
    plain = im.IsingModel(labels, features, covariates=covariates).fit().score_test()
    tiny = covariates.assign(age=covariates["age"] * 1e-200)
    found = im.IsingModel(labels, features, covariates=tiny).fit().score_test()
    np.testing.assert_allclose(found.statistics, plain.statistics, rtol=1e-8)


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


def test_several_values_are_drawn_on_one_scale(res):
    axes = res.plot_at({"age": [30, 50, 70]})
    titles = [f"age = {age}\ngiven sex, region" for age in (30, 50, 70)]
    assert [ax.get_title() for ax in axes] == titles
    widest = max(np.abs(res.at({"age": age}).interactions.to_numpy()).max() for age in (30, 50, 70))
    texts = [text.get_text() for ax in axes for text in ax.get_legend().get_texts()]
    assert texts.count(f"± {widest:.2g}") == 3


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


@pytest.mark.parametrize("options", [{}, {"method": "ridge", "penalty": 10.0}])
def test_a_covariate_may_separate_a_label_by_very_little(options):
    covariates = pd.DataFrame({"one": 1.0, "c": [0.9990351, 0.9990505, 0.9998173]})
    model = im.IsingModel(
        np.array([[1], [0], [0]]),
        np.array([[0.9], [-0.5], [-0.1]]),
        covariates=covariates,
        intercept=False,
    )
    with pytest.warns(im.exceptions.SeparationWarning):
        (fit,) = model.fit(**options).fits
    assert not fit.in_play.any()
    np.testing.assert_array_equal(fit.coef[2:], [np.inf, -np.inf])


def test_a_start_that_cannot_converge_leaves_a_model_its_steps():
    # Labels alone tell little of the second label, and rounding hides where the maximum is.
    labels = np.array([[0, 0], [1, 0], [1, 1], [0, 0], [0, 0], [1, 0]])
    column = np.array([-0.7185, -0.5178, -0.4836, -0.5104, -0.7343, -0.1333])
    weights = np.array([1e12, 1.0, 1e12, 1e12, 1e12, 1e12])
    res = im.IsingModel(labels, covariates=pd.DataFrame({"c": column}), freq_weights=weights).fit(
        method="ridge", penalty=10.0
    )
    assert res.converged
    const, first, _, slope = res.fits[1].coef
    residual = weights * (labels[:, 1] - expit(const + first * labels[:, 0] + slope * column))
    pulls = [residual.sum(), labels[:, 0] @ residual - 10.0 * first, column @ residual]
    np.testing.assert_allclose(pulls, 0.0, atol=1e-2)


def test_rows_that_are_all_but_impossible_do_not_hide_the_others():
    covariates = pd.DataFrame(
        {
            "a": [
                -1.0009,
                -0.532601,
                3.168123,
                -0.565442,
                -1.98697,
                -0.603689,
                0.897448,
                -0.332757,
                -0.167302,
                0.250489,
                -0.844396,
                0.252184,
                0.238982,
            ],
            "b": [
                1.412909,
                -0.183815,
                -0.300896,
                -1.208098,
                1.104024,
                -1.847857,
                0.625931,
                -1.946992,
                -0.192473,
                1.289307,
                0.661161,
                1.76139,
                -1.175431,
            ],
            "c": [
                4.497388,
                3.192045,
                2.690778,
                3.361016,
                3.726908,
                2.51532,
                2.833134,
                3.080064,
                3.126788,
                3.540487,
                2.423168,
                2.86951,
                3.281443,
            ],
        }
    )
    labels = np.array([1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1])
    weights = np.where(np.isin(np.arange(13), [0, 2, 4, 6, 7, 9, 10]), 1e12, 1.0)
    model = im.IsingModel(labels[:, None], covariates=covariates, freq_weights=weights)
    (fit,) = model.fit().fits
    assert fit.converged
    # The maximum with fifty digits.
    assert fit.llf == pytest.approx(-299.65613652287309, rel=1e-12)
