"""Stacks of many ranks as one tree, outermost call first: common calls once, ranks at the branches."""

from __future__ import annotations

from collections.abc import Sequence

from mgd.lean import dataclass, field
from tt_run.supervise.looking.stacks import Frame, RankStack, rank_list


@dataclass()
class Branch:
    """A call, the ranks that are in it, and what they call from there."""

    frame: Frame | None
    ranks: list[int] = field(default_factory=list)
    calls: dict[tuple[str, int, str], Branch] = field(default_factory=dict)


def stack_tree(stacks: Sequence[RankStack]) -> Branch:
    """The tree of the stacks; ranks without frames are only in its root."""
    root = Branch(None)
    for stack in stacks:
        root.ranks.append(stack.rank)
        here = root
        for frame in reversed(stack.frames):
            here = here.calls.setdefault((frame.file, frame.line, frame.function), Branch(frame))
            here.ranks.append(stack.rank)
    return root


def without_emulation(stack: RankStack) -> RankStack:
    """A stack down to the innermost line that is not the emulation's own: where in it a rank waits parts ranks that are in the same call."""
    inner = stack.innermost_own or 0
    is_inside = any("/tt_run/runtime/" in frame.file for frame in stack.frames[:inner])
    return RankStack(stack.rank, stack.frames[inner:] if is_inside else stack.frames)


def tree_lines(root: Branch) -> list[str]:
    """The tree as text: a line for each call, indented where ranks part; the smaller branch first, since the odd one out is where to look."""
    silent = [rank for rank in root.ranks if not any(rank in call.ranks for call in root.calls.values())]
    lines = _below(root, 0)
    if silent:
        lines.append(f"{rank_list(silent)}: no answer")
    return lines


def _below(branch: Branch, depth: int) -> list[str]:
    lines: list[str] = []
    calls = sorted(branch.calls.values(), key=lambda call: (len(call.ranks), call.ranks))
    parted = len(calls) > 1 or (depth == 0 and calls != [])
    for call in calls:
        inner = depth + (1 if parted else 0)
        if parted:
            lines.append(f"{'  ' * depth}{rank_list(call.ranks)}")
        lines.append(f"{'  ' * inner}{call.frame}")
        lines += _below(call, inner)
    return lines
