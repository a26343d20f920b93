"""Score tests with interactions, terms and other p-values, against R, rows and simulation."""

import itertools
import warnings

import mpmath as mp
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from golden import load, load_data
from scipy import sparse, stats

import isingmlc as im
from isingmlc.inference import product_scores
from isingmlc.statistics import labelsets

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


def row_statistics(results, columns_of, penalised):
    """Score statistics straight from rows: efficient columns, their scores and variances."""
    data = results.model.data
    labels = data.labels
    features = data.features
    features = np.asarray(features.todense() if hasattr(features, "todense") else features, float)
    probability = results.predict().to_numpy()
    weights = np.ones(len(labels)) if data.weights is None else data.weights
    for fit in results.fits:
        p = probability[:, fit.label]
        rows = (p > 0) & (p < 1)
        design = np.column_stack([np.ones(len(labels)), labels])[rows][:, fit.basis]
        p, y, n = p[rows], labels[rows, fit.label], weights[rows]
        w, e = n * p * (1 - p), y - p
        information = (design * w[:, None]).T @ design
        if results.settings.method == "ridge":
            information += results.settings.penalty * np.diag(fit.basis > 0)
        for j in range(features.shape[1]):
            columns = columns_of(features[rows, j], labels[rows], fit.label)
            theta = np.linalg.solve(information, (design * w[:, None]).T @ columns)
            efficient = columns - design @ theta
            score = efficient.T @ (n * e)
            total = (columns * w[:, None]).T @ columns
            if penalised:
                # Residuals without what the penalty adds to them.
                bias = p * (1 - p) * (design @ np.linalg.solve(information, design.T @ (n * e)))
                variance = (efficient * (n * (e - bias) ** 2)[:, None]).T @ efficient
            else:
                variance = total - (columns * w[:, None]).T @ design @ theta
            yield j, fit.label, score, variance, np.sqrt(np.diag(total))


def form(score, variance, scale):
    scale = np.where(scale > 0, scale, np.inf)
    values, vectors = np.linalg.eigh(variance / np.outer(scale, scale))
    real = values > 1e-10
    along = vectors.T @ (score / scale)
    return (along[real] ** 2 / values[real]).sum(), real.sum()


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("method", ["mle", "ridge", "firth"])
@pytest.mark.parametrize(
    "costs",
    [{}, {"_CALL": 0}, {"_LINE": -1e9}, {"INVERTED": 0}],
    ids=["by roots of all", "by roots of those used", "by crossed sums", "by factors"],
)
def test_labelsets_give_the_statistics_of_rows(method, costs, monkeypatch):
    # Products are multiplied in the order that costs least: each order, whatever it costs.
    for name, cost in costs.items():
        monkeypatch.setattr(product_scores, name, cost)
    labels, features = load_data("separated")
    weights = np.random.default_rng(0).integers(1, 4, len(labels))
    res = im.IsingModel(labels, features, freq_weights=weights).fit(method=method)
    centre = np.average(features, axis=0, weights=weights)
    plain, joint = res.score_test(), res.score_test(products="joint")
    products = res.score_test(products="individual").arrays.product_statistic
    penalised = method != "mle"
    for j, k, s, v, d in row_statistics(res, lambda x, y, k: x[:, None], penalised):
        assert plain.statistics.iloc[j, k] == pytest.approx(form(s, v, d)[0], rel=1e-9)

    def block(x, y, k):
        return np.column_stack([np.ones(len(y)), np.delete(y, k, axis=1)]) * x[:, None]

    moved = im.IsingModel(labels, features - centre, freq_weights=weights).fit(method=method)
    for j, k, s, v, d in row_statistics(moved, block, penalised):
        value, rank = form(s, v, d)
        assert joint.statistics.iloc[j, k] == pytest.approx(value, rel=1e-8)
        assert joint.df.iloc[j, k] == rank
        others = [other for other in range(4) if other != k]
        for at, other in enumerate(others, 1):
            found = products[j, k, other]
            if d[at] > 0:
                expected = form(s[[at]], v[[at]][:, [at]], d[[at]])[0]
                assert found == pytest.approx(expected, rel=1e-8)
            else:
                assert np.isnan(found)


