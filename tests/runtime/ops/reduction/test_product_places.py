"""Where products along a dimension of pieces on cores lie, and which are refused, as in reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import BY_ROW
from tests.runtime.ops.tensors import BF16, TILE, held, put
from tt_run.runtime.enums import BufferType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, NdShardSpec, ShardSpec

SHAPE = (1, 1, 64, 64)


def cut(one: MeshDevice, kind: Any, last: Any, piece: Any, shape: Any = SHAPE) -> Any:
    memory = MemoryConfig(kind, BufferType.L1, ShardSpec(cores(last), piece, BY_ROW))
    return ops.to_memory_config(put(one, np.full(shape, 2.0), BF16, TILE), memory)


@pytest.mark.parametrize(
    ("kind", "last", "piece", "dim"),
    [
        (HEIGHT, (0, 1), (32, 64), 0),
        (HEIGHT, (0, 0), (64, 64), 1),  # in one piece, and still by rows
        (WIDTH, (0, 1), (64, 32), 0),
        (BLOCK, (0, 1), (32, 64), 1),
    ],
)
def test_over_batches_it_stays_on_its_cores(one: MeshDevice, kind: Any, last: Any, piece: Any, dim: int):
    found = ops.prod(cut(one, kind, last, piece), dim)
    assert where(found) == (kind, last, piece)
    assert (held(found) == 2).all()


@pytest.mark.parametrize(
    ("kind", "last", "piece", "dim", "said"),
    [
        (HEIGHT, (1, 0), (32, 64), 0, r"grid \{\[0-0 - 1-0\]\} must be contained in program core grid \{\[0-0 - 0-3\]\}"),
        (HEIGHT, (7, 7), (32, 64), -2, r"must be contained in program core grid \{\[0-0 - 0-1\]\}"),
        (HEIGHT, (0, 1), (32, 64), -2, "Number of shards along height 64 must not exceed number of cores 2"),
        (WIDTH, (0, 1), (64, 32), -2, "Shard height 64 must match physical height 2048"),
        (BLOCK, (0, 1), (32, 64), -1, "Number of shards along height 64 must not exceed number of rows 2"),
    ],
)  # fmt: skip
def test_pieces_that_do_not_go_with_the_program(
    one: MeshDevice, kind: Any, last: Any, piece: Any, dim: int, said: str
):
    tensor = cut(one, kind, last, piece)
    with pytest.raises(RuntimeError, match=said):
        ops.prod(tensor, dim)
    # Into memory that is not on cores all of it goes.
    found = ops.prod(tensor, dim, memory_config=L1_MEMORY_CONFIG)
    assert found.memory_config() == L1_MEMORY_CONFIG
    assert (held(found) == (2.0 ** (64 if dim < 0 else 1))).all()


def test_pieces_of_any_rank_lose_the_dimension_that_is_gone(one: MeshDevice):
    pieces = MemoryConfig(BufferType.L1, NdShardSpec([1, 1, 32, 32], cores((0, 1)), BY_ROW))
    tensor = ops.to_memory_config(put(one, np.full(SHAPE, 2.0), BF16, TILE), pieces)
    assert list(ops.prod(tensor, 0).memory_config().nd_shard_spec.shard_shape) == [1, 32, 32]
    assert list(ops.prod(tensor, 0, True).memory_config().nd_shard_spec.shard_shape) == [1, 1, 32, 32]
    with pytest.raises(RuntimeError, match="must be tile"):
        ops.prod(tensor, -1)
