import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, f1_score
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, ModelError
from isingmlc.sklearn import IsingClassifier

pytestmark = pytest.mark.filterwarnings("ignore::isingmlc.exceptions.SeparationWarning")


@pytest.fixture(scope="module")
def data():
    """Draw three labels that two of ten features move."""
    rng = np.random.default_rng(3)
    features = pd.DataFrame(rng.normal(size=(400, 10)), columns=[f"x{j}" for j in range(10)])
    odds = np.column_stack([3 * features["x7"], -3 * features["x2"], 0 * features["x0"]])
    labels = pd.DataFrame(rng.random(odds.shape) < 1 / (1 + np.exp(-odds)), columns=list("abc"))
    return labels.astype(int), features


class AllOnes(KNeighborsClassifier):
    """Predicts every label, whatever the features."""

    def predict(self, X):
        return np.ones((len(X), 3), dtype=int)


def f1_of_labels(truth, guess):
    return f1_score(truth, guess, average="macro", zero_division=0)


class OneLabel(LogisticRegression):
    """Has no way with several labels."""


def test_the_features_that_act_are_chosen(data):
    chosen = im.select_features(*data, max_features=1.0, random_state=0)
    assert set(chosen.selected[:2]) == {"x7", "x2"}
    assert chosen.path["size"].tolist() == list(range(1, 11))
    assert chosen.evaluate(*data)["subset"] > 0.3


def test_of_equal_scores_the_smaller_subset_is_kept(data):
    chosen = im.select_features(*data, max_features=1.0, classifier=AllOnes(), random_state=0)
    assert len(chosen.selected) == 1
    assert len(chosen.path["score"].unique()) == 1


def test_the_same_seed_gives_the_same_choice(data):
    first, second = (im.select_features(*data, random_state=8, max_features=5) for _ in range(2))
    pd.testing.assert_frame_equal(first.path, second.path)
    assert first.selected == second.selected
    in_parallel = im.select_features(*data, random_state=8, max_features=5, n_jobs=2)
    pd.testing.assert_frame_equal(first.path, in_parallel.path)


def test_the_validation_set_chooses_among_rankings(data):
    labels, features = data
    methods = ["br-ig", ("score", {"penalty": 2.0}), "score"]
    chosen = im.select_features(labels, features, methods, max_features=3, random_state=0)
    names = ["br-ig", "score (penalty=2.0)", "score"]
    assert chosen.path["method"].unique().tolist() == names
    best = chosen.path[chosen.path["score"] == chosen.path["score"].max()]
    assert len(chosen.selected) == best["size"].min()
    assert chosen.method in best["method"].to_list()
    text = str(chosen.summary())
    assert "best size of each ranking" in text
    for name in names:
        assert name[:13] in text


def test_auto_tries_rankings_whose_features_complement_each_other(data):
    chosen = im.select_features(*data, method="auto", max_features=3, random_state=0)
    assert chosen.path["method"].unique().tolist() == ["forward", "ssc"]
    assert chosen.path["method"].value_counts().eq(3).all()
    assert (chosen.n_folds, chosen.n_validation) == (5, len(data[0]))
    ranking = im.rank_features(*data, method=chosen.method)
    assert chosen.selected == ranking.order[: len(chosen.selected)]
    for same in ({"method": ["auto"]}, {"method": "auto", "cv": 5}):
        again = im.select_features(*data, **same, max_features=3, random_state=0)
        pd.testing.assert_frame_equal(again.path, chosen.path)
        assert again.selected == chosen.selected
    once = im.select_features(*data, "auto", validation=0.3, max_features=3, random_state=0)
    assert once.n_folds == 1
    clusters = np.arange(len(data[0])) % 3
    assert im.select_features(*data, "auto", max_features=2, groups=clusters).n_folds == 3


def test_p_values_choose_without_a_split(data):
    labels, features = data
    chosen = im.select_features(labels, features, alpha=0.01, adjust="bonferroni")
    ranking = im.rank_features(labels, features, penalty=None)
    assert chosen.selected == ranking.select(0.01, "bonferroni")
    assert chosen.path.empty
    assert np.isnan(chosen.score)
    assert (chosen.n_train, chosen.n_validation) == (400, 0)
    assert chosen.evaluate(labels, features)["hamming"] > 0.6
    assert "p-values" in str(chosen.summary())