def rare_labels_and_words():
    """Draw labels of which some are rare, and words of which many never occur beside them."""
    rng = np.random.default_rng(8)
    common = rng.random((600, 3)) < (0.5, 0.3, 0.3)
    rare = rng.random((600, 4)) < np.where(common[:, :1], 0.04, 0.02)
    words = (rng.random((600, 60)) < rng.uniform(0.005, 0.3, 60)).astype(float)
    # One that is always there beside a rare label, one that has an origin far away, and a number
    # that varies little beside a rare label.
    words[rare[:, 0], 0] = 1.0
    words[:, 1] += 1e3
    words[:, 2] = rng.normal(size=600) * np.where(rare[:, 0], 1e-4, 1.0)
    return np.column_stack([common, rare]).astype(int), words


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "costs", [{"_LINE": 1e9}, {"_LINE": -1e9}], ids=["by roots", "by crossed sums"]
)
def test_products_of_words_with_rare_labels_are_those_of_rows(container, costs, monkeypatch):
    for name, cost in ({"_CALL": 0, "_WHOLE_BYTES": 0} | costs).items():
        monkeypatch.setattr(product_scores, name, cost)
    labels, words = rare_labels_and_words()
    res = im.IsingModel(labels, container(words)).fit()
    found = res.score_test(products="individual", pvalue="chi2").arrays
    probability, n_without = res.predict().to_numpy(), 0
    for k, other in itertools.permutations(range(labels.shape[1]), 2):
        p = probability[:, k]
        rows = (p > 0) & (p < 1)
        root = np.sqrt(p * (1 - p))[rows, None]
        design = np.column_stack([np.ones(len(labels)), np.delete(labels, k, axis=1)])[rows]
        product = words[rows] * labels[rows, [other]][:, None]
        # What is left of columns of unit length given all regressors, whatever their rank.
        size = np.linalg.norm(root * product, axis=0)
        column = root * product / np.where(size > 0, size, np.inf)
        left = column - (root * design) @ np.linalg.lstsq(root * design, column, rcond=1e-10)[0]
        score = left.T @ ((labels[:, k] - p)[rows] / root[:, 0])
        share = (left**2).sum(axis=0)
        tested = share > 1e-9
        n_without += np.count_nonzero(~tested)
        statistic, sign = found.product_statistic[:, k, other], found.product_sign[:, k, other]
        np.testing.assert_array_equal(np.isnan(statistic), ~tested)
        np.testing.assert_array_equal(sign, np.where(tested, np.sign(score), 0))
        expected = score[tested] ** 2 / share[tested]
        np.testing.assert_allclose(statistic[tested], expected, rtol=1e-7, atol=1e-9)
    assert n_without > 300


