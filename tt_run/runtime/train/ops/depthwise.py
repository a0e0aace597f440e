"""A convolution of four taps along positions, each channel by itself, and with silu after it for queries, keys and values in one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.kernels import functions
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.arithmetic import storage_dtype
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import pieces

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]
TAPS = 4


def depthwise_conv1d_k4(
    input: Value,
    tap0: Value,
    tap1: Value,
    tap2: Value,
    tap3: Value,
    anti_causal: bool = False,
    silu_grad: Value | None = None,
) -> Value:
    """u[t] = sum over j of tap j * input[t + j - 3], zeros before the first position, of a bfloat16 input [1, 1, T, C] in rows; taps [1, 1, 1, C].

    With `anti_causal` the same from the last position on. With `silu_grad` that gradient times the slope of silu at u. Raises RuntimeError
    for other types and layouts, and for positions or channels that are no whole tiles.
    """
    taps = (tap0, tap1, tap2, tap3)
    _check(input, taps, silu_grad)

    def kernel(x: Array, *rest: Array) -> Array:
        u = _convolved(x, rest[:TAPS], anti_causal)
        return u if silu_grad is None else rest[TAPS] * _slope(u)

    return stacks.compute(kernel, input, *taps, *([] if silu_grad is None else [silu_grad]))


@recorded
def fused_causal_conv1d_silu(
    qkv: Tensor, taps: Sequence[Tensor], widths: Sequence[int]
) -> tuple[Tensor, ...]:
    """silu of the causal convolution of [1, 1, T, sum of widths] by four taps [1, 1, 1, sum], cut into parts [1, 1, T, width].

    Gradients flow to the operand and to taps that want one. Raises ValueError for another number of taps, and for widths with another sum.
    """
    if len(taps) != TAPS or sum(widths) != qkv.shape()[-1]:
        raise ValueError(
            f"fused_causal_conv1d_silu: {len(taps)} taps and widths {list(widths)} for {qkv.shape()}; it takes 4, and widths with the sum of the last dimension"
        )
    x, values = qkv.get_value(), [tap.get_value() for tap in taps]

    def rule(gradient: Value) -> None:
        before = stacks.compute(lambda u, d, *t: d * _slope(_convolved(u, t, False)), x, gradient, *values)
        qkv.add_grad(stacks.compute(lambda d, *t: _convolved(d, t, True), before, *values))
        for number, tap in enumerate(taps):
            if tap.get_requires_grad():
                late = TAPS - 1 - number
                tap.add_grad(stacks.compute(lambda u, d, late=late: _met(u, d, late), x, before))

    made = stacks.compute(lambda u, *t: functions.silu(_convolved(u, t, False)), x, *values)
    joint: Tensor = result(made, (qkv, *taps), rule)
    return tuple(pieces.split(joint, tuple(widths), 3))


def _convolved(x: Array, taps: Sequence[Array], reverse: bool) -> Array:
    """Tap by tap from the earliest position on, or from the last one."""
    out = np.zeros(x.shape, np.float32)
    length = x.shape[-2]
    for number, tap in enumerate(taps):
        late = min(TAPS - 1 - number, length)
        if reverse:
            out[..., : length - late, :] += tap * x[..., late:, :]
        else:
            out[..., late:, :] += tap * x[..., : length - late, :]
    return out


def _slope(u: Array) -> Array:
    gate = functions.sigmoid(u)
    return gate * (np.float32(1) + u * (np.float32(1) - gate))


def _met(x: Array, d: Array, late: int) -> Array:
    """A tap's gradient: what of the input met which gradient, summed over positions."""
    length = x.shape[-2]
    late = min(late, length)
    found: Array = (x[..., : length - late, :] * d[..., late:, :]).sum(
        axis=-2, keepdims=True, dtype=np.float32
    )
    return found


def _check(x: Value, taps: Sequence[Value], gradient: Value | None) -> None:
    shape = [*x.shape]
    if len(shape) != 4 or shape[:2] != [1, 1]:
        raise RuntimeError(f"depthwise_conv1d_k4: input must be [1, 1, T, C], got {shape}")
    for name, size in zip("TC", shape[2:], strict=True):
        if size < 1 or size % TILE_SIZE:
            raise RuntimeError(
                f"depthwise_conv1d_k4: {name} must be a positive multiple of {TILE_SIZE}, got {size}"
            )
    given = [("input", x, Layout.ROW_MAJOR), *((f"tap{n}", tap, Layout.TILE) for n, tap in enumerate(taps))]
    if gradient is not None:
        given.append(("silu_grad", gradient, Layout.TILE))
    for name, value, layout in given:
        if value.layout is not layout:
            raise RuntimeError(f"depthwise_conv1d_k4: {name} must be {layout.name}, got {value.layout.name}")
        if value.dtype is not storage_dtype(DataType.BFLOAT16):
            raise RuntimeError(f"depthwise_conv1d_k4: {name} must be BFLOAT16, got {value.dtype.name}")
    for number, tap in enumerate(taps):
        if [*tap.shape] != [1] * (len(tap.shape) - 1) + [shape[3]]:
            raise RuntimeError(
                f"depthwise_conv1d_k4: tap{number} must hold C = {shape[3]} values in its last dim, got {[*tap.shape]}"
            )
    if gradient is not None and [*gradient.shape] != shape:
        raise RuntimeError(
            f"depthwise_conv1d_k4: silu_grad must match the input shape {shape}, got {[*gradient.shape]}"
        )
