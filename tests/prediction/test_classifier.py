import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, jaccard_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import isingmlc as im
from isingmlc.exceptions import ConvergenceWarning, DataError
from isingmlc.simulate import IsingDistribution
from isingmlc.sklearn import IsingClassifier, IsingSelector, MultilabelStratifiedKFold

# Before 1.7 these gave labels another meaning when rows came in another order.


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


def draw(seed, n_rows=200, n_features=5, n_labels=4):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_rows, n_features)) * rng.uniform(0.1, 50, n_features)
    features += rng.normal(size=n_features) * 100
    common = rng.normal(size=(n_rows, 1))
    noise = rng.logistic(size=(n_rows, n_labels))
    pull = (features - features.mean(axis=0)) / features.std(axis=0)
    labels = pull @ rng.normal(size=(n_features, n_labels)) + common + noise > 0.5
    return features, labels.astype(int)


# The fit


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("penalty", [0.3, 10.0])
def test_each_label_is_the_logistic_regression_of_scikit_learn(data, table, penalty):
    features, labels = data.features.to_numpy(float), data.labels.to_numpy()
    classifier = IsingClassifier(penalty=penalty).fit(table(features), labels)
    scaler = StandardScaler().fit(features)
    interactions = np.zeros((6, 6))
    for k in range(6):
        columns = np.hstack([np.delete(labels, k, axis=1), scaler.transform(features)])
        reference = LogisticRegression(
            C=1 / penalty, solver="newton-cholesky", tol=1e-12, max_iter=1000
        ).fit(columns, labels[:, k])
        others, own = np.split(reference.coef_[0], [5])
        np.testing.assert_allclose(classifier.coef_[k] * scaler.scale_, own, atol=1e-6)
        shift = scaler.mean_ @ (own / scaler.scale_)
        expected = reference.intercept_[0] - shift
        assert classifier.intercept_[k] == pytest.approx(expected, abs=1e-6)
        interactions[k, np.arange(6) != k] = others / 2
    np.testing.assert_allclose(classifier.interactions_, interactions + interactions.T, atol=1e-6)


def test_more_features_than_rows_converge():
    rng = np.random.default_rng(0)
    features = (rng.random((60, 900)) < 0.05) * rng.exponential(size=(60, 900))
    labels = np.column_stack([features[:, :3].sum(axis=1) > 0.05, rng.random(60) < 0.3]).astype(int)
    dense = IsingClassifier(penalty=1.0).fit(features, labels)
    thin = IsingClassifier(penalty=1.0).fit(sparse.csr_array(features), labels)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-7)
    scaler = StandardScaler().fit(features)
    reference = LogisticRegression(solver="lbfgs", tol=1e-10, max_iter=10_000)
    reference.fit(np.hstack([labels[:, 1:], scaler.transform(features)]), labels[:, 0])
    np.testing.assert_allclose(dense.coef_[0] * scaler.scale_, reference.coef_[0, 1:], atol=1e-6)


@pytest.mark.parametrize("penalty", [10.0, "cv"])
def test_jobs_change_nothing(data, penalty):
    options = {"penalty": penalty, "penalties": [1.0, 30.0] if penalty == "cv" else None}
    one = IsingClassifier(**options).fit(data.features, data.labels)
    two = IsingClassifier(**options, n_jobs=2).fit(data.features, data.labels)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-12, atol=1e-15)
    assert two.penalty_ == one.penalty_
    if penalty == "cv":
        pd.testing.assert_frame_equal(two.cv_results_, one.cv_results_)
    with pytest.raises(DataError, match="n_jobs must be a whole number other than 0"):
        IsingClassifier(n_jobs=0).fit(data.features, data.labels)


