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
from scipy.stats import chi2

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, ModelError

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
    """Return the positions of the features that were picked."""
    names = ranking.path["feature"][:count]
    return [ranking.feature_names.index(name) for name in names]


# Against other programs


def slow_forward(labels, features, n_steps, terms=None):
    """Pick features by weighted least squares on rows, one regression per candidate.

    With terms (lists of columns) all columns of a candidate enter, and what they add is brought to
    one degree of freedom before candidates are compared.
    """
    terms = terms or [[j] for j in range(features.shape[1])]
    share = labels.mean(axis=0)
    rate = share * (1 - share)
    response = (labels - share) / rate
    left, gains, picked = rate * len(labels), [], []
    df = np.array([len(term) for term in terms])[:, None]
    for _ in range(n_steps):
        before = features[:, [j for at in picked for j in terms[at]]]
        worth = np.zeros((len(terms), labels.shape[1]))
        for at in set(range(len(terms))) - set(picked):
            after = np.column_stack([before, features[:, terms[at]]])
            for k, column in enumerate(response.T):
                small, large = (
                    sm.WLS(column, sm.add_constant(x) if x.size else np.ones(len(x)), rate[k]).fit()
                    for x in (before, after)
                )
                worth[at, k] = small.ssr - large.ssr
        capped = np.minimum(rate * worth, left)
        counted = np.where(df == 1, capped, rate * chi2.isf(chi2.sf(capped / rate, df), 1))
        picked.append(int(np.argmax(counted.sum(axis=1))))
        gains.append(counted[picked[-1]])
        left = left - capped[picked[-1]]
    return picked, np.array(gains)


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


@pytest.mark.parametrize("unit", ["column", "term"])
def test_steps_are_those_of_regressions_on_rows(unit):
    labels, features = draw(3, n_features=10)
    picked, gains = slow_forward(labels, features, 4, list(TERMS.values()) * (unit == "term"))
    model = term_model(labels, features)
    found = im.rank_features(model, method="forward", unit=unit, n_features=4)
    assert positions(found) == picked
    np.testing.assert_allclose(found.path["gain"], gains.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.contributions.to_numpy()[picked], gains, rtol=1e-4, atol=1e-6)


def test_canonical_correlations_of_terms_are_projections_on_rows():
    labels, features = draw(4, n_features=10)
    found = im.rank_features(term_model(labels, features), method="ssc", unit="term")
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


def test_ebic_counts_the_columns_of_terms():
    labels, features = draw(8, n_features=10)
    model = term_model(labels, features)
    found = im.rank_features(model, method="forward", unit="term", stop="ebic")
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
    region = pd.Series(np.arange(len(example.labels)) % 3).map(dict(enumerate("abc")))
    model = im.IsingModel(example.labels, example.features.assign(region=region))
    with pytest.raises(DataError, match=r"'region' .* Use one of 'score', 'forward', 'ssc', or"):
        im.rank_features(model, method="br-chi2")
    columns = im.rank_features(model, method="br-chi2", unit="column")
    assert "region: b vs a" in columns.feature_names


@pytest.mark.parametrize("seed", range(3))
def test_canonical_correlations_pick_what_fastcan_picks(seed):
    reference = pd.read_csv(FOLDER / "fastcan_order.csv").query("seed == @seed")
    labels, features = ssc_data(seed)
    found = rank(labels, features, "ssc", n_features=len(reference))
    assert positions(found) == reference["feature"].tolist()
    np.testing.assert_allclose(found.path["gain"], reference["gain"], rtol=1e-6)


# What must hold for all data


@given(st.integers(0, 10**6), st.sampled_from(METHODS))
@settings(max_examples=25)
def test_order_scale_and_origin_do_not_matter(seed, method):
    labels, features = draw(seed % 1000, n_rows=120, n_features=6)
    rng = np.random.default_rng(seed)
    before = rank(labels, features, method).path
    rows, columns = rng.permutation(len(labels)), rng.permutation(features.shape[1])
    moved = features * rng.uniform(0.01, 100, features.shape[1]) + rng.normal(
        size=features.shape[1], scale=50
    )
    names = [f"x{at + 1}" for at in columns]
    after = rank(labels[rows], moved[np.ix_(rows, columns)], method, feature_names=names).path
    assert after["feature"].tolist() == before["feature"].tolist()
    np.testing.assert_allclose(after["gain"], before["gain"], rtol=1e-5)


@given(st.integers(0, 10**6), st.sampled_from(METHODS))
@settings(max_examples=25)
def test_of_columns_that_are_copies_one_is_picked(seed, method):
    labels, features = draw(seed % 1000, n_rows=80, n_features=4)
    mirrored = 3 - 2 * features
    found = rank(labels, np.hstack([features, mirrored, features[:, :2]]), method)
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


def test_a_gain_is_at_most_the_squared_errors_left():
    # A covariate all but settles the label; a feature says where it does not.
    rng = np.random.default_rng(1)
    known = rng.normal(size=(400, 1))
    odd = np.arange(400) == np.argmax(known)
    label = (known[:, 0] + 0.05 * rng.logistic(size=400) > 0) & ~odd
    features = np.column_stack([odd, rng.normal(size=400)]).astype(float)
    found = rank(label[:, None], features, covariates=known)
    chances = sm.Logit(label, sm.add_constant(known)).fit(disp=0).predict()
    assert found.contributions.iloc[0, 0] == pytest.approx(((label - chances) ** 2).sum())


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


# Bad input


@pytest.mark.parametrize("method", METHODS)
def test_bad_options_are_refused(example, method):
    with pytest.raises(DataError, match="n_features must be at most the number of features, 30"):
        im.rank_features(example, method=method, n_features=31)
    with pytest.raises(DataError, match="has no option 'keep'"):
        im.rank_features(example, method=method, keep=0.1)
    with pytest.raises(DataError, match="penalty and neighbors are for methods"):
        im.rank_features(example, method=method, neighbors=2)
    with pytest.raises(ModelError, match="features"):
        im.rank_features(example.labels, method=method)


def test_bad_options_of_forward_are_refused(example):
    for options, message in (
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
