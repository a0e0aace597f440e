"""Several real network hosts on one machine; where namespaces cannot be made the tests skip, and CI does not let them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.multihost.jobs import HostJobs

from tests.e2e.launch import ROOT, Ran, environment

SCRIPT = ROOT / "scripts" / "netns-cluster"


@dataclass(frozen=True)
class Cluster:
    """Hosts h1, h2, … that share this machine's files and nothing else."""

    state: Path

    def _words(self, *words: str) -> list[str]:
        return [sys.executable, str(SCRIPT), "-s", str(self.state), *words]

    def run(
        self,
        host: str,
        *command: str | Path,
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Ran:
        """Run a command on a host under a deadline that kills."""
        words = ["timeout", "-k", "2", str(timeout), *self._words("exec", host, *map(str, command))]
        result = subprocess.run(
            words, cwd=cwd, env=environment(env), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return Ran(
            result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")
        )

    def start(
        self, host: str, *command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a command on a host and return at once; the caller waits for it."""
        return subprocess.Popen(
            self._words("exec", host, *map(str, command)),
            cwd=cwd,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def order(self, verb: str, host: str) -> None:
        """`kill`, `cut` or `heal` a host."""
        subprocess.run(self._words(verb, host), check=True, timeout=30, capture_output=True)

    def processes(self, host: str, words: str) -> list[str]:
        """Command lines on a host that contain `words`."""
        listed = self.run(host, "ps", "-eo", "pid,args", timeout=20).out.splitlines()
        return [line.strip() for line in listed if words in line and "ps -eo" not in line]

    def ssh_config(self) -> Path:
        return self.state / "ssh_config"


def _make(tmp: Path, hosts: int, *options: str) -> Iterator[Cluster]:
    check = subprocess.run(
        [sys.executable, str(SCRIPT), "check"], capture_output=True, text=True, timeout=60, check=False
    )
    if check.returncode == 77:
        if os.environ.get("TT_RUN_REQUIRE_MULTIHOST"):
            pytest.fail(f"network namespaces are required here: {check.stdout.strip()}")
        pytest.skip(f"network namespaces cannot be made: {check.stdout.strip()}")
    check.check_returncode()
    cluster = Cluster(tmp / "c")
    up = subprocess.run(
        cluster._words("up", str(hosts), "--ttl", "600", *options),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert up.returncode == 0, up.stderr
    try:
        yield cluster
    finally:
        subprocess.run(cluster._words("down"), capture_output=True, timeout=60, check=False)


@pytest.fixture(scope="session")
def three_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """h1, h2, h3 for the whole session: for tests that leave the hosts as they found them."""
    yield from _make(tmp_path_factory.mktemp("n"), 3)


@pytest.fixture
def own_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three hosts for one test, which may kill them or cut their cables."""
    yield from _make(tmp_path_factory.mktemp("n"), 3)


@pytest.fixture(scope="module")
def named_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two hosts with the names that the documentation uses."""
    yield from _make(tmp_path_factory.mktemp("n"), 2, "--names", "node1,node2")


@pytest.fixture(scope="session")
def ssh_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two hosts with a real sshd each; needs real root and the sshd program."""
    if os.geteuid() != 0 or not Path("/usr/sbin/sshd").exists():
        why = "a real sshd needs root and openssh-server"
        if os.environ.get("TT_RUN_REQUIRE_SSHD"):
            pytest.fail(why)
        pytest.skip(why)
    yield from _make(tmp_path_factory.mktemp("n"), 2, "--sshd")


@pytest.fixture
def jobs(three_hosts: Cluster, tmp_path: Path) -> Iterator[HostJobs]:
    """Jobs on the hosts of the session; each test leaves no process on them."""
    from tests.multihost.jobs import HostJobs

    made = HostJobs(three_hosts, tmp_path)
    yield made
    made.close()


@pytest.fixture
def doomed(own_hosts: Cluster, tmp_path: Path) -> Iterator[HostJobs]:
    """Jobs on three hosts of their own, which may be killed or cut off."""
    from tests.multihost.jobs import HostJobs

    made = HostJobs(own_hosts, tmp_path)
    yield made
    made.close()
