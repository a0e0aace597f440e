"""Which positions of a sequence a device has where context parallelism cuts it."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import numpy.typing as npt


class RingLayout(enum.Enum):
    """One stretch after the other; or two stretches for each device, one from either end, which evens out what a causal mask leaves to do."""

    Contiguous = 0
    Zigzag = 1

    @classmethod
    def from_string(cls, name: str) -> RingLayout:
        """The layout that a configuration names. Raises ValueError for another word."""
        for layout in cls:
            if layout.name.lower() == name:
                return layout
        words = ", ".join(layout.name.lower() for layout in cls)
        raise ValueError(f"cp_layout: {name!r} is not one of {words}; help: cp_layout: zigzag")


def order(length: int, count: int, layout: RingLayout) -> npt.NDArray[Any]:
    """The positions in the order in which they are cut evenly over `count` devices. Raises ValueError where they do not divide into stretches."""
    if layout is RingLayout.Contiguous or count == 1:
        return np.arange(length)
    if length % (2 * count):
        raise ValueError(
            f"cp_layout zigzag: {length} positions do not divide into {2 * count} stretches, two for each of {count} devices; "
            f"help: a multiple of {2 * count}, or cp_layout: contiguous"
        )
    stretches = np.arange(length).reshape(2 * count, -1)
    return np.stack([stretches[:count], stretches[count:][::-1]], axis=1).reshape(-1)
