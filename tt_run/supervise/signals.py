"""Signals to tt-run itself: noted, never acted upon inside a handler."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tt_run.contract import Exit

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2)
"""For the ranks, as mpirun takes them."""
STANDING = (signal.SIGTSTP, signal.SIGCONT)
"""For all: ranks stand still and go on with tt-run."""
EXIT_OF_SIGNAL = {
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGHUP: Exit.HUNG_UP,
}


class SignalInbox:
    """The signals that have arrived and were not looked at yet; `wake_fd` becomes readable when one does."""

    def __init__(self, wake_fd: int) -> None:
        self.wake_fd = wake_fd
        self.arrived: list[int] = []

    def take(self) -> list[int]:
        """What has arrived since the last call."""
        taken, self.arrived = self.arrived, []
        return taken

    def forget(self, number: int) -> None:
        """Take this signal as never arrived."""
        while number in self.arrived:  # in place: another may arrive meanwhile
            self.arrived.remove(number)


@contextmanager
def watching_signals() -> Iterator[SignalInbox]:
    """Collects INT, TERM, HUP, QUIT, USR1, USR2, TSTP and CONT, which do nothing else then; the former handlers come back at the end."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    inbox = SignalInbox(read_end)

    def note(number: int, frame: FrameType | None) -> None:
        inbox.arrived.append(number)

    watched = (*ENDING_SIGNALS, *PASSED_ON, *STANDING, signal.SIGQUIT)
    # What is ignored already stays so: `nohup tt-run …` survives the end of its terminal.
    wanted = [number for number in watched if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in wanted}
    wakeup_before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        yield inbox
    finally:
        signal.set_wakeup_fd(wakeup_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
