"""Ranks that a signal has stopped or a control group has frozen, while the run goes on: said soon, and under emulation waited for no longer than for any rank.

Those of this machine are seen at once. Other hosts are asked while ranks wait, ever more seldom, and never in the way of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from mgd.lean import dataclass, field
from tt_run.supervise.looking.frozen import thawing
from tt_run.supervise.status import RankStatus, StatusBoard

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from threading import Thread

TOLD_SECONDS = 10.0
"""For how long a rank is stopped before it is said."""
MARGIN_SECONDS = 10.0
"""What the ranks' own guard gets to name it, beyond its deadline."""
_FIRST_SECONDS, _FURTHER = 2.0, 1.5
_LOOK_SECONDS = 1.0


def continuing(status: RankStatus, here: str, thawed_by: str = "") -> str:
    """The words that let a rank go on: those that thaw it where it is frozen."""
    if thawed_by:
        return thawed_by
    where = f" on {status.host}" if status.host and status.host != here else ""
    return f"kill -CONT {status.pid}{where}"


def stopped_sentence(
    who: str, pid: int | None, seconds: float, going_on: str, patience: float | None, frozen: bool = False
) -> str:
    """That somebody has been stopped for so long, what lets it go on, and when the run is given up."""
    left = "" if patience is None else f", or the run ends in {patience - seconds:.0f} s"
    how, by = ("frozen", "by its control group") if frozen else ("stopped", "SIGSTOP or SIGTSTP")
    return f"{who} has been {how} for {seconds:.0f} s ({by}, process {pid}): {going_on} lets it go on{left}"


@dataclass()
class StoppedRanks:
    """`look` is called again and again. `patience`: seconds after which a rank is no longer waited for; None: for ever.

    `ask` asks other hosts which of their ranks are stopped; None where there are none.
    """

    board: StatusBoard
    host: str
    say: Callable[[str], None]
    patience: float | None = None
    ask: Callable[[], tuple[int, ...]] | None = None
    elsewhere: tuple[int, ...] = ()
    frozen: dict[int, str] = field(default_factory=dict)
    """Ranks of this machine that their control group has frozen, and what lets each go on."""
    _looked: float = 0.0
    _since: dict[int, float] = field(default_factory=dict)
    _told: set[int] = field(default_factory=set)
    _asking: Thread | None = None
    _next: float = _FIRST_SECONDS

    def look(self, now: float, here: Collection[int], waited: float) -> tuple[int, ...]:
        """The ranks that have been stopped for too long. `here` are those of this machine, `waited` says how long any rank has waited."""
        self._ask_others(waited)
        self._look_for_frozen(now, waited)
        stopped = {*here, *self.elsewhere, *self.frozen}
        self._since = {rank: self._since.get(rank, now) for rank in sorted(stopped)}
        self._told &= stopped
        for rank, since in self._since.items():
            if now - since >= TOLD_SECONDS and rank not in self._told:
                self._told.add(rank)
                self.say(self._line(self.board.of(rank), now - since))
        late = (rank for rank, since in self._since.items() if self._is_late(now - since))
        return tuple(late)

    def _is_late(self, seconds: float) -> bool:
        return self.patience is not None and seconds > self.patience

    def _line(self, status: RankStatus, seconds: float) -> str:
        name = f"rank {status.rank}" + f" on {status.host}" * bool(status.host)
        thawed_by = self.frozen.get(status.rank, "")
        going_on = continuing(status, self.host, thawed_by)
        return stopped_sentence(name, status.pid, seconds, going_on, self.patience, frozen=bool(thawed_by))

    def _look_for_frozen(self, now: float, waited: float) -> None:
        """While somebody waits, once in a while: a frozen process is asleep to all that one sees of it."""
        if waited < _FIRST_SECONDS:
            self.frozen = {}
        elif now >= self._looked + _LOOK_SECONDS:
            self._looked = now
            pids = {
                s.rank: s.pid
                for s in self.board.all()
                if s.pid is not None and not s.ended and s.host == self.host
            }
            found = {rank: thawing(pid) for rank, pid in pids.items()}
            self.frozen = {rank: words for rank, words in found.items() if words}

    def _ask_others(self, waited: float) -> None:
        if self.ask is None or (self._asking is not None and self._asking.is_alive()):
            return
        if waited < _FIRST_SECONDS:  # a new wait
            self._next, self.elsewhere = _FIRST_SECONDS, ()
        elif waited >= self._next:
            self._next = waited * _FURTHER
            from threading import Thread  # few runs wait so long, and all start

            self._asking = Thread(target=self._answer, args=(self.ask,), daemon=True)
            self._asking.start()

    def _answer(self, ask: Callable[[], tuple[int, ...]]) -> None:
        self.elsewhere = ask()
