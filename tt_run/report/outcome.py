"""How the run ended: the verdict, what the guilty rank said, where the others were, and what became of each rank."""

from __future__ import annotations

import shlex
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from mgd.lean import dataclass
from tt_run import contract
from tt_run.faults import FaultError
from tt_run.report.sources import Sources
from tt_run.report.words import Cleaner, number, ranks_text, span
from tt_run.supervise.looking.runs import RUNNING
from tt_run.supervise.looking.stack_tree import stack_tree, tree_lines, without_emulation
from tt_run.supervise.looking.stacks import RankStack, read_frame
from tt_run.supervise.output.console import last_lines
from tt_run.supervise.output.exit_handlers import exit_handler_lines
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict.culprit import ENDED_BY_MPIRUN
from tt_run.supervise.verdict.injected import idle_faults, idle_sentence, injected_lines

MOST_RANKS = 2048
MOST_LOGS = 16
MOST_STACKS = 32
OF_CULPRIT, OF_OTHERS = 200, 40


@dataclass(frozen=True)
class Log:
    """The last lines of what a rank wrote."""

    rank: int
    stream: str
    lines: str
    cut: bool


@dataclass(frozen=True)
class Outcome:
    """The first part of the page. `state` is ok, bad, or open for a run without an end."""

    state: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    line: str
    cause: tuple[str, ...]
    tree: str
    stacks: tuple[tuple[str, str], ...]
    injected: tuple[str, ...]
    exit_handlers: tuple[str, ...]
    logs: tuple[Log, ...]
    ranks: tuple[tuple[Any, ...], ...]
    ranks_left_out: int


def outcome(found: Sources, clean: Cleaner) -> Outcome:
    """Everything about the end."""
    verdict = found.run.verdict
    state = "open" if verdict is None else "ok" if verdict.get("exit_code") == 0 else "bad"
    rows = _ranks(found)
    return Outcome(
        state,
        clean(_sentence(found)),
        tuple((name, clean(text)) for name, text in _facts(found)),
        clean(shlex.join(clean.words(found.plan.get("line") or ()))),
        tuple(clean(line) for line in _cause(found)),
        clean("\n".join(_tree(found))),
        tuple((title, clean(frames)) for title, frames in _stacks(found)[:MOST_STACKS]),
        tuple(clean(line.strip().removeprefix("injected: ")) for line in _injected(found, state)),
        tuple(map(clean, exit_handler_lines(found.run.folder.path))),
        tuple(_logs(found, clean)),
        tuple(
            tuple(clean(cell) if isinstance(cell, str) else cell for cell in row) for row in rows[:MOST_RANKS]
        ),
        max(len(rows) - MOST_RANKS, 0),
    )


def _injected(found: Sources, state: str) -> list[str]:
    """What faults on purpose did, and of a run that has ended which of them never came."""
    folder = found.run.folder.path
    lines = injected_lines(folder, found.culprit, None if state == "open" else state == "bad")
    env = found.ranks[0].get("env") or {} if found.ranks else {}
    idle = idle_faults(folder, str(env.get(contract.INJECT, "")).split("\n") if state != "open" else ())
    with suppress(FaultError):  # somebody has changed the file
        if any(idle):
            lines.append(f"never happened: {idle_sentence(folder, [text for text in idle if text])}")
    return lines


def _sentence(found: Sources) -> str:
    if found.run.verdict is None:
        return found.run.sentence
    return str(found.run.verdict.get("sentence", ""))


