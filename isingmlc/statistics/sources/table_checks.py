"""The door for tables: columns, types, labels and weights, before any feature is read."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import IntArray, chunks
from isingmlc.input.checks import check_ratio
from isingmlc.input.columns import name_roles
from isingmlc.input.context import Context
from isingmlc.input.gaps import missing_error, say_dropped
from isingmlc.input.sampling import GROUPS, SAMPLING_WEIGHTS
from isingmlc.input.tables import LARGEST
from isingmlc.statistics.sources.cells import check_clashes, check_sampling, covariate_names
from isingmlc.statistics.sources.queries import (
    COLUMNS_AT_ONCE,
    count,
    count_any,
    count_rows,
    import_ibis,
    is_missing,
    one_row,
)

_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_HINTS = {
    "labels": "Code them 0/1 in the table first, and leave missing answers NULL.",
    "features": "Leave them out by features=[…], or turn them into numbers first.",
    "freq_weights": "Turn it into numbers first.",
    "sampling_weights": "Turn it into numbers first.",
}


@dataclass(frozen=True)
class TableColumns:
    """Which columns of a table are what."""

    labels: tuple[str, ...]
    features: tuple[str, ...]
    covariates: tuple[str, ...]
    freq_weights: str | None
    groups: str | None
    sampling_weights: str | None
    missing: str

    @property
    def sampling(self) -> dict[str, str]:
        """The columns of clusters and of sampling weights, by argument."""
        given = {GROUPS: self.groups, SAMPLING_WEIGHTS: self.sampling_weights}
        return {argument: name for argument, name in given.items() if name is not None}

    @property
    def weights(self) -> tuple[str, ...]:
        """The columns that rows are multiplied with."""
        given = self.freq_weights, self.sampling_weights
        return tuple(name for name in given if name is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read."""
        weights = () if self.freq_weights is None else (self.freq_weights,)
        every = (*self.labels, *self.features, *self.covariates, *weights, *self.sampling.values())
        return tuple(dict.fromkeys(every))


def check_columns(
    table: Any,
    labels: str | Sequence[str],
    features: str | Sequence[str] | None,
    covariates: str | Sequence[str] | None,
    freq_weights: str | None,
    groups: str | None,
    sampling_weights: str | None,
    missing: str,
) -> TableColumns:
    """Check names and types, which needs no query."""
    ibis = import_ibis()
    check_option("missing", missing, ("raise", "drop"))
    if not isinstance(table, ibis.Table):
        raise exc.DataError(
            f"table must be an Ibis table, but is {type(table).__name__}. Make one with "
            "ibis.memtable(frame) or from a connection, e.g. ibis.pyspark.connect(spark)"
            ".table(name); for rows in memory use LabelsetStatistics.from_arrays."
        )
    drawn = freq_weights, groups, sampling_weights
    labels, features, context = name_roles(
        table.columns, labels, features, covariate_names(covariates), drawn
    )
    if not labels:
        raise exc.DataError("labels must name at least one column of the table, but names none.")
    named = {
        "labels": labels,
        "features": features,
        "freq_weights": () if freq_weights is None else (freq_weights,),
        SAMPLING_WEIGHTS: () if sampling_weights is None else (sampling_weights,),
    }
    check_clashes(context, labels, features)
    check_sampling({GROUPS: groups, SAMPLING_WEIGHTS: sampling_weights}, labels, features)
    clusters = () if groups is None else (groups,)
    _check_names(table, named | {"covariates": context, GROUPS: clusters})
    schema = table.schema()
    for argument, names in named.items():
        # Text among the features is a category.
        is_usable = _is_covariate if argument == "features" else _is_number
        odd = {name: schema[name] for name in names if not is_usable(schema[name])}
        if odd:
            raise exc.DataError(
                exc.NOT_NUMERIC.format(
                    argument=argument,
                    columns=exc.shorten(odd),
                    kind=_list_types(odd),
                    hint=show_text(table, odd) + _HINTS[argument],
                )
            )
    odd = {name: schema[name] for name in context if not _is_covariate(schema[name])}
    if odd:
        raise exc.DataError(
            exc.NOT_A_COVARIATE.format(columns=exc.shorten(odd), kind=_list_types(odd))
        )
    odd = {name: schema[name] for name in clusters if not _is_covariate(schema[name])}
    if odd:
        raise exc.DataError(
            f"groups must be a column of numbers or text, but {groups!r} is of type "
            f"{_list_types(odd)}. Cast it to text first."
        )
    return TableColumns(labels, features, context, freq_weights, groups, sampling_weights, missing)


