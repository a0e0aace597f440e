"""What a watch gives a launcher and its ranks: time for the last records, time after SIGTERM, and none taken while all stood still."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tt_run.supervise.conftest import Records
from tt_run.launch.memory_kills import memory_told
from tt_run.supervise import watch as watch_module
from tt_run.supervise.options import RunOptions
from tt_run.supervise.output.guard_words import GuardWords
from tt_run.supervise.output.progress import Progress
from tt_run.supervise.signals import SignalInbox
from tt_run.supervise.status import StatusBoard
from tt_run.supervise.watch import Watch


class LauncherThat:
    """A launcher that ends with 0 once `condition` holds, and notes what it is sent and when."""

    pid = 0

    def __init__(self, condition: Any) -> None:
        self.condition = condition
        self.sent: list[tuple[int, float]] = []

    def poll(self) -> int | None:
        return 0 if self.condition(self) else None

    def send(self, number: int) -> None:
        self.sent.append((number, time.monotonic()))

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    def processes(self) -> dict[int, int]:
        return {}

    def finish(self) -> tuple[int, ...]:
        return ()


def watching(job: LauncherThat, board: StatusBoard, **more: Any) -> Watch:
    read, write = os.pipe()
    os.close(write)
    console = SimpleNamespace(
        behind=False,
        last_shown=None,
        pump=lambda final=False: False,
        guard_words=GuardWords(),
        release=lambda: None,
    )
    hang = SimpleNamespace(look=lambda *_: None, pass_over=lambda seconds: None)
    inbox = SignalInbox(read)
    return Watch(job, board, console, RunOptions(), inbox, hang, Progress(None, 2), print, **more)  # type: ignore[arg-type]


@pytest.fixture
def running(records: Records) -> Records:
    records.status(0)
    records.status(1)
    return records


def test_a_record_that_appears_after_a_good_end_is_waited_for(running: Records) -> None:
    """A shared folder may show the last line of a rank on another host after mpirun has ended."""

    class Late(StatusBoard):
        asked = 0

        def refresh(self) -> bool:
            self.asked += 1
            if self.asked == 4:
                for rank in (0, 1):
                    running.status(rank, end=2.0, exit=0)
            return super().refresh()

    board = Late(running.folder, 2)
    watching(LauncherThat(lambda job: True), board).run()
    assert board.all_ended


def test_a_launcher_that_is_to_end_is_given_time_before_it_is_killed(
    running: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks have a failure on record and mpirun stays: SIGTERM first, SIGKILL no sooner than it had its time."""
    monkeypatch.setattr(watch_module, "ORDERLY_SECONDS", 0.0)
    monkeypatch.setattr(watch_module, "TERM_SECONDS", 0.1)
    running.status(1, end=2.0, exit=3)
    job = LauncherThat(lambda job: any(number == signal.SIGKILL for number, _ in job.sent))
    watching(job, running.board).run()
    assert [number for number, _ in job.sent] == [signal.SIGTERM, signal.SIGKILL]
    assert job.sent[1][1] - job.sent[0][1] >= 0.1


def test_time_in_which_all_stood_still_counts_for_no_deadline(running: Records) -> None:
    now = time.monotonic()
    steps = iter(range(4))
    job = LauncherThat(lambda job: next(steps, None) is None)
    watched = watching(job, running.board, _deadline=now + 0.5, _stepped=now - 60)
    watched.inbox.arrived.append(
        signal.SIGCONT
    )  # somebody continues tt-run, which had been stopped for a minute
    watched.run()
    assert [number for number, _ in job.sent] == [signal.SIGCONT]
    assert watched.torn_down_at is None


@pytest.mark.parametrize(("before", "words"), [(7, ""), (6, "one process"), (5, "2 processes")])
def test_what_the_kernel_ended_for_memory_since_the_start(before: int, words: str) -> None:
    told = memory_told(7 - before)
    assert bool(told) == bool(words) and words in told


def test_a_pause_that_nobody_announces_counts_for_no_deadline(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that is paused: nobody has sent a signal."""
    paused = iter([100.0])

    class Waiter:
        def __init__(self, *_: object) -> None:
            self.passed = 0.0

        def wait(self, seconds: float) -> None:
            self.passed = next(paused, 0.0)
            clock.ahead += self.passed

        def close(self) -> None:
            pass

    real = time.monotonic
    clock = SimpleNamespace(ahead=0.0, monotonic=lambda: real() + clock.ahead, sleep=time.sleep)
    monkeypatch.setattr(watch_module, "_Waiter", Waiter)
    monkeypatch.setattr(watch_module, "time", clock)
    looks = iter(range(20))
    job = LauncherThat(lambda job: next(looks, None) is None)
    watch = watching(job, records.board)
    watch.options = RunOptions(timeout=50)
    passed: list[float] = []
    watch.hang.pass_over = passed.append  # type: ignore[method-assign]
    seen = watch.run()
    assert not job.sent and seen.ended_by is watch_module.EndedBy.ITSELF
    assert passed == [pytest.approx(100, abs=1)]
