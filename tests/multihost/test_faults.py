"""Each way in which a rank or a host can fail, over three hosts: the right one named, in bounded time, and nobody left anywhere."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tests.multihost.jobs import DEADLINE, FOREVER, IN_MPI, HostJobs, named, python
from tt_run.contract import PLACE_FILE, Exit

pytestmark = [pytest.mark.multihost, pytest.mark.wide]

FOUR_MESHES = ("--emulate", "--system", "n150", "--meshes", "4")
SLEEP = ("sh", "-c", "echo up; exec sleep 600")


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("os._exit(3)", 3, "exited with 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "was killed by SIGSEGV"),
        ("os.abort()", 134, "was killed by SIGABRT"),
        ("raise RuntimeError('boom')", 1, "exited with 1"),
        ("sys.exit(5)", 5, "exited with 5"),
        ("comm.Abort(9)", 9, "exited with 9"),
        ("os._exit(0)", 1, "ended with 0 but without MPI_Finalize"),
    ],
)
def test_a_rank_of_another_host_ends_in_the_middle_of_mpi(
    jobs: HostJobs, tmp_path: Path, fault: str, code: int, says: str
) -> None:
    job = jobs.start(*python(tmp_path, f"{IN_MPI}if rank == 1:\n    {fault}\n{FOREVER}"))
    ran = job.end()
    assert ran.code == code, ran.err
    assert named(ran.err).split(",")[0] == f"rank 1 on h2 {says}"
    assert "ended because of it: ranks 0, 2" in ran.err
    job.check_gone()


LINGERING = """import ttnn
ttnn.init_distributed_context()
ttnn.distributed_context_barrier()
print('up', flush=True)
while rank == 1:
    time.sleep(0.01)
ttnn.distributed_context_barrier()
"""


def test_a_killed_rank_of_another_host_is_told_with_its_line(jobs: HostJobs, tmp_path: Path) -> None:
    """The ranks of other hosts end with it, before any of them can say what it did."""
    program = python(tmp_path, LINGERING)
    job = jobs.start(*program).wait_for_line("up")
    place = job.folder.path / PLACE_FILE.format(rank=1)
    lines = [f"{program[1]}:{number} in <module>" for number in (7, 8)]
    until(
        lambda: place.exists() and place.read_text().partition("\n")[0] in lines,
        DEADLINE,
        "rank 1's note of where it is",
    )
    jobs.cluster.run("h2", "kill", "-KILL", str(job.board.of(1).pid)).check()
    ran = job.end()
    assert (ran.code, named(ran.err)) == (137, "rank 1 on h2 was killed by SIGKILL"), ran.err
    assert any(f"last seen at {line}" in ran.err for line in lines), ran.err
    assert f"last call: distributed_context_barrier() at {program[1]}:5" in ran.err


def test_the_report_shows_exception_last_lines_and_log(jobs: HostJobs, tmp_path: Path) -> None:
    program = python(tmp_path, f"{IN_MPI}if rank == 2:\n    raise ValueError('no good')\n{FOREVER}")
    job = jobs.start(*program)
    ran = job.end()
    assert named(ran.err) == "rank 2 on h3 exited with 1"
    assert "ValueError: no good" in ran.err and f"{program[1]}:8" in ran.err
    assert f"logs: {job.folder.path}, {job.folder.err(2).name}" in ran.err
    assert "ValueError: no good" in job.folder.err(2).read_text()


def test_a_rank_that_ends_before_mpi_starts(jobs: HostJobs, tmp_path: Path) -> None:
    """Whoever notices first, mpirun or the watch for hangs: the rank is named, and nobody waits for ever."""
    program = python(tmp_path, f"if rank == 1:\n    sys.exit()\n{IN_MPI}{FOREVER}")
    job = jobs.start(*program, options=("--hang-timeout", "3"))
    ran = job.end()
    assert ran.code in (Exit.HANG, Exit.FAILED)
    assert re.search(r"rank 1( on h2)? ended with 0 without ever entering MPI", named(ran.err)), ran.err
    job.check_gone()


def test_a_program_that_one_host_lacks(jobs: HostJobs) -> None:
    """mpirun itself hangs here; the files of /dev/shm are each host's own."""
    for host in ("h1", "h2"):
        make = "printf '#!/bin/sh\\nexec sleep 600\\n' >/dev/shm/app && chmod +x /dev/shm/app"
        assert jobs.cluster.run(host, "sh", "-c", make).code == 0
    job = jobs.start("/dev/shm/app")
    ran = job.end()
    assert ran.code == 127
    assert named(ran.err) == "rank 2 on h3 did not start: /dev/shm/app: no such file on h3"
    job.check_gone()


