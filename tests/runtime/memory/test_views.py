"""Buffers and pages on a mesh, as programs ask for them: interleaved pages go round the cores, pieces of a cut tensor lie on one each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.memory.views import (
    BufferPageInfo,
    MemoryView,
    dump_memory_state,
    get_buffer_pages,
    get_buffers,
    get_memory_view,
)
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.creation.from_shape import empty
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)

TILE = 2048


@pytest.fixture
def one() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()


def places(pages: list[BufferPageInfo]) -> list[tuple[int, int, int, int, int]]:
    return [(p.page_index, p.bank_id, p.core_x, p.core_y, p.page_address - p.address) for p in pages]


def test_interleaved_pages_go_round_the_cores(one: MeshDevice) -> None:
    held = empty((66 * 32, 32), DataType.BFLOAT16, Layout.TILE, one, L1_MEMORY_CONFIG)
    found = places(get_buffer_pages(one))
    assert found[:2] == [(0, 0, 0, 0, 0), (1, 1, 1, 0, 0)] and found[8] == (8, 8, 0, 1, 0)
    assert found[63:] == [(63, 63, 7, 7, 0), (64, 0, 0, 0, TILE), (65, 1, 1, 0, TILE)]
    assert {page.page_size for page in get_buffer_pages([one, one])} == {TILE} and len(
        get_buffer_pages([one, one])
    ) == 132
    [buffer] = get_buffers(one)
    assert (buffer.max_size_per_bank, buffer.buffer_type, buffer.address) == (
        2 * TILE,
        BufferType.L1,
        held.buffer_address(),
    )


@pytest.mark.parametrize(
    ("orientation", "second"), [(ShardOrientation.ROW_MAJOR, (1, 0)), (ShardOrientation.COL_MAJOR, (0, 1))]
)
def test_pieces_lie_on_a_core_each(
    one: MeshDevice, orientation: ShardOrientation, second: tuple[int, int]
) -> None:
    grid = CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))})
    memory = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(grid, (64, 32), orientation)
    )
    held = empty((8 * 32, 32), DataType.BFLOAT16, Layout.TILE, one, memory)
    found = places(get_buffer_pages(one))
    assert found[:4] == [(0, 0, 0, 0, 0), (1, 0, 0, 0, TILE), (2, 1, *second, 0), (3, 1, *second, TILE)]
    assert len(found) == 8 and held.is_allocated()


def test_views_tell_kinds_apart(one: MeshDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [
        empty((tiles * 32, 32), DataType.BFLOAT16, Layout.TILE, one, memory)
        for tiles, memory in ((1, DRAM_MEMORY_CONFIG), (13, DRAM_MEMORY_CONFIG), (1, L1_MEMORY_CONFIG))
    ]
    dram, near = (get_memory_view(one, kind) for kind in (BufferType.DRAM, BufferType.L1))
    assert [(b["address"], b["size"]) for b in dram.block_table] == [("0", "2048"), ("2048", "4096")]
    assert [(b["address"], b["size"], b["allocated"]) for b in near.block_table] == [("0", "2048", "yes")]
    assert (dram.total_bytes_allocated_per_bank, near.total_bytes_allocated_per_bank) == (3 * TILE, TILE)
    monkeypatch.chdir(tmp_path)
    dump_memory_state(one, "a_")
    rows = (tmp_path / "generated/reports/a_memory_state.csv").read_text().splitlines()
    assert rows[1:] == ["DRAM,0,2048,1", "DRAM,2048,4096,12", "L1,0,2048,1"]
    held.pop().deallocate()
    assert not get_buffer_pages(one) and len(get_buffers(one)) == 2


def test_what_is_free_is_never_less_than_nothing() -> None:
    full = MemoryView(12, 100, 130)
    assert (full.total_bytes_free_per_bank, full.largest_contiguous_bytes_free_per_bank) == (0, 0)
    assert MemoryView(12, 100, 30).largest_contiguous_bytes_free_per_bank == 70
