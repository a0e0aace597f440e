"""Emulated ranks that wait long for others: what they say of it in the run folder, and the early line about a run that stands still."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mgd.lean import dataclass, field, replace
from tt_run import contract
from tt_run.supervise.folder import RunFolder, files_of_ranks
from tt_run.supervise.looking.stacks import RankStack, rank_list

EARLY_SECONDS = 30.0
_EVERY_SECONDS = 1.0
_MOST_SAID = 4


@dataclass(frozen=True)
class LongWait:
    """Where a rank waits: the call and its number for the guard, `file:line`, since when (seconds since 1970), for whom, and how long it had
    waited when it said so."""

    rank: int
    call: str
    number: int
    site: str
    since: float
    missing: tuple[int, ...]
    waited: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it has waited."""
        return max(time.time() - self.since, 0.0)

    def __str__(self) -> str:
        return f"waits for {rank_list(self.missing)} in {self.call} at {self.site}, {self.seconds:.0f} s"


def read_waits(folder: Path) -> dict[int, LongWait]:
    """The long waits of a run's ranks, by rank."""
    found = {}
    for path in files_of_ranks(folder, contract.WAIT_FILE):
        try:
            rank = int(path.stem.partition("-")[2])
            told = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
            waited = float(told["waited"])
            since = path.stat().st_mtime - waited
            found[rank] = LongWait(
                rank, told["call"], told["number"], told["site"], since, tuple(told["missing"]), waited
            )
        except (OSError, ValueError, KeyError, TypeError):  # it goes on just now
            continue
    return found


def last_seen(folder: RunFolder, rank: int) -> tuple[str, str]:
    """The line at which an emulated rank was seen last, and the call that it made last together with others; empty where it has noted none."""
    try:
        text = (folder.path / contract.PLACE_FILE.format(rank=rank)).read_text(
            encoding="utf-8", errors="replace"
        )
    except OSError:
        return "", ""
    place, call, *_ = (*text.split("\n"), "")
    return place, call.strip()


def who_waits(missing_of: Mapping[int, tuple[int, ...]]) -> list[str]:
    """`ranks 0, 2-3 wait for rank 1`: a line for those that wait for the same ranks."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for rank, missing in sorted(missing_of.items()):
        if missing:
            groups.setdefault(missing, []).append(rank)
    return [
        f"{rank_list(ranks)} wait{'s' if len(ranks) == 1 else ''} for {rank_list(missing)}"
        for missing, ranks in groups.items()
    ]


def told_in_one(waits: Mapping[int, LongWait]) -> str:
    """The first lines of `who_waits`, in one."""
    return ", ".join(who_waits({rank: wait.missing for rank, wait in waits.items()})[:_MOST_SAID])


@dataclass()
class Standstill:
    """Says, once for each wait, that ranks have waited for EARLY_SECONDS: long before any deadline."""

    folder: Path
    say: Callable[[str], None]
    stacks: Callable[[], Sequence[RankStack]]
    longest: float = 0.0  # seconds that the rank has waited which waits longest, as of the last look
    went_on: float = -math.inf  # when all of it was last continued after a stop, by the clock of `look`
    _since: dict[tuple[int, int], float] = field(default_factory=dict)
    _next: float = 0.0
    _told: set[tuple[int, int]] = field(default_factory=set)

    def look(self, now: float) -> None:
        """Called again and again with the time of a monotonic clock."""
        if now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        waits = self._by_this_clock(now, read_waits(self.folder))
        self.longest = max((wait.seconds for wait in waits.values()), default=0.0)
        stood = now - self.went_on
        late = {rank: wait for rank, wait in waits.items() if min(wait.seconds, stood) >= EARLY_SECONDS}
        if not late or any((wait.rank, wait.number) in self._told for wait in late.values()):
            return
        self._told |= {(wait.rank, wait.number) for wait in late.values()}
        self.say(standstill_line(late, waits, self.stacks()))

    def _by_this_clock(self, now: float, waits: Mapping[int, LongWait]) -> dict[int, LongWait]:
        """The waits, as long as they have been seen: clocks of days may be set meanwhile."""
        self._since = {
            key: min(self._since.get(key, now), now - wait.waited)
            for wait in waits.values()
            for key in [(wait.rank, wait.number)]
        }
        today = time.time()
        return {
            rank: replace(wait, since=today - (now - self._since[rank, wait.number]))
            for rank, wait in waits.items()
        }


def _ahead(first: LongWait, waits: Mapping[int, LongWait]) -> set[int]:
    """The ranks for which a wait is in the end: those that do not wait themselves; none where it goes round in a circle."""
    seen: set[int] = set()
    ahead = set(first.missing)
    while ahead:
        rank = ahead.pop()
        seen.add(rank)
        ahead |= set(waits[rank].missing if rank in waits else ()) - seen
    return {rank for rank in seen if rank not in waits}


def standstill_line(
    late: Mapping[int, LongWait], waits: Mapping[int, LongWait], stacks: Sequence[RankStack]
) -> str:
    """Who is waited for and where that is, and who waits."""
    first = min(late.values(), key=lambda wait: wait.since)
    guilty = [rank for rank in first.missing if rank not in waits]
    if not _ahead(first, late):
        return f"no progress for {first.seconds:.0f} s: {told_in_one(late)}, in {first.call} at {first.site}"
    guilty = guilty or list(first.missing)
    places = {stack.rank: stack.where for stack in stacks}
    parts = []
    for rank in guilty[:3]:
        wait, place = waits.get(rank), places.get(rank)
        where = (
            f"in {wait.call} at {wait.site}"
            if wait
            else f"at {place.file}:{place.line}"
            if place
            else "gives no stack"
        )
        parts.append(f"rank {rank} {where}")
    others = f"{rank_list(sorted(late))} wait{'s' if len(late) == 1 else ''}"
    return f"no progress for {first.seconds:.0f} s: {', '.join(parts)}; {others} for it in {first.call} at {first.site}"
