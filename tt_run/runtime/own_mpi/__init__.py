"""What a program does with mpi4py itself: agreed on, or waited for with a deadline, like what `ttnn` does between ranks.

`MPI.COMM_WORLD`, as a program that imports `ttnn` finds it, and what is made of it meet first: another call, root, operation, size, type or
communicator on one rank is then an error that names both lines, where MPI would hang, or go on with what nobody has received. Messages and
requests are waited for with the guard's deadline. Calls of the main thread are compared in the order of all calls, as the guard counts them; what
is started, and what other threads do, beside it (`guard/concurrent_calls.py`), where the ranks share a host. A library cannot be called back from a lock
of a window: whoever asks is told where the rank is. A recorded rank's book writes down the watched calls.
"""

from __future__ import annotations

import copyreg
import os
import sys
from types import ModuleType
from typing import Any, NamedTuple

from tt_run import contract
from tt_run.runtime import events, launched
from tt_run.runtime.events import is_library
from tt_run.runtime.library_imports import Finder

_MODULE = "mpi4py.MPI"
_PICKLES = "mpi4py.util.pkl5"  # its communicators send and receive in ways of their own


def await_own_mpi() -> None:
    """Let this program's mpi4py be watched: now where it is loaded, else once it is, which may be after a fork that makes this process a rank."""
    if not any(launched.variables.get(name) for name in ("OMPI_COMM_WORLD_SIZE", contract.RUN_DIR)):
        return
    if _MODULE in sys.modules:
        _watch(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, Finder({_MODULE: _watch}))


class WatchedLibrary(NamedTuple):
    """The watched classes of a loaded library; those of communicators by the library's own."""

    communicators: dict[type, type]
    Request: type
    Prequest: type
    Win: type
    File: type


def watched_library(mpi: Any) -> WatchedLibrary:
    """Classes to put in the place of the library's."""
    from tt_run.runtime.own_mpi.communicators import watched_communicators
    from tt_run.runtime.own_mpi.files import watched_files
    from tt_run.runtime.own_mpi.requests import watched_requests
    from tt_run.runtime.own_mpi.windows import watched_windows

    return WatchedLibrary(
        watched_communicators(mpi), *watched_requests(mpi), watched_windows(mpi), watched_files(mpi)
    )


def _watch(module: ModuleType) -> None:
    """Put watched classes in the place of the library's: in a lone process of what starts others, nothing where a book does that."""
    mpi: Any = module
    is_recorded = launched.variables.get(contract.RECORD) or launched.variables.get(contract.REPLAY)
    is_alone = os.environ.get("OMPI_COMM_WORLD_SIZE", "1") == "1"
    if is_recorded or getattr(mpi, "_tt_run_raw", None) is not None:
        return
    if not mpi.Is_initialized():  # the program starts MPI itself, as `mpi4py.rc.initialize = False` says
        for name in ("Init", "Init_thread"):
            setattr(mpi, name, _and_watched(getattr(mpi, name), module))
        return
    raw = {
        name: getattr(mpi, name)
        for name in ("COMM_WORLD", "COMM_SELF", "Intracomm", "Request", "Prequest", "Win", "File")
    }
    mpi._tt_run_raw = raw
    if is_alone:
        from tt_run.runtime.own_mpi.communicators import starting_communicators

        communicators = starting_communicators(mpi)
    else:
        watched = watched_library(mpi)
        communicators = watched.communicators
        mpi.Request, mpi.Prequest, mpi.Win, mpi.File = (
            watched.Request,
            watched.Prequest,
            watched.Win,
            watched.File,
        )
    # The library's own object would be looked for under the name that the watched one has now.
    copyreg.pickle(raw["Intracomm"], _reduced)
    for kind, communicator in communicators.items():  # `type(comm) is MPI.Cartcomm` holds as ever
        setattr(mpi, kind.__name__, communicator)
    mpi.COMM_WORLD, mpi.COMM_SELF = mpi.Intracomm(raw["COMM_WORLD"]), mpi.Intracomm(raw["COMM_SELF"])
    if not is_alone:
        _watch_pickles()
        if "ttnn" not in sys.modules:  # nobody else does, for a program of mpi4py alone
            events.attach_listeners(is_mesh_known=False)
    for other in [each for each in sys.modules.values() if isinstance(each, ModuleType) and _is_users(each)]:
        for whole in ("COMM_WORLD", "COMM_SELF"):
            for name in [name for name, value in vars(other).items() if value is raw[whole]]:
                setattr(other, name, getattr(mpi, whole))  # it was taken before `ttnn` was imported


def _and_watched(start: Any, module: ModuleType) -> Any:
    """What starts MPI, and lets it be watched."""

    def call(*words: Any, **named: Any) -> Any:
        found = start(*words, **named)
        _watch(module)
        return found

    call.__name__ = start.__name__
    return call


def _reduced(comm: Any) -> Any:
    from tt_run.runtime.own_mpi.communicators import copy_of_world

    return (copy_of_world, ()) if comm == sys.modules[_MODULE].COMM_WORLD else comm.__reduce_ex__(4)


def _watch_pickles() -> None:
    from tt_run.runtime.own_mpi.communicators import watch_pickles

    if _PICKLES in sys.modules:
        watch_pickles(sys.modules[_PICKLES])
    else:
        sys.meta_path.insert(0, Finder({_PICKLES: watch_pickles}))


def _is_users(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not is_library(file)