def show_text(table: Any, odd: dict[str, Any]) -> str:
    """Show a text among the values of the first of some columns that is no number."""
    name, kind = next(iter(odd.items()))
    if not kind.is_string():
        return ""
    text = table[name]
    found = one_row(table.filter(~text.re_search(_NUMBER)).aggregate(text=text.min()))["text"]
    return "" if found is None else f"Column {name!r} holds {found!r}. "


def _check_names(table: Any, named: dict[str, tuple[str, ...]]) -> None:
    for argument, names in named.items():
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise exc.DataError(
                exc.DUPLICATE_NAMES.format(argument=argument, names=exc.shorten(repeated))
            )
    shared = [name for name in named["features"] if name in set(named["labels"])]
    if shared:
        verb = "is" if len(shared) == 1 else "are"
        raise exc.DataError(exc.SHARED_NAMES.format(names=f"{exc.shorten(shared)} {verb}"))
    present = set(table.columns)
    lacking = [name for names in named.values() for name in names if name not in present]
    if lacking:
        raise exc.DataError(
            exc.LACKING_COLUMNS.format(
                argument="table",
                columns=exc.shorten(lacking),
                present=exc.shorten(table.columns, 20),
            )
        )


def _is_number(kind: Any) -> bool:
    return bool(kind.is_numeric() or kind.is_boolean())


def _is_covariate(kind: Any) -> bool:
    return bool(_is_number(kind) or kind.is_string())


def _list_types(columns: dict[str, Any]) -> str:
    return ", ".join(sorted({str(kind) for kind in columns.values()}))


def check_context(context: Context, n_rows: IntArray) -> None:
    """Check the covariates of cells."""
    large = np.abs(context.numbers) > LARGEST
    if large.any():
        names = [context.names[at] for at in np.flatnonzero(large.any(axis=0)).tolist()]
        raise exc.DataError(
            exc.INFINITE.format(
                argument="covariates",
                n_rows=n_rows[large.any(axis=1)].sum(),
                columns=exc.shorten(names),
                largest=LARGEST,
            )
        )


def missing_values(rows: Any, columns: TableColumns) -> exc.DataError:
    """Make the error that names all columns with missing values."""
    gaps = count_rows(rows, columns.names, is_missing)
    named = {"labels": columns.labels, "features": columns.features}
    blocks = {
        argument: exc.shorten([name for name in names if name in gaps])
        for argument, names in named.items()
    }
    blocks["covariates"] = ", ".join(
        f"{name!r} ({gaps[name]})" for name in columns.covariates if name in gaps
    )
    single = {**columns.sampling, "freq_weights": columns.freq_weights}
    blocks |= {argument: repr(name) for argument, name in single.items() if name in gaps}
    found = {argument: listed for argument, listed in blocks.items() if listed}
    return missing_error(count_any(rows, list(gaps), is_missing), found)


