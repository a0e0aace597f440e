"""Whose keyboard it is: what reads the terminal for rank 0 waits while tt-run is in the background, as any program of the shell's does.

That process is in no group of the shell's, so that the kernel does not keep it from what is typed for others. It is stopped once it reads:
until then it opens the pipe to rank 0, which waits for it and would not start.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mgd.lean import dataclass
from tt_run.supervise.vitals import STANDS, state_of


@dataclass()
class InputTurn:
    """`look` is called again and again. `readers` are the processes that read this one's standard input."""

    readers: Sequence[int]
    say: Callable[[str], None]
    terminal: int = 0
    _waits: bool = False
    _told: bool = False

    def look(self) -> None:
        if not self.readers:
            return
        away = self._is_away()
        if away != self._waits and (not away or all(map(_has_its_pipe, self.readers))):
            self._waits = away
            for pid in self.readers:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGSTOP if away else signal.SIGCONT)
        # Only once it holds: whoever reads it types for the shell, and one that is not stopped yet would take that.
        if self._waits and not self._told and all(state_of(pid) in STANDS for pid in self.readers):
            self._told = True
            self.say("in the background nothing is read from the terminal: rank 0 has its input with fg")

    def _is_away(self) -> bool:
        """Whether the terminal is another job's; never where there is none, or it is not this session's."""
        try:
            return os.tcgetpgrp(self.terminal) not in (os.getpgrp(), 0)
        except OSError:
            return False


def _has_its_pipe(pid: int) -> bool:
    """Whether a reader writes to the pipe, which both have opened then; not one that has ended."""
    return Path(f"/proc/{pid}/fd/1").is_fifo()
