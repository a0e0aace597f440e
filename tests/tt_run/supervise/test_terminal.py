"""The terminal that is lent to a rank in its debugger."""

from __future__ import annotations

import os
import pty
import select
import termios
import tty
from pathlib import Path

from tests.e2e.jobs import until
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


def test_keys_go_to_the_rank_at_once_and_unseen_while_it_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "launch").mkdir()
    ours, source = pty.openpty()
    sink = os.open(os.devnull, os.O_WRONLY)
    before = termios.tcgetattr(source)
    lent = LentTerminal(RunFolder(tmp_path), source, sink)

    def flags() -> tuple[int, int]:
        now = termios.tcgetattr(source)
        return now[3] & (termios.ICANON | termios.ECHO | termios.ISIG), now[0] & termios.ICRNL

    try:
        assert all(flags())
        (tmp_path / contract.STOPPED_FILE).write_text(str(os.getpid()))
        until(lambda: flags() == (0, 0), 10, "a terminal without a will of its own")
        assert termios.tcgetattr(source)[1] == before[1]
        (tmp_path / contract.STOPPED_FILE).unlink()
        until(lambda: termios.tcgetattr(source) == before, 10, "the terminal as it was")
    finally:
        lent.close()
        for descriptor in (ours, source, sink):
            os.close(descriptor)


def test_what_the_rank_writes_to_its_terminal_is_shown(tmp_path: Path) -> None:
    (tmp_path / "launch").mkdir()
    source, other = os.pipe()
    shown, sink = os.pipe()
    lent = LentTerminal(RunFolder(tmp_path), source, sink)
    rank = os.open((tmp_path / "launch" / LINK).readlink(), os.O_RDWR | os.O_NOCTTY)
    try:
        os.write(rank, b"(Pdb) ")
        assert select.select([shown], [], [], 20)[0]
        assert os.read(shown, 64) == b"(Pdb) "
    finally:
        lent.close()
        for descriptor in (rank, source, other, shown, sink):
            os.close(descriptor)
