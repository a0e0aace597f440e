"""Parts of what watches a program's own mpi4py, in one process: stand-in classes, members of communicators, peers, programs that are started."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.runtime.own_mpi import members, processes, requests, spawned
from tt_run.runtime.own_mpi.members import Members
from tt_run.runtime.own_mpi.stand_in import stand_in


class Comm:
    """A class of the library."""


def test_a_stand_in_is_the_librarys_class_and_what_is_derived_of_it_is_the_programs() -> None:
    class Cart(Comm):
        pass

    watched = stand_in(Comm, {"rank": 7})

    class Own(watched):  # type: ignore[misc,valid-type]
        pass

    assert (watched.__name__, watched.__module__, watched().rank) == ("Comm", __name__, 7)  # type: ignore[attr-defined]
    assert all(isinstance(one, watched) for one in (Comm(), Cart(), watched(), Own())) and not isinstance(
        3, watched
    )
    assert all(issubclass(one, watched) for one in (Comm, Cart, watched, Own)) and not issubclass(
        int, watched
    )
    assert isinstance(Own(), Own) and not isinstance(watched(), Own) and not isinstance(Comm(), Own)
    assert issubclass(Own, Own) and not issubclass(watched, Own)


class Group:
    def __init__(self, ranks: tuple[int, ...]) -> None:
        self.ranks = ranks

    def Get_size(self) -> int:
        return len(self.ranks)

    def Translate_ranks(self, places: list[int], everyone: Group) -> list[int]:
        return [everyone.ranks.index(self.ranks[place]) for place in places]

    def Free(self) -> None:
        self.ranks = ()


class Communicator:
    """Of these world ranks; between two groups with `there` on the other side."""

    def __init__(self, handle: int, ranks: tuple[int, ...], there: tuple[int, ...] = ()) -> None:
        self.handle, self.ranks, self.there = handle, ranks, there

    def Is_inter(self) -> bool:
        return bool(self.there)

    def Get_group(self) -> Group:
        return Group(self.ranks)

    def Get_remote_group(self) -> Group:
        return Group(self.there)


@pytest.fixture
def four_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """This is rank 1 of 4."""
    mpi = SimpleNamespace(COMM_WORLD=Communicator(0, (0, 1, 2, 3)), ANY_SOURCE=-2, PROC_NULL=-3)
    here = SimpleNamespace(rank=1, size=4, mpi=mpi)
    monkeypatch.setattr(members, "world", lambda: here)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi)
    for name in ("_known", "_made", "_turns"):
        monkeypatch.setattr(members, name, type(getattr(members, name))())


@pytest.mark.usefixtures("four_ranks")
def test_communicators_of_the_same_ranks_are_numbered() -> None:
    comm = Communicator(5, (3, 1))
    assert members.members_of(Communicator(0, (0, 1, 2, 3))) == Members((0, 1, 2, 3), 0, (0, 1, 2, 3))
    assert members.number_communicator(comm) == members.members_of(comm) == Members((3, 1), 1, (1, 3))
    assert members.members_of(comm).others == (3,)
    assert members.number_communicator(Communicator(6, (1, 3))) == Members((1, 3), 2, (1, 3))
    assert members.number_communicator(Communicator(7, (1, 2))) == Members((1, 2), 1, (1, 2))
    assert members.number_communicator(Communicator(8, ()), like=members.members_of(comm)) == Members(
        (3, 1), 3, (1, 3)
    )
    members.forget(comm)
    assert members.members_of(Communicator(5, (0, 1))).ranks == (0, 1)
    between = members.members_of(Communicator(9, (1, 0), (3, 2)))
    assert between == Members((3, 2), 0, (0, 1, 2, 3))


@pytest.mark.usefixtures("four_ranks")
def test_a_key_names_one_communicator_of_the_job() -> None:
    made = [Members.of(order, number) for order in ((0, 1), (1, 0), (0, 2)) for number in (0, 1)]
    assert (
        len({each.key for each in made}) == 4
        and made[0].key == made[2].key
        and made[1].key == made[0].key + 1
    )
    assert [members.turn_of(each) for each in (made[0], made[0], made[1], made[0])] == [1, 2, 1, 3]


@pytest.mark.usefixtures("four_ranks")
@pytest.mark.parametrize(
    ("rank", "peers"), [(0, (3,)), (1, (1,)), (2, ()), (-2, (3,)), (-3, ()), (-1, ()), ("0", ()), (None, ())]
)
def test_who_is_waited_for(rank: Any, peers: tuple[int, ...]) -> None:
    assert requests.peer_of(Members.of((3, 1)), rank) == peers


def test_the_main_thread_is_the_one() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(members.is_main_thread()))
    thread.start()
    thread.join()
    assert members.is_main_thread() and found == [False]


@pytest.mark.parametrize(
    ("met", "revoked", "failed", "whole"),
    [(True, False, 0, True), (False, False, 0, False), (True, True, 0, False), (True, False, 1, False)],
)
def test_who_lost_nobody_is_whole(
    monkeypatch: pytest.MonkeyPatch, met: bool, revoked: bool, failed: int, whole: bool
) -> None:
    monkeypatch.setattr(processes, "have_met", lambda comm: met)
    comm = SimpleNamespace(
        Is_revoked=lambda: revoked, Get_failed=lambda: SimpleNamespace(Get_size=lambda: failed)
    )
    assert processes.is_whole(comm) is whole


class Info:
    def __init__(self, **held: str) -> None:
        self.held = held

    def Dup(self) -> Info:
        return Info(**self.held)

    def Get(self, key: str) -> str | None:
        return self.held.get(key)

    def Set(self, key: str, value: str) -> None:
        self.held[key] = value


def hints(
    monkeypatch: pytest.MonkeyPatch, name: str, *words: Any, version: str = "Open MPI v5.0", **named: Any
) -> Any:
    monkeypatch.setenv("PYTHONPATH", f"/a:/x{spawned.HOOK}:/b")
    mpi = SimpleNamespace(
        INFO_NULL=None, Info=SimpleNamespace(Create=Info), Get_library_version=lambda: version
    )
    return spawned.with_emulation(name, words, named, mpi)


def test_what_is_started_finds_the_emulation(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "PYTHONPATH=/a:/b"
    words, named = hints(monkeypatch, "Spawn", "prog")
    assert words == ("prog",) and named["info"].held == {"PMIX_ENVAR": path}
    words, named = hints(monkeypatch, "Spawn", "prog", version="Open MPI v4.1")
    assert named["info"].held == {"env": path}
    own = Info(wdir="/w")
    words, named = hints(monkeypatch, "Spawn", "prog", ["a"], 2, own, 1)
    assert (words[:3], words[4:], named) == (("prog", ["a"], 2), (1,), {}) and words[3].held == {
        "wdir": "/w",
        "PMIX_ENVAR": path,
    }
    assert own.held == {"wdir": "/w"}
    for said in ({"env": "X=1"}, {"PMIX_ENVAR": "X=1"}):
        assert hints(monkeypatch, "Spawn", "prog", info=Info(**said))[1]["info"].held == said
    several = hints(monkeypatch, "Spawn_multiple", ["p", "q"], info=[Info(), Info(env="X=1")])[1]["info"]
    assert [each.held for each in several] == [{"PMIX_ENVAR": path}, {"env": "X=1"}]


def test_programs_that_never_meet_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawned, "world", lambda: SimpleNamespace(rank=1))
    assert spawned._lines("Spawn", ["prog", ["-v", b"x"]], {}) == [["prog", "-v", "x"]]
    assert spawned._lines("Spawn", [], {"command": "prog"}) == [["prog"]]
    assert spawned._lines("Spawn_multiple", [["p", "q"], [["-v"], None]], {}) == [["p", "-v"], ["q"]]
    lines = spawned._lines("Spawn_multiple", [["p q", "r"]], {})
    told = spawned._told("MPI Spawn_multiple", lines, "a.py:3", 30.0)
    assert (
        "rank 1 started 'p q' and r, which have not called MPI_Init for 30 s" in told
        and "at a.py:3  <-" in told
    )
    assert "rank 1 started r, which has not called" in spawned._told("MPI Spawn", lines[1:], "a.py:3", 30.0)


@pytest.mark.usefixtures("four_ranks")
@pytest.mark.parametrize(
    ("watches", "size", "there", "starts"),
    [
        (False, 4, (), True),
        (False, 3, (), False),
        (False, 4, (9,), False),
        (True, 4, (), False),
        (False, None, (), False),
    ],
)
def test_the_first_call_of_all_together_is_where_they_meet(
    monkeypatch: pytest.MonkeyPatch, watches: bool, size: int | None, there: tuple[int, ...], starts: bool
) -> None:
    said: list[str] = []
    monkeypatch.setattr(members, "guard", SimpleNamespace(watches=lambda: watches, start=said.append))
    comm: Any = None if size is None else Communicator(1, tuple(range(size)), there)
    if comm is not None:
        comm.Get_size = lambda: size
    assert members.have_met(comm, "MPI Barrier") is watches
    assert len(said) == starts and all(text.startswith("MPI Barrier at ") for text in said)
