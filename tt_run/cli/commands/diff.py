"""`tt-run diff`: the first call and the first element in which two recorded runs differ."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from mgd.diagnostics import Diagnostic
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError

# The working directory must not decide which modules are found: `python -m` would put it first.
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; from tt_run.runtime.record.compare import main; sys.exit(main(sys.argv[1:]))"


class Diff(Arguments):
    """Compare two recorded runs (tt-run --emulate --record DIR): two versions, two seeds, or two splits of one program.

    Exit code 0 when they are the same, 1 when they differ. Runs that are split otherwise are compared device by device.
    """

    __slots__ = ()
    usage = "tt-run diff [OPTIONS] RUN_A RUN_B"
    rank: int | None = option("Diff", "--rank", "N", "Only the records of this rank.", kind="count")
    json: bool = option("Look", "--json", "", "One JSON object.")
    help: bool = option("Look", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints the first difference. Raises UsageError for words that name no two runs."""
    given = read(words, Diff)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Diff))
        return Exit.OK
    if len(given.rest) != 2:
        help = "write tt-run diff RUN_A RUN_B, each a folder of --record"
        raise UsageError(Diagnostic("TTR021", "tt-run diff: name two runs", help=help))
    rank = "" if given.rank is None else str(given.rank)
    form = "json" if given.json else "text"
    sys.stdout.flush()
    return os.execv(sys.executable, [sys.executable, "-c", _START, *given.rest, rank, form])
