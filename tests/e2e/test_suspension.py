"""Ctrl-Z: every rank stands still with tt-run, and goes on with it, whoever continues or ends it meanwhile."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator

import pytest

from tests.e2e.jobs import GONE_WITHIN, Job, Jobs, until
from tests.e2e.launch import environment
from tt_run.contract import Exit
from tt_run.supervise.vitals import state_of

# Ends once there is the file `go`. Each rank has a child, with nothing in its environment and in a session of its own.
PROGRAM = """
import subprocess
child = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
print("up", child.pid, flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
child.kill()
print("rank", rank, "done", flush=True)
"""
WAITING = """
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.zeros((1, 1, 32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
ttnn.all_reduce(x, cluster_axis=1)
print("up", os.getpid(), flush=True)
while rank == 1 and not os.path.exists("go"):
    time.sleep(0.02)
ttnn.all_reduce(x, cluster_axis=1)
print("rank", rank, "done", flush=True)
"""


def pids(job: Job) -> list[int]:
    """The ranks, and what each has named on its first line."""
    named = [int(job.folder.out(rank).read_text().split()[1]) for rank in range(job.size)]
    return [*(status.pid for status in job.board.all() if status.pid is not None), *named]


def all_are(job: Job, states: str) -> bool:
    return all(state_of(pid) in states for pid in pids(job))


def stop(job: Job) -> Job:
    job.send(signal.SIGTSTP)
    until(lambda: state_of(job.process.pid) == "T", what="the stop of tt-run")
    # A rank that has no processor stops once it gets one.
    until(lambda: all_are(job, "T"), what="the stop of the ranks")
    return job


def stand(seconds: float) -> None:
    """What is tried is that this time passes."""
    since = time.monotonic()
    until(lambda: time.monotonic() > since + seconds)


@pytest.mark.parametrize(
    "program", [pytest.param(PROGRAM, id="files", marks=pytest.mark.wide), pytest.param(WAITING, id="ttnn")]
)
def test_ranks_stop_and_go_on_with_tt_run_and_no_deadline_passes(jobs: Jobs, program: str) -> None:
    words = jobs.python(program)
    job = jobs.start(*words, options=("--hang-timeout", "4"), env={"TT_RUN_GUARD_TIMEOUT": "4"})
    stop(job.wait_for_line("up"))
    stand(4.5)
    assert all_are(job, "T")
    job.send(signal.SIGCONT)
    until(lambda: all_are(job, "RSD"), what="the ranks that go on")
    (jobs.root / "go").touch()
    ran = job.end().check()
    assert ran.out.count("done") == 2
    assert "all ranks are stopped" in ran.err and "all ranks go on, after" in ran.err
    assert "no progress" not in ran.err


def test_what_asks_a_stopped_run_to_end_ends_it(jobs: Jobs) -> None:
    job = stop(jobs.start(*jobs.python(PROGRAM)).wait_for_line("up"))
    job.send(signal.SIGTERM).send(signal.SIGCONT)
    assert job.end().code == Exit.TERMINATED


def test_nothing_outlives_a_stopped_launcher_that_is_killed(jobs: Jobs) -> None:
    job = stop(jobs.start(*jobs.python(PROGRAM)).wait_for_line("up"))
    left = pids(job)
    job.process.kill()
    job.process.wait()
    job.check_gone()
    until(lambda: all(state_of(pid) in ("", "Z", "X") for pid in left), GONE_WITHIN + 5)


def test_a_rank_that_somebody_else_has_stopped_is_left_to_them(jobs: Jobs) -> None:
    job = jobs.start(*jobs.python(PROGRAM), options=("--hang-timeout", "off")).wait_for_line("up")
    one, other = (job.status(rank).pid for rank in (0, 1))
    assert one is not None and other is not None
    os.kill(one, signal.SIGSTOP)
    until(lambda: state_of(one) == "T", what="the stopped rank")
    stop(job).send(signal.SIGCONT)
    until(lambda: state_of(other) != "T", what="the other rank that goes on")
    assert state_of(one) == "T"
    job.send(signal.SIGCONT)  # to tt-run that runs: for all ranks, as with mpirun
    until(lambda: state_of(one) != "T", what="the continued rank")
    (jobs.root / "go").touch()
    job.end().check()


class Shell:
    """An interactive shell at a terminal of its own, typed into and read."""

    def __init__(self, jobs: Jobs) -> None:
        self._ours, theirs = pty.openpty()
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            cwd=jobs.root,
            env=environment({"PS1": "ready> ", "TERM": "dumb"}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.seen = ""
        self.wait_for("ready> ", "the first prompt")

    def wait_for(self, pattern: str, what: str) -> None:
        """Until the terminal has shown it since what was typed last."""
        until(lambda: self.shown(pattern), what=what, seen=lambda: repr(self.seen))

    def wait_for_ranks(self, pattern: str) -> None:
        """Until both ranks have shown it, or an error is shown."""

        def is_there() -> bool:
            return self.shown("error") or len(re.findall(pattern, self.seen)) == 2

        until(is_there, what="the ranks", seen=lambda: repr(self.seen))

    def shown(self, pattern: str) -> bool:
        while select.select([self._ours], [], [], 0)[0]:
            self.seen += os.read(self._ours, 65536).decode(errors="replace")
        return re.search(pattern, self.seen) is not None

    def type(self, text: str) -> None:
        self.seen = ""
        os.write(self._ours, text.encode())

    def end(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._ours)


@pytest.fixture
def shell(jobs: Jobs) -> Iterator[Shell]:
    found = Shell(jobs)
    yield found
    found.end()


def test_a_shell_has_its_terminal_back_until_fg(jobs: Jobs, shell: Shell) -> None:
    shell.type(f"tt-run --emulate --system t3000 --split 1x2 {' '.join(jobs.python(PROGRAM))}\n")
    shell.wait_for_ranks(r"up \d+")
    shell.type("\x1a")
    shell.wait_for(r"(?s)all ranks are stopped.*Stopped.*ready> ", "the prompt")
    shell.type("jobs -p; echo said $((6 * 7))\n")
    shell.wait_for(r"said 42", "the shell's answer")
    shell.type("fg\n")
    shell.wait_for("all ranks go on", "the ranks that go on")
    (jobs.root / "go").touch()
    shell.wait_for("(?s)done.*done.*ready> ", "the end of the ranks")
    shell.type("echo code $?\n")
    shell.wait_for(r"code 0", "the exit code")


def test_in_the_background_nothing_is_read_that_is_typed_for_the_shell(shell: Shell) -> None:
    program = """sh -c 'echo up; test $OMPI_COMM_WORLD_RANK = 1 || { read x; echo "got <$x>"; }'"""
    shell.type(f"tt-run --stdin --emulate --system t3000 --split 1x2 {program} &\n")
    shell.wait_for_ranks(r"\] up")
    shell.wait_for("in the background nothing is read", "the word on the input")
    for number in range(5):
        shell.type(f"echo said $(({number} * 7))\n")
        shell.wait_for(rf"said {number * 7}\r", "the shell's answer")
    shell.type("fg\n")
    shell.wait_for(r"(?m)^tt-run --stdin", "the job in front")
    shell.type("typed\n")
    shell.wait_for(r"got <typed>", "what rank 0 has read")
