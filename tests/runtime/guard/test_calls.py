"""What stands in front of calls: without a guard, with one that notes what it is asked, and between threads."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runtime.guard.in_threads import run
from tt_run import contract
from tt_run.runtime import events, guard
from tt_run.runtime.guard import diagnosis, early_waits, thread_waits
from tt_run.runtime.guard.board import CALLS, RUNNING, WAITING
from tt_run.runtime.guard.concurrent_calls import Beside
from tt_run.runtime.guard.report import GuardError
from tt_run.runtime.guard.signature import Signature
from tt_run.runtime.guard.states import RankState, Wait
from tt_run.runtime.guard.thread_waits import ThreadWaits

THIS = os.path.abspath(__file__)  # noqa: PTH100
PAIR: Any = SimpleNamespace(size=2, ranks=(0, 1))
ALONE: Any = SimpleNamespace(size=1, ranks=(0,))
GATHER = Signature("all_gather", detail="dim 3")


class Watcher:
    """A guard that notes what it is asked."""

    crowded = False

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.whereabouts = SimpleNamespace(
            words={CALLS: 5}, started=SimpleNamespace(sees=lambda ranks: ranks == (0, 1))
        )
        self.threads = SimpleNamespace(until=self.waits, inside=None)

    def collective(self, group: Any, signature: Signature, frame: Any) -> None:
        self.told.append((group.ranks, str(signature), frame.f_code.co_name))

    def enter(self, signature: Signature, frame: Any) -> None:
        self.told.append((str(signature), frame.f_code.co_name))

    def waits(self, done: Callable[[], bool], wait: Callable[[], Wait], **more: Any) -> None:
        self.told.append((replace(wait(), site=""), more))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has made no call, of a job of two ranks that cannot meet here."""
    for name, value in (
        ("_guard", None),
        ("_before", None),
        ("_unwatched", 0),
        ("_lifecycle", None),
        ("_started", True),
    ):
        monkeypatch.setattr(guard, name, value)
    monkeypatch.setattr(guard, "world", lambda: SimpleNamespace(size=2, everyone=PAIR))


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> Watcher:
    found = Watcher()
    found.wait_until = found.waits  # type: ignore[attr-defined]
    monkeypatch.setattr(guard, "_guard", found)
    return found


def test_a_collective_meets_the_others_where_there_are_any(watcher: Watcher) -> None:
    assert guard.collective(PAIR, GATHER) is True
    assert guard.collective(ALONE, GATHER) is False
    name = "test_a_collective_meets_the_others_where_there_are_any"
    assert watcher.told == [((0, 1), "all_gather(dim 3)", name)]
    guard.message("send", "to 1")
    assert watcher.told[1:] == [("send(to 1)", name)]
    assert guard.calls_made() == 5 and guard.watches()


def test_the_wait_of_a_collective_is_an_event(watcher: Watcher) -> None:
    seen: list[events.Event] = []
    stop = events.subscribe(seen.append)
    try:
        guard.collective(PAIR, GATHER)
    finally:
        stop()
    line = test_the_wait_of_a_collective_is_an_event.__code__.co_firstlineno + 4
    [event] = seen
    assert (event.kind, event.name, event.site) == ("wait", "all_gather", f"{THIS}:{line}")
    assert guard.wait_event("x", 1.0, 2.0, None, 0).site == events.site_of(None, 0)


def test_without_a_guard_nobody_is_met() -> None:
    assert guard.collective(PAIR, GATHER) is False and not guard.watches()
    guard.message("send")
    assert guard.calls_made() == 0
    left = [False, False, True]
    guard.until(lambda: left.pop(0), "x", lambda: (1,))
    assert not left
    left = [False, True]
    guard.wait(SimpleNamespace(test=lambda: left.pop(0)))  # type: ignore[arg-type]
    assert not left
    assert guard.beside(PAIR, GATHER, 1, 2) is None
    assert guard.inside(lambda: 7, "x", "", ()) == 7


def test_whoever_is_asked_before_calls_counts_them() -> None:
    asked: list[str] = []
    guard.answered(4)
    assert guard.calls_made() == 0, "nobody asks"
    guard.precede(asked.append)
    guard.collective(PAIR, GATHER)
    guard.collective(ALONE, GATHER)
    guard.message("send")
    assert (asked, guard.calls_made()) == (["all_gather", "send"], 2)
    guard.answered(7)
    assert guard.calls_made() == 7
    guard.answered(7)
    assert guard.calls_made() == 8


