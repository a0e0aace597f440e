"""What is turned by a dimension to its last one on the cores that it has, for operations that go along rows. Source: reference library 0.81.1."""

from __future__ import annotations

import math

from tt_run.runtime.enums import Layout
from tt_run.runtime.ops.declaration.places import check_filled
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor

_EXCHANGED = 4
"""Dimensions of a tensor whose first and last one are exchanged piece by piece, not by way of another order."""


def check_turned(tensor: Tensor, axis: int, *, high: bool = True) -> None:
    """Raises RuntimeError for pieces that are none of the tensor with `axis` and the last dimension exchanged, and for padding that is filled there.

    `high`: where only rows have padding too. Pieces of any rank are left as they are.
    """
    if not tensor.is_sharded() or tensor.device() is None or not math.prod(tensor.shape):
        return
    turned, memory = list(tensor.shape), tensor.memory_config()
    turned[axis], turned[-1] = turned[-1], turned[axis]
    if axis != len(turned) - 1:
        _check_pieces(tensor, axis)
        if memory.shard_spec is not None:
            padded = padded_shape(tuple(turned), tensor.layout, tensor.tile).dims
            held = sharding.of_matrix(memory) if tensor.layout is Layout.TILE else memory
            sharding.settled(held, padded, tensor.layout, tensor.tile.edges)
    check_filled(tensor, turned, high=high)


def _check_pieces(tensor: Tensor, axis: int) -> None:
    """Raises RuntimeError for pieces of four dimensions that are no tiles any more once the first of them is the last."""
    pieces = tensor.memory_config().nd_shard_spec
    if (
        axis
        or pieces is None
        or len(pieces.shard_shape) != len(tensor.shape)
        or len(tensor.shape) != _EXCHANGED
    ):
        return
    first, *between, last = pieces.shard_shape
    turned = NdShardSpec([last, *between, first], pieces.grid)
    sharding.check_any_rank(MemoryConfig(nd_shard_spec=turned), tensor.layout, tensor.tile.edges)
