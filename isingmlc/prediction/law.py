r"""The distribution of labelsets given fields, and the prediction that serves a measure best.

Given its features, a row has a *field* per label, :math:`f_k = \theta_k + \sum_j \gamma_{kj} x_j`.
The probability of a labelset y is proportional to
:math:`\exp(\sum_k f_k y_k + \sum_{k<l} \beta_{kl} y_k y_l)`, over the labelsets of a list: those
seen in training, or all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.simulate.enumeration import spell_binary

DECODINGS = ("subset", "hamming", "jaccard", "f1")
# Labels that may vary for all labelsets to be listed.
MOST_LABELS = 20
# What probabilities of a block of rows may take.
_BLOCK_BYTES = 2**26
# Log-probabilities, chances and expectations that differ by less are equal: the first one wins.
_ROUNDING = 1e-10


def list_labelsets(varies: BoolArray, constants: BoolArray) -> BoolArray:
    """List all labelsets in which some labels have fixed values."""
    n_labels = int(varies.sum())
    if n_labels > MOST_LABELS:
        raise exc.DataError(
            f"labelsets='all' lists all labelsets of up to {MOST_LABELS} labels, but {n_labels} "
            "labels vary. Use labelsets='seen', or fewer labels."
        )
    listed = np.tile(constants, (2**n_labels, 1))
    listed[:, varies] = spell_binary(np.arange(2**n_labels), n_labels)
    return listed


@dataclass(frozen=True, eq=False)
class LabelsetLaw:
    """Probabilities of labelsets given the fields of rows."""

    labelsets: BoolArray
    interactions: FloatArray

    @cached_property
    def _pairs(self) -> FloatArray:
        """What interactions add to the log-weight of each labelset."""
        added = np.empty(len(self.labelsets))
        for lines in chunks(len(added), 16 * self.labelsets.shape[1], limit=_BLOCK_BYTES):
            part = self.labelsets[lines].astype(np.float64)
            added[lines] = 0.5 * np.einsum("ij,ij->i", part @ self.interactions, part)
        return added

    @cached_property
    def _numbers(self) -> FloatArray:
        """The labelsets as numbers, one line per label."""
        return np.ascontiguousarray(self.labelsets.T, dtype=np.float64)

    def blocks(self, fields: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Return log-probabilities in blocks of rows."""
        for rows in chunks(len(fields), 24 * len(self.labelsets), limit=_BLOCK_BYTES):
            logs = fields[rows] @ self._numbers
            logs += self._pairs
            logs -= logs.max(axis=1, keepdims=True)
            logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
            yield rows, logs

    def marginals(self, fields: FloatArray) -> FloatArray:
        """Return the probability that a row carries each label."""
        chances = np.empty(fields.shape)
        for rows, logs in self.blocks(fields):
            chances[rows] = np.exp(logs) @ self._numbers.T
        # Sums may miss or pass one by rounding.
        is_certain = (self.labelsets == self.labelsets[0]).all(axis=0)
        chances[:, is_certain] = self.labelsets[0, is_certain]
        return np.clip(chances, 0.0, 1.0)

    def most_probable(self, fields: FloatArray, m: int) -> tuple[IntArray, FloatArray]:
        """Return the most probable labelsets of each row."""
        places = np.empty((len(fields), m), dtype=np.intp)
        chances = np.empty((len(fields), m))
        for rows, logs in self.blocks(fields):
            places[rows] = _first_best(logs, m)
            chances[rows] = np.exp(np.take_along_axis(logs, places[rows], axis=1))
        return places, chances

    def decode(
        self,
        fields: FloatArray,
        measure: str,
        candidates: BoolArray | None = None,
    ) -> BoolArray:
        """Predict the labels that are best for a measure, in expectation."""
        if measure == "subset":
            return np.asarray(self.labelsets[self.most_probable(fields, 1)[0][:, 0]])
        if measure == "hamming":
            return np.asarray(self.marginals(fields) > 0.5 + _ROUNDING)
        candidates = self.labelsets if candidates is None else candidates
        best = np.empty(len(fields), dtype=np.intp)
        for rows, logs in self.blocks(fields):
            chances = np.exp(logs)
            expected = np.zeros((len(chances), len(candidates)))
            for truths in chunks(len(self.labelsets), 32 * len(candidates), limit=_BLOCK_BYTES):
                gains = agreement(candidates, self.labelsets[truths], measure)
                expected += chances[:, truths] @ gains.T
            best[rows] = _first_best(expected, 1)[:, 0]
        return np.asarray(candidates[best])


def _first_best(values: FloatArray, m: int) -> IntArray:
    """Return the places of the largest values of each line, the first among equals."""
    if m == 1:
        largest = values.max(axis=1, keepdims=True)
        return np.asarray((values >= largest - _ROUNDING).argmax(axis=1)[:, None])
    return np.argsort(-np.round(values, 10), axis=1, kind="stable")[:, :m]


def agreement(predicted: BoolArray, truths: BoolArray, measure: str) -> FloatArray:
    """Return Jaccard's measure or F1 of all pairs of labelsets."""
    ours, theirs = predicted.astype(np.float64), truths.astype(np.float64)
    common = ours @ theirs.T
    total = ours.sum(axis=1)[:, None] + theirs.sum(axis=1)
    shared, size = (common, total - common) if measure == "jaccard" else (2 * common, total)
    return np.asarray(np.divide(shared, size, out=np.zeros_like(size), where=size > 0))
