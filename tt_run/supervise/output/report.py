"""The end of a failed run as text, JSON and GitHub annotations: who failed, where, with what last words, and how to run it again."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from mgd.diagnostics import Position, on_one_line, showable
from tt_run.contract import essence
from tt_run.inputs.github import workflow_command
from tt_run.supervise.attempt import Attempt, is_missing
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.looking.long_waits import last_seen
from tt_run.supervise.looking.stacks import parse_stack, rank_list
from tt_run.supervise.observation import EndedBy
from tt_run.supervise.output.advice import advice_on, launcher_advice, own_advice
from tt_run.supervise.output.console import last_lines
from tt_run.supervise.output.exit_handlers import exit_handlers
from tt_run.supervise.processes import left_behind
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict.evidence import Verdict
from tt_run.supervise.verdict.hang import stack_lines
from tt_run.supervise.verdict.injected import injected_in_run, injected_lines
from tt_run.supervise.verdict.lost_hosts import read_lost_hosts

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

MOST_LINES = 30
LAST_LINES = 8
GUARD_LINES = 14
MOST_WAITING = 4
ABOVE_LINES = 60  # so far up a reader looks for the words of an exception
LONGEST = 400  # characters of a line: a hint stands at the end of long ones


def failure_report(
    attempt: Attempt, rerun: Sequence[str], is_shown: Callable[[int], bool] = lambda rank: False
) -> list[str]:
    """The report of a run that did not succeed, at most MOST_LINES lines; `rerun` are the words of its command line.

    `is_shown` tells whether the console has shown what a rank says of its errors, which is then not said again.
    """
    verdict, observation, board = attempt.verdict, attempt.observation, attempt.board
    folder = board.folder
    lines = [f"tt-run: {verdict.sentence}", *_full_disk(folder)]
    alike = _alike(verdict, attempt.failures)
    if verdict.culprit is not None:
        record = _record_of(attempt, verdict.culprit)
        stand_above = observation.last_shown in (verdict.culprit.rank, *alike) and _has_said(folder, record)
        # A victim whose guard has told what the culprit raised comes after the culprit's own words.
        stand_above = stand_above or _was_told_by(folder, record, observation.last_shown)
        teller = int(record.get("rank", verdict.culprit.rank)) if record else 0
        guard_stands_above = is_shown(teller) and teller not in observation.unsaid
        if record is not None and record.get("guard") and not guard_stands_above:
            lines += _guard_head(record, verdict.sentence)
        lines += _culprit_lines(verdict.culprit, record, folder, is_shown, stand_above, guard_stands_above)
        if verdict.culprit.rank in (
            *observation.stopped,
            *observation.frozen,
        ):  # what would help it has been said
            lines = [line for line in lines if not line.startswith("  help: ")]
        if record is not None and not record.get("guard"):
            lines += _waiting_lines(attempt, verdict.culprit.rank)
    elif verdict.lost and observation.ended_by is EndedBy.ITSELF:
        lines += _launcher_lines(folder)
    if observation.stacks:
        lines += ["  where the ranks were:"]
        lines += [f"    {line}" for line in stack_lines(observation.stacks, board, observation.stopped)[:8]]
    if verdict.culprit is None and verdict.lost and is_missing(folder, folder.launcher_said()):
        lines.append(
            f"  help: every host must see {folder.path}: name a folder that they share with --log-dir DIR"
        )
    elif verdict.culprit is None or verdict.culprit.rank not in attempt.failures:
        lines += launcher_advice(folder, verdict, observation.launcher_code)
    lines += _other_lines(verdict, alike)
    if observation.swept:
        lines.append(f"  {left_behind(observation.swept)}")
    lines += [f"  {told}" for told in observation.survived]
    culprit = verdict.culprit.rank if verdict.culprit else None
    lines += injected_lines(folder.path, culprit)
    lines += [f"  processes left behind on {host} were ended" for host in attempt.elsewhere.ended]
    lines += [f"  {host} does not answer: its ranks may still run there" for host in attempt.elsewhere.silent]
    where = on_one_line(str(folder.path)) + (
        f", {folder.err(verdict.culprit.rank).name}" if verdict.culprit else ""
    )
    tail = [f"  logs: {where}", f"  run again: {shlex.join(rerun)}"]
    if not verdict.sentence.endswith(f" exited with {verdict.exit_code}"):
        tail.append(f"  exit code {verdict.exit_code}")
    return [showable(line) for line in lines[: MOST_LINES - len(tail)] + tail]


def _full_disk(folder: RunFolder) -> list[str]:
    """That records and output may be missing, and what else goes wrong where nothing can be written."""
    try:
        found = os.statvfs(folder.path)
    except OSError:
        return []
    if found.f_bavail and (found.f_favail or not found.f_files):
        return []
    what = "room for files" if found.f_bavail else "disk"
    return [
        f"  the {what} of the run folder is full, so records and output may be missing: --log-dir DIR names another"
    ]


def _record_of(attempt: Attempt, culprit: RankStatus) -> Mapping[str, Any] | None:
    """What the culprit wrote about itself; where it wrote nothing, what the guard said about it on another rank."""
    own = attempt.failures.get(culprit.rank)
    if own is not None and own.get("exception") != "SystemExit":
        return own
    return next((record for record in attempt.failures.values() if record.get("guard")), own)


def _has_said(folder: RunFolder, record: Mapping[str, Any] | None) -> bool:
    """Whether what a rank wrote down of its failure is among the last lines of its standard error."""
    if record is None or "rank" not in record:
        return False
    said = essence(str(record.get("message", ""))).partition("incompatible function arguments")[0]
    said = re.sub(r" \([^()]*, line \d+\)$", "", said)  # of a SyntaxError, whose place Python prints apart
    said = said.replace("\x00", "")  # as in what is read of logs
    return any(said in line for line in last_lines(folder.err(int(record["rank"])), ABOVE_LINES))


def _was_told_by(folder: RunFolder, record: Mapping[str, Any] | None, shown: int | None) -> bool:
    """Whether the last rank on the console said of the culprit what it raised, below what the culprit itself had said."""
    if record is None or record.get("guard") or shown is None or shown == record.get("rank"):
        return False
    return _has_said(folder, record) and _has_said(folder, {**record, "rank": shown})


def _culprit_lines(
    culprit: RankStatus,
    record: Mapping[str, Any] | None,
    folder: RunFolder,
    is_shown: Callable[[int], bool],
    words_stand_above: bool,
    guard_stands_above: bool,
) -> list[str]:
    lines = []
    if record is not None and not (record.get("guard") and guard_stands_above):
        lines += _exception_lines(record, culprit.rank, words_stand_above)
    elif record is not None:
        lines += _place_lines(record, culprit.rank)
    else:
        lines += _said_of_its_end(folder, culprit.rank) or _last_seen(folder, culprit.rank)
    is_told = is_shown(culprit.rank) or (record is not None and record.get("guard"))
    if not is_told:  # what the guard says is complete, the log only repeats it
        tail = last_lines(folder.err(culprit.rank), LAST_LINES) or last_lines(
            folder.out(culprit.rank), LAST_LINES
        )
        if tail:
            lines.append(f"  last lines of rank {culprit.rank}:")
            lines += [f"    {line[:LONGEST]}" for line in tail]
    return lines


def _exception_lines(record: Mapping[str, Any], culprit: int, words_stand_above: bool) -> list[str]:
    """Exception, place and last collective as the culprit wrote them down, or what the guard said about it elsewhere.

    Where the culprit's traceback is the last that the console shows, its words are not said again: its place is, and what it does not know.
    """
    message, exception = str(record.get("message", "")), str(record.get("exception"))
    lines = []
    if record.get("guard"):  # its first line stands in the verdict's sentence, or above
        lines += _guard_lines(message)
    elif not words_stand_above:
        said = essence(message)
        lines.append(f"  {exception}{': ' * bool(said)}{said}"[:LONGEST])
        if advice := own_advice(message):
            lines.append(f"    help: {advice}")
    if advice := advice_on(exception, message, str(record.get("python", ""))):
        lines.append(f"    help: {advice}")
    if record.get("rank") != culprit or record.get("guard"):  # the guard's lines name every rank's place
        return lines
    if record.get("file"):
        lines.append(f"    at {record['file']}:{record.get('line')}")
    if record.get("last_collective"):
        lines.append(f"    last collective: {record['last_collective']}")
    return lines


def _guard_head(record: Mapping[str, Any], sentence: str) -> list[str]:
    """What the guard found, with its code, where the verdict says something else of the same (that a signal stopped the rank)."""
    head = str(record.get("message", "")).partition("\n")[0]
    return [] if head in sentence else [f"  {head}"[:LONGEST]]


def _guard_lines(message: str) -> list[str]:
    """What the guard says of each rank and its hint; of many ranks those at fault and the first."""
    *said, help = [_cut(line) for line in message.splitlines()[1:]] or [""]
    said = _alike_together(said)
    if len(said) > GUARD_LINES:
        marked = [line for line in said if line.endswith("  <-")]
        others = [line for line in said if line not in marked]
        kept = (marked + others)[:GUARD_LINES]
        left = len(said) - len(kept)
        said = [*(line for line in said if line in kept), f"  and {left} lines more in the log"]
    return [*said, help]


def _cut(line: str) -> str:
    """A line without the middle of a call's long arguments: its place stands behind them."""
    if len(line) <= LONGEST:
        return line
    found = re.search(r" at [^\s:]+:\d+(?!.* at [^\s:]+:\d).*$", line)
    tail = found[0][:LONGEST] if found else ""
    return f"{line[: max(LONGEST - len(tail) - 1, 0)]}…{tail}"