def test_a_call_that_is_refused_beforehand_is_not_counted() -> None:
    def refuse(operation: str) -> None:
        raise RuntimeError(operation)

    guard.precede(refuse)
    with pytest.raises(RuntimeError, match="all_gather"):
        guard.collective(PAIR, GATHER)
    assert guard.calls_made() == 0


def test_waits_are_told_as_what_they_are(watcher: Watcher) -> None:
    looks: list[int] = []
    bell: Any = object()
    guard.until(lambda: False, "gather", lambda: (1,), bell)
    guard.until_message(lambda: bool(looks.append(1)), "recv", lambda: (2, 3))
    guard.until_in_thread(lambda: False, "probe", lambda: (4,))
    assert watcher.told == [
        (Wait("collective", "gather", "", (), 0, (1,)), {"bell": bell}),
        (Wait("message", "recv", "", (), 0, (2, 3)), {}),
        (Wait("message", "probe", "", (), 0, (4,)), {}),
    ]
    assert len(looks) == guard._LOOKS
    guard.until_message(lambda: True, "recv", lambda: ())
    watcher.crowded = True
    guard.until_message(lambda: bool(looks.append(1)), "recv", lambda: ())
    assert len(looks) == guard._LOOKS and len(watcher.told) == 4


def test_what_a_library_waits_for_is_told_while_it_does(watcher: Watcher) -> None:
    line = test_what_a_library_waits_for_is_told_while_it_does.__code__.co_firstlineno + 2
    told = guard.inside(lambda: watcher.threads.inside, "MPI Recv", "from 1", (1,))
    assert told == Wait("message", "MPI Recv(from 1)", f"{THIS}:{line}", (), 0, (1,), told.since, told.since)
    assert told.since > 0 and watcher.threads.inside is None
    assert watcher.told == [("MPI Recv(from 1)", "test_what_a_library_waits_for_is_told_while_it_does")]
    with pytest.raises(ZeroDivisionError):
        guard.inside(lambda: 1 // 0, "MPI Recv", "from 1", (1,))
    assert watcher.threads.inside is None
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: guard.inside(lambda: found.append(watcher.threads.inside), "x", "", ())
    )
    thread.start()
    thread.join()
    assert found == [None], "of the main thread only"


@pytest.mark.parametrize(
    ("started", "size", "word", "unmet_"),
    [(False, 2, "", True), (True, 2, "", False), (False, 1, "", False), (False, 2, "off", False), (False, 2, " NO ", False), (False, 2, "on", True)],
)  # fmt: skip
def test_who_has_not_met_and_will(
    monkeypatch: pytest.MonkeyPatch, started: bool, size: int, word: str, unmet_: bool
) -> None:
    monkeypatch.setattr(guard, "_started", started)
    monkeypatch.setattr(guard, "world", lambda: SimpleNamespace(size=size))
    monkeypatch.setenv(contract.GUARD, word)
    assert guard.is_unmet() == unmet_


def test_a_lone_process_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_started", False)
    monkeypatch.setattr(guard, "world", lambda: SimpleNamespace(size=1, everyone=ALONE))
    guard.start()
    guard.message("send")
    assert guard.collective(ALONE, GATHER) is False
    assert not guard._started and guard._lifecycle is None
    with pytest.raises(AssertionError, match="a lone process"):
        guard.at_end(lambda: None)


def test_what_is_beside_the_order_of_calls_is_seen_on_one_host_only(watcher: Watcher) -> None:
    far: Any = SimpleNamespace(size=2, ranks=(0, 9))
    assert guard.beside(far, GATHER, 1, 2) is guard.beside(ALONE, GATHER, 1, 2) is None


# --- collectives that are started, between threads -----------------------------------------------------------------------


def started(*details: str) -> list[Any]:
    """What each rank finds that starts a broadcast so described, and asks until all have come."""

    def program(of: Any) -> int:
        call = Beside(of, of.world.everyone, Signature("MPI Ibcast", detail=details[of.rank]), 5, 1)
        of.world.everyone.barrier()
        looks = 1
        while not call.agrees():
            looks += 1
        of.world.everyone.barrier()
        assert not of.whereabouts.started.seen(of.world.everyone.ranks, 5, 1), "forgotten once it is agreed"
        return looks

    return run("a" * len(details), program)


def test_started_collectives_that_agree() -> None:
    assert started("root 1", "root 1", "root 1") == [1, 1, 1]
    assert started("root 1, bytes 8, element int", "root 1, element byte") == [1, 1]


