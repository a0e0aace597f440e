"""The ranks' processes on this machine: process groups, who is left in them, ending them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tt_run import contract
from tt_run.supervise.looking.frozen import thawing
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.status import StatusBoard

PARTING_SECONDS = 0.3  # what the last steps of the wrappers get after mpirun has ended
POLL_SECONDS = 0.005
STRAY_SECONDS = 1.0  # what a process in a session of its own gets after SIGTERM


def kill_group(pgid: int, number: int) -> bool:
    """Signals a process group; False when there is no such group any more."""
    try:
        os.killpg(pgid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def local_groups(board: StatusBoard, host: str) -> dict[int, int]:
    """The process group of each rank that runs on this machine. Each rank is one of its own."""
    return {s.rank: s.pgid for s in board.all() if s.pgid is not None and s.host == host}


def end_groups(groups: Mapping[int, int], grace: float = PARTING_SECONDS) -> tuple[int, ...]:
    """Ends what is left of the ranks after `grace` seconds; the ranks that had left something.

    Children that a program has started and forgotten are in its group too.
    """
    left = remaining(groups, grace)
    for pgid in left.values():
        kill_group(pgid, signal.SIGKILL)
    remaining(left, 1.0)
    return tuple(left)


def end_strays(run_dir: Path, after: int) -> tuple[int, ...]:
    """Ends what has left its rank's process group (`setsid`), SIGTERM first; the ranks that had left something.

    Such a process is known by the run folder in its environment. `after` is the process id of the launcher: what the run has
    started is younger.
    """
    mark = f"{contract.RUN_DIR}={run_dir}".encode("utf-8", "surrogateescape")
    found = _marked(mark, after)
    for number, seconds in ((signal.SIGTERM, STRAY_SECONDS), (signal.SIGKILL, 1.0)):
        left = set(found)
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while left and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            left &= _marked(mark, after).keys()
        if not left:
            break
    return tuple(sorted(set(found.values())))


def _marked(mark: bytes, after: int) -> dict[int, int]:
    """The rank of each process with the mark in its environment, by process id; -1 where it does not say."""
    latest = int(Path("/proc/loadavg").read_text(encoding="ascii").split()[-1])
    if latest < after:
        after = 0  # the numbers have begun again
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each process takes longer than the rest
        if not name.isdigit() or int(name) <= after or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as stream:
                variables = stream.read().split(b"\0")
        except OSError:
            continue
        if mark in variables:
            ranks = [v.partition(b"=")[2] for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK=")]
            found[int(name)] = int(ranks[0]) if ranks and ranks[0].isdigit() else -1
    return found


def left_behind(swept: Sequence[int]) -> str:
    """Who had left something, in words; -1 stands for a rank that is not known."""
    known = [rank for rank in swept if rank >= 0]
    if not known:
        return "processes were left behind in sessions of their own, which were ended"
    return f"{rank_list(known)} left processes behind, which were ended"


def survivors(groups: Mapping[int, int]) -> dict[int, str]:
    """The ranks that SIGKILL has not ended, and what is to be said of each: what is frozen, or waits for a device, ends only once it goes on."""
    told = {}
    alive = _members() if groups else {}
    for rank, pgid in groups.items():
        if (pid := alive.get(pgid)) is None:
            continue
        if words := thawing(pid):
            why = f"SIGKILL ends what a control group has frozen once it goes on: {words}"
        else:
            why = f"process {pid} does not take SIGKILL: it waits for a file system or a device"
        told[rank] = f"rank {rank} is still there: {why}"
    return told


def remaining(groups: Mapping[int, int], seconds: float) -> dict[int, int]:
    """The groups that still have a living process after at most `seconds`."""
    deadline = time.monotonic() + seconds
    left = living(groups)
    while left and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        left = living(left)
    return left


def living(groups: Mapping[int, int]) -> dict[int, int]:
    """The groups with a process that is not just waiting to be reaped: in a container nobody may ever do that."""
    existing = {rank: pgid for rank, pgid in groups.items() if kill_group(pgid, 0)}
    alive = _members() if existing else {}
    return {rank: pgid for rank, pgid in existing.items() if pgid in alive}


def _members() -> dict[int, int]:
    """A living process of each process group."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] not in ("Z", "X"):
                found[int(fields[2])] = int(entry.name)
    return found
