"""The XML file in which Mulan lists the labels of a data set, flat or as a hierarchy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from xml.etree import ElementTree

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import parse

from isingmlc import exceptions as exc
from isingmlc.datasets._files import existing_file, file_error

NAMESPACE = "http://mulan.sourceforge.net/labels"


def read_label_list(path: str | PathLike[str]) -> tuple[str, ...]:
    """Read the names of the labels, in the order of the file."""
    path = existing_file(path)
    try:
        root = parse(path).getroot()
    except DefusedXmlException as error:
        problem = (
            "the file declares XML entities, which a list of labels has no use for and which may "
            "be harmful. It was not read."
        )
        raise file_error(path, problem, line_with(path, "<!")) from error
    except ElementTree.ParseError as error:
        problem = f"the XML is broken here: {str(error).split(':')[0]}."
        raise file_error(path, problem, error.position[0]) from error
    except (OSError, ValueError, LookupError) as error:
        raise file_error(path, f"the file cannot be read as XML ({error}).") from error
    names: list[str] = []
    for element in root.iter():
        if element.tag.rpartition("}")[2] != "label":
            continue
        name = element.get("name")
        if name is None:
            raise file_error(path, f"label {len(names) + 1} has no name attribute.")
        names.append(name)
    if not names:
        raise file_error(path, 'the file lists no labels, i.e. has no <label name="…"/>.')
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise file_error(path, f"label(s) {exc.shorten(repeated)} are listed more than once.")
    return tuple(names)


def line_with(path: Path, text: str) -> int | None:
    """Find the first line of a file that holds some text."""
    lines = path.read_bytes().splitlines()
    return next((at for at, line in enumerate(lines, 1) if text.encode() in line), None)


def write_label_list(path: Path, names: Iterable[str]) -> None:
    """Write the names of labels as Mulan reads them."""
    root = ElementTree.Element("labels", xmlns=NAMESPACE)
    for name in names:
        ElementTree.SubElement(root, "label", name=name)
    ElementTree.ElementTree(root).write(path, "utf-8", xml_declaration=True)