def _alike_together(lines: Sequence[str]) -> list[str]:
    """The lines, where three or more ranks that are in the same share one."""
    groups: dict[str, list[int]] = {}
    texts: dict[str, str] = {}
    for line in lines:
        found = re.match(r"  rank (\d+): (.*)", line)
        what = re.sub(r" since [\d.]+ s", "", found[2]) if found else line
        groups.setdefault(what, []).extend([int(found[1])] if found else [])
        texts.setdefault(what, found[2] if found else line)
    together: list[str] = []
    for what, ranks in groups.items():
        if len(ranks) > 2:
            together.append(f"  {rank_list(ranks)}: {texts[what]}")
        elif not ranks:
            together.append(what)
        else:
            together += [
                line for line in lines if re.match(rf"  rank (?:{'|'.join(map(str, ranks))}): ", line)
            ]
    return together


def _waiting_lines(attempt: Attempt, culprit: int) -> list[str]:
    """Where the others were when a rank raised, of what the guard has said to them and the console has held back."""
    told = [
        str(record.get("message"))
        for rank, record in attempt.failures.items()
        if record.get("guard") and rank in attempt.observation.unsaid
    ]
    said = [line for line in told[0].splitlines() if line.startswith("  rank ")] if told else []
    others = [line[:LONGEST] for line in said if not line.startswith(f"  rank {culprit}: ")]
    more = f"  and {len(others) - MOST_WAITING} ranks more in the log"
    return [*others[:MOST_WAITING], *[more] * (len(others) > MOST_WAITING)]


