import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from forward_data import ssc_data
from golden import FOLDER
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import sqrtm
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import chi2

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, ModelError
from isingmlc.sklearn import IsingSelector

METHODS = ("forward", "ssc")


@pytest.fixture(scope="module")
def example():
    return im.datasets.load_example()


def draw(seed, n_rows=300, n_features=8, n_labels=3):
    """Draw labels that depend on each other and on correlated features."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n_rows, 3))
    features = base @ rng.normal(size=(3, n_features)) + 0.7 * rng.normal(size=(n_rows, n_features))
    pull = base @ rng.normal(size=(3, n_labels)) + rng.logistic(size=(n_rows, n_labels))
    pull += 0.5 * pull[:, [0]]
    return pull > 0.3, features


def rank(labels, features, method="forward", **options):
    return im.rank_features(np.asarray(labels).astype(int), features, method, **options)


def positions(ranking, count=None):
    """Give the positions of the features that were picked."""
    names = ranking.path["feature"][:count]
    return [ranking.feature_names.index(name) for name in names]


# Against other programs


def ridge_fit(design, outcome, penalised):
    """Fit a ridge-penalised logistic regression by a general optimiser."""
    sign = np.where(outcome, 1.0, -1.0)

    def lose(coef):
        margin = sign * (design @ coef)
        value = -log_expit(margin).sum() + 0.5 * (coef[penalised] ** 2).sum()
        slope = -(design.T @ (sign * expit(-margin)))
        slope[penalised] += coef[penalised]
        return value, slope

    found = minimize(
        lose,
        np.zeros(design.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000},
    )
    return expit(design @ found.x)


def slow_forward(labels, features, n_steps, *, given_labels, refit, terms=None):
    """Pick features by weighted least squares on rows, one regression per candidate.

    With terms (lists of columns) all columns of a candidate enter, and what they add is brought to
    one degree of freedom before candidates are compared.
    """
    terms = terms or [[j] for j in range(features.shape[1])]
    n_rows, n_labels = labels.shape
    columns = (features - features.mean(axis=0)) / features.std(axis=0)
    left, gains, picked = None, [], []
    for _ in range(n_steps):
        chosen = [j for at in picked for j in terms[at]]
        inside = chosen if refit else []
        probability = np.empty(labels.shape)
        designs, ridges = [], []
        for k in range(n_labels):
            others = np.delete(labels, k, axis=1).astype(float) if given_labels else None
            parts = [np.ones((n_rows, 1)), *([others] if given_labels else [])]
            n_others = n_labels - 1 if given_labels else 0
            design = np.hstack([*parts, columns[:, inside]])
            penalised = np.arange(1, design.shape[1])
            probability[:, k] = ridge_fit(design, labels[:, k], penalised)
            # What was picked under fixed weights is a regressor without a penalty.
            whole = design if refit else np.hstack([design, columns[:, chosen]])
            designs.append(whole)
            ridges.append(np.r_[0.0, np.ones(n_others + len(inside))])
        if left is None or refit:
            left = ((labels - probability) ** 2).sum(axis=0)
        worth = np.zeros((len(terms), n_labels))
        for j in set(range(len(terms))) - set(picked):
            extra = columns[:, terms[j]]
            for k in range(n_labels):
                design, ridge = designs[k], np.diag(np.sqrt(ridges[k]))
                weight = probability[:, k] * (1 - probability[:, k])
                response = (labels[:, k] - probability[:, k]) / weight
                pseudo = np.zeros((len(ridge), design.shape[1]))
                pseudo[:, : len(ridge)] = ridge
                # The penalty enters as rows of their own, around the coefficients of the fit.
                if refit or given_labels:
                    worth[j, k] = _score(design, extra, weight, response, pseudo)
                else:
                    small = sm.WLS(response, design, weights=weight).fit()
                    large = sm.WLS(response, np.column_stack([design, extra]), weight).fit()
                    worth[j, k] = small.ssr - large.ssr
        rate = (probability * (1 - probability)).mean(axis=0)
        capped = np.minimum(rate * worth, left)
        df = np.array([len(term) for term in terms])[:, None]
        counted = np.where(df == 1, capped, rate * chi2.isf(chi2.sf(capped / rate, df), 1))
        best = int(np.argmax(counted.sum(axis=1)))
        picked.append(best)
        gains.append(counted[best])
        left = left - capped[best]
    return picked, np.array(gains)


def _score(design, columns, weight, response, pseudo):
    """Give the fall of a penalised sum of squares by more columns.

    The gradient of the penalised likelihood is zero, so in rows of their own the penalties have a
    response that balances what the residuals leave.
    """
    root = np.sqrt(weight)
    pull = design.T @ (weight * response)
    ridge = pseudo.diagonal()[: len(pseudo)] ** 2
    offset = np.zeros(len(pseudo))
    inside = ridge > 0
    offset[inside] = -pull[: len(pseudo)][inside] / np.sqrt(ridge[inside])
    left = np.vstack([root[:, None] * design, pseudo])
    right = np.r_[root * response, offset]
    extra = np.vstack([root[:, None] * columns, np.zeros((len(pseudo), columns.shape[1]))])
    falls = []
    for matrix in (left, np.column_stack([left, extra])):
        coef = np.linalg.lstsq(matrix, right, rcond=None)[0]
        falls.append(((right - matrix @ coef) ** 2).sum())
    return falls[0] - falls[1]


@pytest.mark.parametrize("given_labels", [False, True])
@pytest.mark.parametrize("refit", [False, True])
def test_steps_are_those_of_regressions_on_rows(given_labels, refit):
    labels, features = draw(3)
    picked, gains = slow_forward(labels, features, 4, given_labels=given_labels, refit=refit)
    found = rank(labels, features, n_features=4, given_labels=given_labels, refit=refit)
    assert positions(found) == picked
    np.testing.assert_allclose(found.path["gain"], gains.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.contributions.to_numpy()[picked], gains, rtol=1e-4, atol=1e-6)


TERMS = {"A": [0, 1, 2], "B": [3], "C": [4, 5], "D": [6], "E": [7, 8, 9]}


def term_model(labels, features):
    """Make a model of a formula with terms of one to three columns, as `TERMS` has them."""
    frame = pd.DataFrame(features, columns=[f"v{j}" for j in range(features.shape[1])])
    # A term is all the columns that a function gives.
    names = [[f"v{j}" for j in columns] for columns in TERMS.values()]
    parts = [each[0] if len(each) == 1 else f"stack({', '.join(each)})" for each in names]
    outcomes = [f"y{k}" for k in range(labels.shape[1])]
    frame[outcomes] = np.asarray(labels).astype(int)

    def stack(*columns):
        return np.column_stack(columns)

    return im.IsingModel.from_formula(f"{' + '.join(outcomes)} ~ {' + '.join(parts)}", frame)


@pytest.mark.parametrize("given_labels", [False, True])
@pytest.mark.parametrize("refit", [False, True])
def test_steps_of_terms_are_those_of_regressions_on_rows(given_labels, refit):
    labels, features = draw(3, n_features=10)
    options = {"given_labels": given_labels, "refit": refit}
    picked, gains = slow_forward(labels, features, 4, terms=list(TERMS.values()), **options)
    model = term_model(labels, features)
    found = im.rank_features(model, method="forward", by="term", n_features=4, **options)
    assert positions(found) == picked
    assert found.feature_names == tuple(model.terms)
    np.testing.assert_allclose(found.path["gain"], gains.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.contributions.to_numpy()[picked], gains, rtol=1e-4, atol=1e-6)


def test_canonical_correlations_of_terms_are_projections_on_rows():
    labels, features = draw(4, n_features=10)
    found = im.rank_features(term_model(labels, features), method="ssc", by="term")
    centred = labels - labels.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=0)
    target = centred @ np.linalg.inv(sqrtm(centred.T @ centred))
    columns = features - features.mean(axis=0)
    terms, picked, before = list(TERMS.values()), [], 0.0
    for step in range(len(TERMS)):
        counted = np.zeros((len(TERMS), labels.shape[1]))
        explained = {}
        for at in set(range(len(TERMS))) - set(picked):
            inside = columns[:, [j for each in [*picked, at] for j in terms[each]]]
            rest = target - inside @ np.linalg.lstsq(inside, target, rcond=None)[0]
            explained[at] = 1 - (rest**2).sum(axis=0)
            tails = chi2.sf(len(labels) * (explained[at] - before), len(terms[at]))
            counted[at] = chi2.isf(tails, 1) / len(labels)
        best = int(np.argmax(counted.sum(axis=1)))
        assert positions(found)[step] == best
        assert found.path["gain"].iloc[step] == pytest.approx(counted[best].sum(), rel=1e-6)
        picked.append(best)
        before = explained[best]


@pytest.mark.parametrize("method", METHODS)
def test_terms_of_single_columns_are_picked_as_features(example, method):
    model = im.IsingModel(example.labels, example.features)
    by_term = im.rank_features(model, method=method, by="term", n_features=5)
    by_column = im.rank_features(model, method=method, n_features=5)
    pd.testing.assert_frame_equal(by_term.path, by_column.path)
    pd.testing.assert_series_equal(by_term.importance, by_column.importance)


@pytest.mark.parametrize("refit", [False, True])
def test_columns_of_a_term_that_others_explain_do_not_count(refit):
    """C is B and a column of A: it says nothing once A is picked but what B says, and reverse."""
    labels, features = draw(6, n_features=10)
    features[:, 4], features[:, 5] = features[:, 0], features[:, 3] + features[:, 1]
    features[:, 9] = features[:, 7]
    options = {"method": "forward", "by": "term", "refit": refit}
    found = im.rank_features(term_model(labels, features), **options)
    assert len(found.path) == 4
    spans_all = {"stack(v4, v5)", "v3", "stack(v0, v1, v2)"} - set(found.path["feature"])
    assert len(spans_all) == 1
    assert (found.reasons[list(spans_all)] == "redundant-feature").all()
    # The twice-told column of E changes nothing.
    features[:, 9] = features[:, 8] - features[:, 7]
    again = im.rank_features(term_model(labels, features), **options)
    np.testing.assert_allclose(again.path["gain"], found.path["gain"], rtol=1e-6)


def test_ebic_counts_the_columns_of_terms():
    labels, features = draw(8, n_features=10)
    model = term_model(labels, features)
    found = im.rank_features(model, method="forward", by="term", stop="ebic")
    cost = np.log(len(labels)) + np.log(features.shape[1])
    n_picked = len(found.path)
    assert 0 < n_picked < len(TERMS)
    # Of the next term, gains are on one degree of freedom: as many columns must pay for themselves.
    following = found.order[n_picked]
    share = labels.mean(axis=0)
    statistics = found.contributions.loc[following] / (share * (1 - share))
    gains = chi2.isf(chi2.sf(statistics, 1), len(model.terms[following]))
    assert gains.max() <= cost * len(model.terms[following])


def test_methods_that_rank_no_terms_say_which_do(example):
    model = im.IsingModel(example.labels, example.features)
    with pytest.raises(DataError, match="Use one of 'score', 'forward', 'ssc', or by='feature'"):
        im.rank_features(model, method="br-chi2", by="term")


def test_refits_are_those_of_statsmodels():
    labels, features = draw(5, n_rows=4000)
    outcome, picked = labels.astype(float), []
    for _ in range(4):
        design = sm.add_constant(features[:, picked]) if picked else np.ones((len(labels), 1))
        worth = np.zeros(features.shape[1])
        for k in range(labels.shape[1]):
            fit = sm.GLM(outcome[:, k], design, family=sm.families.Binomial()).fit()
            for j in set(range(features.shape[1])) - set(picked):
                test = sm.GLM(outcome[:, k], design, family=sm.families.Binomial()).score_test(
                    np.asarray(fit.params), exog_extra=features[:, [j]]
                )
                weight = fit.fittedvalues * (1 - fit.fittedvalues)
                worth[j] += weight.mean() * float(np.squeeze(test[0]))
        picked.append(int(np.argmax(worth)))
    # A ridge penalty of 1 is little to 4,000 rows.
    assert positions(rank(labels, features, n_features=4, refit=True)) == picked


@pytest.mark.parametrize("seed", range(3))
def test_canonical_correlations_pick_what_fastcan_picks(seed):
    reference = pd.read_csv(FOLDER / "fastcan_order.csv").query("seed == @seed")
    labels, features = ssc_data(seed)
    found = rank(labels, features, "ssc", n_features=len(reference))
    assert positions(found) == reference["feature"].tolist()
    np.testing.assert_allclose(found.path["gain"], reference["gain"], rtol=1e-6)


def test_canonical_correlations_are_those_of_the_definition():
    labels, features = ssc_data(7)
    found = rank(labels, features, "ssc", n_features=5)
    centred = labels - labels.mean(axis=0)
    of_labels = np.linalg.qr(centred)[0]
    for size in (1, 3, 5):
        chosen = features[:, positions(found, size)]
        of_features = np.linalg.qr(chosen - chosen.mean(axis=0))[0]
        correlations = np.linalg.svd(of_features.T @ of_labels, compute_uv=False)
        assert found.path["total"].iloc[size - 1] == pytest.approx((correlations**2).sum())


# What must hold for all data


@given(st.integers(0, 10**6), st.sampled_from(METHODS), st.booleans())
@settings(max_examples=25)
def test_order_scale_and_origin_do_not_matter(seed, method, given_labels):
    options = {"given_labels": given_labels} if method == "forward" else {}
    labels, features = draw(seed % 1000, n_rows=120, n_features=6)
    rng = np.random.default_rng(seed)
    before = rank(labels, features, method, **options).path
    rows, columns = rng.permutation(len(labels)), rng.permutation(features.shape[1])
    moved = features * rng.uniform(0.01, 100, features.shape[1]) + rng.normal(
        size=features.shape[1], scale=50
    )
    names = [f"x{at + 1}" for at in columns]
    after = rank(
        labels[rows], moved[np.ix_(rows, columns)], method, feature_names=names, **options
    ).path
    assert after["feature"].tolist() == before["feature"].tolist()
    np.testing.assert_allclose(after["gain"], before["gain"], rtol=1e-5)


@given(st.integers(0, 10**6), st.sampled_from(METHODS), st.booleans())
@settings(max_examples=25)
def test_of_columns_that_are_copies_one_is_picked(seed, method, refit):
    options = {"refit": refit} if method == "forward" else {}
    labels, features = draw(seed % 1000, n_rows=80, n_features=4)
    mirrored = 3 - 2 * features
    found = rank(labels, np.hstack([features, mirrored, features[:, :2]]), method, **options)
    picked = positions(found)
    assert sorted(at % 4 for at in picked) == [0, 1, 2, 3]
    unpicked = [name for name in found.feature_names if name not in set(found.path["feature"])]
    assert (found.reasons[unpicked] == "redundant-feature").all()
    assert (found.importance[unpicked] == 0).all()
    assert any("linear functions" in note for note in found.scores.notes)
    assert any(f"stopped after {found.order[3]}" in note for note in found.scores.notes)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("covariates", [False, True])
def test_sparse_weighted_and_blockwise_data_give_the_same(method, covariates, monkeypatch):
    rng = np.random.default_rng(2)
    labels, features = draw(2, n_rows=150)
    features = np.where(features > 0.5, features, 0.0)
    features[:, -1] = rng.uniform(1, 2, len(features))
    times = rng.integers(1, 4, len(labels))
    known = {"covariates": rng.integers(0, 3, (len(labels), 1))} if covariates else {}
    expected = rank(
        np.repeat(labels, times, axis=0),
        np.repeat(features, times, axis=0),
        method,
        **{name: np.repeat(value, times, axis=0) for name, value in known.items()},
    )
    assert expected.adjusted_for == (("c1",) if covariates else ())
    monkeypatch.setattr("isingmlc.ranking.cross_products._PASS_BYTES", 2000)
    for given_features in (features, sparse.csr_array(features)):
        found = rank(labels, given_features, method, freq_weights=times, **known)
        assert found.path["feature"].tolist() == expected.path["feature"].tolist()
        np.testing.assert_allclose(found.path["gain"], expected.path["gain"], rtol=1e-8)


def test_covariates_are_in_the_models_from_the_start():
    labels, features = draw(4)
    known, others = features[:, :1], features[:, 1:]
    found = rank(labels, others, n_features=1, covariates=known)
    fits = [
        sm.GLM(y, sm.add_constant(known), family=sm.families.Binomial())
        for y in labels.T.astype(float)
    ]
    expected = np.zeros(others.shape[1])
    for fit in fits:
        params = np.asarray(fit.fit(tol=1e-12).params)
        chances = fit.predict(params)
        weight = (chances * (1 - chances)).mean()
        for j in range(others.shape[1]):
            test = fit.score_test(params, exog_extra=others[:, [j]])
            expected[j] += weight * float(np.squeeze(test[0]))
    assert positions(found) == [int(np.argmax(expected))]
    assert found.path["gain"].iloc[0] == pytest.approx(expected.max(), rel=1e-6)


# The result


@pytest.mark.parametrize("method", METHODS)
def test_a_forward_ranking_shows_its_path(example, method):
    labels, features = example.labels, example.features.assign(copy=example.features["age"])
    ranking = im.rank_features(labels, features, method, n_features=6)
    path = ranking.path
    assert path.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert ranking.order[:6] == tuple(path["feature"])
    assert path["feature"].iloc[0] == "age"
    assert "copy" in path["redundant"].iloc[0]
    assert path["labels"].iloc[0].startswith("hypertension")
    np.testing.assert_allclose(path["total"], path["gain"].cumsum())
    parts = ranking.contributions.loc[path["feature"]].sum(axis=1)
    np.testing.assert_allclose(parts, path["gain"])
    # The others follow by what they would add.
    rest = ranking.importance[list(ranking.order[6:])]
    assert rest.is_monotonic_decreasing
    assert ranking.pvalues is None
    assert "no p-values" in " ".join(str(ranking.summary()).split())
    with pytest.raises(ModelError, match="has no p-values"):
        ranking.select()
    assert f"({method})" in ranking.plot().get_title()
    assert im.rank_features(labels, features).path is None


def test_a_later_feature_that_adds_more_stays_behind():
    # The sum is best by itself; then either part makes the whole known.
    rng = np.random.default_rng(0)
    first, noise = rng.normal(size=(2, 500))
    labels = (first + 0.1 * rng.normal(size=500) > 0)[:, None]
    features = np.column_stack([first + 1.5 * noise, noise, rng.normal(size=500)])
    ranking = rank(labels, features, "ssc")
    assert ranking.path["gain"].iloc[1] > ranking.path["gain"].iloc[2]
    assert ranking.order == ("x1", "x2", "x3")
    # The importance is the gain, and places are those of the steps.
    assert ranking.importance["x2"] > ranking.importance["x1"]
    np.testing.assert_array_equal(ranking.importance, ranking.path["gain"])
    np.testing.assert_allclose(ranking.importance, ranking.contributions.sum(axis=1))
    assert ranking.roc(["x1"]).auc == 1
    assert ranking.agreement(rank(labels, features, "ssc")).tau == 1
    selector = IsingSelector("ssc", n_features_to_select=1).fit(features, labels)
    np.testing.assert_array_equal(selector.ranking_, [1, 2, 3])


def test_gains_are_falls_of_squared_errors():
    labels, features = draw(7)
    labels = labels & (np.arange(len(labels))[:, None] % [1, 2, 9] == 0)
    found = rank(labels, features, n_features=5)
    picked, outcome = positions(found), labels.astype(float)
    before = len(labels) * outcome.var(axis=0)
    for size in range(1, 6):
        design = sm.add_constant(features[:, picked[:size]])
        after = np.array([sm.OLS(column, design).fit().ssr for column in outcome.T])
        gained = found.contributions.to_numpy()[picked[size - 1]]
        np.testing.assert_allclose(gained, before - after, rtol=1e-8)
        before = after


def test_a_rare_label_counts_less_than_a_frequent_one():
    rng = np.random.default_rng(1)
    labels = rng.uniform(size=(400, 2)) < [0.05, 0.4]
    rare, frequent = labels.T + [[0.1], [0.6]] * rng.normal(size=(2, 400))
    found = rank(labels, np.column_stack([rare, frequent]))
    edges = im.IsingModel(labels.astype(int), np.column_stack([rare, frequent])).fit().score_test()
    assert edges.statistics.sum(axis=1)["x1"] > edges.statistics.sum(axis=1)["x2"]
    assert found.order == ("x2", "x1")


def test_a_gain_is_at_most_the_squared_errors_left():
    # One label all but settles the other, and a feature is a copy of the first.
    rng = np.random.default_rng(1)
    first = rng.uniform(size=400) < 0.5
    labels = np.column_stack([first, first ^ (rng.uniform(size=400) < 0.1)])
    features = np.column_stack([first, rng.normal(size=400)]).astype(float)
    with pytest.warns(DataWarning, match="equal to label 'y1'"):
        found = rank(labels, features, given_labels=True)
    design = np.column_stack([np.ones(400), labels[:, 1]])
    errors = ((first - ridge_fit(design, first, np.array([1]))) ** 2).sum()
    assert found.contributions.iloc[0, 0] == pytest.approx(errors)


def test_the_ebic_stops(example):
    stopped = im.rank_features(example, method="forward", stop="ebic")
    n_picked = len(stopped.path)
    assert 0 < n_picked < len(example.feature_names)
    assert set(stopped.path["feature"]) <= set(example.relevant)
    price = np.log(len(example.labels)) + np.log(len(example.feature_names))
    whole = im.rank_features(example, method="forward")
    share = example.labels.mean()
    statistics = whole.contributions / (share * (1 - share))
    best = statistics.loc[whole.path["feature"]].max(axis=1)
    assert (best[:n_picked] > price).all()
    assert best.iloc[n_picked] <= price
    assert any("EBIC" in note for note in stopped.scores.notes)
    assert len(im.rank_features(example, method="forward", stop="ebic", gamma=5).path) < n_picked


def test_forward_selects(example):
    selection = im.select_features(example, method="forward", grid=[1, 3, 5], random_state=0)
    assert selection.method == "forward"
    assert selection.selected[0] == "age"
    picker = IsingSelector("ssc", n_features_to_select=4).fit(example.features, example.labels)
    assert len(picker.feature_ranking_.path) == 4
    expected = im.rank_features(example, method="ssc").top(4)
    assert set(picker.get_feature_names_out()) == set(expected)
    picker = IsingSelector("forward", n_features=7).fit(example.features, example.labels)
    assert len(picker.feature_ranking_.path) == 7


# Bad input


@pytest.mark.parametrize("method", METHODS)
def test_bad_options_are_refused(example, method):
    with pytest.raises(DataError, match="n_features must be at most the number of features, 30"):
        im.rank_features(example, method=method, n_features=31)
    with pytest.raises(DataError, match="has no option 'keep'"):
        im.rank_features(example, method=method, keep=0.1)
    with pytest.raises(DataError, match="null, penalty and neighbors are for methods"):
        im.rank_features(example, method=method, neighbors=2)
    with pytest.raises(ModelError, match="features"):
        im.rank_features(example.labels, method=method)


def test_bad_options_of_forward_are_refused(example):
    for options, message in (
        ({"refit": "yes"}, "refit must be"),
        ({"given_labels": 2}, "given_labels must be"),
        ({"stop": "aic"}, "stop must be"),
        ({"gamma": -1}, "gamma must not be negative"),
    ):
        with pytest.raises(DataError, match=message):
            im.rank_features(example, method="forward", **options)


@pytest.mark.parametrize("method", METHODS)
def test_statistics_alone_hold_no_products(example, method):
    stats = im.LabelsetStatistics.from_arrays(example.labels, example.features)
    fit = im.IsingModel.from_statistics(stats).fit()
    with pytest.raises(ModelError, match="from_table"):
        fit.rank_features(method)


@pytest.mark.parametrize("method", METHODS)
def test_no_label_to_test_is_said(method):
    labels = np.zeros((30, 2), dtype=int)
    labels[0, 0] = 1
    features = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.warns(DataWarning) as caught:
        ranking = im.rank_features(labels, features, method)
    assert any("nothing" in str(warning.message) for warning in caught)
    assert (ranking.reasons == "no-testable-label").all()
    assert len(ranking.path) == 0


@pytest.mark.parametrize("method", METHODS)
def test_features_that_cannot_be_used_have_a_reason(method):
    labels, features = draw(9)
    features[:, 2] = 5.0
    with pytest.warns(DataWarning, match="constant"):
        ranking = rank(labels, features, method)
    assert ranking.reasons["x3"] == "constant-feature"
    assert "x3" not in set(ranking.path["feature"])
    collinear = rank(labels, np.column_stack([features[:, 0], 2 * features[:, 0] + 1]), method)
    assert collinear.path["feature"].tolist() == ["x1"]
