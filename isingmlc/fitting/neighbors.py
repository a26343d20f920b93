"""Which other labels the model of each label has: all of them, a few, or those of a given graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count
from isingmlc.base.arrays import BoolArray, IntArray
from isingmlc.statistics.labelsets import LabelsetStatistics

_WANTED = (
    "neighbors must be 'ebic', how many labels each label is given, or a graph of the labels (a "
    "symmetric table, a networkx graph or what fit_regularized gives)"
)


def find_neighbors(stats: LabelsetStatistics, neighbors: Any) -> BoolArray:
    """Find the neighbours of all labels; `IsingModel.fit` explains the argument."""
    check_neighbors(neighbors)
    if isinstance(neighbors, int | np.integer):
        return _most_associated(stats, int(neighbors))
    return _from_graph(neighbors, stats.label_names)


def check_neighbors(neighbors: Any) -> None:
    """Check what can be checked of neighbours before the labels are known."""
    if isinstance(neighbors, int | np.integer) and not isinstance(neighbors, bool):
        check_count("neighbors", neighbors, 0)
    elif isinstance(neighbors, str | bool | float | np.generic) and neighbors != "ebic":
        raise exc.DataError(f"{_WANTED}, but is {neighbors!r}.")


def _most_associated(stats: LabelsetStatistics, count: int) -> BoolArray:
    """Take for each label those with the largest correlations, the first of equal ones."""
    share = stats.counts / stats.nobs
    mean = share @ stats.patterns
    centred = stats.patterns - mean
    covariance = (centred * share[:, None]).T @ centred
    size = np.sqrt(covariance.diagonal())
    size[(mean == 0) | (mean == 1)] = np.inf
    # What differs by rounding is equal, so that the choice does not depend on the processor.
    strength = np.round(np.abs(covariance / (size[:, None] * size)), 9)
    np.fill_diagonal(strength, -1.0)
    chosen = np.zeros(strength.shape, dtype=np.bool_)
    first: IntArray = np.argsort(-strength, axis=1, kind="stable")[:, :count]
    np.put_along_axis(chosen, first, True, axis=1)
    return np.asarray(chosen & (strength > 0))


def _from_graph(graph: Any, names: tuple[str, ...]) -> BoolArray:
    """Read a graph of the labels."""
    given = getattr(graph, "interactions", graph)
    if isinstance(given, nx.Graph):
        _check_names("the graph has nodes that are no labels", given, names)
        given = nx.to_pandas_adjacency(given, weight=None)
    if isinstance(given, pd.DataFrame):
        _check_names("the table names what is no label", (*given.index, *given.columns), names)
        if not (given.index.is_unique and given.columns.is_unique):
            raise exc.DataError(f"{_WANTED}, but the table names a label twice.")
        given = given.reindex(index=names, columns=names, fill_value=0)
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise exc.DataError(f"{_WANTED}, but is {type(graph).__name__}.") from None
    if weights.shape != (len(names), len(names)):
        raise exc.DataError(
            f"{_WANTED}, with one line and column per label ({len(names)}), but its shape is "
            f"{weights.shape}."
        )
    linked = (weights != 0) & ~np.eye(len(names), dtype=np.bool_)
    for first, second in np.argwhere(linked & np.isnan(weights))[:1]:
        raise exc.DataError(
            f"{_WANTED}, but does not say whether {names[first]!r} and {names[second]!r} are "
            "linked: the value is missing. Write 0 for pairs without a link."
        )
    for first, second in np.argwhere(linked != linked.T)[:1]:
        raise exc.DataError(
            f"{_WANTED}, but {names[first]!r} and {names[second]!r} are linked in one direction "
            "only. Link both, or neither."
        )
    return np.asarray(linked)


def _check_names(problem: str, given: Iterable[Any], names: tuple[str, ...]) -> None:
    """Check that a graph has no nodes but labels."""
    unknown = [name for name in given if name not in names]
    if unknown:
        raise exc.DataError(f"{_WANTED}, but {problem}: {exc.shorten(unknown)}.")
