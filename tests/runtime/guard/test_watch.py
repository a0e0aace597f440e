"""When a circle of waits is certain, and what a rank's own requests still move."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.runtime.guard import watch
from tt_run.runtime.guard.board import RAISED, WAITING
from tt_run.runtime.guard.diagnosis import Finding
from tt_run.runtime.guard.own_traffic import OwnTraffic
from tt_run.runtime.guard.signature import Signature, SignedCall
from tt_run.runtime.guard.states import RankState, Wait
from tt_run.runtime.guard.watch import _Suspicion

# The package names the one object of that module by the module's name.
own_traffic = sys.modules[OwnTraffic.__module__]
CIRCLE = Finding("TTG004", (0, 1), (0, 1), "two ranks wait for each other")


def known(*looks: tuple[int, float]) -> dict[int, RankState]:
    """Ranks in the wait of that number, of which they looked last at that time."""
    wait = Wait("collective", "all_gather()", "p.py:3", (0, 1), 0, (1,), 1.0)
    return {
        rank: RankState(rank, WAITING, wait=replace(wait, generation=number, checked=at))
        for rank, (number, at) in enumerate(looks)
    }


def test_a_circle_is_certain_once_all_have_looked_again_in_the_same_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter((10.0, 20.0))
    monkeypatch.setattr(watch, "_now", lambda: next(clock))
    suspicion = _Suspicion()
    assert not suspicion.confirmed(CIRCLE, known((5, 9.0), (7, 9.5)))  # seen once, at 10
    assert not suspicion.confirmed(CIRCLE, known((5, 11.0), (7, 9.5)))  # one has not looked since
    assert not suspicion.confirmed(CIRCLE, known((5, 11.0), (8, 12.0)))  # another wait: seen anew, at 20
    assert not suspicion.confirmed(CIRCLE, known((5, 21.0), (8, 20.0)))
    assert suspicion.confirmed(CIRCLE, known((5, 21.0), (8, 20.5)))


BYTES = Signature("MPI Bcast", detail="root 0, bytes 32, element f4")
OPEN = Signature("MPI Bcast", detail="root 0")
OTHER = Signature("MPI Bcast", detail="root 1")


class Board:
    """What rank 0 sees of three ranks each time it looks: the calls of the others, and which of them have ended."""

    def __init__(self, *looks: tuple[Signature | None, Signature | None, bool]) -> None:
        self._looks, self._look = iter(looks), looks[0]
        self._own = RankState(0)
        self.missing: list[tuple[int, ...]] = []
        self.asked: tuple[int, ...] = ()

    def publish(self, state: int, wait: Wait, call: SignedCall) -> None:
        self._own = RankState(0, state, wait=wait, fields=_fields(call.signature))
        self.missing.append(wait.missing)
        self._look = next(self._looks, self._look)

    def known(self) -> dict[int, RankState]:
        one, two, is_lost = self._look
        found = {0: self._own, 2: RankState(2, lost=is_lost)}
        for rank, call in ((1, one), (2, two)):
            if call is not None:
                wait = Wait("collective", str(call), "p.py:3", (0, 1, 2), 4, ())
                found[rank] = RankState(rank, WAITING, wait=wait, fields=_fields(call))
        return found

    def ask(self, ranks: tuple[int, ...]) -> None:
        self.asked += ranks

    def verdict(self) -> None:
        return None

    def running(self, ranks: tuple[int, ...]) -> bool:
        return False

    def processes(self, ranks: tuple[int, ...]) -> list[int]:
        return []

    def poll(self) -> None:
        pass


def _fields(call: Signature) -> tuple[str, ...]:
    return (call.operation, "", "", "", call.detail, "[0, 1, 2]")


def meeting(monkeypatch: pytest.MonkeyPatch, timeout: float, *looks: Any) -> tuple[Board, Finding | None]:
    """Rank 0 is in call 4 with ranks that show other words: what it finds in the end."""
    found: list[Finding] = []

    def conclude(_: Any, finding: Finding, known: dict[int, RankState]) -> None:
        found.append(finding)
        raise InterruptedError

    monkeypatch.setattr(watch.Guard, "conclude", conclude)
    monkeypatch.setattr(watch, "_GATHER_SECONDS", 0.0)
    guard = watch.Guard.__new__(watch.Guard)
    board = Board(*looks)
    guard.__dict__.update(rank=0, timeout=timeout, whereabouts=board, error=None, _generation=0, _leaving=[])
    try:
        guard.diverged((0, 1, 2), 4, SignedCall(0, 1, BYTES, "p.py:3", None))
    except InterruptedError:
        return board, found[0]
    return board, None


def test_calls_that_agree_in_meaning_wait_for_one_that_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    board, found = meeting(
        monkeypatch, 60.0, (None, None, False), (OPEN, None, False), (OPEN, None, False), (OPEN, BYTES, False)
    )
    assert found is None and board.asked == ()
    assert board.missing == [(), (1, 2), (2,), (2,)]


@pytest.mark.parametrize(
    ("timeout", "looks", "code", "culprits"),
    [
        (60.0, [(OPEN, None, False), (OPEN, None, True)], "TTG006", (2,)),
        (0.2, [(OPEN, None, False)], "TTG005", (2,)),
        (60.0, [(OTHER, None, False)], "TTG001", (0, 1)),
        (60.0, [(OPEN, None, False), (OPEN, OTHER, False)], "TTG001", (0, 1, 2)),
    ],
)
def test_what_keeps_them_from_meeting_is_told(
    monkeypatch: pytest.MonkeyPatch, timeout: float, looks: list[Any], code: str, culprits: tuple[int, ...]
) -> None:
    board, found = meeting(monkeypatch, timeout, *looks)
    assert found is not None and (found.code, found.culprits) == (code, culprits)
    assert board.asked == ((2,) if timeout < 1 else ()), "who runs is asked half a second before the deadline"


class Absent(Board):
    """Rank 1 runs and answers nobody."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__((None, None, False))
        self.clock = clock
        self.asked_at: list[float] = []
        self.looked_into_at: list[float] = []
        self.still: list[tuple[float, int]] = []

    def publish(self, state: int, wait: Wait, call: SignedCall | None, *, still: int = 0) -> None:
        self._own = RankState(0, state, wait=wait)
        self.still.append((self.clock[0], still))

    def known(self) -> dict[int, RankState]:
        return {0: self._own, 1: RankState(1)}

    def ask(self, ranks: tuple[int, ...]) -> None:
        self.asked_at += [self.clock[0]] * (ranks == (1,))

    def have_answered(self, ranks: tuple[int, ...]) -> bool:
        return not self.asked_at

    def look_into(self, ranks: tuple[int, ...]) -> None:
        self.looked_into_at += [self.clock[0]] * (ranks == (1,))

    def publish_running(self) -> None:
        pass


