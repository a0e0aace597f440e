"""What became of a run: decided from the ranks' records alone, since mpirun's exit code is wrong too often.

Measured with Open MPI 5: a lost host gives 0, a killed rank 137 or 14 by chance, two failures the code of either.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from tt_run.contract import Exit
from tt_run.supervise.lost_hosts import LostHost, told
from tt_run.supervise.signals import EXIT_OF_SIGNAL
from tt_run.supervise.status import RankStatus
from tt_run.supervise.watch import EndedBy, Observation

SAME_MOMENT = 0.5  # seconds within which the order of two ends does not say who began
QUITTER_SECONDS = (
    1.0  # how fast mpirun reacts to a rank that leaves without MPI_Finalize (0.25 s, and a busy machine)
)
PEER_CODES = (14,)  # how Open MPI ends a rank that saw another one's connection close
_CRASHES = {
    signal.SIGSEGV,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGSYS,
}
_PEER_ERRORS = ("MPI_ERR_PROC_FAILED", "MPI_ERR_REVOKED", "MPI_ERR_PROC_ABORTED")


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


def judge(
    statuses: Sequence[RankStatus],
    observation: Observation,
    failures: Mapping[int, Mapping[str, Any]],
    multi_host: bool = False,
    lost_hosts: Sequence[LostHost] = (),
) -> Verdict:
    """The verdict on a run that is over.

    `failures` are the records that ranks wrote about themselves, by rank; `lost_hosts` those that mpirun complained of.
    """
    culprit = find_culprit(_own_failures(statuses, observation), failures)
    if lost_hosts and observation.ended_by is EndedBy.ITSELF:
        homeless = {status.rank for status in statuses if any(host.is_home_of(status) for host in lost_hosts)}
        if culprit is None or _follows_from_a_loss(culprit, failures, homeless):
            victims = tuple(status for status in statuses if status.failed)
            unrecorded = tuple(status for status in statuses if not status.ended)
            return Verdict(Exit.HOST_LOST, told(lost_hosts, statuses), None, (), victims, unrecorded)
    if observation.ended_by is EndedBy.ITSELF and (quitter := find_quitter(statuses)) is not None:
        victims = tuple(status for status in statuses if status.failed)
        sentence = f"{_named(quitter)} ended with 0 but without MPI_Finalize, so mpirun ended the others"
        return Verdict(Exit.FAILED, sentence, quitter, (), victims, tuple(s for s in statuses if not s.ended))
    followers, victims = _others(statuses, culprit, observation)
    lost = tuple(status for status in statuses if not status.ended)
    by_reason = _by_reason(statuses, observation)
    if by_reason is not None and (culprit is None or observation.ended_by is not EndedBy.HANG):
        code, sentence = by_reason
        return Verdict(code, sentence, culprit, followers, victims, lost)
    if culprit is not None and multi_host and _ended_for_a_host(culprit, lost):
        return _without_records(statuses, lost, observation, multi_host)
    if culprit is not None:
        # mpirun gives a wrapper a quarter of a second to write its record before it kills that, too.
        victims, lost = (*victims, *lost), ()
        code = culprit.exit_code or Exit.FAILED
        return Verdict(
            code & 0xFF or Exit.FAILED,
            f"{_named(culprit)} {culprit.outcome()}",
            culprit,
            followers,
            victims,
            lost,
        )
    if not lost:
        return Verdict(
            Exit.OK, f"{len(statuses)} ranks ended with 0" if len(statuses) > 1 else "the rank ended with 0"
        )
    return _without_records(statuses, lost, observation, multi_host)


def _own_failures(statuses: Sequence[RankStatus], observation: Observation) -> list[RankStatus]:
    """Failures that were not caused by our own tearing down."""
    torn = observation.torn_down_at
    failed = [status for status in statuses if status.failed]
    if torn is None or observation.ended_by is EndedBy.ITSELF:
        return failed
    return [status for status in failed if status.end is not None and status.end < torn]


def find_culprit(
    failed: Sequence[RankStatus], failures: Mapping[int, Mapping[str, Any]]
) -> RankStatus | None:
    """The rank whose failure came first.

    Ends within SAME_MOMENT are told apart by what they look like: a rank that names a culprit itself is believed; one that reports
    another's disappearance is not the first; a crash or an exception comes before a bare exit code.
    """
    if not failed:
        return None
    first = min(_moment(status, failures) for status in failed)
    close = [status for status in failed if _moment(status, failures) - first <= SAME_MOMENT]
    named = {record.get("culprit") for status in close if (record := failures.get(status.rank))}
    for status in close:
        if status.rank in named:
            return status
    return min(close, key=lambda status: (_blame(status, failures), _moment(status, failures), status.rank))


def find_quitter(statuses: Sequence[RankStatus]) -> RankStatus | None:
    """The rank that left with 0 in the middle of an MPI program, for which mpirun ended the others at once.

    Nobody else has a failure of its own then: all were sent SIGTERM or SIGKILL right after it, or saw its connection close.
    """
    ended = {signal.SIGTERM, signal.SIGKILL}
    failed = [status for status in statuses if status.failed]
    own = [status for status in failed if status.signal not in ended and status.code not in PEER_CODES]
    if not failed or own or any(status.end is None for status in failed):
        return None
    first = min(status.end for status in failed if status.end is not None)
    before = [
        s for s in statuses if s.succeeded and s.end is not None and first - QUITTER_SECONDS <= s.end <= first
    ]
    return max(before, key=lambda status: status.end or 0.0, default=None)


def _moment(status: RankStatus, failures: Mapping[int, Mapping[str, Any]]) -> float:
    """When it failed: an exception is recorded before the process has ended."""
    recorded = failures.get(status.rank, {}).get("time")
    end = status.end if status.end is not None else float("inf")
    return min(end, recorded) if isinstance(recorded, int | float) else end


def _blame(status: RankStatus, failures: Mapping[int, Mapping[str, Any]]) -> int:
    """0 for a failure that can only be its own, 2 for one that tells of another rank's, 1 in between."""
    record = failures.get(status.rank)
    if record is not None:
        return 2 if any(name in str(record.get("message", "")) for name in _PEER_ERRORS) else 0
    if status.signal in _CRASHES or status.error:
        return 0
    if (
        status.signal == signal.SIGKILL
    ):  # the kernel's memory killer, or mpirun a moment after another rank's failure
        return 1
    return 2 if status.code in PEER_CODES or status.signal is not None else 1


