"""Bytes between ranks from several threads, as transports of completions send them: they go through, and what nobody sends is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.launch import tt_run

PROGRAM = Path(__file__).with_name("byte_threads.py")
WORDS = ("--emulate", "--system", "n300", "--meshes", "2", "python", PROGRAM)


@pytest.mark.wide
@pytest.mark.parametrize("what", ["serves", "private"])
def test_threads_that_wait_for_bytes_are_no_circle(what: str) -> None:
    assert sorted(tt_run(*WORDS, what, timeout=60).check().field("heard")) == ["0", "400"]


def test_a_thread_that_waits_in_vain_is_told() -> None:
    ran = tt_run(*WORDS, "waits", env={"TT_RUN_GUARD_TIMEOUT": "2"}, timeout=60)
    assert ran.code == 1 and "TTG004" in ran.err
    assert "rank 0: in distributed_context_recv_bytes(source=1) at " in ran.err
    assert "byte_threads.py:" in ran.err
