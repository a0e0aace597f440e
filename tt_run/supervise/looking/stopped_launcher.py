"""mpirun, or the wrapper of a rank that has ended, stopped by a signal: nobody starts, or reaps, what the run waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mgd.lean import dataclass, field
from tt_run.supervise.looking.stopped_ranks import TOLD_SECONDS, stopped_sentence
from tt_run.supervise.status import StatusBoard
from tt_run.supervise.vitals import parent_of, state_of

LOOK_SECONDS = 1.0


@dataclass()
class StoppedLauncher:
    """`look` is called again and again. `pid` is mpirun's, `patience` the seconds after which the run is given up; None: never."""

    pid: int
    board: StatusBoard
    host: str
    say: Callable[[str], None]
    patience: float | None = None
    _since: dict[str, float] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _next: float = 0.0

    def look(self, now: float) -> str:
        """Who has been stopped for too long, with what would have let it go on; empty for nobody."""
        if now < self._next:
            return ""
        self._next = now + LOOK_SECONDS
        stopped = dict(self._stopped())
        self._since = {who: self._since.get(who, now) for who in stopped}
        self._told &= set(stopped)
        for who, since in self._since.items():
            seconds = now - since
            if self.patience is not None and seconds > self.patience:
                return f"{who} was stopped by a signal (SIGSTOP or SIGTSTP); kill -CONT {stopped[who]} would have let it go on"
            if seconds >= TOLD_SECONDS and who not in self._told:
                self._told.add(who)
                self.say(
                    stopped_sentence(who, stopped[who], seconds, f"kill -CONT {stopped[who]}", self.patience)
                )
        return ""

    def _stopped(self) -> Iterator[tuple[str, int]]:
        if state_of(self.pid) == "T":
            yield "mpirun", self.pid
        for status in self.board.all():
            if status.pid is None or status.ended or status.host != self.host or state_of(status.pid) != "Z":
                continue
            parent = parent_of(status.pid)
            if state_of(parent) == "T":
                yield f"the wrapper of rank {status.rank}, which has ended,", parent
