"""Signals to tt-run end every rank on every host, also ranks that ignore whatever can be ignored."""

from __future__ import annotations

import signal

import pytest

from tests.e2e.jobs import GONE_WITHIN
from tests.multihost.jobs import HostJobs, named
from tt_run.contract import Exit

pytestmark = [pytest.mark.multihost, pytest.mark.wide]

STUBBORN = ("sh", "-c", "trap '' HUP INT TERM; echo up; while :; do sleep 0.2; done")
CODES = {
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGHUP: Exit.HUNG_UP,
    signal.SIGKILL: 137,
}


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
def test_nobody_is_left_on_any_host(jobs: HostJobs, number: signal.Signals) -> None:
    job = jobs.start(*STUBBORN).wait_for_line("up")
    jobs.cluster.run("h1", "kill", f"-{number.name.removeprefix('SIG')}", job.pid()).check()
    ran = job.end(GONE_WITHIN)
    job.check_gone()
    assert ran.code == CODES[number]
    assert number is signal.SIGKILL or named(ran.err).startswith(f"ended by {number.name} ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_children_in_sessions_of_their_own_end_on_every_host(jobs: HostJobs, number: signal.Signals) -> None:
    job = jobs.start("sh", "-c", "setsid sleep 600 & echo up; exec sleep 600").wait_for_line("up")
    jobs.cluster.run("h1", "kill", f"-{number.name.removeprefix('SIG')}", job.pid()).check()
    job.end(GONE_WITHIN)
    job.check_gone()


def test_what_a_rank_of_another_host_leaves_behind_is_ended_and_told(jobs: HostJobs) -> None:
    job = jobs.start("sh", "-c", "setsid sleep 600 & sleep 0.3")
    ran = job.end()
    job.check_gone()
    assert ran.code == Exit.OK
    assert "ranks 0-2 left processes behind, which were ended" in ran.err
