"""l1-penalised label models against glmnet, saga, and the conditions of an optimum."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from golden import load, load_context, load_data
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packaging.version import Version
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import isingmlc as im

SETS = ("plain", "rare", "separated")


def fit(labels, table=None, ratio=1e-4, method="l1", **options):
    """Return the fits behind a ranking."""
    with warnings.catch_warnings():
        # Labels that are rare, and constant columns, are part of these tests.
        warnings.simplefilter("ignore", im.exceptions.DataWarning)
        return im.rank_features(labels, table, method=method, lam_ratio=ratio, **options).fits


def dense(features):
    return features.toarray() if sparse.issparse(features) else np.asarray(features, dtype=float)


def standardised(table):
    """Standardise columns; constant ones become zero."""
    spread = table.std(axis=0)
    return (table - table.mean(axis=0)) / np.where(spread > 0, spread, np.inf)


def regression(found, labels, features, label):
    """Return columns, coefficients and linear predictor of one label's model, from its parts."""
    labels, features = np.asarray(labels, dtype=float), dense(features)
    others = np.delete(np.arange(labels.shape[1]), label)
    table = np.hstack([labels[:, others], features])

    def joined(of_labels, of_features):
        return np.nan_to_num(np.concatenate([of_labels[others, label], of_features[:, label]]))

    coef = joined(found.label_coefficients, found.coefficients)
    original = joined(found.original_label_coefficients, found.original_coefficients)
    return standardised(table), coef, table @ original + found.intercept[label]


def violations(found, labels, features):
    """Compute the violation of the optimality conditions of each label, in units of its penalty."""
    largest = []
    for label in np.flatnonzero(found.label_reason == "ok"):
        columns, coef, predictor = regression(found, labels, features, label)
        residual = expit(predictor) - np.asarray(labels, dtype=float)[:, label]
        gradient, lam = columns.T @ residual / len(residual), found.lam[label]
        off = np.where(
            coef != 0, np.abs(gradient + lam * np.sign(coef)), np.abs(gradient).clip(lam) - lam
        )
        largest.append(max(np.abs(residual.mean()), off.max()) / lam)
    return np.array(largest)


