"""Read the module map and the real imports of the package, and draw the one by the other."""

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
        Modules and subpackages, by the names that the map has.
    deferred : bool
        Whether it waits inside a function until that is called.
    """

    source: str
    target: str
    deferred: bool


def read_map() -> dict[str, list[str]]:
    """Read the table of the developer page: layers from top to bottom, with their modules.

    Returns
    -------
    dict of str to list of str
        Modules of each layer.
    """
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \|", MAP.read_text(encoding="utf-8"), re.M)
    return {layer: re.findall(r"`(\w+)(?:\.py|/)`", modules) for layer, modules in rows}


def list_modules() -> dict[str, list[Path]]:
    """List the modules and subpackages with their files.

    Returns
    -------
    dict of str to list of Path
        Files of each; the package's own ``__init__`` only names what is public.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if first != "__init__":
            found.setdefault(first, []).append(path)
    return found


def read_imports() -> set[Import]:
    """Read which module imports which; imports for type checkers alone do not count.

    Returns
    -------
    set of Import
        The imports between different modules of the map.
    """
    modules = list_modules()
    return {
        Import(source, target, deferred)
        for source, paths in modules.items()
        for path in paths
        for name, deferred in _walk(ast.parse(path.read_text(encoding="utf-8")), False)
        if (target := _top(name)) in modules and target != source
    }


def _walk(node: ast.AST, deferred: bool) -> Iterator[tuple[str, bool]]:
    """Give every name that is imported below a node, and whether inside a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, deferred) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from ((f"{child.module}.{alias.name}", deferred) for alias in child.names)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        else:
            yield from _walk(child, deferred or isinstance(child, ast.FunctionDef))


def _top(name: str) -> str:
    """Give the module of the map that an imported name belongs to."""
    package, _, rest = name.partition(".")
    return rest.split(".")[0] if package == PACKAGE.name else ""


def join_layers(deferred: bool) -> dict[tuple[int, int], int]:
    """Count the imports between layers.

    Parameters
    ----------
    deferred : bool
        Whether to count those inside functions or the others.

    Returns
    -------
    dict of tuple of int to int
        Numbers of imports by the places of the two layers, from the top.
    """
    place = {module: at for at, names in enumerate(read_map().values()) for module in names}
    counts: dict[tuple[int, int], int] = {}
    for each in read_imports():
        pair = place[each.source], place[each.target]
        if each.deferred == deferred and pair[0] != pair[1]:
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def draw() -> Any:
    """Draw the layers with their modules, and the imports between them.

    Solid arrows on the right are imports of modules, dashed ones on the left wait inside a method.
    What every layer uses, the lowest, has no arrows; nor has a solid arrow that others imply.

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
    figure, ax = plt.subplots(figsize=(11, 0.78 * len(layers)), layout="constrained")
    for at, (layer, modules) in enumerate(layers.items()):
        box = FancyBboxPatch(
            (0, -at - 0.33), 10, 0.66, boxstyle="round,pad=0.02", fc="#eef3f8", ec="#1f4e79", lw=0.8
        )
        ax.add_patch(box)
        ax.text(0.12, -at + 0.16, layer, weight="bold", size=9.5, va="center")
        ax.text(0.12, -at - 0.16, ", ".join(modules), size=7.5, va="center", color="#333333")
    down = nx.DiGraph(pair for pair in join_layers(deferred=False) if pair[1] != lowest)
    # A command may import anything, when it runs.
    later = [pair for pair in join_layers(deferred=True) if pair[0] > 0]
    for pairs, side, style in [
        (nx.transitive_reduction(down).edges, 10.03, {"color": "#1f4e79"}),
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
    ax.set(xlim=(-2.2, 12.2), ylim=(-lowest - 0.6, 0.6))
    ax.axis("off")
    return figure
