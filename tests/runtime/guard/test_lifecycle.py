"""How a rank ends, step by step in this process: the job and its other ranks are names that note what is asked of them."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run import contract
from tt_run.runtime.comm import debugger_pause
from tt_run.runtime.guard import lifecycle
from tt_run.runtime.guard.board import CALLS, ENDED, RAISED
from tt_run.runtime.guard.lifecycle import Lifecycle, shutdown_seconds, write_failure
from tt_run.runtime.guard.report import GuardError

THIS = os.path.abspath(__file__)  # noqa: PTH100


class Left(Exception):
    """The process would have ended."""


class Job:
    """A job of ranks 0 to 2, of which this is rank 2. `looks` tells how often the others are still there."""

    def __init__(self, looks: int = 0, all_ended: bool = True) -> None:
        self.told: list[Any] = []
        self.looks = looks
        note = self.told.append
        self.world: Any = SimpleNamespace(
            rank=2,
            size=3,
            abort=lambda code: note(("abort", code)),
            everyone=SimpleNamespace(barrier=lambda: note("barrier")),
            has_lost_mpi=False,
            neighbours=SimpleNamespace(ranks=(0, 1, 2)),
        )
        self.guard: Any = SimpleNamespace(
            end=lambda *words: note(("end", *words)),
            others_gone=self.gone,
            others_ended=lambda: all_ended,
            whereabouts=SimpleNamespace(words={CALLS: 5}, last_call="all_gather() at p.py:3"),
        )

    def gone(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.fixture(autouse=True)
def received(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPI, which nobody has started here, holds no message for this rank."""
    monkeypatch.setattr("tt_run.runtime.guard.unreceived.unreceived", lambda rank, size: "")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time that passes in naps alone, and no process that ends."""
    found = SimpleNamespace(now=100.0, naps=[])

    def sleep(seconds: float) -> None:
        found.naps.append(seconds)
        found.now += seconds

    def leave(status: int) -> None:
        raise Left(status)

    monkeypatch.setattr(lifecycle.time, "sleep", sleep)
    monkeypatch.setattr(lifecycle.time, "monotonic", lambda: found.now)
    monkeypatch.setattr(lifecycle.os, "_exit", leave)
    monkeypatch.setattr(lifecycle.signal, "signal", lambda *_: None)
    monkeypatch.setattr(lifecycle.signal, "alarm", found.naps.append)
    monkeypatch.delenv(contract.RUN_DIR, raising=False)
    monkeypatch.delattr(sys, contract.EXIT_SEEN, raising=False)
    return found


def raised(error: BaseException) -> Any:
    try:
        raise error
    except BaseException as caught:
        return caught.__traceback__


LINE = raised.__code__.co_firstlineno + 2


def ends(job: Job, error: BaseException, guarded: bool = True) -> list[Any]:
    made = Lifecycle(job.world, job.guard if guarded else None)
    made._previous_hook = lambda kind, *_: job.told.append(kind.__name__)
    made.at_end(lambda: job.told.append("before"), lambda: job.told.append("after"))
    made.on_exception(type(error), error, raised(error))
    return job.told


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (ValueError("too small"), "ValueError: too small", 1),
        (ValueError(), "ValueError", 1),
        (KeyboardInterrupt(), "KeyboardInterrupt", 130),
    ],
)
def test_an_exception_ends_the_job(
    error: BaseException, said: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    name, end = type(error).__name__, ("end", RAISED, said, f"{THIS}:{LINE}")
    assert ends(Job(), error) == [name, "before", end, "after", ("abort", code)]
    assert capsys.readouterr().err == f"[rank 2] uncaught {name}\n"
    assert ends(Job(), error, guarded=False) == [name, "before", "after", ("abort", code)]


@pytest.mark.parametrize(("error", "whole"), [(ValueError(), True), (GuardError("x", "TTG001", (0,)), False)])
def test_a_bug_keeps_its_frames_and_a_report_of_the_guard_ends_in_the_program(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, whole: bool
) -> None:
    job, shown, users = Job(), [], object()
    monkeypatch.setattr(lifecycle.events, "users_part", lambda trace: users)
    made = Lifecycle(job.world, None)
    made._previous_hook = lambda kind, error, trace: shown.append(trace)
    trace = raised(error)
    made.on_exception(type(error), error, trace)
    assert shown == [trace if whole else users]


def test_the_launcher_puts_the_rank_before_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    ends(Job(), ValueError())
    assert capsys.readouterr().err == ""
    assert [path.name for path in tmp_path.iterdir()] == [contract.FAILURE_FILE.format(rank=2)]


@pytest.mark.parametrize(("culprits", "naps"), [((0, 1), [0.3]), ((1, 2), [])])
def test_a_rank_that_only_waited_leaves_the_end_to_the_one_at_fault(
    clock: SimpleNamespace, culprits: tuple[int, ...], naps: list[float]
) -> None:
    ends(Job(), GuardError("x", "TTG001", culprits))
    assert clock.naps == naps


@pytest.mark.parametrize(("looks", "waited"), [(0, 0.0), (5, 0.0066), (10_000, 2.0)])
def test_the_others_have_two_seconds_to_tell_of_it(clock: SimpleNamespace, looks: int, waited: float) -> None:
    ends(Job(looks), ValueError())
    assert clock.now - 100 == pytest.approx(waited, abs=0.051 if waited > 1 else 0.0001)
    assert clock.naps[:3] == pytest.approx([0.0005, 0.00075, 0.001125][: len(clock.naps)])
    assert max(clock.naps, default=0) <= 0.05 and (looks < 10_000 or clock.naps[-1] == 0.05)


def test_nothing_is_waited_for_less_long_in_a_debugger(
    clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debugger_pause, "is_now", lambda: True)
    ends(Job(100), ValueError())
    assert clock.now > 102


@pytest.mark.parametrize(("looks", "done_after", "naps"), [(0, 3, 3), (0, 1000, 200), (10_000, 3, 0)])
def test_what_another_does_for_this_rank_is_waited_for_once_all_are_gone(
    clock: SimpleNamespace, looks: int, done_after: int, naps: int
) -> None:
    job, asked = Job(looks), []
    made = Lifecycle(job.world, job.guard)
    made._previous_hook = lambda *_: None

    def is_done() -> bool:
        asked.append(1)
        return len(asked) > done_after

    made.at_end(lambda: None, None, is_done)
    made.on_exception(ValueError, ValueError(), None)
    assert clock.naps.count(0.01) == pytest.approx(naps, abs=2 if naps > 100 else 0)


@pytest.mark.parametrize(
    ("error", "own", "failed", "ends_job"),
    [
        (GuardError("x", "TTG001", (2,)), True, False, True),
        (GuardError("x", "TTG001", (2,)), True, True, False),
        (GuardError("x", "TTG001", (2,)), False, False, False),
        (ValueError(), True, False, False),
    ],
)
def test_a_report_is_no_exception_to_ignore(
    error: BaseException, own: bool, failed: bool, ends_job: bool
) -> None:
    job = Job()
    made = Lifecycle(job.world, job.guard)
    made._previous_hook = made._previous_unraisable = made._previous_thread_hook = lambda *_: None
    for hook in (made._on_unraisable, made._on_thread_exception):
        made._failed, made._pid = failed, os.getpid() if own else -1
        job.told.clear()
        hook(SimpleNamespace(exc_type=type(error), exc_value=error, exc_traceback=None))  # type: ignore[arg-type]
        assert (("abort", 1) in job.told) == ends_job


def test_a_forked_child_is_no_rank() -> None:
    job = Job()
    made = Lifecycle(job.world, job.guard)
    made._previous_hook, made._pid, made._exit_status = (lambda *_: job.told.append("shown")), -1, 7
    with pytest.raises(Left, match=r"^1$"):
        made.on_exception(ValueError, ValueError(), None)
    assert job.told == ["shown"]
    with pytest.raises(Left, match=r"^7$"):
        made.on_exit()
    assert job.told == ["shown"]


@pytest.mark.parametrize(
    ("own", "is_over", "tells"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
def test_a_rank_that_shuts_mpi_down_says_once_that_it_ends(own: bool, is_over: bool, tells: bool) -> None:
    """A forked child is no rank, and after the first time nobody listens; what the library says to it is the program's."""
    job = Job()
    job.world.mpi = SimpleNamespace(Is_finalized=lambda: is_over)
    made = Lifecycle(job.world, job.guard)
    made._finalize, made._pid = lambda: job.told.append("shut down"), os.getpid() if own else -1
    made._on_finalize()
    told = [word[:3] if isinstance(word, tuple) else word for word in job.told]
    assert told == [("end", ENDED, "")] * tells + ["shut down"]
    assert made._is_shut == tells


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [(None, 0, ""), (0, 0, ""), (3, 3, "exit code 3"), ("no more", 1, "exit code 1"), ("", 1, "exit code 1")],
)
def test_an_exit_is_told_with_its_line(clock: SimpleNamespace, status: Any, code: int, said: str) -> None:
    job = Job()
    made = Lifecycle(job.world, job.guard)
    made._exit = lambda status: None  # type: ignore[assignment]
    made._on_sys_exit(status)
    line = test_an_exit_is_told_with_its_line.__code__.co_firstlineno + 8
    made.on_exit()
    assert job.told == [("end", ENDED, said, f"{THIS}:{line}")]
    assert clock.naps == [shutdown_seconds(3)]


