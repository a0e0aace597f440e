"""The guard between hosts: what ranks of another host do is learnt from their messages, within the same deadlines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.multihost.conftest import Cluster
from tests.multihost.jobs import HostJobs, named
from tests.runtime.guard.programs import line_of_mistake, source
from tests.runtime.mpi import ROOT, SHIMS, mpirun

pytestmark = [pytest.mark.multihost, pytest.mark.wide]

GENTLE = """
import time
import ttnn
ttnn.init_distributed_context()
rank = int(ttnn.distributed_context_get_rank())
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.ones((1, 1, 32, 32), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=mesh)
began = time.monotonic()
while rank == 1 and time.monotonic() - began < 2:
    pass
total = ttnn.to_torch(ttnn.all_reduce(x), mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim=0))
print("sum", float(total.sum()))
"""


def run(cluster: Cluster, program: str, folder: Path, timeout: str) -> tuple[int, str]:
    """Four ranks on two hosts; exit code and everything that was written."""
    path = folder / "program.py"
    path.write_text(program)
    settings = {
        "PYTHONPATH": f"{SHIMS}:{ROOT}",
        "TT_RUN_GUARD_TIMEOUT": timeout,
        "TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs" / "mgd" / "t3k_2x4_four_hosts.textproto"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    words = [
        mpirun() or "mpirun",
        "--host",
        "h1:2,h2:2",
        "-np",
        "4",
        "--mca",
        "pml",
        "ob1",
        "--mca",
        "btl",
        "self,sm,tcp",
    ]
    words += ["--mca", "btl_tcp_if_include", "eth0", "--bind-to", "none"]
    words += ["--mca", "mpi_yield_when_idle", "1"]  # the hosts share the cores of this machine
    words += [word for name in settings for word in ("-x", name)]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    own = {"PRTE_MCA_prte_local_tmpdir_base": str(path.parent)}
    ran = cluster.run("h1", *words, sys.executable, path, env={**settings, **root, **own}, timeout=45)
    return ran.code, ran.out + ran.err


@pytest.mark.parametrize(
    ("name", "code"),
    [("wrong-axis", "TTG001"), ("early-exit", "TTG002"), ("exception", "TTG003"), ("endless-loop", "TTG005")],
)
def test_the_culprit_is_named_on_the_other_host_too(
    three_hosts: Cluster, tmp_path: Path, name: str, code: str
) -> None:
    status, text = run(three_hosts, source(name), tmp_path, "3" if name == "endless-loop" else "20")
    assert status != 0
    reports = text.split("GuardError: error[")[1:]
    assert len(reports) >= 3
    assert f"error[{code}]" in text
    culprit = [line for line in text.splitlines() if line.startswith("  rank 1: ")]
    assert culprit and all(line.endswith("<-") for line in culprit)
    assert any(f"program.py:{line_of_mistake(name)}" in line for line in culprit)


def test_a_circle_of_messages_is_told_when_the_deadline_has_passed(
    three_hosts: Cluster, tmp_path: Path
) -> None:
    status, text = run(three_hosts, source("point-to-point-cycle"), tmp_path, "3")
    assert status != 0
    assert "error[TTG004]: ranks 0, 1, 2 and 3 wait for each other" in text


def test_a_rank_that_shuts_mpi_down_itself_is_waited_for_by_nobody(
    three_hosts: Cluster, tmp_path: Path
) -> None:
    program = f"{GENTLE}\nfrom mpi4py import MPI\nif rank in (1, 2):\n    MPI.Finalize()\nprint('fine')\n"
    status, text = run(three_hosts, program, tmp_path, "20")
    assert (status, text.count("fine")) == (0, 4), text


def test_a_slow_rank_on_another_host_is_no_error(three_hosts: Cluster, tmp_path: Path) -> None:
    status, text = run(three_hosts, GENTLE, tmp_path, "20")
    assert (status, text.count("sum 65536.0")) == (0, 4), text


def test_a_rank_that_keeps_its_data_to_itself_is_named(three_hosts: Cluster, tmp_path: Path) -> None:
    """As one does that is stopped in the midst of a collective to which all have come."""
    keeping = (
        "from tt_run.runtime.comm.group import Group\n"
        "if rank == 1:\n    Group.swap = Group.allgather = lambda *_: time.sleep(600)\n"
    )
    status, text = run(three_hosts, f"{GENTLE}{keeping}ttnn.all_reduce(x)\n", tmp_path, "3")
    assert status != 0
    assert "error[TTG005]: rank 1 did not come to the data of a collective within 3 s" in text


FIRST = """import time
import ttnn
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    {of_one}
else:
    MPI.COMM_WORLD.allreduce(1)
"""


@pytest.mark.parametrize(
    ("of_one", "told"),
    [
        (
            "time.sleep(300)",
            "error[TTG005]: rank 1, on another host, did not come to MPI allreduce at {program}:7 within 2 s",
        ),
        ("pass", "error[TTG002]: rank 1 ended before MPI allreduce at {program}:7"),
    ],
)
def test_who_does_not_come_to_the_first_collective_is_named(
    jobs: HostJobs, tmp_path: Path, of_one: str, told: str
) -> None:
    """Of a program's own MPI: no rank of that rank's host could say so, for there is none."""
    program = tmp_path / "program.py"
    program.write_text(FIRST.format(of_one=of_one))
    ran = jobs.run(
        sys.executable,
        "program.py",
        options=("--inherit-env",),
        env={"TT_RUN_GUARD_TIMEOUT": "2"},
    )
    assert ran.code == 1
    assert named(ran.err) == "rank 1 on h2 is at fault: " + told.format(program=program)
