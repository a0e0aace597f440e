"""A program's own mpi4py: right calls in every spelling pass, and its sizes are compared, not its spellings. Mistakes are in `program_divergences`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tests.runtime.mpi import run_ranks
from tt_run.runtime.events import is_library
from tt_run.runtime.library_imports import Finder

RIGHT = """
import array
import threading
import numpy as np
import ttnn
from mpi4py import MPI
from mpi4py.util import pkl5
before = MPI.COMM_WORLD
before.Barrier()  # the ranks have not met yet
ttnn.init_distributed_context()
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
assert isinstance(comm, MPI.Intracomm) and comm == MPI.Comm.f2py(comm.py2f())
grid = comm.Create_cart([size])
assert type(comm) is type(comm.Dup()) is type(MPI.COMM_SELF) is MPI.Intracomm and type(grid) is type(grid.Sub([True])) is MPI.Cartcomm
assert isinstance(grid, MPI.Intracomm) and isinstance(MPI.Intracomm(comm), MPI.Comm) and issubclass(MPI.Cartcomm, MPI.Intracomm)

# Objects.
assert comm.bcast("a" if rank == 0 else None) == "a"
assert comm.reduce(1, op=MPI.SUM, root=1) == (size if rank == 1 else None)
assert comm.allreduce(rank, op=MPI.MAX) == size - 1
assert comm.allreduce(2, op=lambda a, b: a * b) == 2**size
assert comm.gather(rank, root=0) == (list(range(size)) if rank == 0 else None)
assert comm.scatter(list(range(size)) if rank == 0 else None, root=0) == rank
assert comm.alltoall([rank] * size) == list(range(size))
comm.barrier() if rank else comm.Barrier()

# Buffers in place of each other, with and without counts and types.
a, b = np.full(4, rank, np.float64), np.zeros(4)
comm.Allreduce(a, b)
assert b[0] == sum(range(size))
comm.Allreduce(MPI.IN_PLACE, a) if rank == 0 else comm.Allreduce([a, MPI.DOUBLE], b)
everything = np.zeros(4 * size)
comm.Allgather(MPI.IN_PLACE, everything) if rank else comm.Allgather(np.zeros(4), everything)
comm.Bcast(np.zeros(8, np.uint8) if rank else [bytearray(8), 8, MPI.CHAR], 0)
comm.Bcast([bytearray(8), "B"] if rank else bytearray(8), root=0)
rows = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
comm.Bcast([np.zeros(4), 1, rows] if rank == 0 else np.zeros(2), root=0)
comm.Gather(MPI.IN_PLACE if rank == 0 else b, everything if rank == 0 else None, root=0)
one = np.zeros(1)
comm.Scatter(np.arange(float(size)) if rank == 0 else None, MPI.IN_PLACE if rank == 0 else one, root=0)
assert rank == 0 or one[0] == rank
comm.Reduce(b, None if rank else a, op=MPI.SUM, root=0)
comm.Allgatherv(np.zeros(rank + 1), [np.zeros(sum(range(1, size + 1))), [each + 1 for each in range(size)]])
comm.Bcast((b, (4, 0), MPI.DOUBLE) if rank else (b, 4), 0)
comm.Bcast([np.zeros(2), 16, MPI.BYTE] if rank else np.zeros(2), 0)
comm.Bcast(array.array("d", [1, 2]) if rank else np.zeros(2), 0)
comm.Bcast([memoryview(bytearray(8)), 8, "B"] if rank else bytearray(8), 0)
comm.Reduce_scatter(np.zeros(size), np.zeros(1), [1] * size)
comm.Reduce_scatter_block(np.zeros(size), np.zeros(1))
whole = pkl5.Intracomm(comm)
assert whole.bcast(b"x" * 100_000, root=0) == b"x" * 100_000

# Duplicates, parts, requests, other threads, wrong words.
copied = comm.Dup()
copied.Barrier()
copied.Free()
class Mine(type(comm)):
    def Barrier(self):
        return super().Barrier()