def test_one_label_is_a_logistic_regression(data):
    label = data.labels["diabetes"].map({0: "no", 1: "yes"}).to_numpy(dtype=object)
    classifier = IsingClassifier(penalty=2.0).fit(data.features, label)
    scaled = StandardScaler().fit_transform(data.features)
    reference = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12).fit(scaled, label)
    assert list(classifier.classes_) == ["no", "yes"]
    np.testing.assert_allclose(
        classifier.predict_proba(data.features), reference.predict_proba(scaled), atol=1e-7
    )
    assert (classifier.predict(data.features) == reference.predict(scaled)).all()
    jaccard = IsingClassifier(penalty=2.0, decode="jaccard").fit(data.features, label)
    assert (jaccard.predict(data.features) == reference.predict(scaled)).all()
    column = IsingClassifier(penalty=2.0).fit(data.features, data.labels[["diabetes"]])
    assert column.predict(data.features).shape == (1500, 1)
    np.testing.assert_allclose(
        column.predict_proba(data.features)[:, 0], reference.predict_proba(scaled)[:, 1], atol=1e-7
    )


def test_an_ising_model_with_the_features_as_covariates_is_the_same_model(data, tmp_path):
    chosen = data.features[["age", "bmi", "female", "smoker"]]
    weights = np.random.default_rng(0).integers(1, 4, 1500)
    classifier = IsingClassifier(penalty=7.0).fit(chosen, data.labels, sample_weight=weights)
    model = im.IsingModel(data.labels, covariates=chosen, freq_weights=weights)
    res = model.fit(penalty=7.0, penalize_covariates=True)
    np.testing.assert_allclose(res.params.loc["const"], classifier.intercept_, atol=1e-7)
    np.testing.assert_allclose(res.interactions, classifier.interactions_, atol=1e-8)
    np.testing.assert_allclose(
        res.params.loc[list(chosen.columns)], classifier.coef_.T, rtol=1e-6, atol=1e-9
    )
    text = str(res.summary())
    assert "The penalty is on covariates too" in text
    assert "bmi" in text
    free = model.fit(penalty=7.0)
    assert (free.params.loc["bmi"].abs() > res.params.loc["bmi"].abs()).all()
    res.save(tmp_path / "fit.npz")
    assert im.IsingResults.load(tmp_path / "fit.npz").settings == res.settings
    with pytest.raises(DataError, match="penalize_covariates is for a ridge penalty"):
        model.fit(penalize_covariates=True)


def test_errors_with_penalised_covariates_are_those_of_the_penalised_information(data):
    chosen = data.features[["age", "smoker"]]
    res = im.IsingModel(data.labels[["asthma", "diabetes"]], covariates=chosen).fit(
        penalty=5.0, penalize_covariates=True
    )
    design = np.column_stack([np.ones(1500), data.labels["diabetes"], chosen]).astype(float)
    eta = design @ res.params.loc[["const", "diabetes", "age", "smoker"], "asthma"].to_numpy()
    chance = 1 / (1 + np.exp(-eta))
    ridge = np.diag([0.0, 5.0, *(5.0 * chosen.to_numpy().var(axis=0))])
    information = (design.T * (chance * (1 - chance))) @ design + ridge
    expected = np.sqrt(np.linalg.inv(information).diagonal())
    np.testing.assert_allclose(
        res.bse.loc[["const", "diabetes", "age", "smoker"], "asthma"], expected, rtol=1e-6
    )


# Probabilities and decoding


