"""A started job as tt-run sees it: mpirun below its keeper, told and asked through the keeper's pipes."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from tt_run.launch.descendants import descendants
from tt_run.launch.keeper import (
    ENDED,
    FAILED,
    KILL,
    LEFT,
    SIGNAL,
    STARTED,
    WELL,
    Order,
    fork_keeper,
    remove_tree,
)
from tt_run.launch.process import raise_unstartable

FINISH_SECONDS = 6.0  # the keeper's own limits come to three
TOLD_SECONDS = 0.02  # by then a keeper that is not stopped has told that mpirun ended


class KeptJob:
    """A launch that ends with everything it has started on this machine, even when this process is killed.

    `pid` is mpirun's. Raises OSError when that cannot be executed.
    """

    def __init__(self, order: Order, abandoned: Callable[[int], str] = lambda _: "") -> None:
        raise_unstartable(order.words[0])
        self._scratch = order.scratch
        self._heard = b""
        self._left: tuple[int, ...] | None = None
        self._error: OSError | None = None
        self.pid = 0
        self.returncode: int | None = None
        self._keeper, self._commands, self._replies = fork_keeper(order, abandoned)
        self._keeper_is_gone = False
        while self.pid == 0 and self._error is None and not self._keeper_is_gone:
            self._hear(None)
        if self.pid == 0:
            self._close()
            raise self._error or OSError(5, "the keeper of the run was killed", order.words[0])

    def poll(self) -> int | None:
        """The exit code of mpirun, negative for a signal, or None while it runs."""
        if self.returncode is None:
            self._hear(0)
            if self.returncode is None and not self._keeper_is_gone and not _lives(self.pid):
                self._hear(TOLD_SECONDS)
                if self.returncode is None and not self._keeper_is_gone:  # somebody has stopped it
                    with suppress(ProcessLookupError):
                        os.kill(self._keeper, signal.SIGCONT)
            if self._keeper_is_gone and self.returncode is None and not _lives(self.pid):
                self.returncode = -signal.SIGTERM  # what the kernel sent it when its keeper died
        return self.returncode

    def send(self, number: int) -> None:
        """Signals mpirun; no error when it is gone."""
        self._tell(b"%s %d" % (SIGNAL, number), lambda: os.kill(self.pid, number))

    def kill(self) -> None:
        """Ends mpirun at once, with every process of its session's first group."""
        self._tell(KILL, lambda: os.killpg(self.pid, signal.SIGKILL))

    def processes(self) -> dict[int, int]:
        """The processes of ranks below the keeper, with their ranks; those of mpirun itself are none."""
        found = {} if self._keeper_is_gone else descendants(self._keeper)
        return {pid: rank for pid, rank in found.items() if rank >= 0 and pid != self.pid}

    def finish(self) -> tuple[int, ...] | None:
        """Ends whatever the job has left on this machine, and the keeper: a rank for each process that was ended, -1 where it is not known.

        None when the keeper could not see to it, and others must look. Ends mpirun too, if it still runs.
        """
        self.kill()
        self._tell(WELL, lambda: None)
        deadline = time.monotonic() + FINISH_SECONDS
        while self._left is None and not self._keeper_is_gone and time.monotonic() < deadline:
            self._hear(max(0.0, deadline - time.monotonic()))
        if self._left is None and not self._keeper_is_gone:
            os.kill(self._keeper, signal.SIGKILL)  # it hangs, on a dead disk for example
        if self._left is None and self._scratch is not None:
            remove_tree(self._scratch)
        self._close()
        return self._left

    def _tell(self, line: bytes, without_keeper: Callable[[], None]) -> None:
        if self.returncode is not None and line != WELL:
            return
        try:
            os.write(self._commands, line + b"\n")
        except OSError:
            with suppress(ProcessLookupError):
                without_keeper()

    def _hear(self, seconds: float | None) -> None:
        """Takes in what the keeper says within `seconds` (None: however long it takes)."""
        if self._keeper_is_gone or not select.select([self._replies], [], [], seconds)[0]:
            return
        text = os.read(self._replies, 4096)
        self._keeper_is_gone = not text
        *lines, self._heard = (self._heard + text).split(b"\n")
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == STARTED:
                self.pid = int(rest)
            elif word == FAILED:
                number, _, name = rest.partition(b" ")
                self._error = OSError(int(number), os.strerror(int(number)), os.fsdecode(name))
            elif word == ENDED:
                self.returncode = int(rest)
            elif word == LEFT:
                inherits, *ranks = rest.split()
                self._left = tuple(map(int, ranks)) if inherits == b"1" else None
                self._keeper_is_gone = True

    def _close(self) -> None:
        for end in (self._commands, self._replies):
            os.close(end)
        with suppress(ChildProcessError):
            os.waitpid(self._keeper, 0)


def _lives(pid: int) -> bool:
    """Whether the process exists and is not just waiting to be reaped: in a container nobody may ever do that."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