Mine(comm).Barrier()
part = comm.Split(rank % 2, rank)
part.allgather(1)
if rank % 2 == 0:
    part.Barrier()
comm.Ibarrier().Wait()
thread = threading.Thread(target=comm.Barrier)
thread.start()
thread.join()
try:
    comm.Bcast(None, root=0)
except Exception:
    pass
if hasattr(comm, "free"):
    comm.free()
    assert comm == MPI.COMM_WORLD and comm.allreduce(1) == size

# Classes: what the library makes itself is of them, what a program derives from them is its own.
for kind, none in ((MPI.Win, MPI.WIN_NULL), (MPI.File, MPI.FILE_NULL), (MPI.Request, MPI.REQUEST_NULL)):
    class Own(kind):
        pass
    assert isinstance(none, kind) and issubclass(type(none), kind) and isinstance(Own(), kind) and not isinstance(none, Own)
ttnn.distributed_context_barrier()
print("all right")
"""


def test_right_calls_pass_in_every_spelling() -> None:
    result = run_ranks(3, RIGHT, env={"TT_RUN_GUARD_TIMEOUT": "20"}, timeout=40).check()
    assert result.stdout == "all right\n" * 3


def test_what_cython_compiled_is_no_line_of_the_users() -> None:
    assert is_library("src/mpi4py/MPI.src/Comm.pyx") and is_library("numpy/random/mtrand.pyx")
    assert not is_library("/home/me/train.py")


def test_several_may_wait_for_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "met_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    met: list[str] = []
    waiting = [Finder({"met_module": lambda _, name=name: met.append(name)}) for name in "ab"]  # type: ignore[misc]
    monkeypatch.setattr(sys, "meta_path", [*waiting, *sys.meta_path])
    __import__("met_module")
    monkeypatch.delitem(sys.modules, "met_module")
    assert sorted(met) == ["a", "b"]


BY_HAND = """
import sys
sys.modules["torch"] = None
import ttnn
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
MPI.Init()
comm = MPI.COMM_WORLD
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
assert comm.allreduce(1) == comm.size
comm.Barrier() if comm.rank else comm.bcast(1)
"""


@pytest.mark.wide
def test_mpi_that_the_program_starts_itself_is_watched(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(BY_HAND)
    ran = tt_run("--emulate", "--system", "n300", "--split", "1x2", "python", "program.py", cwd=tmp_path)
    assert ran.code == 1 and "error[TTG001]" in ran.err and "program.py:12" in ran.err, ran.err


FULL = """
import sys
sys.modules["torch"] = None
import ttnn
from mpi4py import MPI
comm = MPI.COMM_WORLD
assert comm.Agree(3) == 3 and comm.Shrink().allreduce(1) == comm.size
comm.Spawn(sys.executable, ["-c", "from mpi4py import MPI"], maxprocs=1000)
"""


@pytest.mark.wide
@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes of exceptions came with Python 3.11")
def test_processes_without_room_are_explained(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FULL)
    ran = tt_run("--emulate", "--system", "n300", "--split", "1x2", "python", "program.py", cwd=tmp_path)
    assert ran.code == 1 and "MPI Spawn at" in ran.err and "program.py:8" in ran.err, ran.err
    assert "tt-run --mpi-args '--map-by :OVERSUBSCRIBE'" in ran.err


POOL = """
import ttnn
from mpi4py.futures import MPIPoolExecutor
from mpi4py import MPI
def square(x):
    assert ttnn.__file__.count("shims") == 1
    return x * x
if __name__ == "__main__":
    ttnn.init_distributed_context()
    if MPI.COMM_WORLD.rank == 0:
        with MPIPoolExecutor(2) as pool:
            print("squares", *pool.map(square, range(4)))
