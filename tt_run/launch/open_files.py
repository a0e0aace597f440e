"""How many files mpirun may hold open. It has some for each of its ranks, so that the usual limit of 1024 ends at some 200 ranks.

What a user allows is a soft limit, which everybody may raise up to a hard one. It is raised for mpirun alone, where its ranks are too many
for it; they get the user's own back (`rank.sh`), for programs may count on it.
"""

from __future__ import annotations

import resource
from contextlib import suppress

from tt_run.granted import limit_of

_BESIDE, _EACH = 64, 6  # measured with Open MPI 5.0: 25 and 4, and two more while the ranks are started


def descriptors_needed(ranks: int) -> int:
    """The descriptors that mpirun wants for so many ranks of this machine."""
    return _BESIDE + _EACH * ranks


def allow_open_files(files: int) -> None:
    """Lets this process, and what it starts, open so many files, as far as that is its own to say."""
    soft, hard = limit_of(resource.RLIMIT_NOFILE)
    wanted = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # then mpirun says itself what it could not open
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def own_limit(files: int) -> int | None:
    """What this process may open by itself, where that is less than `files`; None where nothing will be raised."""
    soft, _ = limit_of(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY and soft < files else None
