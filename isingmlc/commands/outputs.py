"""Where the result of a command goes, and in which form."""

from __future__ import annotations

import json
import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from isingmlc import exceptions as exc
from isingmlc.commands.values import writable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from isingmlc.base.printing import IsingSummary

FORMATS = ("table", "csv", "json", "parquet")
# What a result that has a summary can be written as.
SUMMARY_FORMATS = (*FORMATS, "latex")
_BY_ENDING = {
    ".txt": "table",
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".tex": "latex",
}
# How many rows a person is shown who did not say how many.
SHOWN = 20


def add_output_arguments(
    parser: ArgumentParser,
    *,
    tables: tuple[str, ...] = (),
    formats: tuple[str, ...] = FORMATS,
    default: str = "table",
) -> None:
    """Add the arguments that `write_output` understands."""
    group = parser.add_argument_group("output")
    if tables:
        group.add_argument(
            "--table",
            choices=tables,
            help=f"which table to write (default: a summary to read, else {tables[0]})",
        )
    group.add_argument(
        "--format",
        choices=formats,
        help=f"form of the result (default: by the ending of --out, else {default})",
    )
    if "json" in formats:
        group.add_argument(
            "--json",
            dest="format",
            action="store_const",
            const="json",
            help="the same as --format json",
        )
    group.add_argument(
        "--out", type=writable, metavar="FILE", help="file to write (default: standard output)"
    )
    parser.set_defaults(formats=formats, usual_format=default)


def output_format(options: Namespace) -> str:
    """Return the form in which the result is wanted, and refuse endings that stand for none."""
    if options.format is not None:
        return str(options.format)
    if options.out is None or not options.out.suffix:
        return str(options.usual_format)
    endings = {end: kind for end, kind in _BY_ENDING.items() if kind in options.formats}
    ending = options.out.suffix.lower()
    if ending not in endings:
        raise exc.DataError(
            f"--out {options.out} ends in {ending}, which is no form that isingmlc "
            f"{options.command} writes. Known are {', '.join(endings)}; any other name does if "
            "--format says the form."
        )
    return endings[ending]


def check_output(options: Namespace, *, summary: bool = True) -> None:
    """Refuse a form that the result cannot take, before anything is computed."""
    if output_format(options) == "latex" and not summary:
        raise exc.DataError(
            "Only the summary can be written as LaTeX. Leave out what asks for another table, or "
            f"choose --format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}."
        )


def first_rows(options: Namespace, table: pd.DataFrame) -> pd.DataFrame:
    """Return as many rows as ``--top`` says; if omitted, a few for a person, all for a program."""
    usual = SHOWN if output_format(options) == "table" else len(table)
    return table.head(options.top or usual)


def write_output(
    options: Namespace, table: pd.DataFrame, text: IsingSummary | str | None = None
) -> None:
    """Write the result of a command."""
    kind = output_format(options)
    if kind == "table":
        shown = table.to_string() if text is None else str(text)
        _write(options, f"{shown.rstrip()}\n")
    elif kind == "latex":
        _write(options, f"{_latex(table, text).rstrip()}\n")
    else:
        is_named = any(name is not None for name in table.index.names)
        _write(options, _ENCODERS[kind](table.reset_index() if is_named else table))


def _write(options: Namespace, content: str | bytes) -> None:
    if options.out is None:
        if isinstance(content, str):
            sys.stdout.write(content)
        elif sys.stdout.isatty():
            raise exc.DataError("parquet is not for a terminal. Name a file with --out FILE.")
        else:
            sys.stdout.buffer.write(content)
        return
    try:
        options.out.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise exc.FileError(f"{options.out}: cannot be written ({error.strerror}).") from error
    say_written(options, options.out)


def write_picture(options: Namespace, figure: Figure | SubFigure | None) -> None:
    """Write a picture to the file that ``--plot`` names."""
    from matplotlib.figure import Figure

    assert isinstance(figure, Figure)
    try:
        figure.savefig(options.plot, dpi=150)
    except (OSError, ValueError) as error:
        raise exc.FileError(f"{options.plot}: cannot be written ({error}).") from error
    say_written(options, options.plot)


def say_written(options: Namespace, *paths: Path) -> None:
    """Say on standard error which files were written."""
    listed = " and ".join(str(path) for path in paths)
    print(f"isingmlc {options.command}: wrote {listed}", file=sys.stderr)


def _latex(table: pd.DataFrame, text: IsingSummary | str | None) -> str:
    """Write a summary as LaTeX, or a table of a command that has no summary."""
    from isingmlc.base.tables import ResultTable

    # What has a summary in words alone was refused by check_output.
    assert not isinstance(text, str)
    return str(ResultTable(table).to_latex()) if text is None else text.as_latex()


def _csv(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, lineterminator="\n"))


def _json(table: pd.DataFrame) -> str:
    """Write one object per row: null for NaN, and in quotes the infinities, which JSON lacks."""
    rows = [
        {name: _json_value(value) for name, value in row.items()}
        for row in table.to_dict(orient="records")
    ]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _json_value(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    return value


def _parquet(table: pd.DataFrame) -> bytes:
    buffer = BytesIO()
    try:
        table.to_parquet(buffer, index=False)
    except ImportError as error:
        raise exc.DataError(
            "parquet needs a package that is not installed. Try python -m pip install pyarrow, or "
            "choose --format csv."
        ) from error
    return buffer.getvalue()


_ENCODERS: dict[str, Callable[[pd.DataFrame], str | bytes]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
