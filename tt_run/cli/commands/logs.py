"""`tt-run logs`: what the ranks of a run printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mgd.cli.output import wants_colour
from mgd.diagnostics import Diagnostic
from tt_run.cli.commands.looking import one_run
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError
from tt_run.inputs.findings import all_ranks

_TICK = 0.2


class Logs(Arguments):
    """Print the logs of a run (the newest that goes on, else the newest, unless named), merged in the order in which they were written; with -f as they come."""

    __slots__ = ()
    usage = "tt-run logs [RUN] [OPTIONS]"
    rank: int | None = option("Options", "--rank", "N", "Of one rank alone.", kind="count")
    follow: bool = option("Options", "-f --follow", "", "Go on as long as the run does.")
    log_dir: str | None = option(
        "Options", "--log-dir", "DIR", "Where the runs are [./tt-run-logs].", "folder"
    )
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints the lines with their rank in front. Raises UsageError for a rank that the run does not have."""
    given = read(words, Logs)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Logs))
        return Exit.OK
    import time

    from tt_run.supervise.looking.runs import RUNNING, read_run
    from tt_run.supervise.options import Tee
    from tt_run.supervise.output.console import Console

    run = one_run(given.rest, given.log_dir, live=True)
    ranks = [status.rank for status in run.ranks]
    if given.rank is not None and given.rank not in ranks:
        wrong = f"{run.label} has no rank {given.rank}; it has {all_ranks(len(ranks))}"
        raise UsageError(Diagnostic("TTR042", wrong, help="write --rank 0"))
    chosen = Tee.parse("all" if given.rank is None else str(given.rank))
    out = sys.stdout.buffer
    tint = wants_colour(sys.stdout)
    console = Console(run.folder, len(ranks), chosen, out, out, time.monotonic, colour=tint, echoes=None)
    if not given.follow or run.state != RUNNING:
        console.show_in_order(_order(run.folder.order))
    while True:
        goes_on = given.follow and read_run(run.folder.path).state == RUNNING
        while console.pump(final=not goes_on) or console.behind:
            pass
        out.flush()
        if not goes_on:
            return Exit.OK
        time.sleep(_TICK)


def _order(path: Path) -> bytes:
    """What the launcher noted while the logs grew; nothing where it did not."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
