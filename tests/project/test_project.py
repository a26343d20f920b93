"""The project's own files: what they promise is run here."""

import os
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import isingmlc as im

ROOT = Path(__file__).resolve().parents[2]


def test_the_gate_runs_the_commands_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in (
        'python -m pip install ".[all]" && isingmlc demo',
        'python -m pip install -e ".[test]" && pytest -n auto',
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


def test_the_conda_recipe_asks_for_what_pip_installs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{im.__version__}"' in recipe
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in recipe
    recipe = recipe.replace("matplotlib-base", "matplotlib")
    listed = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip("- ").replace(" ", "") for line in listed.splitlines()[1:]}
    assert asked == set(project["dependencies"])
