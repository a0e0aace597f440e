"""From the states of the ranks to what is wrong and who caused it. Pure: no clock, no memory, no MPI."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from mgd.lean import dataclass, replace
from tt_run.runtime.guard.board import ENDED, RAISED
from tt_run.runtime.guard.signature import LEFT_OPEN
from tt_run.runtime.guard.states import History, RankState, Wait, group_key

DIVERGED = "TTG001"
ENDED_EARLY = "TTG002"
FAILED = "TTG003"
DEADLOCK = "TTG004"
OVERDUE = "TTG005"
LOST = "TTG006"
ONE_BYTE = "byte"
"""What an element is called that takes one byte: every MPI lets it meet any other."""


@dataclass(frozen=True)
class Finding:
    """What keeps a collective from happening: its code, the ranks at fault, the ranks that are held up by it."""

    code: str
    culprits: tuple[int, ...]
    victims: tuple[int, ...]
    title: str
    explanation: tuple[str, ...] = ()


def with_lines(finding: Finding, lines: tuple[str, ...]) -> Finding:
    """A finding with further lines of explanation."""
    return replace(finding, explanation=(*finding.explanation, *lines))


def absence(states: Mapping[int, RankState], me: int) -> Finding | None:
    """A rank that I wait for is gone: it raised, ended, or its process vanished. The first to fail is the culprit."""
    mine = states[me].wait
    if mine is None:
        return None
    gone = [states[rank] for rank in blockers(states, me) if rank in states and states[rank].gone]
    if not gone:
        return None
    raised = [s for s in gone if s.state == RAISED]
    lost = [s for s in gone if s.lost and s.state not in (ENDED, RAISED)]
    chosen, code = (raised, FAILED) if raised else (lost, LOST) if lost else (gone, ENDED_EARLY)
    culprits = tuple(s.rank for s in chosen)
    what = {
        FAILED: f"{_ranks(culprits)} raised an exception",
        LOST: f"the process of {_ranks(culprits)} is gone",
        ENDED_EARLY: f"{_ranks(culprits)} ended before {mine.call}",
    }[code]
    return Finding(
        code, culprits, _waiting_for(states, culprits), what, _site_differences(states, mine.group)
    )


def deadlock(states: Mapping[int, RankState], me: int, at_last: bool = False) -> Finding | None:
    """Ranks that wait for one another in a circle that I wait for too.

    What ranks of other hosts told may be out of date, so they count only once the deadline has passed (`at_last`).
    """
    edges = {
        rank: () if state.remote and not at_last else blockers(states, rank, at_last)
        for rank, state in states.items()
    }
    circle = _circle(edges, me)
    if circle is None:
        return None
    lines = []
    for rank, following in zip(circle, (*circle[1:], circle[0]), strict=True):
        wait = states[rank].wait
        if wait is not None:
            whom = f"any of {_ranks(wait.missing)}" if _takes_any(wait) else f"rank {following}"
            lines.append(f"rank {rank} waits for {whom} in {wait.call} at {wait.site}")
    calls = {wait.call for rank in circle if (wait := states[rank].wait) is not None}
    kind = "point-to-point calls" if len(calls) == 1 else "calls"
    # Who should have sent what any of several may send cannot be told.
    any_of = {
        peer
        for rank in circle
        if (w := states[rank].wait) is not None and _takes_any(w)
        for peer in w.missing
    }
    culprits = tuple(sorted({*circle, *any_of}))
    group = max((w.group for r in circle if (w := states[r].wait) is not None), key=len, default=())
    few, many = _sides(states, edges, circle)
    if few:
        others = f"{_ranks(few)} {'are' if few[1:] else 'is'} in another call than all others"
        title = f"{_ranks(few)} and {_ranks(many)} wait for each other: {others}"
        return Finding(DEADLOCK, few, many, title, (*lines, *_site_differences(states, group)))
    whom = "wait for each other" if len(culprits) > 1 else "waits for itself"
    title = f"{_ranks(culprits)} {whom} in {kind} that cannot complete"
    pairs = _PAIRS if all(call.startswith("MeshSocket(") for call in calls) else ()
    return Finding(DEADLOCK, culprits, culprits, title, (*lines, *pairs, *_site_differences(states, group)))


def _sides(
    states: Mapping[int, RankState], edges: Mapping[int, tuple[int, ...]], circle: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of two ranks that wait for each other in what several do together: those that are with the one, and with the other, the fewer first.

    Empty where they are as many, or where a message is waited for: who does not send it may be right.
    """
    waits = [states[rank].wait for rank in circle]
    if len(circle) != 2 or not all(wait is not None and _is_done_together(wait) for wait in waits):
        return (), ()
    sides = [
        tuple(sorted(rank for rank, state in states.items() if _is_with(state, wait) and whom in edges[rank]))
        for wait, whom in zip(waits, reversed(circle), strict=True)
    ]
    members = {frozenset((*side, *wait.missing)) for side, wait in zip(sides, waits, strict=True) if wait}
    if len(members) > 1:  # of a smaller group those may be right that are fewer
        return (), ()
    few, many = sorted(sides, key=len)
    return (few, many) if len(few) < len(many) else ((), ())


