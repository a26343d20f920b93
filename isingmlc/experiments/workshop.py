"""Where experiments run: what is finished is kept, tables and figures are written whole."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import isingmlc as im
from isingmlc.base.arguments import as_path
from isingmlc.datasets._files import file_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What numbers depend on.
_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "statsmodels")


def list_versions() -> dict[str, str]:
    """Return the versions of what the numbers depend on."""
    return {
        "isingmlc": im.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


@dataclass(frozen=True)
class Unit:
    """A piece of work that is computed at once and kept."""

    name: str
    settings: Mapping[str, Any]
    digest: str = ""


@dataclass(frozen=True)
class Workshop:
    """An output folder, and how to work for it."""

    out: Path
    data: Path | None = None
    n_jobs: int = 1
    seed: int = 0
    warned: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        out: str | os.PathLike[str],
        data: str | os.PathLike[str] | None = None,
        n_jobs: int = 1,
        seed: int = 0,
    ) -> Workshop:
        """Make the folder and see that it can be written."""
        folder = as_path("out", out)
        try:
            (folder / "work").mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            problem = f"the output folder cannot be written ({error.strerror}). Give another one."
            raise file_error(folder, problem) from error
        return cls(folder, None if data is None else as_path("data", data), n_jobs, seed)

    def compute(
        self,
        task: str,
        function: Callable[..., Any],
        units: Sequence[Unit],
        *,
        one_by_one: bool = False,
    ) -> list[Any]:
        """Compute units; those that are finished already are read."""
        found = {unit.name: self._read(task, unit) for unit in units}
        kept = {name: record for name, record in found.items() if record is not None}
        waiting = [unit for unit in units if unit.name not in kept]
        pool = joblib.Parallel(
            n_jobs=1 if one_by_one else self.n_jobs, return_as="generator_unordered"
        )
        finished = pool(joblib.delayed(_run)(function, unit) for unit in waiting)
        n_kept = len(units) - len(waiting)
        for unit, record in tqdm(finished, task, len(units), initial=n_kept, disable=None):
            text = json.dumps({**self._key(unit), **record}, indent=1)
            _write(self._path(task, unit), text.encode())
            kept[unit.name] = json.loads(text)
        records = [kept[unit.name] for unit in units]
        for record in records:
            self._note(record["warnings"])
        return [record["result"] for record in records]

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Keep the warnings of what is done meanwhile for the page, as those of units are."""
        with _catch_warnings() as first:
            yield
        self._note(first)

    def _note(self, warned: Mapping[str, str]) -> None:
        for category, message in warned.items():
            self.warned.setdefault(category, []).append(message)

    def _path(self, task: str, unit: Unit) -> Path:
        # Results of other settings stay beside it.
        digest = hashlib.sha256(json.dumps(self._key(unit)).encode()).hexdigest()
        return self.out / "work" / task / f"{unit.name}-{digest[:16]}.json"

    def _key(self, unit: Unit) -> dict[str, Any]:
        versions = list_versions()
        return {"settings": dict(unit.settings), "digest": unit.digest, "versions": versions}

    def _read(self, task: str, unit: Unit) -> dict[str, Any] | None:
        """Read the result of a unit; None if there is none."""
        try:
            record: dict[str, Any] = json.loads(self._path(task, unit).read_bytes())
        except (OSError, ValueError):
            return None
        return record

    def write_table(self, name: str, frame: pd.DataFrame) -> str:
        """Write a table as comma-separated values."""
        text = frame.to_csv(index=False, lineterminator="\n", float_format="%.10g")
        return self.write_text(f"{name}.csv", text)

    def write_figure(self, name: str, figure: Figure) -> str:
        """Write a figure as PNG and as SVG, the same bytes for the same picture."""
        from matplotlib import rc_context

        with rc_context({"svg.hashsalt": name}):
            for kind, options in (("png", {"dpi": 150}), ("svg", {"metadata": {"Date": None}})):
                content = io.BytesIO()
                figure.savefig(content, format=kind, **options)
                _write(self.out / f"{name}.{kind}", content.getvalue())
        return name

    def write_text(self, name: str, text: str) -> str:
        """Write a text file."""
        _write(self.out / name, text.encode())
        return name


def _run(function: Callable[..., Any], unit: Unit) -> tuple[Unit, dict[str, Any]]:
    """Compute a unit; its warnings are kept with the result."""
    # Bars of single units would run into each other; they show only on a terminal.
    hidden = contextlib.redirect_stderr(io.StringIO())
    with threadpool_limits(limits=1), hidden, _catch_warnings() as first:
        result = function(**unit.settings)
    return unit, {"result": result, "warnings": first}


@contextlib.contextmanager
def _catch_warnings() -> Iterator[dict[str, str]]:
    """Collect the first warning of each class: the others say the same of other labels."""
    first: dict[str, str] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield first
    for warning in caught:
        first.setdefault(warning.category.__name__, str(warning.message))


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise file_error(path, f"the file cannot be written ({error.strerror}).") from error
