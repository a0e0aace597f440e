"""Stands in for one rank: has it forked from its host's warm process, waits for it, and ends as it ends.

Started as `python -I -S warm_client.py STATUS_FILE NAME PROGRAM WORD…` with exactly the environment, folder and streams of the rank. The
first of a host starts the warm process. Where anything is missing it becomes the program itself, as without a warm process.
"""

from __future__ import annotations

import _thread
import array
import os
import resource
import signal
import socket
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NoReturn

PATIENCE = 10.0  # seconds for a warm process that is bound to its address to listen
LIMITS = [name for name in dir(resource) if name.startswith("RLIMIT_")]
# What names one rank: the warm process is nobody's.
OWN = (
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_NODE_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMIX_RANK",
)
# What may be meant for the rank when this process gets it.
PASSED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGQUIT,
)


def become(words: Sequence[str], environment: Mapping[str, str] | Mapping[bytes, bytes]) -> NoReturn:
    """Turns this process into the program."""
    for number in (
        signal.SIGPIPE,
        signal.SIGXFSZ,
    ):  # Python ignores these; a program expects them as they were
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(words[0], tuple(words), environment)
    except OSError as error:
        print(f"tt-run: {words[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def start_server(listening: socket.socket, words: Sequence[str]) -> None:
    """The warm process: the same program, which serves at the start of its interpreter. No child of this one, in this session."""
    listening.listen(512)
    if os.fork():
        os.wait()
        return
    try:
        if os.fork():
            os._exit(0)
    except OSError:  # no more processes: the one that waits for this goes on, and finds nobody who listens
        os._exit(0)
    os.setpgid(0, 0)
    leave_group()
    os.set_inheritable(listening.fileno(), True)
    environment = {
        name: value for name, value in os.environb.items() if name.decode(errors="replace") not in OWN
    }
    environment[b"TT_RUN_WARM_FD"] = b"%d" % listening.fileno()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    become(words, environment)


def connected(name: str, words: Sequence[str]) -> socket.socket | None:
    """A connection to the warm process of this host, which this starts when nobody has; None when there is none."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(name)
        start_server(listening, words)
    except OSError:
        pass  # somebody has it
    listening.close()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        link = socket.socket(socket.AF_UNIX)
        try:
            link.connect(name)
        except OSError:
            link.close()
            time.sleep(0.005)
            continue
        _, user, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return link if user == os.getuid() else None
    return None


def request() -> bytes:
    """Everything of this process that the rank is to have."""
    mask = os.umask(0)
    os.umask(mask)
    limits, cpus = {}, []
    try:
        cpus = sorted(os.sched_getaffinity(0))
        limits = {name: resource.getrlimit(getattr(resource, name)) for name in LIMITS}
    except OSError:  # a sandbox that refuses to say: the warm process is in it too
        pass
    return repr(
        {
            "environment": dict(os.environb),
            "cwd": os.getcwdb(),  # noqa: PTH109 - as bytes
            "umask": mask,
            "limits": limits,
            "group": os.getpgrp(),
            "cpus": cpus,
            "nice": os.nice(0),
            "ranks": int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "0") or 0),
        }
    ).encode()


def ask(link: socket.socket) -> None:
    data = request()
    streams = array.array("i", [0, 1, 2])
    link.sendmsg([struct.pack("!I", len(data))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    link.sendall(data)


def join_group(pid: int) -> None:
    """Puts the rank into the control group of this process, which limits and counts it."""
    try:
        with open("/proc/self/cgroup", "rb") as mine, open(f"/proc/{pid}/cgroup", "rb") as its:
            own, other = mine.read().splitlines(), its.read().splitlines()
    except OSError:
        return
    for line in set(own) - set(other):
        _, kinds, path = line.decode().split(":", 2)
        for root in (
            ("/sys/fs/cgroup/" + kinds, "/sys/fs/cgroup/unified")
            if kinds
            else ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
        ):
            try:
                with open(root + path + "/cgroup.procs", "w") as group:
                    group.write(str(pid))
                break
            except OSError:
                continue


def leave_group() -> None:
    """Leaves the control group that `rank.sh` has made for one rank, and ends with it: the warm process is nobody's."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as stream:
            paths = [line[3:].rstrip("\n") for line in stream if line.startswith("0::")]
    except OSError:
        return
    for path in paths:
        above, _, name = path.rpartition("/")
        if not name.startswith("tt-run-"):
            continue
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            if os.path.exists(f"{root}{path}/cgroup.procs"):  # noqa: PTH110 - pathlib is not imported for it
                with open(f"{root}{above}/cgroup.procs", "w", encoding="ascii") as group:
                    group.write(str(os.getpid()))


def mpirun() -> int:
    """The process that has started the wrapper of this one."""
    with open(f"/proc/{os.getppid()}/stat", "rb") as stream:
        return int(stream.read().rpartition(b")")[2].split()[1])


def pass_on(rank: int, numbers: Iterable[int], group_sender: int, before: Iterable[int]) -> None:
    """Gives the rank the signals that this process is sent, which hold them back: first those `before` there was a rank.

    `rank` is a descriptor of its process. What `group_sender` sends goes to the process group, so the rank has it already.
    """
    try:
        for number in before:
            signal.pidfd_send_signal(rank, number)
        while True:
            found = signal.sigwaitinfo(numbers)
            if found.si_pid != group_sender:
                signal.pidfd_send_signal(rank, found.si_signo)
    except OSError:  # it has ended
        pass


def note_limit(status: str, seconds: int) -> None:
    """Writes down that a rank that was killed had used all its processor time, if so: `rank.sh` sees that of this process alone."""
    try:
        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    except OSError:
        return
    if most == resource.RLIM_INFINITY or seconds + 1 < most:
        return
    with open(status, "a") as record:
        record.write(f"limit=it had used the {most} s of processor time that it may have (ulimit -t)\n")


def end_as(word: bytes, number: int) -> NoReturn:
    if word == b"signal":
        try:  # noqa: SIM105 - contextlib is not imported for it
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the rank has left the core
        except OSError:
            pass
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(number)


def main() -> None:
    status, words = sys.argv[1], sys.argv[3:]
    # Containers may share a network and its addresses, but not their processes and files.
    spaces = (os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("pid", "mnt"))  # noqa: PTH116 - pathlib is not imported for it
    name = "\0" + "-".join((sys.argv[2], *map(str, spaces)))
    link = connected(name, words) if sys.version_info >= (3, 9) else None
    if link is None:
        become(words, os.environ)
    # Held back until there is a rank to have them; what is ignored stays ignored.
    numbers = {number for number in PASSED if signal.getsignal(number) is not signal.SIG_IGN}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        ask(link)
        answers = link.makefile("rb")
        word, _, number = answers.readline().strip().partition(b" ")
    except OSError:
        word = b""
    if word != b"pid":
        for each in numbers:
            signal.signal(each, signal.SIG_DFL)  # Python's own for SIGINT is an exception
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        become(words, os.environ)  # no warm process can be right for this program
    join_group(int(number))
    try:
        with open(status, "a") as record:
            record.write(f"pid={int(number)}\n")
    except OSError:
        pass
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the rank alone holds its streams
        os.dup2(null, stream)
    early = [found.si_signo for found in iter(lambda: signal.sigtimedwait(numbers, 0), None)]
    process = os.pidfd_open(int(number))
    link.sendall(b"go\n")
    try:  # noqa: SIM105 - contextlib is not imported for it
        _thread.start_new_thread(pass_on, (process, numbers, mpirun(), early))
    except (RuntimeError, OSError):  # no more threads: signals to this process alone are lost
        pass
    word, number, *seconds = answers.readline().split() or (b"", b"")
    answers.read()  # until its minder has gone
    if word == b"signal" and int(number) == signal.SIGKILL and seconds:
        note_limit(status, int(seconds[0]))
    end_as(word, int(number)) if word in (b"exit", b"signal") else end_as(b"signal", signal.SIGKILL)


if __name__ == "__main__":
    main()
