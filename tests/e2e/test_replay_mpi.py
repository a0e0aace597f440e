"""Programs of mpi4py on recorded ranks, and one of the ranks again alone: the same output, without MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tests.runtime.record import mpi_messages, mpi_objects

HEAD = """
import sys
sys.modules["torch"] = None
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
"""
LATE = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Is_initialized(), MPI.Init_thread(MPI.THREAD_MULTIPLE) == MPI.THREAD_MULTIPLE)
print(MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank))
MPI.Finalize()
print(MPI.Is_finalized())
"""

ORDERED = """
# Of these sets each pickling turns the elements around: what comes second finds its place taken.
print(comm.allgather({7, 15}), comm.bcast((rank, frozenset([23, 31])), root=1))
print(comm.sendrecv([{7, 15}, {7, 15}], right, source=left), comm.isend({15, 7}, right).wait(), comm.irecv(source=left).wait())
import atexit
atexit.register(lambda: print("at the end", comm.allreduce(rank)))
"""


def check(folder: Path, text: str, ranks: tuple[int, ...], split: str = "2x2") -> None:
    """Record the ranks of a program; these of them print alone what they printed then."""
    (folder / "program.py").write_text(text)
    words = ("--record", "record", "--log-dir", "logs", "--emulate", "--system", "t3000", "--split", split)
    ran = tt_run(*words, "python", "program.py", cwd=folder).check()
    assert "not recorded" not in ran.err
    for rank in ranks:
        again = tt_run("replay", "record", "--rank", str(rank), cwd=folder).check()
        assert again.out == (folder / "logs" / f"rank-{rank:04d}.out").read_text() != ""
        assert "all as recorded" in again.err


@pytest.mark.wide
@pytest.mark.parametrize(
    "programs", [mpi_messages.PROGRAMS, mpi_objects.PROGRAMS], ids=["messages", "objects"]
)
def test_what_a_program_does_with_the_library_is_repeated(programs: dict[str, str], tmp_path: Path) -> None:
    parts = (f"print({name!r})\n{HEAD}{text}\ncomm.Barrier()\n" for name, text in programs.items())
    check(tmp_path, "".join(parts), (0, 3))


@pytest.mark.wide
def test_a_program_that_starts_the_library_itself_is_repeated(tmp_path: Path) -> None:
    check(tmp_path, LATE, (1,))


@pytest.mark.wide
def test_sets_keep_their_order_and_calls_at_the_end_are_counted(tmp_path: Path) -> None:
    check(tmp_path, HEAD + ORDERED, (0, 2))
    again = tt_run("replay", "record", "--rank", "1", cwd=tmp_path).check()
    assert "the record goes on" not in again.err


@pytest.mark.wide
def test_another_operation_is_told_also_where_the_rank_gets_no_result(tmp_path: Path) -> None:
    text = HEAD + "print(comm.reduce(rank), comm.reduce(rank, MPI.SUM), comm.reduce(rank, op=MPI.MAX))\n"
    check(tmp_path, text, (1,), "1x2")
    (tmp_path / "other.py").write_text(text.replace("MAX", "MIN"))
    again = tt_run("replay", "record", "--rank", "1", "--", "python", "other.py", cwd=tmp_path)
    assert again.code != 0
    assert "call 3: the record has MPI reduce(op=MAX)" in again.err
    assert "now the program calls MPI reduce(op=MIN)" in again.err
