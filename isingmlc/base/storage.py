"""One-file storage of named arrays and a small header, without pickle."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc

_HEADER = "header"
_FORMAT = 1
_SPARSE_PARTS = ("data", "indices", "indptr", "shape")


def write_arrays(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write arrays and a JSON header to one ``.npz`` file, whole or not at all.

    Parameters
    ----------
    path : path-like
        Where to; written under a temporary name beside it, then renamed.
    kind : str
        What the file holds; `read_arrays` insists on it.
    header : mapping
        Whatever JSON can hold.
    arrays : mapping of str to ndarray or csr_array
        The arrays.
    """
    parts: dict[str, Any] = {}
    for name, array in arrays.items():
        if sparse.issparse(array):
            csr = sparse.csr_array(array)
            for part in _SPARSE_PARTS:
                parts[f"{name}.{part}"] = np.asarray(getattr(csr, part))
        else:
            parts[name] = np.asarray(array)
    text = json.dumps({"kind": kind, "format": _FORMAT, **header})
    parts[_HEADER] = np.frombuffer(text.encode(), dtype=np.uint8)
    write_file(path, lambda file: np.savez(file, **parts))


def write_file(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path : path-like
        Where to; written under a temporary name beside it, then renamed.
    write : callable
        Takes the open file and writes to it.

    Raises
    ------
    FileError
        When the folder is absent, or the file cannot be written there.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise exc.FileError(
            f"{os.fspath(path)!r} cannot be written: there is no folder {str(target.parent)!r}."
        )
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".isingmlc.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                write(file)
            # Temporary files are private; this one is to be like any other that the user makes.
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise exc.FileError(
            f"{os.fspath(path)!r} cannot be written: {error.strerror or error}."
        ) from error


def read_arrays(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what `write_arrays` wrote.

    Parameters
    ----------
    path : path-like
        The file.
    kind : str
        What it must hold.

    Returns
    -------
    header : dict
        The header.
    arrays : dict of str to ndarray or csr_array
        The arrays.

    Raises
    ------
    FileError
        When the file is absent, damaged, or holds something else.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        header = json.loads(parts.pop(_HEADER).tobytes())
        found, format_ = header["kind"], header["format"]
    except FileNotFoundError as error:
        raise exc.FileError(f"there is no file {os.fspath(path)!r} to load.") from error
    except (OSError, ValueError, LookupError, EOFError, AttributeError, TypeError) as error:
        raise exc.FileError(
            f"{os.fspath(path)!r} is damaged, or was not written by isingmlc."
        ) from error
    except zipfile.BadZipFile as error:
        raise exc.FileError(f"{os.fspath(path)!r} is damaged: {error}.") from error
    if found != kind:
        raise exc.FileError(f"{os.fspath(path)!r} holds {found}, not {kind}.")
    if format_ != _FORMAT:
        raise exc.FileError(
            f"{os.fspath(path)!r} has format {format_}, written by another version of isingmlc; "
            f"this one reads format {_FORMAT}."
        )
    arrays: dict[str, Any] = {}
    for name in parts:
        stem, _, part = name.rpartition(".")
        if part not in _SPARSE_PARTS or not stem:
            arrays[name] = parts[name]
        elif part == "data":
            triple = tuple(parts[f"{stem}.{piece}"] for piece in _SPARSE_PARTS[:3])
            arrays[stem] = sparse.csr_array(triple, shape=tuple(parts[f"{stem}.shape"]))
    return header, arrays


def _umask() -> int:
    """Read the permissions that new files do not get; the only way is to set them."""
    current = os.umask(0)
    os.umask(current)
    return current