def _facts(found: Sources) -> list[tuple[str, str]]:
    plan, run = found.plan, found.run
    started = plan.get("started") or run.began
    facts = [("started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(number(started))))]
    if plan.get("ended"):
        facts.append(("took", span(number(plan["ended"]) - number(started))))
    elif run.state == RUNNING:
        facts.append(("running for", span(max(time.time() - number(started), 0))))
    facts.append(("ranks", f"{len(run.ranks) or len(found.ranks)}"))
    hosts = sorted({status.host for status in run.ranks if status.host})
    if hosts:
        more = f" and {len(hosts) - 4} more" if len(hosts) > 4 else ""
        facts.append(("hosts" if len(hosts) > 1 else "host", ", ".join(hosts[:4]) + more))
    if plan:
        facts.append(("on", "the emulation" if plan.get("emulate") else "hardware"))
    verdict = run.verdict or {}
    if verdict:
        facts.append(("exit code", str(verdict.get("exit_code"))))
        if number(verdict.get("attempts")) > 1:
            facts.append(("attempts", str(verdict["attempts"])))
    return facts


def _cause(found: Sources) -> list[str]:
    """What the guilty rank wrote about its end; where it wrote nothing, what the guard said of it on another rank."""
    failures = [
        (each.get("rank"), each["failure"]) for each in found.plan.get("outcomes", []) if each.get("failure")
    ]
    chosen = next((failure for rank, failure in failures if rank == found.culprit), None)
    chosen = chosen or next((failure for _, failure in failures if failure.get("guard")), None)
    if chosen is None:
        return []
    lines = [f"{chosen.get('exception')}: {chosen.get('message')}"]
    if chosen.get("file"):
        lines.append(f"at {chosen['file']}:{chosen.get('line')}")
    if chosen.get("last_collective"):
        lines.append(f"last collective: {chosen['last_collective']}")
    return lines


def _tree(found: Sources) -> list[str]:
    """The stacks of all ranks as one tree, as `tt-run stacks` draws it."""
    stacks = [
        RankStack(each["rank"], tuple(map(read_frame, each.get("frames") or ())))
        for each in found.plan.get("stacks") or []
    ]
    return tree_lines(stack_tree([without_emulation(stack) for stack in stacks])) if stacks else []


def _stacks(found: Sources) -> list[tuple[str, str]]:
    """Ranks that stand in the same place are told together, the smaller groups, who are the odd ones, first."""
    places: dict[str, list[int]] = {}
    for each in found.plan.get("stacks") or []:
        frames = "\n".join(each.get("frames") or ()) or "no stack: not a Python program, or it did not answer"
        places.setdefault(frames, []).append(each["rank"])
    ordered = sorted(places.items(), key=lambda place: (len(place[1]), place[1]))
    return [(f"rank{'s' * (len(ranks) > 1)} {ranks_text(ranks)}", frames) for frames, ranks in ordered]


def _logs(found: Sources, clean: Cleaner) -> list[Log]:
    """Of the guilty rank, then of the first ones."""
    culprit, folder = found.culprit, found.run.folder
    others = [status.rank for status in found.run.ranks if status.rank != culprit]
    chosen = ([culprit] if culprit is not None else []) + others
    logs = []
    for rank in chosen[:MOST_LOGS]:
        count = OF_CULPRIT if rank == culprit else OF_OTHERS
        for stream, path in (("stderr", folder.err(rank)), ("stdout", folder.out(rank))):
            lines = _tail(path, count)
            if lines:
                logs.append(Log(rank, stream, clean("\n".join(lines)), len(lines) == count))
    return logs


def _tail(path: Path, count: int) -> list[str]:
    return last_lines(path, count, limit=1 << 17)


def _ranks(found: Sources) -> list[tuple[Any, ...]]:
    """Rank, host, mesh, host rank, devices, what became of it, its part, seconds."""
    parts = {each.get("rank"): each.get("part", "") for each in found.plan.get("outcomes", [])}
    planned = {each.get("rank"): each for each in found.ranks}
    failures = {each.get("rank"): each.get("failure") for each in found.plan.get("outcomes", [])}
    together = _together(failures, found.culprit)
    parts |= dict.fromkeys(together, "together")
    live = {status.rank for status in found.run.live} if found.run.state == RUNNING else ()
    rows = []
    for status in found.run.ranks:
        plan = planned.get(status.rank, {})
        lasted = None if status.end is None or status.start is None else round(status.end - status.start, 3)
        part = str(parts.get(status.rank, ""))
        place = plan.get("mesh_host_rank")
        rows.append(
            (
                status.rank,
                status.host or plan.get("host") or "",
                plan.get("mesh_id", ""),
                "" if place is None else place,
                _devices(plan.get("devices") or []),
                "runs"
                if status.rank in live
                else _became(status, failures.get(status.rank), status.rank in together),
                part,
                lasted,
            )
        )
    order = {"culprit": 0, "together": 0, "follower": 1, "lost": 2, "victim": 3}
    return sorted(rows, key=lambda row: (order.get(row[6], 4) if len(rows) > MOST_RANKS else 0, row[0]))


def _together(failures: dict[Any, Any], culprit: int | None) -> list[int]:
    """The ranks that the guard accuses together with the one that ended first; empty where it accuses one or none."""
    guard = (failures.get(culprit) or {}).get("guard") or {}
    accused = [rank for rank in guard.get("culprits") or () if isinstance(rank, int)]
    return accused if len(accused) > 1 and culprit in accused else []


def _became(status: RankStatus, failure: dict[str, Any] | None, is_accused: bool) -> str:
    """How a rank ended: one that was ended while its exception was on its way out says the exception first."""
    said = status.outcome()
    is_own = failure and (is_accused or not failure.get("guard")) and status.signal in ENDED_BY_MPIRUN
    return f"raised {failure['exception']}, then {said}" if is_own and failure else said


def _devices(devices: list[list[int]]) -> str:
    """`2x2 from (0, 2)`: size and corner of the block; empty for what is none, as in a damaged report."""
    if not devices or any(list(map(type, each)) != [int, int] for each in devices):
        return ""
    (top, left), (bottom, right) = devices[0], devices[-1]
    return f"{bottom - top + 1}x{right - left + 1} from ({top}, {left})"


def placement(found: Sources, clean: Cleaner) -> dict[str, Any]:
    """Where the ranks' places come from, and the words of the launcher."""
    place = found.plan.get("placement") or {}
    chips = place.get("chips")
    by_mesh: dict[int, list[int]] = {}
    for rank in found.ranks:
        by_mesh.setdefault(rank.get("mesh_id", 0), []).append(rank["rank"])
    return {
        "source": clean(place.get("source", "")),
        "meshes": [(mesh, ranks_text(ranks)) for mesh, ranks in sorted(by_mesh.items())][:64],
        "chips": clean(chips) if chips else "",
        "command": clean(shlex.join(clean.words(found.plan.get("command") or ()))),
        "program": clean(shlex.join(clean.words((found.ranks or [{}])[0].get("argv") or ()))),
        "files": [clean(each) for each in found.plan.get("generated_files") or []],
    }
