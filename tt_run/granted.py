"""What the system lets this process have: cores, limits, a pause. A sandbox may refuse the very question, which is no reason to end a run."""

from __future__ import annotations

import errno
import os
import resource
import time
from collections.abc import Callable
from functools import partial


def usable_cpus() -> frozenset[int]:
    """The processors that this process may run on; all of the machine's where nobody says."""
    try:
        return frozenset(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return frozenset(range(os.cpu_count() or 1))


def why_no_cpus() -> str | None:
    """Why nobody says which processors this process may run on; None where it is said."""
    try:
        os.sched_getaffinity(0)
    except OSError as error:
        return f"sched_getaffinity is refused ({error.strerror})"
    except AttributeError:
        pass
    return None


ALLOW = "allow {} in the profile of the container or sandbox (seccomp)"
"""What to do about a call that is refused."""


def refused_to_mpi() -> list[tuple[str, str]]:
    """Calls without which Open MPI ends before it starts anything, and that are refused here, with what the system says."""
    import socket  # of launches that fail alone
    import tempfile

    def truncate() -> None:
        with tempfile.TemporaryFile() as file:
            os.ftruncate(file.fileno(), 1)

    def set_option() -> None:
        with socket.socket() as asked:
            asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    found = []
    for name, call in (("ftruncate", truncate), ("setsockopt", set_option)):
        try:
            call()
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
                found.append((name, os.strerror(error.errno)))
    # The library asks the older call where the newer one is not known, and believes what that says otherwise.
    if os.access in os.supports_effective_ids and not os.access("/", os.X_OK, effective_ids=True):
        found.append(("faccessat2", os.strerror(errno.EPERM)))
    return found


def limit_of(number: int) -> tuple[int, int]:
    """The soft and the hard limit of a resource; none where nobody says."""
    try:
        return resource.getrlimit(number)
    except OSError:
        return resource.RLIM_INFINITY, resource.RLIM_INFINITY


def _chosen_yield() -> Callable[[], object]:
    try:
        os.sched_yield()
    except OSError:
        return partial(time.sleep, 0)
    return os.sched_yield


give_way = _chosen_yield()
"""Lets others run that wait for this processor."""
