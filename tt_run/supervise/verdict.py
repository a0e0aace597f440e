"""What became of a run: decided from the ranks' records alone, since mpirun's exit code is wrong too often.

Measured with Open MPI 5: a lost host gives 0, a killed rank 137 or 14 by chance, two failures the code of either.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence, Set
from pathlib import Path

from mgd.lean import dataclass, replace
from tt_run.contract import Exit
from tt_run.supervise.culprit import (
    ENDED_BY_MPIRUN,
    PEER_CODES,
    Failures,
    by_their_own_exceptions,
    find_accused,
    find_culprit,
    find_quitter,
    find_vanished,
    follows_from_a_loss,
    is_consequence,
    moment,
)
from tt_run.supervise.lost_hosts import LostHost, told
from tt_run.supervise.signals import EXIT_OF_SIGNAL
from tt_run.supervise.stacks import rank_list
from tt_run.supervise.status import RankStatus
from tt_run.supervise.watch import EndedBy, Observation


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


def judge(
    statuses: Sequence[RankStatus],
    observation: Observation,
    failures: Failures,
    multi_host: bool = False,
    lost_hosts: Sequence[LostHost] = (),
    without_mpi: Set[int] = frozenset(),
    noticed: Sequence[int] = (),
    removed: Path | None = None,
    absent: Sequence[str] = (),
) -> Verdict:
    """The verdict on a run that is over: the first of the rules below that has one.

    `failures` are the records that ranks wrote about themselves, by rank; `lost_hosts` those that mpirun complained of,
    `without_mpi` the ranks that noted at their end that they had never entered MPI, `noticed` those that mpirun saw killed.
    `removed` is the run folder if that is gone, `absent` names the hosts that never had it.
    """
    statuses = by_their_own_exceptions(statuses, failures)
    case = Case(
        statuses, observation, failures, multi_host, lost_hosts, without_mpi, noticed, removed, absent
    )
    for rule in (
        _folder_not_shared,
        _raised_and_stayed,
        _stopped,
        _ended_from_outside,
        _host_lost,
        _vanished,
        _accused,
        _quitter,
        _failed,
        _succeeded,
    ):
        verdict = rule(case)
        if verdict is not None:
            return verdict
    return _without_records(case)


def _folder_not_shared(case: Case) -> Verdict | None:
    """Ranks of some hosts could not even begin, because the run folder is not there."""
    if not case.absent or not case.ended_by_itself:
        return None
    hosts = f"host{'s' * (len(case.absent) > 1)} {', '.join(case.absent)}"
    sentence = f"the run folder is not there on {hosts}: no rank could start on {'them' if len(case.absent) > 1 else 'it'}"
    return Verdict(Exit.NO_LAUNCHER, sentence, None, (), case.failed, case.unrecorded)


def _raised_and_stayed(case: Case) -> Verdict | None:
    """The run hung because a rank that had failed did not end: exit handlers, threads or children kept it."""
    torn = case.observation.torn_down_at
    if case.observation.ended_by is not EndedBy.HANG or torn is None:
        return None
    stayed = [
        status
        for status in case.statuses
        if status.rank in case.failures
        and not case.failures[status.rank].get("guard")
        and not is_consequence(replace(status, told=False), case.failures)
        and (status.end is None or status.end >= torn)
    ]
    if not stayed:
        return None
    culprit = min(stayed, key=lambda status: (moment(status, case.failures), status.rank))
    record = case.failures[culprit.rank]
    code = Exit.INTERRUPTED if record.get("exception") == "KeyboardInterrupt" else Exit.FAILED
    followers, victims = _others(case, culprit)
    others = tuple(status for status in case.unrecorded if status is not culprit)
    sentence = (
        f"{_named(culprit)} raised {record.get('exception')} and did not end (exit handlers, threads, or children?), "
        "so the others waited for it"
    )
    return Verdict(code, sentence, culprit, followers, (*victims, *others))


def _stopped(case: Case) -> Verdict | None:
    """A signal has stopped a rank, and the others waited for it until the guard or the watch for hangs had enough."""
    found = find_accused(case.statuses, case.failures)
    hung = case.observation.ended_by is EndedBy.HANG
    stopped = [status for status in case.statuses if status.rank in case.observation.stopped]
    if not hung:
        stopped = [status for status in stopped if found is not None and status is found[0]]
    own = [s for s in case.failed if not is_consequence(s, case.failures)]
    if not stopped or (own and found is None):
        return None
    culprit = stopped[0]
    followers, victims = _others(case, culprit)
    sentence = (
        f"{_named(culprit)} was stopped by a signal (SIGSTOP, SIGTSTP, or a debugger) and the others waited for it; "
        f"kill -CONT {culprit.pid} would have let it go on"
    )
    code = Exit.HANG if hung else Exit.FAILED
    return Verdict(
        code, sentence, culprit, followers, (*victims, *(s for s in case.unrecorded if s is not culprit))
    )


def _ended_from_outside(case: Case) -> Verdict | None:
    """A signal or a deadline ended the run. Of a failure before a hang the hang is only the consequence."""
    reason = _reason(case)
    culprit = case.culprit
    if reason is None or (culprit is not None and case.observation.ended_by is EndedBy.HANG):
        return None
    followers, victims = _others(case, culprit)
    return Verdict(*reason, culprit, followers, victims, case.unrecorded)


def _reason(case: Case) -> tuple[int, str] | None:
    observation = case.observation
    seconds = observation.ended_at - observation.started_at
    if observation.ended_by is EndedBy.SIGNAL and observation.signal is not None:
        number = signal.Signals(observation.signal)
        return EXIT_OF_SIGNAL[number], f"ended by {number.name} after {seconds:.1f} s"
    if observation.ended_by is EndedBy.TIMEOUT:
        return Exit.TIMEOUT, f"--timeout passed after {seconds:.0f} s"
    if observation.ended_by is EndedBy.START_TIMEOUT:
        missing = [status.rank for status in case.statuses if not status.started]
        numbers = f"{len(missing)} of {len(case.statuses)} ranks"
        return Exit.START_TIMEOUT, f"{numbers} did not start in time: {missing[:8]}"
    if observation.ended_by is EndedBy.HANG:
        return Exit.HANG, f"hang: {observation.stuck}"
    return None


def _host_lost(case: Case) -> Verdict | None:
    """mpirun complains of hosts, and nothing speaks for a failure of a rank's own."""
    if not case.lost_hosts or not case.ended_by_itself:
        return None
    homeless = {s.rank for s in case.statuses if any(host.is_home_of(s) for host in case.lost_hosts)}
    if case.culprit is not None and not follows_from_a_loss(case.culprit, case.failures, homeless):
        return None
    return Verdict(
        Exit.HOST_LOST, told(case.lost_hosts, case.statuses), None, (), case.failed, case.unrecorded
    )