def test_started_collectives_that_contradict_each_other() -> None:
    found = started("root 1", "root 0")
    assert {type(each) for each in found} == {GuardError}
    assert {(each.code, each.culprits) for each in found} == {(diagnosis.DIVERGED, (0, 1))}
    assert "ranks 0 and 1 disagree on call 1: root" in str(found[0])
    for rank in (0, 1):
        assert f"rank {rank} means MPI Ibcast(root {1 - rank}) at {THIS}:" in str(found[0])


def test_a_started_collective_knows_who_has_not_come_to_it() -> None:
    def program(of: Any) -> tuple[int, ...]:
        if of.rank < 2:
            call = Beside(of, of.world.everyone, Signature("MPI Ibcast", detail="root 1"), 5, 1)
        of.world.everyone.barrier()
        missing: tuple[int, ...] = call.missing() if of.rank < 2 else ()
        of.world.everyone.barrier()
        return missing

    assert run("aaa", program) == [(2,), (2,), ()]


def test_a_contradiction_waits_a_moment_for_the_word_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[Beside.__module__], "_GATHER_SECONDS", 0.1)

    def program(of: Any) -> bool:
        if of.rank < 2:
            call = Beside(of, of.world.everyone, Signature("MPI Ibcast", detail=f"root {of.rank}"), 5, 1)
        of.world.everyone.barrier()
        return of.rank < 2 and call.agrees()

    first, second, third = run("aaa", program)
    assert third is False and first.culprits == second.culprits == (0, 1)
    assert "rank 2 means" not in str(first)


@pytest.mark.parametrize("processors", [1, 64], ids=["crowded", "spinning"])
@pytest.mark.parametrize("threads_of", [(0,), (0, 2), (1, 2)])
def test_a_call_of_another_thread_meets_those_of_main_threads(
    monkeypatch: pytest.MonkeyPatch, threads_of: tuple[int, ...], processors: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))

    def program(of: Any) -> list[str]:
        everyone = of.world.everyone
        of.collective(everyone, Signature("MPI Barrier", detail="warm"), sys._getframe())
        if of.rank in threads_of:
            Beside(of, everyone, Signature("MPI Barrier"), 5, 1).meet()
        else:
            of.collective(everyone, Signature("MPI Barrier"), sys._getframe())
        of.collective(everyone, Signature("MPI Barrier", detail="last"), sys._getframe())
        return [str(call.signature) for _, call in of._channels[everyone].history]

    assert run("aaa", program) == [["MPI Barrier(warm)", "MPI Barrier()", "MPI Barrier(last)"]] * 3


def test_a_call_that_is_repeated_is_remembered_once() -> None:
    def program(of: Any) -> int:
        for frame_of in (sys._getframe(), None):
            for _ in range(3):
                of.collective(of.world.everyone, GATHER, frame_of)
                of.enter(Signature("send"), frame_of)
        return len(of._labels.calls)

    assert run("aa", program) == [4, 4], "a call that meets and one that does not, of two frames"


def test_one_that_has_not_started_it_is_waited_for() -> None:
    def program(of: Any) -> bool:
        found = of.rank == 0 and Beside(of, of.world.everyone, GATHER, 5, 1).agrees()
        of.world.everyone.barrier()
        return found

    assert run("aa", program) == [False, False]


# --- threads ------------------------------------------------------------------------------------------------------------


def frame(file: str) -> Any:
    return SimpleNamespace(f_code=SimpleNamespace(co_filename=file, co_name="f"), f_back=None, f_lineno=3)


@pytest.mark.parametrize(
    ("files", "still"),
    [
        ({}, True),
        ({7: "/lib/python3/threading.py"}, True),
        ({7: "/lib/python3/queue.py", 8: "/lib/python3/concurrent/futures/thread.py"}, True),
        ({7: "/home/u/threading.py.py"}, False),
        ({7: "/home/u/train.py"}, False),
        ({7: "/lib/python3/threading.py", 8: "/home/u/train.py"}, False),
    ],
)
def test_whether_anything_moves_in_this_rank(
    monkeypatch: pytest.MonkeyPatch, files: dict[int, str], still: bool
) -> None:
    waits, me = ThreadWaits(SimpleNamespace()), threading.get_ident()  # type: ignore[arg-type]
    beacon = SimpleNamespace(ident=99, name="tt-run beacon")
    monkeypatch.setattr(
        thread_waits.threading, "enumerate", lambda: [beacon, SimpleNamespace(ident=8, name="x")]
    )
    frames = {
        me: frame("/home/u/train.py"),
        99: frame("/x/lifecycle.py"),
        **{n: frame(f) for n, f in files.items()},
    }
    monkeypatch.setattr(thread_waits.sys, "_current_frames", lambda: frames)
    assert not waits.are_still() and waits.said() == ("", None)
    mine = Wait("message", "recv()", "p.py:3", (), 0, (1,))
    waits._waits[me] = mine
    assert waits.are_still() == still
    words = ", with a thread in recv() at p.py:3"
    assert waits.said() == (words, mine if still else None)
    waits.inside = replaced = Wait("message", "MPI Recv()", "p.py:9", (), 0, (1,))
    assert waits.said() == ("", replaced)


