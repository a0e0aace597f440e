"""`tt-run doctor`: what this machine, or each of the hosts, offers for a launch."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.cli.doctor.machine import doctor
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.idle import tell_looks
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit


class Doctor(CommandLine):
    """Try out what a launch with these options would need, here or on each of its hosts. The options are those of a launch."""

    __slots__ = ()
    usage = "tt-run doctor [OPTIONS] [--] [PROGRAM [ARGS...]]"


def command(words: Sequence[str]) -> int:
    """Prints every check; the exit code says whether a launch would fail. Raises UsageError and InputError for hosts that cannot be read."""
    given = read(words, Doctor)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Doctor))
        return Exit.OK
    tell_looks(given)
    return doctor(given)