@pytest.mark.filterwarnings(OURS)
def test_equal_products_of_features_that_vary_differently_are_judged_apart(monkeypatch):
    monkeypatch.setattr(product_scores, "_CALL", 0)
    labels, words = rare_labels_and_words()
    without = np.flatnonzero(labels[:, 1] == 0)
    # Two are the first beside the second label, but not elsewhere; one of them has a large value
    # that is not among those that the origin is chosen from.
    words[:, :3] = words[:, [words[:, 3:].mean(axis=0).argmax() + 3]]
    words[without[:40], 1] = 1 - words[without[:40], 1]
    words[without[without % 6 == 1][0], 2] = 3.6e7
    found = im.IsingModel(labels, words).fit().score_test(products="individual", pvalue="chi2")
    for at in range(3):
        alone = im.IsingModel(labels, words[:, [at]]).fit()
        expected = alone.score_test(products="individual", pvalue="chi2").arrays
        for name in ("product_statistic", "product_sign"):
            ours, theirs = getattr(found.arrays, name)[at], getattr(expected, name)[0]
            np.testing.assert_allclose(ours, theirs, rtol=1e-8)
    first, second, third = found.arrays.product_statistic[:3, :, 1]
    np.testing.assert_array_equal(first, second)
    assert np.isnan(third).sum() > np.isnan(first).sum()


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("how", [{"neighbors": 1}, {"method": "ridge"}, {"cov_type": "HC0"}])
def test_models_without_a_label_test_words_that_are_constant_beside_it(how, monkeypatch):
    labels, words = rare_labels_and_words()
    res = im.IsingModel(labels, words).fit(**how)
    found = []
    for cost in (0, 1e12):
        monkeypatch.setattr(product_scores, "_CALL", cost)
        arrays = res.score_test(products="individual", pvalue="chi2").arrays
        found.append((arrays.product_statistic, arrays.product_sign))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-8)
    np.testing.assert_array_equal(found[0][1], found[1][1])
    # The first word is always there beside the fourth label.
    tested = ~np.isnan(found[0][0][0, :, 3])
    assert tested.any() == ("cov_type" not in how)


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("name", ["scene", "yeast", "emotions", "flags", "medical", "enron"])
def test_labelsets_give_the_statistics_of_rows_on_real_data(data_dir, name):
    data = im.datasets.load_mulan(name, part="train", data_dir=data_dir)
    model = im.IsingModel(data.labels, data.features, feature_names=data.feature_names)
    res = model.fit()
    edges = res.score_test()
    statistic, reason = edges.statistics.to_numpy(), edges.reasons.to_numpy()
    assert set(np.unique(reason[np.isnan(statistic)])) <= {
        "constant-label",
        "determined-label",
        "constant-feature",
        "collinear-feature",
        "too-rare",
    }
    assert (reason[~np.isnan(statistic)] == "ok").all()
    features = model.data.features
    features = features.toarray() if hasattr(features, "toarray") else features
    labels, probability = model.data.labels, res.predict().to_numpy()
    for fit in res.fits:
        p = probability[:, fit.label]
        rows = (p > 0) & (p < 1)
        tested = reason[:, fit.label] == "ok"
        if not rows.any() or not tested.any():
            continue
        design = np.column_stack([np.ones(len(labels)), labels])[rows][:, fit.basis]
        x, w = features[rows][:, tested], p[rows] * (1 - p[rows])
        # Residuals of a weighted regression of the features on the labels, by QR.
        root = np.sqrt(w)[:, None]
        q = np.linalg.qr(root * design)[0]
        left = root * x - q @ (q.T @ (root * x))
        score = (left / root).T @ (labels[rows, fit.label] - p[rows])
        expected = score**2 / (left**2).sum(axis=0)
        np.testing.assert_allclose(statistic[tested, fit.label], expected, rtol=1e-6, atol=1e-8)


# Terms


def test_the_columns_of_a_term_are_tested_together():
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    frame["region"] = np.random.default_rng(3).choice(list("abcd"), len(frame))
    formula = "hypertension + diabetes + arthritis ~ bmi + C(region) + bs(age, df=4)"
    model = im.IsingModel.from_formula(formula, frame)
    edges = model.fit().score_test(by="term")
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


@pytest.mark.parametrize("method", ["ridge", "firth"])
def test_terms_under_a_penalty_have_the_variance_of_their_residuals(method):
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    frame["region"] = np.random.default_rng(3).choice(list("abcd"), len(frame))
    formula = "hypertension + diabetes + arthritis ~ C(region)"
    res = im.IsingModel.from_formula(formula, frame).fit(method=method)
    edges = res.score_test(by="term")
    # A penalised fit leaves no row out, so the columns of the term are the same for all labels.
    columns = res.model.data.features
    for _, label, *parts in row_statistics(res, lambda x, y, k: columns, penalised=True):
        value, rank = form(*parts)
        assert edges.statistics.iloc[0, label] == pytest.approx(value, rel=1e-8)
        assert edges.df.iloc[0, label] == rank == 3


@pytest.mark.filterwarnings(FEW_ROWS)
def test_columns_of_large_categories_are_tested_without_their_products(monkeypatch):
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    frame["region"] = np.random.default_rng(3).integers(0, 100, len(frame)).astype(str)
    formula = "hypertension + diabetes + arthritis ~ bmi + C(region)"
    monkeypatch.setattr(labelsets, "MAX_MEMORY", 1e5)
    res = im.IsingModel.from_formula(formula, frame).fit()
    assert res.score_test().statistics.shape == (100, 3)
    with pytest.raises(im.exceptions.ModelError, match=r"99 columns of the term 'C\(region\)'"):
        res.score_test(by="term")


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
        again.score_test(by="term").statistics, res.score_test(by="term").statistics
    )


