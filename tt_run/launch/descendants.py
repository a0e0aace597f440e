"""The processes that descend from one: who they are, and ending them.

A child subreaper inherits what its descendants leave behind, so that a program which forks twice, starts a session of its own or empties
its environment still is among its descendants. What cannot be reached: a process that another service starts on a program's behalf
(systemd-run, at, docker), and everything, once this machine's memory killer or a `kill -9` takes the keeper and tt-run at once.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache

_PR_SET_PDEATHSIG = 1
_PR_GET_KEEPCAPS = 7
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_POLL_SECONDS = 0.005
_PARTING_SECONDS = 0.2  # what is about to end by itself gets, before it counts as left behind
_TERM_SECONDS = 1.0
_KILL_SECONDS = 2.0
_RANK = b"OMPI_COMM_WORLD_RANK="


def inherit_orphans(name: bytes) -> bool:
    """Makes this process the parent of what its descendants leave behind; False where that cannot be done.

    `name` is what `ps` and `top` are to call it, at most 15 bytes. Somebody may have stopped this process when its parent dies: the kernel
    lets it go on then.
    """
    try:
        call = prctl()
        call(_PR_SET_NAME, name)
        call(_PR_SET_PDEATHSIG, int(signal.SIGCONT))
        return call(_PR_SET_CHILD_SUBREAPER, 1) == 0
    except Exception:  # a Python without ctypes, or another system than Linux
        return False


def prctl() -> Callable[[int, int | bytes], int]:
    """The C library's `prctl`. Of ctypes only the part that calls, where it is as expected: the rest of it would keep mpirun waiting for
    longer than all else that happens before it."""
    try:
        from _ctypes import call_function, dlopen, dlsym

        address = dlsym(dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        return lambda what, value: int(call_function(address, (what, value, 0, 0, 0)))
    except (ImportError, TypeError):
        import ctypes

        function = ctypes.CDLL(None).prctl
        return lambda what, value: int(function(what, value, 0, 0, 0))


@cache
def can_be_tied() -> bool:
    """Whether the kernel takes orders for when a parent dies: a sandbox may refuse them."""
    try:
        return prctl()(_PR_GET_KEEPCAPS, 0) >= 0
    except Exception:  # as above: then setpriv may still do it
        return True


def descendants(root: int) -> dict[int, int]:
    """The living processes below `root` and the rank that each belongs to by its environment or its parent's, -1 where neither says."""
    children: dict[int, list[int]] = {}
    dead: set[int] = set()
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each process takes longer than the rest
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stream:
                fields = stream.read().rpartition(b")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(name))
        if fields[0] in (b"Z", b"X"):
            dead.add(int(name))
    found: dict[int, int] = {}
    pending = [(pid, -1) for pid in children.get(root, ())]
    while pending:
        pid, parents = pending.pop()
        rank = parents if pid in dead or (own := _rank_of(pid)) < 0 else own
        pending += [(child, rank) for child in children.get(pid, ())]
        if pid not in dead:
            found[pid] = rank
    return found


def _rank_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            values = [v.removeprefix(_RANK) for v in stream.read().split(b"\0") if v.startswith(_RANK)]
    except OSError:
        return -1
    return int(values[0]) if values and values[0].isdigit() else -1


def _is_mpiruns(pid: int) -> bool:
    """Whether a process is a remote shell by which mpirun has started a daemon: on a busy machine it ends a little after mpirun."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            found = stream.read()
        return b"prted" in found or b"orted" in found
    except OSError:
        return False


def end_descendants(at_once: bool = False) -> dict[int, int]:
    """Ends every descendant of this process, SIGTERM first unless `at_once`; who was left, with their ranks. Reaps all children."""
    ended: dict[int, int] = {}
    deadline = time.monotonic() + (0.0 if at_once else _PARTING_SECONDS)
    while not (none_left := reap_all()) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    if none_left:
        return ended
    steps = ((signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, _KILL_SECONDS))[1 if at_once else 0 :]
    for number, seconds in steps:
        deadline = time.monotonic() + seconds
        told: set[int] = set()
        while not reap_all():
            living = descendants(os.getpid())
            for pid, rank in living.items():
                # One that is ending has no environment any more: what it said before counts.
                if rank >= 0 or (pid not in ended and not _is_mpiruns(pid)):
                    ended[pid] = rank
                # A killed process may have started another one meanwhile: look until there is none.
                if number == signal.SIGKILL or pid not in told:
                    told.add(pid)
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_SECONDS)
        else:
            break
    return ended


def reap_all() -> bool:
    """Collects every child that has ended; True when no child is left at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False
