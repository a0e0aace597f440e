"""Who the ranks are, as the environment and a library that only answers say it; how the world ends."""

from __future__ import annotations

import os
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.runtime.comm import world as module
from tt_run.runtime.comm.world import World, replace_world, seconds_to_wait, world

VARIABLES = ("OMPI_COMM_WORLD_", "PMI_", "MV2_COMM_WORLD_", "TT_RUN_WORLD", "TT_RUN_GUARD", "TT_MESH_")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in [name for name in os.environ if name.startswith(VARIABLES)]:
        monkeypatch.delenv(name)
    before = replace_world(None)
    yield
    replace_world(before)


@pytest.mark.parametrize(
    ("variables", "rank", "size"),
    [
        ({}, 0, 1),
        ({"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "3", "PMI_SIZE": "2", "PMI_RANK": "1"}, 3, 8),
        ({"PMI_SIZE": "4", "PMI_RANK": "2"}, 2, 4),
        ({"MV2_COMM_WORLD_SIZE": "4", "MV2_COMM_WORLD_RANK": "1", "TT_RUN_WORLD_SIZE": "4"}, 1, 4),
        ({"PMI_SIZE": "2"}, 0, 2),
    ],
)
def test_rank_and_size_are_told_by_the_launcher(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], rank: int, size: int
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = world()
    assert (found.rank, found.size, found.connected) == (rank, size, False)
    assert world() is found
    other = World(0, 1)
    assert replace_world(other) is found and world() is other


def test_a_job_of_another_size_than_planned_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_RUN_WORLD_SIZE", "4")
    with pytest.raises(RuntimeError, match=r"planned for 4 ranks .* but MPI started 1"):
        world()


@pytest.mark.parametrize(("text", "seconds"), [("", 60.0), (" ", 60.0), (" 2.5 ", 2.5), ("0.01", 0.01)])
def test_ranks_wait_as_long_as_they_are_told(
    monkeypatch: pytest.MonkeyPatch, text: str, seconds: float
) -> None:
    monkeypatch.setenv("TT_RUN_GUARD_TIMEOUT", text)
    assert seconds_to_wait() == seconds


@pytest.mark.parametrize("text", ["0", "-1", "nan", "soon"])
def test_no_positive_number_of_seconds_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TT_RUN_GUARD_TIMEOUT", text)
    with pytest.raises(RuntimeError, match="is not a positive number of seconds"):
        seconds_to_wait()


@pytest.mark.parametrize(("patience", "seconds"), [("5", 60.0), ("40", 80.0)])
def test_the_start_of_mpi_has_a_limit_but_in_a_debugger(
    monkeypatch: pytest.MonkeyPatch, patience: str, seconds: float
) -> None:
    limits: list[tuple[float, bool]] = []
    monkeypatch.setenv("TT_RUN_GUARD_TIMEOUT", patience)
    monkeypatch.setattr(
        module.faulthandler, "dump_traceback_later", lambda time, exit, file: limits.append((time, exit))
    )
    monkeypatch.setattr(
        module.faulthandler, "cancel_dump_traceback_later", lambda: limits.append((0.0, False))
    )
    with module._limited_start():
        assert limits == [(seconds, True)]
    assert limits.pop() == (0.0, False)
    monkeypatch.setattr(module.debugger_pause, "is_expected", lambda: True)
    with module._limited_start():
        pass
    assert limits == [(seconds, True)]


class Library:
    """MPI on four ranks of two hosts, as rank 2 sees it: it shares a host with rank 0."""

    COMM_TYPE_SHARED = "shared"

    def __init__(self, is_over: bool = False) -> None:
        self.COMM_WORLD = self
        self.calls: list[Any] = []
        self.is_over = is_over

    def Split_type(self, kind: str, key: int) -> Library:
        self.calls.append((kind, key))
        return self

    def bcast(self, rank: int, root: int) -> int:
        assert (rank, root) == (2, 0)
        return 0

    def allgather(self, mine: Any) -> list[Any]:
        assert mine == (0, (socket.gethostname(), os.getpid(), 7, None))
        return [(0, ("a", 1, 7, 0)), (1, ("b", 2, 7, 1)), mine, (1, ("b", 4, None, None))]

    def Free(self) -> None:
        self.calls.append("free")

    def Dup(self) -> str:
        self.calls.append("dup")
        return "control"

    def Get_size(self) -> int:
        return 4

    def Is_finalized(self) -> bool:
        return self.is_over

    def Abort(self, code: int) -> None:
        self.calls.append(("abort", code))


def test_ranks_meet_and_know_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_MESH_ID", " 7 ")
    subject, library, closed = World(2, 4), Library(), list[bool]()
    subject.__dict__["mpi"] = library
    subject._arrival = SimpleNamespace(close=lambda: closed.append(True))  # type: ignore[assignment]
    peers = subject.peers
    subject.connect()
    assert library.calls == [("shared", 2), "free", "dup"] and closed == [True]
    assert [(peer.rank, peer.host, peer.hostname, peer.mesh_id, peer.mesh_host_rank) for peer in peers] == [
        (0, 0, "a", 7, 0), (1, 1, "b", 7, 1), (2, 0, socket.gethostname(), 7, None), (3, 1, "b", None, None),
    ]  # fmt: skip
    assert subject.neighbours.ranks == (0, 2) and subject.neighbours.rank == 1
    assert not subject.everyone.on_one_host and subject.neighbours.on_one_host
    assert subject.control is not subject.everyone and subject.control.comm == "control"
    assert not subject.group((1, 3)).is_member and subject.group((1, 3)) is subject.group([1, 3])


def test_another_mpi_than_the_launchers_is_refused() -> None:
    module._check_size(Library(), 4)
    with pytest.raises(RuntimeError, match="announces 3 ranks but MPI has 4"):
        module._check_size(Library(), 3)


def test_a_lone_process_meets_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_MESH_HOST_RANK", "2")
    subject = World(0, 1)
    assert not subject.connected
    (peer,) = subject.peers
    assert subject.connected and (peer.rank, peer.host, peer.pid) == (0, 0, os.getpid())
    assert (peer.mesh_id, peer.mesh_host_rank, peer.subcontext) == (None, 2, None)
    assert subject.everyone.connected and subject.everyone.allgather_bytes(b"x") == [b"x"]


@pytest.mark.parametrize(
    ("size", "is_loaded", "is_over", "calls"),
    [
        (2, True, False, [("abort", 3)]),
        (2, True, True, []),
        (2, False, False, []),
        (1, True, False, []),
    ],
)
def test_an_abort_ends_all_ranks_that_there_are(
    monkeypatch: pytest.MonkeyPatch, size: int, is_loaded: bool, is_over: bool, calls: list[Any]
) -> None:
    codes: list[int] = []
    monkeypatch.setattr(module.os, "_exit", codes.append)
    subject, library = World(0, size), Library(is_over)
    if is_loaded:
        subject.__dict__["mpi"] = library
    subject.abort(3)
    assert (library.calls, codes) == (calls, [3])