def test_redundant_columns_of_a_term_do_not_count():
    data = im.datasets.load_example()
    frame = data.labels.join(data.features)
    frame["region"] = np.random.default_rng(3).choice(list("abcd"), len(frame))
    # Without an intercept in the formula all four categories have a column; they add up to one.
    model = im.IsingModel.from_formula("diabetes + asthma ~ C(region) - 1", frame)
    edges = model.fit().score_test(by="term")
    assert model.terms["C(region)"].__len__() == 4
    assert edges.loc["C(region)", "asthma"].df == 3


# What a person does with tests


def test_an_edge_unpacks_and_knows_its_null():
    edges = example().score_test()
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
    for combine in ("acat",) if products else ("acat", "sum", "omnibus", "cauchy"):
        pd.testing.assert_series_equal(
            some.feature_pvalues(combine), edges.feature_pvalues(combine)[["smoker", "age"]]
        )
    if products:
        with pytest.raises(im.exceptions.ModelError, match=f"products='{products}'.*'acat'"):
            edges.feature_pvalues("sum")
    table = edges["smoker"]
    assert list(table.index) == list(edges.label_names)
    assert table.loc["asthma", "pvalue"] == edges.pvalues.loc["smoker", "asthma"]


def test_what_a_user_does_with_a_frame_stays_with_the_user():
    edges = example().score_test()
    for name in ("statistics", "df", "pvalues", "log10_pvalues", "signs", "reasons"):
        before = getattr(edges, name).copy(deep=True)
        frame = getattr(edges, name)
        frame.iloc[0, 0] = before.iloc[-1, -1]
        frame["asthma"] = frame["diabetes"]
        getattr(edges, name).insert(0, "extra", 1.0)
        pd.testing.assert_frame_equal(getattr(edges, name), before)
    importance = edges.importance
    importance.iloc[:] = 0.0
    assert edges.importance.min() > 0
    with pytest.raises(AttributeError):
        edges.statistics = None


def test_features_that_were_changed_in_place_are_noticed():
    data = im.datasets.load_example()
    features = data.features.to_numpy(float)
    res = im.IsingModel(data.labels, features).fit()
    before = res.lr_test(["x4"]).statistics
    pd.testing.assert_frame_equal(res.lr_test(["x4"]).statistics, before)
    features[:, 3] = features[::-1, 3]
    for work in (
        lambda: res.lr_test(["x4"]),
        lambda: res.score_test(pvalue="saddlepoint"),
        lambda: res.score_test(pvalue="permutation"),
    ):
        with pytest.raises(im.exceptions.ModelError, match="changed in place"):
            work()


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
    frame = edges.to_frame(adjust="holm", within=within)
    groups = [("all", frame)] if within is None else frame.groupby(within)
    for _, group in groups:
        expected = sm.stats.multipletests(group["pvalue"], method="holm")[1]
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
    edges = im.IsingModel(labels, features).fit(method="ridge").score_test()
    assert "approximate" in edges.note
    assert "approximate" in str(edges.summary())
    assert im.IsingModel(labels, features).fit().score_test().note == ""


@pytest.mark.filterwarnings(OURS)
def test_a_penalty_makes_determined_labels_testable():
    labels = np.repeat(np.eye(4, dtype=int), 30, axis=0)
    features = np.random.default_rng(0).normal(size=(120, 3)) + 2 * labels[:, [0, 1, 2]]
    model = im.IsingModel(labels, features)
    assert (model.fit().score_test().reasons == "determined-label").all(axis=None)
    edges = model.fit(method="ridge").score_test()
    assert (edges.reasons == "ok").all(axis=None)
    assert edges.pvalues.loc["x1", "y1"] < 0.01
    assert edges.signs.loc["x1", "y1"] == 1
    # Firth's prior does not shrink the four coefficients of four labelsets: nothing is left.
    edges = model.fit(method="firth").score_test()
    assert (edges.reasons == "determined-label").all(axis=None)