@pytest.mark.parametrize("calls", [0, 5])
def test_a_program_that_comes_to_its_end_ends_with_nothing_to_tell(calls: int) -> None:
    job = Job()
    job.guard.whereabouts.words[CALLS] = calls
    Lifecycle(job.world, job.guard).on_exit()
    assert job.told == [("end", ENDED, "", "")]


def test_an_exit_that_was_caught_is_taken_back() -> None:
    job = Job()
    made = Lifecycle(job.world, job.guard)
    made._exit = lambda status: None  # type: ignore[assignment]
    made._on_sys_exit(3)
    job.guard.whereabouts.words[CALLS] += 1
    made.on_exit()
    assert job.told == [("end", ENDED, "", "")]


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ((4, "bad: disk", ("run.py", 9)), ("end", ENDED, "exit code 4: bad: disk", "run.py:9")),
        ((4, "", ("", 0)), ("end", ENDED, "exit code 4", "")),
        ((0, "", ("", 0)), ("end", ENDED, "", "")),
        ((2, "x" * 600, ("", 0)), ("end", ENDED, f"exit code 2: {'x' * 500}", "")),
    ],
)
def test_the_launchers_hook_sees_every_exit(
    monkeypatch: pytest.MonkeyPatch, seen: tuple[Any, ...], told: tuple[Any, ...]
) -> None:
    monkeypatch.setattr(sys, contract.EXIT_SEEN, seen, raising=False)
    job = Job()
    Lifecycle(job.world, job.guard).on_exit()
    assert job.told == [told]


