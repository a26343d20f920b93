"""One-file storage of results: named arrays and a little JSON; nothing is ever pickled.

A file is a ``.npz`` archive as numpy writes it. Its member ``header`` is JSON with the class of
what was saved, the version of the format, and the SHA-256 checksum of all other members. One of
these, ``fields``, is JSON with everything that is no array; the others are the arrays, named after
their place in it, such as ``fits/0/coef``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import as_path

# To be raised whenever files that were written before can no longer be read.
FORMAT = 3

_HEADER, _FIELDS = "header", "fields"
# What files of other kinds begin with.
_KINDS = {b"": "an empty file", b"\x93NUMPY": "an array of numpy", b"\x80": "a pickle"}


def write_fields(path: str | os.PathLike[str], kind: str, fields: Mapping[str, Any]) -> None:
    """Write what is to be kept of an object of a class to one file, whole or not at all.

    Fields are plain values, arrays, sparse matrices, and dicts, lists, tuples and dataclasses of
    these; dataclasses come back as dicts.
    """
    members: dict[str, Any] = {}
    members[_FIELDS] = _encode(_take_out(fields, "", members))
    header = {"kind": kind, "format": FORMAT, "checksum": _checksum(kind, members)}
    write_file(path, lambda file: np.savez(file, **{_HEADER: _encode(header)}, **members))


def read_fields(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Read what `write_fields` wrote of an object of a class; arrays are read-only."""
    path = as_path("path", path)
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            raise exc.FileError(f"{path}: this is a folder, or no file at all.")
        with path.open("rb") as file:
            _check_start(path, file.read(1000))
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                if _HEADER not in archive.files:
                    raise _not_ours(path, "an archive of something else")
                checksum = _check_header(path, archive[_HEADER], kind)
                members = {name: archive[name] for name in archive.files if name != _HEADER}
        if checksum != _checksum(kind, members):
            raise ValueError("the checksum is another")
    except FileNotFoundError as error:
        raise exc.FileError(f"{path}: there is no such file. Check the name.") from error
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror or error})."
        raise exc.FileError(f"{path}: {problem}") from error
    except exc.FileError:
        raise
    except Exception as error:  # zipfile and numpy raise errors of many classes at damaged files
        raise exc.FileError(
            f"{path}: it is damaged: save it again, or take another copy of the file."
        ) from error
    for array in members.values():
        array.flags.writeable = False
    fields: dict[str, Any] = _put_back(json.loads(members[_FIELDS].tobytes()), members)
    return fields


def write_file(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file, whole or not at all."""
    target = as_path("path", path)
    try:
        if not target.parent.is_dir():
            raise exc.FileError(
                f"{str(target)!r} cannot be written: there is no folder {str(target.parent)!r}."
            )
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
            f"{str(target)!r} cannot be written: {error.strerror or error}."
        ) from error


def _take_out(value: Any, place: str, arrays: dict[str, Any]) -> Any:
    """Take the arrays out of a value, and return what is left as JSON has it.

    A list has first what it stands for.
    """
    if dataclasses.is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _take_out(item, f"{place}{name}/", arrays) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        assert not value.dtype.hasobject, place  # numpy would pickle it
        arrays[place[:-1]] = value
        return ["array", place[:-1]]
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        return ["sparse", _take_out(parts, place, arrays), *rows.shape]
    if isinstance(value, list | tuple):
        items = [_take_out(item, f"{place}{at}/", arrays) for at, item in enumerate(value)]
        return ["tuple" if isinstance(value, tuple) else "list", *items]
    return value


def _put_back(left: Any, arrays: Mapping[str, Any]) -> Any:
    """Return the value that arrays were taken out of."""
    if isinstance(left, dict):
        return {name: _put_back(item, arrays) for name, item in left.items()}
    if not isinstance(left, list):
        return left
    kind, *items = left
    if kind == "array":
        return arrays[items[0]]
    items = [_put_back(item, arrays) for item in items]
    if kind == "sparse":
        parts, *shape = items
        return sparse.csr_array(tuple(parts.values()), shape=shape)
    return tuple(items) if kind == "tuple" else items


def _encode(value: Any) -> Any:
    """Return JSON as an array of its bytes."""
    text = json.dumps(value, default=lambda number: number.item())
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _checksum(kind: str, members: Mapping[str, Any]) -> str:
    """Compute what tells a changed file from the one that was saved."""
    total = hashlib.sha256(kind.encode())
    for name in sorted(members):
        array = members[name]
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def _check_start(path: Path, start: bytes) -> None:
    """Refuse a file that is no archive, by what it begins with."""
    if start.startswith(b"PK"):
        return
    for begins, kind in _KINDS.items():
        if start == begins or (begins and start.startswith(begins)):
            raise _not_ours(path, kind)
    raise _not_ours(path, "a binary file" if b"\0" in start else "a text file")


def _check_header(path: Path, header: Any, kind: str) -> str:
    """Refuse files of other versions and of other classes, and return the checksum."""
    try:
        known = json.loads(header.tobytes())
        found, version = known["kind"], int(known["format"])
    except (ValueError, LookupError, TypeError) as error:
        raise _not_ours(path, "an archive of something else") from error
    if version != FORMAT:
        writer, advice = (
            ("a newer", "Update isingmlc.")
            if version > FORMAT
            else ("an older", "Make the object again and save it.")
        )
        raise exc.FileError(
            f"{path}: it has format {version}, that of {writer} isingmlc; this one reads format "
            f"{FORMAT}. {advice}"
        )
    if found != kind:
        raise exc.FileError(f"{path}: it holds {found!r}, not {kind!r}. Load it with {found}.load.")
    return str(known["checksum"])


def _not_ours(path: Path, kind: str) -> exc.FileError:
    """Return the error about a file of another kind."""
    return exc.FileError(f"{path}: it is {kind}, not saved by isingmlc. Check the name.")


def _umask() -> int:
    """Read the permissions that new files do not get; the only way is to set them."""
    current = os.umask(0)
    os.umask(current)
    return current
