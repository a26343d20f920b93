"""The bundled example: its shape, its planted truth, and that its script makes it."""

from __future__ import annotations

import gzip
import runpy
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from isingmlc import datasets
from isingmlc.datasets.example import EFFECTS, FILE_NAME, INTERACTION_EFFECTS

ON_INTERACTION = "deprivation_decile"


@pytest.fixture(scope="module")
def data():
    return datasets.load_example()


@pytest.fixture(scope="module")
def null_fits(data):
    """Regressions of each condition on the others."""
    return {
        label: sm.GLM(
            data.labels[label],
            sm.add_constant(data.labels.drop(columns=label)),
            family=sm.families.Binomial(),
        ).fit()
        for label in data.labels
    }


def score_statistic(null, added):
    column = np.asarray(added, dtype=float)[:, np.newaxis]
    return float(np.squeeze(null.score_test(exog_extra=column)[0]))


@pytest.fixture(scope="module")
def edges(data, null_fits):
    return pd.DataFrame(
        {
            label: {name: score_statistic(null, column) for name, column in data.features.items()}
            for label, null in null_fits.items()
        }
    )


def test_the_example_has_1500_people_six_conditions_and_thirty_characteristics(data):
    assert data.labels.shape == (1500, 6)
    assert data.features.shape == (1500, 30)
    assert data.feature_names == tuple(data.features)
    assert not data.features.isna().any(axis=None)
    assert all(dtype == np.int64 for dtype in data.labels.dtypes)
    assert set(np.unique(data.labels)) == {0, 1}
    kinds = data.features.dtypes.value_counts()
    assert kinds[np.dtype("int64")] + kinds[np.dtype("float64")] == 30
    assert (data.features.std() > 0).all()


def test_the_description_says_that_it_is_simulated_and_what_acts_on_what(data):
    assert "simulated" in data.DESCR.splitlines()[0]
    lines = [line.split() for line in data.DESCR.splitlines()]
    for name, on in EFFECTS.items():
        for label, value in on.items():
            assert [name, label, f"{value:+.3f}"] in lines
    assert [ON_INTERACTION, "depression", "×", "asthma", "+0.400"] in lines
    assert "other 21 characteristics do nothing" in data.DESCR


def test_eight_characteristics_act_on_conditions_and_one_on_an_interaction_only(data):
    assert data.relevant == (*EFFECTS, ON_INTERACTION)
    assert set(data.relevant) <= set(data.feature_names)
    assert ON_INTERACTION not in EFFECTS
    assert INTERACTION_EFFECTS == {("depression", "asthma"): {ON_INTERACTION: 0.4}}


def test_conditions_are_as_frequent_as_such_conditions_are_and_all_pairs_occur(data):
    assert data.labels.mean().between(0.08, 0.40).all()
    for first in data.labels:
        for second in data.labels.drop(columns=first):
            assert pd.crosstab(data.labels[first], data.labels[second]).to_numpy().min() >= 20


def test_no_condition_is_certain_given_the_others(null_fits):
    for null in null_fits.values():
        assert null.converged
        assert abs(null.params).max() < 4
        assert null.bse.max() < 0.5
        assert null.fittedvalues.between(0.01, 0.99).all()


def test_planted_edges_have_large_score_statistics(edges):
    for name, on in EFFECTS.items():
        for label in on:
            assert stats.chi2.sf(edges.loc[name, label], 1) < 0.02
    strongest = edges.loc[list(EFFECTS)].max(axis=1)
    assert stats.chi2.sf(strongest, 1).max() < 1e-4


def test_characteristics_that_act_on_conditions_rank_before_all_others(edges):
    importance = edges.sum(axis=1).sort_values(ascending=False)
    assert set(importance.index[: len(EFFECTS)]) == set(EFFECTS)


def test_characteristics_that_do_nothing_look_like_chance(data, edges):
    idle = edges.drop(index=list(data.relevant)).to_numpy().ravel()
    assert stats.kstest(idle, stats.chi2(1).cdf).pvalue > 1e-3


def test_the_planted_interaction_shows_in_its_own_test_and_not_in_single_edges(
    data, null_fits, edges
):
    assert stats.chi2.sf(edges.loc[ON_INTERACTION], 1).min() > 0.05
    centred = data.features[ON_INTERACTION] - 5.5
    for label, partner in (("depression", "asthma"), ("asthma", "depression")):
        statistic = score_statistic(null_fits[label], centred * data.labels[partner])
        assert stats.chi2.sf(statistic, 1) < 1e-6


def test_the_script_makes_the_shipped_file(tmp_path):
    path = tmp_path / "again.csv.gz"
    script = Path(__file__).parents[1] / "reference" / "make_example.py"
    runpy.run_path(str(script))["main"]([str(path)])
    shipped = resources.files("isingmlc.datasets").joinpath(FILE_NAME).read_bytes()
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(shipped)
    assert len(shipped) < 150_000
