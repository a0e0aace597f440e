"""Ranks that run elsewhere than the plan says: whatever places them, the devices that they were given are those of another host."""

from __future__ import annotations

from tt_run.plan.model import LaunchPlan
from tt_run.supervise.looking.stacks import rank_list
from tt_run.supervise.status import StatusBoard


def misplaced(plan: LaunchPlan, board: StatusBoard) -> str:
    """One sentence on the ranks that run on another host of the plan than theirs; empty where there are none.

    A host may have another name for itself than the plan has for it, which says nothing; the name of another planned host does.
    """
    planned = {rank.rank: rank.host for rank in plan.ranks if rank.host is not None}
    names = set(planned.values())
    wrong = {
        status.rank: status.host
        for status in board.all()
        if status.host in names and planned.get(status.rank) not in (None, status.host)
    }
    if not wrong:
        return ""
    first, host = next(iter(sorted(wrong.items())))
    rest = [rank for rank in sorted(wrong) if rank != first]
    more = f" ({rank_list(rest)} elsewhere, too)" if rest else ""
    return f"mpirun has started rank {first} on {host}, and the plan has it on {planned[first]}{more}; devices and variables are those of the plan"
