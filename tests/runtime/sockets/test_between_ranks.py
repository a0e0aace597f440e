"""Sockets between real MPI ranks, named by mesh id and by rank; what hangs on hardware is an error with both lines."""

from pathlib import Path

import pytest

from tests.runtime.ccl.here import here
from tests.runtime.mpi import ROOT, mpirun, run_ranks

PROGRAM = Path(__file__).with_name("program.py")
PAIRS = Path(__file__).with_name("pair_program.py")
DESCRIPTOR = str(ROOT / "configs" / "mgd" / "t3k_2x2_two_meshes.textproto")
VISIBLE = ("0,1", "2,3")

pytestmark = pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")


def run(program, *args):
    return run_ranks(
        2,
        program,
        *args,
        env={"TT_MESH_GRAPH_DESC_PATH": DESCRIPTOR, "TT_RUN_GUARD_TIMEOUT": "3"},
        rank_env=lambda r: {"TT_MESH_ID": str(r), "TT_MESH_HOST_RANK": "0", "TT_VISIBLE_DEVICES": VISIBLE[r]},
        timeout=40,
    )


@pytest.mark.parametrize(
    "words",
    [*(pytest.param([word], marks=pytest.mark.wide) for word in ("ids", "ranks")), ["ids", "apart"]],
    ids=" ".join,
)
def test_tensors_there_and_back(words):
    result = run(PROGRAM, *words).check()
    assert [rank.stdout.split() for rank in result.ranks] == [["rank", "0", "done"], ["rank", "1", "done"]]


