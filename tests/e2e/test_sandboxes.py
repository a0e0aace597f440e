"""Launches in containers and sandboxes: calls of the system refused, file systems without locks, no /proc."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, Ran, environment
from tests.refused_calls import is_possible, refusing
from tests.sweep import sweep
from tt_run.contract import Exit

TWO = ("--emulate", "--system", "n300", "--split", "1x2")
MEETS = ("python", "-c", "import ttnn; ttnn.open_mesh_device(ttnn.MeshShape(1, 2))")
BINDING = ROOT / "configs" / "bindings" / "t3k_2x4_two_hosts.yaml"
LIMITS = ("prlimit64", "getrlimit", "setrlimit")
WITHOUT_PROC = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")


def behind(front: Sequence[str], *words: str, cwd: Path) -> Ran:
    """`tt-run WORDS…` started by the words `front`, with a cache of derived files of its own."""
    line = [*front, "timeout", "-k", "5", "60", "tt-run", *words]
    env = environment({"XDG_CACHE_HOME": str(cwd / "cache")})
    ran = subprocess.run(line, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


@pytest.mark.skipif(not is_possible(), reason="a process cannot refuse calls of its own here")
@pytest.mark.parametrize(
    ("error", "calls"),
    sweep(
        [
            pytest.param(errno.ENOSYS, ["flock"], id="Lustre without locks"),
            pytest.param(errno.ENOLCK, ["flock"], id="NFS without locks"),
            pytest.param(errno.ENOSYS, ["fallocate"], id="no fallocate"),
            pytest.param(
                errno.EPERM, ["fallocate", "ptrace", "process_vm_readv", "unshare"], id="a strict container"
            ),
            pytest.param(errno.ENOSYS, ["prctl", *LIMITS, "sched_yield"], id="a small kernel"),
            pytest.param(
                errno.EPERM, ["pidfd_open", "setpriority", "setsid", *LIMITS], id="a stricter container"
            ),
        ],
        quick=["a strict container"],
    ),
)
def test_what_a_sandbox_refuses_is_done_without(error: int, calls: list[str], tmp_path: Path) -> None:
    ran = behind(refusing(error, *calls), *TWO, *MEETS, cwd=tmp_path).check()
    assert len(ran.err.splitlines()) == 1


@pytest.mark.skipif(not is_possible(), reason="a process cannot refuse calls of its own here")
@pytest.mark.parametrize("error", sweep([errno.ENOSYS, errno.EPERM], quick=[errno.EPERM]))
def test_processors_that_mpirun_would_ask_for_without_end_are_said(error: int, tmp_path: Path) -> None:
    """Open MPI asks again and again; what needs no mpirun goes on."""
    front = refusing(error, "sched_getaffinity")
    behind(front, "--check-only", *TWO, *MEETS, cwd=tmp_path).check()
    ran = behind(front, *TWO, *MEETS, cwd=tmp_path)
    assert ran.code == Exit.NO_LAUNCHER
    assert "error[TTR504]" in ran.err and "sched_getaffinity is refused" in ran.err
    assert "help: allow sched_getaffinity" in ran.err


@pytest.mark.wide
@pytest.mark.skipif(not is_possible(), reason="a process cannot refuse calls of its own here")
@pytest.mark.parametrize("call", sweep(["ftruncate", "faccessat2", "setsockopt"], quick=["ftruncate"]))
def test_a_call_that_mpi_needs_is_named_where_it_is_refused(call: str, tmp_path: Path) -> None:
    """Open MPI itself speaks of resources, or of nothing, and ends with whatever comes first: a rank's code, a kill, a crash."""
    ran = behind(refusing(errno.EPERM, call), *TWO, *MEETS, cwd=tmp_path)
    assert ran.code == Exit.NO_LAUNCHER, ran.err
    assert (
        f"help: {call} is refused here (Operation not permitted), which Open MPI needs: allow {call}"
        in ran.err
    )


@pytest.mark.wide
@pytest.mark.skipif(not is_possible(), reason="a process cannot refuse calls of its own here")
def test_the_doctor_says_what_is_lost_without_prctl(tmp_path: Path) -> None:
    ran = behind(refusing(errno.EPERM, "prctl"), "--doctor", cwd=tmp_path).check()
    assert "prctl is refused here: ranks outlive a kill -9" in ran.out


@pytest.mark.parametrize("words", [("--split", "1x2"), ("--split", "1x2", "--log-dir", "c\nd")])
def test_a_folder_with_a_line_break_is_named_on_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "a\nb's"
    folder.mkdir()
    ran = behind((), "--emulate", "--system", "n300", *words, "sh", "-c", "exit 3", cwd=folder)
    lines = ran.err.splitlines()
    assert ran.code == 3
    named = next(line for line in lines if line.startswith("  logs: "))
    typed = named.removeprefix("  logs: ").rpartition(", ")[0]
    found = subprocess.run(["bash", "-c", f"ls -d {typed}"], capture_output=True, check=True)
    assert Path(found.stdout.decode()[:-1]).parts[: len(folder.parts)] == folder.parts
    assert all(line.startswith(("tt-run: ", "  ")) for line in lines[:3])


def test_without_proc_the_launch_says_so(tmp_path: Path) -> None:
    tried = subprocess.run([*WITHOUT_PROC, "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("no mounts of one's own here")
    ran = behind(WITHOUT_PROC, "--rank-binding", str(BINDING), "true", cwd=tmp_path)
    assert ran.code == Exit.NO_LAUNCHER
    assert "there is no /proc" in ran.err and "help: mount -t proc proc /proc" in ran.err


AS_FIRST_PROCESS = ("unshare", "--pid", "--fork", "--mount-proc")


@pytest.mark.wide
def test_containers_that_share_folder_host_name_and_memory_run_side_by_side(tmp_path: Path) -> None:
    """In each of them tt-run is process 1, and mpirun has the same number."""
    tried = subprocess.run([*AS_FIRST_PROCESS, "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("no process numbers of one's own here")
    with ThreadPoolExecutor() as several:
        rans = list(several.map(lambda _: behind(AS_FIRST_PROCESS, *TWO, *MEETS, cwd=tmp_path), range(4)))
    assert [ran.check().code for ran in rans] == [0] * 4
    assert len({*(tmp_path / "tt-run-logs").glob("*-*")}) == 4
