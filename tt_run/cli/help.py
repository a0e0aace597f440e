"""The help text and the completion scripts, both from the table of options."""

from __future__ import annotations

import os
import sys
import textwrap

from tt_run.cli.command_line import CommandLine
from tt_run.cli.commands import COMMANDS
from tt_run.cli.options import Arguments, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SHELLS = ("bash", "zsh", "fish")

USAGE = "Usage: tt-run [OPTIONS] [--] PROGRAM [ARGS...]\n       tt-run COMMAND [ARGS...]"
INTRODUCTION = (
    "Starts PROGRAM as MPI ranks, each on its part of a mesh of devices. Options end at the first word that is not one; "
    "everything after it belongs to the program."
)
EXAMPLES = (
    "tt-run --rank-binding ranks.yaml python train.py",
    "tt-run --emulate --system t3000 --split 1x2 python train.py    # no hardware needed",
    "tt-run --rank-binding ranks.yaml --dry-run ./app               # print, do not run",
)
KEYS = (
    "While it runs:",
    "  Ctrl-C                      End all ranks in order; twice: at once.",
    "  Ctrl-\\                      Show where every Python rank is (SIGQUIT).",
)
WIDEST = 110
COLUMN = 30


def help_text() -> str:
    """The options in groups and the subcommands, as wide as the terminal up to WIDEST."""
    width = min(_terminal_width(), WIDEST)
    lines = [USAGE, "", *textwrap.wrap(INTRODUCTION, width), *_options(CommandLine, width), "", "Commands:"]
    for name, (_, text) in COMMANDS.items():
        lines += _row(name, text, width)
    return "\n".join([*lines, "", *KEYS, "", "Examples:", *(f"  {example}" for example in EXAMPLES)])


def command_help(kind: type[Arguments]) -> str:
    """The help text of a subcommand, from the docstring and the options of its class."""
    width = min(_terminal_width(), WIDEST)
    text = textwrap.dedent(" " * 4 + (kind.__doc__ or "")).strip()
    return "\n".join([f"Usage: {kind.usage}", "", text, *_options(kind, width)])


def _options(kind: type[Arguments], width: int) -> list[str]:
    lines: list[str] = []
    group = ""
    for option in kind.options():
        if option.group != group:
            group = option.group
            lines += ["", f"{group}:"]
        lines += _row(_spelling(option), option.help, width)
    return lines


def _spelling(option: Option) -> str:
    value = option.metavar if option.metavar.startswith("[") else f" {option.metavar}".rstrip()
    return ", ".join(option.names) + value


def _terminal_width() -> int:
    """Columns of the terminal, 100 where there is none; shutil would import every compression library to know."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 100


def _row(names: str, help: str, width: int) -> list[str]:
    text = textwrap.wrap(help, max(20, width - COLUMN), break_on_hyphens=False)
    first = f"  {names}"
    if len(first) >= COLUMN:
        return [first, *(" " * COLUMN + line for line in text)]
    return [f"{first:<{COLUMN}}{text[0]}", *(" " * COLUMN + line for line in text[1:])]


def completion_script(shell: str) -> str:
    """What a shell evaluates to complete subcommands, options, their values, and files everywhere else."""
    options = CommandLine.options()
    if shell == "fish":
        first = f"complete -c tt-run -n '__fish_is_first_arg' -a '{' '.join(COMMANDS)}'"
        return "\n".join([first, *(_fish(option) for option in options)])
    names = " ".join(name for option in options for name in option.names)
    cases = "\n".join(
        f"    {'|'.join(option.names)}) COMPREPLY=($(compgen {'-f ' * (option.kind == 'file')}-W '{' '.join(values)}' -- "
        '"$word")); return ;;'
        for option in options
        if (values := _values(option))
    )
    script = f"""_tt_run() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  case "$before" in
{cases}
    explain) COMPREPLY=($(compgen -W '{" ".join(_codes())}' -- "$word")); return ;;
    completion) COMPREPLY=($(compgen -W '{" ".join(SHELLS)}' -- "$word")); return ;;
  esac
  if [ "$COMP_CWORD" = 1 ]; then
    case "$word" in
      -*) ;;
      *) COMPREPLY=($(compgen -f -W '{" ".join(COMMANDS)}' -- "$word")); return ;;
    esac
  fi
  case "$word" in
    -*) COMPREPLY=($(compgen -W '{names}' -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _tt_run tt-run"""
    loaded = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }"
    return f"{loaded}\nautoload -U +X bashcompinit && bashcompinit\n{script}" if shell == "zsh" else script


def _values(option: Option) -> Sequence[str]:
    """The words that a shell offers for the value of an option, besides files."""
    if isinstance(option.kind, tuple):
        return option.kind
    if option.key == "system":
        from mgd.systems import systems

        return [system.name for system in systems()]
    if option.key == "explain":
        return _codes()
    from tt_run.inputs.shipped import shipped

    kinds = {
        "rank_binding": "rank-binding file",
        "mesh_graph_descriptor": "mesh graph descriptor",
        "mock_cluster_rank_binding": "mock cluster rank binding",
    }
    return list(shipped(kinds.get(option.key, "")))


def _codes() -> list[str]:
    from tt_run.rules import GUARD, LAUNCH

    return [*LAUNCH.rules(), *GUARD.rules()]


def _fish(option: Option) -> str:
    words = ["complete", "-c", "tt-run"]
    for name in option.names:
        words += ["-l", name[2:]] if name.startswith("--") else ["-s", name[1:]]
    values = _values(option)
    if values:
        words += ["-r" if option.kind == "file" else "-x", "-a", f"'{' '.join(values)}'"]
    elif not option.is_flag:
        words.append("-r")
    description = option.help.replace("\\", "\\\\").replace("'", "\\'")
    return " ".join([*words, "-d", f"'{description}'"])
