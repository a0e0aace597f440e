"""The first process of a cluster: make bridge, hosts and cables, then obey orders until told to go."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

from netns.linux import HOST_NAMESPACES, tool
from netns.state import State

SCRIPT = str(Path(__file__).resolve().parent.parent / "netns-cluster")


def main(folder: str) -> None:
    """Never returns: all hosts end with this process."""
    state = State(Path(folder))
    try:
        hosts = _plug_in(state)
        state.ready.write_text("ok")
    except BaseException as problem:
        state.failed.write_text(str(problem))
        raise
    _obey(state, hosts)
    os._exit(0)


def _plug_in(state: State) -> dict[str, subprocess.Popen]:
    config = state.read()
    tool("mount", "--make-rprivate", "/")
    tool("ip", "link", "set", "lo", "up")
    tool("ip", "link", "add", "br0", "type", "bridge")
    tool("ip", "link", "set", "br0", "up")
    hosts = {
        name: subprocess.Popen(
            ["unshare", *HOST_NAMESPACES, sys.executable, SCRIPT, "_host", str(state.folder), name],
            start_new_session=True,
        )
        for name in config.hosts
    }
    own = Path("/proc/self/ns/net").stat().st_ino
    for number, (name, process) in enumerate(hosts.items(), 1):
        _until(lambda p=process: Path(f"/proc/{p.pid}/ns/net").stat().st_ino != own, process, name)
        tool(
            "ip",
            "link",
            "add",
            f"v{number}",
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            str(process.pid),
        )
        tool("ip", "link", "set", f"v{number}", "master", "br0", "up")
    for name, process in hosts.items():
        _until(lambda n=name: state.socket(n).exists(), process, name)
    return hosts


def _until(condition, process: subprocess.Popen, name: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"host {name} did not come up")
        time.sleep(0.005)


def _obey(state: State, hosts: dict[str, subprocess.Popen]) -> None:
    config = state.read()
    links = {name: f"v{number}" for number, name in enumerate(config.hosts, 1)}
    state.use()
    orders = os.open(state.orders, os.O_RDWR)
    while (idle := state.idle()) is not None and not 0 < config.ttl < idle:
        for process in hosts.values():
            process.poll()
        if not select.select([orders], [], [], 1.0)[0]:
            continue
        for line in os.read(orders, 4096).decode().splitlines():
            verb, name = line.split()
            if verb == "kill":
                hosts[
                    name
                ].kill()  # unshare dies, --kill-child takes the host's first process, the kernel the rest
                hosts[name].wait()
            else:
                tool("ip", "link", "set", links[name], "down" if verb == "cut" else "up", check=False)
            state.done(verb, name).touch()
    shutil.rmtree(state.folder, ignore_errors=True)
