"""The processes of this machine's ranks, looked at from outside: gone without a record, or stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

from mgd.lean import dataclass, field
from tt_run.supervise.status import StatusBoard

LOOK_SECONDS = 0.1
STOOD_SECONDS = 1.0  # so long after it was continued a rank still counts as stopped
_DEAD = ("", "Z", "X")
STANDS = ("T", "t", *_DEAD)
"""Of a process that does nothing: stopped by a signal or a debugger, or gone."""


@dataclass()
class Vitals:
    """`look` is called as often as convenient and looks no more often than every LOOK_SECONDS.

    `gone` tells when the process of a rank was first missed, `stopped` the ranks that a signal has stopped and nobody has continued,
    `outlived` the ranks that were there after another rank's failure was on record, once `note_survivors` has been called.
    """

    host: str
    clock: Callable[[], float] = time.monotonic
    gone: dict[int, float] = field(default_factory=dict)
    stopped: tuple[int, ...] = ()
    _stood: dict[int, float] = field(default_factory=dict)
    outlived: tuple[int, ...] | None = None
    _next: float = 0.0

    def look(self, board: StatusBoard) -> None:
        now = self.clock()
        if now < self._next:
            return
        self._next = now + LOOK_SECONDS
        for status in board.all():
            if status.pid is None or status.ended or status.host != self.host:
                continue
            state = state_of(status.pid)
            if state in _DEAD:
                self.gone.setdefault(status.rank, now)
            elif state == "T":
                self._stood[status.rank] = now
        # mpirun continues what it is about to end, which may come before any record of why.
        self.stopped = tuple(rank for rank, seen in self._stood.items() if now - seen <= STOOD_SECONDS)

    def note_survivors(self, board: StatusBoard) -> None:
        """To be called once a failure is on record: whoever is still there did not end before it."""
        if self.outlived is None:
            self.outlived = tuple(
                status.rank
                for status in board.all()
                if status.pid is not None
                and not status.ended
                and status.host == self.host
                and state_of(status.pid) not in _DEAD
            )


def state_of(pid: int) -> str:
    """The letter of a process's state, as `ps` shows it; empty when there is no such process."""
    return next(iter(_stat(pid)), b"").decode()


def parent_of(pid: int) -> int:
    """The number of a process's parent; 0 when there is no such process."""
    return int([*_stat(pid), b"0", b"0"][1])


def _stat(pid: int) -> list[bytes]:
    """What the kernel says of a process, from its state on; nothing of one that is not there."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()
    except OSError:
        return []
