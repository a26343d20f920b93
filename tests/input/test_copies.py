"""Labels that are hidden among the features of an array are found."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import isingmlc as im
from isingmlc.exceptions import DataWarning
from isingmlc.sklearn import IsingClassifier, IsingSelector


def draw(n_rows=400, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    labels = (rng.random((n_rows, 4)) < share).astype(int)
    features = rng.normal(size=(n_rows, 5))
    features[:, 1] = rng.random(n_rows) < share
    return labels, features


def hide(labels, features):
    """Put the third label in place of the second feature."""
    hidden = features.copy()
    hidden[:, 1] = labels[:, 2]
    return hidden


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_rows", [30, 30_000])
def test_copies_are_found_and_nothing_else(kind, n_rows):
    labels, features = draw(n_rows)
    im.IsingModel(labels, kind(features))
    hidden = hide(labels, features)
    with pytest.warns(DataWarning, match="column 1 from 0, equal to label 'y3'"):
        im.IsingModel(kind(labels), kind(hidden))
    # One row makes the difference.
    hidden[n_rows // 3, 1] = 1 - hidden[n_rows // 3, 1]
    im.IsingModel(labels, kind(hidden))


def test_one_warning_says_which_column_is_which_label():
    labels, features = draw()
    with pytest.warns(DataWarning) as caught:
        im.IsingModel(labels, hide(labels, features))
    (message,) = [str(each.message) for each in caught]
    assert "'x2' (column 1 from 0, equal to label 'y3')" in message
    assert "np.delete(features, [1], axis=1)" in message


def test_what_is_said_of_the_test_is_true():
    labels, features = draw()
    with pytest.warns(DataWarning, match="one of the label against itself"):
        edges = im.IsingModel(labels, hide(labels, features)).fit().score_test()
    reasons = edges.reasons.loc["x2"]
    assert reasons.drop("y3").tolist() == ["collinear-feature"] * 3
    assert reasons["y3"] == "ok"
    assert edges.statistics.loc["x2", "y3"] == pytest.approx(len(labels), rel=0.05)


@pytest.mark.parametrize(
    "use",
    [
        lambda labels, features: IsingClassifier().fit(features, labels),
        lambda labels, features: IsingSelector().fit(features, labels),
        lambda labels, features: im.rank_features(labels, features, method="br-chi2"),
        lambda labels, features: im.select_features(labels, features, grid=[2], random_state=0),
        lambda labels, features: im.LabelsetStatistics.from_arrays(labels, features),
    ],
    ids=["classifier", "selector", "filter", "selection", "statistics"],
)
def test_every_door_warns_once(use):
    labels, features = draw()
    hidden = hide(labels, features)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use(labels, hidden)
    assert sum("the label itself, or what tells it" in str(each.message) for each in caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        use(labels, features)


def test_many_copies_are_counted():
    labels, _ = draw()
    with pytest.warns(DataWarning, match="and 1 more in every row"):
        im.IsingModel(labels, labels.copy())
