"""Whose descendants are ended, and who of them counts as left behind. A process of its own plays the wrapper: it reaps all of its children."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tt_run.launch.descendants as module
from tests.tt_run.launch.conftest import DEADLINE

WRAPPER = """
import subprocess, sys, time
from tt_run.launch.descendants import end_descendants, inherit_orphans
assert inherit_orphans(b"wrapper")
subprocess.Popen(["sh", "-c", sys.argv[1]])
if sys.argv[2]:
    while not __import__("os").path.exists(sys.argv[2]):
        time.sleep(0.01)
print(sorted(end_descendants().values()))
"""


def left(program: str, ready: str = "", rank: str = "5") -> str:
    environ = {**os.environ, "OMPI_COMM_WORLD_RANK": rank}
    ran = subprocess.run(
        [sys.executable, "-c", WRAPPER, program, ready],
        env=environ,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert ran.stderr == ""
    return ran.stdout


def test_what_ends_by_itself_in_time_was_not_left_behind() -> None:
    assert left("sleep 0.02") == "[]\n"


@pytest.mark.parametrize(("rank", "known"), [("5", 5), ("0", 0), ("", -1)])
def test_what_stays_is_ended_and_named_by_its_rank(rank: str, known: int) -> None:
    assert left("exec sleep 600", rank=rank) == f"[{known}]\n"


def test_one_that_is_ending_keeps_the_rank_that_it_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment goes before the process does."""
    gone = 1 << 22  # no process has this number
    looks = iter([{gone: 0, gone + 1: -1}, {gone: -1, gone + 1: 3}, {gone: -1}])
    reaped = iter([False, False, False, False, True])
    monkeypatch.setattr(module, "_PARTING_SECONDS", 0.0)
    monkeypatch.setattr(module, "descendants", lambda root: next(looks))
    monkeypatch.setattr(module, "reap_all", lambda: next(reaped))
    assert module.end_descendants() == {gone: 0, gone + 1: 3}


def test_an_orphan_in_a_session_of_its_own_is_found(tmp_path: object) -> None:
    ready = f"{tmp_path}/ready"
    assert left(f"setsid sh -c 'touch {ready}; exec sleep 600' &", ready) == "[5]\n"


@pytest.mark.parametrize("daemon", ["/opt/ompi/bin/prted", "/usr/bin/orted"])
def test_a_remote_shell_of_mpirun_is_ended_and_not_told(daemon: str) -> None:
    assert left(f"exec {sys.executable} -c 'import time; time.sleep(600)' h2 {daemon}", rank="") == "[]\n"
