"""`ttml.common.memory_utils`: phases of memory that end where a tensor passes, forwards and backwards."""

from __future__ import annotations

import os
from itertools import count
from typing import Any

from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.train.autograd.function import Function
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.memory import MemoryUsageTracker

WATCH = "TTML_TRACK_MEMORY"
"""Set to 1, `memory_snapshot` takes snapshots."""

_numbers = count(1)


def memory_tracking_enabled() -> bool:
    """Whether TTML_TRACK_MEMORY is 1."""
    return os.environ.get(WATCH) == "1"


class MemorySnapshotFunction(Function):
    """A tensor as it is; ends a phase of `MemoryUsageTracker` when it passes, and one when its gradient does."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Value:
        """The value of the tensor, the first of three arguments; the others are the names of the two phases, empty for none."""
        x, fwd_label, ctx.bwd_label = args
        _end(fwd_label)
        value: Value = x.get_value()
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Value) -> Value:
        """The gradient as it is."""
        _end(ctx.bwd_label)
        return gradients[0]


def memory_snapshot(x: Tensor, fwd_label: str = "", bwd_label: str = "") -> Tensor:
    """The tensor, and where TTML_TRACK_MEMORY is 1 the ends of phases called LABEL__000001, the number counting up, when it and its gradient pass."""
    if not memory_tracking_enabled() or not (fwd_label or bwd_label):
        return x
    made: Tensor = MemorySnapshotFunction.apply(x, fwd_label, bwd_label)
    return made


def _end(label: str) -> None:
    if label:
        MemoryUsageTracker.snapshot(f"{label}__{next(_numbers):06d}")
