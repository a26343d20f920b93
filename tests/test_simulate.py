"""Ising distributions: exact probabilities, draws, codings, and what is refused."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse, special, stats

from isingmlc import simulate
from isingmlc.exceptions import DataError, ModelError

PAIR = [[0.0, 1.0], [1.0, 0.0]]
SAMPLERS = ("enumeration", "elimination", "gibbs", "tempering")


def random_network(n_labels: int, seed: int, scale: float = 1.0):
    generator = np.random.default_rng(seed)
    upper = np.triu(generator.normal(0, scale, (n_labels, n_labels)), 1)
    return generator.normal(0, scale, n_labels), upper + upper.T


def random_conditional(n_labels: int, n_features: int, seed: int):
    thresholds, interactions = random_network(n_labels, seed)
    generator = np.random.default_rng(seed + 1)
    n_pairs = n_labels * (n_labels - 1) // 2
    effects = generator.normal(0, 0.7, (n_features, n_labels))
    pair_effects = generator.normal(0, 0.7, (n_pairs, n_features))
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
        moved[upper] += pair_effects @ row
        expected = naive_pmf(thresholds + row @ effects, moved)
        np.testing.assert_allclose(probabilities, expected, rtol=1e-9)
        np.testing.assert_allclose(distribution.given(row).pmf(), expected, rtol=1e-9)


@settings(deadline=None, max_examples=20)
@given(n_labels=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_log_odds_of_a_label_are_the_logit_on_the_others(n_labels, seed):
    thresholds, interactions, effects, pair_effects = random_conditional(n_labels, 2, seed)
    distribution = simulate.IsingDistribution(thresholds, interactions, effects, pair_effects)
    row = np.random.default_rng(seed).normal(size=2)
    pmf = distribution.pmf([row])[0]
    patterns = distribution.patterns.to_numpy()
    shifts = np.zeros((n_labels, n_labels))
    shifts[np.triu_indices(n_labels, 1)] = pair_effects @ row
    at_row = interactions + shifts + shifts.T
    for label in range(n_labels):
        off = np.flatnonzero(patterns[:, label] == 0)
        on = off + 2 ** (n_labels - 1 - label)
        logit = thresholds[label] + row @ effects[:, label] + patterns[off] @ at_row[label]
        np.testing.assert_allclose(np.log(pmf[on] / pmf[off]), logit, atol=1e-9)


def test_patterns_count_in_binary_with_the_first_label_most_significant():
    distribution = simulate.IsingDistribution(np.zeros(3), np.zeros((3, 3)))
    assert distribution.patterns.to_numpy().tolist() == [
        list(pattern) for pattern in product((0, 1), repeat=3)
    ]
    assert list(distribution.patterns) == ["y1", "y2", "y3"]


def test_conditional_distribution_at_zero_features_is_the_unconditional_one():
    thresholds, interactions, effects, pair_effects = random_conditional(4, 3, seed=5)
    plain = simulate.IsingDistribution(thresholds, interactions)
    conditional = simulate.IsingDistribution(thresholds, interactions, effects, pair_effects)
    np.testing.assert_allclose(conditional.pmf(np.zeros((2, 3))), np.tile(plain.pmf(), (2, 1)))
    np.testing.assert_array_equal(conditional.given(np.zeros(3)).pmf(), plain.pmf())


def test_pmf_of_many_rows_does_not_depend_on_how_they_are_cut_into_blocks(monkeypatch):
    thresholds, interactions, effects, _ = random_conditional(4, 2, seed=6)
    distribution = simulate.IsingDistribution(thresholds, interactions, effects)
    features = np.random.default_rng(0).normal(size=(100, 2))
    whole = distribution.pmf(features)
    drawn = distribution.sample(features=features, sampler="enumeration", random_state=1)
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 1)
    np.testing.assert_array_equal(distribution.pmf(features), whole)
    again = distribution.sample(features=features, sampler="enumeration", random_state=1)
    pd.testing.assert_frame_equal(again, drawn)


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


# --- moments and entropy


def test_moments_and_entropy_are_sums_over_all_patterns():
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
    assert distribution.entropy() == pytest.approx(-(pmf * np.log(pmf)).sum())


@settings(deadline=None, max_examples=25)
@given(n_labels=st.integers(3, 5), seed=st.integers(0, 10**6))
def test_no_distribution_with_the_same_first_two_moments_has_more_entropy(n_labels, seed):
    thresholds, interactions = random_network(n_labels, seed, scale=0.7)
    distribution = simulate.IsingDistribution(thresholds, interactions)
    pmf, patterns = distribution.pmf(), distribution.patterns.to_numpy()
    first, second = np.triu_indices(n_labels, 1)
    constraints = np.vstack(
        [np.ones(len(pmf)), patterns.T, (patterns[:, first] * patterns[:, second]).T]
    )
    free = linalg.null_space(constraints)
    assert free.shape[1] == 2**n_labels - 1 - n_labels - len(first)
    generator = np.random.default_rng(seed)
    for _ in range(5):
        direction = free @ generator.normal(size=free.shape[1])
        # As far as probabilities stay positive, and a random part of that.
        furthest = np.min(pmf[direction < 0] / -direction[direction < 0])
        other = pmf + generator.uniform(0.3, 0.99) * furthest * direction
        assert (other >= 0).all()
        np.testing.assert_allclose(constraints @ other, constraints @ pmf, atol=1e-12)
        assert special.entr(other).sum() < distribution.entropy()


# --- draws


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_follow_the_exact_probabilities(sampler):
    thresholds, interactions = random_network(4, seed=11, scale=0.6)
    distribution = simulate.IsingDistribution(thresholds, interactions)
    drawn = distribution.sample(20_000, sampler=sampler, random_state=12)
    assert set(np.unique(drawn)) == {0, 1}
    observed = np.bincount(pattern_numbers(drawn), minlength=16)
    assert stats.chisquare(observed, 20_000 * distribution.pmf()).pvalue > 1e-3


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
        distribution.entropy,
        lambda: distribution.patterns,
    ]
    for ask in asks:
        with pytest.raises(ModelError, match=r"21 labels.*Draw instead, with sample"):
            ask()


def test_a_hundred_thousand_gibbs_draws_have_the_means():
    thresholds, interactions = random_network(10, seed=17, scale=0.3)
    distribution = simulate.IsingDistribution(thresholds, interactions)
    drawn = distribution.sample(100_000, sampler="gibbs", random_state=0)
    error = 4.5 * np.sqrt(0.25 / 100_000)
    np.testing.assert_allclose(drawn.mean(), distribution.mean(), atol=error)


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


def test_sparse_features_give_the_draws_of_dense_ones():
    thresholds, interactions, effects, pair_effects = random_conditional(3, 4, seed=18)
    distribution = simulate.IsingDistribution(thresholds, interactions, effects, pair_effects)
    features = np.random.default_rng(1).poisson(0.4, size=(60, 4)).astype(float)
    for sampler in SAMPLERS:
        dense, thin = (
            distribution.sample(features=given, sampler=sampler, random_state=5)
            for given in (features, sparse.coo_array(features))
        )
        pd.testing.assert_frame_equal(dense, thin)


# --- how parameters may be given


def test_effects_on_interactions_may_be_given_by_pair_and_by_name():
    thresholds, interactions = random_network(3, seed=19)
    effects = pd.DataFrame(np.zeros((2, 3)), index=["u", "v"], columns=["y1", "y2", "y3"])
    as_array = np.array([[0.0, 0.0], [0.5, -1.0], [0.0, 2.0]])
    forms = [
        as_array,
        pd.DataFrame(as_array[:, ::-1], columns=["v", "u"]),
        {("y1", "y3"): [0.5, -1.0], ("y2", "y3"): [0.0, 2.0]},
        {("y3", "y1"): {"v": -1.0, "u": 0.5}, ("y2", "y3"): {"v": 2.0}},
        {("y1", "y3"): pd.Series({"v": -1.0, "u": 0.5}), ("y2", "y3"): pd.Series({"v": 2.0})},
    ]
    features = np.random.default_rng(2).normal(size=(4, 2))
    expected = simulate.IsingDistribution(thresholds, interactions, effects, as_array)
    for form in forms:
        distribution = simulate.IsingDistribution(thresholds, interactions, effects, form)
        np.testing.assert_array_equal(distribution.pmf(features), expected.pmf(features))
        assert list(distribution.interaction_effects) == [("y1", "y3"), ("y2", "y3")]
        again = simulate.IsingDistribution(
            distribution.thresholds,
            distribution.interactions,
            distribution.effects,
            distribution.interaction_effects,
        )
        np.testing.assert_array_equal(again.pmf(features), expected.pmf(features))


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


def test_a_distribution_does_not_change_with_what_it_was_made_of_or_gave_away():
    thresholds, interactions, effects, pair_effects = random_conditional(3, 2, seed=21)
    distribution = simulate.IsingDistribution(thresholds, interactions, effects, pair_effects)
    features = np.ones((1, 2))
    before = distribution.pmf(features)
    for array in (thresholds, interactions, effects, pair_effects):
        array += 1
    for given_away in (
        distribution.thresholds,
        distribution.interactions,
        distribution.effects,
        *distribution.interaction_effects.values(),
    ):
        given_away.iloc[0] = 9.0
    np.testing.assert_array_equal(distribution.pmf(features), before)
    with pytest.raises(AttributeError):
        distribution.thresholds = thresholds


def test_repr_tells_the_size():
    assert repr(simulate.IsingDistribution([0, 0], PAIR)) == "IsingDistribution(2 labels)"
    conditional = simulate.IsingDistribution([0, 0], PAIR, np.zeros((3, 2)))
    assert repr(conditional) == "IsingDistribution(2 labels, 3 features)"


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
        (([0, 0], PAIR, None, [[1.0], [2.0]]), r"interaction_effects.*\(1, features\)"),
        (([0, 0], PAIR, None, [[np.nan]]), "interaction_effects must be finite"),
        (([0, 0], PAIR, [[1, 1]], [[1.0, 2.0]]), r"\(pairs, 1\), but has \(1, 2\)"),
        (([0, 0], PAIR, None, {("y1", "y1"): [1.0]}), "different label names.*'y1', 'y1'"),
        (([0, 0], PAIR, None, {(0, 1): [1.0]}), r"different label names.*\(0, 1\)"),
        (([0, 0], PAIR, None, {"y1": [1.0]}), "different label names"),
        (
            ([0, 0], PAIR, None, {("y1", "y2"): [1.0], ("y2", "y1"): [1.0]}),
            "names a pair of labels twice",
        ),
        (
            (np.zeros(3), np.zeros((3, 3)), None, {("y1", "y2"): [1.0], ("y1", "y3"): [1, 2]}),
            "interaction_effects must hold numbers, in rows of equal length",
        ),
        (
            (np.zeros(3), np.zeros((3, 3)), None, {("y1", "y2"): [1.0], ("y1", "y3"): {"x": 2}}),
            "all values as sequences, or all by name",
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
        with pytest.raises(DataError, match="n_samples must be a whole number of at least 1"):
            plain.plan_sampling(n)
    with pytest.raises(DataError, match="max_sweeps must be a whole number of at least 1"):
        plain.sample(3, max_sweeps=0)
    with pytest.raises(DataError, match="sampler must be one of 'auto', 'enumeration', 'elim"):
        plain.sample(3, sampler="metropolis")
    for random_state in (-1, "seed", 1.5):
        with pytest.raises(DataError, match="random_state must be"):
            plain.sample(3, random_state=random_state)
    with pytest.raises(DataError, match=r"\(rows, 2\)"):
        CONDITIONAL.given([1.0])
    for asked in ("mean", "pair_means", "entropy"):
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


def test_draws_from_results_follow_the_fitted_network():
    thresholds, interactions = random_network(4, seed=22, scale=0.6)
    results = fitted(thresholds, interactions)
    drawn = simulate.from_results(results, 20_000, random_state=23)
    assert list(drawn) == list("abcd")
    observed = np.bincount(pattern_numbers(drawn), minlength=16)
    pmf = naive_pmf(thresholds, interactions)
    assert stats.chisquare(observed, 20_000 * pmf).pvalue > 1e-3
    gibbs = simulate.from_results(results, 50, sampler="gibbs", max_sweeps=500, random_state=1)
    expected = simulate.IsingDistribution(results.thresholds, results.interactions).sample(
        50, sampler="gibbs", max_sweeps=500, random_state=1
    )
    pd.testing.assert_frame_equal(gibbs, expected)


def test_draws_from_results_leave_out_pairs_that_never_met():
    results = fitted([1.0, 1.0], [[0.0, -np.inf], [-np.inf, 0.0]])
    drawn = simulate.from_results(results, 500, random_state=0)
    assert not (drawn["a"] & drawn["b"]).any()
    assert drawn.to_numpy().any()


@pytest.mark.parametrize(
    ("threshold", "interaction"),
    [(np.inf, 1.0), (-np.inf, 1.0), (np.nan, 1.0), (0.0, np.inf), (0.0, np.nan)],
)
def test_draws_from_results_that_are_no_distribution_are_refused(threshold, interaction):
    matrix = np.zeros((3, 3))
    matrix[0, 1] = matrix[1, 0] = interaction
    results = fitted([threshold, 0.0, 0.0], matrix)
    with pytest.raises(ModelError, match=r"label\(s\) 'a'.*method='ridge'.*method='firth'"):
        simulate.from_results(results, 10)


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
