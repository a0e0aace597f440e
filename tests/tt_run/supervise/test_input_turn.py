"""Who may read the terminal: what reads it for rank 0 stands still in the background, but not before rank 0 has its input."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tt_run.supervise import input_turn
from tt_run.supervise.input_turn import InputTurn
from tt_run.supervise.vitals import state_of


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that copies its input to a pipe, which nobody has opened yet."""
    os.mkfifo(tmp_path / "pipe")
    read, write = os.pipe()
    process = subprocess.Popen(["sh", "-c", 'exec cat >"$1"', "sh", str(tmp_path / "pipe")], stdin=read)
    os.close(read)
    yield process
    os.close(write)
    process.send_signal(signal.SIGKILL)
    process.wait()


def away(turn: InputTurn, monkeypatch: pytest.MonkeyPatch, is_away: bool) -> None:
    monkeypatch.setattr(os, "tcgetpgrp", lambda terminal: os.getpgrp() + is_away)
    turn.look()


def test_a_reader_that_opens_its_pipe_is_let_do_so(
    reader: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    turn = InputTurn([reader.pid], said.append)
    until(lambda: state_of(reader.pid) == "S", what="the reader that waits for rank 0")
    away(turn, monkeypatch, True)
    assert state_of(reader.pid) == "S" and not said

    pipe = os.open(tmp_path / "pipe", os.O_RDONLY)  # rank 0 starts, and does not wait
    try:
        until(lambda: Path(f"/proc/{reader.pid}/fd/1").is_fifo(), what="the reader that has its pipe")
        monkeypatch.setattr(input_turn, "state_of", lambda pid: "S")  # the kernel stops it when it likes
        away(turn, monkeypatch, True)
        until(lambda: state_of(reader.pid) == "T", what="the reader that stands still")
        away(turn, monkeypatch, True)
        assert not said
        monkeypatch.setattr(input_turn, "state_of", state_of)
        away(turn, monkeypatch, True)
        assert len(said) == 1 and "with fg" in said[0]
        away(turn, monkeypatch, False)
        until(lambda: state_of(reader.pid) == "S", what="the reader that reads again")
        away(turn, monkeypatch, True)
        until(lambda: state_of(reader.pid) == "T", what="the reader that stands still again")
        assert len(said) == 1
    finally:
        os.close(pipe)


def test_a_reader_that_has_ended_is_not_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen(["sh", "-c", ":"])
    ended.wait()
    said: list[str] = []
    away(InputTurn([ended.pid], said.append), monkeypatch, True)
    assert not said


def test_where_there_is_no_terminal_nobody_is_stopped(
    reader: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY)
    leader, terminal = pty.openpty()  # nobody's: it has no foreground group
    try:
        until(lambda: Path(f"/proc/{reader.pid}/fd/1").is_fifo(), what="the reader that has its pipe")
        InputTurn([reader.pid], lambda text: pytest.fail(text), terminal).look()
        assert state_of(reader.pid) == "S"
    finally:
        for descriptor in (pipe, leader, terminal):
            os.close(descriptor)
