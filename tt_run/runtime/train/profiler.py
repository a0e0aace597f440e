"""What `AutoContext.get_profiler` gives: marks in the timeline where hardware would profile kernels."""

from __future__ import annotations

from typing import Any

from tt_run.runtime import events


class Profiler:
    """Marks moments of a program; kernels of devices are not emulated."""

    def read_results(
        self,
        device: Any,
        noop_identifier: str = "noop_identifier",
        number_of_noops: int = 5,
        dump_results: bool = False,
    ) -> None:
        """Mark this moment with a name. The device, the number of no-ops and dumping concern kernels, which are not emulated."""
        if events.listening:
            now = events.now()
            events.emit(events.Event("step", noop_identifier, now, now, events.call_site()))
