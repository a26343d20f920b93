"""Score tests with interactions, terms and other p-values, against R, rows and simulation."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_data
from scipy import stats

import isingmlc as im

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"

OURS = "ignore::isingmlc.exceptions.IsingWarning"


def example():
    data = im.datasets.load_example()
    return im.IsingModel(data.labels, data.features).fit()


# Agreement with R


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["plain", "rare"])
@pytest.mark.filterwarnings(FEW_ROWS)
def test_products_agree_with_r(name, intercept):
    labels, features = load_data(name)
    res = im.IsingModel(labels, features, intercept=intercept).fit()
    frame = res.score_test(products="individual").to_frame()
    found = frame.set_index(["feature", "label", "with"])["statistic"]
    reference = load(name, "individual").query("intercept == @intercept")
    expected = reference.set_index(["feature", "label", "with"])["u"]
    # Where R's own error shows (see test_edge_tests), values are small.
    np.testing.assert_allclose(found[expected.index], expected, rtol=1e-7, atol=1e-7)
    plain = res.score_test()
    main = frame[frame["with"] == ""].set_index(["feature", "label"])["statistic"]
    np.testing.assert_allclose(main, plain.statistics.to_numpy().ravel(), rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["plain", "rare"])
@pytest.mark.filterwarnings(FEW_ROWS)
def test_joint_statistics_agree_with_r(name, intercept):
    labels, features = load_data(name)
    res = im.IsingModel(labels, features, intercept=intercept).fit()
    edges = res.score_test(products="joint", pvalue="chi2")
    for row in load(name, "joint").query("intercept == @intercept").itertuples():
        test = edges.loc[row.feature, row.label]
        assert test.statistic == pytest.approx(row.U, rel=1e-7)
        assert test.df == row.df
        assert test.pvalue == pytest.approx(row.p, rel=1e-6)


# Agreement of labelsets and rows


# Terms


def test_the_columns_of_a_term_are_tested_together():
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    frame["region"] = np.random.default_rng(3).choice(list("abcd"), len(frame))
    formula = "hypertension + diabetes + arthritis ~ bmi + C(region) + bs(age, df=4)"
    model = im.IsingModel.from_formula(formula, frame)
    edges = model.fit().score_test(unit="term")
    assert set(edges.feature_names) == {"bmi", "C(region)", "bs(age, df=4)"}
    assert edges.loc["C(region)", "diabetes"].df == 3
    assert edges.loc["bs(age, df=4)", "diabetes"].df == 4
    for label in ("hypertension", "arthritis"):
        others = sm.add_constant(
            data.labels[["hypertension", "diabetes", "arthritis"]].drop(columns=label)
        )
        glm = sm.GLM(data.labels[label], others.astype(float), family=sm.families.Binomial())
        params = glm.fit(tol=0, maxiter=15).params.to_numpy()
        for term, names in model.terms.items():
            at = [model.feature_names.index(name) for name in names]
            value, pvalue, df = glm.score_test(
                params, exog_extra=model.data.features[:, at], observed=False
            )
            test = edges.loc[term, label]
            assert test.statistic == pytest.approx(value.item(), rel=1e-7)
            assert test.pvalue == pytest.approx(pvalue.item(), rel=1e-6)
            assert test.df == df


def test_products_of_terms_add_up_and_are_saved(tmp_path):
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    frame["region"] = np.random.default_rng(3).choice(list("abc"), len(frame))
    formula = "hypertension + diabetes + arthritis ~ bmi + C(region)"
    whole = im.IsingModel.from_formula(formula, frame)
    parts = [
        im.IsingModel.from_formula(formula, frame[s]).statistics
        for s in (slice(600), slice(600, None))
    ]
    pooled = (parts[0] + parts[1]).recenter(whole.statistics.shift)
    for term, products in whole.statistics.term_products.items():
        np.testing.assert_allclose(pooled.term_products[term], products, atol=1e-9)
    res = whole.fit()
    res.save(tmp_path / "fit.npz")
    again = im.IsingResults.load(tmp_path / "fit.npz")
    pd.testing.assert_frame_equal(
        again.score_test(unit="term").statistics, res.score_test(unit="term").statistics
    )


def test_redundant_columns_of_a_term_do_not_count():
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    frame["region"] = np.random.default_rng(3).choice(list("abcd"), len(frame))
    # Without an intercept in the formula all four categories have a column; they add up to one.
    model = im.IsingModel.from_formula("diabetes + asthma ~ C(region) - 1", frame)
    edges = model.fit().score_test(unit="term")
    assert model.terms["C(region)"].__len__() == 4
    assert edges.loc["C(region)", "asthma"].df == 3


# What a person does with tests


def test_an_edge_unpacks_and_knows_its_null():
    edges = example().score_test(pvalue="chi2")
    test = edges.loc["bmi", "diabetes"]
    statistic, pvalue = test
    assert statistic == edges.statistics.loc["bmi", "diabetes"]
    assert pvalue == pytest.approx(stats.chi2.sf(statistic, 1))
    assert "no effect" in test.null
    with pytest.raises(AttributeError):
        test.pvalue = 0.5
    with pytest.raises(KeyError, match="there is no feature 'nope'"):
        edges.loc["nope", "diabetes"]
    with pytest.raises(KeyError, match="there is no label 'nope'"):
        edges.loc["bmi", "nope"]
    with pytest.raises(KeyError, match=r"edges.loc\[feature, label\]"):
        edges.loc["bmi"]
    for key in (0, slice(0, 3)):
        with pytest.raises(KeyError, match="by name"):
            edges[key]
    with pytest.raises(KeyError, match="more than once"):
        edges[["bmi", "bmi"]]


@pytest.mark.parametrize("products", [None, "individual", "joint"])
def test_some_features_keep_their_tests(products):
    edges = example().score_test(products=products)
    some = edges[["smoker", "age"]]
    assert some.feature_names == ("smoker", "age")
    pd.testing.assert_frame_equal(some.pvalues, edges.pvalues.loc[["smoker", "age"]])
    pd.testing.assert_series_equal(some.importance, edges.importance[["smoker", "age"]])
    for combine in ("acat",) if products else ("acat", "sum", "omnibus"):
        pd.testing.assert_series_equal(
            some.feature_pvalues(combine), edges.feature_pvalues(combine)[["smoker", "age"]]
        )
    if products:
        with pytest.raises(im.exceptions.ModelError, match=f"products='{products}'.*'acat'"):
            edges.feature_pvalues("sum")
    table = edges["smoker"]
    assert list(table.index) == list(edges.label_names)
    assert table.loc["asthma", "pvalue"] == edges.pvalues.loc["smoker", "asthma"]


@pytest.mark.filterwarnings(OURS)
def test_limits_of_separated_alternatives_are_listed_with_the_others():
    data = im.datasets.load_example()
    rng = np.random.default_rng(0)
    features = pd.DataFrame(
        {"same": 2 * data.labels["asthma"] + 0.1 * rng.random(1500), "noise": rng.random(1500)}
    )
    res = im.IsingModel(data.labels, features).fit()
    edges = res.lr_test()
    assert edges.reasons.loc["same", "asthma"] == "separated-alternative"
    assert np.isfinite(edges.statistics.loc["same", "asthma"])
    assert "12 of 12 edges testable" in repr(edges)
    assert "separated-alternative" in edges.note
    text = str(edges.summary(top=1))
    assert any("same" in line and "asthma" in line for line in text.splitlines())
    wald = res.wald_test()
    assert np.isnan(wald.statistics.loc["same", "asthma"])
    assert "1 edge was not tested: separated-alternative." in wald.summary().notes


def test_signs_say_whether_a_feature_raises_a_label():
    res = example()
    edges = res.score_test()
    assert edges.signs.loc["age", "hypertension"] == 1
    coefficients = res.wald_test(["age", "bmi", "exercise_hours"]).signs
    large = edges[["age", "bmi", "exercise_hours"]].pvalues < 0.01
    assert large.to_numpy().sum() >= 4
    np.testing.assert_array_equal(
        edges.signs.loc[coefficients.index].to_numpy()[large], coefficients.to_numpy()[large]
    )


@pytest.mark.parametrize("within", [None, "label", "feature"])
def test_adjustment_is_that_of_statsmodels(within):
    edges = example().score_test()
    # statsmodels' Holm takes a tenth of a second for each family.
    method = "holm" if within is None else "fdr_bh"
    frame = edges.to_frame(adjust=method, within=within)
    groups = [("all", frame)] if within is None else frame.groupby(within)
    for _, group in groups:
        expected = sm.stats.multipletests(group["pvalue"], method=method)[1]
        np.testing.assert_allclose(group["pvalue_adj"], expected)
    assert (edges.to_frame(adjust=None)["pvalue_adj"] == frame["pvalue"]).all()
    with pytest.raises(im.exceptions.DataError, match=r"adjust must be one of.*fdr_bh"):
        edges.to_frame(adjust="magic")
    with pytest.raises(im.exceptions.DataError, match="within must be"):
        edges.to_frame(within="row")


def test_tests_are_written_to_files(tmp_path):
    edges = example().score_test()
    edges.to_csv(tmp_path / "edges.csv", adjust="bonferroni")
    again = pd.read_csv(tmp_path / "edges.csv")
    assert list(again["feature"]) == list(edges.to_frame()["feature"])
    edges.to_graphml(tmp_path / "edges.graphml", alpha=0.01)
    graph = nx.read_graphml(tmp_path / "edges.graphml")
    significant = (edges.to_frame()["pvalue_adj"] <= 0.01).sum()
    assert graph.number_of_edges() == significant > 0
    assert graph["bmi"]["diabetes"]["sign"] == 1
    assert graph.nodes["diabetes"]["kind"] == "label"


def test_the_summary_lists_the_strongest_edges():
    edges = example().score_test()
    text = str(edges.summary(top=5))
    best = edges.to_frame().nsmallest(5, "log10p")
    for row in best.itertuples():
        assert any(
            row.feature in line and row.label in line and f"{row.statistic:.3f}" in line
            for line in text.splitlines()
        )
    assert "180 of 180" in text
    assert "no effect on the label" in " ".join(text.split())
    assert "<table" in edges._repr_html_()


@pytest.mark.filterwarnings(OURS)
def test_penalised_tests_say_that_they_are_approximate():
    labels, features = load_data("separated")
    edges = im.IsingModel(labels, features).fit(penalty=1.0).score_test()
    assert "approximate" in edges.note
    assert "approximate" in str(edges.summary())
    assert im.IsingModel(labels, features).fit().score_test().note == ""


@pytest.mark.filterwarnings(OURS)
def test_a_penalty_makes_determined_labels_testable():
    labels = np.repeat(np.eye(4, dtype=int), 30, axis=0)
    features = np.random.default_rng(0).normal(size=(120, 3)) + 2 * labels[:, [0, 1, 2]]
    model = im.IsingModel(labels, features)
    assert (model.fit().score_test().reasons == "determined-label").all(axis=None)
    edges = model.fit(penalty=1.0).score_test()
    assert (edges.reasons == "ok").all(axis=None)
    assert edges.pvalues.loc["x1", "y1"] < 0.01
    assert edges.signs.loc["x1", "y1"] == 1
    # Firth's prior does not shrink the four coefficients of four labelsets: nothing is left.
    edges = model.fit(penalty="firth").score_test()
    assert (edges.reasons == "determined-label").all(axis=None)


def test_a_feature_seen_only_where_the_labels_explain_all_is_collinear():
    # Rows with b form one labelset with a coefficient of its own, so that the model of a leaves
    # nothing there but rounding, and x is zero elsewhere.
    labels = pd.DataFrame({"a": [0] * 40 + [1] * 20, "b": [0] * 30 + [1] * 10 + [0] * 20})
    x = np.where(labels["b"] == 1, np.random.default_rng(0).normal(size=60), 0.0)
    edges = im.IsingModel(labels, pd.DataFrame({"x": x})).fit(penalty="firth").score_test()
    assert edges.reasons.loc["x", "a"] == "collinear-feature"
    assert np.isnan(edges.statistics.loc["x", "a"])


@pytest.mark.parametrize("share", [0.1, 1e-3, 1e-5])
def test_little_that_nearly_collinear_covariates_leave_is_tested(share):
    generator = np.random.default_rng(1)
    covariates = generator.normal(size=(800, 3))
    covariates[:, 1] = covariates[:, 0] + share * covariates[:, 1]
    labels = covariates[:, :1] * 0.7 + generator.normal(size=(800, 3)) > 0.3
    explained = covariates @ [1.0, -2.0, 0.5] + 3
    features = np.column_stack([explained, explained + 1e-3 * generator.normal(size=800)])
    res = im.IsingModel(labels, features, covariates=covariates).fit()
    edges = res.score_test(pvalue="chi2")
    assert (edges.reasons.iloc[0] == "collinear-feature").all()
    for label, found in enumerate(edges.statistics.iloc[1]):
        others = np.column_stack([np.ones(800), np.delete(labels, label, axis=1), covariates])
        probability = res.predict().iloc[:, label].to_numpy()
        root = np.sqrt(probability * (1 - probability))
        basis = np.linalg.qr(root[:, None] * others)[0]
        rest = root * features[:, 1]
        for _ in range(3):
            rest -= basis @ (basis.T @ rest)
        score = (labels[:, label] - probability) / root @ rest
        assert found == pytest.approx(score**2 / (rest @ rest), rel=1e-6)


@pytest.mark.filterwarnings(OURS)
def test_labels_with_a_single_case_are_too_rare_unless_asked_for():
    labels, features = load_data("plain")
    labels = labels.assign(once=(np.arange(len(labels)) == 7).astype(int))
    res = im.IsingModel(labels, features).fit()
    assert (res.score_test().reasons["once"] == "too-rare").all()
    # Given the others the one case may be the only one in play, or not; asked for, it is tested.
    assert (res.score_test(min_count=0).reasons["once"] != "too-rare").all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"products": "all"}, "None, 'individual', 'joint'"),
        ({"unit": "feature"}, "'term', 'column'"),
        ({"pvalue": "exact"}, "'chi2', 'saddlepoint', 'permutation'"),
        ({"products": "joint", "pvalue": "saddlepoint"}, "of one column"),
        ({"min_count": -1}, "min_count must be"),
        ({"pvalue": "permutation", "n_permutations": 0}, "n_permutations must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(im.exceptions.DataError, match=message):
        example().score_test(**options)


def test_what_needs_rows_or_features_says_so():
    res = example().remove_data()
    for work in (
        lambda: res.score_test(pvalue="saddlepoint"),
        lambda: res.score_test(pvalue="permutation"),
        lambda: res.wald_test(),
        lambda: res.lr_test(),
    ):
        with pytest.raises(im.exceptions.ModelError, match="needs the rows"):
            work()
    labels, _ = load_data("plain")
    for test in ("score_test", "wald_test", "lr_test"):
        with pytest.raises(im.exceptions.ModelError, match="no features"):
            getattr(im.IsingModel(labels).fit(), test)()


# p-values of features


def test_feature_pvalues_agree_with_permutations():
    res = example()
    edges = res.score_test()
    reference = res.score_test(pvalue="permutation", n_permutations=2000, random_state=0)
    ours, permuted = (tests.feature_pvalues("sum") for tests in (edges, reference))
    quiet = ours > 0.02
    assert quiet.sum() > 15
    error = np.sqrt(ours * (1 - ours) / 2000)
    difference = (ours - permuted)[quiet]
    # Monte-Carlo error and the chi-square approximation itself.
    assert (difference.abs() < 4 * error[quiet] + 0.01).all()
    edge_error = np.sqrt(edges.pvalues * (1 - edges.pvalues) / 2000)
    assert ((edges.pvalues - reference.pvalues).abs() < 4.5 * edge_error + 0.02).all(axis=None)


def test_permutations_repeat_with_their_seed():
    res = example()
    one, two, three = (
        res.score_test(pvalue="permutation", n_permutations=50, random_state=seed).pvalues
        for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(one, two)
    assert (one != three).any(axis=None)
    assert one.min(axis=None) == pytest.approx(1 / 51)


@pytest.mark.slow
def test_feature_pvalues_are_uniform_for_dependent_labels_where_chi_square_is_not():
    """Three pairs of labels that agree in nine rows of ten.

    Where two such labels differ, the residual of the one is large and positive and that of the
    other large and negative: their scores are strongly dependent.
    """
    rng = np.random.default_rng(10)
    first = rng.random((1500, 3)) < 0.5
    labels = np.hstack([first, first ^ (rng.random((1500, 3)) < 0.1)])
    features = rng.normal(size=(1500, 1500))
    edges = im.IsingModel(labels, features).fit().score_test()
    ours = edges.feature_pvalues("sum")
    naive = stats.chi2.sf(edges.importance, 6)
    assert stats.kstest(ours, "uniform").pvalue > 0.01
    assert stats.kstest(naive, "uniform").pvalue < 1e-4
    for level in (0.05, 0.01):
        assert abs((ours < level).mean() - level) < 3.5 * np.sqrt(level * (1 - level) / 1500)


# Type-I error by simulation


def rare_labels(rng, n=500):
    """Four labels with 2-3% positives and some dependence."""
    shared = rng.random((n, 1)) < 0.02
    return ((rng.random((n, 4)) < 0.02) | (shared & (rng.random((n, 4)) < 0.4))).astype(int)


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_saddlepoint_pvalues_hold_for_rare_labels_where_chi_square_does_not():
    rng = np.random.default_rng(2)
    exceed = {"chi2": [], "saddlepoint": []}
    for _ in range(25):
        res = im.IsingModel(rare_labels(rng), rng.lognormal(size=(500, 400))).fit()
        for kind, found in exceed.items():
            pvalue = res.score_test(pvalue=kind).pvalues.to_numpy()
            found.append([np.nanmean(pvalue < level) for level in (0.05, 0.01, 0.001)])
    chi2, saddlepoint = (np.mean(values, axis=0) for values in exceed.values())
    # 25 × 400 × 4 edges, of which those of one feature are nearly independent here.
    assert chi2[2] > 0.003
    assert 0.0003 < saddlepoint[2] < 0.0018
    assert saddlepoint[1] < 0.014
    assert abs(saddlepoint[2] - 0.001) < abs(chi2[2] - 0.001)


def separated_labels(rng, n=300):
    """Every row has a label, and two pairs never meet."""
    rows = rng.random((6 * n, 5)) < np.array([0.45, 0.4, 0.3, 0.25, 0.2])
    good = rows.any(axis=1) & ~(rows[:, 2] & rows[:, 3]) & ~(rows[:, 0] & rows[:, 4])
    return rows[good][:n]


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("penalty", [None, 1.0, "firth"])
def test_type_one_error_under_separation(penalty):
    rng = np.random.default_rng(4)
    shares = []
    for _ in range(15):
        labels = separated_labels(rng)
        assert len(labels) == 300
        res = im.IsingModel(labels, rng.normal(size=(300, 200))).fit(penalty=penalty)
        assert penalty is not None or res.diagnostics["separated"].any()
        pvalue = res.score_test().pvalues.to_numpy()
        shares.append((pvalue < 0.05).mean(axis=0))
    share = np.mean(shares, axis=0)
    assert ((share > 0.03) & (share < 0.07)).all()


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("second", [0.1, 0.03, 0.0])
def test_type_one_error_of_nearly_exclusive_labels_under_a_ridge_penalty(second):
    """Rows have one label, few of them another one: without a penalty little is left to test."""
    rng = np.random.default_rng(7)
    shares = []
    for _ in range(15):
        labels = np.eye(5)[rng.choice(5, 300, p=[0.3, 0.25, 0.2, 0.15, 0.1])]
        more = rng.random(300) < second
        labels[more, rng.integers(0, 5, more.sum())] = 1
        res = im.IsingModel(labels, rng.normal(size=(300, 200))).fit(penalty=1.0)
        shares.append((res.score_test().pvalues.to_numpy() < 0.05).mean(axis=0))
    share = np.mean(shares, axis=0)
    assert ((share > 0.03) & (share < 0.07)).all()


@pytest.mark.slow
@pytest.mark.filterwarnings(OURS)
def test_type_one_error_for_common_labels():
    rng = np.random.default_rng(6)
    pvalues = []
    for _ in range(10):
        common = rng.normal(size=(600, 1))
        labels = (common + rng.normal(size=(600, 4)) > 0).astype(int)
        res = im.IsingModel(labels, rng.normal(size=(600, 1000))).fit()
        pvalues.append(res.score_test().pvalues.to_numpy())
    pvalues = np.concatenate(pvalues)
    for level in (0.05, 0.01, 0.001):
        # Edges of one feature are dependent: count features, not edges.
        error = np.sqrt(level * (1 - level) / len(pvalues))
        assert abs((pvalues < level).mean() - level) < 3.5 * error


# The paper's toy examples


@pytest.mark.filterwarnings(OURS)
def test_xor_is_seen_by_interactions_only():
    data = im.datasets.make_xor_example(n_samples=400, random_state=0)
    res = im.IsingModel(data.labels, data.features).fit()
    plain = res.score_test()
    assert plain.statistics.max(axis=None) < 10
    joint = res.score_test(products="joint")
    assert joint.statistics.min(axis=None) > 100


# Refits


@pytest.mark.parametrize("test", ["lr", "wald"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.filterwarnings(FEW_ROWS)
def test_refits_agree_with_r(test, intercept):
    labels, features = load_data("plain")
    res = im.IsingModel(labels, features, intercept=intercept).fit()
    edges = res.lr_test() if test == "lr" else res.wald_test(n_jobs=2)
    for row in load("plain", "edges").query("intercept == @intercept").itertuples():
        found = edges.loc[row.feature, row.label]
        assert found.statistic == pytest.approx(getattr(row, test), rel=1e-6, abs=1e-7)
        assert found.df == 1


def test_three_tests_of_one_feature_stand_side_by_side():
    res = example()
    table = res.compare_tests("bmi")
    assert list(table.index) == list(res.label_names)
    assert table.loc["diabetes", "score"] == res.score_test().statistics.loc["bmi", "diabetes"]
    assert table.loc["diabetes", "lr"] == pytest.approx(table.loc["diabetes", "score"], rel=0.1)
    assert table.loc["diabetes", "wald"] == pytest.approx(table.loc["diabetes", "score"], rel=0.1)
    joint = res.compare_tests("bmi", products="joint")
    assert (joint["df"] == 6).all()
    with pytest.raises(im.exceptions.DataError, match="features must name features"):
        res.compare_tests("weight")
    assert res.wald_test("bmi").feature_names == ("bmi",)
    with pytest.raises(im.exceptions.DataError, match="more than once"):
        res.lr_test(["bmi", "bmi"])
    with pytest.raises(im.exceptions.DataError, match="features must be a list"):
        res.lr_test(5)


def test_nested_fits_are_compared_label_by_label():
    labels = im.datasets.load_example().labels
    full = im.IsingModel(labels).fit()
    restricted = im.IsingModel(labels.drop(columns="asthma")).fit()
    table = full.compare_lr_test(restricted)
    assert list(table.index) == list(restricted.label_names)
    for label in ("diabetes", "depression"):
        large = full.nodes[label]
        small = restricted.nodes[label]
        assert table.loc[label, "statistic"] == pytest.approx(2 * (large.llf - small.llf))
        assert table.loc[label, "df"] == 1
    bare = im.IsingModel(labels, intercept=False).fit()
    assert (full.compare_lr_test(bare)["df"] == 1).all()
    with pytest.raises(im.exceptions.ModelError, match="not nested"):
        restricted.compare_lr_test(full)
    with pytest.raises(im.exceptions.ModelError, match="not nested"):
        bare.compare_lr_test(full)
    with pytest.raises(im.exceptions.ModelError, match="same rows"):
        full.compare_lr_test(im.IsingModel(labels[:900]).fit())
    with pytest.raises(im.exceptions.ModelError, match="without a penalty"):
        full.compare_lr_test(im.IsingModel(labels).fit(penalty=1.0))


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_diagnostics_know_of_labels_that_a_penalty_does_not_make_testable():
    labels = np.repeat(np.eye(3, dtype=int), [30, 20, 10], axis=0)
    features = np.random.default_rng(0).normal(size=(60, 2))
    res = im.IsingModel(labels, features).fit(penalty="firth")
    assert (res.score_test().reasons == "determined-label").all(axis=None)
    assert res.diagnostics["determined"].all()
    assert "cannot be tested" in str(res.summary())


# Sums of parts


@pytest.mark.parametrize(
    ("products", "options"),
    [("given", {"refit": True}), ("given", {"refit": False}), ("individual", {})],
)
def test_products_have_the_signs_of_their_coefficients(products, options):
    data = im.datasets.load_example()
    features = data.features[["age", "bmi"]]
    res = im.IsingModel(data.labels, features).fit()
    frame = res.score_test(products=products, **options).to_frame()
    frame = frame[(frame["with"] != "") & (frame["statistic"] > 3)]
    assert set(frame["sign"]) == {-1.0, 1.0}
    for row in frame.itertuples():
        columns = data.labels.drop(columns=row.label)
        if products == "given":
            columns = columns.assign(x=features[row.feature])
        other = data.labels[row[list(frame).index("with") + 1]]
        columns = columns.assign(product=other * features[row.feature])
        fit = sm.Logit(data.labels[row.label], sm.add_constant(columns)).fit(disp=0)
        assert row.sign == np.sign(fit.params["product"])
