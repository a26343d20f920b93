"""One-file storage of objects as named arrays and a small header; nothing is ever pickled.

A file is a ``.npz`` archive as numpy writes it, not compressed. Its member ``header`` is JSON with
the kind of object, the version of the format, a checksum, and all fields that are no arrays; the
other members are arrays named after their fields, such as ``fits/0/coef``. What a kind of object
holds is described by a `FileSchema`, and both writing and reading check all of it before anything
is made. The checksum tells an object that was changed within what its description allows.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import as_path
from isingmlc.base.schema import MisfitError, Record, sparse_parts

# To be raised whenever files that were written before can no longer be read.
FORMAT = 2

_HEADER = "header"
_DAMAGED = (
    "The file is damaged, or was not written by isingmlc: make the object again, or take another "
    "copy of the file."
)
# Types as numpy writes them; numbers in the other byte order are not written and not read.
_TYPES = ("|b1", "|u1", "<i8", "<f8")
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': (.{1,500}?), 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]{0,500})\), \} *\n",
    re.DOTALL,
)


@dataclasses.dataclass(frozen=True)
class FileSchema:
    """What the files of one class hold.

    Attributes
    ----------
    kind : str
        Name of the class.
    fields : Record
        What is saved of it.
    """

    kind: str
    fields: Record


def as_fields(value: Any) -> dict[str, Any]:
    """Give the fields of a dataclass by name, without a copy.

    Parameters
    ----------
    value : dataclass
        An object.

    Returns
    -------
    dict
        Its fields.
    """
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def write_fields(
    path: str | os.PathLike[str], schema: FileSchema, fields: Mapping[str, Any]
) -> None:
    """Write what is to be kept of an object to one file, whole or not at all.

    Parameters
    ----------
    path : path-like
        Where to; written under a temporary name beside it, then renamed.
    schema : FileSchema
        What files of this class hold.
    fields : mapping
        The fields: arrays, sparse matrices, what JSON can hold, and mappings and lists of these.

    Raises
    ------
    DataError
        When `path` is no path, or a field is not as `schema` says, so that nobody could read it.
    FileError
        When the file cannot be written.
    """
    try:
        checked = schema.fields.check(fields, "", {})
    except MisfitError as error:
        raise exc.DataError(f"{schema.kind} cannot be saved: {error}.") from error
    arrays: dict[str, Any] = {}
    left = _separate(checked, "", arrays)
    header = {
        "kind": schema.kind,
        "format": FORMAT,
        "checksum": checksum_of(left, arrays),
        "fields": left,
    }
    arrays[_HEADER] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    write_file(path, lambda file: np.savez(file, **arrays))


def read_fields(path: str | os.PathLike[str], schema: FileSchema) -> dict[str, Any]:
    """Read what `write_fields` wrote, and check all of it.

    Parameters
    ----------
    path : path-like
        The file.
    schema : FileSchema
        What files of this class hold.

    Returns
    -------
    dict
        The fields.

    Raises
    ------
    DataError
        When `path` is no path.
    FileError
        When the file is absent or damaged, holds something else, or a field is not as `schema`
        says; the message names the file and the field.
    """
    path = as_path("path", path)
    try:
        header, arrays = _read_archive(path, schema.kind)
        fields = header["fields"]
        found = checksum_of(fields, arrays)
        for name, array in arrays.items():
            _insert(fields, name, array)
        checked: dict[str, Any] = schema.fields.check(fields, "", {})
        if found != header["checksum"]:
            raise MisfitError(_HEADER, "has a checksum that is not that of the other fields")
        return checked
    except RecursionError as error:
        problem = f"field {_HEADER!r} holds lists within lists, too deep to be read"
        raise exc.FileError(f"{path}: {problem}. {_DAMAGED}") from error
    except MisfitError as error:
        raise exc.FileError(f"{path}: {error}. {_DAMAGED}") from error


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


def checksum_of(left: Any, arrays: Mapping[str, Any]) -> int:
    """Compute what tells changed fields from those that were saved.

    Parameters
    ----------
    left : object
        The fields that are no arrays.
    arrays : mapping of str to ndarray
        Those that are.

    Returns
    -------
    int
        The checksum.
    """
    total = zlib.crc32(json.dumps(left).encode())
    for name in sorted(arrays):
        array = arrays[name]
        total = zlib.crc32(f"{name} {array.dtype.kind} {array.shape}".encode(), total)
        stored = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        total = zlib.crc32(stored.reshape(-1).view(np.uint8), total)
    return total


def _separate(value: Any, prefix: str, arrays: dict[str, Any]) -> Any:
    """Take the arrays out of fields, and give what is left."""
    if sparse.issparse(value):
        value = sparse_parts(value)
    if isinstance(value, Mapping):
        left = {}
        for name, item in value.items():
            if isinstance(item, np.ndarray):
                arrays[prefix + name] = item.astype(item.dtype.newbyteorder("<"), copy=False)
            else:
                left[name] = _separate(item, f"{prefix}{name}/", arrays)
        return left
    if isinstance(value, list | tuple):
        return [_separate(item, f"{prefix}{at}/", arrays) for at, item in enumerate(value)]
    return value


def _insert(fields: Any, name: str, array: Any) -> None:
    """Put an array back where it was taken out."""
    *parents, last = name.split("/")
    place = fields
    try:
        for parent in parents:
            place = place[int(parent) if isinstance(place, list) else parent]
    except (LookupError, ValueError, TypeError) as error:
        raise MisfitError(name, "is not known") from error
    if not isinstance(place, dict) or last in place:
        raise MisfitError(name, "is not known")
    place[last] = array


def _read_archive(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the header and the arrays of a file that is of this kind and of this format."""
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            raise exc.FileError(f"{path}: this is a folder, or no file at all.")
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            # Whatever they claim, members that are not compressed and do not overlap cannot be
            # larger than the file.
            size = sum(member.file_size for member in members.values())
            methods = {member.compress_type for member in members.values()}
            if methods - {zipfile.ZIP_STORED} or size > path.stat().st_size:
                raise MisfitError(_HEADER, "and the others must not be compressed")
            names = Counter(archive.namelist())
            for name, times in names.items():
                if times > 1 or not name.endswith(".npy"):
                    raise MisfitError(name.removesuffix(".npy"), "must be one array, there once")
            # Reading a member whole compares its checksum.
            contents = {
                name.removesuffix(".npy"): archive.read(member) for name, member in members.items()
            }
    except FileNotFoundError as error:
        raise exc.FileError(f"{path}: there is no such file. Check the name.") from error
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror or error})."
        raise exc.FileError(f"{path}: {problem}") from error
    except (exc.FileError, MisfitError):
        raise
    except Exception as error:  # zipfile raises errors of many classes at damaged files
        problem = f"it is damaged, or was not written by isingmlc ({error})."
        raise exc.FileError(f"{path}: {problem}") from error
    if _HEADER not in contents:
        raise MisfitError(_HEADER, "is missing")
    # First the header: files of other versions may hold arrays of other types.
    header = _read_header(path, _read_array(_HEADER, contents.pop(_HEADER)), kind)
    return header, {name: _read_array(name, content) for name, content in contents.items()}


