"""Checkpoints: statistics on their way, with what must be known to go on from there."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isingmlc import exceptions as exc
from isingmlc.base.storage import read_arrays, write_arrays
from isingmlc.statistics.labelsets import (
    FILE_KIND,
    LabelsetStatistics,
    put_together,
    take_apart,
)

# Time between two writes of a checkpoint.
_SECONDS = 60.0


@dataclass
class Checkpoint:
    """A file with the statistics so far; `LabelsetStatistics.load` reads it too.

    Parameters
    ----------
    path : path-like or None
        The file; None keeps nothing.
    settings : mapping
        What must be the same when the work goes on, as JSON can hold it.
    """

    path: str | os.PathLike[str] | None
    settings: Mapping[str, Any]
    _written: float = field(default_factory=time.monotonic)

    def resume(self) -> tuple[LabelsetStatistics, dict[str, Any]] | None:
        """Read what was done before.

        Returns
        -------
        tuple of LabelsetStatistics and dict, or None
            The statistics so far and the progress that was saved with them; None if nothing was
            saved.

        Raises
        ------
        FileError
            When the file is no checkpoint.
        DataError
            When it was made with other settings.
        """
        if self.path is None or not Path(self.path).exists():
            return None
        header, arrays = read_arrays(self.path, FILE_KIND)
        name = os.fspath(self.path)
        if "checkpoint" not in header:
            raise exc.FileError(
                f"{name!r} holds finished statistics, not a checkpoint. Give checkpoint another "
                "path."
            )
        saved = header["checkpoint"]
        given = json.loads(json.dumps(self.settings))
        for setting, value in given.items():
            if saved["settings"].get(setting) != value:
                raise exc.DataError(
                    f"the checkpoint {name!r} was made with {setting}="
                    f"{saved['settings'].get(setting)!r}, but {setting}={value!r} is given. Call "
                    "with the same settings, or remove the file to begin anew."
                )
        return put_together(header, arrays), saved["progress"]

    def save(
        self, stats: LabelsetStatistics | None, progress: Mapping[str, Any], *, now: bool = False
    ) -> None:
        """Write what was done so far, if the last write was long enough ago.

        Parameters
        ----------
        stats : LabelsetStatistics or None
            The statistics so far; None if there are none.
        progress : mapping
            What `resume` is to give back.
        now : bool
            Whether to write no matter how long ago the last write was.
        """
        due = now or time.monotonic() - self._written > _SECONDS
        if self.path is None or stats is None or not due:
            return
        header, arrays = take_apart(stats)
        saved = {"settings": self.settings, "progress": progress}
        write_arrays(self.path, FILE_KIND, {**header, "checkpoint": saved}, arrays)
        self._written = time.monotonic()
