"""Parameters of Ising distributions as a user hands them in, checked, named and in one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import Features, FloatArray, IntArray


@dataclass(frozen=True)
class RowParameters:
    """The parameters at m rows of features; one column serves all rows without features."""

    thresholds: FloatArray  # K × m
    interactions: FloatArray  # K × K, what all rows share
    shifts: Mapping[tuple[int, int], FloatArray]  # what a row adds to a pair, both ways round

    def interaction(self, first: int, second: int) -> Any:
        """Interaction of two labels: a number, or one per row."""
        return self.interactions[first, second] + self.shifts.get((first, second), 0.0)

    @cached_property
    def neighbours(self) -> list[tuple[IntArray, FloatArray, IntArray]]:
        """Each label's neighbours, its finite interactions with them, and whom it never meets."""
        excluded = np.isneginf(self.interactions)
        connected = [np.flatnonzero(row) for row in (self.interactions != 0) & ~excluded]
        return [
            (near, self.interactions[label, near], np.flatnonzero(excluded[label]))
            for label, near in enumerate(connected)
        ]


@dataclass(frozen=True)
class IsingParameters:
    """Parameters of one distribution, labels coded 0/1."""

    label_names: tuple[str, ...]
    thresholds: FloatArray
    interactions: FloatArray
    feature_names: tuple[str, ...]
    effects: FloatArray
    pairs: tuple[tuple[int, int], ...]
    pair_effects: FloatArray

    def at(self, features: Features | None) -> RowParameters:
        """Evaluate the parameters at rows of features, or once without features."""
        thresholds = self.thresholds[:, np.newaxis]
        if features is None:
            return RowParameters(thresholds, self.interactions, {})
        moved = thresholds + (features @ self.effects).T
        shifts: dict[tuple[int, int], FloatArray] = {}
        for at, (first, second) in enumerate(self.pairs):
            shifts[first, second] = features @ self.pair_effects[at]
            shifts[second, first] = shifts[first, second]
        return RowParameters(moved, self.interactions, shifts)


def read_parameters(
    thresholds: Any, interactions: Any, effects: Any = None, interaction_effects: Any = None
) -> IsingParameters:
    """Check parameters and bring them into one order of labels and features."""
    values = _numbers(thresholds, "thresholds")
    if values.ndim != 1 or not values.size:
        raise _wrong_shape("thresholds", "(labels,)", values.shape)
    _check_finite("thresholds", values)
    n_labels = len(values)
    matrix = _numbers(interactions, "interactions")
    if matrix.shape != (n_labels, n_labels):
        raise _wrong_shape("interactions", f"({n_labels}, {n_labels})", matrix.shape)

    index = thresholds.index if isinstance(thresholds, pd.Series) else None
    labels = _names(index, "thresholds")
    if isinstance(interactions, pd.DataFrame):
        for axis in (interactions.columns, interactions.index):
            labels = labels or _names(axis, "interactions")
        across = _positions(interactions.columns, labels, "interactions")
        down = _positions(interactions.index, labels, "interactions", across)
        matrix = matrix[np.ix_(down, across)]
    labels = labels or _numbered("y", n_labels)
    parameters = IsingParameters(
        label_names=labels,
        thresholds=values,
        interactions=_symmetric(matrix, labels),
        feature_names=(),
        effects=np.zeros((0, n_labels)),
        pairs=(),
        pair_effects=np.zeros((0, 0)),
    )
    if effects is None and not interaction_effects:
        return parameters
    return _add_effects(parameters, effects, interaction_effects)


def read_features(features: Any, names: tuple[str, ...]) -> Features:
    """Check features at which a distribution is to be evaluated."""
    if isinstance(features, pd.DataFrame):
        matched = _positions(features.columns, names, "features")
        features = features.iloc[:, matched]
    matrix = sparse.csr_array(features) if sparse.issparse(features) else features
    matrix = matrix if sparse.issparse(matrix) else _numbers(matrix, "features", copy=None)
    if matrix.ndim != 2:
        raise exc.DataError(
            exc.WRONG_DIMENSION.format(argument="features", ndim=matrix.ndim, shape=matrix.shape)
        )
    if matrix.shape[0] == 0 or matrix.shape[1] != len(names):
        raise _wrong_shape("features", f"(rows, {len(names)})", matrix.shape)
    stored: Any = matrix.data if sparse.issparse(matrix) else matrix
    _check_finite("features", stored)
    return matrix


