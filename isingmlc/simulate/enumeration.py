"""Draws from the listed probabilities of all label vectors, on plain arrays."""

from __future__ import annotations

import numpy as np

from isingmlc.base.arrays import Features, FloatArray, IntArray, chunks
from isingmlc.simulate.parameters import IsingParameters, RowParameters

# Rows enumerated together in any case: BLAS rounds the product of a single row otherwise.
LEAST_ROWS = 16


def enumerate_weights(rows: RowParameters) -> FloatArray:
    """Unnormalised probabilities of all label vectors, 2^K × m, the largest of a column 1."""
    weights = list_log_weights(rows)
    weights -= weights.max(axis=0)
    return np.exp(weights, out=weights)


def draw_by_enumeration(
    parameters: IsingParameters,
    features: Features | None,
    n_rows: int,
    generator: np.random.Generator,
) -> IntArray:
    """Draw one label vector per row, n_rows × K."""
    n_labels = len(parameters.thresholds)
    uniforms = generator.random(n_rows)
    numbers = np.empty(n_rows, dtype=np.intp)
    if features is None:
        cumulative = np.cumsum(enumerate_weights(parameters.at(None))[:, 0])
        numbers[:] = np.searchsorted(cumulative, _below(uniforms, cumulative[-1]), side="right")
    else:
        for block in chunks(n_rows, 8 * 2**n_labels, least=LEAST_ROWS):
            cumulative = enumerate_weights(parameters.at(features[block]))
            np.cumsum(cumulative, axis=0, out=cumulative)
            numbers[block] = np.argmax(cumulative > _below(uniforms[block], cumulative[-1]), axis=0)
    return spell_binary(numbers, n_labels)


def spell_binary(numbers: IntArray, n_labels: int) -> IntArray:
    """Write numbers in binary, one row per number, the first label the most significant digit."""
    return (numbers[:, np.newaxis] >> np.arange(n_labels - 1, -1, -1)) & 1


def list_log_weights(rows: RowParameters) -> FloatArray:
    """Logarithms of the weights of all label vectors, 2^K × m; that of 00…0 is 0."""
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
    return weights


def _below(uniforms: FloatArray, total: FloatArray) -> FloatArray:
    """Scale uniform numbers to [0, total): rounding must not reach the total itself."""
    below: FloatArray = np.minimum(uniforms * total, np.nextafter(total, 0.0))
    return below
