"""Enumeration and Gibbs sampling of Ising distributions, on plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from isingmlc.base.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class RowParameters:
    """The parameters at m rows of features; one column serves all rows without features."""

    thresholds: FloatArray  # K × m
    interactions: FloatArray  # K × K, what all rows share
    shifts: Mapping[tuple[int, int], FloatArray]  # what a row adds to a pair, both ways round

    def interaction(self, first: int, second: int) -> Any:
        """Interaction of two labels: a number, or one per row."""
        return self.interactions[first, second] + self.shifts.get((first, second), 0.0)


def enumerate_weights(rows: RowParameters) -> FloatArray:
    """Unnormalised probabilities of all label vectors, 2^K × m, the largest of a column 1.

    The table doubles with each label: the vectors with the label 1 are those with 0 plus the
    label's field, and the field doubles likewise. So a row costs about 2^(K+1) additions.
    """
    n_labels, n_rows = rows.thresholds.shape
    weights = np.zeros((2**n_labels, n_rows))
    field = np.empty((2 ** (n_labels - 1), n_rows))
    for label in reversed(range(n_labels)):
        field[0] = rows.thresholds[label]
        size = 1
        for other in reversed(range(label + 1, n_labels)):
            np.add(field[:size], rows.interaction(label, other), out=field[size : 2 * size])
            size *= 2
        np.add(weights[:size], field[:size], out=weights[size : 2 * size])
    weights -= weights.max(axis=0)
    return np.exp(weights, out=weights)


def run_gibbs(
    rows: RowParameters, n_rows: int, sweeps: int, generator: np.random.Generator
) -> FloatArray:
    """Run one chain per row; K × n_rows labels."""
    n_labels = len(rows.thresholds)
    excludes = np.isneginf(rows.interactions)
    finite = np.where(excludes, 0.0, rows.interactions)
    shifts: list[list[tuple[int, FloatArray]]] = [[] for _ in range(n_labels)]
    for (label, other), shift in rows.shifts.items():
        shifts[label].append((other, shift))
    state = generator.integers(0, 2, size=(n_labels, n_rows)).astype(np.float64)
    for _ in range(sweeps):
        uniforms = generator.random((n_labels, n_rows))
        for label in range(n_labels):
            field = finite[label] @ state
            field += rows.thresholds[label]
            for other, shift in shifts[label]:
                field += shift * state[other]
            if excludes[label].any():
                field[state[excludes[label]].any(axis=0)] = -np.inf
            state[label] = uniforms[label] < special.expit(field)
    return state


def scale_below(uniforms: FloatArray, total: Any) -> FloatArray:
    """Scale uniform numbers to [0, total): rounding must not reach the total itself."""
    below: FloatArray = np.minimum(uniforms * total, np.nextafter(total, 0.0))
    return below


def spell_binary(numbers: IntArray, n_labels: int) -> IntArray:
    """Write numbers in binary, one row per number, the first label the most significant digit."""
    return (numbers[:, np.newaxis] >> np.arange(n_labels - 1, -1, -1)) & 1
