"""The documentation: its code runs, its reference is complete, its map is true."""

import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import isingmlc as im

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if "gallery" not in path.parts and "generated" not in path.parts
)
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PUBLIC = ["", *(f".{name}" for name in im.__all__ if inspect.ismodule(getattr(im, name)))]
# Objects that a user holds, whose methods may call what stands above them when they are called.
FACADES = {
    "edge_tests",
    "feature_methods",
    "labelsets",
    "plot_methods",
    "ranking",
    "regularized_results",
    "report_methods",
    "results",
    "selection",
}

sys.path.insert(0, str(DOCS))
import architecture  # noqa: E402
from check_links import find_broken  # noqa: E402


def blocks(path, *languages):
    """Give the fenced blocks of a page that are in one of the languages."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(
        r"^```(\{code-cell\} )?(\w+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE
    )
    return [re.sub(r"^:\w.*\n", "", code) for _, name, code in found if name in languages]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


# Code


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    """Run as on a page: in a folder that may be written to, pictures drawn and forgotten."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("path", [p for p in PAGES if blocks(p, "python")], ids=name_of)
def test_code_on_a_page_runs(path, in_a_folder, capsys):
    namespace = {"__name__": "page"}
    for block in blocks(path, "python"):
        exec(compile(block, name_of(path), "exec"), namespace)
    assert "im" in namespace or "draw" in namespace


@pytest.mark.parametrize("path", [p for p in PAGES if blocks(p, "sh")], ids=name_of)
def test_commands_on_a_page_run(path, in_a_folder):
    for block in blocks(path, "sh"):
        for line in block.splitlines():
            # What installs is run by the gate, in environments of its own.
            if "pip install" in line:
                assert line in (ROOT / "README.md").read_text(encoding="utf-8"), line
                continue
            subprocess.run(
                ["bash", "-ec", line],
                check=True,
                capture_output=True,
                env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            )


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


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_examples_run_and_show_something(path, in_a_folder, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    assert plt.get_fignums()


# The reference


def public_objects():
    for end in [*PUBLIC, ".plots", ".sklearn"]:
        module = importlib.import_module("isingmlc" + end)
        for name in module.__all__:
            found = getattr(module, name)
            if not inspect.ismodule(found):
                yield f"isingmlc{end}.{name}", found


def documented():
    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    return set(re.findall(r"^   (isingmlc\.[\w.]+)$", text, flags=re.MULTILINE))


def test_every_public_name_has_a_page():
    callables = {name for name, found in public_objects() if callable(found)}
    assert callables <= documented()
    for name in documented() - callables:
        module, _, attribute = name.rpartition(".")
        assert inspect.isclass(getattr(importlib.import_module(module), attribute))


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
            and getattr(member, "__module__", "").startswith("isingmlc")
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


def test_every_module_has_one_place_on_the_map():
    placed = [module for modules in architecture.read_map().values() for module in modules]
    assert sorted(placed) == sorted(architecture.list_modules())


def test_imports_only_point_down_the_map():
    layers = architecture.read_map()
    assert len(layers) > 10
    place = {module: at for at, modules in enumerate(layers.values()) for module in modules}
    imports = architecture.read_imports()
    assert len(imports) > 100
    up = [each for each in imports if place[each.target] < place[each.source]]
    assert not [each for each in up if not each.deferred]
    assert {each.source for each in up} == FACADES


def test_an_import_that_points_up_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(architecture, "PACKAGE", tmp_path / "isingmlc")
    (tmp_path / "isingmlc" / "plots").mkdir(parents=True)
    (tmp_path / "isingmlc" / "data.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "import isingmlc.score\n"
        "if TYPE_CHECKING:\n    from isingmlc.model import IsingModel\n"
        "def call():\n    from isingmlc.plots import network\n"
    )
    for name in ("score.py", "model.py", "plots/__init__.py"):
        (tmp_path / "isingmlc" / name).touch()
    assert architecture.read_imports() == {
        architecture.Import("data", "score", deferred=False),
        architecture.Import("data", "plots", deferred=True),
    }


# Links


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_files_that_a_page_links_to_are_there(path):
    links = re.findall(r"\]\((?!https://|#)([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
    # The gallery is made when the documentation is built.
    lost = [link for link in links if not (path.parent / link).exists() and "gallery" not in link]
    assert not lost


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
