"""Runs that there are, running or ended: found by their folders, looked at from outside, without the launcher that made them."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path

from mgd.diagnostics import on_one_line
from mgd.lean import dataclass
from tt_run import contract
from tt_run.supervise.folder import DEFAULT_PARENT, RunFolder
from tt_run.supervise.looking.stacks import COLLECT_SECONDS, RankStack, parse_stack, registered_pids
from tt_run.supervise.status import RankStatus, parse_status

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

RUNNING, ENDED, LOST = "running", "ended", "lost"
_STATUS = r"^rank-(\d+)\.status$"


@dataclass(frozen=True)
class Run:
    """A run by its folder. `verdict` is what its launcher wrote at the end, None before; `size` counts the bytes of its files."""

    folder: RunFolder
    ranks: tuple[RankStatus, ...]
    verdict: dict[str, Any] | None
    began: float
    size: int

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.path.name

    @property
    def label(self) -> str:
        """The name in a line of text."""
        return on_one_line(self.name)

    @property
    def state(self) -> str:
        """`ended` with a verdict, `running` while a rank of this machine or the launcher lives, else `lost`: nobody wrote an end."""
        if self.verdict is not None:
            return ENDED
        return RUNNING if self._launcher_lives or any(_lives(s.pid) for s in self.live) else LOST

    @property
    def live(self) -> list[RankStatus]:
        """The ranks that have started and left no record of their end."""
        return [status for status in self.ranks if status.started and not status.ended]

    @property
    def _launcher_lives(self) -> bool:
        digits = self.name.rpartition("-")[2]
        return digits.isdigit() and "-" in self.name and _lives(int(digits))

    @property
    def sentence(self) -> str:
        """What became of it, in words."""
        if self.verdict is not None:
            code = self.verdict.get("exit_code")
            return "ended well" if code == 0 else str(self.verdict.get("sentence", f"exit code {code}"))
        here = len(self.live)
        if self.state == RUNNING:
            return f"{here} of {len(self.ranks)} ranks running" if self.ranks else "starting"
        return "its launcher is gone and wrote no end"


def _lives(pid: int | None) -> bool:
    """Whether a process of this machine has this number and has not ended."""
    if pid is None:
        return False
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] not in (["Z"], ["X"])


def parent_of_runs(log_dir: str | None, cwd: Path) -> Path:
    """Where runs are looked for: `--log-dir`, or `tt-run-logs` below the working directory."""
    return Path(log_dir).absolute() if log_dir else cwd / DEFAULT_PARENT


def find_runs(parent: Path) -> list[Run]:
    """The runs of a folder, the newest first; the folder itself when it is one."""
    if _is_run(parent):
        return [read_run(parent)]
    try:
        folders = [path for path in parent.iterdir() if _is_run(path)]
    except OSError:
        return []
    return sorted((read_run(path) for path in folders), key=lambda run: run.began, reverse=True)


def find_going_on(cwd: Path) -> list[Run]:
    """The runs that go on, wherever their folders are, of programs in this working directory or with folders below it; the newest first.

    A rank's process has the folder in its environment. Those of other users are not seen, nor those of runs with no rank on this machine.
    """
    mark, folders = f"{contract.RUN_DIR}=".encode(), set()
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each process takes longer than the rest
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as stream:
                found = [v for v in stream.read().split(b"\0") if v.startswith(mark)]
            place = os.readlink(f"/proc/{name}/cwd") if found else ""  # noqa: PTH115
        except OSError:
            continue
        for variable in found:
            folder = Path(os.fsdecode(variable[len(mark) :]))
            if place == str(cwd) or cwd in folder.parents:
                folders.add(folder)
    runs = [read_run(folder) for folder in folders if _is_run(folder)]
    return sorted((run for run in runs if run.state == RUNNING), key=lambda run: run.began, reverse=True)


def _is_run(path: Path) -> bool:
    return os.path.isdir(path) and any(  # noqa: PTH112 - Path.is_dir raises for a name too long
        True
        for name in ("launch", contract.PLAN_FILE, "launcher.log")
        if os.path.exists(path / name)  # noqa: PTH110 - Path.exists raises in a folder that is closed to us
    )


def read_run(path: Path) -> Run:
    """A run as its files have it now."""
    ranks, size = {}, 0
    with suppress(OSError):
        for entry in path.iterdir():
            with suppress(OSError):
                size += entry.stat().st_size
            found = re.match(_STATUS, entry.name)
            if found:
                rank = int(found[1])
                with suppress(OSError):
                    ranks[rank] = parse_status(rank, entry.read_text(encoding="utf-8", errors="replace"))
    try:
        verdict = json.loads(
            (path / contract.PLAN_FILE).read_text(encoding="utf-8", errors="surrogateescape")
        )["verdict"]
    except (OSError, ValueError, KeyError, TypeError):
        verdict = None
    starts = [status.start for status in ranks.values() if status.start]
    began = min(starts, default=path.stat().st_mtime)
    return Run(
        RunFolder(path),
        tuple(ranks[rank] for rank in sorted(ranks)),
        verdict if isinstance(verdict, dict) else None,
        began,
        size,
    )


def ask_stacks(run: Run) -> list[RankStack]:
    """The stacks of a run's live Python ranks on this machine: asked for with SIGUSR1, waited for at most COLLECT_SECONDS."""
    asked: dict[int, int] = {}
    for status in run.live:
        path = run.folder.stacks(status.rank)
        for pid in registered_pids(run.folder, status.rank):
            before = path.stat().st_size
            if contract.ask_stacks(pid):
                asked.setdefault(status.rank, before)
    found: dict[int, RankStack] = {}
    deadline = time.monotonic() + COLLECT_SECONDS
    sizes = dict(asked)
    while len(found) < len(asked) and time.monotonic() < deadline:
        time.sleep(0.05)
        for rank, before in asked.items():
            size = run.folder.stacks(rank).stat().st_size
            if rank not in found and size > before and size == sizes[rank]:
                found[rank] = _read(run.folder, rank, before)
            sizes[rank] = size
    return [found.get(rank, RankStack(rank)) for rank in sorted(asked)]


def _read(folder: RunFolder, rank: int, offset: int) -> RankStack:
    with folder.stacks(rank).open("rb") as source:
        source.seek(offset)
        return parse_stack(rank, source.read().decode("utf-8", errors="replace"))


def remove(run: Run) -> None:
    """Delete a run's folder. Raises OSError."""
    import shutil

    shutil.rmtree(run.folder.path)