@pytest.mark.parametrize(
    "idle",
    [
        {"cv": 5},
        {"split": "random"},
        {"rule": "one-se"},
        {"grid": [1, 2]},
        {"max_features": 3},
        {"validation": 0.5},
    ],
    ids=lambda idle: next(iter(idle)),
)
def test_what_p_values_have_no_use_for_is_an_error(data, idle):
    named = f"without validation: leave '{next(iter(idle))}' or alpha out"
    with pytest.raises(DataError, match=named):
        im.select_features(*data, alpha=0.05, **idle)


def test_no_significant_feature_is_said(data):
    labels, _ = data
    noise = np.random.default_rng(0).normal(size=(400, 5))
    with pytest.raises(ModelError, match=r"no feature has an adjusted p-value up to alpha=0\.001"):
        im.select_features(labels, noise, alpha=0.001)


def test_a_ranking_can_be_brought_along(data):
    labels, features = data
    ranking = im.rank_features(labels, features, method="br-ig")
    chosen = im.select_features(labels, features, ranking=ranking, max_features=4, random_state=0)
    assert chosen.selected == ranking.order[: len(chosen.selected)]
    assert chosen.method == "br-ig"
    with pytest.raises(DataError, match="ranking must be of the terms that are passed"):
        im.select_features(labels, features.iloc[:, :5], ranking=ranking)
    with pytest.raises(DataError, match="ranking must be a FeatureRanking"):
        im.select_features(labels, features, ranking=["x1"])


@pytest.mark.parametrize(
    ("max_features", "grid", "sizes"),
    [
        (0.5, None, [1, 2, 3, 4, 5]),
        (3, None, [1, 2, 3]),
        (1.0, 3, [1, 3, 10]),
        (1.0, 1, [10]),
        (0.8, [8, 2, 2], [2, 8]),
        (0.01, None, [1]),
        (0.7, 1, [7]),
    ],
)
def test_sizes_follow_from_the_limit_and_the_grid(data, max_features, grid, sizes):
    chosen = im.select_features(*data, max_features=max_features, grid=grid, random_state=0)
    assert chosen.path["size"].tolist() == sizes


def test_few_features_are_all_tried_unless_someone_says_otherwise(data):
    labels, features = data
    assert im.select_features(labels, features, random_state=0).path["size"].max() == 10
    rng = np.random.default_rng(1)
    noise = pd.DataFrame(rng.normal(size=(400, 140))).add_prefix("noise")
    for n_noise, most in ((15, 20), (140, 30)):
        wide = features.join(noise.iloc[:, :n_noise])
        chosen = im.select_features(labels, wide, grid=3, random_state=0)
        assert chosen.path["size"].max() == most


def test_features_that_complement_each_other_are_the_default_unless_tests_are_wanted(data):
    first = {"grid": [1], "random_state": 0}
    for options, method in (
        (first, "forward"),
        ({"alpha": 0.05}, "score"),
        ({"neighbors": 1, **first}, "score (neighbors=1)"),
        ({"cov_type": "HC0", **first}, "score"),
    ):
        assert im.select_features(*data, **options).method == method


def test_a_best_size_that_is_the_largest_tried_is_named(data):
    first = im.select_features(*data, max_features=1, random_state=0)
    assert "is the largest that was tried" in str(first.summary())
    assert "max_features=" in str(first.summary())
    for chosen in (
        im.select_features(*data, max_features=1.0, grid=[10], random_state=0),
        im.select_features(*data, alpha=0.05),
        im.select_features(*data, random_state=0),
    ):
        assert "largest that was tried" not in str(chosen.summary())


@pytest.mark.parametrize("metric", ["subset", "hamming", "jaccard"])
def test_the_metric_is_what_is_maximised(data, metric):
    chosen = im.select_features(*data, metric=metric, max_features=5, random_state=1)
    path = chosen.path
    pd.testing.assert_series_equal(path["score"], path[metric], check_names=False)
    assert path[metric].max() == chosen.score


