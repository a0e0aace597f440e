"""Runs that did not end by themselves: a signal or a deadline ended them, since ranks waited for one that would not come."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from mgd.lean import replace
from tt_run.contract import Exit
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.observation import EndedBy
from tt_run.supervise.signals import EXIT_OF_SIGNAL
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict.culprit import code_of, find_accused, is_consequence, moment
from tt_run.supervise.verdict.evidence import Case, Verdict, others_than, rank_and_host


def raised_and_stayed(case: Case) -> Verdict | None:
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
    code = code_of(record)
    followers, victims = others_than(culprit, case)
    others = tuple(status for status in case.unrecorded if status is not culprit)
    sentence = (
        f"{rank_and_host(culprit)} raised {record.get('exception')} and did not end (exit handlers, threads, or children?), "
        "so the others waited for it"
    )
    return Verdict(code, sentence, culprit, followers, (*victims, *others))


def stopped(case: Case) -> Verdict | None:
    """A signal has stopped a rank, or a control group has frozen it, and the others waited for it until the guard or the watch for hangs had enough."""
    found = find_accused(case.statuses, case.failures)
    hung = case.observation.ended_by is EndedBy.HANG
    frozen = case.observation.frozen
    held = [s for s in case.statuses if s.rank in case.observation.stopped or s.rank in frozen]
    if not hung and (found is None or found[0] not in held):
        return None
    own = [s for s in case.failed if not is_consequence(s, case.failures)]
    if not held or (own and found is None):
        return None
    culprit = held[0]
    followers, victims = others_than(culprit, case)
    how = "frozen by a control group" if frozen else "stopped by a signal (SIGSTOP, SIGTSTP, or a debugger)"
    if frozen and len(frozen) < len(held):
        how = "frozen by a control group or stopped by a signal"
    it = "them" if held[1:] else "it"
    signalled = [status for status in held if status.rank not in frozen]
    going_on = [*dict.fromkeys(frozen[s.rank] for s in held if s.rank in frozen)]
    going_on += [_continuing(signalled, case.multi_host)] if signalled else []
    waited = f" and the others waited for {it}" if len(held) < len(case.statuses) else ""
    sentence = f"{_who(held)} {how}{waited}; {' and '.join(going_on)} would have let {it} go on"
    code = Exit.HANG if hung else Exit.FAILED
    ended = [status for status in (*victims, *case.unrecorded) if status not in held]
    return Verdict(code, sentence, culprit, followers, tuple(ended))


def _continuing(held: Sequence[RankStatus], multi_host: bool) -> str:
    """What lets them go on, host by host where there are several."""
    hosts: dict[str | None, list[str]] = {}
    for status in held:
        hosts.setdefault(status.host if multi_host else None, []).append(str(status.pid))
    return " and ".join(
        f"kill -CONT {' '.join(pids)}" + (f" on {host}" if host else "") for host, pids in hosts.items()
    )


def _who(held: Sequence[RankStatus]) -> str:
    """The ranks that a signal has stopped, with their hosts where these differ."""
    if len(held) == 1:
        return f"{rank_and_host(held[0])} was"
    if len({status.host for status in held}) == 1:
        return (
            f"{rank_list([status.rank for status in held])}{f' on {held[0].host}' * bool(held[0].host)} were"
        )
    return f"{', '.join(rank_and_host(status) for status in held)} were"


def ended_from_outside(case: Case) -> Verdict | None:
    """A signal or a deadline ended the run. Of a failure before a hang the hang is only the consequence."""
    reason = _reason(case)
    culprit = case.culprit
    if reason is None or (culprit is not None and case.observation.ended_by is EndedBy.HANG):
        return None
    late = case.observation.late
    if culprit is None and len(late) == 1:
        culprit = next(status for status in case.statuses if status.rank == late[0])
    followers, victims = others_than(culprit, case)
    others = tuple(status for status in case.unrecorded if status is not culprit)
    return Verdict(*reason, culprit, followers, victims, others)


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
