"""Quantized integers: values divided by a scale, moved by a zero point, rounded. Source: reference library 0.81.1. NumPy computes them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.data_movement import conversions
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.operands import axis_of, on_device, settle
from tt_run.runtime.ops.goldens.creation_goldens import of_type
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import convert, is_float, stored_dtype
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]
Level = Tensor | float
"""A scale or a zero point: one number, one for each entry of an axis, or a tensor of one."""


def _computed(
    function: Callable[..., Array],
    x: Tensor,
    levels: tuple[Level, ...],
    axis: int | None,
    dtype: DataType,
    memory_config: MemoryConfig | None,
    output_tensor: Tensor | None,
) -> Tensor:
    """`function` of the values and levels in float32, one level for each entry of `axis`; integers saturate."""
    for zero in levels[1::2]:
        if not isinstance(zero, (Tensor, Integral)):
            raise ArgumentMismatch(f"a zero point is a tensor or an integer, not {zero!r}")
    given = [x, *(level for level in levels if isinstance(level, Tensor))]
    on_device(*given, kind="quantization")
    target = output_tensor.dtype if output_tensor is not None else dtype
    rank = len(x.shape)
    # Two pairs of single levels have no axis, whatever a call says.
    apart = len(levels) > 2 and (
        not any(isinstance(scale, Tensor) for scale in levels[::2])
        or all(isinstance(level, Tensor) and level.logical_volume() == 1 for level in levels)
    )
    place = None if axis is None or apart else axis_of(axis, rank)
    wanted = 1 if place is None else x.shape[place]
    if place is not None:
        _check_channels(levels, wanted)
    for level in given[1:]:
        if level.logical_volume() not in (1, wanted):
            raise fatal(
                f"a scale or zero point has one value, or one for each of the {wanted} entries of axis {axis}; got {level.shape}",
                hint=f"a number, or a tensor of {wanted} values",
            )

    def level_of(stack: Array) -> Array:
        if place is None or stack[0].size == 1:
            return stack.reshape(len(stack), *(1,) * rank)
        return stack.reshape(len(stack), *(1,) * place, -1, *(1,) * (rank - 1 - place))

    def on_stacks(values: Array, *stacks: Array) -> Array:
        left = iter(stacks)
        scales = [
            level_of(next(left).astype(np.float32)) if isinstance(v, Tensor) else np.float32(v)
            for v in levels
        ]
        with np.errstate(all="ignore"):
            found = function(np.ascontiguousarray(values, np.float32), *scales)
        if not is_float(target):
            found = np.rint(found)
            bounds = np.iinfo(stored_dtype(target))
            found = np.clip(found.astype(np.float64), bounds.min, bounds.max)
            found = np.where(np.isnan(found), bounds.min, found).astype(
                bounds.dtype
            )  # as the golden function does
        return convert(np.ascontiguousarray(found), target)

    shards = combine(on_stacks, *(t.shards for t in given))
    # Rows beside levels in tiles go into tiles.
    tiled = Layout.TILE if any(t.layout is Layout.TILE for t in given) else None
    return settle(
        given, shards, target, memory_config=memory_config, output_tensor=output_tensor, layout=tiled
    )


def _check_channels(levels: tuple[Level, ...], wanted: int) -> None:
    """Raises RuntimeError for levels along an axis that are no tensors of one dimension with one value for each of its entries.

    Where there are two pairs, one of them may be a number and a zero point.
    """
    for scale, zero in zip(levels[::2], levels[1::2], strict=True):
        if not isinstance(scale, Tensor):
            if len(levels) == 2:
                raise fatal(
                    "Per-channel quantization expects 1D scale tensors",
                    "std::holds_alternative<Tensor>(scale)",
                    hint=f"a tensor of {wanted} scales, or leave axis out",
                )
            if isinstance(zero, Tensor) and zero.logical_volume() != 1:
                raise fatal(
                    "Per-tensor quantization only takes scalar-tensor zero-points",
                    "zero_point.logical_volume() == 1u",
                    hint="as many scales as zero points, or one of each",
                )
            continue
        for word, level in (("scale", scale), ("zero-point", zero)):
            if isinstance(level, Tensor) and len(level.shape) != 1:
                raise fatal(
                    f"Per-channel quantization expects 1D {word} tensors",
                    hint=f"a tensor of shape [{wanted}]",
                )
            if isinstance(level, Tensor) and level.shape[0] != wanted:
                raise fatal(
                    f"Size of the {word} tensor doesn't match the size of the input tensor along the given axis",
                    hint=f"a tensor of {wanted} values",
                )


def _by_axis(level: Any, x: Any, axis: int | None) -> Any:
    """A torch level with one value for each entry of an axis, in the place of that axis."""
    if axis is None or not hasattr(level, "numel"):
        return level
    shape = [1] * x.dim()
    shape[axis] = level.numel()
    return level.reshape(shape)


def _golden_quantize(
    x: Any, scale: Any, zero_point: Any, axis: int | None = None, dtype: DataType | None = None, **_: Any
) -> Any:
    found = x / _by_axis(scale, x, axis) + _by_axis(zero_point, x, axis)
    return of_type(found.round(), dtype or DataType.INT32)


def _golden_dequantize(
    x: Any, scale: Any, zero_point: Any, axis: int | None = None, dtype: DataType | None = None, **_: Any
) -> Any:
    return of_type((x - _by_axis(zero_point, x, axis)) * _by_axis(scale, x, axis), dtype or DataType.BFLOAT16)


def _golden_requantize(
    x: Any, a: Any, za: Any, b: Any, zb: Any, axis: int | None = None, dtype: DataType | None = None, **_: Any
) -> Any:
    a, za, b, zb = (_by_axis(level, x, axis) for level in (a, za, b, zb))
    return of_type(((x - za) * (a / b) + zb).round(), dtype or DataType.INT32)


def _check_quantized(name: str, tensor: Tensor) -> None:
    on_device(tensor)
    if tensor.dtype not in (DataType.INT32, DataType.INT8, DataType.UINT8):
        raise fatal(
            f"{name} only supports int32, int8 or uint8 inputs for now, got {cpp(tensor.dtype)}",
            hint="ttnn.quantize(tensor, scale, zero_point)",
        )


def _check_levels(name: str, dtype: DataType | None, room: Tensor | None) -> None:
    """Raises RuntimeError for levels that are to be anything but int32, int8 or uint8."""
    made = dtype if room is None else room.dtype
    if made not in (None, DataType.INT32, DataType.INT8, DataType.UINT8):
        raise fatal(
            f"{name} only supports int32, int8 or uint8 outputs for now, got {cpp(made)}",
            hint="dtype=ttnn.int32; ttnn.dequantize makes floats",
        )


@operation("ttnn.quantize", family=families.QUANTIZATION, golden=_golden_quantize)
def quantize(
    input_tensor: Tensor,
    scale: Level,
    zero_point: Level,
    *,
    axis: int | None = None,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """round(x / scale + zero_point), ties to even; int32 unless `dtype`, saturating."""
    on_device(input_tensor)
    if isinstance(zero_point, Tensor) and zero_point.dtype is not DataType.INT32:
        raise fatal(
            "Quantization only takes int32 zero-points for now", hint="ttnn.typecast(zero_point, ttnn.int32)"
        )
    if not is_float(input_tensor.dtype):
        raise fatal("Quantize only takes floating-point number inputs", hint="ttnn.requantize takes integers")
    _check_levels("Quantize", dtype, output_tensor)
    return _computed(
        lambda x, s, z: x / s + z,
        input_tensor,
        (scale, zero_point),
        axis,
        dtype or DataType.INT32,
        memory_config,
        output_tensor,
    )


@operation("ttnn.dequantize", family=families.QUANTIZATION, golden=_golden_dequantize)
def dequantize(
    input_tensor: Tensor,
    scale: Level,
    zero_point: Level,
    *,
    axis: int | None = None,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """(x - zero_point) scale; bfloat16 unless `dtype`."""
    _check_quantized("Dequantize", input_tensor)
    if dtype not in (None, DataType.BFLOAT16, DataType.FLOAT32):
        raise fatal(
            "Dequantize only supports bf16/f32 outputs for now", hint="dtype=ttnn.bfloat16 or ttnn.float32"
        )
    return _computed(
        lambda x, s, z: (x - z) * s,
        input_tensor,
        (scale, zero_point),
        axis,
        dtype or DataType.BFLOAT16,
        memory_config,
        output_tensor,
    )


@operation("ttnn.requantize", family=families.QUANTIZATION, golden=_golden_requantize)
def requantize(
    input_tensor: Tensor,
    in_scale: Level,
    in_zero_point: Level,
    out_scale: Level,
    out_zero_point: Level,
    *,
    axis: int | None = None,
    dtype: DataType | None = None,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Quantized values at another scale and zero point, rounded to even; int32 unless `dtype`, saturating."""
    _check_quantized("Requantize", input_tensor)
    _check_levels("Requantize", dtype, output_tensor)
    return _computed(
        lambda x, a, za, b, zb: (x - za) * (a / b) + zb,
        input_tensor,
        (in_scale, in_zero_point, out_scale, out_zero_point),
        axis,
        dtype or DataType.INT32,
        memory_config,
        output_tensor,
    )


@operation("ttnn.experimental.quantize_weights_via_host", family=families.CONVERSION)
def quantize_weights_via_host(
    device_tensor: Tensor, *, dtype: DataType, memory_config: MemoryConfig | None
) -> Tensor:
    """The same weights in another element type and memory configuration."""
    found: Tensor = conversions.typecast.compute(device_tensor, dtype, memory_config=memory_config)
    return found
