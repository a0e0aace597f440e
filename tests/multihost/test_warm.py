"""Ranks that are forked from one process on each host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.multihost.jobs import HostJobs, python

pytestmark = [pytest.mark.multihost, pytest.mark.wide]


def test_each_host_has_its_own(jobs: HostJobs, tmp_path: Path) -> None:
    """The module is imported once per host, and MPI connects the ranks."""
    (tmp_path / "counted.py").write_text(
        "import os\nopen(f'imports-{os.uname().nodename}', 'a').write('x')\n"
    )
    program = python(
        tmp_path,
        "import counted\nfrom mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(rank), os.uname().nodename, flush=True)\n",
    )
    where = ("--emulate", "--system", "n150", "--meshes", "4", "--hosts", "h1:1,h2:2,h3:1")
    job = jobs.start(
        *program, options=("--warm", "counted"), where=where, ranks=4, env={"PYTHONPATH": str(tmp_path)}
    )
    ran = job.end().check()
    assert sorted(line.split()[1:] for line in ran.out.splitlines()) == [
        ["6", "h1"],
        ["6", "h2"],
        ["6", "h2"],
        ["6", "h3"],
    ]
    assert {path.name: path.read_text() for path in tmp_path.glob("imports-*")} == {
        f"imports-{host}": "x" for host in ("h1", "h2", "h3")
    }
    job.check_gone()
