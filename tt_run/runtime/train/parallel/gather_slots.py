"""When a buffer that held one gathered unit may take the next: what a program that gathers ahead of its use plans by."""

from __future__ import annotations

from collections.abc import Hashable


class SlotSchedule:
    """Which earlier release a gather into a buffer has to wait for.

    Units are gathered `lookahead` ahead of their use into 2 * `lookahead` buffers in turn; a buffer is released when its unit has computed.
    A gather waits for the release that is `lookahead` after the last one of its own buffer, in whichever direction the units run. Raises
    ValueError for a lookahead below 1. Source: upstream's `ttml.fsdp`.
    """

    def __init__(self, lookahead: int) -> None:
        if lookahead < 1:
            raise ValueError(f"lookahead must be at least 1, got {lookahead}")
        self.lookahead = lookahead
        self._released = 0
        self._last: dict[Hashable, int] = {}

    @property
    def num_slots(self) -> int:
        """Buffers in all."""
        return 2 * self.lookahead

    def slot_of(self, unit: int) -> int:
        """The buffer of a unit."""
        return unit % self.num_slots

    def release(self, slot: Hashable) -> int:
        """Count a release of a buffer; its number, from 0."""
        self._last[slot], self._released = self._released, self._released + 1
        return self._last[slot]

    def wait_target(self, slot: Hashable) -> int | None:
        """The number of the release to wait for; None where everything must be done first: a new buffer, or a release that is still to come."""
        last = self._last.get(slot)
        target = None if last is None else last + self.lookahead
        return target if target is not None and target < self._released else None

    def oldest_needed(self) -> int:
        """The first release that a gather may still wait for; what is known of earlier ones may be forgotten."""
        return min(self._last.values(), default=0)
