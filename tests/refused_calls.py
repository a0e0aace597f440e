"""Programs whose system calls are refused, as containers, sandboxes and file systems that lack them do: a seccomp filter before the program.

`python tests/refused_calls.py ERRNO CALL… -- PROGRAM WORD…`
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Sequence

_NUMBERS = {
    "faccessat2": {"x86_64": 439, "aarch64": 439},
    "fallocate": {"x86_64": 285, "aarch64": 47},
    "flock": {"x86_64": 73, "aarch64": 32},
    "ftruncate": {"x86_64": 77, "aarch64": 46},
    "getrlimit": {"x86_64": 97, "aarch64": 163},
    "pidfd_open": {"x86_64": 434, "aarch64": 434},
    "prctl": {"x86_64": 157, "aarch64": 167},
    "prlimit64": {"x86_64": 302, "aarch64": 261},
    "process_vm_readv": {"x86_64": 310, "aarch64": 270},
    "ptrace": {"x86_64": 101, "aarch64": 117},
    "sched_getaffinity": {"x86_64": 204, "aarch64": 123},
    "sched_yield": {"x86_64": 24, "aarch64": 124},
    "setpriority": {"x86_64": 141, "aarch64": 140},
    "setrlimit": {"x86_64": 160, "aarch64": 164},
    "setsockopt": {"x86_64": 54, "aarch64": 208},
    "setsid": {"x86_64": 112, "aarch64": 157},
    "unshare": {"x86_64": 272, "aarch64": 97},
}  # fmt: skip
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2  # words of prctl
_LOAD_NUMBER, _SKIP_UNLESS, _ANSWER = 0x20, 0x15, 0x06  # of the filter's machine
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def refusing(error: int, *calls: str) -> list[str]:
    """The words in front of a program whose `calls` are to fail with `error`."""
    return [sys.executable, __file__, str(error), *calls, "--"]


def is_possible() -> bool:
    """Whether this machine lets a program refuse its own calls."""
    if platform.machine() not in _NUMBERS["flock"]:
        return False
    tried = [sys.executable, "-c", "import fcntl; fcntl.flock(0, fcntl.LOCK_SH)"]
    done = subprocess.run(
        [*refusing(errno.ENOLCK, "flock"), *tried], stdin=subprocess.DEVNULL, capture_output=True
    )
    return b"No locks available" in done.stderr


def _refuse(error: int, calls: Sequence[str]) -> None:
    steps = [(_LOAD_NUMBER, 0, 0, 0)]
    for call in calls:
        steps += [(_SKIP_UNLESS, 0, 1, _NUMBERS[call][platform.machine()]), (_ANSWER, 0, 0, _REFUSED | error)]
    steps.append((_ANSWER, 0, 0, _ALLOWED))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = _Program(len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    end = sys.argv.index("--")
    _refuse(int(sys.argv[1]), sys.argv[2:end])
    os.execvp(sys.argv[end + 1], sys.argv[end + 1 :])
