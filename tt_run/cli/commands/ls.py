"""`tt-run ls`: the runs here, with what became of them."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.cli.commands.looking import age, amount, fitting, runs_here
from tt_run.cli.options import Arguments, option
from tt_run.cli.parse import read
from tt_run.contract import Exit


class Ls(Arguments):
    """List the runs of this folder, the newest first: state, ranks, age, size of their logs."""

    __slots__ = ()
    usage = "tt-run ls [OPTIONS]"
    log_dir: str | None = option(
        "Options", "--log-dir", "DIR", "Where the runs are [./tt-run-logs].", "folder"
    )
    json: bool = option("Options", "--json", "", "One JSON object for each run, as a list.")
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints the table."""
    given = read(words, Ls)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Ls))
        return Exit.OK
    runs = runs_here(given.log_dir)
    if given.json:
        import json

        rows = [
            {"run": r.name, "state": r.state, "ranks": len(r.ranks), "started": r.began, "bytes": r.size, "verdict": r.verdict,
             "folder": str(r.folder.path)}
            for r in runs
        ]  # fmt: skip
        print(json.dumps(rows, indent=1))
        return Exit.OK
    if not runs:
        print("no runs here")
    wide = max((len(run.name) for run in runs), default=0)
    for run in runs:
        facts = f"{len(run.ranks):3} rank{' ' if len(run.ranks) == 1 else 's'}  {age(run.began):>7}  {amount(run.size):>9}"
        print(fitting(f"{run.name:{wide}}  {run.state:7}  {facts}  {run.sentence}"))
    return Exit.OK
