"""The documentation: its reference is complete, its map is true; building it runs its code."""

import importlib
import inspect
import re
import subprocess
import sys
from functools import cache, cached_property
from pathlib import Path

import networkx as nx
import pytest

import isingmlc as im

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if "gallery" not in path.parts and "generated" not in path.parts
)
# The changelog tells of words that are gone.
TODAY = [path for path in PAGES if path.name not in ("CHANGELOG.md", "changelog.md")]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PUBLIC = ["", *(f".{name}" for name in im.__all__ if inspect.ismodule(getattr(im, name)))]
CODE = sorted((ROOT / "isingmlc").rglob("*.py"))
# Where the objects are that a user holds: their methods may look up when they are called.
FACADES = ("compare", "model", "networks", "results", "selection")
# Variables by which pages call the objects of a class.
HELD = {
    "edges": im.EdgeTests,
    "net": im.RegularizedIsingResults,
    "ranking": im.FeatureRanking,
    "res": im.IsingResults,
    "sel": im.SelectionResult,
}

sys.path.insert(0, str(DOCS))
import architecture  # noqa: E402
from architecture import folder_of  # noqa: E402
from check_links import find_broken  # noqa: E402


def test_pages_have_no_other_code():
    known = {"python", "sh", "text", "bibtex"}
    for path in PAGES:
        fences = re.findall(
            r"^```(?:\{code-cell\} )?(\w+)?$", path.read_text(encoding="utf-8"), re.M
        )
        assert {name for name in fences if name} <= known, path


def test_code_that_is_shown_with_its_output_is_on_a_notebook():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert ("{code-cell}" in text) <= text.startswith("---\nfile_format: mystnb"), path


# The reference


def public_objects():
    for end in [*PUBLIC, ".sklearn"]:
        module = importlib.import_module("isingmlc" + end)
        for name in module.__all__:
            found = getattr(module, name)
            if not inspect.ismodule(found):
                yield f"isingmlc{end}.{name}", found


def documented():
    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    return set(re.findall(r"^   (isingmlc\.[\w.]+)$", text, flags=re.MULTILINE))


def test_every_public_name_has_a_page_and_no_other():
    assert {name for name, found in public_objects() if callable(found)} == documented()


def test_names_are_imported_from_where_the_reference_says():
    places = [name.rpartition(".")[::2] for name in sorted(documented())]
    code = "\n".join(f"from {module} import {attribute}" for module, attribute in places)
    # A fresh process has imported nothing yet.
    subprocess.run([sys.executable, "-c", code], check=True)


def has_member(found, name):
    return hasattr(found, name) or any(name in inspect.get_annotations(c) for c in found.__mro__)


def test_members_that_a_text_names_exist():
    classes = {
        name.rpartition(".")[2]: found for name, found in public_objects() if inspect.isclass(found)
    }
    for path in [*TODAY, *EXAMPLES, *CODE]:
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(rf"\b({'|'.join(classes)})\.(?!py\b)([a-z]\w*)", text))
        assert not [pair for pair in named if not has_member(classes[pair[0]], pair[1])], path
        if path in TODAY:
            prose = " ".join(re.findall(r"`[^`\n]+`", text))
            held = set(re.findall(rf"(?<![\w\"])({'|'.join(HELD)})\.(\w+)", prose))
            assert not [pair for pair in held if not has_member(HELD[pair[0]], pair[1])], path


@pytest.mark.parametrize("name", sorted(documented()))
def test_every_public_name_and_method_has_an_example(name):
    module, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    missing = [] if has_example(found) else [name]
    if inspect.isclass(found):
        missing += [
            f"{name}.{key}"
            for key, member in inspect.getmembers(found, callable)
            if not key.startswith("_")
            and (getattr(member, "__module__", None) or "").startswith("isingmlc")
            and not has_example(member)
        ]
        assert all(
            inspect.getdoc(member)
            for key, member in inspect.getmembers_static(found)
            if not key.startswith("_") and isinstance(member, (property, cached_property))
        )
    assert not missing


def has_example(found):
    return ">>> " in (inspect.getdoc(found) or "").partition("\nExamples\n--------\n")[2]


# The map


read_imports = cache(architecture.read_imports)


def test_every_folder_has_one_place_on_the_map():
    placed = [folder for folders in architecture.read_map().values() for folder in folders]
    assert sorted(placed) == sorted({folder_of(module) for module in architecture.list_modules()})


