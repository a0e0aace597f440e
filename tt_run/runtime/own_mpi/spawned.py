"""Processes that a program starts through MPI, and that may never call MPI_Init: whoever starts them waits in the library for it."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from tt_run.rules import guard_rule
from tt_run.runtime import events
from tt_run.runtime.comm.deadlines import Patience
from tt_run.runtime.comm.world import seconds_to_wait, world
from tt_run.runtime.guard import GuardError
from tt_run.runtime.own_mpi.calls import word

INFO = 3
ROOT = 4
"""Where the hints, and the rank whose words count, stand among the words of both calls."""
HOOK = f"{os.sep}tt_run{os.sep}launch{os.sep}hook"
_LOOK_SECONDS = 0.1
NOT_STARTED = "TTG009"
"""A program was started through MPI and has not called MPI_Init."""


def with_emulation(
    name: str, words: Sequence[Any], named: dict[str, Any], mpi: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The words of a call, where the programs it starts find `ttnn` as this rank does: they have mpirun's environment, not the rank's.

    What the program itself says of their environment stays.
    """
    given = word(words, named, INFO, ("info",), None)
    several = name != "Spawn" and isinstance(given, Sequence)
    infos = [_with_path(each, mpi) for each in (given if several else (given,))]
    info = infos if several else infos[0]
    if len(words) > INFO:
        return (*words[:INFO], info, *words[INFO + 1 :]), named
    return tuple(words), {**named, "info": info}


def _with_path(info: Any, mpi: Any) -> Any:
    """Hints with this rank's path of modules in them, but for the launcher's hook, which serves ranks alone."""
    path = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not each.endswith(HOOK)]
    made = mpi.Info.Create() if info is None or info == mpi.INFO_NULL else info.Dup()
    key = "env" if "Open MPI v4" in mpi.Get_library_version() else "PMIX_ENVAR"
    if any(made.Get(each) is not None for each in ("env", "PMIX_ENVAR")):
        return made
    made.Set(key, f"PYTHONPATH={os.pathsep.join(path)}")
    return made


@contextmanager
def awaited(name: str, words: Sequence[Any], named: dict[str, Any]) -> Iterator[None]:
    """Ends this rank with a finding when the call takes longer than ranks wait for each other: the library cannot be called off."""
    over = threading.Event()
    frame = events.user_frame(3)
    watching = threading.Thread(
        target=_watch, args=(over, name, words, named, frame), name="tt-run spawn", daemon=True
    )
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def _watch(
    over: threading.Event, name: str, words: Sequence[Any], named: dict[str, Any], frame: FrameType | None
) -> None:
    seconds, patience = seconds_to_wait(), Patience()
    while not over.wait(_LOOK_SECONDS):
        patience.look()
        if patience.over(seconds):
            break
    else:
        return
    site = "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    text = _told(f"MPI {name}", _lines(name, words, named), site, seconds)
    trace = None if frame is None else TracebackType(None, frame, frame.f_lasti, frame.f_lineno)
    error = GuardError(text, NOT_STARTED, (world().rank,)).with_traceback(trace)
    try:
        sys.excepthook(GuardError, error, trace)
    finally:
        os._exit(1)


def _lines(name: str, words: Sequence[Any], named: dict[str, Any]) -> list[list[str]]:
    """The lines of the programs that a call starts."""
    programs, arguments = word(words, named, 0, ("command",), ""), word(words, named, 1, ("args",), None)
    if name == "Spawn":
        programs, arguments = [programs], [arguments]
    arguments = arguments or [None] * len(programs)
    return [
        [os.fsdecode(each) for each in (program, *(more or ()))]
        for program, more in zip(programs, arguments, strict=False)
    ]


def _told(operation: str, programs: Sequence[Sequence[str]], site: str, seconds: float) -> str:
    """The report: who waits where and for what, and what starts such a program."""
    rank, names = world().rank, " and ".join(dict.fromkeys(shlex.quote(line[0]) for line in programs))
    verb = "has" if len(programs) == 1 else "have"
    return (
        f"error[{NOT_STARTED}]: rank {rank} started {names}, which {verb} not called MPI_Init for {seconds:g} s\n"
        f"  rank {rank}: in {operation} at {site}  <-\n"
        f"  help: {guard_rule(NOT_STARTED).help}: subprocess.run({list(programs[0])!r})"
    )
