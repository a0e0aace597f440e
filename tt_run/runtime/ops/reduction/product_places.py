"""Where a product along one dimension lies, and what it refuses of pieces on cores.

It is taken along the first of four dimensions: another of a matrix is brought in front, into the place of the result, and back. Source:
memory configurations and refusals of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.enums import Layout
from tt_run.runtime.ops.reduction.placement_checks import check_within_program
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, padded_shape
from tt_run.runtime.tensor.tensor import Tensor

_RANK = 4
_IN_FRONT = {2: (2, 0, 1, 3), 3: (3, 0, 1, 2)}


def of_product(
    tensor: Tensor, axis: int, keepdim: bool, memory_config: MemoryConfig | None
) -> MemoryConfig | None:
    """The place of a product along `axis`, None where nothing is on cores. Raises RuntimeError for pieces that do not fit on the way."""
    place, rank = memory_config or tensor.memory_config(), len(tensor.shape)
    if not place.is_sharded() or place.nameless or rank > _RANK:
        return None
    shape, at = [1] * (_RANK - rank) + list(tensor.shape), axis + _RANK - rank
    if at in _IN_FRONT:
        order = _IN_FRONT[at]
        turned = [shape[i] for i in order]
        _fits(_turned(place, order), turned, tensor.layout)
        shape = [1, *turned[1:]]
    else:
        shape[at] = 1
    _fits(place, shape, Layout.TILE)
    padded = padded_shape(tuple(shape), Layout.TILE, tensor.tile).dims
    check_within_program("Prod_nc", place, tensor, math.prod(padded) // math.prod(tensor.tile.edges))
    if at in _IN_FRONT:
        order = _IN_FRONT[at]
        shape = [shape[order.index(i)] for i in range(_RANK)]
    _fits(place, shape, Layout.TILE)
    return _of_rank(place, rank - (not keepdim))


def _fits(place: MemoryConfig, shape: Sequence[int], layout: Layout) -> None:
    """Raises RuntimeError where a step's result does not fit: it is in whole tiles, whatever its operand's."""
    sharding.settled(place, padded_shape(tuple(shape), layout, DEFAULT_TILE).dims, layout, DEFAULT_TILE.edges)


def _turned(place: MemoryConfig, order: Sequence[int]) -> MemoryConfig:
    """Pieces of any rank are turned with their tensor."""
    pieces = place.nd_shard_spec
    if not place.created_with_nd_shard_spec or pieces is None:
        return place
    whole = [1] * (_RANK - len(pieces.shard_shape)) + list(pieces.shard_shape)
    spec = NdShardSpec([whole[i] for i in order], pieces.grid, pieces.orientation)
    return MemoryConfig(buffer_type=place.buffer_type, nd_shard_spec=spec)


def _of_rank(place: MemoryConfig, rank: int) -> MemoryConfig:
    """Pieces of more dimensions than the result has lose those in front."""
    pieces = place.nd_shard_spec
    if not place.created_with_nd_shard_spec or pieces is None or len(pieces.shard_shape) <= rank:
        return place
    if place.shard_spec is not None:
        return MemoryConfig(place.memory_layout, place.buffer_type, place.shard_spec)
    spec = NdShardSpec(list(pieces.shard_shape)[-rank:], pieces.grid, pieces.orientation)
    return MemoryConfig(buffer_type=place.buffer_type, nd_shard_spec=spec)