def test_a_host_that_does_not_exist(jobs: HostJobs) -> None:
    where = ("--emulate", "--system", "n150", "--meshes", "2", "--hosts", "h1:1,h9:1")
    job = jobs.start(*SLEEP, where=where, ranks=2)
    ran = job.end()
    assert ran.code == Exit.HOST_LOST
    told = "host h9 could not be reached: no launcher daemon reported back (exit status 255)"
    assert named(ran.err) == told
    assert "cannot reach host h9" in ran.err  # what the remote shell said
    job.check_gone()


def test_a_rank_that_never_enters_a_barrier_is_shown_among_the_stacks_of_all_hosts(
    jobs: HostJobs, tmp_path: Path
) -> None:
    program = python(tmp_path, f"{IN_MPI}if rank == 1:\n    time.sleep(600)\ncomm.Barrier()\n")
    job = jobs.start(*program, options=("--hang-timeout", "1"))
    ran = job.end()
    assert ran.code == Exit.HANG, ran.err
    places = ran.err[ran.err.index("where the ranks were") :].splitlines()[1:3]
    assert places[0].strip().startswith(f"rank 1: {program[1]}:8 ")
    assert places[0].endswith("<- the odd one out")
    assert places[1].strip().startswith(f"ranks 0, 2: {program[1]}:9 ")
    job.check_gone()


def test_a_host_that_dies(doomed: HostJobs, tmp_path: Path) -> None:
    """mpirun itself ends with 0 here."""
    job = doomed.start(*python(tmp_path, IN_MPI + FOREVER)).wait_for_line("up")
    doomed.cluster.order("kill", "h3")
    ran = job.end(10)
    assert ran.code == Exit.HOST_LOST
    assert named(ran.err) == "host h3 was lost; rank 2 ran there"
    job.check_gone(("h1", "h2"))


def test_a_daemon_that_dies_leaves_nothing_on_its_host(jobs: HostJobs) -> None:
    """Nobody there is left to end what the rank has started, so tt-run comes through the remote shell."""
    text = "(trap '' HUP INT TERM; while :; do sleep 0.2; done) & echo up; wait"
    job = jobs.start("sh", "-c", text).wait_for_line("up")
    listed = jobs.cluster.run("h2", "ps", "-eo", "pid=,comm=").check().out.splitlines()
    daemon = [line.split()[0] for line in listed if line.split()[1] == "prted"][-1]
    jobs.cluster.run("h2", "kill", "-KILL", daemon).check()
    ran = job.end(10)
    assert ran.code == Exit.HOST_LOST
    assert named(ran.err) == "host h2 was lost; rank 1 ran there"
    job.check_gone()
    # A daemon that gets the same process number would refuse to start beside the folder of this one.
    assert not jobs.cluster.run("h2", "sh", "-c", "ls $TMPDIR").check().out


def test_a_cable_that_is_cut(doomed: HostJobs, tmp_path: Path) -> None:
    """mpirun's own settings would wait for eight minutes."""
    job = doomed.start(*python(tmp_path, IN_MPI + FOREVER)).wait_for_line("up")
    doomed.cluster.order("cut", "h3")
    ran = job.end(15)
    assert ran.code == Exit.HOST_LOST
    assert named(ran.err) == "host h3 was lost; rank 2 ran there"
    job.check_gone(("h1", "h2"))