def _place_lines(record: Mapping[str, Any], culprit: int) -> list[str]:
    """Where the culprit was, of what a guard's words above say of every rank."""
    said = str(record.get("message", "")).splitlines()[1:]
    return [line[:LONGEST] for line in said if line.startswith(f"  rank {culprit}: ")][:1]


def _said_of_its_end(folder: RunFolder, culprit: int) -> list[str]:
    """Where a rank without a record crashed, as its log says."""
    said = last_lines(folder.err(culprit), ABOVE_LINES)
    begun = [number for number, line in enumerate(said) if line.endswith("(most recent call first):")]
    crashed = parse_stack(culprit, "\n".join(said[begun[-1] :])).where if begun else None
    return [f"    at {crashed.file}:{crashed.line}"] if crashed is not None else []


def _last_seen(folder: RunFolder, culprit: int) -> list[str]:
    """Where the culprit was, as it wrote down itself from time to time: a moment before its end."""
    place, call = last_seen(folder, culprit)
    lines = [f"    last seen at {place}"[:LONGEST]] if place else []
    return [*lines, f"    last call: {call}"[:LONGEST]] if call else lines


def _launcher_lines(folder: RunFolder) -> list[str]:
    read = (line for line in last_lines(folder.launcher_log, 20) if not _is_noise(line))
    said = [*dict.fromkeys(read)][-14:]
    if any(
        host.why for host in read_lost_hosts(folder.launcher_said())
    ):  # then Open MPI's guesses help nobody
        said = [line for line in said if "ssh" in line or "Permission denied" in line]
    return ["  mpirun said:", *(f"    {line[:LONGEST]}" for line in said)] if said else []


