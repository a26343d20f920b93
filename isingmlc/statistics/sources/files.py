"""Labelset statistics of Parquet and CSV files, read by DuckDB."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape, glob, has_magic
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import RandomState, as_path, check_count, make_generator
from isingmlc.statistics.labelsets import MAX_MEMORY, LabelsetStatistics
from isingmlc.statistics.sources.engines import TableSource, read_table
from isingmlc.statistics.sources.queries import (
    count_rows,
    import_ibis,
    is_missing,
    one_row,
    run,
    start_duckdb,
)

PathLike: TypeAlias = str | os.PathLike[str]

_CSV = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
_PARQUET = (".parquet", ".pq", ".parq")
# What stands for a missing value in a CSV file: the same as pandas holds for one.
_MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
# What a CSV file writes for true and false; numbers alone are numbers.
_TRUE, _FALSE = ("true", "1"), ("false", "0")
# The column that numbers the rows while a sample is drawn.
_ROW = "isingmlc_row"


@overload
def scan(
    files: PathLike | Iterable[PathLike],
    *,
    labels: str | Sequence[str],
    features: Sequence[str] | None = None,
    covariates: str | Sequence[str] | None = None,
    freq_weights: str | None = None,
    groups: str | None = None,
    sampling_weights: str | None = None,
    missing: str = "raise",
    sample: None = None,
    random_state: RandomState = None,
    max_memory: float | None = MAX_MEMORY,
) -> LabelsetStatistics: ...


@overload
def scan(
    files: PathLike | Iterable[PathLike],
    *,
    labels: str | Sequence[str],
    features: Sequence[str] | None = None,
    covariates: str | Sequence[str] | None = None,
    freq_weights: str | None = None,
    groups: str | None = None,
    sampling_weights: str | None = None,
    missing: str = "raise",
    sample: int,
    random_state: RandomState = None,
    max_memory: float | None = MAX_MEMORY,
) -> tuple[LabelsetStatistics, pd.DataFrame]: ...


def scan(
    files: PathLike | Iterable[PathLike],
    *,
    labels: str | Sequence[str],
    features: Sequence[str] | None = None,
    covariates: str | Sequence[str] | None = None,
    freq_weights: str | None = None,
    groups: str | None = None,
    sampling_weights: str | None = None,
    missing: str = "raise",
    sample: int | None = None,
    random_state: RandomState = None,
    max_memory: float | None = MAX_MEMORY,
) -> LabelsetStatistics | tuple[LabelsetStatistics, pd.DataFrame]:
    """Compute the labelset statistics of files that need not fit into memory.

    Parameters
    ----------
    files : path-like or iterable of path-like
        Parquet or CSV files: a path, a pattern such as ``"data/*.parquet"``, a folder of Parquet
        files, an address that DuckDB reads (``s3://…``, ``https://…``), or a list of these. A file
        of just that name is read as itself, also if the name looks like a pattern. All files must
        have the same columns, in any order.
    labels : list of str
        The columns with the labels, boolean or 0/1 of any numeric type: names, or patterns like
        ``"y_*"``.
    features : list of str, optional
        The columns with the features, in the same way; all others if omitted. Text is a category,
        which is tested as a whole.
    covariates : list of str, optional
        The columns with the covariates, in the same way, which every label model has besides the
        other labels: numbers, booleans, or text, whose values are the levels of a category.
    freq_weights : str, optional
        The column that says how many observations each row stands for.
    groups : str, optional
        The column that tells the cluster of dependent rows that a row belongs to, numbers or text.
    sampling_weights : str, optional
        The column with inverse probabilities of being drawn.
    missing : {"raise", "drop"}
        What to do with rows that have missing values in any of these columns.
    sample : int, optional
        Also draw this many rows, for what needs rows: Wald and likelihood-ratio tests, saddlepoint
        p-values, the l1 methods, the choice of features. All rows if there are fewer.
    random_state : int, Generator or None
        Source of the sample.
    max_memory : float or None
        Bytes that sums and squares may take. If there are so many labelsets that they would take
        more, the files are read in blocks of features when a test needs them; a warning says so.
        With covariates there are cells instead: combinations of a labelset and their values.

    Returns
    -------
    stats : LabelsetStatistics
        The statistics; `IsingModel.from_statistics` makes a model of them.
    rows : DataFrame
        The sample, in the order of the files; only if `sample` is given.

    Raises
    ------
    FileError
        When there is no such file, or one cannot be read; the message names it where DuckDB does.
    DataError
        When columns are absent or of a type that they cannot have, when labels are not 0/1, or
        covariates lack values: before features are read.
    EngineError
        When Ibis and DuckDB are not installed.

    See Also
    --------
    LabelsetStatistics.from_table : the same for a table in a database or on a cluster.
    LabelsetStatistics.from_batches : the same for anything that comes in batches.

    Notes
    -----
    A column has a type that holds its values in all rows of all files: whole numbers and decimals
    together are decimals. In CSV files a column with any value that is no number is text; in
    Parquet files numbers and text in the same column are an error. CSV files are read once more to
    find the types.

    DuckDB sums in several threads, in an order that is not always the same, so sums agree from run
    to run to about 13 digits. A sample is drawn by numbering the rows in the order of the files
    and taking the numbers that numpy draws without replacement, so it is the same whenever the
    files and `random_state` are. It costs one more pass over the files.

    Examples
    --------
    >>> import isingmlc as im, numpy as np, tempfile
    >>> data = im.datasets.load_example()
    >>> labels = list(data.labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data.labels.join(data.features).to_parquet(f"{folder}/part1.parquet")
    ...     stats, rows = im.scan(f"{folder}/*.parquet", labels=labels, sample=500, random_state=0)
    >>> stats
    LabelsetStatistics(1500 rows, 6 labels, 30 features, 55 labelsets)
    >>> im.IsingModel.from_statistics(stats).fit().rank_features().order[:2]
    ('age', 'bmi')
    >>> len(rows)
    500

    With covariates rows are grouped by their values too, and text is a category:

    >>> people = data.labels.join(data.features[["bmi"]])
    >>> people["sex"] = np.where(data.features["female"], "f", "m")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people.to_parquet(f"{folder}/people.parquet")
    ...     stats = im.scan(f"{folder}/people.parquet", labels=labels, covariates=["sex"])
    >>> stats
    LabelsetStatistics(1500 rows, 6 labels, 1 features, 1 covariate, 97 cells)
    >>> im.IsingModel.from_statistics(stats).fit().params.index[-1]
    'sex[T.m]'
    """
    n_sample = None if sample is None else check_count("sample", sample, 1)
    generator = make_generator(random_state)
    with open_files(files) as opened:
        stats, source = read_table(
            opened.table,
            labels,
            features,
            covariates,
            freq_weights,
            groups,
            sampling_weights,
            missing,
            max_memory,
            opened.levels,
        )
        if n_sample is None:
            return stats
        return stats, _draw(source, stats.n_rows, n_sample, generator)


@dataclass(frozen=True)
class OpenFiles:
    """Files that DuckDB has opened."""

    table: Any
    paths: tuple[str, ...]

    def levels(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Find the order of levels where files say one, as those of pandas' categories do."""
        from pyarrow import types
        from pyarrow.parquet import ParquetFile

        found: dict[str, list[tuple[str, ...]]] = {name: [] for name in names}
        local = [path for path in self.paths if "://" not in path and _kind_of(path) == "parquet"]
        for path in local:
            with ParquetFile(path) as file:
                schema = file.schema_arrow
                wanted = [name for name in names if types.is_dictionary(schema.field(name).type)]
                levels: dict[str, dict[str, None]] = {name: {} for name in names}
                for batch in file.iter_batches(columns=wanted) if wanted else ():
                    for name in wanted:
                        values = batch.column(name).dictionary.to_pylist()
                        levels[name].update(dict.fromkeys(map(str, values)))
                for name in names:
                    found[name].append(tuple(levels[name]))
        differ = [name for name, orders in found.items() if len(set(orders)) > 1]
        if differ:
            exc.warn(
                f"the files do not hold the same levels in the same order for column(s) "
                f"{exc.shorten(differ)}: their levels are taken in alphabetical order. Write the "
                "files with the same categories to keep their order.",
                exc.DataWarning,
            )
        return {
            name: orders[0]
            for name, orders in found.items()
            if name not in differ and orders and orders[0]
        }


@contextmanager
def open_files(files: PathLike | Iterable[PathLike]) -> Iterator[OpenFiles]:
    """Open files as one table; an error of DuckDB about one of them then names it."""
    paths = _find_files(files)
    duckdb = start_duckdb()
    try:
        yield OpenFiles(_open_table(duckdb, paths), tuple(paths))
    except exc.EngineError as error:
        damage = _find_damage(error, paths)
        if damage is None:
            raise
        raise exc.FileError(damage) from error


def _find_files(files: PathLike | Iterable[PathLike]) -> list[str]:
    """Expand patterns and folders."""
    given: list[Any] = [files]
    if isinstance(files, Iterable) and not isinstance(files, str | os.PathLike):
        given = list(files)
    if not given:
        raise exc.FileError("files must name at least one file, but names none.")
    paths: list[str] = []
    for item in given:
        is_address = isinstance(item, str) and "://" in item
        name = item if is_address else str(as_path("files", item))
        try:
            if is_address or Path(name).is_file():
                found = [name]
            elif Path(name).is_dir():
                found = sorted(str(path) for path in Path(name).rglob("*.parquet"))
            else:
                found = sorted(glob(name, recursive=True))  # noqa: PTH207  (absolute patterns)
        except OSError as error:
            raise exc.FileError(f"{name!r} cannot be read: {error.strerror}.") from error
        if not found:
            what = "that matches" if has_magic(name) else "or Parquet file in"
            raise exc.FileError(f"there is no file {what} {name!r}. Check the path.")
        paths += found
    return paths


def _open_table(duckdb: Any, paths: Sequence[str]) -> Any:
    """Open the files as one table whose types hold the values of all of them."""
    kinds = {path: _kind_of(path) for path in paths}
    if len(set(kinds.values())) > 1:
        examples = exc.shorten({kind: path for path, kind in kinds.items()}.values())
        raise exc.DataError(
            f"files must all be Parquet or all be CSV, but there are both: {examples}. Scan them "
            "one after the other, and add the statistics."
        )
    try:
        read = _read_parquet if kinds[paths[0]] == "parquet" else _read_csv
        return read(duckdb, paths)
    except exc.DataError:
        raise
    except Exception as error:  # errors of Ibis or of DuckDB
        raise exc.EngineError(
            f"DuckDB could not open the files: {type(error).__name__}: {error}"
        ) from error


def _literal(path: str) -> str:
    """Write a path so that DuckDB does not expand it as a pattern; an address stays as it is."""
    return path if "://" in path else escape(os.path.abspath(path))  # noqa: PTH100  (as Ibis does)


def _read_parquet(duckdb: Any, paths: Sequence[str]) -> Any:
    """Read Parquet files, those with the same columns and types at once, in types for all."""
    query = "SELECT file_name, name, duckdb_type FROM parquet_schema(?)"
    schemas = [
        (file, [(name, kind) for _, name, kind in rows])
        for path in paths
        for file, rows in groupby(
            duckdb.con.execute(query, [_literal(path)]).fetchall(), itemgetter(0)
        )
    ]
    # Names of columns as the files write them, and the table that DuckDB makes.
    tables: list[tuple[str, list[str], Any]] = []
    for columns, alike in groupby(schemas, itemgetter(1)):
        files = [file for file, _ in alike]
        # Only what is in the files is read, not what folders are called (a=1/rows.parquet).
        table = duckdb.read_parquet([*map(_literal, files)], hive_partitioning=False)
        tables.append((files[0], [name for name, _ in columns[1:]], table))
    for file, written, table in tables:
        # DuckDB renames columns that differ by case only.
        if not {*written}.issuperset(table.columns):
            _check_case(file, written)
    _check_same_columns({file: table.columns for file, _, table in tables})
    return _unite([file for file, _, _ in tables], [table for _, _, table in tables])


def _unite(files: Sequence[str], tables: Sequence[Any]) -> Any:
    """Put tables with the same columns one below the other, each column in a type for all."""
    ibis = import_ibis()
    if len(tables) == 1:
        return tables[0]
    parts: list[dict[str, Any]] = [{} for _ in tables]
    for name in tables[0].columns:
        held = [table[name] for table in tables]
        wide = _widest({column.type() for column in held})
        if wide is None:
            # A column without any value is of no type, whatever the file says.
            filled = [one_row(table.aggregate(n=table[name].count()))["n"] > 0 for table in tables]
            kinds = {str(held[at].type()): files[at] for at in np.flatnonzero(filled).tolist()}
            wide = _widest({held[at].type() for at in np.flatnonzero(filled).tolist()})
            if wide is None:
                listed = ", ".join(f"{kind} in {file!r}" for kind, file in kinds.items())
                raise exc.DataError(
                    f"column {name!r} must be of one type in all files, numbers or text, but is "
                    f"{listed}. Write the files again with one type."
                )
            held = [
                column if has else ibis.null(wide) for column, has in zip(held, filled, strict=True)
            ]
        for part, column in zip(parts, held, strict=True):
            part[name] = column.cast(wide)
    chosen = [table.select(**part) for table, part in zip(tables, parts, strict=True)]
    return _stack(chosen)


def _stack(tables: Sequence[Any]) -> Any:
    """Put tables one below the other in their order, which ibis.union of many does not keep."""
    half = len(tables) // 2
    return _stack(tables[:half]).union(_stack(tables[half:])) if half else tables[0]


def _widest(kinds: set[Any]) -> Any:
    """Find a type that holds the values of all; None if there is none."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if not kinds or not all(kind.is_numeric() or kind.is_boolean() for kind in kinds):
        return None
    is_whole = all(kind.is_integer() or kind.is_boolean() for kind in kinds)
    dtypes = import_ibis().expr.datatypes
    return dtypes.int64 if is_whole and dtypes.uint64 not in kinds else dtypes.float64


def _read_csv(duckdb: Any, paths: Sequence[str]) -> Any:
    """Read CSV files; a column is of numbers if all its values in all files are."""
    # Types that DuckDB infers from a sample of rows would round the values of others.
    options = {
        "all_varchar": True,
        "nullstr": list(_MISSING),
        "hive_partitioning": False,
        "union_by_name": True,
    }
    for path in paths:
        header = run(
            duckdb.read_csv([_literal(path)], header=False, **options).limit(1)
        ).to_pylist()
        _check_case(path, [name for row in header for name in row.values() if name is not None])
    tables = {path: duckdb.read_csv([_literal(path)], header=True, **options) for path in paths}
    _check_same_columns({path: table.columns for path, table in tables.items()})
    table = duckdb.read_csv([*map(_literal, paths)], header=True, **options)
    fractions = count_rows(table, table.columns, lambda text: ~text.re_search(r"^-?\d{1,18}$"))
    words = count_rows(table, list(fractions), lambda text: ~_is_float(text))
    names = count_rows(table, list(words), lambda text: ~text.lower().isin(_TRUE + _FALSE))
    made = {}
    for name in table.columns:
        if name not in fractions:
            made[name] = table[name].cast("int64")
        elif name not in words:
            made[name] = table[name].cast("float64")
        elif name not in names:
            made[name] = table[name].lower().isin(_TRUE)
    return table.mutate(**made)


def _is_float(text: Any) -> Any:
    """Mark texts that are numbers; DuckDB takes 1_2 for one too."""
    return ~is_missing(text.try_cast("float64")) & ~text.contains("_")


def _check_case(path: str, names: Sequence[str]) -> None:
    """Refuse a file with columns whose names are the same, or differ by case only."""
    folded = Counter(name.lower() for name in names)
    alike = [name for name in names if folded[name.lower()] > 1]
    if alike:
        raise exc.FileError(
            f"{path!r} has columns whose names are the same or differ by case only: "
            f"{exc.shorten(alike)}. Rename them in the file."
        )


def _check_same_columns(columns: Mapping[str, Sequence[str]]) -> None:
    """Refuse files that do not have the same columns, in whatever order."""
    (first, known), *others = columns.items()
    for path, names in others:
        more = [name for name in names if name not in set(known)]
        fewer = [name for name in known if name not in set(names)]
        if more or fewer:
            has = [f"has {exc.shorten(more)}"] * bool(more)
            lacks = [f"lacks {exc.shorten(fewer)}"] * bool(fewer)
            raise exc.DataError(
                "files must all have the same columns, with the same spelling, but compared with "
                f"{first!r} the file {path!r} {' and '.join(has + lacks)}. Rename, add or remove "
                "columns in the files."
            )


def _kind_of(path: str) -> str:
    name = path.lower()
    if name.endswith(_PARQUET):
        return "parquet"
    if name.endswith(_CSV):
        return "csv"
    raise exc.FileError(
        f"{path!r} must end in one of {', '.join((*_PARQUET, *_CSV))}. Rename it, or read it with "
        "LabelsetStatistics.from_batches or Ibis and LabelsetStatistics.from_table."
    )


def _find_damage(error: exc.EngineError, paths: Sequence[str]) -> str | None:
    """Say which file is damaged and how, where an error of DuckDB is about one."""
    from duckdb import Error

    cause = error.__cause__
    # Below this it quotes the query, with the names of files that are in order.
    said = str(cause).partition("\nLINE ")[0]
    suspects = [path for path in dict.fromkeys(paths) if _is_named(path, said)]
    # An error of its most general class comes from a part that does not know the file, such as
    # the one that decodes pages. An error that names two files is about how they differ.
    if not suspects and type(cause) is Error:
        suspects = list(paths)
    elif len(suspects) != 1:
        return None
    # What comes after these is advice on the options of DuckDB.
    lines = re.split(r"\n\n|\n(?=Possible|The search)", said)[0].split()
    reason = "".join(filter(str.isprintable, " ".join(lines))).rstrip(".: ")
    if len(suspects) == 1:
        return f"{suspects[0]!r} cannot be read: {reason}. Write it again, or leave it out."
    return (
        f"one of the {len(paths)} files {exc.shorten(paths)} cannot be read, and DuckDB does not "
        f"say which: {reason}. Scan them one by one to find it."
    )


def _is_named(path: str, message: str) -> bool:
    # Ibis makes paths absolute. A path does not end where the name goes on, as in .csv.gz.
    name = path if "://" in path else os.path.abspath(path)  # noqa: PTH100  (as Ibis does)
    return re.search(rf"{re.escape(name)}(?!\.?\w)", message) is not None


def _draw(
    source: TableSource, n_rows: int, n_sample: int, generator: np.random.Generator
) -> pd.DataFrame:
    """Take rows by their numbers."""
    import pyarrow as pa

    ibis = import_ibis()
    columns, rows = source.given, source.rows
    chosen = {}
    for name in columns.names:
        column = rows[name]
        if name in columns.labels:
            column = column.cast("int8")
        elif column.type().is_decimal():
            column = column.cast("float64")
        chosen[name] = column
    picks = np.sort(generator.choice(n_rows, min(n_sample, n_rows), replace=False, shuffle=False))
    numbered = rows.select(**chosen, **{_ROW: ibis.row_number()})
    wanted = ibis.memtable(pa.table({_ROW: picks}))
    taken = numbered.semi_join(wanted, _ROW).order_by(_ROW).drop(_ROW)
    frame = run(taken).to_pandas()
    known = {name: pd.CategoricalDtype(levels) for name, levels in source.categories.items()}
    return frame.astype(known)