def test_constant_labels_are_predicted_as_their_constants(data):
    labels, features = data
    labels = labels.assign(never=0, always=1)
    with pytest.warns(DataWarning, match="never"):
        chosen = im.select_features(labels, features, max_features=3, random_state=0)
    predicted = chosen.predict(features)
    assert (predicted["never"] == 0).all()
    assert (predicted["always"] == 1).all()
    plain = im.select_features(*data, max_features=3, random_state=0)
    pd.testing.assert_frame_equal(predicted[["a", "b", "c"]], plain.predict(features))


def test_any_multi_label_classifier_will_do(data):
    chosen = im.select_features(
        *data, classifier=KNeighborsClassifier(15), max_features=3, random_state=0
    )
    assert isinstance(chosen.classifier.classifier_, KNeighborsClassifier)
    assert chosen.evaluate(*data)["hamming"] > 0.6


def test_sparse_features_give_the_same(data):
    labels, features = data
    thin = sparse.csr_array(features.where(features > 0, 0))
    dense = features.where(features > 0, 0)
    one = im.select_features(labels, dense, max_features=4, random_state=0)
    other = im.select_features(
        labels, thin, max_features=4, random_state=0, feature_names=list(features)
    )
    assert one.selected == other.selected
    pd.testing.assert_frame_equal(one.path, other.path)
    np.testing.assert_array_equal(one.predict(dense), other.predict(thin))


def test_columns_are_taken_by_name_or_by_place(data):
    labels, features = data
    chosen = im.select_features(labels, features, max_features=4, random_state=0)
    expected = chosen.predict(features)
    turned = features.iloc[:, ::-1]
    pd.testing.assert_frame_equal(chosen.predict(turned), expected)
    pd.testing.assert_frame_equal(chosen.predict(features[list(chosen.selected)]), expected)
    np.testing.assert_array_equal(chosen.predict(features.to_numpy()), expected)
    moved = features.set_index(pd.Index(range(1000, 1400)))
    assert chosen.predict(moved).index[0] == 1000
    with pytest.raises(DataError, match=r"features lacks the column\(s\) 'x"):
        chosen.predict(features.drop(columns=chosen.selected[0]))
    with pytest.raises(DataError, match=r"all 10 columns.*\(400, 3\)"):
        chosen.predict(features.to_numpy()[:, :3])


def test_a_real_set_with_constant_labels_in_the_split_works(data_dir):
    train = im.datasets.load_mulan("medical", part="train", data_dir=data_dir)
    test = im.datasets.load_mulan("medical", part="test", data_dir=data_dir)
    with pytest.warns(DataWarning):
        chosen = im.select_features(
            train, method=[("score", {"penalty": 1.0})], grid=[20], random_state=0
        )
    assert chosen.evaluate(test)["hamming"] > 0.9


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"classifier": OneLabel()}, DataError, "could not be fitted to 3 labels at once"),
        ({"classifier": LinearRegression()}, DataError, "must predict 0 or 1"),
        ({"n_jobs": 0}, DataError, "n_jobs must be"),
        ({"adjust": "best"}, DataError, "adjust must be one of"),
        ({"classifier": OneLabel}, DataError, "not fitted yet"),
        ({"classifier": "tree"}, DataError, "classifier must be one of 'ising', 'chain'"),
        ({"classifier": 3}, DataError, "classifier must be 'ising', 'chain' or a multi-label"),
        ({"max_features": 0}, DataError, "max_features must be"),
        ({"max_features": 11}, DataError, r"max_features must be at most .* 10, but is 11"),
        ({"max_features": 1.5}, DataError, "max_features must be"),
        ({"max_features": 0.0}, DataError, "max_features must be"),
        ({"validation": 0}, DataError, "validation must be"),
        ({"validation": 1.0}, DataError, "validation must be"),
        ({"validation": 0.001}, DataError, "validation=0.001 leaves"),
        ({"metric": "best"}, DataError, "metric must be one of 'subset', 'hamming', 'jaccard'"),
        ({"method": "best"}, DataError, "method must be one of"),
        ({"method": []}, DataError, "method must name at least one"),
        ({"method": ["score", "score"]}, DataError, "same ranking twice .* 'score' comes again"),
        ({"method": [("score", 3)]}, DataError, "pairs such as"),
        ({"method": [("score", {"lam": 3})]}, DataError, "no option 'lam'"),
        ({"method": "auto", "alpha": 0.05}, DataError, "alpha chooses features by"),
        ({"method": "br-chi2", "alpha": 0.05}, ModelError, "no p-values"),
        ({"alpha": 2}, DataError, "alpha must be"),
        ({"grid": [0]}, DataError, "grid must be"),
        ({"grid": [11]}, DataError, "grid must hold numbers"),
        ({"grid": 0}, DataError, "grid must be"),
        ({"random_state": "x"}, DataError, "random_state must be"),
    ],
)
def test_bad_arguments_are_named(data, arguments, error, message):
    with pytest.raises(error, match=message):
        im.select_features(*data, **arguments)


