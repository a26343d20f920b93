"""The door: what a user hands in becomes one checked, named, immutable :class:`ModelData`.

Labels leave it as packed bits, eight to a byte, whatever they were before; features leave it as
they came, a numeric array or a CSR matrix, without a copy where none is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import (
    BoolArray,
    Features,
    FloatArray,
    IntArray,
    PackedBits,
    checksum,
    chunks,
    dense,
    unpack,
)
from isingmlc.base.readonly import FrozenArrays, cached_array, freeze
from isingmlc.input.categories import CategoryRecipe, code_categories, find_levels
from isingmlc.input.context import Context, Recipe, as_cells, read_context
from isingmlc.input.copies import warn_of_copies
from isingmlc.input.gaps import GapCounts, count_gaps, missing_error
from isingmlc.input.ranges import check_columns, column_ends
from isingmlc.input.sampling import (
    SAMPLING_WEIGHTS,
    check_weights,
    column_of,
    read_sampling,
    scale_weights,
)
from isingmlc.input.tables import (
    LARGEST,
    as_matrix,
    as_table,
    check_same_rows,
    column_names,
    is_unnamed,
    open_dataset,
    say_recoding,
)


@dataclass(frozen=True)
class ModelData(FrozenArrays):
    """Rows that passed the door."""

    packed_labels: PackedBits
    label_names: tuple[str, ...]
    features: Features | None = None
    feature_names: tuple[str, ...] = ()
    weights: FloatArray | None = None
    terms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_dropped: int = 0
    index: pd.Index | None = None
    covariates: Context | None = None
    recipe: Recipe | None = None

    @property
    def n_rows(self) -> int:
        """Rows kept."""
        return int(self.packed_labels.shape[0])

    @property
    def context(self) -> Context:
        """The covariates, with no column where there are none."""
        return Context.empty(self.n_rows) if self.covariates is None else self.covariates

    @property
    def labels(self) -> BoolArray:
        """The n×K labels, unpacked anew at each call."""
        return unpack(self.packed_labels, len(self.label_names))

    def take_rows(self, rows: IntArray | BoolArray) -> ModelData:
        """Return some of the rows."""
        return replace(
            self,
            packed_labels=self.packed_labels[rows],
            features=None if self.features is None else self.features[rows],
            weights=None if self.weights is None else self.weights[rows],
            index=None if self.index is None else self.index[rows],
            covariates=None if self.covariates is None else self.covariates.take(rows),
        )

    def take_features(self, columns: slice | IntArray) -> ModelData:
        """Return the same rows with some of the features."""
        names = tuple(np.array(self.feature_names, dtype=object)[columns].tolist())
        if names == self.feature_names:
            return self
        return replace(
            self,
            features=None if self.features is None else self.features[:, columns],
            feature_names=names,
            terms={name: (name,) for name in names},
        )

    @cached_array
    def ends(self) -> FloatArray:
        """The smallest and the largest value of each feature, shape (2, p)."""
        return column_ends(np.empty((1, 0)) if self.features is None else self.features)

    def is_changed(self) -> bool:
        """Return whether the features are other than when this was first asked."""
        now = checksum(self.features)
        return bool(vars(self).setdefault("_checksum", now) != now)


def require_rows(purpose: str, data: ModelData | None, feature_names: tuple[str, ...]) -> ModelData:
    """Return the rows of the data, or say that they are needed."""
    if not feature_names:
        raise exc.ModelError(exc.NO_FEATURES)
    if data is None:
        raise exc.ModelError(exc.ROWS_NEEDED.format(purpose=purpose))
    if data.is_changed():
        raise exc.ModelError(exc.ROWS_CHANGED.format(purpose=purpose))
    return data


def prepare(
    labels: Any,
    features: Any = None,
    *,
    covariates: Any = None,
    freq_weights: Any = None,
    groups: Any = None,
    sampling_weights: Any = None,
    missing: str = "raise",
    label_names: Sequence[object] | None = None,
    feature_names: Sequence[object] | None = None,
    covariate_names: Sequence[object] | None = None,
    terms: Mapping[str, tuple[str, ...]] | None = None,
    n_dropped: int = 0,
    gaps: GapCounts | None = None,
) -> ModelData:
    """Check labels, features and weights and bring them into one shape."""
    check_option("missing", missing, ("raise", "drop"))
    labels, features, feature_names = open_dataset(labels, features, feature_names)
    label_table = as_table(labels, "labels")
    names = column_names(label_table, "labels", label_names)
    label_matrix = as_matrix(label_table, "labels", names)
    feature_matrix: Features | None = None
    columns: tuple[str, ...] = ()
    recipe: Recipe | None = None
    if features is not None:
        feature_table = as_table(features, "features")
        check_same_rows("labels", label_table, "features", feature_table)
        columns = column_names(feature_table, "features", feature_names)
        taken = set(names)
        shared = [name for name in columns if name in taken]
        if shared:
            verb = "is" if len(shared) == 1 else "are"
            raise exc.DataError(exc.SHARED_NAMES.format(names=f"{exc.shorten(shared)} {verb}"))
        if terms is None and gaps is None and isinstance(feature_table, pd.DataFrame):
            feature_table = feature_table.set_axis(list(columns), axis=1)
            levels = find_levels(feature_table)
            if levels:
                recipe = CategoryRecipe(columns, levels)
                feature_table, terms = code_categories(feature_table, levels)
                columns = tuple(feature_table.columns)
        feature_matrix = as_matrix(feature_table, "features", columns)
    elif feature_names is not None and len(feature_names):
        raise exc.DataError("feature_names names columns of features, but features is not given.")
    context = _prepare_context(covariates, covariate_names, label_table)
    if context is not None:
        _check_clashes(context, names, columns, feature_matrix)
    counted = None
    if freq_weights is not None:
        counted = check_weights(freq_weights, "labels", label_table, "drop")
    sampling = groups
    if not isinstance(groups, Context):
        sampling = read_sampling(groups, sampling_weights, "labels", label_table, "drop")
    if sampling is not None:
        beside = Context.empty(label_matrix.shape[0]) if context is None else context
        context = replace(beside, sampling=sampling)
    index = label_table.index if isinstance(label_table, pd.DataFrame) else None
    if counted is not None and not counted.all():
        # A row that stands for no observation is none.
        kept = counted != 0
        index = None if index is None else index[kept]
        label_matrix, feature_matrix, counted = _take(kept, label_matrix, feature_matrix, counted)
        context = None if context is None else context.take(kept)

    n_rows = label_matrix.shape[0]
    blocks: dict[str, str] = {}
    absent = _rows_missing(label_matrix, "labels", names, blocks)
    ends = None
    if feature_matrix is not None:
        ends = column_ends(feature_matrix)
        absent |= _rows_missing(feature_matrix, "features", columns, blocks, ends)
    if context is not None:
        absent |= _rows_missing(context.numbers, "covariates", context.names, blocks)
        if "covariates" in blocks:
            blocks["covariates"] = context.list_missing()
        if context.sampling is not None:
            unknown = np.isnan(context.sampling.numbers)
            absent |= unknown.any(axis=1)
            names_and_gaps = zip(context.sampling.names, unknown.T, strict=True)
            blocks |= {name: "" for name, column in names_and_gaps if column.any()}
    if counted is not None and np.isnan(counted).any():
        absent |= np.isnan(counted)
        blocks["freq_weights"] = ""
    n_missing = int(absent.sum())
    if n_missing and missing == "raise":
        raise missing_error(n_missing, blocks)
    if n_missing:
        parts: list[tuple[Sequence[str], Any]] = [(names, label_matrix)]
        if feature_matrix is not None:
            parts.append(_first_columns(terms or {}, columns, feature_matrix))
        if context is not None:
            parts.append((context.names, context.numbers))
            if context.sampling is not None:
                parts.append((context.sampling.names, context.sampling.numbers))
        if counted is not None:
            parts.append((("freq_weights",), counted[:, None]))
        found = count_gaps(absent, parts)
        if gaps is not None:
            gaps.add(found)
        if n_missing == n_rows:
            raise exc.NoRowsError(exc.NOTHING_LEFT.format(n_rows=n_rows))
        if gaps is None:
            exc.warn(found.say(n_rows), exc.DataWarning)
        kept = ~absent
        index = None if index is None else index[kept]
        label_matrix, feature_matrix, counted = _take(kept, label_matrix, feature_matrix, counted)
        context = None if context is None else context.take(kept)
    drawn = None if context is None else column_of(context, SAMPLING_WEIGHTS)
    weights = counted if drawn is None else drawn if counted is None else counted * drawn
    data = ModelData(
        packed_labels=_pack(label_matrix, names),
        label_names=names,
        features=feature_matrix,
        feature_names=columns,
        weights=weights,
        terms=dict(terms) if terms else {name: (name,) for name in columns},
        n_dropped=n_dropped + n_missing,
        index=index,
        covariates=context,
        recipe=recipe,
    )
    if gaps is None and feature_matrix is not None:
        if not n_missing:
            vars(data)["ends"] = freeze(ends)
        check_columns("features", feature_matrix, columns, data.ends)
        warn_of_copies(feature_matrix, label_matrix, columns, names)
    if gaps is None and context is not None and len(context):
        check_columns("covariates", context.numbers, context.names, column_ends(context.numbers))
    return data


def scale_rows(data: ModelData) -> ModelData:
    """Bring sampling weights to a mean of one, so that observations count as many as there are."""
    drawn = column_of(data.context, SAMPLING_WEIGHTS)
    if drawn is None or data.weights is None:
        return data
    factor = float((data.weights / drawn).sum() / data.weights.sum())
    context = scale_weights(data.context, factor)
    return replace(data, weights=factor * data.weights, covariates=context)


def add_groups(data: ModelData, groups: Any) -> ModelData:
    """Return rows that passed the door their clusters."""
    index = data.index
    rows = np.empty((data.n_rows, 0)) if index is None else pd.DataFrame(index=index)
    is_longer = np.ndim(groups) == 1 and len(groups) > data.n_rows
    if is_longer and isinstance(groups, pd.Series) and index is not None:
        if groups.index.is_unique and index.isin(groups.index).all():
            groups = groups.loc[index]
    elif is_longer and data.n_dropped:
        raise exc.DataError(
            f"groups has {len(groups)} rows, but the model has {data.n_rows}: {data.n_dropped} "
            "were dropped for missing values. Pass groups to IsingModel, which drops theirs too."
        )
    found = read_sampling(groups, None, "the model", rows, "raise")
    assert found is not None
    context = data.context
    if context.sampling is not None and SAMPLING_WEIGHTS in context.sampling.names:
        at = context.sampling.names.index(SAMPLING_WEIGHTS)
        found = found.beside(context.sampling.select(np.array([at])))
    return replace(data, covariates=replace(context, sampling=found))


def _prepare_context(
    covariates: Any, names: Sequence[object] | None, label_table: Any
) -> Context | None:
    """Read covariates, and check that they belong to the rows of the labels."""
    if covariates is None:
        if names is not None and len(names):
            raise exc.DataError(
                "covariate_names names columns of covariates, but covariates is not given."
            )
        return None
    if isinstance(covariates, Context):
        return covariates
    table = as_cells(covariates)
    check_same_rows("labels", label_table, "covariates", table)
    return read_context(table, None if names is None else column_names(table, "covariates", names))


def _check_clashes(
    context: Context, labels: tuple[str, ...], features: tuple[str, ...], matrix: Any
) -> None:
    """Say which covariates are named as labels, or as other features."""
    taken = set(labels)
    shared = [name for name in context.names if name in taken]
    if shared:
        verb = "is" if len(shared) == 1 else "are"
        raise exc.DataError(exc.COVARIATE_IS_LABEL.format(names=f"{exc.shorten(shared)} {verb}"))
    place = {name: at for at, name in enumerate(features)}
    differ = []
    for name, levels, values in zip(context.names, context.levels, context.numbers.T, strict=True):
        if name in place:
            column = dense(matrix[:, [place[name]]])[:, 0]
            # The same column may be both: then nothing of the feature is left to test.
            if levels is not None or not np.array_equal(column, values, equal_nan=True):
                differ.append(name)
    if differ:
        verb = "is" if len(differ) == 1 else "are"
        raise exc.DataError(exc.COVARIATE_IS_FEATURE.format(names=f"{exc.shorten(differ)} {verb}"))


def prepare_labels(labels: Any, names: tuple[str, ...]) -> BoolArray:
    """Check labels that must match a fitted model's."""
    if isinstance(labels, pd.DataFrame) and not is_unnamed(labels.columns):
        labels = labels.set_axis(labels.columns.map(str), axis=1)
        lacking = [name for name in names if name not in labels.columns]
        if lacking:
            raise exc.DataError(
                f"labels lacks the column(s) {exc.shorten(lacking)} that the model was fitted on."
            )
        labels = labels[list(names)]
    table = as_table(labels, "labels")
    own = column_names(table, "labels", None)
    refuse_missing(as_matrix(table, "labels", own), "labels", own)
    data = prepare(labels)
    if len(data.label_names) != len(names):
        raise exc.DataError(
            f"labels must have the {len(names)} columns that the model was fitted on, but has "
            f"{len(data.label_names)}."
        )
    return data.labels