def to_spin(thresholds: Any, interactions: Any) -> tuple[pd.Series, pd.DataFrame]:
    r"""Translate parameters for labels coded 0/1 to those for labels coded −1/1.

    Parameters
    ----------
    thresholds : array_like or Series, shape (K,)
        Thresholds θ.
    interactions : array_like or DataFrame, shape (K, K)
        Interactions β, finite and symmetric, with zeros or NaN on the diagonal.

    Returns
    -------
    thresholds : Series, length K
        Thresholds in −1/1 coding, :math:`\theta_k/2 + \sum_l \beta_{kl}/4`.
    interactions : DataFrame, shape (K, K)
        Interactions in −1/1 coding, :math:`\beta_{kl}/4`; the diagonal is zero.

    Raises
    ------
    DataError
        When the parameters are not those of a network, or not finite.

    See Also
    --------
    from_spin : The way back.

    Examples
    --------
    >>> thresholds, interactions = to_spin([0.0, 1.0], [[0.0, 2.0], [2.0, 0.0]])
    >>> thresholds.tolist(), interactions.loc["y1", "y2"]
    ([0.5, 1.0], np.float64(0.5))
    """
    parameters = _read_finite(thresholds, interactions)
    coupling = parameters.interactions / 4
    return _as_pandas(parameters, parameters.thresholds / 2 + coupling.sum(axis=1), coupling)


def from_spin(thresholds: Any, interactions: Any) -> tuple[pd.Series, pd.DataFrame]:
    r"""Translate parameters for labels coded −1/1 to those for labels coded 0/1.

    Parameters
    ----------
    thresholds : array_like or Series, shape (K,)
        Thresholds h of the labels coded −1/1.
    interactions : array_like or DataFrame, shape (K, K)
        Interactions J, finite and symmetric, with zeros or NaN on the diagonal.

    Returns
    -------
    thresholds : Series, length K
        Thresholds in 0/1 coding, :math:`2 h_k - 2 \sum_l J_{kl}`.
    interactions : DataFrame, shape (K, K)
        Interactions in 0/1 coding, :math:`4 J_{kl}`; the diagonal is zero.

    Raises
    ------
    DataError
        When the parameters are not those of a network, or not finite.

    See Also
    --------
    to_spin : The way there.

    Examples
    --------
    >>> thresholds, interactions = from_spin([0.5, 1.0], [[0.0, 0.5], [0.5, 0.0]])
    >>> thresholds.tolist(), interactions.loc["y1", "y2"]
    ([0.0, 1.0], np.float64(2.0))
    """
    parameters = _read_finite(thresholds, interactions)
    coupling = parameters.interactions
    return _as_pandas(parameters, 2 * (parameters.thresholds - coupling.sum(axis=1)), 4 * coupling)


def _read_finite(thresholds: Any, interactions: Any) -> IsingParameters:
    parameters = read_parameters(thresholds, interactions)
    if np.isinf(parameters.interactions).any():
        raise exc.DataError(
            "interactions must be finite: a pair that is never 1 together has no counterpart in "
            "the other coding. Replace −inf by a large negative number."
        )
    return parameters


def _as_pandas(
    parameters: IsingParameters, thresholds: FloatArray, interactions: FloatArray
) -> tuple[pd.Series, pd.DataFrame]:
    names = pd.Index(parameters.label_names)
    return pd.Series(thresholds, names, name="threshold"), pd.DataFrame(interactions, names, names)


def _add_effects(
    parameters: IsingParameters, effects: Any, interaction_effects: Any
) -> IsingParameters:
    labels = parameters.label_names
    given = {} if interaction_effects is None else interaction_effects
    if not isinstance(given, Mapping):
        raise exc.DataError(
            "interaction_effects must be a mapping of pairs of label names to effects of features, "
            f"but is of type {type(given).__name__}."
        )
    pairs = tuple(_pair(key, labels) for key in given)
    if len(set(pairs)) < len(pairs):
        raise exc.DataError(
            "interaction_effects names a pair of labels twice, in both orders. Give each pair once."
        )
    if effects is None:
        first = next(iter(given.values()), ())
        index = pd.Series(first).index if isinstance(first, Mapping | pd.Series) else None
        matrix = np.zeros((len(first), len(labels)))
    else:
        index = effects.index if isinstance(effects, pd.DataFrame) else None
        matrix = _numbers(effects, "effects")
        if matrix.ndim != 2 or not len(matrix) or matrix.shape[1] != len(labels):
            raise _wrong_shape("effects", f"(features, {len(labels)})", matrix.shape)
        if isinstance(effects, pd.DataFrame):
            matrix = matrix[:, _positions(effects.columns, labels, "effects")]
        _check_finite("effects", matrix)
    features = _names(index, "effects") or _numbered("x", len(matrix))
    shared = [name for name in features if name in labels]
    if shared:
        verb = "is" if len(shared) == 1 else "are"
        raise exc.DataError(exc.SHARED_NAMES.format(names=f"{exc.shorten(shared)} {verb}"))
    rows = [_read_pair_effects(values, features) for values in given.values()]
    matters = [at for at, row in enumerate(rows) if row.any()]
    return replace(
        parameters,
        feature_names=features,
        effects=matrix,
        pairs=tuple(pairs[at] for at in matters),
        pair_effects=np.array([rows[at] for at in matters]).reshape(-1, len(features)),
    )