@pytest.mark.parametrize(
    ("code", "looks", "all_ended", "aborts", "seconds"),
    [(0, 500, True, False, 20), (3, 0, True, False, 0), (3, 0, False, True, 0), (3, 10_000, False, True, 2)],
)
def test_a_code_ends_the_job_where_others_have_not_ended(
    clock: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    looks: int,
    all_ended: bool,
    aborts: bool,
    seconds: float,
) -> None:
    monkeypatch.setattr(sys, contract.EXIT_SEEN, (code, "", ("", 0)), raising=False)
    job = Job(looks, all_ended)
    made = Lifecycle(job.world, job.guard)
    made.at_end(lambda: job.told.append("before"), lambda: job.told.append("after"))
    made.on_exit()
    kinds = [each if isinstance(each, str) else each[0] for each in job.told]
    # The process would be gone after `abort`.
    assert kinds == ["before", "end", *(["after", "abort"] if aborts else []), "after"]
    assert (("abort", code) in job.told) == aborts
    assert clock.now - 100 >= seconds and (seconds > 2 or clock.now - 100 < seconds + 0.1)


def test_without_a_guard_ranks_end_together_where_something_is_to_be_done() -> None:
    for before, after, told in ((False, False, []), (True, False, ["before", "barrier"]), (True, True, ["before", "barrier", "after"])):  # fmt: skip
        job = Job()
        made = Lifecycle(job.world, None)
        note = job.told.append
        if before:
            made.at_end(
                lambda note=note: note("before"), (lambda note=note: note("after")) if after else None
            )
        made.on_exit()
        assert job.told == told
        made._failed = True
        made.on_exit()
        assert job.told == told, "nothing more once the job ends by an exception"


@pytest.mark.parametrize(
    ("ranks", "load", "processors", "seconds"),
    [(2, 1.0, 8, 60), (8, 1.0, 8, 60), (16, 1.0, 8, 120), (2, 20.0, 8, 150), (4, 999.0, 1, 900), (3, None, 2, 90)],
)  # fmt: skip
def test_shutting_down_may_take_longer_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, ranks: int, load: float | None, processors: int, seconds: int
) -> None:
    def loads() -> tuple[float, float, float]:
        if load is None:
            raise OSError
        return load, 500.0, 0.0

    monkeypatch.setattr(os, "getloadavg", loads)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    assert shutdown_seconds(ranks) == seconds


