"""Who the ranks are, and moving bytes between them on real MPI."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.runtime.mpi import ROOT, run_ranks
from tests.sweep import sweep
from tt_run.runtime.comm.world import World, as_bytes

GROUPS = """
import numpy as np
from tt_run.runtime.comm.world import world
w = world()
everyone = w.everyone
w.connect()
n, r = w.size, w.rank
assert [p.rank for p in w.peers] == list(range(n)) and {p.host for p in w.peers} == {0}
assert w.peers[r].mesh_host_rank == r and w.peers[r].mesh_id == 0
assert everyone is w.group(range(n)) and everyone.on_one_host

assert everyone.allgather_bytes(b"x" * r) == [b"x" * i for i in range(n)]

counts = [8 * (i + 1) for i in range(n)]
received = np.empty(sum(counts) // 8, np.int64)
everyone.allgatherv(np.full(r + 1, r), received, counts)
assert received.tolist() == [i for i in range(n) for _ in range(i + 1)]

odd = np.empty(3 * n, np.uint8)
everyone.allgatherv(np.full(3, r, np.uint8), odd, [3] * n)
assert odd.tolist() == [i for i in range(n) for _ in range(3)]

if n > 1:
    receive = everyone.irecv(np.empty(4, np.int32), (r - 1) % n, 9)
    send = everyone.isend(np.full(4, r, np.int32), (r + 1) % n, 9)
    while not (receive.test() and send.test()):
        pass
    assert (receive.buffer == (r - 1) % n).all()
    everyone.isend(np.full(3, r, np.uint8), (r + 1) % n, 11)
    everyone.barrier()
    while not (found := everyone.arrived(11)):
        pass
    assert found == [((r - 1) % n, bytes([(r - 1) % n] * 3))]

pair = w.group((0, n - 1)) if n > 1 else everyone
if pair.is_member:
    assert pair.allgather_bytes(bytes([r])) == [bytes([0]), bytes([n - 1])][: pair.size]
reverse = w.group(tuple(reversed(range(n))))
assert reverse.allgather_bytes(bytes([r])) == [bytes([i]) for i in reversed(range(n))]

block = everyone.shared_block(n)
block.memory[r] = r + 1
everyone.barrier()
assert list(block.memory[:n]) == list(range(1, n + 1))
everyone.barrier()
print("done")
"""


@pytest.mark.parametrize("ranks", sweep([1, 2, 4], quick=[2]))
def test_groups_move_bytes(ranks: int) -> None:
    result = run_ranks(ranks, GROUPS).check()
    assert result.stdout.split() == ["done"] * ranks


def test_a_lone_process_needs_no_mpi() -> None:
    program = (
        "from tt_run.runtime.comm.world import world; import sys; w = world(); w.connect(); "
        "print(w.rank, w.size, len(w.peers), w.everyone.allgather_bytes(b'a'), 'mpi4py' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=30, check=True
    )
    assert done.stdout.strip() == "0 1 1 [b'a'] False"


def test_another_number_of_ranks_than_planned_is_an_error_that_names_both() -> None:
    result = run_ranks(
        2, "from tt_run.runtime.comm.world import world\nworld()", env={"TT_RUN_WORLD_SIZE": "4"}
    )
    assert result.returncode != 0
    assert "planned for 4 ranks (TT_RUN_WORLD_SIZE=4) but MPI started 2" in result.ranks[0].stderr


def test_a_place_that_is_no_number_is_an_error() -> None:
    program = "from tt_run.runtime.comm.world import world\nworld().connect()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"TT_MESH_ID": "one", "PATH": "/usr/bin:/bin"},
        timeout=30,
        check=False,
    )
    assert "TT_MESH_ID='one' is not a number" in done.stderr


@pytest.mark.parametrize("ranks", [(0, 0), (0, 2), (-1,)])
def test_a_group_needs_distinct_ranks_of_the_world(ranks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="distinct ranks"):
        World(0, 2).group(ranks)


def test_only_contiguous_arrays_travel() -> None:
    import numpy as np

    with pytest.raises(ValueError, match="contiguous"):
        as_bytes(np.zeros((4, 4))[:, 1])


REPLAYED = """
import numpy as np, sys
import ttnn
from tt_run.runtime.comm.world import Group, Peer, World, replace_world

class Canned(Group):
    on_one_host = False
    connected = True
    def connect(self): pass
    def allgather(self, send, receive): receive[:] = send
    def allgather_bytes(self, payload): return [payload, payload]
    def barrier(self): pass

class Replay(World):
    peers = tuple(Peer(rank, rank, f"host{rank}", 1, 0, rank) for rank in (0, 1))
    def connect(self): pass
    def group(self, ranks): return self._groups.setdefault(tuple(ranks), Canned(self, tuple(ranks)))

replace_world(Replay(0, 2))
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 4))
x = ttnn.from_torch(np.full((4, 2), 3.0, np.float32), device=mesh, mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=0))
print(ttnn.all_reduce(x).shards.data.tolist(), "mpi4py" in sys.modules)
"""


def test_another_world_may_answer_for_the_other_ranks() -> None:
    """One process is rank 0 of two and gets what rank 1 says from its world: no MPI, the same collective."""
    env = {
        "TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs/mgd/t3k_2x4_two_hosts.textproto"),
        "TT_RUN_GUARD": "off",
    }
    result = run_ranks(1, REPLAYED, env=env).check()
    assert result.stdout.strip() == "[[[12.0, 12.0]]] False"
