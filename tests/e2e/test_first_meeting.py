"""The first collective of a program's own MPI, which some ranks come to in their main thread and others in another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tests.sweep import sweep

HEAD = """
import sys, threading
sys.modules["torch"] = None
import ttnn
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""
EXECUTOR = """
from mpi4py.futures import MPICommExecutor
with MPICommExecutor(comm, root=0) as pool:
    if pool is not None:
        assert list(pool.map(abs, range(-5, 0))) == [5, 4, 3, 2, 1]
"""
SUM = """
sums = []
def work():
    sums.append(comm.allreduce(rank))
in_a_thread(work) if rank == 1 else work()
assert sums == [sum(range(size))]
"""
PART = """
part = comm.Split(rank % 2, rank)
roots = []
def work():
    roots.append(part.bcast(rank))
    roots.append(part.bcast(rank, root=1))
in_a_thread(work) if part.rank else work()
assert roots == [rank % 2, rank % 2 + 2]
"""
ALL_IN_THREADS = """
in_a_thread(comm.Barrier)
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
"""
END = """
assert comm.allreduce(1) == size
print("ended")
"""
PROGRAMS = {
    "an executor": EXECUTOR,
    "a sum": SUM,
    "of a part of the ranks": PART,
    "all in threads": ALL_IN_THREADS,
}


def launch(folder: Path, program: str, **environment: str) -> tuple[str, str, int]:
    (folder / "program.py").write_text(HEAD + program + END)
    words = ("--emulate", "--system", "t3000", "--split", "1x4", "python", "program.py")
    ran = tt_run(*words, cwd=folder, env={"TT_RUN_GUARD_TIMEOUT": "30", **environment}, timeout=80)
    return ran.out, ran.err, ran.code


@pytest.mark.parametrize("guard", sweep(["on", "off"], quick=["on"]))
@pytest.mark.parametrize("name", sweep(PROGRAMS, quick=["of a part of the ranks"]))
def test_ranks_meet_in_whichever_thread(tmp_path: Path, name: str, guard: str) -> None:
    out, err, code = launch(tmp_path, PROGRAMS[name], TT_RUN_GUARD=guard)
    assert code == 0 and out.count("ended") == 4, err


@pytest.mark.wide
def test_another_call_in_the_thread_is_told(tmp_path: Path) -> None:
    wrong = "def work():\n    comm.Barrier()  # here\nif rank == 1:\n    in_a_thread(work)\nelse:\n    comm.allreduce(1)  # there\n"
    _, err, code = launch(tmp_path, wrong, TT_RUN_GUARD_TIMEOUT="3")
    assert code == 1 and "error[TTG" in err, err
    for mark in ("# here", "# there"):
        line = next(number for number, text in enumerate((HEAD + wrong).splitlines(), 1) if mark in text)
        assert re.search(rf"program\.py:{line}\b", err), err
