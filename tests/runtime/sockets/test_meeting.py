"""Ends of a socket on several ranks: who sends and who receives, over which ranks, and in how many bits. The other ranks are played."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import BufferType, DataType
from tt_run.runtime.mesh import MeshCoordinate
from tt_run.runtime.sockets import host, socket
from tt_run.runtime.sockets.config import (
    MeshCoreCoord,
    SocketConfig,
    SocketConnection,
    SocketEndpoint,
    SocketMemoryConfig,
)
from tt_run.runtime.sockets.socket import MeshSocket
from tt_run.runtime.sockets.streams import RankStream

MEMORY = SocketMemoryConfig(BufferType.L1, 4096)
SENDER, RECEIVER = SocketEndpoint.SENDER, SocketEndpoint.RECEIVER


def core(column: int) -> MeshCoreCoord:
    return MeshCoreCoord(MeshCoordinate(0, column), CoreCoord(0, 0))


LINE = SocketConnection(core(0), core(1))
# Five ranks: mesh 0 is of ranks 0 and 1, mesh 1 of 2 and 3, mesh 2 of 4; each device of a mesh belongs to another rank.
MESHES = [0, 0, 1, 1, 2]


def meet(monkeypatch: pytest.MonkeyPatch, rank: int, **ends: int) -> tuple[Any, tuple[int, ...], list[int]]:
    """This rank's role, the ranks of the meeting, and who owns the first two devices of the other end."""

    def told(ranks: list[int]) -> list[bytes]:
        owners = {r: [p for p, mesh in enumerate(MESHES) if mesh == MESHES[r]] for r in ranks}
        return [json.dumps([[1, len(owners[r])], owners[r]]).encode() for r in ranks]

    def group(ranks: list[int]) -> Any:
        return SimpleNamespace(ranks=tuple(ranks), allgather_bytes=lambda facts: told(ranks))

    peers = [SimpleNamespace(rank=r, mesh_id=mesh) for r, mesh in enumerate(MESHES)]
    monkeypatch.setattr(socket, "world", lambda: SimpleNamespace(rank=rank, size=5, peers=peers, group=group))
    monkeypatch.setattr(socket.guard, "collective", lambda *given: None)
    device: Any = SimpleNamespace(shape=(1, 2), owner_ranks=(rank, rank))
    role, met, owner = socket._meet(device, SocketConfig([LINE], MEMORY, **ends))
    return role, met.ranks, [owner(core(column)) for column in (0, 1)]


@pytest.mark.parametrize(
    ("rank", "ends", "found"),
    [
        (0, {"sender_mesh_id": 0, "receiver_mesh_id": 1}, (SENDER, (0, 1, 2, 3), [2, 3])),
        (1, {"sender_mesh_id": 0, "receiver_mesh_id": 1}, (SENDER, (0, 1, 2, 3), [2, 3])),
        (3, {"sender_mesh_id": 0, "receiver_mesh_id": 1}, (RECEIVER, (0, 1, 2, 3), [0, 1])),
        (4, {"sender_mesh_id": 2, "receiver_mesh_id": 0}, (SENDER, (0, 1, 4), [0, 1])),
    ],
)
def test_roles_follow_from_the_ends(
    monkeypatch: pytest.MonkeyPatch, rank: int, ends: Any, found: Any
) -> None:
    assert meet(monkeypatch, rank, **ends) == found


@pytest.mark.parametrize(
    ("rank", "ends", "words"),
    [
        (0, {"sender_rank": 0, "receiver_rank": 0}, "sender rank 0 or receiver rank 0 specified"),
        (0, {"sender_rank": 0, "receiver_rank": 5}, "sender rank 0 or receiver rank 5 specified"),
        (0, {"sender_rank": 4, "receiver_rank": 0}, "has the devices|outside of the peer's 1x1 mesh"),
        (
            1,
            {"sender_rank": 0, "receiver_rank": 4},
            r"Rank 1 is at neither end .* ranks \[0\] to ranks \[4\]",
        ),
        (2, {"sender_rank": 0, "receiver_rank": 2}, r"belongs to rank 1, .* from ranks \[0\] to ranks \[2\]"),
        (0, {"sender_mesh_id": 0, "receiver_mesh_id": 0}, "sender mesh id 0 or receiver mesh id 0 specified"),
        (0, {"sender_mesh_id": 0, "receiver_mesh_id": 7}, "sender mesh id 0 or receiver mesh id 7 specified"),
        (2, {"sender_mesh_id": 0, "receiver_mesh_id": 2}, "Rank 2 is at neither end"),
        (0, {}, "needs sender_rank and receiver_rank"),
    ],
)
def test_ends_that_do_not_meet(monkeypatch: pytest.MonkeyPatch, rank: int, ends: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        meet(monkeypatch, rank, **ends)


def test_the_far_core_is_of_the_other_role() -> None:
    for role, far in ((SENDER, core(1)), (RECEIVER, core(0))):
        assert str(MeshSocket._far_core(SimpleNamespace(_role=role), LINE)) == str(far)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "on_one_host", "narrow"),
    [(DataType.BFLOAT16, False, True), (DataType.BFLOAT16, True, False), (DataType.FLOAT32, False, False)],
)
def test_bfloat16_goes_in_16_bits_from_host_to_host(dtype: DataType, on_one_host: bool, narrow: bool) -> None:
    stream = RankStream(SimpleNamespace(on_one_host=on_one_host), 1, 4096, 1)  # type: ignore[arg-type]
    assert stream._narrow(SimpleNamespace(dtype=dtype)) is narrow  # type: ignore[arg-type]


def test_deadlines_of_host_sockets_are_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "seconds_to_wait", lambda: 30.0)
    assert (host._seconds(1500), host._seconds(0), host._seconds(None)) == (1.5, 0, 30)
