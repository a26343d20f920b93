"""Markov chains whose convergence is checked: Gibbs sampling, and tempering where it is too slow.

A draw is the last state of a chain of its own, so draws are independent. How long the chains must
be is found first, by a trial of some chains from all labels 0, all labels 1 and fair coins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse, special
from threadpoolctl import threadpool_limits

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.simulate.parameters import IsingParameters, Laws, RowParameters

# Labels × chains that run side by side. The number decides which random numbers go to which row,
# so another one gives other draws for the same seed.
_CHAIN_CELLS = 2**17
# A trial runs this many chains from each of the three starts, or so many rows of features.
_TRIAL_CHAINS = 32
_TRIAL_ROWS = 32
# When chains are taken to agree: at this R̂ every half of a chain is worth ten independent states,
# and what was run before it as many sweeps as draws are given below.
_MAX_RHAT = 1.05
_MIN_EFFECTIVE = 400
# A draw is taken after so many times the autocorrelation time, and no less than so many sweeps.
_TIMES = 20
_MIN_SWEEPS = 30
# Gibbs sampling that has not converged in so many sweeps gives way to tempering, if it may.
_PATIENCE = 1024
# Labels of a dense network that are updated between two matrix products.
_PANEL = 16
# Temperatures to begin with, and at the most; how long and how often their places are tuned.
_FIRST_LADDER = 8
_MAX_LADDER = 32
_TUNING_SWEEPS = 40
_TUNING_ROUNDS = 3
# Iterations towards the fixed points of the mean field.
_FIELD_STEPS = 40


@dataclass(frozen=True)
class Trial:
    """What a trial of chains found."""

    ladder: FloatArray  # what interactions are multiplied by; ends with 1
    sweeps: int  # after which a draw is taken
    rhat: float
    effective: float
    converged: bool

    def describe(self) -> str:
        """Say what was reached."""
        ladder = f"{len(self.ladder)} temperatures, " if len(self.ladder) > 1 else ""
        return (
            f"{ladder}{self.sweeps} sweeps, split R-hat {self.rhat:.3f}, effective size "
            f"{self.effective:.0f}"
        )


class Network:
    """The interactions of a distribution, prepared for updates of many labels at once.

    Labels that do not interact are updated together (colours of the graph). If nearly all
    interact, matrix products serve panels of labels, within which one follows the other.
    """

    def __init__(self, parameters: IsingParameters) -> None:
        self.parameters = parameters
        interactions = parameters.interactions
        self._excluded = np.isneginf(interactions)
        finite = np.where(self._excluded, 0.0, interactions)
        self._moved: list[list[int]] = [[] for _ in interactions]
        connected = interactions != 0
        for first, second in parameters.pairs:
            connected[first, second] = connected[second, first] = True
            self._moved[first].append(second)
            self._moved[second].append(first)
        n_labels = len(interactions)
        colours = _colour(connected)
        self._coloured = 4 * (colours.max() + 1) <= n_labels
        self._groups = (
            [np.flatnonzero(colours == colour) for colour in range(colours.max() + 1)]
            if self._coloured
            else self._panels()
        )
        thin = 10 * connected.sum() < n_labels**2
        self._finite = sparse.csr_array(finite) if thin else finite
        self._rows = [self._finite[group] for group in self._groups]
        self._within = [finite[np.ix_(group, group)] for group in self._groups]
        self._exclusions = [
            sparse.csr_array(self._excluded[group].astype(float))
            if self._coloured and self._excluded[group].any()
            else None
            for group in self._groups
        ]

    def pull(self, state: FloatArray, rows: RowParameters) -> FloatArray:
        """Add up what the others do to the log-odds of each label, exclusions apart; K × … × m."""
        flat = state.reshape(len(state), -1)
        pulled: FloatArray = np.asarray(self._finite @ flat).reshape(state.shape)
        for (label, other), shift in rows.shifts.items():
            pulled[label] += shift * state[other]
        return pulled

    def sweep(
        self,
        state: FloatArray,
        thresholds: FloatArray,
        ladder: FloatArray,
        rows: RowParameters,
        generator: np.random.Generator,
    ) -> None:
        """Update all labels of the states, K × temperatures × chains, in place."""
        flat = state.reshape(len(state), -1)
        uniforms = generator.random(state.shape)
        for group, coupling, within, exclusion in zip(
            self._groups, self._rows, self._within, self._exclusions, strict=True
        ):
            pulled = np.asarray(coupling @ flat).reshape(len(group), *state.shape[1:])
            for at, label in enumerate(group.tolist()):
                for other in self._moved[label]:
                    pulled[at] += rows.shifts[label, other] * state[other]
            field = pulled
            if len(ladder) > 1:
                field *= ladder[:, np.newaxis]
            field += thresholds[group]
            if exclusion is not None:
                field[np.asarray(exclusion @ flat).reshape(field.shape) > 0] = -np.inf
            if self._coloured:
                state[group] = uniforms[group] < special.expit(field)
                continue
            for at, label in enumerate(group.tolist()):
                chance = special.expit(field[at])
                if self._excluded[label].any():
                    chance[state[self._excluded[label]].any(axis=0)] = 0.0
                fresh = (uniforms[label] < chance).astype(np.float64)
                if at + 1 < len(group):
                    change = (fresh - state[label]) * ladder[:, np.newaxis]
                    field[at + 1 :] += within[at + 1 :, at, np.newaxis, np.newaxis] * change
                state[label] = fresh

    def _panels(self) -> list[IntArray]:
        """Cut labels into panels; features move no interaction inside one."""
        panels: list[list[int]] = [[]]
        for label, moved in enumerate(self._moved):
            if len(panels[-1]) == _PANEL or not set(moved).isdisjoint(panels[-1]):
                panels.append([])
            panels[-1].append(label)
        return [np.array(panel) for panel in panels]


class Chains:
    """Chains side by side, each a ladder of distributions from nearly independent labels up.

    With a ladder of 1 alone they are Gibbs chains. Otherwise the interactions are multiplied by
    the numbers of the ladder, and thresholds make up for it as if half of the labels were 1, so
    that states and their opposites keep their ratio of probabilities. Neighbouring temperatures
    exchange their states: a chain that is caught in one mode of the distribution gets away
    through temperatures at which there is only one.
    """

    def __init__(
        self,
        network: Network,
        rows: RowParameters,
        starts: IntArray,
        ladder: FloatArray,
        generator: np.random.Generator,
    ) -> None:
        self._network, self._rows, self._generator = network, rows, generator
        self.ladder = ladder
        shape = (len(rows.thresholds), len(ladder), len(starts))
        self._state = generator.integers(0, 2, size=shape).astype(np.float64)
        self._state[:, :, starts == 0] = 0.0
        self._state[:, :, starts == 1] = 1.0
        thresholds = rows.thresholds[:, np.newaxis, :]
        if len(ladder) > 1:
            half = np.full_like(rows.thresholds, 0.5)
            self._centre = network.pull(half, rows)[:, np.newaxis, :]
            thresholds = thresholds + (1.0 - ladder)[:, np.newaxis] * self._centre
        self._thresholds = thresholds
        self._odd = False
        self.rejected = np.zeros(len(ladder) - 1)

    @property
    def cold(self) -> FloatArray:
        """The states that follow the distribution itself, K × chains."""
        return self._state[:, -1]

    def advance(self) -> None:
        """Update all labels once, and let neighbouring temperatures exchange states."""
        self._network.sweep(self._state, self._thresholds, self.ladder, self._rows, self._generator)
        if len(self.ladder) > 1:
            self._exchange()

    def energy(self) -> FloatArray:
        """Log-weights of the cold states, without those of excluded pairs."""
        pulled = self._network.pull(self.cold, self._rows)
        energy: FloatArray = (self.cold * (self._rows.thresholds + pulled / 2)).sum(axis=0)
        return energy

    def _exchange(self) -> None:
        pulled = self._network.pull(self._state, self._rows)
        slopes = (self._state * (pulled / 2 - self._centre)).sum(axis=0)
        lower = np.arange(int(self._odd), len(self.ladder) - 1, 2)
        self._odd = not self._odd
        steps = (self.ladder[lower + 1] - self.ladder[lower])[:, np.newaxis]
        log_ratio = steps * (slopes[lower] - slopes[lower + 1])
        chance = np.exp(np.minimum(log_ratio, 0.0))
        self.rejected[lower] += 1.0 - chance.mean(axis=1)
        accepted = self._generator.random(chance.shape) < chance
        low, high = self._state[:, lower], self._state[:, lower + 1]
        self._state[:, lower] = np.where(accepted, high, low)
        self._state[:, lower + 1] = np.where(accepted, low, high)


def draw_by_chains(
    laws: Laws, n_rows: int, generator: np.random.Generator, sampler: str, max_sweeps: int
) -> tuple[IntArray, str]:
    """Draw one label vector per row, n_rows × K, and say how it was done.

    `sampler` is "gibbs", "tempering", or "auto" for tempering if Gibbs sampling is too slow.
    """
    # The matrix products are many and small: several threads would wait for each other.
    with threadpool_limits(limits=1):
        return _draw(laws, n_rows, generator, sampler, max_sweeps)


def _draw(
    laws: Laws, n_rows: int, generator: np.random.Generator, sampler: str, max_sweeps: int
) -> tuple[IntArray, str]:
    network = Network(laws.parameters)
    tried = _trial_laws(network, laws, n_rows, generator)
    alone = np.ones(1)
    if sampler == "auto":
        trial = _try(network, *tried, alone, min(max_sweeps, _PATIENCE), generator)
        sampler = "gibbs" if trial.converged else "tempering"
    elif sampler == "gibbs":
        trial = _try(network, *tried, alone, max_sweeps, generator)
    if sampler == "tempering":
        ladder = _tune(network, *tried, generator)
        trial = _try(network, *tried, ladder, max_sweeps, generator)
    said = f"{sampler} of {len(laws.parameters.thresholds)} labels: {trial.describe()}"
    if not trial.converged:
        hint = ", or choose sampler='tempering'" if sampler == "gibbs" else ""
        message = exc.NOT_MIXED.format(said=said, max_rhat=_MAX_RHAT, hint=hint)
        exc.warn(message, exc.ConvergenceWarning)
    n_labels = len(laws.parameters.thresholds)
    labels = np.empty((n_rows, n_labels), dtype=np.intp)
    width = max(1, _CHAIN_CELLS // (n_labels * len(trial.ladder)))
    for block in chunks(n_rows, width=width):
        starts = np.arange(block.start, block.stop) % 3
        chains = Chains(network, laws.at(block), starts, trial.ladder, generator)
        for _ in range(trial.sweeps):
            chains.advance()
        labels[block] = chains.cold.T
    return labels, said


def _trial_laws(
    network: Network, laws: Laws, n_rows: int, generator: np.random.Generator
) -> tuple[RowParameters, IntArray]:
    """Choose rows for a trial; their parameters and the start of every chain.

    Half of the rows are those at which the mean field differs most between both ends, since
    chains are slow where there are two ends to get caught at. The others are any.
    """
    if laws.features is None:
        return laws.at(), np.arange(3 * _TRIAL_CHAINS) % 3
    candidates = np.arange(n_rows)
    if n_rows > _TRIAL_ROWS:
        shuffled = generator.permutation(n_rows)
        candidates = shuffled[: 16 * _TRIAL_ROWS]
        gap = np.concatenate(
            [
                np.subtract(*_fixed_points(network, laws.at(candidates[part]))).sum(axis=0)
                for part in chunks(len(candidates), width=4 * _TRIAL_ROWS)
            ]
        )
        worst = np.argsort(-np.round(gap, 6), kind="stable")[: _TRIAL_ROWS // 2]
        others = np.setdiff1d(candidates, candidates[worst])
        candidates = np.concatenate([candidates[worst], others[: _TRIAL_ROWS // 2]])
    # Two chains from each of the three starts for every row.
    return laws.at(np.tile(candidates, 6)), np.repeat(np.arange(6) % 3, len(candidates))


def _try(
    network: Network,
    rows: RowParameters,
    starts: IntArray,
    ladder: FloatArray,
    max_sweeps: int,
    generator: np.random.Generator,
) -> Trial:
    """Run chains from all starts, twice as long each time, until they agree."""
    chains = Chains(network, rows, starts, ladder, generator)
    n_laws = 1 if rows.thresholds.shape[1] == 1 else len(starts) // 6
    length = min(_TIMES, max(2, max_sweeps // 4))
    for _ in range(2 * length):
        chains.advance()
    while True:
        means, variances = zip(*(_record(chains, length) for _ in range(2)), strict=True)
        ratios = [
            _between_and_within(np.concatenate(m, axis=1), np.concatenate(v, axis=1), n_laws)
            for m, v in zip(zip(*means, strict=True), zip(*variances, strict=True), strict=True)
        ]
        between = max(ratios)
        rhat = np.sqrt((length - 1) / length + between)
        # The variance of a mean is that of one state, times the autocorrelation time, per sweep.
        time = max(1.0, length * between)
        effective = 2 * length * len(starts) / time
        if rhat <= _MAX_RHAT and effective >= _MIN_EFFECTIVE:
            sweeps = min(max(_MIN_SWEEPS, int(np.ceil(_TIMES * time))), max_sweeps)
            return Trial(ladder, sweeps, float(rhat), float(effective), True)
        if 8 * length > max_sweeps:
            return Trial(ladder, max_sweeps, float(rhat), float(effective), False)
        length *= 2


def _record(chains: Chains, length: int) -> tuple[Sequence[FloatArray], Sequence[FloatArray]]:
    """Run chains on; means and variances of labels, label sum and energy, … × chains each."""
    total = np.zeros_like(chains.cold)
    trace = np.empty((length, 2, total.shape[1]))
    for at in range(length):
        chains.advance()
        total += chains.cold
        trace[at] = chains.cold.sum(axis=0), chains.energy()
    share = total / length
    own = share * (1.0 - share) * length / (length - 1)
    mean, variance = trace.mean(axis=0), trace.var(axis=0, ddof=1)
    return (share, mean[:1], mean[1:]), (own, variance[:1], variance[1:])


def _between_and_within(means: FloatArray, variances: FloatArray, n_laws: int) -> float:
    """Variance of means between chains of one law, as a multiple of that within chains."""
    of_laws = means.reshape(len(means), -1, n_laws)
    between = float(of_laws.var(axis=1, ddof=1).mean(axis=1).sum())
    within = float(variances.mean(axis=1).sum())
    # Labels that never change, and are the same in all chains, are no sign of anything.
    if between <= 1e-12:
        return 0.0
    return between / within if within > 0 else np.inf


def _tune(
    network: Network, rows: RowParameters, starts: IntArray, generator: np.random.Generator
) -> FloatArray:
    """Place temperatures so that all neighbours exchange states equally often."""
    ladder = np.linspace(0.0, 1.0, _FIRST_LADDER)
    for _ in range(_TUNING_ROUNDS):
        chains = Chains(network, rows, starts, ladder, generator)
        for _ in range(_TUNING_SWEEPS):
            chains.advance()
        chains.rejected[:] = 0.0
        for _ in range(_TUNING_SWEEPS):
            chains.advance()
        # Every pair of neighbours had its turn at every other sweep.
        barrier = np.cumsum([0.0, *chains.rejected / (_TUNING_SWEEPS / 2)])
        size = int(np.clip(np.ceil(2 * barrier[-1]) + 2, 3, _MAX_LADDER))
        # A little of the even spacing keeps the places apart where nothing is ever rejected.
        barrier += 1e-3 * ladder
        ladder = np.interp(np.linspace(0.0, barrier[-1], size), barrier, ladder)
        ladder[-1] = 1.0
    return ladder


def _fixed_points(network: Network, rows: RowParameters) -> tuple[FloatArray, FloatArray]:
    """Find the fixed points of the mean field from all labels 1 and all labels 0, K × m each."""
    high, low = np.ones_like(rows.thresholds), np.zeros_like(rows.thresholds)
    for _ in range(_FIELD_STEPS):
        for share in (high, low):
            # Half a step at a time: whole ones can swing for ever.
            share += special.expit(rows.thresholds + network.pull(share, rows))
            share /= 2
    return high, low


def _colour(connected: BoolArray) -> IntArray:
    """Colour labels so that connected ones differ, those with most connections first."""
    colours = np.full(len(connected), -1)
    for label in np.argsort(-connected.sum(axis=1), kind="stable"):
        taken = set(colours[connected[label]].tolist())
        colours[label] = next(colour for colour in range(len(connected)) if colour not in taken)
    return colours
