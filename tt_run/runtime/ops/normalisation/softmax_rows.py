"""exp(x) / sum of exp(x) of rows: with the largest element taken off first, and as the formula stands.

A kernel that does not take it off gives zeros for a row whose exponentials overflow or all vanish, and the reference's golden
functions know only the stable form. Values here are the golden functions' either way; a program is told where a device's would part
from them. Source: golden functions of reference library 0.81.1; tenstorrent/tt-metal issues 12661 and 52131, pull request 44849.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events
from tt_run.runtime.kernels import ordered_sums

Array = npt.NDArray[Any]


def stable(out: Array, rows: Array) -> None:
    """exp(x - max) / sum of every row; a row of nothing but -inf has no number, as in the golden functions."""
    np.subtract(rows, rows.max(axis=-1, keepdims=True), out)
    np.exp(out, out)
    np.divide(out, ordered_sums.of_rows(out), out)


class AsWritten:
    """exp(x) / sum of every row, and the stable form of rows where that is no number; `tell` says that there were such."""

    def __init__(self) -> None:
        self.beyond: list[float] = []  # threads append to it

    def __call__(self, out: Array, rows: Array) -> None:
        np.exp(rows, out)
        sums = np.add.reduce(out, axis=-1, keepdims=True)
        lost = np.flatnonzero(~(np.isfinite(sums) & (sums > 0)))
        sums[lost] = 1
        np.divide(out, sums, out)
        if lost.size:
            again, chosen = np.empty((lost.size, rows.shape[-1]), np.float32), rows[lost]
            stable(again, chosen)
            out[lost] = again
            tops = chosen.max(axis=-1)
            self.beyond.extend(tops[np.isfinite(tops)].tolist())

    def tell(self) -> None:
        """Warns, at the program's line, of rows with finite scores whose exponentials overflow or all vanish in float32."""
        if not self.beyond:
            return
        furthest = max(self.beyond, key=abs)
        events.warn(
            f"softmax with numeric_stable=False: exp of scores overflows or vanishes in {len(self.beyond)} rows, whose "
            f"largest scores reach {furthest:g}; a device gives zeros there, here they are as with numeric_stable=True\n"
            "help: numeric_stable=True"
        )