def test_imports_only_point_down_the_map():
    layers = architecture.read_map()
    assert len(layers) > 10
    place = {folder: at for at, folders in enumerate(layers.values()) for folder in folders}
    imports = read_imports()
    assert len(imports) > 400
    up = [each for each in imports if place[folder_of(each.target)] < place[folder_of(each.source)]]
    allowed = [
        each
        for each in up
        if folder_of(each.source) in FACADES and each.when in ("method", "types")
    ]
    assert up == allowed
    assert any(each.source == "results.ising" and each.target == "plots" for each in up)


@pytest.mark.parametrize("part_of", [folder_of, str], ids=["folders", "modules"])
def test_nothing_is_imported_in_a_circle(part_of):
    imports = read_imports()
    pairs = {
        (part_of(each.source), part_of(each.target)) for each in imports if each.when == "loaded"
    }
    graph = nx.DiGraph((source, target) for source, target in pairs if source != target)
    assert not list(nx.simple_cycles(graph))


def test_imports_of_every_kind_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(architecture, "PACKAGE", tmp_path / "isingmlc")
    (tmp_path / "isingmlc" / "plots").mkdir(parents=True)
    (tmp_path / "isingmlc" / "data.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "import isingmlc as im\n"
        "import isingmlc.score\n"
        "if TYPE_CHECKING:\n    from isingmlc.model import IsingModel\n"
        "def call():\n    from isingmlc.plots import network\n"
        "class Held:\n    def plot(self):\n        from isingmlc.plots.network import draw\n"
    )
    names = ("__init__.py", "score.py", "model.py", "plots/__init__.py", "plots/network.py")
    for name in names:
        (tmp_path / "isingmlc" / name).touch()
    assert architecture.read_imports() == {
        architecture.Import("data", "__init__", "loaded"),
        architecture.Import("data", "score", "loaded"),
        architecture.Import("data", "model", "types"),
        architecture.Import("data", "plots.network", "function"),
        architecture.Import("data", "plots.network", "method"),
    }


def test_files_that_the_developer_pages_name_are_there():
    pages = [ROOT / name for name in ("docs/developer.md", "CONTRIBUTING.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"`(?:python )?([\w/]+\.py)`", text))
    homes = [ROOT, ROOT / "isingmlc", ROOT / "benchmarks"]
    assert not [file for file in named if not any((home / file).exists() for home in homes)]


# Words


# What is counted "a label" is counted per label.
COUNTED = "row|column|line|regression|p-value|number|byte|module|thread|process|job|axes|Axes|point"
UNITS = "label|row|feature|edge|pair|labelset|column|method|measure|core|condition|data set|test"
UNITS += "|line|model|term|file|batch|product|group|query|name|experiment|subcommand|module|draw"
ODD_WORDS = {
    "cannot": r"\b[Cc]an not\b",
    "if omitted": r"[Ww]here (?:it is )?not given|[Ww]here nothing is given",
    "per …": rf"\b(?:{COUNTED})(?:e?s)? an? (?:{UNITS})\b"
    rf"|\b(?:[Oo]ne|two|three|\d+)(?: [\w-]+){{0,2}} (?:fit|test|model|value|weight|curve|refit)s?"
    rf" an? (?:{UNITS})\b",
}


def test_words_are_the_usual_ones():
    for path in [*TODAY, *EXAMPLES, *CODE, *sorted(DOCS.glob("*.py"))]:
        # Sentences go on in the next line of a text or a comment.
        text = re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text(encoding="utf-8"))
        found = {usual: re.findall(odd, text) for usual, odd in ODD_WORDS.items()}
        assert not {usual: odd for usual, odd in found.items() if odd}, path


# Links


def test_files_that_a_page_links_to_are_there():
    for path in PAGES:
        links = re.findall(r"\]\((?!https://|#)([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
        # The gallery is made when the documentation is built.
        lost = [link for link in links if not (path.parent / link).exists()]
        assert not [link for link in lost if "gallery" not in link], path


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"></p><a href="b.html#there"></a><a href="#here"></a><img src="no.png">'
        '<a href="b.html#nowhere"></a><a href="c.html"></a><a href="https://example.org/x"></a>'
        '<a href="http://example.org"></a>'
    )
    (tmp_path / "b.html").write_text('<a name="there" href="mailto:a@b.c"></a>')
    assert find_broken(tmp_path) == [
        "a.html: b.html#nowhere: no such anchor",
        "a.html: c.html: no such file",
        "a.html: http://example.org: not an https address",
        "a.html: no.png: no such file",
    ]
