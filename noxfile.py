"""The five commands of a contributor: ``nox -s tests``, ``lint``, ``types``, ``docs``, ``package``.

``nox`` alone runs the first three. What stands after ``--`` goes to the program that a command
runs, e.g. ``nox -s tests -- tests/input -x``.
"""

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests."""
    session.install("-e", ".[test]")
    session.run("pytest", *(session.posargs or ["-n", "auto"]))


@nox.session
def lint(session: nox.Session) -> None:
    """Check and format the code."""
    session.install("ruff>=0.9")
    session.run("ruff", "check", *(session.posargs or ["--fix"]))
    session.run("ruff", "format")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    session.install("-e", ".[test]")
    session.run("mypy", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into build/docs, and check its links."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", *session.posargs, "docs", "build/docs")
    session.run("python", "docs/check_links.py", "build/docs")


@nox.session
def package(session: nox.Session) -> None:
    """Build the distributions and run tests of the sdist on the installed wheel."""
    session.install("build", "twine")
    session.run("python", ".ci/package.py", *session.posargs)
