"""The guard at work between threads: who meets, who is told what, without MPI and without a launch."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from tests.runtime.guard.in_threads import run
from tests.sweep import sweep
from tt_run.runtime.guard import diagnosis, watch
from tt_run.runtime.guard.board import ASKED, CALLS, ENDED, RAISED, RUNNING, STATE
from tt_run.runtime.guard.report import GuardError
from tt_run.runtime.guard.signature import Signature
from tt_run.runtime.guard.states import Wait
from tt_run.runtime.guard.transfer import Transfer
from tt_run.runtime.guard.watch import Guard

HOSTS = ("aa", "aaa", "ab", "aab", "abc")
THIS = os.path.abspath(__file__)  # noqa: PTH100


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short courtesies: what is waited for here comes at once or never."""
    monkeypatch.setattr(watch, "_GATHER_SECONDS", 0.6)
    monkeypatch.setattr(watch, "_LATE_ANSWER_SECONDS", 0.6)
    monkeypatch.setattr(watch, "_ANSWER_SECONDS", 0.6)
    monkeypatch.setattr(watch, "_INSPECT_SECONDS", 0.01)


@pytest.fixture(params=["spinning", "crowded"])
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether there are fewer processors than ranks, so that they sleep until a bell."""
    crowded = request.param == "crowded"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0} if crowded else set(range(64)))
    return crowded


def meet(guard: Guard, operation: str, *ranks: int, detail: str = "") -> None:
    """A collective over these ranks, everyone by default."""
    group = guard.world.group(ranks or tuple(range(guard.world.size)))
    guard.collective(group, Signature(operation, detail=detail), sys._getframe(1))


def errors(found: list[Any]) -> list[GuardError]:
    """What the ranks raised: of one code, with the same culprits. The text is of one rank of each host, and those may write at the same moment."""
    told = [each for each in found if isinstance(each, GuardError)]
    assert len({(each.code, each.culprits) for each in told}) == 1, found
    return told


@pytest.mark.parametrize("hosts", HOSTS)
def test_ranks_that_call_the_same_go_on(hosts: str, processors: bool) -> None:
    def program(guard: Guard) -> tuple[int, list[tuple[int, str]], int, bool]:
        for step in range(4):
            if guard.rank == step % len(hosts):
                time.sleep(0.03)  # beyond what others look for without a nap
            meet(guard, "all_gather", detail=f"dim {step % 2}")
        pair = tuple(range(len(hosts)))[:2]
        if guard.rank in pair:
            meet(guard, "all_reduce", *pair)
        channel = guard._channels[guard.world.everyone]
        told = [(number, str(call.signature)) for number, call in channel.history]
        return int(guard._words[CALLS]), told, int(guard._words[STATE]), guard.crowded

    found = run(hosts, program)
    for rank, (calls, told, state, crowded) in enumerate(found):
        assert calls == 4 + (rank < 2) and state == RUNNING
        expected = [(n + 1, f"all_gather(dim {n % 2})") for n in range(4)]
        assert told == expected + ([] if len(hosts) > 2 else [(5, "all_reduce()")])
        assert crowded == (processors and hosts.count(hosts[rank]) > 1)


def test_crowded_ranks_nap_for_a_message_instead_of_offering_the_processor(
    processors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: list[None] = []
    monkeypatch.setattr(watch, "give_way", lambda: offered.append(None))
    monkeypatch.setattr(watch, "_YIELD_SECONDS", 10.0)

    def program(guard: Guard) -> int:
        looks = iter(range(6))
        guard.wait_until(lambda: next(looks) == 5, lambda: Wait("message", "receive", "", (), 0, ()))
        return next(looks, 6)

    assert run("aa", program) == [6, 6]
    assert len(offered) == (0 if processors else 10)


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("call", [0, 2])
def test_one_that_calls_another_operation_is_told_to_all(hosts: str, call: int) -> None:
    def program(guard: Guard) -> None:
        for step in range(3):
            odd = step == call and guard.rank == 1
            meet(guard, "all_reduce" if odd else "all_gather")

    told = errors(run(hosts, program))
    assert len(told) == len(hosts) and told[0].code == diagnosis.DIVERGED
    assert told[0].culprits == ((0, 1) if len(hosts) == 2 else (1,))
    assert f"disagree on call {call + 1}: operation" in str(
        told[0]
    ) or f"disagrees with ranks 0 and 2 on call {call + 1}: operation" in str(told[0])
    for rank in range(len(hosts)):
        assert (
            f"rank {rank}: in call {call + 1} all_{'reduce' if rank == 1 else 'gather'}() at {THIS}:"
            in str(told[0])
        )


def test_what_failed_once_fails_again() -> None:
    def program(guard: Guard) -> tuple[str, str]:
        texts = []
        for _ in range(2):
            with pytest.raises(GuardError) as caught:
                meet(guard, f"of_rank_{guard.rank}")
            texts.append(str(caught.value))
        return texts[0], texts[1]

    for first, second in run("aa", program):
        assert first == second


@pytest.mark.parametrize("hosts", HOSTS)
def test_one_that_has_ended_is_missed(hosts: str, processors: bool) -> None:
    def program(guard: Guard) -> None:
        meet(guard, "all_gather")
        if guard.rank == 1:
            guard.end(ENDED)
            return
        meet(guard, "barrier")

    told = errors(run(hosts, program))
    assert len(told) == len(hosts) - 1 and (len(set(hosts)) > 1 or len(set(map(str, told))) == 1)
    assert (told[0].code, told[0].culprits) == (diagnosis.ENDED_EARLY, (1,))
    assert (
        f"rank 1: ended at the end of its program after 1 call; its last call was all_gather() at {THIS}:"
        in str(told[0])
    )
    assert "in call 2 barrier() at " in str(told[0]) and ", waiting for rank" in str(told[0])


@pytest.mark.parametrize("hosts", ["aa", "ab", "aab"])
def test_one_that_raised_is_named_with_its_line(hosts: str) -> None:
    def program(guard: Guard) -> None:
        if guard.rank == 1:
            raise RuntimeError("too small")
        meet(guard, "barrier")

    told = errors(run(hosts, program))
    assert (told[0].code, told[0].culprits) == (diagnosis.FAILED, (1,))
    assert "rank 1: raised RuntimeError: too small at prog.py:1; it has made no call  <-" in str(told[0])


@pytest.mark.parametrize("hosts", sweep(["aaa", "abc", "aab"], quick=["aaa", "abc"]))
def test_a_circle_of_waits_is_found(hosts: str) -> None:
    def program(guard: Guard) -> None:
        for group in ((0, 1), (1, 2), (0, 2)):
            if guard.rank in group:
                meet(guard, "all_gather", *group)
        meet(guard, "barrier", *((0, 1), (1, 2), (0, 2))[guard.rank])

    # What other hosts tell is late: a circle through them is certain at the deadline only.
    told = errors(run(hosts, program, timeout=30.0 if hosts == "aaa" else 2.0))
    assert len(told) == 3 and (told[0].code, told[0].culprits) == (diagnosis.DEADLOCK, (0, 1, 2))
    assert "rank 0 waits for rank 1 in barrier() at " in str(told[0])


@pytest.mark.parametrize("hosts", sweep(["aa", "ab"], quick=["ab"]))
def test_one_that_does_not_come_is_asked_where_it_is(hosts: str) -> None:
    over = threading.Event()

    def program(guard: Guard) -> bool:
        meet(guard, "all_gather")
        if guard.rank == 1:
            while not over.wait(0.01):
                if guard.whereabouts.asked:
                    guard.whereabouts.answer("loop.py:9 in step")
            return bool(guard.whereabouts.words[ASKED])
        try:
            meet(guard, "barrier")
        finally:
            over.set()
        return False

    found = run(hosts, program, timeout=2.0)
    [told] = errors(found)
    assert (told.code, told.culprits) == (diagnosis.OVERDUE, (1,))
    assert "rank 1 did not come to barrier() within 2 s" in str(told)
    if hosts == "aa":
        assert found[1] and "rank 1: running at loop.py:9 in step after 1 call" in str(told)
    else:
        # On a busy machine it waited in the first call long enough to tell of it.
        silent = "on another host, from which nothing was heard"
        assert f"rank 1: {silent}" in str(told) or "rank 1: running in no call after 1 call; " in str(told)


def transfer(guard: Guard, kind: str, peer: int, channel: str = "0/0,1") -> Transfer:
    group, buffer = guard.world.everyone, np.arange(3) + guard.rank
    number = guard.whereabouts.next_message(kind, peer, channel)
    pending = (group.isend if kind == "send" else group.irecv)(buffer, peer, 9)
    return Transfer(pending, kind, peer, channel, number, kind, "prog.py:4")


def test_messages_are_counted_by_peer_and_channel() -> None:
    def program(guard: Guard) -> tuple[dict[str, int], dict[str, int], list[int]]:
        there = 1 - guard.rank
        for kind in ("send", "receive"):
            for _ in range(2):
                guard.wait_for(transfer(guard, kind, there))
        last = transfer(guard, "receive", there, "x")
        guard.wait_for(transfer(guard, "send", there, "x"))
        guard.wait_for(last)
        return guard.whereabouts.sent, guard.whereabouts.posted, last.pending.buffer.tolist()

    for rank, (sent, posted, last) in enumerate(run("aa", program)):
        assert sent == posted == {f"{1 - rank}:0/0,1": 2, f"{1 - rank}:x": 1}
        assert last == [1 - rank, 2 - rank, 3 - rank]


@pytest.mark.parametrize("hosts", ["aa", "ab"])
def test_two_that_wait_for_each_others_message(hosts: str) -> None:
    def program(guard: Guard) -> None:
        guard.wait_for(transfer(guard, "receive", 1 - guard.rank))

    told = errors(run(hosts, program, timeout=30.0 if hosts == "aa" else 2.0))
    assert len(told) == 2 and (told[0].code, told[0].culprits) == (diagnosis.DEADLOCK, (0, 1))
    assert "rank 1: in receive at prog.py:4, from " in str(
        told[0]
    ) or "rank 1: in receive at prog.py:4, waiting for rank 0" in str(told[0])


def test_a_message_that_leaves_is_helped_on_while_its_sender_waits() -> None:
    def program(guard: Guard) -> int:
        looks = []

        class Slow(Transfer):
            def test(self) -> bool:
                looks.append(1)
                return len(looks) > 3

        sent = transfer(guard, "send", 1 - guard.rank)
        guard.leaving(Slow(**{name: getattr(sent, name) for name in Transfer.__dataclass_fields__}))
        if guard.rank:
            time.sleep(0.1)
        meet(guard, "barrier")
        for _ in range(5):
            guard.make_progress()
        assert not guard._leaving
        return len(looks)

    assert run("aa", program) == [4, 4]


@pytest.mark.parametrize(("state", "ended"), [(ENDED, True), (RAISED, False)])
def test_who_has_gone(state: int, ended: bool) -> None:
    def program(guard: Guard) -> list[tuple[bool, bool]]:
        seen = []
        for last in ((), (1, 2), (0,)):
            if guard.rank in last:
                guard.end(state)
            guard.world.everyone.barrier()
            seen.append((guard.others_gone(), guard.others_ended()))
            guard.world.everyone.barrier()
        return seen

    none, every = (False, False), (True, ended)
    assert run("aaa", program) == [[none, every, every], [none, none, every], [none, none, every]]


def test_first_calls_of_different_groups_are_told_apart() -> None:
    def program(guard: Guard) -> None:
        meet(guard, "all_gather", *((0, 1) if guard.rank == 0 else (0, 1, 2)))

    told = errors(run("aaa", program))
    assert len(told) == 3 and told[0].code == diagnosis.DIVERGED


def test_two_that_differ_do_not_wait_for_a_third_for_long() -> None:
    over = threading.Event()

    def program(guard: Guard) -> None:
        meet(guard, "barrier")
        if guard.rank == 2:
            over.wait(60)
            return
        try:
            meet(guard, "all_gather" if guard.rank else "all_reduce")
        finally:
            over.set()

    told = errors(run("aaa", program))
    assert (told[0].code, told[0].culprits) == (diagnosis.DIVERGED, (0, 1)), str(told[0])
    assert "rank 2: running in no call after 1 call" in str(told[0])


def test_calls_that_need_nobody_are_counted() -> None:
    def program(guard: Guard) -> tuple[int, str]:
        for detail in ("to 1", "to 1", "to 2"):
            guard.enter(Signature("send", detail=detail), sys._getframe())
        return int(guard._words[CALLS]), guard.whereabouts.last_call

    line = test_calls_that_need_nobody_are_counted.__code__.co_firstlineno + 3
    assert run("aa", program) == [(3, f"send(to 2) at {THIS}:{line}")] * 2
