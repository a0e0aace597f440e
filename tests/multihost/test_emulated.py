"""Emulated meshes over several hosts: true numbers, the same bits as on one host, bytes that really cross the network."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, tt_run
from tests.multihost.conftest import Cluster
from tests.multihost.jobs import HostJobs

pytestmark = [pytest.mark.multihost, pytest.mark.wide]

EXAMPLES = ROOT / "examples"
MEGABYTES = 8
ALLREDUCE = f"""
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
mine = np.full({MEGABYTES} * 2**17, comm.Get_rank() + 1.0)
total = np.empty_like(mine)
comm.Allreduce(mine, total)
print("sum", total[0], total[-1], flush=True)
"""


def sent(cluster: Cluster, host: str) -> int:
    """Bytes that have left a host's network interface."""
    return int(cluster.run(host, "cat", "/sys/class/net/eth0/statistics/tx_bytes").check().out)


def test_a_mesh_over_hosts_has_the_bits_of_one_host(jobs: HostJobs, tmp_path: Path) -> None:
    program = ("python", str(EXAMPLES / "tensor_parallel_mlp.py"), "--quiet", "--hidden", "512")
    system = ("--emulate", "--system", "t3000")
    [alone] = tt_run(*system, *program, cwd=tmp_path).check().field("sha256")
    where = (*system, "--split", "2x2", "--hosts", "h1:1,h2:2,h3:1")
    assert jobs.run(*program, where=where).check().field("sha256") == [alone]


def test_sums_travel_over_tcp(jobs: HostJobs, tmp_path: Path) -> None:
    (tmp_path / "sum.py").write_text(ALLREDUCE)
    before = sent(jobs.cluster, "h2")
    ran = jobs.run(sys.executable, "sum.py", options=("--tcp-interface", "eth0")).check()
    assert ran.field("sum") == ["6.0"] * 3
    assert sent(jobs.cluster, "h2") - before > MEGABYTES * 2**20 / 2


def test_the_minimal_fabric_example_with_its_bindings_file(jobs: HostJobs) -> None:
    folder = EXAMPLES / "multihost" / "fabric_minimal_example"
    bindings = folder / "configurations" / "2loudboxes" / "rank_bindings.yaml"
    where = ("--emulate", "--rank-binding", str(bindings), "--hosts", "h2:1,h3:1")
    ran = jobs.run("python", str(folder / "example.py"), where=where).check()
    assert "[0] sum over ranks and devices: 24.0 on all 8 devices" in ran.out
    assert sorted(re.findall(r"Rank (\d): Finished", ran.out)) == ["0", "1"]


PIPELINE = ("--emulate", "--system", "n150", "--meshes", "4")
TRAINING = str(EXAMPLES / "multihost" / "pipeline_parallel_training" / "training.py")


def losses(out: str) -> list[str]:
    return re.findall(r"Step \d+/\d+: Loss = ([\d.]+)", out)


def test_pipeline_training_over_three_hosts_learns(jobs: HostJobs) -> None:
    words = ("python", TRAINING, "-c", "tiny_pp.yaml", "--max_steps", "2")
    ran = jobs.run(*words, where=(*PIPELINE, "--hosts", "h1:1,h2:1,h3:2")).check()
    first, last = map(float, losses(ran.out))
    assert last < first


@pytest.mark.slow
def test_pipeline_training_learns_the_same_on_three_hosts_as_on_one(jobs: HostJobs, tmp_path: Path) -> None:
    words = ("python", TRAINING, "-c", "tiny_pp.yaml", "--max_steps", "10")
    alone = tt_run(*PIPELINE, *words, cwd=tmp_path, timeout=110).check()
    ran = jobs.run(*words, where=(*PIPELINE, "--hosts", "h1:1,h2:1,h3:2"), seconds=110).check()
    assert len(losses(ran.out)) == 2 and losses(ran.out) == losses(alone.out)
