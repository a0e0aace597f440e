"""`minimal_matmul` and its kin: products in blocks that the caller sizes, with what models fuse into them. Source: reference library 0.81.1.

Everything is added up in float32 and rounded once. The weight is one matrix for all batches, and results lie where they are asked for or
where the input does, piece by piece.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import gemm
from tt_run.runtime.kernels.activations import Activation
from tt_run.runtime.kernels.activations import activation as function_of
from tt_run.runtime.kernels.elementwise import evaluate, finish
from tt_run.runtime.kernels.functions import silu
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.broadcast import align
from tt_run.runtime.ops.declaration.dispatch import no_tensor, operation
from tt_run.runtime.ops.declaration.operands import on_device, settle
from tt_run.runtime.ops.products.minimal_checks import MinimalCall, check_minimal, cut
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import spec_of
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


@operation("ttnn.experimental.minimal_matmul", family=families.MATMUL)
def minimal_matmul(
    input_tensor: Tensor | Sequence[Tensor],
    weight_tensor: Tensor,
    *,
    bias_tensor: Tensor | None = None,
    fused_activation: Activation | None = None,
    config: object = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    fuse_swiglu: bool = False,
) -> Tensor:
    """activation(input @ weight + bias), rounded once; of two inputs side by side, each filled up to whole tiles.

    With `fuse_swiglu` the columns are tiles of gates and of what they gate in turn: silu(gate) * up, half as wide. Raises RuntimeError
    for that with an activation, or when the columns are no pairs of tiles.
    """
    first, second = in_parts(input_tensor)
    call = MinimalCall(
        first,
        weight_tensor,
        bias_tensor,
        second,
        fused_activation,
        config=config,
        compute=compute_kernel_config,
        dtype=dtype,
        gated=fuse_swiglu,
    )
    return computed(call, memory_config)[0]


@operation("ttnn.experimental.minimal_matmul_split", family=families.MATMUL)
def minimal_matmul_split(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    *,
    chunks: int = 3,
    dim: int = -1,
    bias_tensor: Tensor | None = None,
    fused_activation: Activation | None = None,
    config: object = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
    fuse_swiglu: bool = False,
) -> list[Tensor]:
    """`minimal_matmul`, its result cut into equal parts along the last dimension. Raises RuntimeError for another dimension."""
    if chunks < 1:
        raise fatal(f"minimal_matmul_split requires chunks >= 1, got chunks={chunks}", hint="chunks=3")
    if dim != -1:
        raise fatal(f"minimal_matmul_split currently only supports dim=-1, got dim={dim}", hint="dim=-1")
    for message, hint in cut(weight_tensor.shape[-1], chunks):
        raise fatal(message, hint=hint)
    call = MinimalCall(
        input_tensor,
        weight_tensor,
        bias_tensor,
        None,
        fused_activation,
        config=config,
        compute=compute_kernel_config,
        dtype=dtype,
        gated=fuse_swiglu,
        chunks=chunks,
    )
    return computed(call, memory_config)


@operation("ttnn.experimental.dit_minimal_matmul_addcmul_fused", family=families.MATMUL)
def dit_minimal_matmul_addcmul_fused(
    matmul_input_tensor: Tensor,
    matmul_weight_tensor: Tensor,
    scalar: float,
    addcmul_input_tensor1: Tensor,
    addcmul_input_tensor2: Tensor,
    bias_tensor: Tensor | None = None,
    *,
    config: object = None,
    memory_config: MemoryConfig | None = None,
    dtype: DataType | None = None,
    compute_kernel_config: object = None,
) -> Tensor:
    """tensor1 + scalar * (input @ weight + bias) * tensor2, rounded once; the second has one row or as many as the product."""
    call = MinimalCall(
        matmul_input_tensor,
        matmul_weight_tensor,
        bias_tensor,
        ternary=(addcmul_input_tensor1, addcmul_input_tensor2, scalar),
        config=config,
        compute=compute_kernel_config,
        dtype=dtype,
    )
    return computed(call, memory_config)[0]


def in_parts(inputs: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
    """The input, and what lies behind it along K. Raises RuntimeError for other numbers of tensors than one and two."""
    if isinstance(inputs, Tensor):
        return inputs, None
    if not isinstance(inputs, (list, tuple)):
        raise no_tensor("input_tensor", inputs)
    if len(inputs) != 2:
        raise fatal(
            f"minimal_matmul: list input must be exactly 2 tensors [prefix, suffix] for fused concat over K, got {len(inputs)}",
            hint="ttnn.concat joins more before",
        )
    return inputs[0], inputs[1]


def computed(call: MinimalCall, memory_config: MemoryConfig | None) -> list[Tensor]:
    """The parts of a product along N, each rounded once, on the cores that are named or on the input's. Raises RuntimeError as `check_minimal`."""
    tensors = [t for t in (call.x, call.weight, call.bias, call.suffix, *call.ternary[:2]) if t is not None]
    on_device(*tensors, kind="matmul")
    if memory_config is not None and memory_config.nameless:
        raise fatal("bad optional access", hint="memory_config=ttnn.create_sharded_memory_config(…)")
    _check_places(call, memory_config)
    check_minimal(call)
    return unchecked(call, memory_config)


