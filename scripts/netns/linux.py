"""The few Linux calls that Python's library lacks, and running tools."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
HOST_NAMESPACES = [
    "--net",
    "--uts",
    "--ipc",
    "--mount",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child=SIGKILL",
]


def tool(*words: str, check: bool = True) -> str:
    """Run a tool and return what it prints. Raises RuntimeError with its words and output when it fails."""
    result = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if check and result.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit {result.returncode}: {result.stdout.strip()}")
    return result.stdout


def environment() -> dict[str, str]:
    """Ours, with the folders where `ip` and `sshd` may live."""
    return {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}


def die_with_parent() -> None:
    """The calling process gets SIGKILL when its parent ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def set_host_name(name: str) -> None:
    _LIBC.sethostname(name.encode(), len(name))


def is_capable_root() -> bool:
    """Real root with the two capabilities that namespaces need: root in a container may lack them."""
    if os.geteuid() != 0:
        return False
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            held = int(line.split()[1], 16)
            return bool(held >> _CAP_NET_ADMIN & 1 and held >> _CAP_SYS_ADMIN & 1)
    return False


def in_cluster_namespace(words: list[str]) -> list[str]:
    """The command that runs `words` as the first process of a new cluster."""
    as_user = [] if is_capable_root() else ["--user", "--map-root-user"]
    outer = ["--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"]
    return ["unshare", *as_user, *outer, *words]


def why_not_here() -> str | None:
    """Why namespaces cannot be made on this machine, or None when they can; tries it for real."""
    for name in ("unshare", "ip"):
        if not shutil.which(name, path=environment()["PATH"]):
            return f"no `{name}` command"
    trial = (
        "set -e; ip link add br0 type bridge; ip link add v0 type veth peer name v1; ip link set v0 up; "
        "mount -t tmpfs t /dev/shm; unshare --net --uts --ipc --mount --pid --fork --mount-proc hostname x"
    )
    result = subprocess.run(
        in_cluster_namespace(["sh", "-c", trial]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        check=False,
    )
    if result.returncode == 0:
        return None
    return (result.stdout.strip().splitlines() or [f"exit {result.returncode}"])[-1]


def start_time(pid: int) -> str:
    """Tells a process from a later one with its number; "gone" for none and for a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return "gone"
    return "gone" if fields[0] in "ZX" else fields[19]
