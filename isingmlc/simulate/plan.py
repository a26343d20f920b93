"""Which sampler draws which labels, by what it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, IntArray
from isingmlc.simulate.elimination import MAX_ENTRIES, MAX_WIDTH, Step, count_entries, order_labels
from isingmlc.simulate.enumeration import HALF_BYTES, MAX_HALF_LABELS, MAX_WHOLE_LABELS, halve
from isingmlc.simulate.parameters import IsingParameters, restrict

SAMPLERS = ("auto", "enumeration", "elimination", "gibbs", "tempering")
# Costs are in entries of a table, at about ten nanoseconds each. A product in a matrix product is
# cheaper by this factor.
_PRODUCTS = 50
# Exact draws are worth this much, about half a minute, even if chains would be faster.
_WORTH = 3e9
# What a chain is assumed to need before a trial shows it.
_SWEEPS = 100


@dataclass(frozen=True)
class Part:
    """Labels that are drawn together, and how."""

    labels: IntArray
    sampler: str
    cost: float
    steps: Sequence[Step] = field(default=(), repr=False)

    def describe(self) -> str:
        """Say how the labels are drawn."""
        said = f"{self.sampler} of {len(self.labels)} labels"
        if self.sampler == "elimination":
            said += f", at most {max(len(step.neighbours) for step in self.steps)} neighbours"
        return said


def make_plan(parameters: IsingParameters, n_rows: int, sampler: str) -> list[Part]:
    """Choose a sampler for each connected part of the labels.

    Parameters
    ----------
    parameters : IsingParameters
        The distribution.
    n_rows : int
        How many label vectors are to be drawn.
    sampler : str
        One of `SAMPLERS`; others than "auto" are taken as they are.

    Returns
    -------
    list of Part
        Every label is in one of them.

    Raises
    ------
    ModelError
        When `sampler` is exact and would take too much memory.

    Examples
    --------
    >>> from isingmlc.simulate.parameters import read_parameters
    >>> chain = read_parameters(np.zeros(50), np.eye(50, k=1) + np.eye(50, k=-1))
    >>> [part.describe() for part in make_plan(chain, 9, "auto")]
    ['elimination of 50 labels, at most 1 neighbours']
    """
    everything = np.arange(len(parameters.thresholds))
    connected = _connections(parameters)
    if sampler in ("gibbs", "tempering"):
        return [Part(everything, sampler, _cost_of_chains(connected, n_rows))]
    if sampler == "elimination":
        return [_check(_by_elimination(parameters, connected, everything, n_rows))]
    if len(everything) <= MAX_WHOLE_LABELS:
        return [_by_enumeration(parameters, everything, n_rows)]

    parts = []
    _, numbers = sparse.csgraph.connected_components(sparse.csr_array(connected), directed=False)
    for number in range(numbers.max() + 1):
        labels = np.flatnonzero(numbers == number)
        part = _by_enumeration(parameters, labels, n_rows)
        if sampler == "enumeration":
            parts.append(_check(part))
            continue
        inside = connected[np.ix_(labels, labels)]
        chains = Part(labels, "gibbs", _cost_of_chains(inside, n_rows))
        other = _by_elimination(parameters, inside, labels, n_rows)
        exact = min(other, part, key=lambda part: part.cost)
        parts.append(exact if exact.cost <= max(_WORTH, chains.cost) else chains)
    return _merge(parts)


def _connections(parameters: IsingParameters) -> BoolArray:
    connected: BoolArray = parameters.interactions != 0
    for first, second in parameters.pairs:
        connected[first, second] = connected[second, first] = True
    return connected


def _by_enumeration(parameters: IsingParameters, labels: IntArray, n_rows: int) -> Part:
    first, second = (len(half) for half in halve(restrict(parameters, labels)))
    n_laws = n_rows if parameters.feature_names else 1
    if max(first, second) > MAX_HALF_LABELS:
        cost = np.inf
    elif not second:
        cost = 2.0**first * n_laws
    else:
        products = 2.0 ** (first + second)
        n_blocks = np.ceil(n_laws * 8 * 2.0 ** max(first, second) / HALF_BYTES)
        halves = (2.0**first + 2.0**second) * n_laws + 2.0**second * n_rows
        cost = halves + products * (n_blocks + n_laws / _PRODUCTS)
    return Part(labels, "enumeration", float(cost))


def _by_elimination(
    parameters: IsingParameters, connected: BoolArray, labels: IntArray, n_rows: int
) -> Part:
    steps = order_labels(connected)
    if steps is None or count_entries(steps) > MAX_ENTRIES:
        return Part(labels, "elimination", np.inf)
    n_laws = n_rows if parameters.feature_names else 1
    cost = float(count_entries(steps) * n_laws + len(labels) * n_rows)
    return Part(labels, "elimination", cost, steps)


def _cost_of_chains(connected: BoolArray, n_rows: int) -> float:
    return float(_SWEEPS * n_rows * (2 * len(connected) + connected.sum() / 10))


def _check(part: Part) -> Part:
    if np.isinf(part.cost):
        size = (
            f"tables of at most {MAX_WIDTH} labels"
            if part.sampler == "elimination"
            else f"halves of at most {MAX_HALF_LABELS} labels, between which no interaction "
            "depends on features"
        )
        raise exc.ModelError(
            f"sampler={part.sampler!r} needs {size}, which {len(part.labels)} connected labels do "
            "not have. Choose sampler='auto'."
        )
    return part


def _merge(parts: Sequence[Part]) -> list[Part]:
    """Draw all that is eliminated in one go, first."""
    eliminated = [part for part in parts if part.sampler == "elimination"]
    others = [part for part in parts if part.sampler != "elimination"]
    if not eliminated:
        return others
    steps: list[Step] = []
    for part in eliminated:
        before = len(steps)
        steps.extend(
            Step(before + step.label, tuple(before + label for label in step.neighbours))
            for step in part.steps
        )
    labels = np.concatenate([part.labels for part in eliminated])
    cost = sum(part.cost for part in eliminated)
    return [Part(labels, "elimination", cost, steps), *others]
