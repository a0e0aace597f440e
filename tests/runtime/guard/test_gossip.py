"""News to ranks on other hosts: who gets them, when they are said again, and what is kept while they are on their way."""

from __future__ import annotations

import gc
import json
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.runtime.guard.board import RUNNING
from tt_run.runtime.guard.gossip import Gossip, News


class Message:
    """One that is on its way until the other side takes it."""

    def __init__(self) -> None:
        self.is_over = False

    def test(self) -> bool:
        return self.is_over


class Control:
    """Sends nothing by itself: the test says what arrives, and when."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Any]] = []
        self.messages: list[weakref.ref[Message]] = []
        self.incoming: list[tuple[int, bytes]] = []

    def isend(self, buffer: Any, destination: int, tag: int) -> Message:
        message = Message()
        self.sent.append((destination, json.loads(bytes(buffer))))
        self.messages.append(weakref.ref(message))
        return message

    def arrived(self, tag: int) -> list[tuple[int, bytes]]:
        found, self.incoming = self.incoming, []
        return found


def gossip(*hosts: str) -> tuple[Gossip, Control]:
    """That of rank 0 among ranks on these hosts."""
    control = Control()
    peers = [SimpleNamespace(rank=rank, host=host) for rank, host in enumerate(hosts)]
    return Gossip(SimpleNamespace(rank=0, peers=peers, control=control)), control  # type: ignore[arg-type]


def test_what_is_on_its_way_is_held_until_it_is_taken() -> None:
    """MPI reads the memory of a message as long as it is not sent; what was sent is let go."""
    said, control = gossip("a", "b", "c")
    said.tell(RUNNING, 1, "all_gather", {})
    assert [rank for rank, _ in control.sent] == [1, 2]
    slow, quick = (each() for each in control.messages)
    assert slow is not None and quick is not None
    quick.is_over = True
    del slow, quick
    said.poll()
    gc.collect()
    assert [each() is not None for each in control.messages] == [True, False]


def test_only_other_hosts_are_told_and_once() -> None:
    said, control = gossip("a", "b", "a")
    for calls in (1, 1, 2):
        said.tell(RUNNING, calls, "all_gather", {})
    assert control.sent == [(1, {"news": [RUNNING, calls, "all_gather", {}]}) for calls in (1, 2)]
    alone, quiet = gossip("a", "a")
    alone.tell(RUNNING, 1, "all_gather", {})
    alone.tell_verdict({"code": "TTG001"})
    assert not quiet.sent


@pytest.mark.parametrize("has_told", [True, False])
def test_a_wait_is_taken_back_where_it_was_told(has_told: bool) -> None:
    said, control = gossip("a", "b")
    if has_told:
        said.tell(2, 1, "all_gather", {"wait": {"generation": 1, "missing": [1]}})
    del control.sent[:]
    for _ in range(2):
        said.tell_running(2, "add")
    assert control.sent == [(1, {"news": [RUNNING, 2, "add", {}]})] * has_told


def test_what_arrives_is_the_last_news_or_a_verdict() -> None:
    said, control = gossip("a", "b", "c")
    for news in ([RUNNING, 3, "add", {}], [RUNNING, 4, "sub", {"error": "x"}]):
        control.incoming.append((1, json.dumps({"news": news}).encode()))
    said.poll()
    assert said.heard == {1: News(RUNNING, 4, "sub", {"error": "x"})} and said.verdict is None
    control.incoming.append((2, json.dumps({"verdict": {"code": "TTG004"}}).encode()))
    said.poll()
    assert said.verdict == {"code": "TTG004"} and 2 not in said.heard
