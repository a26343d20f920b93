"""The command line, ``isingmlc``.

It is built on argparse: what a library such as typer would add here, colours and less typing in
the declarations, is not worth a dependency that every user has to install.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn, TextIO

from isingmlc import __version__
from isingmlc import exceptions as exc

# The subcommands, in the order in which the help lists them; each has a module of its name.
COMMANDS = (
    "demo",
    "fit",
    "network",
    "stability",
    "compare",
    "test",
    "calibrate",
    "plan",
    "rank",
    "select",
    "report",
    "reproduce",
    "describe",
    "simulate",
)
# What messages call arguments, and how these are typed.
_TYPED = {
    "missing='drop'": "--missing drop",
    "unit='column'": "--unit column",
    "pass clusters of rows as groups=.": "name clusters of rows with --groups.",
    "pass them as sampling_weights.": "name them with --sampling-weights.",
}

EXAMPLES = """\
examples:
  isingmlc demo
  isingmlc rank data.csv --labels 'y_*' --method score --top 20
  isingmlc rank --help
"""


class Help(argparse.RawDescriptionHelpFormatter):
    """Help in which descriptions are wrapped, and examples keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", Help)
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and leave with code 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def make_parser() -> Parser:
    """Make the parser of the whole command line; what it parses has ``run``, what to call."""
    parser = Parser(
        prog="isingmlc",
        description="Which features matter for which labels: score tests on Ising networks.",
        epilog=EXAMPLES,
    )
    parser.add_argument("-V", "--version", action="version", version=f"isingmlc {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name in COMMANDS:
        import_module(f"isingmlc.commands.{name}").add_parser(commands)
    for each in (parser, *commands.choices.values()):
        # Left alone if omitted, so that it may stand before and after the command.
        each.add_argument(
            "--debug",
            action="store_true",
            default=argparse.SUPPRESS,
            help="show where an error comes from",
        )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = make_parser().parse_args(arguments)
    name = f"isingmlc {options.command}"
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a character shows another one; that is no reason to stop.
        sys.stdout.reconfigure(errors="replace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", exc.IsingWarning)
            warnings.showwarning = _show_warning(name)
            options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough; python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if getattr(options, "debug", False):
            traceback.print_exc()
        print(f"{name}: error: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def _one_line(error: Exception) -> str:
    """Write what is wrong in one line; an error that is not ours says its kind too."""
    text = _as_typed(error)
    if isinstance(error, exc.IsingError):
        return text
    return f"unexpected {type(error).__name__}: {text} (--debug shows where)"


def _as_typed(message: Exception | str) -> str:
    """Write a message in one line, with options that most commands have as they are typed."""
    text = " ".join(str(message).split())
    for python, typed in _TYPED.items():
        text = text.replace(python, typed)
    return text


def _show_warning(name: str) -> Callable[..., None]:
    """Make the function that shows warnings, one line each."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        print(f"{name}: warning: {_as_typed(message)}", file=file or sys.stderr)

    return show
