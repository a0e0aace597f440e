"""What a group asks of MPI and how it waits for it, with a communicator that only writes down."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from tt_run.runtime.comm import group as module
from tt_run.runtime.comm.group import Group, as_bytes

MPI = SimpleNamespace(INT64_T="int64", BYTE="byte")


class Request:
    """A request that is over once it has been looked at so often."""

    asked: ClassVar[list[list[Request]]] = []

    def __init__(self, looks: int = 0) -> None:
        self.looks = looks

    def Test(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    @classmethod
    def Waitall(cls, requests: list[Request]) -> None:
        cls.asked.append(requests)

    @classmethod
    def Testall(cls, requests: list[Request]) -> bool:
        cls.asked.append(requests)
        return sum(request.Test() for request in requests) == len(requests)


class Comm:
    """What was started, in words: the call, its arguments; how many looks each takes."""

    def __init__(self, **looks: int) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.looks = looks

    def __getattr__(self, name: str) -> Callable[..., Request]:
        def call(*words: Any) -> Request:
            self.calls.append((name, *words))
            return Request(self.looks.get(name, 0))

        return call

    def bcast(self, value: Any, root: int) -> Any:
        self.calls.append(("bcast", root))
        return ("there", "no room") if value == (None, "no room") else ("there", "")


def group_of(comm: Comm, rank: int = 5, ranks: tuple[int, ...] = (3, 5, 8)) -> Group:
    Request.asked = []
    found = Group(SimpleNamespace(rank=rank, size=9, mpi=MPI), ranks)
    found._comm = comm
    return found


def test_parcels_travel_in_pieces_and_are_all_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", 16)
    comm, said = Comm(), list[str]()
    nothing, large = np.zeros(0, np.uint8), np.arange(5, dtype=np.int64)
    group_of(comm).swap([(0, large), (2, nothing)], [(2, large[:2])], lambda: said.append("meanwhile"))
    assert [(name, piece.nbytes, peer) for name, piece, peer in comm.calls] == [
        ("Irecv", 16, 2), ("Isend", 16, 0), ("Isend", 16, 0), ("Isend", 8, 0),
    ]  # fmt: skip
    assert [len(requests) for requests in Request.asked] == [4] and said == ["meanwhile"]
    assert np.concatenate([piece for _, piece, peer in comm.calls if peer == 0]).tobytes() == large.tobytes()


def test_a_look_goes_on_as_long_as_it_was_given() -> None:
    looks = iter([False, False, True])
    assert module._within(20, lambda: next(looks)) and not module._within(0.001, lambda: False)


@pytest.mark.parametrize(("ranks", "tag"), [((0,), 1), ((3, 5), 4 * 31 + 6), (tuple(range(90, 100)), 7439)])
def test_groups_under_construction_have_tags_of_their_own(ranks: tuple[int, ...], tag: int) -> None:
    assert repr(module._tag_of(ranks)) == str(tag)


def test_nothing_is_waited_for_where_nothing_travels() -> None:
    comm, said = Comm(), list[str]()
    group_of(comm).swap([], [(0, np.zeros(0))], lambda: said.append("meanwhile"))
    group_of(comm).swap([], [])
    assert comm.calls == [] and Request.asked == [] and said == ["meanwhile"]


def test_who_watches_is_told_who_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """First the ranks whose parcels have not come; when only sends are under way, all others."""
    limits: list[float] = []

    def within(seconds: float, done: Callable[[], bool]) -> bool:
        limits.append(seconds)
        return done()

    monkeypatch.setattr(module, "_within", within)
    comm, seen = Comm(Irecv=4, Isend=6), list[tuple[int, ...]]()
    subject = group_of(comm)

    def waiting(done: Callable[[], bool], missing: Callable[[], tuple[int, ...]]) -> None:
        while not done():
            seen.append(missing())

    subject.waiting = waiting
    data = np.zeros(10**6)
    subject.swap([(0, data)], [(2, data)])
    assert seen[0] == (8,) and set(seen[1:]) == {(3, 8)}
    assert limits[0] == pytest.approx(1.0 + 16e6 / 10e6) and set(limits[1:]) == {0.002}


@pytest.mark.parametrize(
    ("counts", "amounts", "name", "kind"),
    [
        ([8, 16, 8], [1, 2, 1], "Allgatherv", "int64"),
        ([8, 8, 8], 1, "Allgather", "int64"),
        ([9, 9, 9], 9, "Allgather", "byte"),
        ([8, 16, 18], [8, 16, 18], "Allgatherv", "byte"),
    ],
)
@pytest.mark.parametrize("is_watched", [False, True])
def test_parts_are_counted_in_the_widest_element(
    counts: list[int], amounts: Any, name: str, kind: str, is_watched: bool
) -> None:
    comm = Comm()
    subject = group_of(comm)
    subject.waiting = (lambda done, missing: None) if is_watched else None
    subject.allgatherv(np.zeros(counts[1], np.uint8), np.zeros(sum(counts), np.uint8), counts)
    (called, (sent, amount, sent_kind), (received, *whole)) = comm.calls[0]
    assert called == ("I" + name.lower() if is_watched else name)
    assert (sent.nbytes, received.nbytes, sent_kind, whole[-1]) == (counts[1], sum(counts), kind, kind)
    # As text: MPI takes no floats for counts.
    assert repr((amount, whole[0])) == repr((amounts[1] if isinstance(amounts, list) else amounts, amounts))


def test_messages_are_counted_in_the_widest_element() -> None:
    comm = Comm()
    subject = group_of(comm)
    subject.isend(np.zeros((2, 3)), 2)
    subject.irecv(np.zeros(9, np.uint8), 0, 7)
    said = [(name, words[1:], *rest) for name, words, *rest in comm.calls]
    assert said == [("Isend", [6, "int64"], 2, 0), ("Irecv", [9, "byte"], 0, 7)]


class Block:
    """Shared memory, and how it was asked for."""

    path = "here"

    def __init__(self, *words: Any) -> None:
        self.words = words

    create = open = classmethod(lambda cls, *words: cls(*words))

    def unlinked(self) -> Block:
        self.words += ("unlinked",)
        return self


def test_shared_memory_is_made_by_the_first_and_opened_by_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SharedBlock", Block)
    comm = Comm()
    assert group_of(comm, 3).shared_block(64).words == (64, False, "unlinked")  # type: ignore[attr-defined]
    assert group_of(comm, 5).shared_block(64).words == ("there", 64)  # type: ignore[attr-defined]
    assert comm.calls == [("bcast", 0), ("Barrier",)] * 2
    assert group_of(comm, 5, (5,)).shared_block(8).words == (8, False, "unlinked")  # type: ignore[attr-defined]


def test_no_room_for_shared_memory_is_told_on_every_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    def create(nbytes: int, in_memory: bool) -> Block:
        raise OSError("no room")

    monkeypatch.setattr(module, "SharedBlock", SimpleNamespace(create=create))
    with pytest.raises(OSError, match="no room"):
        group_of(Comm(), 3).shared_block(64)


def test_bytes_of_an_array_are_its_own() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    flat = as_bytes(array)
    flat[0] = 77
    assert flat.shape == (24,) and array[0, 0] == 77
