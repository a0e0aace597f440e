"""Where a rank is whose interpreter answers no question: a call in C keeps it to itself, as `comm.allreduce` of mpi4py does while it waits.

The handler that the launcher installs for SIGUSR1 needs no interpreter: it writes the stacks of all threads to the rank's file.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from tt_run import contract
from tt_run.runtime import events, launched

_SECONDS = 0.5  # what a dump takes at most, as a rule a millisecond
_STACK = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+ \[?.*$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


def seized_place(rank: int, pid: int) -> str:
    """The innermost line of the user's program, `a.py:3 in step`; empty where nobody can tell."""
    folder = launched.variables.get(contract.RUN_DIR)
    if not folder:
        return ""
    path = Path(folder, contract.STACKS_FILE.format(rank=rank))
    try:
        if not path.read_bytes().startswith(f"# registered pid={pid}\n".encode()):
            return ""
        before = path.stat().st_size
        return place_in(_what_comes(path, before)) if contract.ask_stacks(pid) else ""
    except OSError:
        return ""


def place_in(dump: str) -> str:
    """The user's line in the stack of the main thread, which the dump shows last."""
    stacks = _STACK.split(dump)
    frames = _FRAME.findall(stacks[-1]) if len(stacks) > 1 else []
    found = next((frame for frame in frames if not events.is_library(frame[0])), None)
    return "" if found is None else f"{found[0]}:{found[1]} in {found[2]}"


def _what_comes(path: Path, before: int) -> str:
    deadline, size = time.monotonic() + _SECONDS, before
    while time.monotonic() < deadline:
        time.sleep(0.02)
        now = path.stat().st_size
        if now > before and now == size:
            break
        size = now
    with path.open(encoding="utf-8", errors="replace") as stream:
        stream.seek(before)
        return stream.read()