def _check_places(call: MinimalCall, memory_config: MemoryConfig | None) -> None:
    """Raises RuntimeError where pieces do not fit the parts, which the reference looks at first."""
    x, place = call.x, memory_config or call.x.memory_config()
    if place.is_sharded() and min(len(x.shape), len(call.weight.shape)) > 1:
        width = call.wide // (2 if call.gated else 1) // call.chunks
        spec_of((*x.shape[:-1], width), call.dtype or x.dtype, Layout.TILE, place, x.tile, fits=True)


def unchecked(call: MinimalCall, memory_config: MemoryConfig | None) -> list[Tensor]:
    """As `computed`, whatever the reference would say of the blocks."""
    if call.suffix is not None:
        call = replace(call, x=_side_by_side(call.x, call.suffix, call.weight.shape[-2]), suffix=None)
    base, factor, scale = call.ternary
    fused = [tensor for tensor in (call.bias, base, factor) if tensor is not None]
    operands = (call.x, call.weight, *fused)
    compute = partial(_compute, call, scale)
    shards = combine(compute, *(tensor.shards for tensor in operands))
    width = shards.shape[-1] // call.chunks
    parts = [shards] if call.chunks == 1 else [
        shards.map(partial(columns, slice(width * n, width * (n + 1)))) for n in range(call.chunks)
    ]  # fmt: skip
    dtype, place = call.dtype or call.x.dtype, memory_config or call.x.memory_config()
    return [settle(operands, part, dtype, memory_config=place) for part in parts]


def _compute(call: MinimalCall, scale: float | None, x: Array, weight: Array, *fused: Array) -> Array:
    """The product of stacks, with bias, activation, gates and addcmul, in the stored form of its type."""
    rank = x.ndim - 1
    dtype, rest = call.dtype or call.x.dtype, list(fused)
    weight = weight.reshape(len(weight), *weight.shape[-2:])
    values: Array = gemm.matmul(x, align(weight, rank))
    if call.bias is not None:
        values += align(rest.pop(0).reshape(-1, 1, call.wide), rank)
    if call.gated:
        return finish(swiglu(values), dtype)
    if scale is not None and rest:
        base, factor = (_beside(part, values) for part in rest)
        return evaluate(partial(scaled_sum, np.float32(scale)), dtype, values, base, factor)
    if call.activation is None:
        return finish(values, dtype)
    return evaluate(function_of(call.activation), dtype, values)


def scaled_sum(scale: Any, values: Array, base: Array, factor: Array) -> Array:
    """base + scale * values * factor, of a product's values."""
    sums: Array = base + scale * values * factor
    return sums


def _beside(part: Array, values: Array) -> Array:
    """A stack in as many dimensions as another one; what has the same elements in other batches has the same shape."""
    if math.prod(part.shape[1:]) == math.prod(values.shape[1:]):
        return part.reshape(len(part), *values.shape[1:])
    extra = max(part.ndim - values.ndim, 0)
    if set(part.shape[1 : 1 + extra]) <= {1}:
        part = part.reshape(len(part), *part.shape[1 + extra :])
    return align(part, values.ndim - 1)


def columns(span: slice, values: Array) -> Array:
    """So many columns of a product."""
    return values[..., span].copy()


def _side_by_side(prefix: Tensor, suffix: Tensor, high: int) -> Tensor:
    """The second behind the first, which is filled up to whole tiles, as wide as the weight is high."""
    seam = whole_tiles(prefix.shape[-1])
    width = max(high, seam + suffix.shape[-1])

    def joined(first: Array, second: Array) -> Array:
        whole = np.zeros((*first.shape[:-1], width), np.float32)
        whole[..., : first.shape[-1]] = first
        whole[..., seam : seam + second.shape[-1]] = second
        return whole[..., :high]  # behind the weight's last row there are zeros

    return settle((prefix, suffix), combine(joined, prefix.shards, suffix.shards), prefix.dtype)


def swiglu(values: Array) -> Array:
    """Of columns that are tiles of gates and of what they gate in turn: silu(gate) * up."""
    *rest, width = values.shape
    pairs = values.reshape(*rest, width // (2 * TILE_SIZE), 2, TILE_SIZE)
    gated: Array = silu(np.ascontiguousarray(pairs[..., 0, :])) * pairs[..., 1, :]
    return gated.reshape(*rest, width // 2)
