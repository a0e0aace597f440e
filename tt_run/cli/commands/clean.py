"""`tt-run clean`: old runs removed."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.cli.commands.looking import amount, runs_here
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.inputs.findings import counted


class Clean(Arguments):
    """Remove the folders of runs that have ended, all but the newest; runs that go on are never touched."""

    __slots__ = ()
    usage = "tt-run clean [OPTIONS]"
    keep: int = option("Options", "--keep", "N", "Leave the newest N [0].", kind="count", default=0)
    dry_run: bool = option("Options", "--dry-run", "", "Only say what would go.")
    log_dir: str | None = option(
        "Options", "--log-dir", "DIR", "Where the runs are [./tt-run-logs].", "folder"
    )
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Removes them and says so; 1 when a folder cannot be removed."""
    given = read(words, Clean)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Clean))
        return Exit.OK
    from tt_run.supervise.looking.runs import RUNNING, remove

    ended = [run for run in runs_here(given.log_dir) if run.state != RUNNING][given.keep :]
    freed, failed = 0, 0
    for run in ended:
        try:
            if not given.dry_run:
                remove(run)
            freed += run.size
        except OSError as error:
            failed += 1
            print(f"{run.label}: {error.strerror}")
    word = "would be removed" if given.dry_run else "removed"
    print(f"{counted(len(ended) - failed, 'run')} {word}, {amount(freed)}")
    return Exit.FAILED if failed else Exit.OK