def test_data_without_features_are_refused(data):
    with pytest.raises(ModelError, match="no features"):
        im.select_features(data[0])


def test_rows_of_frames_belong_together_by_their_indexes(data):
    labels, features = data
    chosen = im.select_features(labels, features, max_features=2, random_state=0)
    with pytest.raises(DataError, match="labels and features are pandas objects whose indexes"):
        chosen.evaluate(labels.sample(frac=1, random_state=0), features)
    with pytest.raises(DataError, match="labels has 9 rows and features has 400"):
        chosen.evaluate(labels.to_numpy()[:9], features)
    shuffled = features.sample(frac=1, random_state=0)
    pd.testing.assert_series_equal(
        chosen.evaluate(labels.loc[shuffled.index], shuffled), chosen.evaluate(labels, features)
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.mask(frame > 2), "features has missing values"),
        (lambda frame: frame.assign(x7="high"), "features must be numeric"),
        (lambda frame: pd.concat([frame, frame[["x7"]]], axis=1), "more than once"),
        (lambda frame: frame.iloc[:0], "at least one row"),
        (lambda frame: None, "features must be a table"),
    ],
)
def test_features_to_predict_from_are_checked(data, spoil, message):
    chosen = im.select_features(*data, max_features=2, random_state=0)
    with pytest.raises(DataError, match=message):
        chosen.predict(spoil(data[1]))


def test_one_label_is_enough(data):
    labels, features = data
    for classifier in ("ising", "chain", KNeighborsClassifier()):
        chosen = im.select_features(
            labels[["a"]], features, max_features=2, classifier=classifier, random_state=0
        )
        assert chosen.selected[0] == "x7"
        assert chosen.evaluate(labels[["a"]], features)["subset"] > 0.7


# Covariates


@pytest.fixture(scope="module")
def confounded():
    """Draw labels and a feature that depend on age and ward alone, and a feature that acts."""
    rng = np.random.default_rng(8)
    age, ward = rng.normal(60, 12, 800), rng.choice(["east", "north", "west"], 800)
    old, west = (age - 60) / 12, 1.5 * (ward == "west")
    features = pd.DataFrame(rng.normal(size=(800, 6)), columns=[f"x{j}" for j in range(6)])
    features["x3"] += 1.5 * old
    odds = 1.5 * old + west - 0.5
    odds = np.column_stack([odds + features["x5"], odds - features["x5"], odds])
    labels = pd.DataFrame(rng.random(odds.shape) < 1 / (1 + np.exp(-odds)), columns=list("abc"))
    return labels.astype(int), features, pd.DataFrame({"age": age, "ward": ward})


