"""What is computed once, when it is needed, and not at all when it is not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isingmlc as im

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


def test_tests_of_some_features_are_those_of_all(data):
    res = im.IsingModel(data).fit()
    for options in ({"pvalue": "saddlepoint"}, {"products": "joint"}, {"min_count": 5}):
        some, every = res.score_test(["smoker", "age"], **options), res.score_test(**options)
        for name in ("statistics", "pvalues", "df", "signs"):
            found, expected = getattr(some, name), getattr(every, name).loc[["smoker", "age"]]
            pd.testing.assert_frame_equal(found, expected, rtol=1e-10)
    with pytest.raises(im.exceptions.DataError, match="'height'"):
        res.score_test(["height"])
    with pytest.raises(im.exceptions.DataError, match="more than once"):
        res.score_test(["age", "age"])


def test_permutations_do_not_depend_on_the_number_of_threads(data):
    res = im.IsingModel(data.labels, data.features.iloc[:, :5]).fit()
    one, two = (
        res.score_test(pvalue="permutation", n_permutations=300, random_state=0, n_jobs=jobs)
        for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.pvalues, two.pvalues)


def test_features_are_those_of_the_first_look(data):
    features = data.features.to_numpy(float)
    res = im.IsingModel(data.labels, features).fit()
    features[3, 4] += 1
    expected = im.IsingModel(data.labels, features.copy()).fit().score_test()
    pd.testing.assert_frame_equal(res.score_test().statistics, expected.statistics)
    features[3, 4] += 1
    with pytest.raises(im.exceptions.ModelError, match="changed in place"):
        res.score_test(pvalue="saddlepoint")


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.DataWarning")
@given(st.integers(0, 2**32 - 1), st.sampled_from(["normal", "binary", "large mean"]))
@settings(deadline=None, max_examples=20)
@pytest.mark.filterwarnings(FEW_ROWS)
def test_equal_columns_are_ranked_in_their_order(seed, kind):
    rng = np.random.default_rng(seed)
    n_rows, n_features, n_labels = rng.integers(30, 200), rng.integers(1, 12), rng.integers(1, 6)
    labels = rng.random((n_rows, n_labels)) < 0.4
    labels[:2] = [[False] * n_labels, [True] * n_labels]
    features = rng.normal(size=(n_rows, n_features))
    if kind == "binary":
        features = (features > 0.5).astype(float)
    elif kind == "large mean":
        features += 1e6
    twins = rng.integers(n_features, size=rng.integers(2, 30))
    model = im.IsingModel(labels, features[:, twins])
    for method in ("score", "products", "products-joint"):
        order = im.rank_features(model, method=method).order
        for twin in set(twins.tolist()):
            places = [order.index(f"x{at + 1}") for at in np.flatnonzero(twins == twin)]
            assert places == sorted(places)
