"""Which rank began it: told from the ranks' records, where the order of their ends alone does not say."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence, Set

from mgd.lean import replace
from tt_run.contract import Exit
from tt_run.supervise.status import CRASHES, RankStatus

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

Failures = Mapping[int, "Mapping[str, Any]"]  # what ranks wrote about their own failures, by rank

SAME_MOMENT = 0.5  # seconds within which the order of two ends does not say who began
QUITTER_SECONDS = (
    1.0  # how fast mpirun reacts to a rank that leaves without MPI_Finalize: 0.25 s, and a busy machine
)
PEER_CODES = (14,)  # how Open MPI ends a rank that saw another one's connection close
ENDED_BY_MPIRUN = frozenset((signal.SIGTERM, signal.SIGKILL))
PROCESS_GONE = "TTG006"  # of the guard: nobody answers for the rank any more
_PEER_ERRORS = ("MPI_ERR_PROC_FAILED", "MPI_ERR_REVOKED", "MPI_ERR_PROC_ABORTED")


def find_culprit(failed: Sequence[RankStatus], failures: Failures) -> RankStatus | None:
    """The rank whose failure came first.

    One that can only follow from another's is never the first, whatever the clocks say, unless there is nothing else. Of the rest, ends
    within SAME_MOMENT are told apart by what they look like: a crash or an exception comes before a bare exit code.
    """
    if not failed:
        return None
    own = [status for status in failed if not is_consequence(status, failures)]
    # Where nobody failed by itself, the group of one was sent a signal: who only saw its connection close came after it, before mpirun did.
    failed = own or [status for status in failed if status.code not in PEER_CODES] or failed
    first = min(moment(status, failures) for status in failed)
    close = [status for status in failed if moment(status, failures) - first <= SAME_MOMENT]
    return min(close, key=lambda status: (_blame(status, failures), moment(status, failures), status.rank))


def by_their_own_exceptions(statuses: Sequence[RankStatus], failures: Failures) -> list[RankStatus]:
    """The statuses, where a rank that mpirun ended after it had raised counts as ended by its exception.

    Several ranks that make one mistake raise together: the first to leave makes mpirun end the others while they write their tracebacks. On a
    busy machine it kills their wrappers, too, before one of them has written how its rank ended.
    """
    return [
        replace(status, signal=None, code=code_of(failures[status.rank]))
        if (status.signal in ENDED_BY_MPIRUN or (status.started and not status.ended))
        and _raised(status, failures)
        else status
        for status in statuses
    ]


def _raised(status: RankStatus, failures: Failures) -> bool:
    """Whether it left a record of an exception that tells of no other rank's failure."""
    record = failures.get(status.rank)
    return record is not None and not record.get("guard") and not is_consequence(status, failures)


def code_of(record: Mapping[str, Any]) -> int:
    """The exit code that goes with a rank's own record of its end."""
    if record.get("exception") == "SystemExit" and isinstance(record.get("code"), int):
        return int(record["code"])
    return Exit.INTERRUPTED if record.get("exception") == "KeyboardInterrupt" else Exit.FAILED


def find_quitter(statuses: Sequence[RankStatus], improper: Sequence[int] = ()) -> RankStatus | None:
    """The rank that left with 0 in the middle of an MPI program, for which mpirun ended the others: one of those that it calls `improper`, or
    else the last before them.

    Nobody else has a failure of its own then: all were sent SIGTERM or SIGKILL after it, or saw its connection close.
    """
    failed = [status for status in statuses if status.failed]
    own = [
        status for status in failed if status.signal not in ENDED_BY_MPIRUN and status.code not in PEER_CODES
    ]
    if own or all(status.succeeded for status in statuses):
        return None
    if named := next((status for status in statuses if status.rank in improper and status.succeeded), None):
        return named  # Open MPI 4.1 takes a second and more to end the others, of which it may kill some with their wrappers
    if not failed or any(status.end is None for status in failed):
        return None
    first = min(status.end for status in failed if status.end is not None)
    # A peer sees the connection close before the quitter's own wrapper has written its record.
    last = first + SAME_MOMENT if any(status.code in PEER_CODES for status in failed) else first
    before = [
        s for s in statuses if s.succeeded and s.end is not None and first - QUITTER_SECONDS <= s.end <= last
    ]
    return max(before, key=lambda status: status.end or 0.0, default=None)


