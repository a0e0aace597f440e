"""Signals to tt-run end every rank on every host, also ranks that ignore whatever can be ignored."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.e2e.jobs import GONE_WITHIN, until
from tests.multihost.jobs import HostJobs, named, python
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


TICKING = """
count = 0
while not os.path.exists("go"):
    count += 1
    with open(f"tick{rank}", "w") as file:
        file.write(str(count))
    if count == 1:
        print("up", flush=True)
    time.sleep(0.02)
"""


def test_ranks_of_all_hosts_stop_and_go_on_with_tt_run(jobs: HostJobs, tmp_path: Path) -> None:
    def ticks() -> list[str]:
        return [(tmp_path / f"tick{rank}").read_text() for rank in range(3)]

    def changed(seconds: float) -> list[bool]:
        before, since = ticks(), time.monotonic()
        until(lambda: time.monotonic() > since + seconds)
        return [one != other for one, other in zip(before, ticks(), strict=True)]

    job = jobs.start(*python(tmp_path, TICKING)).wait_for_line("up")
    for _ in range(2):
        jobs.cluster.run("h1", "kill", "-TSTP", job.pid()).check()
        until(lambda: not any(changed(0.5)), what="the stop of every rank")
        jobs.cluster.run("h1", "kill", "-CONT", job.pid()).check()
        until(lambda: all(changed(0.5)), what="the ranks that go on")
    (tmp_path / "go").touch()
    ran = job.end().check()
    assert ran.err.count("all ranks go on") == 2