def _is_with(state: RankState, wait: Wait | None) -> bool:
    return state.waiting and state.wait is not None and wait is not None and state.wait.call == wait.call


def _is_done_together(wait: Wait) -> bool:
    return wait.kind == "collective" or bool(_STARTED.search(wait.call))


_STARTED = re.compile(r"^MPI \w+ of MPI I(?!\w*(?:send|recv))\w+$")


def _takes_any(wait: Wait) -> bool:
    """Whether one message of any of several ranks would end a wait."""
    return wait.kind == "message" and len(wait.missing) > 1 and _FROM_ANY in wait.call


_FROM_ANY = "source any"


def overdue(states: Mapping[int, RankState], me: int, seconds: float) -> Finding:
    """The deadline passed: the culprits are the ranks that are in no call at all, else the ones that are elsewhere."""
    mine = states[me].wait
    assert mine is not None, "who asks is waiting"
    seen: set[int] = set()
    roots: set[int] = set()
    pending = list(mine.missing)
    while pending:
        rank = pending.pop()
        if rank in seen or rank == me:
            continue
        seen.add(rank)
        further = blockers(states, rank) if rank in states else ()
        if further:
            pending.extend(further)
        else:
            roots.add(rank)
    culprits = tuple(sorted(roots or mine.missing))
    title = f"{_ranks(culprits)} did not come to {mine.call} within {seconds:g} s"
    victims = _waiting_for(states, mine.missing)
    return Finding(OVERDUE, culprits, victims, title, _site_differences(states, mine.group))


def compatible(calls: Iterable[tuple[str, ...]]) -> bool:
    """Whether calls of a program's own MPI contradict each other nowhere: what some leave open, all others mean alike, but for what moves bytes."""
    rests: set[tuple[str, ...]] = set()
    said: dict[str, set[str]] = {start: set() for start in LEFT_OPEN}
    for *fields, detail, ranks in calls:
        items = detail.split(", ")
        for start, values in said.items():
            values.update(item for item in items if item.startswith(start))
        firm = (item for item in items if item and not item.startswith(LEFT_OPEN))
        rests.add((*fields, ranks, *firm))
    said["element "].discard(f"element {ONE_BYTE}")
    return len(rests) == 1 and all(len(values) <= 1 for values in said.values())


def divergence(calls: Mapping[int, tuple[str, ...]], number: int) -> Finding:
    """Ranks are in one collective with different signatures; `calls` are fields of the signature by rank.

    The culprits are the ranks outside the largest agreeing set. Where the largest sets are equally large nobody can be told from the
    others: all of them disagree.
    """
    counts = Counter(calls.values())
    top = max(counts.values())
    leading = [fields for fields, count in counts.items() if count == top]
    ranks = tuple(sorted(calls))
    parts = ", ".join(_differences(tuple(counts)))
    explanation = _PAIRS if all(fields[0] == "MeshSocket" for fields in counts) else ()
    if len(leading) > 1:
        title = f"{_ranks(ranks)} disagree on call {number}: {parts}"
        return Finding(DIVERGED, ranks, ranks, title, explanation)
    culprits = tuple(rank for rank in ranks if calls[rank] != leading[0])
    victims = tuple(rank for rank in ranks if calls[rank] == leading[0])
    verb = "disagrees" if len(culprits) == 1 else "disagree"
    title = f"{_ranks(culprits)} {verb} with {_ranks(victims)} on call {number}: {parts}"
    return Finding(DIVERGED, culprits, victims, title, explanation)


_PAIRS = (
    "a MeshSocket waits until its other end is made, so two ranks pair their sockets up in the order in which each makes them:",
    "  make the sockets between any two ranks in the same order on both",
)


