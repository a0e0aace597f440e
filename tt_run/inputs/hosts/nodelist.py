"""Slurm's short forms: `node[01-04,7]-ib` for hosts and `2(x3),1` for task counts."""

from __future__ import annotations

import re

_RANGE = r"(?a)(\d{1,9})(?:-(\d{1,9}))?\Z"
_COUNT = r"(?a)(\d{1,9})(?:\(x(\d{1,9})\))?\Z"
_MOST = 65_536


def expand_nodes(text: str) -> tuple[str, ...]:
    """The names that a bracketed host expression stands for, zero padding kept; () when it is not well-formed.

    >>> expand_nodes("node[08-10,12]")
    ('node08', 'node09', 'node10', 'node12')
    """
    opening = text.find("[")
    if opening < 0:
        return () if "]" in text or not text else (text,)
    closing = text.find("]", opening)
    if closing < 0:
        return ()
    tails = expand_nodes(text[closing + 1 :]) if text[closing + 1 :] else ("",)
    numbers: list[str] = []
    for part in text[opening + 1 : closing].split(","):
        match = re.match(_RANGE, part.strip())
        if match is None:
            return ()
        low, high = match.group(1), match.group(2) or match.group(1)
        if int(high) < int(low) or int(high) - int(low) >= _MOST:
            return ()
        numbers.extend(str(number).zfill(len(low)) for number in range(int(low), int(high) + 1))
    if len(numbers) * len(tails) > _MOST:
        return ()
    return tuple(text[:opening] + number + tail for number in numbers for tail in tails)


def expand_counts(text: str, nodes: int) -> tuple[int, ...]:
    """The task count of each of `nodes` nodes; 1 each when the text says nothing of use.

    >>> expand_counts("2(x2),1", 3)
    (2, 2, 1)
    """
    counts: list[int] = []
    for part in text.split(","):
        match = re.match(_COUNT, part.strip())
        if match is None:
            return (1,) * nodes
        counts.extend([int(match.group(1))] * min(int(match.group(2) or 1), nodes))
    if len(counts) == 1:
        counts *= nodes
    return tuple(counts) if len(counts) == nodes else (1,) * nodes