def _vanished(case: Case) -> Verdict | None:
    """A rank was killed together with its wrapper, as the memory killer of a control group does."""
    found = None
    if case.ended_by_itself and case.unrecorded and case.removed is None:
        code = case.observation.launcher_code
        found = find_vanished(
            case.statuses,
            case.failures,
            case.observation.gone,
            case.noticed,
            alone_suffices=bool(case.failed) and code is not None and code > 0,
        )
    if found is None:
        return None
    followers, victims = _others(case, found)
    others = tuple(status for status in case.unrecorded if status is not found)
    why = f": out of memory ({case.observation.memory})" if case.observation.memory else ""
    sentence = f"{_named(found)} was killed by SIGKILL, its wrapper with it{why}"
    return Verdict(128 + signal.SIGKILL, sentence, found, followers, (*victims, *others))


def _accused(case: Case) -> Verdict | None:
    """The guard has named the rank at fault."""
    found = find_accused(case.statuses, case.failures) if case.failed else None
    if found is None:
        return None
    culprit, what, accused = found
    followers, victims = _others(case, culprit)
    killed = culprit.signal is not None and not culprit.told
    own = [s for s in case.failed if s.signal not in ENDED_BY_MPIRUN]
    own = [culprit] if killed or culprit in own else own
    exit_code = (own[0].exit_code if own else None) or Exit.FAILED
    sentence = f"{_named(culprit)} {culprit.outcome() if killed else 'is at fault'}: {what}"
    if len(accused) > 1 and not killed:
        sentence = f"{rank_list(accused)} are at fault together: {what}"
        victims = tuple(status for status in victims if status.rank not in accused)
        followers = tuple(status for status in followers if status.rank not in accused)
    return Verdict(exit_code & 0xFF, sentence, culprit, followers, (*victims, *case.unrecorded))


