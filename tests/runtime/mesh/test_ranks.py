"""One mesh over several ranks: what is the same everywhere, what differs, and what concerns some ranks only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runtime.mpi import ROOT, run_ranks

CONFIGS = ROOT / "configs" / "mgd"
LOOK = """
import json
from tt_run.runtime.mesh import *
from tt_run.runtime.mesh import distributed as d
mesh = open_mesh_device()
subs = mesh.create_submeshes(MeshShape(1, 2))
corner = open_mesh_device(MeshShape(1, 1))
print(json.dumps({
    "rank": int(d.distributed_context_get_rank()), "shape": list(mesh.shape), "text": str(mesh), "count": mesh.get_num_devices(),
    "numbers": [mesh.id(), *(s.id() for s in subs), corner.id()], "ids": mesh.get_device_ids(), "group": mesh.group.ranks,
    "local": [tuple(c) for c in mesh.local_coords], "positions": mesh.local_positions, "owners": mesh.owner_ranks,
    "subs": [[s.get_device_ids(), s.group.ranks] for s in subs], "corner": corner.get_device_ids(),
}))
corner.close(); mesh.close()
"""


def look(ranks: int, descriptor: str) -> list[dict[str, Any]]:
    result = run_ranks(
        ranks, LOOK, env={"TT_MESH_GRAPH_DESC_PATH": str(CONFIGS / f"{descriptor}.textproto")}
    ).check()
    return [json.loads(output.stdout) for output in result.ranks]


@pytest.mark.parametrize(
    ("ranks", "descriptor"),
    [(2, "t3k_2x4_two_hosts"), pytest.param(4, "t3k_2x4_four_hosts", marks=pytest.mark.wide)],
)
def test_a_big_mesh(ranks: int, descriptor: str) -> None:
    seen = look(ranks, descriptor)
    for name in ("shape", "text", "count", "numbers", "group", "owners"):
        assert len({json.dumps(rank[name]) for rank in seen}) == 1, name
    assert seen[0]["text"] == "MeshDevice(2x4 grid, 8 devices)"
    assert sorted(position for rank in seen for position in rank["positions"]) == list(range(8))
    for rank in seen:
        assert all(rank["owners"][p] == rank["rank"] for p in rank["positions"])
        assert sorted(rank["ids"]) == list(range(8 // ranks))
        assert [p // 4 for p in rank["positions"]] == [r for r, _ in rank["local"]]
    assert [rank["corner"] != [] for rank in seen] == [True] + [False] * (ranks - 1)
    for number in range(4):
        holders = [rank["rank"] for rank in seen if rank["subs"][number][0]]
        assert holders == seen[0]["subs"][number][1]


@pytest.mark.wide
def test_meshes_of_their_own_are_all_local() -> None:
    result = run_ranks(
        2,
        LOOK,
        env={"TT_MESH_GRAPH_DESC_PATH": str(CONFIGS / "t3k_2x2_two_meshes.textproto")},
        rank_env=lambda rank: {"TT_MESH_ID": str(rank), "TT_MESH_HOST_RANK": "0"},
    ).check()
    seen = [json.loads(output.stdout) for output in result.ranks]
    assert [rank["group"] for rank in seen] == [[0], [1]]
    assert all(rank["shape"] == [2, 2] and len(rank["ids"]) == 4 for rank in seen)


def test_a_rank_that_opens_another_shape_is_named() -> None:
    program = "from tt_run.runtime.mesh import *\nfrom tt_run.runtime.comm.world import world\n"
    program += "open_mesh_device(MeshShape(2, 4 if world().rank else 2 + 1))\n"
    result = run_ranks(
        2, program, env={"TT_MESH_GRAPH_DESC_PATH": str(CONFIGS / "t3k_2x4_two_hosts.textproto")}
    )
    assert result.returncode == 1
    assert "error[TTG001]: ranks 0 and 1 disagree on call 1: shape, devices" in result.ranks[0].stderr


@pytest.mark.wide
def test_closing_on_the_way_out_does_not_hide_the_exception() -> None:
    program = (
        "from tt_run.runtime.mesh import *\nfrom tt_run.runtime import guard\nfrom tt_run.runtime.comm.world import world\n"
        "mesh = open_mesh_device()\n"
        "try:\n"
        "    if world().rank:\n"
        "        raise ValueError('bad batch')\n"
        "    guard.collective(mesh.group, guard.Signature('all_gather'))\n"
        "finally:\n"
        "    close_mesh_device(mesh)\n"
    )
    result = run_ranks(
        2, program, env={"TT_MESH_GRAPH_DESC_PATH": str(CONFIGS / "t3k_2x4_two_hosts.textproto")}
    )
    assert result.returncode == 1
    assert "error[TTG003]: rank 1 raised an exception" in result.ranks[0].stderr
    assert "raised ValueError: bad batch at" in result.ranks[0].stderr
    assert "GuardError" not in result.ranks[1].stderr


@pytest.mark.wide
def test_a_descriptor_for_more_ranks_is_one_error_on_each() -> None:
    program = "from tt_run.runtime.mesh import *\nopen_mesh_device()\n"
    result = run_ranks(
        2, program, env={"TT_MESH_GRAPH_DESC_PATH": str(CONFIGS / "t3k_2x4_four_hosts.textproto")}
    )
    assert result.returncode == 1
    assert "no rank has TT_MESH_HOST_RANK=2, 3" in result.ranks[0].stderr


CONTEXT = """
from tt_run.runtime.mesh.distributed import *
assert using_distributed_env()
try:
    distributed_context_get_rank()
