"""Ranks that give more to another than it takes: the library tells that one alone, and not who it was."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tt_run.runtime.comm.world import Group
from tt_run.runtime.guard.diagnosis import DIVERGED, Finding
from tt_run.runtime.guard.signature import SENT
from tt_run.runtime.guard.states import RankState, group_key

if TYPE_CHECKING:
    from tt_run.runtime.guard.watch import Guard

_SHOWN_SECONDS = 2.0  # how long the others get to show what they gave, where they have gone on
_NAP = 0.01
_SENT = re.compile(rf"\b{SENT}([\d+]+)")


def refuse(guard: Guard, group: Group, operation: str, taken: Mapping[int, int], place: int) -> None:
    """Report the ranks that gave more to the last call of a group than this rank, the `place`-th of them, takes of each; return where none is known to have."""
    began, number = time.monotonic(), guard.whereabouts.channels[group].number
    while time.monotonic() - began < _SHOWN_SECONDS:
        known = guard.whereabouts.known()
        finding = too_much(known, group.ranks, number, operation, taken, guard.rank, place)
        if finding is not None:
            guard.conclude(finding, known)
        guard.make_progress()
        time.sleep(_NAP)


def too_much(
    states: Mapping[int, RankState],
    group: tuple[int, ...],
    number: int,
    operation: str,
    taken: Mapping[int, int],
    taker: int,
    place: int,
) -> Finding | None:
    """Ranks gave more in call `number` of a group than one, the `place`-th, takes from each, by what they said of that call; None where no one is known to have."""
    given, left = {}, {}
    for rank in group:
        state = states.get(rank)
        text, site = (
            ("", "")
            if state is None
            else state.histories.get(group_key(group), {}).get(number, (state.last, ""))
        )
        if text.startswith(operation) and (found := _SENT.search(text)) is not None:
            parts = found[1].split("+")
            given[rank] = int(parts[place] if len(parts) > 1 else parts[0])
            left[rank] = site
    culprits = tuple(rank for rank, size in given.items() if size > taken.get(rank, size))
    if not culprits:
        return None
    told = (
        f"rank {rank} sends {given[rank]} bytes, of which rank {taker} takes {taken[rank]}"
        for rank in culprits
    )
    title = f"{', '.join(told)}, in call {number} {operation}"
    # A small message lets its sender go on, whose line then tells of a later call.
    where = tuple(f"rank {rank} sent them at {left[rank]}" for rank in culprits if left[rank])
    return Finding(DIVERGED, culprits, tuple(rank for rank in group if rank not in culprits), title, where)
