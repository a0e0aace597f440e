"""What `AutoContext.get_profiler` gives: marks in the timeline where hardware would profile kernels."""

from __future__ import annotations

import os
from typing import Any

from tt_run.runtime import events

NAIVE = "TTML_NAIVE_PROFILER"


class Profiler:
    """Marks moments of a program; kernels of devices are not emulated. Published as `ttml.core.TTProfiler`, too."""

    def __init__(self) -> None:
        self._enabled = True

    def is_enabled(self) -> bool:
        """Whether marks are made."""
        return self._enabled

    def enable(self) -> None:
        """Make marks from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Make no marks any more."""
        self._enabled = False

    def get_naive_profiling(self) -> bool:
        """Whether TTML_NAIVE_PROFILER is set, with which the reference prints times instead of marking kernels."""
        return NAIVE in os.environ

    def read_results(
        self,
        device: Any,
        noop_identifier: str = "noop_identifier",
        number_of_noops: int = 5,
        dump_results: bool = False,
    ) -> None:
        """Mark this moment with a name. The device, the number of no-ops and dumping concern kernels, which are not emulated."""
        if self._enabled and events.listening:
            now = events.now()
            events.emit(events.Event("step", noop_identifier, now, now, events.call_site()))
