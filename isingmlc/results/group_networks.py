"""The networks that are compared: those of groups of rows or cells, or results at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, dense
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.ebic import NetworkSettings
from isingmlc.fitting.nodewise import NetworkFit, fit_nodes
from isingmlc.input.context import Context
from isingmlc.input.rows import ModelData
from isingmlc.networks.bootstrap import check_draws, check_whole
from isingmlc.networks.groups import Dealing, Redraw, RedrawWithin, Shuffle, ShuffleWithin
from isingmlc.networks.refits import PlainRefits, Refits, SparseRefits
from isingmlc.results.ising import IsingResults
from isingmlc.results.regularized import RegularizedIsingResults
from isingmlc.statistics.labelsets import LabelsetStatistics, cells_of
from isingmlc.statistics.sums import FeatureSums, find_cells

if TYPE_CHECKING:
    from isingmlc.model import IsingModel

METHODS = ("nodewise", "ebic")
NULLS = ("thresholds", "nothing")
# Options of sparse networks that can be compared.
_OF_SPARSE_NETWORKS = (
    "criterion",
    "gamma",
    "rule",
    "penalize_covariates",
    "max_iter",
    "n_lambda",
    "whole_paths",
)
_WHAT = "compare_networks()"
_HOW = (
    "Give a model of all rows and the group of each, compare_networks(model, by=frame['sex']), or "
    "the results of two groups or more, compare_networks({'men': first, 'women': second})."
)


@dataclass(frozen=True, eq=False)
class GroupNetworks:
    """Networks of groups with the counts that they come from."""

    networks: dict[str, IsingResults | RegularizedIsingResults]
    sets: IntArray | None = None
    rows: tuple[ModelData, ...] = ()

    @property
    def pooled(self) -> LabelsetStatistics:
        """The statistics of all groups together, without features."""
        bare = [_without_features(each.model.statistics) for each in self.networks.values()]
        total = bare[0]
        for part in bare[1:]:
            total = total + part
        return total

    def of_two(self, first: int, second: int) -> GroupNetworks:
        """Return two of the groups."""
        names = list(self.networks)
        return GroupNetworks(
            {names[at]: self.networks[names[at]] for at in (first, second)},
            None if self.sets is None else self.sets[:, [first, second]],
            () if self.sets is None else (self.rows[first], self.rows[second]),
        )

    def counts(self, pooled: LabelsetStatistics) -> FloatArray:
        """Return the counts of the cells of all groups in each, shape (groups, L)."""
        lines = []
        for each in self.networks.values():
            stats = each.model.statistics
            line = np.zeros(len(pooled.counts))
            line[_find_cells(pooled, stats)] = stats.counts
            lines.append(line)
        return np.array(lines)

    def set_cells(self) -> list[IntArray] | None:
        """Return the cell of each set's row in each group, among the cells of the group."""
        if self.sets is None:
            return None
        networks = self.networks.values()
        return [
            cells_of(each.model.statistics, rows)[own]
            for each, rows, own in zip(networks, self.rows, self.sets.T, strict=True)
        ]

    def deal(self, pooled: LabelsetStatistics, null: str) -> Dealing:
        """Say how rows are dealt out under the null hypothesis."""
        cells = self.set_cells()
        columns = np.hstack([pooled.patterns, pooled.context.columns]).astype(np.float64)
        if cells is not None:
            places = [
                _find_cells(pooled, each.model.statistics)[own]
                for each, own in zip(self.networks.values(), cells, strict=True)
            ]
            together = np.column_stack(places)
            if null == "nothing":
                return ShuffleWithin(together, len(columns))
            return RedrawWithin(together, columns)
        counts = self.counts(pooled)
        return Shuffle(counts) if null == "nothing" else Redraw(counts, columns)

    def refits(self, pooled: LabelsetStatistics) -> Refits:
        """Return what fits networks like these to other counts of all cells."""
        any_network = next(iter(self.networks.values()))
        if isinstance(any_network, RegularizedIsingResults):
            columns = pooled.context.columns
            return SparseRefits(pooled.patterns, columns, any_network.settings, None)
        settings = any_network.settings
        regressors = Regressors.of_statistics(pooled, settings.intercept)
        nodes = fit_nodes(pooled.patterns, pooled.counts, settings, regressors=regressors)
        fit = NetworkFit(pooled, settings, nodes, None, {}, regressors)
        return PlainRefits.of(fit)


