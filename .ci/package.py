"""Build the distributions, and run tests of the sdist on the installed wheel, away from the tree.

``python .ci/package.py`` needs the packages build and twine. ``--keep FOLDER`` leaves sdist and
wheel there; what stands after ``--`` goes to pytest in place of the tests below.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A part of the tests that reads every kind of file that the wheel must hold.
TESTS = ["tests/datasets", "tests/input/test_formula.py", "tests/results/test_summary.py"]
TESTS += ["tests/project/test_project.py", "-m", "not slow"]


def run(*command, **options):
    """Print a command and run it; its failure is ours."""
    words = [str(word) for word in command]
    print("\n==", *words, flush=True)
    subprocess.run(words, check=True, **options)


def main():
    """Build, check, install and test."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to leave the files")
    parser.add_argument("tests", nargs="*", help="what pytest runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        # The wheel is made from the sdist, as by those who package it again.
        run(sys.executable, "-m", "build", "--outdir", work / "dist", ROOT)
        (sdist,) = (work / "dist").glob("*.tar.gz")
        (wheel,) = (work / "dist").glob("*.whl")
        run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)

        with tarfile.open(sdist) as archive:
            archive.extractall(work / "source", filter="data")
        (source,) = (work / "source").iterdir()
        # Only the wheel may provide the package.
        shutil.rmtree(source / "isingmlc")
        venv.create(work / "venv", with_pip=True)
        python = work / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        run(python, "-m", "pip", "install", "-q", f"{wheel}[test]")
        run(python, "-m", "isingmlc", "--version", cwd=work)
        run(python, "-m", "pytest", "-q", *(arguments.tests or TESTS), cwd=source)
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            for file in (sdist, wheel):
                shutil.copy2(file, arguments.keep)


main()
