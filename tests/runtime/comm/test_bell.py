"""Sleeping until somebody rings, across processes."""

from __future__ import annotations

import mmap
import os
import time

import pytest

from tt_run.runtime.comm import bell as module
from tt_run.runtime.comm.bell import BYTES, Bell, bell_at


@pytest.fixture
def bell() -> Bell:
    found = bell_at(mmap.mmap(-1, 64), 64 - BYTES)
    if found is None:
        pytest.skip("no futex is known for this machine")
    return found


def test_a_ring_wakes_another_process(bell: Bell) -> None:
    heard = bell.heard
    child = os.fork()
    if not child:
        bell.sleep(heard, 30)
        os._exit(0 if bell.heard != heard else 1)
    with open(f"/proc/{child}/stat", encoding="ascii") as stat:
        while stat.read().rpartition(")")[2].split()[0] != "S":
            stat.seek(0)
    bell.ring()
    begun = time.monotonic()
    assert os.waitpid(child, 0)[1] == 0
    assert time.monotonic() - begun < 20


def test_who_has_not_heard_the_last_ring_does_not_sleep(bell: Bell) -> None:
    for _ in range(2):
        heard = bell.heard
        bell.ring()
        begun = time.monotonic()
        bell.sleep(heard, 30)
        assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    ("machine", "system", "is_known"),
    [
        ("x86_64", "linux", True),
        ("AMD64", "linux", True),
        ("x86_64", "darwin", False),
        ("sparc", "linux", False),
    ],
)
def test_there_is_a_bell_where_the_call_is_known(
    monkeypatch: pytest.MonkeyPatch, machine: str, system: str, is_known: bool
) -> None:
    monkeypatch.setattr(module.platform, "machine", lambda: machine)
    monkeypatch.setattr(module.sys, "platform", system)
    assert (bell_at(mmap.mmap(-1, 64), 0) is not None) == is_known


def test_nobody_sleeps_for_ever(bell: Bell) -> None:
    begun = time.monotonic()
    bell.sleep(bell.heard, 0.02)
    assert 0.01 < time.monotonic() - begun < 20
