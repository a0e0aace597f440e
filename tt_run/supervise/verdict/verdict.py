"""What became of a run: decided from the ranks' records alone, since mpirun's exit code is wrong too often.

Measured with Open MPI 5: a lost host gives 0, a killed rank 137 or 14 by chance, two failures the code of either.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType

from mgd.lean import replace
from tt_run.contract import Exit
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.observation import Observation
from tt_run.supervise.status import CRASHES, RankStatus, signal_name
from tt_run.supervise.verdict.culprit import (
    ENDED_BY_MPIRUN,
    PROCESS_GONE,
    Failures,
    by_their_own_exceptions,
    find_accused,
    find_quitter,
    find_vanished,
    follows_from_a_loss,
    is_consequence,
)
from tt_run.supervise.verdict.evidence import Case, Verdict, others_than, rank_and_host
from tt_run.supervise.verdict.lost_hosts import LostHost, lost_sentence
from tt_run.supervise.verdict.waits import ended_from_outside, raised_and_stayed, stopped

NOBODY: Mapping[int, int] = MappingProxyType({})


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
    leaving: Set[int] = frozenset(),
    first_exits: Mapping[int, int] = NOBODY,
    improper: Sequence[int] = (),
) -> Verdict:
    """The verdict on a run that is over: the first of the rules below that has one.

    `failures` are the records that ranks wrote about themselves, by rank; `lost_hosts` those that mpirun complained of,
    `without_mpi` the ranks that noted at their end that they had never entered MPI, `noticed` those that mpirun saw killed.
    `removed` is the run folder if that is gone, `absent` names the hosts that never had it,
    `leaving` the ranks that left no record but had noted that their program was over, `first_exits` whom mpirun saw exit before it ended
    the others: nobody but an outsider can have told that rank to end. `improper` are those that mpirun says left in the middle of MPI.
    """
    statuses = [
        replace(status, told=False)
        if status.exit_code is not None and first_exits.get(status.rank) == status.exit_code
        else status
        for status in by_their_own_exceptions(statuses, failures)
    ]
    case = Case(
        statuses,
        observation,
        failures,
        multi_host,
        lost_hosts,
        without_mpi,
        noticed,
        removed,
        absent,
        leaving,
        improper,
    )
    for rule in (
        _folder_not_shared,
        raised_and_stayed,
        stopped,
        ended_from_outside,
        _passed_on,
        _host_lost,
        _launcher_killed,
        _vanished,
        _accused,
        _quitter,
        _launcher_told,
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


def _host_lost(case: Case) -> Verdict | None:
    """mpirun complains of hosts, and nothing speaks for a failure of a rank's own."""
    if not case.lost_hosts or not case.ended_by_itself:
        return None
    homeless = {s.rank for s in case.statuses if any(host.is_home_of(s) for host in case.lost_hosts)}
    if case.culprit is not None and not follows_from_a_loss(case.culprit, case.failures, homeless):
        return None
    return Verdict(
        Exit.HOST_LOST, lost_sentence(case.lost_hosts, case.statuses), None, (), case.failed, case.unrecorded
    )


_LOST = ("TTG005", "TTG006", "TTG007")
"""What the guard sees of ranks that mpirun's end has taken along; all else that it says is of what the program did."""


def _launcher_killed(case: Case) -> Verdict | None:
    """A signal ended mpirun, and the ranks with it: nothing that a rank does has that effect."""
    code = case.observation.launcher_code
    if not case.ended_by_itself or code is None or code >= 0 or case.removed is not None or _own(case):
        return None
    if not any(status.started for status in case.statuses) or not (case.failed or case.unrecorded):
        return None
    if -code in CRASHES and (
        find_quitter(case.statuses, case.improper)
        if case.improper
        else any(_of_the_program(record) for record in case.failures.values())
    ):
        return None  # Open MPI has been seen to crash while it ended the job of ranks that did not meet, and that of one that left
    sentence = f"mpirun was killed by {signal_name(-code)}"
    return Verdict(128 - code, sentence, None, (), case.failed, case.unrecorded)


