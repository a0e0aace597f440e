"""Tensors that the `moreh` family makes of nothing. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.tensor.borders.arrays import from_array
from tt_run.runtime.tensor.creation import from_shape
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor


def _check_full(shape: Sequence[int], dtype: DataType) -> None:
    """Raises RuntimeError for elements and shapes that the kernel does not fill."""
    if dtype not in (DataType.BFLOAT16, DataType.FLOAT32, DataType.INT32):
        raise fatal(f"Full: Unsupported data type {cpp(dtype)}", hint="dtype=ttnn.bfloat16, or ttnn.full")
    dims = tuple(shape)
    if len(dims) < 2:
        raise fatal(
            f"Full operation error: Shape size must be greater than 1, but got shape size = {len(dims)}",
            hint=f"shape={[1] * (2 - len(dims)) + list(dims)}, or ttnn.full",
        )
    for place, length in enumerate(dims):
        if length < 1:
            raise fatal(
                f"Full operation error: Invalid shape at index {place}. Each dimension of the shape must be greater than 0, but got "
                f"shape[{place}] = {length}",
                hint="ttnn.full",
            )


@operation("ttnn.moreh_full", family=families.CREATION, golden=creation_goldens.full)
def moreh_full(
    shape: Sequence[int],
    fill_value: float,
    device: MeshDevice,
    *,
    dtype: DataType = DataType.BFLOAT16,
    layout: Layout = Layout.TILE,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor with one value everywhere."""
    _check_full(shape, dtype)
    return from_shape.full(shape, fill_value, dtype, layout, device, memory_config)


@operation("ttnn.moreh_full_like", family=families.CREATION, golden=creation_goldens.full_like)
def moreh_full_like(
    input: Tensor,
    fill_value: float,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """One value in the shape of a tensor."""
    _check_full(tuple(input.shape), dtype or input.dtype)
    return from_shape.full_like(input, fill_value, dtype, layout, None, memory_config)


@operation(
    "ttnn.moreh_arange",
    family=families.CREATION,
    golden=creation_goldens.moreh_arange,
    aliases=["ttnn.operations.moreh.arange"],
)
def moreh_arange(
    start: float = 0,
    end: float = 0,
    step: float = 1,
    device: MeshDevice | None = None,
    *,
    output: Tensor | None = None,
    untilize_out: bool = False,
    dtype: DataType = DataType.BFLOAT16,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Numbers from start up to end by step, fractions too: [1, n] in tiles, [n] row-major with untilize_out.

    Raises RuntimeError for a step of 0 or the wrong way, and for an output that is not as the result would be.
    """
    if device is None:
        raise ArgumentMismatch("moreh_arange: a device is required")
    if step == 0:
        raise fatal("step must be nonzero.", "step != 0", hint="step=1")
    if (end - start) * step < 0:
        raise fatal(
            f"moreh_arange: a step of {step} does not lead from {start} to {end}", hint=f"step={-step}"
        )
    if dtype not in (DataType.FLOAT32, DataType.BFLOAT16, DataType.INT32):
        raise fatal(
            f"moreh arange not support {dtype.name.lower()} dtype.", hint="ttnn.arange makes the other types"
        )
    layout = Layout.ROW_MAJOR if untilize_out else Layout.TILE
    values = start + step * np.arange(math.ceil((end - start) / step))
    source = np.trunc(values).astype(np.int64) if dtype is DataType.INT32 else values.astype(np.float32)
    # Tiles have rows: the reference gives the numbers as one of them.
    shape: tuple[int, ...] = (source.size,) if untilize_out else (1, source.size)
    if output is not None:
        _check_room(output, source.size, dtype, layout)
        shape = tuple(output.shape)
    made: Tensor = from_array(
        source.reshape(shape),
        source.dtype.name,
        dtype=dtype,
        layout=layout,
        memory_config=memory_config or DRAM_MEMORY_CONFIG,
        device=device,
    )
    if output is None:
        return made
    output.overwrite(made.shards)
    return output


def _check_room(output: Tensor, count: int, dtype: DataType, layout: Layout) -> None:
    """Raises RuntimeError unless `count` numbers of a type and layout can be written over a tensor."""
    if output.dtype is not dtype:
        raise fatal(
            "If output is provided as input, its dtype should match the dtype parameter.",
            hint=f"dtype=ttnn.{output.dtype.name.lower()}, or an output of {cpp(dtype)}",
        )
    if output.layout is not layout:
        wanted = "untilize_out" if layout is Layout.ROW_MAJOR else "!untilize_out"
        raise fatal(
            f"Error: output_layout must be {cpp(layout)} when {wanted}",
            hint=f"untilize_out={output.layout is Layout.ROW_MAJOR}",
        )
    if output.logical_volume() != count:
        raise fatal(
            f"moreh_arange: {count} numbers do not fit into an output of shape {output.shape}",
            hint=f"an output of {count} numbers: ttnn.empty([{count}], …)",
        )
