"""How central labels are in their network, with standard errors where there are derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy import stats as distributions

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.reasons import Reason
from isingmlc.networks.covariance import NetworkEstimate

MEASURES = ("strength", "expected_influence", "expected_influence_2")
PATHS = ("closeness", "betweenness")
# Sums of absolute values: what may be zero adds to them whatever its sign.
ABSOLUTE = ("strength", "bridge_strength")
# Weights below this are the rounding of a zero.
_NO_EDGE = 1e-12


def sum_measures(weights: FloatArray) -> dict[str, FloatArray]:
    """Return the measures of centrality that are sums of weights."""
    with np.errstate(invalid="ignore"):
        influence = weights.sum(axis=-1)
        passed_on = np.where(weights != 0, weights * influence[..., None, :], 0.0)
        return {
            "strength": np.abs(weights).sum(axis=-1),
            "expected_influence": influence,
            "expected_influence_2": influence + passed_on.sum(axis=-1),
        }


def list_centrality(
    weights: FloatArray,
    reasons: StrArray,
    label_names: tuple[str, ...],
    *,
    communities: Any = None,
    estimate: NetworkEstimate | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Tabulate centrality; `IsingResults.centrality` explains the columns."""
    alpha = check_number("alpha", alpha, above=0, below=1)
    inside = reasons == Reason.OK
    # A label that does not vary has no place in the network; others do without it.
    kept = np.where(inside[:, None] & inside, weights, 0.0)
    values = sum_measures(kept)
    lines = _derivatives(kept) if estimate is not None else {}
    across = None
    if communities is not None:
        groups = read_communities(communities, label_names)
        across = groups[:, None] != groups
        bridges = sum_measures(np.where(across, kept, 0.0))
        for name in ("strength", "expected_influence"):
            values[f"bridge_{name}"] = bridges[name]
            if name in lines:
                lines[f"bridge_{name}"] = lines[name] * across
    values |= path_measures(kept, inside, across)
    unknown = Reason.UNKNOWN_PAIR if np.isnan(kept).any() else Reason.INFINITE_PAIR
    parts = []
    for name, value in values.items():
        se, reason = np.full(len(value), np.nan), np.full(len(value), Reason.NO_ERROR, object)
        if estimate is not None and name in lines:
            se = estimate.errors(np.where(np.isfinite(kept), lines[name], 0.0))
            reason[:] = Reason.OK
            if name in ABSOLUTE:
                reason[_touched(lines[name], estimate, alpha)] = Reason.UNSURE_SIGNS
        reason[np.isnan(value)], reason[np.isinf(value)] = unknown, Reason.INFINITE_PAIR
        known = inside & np.isfinite(value)
        parts.append(
            ResultTable(
                {
                    "measure": name,
                    "label": np.array(label_names, dtype=object),
                    "value": np.where(inside, value, np.nan),
                    "se": np.where(known, se, np.nan),
                    "reason": np.where(inside, reason, reasons),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    reach = distributions.norm.isf(alpha / 2) * table["se"]
    finite = table["value"].where(np.isfinite(table["value"]))
    table.insert(4, "lower", finite - reach)
    table.insert(5, "upper", finite + reach)
    return table


def _touched(lines: FloatArray, estimate: NetworkEstimate, alpha: float) -> BoolArray:
    """Mark sums to which pairs contribute whose own intervals cover zero."""
    reach = distributions.norm.isf(alpha / 2) * estimate.pair_errors
    may_be_zero = np.abs(estimate.weights) <= reach
    return np.asarray((may_be_zero & (lines != 0)).any(axis=(1, 2)))


def read_communities(given: Any, label_names: tuple[str, ...]) -> StrArray:
    """Return the community of each label, or raise our error."""
    if isinstance(given, Mapping | pd.Series):
        given = _community_of(given, label_names)
        lacking = [name for name in label_names if name not in given]
        if lacking:
            raise exc.DataError(
                f"communities must have every label, but has no {exc.shorten(lacking)}."
            )
        listed = [given[name] for name in label_names]
    elif isinstance(given, str) or np.ndim(given) != 1 or len(given) != len(label_names):
        raise exc.DataError(
            "communities must map every label to its community, or list one per label "
            f"({len(label_names)}), but is {given!r}."
        )
    else:
        listed = list(given)
    found = np.array([str(each) for each in listed], dtype=object)
    if len(set(found)) < 2:
        raise exc.DataError(
            f"communities must be two or more, but all labels are in {found[0]!r}: nothing "
            "bridges anything."
        )
    return found


def _community_of(given: Any, label_names: tuple[str, ...]) -> Any:
    """Return communities by label, also where `given` lists the labels of each community."""
    kinds = list | tuple | set | frozenset | np.ndarray | pd.Index
    if not all(isinstance(value, kinds) for _, value in given.items()):
        return given
    members = [(label, group) for group, labels in given.items() for label in labels]
    unknown = [label for label, _ in members if label not in label_names]
    if unknown:
        raise exc.DataError(
            f"communities lists {exc.shorten(unknown)}, but the labels are "
            f"{exc.shorten(label_names)}."
        )
    found = dict(members)
    if len(found) < len(members):
        names = [label for label, _ in members]
        twice = [label for label in found if names.count(label) > 1]
        raise exc.DataError(
            f"communities must list each label once, but {exc.shorten(twice)} comes again."
        )
    return found


def _derivatives(weights: FloatArray) -> dict[str, FloatArray]:
    """Differentiate sums of weights: entry (k, a, b) is that of label k in the pair (a, b)."""
    n_labels = len(weights)
    finite = np.where(np.isfinite(weights), weights, 0.0)
    unit = np.eye(n_labels)
    touches = np.where(unit[:, :, None] + unit[:, None, :] > 0, 1.0, 0.0)
    touches *= 1 - unit
    influence = finite.sum(axis=1)
    second = unit[:, :, None] * influence + unit[:, None, :] * influence[:, None]
    second = second + finite[:, :, None] + finite[:, None, :]
    return {
        "strength": touches * np.sign(finite),
        "expected_influence": touches,
        "expected_influence_2": touches + second * (1 - unit),
    }


def path_measures(
    weights: FloatArray, inside: BoolArray, across: BoolArray | None = None
) -> dict[str, FloatArray]:
    """Return measures of shortest paths, a step along an edge being as long as it is weak."""
    names = [*PATHS] if across is None else [*PATHS, "bridge_closeness", "bridge_betweenness"]
    found = {name: np.full(len(weights), np.nan) for name in names}
    if not np.isfinite(weights).all():
        return found
    graph = nx.Graph()
    graph.add_nodes_from(np.flatnonzero(inside).tolist())
    first, second = np.nonzero(np.triu(np.abs(weights) > _NO_EDGE))
    lengths = 1 / np.abs(weights[first, second])
    ends = zip(first.tolist(), second.tolist(), lengths.tolist(), strict=True)
    graph.add_weighted_edges_from(ends, weight="length")
    nodes = list(graph)
    closeness = nx.closeness_centrality(graph, distance="length")
    between = nx.betweenness_centrality(graph, weight="length", normalized=False)
    found["closeness"][nodes] = [closeness[node] for node in nodes]
    found["betweenness"][nodes] = [between[node] for node in nodes]
    if across is not None:
        distances = np.full(weights.shape, np.inf)
        for node, reached in nx.all_pairs_dijkstra_path_length(graph, weight="length"):
            distances[node, list(reached)] = list(reached.values())
        found["bridge_betweenness"][nodes] = 0.0
        done: set[int] = set()
        for node in nodes:
            others = across[node] & inside
            if others.any():
                away = distances[node, others]
                away = away[np.isfinite(away)]
                # As for closeness: the share that can be reached counts.
                share = len(away) / others.sum()
                found["bridge_closeness"][node] = share / away.mean() if len(away) else 0.0
            if node in done:
                continue
            own = np.flatnonzero(~across[node] & inside).tolist()
            done.update(own)
            part = nx.betweenness_centrality_subset(
                graph, own, np.flatnonzero(others).tolist(), weight="length"
            )
            # Each pair comes twice, once from either side.
            found["bridge_betweenness"][nodes] += [part[each] for each in nodes]
    return found
