"""Parameters of Ising distributions as a user hands them in, checked, named and in one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import Features, FloatArray, IntArray


@dataclass(frozen=True)
class IsingParameters:
    """Parameters of one distribution, labels coded 0/1.

    Attributes
    ----------
    label_names : tuple of str
        Names of the K labels.
    thresholds : ndarray of float, shape (K,)
        Thresholds at features of zero.
    interactions : ndarray of float, shape (K, K)
        Interactions at features of zero: symmetric, zero on the diagonal, −inf for pairs that
        are never 1 together.
    feature_names : tuple of str
        Names of the p features; none if the distribution is unconditional.
    effects : ndarray of float, shape (p, K)
        What each feature adds to each threshold.
    pairs : tuple of pairs of int
        Positions of the pairs of labels whose interaction depends on features.
    pair_effects : ndarray of float, shape (pairs, p)
        What each feature adds to their interactions.
    """

    label_names: tuple[str, ...]
    thresholds: FloatArray
    interactions: FloatArray
    feature_names: tuple[str, ...]
    effects: FloatArray
    pairs: tuple[tuple[int, int], ...]
    pair_effects: FloatArray


@dataclass(frozen=True)
class RowParameters:
    """The parameters at m rows of features; one column serves all rows without features."""

    thresholds: FloatArray  # K × m
    interactions: FloatArray  # K × K, what all rows share
    shifts: Mapping[tuple[int, int], FloatArray]  # what a row adds to a pair, both ways round

    def interaction(self, first: int, second: int) -> Any:
        """Interaction of two labels: a number, or one per row."""
        return self.interactions[first, second] + self.shifts.get((first, second), 0.0)


@dataclass(frozen=True)
class Laws:
    """A distribution at rows of features: one law per row, or one law for all without features."""

    parameters: IsingParameters
    features: Features | None

    def at(self, rows: slice | IntArray = slice(None)) -> RowParameters:
        """Evaluate the parameters at some of the rows."""
        parameters = self.parameters
        thresholds = parameters.thresholds[:, np.newaxis]
        if self.features is None:
            return RowParameters(thresholds, parameters.interactions, {})
        matrix = self.features[rows]
        moved = thresholds + (matrix @ parameters.effects).T
        shifts: dict[tuple[int, int], FloatArray] = {}
        for at, (first, second) in enumerate(parameters.pairs):
            shifts[first, second] = matrix @ parameters.pair_effects[at]
            shifts[second, first] = shifts[first, second]
        return RowParameters(moved, parameters.interactions, shifts)


def restrict(parameters: IsingParameters, labels: IntArray) -> IsingParameters:
    """Leave out labels, as if they were 0.

    Parameters
    ----------
    parameters : IsingParameters
        The distribution.
    labels : ndarray of int
        Positions of the labels to keep.

    Returns
    -------
    IsingParameters
        The same parameters, of these labels alone.

    Examples
    --------
    >>> restrict(read_parameters([0.0, 1.0], [[0, 2], [2, 0]]), np.array([1])).thresholds
    array([1.])
    """
    place = {label: at for at, label in enumerate(labels.tolist())}
    kept = [at for at, (k, m) in enumerate(parameters.pairs) if k in place and m in place]
    return replace(
        parameters,
        label_names=tuple(parameters.label_names[label] for label in labels),
        thresholds=parameters.thresholds[labels],
        interactions=parameters.interactions[np.ix_(labels, labels)],
        effects=parameters.effects[:, labels],
        pairs=tuple((place[k], place[m]) for k, m in (parameters.pairs[at] for at in kept)),
        pair_effects=parameters.pair_effects[kept],
    )


def read_parameters(
    thresholds: Any, interactions: Any, effects: Any = None, interaction_effects: Any = None
) -> IsingParameters:
    """Check parameters and bring them into one order of labels and features.

    Parameters
    ----------
    thresholds : array_like or Series, shape (K,)
        Finite thresholds.
    interactions : array_like or DataFrame, shape (K, K)
        Symmetric interactions, finite or −inf, with zeros or NaN on the diagonal.
    effects : array_like or DataFrame, shape (p, K), optional
        Effects of features on thresholds.
    interaction_effects : mapping, array_like or DataFrame, optional
        Effects of features on interactions: by pair of label names, or one row per pair in the
        order of ``numpy.triu_indices(K, 1)``.

    Returns
    -------
    IsingParameters
        The checked parameters.

    Raises
    ------
    DataError
        When shapes, names or values do not make a distribution.

    Examples
    --------
    >>> read_parameters(pd.Series({"a": 0.0, "b": 1.0}), [[0, 2], [2, 0]]).label_names
    ('a', 'b')
    """
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
    if effects is None and interaction_effects is None:
        return parameters
    return _add_effects(parameters, effects, interaction_effects)


def read_features(features: Any, names: tuple[str, ...]) -> Features:
    """Check features at which a distribution is to be evaluated.

    Parameters
    ----------
    features : array_like, DataFrame or sparse, shape (n, p)
        The features; a frame may have its columns in any order and others besides.
    names : tuple of str
        Names of the distribution's features.

    Returns
    -------
    ndarray of float or csr_array, shape (n, p)
        The features in the order of `names`.

    Raises
    ------
    DataError
        When they are not the distribution's features, or not finite numbers.

    Examples
    --------
    >>> read_features(pd.DataFrame({"b": [1.0], "a": [2.0]}), ("a", "b"))
    array([[2., 1.]])
    """
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
    pairs, pair_table = _pair_table(interaction_effects, labels)
    if effects is None:
        argument, index = "interaction_effects", pair_table.columns
        matrix = np.zeros((pair_table.shape[1], len(labels)))
    else:
        argument = "effects"
        index = effects.index if isinstance(effects, pd.DataFrame) else None
        matrix = _numbers(effects, "effects")
        if matrix.ndim != 2 or not len(matrix) or matrix.shape[1] != len(labels):
            raise _wrong_shape("effects", f"(features, {len(labels)})", matrix.shape)
        if isinstance(effects, pd.DataFrame):
            matrix = matrix[:, _positions(effects.columns, labels, "effects")]
        _check_finite("effects", matrix)
    features = _names(index, argument) or _numbered("x", len(matrix))
    shared = [name for name in features if name in labels]
    if shared:
        verb = "is" if len(shared) == 1 else "are"
        raise exc.DataError(exc.SHARED_NAMES.format(names=f"{exc.shorten(shared)} {verb}"))
    return replace(
        parameters,
        feature_names=features,
        effects=matrix,
        pairs=pairs,
        pair_effects=_match_features(pair_table, features),
    )


def _pair_table(given: Any, labels: tuple[str, ...]) -> tuple[tuple[tuple[int, int], ...], Any]:
    """Give the pairs that have effects and a frame of these, one row per pair."""
    if given is None or (isinstance(given, Mapping) and not given):
        return (), pd.DataFrame()
    if isinstance(given, Mapping):
        pairs = tuple(_pair(key, labels) for key in given)
        table = _table_of_rows(given)
    else:
        first, second = np.triu_indices(len(labels), 1)
        pairs = tuple(zip(first.tolist(), second.tolist(), strict=True))
        matrix = _numbers(given, "interaction_effects")
        if matrix.ndim != 2 or len(matrix) != len(pairs) or not matrix.shape[1]:
            raise _wrong_shape("interaction_effects", f"({len(pairs)}, features)", matrix.shape)
        columns = given.columns if isinstance(given, pd.DataFrame) else None
        table = pd.DataFrame(matrix, columns=columns)
    if len(set(pairs)) < len(pairs):
        raise exc.DataError(
            "interaction_effects names a pair of labels twice, in both orders. Give each pair once."
        )
    _check_finite("interaction_effects", table.to_numpy())
    matters = table.to_numpy().any(axis=1)
    kept = tuple(pair for pair, matter in zip(pairs, matters, strict=True) if matter)
    return kept, table.loc[matters]


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


def _table_of_rows(given: Mapping[Any, Any]) -> pd.DataFrame:
    """Stack the rows of a mapping: all sequences, or all by feature name and zero if absent."""
    by_name = [isinstance(values, Mapping | pd.Series) for values in given.values()]
    if all(by_name):
        rows = [pd.Series(values).rename(str) for values in given.values()]
        names = dict.fromkeys(name for row in rows for name in row.index)
        rows = [row.reindex(list(names), fill_value=0.0) for row in rows]
        return pd.DataFrame(_numbers(rows, "interaction_effects"), columns=list(names))
    if any(by_name):
        raise exc.DataError(
            "interaction_effects has sequences and mappings by feature name among its values. "
            "Give all values as sequences, or all by name."
        )
    matrix = _numbers([np.atleast_1d(values) for values in given.values()], "interaction_effects")
    return pd.DataFrame(matrix)


def _match_features(pair_table: pd.DataFrame, features: tuple[str, ...]) -> FloatArray:
    """Order the columns of a table of pairs as the features are."""
    if not len(pair_table):
        return np.zeros((0, len(features)))
    if isinstance(pair_table.columns, pd.RangeIndex):
        if pair_table.shape[1] != len(features):
            raise _wrong_shape("interaction_effects", f"(pairs, {len(features)})", pair_table.shape)
        return _numbers(pair_table, "interaction_effects")
    named = pair_table.rename(columns=str)
    unknown = [name for name in named.columns if name not in features]
    if unknown:
        raise exc.DataError(
            f"interaction_effects has the feature(s) {exc.shorten(unknown)}, which effects lacks. "
            "Add a row for each to effects, of zeros if they move no threshold."
        )
    return _numbers(named.reindex(columns=list(features), fill_value=0.0), "interaction_effects")


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
    """Give an array of floats, or raise our error; copy=None copies only if it must."""
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