def _pair(key: Any, labels: tuple[str, ...]) -> tuple[int, int]:
    if (
        not isinstance(key, tuple)
        or len(set(key)) != 2
        or len(key) != 2
        or not set(key) <= set(labels)
    ):
        raise exc.DataError(
            f"interaction_effects must be keyed by pairs of different label names, but has the key "
            f"{key!r}. The labels are {exc.shorten(labels)}."
        )
    first, second = sorted(labels.index(name) for name in key)
    return first, second


def _read_pair_effects(values: Any, features: tuple[str, ...]) -> FloatArray:
    """Return the effects on one interaction in the order of the features, zero if not named."""
    if isinstance(values, Mapping | pd.Series):
        named = pd.Series(values).rename(str)
        unknown = [name for name in named.index if name not in features]
        if unknown:
            raise exc.DataError(
                f"interaction_effects has the feature(s) {exc.shorten(unknown)}, which effects "
                "lacks. Add a row for each to effects, of zeros if they move no threshold."
            )
        values = named.reindex(list(features), fill_value=0.0)
    row = _numbers(values, "interaction_effects")
    if row.shape != (len(features),):
        raise _wrong_shape("interaction_effects", f"(pairs, {len(features)})", row.shape)
    _check_finite("interaction_effects", row)
    return row


def _symmetric(matrix: FloatArray, labels: tuple[str, ...]) -> FloatArray:
    """Check interactions and give them with a diagonal of zeros."""
    diagonal = np.diagonal(matrix)
    if not (np.isnan(diagonal) | (diagonal == 0)).all():
        raise exc.DataError(
            "interactions must have zeros or NaN on the diagonal, but has "
            f"{diagonal[~np.isnan(diagonal) & (diagonal != 0)][0]:g} there. What a label adds by "
            "itself belongs in thresholds."
        )
    matrix = matrix.copy()
    np.fill_diagonal(matrix, 0.0)
    unusable = ~(np.isfinite(matrix) | np.isneginf(matrix))
    if unusable.any():
        first, second = np.argwhere(unusable)[0]
        raise exc.DataError(
            f"interactions must be finite, or −inf for pairs that never meet, but the pair "
            f"({labels[first]!r}, {labels[second]!r}) has {matrix[first, second]}."
        )
    differs = ~np.isclose(matrix, matrix.T)
    if differs.any():
        first, second = np.argwhere(differs)[0]
        raise exc.DataError(
            f"interactions must be symmetric, but the pair ({labels[first]!r}, {labels[second]!r}) "
            f"has {matrix[first, second]:g} one way and {matrix[second, first]:g} the other. "
            "Average them first, e.g. (interactions + interactions.T) / 2."
        )
    return (matrix + matrix.T) / 2


def _numbers(given: Any, argument: str, copy: bool | None = True) -> FloatArray:
    """Return an array of floats, or raise our error; copy=None copies only if it must."""
    try:
        return np.array(given, dtype=np.float64, copy=copy)
    except (TypeError, ValueError) as error:
        raise exc.DataError(
            f"{argument} must hold numbers, in rows of equal length, but does not: {error}."
        ) from error


def _check_finite(argument: str, values: FloatArray) -> None:
    if not np.isfinite(values).all():
        first = values[~np.isfinite(values)].flat[0]
        raise exc.DataError(f"{argument} must be finite, but has the value {first}. Replace it.")


def _names(index: pd.Index | None, argument: str) -> tuple[str, ...]:
    """Take the names of a pandas index; none if it only counts."""
    if index is None or isinstance(index, pd.RangeIndex):
        return ()
    names = pd.Index([str(name) for name in index])
    if not names.is_unique:
        repeated = exc.shorten(names[names.duplicated()].unique())
        raise exc.DataError(exc.DUPLICATE_NAMES.format(argument=argument, names=repeated))
    return tuple(names)


def _numbered(prefix: str, size: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(1, size + 1))


def _positions(
    index: pd.Index,
    wanted: tuple[str, ...],
    argument: str,
    counted: IntArray | None = None,
) -> IntArray:
    """Find the places of the wanted names, or take `counted` if the index only counts."""
    names = _names(index, argument)
    if not names:
        return np.arange(len(index)) if counted is None else counted
    place = {name: position for position, name in enumerate(names)}
    lacking = [name for name in wanted if name not in place]
    if lacking:
        raise exc.DataError(
            f"{argument} must have the names {exc.shorten(wanted)}, but lacks "
            f"{exc.shorten(lacking)}. Rename what it has, or pass {argument}.to_numpy() to go by "
            "position."
        )
    return np.array([place[name] for name in wanted], dtype=np.intp)


def _wrong_shape(argument: str, wanted: str, given: tuple[int, ...]) -> exc.DataError:
    return exc.DataError(f"{argument} must have the shape {wanted}, but has {given}.")