def gather_groups(
    given: Any,
    by: Any,
    pairs: Any,
    *,
    method: str | None,
    penalty: float | str | None,
    gamma: float | None,
    rule: str | None,
) -> GroupNetworks:
    """Return the networks to compare; `compare_networks` explains the arguments."""
    from isingmlc.model import IsingModel

    if not isinstance(given, IsingModel):
        if by is not None or pairs is not None:
            raise exc.DataError(
                "by and pairs are for an IsingModel of all rows, but what is given is of type "
                f"{type(given).__name__}. {_HOW}"
            )
        if not (method is None and penalty is None and gamma is None and rule is None):
            raise exc.DataError(
                "method, penalty, gamma and rule say how groups of a model are fitted, but these "
                "results are fitted already. Leave them out."
            )
        return GroupNetworks(_read_results(given))
    if by is None:
        raise exc.DataError(f"by must say which group each row is in. {_HOW}")
    kind = "nodewise" if method is None else method
    check_option("method", kind, METHODS)
    if kind != "ebic" and not (gamma is None and rule is None):
        raise exc.DataError(f"gamma and rule are for method='ebic', but method is {kind!r}.")
    if kind == "ebic" and penalty is not None:
        raise exc.DataError("penalty is for method='nodewise', but method is 'ebic'.")
    stats = given.statistics
    _check_rows(stats)
    models, sets, rows = _split(given, by, pairs)
    networks: dict[str, IsingResults | RegularizedIsingResults] = {}
    for name, model in models.items():
        if kind == "ebic":
            networks[name] = model.fit_regularized(
                gamma=0.25 if gamma is None else gamma,
                rule="and" if rule is None else rule,
                whole_paths=True,
            )
        else:
            networks[name] = model.fit(penalty=penalty)
    _check_covariates(networks)
    return GroupNetworks(networks, sets, rows)


def _check_rows(stats: LabelsetStatistics) -> None:
    """Say that rows must stand for themselves, and not depend on each other."""
    check_draws(stats, _WHAT)
    if stats.groups is not None:
        raise exc.ModelError(
            f"{_WHAT} deals out rows that are independent, but the model has groups of dependent "
            "ones. Make it without groups, from one row of each; rows of different groups of by "
            "that belong together are what pairs= is for."
        )
    check_whole(stats.counts, _WHAT)


