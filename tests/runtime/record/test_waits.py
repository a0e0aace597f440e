"""A recorded run waits as one that is not recorded: whoever waits says for what, and for whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.launch import tt_run

STARTED = """
import sys
sys.modules["torch"] = None
import threading
import numpy as np
import ttnn
from mpi4py import MPI
comm = MPI.COMM_WORLD
ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
pair = comm.Split(comm.rank // 2, comm.rank)
comm.Barrier()
copied, copying = pair.Idup()
if comm.rank == 1:
    threading.Event().wait()
if comm.rank == 0:
    prepared = pair.Recv_init(np.empty(1), source=1)
    prepared.Start()
    MPI.Request.Waitall([copying, prepared, pair.irecv(source=1)])
copying.Wait()
comm.Barrier()
"""


@pytest.mark.wide
def test_what_was_started_is_named_and_its_ranks_alone(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STARTED)
    words = ("--record", "record", "--emulate", "--system", "t3000", "--split", "1x4")
    ran = tt_run(*words, "python", "program.py", cwd=tmp_path, env={"TT_RUN_GUARD_TIMEOUT": "4"}, timeout=60)
    assert ran.code == 1
    assert "rank 1 did not come to MPI Waitall of MPI Idup, MPI Recv_init, MPI irecv within 4 s" in ran.err, (
        ran.err
    )
    assert "rank 0: in MPI Waitall of MPI Idup, MPI Recv_init, MPI irecv at" in ran.err
