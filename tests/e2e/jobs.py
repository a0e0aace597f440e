"""Jobs of two or four real MPI ranks that fail in a chosen way, and what must be true afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.launch import ROOT, Ran, environment
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.processes import living
from tt_run.supervise.status import RankStatus, StatusBoard

DEADLINE = 60.0
GONE_WITHIN = 5.0


def until(
    condition: Callable[[], object],
    seconds: float = DEADLINE,
    what: str = "the condition",
    seen: Callable[[], object] | None = None,
) -> None:
    """Waits for a condition; fails when it does not come, with what `seen` tells then, so that the log of a run elsewhere says why."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            told = f"it is {found!r}" if seen is None else f"seen until then:\n{seen()}"
            raise AssertionError(f"{what} did not come within {seconds} s; {told}")
        time.sleep(0.01)


def shut(process: subprocess.Popen[bytes]) -> None:
    """Ends tt-run, first as a user would, and closes what was read from it."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@dataclass
class Job:
    """A running `tt-run` with its run folder. Whatever happens, `close` leaves nothing of it."""

    process: subprocess.Popen[bytes]
    folder: RunFolder
    size: int

    @property
    def board(self) -> StatusBoard:
        board = StatusBoard(self.folder, self.size)
        board.refresh()
        return board

    def status(self, rank: int) -> RankStatus:
        return self.board.of(rank)

    def wait_started(self) -> Job:
        self._until(lambda: self.board.all_started, what="the start of all ranks")
        return self

    def wait_for_line(self, text: str, rank: int | None = None) -> Job:
        """Until each rank (or one) has written a line to its standard output."""
        ranks = range(self.size) if rank is None else (rank,)
        self._until(lambda: all(text in self._out(each) for each in ranks), what=f"the line {text!r}")
        return self

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        """Like `until`, and over at once when tt-run ended without it."""
        until(lambda: self.process.poll() is not None or holds(), what=what, seen=self.seen)
        if not holds():
            out, err = self.process.communicate(timeout=DEADLINE)
            text = (out + err).decode(errors="replace")
            raise AssertionError(f"tt-run ended with {self.process.returncode} before {what}\n{text}")

    def _out(self, rank: int) -> str:
        try:
            return self.folder.out(rank).read_text()
        except FileNotFoundError:
            return ""

    def seen(self) -> str:
        """How tt-run and its ranks are, and the last that the ranks have written."""
        said = [f"tt-run: {self.process.poll()}", *(str(status) for status in self.board.all())]
        for rank in range(self.size):
            for path in (self.folder.out(rank), self.folder.err(rank)):
                said.append(f"{path.name}: {path.read_text()[-1000:] if path.exists() else 'none'}")
        return "\n".join(said)

    def send(self, number: int) -> Job:
        self.process.send_signal(number)
        return self

    def end(self, seconds: float = DEADLINE) -> Ran:
        """Waits for tt-run itself, then checks that no process of any rank is left on this machine."""
        out, err = self.process.communicate(timeout=seconds)
        self.check_gone()
        return Ran(self.process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def check_gone(self) -> None:
        groups = {s.rank: s.pgid for s in self.board.all() if s.pgid is not None}
        until(
            lambda: not living(groups),
            GONE_WITHIN,
            "the end of every process of the ranks",
            lambda: "\n".join(f"alive of rank {rank}: {groups[rank]}" for rank in living(groups)),
        )

    def close(self) -> None:
        shut(self.process)


class Jobs:
    """Starts jobs for one test and ends them all after it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.started: list[Job] = []

    def start(
        self, *program: str, options: tuple[str, ...] = (), ranks: int = 2, env: dict[str, str] | None = None
    ) -> Job:
        """`tt-run` on `program`; the run folder is the test's own."""
        folder = RunFolder(self.root / f"run{len(self.started)}")
        split = {1: "1x1", 2: "1x2", 4: "2x2"}[ranks]
        words = ["tt-run", "--emulate", "--system", "t3000", "--split", split, "--log-dir", str(folder.path)]
        process = subprocess.Popen(
            [*words, *options, *program],
            cwd=self.root,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # as a terminal does for its foreground job
        )
        job = Job(process, folder, ranks)
        self.started.append(job)
        return job

    def run(
        self, *program: str, options: tuple[str, ...] = (), ranks: int = 2, seconds: float = DEADLINE
    ) -> Ran:
        return self.start(*program, options=options, ranks=ranks).end(seconds)

    def python(self, text: str) -> tuple[str, str]:
        """The words that run a Python program with this text; `rank` is defined in it."""
        path = self.root / "program.py"
        path.write_text(
            f"import os, sys, time, signal\nrank = int(os.environ['OMPI_COMM_WORLD_RANK'])\n{text}"
        )
        return sys.executable, str(path)

    def report(
        self, *program: str, options: tuple[str, ...] = (), ranks: int = 2
    ) -> tuple[Ran, dict[str, Any]]:
        """A run and its --report."""
        path = self.root / "report.json"
        ran = self.run(*program, options=("--report", str(path), *options), ranks=ranks)
        return ran, json.loads(path.read_text())

    def close(self) -> None:
        for job in self.started:
            job.close()


__all__ = ["DEADLINE", "ROOT", "Job", "Jobs", "Ran", "until"]
