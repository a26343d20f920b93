"""Choosing features by folds: which rows validate, what is measured on them, what is said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit

import isingmlc as im
from isingmlc.exceptions import DataError, DataWarning, IsingWarning, LowInformationWarning
from isingmlc.sklearn import IsingClassifier, MultilabelStratifiedKFold

pytestmark = pytest.mark.filterwarnings("ignore::isingmlc.exceptions.SeparationWarning")


@pytest.fixture(scope="module")
def data():
    """Draw three labels that two of ten features move."""
    rng = np.random.default_rng(3)
    features = pd.DataFrame(rng.normal(size=(240, 10)), columns=[f"x{j}" for j in range(10)])
    odds = np.column_stack([3 * features["x7"], -3 * features["x2"], 0 * features["x0"]])
    labels = pd.DataFrame(rng.random(odds.shape) < 1 / (1 + np.exp(-odds)), columns=list("abc"))
    return labels.astype(int), features


@pytest.mark.parametrize(
    ("options", "splitter"),
    [
        ({}, MultilabelStratifiedKFold(3, shuffle=True, random_state=0)),
        ({"split": "ordered"}, TimeSeriesSplit(3)),
        ({"groups": np.repeat(np.arange(10, 50), 6)}, GroupKFold(3)),
    ],
)
def test_folds_are_those_of_a_splitter(data, options, splitter):
    labels, features = data
    groups = options.get("groups")
    folds = list(splitter.split(features, labels, groups))
    expected = im.select_features(labels, features, grid=[1, 2], groups=groups, cv=folds)
    told = {"cv": 3, "random_state": 0, **options}
    found = im.select_features(labels, features, grid=[1, 2], **told)
    np.testing.assert_allclose(found.path["score"], expected.path["score"])


def test_cross_validation_is_what_it_says(data):
    """Fold by fold with `IsingClassifier` alone."""
    labels, features = data
    cv = KFold(3)
    chosen = im.select_features(labels, features, max_features=4, cv=cv)
    per_row = {size: [] for size in range(1, 5)}
    for training, held_out in cv.split(features):
        ranking = im.rank_features(labels.iloc[training], features.iloc[training], "forward")
        for size, rows in per_row.items():
            columns = features[list(ranking.order[:size])]
            classifier = IsingClassifier().fit(columns.iloc[training], labels.iloc[training])
            guess = classifier.predict(columns.iloc[held_out])
            rows.extend((guess == labels.iloc[held_out]).all(axis=1))
    np.testing.assert_allclose(chosen.path["score"], [np.mean(rows) for rows in per_row.values()])
    errors = [np.std(rows) / np.sqrt(240) for rows in per_row.values()]
    np.testing.assert_allclose(chosen.path["score_se"], errors)
    best = int(chosen.path["score"].argmax()) + 1
    assert chosen.selected == im.rank_features(labels, features, "forward").order[:best]
    assert (chosen.n_folds, chosen.n_train, chosen.n_validation) == (3, 160, 240)
    assert "3 folds of validation" in str(chosen.summary())
    np.testing.assert_allclose(
        chosen.path["difference"], chosen.path["score"] - chosen.score, atol=1e-12
    )
    pairs = im.select_features(labels, features, max_features=4, cv=list(cv.split(features)))
    pd.testing.assert_frame_equal(pairs.path, chosen.path)
    again = [im.select_features(*data, max_features=2, cv=3, random_state=1).path for _ in "ab"]
    pd.testing.assert_frame_equal(*again)


def test_one_standard_error_keeps_fewer_features(data):
    options = {"max_features": 1.0, "cv": 3, "random_state": 0}
    best = im.select_features(*data, **options)
    few = im.select_features(*data, rule="one-se", **options)
    assert len(few.selected) <= len(best.selected)
    path = best.path
    limit = best.score - path["score_se"][path["score"].argmax()]
    assert len(few.selected) == path["size"][path["score"] >= limit].min()
    assert few.score >= limit


def test_the_summary_says_what_more_features_would_add(data):
    chosen = im.select_features(*data, max_features=8, rule="one-se", random_state=0)
    text = str(chosen.summary())
    assert "What the next features would add to the score" in text
    after = chosen.ranking.order[len(chosen.selected)]
    size = len(chosen.selected) + 1
    row = chosen.path[chosen.path["size"] == size].iloc[0]
    (line,) = [line for line in text.splitlines() if after in line.split() and f" {size} " in line]
    assert f"{row['difference']:+.4f}" in line


def test_the_classifier_predicts_for_the_metric(data):
    for metric in ("subset", "hamming", "jaccard"):
        chosen = im.select_features(*data, max_features=2, metric=metric, random_state=0)
        assert chosen.classifier.classifier_.decode == metric
    chain = im.select_features(*data, max_features=2, classifier="chain", random_state=0)
    assert type(chain.classifier.classifier_).__name__ == "Pipeline"


def test_weights_count_rows(data):
    labels, features = data
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 4, 240)
    half = np.arange(240) < 160
    rows = np.repeat(np.arange(240), weights)
    pairs = [(np.flatnonzero(half), np.flatnonzero(~half))]
    repeated = [(np.flatnonzero(half[rows]), np.flatnonzero(~half[rows]))]
    weighted = im.select_features(labels, features, freq_weights=weights, max_features=4, cv=pairs)
    more = im.select_features(labels.iloc[rows], features.iloc[rows], max_features=4, cv=repeated)
    pd.testing.assert_frame_equal(weighted.path, more.path)
    assert weighted.selected == more.selected
    np.testing.assert_array_equal(weighted.predict(features), more.predict(features))
    with pytest.raises(DataError, match=r"takes no weights.*classifier='ising'"):
        im.select_features(labels, features, freq_weights=weights, classifier="chain")
    forest = RandomForestClassifier(5, random_state=0)
    im.select_features(
        labels, features, freq_weights=weights, classifier=forest, grid=[2], random_state=0
    )


def test_rankings_may_have_no_intercept(data):
    chosen = im.select_features(*data, intercept=False, max_features=2, random_state=0)
    assert not chosen.ranking.settings.get("intercept", False)
    plain = im.select_features(*data, max_features=2, random_state=0)
    assert (chosen.ranking.importance != plain.ranking.importance).any()


def test_what_is_odd_is_said_once(data):
    labels, features = data
    odd = labels.assign(never=0, rare=(np.arange(240) % 60 == 0).astype(int))
    with pytest.warns(IsingWarning) as caught:
        im.select_features(odd, features, ["score", "br-chi2"], max_features=2, cv=4)
    # Rare labels matter to p-values, which nobody looks at here.
    assert LowInformationWarning not in [each.category for each in caught]
    texts = [str(each.message) for each in caught if each.category is DataWarning]
    assert len(texts) == 1
    assert "'never' are the same in every row (of the training rows of a split)" in texts[0]
    assert caught[0].filename == __file__
    with pytest.warns(LowInformationWarning, match="'rare'"):
        im.select_features(odd.drop(columns="never"), features, alpha=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"cv": 241}, "cv must be at most the number of rows, 240"),
        ({"cv": "five"}, "cv must be a number of folds, a splitter"),
        ({"cv": [(np.arange(100), np.arange(100, 300))]}, "positions from 0 to 239"),
        ({"cv": []}, "cv must make at least one fold"),
        ({"cv": ShuffleSplit(1, train_size=1)}, "1 rows are left to train"),
        ({"cv": 240, "split": "ordered"}, "cv must be below the number of rows"),
        ({"split": "time"}, "split must be one of 'stratified', 'random', 'ordered'"),
        ({"groups": np.arange(240), "split": "ordered"}, "cannot keep groups together"),
        ({"groups": np.arange(3)}, "labels has 240 rows and groups has 3"),
        ({"groups": np.zeros(240)}, "at least two groups"),
        ({"groups": np.arange(240) % 3, "cv": 4}, "at most the number of groups, 3"),
        ({"rule": "two-se"}, "rule must be one of 'best', 'one-se'"),
        ({"freq_weights": [1.0]}, "freq_weights"),
    ],
)
def test_bad_splits_are_named(data, arguments, message):
    with pytest.raises(DataError, match=message):
        im.select_features(*data, **arguments)


def test_groups_that_hold_all_of_the_labels_are_said(data):
    _, features = data
    labels = np.zeros((240, 2), dtype=int)
    labels[:40] = 1
    groups = np.repeat(np.arange(6), 40)
    with pytest.raises(DataError, match=r"no label varies among the 200 rows for training of fold"):
        im.select_features(labels, features, groups=groups, cv=6)
