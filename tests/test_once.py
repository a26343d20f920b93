"""What is computed once, when it is needed, and not at all when it is not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isingmlc as im
from isingmlc.inference import score_law
from isingmlc.results import ising
from isingmlc.statistics import labelsets

# Few rows on purpose: that p-values are not to be trusted is known.
FEW_ROWS = "ignore::isingmlc.exceptions.LowInformationWarning"


@pytest.fixture(scope="module")
def data():
    return im.datasets.load_example()


def count_calls(monkeypatch, module, name):
    calls = []
    work = getattr(module, name)

    def counting(*arguments, **options):
        calls.append(arguments)
        return work(*arguments, **options)

    monkeypatch.setattr(module, name, counting)
    return calls


@pytest.mark.parametrize("method", ["l1", "br-chi2", "lp-ig", "oner"])
def test_methods_without_label_models_sum_no_features(monkeypatch, data, method):
    summed = count_calls(monkeypatch, labelsets, "sum_within")
    im.rank_features(data, method=method)
    assert not summed


def test_features_are_summed_once_for_fit_tests_and_ranking(monkeypatch, data):
    summed = count_calls(monkeypatch, labelsets, "sum_within")
    model = im.IsingModel(data)
    res = model.fit()
    assert not summed
    res.score_test()
    res.rank_features("products")
    res.wald_test(["bmi"])
    model.fit(method="ridge").score_test()
    assert len(summed) == 1


def test_the_default_test_is_computed_once(monkeypatch, data, tmp_path):
    calls = count_calls(monkeypatch, ising, "score_test")
    res = im.IsingModel(data).fit()
    assert res.score_test() is res.score_test()
    res.score_test(["bmi", "age"])
    res.rank_features()
    res.plot_network("bmi")
    res.plot_networks(["bmi", "age"])
    res.compare_tests("bmi")
    assert len(calls) == 1
    # The pairs of a report are other tests: those of products.
    res.report(tmp_path / "report.html")
    assert [options for options in calls if len(options) == 1] == [(res._fit,)]
    assert len(calls) <= 2


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


def test_saddlepoint_takes_the_columns_that_it_needs(monkeypatch, data):
    widths = []
    work = score_law.bernoulli_saddlepoint

    def measuring(score, columns, *rest, **options):
        widths.append(columns.shape[1])
        return work(score, columns, *rest, **options)

    monkeypatch.setattr(score_law, "bernoulli_saddlepoint", measuring)
    edges = im.IsingModel(data).fit().score_test(pvalue="saddlepoint")
    large = (edges.statistics > score_law.SADDLEPOINT_CUTOFF**2).to_numpy().sum()
    assert (edges.arrays.pvalue_method == "saddlepoint").sum() == large
    assert sum(widths) == large


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.DataWarning")
@given(st.data())
@settings(deadline=None, max_examples=40)
@pytest.mark.filterwarnings(FEW_ROWS)
def test_equal_columns_have_equal_statistics_wherever_they_stand(draw):
    seed = draw.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_rows, n_features, n_labels = rng.integers(30, 200), rng.integers(1, 12), rng.integers(1, 6)
    labels = rng.random((n_rows, n_labels)) < 0.4
    labels[:2] = [[False] * n_labels, [True] * n_labels]
    kind = draw.draw(st.sampled_from(["normal", "binary", "large mean"]))
    features = rng.normal(size=(n_rows, n_features))
    if kind == "binary":
        features = (features > 0.5).astype(float)
    elif kind == "large mean":
        features += 1e6
    twins = rng.integers(n_features, size=rng.integers(2, 30))
    res = im.IsingModel(labels, features[:, twins]).fit(method="ridge")
    for products in (None, "individual", "joint"):
        edges = res.score_test(products=products)
        for twin in set(twins.tolist()):
            same = np.flatnonzero(twins == twin)
            for cells in (edges.arrays.statistic, edges.arrays.pvalue):
                np.testing.assert_array_equal(cells[same], cells[same[[0] * len(same)]])
            assert len(set(edges.arrays.importance[same])) == 1
    order = res.rank_features().order
    for twin in set(twins.tolist()):
        places = [order.index(f"x{at + 1}") for at in np.flatnonzero(twins == twin)]
        assert places == sorted(places)