@pytest.mark.filterwarnings(OURS)
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.SeparationWarning")
def test_a_huge_value_in_a_row_that_is_certain_does_not_blur_the_others():
    labels = np.zeros((7, 2), dtype=int)
    labels[0, 1] = labels[2, 0] = 1
    feature = np.array([0.613, 7.964, -2639383.0, 0.0, 476.188, 57.669, 5.714])
    found = im.IsingModel(labels, feature[:, None]).fit().score_test(min_count=0)
    # The first label settles its row; in the others the second has a constant alone.
    x, y = np.delete(feature, 2), np.delete(labels[:, 1], 2)
    variance = y.mean() * (1 - y.mean()) * np.sum((x - x.mean()) ** 2)
    expected = np.sum((y - y.mean()) * (x - x.mean())) ** 2 / variance
    assert found.statistics.iloc[0, 1] == pytest.approx(expected, rel=1e-8)


def test_a_feature_seen_only_where_the_labels_explain_all_is_collinear():
    # Rows with b form one labelset with a coefficient of its own, so that the model of a leaves
    # nothing there but rounding, and x is zero elsewhere.
    labels = pd.DataFrame({"a": [0] * 40 + [1] * 20, "b": [0] * 30 + [1] * 10 + [0] * 20})
    x = np.where(labels["b"] == 1, np.random.default_rng(0).normal(size=60), 0.0)
    edges = im.IsingModel(labels, pd.DataFrame({"x": x})).fit(method="firth").score_test()
    assert edges.reasons.loc["x", "a"] == "collinear-feature"
    assert np.isnan(edges.statistics.loc["x", "a"])


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("intercept", [True, False])
def test_products_by_one_factor_or_by_one_for_each_label_are_the_same(monkeypatch, intercept):
    data = im.datasets.load_example()
    res = im.IsingModel(data.labels, data.features, intercept=intercept).fit()
    by_one = res.score_test(products="individual", pvalue="chi2").arrays.product_statistic
    monkeypatch.setattr(product_scores, "_WHOLE_BYTES", 0)
    by_many = res.score_test(products="individual", pvalue="chi2").arrays.product_statistic
    np.testing.assert_allclose(by_one, by_many, rtol=1e-9)


@pytest.mark.filterwarnings(OURS)
def test_products_with_models_that_have_no_coefficient():
    labels, features = [[1], [0], [1], [0]], [[1.0], [0.0], [3.0], [2.0]]
    res = im.IsingModel(labels, features, intercept=False).fit()
    assert np.isnan(res.score_test(products="individual").arrays.product_statistic).all()


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_a_feature_without_products_is_tested_jointly_as_it_is_alone():
    # Where a is not settled b never occurs, so that the block of x is x. In one case x is zero but
    # in a row that the covariate makes all but certain, and next to how it varies elsewhere what
    # is left of it is nothing.
    rng = np.random.default_rng(3)
    n_rows = 60
    labels = pd.DataFrame({"a": rng.integers(0, 2, n_rows), "b": 0})
    labels.loc[:19] = [0, 1]
    labels.loc[20, "a"] = 1
    covariate = rng.normal(scale=0.1, size=n_rows)
    covariate[20] = np.copysign(100.0, covariate[21:] @ (labels["a"][21:] - 0.5))
    x = np.where(np.arange(n_rows) < 21, rng.normal(size=n_rows), 0.0)
    features = pd.DataFrame({"unseen": x, "seen": rng.normal(size=n_rows)})
    given = pd.DataFrame({"c": covariate})
    res = im.IsingModel(labels, features, intercept=False, covariates=given).fit()
    assert res.fits[0].in_play.any()
    plain, joint = res.score_test(), res.score_test(products="joint")
    assert plain.reasons["a"].tolist() == ["collinear-feature", "ok"]
    assert joint.reasons["a"].tolist() == plain.reasons["a"].tolist()
    np.testing.assert_allclose(joint.statistics["a"], plain.statistics["a"], rtol=1e-9)
    assert joint.df.loc["seen", "a"] == 1


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
        ({"by": "column"}, "'feature', 'term'"),
        ({"pvalue": "exact"}, "'chi2', 'saddlepoint', 'permutation'"),
        ({"products": "joint", "pvalue": "saddlepoint"}, "single features"),
        ({"products": "joint", "by": "term"}, "by='term'"),
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
        lambda: res.theorem_bound("age", "asthma", 1.0),
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


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("method", ["mle", "ridge", "firth"])
def test_type_one_error_under_separation(method):
    rng = np.random.default_rng(4)
    shares = []
    for _ in range(15):
        labels = separated_labels(rng)
        assert len(labels) == 300
        res = im.IsingModel(labels, rng.normal(size=(300, 200))).fit(method=method)
        assert method != "mle" or res.diagnostics["separated"].any()
        pvalue = res.score_test().pvalues.to_numpy()
        shares.append((pvalue < 0.05).mean(axis=0))
    share = np.mean(shares, axis=0)
    assert ((share > 0.03) & (share < 0.07)).all()


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
        res = im.IsingModel(labels, rng.normal(size=(300, 200))).fit(method="ridge")
        shares.append((res.score_test().pvalues.to_numpy() < 0.05).mean(axis=0))
    share = np.mean(shares, axis=0)
    assert ((share > 0.03) & (share < 0.07)).all()


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
def test_a_feature_helps_given_the_other_label():
    data = im.datasets.make_or_example(n_samples=400, random_state=0)
    res = im.IsingModel(data.labels, data.features).fit()
    # y1 = I(y2 + x1 > 0): given y2 = 0, x1 decides; given y2 = 1 the label is certain.
    assert res.diagnostics.loc["y1", "rows"] == (data.labels["y2"] == 0).sum()
    rest = data.labels["y2"] == 0
    assert res.score_test().statistics.loc["x1", "y1"] == pytest.approx(rest.sum())


