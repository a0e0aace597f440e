"""What the commands that look at runs share: which run is meant, ages and sizes as people read them."""

from __future__ import annotations

import time
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tt_run.errors import UsageError
from tt_run.inputs.site import is_dir
from tt_run.supervise.runs import Run, find_runs, parent_of_runs


def runs_here(log_dir: str | None) -> list[Run]:
    """The runs below `--log-dir` or the working directory, the newest first."""
    return find_runs(parent_of_runs(log_dir, Path.cwd()))


def one_run(words: tuple[str, ...], log_dir: str | None) -> Run:
    """The run that a word names: its folder, or the beginning of its name; the newest without one. Raises UsageError."""
    if words and is_dir(Path(words[0])):
        found = find_runs(Path(words[0]).absolute())
        if found:
            return found[0]
    runs = runs_here(log_dir)
    fitting = [run for run in runs if not words or run.name.startswith(words[0])]
    if len(fitting) == 1 or (fitting and not words):
        return fitting[0]
    parent = parent_of_runs(log_dir, Path.cwd())
    if not runs:
        wrong, help = f"there are no runs in {parent}", "name their folder with --log-dir DIR"
    elif fitting:
        names = ", ".join(run.name for run in fitting[:4])
        wrong, help = f"{words[0]} is the beginning of several runs: {names}", "write more of the name"
    else:
        wrong, help = (
            f"no run of {parent} is called {words[0]}",
            f"the newest is {runs[0].name}; tt-run ls has all",
        )
    raise UsageError(Diagnostic("TTR042", wrong, help=help))


def columns() -> int | None:
    """Columns as COLUMNS says or the terminal has; None for a pipe or a file, which take any."""
    import os
    import sys

    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None


def fitting(line: str) -> str:
    """A line cut to the width of the terminal; whole where there is none."""
    width = columns()
    return f"{line[: width - 1]}…" if width is not None and len(line) > width else line


def age(seconds: float) -> str:
    """A time ago: 12 s, 5 min, 3 h, 2 d."""
    since = max(time.time() - seconds, 0)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if since >= length:
            return f"{since / length:.0f} {unit}"
    return f"{since:.0f} s"


def amount(size: int) -> str:
    """Bytes: 512 B, 4 KiB, 2.1 MiB."""
    value = float(size)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit != "MiB" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
