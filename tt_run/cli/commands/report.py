"""`tt-run report`: a run as one HTML file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic, on_one_line
from tt_run.cli.commands.looking import one_run
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.errors import UsageError


class Report(Arguments):
    """Make one page of a run (the newest unless named): verdict, ranks, topology, collectives, timeline, curves, memory, environment, logs.

    It holds all it needs and opens anywhere, without a server or a network. What the run did not record says which option does.
    """

    __slots__ = ()
    usage = "tt-run report [RUN] [OPTIONS]"
    output: str | None = option(
        "Options",
        "-o --output",
        "FILE",
        "The page, - for standard output [report.html in the run folder].",
        "output",
        endings=".html .htm",
    )
    log_dir: str | None = option(
        "Options", "--log-dir", "DIR", "Where the runs are [./tt-run-logs].", "folder"
    )
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Writes the page and says where. Raises UsageError where it cannot be written."""
    given = read(words, Report)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Report))
        return Exit.OK
    if len(given.rest) > 1:
        raise UsageError(
            Diagnostic(
                "TTR042", f"one run at a time, not {len(given.rest)}", help="tt-run report RUN -o FILE.html"
            )
        )
    from tt_run.cli.outputs import refuse_lost_outputs
    from tt_run.report.page import render

    run = one_run(given.rest, given.log_dir)
    if given.output != "-":
        refuse_lost_outputs(given)
    page = render(run)
    if given.output == "-":
        sys.stdout.buffer.write(page)
        sys.stdout.buffer.flush()
        return Exit.OK
    path = Path(given.output) if given.output else run.folder.path / "report.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(page)
    except OSError as error:
        wrong = f"{path} cannot be written: {error.strerror}"
        raise UsageError(Diagnostic("TTR036", wrong, help="name another file with -o FILE.html")) from None
    print(on_one_line(str(path)))
    return Exit.OK
