"""Checkpoints: statistics on their way, with what must be known to go on from there."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isingmlc import exceptions as exc
from isingmlc.base.arguments import as_path
from isingmlc.base.schema import Json, Optional, Record
from isingmlc.base.storage import read_fields, write_fields
from isingmlc.statistics.labelsets import SCHEMA, LabelsetStatistics, put_together, take_apart

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
    progress : Record
        What the progress that is saved with the statistics holds.
    """

    path: str | os.PathLike[str] | None
    settings: Mapping[str, Any]
    progress: Record
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
        if self.path is None:
            return None
        path = as_path("checkpoint", self.path)
        try:
            if not path.exists():
                return None
        except OSError as error:
            raise exc.FileError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
        checkpoint = Optional(Record({"settings": Json(dict), "progress": self.progress}))
        record = replace(SCHEMA.fields, fields={**SCHEMA.fields.fields, "checkpoint": checkpoint})
        fields = read_fields(path, replace(SCHEMA, fields=record))
        name = str(path)
        if "checkpoint" not in fields:
            raise exc.FileError(
                f"{name!r} holds finished statistics, not a checkpoint. Give checkpoint another "
                "path."
            )
        saved = fields["checkpoint"]
        given = json.loads(json.dumps(self.settings))
        for setting, value in given.items():
            if saved["settings"].get(setting) != value:
                raise exc.DataError(
                    f"the checkpoint {name!r} was made with {setting}="
                    f"{saved['settings'].get(setting)!r}, but {setting}={value!r} is given. Call "
                    "with the same settings, or remove the file to begin anew."
                )
        return put_together(fields), saved["progress"]

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
        saved = {"settings": dict(self.settings), "progress": dict(progress)}
        write_fields(self.path, SCHEMA, {**take_apart(stats), "checkpoint": saved})
        self._written = time.monotonic()
