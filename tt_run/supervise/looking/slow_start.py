"""Ranks that have not started yet: said after a while, with the hosts that are waited for, and ever more seldom from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mgd.lean import dataclass
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.status import StatusBoard

FIRST_SECONDS = 20.0
FURTHER = 2.0


@dataclass()
class SlowStart:
    """`hosts` are those of the ranks in their order where the plan says so, else all that may have some; `deadline` is --start-timeout."""

    board: StatusBoard
    hosts: Sequence[str]
    say: Callable[[str], None]
    deadline: float | None
    _next: float = FIRST_SECONDS

    def look(self, elapsed: float) -> None:
        """To be called again and again, with the seconds since the launcher was started."""
        if elapsed < self._next or self.board.all_started:
            return
        self._next = elapsed * FURTHER
        missing = [rank for rank in range(self.board.size) if not self.board.of(rank).started]
        known = len(self.hosts) == self.board.size
        hosts = dict.fromkeys(self.hosts[rank] for rank in missing) if known else dict.fromkeys(self.hosts)
        where = f" on {', '.join(hosts)}" if hosts else ""
        doctor = f"; tt-run doctor --hosts {','.join(hosts)} asks each of them" if hosts else ""
        ends = "" if self.deadline is None else f"; at {self.deadline:g} s the run ends (--start-timeout)"
        verb = "has" if len(missing) == 1 else "have"
        self.say(f"{rank_list(missing)}{where} {verb} not started for {elapsed:.0f} s{doctor}{ends}")
