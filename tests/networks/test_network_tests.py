"""Tests of whole networks have the level that they state, and comparisons of groups have names."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import isingmlc as im


def chain(n_labels, n_rows, threshold, rng):
    """Draw rows of a chain of labels, interactions 0.8, by Gibbs sampling."""
    weights = 0.8 * (np.eye(n_labels, k=1) + np.eye(n_labels, k=-1))
    rows = (rng.random((n_rows, n_labels)) < 0.4).astype(float)
    for _ in range(30):
        for label in range(n_labels):
            odds = np.exp(threshold + rows @ weights[label])
            rows[:, label] = rng.random(n_rows) < odds / (1 + odds)
    return rows.astype(int)


def test_25_fair_coins_have_the_same_network_in_two_halves():
    """At most one of six seeds rejects (two or more: 3%); a chi-square test rejected five."""
    pvalues = []
    for seed in range(6):
        rows = np.random.default_rng(seed).integers(0, 2, (1200, 25))
        found = im.compare_networks(
            im.IsingModel(rows), by=np.repeat([0, 1], 600), n_permutations=19, random_state=0
        )
        assert list(found.tests.index) == ["M", "S"]
        pvalues.append(found.tests["pvalue"])
    assert (np.sum(np.array(pvalues) <= 0.05, axis=0) <= 1).all()


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
def test_strength_is_not_tested_with_few_rows_per_label():
    rows = np.random.default_rng(0).integers(0, 2, (480, 13))
    by = np.repeat([0, 1], 240)
    options = {"n_permutations": 19, "random_state": 0}
    found = im.compare_networks(im.IsingModel(rows), by, **options)
    strength = found.tests.loc["S"]
    assert np.isnan(strength["pvalue"])
    assert "use M" in im.Reason(strength["reason"]).meaning
    assert "use M" in " ".join(found.summary().as_text().split())
    assert 0 < found.pvalue <= 1
    for enough in (
        im.compare_networks(im.IsingModel(rows[:, :12]), by, **options),
        im.compare_networks(im.IsingModel(rows), by, null="nothing", **options),
    ):
        assert enough.tests.loc["S", "reason"] == "ok"
        assert 0 < enough.tests.loc["S", "pvalue"] <= 1


def test_too_many_combinations_are_refused():
    rows = (np.random.default_rng(0).random((500, 20)) < 0.4).astype(int)
    res = im.IsingModel(rows).fit()
    pairs = list(combinations(res.label_names, 2))
    test = res.contrast(pairs)
    assert test.df == 190
    assert np.isnan(test.statistic)
    assert np.isnan(test.pvalue)
    assert test.reason == "too-many-combinations"
    assert "network_table(adjust='holm')" in test.reason.meaning
    assert np.isfinite(test.errors).all()
    fewer = im.IsingModel(rows[:300]).fit()
    assert fewer.contrast(pairs[:4]).reason == "too-many-combinations"
    assert fewer.contrast(pairs[:3]).reason == "ok"
    few = res.contrast(pairs[:17])
    assert few.reason == "ok"
    assert few.distribution == "F(17, 464)"
    assert few.pvalue == pytest.approx(stats.f.sf(few.statistic * 464 / (17 * 480), 17, 464))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_labels", "n_rows", "n_pairs"), [(4, 300, 6), (12, 300, 12), (30, 300, 2), (20, 300, 3)]
)
def test_level_of_contrasts(n_labels, n_rows, n_pairs):
    """200 tests at 5%: fewer than 2 or more than 20 rejections have a probability below 0.2%."""
    rejections = 0
    for seed in range(200):
        rows = (np.random.default_rng(seed).random((n_rows, n_labels)) < 0.4).astype(int)
        res = im.IsingModel(rows).fit()
        test = res.contrast(list(combinations(res.label_names, 2))[:n_pairs])
        assert test.reason == "ok"
        rejections += test.pvalue <= 0.05
    assert 2 <= rejections <= 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize(("sizes", "second"), [((300, 300), -1.0), ((300, 600), 0.0)])
def test_level_of_comparisons_with_25_labels(sizes, second):
    """40 tests at 5%: more than 7 rejections have a probability of 0.1%."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        parts = [chain(25, n, t, rng) for n, t in zip(sizes, (-1.0, second), strict=True)]
        by = np.repeat(["a", "b"], sizes)
        test = im.compare_networks(
            im.IsingModel(np.vstack(parts)), by=by, n_permutations=19, random_state=seed
        )
        assert test.tests.loc["S", "reason"] == "too-few-rows"
        found.append([test.pvalue, test.edges["pvalue_adj"].min()])
    assert ((np.array(found) <= 0.05 + 1e-12).sum(axis=0) <= 7).all()


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(3)
    parts = [chain(4, n, t, rng) for n, t in ((300, -0.5), (400, -0.5), (500, 0.0))]
    # Only in the last group do y1 and y4 mostly agree.
    copied = rng.random(500) < 0.6
    parts[2][copied, 3] = parts[2][copied, 0]
    labels = pd.DataFrame(np.vstack(parts), columns=["y1", "y2", "y3", "y4"])
    stage = pd.Categorical(
        np.repeat(["mild", "severe", "fatal"], [300, 400, 500]),
        categories=["mild", "severe", "fatal", "unused"],
        ordered=True,
    )
    return labels, stage


def test_three_groups_are_compared_two_by_two(three):
    labels, stage = three
    found = im.compare_networks(im.IsingModel(labels), stage, n_permutations=199, random_state=0)
    assert list(found.networks) == ["mild", "severe", "fatal"]
    named = [("mild", "severe"), ("mild", "fatal"), ("severe", "fatal")]
    for test in ("M", "S"):
        part = found.tests.loc[test]
        assert list(zip(part["group_1"], part["group_2"], strict=True)) == named
        holm = multipletests(part["pvalue"], method="holm")[1]
        np.testing.assert_allclose(part["pvalue_adj"], holm)
    # The edge that differs is found in the two comparisons with the group that has it.
    small = found.edges[found.edges["pvalue_adj"] <= 0.05]
    assert set(zip(small["group_1"], small["group_2"], strict=True)) == set(named[1:])
    assert set(zip(small["first"], small["second"], strict=True)) == {("y1", "y4")}
    assert (small["difference"] > 0).all()
    assert found.pvalue == found.tests.loc["M", "pvalue_adj"].min() <= 0.05
    # The first two alone: the same rows, the same draws
    both = stage != "fatal"
    alone = im.compare_networks(
        im.IsingModel(labels[both].reset_index(drop=True)),
        np.asarray(stage[both]),
        n_permutations=199,
        random_state=0,
    )
    np.testing.assert_allclose(alone.tests["pvalue"], found.tests["pvalue"].iloc[[0, 3]])
    np.testing.assert_allclose(alone.edges["difference"], found.edges["difference"].iloc[:6])
    text = " ".join(found.summary().as_text().split())
    assert "severe fatal" in text
    assert len(found.plot()) == 3


def test_ordered_categories_keep_their_order(three):
    labels, stage = three
    options = {"n_permutations": 1, "random_state": 0}
    series = im.compare_networks(im.IsingModel(labels), pd.Series(stage), **options)
    assert list(series.networks) == ["mild", "severe", "fatal"]
    covariates = pd.DataFrame({"stage": stage.remove_unused_categories()})
    named = im.compare_networks(im.IsingModel(labels, covariates=covariates), "stage", **options)
    assert list(named.networks) == ["mild", "severe", "fatal"]