def _differences(calls: tuple[tuple[str, ...], ...]) -> list[str]:
    """Which fields of signatures differ; of the arguments, their names."""
    names = ("operation", "cluster_axis", "shape", "dtype", "arguments", "ranks")
    different = [name for i, name in enumerate(names) if len({fields[i] for fields in calls}) > 1]
    if "operation" in different:
        return ["operation"]
    if "arguments" not in different:
        return different
    items = [set(fields[names.index("arguments")].split(", ")) for fields in calls]
    shared = set.intersection(*items)
    found = sorted({_name_of(item) for item in set.union(*items) - shared if item})
    at = different.index("arguments")
    return [*different[:at], *(found or ["arguments"]), *different[at + 1 :]]


def _name_of(item: str) -> str:
    """The name in an item of a signature: `num_links 2`; the mesh is in words, `on 2x4 at 0 of mesh 0`."""
    word = item.split()[0]
    return {"on": "mesh", "from": "sender or receiver", "input": "input memory"}.get(word, word)


def blockers(states: Mapping[int, RankState], rank: int, at_last: bool = False) -> tuple[int, ...]:
    """The ranks that a waiting rank really waits for.

    A message that is already under way blocks nobody, nor does a rank that has come to the same call. Messages of a program's own MPI may be
    under way unseen, and any of several ranks may send one: those are blocked when all who could are gone, or wait as well `at_last`.
    """
    state = states[rank]
    if not state.waiting or state.wait is None:
        return ()
    wait = state.wait
    if wait.kind == "message":
        peers = [states.get(peer) for peer in wait.missing]
        stuck = all(peer is not None and (peer.gone or (at_last and peer.waiting)) for peer in peers)
        return wait.missing if stuck else ()
    if wait.kind in ("send", "receive"):
        key = f"{rank}:{wait.channel}"
        return tuple(
            peer
            for peer in wait.missing
            if peer not in states
            or (states[peer].sent if wait.kind == "receive" else states[peer].posted).get(key, 0)
            < wait.number
        )
    return tuple(peer for peer in wait.missing if peer not in states or not _in_call(states[peer], wait))


def _in_call(state: RankState, wait: Wait) -> bool:
    """True when a rank is in the call too, or was: it may have gone on while the last message to us is still under way."""
    history = state.histories.get(group_key(wait.group), {})
    if history and max(history) >= wait.number:
        return True
    other = state.wait
    # Messages are counted apart: the fifth between two ranks is not the fifth call of both.
    return (
        state.waiting
        and other is not None
        and (other.kind, other.group, other.number) == (wait.kind, wait.group, wait.number)
    )


def _circle(edges: Mapping[int, tuple[int, ...]], start: int) -> tuple[int, ...] | None:
    """A circle that can be reached from `start`, beginning with its lowest rank."""
    path: list[int] = []
    done: set[int] = set()

    def visit(rank: int) -> tuple[int, ...] | None:
        if rank in path:
            circle = path[path.index(rank) :]
            low = circle.index(min(circle))
            return tuple(circle[low:] + circle[:low])
        if rank in done:
            return None
        path.append(rank)
        for following in edges.get(rank, ()):
            found = visit(following)
            if found is not None:
                return found
        path.pop()
        done.add(rank)
        return None

    return visit(start)


def _waiting_for(states: Mapping[int, RankState], culprits: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(
        s.rank
        for s in states.values()
        if s.waiting and s.wait is not None and set(s.wait.missing) & set(culprits)
    )


def _site_differences(states: Mapping[int, RankState], group: tuple[int, ...]) -> tuple[str, ...]:
    """The first call of a group that ranks made from different lines: usually where one of them took another path."""
    histories: dict[int, History] = {
        rank: states[rank].histories[group_key(group)]
        for rank in group
        if rank in states and group_key(group) in states[rank].histories
    }
    if len(histories) < 2:
        return ()
    common = sorted(set.intersection(*(set(history) for history in histories.values())))
    for number in common:
        entries = {rank: history[number] for rank, history in histories.items()}
        if len(set(entries.values())) > 1:
            return (
                f"the call sites differ from call {number} of this group on:",
                *(f"  rank {rank}: {call} at {site}" for rank, (call, site) in sorted(entries.items())),
            )
    return ()


def _ranks(ranks: tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return "ranks " + ", ".join(map(str, ranks[:-1])) + f" and {ranks[-1]}"
