"""Small questions and tables, answered exactly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, ROW, put
from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    DataType,
    Layout,
    ShardDistributionStrategy,
    ShardOrientation,
    StorageType,
    TensorMemoryLayout,
)
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor import questions
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.borders.packing import (
    tensor_from_bfp8_bytes,
    tilize_and_pack_bfp4_b,
    tilize_and_pack_bfp8_b,
)
from tt_run.runtime.tensor.conversion.layouts import to_layout, to_memory_config
from tt_run.runtime.tensor.conversion.pieces import piece_of
from tt_run.runtime.tensor.model_parameters.group_norm import (
    create_layer_norm_reciprocals,
    determine_expected_group_norm_sharded_config_and_grid_size,
    find_closest_largest_divisor,
    get_group_norm_cores_across_channel,
)
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.spec.norm_blocking import create_layernorm_program_config

IN_TURN, MATRIX = ShardDistributionStrategy.ROUND_ROBIN_1D, ShardDistributionStrategy.GRID_2D
BY_ROW, BY_COLUMN = ShardOrientation.ROW_MAJOR, ShardOrientation.COL_MAJOR


def grid(x: int, y: int) -> CoreRangeSet:
    return CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(x, y))})


def cut(
    kind: str, shard: tuple[int, int], cores: CoreRangeSet, orientation: ShardOrientation
) -> MemoryConfig:
    from tt_run.runtime.enums import BufferType

    return MemoryConfig(
        getattr(TensorMemoryLayout, f"{kind}_SHARDED"), BufferType.L1, ShardSpec(cores, shard, orientation)
    )


@pytest.mark.parametrize(
    ("shape", "padded", "by_dim"),
    [
        ((32, 64), False, {0: False, 1: False}),
        ((31, 64), True, {0: True, -1: False}),
        ((32, 63), True, {0: False, 1: True}),
        ((3, 32, 32), False, {0: False}),
        ((5,), False, {0: True}),
    ],
)
def test_which_dimension_is_padded(
    one: MeshDevice, shape: tuple[int, ...], padded: bool, by_dim: dict[int, bool]
) -> None:
    tensor = to_layout(put(one, np.zeros(shape), BF16, ROW), Layout.TILE)
    assert questions.has_tile_padding(tensor) is padded
    assert {dim: questions.has_tile_padding(tensor, dim=dim) for dim in by_dim} == by_dim
    with pytest.raises(IndexError):
        questions.has_tile_padding(tensor, dim=len(shape))


def test_where_a_tensor_lies(one: MeshDevice) -> None:
    there = put(one, np.zeros((32, 32)), BF16, ROW)
    here = from_torch(np.zeros((32, 32), np.float32))
    assert (
        questions.get_memory_config(there) == there.memory_config()
        and questions.get_memory_config(here) is None
    )
    assert [questions.is_tensor_storage_on_device(each) for each in (there, here)] == [True, False]
    assert questions.has_storage_type_of(there, StorageType.DEVICE) and not questions.has_storage_type_of(
        here, StorageType.DEVICE
    )
    assert not questions.is_sharded(there)


def test_bytes_of_elements_and_tiles() -> None:
    sizes = {
        DataType.BFLOAT16: 2,
        DataType.FLOAT32: 4,
        DataType.UINT8: 1,
        DataType.INT32: 4,
        DataType.UINT16: 2,
    }
    assert {each: questions.bytes_of_element(each) for each in sizes} == sizes
    with pytest.raises(ValueError, match="is invalid"):
        questions.bytes_of_element(DataType.BFLOAT8_B)
    assert [
        questions.bytes_of_tile(each) for each in (DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.BFLOAT4_B)
    ] == [2048, 1088, 576]


@pytest.mark.torch
def test_torch_types_hold_the_values() -> None:
    import torch

    wanted = {
        DataType.BFLOAT16: torch.bfloat16,
        DataType.INT32: torch.int32,
        DataType.BFLOAT8_B: torch.float32,
        DataType.FLOAT32: torch.float32,
    }
    assert {each: questions.torch_dtype(each) for each in wanted} == wanted


@pytest.mark.parametrize(
    ("channels", "groups", "rows", "high", "by_row", "wanted"),
    [
        (320, 32, 1024, False, False, ((128, 40), BY_COLUMN, (8, 8))),
        (320, 32, 1024, False, True, ((128, 40), BY_ROW, (8, 8))),
        (640, 32, 3136, False, False, ((448, 80), BY_COLUMN, (7, 8))),
        (96, 32, 1000, False, False, ((128, 48), BY_COLUMN, (8, 2))),
        (32, 32, 1000, False, True, ((128, 32), BY_ROW, (1, 8))),
        (64, 2, 1000, True, False, ((32, 64), BY_ROW, (8, 4))),
        (128, 4, 65 * 64, True, True, ((160, 128), BY_ROW, (8, 4))),
        (320, 32, 64, True, True, ((32, 320), BY_ROW, (2, 1))),
        (32, 1, 33, False, False, ((32, 32), BY_COLUMN, (2, 1))),
    ],
)
def test_the_cores_of_a_group_norm(
    channels: int, groups: int, rows: int, high: bool, by_row: bool, wanted: tuple[object, ...]
) -> None:
    """On a grid of 8 by 8 cores."""
    from types import SimpleNamespace

    device = SimpleNamespace(core_grid=CoreGrid(x=8, y=8))
    memory, found = determine_expected_group_norm_sharded_config_and_grid_size(
        device=device,
        num_channels=channels,
        num_groups=groups,
        input_nhw=rows,
        is_height_sharded=high,
        is_row_major=by_row,  # type: ignore[arg-type]
    )
    spec = memory.shard_spec
    assert spec is not None and (tuple(spec.shape), spec.orientation, (found.x, found.y)) == wanted
    assert memory.memory_layout is (
        TensorMemoryLayout.HEIGHT_SHARDED if high else TensorMemoryLayout.BLOCK_SHARDED
    )
    end = spec.grid.bounding_box().end
    assert (end.x + 1, end.y + 1) == (found.x, found.y)
    for wrong in ({"num_channels": channels + 1, "num_groups": 1}, {"num_channels": 64, "num_groups": 3}):
        with pytest.raises(RuntimeError, match="divisible"):
            determine_expected_group_norm_sharded_config_and_grid_size(
                device=device, input_nhw=32, is_height_sharded=high, **wrong
            )  # type: ignore[arg-type]


def test_divisors_and_cores_across_channels() -> None:
    assert [find_closest_largest_divisor(12, start) for start in (1, 3, 5, 6, 11, 12, 20)] == [
        1,
        3,
        4,
        6,
        6,
        12,
        12,
    ]
    cores = CoreGrid(x=8, y=4)
    found = [
        get_group_norm_cores_across_channel(kind, cores, order)
        for kind in (
            TensorMemoryLayout.BLOCK_SHARDED,
            TensorMemoryLayout.HEIGHT_SHARDED,
            TensorMemoryLayout.WIDTH_SHARDED,
        )
        for order in (BY_ROW, BY_COLUMN)
    ]
    assert found == [8, 4, 1, 1, 32, 32]


def test_the_table_of_reciprocals(one: MeshDevice) -> None:
    made = create_layer_norm_reciprocals(one, grid(2, 1), 5)
    assert (
        np.asarray(made.cpu().to_numpy()).tolist()
        == np.tile(1 / np.arange(1, 6, dtype=np.float32), (6, 1)).tolist()
    )
    memory = made.memory_config()
    assert memory.shard_spec is not None and tuple(memory.shard_spec.shape) == (1, 5)


@pytest.mark.parametrize(
    ("shape", "tile", "blocks"),
    [
        ((64, 96), (32, 32), (2, 3)),
        ((65, 33), (32, 32), (3, 2)),
        ((64, 96), (16, 32), (4, 3)),
        ((64, 96), (32, 16), (2, 6)),
    ],
)
def test_the_blocking_of_a_norm(
    shape: tuple[int, int], tile: tuple[int, int], blocks: tuple[int, int]
) -> None:
    made = create_layernorm_program_config(ShardSpec(grid(3, 1), shape, BY_ROW), *tile)
    size = made.compute_with_storage_grid_size
    assert (made.block_h, made.block_w, made.subblock_w, made.inplace) == (*blocks, 1, False)
    assert tuple(size if isinstance(size, tuple) else (size.x, size.y)) == (4, 2)
    assert type(create_layernorm_program_config()).__name__ == "LayerNormDefaultProgramConfig"


def test_the_blocking_of_a_norm_is_in_tiles_of_32_unless_told() -> None:
    made = create_layernorm_program_config(ShardSpec(grid(3, 1), (1056, 1056), BY_ROW))
    assert (made.block_h, made.block_w) == (33, 33)


@pytest.mark.parametrize(
    ("kind", "shard", "cores", "order"),
    [
        ("HEIGHT", (32, 64), (3, 0), BY_ROW),
        ("HEIGHT", (64, 64), (1, 0), BY_ROW),
        ("WIDTH", (96, 32), (1, 0), BY_ROW),
        ("BLOCK", (32, 32), (1, 2), BY_ROW),
        ("BLOCK", (32, 32), (2, 1), BY_COLUMN),
    ],
)
def test_the_piece_of_each_core(
    one: MeshDevice, kind: str, shard: tuple[int, int], cores: tuple[int, int], order: ShardOrientation
) -> None:
    values = np.arange(96 * 64, dtype=np.float32).reshape(1, 1, 96, 64)
    tensor = to_memory_config(put(one, values, DataType.FLOAT32, ROW), cut(kind, shard, grid(*cores), order))
    across = 1 if kind == "HEIGHT" else -(-64 // shard[1])
    for number in range(-(-96 // shard[0]) * across):
        top, left = number // across * shard[0], number % across * shard[1]
        whole = np.zeros(shard, np.float32)
        part = values[0, 0, top : top + shard[0], left : left + shard[1]]
        whole[: part.shape[0], : part.shape[1]] = part
        assert np.array_equal(np.asarray(piece_of(tensor, number).to_numpy())[0, 0], whole), number
    count = (cores[0] + 1) * (cores[1] + 1)
    for wrong in (-1, count, CoreCoord(7, 7)):
        with pytest.raises(RuntimeError, match="holds no shard"):
            piece_of(tensor, wrong)
    at = CoreCoord(1, 0)
    number = 1 if order is BY_ROW else cores[1] + 1
    assert np.array_equal(
        np.asarray(piece_of(tensor, at).to_numpy()), np.asarray(piece_of(tensor, number).to_numpy())
    )
    with pytest.raises(RuntimeError, match="cut over its cores"):
        piece_of(put(one, values, DataType.FLOAT32, ROW), 0)


def test_block_floats_as_bytes_and_back() -> None:
    draw = np.random.default_rng(5)
    values = (draw.integers(-63, 64, (2, 32, 96)) * 0.5).astype(np.float32)
    packed = tilize_and_pack_bfp8_b(values.reshape(64, 96), 64, 96)
    assert len(packed) == 6 * 1088 and len(tilize_and_pack_bfp4_b(values.reshape(64, 96), 64, 96)) == 6 * 576
    back = np.asarray(tensor_from_bfp8_bytes(packed, values.shape).to_numpy(), np.float32)
    assert back.shape == values.shape and np.abs(back - values).max() <= 0.5
    again = tilize_and_pack_bfp8_b(back.reshape(64, 96), 64, 96)
    assert again == packed
    small = tilize_and_pack_bfp8_b(values.reshape(64, 96), 64, 96, 16, 32)
    assert len(small) == 12 * (512 + 32)
    first = values.reshape(64, 96)[:16, :16]
    assert np.array_equal(np.frombuffer(packed[64:], np.uint8)[:256] >> 7, (first < 0).ravel())
    for wrong in (packed[:-1], packed + b"\0"):
        with pytest.raises(RuntimeError, match=f"{len(wrong)} bytes are not the {6 * 1088}"):
            tensor_from_bfp8_bytes(wrong, values.shape)
    for height, width, padded in ((33, 32, "64x32"), (32, 33, "32x64")):
        with pytest.raises(RuntimeError, match=f"(?s)pad both to whole tiles: {padded}\n.*not whole tiles"):
            tilize_and_pack_bfp8_b(np.zeros((height, width), np.float32), height, width)
    for edges in ((8, 32), (32, 8)):
        with pytest.raises(RuntimeError, match=r"(?s)tile_h and tile_w are multiples of 16.*not whole tiles"):
            tilize_and_pack_bfp8_b(np.zeros((32, 32), np.float32), 32, 32, *edges)


@pytest.mark.parametrize(
    ("shape", "shard", "page", "cores", "orientation", "strategy", "pages"),
    [
        ([128, 64], [32, 64], (32, 32), (3, 0), BY_ROW, IN_TURN, [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ([5, 64], [2, 64], (1, 64), (3, 0), BY_ROW, IN_TURN, [[0, 1], [2, 3], [4], []]),
        ([2, 64, 96], [1, 64, 32], (32, 32), (1, 0), BY_ROW, IN_TURN,
         [[0, 3, 2, 5, 7, 10], [1, 4, 6, 9, 8, 11]]),
        ([2, 3, 64, 64], [192, 64], (32, 32), (1, 0), BY_ROW, IN_TURN,
         [list(range(12)), list(range(12, 24))]),
        ([128, 128], [64, 64], (32, 32), (1, 1), BY_COLUMN, MATRIX,
         [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]),
        ([64, 64], [64, 64], (32, 32), (1, 1), BY_ROW, MATRIX, [[0, 1, 2, 3]]),
    ],
)  # fmt: skip
def test_pages_of_shards(
    shape: list[int],
    shard: list[int],
    page: tuple[int, int],
    cores: tuple[int, int],
    orientation: ShardOrientation,
    strategy: ShardDistributionStrategy,
    pages: list[list[int]],
) -> None:
    found = questions.compute_shard_page_mapping(shape, shard, *page, grid(*cores), orientation, strategy)
    assert [held for _, held in found] == pages
    down_first = [(core.x, core.y) for core, _ in found]
    assert down_first == sorted(down_first, key=None if orientation is BY_COLUMN else lambda at: at[::-1])


def test_pages_of_more_shards_than_a_rectangle_holds() -> None:
    with pytest.raises(RuntimeError, match="along width must not exceed core grid width"):
        questions.compute_shard_page_mapping([128, 192], [64, 64], 32, 32, grid(1, 0), BY_ROW, MATRIX)
