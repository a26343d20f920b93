"""Models of files that need not fit into memory, for what needs no rows."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isingmlc import exceptions as exc
from isingmlc.commands.inputs import choose_covariates, choose_sampling

if TYPE_CHECKING:
    from isingmlc.model import IsingModel


def scan_model(options: Namespace) -> IsingModel:
    """Sum the rows of files up, and make the model of the sums.

    Parameters
    ----------
    options : Namespace
        Parsed arguments.

    Returns
    -------
    IsingModel
        A model without rows.

    Raises
    ------
    FileError
        When a file cannot be read, or lacks a column.
    DataError
        When nothing says which columns are labels, or an option is not for files that are scanned.
    """
    import pandas as pd

    from isingmlc.datasets.tables import choose_columns, choose_roles
    from isingmlc.model import IsingModel
    from isingmlc.statistics.sources.files import scan

    for name in ("xml", "sep", "encoding"):
        if getattr(options, name) is not None:
            raise exc.DataError(f"--{name} is for files that are read whole: leave out --scan.")
    if not options.labels:
        raise exc.DataError(
            f"nothing says which columns of {options.data} are labels. Give their names or a "
            "pattern, e.g. --labels a,b,c or --labels 'y_*'."
        )
    names = _column_names(options.data)
    path = Path(options.data)
    # Roles are chosen by names alone.
    labels, features = choose_roles(
        path, pd.DataFrame(columns=names), options.labels, options.features, options.drop
    )
    dropped = choose_columns("drop", names, options.drop) if options.drop else []
    known = [name for name in names if name not in dropped]
    covariates = choose_covariates(known, labels, options)
    drawn: dict[str, Any] = {
        **choose_sampling(known, [*labels, *(options.features or ())], options)
    }
    taken = {*covariates, *drawn.values()}
    stats = scan(
        options.data,
        labels=labels,
        features=[name for name in features if name not in taken],
        covariates=covariates or None,
        missing=options.missing,
        **drawn,
    )
    return IsingModel.from_statistics(stats, intercept=not options.no_intercept)


def _column_names(data: str) -> list[str]:
    """Read the names of the columns, and nothing else."""
    import pandas as pd

    first = Path(data)
    if any(sign in data for sign in "*?["):
        anchor = first.anchor
        matches = sorted(Path(anchor).glob(str(first.relative_to(anchor))))
        first = matches[0] if matches else first
    if first.is_dir():
        inside = sorted(first.rglob("*.parquet"))
        first = inside[0] if inside else first
    try:
        if first.suffix.lower() in (".csv", ".tsv", ".txt"):
            return [str(name) for name in pd.read_csv(first, nrows=0).columns]
        from pyarrow.parquet import read_schema

        return [str(name) for name in read_schema(first).names]
    except ImportError as error:
        raise exc.DataError('--scan needs pip install "isingmlc[engines]".') from error
    except (OSError, ValueError) as error:
        raise exc.FileError(
            f"{data}: its columns cannot be read ({error}). --scan takes Parquet and CSV files."
        ) from error