def enumerate_law(classifier, row, possible):
    """Write out the probabilities of labelsets."""
    weights = []
    for labelset in possible:
        energy = sum(
            (classifier.intercept_[k] + classifier.coef_[k] @ row) for k in np.flatnonzero(labelset)
        )
        for k, other in itertools.combinations(np.flatnonzero(labelset), 2):
            energy += classifier.interactions_[k, other]
        weights.append(np.exp(energy))
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize("labelsets", ["seen", "all"])
def test_predictions_are_the_best_by_enumeration(labelsets):
    features, labels = draw(1, n_rows=30)
    classifier = IsingClassifier(labelsets=labelsets, penalty=3.0).fit(features, labels)
    seen = sorted({tuple(line) for line in labels.tolist()})
    assert len(seen) < 16
    np.testing.assert_array_equal(classifier.labelsets_, seen)
    assert classifier.labelset_counts_.sum() == 30
    possible = seen if labelsets == "seen" else list(itertools.product((0, 1), repeat=4))
    new = draw(2, n_rows=40)[0]
    sets, chances = classifier.predict_labelsets(new, m=3)
    marginals = classifier.predict_proba(new)
    decoded = {
        decode: clone(classifier).set_params(decode=decode).fit(features, labels).predict(new)
        for decode in ("subset", "hamming", "jaccard", "f1")
    }
    for at, row in enumerate(new):
        law = enumerate_law(classifier, row, possible)
        order = np.argsort(-law)[:3]
        np.testing.assert_allclose(chances[at], law[order])
        np.testing.assert_array_equal(sets[at], np.array(possible)[order])
        np.testing.assert_allclose(marginals[at], law @ np.array(possible))
        np.testing.assert_array_equal(decoded["subset"][at], possible[law.argmax()])
        np.testing.assert_array_equal(decoded["hamming"][at], marginals[at] > 0.5)
        for name in ("jaccard", "f1"):
            expected = [
                sum(
                    chance
                    * measure_sets(name, set(np.flatnonzero(truth)), set(np.flatnonzero(guess)))
                    for chance, truth in zip(law, possible, strict=True)
                )
                for guess in seen
            ]
            best = seen[int(np.argmax(expected))]
            np.testing.assert_array_equal(decoded[name][at], best)


def measure_sets(name, truth, guess):
    if not truth | guess:
        return 0.0
    common = len(truth & guess)
    if name == "f1":
        return 2 * common / (len(truth) + len(guess))
    return common / len(truth | guess)


