"""The project's own files: what they promise is run here."""

import os
import re
import runpy
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

import isingmlc as im

ROOT = Path(__file__).resolve().parents[1]


def code_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.filterwarnings("ignore::isingmlc.exceptions.IsingWarning")
@pytest.mark.parametrize("path", [p for p in DOCUMENTS if code_blocks(p)], ids=lambda p: p.name)
def test_code_in_the_documents_runs(path, capsys):
    namespace = {}
    for block in code_blocks(path):
        exec(compile(block, str(path), "exec"), namespace)
    assert isinstance(namespace["res"], im.IsingResults)
    assert capsys.readouterr().out


def test_examples_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scripts = sorted((ROOT / "examples").glob("*.py"))
    assert scripts
    for script in scripts:
        runpy.run_path(str(script), run_name="__main__")
        assert capsys.readouterr().out


def test_the_gate_runs_the_commands_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in (
        'python -m pip install ".[all]" && isingmlc demo',
        'python -m pip install -e ".[test]" && pytest',
    ):
        assert readme.count(f"\n{command}\n") == 1
    gate = ROOT / ".ci" / "run"
    assert os.access(gate, os.X_OK)
    subprocess.run(["bash", "-n", str(gate)], check=True)
    # The gate must not spell the commands itself.
    assert "pip install -e" not in gate.read_text(encoding="utf-8")


def test_the_version_stands_in_one_place():
    assert version("isingmlc") == im.__version__
    spelled = [
        path
        for path in (ROOT / "pyproject.toml", ROOT / "setup.cfg", ROOT / "CITATION.cff")
        if im.__version__ in path.read_text(encoding="utf-8")
    ]
    assert not spelled


def test_public_names_exist_and_are_documented():
    for name in im.__all__:
        assert getattr(im, name).__doc__
