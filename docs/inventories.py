"""Write Sphinx inventories of the few names of other projects that the documentation links to."""

from __future__ import annotations

import tomllib
import zlib
from pathlib import Path


def write_inventories(path: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project in a TOML file.

    Parameters
    ----------
    path : Path
        The file. A project has its ``url``, ``objects`` with the page of each name, and the
        pattern of a ``page`` for names whose page is empty.
    folder : Path
        Where the inventories go.

    Returns
    -------
    dict
        The setting ``intersphinx_mapping``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, settings in tomllib.loads(path.read_text(encoding="utf-8")).items():
        lines = [
            _entry(name, page or settings["page"].format(name=name))
            for name, page in settings["objects"].items()
        ]
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        file = folder / f"{project}.inv"
        file.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
        mapping[project] = (settings["url"], str(file))
    return mapping


def _entry(name: str, page: str) -> str:
    """Write a line of an inventory."""
    *role, name = name.rsplit(":", 1)
    place = page if "#" in page else f"{page}#$"
    return f"{name} {role[0] if role else _role(name)} 1 {place} {name}\n"


def _role(name: str) -> str:
    """Tell a class from a function or a method, by the case of its letters."""
    owner, last = name.split(".")[-2:]
    if last[0].isupper() or last in {"ndarray", "csr_array"}:
        return "py:class"
    return "py:method" if owner[0].isupper() else "py:function"