"""


@pytest.mark.wide
@pytest.mark.parametrize("has_room", [True, False])
def test_a_pool_of_processes_finds_the_emulation(tmp_path: Path, has_room: bool) -> None:
    (tmp_path / "program.py").write_text(POOL)
    room = ("--mpi-args=--map-by :OVERSUBSCRIBE",) if has_room else ("--mpi-args=--host localhost:2",)
    ran = tt_run(
        "--emulate", "--system", "n300", "--split", "1x2", *room, "python", "program.py", cwd=tmp_path
    )
    if has_room:
        assert "squares 0 1 4 9" in ran.check().out
    else:
        assert ran.code == 1 and "help: tt-run --mpi-args '--map-by :OVERSUBSCRIBE'" in ran.err, ran.err


MUTE = """
import sys
sys.modules["torch"] = None
import ttnn
from mpi4py import MPI
comm = MPI.COMM_WORLD if "all" in sys.argv else MPI.COMM_SELF
if "meet" in sys.argv:
    ttnn.init_distributed_context()
if "several" in sys.argv:
    MPI.COMM_WORLD.Spawn_multiple(["sleep", "sleep"], [["3001"], ["3002"]], [1, 1], root=1)
if MPI.COMM_WORLD.rank == 0 or "all" in sys.argv:
    comm.Spawn("sleep", ["3000"], root=0)
MPI.COMM_WORLD.barrier()
"""


@pytest.mark.parametrize(
    ("split", "words", "rank", "line"),
    [
        pytest.param("1x2", "", 0, 12, id="alone"),
        pytest.param("1x2", "meet all", 0, 12, id="together", marks=pytest.mark.wide),
        pytest.param("1x2", "several", 1, 10, id="several", marks=pytest.mark.wide),
        pytest.param("1x1", "", 0, 12, id="one-rank", marks=pytest.mark.wide),
    ],
)
def test_a_program_without_mpi_is_not_waited_for_for_ever(
    tmp_path: Path, split: str, words: str, rank: int, line: int
) -> None:
    """The library waits for its MPI_Init, and nothing calls that off."""
    (tmp_path / "program.py").write_text(MUTE)
    launch = ("--emulate", "--system", "t3000", "--split", split, "--mpi-args=--oversubscribe")
    env = {"TT_RUN_GUARD_TIMEOUT": "2"}
    ran = tt_run(*launch, "python", "program.py", *words.split(), cwd=tmp_path, env=env)
    assert ran.code == 1 and f"error[TTG009]: rank {rank} started sleep" in ran.err, ran.err
    assert f"program.py:{line}" in ran.err and "subprocess.run(['sleep', '300" in ran.err
    assert f"rank {rank} on {os.uname().nodename} is at fault" in ran.err
    assert f"{tmp_path}/program.py:{line}" in ran.err.partition("is at fault")[2]


LONE = """
import sys
sys.modules["torch"] = None
import pickle
import ttnn
from mpi4py import MPI
comm = MPI.COMM_WORLD
assert comm.size == 1 and isinstance(comm, MPI.Intracomm) and issubclass(MPI.Cartcomm, MPI.Intracomm)
copied, request = comm.Idup()
request.Wait()
made = [comm.Dup(), comm.Split(0, 0), comm.Create(comm.Get_group()), copied, MPI.COMM_SELF, pickle.loads(pickle.dumps(comm))]
assert all(type(each) is MPI.Intracomm for each in made) and type(comm.Create_cart([1])) is MPI.Cartcomm
assert comm.Split(MPI.UNDEFINED, 0) == MPI.COMM_NULL and comm.allreduce(3) == 3
child = "from mpi4py import MPI; p = MPI.Comm.Get_parent(); p.send(MPI.COMM_WORLD.size * 7, 0); p.Disconnect()"
pair = made[0].Spawn(sys.executable, ["-c", child], 2)
print("heard", pair.recv(source=0) + pair.recv(source=1))
pair.Disconnect()
"""


def test_a_lone_rank_has_the_communicators_that_it_knows(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LONE)
    launch = ("--emulate", "--system", "n300", "--mpi-args=--oversubscribe")
    ran = tt_run(*launch, "python", "program.py", cwd=tmp_path).check()
    assert ran.field("heard") == ["28"]
