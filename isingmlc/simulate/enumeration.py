"""Draws from the listed probabilities of all label vectors, on plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from isingmlc.base.arrays import FloatArray, IntArray, chunks
from isingmlc.simulate.parameters import IsingParameters, Laws, RowParameters, restrict

# Up to this many labels the vectors are listed at once, beyond in two halves.
MAX_WHOLE_LABELS = 12
# A half of this many labels is listed row by row.
MAX_HALF_LABELS = 20
# Rows enumerated together in any case: BLAS rounds the product of a single row otherwise.
LEAST_ROWS = 16
# Sums of products of weights that are smaller than this may have lost digits by underflow.
_SMALLEST_SUM = 1e-280
# Temporaries of two halves may be larger than others, so that matrix products are worth it.
HALF_BYTES = 2**24


def halve(parameters: IsingParameters) -> tuple[IntArray, IntArray]:
    """Divide labels into two sets whose interactions across do not depend on features.

    Parameters
    ----------
    parameters : IsingParameters
        The distribution.

    Returns
    -------
    first, second : ndarray of int
        Positions of the labels, both in order. The second is empty if there are few labels, or if
        features act on so many interactions that there are no two such sets.

    Examples
    --------
    >>> from isingmlc.simulate.parameters import read_parameters
    >>> first, second = halve(read_parameters(np.zeros(14), np.zeros((14, 14))))
    >>> len(first), len(second)
    (7, 7)
    """
    n_labels = len(parameters.thresholds)
    everything = np.arange(n_labels)
    if n_labels <= MAX_WHOLE_LABELS:
        return everything, everything[:0]
    together = list(range(n_labels))
    for pair in parameters.pairs:
        kept, merged = sorted(together[label] for label in pair)
        together = [kept if group == merged else group for group in together]
    groups = [[at for at in range(n_labels) if together[at] == group] for group in set(together)]
    halves: tuple[list[int], list[int]] = ([], [])
    for group in sorted(groups, key=lambda group: (-len(group), group)):
        halves[len(halves[1]) < len(halves[0])].extend(group)
    return np.sort(np.array(halves[0])), np.sort(np.array(halves[1], dtype=np.intp))


def enumerate_weights(rows: RowParameters) -> FloatArray:
    """Unnormalised probabilities of all label vectors, 2^K × m, the largest of a column 1."""
    weights = list_log_weights(rows)
    weights -= weights.max(axis=0)
    return np.exp(weights, out=weights)


def draw_by_enumeration(laws: Laws, n_rows: int, generator: np.random.Generator) -> IntArray:
    """Draw one label vector per row, n_rows × K.

    In two halves a and b the weight of a vector is w(a) · c(a, b) · w(b), of which features move
    w alone. So the sums over b of all rows are one matrix product; a is drawn from them, and then
    b given a.
    """
    first, second = halve(laws.parameters)
    if len(second):
        return _draw_halves(laws, n_rows, generator, first, second)
    uniforms = generator.random(n_rows)
    numbers = np.empty(n_rows, dtype=np.intp)
    if laws.features is None:
        cumulative = np.cumsum(enumerate_weights(laws.at())[:, 0])
        numbers[:] = np.searchsorted(cumulative, _below(uniforms, cumulative[-1]), side="right")
    else:
        for block in chunks(n_rows, 8 * 2 ** len(first), least=LEAST_ROWS):
            numbers[block] = _choose(enumerate_weights(laws.at(block)), uniforms[block])
    return spell_binary(numbers, len(first))


def spell_binary(numbers: IntArray, n_labels: int) -> IntArray:
    """Write numbers in binary, one row per number, the first label the most significant digit."""
    return (numbers[:, np.newaxis] >> np.arange(n_labels - 1, -1, -1)) & 1


def list_log_weights(rows: RowParameters) -> FloatArray:
    """Logarithms of the weights of all label vectors, 2^K × m; that of 00…0 is 0.

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
    return weights


def _draw_halves(
    laws: Laws,
    n_rows: int,
    generator: np.random.Generator,
    first: IntArray,
    second: IntArray,
) -> IntArray:
    uniforms = generator.random((n_rows, 2))
    of_first = Laws(restrict(laws.parameters, first), laws.features)
    of_second = Laws(restrict(laws.parameters, second), laws.features)
    # What each vector of the first half adds to the thresholds of the second, len(second) × 2^K.
    fields = np.zeros((len(second), 2 ** len(first)))
    size = 1
    for label in reversed(first):
        added = laws.parameters.interactions[second, label]
        np.add(fields[:, :size], added[:, np.newaxis], out=fields[:, size : 2 * size])
        size *= 2

    labels = np.empty((n_rows, len(first) + len(second)), dtype=np.intp)
    bytes_each = 8 * 2 ** max(len(first), len(second))
    if laws.features is None:
        sums = _sum_over_second(of_first.at(), of_second.at(), fields)[:, 0]
        cumulative = np.cumsum(sums)
        target = _below(uniforms[:, 0], cumulative[-1])
        numbers = np.searchsorted(cumulative, target, side="right")
    else:
        numbers = np.empty(n_rows, dtype=np.intp)
        for block in chunks(n_rows, bytes_each, limit=HALF_BYTES, least=LEAST_ROWS):
            sums = _sum_over_second(of_first.at(block), of_second.at(block), fields)
            numbers[block] = _choose(sums, uniforms[block, 0])
    labels[:, first] = spell_binary(numbers, len(first))
    for block in chunks(n_rows, bytes_each, least=LEAST_ROWS):
        rows = of_second.at(block)
        moved = rows.thresholds + fields[:, numbers[block]]
        weights = enumerate_weights(RowParameters(moved, rows.interactions, rows.shifts))
        chosen = _choose(weights, uniforms[block, 1])
        labels[block, second] = spell_binary(chosen, len(second)).reshape(-1, len(second))
    return labels


def _sum_over_second(first: RowParameters, second: RowParameters, fields: FloatArray) -> FloatArray:
    """Weights of all vectors of the first half, summed over the second, 2^len(first) × m."""
    log_weights = list_log_weights(second)
    log_weights -= log_weights.max(axis=0)
    weights = np.exp(log_weights)
    sums = list_log_weights(first)
    none = np.zeros((len(fields), len(fields)))
    for part in chunks(fields.shape[1], 8 * len(weights), limit=HALF_BYTES):
        across = list_log_weights(RowParameters(fields[:, part], none, {}))
        largest = across.max(axis=0)
        across -= largest
        products = np.exp(across).T @ weights
        lost = products < _SMALLEST_SUM
        products[lost] = 1.0
        np.log(products, out=products)
        for number, row in np.argwhere(lost):
            products[number, row] = special.logsumexp(across[:, number] + log_weights[:, row])
        sums[part] += products + largest[:, np.newaxis]
    sums -= sums.max(axis=0)
    return np.exp(sums, out=sums)


def _choose(weights: FloatArray, uniforms: FloatArray) -> IntArray:
    """Choose one row of weights for each column; the weights are overwritten."""
    np.cumsum(weights, axis=0, out=weights)
    chosen: IntArray = np.argmax(weights > _below(uniforms, weights[-1]), axis=0)
    return chosen


def _below(uniforms: FloatArray, total: Any) -> FloatArray:
    """Scale uniform numbers to [0, total): rounding must not reach the total itself."""
    below: FloatArray = np.minimum(uniforms * total, np.nextafter(total, 0.0))
    return below
