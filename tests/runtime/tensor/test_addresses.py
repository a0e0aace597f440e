"""The addresses of buffers: next to each other, as far apart as what a bank holds of them, and taken again once given back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.tensor.creation.allocation import allocate_tensor_on_device
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec
from tt_run.runtime.tensor.tensor import Tensor

BF16, TILE, ROW = DataType.BFLOAT16, Layout.TILE, Layout.ROW_MAJOR
TWO_CORES = CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(0, 1))})
IN_PIECES = MemoryConfig(
    TensorMemoryLayout.HEIGHT_SHARDED,
    BufferType.L1,
    ShardSpec(TWO_CORES, (32, 64), ShardOrientation.ROW_MAJOR),
)
IN_TURN = MemoryConfig(BufferType.L1, NdShardSpec((32, 64), TWO_CORES))


@pytest.fixture
def device() -> Iterator[MeshDevice]:
    made = open_mesh_device(MeshShape(1, 1))
    yield made
    made.close()


def made(
    device: MeshDevice, memory: MemoryConfig, shape: tuple[int, int] = (64, 64), layout: Layout = TILE
) -> Tensor:
    return allocate_tensor_on_device(TensorSpec(Shape(shape), BF16, layout, memory), device)


@pytest.mark.parametrize(
    ("memory", "shape", "layout", "apart"),
    [
        (DRAM_MEMORY_CONFIG, (64, 64), TILE, 2048),  # four tiles over more banks: one in the fullest
        (DRAM_MEMORY_CONFIG, (32 * 13, 32), TILE, 2 * 2048),  # 13 tiles over 12 banks
        (DRAM_MEMORY_CONFIG, (13, 64), ROW, 2 * 128),  # as many rows
        (DRAM_MEMORY_CONFIG, (1, 8), ROW, 64),  # no two share an address, however small
        (L1_MEMORY_CONFIG, (64, 64), TILE, -2048),  # L1 is taken from its top
        (IN_PIECES, (64, 64), TILE, -2 * 2048),  # a piece of two tiles on each core
        (IN_TURN, (192, 64), TILE, -3 * 2 * 2048),  # six pieces over two cores
    ],
)
def test_the_next_buffer_begins_where_the_fullest_bank_ends(
    device: MeshDevice, memory: MemoryConfig, shape: tuple[int, int], layout: Layout, apart: int
) -> None:
    first, second = (made(device, memory, shape, layout) for _ in range(2))
    begin, at = first.buffer_address(), second.buffer_address()
    assert at - begin == apart and isinstance(at, int)
    second.deallocate()
    assert made(device, memory, shape, layout).buffer_address() == at


def test_a_small_gap_is_left_for_what_fits(device: MeshDevice) -> None:
    tensors = [made(device, DRAM_MEMORY_CONFIG) for _ in range(3)]
    first, gap, last = (tensor.buffer_address() for tensor in tensors)
    tensors[1].deallocate()
    larger = made(device, DRAM_MEMORY_CONFIG, (32 * 13, 32))
    assert larger.buffer_address() == last + 2048
    assert made(device, DRAM_MEMORY_CONFIG).buffer_address() == gap == first + 2048