class Odd(Exception):
    def __str__(self) -> str:
        raise KeyError


def read_badly(text: str) -> None:
    json.loads(text)


@pytest.mark.parametrize(
    ("act", "name", "message", "place"),
    [
        (lambda: raised_again(ValueError("a\nb")), "ValueError", "a\nb", "raised_again"),
        (lambda: raised_again(Odd()), "Odd", "(its __str__ raised KeyError)", "raised_again"),
        # The innermost line of a program, not of a library.
        (lambda: read_badly("{"), "JSONDecodeError", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", "read_badly"),
    ],
)  # fmt: skip
def test_a_record_of_an_exception(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[], None],
    name: str,
    message: str,
    place: str,
) -> None:
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    job = Job()
    with pytest.raises(Exception) as caught:
        act()
    write_failure(job.world, job.guard, caught.value, caught.value.__traceback__)
    record = json.loads((tmp_path / contract.FAILURE_FILE.format(rank=2)).read_text())
    line = {"raised_again": raised_again, "read_badly": read_badly}[place].__code__.co_firstlineno + 1
    assert (record["rank"], record["pid"], record["exception"]) == (2, os.getpid(), name)
    assert record["message"] == message
    assert (record["file"], record["line"], record["function"]) == (__file__, line, place)
    assert (record["last_collective"], record["calls"], record["guard"]) == (
        "all_gather() at p.py:3",
        5,
        None,
    )


def raised_again(error: BaseException) -> None:
    raise error


def test_a_record_of_a_report_without_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = GuardError("x", "TTG004", (0, 2))
    error.__dict__["__notes__"] = ["read twice"]  # as add_note writes it, which Python 3.10 has not
    write_failure(Job().world, None, error, None)  # no folder, nothing to write
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    write_failure(Job().world, None, error, None)
    [path] = tmp_path.iterdir()
    record = json.loads(path.read_text())
    assert (record["file"], record["line"], record["function"]) == (None, None, None)
    assert (record["message"], record["calls"], record["last_collective"]) == ("x\nread twice", 0, "")
    assert record["guard"] == {"code": "TTG004", "culprits": [0, 2]}


def test_a_record_of_a_library_alone_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    with pytest.raises(ValueError, match="Expecting") as caught:
        json.loads("{")
    trace = caught.value.__traceback__
    assert trace is not None
    write_failure(Job().world, None, caught.value, trace.tb_next)
    record = json.loads((tmp_path / contract.FAILURE_FILE.format(rank=2)).read_text())
    assert record["file"].endswith("json/decoder.py") and record["function"] == "raw_decode"


def test_a_record_that_cannot_be_written_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(contract.RUN_DIR, "/dev/null")
    write_failure(Job().world, None, ValueError(), None)
    assert capsys.readouterr().err.startswith("[rank 2] cannot write /dev/null/")


def test_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for holder, name in (
        (sys, "excepthook"),
        (sys, "unraisablehook"),
        (threading, "excepthook"),
        (sys, "exit"),
    ):
        monkeypatch.setattr(holder, name, getattr(holder, name))
    registered: list[Any] = []
    monkeypatch.setattr(lifecycle.atexit, "register", registered.append)
    made = Lifecycle(Job().world, None)
    made.install()
    assert (sys.excepthook, sys.unraisablehook) == (made.on_exception, made._on_unraisable)
    assert (threading.excepthook, sys.exit) == (made._on_thread_exception, made._on_sys_exit)
    assert registered == [made.on_exit]


@pytest.mark.parametrize(("looks", "told"), [(3, False), (400, True)])
def test_a_rank_that_waits_long_for_the_others_says_that_its_program_is_over(
    clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: int, told: bool
) -> None:
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    job, seen = Job(), []
    path = tmp_path / contract.ENDING_FILE.format(rank=2)

    def gone() -> bool:
        seen.append((clock.now - 100, path.exists()))
        return len(seen) > looks

    job.guard.others_gone = gone
    Lifecycle(job.world, job.guard)._wait_for_others(None)
    assert path.exists() is told
    if told:
        assert path.read_text() == f"pid={os.getpid()} mpi=open\n"
        assert (
            max(now for now, there in seen if not there)
            <= 5.05
            <= min(now for now, there in seen if there) + 0.05
        )
    assert clock.naps[:3] == pytest.approx([0.0005, 0.00075, 0.001125]) and max(clock.naps) <= 0.05