def _read_results(given: Any) -> dict[str, IsingResults | RegularizedIsingResults]:
    """Check results that are to be compared, and name them."""
    from isingmlc.model import IsingModel

    if isinstance(given, Mapping):
        named = {str(name): each for name, each in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, str):
        named = {str(at): each for at, each in enumerate(given, 1)}
    else:
        named = {"": given}
    kinds = (IsingResults, RegularizedIsingResults)
    strange = [each for each in named.values() if not isinstance(each, kinds)]
    if strange or len(named) < 2:
        what = f"of type {type(strange[0]).__name__}" if strange else f"only {len(named)} result(s)"
        is_model = bool(strange) and isinstance(strange[0], IsingModel)
        if is_model or (strange and isinstance(strange[0], pd.DataFrame | np.ndarray)):
            fitted = "each.fit()" if is_model else "IsingModel(each).fit()"
            raise exc.DataError(
                f"networks are compared that are fitted, but is {what}. Fit them first: "
                f"compare_networks([{fitted} for each in (first, second)])."
            )
        raise exc.DataError(f"there must be two networks or more to compare, but is {what}. {_HOW}")
    results = list(named.values())
    first = results[0]
    for name, each in named.items():
        if set(each.label_names) != set(first.label_names):
            raise exc.DataError(
                f"networks must have the same labels, but that of {name!r} has "
                f"{exc.shorten(each.label_names)} and another one {exc.shorten(first.label_names)}."
            )
        if type(each) is not type(first) or each.settings != first.settings:
            raise exc.DataError(
                f"networks must be fitted alike to be compared, but that of {name!r} is not fitted "
                "as the first one is. Fit all of them with the same options."
            )
        _check_rows(each.model.statistics)
        _check_labels(each.model.statistics.patterns, each.label_names, name)
    settings = first.settings
    if isinstance(first, RegularizedIsingResults) and (settings.fixed or settings.features):
        raise exc.ModelError(
            "sparse networks are compared with penalties that the data choose, and without "
            "features. Fit them without lam, with features=False."
        )
    if isinstance(first, IsingResults) and first.method not in METHODS:
        raise exc.ModelError(
            f"{_WHAT} is for label models that are fitted one by one, but method={first.method!r} "
            "has one interaction per pair. Compare results of fit()."
        )
    if isinstance(first, IsingResults) and settings.neighbors != "all":
        raise exc.ModelError(
            "networks are compared with all labels in every label model, but these have few "
            "neighbors. Fit them with neighbors='all', or compare sparse networks: method='ebic'."
        )
    _check_covariates(named)
    return {name: _reorder(each, first.label_names) for name, each in named.items()}


def _reorder(
    results: IsingResults | RegularizedIsingResults, label_names: tuple[str, ...]
) -> IsingResults | RegularizedIsingResults:
    """Fit a network anew with its labels in another order, if they are not in it."""
    from isingmlc.model import IsingModel

    if results.label_names == label_names:
        return results
    stats, settings = _without_features(results.model.statistics), results.settings
    order = [stats.label_names.index(name) for name in label_names]
    patterns, context, codes = find_cells(
        np.packbits(stats.patterns[:, order], axis=1), len(order), stats.context
    )
    moved = replace(
        stats,
        label_names=label_names,
        patterns=patterns,
        counts=np.asarray(np.bincount(codes, weights=stats.counts), dtype=np.float64),
        context=context,
    )
    model = IsingModel.from_statistics(moved, intercept=results.model.intercept)
    if isinstance(settings, NetworkSettings):
        return model.fit_regularized(
            **{name: getattr(settings, name) for name in _OF_SPARSE_NETWORKS}
        )
    return model.fit(
        settings.method,
        penalty=settings.penalty,
        penalize_covariates=settings.penalize_covariates,
        cov_type=settings.cov_type,
        max_iter=settings.max_iter,
    )


def _check_covariates(networks: Mapping[str, Any]) -> None:
    """Say that networks of groups must be adjusted for the same."""
    columns = {name: set(each.model.statistics.context.names) for name, each in networks.items()}
    everywhere = set.union(*columns.values())
    for name, own in columns.items():
        if own != everywhere:
            raise exc.DataError(
                f"all groups must have the same covariates, but {exc.shorten(everywhere - own)} "
                f"is not in the models of {name!r}, or does not vary there. Leave it out."
            )


def _check_labels(labels: BoolArray, label_names: tuple[str, ...], group: str) -> None:
    """Say which labels do not vary in the rows or cells of a group."""
    names: StrArray = np.array(label_names, dtype=object)
    constant = names[labels.all(axis=0) | ~labels.any(axis=0)]
    if len(constant):
        raise exc.DataError(
            f"label(s) {exc.shorten(constant)} do not vary in the group {group!r} of by: it has no "
            "network with them. Leave them out, or merge groups."
        )