@pytest.mark.filterwarnings(OURS)
def test_xor_is_seen_by_interactions_only():
    data = im.datasets.make_xor_example(n_samples=400, random_state=0)
    res = im.IsingModel(data.labels, data.features).fit()
    plain = res.score_test()
    assert plain.statistics.max(axis=None) < 10
    joint = res.score_test(products="joint")
    assert joint.statistics.min(axis=None) > 100


def test_the_statistic_grows_with_the_coefficient_and_the_rows():
    def statistic(a, n):
        data = im.datasets.make_score_example(a=a, n_samples=n, random_state=3)
        res = im.IsingModel(data.labels, data.features).fit()
        return res.score_test().statistics.loc["x1", "y1"]

    by_a = [statistic(a, 1000) for a in (0.0, 0.5, 1.0, 2.0)]
    by_n = [statistic(1.0, n) for n in (200, 800, 3200)]
    assert by_a == sorted(by_a)
    assert by_a[0] < 10
    assert by_n == sorted(by_n)


def test_the_bound_of_the_theorem_is_as_it_is_written():
    data = im.datasets.make_score_example(a=1.0, n_samples=500, random_state=1)
    res = im.IsingModel(data.labels, data.features, intercept=False).fit()
    bound = res.theorem_bound("x1", "y1", a=0.5)
    x = data.features["x1"].to_numpy()
    others = data.labels.drop(columns="y1").to_numpy(float)
    z = np.column_stack([others, x])
    eta = others @ res.params["y1"].drop("y1").to_numpy() + 0.5 * x
    p = 1 / (1 + np.exp(-eta))
    size, largest = 10, np.abs(x).max()
    assert bound.min_variance == pytest.approx((p * (1 - p)).min())
    assert bound.min_eigenvalue == pytest.approx(np.linalg.eigvalsh(z.T @ z / 500)[0])
    constant = bound.min_eigenvalue * bound.min_variance
    constant = (constant / (2 * np.e**3 * largest * (size + largest) ** 1.5)) ** 2
    assert bound.constant == pytest.approx(constant)
    assert bound.bound == pytest.approx(constant * 500 * 0.25)
    exponent = constant * 500 * (size + largest**2) * 0.25 / 2
    assert bound.probability == pytest.approx(1 - size * np.exp(-exponent))
    assert res.theorem_bound("x1", "y1", a=2.0).range == 2.0
    with pytest.raises(im.exceptions.DataError, match="feature must be one of"):
        res.theorem_bound("x9", "y1", a=1.0)
    with pytest.raises(im.exceptions.DataError, match="coefficient_range"):
        res.theorem_bound("x1", "y1", a=1.0, coefficient_range=0.5)


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
    with pytest.raises(im.exceptions.ModelError, match="method='mle'"):
        full.compare_lr_test(im.IsingModel(labels).fit(method="ridge"))


