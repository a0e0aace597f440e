"""The error that every rank raises: one text, who is where, waiting for what, since when, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from tt_run.rules import guard_rule
from tt_run.runtime.guard.board import ENDED, RAISED
from tt_run.runtime.guard.diagnosis import Finding, blockers
from tt_run.runtime.guard.states import RankState


class GuardError(RuntimeError):
    """Ranks do not meet. `code` is permanent (`tt_run.rules.guard`), `culprits` are the ranks at fault; every rank gets the same text."""

    def __init__(self, text: str, code: str, culprits: tuple[int, ...]) -> None:
        super().__init__(text)
        self.code = code
        self.culprits = culprits


def render(finding: Finding, states: Mapping[int, RankState], now: float) -> str:
    """The report as text: title, one line for each rank, the explanation, a hint."""
    lines = [f"error[{finding.code}]: {finding.title}"]
    shown = sorted(states)
    for rank in shown:
        mark = "  <-" if rank in finding.culprits else ""
        lines.append(f"  rank {rank}: {where(states[rank], now, blockers(states, rank, at_last=True))}{mark}")
    lines += [f"  {line}" for line in finding.explanation]
    lines.append(f"  help: {guard_rule(finding.code).help}")
    return "\n".join(lines)


def where(state: RankState, now: float, missing: tuple[int, ...] = ()) -> str:
    """One rank in words: what it is in, which ranks it misses there, for how long; where its last call was."""
    last = "; it has made no call"
    if state.last or state.calls is None:
        last = f"; its last call was {state.last}" if state.last else ""
    if state.state == RAISED:
        return f"raised {state.error or 'an exception'}{_at(state.error_site)}{last}"
    if state.state == ENDED:
        code = f" with {state.error}" if state.error else ""
        return (
            f"ended{_at(state.error_site) or ' at the end of its program'}{code}{_after(state.calls)}{last}"
        )
    if state.lost:
        return f"its process is gone,{_after(state.calls)}{last}"
    wait = state.wait
    if wait is not None and state.waiting:
        for_whom = f", waiting for {_list(missing)}" if missing else ""
        # The calls of a group are counted together; messages have numbers that only their two ends share.
        call = wait.call if wait.kind in ("send", "receive", "message") else f"call {wait.number} {wait.call}"
        called = f", from {wait.callers}" if wait.callers else ""
        return f"in {call} at {wait.site}{called}{for_whom} since {max(now - wait.since, 0):.1f} s"
    if state.remote and not state.last:
        return "on another host, from which nothing was heard: in no call that waits"
    doing = f"at {state.doing}" if state.doing else "in no call"
    return f"running {doing}{_after(state.calls)}{last}"


def _at(site: str) -> str:
    return f" at {site}" if site else ""


def _after(calls: int | None) -> str:
    return "" if calls is None else " after 1 call" if calls == 1 else f" after {calls} calls"


def _list(ranks: tuple[int, ...]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else "ranks " + ", ".join(map(str, ranks))