def _of_the_program(record: Mapping[str, object]) -> bool:
    guard = record.get("guard")
    return isinstance(guard, Mapping) and guard.get("code") not in _LOST


def _launcher_told(case: Case) -> Verdict | None:
    """Somebody sent mpirun a signal, so it ended every rank; of a rank that failed it returns the code, and tells what it noticed.

    A wrapper that did not come to write before mpirun killed it leaves no record, on a busy machine most of them: who has one was told.
    """
    told = [status for status in case.failed if status.told]
    by_itself = case.ended_by_itself and case.removed is None and case.observation.launcher_code == 1
    nobody_wrote = not case.multi_host and all(
        status.started and not status.ended for status in case.statuses
    )
    if (
        not by_itself
        or case.noticed
        or len(told) < len(case.failed)
        or not (told or nobody_wrote)
        or _own(case)
    ):
        return None
    sentence = "mpirun was sent a signal from outside of the run, and ended its ranks"
    return Verdict(128 + signal.SIGTERM, sentence, None, (), case.failed, case.unrecorded)


def _own(case: Case, explained: Sequence[RankStatus] = ()) -> list[RankStatus]:
    """The ranks with a failure that no end of mpirun explains: of one that it ends the wrapper is told first, or killed with it."""
    torn = case.observation.torn_down_at
    ended = [
        status
        for status in case.failed
        if status.signal not in ENDED_BY_MPIRUN
        or status.memory
        or not (status.told or (torn is not None and status.end is not None and status.end >= torn))
    ]
    return [
        status for status in ended if status not in explained and not is_consequence(status, case.failures)
    ]


def _passed_on(case: Case) -> Verdict | None:
    """mpirun was sent a signal that it does not end by but passes on, and every rank that failed was ended by that."""
    noted = [
        status
        for status in case.failed
        if status.signal and signal_name(status.signal) == f"SIG{status.passed}"
    ]
    if (
        not case.ended_by_itself
        or len(noted) < 2
        or len({status.signal for status in noted}) > 1
        or _own(case, noted)
    ):
        return None
    number = noted[0].signal or 0
    sentence = f"mpirun was sent {signal_name(number)} from outside of the run, and passed it on to its ranks"
    return Verdict(128 + number, sentence, None, (), case.failed, case.unrecorded)


def _vanished(case: Case) -> Verdict | None:
    """A rank was killed together with its wrapper, as the memory killer of a control group does."""
    found = None
    if case.ended_by_itself and case.unrecorded and case.removed is None and _launcher_told(case) is None:
        code = case.observation.launcher_code
        found = find_vanished(
            case.statuses,
            case.failures,
            case.observation.gone,
            case.noticed,
            alone_suffices=bool(case.failed) and code is not None and code > 0,
            leaving=case.leaving,
            outlived=case.observation.outlived,
        )
    if found is None:
        return None
    followers, victims = others_than(found, case)
    others = tuple(status for status in case.unrecorded if status is not found)
    why = _seeming(case.observation.memory)
    sentence = f"{rank_and_host(found)} was killed by SIGKILL, its wrapper with it{why}"
    return Verdict(128 + signal.SIGKILL, sentence, found, followers, (*victims, *others))


def _seeming(memory: str) -> str:
    """What the launcher's host counts, which may have been another process's end."""
    return f": out of memory, as it seems ({memory})" if memory else ""


