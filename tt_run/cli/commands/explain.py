"""`tt-run explain`: the page of a finding."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.cli.views import explain, print_codes


class Explain(Arguments):
    """Explain findings by CODE (TTR204, TTG001, MGD012), and exit codes (77); without one, list the codes of tt-run."""

    __slots__ = ()
    usage = "tt-run explain [CODE...]"
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints the pages of the codes. Raises UsageError for an unknown one, with the nearest."""
    given = read(words, Explain)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Explain))
        return 0
    if not given.rest:
        return print_codes()
    for number, code in enumerate(given.rest):
        if number:
            print()
        explain(code)
    return 0
