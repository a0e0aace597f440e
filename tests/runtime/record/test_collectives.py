"""Collectives in the book of a rank: which of them are answered, and the numbers by which faults find them again in a replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.record.test_arrays import recorded
from tt_run.runtime import guard
from tt_run.runtime.guard.signature import Signature
from tt_run.runtime.record.collectives import BookedCollectives
from tt_run.runtime.record.recording import Recording
from tt_run.runtime.record.replaying import Replaying, Story
from tt_run.runtime.values.shards import Shards

PAIR: Any = SimpleNamespace(size=2, ranks=(0, 1))
TENSOR: Any = SimpleNamespace(shards=Shards(np.ones((1, 32, 32), np.float32), (0,)))
# What a collective of each kind asks of the guard by itself while the program runs, whether other ranks take part in its exchanges.
CALLS = (
    ("collective", PAIR, True),
    ("collective", None, False),
    ("collective", PAIR, False),
    ("entered", PAIR, True),
    ("gathered", PAIR, True),
    ("collective", PAIR, True),
)


def plan(group: Any, crosses: bool) -> Any:
    lane = SimpleNamespace(exchange=SimpleNamespace(local=not crosses), locals=None)
    return SimpleNamespace(
        device=SimpleNamespace(local_positions=(0,), positions=(0, 1), mesh_id=0),
        signature=Signature("all_gather"),
        group=group,
        parts=[SimpleNamespace(lane=lane)],
    )


def agreed() -> list[Any]:
    guard.collective(PAIR, Signature("all_gather"))
    return [TENSOR.shards]


def numbers_after(book: Recording | Replaying, crossing: Callable[[], Any]) -> list[int]:
    """How many calls this rank has made after each of CALLS, where `crossing` gives what comes from the other rank."""
    keeper, found = BookedCollectives(book), []
    for kind, group, crosses in CALLS:
        if kind == "collective":
            work = crossing if crosses else agreed if group is not None else lambda: [TENSOR.shards]
            keeper.collective(plan(group, crosses), TENSOR, work)
        elif kind == "entered":
            keeper.entered(plan(group, crosses), TENSOR)
            agreed()
        else:
            assert keeper.gathered(plan(group, crosses), TENSOR, lambda: {0: None}) == {0: None}
        found.append(guard.calls_made())
    return found


def test_calls_have_the_numbers_of_the_run_in_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which `--inject raise=rank:1,call=4` comes again where it came."""
    for name, value in (("_guard", None), ("_before", lambda operation: None), ("_started", True)):
        monkeypatch.setattr(guard, name, value)
    monkeypatch.setattr(guard, "_unwatched", 0)
    in_the_run = numbers_after(recorded(tmp_path / "a.record"), agreed)
    assert in_the_run == [1, 1, 2, 3, 3, 4]
    guard._unwatched = 0
    assert numbers_after(Replaying(Story(tmp_path / "a.record")), pytest.fail) == in_the_run


def test_what_crosses_is_what_another_rank_takes_part_in(tmp_path: Path) -> None:
    book = recorded(tmp_path / "a.record")
    numbers_after(book, lambda: [TENSOR.shards])
    story = Story(tmp_path / "a.record")
    assert [story.facts_of(number).crosses for number in range(1, 7)] == [
        True, False, False, False, True, True,
    ]  # fmt: skip
