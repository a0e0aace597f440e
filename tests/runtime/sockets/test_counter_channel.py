"""Counters between processes."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

from tt_run.runtime.sockets.counter_channel import InterProcessCounterChannel


def test_one_process_injects_and_another_takes() -> None:
    name = f"tt_run_test_{uuid.uuid4().hex}"
    channel = InterProcessCounterChannel(name)
    assert (channel.shm_name, channel.had_clean_prior_shutdown(), channel.pending()) == (name, True, 0)
    code = (
        "import sys; from tt_run.runtime.sockets.counter_channel import InterProcessCounterChannel as C; "
        "c = C.connect(sys.argv[1]); c.inject(3); c.inject(4); print(c.pending())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, name], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["7"]
    assert (channel.try_consume_all(), channel.try_consume_all()) == (7, 0)
    assert InterProcessCounterChannel.connect(name).had_clean_prior_shutdown()
    assert not InterProcessCounterChannel(name).had_clean_prior_shutdown()
    channel.shutdown()
    with pytest.raises(RuntimeError, match="no process created the counter channel"):
        InterProcessCounterChannel.connect(name, connect_timeout_ms=1)
    with pytest.raises(RuntimeError, match="a counter only grows"):
        channel.inject(-1)
