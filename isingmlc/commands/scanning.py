"""Models of files that need not fit into memory, for what needs no rows."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from isingmlc import exceptions as exc
from isingmlc.commands.categories import FEW_VALUES, Levels, check_levels, list_gaps
from isingmlc.commands.inputs import announce, choose_covariates, choose_sampling

if TYPE_CHECKING:
    from isingmlc.model import IsingModel
    from isingmlc.statistics.sources.files import OpenFiles

# Values, rows times columns, from which on a Parquet file is scanned: 0.4 GB as numbers.
LARGE = 50_000_000
_PARQUET = (".parquet", ".pq", ".parq")


def is_scanned(options: Namespace, needs_rows: bool = False) -> bool:
    """Choose whether files are summed up as they are read, and say so."""
    if options.scan is not None:
        return bool(options.scan)
    if Path(options.data).is_dir() or (has_magic(options.data) and not Path(options.data).exists()):
        return True
    size = _parquet_size(options.data)
    if size is None or size[0] * size[1] < LARGE:
        return False
    what = f"isingmlc {options.command}: {options.data} has {size[0]:,} rows and {size[1]} columns"
    if needs_rows:
        print(f"{what}; they are read into memory, for this needs rows", file=sys.stderr)
        return False
    if find_spec("ibis") is None or find_spec("duckdb") is None:
        print(
            f"{what}; they are read into memory, for summing them up as they are read needs pip "
            'install "isingmlc[engines]"',
            file=sys.stderr,
        )
        return False
    print(
        f"{what}; they are summed up as they are read, and p-values are those that sums give "
        "(--no-scan reads them into memory)",
        file=sys.stderr,
    )
    return True


def _parquet_size(data: str) -> tuple[int, int] | None:
    """Read how many rows and columns a Parquet file has; None if it is none that can be read."""
    if not data.lower().endswith(_PARQUET):
        return None
    try:
        from pyarrow.parquet import read_metadata

        found = read_metadata(data)
    except (ImportError, OSError, ValueError):
        # Whoever reads the file says what is wrong with it.
        return None
    return found.num_rows, found.num_columns


def scan_model(options: Namespace) -> IsingModel:
    """Sum the rows of files up, and make the model of the sums."""
    from isingmlc.input.categories import name_columns
    from isingmlc.input.columns import choose_columns
    from isingmlc.model import IsingModel
    from isingmlc.statistics.labelsets import MAX_MEMORY
    from isingmlc.statistics.sources.engines import read_table
    from isingmlc.statistics.sources.files import open_files
    from isingmlc.statistics.sources.text import (
        as_text,
        code_text,
        count_values,
        remember_categories,
    )

    for name in ("xml", "sep", "encoding"):
        if getattr(options, name) is not None:
            raise exc.DataError(f"--{name} is for files that are read whole: leave out --scan.")
    if not options.labels:
        raise exc.DataError(
            f"nothing says which columns of {options.data} are labels. Give their names or a "
            "pattern, e.g. --labels a,b,c or --labels 'y_*'."
        )
    with open_files(options.data) as opened:
        labels, features, covariates, drawn = _choose(opened, options)
        wanted = options.categories
        named = choose_columns("categories", [*features, *covariates], wanted) if wanted else []
        opened = replace(opened, table=as_text(opened.table, named))
        levels = _find_categories(opened, "features", features, named)
        announce(
            options,
            levels,
            _find_categories(opened, "covariates", covariates, named),
            count_values(opened.table, [*features, *covariates], FEW_VALUES),
        )
        if options.missing == "raise":
            roles = {"labels": labels, "features": features, "covariates": covariates}
            roles |= {argument: [name] for argument, name in drawn.items()}
            _refuse_gaps(opened, levels, roles)
        constant = [name for name, each in levels.items() if len(each) < 2]
        if constant:
            exc.warn(exc.ONE_LEVEL.format(names=exc.shorten(constant)), exc.DataWarning)
        terms = {
            name: name_columns(name, levels[name]) if name in levels else (name,)
            for name in features
        }
        stats, _ = read_table(
            code_text(opened.table, levels),
            labels,
            [column for columns in terms.values() for column in columns],
            covariates,
            drawn.get("freq_weights"),
            drawn.get("groups"),
            drawn.get("sampling_weights"),
            options.missing,
            MAX_MEMORY,
            opened.levels,
            {column: name for name, columns in terms.items() for column in columns},
        )
    stats = remember_categories(stats, terms)
    model = IsingModel.from_statistics(stats, intercept=not options.no_intercept)
    if any(name not in model.terms for name, made in terms.items() if len(made) > 1):
        raise exc.DataError(
            "to test a category as a whole its sums must fit into memory, but there are too many "
            "labelsets. Leave categories out with --drop NAMES, or model fewer labels."
        )
    known = {name: made for name, made in terms.items() if made}
    return IsingModel._restore(model.statistics, model.intercept, known)


def _choose(
    opened: OpenFiles, options: Namespace
) -> tuple[list[str], list[str], list[str], dict[str, str]]:
    """Choose labels, features, covariates, and weights and clusters, by names alone."""
    import pandas as pd

    from isingmlc.datasets.tables import choose_roles
    from isingmlc.input.columns import choose_columns

    names = list(opened.table.columns)
    labels, features = choose_roles(
        Path(options.data),
        pd.DataFrame(columns=names),
        options.labels,
        options.features,
        options.drop,
    )
    dropped = choose_columns("drop", names, options.drop) if options.drop else []
    known = [name for name in names if name not in dropped]
    covariates = choose_covariates(known, labels, options)
    drawn = choose_sampling(known, [*labels, *(options.features or ())], options)
    taken = {*covariates, *drawn.values()}
    return labels, [name for name in features if name not in taken], covariates, drawn


def _find_categories(
    opened: OpenFiles, argument: str, names: list[str], chosen: list[str]
) -> Levels:
    """Find the columns of text and their levels, as `find_categories` does in memory."""
    from isingmlc.statistics.sources.text import find_levels, sort_numbers, text_columns

    text = text_columns(opened.table, names)
    orders = opened.levels(text)
    found = {}
    for name in text:
        levels, n_known = find_levels(opened.table, name, orders.get(name, ()))
        if name in chosen:
            levels = sort_numbers(levels)
        else:
            check_levels(argument, name, levels, n_known)
        found[name] = levels
    return found


def _refuse_gaps(opened: OpenFiles, levels: Levels, roles: Mapping[str, Sequence[str]]) -> None:
    """Refuse categories that lack values, and say which columns of all do and how many."""
    from isingmlc.input.gaps import missing_error
    from isingmlc.statistics.sources.queries import count_any, count_rows, is_missing

    if count_rows(opened.table, list(levels), is_missing):
        names = list(dict.fromkeys(name for each in roles.values() for name in each))
        gaps = count_rows(opened.table, names, is_missing)
        n_rows = count_any(opened.table, list(gaps), is_missing)
        raise missing_error(n_rows, list_gaps(gaps, roles))
