"""The paper's artificial data: their rules, their relevant features, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from isingmlc import datasets
from isingmlc.exceptions import DataError


def score_statistic(label, others, added):
    """Rao's statistic of one added column, by statsmodels."""
    null = sm.GLM(label, sm.add_constant(others), family=sm.families.Binomial()).fit()
    return float(np.squeeze(null.score_test(exog_extra=np.asarray(added, float)[:, None])[0]))


def within(share, expected, n, errors=4.5):
    return abs(share - expected) < errors * np.sqrt(expected * (1 - expected) / n)


@pytest.mark.parametrize(
    ("which", "n", "n_labels"), [(1, 1000, 10), (2, 1000, 10), (3, 100, 4), (4, 100, 4)]
)
def test_artdata_have_the_paper_s_sizes_unless_told_otherwise(which, n, n_labels):
    data = datasets.make_artdata(which, random_state=0)
    assert data.labels.shape == (n, n_labels)
    assert data.features.shape == (n, 50)
    assert data.feature_names == tuple(data.features) == tuple(f"x{j}" for j in range(1, 51))
    assert list(data.labels) == [f"y{k}" for k in range(1, n_labels + 1)]
    assert set(np.unique(data.labels)) == {0, 1}
    assert all(dtype == np.int64 for dtype in data.labels.dtypes)
    assert data.name == f"ArtData{which}"
    assert "simulated" in data.DESCR
    small = datasets.make_artdata(which, n_samples=7, n_features=10, random_state=0)
    assert small.labels.shape == (7, n_labels)
    assert small.features.shape == (7, 10)


@pytest.mark.parametrize("which", [1, 2, 4])
def test_the_first_ten_features_are_relevant_in_artdata_1_2_and_4(which):
    assert datasets.make_artdata(which, n_samples=5).relevant == tuple(
        f"x{j}" for j in range(1, 11)
    )


@pytest.mark.parametrize(
    "make",
    [
        *(
            lambda seed, which=which: datasets.make_artdata(which, n_samples=20, random_state=seed)
            for which in (1, 2, 3, 4)
        ),
        lambda seed: datasets.make_artdata(4, n_samples=20, noise="independent", random_state=seed),
        lambda seed: datasets.make_score_example(n_samples=20, random_state=seed),
        lambda seed: datasets.make_or_example(n_samples=20, random_state=seed),
        lambda seed: datasets.make_xor_example(n_samples=20, random_state=seed),
        lambda seed: datasets.make_timing_data(n_samples=20, random_state=seed),
    ],
)
def test_a_seed_decides_the_data(make):
    first, second, other = make(3), make(np.random.default_rng(3)), make(4)
    pd.testing.assert_frame_equal(first.labels, second.labels)
    pd.testing.assert_frame_equal(first.features, second.features)
    assert not first.labels.equals(other.labels)


@pytest.mark.parametrize(("which", "effect"), [(1, 0.2), (2, 0.0)])
def test_regressions_on_artdata_1_and_2_recover_the_planted_parameters(which, effect):
    data = datasets.make_artdata(which, n_samples=20_000, n_features=12, random_state=1)
    others = data.labels.drop(columns="y1")
    moved = data.features.mul(data.labels["y2"], axis=0).add_suffix(" y2")
    design = sm.add_constant(pd.concat([others, data.features, moved], axis=1))
    fit = sm.GLM(data.labels["y1"], design, family=sm.families.Binomial()).fit()
    expected = pd.Series(0.0, design.columns)
    expected[list(others)] = 0.1
    expected[list(data.relevant)] = effect
    expected[[f"{name} y2" for name in data.relevant]] = 0.2
    assert (abs(fit.params - expected) / fit.bse).max() < 4.5


def test_artdata_3_follow_their_rules():
    data = datasets.make_artdata(3, n_samples=2000, random_state=3)
    x, y = data.features, data.labels.astype(bool)
    free = x.drop(columns=["x6", "x7", "x8", "x9", "x10"])
    assert free.min(axis=None) >= 0
    assert free.max(axis=None) < 1
    np.testing.assert_allclose(free.mean(), 0.5, atol=4.5 * np.sqrt(1 / 12 / 2000))
    np.testing.assert_allclose(x["x6"], (x["x1"] - x["x2"]) / 2)
    np.testing.assert_allclose(x["x7"], (x["x1"] + x["x2"]) / 2)
    np.testing.assert_allclose(x["x8"], x["x3"] + 0.1)
    np.testing.assert_allclose(x["x9"], x["x4"] - 0.2)
    np.testing.assert_allclose(x["x10"], 2 * x["x5"])
    assert (y["y1"] == (x["x1"] > x["x2"])).all()
    assert (y["y2"] == (x["x4"] > x["x3"])).all()
    assert (y["y3"] == (y["y1"] != y["y2"])).all()
    assert (y["y4"] == (x["x5"] > 0.8)).all()