def test_numerical_warnings_never_escape():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", im.exceptions.IsingWarning)
        labels, features = load_data("separated")
        model = im.IsingModel(labels.assign(never=0), features.assign(one=1.0))
        for method in ("mle", "ridge", "firth"):
            res = model.fit(method=method)
            for products in (None, "individual", "joint"):
                edges = res.score_test(products=products)
                edges.to_frame()
                edges.summary()
            for combine in ("acat", "sum", "omnibus", "cauchy"):
                res.score_test().feature_pvalues(combine).sum()


def test_a_constant_feature_has_no_permutation_p_value():
    data = im.datasets.load_example()
    with pytest.warns(im.exceptions.DataWarning):
        res = im.IsingModel(data.labels, data.features[["age", "bmi"]].assign(same=1.0)).fit()
    edges = res.score_test(pvalue="permutation", n_permutations=9, random_state=0)
    for combine in ("sum", "acat"):
        found = edges.feature_pvalues(combine)
        assert np.isnan(found["same"])
        assert found.drop("same").notna().all()
    with pytest.raises(im.exceptions.ModelError, match="combine='omnibus' is not among what was"):
        edges.feature_pvalues("omnibus")


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_diagnostics_know_of_labels_that_a_penalty_does_not_make_testable():
    labels = np.repeat(np.eye(3, dtype=int), [30, 20, 10], axis=0)
    features = np.random.default_rng(0).normal(size=(60, 2))
    res = im.IsingModel(labels, features).fit(method="firth")
    assert (res.score_test().reasons == "determined-label").all(axis=None)
    assert res.diagnostics["determined"].all()
    assert "cannot be tested" in str(res.summary())


# Sums of parts


