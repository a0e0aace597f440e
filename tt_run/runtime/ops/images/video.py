"""Videos as encoders take them. Source: reference library 0.81.1 and its tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import as_type, fatal
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.choices import RGBRange, YUVColorSpace, YUVFormat, YUVRange
from tt_run.runtime.tuning.video import YUVCoefficients
from tt_run.runtime.tuning.video import coefficients as coefficients_of
from tt_run.runtime.values.shards import combine_all

Array = npt.NDArray[Any]
# Frames that a row of bytes has room for with wide_rows.
_FRAMES = 32


@operation("ttnn.rgb_to_yuv", family=families.MOVEMENT, aliases=("ttnn.experimental.rgb_to_yuv",))
def rgb_to_yuv(
    input: Tensor,
    *,
    format: YUVFormat = YUVFormat.YUV420Planar,
    color_space: YUVColorSpace = YUVColorSpace.BT601,
    input_range: RGBRange = RGBRange.MinusOneToOne,
    output_range: YUVRange = YUVRange.Limited,
    coefficients: YUVCoefficients | None = None,
    memory_config: MemoryConfig | None = None,
    wide_rows: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Pixels `(3, H, W, T)` as bytes: Y `(1, H, W, T)`, U and V `(1, H/2, W/2, T)`, the mean of two by two pixels each.

    `coefficients` take the place of those of the colour standard and the ranges. With `wide_rows` the last two dimensions of each result
    are one. Raises RuntimeError for other shapes, element types and sharded memory.
    """
    on_device(input, kind="rgb_to_yuv")
    shape = tuple(input.shape)
    if input.dtype is not DataType.BFLOAT16:
        raise fatal(
            f"rgb_to_yuv: input must be BFLOAT16, got {cpp(input.dtype)}", hint=as_type("input", "bfloat16")
        )
    if len(shape) != 4 or shape[0] != 3 or shape[1] % 2 or shape[2] % 2:
        raise fatal(
            f"rgb_to_yuv: input must be (3, H, W, T) with even H and W, got {input.shape}",
            hint="ttnn.permute puts the three colours first and the frames last; ttnn.pad makes H and W even",
        )
    if wide_rows and shape[3] > _FRAMES:
        raise fatal(
            f"rgb_to_yuv: wide_rows takes at most {_FRAMES} frames, got {shape[3]}",
            hint=f"wide_rows=False, or ttnn.slice to {_FRAMES} frames at a time",
        )
    target = memory_config or input.memory_config()
    if target.is_sharded() or input.memory_config().is_sharded():
        raise fatal("rgb_to_yuv: input and outputs must be interleaved", hint="ttnn.DRAM_MEMORY_CONFIG")
    weights = coefficients or coefficients_of(color_space, input_range, output_range)

    def planes(stack: Array) -> list[Array]:
        bright, *colours = (_weighted(stack, row) for row in (weights.y, weights.cb, weights.cr))
        found = [bright, *map(_halved, colours)]
        return [_bytes(p[:, None] if not wide_rows else p.reshape(len(p), 1, p.shape[1], -1)) for p in found]

    y, u, v = (
        settle((input,), shards, DataType.UINT8, layout=Layout.ROW_MAJOR, memory_config=memory_config)
        for shards in combine_all(planes, input.shards)
    )
    return y, u, v


def _weighted(stack: Array, row: Sequence[float]) -> Array:
    red, green, blue, offset = map(np.float32, row)
    total: Array = red * stack[:, 0] + green * stack[:, 1] + blue * stack[:, 2] + offset
    return total


def _halved(plane: Array) -> Array:
    """The mean of every two by two pixels."""
    rows = plane[:, 0::2] + plane[:, 1::2]
    mean: Array = (rows[:, :, 0::2] + rows[:, :, 1::2]) * np.float32(0.25)
    return mean


def _bytes(values: Array) -> Array:
    """The nearest byte; halves go up, NaN becomes 0."""
    return np.nan_to_num(np.clip(values + np.float32(0.5), 0, 255), nan=0).astype(np.uint8)
