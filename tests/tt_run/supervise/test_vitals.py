"""Processes looked at from outside."""

from __future__ import annotations

import os
import signal
import subprocess

from tests.e2e.jobs import until
from tests.tt_run.supervise.conftest import Records
from tt_run.launch.memory_kills import memory_kills
from tt_run.supervise.vitals import Vitals, state_of

HERE = os.uname().nodename


def test_a_process_that_is_gone_or_stopped(records: Records) -> None:
    gone, stopped = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
    try:
        for rank, process in enumerate((gone, stopped)):
            records.status(rank, host=HERE, pid=process.pid)
        gone.kill()
        stopped.send_signal(signal.SIGSTOP)
        until(lambda: state_of(gone.pid) == "Z" and state_of(stopped.pid) == "T")
        vitals = Vitals(HERE, clock=lambda: 7.0)
        vitals.look(records.board)
        assert (vitals.gone, vitals.stopped) == ({0: 7.0}, (1,))
        stopped.send_signal(signal.SIGCONT)
        until(lambda: state_of(stopped.pid) != "T")
        for now, expected in ((7.5, (1,)), (9.0, ())):
            vitals.clock = lambda now=now: now
            vitals.look(records.board)
            assert vitals.stopped == expected
    finally:
        for process in (gone, stopped):
            process.kill()
            process.wait()
    assert state_of(gone.pid) == ""


def test_who_outlived_a_failure(records: Records) -> None:
    alive, dead = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
    try:
        for rank, process in enumerate((alive, dead)):
            records.status(rank, host=HERE, pid=process.pid)
        dead.kill()
        until(lambda: state_of(dead.pid) == "Z")
        vitals = Vitals(HERE)
        vitals.look(records.board)
        vitals.note_survivors(records.board)
        assert vitals.outlived == (0,)
    finally:
        for process in (alive, dead):
            process.kill()
            process.wait()


def test_other_hosts_and_recorded_ends_are_not_looked_at(records: Records) -> None:
    records.status(0, host="elsewhere", pid=2**22 + 1)
    records.status(1, host=HERE, pid=2**22 + 1, end=2.0, exit=0)
    vitals = Vitals(HERE)
    vitals.look(records.board)
    assert (vitals.gone, vitals.stopped) == ({}, ())


def test_the_kernel_counts() -> None:
    assert memory_kills() >= 0