def find_accused(
    statuses: Sequence[RankStatus], failures: Failures
) -> tuple[RankStatus, str, tuple[int, ...]] | None:
    """The rank that the guard of the emulation holds at fault, what the guard says (`error[TTG002]: rank 1 ended before …`), and all ranks
    that it holds at fault: several when none of them can be told from the others.

    The guard knows better than the clock: the ranks that wait in vain raise first, and the one at fault may even have ended with 0.
    """
    for record in failures.values():
        guard = record.get("guard")
        if isinstance(guard, Mapping) and guard.get("culprits"):
            accused = [status for status in statuses if status.rank in guard["culprits"]]
            if accused:
                first = min(accused, key=lambda s: (not s.was_killed, moment(s, failures), s.rank))
                said = str(record.get("message", "")).partition("\n")[0]
                ranks = tuple(sorted(status.rank for status in accused))
                return first, said or f"error[{guard.get('code')}]", ranks
    return None


def moment(status: RankStatus, failures: Failures) -> float:
    """When it failed: an exception is recorded before the process has ended."""
    recorded = failures.get(status.rank, {}).get("time")
    end = status.end if status.end is not None else float("inf")
    return min(end, recorded) if isinstance(recorded, int | float) else end


def follows_from_a_loss(culprit: RankStatus, failures: Failures, homeless: Set[int]) -> bool:
    """Whether the first failure is what the loss of a host does to ranks elsewhere: they are ended, or report the ranks that ran there."""
    if culprit.signal in ENDED_BY_MPIRUN or is_consequence(culprit, failures):
        return True
    guard = failures.get(culprit.rank, {}).get("guard")
    return isinstance(guard, Mapping) and bool(homeless & set(guard.get("culprits", ())))


def is_consequence(status: RankStatus, failures: Failures) -> bool:
    """Whether its end follows from another rank's: it was told to end, saw a connection close, or accuses others."""
    if status.code in PEER_CODES:
        return True
    record = failures.get(status.rank)
    if record is None:
        return status.told
    guard = record.get("guard")
    if isinstance(guard, Mapping) and guard.get("culprits"):
        return status.rank not in guard["culprits"]
    if status.told and record.get("exception") in ("KeyboardInterrupt", "SystemExit"):
        return True
    return any(name in str(record.get("message", "")) for name in _PEER_ERRORS)


def _blame(status: RankStatus, failures: Failures) -> int:
    """0 for a failure that can only be its own, 3 for one that tells of another rank's, numbers in between for doubt."""
    if is_consequence(status, failures):
        return 3
    raised = failures.get(status.rank, {}).get("exception", "SystemExit") != "SystemExit"
    if raised or status.signal in CRASHES or status.error:
        return 0
    return 2 if status.signal == signal.SIGTERM else 1


def find_vanished(
    statuses: Sequence[RankStatus],
    failures: Failures,
    gone: Mapping[int, float],
    noticed: Sequence[int],
    alone_suffices: bool = False,
    leaving: Set[int] = frozenset(),
    outlived: Sequence[int] = (),
) -> RankStatus | None:
    """The rank that was killed together with its wrapper, which left no record of their end; None when there is none, or nothing shows it.

    Nobody else has a failure of its own then. `gone` tells when processes were first missed on this machine, `noticed` which ranks mpirun
    says were killed; a victim that mpirun had to kill with its wrapper was missed later, and is not noticed. Where `alone_suffices`, the only
    one without a record that was not told to end needs no other sign, unless it is `leaving`: mpirun ends a rank that waits at its own end.
    Whoever `outlived` another rank's failure was ended for that.
    """
    failed = [status for status in statuses if status.failed]
    if any(not is_consequence(status, failures) for status in failed):
        return None
    accusations = [guard for record in failures.values() if (guard := record.get("guard"))]
    killed = {
        rank for guard in accusations if guard.get("code") == PROCESS_GONE for rank in guard["culprits"]
    }
    # Whom the guard holds at fault for anything else was alive then; mpirun has ended it for that, perhaps before its wrapper could write.
    alive = {rank for guard in accusations for rank in guard["culprits"]} - killed
    lost = [
        s
        for s in statuses
        if s.started and not (s.ended or s.told or s.rank in failures or s.rank in outlived)
    ]
    shown = [s for s in lost if s.rank in noticed or s.rank in killed or (s.rank in gone and not accusations)]
    if not shown and alone_suffices and len(lost) == 1 and not alive:
        return None if lost[0].rank in leaving else lost[0]
    return min(
        shown,
        key=lambda s: (s.rank not in killed, s.rank not in noticed, gone.get(s.rank, float("inf")), s.rank),
        default=None,
    )
