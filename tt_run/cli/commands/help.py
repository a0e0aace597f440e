"""`tt-run help`: what `--help` says, of the whole or of one command."""

from __future__ import annotations

from collections.abc import Sequence

from mgd.diagnostics import Diagnostic
from tt_run.cli.commands import COMMANDS, run_command
from tt_run.cli.help import command_help, help_text
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError
from tt_run.inputs.findings import nearest


class Help(Arguments):
    """Print the help text of tt-run, or that of a COMMAND."""

    __slots__ = ()
    usage = "tt-run help [COMMAND]"
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints the text. Raises UsageError for what is no command, with the nearest."""
    given = read(words, Help)
    if given.help or not given.rest:
        print(command_help(Help) if given.help else help_text())
        return Exit.OK
    name = given.rest[0]
    if name not in COMMANDS:
        meant = nearest(name, COMMANDS)
        raise UsageError(
            Diagnostic(
                "TTR020",
                f"tt-run has no command {name}",
                help=f"write tt-run help {meant}" if meant else "tt-run help lists the commands",
            )
        )
    return run_command(name, ["--help"])