class Others:
    """A guard whose rank 1 is as it is told, and answers after so many looks."""

    rank, timeout = 0, 0.3

    def __init__(self, other: RankState, looks: int = 0) -> None:
        self.other, self.looks, self.told = other, looks, []
        self.whereabouts: Any = SimpleNamespace(
            ranks=2,
            known=lambda: {0: RankState(0), 1: self.other},
            ask=self.told.append,
            have_answered=self.answered,
        )

    def answered(self, ranks: list[int]) -> bool:
        self.looks -= 1
        return self.looks < 0

    def obey(self) -> None:
        pass

    def conclude(self, finding: diagnosis.Finding, known: Any) -> None:
        raise GuardError(finding.title, finding.code, finding.culprits)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (thread_waits, early_waits):
        monkeypatch.setattr(module, "_INSPECT_SECONDS", 0.01)
    monkeypatch.setattr(thread_waits, "_STILL_SECONDS", 0.1)
    monkeypatch.setattr(ThreadWaits, "are_still", lambda self: bool(self._waits))


IN_VAIN = Wait("message", "recv()", "p.py:3", (), 0, (0,), 1.0, 2.0)


@pytest.mark.parametrize(
    ("other", "code", "asked"),
    [
        (RankState(1, lost=True), diagnosis.LOST, False),
        (RankState(1, WAITING, wait=IN_VAIN), diagnosis.DEADLOCK, True),
        (RankState(1, RUNNING), None, True),
    ],
)
def test_a_thread_waits_as_long_as_anything_moves(
    hasty: None, other: RankState, code: str | None, asked: bool
) -> None:
    others = Others(other, looks=3)
    waits, over = ThreadWaits(others), time.perf_counter() + 0.8  # type: ignore[arg-type]
    wait = Wait("message", "probe()", "p.py:7", (), 0, (1,))
    done = (lambda: False) if code else (lambda: time.perf_counter() > over)
    if code is None:
        waits.until(done, lambda: wait)
    else:
        with pytest.raises(GuardError) as caught:
            waits.until(done, lambda: wait)
        assert caught.value.code == code
    assert bool(others.told) == asked and all(each == [1] for each in others.told)
    assert not waits._waits


def test_a_question_is_over_once_all_have_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    others = Others(RankState(1), looks=3)
    began = time.perf_counter()
    assert ThreadWaits(others)._asked()[1] == RankState(1)  # type: ignore[arg-type]
    assert (others.told, others.looks) == ([[1]], -1) and time.perf_counter() - began < 1.5
    monkeypatch.setattr(thread_waits, "_ANSWER_SECONDS", 0.05)
    silent = Others(RankState(1), looks=1 << 30)
    began = time.perf_counter()
    ThreadWaits(silent)._asked()  # type: ignore[arg-type]
    assert 0.05 <= time.perf_counter() - began < 1.5 and silent.looks < (1 << 30) - 2


@pytest.mark.parametrize("moves", [False, True])
def test_naps_grow_where_nothing_moves(monkeypatch: pytest.MonkeyPatch, moves: bool) -> None:
    """A thread, and a rank before the first meeting: no longer than two milliseconds, and at once again where messages move."""
    naps: list[float] = []
    for module in (thread_waits, early_waits):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=naps.append))
        monkeypatch.setattr(module, "_INSPECT_SECONDS", 60)
    monkeypatch.setattr(thread_waits.own_traffic, "moves", lambda: moves)
    wanted = [min(0.0001 * 1.5**n, 0.002) for n in range(12)]

    def done() -> bool:
        return len(naps) >= 12

    ThreadWaits(SimpleNamespace()).until(done, lambda: IN_VAIN)  # type: ignore[arg-type]
    assert naps == pytest.approx([0.0001] * 12 if moves else wanted)
    naps.clear()
    early_waits.until(done, "recv", lambda: (1,))
    assert naps == pytest.approx(wanted)


