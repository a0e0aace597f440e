"""A launch through a real ssh daemon: nothing stands in for the remote shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.jobs import GONE_WITHIN
from tests.multihost.conftest import Cluster
from tests.multihost.jobs import HostJobs, named, python
from tt_run.contract import Exit

pytestmark = [pytest.mark.multihost, pytest.mark.sshd, pytest.mark.wide]

HOSTS = ("h1", "h2")
TWO = ("--emulate", "--system", "n150", "--meshes", "2", "--hosts", "h1:1,h2:1")


def through_ssh(cluster: Cluster) -> dict[str, str]:
    return {"PRTE_MCA_plm_ssh_agent": f"ssh -F {cluster.ssh_config()}"}


def test_launch_and_failure_through_sshd(ssh_hosts: Cluster, tmp_path: Path) -> None:
    jobs = HostJobs(ssh_hosts, tmp_path)
    try:
        text = "from mpi4py import MPI\nprint('sum', MPI.COMM_WORLD.allreduce(rank + 1), flush=True)\n"
        fails = f"{text}if rank == 1:\n    os._exit(3)\nMPI.COMM_WORLD.Barrier()\n"
        job = jobs.start(*python(tmp_path, fails), where=TWO, ranks=2, env=through_ssh(ssh_hosts))
        ran = job.end()
        assert (ran.code, named(ran.err)) == (3, "rank 1 on h2 exited with 3")
        assert sorted(ran.out.splitlines()) == ["[0] sum 3", "[1] sum 3"]
        job.check_gone(HOSTS)
    finally:
        jobs.close()


def test_nothing_outlives_a_killed_launcher_through_sshd(ssh_hosts: Cluster, tmp_path: Path) -> None:
    jobs = HostJobs(ssh_hosts, tmp_path)
    try:
        text = "trap '' HUP INT TERM; echo up; while :; do sleep 0.2; done"
        job = jobs.start("sh", "-c", text, where=TWO, ranks=2, env=through_ssh(ssh_hosts)).wait_for_line("up")
        ssh_hosts.run("h1", "kill", "-KILL", job.pid()).check()
        assert job.end(GONE_WITHIN).code == 137
        job.check_gone(HOSTS)
    finally:
        jobs.close()


def test_a_host_without_an_ssh_daemon_is_named(ssh_hosts: Cluster, tmp_path: Path) -> None:
    jobs = HostJobs(ssh_hosts, tmp_path)
    try:
        where = (*TWO[:-1], "h1:1,nowhere:1")
        ran = jobs.run("sleep", "1", where=where, env=through_ssh(ssh_hosts))
        assert ran.code == Exit.HOST_LOST
        assert named(ran.err).startswith("host nowhere could not be reached")
        assert "Could not resolve hostname nowhere" in ran.err
    finally:
        jobs.close()
