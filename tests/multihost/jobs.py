"""Jobs that run on several hosts, and what must be true on each of them afterwards."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.jobs import GONE_WITHIN, shut, until
from tests.e2e.launch import Ran
from tests.multihost.conftest import Cluster
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.status import StatusBoard

HOSTS = ("h1", "h2", "h3")
DEADLINE = 40.0
# One small mesh per rank and one rank per host: nothing that a fault needs is missing, and nothing else costs time.
THREE = ("--emulate", "--system", "n150", "--meshes", "3", "--hosts", "h1:1,h2:1,h3:1")
# The hosts share the cores of this machine, which Open MPI does not know: a rank that waits must let the others run.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1"}
IN_MPI = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\ncomm.Barrier()\nprint('up', flush=True)\n"
FOREVER = "while True:\n    comm.Barrier()\n    time.sleep(0.01)\n"


def named(err: str) -> str:
    """The sentence with which the report of a failure begins."""
    lines = [line for line in err.splitlines() if line.startswith("tt-run: ")]
    return lines[-1].removeprefix("tt-run: ") if lines else err


def python(folder: Path, text: str) -> tuple[str, str]:
    """The words that run a Python program with this text; `rank` is defined in it."""
    path = folder / "program.py"
    path.write_text(f"import os, sys, time, signal\nrank = int(os.environ['OMPI_COMM_WORLD_RANK'])\n{text}")
    return sys.executable, str(path)


@dataclass
class HostJob:
    """A `tt-run` that was started on h1."""

    cluster: Cluster
    process: subprocess.Popen[bytes]
    folder: RunFolder
    size: int
    began: float = field(default_factory=time.monotonic)

    @property
    def board(self) -> StatusBoard:
        board = StatusBoard(self.folder, self.size)
        board.refresh()
        return board

    def wait_for_line(self, text: str) -> HostJob:
        """Until each rank has written a line to its standard output."""
        until(
            lambda: all(text in self._out(rank) for rank in range(self.size)), DEADLINE, f"the line {text!r}"
        )
        return self

    def _out(self, rank: int) -> str:
        try:
            return self.folder.out(rank).read_text()
        except FileNotFoundError:
            return ""

    def pid(self) -> str:
        """The process id of tt-run on h1."""
        return (self.folder.path.parent / "pid").read_text().strip()

    def end(self, seconds: float = DEADLINE) -> Ran:
        """Waits for tt-run itself."""
        out, err = self.process.communicate(timeout=seconds)
        return Ran(self.process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def check_gone(self, hosts: tuple[str, ...] = HOSTS) -> None:
        """No process of the run is left on any of the hosts, daemons and remote shells included."""
        left: list[str] = []

        def empty() -> bool:
            left[:] = leftovers(self.cluster, hosts)
            return not left

        try:
            until(empty, GONE_WITHIN, "the end of every process")
        except AssertionError:
            raise AssertionError(f"left after {GONE_WITHIN} s: {left}") from None

    def close(self) -> None:
        shut(self.process)


def leftovers(cluster: Cluster, hosts: tuple[str, ...]) -> list[str]:
    """Processes that are neither the host itself nor this question, as `host: words`."""
    asked = [(host, cluster.start(host, "ps", "-eo", "stat=,pid=,args=", cwd=Path("/"))) for host in hosts]
    found = []
    for host, process in asked:
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0, err.decode()
        for line in out.decode(errors="replace").splitlines():
            state, pid, words = line.split(None, 2)
            if pid != "1" and not state.startswith("Z") and not words.startswith(("ps -eo", "sshd")):
                found.append(f"{host}: {words[:120]}")
    return found


@dataclass
class HostJobs:
    """Starts jobs for one test and ends them all after it."""

    cluster: Cluster
    root: Path
    started: list[HostJob] = field(default_factory=list)

    def start(
        self,
        *program: str,
        options: tuple[str, ...] = (),
        where: tuple[str, ...] = THREE,
        ranks: int = 3,
        env: Mapping[str, str] | None = None,
    ) -> HostJob:
        """`tt-run` on `program`, from h1; the run folder is the test's own."""
        folder = RunFolder(self.root / f"run{len(self.started)}")
        words = ["tt-run", *where, "--log-dir", str(folder.path), *options, *program]
        keep = f'echo $$ >{self.root}/pid && exec "$@"'
        settings = {**YIELDING, **(env or {})}
        process = self.cluster.start("h1", "sh", "-c", keep, "keep", *words, cwd=self.root, env=settings)
        job = HostJob(self.cluster, process, folder, ranks)
        self.started.append(job)
        return job

    def run(
        self,
        *program: str,
        options: tuple[str, ...] = (),
        where: tuple[str, ...] = THREE,
        env: Mapping[str, str] | None = None,
        seconds: float = DEADLINE,
    ) -> Ran:
        """The same to its end."""
        return self.start(*program, options=options, where=where, env=env).end(seconds)

    def close(self) -> None:
        for job in self.started:
            job.close()
