"""`tensor[key]`: on a device a slice, without the dimensions that a number picks from. Source: behaviour of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.ops.data_movement.joining import slice as cut
from tt_run.runtime.ops.data_movement.movement import squeeze
from tt_run.runtime.tensor.conversion import shaping
from tt_run.runtime.tensor.tensor import Tensor


def take(tensor: Tensor, key: Any) -> Tensor:
    """The part that integers, slices and one ellipsis say; what is cut over cores stays on them, as for `ttnn.slice`.

    Steps back take nothing, or the one element that there is. Raises IndexError for too many or too large indices, TypeError for other keys, RuntimeError for slices that end
    beyond the tensor, or before they begin.
    """
    if tensor.device() is None:
        return shaping.take(tensor, key)
    keys = shaping.checked_keys(tensor.shape, key)
    bounds = [_bounds(k, length) for k, length in zip(keys, tensor.shape, strict=True)]
    starts, ends, steps = zip(*bounds, strict=True) if bounds else ((), (), ())
    part: Tensor = cut.compute(tensor, starts, ends, steps)
    picked = [dim for dim, k in enumerate(keys) if not isinstance(k, slice)]
    return squeeze.compute(part, picked) if picked else part


def _bounds(key: int | slice, length: int) -> tuple[int, int, int]:
    """Where a key begins and ends, and its step."""
    if isinstance(key, int):
        return key, key + 1, 1
    step = 1 if key.step is None else int(key.step)
    start, end = (default if n is None else int(n) for n, default in ((key.start, 0), (key.stop, length)))
    return start, end, step