def test_a_rank_that_does_not_answer_is_asked_before_the_deadline_and_looked_into_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]

    def conclude(_: Any, finding: Finding, known: dict[int, RankState]) -> None:
        raise InterruptedError(finding.code)

    def sleep(seconds: float) -> None:
        clock[0] += max(seconds, 0.01)

    monkeypatch.setattr(watch.Guard, "conclude", conclude)
    monkeypatch.setattr(watch.Guard, "make_progress", lambda _: False)
    monkeypatch.setattr(watch, "_now", lambda: clock[0])
    monkeypatch.setattr(watch, "Patience", partial(watch.Patience, lambda: clock[0]))
    monkeypatch.setattr(watch.time, "sleep", sleep)
    guard, board = watch.Guard.__new__(watch.Guard), Absent(clock)
    facts = {"rank": 0, "timeout": 8.0, "whereabouts": board, "error": None}
    guard.__dict__.update(facts, _generation=0, _leaving=[], _pause=lambda: sleep(0))
    wait = Wait("collective", "all_gather()", "p.py:3", (0, 1), 4, (1,))
    with pytest.raises(InterruptedError, match=r"^TTG005$"):
        guard.wait_until(lambda: False, lambda: wait)
    assert board.asked_at == [pytest.approx(107.5, abs=0.1)]
    assert board.looked_into_at == [pytest.approx(110, abs=0.1)]
    # Ranks of other hosts hear from the wait again each second, but only past the deadline.
    assert {still for at, still in board.still if at < 107.9} == {0}
    assert {still for at, still in board.still if 108.1 < at < 109.9} == {8, 9}


