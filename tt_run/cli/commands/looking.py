"""What the commands that look at runs share: which run is meant, ages and sizes as people read them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from mgd.diagnostics import Diagnostic, on_one_line
from tt_run.errors import UsageError
from tt_run.inputs.site import is_dir
from tt_run.supervise.looking.runs import RUNNING, Run, find_going_on, find_runs, parent_of_runs


def runs_here(log_dir: str | None) -> list[Run]:
    """The runs below `--log-dir` or the working directory, the newest first. Raises UsageError where that can be no folder of runs."""
    parent = parent_of_runs(log_dir, Path.cwd())
    wrong = _unlistable(parent)
    if wrong:
        message = f"there are no runs in {log_dir or parent}: {wrong}"
        raise UsageError(Diagnostic("TTR042", message, help="name their folder with --log-dir DIR"))
    return find_runs(parent)


def _unlistable(folder: Path) -> str:
    """Why nothing can be in a folder; empty for one that can be listed, and for one that nobody has made yet."""
    if is_dir(folder):
        return "" if os.access(folder, os.R_OK | os.X_OK) else "it may not be entered"
    return "it is a file" if os.path.lexists(folder) else ""


def runs_elsewhere(log_dir: str | None) -> list[Run]:
    """The runs of this working directory that go on and have their folder in another place; none where `--log-dir` names one."""
    if log_dir:
        return []
    parent = parent_of_runs(None, Path.cwd())
    return [run for run in find_going_on(Path.cwd()) if run.folder.path.parent != parent]


def place_of(run: Run) -> str:
    """A run's folder as it is typed: below the working directory without that."""
    return on_one_line(str(run.folder.path).replace(f"{Path.cwd()}/", "", 1))


def one_run(words: tuple[str, ...], log_dir: str | None, live: bool = False) -> Run:
    """The run that a word names: its folder, or the beginning of its name; the newest without one, of those that go on if it is to be `live`
    and there are any. Raises UsageError."""
    if words and is_dir(Path(words[0])):
        found = find_runs(Path(words[0]).absolute())
        if found:
            return found[0]
    runs = runs_here(log_dir)
    elsewhere = runs_elsewhere(log_dir) if live else []
    if elsewhere and not words:
        return _going_on(runs, elsewhere)
    fitting = [run for run in [*runs, *elsewhere] if not words or run.name.startswith(words[0])]
    if len(fitting) == 1 or (fitting and not words):
        return next((run for run in fitting if live and run.state == RUNNING), fitting[0])
    parent = parent_of_runs(log_dir, Path.cwd())
    if not runs:
        wrong = f"there are no runs in {parent}"
        help = "tt-run … python x.py makes one here; name another folder of runs with --log-dir DIR"
    elif fitting:
        names = ", ".join(run.label for run in fitting[:4])
        wrong, help = f"{words[0]} is the beginning of several runs: {names}", "write more of the name"
    else:
        wrong, help = (
            f"no run of {parent} is called {words[0]}",
            f"the newest is {runs[0].label}; tt-run ls has all",
        )
    raise UsageError(Diagnostic("TTR042", wrong, help=help))


def _going_on(runs: list[Run], elsewhere: list[Run]) -> Run:
    """The newest of those that go on, and a word about the others."""
    live = [run for run in (*runs, *elsewhere) if run.state == RUNNING] or elsewhere
    first, *others = sorted(live, key=lambda run: run.began, reverse=True)
    said = f"tt-run: this run has its folder in {place_of(first)}" if first in elsewhere else ""
    also = f"others go on too, name one: {', '.join(map(place_of, others))}" if others else ""
    if said or also:
        print(f"{said}; {also}" if said and also else said or f"tt-run: {also}", file=sys.stderr)
    return first


def columns() -> int | None:
    """Columns as COLUMNS says or the terminal has; None for a pipe or a file, which take any."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None


def cut_to_terminal(line: str, least: int = 0) -> str:
    """A line cut to the width of the terminal, but not before its first `least` characters; whole where there is no terminal."""
    width = columns()
    width = width and max(width, least + 1)
    return f"{line[: width - 1]}…" if width is not None and len(line) > width else line


def age_text(seconds: float) -> str:
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
