"""How full devices are after each event, from tensors that come and go."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, TILE, put
from tt_run.runtime.memory.footprint import DRAM, L1
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.timeline.levels import Levels

BYTES = 2048  # of a tile of bfloat16


@pytest.fixture
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 2))
    yield device
    device.close()


@pytest.fixture
def levels() -> Iterator[Levels]:
    counted = Levels()
    stop = counted.start()
    yield counted
    stop()


def tile(mesh: MeshDevice, tiles: int = 1) -> Tensor:
    return put(mesh, np.zeros((1, 1, 32, 32 * tiles)), BF16, TILE)


def curve(levels: Levels) -> list[tuple[int, int, int]]:
    return [(moment, level[DRAM] // BYTES, level[L1] // BYTES) for moment, level in levels.curve()]


def test_tensors_come_and_go(mesh: MeshDevice, levels: Levels) -> None:
    levels.moment = 1
    first = tile(mesh)
    levels.moment = 3
    second, third = tile(mesh, 2), tile(mesh, 3)
    levels.moment = 4
    second.deallocate(True)
    levels.moment = 6
    del first, second
    near = ops.to_memory_config(third, L1_MEMORY_CONFIG)
    levels.moment = 7
    del third, near
    assert curve(levels) == [(1, 1, 0), (3, 6, 0), (4, 4, 0), (6, 3, 3), (7, 0, 0)]


def test_a_buffer_stays_as_long_as_any_tensor_looks_at_it(mesh: MeshDevice, levels: Levels) -> None:
    levels.moment = 1
    first = tile(mesh)
    levels.moment = 2
    seen, again = (ops.reshape(first, (1, 32, 32)) for _ in range(2))
    assert seen.storage.place is first.storage.place
    levels.moment = 3
    del first
    levels.moment = 4
    del seen
    levels.moment = 5
    del again
    assert curve(levels) == [(1, 1, 0), (5, 0, 0)]


def test_the_fullest_device_counts(mesh: MeshDevice, levels: Levels) -> None:
    left, right = (mesh.create_submesh(MeshShape(1, 1), MeshCoordinate(0, column)) for column in (0, 1))
    kept = []
    for moment, (part, tiles) in enumerate([(left, 2), (right, 1), (right, 3), (mesh, 1)], 1):
        levels.moment = moment
        kept.append(tile(part, tiles))
    assert curve(levels) == [(1, 2, 0), (2, 2, 0), (3, 4, 0), (4, 5, 0)]
