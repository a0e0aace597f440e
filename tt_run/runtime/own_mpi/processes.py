"""Calls of communicators about processes: new ones, and what ranks agree on when some have failed (ULFM)."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import nullcontext
from typing import Any

from tt_run.runtime import guard
from tt_run.runtime.events import call_site
from tt_run.runtime.own_mpi.calls import word
from tt_run.runtime.own_mpi.members import have_met, members_of
from tt_run.runtime.own_mpi.spawned import ROOT, awaited, with_emulation

POOL = "(_manager_spawn)"
"""The thread of mpi4py.futures that starts a pool's processes: where it raises, whoever asks the pool waits for ever."""
AGREEING = ("Agree", "Shrink")
"""What all ranks of a communicator call together, as long as none of them has failed."""


def is_whole(comm: Any) -> bool:
    """Whether all ranks of a communicator are there to meet: none has failed, and nobody has revoked it."""
    return have_met(comm) and not comm.Is_revoked() and comm.Get_failed().Get_size() == 0


def agreeing(name: str, library: Any, meet: Any) -> Any:
    """A call of all ranks that also works when some are gone."""
    if library is None:
        return None

    def call(self: Any, *words: Any, **named: Any) -> Any:
        if is_whole(self):
            meet(members_of(self), f"MPI {name}", "", self)
        guard.own_traffic.used = True
        return library(self, *words, **named)

    call.__name__ = name
    return call


def spawning(name: str, library: Any, meet: Any) -> Any:
    """A call that starts processes: where Open MPI has no room for them, it says no more than that something is wrong, and of those that
    never call MPI_Init nothing, for ever."""
    if library is None:
        return None

    def call(self: Any, *words: Any, **named: Any) -> Any:
        mpi: Any = sys.modules["mpi4py.MPI"]
        root = word(words, named, ROOT, ("root",), 0)
        if is_whole(self):
            meet(members_of(self), f"MPI {name}", f"root {root}", self)
        is_root = root == (mpi.ROOT if self.Is_inter() else self.Get_rank())
        if is_root:
            words, named = with_emulation(name, words, named, mpi)
        try:
            with awaited(name, words, named) if is_root else nullcontext():
                return library(self, *words, **named)
        except mpi.Exception as error:
            if error.Get_error_class() in (mpi.ERR_UNKNOWN, mpi.ERR_SPAWN):
                _explain(error, name)
            if threading.current_thread().name.endswith(POOL):
                sys.excepthook(type(error), error, error.__traceback__)
                os._exit(1)
            raise

    call.__name__ = name
    return call


def _explain(error: BaseException, name: str) -> None:
    text = (
        f"MPI {name} at {call_site()}: Open MPI has no slot left for another process, or cannot start the program\n"
        "  help: tt-run --mpi-args '--map-by :OVERSUBSCRIBE' … lets processes share the cores of the ranks"
    )
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:  # Python 3.10
        print(text, file=sys.stderr, flush=True)