def _is_noise(line: str) -> bool:
    """Rulers, and a harmless race of Open MPI's that it warns about."""
    return set(line) == {"-"} or "setpgid" in line


def _other_lines(verdict: Verdict, alike: Sequence[int]) -> list[str]:
    lines = []
    if alike:
        lines.append(f"  {rank_list(alike)} failed in the same way, at the same line")
    others = [status for status in verdict.followers if status.rank not in alike]
    for status in others[:4]:
        lines.append(f"  rank {status.rank} {status.outcome(with_reason=False)} as well, after it")
    if len(others) > 4:
        lines.append(f"  and {len(others) - 4} further ranks after it")
    ended = [status.rank for status in (*verdict.victims, *verdict.lost)]
    if ended and verdict.culprit is not None:
        lines.append(f"  ended because of it: {rank_list(ended)}")
    return lines


def _alike(verdict: Verdict, failures: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """Ranks that failed after the culprit with its exception, text and line: the one mistake of a program that all of them run."""
    own = failures.get(verdict.culprit.rank) if verdict.culprit else None
    if own is None or own.get("guard"):
        return []
    what = ("exception", "message", "file", "line")
    return [
        status.rank
        for status in verdict.followers
        if (other := failures.get(status.rank)) and all(own.get(key) == other.get(key) for key in what)
    ]


def report_json(attempt: Attempt, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan's JSON with the outcome of each rank and the verdict."""
    verdict, observation, folder = attempt.verdict, attempt.observation, attempt.folder
    statuses, failures = attempt.board.all(), attempt.failures
    part = {verdict.culprit.rank: "culprit"} if verdict.culprit else {}
    part |= {status.rank: "victim" for status in verdict.victims}
    part |= {status.rank: "follower" for status in verdict.followers}
    part |= {status.rank: "lost" for status in verdict.lost if status.rank not in part}
    outcomes = [
        {
            "rank": status.rank,
            "host": status.host,
            "pid": status.pid,
            "start": status.start,
            "end": status.end,
            "exit": status.code,
            "signal": status.signal,
            "error": status.error,
            "part": part.get(status.rank, "ok" if status.succeeded else "unknown"),
            "failure": failures.get(status.rank),
            "stdout": str(folder.out(status.rank)),
            "stderr": str(folder.err(status.rank)),
        }
        for status in statuses
    ]
    return {
        **plan,
        "verdict": {
            "exit_code": verdict.exit_code,
            "sentence": verdict.sentence,
            "culprit": verdict.culprit.rank if verdict.culprit else None,
            "ended_by": observation.ended_by.value,
            "attempts": attempt.number,
        },
        "injected": injected_in_run(folder.path),
        "exit_handlers": exit_handlers(folder.path),
        "run_folder": str(folder.path),
        "started": observation.started_at,
        "ended": observation.ended_at,
        "outcomes": outcomes,
        "stacks": [
            {"rank": stack.rank, "frames": [str(frame) for frame in stack.frames]}
            for stack in observation.stacks
        ],
    }


def annotation(verdict: Verdict, failures: Mapping[int, Mapping[str, Any]]) -> str:
    """One GitHub workflow command that marks the failing line in the pull request."""
    at = None
    message = verdict.sentence
    if verdict.culprit is not None and (record := failures.get(verdict.culprit.rank)):
        at = Position(str(record.get("file")), int(record.get("line") or 0))
        told = str(record.get("message"))
        first, _, more = told.partition("\n")
        if first and first in message:  # the guard's sentence, which its exception begins with
            message = "\n".join(filter(None, (message, more)))
        else:
            message += f": {record.get('exception')}: {told}"
    return workflow_command("error", "tt-run", message, at)
