"""The warm process of a host: imports once what the program imports, then forks each rank off, which goes on as if it had been started.

Run by `hook/sitecustomize.py`, before the program, in an interpreter that was started with the program's own words: what returns from
`serve` is a rank, with the environment, folder, streams and limits of its stand-in (`warm_client.py`), and the interpreter runs the
program in it as it always does. Nothing of this file stays in the rank.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

IDLE_SECONDS = 60.0  # how long ranks are waited for that do not come
_PDEATHSIG = 1


def serve(descriptor: int, modules: str) -> None:
    """Answers stand-ins on a listening socket until every rank of the host has been forked. Returns in the ranks, never in the warm process."""
    import gc
    import select
    import socket

    listening = socket.socket(fileno=descriptor)
    listening.set_inheritable(False)
    right = _import_all(modules) and _is_right()
    gc.collect()
    gc.freeze()  # a collection in a rank must not touch, and so copy, what is shared
    served = 0
    while select.select([listening], [], [], IDLE_SECONDS)[0]:
        link, _ = listening.accept()
        wanted = _wanted(link) if right else None
        if wanted is None:
            link.close()  # the stand-in becomes the program itself
            if not right:
                continue
        else:
            if _fork_minder(link, wanted):
                listening.close()
                return
            right = right and _is_right()
            served += 1
            link.close()
            for stream in wanted["streams"]:
                os.close(stream)
            if served == wanted["ranks"]:
                break
    os._exit(0)


def _import_all(modules: str) -> bool:
    """Imports `name` or `name:attribute,attribute` each; what fails is the program's own to report. False when an import wanted to end the process."""
    import importlib

    for entry in modules.split():
        name, _, attributes = entry.partition(":")
        try:
            module = importlib.import_module(name)
            for attribute in filter(None, attributes.split(",")):
                getattr(module, attribute, None)
        except Exception:
            continue
        except BaseException:
            return False
    return True


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - pathlib is not imported for it


def _is_right() -> bool:
    """Whether a fork of this process is as good as a start: MPI is not up, and no thread is lost by it.

    Open BLAS ends its threads at a fork and starts them again when they are needed; others do not.
    """
    import sys

    if "mpi4py.MPI" in sys.modules or not _has_pidfds():
        return False
    tasks = _threads()
    if tasks > 1:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                child = os.fork()
            except OSError:  # no more processes, so no ranks either
                return False
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        tasks = _threads()
    return tasks == 1


def _has_pidfds() -> bool:
    """Whether a process can be watched by a descriptor: a sandbox may refuse it."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _wanted(link: socket.socket) -> dict[str, Any] | None:
    """What a stand-in asks for; None when it is not this user's, or has gone."""
    import array
    import ast
    import socket
    import struct

    _, user, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if user != os.getuid():
        return None
    try:
        head, extra, _, _ = link.recvmsg(4, socket.CMSG_SPACE(12), socket.MSG_CMSG_CLOEXEC)
        size, data = struct.unpack("!I", head)[0], b""
        while len(data) < size and (part := link.recv(size - len(data))):
            data += part
        found: dict[str, Any] = ast.literal_eval(data.decode())
        if os.getsid(found["group"]) != os.getsid(0):
            return None  # a rank could not join the process group of its stand-in
    except (OSError, struct.error, ValueError, SyntaxError):
        return None
    streams = array.array("i")
    streams.frombytes(extra[0][2][:12])
    found["streams"] = list(streams)
    return found


def _fork_minder(link: socket.socket, wanted: dict[str, Any]) -> bool:
    """Forks a process that forks the rank and minds it, so that each rank has a parent of its own. True in the rank.

    Where there may be no more processes the stand-in is left alone, and becomes the program itself.
    """
    import sys

    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        if os.fork():
            return False  # not waited for: the warm process ends before its minders as a rule
    except OSError:
        return False
    try:
        go, released = os.pipe()
        rank = os.fork()
    except OSError:
        os._exit(0)
    if rank:
        try:
            os.close(go)
            _mind(link, rank, released, wanted["streams"])
        finally:
            os._exit(0)
    try:
        os.close(released)
        _become_rank(link, wanted, go)
    except BaseException as error:
        os.write(2, f"tt-run: the warm process cannot start a rank: {error!r}\n".encode())
        os._exit(137)
    return True


def _become_rank(link: socket.socket, wanted: dict[str, Any], go: int) -> None:
    """Makes this process what the stand-in is, and waits until that has seen to the rest."""
    import ctypes
    import resource
    import signal

    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(137)
    link.close()
    if not os.read(go, 1):
        os._exit(137)
    os.close(go)
    os.setpgid(0, wanted["group"])
    for number, stream in enumerate(wanted["streams"]):
        os.dup2(stream, number)
        os.close(stream)
    os.environb.clear()
    os.environb.update(wanted["environment"])
    os.chdir(wanted["cwd"])
    os.umask(wanted["umask"])
    for name, limits in wanted["limits"].items():
        try:
            resource.setrlimit(getattr(resource, name), limits)
        except (OSError, ValueError, AttributeError):
            continue
    try:
        if wanted["cpus"]:
            os.sched_setaffinity(0, wanted["cpus"])
        if wanted["nice"] > os.nice(0):
            os.nice(wanted["nice"] - os.nice(0))
    except OSError:  # refused by a sandbox
        pass
    _own_chances()


def _own_chances() -> None:
    """Random numbers that differ from rank to rank where they would after a start of its own."""
    import sys

    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()


def _mind(link: socket.socket, rank: int, released: int, streams: list[int]) -> None:
    """Tells the stand-in of the rank's end, and ends the rank when the stand-in is gone."""
    import select
    import signal

    for stream in (0, 1, 2, *streams):
        os.close(stream)
    link.sendall(b"pid %d\n" % rank)
    watched = os.pidfd_open(rank)

    def pass_on(number: int, _: object) -> None:
        """Whoever signals this process means the rank."""
        try:  # noqa: SIM105 - contextlib is not imported for it
            signal.pidfd_send_signal(watched, number)
        except OSError:  # it has ended
            pass

    for number in (1, 2, 3, 10, 12, 15):  # HUP, INT, QUIT, USR1, USR2, TERM
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    while True:
        ready, _, _ = select.select([link.fileno(), watched], [], [])
        if watched in ready:
            break
        if not link.recv(64):  # the stand-in was killed
            os.kill(rank, signal.SIGKILL)
            os.waitpid(rank, 0)
            return
        os.write(released, b"g")
    code = os.waitstatus_to_exitcode(os.waitpid(rank, 0)[1])
    used = os.times()
    seconds = used.children_user + used.children_system
    link.sendall(b"exit %d\n" % code if code >= 0 else b"signal %d %d\n" % (-code, seconds))
