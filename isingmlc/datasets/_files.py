"""Opening files: what is wrong with one is said with its name and, if there is one, its line."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from isingmlc import exceptions as exc
from isingmlc.base.arguments import as_path


def file_error(path: Path, problem: str, line: int | None = None) -> exc.FileError:
    """Make the error that says what is wrong in which file, and on which line."""
    place = str(path) if line is None else f"{path}, line {line}"
    return exc.FileError(f"{place}: {problem}")


def existing_file(given: str | PathLike[str]) -> Path:
    """Return the path of a file that is there and is not empty, or raise our error."""
    path = as_path("path", given)
    try:
        if path.is_dir():
            raise file_error(path, "this is a folder. Give the path of a file in it.")
        if not path.exists():
            hint = (
                "Check the name."
                if path.parent.is_dir()
                else f"Nor is there a folder {path.parent}."
            )
            raise file_error(path, f"there is no such file. {hint}")
        if path.stat().st_size == 0:
            raise file_error(path, "the file is empty.")
    except OSError as error:
        raise _cannot_be_read(path, error) from error
    return path


def read_lines(path: Path, encoding: str) -> list[str]:
    """Return the lines of a text file, without their ends."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _cannot_be_read(path, error) from error
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = (
            f"byte 0x{content[error.start]:02x} is not valid {encoding}. Pass the file's encoding, "
            "e.g. encoding='latin-1'."
        )
        raise file_error(path, problem, line) from error
    except (LookupError, TypeError, ValueError) as error:
        # Names that are unknown, no text or no name at all, and codecs that do not say where.
        raise exc.DataError(
            f"encoding must name a text encoding in which {path} can be read, e.g. 'latin-1', but "
            f"is {encoding!r}."
        ) from error
    # Not str.splitlines: it also breaks at characters that may stand inside a quoted name.
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _cannot_be_read(path: Path, error: OSError) -> exc.FileError:
    return file_error(path, f"the file cannot be read ({error.strerror}).")