def test_artdata_4_have_one_noise_a_row_by_default():
    data = datasets.make_artdata(4, n_samples=2000, random_state=4)
    x, y = data.features, data.labels.astype(bool)
    noise = x["x6"] - x["x1"]
    for copy, source in (("x7", "x2"), ("x8", "x3"), ("x9", "x4"), ("x10", "x5")):
        np.testing.assert_allclose(x[copy] - x[source], noise)
    assert noise.std() == pytest.approx(0.3, abs=4.5 * 0.3 / np.sqrt(2 * 2000))
    assert noise.mean() == pytest.approx(0.0, abs=4.5 * 0.3 / np.sqrt(2000))
    assert (y["y1"] == (x["x1"] > x["x7"])).all()
    assert (y["y2"] == (x["x4"] > x["x8"])).all()
    assert (y["y3"] == (y["y1"] != y["y2"])).all()
    assert (y["y4"] == (x["x10"] > 0.8)).all()


def test_the_score_example_has_the_planted_log_odds():
    data = datasets.make_score_example(0.7, n_samples=20_000, random_state=7)
    design = sm.add_constant(pd.concat([data.labels.drop(columns="y1"), data.features], axis=1))
    fit = sm.GLM(data.labels["y1"], design, family=sm.families.Binomial()).fit()
    expected = np.array([0.0, *[0.1] * 9, 0.7])
    assert (abs(fit.params - expected) / fit.bse).max() < 4.5


def test_the_or_example_needs_label_and_feature_together():
    data = datasets.make_or_example(4000, random_state=8)
    y1, y2, x1 = data.labels["y1"], data.labels["y2"], data.features["x1"]
    assert (y1 == ((y2 == 1) | (x1 == 1))).all()
    assert within((y1 == y2).mean(), 0.75, 4000)
    assert within((y1 == x1).mean(), 0.75, 4000)
    assert within((y2 & x1).mean(), 0.25, 4000)
    assert data.relevant == ("x1",)


def test_the_xor_example_shows_in_the_interaction_alone():
    data = datasets.make_xor_example(1000, random_state=9)
    y1, y2, x1 = data.labels["y1"], data.labels["y2"], data.features["x1"]
    assert (x1 == (y1 != y2)).all()
    assert score_statistic(y1, y2, x1) < 11
    null = sm.GLM(y1, sm.add_constant(y2), family=sm.families.Binomial()).fit()
    both = np.column_stack([x1, x1 * y2]).astype(float)
    assert float(np.squeeze(null.score_test(exog_extra=both)[0])) > 500


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: datasets.make_artdata(5), "which must be one of 1, 2, 3, 4, but is 5"),
        (lambda: datasets.make_artdata("1"), "which must be one of 1, 2, 3, 4, but is '1'"),
        (
            lambda: datasets.make_artdata(1, n_samples=0),
            "n_samples must be a whole number of at least 1",
        ),
        (
            lambda: datasets.make_artdata(1, n_samples=10.5),
            "n_samples must be a whole number of at least 1",
        ),
        (
            lambda: datasets.make_artdata(1, n_features=9),
            "n_features must be a whole number of at least 10, but is 9",
        ),
        (lambda: datasets.make_artdata(4, noise="no"), "noise must be one of 'shared'"),
        (lambda: datasets.make_artdata(1, random_state=-1), "random_state must be"),
        (lambda: datasets.make_score_example(np.inf), "a must be a finite number, but is inf"),
        (lambda: datasets.make_score_example("1"), "a must be a finite number, but is '1'"),
        (
            lambda: datasets.make_score_example(n_samples=0),
            "n_samples must be a whole number of at least 1",
        ),
        (lambda: datasets.make_or_example(0), "n_samples must be a whole number of at least 1"),
        (lambda: datasets.make_xor_example(-3), "n_samples must be a whole number of at least 1"),
        (lambda: datasets.make_timing_data(0), "n_samples must be a whole number of at least 1"),
        (
            lambda: datasets.make_timing_data(n_features=0),
            "n_features must be a whole number of at least 1",
        ),
        (
            lambda: datasets.make_timing_data(n_labels=0),
            "n_labels must be a whole number of at least 1",
        ),
    ],
)
def test_unusable_arguments_are_refused_by_name(make, message):
    with pytest.raises(DataError, match=message):
        make()
