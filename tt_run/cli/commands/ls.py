"""`tt-run ls`: the runs here, with what became of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tt_run.cli.commands.looking import (
    age_text,
    amount,
    columns,
    cut_to_terminal,
    place_of,
    runs_elsewhere,
    runs_here,
)
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit
from tt_run.inputs.site import is_dir
from tt_run.supervise.looking.runs import Run

_SENTENCE = 16  # columns that are kept for what became of a run


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
    names = [place_of(run) if run in elsewhere else run.label for run in runs]
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
    room = columns()
    lines = table(names, runs, room)
    if lines and sys.stdout.isatty():  # what programs read has runs alone
        print(heading(names, runs, room))
    for line in lines:
        print(line)
    return Exit.OK


_FACTS = ("    RANKS", "    AGE", "     SIZE")


def heading(names: Sequence[str], runs: Sequence[Run], width: int | None) -> str:
    """What stands above the lines of `table`."""
    wide = max(map(len, names))
    told = _FACTS[: _shown(wide, runs, width)]
    return cut_to_terminal("  ".join([f"{'RUN':{wide}}  {'STATE':7}", *told, "OUTCOME"]), wide + 9)


def table(names: Sequence[str], runs: Sequence[Run], width: int | None) -> list[str]:
    """A line for each run. On a narrow screen size, age and number of ranks give way, in this order, to what became of it."""
    if not runs:
        return []
    wide = max(map(len, names))
    begins = [f"{name:{wide}}  {run.state:7}" for name, run in zip(names, runs, strict=True)]
    facts = [
        (f"{len(run.ranks):3} rank{' ' if len(run.ranks) == 1 else 's'}", f"{age_text(run.began):>7}", f"{amount(run.size):>9}")
        for run in runs
    ]  # fmt: skip
    shown = _shown(wide, runs, width)
    return [
        cut_to_terminal("  ".join([begin, *told[:shown], run.sentence]), wide + 9)
        for begin, told, run in zip(begins, facts, runs, strict=True)
    ]


def _shown(wide: int, runs: Sequence[Run], width: int | None) -> int:
    """How many of the facts there is room for beside names of so many columns."""
    longest = max(len(run.sentence) for run in runs)
    return next(
        count
        for count in (3, 2, 1, 0)
        if not count
        or width is None
        or wide + 9 + sum(2 + len(each) for each in _FACTS[:count]) + 2 + min(longest, _SENTENCE) <= width
    )
