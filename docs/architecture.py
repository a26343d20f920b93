"""Read the map of the package and its real imports, and draw the one by the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "isingmlc"
MAP = ROOT / "docs" / "developer.md"


@dataclass(frozen=True)
class Import:
    """An import of one module of the package by another.

    Attributes
    ----------
    source, target : str
        The modules, e.g. ``results.ising``; ``__init__`` is the package itself.
    when : {"loaded", "function", "method", "types"}
        Whether it is made when the module is loaded, when a function or a method is called, or
        only by type checkers.
    """

    source: str
    target: str
    when: str


def folder_of(module: str) -> str:
    """Give the folder of a module, or the module itself where it is in none."""
    return module.split(".")[0]


def read_map() -> dict[str, list[str]]:
    """Read the table of the developer page: layers from top to bottom, with their folders.

    Returns
    -------
    dict of str to list of str
        Folders and single modules of each layer.
    """
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \|", MAP.read_text(encoding="utf-8"), re.M)
    return {layer: re.findall(r"`(\w+)(?:\.py|/)`", folders) for layer, folders in rows}


def list_modules() -> dict[str, Path]:
    """List the modules of the package with their files; a folder stands for its ``__init__``.

    Returns
    -------
    dict of str to Path
        Files by module.
    """
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "__init__"] = path
    return found


def read_imports() -> set[Import]:
    """Read which module imports which; the package itself only names what is public.

    Returns
    -------
    set of Import
        The imports between different modules.
    """
    modules = list_modules()
    return {
        Import(source, target, when)
        for source, path in modules.items()
        if source != "__init__"
        for name, when in _walk(ast.parse(path.read_text(encoding="utf-8")), "loaded")
        if (target := _find(name, modules)) not in ("", source)
    }


def _walk(node: ast.AST, when: str) -> Iterator[tuple[str, str]]:
    """Give every name that is imported below a node, and when."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, when) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from ((f"{child.module}.{alias.name}", when) for alias in child.names)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            yield from _walk(child, "types")
        elif isinstance(child, ast.FunctionDef) and when == "loaded":
            yield from _walk(child, "method" if isinstance(node, ast.ClassDef) else "function")
        else:
            yield from _walk(child, when)


def _find(name: str, modules: dict[str, Path]) -> str:
    """Give the module that an imported name belongs to; none for other packages."""
    package, _, rest = name.partition(".")
    if package != PACKAGE.name:
        return ""
    while rest and rest not in modules:
        rest = rest.rpartition(".")[0]
    return rest or "__init__"


def join_layers(*when: str) -> set[tuple[int, int]]:
    """Give the pairs of layers between which there are imports.

    Parameters
    ----------
    *when : str
        Which imports count; see `Import`.

    Returns
    -------
    set of tuple of int
        Places of the two layers, from the top.
    """
    place = {folder: at for at, folders in enumerate(read_map().values()) for folder in folders}
    pairs = {
        (place[folder_of(each.source)], place[folder_of(each.target)])
        for each in read_imports()
        if each.when in when
    }
    return {(first, second) for first, second in pairs if first != second}


def draw() -> Any:
    """Draw the layers with their folders, and the imports between them.

    Solid arrows on the right are made when modules are loaded, dashed ones on the left when a
    function or a method is called. The lowest layer, which all others use, has no arrows; nor has
    a solid arrow that others imply.

    Returns
    -------
    Figure
        The drawing.
    """
    import matplotlib.pyplot as plt
    import networkx as nx
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    layers = read_map()
    lowest = len(layers) - 1
    figure, ax = plt.subplots(figsize=(9, 0.72 * len(layers)), layout="constrained")
    for at, (layer, folders) in enumerate(layers.items()):
        box = FancyBboxPatch(
            (0, -at - 0.33), 7, 0.66, boxstyle="round,pad=0.02", fc="#eef3f8", ec="#1f4e79", lw=0.8
        )
        ax.add_patch(box)
        ax.text(0.12, -at + 0.16, layer, weight="bold", size=9.5, va="center")
        ax.text(0.12, -at - 0.16, ", ".join(folders), size=8.5, va="center", color="#333333")
    down = nx.DiGraph(pair for pair in join_layers("loaded") if pair[1] != lowest)
    # A command may import anything, when it runs.
    later = [pair for pair in join_layers("function", "method") if pair[0] > 0]
    for pairs, side, style in [
        (nx.transitive_reduction(down).edges, 7.03, {"color": "#1f4e79"}),
        (later, -0.03, {"color": "#b35900", "linestyle": (0, (4, 2))}),
    ]:
        for source, target in pairs:
            arrow = FancyArrowPatch(
                (side, -source - 0.08),
                (side, -target + 0.08),
                connectionstyle=f"arc3,rad={0.45 if (side > 5) == (source > target) else -0.45}",
                arrowstyle="-|>",
                mutation_scale=9,
                lw=1,
                **style,
            )
            ax.add_patch(arrow)
    ax.set(xlim=(-2.2, 9.2), ylim=(-lowest - 0.6, 0.6))
    ax.axis("off")
    return figure
