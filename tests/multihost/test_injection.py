"""Faults on purpose over hosts: a host's ranks are hit where they run, with and without emulation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.launch import ROOT
from tests.multihost.jobs import HostJobs, named, python
from tt_run.contract import Exit

pytestmark = [pytest.mark.multihost, pytest.mark.wide]

CALLS = (
    "import ttnn\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))\n"
    "x = ttnn.ones((1, 1, 32, 32), layout=ttnn.TILE_LAYOUT, device=mesh)\n"
    "while True:\n    ttnn.all_gather(x, dim=3, cluster_axis=1)\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("kill=host:h2,call=5", 137, "rank 1 on h2 was killed by SIGKILL"),
        (
            "cut=link:1-2,call=5",
            Exit.FAILED,
            "RuntimeError: the link between devices 1 and 2 of mesh 0 is cut",
        ),
        ("cut=host:h2,call=5", Exit.FAILED, "is cut, and all_gather needs it (--inject cut=host:h2,call=5)"),
    ],
)
def test_an_emulated_host(jobs: HostJobs, tmp_path: Path, fault: str, code: int, says: str) -> None:
    where = ("--emulate", "--system", "t3000", "--split", "1x2", "--hosts", "h1:1,h2:1", "--inject", fault)
    job = jobs.start(*python(tmp_path, CALLS), where=where, ranks=2)
    ran = job.end()
    assert ran.code == code, ran.err
    assert says in ran.err, ran.err
    assert "the verdict names the rank that was hit" in ran.err
    job.check_gone()


def test_a_host_without_emulation(jobs: HostJobs, tmp_path: Path) -> None:
    """The launcher sends no signals to other hosts: the ranks there do it themselves."""
    binding = tmp_path / "rb.yaml"
    binding.write_text(
        "rank_bindings:\n  - {rank: 0, mesh_id: 0, mesh_host_rank: 0}\n  - {rank: 1, mesh_id: 0, mesh_host_rank: 1}\n"
        f"mesh_graph_desc_path: {ROOT / 'configs' / 'mgd' / 't3k_2x4_two_hosts.textproto'}\n"
    )
    words = ("--rank-binding", str(binding), "--hosts", "h1:1,h2:1", "--inject", "kill=host:h2,after=0.2s")
    job = jobs.start(*python(tmp_path, "print('up', flush=True)\ntime.sleep(600)\n"), where=words, ranks=2)
    ran = job.end()
    assert ran.code == 137, ran.err
    assert named(ran.err).startswith("rank 1 on h2 was killed by SIGKILL"), ran.err
    assert "injected: kill of rank 1 after 0.2 s" in ran.err
    job.check_gone()