def _read_array(name: str, content: bytes) -> Any:
    """Make an array of a member; its size is compared with what there is before it is made."""
    head = _NPY.match(content)
    if head is None:
        raise MisfitError(name, "must be an array as numpy writes it")
    written = head[1].decode("latin-1")
    if written not in map(repr, _TYPES):
        wanted = ", ".join(map(repr, _TYPES))
        raise MisfitError(name, f"must hold plain numbers ({wanted}), but holds {written[:50]}")
    dtype = np.dtype(written.strip("'"))
    sizes = [size.strip().decode() for size in head[3].split(b",")]
    shape = tuple(int(size[:18]) for size in sizes if size.isdecimal())
    flat = np.frombuffer(content, np.uint8, offset=head.end())
    if dtype.itemsize * math.prod(shape) != len(flat) or max(shape, default=0) > 2**48:
        raise MisfitError(name, f"must hold as much as its shape {shape} says, but does not")
    if dtype.kind == "b" and flat.max(initial=0) > 1:
        raise MisfitError(name, "must hold zeros and ones")
    array = flat.view(dtype).astype(dtype.newbyteorder("="), copy=False)
    return array.reshape(shape, order="F" if head[2] == b"True" else "C")


def _read_header(path: Path, array: Any, kind: str) -> dict[str, Any]:
    """Read the header of a file that is of this kind and of this format."""
    try:
        header: dict[str, Any] = json.loads(array.tobytes())
        found, version = header["kind"], header["format"]
    except (ValueError, LookupError, TypeError) as error:
        raise MisfitError(_HEADER, "cannot be read") from error
    if not isinstance(found, str) or type(version) is not int:
        raise MisfitError(_HEADER, "must hold a kind, and a format that is a number")
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
        hint = f" Load it with {found}.load." if found.isidentifier() else ""
        raise exc.FileError(f"{path}: it holds {exc.shorten([found])}, not {kind!r}.{hint}")
    if header.keys() != {"kind", "format", "checksum", "fields"}:
        raise MisfitError(_HEADER, "must hold kind, format, checksum and fields, and no more")
    return header


def _umask() -> int:
    """Read the permissions that new files do not get; the only way is to set them."""
    current = os.umask(0)
    os.umask(current)
    return current