def prepare_covariates(
    given: Any, context: Context, n_rows: int, beside: str = "labels", rows: Any = None
) -> Context:
    """Check covariates that must match a fitted model's."""
    if given is None and not len(context):
        return Context.empty(n_rows)
    if given is None or not len(context):
        wanted = f"covariate(s) {exc.shorten(context.names)}" if len(context) else "no covariates"
        passed = "none were passed" if given is None else "covariates were passed"
        raise exc.DataError(f"the model has {wanted}, but {passed}: predict({beside}, covariates).")
    if isinstance(given, pd.DataFrame) and isinstance(rows, pd.DataFrame):
        check_same_rows(beside, rows, "covariates", given)
    found = context.read_like(given)
    if len(found.numbers) != n_rows:
        raise exc.DataError(
            exc.ROWS_DIFFER.format(
                first=beside, n_first=n_rows, second="covariates", n_second=len(found.numbers)
            )
        )
    return found


def prepare_features(
    features: Any, names: tuple[str, ...], wanted: Sequence[str], recipe: Recipe | None = None
) -> tuple[Features, pd.Index | None]:
    """Check features that must match those that something was made from."""
    table = as_table(features, "features")
    if isinstance(table, pd.DataFrame) and not is_unnamed(table.columns):
        named = table.set_axis(table.columns.map(str), axis=1)
        if recipe is not None and not set(wanted) <= set(named.columns):
            named = recipe(table)
        table = named
        lacking = [name for name in wanted if name not in table.columns]
        if lacking:
            raise exc.DataError(
                f"features lacks the column(s) {exc.shorten(lacking)} that are needed. Pass a "
                "frame with the names that the choice was made on."
            )
        table = table[list(wanted)]
        column_names(table, "features", None)
    elif table.shape[1] != len(names):
        raise exc.DataError(
            f"features must have all {len(names)} columns of the data that the choice was made on, "
            f"but its shape is {table.shape}. Pass a DataFrame to have columns taken by name."
        )
    else:
        place = {name: at for at, name in enumerate(names)}
        places = [place[name] for name in wanted]
        is_frame = isinstance(table, pd.DataFrame)
        table = table.iloc[:, places] if is_frame else table[:, places]
    matrix = as_matrix(table, "features", tuple(wanted))
    refuse_missing(matrix, "features", tuple(wanted))
    return matrix, table.index if isinstance(table, pd.DataFrame) else None


