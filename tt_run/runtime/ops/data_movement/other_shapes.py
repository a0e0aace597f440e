"""Other shapes of the same elements by `ttnn.experimental`: views, dimensions repeated or exchanged. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from tt_run.runtime.enums import Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.native.arguments import also_named
from tt_run.runtime.ops.data_movement import movement, repeating
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.ops.declaration.rows import Row, declare, stacks
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]


def _check_exchanged(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for matrices that are no whole tiles."""
    shape = (1, 1, *given[0].shape)
    for place, said in ((-2, "A (second-to-last dim)"), (-1, "C (last dim)")):
        if shape[place] % TILE_SIZE or not shape[place]:
            raise fatal(
                f"transpose_rm: {said} must be a multiple of {TILE_SIZE} and >={TILE_SIZE} (got {shape[place]}).",
                hint="ttnn.transpose(tensor, -2, -1)",
            )


EXCHANGED = declare(
    families.MOVEMENT,
    Row("experimental.transpose_rm", "(input: Tensor)", lambda x: x.swapaxes(-1, -2),
        "The last two dimensions exchanged.", golden=lambda x, **_: x.mT, check=_check_exchanged),
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
    if output is None:  # it copies where `expand` would not
        return movement.moved(input, lambda s: s) if found.storage is input.storage else found
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
    if wanted == tuple(input_tensor.shape) and input_tensor.is_sharded():
        return movement.moved(input_tensor, lambda s: s, input_tensor.memory_config(), view=True)
    return movement.seen_as(input_tensor, wanted)
