"""Draws by Gibbs sampling, with a check that chains from different starts agree."""

from __future__ import annotations

import numpy as np
from scipy import special

from isingmlc import exceptions as exc
from isingmlc.base.arrays import Features, FloatArray, IntArray, chunks
from isingmlc.simulate.parameters import IsingParameters, RowParameters

# Labels × chains that run side by side. The number decides which random numbers go to which row,
# so another one gives other draws for the same seed.
_CHAIN_CELLS = 2**20
# Chains that are compared: so many from each start, or of each start at so many rows of features.
_COMPARED = 32
# Chains agree when split R-hat is at most this. It is then about 1 + τ/(2L) for windows of L sweeps
# and an autocorrelation time of τ, so a draw is taken after about 40 of these times.
MAX_RHAT = 1.05
_FIRST_SWEEPS = 32


def draw_by_gibbs(
    parameters: IsingParameters,
    features: Features | None,
    n_rows: int,
    generator: np.random.Generator,
    max_sweeps: int,
) -> IntArray:
    """Draw one label vector per row, the last state of a chain of its own, n_rows × K."""
    n_sweeps = _choose_sweeps(parameters, features, n_rows, generator, max_sweeps)
    n_labels = len(parameters.thresholds)
    labels = np.empty((n_rows, n_labels), dtype=np.intp)
    for block in chunks(n_rows, width=max(1, _CHAIN_CELLS // n_labels)):
        rows = parameters.at(None if features is None else features[block])
        state = _start(n_labels, np.arange(block.start, block.stop), generator)
        for _ in range(n_sweeps):
            _sweep(state, rows, generator)
        labels[block] = state.T
    return labels


def _choose_sweeps(
    parameters: IsingParameters,
    features: Features | None,
    n_rows: int,
    generator: np.random.Generator,
    max_sweeps: int,
) -> int:
    """Run a few chains, twice as long each time, until they agree; return how long they ran."""
    chosen = np.arange(_COMPARED)
    if features is not None:
        chosen = np.tile(generator.permutation(n_rows)[:_COMPARED], 2)
    rows = parameters.at(None if features is None else features[np.tile(chosen, 3)])
    starts = np.repeat(np.arange(3), len(chosen))
    state = _start(len(parameters.thresholds), starts, generator)
    n_distributions = 1 if features is None else len(chosen) // 2
    n_sweeps = min(_FIRST_SWEEPS, max_sweeps)
    done = 0
    while True:
        # What is compared are the last two quarters of the sweeps.
        length = max(2, n_sweeps // 4)
        for _ in range(max(0, n_sweeps - 2 * length - done)):
            _sweep(state, rows, generator)
        windows = np.empty((2, length, *state.shape), dtype=np.bool_)
        for window in windows.reshape(-1, *state.shape):
            _sweep(state, rows, generator)
            window[:] = state
        rhat = _split_rhat(windows, n_distributions)
        if rhat <= MAX_RHAT:
            return n_sweeps
        if 2 * n_sweeps > max_sweeps:
            message = exc.NOT_MIXED.format(sweeps=n_sweeps, rhat=rhat, max_rhat=MAX_RHAT)
            exc.warn(message, exc.ConvergenceWarning)
            return n_sweeps
        done, n_sweeps = n_sweeps, 2 * n_sweeps


def _split_rhat(windows: np.ndarray, n_distributions: int) -> float:
    """Return split R-hat of the labels together, or of their number if that is larger."""
    length = windows.shape[1]
    ratios = [0.0]
    for traces in (windows, windows.sum(axis=2, keepdims=True)):
        means = traces.mean(axis=1)
        within = traces.var(axis=1, ddof=1, dtype=np.float64).mean(axis=(0, 2)).sum()
        of_each = np.concatenate(means, axis=1).reshape(means.shape[1], -1, n_distributions)
        between = of_each.var(axis=1, ddof=1).mean(axis=1).sum()
        # Labels that never change, and are the same in all chains, are no sign of anything.
        if between > 1e-12:
            ratios.append(between / within if within > 0 else np.inf)
    return float(np.sqrt((length - 1) / length + max(ratios)))


def _start(n_labels: int, starts: IntArray, generator: np.random.Generator) -> FloatArray:
    """Return states of labels all 0, all 1 and at random in turn, K × chains."""
    state = generator.integers(0, 2, size=(n_labels, len(starts))).astype(np.float64)
    state[:, starts % 3 == 0] = 0.0
    state[:, starts % 3 == 1] = 1.0
    return state


def _sweep(state: FloatArray, rows: RowParameters, generator: np.random.Generator) -> None:
    """Update all labels of the states once, in place, K × chains."""
    uniforms = generator.random(state.shape)
    for label, (neighbours, coupling, excluded) in enumerate(rows.neighbours):
        log_odds = rows.thresholds[label] + coupling @ state[neighbours]
        for (one, other), shift in rows.shifts.items():
            if one == label:
                log_odds += shift * state[other]
        chance = special.expit(log_odds)
        if len(excluded):
            chance[state[excluded].any(axis=0)] = 0.0
        state[label] = uniforms[label] < chance
