"""A program's own MPI moves on while a rank waits in shared memory: what plain MPI finishes ends here, too.

Without single copies between processes, which containers often forbid, a large message needs its sender until it is received.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, tt_run

HEAD = """
import sys, threading, time
sys.modules["torch"] = None
import numpy as np
import ttnn
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.from_torch(np.ones((1, 1, 32, 256), np.float32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=ttnn.ShardTensorToMesh(mesh, 3))
big, into = np.full(1_000_000, float(rank)), np.empty(1_000_000)
comm.Barrier()
ttnn.all_reduce(x, cluster_axis=1)
"""
TAIL = """
print("ended")
"""
# The odd ranks do first what only the even ones can move on, and are met by these in a wait in shared memory.
PROGRAMS = {
    "large messages across a barrier": """
request = comm.Isend(big, dest=right)
if rank % 2:
    comm.Recv(into, source=left)
comm.Barrier()
if not rank % 2:
    comm.Recv(into, source=left)
comm.Barrier()
request.Wait()
assert (into == left).all()
""",
    "large messages across a collective of the mesh": """
request = comm.Isend(big, dest=right)
if rank % 2:
    comm.Recv(into, source=left)
ttnn.all_reduce(x, cluster_axis=1)
if not rank % 2:
    comm.Recv(into, source=left)
request.Wait()
assert (into == left).all()
""",
    "large messages that are made ready once": """
prepared = comm.Send_init(big, dest=right)
for turn in range(3):
    prepared.Start()
    if rank % 2:
        comm.Recv(into, source=left)
    comm.Barrier()
    if not rank % 2:
        comm.Recv(into, source=left)
    prepared.Wait()
assert (into == left).all()
""",
    "many small messages across a barrier": """
for number in range(20_000):
    if rank % 2:
        comm.Recv(into[:8], source=left)
    else:
        comm.Send(big[:8], dest=right)
comm.Barrier()
""",
    "a window that another rank reads": """
memory, fetched = np.full(100_000, float(rank)), np.empty(100_000)
window = MPI.Win.Create(memory, comm=comm)
comm.Barrier()
if rank % 2:
    for _ in range(50):
        window.Lock(left, MPI.LOCK_SHARED)
        window.Get(fetched, left)
        window.Unlock(left)
    assert (fetched == left).all()
window.Free()
""",
    "a large message while a thread meets the others": """
request = comm.Isend(big, dest=right)
other = comm.Dup()
thread = threading.Thread(target=other.Barrier)
if rank % 2:
    comm.Recv(into, source=left)
thread.start()
thread.join()
if not rank % 2:
    comm.Recv(into, source=left)
request.Wait()
assert (into == left).all()
""",
}


@pytest.mark.wide
@pytest.mark.parametrize("copies", ["single copies", "without"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_mpi_moves_on_moves_on(tmp_path: Path, name: str, copies: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(HEAD + PROGRAMS[name] + TAIL)
    words = ("--log-dir", tmp_path / "logs", "--emulate", "--system", "t3000", "--split", "1x4")
    env = {"OMPI_MCA_smsc": "^cma"} if copies == "without" else {}
    ran = tt_run(*words, "python", program, cwd=ROOT, env=env, timeout=40).check()
    assert ran.out.count("ended") == 4


LATE = """
request = comm.Irecv(into, source=left)
if rank:
    time.sleep(1)  # the other one looks after its request meanwhile
ttnn.all_reduce(x, cluster_axis=1)
comm.Send(big, dest=right)
request.Wait()
assert (into == left).all()
"""


@pytest.mark.wide
def test_what_the_guard_asks_is_in_no_record(tmp_path: Path) -> None:
    """How often it asks depends on how long it waits."""
    program = tmp_path / "program.py"
    program.write_text(HEAD + LATE + TAIL)
    words = (
        "--log-dir",
        tmp_path / "logs",
        "--record",
        tmp_path / "record",
        "--emulate",
        "--system",
        "t3000",
        "--split",
        "1x2",
    )
    tt_run(*words, "python", program, cwd=ROOT, timeout=60).check()
    for rank in range(2):
        again = tt_run("replay", tmp_path / "record", "--rank", str(rank), cwd=ROOT, timeout=60).check()
        assert "ended" in again.out and again.err.endswith(" calls, all as recorded\n"), again.err


@pytest.mark.wide
def test_without_the_guard_too(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(HEAD + PROGRAMS["large messages across a collective of the mesh"] + TAIL)
    words = ("--log-dir", tmp_path / "logs", "--emulate", "--system", "t3000", "--split", "1x4")
    env = {"OMPI_MCA_smsc": "^cma", "TT_RUN_GUARD": "off"}
    ran = tt_run(*words, "python", program, cwd=ROOT, env=env, timeout=40).check()
    assert ran.out.count("ended") == 4


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--record", "record")], ids=["plain", "recorded"])
def test_a_rank_waits_in_mpi_for_one_whose_program_is_over(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Both came to the call, but what one gave could not be sent, and it went on."""
    (tmp_path / "program.py").write_text(
        HEAD + "try:\n    comm.bcast((lambda: 0) if rank == 0 else None)\nexcept Exception:\n    pass\n"
    )
    words = ("--emulate", "--system", "t3000", "--split", "1x2", *options, "python", "program.py")
    ran = tt_run(*words, cwd=tmp_path, timeout=100)
    assert ran.code == 77, ran.err
    assert "hang: rank 0 reached the end of the program, while rank 1 waits in MPI at " in ran.err
