"""Samplers against each other and against laws that can be summed up another way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from isingmlc import datasets, simulate
from isingmlc.exceptions import ConvergenceWarning, DataError, ModelError
from isingmlc.simulate import enumeration
from isingmlc.simulate.chains import _between_and_within
from isingmlc.simulate.elimination import order_labels
from isingmlc.simulate.parameters import Laws, read_parameters, restrict

ERRORS = 4.5


def same_everywhere(n_labels: int, threshold: float, interaction: float, **effects):
    """All labels alike, and all pairs."""
    return simulate.IsingDistribution(
        np.full(n_labels, threshold), interaction * (1 - np.eye(n_labels)), **effects
    )


def count_law(n_labels: int, threshold: float, interaction: float):
    """Probabilities of the number of ones, if all labels are alike."""
    ones = np.arange(n_labels + 1)
    return special.softmax(
        np.log(special.comb(n_labels, ones))
        + threshold * ones
        + interaction * special.comb(ones, 2)
    )


def moments(law):
    ones = np.arange(len(law))
    mean = law @ ones
    return mean, law @ ones**2 - mean**2


def grid(width: int, length: int, seed: int):
    generator = np.random.default_rng(seed)
    numbers = np.arange(width * length).reshape(length, width)
    interactions = np.zeros((width * length, width * length))
    for ends in ((numbers[1:], numbers[:-1]), (numbers[:, 1:], numbers[:, :-1])):
        interactions[ends] = generator.normal(0.3, 0.7, ends[0].shape)
    return generator.normal(-0.8, 0.5, width * length), interactions + interactions.T


def random_graph(n_labels: int, seed: int, density: float = 0.4, scale: float = 1.0):
    generator = np.random.default_rng(seed)
    upper = np.triu(generator.normal(0, scale, (n_labels, n_labels)), 1)
    upper *= generator.random((n_labels, n_labels)) < density
    return generator.normal(0, scale, n_labels), upper + upper.T


def standard_errors_off(drawn, means, n_rows):
    """How many standard errors shares of ones are away from what they should be."""
    return np.abs(drawn - means) / np.sqrt(np.maximum(means * (1 - means), 1e-12) / n_rows)


# --- strong coupling


@pytest.mark.parametrize("sampler", ["auto", "enumeration", "tempering"])
def test_the_mean_near_a_phase_change_is_right(sampler):
    mean, variance = moments(count_law(25, -3.45, 0.3))
    assert mean / 25 == pytest.approx(0.943, abs=5e-4)
    drawn = same_everywhere(25, -3.45, 0.3).sample(3000, sampler=sampler, random_state=1)
    assert abs(drawn.sum(axis=1).mean() - mean) < ERRORS * np.sqrt(variance / 3000)


def test_gibbs_chains_near_a_phase_change_warn_and_say_what_was_reached():
    distribution = same_everywhere(25, -3.45, 0.3)
    with pytest.warns(ConvergenceWarning) as caught:
        drawn = distribution.sample(300, sampler="gibbs", max_sweeps=300, random_state=0)
    message = str(caught[0].message)
    for said in ("gibbs of 25 labels: 300 sweeps", "split R-hat", "effective size", "max_sweeps"):
        assert said in message
    assert "sampler='tempering'" in message
    assert drawn.attrs["sampler"] in message
    assert float(message.split("R-hat ")[1].split(",")[0]) > 1.5


def test_tempering_warns_if_it_may_not_run_long_enough():
    with pytest.warns(ConvergenceWarning, match=r"temperatures, 10 sweeps.*Raise max_sweeps\.$"):
        same_everywhere(40, -2.9, 0.15).sample(
            20, sampler="tempering", max_sweeps=10, random_state=0
        )


def test_auto_goes_on_to_tempering_where_gibbs_chains_are_caught():
    threshold = -0.15 * 39 / 2 + 0.02
    distribution = same_everywhere(40, threshold, 0.15)
    assert distribution.plan_sampling(1000)["sampler"].tolist() == ["gibbs"]
    drawn = distribution.sample(600, random_state=0)
    assert drawn.attrs["sampler"].startswith("tempering of 40 labels")
    law = count_law(40, threshold, 0.15)
    mean, variance = moments(law)
    assert abs(drawn.sum(axis=1).mean() - mean) < ERRORS * np.sqrt(variance / 600)
    # Both modes, in their shares.
    low = (drawn.sum(axis=1) < 20).mean()
    assert abs(low - law[:20].sum()) < ERRORS * np.sqrt(0.25 / 600)


def test_tempering_gives_every_row_of_features_its_own_law():
    threshold = -0.15 * 39 / 2
    features = np.random.default_rng(1).normal(size=(400, 1))
    distribution = same_everywhere(40, threshold, 0.15, effects=np.full((1, 40), 0.05))
    ones = distribution.sample(features=features, random_state=0).sum(axis=1)
    laws = [moments(count_law(40, threshold + 0.05 * x, 0.15)) for x in features[:, 0]]
    means, variances = np.transpose(laws)
    for weight in (np.ones(400), features[:, 0]):
        error = np.sqrt(weight**2 @ variances)
        assert abs(weight @ (ones - means)) < ERRORS * error


def test_modes_with_equal_numbers_of_labels_are_told_apart():
    # Two groups of 10: either one is 1. Label sum and energy are nearly the same in both modes.
    size, strength = 10, 0.6
    interactions = np.kron([[1, -1], [-1, 1]], np.full((size, size), strength))
    np.fill_diagonal(interactions, 0.0)
    thresholds = np.repeat([0.2, 0.0], size) + strength / 2
    ones = np.arange(size + 1)
    alone = np.log(special.comb(size, ones)) + strength * special.comb(ones, 2)
    law = special.softmax(
        (alone + thresholds[0] * ones)[:, np.newaxis]
        + alone
        + thresholds[-1] * ones
        - strength * np.outer(ones, ones)
    )
    mean, variance = moments(law.sum(axis=1))
    distribution = simulate.IsingDistribution(thresholds, interactions)
    for sampler in ("enumeration", "tempering"):
        drawn = distribution.sample(1000, sampler=sampler, random_state=0).to_numpy()
        first = drawn[:, :size].sum(axis=1).mean()
        assert abs(first - mean) < ERRORS * np.sqrt(variance / 1000)
    with pytest.warns(ConvergenceWarning):
        distribution.sample(30, sampler="gibbs", max_sweeps=200, random_state=0)


def test_between_and_within_make_the_textbook_s_split_rhat():
    generator = np.random.default_rng(0)
    traces = generator.normal(size=(50, 12)) + generator.normal(0, 0.3, 12)
    between = _between_and_within(traces.mean(axis=0)[None], traces.var(axis=0, ddof=1)[None], 1)
    b, w = 50 * traces.mean(axis=0).var(ddof=1), traces.var(axis=0, ddof=1).mean()
    assert np.sqrt(49 / 50 + between) == pytest.approx(np.sqrt((49 / 50 * w + b / 50) / w))
    # Chains of different laws may differ.
    shifted = traces + np.tile(np.arange(4) * 10.0, 3)
    again = _between_and_within(shifted.mean(axis=0)[None], shifted.var(axis=0, ddof=1)[None], 4)
    assert again < 1
    assert _between_and_within(np.zeros((1, 4)), np.zeros((1, 4)), 1) == 0
    assert _between_and_within(np.array([[0.0, 1.0]]), np.zeros((1, 2)), 1) == np.inf


def test_independent_labels_need_few_sweeps():
    drawn = simulate.IsingDistribution(np.linspace(-3, 1, 30), np.zeros((30, 30))).sample(
        50, sampler="gibbs", random_state=0
    )
    assert "gibbs of 30 labels: 3" in drawn.attrs["sampler"]


# --- all samplers on one law


@pytest.fixture(scope="module")
def awkward():
    """Features on thresholds and interactions, and pairs that never meet; at three places."""
    thresholds, interactions = random_graph(14, seed=3, density=1.0, scale=0.8)
    for first, second in ((0, 1), (3, 7)):
        interactions[first, second] = interactions[second, first] = -np.inf
    effects = np.random.default_rng(4).normal(0, 0.5, (2, 14))
    moved = {("y1", "y3"): [0.5, -1.0], ("y5", "y9"): [1.0, 0.0], ("y2", "y8"): [1.0, 0.4]}
    distribution = simulate.IsingDistribution(thresholds, interactions, effects, moved)
    places = np.array([[0.0, 0.0], [1.0, -1.0], [-0.5, 1.5]])
    patterns = distribution.patterns.to_numpy()
    pair_means = [patterns.T @ (law[:, None] * patterns) for law in distribution.pmf(places)]
    return distribution, places, np.array(pair_means)


@pytest.mark.parametrize("sampler", ["enumeration", "elimination", "gibbs", "tempering"])
def test_pairs_of_labels_meet_as_often_as_listed_probabilities_say(awkward, sampler):
    distribution, places, pair_means = awkward
    n_rows = 1000 if sampler == "elimination" else 5000
    features = np.repeat(places, n_rows, axis=0)
    drawn = distribution.sample(features=features, sampler=sampler, random_state=1).to_numpy()
    for rows, means in zip(drawn.reshape(3, n_rows, 14), pair_means, strict=True):
        assert not (rows[:, 0] & rows[:, 1]).any()
        shares = rows.T @ rows / n_rows
        # Sums of a handful of rare events are not Gaussian.
        often = np.triu(n_rows * means > 20)
        assert standard_errors_off(shares, means, n_rows)[often].max() < ERRORS


@pytest.mark.parametrize("sampler", ["elimination", "gibbs", "tempering"])
def test_draws_from_a_grid_have_the_exact_means(sampler):
    distribution = simulate.IsingDistribution(*grid(4, 15, seed=5))
    drawn = distribution.sample(3000, sampler=sampler, random_state=6)
    off = standard_errors_off(drawn.mean(), distribution.mean(), 3000)
    assert off.max() < ERRORS
    # Not too good either: the squares are those of about 60 standard Gaussian numbers.
    assert 25 < (off**2).sum() < 115


def test_a_sparse_network_with_exclusions_is_updated_in_colours_as_well():
    thresholds, interactions = grid(4, 10, seed=7)
    interactions[0, 1] = interactions[1, 0] = -np.inf
    interactions[8, 12] = interactions[12, 8] = -np.inf
    distribution = simulate.IsingDistribution(thresholds, interactions)
    drawn = distribution.sample(4000, sampler="gibbs", random_state=8)
    assert not (drawn["y1"] & drawn["y2"]).any()
    assert not (drawn["y9"] & drawn["y13"]).any()
    assert standard_errors_off(drawn.mean(), distribution.mean(), 4000).max() < ERRORS


# --- enumeration in halves


@settings(deadline=None, max_examples=25)
@given(
    n_labels=st.integers(2, 7),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.5, 3.0, 300.0]),
    excluded=st.booleans(),
)
def test_sums_over_one_half_are_sums_of_listed_probabilities(n_labels, seed, scale, excluded):
    thresholds, interactions = random_graph(n_labels, seed, 1.0, scale)
    if excluded:
        interactions[0, -1] = interactions[-1, 0] = -np.inf
    features = np.random.default_rng(seed).normal(size=(3, 1))
    effects = np.random.default_rng(seed + 1).normal(size=(1, n_labels))
    parameters = read_parameters(thresholds, interactions, effects)
    first = np.arange((n_labels + 1) // 2)
    second = np.arange(len(first), n_labels)
    fields = np.array(
        [
            [interactions[label, first[row == 1]].sum() for row in _binary(len(first))]
            for label in second
        ]
    )
    sums = enumeration._sum_over_second(
        Laws(restrict(parameters, first), features).at(),
        Laws(restrict(parameters, second), features).at(),
        fields,
    )
    pmf = simulate.IsingDistribution(thresholds, interactions, effects).pmf(features)
    expected = pmf.reshape(3, 2 ** len(first), -1).sum(axis=2).T
    np.testing.assert_allclose(sums / sums.sum(axis=0), expected, rtol=1e-8, atol=1e-200)


def _binary(n_labels):
    return enumeration.spell_binary(np.arange(2**n_labels), n_labels)


def test_halves_keep_together_what_features_move():
    pairs = {("y1", "y14"): [1.0], ("y14", "y3"): [1.0], ("y2", "y5"): [1.0]}
    zeros = np.zeros((14, 14))
    first, second = enumeration.halve(read_parameters(np.zeros(14), zeros, None, pairs))
    assert sorted([*first, *second]) == list(range(14))
    assert abs(len(first) - len(second)) <= 1
    for joined in ({0, 13, 2}, {1, 4}):
        assert joined <= set(first) or joined <= set(second)
    everything = np.ones((91, 1))
    first, second = enumeration.halve(read_parameters(np.zeros(14), zeros, None, everything))
    assert (len(first), len(second)) == (14, 0)


def test_twenty_labels_with_features_are_drawn_exactly_in_no_time():
    thresholds, interactions = random_graph(20, seed=9, density=1.0, scale=0.5)
    effects = np.random.default_rng(10).normal(0, 0.5, (3, 20))
    distribution = simulate.IsingDistribution(thresholds, interactions, effects)
    place = np.array([0.5, -1.0, 1.0])
    drawn = distribution.sample(features=np.tile(place, (3000, 1)), random_state=11)
    assert drawn.attrs["sampler"] == "enumeration of 20 labels"
    exact = distribution.given(place).pair_means().to_numpy()
    shares = drawn.to_numpy().T @ drawn.to_numpy() / 3000
    often = np.triu(3000 * exact > 20)
    assert standard_errors_off(shares, exact, 3000)[often].max() < ERRORS


# --- elimination


@settings(deadline=None, max_examples=40)
@given(
    n_labels=st.integers(1, 10),
    seed=st.integers(0, 10**6),
    density=st.floats(0.0, 1.0),
    scale=st.sampled_from([0.5, 3.0, 300.0]),
)
def test_means_by_elimination_are_those_by_enumeration(n_labels, seed, density, scale):
    thresholds, interactions = random_graph(n_labels, seed, density, scale)
    exact = simulate.IsingDistribution(thresholds, interactions).mean()
    # 21 labels, of which the others are fair coins.
    larger = np.zeros((21, 21))
    larger[:n_labels, :n_labels] = interactions
    padded = simulate.IsingDistribution(np.append(thresholds, np.zeros(21 - n_labels)), larger)
    np.testing.assert_allclose(padded.mean()[:n_labels], exact, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(padded.mean()[n_labels:], 0.5, rtol=1e-12)


def test_a_long_chain_has_the_means_of_transfer_matrices():
    generator = np.random.default_rng(12)
    thresholds, strengths = generator.normal(size=300), generator.normal(size=299)
    interactions = np.diag(strengths, 1) + np.diag(strengths, -1)
    sides = [[np.ones(2)] for _ in range(2)]
    for at in range(299):
        sides[0].append(_transfer(thresholds[at], strengths[at]) @ sides[0][-1])
        back = 299 - at
        sides[1].append(_transfer(thresholds[back], strengths[back - 1]) @ sides[1][-1])
    weights = np.array(sides[0]) * np.array(sides[1])[::-1]
    weights[:, 1] *= np.exp(thresholds)
    distribution = simulate.IsingDistribution(thresholds, interactions)
    exact = weights[:, 1] / weights.sum(axis=1)
    np.testing.assert_allclose(distribution.mean(), exact, rtol=1e-9)
    drawn = distribution.sample(5000, random_state=13)
    assert drawn.attrs["sampler"] == "elimination of 300 labels, at most 1 neighbours"
    assert standard_errors_off(drawn.mean(), exact, 5000).max() < ERRORS
    neighbours = (drawn.to_numpy()[:, 1:] * drawn.to_numpy()[:, :-1]).mean(axis=0)
    joint = exact[1:] * _given_next(thresholds, strengths, sides)
    assert standard_errors_off(neighbours, joint, 5000).max() < ERRORS


def _transfer(threshold, strength):
    matrix = np.array([[1.0, np.exp(threshold)], [1.0, np.exp(threshold + strength)]])
    return matrix / matrix.max()


def _given_next(thresholds, strengths, sides):
    """Probability of a label of a chain given that the next one is 1."""
    before = np.array(sides[0])[:-1]
    odds = np.exp(thresholds[:-1] + strengths) * before[:, 1] / before[:, 0]
    return odds / (1 + odds)


def test_draws_by_elimination_do_not_depend_on_blocks(monkeypatch):
    thresholds, interactions = grid(3, 8, seed=14)
    effects = np.random.default_rng(15).normal(0, 0.5, (2, 24))
    plain = simulate.IsingDistribution(thresholds, interactions)
    conditional = simulate.IsingDistribution(thresholds, interactions, effects)
    features = np.random.default_rng(16).normal(size=(200, 2))

    def draw():
        return (
            plain.sample(200, sampler="elimination", random_state=0),
            conditional.sample(features=features, sampler="elimination", random_state=0),
        )

    before = draw()
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 1)
    monkeypatch.setattr("isingmlc.simulate.elimination._TABLE_BYTES", 2**14)
    for first, second in zip(before, draw(), strict=True):
        pd.testing.assert_frame_equal(first, second)


@settings(deadline=None, max_examples=50)
@given(n_labels=st.integers(1, 15), seed=st.integers(0, 10**6), density=st.floats(0.0, 1.0))
def test_every_label_is_eliminated_once_with_all_its_later_neighbours(n_labels, seed, density):
    connected = random_graph(n_labels, seed, density)[1] != 0
    steps = order_labels(connected)
    turn = {step.label: at for at, step in enumerate(steps)}
    assert sorted(turn) == list(range(n_labels))
    for step in steps:
        later = {
            other
            for other in np.flatnonzero(connected[step.label])
            if turn[other] > turn[step.label]
        }
        assert later <= set(step.neighbours)
        assert [turn[other] for other in step.neighbours] == sorted(
            turn[other] for other in step.neighbours
        )
        # What is left of the neighbours is connected from now on.
        if step.neighbours:
            following = steps[turn[step.neighbours[0]]]
            assert set(step.neighbours[1:]) <= set(following.neighbours)


@pytest.mark.parametrize(
    ("connected", "width"),
    [
        (np.zeros((5, 5), dtype=bool), 0),
        (np.abs(np.subtract.outer(range(9), range(9))) == 1, 1),
        (np.isin(np.abs(np.subtract.outer(range(9), range(9))), (1, 8)), 2),
        (grid(4, 30, 0)[1] != 0, 4),
        (~np.eye(8, dtype=bool), 7),
    ],
)
def test_the_order_finds_the_width_of_simple_graphs(connected, width):
    assert max(len(step.neighbours) for step in order_labels(connected)) == width


# --- the choice


def test_the_cheapest_sampler_is_planned_and_named():
    thresholds, interactions = random_graph(60, seed=17, density=1.0, scale=0.1)
    dense = simulate.IsingDistribution(thresholds, interactions)
    chain = np.diag(np.ones(59), 1)
    sparse = simulate.IsingDistribution(thresholds, chain + chain.T)
    small = simulate.IsingDistribution(thresholds[:12], interactions[:12, :12])
    assert dense.plan_sampling(100)["sampler"].tolist() == ["gibbs"]
    assert sparse.plan_sampling(100)["sampler"].tolist() == ["elimination"]
    assert small.plan_sampling(100)["sampler"].tolist() == ["enumeration"]
    assert not dense.plan_sampling(100)["exact"].any()
    moved = simulate.IsingDistribution(
        thresholds[:20], interactions[:20, :20], None, np.ones((190, 1))
    )
    # Every row has another table of 2^20 entries: worth it for few rows, not for many.
    assert moved.plan_sampling(10)["exact"].tolist() == [True]
    assert moved.plan_sampling(100_000)["sampler"].tolist() == ["gibbs"]


def test_connected_parts_are_drawn_each_in_its_own_way():
    _, dense = random_graph(40, seed=18, density=1.0, scale=0.1)
    blocks = np.zeros((80, 80))
    blocks[:40, :40] = dense
    blocks[40:64, 40:64] = 0.1 * (1 - np.eye(24))
    blocks[64:79, 65:80] += np.eye(15)
    blocks[65:80, 64:79] += np.eye(15)
    shuffled = np.random.default_rng(19).permutation(80)
    interactions = blocks[np.ix_(shuffled, shuffled)]
    distribution = simulate.IsingDistribution(np.full(80, -1.0), interactions)
    plan = distribution.plan_sampling(4000)
    assert dict(zip(plan["sampler"], plan["labels"], strict=True)) == {
        "elimination": 16,
        "gibbs": 40,
        "enumeration": 24,
    }
    drawn = distribution.sample(4000, random_state=20)
    assert drawn.attrs["sampler"].count(";") == 2
    everything = distribution.sample(4000, sampler="gibbs", random_state=21)
    off = (drawn.mean() - everything.mean()).abs() / np.sqrt(2 * 0.25 / 4000)
    assert off.max() < ERRORS


def test_exact_samplers_that_cannot_be_had_are_refused_with_what_to_do():
    thresholds, interactions = random_graph(60, seed=22, density=1.0)
    distribution = simulate.IsingDistribution(thresholds, interactions)
    for sampler in ("enumeration", "elimination"):
        with pytest.raises(ModelError, match=rf"sampler='{sampler}'.*60.*sampler='auto'"):
            distribution.sample(5, sampler=sampler)
    with pytest.raises(ModelError, match=r"sampler='elimination'"):
        distribution.mean()


def test_a_seed_decides_about_chains_whatever_block_size_others_use(monkeypatch):
    distribution = same_everywhere(30, -2.0, 0.02)
    first = distribution.sample(500, sampler="gibbs", random_state=3)
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 1)
    pd.testing.assert_frame_equal(distribution.sample(500, sampler="gibbs", random_state=3), first)


# --- data with many labels


@pytest.mark.parametrize("dependence", ["weak", "strong"])
def test_data_with_many_labels_have_many_labelsets_and_the_truth(dependence):
    data = datasets.make_network_data(
        4000, n_features=20, n_labels=400, dependence=dependence, random_state=0
    )
    assert data.labels.shape == (4000, 400)
    assert data.features.shape == (4000, 20)
    assert len(data.labels.drop_duplicates()) > 3500
    assert data.labels.sum(axis=1).mean() == pytest.approx(5.0, rel=0.1)
    assert 0 < data.labels.mean().min() < data.labels.mean().max() < 0.2
    effects, interactions = data.truth["effects"], data.truth["interactions"]
    assert data.relevant == tuple(effects.index[effects.any(axis=1)]) == ("x1", "x2", "x3", "x4")
    low, high = {"weak": (0.2, 0.6), "strong": (1.5, 3.0)}[dependence]
    sizes = interactions.to_numpy()[interactions.to_numpy() != 0]
    assert low <= np.abs(sizes).min() < np.abs(sizes).max() <= high
    # Labels that attract each other meet more often than chance has it, and others less.
    labels = data.labels.to_numpy()
    together = labels.T @ labels / 4000 - np.outer(labels.mean(axis=0), labels.mean(axis=0))
    signs = np.sign(interactions.to_numpy())
    assert together[signs > 0].mean() > 0 > together[signs < 0].mean()


def test_regressions_on_data_with_many_labels_recover_the_truth():
    import statsmodels.api as sm

    data = datasets.make_network_data(
        8000, n_features=5, n_labels=50, dependence="strong", random_state=1
    )
    label = data.labels.mean().idxmax()
    moved = data.truth["effects"].any().idxmax()
    for name in {label, moved}:
        near = data.truth["interactions"][name]
        near = near[near != 0]
        design = sm.add_constant(pd.concat([data.labels[near.index], data.features], axis=1))
        fit = sm.GLM(data.labels[name], design, family=sm.families.Binomial()).fit()
        truth = pd.concat(
            [
                pd.Series({"const": data.truth["thresholds"][name]}),
                near,
                data.truth["effects"][name],
            ]
        )
        assert ((fit.params - truth).abs() / fit.bse).max() < ERRORS


def test_the_truth_of_data_with_many_labels_is_a_distribution_with_the_wanted_means():
    data = datasets.make_network_data(
        10, n_features=1, n_labels=200, dependence="strong", labels_per_row=4, random_state=2
    )
    truth = data.truth
    # Without effects, and without what makes up for them.
    thresholds = truth["thresholds"] + (truth["effects"] ** 2).sum() / 2
    means = simulate.IsingDistribution(thresholds, truth["interactions"]).mean()
    assert means.sum() == pytest.approx(4, rel=0.01)
    ranks = np.power(np.arange(11.0, 211.0), -0.8)
    np.testing.assert_allclose(np.sort(means)[::-1], 4 * ranks / ranks.sum(), rtol=0.1)
    assert simulate.IsingDistribution(**truth).feature_names == ("x1",)


def test_a_seed_decides_about_data_with_many_labels():
    first, second, other = (
        datasets.make_network_data(50, 3, 30, labels_per_row=2, random_state=seed)
        for seed in (3, np.random.default_rng(3), 4)
    )
    pd.testing.assert_frame_equal(first.labels, second.labels)
    pd.testing.assert_frame_equal(first.features, second.features)
    assert not first.labels.equals(other.labels)


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
        datasets.make_network_data(**arguments)
