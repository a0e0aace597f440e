"""Which cores hold the shards of a tensor, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, ROW, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.questions import worker_cores_of
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec

BY_ROW, BY_COLUMN = ShardOrientation.ROW_MAJOR, ShardOrientation.COL_MAJOR
FOUR = [(0, 0), (1, 0), (2, 0), (3, 0)]


def grid(x: int, y: int) -> CoreRangeSet:
    return CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(x, y))})


def cut(
    kind: str, shard: tuple[int, int], cores: CoreRangeSet, orientation: ShardOrientation
) -> MemoryConfig:
    layout = getattr(TensorMemoryLayout, f"{kind}_SHARDED")
    return MemoryConfig(layout, BufferType.L1, ShardSpec(cores, shard, orientation))


def of_any_rank(shard: list[int], cores: CoreRangeSet, orientation: ShardOrientation) -> MemoryConfig:
    return MemoryConfig(BufferType.L1, NdShardSpec(shard, cores, orientation))


@pytest.mark.parametrize(("shape", "memory", "wanted"), [
    ((1, 1, 128, 64), cut("HEIGHT", (32, 64), grid(7, 0), BY_ROW), FOUR),
    ((1, 1, 64, 64), cut("HEIGHT", (32, 64), grid(3, 3), BY_COLUMN), [(0, 0), (0, 1)]),
    ((1, 1, 32, 128), cut("WIDTH", (32, 32), grid(7, 0), BY_ROW), FOUR),
    ((1, 1, 64, 64), cut("BLOCK", (32, 32), grid(3, 3), BY_ROW), [(0, 0), (1, 0), (0, 1), (1, 1)]),
    ((1, 1, 96, 64), cut("BLOCK", (32, 32), grid(3, 3), BY_COLUMN), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
    ((2, 1, 128, 64), of_any_rank([2, 1, 32, 64], grid(7, 0), BY_ROW), FOUR),
    ((2, 1, 64, 64), of_any_rank([2, 1, 32, 32], grid(3, 3), BY_COLUMN), [(0, 0), (0, 1), (0, 2), (0, 3)]),
    ((2, 1, 256, 64), of_any_rank([2, 1, 32, 64], grid(3, 0), BY_ROW), FOUR),
])  # fmt: skip
def test_cores_that_hold_shards(
    one: MeshDevice, shape: tuple[int, ...], memory: MemoryConfig, wanted: Any
) -> None:
    tensor = to_memory_config(put(one, np.zeros(shape), BF16, ROW), memory)
    assert [(core.x, core.y) for core in worker_cores_of(tensor)] == wanted


def test_a_tensor_that_is_not_cut_has_no_such_cores(one: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="Tensor must be sharded to compute optimal worker cores"):
        worker_cores_of(put(one, np.zeros((32, 32)), BF16, ROW))