def test_marginals_are_those_of_the_distribution(data):
    classifier = IsingClassifier(labelsets="all").fit(data.features, data.labels)
    law = IsingDistribution(
        classifier.intercept_, classifier.interactions_, effects=classifier.coef_.T
    )
    rows = data.features[:20]
    chances = law.pmf(rows.to_numpy())
    np.testing.assert_allclose(classifier.predict_proba(rows), chances @ law.patterns.to_numpy())
    labelsets, probabilities = classifier.predict_labelsets(rows, m=100)
    assert labelsets.shape == (20, 64, 6)
    np.testing.assert_allclose(probabilities, -np.sort(-chances, axis=1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


# What must not matter


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**16))
@example(6454)  # the solver's line search says that it stops
def test_order_units_and_repeats_change_nothing(seed):
    features, labels = draw(seed, n_rows=80, n_features=4, n_labels=3)
    rng = np.random.default_rng(seed + 1)
    weights = rng.integers(0, 3, len(labels))
    weights[:3] = 1
    base = IsingClassifier(penalty=2.0).fit(features, labels, sample_weight=weights)
    columns, names = rng.permutation(4), rng.permutation(3)
    rows = rng.permutation(np.repeat(np.arange(len(weights)), weights))
    scale, shift = rng.uniform(0.01, 100, 4), rng.normal(size=4) * 10
    moved = (features * scale + shift)[:, columns]
    other = IsingClassifier(penalty=2.0).fit(moved[rows], labels[rows][:, names])
    np.testing.assert_allclose(
        other.coef_, (base.coef_ / scale)[names][:, columns], rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(
        other.interactions_, base.interactions_[np.ix_(names, names)], atol=1e-8
    )
    np.testing.assert_allclose(
        other.predict_proba(moved), base.predict_proba(features)[:, names], atol=1e-8
    )
    assert other.labelset_counts_.sum() == weights.sum()


def test_constant_labels_are_predicted_as_they_are(data):
    labels = data.labels.assign(never=0, always=1)
    classifier = IsingClassifier().fit(data.features, labels)
    plain = IsingClassifier().fit(data.features, data.labels)
    np.testing.assert_allclose(
        classifier.predict_proba(data.features)[:, :6], plain.predict_proba(data.features)
    )
    assert (classifier.predict(data.features)[:, 6:] == [0, 1]).all()
    assert list(classifier.intercept_[6:]) == [-np.inf, np.inf]
    every = IsingClassifier(labelsets="all").fit(data.features, labels)
    assert (every.predict_proba(data.features)[:, 6:] == [0, 1]).all()
    nothing = IsingClassifier().fit(data.features, np.zeros((1500, 2), dtype=int))
    assert not nothing.predict(data.features).any()
    assert nothing.predict_labelsets(data.features).probabilities.shape == (1500, 1)


# Penalties by cross-validation


@pytest.mark.parametrize("decode", ["subset", "hamming", "jaccard", "f1"])
def test_the_penalty_is_that_of_a_grid_search(data, decode):
    penalties = [0.5, 5.0, 50.0, 500.0]
    features, labels = data.features.to_numpy()[:300], data.labels.to_numpy()[:300]
    classifier = IsingClassifier(decode=decode, penalty="cv", penalties=penalties, cv=3)
    classifier.fit(features, labels)
    scoring = {
        "subset": "accuracy",
        "hamming": lambda model, X, y: (model.predict(X) == y).mean(),
        "jaccard": lambda model, X, y: jaccard_score(
            y, model.predict(X), average="samples", zero_division=0
        ),
        "f1": lambda model, X, y: f1_score(y, model.predict(X), average="samples", zero_division=0),
    }[decode]
    grid = GridSearchCV(
        IsingClassifier(decode=decode),
        {"penalty": penalties[::-1]},
        scoring=scoring,
        cv=MultilabelStratifiedKFold(3),
    ).fit(features, labels)
    np.testing.assert_allclose(
        classifier.cv_results_["score"], grid.cv_results_["mean_test_score"], atol=1e-9
    )
    assert classifier.penalty_ == grid.best_params_["penalty"]
    fixed = IsingClassifier(penalty=classifier.penalty_).fit(features, labels)
    np.testing.assert_allclose(classifier.coef_, fixed.coef_, atol=1e-8)


def test_any_splitter_makes_the_folds(data):
    features, labels = data.features.to_numpy()[:200], data.labels.to_numpy()[:200]
    pairs = list(KFold(2).split(features))
    for cv in (KFold(2), pairs):
        classifier = IsingClassifier(penalty="cv", penalties=[1.0, 10.0], cv=cv)
        table = classifier.fit(features, labels).cv_results_
        assert [name for name in table if name.startswith("fold")] == ["fold0", "fold1"]
        for penalty, score in zip(table["penalty"], table["score"], strict=True):
            model = IsingClassifier(penalty=penalty)
            assert score == pytest.approx(cross_val_score(model, features, labels, cv=cv).mean())
    shuffled = IsingClassifier(penalty="cv", penalties=[1.0, 10.0], random_state=1)
    again = clone(shuffled).fit(features, labels).cv_results_
    pd.testing.assert_frame_equal(shuffled.fit(features, labels).cv_results_, again)


def test_folds_have_labels_in_the_same_shares(data):
    labels = data.labels.to_numpy()
    folds = MultilabelStratifiedKFold(4, shuffle=True, random_state=0).split(labels, labels)
    held = [held_out for _, held_out in folds]
    assert sorted(np.concatenate(held)) == list(range(1500))
    assert (np.ptp([labels[rows].sum(axis=0) for rows in held], axis=0) <= 3).all()


def test_the_splitter_says_what_it_cannot_split(data):
    with pytest.raises(DataError, match="n_splits must be a whole number of at least 2"):
        list(MultilabelStratifiedKFold(1).split(data.features, data.labels))
    with pytest.raises(DataError, match="n_splits must be at most the number of rows, 3"):
        list(MultilabelStratifiedKFold(5).split(data.features[:3], data.labels[:3]))
    with pytest.raises(DataError, match="coded 0/1"):
        list(MultilabelStratifiedKFold().split(data.features, data.labels + 1))
    with pytest.raises(DataError, match="y must hold the labels"):
        list(MultilabelStratifiedKFold().split(data.features))


# A scikit-learn estimator among others


def test_it_works_in_pipelines_and_survives_pickling(data):
    pipeline = make_pipeline(IsingSelector(n_features_to_select=8), IsingClassifier())
    pipeline.fit(data.features, data.labels)
    assert pipeline.score(data.features, data.labels) > 0.4
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.predict(data.features), pipeline.predict(data.features))
    classifier = IsingClassifier().fit(data.features, data.labels)
    assert classifier.label_names_ == list(data.labels.columns)
    assert list(classifier.feature_names_in_) == list(data.features.columns)
    assert classifier.score(data.features, data.labels) == pytest.approx(
        im.metrics.subset_accuracy(data.labels, classifier.predict(data.features))
    )
    thin = IsingClassifier().fit(
        sparse.csr_array(data.features.to_numpy(float)), sparse.csr_array(data.labels.to_numpy())
    )
    np.testing.assert_allclose(thin.coef_, classifier.coef_, atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"decode": "accuracy"}, "decode must be one of 'subset', 'hamming', 'jaccard', 'f1'"),
        ({"labelsets": "most"}, "labelsets must be one of 'seen', 'all'"),
        ({"penalty": 0}, "penalty must be"),
        ({"penalty": "best"}, "penalty must be one of 'cv'"),
        ({"penalty": 1.0, "penalties": [1.0]}, "penalties are what penalty='cv' tries"),
        ({"penalty": "cv", "penalties": []}, "penalties must hold at least one"),
        ({"penalty": "cv", "penalties": [-1]}, "penalties must be"),
        ({"penalty": "cv", "cv": 1}, "cv must be a whole number of at least 2"),
        ({"penalty": "cv", "cv": 2000}, "cv must be at most the number of rows, 1500"),
        ({"penalty": "cv", "cv": "five"}, "cv must be a number of folds"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_parameters_are_named(data, parameters, message):
    with pytest.raises(DataError, match=message):
        IsingClassifier(**parameters).fit(data.features, data.labels)


def test_bad_data_are_named(data):
    classifier = IsingClassifier()
    with pytest.raises(DataError, match=r"coded 0/1 .* column\(s\) '1' hold other values"):
        classifier.fit(data.features, np.column_stack([data.labels["asthma"], np.arange(1500) % 3]))
    with pytest.raises(DataError, match="Unknown label type: continuous"):
        classifier.fit(data.features, data.features[["bmi", "age"]].to_numpy() + 0.5)
    with pytest.raises(DataError, match="Only binary classification is supported"):
        classifier.fit(data.features, np.arange(1500) % 3)
    with pytest.raises(DataError, match="sample_weight must be finite and not negative"):
        classifier.fit(data.features, data.labels, sample_weight=-np.ones(1500))
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        classifier.fit(data.features, data.labels, sample_weight=np.zeros(1500))
    many = np.random.default_rng(0).integers(0, 2, (1500, 21))
    with pytest.raises(DataError, match="up to 20 labels, but 21 labels vary"):
        IsingClassifier(labelsets="all").fit(data.features, many)
    classifier.fit(data.features, data.labels)
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(data.features.drop(columns="age"))
    with pytest.raises(DataError, match="m must be"):
        classifier.predict_labelsets(data.features, m=0)
    classifier.fit(data.features.to_numpy(), data.labels)
    with pytest.raises(ValueError, match="29 features"):
        classifier.predict(data.features.to_numpy()[:, 1:])


def test_a_fit_that_is_given_up_warns(data):
    with pytest.warns(ConvergenceWarning, match=r"'hypertension'.* did not converge in 1 steps"):
        IsingClassifier(max_iter=1).fit(data.features, data.labels)