def usable_rows(table: Any, columns: TableColumns, made_of: Mapping[str, str]) -> Any:
    """Check all labels and weights, and leave out the rows that do not count."""
    rows, weights = table, columns.freq_weights
    if weights is not None:
        _check_weights(table, weights)
        rows = table.filter((table[weights] != 0) | is_missing(table[weights]))
    if columns.sampling_weights is not None:
        _check_weights(rows, columns.sampling_weights, exc.BAD_SAMPLING_WEIGHTS)
    n_rows, lacks_labels = _check_labels(rows, columns)
    if columns.missing == "raise":
        single = [*columns.weights, *filter(None, [columns.groups])]
        if lacks_labels or (single and count_rows(rows, single, is_missing)):
            raise missing_values(rows, columns)
        return rows
    names = list(dict.fromkeys(made_of.get(name, name) for name in columns.names))
    gaps = count_rows(rows, names, is_missing)
    if not gaps:
        return rows
    complete = rows.filter(*(~is_missing(rows[name]) for name in gaps))
    n_complete = count(complete)
    if not n_complete:
        raise exc.NoRowsError(exc.NOTHING_LEFT.format(n_rows=n_rows))
    message = say_dropped(
        n_rows,
        n_rows - n_complete,
        list(gaps),
        np.array(list(gaps.values())),
        _count_alone(rows, list(gaps)),
    )
    lacking = ", ".join(f"{name!r} ({gaps[name]})" for name in columns.covariates if name in gaps)
    if lacking:
        message += exc.COVARIATES_LACK.format(columns=lacking)
    exc.warn(message, exc.DataWarning)
    return complete


def _count_alone(rows: Any, names: Sequence[str]) -> IntArray:
    """Count the rows in which each of some columns is the only one that lacks a value."""
    lacking = reduce(operator.add, (is_missing(rows[name]).cast("int64") for name in names))
    lonely = rows.filter(lacking == 1)
    found = count_rows(lonely, names, is_missing)
    return np.array([found.get(name, 0) for name in names])


def _check_labels(rows: Any, columns: TableColumns) -> tuple[int, bool]:
    """Check every label of every row; give the number of rows, and whether labels are missing."""
    n_rows, is_absent = 0, False
    for part in chunks(len(columns.labels), width=COLUMNS_AT_ONCE):
        names = columns.labels[part]
        metrics = {"n": rows.count()}
        for at, name in enumerate(names):
            column = rows[name]
            metrics[f"missing{at}"] = is_missing(column).sum()
            if not column.type().is_boolean():
                odd = ~column.isin((0, 1)) & ~is_missing(column)
                metrics[f"odd{at}"] = odd.sum()
                metrics[f"value{at}"] = odd.ifelse(column.cast("float64"), None).max()
        found = one_row(rows.aggregate(**metrics))
        n_rows = int(found["n"])
        if not n_rows:
            shape = (0, len(rows.columns))
            raise exc.NoRowsError(exc.EMPTY.format(argument="table", what="row", shape=shape))
        for at, name in enumerate(names):
            if found.get(f"odd{at}"):
                raise exc.DataError(
                    f"labels must be coded 0/1, but column {name!r} holds {found[f'value{at}']:g}; "
                    f"values other than 0 and 1 are in {found[f'odd{at}']} of {n_rows} rows. "
                    f"{exc.CODE_VALUES}"
                )
        is_absent |= any(found[f"missing{at}"] for at in range(len(names)))
    return n_rows, is_absent


def _check_weights(table: Any, weights: str, template: str = exc.BAD_WEIGHTS) -> None:
    column = table[weights]
    present = (~is_missing(column)).ifelse(column.cast("float64"), None)
    found = one_row(
        table.aggregate(
            n=table.count(),
            least=present.min(),
            smallest=(present > 0).ifelse(present, None).min(),
            most=present.max(),
            missing=is_missing(column).sum(),
        )
    )
    least, most, n_missing = found["least"], found["most"], found["missing"]
    if found["n"] and not most and not n_missing and not least:
        raise exc.NoRowsError(template.format(problem="all of them are zero"))
    problem = ""
    may_be_zero = template == exc.BAD_WEIGHTS
    if least is not None and (least < 0 or (least == 0 and not may_be_zero)):
        problem = f"column {weights!r} holds {least:g}"
    elif most is not None and most > LARGEST:
        problem = f"column {weights!r} holds {most:g}"
    if problem:
        raise exc.DataError(template.format(problem=problem))
    if found["smallest"]:
        argument = "freq_weights" if may_be_zero else SAMPLING_WEIGHTS
        check_ratio(argument, found["smallest"], most)