class Author:
    """What rank 0 knows of the rank that should write the report: until when it goes on looking. It never writes."""

    def __init__(self, clock: list[float], looks_until: float) -> None:
        self.clock, self.looks_until = clock, looks_until
        self.published: dict[str, Any] = {}

    def known(self) -> dict[int, RankState]:
        looked = min(self.clock[0], self.looks_until)
        wait = Wait("collective", "all_gather()", "p.py:3", (0, 1, 2), 4, (1,), 0.0, looked)
        own = replace(wait, checked=0.0)
        return {
            0: RankState(0, WAITING, wait=own),
            1: RankState(1),
            2: RankState(2, WAITING, wait=wait if self.looks_until else None),
        }

    def claim_verdict(self) -> bool:
        return True

    def verdict(self) -> None:
        return None

    def ask(self, ranks: tuple[int, ...]) -> None:
        self.asked = ranks

    def have_answered(self, ranks: tuple[int, ...]) -> bool:
        return True

    def publish_verdict(self, verdict: dict[str, Any]) -> None:
        self.published = verdict


@pytest.mark.parametrize(
    ("code", "hosts", "looks_until", "claimed"),
    [
        ("TTG005", "abb", 1.0, 1 + 11),  # it looked for the last time after a second
        ("TTG005", "abb", 7.5, 7.5 + 11),
        ("TTG005", "abb", 1e9, 10 * (watch.MOST - 1)),  # and not for ever
        ("TTG001", "abb", 1e9, 1),  # only where a rank may want for a processor is there more time
        ("TTG005", "aab", 1e9, 0),  # it writes itself, beside the culprit
    ],
)
def test_a_report_is_left_to_one_rank_while_that_looks(
    monkeypatch: pytest.MonkeyPatch, code: str, hosts: str, looks_until: float, claimed: float
) -> None:
    clock = [0.0]
    monkeypatch.setattr(watch, "_now", lambda: clock[0])
    monkeypatch.setattr(
        watch.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + max(seconds, 0.01))
    )
    guard, author = watch.Guard.__new__(watch.Guard), Author(clock, looks_until)
    guard.world = SimpleNamespace(peers=[SimpleNamespace(host=host) for host in hosts])  # type: ignore[assignment]
    guard.__dict__.update(rank=0, timeout=60.0, whereabouts=author, error=None)
    monkeypatch.setattr(watch.Guard, "make_progress", lambda _: False)
    with pytest.raises(watch.GuardError):
        guard.conclude(Finding(code, (1,), (0, 2), "one does not come"), author.known())
    assert clock[0] == pytest.approx(claimed, abs=0.3) and author.published["culprits"] == (1,)


class Late(Author):
    """What rank 0 knows when rank 1 has raised and rank 2 has just come to where it waits for that; rank 3 is gone when it is asked."""

    asked: tuple[int, ...] = ()

    def __init__(self, clock: list[float], answers_at: float) -> None:
        super().__init__(clock, 0.0)
        self.answers_at = answers_at

    def known(self) -> dict[int, RankState]:
        found = super().known() | {1: RankState(1, RAISED, error="OSError: no such shard"), 2: RankState(2)}
        found[3] = RankState(3, lost=bool(self.asked))
        return found | ({2: RankState(2, doing="p.py:7 in <module>")} if self.have_answered(()) else {})

    def have_answered(self, ranks: tuple[int, ...]) -> bool:
        return bool(self.asked) and self.clock[0] >= self.answers_at


@pytest.mark.parametrize(("answers_at", "written"), [(0.1, 0.1), (1e9, watch._ANSWER_SECONDS)])
def test_who_has_not_said_yet_where_it_waits_is_asked(
    monkeypatch: pytest.MonkeyPatch, answers_at: float, written: float
) -> None:
    clock = [0.0]
    monkeypatch.setattr(watch, "_now", lambda: clock[0])
    monkeypatch.setattr(
        watch.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + max(seconds, 0.01))
    )
    guard, board = watch.Guard.__new__(watch.Guard), Late(clock, answers_at)
    guard.world = SimpleNamespace(peers=[SimpleNamespace(host="a")] * 4)  # type: ignore[assignment]
    guard.__dict__.update(rank=0, timeout=60.0, whereabouts=board, error=None)
    monkeypatch.setattr(watch.Guard, "make_progress", lambda _: False)
    with pytest.raises(watch.GuardError):
        guard.conclude(Finding("TTG003", (1,), (0, 2), "one raised"), board.known())
    assert board.asked == (2, 3) and clock[0] == pytest.approx(written, abs=0.05)
    text = board.published["text"]
    assert ("rank 2: running at p.py:7" in text) is (answers_at < 1)
    assert "rank 3: running in no call" in text, "an end of which the finding does not tell is left out"