def _quitter(case: Case) -> Verdict | None:
    """A rank left with 0 in the middle of MPI."""
    quitter = find_quitter(case.statuses) if case.ended_by_itself else None
    if quitter is None:
        return None
    how = "without ever entering MPI" if quitter.rank in case.without_mpi else "but without MPI_Finalize"
    sentence = f"{_named(quitter)} ended with 0 {how}, so mpirun ended the others"
    return Verdict(Exit.FAILED, sentence, quitter, (), case.failed, case.unrecorded)


def _failed(case: Case) -> Verdict | None:
    """A rank failed by itself."""
    culprit = case.culprit
    if culprit is None:
        return None
    if _ended_for_a_host(case, culprit):
        return None
    followers, victims = _others(case, culprit)
    # mpirun gives a wrapper a quarter of a second to write its record before it kills that, too: no record, but no riddle.
    code = (culprit.exit_code or Exit.FAILED) & 0xFF or Exit.FAILED
    memory = case.observation.memory
    why = (
        f": out of memory, as it seems ({memory})"
        if memory and culprit.signal == signal.SIGKILL and not culprit.memory
        else ""
    )
    sentence = f"{_named(culprit)} {culprit.outcome()}{why}"
    return Verdict(code, sentence, culprit, followers, (*victims, *case.unrecorded))


def _ended_for_a_host(case: Case, culprit: RankStatus) -> bool:
    """Whether nobody failed by itself: ranks were ended because those of another host had gone.

    mpirun returns 0 then, or hangs until it is ended, and its ranks only with it; of a rank that failed it tells by a code of its own.
    """
    elsewhere = any(status.host != culprit.host for status in case.unrecorded)
    if not (case.multi_host and elsewhere and culprit.signal in ENDED_BY_MPIRUN):
        return False
    torn, code = case.observation.torn_down_at, case.observation.launcher_code
    ended_with_it = torn is not None and culprit.end is not None and culprit.end >= torn
    return code == 0 or (code is not None and code < 0 and ended_with_it)


def _others(case: Case, culprit: RankStatus | None) -> tuple[tuple[RankStatus, ...], tuple[RankStatus, ...]]:
    """The other failed ranks, apart: those with a failure of their own, and those that were ended."""
    others = [status for status in case.failed if status is not culprit]
    if culprit is None:
        return (), tuple(others)
    codes = (*PEER_CODES, *(128 + number for number in ENDED_BY_MPIRUN))
    victims = tuple(s for s in others if s.signal in ENDED_BY_MPIRUN or s.code in codes)
    return tuple(status for status in others if status not in victims), victims


def _succeeded(case: Case) -> Verdict | None:
    """Every rank has reported 0."""
    if case.failed or case.unrecorded:
        return None
    count = len(case.statuses)
    return Verdict(Exit.OK, f"{count} ranks ended with 0" if count > 1 else "the rank ended with 0")


def _without_records(case: Case) -> Verdict:
    """Ranks are missing, and no record says why: never a success, whatever mpirun returned."""
    lost, code = case.unrecorded, case.observation.launcher_code
    if case.removed is not None:
        sentence = f"the run folder {case.removed} was removed during the run, and what ranks recorded with it; mpirun ended with {code}"
        return Verdict((code or 0) & 0xFF or Exit.FAILED, sentence, lost=lost)
    if not any(status.started for status in case.statuses):
        return Verdict(Exit.NO_LAUNCHER, f"mpirun started no rank (it ended with {code})", lost=lost)
    if code is not None and code < 0:
        return Verdict(Exit.FAILED, f"mpirun was killed by {signal.Signals(-code).name}", lost=lost)
    one = len(lost) == 1
    left = f"{len(lost)} rank{'s' * (not one)} left no record of {'its' if one else 'their'} end"
    if case.multi_host:
        names = ", ".join(sorted({status.host for status in lost if status.host})) or "unknown"
        return Verdict(Exit.HOST_LOST, f"host {names} was lost: {left}", lost=lost)
    return Verdict(Exit.FAILED, f"{left}; mpirun ended with {code}", lost=lost)


def _named(status: RankStatus) -> str:
    return f"rank {status.rank}" + (f" on {status.host}" if status.host else "")
