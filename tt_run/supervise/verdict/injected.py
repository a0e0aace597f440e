"""What was injected into a run, from the files that its ranks wrote, and whether the verdict named it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mgd.lean import replace
from tt_run import contract
from tt_run.faults import HITTING, LINKS, SIGNALS, read_fault, starts_of
from tt_run.supervise.folder import files_of_ranks
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.status import StatusBoard
from tt_run.supervise.verdict.evidence import Verdict

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any


def injected(folder: Path) -> list[dict[str, Any]]:
    """The faults that happened: rank, fault, action, call, op, site."""
    return [fact for fact in _noted(folder) if "missed" not in fact]


def injected_in_run(folder: Path) -> list[dict[str, Any]]:
    """The same of all starts of a run up to that of this folder, each with the number of its start."""
    return [
        {**fact, "start": number}
        for number, start in enumerate(starts_of(folder), 1)
        for fact in injected(start)
    ]


def _noted(folder: Path) -> list[dict[str, Any]]:
    """What ranks wrote of faults: those that happened, and at the end those whose place they never came to."""
    found: list[dict[str, Any]] = []
    for path in files_of_ranks(folder, contract.INJECTED_FILE):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        found += filter(None, map(_fault, lines))
    return found


_HAPPENED = {"rank": int, "fault": str, "action": str, "op": str, "site": str}
_MISSED = {"rank": int, "missed": str, "calls": int, "met": int, "lines": list, "called": list}


def _fault(line: str) -> dict[str, Any] | None:
    """What was written of one fault; None for a line that was cut off or damaged."""
    try:
        told = json.loads(line)
        is_missed = "missed" in told
        kinds = (_MISSED if is_missed else _HAPPENED).items()
        is_sound = all(isinstance(told[key], kind) for key, kind in kinds)
        when = 0 if is_missed else told.get("after", told.get("call"))
        return told if is_sound and isinstance(when, (int, float)) else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def with_dropped_messages(verdict: Verdict, observation: Observation, board: StatusBoard) -> Verdict:
    """The verdict on a run that hung or ran out of time, where ranks wait for what a fault on purpose has dropped: the ranks that the fault
    was for are the ones it names, and the call and line that wait."""
    folder = board.folder.path
    if observation.ended_by not in (EndedBy.HANG, EndedBy.TIMEOUT) or verdict.culprit is not None:
        return verdict
    waiting = [fault for fault in injected(folder) if fault["action"] == "drop" and fault["op"]]
    if not waiting:
        return verdict
    first = waiting[0]
    ranks = sorted({fault["rank"] for fault in waiting if fault["fault"] == first["fault"]})
    meant = [rank for rank in ranks if rank in (read_fault(first["fault"]).ranks or ())] or ranks
    wait = f"{rank_list(ranks)} wait{'s' if len(ranks) == 1 else ''} in {first['op']} at {first['site']}"
    sentence = (
        f"{verdict.sentence.partition(': ')[0]}: {wait} for what --inject {first['fault']} drops on purpose"
    )
    culprit = next((status for status in board.all() if status.rank == meant[0]), None)
    others = [tuple(s for s in part if s is not culprit) for part in (verdict.victims, verdict.lost)]
    return replace(verdict, sentence=sentence, culprit=culprit, victims=others[0], lost=others[1])


def injected_lines(folder: Path, culprit: int | None, failed: bool | None = True) -> list[str]:
    """A line for each fault, at most five, and whether the verdict on a run that failed names a rank that one of them hit.

    `failed` is None for a run that has no verdict yet.
    """
    faults = injected_in_run(folder)
    if not faults:
        return []
    last = max(len(starts_of(folder)), 1)
    times = Counter(map(_key, faults))
    told = list({_key(fault): fault for fault in reversed(faults)}.values())[::-1]
    lines = [
        f"  injected: {_sentence(fault)}{_often(times[_key(fault)])}{_when(fault, last)}"
        for fault in told[:5]
    ]
    if len(told) > 5:
        lines.append(f"  injected: {len(told) - 5} more")
    now = [fault for fault in faults if fault["start"] == last]
    ended = {fault["rank"] for fault in now if fault["action"] in HITTING}
    hit = ended or {fault["rank"] for fault in now}
    if failed is False:
        lines.append("  the run ended well all the same")
    elif failed and hit:
        lines.append(f"  the verdict {'names' if culprit in hit else 'does not name'} the rank that was hit")
    return lines


def idle_faults(folder: Path, asked: Sequence[str]) -> list[str]:
    """Those of the faults that were asked for which never happened, at no start of the run."""
    happened = {fault["fault"] for fault in injected_in_run(folder)}
    return [text for text in asked if text not in happened]


def idle_sentence(folder: Path, idle: Sequence[str]) -> str:
    """Why faults have not happened: the run had ended before their time, or no rank came to their place; what ranks did instead."""
    late = [text for text in idle if _is_time(text)]
    missed = [text for text in idle if text not in late]
    said = [f"the run ended before the time of {' and '.join(late)}"] if late else []
    if any(read_fault(text).action not in SIGNALS for text in late):
        said[0] += ", or before its next line of Python"
    if missed:
        said.append(f"no rank came to what {' and '.join(missed)} {'name' if missed[1:] else 'names'}")
    notes = {note["missed"]: note for note in _noted(folder) if "missed" in note}
    near = [_instead(notes[text]) for text in missed if text in notes]
    return ", and ".join(said) + "".join(f"; {text}" for text in dict.fromkeys(near))


def _instead(note: dict[str, Any]) -> str:
    """What a rank did that never came to a fault."""
    fault, rank = read_fault(note["missed"]), f"rank {note['rank']}"
    if fault.call:
        return f"{rank} made {note['calls']} call{'s' * (note['calls'] != 1)}"
    if note["met"]:
        return f"{rank} came there {note['met']} time{'s' * (note['met'] != 1)}"
    if fault.site:
        return f"{rank} called from {', '.join(note['lines']) or 'nowhere'}"
    return f"{rank} called {', '.join(note['called']) or 'nothing'}"


def _is_time(text: str) -> bool:
    fault = read_fault(text)
    return fault.by_time and fault.delays


def _key(fault: dict[str, Any]) -> tuple[Any, ...]:
    """What a fault that comes at many calls has in common."""
    return fault["start"], fault["rank"], fault["fault"], fault["op"], fault["site"]


def _when(fault: dict[str, Any], last: int) -> str:
    return f", at start {fault['start']} of {last}" if last > 1 else ""


def _often(times: int) -> str:
    return f", the first of {times} times" if times > 1 else ""


def _sentence(fault: dict[str, Any]) -> str:
    spec = f" of {fault['fault'].partition('=')[2].partition(',')[0]}" if fault["action"] in LINKS else ""
    what = f"{fault['action']}{spec} {'on' if spec else 'of'} rank {fault['rank']}"
    if "after" in fault:  # nobody counted calls
        return f"{what} after {fault['after']:.3g} s" if fault["after"] else f"{what} from its start"
    calls = f"after {fault['call']} call{'s' * (fault['call'] != 1)}"
    if not fault["op"]:
        return f"{what} {calls}" + (f", at {fault['site']}" if fault["site"] else "")
    if fault.get("is_call"):
        return f"{what} before call {fault['call']}, {fault['op']} at {fault['site']}"
    return f"{what} in {fault['op']} at {fault['site']}, {calls}"