def _accused(case: Case) -> Verdict | None:
    """The guard has named the rank at fault."""
    found = find_accused(case.statuses, case.failures) if case.failed else None
    if found is None:
        return None
    culprit, what, accused = found
    followers, victims = others_than(culprit, case)
    killed_afterwards = _killed_afterwards(culprit, what, case.failures)
    killed = culprit.was_killed and not killed_afterwards
    own = [
        s for s in case.failed if s.signal not in ENDED_BY_MPIRUN and not (killed_afterwards and s is culprit)
    ]
    # Over what the guard tells the library may crash as well, in a rank that is right.
    own = [s for s in own if s is culprit or s.signal not in CRASHES]
    own.sort(key=lambda status: not case.failures.get(status.rank, {}).get("guard"))
    own = [culprit] if killed or culprit in own else own
    exit_code = (own[0].exit_code if own else None) or Exit.FAILED
    # Others saw no more than that its process had gone; its record knows how.
    left = culprit.code is not None and what.startswith(f"error[{PROCESS_GONE}]")
    how = culprit.outcome() if killed or left else "is at fault"
    sentence = f"{rank_and_host(culprit)} {how}: {what}"
    if len(accused) > 1 and not killed:
        sentence = f"{rank_list(accused)} are at fault together: {what}"
        victims = tuple(status for status in victims if status.rank not in accused)
        followers = tuple(status for status in followers if status.rank not in accused)
    others = tuple(status for status in case.unrecorded if status.rank not in accused)
    return Verdict(exit_code & 0xFF, sentence, culprit, followers, (*victims, *others))


def _killed_afterwards(culprit: RankStatus, what: str, failures: Failures) -> bool:
    """Whether mpirun's signal ended a rank that had been accused of something else than being gone: on a busy machine that is SIGKILL.

    So may a crash of the library that computes on over what the guard has told.
    """
    gone = (PROCESS_GONE,) if culprit.signal in ENDED_BY_MPIRUN else _LOST
    if (
        culprit.signal not in (*ENDED_BY_MPIRUN, *CRASHES)
        or culprit.end is None
        or what.startswith(tuple(f"error[{code}]" for code in gone))
    ):
        return False
    accused = [
        r["time"] for r in failures.values() if r.get("guard") and isinstance(r.get("time"), int | float)
    ]
    return bool(accused) and min(accused) < culprit.end


def _quitter(case: Case) -> Verdict | None:
    """A rank left with 0 in the middle of MPI."""
    quitter = find_quitter(case.statuses, case.improper) if case.ended_by_itself else None
    if quitter is None:
        return None
    how = "without ever entering MPI" if quitter.rank in case.without_mpi else "but without MPI_Finalize"
    sentence = f"{rank_and_host(quitter)} ended with 0 {how}, so mpirun ended the others"
    return Verdict(Exit.FAILED, sentence, quitter, (), case.failed, case.unrecorded)


def _failed(case: Case) -> Verdict | None:
    """A rank failed by itself."""
    culprit = case.culprit
    if culprit is None:
        return None
    if _ended_for_a_host(case, culprit):
        return None
    followers, victims = others_than(culprit, case)
    # mpirun gives a wrapper a quarter of a second to write its record before it kills that, too: no record, but no riddle.
    code = (culprit.exit_code or Exit.FAILED) & 0xFF or Exit.FAILED
    unexplained = culprit.signal == signal.SIGKILL and not culprit.memory
    why = _seeming(case.observation.memory) if unexplained else ""
    sentence = f"{rank_and_host(culprit)} {culprit.outcome()}{why}"
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
        how = f"was killed by {signal_name(-code)}" if code is not None and code < 0 else f"ended with {code}"
        return Verdict(Exit.NO_LAUNCHER, f"mpirun started no rank (it {how})", lost=lost)
    one = len(lost) == 1
    left = f"{len(lost)} rank{'s' * (not one)} left no record of {'its' if one else 'their'} end"
    if case.multi_host:
        names = ", ".join(sorted({status.host for status in lost if status.host})) or "unknown"
        return Verdict(Exit.HOST_LOST, f"host {names} was lost: {left}", lost=lost)
    return Verdict(Exit.FAILED, f"{left}; mpirun ended with {code}", lost=lost)
