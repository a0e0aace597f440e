"""What the guard of the emulation says: every rank raises it, and the report at the end says it once, so the console holds it back.

Only a traceback that ends in it is held, and what stands above it; whatever a rank prints in between or after that is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mgd.lean import dataclass, field

_BEGINS = b"Traceback (most recent call last):"
_CHAINED = (_BEGINS, b"The above exception was", b"During handling of")
_GUARD = rb"(?:\w+\.)*GuardError: error\[TTG\d+\]"
MOST_LINES = 400  # of a traceback that is held
QUIET_SECONDS = 0.3  # so long after its last line nothing more is expected of a traceback
PATIENT_SECONDS = 15.0  # so long after the guard's words the run goes on, since the program has caught them: then they are shown


@dataclass()
class _HeldTraceback:
    lines: list[bytes]
    since: float
    is_told: bool = False  # whether the guard's words have come


@dataclass()
class GuardWords:
    """What ranks write to standard error passes through `take`; `due` gives what is to be shown after all."""

    _held: dict[int, _HeldTraceback] = field(default_factory=dict)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks whose words of the guard have not been shown."""
        return tuple(sorted(rank for rank, held in self._held.items() if held.is_told))

    def take(self, rank: int, lines: Iterable[bytes], now: float) -> list[bytes]:
        """The lines to show now."""
        shown: list[bytes] = []
        for line in lines:
            held = self._held.get(rank)
            if held is None:
                if line.startswith(_CHAINED):
                    self._held[rank] = _HeldTraceback([line], now)
                else:
                    shown.append(line)
                continue
            belongs = line.startswith((b" ", *_CHAINED)) or not line.strip()
            if belongs or (not held.is_told and re.match(_GUARD, line)):
                if line.startswith(_CHAINED):
                    held.is_told = False
                held.is_told |= not belongs
                held.lines.append(line)
                held.since = now
                if len(held.lines) > MOST_LINES:
                    shown += self._held.pop(rank).lines
            elif held.is_told:
                shown.append(line)
            else:
                shown += [*self._held.pop(rank).lines, line]
        return shown

    def release(self) -> list[tuple[int, list[bytes]]]:
        """What has been held back of each rank, which no report will say."""
        found = [(rank, held.lines) for rank, held in self._held.items()]
        self._held.clear()
        return found

    def due(self, now: float, final: bool) -> list[tuple[int, list[bytes]]]:
        """Lines that were no words of the guard, or were not the end of their rank."""
        found = []
        for rank, held in list(self._held.items()):
            patience = PATIENT_SECONDS if held.is_told else QUIET_SECONDS
            if now - held.since > patience or (final and not held.is_told):
                del self._held[rank]
                found.append((rank, held.lines))
        return found
