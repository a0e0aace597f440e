"""What a program does with mpi4py itself: agreed on, or waited for with a deadline, like what `ttnn` does between ranks.

`MPI.COMM_WORLD`, as a program that has imported `ttnn` finds it, and what is made of it meet first: another call, root, operation, size, type
or communicator on one rank is then an error that names both lines, where MPI would hang, or go on with what nobody has received. Messages and
requests are waited for with the guard's deadline. Blocking calls of the main thread take part once the ranks have met; those of other threads,
locks of windows, `Sendrecv_replace` and intercommunicators go to the library as they are. A recorded rank has a book for them instead.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

from tt_run import contract
from tt_run.runtime.imports import Finder

_MODULE = "mpi4py.MPI"


def await_own_mpi() -> None:
    """Let this program's mpi4py be watched: now where it is loaded, else once it is, which may be after a fork that makes this process a rank."""
    if not any(os.environ.get(name) for name in ("OMPI_COMM_WORLD_SIZE", contract.RUN_DIR)):
        return
    if _MODULE in sys.modules:
        _watch(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, Finder({_MODULE: _watch}))


def _watch(module: ModuleType) -> None:
    """Put watched classes in the place of the library's. Nothing in a lone process, or where a book has the calls."""
    mpi: Any = module
    is_recorded = os.environ.get(contract.RECORD) or os.environ.get(contract.REPLAY)
    is_alone = os.environ.get("OMPI_COMM_WORLD_SIZE", "1") == "1"
    if is_alone or is_recorded or getattr(mpi, "_tt_run_raw", None) is not None:
        return
    from tt_run.runtime.own_mpi.communicators import watched_communicators
    from tt_run.runtime.own_mpi.requests import watched_requests
    from tt_run.runtime.own_mpi.windows import watched_windows

    raw = {name: getattr(mpi, name) for name in ("COMM_WORLD", "Request", "Prequest", "Win")}
    mpi._tt_run_raw = raw
    mpi.Request, mpi.Prequest = watched_requests(mpi)
    mpi.Win = watched_windows(mpi)
    mpi.COMM_WORLD = watched_communicators(mpi)[mpi.Intracomm](raw["COMM_WORLD"])
