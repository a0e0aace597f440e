"""The traceback of one mistake in a program that all ranks run, or its own words (`error: …`): shown once, and who printed it again.

Only the whole of it, word for word the same, is left out; the ranks' logs hold all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mgd.lean import dataclass, field
from tt_run.supervise.looking.stacks import rank_list

# The second begins a SyntaxError; the others are what programs say on their own when they end.
BEGINS = (b"Traceback (most recent call last):", b'  File "', b"usage: ")
CHAINED = (b"The above exception was", b"During handling of")
MOST_LINES = 200  # of a traceback that is remembered
QUIET_SECONDS = 0.3  # so long after its last line nothing more is expected of a traceback
GATHER_SECONDS = 1.0  # so long after the first further rank those that printed the same are told together


@dataclass()
class _RepeatedLines:
    lines: list[bytes]
    compared: list[bytes]
    since: float


def _compared(line: bytes, rank: int) -> bytes:
    """A line as it is compared: where a rank names itself (`rank 1`), all say the same."""
    if b"rank" not in line:
        return line
    return re.sub(rb"\b(rank|debugpy) %d\b" % rank, rb"\1 N", line)


@dataclass()
class Echoes:
    """What ranks write to standard error passes through `take`; `due` gives what has waited long enough."""

    _told: list[bytes] = field(
        default_factory=list
    )  # the last traceback that was shown, line by line as compared
    _told_at: float = 0.0
    _teller: int | None = None
    _held: dict[int, _RepeatedLines] = field(default_factory=dict)  # by rank, what has been the same so far
    _same: list[int] = field(default_factory=list)  # ranks that printed the same, not told yet
    _same_since: float = 0.0

    def take(self, rank: int, lines: Iterable[bytes], now: float) -> list[bytes]:
        """The lines to show now: all but those that repeat, so far, what another rank has said."""
        shown: list[bytes] = []
        for line in lines:
            compared = _compared(line, rank)
            held = self._held.get(rank)
            if held is not None:
                place = len(held.lines)
                is_ahead = place >= len(self._told) and now - self._told_at <= QUIET_SECONDS
                if is_ahead or self._told[place : place + 1] == [compared]:
                    held.lines.append(line)
                    held.compared.append(compared)
                    held.since = now
                    continue
                shown += self._held.pop(rank).lines
            if rank == self._teller and not self._begins_anew(line):
                self._remember(compared, now)
            elif _is_beginning(line):
                if self._told and self._told[0] == compared and rank != self._teller:
                    self._held[rank] = _RepeatedLines([line], [compared], now)
                    continue
                if not self._held:  # what others are compared with stays meanwhile
                    self._told, self._told_at, self._teller = [compared], now, rank
            shown.append(line)
        return shown

    def due(self, now: float, final: bool) -> tuple[list[tuple[int, list[bytes]]], str]:
        """Lines of ranks that were not the same after all, and a sentence on those that were."""
        others = []
        for rank, held in list(self._held.items()):
            if final or now - held.since > QUIET_SECONDS:
                del self._held[rank]
                if held.compared != self._told:
                    others.append((rank, held.lines))
                    continue
                self._same_since = self._same_since if self._same else now
                self._same.append(rank)
        if not self._same or not (final or now - self._same_since > GATHER_SECONDS):
            return others, ""
        same, self._same = sorted(self._same), []
        return others, f"{rank_list(same)} printed the same"

    def _begins_anew(self, line: bytes) -> bool:
        """Whether the teller begins another traceback, which is no part of a chain."""
        if not line.startswith(b"Traceback "):
            return False
        before = next((said for said in reversed(self._told) if said.strip()), b"")
        return not before.startswith(CHAINED)

    def _remember(self, line: bytes, now: float) -> None:
        if len(self._told) < MOST_LINES:
            self._told.append(line)
            self._told_at = now
        else:
            self._told, self._teller = [], None


def _is_beginning(line: bytes) -> bool:
    return line.startswith(BEGINS) or (line[:5].lower() == b"error" and not line[5:6].isalnum())
