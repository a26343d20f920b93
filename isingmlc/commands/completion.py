"""``isingmlc completion``: a script that lets a shell complete commands, options and choices.

The script is written once, from the parsers: a shell that asked Python at every key would wait for
it. Of the packages that do the same, argcomplete asks Python, and shtab's licence (MPL) is not one
that this project takes on for a page of code.
"""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterator
from typing import Any

EXAMPLES = """\
examples:
  isingmlc completion bash > ~/.local/share/bash-completion/completions/isingmlc
  isingmlc completion zsh > ~/.isingmlc.zsh
      and in ~/.zshrc, after compinit:  source ~/.isingmlc.zsh
  isingmlc completion fish > ~/.config/fish/completions/isingmlc.fish
"""

BASH = """\
_isingmlc() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="" each choices=""
    COMPREPLY=()
    for each in "${{COMP_WORDS[@]:1:$((COMP_CWORD-1))}}"; do
        case "$each" in
            {commands}) command="$each"; break ;;
        esac
    done
    case "$command $previous" in
{values}
    esac
    if [[ -z "$choices" ]]; then
        case "$command $word" in
{words}
        esac
    fi
    COMPREPLY=( $(compgen -W "$choices" -- "$word") )
}}
# Where there is nothing to offer, the shell offers files.
complete -o default -F _isingmlc isingmlc
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "completion",
        help="let your shell complete commands and options",
        description="Print a script that lets a shell complete commands, options and choices.",
        epilog=EXAMPLES,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Print the script."""
    from isingmlc.commands.cli import make_parser

    parser = make_parser()
    if options.shell == "fish":
        script = "\n".join(fish_lines(parser)) + "\n"
    else:
        script = (ZSH if options.shell == "zsh" else "") + bash_script(parser)
    print(script, end="")


def bash_script(parser: ArgumentParser) -> str:
    """Write the script for bash, which zsh runs too."""
    commands = _commands(parser).choices
    values = [
        " | ".join(f'"{name} {flag}"' for flag in action.option_strings)
        + (f') choices="{" ".join(action.choices)}" ;;' if action.choices else ") return ;;")
        for name, each in commands.items()
        for action in each._actions
        if action.option_strings and action.nargs != 0
    ]
    words = []
    for name, each in {**commands, "": parser}.items():
        words.append(f'"{name} -"*) choices="{" ".join(each._option_string_actions)}" ;;')
        positional = [action for action in each._actions if not action.option_strings]
        offered = [choice for action in positional for choice in action.choices or ()]
        words += [f'"{name} "*) choices="{" ".join(offered)}" ;;'] if offered else []
    return BASH.format(
        commands=" | ".join(commands),
        values="\n".join(f"        {line}" for line in values),
        words="\n".join(f"            {line}" for line in words),
    )


def fish_lines(parser: ArgumentParser) -> Iterator[str]:
    """Write the lines of the script for fish."""
    commands = _commands(parser)
    yield "complete -c isingmlc -f"
    for entry in commands._choices_actions:
        yield _fish("__fish_use_subcommand", "-a", entry.dest, entry.help)
    for name, each in [("", parser), *commands.choices.items()]:
        when = f"__fish_seen_subcommand_from {name}" if name else "__fish_use_subcommand"
        for action in each._actions:
            about = each._get_formatter()._expand_help(action) if action.help else ""
            if action.option_strings:
                yield _fish(when, *_fish_flags(action), *_fish_values(action), about)
            elif action is not commands:
                yield _fish(when, *_fish_values(action), about)


def _fish(when: str, *words: str | None) -> str:
    """Write one line: when it holds, what it offers, and last what that is."""
    *offered, about = words
    described = ["-d", _quote(about)] if about else []
    return " ".join(["complete -c isingmlc -n", _quote(when), *map(str, offered), *described])


def _fish_flags(action: Action) -> Iterator[str]:
    for flag in action.option_strings:
        yield f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


def _fish_values(action: Action) -> list[str]:
    """Say what follows: a choice, a file, something else, or nothing."""
    if action.nargs == 0:
        return []
    if action.choices is not None:
        return ["-x", "-a", _quote(" ".join(action.choices))]
    return ["-r", "-F"] if action.metavar in ("FILE", "DIR") else ["-x"]


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _commands(parser: ArgumentParser) -> _SubParsersAction[Any]:
    return next(action for action in parser._actions if isinstance(action, _SubParsersAction))
