"""The help texts, from the tables of options."""

from __future__ import annotations

import os
import stat
import sys
import textwrap

from tt_run.cli.commands import COMMANDS, GROUPS
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Arguments, Option

TYPE_CHECKING = False  # as in `main`
if TYPE_CHECKING:
    from collections.abc import Mapping

USAGE = ("Usage: tt-run [OPTIONS] [--] PROGRAM [ARGS...]", "       tt-run COMMAND [ARGS...]")
INTRODUCTION = (
    "Starts PROGRAM as MPI ranks, each on its part of a mesh of devices. Options end at the first word that is not one; "
    "everything after it belongs to the program."
)
EXAMPLES = (
    "tt-run --rank-binding ranks.yaml python train.py",
    "tt-run --emulate --system t3000 --split 1x2 python train.py  # no hardware",
    "tt-run --rank-binding ranks.yaml --dry-run ./app             # print it only",
)
MORE = "tt-run --help lists the options, tt-run help COMMAND those of a command. New here? tt-run init first"
KEYS = {
    "Ctrl-C": "End all ranks in order; twice: at once.",
    "Ctrl-Z": "Stop all ranks with tt-run; fg goes on with all.",
    "Ctrl-\\": "Show where every Python rank is (SIGQUIT).",
}
WIDEST = 110
COLUMN = 30
NARROW, NARROW_COLUMN = 56, 6  # below that many columns meanings stand under the names


def help_text() -> str:
    """Examples, the subcommands and the options in groups, as wide as the terminal up to WIDEST."""
    width = min(terminal_width(), WIDEST)
    lines = [*_opening(width), *_examples(width), *_commands(GROUPS, width), *_options(CommandLine, width)]
    lines += ["", "While it runs:"]
    for name, text in KEYS.items():
        lines += _row(name, text, width)
    return "\n".join(lines)


def short_help() -> str:
    """What somebody who types the name alone wants to see: one screen, without the options."""
    width = min(terminal_width(), WIDEST)
    more = ["", *textwrap.wrap(MORE, width, break_on_hyphens=False)]
    return "\n".join(
        [*_opening(width), *_examples(width), *_commands({"Commands": COMMANDS}, width, 18), *more]
    )


def _opening(width: int) -> list[str]:
    usage = [line for each in USAGE for line in _usage(each, width)]
    return [*usage, "", *textwrap.wrap(INTRODUCTION, width)]


def _commands(
    groups: Mapping[str, Mapping[str, tuple[str, str]]], width: int, column: int = COLUMN
) -> list[str]:
    lines: list[str] = []
    for heading, commands in groups.items():
        lines += ["", f"{heading}:"]
        for name, (_, text) in commands.items():
            lines += _row(name, text, width, column)
    return lines


def _examples(width: int) -> list[str]:
    lines = ["", "Examples:"]
    for example in EXAMPLES:
        lines += _typed(f"  {example}", width)
    return lines


def command_help(kind: type[Arguments]) -> str:
    """The help text of a subcommand, from the docstring and the options of its class."""
    width = min(terminal_width(), WIDEST)
    text = textwrap.dedent(" " * 4 + (kind.__doc__ or "")).strip()
    usage = _usage(f"Usage: {kind.usage}", width)
    return "\n".join([*usage, "", *_paragraphs(text, width), *_options(kind, width)])


def _usage(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=" " * 14,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _typed(line: str, width: int) -> list[str]:
    """A line to be typed, over several where it is wider than the terminal; its remark comes before it then."""
    command, _, remark = line.partition("  #")
    if len(line) <= width or not line.strip():
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    words = textwrap.wrap(
        command.strip(),
        max(width - len(indent) - 6, 20),
        break_on_hyphens=False,
        break_long_words=False,
    )
    lines = [f"{indent}{'    ' * bool(number)}{each}" for number, each in enumerate(words)]
    return [*[f"{indent}#{remark}"] * bool(remark), *(f"{each} \\" for each in lines[:-1]), lines[-1]]


def _paragraphs(text: str, width: int) -> list[str]:
    """A docstring as wide as the terminal; lines that are indented are to be typed, and stay as they are."""
    lines: list[str] = []
    words: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line and not line.startswith(" "):
            words.append(line)
            continue
        lines += textwrap.wrap(" ".join(words), width, break_on_hyphens=False, break_long_words=False)
        words = []
        lines += _typed(line, width)
    return lines[:-1]


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


def terminal_width() -> int:
    """Columns as COLUMNS says or the terminal has, that of a pager behind a pipe too; 100 where there is none.

    shutil would import every compression library to know.
    """
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return max(40, int(said))
    try:
        out = sys.stdout.fileno()
        shown = sys.stderr.fileno() if stat.S_ISFIFO(os.fstat(out).st_mode) else out
        return os.get_terminal_size(shown).columns or 100  # some terminals do not know theirs
    except (OSError, ValueError):
        return 100


def _row(names: str, help: str, width: int, column: int = COLUMN) -> list[str]:
    column = column if width >= NARROW else NARROW_COLUMN
    room = width - column
    text = [help] if len(help) <= room else textwrap.wrap(help, room, break_on_hyphens=False)
    first = f"  {names}"
    if len(first) >= column:
        return [first, *(" " * column + line for line in text)]
    return [f"{first:<{column}}{text[0]}", *(" " * column + line for line in text[1:])]
