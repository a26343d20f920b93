"""Ising distributions: exact probabilities, draws, codings, and what is refused."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, special, stats

import isingmlc as im
from isingmlc import simulate
from isingmlc.exceptions import ConvergenceWarning, DataError, ModelError

PAIR = [[0.0, 1.0], [1.0, 0.0]]
SAMPLERS = ("enumeration", "gibbs")


def random_network(n_labels: int, seed: int, scale: float = 1.0):
    generator = np.random.default_rng(seed)
    upper = np.triu(generator.normal(0, scale, (n_labels, n_labels)), 1)
    return generator.normal(0, scale, n_labels), upper + upper.T


def random_conditional(n_labels: int, n_features: int, seed: int):
    thresholds, interactions = random_network(n_labels, seed)
    generator = np.random.default_rng(seed + 1)
    effects = generator.normal(0, 0.7, (n_features, n_labels))
    names = [f"y{number}" for number in range(1, n_labels + 1)]
    pair_effects = {pair: generator.normal(0, 0.7, n_features) for pair in combinations(names, 2)}
    return thresholds, interactions, effects, pair_effects


def naive_pmf(thresholds, interactions):
    """The definition, term by term."""
    n_labels = len(thresholds)
    weights = []
    for pattern in product((0, 1), repeat=n_labels):
        energy = 0.0
        for k in range(n_labels):
            energy += thresholds[k] * pattern[k]
            for m in range(k + 1, n_labels):
                energy += interactions[k][m] * pattern[k] * pattern[m]
        weights.append(np.exp(energy))
    return np.array(weights) / np.sum(weights)


def pattern_numbers(labels: pd.DataFrame):
    return labels.to_numpy() @ 2 ** np.arange(labels.shape[1] - 1, -1, -1)


# --- probabilities


@settings(deadline=None, max_examples=30)
@given(n_labels=st.integers(1, 6), seed=st.integers(0, 10**6), scale=st.floats(0.0, 3.0))
def test_pmf_is_the_definition_summed_term_by_term(n_labels, seed, scale):
    thresholds, interactions = random_network(n_labels, seed, scale)
    pmf = simulate.IsingDistribution(thresholds, interactions).pmf()
    assert pmf.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(pmf, naive_pmf(thresholds, interactions), rtol=1e-10)


@settings(deadline=None, max_examples=20)
@given(n_labels=st.integers(2, 5), n_features=st.integers(1, 3), seed=st.integers(0, 10**6))
def test_conditional_pmf_is_the_definition_at_each_row(n_labels, n_features, seed):
    thresholds, interactions, effects, pair_effects = random_conditional(n_labels, n_features, seed)
    distribution = simulate.IsingDistribution(thresholds, interactions, effects, pair_effects)
    features = np.random.default_rng(seed).normal(size=(3, n_features))
    pmf = distribution.pmf(features)
    assert pmf.shape == (3, 2**n_labels)
    upper = np.triu_indices(n_labels, 1)
    for row, probabilities in zip(features, pmf, strict=True):
        moved = interactions.copy()
        moved[upper] += np.array(list(pair_effects.values())) @ row
        expected = naive_pmf(thresholds + row @ effects, moved)
        np.testing.assert_allclose(probabilities, expected, rtol=1e-9)
        np.testing.assert_allclose(distribution.given(row).pmf(), expected, rtol=1e-9)


def test_patterns_count_in_binary_with_the_first_label_most_significant():
    distribution = simulate.IsingDistribution(np.zeros(3), np.zeros((3, 3)))
    assert distribution.patterns.to_numpy().tolist() == [
        list(pattern) for pattern in product((0, 1), repeat=3)
    ]
    assert list(distribution.patterns) == ["y1", "y2", "y3"]


def test_large_parameters_neither_overflow_nor_lose_the_probabilities():
    pmf = simulate.IsingDistribution([900.0, -900.0], [[0.0, 5.0], [5.0, 0.0]]).pmf()
    np.testing.assert_allclose(pmf, [0, 0, 1, 0], atol=1e-300)


def test_a_pair_that_never_meets_has_probability_zero_and_is_never_drawn():
    interactions = np.zeros((3, 3))
    interactions[0, 1] = interactions[1, 0] = -np.inf
    distribution = simulate.IsingDistribution(np.ones(3), interactions)
    never = (distribution.patterns["y1"] & distribution.patterns["y2"]).to_numpy() == 1
    assert (distribution.pmf()[never] == 0).all()
    assert (distribution.pmf()[~never] > 0).all()
    for sampler in SAMPLERS:
        drawn = distribution.sample(2000, sampler=sampler, random_state=1)
        assert not (drawn["y1"] & drawn["y2"]).any()
        observed = np.bincount(pattern_numbers(drawn), minlength=8)[~never]
        test = stats.chisquare(observed, 2000 * distribution.pmf()[~never])
        assert test.pvalue > 1e-3


# --- moments


def test_moments_are_sums_over_all_patterns():
    thresholds, interactions = random_network(5, seed=7)
    distribution = simulate.IsingDistribution(pd.Series(thresholds, list("abcde")), interactions)
    pmf = naive_pmf(thresholds, interactions)
    patterns = np.array(list(product((0, 1), repeat=5)))
    mean = distribution.mean()
    assert list(mean.index) == list("abcde")
    np.testing.assert_allclose(mean, pmf @ patterns)
    pair_means = distribution.pair_means()
    np.testing.assert_allclose(pair_means, patterns.T @ (pmf[:, None] * patterns))
    np.testing.assert_allclose(np.diag(pair_means), mean)


# --- draws


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_conditional_draws_follow_the_exact_probabilities(sampler):
    thresholds, interactions, effects, pair_effects = random_conditional(3, 2, seed=13)
    distribution = simulate.IsingDistribution(thresholds, interactions, effects, pair_effects)
    places = np.array([[0.0, 0.0], [1.0, -1.0], [-0.5, 1.5]])
    drawn = distribution.sample(
        features=np.repeat(places, 8000, axis=0), sampler=sampler, random_state=14
    )
    numbers = pattern_numbers(drawn).reshape(3, 8000)
    for row, probabilities in zip(numbers, distribution.pmf(places), strict=True):
        observed = np.bincount(row, minlength=8)
        assert stats.chisquare(observed, 8000 * probabilities).pvalue > 1e-3


def test_a_seed_decides_the_draws_and_the_global_state_stays():
    distribution = simulate.IsingDistribution([0.1, -0.2], PAIR)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for sampler in SAMPLERS:
        first, second = (
            distribution.sample(5000, sampler=sampler, random_state=seed)
            for seed in (3, np.random.default_rng(3))
        )
        pd.testing.assert_frame_equal(first, second)
        other = distribution.sample(5000, sampler=sampler, random_state=4)
        assert not other.equals(first)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_beyond_twenty_labels_lists_of_all_vectors_are_refused():
    thresholds, interactions = random_network(21, seed=16, scale=0.2)
    distribution = simulate.IsingDistribution(thresholds, interactions)
    asks = [
        distribution.pmf,
        distribution.pair_means,
        distribution.mean,
        lambda: distribution.patterns,
        lambda: distribution.sample(5, sampler="enumeration"),
    ]
    for ask in asks:
        with pytest.raises(ModelError, match=r"21 labels.*Draw instead, with sample"):
            ask()


def test_effects_on_interactions_may_be_given_by_pair_and_by_name():
    thresholds, interactions = random_network(3, seed=19)
    effects = pd.DataFrame(np.zeros((2, 3)), index=["u", "v"], columns=["y1", "y2", "y3"])
    forms = [
        {("y1", "y3"): [0.5, -1.0], ("y2", "y3"): [0.0, 2.0]},
        {("y3", "y1"): {"v": -1.0, "u": 0.5}, ("y2", "y3"): {"v": 2.0}},
        {("y1", "y3"): pd.Series({"v": -1.0, "u": 0.5}), ("y2", "y3"): pd.Series({"v": 2.0})},
    ]
    features = np.random.default_rng(2).normal(size=(4, 2))
    made = [simulate.IsingDistribution(thresholds, interactions, effects, form) for form in forms]
    for distribution in made:
        np.testing.assert_array_equal(distribution.pmf(features), made[0].pmf(features))
        assert list(distribution.interaction_effects) == [("y1", "y3"), ("y2", "y3")]


@pytest.mark.parametrize("with_features", [False, True])
def test_gibbs_draws_beyond_twenty_labels_have_the_means_of_their_groups(with_features):
    thresholds, block = random_network(6, seed=24, scale=0.6)
    block[0, 1] = block[1, 0] = -np.inf
    zeros = np.zeros((6, 6))
    interactions = np.block([[block if k == m else zeros for m in range(4)] for k in range(4)])
    effects = np.full((1, 24), 0.5) if with_features else None
    distribution = simulate.IsingDistribution(np.tile(thresholds, 4), interactions, effects)
    size = {"features": np.full((4000, 1), -0.4)} if with_features else {"n_samples": 4000}
    drawn = distribution.sample(**size, random_state=1).to_numpy().reshape(-1, 6)
    exact = simulate.IsingDistribution(thresholds - 0.2 * with_features, block).pair_means()
    assert not (drawn[:, 0] & drawn[:, 1]).any()
    error = 4.5 * np.sqrt(exact * (1 - exact) / len(drawn))
    assert (np.abs(drawn.T @ drawn / len(drawn) - exact) <= error).all(axis=None)


@pytest.mark.parametrize("with_features", [False, True])
def test_gibbs_chains_that_do_not_agree_warn(with_features):
    effects = np.zeros((1, 25)) if with_features else None
    caught = simulate.IsingDistribution(np.full(25, -3.45), 0.3 * (1 - np.eye(25)), effects)
    size = {"features": np.zeros((40, 1))} if with_features else {"n_samples": 40}
    with pytest.warns(ConvergenceWarning, match=r"does not mix: after 64 sweeps.*Raise max_sweeps"):
        caught.sample(**size, max_sweeps=64, random_state=0)


def test_modes_with_equal_numbers_of_labels_are_told_apart():
    # Two groups of 10: either one is 1, and the number of labels is the same in both modes.
    interactions = np.kron([[1, -1], [-1, 1]], np.full((10, 10), 0.6))
    np.fill_diagonal(interactions, 0.0)
    distribution = simulate.IsingDistribution(np.full(20, 0.3), interactions)
    with pytest.warns(ConvergenceWarning):
        distribution.sample(30, sampler="gibbs", max_sweeps=200, random_state=0)


def test_draws_take_names_from_the_parameters_and_the_index_from_the_features():
    features = pd.DataFrame({"other": [1, 2], "z": [-60.0, 60.0]}, index=["u", "v"])
    distribution = simulate.IsingDistribution(
        pd.Series({"a": 0.0, "b": 0.0}),
        np.zeros((2, 2)),
        effects=pd.DataFrame({"b": [-1.0], "a": [1.0]}, index=["z"]),
    )
    drawn = distribution.sample(features=features, random_state=0)
    expected = pd.DataFrame({"a": [0, 1], "b": [1, 0]}, index=["u", "v"])
    pd.testing.assert_frame_equal(drawn, expected)


# --- how parameters may be given


def test_effects_on_interactions_alone_make_a_conditional_distribution():
    distribution = simulate.IsingDistribution([0, 0], PAIR, None, {("y1", "y2"): {"z": -1.0}})
    assert distribution.feature_names == ("z",)
    assert distribution.effects.to_numpy().tolist() == [[0.0, 0.0]]
    np.testing.assert_allclose(distribution.pmf([[1.0]]), 0.25)
    without = simulate.IsingDistribution([0, 0], PAIR, None, {})
    assert without.feature_names == ()


def test_frames_are_brought_into_the_order_of_the_thresholds():
    thresholds, interactions = random_network(3, seed=20)
    named = pd.DataFrame(interactions, list("abc"), list("abc"))
    shuffled = named.loc[list("cab"), list("bca")]
    distribution = simulate.IsingDistribution(pd.Series(thresholds, list("abc")), shuffled)
    pd.testing.assert_frame_equal(distribution.interactions, named)
    for unnamed_thresholds in (thresholds, pd.Series(thresholds)):
        distribution = simulate.IsingDistribution(unnamed_thresholds, named)
        assert distribution.label_names == ("a", "b", "c")


# --- what is refused

NAMED = pd.Series({"a": 0.0, "b": 0.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], np.zeros((0, 0))), r"thresholds must have the shape \(labels,\)"),
        (([[0.0]], [[0.0]]), "thresholds must have the shape"),
        ((["x", "y"], PAIR), "thresholds must hold numbers"),
        (([0.0, np.nan], PAIR), "thresholds must be finite.*nan"),
        (([0.0, -np.inf], PAIR), "thresholds must be finite.*-inf"),
        (([0.0, 0.0], [[0.0]]), r"interactions must have the shape \(2, 2\), but has \(1, 1\)"),
        (([0.0, 0.0], [[0.0], [0.0, 1.0]]), "interactions must hold numbers"),
        (([0.0, 0.0], [[0.0, 1.0], [0.5, 0.0]]), "symmetric.*'y1', 'y2'.*1 one way and 0.5"),
        (([0.0, 0.0], [[2.0, 1.0], [1.0, 0.0]]), "diagonal, but has 2.*thresholds"),
        (([0.0, 0.0], [[0.0, np.nan], [np.nan, 0.0]]), "finite, or −inf.*'y1', 'y2'.*nan"),
        (([0.0, 0.0], [[0.0, np.inf], [np.inf, 0.0]]), "finite, or −inf.*'y1', 'y2'.*inf"),
        ((NAMED, pd.DataFrame(PAIR, ["a", "c"], ["a", "c"])), "interactions must.*lacks 'b'"),
        ((pd.Series([0, 0], ["a", "a"]), PAIR), "thresholds has the name.*'a' more than once"),
        (([0, 0], PAIR, [1.0, 2.0]), r"effects must have the shape \(features, 2\)"),
        (([0, 0], PAIR, [[1.0, 2.0, 3.0]]), r"\(features, 2\), but has \(1, 3\)"),
        (([0, 0], PAIR, [[1.0, np.inf]]), "effects must be finite.*inf"),
        ((NAMED, PAIR, pd.DataFrame({"a": [1], "c": [1]})), "effects must.*lacks 'b'"),
        ((NAMED, PAIR, pd.DataFrame([[1, 2]], ["a"])), "'a' is named as label and as feature"),
        (([0, 0], PAIR, None, [[1.0]]), "interaction_effects must be a mapping of pairs"),
        (([0, 0], PAIR, None, {("y1", "y2"): [np.nan]}), "interaction_effects must be finite"),
        (([0, 0], PAIR, None, {("y1", "y1"): [1.0]}), "different label names.*'y1', 'y1'"),
        (([0, 0], PAIR, None, {(0, 1): [1.0]}), r"different label names.*\(0, 1\)"),
        (([0, 0], PAIR, None, {"y1": [1.0]}), "different label names"),
        (
            ([0, 0], PAIR, None, {("y1", "y2"): [1.0], ("y2", "y1"): [1.0]}),
            "names a pair of labels twice",
        ),
        (
            (np.zeros(3), np.zeros((3, 3)), None, {("y1", "y2"): [1.0], ("y1", "y3"): [1, 2]}),
            r"interaction_effects must have the shape \(pairs, 1\)",
        ),
        (([0, 0], PAIR, [[1, 1]], {("y1", "y2"): {"z": 1.0}}), "'z', which effects lacks"),
    ],
)
def test_unusable_parameters_are_refused_by_name(arguments, message):
    with pytest.raises(DataError, match=message):
        simulate.IsingDistribution(*arguments)


CONDITIONAL = simulate.IsingDistribution(
    [0.0, 0.0], PAIR, pd.DataFrame(np.ones((2, 2)), index=["u", "v"])
)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, "features are needed.*'u', 'v'"),
        ([1.0, 2.0], "features must be two-dimensional"),
        ([[1.0]], r"features must have the shape \(rows, 2\), but has \(1, 1\)"),
        (np.zeros((0, 2)), r"\(rows, 2\), but has \(0, 2\)"),
        ([[1.0, np.nan]], "features must be finite.*nan"),
        (sparse.csr_array([[1.0, np.inf]]), "features must be finite.*inf"),
        ([["a", "b"]], "features must hold numbers"),
        (pd.DataFrame({"u": [1.0]}), "features must have the names.*lacks 'v'"),
    ],
)
def test_unusable_features_are_refused_by_name(features, message):
    for ask in (CONDITIONAL.pmf, lambda features: CONDITIONAL.sample(features=features)):
        with pytest.raises(DataError, match=message):
            ask(features)


def test_other_unusable_arguments_are_refused_by_name():
    plain = simulate.IsingDistribution([0.0, 0.0], PAIR)
    with pytest.raises(DataError, match="does not depend on any"):
        plain.pmf([[1.0]])
    with pytest.raises(DataError, match="n_samples is 3 and features are given too"):
        CONDITIONAL.sample(3, [[1.0, 2.0]])
    for n in (None, 0, -1, 2.5, "3", True):
        with pytest.raises(DataError, match="n_samples must be a whole number of at least 1"):
            plain.sample(n)
    with pytest.raises(DataError, match="max_sweeps must be a whole number of at least 1"):
        plain.sample(3, max_sweeps=0)
    with pytest.raises(DataError, match="sampler must be one of 'auto', 'enumeration', 'gibbs'"):
        plain.sample(3, sampler="metropolis")
    for random_state in (-1, "seed", 1.5):
        with pytest.raises(DataError, match="random_state must be"):
            plain.sample(3, random_state=random_state)
    with pytest.raises(DataError, match=r"\(rows, 2\)"):
        CONDITIONAL.given([1.0])
    for asked in ("mean", "pair_means"):
        with pytest.raises(DataError, match=rf"given\(features\).{asked}\(\)"):
            getattr(CONDITIONAL, asked)()


def test_given_takes_a_row_of_a_frame_by_name():
    row = pd.DataFrame({"v": [2.0], "w": [5.0], "u": [1.0]}).iloc[0]
    assert CONDITIONAL.given(row).thresholds.tolist() == [3.0, 3.0]


# --- draws from fitted networks


def fitted(thresholds, interactions):
    names = list("abcdef")[: len(thresholds)]
    matrix = np.array(interactions, dtype=float)
    np.fill_diagonal(matrix, np.nan)
    return SimpleNamespace(
        thresholds=pd.Series(thresholds, names), interactions=pd.DataFrame(matrix, names, names)
    )


def test_draws_from_results_follow_the_fitted_network_and_leave_out_pairs_that_never_met():
    thresholds, interactions = random_network(4, seed=22, scale=0.6)
    interactions[0, 1] = interactions[1, 0] = -np.inf
    distribution = simulate.distribution_of(fitted(thresholds, interactions))
    assert distribution.label_names == tuple("abcd")
    expected = simulate.IsingDistribution(thresholds, interactions).pmf()
    np.testing.assert_array_equal(distribution.pmf(), expected)


@pytest.mark.parametrize(
    ("threshold", "interaction"),
    [(np.inf, 1.0), (-np.inf, 1.0), (np.nan, 1.0), (0.0, np.inf), (0.0, np.nan)],
)
def test_results_that_are_no_distribution_are_refused(threshold, interaction):
    matrix = np.zeros((3, 3))
    matrix[0, 1] = matrix[1, 0] = interaction
    results = fitted([threshold, 0.0, 0.0], matrix)
    with pytest.raises(ModelError, match=r"label\(s\) 'a'.*penalty=1.0.*penalty='firth'"):
        simulate.distribution_of(results)


# --- the two codings


@settings(deadline=None, max_examples=30)
@given(n_labels=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_both_codings_are_one_distribution_and_lead_back(n_labels, seed):
    thresholds, interactions = random_network(n_labels, seed)
    spin_thresholds, spin_interactions = simulate.to_spin(thresholds, interactions)
    spins = 2 * np.array(list(product((0, 1), repeat=n_labels))) - 1
    # Each pair stands in the quadratic form twice.
    energies = spins @ spin_thresholds.to_numpy()
    energies += np.einsum("gk,kl,gl->g", spins, spin_interactions.to_numpy(), spins) / 2
    pmf = simulate.IsingDistribution(thresholds, interactions).pmf()
    np.testing.assert_allclose(special.softmax(energies), pmf, rtol=1e-9)
    back_thresholds, back_interactions = simulate.from_spin(spin_thresholds, spin_interactions)
    np.testing.assert_allclose(back_thresholds, thresholds, atol=1e-12)
    np.testing.assert_allclose(back_interactions, interactions, atol=1e-12)


def test_codings_keep_names_and_want_finite_parameters():
    thresholds, interactions = simulate.to_spin(NAMED, PAIR)
    assert list(thresholds.index) == list(interactions) == list(interactions.index) == ["a", "b"]
    never = [[0.0, -np.inf], [-np.inf, 0.0]]
    for translate in (simulate.to_spin, simulate.from_spin):
        with pytest.raises(DataError, match=r"interactions must be finite.*−inf"):
            translate([0.0, 0.0], never)
        with pytest.raises(DataError, match="symmetric"):
            translate([0.0, 0.0], [[0.0, 1.0], [0.0, 0.0]])


# --- data with many labels


@pytest.mark.parametrize("dependence", ["weak", "strong"])
def test_data_with_many_labels_have_many_labelsets_and_the_truth(dependence):
    data = im.datasets.make_network_data(
        2000, n_features=20, n_labels=100, dependence=dependence, random_state=0
    )
    assert data.labels.shape == (2000, 100)
    assert data.features.shape == (2000, 20)
    assert len(data.labels.drop_duplicates()) > 900
    assert data.labels.sum(axis=1).mean() == pytest.approx(5.0, rel=0.1)
    assert 0 < data.labels.mean().min() < data.labels.mean().max() < 0.4
    effects, interactions = data.truth["effects"], data.truth["interactions"]
    assert data.relevant == tuple(effects.index[effects.any(axis=1)]) == ("x1", "x2", "x3", "x4")
    low, high = {"weak": (0.2, 0.6), "strong": (1.5, 3.0)}[dependence]
    sizes = interactions.to_numpy()[interactions.to_numpy() != 0]
    assert low <= np.abs(sizes).min() < np.abs(sizes).max() <= high
    # Labels that attract each other meet more often than chance has it, and others less.
    labels = data.labels.to_numpy()
    together = labels.T @ labels / 2000 - np.outer(labels.mean(axis=0), labels.mean(axis=0))
    signs = np.sign(interactions.to_numpy())
    assert together[signs > 0].mean() > 0 > together[signs < 0].mean()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1"),
        ({"n_features": 0}, "n_features must be a whole number of at least 1"),
        ({"n_labels": 4}, "n_labels must be a whole number of at least 5"),
        ({"dependence": "none"}, "dependence must be one of 'weak', 'strong'"),
        ({"labels_per_row": 0}, "labels_per_row must be a finite number above 0"),
        ({"labels_per_row": 90}, "more than half of the rows. Give at most"),
    ],
)
def test_unusable_arguments_of_data_with_many_labels_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        im.datasets.make_network_data(**arguments)
