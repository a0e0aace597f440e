"""Express links: chords along one dimension of a mesh (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from mgd.descriptor import ExpressLink, TorusTopologyType
from mgd.graph import Link

CHANNELS = 1  # per declared chord, whatever the mesh's own count


def chord_count(dims: tuple[int, int], link: ExpressLink) -> int:
    """An upper bound on the chords of one entry, without making them; 0 for an entry that rule MGD029 refuses."""
    if link.pattern is None or link.pattern.step < 2 or link.dim_idx > 1:
        return 0
    length, lines = dims[link.dim_idx], dims[1 - link.dim_idx]
    return length // link.pattern.step * lines


def express_links(
    dims: tuple[int, int], wraps: tuple[bool, bool], entries: Sequence[ExpressLink]
) -> tuple[Link, ...]:
    """The chords of a mesh, one `Link` per pair of devices (lower id first): a chord declared twice has two channels.

    A chord whose ends are grid neighbours already adds nothing.
    """
    pairs = sorted(pair for entry in entries for pair in _chords(dims, wraps, entry))
    return tuple(Link(a, b, "Z", CHANNELS * len(list(same))) for (a, b), same in groupby(pairs))


def _chords(dims: tuple[int, int], wraps: tuple[bool, bool], entry: ExpressLink) -> Iterator[tuple[int, int]]:
    pattern = entry.pattern
    assert pattern is not None
    along, length, lines = entry.dim_idx, dims[entry.dim_idx], dims[1 - entry.dim_idx]
    closes = wraps[along]
    if entry.wrap in (TorusTopologyType.LINE, TorusTopologyType.RING):
        closes = entry.wrap == TorusTopologyType.RING
    stride, across = (dims[1], 1) if along == 0 else (1, dims[1])
    for block in range(length // pattern.step):
        # `start` is free in the format; only its remainder counts.
        first = pattern.start % length + block * pattern.step
        last = first + pattern.step - 1
        if not closes and last >= length:
            continue
        a, b = sorted((first % length, last % length))
        if b - a == 1 or a == b or (wraps[along] and b - a == length - 1):
            continue
        for line in range(lines):
            yield a * stride + line * across, b * stride + line * across