def test_the_job_is_looked_at_now_and_then_before_the_ranks_have_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    monkeypatch.setattr(early_waits, "_INSPECT_SECONDS", 0.1)
    looks: list[int] = []
    over = time.perf_counter() + 0.35

    def peers() -> tuple[int, ...]:
        looks.append(1)
        return (1,)

    early_waits.until(lambda: bool(looks) and time.perf_counter() > over, "recv", peers)
    assert 1 <= len(looks) <= 3


def test_what_comes_at_once_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_waits.time, "sleep", lambda _: pytest.fail("slept"))
    looks: list[int] = []
    for most in (1, thread_waits._LOOKS):
        looks.clear()
        ThreadWaits(SimpleNamespace()).until(
            lambda most=most: looks.append(1) or len(looks) == most, lambda: IN_VAIN
        )  # type: ignore[arg-type, func-returns-value, return-value]
        assert len(looks) == most


def test_a_thread_of_a_library_is_named_with_the_line_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    library = f"{sys.prefix}/lib/python3.11/concurrent/futures/thread.py"
    assert events.is_library(library)
    monkeypatch.setattr(thread_waits.events, "call_site", lambda: f"{library}:58")
    main = frame(library)
    main.f_back = frame("/home/u/train.py")
    monkeypatch.setattr(thread_waits.sys, "_current_frames", lambda: {threading.main_thread().ident: main})
    assert thread_waits.site_of_thread() == f"/home/u/train.py:3 (in a thread, {library}:58)"
    main.f_back = None
    assert thread_waits.site_of_thread() == f"{library}:58"
    monkeypatch.setattr(thread_waits.events, "call_site", lambda: "/home/u/train.py:9")
    assert thread_waits.site_of_thread() == "/home/u/train.py:9"


# --- before the ranks have met ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "ended", "peers", "culprits"),
    [
        ({1: [0]}, (), (1,), (0, 1)),
        ({1: [2], 2: [0]}, (), (1,), (0, 1, 2)),
        ({1: [2], 2: [1]}, (), (1,), (1, 2)),
        ({1: [2]}, (), (1,), None),
        ({}, (), (1,), None),
        ({}, (1,), (1,), (1,)),
        ({}, (1, 2), (1, 2), (1, 2)),
        ({}, (2,), (1, 2), None),  # of two that might send, one goes on
        ({1: [2]}, (2,), (1,), None),  # rank 1 says it
    ],
)
def test_messages_before_the_ranks_have_met(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hasty: None,
    told: dict[int, list[int]],
    ended: tuple[int, ...],
    peers: tuple[int, ...],
    culprits: tuple[int, ...] | None,
) -> None:
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    monkeypatch.setenv(contract.GUARD_TIMEOUT, "30" if ended else "0.2")
    monkeypatch.setattr(early_waits, "world", lambda: SimpleNamespace(rank=0))
    monkeypatch.setattr("tt_run.runtime.guard.long_wait.LONG_SECONDS", 0.05)
    for rank, missing in told.items():
        facts = {"call": "recv", "number": 0, "site": f"p.py:{rank}", "waited": 4.0, "missing": missing}
        (tmp_path / contract.WAIT_FILE.format(rank=rank)).write_text(json.dumps(facts))
    for rank in ended:
        (tmp_path / contract.ENDING_FILE.format(rank=rank)).write_text("pid=1 mpi=open\n")
    mine, over, seen = tmp_path / contract.WAIT_FILE.format(rank=0), time.perf_counter() + 0.6, []

    def done() -> bool:
        if mine.exists():
            seen[:] = [json.loads(mine.read_text())]
        return culprits is None and time.perf_counter() > over

    if culprits is None:
        early_waits.until(done, "recv", lambda: peers)
    else:
        with pytest.raises(GuardError) as caught:
            early_waits.until(done, "recv", lambda: peers)
        text, code = str(caught.value), diagnosis.ENDED_EARLY if ended else diagnosis.DEADLOCK
        assert (caught.value.code, caught.value.culprits) == (code, culprits)
        if ended:
            assert "  rank 1: ended at the end of its program  <-\n" in text
        else:
            assert "rank 1: in recv at p.py:1, waiting for rank" in text and " since 4.0 s" in text
    [facts] = seen
    assert (facts["call"], facts["number"], facts["missing"]) == ("recv", 0, list(peers))
    assert 0.05 <= facts["waited"] < 2 and facts["site"].startswith(f"{THIS}:")
    assert not mine.exists(), "told while it lasts"