def _follows_from_a_loss(
    culprit: RankStatus, failures: Mapping[int, Mapping[str, Any]], homeless: Set[int]
) -> bool:
    """Whether the first failure is what the loss of a host does to ranks elsewhere: they are ended, or report the ranks that ran there."""
    if culprit.signal in (signal.SIGTERM, signal.SIGKILL) or _blame(culprit, failures) == 2:
        return True
    return failures.get(culprit.rank, {}).get("culprit") in homeless


def _ended_for_a_host(culprit: RankStatus, lost: Sequence[RankStatus]) -> bool:
    """Whether nobody failed by itself: ranks were ended because those of another host had gone."""
    ended = culprit.signal in (signal.SIGTERM, signal.SIGKILL)
    return ended and any(status.host != culprit.host for status in lost)


def _others(
    statuses: Sequence[RankStatus], culprit: RankStatus | None, observation: Observation
) -> tuple[tuple[RankStatus, ...], tuple[RankStatus, ...]]:
    """The other failed ranks, apart: those with a failure of their own, and those that were ended."""
    others = [status for status in statuses if status.failed and status is not culprit]
    if culprit is None:
        return (), tuple(others)
    ended = {signal.SIGTERM, signal.SIGKILL}
    victims = tuple(s for s in others if s.signal in ended or s.code in PEER_CODES or s.code in (143, 137))
    return tuple(status for status in others if status not in victims), victims


def _by_reason(statuses: Sequence[RankStatus], observation: Observation) -> tuple[int, str] | None:
    seconds = observation.ended_at - observation.started_at
    if observation.ended_by is EndedBy.SIGNAL and observation.signal is not None:
        number = signal.Signals(observation.signal)
        return EXIT_OF_SIGNAL[number], f"ended by {number.name} after {seconds:.1f} s"
    if observation.ended_by is EndedBy.TIMEOUT:
        return Exit.TIMEOUT, f"--timeout passed after {seconds:.0f} s"
    if observation.ended_by is EndedBy.START_TIMEOUT:
        missing = [status.rank for status in statuses if not status.started]
        return (
            Exit.START_TIMEOUT,
            f"{len(missing)} of {len(statuses)} ranks did not start in time: {missing[:8]}",
        )
    if observation.ended_by is EndedBy.HANG:
        return Exit.HANG, f"hang: {observation.stuck}"
    return None


def _without_records(
    statuses: Sequence[RankStatus], lost: tuple[RankStatus, ...], observation: Observation, multi_host: bool
) -> Verdict:
    code = observation.launcher_code
    if not any(status.started for status in statuses):
        return Verdict(Exit.NO_LAUNCHER, f"mpirun started no rank (it ended with {code})", lost=lost)
    hosts = sorted({status.host for status in lost if status.host})
    if code is not None and code < 0:
        return Verdict(Exit.FAILED, f"mpirun was killed by {signal.Signals(-code).name}", lost=lost)
    if multi_host:
        names = ", ".join(hosts) or "unknown"
        return Verdict(Exit.HOST_LOST, f"host {names} was lost: {_left_no_record(lost)}", lost=lost)
    return Verdict(Exit.FAILED, f"{_left_no_record(lost)}; mpirun ended with {code}", lost=lost)


def _left_no_record(lost: Sequence[RankStatus]) -> str:
    return f"{len(lost)} rank{'s' * (len(lost) != 1)} left no record of {'its' if len(lost) == 1 else 'their'} end"


def _named(status: RankStatus) -> str:
    return f"rank {status.rank}" + (f" on {status.host}" if status.host else "")
