"""Smaller operations of `ttnn.experimental`: shapes, membership, dropout. Source: reference library 0.81.1. NumPy computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.native.arguments import also_named
from tt_run.runtime.ops.data_movement import conversions, movement, repeating
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.composites import compile_isin
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import floating, on_device, settle
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare, stacks
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.tensor.creation.from_shape import random_source
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, whole_tiles
from tt_run.runtime.values.dtypes import convert
from tt_run.runtime.values.shards import combine

Array = npt.NDArray[Any]


def _rotated(x: Array) -> Array:
    depth, wide = x.shape[-1], whole_tiles(x.shape[-1])
    if wide % (2 * TILE_SIZE):
        raise fatal(
            f"Input X dimension ({wide}) must be divisible by {2 * TILE_SIZE} for tiling.",
            hint=f"ttnn.pad the last dimension to a multiple of {2 * TILE_SIZE}",
        )
    whole = np.pad(x, (*[(0, 0)] * (x.ndim - 1), (0, wide - depth))) if wide > depth else x
    half = wide // 2
    return np.concatenate([-whole[..., half:], whole[..., :half]], axis=-1)[..., :depth]


def _check_rows(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    (x,) = given
    if x.layout is Layout.ROW_MAJOR and x.shape[-1] % (2 * TILE_SIZE):
        raise fatal(
            f"Input X dimension ({x.shape[-1]}) must be divisible by {2 * TILE_SIZE} for tiling.",
            hint="ttnn.to_layout(tensor, ttnn.TILE_LAYOUT), or ttnn.pad the last dimension",
        )


def _golden_rotated(x: Any, **_: Any) -> Any:
    return x.roll(x.shape[-1] // 2, -1) * (x.new_ones(x.shape[-1]).cumsum(0) > x.shape[-1] // 2).mul(2).sub(1)


ELEMENTS = declare(
    families.MOVEMENT,
    Row("experimental.rotate_half", f"(input: Tensor, *, {PLACED})", _rotated,
        "The second half of the last dimension, negated, before the first.", golden=_golden_rotated, layout=Layout.TILE, check=_check_rows),
    Row("experimental.transpose_rm", "(input: Tensor)", lambda x: x.swapaxes(-1, -2),
        "The last two dimensions exchanged.", golden=lambda x, **_: x.mT),
    engine=stacks,
)  # fmt: skip


def _check_broadcast(
    given: Tensor, shape: Sequence[int], place: MemoryConfig | None, output: Tensor | None
) -> None:
    """Tiles that are not cut over cores, into a tensor like them of the shape asked for."""
    on_device(given, kind="broadcast")
    if given.layout is not Layout.TILE:
        raise fatal(
            f"bcast_to: Invalid tensor memory layout {cpp(given.layout)}. Input tensor layout must be TILE.",
            hint=in_tiles("tensor"),
        )
    for word, memory, said in (
        ("input", given.memory_config(), "Input tensor sharding"),
        ("output", place or given.memory_config(), "Output memory config sharding"),
    ):
        if memory.is_sharded():
            raise fatal(
                f"bcast_to: Invalid {word} memory config {memory}. {said} not supported",
                hint="memory_config=ttnn.DRAM_MEMORY_CONFIG"
                if word == "output"
                else "ttnn.sharded_to_interleaved(tensor)",
            )
    if output is None:
        return
    if list(output.shape) != list(shape):
        raise fatal(
            f"bcast_to: Invalid output shape {output.shape}Output shape must match operation attributes {Shape(shape)}",
            hint=f"an output of shape {list(shape)}",
        )
    for word, one, other in (("layout", given.layout, output.layout), ("dtype", given.dtype, output.dtype)):
        if one is not other:
            raise fatal(
                f"bcast_to: Input {cpp(one)} and output {cpp(other)} must have same {word}",
                hint=f"an output of {one}",
            )


@operation(
    "ttnn.experimental.broadcast_to", family=families.MOVEMENT, golden=lambda x, shape, **_: x.expand(*shape)
)
def broadcast_to(
    input: Tensor,
    output_shape: Sequence[int],
    *,
    memory_config: MemoryConfig | None = None,
    output: Tensor | None = None,
) -> Tensor:
    """Dimensions of length 1 repeated up to `output_shape`."""
    _check_broadcast(input, output_shape, memory_config, output)
    found: Tensor = repeating.expand.compute(input, output_shape, memory_config=memory_config)
    if output is None:
        return found
    output.overwrite(found.shards)
    return output


@operation("ttnn.experimental.view", family=families.MOVEMENT, golden=goldens.reshape)
@also_named(N="shape")
def experimental_view(
    input_tensor: Tensor,
    shape: Sequence[int] | int,
    *others: int,
    C: int | None = None,
    H: int | None = None,
    W: int | None = None,
) -> Tensor:
    """`reshape` that moves nothing; the new shape as a sequence or as numbers, which may be called `N`, `C`, `H` and `W`."""
    on_device(input_tensor, kind="data movement")
    sizes = (*others, *(size for size in (C, H, W) if size is not None))
    given = (shape, *sizes) if isinstance(shape, int) else shape
    wanted = movement.resolve_shape(given, tuple(input_tensor.shape))
    return movement.seen_as(input_tensor, wanted)


@operation("ttnn.experimental.isin", family=families.SORT)
def isin(
    elements: Tensor,
    test_elements: Tensor,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """0xFFFFFFFF where an element is among the test elements, else 0; the other way round with `invert`. UINT32."""
    given = (elements, test_elements)
    on_device(*given, kind="isin")
    if elements.dtype is not test_elements.dtype:
        raise fatal(
            f"elements.dtype: {elements.dtype.name}, test_elements.dtype: {test_elements.dtype.name}, they must be equal",
            hint="ttnn.typecast one of them to the other's element type",
        )

    def among(stack: Array, tests: Array) -> Array:
        found = np.array([np.isin(a, b, invert=invert) for a, b in zip(stack, tests, strict=True)]).reshape(
            stack.shape
        )
        return np.where(found, np.uint32(0xFFFFFFFF), np.uint32(0)).astype(np.uint32)

    compile_isin(elements, test_elements)
    return settle(given, combine(among, *(t.shards for t in given)), DataType.UINT32, output_tensor=out)


@operation("ttnn.experimental.dropout", family=families.RANDOM)
def dropout(
    input_tensor: Tensor,
    probability: float,
    scale: float,
    seed: int,
    *,
    use_per_device_seed: bool = True,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """Elements times `scale`, each zero with a probability. The places follow from the seed, and are the same on every device."""
    on_device(input_tensor, kind="dropout")
    floating("dropout", input_tensor)
    if input_tensor.layout is not Layout.TILE and not input_tensor.is_sharded():
        raise fatal(
            "Dropout operation requires tensor to be in Tile layout when working with non-sharded input tensor. "
            f"Input tensor layout: {int(input_tensor.layout)}",
            hint="ttnn.to_layout(x, ttnn.TILE_LAYOUT)",
        )
    if not 0 <= probability < 1:
        raise fatal(
            f"dropout: a probability from 0 to below 1 is needed, got {probability}",
            hint="dropout(tensor, probability=0.1, scale=1 / 0.9, seed=…)",
        )
    kept: Any = random_source(seed).random(tuple(input_tensor.shape), np.float32) >= probability
    factors = np.where(kept, np.float32(scale), np.float32(0))
    shards = input_tensor.shards.map(lambda stack: convert(stack * factors, input_tensor.dtype))
    return settle(
        (input_tensor,), shards, input_tensor.dtype, memory_config=memory_config, output_tensor=output_tensor
    )


@operation("ttnn.experimental.quantize_weights_via_host", family=families.CONVERSION)
def quantize_weights_via_host(
    device_tensor: Tensor, *, dtype: DataType, memory_config: MemoryConfig | None
) -> Tensor:
    """The same weights in another element type and memory configuration."""
    found: Tensor = conversions.typecast.compute(device_tensor, dtype, memory_config=memory_config)
    return found
