"""Print constraints for pip: what pyproject.toml asks for, at the lowest version it allows.

``python .ci/lowest.py test`` gives those of the dependencies and of the extra ``test``, with the
extras that it names in turn.
"""

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(lines):
    """Give the requirements in `lines`, and those of the project's own extras that they name."""
    for requirement in map(Requirement, lines):
        if requirement.name == PROJECT["name"]:
            for extra in requirement.extras:
                yield from requirements(PROJECT["optional-dependencies"][extra])
        else:
            yield requirement


def main(extras):
    """Print one line per requirement; one without a lower bound is an error."""
    lines = [*PROJECT["dependencies"], f"{PROJECT['name']}[{','.join(extras)}]"]
    for requirement in requirements(lines):
        lowest = [bound.version for bound in requirement.specifier if bound.operator == ">="]
        if len(lowest) != 1:
            sys.exit(f"pyproject.toml: {requirement} must have one lower bound, as in 'name>=1.0'.")
        print(f"{requirement.name}=={lowest[0]}")


main(sys.argv[1:])
