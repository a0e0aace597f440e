"""The line that tells how many ranks have started, where many take their time. On a terminal only."""

from __future__ import annotations

from mgd.lean import dataclass

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import TextIO

FEWEST_RANKS = 8
PATIENCE_SECONDS = 0.5  # a start faster than this needs no line


@dataclass()
class Progress:
    """Rewrites one line of a terminal; `stream` is None where there is none."""

    stream: TextIO | None
    size: int
    shown: int = -1

    def update(self, started: int, elapsed: float) -> None:
        """Shows the number of started ranks; takes the line away once all have started."""
        if self.stream is None or self.size < FEWEST_RANKS or started == self.shown:
            return
        if started >= self.size:
            self.clear()
        elif elapsed >= PATIENCE_SECONDS:
            self.stream.write(f"\r\x1b[Ktt-run: {started} of {self.size} ranks started")
            self.stream.flush()
            self.shown = started

    def clear(self) -> None:
        """Takes the line away, so that others can be written."""
        if self.stream is not None and self.shown >= 0:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self.shown = -1
