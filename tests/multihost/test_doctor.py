"""`--doctor` over hosts: everything is well, and each thing that is not is found with its host and a hint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.launch import Ran
from tests.multihost.conftest import Cluster
from tt_run.contract import Exit

pytestmark = [pytest.mark.multihost, pytest.mark.wide]


def examined(ran: Ran) -> dict[tuple[str, str], dict[str, Any]]:
    """The checks of a report in JSON, by host and name."""
    return {(check["host"], check["name"]): check for check in json.loads(ran.out)}


def doctor(cluster: Cluster, cwd: Path, *words: str, env: dict[str, str] | None = None) -> Ran:
    return cluster.run("h1", "tt-run", "--doctor", "--format", "json", *words, cwd=cwd, env=env)


def test_hosts_that_are_well(three_hosts: Cluster, tmp_path: Path) -> None:
    (tmp_path / "hf").write_text("h1 slots=2\nh2 slots=1\nh3 slots=1\n")
    ran = doctor(three_hosts, tmp_path, "--mpi-args", "--hostfile hf", "--tcp-interface", "eth0", "python")
    checks = examined(ran.check())
    assert not [check for check in checks.values() if check["ok"] is False]
    for number, host in enumerate(("h1", "h2", "h3"), 1):
        assert checks[host, "reachable"]["text"] == f"as {host}"
        assert checks[host, "interface"]["text"] == f"eth0 10.77.0.{number}"
        for name in ("launcher", "program", "Python", "mpi4py", "MPI library", "launch folder", "clock"):
            assert checks[host, name]["ok"] is True, checks[host, name]
    assert checks["", "hosts"]["text"] == "h1, h2, h3 (hostfile hf)"
    assert checks["", "MPI over all hosts"]["ok"] is True
    assert not list(tmp_path.glob(".tt-run-doctor*"))


def test_what_is_wrong_is_said_for_its_host(three_hosts: Cluster, tmp_path: Path) -> None:
    """One host does not exist, one lacks the program, its folder and a writable place for temporary files."""
    for host in ("h1", "h2"):
        three_hosts.run(
            host, "sh", "-c", "printf '#!/bin/sh\\n' >/dev/shm/tool; chmod +x /dev/shm/tool"
        ).check()
    hosts = "h1:1,h2:1,h3:1,h9:1"
    ran = doctor(three_hosts, Path("/dev/shm"), "--hosts", hosts, "--tcp-interface", "eth7", "/dev/shm/tool")
    assert ran.code == Exit.FAILED
    checks = examined(ran)
    assert checks["h9", "reachable"]["ok"] is False
    assert "cannot reach host h9" in checks["h9", "reachable"]["text"]
    assert [checks[host, "program"]["ok"] for host in ("h1", "h2", "h3")] == [True, True, False]
    assert [checks[host, "launch folder"]["ok"] for host in ("h1", "h2", "h3")] == [True, False, False]
    assert checks["h2", "peers"]["ok"] is False and checks["h2", "peers"]["text"].startswith("h9: ")
    assert "eth7 does not exist; there is eth0 10.77.0.2" in checks["h2", "interface"]["text"]
    assert checks["", "MPI over all hosts"]["text"] == "not tried: see above"
    assert all(check["hint"] for check in checks.values() if check["ok"] is False)


def test_hosts_that_cannot_be_read_are_refused_as_a_launch_would(
    three_hosts: Cluster, tmp_path: Path
) -> None:
    ran = three_hosts.run("h1", "tt-run", "--doctor", "--hosts", "h1,h1", cwd=tmp_path)
    assert ran.code == Exit.USAGE and "TTR015" in ran.err
    ran = three_hosts.run("h1", "tt-run", "--doctor", "--mpi-args", "--hostfile none", cwd=tmp_path)
    assert ran.code == Exit.UNREADABLE and "none" in ran.err