class Request:
    """A request of MPI, which is over or not."""

    def __init__(self, over: bool) -> None:
        self.over = over

    def Get_status(self) -> bool:
        return self.over


@pytest.fixture
def traffic(monkeypatch: pytest.MonkeyPatch) -> OwnTraffic:
    comm = SimpleNamespace(Iprobe=lambda *_: False)
    monkeypatch.setattr(
        own_traffic, "world", lambda: SimpleNamespace(rank=0, control=SimpleNamespace(comm=comm))
    )
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", SimpleNamespace(_tt_run_raw={"Request": Request}))  # type: ignore[arg-type]
    return OwnTraffic()


def test_a_program_without_mpi_of_its_own_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def world() -> Any:
        raise AssertionError("nobody has to be asked")

    monkeypatch.setattr(own_traffic, "world", world)
    assert not OwnTraffic().moves()


def test_a_request_moves_until_it_is_over(traffic: OwnTraffic) -> None:
    first, last = Request(False), Request(True)
    for request in (first, last):
        traffic.started(request)
    assert traffic.moves()
    first.over = True
    assert not traffic.moves()


def test_no_book_is_told_of_what_the_guard_asks(traffic: OwnTraffic) -> None:
    class Booked(Request):
        def Get_status(self) -> bool:
            raise AssertionError("the program has not asked")

    once, lasting = Booked(False), Booked(False)
    traffic.started(once)
    assert traffic.moves()
    once.over = True
    assert not traffic.moves()
    traffic.opened(lasting)
    assert traffic.moves()


def test_a_request_that_nobody_keeps_is_forgotten(traffic: OwnTraffic) -> None:
    traffic.started(Request(False))
    assert not traffic.moves()


def test_a_window_moves_until_it_is_freed(traffic: OwnTraffic) -> None:
    class Window:
        is_open = True

        def __bool__(self) -> bool:
            return self.is_open

    window = Window()
    traffic.opened(window)
    assert traffic.moves()
    window.is_open = False
    assert not traffic.moves()


class Ring:
    """A bell that notes who rings it and what one sleeps for, of which that share passes."""

    def __init__(self, clock: list[float], share: float) -> None:
        self.heard, self.rung, self.slept = 7, 0, list[tuple[int, float]]()
        self._clock, self._share = clock, share

    def ring(self) -> None:
        self.rung += 1

    def sleep(self, heard: int, seconds: float) -> None:
        self.slept.append((heard, seconds))
        self._clock[0] += self._share * seconds


@pytest.mark.parametrize(
    ("share", "looks", "over", "rung", "slept"),
    [
        (1.0, [True], True, 1, []),  # nobody else may have seen that it is over
        (0.5, [False, True], True, 0, [0.0625]),  # who was woken has no need to wake the others
        (0.5, [False, False, True], True, 0, [0.0625, 0.03125]),
        (1.0, [False], False, 0, [0.0625]),  # at its end it is a long wait, which looks itself
    ],
)
def test_a_short_wait_sleeps_until_the_bell_or_its_end(
    share: float,
    looks: list[bool],
    over: bool,
    rung: int,
    slept: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, left = [8.0], iter(looks)
    monkeypatch.setattr(watch, "_SLEEP_SECONDS", 0.0625)
    monkeypatch.setattr(watch, "_now", lambda: clock[0])
    bell = Ring(clock, share)
    assert watch._rung(lambda: next(left), bell, 8.0) is over  # type: ignore[arg-type]
    assert (bell.rung, bell.slept, list(left)) == (rung, [(7, seconds) for seconds in slept], [])
