"""Deadlines that a busy machine does not shorten: how long a rank has been waited for, less what keeps it from running.

Two things make a wait look longer than it is. The waiting process itself may not run (a machine that sleeps, a container that is paused, a
stopped job), so a gap between two looks counts a second at most, and is no part of the wait unless it had no processor. And the rank that is waited for may have work and no processor: the
kernel counts that time for each process (`/proc/PID/schedstat`), and it does not count here. A wait still ends: at the latest after MOST
times the deadline. While a rank is stopped in a debugger nothing counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from tt_run.runtime.comm import debugger_pause

GAP = 1.0
"""Seconds that one look may be apart from the one before."""
MOST = 5.0
"""How many times its deadline a wait may last, however busy the machine is."""


def delayed(pid: int) -> float:
    """Seconds for which a process of this host was ready and had no processor; 0.0 where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as stream:
            return int(stream.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class Patience:
    """One wait. `look` it, with the processes that are waited for, as often as they are looked at."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._begun = self._last = clock()
        self._counted = 0.0
        self._delays: dict[int, float] = {}
        self._own = delayed(os.getpid())

    def look(self, pids: Iterable[int] = ()) -> None:
        """Count the time since the last look, less that for which all of these processes, or the one kept longest, had to wait for a processor."""
        now = self._clock()
        own, self._own = self._own, delayed(os.getpid())
        if debugger_pause.is_now():
            self._begun += now - self._last
            self._last = now
            return
        passed, self._last = now - self._last, now
        if passed > GAP:
            self._begun += max(passed - GAP - (self._own - own), 0.0)
            passed = GAP
        held = 0.0
        for pid in pids:
            found = delayed(pid)
            held = max(held, found - self._delays.get(pid, found))
            self._delays[pid] = found
        self._counted += max(passed - held, 0.0)

    def over(self, seconds: float) -> bool:
        """Whether a deadline of so many seconds has passed."""
        return self._counted > seconds or self._last - self._begun > MOST * seconds
