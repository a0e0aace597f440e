"""The terminal that is lent to a rank in its debugger."""

from __future__ import annotations

import os
import select
import termios
import tty
from pathlib import Path

from tt_run import contract
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.terminal import LINK, LentTerminal


def test_the_end_of_the_input_is_said_until_the_rank_goes_on(tmp_path: Path) -> None:
    """A debugger that sets its terminal up throws away what was typed before, and would wait for ever."""
    (tmp_path / "launch").mkdir()
    (tmp_path / contract.STOPPED_FILE).write_text(str(os.getpid()))
    source, other = os.pipe()
    os.close(other)
    sink = os.open(os.devnull, os.O_WRONLY)
    lent = LentTerminal(RunFolder(tmp_path), source, sink)
    rank = os.open((tmp_path / "launch" / LINK).readlink(), os.O_RDWR | os.O_NOCTTY)
    try:
        tty.setraw(rank)
        for _ in range(2):
            assert select.select([rank], [], [], 20)[0]
            assert set(os.read(rank, 64)) == {4}
            termios.tcflush(rank, termios.TCIFLUSH)
    finally:
        (tmp_path / contract.STOPPED_FILE).unlink()
        lent.close()
        for descriptor in (rank, source, sink):
            os.close(descriptor)
