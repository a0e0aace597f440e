"""`ttml.ops.conv`: convolutions of volumes, channels last, as products of patches with flat filters.

Activations are [N, D, H, W, C], weights [out, in / groups, kD, kH, kW]. Patches are gathered again for the backward pass instead of kept:
they are as many times larger than the input as the kernel has positions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import gemm
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.dtypes import is_float

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class PreparedConv3dWeight:
    """Filters as matrices of tiles, one pair for each group: (positions * in, out) for the forward pass, (positions * out, in) for the gradient
    of the input, channels filled up to whole tiles. `shape` is that of the weight they were made of."""

    shape: tuple[int, ...]
    groups: int
    c_in_block: int
    forward: tuple[Value, ...]
    transposed: tuple[Value, ...]


@dataclass(frozen=True)
class _Geometry:
    """Sizes of one convolution; every window of the padded input is a row of patches."""

    kernel: Triple
    stride: Triple
    padding: Triple
    dilation: Triple
    groups: int
    channels: int
    batch: int
    space: Triple
    outputs: int

    @property
    def made(self) -> Triple:
        """Depth, height and width of the result."""
        d, h, w = (
            (n + 2 * p - s * (k - 1) - 1) // step + 1
            for n, p, s, k, step in zip(
                self.space, self.padding, self.dilation, self.kernel, self.stride, strict=True
            )
        )
        return d, h, w

    @property
    def padded(self) -> Triple:
        d, h, w = (n + 2 * p for n, p in zip(self.space, self.padding, strict=True))
        return d, h, w

    def windows(self) -> Iterator[tuple[slice, ...]]:
        """For each position of the kernel, the elements of the padded input that it meets."""
        for place in itertools.product(*map(range, self.kernel)):
            yield tuple(
                slice(at * spread, at * spread + step * (count - 1) + 1, step)
                for at, spread, step, count in zip(place, self.dilation, self.stride, self.made, strict=True)
            )


@recorded
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    prepared_weight: PreparedConv3dWeight | None = None,
    stride: Sequence[int] = (1, 1, 1),
    padding: Sequence[int] = (0, 0, 0),
    dilation: Sequence[int] = (1, 1, 1),
    groups: int = 1,
    padding_mode: str = "zeros",
) -> Tensor:
    """[N, D, H, W, C] -> [N, D', H', W', out], as torch.nn.functional.conv3d with the channels last.

    `prepared_weight` is what `prepare_conv3d_weight` made of the same weight; the gradient goes to `weight`. The bias has `out` elements.
    Raises ValueError for sizes that do not fit.
    """
    x, w = input.get_value(), weight.get_value()
    shape = _checked(x, w, bias, stride, padding, dilation, groups, padding_mode)
    if prepared_weight is not None and (prepared_weight.shape, prepared_weight.groups) != (
        tuple(w.shape),
        groups,
    ):
        raise ValueError(
            f"conv3d: the prepared weight was built for shape {list(prepared_weight.shape)} in {prepared_weight.groups} groups, "
            f"the weight has {list(w.shape)} in {groups}"
        )
    filters = w if prepared_weight is None else _unprepared(prepared_weight, w)

    def forward(u: Array, v: Array, b: Array | None = None) -> Array:
        patches = _patches(u, shape)
        parts = [gemm.matmul(p, f) for p, f in zip(patches, _flat(v, shape), strict=True)]
        out = parts[0] if groups == 1 else np.concatenate(parts, axis=-1)
        if b is not None:
            out += b.reshape(-1, 1, shape.outputs)
        return out.reshape(-1, shape.batch, *shape.made, shape.outputs)

    def for_input(g: Array, v: Array) -> Array:
        slopes = _by_groups(g, shape)
        parts = [gemm.matmul(s, np.swapaxes(f, -1, -2)) for s, f in zip(slopes, _flat(v, shape), strict=True)]
        return _put_back(parts, shape)

    def for_weight(g: Array, u: Array) -> Array:
        slopes = _by_groups(g, shape)
        parts = [
            gemm.matmul(np.swapaxes(s, -1, -2), p) for s, p in zip(slopes, _patches(u, shape), strict=True)
        ]
        flat = parts[0] if groups == 1 else np.concatenate(parts, axis=-2)
        return np.moveaxis(flat.reshape(-1, shape.outputs, *shape.kernel, shape.channels // groups), -1, 2)

    def rule(gradient: Value) -> None:
        if input.get_requires_grad():
            input.add_grad(stacks.compute(for_input, gradient, filters, dtype=x.dtype))
        if weight.get_requires_grad():
            weight.add_grad(stacks.compute(for_weight, gradient, x, dtype=w.dtype))
        if bias is not None and bias.get_requires_grad():
            form = bias.shape()
            bias.add_grad(
                stacks.compute(
                    lambda g: (
                        g.reshape(len(g), -1, shape.outputs).sum(axis=1, dtype=np.float32).reshape(-1, *form)
                    ),
                    gradient,
                )
            )

    operands = (x, filters) if bias is None else (x, filters, bias.get_value())
    sources = (input, weight) if bias is None else (input, weight, bias)
    return result(stacks.compute(forward, *operands, layout=x.layout), sources, rule)


def prepare_conv3d_weight(weight: Value, groups: int = 1) -> PreparedConv3dWeight:
    """The matrices that a device's kernels read, of filters [out, in / groups, kD, kH, kW]. Raises ValueError for other shapes."""
    shape = tuple(weight.shape)
    if len(shape) != 5:
        raise ValueError(f"prepare_conv3d_weight: the weight must have rank 5, got {list(shape)}")
    if groups < 1 or shape[0] % groups:
        raise ValueError(
            f"prepare_conv3d_weight: out_channels {shape[0]} must be divisible by groups {groups}"
        )
    each, (inner, *kernel) = shape[0] // groups, shape[1:]
    positions = math.prod(kernel)

    def matrix(group: int, turned: bool) -> Value:
        def lay(stack: Array) -> Array:
            own = stack[:, group * each : (group + 1) * each].reshape(-1, each, inner, positions)
            flat = own.transpose((0, 3, 1, 2) if turned else (0, 3, 2, 1))
            rows, columns = (each, inner) if turned else (inner, each)
            out = np.zeros((len(stack), positions, whole_tiles(rows), whole_tiles(columns)), np.float32)
            out[:, :, :rows, :columns] = flat
            return out.reshape(len(stack), -1, whole_tiles(columns))

        return stacks.compute(lay, weight)

    return PreparedConv3dWeight(
        shape,
        groups,
        TILE_SIZE if positions % 2 else TILE_SIZE // 2,
        tuple(matrix(group, False) for group in range(groups)),
        tuple(matrix(group, True) for group in range(groups)),
    )


def _unprepared(prepared: PreparedConv3dWeight, like: Value) -> Value:
    """The filters that prepared matrices hold."""
    outputs, inner, *kernel = prepared.shape
    each, positions = outputs // prepared.groups, math.prod(kernel)

    def lay(*groups: Array) -> Array:
        parts = [
            m.reshape(len(m), positions, -1, m.shape[-1])[:, :, :inner, :each].transpose(0, 3, 2, 1)
            for m in groups
        ]
        return np.concatenate(parts, axis=1).reshape(-1, outputs, inner, *kernel)

    return stacks.compute(lay, *prepared.forward, dtype=like.dtype)


def _patches(stack: Array, shape: _Geometry) -> list[Array]:
    """For each group (shards, rows, positions * in): what each result sees."""
    around = [(0, 0), (0, 0), *((p, p) for p in shape.padding), (0, 0)]
    whole = np.pad(stack, around) if any(shape.padding) else stack
    each = shape.channels // shape.groups
    seen = np.stack([whole[_of_each(window)] for window in shape.windows()], axis=-2)
    return [
        np.ascontiguousarray(seen[..., group * each : (group + 1) * each]).reshape(
            len(stack), shape.batch * math.prod(shape.made), -1
        )
        for group in range(shape.groups)
    ]


def _of_each(window: tuple[slice, ...]) -> tuple[slice, ...]:
    """The elements of a window in every shard and batch."""
    return slice(None), slice(None), *window


def _flat(stack: Array, shape: _Geometry) -> list[Array]:
    """For each group (shards, positions * in, out): filters in the order of patches."""
    each = shape.outputs // shape.groups
    rows = np.moveaxis(stack, 2, -1).reshape(len(stack), shape.outputs, -1)
    return [
        np.swapaxes(np.ascontiguousarray(rows[:, group * each : (group + 1) * each]), -1, -2)
        for group in range(shape.groups)
    ]


def _by_groups(stack: Array, shape: _Geometry) -> list[Array]:
    rows = stack.reshape(len(stack), -1, shape.outputs)
    if shape.groups == 1:
        return [rows]
    return [np.ascontiguousarray(part) for part in np.split(rows, shape.groups, axis=-1)]


def _put_back(parts: list[Array], shape: _Geometry) -> Array:
    """Gradients of patches added where the patches came from, without the padding."""
    count, each = len(parts[0]), shape.channels // shape.groups
    out = np.zeros((count, shape.batch, *shape.padded, shape.channels), np.float32)
    form = (count, shape.batch, *shape.made, math.prod(shape.kernel), each)
    for group, part in enumerate(parts):
        patches = part.reshape(form)
        for number, window in enumerate(shape.windows()):
            place = (slice(None), slice(None), *window, slice(group * each, (group + 1) * each))
            out[place] += patches[..., number, :]
    inside = tuple(slice(p, p + n) for p, n in zip(shape.padding, shape.space, strict=True))
    found: Array = out[_of_each(inside)]
    return found


def _checked(
    x: Value,
    w: Value,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    padding_mode: str,
) -> _Geometry:
    """The sizes of a convolution. Raises ValueError that says which do not fit."""
    if padding_mode != "zeros":
        raise ValueError(f"conv3d: padding_mode must be 'zeros', got {padding_mode!r}")
    for name, value, least in (("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1)):
        if len(tuple(value)) != 3 or min(value) < least:
            raise ValueError(f"conv3d: {name} must be three numbers of at least {least}, got {tuple(value)}")
    for name, shape in (("input", x.shape), ("weight", w.shape)):
        if len(shape) != 5:
            raise ValueError(f"conv3d: the {name} must have rank 5, got shape {list(shape)}")
    channels, (outputs, inner, *kernel) = x.shape[-1], tuple(w.shape)
    if groups < 1:
        raise ValueError(f"conv3d: groups must be non-zero and positive, got {groups}")
    if channels % groups:
        raise ValueError(f"conv3d: input channels {channels} must be divisible by groups {groups}")
    if inner != channels // groups:
        raise ValueError(
            f"conv3d: weight in_channels {inner} must be input channels {channels} / groups {groups}"
        )
    if outputs % groups:
        raise ValueError(f"conv3d: out_channels {outputs} must be divisible by groups {groups}")
    floating = [x, w] if bias is None else [x, w, bias.get_value()]
    if not all(is_float(value.dtype) for value in floating):
        raise ValueError(f"conv3d: dtype must be floating, got {[value.dtype.name for value in floating]}")
    if bias is not None and math.prod(bias.shape()) != outputs:
        raise ValueError(f"conv3d: the bias must have {outputs} elements, got shape {bias.shape()}")
    made = _Geometry(
        _triple(kernel), _triple(stride), _triple(padding), _triple(dilation), groups, channels,
        int(x.shape[0]), _triple(tuple(x.shape)[1:4]), outputs,
    )  # fmt: skip
    reach = tuple(s * (k - 1) + 1 for s, k in zip(made.dilation, made.kernel, strict=True))
    if any(r > n for r, n in zip(reach, made.padded, strict=True)):
        raise ValueError(
            f"conv3d: the effective kernel {reach} exceeds the padded input {made.padded} (depth, height, width)"
        )
    return made


def _triple(values: Sequence[int]) -> Triple:
    a, b, c = (int(value) for value in values)
    return a, b, c
