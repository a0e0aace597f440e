"""What a program's own MPI has on its way. MPI moves it on only while this rank is in a call of MPI, and a rank that waits in shared memory is not.

A message that is too large to leave at once, or that another rank reads from a window, stands still meanwhile: so whoever waits calls `moves`.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from tt_run.runtime.comm.world import world

_TAG = 6  # of no message: to look for one is what moves the others on
_MANY = 64  # requests, before those are forgotten that are over


class OwnTraffic:
    """The requests and windows that this rank's program has open. They are not kept alive: their buffers are the program's."""

    def __init__(self) -> None:
        self.used = False
        """Whether the program has sent anything itself: what it did not start may still be on its way, as what was copied for it is."""
        self._requests: list[weakref.ref[Any]] = []
        self._lasting: list[weakref.ref[Any]] = []
        self._many = _MANY

    def started(self, request: Any) -> None:
        """A request of the main thread. What other threads start they wait for, with calls of MPI."""
        self.used = True
        if threading.current_thread() is not threading.main_thread():
            return
        self._requests.append(weakref.ref(request))
        if len(self._requests) > self._many:
            self._requests = [
                each for each in self._requests if (found := each()) is not None and bool(found)
            ]
            self._many = max(_MANY, 2 * len(self._requests))

    def opened(self, window: Any) -> None:
        """A window, which other ranks may use as long as it is not freed, or a request that is started again and again."""
        self.used = True
        self._lasting = [each for each in self._lasting if (found := each()) is not None and bool(found)]
        self._lasting.append(weakref.ref(window))

    def moves(self) -> bool:
        """Move on what is on its way; True when there is something of which this rank knows."""
        if not self.used:
            return False
        everyone = world()
        everyone.control.comm.Iprobe(everyone.rank, _TAG)
        if threading.current_thread() is not threading.main_thread():
            # The main thread may be ending one of its requests at this moment, so nobody else asks for their state.
            return bool(self._lasting or self._requests)
        if self._lasting and any(_is_open(each()) for each in self._lasting):
            return True
        while self._requests:
            found = self._requests[-1]()
            if found is not None and not _is_over(found):
                return True
            self._requests.pop()
        return False


def _is_open(lasting: Any) -> bool:
    """Windows are until they are freed; a request that is made once is while it is started."""
    return bool(lasting) and not (hasattr(lasting, "Get_status") and _is_over(lasting))


def _is_over(request: Any) -> bool:
    """Asked of the library itself: no book writes down what the program does not ask."""
    library: Any = sys.modules["mpi4py.MPI"]
    return bool(library._tt_run_raw["Request"].Get_status(request))


own_traffic = OwnTraffic()
