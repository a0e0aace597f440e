"""Times of several hosts on one clock, this machine's: theirs may be minutes apart, and the order of ends is told from them.

Nobody is asked for the time. A record bounds it: a rank does not start before the launch, nor is a record seen before it was written.
Seen late, since a shared folder may show a file seconds after it was written, it proves little: a clock counts as right until it cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mgd.lean import replace
from tt_run.supervise.status import FirstSeen, RankStatus

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

_LATEST_START = 1.0  # seconds after the launch by which a first rank has started as a rule


def offsets(
    statuses: Sequence[RankStatus], seen: Mapping[int, FirstSeen], began: float, here: str
) -> dict[str, float]:
    """What to add to the times of each host; nothing for hosts whose clocks may well be right."""
    latest: dict[str, list[float]] = {}
    earliest: dict[str, list[float]] = {}
    for status in statuses:
        if status.host is None or status.host == here:
            continue
        at = seen.get(status.rank, FirstSeen())
        if status.start is not None:
            earliest.setdefault(status.host, []).append(began - status.start)
        for moment, told in ((status.start, at.start), (status.end, at.end)):
            if moment is not None and told is not None:
                latest.setdefault(status.host, []).append(told - moment)
    found = {}
    for host, bounds in latest.items():
        high, low = min(bounds), max(earliest.get(host, [float("-inf")]))
        if high < 0:
            found[host] = high
        elif low > 0:
            found[host] = min(high, low + _LATEST_START)
    return found


def on_one_clock(statuses: Sequence[RankStatus], added: Mapping[str, float]) -> list[RankStatus]:
    """The records with their times on this machine's clock."""
    return [_moved(status, added.get(status.host or "", 0.0)) for status in statuses]


def _moved(status: RankStatus, seconds: float) -> RankStatus:
    if not seconds:
        return status
    start = None if status.start is None else status.start + seconds
    return replace(status, start=start, end=None if status.end is None else status.end + seconds)


def failures_on_one_clock(
    failures: Mapping[int, Mapping[str, Any]], statuses: Sequence[RankStatus], added: Mapping[str, float]
) -> dict[int, Mapping[str, Any]]:
    """What the ranks wrote about their failures, with its times on this machine's clock."""
    by_rank = {status.rank: added.get(status.host or "", 0.0) for status in statuses}
    return {
        rank: {**record, "time": record["time"] + by_rank[rank]}
        if isinstance(record.get("time"), int | float) and by_rank.get(rank)
        else record
        for rank, record in failures.items()
    }
