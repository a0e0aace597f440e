"""`tt-run status`: each rank of a run, where it is now or how it ended, and who is the odd one out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mgd.folding import fold
from mgd.lean import dataclass, replace
from tt_run.cli.commands.looking import age_text, columns, cut_to_terminal, one_run
from tt_run.cli.reading.options import Arguments, option
from tt_run.cli.reading.parse import read
from tt_run.contract import Exit

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

    from tt_run.supervise.looking.long_waits import LongWait
    from tt_run.supervise.looking.runs import Run
    from tt_run.supervise.looking.stacks import RankStack
    from tt_run.supervise.status import RankStatus


ONE_BY_ONE = 16
"""As many ranks have a line each; of more, those that do the same have one together."""


class Status(Arguments):
    """Show each rank of a run (the newest that goes on, else the newest, unless named): state, memory, place in the user's code, in which call it waits, since when and for whom, or after which it computes."""

    __slots__ = ()
    usage = "tt-run status [RUN] [OPTIONS]"
    log_dir: str | None = option(
        "Options", "--log-dir", "DIR", "Where the runs are [./tt-run-logs].", "folder"
    )
    all: bool = option(
        "Options", "--all", "", f"A line for each rank, also of more than {ONE_BY_ONE} that do the same."
    )
    json: bool = option("Options", "--json", "", "One JSON object for each rank, as a list.")
    help: bool = option("Options", "-h --help", "", "This text.")


def command(words: Sequence[str]) -> int:
    """Prints a line for each rank."""
    given = read(words, Status)
    if given.help:
        from tt_run.cli.help import command_help

        print(command_help(Status))
        return Exit.OK
    run = one_run(given.rest, given.log_dir, live=True)
    ranks = _look(run)
    if given.json:
        import json

        print(json.dumps([rank.as_json() for rank in ranks], indent=1))
        return Exit.OK
    print(fold(f"{run.label}: {run.sentence}, started {age_text(run.began)} ago", columns() or 0, "  "))
    for line in _lines(ranks, given.all or len(ranks) <= ONE_BY_ONE):
        print(line)
    for line in _waiting(ranks):
        print(line)
    return Exit.OK


@dataclass(frozen=True)
class RankNow:
    """One rank at this moment; `memory` in bytes, 0 where it is not known."""

    status: RankStatus
    what: str
    memory: int
    stack: RankStack | None
    wait: LongWait | None
    last_call: str = ""
    """The call with others that it made last, where it says so: `all_gather(shape …) at train.py:88`."""

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        status, wait, where = self.status, self.wait, self.stack.where if self.stack else None
        return {
            "rank": status.rank,
            "host": status.host,
            "pid": status.pid,
            "state": "ended" if status.ended else "running" if status.started else "starting",
            "exit_code": status.exit_code,
            "what": self.what,
            "last_call": self.last_call or None,
            "memory": self.memory or None,
            "file": where.file if where else None,
            "line": where.line if where else None,
            "waits": None
            if wait is None
            else {
                "call": wait.call,
                "number": wait.number,
                "site": wait.site,
                "seconds": round(wait.seconds, 1),
                "for": list(wait.missing),
            },
        }


def _lines(ranks: Sequence[RankNow], is_each: bool) -> list[str]:
    """A line for each rank, or for those on a host that do the same: with the most memory, and the longest wait."""
    from tt_run.supervise.looking.stacks import rank_list

    groups: dict[object, list[RankNow]] = {}
    for rank in ranks:
        does = (rank.wait.call, rank.wait.site, rank.wait.missing) if rank.wait else rank.what
        groups.setdefault(rank.status.rank if is_each else (rank.status.host, does), []).append(rank)
    shown = []
    for group in groups.values():
        first = max(group, key=lambda rank: rank.wait.seconds if rank.wait else 0.0)
        memory, bound = max(rank.memory for rank in group), "up to " if len(group) > 1 else ""
        used = f"{bound}{memory >> 20} MiB" if memory else ""
        who = f"{rank_list([rank.status.rank for rank in group])} on {first.status.host or '?'}"
        shown.append((who, used, first.what.replace(f"{Path.cwd()}/", "")))
    width = max((len(who) for who, _, _ in shown), default=0)
    wide = max((len(used) for _, used, _ in shown), default=0)
    beside = [(f"{who:{width}}  {f'{used:>{wide}}  ' if wide else ''}", what) for who, used, what in shown]
    room = columns()
    if room is None or max((len(who) + len(what) for who, what in beside), default=0) <= room:
        return [who + what for who, what in beside]
    return [line for who, what in beside for line in (who.rstrip(), cut_to_terminal(f"    {what}"))]


def _look(run: Run) -> list[RankNow]:
    """Every rank of a run, those that run asked for their stacks."""
    from tt_run.supervise.looking.long_waits import last_seen, read_waits
    from tt_run.supervise.looking.runs import RUNNING, ask_stacks

    is_running = run.state == RUNNING
    stacks = {stack.rank: stack for stack in ask_stacks(run)} if is_running else {}
    waits = read_waits(run.folder.path) if is_running else {}
    found = []
    for status in run.ranks:
        is_live = status.started and not status.ended
        stack, wait = (stacks.get(status.rank), waits.get(status.rank)) if is_live else (None, None)
        last = last_seen(run.folder, status.rank)[1] if is_live else ""
        if not is_live:
            what = status.outcome()
        elif wait is not None:
            what = str(wait)
        elif stack is None or stack.where is None:
            what = (_held(status.pid) or "running") if is_running else status.outcome()
        elif stack.waits:
            what = f"waits for others at {stack.where}"
        else:
            call = re.match(r"(\w[\w ]*)\(.*\)( at .*)", last)
            after = f", after {call[1]}{call[2]}" if call else ""
            text = f": {stack.where.text}" if stack.where.text else ""
            what = f"computes at {replace(stack.where, text='')}{after}{text}"
        found.append(RankNow(status, what, _memory(status.pid) if is_live else 0, stack, wait, last))
    return found


def _held(pid: int | None) -> str:
    """What keeps a process of this machine that answers nothing: a signal or its control group, with what lets it go on."""
    from tt_run.supervise.looking.frozen import thawing
    from tt_run.supervise.vitals import state_of

    if pid is None:
        return ""
    if state_of(pid) == "T":
        return f"stopped by a signal: kill -CONT {pid} lets it go on"
    words = thawing(pid)
    return f"frozen by its control group: {words} lets it go on" if words else ""


def _waiting(ranks: Sequence[RankNow]) -> list[str]:
    """Who waits for whom: as ranks say themselves, else those in MPI for those that are not."""
    from tt_run.supervise.looking.long_waits import who_waits

    waiting = [rank for rank in ranks if rank.wait or (rank.stack and rank.stack.waits)]
    busy = tuple(r.status.rank for r in ranks if r not in waiting and r.status.started and not r.status.ended)
    return who_waits({r.status.rank: r.wait.missing if r.wait else busy for r in waiting})


def _memory(pid: int | None) -> int:
    """The resident bytes of a process of this machine."""
    if pid is None:
        return 0
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0
