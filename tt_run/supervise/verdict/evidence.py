"""What a verdict is found from, and what it says."""

from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path

from mgd.lean import dataclass
from tt_run.contract import Exit
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict.culprit import ENDED_BY_MPIRUN, PEER_CODES, Failures, find_culprit
from tt_run.supervise.verdict.lost_hosts import LostHost


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result: exit code, one sentence, and the ranks by their part in it.

    `culprit` failed first; `followers` failed by themselves after it; `victims` were ended because of it; `lost` left no record.
    """

    exit_code: int
    sentence: str
    culprit: RankStatus | None = None
    followers: tuple[RankStatus, ...] = ()
    victims: tuple[RankStatus, ...] = ()
    lost: tuple[RankStatus, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.exit_code == Exit.OK


@dataclass(frozen=True, slots=True)
class Case:
    """What a verdict is found from: records, what was seen from outside, and what ranks and mpirun said about themselves."""

    statuses: Sequence[RankStatus]
    observation: Observation
    failures: Failures
    multi_host: bool = False
    lost_hosts: Sequence[LostHost] = ()
    without_mpi: Set[int] = frozenset()
    noticed: Sequence[int] = ()
    removed: Path | None = None  # the run folder, if it was removed while the ranks ran
    absent: Sequence[
        str
    ] = ()  # hosts of the plan on which no rank started, where the run folder was not found
    leaving: Set[int] = frozenset()  # ranks without a record whose program was over by their own note
    improper: Sequence[int] = ()  # ranks that mpirun says left in the middle of MPI

    @property
    def ended_by_itself(self) -> bool:
        return self.observation.ended_by is EndedBy.ITSELF

    @property
    def failed(self) -> tuple[RankStatus, ...]:
        return tuple(status for status in self.statuses if status.failed)

    @property
    def unrecorded(self) -> tuple[RankStatus, ...]:
        return tuple(status for status in self.statuses if not status.ended)

    @property
    def culprit(self) -> RankStatus | None:
        """The first failure that was not caused by our own tearing down."""
        torn = self.observation.torn_down_at
        if torn is None or self.ended_by_itself:
            return find_culprit(self.failed, self.failures)
        return find_culprit([s for s in self.failed if s.end is not None and s.end < torn], self.failures)


def others_than(
    culprit: RankStatus | None, case: Case
) -> tuple[tuple[RankStatus, ...], tuple[RankStatus, ...]]:
    """The other failed ranks, apart: those with a failure of their own, and those that were ended."""
    others = [status for status in case.failed if status is not culprit]
    if culprit is None:
        return (), tuple(others)
    codes = (*PEER_CODES, *(128 + number for number in ENDED_BY_MPIRUN))
    victims = tuple(s for s in others if s.signal in ENDED_BY_MPIRUN or s.code in codes)
    return tuple(status for status in others if status not in victims), victims


def rank_and_host(status: RankStatus) -> str:
    """The rank and its host, as sentences begin."""
    return f"rank {status.rank}" + (f" on {status.host}" if status.host else "")
