"""The hosts themselves: apart where hosts are apart, and gone when they are told to go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tests.multihost.conftest import SCRIPT, Cluster

pytestmark = [pytest.mark.multihost, pytest.mark.wide]


def test_hosts_have_names_addresses_and_memory_of_their_own(three_hosts: Cluster) -> None:
    for number, host in enumerate(("h1", "h2", "h3"), 1):
        assert three_hosts.run(host, "hostname").check().out == f"{host}\n"
        assert f"10.77.0.{number}/24" in three_hosts.run(host, "ip", "-o", "addr", "show", "eth0").check().out
    three_hosts.run("h1", "touch", "/dev/shm/mine").check()
    assert three_hosts.run("h2", "ls", "/dev/shm/mine").code != 0
    folders = {three_hosts.run(host, "sh", "-c", "echo $TMPDIR").check().out for host in ("h1", "h2")}
    assert len(folders) == 2


def test_the_remote_shell_brings_nothing_of_the_caller(three_hosts: Cluster) -> None:
    env = {"MINE": "1"}
    agent = str(three_hosts.state / "agent")
    said = three_hosts.run("h1", agent, "h2", "echo [$MINE] $(hostname) in $PWD", env=env).check().out
    assert said == f"[] h2 in {os.environ.get('HOME', '/')}\n"
    assert three_hosts.run("h1", agent, "h2", "exit 7").code == 7
    assert three_hosts.run("h1", agent, "nowhere", "true").code == 255


def test_a_cable_and_a_host(own_hosts: Cluster) -> None:
    connect = "import socket; socket.create_connection(('h2', 9), 1)"
    reach = (sys.executable, "-c", connect)
    refused = own_hosts.run("h1", *reach)
    assert "refused" in refused.err  # the host is there, nobody listens
    own_hosts.order("cut", "h2")
    silent = own_hosts.run("h1", *reach)
    assert "timed out" in silent.err or "No route" in silent.err
    own_hosts.order("heal", "h2")
    until(lambda: "refused" in own_hosts.run("h1", *reach).err, 10, "the cable")
    own_hosts.order("kill", "h2")
    assert own_hosts.run("h2", "true").code == 255
    assert own_hosts.run("h3", "true").code == 0


def cluster_command(tmp_path: Path, *words: str) -> list[str]:
    """In a folder deeper than the address of a unix socket may be long (107 bytes)."""
    deep = tmp_path / ("deep" * 30)
    deep.mkdir(exist_ok=True)
    return [sys.executable, str(SCRIPT), "-s", str(deep / "c"), *words]


def test_it_goes_when_nobody_uses_it_and_not_before(own_hosts: Cluster) -> None:
    """A session of tests takes as long as its machine lets it."""
    told = own_hosts.state / "cluster.json"
    before = told.stat().st_mtime_ns
    own_hosts.run("h1", "true").check()
    assert told.stat().st_mtime_ns > before
    os.utime(told, (0, 0))
    until(lambda: not own_hosts.state.exists(), what="the end of the cluster")
    assert "cannot reach host h1" in own_hosts.run("h1", "true").err


def test_run_gives_the_code_of_its_command_and_cleans_up(three_hosts: Cluster, tmp_path: Path) -> None:
    ran = subprocess.run(
        cluster_command(tmp_path, "run", "1", "--subnet", "10.78.0", "--", "sh", "-c", "hostname; exit 5"),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (5, "h1\n")
    assert not list((tmp_path / ("deep" * 30)).iterdir())


def test_hosts_do_not_outlive_a_killed_run(three_hosts: Cluster, tmp_path: Path) -> None:
    """`three_hosts` only says that hosts can be made here."""
    words = cluster_command(tmp_path, "run", "2", "--", "sh", "-c", f"echo up >{tmp_path}/up; exec sleep 600")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until((tmp_path / "up").exists, 30, "the hosts")
        assert mentions(str(tmp_path))
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        until(lambda: not mentions(str(tmp_path)), 10, "the end of the hosts")
    finally:
        process.kill()
        process.wait()


def mentions(text: str) -> list[str]:
    """Processes of this machine, those inside the hosts included, with a text among their words."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in words:
            found.append(words)
    return found
