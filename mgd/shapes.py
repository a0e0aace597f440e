"""The shapes in which auto-discovery tries to lay chips out (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Iterator


def discovery_shapes(chips: int) -> Iterator[tuple[int, int]]:
    """(rows, columns) from all chips down to one: sides even or 1, the larger one first but 2x4 for 4x2, two dimensions before one."""
    for size in range(chips, 0, -1):
        for side in range(int(size**0.5), 0, -1):
            rows, columns = size // side, side
            if size % side == 0 and all(extent == 1 or extent % 2 == 0 for extent in (rows, columns)):
                yield (2, 4) if (rows, columns) == (4, 2) else (rows, columns)