def _split(
    model: IsingModel, by: Any, pairs: Any
) -> tuple[dict[str, IsingModel], IntArray | None, tuple[ModelData, ...]]:
    """Return a model of each group, and which rows belong together."""
    from isingmlc.model import IsingModel

    data, stats = model.data, model.statistics
    if data is None:
        if pairs is not None or not isinstance(by, str) or by not in stats.context.names:
            raise exc.ModelError(
                exc.ROWS_NEEDED.format(purpose=_WHAT)
                + " Without rows, by may be the name of a covariate: "
                + (exc.shorten(stats.context.names) if stats.context.names else "there is none.")
            )
        values, rest = _take_covariate(stats.context, by)
        group_of, names = _read_groups(values, len(values), None, f"frame[{by!r}]")
        for at, name in enumerate(names):
            _check_labels(stats.patterns[group_of == at], stats.label_names, name)
        bare = replace(_without_features(stats), context=rest)
        return (
            {
                name: IsingModel.from_statistics(
                    replace(
                        bare,
                        patterns=bare.patterns[group_of == at],
                        counts=bare.counts[group_of == at],
                        context=rest.take(group_of == at),
                        source=FeatureSums.of_nothing(int((group_of == at).sum())),
                        n_rows=int(bare.counts[group_of == at].sum()),
                    ),
                    intercept=model.intercept,
                )
                for at, name in enumerate(names)
            },
            None,
            (),
        )
    context = data.covariates
    code = f"frame[{by!r}]" if isinstance(by, str) else "by"
    if isinstance(by, str):
        by, context = _find_column(data, by, "by")
    group_of, names = _read_groups(by, data.n_rows, data.index, code)
    for at, name in enumerate(names):
        _check_labels(data.labels[group_of == at], data.label_names, name)
    rows = replace(data, features=None, feature_names=(), terms={}, covariates=context)
    sets = None
    if pairs is not None:
        if data.weights is not None:
            raise exc.DataError("rows in pairs stand for themselves: leave freq_weights out.")
        if isinstance(pairs, str):
            pairs = _find_column(data, pairs, "pairs")[0]
        sets = _read_sets(pairs, group_of, names, data.index)
    parts = tuple(rows.take_rows(group_of == at) for at in range(len(names)))
    models = {
        name: IsingModel._from_rows(part, model.intercept)
        for name, part in zip(names, parts, strict=True)
    }
    return models, sets, parts


def _find_column(data: ModelData, name: str, argument: str) -> tuple[Any, Context | None]:
    """Return a covariate or feature by name, and the covariates without it."""
    context = data.covariates
    if context is not None and name in context.names:
        return _take_covariate(context, name)
    if data.features is not None and name in data.feature_names:
        column = dense(data.features[:, [data.feature_names.index(name)]])[:, 0]
        return column, context
    known = (*data.context.names, *data.feature_names)
    raise exc.DataError(
        f"{argument} must be an array with one value per row, or the name of a covariate or "
        f"feature of the model, but is {name!r}. "
        + (f"There are {exc.shorten(known)}." if known else "The model has none.")
    )


def _take_covariate(context: Context, name: str) -> tuple[Any, Context]:
    """Return the values of a covariate, and the others."""
    at = context.names.index(name)
    numbers, levels = context.numbers[:, at], context.levels[at]
    values: Any = numbers.astype(object)
    if levels is not None:
        values = pd.Categorical.from_codes(numbers.astype(np.intp), levels)
    others = np.delete(np.arange(len(context.names)), at)
    return values, context.select(others)


# More different numbers than this are measurements, not the codes of groups.
_MOST_NUMBERS = 10


