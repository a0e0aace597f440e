"""The number of this process: what the program asks for it in a replay gets that of the run, and may use it for itself."""

from __future__ import annotations

import os
import sys
from typing import Any

from tt_run.runtime.record.clocks import Counted

_getpid, _kill = os.getpid, os.kill


class RecordedNumber:
    """The number that the replayed process had. Others' calls, and children, get the true one."""

    def __init__(self, recorded: int) -> None:
        self.recorded, self._own = recorded, _getpid()

    def install(self) -> None:
        """Give it to the program of this process, and take it from the program."""
        counted = Counted()

        def getpid() -> int:
            found = _getpid()
            return (
                self.recorded
                if found == self._own and counted[sys._getframe(1).f_code.co_filename]
                else found
            )

        def kill(pid: int, signal: int, /) -> None:
            _kill(self._own if pid == self.recorded else pid, signal)

        for function, original in ((getpid, _getpid), (kill, _kill)):
            made: Any = function
            made.__qualname__, made.__module__, made.__doc__ = made.__name__, "posix", original.__doc__
            setattr(
                os, made.__name__, staticmethod(made)
            )  # as the original, no method where a class holds it

    def here(self, path: str) -> str:
        """A file of the recorded process's in /proc, as one of this process's."""
        before = f"/proc/{self.recorded}/"
        return f"/proc/self/{path[len(before) :]}" if path.startswith(before) else path
