"""From outside: bring a cluster up and down, run a command on a host, kill a host, cut and heal its cable."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from netns.host import send
from netns.linux import die_with_parent, environment, in_cluster_namespace, is_capable_root, start_time, tool
from netns.state import Config, State
from netns.switch import SCRIPT


class ClusterError(Exception):
    """Said to the user; `code` is the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def up(state: State, names: list[str], *, subnet: str, sshd: bool, ttl: float, attached: bool) -> Config:
    """Make the hosts; `attached` ties the cluster to the calling process."""
    if running(state):
        raise ClusterError(
            f"a cluster is already up in {state.folder}: `netns-cluster down` first, or -s DIR"
        )
    if sshd and not is_capable_root():
        raise ClusterError("--sshd needs real root", 77)
    down(state)
    state.folder.mkdir(mode=0o700, parents=True)
    config = Config(
        {name: f"{subnet}.{i}" for i, name in enumerate(names, 1)}, sshd, ttl, _login_environment()
    )
    lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in config.hosts.items())]
    state.etc_hosts.write_text("\n".join(lines) + "\n")
    os.mkfifo(state.orders, 0o600)
    state.agent.write_text(f'#!/bin/sh\nexec {sys.executable} {SCRIPT} -s {state.folder} agent "$@"\n')
    state.agent.chmod(0o700)
    if sshd:
        _ssh_files(state)
    state.write(config)
    _start(state, attached)
    return config


def _start(state: State, attached: bool) -> None:
    with state.log.open("w") as log:
        process = subprocess.Popen(
            in_cluster_namespace([sys.executable, SCRIPT, "_switch", str(state.folder)]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(),
            cwd="/",
            start_new_session=True,
            preexec_fn=die_with_parent if attached else None,
        )
    state.pid_file.write_text(f"{process.pid} {start_time(process.pid)}")
    deadline = time.monotonic() + 30
    while not state.ready.exists():
        if process.poll() is not None or state.failed.exists() or time.monotonic() > deadline:
            texts = [file.read_text() for file in (state.log, state.failed) if file.exists()]
            down(state)
            raise ClusterError(f"could not make the cluster: {' '.join(texts).strip()[-400:]}")
        time.sleep(0.01)


def _login_environment() -> dict[str, str]:
    """What an ssh login would find, and nothing of the caller's shell."""
    return {
        "HOME": os.environ.get("HOME", "/"),
        "USER": os.environ.get("USER", "root"),
        "LOGNAME": os.environ.get("LOGNAME", "root"),
        "SHELL": "/bin/sh",
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    }


def _ssh_files(state: State) -> None:
    folder = state.folder
    Path("/run/sshd").mkdir(exist_ok=True)
    for key in ("host_key", "id"):
        tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
    shutil.copy(folder / "id.pub", folder / "authorized_keys")
    (folder / "sshd_config").write_text(
        f"Port 22\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nUseDNS no\nMaxStartups 200:30:400\n"
    )
    (folder / "ssh_config").write_text(
        f"Host *\nIdentityFile {folder}/id\nIdentitiesOnly yes\nStrictHostKeyChecking no\n"
        "UserKnownHostsFile /dev/null\nLogLevel ERROR\nBatchMode yes\nConnectTimeout 10\n"
    )


def running(state: State) -> int:
    """The process id of the cluster, 0 when it is not up."""
    try:
        pid, started = state.pid_file.read_text().split()
    except (OSError, ValueError):
        return 0
    return int(pid) if start_time(int(pid)) == started else 0


def down(state: State) -> bool:
    """End the cluster and remove its folder; True when one was running."""
    pid = running(state)
    if pid:
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while running(state) and time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.01)
    if state.etc_hosts.exists() or state.config_file.exists():
        deadline = time.monotonic() + 5
        while state.folder.exists() and time.monotonic() < deadline:  # the last processes may still write
            shutil.rmtree(state.folder, ignore_errors=True)
    return bool(pid)


def call(state: State, host: str, argv: list[str], *, login: bool) -> int:
    """Run a command on a host with our streams; its exit code, 255 when the host is gone. Signals are passed on."""
    state.use()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with state.address(host) as address:
            connection.connect(address)
    except OSError as problem:
        raise ClusterError(f"cannot reach host {host} ({problem.strerror})", 255) from None
    env = None if login else dict(os.environ)
    send(connection, argv, env, os.environ.get("HOME", "/") if login else str(Path.cwd()))
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
    ):
        signal.signal(number, lambda n, _: connection.send(bytes([n])))
    answer = b""
    while True:
        try:
            part = connection.recv(16)
        except OSError:
            part = b""
        if not part:
            return int(answer) if answer else 255
        answer += part


def order(state: State, verb: str, host: str) -> None:
    """`kill`, `cut` or `heal` a host; returns when it is done."""
    if not running(state) or host not in state.read().hosts:
        raise ClusterError(f"no such host: {host}")
    state.done(verb, host).unlink(missing_ok=True)
    with state.orders.open("w") as orders:
        orders.write(f"{verb} {host}\n")
    deadline = time.monotonic() + 10
    while not state.done(verb, host).exists():
        if time.monotonic() > deadline:
            raise ClusterError(f"{verb} {host}: no answer")
        time.sleep(0.01)