def _read_groups(
    by: Any, n_rows: int, index: pd.Index | None, code: str
) -> tuple[IntArray, list[str]]:
    """Find the number of each row's group, and the names of the groups; `code` writes `by`."""
    values = _read_column(by, n_rows, index, "by")
    order = getattr(getattr(by, "dtype", None), "categories", None)
    if order is None:
        codes, found = pd.factorize(values, sort=True)
    else:
        found = order[order.isin(values)]
        codes = found.get_indexer(values)
    if len(found) < 2:
        raise exc.DataError(
            f"by must have two groups or more, but all rows are in {found[0]!r}. There is nothing "
            "to compare."
        )
    is_continuous = len(found) > _MOST_NUMBERS and pd.api.types.is_numeric_dtype(
        pd.Index(found).infer_objects()
    )
    if is_continuous or len(found) > n_rows / 2:
        raise exc.DataError(
            f"by must say which group each row is in, but has {len(found)} different values in "
            f"{n_rows} rows. Cut numbers into groups first: by = pd.qcut({code}, 3) makes three "
            f"groups of about equal size, by = pd.cut({code}, [-np.inf, 40, 60, np.inf]) cuts at "
            "40 and 60."
        )
    return np.asarray(codes), [_write(name) for name in found]


def _write(name: Any) -> str:
    """Write the name of a group; whole numbers without a point."""
    is_whole = isinstance(name, float) and name.is_integer()
    return str(int(name)) if is_whole else str(name)


def _read_column(given: Any, n_rows: int, index: pd.Index | None, argument: str) -> pd.Series:
    """Return one value per row."""
    if isinstance(given, pd.Series) and index is not None and not given.index.equals(index):
        if not given.index.is_unique or not index.isin(given.index).all():
            raise exc.DataError(
                f"{argument} is a Series whose index lacks rows of the labels, or has some twice. "
                f"Align it first: {argument}.loc[labels.index]."
            )
        given = given.loc[index]
    values = pd.Series(np.asarray(given, dtype=object).ravel() if np.ndim(given) == 1 else [])
    if len(values) != n_rows:
        raise exc.DataError(
            f"{argument} must have one value for each of the {n_rows} rows, but has shape "
            f"{np.shape(given)}."
        )
    if values.isna().any():
        raise exc.DataError(
            f"{argument} has missing values in {int(values.isna().sum())} row(s). Leave out those "
            "rows, or give them a value of their own."
        )
    return values


def _read_sets(
    pairs: Any, group_of: IntArray, names: list[str], index: pd.Index | None
) -> IntArray:
    """Give, for each set of rows that belong together, the row in each group."""
    values = _read_column(pairs, len(group_of), index, "pairs")
    codes, found = pd.factorize(values, sort=True)
    times = np.zeros((len(found), len(names)), dtype=np.intp)
    np.add.at(times, (codes, group_of), 1)
    wrong = (times != 1).any(axis=1)
    if wrong.any():
        raise exc.DataError(
            "pairs must have each value once in every group of by, but "
            f"{exc.shorten(found[wrong])} has not. Leave out rows without a partner."
        )
    sets = np.empty((len(found), len(names)), dtype=np.intp)
    for group in range(len(names)):
        inside = np.flatnonzero(group_of == group)
        sets[codes[inside], group] = np.arange(len(inside))
    return sets


def _without_features(stats: LabelsetStatistics) -> LabelsetStatistics:
    """Return the counts of cells alone."""
    return replace(
        stats,
        source=FeatureSums.of_nothing(len(stats.counts)),
        feature_names=(),
        term_columns={},
        term_products={},
        products=None,
    )


def _find_cells(pooled: LabelsetStatistics, part: LabelsetStatistics) -> IntArray:
    """Find the cells of a group among those of all."""
    order = [part.context.names.index(name) for name in pooled.context.names]
    own = part.context.select(np.array(order, dtype=np.intp)).recode(pooled.context.levels)
    lines = np.vstack(
        [
            np.hstack([pooled.patterns, pooled.context.numbers]),
            np.hstack([part.patterns, own.numbers]),
        ]
    )
    codes = np.unique(lines, axis=0, return_inverse=True)[1].ravel()
    place = np.empty(len(lines), dtype=np.intp)
    n_cells = len(pooled.counts)
    place[codes[:n_cells]] = np.arange(n_cells)
    return place[codes[n_cells:]]