def draw(n_rows, n_labels, n_features, seed):
    """Draw features, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_rows, n_features)) * rng.uniform(0.5, 3, n_features)
    slopes = rng.normal(size=(n_features, n_labels)) * (rng.random((n_features, n_labels)) < 0.5)
    return (rng.random((n_rows, n_labels)) < expit(features @ slopes)).astype(int), features


@pytest.mark.parametrize("ratio", [1e-4, 1e-1])
def test_coefficients_agree_with_glmnet(ratio):
    labels, features = load_data("plain")
    found = fit(labels, features, ratio)
    reference = load("plain", "l1").query("ratio == @ratio")
    for k, label in enumerate(labels):
        rows = reference[reference["label"] == label].set_index("term")
        assert found.lam_max[k] == pytest.approx(rows["lambda_max"].iloc[0], rel=1e-12)
        assert found.lam[k] == pytest.approx(ratio * found.lam_max[k], rel=1e-12)
        others = labels.columns.drop(label)
        given = {"rtol": 1e-6, "atol": 1e-8}
        ours = found.original_label_coefficients[labels.columns.get_indexer(others), k]
        np.testing.assert_allclose(ours, rows.loc[others, "coef"], **given)
        ours = found.original_coefficients[:, k]
        np.testing.assert_allclose(ours, rows.loc[features.columns, "coef"], **given)
        assert ((ours == 0) == (rows.loc[features.columns, "coef"] == 0)).all()
        # A feature with mean 1000 carries the last digits of its coefficient to the intercept.
        assert found.intercept[k] == pytest.approx(rows.loc["(Intercept)", "coef"], abs=1e-5)


@pytest.mark.parametrize("ratio", [1e-6, 1e-4, 1e-2, 0.5])
@pytest.mark.parametrize("name", SETS)
def test_fits_meet_the_optimality_conditions(name, ratio):
    labels, features = load_data(name)
    found = fit(labels, features, ratio)
    assert violations(found, labels, features).max() < 1e-5
    assert found.violation.max() < 1e-5
    assert np.isfinite(found.coefficients).all()


@pytest.mark.parametrize("name", ["medical", "scene"])
def test_fits_of_real_data_meet_the_optimality_conditions(data_dir, name):
    data = im.datasets.load_mulan(name, part="train", data_dir=data_dir)
    found = fit(data.labels, data.features)
    assert violations(found, data.labels, data.features).max() < 1e-5
    assert np.nanmax(found.violation) < 1e-5


# scikit-learn 1.8 writes an l1 penalty in another way than those before it.
is_new = Version(sklearn.__version__) >= Version("1.8")
L1_OF_SAGA = {"l1_ratio": 1.0} if is_new else {"penalty": "l1"}


@pytest.mark.parametrize("ratio", [0.3, 0.03])
def test_coefficients_agree_with_saga(ratio):
    labels, features = draw(300, 3, 6, seed=4)
    found = fit(labels, features, ratio)
    for k in range(3):
        columns, coef, _ = regression(found, labels, features, k)
        saga = LogisticRegression(
            **L1_OF_SAGA,
            solver="saga",
            C=1 / (len(labels) * found.lam[k]),
            tol=1e-12,
            max_iter=10_000,
            random_state=0,
        ).fit(columns, labels[:, k])
        np.testing.assert_allclose(coef, saga.coef_[0], atol=1e-8)


def test_with_the_largest_penalty_all_coefficients_are_zero():
    labels, features = load_data("plain")
    found = fit(labels, features, 1)
    share = labels.mean().to_numpy()
    assert not found.coefficients.any()
    assert not np.nan_to_num(found.label_coefficients).any()
    np.testing.assert_allclose(found.intercept, np.log(share / (1 - share)), rtol=1e-12)
    np.testing.assert_array_equal(found.lam, found.lam_max)
    slightly_less = fit(labels, features, 0.999)
    assert (np.count_nonzero(slightly_less.coefficients, axis=0) <= 1).all()
    assert slightly_less.coefficients.any()


def test_weights_repeat_rows():
    labels, features = draw(120, 3, 5, seed=6)
    weights = np.random.default_rng(6).integers(0, 4, 120)
    weighted = fit(labels, features, freq_weights=weights)
    repeated = fit(labels.repeat(weights, axis=0), features.repeat(weights, axis=0))
    for part in ("coefficients", "label_coefficients", "original_coefficients", "intercept"):
        np.testing.assert_allclose(getattr(weighted, part), getattr(repeated, part), atol=1e-8)
    np.testing.assert_allclose(weighted.lam_max, repeated.lam_max, rtol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_sparse_features_give_the_same_fits(name):
    labels, features = load_data(name)
    from_dense = fit(labels, features)
    from_sparse = fit(labels, sparse.csr_array(features.to_numpy()))
    for part in ("coefficients", "label_coefficients", "original_coefficients"):
        np.testing.assert_allclose(
            getattr(from_dense, part), getattr(from_sparse, part), rtol=1e-6, atol=1e-8
        )
    np.testing.assert_allclose(from_dense.intercept, from_sparse.intercept, atol=1e-5)
    np.testing.assert_allclose(from_dense.lam, from_sparse.lam, rtol=1e-9)


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    scale=st.lists(st.floats(1e-6, 1e6), min_size=4, max_size=4),
    shift=st.lists(st.floats(-10, 10), min_size=4, max_size=4),
)
def test_units_of_the_features_do_not_matter(seed, scale, shift):
    labels, features = draw(80, 2, 4, seed)
    moved = features * scale + np.array(shift) * scale
    first, second = fit(labels, features, 0.01), fit(labels, moved, 0.01)
    np.testing.assert_allclose(first.coefficients, second.coefficients, atol=1e-7)
    rescaled = second.original_coefficients * np.array(scale)[:, None]
    np.testing.assert_allclose(first.original_coefficients, rescaled, atol=1e-7)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000), ratio=st.floats(1e-6, 1))
@example(seed=0, ratio=0.9999999999999999)
def test_any_penalty_is_solved(seed, ratio):
    # More columns than rows: every label is separated by the features.
    labels, features = draw(30, 3, 40, seed)
    labels[:2] = 0
    labels[2:4] = 1
    found = fit(labels, features, ratio)
    assert violations(found, labels, features).max() < 1e-5


def test_copies_of_a_feature_share_its_coefficient():
    labels, features = draw(150, 3, 4, seed=11)
    alone = fit(labels, features)
    doubled = fit(labels, np.hstack([features, features[:, :1], -features[:, 1:2]]))
    np.testing.assert_allclose(
        doubled.coefficients[0] + doubled.coefficients[4], alone.coefficients[0], atol=1e-7
    )
    np.testing.assert_allclose(
        doubled.coefficients[1] - doubled.coefficients[5], alone.coefficients[1], atol=1e-7
    )
    np.testing.assert_allclose(doubled.coefficients[2:4], alone.coefficients[2:], atol=1e-7)
    # Equal columns get equal numbers.
    np.testing.assert_allclose(doubled.coefficients[4], doubled.coefficients[0], rtol=1e-12)
    np.testing.assert_allclose(doubled.coefficients[5], -doubled.coefficients[1], rtol=1e-12)


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.SeparationWarning")
def test_features_that_the_score_keeps_are_fitted_alone():
    labels, features = draw(150, 3, 6, seed=12)
    found = fit(labels, features, method="score+l1", keep=3)
    places = [int(name[1:]) - 1 for name in found.feature_names]
    assert len(places) == 3
    assert places == sorted(places)
    expected = fit(labels, features[:, places])
    np.testing.assert_array_equal(found.coefficients, expected.coefficients)
    np.testing.assert_array_equal(found.label_coefficients, expected.label_coefficients)
    thin = fit(labels, sparse.csr_array(features), method="score+l1", keep=3)
    np.testing.assert_allclose(thin.coefficients, expected.coefficients, atol=1e-7)


def test_labels_and_features_that_cannot_be_used_say_why():
    labels, features = draw(100, 5, 4, seed=13)
    labels[:, 1], labels[:, 2], labels[:, 3] = 1, 0, 1
    labels[7, 2], labels[9, 3] = 1, 0
    features[:, 2] = 1e8 + 0.1
    found = fit(labels, features)
    expected = ["ok", "constant-label", "too-rare", "too-rare", "ok"]
    assert found.label_reason.tolist() == expected
    assert found.feature_reason.tolist() == ["ok", "ok", "constant-feature", "ok"]
    unfitted = np.array(expected) != "ok"
    unknown = np.isnan(found.coefficients)
    assert unknown[2].all()
    assert unknown[:, unfitted].all()
    assert not np.delete(unknown[:, ~unfitted], 2, axis=0).any()
    # Rare labels explain others, constant ones do not.
    for k in (0, 4):
        known = ~np.isnan(found.label_coefficients[:, k])
        assert known.tolist() == [k != 0, False, True, True, k != 4]
    for part in (found.intercept, found.lam, found.lam_max, found.violation):
        np.testing.assert_array_equal(np.isnan(part), unfitted)
    with_rare = fit(labels, features, min_count=1)
    assert with_rare.label_reason.tolist() == ["ok", "constant-label", "ok", "ok", "ok"]
    weighted = fit(labels, features, freq_weights=np.full(100, 2))
    assert weighted.label_reason.tolist() == with_rare.label_reason.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0}, "lam_ratio must be a finite number above 0"),
        ({"ratio": 1.01}, "lam_ratio"),
        ({"ratio": -1}, "lam_ratio"),
        ({"ratio": np.nan}, "lam_ratio"),
        ({"ratio": "small"}, "lam_ratio"),
        ({"n_jobs": 0}, "n_jobs must be a whole number"),
        ({"min_count": -1}, "min_count must be a whole number"),
    ],
)
def test_bad_arguments_are_named(options, message):
    labels, features = draw(30, 2, 3, seed=17)
    with pytest.raises(im.exceptions.DataError, match=message):
        fit(labels, features, **options)


# Covariates


@pytest.mark.parametrize("penalized", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_coefficients_with_covariates_are_those_of_glmnet(penalized, make):
    labels, covariates, features = load_context()
    tables = load("context", "l1").query("features and penalized == @penalized")
    for ratio, expected in tables.groupby("ratio"):
        theirs = expected.pivot_table(index="term", columns="label", values="coef")
        found = fit(
            labels,
            make(features),
            ratio,
            covariates=covariates,
            penalize_covariates=penalized,
            feature_names=list(features),
        )
        assert found.covariate_columns == ("age", "sex", "region[T.north]", "region[T.south]")
        lam_max = expected.groupby("label")["lambda_max"].first()
        np.testing.assert_allclose(found.lam_max, lam_max, rtol=1e-10)
        for ours, names in (
            (found.original_coefficients, features.columns),
            (found.original_label_coefficients, labels.columns),
            (found.original_covariate_coefficients, found.covariate_columns),
        ):
            np.testing.assert_allclose(ours, theirs.loc[list(names)], atol=1e-7)
        np.testing.assert_allclose(found.intercept, theirs.loc["(Intercept)"], atol=1e-6)
        assert found.violation.max() < 1e-5


def test_features_that_covariates_explain_are_not_ranked():
    labels, covariates, features = load_context()
    known = covariates[["age", "sex"]]
    features = features.assign(
        age=known["age"], mixed=3 - known["age"] + 20 * known["sex"], one=1.0, x1=features["x1"]
    )
    for make in (lambda table: table, lambda table: sparse.csr_array(table.to_numpy())):
        with pytest.warns(im.exceptions.DataWarning, match="'one' are the same"):
            ranking = im.rank_features(
                labels,
                make(features),
                "l1",
                covariates=known,
                lam_ratio=0.01,
                feature_names=list(features),
            )
        reasons = ranking.reasons
        assert list(reasons[reasons != "ok"]) == [*["collinear-feature"] * 2, "constant-feature"]
        np.testing.assert_allclose(ranking.importance[["age", "mixed", "one"]], 0, atol=1e-9)
        expected = im.rank_features(
            labels, features[["x1", "x2", "x3", "x4", "x5"]], "l1", covariates=known, lam_ratio=0.01
        )
        np.testing.assert_allclose(ranking.importance[:5], expected.importance, rtol=1e-6)


def test_labels_that_covariates_separate_or_determine():
    labels, features = draw(300, 3, 4, 0)
    labels = pd.DataFrame(labels, columns=["a", "b", "c"])
    age = np.random.default_rng(0).integers(20, 80, 300)
    covariates = pd.DataFrame({"age": age, "ward": np.where(age % 3, "x", "y")})
    labels.loc[covariates["ward"] == "y", "a"] = 1
    labels["old"] = 1 * (age > 50)
    with (
        pytest.warns(im.exceptions.SeparationWarning, match="'old' are determined by the cov"),
        pytest.warns(im.exceptions.SeparationWarning, match="'a' are certain in part of the rows"),
    ):
        found = fit(labels, features, 0.05, covariates=covariates)
    assert list(found.label_reason) == ["ok", "ok", "ok", "determined-label"]
    assert found.original_covariate_coefficients[1, 0] == np.inf
    assert found.covariate_coefficients[1, 0] == np.inf
    assert np.isfinite(found.original_covariate_coefficients[:, 1:3]).all()
    assert np.isnan(found.coefficients[:, 3]).all()
    assert found.violation[:3].max() < 1e-5
    # Rows at which a is certain drop out; the network of the labels finds the same.
    model = im.IsingModel(labels, features, covariates=covariates)
    with pytest.warns(im.exceptions.SeparationWarning):
        net = model.fit_regularized(lam=np.append(found.lam[:3], 1.0), features=True)
    np.testing.assert_allclose(
        net.effects.to_numpy()[:, :3], found.original_coefficients[:, :3], atol=1e-6
    )
    finite = fit(labels, features, 0.05, covariates=covariates, penalize_covariates=True)
    assert np.isfinite(finite.covariate_coefficients).all()


def test_the_ebic_chooses_the_penalty_of_each_label():
    labels, features = load_data("plain")
    ranking = im.rank_features(labels, features, method="l1")
    assert ranking.settings["lam_ratio"] == "ebic"
    chosen = ranking.fits
    assert "what EBIC (gamma 0.5) chooses" in ranking.scores.notes[0]
    values, own = labels.to_numpy(dtype=float), None
    n_columns = labels.shape[1] - 1 + features.shape[1]
    price = np.log(len(labels)) + np.log(n_columns)
    criteria = []
    for ratio in [*np.geomspace(1, 1e-4, 50)[:35], own]:
        fits = chosen if ratio is own else fit(labels, features, ratio=ratio)
        coefs = np.nan_to_num(
            np.vstack([fits.original_label_coefficients, fits.original_coefficients])
        )
        eta = fits.intercept + np.hstack([values, features]) @ coefs
        llf = -np.logaddexp(0, np.where(values > 0, -eta, eta)).sum(axis=0)
        criteria.append(price * (coefs != 0).sum(axis=0) - 2 * llf)
    *others, mine = criteria
    np.testing.assert_allclose(mine, np.min(others, axis=0), rtol=1e-9)
    assert (chosen.lam < chosen.lam_max).any()


def test_idle_features_that_explain_each_other_do_not_come_first():
    rng = np.random.default_rng(4)
    cause, idle = rng.normal(size=(400, 3)), rng.normal(size=400)
    labels = cause[:, :2] + rng.logistic(size=(400, 2)) > 0
    copies = idle[:, None] + 0.01 * rng.normal(size=(400, 3))
    features = np.hstack([copies, cause])
    by_paper = im.rank_features(labels.astype(int), features, method="l1", lam_ratio=1e-4)
    by_ebic = im.rank_features(labels.astype(int), features, method="l1")
    assert set(by_ebic.top(2)) == {"x4", "x5"}
    assert not set(by_paper.top(2)) & {"x4", "x5"}
