"""Where a tensor lies that is the same buffer under another shape, and which shapes its buffer does not take.

Source: memory configurations and refusals of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor

_RESHAPE = "ttnn.reshape(input_tensor, shape) moves the elements to where they fit"


def _padded(tensor: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(padded_shape(tuple(shape), tensor.layout, tensor.tile).dims)


def _fits(tensor: Tensor, memory: MemoryConfig, shape: Sequence[int]) -> None:
    sharding.settled(memory, _padded(tensor, shape), tensor.layout, tensor.tile.edges)


def of_view(tensor: Tensor, shape: Sequence[int]) -> MemoryConfig | None:
    """The place of a view of `shape`, None for its tensor's. Rows on cores are cut as their elements lie where the last dimension is another.

    Raises RuntimeError for pieces that the shape does not fit, and for a buffer that does not hold its padding.
    """
    held = tensor.memory_config()
    if tensor.device() is None or not math.prod(shape):
        return None
    if not held.is_sharded():
        if math.prod(_padded(tensor, shape)) > math.prod(tensor.padded_shape):
            raise fatal("MeshBuffer must be large enough to hold the tensor.", hint=_RESHAPE)
        return None
    spec = held.shard_spec
    if spec is None:
        return None
    old, last = tensor.padded_shape[-1:], list(shape[-1:])
    if list(old) == last:
        _fits(tensor, held, shape)
        return None
    if [spec.shape[1]] != list(old):
        raise fatal(
            "Changing the last dimension of a sharded tensor is not supported unless the shard width matches the input last dimension. "
            f"Input shape: {tensor.padded_shape}, New shape: {Shape(list(shape))}, Shard width: {spec.shape[1]}",
            hint=_RESHAPE,
        )
    if tensor.layout is not Layout.TILE:
        piece = [spec.shape[0] * spec.shape[1] // last[0], last[0]]
        spec = ShardSpec(spec.grid, piece, spec.orientation)
    place = MemoryConfig(held.memory_layout, held.buffer_type, spec)
    _fits(tensor, place, shape)
    return place


def check_moved(tensor: Tensor, memory_config: MemoryConfig | None, shape: Sequence[int]) -> None:
    """Raises RuntimeError where `reshape_on_device` does not move a tensor to `shape`: nothing on cores, and tiles only into as many."""
    wanted = like_operand(tensor, memory_config) or tensor.memory_config()
    _fits(tensor, wanted, shape)
    if tensor.is_sharded():
        raise fatal("Use ttnn::reshape for reshaping sharded inputs", hint=_RESHAPE)
    if wanted.is_sharded():
        raise fatal(
            "Reshape does not currently support sharding. Use ttnn::reshape for reshaping sharded inputs",
            hint=_RESHAPE,
        )
    old, new = (math.prod(dims) for dims in (tensor.padded_shape, _padded(tensor, shape)))
    if tensor.layout is Layout.TILE and old != new:
        raise fatal(
            "Tile reshape requires the input and output to have the same tile-padded physical volume, but got "
            f"input {old} and output {new}. Reshapes that change the tile padding are not supported on the tile path; use ttnn::reshape "
            "instead.",
            hint=_RESHAPE,
        )
