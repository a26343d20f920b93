"""What a type checker makes of the public names."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import isingmlc as im
import isingmlc.sklearn

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(im.__file__).parent
UNKNOWN = {"Any", "object", "builtins.object", "def (*Any, **Any) -> Any"}

pytestmark = pytest.mark.slow


def public_names():
    yield from (f"isingmlc.sklearn.{name}" for name in isingmlc.sklearn.__all__)
    for name in im.__all__:
        yield f"isingmlc.{name}"
        if isinstance(getattr(im, name), ModuleType):
            yield from (f"isingmlc.{name}.{each}" for each in getattr(im, name).__all__)


def check_types(scripts, folder):
    """Run ``mypy --strict`` on scripts, somewhere else than in the source tree."""
    pytest.importorskip("mypy")
    beside = {} if "site-packages" in PACKAGE.parts else {"MYPYPATH": str(PACKAGE.parent)}
    return subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"),
            *("--ignore-missing-imports", "--follow-imports=silent", "--hide-error-context"),
            *("--no-color-output", "--no-pretty", f"--cache-dir={ROOT / '.mypy_cache' / 'user'}"),
            *map(str, scripts),
        ],
        cwd=folder,
        env={**os.environ, **beside},
        capture_output=True,
        text=True,
        check=False,
    )


def test_scripts_of_users_can_be_checked_and_every_public_name_has_a_type(tmp_path):
    names = list(public_names())
    lines = ["import isingmlc", "import isingmlc.sklearn", *(f"reveal_type({n})" for n in names)]
    revealing = tmp_path / "revealing.py"
    revealing.write_text("\n".join([*lines, ""]), encoding="utf-8")
    checked = check_types([Path(__file__).with_name("typed_script.py"), revealing], tmp_path)
    revealed = dict(
        re.findall(r'^revealing\.py:(\d+).*Revealed type is "(.*)"$', checked.stdout, re.M)
    )
    others = [line for line in checked.stdout.splitlines() if "Revealed type is" not in line]
    assert (others, checked.stderr) == ([], "")
    types = {name: revealed[str(at)] for at, name in enumerate(names, start=3)}
    assert not {name: found for name, found in types.items() if found in UNKNOWN}
