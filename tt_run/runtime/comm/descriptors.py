"""The sockets over which MPI talks to its launcher: a program that closes every descriptor, as one does that becomes a daemon, closes them too."""

from __future__ import annotations

import os
import stat


def sockets() -> dict[int, int]:
    """The open sockets of this process: what each descriptor stands for."""
    found = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - a list of numbers, not of paths
        try:
            state = os.fstat(int(name))
        except OSError:  # that of the list itself
            continue
        if stat.S_ISSOCK(state.st_mode):
            found[int(name)] = state.st_ino
    return found


def are_closed(noted: dict[int, int]) -> bool:
    """Whether there were some and none of them is open any more, or is another one by now."""
    return bool(noted) and not any(_is(descriptor, inode) for descriptor, inode in noted.items())


def _is(descriptor: int, inode: int) -> bool:
    try:
        return os.fstat(descriptor).st_ino == inode
    except OSError:
        return False