def split(jobs: HostJobs, one: str, other: str) -> None:
    """Lets what two hosts send each other go astray; everybody else reaches both."""
    for host, peer in ((one, other), (other, one)):
        address = jobs.cluster.run(host, "getent", "hosts", peer).check().out.split()[0]
        astray = ("lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
        jobs.cluster.run(host, "ip", "neigh", "replace", address, *astray).check()


def test_two_hosts_that_no_longer_reach_each_other(doomed: HostJobs, tmp_path: Path) -> None:
    """mpirun, on a host that reaches both, notices nothing."""
    text = "while not os.path.exists('go'):\n    time.sleep(0.02)\nwhile True:\n    comm.alltoall([bytes(100000)] * 3)\n"
    job = doomed.start(*python(tmp_path, IN_MPI + text), options=("--hang-timeout", "2")).wait_for_line("up")
    split(doomed, "h2", "h3")
    (tmp_path / "go").touch()
    ran = job.end()
    assert ran.code == Exit.HOST_LOST, ran.err
    told = "the network between hosts is split: h2 and h3 do not reach each other (rank 1 and rank 2)"
    assert named(ran.err) == told
    job.check_gone()


def test_a_split_is_not_taken_for_a_loop_by_the_guard(doomed: HostJobs, tmp_path: Path) -> None:
    text = (
        "import ttnn\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))\n"
        "x = ttnn.ones((1, 1, 32, 32), layout=ttnn.TILE_LAYOUT, device=mesh)\nttnn.all_gather(x, dim=0)\n"
        "print('up', flush=True)\nwhile not os.path.exists('go'):\n    time.sleep(0.02)\n"
        "while True:\n    ttnn.all_gather(x, dim=0)\n"
    )
    where = ("--emulate", "--system", "t3000", "--split", "1x2", "--hosts", "h2:1,h3:1")
    settings = {"TT_RUN_GUARD_TIMEOUT": "3"}
    job = doomed.start(*python(tmp_path, text), where=where, ranks=2, env=settings).wait_for_line("up")
    split(doomed, "h2", "h3")
    (tmp_path / "go").touch()
    ran = job.end()
    assert ran.code == Exit.HOST_LOST, ran.err
    assert named(ran.err).startswith("the network between hosts is split: h2 and h3 do not reach each other")
    job.check_gone()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_soak(jobs: HostJobs, tmp_path: Path) -> None:
    """Thirty runs in which a random rank on a random host fails at a random time: the culprit is named each time."""
    chance = random.Random(20261121)
    faults = ["raise RuntimeError('boom')", "os._exit(3)", "os.kill(os.getpid(), 9)", "os.abort()"]
    where = (*FOUR_MESHES, "--hosts")
    for number in range(30):
        counts = chance.choice([(2, 1, 1), (1, 2, 1), (1, 1, 2)])
        homes = [host for host, count in zip(("h1", "h2", "h3"), counts, strict=True) for _ in range(count)]
        rank, delay, fault = chance.randrange(4), chance.uniform(0, 0.3), chance.choice(faults)
        folder = tmp_path / str(number)
        folder.mkdir()
        text = f"{IN_MPI}if rank == {rank}:\n    time.sleep({delay})\n    {fault}\nwhile True:\n    comm.Barrier()\n"
        hosts = ",".join(f"{host}:{count}" for host, count in zip(("h1", "h2", "h3"), counts, strict=True))
        job = jobs.start(*python(folder, text), where=(*where, hosts), ranks=4)
        ran = job.end()
        assert ran.code != 0
        assert named(ran.err).startswith(f"rank {rank} on {homes[rank]} "), ran.err
        job.check_gone()


def test_a_stopped_rank_and_a_stopped_daemon(jobs: HostJobs) -> None:
    """The rank is named as stopped, though its host is another; the daemon, which no signal but one moves, is not left behind."""
    go = jobs.root / "go"
    program = f"until [ -e {go} ]; do echo up; sleep 0.1; done; exec sleep 600"
    job = jobs.start("sh", "-c", program, options=("--hang-timeout", "2")).wait_for_line("up")
    listed = jobs.cluster.run("h2", "ps", "-eo", "pid=,comm=").check().out.splitlines()
    daemon = [line.split()[0] for line in listed if line.split()[1] == "prted"][-1]
    jobs.cluster.run("h2", "kill", "-STOP", daemon).check()
    jobs.cluster.run("h3", "kill", "-STOP", str(job.board.of(2).pid)).check()
    go.touch()  # no rank is silent before
    ran = job.end(25)
    assert ran.code == Exit.HANG
    assert named(ran.err).startswith("rank 2 on h3 was stopped by a signal"), ran.err
    job.check_gone()
    assert not jobs.cluster.run("h2", "sh", "-c", "ls $TMPDIR").check().out


@pytest.mark.slow
def test_two_hosts_that_did_not_reach_each_other_from_the_beginning(doomed: HostJobs, tmp_path: Path) -> None:
    """Starting MPI waits for all ranks, and nothing interrupts it."""
    split(doomed, "h2", "h3")
    ran = doomed.start(
        *python(
            tmp_path,
            IN_MPI.replace("from mpi4py", "import ttnn\nttnn.init_distributed_context()\nfrom mpi4py"),
        ),
        env={"TT_RUN_GUARD_TIMEOUT": "3"},
    ).end(120)
    assert ran.code == Exit.HOST_LOST, ran.err
    assert named(ran.err).startswith("the network between hosts is split: h2 and h3 do not reach each other")
    doomed.close()