def test_the_procedure_is_that_of_the_paper_with_covariates_in_every_model(confounded):
    """Step by step with scikit-learn alone, on the split that the seed gives."""
    labels, features, covariates = confounded
    chosen = im.select_features(
        labels,
        features,
        "score",
        covariates=covariates,
        max_features=4,
        validation=0.25,
        split="random",
        classifier="chain",
        random_state=5,
    )
    order = np.random.default_rng(5).permutation(800)
    held, kept = np.sort(order[:200]), np.sort(order[200:])
    ranking = im.rank_features(
        labels.iloc[kept], features.iloc[kept], covariates=covariates.iloc[kept]
    )
    assert ranking.order[0] == "x5"
    always = pd.get_dummies(covariates, drop_first=True, dtype=float)
    scores = []
    for size in range(1, 5):
        columns = always.join(features[list(ranking.order[:size])]).to_numpy()
        chain = make_pipeline(
            StandardScaler(with_mean=False),
            ClassifierChain(
                LogisticRegression(solver="liblinear", intercept_scaling=10, max_iter=1000)
            ),
        )
        chain.fit(columns[kept], labels.iloc[kept].to_numpy())
        scores.append(accuracy_score(labels.iloc[held], chain.predict(columns[held])))
    np.testing.assert_allclose(chosen.path["subset"], scores)
    assert list(chosen.path["size"]) == [1, 2, 3, 4]
    best = int(np.argmax(scores)) + 1
    assert chosen.selected == ranking.order[:best]
    assert chosen.ranking.adjusted_for == chosen.covariate_names == ("age", "ward")
    assert " features by score given age, ward: 'x5'" in repr(chosen)
    # All rows are used in the end, covariates first.
    columns = always.join(features[list(chosen.selected)]).to_numpy()
    expected = chain.fit(columns, labels.to_numpy()).predict(columns)
    predicted = chosen.predict(features, covariates)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_array_equal(predicted.index, features.index)
    subset = chosen.evaluate(labels, features, covariates)["subset"]
    assert subset == accuracy_score(labels, expected)


def test_the_false_discovery_rate_is_that_given_covariates(confounded):
    labels, features, covariates = confounded
    assert set(im.select_features(labels, features, alpha=0.05).selected) >= {"x3", "x5"}
    chosen = im.select_features(labels, features, covariates=covariates, alpha=0.05)
    assert chosen.selected == ("x5",)
    # Sparse features, and rows in another order, make no difference.
    other = im.select_features(
        labels[::-1],
        sparse.csr_array(features[::-1].to_numpy()),
        covariates=covariates[::-1],
        alpha=0.05,
        feature_names=list(features),
    )
    assert other.selected == ("x5",)
    np.testing.assert_array_equal(
        other.predict(features, covariates), chosen.predict(features, covariates)
    )


def test_a_level_that_the_training_rows_lack_has_its_column(confounded):
    labels, features, covariates = confounded
    covariates = covariates.assign(ward=covariates["ward"].where(covariates.index > 0, "abroad"))
    for seed in range(4):
        chosen = im.select_features(
            labels, features, covariates=covariates, max_features=1, random_state=seed
        )
        assert chosen.selected == ("x5",)
        assert chosen.predict(features[:1], covariates[:1]).shape == (1, 3)


def test_predictions_need_the_covariates(confounded):
    labels, features, covariates = confounded
    chosen = im.select_features(labels, features, covariates=covariates, alpha=0.05)
    with pytest.raises(DataError, match=r"'age', 'ward', but none were passed: predict\(features"):
        chosen.predict(features)
    with pytest.raises(DataError, match="none were passed"):
        chosen.evaluate(labels, features)
    with pytest.raises(DataError, match=r"lacks the column\(s\) 'ward'"):
        chosen.predict(features, covariates[["age"]])
    with pytest.raises(DataError, match="'south'"):
        chosen.predict(features, covariates.assign(ward="south"))
    with pytest.raises(DataError, match="covariates"):
        chosen.predict(features, covariates[:10])
    with pytest.raises(DataError, match="covariates"):
        chosen.predict(features, covariates.set_axis(covariates.index + 1))
    plain = im.select_features(labels, features, alpha=0.05)
    with pytest.raises(DataError, match="has no covariates, but covariates were passed"):
        plain.predict(features, covariates)
    assert plain.covariate_names == ()


