"""Starting the ranks of a plan: one interface, and mpirun behind it (the tests have another that needs no MPI)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from mgd.lean import dataclass
from tt_run.launch.defaults import GivenWords
from tt_run.launch.keeper import Order
from tt_run.launch.line import LaunchLine
from tt_run.launch.open_files import descriptors_needed
from tt_run.launch.started_job import KeptJob

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class Job(Protocol):
    """A started launch. It ends by itself once every rank has ended; it can be asked, told and forced to end."""

    @property
    def pid(self) -> int:
        """The process that ends when the launch has ended."""

    def poll(self) -> int | None:
        """Its exit code (negative for a signal), or None while it runs."""

    def send(self, number: int) -> None:
        """Sends it a signal, which it passes on to its ranks; no error when it is gone."""

    def kill(self) -> None:
        """Ends it at once, with every process of its session."""

    def processes(self) -> Mapping[int, int]:
        """The processes of its ranks on this machine, and the rank of each."""

    def finish(self) -> tuple[int, ...] | None:
        """Ends everything of it that is left on this machine: the rank of each such process, -1 where it is not known; None when others must look."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a back end needs to know: the launcher's line, the words that are the same on every rank, and where to run.

    `abandoned` is called with mpirun's process number, in another process, when this one was killed: what is left on other hosts is to be ended,
    and its answer goes to this one's standard error.
    """

    line: LaunchLine
    per_rank: tuple[str, ...]
    size: int
    cwd: Path
    log: Path
    environ: Mapping[str, str]
    stdin: bool = False
    abandoned: Callable[[int], str] = lambda _: ""
    is_multi_host: bool = False


class Backend(Protocol):
    """A way to start ranks."""

    def start(self, start: Start) -> Job:
        """Starts all ranks, with the launcher's own output in `start.log`. Raises OSError when that cannot be executed."""


# Where Open MPI 5 keeps the files of a job. Each is named after the process number of its mpirun, and one that a killed mpirun left
# behind makes the next mpirun with that number fail ("PMIx server's listener thread failed to start").
_SESSIONS = "prte_local_tmpdir_base"
# Where ranks of one host put the memory that they share. What killed ranks leave in the common place stays there, 16 MiB each at most.
_SEGMENTS = ("btl_sm_backing_directory", "osc_sm_backing_directory")
MEMORY = "/dev/shm"
ROOM = 32 << 20
"""Bytes that are to be free in memory before mpirun's files go there."""
FILES = 10_000
"""And files; mpirun makes some for each rank."""


class MpirunBackend:
    """The real one."""

    def start(self, start: Start) -> Job:
        environment = {name: value for name, value in start.environ.items() if name not in start.line.unset}
        environment.update(start.line.environment)
        scratch = None
        given = GivenWords(start.line.global_args, environment)
        if not given.sets(_SESSIONS, "prte_tmpdir_base"):
            scratch = scratch_folder(environment, here=not start.is_multi_host)
            environment[f"PRTE_MCA_{_SESSIONS}"] = str(scratch)
            if scratch.parent == Path(MEMORY):
                environment |= {
                    f"OMPI_MCA_{name}": str(scratch) for name in _SEGMENTS if not given.sets(name)
                }
        # Daemons of other hosts are found by mpirun's own name.
        if _numbers_repeat() and not start.is_multi_host:
            environment |= _own_name()
        stdin = 0 if start.stdin else None
        files = descriptors_needed(start.size)
        order = Order(start.line.command, start.cwd, environment, stdin, start.log, scratch, files)
        return KeptJob(order, start.abandoned)


_FIRST_NUMBERS = 0xEFFFFFFC
"""PROC_PID_INIT_INO of Linux: the space of process numbers that is nobody's container."""


def _numbers_repeat() -> bool:
    """Whether other processes of this machine may have the same numbers: in a container."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino != _FIRST_NUMBERS
    except OSError:
        return False


def _own_name() -> dict[str, str]:
    """A name for the job instead of host and process number: two containers that share both (`docker run --network=host --ipc=host`) would
    write into the same files in /dev/shm, and crash."""
    return {"PMIX_SERVER_NSPACE": f"prterun-tt-run-{os.urandom(6).hex()}", "PMIX_SERVER_RANK": "0"}


def scratch_folder(environ: Mapping[str, str], *, here: bool, memory: str = MEMORY) -> Path:
    """The name of a new folder on this machine, which the keeper of the job makes and removes.

    Where the user names no place and all ranks are `here`, it is in memory, as Open MPI's own segments are, if there is room: a disk may
    take some milliseconds for each folder that is removed, mpirun has one for each rank, and the user waits.
    """
    places = (environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    place = next(filter(None, places), memory if here and _has_room(memory) else "/tmp")
    return Path(place, f"tt-run-{os.getpid()}-{time.time_ns():x}")


def _has_room(folder: str) -> bool:
    """Whether what mpirun writes there, some kilobytes for each rank, leaves as good as all of it free."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    has_files = not found.f_files or found.f_favail >= FILES  # as of a file system that does not count them
    return found.f_bavail * found.f_frsize >= ROOM and has_files and os.access(folder, os.W_OK | os.X_OK)
