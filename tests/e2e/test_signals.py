"""Signals to tt-run itself: every rank ends with it, whatever the signal, and the exit code says which it was."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.e2e.jobs import GONE_WITHIN, Jobs, until
from tt_run.contract import Exit

SLEEP = ("sleep", "600")
# A rank that ignores whatever can be ignored.
STUBBORN = ("sh", "-c", "trap '' HUP INT TERM; echo up; while :; do sleep 0.2; done")
CODES = {
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGHUP: Exit.HUNG_UP,
}


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
def test_a_signal_to_the_launcher_alone_ends_every_rank(jobs: Jobs, number: signal.Signals) -> None:
    ran = jobs.start(*SLEEP).wait_started().send(number).end(GONE_WITHIN)
    assert ran.code == CODES[number]
    assert number.name in ran.err


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
def test_ranks_that_ignore_signals_end_too(jobs: Jobs, number: signal.Signals) -> None:
    ran = jobs.start(*STUBBORN).wait_for_line("up").send(number).end(GONE_WITHIN)
    assert ran.code == CODES[number]


def test_a_second_interrupt_ends_the_run_at_once(jobs: Jobs) -> None:
    job = jobs.start(*STUBBORN).wait_for_line("up").send(signal.SIGINT)
    until(lambda: job.process.poll() is not None or job.send(signal.SIGINT))
    ran = job.end(GONE_WITHIN)
    assert ran.code == Exit.INTERRUPTED


@pytest.mark.parametrize("program", [SLEEP, STUBBORN], ids=["sleep", "stubborn"])
def test_nothing_outlives_a_killed_launcher(jobs: Jobs, program: tuple[str, ...]) -> None:
    job = jobs.start(*program).wait_started()
    job.process.kill()
    job.process.wait()
    job.check_gone()


def test_grandchildren_do_not_outlive_a_killed_launcher(jobs: Jobs) -> None:
    job = jobs.start(
        "sh", "-c", "sh -c 'trap \"\" TERM; echo up; while :; do sleep 0.2; done'; true"
    ).wait_for_line("up")
    job.process.kill()
    job.process.wait()
    job.check_gone()


def test_a_killed_mpirun_is_told_and_nobody_is_left(jobs: Jobs) -> None:
    job = jobs.start(*SLEEP).wait_started()
    children = subprocess.run(
        ["pgrep", "-P", str(job.process.pid), "-x", "prterun|mpirun"], capture_output=True, text=True
    ).stdout.split()
    assert len(children) == 1
    os.kill(int(children[0]), signal.SIGKILL)
    ran = job.end(GONE_WITHIN)
    assert ran.code not in (0, Exit.INTERRUPTED)
    assert "mpirun was killed by SIGKILL" in ran.err


def test_a_signal_that_is_ignored_stays_ignored(jobs: Jobs) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        job = jobs.start("sh", "-c", "echo up; while [ ! -e go ]; do sleep 0.05; done")
    finally:
        signal.signal(signal.SIGHUP, before)
    job.wait_for_line("up").send(signal.SIGHUP)
    (jobs.root / "go").touch()
    assert job.end().code == 0


def test_ctrl_c_on_a_terminal_reaches_the_ranks_once(jobs: Jobs) -> None:
    """The terminal signals the whole foreground group; the ranks are not in it."""
    job = jobs.start(
        "sh", "-c", "trap 'echo interrupted' INT; echo up; while :; do sleep 0.1; done"
    ).wait_for_line("up")
    os.killpg(job.process.pid, signal.SIGINT)
    ran = job.end(GONE_WITHIN)
    assert "interrupted" not in ran.out


def test_stacks_on_demand_do_not_disturb_the_run(jobs: Jobs) -> None:
    program = jobs.python("print('up', flush=True)\nwhile not os.path.exists('go'):\n    time.sleep(0.05)\n")
    job = jobs.start(*program).wait_for_line("up").send(signal.SIGQUIT)
    until(lambda: all(job.folder.stacks(rank).read_text().count("most recent call") for rank in (0, 1)))
    (jobs.root / "go").touch()
    ran = job.end()
    assert ran.code == 0
    places = [line for line in ran.err.splitlines() if f"{program[1]}:" in line]
    assert places and all(line.startswith("tt-run: rank") for line in places)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_goes_away_does_not_end_the_run(jobs: Jobs, stream: str) -> None:
    job = jobs.start(
        "sh",
        "-c",
        "until [ -e go ]; do sleep 0.05; done; echo x; echo y >&2; touch done$OMPI_COMM_WORLD_RANK",
    )
    job.wait_started()
    reader = getattr(job.process, stream)
    reader.close()
    (jobs.root / "go").touch()
    until(lambda: job.process.poll() is not None, what="the end of tt-run")
    assert job.process.returncode == 0
    assert (jobs.root / "done0").exists() and (jobs.root / "done1").exists()