@pytest.mark.filterwarnings(FEW_ROWS)
def test_parts_around_other_origins_leave_collinear_features_collinear():
    labels = np.repeat([[1, 0], [0, 0], [0, 1]], 10, axis=0)
    x = (np.isin(np.arange(30), range(20, 25))).astype(float)[:, None]
    make = im.LabelsetStatistics.from_arrays
    with pytest.warns(im.exceptions.SeparationWarning):
        whole, parts = (
            im.IsingModel.from_statistics(stats).fit().score_test()
            for stats in (make(labels, x), make(labels[:5], x[:5]) + make(labels[5:], x[5:]))
        )
    assert parts.reasons.loc["x1"].tolist() == ["collinear-feature", "ok"]
    pd.testing.assert_frame_equal(parts.statistics, whole.statistics)
    # One edge is left, whose p-value is the feature's.
    for combine in ("acat", "sum", "omnibus"):
        assert parts.feature_pvalues(combine)["x1"] == pytest.approx(
            parts.pvalues.loc["x1"].iloc[1], rel=1e-9
        )


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("products", [None, "individual", "joint"])
def test_many_parts_of_sparse_features_give_the_reasons_of_all_rows(products):
    rng = np.random.default_rng(5)
    # Labels that never meet, and features so rare that many miss the rows in play of a label.
    labels = np.eye(7, dtype=bool)[rng.integers(7, size=400), :6]
    features = (rng.random((400, 60)) < 0.005).astype(float)
    order = np.lexsort(labels.T)
    labels, features = labels[order], features[order]
    make = im.LabelsetStatistics.from_arrays
    pieces = [make(labels[rows], features[rows]) for rows in np.array_split(np.arange(400), 10)]
    whole, parts = (
        im.IsingModel.from_statistics(stats).fit().score_test(products=products)
        for stats in (make(labels, features), sum(pieces))
    )
    pd.testing.assert_frame_equal(parts.reasons, whole.reasons)
    assert (whole.reasons == "collinear-feature").to_numpy().any()
    np.testing.assert_allclose(parts.statistics, whole.statistics, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("products", ["individual", "joint", "given", "given-joint"])
def test_features_that_labels_explain_are_not_taken_for_equal(products):
    rng = np.random.default_rng(3)
    labels = (rng.random((200, 4)) < 0.5).astype(int)
    # Two labels in half of all rows, and of every other row, so that their copies have the same
    # totals around the same origin. Complements leave nothing to test of the labels themselves,
    # and the others explain the copies: no score tells that they are not equal.
    for rows in (slice(0, None, 2), slice(1, None, 2)):
        labels[rows, :2] = rng.permuted(np.tile([[0], [1]], (50, 2)), axis=0)
    features = labels[:, :2].astype(float)
    labels = np.hstack([labels, 1 - labels[:, :2]])
    both = im.IsingModel(labels, features).fit().score_test(products=products).arrays
    alone = im.IsingModel(labels, features[:, 1:]).fit().score_test(products=products).arrays
    np.testing.assert_allclose(both.statistic[1], alone.statistic[0], rtol=1e-9)
    if both.product_statistic is not None:
        assert np.isfinite(alone.product_statistic).any()
        np.testing.assert_allclose(both.product_statistic[1], alone.product_statistic[0], rtol=1e-9)


@pytest.mark.filterwarnings(FEW_ROWS)
def test_what_is_left_of_a_column_has_its_digits():
    """Labels explain all but 1e-8 of a feature; against numbers of fifty digits.

    Each row has labels of its own, so that nothing is lost within labelsets.
    """
    mp.mp.dps = 50
    rng = np.random.default_rng(5)
    every = np.array(list(itertools.product([0, 1], repeat=6)))
    labels = every[rng.permutation(64)[:40]]
    x = 1.0 + labels @ np.array([0.0, 2.0, 0.0, -1.0, 0.5, 3.0]) + 1e-4 * rng.normal(size=40)
    found = im.IsingModel(labels, x[:, None]).fit().score_test(products="individual").arrays
    exact = np.array([[score_in_fifty_digits(labels, x, k, s) for s in range(7)] for k in (0, 2)])
    np.testing.assert_allclose(found.statistic[0, [0, 2]], exact[:, 0], rtol=1e-9)
    np.testing.assert_allclose(found.product_statistic[0, 0, 1:], exact[0, 2:], rtol=1e-9)


def score_in_fifty_digits(labels, x, label, other):
    """Give the statistic of a feature around its mean, or of its product with a label."""
    design = mp.matrix(
        np.column_stack([np.ones(len(x)), np.delete(labels, label, axis=1)]).tolist()
    )
    outcome = mp.matrix(labels[:, [label]].tolist())
    coef = mp.zeros(design.cols, 1)
    for _ in range(9):
        chance = (design * coef).apply(lambda eta: 1 / (1 + mp.exp(-eta)))
        weight = mp.diag([p * (1 - p) for p in chance])
        information = design.T * weight * design
        coef += mp.lu_solve(information, design.T * (outcome - chance))
    column = mp.matrix(x.tolist())
    column -= mp.ones(len(x), 1) * (sum(column) / len(x))
    if other:
        column = mp.diag([int(y) for y in labels[:, other - 1]]) * column
    crossed = design.T * weight * column
    variance = column.T * weight * column - crossed.T * mp.lu_solve(information, crossed)
    score = (outcome - chance).T * column
    return float(score[0] ** 2 / variance[0]) if variance[0] > 1e-30 else np.nan


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


@pytest.mark.filterwarnings(OURS)
@pytest.mark.parametrize("products", ["individual", "joint"])
@pytest.mark.parametrize("chosen", [[0, 2], [0, 1, 2], [2, 0, 2], [2, 0, 2, 0]])
def test_features_with_the_same_scores_have_their_own_products(products, chosen):
    """The first and the third feature have the same sums, and in this set the same scores."""
    rows = ["1101", "0000", "1100", "1001", "0110", "0100", "1001", "1000"]
    labels = np.array([[int(mark) for mark in row] for row in rows])
    age = np.array([[1.0], [0.0], [2.0], [0.0], [0.0], [0.0], [0.0], [2.0]])
    features = np.zeros((8, 3))
    features[7, 0] = features[1, 2] = 1.0
    features[:, 1] = [0, 1, 1, 0, 1, 1, 0, 1]

    def test(columns):
        model = im.IsingModel(labels, features[:, columns], covariates=age)
        edges = model.fit().score_test(products=products, min_count=1, pvalue="chi2")
        return edges.to_frame()

    together = test(chosen)
    for place, column in enumerate(chosen):
        found, alone = together[together["feature"] == f"x{place + 1}"], test([column])
        np.testing.assert_allclose(found["statistic"], alone["statistic"], rtol=1e-9)
        assert list(found["reason"]) == list(alone["reason"])
