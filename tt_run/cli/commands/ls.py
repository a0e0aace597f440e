"""`tt-run ls`: the runs here, with what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tt_run.cli.commands.looking import age, amount, fitting, place_of, runs_elsewhere, runs_here
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.inputs.site import is_dir


class Ls(Arguments):
    """List the runs of this folder, and those that go on elsewhere for programs in it, the newest first: state, ranks, age, size of their logs."""

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
    elsewhere = runs_elsewhere(given.log_dir)
    runs = sorted([*runs_here(given.log_dir), *elsewhere], key=lambda run: run.began, reverse=True)
    names = [place_of(run) if run in elsewhere else run.name for run in runs]
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
        if given.log_dir and not is_dir(Path(given.log_dir)):
            print(f"no runs here: there is no folder {given.log_dir}")
        else:
            elsewhere_too = "" if given.log_dir else "; --log-dir DIR looks in another folder"
            print(f"no runs here, in {given.log_dir or './tt-run-logs'}{elsewhere_too}")
    wide = max(map(len, names), default=0)
    for name, run in zip(names, runs, strict=True):
        facts = f"{len(run.ranks):3} rank{' ' if len(run.ranks) == 1 else 's'}  {age(run.began):>7}  {amount(run.size):>9}"
        print(fitting(f"{name:{wide}}  {run.state:7}  {facts}  {run.sentence}", wide + 9))
    return Exit.OK