except RuntimeError as error:
    assert str(error) == "Distributed context not initialized. Call init_distributed_context() first."
else:
    raise AssertionError("no error")
assert not distributed_context_is_initialized()
init_distributed_context()
init_distributed_context()
assert distributed_context_is_initialized()
rank, size = distributed_context_get_rank(), distributed_context_get_size()
r, n = int(rank), int(size)
assert (repr(rank), str(size)) == (f"Rank({r})", str(n)) and rank == Rank(r) and rank != Size(r)
assert distributed_context_world_rank() == rank and distributed_context_world_size() == size
assert distributed_context_allgather_int(10 + r) == [10 + i for i in range(n)]
distributed_context_barrier()
if r == 0:
    distributed_context_send_bytes(b"abc", 1, 5)
    assert distributed_context_recv_bytes(200000, Rank(1)) == b"x" * 200000
if r == 1:
    assert distributed_context_recv_bytes(3, 0, 5) == b"abc"
    distributed_context_send_bytes(b"x" * 200000, 0)
assert distributed_context_subcontext_count() == 1 and distributed_context_subcontext_id() is None
assert distributed_context_subcontext_sizes() == [n] and int(distributed_context_subcontext_size(0)) == n
assert int(distributed_context_local_to_world_rank(0, 1)) == 1
own, another = distributed_context_duplicate(), distributed_context_duplicate()
assert (own.rank(), own.size()) == (r, n) and (type(own.rank()), type(own.size())) == (int, int)
if r == 0:
    own.send(b"first", 1, 65535)
    another.send(b"second", 1)
    distributed_context_send_bytes(b"", 1)
    distributed_context_send_bytes(b"four", 1)
if r == 1:
    assert own.recv(5, 0, 65535) == b"first" and another.recv(6, 0, 0) == b"second"
    assert distributed_context_recv_bytes(0, 0) == b""
    try:
        distributed_context_recv_bytes(3, 0)
    except RuntimeError as error:
        assert "rank 0 sent 4 bytes at " in str(error) and "rank 1 receives 3 bytes" in str(error)
        assert "ttnn.distributed_context_recv_bytes(4, 0)" in str(error)
    else:
        raise AssertionError("no error")
for wrong, text in (
    (lambda: distributed_context_send_bytes(b"", n), f"Invalid rank {n}: the context has {n} ranks."),
    (lambda: distributed_context_send_bytes(b"", -1), "Invalid rank -1"),
    (lambda: distributed_context_send_bytes(b"", r), f"Rank {r} cannot exchange bytes with itself."),
    (lambda: own.send(b"", n - 1 - r, -1), "Invalid tag -1: tags of a context are 0 to 65535."),
    (lambda: own.send(b"", n - 1 - r, 65536), "Invalid tag 65536"),
    (lambda: distributed_context_subcontext_size(1), "Invalid subcontext id 1: there are 1 subcontexts."),
    (lambda: distributed_context_subcontext_size(-1), "Invalid subcontext id -1"),
    (lambda: distributed_context_local_to_world_rank(0, n), f"Invalid local rank {n}: subcontext 0 has {n} ranks."),
    (lambda: distributed_context_local_to_world_rank(0, -1), "Invalid local rank -1"),
):
    try:
        wrong()
    except RuntimeError as error:
        assert "info:" in str(error) and text in str(error), error
    else:
        raise AssertionError("no error")
print("done")
"""


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.wide)])
def test_the_distributed_context(ranks: int) -> None:
    assert run_ranks(ranks, CONTEXT).check().stdout.split() == ["done"] * ranks


def test_sub_contexts_have_ranks_of_their_own() -> None:
    program = """
from tt_run.runtime.mesh.distributed import *
init_distributed_context()
local, everywhere = int(distributed_context_get_rank()), int(distributed_context_world_rank())
print(distributed_context_subcontext_id(), local, int(distributed_context_get_size()), everywhere,
      distributed_context_subcontext_sizes(), distributed_context_allgather_int(everywhere),
      distributed_context_local_to_world_rank(distributed_context_subcontext_id(), local))
distributed_context_barrier()
"""
    result = run_ranks(
        3,
        program,
        env={"TT_RUN_SUBCONTEXT_SIZES": "2,1"},
        rank_env=lambda rank: {"TT_RUN_SUBCONTEXT_ID": str(rank // 2)},
    ).check()
    assert [output.stdout.strip() for output in result.ranks] == [
        "0 0 2 0 [2, 1] [0, 1] 0",
        "0 1 2 1 [2, 1] [0, 1] 1",
        "1 0 1 2 [2, 1] [2] 2",
    ]
