"""Ranks that have not started yet: said after a while, with the hosts that are waited for, and ever more seldom from then on.

Open MPI 4.1 may wait for ever for ranks that it could not start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mgd.lean import dataclass
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.status import StatusBoard

FIRST_SECONDS = 20.0
FURTHER = 2.0
HOPELESS_SECONDS = 5.0  # by then an mpirun that ends over what it could not start has ended


@dataclass()
class SlowStart:
    """`hosts` are those of the ranks in their order where the plan says so, else all that may have some; `deadline` is --start-timeout;
    `is_hopeless` tells whether mpirun has said that it cannot start all."""

    board: StatusBoard
    hosts: Sequence[str]
    say: Callable[[str], None]
    deadline: float | None
    is_hopeless: Callable[[], bool] = lambda: False
    _next: float = FIRST_SECONDS
    _next_doubt: float = HOPELESS_SECONDS

    def look(self, elapsed: float) -> bool:
        """To be called again and again, with the seconds since the launcher was started; True when there is nothing to wait for any more."""
        if self.board.all_started:
            return False
        if elapsed >= self._next_doubt:
            self._next_doubt = elapsed * FURTHER
            if self.is_hopeless():
                return True
        if elapsed >= self._next:
            self._say(elapsed)
        return False

    def _say(self, elapsed: float) -> None:
        self._next = elapsed * FURTHER
        missing = [rank for rank in range(self.board.size) if not self.board.of(rank).started]
        known = len(self.hosts) == self.board.size
        hosts = dict.fromkeys(self.hosts[rank] for rank in missing) if known else dict.fromkeys(self.hosts)
        where = f" on {', '.join(hosts)}" if hosts else ""
        doctor = f"; tt-run doctor --hosts {','.join(hosts)} asks each of them" if hosts else ""
        ends = "" if self.deadline is None else f"; at {self.deadline:g} s the run ends (--start-timeout)"
        verb = "has" if len(missing) == 1 else "have"
        self.say(f"{rank_list(missing)}{where} {verb} not started for {elapsed:.0f} s{doctor}{ends}")
