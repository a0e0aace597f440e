"""Signals that are sent to the process between tt-run and mpirun: they are meant for tt-run, which may have had them as well."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tt_run.launch import keeper
from tt_run.launch.keeper import RELAY_SECONDS, Order, _Keeper


@pytest.mark.parametrize("parent", [77, 1])
def test_a_signal_is_passed_on_once_when_it_is_time(monkeypatch: pytest.MonkeyPatch, parent: int) -> None:
    now, sent = [100.0], list[tuple[int, int]]()
    monkeypatch.setattr(keeper.os, "getppid", lambda: 77)
    monkeypatch.setattr(keeper.os, "kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(keeper.time, "monotonic", lambda: now[0])
    subject = _Keeper(Order(("mpirun",), Path("/"), {}), 0, 0, lambda pid: "", -1)
    assert subject._relay() is None
    subject._ask(signal.SIGTERM, None)
    now[0] += RELAY_SECONDS / 2
    subject._ask(signal.SIGINT, None)  # of two the first
    assert subject._relay() == pytest.approx(RELAY_SECONDS / 2) and sent == []
    now[0] += RELAY_SECONDS / 2
    monkeypatch.setattr(keeper.os, "getppid", lambda: parent)  # tt-run, or whoever took its child over
    assert subject._relay() is None and subject._relay() is None
    assert sent == [(77, signal.SIGTERM)] * (parent == 77)


class Job:
    """mpirun, which writes down what it is sent."""

    def __init__(self) -> None:
        self.sent: list[int] = []

    def send(self, number: int) -> None:
        self.sent.append(number)

    def kill(self) -> None:
        self.sent.append(-1)


def test_words_from_tt_run_are_carried_out_line_by_line() -> None:
    subject = _Keeper(Order(("mpirun",), Path("/"), {}), 0, 0, lambda pid: "", -1)
    subject.job = job = Job()  # type: ignore[assignment]
    subject._ask(signal.SIGTERM, None)
    assert subject._obey(b"signal 2\nki") is None and job.sent == [2]
    assert subject.asked is None  # tt-run has had it, and says what is to be done
    assert subject._obey(b"ll\nsignal 15\n") is None and job.sent == [2, -1, 15]
    assert subject._obey(b"") == b""
    assert subject._obey(b"well\n") == b"well"
