"""Faults on purpose that come at a time, in a rank without emulation. Loaded by `sitecustomize.py` where the launcher has written any."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import time

TYPE_CHECKING = False  # as in sitecustomize.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def begin(path: str, record: Callable[[str], Any], leave: Callable[[int], None]) -> None:
    """Starts a timer for each fault in the file; `record` opens what one is written down in, `leave` ends the process with a code."""
    with open(path, encoding="utf-8") as stream:
        faults = json.load(stream)
    for fault in faults:
        timer = threading.Timer(fault["after"], _cause, (fault, record, leave))
        timer.daemon = True
        timer.start()


def _cause(fault: dict[str, Any], record: Callable[[str], Any], leave: Callable[[int], None]) -> None:
    """Writes a fault down and lets it happen."""
    fault["at"] = time.time()
    with record("injected") as stream:
        stream.write(json.dumps(fault) + "\n")
    action = fault["action"]
    if action == "exit":
        leave(fault["code"])
    elif action == "full":
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, 1)
        os.dup2(full, 2)
    elif action == "slowdisk":
        _slow_disk(fault["seconds"])
    elif action == "raise":
        _raise_in_main_thread(
            "InjectedFault", RuntimeError, f"{fault['message']} (--inject {fault['fault']})"
        )
    elif action == "oom":
        _raise_in_main_thread(
            "OutOfMemory", MemoryError, f"Out of Memory: injected (--inject {fault['fault']})"
        )
    elif action == "hang":
        _hang_main_thread()
    else:
        os.kill(os.getpid(), {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}[action])


def _raise_in_main_thread(name: str, base: type[Exception], text: str) -> None:
    """Lets the main thread raise at its next line of Python."""
    import ctypes

    kind = type(name, (base,), {"__init__": lambda self: base.__init__(self, text)})
    main = ctypes.c_ulong(threading.main_thread().ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(kind))


def _hang_main_thread() -> None:
    """Lets the main thread wait for ever at its next line of Python."""
    import ctypes

    def wait(_: int | None) -> int:
        threading.Event().wait()
        return 0

    call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(wait)
    _hang_main_thread.__dict__["call"] = call  # it must outlive this function
    ctypes.pythonapi.Py_AddPendingCall(call, None)


def _slow_disk(seconds: float) -> None:
    """Lets each write of Python to the standard streams take so much longer."""

    class Slow(io.FileIO):
        def write(self, data: Any) -> int:
            time.sleep(seconds)
            return super().write(data) or 0

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        stream.flush()
        file = io.BufferedWriter(Slow(stream.fileno(), "w", closefd=False))
        slowed = io.TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=stream.line_buffering)
        setattr(sys, name, slowed)