def test_a_ranking_that_is_given_must_be_given_the_same_covariates(confounded):
    labels, features, covariates = confounded
    ranking = im.rank_features(labels, features, covariates=covariates)
    chosen = im.select_features(
        labels, features, covariates=covariates, ranking=ranking, random_state=0
    )
    assert chosen.selected[0] == "x5"
    for passed, message in ((None, "passed are none"), (covariates[["age"]], "passed are 'age'")):
        with pytest.raises(DataError, match=message):
            im.select_features(labels, features, covariates=passed, ranking=ranking)


@pytest.mark.parametrize("metric", ["f1", "f1-micro", "f1-macro", f1_of_labels])
def test_other_measures_are_maximised_as_scikit_learn_has_them(data, metric):
    labels, features = data
    rows = np.arange(400)
    folds = [(rows[:300], rows[300:])]
    chosen = im.select_features(labels, features, metric=metric, grid=[1, 2, 10], cv=folds)
    average = {"f1": "samples", "f1-micro": "micro"}.get(metric, "macro")
    decode = "subset" if callable(metric) else "f1"
    for _, attempt in chosen.path.iterrows():
        columns = features[list(chosen_order(chosen, labels, features, attempt["size"]))]
        classifier = IsingClassifier(decode=decode).fit(columns[:300], labels[:300])
        guess = classifier.predict(columns[300:])
        expected = f1_score(labels[300:], guess, average=average, zero_division=0)
        assert attempt["score"] == pytest.approx(expected)
    assert chosen.score == chosen.path["score"].max()
    assert chosen.path["score_se"].isna().all()
    name = metric if isinstance(metric, str) else "f1_of_labels"
    assert f"Score ({name})" in str(chosen.summary())
    legend = chosen.plot().get_legend() or chosen.plot().figure.legends[0]
    assert name in [text.get_text() for text in legend.get_texts()]
    with pytest.raises(DataError, match="rule='one-se' needs a standard error"):
        im.select_features(labels, features, metric=metric, rule="one-se")


def chosen_order(chosen, labels, features, size):
    """Return the first features of the ranking of the first 300 rows."""
    return im.rank_features(labels[:300], features[:300], chosen.method).order[: int(size)]


def test_measures_of_users_have_the_weights_and_must_give_a_number(data):
    labels, features = data
    seen = []

    def share_right(truth, guess, sample_weight=None):
        seen.append(sample_weight)
        return accuracy_score(truth, guess, sample_weight=sample_weight)

    weights = np.tile([1, 3], 200)
    options = {"grid": [1, 2], "random_state": 0}
    own = im.select_features(labels, features, metric=share_right, freq_weights=weights, **options)
    named = im.select_features(labels, features, freq_weights=weights, **options)
    np.testing.assert_allclose(own.path["score"], named.path["score"])
    assert all(set(each) == {1, 3} for each in seen)
    with pytest.raises(DataError, match="metric must give one finite number"):
        im.select_features(labels, features, metric=lambda *_: "good", **options)


@pytest.mark.parametrize(
    "classifier", ["ising", "chain", RandomForestClassifier(5, random_state=0), AllOnes()]
)
def test_probabilities_are_those_of_the_classifier(data, classifier):
    labels, features = data
    labels = labels.assign(always=1)
    options = {"classifier": classifier, "max_features": 2, "grid": [2], "random_state": 0}
    with pytest.warns(DataWarning, match="'always'"):
        chosen = im.select_features(labels, features, **options)
    chances = chosen.predict_proba(features[:5])
    assert chances.index.tolist() == list(range(5))
    assert (chances["always"] == 1).all()
    inner = chosen.classifier.classifier_.predict_proba(
        features[list(chosen.columns)][:5].to_numpy()
    )
    if isinstance(inner, list):
        inner = np.column_stack([each[:, 1] for each in inner])
    np.testing.assert_allclose(chances[["a", "b", "c"]], inner)


def test_classifiers_without_probabilities_say_so(data):
    options = {"classifier": RidgeClassifier(), "grid": [2], "random_state": 0}
    chosen = im.select_features(*data, **options)
    with pytest.raises(ModelError, match="gives no probabilities"):
        chosen.predict_proba(data[1])
