"""Where mpirun, or MPI in a rank, gets no more open files or processes, or may not write what it must. It ends the ranks that have started
then, and none of them began it."""

from __future__ import annotations

import re
import resource
from contextlib import suppress
from pathlib import Path

from mgd.lean import dataclass
from tt_run.contract import Exit
from tt_run.granted import limit_of, refused_to_mpi
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.output.console import last_lines
from tt_run.supervise.status import StatusBoard
from tt_run.supervise.verdict.culprit import ENDED_BY_MPIRUN
from tt_run.supervise.verdict.evidence import Verdict


@dataclass(frozen=True, slots=True)
class Limit:
    """What there may be no more of: how mpirun says it, what it is, and what to do."""

    said: str
    cause: str
    number: int
    help: str
    most: str = "of which there may be {}"
    scale: int = 1  # of the number in the unit that is shown


FILES = Limit(
    r"ERR_SYS_LIMITS_PIPES|limit on number of pipes|Too many open files",
    "this machine gave it no more open files (ulimit -Hn)",
    resource.RLIMIT_NOFILE,
    "fewer ranks on this machine, or more open files: ulimit -n 4096 (docker run --ulimit nofile=4096)",
)
PROCESSES = Limit(
    r"ERR_SYS_LIMITS_CHILDREN|limit on number of children|ERROR: .* in file \S*/odls_default_module\.c|[Cc](?:annot|an't) fork|fork: .*unavailable"
    r"|progress_thread_start failed",
    "this machine gave it no more processes and threads (ulimit -u)",
    resource.RLIMIT_NPROC,
    "fewer ranks on this machine, or more processes: ulimit -u 4096 (docker run --pids-limit 4096)",
)
FILE_SIZE = Limit(
    r"File size limit exceeded",
    "files that it needs would be larger than files may be (ulimit -f)",
    resource.RLIMIT_FSIZE,
    "allow larger files: ulimit -f unlimited",
    most="which is {} KiB",
    scale=1024,
)
_LARGE_FILE = 64 << 20
"""Bytes of a file that hold the memory which ranks of a host share before they start."""
_LONGEST_NOTE = 4096
_LINES_OF_MPI = 60
_LIMITS = (FILES, PROCESSES, FILE_SIZE)  # the first that is said: without pipes there are no processes either


def with_refused_calls(verdict: Verdict, board: StatusBoard) -> Verdict:
    """The verdict, where the system refuses what MPI needs for memory of several ranks: which of them says so first, and whether mpirun is
    killed or crashes over it, is chance."""
    if verdict.succeeded or not lacks_resources(board.folder) or not refused_to_mpi():
        return verdict
    failed = tuple(status for status in board.all() if status.failed)
    return Verdict(Exit.NO_LAUNCHER, "MPI could not start in any rank", None, (), failed, verdict.lost)


def lacks_resources(folder: RunFolder) -> bool:
    """Whether any rank's library said so."""
    said = (last_lines(path, _LINES_OF_MPI) for path in folder.errs())
    return any("PMIX_ERR_OUT_OF_RESOURCE" in "\n".join(lines) for lines in said)


def limit_met(folder: RunFolder, rank: int | None = None) -> Limit | None:
    """What mpirun, the shell around a rank, or MPI in this `rank` got no more of, by its own words."""
    said = folder.launcher_said()
    if rank is not None:
        said += "\n".join(last_lines(folder.err(rank), _LINES_OF_MPI))
    for notes in sorted((folder.path / "launch").glob("rank-*.shell")):
        with suppress(OSError):
            said += notes.read_text(encoding="utf-8", errors="replace")[:_LONGEST_NOTE]
    found = next((limit for limit in _LIMITS if re.search(limit.said, said)), None)
    # Where files may be small, which process comes to that first is chance, and mpirun may have killed the one that would have said so.
    return FILE_SIZE if found is None and _files_are_small() and lacks_resources(folder) else found


def _files_are_small() -> bool:
    most = _most(FILE_SIZE)
    return most is not None and most < _LARGE_FILE


def with_limits(verdict: Verdict, board: StatusBoard, observation: Observation) -> Verdict:
    """The verdict, where mpirun could not start all ranks and has ended those that it had started."""
    if verdict.succeeded or observation.ended_by is not EndedBy.ITSELF:
        return verdict
    failed = [status for status in board.all() if status.failed]
    if not all(s.told or s.signal in ENDED_BY_MPIRUN for s in failed):
        return verdict
    if (limit := limit_met(board.folder)) is None:
        return verdict
    sentence = f"mpirun could not start all of {board.size} ranks: {limit_words(limit)}"
    victims = (*verdict.victims, *([verdict.culprit] if verdict.culprit is not None else []))
    return Verdict(Exit.NO_LAUNCHER, sentence, victims=victims, lost=verdict.lost)


def limit_words(limit: Limit) -> str:
    """What it was that there was no more of, and how much there may be where a number is set."""
    most = _most(limit)
    return limit.cause + (f", {limit.most.format(most // limit.scale)}" if most is not None else "")


def _most(limit: Limit) -> int | None:
    """How many there may be, where a number is set."""
    soft, hard = limit_of(limit.number)
    found = hard if limit is FILES else soft  # tt-run raises that of files as far as it may
    numbers = [found] if found != resource.RLIM_INFINITY else []
    if limit is PROCESSES:
        numbers += _of_control_groups()
    return min(numbers, default=None)


def _of_control_groups() -> list[int]:
    """How many processes the control groups of this process allow, as those of containers do."""
    found = []
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "pids" not in controllers.split(","):
                continue
            root = Path("/sys/fs/cgroup/pids" if controllers else "/sys/fs/cgroup")
            group = root / path.lstrip("/")
            for folder in {group, *group.parents} - {*root.parents}:
                most = folder / "pids.max"
                if most.is_file() and (text := most.read_text(encoding="utf-8").strip()).isdigit():
                    found.append(int(text))
    return found