HEAD = """
import numpy as np, ttnn
mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
rank = int(ttnn.distributed_context_get_rank())
core = ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 0), ttnn.CoreCoord(0, 0))
memory = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096)
def socket(sender, receiver):
    config = ttnn.SocketConfig([ttnn.SocketConnection(core, core)], memory, sender, receiver)
    return ttnn.MeshSocket(mesh_device, config)
x = ttnn.from_torch(np.ones((4, 4), np.float32), device=mesh_device)
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        # Both wait for the other's tensor.
        (
            "a, b = socket(0, 1), socket(1, 0)\n"
            "ttnn.experimental.recv_async(x, b if rank == 0 else a)\n"
            "ttnn.to_torch(x, mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=0))\n",
            ["recv_async", "program.py"],
        ),
        # One end is never built.
        pytest.param("if rank == 0: socket(0, 1)\n", ["MeshSocket", "rank 1"], marks=pytest.mark.wide),
        # The ends are built in another order.
        pytest.param("socket(0, 1) if rank == 0 else socket(1, 0)\n", ["MeshSocket"], marks=pytest.mark.wide),
        # Another spec than what is waited for.
        (
            "s = socket(0, 1)\n"
            "if rank == 0: ttnn.experimental.send_async(x, s)\n"
            "else:\n"
            "    y = ttnn.from_torch(np.ones((8, 4), np.float32), device=mesh_device)\n"
            "    ttnn.experimental.recv_async(y, s); ttnn.synchronize_device(mesh_device)\n",
            ["waits for a tensor of shape [8, 4]", "sent shape [4, 4]"],
        ),
        # A sender that sends once, a receiver that waits for two.
        pytest.param(
            "s = socket(0, 1)\n"
            "if rank == 0: ttnn.experimental.send_async(x, s)\n"
            "else:\n"
            "    for _ in range(2):\n"
            "        ttnn.experimental.recv_async(x, s); ttnn.synchronize_device(mesh_device)\n",
            ["recv_async", "rank 0"],
            marks=pytest.mark.wide,
        ),
    ],
)
def test_what_would_hang_is_an_error(body, wanted):
    result = run(HEAD + body)
    assert result.returncode not in (0, 124, 137), result.stdout + result.stderr
    text = result.stdout + result.stderr
    assert all(word in text for word in wanted), text


WHOLE = {2: "t3k_2x4_two_hosts", 4: "t3k_2x4_four_hosts"}


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.wide)])
def test_pairs_between_parts_of_one_mesh_are_the_same_on_any_split(ranks):
    """`create_socket_pair` on parts that several ranks host: each receives what it does when one process holds both ends."""
    path = ROOT / "configs" / "mgd" / f"{WHOLE[ranks]}.textproto"
    result = run_ranks(
        ranks, PAIRS, env={"TT_MESH_GRAPH_DESC_PATH": str(path), "TT_RUN_GUARD_TIMEOUT": "10"}, timeout=60
    )
    said = [rank.stdout.splitlines() for rank in result.check().ranks]
    alone = here(PAIRS).splitlines()
    assert [line.split()[0] for line in alone] == ["apart", "overlapping", "crossed", "rows", "some"]
    assert all(set(lines) <= set(alone) for lines in said)
    assert {line for lines in said for line in lines} == set(alone)


@pytest.mark.wide
def test_ranks_that_build_other_pairs_are_told():
    body = HEAD.replace("MeshShape(2, 2)", "MeshShape(2, 4)").replace(
        "x = ttnn.from_torch", "y = ttnn.from_torch"
    ) + (
        "left, right = mesh_device.create_submeshes(ttnn.MeshShape(2, 2))\n"
        "ways = [ttnn.SocketConnection(core, core)] + ([ttnn.SocketConnection("
        "ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 1), ttnn.CoreCoord(0, 0)),"
        "ttnn.MeshCoreCoord(ttnn.MeshCoordinate(0, 1), ttnn.CoreCoord(0, 0)))] if rank else [])\n"
        "ttnn.create_socket_pair(left, right, ttnn.SocketConfig(ways, memory))\n"
    )
    path = ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto"
    result = run_ranks(
        2, body, env={"TT_MESH_GRAPH_DESC_PATH": str(path), "TT_RUN_GUARD_TIMEOUT": "3"}, timeout=40
    )
    assert result.returncode not in (0, 124, 137)
    for words in ("create_socket_pair(connections 1", "create_socket_pair(connections 2"):
        assert words in result.stderr


def test_a_tensor_that_nobody_asked_for_is_told():
    """With the sender's line and by the name of its call, of those that left at once and of those that wait for their receiver."""
    body = (
        "a = socket(0, 1)\n"
        "if rank == 0:\n"
        "    ttnn.experimental.send_async(x, a)\n"
        "    ttnn.experimental.send_direct_async(x, a)\n"
        "    large = ttnn.zeros((1024, 1024), ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh_device)\n"
        "    ttnn.experimental.send_async(large, a)\n"
        "else:\n"
        "    ttnn.experimental.recv_async(x, a)\n"
        "    ttnn.synchronize_device(mesh_device)\n"
    )
    sender, receiver = run(HEAD + body).check().ranks
    assert not sender.stderr
    line = len(HEAD.splitlines()) + 4
    for name, at, shape in (("send_direct_async", line, "[4, 4]"), ("send_async", line + 2, "[1024, 1024]")):
        assert f"{name} of rank 0 at " in receiver.stderr
        assert f"program.py:{at} (shape {shape}, " in receiver.stderr
    assert receiver.stderr.startswith(
        "warning[TTG010]: rank 1 ended without receiving a tensor: send_direct_async"
    )


def test_a_direct_tensor_of_another_spec_is_told_by_its_name():
    body = (
        "a = socket(0, 1)\n"
        "y = ttnn.zeros((2, 2), ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh_device)\n"
        "if rank == 0:\n"
        "    ttnn.experimental.send_direct_async(x, a)\n"
        "else:\n"
        "    ttnn.experimental.recv_direct_async(y, a)\n"
        "    ttnn.synchronize_device(mesh_device)\n"
    )
    told = run(HEAD + body).ranks[1].stderr
    assert "recv_direct_async waits for a tensor of shape [2, 2]" in told
    assert "but send_direct_async of rank 0 at " in told
