"""Open MPI 4.1 over several hosts, as PyPI has it and as Debian does: the same placement, and the same names after a failure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT
from tests.e2e.open_mpi_4 import OpenMpi, each_open_mpi_4
from tests.multihost.jobs import FOREVER, IN_MPI, THREE, HostJobs, named, python
from tt_run.contract import Exit

pytestmark = [pytest.mark.multihost, pytest.mark.wide, each_open_mpi_4]

FOUR_RANKS = str(ROOT / "configs" / "bindings" / "t3k_2x4_four_hosts.yaml")


@pytest.mark.parametrize(
    ("words", "hosts"),
    [
        (("--mpi-args", "--rankfile rf"), "h2 h1 h3 h1"),
        (("--mpmd", "--mpi-args", "--rankfile rf"), "h2 h1 h3 h1"),
        (("--mpi-args", "--hostfile hf"), "h3 h1 h1 h2"),
        (("--mpi-args", "--host h3,h1:2,h2"), "h3 h1 h1 h2"),
        (("--hosts", "h3:1,h1:2,h2:1"), "h3 h1 h1 h2"),
        (("--mpmd", "--hosts", "h3:1,h1:2,h2:1"), "h3 h1 h1 h2"),
        (("--hosts", "h3:2,h2:2"), "h3 h3 h2 h2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_source_of_hosts_places_the_ranks(
    jobs: HostJobs, tmp_path: Path, mpi: OpenMpi, words: tuple[str, ...], hosts: str
) -> None:
    """mpirun 4.1 itself fills the launching host first, whatever the order is."""
    (tmp_path / "rf").write_text("rank 3=h1 slot=1\nrank 0=h2 slot=0\nrank 1=h1 slot=0\nrank 2=h3 slot=0\n")
    (tmp_path / "hf").write_text("h3 slots=1\nh1 slots=2\nh2 slots=1\n")
    where = ("--rank-binding", FOUR_RANKS, *words)
    job = jobs.start("sh", "-c", "hostname; sleep 0.3", where=where, ranks=4, env=mpi.environment)
    job.end().check()
    assert [job.folder.out(rank).read_text().strip() for rank in range(4)] == hosts.split()


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [("exit 3", 3, "exited with 3"), ("kill -KILL $$", 137, "was killed by SIGKILL")],
)
def test_a_rank_that_fails(jobs: HostJobs, mpi: OpenMpi, fault: str, code: int, says: str) -> None:
    """mpirun 4.1 itself does not end here, or crashes."""
    script = f"sleep 0.5; [ $TT_RUN_RANK != 1 ] || {fault}; exec sleep 600"
    job = jobs.start("sh", "-c", script, env=mpi.environment)
    ran = job.end()
    assert (ran.code, named(ran.err)) == (code, f"rank 1 on h2 {says}")
    job.check_gone()


def test_a_host_that_dies(doomed: HostJobs, mpi: OpenMpi) -> None:
    job = doomed.start("sh", "-c", "echo up; exec sleep 600", where=THREE, env=mpi.environment).wait_for_line(
        "up"
    )
    doomed.cluster.order("kill", "h3")
    ran = job.end(10)
    # mpirun 4.1 may crash over the daemon that goes.
    assert ran.code == Exit.HOST_LOST, ran.err
    assert re.fullmatch(
        r"host h3 was lost; rank 2 ran there(; mpirun crashed with it \(SIG\w+\))?", named(ran.err)
    )
    job.check_gone(("h1", "h2"))


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("os._exit(0)", 1, "ended with 0 but without MPI_Finalize"),
        ("raise RuntimeError('boom')", 1, "exited with 1"),
        ("comm.Abort(9)", 9, "exited with 9"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "was killed by SIGSEGV"),
    ],
)
def test_a_rank_that_ends_in_the_middle_of_mpi(
    jobs: HostJobs, tmp_path: Path, mpi: OpenMpi, fault: str, code: int, says: str
) -> None:
    """Over one that leaves with 0 mpirun 4.1 itself crashes."""
    words = python(tmp_path, f"{IN_MPI}if rank == 1:\n    {fault}\n{FOREVER}")
    ran = jobs.start(mpi.python, *words[1:], env=mpi.environment).end()
    assert (ran.code, named(ran.err).split(",")[0]) == (code, f"rank 1 on h2 {says}"), ran.err


def test_hosts_that_do_not_exist(jobs: HostJobs, mpi: OpenMpi) -> None:
    """mpirun 4.1 does not say which."""
    where = ("--emulate", "--system", "n150", "--meshes", "3", "--hosts", "h1:1,h8:1,h9:1")
    ran = jobs.start("sh", "-c", "exec sleep 600", where=where, env=mpi.environment).end()
    told = "hosts h8, h9 could not be reached: no launcher daemon reported back (exit status 255)"
    assert (ran.code, named(ran.err)) == (Exit.HOST_LOST, told)


def test_remote_shells_that_hang_do_not_outlive_a_start_that_takes_too_long(
    jobs: HostJobs, tmp_path: Path, mpi: OpenMpi
) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\ntrap '' TERM HUP INT\nwhile :; do sleep 1; done\n")
    agent.chmod(0o755)
    env = {**mpi.environment, "OMPI_MCA_plm_rsh_agent": str(agent)}
    job = jobs.start("sleep", "600", options=("--start-timeout", "1"), env=env)
    ran = job.end(20)
    assert ran.code == Exit.START_TIMEOUT, ran.err
    job.check_gone()


def test_a_daemon_that_dies_leaves_nothing_on_its_host(jobs: HostJobs, mpi: OpenMpi) -> None:
    text = "(trap '' HUP INT TERM; while :; do sleep 0.2; done) & echo up; wait"
    job = jobs.start("sh", "-c", text, env=mpi.environment).wait_for_line("up")
    listed = jobs.cluster.run("h2", "ps", "-eo", "pid=,comm=").check().out.splitlines()
    daemon = [line.split()[0] for line in listed if line.split()[1] == "orted"][-1]
    jobs.cluster.run("h2", "kill", "-KILL", daemon).check()
    ran = job.end(15)
    assert (ran.code, named(ran.err).split(";")[0]) == (Exit.HOST_LOST, "host h2 was lost"), ran.err
    job.check_gone()
