"""The way to every report: what it needs is loaded here, when one is asked for."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from isingmlc import exceptions as exc
from isingmlc.base.arguments import as_path


def load_part(name: str) -> Any:
    """Import a module of this folder, or say what to install first."""
    try:
        return import_module(f"isingmlc.report.{name}")
    except ModuleNotFoundError as error:
        raise exc.ModelError(
            f'a report needs the package {error.name!r}: pip install "isingmlc[report]".'
        ) from error


def write_report_of(kind: str, found: Any, path: str | os.PathLike[str], title: str | None) -> Path:
    """Write the short report of an object."""
    target = as_path("path", path)
    describe = getattr(load_part("objects"), f"describe_{kind}")
    load_part("short").write_short(describe(found, title), target)
    return target
