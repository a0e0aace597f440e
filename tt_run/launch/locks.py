"""Locks between launches. Not every file system has them: NFS without its lock daemon, Lustre mounted without `flock`."""

from __future__ import annotations

import fcntl


def take_lock(descriptor: int, *, wait: bool = True) -> bool:
    """Takes the lock of an open file or folder, until it is closed; False where another process holds it and `wait` is not set.

    True as well where there are no locks: what they guard is written whole or not at all, so that they only save work.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
