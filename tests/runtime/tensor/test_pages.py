"""Pages of buffers: how many, how long, and how far apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.tensor.made import made
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.conversion.copies import deallocate
from tt_run.runtime.tensor.pages import aligned_page_bytes, page_bytes, page_count
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import Tile

ROW, TILE = Layout.ROW_MAJOR, Layout.TILE
TWO = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
WIDE = MemoryConfig(
    TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, ShardSpec(TWO, [3, 8], ShardOrientation.ROW_MAJOR)
)


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "memory", "options", "pages"),
    [
        ((3, 5), DataType.FLOAT32, ROW, DRAM_MEMORY_CONFIG, {}, (3, 20, 32)),
        ((3, 5), DataType.FLOAT32, ROW, L1_MEMORY_CONFIG, {}, (3, 20, 32)),
        ((3, 4), DataType.FLOAT32, ROW, L1_MEMORY_CONFIG, {}, (3, 16, 16)),
        ((3, 4), DataType.FLOAT32, ROW, DRAM_MEMORY_CONFIG, {}, (3, 16, 32)),
        ((3, 8), DataType.FLOAT32, ROW, DRAM_MEMORY_CONFIG, {}, (3, 32, 32)),
        ((3, 16), DataType.BFLOAT16, ROW, WIDE, {}, (6, 16, 16)),
        ((33, 64), DataType.BFLOAT16, TILE, DRAM_MEMORY_CONFIG, {}, (4, 2048, 2048)),
        ((33, 64), DataType.BFLOAT4_B, TILE, L1_MEMORY_CONFIG, {}, (4, 576, 576)),
        ((33, 64), DataType.UINT8, TILE, DRAM_MEMORY_CONFIG, {"tile": Tile((16, 32))}, (6, 512, 512)),
        ((2, 0), DataType.UINT8, ROW, L1_MEMORY_CONFIG, {}, (0, 1, 16)),
    ],
)
def test_pages(
    one: MeshDevice,
    shape: Any,
    dtype: DataType,
    layout: Layout,
    memory: MemoryConfig,
    options: Any,
    pages: Any,
) -> None:
    tensor = made(
        np.zeros(shape, np.float32), dtype=dtype, layout=layout, device=one, memory_config=memory, **options
    )
    assert (page_count(tensor), page_bytes(tensor), aligned_page_bytes(tensor)) == pages


@pytest.mark.parametrize("ask", [page_count, page_bytes, aligned_page_bytes])
def test_only_buffers_of_devices_have_pages(one: MeshDevice, ask: Any) -> None:
    with pytest.raises(RuntimeError, match="Expected Tensor with DeviceStorage, got StorageType::HOST"):
        ask(made(np.zeros(3, np.float32)))
    tensor = made(np.zeros(3, np.float32), device=one)
    deallocate(tensor)
    with pytest.raises(RuntimeError, match="Tensor is not allocated"):
        ask(tensor)