def refuse_missing(matrix: Any, argument: str, names: tuple[str, ...]) -> None:
    """Raise where a value is missing and no argument drops rows."""
    blocks: dict[str, str] = {}
    absent = _rows_missing(matrix, argument, names, blocks)
    if blocks:
        raise exc.DataError(
            f"{argument} has missing values in {absent.sum()} row(s), in column(s) "
            f"{blocks[argument]}. Leave those rows out, or fill them in first."
        )


def _first_columns(
    terms: Mapping[str, tuple[str, ...]], names: tuple[str, ...], matrix: Any
) -> tuple[tuple[str, ...], Any]:
    """Return one column of each term: where a category is missing all of its columns are."""
    first = {made[0]: term for term, made in terms.items() if made}
    if len(first) == len(names) or not first:
        return names, matrix
    places = [at for at, name in enumerate(names) if name in first]
    return tuple(first[names[at]] for at in places), matrix[:, places]


def _take(rows: BoolArray, *parts: Any) -> Iterable[Any]:
    return (None if part is None else part[rows] for part in parts)


def _rows_missing(
    matrix: Any, argument: str, names: tuple[str, ...], blocks: dict[str, str], ends: Any = None
) -> BoolArray:
    """Mark rows with NaN, and list in `blocks` which columns have some; raise for infinities."""
    n_rows = matrix.shape[0]
    rows = np.zeros((2, n_rows), dtype=np.bool_)
    if matrix.dtype.kind != "f":
        return np.asarray(rows[0])
    ends = column_ends(matrix) if ends is None else ends
    suspects = np.flatnonzero(~(np.abs(ends) <= LARGEST).all(axis=0))
    columns: tuple[list[str], list[str]] = [], []
    for part in chunks(len(suspects), 8 * n_rows):
        values = dense(matrix[:, suspects[part]])
        for at, hits in enumerate((np.isnan(values), np.abs(values) > np.float64(LARGEST))):
            rows[at] |= hits.any(axis=1)
            columns[at].extend(names[column] for column in suspects[part][hits.any(axis=0)])
    if columns[1]:
        n_large, listed = int(rows[1].sum()), exc.shorten(columns[1])
        message = exc.INFINITE.format(
            argument=argument, n_rows=n_large, columns=listed, largest=LARGEST
        )
        raise exc.DataError(message)
    if columns[0]:
        blocks[argument] = exc.shorten(columns[0])
    return np.asarray(rows[0])


def _pack(matrix: Any, names: tuple[str, ...]) -> PackedBits:
    """Check that labels are 0/1 and pack them, a block of rows at a time."""
    n_rows, n_labels = matrix.shape
    packed = np.empty((n_rows, (n_labels + 7) // 8), dtype=np.uint8)
    for block in chunks(n_rows, 8 * n_labels):
        part = matrix[block]
        dense = part.toarray() if sparse.issparse(part) else part
        ones = dense.astype(np.bool_)
        if dense.dtype.kind != "b" and not np.array_equal(ones, dense):
            _raise_not_binary(matrix, names)
        packed[block] = np.packbits(ones, axis=1)
    return packed


def _raise_not_binary(matrix: Any, names: tuple[str, ...]) -> None:
    for at, name in enumerate(names):
        column = matrix[:, [at]]
        values = np.unique(column.toarray() if sparse.issparse(column) else column)
        if np.isin(values, (0, 1)).all():
            continue
        given = ", ".join(f"{value:g}" for value in values[:5]) + (", …" if len(values) > 5 else "")
        plain = [int(value) if value == int(value) else float(value) for value in values[:3]]
        hint = say_recoding(name, plain)
        raise exc.DataError(exc.NOT_BINARY.format(column=name, values=given, hint=hint))
