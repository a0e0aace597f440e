"""Slices whose bounds are values of tensors, which may differ from device to device. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.ops.declaration.operands import ints, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


def differ(bounds: Sequence[int] | Tensor | None) -> bool:
    """Whether bounds are a tensor whose values differ from device to device."""
    if not isinstance(bounds, Tensor) or shapes.active():
        return False
    rows = bounds.shards.data
    return any(not np.array_equal(row, rows[0]) for row in rows[1:])


def check(x: Tensor, bounds: Sequence[Any], slice_dim: int | None, num_devices: int | None) -> None:
    """Raises RuntimeError for bounds in tensors that the kernels do not read.

    Tiles are cut on the devices, which have to know the size of the piece; rows as the host reads their bounds.
    """
    if x.layout is Layout.TILE:
        if slice_dim is None or num_devices is None:
            raise fatal(
                "slice_dim and num_devices must be provided for device-only tensor args slice",
                hint="slice_dim=0, num_devices=1, or starts and ends as lists of numbers",
            )
        return
    for bound in bounds:
        if isinstance(bound, Tensor) and bound.dtype is not DataType.UINT32:
            raise throw(
                f"Unsupported data type for to_vector: got {cpp(bound.dtype)}, expected: DataType::UINT32",
                hint="ttnn.typecast(bounds, ttnn.uint32), or starts and ends as lists of numbers",
            )


def slice_each(
    x: Tensor,
    starts: Any,
    ends: Any,
    slice_dim: int | None,
    num_devices: int | None,
    memory_config: MemoryConfig | None,
    output_tensor: Tensor | None,
) -> Tensor:
    """A slice of its own on each local device."""
    if not (isinstance(starts, Tensor) and isinstance(ends, Tensor)):
        raise fatal(
            "slice: starts and ends must both be tensors where they differ from device to device",
            hint="give both as tensors, or both as lists of numbers",
        )
    rank = len(x.shape)
    made: list[Array | None] = []
    each = zip(x.shards.each(), starts.shards.each(), ends.shards.each(), strict=True)
    for shard, begin, end in each:
        if shard is None or begin is None or end is None:
            made.append(None)
            continue
        bounds = list(zip(ints(begin.ravel()), ints(end.ravel()), strict=True))
        if len(bounds) != rank or any(not 0 <= b < e <= n for (b, e), n in zip(bounds, x.shape, strict=True)):
            raise fatal(
                f"slice {bounds} does not fit a tensor of shape {x.shape}",
                hint="bounds are 0 up to the length of each dimension",
            )
        made.append(shard[tuple(slice(*each) for each in bounds)].copy())
    sizes = {part.shape for part in made if part is not None}
    if len(sizes) > 1:
        raise fatal(
            f"slice: the pieces of the devices must have one shape, got {sorted(sizes)}",
            hint="starts and ends that are equally far apart on every device",
        )
    if slice_dim is not None and num_devices:
        expected = x.shape[slice_dim] // num_devices
        if any(size[slice_dim] != expected for size in sizes):
            raise fatal(
                f"slice: pieces along dimension {slice_dim} must have {expected} elements for {num_devices} devices",
                hint=f"end - start must be {expected} along it",
            )
    return settle(
        (x,),
        Shards.from_each(made),
        x.dtype,
        memory_config=memory_config,
        output_tensor=output_tensor,
    )
